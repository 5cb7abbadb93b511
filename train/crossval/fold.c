/* One unit of cross-validation: train, judge, calibrate, judge. See fold_file.h. */
#include "train/crossval/fold_file.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/status.h"
#include "predict/evaluate/evaluate.h"
#include "train/calibrate/calibrate.h"

#include <math.h>
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
        if (unit->fold->devices[d] || unit->fold->newer[d])
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

/* --- a predictor of the unit evaluated: errors as rows of its fold file --- */

struct judgement {
    const struct rt_dataset *dataset;
    const struct rt_predictor *predictor;
    enum rt_protocol protocol; /* of RT_ZERO_SHOT: with roofline and additive floor beside */
    const bool *devices;       /* (device_count); none true: all */
    /* Of kernels: */
    bool ops[RT_OP_COUNT];
    int part;
    /* Of whole models: only plain runs of that model; NULL: everything */
    const char *model;
};

/* NULL where none is marked: all. */
static const bool *marked(const struct judgement *judgement)
{
    for (size_t d = 0; d < judgement->dataset->device_count; d++)
        if (judgement->devices[d])
            return judgement->devices;
    return NULL;
}

/* What a group of rows is about: kernels of an op, or one run. */
static struct rt_fold_row row_of(const struct judgement *judgement, const struct rt_evaluation *evaluation,
                                 size_t first)
{
    struct rt_fold_row row = {.protocol = judgement->protocol, .coverage90 = NAN, .width90 = NAN};
    if (evaluation->workloads) {
        const struct rt_scored_run *run = &evaluation->run[first];
        row.level = "end to end";
        row.row = rt_workload_kinds[run->kind];
        row.of = run->name.model;
        row.device = run->name.device;
    } else {
        const struct rt_sample *sample = RT_SAMPLE(evaluation->dataset, evaluation->sample[first]);
        row.level = "kernels";
        row.row = rt_families[rt_call_family(&sample->call)].name;
        row.of = rt_ops[sample->call.op].name;
        row.device = judgement->dataset->devices[sample->device].name;
    }
    return row;
}

/* Coverage and width of the group's intervals in a column. */
static void add_intervals(const struct rt_evaluation *evaluation, const struct rt_scored_group *group,
                          size_t column, struct rt_fold_row *row)
{
    const struct rt_scored_column *from = &evaluation->column[column];
    double within = 0, width = 0, n = 0;
    row->coverage90 = row->width90 = NAN;
    for (size_t r = group->first; from->ln_half_width != NULL && r < group->first + group->count; r++) {
        double error = rt_evaluation_error(evaluation, r, column);
        if (isnan(error))
            continue;
        within += fabs(log1p(error / 100)) <= from->ln_half_width[r];
        width += sinh(from->ln_half_width[r]); /* NaN stays */
        n++;
    }
    if (n > 0 && !isnan(width)) {
        row->coverage90 = 100 * within / n;
        row->width90 = 100 * width / n;
    }
}

/* A row for each column with a time. The additive floor only stands beside what is not calibrated. */
static void add_group(const struct judgement *judgement, const struct rt_evaluation *evaluation,
                      const struct rt_scored_group *group, json_t *rows)
{
    struct rt_fold_row row = row_of(judgement, evaluation, group->first);
    for (size_t c = 0; c < evaluation->column_count; c++) {
        row.predictor = evaluation->column[c].key;
        row.n = 0;
        row.mape = row.bias = 0;
        for (size_t r = group->first; r < group->first + group->count; r++) {
            double error = rt_evaluation_error(evaluation, r, c);
            if (isnan(error))
                continue;
            row.n++;
            row.mape += fabs(error);
            row.bias += error;
        }
        row.mape /= (double)row.n;
        row.bias /= (double)row.n;
        add_intervals(evaluation, group, c, &row);
        if (row.n > 0 && (c < evaluation->candidate_count || judgement->protocol == RT_ZERO_SHOT))
            rt_fold_row_add(rows, &row);
    }
}

/* Kernels that are left out because the predictor was calibrated to them. */
static void add_left_out(const struct judgement *judgement, const struct rt_evaluation *evaluation,
                         json_t *rows)
{
    for (int op = 0; op < RT_OP_COUNT; op++)
        if (evaluation->left_out[RT_LEFT_CALIBRATED][op] > 0)
            rt_fold_row_add(
                rows, &(struct rt_fold_row){.protocol = judgement->protocol,
                                            .predictor = judgement->predictor->kind,
                                            .level = "kernels",
                                            .row = rt_families[rt_ops[op].family].name,
                                            .of = rt_ops[op].name,
                                            .device = "all",
                                            .calibrated_to = evaluation->left_out[RT_LEFT_CALIBRATED][op],
                                            .mape = NAN,
                                            .bias = NAN,
                                            .coverage90 = NAN,
                                            .width90 = NAN});
}

