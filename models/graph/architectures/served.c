/*
 * Decoders as LLM servers run them: vLLM, SGLang and TensorRT-LLM. One product for queries, keys and values
 * and one for gate and up; the norm adds the residual; rotary positions in place; keys and values are written
 * into pages; attention over them in one kernel for the sequences that prefill and one for those that decode;
 * experts in one fused op; the head for the last token of each sequence, then a token is sampled. Sources:
 * vLLM, vllm/model_executor/models/{llama,qwen3,mixtral,qwen3_moe,gpt2,opt}.py, and
 * layers/{layernorm,activation}.py beside.
 */
#include "models/graph/architectures/stack.h"
#include "models/graph/build_node.h"

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

/* norm(x + residual); the first layer's has no residual yet, which a server spares itself once a step. */
static uint32_t norm(const struct step *step, const char *name, uint32_t x, int64_t rows)
{
    const struct rt_stack *stack = step->stack;
    int64_t h = stack->model->hidden;
    uint32_t node;
    if (stack->row->norm == RT_NORM_RMS) {
        node = vector_node(stack->graph, name, RT_OP_RESIDUAL_RMSNORM, x, RT_NO_INPUT, rows, h);
        stack->graph->nodes[node].parameters = (double)h;
        return node;
    }
    x = vector_node(stack->graph, "residual", RT_OP_ADD, x, RT_NO_INPUT, rows, h);
    return rt_build_layernorm(stack->graph, name, x, rows, h);
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
    const struct rt_model *model = step->stack->model;
    group = within_chunks(group, model->chunk);
    const int64_t dim[] = {group.count, group.tokens, group.cached,  s->heads,
                           s->kv_heads, s->head_dim,  model->window, step->stack->graph->options.kv_bits};
    bool decode = op == RT_OP_ATTENTION_GENERATION;
    return rt_build_fused_attention(step->stack->graph, decode ? "attn.decode" : "attn.prefill", x,
                                    RT_NO_INPUT, RT_NO_INPUT, op, dim,
                                    (double)group.count * group.tokens * s->heads * s->head_dim);
}

static const struct rt_sequences *groups_of(const struct step *step, size_t *count)
{
    const struct rt_graph_options *options = &step->stack->graph->options;
    *count = options->groups != NULL ? options->group_count : 1;
    return options->groups != NULL ? options->groups : &step->one;
}

/* Sequences that decode share one kernel, whose time goes with all their keys: at their mean context. Those
 * that prefill have work that is quadratic in their length: a kernel for each group. */
static uint32_t attend(const struct step *step, uint32_t x)
{
    size_t count;
    const struct rt_sequences *groups = groups_of(step, &count);
    int64_t decoding = 0;
    double cached = 0;
    uint32_t out = x;
    for (size_t g = 0; g < count; g++) {
        if (groups[g].tokens > 1) {
            out = attention_kernel(step, x, RT_OP_ATTENTION_CONTEXT, groups[g]);
            continue;
        }
        decoding += groups[g].count;
        cached += (double)groups[g].count * (double)groups[g].cached;
    }
    if (decoding > 0)
        out =
            attention_kernel(step, x, RT_OP_ATTENTION_GENERATION,
                             (struct rt_sequences){decoding, 1, (int64_t)llround(cached / (double)decoding)});
    return out;
}

/* Keys and values of the new tokens go into their pages; graph->cache counts all that is kept after the step.
 */
