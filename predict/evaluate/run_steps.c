/* Steps of measured runs: graphs, weights, sums. See run_steps.h. */
#include "predict/evaluate/run_steps.h"
#include "base/status.h"
#include "datasets/dataset.h"
#include "datasets/run_attributes.h"
#include "models/networks/source.h"
#include "models/networks/memory.h"
#include "models/networks/model.h"
#include "predict/step/power_limit.h"
#include "predict/step/step.h"
#include "predict/step/energy.h"
#include "predict/step/forecast_graphs.h"
#include "predict/step/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A run while its steps are made. */
struct builder {
    const struct rt_dataset *dataset;
    const struct rt_workload *workload;
    bool untimed; /* it was out of memory */
    const struct rt_device *device;
    struct rt_workload_name name;
    struct rt_run_attributes attributes;
    enum rt_runtime_id runtime;
    enum rt_optimizer_kind optimizer;
    struct rt_model model;
    struct rt_run_steps *steps;
};

/* --- what a run must have --- */

static int check_numbers(const struct builder *builder)
{
    const struct rt_workload *workload = builder->workload;
    if ((workload->flags & RT_FLAG_FAILED) && !builder->untimed)
        return rt_fail(RT_EFORMAT, "its measurement failed");
    if (workload->flags & RT_FLAG_PARTIAL)
        return rt_fail(RT_EFORMAT, "some of its kernels could not run");
    if (!builder->untimed && !rt_time_is_possible(workload->end_to_end_us))
        return rt_fail(RT_EFORMAT, "it has no measured time above 0 that a clock can give");
    if (workload->batch < 1)
        return rt_fail(RT_EFORMAT, "its batch is missing");
    for (size_t f = 0; f < rt_workload_field_count; f++)
        if (!rt_field_is_possible(&rt_workload_fields[f], workload))
            return rt_fail(RT_EFORMAT, "its %s of %.9g is impossible", rt_workload_fields[f].name,
                           rt_field_real(&rt_workload_fields[f], workload));
    return RT_OK;
}

static int check(struct builder *builder)
{
    const struct rt_parallelism *parallel = &builder->steps->split.parallel;
    int status = check_numbers(builder);
    if (status != RT_OK)
        return status;
    if (!rt_workload_option(builder->name.option, &builder->steps->split))
        return rt_fail(RT_EFORMAT,
                       "option \"%s\" is unknown; known are fusion, dpN, tpN, epN, adpN and ppN_M (N GPUs, M "
                       "microbatches)",
                       builder->name.option);
    if (builder->runtime == RT_RUNTIME_COUNT)
        return rt_fail(
            RT_EFORMAT,
            "its attribute runtime is unknown; known are eager-math, eager, eager-1.4, graph, compile "
            "and serving");
    int64_t parts = parallel->data * parallel->microbatches;
    if (builder->workload->batch % parts != 0)
        return rt_fail(RT_EUSAGE, "a batch of %" PRId64 " cannot be divided into %" PRId64 " parts",
                       builder->workload->batch, parts);
    if (parts > 1 && (builder->attributes.lengths != NULL || builder->attributes.contexts != NULL))
        return rt_fail(RT_EFORMAT,
                       "its sequences differ, and its option %s shares them out; which goes where is unknown",
                       builder->name.option);
    return RT_OK;
}

/* What runs of language models and runs of models of images must have. */
static int check_kind(const struct builder *builder)
{
    const struct rt_run_attributes *a = &builder->attributes;
    bool images = rt_model_image(&builder->model) > 0, text = rt_model_reads_text(&builder->model);
    if (!images && (a->image >= 0 || a->channels_last))
        return rt_fail(RT_EFORMAT, "it has an attribute %s, but %s is no model of images; leave it out",
                       a->image >= 0 ? "image" : "layout", builder->name.model);
    if (text && builder->workload->sequence < 1)
        return rt_fail(RT_EFORMAT, "its sequence is missing");
    return RT_OK;
}

/* --- sequences of a step --- */

/* A step of the run. */
struct part {
    enum rt_step_kind step;
    int64_t batch;   /* sequences of it */
    int64_t made;    /* tokens made of each before the step */
    int64_t prompts; /* prefilled beside them */
};

