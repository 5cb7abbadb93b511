/* The state of a collection. See collection.h. */
#include "collect/collection.h"
#include "datasets/dataset_order.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DESCRIPTOR_MADE  "made for this dataset"
#define DESCRIPTOR_TAKEN "taken from an earlier dataset"

bool rt_collection_has(const struct rt_collection *c, size_t task)
{
    return c->options->shards < 2 || task % c->options->shards == c->options->shard - 1;
}

/* ---- beginning ---- */

static int find_devices(struct rt_collection *c, struct rt_probe *probe)
{
    c->device = rt_calloc(probe->devices, sizeof *c->device);
    c->devices = probe->devices;
    int status = RT_OK;
    for (size_t d = 0; d < c->devices && status == RT_OK; d++) {
        status = rt_probe_device(probe, d, c->device[d].name, &c->device[d].lane);
        rt_collection_attributes(c->backend, c->plan, c->options, &c->device[d].attributes);
        if (status == RT_OK)
            status = rt_probe_facts(probe, d, &c->device[d].attributes);
    }
    return status;
}

/* One device's descriptor: from the dataset that --like names, else the backend's. */
static int describe(const struct rt_collection *c, struct rt_probe *probe, const struct rt_dataset *like,
                    size_t d, struct rt_device *out)
{
    const char *name = c->device[d].name;
    int32_t there = rt_dataset_find_device(like, name);
    if (there < 0 && c->options->like != NULL)
        return rt_fail(RT_ENOTFOUND, "%s: has no device \"%s\"; leave --like out to measure it",
                       c->options->like, name);
    if (there < 0)
        return rt_probe_describe(probe, d, out);
    *out = like->devices[there];
    snprintf(out->name, sizeof out->name, "%s", name); /* case and "-", "_", space were alike */
    return RT_OK;
}

static int describe_devices(const struct rt_collection *c, struct rt_probe *probe, struct rt_dataset *header)
{
    struct rt_dataset like;
    if (c->options->like == NULL)
        rt_dataset_init(&like);
    int status = c->options->like != NULL ? rt_dataset_read(c->options->like, &like) : RT_OK;
    if (status != RT_OK)
        return status;
    for (size_t d = 0; status == RT_OK && d < c->devices; d++) {
        struct rt_device device;
        status = describe(c, probe, &like, d, &device);
        if (status == RT_OK)
            status = rt_device_check(&device, c->device[d].name);
        if (status == RT_OK && rt_dataset_add_device(header, &device) < 0)
            status = RT_EFORMAT;
    }
    rt_dataset_release(&like);
    return status;
}

static void header_attributes(const struct rt_collection *c, struct rt_attributes *out)
{
    rt_collection_attributes(c->backend, c->plan, c->options, out);
    rt_header_attributes(c->options, out);
}

static int begin(struct rt_collection *c, struct rt_probe *probe)
{
    struct rt_dataset header;
    struct rt_attributes attributes;
    rt_dataset_init(&header);
    header_attributes(c, &attributes);
    rt_attributes_add(&attributes, "descriptor",
                      c->options->like != NULL ? DESCRIPTOR_TAKEN : DESCRIPTOR_MADE);
    rt_attributes_group(&attributes, &header);
    rt_attributes_release(&attributes);
    free(header.source);
    header.source = rt_strdup(c->options->command);
    int status = describe_devices(c, probe, &header);
    if (status == RT_OK) {
        rt_dataset_stamp(&header);
        status = rt_journal_begin(&c->parts, &header);
    }
    rt_dataset_release(&header);
    return status;
}

/* ---- going on ---- */

static int refuse_other(const struct rt_collection *c, const char *what, const char *there, const char *now)
{
    return rt_fail(RT_EUSAGE,
                   "%s: was begun with %s %s, this is %s; go on with `%s`, choose another -o, or throw its "
                   "%zu kernels away with --overwrite",
                   c->parts.folder, what, there[0] ? there : "none", now[0] ? now : "none",
                   c->parts.header.source, c->parts.saved.sample_count);
}

