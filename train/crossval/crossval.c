/* Data, folds, units and what their results depend on. See crossval.h. */
#include "train/crossval/crossval.h"
#include "base/status.h"
#include "base/text.h"
#include "base/version.h"
#include "datasets/dataset_input.h"
#include "datasets/designs.h"
#include "models/predictors/predictor/recipe.h"
#include "predict/evaluate/run_steps.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_leave_outs[RT_LEAVE_COUNT] = {"gpu", "generation", "model", "op"};

const struct rt_protocol_row rt_protocols[RT_PROTOCOL_COUNT] = {
    [RT_ZERO_SHOT] = {"zero-shot", NULL, ""},
    [RT_CALIBRATED] = {"calibrated", "train", ", calibrated"},
    [RT_CALIBRATED_TEST] = {"calibrated-test", "test", ", calibrated, same kind"},
    [RT_RUNS] = {"runs", NULL, ", other models' runs"},
    [RT_CALIBRATED_RUNS] = {"calibrated-runs", "train", ", calibrated, and other models' runs"},
    [RT_CALIBRATED_TEST_RUNS] = {"calibrated-test-runs", "test",
                                 ", calibrated, same kind, and other models' runs"},
};

/* --- data --- */

static int read_data(struct rt_crossval *crossval)
{
    struct rt_dataset_input input;
    int status = rt_dataset_input_read(&crossval->options->data, &input);
    crossval->dataset = input.dataset;
    rt_dataset_init(&input.dataset);
    rt_dataset_input_release(&input);
    return status;
}

/* The part of the data that training, calibration and evaluation see a sample in. `train` deals by the same
 * rule; options that would deal otherwise are refused (cmd_crossval.c). */
static enum rt_part part_of(const struct rt_crossval *crossval, const struct rt_sample *sample)
{
    struct rt_split_rule rule = RT_SPLIT_DEFAULT;
    rule.seed = (uint64_t)crossval->options->seed;
    return rt_split_of(&rule, sample);
}

static bool is_measured(const struct rt_sample *sample)
{
    return !(sample->flags & RT_FLAG_FAILED) && rt_time_is_possible(sample->latency_us);
}

static void count_kernels(struct rt_crossval *crossval)
{
    const struct rt_dataset *dataset = &crossval->dataset;
    crossval->kernels = rt_calloc(dataset->device_count + 1, sizeof *crossval->kernels);
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        size_t(*counts)[RT_PARTS] = crossval->kernels[sample->device];
        if (is_measured(sample))
            counts[rt_call_family(&sample->call)][part_of(crossval, sample)]++;
    }
}

static size_t sum_counts(const rt_part_counts counts)
{
    size_t sum = 0;
    for (int family = 0; family < RT_FAMILY_COUNT; family++)
        for (int part = 0; part < RT_PARTS; part++)
            sum += counts[family][part];
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
    fold->newer = rt_calloc(crossval->dataset.device_count + 1, sizeof *fold->newer);
    return fold;
}

static void drop_last_fold(struct rt_crossval *crossval)
{
    struct rt_fold *fold = &crossval->folds[--crossval->fold_count];
    free(fold->name);
    free(fold->devices);
    free(fold->newer);
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
    return only->count == 0 || rt_names_match(only, name);
}

/* The fold of a chip, with every device of it; is one of them wanted? */
static bool add_chip(struct rt_crossval *crossval, const struct rt_device *chip, const bool *wanted,
                     bool *taken)
{
    const struct rt_dataset *dataset = &crossval->dataset;
    bool some = false;
    char word[96];
    rt_chip_word(chip, word, sizeof word);
    struct rt_fold *fold = add_fold(crossval, word);
    for (size_t d = 0; d < dataset->device_count; d++)
        if (!taken[d] && rt_chip_same(chip, &dataset->devices[d])) {
            taken[d] = true;
            some |= wanted[d];
            add_device(crossval, fold, d);
        }
    return some;
}

