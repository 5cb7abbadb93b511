/* The uuid of a dataset's content. See rt_dataset_stamp. */
#include "datasets/dataset.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
