/*
 * Attention to tokens that an indexer chose, as LLM servers run it. Scores of a few narrow heads rank all
 * past tokens, or blocks of them, and the best are attended to (DeepSeek-V3.2, arXiv 2512.02556; MiniMax-M3:
 * transformers, modeling_minimax_m3_vl.py). DeepSeek-V4 keeps an entry of keys for several tokens, which a
 * small product pools, beside a window of the last ones; entries of 4 tokens are chosen, those of 128 are all
 * attended to (modeling_deepseek_v4.py, DeepseekV4CSACompressor and DeepseekV4HCACompressor). See served.h.
 */
#include "models/networks/architectures/served.h"
#include "models/networks/build_node.h"

enum { INDEX_SCALE_BYTES = 4, STATE_BYTES = 4, INDEX_BITS = 8 };

static int64_t at_most(int64_t value, int64_t most)
{
    return value < most ? value : most;
}

/* Tokens that an entry of keys stands for. */
static int64_t ratio_of(const struct rt_served *step)
{
    return step->kind != NULL ? rt_at_least_one(step->kind->ratio) : 1;
}

/* Indexers of latent queries are whole on every GPU (vLLM, deepseek_v2.py, Indexer); MiniMax's heads go with
 * those of keys, in their product and with their norms (vLLM, minimax_m3/nvidia/model.py). */
static int64_t index_heads(const struct rt_served *step)
{
    const struct rt_model *model = step->stack->model;
    int64_t parts = step->stack->graph->options.tensor_parallel;
    return model->index.own ? rt_build_shard(model->index.heads, parts) : model->index.heads;
}

/* --- the indexer --- */

/* Keys in 8 bits with a scale; those that are pooled go with the pooling. */
static uint32_t cache_index(const struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    int64_t dim = stack->model->index.dim, ratio = ratio_of(step);
    rt_served_keep_tokens(step, (double)(dim + INDEX_SCALE_BYTES) / (double)ratio);
    if (ratio > 1)
        return x;
    const int64_t quantised[] = {stack->shape.rows, dim, INDEX_BITS};
    uint32_t node =
        rt_node_add(stack->graph, "index.write_cache", x, RT_NO_INPUT, (double)quantised[0] * (double)dim);
    rt_graph_add_kernel(stack->graph, RT_FORWARD, RT_OP_QUANTISE, quantised);
    return node;
}

/* A product of the indexer or of the pools, which servers leave in 16 bits. */
static uint32_t wide_product(const struct rt_served *step, const char *name, uint32_t x, int64_t columns)
{
    const struct rt_stack *stack = step->stack;
    struct rt_graph *graph = stack->graph;
    x = rt_build_linear(graph, name, x, stack->shape.rows, stack->model->hidden, columns, false);
    rt_graph_set_dtype(&graph->kernels[graph->nodes[x].kernel], graph->options.dtype);
    return x;
}

/* Values and their weights, of two overlapping windows where entries are chosen, of one where not. */
static int64_t windows_of(const struct rt_served *step)
{
    return rt_served_does(step, RT_DOES_INDEX) ? 2 : 1;
}

/* What both pools are made of, and the weights of the indexer's heads: products of the same rows that run
 * side by side (vLLM, deepseek_v4/attention.py), as one. */
static uint32_t pool_inputs(const struct rt_served *step, uint32_t x)
{
    const struct rt_model *model = step->stack->model;
    int64_t widths = step->stack->shape.head_dim, weights = 0;
    if (rt_served_does(step, RT_DOES_INDEX)) {
        widths += model->index.dim;
        weights = index_heads(step);
    }
    return wide_product(step, "compress.kv", x, 2 * windows_of(step) * widths + weights);
}

/* A pooled entry for `ratio` tokens; a bias for each place in the window. What is not yet pooled is kept in
 * fp32. */
static uint32_t pool(const struct rt_served *step, const char *name, uint32_t x, int64_t width)
{
    const struct rt_stack *stack = step->stack;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, ratio = ratio_of(step), wide = windows_of(step) * width;
    x = rt_served_rmsnorm(graph, name, x, rows, wide);
    double bytes = rt_dtypes[graph->options.dtype].bytes;
    graph->nodes[x].parameters = (double)ratio * (double)wide + (double)width;
    graph->kernels[graph->nodes[x].kernel].bytes =
        bytes * (double)rows * (2 * (double)wide + (double)width / (double)ratio);
    rt_served_keep_states(step, STATE_BYTES * 2.0 * (double)wide * (double)(windows_of(step) * ratio));
    return x;
}

int64_t rt_served_index_columns(const struct rt_served *step)
{
    const struct rt_model *model = step->stack->model;
    bool chooses = model->index.own && rt_served_does(step, RT_DOES_INDEX);
    return chooses ? (index_heads(step) + 1) * model->index.dim : 0;
}

