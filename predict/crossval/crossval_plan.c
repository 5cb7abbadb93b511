/* Data, folds and their units. See crossval.h. */
#include "predict/crossval/crossval.h"
#include "base/status.h"
#include "predict/crossval/crossval_steps.h"
#include "predict/evaluate/evaluate.h"

#include <ctype.h>
#include <inttypes.h>
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
enum rt_part rt_crossval_part_of(const struct rt_crossval *crossval, const struct rt_sample *sample)
{
    struct rt_split_rule rule = RT_SPLIT_DEFAULT;
    rule.seed = (uint64_t)crossval->options->seed;
    return rt_split_of(&rule, sample);
}

bool rt_crossval_is_measured(const struct rt_sample *sample)
{
    return !(sample->flags & RT_FLAG_FAILED) && sample->latency_us > 0;
}

static void count_kernels(struct rt_crossval *crossval)
{
    const struct rt_dataset *dataset = &crossval->dataset;
    crossval->kernels = rt_calloc(dataset->device_count + 1, sizeof *crossval->kernels);
    for (size_t i = 0; i < dataset->sample_count; i++) {
        const struct rt_sample *sample = &dataset->samples[i];
        if (!rt_crossval_is_measured(sample))
            continue;
        crossval
            ->kernels[sample->device][rt_call_family(&sample->call)][rt_crossval_part_of(crossval, sample)]++;
        crossval->measured[sample->call.op] = true;
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

size_t rt_crossval_count_workloads(const struct rt_crossval *crossval, size_t device)
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
    fold->workloads += rt_crossval_count_workloads(crossval, device);
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
        if (rt_crossval_is_measured(sample))
            counts[sample->call.op][rt_crossval_part_of(crossval, sample)]++;
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

/* --- units --- */

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
    if (!rt_unit_is_roofline(unit))
        rt_unit_add_train(crossval, unit);
    rt_unit_add_kernels(crossval, unit, "", "train", fold->devices, fold->kernels);
    if (fold->workloads > 0 && options->families.count == 0)
        rt_unit_add_workloads(crossval, unit, "", "train", fold->devices);
    for (int protocol = RT_CALIBRATED; protocol < RT_KERNEL_PROTOCOLS; protocol++)
        if (options->protocols[protocol] && options->calibrate > 0 && options->leave_out == RT_LEAVE_GPU &&
            rt_kind_has_effects(kind))
            rt_unit_add_calibrated(crossval, unit, (enum rt_protocol)protocol);
    rt_unit_add_runs(crossval, unit);
    if (unit->step_count == 1 && !rt_unit_is_roofline(unit)) { /* trained, and nothing to judge it on */
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
        rt_crossval_find_runs(out);
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
