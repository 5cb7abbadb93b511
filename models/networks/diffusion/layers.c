/* What denoising transformers share. See layers.h. */
#include "models/networks/diffusion/layers.h"
#include "models/networks/build.h"
#include "models/networks/build_node.h"

static int64_t at_least_one(int64_t n)
{
    return n > 1 ? n : 1;
}

static int64_t ulysses(const struct rt_graph *graph)
{
    return at_least_one(graph->options.ulysses);
}

static int64_t ring(const struct rt_graph *graph)
{
    return at_least_one(graph->options.ring);
}

int64_t rt_denoise_parts(const struct rt_graph *graph)
{
    return ulysses(graph) * ring(graph);
}

int64_t rt_denoise_share(const struct rt_graph *graph, int64_t tokens)
{
    return rt_build_shard(tokens, rt_denoise_parts(graph));
}

int64_t rt_denoise_text_share(const struct rt_graph *graph, int64_t tokens)
{
    int64_t parts = rt_denoise_parts(graph);
    return tokens % parts == 0 ? tokens / parts : tokens;
}

/* ---- operators ---- */

uint32_t rt_denoise_move(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, int64_t rows,
                         int64_t cols, double bytes, bool wide)
{
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows * (double)cols);
    graph->nodes[node].fusable = true;
    if (wide)
        graph->nodes[node].dtype = RT_FP32;
    rt_node_add_kernel(graph, RT_FORWARD, op, rows, cols)->bytes = bytes * (double)rows * (double)cols;
    if (rt_node_begin_backward(graph, node)) { /* moves as much */
        if (rt_op_keeps(op) == RT_KEEPS_INPUTS)
            rt_node_save(graph, x);
        rt_node_add_kernel(graph, RT_BACKWARD, op, rows, cols)->bytes = bytes * (double)rows * (double)cols;
    }
    return node;
}

/* x op a vector for each picture, which all of its tokens read: PyTorch's elementwise kernels load what is
 * broadcast, or does not lie in a row, element by element (aten/native/cuda/CUDALoops.cuh: unrolled, with
 * offsets). */
static uint32_t broadcast(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, uint32_t z,
                          struct rt_tokens of)
{
    uint32_t node = rt_build_binary(graph, name, op, x, z, rt_tokens_rows(of), of.width, of.batch * of.width);
    graph->kernels[graph->kernel_count - 1].scalar_loads = !graph->options.fusion;
    return node;
}

static uint32_t strided(struct rt_graph *graph, uint32_t node)
{
    graph->kernels[graph->kernel_count - 1].scalar_loads = !graph->options.fusion;
    return node;
}

static bool is_narrow(const struct rt_graph *graph)
{
    return rt_dtypes[graph->options.dtype].bytes < 4;
}

/* To fp32, and back: no kernels where all is. */
static uint32_t widen(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    return is_narrow(graph) ? rt_denoise_move(graph, name, RT_OP_COPY, x, rows, cols, 6, true) : x;
}

static uint32_t narrow(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    if (!is_narrow(graph))
        return x;
    x = rt_denoise_move(graph, name, RT_OP_COPY, x, rows, cols, 6, false);
    graph->nodes[x].dtype = graph->options.dtype;
    return x;
}

void rt_denoise_modulation(struct rt_graph *graph, const char *name, int64_t batch, int64_t in, int64_t width,
                           int64_t chunks)
{
    uint32_t time = rt_build_unary(graph, "silu", RT_OP_SILU, RT_NO_INPUT, batch, in);
    rt_build_linear(graph, name, time, batch, in, chunks * width, true);
}

struct rt_tokens rt_denoise_scale_shift(struct rt_graph *graph, struct rt_tokens x)
{
    uint32_t scale = rt_build_unary(graph, "scale.one", RT_OP_ADD_SCALAR, RT_NO_INPUT, x.batch, x.width);
    x.node = broadcast(graph, "scale", RT_OP_MUL, x.node, scale, x);
    x.node = broadcast(graph, "shift", RT_OP_ADD, x.node, RT_NO_INPUT, x);
    return x;
}

