/* Datasets in memory: samples, workloads, devices, groups, strings. dataset_file.c reads and writes them. */
#include "datasets/dataset.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/version.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const char *const rt_flag_names[RT_FLAG_COUNT] = {"unknown_tile", "unstable",  "throttled",
                                                  "failed",       "synthetic", "partial"};
const char *const rt_splits[RT_SPLIT_COUNT] = {"none", "train", "test"};
const char *const rt_modes[RT_MODE_COUNT] = {"inference", "training"};

/* Enum columns need arrays of names; these follow the op and dtype tables. */
static const char *op_names[RT_OP_COUNT], *dtype_names[RT_DTYPE_COUNT];

__attribute__((constructor)) static void fill_names(void)
{
    for (int i = 0; i < RT_OP_COUNT; i++)
        op_names[i] = rt_ops[i].name;
    for (int i = 0; i < RT_DTYPE_COUNT; i++)
        dtype_names[i] = rt_dtypes[i].name;
}

#define S(member) offsetof(struct rt_sample, member)
#define W(member) offsetof(struct rt_workload, member)

/* clang-format off */
const struct rt_field rt_sample_fields[] = {
    {"op", RT_H5_U8, S(call.op), NULL, "operator", op_names, RT_OP_COUNT, 1},
    {"dtype", RT_H5_U8, S(call.dtype), NULL, "element type of the operands", dtype_names, RT_DTYPE_COUNT, 1},
    {"phase", RT_H5_U8, S(call.phase), NULL, "forward, backward or gradient accumulation", rt_phases, RT_PHASE_COUNT, 1},
    {"split", RT_H5_U8, S(split), NULL, "marked by the source for training or testing", rt_splits, RT_SPLIT_COUNT, 1},
    {"device", RT_H5_I32, S(device), "1", "row of /devices", NULL, 0, 1},
    {"group", RT_H5_I32, S(group), "1", "group of named attributes, -1 for none", NULL, 0, 1},
    {"dim0", RT_H5_I64, S(call.dim[0]), "1", "first dim, by the op's dim names", NULL, 0, 1},
    {"dim1", RT_H5_I64, S(call.dim[1]), "1", "second dim", NULL, 0, 1},
    {"dim2", RT_H5_I64, S(call.dim[2]), "1", "third dim", NULL, 0, 1},
    {"dim3", RT_H5_I64, S(call.dim[3]), "1", "fourth dim", NULL, 0, 1},
    {"dim4", RT_H5_I64, S(call.dim[4]), "1", "fifth dim", NULL, 0, 1},
    {"dim5", RT_H5_I64, S(call.dim[5]), "1", "sixth dim", NULL, 0, 1},
    {"dim6", RT_H5_I64, S(call.dim[6]), "1", "seventh dim", NULL, 0, 1},
    {"dim7", RT_H5_I64, S(call.dim[7]), "1", "eighth dim", NULL, 0, 1},
    {"dim8", RT_H5_I64, S(call.dim[8]), "1", "ninth dim", NULL, 0, 1},
    {"dim9", RT_H5_I64, S(call.dim[9]), "1", "tenth dim", NULL, 0, 1},
    {"dim10", RT_H5_I64, S(call.dim[10]), "1", "eleventh dim", NULL, 0, 1},
    {"latency_us", RT_H5_F64, S(latency_us), "us", "latency that predictors are fitted to", NULL, 0, 1},
    {"latency_median_us", RT_H5_F64, S(latency_median_us), "us", "median of the timed runs", NULL, 0, 1},
    {"latency_min_us", RT_H5_F64, S(latency_min_us), "us", "fastest of the timed runs", NULL, 0, 1},
    {"latency_spread_us", RT_H5_F64, S(latency_spread_us), "us", "median absolute deviation of the timed runs", NULL, 0, 1},
    {"count", RT_H5_I32, S(count), "1", "number of timed runs", NULL, 0, 1},
    {"energy_mj", RT_H5_F64, S(energy_mj), "mJ", "energy of one run", NULL, 0, 1},
    {"tile0", RT_H5_I32, S(tile[0]), "1", "tile rows m, or elements", NULL, 0, 1},
    {"tile1", RT_H5_I32, S(tile[1]), "1", "tile columns n", NULL, 0, 1},
    {"tile2", RT_H5_I32, S(tile[2]), "1", "tile depth k", NULL, 0, 1},
    {"grid0", RT_H5_I32, S(grid[0]), "1", "thread blocks along x", NULL, 0, 1},
    {"grid1", RT_H5_I32, S(grid[1]), "1", "thread blocks along y", NULL, 0, 1},
    {"grid2", RT_H5_I32, S(grid[2]), "1", "thread blocks along z", NULL, 0, 1},
    {"block0", RT_H5_I32, S(block[0]), "1", "threads of a block along x", NULL, 0, 1},
    {"block1", RT_H5_I32, S(block[1]), "1", "threads of a block along y", NULL, 0, 1},
    {"block2", RT_H5_I32, S(block[2]), "1", "threads of a block along z", NULL, 0, 1},
    {"kernel", RT_H5_I32, S(kernel), "1", "main kernel, index into /strings/kernels", NULL, 0, 1},
    {"kernels", RT_H5_I32, S(kernels), "1", "all kernels, index into /strings/kernels", NULL, 0, 1},
    {"flags", RT_H5_U32, S(flags), "1", "bits: unknown_tile unstable throttled failed synthetic", NULL, 0, 1},
    {"latency_p20_us", RT_H5_F64, S(latency_p20_us), "us", "20th percentile of the timed runs", NULL, 0, 3},
    {"latency_p80_us", RT_H5_F64, S(latency_p80_us), "us", "80th percentile of the timed runs", NULL, 0, 3},
    {"latency_warm_us", RT_H5_F64, S(latency_warm_us), "us", "median with the operands left in the caches", NULL, 0, 3},
    {"sm_clock_mhz", RT_H5_F64, S(sm_clock_mhz), "MHz", "clock of the multiprocessors while it was timed", NULL, 0, 3},
    {"temperature_c", RT_H5_F64, S(temperature_c), "degC", "of the device, right after", NULL, 0, 3},
    {"power_w", RT_H5_F64, S(power_w), "W", "of the board, right after", NULL, 0, 3},
    {"registers", RT_H5_I32, S(registers), "1", "registers of a thread of the main kernel", NULL, 0, 3},
    {"shared_bytes", RT_H5_I32, S(shared_bytes), "1", "shared memory of a block of the main kernel", NULL, 0, 3},
};
const struct rt_field rt_workload_fields[] = {
    {"model", RT_H5_I32, W(model), "1", "model, index into /strings/texts", NULL, 0, 1},
    {"option", RT_H5_I32, W(option), "1", "fusion or parallelism, index into /strings/texts", NULL, 0, 1},
    {"mode", RT_H5_U8, W(mode), NULL, "inference or training", rt_modes, RT_MODE_COUNT, 1},
    {"dtype", RT_H5_U8, W(dtype), NULL, "element type of weights and activations", dtype_names, RT_DTYPE_COUNT, 1},
    {"device", RT_H5_I32, W(device), "1", "row of /devices", NULL, 0, 1},
    {"group", RT_H5_I32, W(group), "1", "group of named attributes, -1 for none", NULL, 0, 1},
    {"batch", RT_H5_I64, W(batch), "1", "sequences or images in a step", NULL, 0, 1},
    {"sequence", RT_H5_I64, W(sequence), "1", "tokens of a sequence", NULL, 0, 1},
    {"layers", RT_H5_I64, W(layers), "1", "layers of the model as it was run", NULL, 0, 1},
    {"forward_us", RT_H5_F64, W(forward_us), "us", "time of the forward pass", NULL, 0, 1},
    {"backward_us", RT_H5_F64, W(backward_us), "us", "time of the backward pass", NULL, 0, 1},
    {"end_to_end_us", RT_H5_F64, W(end_to_end_us), "us", "time of the whole step", NULL, 0, 1},
    {"energy_mj", RT_H5_F64, W(energy_mj), "mJ", "energy of the whole step", NULL, 0, 1},
    {"kernels_forward_us", RT_H5_F64, W(kernels_forward_us), "us", "sum over the forward nodes, each measured alone", NULL, 0, 2},
    {"kernels_backward_us", RT_H5_F64, W(kernels_backward_us), "us", "sum over the backward and accumulation nodes, each measured alone", NULL, 0, 2},
    {"flags", RT_H5_U32, W(flags), "1", "bits: unknown_tile unstable throttled failed synthetic", NULL, 0, 1},
};
/* clang-format on */
const size_t rt_sample_field_count = RT_COUNT(rt_sample_fields);
const size_t rt_workload_field_count = RT_COUNT(rt_workload_fields);

