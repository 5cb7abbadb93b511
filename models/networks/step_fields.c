/* The fields of a step by name: from texts, and what was assumed of them. See step.h. */
#include "base/options.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"
#include "models/networks/step.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const char *const rt_step_field_names[RT_STEP_FIELDS] = {
    "mode", "batch", "seq", "image", "images", "frames", "steps", "context", "seconds", "layers", "lengths",
    "contexts", "dtype", "quant", "kv_cache", "tf32", "runtime", "optimizer", "recompute", "attention",
    "cuda_graphs",
    "lora", "lora_on", "layout", "fusion", "autocast", "fast_norms", "dp", "tp", "pp", "microbatches", "ep",
    "attention_dp", "ulysses", "ring", "cp", "vp", "sp", "tp_overlap", "expert_exchange", "expert_overlap",
    "schedule", "shard", "shard_gpus", "fabric", "link_gbs", "nodes", "node_gpus", "node_gbs", "network",
    "oversubscription", "cluster", "no_overlap", "host", "host_us", "server", "input", "result", "overlap",
    "power_limit", "interval", "tokens", "run_steps", "gpu_price", "loader_rate", "checkpoint_gbs",
    "checkpoint_minutes", "node_mtbf_hours", "restart_minutes",
};
/* clang-format on */

const char *const rt_shard_kinds[RT_SHARD_COUNT] = {"none", "optimizer", "gradients", "parameters"};
const char *const rt_expert_exchanges[RT_EXCHANGE_COUNT] = {"own", "alltoall", "deepep"};
const char *const rt_pipeline_schedules[RT_PIPELINE_COUNT] = {"1f1b", "gpipe", "zero-bubble"};

int rt_read_dtype(const char *option, const char *text, void *value)
{
    enum rt_dtype dtype;
    int status = rt_dtype_argument(option, text, &dtype);
    if (status == RT_OK)
        *(int *)value = (int)dtype;
    return status;
}

/* Words that people and other programs have for the modes. */
static const struct {
    const char *word;
    enum rt_step_kind mode;
} mode_words[] = {
    {"prefill", RT_STEP_PREFILL}, {"context", RT_STEP_PREFILL},   {"forward", RT_STEP_PREFILL},
    {"eval", RT_STEP_PREFILL},    {"infer", RT_STEP_PREFILL},     {"encode", RT_STEP_PREFILL},
    {"decoding", RT_STEP_DECODE}, {"generation", RT_STEP_DECODE}, {"generate", RT_STEP_DECODE},
    {"train", RT_STEP_TRAINING},  {"finetune", RT_STEP_TRAINING}, {"fine-tuning", RT_STEP_TRAINING},
};

int rt_step_mode_find(const char *text)
{
    for (int m = 0; m < RT_STEP_COUNT; m++)
        if (rt_name_equal(rt_steps[m], text))
            return m;
    for (size_t i = 0; i < RT_COUNT(mode_words); i++)
        if (rt_name_equal(mode_words[i].word, text))
            return (int)mode_words[i].mode;
    return -1;
}

int rt_read_mode(const char *option, const char *text, void *value)
{
    int mode = rt_step_mode_find(text);
    if (mode < 0)
        return rt_argument_choice(option, text, rt_steps, RT_STEP_COUNT, value);
    *(int *)value = mode;
    return RT_OK;
}

void rt_step_mode_suggest(struct rt_text *list)
{
    for (int m = 0; m < RT_STEP_COUNT; m++)
        rt_text_add(list, "%s\n", rt_steps[m]);
}

void rt_shard_suggest(struct rt_text *list)
{
    for (int s = 0; s < RT_SHARD_COUNT; s++)
        rt_text_add(list, "%s\n", rt_shard_kinds[s]);
}

int rt_read_image(const char *option, const char *text, void *value)
{
    int64_t side[2] = {0, 0};
    const char *x = strchr(text, 'x');
    size_t first = x != NULL ? (size_t)(x - text) : strlen(text);
    bool read = rt_parse_integer(text, first, &side[0]) == 0 &&
                (x == NULL || rt_parse_integer(x + 1, strlen(x + 1), &side[1]) == 0);
    if (!read || side[0] < 1 || (x != NULL && side[1] < 1))
        return rt_fail(
            RT_EUSAGE,
            "%s %.40s: must be a whole number from 1, or of diffusion pipelines height and width, 720x1280",
            option, text);
    if (side[0] > RT_MOST_PIXELS || side[1] > RT_MOST_PIXELS)
        return rt_fail(RT_EUSAGE, "%s %.40s: the side of an image has 1 to %d pixels", option, text,
                       RT_MOST_PIXELS);
    memcpy(value, side, sizeof side);
    return RT_OK;
}

