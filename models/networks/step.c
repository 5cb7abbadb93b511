/* Settling a step: what nobody said, and what does not go together. See step.h. */
#include "models/networks/step.h"
#include "models/networks/cuts.h"
#include "base/status.h"
#include "base/text.h"
#include "models/networks/diffusion/diffusion.h"
#include "models/networks/tower.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_layouts[RT_LAYOUT_COUNT] = {"nchw", "nhwc"};

static bool is_sixteen_bits(int dtype)
{
    return dtype == RT_FP16 || dtype == RT_BF16;
}

static void assume(struct rt_settled_step *settled, enum rt_step_field field)
{
    settled->assumed[field] = true;
}

/* What is settled, and by what. */
struct settling {
    const struct rt_step *asked;
    const struct rt_model_source *source;
    const struct rt_model *model; /* source's */
    const struct rt_device *device;
    struct rt_settled_step *out;
};

/* ---- what does not go together ---- */

/* The names of given fields of a model that has no such thing; each ends in NULL. */
static const char *given_of_tokens(const struct rt_step *step)
{
    return step->sequence > 0               ? "seq"
           : step->context > 0              ? "context"
           : step->lengths != NULL          ? "lengths"
           : step->contexts != NULL         ? "contexts"
           : step->quant != RT_NOT_GIVEN    ? "quant"
           : step->kv_cache != RT_NOT_GIVEN ? "kv_cache"
                                            : NULL;
}

static const char *given_of_images(const struct settling *s)
{
    bool image = s->asked->image > 0 && !rt_model_sees(s->model); /* images of prompts: check_prompt_images */
    return image ? "image" : s->asked->layout != RT_NOT_GIVEN ? "layout" : NULL;
}

/* Images of prompts are for language models with a tower. */
static int check_prompt_images(const struct settling *s)
{
    const struct rt_step *step = s->asked;
    bool sees = rt_model_sees(s->model);
    if (step->images > 0 && !sees)
        return rt_fail(RT_EUSAGE, "%s has no tower of images that is known, so {images} is not for it",
                       s->model->name);
    if (step->images > 0 && step->image == 0)
        return rt_fail(RT_EUSAGE, "{images} %" PRId64 ": give their side with {image}", step->images);
    if (!sees || step->image == 0)
        return RT_OK;
    if (step->lengths != NULL || step->contexts != NULL)
        return rt_fail(RT_EUSAGE, "{image}: prompts with images are alike; give {batch} and {seq}");
    if (step->mode > RT_STEP_PREFILL)
        return rt_fail(RT_EUSAGE,
                       "{image}: %s reads images with the prompt; use {mode} inference, and count their "
                       "tokens in {context}",
                       s->model->name);
    return rt_vision_tower_check(s->model, step->image);
}

static int refuse_other_kind(const struct rt_model *model, const char *given)
{
    bool of_images = rt_model_image(model) > 0, text = rt_model_reads_text(model);
    struct rt_field_words field = rt_field_words(given);
    if (!text && !of_images)
        return rt_fail(RT_EUSAGE, "%s is a model of sound, which %s is not for; {seconds} is its length",
                       model->name, field.text);
    if (of_images)
        return rt_fail(RT_EUSAGE, "%s is a model of images, which %s is not for; {image} is their side",
                       model->name, field.text);
    return rt_fail(RT_EUSAGE, "%s is a language model, which %s is not for; {seq} is the length of sequences",
                   model->name, field.text);
}

/* What only pipelines that make images have. */
static int check_diffusion(const struct settling *s)
{
    const struct rt_step *step = s->asked;
    const struct rt_diffusion *pipeline = rt_model_diffusion(s->model);
    const char *given = step->frames > 0                                            ? "frames"
                        : step->denoising_steps > 0                                 ? "steps"
                        : step->parallel.ulysses > 1                                ? "ulysses"
                        : step->parallel.ring > 1                                   ? "ring"
                        : step->image_width > 0 && step->image_width != step->image ? "image"
                                                                                    : NULL;
    if (pipeline == NULL && given != NULL)
        return strcmp(given, "image") == 0
                   ? rt_fail(RT_EUSAGE,
                             "{image} %" PRId64 "x%" PRId64 ": images of %s are square; give one side",
                             step->image, step->image_width, s->model->name)
                   : rt_fail(RT_EUSAGE,
                             "%s is for diffusion pipelines (`rooftile graph --list`), which %s is not",
                             rt_field_words(given).text, s->model->name);
    if (pipeline != NULL && (step->parallel.pipeline > 1 || step->parallel.microbatches > 1))
        return rt_fail(
            RT_EUSAGE,
            "{pp} and {microbatches}: layers of a diffusion pipeline run once a step, and are not cut into "
            "stages; share the tokens out with {ulysses} and {ring}");
    return RT_OK;
}

