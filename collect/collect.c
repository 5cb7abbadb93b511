/* A collection from start to end. See collect.h. */
#include "collect/collect.h"
#include "datasets/sort.h"
#include "collect/parts.h"
#include "datasets/progress.h"
#include "datasets/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- attributes of samples ---- */

#define DESCRIPTOR_MADE  "made for this dataset"
#define DESCRIPTOR_TAKEN "taken from an earlier dataset"

enum { FACTS = 32 };

struct facts {
    size_t count;
    const char *name[FACTS]; /* constant texts */
    char *value[FACTS];
};

static void add_fact(void *to, const char *name, const char *value)
{
    struct facts *facts = to;
    if (facts->count == FACTS)
        return;
    facts->name[facts->count] = name;
    facts->value[facts->count++] = rt_strdup(value);
}

static void add_number(struct facts *facts, const char *name, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.15g", value);
    add_fact(facts, name, text);
}

static void facts_release(struct facts *facts)
{
    for (size_t i = 0; i < facts->count; i++)
        free(facts->value[i]);
    facts->count = 0;
}

/* What must be the same for a collection to go on; kept in its header. */
static const char *const identity[] = {"backend", "plan_hash",  "seed",  "rel_error",
                                       "cache",   "max_time_s", "faults"};

static const char *const caches[] = {"cold", "warm", "both"}; /* by enum rt_cache */

static void collection_facts(const struct rt_backend *backend, const struct rt_plan *plan,
                             const struct rt_collect_options *options, struct facts *facts)
{
    char text[128];
    add_fact(facts, "backend", backend->name);
    add_fact(facts, "plan", options->plan_name);
    snprintf(text, sizeof text, "%016" PRIx64, plan->hash);
    add_fact(facts, "plan_hash", text);
    snprintf(text, sizeof text, "%" PRIu64, options->backend.seed);
    add_fact(facts, "seed", text);
    add_fact(facts, "latency_statistic", "median");
    add_number(facts, "rel_error", options->stopping.rel_error);
    add_number(facts, "max_time_s", options->stopping.max_time_s);
    snprintf(text, sizeof text, "2 batches at least, until a batch takes %g us", options->stopping.batch_us);
    add_fact(facts, "warm_up", text);
    add_fact(facts, "cache", caches[options->cache]);
    add_fact(facts, "faults", options->backend.faults != NULL ? options->backend.faults : "");
}

/* ---- the state of a run ---- */

struct collector {
    const struct rt_backend *backend;
    void *context;
    const struct rt_plan *plan;
    const struct rt_collect_options *options;
    struct rt_parts parts;
    size_t devices;
    struct facts *facts; /* (devices) attributes of a sample */
    bool *done;          /* (plan->count, devices) */
    size_t done_count;
    struct rt_dataset part; /* not saved yet */
    double part_started;    /* rt_clock() */
    double started;         /* the backend's clock */
    struct rt_progress progress;
};

static void gather_facts(struct collector *c, const char *descriptor)
{
    c->facts = rt_calloc(c->devices, sizeof *c->facts);
    for (size_t d = 0; d < c->devices; d++) {
        collection_facts(c->backend, c->plan, c->options, &c->facts[d]);
        add_fact(&c->facts[d], "descriptor", descriptor);
        c->backend->facts(c->context, d, add_fact, &c->facts[d]);
    }
}

static int add_group(struct rt_dataset *dataset, const struct facts *facts)
{
    return rt_dataset_add_group(dataset, facts->count, facts->name, (const char *const *)facts->value);
}

/* ---- beginning and going on ---- */

/* The descriptors: from the dataset that --like names where it has the device, else the backend's. */
static int describe_devices(struct collector *c, struct rt_dataset *header)
{
    struct rt_dataset like;
    if (c->options->like == NULL)
        rt_dataset_init(&like);
    int status = c->options->like != NULL ? rt_dataset_read(c->options->like, &like) : RT_OK;
    if (status != RT_OK)
        return status;
    for (size_t d = 0; status == RT_OK && d < c->devices; d++) {
        const char *name = c->backend->device_name(c->context, d);
        int32_t there = rt_dataset_find_device(&like, name);
        struct rt_device device;
        if (there >= 0) {
            device = like.devices[there];
            snprintf(device.name, sizeof device.name, "%s", name); /* case and "-", "_", space were alike */
        } else if (c->options->like != NULL) {
            status = rt_fail(RT_ENOTFOUND, "%s: has no device \"%s\"; leave --like out to measure it",
                             c->options->like, name);
        } else {
            status = c->backend->describe(c->context, d, &device);
        }
        if (status == RT_OK)
            status = rt_device_check(&device, name);
        if (status == RT_OK && rt_dataset_add_device(header, &device) < 0)
            status = RT_EFORMAT;
    }
    rt_dataset_release(&like);
    return status;
}