struct rt_tokens rt_denoise_wide_norm(struct rt_graph *graph, const char *name, struct rt_tokens x)
{
    int64_t rows = rt_tokens_rows(x);
    x.node = widen(graph, "norm.float", x.node, rows, x.width);
    x.node = rt_build_layernorm(graph, name, x.node, rows, x.width);
    if (is_narrow(graph))
        graph->nodes[x.node].dtype = RT_FP32;
    x.node = narrow(graph, "norm.cast", x.node, rows, x.width);
    return x;
}

struct rt_tokens rt_denoise_modulate(struct rt_graph *graph, const char *name, struct rt_tokens x, bool wide)
{
    int64_t rows = rt_tokens_rows(x);
    if (wide)
        x.node = widen(graph, "norm.float", x.node, rows, x.width);
    x.node = rt_build_layernorm_of(graph, name, x.node, rows, x.width, 0);
    x = rt_denoise_scale_shift(graph, x);
    if (wide)
        x.node = narrow(graph, "norm.cast", x.node, rows, x.width);
    return x;
}

struct rt_tokens rt_denoise_gated_add(struct rt_graph *graph, const char *name, struct rt_tokens x,
                                      struct rt_tokens y)
{
    y.node = broadcast(graph, "gate", RT_OP_MUL, y.node, RT_NO_INPUT, x);
    return rt_tokens_add(graph, name, x, y);
}

uint32_t rt_denoise_rms(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols,
                        int64_t weights)
{
    double width = rt_dtypes[graph->options.dtype].bytes;
    uint32_t y = widen(graph, "rms.float", x, rows, cols);
    y = rt_denoise_move(graph, "rms.square", RT_OP_POW_SCALAR, y, rows, cols, 8, true);
    y = rt_build_mean(graph, "rms.mean", y, rows, cols);
    y = rt_build_unary(graph, "rms.eps", RT_OP_ADD_SCALAR, y, rows, 1);
    y = rt_build_unary(graph, "rms.rsqrt", RT_OP_RSQRT, y, rows, 1);
    y = rt_build_binary(graph, "rms.scale", RT_OP_MUL, x, y, rows, cols, rows);
    y = narrow(graph, "rms.cast", y, rows, cols);
    y = rt_denoise_move(graph, name, RT_OP_MUL, y, rows, cols, 2 * width, false);
    graph->nodes[y].parameters = (double)weights;
    return y;
}

uint32_t rt_denoise_rotary(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    double width = rt_dtypes[graph->options.dtype].bytes;
    uint32_t turned = strided(graph, rt_denoise_move(graph, "rotary.negate", RT_OP_MUL_SCALAR, x, rows,
                                                     cols / 2, 2 * width, false));
    turned = rt_denoise_move(graph, "rotary.stack", RT_OP_CONCAT, turned, rows, cols, 2 * width, false);
    uint32_t y = widen(graph, "rotary.float", x, rows, cols);
    y = rt_denoise_move(graph, "rotary.cos", RT_OP_MUL, y, rows, cols, 8, true);
    turned = widen(graph, "rotary.float_turned", turned, rows, cols);
    turned = rt_denoise_move(graph, "rotary.sin", RT_OP_MUL, turned, rows, cols, 8, true);
    y = rt_build_binary(graph, "rotary.add", RT_OP_ADD, y, turned, rows, cols, rows * cols);
    return narrow(graph, name, y, rows, cols);
}

/* ---- attention ---- */

uint32_t rt_denoise_copy(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    double width = rt_dtypes[graph->options.dtype].bytes;
    return strided(graph, rt_denoise_move(graph, name, RT_OP_COPY, x, rows, cols, 2 * width, false));
}

/* What each GPU sends of its tokens' heads, and gets of its heads' tokens; the buffers are laid out by GPU
 * before and by token behind it, a copy each (DeepSpeed-Ulysses, Jacobs et al. 2023; yunchang's
 * SeqAllToAll4D, which xDiT's long-context attention calls for a group of one GPU, too: what `back` turns is
 * copied always, else a batch of one lies in order). */
