/* Models to graphs: checks of options, the architecture's builder, checks of kernels. See model_graph.h. */
#include "models/networks/model_graph.h"
#include "base/status.h"
#include "base/text.h"
#include "datasets/run_attributes.h"
#include "models/networks/architectures/hybrid.h"
#include "models/networks/architectures/parts.h"
#include "models/networks/diffusion/diffusion.h"
#include "models/networks/vision/vision.h"
#include "models/networks/sequences.h"
#include "models/networks/build.h"

#include <inttypes.h>
#include <math.h>

#define MOST_SIZE            ((int64_t)1 << 31)
#define SECONDS_PER_POSITION 0.02 /* Whisper: two spectra, 10 ms apart */
#define SAMPLES_PER_SECOND   16000.0
#define USUAL_SECONDS        10
#define MOST_DIM             ((double)((int64_t)1 << 40)) /* rt_op_check's */

static int check_option(const char *option, int64_t value)
{
    if (value >= 1 && value <= MOST_SIZE)
        return RT_OK;
    return rt_fail(RT_EUSAGE, "%s is %" PRId64 "; it must lie in 1..2^31", rt_field_words(option).text,
                   value);
}

/* Every device holds whole heads, and whole key-value heads or a copy of one. */
static bool divides_heads(const struct rt_model *model, int64_t parts)
{
    return model->heads % parts == 0 && model->decoder.heads % parts == 0 &&
           model->tower.heads % parts == 0 && (model->kv_heads % parts == 0 || parts % model->kv_heads == 0);
}

static int check_tensor_parallel(const struct rt_model *model, int64_t parts)
{
    if (parts >= 1 && parts <= model->heads && divides_heads(model, parts))
        return RT_OK;
    struct rt_text list = {0};
    for (int64_t p = 1; p <= model->heads && p <= 4096 && list.length < 120; p++)
        if (divides_heads(model, p))
            rt_text_item(&list, ", ", "%" PRId64, p);
    int status = rt_fail(RT_EUSAGE,
                         "{tp} %" PRId64 " does not divide the %" PRId64 " heads (%" PRId64
                         " of keys and values) of %s; give one of %s",
                         parts, model->heads, model->kv_heads, model->name, list.text);
    rt_text_release(&list);
    return status;
}

/* Tokens that an image becomes: of patches, and learned ones before them. */
static int check_patches(const struct rt_model *model, const struct rt_graph_options *options)
{
    double side = model->image.patch > 0 ? (double)(options->image / model->image.patch) : 0;
    double tokens = side * side + (double)model->image.prefix_tokens;
    double heads = fmax((double)model->heads, (double)model->tower.heads);
    double width = fmax(fmax((double)model->hidden, (double)model->tower.hidden),
                        fmax((double)model->ffn_width, (double)model->tower.ffn_width));
    if ((double)options->batch * heads * tokens <= MOST_DIM &&
        (double)options->batch * tokens * fmax(heads * tokens, width) <= 0x1p60)
        return RT_OK;
    return rt_fail(RT_EUSAGE,
                   "{batch} %" PRId64 " with {image} %" PRId64
                   " makes kernels of %s of more than 2^40 rows; give less of either",
                   options->batch, options->image, model->name);
}

