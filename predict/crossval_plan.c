/* Folds and their steps. See crossval.h. */
#include "predict/crossval.h"
#include "datasets/status.h"
#include "models/predictor/recipe.h"
#include "predict/calibrate.h"
#include "predict/evaluate.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_leave_outs[RT_LEAVE_COUNT] = {"gpu", "model", "op"};

const struct rt_protocol_row rt_protocols[RT_PROTOCOL_COUNT] = {
    [RT_ZERO_SHOT] = {NULL, "", "", ""},
    [RT_CALIBRATED] = {"train", ", calibrated", "calibrate", "calibrated-"},
    [RT_CALIBRATED_ALIKE] = {"test", ", calibrated, same kind", "calibrate-test", "calibrated-test-"},
    [RT_RUNS] = {NULL, ", other models' runs", "runs", "runs-"},
    [RT_CALIBRATED_RUNS] = {"train", ", calibrated, and other models' runs", "calibrate-runs",
                            "calibrated-runs-"},
    [RT_CALIBRATED_ALIKE_RUNS] = {"test", ", calibrated, same kind, and other models' runs",
                                  "calibrate-test-runs", "calibrated-test-runs-"},
};

/* --- chips --- */

void rt_chip_word(const char *device, char *out, size_t size)
{
    for (const char *at = device; *at != '\0';) {
        size_t length = strcspn(at, " -_()/,"), digit = strcspn(at, "0123456789");
        if (digit < length && length > 1 && length < size) {
            memcpy(out, at, length);
            out[length] = '\0';
            return;
        }
        at += length + (at[length] != '\0');
    }
    snprintf(out, size, "%s", device);
}

/* A Grace superchip carries the chip it is named after: GB200, B200. */
static bool is_grace_of(const char *grace, const char *chip)
{
    return toupper((unsigned char)grace[0]) == 'G' && isalpha((unsigned char)chip[0]) &&
           rt_name_equal(grace + 1, chip);
}

bool rt_chip_same(const char *a, const char *b)
{
    char word[2][96];
    rt_chip_word(a, word[0], sizeof word[0]);
    rt_chip_word(b, word[1], sizeof word[1]);
    return rt_name_equal(word[0], word[1]) || is_grace_of(word[0], word[1]) || is_grace_of(word[1], word[0]);
}

/* --- data --- */

static void add_copy(struct rt_names *names, const char *text)
{
    rt_names_add(names, rt_strdup(text));
}

static int read_data(struct rt_crossval *crossval)
{
    const struct rt_names *data = &crossval->options->data;
    for (size_t i = 0; i < data->count; i++) {
        struct rt_dataset next;
        int status = rt_dataset_read(data->name[i], &next);
        if (status != RT_OK)
            return status;
        add_copy(&crossval->uuids, next.uuid);
        add_copy(&crossval->sources, next.source);
        add_copy(&crossval->licences, next.licence);
        status = rt_dataset_append(&crossval->dataset, &next);
        rt_dataset_release(&next);
        if (status != RT_OK)
            return rt_fail_context(status, "%s", data->name[i]);
    }
    if (data->count > 1)
        rt_dataset_drop_duplicates(&crossval->dataset);
    return RT_OK;
}

/* As `train` deals them; options that would deal otherwise are refused (cmd_crossval.c). */
static enum rt_part part_of(const struct rt_crossval *crossval, const struct rt_sample *sample)
{
    struct rt_split_rule rule = RT_SPLIT_DEFAULT;
    rule.seed = (uint64_t)crossval->options->seed;
    return rt_split_of(&rule, sample);
}

static bool is_measured(const struct rt_sample *sample)
{
    return !(sample->flags & RT_FLAG_FAILED) && sample->latency_us > 0;
}

static void count_kernels(struct rt_crossval *crossval)
{
    const struct rt_dataset *dataset = &crossval->dataset;
    crossval->kernels = rt_calloc(dataset->device_count + 1, sizeof *crossval->kernels);
    for (size_t i = 0; i < dataset->sample_count; i++) {
        const struct rt_sample *sample = &dataset->samples[i];
        if (!is_measured(sample))
            continue;
        crossval->kernels[sample->device][rt_sample_op(sample)->family][part_of(crossval, sample)]++;
        crossval->measured[sample->op] = true;
    }
}

static size_t sum_counts(const rt_part_counts counts, int part)
{
    size_t sum = 0;
    for (int family = 0; family < RT_FAMILY_COUNT; family++)
        for (int p = 0; p < RT_PARTS; p++)
            if (part < 0 || p == part)
                sum += counts[family][p];
    return sum;
}

static size_t count_workloads(const struct rt_crossval *crossval, size_t device)
{
    size_t count = 0;
    for (size_t w = 0; w < crossval->dataset.workload_count; w++)
        count += (size_t)crossval->dataset.workloads[w].device == device;
    return count;
}

/* --- folds --- */