void rt_dataset_init(struct rt_dataset *dataset)
{
    memset(dataset, 0, sizeof *dataset);
    dataset->uuid = rt_strdup("");
    dataset->creator = rt_strdup("");
    dataset->created = rt_strdup("");
    dataset->source = rt_strdup("");
    dataset->licence = rt_strdup("");
}

static void group_release(struct rt_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        free(group->name[i]);
        free(group->value[i]);
    }
    free(group->name);
    free(group->value);
}

void rt_dataset_release(struct rt_dataset *dataset)
{
    for (size_t g = 0; g < dataset->group_count; g++)
        group_release(&dataset->groups[g]);
    free(dataset->samples);
    free(dataset->workloads);
    free(dataset->devices);
    free(dataset->groups);
    rt_strings_release(&dataset->kernels);
    rt_strings_release(&dataset->texts);
    free(dataset->uuid);
    free(dataset->creator);
    free(dataset->created);
    free(dataset->source);
    free(dataset->licence);
    memset(dataset, 0, sizeof *dataset);
}

void rt_sample_init(struct rt_sample *sample)
{
    memset(sample, 0, sizeof *sample); /* padding too: samples are compared as bytes */
    sample->latency_us = sample->latency_median_us = sample->latency_min_us = NAN;
    sample->latency_spread_us = sample->energy_mj = NAN;
    sample->latency_p20_us = sample->latency_p80_us = sample->latency_warm_us = NAN;
    sample->sm_clock_mhz = sample->temperature_c = sample->power_w = NAN;
    sample->registers = sample->shared_bytes = -1;
    sample->count = sample->device = sample->group = sample->kernel = sample->kernels = -1;
    for (int i = 0; i < RT_MAX_DIMS; i++)
        sample->call.dim[i] = -1;
    for (int i = 0; i < 3; i++)
        sample->tile[i] = sample->grid[i] = sample->block[i] = -1;
}