uint32_t rt_denoise_exchange(struct rt_graph *graph, const char *name, uint32_t x, struct rt_tokens of,
                             bool long_context, bool back)
{
    int64_t gpus = ulysses(graph), rows = rt_tokens_rows(of);
    bool turned = back || of.batch > 1;
    if (gpus == 1 && !long_context)
        return x;
    if (gpus > 1 || turned)
        x = rt_denoise_copy(graph, "ulysses.pack", x, rows, of.width);
    if (gpus > 1) {
        x = rt_node_add(graph, name, x, RT_NO_INPUT, (double)rows * (double)of.width);
        rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_ALL_TO_ALL, (const int64_t[]){gpus, rows * of.width});
        graph->kernels[graph->kernel_count - 1].group = RT_GROUP_CONTEXT;
    }
    return turned || !long_context ? rt_denoise_copy(graph, "ulysses.unpack", x, rows, of.width) : x;
}

/* xDiT's cache joins keys and values and parts them again (CacheManager of xfuser 0.4). */
uint32_t rt_denoise_cache(struct rt_graph *graph, uint32_t k, struct rt_tokens of)
{
    int64_t rows = rt_tokens_rows(of);
    double width = rt_dtypes[graph->options.dtype].bytes;
    k = rt_denoise_move(graph, "cache.cat", RT_OP_CONCAT, k, rows, 2 * of.width, 2 * width, false);
    rt_denoise_copy(graph, "cache.v", k, rows, of.width);
    return rt_denoise_copy(graph, "cache.k", k, rows, of.width);
}

static bool fuses(const struct rt_graph *graph)
{
    return rt_graph_fuses_attention(&graph->options) && is_narrow(graph);
}

/* Queries attend to keys, in one kernel or written out. */
static uint32_t one_attention(struct rt_graph *graph, const char *name, const uint32_t qkv[3], int64_t batch,
                              int64_t queries, int64_t keys, int64_t heads, int64_t head_dim)
{
    double outputs = (double)batch * (double)queries * (double)(heads * head_dim);
    int64_t groups = batch * heads;
    const int64_t dim[] = {batch, queries, heads, head_dim, keys};
    if (fuses(graph)) {
        uint32_t node = rt_build_fused_attention(
            graph, name, qkv[0], qkv[1], qkv[2],
            queries == keys ? RT_OP_ATTENTION_ENCODER : RT_OP_ATTENTION_CROSS, dim, outputs);
        for (uint32_t k = graph->nodes[node].kernel; k < graph->kernel_count; k++)
            graph->kernels[k].flash2 = true; /* PyTorch's, and of the package flash-attn */
        return node;
    }
    uint32_t s = rt_build_bmm(graph, "attn.scores", qkv[0], qkv[1], groups, queries, head_dim, keys);
    s = rt_build_softmax(graph, "attn.softmax", s, groups * queries, keys);
    return rt_build_bmm(graph, "attn.values", s, qkv[2], groups, queries, keys, head_dim);
}

/* What a round adds to the sums of those before it, in fp32: their weights by the logarithms of sums, the
 * difference, its product, the sum (Liu et al., Ring Attention, 2023; update_out_and_lse of yunchang). */
static uint32_t merge(struct rt_graph *graph, uint32_t sum, uint32_t part, int64_t rows, int64_t cols)
{
    part = widen(graph, "ring.float", part, rows, cols);
    uint32_t y = rt_build_binary(graph, "ring.difference", RT_OP_ADD, sum, part, rows, cols, rows * cols);
    y = rt_denoise_move(graph, "ring.weigh", RT_OP_MUL, y, rows, cols, 8, true);
    return rt_build_binary(graph, "ring.add", RT_OP_ADD, sum, y, rows, cols, rows * cols);
}

void rt_denoise_pass_on(struct rt_graph *graph, uint32_t x, int64_t elements)
{
    rt_node_add(graph, "ring.pass", x, RT_NO_INPUT, (double)elements);
    rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_SEND_RECEIVE, (const int64_t[]){2, elements});
    graph->kernels[graph->kernel_count - 1].group = RT_GROUP_CONTEXT;
}

/* Keys and values go round: while attention to those before them runs, but NCCL's kernels take
 * multiprocessors from it meanwhile, and a round ends with both, so messages count in full. Text's are beside
 * the last round's. */