/* Builders multiply in 64 bits: this keeps their products below 2^62. check_kernels checks the dims. */
static int check_volume(const struct rt_model *model, const struct rt_graph_options *options)
{
    bool decode = options->step == RT_STEP_DECODE;
    double batch = (double)options->batch, heads = (double)model->heads, head_dim = (double)model->head_dim;
    double keys = decode ? (double)options->context + 1 : (double)options->sequence;
    double rows = batch * (decode ? 1 : keys);
    double widest = fmax(fmax((double)model->hidden, (double)model->ffn_width),
                         fmax((double)model->vocab, fmax(heads * head_dim, keys)));
    widest = fmax(widest, fmax((double)model->experts.count * (double)model->experts.capacity, heads * keys));
    widest = fmax(widest, fmax((double)model->decoder.ffn_width, (double)model->decoder.heads * keys));
    widest = fmax(widest, fmax((double)model->tower.ffn_width, (double)model->tower.hidden));
    widest = fmax(widest, fmax((double)model->delta.v_heads * (double)model->delta.v_dim,
                               (double)model->states.heads * (double)model->states.head_dim));
    widest = fmax(widest, (double)model->hidden * fmax(1, (double)model->output.streams));
    double source = (double)model->sound.positions, samples = SAMPLES_PER_SECOND * options->seconds * batch;
    if (batch * heads * source > MOST_DIM || batch * source * widest > 0x1p60 ||
        samples * (double)rt_sizes_largest(&model->sound.widths) > 0x1p60)
        return rt_fail(RT_EUSAGE,
                       "{batch} %" PRId64 " with %g seconds of sound is too large for %s; give less",
                       options->batch, options->seconds, model->name);
    if (batch * heads * keys <= MOST_DIM && keys * head_dim <= MOST_DIM && rows * widest <= 0x1p60)
        return RT_OK;
    return rt_fail(RT_EUSAGE,
                   "{batch} %" PRId64 " with %s %" PRId64
                   " makes kernels of %s of more than 2^40 rows; give less of either",
                   options->batch, rt_field_words(decode ? "context" : "seq").text,
                   decode ? options->context : options->sequence, model->name);
}

/* A head that classifies whole sequences or tokens makes no next one. */
static int check_head(const struct rt_model *model, const struct rt_graph_options *options)
{
    bool classifies = model->head == RT_MODEL_HEAD_SEQUENCE_CLASSES ||
                      model->head == RT_MODEL_HEAD_TOKEN_CLASSES || model->head == RT_MODEL_HEAD_QUESTION;
    if (options->step == RT_STEP_DECODE && model->head == RT_MODEL_HEAD_ENCODER)
        return rt_fail(RT_EUSAGE, "%s is an encoder, it does not decode token by token; use {mode} inference",
                       model->name);
    if (options->step != RT_STEP_DECODE || !classifies)
        return RT_OK;
    return rt_fail(RT_EUSAGE, "%s classifies, it does not decode token by token; use {mode} inference",
                   model->name);
}

/* Sequences that differ: each group in range, all of them within what builders multiply. */
static int check_groups(const struct rt_graph_options *options)
{
    double rows = 0, keys = 0;
    for (size_t g = 0; g < options->group_count; g++) {
        const struct rt_sequences *group = &options->groups[g];
        if (group->count < 1 || group->tokens < 1 || group->cached < 0 || group->count > MOST_SIZE ||
            group->tokens > MOST_SIZE || group->cached > MOST_SIZE)
            return rt_fail(RT_EUSAGE,
                           "sequence group %zu has %" PRId64 " sequences of %" PRId64
                           " tokens behind %" PRId64
                           "; the first two must lie in 1..2^31, the last in 0..2^31",
                           g + 1, group->count, group->tokens, group->cached);
        rows += (double)group->count * (double)group->tokens;
        keys += (double)group->count * ((double)group->tokens + (double)group->cached);
    }
    if (options->group_count > 0 && rows <= (double)MOST_SIZE && keys <= MOST_DIM)
        return RT_OK;
    return rt_fail(RT_EUSAGE,
                   "a step of %.3g new tokens and %.3g in all; at most 2^31 and 2^40, and at least one", rows,
                   keys);
}

