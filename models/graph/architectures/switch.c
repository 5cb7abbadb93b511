/* Switch Transformer as Hugging Face runs it: T5 in which every so-manieth feed-forward layer is a router and
 * experts. Experts run one after the other, each over its whole capacity (rows without a token are zeros):
 * how the published measurements were made, and what does not depend on the tokens. Routers of all layers
 * are read once more for two auxiliary losses, at inference too. */
#include "models/graph/build.h"
#include "models/graph/architectures/config.h"
#include "models/graph/architectures/t5.h"
#include "base/status.h"

#include <inttypes.h>

static const struct rt_config_key keys[] = {
    RT_T5_KEYS,
    RT_MODEL_KEY("num_experts", RT_KEY_SIZE, experts, false, 8),
    RT_MODEL_KEY("expert_capacity", RT_KEY_SIZE, capacity, false, 64),
    RT_MODEL_KEY("encoder_sparse_step", RT_KEY_COUNT0, encoder_sparse_step, false, -1),
    RT_MODEL_KEY("decoder_sparse_step", RT_KEY_COUNT0, decoder_sparse_step, false, -1),
    RT_MODEL_KEY("num_sparse_encoder_layers", RT_KEY_COUNT0, sparse_layers, false, -1),
    RT_MODEL_KEY("num_sparse_decoder_layers", RT_KEY_COUNT0, sparse_decoder_layers, false, -1),
    {0},
};

#define MOST_EXPERTS 4096 /* Switch-C has 2048; each is a few nodes of the graph */
#define MOST_STEP    64   /* so many layers are nodes of one block */
#define FEW_SPARSE   3    /* Hugging Face's default */

/* Which layers are sparse: all whose number leaves 1 when divided by the step. Hugging Face computes the step
 * from the number of sparse layers where that is given; configs hold both. */
static int complete_step(int64_t *step, int64_t sparse, int64_t layers, const char *stack, const char *where)
{
    if (sparse < 0 && *step < 0)
        sparse = layers < FEW_SPARSE ? layers : FEW_SPARSE;
    if (sparse > layers)
        return rt_fail(RT_EFORMAT,
                       "%s: \"num_sparse_%s_layers\" is %" PRId64 " of %" PRId64 " layers; correct either",
                       where, stack, sparse, layers);
    if (sparse >= 0)
        *step = sparse == 0 ? 0 : layers / sparse;
    if (*step > MOST_STEP)
        return rt_fail(RT_EFORMAT,
                       "%s: one %s layer in %" PRId64 " is sparse; at most one in %d can be built here, so "
                       "correct \"%s_sparse_step\"",
                       where, stack, *step, MOST_STEP, stack);
    return RT_OK;
}

static int complete(struct rt_model *model, const char *where)
{
    int status = rt_t5_complete(model, where);
    if (status == RT_OK && model->experts > MOST_EXPERTS)
        status =
            rt_fail(RT_EFORMAT, "%s: \"num_experts\" is %" PRId64 "; it must lie in 1..%d, so correct it",
                    where, model->experts, MOST_EXPERTS);
    if (status == RT_OK)
        status =
            complete_step(&model->encoder_sparse_step, model->sparse_layers, model->layers, "encoder", where);
    if (status == RT_OK)
        status = complete_step(&model->decoder_sparse_step, model->sparse_decoder_layers,
                               model->decoder_layers, "decoder", where);
    return status;
}

