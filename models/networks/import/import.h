/*
 * What --model may name. Each importer recognises a kind of file; the first that does imports it. Some files
 * hold a model's sizes, of which graphs of any step are built; others hold a graph that was traced, of one
 * step and size. An importer is a file here and a row in import.c.
 */
#ifndef ROOFTILE_MODELS_NETWORKS_IMPORT_IMPORT_H
#define ROOFTILE_MODELS_NETWORKS_IMPORT_IMPORT_H

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
/* The config.json `spec` as one of model_type `type`; NULL: as it is. */
int rt_model_source_find_as(const char *spec, const char *type, struct rt_model_source *out);

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

/* --- operator graphs of NeuSight --- */

/* What the name of an operator graph holds: "gpt2_large-train-1024-16-dp4.csv". */
struct rt_opgraph_name {
    char model[64];
    enum rt_step_kind step;
    int64_t sequence, batch;                                        /* of all devices */
    int64_t data_parallel, tensor_parallel, pipeline, microbatches; /* 1: none */
    bool fusion;
};
/* False where the file (with or without folders and ".csv") has no such name. */
bool rt_opgraph_name(const char *path, struct rt_opgraph_name *out);

/*
 * NeuSight's operator graphs (ASPLOS 2025, artifact: data/.../opgraph/<model>-<inf|train>-<seq>-<batch>.csv).
 *
 * Where one layer was traced it becomes a block of `layers` repetitions (< 1: the layers of the model in the
 * file's name, or one and a warning), by the node names of the artifact's aggregator; graphs that hold every
 * layer (fused ones, Switch) become one block. Options come from the file's name; where it is not in that
 * form, from the rows, and batch and sequence from the first row's shape.
 *
 * Traffic is priced as published: every vector op of a row moves (inputs + output) / output elements for
 * each of its rows x cols, with the shapes of the row; MEM moves its shapes. MEM of single numbers (sizes
 * that the host knows) and rows without kernels are dropped; their readers read what they read.
 *
 * Files do not list weights: `parameters` are in x out + out for a Linear, 2 x cols for a layer norm, the
 * table of an embedding in training graphs; position tables and what inference graphs leave out (embeddings,
 * T5's norms) are missing. `saved` follows from the ops that need their inputs again.
 *
 * RT_EIO, or RT_EFORMAT with file, line and column.
 */
int rt_graph_import_opgraph(const char *path, int64_t layers, enum rt_dtype dtype, struct rt_graph *out);

/* --- ONNX models --- */

/* The kernels of one step of inference or training (onnx/lower.h), all of options->dtype, as options->runtime
 * runs them (no server's); batch, sequence and image are those of the first input. Where the source asks for
 * them, options->batch and options->sequence are the sizes of dims named so (rt_onnx_given), and RT_EUSAGE is
 * returned where the file has no such dim and another size. RT_EIO, or RT_EFORMAT with the file, the node and
 * what is not known of it. Warns of operators that are forecast by their bytes and of bodies that are counted
 * once. */
int rt_graph_import_onnx(const struct rt_model_source *source, const struct rt_graph_options *options,
                         struct rt_graph *out);

#endif
