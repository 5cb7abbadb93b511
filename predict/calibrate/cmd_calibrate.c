/* `rooftile calibrate`: fits the device effects of a GPU that is new to a predictor. */
#include "base/options.h"
#include "base/status.h"
#include "base/table.h"
#include "predict/calibrate/calibrate.h"
#include "predict/evaluate/evaluate.h"

#include <argp.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rt_cmd_calibrate(int argc, char **argv);

enum { GPU = 256, KERNELS, RUNS, FROM, WITHOUT_MODEL, SPLIT, KEEP_ALL, EFFECTS_ONLY, JSON };

static const struct argp_option argument_options[] = {
    {"predictor", 'p', "P.h5", 0, "The predictor (required); it is left as it is", 0},
    {"gpu", GPU, "NAME", 0, "The device of the data, or a part of its name (required)", 0},
    {"output", 'o', "P2.h5", 0, "Where the calibrated predictor goes (required)", 0},
    {"from", FROM, "WHAT", 0,
     "kernels; models: runs of whole models; both (default: kernels where the data has some of the GPU, else "
     "models)",
     0},
    {"kernels", KERNELS, "N", 0,
     "Kernels of each family and dtype, 5 or more (default 30); the others are a check", 0},
    {"runs", RUNS, "N", 0, "Runs of models (default: all); the others are a check", 0},
    {"without-model", WITHOUT_MODEL, "NAME", 0,
     "Runs of models whose name contains NAME are a check, too; repeatable, or several with commas between",
     0},
    {"split", SPLIT, "PART", 0, "Kernels of train, test, validation or all of the data (default train)", 0},
    {"keep-all", KEEP_ALL, NULL, 0, "Use kernels that look throttled, too", 0},
    {"latents-only", EFFECTS_ONLY, NULL, 0,
     "Fit compute, memory, depth and floor, and do not carry what is left over to kernels alike", 0},
    {"seed", 's', "N", 0, "Which kernels or runs (default 1)", 0},
    {"json", JSON, NULL, 0, "Print JSON instead of text", 0},
    {0},
};

static const char description[] =
    "Fits what a predictor knows of one GPU (how close it comes to its peaks, per family of ops) to a few of "
    "its kernels, or to runs of whole models, and writes the predictor that knows it."
    "\vThe networks stay as they are. A wild measurement does not move the fit, and what the kernels do not "
    "tell about stays as it was. The file keeps which kernels or runs those were, and `rooftile evaluate` "
    "does not judge by them. docs/method.md has the formula.\n\n"
    "Runs of a GPU whose kernels are known (in training, or calibrated to, now or before) tell how much "
    "slower or faster kernels are in a queue: forecasts of models move, those of kernels alone do not. Runs "
    "of any other GPU move both.\n\n"
    "Example: a GPU that nobody measured but you, in ten minutes:\n"
    "  rooftile collect --plan calibrate -o mine.h5\n"
    "  rooftile calibrate -p predictor.h5 mine.h5 --gpu NAME -o predictor-mine.h5\n\n"
    "Example: and with whole models that you ran there, but for the one to judge by:\n"
    "  rooftile calibrate -p predictor.h5 mine.h5 runs.h5 --gpu NAME \\\n"
    "    --from both --without-model gpt3 -o mine.p.h5\n"
    "  rooftile evaluate -p mine.p.h5 --workloads runs.h5 --model gpt3";

struct arguments {
    const char *predictor, *gpu, *output;
    struct rt_names data, texts; /* texts: owned, options.without borrows them */
    struct rt_calibrate_options options;
    bool json;
};

static int parse_from(const char *text, enum rt_calibrate_from *from)
{
    static const char *const names[] = {"kernels", "models", "both"}; /* in the order of the enum */
    int choice = 0, status = rt_argument_choice("--from", text, names, RT_COUNT(names), &choice);
    *from = (enum rt_calibrate_from)(RT_FROM_KERNELS + choice);
    return status;
}

/* "NAME,NAME" */
static int parse_without(const char *text, struct arguments *arguments)
{
    char *copy = rt_strdup(text), *rest = copy, *name;
    rt_names_add(&arguments->texts, copy);
    while ((name = strsep(&rest, ",")) != NULL) {
        if (name[0] == '\0') /* is part of every name */
            return rt_fail(RT_EUSAGE, "--without-model %s: has an empty name; name models, NAME or NAME,NAME",
                           text);
        rt_names_add(&arguments->options.without, name);
    }
    return RT_OK;
}