/* Sequences are of language models, images of models of images (CLIP has both), seconds of those that read
 * sound. */
static int check_kind(const struct settling *s)
{
    bool of_images = rt_model_image(s->model) > 0, text = rt_model_reads_text(s->model);
    const char *given = NULL;
    if (s->asked->seconds > 0 && !(rt_model_seconds(s->model) > 0))
        return rt_fail(RT_EUSAGE, "%s hears nothing, so {seconds} is not for it; %s is its size",
                       s->model->name, rt_field_words(of_images ? "image" : "seq").text);
    if (!text)
        given = given_of_tokens(s->asked);
    if (given == NULL && !of_images)
        given = given_of_images(s);
    if (given != NULL)
        return refuse_other_kind(s->model, given);
    int status = check_diffusion(s);
    return status == RT_OK ? check_prompt_images(s) : status;
}

/* What was traced is what it is; an ONNX model says which operators run, and not what runs them. */
static int check_traced(const struct settling *s)
{
    const struct rt_step *step = s->asked;
    bool onnx = rt_model_is_onnx(s->source->spec);
    const char *given = step->lengths != NULL                ? "lengths"
                        : step->contexts != NULL             ? "contexts"
                        : step->quant != RT_NOT_GIVEN        ? "quant"
                        : step->kv_cache != RT_NOT_GIVEN     ? "kv_cache"
                        : step->parallel.expert > 1          ? "ep"
                        : step->parallel.attention > 1       ? "attention_dp"
                        : step->image > 0                    ? "image"
                        : step->images > 0                   ? "images"
                        : step->frames > 0                   ? "frames"
                        : step->denoising_steps > 0          ? "steps"
                        : step->parallel.ulysses > 1         ? "ulysses"
                        : step->parallel.ring > 1            ? "ring"
                        : step->seconds > 0                  ? "seconds"
                        : step->lora > 0                     ? "lora"
                        : step->lora_on > RT_LORA_ALL        ? "lora_on"
                        : step->attention > RT_ATTENTION_OWN ? "attention"
                        : step->parallel.sequence            ? "sp"
                        : step->parallel.context > 1         ? "cp"
                        : step->parallel.chunks > 1          ? "vp"
                        : onnx                               ? NULL
                        : step->runtime != RT_NOT_GIVEN      ? "runtime"
                        : step->layout != RT_NOT_GIVEN       ? "layout"
                        : step->autocast                     ? "autocast"
                                                             : NULL;
    if (given != NULL)
        return rt_fail(RT_EUSAGE, "an %s is forecast as it is, so %s does not apply",
                       s->source->importer->what, rt_field_words(given).text);
    if (onnx && step->runtime != RT_NOT_GIVEN && rt_runtimes[step->runtime].served)
        return rt_fail(RT_EUSAGE,
                       "{runtime} %s: LLM servers read checkpoints, not ONNX models; give the model's "
                       "config.json, or another runtime",
                       rt_runtimes[step->runtime].name);
    return RT_OK;
}

/* The layers of an ONNX model are not known; an operator graph is of one step and size. */
static int check_traced_parallel(const struct settling *s)
{
    const struct rt_step *step = s->asked;
    const struct rt_parallelism *parallel = &step->parallel;
    if (rt_model_is_onnx(s->source->spec)) {
        if (parallel->pipeline > 1 || parallel->shard == RT_SHARD_PARAMETERS)
            return rt_fail(RT_EUSAGE,
                           "%s: the layers of an ONNX model are not known, so %s%s does not apply; share the "
                           "batch out with {dp}",
                           s->source->spec, rt_field_words(parallel->pipeline > 1 ? "pp" : "shard").text,
                           parallel->pipeline > 1 ? "" : " parameters");
        return RT_OK;
    }
    if (step->batch > 0 || step->sequence > 0 || rt_parallelism_gpus(parallel) * parallel->microbatches > 1)
        return rt_fail(
            RT_EUSAGE,
            "%s is forecast as it is: {batch}, {seq} and what is said of several GPUs do not apply "
            "to an %s",
            s->source->spec, s->source->importer->what);
    return RT_OK;
}

