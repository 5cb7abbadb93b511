/* `rooftile evaluate`: how far forecasts are from measurements. */
#include "base/options.h"
#include "base/report_files.h"
#include "base/status.h"
#include "base/threads.h"
#include "datasets/dataset_input.h"
#include "predict/evaluate/property.h"
#include "predict/evaluate/report.h"
#include "predict/evaluate/serving.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct arguments {
    struct rt_names predictors, data, gpus, ops, dtypes, reports, models, by;
    const char *published, *graphs, *serving;
    int64_t threads;
    int part;
    int tiles;                      /* index into tile_sources */
    const struct rt_target *target; /* NULL: not given */
    bool no_baseline, overwrite, json, quiet, workloads, fallback, from_whole, each;
};

static const char *const tile_sources[] = {"forecast", "measured"};

static int read_target(const char *option, const char *text, void *value)
{
    for (size_t t = 0; t < RT_COUNT(rt_targets); t++)
        if (strcmp(text, rt_targets[t].name) == 0) {
            *(const struct rt_target **)value = &rt_targets[t];
            return RT_OK;
        }
    return rt_fail(RT_EUSAGE, "%s %s: kernels are judged by latency or energy", option, text);
}

/* --workloads[=DATA.h5] */
static int read_workloads(const char *option, const char *text, void *value)
{
    struct arguments *arguments = value;
    (void)option;
    arguments->workloads = true;
    if (text != NULL)
        rt_names_add(&arguments->data, text);
    return RT_OK;
}

static const struct rt_option options[] = {
    {"predictor", 'p', "P.h5",
     RT_LIST(
         struct arguments, predictors,
         .required =
             "say what to evaluate: --predictor pretrained, roofline, or P.h5 (`rooftile train` makes one)",
         .reads = rt_predictor_reads, .suggests = rt_predictor_suggest),
     "A predictor file, or \"roofline\"; the first is shown in full, the others beside it"},
    {"gpu", 0, "NAME", RT_ITEMS(struct arguments, gpus, .specs = true, .suggests = rt_device_suggest),
     "Only the device of that name, or those with that word or words in their names"},
    RT_REPORT_OPTION(struct arguments, reports),
    RT_REPORT_OVERWRITE(struct arguments, overwrite),
    {"no-baseline", 0, NULL, RT_FLAG(struct arguments, no_baseline), "No roofline beside the predictors"},
    {"threads", 't', "N", RT_INTEGER(struct arguments, threads, 1, RT_THREADS_MAX),
     "Threads; results do not depend on it"},
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"},
    {"quiet", 'q', NULL, RT_FLAG(struct arguments, quiet), "No progress on stderr"},
    {"by", 0, "NAME", RT_LIST(struct arguments, by),
     "Errors for each value of NAME too: of kernels gpu, dtype, phase, kind (of convolutions), a dim or an "
     "attribute of their group; of runs gpu, model, batch, seq, option, dtype, or an attribute such as "
     "backend; of several with commas between, for each combination"},
    RT_HEADING("Of kernels:"),
    {"split", 0, "PART", RT_OWN(struct arguments, part, rt_part_read),
     "test, train, validation or all (default test)"},
    {"op", 0, "NAME", RT_LIST(struct arguments, ops, .suggests = rt_op_suggest),
     "Only this op or family of ops"},
    {"dtype", 0, "NAME", RT_LIST(struct arguments, dtypes, .suggests = rt_dtype_suggest),
     "Only this element type: fp32, tf32, fp16, bf16, fp64, fp8, fp8_block, fp4, mxfp4, mxfp4_mxfp8, w4afp8, "
     "int8, int8_wo, int4"},
    {"tiles", 0, "WHICH", RT_CHOICE(struct arguments, tiles, tile_sources),
     "forecast: as for an unmeasured GPU; measured: those of the data"},
    {"target", 0, "NAME", RT_OWN(struct arguments, target, read_target),
     "latency, or energy (of one run, as `collect --energy` measures it); default: what the first predictor "
     "was fitted to"},
    {"each", 0, NULL, RT_FLAG(struct arguments, each),
     "In JSON a row for every kernel, too: measured, forecast, error"},
    RT_HEADING("Of whole models:"),
    {"workloads", 0, "[DATA.h5]", RT_OWN_ALL(read_workloads),
     "Evaluate the measured workloads (whole models), not the kernels"},
    {"model", 0, "NAME", RT_LIST(struct arguments, models),
     "Only this model, or those of a pattern: 'gpt2*'"},
    {"compare", 0, "FILE.csv", RT_TEXT(struct arguments, published, .reads = rt_reads_path),
     "Published forecasts beside: columns device, workload, measured_ms, and any that end in _ms"},
    {"graphs", 0, "FOLDER", RT_TEXT(struct arguments, graphs, .reads = rt_reads_path),
     "Take graphs out of FOLDER where they are there, not those built here: ONNX models (MODEL.onnx), "
     "operator graphs (NeuSight's CSV)"},
    {"fallback", 0, NULL, RT_FLAG(struct arguments, fallback),
     "Take the roofline where a predictor has no network for an op"},
    {"from-whole", 0, NULL, RT_FLAG(struct arguments, from_whole),
     "Only runs on MIG slices and other parts of a GPU, forecast from the measured time of the same run on "
     "the whole"},
    RT_HEADING("Of LLM servers under load:"),
    {"serving", 0, "RUNS.csv", RT_TEXT(struct arguments, serving, .reads = rt_reads_path),
     "Simulate the measured runs of RUNS.csv (docs/guide/evaluate.md has its columns) in place of DATA.h5: "
     "time per output token, to the first, tokens a second"},
};