/* What only servers run. */
static int check_served(const struct rt_model *model, const struct rt_graph_options *options)
{
    const struct rt_runtime *runtime = &rt_runtimes[options->runtime];
    bool shares_experts = options->expert_parallel > 1 || options->attention_data_parallel > 1;
    int64_t gpus = options->tensor_parallel *
                   (options->attention_data_parallel > 1 ? options->attention_data_parallel : 1);
    if (runtime->served && !model->architecture->served)
        return rt_fail(RT_EUSAGE, "LLM servers do not run %s; use {runtime} eager",
                       model->architecture->what);
    bool trains = options->step == RT_STEP_TRAINING;
    bool only = !runtime->served && model->architecture->build == rt_build_served,
         hybrid = rt_is_hybrid(model) && trains;
    if (only && hybrid && !runtime->grouped_experts)
        return rt_fail(RT_EUSAGE,
                       "training of %s is forecast by frameworks that multiply experts as a group; give "
                       "{runtime} megatron, or another of them",
                       model->architecture->what);
    if (only && !hybrid)
        return rt_fail(
            RT_EUSAGE,
            "%s is forecast as LLM servers run it and not otherwise; use {runtime} serving, in 16 bits "
            "or fewer",
            model->architecture->what);
    if (runtime->served && options->step == RT_STEP_TRAINING)
        return rt_fail(RT_EUSAGE, "{runtime} %s does not train; use eager or compile", runtime->name);
    if (runtime->served && rt_dtypes[options->dtype].bytes > 2)
        return rt_fail(RT_EUSAGE,
                       "LLM servers run in 16 bits or fewer; give {dtype} bf16, or {runtime} eager for %s",
                       rt_dtypes[options->dtype].name);
    if (!runtime->served && (options->groups != NULL || options->attention_data_parallel > 1 ||
                             (options->expert_parallel > 1 && !trains)))
        return rt_fail(RT_EUSAGE,
                       "sequences that differ, {ep} and {attention_dp} are for {runtime} serving; {ep} for "
                       "{mode} training, too");
    if (shares_experts && model->experts.count == 0)
        return rt_fail(RT_EUSAGE, "%s has no experts to share out; leave {ep} and {attention_dp} away",
                       model->name);
    if (options->expert_parallel > 1 && !trains &&
        (gpus % options->expert_parallel != 0 || model->experts.count % options->expert_parallel != 0))
        return rt_fail(RT_EUSAGE,
                       "{ep} %" PRId64 " does not divide the %" PRId64
                       " GPUs ({tp} x {attention_dp}) and the %" PRId64 " experts of %s",
                       options->expert_parallel, gpus, model->experts.count, model->name);
    return RT_OK;
}

static int check_options(const struct rt_model *model, const struct rt_graph_options *options)
{
    if (options->step == RT_STEP_DECODE && !rt_model_reads_text(model))
        return rt_fail(RT_EUSAGE,
                       "%s reads no text, so it does not decode token by token; use {mode} inference",
                       model->name);
    int status = check_option("batch", options->batch);
    if (options->groups != NULL)
        status = check_groups(options);
    else if (status == RT_OK && options->step == RT_STEP_DECODE)
        status = check_option("context", options->context);
    else if (status == RT_OK)
        status = check_option("seq", options->sequence);
    if (status == RT_OK)
        status = check_tensor_parallel(model, options->tensor_parallel);
    if (status == RT_OK && options->step == RT_STEP_TRAINING && rt_dtype_is_narrow(options->dtype) &&
        !rt_dtype_trains(options->dtype))
        status =
            rt_fail(RT_EUSAGE,
                    "{dtype} %s: nobody trains in it; take fp8 (its products, weights in bf16), bf16 or fp32",
                    rt_dtypes[options->dtype].name);
    if (status == RT_OK)
        status = check_served(model, options);
    if (status == RT_OK)
        status = check_head(model, options);
    if (status == RT_OK)
        status = check_patches(model, options);
    if (status == RT_OK && options->groups == NULL)
        status = check_volume(model, options);
    return status;
}

/* --- models of images --- */

/* What only transformers have. */
static int check_image_step(const struct rt_model *model, const struct rt_graph_options *options)
{
    if (options->step == RT_STEP_DECODE)
        return rt_fail(RT_EUSAGE,
                       "%s is a model of images, it does not decode; use {mode} inference or training",
                       model->name);
    if (options->expert_parallel > 1 || options->attention_data_parallel > 1)
        return rt_fail(RT_EUSAGE, "{ep} and {attention_dp} are for LLM servers, which do not run %s",
                       model->name);
    if (options->tensor_parallel > 1)
        return rt_fail(RT_EUSAGE,
                       "{tp} %" PRId64
                       ": %s is a model of images, whose layers are not cut; share the batch out with {dp}",
                       options->tensor_parallel, model->name);
    if (rt_runtimes[options->runtime].served || options->groups != NULL)
        return rt_fail(RT_EUSAGE, "LLM servers do not run %s, a model of images; use {runtime} eager",
                       model->name);
    if (rt_dtype_is_narrow(options->dtype))
        return rt_fail(RT_EUSAGE,
                       "{dtype} %s: convolutions in it are not forecast; give fp32, tf32, fp16 or bf16",
                       rt_dtypes[options->dtype].name);
    return RT_OK;
}