static struct rt_fold *add_fold(struct rt_crossval *crossval, const char *name)
{
    crossval->folds = rt_realloc(crossval->folds, crossval->fold_count + 1, sizeof *crossval->folds);
    struct rt_fold *fold = &crossval->folds[crossval->fold_count++];
    *fold = (struct rt_fold){.name = rt_strdup(name), .op = -1};
    fold->devices = rt_calloc(crossval->dataset.device_count + 1, sizeof *fold->devices);
    return fold;
}

static void drop_last_fold(struct rt_crossval *crossval)
{
    struct rt_fold *fold = &crossval->folds[--crossval->fold_count];
    free(fold->name);
    free(fold->devices);
}

static void add_column(struct rt_crossval *crossval, const char *name)
{
    crossval->columns = rt_realloc(crossval->columns, crossval->column_count + 1, sizeof *crossval->columns);
    crossval->columns[crossval->column_count++] = rt_strdup(name);
}

static void add_device(struct rt_crossval *crossval, struct rt_fold *fold, size_t device)
{
    fold->devices[device] = true;
    fold->workloads += count_workloads(crossval, device);
    for (int family = 0; family < RT_FAMILY_COUNT; family++)
        for (int part = 0; part < RT_PARTS; part++)
            fold->kernels[family][part] += crossval->kernels[device][family][part];
}

/* Was the name asked for? Every name counts where none was. */
static bool is_wanted(const struct rt_names *only, const char *name)
{
    for (size_t i = 0; i < only->count; i++)
        if (rt_name_contains(name, only->name[i]))
            return true;
    return only->count == 0;
}

static bool fold_is_wanted(const struct rt_crossval *crossval, const struct rt_fold *fold)
{
    const struct rt_names *only = &crossval->options->only;
    bool wanted = is_wanted(only, fold->name);
    for (size_t d = 0; d < crossval->dataset.device_count; d++)
        wanted |= fold->devices[d] && is_wanted(only, crossval->dataset.devices[d].name);
    return wanted;
}

/* A fold per chip that has kernels or workloads, in the order of the data. */
static void find_gpus(struct rt_crossval *crossval)
{
    const struct rt_dataset *dataset = &crossval->dataset;
    bool *taken = rt_calloc(dataset->device_count + 1, sizeof *taken);
    for (size_t d = 0; d < dataset->device_count; d++) {
        char word[96];
        if (taken[d])
            continue;
        rt_chip_word(dataset->devices[d].name, word, sizeof word);
        struct rt_fold *fold = add_fold(crossval, word);
        for (size_t e = d; e < dataset->device_count; e++)
            if (rt_chip_same(dataset->devices[d].name, dataset->devices[e].name)) {
                taken[e] = true;
                add_device(crossval, fold, e);
            }
        if ((sum_counts(fold->kernels, -1) == 0 && fold->workloads == 0) || !fold_is_wanted(crossval, fold))
            drop_last_fold(crossval);
        else
            add_column(crossval, fold->name);
    }
    free(taken);
}

/* Kernels of every op and part. */
static void count_ops(const struct rt_crossval *crossval, size_t counts[RT_OP_COUNT][RT_PARTS])
{
    for (size_t i = 0; i < crossval->dataset.sample_count; i++) {
        const struct rt_sample *sample = &crossval->dataset.samples[i];
        if (is_measured(sample))
            counts[sample->op][part_of(crossval, sample)]++;
    }
}

static bool family_has_other(size_t counts[RT_OP_COUNT][RT_PARTS], int op)
{
    for (int other = 0; other < RT_OP_COUNT; other++)
        if (other != op && rt_ops[other].family == rt_ops[op].family && counts[other][RT_PART_TRAIN] > 0)
            return true;
    return false;
}

/* A fold per op whose family has another op to learn from. */
static void find_ops(struct rt_crossval *crossval)
{
    size_t counts[RT_OP_COUNT][RT_PARTS] = {{0}};
    count_ops(crossval, counts);
    for (int op = 0; op < RT_OP_COUNT; op++) {
        const char *name = rt_ops[op].name;
        size_t samples =
            counts[op][RT_PART_TRAIN] + counts[op][RT_PART_VALIDATION] + counts[op][RT_PART_TEST];
        if (samples == 0 || !is_wanted(&crossval->options->only, name))
            continue;
        if (!family_has_other(counts, op)) {
            char *longer = rt_format("%s%s%s", crossval->left_out ? crossval->left_out : "",
                                     crossval->left_out ? ", " : "", name);
            free(crossval->left_out);
            crossval->left_out = longer;
            continue;
        }
        struct rt_fold *fold = add_fold(crossval, name);
        fold->op = op;
        memcpy(fold->kernels[rt_ops[op].family], counts[op], sizeof counts[op]);
        add_column(crossval, name);
    }
}