/* `evaluate` takes parts of names, and runs with other options of a model. */
static bool is_judged(const struct judgement *judgement, const struct rt_evaluation *evaluation, size_t row)
{
    const char *model = judgement->model;
    return model == NULL || (strcmp(evaluation->run[row].name.model, model) == 0 &&
                             rt_workload_is_plain(judgement->dataset, evaluation->run[row].workload));
}

typedef int evaluate(const struct rt_dataset *dataset, const struct rt_candidate *candidates, size_t count,
                     const struct rt_evaluate_options *options, struct rt_evaluation *out);

/* The predictor, and the roofline beside what is not calibrated. */
static int judge_by(const struct judgement *judgement, evaluate *evaluate_them,
                    const struct rt_evaluate_options *options, json_t *rows)
{
    struct rt_predictor roofline = {0};
    struct rt_evaluation evaluation;
    char *kind = judgement->predictor->kind;
    bool beside = judgement->protocol == RT_ZERO_SHOT && rt_kind_is_trained(kind);
    int status = rt_predictor_open("roofline", &roofline);
    if (status != RT_OK)
        return status;
    const struct rt_candidate candidates[] = {
        {.predictor = *judgement->predictor, .name = kind, .label = kind},
        {.predictor = roofline, .name = roofline.kind, .label = roofline.kind}};
    status = evaluate_them(judgement->dataset, candidates, beside ? 2 : 1, options, &evaluation);
    if (status == RT_OK) {
        for (size_t g = 0; g < evaluation.group_count; g++)
            if (is_judged(judgement, &evaluation, evaluation.groups[g].first))
                add_group(judgement, &evaluation, &evaluation.groups[g], rows);
        add_left_out(judgement, &evaluation, rows);
        rt_evaluation_release(&evaluation);
    }
    rt_predictor_release(&roofline);
    return status;
}

/* Where a calibrated predictor has no kernel to be judged on, it was calibrated to all of them: the same ones
 * were judged zero-shot. */
static int judge_kernels(const struct judgement *judgement, json_t *rows)
{
    const struct rt_evaluate_options options = {
        .part = judgement->part, .quiet = true, .devices = marked(judgement), .ops = judgement->ops};
    int status = judge_by(judgement, rt_evaluate_kernels, &options, rows);
    return status == RT_EFORMAT && judgement->protocol != RT_ZERO_SHOT ? RT_OK : status;
}

static int judge_models(const struct judgement *judgement, json_t *rows)
{
    const char *model = judgement->model;
    const struct rt_names models = {.name = &model, .count = model != NULL};
    const struct rt_evaluate_options options = {
        .quiet = true, .devices = marked(judgement), .models = &models};
    return judge_by(judgement, rt_evaluate_workloads, &options, rows);
}

/* --- a unit's models, each judged after calibration with runs of all other models on the same GPU --- */

struct work {
    const struct rt_crossval *crossval;
    const struct rt_unit *unit;
    enum rt_protocol protocol;
    bool *plain; /* (workload_count) */
    json_t *rows;
};

static const char *model_of(const struct work *work, size_t workload)
{
    const struct rt_dataset *dataset = &work->crossval->dataset;
    return rt_strings_get(&dataset->texts, dataset->workloads[workload].model);
}

static bool is_run_on(const struct work *work, size_t workload, size_t device)
{
    return work->plain[workload] && (size_t)work->crossval->dataset.workloads[workload].device == device;
}

/* The first run of the model on the device; the number of workloads where there is none. */
static size_t first_run(const struct work *work, size_t device, const char *model)
{
    size_t w = 0;
    while (w < work->crossval->dataset.workload_count &&
           !(is_run_on(work, w, device) && strcmp(model_of(work, w), model) == 0))
        w++;
    return w;
}

/* Has the device a run that calibration without the model can fit to? */
static bool has_other_run(const struct work *work, size_t device, const char *model)
{
    const struct rt_dataset *dataset = &work->crossval->dataset;
    for (size_t w = 0; w < dataset->workload_count; w++)
        if (is_run_on(work, w, device) &&
            !(dataset->workloads[w].flags & (RT_FLAG_THROTTLED | RT_FLAG_UNSTABLE)) &&
            !rt_name_equal(model_of(work, w), model))
            return true;
    return false;
}

