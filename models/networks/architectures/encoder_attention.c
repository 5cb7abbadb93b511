/* Kinds of attention of encoders after BERT, as transformers' eager code runs them. See architecture.h and
 * attention.c. */
#include "models/networks/architectures/parts.h"
#include "models/networks/architectures/stack.h"
#include "models/networks/build_image.h"
#include "models/networks/build_node.h"

/* --- MPNet: BERT's, with a bias by the distance of two tokens, which is made once for all layers --- */

static void project_mpnet(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    rt_attention_bert.project(stack, x, out);
}

/* (batch, heads, queries, keys): looked up by the bucket of each distance, and copied for every sequence. */
uint32_t rt_bias_mpnet(const struct rt_stack *stack)
{
    const struct rt_shape *s = &stack->shape;
    int64_t pairs = s->queries * s->keys;
    uint32_t buckets = rt_build_buckets(stack);
    uint32_t table =
        rt_build_embedding(stack->graph, "relative_bias", pairs, stack->model->distance.buckets, s->heads);
    rt_graph_add_input(stack->graph, buckets);
    return rt_build_move(stack->graph, "relative_bias.copy", RT_OP_COPY, table, s->batch * s->heads, pairs,
                         rt_dtypes[stack->graph->options.dtype].bytes * (double)(s->batch + 1) *
                             (double)(s->heads * pairs));
}

/* x / sqrt(d) + bias + mask of padding (batch, keys) */
static uint32_t mask_mpnet(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t tokens)
{
    x = rt_build_unary(stack->graph, "attn.scale", RT_OP_DIV_SCALAR, x, rows, tokens);
    x = rt_build_binary(stack->graph, "attn.bias", RT_OP_ADD, x, stack->bias, rows, tokens, rows * tokens);
    return rt_build_binary(stack->graph, "attn.mask", RT_OP_ADD, x, stack->mask, rows, tokens,
                           stack->shape.batch * tokens);
}

const struct rt_attention rt_attention_mpnet = {.name = RT_ATTENTION_NAMES("attn", "output"),
                                                .project = project_mpnet,
                                                .mask = mask_mpnet,
                                                .bidirectional = true};

/* --- ModernBERT: Llama's, of every token to all others --- */

static void project_modernbert(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    rt_attention_llama.project(stack, x, out);
}

static uint32_t mask_modernbert(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t tokens)
{
    return rt_attention_llama.mask(stack, x, rows, tokens);
}

const struct rt_attention rt_attention_modernbert = {.name = RT_ATTENTION_NAMES("attn", "output"),
                                                     .project = project_modernbert,
                                                     .mask = mask_modernbert,
                                                     .rotary = true,
                                                     .bidirectional = true,
                                                     .fusable = true,
                                                     .softmax_fp32 = true};

/* --- DeBERTa (He et al. 2021, modeling_deberta_v2.py): beside contents to contents, scores of contents to
 * positions and of positions to contents. Positions are distances in 2 `span` buckets, (2 span, hidden) ---
 */

/* The embedding of distances, whole, normed where the config says so: once a step. */
uint32_t rt_bias_deberta(const struct rt_stack *stack)
{
    const struct rt_model *model = stack->model;
    int64_t rows = 2 * model->distance.span, h = model->hidden;
    if (!model->distance.relative) { /* the norm is there, and runs not */
        uint32_t unused = rt_node_add(stack->graph, "distances.layer_norm", RT_NO_INPUT, RT_NO_INPUT, 0);
        stack->graph->nodes[unused].parameters = model->distance.normed ? 2.0 * (double)h : 0;
        return RT_NO_INPUT;
    }
    uint32_t x = rt_node_add(stack->graph, "distances", RT_NO_INPUT, RT_NO_INPUT, (double)rows * (double)h);
    stack->graph->nodes[x].parameters = (double)rows * (double)h;
    stack->graph->nodes[x].gradient = true;
    if (rt_node_begin_backward(stack->graph, x))
        rt_node_accumulate(stack->graph, rows * h);
    return model->distance.normed ? rt_build_norm_of(stack, "distances.layer_norm", x, rows, h) : x;
}

/* Heads of x(rows, heads x d), copied into (heads, rows, d). */
static uint32_t split_heads(const struct rt_stack *stack, const char *name, uint32_t x, int64_t rows)
{
    return rt_build_copies(stack->graph, name, x, rows, stack->shape.heads * stack->shape.head_dim,
                           RT_COPY_ROWS, RT_COPY_ROWS);
}

