/* Parts become one dataset. See import_merge.h. */
#include "datasets/import/merge.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

enum { UNSEEN = -2, ROWS = 2048 };

struct block {
    struct block *next;
    size_t count;
    uint32_t tags[ROWS]; /* of the samples' hashes */
    struct rt_sample samples[ROWS];
};

struct rt_import_part_merge {
    struct block *filling;       /* the block that takes the next sample; NULL before the first */
    struct block *queue, **last; /* full ones that wait for the part's turn */
    bool ended;
    int32_t *group, *kernel; /* index in the dataset, UNSEEN until a kept sample uses it */
    size_t group_count, kernel_count;
};

/* `lock` guards turn, spare and the parts' `ended`. The rest belongs to whoever merges the part whose turn it
 * is: its own thread until it has ended, then the thread that ended the part before. */
struct rt_merge {
    struct rt_tree *tree;
    struct rt_dataset *out;
    pthread_mutex_t lock;
    size_t turn;
    struct block *spare;
    struct rt_import_part_merge *states;
    int32_t *device;                /* of the tree: index in the dataset */
    struct rt_import_count *counts; /* (device of the tree, op) */
    size_t device_count;
    struct rt_hash_set samples;
};

/* ---- indices of a part become indices of the dataset ---- */

static int32_t *grow_map(int32_t *map, size_t *count, size_t needed)
{
    if (*count >= needed)
        return map;
    size_t more = needed > 2 * *count ? needed : 2 * *count;
    map = rt_realloc(map, more, sizeof *map);
    for (; *count < more; ++*count)
        map[*count] = UNSEEN;
    return map;
}

/* The tree may have found more devices since the last block. */
static void know_device(struct rt_merge *merge, int32_t device)
{
    size_t before = merge->device_count;
    if ((size_t)device < before)
        return;
    merge->device = grow_map(merge->device, &merge->device_count, (size_t)device + 1);
    merge->counts = rt_realloc(merge->counts, merge->device_count * RT_OP_COUNT, sizeof *merge->counts);
    memset(merge->counts + before * RT_OP_COUNT, 0,
           (merge->device_count - before) * RT_OP_COUNT * sizeof *merge->counts);
}

static int32_t map_device(struct rt_merge *merge, int32_t device)
{
    know_device(merge, device);
    if (merge->device[device] == UNSEEN) {
        pthread_mutex_lock(&merge->tree->lock);
        merge->device[device] = rt_dataset_add_device(merge->out, &merge->tree->devices.devices[device]);
        pthread_mutex_unlock(&merge->tree->lock);
    }
    return merge->device[device];
}

static int32_t map_group(struct rt_merge *merge, const struct rt_import_part *part, int32_t group)
{
    struct rt_import_part_merge *state = part->state;
    if (group < 0)
        return -1;
    state->group = grow_map(state->group, &state->group_count, part->data.group_count);
    const struct rt_group *from = &part->data.groups[group];
    if (state->group[group] == UNSEEN)
        state->group[group] = rt_dataset_add_group(merge->out, from->count, (const char *const *)from->name,
                                                   (const char *const *)from->value);
    return state->group[group];
}

static int32_t map_kernel(struct rt_merge *merge, const struct rt_import_part *part, int32_t kernel)
{
    struct rt_import_part_merge *state = part->state;
    if (kernel < 0)
        return -1;
    state->kernel = grow_map(state->kernel, &state->kernel_count, part->data.kernels.count);
    if (state->kernel[kernel] == UNSEEN) {
        const char *name = rt_strings_get(&part->data.kernels, kernel);
        state->kernel[kernel] = rt_strings_add(&merge->out->kernels, name, strlen(name));
    }
    return state->kernel[kernel];
}

/* ---- samples ---- */

struct looked_for {
    const struct rt_merge *merge;
    const struct rt_sample *sample;
};

static bool same_sample(const void *context, uint32_t index)
{
    const struct looked_for *looked_for = context;
    const struct rt_sample *a = looked_for->sample, *b = &looked_for->merge->out->samples[index];
    return a->call.op == b->call.op && a->call.dtype == b->call.dtype && a->call.phase == b->call.phase &&
           a->split == b->split && a->device == b->device &&
           memcmp(&a->latency_us, &b->latency_us, sizeof a->latency_us) == 0 &&
           memcmp(a->call.dim, b->call.dim, sizeof a->call.dim) == 0 &&
           memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
           memcmp(a->block, b->block, sizeof a->block) == 0 && a->kernel == b->kernel &&
           (!looked_for->merge->tree->reader->groups_differ || a->group == b->group);
}