static void set_defaults(void *value)
{
    struct arguments *arguments = value;
    arguments->threads = (int64_t)rt_threads_processors();
    arguments->part = RT_PART_TEST;
}

/* --- what is asked for --- */

/* Options of the other kind of evaluation are refused, not ignored. */
static int check_kind(const struct rt_command_line *line)
{
    static const char *const of_kernels[] = {"split", "op", "dtype", "tiles", "target", "each", NULL};
    static const char *const of_models[] = {"model", "compare", "graphs", "fallback", "from-whole", NULL};
    static const char *const not_of_servers[] = {"split",      "op",          "dtype",   "tiles",
                                                 "target",     "workloads",   "compare", "graphs",
                                                 "from-whole", "no-baseline", NULL};
    const struct arguments *arguments = line->options;
    const char *other = rt_given_of(line, arguments->serving != NULL ? not_of_servers
                                          : arguments->workloads     ? of_kernels
                                                                     : of_models);
    if (other != NULL && arguments->serving != NULL)
        return rt_fail(RT_EUSAGE, "--%s is not for runs of servers: leave it out with --serving", other);
    if (other == NULL)
        return RT_OK;
    return rt_fail(RT_EUSAGE, "--%s is for %s", other,
                   arguments->workloads ? "kernels: leave it out with --workloads"
                                        : "whole models: give --workloads with it");
}

/* The rows of the data that are asked for, as rt_evaluate_options points to them. */
struct choice {
    bool *devices; /* (device_count) */
    bool ops[RT_OP_COUNT], dtypes[RT_DTYPE_COUNT];
};

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
            return rt_fail(
                RT_ENOTFOUND,
                "--dtype %s: there is no element type of that name; fp32, tf32, fp16, bf16 and fp8 are some",
                names->name[i]);
        dtypes[dtype] = true;
    }
    return RT_OK;
}

/* Every --model names some model of the data. */
static int check_models(const struct rt_names *models, const struct rt_dataset *dataset)
{
    for (size_t i = 0; i < models->count; i++) {
        bool found = false;
        for (size_t w = 0; !found && w < dataset->workload_count; w++)
            found = rt_name_matches(rt_workload_name(dataset, &dataset->workloads[w]).model, models->name[i]);
        if (!found && dataset->workload_count > 0)
            return rt_fail(RT_ENOTFOUND,
                           "--model %s: no workload of the data is of a model of that name; it has %s, for "
                           "one (`rooftile dataset info` lists them); '%s*' is all that begin so",
                           models->name[i], rt_workload_name(dataset, &dataset->workloads[0]).model,
                           models->name[i]);
    }
    return RT_OK;
}

