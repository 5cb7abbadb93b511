/* The files of a folder, side by side. See tree.h. */
#include "datasets/import/tree.h"
#include "base/hash_set.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/threads.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static size_t root_length(const struct rt_tree *tree)
{
    size_t length = strlen(tree->root);
    while (length > 1 && tree->root[length - 1] == '/')
        length--;
    return length;
}

static bool is_folder(const char *at, const char *slash, const char *folder)
{
    return strlen(folder) == (size_t)(slash - at) && strncmp(at, folder, (size_t)(slash - at)) == 0;
}

bool rt_tree_has_folder(const struct rt_tree *tree, const char *path, const char *folder)
{
    const char *slash, *at = path + root_length(tree);
    for (; (slash = strchr(at, '/')) != NULL; at = slash + 1)
        if (is_folder(at, slash, folder))
            return true;
    return false;
}

/* By the deepest folder called train or test, among the one that was named and those below it: a folder such
 * as /home/test above it is no mark. */
static enum rt_split split_of_path(const struct rt_tree *tree, const char *path)
{
    enum rt_split split = RT_SPLIT_NONE;
    size_t length = root_length(tree);
    while (length > 0 && path[length - 1] != '/')
        length--;
    const char *slash, *at = path + length;
    for (; (slash = strchr(at, '/')) != NULL; at = slash + 1)
        for (int s = RT_SPLIT_TRAIN; s <= RT_SPLIT_TEST; s++)
            if (is_folder(at, slash, rt_splits[s]))
                split = (enum rt_split)s;
    return split;
}

/* ---- the merge: files become one dataset, in path order, while later ones are still being read ---- */

/* Devices, groups and kernels are numbered at their first use, so that the result is the same however many
 * threads read. */
struct merge {
    struct rt_tree *tree;
    struct rt_dataset *out;
    struct rt_hash_set samples, workloads;
};

enum { UNSEEN = -2 };

/* What the numbers of a file are in the dataset: UNSEEN until a row that is read (of `kernels`: kept) uses
 * them. */
struct file_maps {
    struct merge *merge;
    const struct rt_import_file *file;
    int32_t *device, *group, *kernel;
    size_t device_count;                          /* of the tree so far */
    struct rt_import_count (*count)[RT_OP_COUNT]; /* per device */
};

static int32_t *unseen(size_t count)
{
    int32_t *map = rt_malloc(count * sizeof *map);
    for (size_t i = 0; i < count; i++)
        map[i] = UNSEEN;
    return map;
}

static void maps_init(struct file_maps *maps, struct merge *merge, const struct rt_import_file *file)
{
    pthread_mutex_lock(&merge->tree->lock);
    size_t devices = merge->tree->devices.device_count;
    pthread_mutex_unlock(&merge->tree->lock);
    *maps = (struct file_maps){.merge = merge,
                               .file = file,
                               .device = unseen(devices),
                               .group = unseen(file->data.group_count),
                               .kernel = unseen(file->data.kernels.count),
                               .device_count = devices,
                               .count = rt_calloc(devices, sizeof *maps->count)};
}

static void maps_release(struct file_maps *maps)
{
    free(maps->device);
    free(maps->group);
    free(maps->kernel);
    free(maps->count);
}

static int32_t map_device(struct file_maps *maps, int32_t device)
{
    struct rt_tree *tree = maps->merge->tree;
    if (maps->device[device] == UNSEEN) {
        pthread_mutex_lock(&tree->lock);
        maps->device[device] = rt_dataset_add_device(maps->merge->out, &tree->devices.devices[device]);
        pthread_mutex_unlock(&tree->lock);
    }
    return maps->device[device];
}

static int32_t map_group(struct file_maps *maps, int32_t group)
{
    if (group < 0)
        return -1;
    const struct rt_group *from = &maps->file->data.groups[group];
    if (maps->group[group] == UNSEEN)
        maps->group[group] = rt_dataset_add_group(
            maps->merge->out, from->count, (const char *const *)from->name, (const char *const *)from->value);
    return maps->group[group];
}

static int32_t map_kernel(struct file_maps *maps, int32_t kernel)
{
    if (kernel < 0)
        return -1;
    if (maps->kernel[kernel] == UNSEEN) {
        const char *name = rt_strings_get(&maps->file->data.kernels, kernel);
        maps->kernel[kernel] = rt_strings_add(&maps->merge->out->kernels, name, strlen(name));
    }
    return maps->kernel[kernel];
}

/* ---- samples ---- */

/* A sum of products with odd constants: fast, and samples of one hash are compared in full. Kernels and
 * groups, whose numbers differ between files, stay out. */