/* By name: a dataset describes boards of one kind once. */
static size_t distinct_devices(const struct rt_collection *c)
{
    size_t count = 0;
    for (size_t d = 0; d < c->devices; d++) {
        size_t before = 0;
        while (before < d && strcmp(c->device[before].name, c->device[d].name) != 0)
            before++;
        count += before == d;
    }
    return count;
}

/* Is what lies there the same collection? */
static int check_identity(const struct rt_collection *c)
{
    struct rt_attributes attributes;
    int status = RT_OK;
    header_attributes(c, &attributes);
    for (size_t i = 0; rt_identity[i] != NULL && status == RT_OK; i++) {
        const char *there = rt_dataset_attribute(&c->parts.header, 0, rt_identity[i]);
        const char *now = rt_attributes_get(&attributes, rt_identity[i]);
        there = there != NULL ? there : "";
        if (strcmp(there, now) != 0)
            status = refuse_other(c, rt_identity[i], there, now);
    }
    rt_attributes_release(&attributes);
    for (size_t d = 0; d < c->devices && status == RT_OK; d++)
        if (rt_dataset_find_device(&c->parts.header, c->device[d].name) < 0)
            status = refuse_other(c, "devices without", c->device[d].name, "one with it");
    if (status == RT_OK && c->parts.header.device_count != distinct_devices(c))
        status = refuse_other(c, "devices", "more in number", "fewer");
    return status;
}

static uint8_t variant_of(const struct rt_dataset *dataset, int32_t group)
{
    for (int v = 1; v < RT_VARIANT_COUNT; v++) {
        const char *value = rt_dataset_attribute(dataset, group, rt_variants[v].attribute);
        if (value != NULL && strcmp(value, rt_variants[v].value) == 0)
            return (uint8_t)v;
    }
    return RT_PLAIN;
}

/* Which device a saved sample is of: the one of its name, of several boards of one name the one whose uuid it
 * says; c->devices: none. */
static size_t device_of(const struct rt_collection *c, const struct rt_sample *sample)
{
    const struct rt_dataset *saved = &c->parts.saved;
    const char *name = sample->device >= 0 ? saved->devices[sample->device].name : "";
    const char *uuid = rt_dataset_attribute(saved, sample->group, "gpu_uuid");
    size_t first = c->devices;
    for (size_t d = c->devices; d-- > 0;) {
        if (strcmp(c->device[d].name, name) != 0)
            continue;
        const char *own = rt_attributes_get(&c->device[d].attributes, "gpu_uuid");
        if (uuid != NULL && own != NULL && strcmp(uuid, own) == 0)
            return d;
        first = d;
    }
    return first;
}

size_t rt_collection_place(const struct rt_collection *c, const struct rt_sample *sample)
{
    const struct rt_dataset *saved = &c->parts.saved;
    struct rt_task task;
    rt_task_init(&task, sample->call.op, sample->call.dtype);
    task.call = sample->call;
    task.variant = variant_of(saved, sample->group);
    ptrdiff_t at = rt_plan_find(c->plan, &task);
    size_t device = device_of(c, sample);
    if (at < 0 || device == c->devices)
        return c->plan->count * c->devices;
    return (size_t)at * c->devices + device;
}

static void mark_done(struct rt_collection *c)
{
    size_t places = c->plan->count * c->devices;
    c->done = rt_calloc(places, sizeof *c->done);
    for (size_t t = 0; t < c->plan->count; t++)
        c->planned += rt_collection_has(c, t) ? c->devices : 0;
    for (size_t i = 0; i < c->parts.saved.sample_count; i++) {
        size_t place = rt_collection_place(c, &c->parts.saved.samples[i]);
        if (place < places && !c->done[place]) {
            c->done[place] = true;
            c->done_count++;
        }
    }
}

/* ---- open and close ---- */