/* What the step does for sequence `i` of the run. */
static struct rt_sequences sequence_of(const struct builder *builder, const struct part *part, int64_t i)
{
    const struct rt_run_attributes *a = &builder->attributes;
    bool decode = builder->workload->mode == RT_DECODE;
    int64_t tokens = decode ? 0 : a->lengths != NULL ? a->lengths[i] : builder->workload->sequence;
    int64_t cached = a->contexts != NULL ? a->contexts[i] : decode ? builder->workload->sequence : 0;
    if (part->step == RT_STEP_DECODE)
        return (struct rt_sequences){1, 1, cached + tokens + part->made};
    return (struct rt_sequences){1, tokens, cached};
}

static int by_length(const void *a, const void *b)
{
    const struct rt_sequences *x = a, *y = b;
    if (x->tokens != y->tokens)
        return x->tokens < y->tokens ? -1 : 1;
    return (x->cached > y->cached) - (x->cached < y->cached);
}

/* Sequences that are alike become one group; returns how many there are. */
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

static bool is_listed(const struct builder *builder)
{
    return builder->attributes.lengths != NULL || builder->attributes.contexts != NULL;
}

/* The step's sequences as groups, which are the steps' own; returns how many. */
static size_t make_groups(const struct builder *builder, const struct part *part, struct rt_sequences **out)
{
    struct rt_sequences *group = rt_malloc(((size_t)part->batch + 1) * sizeof *group);
    size_t count = 1;
    group[0] = sequence_of(builder, part, 0);
    if (is_listed(builder)) {
        for (int64_t i = 1; i < part->batch; i++)
            group[i] = sequence_of(builder, part, i);
        count = join_alike(group, (size_t)part->batch);
    } else {
        group[0].count = part->batch;
    }
    if (part->prompts > 0)
        group[count++] = (struct rt_sequences){part->prompts, builder->attributes.prompt, 0};
    *out = group;
    return count;
}

/* The sequences of a step into its options: alike, or as groups with their number and means beside. */
static void set_sequences(const struct builder *builder, const struct part *part,
                          struct rt_graph_options *options)
{
    struct rt_sequences alike = sequence_of(builder, part, 0);
    double tokens = 0, cached = 0, number = 0;
    if (is_listed(builder) || part->prompts > 0) {
        struct rt_sequences **groups = &builder->steps->groups[builder->steps->count];
        options->group_count = make_groups(builder, part, groups);
        options->groups = *groups;
        for (size_t g = 0; g < options->group_count; g++) {
            number += (double)(*groups)[g].count;
            tokens += (double)(*groups)[g].count * (double)(*groups)[g].tokens;
            cached += (double)(*groups)[g].count * (double)(*groups)[g].cached;
        }
        alike = (struct rt_sequences){1, (int64_t)ceil(tokens / number), (int64_t)ceil(cached / number)};
    }
    options->sequence = alike.tokens;
    options->context = part->step == RT_STEP_DECODE ? alike.cached : alike.tokens;
}

/* --- graphs --- */

static int64_t layers_of(const struct rt_workload *workload, const struct rt_model *model)
{
    return workload->layers >= 1 ? workload->layers : model->layers;
}

/* Bits of cached keys and values; 0 where they are those of the activations. */
static int64_t cache_bits(const struct builder *builder)
{
    int cache = builder->attributes.kv_cache;
    if (cache < 0 || rt_dtypes[cache].bytes == rt_dtypes[builder->workload->dtype].bytes)
        return 0;
    return (int64_t)(8 * rt_dtypes[cache].bytes);
}

static struct rt_graph_options options_of(const struct builder *builder, const struct part *part)
{
    const struct rt_run_attributes *attributes = &builder->attributes;
    const struct rt_parallelism *parallel = &builder->steps->split.parallel;
    int quant = attributes->quant;
    int64_t parts = rt_parallelism_parts(parallel);
    return (struct rt_graph_options){.step = part->step,
                                     .batch = (part->batch + parts - 1) / parts,
                                     .tensor_parallel = parallel->tensor,
                                     .expert_parallel = parallel->expert,
                                     .attention_data_parallel = parallel->attention,
                                     .runtime = builder->runtime,
                                     .kv_bits = cache_bits(builder),
                                     .dtype = (enum rt_dtype)(quant >= 0 ? quant : builder->workload->dtype),
                                     .fp16_beside = builder->workload->dtype == RT_FP16,
                                     .optimizer = builder->optimizer,
                                     .image = attributes->image >= 0 ? attributes->image : 0,
                                     .channels_last = attributes->channels_last,
                                     .autocast = attributes->autocast,
                                     .fusion = builder->steps->split.fusion};
}

