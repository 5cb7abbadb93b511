/* The table of importers. See source.h. */
#include "models/networks/source.h"
#include "base/file.h"
#include "base/status.h"
#include "models/networks/architectures/architecture.h"
#include "models/networks/config.h"
#include "models/networks/onnx/onnx.h"
#include "models/networks/opgraph/opgraph.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static bool is_csv(const char *spec)
{
    return rt_file_ends_in(spec, ".csv");
}

bool rt_model_is_onnx(const char *spec)
{
    return rt_file_ends_in(spec, ".onnx");
}

static int traced_opgraph(const struct rt_model_source *source, const struct rt_graph_options *options,
                          int64_t layers, struct rt_graph *out)
{
    return rt_graph_import_opgraph(source->spec, layers, options->dtype, out);
}

static int traced_onnx(const struct rt_model_source *source, const struct rt_graph_options *options,
                       int64_t layers, struct rt_graph *out)
{
    if (layers > 0)
        return rt_fail(RT_EUSAGE,
                       "{layers} is for operator graphs (.csv); an ONNX model has all of its layers");
    struct rt_onnx_given given = {0};
    if (source->onnx != NULL)
        given = *source->onnx;
    given.batch = source->batch_asked ? options->batch : 0;
    given.sequence = source->sequence_asked ? options->sequence : 0;
    given.no_patterns = source->no_patterns;
    given.quiet = source->quiet;
    return rt_graph_import_onnx(source->spec, &given, options, out);
}

static bool is_any(const char *spec)
{
    return spec != NULL;
}

/* The first that recognises a spec imports it. */
static const struct rt_graph_importer importers[] = {
    {.what = "operator graph", .recognises = is_csv, .traced = traced_opgraph},
    {.what = "ONNX model", .recognises = rt_model_is_onnx, .traced = traced_onnx},
    {.what = "config.json", .recognises = is_any, .model = rt_model_find}, /* or a name of the zoo */
};

int rt_model_source_find(const char *spec, struct rt_model_source *out)
{
    return rt_model_source_find_as(spec, NULL, out);
}

int rt_model_source_named(const char *name, struct rt_model_source *out)
{
    *out = (struct rt_model_source){.importer = &importers[RT_COUNT(importers) - 1], .spec = name};
    return rt_model_named(name, &out->model);
}

int rt_model_source_find_as(const char *spec, const char *type, struct rt_model_source *out)
{
    struct rt_model_source source = {.importer = importers, .spec = spec, .model.defaulted = ""};
    while (!source.importer->recognises(spec))
        source.importer++;
    int status;
    if (type != NULL && rt_model_source_traced(&source))
        return rt_fail(RT_EUSAGE, "{as} is for a config.json; %s is an operator graph", spec);
    if (type != NULL)
        status = rt_model_load_as(spec, type, &source.model);
    else
        status = rt_model_source_traced(&source) ? RT_OK : source.importer->model(spec, &source.model);
    if (status != RT_OK)
        return rt_fail_remedy(status, "`rooftile graph --list` lists the models that have a name");
    if (source.model.defaulted[0] != '\0')
        rt_warn("%s does not give all sizes of the model; as transformers does, this takes %s", spec,
                source.model.defaulted);
    if (source.model.unread[0] != '\0')
        rt_warn("%s: of %s these keys are not read, and may change the graph: %s", spec,
                source.model.architecture->model_type, source.model.unread);
    if (source.model.part_of[0] != '\0')
        rt_warn("%s: of %s the language part alone is forecast, as %s%s", spec, source.model.part_of,
                source.model.architecture->model_type,
                source.model.vision_tower.hidden > 0
                    ? ", but where prompts have images its tower of images, too"
                    : "");
    if (source.model.layered.predicting > 0 && source.model.layered.kind_count > 0)
        rt_warn("%s: its layers for predicting further tokens (%" PRId64 ") are left out of memory and time",
                spec, source.model.layered.predicting);
    *out = source;
    return RT_OK;
}

void rt_model_reads(const char *spec, struct rt_names *paths)
{
    const char *changes = access(spec, F_OK) == 0 ? NULL : rt_config_changes(spec);
    size_t length = changes != NULL ? (size_t)(changes - spec) : strlen(spec);
    rt_names_add(paths, rt_format("%.*s", (int)length, spec));
    if (rt_model_is_onnx(spec))
        rt_onnx_data_files(spec, paths);
}

int rt_model_source_dtype(const struct rt_model_source *source, enum rt_dtype *dtype)
{
    return rt_model_source_traced(source) ? RT_OK : rt_model_dtype(&source->model, dtype);
}

int rt_model_source_graph(const struct rt_model_source *source, const struct rt_graph_options *options,
                          int64_t layers, struct rt_graph *out)
{
    if (!rt_model_source_traced(source)) {
        if (layers > 0)
            return rt_fail(RT_EUSAGE,
                           "{layers} is for operator graphs (.csv); a config.json says how many it has");
        return rt_graph_build(&source->model, options, out);
    }
    if (rt_dtype_is_narrow(options->dtype))
        return rt_fail(RT_EUSAGE,
                       "{dtype} %s is for the products of a model's layers; all kernels of an %s are of "
                       "one dtype, so give fp32, tf32, fp16 or bf16",
                       rt_dtypes[options->dtype].name, source->importer->what);
    int status = source->importer->traced(source, options, layers, out);
    if (status == RT_OK && options->fusion && !out->options.fusion) {
        out->options.fusion = true;
        rt_graph_fuse(out);
    }
    return status;
}