static uint32_t rounds(struct rt_graph *graph, const char *name, const uint32_t qkv[3], int64_t batch,
                       int64_t tokens, int64_t queries, const struct rt_denoise_attention *shape)
{
    int64_t rows = batch * queries, cols = shape->heads * shape->head_dim;
    uint32_t sum = RT_NO_INPUT;
    for (int64_t r = 0; r < ring(graph); r++) {
        int64_t keys = tokens + (r + 1 == ring(graph) ? shape->text : 0);
        uint32_t part = one_attention(graph, name, qkv, batch, queries, keys, shape->heads, shape->head_dim);
        if (ring(graph) == 1 && !shape->long_context)
            return part;
        if (r + 1 < ring(graph))
            rt_denoise_pass_on(graph, qkv[1], 2 * batch * tokens * cols);
        sum = r == 0 ? widen(graph, "ring.first", part, rows, cols) : merge(graph, sum, part, rows, cols);
    }
    return narrow(graph, "ring.cast", sum, rows, cols);
}

uint32_t rt_denoise_attend(struct rt_graph *graph, const char *name, const uint32_t qkv[3],
                           struct rt_tokens x, const struct rt_denoise_attention *shape)
{
    static const char *const names[] = {"ulysses.q", "ulysses.k", "ulysses.v"};
    struct rt_denoise_attention mine = *shape;
    int64_t parts = ulysses(graph), text = shape->text;
    struct rt_tokens with_text = x;
    uint32_t nodes[3];
    mine.long_context &= rt_denoise_parts(graph) > 1;
    with_text.count += mine.long_context ? text : 0;
    for (int i = 0; i < 3; i++)
        nodes[i] =
            rt_denoise_exchange(graph, names[i], qkv[i], i == 0 ? with_text : x, mine.long_context, false);
    if (mine.long_context && mine.cached)
        nodes[1] = rt_denoise_cache(graph, nodes[1], x);
    mine.heads = rt_build_shard(shape->heads, parts);
    /* the text's queries are exchanged with the image's: each GPU has those of all */
    uint32_t y = rounds(graph, name, nodes, x.batch, x.count * parts,
                        x.count * parts + text * (mine.long_context ? parts : 1), &mine);
    return rt_denoise_exchange(graph, "ulysses.out", y, with_text, mine.long_context, true);
}

uint32_t rt_denoise_attend_text(struct rt_graph *graph, const char *name, uint32_t q, uint32_t k, uint32_t v,
                                struct rt_tokens x, int64_t keys, int64_t heads, int64_t head_dim)
{
    return one_attention(graph, name, (const uint32_t[]){q, k, v}, x.batch, x.count, keys, heads, head_dim);
}

/* ---- feed-forward, times ---- */

struct rt_tokens rt_denoise_feed_forward(struct rt_graph *graph, const char *name, struct rt_tokens x,
                                         int64_t inner, enum rt_denoise_activation activation)
{
    int64_t width = x.width, rows = rt_tokens_rows(x);
    bool gated = activation == RT_DENOISE_GEGLU;
    struct rt_tokens y = rt_tokens_linear(graph, "ff.in", x, gated ? 2 * inner : inner, true);
    y.width = inner;
    uint32_t first = y.node;
    y.node = rt_build_unary(graph, "ff.act", activation == RT_DENOISE_SILU ? RT_OP_SILU : RT_OP_GELU, y.node,
                            rows, inner);
    if (gated)
        y.node = rt_build_binary(graph, "ff.gate", RT_OP_MUL, y.node, first, rows, inner, rows * inner);
    return rt_tokens_linear(graph, name, y, width, true);
}

void rt_denoise_time(struct rt_graph *graph, const char *name, int64_t batch, int64_t in, int64_t width)
{
    uint32_t x = rt_build_unary(graph, "sinusoids", RT_OP_MUL_SCALAR, RT_NO_INPUT, batch, in);
    x = rt_build_linear(graph, name, x, batch, in, width, true);
    x = rt_build_unary(graph, "time.silu", RT_OP_SILU, x, batch, width);
    rt_build_linear(graph, name, x, batch, width, width, true);
}