static int begin(struct collector *c)
{
    struct rt_dataset header;
    rt_dataset_init(&header);
    struct facts facts = {0};
    collection_facts(c->backend, c->plan, c->options, &facts);
    add_fact(&facts, "descriptor", c->options->like != NULL ? DESCRIPTOR_TAKEN : DESCRIPTOR_MADE);
    add_group(&header, &facts);
    facts_release(&facts);
    free(header.source);
    header.source = rt_strdup(c->options->command);
    int status = describe_devices(c, &header);
    if (status == RT_OK) {
        rt_dataset_stamp(&header);
        status = rt_parts_begin(&c->parts, &header);
    }
    rt_dataset_release(&header);
    return status;
}

static int refuse_other(const struct collector *c, const char *what, const char *there, const char *now)
{
    return rt_fail(RT_EUSAGE,
                   "%s: was begun with %s %s, this is %s; go on with `%s`, choose another -o, or throw its "
                   "%zu kernels away with --overwrite",
                   c->parts.folder, what, there[0] ? there : "none", now[0] ? now : "none",
                   c->parts.header.source, c->parts.saved.sample_count);
}

/* Is what lies there the same collection? */
static int check_identity(const struct collector *c)
{
    struct facts facts = {0};
    int status = RT_OK;
    collection_facts(c->backend, c->plan, c->options, &facts);
    for (size_t i = 0; i < RT_COUNT(identity) && status == RT_OK; i++) {
        const char *there = rt_dataset_attribute(&c->parts.header, 0, identity[i]), *now = "";
        for (size_t f = 0; f < facts.count; f++)
            if (strcmp(facts.name[f], identity[i]) == 0)
                now = facts.value[f];
        there = there != NULL ? there : "";
        if (strcmp(there, now) != 0)
            status = refuse_other(c, identity[i], there, now);
    }
    facts_release(&facts);
    for (size_t d = 0; d < c->devices && status == RT_OK; d++)
        if (rt_dataset_find_device(&c->parts.header, c->backend->device_name(c->context, d)) < 0)
            status =
                refuse_other(c, "devices without", c->backend->device_name(c->context, d), "one with it");
    if (status == RT_OK && c->parts.header.device_count != c->devices)
        status = refuse_other(c, "devices", "more in number", "fewer");
    return status;
}

static void task_of_sample(const struct rt_sample *sample, struct rt_task *task)
{
    rt_task_init(task, sample->op, sample->dtype);
    task->phase = sample->phase;
    memcpy(task->dim, sample->dim, sizeof task->dim);
}

static void mark_done(struct collector *c)
{
    c->done = rt_calloc(c->plan->count * c->devices, sizeof *c->done);
    for (size_t i = 0; i < c->parts.saved.sample_count; i++) {
        const struct rt_sample *sample = &c->parts.saved.samples[i];
        const char *name = sample->device >= 0 ? c->parts.saved.devices[sample->device].name : "";
        struct rt_task task;
        task_of_sample(sample, &task);
        ptrdiff_t at = rt_plan_find(c->plan, &task);
        for (size_t d = 0; at >= 0 && d < c->devices; d++)
            if (strcmp(c->backend->device_name(c->context, d), name) == 0 &&
                !c->done[(size_t)at * c->devices + d]) {
                c->done[(size_t)at * c->devices + d] = true;
                c->done_count++;
            }
    }
}

