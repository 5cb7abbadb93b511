/* Sizes that architectures share. See config.h. */
#include "models/graph/architectures/config.h"
#include "base/status.h"
#include "models/graph/build.h"

#include <inttypes.h>

int rt_config_heads(struct rt_model *model, const char *where)
{
    if (model->head_dim < 1) {
        if (model->hidden % model->heads != 0)
            return rt_fail(RT_EFORMAT,
                           "%s: %" PRId64 " heads do not divide the hidden size %" PRId64
                           "; correct either, or give \"head_dim\"",
                           where, model->heads, model->hidden);
        model->head_dim = model->hidden / model->heads;
    }
    if (model->kv_heads < 1)
        model->kv_heads = model->heads;
    if (model->heads % model->kv_heads != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: %" PRId64 " key-value heads do not divide %" PRId64 " heads; correct either",
                       where, model->kv_heads, model->heads);
    return RT_OK;
}

struct rt_shape rt_shape_of(const struct rt_model *model, const struct rt_graph_options *options)
{
    int64_t parts = options->tensor_parallel;
    bool decode = options->step == RT_STEP_DECODE;
    struct rt_shape shape = {.batch = options->batch,
                             .queries = decode ? 1 : options->sequence,
                             .keys = decode ? options->context + 1 : options->sequence,
                             .heads = model->heads / parts,
                             /* fewer key-value heads than devices: each holds a copy of one */
                             .kv_heads = model->kv_heads >= parts ? model->kv_heads / parts : 1,
                             .inner = rt_build_shard(model->inner, parts),
                             .vocab = rt_build_shard(model->vocab, parts),
                             .head_dim = model->head_dim};
    shape.rows = shape.batch * shape.queries;
    return shape;
}

uint32_t rt_build_cache(const struct rt_model *model, struct rt_graph *graph, uint32_t x)
{
    if (graph->options.step != RT_STEP_DECODE)
        return x;
    struct rt_shape s = rt_shape_of(model, &graph->options);
    double cached = 2.0 * s.batch * s.keys * s.kv_heads * s.head_dim;
    graph->cache += cached * (double)graph->blocks[graph->block_count - 1].repeat;
    return rt_build_move(graph, "attn.append_cache", RT_OP_COPY, x, 2 * s.batch * s.kv_heads,
                         s.keys * s.head_dim, 0);
}