static int check_by(const struct rt_names *by)
{
    return by->count <= RT_MAX_BY
               ? RT_OK
               : rt_fail(RT_EUSAGE, "--by is there %zu times; at most %d", by->count, RT_MAX_BY);
}

static int check_folder(const char *graphs)
{
    struct stat file;
    if (graphs != NULL && (stat(graphs, &file) != 0 || !S_ISDIR(file.st_mode)))
        return rt_fail(RT_EIO,
                       "--graphs %s: is no folder; name one with ONNX models or with operator graphs such as "
                       "gpt2_large-inf-1024-4.csv",
                       graphs);
    return RT_OK;
}

/* To be released (choice->devices) where it fails, too. */
static int choose(const struct arguments *arguments, const struct rt_dataset *dataset, struct choice *choice,
                  struct rt_evaluate_options *out)
{
    int status = choose_ops(&arguments->ops, choice->ops);
    if (status == RT_OK)
        status = choose_dtypes(&arguments->dtypes, choice->dtypes);
    choice->devices = rt_calloc(dataset->device_count + 1, sizeof *choice->devices);
    if (status == RT_OK)
        status = rt_devices_choose(dataset, "--gpu", &arguments->gpus, choice->devices);
    if (status == RT_OK)
        status = check_folder(arguments->graphs);
    if (status == RT_OK)
        status = check_by(&arguments->by);
    if (status == RT_OK && !arguments->workloads)
        status = rt_kernel_properties_check(dataset, &arguments->by);
    if (status == RT_OK)
        status = check_models(&arguments->models, dataset);
    *out = (struct rt_evaluate_options){
        .devices = arguments->gpus.count > 0 ? choice->devices : NULL,
        .ops = arguments->ops.count > 0 ? choice->ops : NULL,
        .dtypes = arguments->dtypes.count > 0 ? choice->dtypes : NULL,
        .part = arguments->part,
        .each = arguments->each,
        .pictures = rt_report_is_asked(arguments->json, &arguments->reports, RT_REPORT_HTML),
        .measured_tiles = arguments->tiles == 1,
        .target = arguments->target,
        .quiet = arguments->quiet,
        .models = &arguments->models,
        .by = &arguments->by,
        .published = arguments->published,
        .graphs = arguments->graphs,
        .fallback = arguments->fallback,
        .from_whole = arguments->from_whole};
    return status;
}

/* --- the command --- */

static int print(const struct arguments *arguments, const struct rt_evaluation *evaluation,
                 const struct rt_dataset_input *input)
{
    return rt_report_end_with(rt_evaluation_report(evaluation, input), arguments->json, &arguments->reports);
}

static int evaluate(const struct arguments *arguments, const struct rt_candidate *candidates, size_t count,
                    const struct rt_dataset_input *input)
{
    struct rt_evaluation evaluation;
    struct rt_evaluate_options asked;
    struct choice choice = {0};
    int status = choose(arguments, &input->dataset, &choice, &asked);
    if (status == RT_OK) {
        asked.threads = rt_threads_new((size_t)arguments->threads);
        status = (arguments->workloads ? rt_evaluate_workloads : rt_evaluate_kernels)(
            &input->dataset, candidates, count, &asked, &evaluation);
        rt_threads_free(asked.threads);
        if (status != RT_OK)
            rt_fail_context(status, "%s", input->file_count == 1 ? input->files[0].path : "the data");
    }
    if (status == RT_OK) {
        status = print(arguments, &evaluation, input);
        rt_evaluation_release(&evaluation);
    }
    free(choice.devices);
    return status;
}

/* The predictors that were named and, unless it is among them or not wanted, the roofline. */
static void add_baseline(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->predictors.count; i++)
        if (strcmp(arguments->predictors.name[i], "roofline") == 0)
            return;
    if (!arguments->no_baseline)
        rt_names_add(&arguments->predictors, "roofline");
}

/* --- runs of servers --- */

