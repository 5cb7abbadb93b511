/*
 * The source of a model: a name of the zoo, a config.json, an operator graph, an ONNX model. Each importer
 * recognises a kind of file; the first that does imports it. Some files hold a model's sizes, of which graphs
 * of any step are built; others hold a graph that was traced, of one step and size. An importer is a folder
 * here and a row in source.c.
 */
#pragma once

#include "models/networks/onnx/onnx.h"
#include "models/networks/model.h"

struct rt_model_source;
struct rt_graph_importer {
    const char *what; /* "operator graph" */
    bool (*recognises)(const char *spec);
    /* One of the two; the other is NULL. `layers` < 1: of the model in the file's name. */
    int (*model)(const char *spec, struct rt_model *out);
    int (*traced)(const struct rt_model_source *source, const struct rt_graph_options *options,
                  int64_t layers, struct rt_graph *out);
};

struct rt_model_source {
    const struct rt_graph_importer *importer;
    const char *spec;      /* borrowed */
    struct rt_model model; /* of importer->model */
    /* Of ONNX models, set by who has found the source: */
    const struct rt_onnx_given *onnx; /* borrowed; NULL: nothing is given */
    bool no_patterns;                 /* what stands in the file counts, operator by operator */
    bool batch_asked, sequence_asked; /* those of a graph's options are what somebody wants */
    bool quiet;                       /* what there is to warn of was said before */
};
int rt_model_source_find(const char *spec, struct rt_model_source *out); /* warns of sizes that are missing */
/* By name and nothing else: for names that come out of files. */
int rt_model_source_named(const char *name, struct rt_model_source *out);
/* The config.json `spec` as one of model_type `type`; NULL: as it is. */
int rt_model_source_find_as(const char *spec, const char *type, struct rt_model_source *out);

/* For .reads (base/outputs.h): the file that a spec with changes of its keys, "config.json,n_layer=24",
 * names; of an ONNX model also the files that hold its weights. */
void rt_model_reads(const char *spec, struct rt_names *paths);

/* The dtype of a step that was asked for without one: rt_model_dtype of sizes, else as it is. */
int rt_model_source_dtype(const struct rt_model_source *source, enum rt_dtype *dtype);

/* Is it an ONNX model (onnx/onnx.h), by its name? */
bool rt_model_is_onnx(const char *spec);

static inline bool rt_model_source_traced(const struct rt_model_source *source)
{
    return source->importer->traced != NULL;
}

/* Are its graphs of any batch and sequence? ONNX models' are by names of dims. */
static inline bool rt_model_source_sized(const struct rt_model_source *source)
{
    return !rt_model_source_traced(source) || rt_model_is_onnx(source->spec);
}

/* RT_EUSAGE where `layers` (0: not given) or the options do not fit. Of what was traced, only dtype and
 * fusion matter; layers are for that alone. */
int rt_model_source_graph(const struct rt_model_source *source, const struct rt_graph_options *options,
                          int64_t layers, struct rt_graph *out);