static int parse_count(const char *option, const char *text, int64_t least, size_t *count)
{
    int64_t value = least;
    int status = rt_argument_integer(option, text, least, RT_CALIBRATE_MOST, &value);
    *count = (size_t)value;
    return status;
}

static int check_arguments(const struct arguments *arguments)
{
    if (arguments->predictor == NULL)
        return rt_fail(RT_EUSAGE,
                       "say what to calibrate: --predictor P.h5 (`rooftile train --predictor rooftile` makes "
                       "one)");
    if (arguments->data.count == 0)
        return rt_fail(RT_EUSAGE, "name at least one dataset, DATA.h5, that has measurements of the GPU");
    if (arguments->gpu == NULL)
        return rt_fail(RT_EUSAGE, "say which device of the data: --gpu NAME");
    if (arguments->output == NULL)
        return rt_fail(RT_EUSAGE, "say where the calibrated predictor goes: -o P2.h5");
    if (arguments->options.without.count > 0 && arguments->options.from != RT_FROM_MODELS &&
        arguments->options.from != RT_FROM_BOTH)
        return rt_fail(RT_EUSAGE, "--without-model says which runs are not fitted to: give --from models or "
                                  "--from both with it");
    return RT_OK;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct rt_calibrate_options *options = &arguments->options;
    int64_t seed = 1;
    int status;
    switch (key) {
    case 'p':
        arguments->predictor = text;
        break;
    case 'o':
        arguments->output = text;
        break;
    case GPU:
        arguments->gpu = text;
        break;
    case FROM:
        return parse_from(text, &options->from);
    case KERNELS:
        return parse_count("--kernels", text, RT_CALIBRATE_LEAST, &options->kernels);
    case RUNS:
        return parse_count("--runs", text, 1, &options->runs);
    case WITHOUT_MODEL:
        return parse_without(text, arguments);
    case SPLIT:
        return rt_part_find(text, &options->part);
    case 's':
        status = rt_argument_integer("--seed", text, 0, INT64_MAX, &seed);
        options->seed = (uint64_t)seed;
        return status;
    case EFFECTS_ONLY:
        options->effects_only = true;
        break;
    case KEEP_ALL:
        options->keep_all = true;
        break;
    case JSON:
        arguments->json = true;
        break;
    case ARGP_KEY_ARG:
        rt_names_add(&arguments->data, text);
        break;
    case ARGP_KEY_END:
        return check_arguments(arguments);
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* "A, B" of the devices whose name contains `part`; `part` "" takes all. Free with free(). */
static char *device_names(const struct rt_dataset *dataset, const char *part)
{
    char *text = rt_strdup("");
    for (size_t d = 0; d < dataset->device_count; d++) {
        if (!rt_name_contains(dataset->devices[d].name, part))
            continue;
        char *longer = rt_format("%s%s%s", text, text[0] != '\0' ? ", " : "", dataset->devices[d].name);
        free(text);
        text = longer;
    }
    return text;
}

static int find_device(const struct rt_dataset *dataset, const char *name, int32_t *device)
{
    size_t found = 0;
    *device = rt_dataset_find_device(dataset, name);
    for (size_t d = 0; *device < 0 && d < dataset->device_count; d++)
        found += rt_name_contains(dataset->devices[d].name, name);
    if (*device >= 0)
        return RT_OK;
    for (size_t d = 0; found == 1 && d < dataset->device_count; d++)
        if (rt_name_contains(dataset->devices[d].name, name))
            *device = (int32_t)d;
    if (found == 1)
        return RT_OK;
    char *names = device_names(dataset, found == 0 ? "" : name);
    int status = found == 0
                     ? rt_fail(RT_ENOTFOUND,
                               "--gpu %s: no device of the data has that in its name; it has %s", name, names)
                     : rt_fail(RT_EUSAGE, "--gpu %s: is part of several names: %s; name one", name, names);
    free(names);
    return status;
}

/* --- what is told --- */

static const struct rt_column family_columns[] = {
    {"family", NULL, 's', 0},
    {"kernels", NULL, 'd', 0},
    {"of", NULL, 'd', 0},
    {"compute_before", "compute", 'f', 3},
    {"compute_after", "after", 'f', 3},
    {"memory_before", "memory", 'f', 3},
    {"memory_after", "after", 'f', 3},
    {"floor_us_before", "floor us", 'f', 1},
    {"floor_us_after", "after", 'f', 1},
    {"error_before", "error %", 'f', 1},
    {"error_after", "after", 'f', 1},
    {"rest", NULL, 'd', 0},
    {"rest_error_before", "error %", 'f', 1},
    {"rest_error_after", "after", 'f', 1},
};

static const struct rt_column run_columns[] = {
    {"model", NULL, 's', 0},          {"mode", NULL, 's', 0},     {"batch", NULL, 'd', 0},
    {"sequence", NULL, 'd', 0},       {"used", NULL, 'b', 0},     {"measured_ms", NULL, 'f', 2},
    {"before_ms", NULL, 'f', 2},      {"after_ms", NULL, 'f', 2}, {"error_before", "error %", 'f', 1},
    {"error_after", "after", 'f', 1},
};

static struct rt_table *family_table(const struct rt_calibration *calibration)
{
    struct rt_table *table = rt_table_new(family_columns, RT_COUNT(family_columns));
    for (size_t f = 0; f < calibration->family_count; f++) {
        const struct rt_calibrated_family *row = &calibration->family[f];
        const struct rt_device_effect *before = &row->before, *after = &row->after;
        rt_table_row(table, rt_net_name(row->family, row->units), (long long)row->used,
                     (long long)row->available, before->value[RT_EFFECT_COMPUTE],
                     after->value[RT_EFFECT_COMPUTE], before->value[RT_EFFECT_MEMORY],
                     after->value[RT_EFFECT_MEMORY], before->dispatch_us, after->dispatch_us,
                     row->fit_before.median, row->fit_after.median, (long long)row->rest_before.count,
                     row->rest_before.median, row->rest_after.median);
    }
    return table;
}

static struct rt_table *run_table(const struct rt_dataset *dataset, const struct rt_calibration *calibration)
{
    struct rt_table *table = rt_table_new(run_columns, RT_COUNT(run_columns));
    for (size_t r = 0; r < calibration->run_count; r++) {
        const struct rt_calibrated_run *row = &calibration->runs[r];
        const struct rt_workload *workload = row->workload;
        double measured = workload->end_to_end_us;
        rt_table_row(table, rt_strings_get(&dataset->texts, workload->model), rt_modes[workload->mode],
                     (long long)workload->batch, (long long)workload->sequence, (int)row->used,
                     measured / 1e3, row->before_us / 1e3, row->after_us / 1e3,
                     rt_error_percent(measured, row->before_us), rt_error_percent(measured, row->after_us));
    }
    return table;
}

static const char *data_name(const struct arguments *arguments)
{
    return arguments->data.count == 1 ? arguments->data.name[0] : "the data";
}

static void print_left_out(const struct rt_calibration *calibration)
{
    for (int r = 0; r < RT_UNUSED_COUNT; r++) {
        if (calibration->left[r] > 0)
            printf("left out: %zu kernels %s\n", calibration->left[r], rt_unused[r].words);
        if (calibration->runs_left[r] > 0)
            printf("left out: %zu runs %s\n", calibration->runs_left[r], rt_unused[r].words);
    }
    for (size_t f = 0; f < calibration->family_count && calibration->from_kernels; f++) {
        const struct rt_calibrated_family *row = &calibration->family[f];
        if (row->throttled)
            printf("%s is left as it was: its kernels look throttled, large ones reach %.0f%% of what the "
                   "board sustains (--keep-all uses them)\n",
                   rt_net_name(row->family, row->units), 100 * row->utilisation);
        else if (row->used == 0 && (row->available > 0 || row->units != RT_UNITS_MATRIX))
            printf("%s is left as it was: %zu kernels of it can be used, and %d are needed\n",
                   rt_net_name(row->family, row->units), row->available, RT_CALIBRATE_LEAST);
    }
}

static const char *from_what(const struct rt_calibration *calibration)
{
    return !calibration->from_models ? "kernels" : calibration->from_kernels ? "both" : "models";
}

/* "kernels of linear matrix: 30 bf16, 30 fp8": they are drawn dtype by dtype. */
static void print_dtypes(const struct rt_calibration *calibration)
{
    for (size_t f = 0; f < calibration->family_count; f++) {
        const struct rt_calibrated_family *row = &calibration->family[f];
        const char *before = ": ";
        if (row->used == 0)
            continue;
        printf("kernels of %s", rt_net_name(row->family, row->units));
        for (size_t d = 0; d < RT_DTYPE_COUNT; d++)
            if (row->used_of[d] > 0) {
                printf("%s%zu %s", before, row->used_of[d], rt_dtypes[d].name);
                before = ", ";
            }
        printf("\n");
    }
}

static void print_kernels(const struct rt_calibration *calibration)
{
    struct rt_table *table = family_table(calibration);
    rt_table_text(table, stdout);
    rt_table_free(table);
    printf("\nerror: median |error| of the kernels it was fitted to, and of the rest of this device's in "
           "the data\n");
    print_dtypes(calibration);
    if (calibration->forgot_runs && !calibration->from_models)
        printf("what runs of models had told of kernels in a queue no longer holds beside this and is taken "
               "back: calibrate from models again\n");
}

static void print_runs(const struct rt_dataset *dataset, const struct rt_calibration *calibration)
{
    const char *before = calibration->from_kernels ? "with the kernels alone" : "before";
    struct rt_table *table = run_table(dataset, calibration);
    rt_table_text(table, stdout);
    rt_table_free(table);
    printf("\nshift of %s: compute %+.3f, memory %+.3f of ln latency\n",
           calibration->queued ? "kernels in a queue, of every family; alone they stay as they were"
                               : "every family",
           calibration->shift[RT_EFFECT_COMPUTE], calibration->shift[RT_EFFECT_MEMORY]);
    printf("mean |error| of the %zu it was fitted to: %.1f%% %s, %.1f%% after\n", calibration->runs_used,
           calibration->fit_before.mape, before, calibration->fit_after.mape);
    if (calibration->rest_before.count > 0)
        printf("mean |error| of the %zu others: %.1f%% %s, %.1f%% after\n", calibration->rest_before.count,
               calibration->rest_before.mape, before, calibration->rest_after.mape);
}

static void print_text(const struct arguments *arguments, const struct rt_dataset *dataset,
                       const struct rt_calibration *calibration)
{
    bool both = calibration->from_kernels && calibration->from_models;
    printf("%s, from %s of %s\n\n", calibration->device, both ? "kernels and models" : from_what(calibration),
           data_name(arguments));
    if (calibration->from_kernels)
        print_kernels(calibration);
    if (both)
        putchar('\n');
    if (calibration->from_models)
        print_runs(dataset, calibration);
    print_left_out(calibration);
    printf("%s is written\n", arguments->output);
}

static json_t *metrics_json(const struct rt_metrics *metrics)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o}", "n", (json_int_t)metrics->count, "mape",
                     rt_json_number(metrics->mape), "median", rt_json_number(metrics->median), "p90",
                     rt_json_number(metrics->p90), "bias", rt_json_number(metrics->bias));
}

