/* Text encoders, whose prompts are padded to a fixed length: rows of the sizes in their config.json, and one
 * layer of each kind as transformers runs it (modeling_clip.py, modeling_t5.py, modeling_bert.py,
 * modeling_llama.py, modeling_gemma2.py). */
#include "models/networks/diffusion/text.h"
#include "base/status.h"
#include "models/networks/build.h"

#include <stdlib.h>
#include <string.h>

enum {
    RMS = 1,       /* RMS norms, written out, and no biases; else layer norms with biases */
    GATED = 2,     /* the feed-forward multiplies two products */
    BIASED = 4,    /* scores get a bias by distance, so attention is written out (T5) */
    BIAS_EACH = 8, /* each layer has a table of its own (UMT5) */
    ROTARY = 16,
    FOUR_NORMS = 32, /* (Gemma 2) */
    POOLED = 64,     /* a product over one token behind the last norm (BERT) */
    NO_LAST_NORM = 128,
    NORM_INPUT = 256, /* embeddings are normed (BERT) */
    QUICK = 512,      /* x sigmoid(1.702 x) */
};

struct rt_text_encoder {
    const char *name;
    int64_t width, layers, heads, kv_heads, head_dim, ffn, vocab;
    int64_t positions; /* rows of learned tables that are added: of positions and kinds of tokens */
    int64_t projection;
    int traits;
};

enum { BUCKETS = 32 }; /* of T5's distances */

struct rows {
    struct rt_graph *graph;
    const struct rt_text_encoder *e;
    int64_t batch, tokens, rows;
};

static uint32_t norm(const struct rows *r, const char *name, uint32_t x)
{
    return r->e->traits & RMS ? rt_build_rmsnorm(r->graph, x, r->rows, r->e->width)
                              : rt_build_layernorm(r->graph, name, x, r->rows, r->e->width);
}

static uint32_t linear(const struct rows *r, const char *name, uint32_t x, int64_t in, int64_t out)
{
    return rt_build_linear(r->graph, name, x, r->rows, in, out, (r->e->traits & RMS) == 0);
}

static uint32_t add(const struct rows *r, const char *name, uint32_t x, uint32_t y)
{
    return rt_build_binary(r->graph, name, RT_OP_ADD, x, y, r->rows, r->e->width, r->rows * r->e->width);
}

/* Scores and their bias, a table's entries for each pair. */
static uint32_t written_out(const struct rows *r, uint32_t q, uint32_t k, uint32_t v)
{
    const struct rt_text_encoder *e = r->e;
    int64_t groups = r->batch * e->heads, pairs = r->tokens * r->tokens;
    uint32_t s = rt_build_bmm(r->graph, "attn.scores", q, k, groups, r->tokens, e->head_dim, r->tokens);
    s = rt_build_binary(r->graph, "attn.bias", RT_OP_ADD, s, RT_NO_INPUT, groups * r->tokens, r->tokens,
                        e->heads * pairs);
    if (e->traits & BIAS_EACH)
        r->graph->nodes[s].parameters = (double)(BUCKETS * e->heads);
    s = rt_build_softmax(r->graph, "attn.softmax", s, groups * r->tokens, r->tokens);
    return rt_build_bmm(r->graph, "attn.values", s, v, groups, r->tokens, r->tokens, e->head_dim);
}

static uint32_t attention(const struct rows *r, uint32_t x)
{
    const struct rt_text_encoder *e = r->e;
    int64_t wide = e->heads * e->head_dim, narrow = e->kv_heads * e->head_dim;
    bool fused = rt_graph_fuses_attention(&r->graph->options) && (e->traits & BIASED) == 0 &&
                 rt_dtypes[r->graph->options.dtype].bytes < 4;
    uint32_t q = linear(r, "attn.q", x, e->width, wide), k = linear(r, "attn.k", x, e->width, narrow),
             v = linear(r, "attn.v", x, e->width, narrow);
    if (e->traits & ROTARY) {
        q = rt_build_unary(r->graph, "attn.rotary_q", RT_OP_MUL_SCALAR, q, r->rows, wide);
        k = rt_build_unary(r->graph, "attn.rotary_k", RT_OP_MUL_SCALAR, k, r->rows, narrow);
    }
    if (fused)
        q = rt_build_fused_attention(r->graph, "attn", q, k, v, RT_OP_ATTENTION_ENCODER,
                                     (const int64_t[]){r->batch, r->tokens, e->heads, e->head_dim},
                                     (double)r->rows * (double)wide);
    else
        q = written_out(r, q, k, v);
    return linear(r, "attn.out", q, wide, e->width);
}

static uint32_t feed_forward(const struct rows *r, uint32_t x)
{
    const struct rt_text_encoder *e = r->e;
    enum rt_activation_kind kind = e->traits & QUICK ? RT_ACT_QUICK_GELU : RT_ACT_GELU;
    uint32_t y = linear(r, "mlp.fc1", x, e->width, e->ffn);
    if (e->traits & GATED) {
        uint32_t up = linear(r, "mlp.up", x, e->width, e->ffn);
        y = rt_build_activation(r->graph, kind, y, r->rows, e->ffn);
        y = rt_build_binary(r->graph, "mlp.gate", RT_OP_MUL, y, up, r->rows, e->ffn, r->rows * e->ffn);
    } else {
        y = rt_build_activation(r->graph, kind, y, r->rows, e->ffn);
    }
    return linear(r, "mlp.fc2", y, e->ffn, e->width);
}

