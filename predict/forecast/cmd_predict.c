/* `rooftile predict`: how long a model takes on a GPU. */
#include "base/options.h"
#include "base/status.h"
#include "models/graph/import/import.h"
#include "models/graph/model.h"
#include "predict/forecast/prediction.h"

#include <argp.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rt_cmd_predict(int argc, char **argv);

enum {
    GPU = 256,
    MODE,
    CONTEXT,
    DTYPE,
    FUSION,
    OPTIMIZER,
    DP,
    TP,
    PP,
    MICROBATCHES,
    SCHEDULE,
    LINK,
    NO_OVERLAP,
    FALLBACK,
    INTERVAL,
    TRACE,
    LAYERS,
    JSON
};

static const struct argp_option argument_options[] = {
    {"predictor", 'p', "P.h5", 0,
     "A predictor file, or \"roofline\" (default pretrained: what comes with rooftile, its card is in "
     "models/predictor/pretrained/)",
     0},
    {"gpu", GPU, "NAME", 0,
     "A GPU of the catalogue (`rooftile devices`), a device file, either with overrides: H100,sms=100 "
     "(required; repeatable)",
     0},
    {"model", 'm', "NAME", 0,
     "A model of the zoo (`rooftile graph --list`), a Hugging Face config.json, or an operator graph of "
     "NeuSight, .csv (required)",
     0},
    {"batch", 'b', "N[,N...]", 0, "Sequences of a step, over all GPUs (default 1)", 0},
    {"seq", 's', "N[,N...]", 0, "Tokens of a sequence (default: the model's positions, at most 1024)", 0},
    {"mode", MODE, "MODE", 0, "inference, training or decode: one token a sequence (default inference)", 0},
    {"context", CONTEXT, "N", 0, "decode: tokens cached already (default: as --seq)", 0},
    {"dtype", DTYPE, "NAME", 0, "Element type of weights and activations (default fp32)", 0},
    {"fusion", FUSION, NULL, 0, "Chains of elementwise ops run as one kernel, as torch.compile does", 0},
    {"optimizer", OPTIMIZER, "NAME", 0, "training: add its step: none, sgd or adamw (default none)", 0},
    {"layers", LAYERS, "N", 0,
     "Of an operator graph that holds one layer (default: those of the zoo's model that the file is named "
     "after)",
     0},
    {NULL, 0, NULL, 0, "Several GPUs:", 1},
    {"dp", DP, "N", 0, "Data parallel: N parts of the batch (default 1)", 1},
    {"tp", TP, "N", 0, "Tensor parallel: every layer on N GPUs (default 1)", 1},
    {"pp", PP, "N", 0, "Pipeline parallel: the layers in N stages (default 1)", 1},
    {"microbatches", MICROBATCHES, "N", 0, "Parts of a GPU's batch that follow one another (default 1)", 1},
    {"schedule", SCHEDULE, "NAME", 0, "Of a pipeline: 1f1b or gpipe (default 1f1b)", 1},
    {"link-gbs", LINK, "X", 0, "Bandwidth to a peer GPU, one direction, GB/s (default: the GPU's)", 1},
    {"no-overlap", NO_OVERLAP, NULL, 0, "Sum gradients after the backward pass, not during it", 1},
    {NULL, 0, NULL, 0, "Output:", 2},
    {"interval", INTERVAL, "LEVEL", 0,
     "Level of the interval around the total; 0: none (default 0.9: docs/intervals.md)", 2},
    {"fallback", FALLBACK, NULL, 0, "Take the roofline where the predictor has no network for an op", 2},
    {"trace", TRACE, "FILE", 0, "Also write a timeline that Perfetto (ui.perfetto.dev) opens", 2},
    {"json", JSON, NULL, 0, "Print JSON instead of text", 2},
    {0},
};

static const char description[] =
    "Forecasts how long one step of a model takes: the model becomes a graph of ops, the predictor forecasts "
    "each kernel, and they are added up. Several GPUs, batches or sequences give one table."
    "\vOps that only move data have no network of their own; they take as long as elementwise ops of as many "
    "bytes, and are listed. docs/predict.md tells what is counted and what is not.\n\n"
    "Example: GPT-3 2.7B on a GPU that is not in the room\n"
    "  rooftile predict --gpu H100 --model gpt3-2.7b --batch 2 --seq 2048\n"
    "Example: which batch still fits when training on 4 GPUs\n"
    "  rooftile predict -p predictor.h5 --gpu A100-SXM4-40GB -m gpt2-large --mode training --dp 4 \\\n"
    "    --optimizer adamw --batch 4,8,16,32";