static json_t *dtypes_json(const struct rt_calibrated_family *row)
{
    json_t *json = json_object();
    for (size_t d = 0; d < RT_DTYPE_COUNT; d++)
        if (row->used_of[d] > 0)
            json_object_set_new(json, rt_dtypes[d].name, json_integer((json_int_t)row->used_of[d]));
    return json;
}

static json_t *families_json(const struct rt_calibration *calibration)
{
    struct rt_table *table = family_table(calibration);
    json_t *rows = rt_table_json(table);
    for (size_t f = 0; f < calibration->family_count; f++) {
        const struct rt_calibrated_family *row = &calibration->family[f];
        json_t *json = json_array_get(rows, f);
        json_object_set_new(json, "kernels_of", dtypes_json(row));
        json_object_set_new(json, "throttled", json_boolean(row->throttled));
        json_object_set_new(json, "scatter", rt_json_number(row->scatter));
        json_object_set_new(json, "fit_before", metrics_json(&row->fit_before));
        json_object_set_new(json, "fit_after", metrics_json(&row->fit_after));
        json_object_set_new(json, "rest_before", metrics_json(&row->rest_before));
        json_object_set_new(json, "rest_after", metrics_json(&row->rest_after));
    }
    rt_table_free(table);
    return rows;
}

static json_t *left_json(const size_t left[RT_UNUSED_COUNT])
{
    json_t *json = json_object();
    for (int r = 0; r < RT_UNUSED_COUNT; r++)
        json_object_set_new(json, rt_unused[r].key, json_integer((json_int_t)left[r]));
    return json;
}

