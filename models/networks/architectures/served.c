/*
 * Decoders as LLM servers run them: vLLM, SGLang and TensorRT-LLM. One product for queries, keys and values
 * and one for gate and up; the norm adds the residual; rotary positions in place; keys and values are written
 * into pages; attention over them in one kernel for the sequences that prefill and one for those that decode;
 * experts in one fused op; the head for the last token of each sequence, then a token is sampled. Sources:
 * vLLM, vllm/model_executor/models/{llama,qwen3,mixtral,qwen3_moe,gpt2,opt}.py, and
 * layers/{layernorm,activation}.py beside.
 */
#include "datasets/moe_routing.h"
#include "models/networks/architectures/parts.h"
#include "models/networks/architectures/stack.h"
#include "models/networks/build_node.h"

#include <math.h>

/* Experts get uneven loads: the milder of the two power laws that AIConfigurator measures beside even loads,
 * in hundredths of its exponent (moe_routing.h). */
#define SKEW 101

/* The step on one of the GPUs. */
struct step {
    const struct rt_stack *stack;
    int64_t sequences;       /* whose last tokens the head scores */
    int64_t gpus;            /* that share the experts: tensor parallel x attention data parallel */
    struct rt_sequences one; /* the group of a step of equal sequences */
};

static int64_t at_least_one(int64_t value)
{
    return value > 1 ? value : 1;
}

/* --- single kernels --- */

static uint32_t vector_node(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x,
                            uint32_t y, int64_t rows, int64_t cols)
{
    uint32_t node = rt_node_add(graph, name, x, y, (double)rows * cols);
    rt_node_add_kernel(graph, RT_FORWARD, op, rows, cols);
    return node;
}

/* Without a residual */
static uint32_t plain_norm(const struct rt_stack *stack, const char *name, uint32_t x)
{
    enum rt_norm_kind kind = stack->row->norm;
    int64_t rows = stack->shape.rows, h = stack->model->hidden;
    bool rms = kind == RT_NORM_RMS || kind == RT_NORM_RMS_ONE;
    x = rms ? vector_node(stack->graph, name, RT_OP_RMSNORM, x, RT_NO_INPUT, rows, h)
            : rt_build_layernorm(stack->graph, name, x, rows, h);
    if (kind != RT_NORM_LAYER && kind != RT_NORM_LAYER_ONE)
        stack->graph->nodes[x].parameters = kind == RT_NORM_LAYER_BARE ? 0 : (double)h;
    return x;
}

/* norm(x + residual); the first layer's has no residual yet, which a server spares itself once a step. */
static uint32_t norm(const struct step *step, const char *name, uint32_t x, int64_t rows)
{
    const struct rt_stack *stack = step->stack;
    int64_t h = stack->model->hidden;
    uint32_t node;
    if (stack->row->norm == RT_NORM_RMS || stack->row->norm == RT_NORM_RMS_ONE) {
        node = vector_node(stack->graph, name, RT_OP_RESIDUAL_RMSNORM, x, RT_NO_INPUT, rows, h);
        stack->graph->nodes[node].parameters = (double)h;
        return node;
    }
    x = vector_node(stack->graph, "residual", RT_OP_ADD, x, RT_NO_INPUT, rows, h);
    return plain_norm(stack, name, x);
}

/* --- attention --- */

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

static uint32_t attention_kernel(const struct step *step, uint32_t x, enum rt_op_id op,
                                 struct rt_sequences group)
{
    const struct rt_shape *s = &step->stack->shape;
    int64_t head_dim = (s->head_dim + s->value_dim) / 2; /* as many FLOPs and bytes where they differ */
    group = within_chunks(group, step->stack->chunk);
    const int64_t dim[] = {
        group.count, group.tokens, group.cached,        s->heads,
        s->kv_heads, head_dim,     step->stack->window, step->stack->graph->options.kv_bits};
    bool decode = op == RT_OP_ATTENTION_GENERATION;
    return rt_build_fused_attention(step->stack->graph, decode ? "attn.decode" : "attn.prefill", x,
                                    RT_NO_INPUT, RT_NO_INPUT, op, dim,
                                    (double)group.count * group.tokens * s->heads * s->value_dim);
}

/* BitNet: before the last products of attention and feed-forward */
static uint32_t sub_norm(const struct rt_stack *stack, const char *name, uint32_t x, int64_t width)
{
    if (!stack->model->sub_norms)
        return x;
    x = vector_node(stack->graph, name, RT_OP_RMSNORM, x, RT_NO_INPUT, stack->shape.rows, width);
    stack->graph->nodes[x].parameters = (double)width;
    return x;
}