/* Adds a step of the run that counts so many times. */
static int add_step(struct builder *builder, struct part part, double times)
{
    struct rt_run_steps *steps = builder->steps;
    struct rt_model run =
        builder->model; /* as many layers as it was run with; encoder-decoders have two counts */
    if (run.decoder.layers == 0)
        run.layers = layers_of(builder->workload, &run);
    struct rt_graph_options options = options_of(builder, &part);
    set_sequences(builder, &part, &options);
    int status = rt_graph_build(&run, &options, &steps->graph[steps->count]);
    if (status != RT_OK) {
        free(steps->groups[steps->count]);
        steps->groups[steps->count] = NULL;
        return status;
    }
    steps->times[steps->count++] = times;
    return RT_OK;
}

static void drop_last_step(struct rt_run_steps *steps)
{
    steps->count--;
    rt_graph_release(&steps->graph[steps->count]);
    free(steps->groups[steps->count]);
    steps->groups[steps->count] = NULL;
}

/* --- servers: as many sequences as fit --- */

static struct rt_scheduler schedules(const struct builder *builder)
{
    return rt_server_scheduler(builder->steps->server, builder->device,
                               builder->steps->split.parallel.tensor);
}

/* How many of a decode step's sequences are in the memory at once; at least one. All where sequences differ,
 * where no server waits, or where the memory is unknown. */
static int sequences_at_once(struct builder *builder, const struct part *part, int64_t *out)
{
    struct rt_graph_memory memory;
    *out = part->batch;
    if (!rt_runtimes[builder->runtime].served || is_listed(builder) || isnan(builder->device->memory_gib))
        return RT_OK;
    int status = add_step(builder, *part, 0);
    if (status != RT_OK)
        return status;
    const struct rt_graph *graph = &builder->steps->graph[builder->steps->count - 1];
    struct rt_memory_options options = RT_MEMORY_DEFAULTS;
    options.layers = 1.0 / (double)builder->steps->split.parallel.pipeline;
    rt_graph_memory(graph, &options, &memory);
    struct rt_scheduler scheduler = schedules(builder);
    double room =
        rt_server_kv_allocation(&scheduler, builder->device->memory_gib, memory.weights + memory.activations);
    double fit = floor(room / (memory.cache / (double)part->batch));
    if (fit < (double)part->batch)
        *out = fit >= 1 ? (int64_t)fit : 1;
    drop_last_step(builder->steps);
    return RT_OK;
}

/* Decode steps 1 .. count of `batch` sequences, each `times`. */
static int add_decode_steps(struct builder *builder, int64_t batch, int64_t count, double times)
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
        status = add_step(builder, (struct part){RT_STEP_DECODE, batch, at[p], 0}, times * weight[p]);
    return status;
}

/* The prefill makes the first token. */
static int add_generation(struct builder *builder, int64_t batch, double times)
{
    int status = add_step(builder, (struct part){RT_STEP_PREFILL, batch, 0, 0}, times);
    return status == RT_OK ? add_decode_steps(builder, batch, builder->attributes.output - 1, times) : status;
}

/* Whole waves, and what is left of the batch. */
static int add_waves(struct builder *builder)
{
    int64_t batch = builder->workload->batch, at_once, last = builder->attributes.output - 2;
    int status =
        sequences_at_once(builder, &(struct part){RT_STEP_DECODE, batch, last > 0 ? last : 0, 0}, &at_once);
    if (status == RT_OK)
        status = add_generation(builder, at_once, (double)(batch / at_once));
    if (status == RT_OK && batch % at_once > 0)
        status = add_generation(builder, batch % at_once, 1);
    return status;
}