/* Builders multiply in 64 bits: no layer of an image has more than 64 elements for each of its pixels and
 * channels, or 2^20 for each of the batch. check_kernels checks the dims. */
static int check_image_size(const struct rt_model *model, const struct rt_graph_options *options)
{
    int64_t image = options->image, own = rt_model_image(model);
    int64_t multiple = model->vision != NULL ? model->vision->multiple : model->image.patch;
    bool fixed = model->vision != NULL && model->vision->fixed_image;
    if (image < 1 || image > RT_MOST_PIXELS)
        return rt_fail(RT_EUSAGE, "{image} is %" PRId64 "; it must lie in 1..%d", image, RT_MOST_PIXELS);
    if (fixed && image != own)
        return rt_fail(RT_EUSAGE,
                       "{image} %" PRId64 ": %s takes images of %" PRId64 " pixels a side and no others",
                       image, model->name, own);
    if (multiple > 1 && image != own && image % multiple != 0)
        return rt_fail(RT_EUSAGE,
                       "{image} %" PRId64 ": %s cuts images into patches of %" PRId64
                       " pixels a side; give a multiple",
                       image, model->name, multiple);
    int64_t width = options->image_width > 0 ? options->image_width : image;
    if (multiple > 1 && width != image && (width > RT_MOST_PIXELS || width % multiple != 0))
        return rt_fail(RT_EUSAGE,
                       "{image} %" PRId64 "x%" PRId64 ": %s takes widths that are multiples of %" PRId64
                       " pixels",
                       image, width, model->name, multiple);
    double frames = options->frames > 0 ? (double)options->frames : 1;
    double pixels = (double)options->batch * (double)image * (double)width * frames;
    if (pixels <= 0x1p40)
        return RT_OK;
    return rt_fail(RT_EUSAGE,
                   "{batch} %" PRId64 " with {image} %" PRId64
                   " has more than 2^40 pixels; give less of either",
                   options->batch, image);
}

static int check_image_options(const struct rt_model *model, const struct rt_graph_options *options)
{
    int status = check_option("batch", options->batch);
    if (status == RT_OK)
        status = check_image_step(model, options);
    return status == RT_OK && rt_model_diffusion(model) != NULL ? rt_diffusion_check(model->vision, options)
                                                                : status;
}

/* --- models of sound --- */

/* A window that the encoder has is filled with silence; without one, the convolutions need a token's samples.
 */
static int check_sound(const struct rt_model *model, const struct rt_graph_options *options)
{
    double most = model->sound.positions > 0 ? rt_model_seconds(model) : RT_MOST_SECONDS;
    if (!rt_reads_sound(model->architecture))
        return RT_OK;
    if (!rt_model_reads_text(model) && options->step == RT_STEP_DECODE)
        return rt_fail(RT_EUSAGE,
                       "%s keeps no keys and values, so it does not decode token by token; use {mode} "
                       "inference",
                       model->name);
    if (!(options->seconds > 0 && options->seconds <= RT_MOST_SECONDS))
        return rt_fail(RT_EUSAGE, "{seconds} is %g; it must be more than 0 and at most %d", options->seconds,
                       RT_MOST_SECONDS);
    if (options->seconds > most)
        return rt_fail(RT_EUSAGE,
                       "{seconds} %g: %s hears %g seconds at a time; give a larger {batch} for more windows",
                       options->seconds, model->name, most);
    if (!rt_model_reads_text(model) && rt_model_sequence(model, options) < 1)
        return rt_fail(RT_EUSAGE, "{seconds} %g is less than the convolutions of %s reach over; give more",
                       options->seconds, model->name);
    return RT_OK;
}