/* A dtype, or "none": the one that all else has. */
int rt_read_dtype_or_none(const char *option, const char *text, void *value)
{
    if (strcmp(text, "none") != 0)
        return rt_read_dtype(option, text, value);
    *(int *)value = RT_DTYPE_NONE;
    return RT_OK;
}

/* "1", "true", "yes" or nothing behind the "="; "0", "false", "no". */
static int read_bool(const char *field, const char *text, void *value)
{
    static const char *const words[] = {"0", "false", "no", "1", "true", "yes", ""};
    for (size_t i = 0; i < RT_COUNT(words); i++)
        if (strcmp(text, words[i]) == 0) {
            *(bool *)value = i >= 3;
            return RT_OK;
        }
    return rt_fail(RT_EUSAGE, "%s %s: must be true or false", field, text);
}

/* clang-format off */
#define COUNT(member) RT_INTEGER(struct rt_step, member, 1, INT32_MAX)
#define GPUS(member) RT_INTEGER(struct rt_step, member, 1, 65536)
#define CHOICE(member, names) RT_CHOICE(struct rt_step, member, names)
#define BOOL(member) RT_OWN(struct rt_step, member, read_bool)
#define TEXT(member) RT_TEXT(struct rt_step, member)
static const struct rt_option_value rows[RT_STEP_FIELDS] = {
    [RT_STEP_MODE] = RT_OWN(struct rt_step, mode, rt_read_mode),
    [RT_STEP_BATCH] = COUNT(batch),
    [RT_STEP_SEQ] = COUNT(sequence),
    [RT_STEP_IMAGE] = RT_OWN(struct rt_step, image, rt_read_image),
    [RT_STEP_IMAGES] = RT_INTEGER(struct rt_step, images, 1, RT_MOST_PROMPT_IMAGES),
    [RT_STEP_FRAMES] = RT_INTEGER(struct rt_step, frames, 1, RT_MOST_FRAMES),
    [RT_STEP_STEPS] = RT_INTEGER(struct rt_step, denoising_steps, 1, RT_MOST_STEPS),
    [RT_STEP_CONTEXT] = COUNT(context),
    [RT_STEP_SECONDS] = RT_NUMBER(struct rt_step, seconds, 1e-3, RT_MOST_SECONDS),
    [RT_STEP_LAYERS] = GPUS(layers),
    [RT_STEP_LENGTHS] = TEXT(lengths),
    [RT_STEP_CONTEXTS] = TEXT(contexts),
    [RT_STEP_DTYPE] = RT_OWN(struct rt_step, dtype, rt_read_dtype),
    [RT_STEP_QUANT] = RT_OWN(struct rt_step, quant, rt_read_dtype_or_none),
    [RT_STEP_KV_CACHE] = RT_OWN(struct rt_step, kv_cache, rt_read_dtype_or_none),
    [RT_STEP_TF32] = CHOICE(tf32, rt_tf32_uses),
    [RT_STEP_RUNTIME] = CHOICE(runtime, rt_runtime_names),
    [RT_STEP_OPTIMIZER] = CHOICE(optimizer, rt_optimizers),
    [RT_STEP_RECOMPUTE] = CHOICE(recompute, rt_recomputes),
    [RT_STEP_ATTENTION] = CHOICE(attention, rt_attention_libraries),
    [RT_STEP_CUDA_GRAPHS] = CHOICE(cuda_graphs, rt_cuda_graphs),
    [RT_STEP_LORA] = RT_INTEGER(struct rt_step, lora, 1, 65536),
    [RT_STEP_LORA_ON] = CHOICE(lora_on, rt_lora_places),
    [RT_STEP_LAYOUT] = CHOICE(layout, rt_layouts),
    [RT_STEP_FUSION] = BOOL(fusion),
    [RT_STEP_AUTOCAST] = BOOL(autocast),
    [RT_STEP_FAST_NORMS] = BOOL(fast_norms),
    [RT_STEP_DP] = GPUS(parallel.data),
    [RT_STEP_TP] = GPUS(parallel.tensor),
    [RT_STEP_PP] = GPUS(parallel.pipeline),
    [RT_STEP_MICROBATCHES] = GPUS(parallel.microbatches),
    [RT_STEP_EP] = GPUS(parallel.expert),
    [RT_STEP_ATTENTION_DP] = GPUS(parallel.attention),
    [RT_STEP_ULYSSES] = RT_INTEGER(struct rt_step, parallel.ulysses, 1, RT_MOST_SEQUENCE_GPUS),
    [RT_STEP_RING] = RT_INTEGER(struct rt_step, parallel.ring, 1, RT_MOST_SEQUENCE_GPUS),
    [RT_STEP_CP] = GPUS(parallel.context),
    [RT_STEP_VP] = GPUS(parallel.chunks),
    [RT_STEP_SP] = BOOL(parallel.sequence),
    [RT_STEP_TP_OVERLAP] = BOOL(parallel.tensor_overlap),
    [RT_STEP_EXPERT_EXCHANGE] = CHOICE(parallel.exchange, rt_expert_exchanges),
    [RT_STEP_EXPERT_OVERLAP] = BOOL(parallel.expert_overlap),
    [RT_STEP_SCHEDULE] = CHOICE(parallel.schedule, rt_pipeline_schedules),
    [RT_STEP_SHARD] = CHOICE(parallel.shard, rt_shard_kinds),
    [RT_STEP_SHARD_GPUS] = GPUS(parallel.shard_gpus),
    [RT_STEP_FABRIC] = CHOICE(parallel.fabric, rt_fabrics),
    [RT_STEP_LINK_GBS] = RT_NUMBER(struct rt_step, parallel.link_gbs, 0.01, 1e5),
    [RT_STEP_NODES] = GPUS(nodes),
    [RT_STEP_NODE_GPUS] = GPUS(parallel.cluster.node_gpus),
    [RT_STEP_NODE_GBS] = RT_NUMBER(struct rt_step, parallel.cluster.node_gbs, 0.01, 1e5),
    [RT_STEP_NETWORK] = CHOICE(parallel.cluster.network, rt_networks),
    [RT_STEP_OVERSUBSCRIPTION] = RT_NUMBER(struct rt_step, parallel.cluster.oversubscription, 1, 1e3),
    [RT_STEP_CLUSTER] = TEXT(cluster),
    [RT_STEP_NO_OVERLAP] = BOOL(parallel.no_overlap),
    [RT_STEP_HOST] = TEXT(host),
    [RT_STEP_HOST_US] = RT_NUMBER(struct rt_step, host_us, 0, 1e4),
    [RT_STEP_SERVER] = TEXT(server),
    [RT_STEP_INPUT] = CHOICE(input, rt_transfers),
    [RT_STEP_RESULT] = CHOICE(result, rt_transfers),
    [RT_STEP_OVERLAP] = BOOL(overlap),
    [RT_STEP_POWER_LIMIT] = RT_NUMBER(struct rt_step, power_limit_w, 1, 1e5),
    [RT_STEP_INTERVAL] = RT_NUMBER(struct rt_step, level, 0, 0.99),
    [RT_STEP_TOKENS] = RT_NUMBER(struct rt_step, run.tokens, 1, 1e18),
    [RT_STEP_RUN_STEPS] = RT_NUMBER(struct rt_step, run.steps, 1, 1e12),
    [RT_STEP_GPU_PRICE] = RT_NUMBER(struct rt_step, run.gpu_price, 1e-6, 1e6),
    [RT_STEP_LOADER_RATE] = RT_NUMBER(struct rt_step, run.loader_rate, 1e-6, 1e9),
    [RT_STEP_CHECKPOINT_GBS] = RT_NUMBER(struct rt_step, run.checkpoint_gbs, 1e-3, 1e6),
    [RT_STEP_CHECKPOINT_MINUTES] = RT_NUMBER(struct rt_step, run.checkpoint_minutes, 1e-3, 1e6),
    [RT_STEP_NODE_MTBF_HOURS] = RT_NUMBER(struct rt_step, run.node_mtbf_hours, 1e-3, 1e9),
    [RT_STEP_RESTART_MINUTES] = RT_NUMBER(struct rt_step, run.restart_minutes, 1e-3, 1e5),
};
/* clang-format on */

