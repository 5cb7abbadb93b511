/* The steps of a fold: training, evaluation, calibration with kernels. See crossval_steps.h. */
#include "predict/crossval/crossval_steps.h"
#include "base/status.h"
#include "models/predictor/recipe.h"
#include "predict/calibrate/calibrate.h"
#include "predict/evaluate/evaluate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void rt_fold_step_argument(struct rt_fold_step *step, const char *format, ...)
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
    rt_fold_step_argument(step, "rooftile");
    return step;
}

/* What every step ends with. */
void rt_fold_step_end(const struct rt_crossval *crossval, struct rt_fold_step *step)
{
    const struct rt_names *data = &crossval->options->data;
    if (strcmp(step->argv[1], "calibrate") != 0) /* which tells no progress */
        rt_fold_step_argument(step, "--quiet");
    step->data = step->argc;
    for (size_t i = 0; i < data->count; i++)
        rt_fold_step_argument(step, "%s", data->name[i]);
}

/* "--option=NAME" for the marked devices. */
static void add_devices(const struct rt_crossval *crossval, struct rt_fold_step *step, const char *option,
                        const bool *devices)
{
    for (size_t d = 0; d < crossval->dataset.device_count; d++)
        if (devices[d])
            rt_fold_step_argument(step, "--%s=%s", option, crossval->dataset.devices[d].name);
}

void rt_fold_step_output(const struct rt_unit *unit, struct rt_fold_step *step, const char *option)
{
    char *path = rt_fold_step_part_path(unit, step);
    rt_fold_step_argument(step, "--%s=%s", option, path);
    free(path);
}

bool rt_unit_is_roofline(const struct rt_unit *unit)
{
    return strcmp(unit->kind, "roofline") == 0;
}

void rt_unit_add_train(const struct rt_crossval *crossval, struct rt_unit *unit)
{
    const struct rt_crossval_options *options = crossval->options;
    struct rt_fold_step *step = add_step(unit, "train", "p.h5", 10);
    rt_fold_step_argument(step, "train");
    rt_fold_step_argument(step, "--predictor=%s", unit->kind);
    rt_fold_step_argument(step, "--seed=%" PRId64, options->seed);
    if (options->epochs > 0)
        rt_fold_step_argument(step, "--epochs=%" PRId64, options->epochs);
    for (size_t i = 0; i < options->families.count; i++)
        rt_fold_step_argument(step, "--family=%s", options->families.name[i]);
    for (size_t i = 0; i < options->train.count; i++)
        rt_fold_step_argument(step, "%s", options->train.name[i]);
    add_devices(crossval, step, "hold-out-gpu", unit->fold->devices);
    if (options->leave_out == RT_LEAVE_GPU && !options->keep_test)
        rt_fold_step_argument(step, "--no-test"); /* the GPU that is judged is not among them */
    if (unit->fold->op >= 0)
        rt_fold_step_argument(step, "--hold-out-op=%s", rt_ops[unit->fold->op].name);
    rt_fold_step_output(unit, step, "output");
    rt_fold_step_argument(step, "--threads=1");
    rt_fold_step_argument(step, "--resume");
    rt_fold_step_end(crossval, step);
}

/* `predictor`: the step that makes it; "roofline" is made by none. The step is called by `prefix` and `what`.
 */
struct rt_fold_step *rt_fold_step_evaluate(const struct rt_crossval *crossval, struct rt_unit *unit,
                                           const char *prefix, const char *what, const char *predictor,
                                           const bool *devices)
{
    char *name = rt_format("%s%s", prefix, what), *output = rt_format("%s.json", name);
    struct rt_fold_step *step = add_step(unit, name, output, 1);
    const struct rt_fold_step *from = rt_unit_step(unit, predictor);
    char *path = from != NULL ? rt_fold_step_path(unit, from) : rt_strdup("roofline");
    rt_fold_step_argument(step, "evaluate");
    rt_fold_step_argument(step, "--predictor=%s", path);
    add_devices(crossval, step, "gpu", devices);
    rt_fold_step_output(unit, step, "report");
    rt_fold_step_argument(step, "--threads=1");
    if (from != NULL && strcmp(from->name, "train") != 0)
        rt_fold_step_argument(step, "--no-baseline"); /* it stands beside the uncalibrated */
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
bool rt_kind_has_effects(const char *kind)
{
    for (size_t r = 0; r < rt_recipe_count; r++)
        if (strcmp(rt_recipes[r].kind, kind) == 0 && rt_recipe_has_effects(&rt_recipes[r]))
            return true;
    return false;
}

/* "--op=NAME" for the measured ops of a family (`--op linear` alone would be the op of that name), or for the
 * one that was held out. */
static void add_ops(const struct rt_crossval *crossval, struct rt_fold_step *step, int family, int held_out)
{
    for (int op = 0; op < RT_OP_COUNT; op++)
        if (held_out >= 0 ? op == held_out : (int)rt_ops[op].family == family && crossval->measured[op])
            rt_fold_step_argument(step, "--op=%s", rt_ops[op].name);
}

/* Evaluations of kernels. A family is judged on its test rows; where the fold has none, on the validation
 * rows: of what was held out those are as unseen, and calibration draws from neither. */
void rt_unit_add_kernels(const struct rt_crossval *crossval, struct rt_unit *unit, const char *prefix,
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
                step = rt_fold_step_evaluate(crossval, unit, prefix, validation ? "validation" : "kernels",
                                             predictor, devices);
                rt_fold_step_argument(step, "--split=%s", validation ? "validation" : "test");
            }
            add_ops(crossval, step, family, fold->op);
        }
        if (step != NULL)
            rt_fold_step_end(crossval, step);
    }
}