/* Of settled modes: what is for one of them alone. */
static int check_mode(const struct rt_step *step)
{
    bool trains = step->mode == RT_STEP_TRAINING;
    if (step->context > 0 && step->mode != RT_STEP_DECODE)
        return rt_fail(RT_EUSAGE, "{context} is for {mode} decode; {seq} gives the length of sequences");
    if (step->recompute > RT_RECOMPUTE_NONE && !trains)
        return rt_fail(RT_EUSAGE, "{recompute} is for {mode} training");
    if (step->optimizer > RT_OPTIMIZER_NONE && !trains)
        return rt_fail(RT_EUSAGE, "{optimizer} is for {mode} training");
    if (step->optimizer == RT_OPTIMIZER_ADAMW_CPU && step->runtime != RT_RUNTIME_DEEPSPEED)
        return rt_fail(RT_EUSAGE,
                       "{optimizer} adamw-cpu is DeepSpeed's ZeRO-Offload; give {runtime} deepspeed");
    if (trains && step->runtime != RT_NOT_GIVEN && rt_runtimes[step->runtime].most_shard != RT_SHARD_NONE &&
        step->parallel.shard > rt_runtimes[step->runtime].most_shard)
        return rt_fail(RT_EUSAGE,
                       "{shard} %s: %s shares out no more than its %s state; {runtime} fsdp, torchtitan and "
                       "deepspeed do",
                       rt_shard_kinds[step->parallel.shard], rt_runtimes[step->runtime].name,
                       rt_shard_kinds[rt_runtimes[step->runtime].most_shard]);
    if (step->result != RT_TRANSFER_NONE && trains)
        return rt_fail(RT_EUSAGE, "{result} is for {mode} inference and decode: training returns nothing");
    if (step->overlap && step->input != RT_TRANSFER_PINNED)
        return rt_fail(RT_EUSAGE,
                       "{overlap} needs {input} pinned: from pageable memory the host copies itself, and "
                       "launches nothing meanwhile");
    return RT_OK;
}

/* What is said of a whole run goes together, or says what is missing. */
static int check_run(const struct settling *s)
{
    const struct rt_step *step = &s->out->step;
    const struct rt_training_run *run = &step->run;
    const char *given = run->tokens > 0               ? "tokens"
                        : run->steps > 0              ? "run_steps"
                        : run->loader_rate > 0        ? "loader_rate"
                        : run->checkpoint_gbs > 0     ? "checkpoint_gbs"
                        : run->checkpoint_minutes > 0 ? "checkpoint_minutes"
                        : run->node_mtbf_hours > 0    ? "node_mtbf_hours"
                        : run->restart_minutes > 0    ? "restart_minutes"
                        : run->gpu_price > 0          ? "gpu_price"
                                                      : NULL;
    if (given != NULL && step->mode != RT_STEP_TRAINING)
        return rt_fail(RT_EUSAGE, "%s is for {mode} training", rt_field_words(given).text);
    if (run->tokens > 0 && run->steps > 0)
        return rt_fail(RT_EUSAGE, "{tokens} and {run_steps} both say how long the run is: give one of them");
    if (run->tokens > 0 && !rt_model_reads_text(s->model))
        return rt_fail(RT_EUSAGE, "{tokens}: %s reads no text; give {run_steps}", s->model->name);
    if (run->gpu_price > 0 && !(run->tokens > 0 || run->steps > 0))
        return rt_fail(RT_EUSAGE, "{gpu_price}: how long is the run? give {tokens} or {run_steps}");
    if ((run->checkpoint_minutes > 0 || run->node_mtbf_hours > 0) && !(run->checkpoint_gbs > 0))
        return rt_fail(RT_EUSAGE, "%s: how fast are checkpoints written? give {checkpoint_gbs}",
                       rt_field_words(given).text);
    if (run->checkpoint_gbs > 0 && !(run->checkpoint_minutes > 0 || run->node_mtbf_hours > 0))
        return rt_fail(RT_EUSAGE, "{checkpoint_gbs}: how often? give {checkpoint_minutes}, or "
                                  "{node_mtbf_hours}, from which the best interval follows");
    if ((run->node_mtbf_hours > 0) != (run->restart_minutes > 0))
        return rt_fail(RT_EUSAGE, "{node_mtbf_hours} and {restart_minutes} go together: how often a server "
                                  "fails, and how long all wait then");
    return RT_OK;
}