/* A decode step, or the mean one under steady load. */
static int add_decode(struct builder *builder)
{
    struct part part = {RT_STEP_DECODE, builder->workload->batch, 0, 0};
    if (builder->attributes.prompt < 0)
        return add_step(builder, part, 1);
    int status = sequences_at_once(builder, &part, &part.batch);
    double prompts = (double)part.batch / (double)builder->attributes.output;
    prompts *= schedules(builder).mixed ? 1 : 0.5;
    double more = prompts - floor(prompts);
    part.prompts = (int64_t)floor(prompts);
    if (status == RT_OK && more < 1)
        status = add_step(builder, part, 1 - more);
    part.prompts++;
    return status == RT_OK && more > 0 ? add_step(builder, part, more) : status;
}

static int add_steps(struct builder *builder)
{
    int64_t batch = builder->workload->batch;
    switch (builder->workload->mode) {
    case RT_DECODE:
        return add_decode(builder);
    case RT_GENERATION:
        return add_waves(builder);
    default:
        return add_step(
            builder,
            (struct part){builder->workload->mode == RT_TRAINING ? RT_STEP_TRAINING : RT_STEP_PREFILL, batch,
                          0, 0},
            1);
    }
}

/* "FOLDER/TITLE.csv" where there is such a file, else NULL. Free with free(). */
static char *graph_file(const char *folder, const struct builder *builder)
{
    struct stat file;
    char *title = rt_workload_title(builder->workload, &builder->name),
         *path = rt_format("%s/%s.csv", folder, title);
    free(title);
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode))
        return path;
    free(path);
    return NULL;
}

/* The one step of a model that is a file. */
static int read_onnx(struct builder *builder, const char *path)
{
    struct part part = {builder->workload->mode == RT_TRAINING ? RT_STEP_TRAINING : RT_STEP_PREFILL,
                        builder->workload->batch, 0, 0};
    int status = rt_run_onnx_graph(path, builder->dataset, builder->workload, &builder->attributes,
                                   options_of(builder, &part), &builder->steps->graph[0]);
    if (status != RT_OK)
        return status;
    builder->steps->read = true;
    builder->steps->times[builder->steps->count++] = 1;
    return RT_OK;
}

/* A file that was asked for: not about this run only. */
static int read_graph(struct builder *builder, const char *path)
{
    struct rt_model_source source;
    struct rt_graph_options options = {.dtype = (enum rt_dtype)builder->workload->dtype};
    int status = rt_model_source_find(path, &source);
    if (status == RT_OK)
        status = rt_model_source_graph(&source, &options, layers_of(builder->workload, &builder->model),
                                       &builder->steps->graph[0]);
    if (status != RT_OK)
        return RT_EIO;
    builder->steps->read = true;
    builder->steps->times[builder->steps->count++] = 1;
    return RT_OK;
}

static int find_optimizer(struct builder *builder)
{
    const char *name = builder->attributes.optimizer;
    for (int o = 0; name != NULL && o < RT_OPTIMIZER_COUNT; o++)
        if (strcmp(rt_optimizers[o], name) == 0) {
            builder->optimizer = (enum rt_optimizer_kind)o;
            return RT_OK;
        }
    return name == NULL
               ? RT_OK
               : rt_fail(RT_EFORMAT, "its attribute optimizer is \"%.24s\"; known are none, sgd and adamw",
                         name);
}

/* A row of the table of hosts; a file on somebody's disk is nothing that a dataset can name. */
static int find_host(struct builder *builder)
{
    const char *name = builder->attributes.host;
    builder->steps->input = builder->attributes.input;
    builder->steps->power_limit_w = builder->attributes.power_limit_w;
    builder->steps->host = name != NULL ? rt_host_named(name) : NULL;
    if (name == NULL || builder->steps->host != NULL)
        return RT_OK;
    char *names = rt_host_names();
    int status = rt_fail(RT_EFORMAT, "its attribute host is \"%.40s\"; known are %s", name, names);
    free(names);
    return status;
}

/* By its name; an unknown one is about this run only. */
static int find_model(struct builder *builder)
{
    int status = rt_model_named(builder->name.model, &builder->model);
    if (status == RT_ENOTFOUND)
        return RT_EFORMAT;
    return status == RT_OK ? check_kind(builder) : status;
}

