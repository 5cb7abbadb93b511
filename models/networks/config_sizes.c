/* Sizes of a model that follow from several keys of its config.json, and their limits. See config.h. */
#include "models/networks/config.h"
#include "base/status.h"
#include "datasets/run_attributes.h"
#include "models/networks/architectures/architecture.h"
#include "models/networks/model_graph.h"

#include <inttypes.h>
#include <math.h>

#define MOST_PARAMETERS 1e15 /* a typing error, not a model */
#define MOST_EXPERTS    4096 /* Switch-C has 2048; each is a few nodes of the graph */
#define MOST_STEP       64   /* layers that are nodes of one block */
#define SPARSE_LAYERS   3    /* of a Switch Transformer whose config has no number of them */

/* Latent attention: a head of queries and keys has columns without and with positions. */
static void complete_latent(struct rt_model *model)
{
    if (model->latent.kv_rank > 0) {
        model->head_dim = model->latent.nope_dim + model->latent.rope_dim;
        model->rotary.dim = model->latent.rope_dim;
    } else if (model->value_dim < 1) {
        model->value_dim = model->head_dim;
    }
    if (model->latent.q_rank < 0)
        model->latent.q_rank = 0;
}

static int complete_rotary(struct rt_model *model, const char *where)
{
    if (model->rotary.dim < 0)
        model->rotary.dim = model->head_dim * model->rotary.share / 1000;
    if (model->rotary.dim > model->head_dim)
        return rt_fail(RT_EFORMAT,
                       "%s: \"rotary_dim\" is %" PRId64 " of heads that are %" PRId64 " wide; correct either",
                       where, model->rotary.dim, model->head_dim);
    if (model->rotary.dim % 2 != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: a head is %" PRId64 " wide, and rotary embedding turns pairs of %" PRId64
                       " of its columns; correct the hidden "
                       "size, the heads or \"head_dim\"",
                       where, model->head_dim, model->rotary.dim);
    return RT_OK;
}

static int complete_heads(struct rt_model *model, const char *where)
{
    if (model->latent.kv_rank > 0)
        complete_latent(model);
    if (model->head_dim < 1) {
        if (model->hidden % model->heads != 0)
            return rt_fail(RT_EFORMAT,
                           "%s: %" PRId64 " heads do not divide the hidden size %" PRId64
                           "; correct either, or give \"head_dim\"",
                           where, model->heads, model->hidden);
        model->head_dim = model->hidden / model->heads;
    }
    if (model->kv_heads < 1)
        model->kv_heads = model->heads;
    if (model->heads % model->kv_heads != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: %" PRId64 " key-value heads do not divide %" PRId64 " heads; correct either",
                       where, model->kv_heads, model->heads);
    if (model->decoder.heads > 0 && model->hidden % model->decoder.heads != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: %" PRId64 " heads of the decoder do not divide the hidden size %" PRId64
                       "; correct either",
                       where, model->decoder.heads, model->hidden);
    complete_latent(model);
    return complete_rotary(model, where);
}

/* Which layers are sparse: those whose number leaves 1 when divided by the step. As in transformers the step
 * is what the config says, else layers / sparse layers. */
static int complete_step(int64_t *step, int64_t sparse, int64_t layers, const char *stack, const char *where)
{
    if (sparse > layers)
        return rt_fail(RT_EFORMAT,
                       "%s: \"num_sparse_%s_layers\" is %" PRId64 " of %" PRId64 " layers; correct either",
                       where, stack, sparse, layers);
    if (sparse < 0)
        sparse = SPARSE_LAYERS;
    if (*step < 0)
        *step = sparse == 0 ? 0 : layers / sparse;
    if (*step > MOST_STEP)
        return rt_fail(RT_EFORMAT,
                       "%s: one %s layer in %" PRId64 " is sparse; at most one in %d can be built here, so "
                       "correct \"%s_sparse_step\"",
                       where, stack, *step, MOST_STEP, stack);
    return RT_OK;
}

/* Of decoders: every `sparse_step`-th layer has experts, but for those listed as dense. */
static int complete_topk(struct rt_model *model, const char *where)
{
    int64_t step = model->experts.step > 1 ? model->experts.step : 1;
    if (model->experts.topk > model->experts.count)
        return rt_fail(RT_EFORMAT,
                       "%s: each token goes to %" PRId64 " of %" PRId64
                       " experts; correct \"num_experts_per_tok\"",
                       where, model->experts.topk, model->experts.count);
    model->experts.dense_layers += model->layers - model->layers / step;
    if (model->experts.shared_width < 1)
        model->experts.shared_width = model->experts.shared * model->experts.width;
    if (model->experts.dense_layers >= model->layers)
        return rt_fail(RT_EFORMAT,
                       "%s: no layer has experts; correct \"decoder_sparse_step\" or \"mlp_only_layers\"",
                       where);
    return RT_OK;
}