/* ---- what the step is ---- */

/* Lists say what the step is: lengths prefill, contexts decode, both are one mixed step. */
static int settle_lists(struct settling *s)
{
    const struct rt_step *asked = s->asked;
    struct rt_settled_step *out = s->out;
    int status = RT_OK;
    if (asked->lengths == NULL && asked->contexts == NULL)
        return RT_OK;
    const char *other = asked->batch > 0              ? "batch"
                        : asked->sequence > 0         ? "seq"
                        : asked->context > 0          ? "context"
                        : asked->mode != RT_NOT_GIVEN ? "mode"
                                                      : NULL;
    if (other != NULL)
        return rt_fail(RT_EUSAGE, "%s is for sequences that are alike; {lengths} and {contexts} say it all",
                       rt_field_words(other).text);
    if (asked->lengths != NULL)
        status = rt_sequences_read(asked->lengths, false, &out->list);
    if (status == RT_OK && asked->contexts != NULL)
        status = rt_sequences_read(asked->contexts, true, &out->list);
    if (status != RT_OK)
        return status;
    rt_sequences_set(&out->list, &out->graph);
    out->step.mode = asked->lengths == NULL ? RT_STEP_DECODE : RT_STEP_PREFILL;
    return RT_OK;
}

/* Does an LLM server run the step where nobody says what does? */
static bool is_served(const struct settling *s)
{
    const struct rt_step *step = &s->out->step;
    if (step->runtime != RT_NOT_GIVEN)
        return rt_runtimes[step->runtime].served;
    return s->out->list.count > 0 ||
           (step->mode != RT_STEP_TRAINING && !step->autocast && rt_model_is_served(s->model));
}

/* ---- dtypes ---- */

static double peak16(const struct rt_device *device)
{
    return fmax(device->fp16_matrix_tflops, device->fp16_vector_tflops); /* of NaN and a number, the number */
}

/* Of Maxwell and most Pascals fp16 has a fraction of the rate of fp32, or none. */
static enum rt_dtype sixteen_bits(const struct rt_device *device)
{
    if (device == NULL || rt_device_has_bf16(device))
        return RT_BF16;
    return peak16(device) >= device->fp32_vector_tflops ? RT_FP16 : RT_FP32;
}

static enum rt_dtype beside_narrow(const struct settling *s)
{
    return s->model->fp16 || (s->device != NULL && !rt_device_has_bf16(s->device)) ? RT_FP16 : RT_BF16;
}

/* Weights of 4-bit floats on a GPU without units for them: vLLM multiplies them in 16 bits there, NVFP4's by
 * the kernels of int4 (Marlin). */
static enum rt_dtype runnable(const struct settling *s, enum rt_dtype dtype)
{
    bool four = dtype == RT_FP4 || dtype == RT_MXFP4_MXFP8;
    if (!four || s->device == NULL || s->device->fp4_matrix_tflops > 0)
        return dtype;
    return dtype == RT_FP4 ? RT_INT4 : RT_MXFP4;
}

static enum rt_dtype take_runnable(struct settling *s, enum rt_dtype dtype)
{
    enum rt_dtype taken = runnable(s, dtype);
    s->out->graph.weight_only = s->out->graph.weight_only || taken != dtype;
    return taken;
}