/* Probabilities (rows, experts); each token's expert as a one-hot row, zero beyond the capacity. */
static void router(const struct rt_model *model, struct rt_graph *graph, uint32_t x, uint32_t *probabilities,
                   uint32_t *chosen)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden, experts = model->experts;
    if (rt_build_training(graph)) {
        uint32_t noise = rt_build_constant(graph, "router.noise", RT_OP_FILL, RT_NO_INPUT, s.rows, h);
        x = rt_build_binary(graph, "router.jitter", RT_OP_MUL, x, noise, s.rows, h, s.rows * h);
    }
    x = rt_build_linear(graph, "router", x, s.rows, h, experts, false);
    x = rt_build_softmax(graph, "router.softmax", x, s.rows, experts);
    *probabilities = x;
    uint32_t one_hot = rt_build_constant(graph, "router.one_hot", RT_OP_INDEX, x, s.rows, experts);
    x = rt_build_constant(graph, "router.cumsum", RT_OP_COPY, one_hot, s.rows, experts);
    *chosen =
        rt_build_binary(graph, "router.capacity", RT_OP_MUL, one_hot, x, s.rows, experts, s.rows * experts);
}

uint32_t rt_switch_experts(const struct rt_model *model, struct rt_graph *graph, uint32_t x)
{
    static const struct rt_t5_names name = {"expert.up", "expert.gate", "expert.product", "expert.dropout",
                                            "expert.down"};
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden, places = s.batch * (s.queries < model->capacity ? s.queries : model->capacity);
    uint32_t probabilities = 0, chosen = 0;
    router(model, graph, x, &probabilities, &chosen);
    x = rt_build_all_reduce(graph, "experts.gradient_all_reduce", x, s.rows * h, false, true);
    uint32_t out = rt_build_move(graph, "experts.clone", RT_OP_COPY, x, s.rows, h, 0);
    uint32_t zeros = rt_build_constant(graph, "experts.zeros", RT_OP_FILL, RT_NO_INPUT, places, h);
    for (int64_t e = 0; e < model->experts; e++) {
        uint32_t y = rt_build_move(graph, "expert.gather", RT_OP_INDEX, x, places, h, 0);
        rt_graph_add_input(graph, chosen);
        rt_graph_add_input(graph, zeros);
        y = rt_t5_feed_forward(model, graph, &name, y, places);
        y = rt_build_move(graph, "expert.scatter", RT_OP_INDEX, y, places, h, 0);
        rt_graph_add_input(graph, out);
        out = y;
    }
    return rt_build_binary(graph, "experts.weigh", RT_OP_MUL, out, probabilities, s.rows, h, s.rows);
}

/* z loss: mean of logsumexp(logits)^2. Load balancing: for each expert the share of tokens that it got times
 * the mean of its probability. */
void rt_switch_losses(const struct rt_model *model, struct rt_graph *graph, int64_t layers)
{
    if (layers == 0 || graph->options.step == RT_STEP_DECODE)
        return;
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t experts = model->experts, tokens = s.queries * layers, rows = s.batch * tokens;
    uint32_t logits = rt_build_move(graph, "losses.cat", RT_OP_COPY, RT_NO_INPUT, rows, experts, 0);
    uint32_t x = rt_build_move(graph, "losses.logsumexp", RT_OP_REDUCE, logits, rows, experts, 0);
    graph->nodes[x].outputs = (double)rows;
    x = rt_build_unary(graph, "losses.square", RT_OP_POW_SCALAR, x, s.batch, tokens);
    x = rt_build_move(graph, "losses.sum", RT_OP_REDUCE, x, s.batch, tokens, 0);
    graph->nodes[x].outputs = 1;
    x = rt_build_softmax(graph, "losses.softmax", logits, rows, experts);
    x = rt_build_move(graph, "losses.mean_probability", RT_OP_REDUCE, x, rows, experts, 0);
    graph->nodes[x].outputs = (double)s.batch * experts;
    uint32_t share = rt_build_constant(graph, "losses.one_hot", RT_OP_FILL, RT_NO_INPUT, rows, experts);
    share = rt_build_constant(graph, "losses.mean_share", RT_OP_REDUCE, share, rows, experts);
    graph->nodes[share].outputs = (double)s.batch * experts;
    rt_build_binary(graph, "losses.balance", RT_OP_MUL, share, x, s.batch, experts, s.batch * experts);
}

const struct rt_architecture rt_switch = {"switch_transformers", "Switch Transformer", keys, complete,
                                          rt_t5_build};