static int open_parts(struct rt_collection *c, struct rt_probe *probe)
{
    int status = rt_journal_open(c->options->output, &c->parts);
    if (status != RT_OK)
        return status;
    if (c->parts.begun)
        status = check_identity(c);
    else if (access(c->options->output, F_OK) == 0 && !c->options->overwrite)
        status = rt_fail(RT_EUSAGE, "%s: is there already; choose another -o, or replace it with --overwrite",
                         c->options->output);
    if (status == RT_EUSAGE && c->parts.begun && c->options->overwrite)
        status = rt_journal_discard(&c->parts);
    if (status == RT_OK && !c->parts.begun)
        status = begin(c, probe);
    return status;
}

static void start_part(struct rt_collection *c)
{
    c->part_started = rt_clock();
    rt_time_of_day(c->part_begun, sizeof c->part_begun);
}

int rt_collection_open(const struct rt_backend *backend, const struct rt_plan *plan,
                       const struct rt_collect_options *options, struct rt_collection *out)
{
    struct rt_probe probe;
    *out =
        (struct rt_collection){.backend = backend, .plan = plan, .options = options, .parts = {.lock = -1}};
    int status = rt_probe_start(backend, options, &probe);
    if (status != RT_OK)
        return status;
    status = find_devices(out, &probe);
    if (status == RT_OK)
        status = open_parts(out, &probe);
    rt_probe_end(&probe);
    if (status != RT_OK)
        return status;
    const char *descriptor = rt_dataset_attribute(&out->parts.header, 0, "descriptor");
    for (size_t d = 0; d < out->devices; d++)
        rt_attributes_add(&out->device[d].attributes, "descriptor",
                          descriptor != NULL ? descriptor : DESCRIPTOR_TAKEN);
    mark_done(out);
    out->unsaved = rt_malloc(RT_PART_SAMPLES * sizeof *out->unsaved);
    start_part(out);
    return RT_OK;
}

void rt_collection_close(struct rt_collection *c)
{
    rt_journal_close(&c->parts);
    for (size_t d = 0; d < c->devices; d++)
        rt_attributes_release(&c->device[d].attributes);
    free(c->device);
    free(c->done);
    free(c->unsaved);
}

/* ---- saving ---- */

/* The attributes of one task result, in front of those of its device: where two groups differ, it is here. */
static void finding_attributes(const struct rt_collection *c, const struct rt_unsaved *unsaved,
                               const char *measured, struct rt_attributes *out)
{
    const struct rt_task_result *task_result = &unsaved->task_result;
    const struct rt_variant_row *variant = &rt_variants[c->plan->tasks[unsaved->task].variant];
    const struct rt_attributes *device = &c->device[unsaved->device].attributes;
    rt_attributes_add(out, "failure", task_result->failure);
    rt_attributes_add(out, "algorithm", task_result->algorithm);
    rt_attributes_add(out, "throttle", task_result->throttle);
    if (task_result->retries > 0)
        rt_attributes_add_number(out, "throttle_retries", task_result->retries);
    if (variant->attribute != NULL)
        rt_attributes_add(out, variant->attribute, variant->value);
    rt_attributes_add(out, "measured", measured);
    for (size_t i = 0; i < device->count; i++)
        rt_attributes_add(out, device->name[i], device->value[i]);
}

static void add_sample(const struct rt_collection *c, const struct rt_unsaved *unsaved, const char *measured,
                       struct rt_dataset *part)
{
    const struct rt_task_result *task_result = &unsaved->task_result;
    const struct rt_task *task = &c->plan->tasks[unsaved->task];
    struct rt_sample sample = task_result->sample;
    struct rt_attributes attributes = {0};
    int32_t device = rt_dataset_find_device(&c->parts.header, c->device[unsaved->device].name);
    sample.call = task->call;
    sample.split = RT_SPLIT_NONE;
    sample.flags |= c->backend->flags;
    sample.device = rt_dataset_add_device(part, &c->parts.header.devices[device]);
    if (task_result->kernel[0] != '\0') {
        sample.kernel = rt_strings_add(&part->kernels, task_result->kernel, strlen(task_result->kernel));
        sample.kernels = rt_strings_add(&part->kernels, task_result->kernels, strlen(task_result->kernels));
    }
    finding_attributes(c, unsaved, measured, &attributes);
    sample.group = rt_attributes_group(&attributes, part);
    rt_attributes_release(&attributes);
    rt_dataset_add_sample(part, &sample);
}