/* The checkpoint's, which may be narrow. */
static int default_dtype(struct settling *s, int *out)
{
    enum rt_dtype dtype = RT_FP32;
    int status = rt_model_source_dtype(s->source, &dtype);
    if (status != RT_OK)
        return status;
    bool traced = rt_model_source_traced(s->source);
    bool unknown =
        s->model->dtype < 0 && s->model->vision == NULL; /* networks of images are published in fp32 */
    if (!traced && (unknown || (dtype == RT_FP32 && is_served(s))))
        dtype = sixteen_bits(s->device);
    if (dtype == RT_BF16 && !traced && s->device != NULL && !rt_device_has_bf16(s->device))
        dtype = sixteen_bits(s->device);
    bool trains = s->out->step.mode == RT_STEP_TRAINING;
    if (trains && rt_dtype_is_narrow(dtype) && !rt_dtype_trains(dtype)) /* of a checkpoint for servers */
        dtype = beside_narrow(s);
    *out = (int)take_runnable(s, dtype);
    if (s->model->experts_dtype > RT_FP32 && !traced && !trains)
        s->out->graph.experts_dtype = take_runnable(s, (enum rt_dtype)s->model->experts_dtype);
    assume(s->out, RT_STEP_DTYPE);
    return RT_OK;
}

static int check_quant(const struct rt_step *step)
{
    if (step->quant == RT_NOT_GIVEN)
        return RT_OK;
    if (step->autocast)
        return rt_fail(RT_EUSAGE,
                       "{autocast} and {quant} exclude each other: autocast keeps weights in fp32");
    if (step->quant == RT_DTYPE_NONE)
        return RT_OK;
    if (!rt_dtype_is_narrow((enum rt_dtype)step->quant))
        return rt_fail(RT_EUSAGE, "{quant} %s is not narrower than 16 bits; give it as {dtype}",
                       rt_dtypes[step->quant].name);
    if (step->dtype != RT_NOT_GIVEN && !is_sixteen_bits(step->dtype))
        return rt_fail(RT_EUSAGE, "{dtype} %s: beside products in %s all else is in bf16 or fp16",
                       rt_dtypes[step->dtype].name, rt_dtypes[step->quant].name);
    return RT_OK;
}

/* What a checkpoint leaves in 16 bits. Of one that is not the config's: weights of 4 bits of a model with
 * experts are those of the feed-forward, in all published ones that are read here but Qwen3-235B-A22B-NVFP4.
 */
static unsigned wide_parts(const struct settling *s)
{
    const struct rt_model *model = s->model;
    const struct rt_step *step = &s->out->step;
    if (step->quant == RT_DTYPE_NONE || model->vision != NULL)
        return 0;
    bool own = model->dtype >= 0 &&
               (step->quant == model->dtype || step->quant == (int)runnable(s, (enum rt_dtype)model->dtype));
    bool four = rt_dtypes[step->quant].bytes < 1;
    return own ? model->wide_parts : four && model->experts.count > 0 ? 1u << RT_PART_ATTENTION : 0;
}

/* Of all but products, and of products where they are narrow. */
static int settle_dtype(struct settling *s)
{
    struct rt_step *step = &s->out->step;
    int status = check_quant(step);
    if (status != RT_OK)
        return status;
    if (step->fast_norms && !step->autocast)
        return rt_fail(RT_EUSAGE, "{fast_norms} is for {autocast}, which computes norms in fp32 otherwise");
    if (step->dtype == RT_NOT_GIVEN && step->autocast) {
        step->dtype = RT_FP16;
        assume(s->out, RT_STEP_DTYPE);
    } else if (step->dtype == RT_NOT_GIVEN && step->quant == RT_NOT_GIVEN) {
        status = default_dtype(s, &step->dtype);
    } else if (step->dtype == RT_NOT_GIVEN) {
        step->dtype = (int)beside_narrow(s);
        assume(s->out, RT_STEP_DTYPE);
    }
    if (status != RT_OK)
        return status;
    if (step->quant == RT_NOT_GIVEN)
        step->quant = RT_DTYPE_NONE;
    if (step->quant == RT_DTYPE_NONE && rt_dtype_is_narrow((enum rt_dtype)step->dtype)) {
        step->quant = step->dtype; /* "fp8" is that of the products */
        step->dtype = (int)beside_narrow(s);
    }
    s->out->graph.dtype = (enum rt_dtype)(step->quant == RT_DTYPE_NONE ? step->dtype : step->quant);
    s->out->graph.fp16_beside = step->dtype == RT_FP16;
    s->out->graph.wide_parts = wide_parts(s);
    return RT_OK;
}

