/* What fits. See fit.h. */
#include "predict/step/fit.h"
#include "base/status.h"
#include "base/units.h"
#include "predict/step/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- one step --- */

int64_t rt_fit_parts(const struct rt_fit_case *fit)
{
    int64_t attention = fit->step.attention_data_parallel;
    return fit->options.parallel.data * fit->options.parallel.microbatches * (attention > 1 ? attention : 1);
}

int rt_fit_of(const struct rt_fit_case *fit, struct rt_fit_memory *out)
{
    struct rt_graph_options step = fit->step;
    struct rt_graph graph;
    if (fit->batch % rt_fit_parts(fit) != 0)
        return rt_fail(RT_EUSAGE, "a batch of %" PRId64 " cannot be divided into %" PRId64 " parts",
                       fit->batch, rt_fit_parts(fit));
    step.batch = fit->batch / rt_fit_parts(fit);
    struct rt_model_source source = *fit->source;
    source.quiet = true;
    int status = rt_model_source_graph(&source, &step, fit->layers, &graph);
    if (status != RT_OK)
        return status;
    struct rt_forecast forecast = {.graph = &graph, .device = fit->device, .options = fit->options};
    rt_forecast_sum_memory(&forecast);
    *out = (struct rt_fit_memory){.fits = rt_forecast_fits(&forecast),
                                  .used_bytes = forecast.taken.used,
                                  .device_bytes = forecast.memory_bytes,
                                  .memory = forecast.memory};
    rt_graph_release(&graph);
    return RT_OK;
}

/* --- the largest batch --- */

static const char *limit_of(const struct rt_graph_memory *at, const struct rt_graph_memory *next)
{
    const struct {
        const char *name;
        double grows;
    } parts[] = {{"activations", next->activations - at->activations},
                 {"cache", next->cache - at->cache},
                 {"weights", next->weights - at->weights},
                 {"gradients", next->gradients - at->gradients},
                 {"optimizer", next->optimizer - at->optimizer}};
    const char *limit = "";
    double most = 0;
    for (size_t p = 0; p < RT_COUNT(parts); p++)
        if (parts[p].grows > most) {
            most = parts[p].grows;
            limit = parts[p].name;
        }
    return limit;
}

/* A batch too large to be built does not fit. */
static struct rt_fit_memory try_batch(struct rt_fit_case fit, int64_t batch)
{
    struct rt_fit_memory tried = {.used_bytes = NAN, .device_bytes = NAN};
    fit.batch = batch;
    if (rt_fit_of(&fit, &tried) != RT_OK)
        tried.fits = false;
    return tried;
}

int rt_fit_largest(const struct rt_fit_case *fit, struct rt_fit_largest *out)
{
    int64_t part = rt_fit_parts(fit), few = 0, many = 1, most = RT_FIT_MOST_BATCH / part;
    struct rt_fit_case least = *fit;
    least.batch = part;
    *out = (struct rt_fit_largest){.limit = ""};
    int status = rt_fit_of(&least, &out->next);
    if (status != RT_OK)
        return status;
    for (struct rt_fit_memory tried = out->next; tried.fits && many <= most;
         tried = try_batch(*fit, many * part)) {
        few = many;
        many *= 2;
    }
    while (many - few > 1) {
        int64_t middle = few + (many - few) / 2;
        *(try_batch(*fit, middle * part).fits ? &few : &many) = middle;
    }
    out->batch = few * part;
    if (few == 0)
        return RT_OK;
    out->at = try_batch(*fit, few * part);
    out->next = try_batch(*fit, (few + 1) * part);
    out->limit = limit_of(&out->at.memory, &out->next.memory);
    return RT_OK;
}

/* --- changes --- */

enum { MOST_GPUS = 64 };

static void __attribute__((format(printf, 4, 5)))
name_change(char *words, size_t size, const char *field, const char *format, ...)
{
    va_list arguments;
    int length = snprintf(words, size, "%s ", rt_field_words(field).text);
    va_start(arguments, format);
    if ((size_t)length < size)
        vsnprintf(words + length, size - (size_t)length, format, arguments);
    va_end(arguments);
}

/* Each changes the step and names the field; false where it is none for this step. */
static bool smaller_batch(struct rt_fit_case *fit, char *words, size_t size)
{
    struct rt_fit_largest largest;
    if (fit->step.groups != NULL || rt_fit_largest(fit, &largest) != RT_OK || largest.batch == 0 ||
        largest.batch >= fit->batch)
        return false;
    fit->batch = largest.batch;
    name_change(words, size, "batch", "%" PRId64, fit->batch);
    return true;
}