static void print_json(const struct arguments *arguments, const struct rt_dataset *dataset,
                       const struct rt_calibration *calibration)
{
    const size_t *left = calibration->from_kernels ? calibration->left : calibration->runs_left;
    json_t *data = json_array();
    for (size_t i = 0; i < arguments->data.count; i++)
        json_array_append_new(data, json_string(arguments->data.name[i]));
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:I, s:o, s:o}", "device", calibration->device, "from",
                  from_what(calibration), "predictor", arguments->predictor, "output", arguments->output,
                  "data", data, "data_uuid", dataset->uuid, "seed", (json_int_t)arguments->options.seed,
                  "left_out", left_json(left), "families", families_json(calibration));
    if (calibration->from_kernels)
        json_object_set_new(json, "split", json_string(rt_part_name(arguments->options.part)));
    if (calibration->from_models) {
        struct rt_table *table = run_table(dataset, calibration);
        json_object_set_new(json, "runs", rt_table_json(table));
        json_object_set_new(json, "runs_left_out", left_json(calibration->runs_left));
        json_object_set_new(json, "shifted", json_string(calibration->queued ? "queued" : "latents"));
        json_object_set_new(json, "shift",
                            json_pack("{s:f, s:f}", "compute", calibration->shift[RT_EFFECT_COMPUTE],
                                      "memory", calibration->shift[RT_EFFECT_MEMORY]));
        json_object_set_new(json, "fit_before", metrics_json(&calibration->fit_before));
        json_object_set_new(json, "fit_after", metrics_json(&calibration->fit_after));
        json_object_set_new(json, "rest_before", metrics_json(&calibration->rest_before));
        json_object_set_new(json, "rest_after", metrics_json(&calibration->rest_after));
        rt_table_free(table);
    }
    rt_json_print(json, stdout);
}