static void settle_runtime(struct settling *s)
{
    struct rt_step *step = &s->out->step;
    if (step->runtime != RT_NOT_GIVEN)
        return;
    bool narrow = rt_dtypes[s->out->graph.dtype].bytes <= 2;
    bool served = s->out->list.count > 0 || (is_served(s) && narrow);
    step->runtime = served && !rt_model_source_traced(s->source) ? RT_RUNTIME_SERVING : RT_RUNTIME_EAGER;
    assume(s->out, RT_STEP_RUNTIME);
}

/* PyTorch's own choice where nobody says; GPUs without units for it run fp32, whatever is allowed. */
static int settle_tf32(struct settling *s)
{
    struct rt_step *step = &s->out->step;
    const struct rt_runtime *runtime = &rt_runtimes[step->runtime];
    bool units = s->device != NULL && rt_device_has_matrix_units(s->device, RT_TF32);
    bool images = rt_model_is_onnx(s->source->spec) || s->model->vision != NULL;
    if (step->tf32 == RT_NOT_GIVEN) {
        bool conv = step->dtype == RT_FP32 && units && images && !runtime->served && !runtime->scalar_loads;
        step->tf32 = step->dtype == RT_TF32 ? RT_TF32_ALL : conv ? RT_TF32_CONV : RT_TF32_NONE;
        if (conv)
            assume(s->out, RT_STEP_TF32);
    } else if (step->dtype != RT_FP32 && (step->dtype != RT_TF32 || step->tf32 != RT_TF32_ALL)) {
        return rt_fail(
            RT_EUSAGE,
            "{tf32} %s says what of a model in {dtype} fp32 is multiplied in TF32, and {dtype} is %s",
            rt_tf32_uses[step->tf32], rt_dtypes[step->dtype].name);
    }
    if (step->tf32 == RT_TF32_ALL && units)
        step->dtype = (int)(s->out->graph.dtype = RT_TF32);
    s->out->graph.conv_tf32 = step->tf32 == RT_TF32_CONV && units;
    return RT_OK;
}

static int settle_cache(struct settling *s)
{
    struct rt_step *step = &s->out->step;
    bool served = rt_runtimes[step->runtime].served;
    int cache = step->kv_cache;
    if (cache == RT_NOT_GIVEN) {
        s->out->graph.kv_bits = served ? s->model->kv_bits : 0;
        step->kv_cache = RT_DTYPE_NONE;
        return RT_OK;
    }
    if (cache == RT_DTYPE_NONE || is_sixteen_bits(cache))
        return RT_OK;
    if (cache != RT_FP8 && cache != RT_INT8)
        return rt_fail(RT_EUSAGE, "{kv_cache} %s: servers keep keys and values in bf16, fp16, fp8 or int8",
                       rt_dtypes[cache].name);
    if (!served)
        return rt_fail(RT_EUSAGE, "{kv_cache} %s is for {runtime} serving", rt_dtypes[cache].name);
    s->out->graph.kv_bits = 8;
    return RT_OK;
}

/* ---- sizes ---- */

/* Of sound without text, its tokens; of files, their own, which are read later. */
static int64_t usual_sequence(const struct settling *s)
{
    if (rt_model_source_traced(s->source))
        return 1;
    struct rt_graph_options graph = s->out->graph;
    graph.sequence = rt_model_default_sequence(s->model);
    graph.seconds = s->asked->seconds;
    return s->asked->seconds > 0 ? rt_model_sequence(s->model, &graph) : graph.sequence;
}

/* As long as sequences are, but with room for the token that the step makes. */
static int64_t usual_context(const struct settling *s)
{
    int64_t positions = rt_model_source_traced(s->source) ? 0 : s->model->positions;
    int64_t length = s->out->step.sequence;
    return positions > 1 && length >= positions ? positions - 1 : length;
}

static void settle_diffusion(struct settling *s)
{
    struct rt_step *step = &s->out->step;
    const struct rt_diffusion *pipeline =
        rt_model_source_traced(s->source) ? NULL : rt_model_diffusion(s->model);
    if (pipeline == NULL)
        return;
    if (step->frames == 0 && pipeline->frames > 0) {
        step->frames = pipeline->frames;
        assume(s->out, RT_STEP_FRAMES);
    }
    if (step->denoising_steps == 0) {
        step->denoising_steps = step->mode == RT_STEP_TRAINING ? 1 : pipeline->steps;
        assume(s->out, RT_STEP_STEPS);
    }
}