static void find_models(struct rt_crossval *crossval)
{
    const struct rt_dataset *dataset = &crossval->dataset;
    struct rt_fold *fold = add_fold(crossval, "all");
    for (size_t w = 0; w < dataset->workload_count; w++) {
        const char *model = rt_strings_get(&dataset->texts, dataset->workloads[w].model);
        bool known = !is_wanted(&crossval->options->only, model);
        for (size_t c = 0; !known && c < crossval->column_count; c++)
            known = strcmp(crossval->columns[c], model) == 0;
        if (!known)
            add_column(crossval, model);
    }
    fold->workloads = dataset->workload_count;
}

/* Runs of whole models were asked for, and there is none. */
static int check_runs(const struct rt_crossval *crossval)
{
    for (size_t w = 0; crossval->options->runs && w < crossval->dataset.workload_count; w++)
        if (crossval->plain[w])
            return RT_OK;
    if (!crossval->options->runs)
        return RT_OK;
    return rt_fail(RT_EFORMAT,
                   "%s: holds no measured run of a whole model on one GPU that --calibrate-runs could "
                   "calibrate with; leave it out, or name data that has some",
                   crossval->options->data.name[0]);
}

static int refuse_empty(const struct rt_crossval *crossval)
{
    const struct rt_crossval_options *options = crossval->options;
    const char *what = rt_leave_outs[options->leave_out];
    if (options->only.count > 0)
        return rt_fail(
            RT_ENOTFOUND,
            "--%s %s: no fold of the data has that in its name; `rooftile crossval --dry-run` without "
            "--%s lists them",
            what, options->only.name[0], what);
    if (options->leave_out == RT_LEAVE_MODEL)
        return rt_fail(RT_EFORMAT,
                       "%s: holds no measured workloads (whole models), so there is no model to leave out; "
                       "`rooftile dataset import --format neusight` reads some",
                       options->data.name[0]);
    if (options->leave_out == RT_LEAVE_OP)
        return rt_fail(RT_EFORMAT, "%s: has no family with two ops, so none can be left out%s%s",
                       options->data.name[0], crossval->left_out ? "; it has " : "",
                       crossval->left_out ? crossval->left_out : "");
    return rt_fail(RT_EFORMAT,
                   "%s: holds neither kernels nor workloads; `rooftile dataset info` tells what is there",
                   options->data.name[0]);
}

static int find_folds(struct rt_crossval *crossval)
{
    switch (crossval->options->leave_out) {
    case RT_LEAVE_MODEL:
        find_models(crossval);
        break;
    case RT_LEAVE_OP:
        find_ops(crossval);
        break;
    default:
        find_gpus(crossval);
    }
    return crossval->column_count == 0 ? refuse_empty(crossval) : RT_OK;
}

/* --- steps --- */