static int start(struct collector *c)
{
    int status = rt_parts_open(c->options->output, &c->parts);
    if (status != RT_OK)
        return status;
    if (c->parts.begun)
        status = check_identity(c);
    else if (access(c->options->output, F_OK) == 0 && !c->options->overwrite)
        status = rt_fail(RT_EUSAGE, "%s: is there already; choose another -o, or replace it with --overwrite",
                         c->options->output);
    if (status == RT_EUSAGE && c->parts.begun && c->options->overwrite)
        status = rt_parts_discard(&c->parts);
    if (status == RT_OK && !c->parts.begun)
        status = begin(c);
    if (status != RT_OK)
        return status;
    const char *descriptor = rt_dataset_attribute(&c->parts.header, 0, "descriptor");
    gather_facts(c, descriptor != NULL ? descriptor : DESCRIPTOR_TAKEN);
    mark_done(c);
    return RT_OK;
}

/* ---- measuring ---- */

static int save_part(struct collector *c)
{
    int status = RT_OK;
    if (c->part.sample_count > 0)
        status = rt_parts_save(&c->parts, &c->part);
    rt_dataset_release(&c->part);
    rt_dataset_init(&c->part);
    c->part_started = rt_clock();
    return status;
}

static int32_t part_device(struct collector *c, size_t device)
{
    int32_t there = rt_dataset_find_device(&c->parts.header, c->backend->device_name(c->context, device));
    return rt_dataset_add_device(&c->part, &c->parts.header.devices[there]);
}

/* Appends what was found to the unsaved part; `failure` is NULL or says why there is no latency. */
static void add_sample(struct collector *c, const struct rt_task *task, size_t device,
                       struct rt_sample *sample, const char *failure)
{
    sample->op = task->op;
    sample->dtype = task->dtype;
    sample->phase = task->phase;
    sample->split = RT_SPLIT_NONE;
    memcpy(sample->dim, task->dim, sizeof sample->dim);
    sample->device = part_device(c, device);
    sample->flags |= c->backend->flags;
    struct facts *facts = &c->facts[device];
    if (failure != NULL) {
        sample->flags |= RT_FLAG_FAILED;
        add_fact(facts, "failure", failure);
    }
    sample->group = add_group(&c->part, facts);
    if (failure != NULL)
        free(facts->value[--facts->count]);
    rt_dataset_add_sample(&c->part, sample);
}

static void describe_run(struct collector *c, const struct rt_kernel *kernel,
                         const struct rt_measurement *measured, struct rt_sample *sample)
{
    const char *names = kernel->names != NULL ? kernel->names : kernel->name;
    sample->kernel = rt_strings_add(&c->part.kernels, kernel->name, strlen(kernel->name));
    sample->kernels = rt_strings_add(&c->part.kernels, names, strlen(names));
    memcpy(sample->tile, kernel->tile, sizeof sample->tile);
    memcpy(sample->grid, kernel->grid, sizeof sample->grid);
    memcpy(sample->block, kernel->block, sizeof sample->block);
    if (kernel->registers > 0) {
        sample->registers = kernel->registers;
        sample->shared_bytes = kernel->shared_bytes;
    }
    sample->latency_us = sample->latency_median_us = measured->us.median;
    sample->latency_min_us = measured->us.min;
    sample->latency_p20_us = measured->us.p20;
    sample->latency_p80_us = measured->us.p80;
    sample->latency_spread_us = measured->us.mad;
    sample->count = measured->runs > INT32_MAX ? INT32_MAX : (int32_t)measured->runs;
    if (!measured->met)
        sample->flags |= RT_FLAG_UNSTABLE;
}

/* Cold, warm or both; of both, the cold runs are the sample's latency. */
static int measure_caches(struct collector *c, void *work, struct rt_measurement *measured,
                          struct rt_sample *sample)
{
    struct rt_measurement warm;
    const struct rt_stopping *stopping = &c->options->stopping;
    enum rt_cache cache = c->options->cache;
    int status = rt_measure(c->backend, c->context, work, stopping, cache == RT_CACHE_WARM, measured);
    if (status == RT_OK && cache == RT_CACHE_BOTH) {
        status = rt_measure(c->backend, c->context, work, stopping, true, &warm);
        sample->latency_warm_us = status == RT_OK ? warm.us.median : NAN;
    }
    if (cache == RT_CACHE_WARM && status == RT_OK)
        sample->latency_warm_us = measured->us.median;
    return status;
}

/* One kernel. A device that fails ends the run, but the kernel is marked first, so that the next run does not
 * meet it again. */
