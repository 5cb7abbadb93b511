/* Attention as LLM servers run it: one kernel for the sequences that prefill and one for those that decode.
 * See served.h. */
#include "models/networks/architectures/served.h"

/* Attention to chunks: whole chunks of a prefill are sequences of their own; a decoding token sees its
 * chunk's. */
static struct rt_sequences within_chunks(struct rt_sequences group, int64_t chunk)
{
    if (chunk <= 0 || group.cached + group.tokens <= chunk)
        return group;
    if (group.tokens == 1)
        return (struct rt_sequences){group.count, 1, group.cached % chunk};
    int64_t parts = (group.tokens + chunk - 1) / chunk;
    return (struct rt_sequences){group.count * parts, (group.tokens + parts - 1) / parts, 0};
}

static uint32_t attention_kernel(const struct rt_served *step, uint32_t x, struct rt_sequences group,
                                 bool decode)
{
    const struct rt_shape *s = &step->stack->shape;
    int64_t head_dim = (s->head_dim + s->value_dim) / 2; /* as many FLOPs and bytes where they differ */
    group = within_chunks(group, step->stack->chunk);
    const int64_t dim[] = {
        group.count, group.tokens, group.cached,        s->heads,
        s->kv_heads, head_dim,     step->stack->window, step->stack->graph->options.kv_bits};
    return rt_build_fused_attention(step->stack->graph, decode ? "attn.decode" : "attn.prefill", x,
                                    RT_NO_INPUT, RT_NO_INPUT,
                                    decode ? RT_OP_ATTENTION_GENERATION : RT_OP_ATTENTION_CONTEXT, dim,
                                    (double)group.count * group.tokens * s->heads * s->value_dim);
}

/* Qwen3: every head of queries and of keys has a norm. */
static uint32_t norm_heads(const struct rt_served *step, uint32_t x)
{
    const struct rt_shape *s = &step->stack->shape;
    struct rt_graph *graph = step->stack->graph;
    enum rt_qk_norm kind = (enum rt_qk_norm)step->stack->model->qk_norm;
    bool own = kind == RT_QK_NORM_WHOLE || kind == RT_QK_NORM_EACH; /* weights of every head */
    if (kind == RT_QK_NORM_NONE)
        return x;
    for (int i = 0; i < (rt_served_does(step, RT_DOES_REUSE) ? 1 : 2); i++) {
        int64_t heads = i == 0 ? s->heads : s->kv_heads, whole = kind == RT_QK_NORM_WHOLE ? heads : 1;
        x = rt_served_vector(graph, i == 0 ? "attn.q_norm" : "attn.k_norm", RT_OP_RMSNORM, x, RT_NO_INPUT,
                             s->rows * heads / whole, s->head_dim * whole);
        graph->nodes[x].parameters = kind == RT_QK_NORM_BARE ? 0
                                     : kind == RT_QK_NORM_LAYER
                                         ? 2 * (double)s->head_dim
                                         : (double)s->head_dim * (own ? (double)heads : 1);
    }
    return x;
}

/* Of MiniMax-M3: norms and rotary embedding of all heads, the indexer's `index` columns too, and what goes
 * into both caches, are one kernel of vLLM (fused_minimax_m3_qknorm_rope_kv_insert) and SGLang. */
static uint32_t norm_with_index(const struct rt_served *step, uint32_t x, int64_t index)
{
    const struct rt_shape *s = &step->stack->shape;
    int64_t dim = step->stack->model->index.dim;
    double width = rt_dtypes[step->stack->graph->options.dtype].bytes;
    x = rt_served_vector(step->stack->graph, "attn.norm_rotary_cache", RT_OP_RMSNORM, x, RT_NO_INPUT,
                         s->rows * (s->heads + s->kv_heads), s->head_dim);
    double values = rt_served_kept(step, s->kv_heads * s->value_dim, 1);
    rt_served_kept(step, s->kv_heads * s->head_dim + dim, 1); /* which their norms write */
    rt_served_fuse(step->stack->graph, x, 2 * (double)(s->head_dim + dim),
                   values + 2 * width * (double)s->rows * (double)index);
    return x;
}

static uint32_t attend(const struct rt_served *step, uint32_t x)
{
    struct rt_served inner = *step;
    const struct rt_model *model = step->stack->model;
    bool chooses = model->index.heads > 0 && rt_served_does(step, RT_DOES_INDEX);
    inner.mix = chooses ? rt_served_chosen : attention_kernel;
    x = rt_served_mix(&inner, x);
    if (model->sinks || (model->windowed.sinks && rt_served_does(step, RT_DOES_WINDOW)))
        step->stack->graph->nodes[x].parameters += (double)step->stack->shape.heads;
    return x;
}

/* Columns of sigmoids that weigh what attention puts out (Qwen3.5, Step-3.7). */
static int64_t gate_columns(const struct rt_stack *stack)
{
    const struct rt_shape *s = &stack->shape;
    return stack->model->gate.elements ? s->heads * s->value_dim : stack->model->gate.heads ? s->heads : 0;
}

uint32_t rt_served_attention(struct rt_served *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    graph->part = RT_PART_ATTENTION;
    if (model->latent.kv_rank > 0)
        return rt_served_latent(step, x);
    if (model->output.groups > 0)
        return rt_served_compressed(step, x);
    int64_t wide = s->heads * s->head_dim, keys = s->kv_heads * s->head_dim,
            values = s->kv_heads * s->value_dim, out = s->heads * s->value_dim, gates = gate_columns(stack);
    int64_t width = rt_served_does(step, RT_DOES_SHARED) ? 2 * model->hidden : model->hidden;
    int64_t made = model->keys_are_values && stack->window == 0 ? 0 : values;
    int64_t index = rt_served_index_columns(step);
    bool reuses = rt_served_does(step, RT_DOES_REUSE);
    x = rt_build_linear(graph, "attn.qkv", x, s->rows, width,
                        wide + (reuses ? 0 : keys + made) + gates + index, model->bias.qkv);
    if (index > 0) {
        x = norm_with_index(step, x, index);
    } else {
        x = norm_heads(step, x);
        if (stack->rotary_dim > 0)
            x = rt_served_vector(graph, "attn.rotary", RT_OP_ROTARY, x, RT_NO_INPUT, s->rows,
                                 (s->heads + (reuses ? 0 : s->kv_heads)) * stack->rotary_dim);
        if (!reuses)
            x = rt_served_cache(step, "attn.write_cache", x, keys + values);
        if (rt_served_does(step, RT_DOES_INDEX))
            x = rt_served_index(step, x, model->hidden);
    }
    x = attend(step, x);
    if (gates > 0)
        x = rt_served_vector(graph, "attn.gate", RT_OP_SILU_MUL, x, RT_NO_INPUT, s->rows, out);
    x = rt_served_sub_norm(stack, "attn.sub_norm", x, out);
    x = rt_build_linear(graph, "attn.o", x, s->rows, out, model->hidden, model->bias.out);
    return rt_served_sum(step, "attn.all_reduce", x);
}
