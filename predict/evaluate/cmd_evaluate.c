/* `rooftile evaluate`: how far forecasts are from measurements. */
#include "base/options.h"
#include "base/status.h"
#include "predict/evaluate/cmd_evaluate.h"
#include "predict/evaluate/report.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rt_cmd_evaluate(int argc, char **argv);

enum {
    SPLIT = 256,
    GPU,
    OP,
    DTYPE,
    TILES,
    REPORT,
    JSON,
    NO_BASELINE,
    WORKLOADS,
    MODEL,
    COMPARE,
    GRAPHS,
    FALLBACK
};

static const struct argp_option argument_options[] = {
    {"predictor", 'p', "P.h5", 0,
     "A predictor file, or \"roofline\" (required); repeatable: the first is shown in full, the others "
     "beside it",
     0},
    {"gpu", GPU, "NAME", 0, "Only devices whose name contains NAME; repeatable", 0},
    {"report", REPORT, "FILE", 0, "Also write a report: .txt, .json or .csv by its ending; repeatable", 0},
    {"no-baseline", NO_BASELINE, NULL, 0, "No roofline beside the predictors", 0},
    {"threads", 't', "N", 0, "Threads (default: every processor); results do not depend on it", 0},
    {"json", JSON, NULL, 0, "Print JSON instead of text", 0},
    {"quiet", 'q', NULL, 0, "No progress on stderr", 0},
    {NULL, 0, NULL, 0, "Of kernels:", 1},
    {"split", SPLIT, "PART", 0, "test, train, validation or all (default test)", 1},
    {"op", OP, "NAME", 0, "Only this op or family of ops; repeatable", 1},
    {"dtype", DTYPE, "NAME", 0, "Only this element type; repeatable", 1},
    {"tiles", TILES, "WHICH", 0,
     "forecast: find tiles as for a GPU that nobody measured; measured: take those of the data (default "
     "forecast)",
     1},
    {NULL, 0, NULL, 0, "Of whole models:", 2},
    {"workloads", WORKLOADS, "DATA.h5", OPTION_ARG_OPTIONAL,
     "Evaluate the measured workloads (whole models), not the kernels", 2},
    {"model", MODEL, "NAME", 0, "Only models whose name contains NAME; repeatable", 2},
    {"compare", COMPARE, "FILE.csv", 0,
     "Others' forecasts beside: columns device, workload, measured_ms, and any that end in _ms", 2},
    {"graphs", GRAPHS, "FOLDER", 0,
     "Take operator graphs (NeuSight's CSV) out of FOLDER where they are there, not those built here", 2},
    {"fallback", FALLBACK, NULL, 0, "Take the roofline where a predictor has no network for an op", 2},
    {0},
};

static const char description[] =
    "Forecasts the samples of DATA.h5 and reports how far the forecasts are from the measurements: per op "
    "and device, "
    "and pooled, beside the roofline. With --workloads: the whole models in DATA.h5, per GPU, model, mode "
    "and option, beside the sum of their kernels measured alone."
    "\vWhat a source marked as test is the test split; unmarked shapes are dealt by the rule in the (first) "
    "predictor "
    "file, as `rooftile train` dealt them. Of a device that the predictor was not fitted to every sample was "
    "unseen; the "
    "split chooses test rows there too, so that numbers compare across devices. What a predictor was "
    "calibrated to is never judged. All predictors are judged on the same rows. docs/evaluate.md defines the "
    "numbers.\n\n"
    "Example: the A100 was held out from predictor.h5; how wrong are its matrix products?\n"
    "  rooftile evaluate --predictor predictor.h5 data.h5 --gpu A100 \\\n"
    "    --op linear --op bmm --report a100.txt\n"
    "Example: how wrong are whole models, beside what others published of them?\n"
    "  rooftile evaluate --predictor predictor.h5 --workloads data.h5 \\\n"
    "    --compare published_e2e.csv";