static void settle_sizes(struct settling *s)
{
    struct rt_step *step = &s->out->step;
    if (step->sequence == 0) {
        step->sequence = usual_sequence(s);
        assume(s->out, RT_STEP_SEQ);
    }
    if (step->context == 0) {
        step->context = step->mode == RT_STEP_DECODE ? usual_context(s) : step->sequence;
        assume(s->out, RT_STEP_CONTEXT);
    }
    if (step->image == 0 && !rt_model_source_traced(s->source) && rt_model_image(s->model) > 0) {
        step->image = rt_model_image(s->model);
        step->image_width = rt_model_image_width(s->model);
        assume(s->out, RT_STEP_IMAGE);
    }
    if (rt_model_sees(s->model) && step->image > 0 && step->images == 0) {
        step->images = 1;
        assume(s->out, RT_STEP_IMAGES);
    }
    settle_diffusion(s);
    if (s->out->list.count > 0) {
        step->batch = s->out->graph.batch;
        step->sequence = s->out->graph.sequence;
        step->context = s->out->graph.context;
        s->out->assumed[RT_STEP_SEQ] = s->out->assumed[RT_STEP_CONTEXT] = false;
    } else if (step->batch == 0) {
        step->batch = rt_parallelism_parts(&step->parallel);
        assume(s->out, RT_STEP_BATCH);
    }
}

static int check_batch(const struct rt_step *step)
{
    const struct rt_parallelism *parallel = &step->parallel;
    int64_t parts = rt_parallelism_parts(parallel);
    if (step->batch % parts == 0)
        return RT_OK;
    if (parallel->attention > 1)
        return rt_fail(RT_EUSAGE,
                       "{batch} %" PRId64 ": cannot be divided by %" PRId64 " ({attention_dp}) x %" PRId64
                       " ({dp}) x %" PRId64 " ({microbatches}); give a multiple of %" PRId64,
                       step->batch, parallel->attention, parallel->data, parallel->microbatches, parts);
    return rt_fail(RT_EUSAGE,
                   "{batch} %" PRId64 ": cannot be divided by %" PRId64 " ({dp}) x %" PRId64
                   " ({microbatches}); give a multiple of %" PRId64,
                   step->batch, parallel->data, parallel->microbatches, parts);
}

/* ---- all of it ---- */

static void settle_mode(struct settling *s)
{
    struct rt_step *step = &s->out->step;
    if (step->mode == RT_NOT_GIVEN) {
        step->mode = RT_STEP_PREFILL;
        assume(s->out, RT_STEP_MODE);
    }
    if (step->optimizer == RT_NOT_GIVEN) {
        step->optimizer = step->mode == RT_STEP_TRAINING ? RT_OPTIMIZER_ADAMW : RT_OPTIMIZER_NONE;
        assume(s->out, RT_STEP_OPTIMIZER);
    }
    if (step->recompute == RT_NOT_GIVEN)
        step->recompute = RT_RECOMPUTE_NONE;
    if (step->attention == RT_NOT_GIVEN)
        step->attention = RT_ATTENTION_OWN;
    if (step->layout == RT_NOT_GIVEN)
        step->layout = RT_LAYOUT_NCHW;
}