static bool recompute_layers(struct rt_fit_case *fit, char *words, size_t size)
{
    if (fit->step.step != RT_STEP_TRAINING || fit->step.recompute != RT_RECOMPUTE_NONE)
        return false;
    fit->step.recompute = RT_RECOMPUTE_LAYERS;
    name_change(words, size, "recompute", "layers");
    return true;
}

/* The least of the stages with which it fits, else the last. */
static bool shared_out(struct rt_fit_case *fit, char *words, size_t size)
{
    struct rt_fit_memory tried = {.fits = false};
    int now = fit->options.parallel.shard;
    if (fit->step.step != RT_STEP_TRAINING || fit->options.parallel.data < 2)
        return false;
    for (int shard = now + 1; shard < RT_SHARD_COUNT && !tried.fits; shard++) {
        fit->options.parallel.shard = (enum rt_shard_kind)shard;
        name_change(words, size, "shard", "%s", rt_shard_kinds[shard]);
        if (rt_fit_of(fit, &tried) != RT_OK)
            return false;
    }
    return (int)fit->options.parallel.shard != now;
}

/* fp32 is what 16 bits halve; training keeps weights in fp32 beside them. */
static bool narrower_dtype(struct rt_fit_case *fit, char *words, size_t size)
{
    if (rt_dtypes[fit->step.dtype].bytes < 4 || fit->step.autocast)
        return false;
    fit->step.dtype = rt_device_has_bf16(fit->device) ? RT_BF16 : RT_FP16;
    name_change(words, size, "dtype", "%s", rt_dtypes[fit->step.dtype].name);
    return true;
}

/* Of language models: weights of the products in fewer bits. */
static bool narrower_weights(struct rt_fit_case *fit, enum rt_dtype dtype, char *words, size_t size)
{
    double bytes = rt_dtypes[fit->step.dtype].bytes;
    if (fit->step.step == RT_STEP_TRAINING || !rt_model_reads_text(&fit->source->model) || bytes > 2 ||
        bytes <= rt_dtypes[dtype].bytes)
        return false;
    fit->step.fp16_beside |= fit->step.dtype == RT_FP16;
    fit->step.dtype = dtype;
    name_change(words, size, "quant", "%s", rt_dtypes[dtype].name);
    return true;
}

static bool fp8_weights(struct rt_fit_case *fit, char *words, size_t size)
{
    return narrower_weights(fit, RT_FP8, words, size);
}

static bool int4_weights(struct rt_fit_case *fit, char *words, size_t size)
{
    return narrower_weights(fit, RT_INT4, words, size);
}

static bool narrower_cache(struct rt_fit_case *fit, char *words, size_t size)
{
    if (fit->step.step != RT_STEP_DECODE || fit->step.kv_bits == 8)
        return false;
    fit->step.kv_bits = 8;
    name_change(words, size, "kv_cache", "fp8");
    return true;
}

/* As many GPUs as it takes, by twos: each with a part of the batch, */
static bool parts_of_batch(struct rt_fit_case *fit, char *words, size_t size)
{
    struct rt_fit_memory tried;
    for (int64_t gpus = 2 * fit->options.parallel.data; fit->step.groups == NULL && gpus <= MOST_GPUS;
         gpus *= 2) {
        fit->options.parallel.data = gpus;
        name_change(words, size, "dp", "%" PRId64, gpus);
        if (rt_fit_of(fit, &tried) != RT_OK)
            return false;
        if (tried.fits)
            return true;
    }
    return false;
}

/* or with a part of every layer. */
static bool parts_of_layers(struct rt_fit_case *fit, char *words, size_t size)
{
    struct rt_fit_memory tried;
    int64_t from = fit->step.tensor_parallel > 0 ? fit->step.tensor_parallel : 1;
    for (int64_t gpus = 2 * from; gpus <= MOST_GPUS; gpus *= 2) {
        fit->step.tensor_parallel = gpus;
        name_change(words, size, "tp", "%" PRId64, gpus);
        if (rt_fit_of(fit, &tried) != RT_OK)
            return false;
        if (tried.fits)
            return true;
    }
    return false;
}

