/* `rooftile graph`: a model as ops. */
#include "base/options.h"
#include "base/status.h"
#include "base/table.h"
#include "models/graph/architectures/architecture.h"
#include "models/graph/import/import.h"
#include "models/graph/model.h"
#include "models/graph/print.h"

#include <argp.h>
#include <inttypes.h>

int rt_cmd_graph(int argc, char **argv);

#define SIZE_LIMIT ((int64_t)1 << 31)

enum {
    BATCH = 256,
    SEQUENCE,
    CONTEXT,
    MODE,
    TENSOR_PARALLEL,
    FUSION,
    DTYPE,
    OPTIMIZER,
    LAYERS,
    JSON,
    DOT,
    LIST
};

static const struct argp_option argument_options[] = {
    {"model", 'm', "MODEL", 0,
     "A model by name (--list), a Hugging Face config.json, or an operator graph of NeuSight (.csv)", 0},
    {"batch", BATCH, "N", 0, "Sequences on one device (default 1)", 0},
    {"seq", SEQUENCE, "N", 0, "Tokens of a sequence (default 1024, or as many as the model has positions)",
     0},
    {"context", CONTEXT, "N", 0, "decode: tokens in the cache (default 1024, as --seq)", 0},
    {"mode", MODE, "MODE", 0, "inference, decode (one new token a sequence) or training (default inference)",
     0},
    {"tp", TENSOR_PARALLEL, "N", 0, "Devices that share each layer's tensors (default 1)", 0},
    {"fusion", FUSION, NULL, 0, "Chains of elementwise ops run as one kernel", 0},
    {"dtype", DTYPE, "NAME", 0, "Of weights and activations (default fp32)", 0},
    {"optimizer", OPTIMIZER, "NAME", 0, "training: none, sgd or adamw (default none)", 0},
    {"layers", LAYERS, "N", 0,
     "Operator graphs in which one layer was traced: how many there are (default: those of the model in the "
     "file's name)",
     0},
    {"json", JSON, NULL, 0, "Print JSON instead of text", 0},
    {"dot", DOT, NULL, 0, "Print a picture's description for Graphviz", 0},
    {"list", LIST, NULL, 0, "List the models known by name", 0},
    {0},
};

static const char description[] =
    "Prints what a model runs: per node its kernels with dims, FLOPs and bytes, its parameters, and totals."
    "\vFLOPs and bytes are of one call; bytes are compulsory traffic, every operand once. "
    "Totals count repeated layers.\n\n"
    "Examples:\n"
    "  rooftile graph --model gpt2-large --batch 4 --mode training --fusion\n"
    "  rooftile graph --model config.json --seq 512 --dot | dot -Tsvg > model.svg";

struct arguments {
    const char *model;
    struct rt_graph_options options;
    int64_t layers;    /* 0: not given */
    const char *sizes; /* an option given that fits no operator graph */
    bool json, dot, list;
};

static int parse_dtype(const char *text, enum rt_dtype *out)
{
    int dtype = rt_dtype_find(text);
    if (dtype < 0)
        return rt_fail(
            RT_ENOTFOUND,
            "--dtype %s: there is no element type of that name; fp32, tf32, fp16, bf16 and fp8 are "
            "some",
            text);
    *out = (enum rt_dtype)dtype;
    return RT_OK;
}

static int parse_mode(const char *text, struct rt_graph_options *options)
{
    int step = 0, status = rt_argument_choice("--mode", text, rt_steps, RT_STEP_COUNT, &step);
    options->step = (enum rt_step)step;
    return status;
}

static int parse_optimizer(const char *text, struct rt_graph_options *options)
{
    int optimizer = 0,
        status = rt_argument_choice("--optimizer", text, rt_optimizers, RT_OPTIMIZER_COUNT, &optimizer);
    options->optimizer = (enum rt_optimizer_kind)optimizer;
    return status;
}

static int check_arguments(const struct arguments *arguments)
{
    const struct rt_graph_options *options = &arguments->options;
    if (arguments->model == NULL && !arguments->list)
        return rt_fail(RT_EUSAGE, "say which model: --model NAME, config.json or opgraph.csv; --list tells "
                                  "the names");
    if (arguments->json && arguments->dot)
        return rt_fail(RT_EUSAGE, "--json and --dot exclude each other");
    if (options->context > 0 && options->step != RT_STEP_DECODE)
        return rt_fail(RT_EUSAGE, "--context is for --mode decode; --seq gives the length of sequences");
    if (options->optimizer != RT_OPTIMIZER_NONE && options->step != RT_STEP_TRAINING)
        return rt_fail(RT_EUSAGE, "--optimizer is for --mode training");
    return RT_OK;
}