enum { MOST_VALUES = 64 };
struct values {
    int64_t value[MOST_VALUES];
    size_t count;
};

struct arguments {
    const char *predictor, *model, *trace;
    struct rt_names gpus;
    struct values batches, sequences;
    int64_t context, layers;
    struct rt_graph_options graph; /* batch, sequence and context follow for each case */
    struct rt_forecast_options forecast;
    bool json;
};

/* "1,2,4" */
static int parse_values(const char *option, const char *text, struct values *values)
{
    char *copy = rt_strdup(text), *rest = copy;
    int status = RT_OK;
    values->count = 0;
    for (char *item; status == RT_OK && (item = strsep(&rest, ",")) != NULL;) {
        if (values->count == MOST_VALUES)
            status = rt_fail(RT_EUSAGE, "%s: at most %d values", option, MOST_VALUES);
        else
            status = rt_argument_integer(option, item, 1, INT32_MAX, &values->value[values->count++]);
    }
    free(copy);
    return status;
}

static int parse_dtype(const char *text, enum rt_dtype *dtype)
{
    int found = rt_dtype_find(text);
    if (found < 0)
        return rt_fail(RT_EUSAGE, "--dtype %s: no such element type; fp32, tf32, fp16, bf16, fp8 ...", text);
    *dtype = (enum rt_dtype)found;
    return RT_OK;
}

static int check_arguments(const struct arguments *arguments)
{
    if (arguments->gpus.count == 0)
        return rt_fail(RT_EUSAGE, "say on which GPU: --gpu NAME (`rooftile devices` lists them)");
    if (arguments->model == NULL)
        return rt_fail(RT_EUSAGE, "say which model: --model NAME (`rooftile graph --list` lists them) or a "
                                  "config.json");
    if (arguments->context > 0 && arguments->graph.step != RT_STEP_DECODE)
        return rt_fail(RT_EUSAGE, "--context is for --mode decode");
    if (arguments->trace != NULL &&
        (arguments->gpus.count > 1 || arguments->batches.count > 1 || arguments->sequences.count > 1))
        return rt_fail(RT_EUSAGE, "--trace shows one forecast: give one GPU, one batch and one sequence");
    return RT_OK;
}

/* A graph that was traced is of one step and size. */
static int check_traced(const struct arguments *arguments)
{
    if ((arguments->batches.count > 0 || arguments->sequences.count > 0 ||
         arguments->forecast.parallel.data * arguments->forecast.parallel.pipeline *
                 arguments->forecast.parallel.microbatches * arguments->graph.tensor_parallel >
             1))
        return rt_fail(RT_EUSAGE,
                       "%s is forecast as it was traced: --batch, --seq and the options for several GPUs do "
                       "not apply to an operator graph",
                       arguments->model);
    return RT_OK;
}