/* The graph's options of what is settled: one GPU in one pass. */
static void set_graph(struct rt_settled_step *settled, const struct rt_model *model)
{
    const struct rt_step *step = &settled->step;
    bool seen = step->images > 0; /* beside the tokens of prompts */
    struct rt_graph_options *graph = &settled->graph;
    graph->step = (enum rt_step_kind)step->mode;
    graph->runtime = (enum rt_runtime_id)step->runtime;
    graph->optimizer = (enum rt_optimizer_kind)step->optimizer;
    graph->recompute = (enum rt_recompute)step->recompute;
    graph->attention = (enum rt_attention_library)step->attention;
    graph->cuda_graphs = (enum rt_cuda_graphs)step->cuda_graphs;
    graph->lora = step->lora;
    graph->lora_on = (enum rt_lora_place)step->lora_on;
    graph->context_parallel = step->parallel.context;
    graph->sequence_parallel = step->parallel.sequence;
    graph->channels_last = step->layout == RT_LAYOUT_NHWC;
    graph->fusion = step->fusion;
    graph->autocast = step->autocast;
    graph->fast_norms = step->fast_norms;
    graph->seconds = step->seconds;
    graph->tensor_parallel = step->parallel.tensor;
    graph->expert_parallel = step->parallel.expert;
    graph->attention_data_parallel = step->parallel.attention;
    graph->ulysses = step->parallel.ulysses;
    graph->ring = step->parallel.ring;
    if (graph->groups != NULL)
        return;
    graph->batch = step->batch / rt_parallelism_parts(&step->parallel);
    graph->sequence = step->sequence +
                      (seen ? step->images * rt_vision_tower_tokens(&model->vision_tower, step->image) : 0);
    graph->context = step->context;
    graph->prompt_images = step->images;
    graph->prompt_image_side = seen ? step->image : 0;
    graph->image = seen ? 0 : step->image;
    graph->image_width = step->image_width;
    graph->frames = step->frames;
    graph->denoising_steps = step->denoising_steps;
}

int rt_step_settle(const struct rt_step *step, const struct rt_model_source *source,
                   const struct rt_device *device, struct rt_settled_step *out)
{
    bool traced = rt_model_source_traced(source);
    struct settling s = {step, source, &source->model, device, out};
    *out = (struct rt_settled_step){.step = *step};
    int status = traced ? check_traced(&s) : check_kind(&s);
    if (status == RT_OK && traced)
        status = check_traced_parallel(&s);
    if (status == RT_OK)
        status = rt_step_settle_cluster(out, device);
    if (status == RT_OK)
        status = settle_lists(&s);
    if (status != RT_OK)
        return status;
    settle_mode(&s);
    if ((status = check_mode(&out->step)) == RT_OK && (status = check_run(&s)) == RT_OK)
        status = settle_dtype(&s);
    if (status != RT_OK)
        return status;
    settle_runtime(&s);
    if (rt_model_sees(&source->model) && step->image > 0 && !rt_runtimes[out->step.runtime].served)
        return rt_fail(
            RT_EUSAGE,
            "{image}: the tower of %s is forecast as LLM servers run it; use {runtime} serving and "
            "16 bits or fewer",
            source->model.name);
    if ((status = settle_tf32(&s)) != RT_OK || (status = settle_cache(&s)) != RT_OK)
        return status;
    settle_sizes(&s);
    status = out->list.count > 0 ? RT_OK : check_batch(&out->step);
    set_graph(out, &source->model);
    return status == RT_OK && !traced ? rt_check_cuts(&out->step.parallel, &out->graph, &source->model)
                                      : status;
}

void rt_settled_step_release(struct rt_settled_step *settled)
{
    rt_sequences_release(&settled->list);
    settled->graph.groups = NULL;
    settled->graph.group_count = 0;
}

int rt_settled_step_graph(struct rt_settled_step *settled, const struct rt_model_source *source,
                          struct rt_graph *out)
{
    struct rt_step *step = &settled->step;
    if (!rt_model_source_traced(source))
        return rt_model_source_graph(source, &settled->graph, step->layers, out);
    struct rt_model_source said = *source;
    said.batch_asked |= !settled->assumed[RT_STEP_BATCH];
    said.sequence_asked = !settled->assumed[RT_STEP_SEQ];
    int status = rt_model_source_graph(&said, &settled->graph, step->layers, out);
    if (status != RT_OK)
        return status;
    step->batch = out->options.batch * rt_parallelism_parts(&step->parallel);
    step->sequence = settled->graph.sequence = out->options.sequence;
    if (step->images == 0)
        step->image = settled->graph.image = out->options.image;
    return RT_OK;
}

int rt_step_graph(const struct rt_step *step, const struct rt_model_source *source,
                  const struct rt_device *device, struct rt_graph *out)
{
    struct rt_settled_step settled;
    int status = rt_step_settle(step, source, device, &settled);
    if (status == RT_OK)
        status = rt_settled_step_graph(&settled, source, out);
    if (status == RT_OK) {
        out->options.groups = NULL; /* they go now, what they led to is built */
        out->options.group_count = 0;
    }
    rt_settled_step_release(&settled);
    return status;
}