static int measure_kernel(struct collector *c, size_t t, size_t device)
{
    const struct rt_task *task = &c->plan->tasks[t];
    struct rt_kernel kernel = {0};
    struct rt_measurement measured;
    struct rt_sample sample;
    const char *refused = NULL;
    void *work = NULL;
    rt_sample_init(&sample);
    int status = c->backend->prepare(c->context, device, task, &kernel, &work, &refused);
    if (status == RT_OK && refused == NULL) {
        status = measure_caches(c, work, &measured, &sample);
        if (status == RT_OK) {
            struct rt_health health;
            c->backend->health(c->context, work, &health);
            describe_run(c, &kernel, &measured, &sample);
            sample.flags |= health.flags;
            sample.sm_clock_mhz = health.sm_clock_mhz;
            sample.temperature_c = health.temperature_c;
            sample.power_w = health.power_w;
        }
        c->backend->finish(c->context, work);
    }
    if (status == RT_EINTERRUPTED)
        return status;
    add_sample(c, task, device, &sample, status != RT_OK ? "device lost" : refused);
    c->done[t * c->devices + device] = true;
    c->done_count++;
    if (status != RT_OK)
        return rt_fail_context(status, "%s, measuring %s", c->backend->device_name(c->context, device),
                               rt_ops[task->op].name);
    return RT_OK;
}

static double spent(const struct collector *c)
{
    return c->backend->clock(c->context) - c->started;
}

static void show_progress(struct collector *c, size_t before, const char *op)
{
    size_t total = c->plan->count * c->devices;
    double share = total > before ? (double)(c->done_count - before) / (double)(total - before) : 1;
    share = fmax(share, spent(c) / c->options->budget_s);
    rt_progress_update(&c->progress, share, "%zu of %zu kernels, %s", c->done_count, total, op);
}

static int measure_all(struct collector *c)
{
    int status = RT_OK;
    size_t before = c->done_count;
    c->started = c->backend->clock(c->context);
    c->part_started = rt_clock();
    rt_progress_start(&c->progress, "collect", 1, c->options->quiet);
    for (size_t t = 0; t < c->plan->count && status == RT_OK; t++)
        for (size_t d = 0; d < c->devices && status == RT_OK; d++) {
            if (c->done[t * c->devices + d])
                continue;
            if (spent(c) >= c->options->budget_s)
                goto done;
            if (rt_interrupted())
                status = rt_fail(RT_EINTERRUPTED, "interrupted");
            else
                status = measure_kernel(c, t, d);
            if (status == RT_OK &&
                (c->part.sample_count >= RT_PART_SAMPLES || rt_clock() - c->part_started >= RT_PART_SECONDS))
                status = save_part(c);
            show_progress(c, before, rt_ops[c->plan->tasks[t].op].name);
        }
done:
    rt_progress_end(&c->progress);
    return status;
}

/* ---- the end ---- */

/* Saves what is unsaved and says how to go on; `status` and its sentence are what stopped the run. */
static int stop_early(struct collector *c, int status)
{
    char reason[1024];
    snprintf(reason, sizeof reason, "%s", rt_error());
    if (save_part(c) != RT_OK && status != RT_EIO)
        snprintf(reason, sizeof reason, "%s", rt_error());
    return rt_fail(
        status,
        "%s; %zu of %zu kernels are saved in %s: run the same command to go on, or add --budget 0s "
        "to end with what there is",
        reason, c->parts.saved.sample_count, c->plan->count * c->devices, c->parts.folder);
}

/* Clearly faster than the device's peaks allow. */
static bool beats_roofline(const struct rt_sample *sample, const struct rt_device *device)
{
    double peak = rt_device_peak_flops(device, rt_ops[sample->op].family, sample->dtype);
    double bound_s =
        fmax(rt_sample_flops(sample) / peak, rt_sample_bytes(sample) / (1e9 * device->bandwidth_gbs));
    return sample->latency_us < 1e6 * bound_s / 1.05;
}

static void summarise_row(const struct rt_dataset *dataset, struct rt_collect_row *row, double *scratch)
{
    size_t timed = 0;
    for (size_t i = 0; i < dataset->sample_count; i++) {
        const struct rt_sample *sample = &dataset->samples[i];
        if (sample->op != row->op || sample->device != row->device)
            continue;
        row->failed += (sample->flags & RT_FLAG_FAILED) != 0;
        row->measured += (sample->flags & RT_FLAG_FAILED) == 0;
        row->unstable += (sample->flags & RT_FLAG_UNSTABLE) != 0;
        row->throttled += (sample->flags & RT_FLAG_THROTTLED) != 0;
        row->faster += beats_roofline(sample, &dataset->devices[sample->device]);
        if (!isnan(sample->latency_us))
            scratch[timed++] = sample->latency_us;
    }
    if (timed > 0) {
        row->median_us = rt_median(scratch, timed);
    }
}