static int parse_graph_option(int key, const char *text, struct arguments *arguments)
{
    struct rt_graph_options *graph = &arguments->graph;
    int found = 0;
    int status = RT_OK;
    switch (key) {
    case MODE:
        status = rt_argument_choice("--mode", text, rt_steps, RT_STEP_COUNT, &found);
        graph->step = (enum rt_step)found;
        return status;
    case CONTEXT:
        return rt_argument_integer("--context", text, 1, INT32_MAX, &arguments->context);
    case LAYERS:
        return rt_argument_integer("--layers", text, 1, 100000, &arguments->layers);
    case DTYPE:
        return parse_dtype(text, &graph->dtype);
    case FUSION:
        graph->fusion = true;
        return RT_OK;
    case OPTIMIZER:
        status = rt_argument_choice("--optimizer", text, rt_optimizers, RT_OPTIMIZER_COUNT, &found);
        graph->optimizer = (enum rt_optimizer_kind)found;
        return status;
    case TP:
        return rt_argument_integer("--tp", text, 1, 65536, &graph->tensor_parallel);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int parse_parallel_option(int key, const char *text, struct rt_parallel *parallel)
{
    int found = 0;
    int status = RT_OK;
    switch (key) {
    case DP:
        return rt_argument_integer("--dp", text, 1, 65536, &parallel->data);
    case PP:
        return rt_argument_integer("--pp", text, 1, 4096, &parallel->pipeline);
    case MICROBATCHES:
        return rt_argument_integer("--microbatches", text, 1, 65536, &parallel->microbatches);
    case SCHEDULE:
        status = rt_argument_choice("--schedule", text, rt_pipeline_schedules, RT_PIPELINE_COUNT, &found);
        parallel->schedule = (enum rt_pipeline_schedule)found;
        return status;
    case LINK:
        return rt_argument_real("--link-gbs", text, 0.01, 1e5, &parallel->link_gbs);
    case NO_OVERLAP:
        parallel->no_overlap = true;
        return RT_OK;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'p':
        arguments->predictor = text;
        break;
    case GPU:
        rt_names_add(&arguments->gpus, text);
        break;
    case 'm':
        arguments->model = text;
        break;
    case 'b':
        return parse_values("--batch", text, &arguments->batches);
    case 's':
        return parse_values("--seq", text, &arguments->sequences);
    case INTERVAL:
        return rt_argument_real("--interval", text, 0, 0.99, &arguments->forecast.level);
    case FALLBACK:
        arguments->forecast.fallback = true;
        break;
    case TRACE:
        arguments->trace = text;
        break;
    case JSON:
        arguments->json = true;
        break;
    case ARGP_KEY_ARG:
        return rt_fail(RT_EUSAGE, "\"%s\": predict takes options only; name a model with --model", text);
    case ARGP_KEY_END:
        return check_arguments(arguments);
    default: {
        int status = parse_graph_option(key, text, arguments);
        return status == ARGP_ERR_UNKNOWN ? parse_parallel_option(key, text, &arguments->forecast.parallel)
                                          : status;
    }
    }
    return 0;
}

/* The part of `batch` that one GPU takes in one pass. */
static int split_batch(const struct rt_parallel *parallel, int64_t batch, int64_t *part)
{
    int64_t parts = parallel->data * parallel->microbatches;
    if (batch % parts != 0)
        return rt_fail(RT_EUSAGE,
                       "--batch %" PRId64 ": cannot be dealt to %" PRId64 " (--dp) x %" PRId64
                       " (--microbatches); give a multiple of %" PRId64,
                       batch, parallel->data, parallel->microbatches, parts);
    *part = batch / parts;
    return RT_OK;
}

static int build_graph(const struct arguments *arguments, const struct rt_model_source *source,
                       struct rt_prediction *prediction)
{
    struct rt_graph_options options = arguments->graph;
    int status = RT_OK;
    if (!rt_model_source_traced(source)) {
        status = split_batch(&arguments->forecast.parallel, prediction->batch, &options.batch);
        options.sequence = prediction->sequence;
        options.context = arguments->context > 0 ? arguments->context : prediction->sequence;
        prediction->overlong = rt_model_overlong(&source->model, &options);
    }
    if (status == RT_OK)
        status = rt_model_source_graph(source, &options, arguments->layers, &prediction->graph);
    if (status == RT_OK && rt_model_source_traced(source)) {
        prediction->batch = prediction->graph.options.batch;
        prediction->sequence = prediction->graph.options.sequence;
    }
    return status;
}

static void print_warnings(const struct rt_prediction *prediction)
{
    char *warnings[RT_MAX_WARNINGS];
    size_t count = rt_prediction_warnings(prediction, warnings);
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr, "rooftile: warning: %s\n", warnings[i]);
        free(warnings[i]);
    }
}