static uint32_t project_heads(const struct rt_stack *stack, const char *name, const char *copy, uint32_t x,
                              int64_t rows)
{
    x = rt_build_linear(stack->graph, name, x, rows, stack->model->hidden,
                        stack->shape.heads * stack->shape.head_dim, true);
    return split_heads(stack, copy, x, rows);
}

/* The embedding of distances as keys or queries, copied for every sequence: (batch x heads, 2 span, d). */
static uint32_t project_distances(const struct rt_stack *stack, uint32_t distances, bool keys)
{
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t rows = 2 * stack->model->distance.span, wide = s->heads * s->head_dim;
    uint32_t x = rt_build_linear(graph, keys ? "attn.distances_k" : "attn.distances_q", distances, rows,
                                 stack->model->hidden, wide, true);
    if (stack->model->distance.shares_qk) /* the weights are those of attn.k, attn.q */
        graph->nodes[x].parameters = 0;
    x = split_heads(stack, keys ? "attn.distances_k_heads" : "attn.distances_q_heads", x, rows);
    return rt_build_move(graph, keys ? "attn.distances_k_repeat" : "attn.distances_q_repeat", RT_OP_COPY, x,
                         s->batch * rows, wide, 0);
}

/* Scores of `contents` by distance, of which each pair of tokens takes the one of its distance: (batch x
 * heads, queries, keys). Positions to contents come transposed. */
static uint32_t score_distances(const struct rt_stack *stack, uint32_t distances, uint32_t contents,
                                bool to_positions)
{
    static const char *const names[2][5] = {
        {"attn.p2c_index", "attn.p2c_clamp", "attn.p2c", "attn.p2c_gather", "attn.p2c_scale"},
        {"attn.c2p_index", "attn.c2p_clamp", "attn.c2p", "attn.c2p_gather", "attn.c2p_scale"},
    };
    const char *const *name = names[to_positions];
    const struct rt_shape *s = &stack->shape;
    struct rt_graph *graph = stack->graph;
    int64_t pairs = s->batch * s->heads, rows = pairs * s->queries;
    distances = project_distances(stack, distances, to_positions);
    uint32_t index = rt_build_unary(graph, name[0], RT_OP_ADD_SCALAR, RT_NO_INPUT, s->queries, s->keys);
    index = rt_build_unary(graph, name[1], RT_OP_CLAMP, index, s->queries, s->keys);
    uint32_t x = rt_build_bmm(graph, name[2], contents, distances, pairs, s->queries, s->head_dim,
                              2 * stack->model->distance.span);
    x = rt_build_move(graph, name[3], RT_OP_INDEX, x, rows, s->keys, 0);
    rt_graph_add_input(graph, index);
    if (rt_graph_trains(graph)) /* into zeros */
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_FILL, rows, 2 * stack->model->distance.span);
    return rt_build_unary(graph, name[4], RT_OP_DIV_SCALAR, x, rows, s->keys);
}

/* What is added to the scores of contents to contents. */
static void score_positions(const struct rt_stack *stack, struct rt_operands *out)
{
    const struct rt_shape *s = &stack->shape;
    const struct rt_model *model = stack->model;
    int64_t rows = s->batch * s->heads * s->queries;
    if (!model->distance.relative || !(model->distance.c2p || model->distance.p2c))
        return;
    out->biased = true;
    uint32_t distances = rt_build_dropout(stack->graph, "attn.distances_dropout", stack->bias,
                                          2 * model->distance.span, model->hidden);
    if (model->distance.shares_qk &&
        !(model->distance.c2p && model->distance.p2c)) /* both products run where either is read */
        project_distances(stack, distances, model->distance.p2c);
    if (model->distance.c2p)
        out->bias = score_distances(stack, distances, out->q, true);
    if (!model->distance.p2c)
        return;
    uint32_t other = score_distances(stack, distances, out->k, false);
    out->bias = !model->distance.c2p ? other
                                     : rt_build_binary(stack->graph, "attn.positions", RT_OP_ADD, out->bias,
                                                       other, rows, s->keys, rows * s->keys);
}