/* The kernel that its dims do not allow; NULL where there is none. */
static const struct rt_graph_kernel *wrong_kernel(const struct rt_graph *graph)
{
    for (size_t k = 0; k < graph->kernel_count; k++)
        if (rt_op_check((enum rt_op_id)graph->kernels[k].call.op, graph->kernels[k].call.dim) != RT_OK)
            return &graph->kernels[k];
    return NULL;
}

/* The smallest image of which every window fits. */
static int64_t least_image(const struct rt_model *model, const struct rt_graph_options *options)
{
    int64_t least = options->image, most = RT_MOST_PIXELS;
    while (least + 1 < most) {
        struct rt_graph_options trial = *options;
        struct rt_graph graph;
        trial.image = (least + most) / 2;
        rt_graph_init(&graph, &trial);
        model->vision->build(model->vision, &graph);
        *(wrong_kernel(&graph) != NULL ? &least : &most) = trial.image;
        rt_graph_release(&graph);
    }
    return most;
}

/* PyTorch does not train batch norm on one value a channel (torch.nn.functional._verify_batch_size). */
static int check_norms(const struct rt_model *model, const struct rt_graph *graph)
{
    for (size_t k = 0; k < graph->kernel_count && rt_graph_trains(graph); k++) {
        const struct rt_call *call = &graph->kernels[k].call;
        bool norm = call->op == RT_OP_BATCHNORM || call->op == RT_OP_BATCHNORM_INFERENCE;
        if (norm && call->dim[0] * call->dim[2] * call->dim[3] == 1)
            return rt_fail(RT_EUSAGE,
                           "{batch} 1 with {image} %" PRId64 " leaves one value a channel to a batch norm of "
                           "%s, which cannot train so; give more of either",
                           graph->options.image, model->name);
    }
    return RT_OK;
}

/* An empty image, or one without a window: the first kernel of a window that does not fit is wrong. */
static int check_image_kernels(const struct rt_model *model, const struct rt_graph *graph)
{
    const struct rt_graph_kernel *wrong = wrong_kernel(graph);
    if (wrong == NULL)
        return check_norms(model, graph);
    struct rt_graph_options small = graph->options;
    small.batch = 1;
    if (rt_model_diffusion(model) != NULL)
        return rt_fail(RT_EUSAGE,
                       "%s with {batch} %" PRId64 " and {image} %" PRId64 " makes kernels of more than "
                       "2^40 rows; give less of either",
                       model->name, graph->options.batch, graph->options.image);
    for (int d = 0; d < rt_op_ndims((enum rt_op_id)wrong->call.op); d++)
        if ((double)wrong->call.dim[d] > MOST_DIM)
            return rt_fail(RT_EUSAGE,
                           "%s with {batch} %" PRId64 " and {image} %" PRId64
                           " is too large, give less of either",
                           model->name, graph->options.batch, graph->options.image);
    return rt_fail(RT_EUSAGE,
                   "{image} %" PRId64 " is smaller than the windows of %s reach; give at least %" PRId64,
                   graph->options.image, model->name, least_image(model, &small));
}

/* --- the graph --- */

static int check_kernels(const struct rt_model *model, const struct rt_graph *graph)
{
    const struct rt_graph_options *options = &graph->options;
    bool decode = options->step == RT_STEP_DECODE;
    if (wrong_kernel(graph) != NULL)
        return rt_fail_context(
            RT_EUSAGE, "%s with {batch} %" PRId64 " and %s %" PRId64 " is too large, give less of either",
            model->name, options->batch, rt_field_words(decode ? "context" : "seq").text,
            decode ? options->context : options->sequence);
    if (decode && !(graph->cache + graph->state_bytes > 0))
        return rt_fail(RT_EUSAGE,
                       "%s keeps no keys and values, so it does not decode token by token; use {mode} "
                       "inference",
                       model->name);
    return RT_OK;
}

/* Between stages of a pipeline passes what a layer makes: the most of all. */
static double largest_boundary(const struct rt_graph *graph)
{
    double most = 0;
    for (size_t b = 0; b < graph->block_count; b++) {
        const struct rt_block *block = &graph->blocks[b];
        if (block->role == RT_BLOCK_LAYER && block->node_count > 0)
            most = fmax(most, graph->nodes[block->node + block->node_count - 1].outputs);
    }
    return most;
}