static uint64_t hash_sample(const struct rt_sample *s)
{
    static const uint64_t factor[RT_MAX_DIMS] = {
        0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu, 0xff51afd7ed558ccdu,
        0xc4ceb9fe1a85ec53u, 0xd6e8feb86659fd93u, 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu,
        0x8ebc6af09c88c6e3u, 0x589965cc75374cc3u, 0x1d8e4e27c47d124fu, 0x72be5d74f27b896fu,
        0x9ae16a3b2f90404fu, 0xc949d7c7509e6557u};
    uint64_t latency, sum = 0;
    memcpy(&latency, &s->latency_us, sizeof latency);
    for (int i = 0; i < RT_MAX_DIMS; i++)
        sum += (uint64_t)s->call.dim[i] * factor[i];
    for (int i = 0; i < 3; i++)
        sum += ((uint64_t)s->grid[i] << 32 | (uint32_t)s->block[i]) * (factor[i] ^ 0xabcdef0123456788u);
    sum = (sum ^ (uint64_t)s->device << 24 ^ s->call.op ^ s->call.dtype << 8 ^ s->split << 16) * factor[3];
    sum = (sum ^ sum >> 29 ^ latency) * factor[4];
    return sum ^ sum >> 32;
}

struct sought {
    const struct merge *merge;
    const struct rt_sample *sample;
};

static bool same_sample(const void *context, uint32_t index)
{
    const struct sought *sought = context;
    const struct rt_sample *a = sought->sample, *b = RT_SAMPLE(sought->merge->out, index);
    return memcmp(&a->call, &b->call, sizeof a->call) == 0 && a->split == b->split &&
           a->device == b->device && memcmp(&a->latency_us, &b->latency_us, sizeof a->latency_us) == 0 &&
           memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
           memcmp(a->block, b->block, sizeof a->block) == 0 && a->kernel == b->kernel &&
           (!sought->merge->tree->reader->groups_differ || a->group == b->group);
}

/* True where an equal sample came before; otherwise this one is in the set and must be added next. */
static bool is_duplicate(struct merge *merge, const struct rt_sample *sample, uint32_t hash)
{
    return rt_hash_set_add(&merge->samples, hash, same_sample, &(struct sought){merge, sample},
                           merge->out->samples.count) >= 0;
}

static void merge_sample(struct file_maps *maps, struct rt_sample *sample, uint32_t hash)
{
    struct rt_import_count *count = &maps->count[sample->device][sample->call.op];
    sample->device = map_device(maps, sample->device);
    sample->group = map_group(maps, sample->group);
    sample->kernel = map_kernel(maps, sample->kernel);
    count->read++;
    if (is_duplicate(maps->merge, sample, hash)) {
        count->duplicates++;
        return;
    }
    sample->kernels = map_kernel(maps, sample->kernels);
    count->kept++;
    count->unknown_tiles += (sample->flags & RT_FLAG_UNKNOWN_TILE) != 0;
    rt_dataset_add_sample(maps->merge->out, sample);
}

static void merge_samples(struct file_maps *maps, struct rt_dataset *data)
{
    enum { AHEAD = 12 }; /* samples whose slots are on their way from memory */
    struct rt_hash_set *set = &maps->merge->samples;
    struct rt_sample ahead[AHEAD];
    uint32_t hash[AHEAD];
    rt_hash_set_reserve(set, data->samples.count);
    for (size_t i = 0; i < data->samples.count + AHEAD; i++) {
        struct rt_sample *sample = &ahead[i % AHEAD];
        if (i >= AHEAD)
            merge_sample(maps, sample, hash[i % AHEAD]);
        if (i >= data->samples.count)
            continue;
        rt_rows_get(&data->samples, i, sample);
        hash[i % AHEAD] = (uint32_t)hash_sample(sample);
        rt_hash_set_prefetch(set, hash[i % AHEAD]);
    }
}

/* ---- workloads and the report ---- */

/* A model measured once is one workload, however many copies of its file there are. */
static void merge_workload(struct file_maps *maps, struct rt_workload *workload)
{
    struct rt_dataset *out = maps->merge->out;
    const char *model = rt_strings_get(&maps->file->data.texts, workload->model);
    const char *option = rt_strings_get(&maps->file->data.texts, workload->option);
    workload->device = map_device(maps, workload->device);
    workload->group = map_group(maps, workload->group);
    workload->model = rt_strings_add(&out->texts, model, strlen(model));
    workload->option = rt_strings_add(&out->texts, option, strlen(option));
    struct rt_import_count *count =
        rt_import_counter(maps->merge->tree->report, "workload", out->devices[workload->device].name);
    rt_dataset_add_workload(out, workload);
    count->read++;
    if (rt_hash_set_add_bytes(&maps->merge->workloads, out->workloads, sizeof *workload,
                              out->workload_count - 1) < 0) {
        count->kept++;
        return;
    }
    count->duplicates++;
    out->workload_count--;
}

