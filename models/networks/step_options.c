/* Reading and settling the options of a step. See step_options.h. */
#include "models/networks/step_options.h"
#include "base/status.h"
#include "base/text.h"

#include <string.h>

/* A dtype, or "none": the one that all else has. */
int rt_read_dtype_or_none(const char *option, const char *text, void *value)
{
    enum rt_dtype dtype = RT_FP32;
    *(int *)value = RT_DTYPE_NONE;
    if (strcmp(text, "none") == 0)
        return RT_OK;
    int status = rt_dtype_argument(option, text, &dtype);
    *(int *)value = (int)dtype;
    return status;
}

int rt_read_layout(const char *option, const char *text, void *value)
{
    bool last = strcmp(text, "nhwc") == 0;
    *(bool *)value = last;
    return last || strcmp(text, "nchw") == 0 ? RT_OK
                                             : rt_fail(RT_EUSAGE, "%s %s: choose nchw or nhwc", option, text);
}

void rt_layout_suggest(struct rt_text *list)
{
    rt_text_add(list, "nchw\nnhwc\tchannels last\n");
}

static bool is_half(enum rt_dtype dtype)
{
    return dtype == RT_FP16 || dtype == RT_BF16;
}

/* The config's; of a model that names none, fp32, but 16 bits where a server runs it. */
static int default_dtype(const struct rt_command_line *line, const struct rt_model_source *source,
                         struct rt_step_options *options)
{
    enum rt_dtype *dtype = &options->graph.dtype;
    int status = rt_model_source_dtype(source, dtype);
    if (status != RT_OK || rt_model_source_traced(source) || source->model.dtype >= 0)
        return status;
    bool serves = rt_given(line, "runtime")
                      ? rt_runtimes[options->graph.runtime].served
                      : options->graph.groups != NULL ||
                            rt_model_default_runtime(&source->model, options->graph.step, RT_BF16) ==
                                RT_RUNTIME_SERVING;
    options->half = serves;
    if (serves)
        *dtype = RT_BF16;
    return RT_OK;
}

/* The config's dtype unless another is given; --quant is that of products beside 16 bits. */
static int settle_dtype(const struct rt_command_line *line, const struct rt_model_source *source,
                        struct rt_step_options *options)
{
    enum rt_dtype *dtype = &options->graph.dtype;
    bool given = rt_given(line, "dtype");
    if (options->graph.autocast && options->quant != RT_DTYPE_NOT_GIVEN)
        return rt_fail(RT_EUSAGE,
                       "--autocast and --quant exclude each other: autocast keeps weights in fp32");
    if (options->graph.autocast && !given) {
        *dtype = RT_FP16;
        return RT_OK;
    }
    if (!given && options->quant == RT_DTYPE_NOT_GIVEN)
        return default_dtype(line, source, options);
    if (options->quant == RT_DTYPE_NOT_GIVEN)
        return RT_OK;
    if (!given)
        *dtype = source->model.fp16 ? RT_FP16 : RT_BF16;
    if (options->quant == RT_DTYPE_NONE || !rt_dtype_is_narrow((enum rt_dtype)options->quant))
        return options->quant == RT_DTYPE_NONE
                   ? RT_OK
                   : rt_fail(RT_EUSAGE, "--quant %s is not narrower than 16 bits; give it as --dtype",
                             rt_dtypes[options->quant].name);
    if (!is_half(*dtype))
        return rt_fail(RT_EUSAGE, "--dtype %s: beside products in %s all else is in bf16 or fp16",
                       rt_dtypes[*dtype].name, rt_dtypes[options->quant].name);
    options->graph.fp16_beside = *dtype == RT_FP16;
    *dtype = (enum rt_dtype)options->quant;
    return RT_OK;
}

static int settle_cache(const struct rt_model_source *source, struct rt_step_options *options)
{
    int cache = options->cache;
    if (cache == RT_DTYPE_NOT_GIVEN && rt_runtimes[options->graph.runtime].served)
        options->graph.kv_bits = source->model.kv_bits;
    if (cache == RT_DTYPE_NOT_GIVEN || cache == RT_DTYPE_NONE || is_half((enum rt_dtype)cache))
        return RT_OK;
    if (cache != RT_FP8 && cache != RT_INT8)
        return rt_fail(RT_EUSAGE, "--kv-cache %s: servers keep keys and values in bf16, fp16, fp8 or int8",
                       rt_dtypes[cache].name);
    if (!rt_runtimes[options->graph.runtime].served)
        return rt_fail(RT_EUSAGE, "--kv-cache %s is for --runtime serving", rt_dtypes[cache].name);
    options->graph.kv_bits = 8;
    return RT_OK;
}