static void summarise(struct rt_collect_summary *summary)
{
    const struct rt_dataset *dataset = &summary->dataset;
    double *scratch = rt_malloc(dataset->sample_count * sizeof *scratch);
    summary->rows = rt_calloc(RT_OP_COUNT * dataset->device_count, sizeof *summary->rows);
    for (int op = 0; op < RT_OP_COUNT; op++)
        for (size_t d = 0; d < dataset->device_count; d++) {
            struct rt_collect_row row = {.op = (uint8_t)op, .device = (int32_t)d, .median_us = NAN};
            summarise_row(dataset, &row, scratch);
            if (row.measured + row.failed > 0)
                summary->rows[summary->row_count++] = row;
        }
    free(scratch);
}

/* Describes the devices again and keeps the better peaks. */
static int raise_peaks(struct collector *c)
{
    const char *made = rt_dataset_attribute(&c->parts.header, 0, "descriptor");
    if (!c->backend->measures_peaks || made == NULL || strcmp(made, DESCRIPTOR_MADE) != 0)
        return RT_OK;
    for (size_t d = 0; d < c->devices; d++) {
        struct rt_device again;
        int32_t there = rt_dataset_find_device(&c->parts.saved, c->backend->device_name(c->context, d));
        int status = there >= 0 ? c->backend->describe(c->context, d, &again) : RT_OK;
        if (status != RT_OK)
            return status;
        if (there >= 0) {
            struct rt_device *device = &c->parts.saved.devices[there];
            device->fp32_vector_tflops = fmax(device->fp32_vector_tflops, again.fp32_vector_tflops);
            device->bandwidth_gbs = fmax(device->bandwidth_gbs, again.bandwidth_gbs);
        }
    }
    return RT_OK;
}

static int finish(struct collector *c, struct rt_collect_summary *out)
{
    int status = save_part(c);
    if (status != RT_OK)
        return stop_early(c, status);
    if (c->parts.saved.sample_count == 0) {
        rt_parts_discard(&c->parts);
        return rt_fail(RT_EUSAGE, "%s: nothing was measured in a --budget of %g s; give it more",
                       c->options->output, c->options->budget_s);
    }
    status = raise_peaks(c);
    if (status != RT_OK)
        return stop_early(c, status);
    free(c->parts.saved.source);
    c->parts.saved.source = rt_format("rooftile collect: %s backend, plan %s, seed %" PRIu64,
                                      c->backend->name, c->options->plan_name, c->options->backend.seed);
    status = rt_parts_finish(&c->parts);
    if (status != RT_OK)
        return status;
    *out = (struct rt_collect_summary){.dataset = c->parts.saved, .planned = c->plan->count * c->devices};
    rt_dataset_init(&c->parts.saved);
    summarise(out);
    return RT_OK;
}

int rt_collect(const struct rt_backend *backend, const struct rt_plan *plan,
               const struct rt_collect_options *options, struct rt_collect_summary *out)
{
    struct collector c = {.backend = backend, .plan = plan, .options = options, .parts = {.lock = -1}};
    rt_dataset_init(&c.part);
    int status = backend->open(&options->backend, &c.context);
    if (status != RT_OK)
        goto done;
    c.devices = backend->device_count(c.context);
    status = start(&c);
    if (status != RT_OK)
        goto done;
    status = measure_all(&c);
    status = status == RT_OK ? finish(&c, out) : stop_early(&c, status);
done:
    rt_parts_close(&c.parts);
    rt_dataset_release(&c.part);
    for (size_t d = 0; c.facts != NULL && d < c.devices; d++)
        facts_release(&c.facts[d]);
    free(c.facts);
    free(c.done);
    if (c.context != NULL)
        backend->close(c.context);
    return status;
}

void rt_collect_summary_release(struct rt_collect_summary *summary)
{
    rt_dataset_release(&summary->dataset);
    free(summary->rows);
    *summary = (struct rt_collect_summary){0};
}
