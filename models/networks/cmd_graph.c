/* `rooftile graph`: a model as ops. */
#include "base/report_files.h"
#include "base/status.h"
#include "base/text.h"
#include "models/networks/architectures/parts.h"
#include "models/networks/architectures/types.h"
#include "models/networks/vision/vision.h"
#include "models/networks/source.h"
#include "models/networks/model.h"
#include "models/networks/report.h"
#include "models/networks/step_options.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define SIZE_LIMIT ((int64_t)1 << 31)

struct arguments {
    const char *model, *as;
    struct rt_names reports;
    struct rt_step step;
    struct rt_onnx_given onnx;
    bool overwrite, json, dot, list, types, shapes, no_patterns;
};

static const struct rt_option options[] = {
    {"model", 'm', "MODEL",
     RT_TEXT(struct arguments, model, .reads = rt_model_reads, .suggests = rt_model_suggest),
     "A model by name (--list) or a Hugging Face config.json, either with changes, gpt2,n_layer=24; an "
     "operator graph of NeuSight (.csv), or an ONNX model (.onnx)"},
    RT_STEP_AS_OPTION(struct arguments, as),
    {"batch", 0, "N", RT_INTEGER(struct arguments, step.batch, 1, SIZE_LIMIT),
     "Sequences or images on one device"},
    {"seq", 0, "N", RT_INTEGER(struct arguments, step.sequence, 1, SIZE_LIMIT),
     "Tokens of a sequence (default 1024, or the model's positions where those are fewer)"},
    {"image", 0, "N[xW]", RT_OWN(struct arguments, step.image, rt_read_image),
     "Models of images: their side in pixels (default: the model's own, mostly 224)"},
    {"context", 0, "N", RT_INTEGER(struct arguments, step.context, 1, SIZE_LIMIT),
     "decode: tokens in the cache (default as --seq)"},
    RT_STEP_OPTIONS(struct arguments, step),
    RT_STEP_GPU_OPTIONS(struct arguments, step),
    RT_STEP_TRAINING_OPTIONS(struct arguments, step),
    {"layers", 0, "N", RT_INTEGER(struct arguments, step.layers, 1, 65536),
     "Operator graphs in which one layer was traced: their number (default: the layers of the model in the "
     "file's name)"},
    RT_HEADING("ONNX models:"),
    {"shapes", 0, NULL, RT_FLAG(struct arguments, shapes), "Print every value with its shape"},
    {"dim", 0, "NAME=N", RT_LIST(struct arguments, onnx.dims),
     "The size of a dim that has a name, such as batch=8"},
    {"shape", 0, "VALUE=2x3", RT_LIST(struct arguments, onnx.shapes),
     "The shape of a value that the file does not tell"},
    {"no-patterns", 0, NULL, RT_FLAG(struct arguments, no_patterns),
     "Count the operators as they stand, each by itself"},
    RT_HEADING("Output:"),
    RT_REPORT_OPTION(struct arguments, reports),
    RT_REPORT_OVERWRITE(struct arguments, overwrite),
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"},
    {"dot", 0, NULL, RT_FLAG(struct arguments, dot), "Print a picture's description for Graphviz"},
    {"list", 0, NULL, RT_FLAG(struct arguments, list),
     "List the models known by name, and the types of config.json files"},
    {"types", 0, NULL, RT_FLAG(struct arguments, types), "List these types alone"},
};

static void set_defaults(void *values)
{
    struct arguments *arguments = values;
    arguments->step = (struct rt_step)RT_STEP_NOT_GIVEN;
}

static int check_arguments(const struct arguments *arguments)
{
    if (arguments->model == NULL)
        return rt_fail(RT_EUSAGE,
                       "say which model: --model NAME, config.json or opgraph.csv; --list prints the names");
    if (arguments->json && arguments->dot)
        return rt_fail(RT_EUSAGE, "--json and --dot exclude each other");
    if (arguments->reports.count > 0 && arguments->dot)
        return rt_fail(RT_EUSAGE, "--report and --dot exclude each other");
    return RT_OK;
}

/* --- the graph --- */

static void warn_of_length(const struct rt_model *model, const struct rt_graph_options *step)
{
    if (rt_model_reads_text(model) && rt_model_overlong(model, step))
        rt_warn(
            "%s has %" PRId64 " positions; the step reads %" PRId64 ", which the model was not trained for",
            model->name, model->positions, step->step == RT_STEP_DECODE ? step->context + 1 : step->sequence);
}