static const struct rt_sequences *groups_of(const struct step *step, size_t *count)
{
    const struct rt_graph_options *options = &step->stack->graph->options;
    *count = options->groups != NULL ? options->group_count : 1;
    return options->groups != NULL ? options->groups : &step->one;
}

/* Sequences that prefill have work that is quadratic in their length: a kernel for each group. None: x. */
static uint32_t attend_prefills(const struct step *step, uint32_t x)
{
    size_t count;
    const struct rt_sequences *groups = groups_of(step, &count);
    uint32_t out = x;
    for (size_t g = 0; g < count; g++)
        if (groups[g].tokens > 1)
            out = attention_kernel(step, x, RT_OP_ATTENTION_CONTEXT, groups[g]);
    return out;
}

/* Sequences that decode share one kernel, whose time goes with all their keys: at their mean context. None:
 * x.
 */
static uint32_t attend_decodes(const struct step *step, uint32_t x)
{
    size_t count;
    const struct rt_sequences *groups = groups_of(step, &count);
    int64_t decoding = 0;
    double cached = 0;
    for (size_t g = 0; g < count; g++) {
        if (groups[g].tokens > 1)
            continue;
        decoding += groups[g].count;
        cached += (double)groups[g].count * (double)groups[g].cached;
    }
    if (decoding == 0)
        return x;
    const struct rt_sequences together = {decoding, 1, (int64_t)llround(cached / (double)decoding)};
    return attention_kernel(step, x, RT_OP_ATTENTION_GENERATION, together);
}

static uint32_t attend(const struct step *step, uint32_t x)
{
    uint32_t prefilled = attend_prefills(step, x), decoded = attend_decodes(step, x);
    return decoded != x ? decoded : prefilled;
}

/* Keys and values of the new tokens go into their pages; graph->cache counts all that is kept after the step.
 */
static uint32_t write_cache(const struct step *step, uint32_t x, int64_t wide)
{
    const struct rt_stack *stack = step->stack;
    struct rt_graph *graph = stack->graph;
    const struct rt_shape *s = &stack->shape;
    size_t count;
    const struct rt_sequences *groups = groups_of(step, &count);
    double tokens = 0;
    for (size_t g = 0; g < count; g++) {
        double kept = (double)groups[g].cached + (double)groups[g].tokens;
        tokens += (double)groups[g].count * (stack->window > 0 ? fmin(kept, (double)stack->window) : kept);
    }
    graph->cache += tokens * wide * (double)graph->blocks[graph->block_count - 1].repeat;
    uint32_t node = vector_node(graph, "attn.write_cache", RT_OP_COPY, x, RT_NO_INPUT, s->rows, wide);
    double width = rt_dtypes[graph->options.dtype].bytes;
    double kept = graph->options.kv_bits > 0 ? (double)graph->options.kv_bits / 8 : width;
    graph->kernels[graph->nodes[node].kernel].bytes = (width + kept) * (double)s->rows * wide;
    return node;
}

/* Qwen3: every head of queries and of keys has a norm. */
static uint32_t norm_heads(const struct step *step, uint32_t x)
{
    const struct rt_shape *s = &step->stack->shape;
    struct rt_graph *graph = step->stack->graph;
    enum rt_qk_norm kind = (enum rt_qk_norm)step->stack->model->qk_norm;
    bool own = kind == RT_QK_NORM_WHOLE || kind == RT_QK_NORM_EACH; /* weights of every head */
    if (kind == RT_QK_NORM_NONE)
        return x;
    for (int i = 0; i < 2; i++) {
        int64_t heads = i == 0 ? s->heads : s->kv_heads, whole = kind == RT_QK_NORM_WHOLE ? heads : 1;
        x = vector_node(graph, i == 0 ? "attn.q_norm" : "attn.k_norm", RT_OP_RMSNORM, x, RT_NO_INPUT,
                        s->rows * heads / whole, s->head_dim * whole);
        graph->nodes[x].parameters = kind == RT_QK_NORM_BARE ? 0
                                     : kind == RT_QK_NORM_LAYER
                                         ? 2 * (double)s->head_dim
                                         : (double)s->head_dim * (own ? (double)heads : 1);
    }
    return x;
}

