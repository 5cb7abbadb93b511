/* Latent attention: queries, keys and values of a few columns (vLLM, deepseek_v2.py). A prefill makes keys
 * and values of all heads. Sequences that decode, beside prefills too, attend to the latent columns
 * themselves: their products with the weights of keys and values move to the queries and to what comes out.
 * Attention to what an indexer chose (DeepSeek-V3.2) does so in prefills, too. See served.h. */
#include "models/networks/architectures/served.h"

/* Rows of one kind of sequences, in a step that may have both. */
struct part {
    int64_t rows;
    bool decode;
    bool weights; /* the first of the products with these weights, which counts them */
};

static uint32_t latent_down(const struct rt_served *step, uint32_t x)
{
    const struct rt_model *model = step->stack->model;
    struct rt_graph *graph = step->stack->graph;
    int64_t rows = step->stack->shape.rows, kv = model->latent.kv_rank + model->latent.rope_dim;
    x = rt_build_linear(graph, "attn.down", x, rows, model->hidden, model->latent.q_rank + kv,
                        model->bias.qkv);
    if (model->latent.q_rank == 0)
        return rt_served_rmsnorm(graph, "attn.kv_norm", x, rows, model->latent.kv_rank);
    return rt_served_norm_pair(graph, x, rows, model->latent.q_rank, model->latent.kv_rank);
}

/* A product of every head with its part of the weights of keys and values. */
static uint32_t absorbed(const struct rt_served *step, const struct part *part, const char *name, uint32_t x,
                         int64_t in, int64_t out)
{
    const struct rt_shape *s = &step->stack->shape;
    struct rt_graph *graph = step->stack->graph;
    x = rt_build_bmm(graph, name, x, RT_NO_INPUT, s->heads, part->rows, in, out);
    graph->nodes[x].parameters = part->weights ? (double)s->heads * in * out : 0;
    graph->nodes[x].role = part->decode ? RT_NODE_DECODES : RT_NODE_CHUNKS;
    return x;
}

/* One key for all heads, whose first columns are the values: each is read once. */
static uint32_t latent_kernel(const struct rt_served *step, uint32_t x, struct rt_sequences group,
                              bool decode)
{
    const struct rt_model *model = step->stack->model;
    int64_t heads = step->stack->shape.heads, kv_rank = model->latent.kv_rank;
    const int64_t dim[] = {group.count,
                           group.tokens,
                           group.cached,
                           heads,
                           kv_rank,
                           model->latent.rope_dim,
                           step->stack->graph->options.kv_bits};
    return rt_served_kernel(step, decode ? "attn.decode" : "attn.prefill", RT_OP_MLA_GENERATION, x, dim,
                            (double)group.count * group.tokens * heads * kv_rank, decode);
}

/* Attention to the latent columns, of the rows of a part. */
static uint32_t attend_absorbed(const struct rt_served *step, const struct part *part, uint32_t x)
{
    const struct rt_model *model = step->stack->model;
    struct rt_stack latent = *step->stack;
    struct rt_served inner = *step;
    latent.shape.kv_heads = 1;
    latent.shape.head_dim = model->latent.kv_rank + model->latent.rope_dim;
    latent.shape.value_dim = model->latent.kv_rank;
    inner.stack = &latent;
    inner.mix = model->index.heads > 0 ? rt_served_chosen : latent_kernel;
    x = absorbed(step, part, "attn.absorb_k", x, model->latent.nope_dim, model->latent.kv_rank);
    x = part->decode ? rt_served_decodes(&inner, x) : rt_served_prefills(&inner, x);
    return absorbed(step, part, "attn.absorb_v", x, model->latent.kv_rank, step->stack->shape.value_dim);
}

/* The kernel of a prefill that made keys and values of all heads. */
static uint32_t prefill_kernel(const struct rt_served *step, uint32_t x, struct rt_sequences group,
                               bool decode)
{
    const struct rt_shape *s = &step->stack->shape;
    const int64_t dim[] = {group.count,
                           group.tokens,
                           group.cached,
                           s->heads,
                           s->head_dim,
                           s->value_dim,
                           step->stack->graph->options.kv_bits};
    return rt_served_kernel(step, "attn.prefill", RT_OP_MLA_CONTEXT, x, dim,
                            (double)group.count * group.tokens * s->heads * s->value_dim, decode);
}

static uint32_t attend_made(const struct rt_served *step, int64_t rows, uint32_t x)
{
    const struct rt_model *model = step->stack->model;
    const struct rt_shape *s = &step->stack->shape;
    struct rt_served inner = *step;
    inner.mix = prefill_kernel;
    x = rt_build_linear(step->stack->graph, "attn.kv", x, rows, model->latent.kv_rank,
                        s->heads * (model->latent.nope_dim + s->value_dim), false);
    step->stack->graph->nodes[x].role = RT_NODE_CHUNKS;
    return rt_served_prefills(&inner, x);
}

/* `decoded`: what sequences that decode beside prefills put out; x: there are none. */
static uint32_t attend(const struct rt_served *step, uint32_t x, uint32_t *decoded)
{
    int64_t decodes = rt_served_decoding_rows(step), prefills = step->stack->shape.rows - decodes;
    bool chosen = step->stack->model->index.heads > 0;
    const struct part decoding = {decodes, true, prefills == 0 || chosen},
                      prefilling = {prefills, false, decodes == 0};
    *decoded = decodes > 0 ? attend_absorbed(step, &decoding, x) : x;
    if (prefills == 0)
        return *decoded;
    return chosen ? attend_absorbed(step, &prefilling, x) : attend_made(step, prefills, x);
}

uint32_t rt_served_latent(struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t wide = s->heads * s->head_dim, values = s->heads * s->value_dim;
    uint32_t in = x;
    if (model->latent.q_rank > 0) {
        x = latent_down(step, x);
        x = rt_build_linear(graph, "attn.q", x, s->rows, model->latent.q_rank, wide, false);
    } else {
        uint32_t q = rt_build_linear(graph, "attn.q", x, s->rows, model->hidden, wide, false);
        x = latent_down(step, x);
        rt_graph_add_input(graph, q);
    }
    if (stack->rotary_dim > 0)
        x = rt_served_vector(graph, "attn.rotary", RT_OP_ROTARY, x, RT_NO_INPUT, s->rows,
                             (s->heads + 1) * model->latent.rope_dim);
    x = rt_served_cache(step, "attn.write_cache", x, model->latent.kv_rank + model->latent.rope_dim);
    if (rt_served_does(step, RT_DOES_INDEX))
        x = rt_served_index(step, x, model->latent.q_rank);
    uint32_t decoded, cached = x;
    uint32_t attended = x = attend(step, x, &decoded);
    if (model->gate.elements) {
        uint32_t gate = rt_build_linear(graph, "attn.gate", in, s->rows, model->hidden, values, false);
        x = rt_served_vector(graph, "attn.weigh", RT_OP_SILU_MUL, x, gate, s->rows, values);
    }
    x = rt_build_linear(graph, "attn.o", x, s->rows, values, model->hidden, model->bias.out);
    if (decoded != cached && decoded != attended)
        rt_graph_add_input(graph, decoded);
    return rt_served_sum(step, "attn.all_reduce", x);
}
