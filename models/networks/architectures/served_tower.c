/* Towers of images as LLM servers run them before a prompt: patches, layers, what joins patches into tokens
 * of the language part. Images are shared out over the tensor-parallel GPUs, each with the whole tower, and
 * their tokens gathered (vLLM's --mm-encoder-tp-mode data; its columns do not divide by 8 GPUs). Nothing of a
 * tower is quantised, and the first stage of a pipeline holds it, so its blocks are of the embedding's kind.
 * See ../tower.h. */
#include "models/networks/architectures/served.h"
#include "models/networks/build_node.h"
#include "models/networks/tower.h"

struct tower {
    const struct rt_vision_tower *sizes;
    struct rt_graph *graph;
    int64_t pieces, tokens, rows; /* images or tiles here; patches and learned tokens of each, of all */
};

static uint32_t norm(const struct tower *t, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    return t->sizes->rms ? rt_served_rmsnorm(t->graph, name, x, rows, cols)
                         : rt_build_layernorm(t->graph, name, x, rows, cols);
}

static uint32_t add(const struct tower *t, const char *name, uint32_t x, uint32_t y)
{
    return rt_served_vector(t->graph, name, RT_OP_ADD, x, y, t->rows, t->sizes->hidden);
}

/* A branch's norm, where it has one, then the residual. */
static uint32_t close(const struct tower *t, const char *branch, const char *sum, uint32_t x,
                      uint32_t residual)
{
    if (t->sizes->branches_normed)
        x = norm(t, branch, x, t->rows, t->sizes->hidden);
    return add(t, sum, residual, x);
}

/* Norms of the heads of queries, keys and values, the last without weights. */
static uint32_t norm_heads(const struct tower *t, uint32_t x)
{
    static const char *const names[] = {"attn.q_norm", "attn.k_norm", "attn.v_norm"};
    int64_t heads = t->sizes->heads, dim = t->sizes->hidden / heads;
    for (int i = 0; i < 3; i++) {
        x = rt_served_rmsnorm(t->graph, names[i], x, t->rows * heads, dim);
        if (i == 2)
            t->graph->nodes[x].parameters = 0;
    }
    return x;
}

/* `windows` a side; 1: each patch attends to all. */
static uint32_t attention(const struct tower *t, int64_t windows, uint32_t residual)
{
    const struct rt_vision_tower *s = t->sizes;
    int64_t h = s->hidden;
    uint32_t x = norm(t, "attn.norm", residual, t->rows, h);
    x = rt_build_linear(t->graph, "attn.qkv", x, t->rows, h, 3 * h, s->biased);
    if (s->heads_normed)
        x = norm_heads(t, x);
    if (!s->unturned)
        x = rt_served_vector(t->graph, "attn.rotary", RT_OP_ROTARY, x, RT_NO_INPUT, t->rows, 2 * h);
    int64_t parts = windows * windows; /* of a piece, that attend within themselves */
    const int64_t dims[] = {t->pieces * parts, rt_build_shard(t->tokens, parts), s->heads, h / s->heads};
    x = rt_build_fused_attention(t->graph, "attn", x, RT_NO_INPUT, RT_NO_INPUT, RT_OP_ATTENTION_ENCODER, dims,
                                 (double)t->rows * h);
    x = rt_build_linear(t->graph, "attn.o", x, t->rows, h, h, s->biased);
    return close(t, "attn.branch_norm", "attn.add", x, residual);
}

static uint32_t feed_forward(const struct tower *t, uint32_t residual)
{
    const struct rt_vision_tower *s = t->sizes;
    int64_t h = s->hidden, inner = s->ffn_width;
    uint32_t x = norm(t, "mlp.norm", residual, t->rows, h);
    x = rt_build_linear(t->graph, "mlp.up", x, t->rows, h, s->gated ? 2 * inner : inner, s->biased);
    x = rt_served_vector(t->graph, "mlp.gelu", s->gated ? RT_OP_SILU_MUL : RT_OP_GELU, x, RT_NO_INPUT,
                         t->rows, inner); /* gated by GELU: as many FLOPs and bytes */
    x = rt_build_linear(t->graph, "mlp.down", x, t->rows, inner, h, s->biased);
    return close(t, "mlp.branch_norm", "mlp.add", x, residual);
}