static int calibrate(const struct work *work, size_t device, const char *model,
                     struct rt_predictor *predictor)
{
    const struct rt_calibrate_options options = {.from = RT_FROM_MODELS,
                                                 .without = {.name = &model, .count = 1},
                                                 .seed = (uint64_t)work->crossval->options->seed};
    struct rt_calibration calibration;
    int status = rt_calibrate(predictor, &work->crossval->dataset, (int32_t)device, &options, &calibration);
    if (status == RT_OK)
        rt_calibration_release(&calibration);
    return status;
}

/* Calibrates for the model on the marked devices, each on top of the one before, then judges the model on
 * `judged`. */
static int judge_model(const struct work *work, const char *model, const bool *calibrated, const bool *judged)
{
    const struct rt_dataset *dataset = &work->crossval->dataset;
    char *path = rt_unit_predictor(work->unit, (enum rt_protocol)(work->protocol - RT_RUNS));
    struct rt_predictor predictor;
    int status = rt_predictor_open(path, &predictor);
    free(path);
    if (status != RT_OK)
        return status;
    for (size_t d = 0; status == RT_OK && d < dataset->device_count; d++)
        if (calibrated[d] && has_other_run(work, d, model))
            status = calibrate(work, d, model, &predictor);
    const struct judgement judgement = {.dataset = dataset,
                                        .predictor = &predictor,
                                        .protocol = work->protocol,
                                        .devices = judged,
                                        .model = model};
    if (status == RT_OK)
        status = judge_models(&judgement, work->rows);
    rt_predictor_release(&predictor);
    return status == RT_OK && rt_interrupted() ? rt_fail(RT_EINTERRUPTED, "interrupted") : status;
}

/* Of --leave-out gpu: every model that ran on a device of the fold, device by device. */
static int judge_on_devices(const struct work *work)
{
    const struct rt_crossval *crossval = work->crossval;
    bool *devices = rt_calloc(crossval->dataset.device_count + 1, sizeof *devices);
    int status = RT_OK;
    for (size_t d = 0; d < crossval->dataset.device_count; d++) {
        if (!work->unit->fold->devices[d] ||
            !rt_unit_calibrates(crossval, work->unit, d, (enum rt_protocol)(work->protocol - RT_RUNS)))
            continue;
        devices[d] = true;
        for (size_t w = 0; status == RT_OK && w < crossval->dataset.workload_count; w++)
            if (is_run_on(work, w, d) && first_run(work, d, model_of(work, w)) == w)
                status = judge_model(work, model_of(work, w), devices, devices);
        devices[d] = false;
    }
    free(devices);
    return status;
}

/* Of --leave-out model: every model, calibrated on every device where it ran, judged wherever it ran. */
static int judge_everywhere(const struct work *work)
{
    const struct rt_crossval *crossval = work->crossval;
    bool *devices = rt_calloc(crossval->dataset.device_count + 1, sizeof *devices);
    int status = RT_OK;
    for (size_t c = 0; status == RT_OK && c < crossval->column_count; c++) {
        bool ran = false;
        for (size_t d = 0; d < crossval->dataset.device_count; d++) {
            devices[d] = first_run(work, d, crossval->columns[c]) < crossval->dataset.workload_count;
            ran |= devices[d];
        }
        if (ran)
            status = judge_model(work, crossval->columns[c], devices, work->unit->fold->devices);
    }
    free(devices);
    return status;
}

/* On top of the protocol's calibration to kernels, which must have been made. A model that ran alone on its
 * GPU is judged without runs. */
static int judge_other_runs(const struct rt_crossval *crossval, const struct rt_unit *unit,
                            enum rt_protocol protocol, json_t *rows)
{
    const struct work work = {crossval, unit, protocol, rt_plain_runs(&crossval->dataset), rows};
    int status =
        (crossval->options->leave_out == RT_LEAVE_MODEL ? judge_everywhere : judge_on_devices)(&work);
    free(work.plain);
    return status == RT_OK ? RT_OK : rt_fail_context(status, "%s", rt_protocols[protocol].name);
}

/* --- what a protocol judges --- */

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
    struct judgement judgement = {.dataset = &crossval->dataset,
                                  .predictor = &predictor,
                                  .protocol = protocol,
                                  .devices =
                                      protocol == RT_ZERO_SHOT ? unit->fold->devices : judged->devices};
    for (size_t p = 0; status == RT_OK && p < RT_COUNT(parts); p++) {
        judgement.part = (int)parts[p];
        if (choose_ops(crossval, unit, judged->counts, parts[p], judgement.ops))
            status = judge_kernels(&judgement, rows);
    }
    if (status == RT_OK && judged->workloads > 0 && crossval->options->families.count == 0)
        status = judge_models(&judgement, rows);
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
            status =
                (p < RT_KERNEL_PROTOCOLS ? run_protocol : judge_other_runs)(crossval, unit, protocol, rows);
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