static void print_predictions(const struct arguments *arguments, const struct rt_prediction *predictions,
                              size_t count)
{
    if (arguments->json) {
        json_t *list = json_array();
        for (size_t i = 0; i < count; i++)
            json_array_append_new(list, rt_prediction_json(&predictions[i]));
        rt_json_print(json_incref(count == 1 ? json_array_get(list, 0) : list), stdout);
        json_decref(list);
        return;
    }
    if (count == 1) {
        rt_prediction_text(&predictions[0], stdout);
        print_warnings(&predictions[0]);
        return;
    }
    printf("%s, %s, by %s\n\n", arguments->model, rt_steps[predictions[0].graph.options.step],
           arguments->predictor);
    struct rt_table *table = rt_prediction_table(predictions, count);
    rt_table_text(table, stdout);
    rt_table_free(table);
}

/* Every batch and sequence on one GPU; `predictions` holds as many. */
static int predict_on(const struct arguments *arguments, const struct rt_model_source *source,
                      const struct rt_predictor *predictor, const struct rt_device *device,
                      struct rt_prediction *predictions)
{
    size_t sequences = arguments->sequences.count, count = arguments->batches.count * sequences;
    const struct rt_graph **graphs = rt_malloc(count * sizeof *graphs);
    struct rt_forecast *forecasts = rt_calloc(count, sizeof *forecasts);
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < count; i++) {
        struct rt_prediction *prediction = &predictions[i];
        prediction->model = arguments->model;
        prediction->predictor_name = arguments->predictor;
        prediction->predictor = predictor;
        prediction->device = *device;
        prediction->batch = arguments->batches.value[i / sequences];
        prediction->sequence = arguments->sequences.value[i % sequences];
        status = build_graph(arguments, source, prediction);
        graphs[i] = &prediction->graph;
    }
    if (status == RT_OK)
        status = rt_forecast_graphs(graphs, count, predictor, &predictions[0].device, &arguments->forecast,
                                    forecasts);
    for (size_t i = 0; status == RT_OK && i < count; i++)
        predictions[i].forecast = forecasts[i];
    free(forecasts);
    free(graphs);
    return status;
}

static int predict_all(const struct arguments *arguments, const struct rt_model_source *source,
                       const struct rt_predictor *predictor, struct rt_prediction *predictions)
{
    size_t each = arguments->batches.count * arguments->sequences.count;
    int status = RT_OK;
    for (size_t g = 0; status == RT_OK && g < arguments->gpus.count; g++) {
        struct rt_device device;
        status = rt_device_find(arguments->gpus.name[g], &device);
        if (status == RT_OK)
            status = predict_on(arguments, source, predictor, &device, predictions + g * each);
    }
    return status;
}

static int predict(struct arguments *arguments)
{
    struct rt_model_source source;
    struct rt_predictor predictor;
    int status = rt_model_source_find(arguments->model, &source);
    if (status == RT_OK && rt_model_source_traced(&source))
        status = check_traced(arguments);
    if (status != RT_OK || (status = rt_predictor_open(arguments->predictor, &predictor)) != RT_OK)
        return status;
    if (arguments->batches.count == 0)
        arguments->batches = (struct values){{1}, 1};
    if (arguments->sequences.count == 0)
        arguments->sequences = (struct values){
            {rt_model_source_traced(&source) ? 1 : rt_model_default_sequence(&source.model)}, 1};
    size_t count = arguments->gpus.count * arguments->batches.count * arguments->sequences.count;
    struct rt_prediction *predictions = rt_calloc(count, sizeof *predictions);
    status = predict_all(arguments, &source, &predictor, predictions);
    if (status == RT_OK && arguments->trace != NULL)
        status = rt_prediction_trace(&predictions[0], arguments->trace);
    if (status == RT_OK)
        print_predictions(arguments, predictions, count);
    for (size_t i = 0; i < count; i++) {
        rt_forecast_release(&predictions[i].forecast);
        rt_graph_release(&predictions[i].graph);
    }
    free(predictions);
    rt_predictor_release(&predictor);
    return status;
}

int rt_cmd_predict(int argc, char **argv)
{
    static const struct argp argp = {argument_options, parse_option, NULL, description, NULL, NULL, NULL};
    struct arguments arguments = {
        .predictor = "pretrained",
        .graph = {.step = RT_STEP_PREFILL, .dtype = RT_FP32, .tensor_parallel = 1},
        .forecast.level = 0.9,
        .forecast.parallel = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN},
    };
    int status = argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (status == 0)
        status = predict(&arguments);
    rt_names_release(&arguments.gpus);
    return status;
}