static int parse_threads(const char *text, size_t *threads)
{
    int64_t value = 0;
    int status = rt_argument_integer("--threads", text, 1, RT_THREADS_MAX, &value);
    *threads = (size_t)value;
    return status;
}

static int parse_tiles(const char *text, bool *measured)
{
    *measured = strcmp(text, "measured") == 0;
    if (!*measured && strcmp(text, "forecast") != 0)
        return rt_fail(RT_EUSAGE, "--tiles %s: choose forecast or measured", text);
    return RT_OK;
}

static int parse_once(const char *option, const char *text, const char **value)
{
    if (*value != NULL)
        return rt_fail(RT_EUSAGE, "%s %s: is given a second time; give it once", option, text);
    *value = text;
    return RT_OK;
}

/* Options of the other kind of evaluation are told, not ignored. */
static int check_kind(const struct rt_evaluate_arguments *arguments)
{
    const struct {
        const char *option;
        bool given, workloads;
    } options[] = {
        {"--split", arguments->part_given, false},       {"--op", arguments->ops.count > 0, false},
        {"--dtype", arguments->dtypes.count > 0, false}, {"--tiles", arguments->tiles_given, false},
        {"--model", arguments->models.count > 0, true},  {"--compare", arguments->compare != NULL, true},
        {"--graphs", arguments->graphs != NULL, true},   {"--fallback", arguments->fallback, true},
    };
    for (size_t i = 0; i < RT_COUNT(options); i++)
        if (options[i].given && options[i].workloads != arguments->workloads)
            return rt_fail(RT_EUSAGE, "%s is for %s", options[i].option,
                           options[i].workloads ? "whole models: give --workloads with it"
                                                : "kernels: leave it out with --workloads");
    return RT_OK;
}