/* Latent attention: queries, keys and values of a few columns (vLLM, deepseek_v2.py). A prefill makes keys
 * and values of all heads. Sequences that decode, beside prefills too, attend to the latent columns
 * themselves: their products with the weights of keys and values move to the queries and to what comes out.
 */
static uint32_t latent_down(const struct step *step, uint32_t x)
{
    const struct rt_model *model = step->stack->model;
    struct rt_graph *graph = step->stack->graph;
    int64_t rows = step->stack->shape.rows, kv = model->latent.kv_rank + model->latent.rope_dim;
    x = rt_build_linear(graph, "attn.down", x, rows, model->hidden, model->latent.q_rank + kv,
                        model->bias.qkv);
    if (model->latent.q_rank > 0) {
        x = vector_node(graph, "attn.q_norm", RT_OP_RMSNORM, x, RT_NO_INPUT, rows, model->latent.q_rank);
        graph->nodes[x].parameters = (double)model->latent.q_rank;
    }
    uint32_t norm =
        vector_node(graph, "attn.kv_norm", RT_OP_RMSNORM, x, RT_NO_INPUT, rows, model->latent.kv_rank);
    graph->nodes[norm].parameters = (double)model->latent.kv_rank;
    return norm;
}

/* Rows of sequences that decode. */
static int64_t decoding_rows(const struct step *step)
{
    size_t count;
    const struct rt_sequences *groups = groups_of(step, &count);
    int64_t rows = 0;
    bool prefills = false;
    for (size_t g = 0; g < count; g++) {
        rows += groups[g].tokens > 1 ? 0 : groups[g].count;
        prefills = prefills || groups[g].tokens > 1;
    }
    return prefills ? rows : step->stack->shape.rows;
}

/* A product of every head with its part of the weights of keys and values. */
static uint32_t absorbed(const struct step *step, const char *name, uint32_t x, int64_t in, int64_t out)
{
    const struct rt_shape *s = &step->stack->shape;
    x = rt_build_bmm(step->stack->graph, name, x, RT_NO_INPUT, s->heads, s->rows, in, out);
    step->stack->graph->nodes[x].parameters = (double)s->heads * in * out;
    step->stack->graph->nodes[x].role = RT_NODE_DECODES;
    return x;
}

/* One head of keys, whose first columns are the values: each is read once. */
static uint32_t attend_latent(struct step *step, uint32_t x)
{
    struct rt_stack latent = *step->stack;
    struct step inner = *step;
    struct rt_graph *graph = latent.graph;
    const struct rt_model *model = latent.model;
    latent.shape.kv_heads = 1;
    latent.shape.head_dim = model->latent.kv_rank + model->latent.rope_dim;
    latent.shape.value_dim = model->latent.kv_rank;
    inner.stack = &latent;
    uint32_t node = attend_decodes(&inner, x);
    struct rt_graph_kernel *kernel = &graph->kernels[graph->nodes[node].kernel];
    double width =
        graph->options.kv_bits > 0 ? graph->options.kv_bits / 8.0 : rt_dtypes[graph->options.dtype].bytes;
    double keys = (double)kernel->call.dim[0] * ((double)kernel->call.dim[2] + 1);
    kernel->bytes -= width * keys * (double)latent.shape.value_dim;
    return node;
}

/* `alone`: no prefill beside them has the weights. */
static uint32_t latent_decodes(const struct step *step, uint32_t x, int64_t rows, bool alone)
{
    const struct rt_model *model = step->stack->model;
    struct rt_stack of_them = *step->stack;
    struct step part = *step;
    of_them.shape.rows = rows;
    part.stack = &of_them;
    uint32_t absorb_k = absorbed(&part, "attn.absorb_k", x, model->latent.nope_dim, model->latent.kv_rank);
    uint32_t attended = attend_latent(&part, absorb_k);
    uint32_t absorb_v =
        absorbed(&part, "attn.absorb_v", attended, model->latent.kv_rank, of_them.shape.value_dim);
    if (!alone)
        of_them.graph->nodes[absorb_k].parameters = of_them.graph->nodes[absorb_v].parameters = 0;
    return absorb_v;
}

static uint32_t latent_prefills(const struct step *step, uint32_t x, int64_t rows)
{
    const struct rt_model *model = step->stack->model;
    const struct rt_shape *s = &step->stack->shape;
    x = rt_build_linear(step->stack->graph, "attn.kv", x, rows, model->latent.kv_rank,
                        s->heads * (model->latent.nope_dim + s->value_dim), false);
    step->stack->graph->nodes[x].role = RT_NODE_CHUNKS;
    return attend_prefills(step, x);
}