static bool (*const changes[])(struct rt_fit_case *fit, char *words, size_t size) = {
    smaller_batch, recompute_layers, shared_out,     narrower_dtype, fp8_weights,
    int4_weights,  narrower_cache,   parts_of_batch, parts_of_layers};

/* Checkpoints, shards and fewer bits one after the other, then as large a batch as fits. False where that is
 * one change or none. */
static bool together(struct rt_fit_case *fit, char *words, size_t size)
{
    static bool (*const steps[])(struct rt_fit_case *, char *, size_t) = {
        recompute_layers, shared_out, int4_weights, narrower_cache, smaller_batch};
    size_t length = 0, count = 0;
    for (size_t s = 0; s < RT_COUNT(steps) && length + 1 < size; s++) {
        size_t space = length > 0;
        if (!steps[s](fit, words + length + space, size - length - space))
            continue;
        if (space)
            words[length] = ' ';
        length = strlen(words);
        count++;
    }
    return count > 1;
}

/* Appends what a change makes of the step, where it takes less. */
static void add_change(const struct rt_fit_case *fit, bool (*apply)(struct rt_fit_case *, char *, size_t),
                       double now_bytes, struct rt_fit_change *changes_of, size_t *count)
{
    struct rt_fit_case changed = *fit;
    struct rt_fit_change *change = &changes_of[*count];
    if (apply(&changed, change->words, sizeof change->words) && rt_fit_of(&changed, &change->fit) == RT_OK &&
        change->fit.used_bytes < now_bytes)
        ++*count;
}

size_t rt_fit_changes(const struct rt_fit_case *fit, struct rt_fit_change out[RT_FIT_CHANGES])
{
    size_t count = 0;
    bool any = false;
    struct rt_fit_memory now;
    _Static_assert(RT_COUNT(changes) < RT_FIT_CHANGES, "room for every change, and for several together");
    bool sized = !rt_model_source_traced(fit->source) || fit->source->batch_asked;
    if (!sized || rt_fit_of(fit, &now) != RT_OK)
        return 0;
    for (size_t c = 0; c < RT_COUNT(changes); c++)
        add_change(fit, changes[c], now.used_bytes, out, &count);
    for (size_t c = 0; c < count; c++)
        any |= out[c].fit.fits;
    if (!any)
        add_change(fit, together, now.used_bytes, out, &count);
    return count;
}

/* --- the report --- */

static void add_largest(struct rt_report *report, const struct rt_fit_largest *largest)
{
    const struct rt_fit_memory *at = &largest->at, *next = &largest->next;
    json_t *json =
        json_pack("{s:I, s:o, s:o, s:o, s:o}", "batch", (json_int_t)largest->batch, "used_gib",
                  rt_json_number(largest->batch > 0 ? at->used_bytes / RT_GIB : NAN), "next_gib",
                  rt_json_number(next->used_bytes / RT_GIB), "device_gib",
                  rt_json_number(next->device_bytes / RT_GIB), "limit", rt_json_text(largest->limit));
    if (largest->batch == 0)
        rt_report_add_fact(report, "max_batch", json, "largest batch",
                           "none: the least takes %.2f of %.2f GiB", next->used_bytes / RT_GIB,
                           next->device_bytes / RT_GIB);
    else
        rt_report_add_fact(report, "max_batch", json, "largest batch",
                           "%" PRId64 ": %.2f of %.2f GiB; the next takes %.2f%s%s", largest->batch,
                           at->used_bytes / RT_GIB, at->device_bytes / RT_GIB, next->used_bytes / RT_GIB,
                           largest->limit[0] != '\0' ? ", most of it more " : "", largest->limit);
}

static void add_changes(struct rt_report *report, const struct rt_fit_advice *advice)
{
    static const struct rt_column columns[] = {
        {"change", NULL, 's', 0}, {"used_gib", "GiB", 'f', 2}, {"fits", NULL, 'b', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t c = 0; c < advice->change_count; c++)
        rt_table_row(table, advice->changes[c].words, advice->changes[c].fit.used_bytes / RT_GIB,
                     (int)advice->changes[c].fit.fits);
    rt_report_add_table(report, "memory.changes", "what would take less memory", table);
}

void rt_fit_report(struct rt_report *report, const struct rt_fit_advice *advice)
{
    if (advice->searched)
        add_largest(report, &advice->largest);
    if (advice->change_count > 0)
        add_changes(report, advice);
}