/* A graph that was traced has its sizes already. */
static int make_graph(const struct rt_command_line *line, struct rt_settled_step *settled,
                      struct rt_graph *out)
{
    static const char *const sizes[] = {"batch", "seq", "context", "tp", "mode", "optimizer", NULL};
    static const char *const fixed[] = {"context", NULL}; /* of ONNX models */
    struct arguments *arguments = line->options;
    const char *size = rt_given_of(line, rt_model_is_onnx(arguments->model) ? fixed : sizes);
    struct rt_model_source source;
    int status = rt_model_source_find_as(arguments->model, arguments->as, &source);
    if (status != RT_OK)
        return status;
    source.onnx = &arguments->onnx;
    source.no_patterns = arguments->no_patterns;
    if (rt_model_source_traced(&source) && size != NULL)
        return rt_fail(RT_EUSAGE, "%s: an %s is of one step and size, so --%s does not apply",
                       arguments->model, source.importer->what, size);
    status = rt_step_settle(&arguments->step, &source, NULL, settled);
    if (status == RT_OK && !rt_model_source_traced(&source))
        warn_of_length(&source.model, &settled->graph);
    return status == RT_OK ? rt_settled_step_graph(settled, &source, out) : status;
}

static int print_graph(const struct rt_command_line *line)
{
    struct arguments *arguments = line->options;
    struct rt_settled_step settled = {0};
    struct rt_graph graph = {0};
    int status = check_arguments(arguments);
    if (status == RT_OK)
        status = make_graph(line, &settled, &graph);
    if (status == RT_OK && arguments->dot)
        rt_graph_print_dot(&graph, arguments->model, stdout);
    else if (status == RT_OK)
        status = rt_report_end_with(rt_graph_report(&graph, arguments->model), arguments->json,
                                    &arguments->reports);
    rt_graph_release(&graph);
    rt_settled_step_release(&settled);
    return status;
}

/* --- shapes of ONNX models --- */

static int print_shapes(const struct arguments *arguments)
{
    struct rt_onnx_model model;
    if (arguments->model == NULL || !rt_model_is_onnx(arguments->model))
        return rt_fail(RT_EUSAGE, "--shapes is for ONNX models: give --model NET.onnx");
    int status = rt_onnx_read(arguments->model, &arguments->onnx, &model);
    if (status != RT_OK)
        return status;
    status = rt_report_end_with(rt_onnx_report(&model), arguments->json, &arguments->reports);
    rt_onnx_release(&model);
    return status;
}

/* --- the zoo --- */

static int add_model(void *context, const struct rt_model *model)
{
    struct rt_table *table = context;
    if (model->vision != NULL)
        rt_table_row(table, model->name, rt_vision_family_of(model->vision)->what, NAN, NAN, NAN,
                     (double)model->vision->image, rt_model_parameters(model));
    else
        rt_table_row(table, model->name, model->architecture->model_type,
                     (double)(model->layers + model->decoder.layers), (double)model->hidden,
                     (double)model->heads, NAN, rt_model_parameters(model));
    return RT_OK;
}

static void add_images(struct rt_table *table)
{
    const struct rt_vision *vision;
    for (size_t i = 0; (vision = rt_vision_at(i)) != NULL; i++) {
        struct rt_model model;
        rt_model_of_images(vision, &model);
        add_model(table, &model);
    }
}

/* A decoder makes words of what came before them: CLIP's text, causal too, ends in a vector. */
static const char *stacks_of(const struct rt_architecture *row)
{
    if (row->cross != NULL)
        return "encoder and decoder";
    bool causal = row->attention != NULL && !row->attention->bidirectional;
    return causal && (row->heads & (1U << RT_MODEL_HEAD_WORDS)) != 0 ? "decoder" : "encoder";
}

/* By LLM servers: "only" where nothing else that runs it is forecast; NULL: by none. */
static const char *served_words(const struct rt_architecture *row)
{
    return !row->served ? NULL : row->build == rt_build_served ? "only" : "yes";
}