/* Queries, keys and weights of the indexer's heads, where they are no columns of attention's own product. */
uint32_t rt_served_index(const struct rt_served *step, uint32_t x, int64_t width)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, heads = index_heads(step), dim = model->index.dim;
    int64_t queries = heads * dim;
    if (ratio_of(step) > 1) {
        x = pool(step, "index.pool", x, dim);
        x = rt_build_linear(graph, "index.q", x, rows, width, queries, false);
    } else {
        x = rt_build_linear(graph, "index.q", x, rows, width, queries, false);
        x = wide_product(step, "index.k_weights", x, dim + heads);
        x = rt_build_layernorm(graph, "index.k_norm", x, rows, dim);
    }
    x = rt_served_vector(graph, "index.rotary", RT_OP_ROTARY, x, RT_NO_INPUT, rows,
                         (heads + 1) * at_most(dim, stack->rotary_dim > 0 ? stack->rotary_dim : dim));
    return cache_index(step, x);
}

/* Scores of all entries, and the best of them. */
static uint32_t choose(const struct rt_served *step, uint32_t x, struct rt_sequences group, bool decode)
{
    const struct rt_model *model = step->stack->model;
    int64_t ratio = ratio_of(step), rows = group.count * group.tokens, heads = index_heads(step);
    int64_t entries = rt_build_shard(group.cached + group.tokens, ratio * model->index.block);
    int64_t bits = model->index.own ? step->stack->graph->options.kv_bits : INDEX_BITS;
    const int64_t scores[] = {group.count, group.tokens, group.cached, heads, model->index.dim, ratio, bits};
    const int64_t best[] = {rows * (model->index.own ? heads : 1), entries,
                            at_most(model->index.topk, entries),
                            (group.tokens - 1) / (ratio * model->index.block)};
    x = rt_served_kernel(step, "index.scores", RT_OP_INDEX_LOGITS, x, scores,
                         (double)rows * (double)(group.cached + group.tokens) / (double)ratio, decode);
    return rt_served_kernel(step, "index.top_k", RT_OP_TOP_K, x, best, (double)best[0] * (double)best[2],
                            decode);
}

/* --- attention --- */

uint32_t rt_served_chosen(const struct rt_served *step, uint32_t x, struct rt_sequences group, bool decode)
{
    const struct rt_model *model = step->stack->model;
    const struct rt_shape *s = &step->stack->shape;
    bool latent = model->latent.kv_rank > 0 || model->output.groups > 0;
    bool compressed = step->kind != NULL && step->kind->ratio > 1;
    bool alone = model->layered.ratios.count > 0 && !compressed; /* a window and nothing else */
    if (rt_served_does(step, RT_DOES_INDEX))
        x = choose(step, x, group, decode);
    int64_t chosen = model->index.topk * model->index.block;
    if (alone)
        chosen = model->reach.window;
    else if (compressed && !rt_served_does(step, RT_DOES_INDEX))
        chosen = 0;
    const int64_t dim[] = {group.count,    group.tokens,
                           group.cached,   s->heads,
                           s->kv_heads,    s->head_dim,
                           s->value_dim,   chosen,
                           ratio_of(step), compressed ? model->reach.window : 0,
                           latent,         step->stack->graph->options.kv_bits};
    return rt_served_kernel(step, decode ? "attn.decode" : "attn.prefill", RT_OP_SPARSE_ATTENTION, x, dim,
                            (double)group.count * group.tokens * s->heads * s->value_dim, decode);
}

/* DeepSeek-V4: one key for all heads, which is the value, too; its rotary columns are turned back in what
 * comes out, which two products make narrower, the first of groups of heads. */
uint32_t rt_served_compressed(struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t rows = s->rows, q_rank = model->latent.q_rank, wide = s->heads * s->head_dim, in = x;
    int64_t turned = at_most(model->latent.rope_dim, s->head_dim);
    int64_t groups = rt_build_shard(model->output.groups, graph->options.tensor_parallel);
    x = rt_build_linear(graph, "attn.down", x, rows, model->hidden, q_rank + s->head_dim, false);
    x = rt_served_norm_pair(graph, x, rows, q_rank, s->head_dim);
    x = rt_build_linear(graph, "attn.q", x, rows, q_rank, wide, false);
    x = rt_served_vector(graph, "attn.norm_rotary_cache", RT_OP_RMSNORM, x, RT_NO_INPUT, rows * s->heads,
                         s->head_dim);
    rt_served_fuse(graph, x, 0, rt_served_kept(step, s->head_dim, 1));
    if (step->kind->ratio > 1) {
        x = pool(step, "compress.pool", pool_inputs(step, (uint32_t)in), s->head_dim);
        rt_served_fuse(graph, x, 0, rt_served_kept(step, s->head_dim, step->kind->ratio));
    }
    if (rt_served_does(step, RT_DOES_INDEX))
        x = rt_served_index(step, x, q_rank);
    step->mix = rt_served_chosen;
    x = rt_served_mix(step, x);
    graph->nodes[x].parameters += (double)s->heads; /* sinks */
    x = rt_served_vector(graph, "attn.turn_back", RT_OP_ROTARY, x, RT_NO_INPUT, rows, s->heads * turned);
    x = rt_build_bmm(graph, "attn.o_groups", x, RT_NO_INPUT, groups, rows, wide / groups, model->output.rank);
    graph->nodes[x].parameters = (double)wide * (double)model->output.rank;
    x = rt_build_linear(graph, "attn.o", x, rows, groups * model->output.rank, model->hidden, false);
    return rt_served_sum(step, "attn.all_reduce", x);
}