/* True where an equal sample came before; otherwise this one is in the set and must be added next. */
static bool is_duplicate(struct rt_merge *merge, const struct rt_sample *sample, uint32_t tag)
{
    struct looked_for looked_for = {merge, sample};
    return rt_hash_set_add(&merge->samples, tag, same_sample, &looked_for, merge->out->sample_count) >= 0;
}

static void merge_block(struct rt_merge *merge, const struct rt_import_part *part, struct block *block)
{
    enum { AHEAD = 12 };
    rt_hash_set_reserve(&merge->samples, block->count);
    for (size_t i = 0; i < block->count; i++) {
        struct rt_sample *sample = &block->samples[i];
        int32_t device = sample->device;
        if (i + AHEAD < block->count)
            rt_hash_set_prefetch(&merge->samples, block->tags[i + AHEAD]);
        sample->device = map_device(merge, device);
        sample->group = map_group(merge, part, sample->group);
        sample->kernel = map_kernel(merge, part, sample->kernel);
        struct rt_import_count *count = &merge->counts[(size_t)device * RT_OP_COUNT + sample->call.op];
        count->read++;
        if (is_duplicate(merge, sample, block->tags[i])) {
            count->duplicates++;
            continue;
        }
        sample->kernels = map_kernel(merge, part, sample->kernels);
        count->kept++;
        count->unknown_tiles += (sample->flags & RT_FLAG_UNKNOWN_TILE) != 0;
        rt_dataset_add_sample(merge->out, sample);
    }
    block->count = 0;
}

/* ---- workloads and what else a part says ---- */

static void merge_workloads(struct rt_merge *merge, const struct rt_import_part *part)
{
    struct rt_dataset *out = merge->out;
    for (size_t i = 0; i < part->data.workload_count; i++) {
        struct rt_workload workload = part->data.workloads[i];
        const char *model = rt_strings_get(&part->data.texts, workload.model);
        const char *option = rt_strings_get(&part->data.texts, workload.option);
        workload.device = map_device(merge, workload.device);
        workload.group = map_group(merge, part, workload.group);
        workload.model = rt_strings_add(&out->texts, model, strlen(model));
        workload.option = rt_strings_add(&out->texts, option, strlen(option));
        rt_dataset_add_workload(out, &workload);
    }
}

static void add_sentences(struct rt_import_sentences *to, const struct rt_import_sentences *from)
{
    size_t kept = from->count < RT_IMPORT_SENTENCES ? from->count : RT_IMPORT_SENTENCES;
    for (size_t i = 0; i < kept; i++)
        rt_import_note(to, from->text[i]);
    to->count += from->count - kept;
}

static void merge_report(struct rt_import_report *to, const struct rt_import_part *part)
{
    for (size_t i = 0; i < part->report.row_count; i++) {
        const struct rt_import_row *row = &part->report.rows[i];
        struct rt_import_count *count = rt_import_counter(to, row->op, row->device);
        count->read += row->count.read;
        count->refused += row->count.refused;
    }
    for (size_t i = 0; i < part->report.other_count; i++)
        rt_import_other(to, part->report.others[i].kind, part->report.others[i].files);
    add_sentences(&to->refused, &part->report.refused);
    add_sentences(&to->skipped, &part->report.skipped);
    to->files += part->bytes > 0;
    to->bytes += part->bytes;
}

static void count_samples(const struct rt_merge *merge)
{
    for (size_t cell = 0; cell < merge->device_count * RT_OP_COUNT; cell++) {
        const struct rt_import_count *from = &merge->counts[cell];
        if (from->read == 0)
            continue;
        struct rt_import_count *to = rt_import_counter(merge->tree->report, rt_ops[cell % RT_OP_COUNT].name,
                                                       merge->tree->devices.devices[cell / RT_OP_COUNT].name);
        to->read += from->read;
        to->kept += from->kept;
        to->duplicates += from->duplicates;
        to->unknown_tiles += from->unknown_tiles;
    }
}

/* A model measured once is one workload, however many copies of its file there are. */
static void count_workloads(struct rt_dataset *out, struct rt_import_report *report)
{
    size_t kept = 0;
    struct rt_hash_set set = {0};
    for (size_t i = 0; i < out->workload_count; i++) {
        out->workloads[kept] = out->workloads[i];
        struct rt_import_count *count =
            rt_import_counter(report, "workload", out->devices[out->workloads[i].device].name);
        bool is_new = rt_hash_set_add_bytes(&set, out->workloads, sizeof *out->workloads, kept) < 0;
        count->read++;
        count->kept += is_new;
        count->duplicates += !is_new;
        kept += is_new;
    }
    out->workload_count = kept;
    rt_hash_set_release(&set);
}