void rt_workload_init(struct rt_workload *workload)
{
    memset(workload, 0, sizeof *workload);
    workload->forward_us = workload->backward_us = workload->end_to_end_us = workload->energy_mj = NAN;
    workload->kernels_forward_us = workload->kernels_backward_us = NAN;
    workload->batch = workload->sequence = workload->layers = -1;
    workload->device = workload->group = workload->model = workload->option = -1;
}

/* Large pages for large tables: an import otherwise spends a quarter of its time on page faults. A hint. */
static void prefer_large_pages(void *block, size_t size)
{
    const size_t page = 2 << 20;
    if (size >= 4 * page)
        madvise((void *)(((uintptr_t)block + page - 1) & ~(page - 1)), size - page, MADV_HUGEPAGE);
}

struct rt_sample *rt_dataset_add_sample(struct rt_dataset *dataset, const struct rt_sample *sample)
{
    if (dataset->sample_count == dataset->sample_capacity) {
        dataset->sample_capacity = dataset->sample_capacity ? 2 * dataset->sample_capacity : 256;
        dataset->samples = rt_realloc(dataset->samples, dataset->sample_capacity, sizeof *sample);
        prefer_large_pages(dataset->samples, dataset->sample_capacity * sizeof *sample);
    }
    return memcpy(&dataset->samples[dataset->sample_count++], sample, sizeof *sample);
}

struct rt_workload *rt_dataset_add_workload(struct rt_dataset *dataset, const struct rt_workload *workload)
{
    if (dataset->workload_count == dataset->workload_capacity) {
        dataset->workload_capacity = dataset->workload_capacity ? 2 * dataset->workload_capacity : 64;
        dataset->workloads = rt_realloc(dataset->workloads, dataset->workload_capacity, sizeof *workload);
    }
    return memcpy(&dataset->workloads[dataset->workload_count++], workload, sizeof *workload);
}

int32_t rt_dataset_find_device(const struct rt_dataset *dataset, const char *name)
{
    for (size_t d = 0; d < dataset->device_count; d++)
        if (rt_name_equal(dataset->devices[d].name, name))
            return (int32_t)d;
    return -1;
}