static uint32_t write_cache(const struct step *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    struct rt_graph *graph = stack->graph;
    const struct rt_shape *s = &stack->shape;
    int64_t wide = 2 * s->kv_heads * s->head_dim;
    size_t count;
    const struct rt_sequences *groups = groups_of(step, &count);
    double tokens = 0;
    for (size_t g = 0; g < count; g++) {
        double kept = (double)groups[g].cached + (double)groups[g].tokens;
        tokens += (double)groups[g].count *
                  (stack->model->window > 0 ? fmin(kept, (double)stack->model->window) : kept);
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
    if (!step->stack->model->qk_norm)
        return x;
    x = vector_node(graph, "attn.q_norm", RT_OP_RMSNORM, x, RT_NO_INPUT, s->rows * s->heads, s->head_dim);
    graph->nodes[x].parameters = (double)s->head_dim;
    x = vector_node(graph, "attn.k_norm", RT_OP_RMSNORM, x, RT_NO_INPUT, s->rows * s->kv_heads, s->head_dim);
    graph->nodes[x].parameters = (double)s->head_dim;
    return x;
}

static uint32_t attention(const struct step *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t wide = s->heads * s->head_dim, kv_wide = s->kv_heads * s->head_dim;
    x = rt_build_linear(graph, "attn.qkv", x, s->rows, model->hidden, wide + 2 * kv_wide, model->qkv_bias);
    x = norm_heads(step, x);
    if (stack->row->attention->rotary)
        x = vector_node(graph, "attn.rotary", RT_OP_ROTARY, x, RT_NO_INPUT, s->rows, wide + kv_wide);
    x = write_cache(step, x);
    x = attend(step, x);
    x = rt_build_linear(graph, "attn.o", x, s->rows, wide, model->hidden, model->out_bias);
    return rt_build_all_reduce(graph, "attn.all_reduce", x, s->rows * model->hidden, true, false);
}

/* --- feed-forward --- */

static uint32_t dense(const struct step *step, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden, inner = stack->shape.inner;
    int64_t parts = model->gated ? 2 : 1;
    x = rt_build_linear(graph, model->gated ? "mlp.gate_up" : "mlp.up", x, rows, h, parts * inner,
                        model->mlp_bias);
    x = model->gated
            ? vector_node(graph, "mlp.act_mul", RT_OP_SILU_MUL, x, RT_NO_INPUT, rows, inner)
            : vector_node(graph, "mlp.act", model->activation == RT_ACT_RELU ? RT_OP_RELU : RT_OP_GELU, x,
                          RT_NO_INPUT, rows, inner);
    x = rt_build_linear(graph, "mlp.down", x, rows, inner, h, model->mlp_bias);
    return rt_build_all_reduce(graph, "mlp.all_reduce", x, rows * h, true, false);
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
                          step->stack->shape.rows * model->topk * h);
    return collective(step->stack->graph, name, before ? RT_OP_ALL_GATHER : RT_OP_REDUCE_SCATTER, x,
                      step->gpus, tokens * h);
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
    uint32_t router = rt_build_linear(graph, "router", x, rows, h, model->experts, false);
    rt_graph_set_dtype(&graph->kernels[graph->nodes[router].kernel], options->dtype);
    router = vector_node(graph, "router.top_k", RT_OP_SOFTMAX, router, RT_NO_INPUT, rows, model->experts);
    x = exchange(step, "experts.dispatch", x, tokens, true);
    uint32_t node = rt_node_add(graph, "experts", x, router, (double)tokens * h);
    graph->nodes[node].parameters =
        3.0 * (double)model->experts / (double)ep * h * (double)rt_build_shard(model->expert_inner, tp);
    const int64_t dim[] = {tokens, h, model->expert_inner, model->topk, model->experts, tp, ep, SKEW};
    rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_MOE, dim);
    return exchange(step, "experts.combine", node, tokens, false);
}

/* --- the whole --- */

static uint32_t layer(const struct step *step, uint32_t x, bool sparse)
{
    int64_t rows = step->stack->shape.rows;
    x = norm(step, "attn.norm", x, rows);
    x = attention(step, x);
    x = norm(step, "mlp.norm", x, rows);
    return sparse ? experts(step, x) : dense(step, x);
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
    x = norm(step, "norm", x, stack->shape.rows);
    if (width != model->hidden)
        x = rt_build_linear(graph, "project_out", x, rows, model->hidden, width, false);
    x = rt_build_linear(graph, "lm_head", x, rows, width, vocab, false);
    graph->shared = model->tied ? (double)vocab * width : 0;
    if (graph->options.tensor_parallel > 1)
        x = collective(graph, "logits.all_gather", RT_OP_ALL_GATHER, x, graph->options.tensor_parallel,
                       rows * model->vocab);
    x = vector_node(graph, "sample.softmax", RT_OP_SOFTMAX, x, RT_NO_INPUT, rows, model->vocab);
    rt_graph_set_dtype(&graph->kernels[graph->nodes[x].kernel], RT_FP32);
    x = vector_node(graph, "sample.draw", RT_OP_REDUCE, x, RT_NO_INPUT, rows, model->vocab);
    rt_graph_set_dtype(&graph->kernels[graph->nodes[x].kernel], RT_FP32);
    graph->nodes[x].outputs = (double)rows;
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
    if (!stack->row->learned_positions)
        return;
    *x = vector_node(stack->graph, "add_positions", RT_OP_ADD, *x, RT_NO_INPUT, rows, h);
    stack->graph->nodes[*x].parameters = (double)(model->positions + stack->row->unused_positions) * h;
}

void rt_build_served(const struct rt_model *model, struct rt_graph *graph)
{
    const struct rt_graph_options *options = &graph->options;
    struct rt_stack stack;
    rt_stack_init(&stack, model, graph);
    bool decode = options->step == RT_STEP_DECODE, sparse = model->experts > 0;
    struct step step = {.stack = &stack,
                        .sequences = stack.shape.batch,
                        .gpus = options->tensor_parallel * at_least_one(options->attention_data_parallel),
                        .one = {options->batch, stack.shape.queries, decode ? options->context : 0}};
    uint32_t x;
    rt_graph_add_block(graph, "embedding", RT_BLOCK_FIRST, 1);
    embed(&step, &x);
    if (sparse && model->dense_layers > 0) {
        rt_graph_add_block(graph, "dense_layer", RT_BLOCK_LAYER, model->dense_layers);
        x = layer(&step, x, false);
    }
    rt_graph_add_block(graph, "layer", RT_BLOCK_LAYER, model->layers - (sparse ? model->dense_layers : 0));
    x = layer(&step, x, sparse);
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    head(&step, x);
    graph->boundary = (double)stack.shape.rows * model->hidden;
}