/* Appends a file to the data, and its uuid to the uuid of all. */
static int read_file(const char *path, struct rt_dataset *dataset)
{
    struct rt_dataset next;
    int status = rt_dataset_read(path, &next);
    if (status != RT_OK)
        return status;
    char *uuids = rt_format("%s%s%s", dataset->uuid, dataset->uuid[0] != '\0' ? "," : "", next.uuid);
    if ((status = rt_dataset_append(dataset, &next)) != RT_OK)
        rt_fail_context(status, "%s", path);
    free(dataset->uuid);
    dataset->uuid = uuids;
    rt_dataset_release(&next);
    return status;
}

static int calibrate(const struct arguments *arguments, struct rt_predictor *predictor,
                     const struct rt_dataset *dataset)
{
    struct rt_calibration calibration;
    int32_t device = -1;
    int status = find_device(dataset, arguments->gpu, &device);
    if (status != RT_OK)
        return status;
    status = rt_calibrate(predictor, dataset, device, &arguments->options, &calibration);
    if (status != RT_OK)
        return rt_fail_context(status, "%s",
                               status == RT_EUSAGE ? arguments->predictor : data_name(arguments));
    status = rt_predictor_save(predictor, arguments->output);
    if (status == RT_OK)
        (arguments->json ? print_json : print_text)(arguments, dataset, &calibration);
    rt_calibration_release(&calibration);
    return status;
}

static int run(const struct arguments *arguments)
{
    struct rt_predictor predictor;
    struct rt_dataset dataset;
    int status = rt_predictor_open(arguments->predictor, &predictor);
    if (status != RT_OK)
        return status;
    rt_dataset_init(&dataset);
    for (size_t i = 0; status == RT_OK && i < arguments->data.count; i++)
        status = read_file(arguments->data.name[i], &dataset);
    if (status == RT_OK && arguments->data.count > 1)
        rt_dataset_drop_duplicates(&dataset);
    if (status == RT_OK)
        status = calibrate(arguments, &predictor, &dataset);
    rt_dataset_release(&dataset);
    rt_predictor_release(&predictor);
    return status;
}

int rt_cmd_calibrate(int argc, char **argv)
{
    struct arguments arguments = {.options = {.kernels = 30, .seed = 1, .part = RT_PART_TRAIN}};
    const struct argp argp = {argument_options, parse_option, "DATA.h5...", description, NULL, NULL, NULL};
    int status = argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (status == RT_OK)
        status = run(&arguments);
    for (size_t i = 0; i < arguments.texts.count; i++)
        free((char *)(uintptr_t)arguments.texts.name[i]);
    rt_names_release(&arguments.texts);
    rt_names_release(&arguments.options.without);
    rt_names_release(&arguments.data);
    return status;
}