static void build(const struct rt_model *model, struct rt_graph *graph)
{
    if (model->vision != NULL) {
        model->vision->build(model->vision, graph);
        graph->boundary = largest_boundary(graph);
    } else if (rt_runtimes[graph->options.runtime].served)
        rt_build_served(model, graph);
    else if (model->architecture->build == rt_build_served)
        rt_build_hybrid(model, graph);
    else
        model->architecture->build(model, graph);
}

/* Numbers of the image that the first convolution reads. */
static double pixel_bytes(const struct rt_graph *graph)
{
    const struct rt_graph_options *options = &graph->options;
    double width = rt_dtypes[options->autocast ? RT_FP32 : options->dtype].bytes;
    for (size_t k = 0; k < graph->kernel_count; k++)
        if (graph->kernels[k].call.op == RT_OP_CONV2D && graph->kernels[k].call.phase == RT_FORWARD)
            return width * (double)options->batch * (double)graph->kernels[k].call.dim[1] *
                   (double)(options->image * options->image);
    return 0;
}

/* Of what the first convolution over sound reads. */
static double sound_bytes(const struct rt_graph *graph)
{
    const struct rt_graph_options *options = &graph->options;
    const struct rt_graph_kernel *first = graph->kernel_count > 0 ? &graph->kernels[0] : NULL;
    double width = rt_dtypes[options->autocast ? RT_FP32 : options->dtype].bytes;
    return first != NULL && first->call.op == RT_OP_CONV2D
               ? width * (double)options->batch * (double)first->call.dim[1] * (double)first->call.dim[4]
               : 0;
}

/* Of tokens, 8 bytes each in PyTorch, of images, or of sound. */
static double input_bytes(const struct rt_model *model, const struct rt_graph *graph)
{
    const struct rt_graph_options *options = &graph->options;
    double tokens = options->step == RT_STEP_DECODE ? 1 : (double)options->sequence;
    double sound = options->seconds > 0 ? sound_bytes(graph) : 0;
    if (rt_model_diffusion(model) != NULL)
        return 0; /* prompts, padded to some hundred tokens */
    if (sound > 0)
        return sound;
    if (options->groups != NULL)
        return 8 * rt_sequences_totals(options->groups, options->group_count).tokens;
    return (rt_model_reads_text(model) ? 8 * (double)options->batch * tokens : 0) +
           (rt_model_image(model) > 0 ? pixel_bytes(graph) : 0);
}

static void set_copies(const struct rt_model *model, struct rt_graph *graph)
{
    graph->input_bytes = input_bytes(model, graph);
    graph->result_bytes = rt_dtypes[graph->options.dtype].bytes * graph->classes;
}

/* Adapters alone are trained. */
static void freeze(struct rt_graph *graph)
{
    for (size_t n = 0; graph->options.lora > 0 && n < graph->node_count; n++)
        graph->nodes[n].frozen = graph->nodes[n].adapter ? 0 : graph->nodes[n].parameters;
}