/* A fold per chip with kernels or workloads, in the order of the data. */
static int find_gpus(struct rt_crossval *crossval)
{
    const struct rt_dataset *dataset = &crossval->dataset;
    const struct rt_names *only = &crossval->options->only;
    bool *taken = rt_calloc(dataset->device_count + 1, sizeof *taken),
         *wanted = rt_calloc(dataset->device_count + 1, sizeof *wanted);
    int status = rt_devices_choose(dataset, rt_field_words("gpu").text, only, wanted);
    for (size_t d = 0; status == RT_OK && d < dataset->device_count; d++) {
        if (taken[d])
            continue;
        bool asked = add_chip(crossval, &dataset->devices[d], wanted, taken) || only->count == 0;
        const struct rt_fold *fold = &crossval->folds[crossval->fold_count - 1];
        if (asked && (sum_counts(fold->kernels) > 0 || fold->workloads > 0))
            add_column(crossval, fold->name);
        else
            drop_last_fold(crossval);
    }
    free(taken);
    free(wanted);
    return status;
}

/* The fold of a generation: its devices; nothing that is newer trains. Is there anything older to train on?
 */
static bool add_generation(struct rt_crossval *crossval, const struct rt_design *generation)
{
    const struct rt_dataset *dataset = &crossval->dataset;
    bool older = false;
    struct rt_fold *fold = add_fold(crossval, generation->generation);
    for (size_t d = 0; d < dataset->device_count; d++) {
        const struct rt_design *design = rt_design_of(&dataset->devices[d]);
        if (strcmp(design->generation, generation->generation) == 0) {
            add_device(crossval, fold, d);
            continue;
        }
        fold->newer[d] = design->year >= generation->year;
        older |= !fold->newer[d] && sum_counts(crossval->kernels[d]) > 0;
    }
    return older;
}

/* A fold per generation of GPUs, oldest first, that something older was measured beside. */
static void find_generations(struct rt_crossval *crossval)
{
    struct rt_text left_out = {0};
    const struct rt_design *generation = NULL;
    while ((generation = rt_generation_after(generation)) != NULL) {
        bool possible = add_generation(crossval, generation);
        const struct rt_fold *fold = &crossval->folds[crossval->fold_count - 1];
        bool asked = is_wanted(&crossval->options->only, fold->name) &&
                     (sum_counts(fold->kernels) > 0 || fold->workloads > 0);
        if (asked && possible) {
            add_column(crossval, fold->name);
            continue;
        }
        if (asked)
            rt_text_item(&left_out, ", ", "%s", fold->name);
        drop_last_fold(crossval);
    }
    crossval->left_out = left_out.text;
}

