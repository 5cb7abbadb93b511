/* One unit of cross-validation. See fold.h. */
#include "train/crossval/fold.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/status.h"
#include "train/crossval/judge.h"
#include "train/crossval/other_runs.h"
#include "train/crossval/unit_calibration.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY_LIMIT ((size_t)1 << 22)

/* --- training --- */

/* Removes what another training left, unless it was made from the same. */
static int prepare_training(const struct rt_crossval *crossval, const struct rt_unit *unit)
{
    static const char *const outputs[] = {"predictor.h5", "predictor.part.h5",
                                          "predictor.part.h5.checkpoint"};
    char *path = rt_unit_path(unit, "training.txt"), *key = rt_unit_training_key(crossval, unit),
         *before = NULL;
    size_t size;
    struct rt_new_file file;
    int status = RT_OK;
    bool same = !crossval->options->overwrite && access(path, R_OK) == 0 &&
                rt_file_read(path, KEY_LIMIT, &before, &size) == RT_OK && strcmp(before, key) == 0;
    for (size_t i = 0; !same && i < RT_COUNT(outputs); i++) {
        char *output = rt_unit_path(unit, outputs[i]);
        unlink(output);
        free(output);
    }
    if (!same && (status = rt_file_create(path, &file)) == RT_OK) {
        fputs(key, file.stream);
        status = rt_file_finish(&file);
    }
    free(path);
    free(key);
    free(before);
    return status;
}

static int train_into(const struct rt_crossval *crossval, const struct rt_unit *unit, const char *path)
{
    const struct rt_crossval_options *asked = crossval->options;
    struct rt_train_options options = asked->training;
    options.kind = unit->kind;
    options.out = path;
    options.families = asked->families;
    options.split.seed = (uint64_t)asked->seed;
    options.split.all = rt_crossval_trains_on_all(asked);
    options.threads = 1;
    options.epochs = (int)asked->epochs;
    options.resume = options.quiet = true;
    for (size_t d = 0; d < crossval->dataset.device_count; d++)
        if (unit->fold->devices[d])
            rt_names_add(&options.held_out_gpus, crossval->dataset.devices[d].name);
    if (unit->fold->op >= 0)
        rt_names_add(&options.held_out_ops, rt_ops[unit->fold->op].name);
    int status = rt_train(&crossval->dataset, &options, NULL);
    rt_names_release(&options.held_out_gpus);
    rt_names_release(&options.held_out_ops);
    return status;
}

static int train(const struct rt_crossval *crossval, const struct rt_unit *unit)
{
    char *path = rt_unit_path(unit, "predictor.h5"), *part = rt_unit_path(unit, "predictor.part.h5");
    int status = prepare_training(crossval, unit);
    if (status == RT_OK && access(path, R_OK) != 0) {
        status = train_into(crossval, unit, part);
        if (status == RT_OK)
            status = rt_file_replace(part, path);
    }
    free(path);
    free(part);
    return status == RT_OK ? RT_OK : rt_fail_context(status, "train");
}

/* --- judging --- */

/* Ops that are judged on a part. A family is judged on its test kernels; where the fold has none, on the
 * validation part: of what was held out that is as unseen, and no calibration kernels are selected from it.
 */
static bool choose_ops(const struct rt_crossval *crossval, const struct rt_unit *unit,
                       const rt_part_counts counts, enum rt_part part, bool ops[RT_OP_COUNT])
{
    const struct rt_fold *fold = unit->fold;
    bool families[RT_FAMILY_COUNT], some = false;
    rt_unit_families(crossval, unit, families);
    for (int op = 0; op < RT_OP_COUNT; op++) {
        int family = (int)rt_ops[op].family;
        ops[op] = families[family] && counts[family][part] > 0 && (fold->op < 0 || op == fold->op) &&
                  (part == RT_PART_TEST || fold->kernels[family][RT_PART_TEST] == 0);
        some |= ops[op];
    }
    return some;
}

/* What a protocol judges. */
struct judged {
    bool *devices; /* (device_count) */
    rt_part_counts counts;
    size_t workloads;
};

static void judge_all(const struct rt_unit *unit, struct judged *out)
{
    memcpy(out->counts, unit->fold->kernels, sizeof out->counts);
    out->workloads = unit->fold->workloads;
}

/* The devices that are calibrated, and the families that are on one of them. */
static void judge_calibrated(const struct rt_crossval *crossval, const struct rt_unit *unit,
                             enum rt_protocol protocol, struct judged *out)
{
    const struct rt_dataset *dataset = &crossval->dataset;
    for (size_t d = 0; d < dataset->device_count; d++) {
        out->devices[d] = unit->fold->devices[d] && rt_unit_calibrates(crossval, unit, d, protocol);
        for (int family = 0; out->devices[d] && family < RT_FAMILY_COUNT; family++)
            for (int part = 0; part < RT_PARTS; part++)
                if (rt_unit_calibrates_family(crossval, unit->fold, d, family, protocol))
                    out->counts[family][part] += crossval->kernels[d][family][part];
    }
    for (size_t w = 0; w < dataset->workload_count; w++)
        out->workloads += out->devices[dataset->workloads[w].device];
}