static void project_deberta(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    const struct rt_shape *s = &stack->shape;
    out->q = project_heads(stack, "attn.q", "attn.heads_q", x, s->rows);
    out->k = project_heads(stack, "attn.k", "attn.heads_k", x, s->rows);
    out->v = project_heads(stack, "attn.v", "attn.heads_v", x, s->rows);
    score_positions(stack, out);
    out->k =
        rt_build_unary(stack->graph, "attn.scale", RT_OP_DIV_SCALAR, out->k, s->rows, s->heads * s->head_dim);
}

/* masked_fill(x, mask (batch, queries, keys) == 0, lowest): a copy, which is filled where the mask says so */
static uint32_t mask_deberta(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t tokens)
{
    struct rt_graph *graph = stack->graph;
    double width = rt_dtypes[graph->options.dtype].bytes, mask = (double)stack->shape.rows * (double)tokens;
    rt_build_constant(graph, "attn.padding", RT_OP_COPY, RT_NO_INPUT, stack->shape.rows, tokens);
    x = rt_build_move(graph, "attn.mask_copy", RT_OP_COPY, x, rows, tokens, 0);
    return rt_build_move(graph, "attn.mask", RT_OP_WHERE, x, rows, tokens,
                         2 * width * (double)rows * (double)tokens + mask);
}

const struct rt_attention rt_attention_deberta = {.name = RT_ATTENTION_NAMES("attn", "output"),
                                                  .project = project_deberta,
                                                  .mask = mask_deberta,
                                                  .bidirectional = true};

/* norm(x + act(conv(in))) for a convolution over tokens (DeBERTa-v2 xlarge): x and `in` (rows, hidden). */
uint32_t rt_beside_deberta(const struct rt_stack *stack, uint32_t in, uint32_t x)
{
    const struct rt_model *model = stack->model;
    struct rt_graph *graph = stack->graph;
    int64_t rows = stack->shape.rows, h = model->hidden, k = model->token_conv.kernel;
    const struct rt_conv conv = {.out = h,
                                 .kernel_h = 1,
                                 .kernel_w = k,
                                 .padding_w = (k - 1) / 2,
                                 .groups = model->token_conv.groups,
                                 .bias = true};
    struct rt_image y = {RT_NO_INPUT, stack->shape.batch, h, 1, stack->shape.queries};
    y.node =
        rt_build_copies(graph, "conv.channels_first", in, rows, h, RT_COPY_TRANSPOSED, RT_COPY_TRANSPOSED);
    y = rt_image_conv(graph, "conv", y, &conv);
    y.node =
        rt_build_copies(graph, "conv.channels_last", y.node, rows, h, RT_COPY_TRANSPOSED, RT_COPY_TRANSPOSED);
    y.node = rt_build_move(graph, "conv.mask", RT_OP_WHERE, y.node, rows, h, 0);
    y.node = rt_build_dropout(graph, "conv.dropout", y.node, rows, h);
    y.node =
        rt_build_unary(graph, "conv.act", model->token_conv.gelu ? RT_OP_GELU : RT_OP_TANH, y.node, rows, h);
    y.node = rt_build_binary(graph, "conv.residual", RT_OP_ADD, y.node, x, rows, h, rows * h);
    return rt_build_norm(stack, "conv.layer_norm", y.node);
}

/* --- ViT, CLIP: BERT's without a mask, and with the mask of a decoder --- */

static void project_vit(const struct rt_stack *stack, uint32_t x, struct rt_operands *out)
{
    rt_attention_bert.project(stack, x, out);
}

static uint32_t mask_vit(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t tokens)
{
    return rt_build_unary(stack->graph, "attn.scale", RT_OP_MUL_SCALAR, x, rows, tokens);
}

const struct rt_attention rt_attention_vit = {.name = RT_ATTENTION_NAMES("attn", "output"),
                                              .project = project_vit,
                                              .mask = mask_vit,
                                              .bidirectional = true,
                                              .fusable = true,
                                              .softmax_fp32 = true};

static uint32_t mask_clip_text(const struct rt_stack *stack, uint32_t x, int64_t rows, int64_t tokens)
{
    return rt_attention_llama.mask(stack, x, rows, tokens);
}

const struct rt_attention rt_attention_clip_text = {.name = RT_ATTENTION_NAMES("attn", "output"),
                                                    .project = project_vit,
                                                    .mask = mask_clip_text,
                                                    .fusable = true,
                                                    .softmax_fp32 = true};