static uint32_t latent_attention(struct step *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t wide = s->heads * s->head_dim, values = s->heads * s->value_dim;
    if (model->latent.q_rank > 0) {
        x = latent_down(step, x);
        x = rt_build_linear(graph, "attn.q", x, s->rows, model->latent.q_rank, wide, false);
    } else {
        uint32_t q = rt_build_linear(graph, "attn.q", x, s->rows, model->hidden, wide, false);
        x = latent_down(step, x);
        rt_graph_add_input(graph, q);
    }
    x = vector_node(graph, "attn.rotary", RT_OP_ROTARY, x, RT_NO_INPUT, s->rows,
                    (s->heads + 1) * model->latent.rope_dim);
    x = write_cache(step, x, model->latent.kv_rank + model->latent.rope_dim);
    int64_t decodes = decoding_rows(step), prefills = s->rows - decodes;
    uint32_t decoded = decodes > 0 ? latent_decodes(step, x, decodes, prefills == 0) : x;
    uint32_t prefilled = prefills > 0 ? latent_prefills(step, x, prefills) : decoded;
    x = rt_build_linear(graph, "attn.o", prefilled, s->rows, values, model->hidden, model->bias.out);
    if (decodes > 0 && prefills > 0)
        rt_graph_add_input(graph, decoded);
    return rt_build_all_reduce(graph, "attn.all_reduce", x, s->rows * model->hidden, true, false);
}

static uint32_t attention(struct step *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    stack->graph->part = RT_PART_ATTENTION;
    const struct rt_model *model = stack->model;
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t wide = s->heads * s->head_dim, kv_wide = s->kv_heads * s->head_dim;
    if (model->latent.kv_rank > 0)
        return latent_attention(step, x);
    x = rt_build_linear(graph, "attn.qkv", x, s->rows, model->hidden, wide + 2 * kv_wide, model->bias.qkv);
    x = norm_heads(step, x);
    if (stack->rotary_dim > 0)
        x = vector_node(graph, "attn.rotary", RT_OP_ROTARY, x, RT_NO_INPUT, s->rows,
                        (s->heads + s->kv_heads) * stack->rotary_dim);
    x = write_cache(step, x, 2 * kv_wide);
    x = attend(step, x);
    if (model->sinks)
        graph->nodes[x].parameters += (double)s->heads;
    x = sub_norm(stack, "attn.sub_norm", x, wide);
    x = rt_build_linear(graph, "attn.o", x, s->rows, wide, model->hidden, model->bias.out);
    return rt_build_all_reduce(graph, "attn.all_reduce", x, s->rows * model->hidden, true, false);
}

/* --- feed-forward --- */

/* Whose sum over the GPUs is still to be made */
static uint32_t feed_forward(const struct step *step, uint32_t x, int64_t ffn_width)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden;
    int64_t parts = model->gated ? 2 : 1;
    x = rt_build_linear(graph, model->gated ? "mlp.gate_up" : "mlp.up", x, rows, h, parts * ffn_width,
                        model->bias.ffn);
    x = model->gated
            ? vector_node(graph, "mlp.act_mul", RT_OP_SILU_MUL, x, RT_NO_INPUT, rows, ffn_width)
            : vector_node(graph, "mlp.act", model->activation == RT_ACT_RELU ? RT_OP_RELU : RT_OP_GELU, x,
                          RT_NO_INPUT, rows, ffn_width);
    if (model->activation == RT_ACT_XIELU)
        graph->nodes[x].parameters = 2;
    x = sub_norm(stack, "mlp.sub_norm", x, ffn_width);
    return rt_build_linear(graph, "mlp.down", x, rows, ffn_width, h, model->bias.ffn);
}

static uint32_t dense(const struct step *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    stack->graph->part = RT_PART_FEED_FORWARD;
    x = feed_forward(step, x, stack->shape.ffn_width);
    return rt_build_all_reduce(stack->graph, "mlp.all_reduce", x, stack->shape.rows * stack->model->hidden,
                               true, false);
}

/* Experts of every token: one feed-forward beside the others, added to them before the sum over the GPUs. */
static uint32_t shared_experts(const struct step *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden;
    graph->part = RT_PART_SHARED_EXPERTS;
    uint32_t y =
        feed_forward(step, x, rt_build_shard(model->experts.shared_width, graph->options.tensor_parallel));
    if (model->experts.shared_gated) {
        uint32_t gate = rt_build_linear(graph, "shared.weight", x, rows, h, 1, false);
        y = vector_node(graph, "shared.weigh", RT_OP_MUL, y, gate, rows, h);
    }
    return vector_node(graph, "shared.add", RT_OP_ADD, y, RT_NO_INPUT, rows, h);
}

