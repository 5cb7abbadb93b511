/* The files of a folder, side by side. See tree.h. */
#include "datasets/import/tree.h"
#include "datasets/import/merge.h"
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

struct work {
    struct rt_tree *tree;
    struct rt_merge merge;
    atomic_size_t next, done;
    struct rt_progress progress;
};

static void take_spare(struct rt_tree *tree, struct rt_import_file *file)
{
    pthread_mutex_lock(&tree->lock);
    file->data.samples = tree->spare;
    file->data.sample_capacity = tree->spare_capacity;
    tree->spare = NULL;
    tree->spare_capacity = 0;
    pthread_mutex_unlock(&tree->lock);
}

static void merge(struct work *work, struct rt_import_file *file)
{
    struct rt_tree *tree = work->tree;
    rt_merge_file(&work->merge, file);
    pthread_mutex_lock(&tree->lock);
    if (file->data.sample_capacity > tree->spare_capacity) {
        free(tree->spare);
        tree->spare = file->data.samples;
        tree->spare_capacity = file->data.sample_capacity;
        file->data.samples = NULL;
    }
    pthread_mutex_unlock(&tree->lock);
    rt_import_file_release(file);
}

/* Merges the file where its turn has come, and those behind it that have ended meanwhile. */
static void end_file(struct work *work, struct rt_import_file *file)
{
    struct rt_tree *tree = work->tree;
    pthread_mutex_lock(&tree->lock);
    file->ended = true;
    bool mine = file == &tree->files[tree->turn];
    while (mine) {
        pthread_mutex_unlock(&tree->lock);
        merge(work, &tree->files[tree->turn]);
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
        take_spare(tree, &tree->files[at]);
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
    rt_merge_finish(&work.merge);
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
    free(tree.spare);
    free(tree.files); /* the merge has released each */
    rt_dataset_release(&tree.devices);
    rt_paths_release(&tree.paths);
    pthread_mutex_destroy(&tree.lock);
    return RT_OK;
}
