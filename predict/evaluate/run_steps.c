/* Steps of measured runs: graphs, weights, sums. See run_steps.h. */
#include "predict/evaluate/run_steps.h"
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "datasets/dataset.h"
#include "datasets/run_attributes.h"
#include "models/networks/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A run while its steps are made. */
struct builder {
    const struct rt_dataset *dataset;
    const struct rt_workload *workload;
    bool untimed; /* its memory alone is judged */
    const struct rt_device *device;
    struct rt_workload_name name;
    struct rt_run_attributes attributes;
    struct rt_model_source source;
    struct rt_run_steps *steps;
};

static struct rt_step *request(const struct builder *builder)
{
    return &builder->steps->step;
}

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

static int refuse_runtime(void)
{
    struct rt_text known = {0};
    for (int r = 0; r < RT_RUNTIME_COUNT; r++)
        rt_text_item(&known, ", ", "%s", rt_runtimes[r].name);
    int status = rt_fail(RT_EFORMAT, "its attribute runtime is unknown; known are %s", known.text);
    rt_text_release(&known);
    return status;
}

static int check(struct builder *builder)
{
    const struct rt_parallelism *parallel = &request(builder)->parallel;
    int status = check_numbers(builder);
    if (status != RT_OK)
        return status;
    if (request(builder)->runtime == RT_RUNTIME_COUNT)
        return refuse_runtime();
    if ((status = rt_workload_request(builder->dataset, builder->workload, request(builder))) != RT_OK)
        return status;
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

/* --- sequences of a step --- */

/* A step of the run. */
struct part {
    enum rt_step_kind kind;
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
    if (part->kind == RT_STEP_DECODE)
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

/* As the lists of a request have it: "2648,3740x2,512+4096"; of those that decode what is cached. */
static void list_group(struct rt_text *list, const struct rt_sequences *group, bool decodes)
{
    if (decodes)
        rt_text_item(list, ",", "%" PRId64 "x%" PRId64, group->cached, group->count);
    else
        rt_text_item(list, ",", "%" PRId64 "+%" PRId64 "x%" PRId64, group->tokens, group->cached,
                     group->count);
}

/* Sequences that differ, or have prompts beside them. */
static void list_sequences(const struct builder *builder, const struct part *part, struct rt_text *lengths,
                           struct rt_text *contexts)
{
    bool decodes = part->kind == RT_STEP_DECODE;
    struct rt_sequences *group = rt_malloc((size_t)part->batch * sizeof *group);
    size_t count = 1;
    group[0] = sequence_of(builder, part, 0);
    group[0].count = is_listed(builder) ? 1 : part->batch;
    if (is_listed(builder)) {
        for (int64_t i = 1; i < part->batch; i++)
            group[i] = sequence_of(builder, part, i);
        count = join_alike(group, (size_t)part->batch);
    }
    for (size_t g = 0; g < count; g++)
        list_group(decodes ? contexts : lengths, &group[g], decodes);
    if (part->prompts > 0)
        list_group(lengths, &(struct rt_sequences){part->prompts, builder->attributes.prompt, 0}, false);
    free(group);
}

/* Sequences that are alike. Where GPUs have unequal parts of them, as those that share out attention may, the
 * one with the most sets the pace: all have as many. */
static void set_sequences(const struct builder *builder, const struct part *part, struct rt_step *step)
{
    struct rt_sequences alike = sequence_of(builder, part, 0);
    int64_t parts = rt_parallelism_parts(&step->parallel);
    step->mode = (int)part->kind;
    step->batch = (part->batch + parts - 1) / parts * parts;
    if (!rt_model_reads_text(&builder->source.model))
        return;
    step->sequence = alike.tokens;
    step->context = part->kind == RT_STEP_DECODE ? alike.cached : 0;
}

/* --- graphs --- */

/* `kind`: of a decode step that stands for those of steady load; RT_NOT_GIVEN: as it is settled. What prompts
 * come in beside it leaves it one, whose collectives are in the server's CUDA graph. */
static int settle(const struct builder *builder, const struct rt_step *step, int kind)
{
    struct rt_run_steps *steps = builder->steps;
    struct rt_settled_step *settled = &steps->settled[steps->count];
    int status = rt_step_settle(step, &builder->source, builder->device, settled);
    if (kind != RT_NOT_GIVEN)
        settled->graph.step = (enum rt_step_kind)kind;
    if (status == RT_OK)
        status = rt_settled_step_graph(settled, &builder->source, &steps->graph[steps->count]);
    if (status != RT_OK)
        rt_settled_step_release(settled);
    return status;
}

/* Adds a step of the run that counts so many times. */
static int add_step(const struct builder *builder, struct part part, double times)
{
    struct rt_run_steps *steps = builder->steps;
    struct rt_step step = *request(builder);
    struct rt_text lengths = {0}, contexts = {0};
    if (is_listed(builder) || part.prompts > 0)
        list_sequences(builder, &part, &lengths, &contexts);
    else
        set_sequences(builder, &part, &step);
    step.lengths = lengths.text;
    step.contexts = contexts.text;
    int status = settle(builder, &step, part.prompts > 0 ? RT_STEP_DECODE : RT_NOT_GIVEN);
    rt_text_release(&lengths);
    rt_text_release(&contexts);
    if (status != RT_OK)
        return status;
    steps->settled[steps->count].step.lengths = steps->settled[steps->count].step.contexts = NULL;
    steps->times[steps->count++] = times;
    return RT_OK;
}

static void drop_last_step(struct rt_run_steps *steps)
{
    steps->count--;
    rt_graph_release(&steps->graph[steps->count]);
    rt_settled_step_release(&steps->settled[steps->count]);
}

/* --- servers: as many sequences as fit --- */

static bool is_served(const struct builder *builder)
{
    return rt_runtimes[request(builder)->runtime].served;
}

static struct rt_scheduler schedules(const struct builder *builder)
{
    return rt_server_scheduler(builder->steps->server, builder->device, request(builder)->parallel.tensor);
}

/* How many of a decode step's sequences are in the memory at once; at least one. All where sequences differ,
 * where no server waits, or where the memory is unknown. */
static int sequences_at_once(struct builder *builder, const struct part *part, int64_t *out)
{
    struct rt_graph_memory memory;
    *out = part->batch;
    if (!is_served(builder) || is_listed(builder) || isnan(builder->device->memory_gib))
        return RT_OK;
    int status = add_step(builder, *part, 0);
    if (status != RT_OK)
        return status;
    const struct rt_graph *graph = &builder->steps->graph[builder->steps->count - 1];
    struct rt_memory_options options = RT_MEMORY_DEFAULTS;
    options.layers = 1.0 / (double)request(builder)->parallel.pipeline;
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

/* Of the modes that are a step. */
static enum rt_step_kind kind_of(const struct rt_workload *workload)
{
    return workload->mode == RT_TRAINING ? RT_STEP_TRAINING
           : workload->mode == RT_DECODE ? RT_STEP_DECODE
                                         : RT_STEP_PREFILL;
}

static int add_steps(struct builder *builder)
{
    const struct rt_workload *workload = builder->workload;
    switch (workload->mode) {
    case RT_DECODE:
        return add_decode(builder);
    case RT_GENERATION:
        return add_waves(builder);
    default:
        return add_step(builder, (struct part){kind_of(workload), workload->batch, 0, 0}, 1);
    }
}

/* --- runs whose graph is a file --- */

/* The one step of what was traced. */
static int read_step(struct builder *builder, const struct rt_step *step)
{
    int status = settle(builder, step, RT_NOT_GIVEN);
    if (status != RT_OK)
        return status;
    builder->steps->read = true;
    builder->steps->times[builder->steps->count++] = 1;
    return RT_OK;
}

/* The ONNX model of the run's model: FOLDER/NAME.onnx, or FOLDER/NAME where the name ends so, also in folders
 * below ("timm/resnet50"); NULL: there is none. Free with free(). */
static char *onnx_file(const char *folder, const char *model)
{
    if (model[0] == '/' || strstr(model, "..") != NULL) /* a name that leads out of the folder */
        return NULL;
    char *path = rt_format("%s/%s%s", folder, model, rt_model_is_onnx(model) ? "" : ".onnx");
    if (rt_file_is_there(path))
        return path;
    free(path);
    return NULL;
}

static bool is_first_of_model(const struct builder *builder)
{
    for (const struct rt_workload *other = builder->dataset->workloads; other < builder->workload; other++)
        if (other->model == builder->workload->model)
            return false;
    return true;
}

/* Its batch and sequence become the sizes of dims whose names begin so (models/networks/source.h); the side
 * of its images is in the file. */
static int read_onnx(struct builder *builder, const char *path)
{
    const struct rt_workload *workload = builder->workload;
    struct rt_step step = *request(builder);
    int64_t image = builder->attributes.image;
    if (workload->mode != RT_INFERENCE && workload->mode != RT_TRAINING)
        return rt_fail(RT_EFORMAT, "an ONNX model is of one step, so only inference and training of it are "
                                   "forecast");
    if (is_listed(builder))
        return rt_fail(RT_EFORMAT, "its sequences differ, which is not forecast of ONNX models");
    step.mode = (int)kind_of(workload);
    step.batch = workload->batch;
    step.sequence = workload->sequence >= 1 ? workload->sequence : 0;
    step.image = 0;
    if (builder->attributes.runtime == NULL)
        step.runtime = RT_NOT_GIVEN;
    int status = rt_model_source_find(path, &builder->source);
    builder->source.quiet = !is_first_of_model(builder); /* a file is warned of at its first run */
    if (status == RT_OK)
        status = read_step(builder, &step);
    int64_t side = status == RT_OK ? builder->steps->graph[0].options.image : 0;
    if (status == RT_OK && image >= 0 && image != side)
        return rt_fail(RT_EFORMAT, "its images have a side of %" PRId64 ", those of %s %" PRId64, image, path,
                       side);
    return status;
}

/* "FOLDER/TITLE.csv" where there is such a file, else NULL. Free with free(). */
static char *graph_file(const char *folder, const struct builder *builder)
{
    char *title = rt_workload_title(builder->workload, &builder->name),
         *path = rt_format("%s/%s.csv", folder, title);
    free(title);
    if (rt_file_is_there(path))
        return path;
    free(path);
    return NULL;
}

static int64_t layers_of(const struct builder *builder)
{
    int64_t layers = builder->workload->layers;
    return layers >= 1 ? layers : builder->source.model.layers;
}

/* Another's operator graph of the run, which is of one GPU, step and size. A file that was asked for: what is
 * wrong with it is not about this run only. */
static int read_graph(struct builder *builder, const char *path)
{
    struct rt_step step = RT_STEP_NOT_GIVEN;
    step.dtype = builder->workload->dtype;
    step.layers = layers_of(builder);
    int status = rt_model_source_find(path, &builder->source);
    if (status == RT_OK)
        status = read_step(builder, &step);
    return status == RT_OK ? RT_OK : RT_EIO;
}

/* --- what the run says --- */

/* A row of the table of hosts, or a host's JSON: a file on somebody's disk is nothing that a dataset can
 * name. */
static int find_host(struct builder *builder)
{
    const char *name = builder->attributes.host;
    if (name == NULL)
        return RT_OK;
    if (name[0] == '{')
        return rt_host_find(name, &builder->steps->host) == RT_OK
                   ? RT_OK
                   : rt_fail_context(RT_EFORMAT, "its attribute host");
    const struct rt_host *row = rt_host_named(name);
    if (row != NULL) {
        builder->steps->host = *row;
        return RT_OK;
    }
    char *names = rt_host_names();
    int status = rt_fail(RT_EFORMAT, "its attribute host is \"%.40s\"; known are %s, or the JSON of a host",
                         name, names);
    free(names);
    return status;
}

/* What all steps of the run have in common, beside what its option and attributes named after fields say. */
static void fill_request(struct builder *builder)
{
    const struct rt_run_attributes *a = &builder->attributes;
    struct rt_step *step = request(builder);
    step->dtype = builder->workload->dtype;
    step->host = a->host;
    step->server = is_served(builder) ? a->backend : NULL;
    step->power_limit_w = a->power_limit_w;
}

/* By its name, or from a config.json beside the program; an unknown one is about this run only; with as many
 * layers as it was run with (encoder-decoders have two counts). */
static int find_model(struct builder *builder)
{
    struct rt_model *model = &builder->source.model;
    size_t length = strlen(builder->name.model);
    bool config = length > 5 && strcmp(builder->name.model + length - 5, ".json") == 0;
    int status = config ? rt_model_source_find(builder->name.model, &builder->source)
                        : rt_model_source_named(builder->name.model, &builder->source);
    if (status != RT_OK)
        return status == RT_ENOTFOUND ? RT_EFORMAT : status;
    if (model->decoder.layers == 0)
        model->layers = layers_of(builder);
    if (!rt_model_reads_text(model))
        return RT_OK;
    if (request(builder)->kv_cache == RT_NOT_GIVEN)
        request(builder)->kv_cache = RT_DTYPE_NONE;
    return builder->workload->sequence < 1 ? rt_fail(RT_EFORMAT, "its sequence is missing") : RT_OK;
}

static int make_named(struct builder *builder, const char *folder)
{
    bool one =
        builder->workload->mode <= RT_TRAINING && rt_parallelism_gpus(&request(builder)->parallel) == 1;
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
        status = find_host(builder);
    if (status != RT_OK)
        return status;
    builder->steps->server = rt_server_of_run(is_served(builder) ? builder->name.backend : NULL);
    builder->steps->kind = rt_workload_kind_of(builder->workload, request(builder));
    fill_request(builder);
    char *onnx = folder != NULL ? onnx_file(folder, builder->name.model) : NULL;
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
                              .steps = out};
    *out = (struct rt_run_steps){.step = RT_STEP_NOT_GIVEN};
    out->step.runtime = (int)rt_workload_runtime(dataset, workload);
    out->step.optimizer = RT_OPTIMIZER_NONE;
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

bool rt_run_is_of_memory(const struct rt_dataset *dataset, const struct rt_workload *workload)
{
    struct rt_run_attributes attributes;
    bool measured = false;
    if (rt_run_was_out_of_memory(dataset, workload))
        return true;
    if (!(workload->flags & RT_FLAG_FAILED) ||
        rt_run_attributes_read(dataset, workload, &attributes) != RT_OK)
        return false;
    for (int m = 0; m < RT_MEMORY_COLUMNS; m++)
        measured |= !isnan(attributes.memory_mib[m]);
    rt_run_attributes_release(&attributes);
    return measured;
}

void rt_run_steps_release(struct rt_run_steps *steps)
{
    for (size_t s = 0; s < steps->count; s++) {
        rt_graph_release(&steps->graph[s]);
        rt_settled_step_release(&steps->settled[s]);
    }
    *steps = (struct rt_run_steps){0};
}