int rt_step_set(struct rt_step *step, const char *field, const char *text)
{
    struct rt_hints hints = {0};
    for (int f = 0; f < RT_STEP_FIELDS; f++) {
        if (strcmp(rt_step_field_names[f], field) == 0)
            return rows[f].read(&rows[f], field, text, (char *)step + rows[f].offset);
        if (rt_name_near(rt_step_field_names[f], field))
            rt_hints_add(&hints, rt_step_field_names[f], 1);
    }
    char *near = rt_hints_words(&hints);
    int status = rt_fail(RT_EUSAGE,
                         "\"%.40s\" is no field of a step%s; they are the options of `rooftile predict` with "
                         "underscores",
                         field, near);
    free(near);
    return status;
}

/* ---- what was assumed ---- */

/* The text of a settled field that may have been assumed. */
static char *text_of(const struct rt_settled_step *settled, enum rt_step_field field)
{
    const struct rt_step *step = &settled->step;
    switch (field) {
    case RT_STEP_MODE:
        return rt_strdup(rt_steps[step->mode]);
    case RT_STEP_DTYPE:
        return rt_strdup(rt_dtypes[settled->graph.dtype].name);
    case RT_STEP_TF32:
        return rt_strdup(rt_tf32_uses[step->tf32]);
    case RT_STEP_RUNTIME:
        return rt_strdup(rt_runtimes[step->runtime].name);
    case RT_STEP_OPTIMIZER:
        return rt_strdup(rt_optimizers[step->optimizer]);
    case RT_STEP_BATCH:
        return rt_format("%" PRId64, step->batch);
    case RT_STEP_SEQ:
        return rt_format("%" PRId64, step->sequence);
    case RT_STEP_CONTEXT:
        return rt_format("%" PRId64, step->context);
    case RT_STEP_IMAGE:
        return step->image_width > 0 && step->image_width != step->image
                   ? rt_format("%" PRId64 "x%" PRId64, step->image, step->image_width)
                   : rt_format("%" PRId64, step->image);
    case RT_STEP_IMAGES:
        return rt_format("%" PRId64, step->images);
    case RT_STEP_DP:
        return rt_format("%" PRId64, step->parallel.data);
    case RT_STEP_NODE_GPUS:
        return rt_format("%" PRId64, step->parallel.cluster.node_gpus);
    case RT_STEP_NODE_GBS:
        return rt_format("%g", step->parallel.cluster.node_gbs);
    case RT_STEP_FRAMES:
        return rt_format("%" PRId64, step->frames);
    case RT_STEP_STEPS:
        return rt_format("%" PRId64, step->denoising_steps);
    default:
        return NULL;
    }
}