int32_t rt_dataset_add_device(struct rt_dataset *dataset, const struct rt_device *device)
{
    int32_t there = rt_dataset_find_device(dataset, device->name);
    if (there >= 0) {
        if (!rt_device_same(&dataset->devices[there], device))
            return RT_EFORMAT;
        rt_device_fill(&dataset->devices[there], device);
        return there;
    }
    dataset->devices = rt_realloc(dataset->devices, dataset->device_count + 1, sizeof *device);
    dataset->devices[dataset->device_count] = *device;
    return (int32_t)dataset->device_count++;
}

static bool group_equals(const struct rt_group *group, size_t count, const char *const *names,
                         const char *const *values)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i][0] == '\0')
            continue;
        size_t g = 0;
        while (g < group->count &&
               (strcmp(group->name[g], names[i]) != 0 || strcmp(group->value[g], values[i]) != 0))
            g++;
        if (g == group->count)
            return false;
        kept++;
    }
    return kept == group->count;
}

static void group_insert(struct rt_group *group, const char *name, const char *value)
{
    size_t at = group->count++;
    group->name = rt_realloc(group->name, group->count, sizeof *group->name);
    group->value = rt_realloc(group->value, group->count, sizeof *group->value);
    for (; at > 0 && strcmp(group->name[at - 1], name) > 0; at--) {
        group->name[at] = group->name[at - 1];
        group->value[at] = group->value[at - 1];
    }
    group->name[at] = rt_strdup(name);
    group->value[at] = rt_strdup(value);
}

/* In any order of the attributes. */
static uint64_t group_hash(size_t count, const char *const *names, const char *const *values)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        if (values[i][0] != '\0')
            sum +=
                rt_hash(rt_hash(RT_HASH_START, names[i], strlen(names[i]) + 1), values[i], strlen(values[i]));
    return sum;
}

int32_t rt_dataset_add_group(struct rt_dataset *dataset, size_t count, const char *const *names,
                             const char *const *values)
{
    size_t last = dataset->group_count - 1; /* the likeliest */
    if (dataset->group_count > 0 && group_equals(&dataset->groups[last], count, names, values))
        return (int32_t)last;
    struct rt_group group = {.hash = group_hash(count, names, values)};
    for (size_t g = 0; g < dataset->group_count; g++)
        if (dataset->groups[g].hash == group.hash && group_equals(&dataset->groups[g], count, names, values))
            return (int32_t)g;
    for (size_t i = 0; i < count; i++)
        if (values[i][0] != '\0')
            group_insert(&group, names[i], values[i]);
    dataset->groups = rt_realloc(dataset->groups, dataset->group_count + 1, sizeof group);
    dataset->groups[dataset->group_count] = group;
    return (int32_t)dataset->group_count++;
}

const char *rt_dataset_attribute(const struct rt_dataset *dataset, int32_t group, const char *name)
{
    if (group < 0 || (size_t)group >= dataset->group_count)
        return NULL;
    const struct rt_group *g = &dataset->groups[group];
    for (size_t i = 0; i < g->count; i++)
        if (strcmp(g->name[i], name) == 0)
            return g->value[i];
    return NULL;
}

/* Where the tables of `from` end up in `dataset`; -1 stays -1. */
struct remap {
    int32_t *device, *group, *kernel, *text;
};

static int32_t mapped(const int32_t *map, int32_t index)
{
    return index < 0 ? -1 : map[index];
}

static int32_t *map_strings(struct rt_strings *to, const struct rt_strings *from)
{
    int32_t *map = rt_malloc(from->count * sizeof *map);
    for (size_t i = 0; i < from->count; i++) {
        const char *text = rt_strings_get(from, (int32_t)i);
        map[i] = rt_strings_add(to, text, strlen(text));
    }
    return map;
}