/* Patches by one product, learned tokens, tables of positions. */
static uint32_t embed(const struct tower *t)
{
    const struct rt_vision_tower *s = t->sizes;
    int64_t table = s->tile > 0 ? t->tokens : s->positions * rt_at_least_one(s->tables);
    int64_t pixels = s->patch * s->patch, patches = t->rows - t->pieces * s->prefix_tokens;
    rt_graph_add_block(t->graph, "images.embedding", RT_BLOCK_FIRST, 1);
    uint32_t x = rt_build_linear(t->graph, "patches", RT_NO_INPUT, patches, 3 * s->frames * pixels, s->hidden,
                                 s->patch_biased);
    if (table > 0) {
        x = add(t, "add_positions", x, RT_NO_INPUT);
        t->graph->nodes[x].parameters = (double)(table + s->prefix_tokens) * s->hidden;
    }
    return s->first_normed ? norm(t, "first_norm", x, t->rows, s->hidden) : x;
}

/* Joined patches through a norm of `normed` columns and two products. */
static void widen(const struct tower *t, const char *const name[4], int64_t normed, int64_t out)
{
    int64_t joined = t->sizes->merge * t->sizes->merge, wide = joined * t->sizes->hidden,
            rows = t->rows / joined;
    uint32_t x = norm(t, name[0], RT_NO_INPUT, t->rows * t->sizes->hidden / normed, normed);
    x = rt_build_linear(t->graph, name[1], x, rows, wide, wide, true);
    x = rt_served_vector(t->graph, name[2], RT_OP_GELU, x, RT_NO_INPUT, rows, wide);
    rt_build_linear(t->graph, name[3], x, rows, wide, out, true);
}

static void join_by_widening(const struct tower *t, int64_t out)
{
    static const char *const whole[] = {"join.norm", "join.first", "join.gelu", "join.second"},
                             *const layer[] = {"deep.norm", "deep.first", "deep.gelu", "deep.second"};
    const struct rt_vision_tower *s = t->sizes;
    widen(t, whole, s->hidden, out);
    if (s->deep == 0)
        return;
    rt_graph_add_block(t->graph, "images.deep_join", RT_BLOCK_FIRST, s->deep);
    widen(t, layer, s->merge * s->merge * s->hidden, out);
}

/* Llama 4's adapter and projector. Learned tokens are dropped. */
static void join_by_adapter(const struct tower *t, uint32_t x, int64_t out)
{
    const struct rt_vision_tower *s = t->sizes;
    int64_t joined = s->merge * s->merge, rows = t->pieces * (t->tokens - s->prefix_tokens) / joined;
    x = rt_served_vector(t->graph, "join.shuffle", RT_OP_COPY, x, RT_NO_INPUT, rows, joined * s->hidden);
    x = rt_build_linear(t->graph, "join.first", x, rows, joined * s->hidden, s->inner, false);
    x = rt_served_vector(t->graph, "join.first_gelu", RT_OP_GELU, x, RT_NO_INPUT, rows, s->inner);
    x = rt_build_linear(t->graph, "join.second", x, rows, s->inner, s->out, false);
    x = rt_served_vector(t->graph, "join.second_gelu", RT_OP_GELU, x, RT_NO_INPUT, rows, s->out);
    rt_build_linear(t->graph, "join.project", x, rows, s->out, out, false);
}

/* MiniMax-M3 (MiniMaxM3VLMultiModalProjector): each patch by two products, then neighbours as one. */
static void join_by_projector(const struct tower *t, uint32_t x, int64_t out)
{
    const struct rt_vision_tower *s = t->sizes;
    int64_t joined = s->merge * s->merge, rows = t->rows / joined;
    x = rt_build_linear(t->graph, "join.first", x, t->rows, s->hidden, s->inner, true);
    x = rt_served_vector(t->graph, "join.first_gelu", RT_OP_GELU, x, RT_NO_INPUT, t->rows, s->inner);
    x = rt_build_linear(t->graph, "join.second", x, t->rows, s->inner, out, true);
    x = rt_build_linear(t->graph, "join.merge_first", x, rows, joined * out, s->inner, true);
    x = rt_served_vector(t->graph, "join.merge_gelu", RT_OP_GELU, x, RT_NO_INPUT, rows, s->inner);
    rt_build_linear(t->graph, "join.merge_second", x, rows, s->inner, out, true);
}

/* Gemma: the mean of neighbours, in fp32; a norm, without weights in Gemma 4; one product. */
static void join_by_mean(const struct tower *t, uint32_t x, int64_t out)
{
    int64_t joined = t->sizes->merge * t->sizes->merge, rows = t->rows / joined, h = t->sizes->hidden;
    x = rt_served_vector(t->graph, "join.mean", RT_OP_REDUCE, x, RT_NO_INPUT, rows * h, joined);
    x = rt_served_rmsnorm(t->graph, "join.norm", x, rows, h);
    t->graph->nodes[x].parameters = t->sizes->join_normed ? (double)h : 0;
    rt_build_linear(t->graph, "join.project", x, rows, h, out, false);
}