static void add_argument(struct rt_fold_step *step, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_argument(struct rt_fold_step *step, const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        abort(); /* out of memory: rt_malloc ends the program, too */
    step->argv = rt_realloc(step->argv, step->argc + 2, sizeof *step->argv);
    step->argv[step->argc++] = text;
    step->argv[step->argc] = NULL;
}

static struct rt_fold_step *add_step(struct rt_unit *unit, const char *name, const char *output,
                                     double weight)
{
    unit->steps = rt_realloc(unit->steps, unit->step_count + 1, sizeof *unit->steps);
    struct rt_fold_step *step = &unit->steps[unit->step_count++];
    *step = (struct rt_fold_step){
        .name = rt_strdup(name), .output = rt_strdup(output), .weight = weight, .device = -1};
    add_argument(step, "rooftile");
    return step;
}

/* What every step ends with. */
static void end_step(const struct rt_crossval *crossval, struct rt_fold_step *step)
{
    const struct rt_names *data = &crossval->options->data;
    if (strcmp(step->argv[1], "calibrate") != 0) /* which tells no progress */
        add_argument(step, "--quiet");
    step->data = step->argc;
    for (size_t i = 0; i < data->count; i++)
        add_argument(step, "%s", data->name[i]);
}

/* "--option=NAME" for the marked devices. */
static void add_devices(const struct rt_crossval *crossval, struct rt_fold_step *step, const char *option,
                        const bool *devices)
{
    for (size_t d = 0; d < crossval->dataset.device_count; d++)
        if (devices[d])
            add_argument(step, "--%s=%s", option, crossval->dataset.devices[d].name);
}

static void add_output(const struct rt_unit *unit, struct rt_fold_step *step, const char *option)
{
    char *path = rt_fold_step_part_path(unit, step);
    add_argument(step, "--%s=%s", option, path);
    free(path);
}

static bool is_roofline(const struct rt_unit *unit)
{
    return strcmp(unit->kind, "roofline") == 0;
}

static void add_train(const struct rt_crossval *crossval, struct rt_unit *unit)
{
    const struct rt_crossval_options *options = crossval->options;
    struct rt_fold_step *step = add_step(unit, "train", "p.h5", 10);
    add_argument(step, "train");
    add_argument(step, "--predictor=%s", unit->kind);
    add_argument(step, "--seed=%" PRId64, options->seed);
    if (options->epochs > 0)
        add_argument(step, "--epochs=%" PRId64, options->epochs);
    for (size_t i = 0; i < options->families.count; i++)
        add_argument(step, "--family=%s", options->families.name[i]);
    for (size_t i = 0; i < options->train.count; i++)
        add_argument(step, "%s", options->train.name[i]);
    add_devices(crossval, step, "hold-out-gpu", unit->fold->devices);
    if (options->leave_out == RT_LEAVE_GPU && !options->keep_test)
        add_argument(step, "--no-test"); /* the GPU that is judged is not among them */
    if (unit->fold->op >= 0)
        add_argument(step, "--hold-out-op=%s", rt_ops[unit->fold->op].name);
    add_output(unit, step, "output");
    add_argument(step, "--threads=1");
    add_argument(step, "--resume");
    end_step(crossval, step);
}

/* `predictor`: the step that makes it; "roofline" is made by none. The step is called by `prefix` and `what`.
 */
static struct rt_fold_step *add_evaluate(const struct rt_crossval *crossval, struct rt_unit *unit,
                                         const char *prefix, const char *what, const char *predictor,
                                         const bool *devices)
{
    char *name = rt_format("%s%s", prefix, what), *output = rt_format("%s.json", name);
    struct rt_fold_step *step = add_step(unit, name, output, 1);
    const struct rt_fold_step *from = rt_unit_step(unit, predictor);
    char *path = from != NULL ? rt_fold_step_path(unit, from) : rt_strdup("roofline");
    add_argument(step, "evaluate");
    add_argument(step, "--predictor=%s", path);
    add_devices(crossval, step, "gpu", devices);
    add_output(unit, step, "report");
    add_argument(step, "--threads=1");
    if (from != NULL && strcmp(from->name, "train") != 0)
        add_argument(step, "--no-baseline"); /* it stands beside the uncalibrated */
    free(path);
    free(name);
    free(output);
    return step;
}

/* Families that a kind has networks for and that were asked for. */
static void kind_families(const struct rt_crossval *crossval, const char *kind, bool out[RT_FAMILY_COUNT])
{
    const struct rt_names *families = &crossval->options->families;
    bool known = rt_recipe_kind(kind);
    for (int family = 0; family < RT_FAMILY_COUNT; family++)
        out[family] = !known && families->count == 0;
    for (size_t r = 0; r < rt_recipe_count; r++)
        if (strcmp(rt_recipes[r].kind, kind) == 0)
            out[rt_recipes[r].family] = families->count == 0;
    for (size_t i = 0; i < families->count; i++)
        out[rt_family_find(families->name[i])] = true;
}

/* Has the kind numbers of each device that calibration can fit? */
static bool kind_has_latents(const char *kind)
{
    for (size_t r = 0; r < rt_recipe_count; r++)
        if (strcmp(rt_recipes[r].kind, kind) == 0 && rt_heads[rt_head_find(rt_recipes[r].head)].latents)
            return true;
    return false;
}

/* "--op=NAME" for the measured ops of a family (`--op linear` alone would be the op of that name), or for the
 * one that was held out. */
static void add_ops(const struct rt_crossval *crossval, struct rt_fold_step *step, int family, int held_out)
{
    for (int op = 0; op < RT_OP_COUNT; op++)
        if (held_out >= 0 ? op == held_out : (int)rt_ops[op].family == family && crossval->measured[op])
            add_argument(step, "--op=%s", rt_ops[op].name);
}

/* Evaluations of kernels. A family is judged on its test rows; where the fold has none, on the validation
 * rows: of what was held out those are as unseen, and calibration draws from neither. */
static void add_kernels(const struct rt_crossval *crossval, struct rt_unit *unit, const char *prefix,
                        const char *predictor, const bool *devices, const rt_part_counts counts)
{
    bool families[RT_FAMILY_COUNT];
    const struct rt_fold *fold = unit->fold;
    kind_families(crossval, unit->kind, families);
    for (int validation = 0; validation < 2; validation++) {
        struct rt_fold_step *step = NULL;
        for (int family = 0; family < RT_FAMILY_COUNT; family++) {
            size_t n = counts[family][validation ? RT_PART_VALIDATION : RT_PART_TEST];
            if (!families[family] || n == 0 || (validation && fold->kernels[family][RT_PART_TEST] > 0))
                continue;
            if (step == NULL) {
                step = add_evaluate(crossval, unit, prefix, validation ? "validation" : "kernels", predictor,
                                    devices);
                add_argument(step, "--split=%s", validation ? "validation" : "test");
            }
            add_ops(crossval, step, family, fold->op);
        }
        if (step != NULL)
            end_step(crossval, step);
    }
}

static void add_workloads(const struct rt_crossval *crossval, struct rt_unit *unit, const char *prefix,
                          const char *predictor, const bool *devices)
{
    struct rt_fold_step *step = add_evaluate(crossval, unit, prefix, "workloads", predictor, devices);
    step->weight = 2;
    add_argument(step, "--workloads");
    end_step(crossval, step);
}

/* Where a family's calibration kernels come from: of RT_CALIBRATED_ALIKE the part that it is judged on, but
 * not the validation part, which is dealt from the training part and of its kind. */
static enum rt_part drawn_from(const struct rt_fold *fold, int family, enum rt_protocol protocol)
{
    return protocol == RT_CALIBRATED_ALIKE && fold->kernels[family][RT_PART_TEST] > 0 ? RT_PART_TEST
                                                                                      : RT_PART_TRAIN;
}

static bool family_can_calibrate(const struct rt_crossval *crossval, const struct rt_fold *fold,
                                 size_t device, int family, enum rt_protocol protocol)
{
    return crossval->kernels[device][family][drawn_from(fold, family, protocol)] >= RT_CALIBRATE_LEAST;
}

/* Has the device enough kernels in that part for a family of the kind that draws from it? */
static bool draws_from(const struct rt_crossval *crossval, const struct rt_unit *unit, size_t device,
                       enum rt_protocol protocol, enum rt_part part)
{
    bool families[RT_FAMILY_COUNT];
    kind_families(crossval, unit->kind, families);
    for (int family = 0; family < RT_FAMILY_COUNT; family++)
        if (families[family] && drawn_from(unit->fold, family, protocol) == part &&
            family_can_calibrate(crossval, unit->fold, device, family, protocol))
            return true;
    return false;
}

/* Test kernels of a network that calibration leaves, which draws from them. */
static size_t left_of_net(const struct rt_crossval *crossval, const struct rt_recipe *recipe, size_t device)
{
    const struct rt_family_net net = {.family = recipe->family, .units = recipe->units};
    size_t count = 0, drawn = (size_t)crossval->options->calibrate;
    for (size_t i = 0; i < crossval->dataset.sample_count; i++) {
        const struct rt_sample *sample = &crossval->dataset.samples[i];
        count += (size_t)sample->device == device && is_measured(sample) &&
                 part_of(crossval, sample) == RT_PART_TEST &&
                 rt_net_serves(&net, (enum rt_op_id)sample->op, (enum rt_dtype)sample->dtype);
    }
    return count < RT_CALIBRATE_LEAST ? count : count > drawn ? count - drawn : 0;
}

/* Adds the kernels of a family that can be judged after calibration: none where it is not calibrated. */
static void count_judged(const struct rt_crossval *crossval, const struct rt_unit *unit, size_t device,
                         int family, enum rt_protocol protocol, rt_part_counts counts)
{
    if (!family_can_calibrate(crossval, unit->fold, device, family, protocol))
        return;
    if (drawn_from(unit->fold, family, protocol) == RT_PART_TRAIN) {
        for (int part = 0; part < RT_PARTS; part++)
            counts[family][part] += crossval->kernels[device][family][part];
        return;
    }
    for (size_t r = 0; r < rt_recipe_count; r++)
        if (strcmp(rt_recipes[r].kind, unit->kind) == 0 && (int)rt_recipes[r].family == family)
            counts[family][RT_PART_TEST] += left_of_net(crossval, &rt_recipes[r], device);
}

/* Step `number` (from 1) of calibration, on top of the one before. */
static void add_calibrate(const struct rt_crossval *crossval, struct rt_unit *unit, size_t device,
                          enum rt_protocol protocol, enum rt_part part, size_t number)
{
    const char *first = rt_protocols[protocol].step;
    char *from = rt_fold_step_path(unit, number == 1 ? rt_unit_step(unit, "train")
                                                     : &unit->steps[unit->step_count - 1]);
    char *name = number == 1 ? rt_strdup(first) : rt_format("%s-%zu", first, number);
    char *output = rt_format("%s.h5", name);
    struct rt_fold_step *step = add_step(unit, name, output, 1);
    add_argument(step, "calibrate");
    add_argument(step, "--predictor=%s", from);
    add_argument(step, "--gpu=%s", crossval->dataset.devices[device].name);
    add_argument(step, "--from=kernels");
    add_argument(step, "--split=%s", rt_part_name((int)part));
    add_argument(step, "--kernels=%" PRId64, crossval->options->calibrate);
    add_argument(step, "--seed=%" PRId64, crossval->options->seed);
    add_output(unit, step, "output");
    end_step(crossval, step);
    free(from);
    free(name);
    free(output);
}

/* `calibrate` takes one device and part at a time, each on top of the one before: the last file has them all.
 * Families that draw from the test part replace what the training part told of them. */
static void add_calibrated(const struct rt_crossval *crossval, struct rt_unit *unit,
                           enum rt_protocol protocol)
{
    static const enum rt_part parts[] = {RT_PART_TRAIN, RT_PART_TEST};
    const char *prefix = rt_protocols[protocol].outputs;
    const struct rt_fold *fold = unit->fold;
    bool *devices = rt_calloc(crossval->dataset.device_count + 1, sizeof *devices);
    rt_part_counts counts = {{0}};
    size_t count = 0, workloads = 0;
    for (size_t d = 0; d < crossval->dataset.device_count; d++) {
        for (size_t p = 0; fold->devices[d] && p < RT_COUNT(parts); p++)
            if (draws_from(crossval, unit, d, protocol, parts[p])) {
                devices[d] = true;
                add_calibrate(crossval, unit, d, protocol, parts[p], ++count);
            }
        workloads += devices[d] ? count_workloads(crossval, d) : 0;
        for (int family = 0; devices[d] && family < RT_FAMILY_COUNT; family++)
            count_judged(crossval, unit, d, family, protocol, counts);
    }
    if (count > 0) {
        char *predictor = rt_strdup(unit->steps[unit->step_count - 1].name);
        add_kernels(crossval, unit, prefix, predictor, devices, counts);
        if (workloads > 0 && crossval->options->families.count == 0)
            add_workloads(crossval, unit, prefix, predictor, devices);
        free(predictor);
    }
    free(devices);
}

/* --- runs of other models --- */

static const char *model_of(const struct rt_crossval *crossval, size_t workload)
{
    const struct rt_dataset *dataset = &crossval->dataset;
    return rt_strings_get(&dataset->texts, dataset->workloads[workload].model);
}

/* Finds the measured runs of one GPU, as written, whose model is known: what calibration from runs takes, and
 * what is judged then. */
static void find_plain_runs(struct rt_crossval *crossval)
{
    const struct rt_dataset *dataset = &crossval->dataset;
    crossval->plain = rt_calloc(dataset->workload_count + 1, sizeof *crossval->plain);
    for (size_t w = 0; w < dataset->workload_count; w++) {
        struct rt_workload_split split;
        struct rt_graph graph;
        if (rt_strings_get(&dataset->texts, dataset->workloads[w].option)[0] != '\0' ||
            rt_workload_graph(dataset, &dataset->workloads[w], &split, &graph) != RT_OK)
            continue;
        crossval->plain[w] = true;
        rt_graph_release(&graph);
    }
}

static bool is_plain_run(const struct rt_crossval *crossval, size_t workload, size_t device)
{
    return crossval->plain[workload] && (size_t)crossval->dataset.workloads[workload].device == device;
}

static bool has_run_of(const struct rt_crossval *crossval, size_t device, const char *model)
{
    for (size_t w = 0; w < crossval->dataset.workload_count; w++)
        if (is_plain_run(crossval, w, device) && strcmp(model_of(crossval, w), model) == 0)
            return true;
    return false;
}

/* Is there a run on the device that `calibrate --without-model` leaves and can fit to? */
static bool has_other_run(const struct rt_crossval *crossval, size_t device, const char *model)
{
    for (size_t w = 0; w < crossval->dataset.workload_count; w++) {
        uint32_t flags = crossval->dataset.workloads[w].flags;
        if (is_plain_run(crossval, w, device) && !(flags & (RT_FLAG_THROTTLED | RT_FLAG_UNSTABLE)) &&
            !rt_name_contains(model_of(crossval, w), model))
            return true;
    }
    return false;
}

/* Step `number` (from 1) of a protocol's calibrations from runs, on top of the step `predictor`. */
static void add_calibrate_runs(const struct rt_crossval *crossval, struct rt_unit *unit,
                               enum rt_protocol protocol, size_t number, const char *predictor, size_t device,
                               const char *model)
{
    char *name = rt_format("%s-%zu", rt_protocols[protocol].step, number), *output = rt_format("%s.h5", name);
    char *from = rt_fold_step_path(unit, rt_unit_step(unit, predictor));
    struct rt_fold_step *step = add_step(unit, name, output, 1);
    add_argument(step, "calibrate");
    add_argument(step, "--predictor=%s", from);
    add_argument(step, "--gpu=%s", crossval->dataset.devices[device].name);
    add_argument(step, "--from=models");
    add_argument(step, "--without-model=%s", model);
    add_argument(step, "--seed=%" PRId64, crossval->options->seed);
    add_output(unit, step, "output");
    end_step(crossval, step);
    free(from);
    free(name);
    free(output);
}

/* Evaluation `number` (from 1) of a protocol: the plain runs of a model on the marked devices. */
static void add_judge_model(const struct rt_crossval *crossval, struct rt_unit *unit,
                            enum rt_protocol protocol, size_t number, const char *predictor,
                            const bool *devices, int32_t device, const char *model)
{
    char *what = rt_format("workloads-%zu", number);
    struct rt_fold_step *step =
        add_evaluate(crossval, unit, rt_protocols[protocol].outputs, what, predictor, devices);
    step->model = model;
    step->device = device;
    add_argument(step, "--workloads");
    add_argument(step, "--model=%s", model);
    if (strcmp(predictor, "train") == 0) /* add_evaluate has it otherwise */
        add_argument(step, "--no-baseline");
    end_step(crossval, step);
    free(what);
}

/* Has the fold's calibration with kernels reached the device? Of zero-shot it need not. */
static bool is_calibrated(const struct rt_crossval *crossval, const struct rt_unit *unit, size_t device,
                          enum rt_protocol kernels)
{
    return kernels == RT_ZERO_SHOT || draws_from(crossval, unit, device, kernels, RT_PART_TRAIN) ||
           draws_from(crossval, unit, device, kernels, RT_PART_TEST);
}

/* Name of the last step that calibrates with kernels, "train" where none is to; NULL where none does. */
static const char *last_of_kernels(const struct rt_unit *unit, enum rt_protocol kernels)
{
    const char *last = NULL;
    size_t length = strlen(rt_protocols[kernels].step);
    if (kernels == RT_ZERO_SHOT)
        return "train";
    for (size_t s = 0; s < unit->step_count; s++) {
        const char *name = unit->steps[s].name, *digits = name + length + 1;
        if (strcmp(name, rt_protocols[kernels].step) == 0 ||
            (strncmp(name, rt_protocols[kernels].step, length) == 0 && name[length] == '-' &&
             isdigit((unsigned char)digits[0])))
            last = name;
    }
    return last;
}

/* Is the model the first of its name among the runs of the device? */
static bool is_first_run_of_model(const struct rt_crossval *crossval, size_t device, size_t workload)
{
    for (size_t w = 0; w < workload; w++)
        if (is_plain_run(crossval, w, device) &&
            strcmp(model_of(crossval, w), model_of(crossval, workload)) == 0)
            return false;
    return is_plain_run(crossval, workload, device);
}

/* Of --leave-out gpu: for every model that ran on a device, the runs of all other models beside the kernels,
 * then that model is judged. Where no other ran, it is judged with the kernels alone. */
static void add_device_runs(const struct rt_crossval *crossval, struct rt_unit *unit,
                            enum rt_protocol kernels)
{
    enum rt_protocol protocol = (enum rt_protocol)(RT_RUNS + (int)kernels);
    char *base = rt_strdup(last_of_kernels(unit, kernels) != NULL ? last_of_kernels(unit, kernels) : "");
    size_t calibrated = 0, judged = 0;
    for (size_t d = 0; base[0] != '\0' && d < crossval->dataset.device_count; d++) {
        bool *devices = rt_calloc(crossval->dataset.device_count + 1, sizeof *devices);
        devices[d] = true;
        for (size_t w = 0; w < crossval->dataset.workload_count; w++) {
            const char *model = model_of(crossval, w);
            if (!unit->fold->devices[d] || !is_calibrated(crossval, unit, d, kernels) ||
                !is_first_run_of_model(crossval, d, w))
                continue;
            bool others = has_other_run(crossval, d, model);
            if (others)
                add_calibrate_runs(crossval, unit, protocol, ++calibrated, base, d, model);
            char *predictor = others ? rt_strdup(unit->steps[unit->step_count - 1].name) : rt_strdup(base);
            add_judge_model(crossval, unit, protocol, ++judged, predictor, devices, (int32_t)d, model);
            free(predictor);
        }
        free(devices);
    }
    free(base);
}

/* Of --leave-out model: for every model, the runs of all others on every device where both ran, a device on
 * top of the other; then the model is judged wherever it ran. */
static void add_model_runs(const struct rt_crossval *crossval, struct rt_unit *unit)
{
    size_t calibrated = 0;
    for (size_t c = 0, judged = 0; c < crossval->column_count; c++) {
        const char *model = crossval->columns[c];
        char *predictor = rt_strdup("train");
        bool ran = false;
        for (size_t d = 0; d < crossval->dataset.device_count; d++) {
            bool here = has_run_of(crossval, d, model);
            ran |= here;
            if (!here || !has_other_run(crossval, d, model))
                continue;
            add_calibrate_runs(crossval, unit, RT_RUNS, ++calibrated, predictor, d, model);
            free(predictor);
            predictor = rt_strdup(unit->steps[unit->step_count - 1].name);
        }
        if (ran)
            add_judge_model(crossval, unit, RT_RUNS, ++judged, predictor, unit->fold->devices, -1, model);
        free(predictor);
    }
}

static void add_runs(const struct rt_crossval *crossval, struct rt_unit *unit)
{
    const struct rt_crossval_options *options = crossval->options;
    if (!options->runs || !kind_has_latents(unit->kind))
        return;
    if (options->leave_out == RT_LEAVE_MODEL) {
        add_model_runs(crossval, unit);
        return;
    }
    for (int kernels = RT_ZERO_SHOT; kernels < RT_KERNEL_PROTOCOLS; kernels++)
        if (kernels == RT_ZERO_SHOT || (options->protocols[kernels] && options->calibrate > 0))
            add_device_runs(crossval, unit, (enum rt_protocol)kernels);
}

static void release_unit(struct rt_unit *unit)
{
    for (size_t s = 0; s < unit->step_count; s++) {
        for (size_t a = 0; a < unit->steps[s].argc; a++)
            free(unit->steps[s].argv[a]);
        free(unit->steps[s].argv);
        free(unit->steps[s].name);
        free(unit->steps[s].output);
    }
    free(unit->steps);
    free(unit->folder);
}

static void add_unit(struct rt_crossval *crossval, const struct rt_fold *fold, const char *kind)
{
    const struct rt_crossval_options *options = crossval->options;
    struct rt_unit *unit = &crossval->units[crossval->unit_count];
    *unit = (struct rt_unit){.fold = fold, .kind = kind};
    unit->folder = rt_format("%s/fold-%s/%s", options->out, fold->name, kind);
    for (char *at = unit->folder + strlen(options->out) + 1 + strlen("fold-"), *end = at + strlen(fold->name);
         at < end; at++)
        if (!isalnum((unsigned char)*at) && *at != '.' && *at != '_')
            *at = '-'; /* a name may hold "/" */
    crossval->unit_count++;
    if (!is_roofline(unit))
        add_train(crossval, unit);
    add_kernels(crossval, unit, "", "train", fold->devices, fold->kernels);
    if (fold->workloads > 0 && options->families.count == 0)
        add_workloads(crossval, unit, "", "train", fold->devices);
    for (int protocol = RT_CALIBRATED; protocol < RT_KERNEL_PROTOCOLS; protocol++)
        if (options->protocols[protocol] && options->calibrate > 0 && options->leave_out == RT_LEAVE_GPU &&
            kind_has_latents(kind))
            add_calibrated(crossval, unit, (enum rt_protocol)protocol);
    add_runs(crossval, unit);
    if (unit->step_count == 1 && !is_roofline(unit)) { /* trained, and nothing to judge it on */
        release_unit(unit);
        crossval->unit_count--;
    }
}

static void add_units(struct rt_crossval *crossval)
{
    const struct rt_names *kinds = &crossval->options->kinds;
    crossval->units = rt_calloc(crossval->fold_count * kinds->count + 1, sizeof *crossval->units);
    for (size_t f = 0; f < crossval->fold_count; f++)
        for (size_t k = 0; k < kinds->count; k++)
            add_unit(crossval, &crossval->folds[f], kinds->name[k]);
}

int rt_crossval_plan(const struct rt_crossval_options *options, struct rt_crossval *out)
{
    *out = (struct rt_crossval){.options = options};
    rt_dataset_init(&out->dataset);
    int status = read_data(out);
    if (status != RT_OK)
        return status;
    count_kernels(out);
    if (options->runs)
        find_plain_runs(out);
    if ((status = find_folds(out)) == RT_OK && (status = check_runs(out)) == RT_OK)
        add_units(out);
    return status;
}

/* --- files --- */

char *rt_fold_step_path(const struct rt_unit *unit, const struct rt_fold_step *step)
{
    return rt_format("%s/%s", unit->folder, step->output);
}

char *rt_fold_step_part_path(const struct rt_unit *unit, const struct rt_fold_step *step)
{
    const char *ending = strrchr(step->output, '.');
    return rt_format("%s/%.*s.part%s", unit->folder, (int)(ending - step->output), step->output, ending);
}

char *rt_fold_step_log_path(const struct rt_unit *unit, const struct rt_fold_step *step)
{
    return rt_format("%s/%s.log", unit->folder, step->name);
}

const struct rt_fold_step *rt_unit_step(const struct rt_unit *unit, const char *name)
{
    for (size_t s = 0; s < unit->step_count; s++)
        if (strcmp(unit->steps[s].name, name) == 0)
            return &unit->steps[s];
    return NULL;
}

/* --- release --- */

static void release_copies(struct rt_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free((char *)(uintptr_t)names->name[i]);
    rt_names_release(names);
}

void rt_crossval_release(struct rt_crossval *crossval)
{
    for (size_t u = 0; u < crossval->unit_count; u++)
        release_unit(&crossval->units[u]);
    while (crossval->fold_count > 0)
        drop_last_fold(crossval);
    for (size_t c = 0; c < crossval->column_count; c++)
        free(crossval->columns[c]);
    free(crossval->columns);
    free(crossval->folds);
    free(crossval->units);
    free(crossval->kernels);
    free(crossval->left_out);
    free(crossval->plain);
    release_copies(&crossval->uuids);
    release_copies(&crossval->sources);
    release_copies(&crossval->licences);
    rt_dataset_release(&crossval->dataset);
    *crossval = (struct rt_crossval){0};
}