static uint32_t layer(const struct rows *r, uint32_t x)
{
    bool four = (r->e->traits & FOUR_NORMS) != 0;
    uint32_t y = attention(r, norm(r, "norm1", x));
    x = add(r, "add1", x, four ? norm(r, "norm1.post", y) : y);
    y = feed_forward(r, norm(r, "norm2", x));
    return add(r, "add2", x, four ? norm(r, "norm2.post", y) : y);
}

/* "text clip-l", "text clip-l layers" */
static void block(const struct rows *r, const char *of, int64_t repeat, int64_t distinct)
{
    char *name = rt_format("%s %s%s", rt_diffusion_parts[RT_DIFFUSION_TEXT], r->e->name, of);
    const char *kept = rt_graph_text(r->graph, name, strlen(name));
    free(name);
    rt_graph_add_block(r->graph, kept, RT_BLOCK_FIRST, repeat);
    r->graph->blocks[r->graph->block_count - 1].distinct = distinct;
}

static uint32_t embed(const struct rows *r)
{
    const struct rt_text_encoder *e = r->e;
    uint32_t x = rt_build_embedding(r->graph, "embed", r->rows, e->vocab, e->width);
    if (e->positions > 0) {
        x = rt_build_binary(r->graph, "positions", RT_OP_ADD, x, RT_NO_INPUT, r->rows, e->width,
                            r->tokens * e->width);
        r->graph->nodes[x].parameters = (double)(e->positions * e->width);
    }
    if ((e->traits & (BIASED | BIAS_EACH)) == BIASED)
        r->graph->nodes[x].parameters += (double)(BUCKETS * e->heads);
    return e->traits & NORM_INPUT ? norm(r, "norm", x) : x;
}

static void finish(const struct rows *r, uint32_t x)
{
    const struct rt_text_encoder *e = r->e;
    if ((e->traits & NO_LAST_NORM) == 0)
        x = norm(r, "norm", x);
    if (e->traits & POOLED)
        x = rt_build_linear(r->graph, "pooler", x, r->batch, e->width, e->width, true);
    if (e->projection > 0)
        rt_build_linear(r->graph, "projection", x, r->batch, e->width, e->projection, false);
}

/* Prompts are encoded one kind after the other: the prompt, then the empty or negative one. */
void rt_text_encoder_build(const struct rt_text_use *use, struct rt_graph *graph, int64_t batch,
                           int64_t prompts)
{
    struct rows r = {graph, use->encoder, batch, use->tokens, batch * use->tokens};
    block(&r, "", prompts, 1);
    uint32_t x = embed(&r);
    block(&r, " layers", prompts * r.e->layers, r.e->layers);
    x = layer(&r, x);
    bool ends = (r.e->traits & (NO_LAST_NORM | POOLED)) != NO_LAST_NORM || r.e->projection > 0;
    if (!ends)
        return;
    block(&r, " last", prompts, 1);
    finish(&r, x);
}

/* clang-format off */
/*                                          name             width layers heads kv  dim  ffn    vocab   positions projection */
const struct rt_text_encoder rt_text_clip_l           = {"clip-l",        768, 12, 12, 12,  64,  3072,  49408,  77,    0, QUICK}; /* openai/clip-vit-large-patch14 */
const struct rt_text_encoder rt_text_clip_l_projected = {"clip-l",        768, 12, 12, 12,  64,  3072,  49408,  77,  768, QUICK}; /* SD3's text_encoder */
const struct rt_text_encoder rt_text_openclip_h       = {"openclip-h",   1024, 23, 16, 16,  64,  4096,  49408,  77,    0, 0};     /* SD2's: the last layer but one */
const struct rt_text_encoder rt_text_openclip_bigg    = {"openclip-bigg",1280, 32, 20, 20,  64,  5120,  49408,  77, 1280, 0};     /* SDXL's text_encoder_2 */
const struct rt_text_encoder rt_text_t5_xxl           = {"t5-xxl",       4096, 24, 64, 64,  64, 10240,  32128,   0,    0, RMS | GATED | BIASED}; /* google/t5-v1_1-xxl */
const struct rt_text_encoder rt_text_umt5_xxl         = {"umt5-xxl",     4096, 24, 64, 64,  64, 10240, 256384,   0,    0, RMS | GATED | BIASED | BIAS_EACH}; /* google/umt5-xxl */
const struct rt_text_encoder rt_text_mt5_xl           = {"mt5-xl",       2048, 24, 32, 32,  64,  5120, 250112,   0,    0, RMS | GATED | BIASED}; /* HunyuanDiT's text_encoder_2 */
const struct rt_text_encoder rt_text_bert_l           = {"bert-l",       1024, 24, 16, 16,  64,  4096,  47020, 514,    0, NORM_INPUT | NO_LAST_NORM | POOLED}; /* HunyuanDiT's text_encoder */
const struct rt_text_encoder rt_text_gemma2_2b        = {"gemma-2-2b",   2304, 26,  8,  4, 256,  9216, 256000,   0,    0, RMS | GATED | ROTARY | FOUR_NORMS}; /* SANA's */
const struct rt_text_encoder rt_text_llama3_8b        = {"llama-3-8b",   4096, 32, 32,  8, 128, 14336, 128320,   0,    0, RMS | GATED | ROTARY}; /* HunyuanVideo's */
/* clang-format on */
