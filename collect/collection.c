/* The state of a collection. See collection.h. */
#include "collect/collection.h"
#include "collect/probe.h"
#include "datasets/dataset_order.h"
#include "base/outputs.h"
#include "base/progress.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DESCRIPTOR_MADE  "made for this dataset"
#define DESCRIPTOR_TAKEN "taken from an earlier dataset"

/* ---- devices, a new journal ---- */

static int find_devices(struct rt_collection *c, struct rt_probe *probe)
{
    c->device = rt_calloc(probe->devices, sizeof *c->device);
    c->devices = probe->devices;
    int status = RT_OK;
    for (size_t d = 0; d < c->devices && status == RT_OK; d++) {
        c->device[d].repeated = RT_NO_TASK;
        status = rt_probe_device(probe, d, c->device[d].name, &c->device[d].lane);
        rt_job_attributes(c->job, &c->device[d].attributes);
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
    if (there < 0 && c->job->like != NULL)
        return rt_fail(RT_ENOTFOUND, "%s: has no device \"%s\"; leave {like} out to measure it", c->job->like,
                       name);
    if (there < 0)
        return rt_probe_describe(probe, d, out);
    *out = like->devices[there];
    snprintf(out->name, sizeof out->name, "%s",
             name); /* names match regardless of case, "-", "_" and space */
    return RT_OK;
}

static int describe_devices(const struct rt_collection *c, struct rt_probe *probe, struct rt_dataset *header)
{
    struct rt_dataset like;
    if (c->job->like == NULL)
        rt_dataset_init(&like);
    int status = c->job->like != NULL ? rt_dataset_read(c->job->like, &like) : RT_OK;
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

static int begin(struct rt_collection *c, struct rt_probe *probe)
{
    struct rt_dataset header;
    struct rt_attributes attributes;
    rt_dataset_init(&header);
    rt_job_header_attributes(c->job, &attributes);
    rt_attributes_add(&attributes, "descriptor", c->job->like != NULL ? DESCRIPTOR_TAKEN : DESCRIPTOR_MADE);
    rt_attributes_group(&attributes, &header);
    rt_attributes_release(&attributes);
    free(header.source);
    header.source = rt_strdup(c->job->command);
    int status = describe_devices(c, probe, &header);
    if (status == RT_OK) {
        rt_dataset_stamp(&header);
        status = rt_journal_begin(&c->journal, &header);
    }
    rt_dataset_release(&header);
    return status;
}

/* ---- resuming ---- */

static int refuse_other(const struct rt_collection *c, const char *what, const char *there, const char *now)
{
    return rt_fail(RT_EUSAGE,
                   "%s: was begun with %s %s, this is %s; go on with `%s`, choose another -o, or discard its "
                   "%zu kernels with {overwrite}",
                   c->journal.folder, what, there[0] ? there : "none", now[0] ? now : "none",
                   c->journal.header.source, c->journal.saved.samples.count);
}

/* By name: a dataset describes boards of one name once. */
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

/* Is the journal one of the same job? */
static int check_identity(const struct rt_collection *c)
{
    struct rt_attributes attributes;
    int status = RT_OK;
    rt_job_header_attributes(c->job, &attributes);
    for (size_t i = 0; rt_job_identity[i] != NULL && status == RT_OK; i++) {
        const char *there = rt_dataset_attribute(&c->journal.header, 0, rt_job_identity[i]);
        const char *now = rt_attributes_get(&attributes, rt_job_identity[i]);
        there = there != NULL ? there : "";
        if (strcmp(there, now) != 0)
            status = refuse_other(c, rt_job_identity[i], there, now);
    }
    rt_attributes_release(&attributes);
    for (size_t d = 0; d < c->devices && status == RT_OK; d++)
        if (rt_dataset_find_device(&c->journal.header, c->device[d].name) < 0)
            status = refuse_other(c, "devices without", c->device[d].name, "one with it");
    if (status == RT_OK && c->journal.header.device_count != distinct_devices(c))
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

/* The device of a saved sample, by name; of several boards of one name, by uuid. c->devices: none. */
static size_t device_of(const struct rt_collection *c, const struct rt_sample *sample)
{
    const struct rt_dataset *saved = &c->journal.saved;
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
    const struct rt_dataset *saved = &c->journal.saved;
    struct rt_task task = {.call = sample->call, .variant = variant_of(saved, sample->group)};
    ptrdiff_t at = rt_plan_find(c->job->plan, &task);
    size_t device = device_of(c, sample);
    if (at < 0 || device == c->devices)
        return c->job->plan->count * c->devices;
    return (size_t)at * c->devices + device;
}

static void mark_done(struct rt_collection *c)
{
    size_t places = c->job->plan->count * c->devices;
    c->done = rt_calloc(places, sizeof *c->done);
    for (size_t t = 0; t < c->job->plan->count; t++)
        c->planned += rt_job_has(c->job, t) ? c->devices : 0;
    for (size_t i = 0; i < c->journal.saved.samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(&c->journal.saved, i);
        size_t place = rt_collection_place(c, sample);
        if (place < places && (sample->flags & RT_FLAG_REPEAT)) {
            c->device[place % c->devices].repeated = place / c->devices;
            c->device[place % c->devices].repeats++;
        } else if (place < places && !c->done[place]) {
            c->done[place] = true;
            c->done_count++;
        }
    }
}

/* ---- open and close ---- */

static int open_journal(struct rt_collection *c, struct rt_probe *probe)
{
    int status = rt_journal_open(c->job->output, &c->journal);
    if (status != RT_OK)
        return status;
    if (c->journal.begun)
        status = check_identity(c);
    else
        status = rt_output_check("-o", c->job->output, &rt_dataset_kind, c->job->overwrite, NULL);
    if (status == RT_EUSAGE && c->journal.begun && c->job->overwrite)
        status = rt_journal_discard(&c->journal);
    if (status == RT_OK && !c->journal.begun)
        status = begin(c, probe);
    return status;
}

static void start_part(struct rt_collection *c)
{
    c->part_started = rt_clock();
    rt_time_of_day(c->part_begun, sizeof c->part_begun);
}

int rt_collection_open(const struct rt_job *job, struct rt_collection *out)
{
    struct rt_probe probe;
    *out = (struct rt_collection){.job = job, .journal = {.lock = -1}};
    int status = rt_probe_start(job, &probe);
    if (status != RT_OK)
        return status;
    status = find_devices(out, &probe);
    if (status == RT_OK)
        status = open_journal(out, &probe);
    rt_probe_end(&probe);
    if (status != RT_OK)
        return status;
    const char *descriptor = rt_dataset_attribute(&out->journal.header, 0, "descriptor");
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
    rt_journal_close(&c->journal);
    for (size_t d = 0; d < c->devices; d++)
        rt_attributes_release(&c->device[d].attributes);
    free(c->device);
    free(c->done);
    free(c->unsaved);
}

/* ---- saving ---- */

/* Attributes of one result, before those of its device, which many groups share: comparisons end early. */
static void result_attributes(const struct rt_collection *c, const struct rt_unsaved *unsaved,
                              const char *measured, struct rt_attributes *out)
{
    const struct rt_task_result *result = &unsaved->result;
    const struct rt_variant_row *variant = &rt_variants[c->job->plan->tasks[unsaved->task].variant];
    rt_attributes_add(out, "failure", result->failure);
    rt_attributes_add(out, "algorithm", result->algorithm);
    rt_attributes_add(out, "throttle", result->throttle);
    if (result->retries > 0)
        rt_attributes_add_number(out, "throttle_retries", result->retries);
    if (unsaved->repeat > 0)
        rt_attributes_add_number(out, "repeat", unsaved->repeat);
    if (variant->attribute != NULL)
        rt_attributes_add(out, variant->attribute, variant->value);
    rt_attributes_add(out, "measured", measured);
    rt_attributes_add_all(out, &c->device[unsaved->device].attributes);
}

static void add_sample(const struct rt_collection *c, const struct rt_unsaved *unsaved, const char *measured,
                       struct rt_dataset *part)
{
    const struct rt_task_result *result = &unsaved->result;
    struct rt_sample sample = result->sample;
    struct rt_attributes attributes = {0};
    int32_t device = rt_dataset_find_device(&c->journal.header, c->device[unsaved->device].name);
    sample.call = c->job->plan->tasks[unsaved->task].call;
    sample.split = RT_SPLIT_NONE;
    sample.flags |= c->job->backend->flags;
    sample.device = rt_dataset_add_device(part, &c->journal.header.devices[device]);
    if (result->kernel[0] != '\0') {
        sample.kernel = rt_strings_add(&part->kernels, result->kernel, strlen(result->kernel));
        sample.kernels = rt_strings_add(&part->kernels, result->kernels, strlen(result->kernels));
    }
    result_attributes(c, unsaved, measured, &attributes);
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
    if (!(c->job->backend->flags & RT_FLAG_SYNTHETIC)) /* synthetic samples are the same at any time */
        snprintf(measured, sizeof measured, "%s/%s", c->part_begun, now);
    if (c->unsaved_count > 0) {
        rt_dataset_init(&part);
        for (size_t i = 0; i < c->unsaved_count; i++)
            add_sample(c, &c->unsaved[i], measured, &part);
        status = rt_journal_save(&c->journal, &part);
        rt_dataset_release(&part);
    }
    c->unsaved_count = 0;
    start_part(c);
    return status;
}

static void warn_without_energy(struct rt_collection *c, size_t device, const struct rt_task_result *result)
{
    if (c->warned_about_energy || result->energy_missing[0] == '\0')
        return;
    c->warned_about_energy = true;
    rt_warn("{energy}: the energy of %s cannot be measured: %s; energy_mj stays missing",
            c->device[device].name, result->energy_missing);
}

int rt_collection_add(struct rt_collection *c, size_t task, size_t device,
                      const struct rt_task_result *result, bool now)
{
    size_t place = task * c->devices + device;
    bool repeat = (result->sample.flags & RT_FLAG_REPEAT) != 0;
    c->device[device].repeats += repeat;
    c->unsaved[c->unsaved_count++] =
        (struct rt_unsaved){task, device, repeat ? c->device[device].repeats : 0, *result};
    if (!repeat) {
        c->done[place] = true;
        c->done_count++;
        c->measured++;
    }
    warn_without_energy(c, device, result);
    if (now || c->unsaved_count == RT_PART_SAMPLES || rt_clock() - c->part_started >= RT_PART_SECONDS)
        return rt_collection_save(c);
    return RT_OK;
}

/* ---- the end ---- */

int rt_collection_raise_peaks(struct rt_collection *c)
{
    const char *made = rt_dataset_attribute(&c->journal.header, 0, "descriptor");
    struct rt_probe probe;
    if (!c->job->backend->measures_peaks || made == NULL || strcmp(made, DESCRIPTOR_MADE) != 0)
        return RT_OK;
    int status = rt_probe_start(c->job, &probe);
    if (status != RT_OK)
        return status;
    for (size_t d = 0; d < c->devices && status == RT_OK; d++) {
        struct rt_device again;
        int32_t there = rt_dataset_find_device(&c->journal.saved, c->device[d].name);
        if (there < 0 || (status = rt_probe_describe(&probe, d, &again)) != RT_OK)
            continue;
        struct rt_device *device = &c->journal.saved.devices[there];
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
    size_t count = c->journal.saved.samples.count;
    struct placed *placed = rt_malloc(count * sizeof *placed);
    size_t *order = rt_malloc(count * sizeof *order);
    for (size_t i = 0; i < count; i++)
        placed[i] = (struct placed){rt_collection_place(c, RT_SAMPLE(&c->journal.saved, i)), i};
    qsort(placed, count, sizeof *placed, by_place);
    for (size_t i = 0; i < count; i++)
        order[i] = placed[i].sample;
    rt_dataset_arrange(&c->journal.saved, order);
    free(placed);
    free(order);
}

int rt_collection_finish(struct rt_collection *c)
{
    arrange(c);
    free(c->journal.saved.source);
    c->journal.saved.source =
        rt_format("rooftile collect: %s backend, plan %s, seed %" PRIu64, c->job->backend->name,
                  c->job->plan_name, c->job->backend_options.seed);
    return rt_journal_finish(&c->journal);
}