/* Learned tokens are dropped. */
static void join_by_products(const struct tower *t, uint32_t x, int64_t out)
{
    const struct rt_vision_tower *s = t->sizes;
    int64_t joined = s->merge * s->merge, patches = t->pieces * (t->tokens - s->prefix_tokens),
            rows = patches / joined, width = s->hidden * joined;
    if (s->join_normed)
        x = norm(t, "join.norm", x, patches, s->hidden);
    if (joined > 1)
        x = rt_served_vector(t->graph, "join.shuffle", RT_OP_COPY, x, RT_NO_INPUT, rows, width);
    if (s->join_merges) {
        x = rt_build_linear(t->graph, "join.merge", x, rows, width, s->hidden, false);
        width = s->hidden;
    }
    x = rt_build_linear(t->graph, "join.first", x, rows, width, out, s->join_biased);
    if (s->products < 2)
        return;
    x = rt_served_vector(t->graph, "join.gelu", RT_OP_GELU, x, RT_NO_INPUT, rows, out);
    rt_build_linear(t->graph, "join.second", x, rows, out, out, s->join_biased);
}

/* Weights that a checkpoint has and no step reads. */
static void unread(const struct tower *t, double layer)
{
    const struct rt_vision_tower *s = t->sizes;
    if (s->unread_layers == 0 && !s->unread_norm)
        return;
    rt_graph_add_block(t->graph, "images.unread", RT_BLOCK_FIRST, 1);
    uint32_t node = rt_node_add(t->graph, "unread", RT_NO_INPUT, RT_NO_INPUT, 0);
    t->graph->nodes[node].parameters =
        layer * (double)s->unread_layers + (s->unread_norm ? 2 * (double)s->hidden : 0);
}

static double parameters_from(const struct rt_graph *graph, size_t first)
{
    double sum = 0;
    for (size_t n = first; n < graph->node_count; n++)
        sum += graph->nodes[n].parameters;
    return sum;
}

/* Layers whose attention stays within windows, then those that attend to all. */
static uint32_t layers(const struct tower *t, uint32_t x)
{
    const struct rt_vision_tower *s = t->sizes;
    int64_t across = (s->tile > 0 ? s->tile : t->graph->options.prompt_image_side) / s->patch;
    int64_t windows = s->window > 0 ? rt_build_shard(across, s->window) : 1,
            within = windows > 1 ? s->layers - s->full_layers : 0;
    if (within > 0) {
        rt_graph_add_block(t->graph, "images.window_layer", RT_BLOCK_FIRST, within);
        x = feed_forward(t, attention(t, windows, x));
    }
    if (s->layers == within)
        return x;
    rt_graph_add_block(t->graph, "images.layer", RT_BLOCK_FIRST, s->layers - within);
    return feed_forward(t, attention(t, 1, x));
}

void rt_build_served_tower(const struct rt_model *model, struct rt_graph *graph)
{
    const struct rt_graph_options *o = &graph->options;
    const struct rt_vision_tower *s = &model->vision_tower;
    int64_t side = s->tile > 0 ? s->tile : o->prompt_image_side;
    struct tower t = {s, graph, 0, 0, 0};
    int64_t images = o->batch * o->prompt_images;
    t.pieces = rt_build_shard(images * rt_vision_tower_pieces(s, o->prompt_image_side), o->tensor_parallel);
    t.tokens = (side / s->patch) * (side / s->patch) + s->prefix_tokens;
    t.rows = t.pieces * t.tokens;
    uint32_t x = embed(&t);
    size_t first = graph->node_count;
    x = layers(&t, x);
    unread(&t, parameters_from(graph, first));
    rt_graph_add_block(graph, "images.join", RT_BLOCK_FIRST, 1);
    if (s->last_normed)
        x = norm(&t, "last_norm", x, t.rows, s->hidden);
    if (s->joins == RT_JOIN_WIDENS)
        join_by_widening(&t, model->hidden);
    else if (s->joins == RT_JOIN_PROJECTS)
        join_by_projector(&t, x, model->hidden);
    else if (s->joins == RT_JOIN_ADAPTS)
        join_by_adapter(&t, x, model->hidden);
    else if (s->joins == RT_JOIN_DIRECT)
        join_by_products(&t, x, model->hidden);
    else
        join_by_mean(&t, x, model->hidden);
    if (o->tensor_parallel > 1)
        rt_served_collective(graph, "join.all_gather", RT_OP_ALL_GATHER, (uint32_t)graph->node_count - 1,
                             o->tensor_parallel,
                             images * rt_vision_tower_tokens(s, o->prompt_image_side) * model->hidden);
}