int rt_dataset_append(struct rt_dataset *dataset, const struct rt_dataset *from)
{
    int status = RT_OK;
    struct remap map = {.device = rt_malloc(from->device_count * sizeof *map.device),
                        .group = rt_malloc(from->group_count * sizeof *map.group)};
    for (size_t d = 0; d < from->device_count; d++)
        if ((map.device[d] = rt_dataset_add_device(dataset, &from->devices[d])) < 0) {
            status = map.device[d];
            goto done;
        }
    for (size_t g = 0; g < from->group_count; g++) {
        const struct rt_group *group = &from->groups[g];
        map.group[g] = rt_dataset_add_group(dataset, group->count, (const char *const *)group->name,
                                            (const char *const *)group->value);
    }
    map.kernel = map_strings(&dataset->kernels, &from->kernels);
    map.text = map_strings(&dataset->texts, &from->texts);
    for (size_t i = 0; i < from->sample_count; i++) {
        struct rt_sample *sample = rt_dataset_add_sample(dataset, &from->samples[i]);
        sample->device = mapped(map.device, sample->device);
        sample->group = mapped(map.group, sample->group);
        sample->kernel = mapped(map.kernel, sample->kernel);
        sample->kernels = mapped(map.kernel, sample->kernels);
    }
    for (size_t i = 0; i < from->workload_count; i++) {
        struct rt_workload *workload = rt_dataset_add_workload(dataset, &from->workloads[i]);
        workload->device = mapped(map.device, workload->device);
        workload->group = mapped(map.group, workload->group);
        workload->model = mapped(map.text, workload->model);
        workload->option = mapped(map.text, workload->option);
    }
done:
    free(map.device);
    free(map.group);
    free(map.kernel);
    free(map.text);
    return status;
}

/* Keeps the first of equal elements, in order. NaN equals NaN here: elements are compared as bytes. */
static size_t drop_equal(void *elements, size_t *count, size_t size)
{
    char *base = elements;
    size_t kept = 0;
    struct rt_hash_set set = {0};
    rt_hash_set_reserve(&set, *count);
    for (size_t i = 0; i < *count; i++) {
        memmove(base + kept * size, base + i * size, size);
        kept += rt_hash_set_add_bytes(&set, base, size, kept) < 0;
    }
    rt_hash_set_release(&set);
    size_t dropped = *count - kept;
    *count = kept;
    return dropped;
}

size_t rt_dataset_drop_duplicates(struct rt_dataset *dataset)
{
    return drop_equal(dataset->samples, &dataset->sample_count, sizeof *dataset->samples) +
           drop_equal(dataset->workloads, &dataset->workload_count, sizeof *dataset->workloads);
}

/* 128 bits over all bytes, 16 a step: the content of a large dataset is as much as its import. */
struct digest {
    uint64_t a, b;
};

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static void digest_bytes(struct digest *digest, const void *bytes, size_t size)
{
    uint64_t a = digest->a ^ size, b = digest->b, word[2];
    const char *at = bytes;
    for (; size >= 16; at += 16, size -= 16) {
        memcpy(word, at, 16);
        a = rotate(a ^ word[0], 29) * 0x9e3779b97f4a7c15u;
        b = rotate(b ^ word[1], 31) * 0xc4ceb9fe1a85ec53u;
    }
    word[0] = word[1] = 0;
    if (size > 0)
        memcpy(word, at, size);
    a = (a ^ word[0] ^ rotate(b, 17)) * 0xbf58476d1ce4e5b9u;
    b = (b ^ word[1] ^ rotate(a, 41)) * 0x94d049bb133111ebu;
    digest->a = a ^ b >> 31;
    digest->b = b ^ a >> 29;
}

/* A row as the uuid counts it, whatever its order in memory: the columns of version 1, then those that later
 * versions added. */
struct sample_digest {
    double latency_us, latency_median_us, latency_min_us, latency_spread_us, energy_mj;
    int64_t dim[RT_MAX_DIMS];
    int32_t count, device, group, kernel, kernels, tile[3], grid[3], block[3];
    uint32_t flags;
    uint8_t op, dtype, phase, split;
    double latency_p20_us, latency_p80_us, latency_warm_us, sm_clock_mhz, temperature_c, power_w;
    int32_t registers, shared_bytes;
};