static int complete_experts(struct rt_model *model, const char *where)
{
    bool layered = model->layered.kind_count > 0;
    if (model->architecture->sparse == NULL && !layered)
        return RT_OK;
    if (model->experts.count > MOST_EXPERTS)
        return rt_fail(RT_EFORMAT, "%s: \"num_experts\" is %" PRId64 "; it must lie in 1..%d, so correct it",
                       where, model->experts.count, MOST_EXPERTS);
    if (layered)
        return RT_OK;
    if (model->experts.topk > 0)
        return complete_topk(model, where);
    int status = complete_step(&model->experts.encoder_step, model->experts.encoder_layers, model->layers,
                               "encoder", where);
    if (status == RT_OK)
        status = complete_step(&model->experts.decoder_step, model->experts.decoder_layers,
                               model->decoder.layers, "decoder", where);
    return status;
}

/* How many layers attend to all tokens where others do not, or have no rotary positions where others do; 0:
 * all are alike. */
static void complete_windows(struct rt_model *model)
{
    bool windows = model->reach.window > 0 || model->reach.chunk > 0;
    if (!windows && model->rotary.unrotated != RT_UNROTATED_ALWAYS)
        model->reach.full_layers = 0;
    else if (model->reach.full_layers < 0)
        model->reach.full_layers =
            model->reach.full_period > 0 ? model->layers / model->reach.full_period : 0;
    if (model->reach.full_layers > model->layers)
        model->reach.full_layers = model->layers;
}

/* Convolutions over sound: a width, a kernel and a stride each. */
static int complete_convolutions(const struct rt_model *model, const char *where)
{
    int64_t count = model->sound.widths.count;
    if (model->sound.kernels.count != count || model->sound.strides.count != count)
        return rt_fail(RT_EFORMAT,
                       "%s: \"conv_dim\", \"conv_kernel\" and \"conv_stride\" list %" PRId64 ", %" PRId64
                       " and %" PRId64 " convolutions; make them as many",
                       where, count, model->sound.kernels.count, model->sound.strides.count);
    if (model->sound.position_groups > 0 && model->hidden % model->sound.position_groups != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: \"num_conv_pos_embedding_groups\" is %" PRId64
                       ", which does not divide the hidden size %" PRId64 "; correct either",
                       where, model->sound.position_groups, model->hidden);
    if (model->sound.codebooks > 0 && model->sound.code_width % model->sound.codebooks != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: \"num_codevector_groups\" is %" PRId64
                       ", which does not divide \"codevector_dim\" %" PRId64 "; correct either",
                       where, model->sound.codebooks, model->sound.code_width);
    return RT_OK;
}

/* Patches of images, and the heads of a second tower. */
static int complete_images(const struct rt_model *model, const char *where)
{
    if (model->image.side > RT_MOST_PIXELS)
        return rt_fail(RT_EFORMAT,
                       "%s: \"image_size\" is %" PRId64 "; a side may have %d pixels at most, so correct it",
                       where, model->image.side, RT_MOST_PIXELS);
    if (model->image.patch > model->image.side)
        return rt_fail(RT_EFORMAT,
                       "%s: patches of %" PRId64 " pixels do not fit into images of %" PRId64
                       "; correct \"patch_size\" or \"image_size\"",
                       where, model->image.patch, model->image.side);
    if (model->tower.heads > 0 && model->tower.hidden % model->tower.heads != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: %" PRId64 " heads do not divide the hidden size %" PRId64
                       " of \"vision_config\"; correct either",
                       where, model->tower.heads, model->tower.hidden);
    if (model->tower.layers > RT_CONFIG_MOST_LAYERS)
        return rt_fail(RT_EFORMAT, "%s: %" PRId64 " layers; it may have %d at most, so correct their number",
                       where, model->tower.layers, RT_CONFIG_MOST_LAYERS);
    return RT_OK;
}

/* A convolution over tokens leaves as many. */
static int complete_token_convolution(const struct rt_model *model, const char *where)
{
    if (model->token_conv.kernel == 0 ||
        (model->token_conv.kernel % 2 == 1 && model->hidden % model->token_conv.groups == 0))
        return RT_OK;
    return rt_fail(RT_EFORMAT,
                   "%s: \"conv_kernel_size\" is %" PRId64 " and \"conv_groups\" %" PRId64
                   "; the first must be odd, the second divide the hidden size, so correct them",
                   where, model->token_conv.kernel, model->token_conv.groups);
}

/* Sizes that the config leaves out; RT_EFORMAT where sizes do not fit together. */
int rt_config_complete(struct rt_model *model, const char *where)
{
    if (model->architecture->complete != NULL)
        model->architecture->complete(model);
    if (model->ffn_width < 0)
        model->ffn_width = 4 * model->hidden;
    if (model->embedding < 1)
        model->embedding = model->hidden;
    if (model->decoder.layers < 0)
        model->decoder.layers = model->layers;
    if (model->reach.window < 0 || !model->reach.slides)
        model->reach.window = 0;
    if (model->reach.chunk < 0)
        model->reach.chunk = 0;
    complete_windows(model);
    if (model->layers > RT_CONFIG_MOST_LAYERS || model->decoder.layers > RT_CONFIG_MOST_LAYERS)
        return rt_fail(RT_EFORMAT, "%s: %" PRId64 " layers; it may have %d at most, so correct their number",
                       where, model->layers > RT_CONFIG_MOST_LAYERS ? model->layers : model->decoder.layers,
                       RT_CONFIG_MOST_LAYERS);
    int status = complete_heads(model, where);
    if (status == RT_OK)
        status = rt_config_complete_layers(model, where);
    if (status == RT_OK)
        status = complete_convolutions(model, where);
    if (status == RT_OK)
        status = complete_images(model, where);
    if (status == RT_OK)
        status = complete_token_convolution(model, where);
    return status == RT_OK ? complete_experts(model, where) : status;
}

