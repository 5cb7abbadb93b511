/* Steps of measured runs: graphs, weights, sums. See run_steps.h. */
#include "predict/evaluate/run_steps.h"
#include "base/status.h"
#include "datasets/fields.h"
#include "datasets/run_attributes.h"
#include "models/graph/import/import.h"
#include "models/graph/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A run while its steps are made. */
struct making {
    const struct rt_workload *workload;
    struct rt_workload_name name;
    struct rt_run_attributes attributes;
    enum rt_runtime_id runtime;
    struct rt_model model;
    struct rt_run_steps *steps;
};

/* --- what a run must have --- */

static int check_numbers(const struct rt_workload *workload)
{
    if (workload->flags & RT_FLAG_FAILED)
        return rt_fail(RT_EFORMAT, "its measurement failed");
    if (workload->flags & RT_FLAG_PARTIAL)
        return rt_fail(RT_EFORMAT, "some of its kernels could not run");
    if (!rt_time_is_possible(workload->end_to_end_us))
        return rt_fail(RT_EFORMAT, "it has no measured time above 0 that a clock can give");
    if (workload->batch < 1 || workload->sequence < 1)
        return rt_fail(RT_EFORMAT, "its batch or sequence is missing");
    for (size_t f = 0; f < rt_workload_field_count; f++)
        if (!rt_field_is_possible(&rt_workload_fields[f], workload))
            return rt_fail(RT_EFORMAT, "its %s of %.9g is impossible", rt_workload_fields[f].name,
                           rt_field_real(&rt_workload_fields[f], workload));
    return RT_OK;
}

static int check(struct making *making)
{
    const struct rt_workload_split *split = &making->steps->split;
    int status = check_numbers(making->workload);
    if (status != RT_OK)
        return status;
    if (!rt_workload_option(making->name.option, &making->steps->split))
        return rt_fail(RT_EFORMAT,
                       "option \"%s\" is unknown; known are fusion, dpN, tpN, epN, adpN and ppN_M (N GPUs, M "
                       "microbatches)",
                       making->name.option);
    if (making->runtime == RT_RUNTIME_COUNT)
        return rt_fail(RT_EFORMAT,
                       "its attribute runtime is unknown; known are eager-math, eager, compile and serving");
    int64_t parts = split->data * split->microbatches;
    if (making->workload->batch % parts != 0)
        return rt_fail(RT_EUSAGE, "a batch of %" PRId64 " cannot be divided into %" PRId64 " parts",
                       making->workload->batch, parts);
    if (parts > 1 && (making->attributes.lengths != NULL || making->attributes.contexts != NULL))
        return rt_fail(RT_EFORMAT,
                       "its sequences differ, and its option %s shares them out; which goes where is unknown",
                       making->name.option);
    return RT_OK;
}

/* --- sequences of a step --- */

/* What a step does for sequence `i` of the run; `made`: tokens that were made of it before the step. */
static struct rt_sequences sequence_of(const struct making *making, enum rt_step_kind step, int64_t made,
                                       int64_t i)
{
    const struct rt_run_attributes *a = &making->attributes;
    bool decode = making->workload->mode == RT_DECODE;
    int64_t tokens = decode ? 0 : a->lengths != NULL ? a->lengths[i] : making->workload->sequence;
    int64_t cached = a->contexts != NULL ? a->contexts[i] : decode ? making->workload->sequence : 0;
    if (step == RT_STEP_DECODE)
        return (struct rt_sequences){1, 1, cached + tokens + made};
    return (struct rt_sequences){1, tokens, cached};
}

static int by_length(const void *a, const void *b)
{
    const struct rt_sequences *x = a, *y = b;
    if (x->tokens != y->tokens)
        return x->tokens < y->tokens ? -1 : 1;
    return (x->cached > y->cached) - (x->cached < y->cached);
}

/* Sequences that are alike become one; returns how many groups there are. */
static size_t join_alike(struct rt_sequences *group, size_t count)
{
    size_t kept = 0;
    qsort(group, count, sizeof *group, by_length);
    for (size_t i = 1; i < count; i++)
        if (by_length(&group[i], &group[kept]) == 0)
            group[kept].count += group[i].count;
        else
            group[++kept] = group[i];
    return kept + 1;
}