int rt_collection_save(struct rt_collection *c)
{
    struct rt_dataset part;
    char measured[80] = "", now[32];
    int status = RT_OK;
    rt_time_of_day(now, sizeof now);
    if (!(c->backend->flags & RT_FLAG_SYNTHETIC)) /* what is made up is the same at any time */
        snprintf(measured, sizeof measured, "%s/%s", c->part_begun, now);
    if (c->unsaved_count > 0) {
        rt_dataset_init(&part);
        for (size_t i = 0; i < c->unsaved_count; i++)
            add_sample(c, &c->unsaved[i], measured, &part);
        status = rt_journal_save(&c->parts, &part);
        rt_dataset_release(&part);
    }
    c->unsaved_count = 0;
    start_part(c);
    return status;
}

static void tell_missing_energy(struct rt_collection *c, size_t device,
                                const struct rt_task_result *task_result)
{
    bool timed = (task_result->sample.flags & RT_FLAG_FAILED) == 0;
    if (!c->options->energy || c->energy_missed || !timed || !isnan(task_result->sample.energy_mj))
        return;
    c->energy_missed = true;
    rt_warn("--energy: %s has no counter that tells; energy_mj stays missing", c->device[device].name);
}

int rt_collection_add(struct rt_collection *c, size_t task, size_t device,
                      const struct rt_task_result *task_result, bool now)
{
    size_t place = task * c->devices + device;
    c->unsaved[c->unsaved_count++] = (struct rt_unsaved){task, device, *task_result};
    c->done[place] = true;
    c->done_count++;
    c->measured++;
    tell_missing_energy(c, device, task_result);
    if (now || c->unsaved_count == RT_PART_SAMPLES || rt_clock() - c->part_started >= RT_PART_SECONDS)
        return rt_collection_save(c);
    return RT_OK;
}

/* ---- the end ---- */

int rt_collection_raise_peaks(struct rt_collection *c)
{
    const char *made = rt_dataset_attribute(&c->parts.header, 0, "descriptor");
    struct rt_probe probe;
    if (!c->backend->measures_peaks || made == NULL || strcmp(made, DESCRIPTOR_MADE) != 0)
        return RT_OK;
    int status = rt_probe_start(c->backend, c->options, &probe);
    if (status != RT_OK)
        return status;
    for (size_t d = 0; d < c->devices && status == RT_OK; d++) {
        struct rt_device again;
        int32_t there = rt_dataset_find_device(&c->parts.saved, c->device[d].name);
        if (there < 0 || (status = rt_probe_describe(&probe, d, &again)) != RT_OK)
            continue;
        struct rt_device *device = &c->parts.saved.devices[there];
        device->fp32_vector_tflops = fmax(device->fp32_vector_tflops, again.fp32_vector_tflops);
        device->bandwidth_gbs = fmax(device->bandwidth_gbs, again.bandwidth_gbs);
    }
    rt_probe_end(&probe);
    return status;
}

struct placed {
    size_t place, sample;
};

static int by_place(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return (x->sample > y->sample) - (x->sample < y->sample);
}

static void arrange(struct rt_collection *c)
{
    size_t count = c->parts.saved.sample_count;
    struct placed *placed = rt_malloc(count * sizeof *placed);
    size_t *order = rt_malloc(count * sizeof *order);
    for (size_t i = 0; i < count; i++)
        placed[i] = (struct placed){rt_collection_place(c, &c->parts.saved.samples[i]), i};
    qsort(placed, count, sizeof *placed, by_place);
    for (size_t i = 0; i < count; i++)
        order[i] = placed[i].sample;
    rt_dataset_arrange(&c->parts.saved, order);
    free(placed);
    free(order);
}

int rt_collection_finish(struct rt_collection *c)
{
    arrange(c);
    free(c->parts.saved.source);
    c->parts.saved.source = rt_format("rooftile collect: %s backend, plan %s, seed %" PRIu64,
                                      c->backend->name, c->options->plan_name, c->options->backend.seed);
    return rt_journal_finish(&c->parts);
}