static int make_named(struct builder *builder, const char *folder)
{
    bool one = builder->workload->mode <= RT_TRAINING && !rt_workload_is_split(&builder->steps->split);
    char *path = folder != NULL && one && !builder->untimed ? graph_file(folder, builder) : NULL;
    int status = find_model(builder);
    if (status == RT_OK)
        status = path != NULL ? read_graph(builder, path) : add_steps(builder);
    free(path);
    return status;
}

static int make(struct builder *builder, const char *folder)
{
    int status = check(builder);
    if (status == RT_OK)
        status = find_optimizer(builder);
    if (status == RT_OK)
        status = find_host(builder);
    if (status != RT_OK)
        return status;
    builder->steps->split.parallel.fabric = builder->attributes.fabric;
    builder->steps->server =
        rt_server_of_run(rt_runtimes[builder->runtime].served ? builder->name.backend : NULL);
    builder->steps->kind = rt_workload_kind_of(builder->workload, &builder->steps->split, builder->runtime);
    char *onnx = folder != NULL ? rt_run_onnx_file(folder, builder->name.model) : NULL;
    status = onnx != NULL ? read_onnx(builder, onnx) : make_named(builder, folder);
    free(onnx);
    return status;
}

static int make_run(const struct rt_dataset *dataset, const struct rt_workload *workload, bool untimed,
                    const struct rt_device *device, const char *folder, struct rt_run_steps *out)
{
    struct builder builder = {.dataset = dataset,
                              .workload = workload,
                              .untimed = untimed,
                              .device = device,
                              .name = rt_workload_name(dataset, workload),
                              .runtime = rt_workload_runtime(dataset, workload),
                              .steps = out};
    *out = (struct rt_run_steps){0};
    int status = rt_run_attributes_read(dataset, workload, &builder.attributes);
    if (status != RT_OK)
        return status;
    status = make(&builder, folder);
    rt_run_attributes_release(&builder.attributes);
    if (status != RT_OK)
        rt_run_steps_release(out);
    return status;
}

int rt_run_steps(const struct rt_dataset *dataset, const struct rt_workload *workload,
                 const struct rt_device *device, const char *folder, struct rt_run_steps *out)
{
    return make_run(dataset, workload, false, device, folder, out);
}

int rt_run_steps_untimed(const struct rt_dataset *dataset, const struct rt_workload *workload,
                         const struct rt_device *device, const char *folder, struct rt_run_steps *out)
{
    return make_run(dataset, workload, true, device, folder, out);
}

bool rt_run_was_out_of_memory(const struct rt_dataset *dataset, const struct rt_workload *workload)
{
    const char *text = rt_dataset_attribute(dataset, workload->group, rt_out_of_memory_attribute);
    return text != NULL && strcmp(text, "1") == 0;
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

/* Sum of the launches' bounds in one pass; NaN where several stages share it. */
static double roofline_us(const struct rt_forecast *forecast)
{
    double sum = forecast->options.parallel.pipeline > 1 ? NAN : 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        double times = rt_forecast_launch_total(forecast, launch) / launch->time_us;
        sum += launch->source == RT_TIME_LINK ? 0 : times * launch->roofline_us;
    }
    return sum;
}

static void add_forecast(struct rt_run_forecast *sum, const struct rt_run_steps *steps, size_t s,
                         const struct rt_forecast *forecast)
{
    double times = steps->times[s];
    sum->total_us += times * forecast->total_us;
    sum->roofline_us += times * roofline_us(forecast);
    sum->forward_us += times * forecast->forward_us;
    sum->backward_us += times * forecast->backward_us;
    sum->kernels_us += times * forecast->compute_us;
    sum->communication_us += times * forecast->communication_us;
    sum->coverage += times * forecast->compute_us * forecast->coverage;
    sum->ln_half_width += times * forecast->interval_high_us;
    sum->taken.allocated = fmax(sum->taken.allocated, forecast->taken.allocated);
    sum->taken.reserved = fmax(sum->taken.reserved, forecast->taken.reserved);
    sum->taken.used = fmax(sum->taken.used, forecast->taken.used);
    sum->memory_bytes = forecast->memory_bytes;
    sum->fits &= rt_forecast_fits(forecast);
}

/* Is it under a limit that its board has not by itself? */
static bool is_limited(const struct rt_run_steps *steps, const struct rt_device *device)
{
    return steps->power_limit_w < device->power_w;
}