void rt_unit_add_workloads(const struct rt_crossval *crossval, struct rt_unit *unit, const char *prefix,
                           const char *predictor, const bool *devices)
{
    struct rt_fold_step *step =
        rt_fold_step_evaluate(crossval, unit, prefix, "workloads", predictor, devices);
    step->weight = 2;
    rt_fold_step_argument(step, "--workloads");
    rt_fold_step_end(crossval, step);
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
bool rt_unit_draws_from(const struct rt_crossval *crossval, const struct rt_unit *unit, size_t device,
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
        count += (size_t)sample->device == device && rt_crossval_is_measured(sample) &&
                 rt_crossval_part_of(crossval, sample) == RT_PART_TEST &&
                 rt_net_serves(&net, (enum rt_op_id)sample->call.op, (enum rt_dtype)sample->call.dtype);
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

struct rt_fold_step *rt_fold_step_calibrate(const struct rt_crossval *crossval, struct rt_unit *unit,
                                            const char *name, const struct rt_fold_step *from, size_t device)
{
    char *predictor = rt_fold_step_path(unit, from), *output = rt_format("%s.h5", name);
    struct rt_fold_step *step = add_step(unit, name, output, 1);
    rt_fold_step_argument(step, "calibrate");
    rt_fold_step_argument(step, "--predictor=%s", predictor);
    rt_fold_step_argument(step, "--gpu=%s", crossval->dataset.devices[device].name);
    rt_fold_step_argument(step, "--seed=%" PRId64, crossval->options->seed);
    rt_fold_step_output(unit, step, "output");
    free(predictor);
    free(output);
    return step;
}

/* Step `number` (from 1) of calibration, on top of the one before. */
static void add_calibrate(const struct rt_crossval *crossval, struct rt_unit *unit, size_t device,
                          enum rt_protocol protocol, enum rt_part part, size_t number)
{
    const char *first = rt_protocols[protocol].step;
    char *name = number == 1 ? rt_strdup(first) : rt_format("%s-%zu", first, number);
    const struct rt_fold_step *from =
        number == 1 ? rt_unit_step(unit, "train") : &unit->steps[unit->step_count - 1];
    struct rt_fold_step *step = rt_fold_step_calibrate(crossval, unit, name, from, device);
    rt_fold_step_argument(step, "--from=kernels");
    rt_fold_step_argument(step, "--split=%s", rt_part_name((int)part));
    rt_fold_step_argument(step, "--kernels=%" PRId64, crossval->options->calibrate);
    rt_fold_step_end(crossval, step);
    free(name);
}

/* `calibrate` takes one device and part at a time, each on top of the one before: the last file has them all.
 * Families that draw from the test part replace what the training part told of them. */
void rt_unit_add_calibrated(const struct rt_crossval *crossval, struct rt_unit *unit,
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
            if (rt_unit_draws_from(crossval, unit, d, protocol, parts[p])) {
                devices[d] = true;
                add_calibrate(crossval, unit, d, protocol, parts[p], ++count);
            }
        workloads += devices[d] ? rt_crossval_count_workloads(crossval, d) : 0;
        for (int family = 0; devices[d] && family < RT_FAMILY_COUNT; family++)
            count_judged(crossval, unit, d, family, protocol, counts);
    }
    if (count > 0) {
        char *predictor = rt_strdup(unit->steps[unit->step_count - 1].name);
        rt_unit_add_kernels(crossval, unit, prefix, predictor, devices, counts);
        if (workloads > 0 && crossval->options->families.count == 0)
            rt_unit_add_workloads(crossval, unit, prefix, predictor, devices);
        free(predictor);
    }
    free(devices);
}