static struct sample_digest sample_digest(const struct rt_sample *s)
{
    struct sample_digest row = {.latency_us = s->latency_us,
                                .latency_median_us = s->latency_median_us,
                                .latency_min_us = s->latency_min_us,
                                .latency_spread_us = s->latency_spread_us,
                                .energy_mj = s->energy_mj,
                                .count = s->count,
                                .device = s->device,
                                .group = s->group,
                                .kernel = s->kernel,
                                .kernels = s->kernels,
                                .flags = s->flags,
                                .op = s->call.op,
                                .dtype = s->call.dtype,
                                .phase = s->call.phase,
                                .split = s->split,
                                .latency_p20_us = s->latency_p20_us,
                                .latency_p80_us = s->latency_p80_us,
                                .latency_warm_us = s->latency_warm_us,
                                .sm_clock_mhz = s->sm_clock_mhz,
                                .temperature_c = s->temperature_c,
                                .power_w = s->power_w,
                                .registers = s->registers,
                                .shared_bytes = s->shared_bytes};
    memcpy(row.dim, s->call.dim, sizeof row.dim);
    memcpy(row.tile, s->tile, sizeof row.tile);
    memcpy(row.grid, s->grid, sizeof row.grid);
    memcpy(row.block, s->block, sizeof row.block);
    return row;
}

/* Columns that later versions added count where they hold something: what version 1 could hold keeps the uuid
 * that version 1 gave it. Such columns lie behind the first `old` bytes of a row; `missing` is a row without.
 */
static void digest_rows(struct digest *digest, const void *rows, size_t count, size_t size, size_t old,
                        const void *missing)
{
    const char *row = rows, *blank = missing;
    char *bytes = rt_malloc(count * old), *to = bytes;
    bool any = false;
    for (size_t i = 0; i < count; i++, row += size, to += old) {
        memcpy(to, row, old);
        any |= memcmp(row + old, blank + old, size - old) != 0;
    }
    digest_bytes(digest, bytes, count * old);
    if (any)
        digest_bytes(digest, rows, count * size);
    free(bytes);
}

static void digest_samples(struct digest *digest, const struct rt_dataset *dataset)
{
    struct rt_sample sample;
    struct sample_digest *rows = rt_malloc(dataset->sample_count * sizeof *rows), missing;
    rt_sample_init(&sample);
    missing = sample_digest(&sample);
    for (size_t i = 0; i < dataset->sample_count; i++)
        rows[i] = sample_digest(&dataset->samples[i]);
    digest_rows(digest, rows, dataset->sample_count, sizeof missing,
                offsetof(struct sample_digest, latency_p20_us), &missing);
    free(rows);
}

static void digest_workloads(struct digest *digest, const struct rt_dataset *dataset)
{
    struct rt_workload missing;
    rt_workload_init(&missing);
    digest_rows(digest, dataset->workloads, dataset->workload_count, sizeof missing,
                offsetof(struct rt_workload, kernels_forward_us), &missing);
}

static struct digest digest_content(const struct rt_dataset *dataset)
{
    struct digest digest = {RT_HASH_START, ~RT_HASH_START};
    digest_samples(&digest, dataset);
    digest_workloads(&digest, dataset);
    digest_bytes(&digest, dataset->devices, dataset->device_count * sizeof *dataset->devices);
    for (size_t g = 0; g < dataset->group_count; g++)
        for (size_t i = 0; i < dataset->groups[g].count; i++) {
            digest_bytes(&digest, dataset->groups[g].name[i], strlen(dataset->groups[g].name[i]) + 1);
            digest_bytes(&digest, dataset->groups[g].value[i], strlen(dataset->groups[g].value[i]) + 1);
        }
    digest_bytes(&digest, dataset->kernels.text, dataset->kernels.size);
    digest_bytes(&digest, dataset->texts.text, dataset->texts.size);
    return digest;
}

void rt_dataset_stamp(struct rt_dataset *dataset)
{
    char now[32];
    rt_time_of_day(now, sizeof now);
    free(dataset->creator);
    free(dataset->created);
    free(dataset->uuid);
    dataset->creator = rt_strdup("rooftile " RT_VERSION);
    dataset->created = rt_strdup(now);
    struct digest digest = digest_content(dataset);
    /* Version 8 is RFC 9562's for hashes of one's own. */
    dataset->uuid =
        rt_format("%08x-%04x-8%03x-%04x-%012" PRIx64, (unsigned)(digest.a >> 32),
                  (unsigned)(digest.a >> 16 & 0xffff), (unsigned)(digest.a & 0xfff),
                  (unsigned)(0x8000 | (digest.b >> 48 & 0x3fff)), digest.b & UINT64_C(0xffffffffffff));
}