static int check_arguments(const struct rt_evaluate_arguments *arguments)
{
    if (arguments->predictors.count == 0)
        return rt_fail(RT_EUSAGE, "say what to evaluate: --predictor P.h5 (`rooftile train` makes one) or "
                                  "--predictor roofline");
    if (arguments->data.count == 0)
        return rt_fail(RT_EUSAGE, "name at least one dataset, DATA.h5, to evaluate on");
    return check_kind(arguments);
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct rt_evaluate_arguments *arguments = state->input;
    switch (key) {
    case 'p':
        rt_names_add(&arguments->predictors, text);
        break;
    case SPLIT:
        arguments->part_given = true;
        return rt_part_find(text, &arguments->part);
    case GPU:
        rt_names_add(&arguments->gpus, text);
        break;
    case OP:
        rt_names_add(&arguments->ops, text);
        break;
    case DTYPE:
        rt_names_add(&arguments->dtypes, text);
        break;
    case TILES:
        arguments->tiles_given = true;
        return parse_tiles(text, &arguments->measured_tiles);
    case REPORT:
        rt_names_add(&arguments->reports, text);
        return rt_report_check(text);
    case NO_BASELINE:
        arguments->no_baseline = true;
        break;
    case WORKLOADS:
        arguments->workloads = true;
        if (text != NULL)
            rt_names_add(&arguments->data, text);
        break;
    case MODEL:
        rt_names_add(&arguments->models, text);
        break;
    case COMPARE:
        return parse_once("--compare", text, &arguments->compare);
    case GRAPHS:
        return parse_once("--graphs", text, &arguments->graphs);
    case FALLBACK:
        arguments->fallback = true;
        break;
    case 't':
        return parse_threads(text, &arguments->threads);
    case JSON:
        arguments->json = true;
        break;
    case 'q':
        arguments->quiet = true;
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

static void note_file(const char *path, const struct rt_dataset *from, struct rt_evaluate_input *input)
{
    input->files = rt_realloc(input->files, input->file_count + 1, sizeof *input->files);
    input->files[input->file_count++] = (struct rt_evaluation_file){.path = path,
                                                                    .uuid = rt_strdup(from->uuid),
                                                                    .source = rt_strdup(from->source),
                                                                    .licence = rt_strdup(from->licence),
                                                                    .samples = from->sample_count,
                                                                    .workloads = from->workload_count};
}

/* Appends a file to the input and keeps where it comes from; the first one is taken as it is. */
static int read_file(const char *path, struct rt_evaluate_input *input)
{
    struct rt_dataset next;
    int status = rt_dataset_read(path, &next);
    if (status != RT_OK)
        return status;
    note_file(path, &next, input);
    if (input->file_count == 1) {
        rt_dataset_release(&input->dataset);
        input->dataset = next;
        return RT_OK;
    }
    if ((status = rt_dataset_append(&input->dataset, &next)) != RT_OK)
        rt_fail_context(status, "%s", path);
    rt_dataset_release(&next);
    return status;
}

void rt_evaluate_input_release(struct rt_evaluate_input *input)
{
    for (size_t f = 0; f < input->file_count; f++) {
        free(input->files[f].uuid);
        free(input->files[f].source);
        free(input->files[f].licence);
    }
    free(input->files);
    free(input->devices);
    rt_dataset_release(&input->dataset);
}

/* Names of the devices in the data, "A, B and C". Free with free(). */
static char *device_names(const struct rt_dataset *dataset)
{
    char *text = rt_strdup(dataset->device_count == 0 ? "none" : "");
    for (size_t d = 0; d < dataset->device_count; d++) {
        const char *comma = d == 0 ? "" : d + 1 < dataset->device_count ? ", " : " and ";
        char *longer = rt_format("%s%s%s", text, comma, dataset->devices[d].name);
        free(text);
        text = longer;
    }
    return text;
}

static int choose_devices(const struct rt_names *gpus, struct rt_evaluate_input *input)
{
    const struct rt_dataset *dataset = &input->dataset;
    if (gpus->count == 0)
        return RT_OK;
    input->devices = rt_calloc(dataset->device_count, sizeof *input->devices);
    for (size_t i = 0; i < gpus->count; i++) {
        bool found = false;
        int32_t exact = rt_dataset_find_device(dataset, gpus->name[i]);
        for (size_t d = 0; d < dataset->device_count; d++)
            if (exact >= 0 ? (size_t)exact == d : strcasestr(dataset->devices[d].name, gpus->name[i]) != NULL)
                input->devices[d] = found = true;
        if (!found) {
            char *known = device_names(dataset);
            int status =
                rt_fail(RT_ENOTFOUND, "--gpu %s: no device of the data has that in its name; it has %s",
                        gpus->name[i], known);
            free(known);
            return status;
        }
    }
    return RT_OK;
}

static int choose_ops(const struct rt_names *names, bool *ops)
{
    for (size_t i = 0; i < names->count; i++) {
        int op = rt_op_find(names->name[i]), family = op < 0 ? rt_family_find(names->name[i]) : -1;
        if (op < 0 && family < 0)
            return rt_fail(RT_ENOTFOUND,
                           "--op %s: there is no op or family of that name; `rooftile dataset info` lists "
                           "the ops of a dataset",
                           names->name[i]);
        for (int o = 0; o < RT_OP_COUNT; o++)
            ops[o] |= op >= 0 ? o == op : (int)rt_ops[o].family == family;
    }
    return RT_OK;
}

static int choose_dtypes(const struct rt_names *names, bool *dtypes)
{
    for (size_t i = 0; i < names->count; i++) {
        int dtype = rt_dtype_find(names->name[i]);
        if (dtype < 0)
            return rt_fail(RT_ENOTFOUND,
                           "--dtype %s: there is no element type of that name; fp32, tf32, fp16, bf16 and "
                           "fp8 are some",
                           names->name[i]);
        dtypes[dtype] = true;
    }
    return RT_OK;
}

int rt_evaluate_input_read(const struct rt_evaluate_arguments *arguments, struct rt_evaluate_input *input)
{
    *input = (struct rt_evaluate_input){.file_count = 0};
    rt_dataset_init(&input->dataset);
    int status = choose_ops(&arguments->ops, input->ops);
    if (status == RT_OK)
        status = choose_dtypes(&arguments->dtypes, input->dtypes);
    for (size_t i = 0; status == RT_OK && i < arguments->data.count; i++)
        status = read_file(arguments->data.name[i], input);
    if (status == RT_OK && arguments->data.count > 1)
        input->duplicates = rt_dataset_drop_duplicates(&input->dataset);
    return status == RT_OK ? choose_devices(&arguments->gpus, input) : status;
}

static int write_reports(const struct rt_evaluate_arguments *arguments,
                         const struct rt_evaluation *evaluation)
{
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < arguments->reports.count; i++)
        status = rt_report_write(evaluation, arguments->reports.name[i]);
    if (status == RT_OK)
        status = arguments->json ? rt_report_json(evaluation, stdout) : rt_report_text(evaluation, stdout);
    return status;
}

static int evaluate(const struct rt_evaluate_arguments *arguments, const struct rt_candidate *candidates,
                    size_t count)
{
    struct rt_evaluate_input input;
    struct rt_threads *pool = NULL;
    struct rt_evaluation evaluation;
    int status = rt_evaluate_input_read(arguments, &input);
    if (status != RT_OK)
        goto done;
    pool = rt_threads_new(arguments->threads);
    struct rt_evaluate_options options = {.part = arguments->part,
                                          .measured_tiles = arguments->measured_tiles,
                                          .quiet = arguments->quiet,
                                          .devices = input.devices,
                                          .ops = arguments->ops.count > 0 ? input.ops : NULL,
                                          .dtypes = arguments->dtypes.count > 0 ? input.dtypes : NULL,
                                          .pool = pool,
                                          .files = input.files,
                                          .file_count = input.file_count,
                                          .duplicates = input.duplicates};
    status = rt_evaluate(&input.dataset, candidates, count, &options, &evaluation);
    if (status != RT_OK) {
        rt_fail_context(status, "%s", arguments->data.count == 1 ? arguments->data.name[0] : "the data");
        goto done;
    }
    status = write_reports(arguments, &evaluation);
    rt_evaluation_release(&evaluation);
done:
    rt_threads_free(pool);
    rt_evaluate_input_release(&input);
    return status;
}

/* The predictors that were named and, unless it is among them or not wanted, the roofline. */
static void add_baseline(struct rt_evaluate_arguments *arguments)
{
    for (size_t i = 0; i < arguments->predictors.count; i++)
        if (strcmp(arguments->predictors.name[i], "roofline") == 0)
            return;
    if (!arguments->no_baseline)
        rt_names_add(&arguments->predictors, "roofline");
}

int rt_cmd_evaluate(int argc, char **argv)
{
    struct rt_evaluate_arguments arguments = {.threads = rt_threads_processors(), .part = RT_PART_TEST};
    const struct argp argp = {argument_options, parse_option, "DATA.h5...", description, NULL, NULL, NULL};
    struct rt_candidate candidates[RT_MAX_CANDIDATES];
    int status = argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (status == RT_OK) {
        add_baseline(&arguments);
        status = rt_candidates_open(arguments.predictors.name, arguments.predictors.count, candidates);
    }
    if (status == RT_OK) {
        status = (arguments.workloads ? rt_evaluate_workloads_command : evaluate)(&arguments, candidates,
                                                                                  arguments.predictors.count);
        rt_candidates_release(candidates, arguments.predictors.count);
    }
    struct rt_names *lists[] = {&arguments.predictors, &arguments.data,    &arguments.gpus,  &arguments.ops,
                                &arguments.dtypes,     &arguments.reports, &arguments.models};
    for (size_t i = 0; i < RT_COUNT(lists); i++)
        rt_names_release(lists[i]);
    return status;
}