static void report_samples(const struct file_maps *maps, struct rt_import_report *report)
{
    for (size_t d = 0; d < maps->device_count; d++)
        for (int op = 0; op < RT_OP_COUNT; op++)
            if (maps->count[d][op].read > 0)
                rt_import_count_add(rt_import_counter(report, rt_ops[op].name,
                                                      maps->merge->out->devices[maps->device[d]].name),
                                    &maps->count[d][op]);
}

static void merge_file(struct merge *merge, struct rt_import_file *file)
{
    struct file_maps maps;
    maps_init(&maps, merge, file);
    if (file->data.samples.count > 0)
        merge_samples(&maps, &file->data);
    for (size_t i = 0; i < file->data.workload_count; i++)
        merge_workload(&maps, &file->data.workloads[i]);
    report_samples(&maps, merge->tree->report);
    rt_import_report_add(merge->tree->report, &file->report);
    maps_release(&maps);
}

static void finish_merge(struct merge *merge)
{
    rt_hash_set_release(&merge->samples);
    rt_hash_set_release(&merge->workloads);
}

/* ---- threads ---- */

struct work {
    struct rt_tree *tree;
    struct merge merge;
    atomic_size_t next, done;
    struct rt_progress progress;
};

/* Merges the file where its turn has come, and those behind it that have ended meanwhile. */
static void end_file(struct work *work, struct rt_import_file *file)
{
    struct rt_tree *tree = work->tree;
    pthread_mutex_lock(&tree->lock);
    file->ended = true;
    bool mine = file == &tree->files[tree->turn];
    while (mine) {
        pthread_mutex_unlock(&tree->lock);
        merge_file(&work->merge, &tree->files[tree->turn]);
        rt_import_file_release(&tree->files[tree->turn]);
        pthread_mutex_lock(&tree->lock);
        tree->turn++;
        mine = tree->turn < tree->paths.count && tree->files[tree->turn].ended;
    }
    pthread_mutex_unlock(&tree->lock);
}

static void read_files(void *context, size_t member)
{
    struct work *work = context;
    struct rt_tree *tree = work->tree;
    size_t at;
    while ((at = atomic_fetch_add(&work->next, 1)) < tree->paths.count) {
        tree->reader->read(&tree->files[at]);
        end_file(work, &tree->files[at]);
        size_t done = 1 + atomic_fetch_add(&work->done, 1);
        if (member == 0)
            rt_progress_update(&work->progress, (double)done, "%zu of %zu files", done, tree->paths.count);
    }
}

static void read_tree(struct rt_tree *tree, struct rt_dataset *out)
{
    struct work work = {.tree = tree, .merge = {.tree = tree, .out = out}};
    size_t threads = tree->options->threads > 0 ? (size_t)tree->options->threads : rt_threads_processors();
    if (threads > tree->paths.count)
        threads = tree->paths.count;
    struct rt_threads *pool = rt_threads_new(threads > RT_THREADS_MAX ? RT_THREADS_MAX
                                             : threads < 1            ? 1
                                                                      : threads);
    rt_progress_start(&work.progress, "import", (double)tree->paths.count, tree->options->quiet);
    if (tree->reader->prepare != NULL)
        tree->reader->prepare(tree);
    rt_threads_run(pool, read_files, &work);
    rt_progress_end(&work.progress);
    rt_threads_free(pool);
    finish_merge(&work.merge);
}

int rt_tree_import(const char *root, const struct rt_tree_reader *reader,
                   const struct rt_import_options *options, struct rt_dataset *out,
                   struct rt_import_report *report)
{
    struct rt_tree tree = {.root = root, .options = options, .reader = reader, .report = report};
    int status = rt_file_walk(root, &tree.paths);
    if (status != RT_OK)
        return status;
    pthread_mutex_init(&tree.lock, NULL);
    rt_dataset_init(&tree.devices);
    tree.files = rt_calloc(tree.paths.count, sizeof *tree.files);
    for (size_t f = 0; f < tree.paths.count; f++) {
        rt_import_file_init(&tree.files[f], &tree, tree.paths.path[f]);
        tree.files[f].split = split_of_path(&tree, tree.paths.path[f]);
    }
    read_tree(&tree, out);
    free(out->source);
    free(out->licence);
    out->source = rt_strdup(reader->source);
    out->licence = rt_strdup(reader->licence);
    free(tree.files); /* the merge has released each */
    rt_dataset_release(&tree.devices);
    rt_paths_release(&tree.paths);
    pthread_mutex_destroy(&tree.lock);
    return RT_OK;
}