static uint32_t collective(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x,
                           int64_t gpus, int64_t elements)
{
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)elements);
    rt_graph_add_kernel(graph, RT_FORWARD, op, (const int64_t[]){gpus, elements});
    return node;
}

/* Where attention is data parallel, tokens are exchanged before and after the experts: each token's copies go
 * to the GPUs of its experts where whole experts are shared out (DeepEP), else all tokens are gathered and
 * sums scattered. */
static uint32_t exchange(const struct step *step, const char *name, uint32_t x, int64_t tokens, bool before)
{
    const struct rt_model *model = step->stack->model;
    const struct rt_graph_options *options = &step->stack->graph->options;
    int64_t h = model->hidden;
    if (at_least_one(options->attention_data_parallel) == 1)
        return before ? x : rt_build_all_reduce(step->stack->graph, name, x, tokens * h, true, false);
    if (at_least_one(options->expert_parallel) > 1)
        return collective(step->stack->graph, name, RT_OP_ALL_TO_ALL, x, step->gpus,
                          step->stack->shape.rows * model->experts.topk * h);
    return collective(step->stack->graph, name, before ? RT_OP_ALL_GATHER : RT_OP_REDUCE_SCATTER, x,
                      step->gpus, tokens * h);
}

/* Of the nodes from `first` on. */
static void set_role(struct rt_graph *graph, size_t first, enum rt_node_role role)
{
    for (size_t n = first; n < graph->node_count; n++)
        graph->nodes[n].role = role;
}

/* A router in 16 bits, its softmax and choice, and the fused experts: gate, up, activation, down. */
static uint32_t experts(const struct step *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    const struct rt_graph_options *options = &graph->options;
    int64_t rows = stack->shape.rows, h = model->hidden, ep = at_least_one(options->expert_parallel);
    int64_t tokens = rows * at_least_one(options->attention_data_parallel);
    int64_t tp = at_least_one(step->gpus / ep);
    uint32_t router =
        rt_build_linear(graph, "router", x, rows, h, model->experts.count, model->experts.router_bias);
    rt_graph_set_dtype(&graph->kernels[graph->nodes[router].kernel], options->dtype);
    router =
        vector_node(graph, "router.top_k", RT_OP_SOFTMAX, router, RT_NO_INPUT, rows, model->experts.count);
    if (model->experts.shared > 0)
        shared_experts(step, x);
    size_t first = graph->node_count;
    x = exchange(step, "experts.dispatch", x, tokens, true);
    uint32_t node = rt_node_add(graph, "experts", x, router, (double)tokens * h);
    double each = (double)model->experts.count / (double)ep,
           width = (double)rt_build_shard(model->experts.width, tp);
    graph->nodes[node].parameters =
        3.0 * each * h * width + (model->experts.bias ? each * (2 * width + (double)h) : 0);
    const int64_t dim[] = {[RT_MOE_TOKENS] = tokens,
                           [RT_MOE_HIDDEN] = h,
                           [RT_MOE_INTER] = model->experts.width,
                           [RT_MOE_TOPK] = model->experts.topk,
                           [RT_MOE_EXPERTS] = model->experts.count,
                           [RT_MOE_TP] = tp,
                           [RT_MOE_EP] = ep,
                           [RT_MOE_SKEW] = SKEW,
                           [RT_MOE_UNGATED] = 0};
    rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_MOE, dim);
    x = exchange(step, "experts.combine", node, tokens, false);
    set_role(graph, first, RT_NODE_EXPERTS);
    return x;
}

/* --- the whole --- */

/* What attention or feed-forward read: the norm of the residual, or the residual where norms are branches'
 * (OLMo 2). */
static uint32_t begin_branch(const struct step *step, const char *name, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    if (stack->model->norm_branch && !stack->model->norm_first)
        return vector_node(stack->graph, "residual", RT_OP_ADD, x, RT_NO_INPUT, stack->shape.rows,
                           stack->model->hidden);
    return norm(step, name, x, stack->shape.rows);
}

static uint32_t finish_branch(const struct step *step, const char *name, uint32_t x)
{
    return step->stack->model->norm_branch ? plain_norm(step->stack, name, x) : x;
}