/* An option that tells a size or kind of step, which an operator graph has already. */
static void note_size(struct arguments *arguments, int key)
{
    for (size_t i = 0; argument_options[i].name != NULL; i++)
        if (argument_options[i].key == key)
            arguments->sizes = argument_options[i].name;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct rt_graph_options *options = &arguments->options;
    switch (key) {
    case 'm':
        arguments->model = text;
        return 0;
    case BATCH:
        note_size(arguments, key);
        return rt_argument_integer("--batch", text, 1, SIZE_LIMIT, &options->batch);
    case SEQUENCE:
        note_size(arguments, key);
        return rt_argument_integer("--seq", text, 1, SIZE_LIMIT, &options->sequence);
    case CONTEXT:
        note_size(arguments, key);
        return rt_argument_integer("--context", text, 1, SIZE_LIMIT, &options->context);
    case MODE:
        note_size(arguments, key);
        return parse_mode(text, options);
    case TENSOR_PARALLEL:
        note_size(arguments, key);
        return rt_argument_integer("--tp", text, 1, SIZE_LIMIT, &options->tensor_parallel);
    case OPTIMIZER:
        note_size(arguments, key);
        return parse_optimizer(text, options);
    case FUSION:
        options->fusion = true;
        return 0;
    case DTYPE:
        return parse_dtype(text, &options->dtype);
    case LAYERS:
        return rt_argument_integer("--layers", text, 1, 100000, &arguments->layers);
    case JSON:
        arguments->json = true;
        return 0;
    case DOT:
        arguments->dot = true;
        return 0;
    case LIST:
        arguments->list = true;
        return 0;
    case ARGP_KEY_ARG:
        return rt_fail(RT_EUSAGE, "\"%s\": name the model with --model", text);
    case ARGP_KEY_END:
        return check_arguments(arguments);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* --- the graph --- */

/* Fills in lengths that were not given, and warns where the model has fewer positions. */
static void set_lengths(const struct rt_model *model, struct rt_graph_options *options)
{
    int64_t length = rt_model_default_sequence(model);
    if (options->sequence < 1)
        options->sequence = length;
    if (options->step == RT_STEP_DECODE && options->context < 1)
        options->context = length - (model->positions > 0 && model->positions <= 1024);
    if (rt_model_overlong(model, options))
        rt_warn("%s has %" PRId64 " positions; the step reads %" PRId64
                ", which the model was not trained for",
                model->name, model->positions,
                options->step == RT_STEP_DECODE ? options->context + 1 : options->sequence);
}

static int make_graph(const struct arguments *arguments, struct rt_graph *out)
{
    struct rt_graph_options options = arguments->options;
    struct rt_model_source source;
    int status = rt_model_source_find(arguments->model, &source);
    if (status != RT_OK)
        return status;
    if (!rt_model_source_traced(&source))
        set_lengths(&source.model, &options);
    else if (arguments->sizes != NULL)
        return rt_fail(RT_EUSAGE, "%s: an %s is of one step and size, so --%s does not apply",
                       arguments->model, source.importer->what, arguments->sizes);
    return rt_model_source_graph(&source, &options, arguments->layers, out);
}

/* --- the zoo --- */

static int print_zoo(bool json)
{
    static const struct rt_column columns[] = {{"name", NULL, 's', 0},   {"architecture", NULL, 's', 0},
                                               {"layers", NULL, 'd', 0}, {"hidden", NULL, 'd', 0},
                                               {"heads", NULL, 'd', 0},  {"parameters", NULL, 'f', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < rt_zoo_size(); i++) {
        struct rt_model model;
        if ((status = rt_zoo_model(i, &model)) != RT_OK)
            break;
        int64_t layers = model.layers + (model.decoder_layers > 0 ? model.decoder_layers : 0);
        rt_table_row(table, model.name, model.architecture->model_type, (long long)layers,
                     (long long)model.hidden, (long long)model.heads, rt_model_parameters(&model));
    }
    if (status == RT_OK && json)
        rt_json_print(rt_table_json(table), stdout);
    else if (status == RT_OK)
        rt_table_text(table, stdout);
    rt_table_free(table);
    return status;
}

static int print_graph(const struct arguments *arguments)
{
    struct rt_graph graph;
    int status = make_graph(arguments, &graph);
    if (status != RT_OK)
        return status;
    if (arguments->json)
        rt_json_print(rt_graph_json(&graph, arguments->model), stdout);
    else if (arguments->dot)
        rt_graph_print_dot(&graph, arguments->model, stdout);
    else
        rt_graph_print_text(&graph, arguments->model, stdout);
    rt_graph_release(&graph);
    return RT_OK;
}

int rt_cmd_graph(int argc, char **argv)
{
    static const struct argp argp = {argument_options, parse_option, NULL, description, NULL, NULL, NULL};
    struct arguments arguments = {.options = {.batch = 1, .tensor_parallel = 1, .dtype = RT_FP32}};
    int status = argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (status != 0)
        return status;
    return arguments.list ? print_zoo(arguments.json) : print_graph(&arguments);
}