/* Does the field bear on this step? A context is decode's, an optimizer training's, a sequence what a step
 * reads. */
static bool bears(const struct rt_settled_step *settled, enum rt_step_field field)
{
    const struct rt_step *step = &settled->step;
    if (!settled->assumed[field])
        return false;
    switch (field) {
    case RT_STEP_CONTEXT:
        return step->mode == RT_STEP_DECODE;
    case RT_STEP_OPTIMIZER:
        return step->mode == RT_STEP_TRAINING;
    case RT_STEP_SEQ:
        return step->mode != RT_STEP_DECODE && step->image == 0;
    default:
        return true;
    }
}

json_t *rt_settled_step_assumed(const struct rt_settled_step *settled)
{
    json_t *assumed = json_object();
    for (int f = 0; f < RT_STEP_FIELDS; f++) {
        char *text = bears(settled, (enum rt_step_field)f) ? text_of(settled, (enum rt_step_field)f) : NULL;
        if (text != NULL)
            json_object_set_new(assumed, rt_step_field_names[f], json_string(text));
        free(text);
    }
    return assumed;
}

char *rt_settled_step_assumed_words(const struct rt_settled_step *settled)
{
    struct rt_text words = {0};
    for (int f = 0; f < RT_STEP_FIELDS; f++) {
        char *text = bears(settled, (enum rt_step_field)f) ? text_of(settled, (enum rt_step_field)f) : NULL;
        if (text != NULL)
            rt_text_item(&words, ", ", "%s %s", rt_field_words(rt_step_field_names[f]).text, text);
        free(text);
    }
    return rt_text_take(&words);
}