/* Attention and feed-forward of one input, then their sum; the next norm adds the residual. */
static uint32_t parallel_layer(struct step *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    uint32_t in = norm(step, "attn.norm", x, stack->shape.rows);
    uint32_t out = attention(step, in);
    if (stack->model->parallel_norms == 2)
        in = plain_norm(stack, "mlp.norm", x);
    x = dense(step, in);
    return vector_node(stack->graph, "parallel.add", RT_OP_ADD, x, out, stack->shape.rows,
                       stack->model->hidden);
}

static uint32_t layer(struct step *step, uint32_t x, bool sparse)
{
    if (step->stack->model->parallel && !sparse)
        return parallel_layer(step, x);
    x = begin_branch(step, "attn.norm", x);
    x = attention(step, x);
    x = finish_branch(step, "attn.branch_norm", x);
    x = begin_branch(step, "mlp.norm", x);
    x = sparse ? experts(step, x) : dense(step, x);
    return finish_branch(step, "mlp.branch_norm", x);
}

/* Scores of the last tokens, gathered from the GPUs that hold parts of the vocabulary; a softmax in fp32 and
 * the draw.
 */
static void head(const struct step *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = step->sequences, vocab = stack->shape.vocab, width = model->embedding;
    if (model->norm_first || model->norm_branch) /* else the last layer ended with one (OPT-350m) */
        x = norm(step, "norm", x, stack->shape.rows);
    size_t first = graph->node_count;
    if (width != model->hidden)
        x = rt_build_linear(graph, "project_out", x, rows, model->hidden, width, false);
    x = rt_build_linear(graph, "lm_head", x, rows, width, vocab, model->bias.head);
    graph->shared = model->tied ? (double)vocab * width : 0;
    if (graph->options.tensor_parallel > 1)
        x = collective(graph, "logits.all_gather", RT_OP_ALL_GATHER, x, graph->options.tensor_parallel,
                       rows * model->vocab);
    x = vector_node(graph, "sample.softmax", RT_OP_SOFTMAX, x, RT_NO_INPUT, rows, model->vocab);
    rt_graph_set_dtype(&graph->kernels[graph->nodes[x].kernel], RT_FP32);
    x = vector_node(graph, "sample.draw", RT_OP_REDUCE, x, RT_NO_INPUT, rows, model->vocab);
    rt_graph_set_dtype(&graph->kernels[graph->nodes[x].kernel], RT_FP32);
    graph->nodes[x].outputs = (double)rows;
    set_role(graph, first, RT_NODE_LAST_TOKENS);
}

static void embed(const struct step *step, uint32_t *x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    int64_t rows = stack->shape.rows, h = model->hidden;
    *x = rt_build_embedding(stack->graph, "tokens", rows, stack->shape.vocab, model->embedding);
    *x = rt_build_all_reduce(stack->graph, "all_reduce", *x, rows * model->embedding, true, false);
    if (model->embedding != h)
        *x = rt_build_linear(stack->graph, "project_in", *x, rows, model->embedding, h, false);
    if (stack->row->norms.embedding != NULL)
        *x = plain_norm(stack, stack->row->norms.embedding, *x);
    if (!stack->row->learned_positions)
        return;
    *x = vector_node(stack->graph, "add_positions", RT_OP_ADD, *x, RT_NO_INPUT, rows, h);
    if (!stack->row->computed_positions)
        stack->graph->nodes[*x].parameters = (double)(model->positions + stack->row->unused_positions) * h;
}

void rt_build_served(const struct rt_model *model, struct rt_graph *graph)
{
    const struct rt_graph_options *options = &graph->options;
    struct rt_stack stack;
    rt_stack_init(&stack, model, graph);
    bool decode = options->step == RT_STEP_DECODE;
    struct step step = {.stack = &stack,
                        .sequences = stack.shape.batch,
                        .gpus = options->tensor_parallel * at_least_one(options->attention_data_parallel),
                        .one = {options->batch, stack.shape.queries, decode ? options->context : 0}};
    uint32_t x;
    rt_graph_add_block(graph, "embedding", RT_BLOCK_FIRST, 1);
    embed(&step, &x);
    struct rt_layers kinds[RT_LAYER_KINDS];
    int count = rt_stack_layers(model, kinds);
    for (int i = 0; i < count; i++) {
        rt_stack_begin_layers(&stack, &kinds[i]);
        x = layer(&step, x, kinds[i].sparse);
    }
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    head(&step, x);
    graph->boundary = (double)stack.shape.rows * model->hidden;
}