/* Kernels of every op and part. */
static void count_ops(const struct rt_crossval *crossval, size_t counts[RT_OP_COUNT][RT_PARTS])
{
    for (size_t i = 0; i < crossval->dataset.samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(&crossval->dataset, i);
        if (is_measured(sample))
            counts[sample->call.op][part_of(crossval, sample)]++;
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
    struct rt_text left_out = {0};
    count_ops(crossval, counts);
    for (int op = 0; op < RT_OP_COUNT; op++) {
        const char *name = rt_ops[op].name;
        size_t kernels =
            counts[op][RT_PART_TRAIN] + counts[op][RT_PART_VALIDATION] + counts[op][RT_PART_TEST];
        if (kernels == 0 || !is_wanted(&crossval->options->only, name))
            continue;
        if (!family_has_other(counts, op)) {
            rt_text_item(&left_out, ", ", "%s", name);
            continue;
        }
        struct rt_fold *fold = add_fold(crossval, name);
        fold->op = op;
        memcpy(fold->kernels[rt_ops[op].family], counts[op], sizeof counts[op]);
        add_column(crossval, name);
    }
    crossval->left_out = left_out.text;
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

/* {calibrate_runs} needs runs to calibrate with. */
static int check_runs(const struct rt_crossval *crossval)
{
    bool found = !crossval->options->runs, *plain = found ? NULL : rt_plain_runs(&crossval->dataset);
    for (size_t w = 0; !found && w < crossval->dataset.workload_count; w++)
        found = plain[w];
    free(plain);
    if (found)
        return RT_OK;
    return rt_fail(RT_EFORMAT,
                   "%s: holds no measured run of a whole model on one GPU that {calibrate_runs} could "
                   "calibrate with; leave it out, or name data that has some",
                   crossval->options->data.name[0]);
}

static int refuse_empty(const struct rt_crossval *crossval)
{
    const struct rt_crossval_options *options = crossval->options;
    struct rt_field_words field = rt_field_words(rt_leave_outs[options->leave_out]);
    if (options->only.count > 0)
        return rt_fail(RT_ENOTFOUND,
                       "%s %s: no fold of the data has that in its name; `rooftile crossval --dry-run` "
                       "without %s lists them",
                       field.text, options->only.name[0], field.text);
    if (options->leave_out == RT_LEAVE_MODEL)
        return rt_fail(RT_EFORMAT,
                       "%s: holds no measured workloads (whole models), so there is no model to leave out; "
                       "`rooftile dataset import --format neusight` reads some",
                       options->data.name[0]);
    if (options->leave_out == RT_LEAVE_OP)
        return rt_fail(RT_EFORMAT, "%s: has no family with two ops, so none can be left out%s%s",
                       options->data.name[0], crossval->left_out ? "; it has " : "",
                       crossval->left_out ? crossval->left_out : "");
    if (options->leave_out == RT_LEAVE_GENERATION)
        return rt_fail(RT_EFORMAT,
                       "%s: has no two generations of GPUs to train on one and judge the other%s%s; add data "
                       "of older GPUs, or leave out one GPU at a time",
                       options->data.name[0], crossval->left_out ? ": it has " : "",
                       crossval->left_out ? crossval->left_out : "");
    return rt_fail(RT_EFORMAT,
                   "%s: holds neither kernels nor workloads; `rooftile dataset info` lists what is there",
                   options->data.name[0]);
}

static int find_folds(struct rt_crossval *crossval)
{
    int status = RT_OK;
    switch (crossval->options->leave_out) {
    case RT_LEAVE_GENERATION:
        find_generations(crossval);
        break;
    case RT_LEAVE_MODEL:
        find_models(crossval);
        break;
    case RT_LEAVE_OP:
        find_ops(crossval);
        break;
    default:
        status = find_gpus(crossval);
    }
    return status == RT_OK && crossval->column_count == 0 ? refuse_empty(crossval) : status;
}

/* --- units --- */

bool rt_crossval_trains_on_all(const struct rt_crossval_options *options)
{
    return (options->leave_out == RT_LEAVE_GPU || options->leave_out == RT_LEAVE_GENERATION) &&
           !options->keep_test;
}

bool rt_kind_is_trained(const char *kind)
{
    return strcmp(kind, "roofline") != 0;
}

bool rt_kind_has_effects(const char *kind)
{
    for (size_t r = 0; r < rt_recipe_count; r++)
        if (strcmp(rt_recipes[r].kind, kind) == 0 && rt_recipe_has_effects(&rt_recipes[r]))
            return true;
    return false;
}

/* A fold's name as part of a path, "X%2F1" for "X/1", another one for each fold: names of folds differ in
 * more than case, " ", "-" and "_". Free with free(). */
static char *folder_name(const char *fold)
{
    struct rt_text text = {0};
    for (const char *at = fold; *at != '\0'; at++)
        if (isalnum((unsigned char)*at) || (unsigned char)*at >= 0x80 || strchr("-._", *at) != NULL)
            rt_text_add(&text, "%c", *at);
        else if (*at == ' ')
            rt_text_add(&text, "-");
        else
            rt_text_add(&text, "%%%02X", (unsigned)*at);
    return rt_text_take(&text);
}

static void add_units(struct rt_crossval *crossval)
{
    const struct rt_crossval_options *options = crossval->options;
    crossval->units = rt_calloc(crossval->fold_count * options->kinds.count + 1, sizeof *crossval->units);
    for (size_t f = 0; f < crossval->fold_count; f++)
        for (size_t k = 0; k < options->kinds.count; k++) {
            struct rt_unit *unit = &crossval->units[crossval->unit_count++];
            *unit = (struct rt_unit){.fold = &crossval->folds[f], .kind = options->kinds.name[k]};
            char *name = folder_name(unit->fold->name);
            unit->folder = rt_format("%s/fold-%s/%s", options->out, name, unit->kind);
            free(name);
        }
}

char *rt_unit_path(const struct rt_unit *unit, const char *name)
{
    return rt_format("%s/%s", unit->folder, name);
}

/* --- what results depend on --- */

static uint64_t hash_program(void)
{
    uint64_t hash = RT_HASH_START;
    unsigned char block[1 << 16];
    size_t got;
    FILE *file = fopen("/proc/self/exe", "re");
    if (file == NULL)
        return 0;
    while ((got = fread(block, 1, sizeof block, file)) > 0)
        hash = rt_hash(hash, block, got);
    fclose(file);
    return hash;
}

static void add_names(struct rt_text *text, const char *what, const struct rt_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        rt_text_add(text, "%s %s\n", what, names->name[i]);
}

static void add_training(struct rt_text *text, const struct rt_crossval *crossval, const struct rt_unit *unit)
{
    const struct rt_crossval_options *options = crossval->options;
    rt_text_add(text, "program rooftile %s %016" PRIx64 "\ndata %s\n", RT_VERSION, crossval->program,
                crossval->dataset.uuid);
    rt_text_add(text, "train %s, seed %" PRId64 ", epochs %" PRId64 "%s\n", unit->kind, options->seed,
                options->epochs, rt_crossval_trains_on_all(options) ? ", all parts" : "");
    add_names(text, "family", &options->families);
    add_names(text, "option", &options->train);
    for (size_t d = 0; d < crossval->dataset.device_count; d++)
        if (unit->fold->devices[d] || unit->fold->newer[d])
            rt_text_add(text, "without %s\n", crossval->dataset.devices[d].name);
    if (unit->fold->op >= 0)
        rt_text_add(text, "without %s\n", rt_ops[unit->fold->op].name);
}

char *rt_unit_training_key(const struct rt_crossval *crossval, const struct rt_unit *unit)
{
    struct rt_text text = {0};
    add_training(&text, crossval, unit);
    return rt_text_take(&text);
}

char *rt_unit_key(const struct rt_crossval *crossval, const struct rt_unit *unit)
{
    const struct rt_crossval_options *options = crossval->options;
    bool calibrated = options->leave_out == RT_LEAVE_GPU && options->calibrate > 0;
    struct rt_text text = {0};
    add_training(&text, crossval, unit);
    rt_text_add(&text, "leave out %s\n", rt_leave_outs[options->leave_out]);
    for (int p = RT_CALIBRATED; calibrated && p < RT_KERNEL_PROTOCOLS; p++)
        if (options->protocols[p])
            rt_text_add(&text, "%s, %" PRId64 " kernels\n", rt_protocols[p].name, options->calibrate);
    if (options->runs)
        rt_text_add(&text, "runs of other models\n");
    for (size_t c = 0; options->leave_out == RT_LEAVE_MODEL && c < crossval->column_count; c++)
        rt_text_add(&text, "judge %s\n", crossval->columns[c]);
    return rt_text_take(&text);
}

/* --- all --- */

int rt_crossval_plan(const struct rt_crossval_options *options, struct rt_crossval *out)
{
    *out = (struct rt_crossval){.options = options, .program = hash_program()};
    int status = read_data(out);
    if (status != RT_OK)
        return status;
    count_kernels(out);
    if ((status = find_folds(out)) == RT_OK && (status = check_runs(out)) == RT_OK)
        add_units(out);
    return status;
}

void rt_crossval_release(struct rt_crossval *crossval)
{
    for (size_t u = 0; u < crossval->unit_count; u++)
        free(crossval->units[u].folder);
    while (crossval->fold_count > 0)
        drop_last_fold(crossval);
    for (size_t c = 0; c < crossval->column_count; c++)
        free(crossval->columns[c]);
    free(crossval->columns);
    free(crossval->folds);
    free(crossval->units);
    free(crossval->kernels);
    free(crossval->left_out);
    rt_dataset_release(&crossval->dataset);
    *crossval = (struct rt_crossval){0};
}

bool *rt_plain_runs(const struct rt_dataset *dataset)
{
    bool *plain = rt_calloc(dataset->workload_count + 1, sizeof *plain);
    for (size_t w = 0; w < dataset->workload_count; w++) {
        const struct rt_workload *workload = &dataset->workloads[w];
        struct rt_run_steps steps;
        if (!rt_workload_is_plain(dataset, workload) ||
            rt_run_steps(dataset, workload, &dataset->devices[workload->device], NULL, &steps) != RT_OK)
            continue;
        plain[w] = true;
        rt_run_steps_release(&steps);
    }
    return plain;
}