/* ---- turns ---- */

static size_t number_of(const struct rt_merge *merge, const struct rt_import_part *part)
{
    return (size_t)(part - merge->tree->parts);
}

/* What waited is merged; its blocks are spare again. */
static void merge_queue(struct rt_merge *merge, struct rt_import_part *part)
{
    struct rt_import_part_merge *state = part->state;
    for (struct block *block = state->queue; block != NULL; block = block->next)
        merge_block(merge, part, block);
    pthread_mutex_lock(&merge->lock);
    *state->last = merge->spare;
    merge->spare = state->queue;
    pthread_mutex_unlock(&merge->lock);
    state->queue = NULL;
    state->last = &state->queue;
}

static void queue_block(struct rt_import_part_merge *state)
{
    if (state->filling == NULL)
        return;
    *state->last = state->filling;
    state->last = &state->filling->next;
    state->filling = NULL;
}

/* An empty block for the part, once its full one is queued, and merged where the part's turn has come. */
static void next_block(struct rt_merge *merge, struct rt_import_part *part)
{
    struct rt_import_part_merge *state = part->state;
    queue_block(state);
    pthread_mutex_lock(&merge->lock);
    bool turn = merge->turn == number_of(merge, part);
    pthread_mutex_unlock(&merge->lock);
    if (turn && state->queue != NULL)
        merge_queue(merge, part);
    pthread_mutex_lock(&merge->lock);
    struct block *block = merge->spare;
    if (block != NULL)
        merge->spare = block->next;
    pthread_mutex_unlock(&merge->lock);
    if (block == NULL)
        block = rt_malloc(sizeof *block);
    block->next = NULL;
    block->count = 0;
    state->filling = block;
}

void rt_merge_sample(struct rt_merge *merge, struct rt_import_part *part, const struct rt_sample *sample,
                     uint64_t hash)
{
    struct rt_import_part_merge *state = part->state;
    if (state->filling == NULL || state->filling->count == ROWS)
        next_block(merge, part);
    state->filling->tags[state->filling->count] = (uint32_t)hash;
    state->filling->samples[state->filling->count++] = *sample;
}

static void finish_part(struct rt_merge *merge, struct rt_import_part *part)
{
    merge_queue(merge, part);
    merge_workloads(merge, part);
    merge_report(merge->tree->report, part);
    free(part->state->group);
    free(part->state->kernel);
}

/* Finishes the part whose turn it is, and those behind it that have ended meanwhile. */
void rt_merge_end_part(struct rt_merge *merge, struct rt_import_part *part)
{
    size_t count = merge->tree->paths.count;
    queue_block(part->state);
    pthread_mutex_lock(&merge->lock);
    part->state->ended = true;
    bool mine = merge->turn == number_of(merge, part);
    while (mine) {
        pthread_mutex_unlock(&merge->lock);
        finish_part(merge, &merge->tree->parts[merge->turn]);
        pthread_mutex_lock(&merge->lock);
        merge->turn++;
        mine = merge->turn < count && merge->states[merge->turn].ended;
    }
    pthread_mutex_unlock(&merge->lock);
}

struct rt_merge *rt_merge_new(struct rt_tree *tree, struct rt_dataset *out)
{
    struct rt_merge *merge = rt_calloc(1, sizeof *merge);
    merge->tree = tree;
    merge->out = out;
    merge->states = rt_calloc(tree->paths.count, sizeof *merge->states);
    for (size_t p = 0; p < tree->paths.count; p++) {
        merge->states[p].last = &merge->states[p].queue;
        tree->parts[p].state = &merge->states[p];
    }
    pthread_mutex_init(&merge->lock, NULL);
    return merge;
}

void rt_merge_free(struct rt_merge *merge)
{
    count_samples(merge);
    count_workloads(merge->out, merge->tree->report);
    while (merge->spare != NULL) {
        struct block *next = merge->spare->next;
        free(merge->spare);
        merge->spare = next;
    }
    free(merge->states);
    free(merge->device);
    free(merge->counts);
    rt_hash_set_release(&merge->samples);
    pthread_mutex_destroy(&merge->lock);
    free(merge);
}