/* Lists say what the step is: lengths prefill, contexts decode, both are one mixed step. */
static int settle_lists(const struct rt_command_line *line, const char *const *alike,
                        struct rt_step_options *options)
{
    const char *other = rt_given_of(line, alike);
    int status = RT_OK;
    if (options->lengths == NULL && options->contexts == NULL)
        return RT_OK;
    if (other != NULL)
        return rt_fail(RT_EUSAGE, "--%s is for sequences that are alike; --lengths and --contexts say it all",
                       other);
    if (options->lengths != NULL)
        status = rt_sequences_read("--lengths", options->lengths, false, &options->list);
    if (status == RT_OK && options->contexts != NULL)
        status = rt_sequences_read("--contexts", options->contexts, true, &options->list);
    if (status != RT_OK)
        return status;
    rt_sequences_set(&options->list, &options->graph);
    options->graph.step = options->lengths == NULL ? RT_STEP_DECODE : RT_STEP_PREFILL;
    return RT_OK;
}

/* Sequences are of language models, images of models of images, seconds of those that read sound. */
static int settle_kind(const struct rt_command_line *line, const struct rt_model_source *source)
{
    static const char *const tokens[] = {"seq", "context", "lengths", "contexts", "quant", "kv-cache", NULL};
    static const char *const images[] = {"image", "layout", NULL};
    const struct rt_model *model = &source->model;
    bool of_images = rt_model_image(model) > 0, text = rt_model_reads_text(model);
    const char *given = text && of_images ? NULL : rt_given_of(line, text ? images : tokens); /* CLIP: both */
    if (rt_given(line, "seconds") && !(rt_model_seconds(model) > 0))
        return rt_fail(RT_EUSAGE, "%s hears nothing, so --seconds is not for it; --%s is its size",
                       model->name, of_images ? "image" : "seq");
    if (given == NULL && !text && !of_images)
        given = rt_given_of(line, images);
    if (given == NULL)
        return RT_OK;
    if (!text && !of_images)
        return rt_fail(RT_EUSAGE, "%s is a model of sound, which --%s is not for; --seconds is its length",
                       model->name, given);
    return of_images
               ? rt_fail(RT_EUSAGE, "%s is a model of images, which --%s is not for; --image is their side",
                         model->name, given)
               : rt_fail(RT_EUSAGE,
                         "%s is a language model, which --%s is not for; --seq is the length of "
                         "sequences",
                         model->name, given);
}

/* What was traced is what it is; an ONNX model says which operators run, and not what runs them. */
static int settle_traced(const struct rt_command_line *line, const struct rt_model_source *source,
                         struct rt_graph_options *graph)
{
    static const char *const served[] = {"lengths",      "contexts", "quant",   "kv-cache", "ep",
                                         "attention-dp", "image",    "seconds", NULL};
    static const char *const runs[] = {"runtime", "layout", "autocast", NULL};
    const char *given = rt_given_of(line, served);
    bool onnx = rt_model_is_onnx(source->spec);
    if (given == NULL && !onnx)
        given = rt_given_of(line, runs);
    if (given != NULL)
        return rt_fail(RT_EUSAGE, "an %s is forecast as it is, so --%s does not apply",
                       source->importer->what, given);
    if (onnx && rt_runtimes[graph->runtime].served)
        return rt_fail(RT_EUSAGE,
                       "--runtime %s: LLM servers read checkpoints, not ONNX models; give the model's "
                       "config.json, or another runtime",
                       rt_runtimes[graph->runtime].name);
    if (onnx && !rt_given(line, "runtime"))
        graph->runtime = RT_RUNTIME_EAGER;
    return RT_OK;
}

int rt_step_options_settle(const struct rt_command_line *line, const struct rt_model_source *source,
                           const char *const *alike, struct rt_step_options *options)
{
    struct rt_graph_options *graph = &options->graph;
    bool traced = rt_model_source_traced(source);
    if (traced && settle_traced(line, source, graph) != RT_OK)
        return RT_EUSAGE;
    if (graph->recompute != RT_RECOMPUTE_NONE && graph->step != RT_STEP_TRAINING)
        return rt_fail(RT_EUSAGE, "--recompute is for --mode training");
    int status = traced ? RT_OK : settle_kind(line, source);
    if (status == RT_OK)
        status = settle_lists(line, alike, options);
    if (status == RT_OK)
        status = settle_dtype(line, source, options);
    if (status != RT_OK || traced)
        return status;
    if (!rt_given(line, "runtime"))
        graph->runtime = graph->groups != NULL
                             ? RT_RUNTIME_SERVING
                             : rt_model_default_runtime(&source->model, graph->step, graph->dtype);
    return settle_cache(source, options);
}

void rt_step_options_release(struct rt_step_options *options)
{
    rt_sequences_release(&options->list);
    options->graph.groups = NULL;
    options->graph.group_count = 0;
}
