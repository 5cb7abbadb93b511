/* The uuid of a dataset's content. See rt_dataset_stamp. */
#include "datasets/dataset.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/version.h"

#include <inttypes.h>
#include <math.h>
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

/* The whole words of `size` bytes; returns how many bytes those are. */
static size_t digest_words(struct digest *digest, const char *bytes, size_t size)
{
    uint64_t a = digest->a, b = digest->b, word[2];
    size_t at = 0;
    for (; at + 16 <= size; at += 16) {
        memcpy(word, bytes + at, 16);
        a = rotate(a ^ word[0], 29) * 0x9e3779b97f4a7c15u;
        b = rotate(b ^ word[1], 31) * 0xc4ceb9fe1a85ec53u;
    }
    *digest = (struct digest){a, b};
    return at;
}

/* The last bytes, fewer than a word. */
static void digest_end(struct digest *digest, const char *bytes, size_t size)
{
    uint64_t a = digest->a, b = digest->b, word[2] = {0, 0};
    if (size > 0)
        memcpy(word, bytes, size);
    a = (a ^ word[0] ^ rotate(b, 17)) * 0xbf58476d1ce4e5b9u;
    b = (b ^ word[1] ^ rotate(a, 41)) * 0x94d049bb133111ebu;
    *digest = (struct digest){a ^ b >> 31, b ^ a >> 29};
}

static void digest_bytes(struct digest *digest, const void *bytes, size_t size)
{
    digest->a ^= size;
    size_t words = digest_words(digest, bytes, size);
    digest_end(digest, words > 0 ? (const char *)bytes + words : bytes, size - words); /* bytes may be NULL */
}

/* A row as the uuid counts it, whatever its order in memory: the columns of version 1, then those that later
 * versions added. */
enum { OLD_DIMS = 11 };
struct sample_digest {
    double latency_us, latency_median_us, latency_min_us, latency_spread_us, energy_mj;
    int64_t dim[OLD_DIMS];
    int32_t count, device, group, kernel, kernels, tile[3], grid[3], block[3];
    uint32_t flags;
    uint8_t op, dtype, phase, split;
    double latency_p20_us, latency_p80_us, latency_warm_us, sm_clock_mhz, temperature_c, power_w;
    int32_t registers, shared_bytes;
    int64_t late_dim[RT_MAX_DIMS - OLD_DIMS];
};

static void sample_row(const void *sample, void *out)
{
    const struct rt_sample *s = sample;
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
    memcpy(row.late_dim, s->call.dim + OLD_DIMS, sizeof row.late_dim);
    memcpy(row.tile, s->tile, sizeof row.tile);
    memcpy(row.grid, s->grid, sizeof row.grid);
    memcpy(row.block, s->block, sizeof row.block);
    memcpy(out, &row, sizeof row);
}

static void workload_row(const void *workload, void *out)
{
    memcpy(out, workload, sizeof(struct rt_workload));
}

/* Rows: the columns of version 1 are the first end[0] bytes, those that the versions after it added follow up
 * to end[1] and end[2]. */
enum { TIERS = 3 };
struct digest_rows {
    const struct rt_rows *rows;
    void (*row)(const void *row, void *out);
    size_t end[TIERS];
};

_Static_assert(sizeof(struct sample_digest) <= RT_LARGEST_ROW && sizeof(struct rt_workload) <= RT_LARGEST_ROW,
               "rows of the digest");

static void row_of(const struct digest_rows *rows, size_t i, void *out)
{
    char row[RT_LARGEST_ROW] __attribute__((aligned(8)));
    rt_rows_get(rows->rows, i, row);
    rows->row(row, out);
}

/* The first `part` bytes of every row, a block of rows at a time. */
static void digest_part(struct digest *digest, const struct digest_rows *rows, size_t part)
{
    enum { BLOCK = 16 }; /* rows: whole words, whatever the part */
    char row[RT_LARGEST_ROW], block[BLOCK * RT_LARGEST_ROW];
    size_t filled = 0;
    digest->a ^= rows->rows->count * part;
    for (size_t i = 0; i < rows->rows->count; i++) {
        row_of(rows, i, row);
        memcpy(block + filled, row, part);
        filled += part;
        if (filled == BLOCK * part)
            filled -= digest_words(digest, block, filled);
    }
    size_t words = digest_words(digest, block, filled);
    digest_end(digest, block + words, filled - words);
}

/* Columns that later versions added count where they hold something: what version 1 could hold keeps the uuid
 * that version 1 gave it. */
static void digest_rows(struct digest *digest, const struct digest_rows *rows)
{
    char row[RT_LARGEST_ROW], blank[RT_LARGEST_ROW];
    rows->row(rows->rows->kind->blank, blank);
    for (int t = 0; t < TIERS; t++) {
        size_t from = t > 0 ? rows->end[t - 1] : 0, size = rows->end[t] - from;
        bool any = t == 0;
        for (size_t i = 0; i < rows->rows->count && !any && size > 0; i++) {
            row_of(rows, i, row);
            any = memcmp(row + from, blank + from, size) != 0;
        }
        if (any)
            digest_part(digest, rows, rows->end[t]);
    }
}

/* The columns of version 1 as one array, then a column that came later where it holds something. What a
 * device has beside its columns does not count, nor quirks that readers take from the catalogue. */
static void digest_devices(struct digest *digest, const struct rt_dataset *dataset)
{
    const size_t old = offsetof(struct rt_device, link_peers);
    char *rows = rt_malloc(dataset->device_count * old + 1);
    struct rt_device *devices = rt_calloc(dataset->device_count + 1, sizeof *devices);
    for (size_t d = 0; d < dataset->device_count; d++) {
        devices[d] = dataset->devices[d];
        rt_device_forget(&devices[d]);
        memcpy(rows + d * old, &devices[d], old);
    }
    digest_bytes(digest, rows, dataset->device_count * old);
    for (size_t f = 0; f < rt_device_field_count; f++)
        for (size_t d = 0; rt_device_fields[f].sparse && d < dataset->device_count; d++) {
            double value = *rt_device_value(&devices[d], f);
            if (!isnan(value))
                digest_bytes(digest, &value, sizeof value);
        }
    for (size_t t = 0; t < rt_device_text_count; t++)
        for (size_t d = 0; rt_device_texts[t].sparse && d < dataset->device_count; d++) {
            const char *text = rt_device_text(&devices[d], t);
            if (text[0] != '\0')
                digest_bytes(digest, text, strlen(text) + 1);
        }
    free(devices);
    free(rows);
}

static struct digest digest_content(const struct rt_dataset *dataset)
{
    struct digest digest = {RT_HASH_START, ~RT_HASH_START};
    struct rt_rows workload_rows = rt_dataset_workload_rows(dataset);
    digest_rows(&digest, &(struct digest_rows){&dataset->samples,
                                               sample_row,
                                               {offsetof(struct sample_digest, latency_p20_us),
                                                offsetof(struct sample_digest, late_dim),
                                                sizeof(struct sample_digest)}});
    digest_rows(&digest, &(struct digest_rows){&workload_rows,
                                               workload_row,
                                               {offsetof(struct rt_workload, kernels_forward_us),
                                                sizeof(struct rt_workload), sizeof(struct rt_workload)}});
    rt_rows_release(&workload_rows);
    digest_devices(&digest, dataset);
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