/* --- limits --- */

/* A product of sizes that kernels are launched with. */
static int check_product(int64_t a, int64_t b, const char *what, const char *where)
{
    if ((double)a * (double)b <= (double)RT_CONFIG_MOST_SIZE)
        return RT_OK;
    return rt_fail(RT_EFORMAT, "%s: %s is %.3g; it may be 2^31 at most, so correct its factors", where, what,
                   (double)a * (double)b);
}

/* Parameters of the largest tensor of a model of sound: of a convolution, of the codebooks. */
static double largest_of_sound(const struct rt_model *model)
{
    double dim = (double)rt_sizes_largest(&model->sound.widths), h = (double)model->hidden;
    double convolution = dim * dim * (double)rt_sizes_largest(&model->sound.kernels);
    double codes = (double)model->sound.codebooks * (double)model->sound.code_entries;
    return fmax(fmax(convolution, h * h * (double)model->sound.position_kernel),
                codes * fmax(dim, (double)model->sound.code_width));
}

/* Parameters of the largest matrix that two sizes can make. Builders multiply sizes in 64 bits. */
static double largest_matrix(const struct rt_model *model)
{
    const int64_t sizes[] = {model->hidden,
                             model->embedding,
                             model->heads * model->head_dim,
                             model->ffn_width,
                             model->decoder.ffn_width,
                             model->sound.positions,
                             model->sound.mel_bins,
                             model->projection,
                             model->sound.code_projection,
                             model->vocab,
                             model->experts.width,
                             model->positions,
                             model->labels,
                             model->token_types,
                             model->experts.count,
                             model->latent.q_rank,
                             model->latent.kv_rank + model->latent.rope_dim,
                             model->experts.shared_width,
                             model->experts.latent,
                             model->windowed.heads * model->windowed.head_dim,
                             model->index.heads * model->index.dim,
                             model->output.groups * model->output.rank,
                             model->output.streams * (model->output.streams + 2) * model->output.streams,
                             model->delta.k_heads * model->delta.k_dim,
                             model->delta.v_heads * model->delta.v_dim,
                             model->states.heads * model->states.head_dim,
                             model->states.heads * model->states.head_dim * model->states.state,
                             model->states.rank,
                             model->states.groups * model->states.state,
                             model->wkv_width,
                             5 * model->wkv.mix_rank,
                             model->wkv.decay_rank,
                             model->wkv.rate_rank,
                             model->wkv.value_rank,
                             model->wkv.gate_rank,
                             2 * model->distance.span,
                             model->token_conv.kernel * model->hidden,
                             model->tower.hidden,
                             model->tower.ffn_width,
                             model->image.pooled_width,
                             model->projection,
                             model->image.channels * model->image.patch * model->image.patch,
                             model->heads * (model->latent.nope_dim + model->value_dim)};
    double width = fmax((double)sizes[0], fmax((double)sizes[1], (double)sizes[2])),
           most = largest_of_sound(model);
    width = fmax(width, (double)model->tower.hidden);
    for (size_t i = 0; i < RT_COUNT(sizes); i++)
        most = fmax(most, width * (double)sizes[i]);
    return most;
}

static double parameters_of(const struct rt_model *model)
{
    double matrix = largest_matrix(model);
    return matrix < MOST_PARAMETERS ? rt_model_parameters(model) : matrix;
}

/* Limits on what follows from several keys. */
int rt_config_check(const struct rt_model *model, const char *where)
{
    int status = check_product(model->heads, model->head_dim, "the number of heads times their width", where);
    if (status == RT_OK)
        status =
            check_product(model->heads, model->value_dim, "the number of heads times \"v_head_dim\"", where);
    if (status == RT_OK)
        status = check_product(model->experts.shared, model->experts.width,
                               "the number of shared experts times their width", where);
    if (status == RT_OK)
        status = check_product(model->ffn_width, 1, "the inner width of the feed-forward layers", where);
    if (status == RT_OK)
        status = check_product(model->experts.count, model->experts.capacity,
                               "the number of experts times their capacity", where);
    if (status != RT_OK)
        return status;
    double parameters = parameters_of(model);
    if (!(parameters < MOST_PARAMETERS))
        return rt_fail(RT_EFORMAT,
                       "%s: these sizes make %.3g parameters, more than any model has; look for a typing "
                       "error in the hidden, inner and vocabulary sizes and the number of layers",
                       where, parameters);
    return RT_OK;
}