static int judge_servers(const struct arguments *arguments, struct rt_serving_runs *runs,
                         const struct rt_candidate *candidate)
{
    const struct rt_serving_options asked = {.gpus = &arguments->gpus,
                                             .models = &arguments->models,
                                             .fallback = arguments->fallback,
                                             .quiet = arguments->quiet,
                                             .threads = rt_threads_new((size_t)arguments->threads)};
    struct rt_serving_evaluation evaluation;
    int status = rt_evaluate_serving(runs, &candidate->predictor, &asked, &evaluation);
    rt_threads_free(asked.threads);
    if (status == RT_OK)
        status = rt_report_end_with(rt_serving_report(&evaluation, candidate->label, &arguments->by),
                                    arguments->json, &arguments->reports);
    else
        rt_fail_context(status, "%s", arguments->serving);
    rt_serving_evaluation_release(&evaluation);
    return status;
}

static int run_servers(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    struct rt_candidate candidate;
    struct rt_serving_runs runs;
    int status = arguments->predictors.count == 1 && arguments->data.count == 0
                     ? rt_serving_by_check(&arguments->by)
                     : rt_fail(RT_EUSAGE, "--serving takes one predictor and no datasets");
    if (status == RT_OK)
        status = rt_outputs_check(line);
    if (status == RT_OK)
        status = rt_candidates_open(arguments->predictors.name, 1, &candidate);
    if (status != RT_OK)
        return status;
    status = rt_serving_runs_read(arguments->serving, &runs);
    if (status == RT_OK)
        status = judge_servers(arguments, &runs, &candidate);
    rt_serving_runs_release(&runs);
    rt_candidates_release(&candidate, 1);
    return status;
}

static int run(const struct rt_command_line *line)
{
    struct arguments *arguments = line->options;
    struct rt_candidate candidates[RT_MAX_CANDIDATES];
    struct rt_dataset_input input;
    int status = check_kind(line);
    if (status == RT_OK && arguments->serving != NULL)
        return run_servers(line);
    if (status == RT_OK && arguments->data.count == 0)
        status = rt_fail(RT_EUSAGE, "name at least one dataset, DATA.h5, to evaluate on");
    if (status == RT_OK)
        status = rt_outputs_check(line);
    if (status != RT_OK)
        return status;
    add_baseline(arguments);
    status = rt_candidates_open(arguments->predictors.name, arguments->predictors.count, candidates);
    if (status != RT_OK)
        return status;
    status = rt_dataset_input_read(&arguments->data, &input);
    if (status == RT_OK)
        status = evaluate(arguments, candidates, arguments->predictors.count, &input);
    rt_dataset_input_release(&input);
    rt_candidates_release(candidates, arguments->predictors.count);
    return status;
}

const struct rt_command rt_command_evaluate = {
    .name = "evaluate",
    .also = "eval judge test",
    .brief = "report how far forecasts are from measurements",
    .operands_usage = "DATA.h5...",
    .about = "Forecasts the samples of DATA.h5 and reports how far the forecasts are from the measurements: "
             "per op and device, and pooled, beside the roofline. With --workloads: the whole models in "
             "DATA.h5, per GPU, model, mode and option, beside the sum of their kernels measured alone.",
    .details = "The test split holds what a source marked as test; unmarked shapes are assigned by the rule "
               "in the (first) predictor file, as in `rooftile train`. On a held-out device every sample is "
               "unseen, and the split still chooses test rows, so that numbers compare across devices. What "
               "a predictor was calibrated to is never judged. All predictors are judged on the same rows. "
               "docs/guide/evaluate.md defines the numbers.\n\n"
               "Example: the A100 was held out from predictor.h5; how wrong are its matrix products?\n"
               "  rooftile evaluate --predictor predictor.h5 data.h5 --gpu A100 \\\n"
               "    --op linear --op bmm --report a100.txt\n"
               "Example: how wrong are whole models, beside published forecasts of them?\n"
               "  rooftile evaluate --predictor predictor.h5 --workloads data.h5 \\\n"
               "    --compare published_e2e.csv\n"
               "Example: how wrong are LLM servers under load, by server and model?\n"
               "  rooftile evaluate --predictor predictor.h5 --serving runs.csv --by backend,model",
    RT_RUNS(run, struct arguments, options),
    .set_defaults = set_defaults,
    .in_library = true,
    .operands = RT_OPERANDS(struct arguments, data, 0, RT_MANY, "a dataset, DATA.h5", .reads = rt_reads_path),
};