/* "a|b" as "a, b" */
static void add_names(struct rt_text *list, const char *names)
{
    for (; names != NULL && *names != '\0'; names += *names == '|') {
        int length = (int)strcspn(names, "|");
        rt_text_item(list, ", ", "%.*s", length, names);
        names += length;
    }
}

/* The types of config.json files, with the other types that are read as each; the key that they have in
 * JSON, NULL for none. */
static void add_types(struct rt_report *report, const char *key, const char *title)
{
    static const struct rt_column columns[] = {{"model_type", NULL, 's', 0},
                                               {"models", NULL, 's', 0},
                                               {"stacks", NULL, 's', 0},
                                               {"llm_servers", "LLM servers", 's', 0},
                                               {"also", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    const struct rt_architecture *row;
    for (size_t i = 0; (row = rt_architecture_at(i)) != NULL; i++) {
        struct rt_text also = {0};
        add_names(&also, row->aliases);
        add_names(&also, row->wrappers);
        rt_table_row(table, row->model_type, row->what, stacks_of(row), served_words(row), also.text);
        rt_text_release(&also);
    }
    rt_report_add_table(report, key, title, table);
}

static int print_types(const struct arguments *arguments)
{
    int status = rt_architectures_check();
    if (status != RT_OK)
        return status;
    struct rt_report *report = rt_report_new();
    add_types(report, "types", "");
    return rt_report_end_with(report, arguments->json, &arguments->reports);
}

static int print_zoo(const struct arguments *arguments)
{
    static const struct rt_column columns[] = {{"name", NULL, 's', 0},      {"architecture", NULL, 's', 0},
                                               {"layers", NULL, 'f', 0},    {"hidden", NULL, 'f', 0},
                                               {"heads", NULL, 'f', 0},     {"image", NULL, 'f', 0},
                                               {"parameters", NULL, 'f', 0}};
    struct rt_report *report = rt_report_new();
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    int status = RT_OK;
    for (size_t i = 0; i < rt_zoo_size(); i++) {
        struct rt_model model;
        if ((status = rt_zoo_model(i, &model)) != RT_OK)
            break;
        add_model(table, &model);
    }
    add_images(table);
    if (status == RT_OK)
        status = rt_hub_each(add_model, table);
    rt_report_add_table(report, "models", "", table);
    add_types(report, NULL, "config.json files of these types");
    if (status == RT_OK)
        return rt_report_end_with(report, arguments->json, &arguments->reports);
    rt_report_free(report);
    return status;
}

static int run(const struct rt_command_line *line)
{
    struct arguments *arguments = line->options;
    int status = rt_outputs_check(line);
    if (status != RT_OK)
        return status;
    if (rt_given(line, "batch"))
        arguments->onnx.batch = arguments->step.batch;
    if (rt_given(line, "seq"))
        arguments->onnx.sequence = arguments->step.sequence;
    if (arguments->types)
        return print_types(arguments);
    if (arguments->shapes)
        return print_shapes(arguments);
    bool onnx = arguments->model != NULL && rt_model_is_onnx(arguments->model);
    if (!onnx && (arguments->no_patterns || arguments->onnx.dims.count + arguments->onnx.shapes.count > 0))
        return rt_fail(RT_EUSAGE,
                       "--dim, --shape and --no-patterns are for ONNX models: give --model NET.onnx");
    return arguments->list ? print_zoo(arguments) : print_graph(line);
}

const struct rt_command rt_command_graph = {
    .name = "graph",
    .also = "model models onnx",
    .brief = "a model as ops: what runs, with FLOPs, bytes and parameters",
    .about = "Prints what a model runs: per node its kernels with dims, FLOPs and bytes, its parameters, and "
             "totals.",
    .details = "FLOPs and bytes are of one call; bytes are compulsory traffic, every operand once. Totals "
               "count repeated layers.\n\n"
               "Examples:\n"
               "  rooftile graph --model gpt2-large --batch 4 --mode training --fusion\n"
               "  rooftile graph --model resnet50 --batch 32 --image 288 --layout nhwc --autocast\n"
               "  rooftile graph --model config.json --seq 512 --dot | dot -Tsvg > model.svg\n"
               "  rooftile graph --model net.onnx --dim batch=8",
    RT_RUNS(run, struct arguments, options),
    .operands = RT_NO_OPERANDS("name the model with --model"),
    .set_defaults = set_defaults,
    .in_library = true,
};