/* The sequences of a step into its options: alike, or as groups, which are the steps' own. */
static void set_sequences(const struct making *making, int64_t made, struct rt_graph_options *options)
{
    const struct rt_run_attributes *a = &making->attributes;
    bool listed = a->lengths != NULL || a->contexts != NULL;
    int64_t batch = making->workload->batch;
    struct rt_sequences alike = sequence_of(making, options->step, made, 0);
    if (listed) {
        struct rt_sequences *group = rt_malloc((size_t)batch * sizeof *group);
        for (int64_t i = 0; i < batch; i++)
            group[i] = sequence_of(making, options->step, made, i);
        making->steps->groups[making->steps->count] = group;
        options->groups = group;
        options->group_count = join_alike(group, (size_t)batch);
        double tokens = 0, cached = 0; /* options->batch and the means, as graphs expect them beside groups */
        for (size_t g = 0; g < options->group_count; g++) {
            tokens += (double)group[g].count * (double)group[g].tokens;
            cached += (double)group[g].count * (double)group[g].cached;
        }
        alike.tokens = (int64_t)ceil(tokens / (double)batch);
        alike.cached = (int64_t)ceil(cached / (double)batch);
    }
    options->sequence = alike.tokens;
    options->context = options->step == RT_STEP_DECODE ? alike.cached : alike.tokens;
}

/* --- graphs --- */

static int64_t layers_of(const struct rt_workload *workload, const struct rt_model *model)
{
    return workload->layers >= 1 ? workload->layers : model->layers;
}

/* Bits of cached keys and values; 0 where they are those of the activations. */
static int64_t cache_bits(const struct making *making)
{
    int cache = making->attributes.kv_cache;
    if (cache < 0 || rt_dtypes[cache].bytes == rt_dtypes[making->workload->dtype].bytes)
        return 0;
    return (int64_t)(8 * rt_dtypes[cache].bytes);
}

/* Adds a step of the run that counts so many times. */
static int add_step(struct making *making, enum rt_step_kind step, int64_t made, double times)
{
    const struct rt_workload *workload = making->workload;
    struct rt_run_steps *steps = making->steps;
    const struct rt_workload_split *split = &steps->split;
    int quant = making->attributes.quant;
    struct rt_model run =
        making->model; /* as many layers as it was run with; encoder-decoders have two counts */
    if (run.decoder_layers == 0)
        run.layers = layers_of(workload, &run);
    struct rt_graph_options options = {.step = step,
                                       .batch = workload->batch / (split->data * split->microbatches),
                                       .tensor_parallel = split->tensor,
                                       .expert_parallel = split->expert,
                                       .attention_data_parallel = split->attention,
                                       .runtime = making->runtime,
                                       .kv_bits = cache_bits(making),
                                       .dtype = (enum rt_dtype)(quant >= 0 ? quant : workload->dtype),
                                       .fp16_beside = workload->dtype == RT_FP16,
                                       .fusion = split->fusion};
    set_sequences(making, made, &options);
    int status = rt_graph_build(&run, &options, &steps->graph[steps->count]);
    if (status != RT_OK) {
        free(steps->groups[steps->count]);
        steps->groups[steps->count] = NULL;
        return status;
    }
    steps->times[steps->count++] = times;
    return RT_OK;
}

/* Decode steps first .. first + count - 1 (tokens made before each), and their weights. */
static int add_decode_steps(struct making *making, int64_t count)
{
    int64_t points = count < RT_DECODE_STEPS ? count : RT_DECODE_STEPS, at[RT_DECODE_STEPS];
    double weight[RT_DECODE_STEPS] = {0};
    for (int64_t p = 0; p < points; p++)
        at[p] = points > 1 ? (int64_t)round((double)(count - 1) * (double)p / (double)(points - 1)) : 0;
    for (int64_t p = 0; p + 1 < points; p++) { /* steps at[p] .. at[p + 1] - 1 on a line between the two */
        double steps = (double)(at[p + 1] - at[p]);
        weight[p] += (steps + 1) / 2;
        weight[p + 1] += (steps - 1) / 2;
    }
    if (points > 0)
        weight[points - 1] += 1; /* the last one */
    int status = RT_OK;
    for (int64_t p = 0; status == RT_OK && p < points; p++)
        status = add_step(making, RT_STEP_DECODE, at[p], weight[p]);
    return status;
}

static int add_steps(struct making *making)
{
    switch (making->workload->mode) {
    case RT_DECODE:
        return add_step(making, RT_STEP_DECODE, 0, 1);
    case RT_TRAINING:
        return add_step(making, RT_STEP_TRAINING, 0, 1);
    default:
        break;
    }
    int status = add_step(making, RT_STEP_PREFILL, 0, 1);
    if (status == RT_OK && making->workload->mode == RT_GENERATION) /* the prefill makes the first token */
        status = add_decode_steps(making, making->attributes.output - 1);
    return status;
}