/* Under the run's limit. */
static int hold_steps(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                      const struct rt_device *device, struct rt_forecast forecasts[RT_MOST_RUN_STEPS])
{
    int status = RT_OK;
    for (size_t s = 0; s < steps->count && status == RT_OK && is_limited(steps, device); s++) {
        struct rt_device held = *device;
        forecasts[s].device = &held;
        status = rt_forecast_cap_power(&forecasts[s], &held, predictor, steps->power_limit_w);
        forecasts[s].device = device;
    }
    return status;
}

/* Forecasts of all steps at full power, to be released. */
static int forecast_steps(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                          const struct rt_device *device, bool fallback, double level,
                          struct rt_forecast forecasts[RT_MOST_RUN_STEPS])
{
    const struct rt_forecast_options options = {.parallel = steps->split.parallel,
                                                .fallback = fallback,
                                                .host = steps->host,
                                                .host_us = steps->split.kernels ? 0 : NAN,
                                                .input = steps->input,
                                                .server = steps->server,
                                                .scales = steps->scales,
                                                .level = level};
    const struct rt_graph *graphs[RT_MOST_RUN_STEPS];
    for (size_t s = 0; s < steps->count; s++)
        graphs[s] = &steps->graph[s];
    return rt_forecast_graphs(graphs, steps->count, predictor, device, &options, forecasts);
}

int rt_run_forecast(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                    const struct rt_device *device, bool fallback, double level, struct rt_run_forecast *out)
{
    struct rt_forecast forecasts[RT_MOST_RUN_STEPS];
    struct rt_run_forecast sum = {.fits = true};
    int status = forecast_steps(steps, predictor, device, fallback, level, forecasts);
    if (status != RT_OK)
        return status;
    status = hold_steps(steps, predictor, device, forecasts);
    for (size_t s = 0; s < steps->count; s++)
        add_forecast(&sum, steps, s, &forecasts[s]);
    if (steps->count > 2 && steps->graph[0].options.step == RT_STEP_PREFILL && forecasts[0].taken.used > 0)
        rt_memory_generation(&forecasts[0], &forecasts[1], &forecasts[steps->count - 1], &sum.taken);
    for (size_t s = 0; s < steps->count; s++)
        rt_forecast_release(&forecasts[s]);
    sum.coverage /= sum.kernels_us;
    sum.ln_half_width = log(sum.ln_half_width / sum.total_us);
    *out = sum;
    return status;
}

int rt_run_profiles(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                    const struct rt_device *device, bool fallback, double measured_us,
                    struct rt_power_profile *profile)
{
    struct rt_forecast forecasts[RT_MOST_RUN_STEPS];
    double total_us = 0;
    int status = forecast_steps(steps, predictor, device, fallback, 0, forecasts);
    if (status != RT_OK)
        return status;
    for (size_t s = 0; s < steps->count; s++) {
        double scale[RT_ENERGY_PARTS];
        rt_power_profile_full(&forecasts[s], &profile[s]);
        if (is_limited(steps, device) && status == RT_OK)
            status = rt_power_profile_clocks(&forecasts[s], predictor, &profile[s], scale);
        total_us += steps->times[s] * forecasts[s].total_us;
        rt_forecast_release(&forecasts[s]);
    }
    for (size_t s = 0; s < steps->count && status == RT_OK && !isnan(measured_us); s++)
        rt_power_profile_retime(&profile[s], profile[s].step_us[0] * measured_us / total_us);
    return status;
}

struct scaled_run {
    struct rt_run_steps steps; /* borrowed but for its scales */
    const struct rt_predictor *predictor;
    const struct rt_device *device;
    bool fallback;
};

static int scaled_run_us(void *context, const struct rt_time_scales *scales, double *us)
{
    struct scaled_run *run = context;
    struct rt_run_forecast forecast = {0};
    run->steps.scales = *scales;
    int status = rt_run_forecast(&run->steps, run->predictor, run->device, run->fallback, 0, &forecast);
    *us = forecast.total_us;
    return status;
}

int rt_run_scales(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                  const struct rt_device *device, bool fallback, double measured_us,
                  struct rt_time_scales *out)
{
    struct scaled_run run = {*steps, predictor, device, fallback};
    return rt_time_scales_fit(scaled_run_us, &run, measured_us, out);
}