int rt_graph_build(const struct rt_model *model, const struct rt_graph_options *options, struct rt_graph *out)
{
    struct rt_graph graph;
    struct rt_graph_options step = *options;
    bool images = model->vision != NULL;
    step.image = rt_model_image(model) == 0 ? 0
                 : options->image != 0      ? options->image
                                            : rt_model_image(model);
    if (options->image == 0)
        step.image_width = rt_model_image_width(model);
    if (step.seconds == 0)
        step.seconds = rt_model_seconds(model);
    int status = step.image != 0 ? check_image_size(model, &step) : RT_OK;
    step.sequence = rt_model_sequence(model, &step);
    if (status == RT_OK)
        status = images ? check_image_options(model, &step) : check_sound(model, &step);
    if (status == RT_OK && !images)
        status = check_options(model, &step);
    if (status == RT_OK && step.autocast && step.dtype != RT_FP16 && step.dtype != RT_BF16)
        status = rt_fail(RT_EUSAGE, "autocast is to fp16 or bf16, not to %s", rt_dtypes[step.dtype].name);
    if (status != RT_OK)
        return status;
    step.fp16_beside |= model->fp16;
    step.fusion |= rt_runtimes[options->runtime].fusion;
    rt_graph_init(&graph, &step);
    build(model, &graph);
    if (images && !step.channels_last && options->runtime == RT_RUNTIME_COMPILE &&
        rt_graph_prefers_channels_last(&graph)) {
        rt_graph_release(&graph);
        step.channels_last = true;
        rt_graph_init(&graph, &step);
        build(model, &graph);
    }
    freeze(&graph);
    graph.classes = graph.nodes[graph.node_count - 1].outputs;
    set_copies(model, &graph);
    rt_graph_mark_scalar_loads(&graph);
    rt_build_optimizer(&graph);
    status = images ? check_image_kernels(model, &graph) : check_kernels(model, &graph);
    if (status != RT_OK) {
        rt_graph_release(&graph);
        return status;
    }
    if (graph.options.fusion)
        rt_graph_fuse(&graph);
    *out = graph;
    return RT_OK;
}

bool rt_model_is_served(const struct rt_model *model)
{
    return model->architecture != NULL && model->architecture->served;
}

/* Of what it reads, rather than as many as are asked for. */
static bool counts_tokens(const struct rt_architecture *row)
{
    return row->input != NULL && row->input->sequence != NULL;
}

bool rt_model_reads_text(const struct rt_model *model)
{
    return model->vision == NULL && (model->architecture == NULL || !counts_tokens(model->architecture));
}

int64_t rt_model_image(const struct rt_model *model)
{
    return model->vision != NULL ? model->vision->image : model->image.side;
}

const struct rt_diffusion *rt_model_diffusion(const struct rt_model *model)
{
    return model->vision != NULL ? model->vision->diffusion : NULL;
}

int64_t rt_model_image_width(const struct rt_model *model)
{
    const struct rt_diffusion *pipeline = rt_model_diffusion(model);
    return pipeline != NULL && pipeline->width != model->vision->image ? pipeline->width : 0;
}

double rt_model_seconds(const struct rt_model *model)
{
    bool sound = model->vision == NULL && rt_reads_sound(model->architecture);
    return !sound                       ? 0
           : model->sound.positions > 0 ? SECONDS_PER_POSITION * (double)model->sound.positions
                                        : USUAL_SECONDS;
}

int64_t rt_model_sequence(const struct rt_model *model, const struct rt_graph_options *options)
{
    bool own = model->vision == NULL && counts_tokens(model->architecture);
    return own ? model->architecture->input->sequence(model, options) : options->sequence;
}

int64_t rt_model_default_sequence(const struct rt_model *model)
{
    const struct rt_graph_options usual = {.image = rt_model_image(model),
                                           .seconds = rt_model_seconds(model)};
    if (!rt_model_reads_text(model) && model->vision == NULL)
        return rt_model_sequence(model, &usual);
    return model->positions > 0 && model->positions < 1024 ? model->positions : 1024;
}

bool rt_model_overlong(const struct rt_model *model, const struct rt_graph_options *options)
{
    int64_t last = options->step == RT_STEP_DECODE ? options->context + 1 : options->sequence;
    return model->positions > 0 && last > model->positions; /* relative positions have no end */
}

double rt_model_parameters(const struct rt_model *model)
{
    struct rt_graph_options one = {.batch = 1, .sequence = 1, .tensor_parallel = 1};
    if (model->architecture != NULL && model->architecture->build == rt_build_served)
        one.runtime = RT_RUNTIME_SERVING;
    struct rt_graph graph;
    struct rt_graph_totals totals;
    one.seconds = rt_model_seconds(model);
    one.image = rt_model_image(model);
    one.image_width = rt_model_image_width(model);
    one.sequence = rt_model_reads_text(model) ? 1 : rt_model_sequence(model, &one);
    rt_graph_init(&graph, &one);
    build(model, &graph);
    rt_graph_totals(&graph, &totals);
    rt_graph_release(&graph);
    return totals.parameters;
}