/* "FOLDER/TITLE.csv" where there is such a file, else NULL. Free with free(). */
static char *graph_file(const char *folder, const struct making *making)
{
    struct stat file;
    char *title = rt_workload_title(making->workload, &making->name),
         *path = rt_format("%s/%s.csv", folder, title);
    free(title);
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode))
        return path;
    free(path);
    return NULL;
}

/* A file that was asked for: not about this run only. */
static int read_graph(struct making *making, const char *path)
{
    struct rt_model_source source;
    struct rt_graph_options options = {.dtype = (enum rt_dtype)making->workload->dtype};
    int status = rt_model_source_find(path, &source);
    if (status == RT_OK)
        status = rt_model_source_graph(&source, &options, layers_of(making->workload, &making->model),
                                       &making->steps->graph[0]);
    if (status != RT_OK)
        return RT_EIO;
    making->steps->read = true;
    making->steps->times[making->steps->count++] = 1;
    return RT_OK;
}

static int make(struct making *making, const char *folder)
{
    int status = check(making);
    if (status == RT_OK && (status = rt_model_named(making->name.model, &making->model)) == RT_ENOTFOUND)
        status = RT_EFORMAT; /* an unknown model is about this run only */
    if (status != RT_OK)
        return status;
    making->steps->kind = rt_workload_kind_of(making->workload, &making->steps->split, making->runtime);
    bool one = making->workload->mode <= RT_TRAINING && !rt_workload_is_split(&making->steps->split);
    char *path = folder != NULL && one ? graph_file(folder, making) : NULL;
    status = path != NULL ? read_graph(making, path) : add_steps(making);
    free(path);
    return status;
}

int rt_run_steps(const struct rt_dataset *dataset, const struct rt_workload *workload, const char *folder,
                 struct rt_run_steps *out)
{
    struct making making = {.workload = workload,
                            .name = rt_workload_name(dataset, workload),
                            .runtime = rt_workload_runtime(dataset, workload),
                            .steps = out};
    *out = (struct rt_run_steps){0};
    int status = rt_run_attributes_read(dataset, workload, &making.attributes);
    if (status != RT_OK)
        return status;
    status = make(&making, folder);
    rt_run_attributes_release(&making.attributes);
    if (status != RT_OK)
        rt_run_steps_release(out);
    return status;
}

void rt_run_steps_release(struct rt_run_steps *steps)
{
    for (size_t s = 0; s < steps->count; s++) {
        rt_graph_release(&steps->graph[s]);
        free(steps->groups[s]);
    }
    *steps = (struct rt_run_steps){0};
}

/* --- forecasts --- */

static void add_forecast(struct rt_run_forecast *sum, double times, const struct rt_forecast *forecast)
{
    sum->total_us += times * forecast->total_us;
    sum->forward_us += times * forecast->forward_us;
    sum->backward_us += times * forecast->backward_us;
    sum->kernels_us += times * forecast->compute_us;
    sum->communication_us += times * forecast->communication_us;
    sum->coverage += times * forecast->compute_us * forecast->coverage;
    sum->half += times * forecast->interval_high_us;
}

int rt_run_forecast(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                    const struct rt_device *device, bool fallback, double level, struct rt_run_forecast *out)
{
    const struct rt_forecast_options options = {.parallel = {.data = steps->split.data,
                                                             .pipeline = steps->split.pipeline,
                                                             .microbatches = steps->split.microbatches,
                                                             .link_gbs = NAN},
                                                .fallback = fallback,
                                                .host_us = NAN,
                                                .level = level};
    const struct rt_graph *graphs[RT_MOST_RUN_STEPS];
    struct rt_forecast forecasts[RT_MOST_RUN_STEPS];
    struct rt_run_forecast sum = {0};
    for (size_t s = 0; s < steps->count; s++)
        graphs[s] = &steps->graph[s];
    int status = rt_forecast_graphs(graphs, steps->count, predictor, device, &options, forecasts);
    if (status != RT_OK)
        return status;
    for (size_t s = 0; s < steps->count; s++) {
        add_forecast(&sum, steps->times[s], &forecasts[s]);
        rt_forecast_release(&forecasts[s]);
    }
    sum.coverage /= sum.kernels_us;
    sum.half = log(sum.half / sum.total_us);
    *out = sum;
    return RT_OK;
}