static int judge(const struct rt_crossval *crossval, const struct rt_unit *unit, enum rt_protocol protocol,
                 const struct judged *judged, json_t *rows)
{
    static const enum rt_part parts[] = {RT_PART_TEST, RT_PART_VALIDATION};
    char *path = rt_unit_predictor(unit, protocol);
    struct rt_predictor predictor;
    int status = rt_predictor_open(path, &predictor);
    free(path);
    if (status != RT_OK)
        return status;
    struct rt_judgement judgement = {.dataset = &crossval->dataset,
                                     .predictor = &predictor,
                                     .protocol = protocol,
                                     .devices =
                                         protocol == RT_ZERO_SHOT ? unit->fold->devices : judged->devices};
    for (size_t p = 0; status == RT_OK && p < RT_COUNT(parts); p++) {
        judgement.part = (int)parts[p];
        if (choose_ops(crossval, unit, judged->counts, parts[p], judgement.ops))
            status = rt_judge_kernels(&judgement, rows);
    }
    if (status == RT_OK && judged->workloads > 0 && crossval->options->families.count == 0)
        status = rt_judge_models(&judgement, rows);
    rt_predictor_release(&predictor);
    return status == RT_OK ? RT_OK : rt_fail_context(status, "%s", rt_protocols[protocol].name);
}

/* Zero-shot or calibrated to kernels. */
static int run_protocol(const struct rt_crossval *crossval, const struct rt_unit *unit,
                        enum rt_protocol protocol, json_t *rows)
{
    struct judged judged = {.devices = rt_calloc(crossval->dataset.device_count + 1, sizeof(bool))};
    bool some = protocol == RT_ZERO_SHOT;
    int status = RT_OK;
    if (protocol == RT_ZERO_SHOT)
        judge_all(unit, &judged);
    else
        judge_calibrated(crossval, unit, protocol, &judged);
    for (size_t d = 0; d < crossval->dataset.device_count; d++)
        some |= judged.devices[d];
    if (some && protocol != RT_ZERO_SHOT)
        status = rt_unit_calibrate(crossval, unit, protocol);
    if (some && status == RT_OK)
        status = judge(crossval, unit, protocol, &judged, rows);
    free(judged.devices);
    return status;
}

/* --- a unit --- */

static bool is_asked(const struct rt_crossval *crossval, const struct rt_unit *unit,
                     enum rt_protocol protocol)
{
    const struct rt_crossval_options *options = crossval->options;
    enum rt_protocol kernels = (enum rt_protocol)(protocol % RT_KERNEL_PROTOCOLS);
    bool runs = protocol >= RT_KERNEL_PROTOCOLS;
    if (protocol == RT_ZERO_SHOT)
        return true;
    return rt_kind_has_effects(unit->kind) && (options->runs || !runs) &&
           (kernels == RT_ZERO_SHOT ||
            (options->protocols[kernels] && options->calibrate > 0 && options->leave_out == RT_LEAVE_GPU));
}

/* Is there anything that the unit's predictor could be judged on? */
static bool has_judged(const struct rt_crossval *crossval, const struct rt_unit *unit)
{
    bool ops[RT_OP_COUNT];
    return choose_ops(crossval, unit, unit->fold->kernels, RT_PART_TEST, ops) ||
           choose_ops(crossval, unit, unit->fold->kernels, RT_PART_VALIDATION, ops) ||
           (unit->fold->workloads > 0 && crossval->options->families.count == 0);
}

/* Removes predictors that other options were calibrated by. */
static void remove_calibrated(const struct rt_unit *unit)
{
    for (int p = RT_CALIBRATED; p < RT_KERNEL_PROTOCOLS; p++) {
        char *path = rt_unit_predictor(unit, (enum rt_protocol)p);
        unlink(path);
        free(path);
    }
}

static int run_unit(const struct rt_crossval *crossval, const struct rt_unit *unit, json_t *rows)
{
    int status = RT_OK;
    if (rt_kind_is_trained(unit->kind)) {
        remove_calibrated(unit);
        status = train(crossval, unit);
    }
    for (int p = 0; status == RT_OK && p < RT_PROTOCOL_COUNT; p++) {
        enum rt_protocol protocol = (enum rt_protocol)p;
        if (rt_interrupted())
            return rt_fail(RT_EINTERRUPTED, "interrupted");
        if (is_asked(crossval, unit, protocol))
            status = (p < RT_KERNEL_PROTOCOLS ? run_protocol : rt_unit_judge_other_runs)(crossval, unit,
                                                                                         protocol, rows);
    }
    return status;
}

int rt_fold_run(const struct rt_crossval *crossval, const struct rt_unit *unit)
{
    json_t *rows = json_array();
    int status = has_judged(crossval, unit) ? run_unit(crossval, unit, rows) : RT_OK;
    if (status == RT_OK)
        status = rt_fold_file_write(crossval, unit, rows);
    else if (status != RT_EINTERRUPTED)
        rt_fold_file_write_failure(crossval, unit, rt_error());
    json_decref(rows);
    return status;
}
