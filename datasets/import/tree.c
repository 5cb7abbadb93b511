/* Files side by side, one dataset in path order. See import_tree.h. */
#include "datasets/import/tree.h"
#include "datasets/import/merge.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/threads.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    UNKNOWN_DEVICES = 64, /* more in one file: it is not what it seems */
    GROUPS = 4096,        /* more in one file: an attribute numbers the rows */
    ATTRIBUTES = 60,
    ATTRIBUTE_BYTES = 1000,
};

void rt_import_part_is(struct rt_import_part *part, const char *kind)
{
    rt_import_other(&part->report, kind, 1);
}

void rt_import_part_skip(struct rt_import_part *part)
{
    rt_import_note(&part->report.skipped, rt_error());
}

void rt_import_part_refuse(struct rt_import_part *part, const char *op, int32_t device)
{
    char name[sizeof((struct rt_device *)0)->name] = "?";
    rt_import_note(&part->report.refused, rt_error());
    if (device >= 0) {
        pthread_mutex_lock(&part->tree->lock);
        memcpy(name, part->tree->devices.devices[device].name, sizeof name);
        pthread_mutex_unlock(&part->tree->lock);
    }
    struct rt_import_count *count = rt_import_counter(&part->report, op != NULL ? op : "?", name);
    count->read++;
    count->refused++;
}

int rt_import_part_integer(const struct rt_csv_field *field, int64_t *value)
{
    double real;
    if (rt_parse_integer(field->text, field->length, value) == 0)
        return 0;
    if (rt_parse_real(field->text, field->length, &real) != 0 || real != floor(real) || fabs(real) > 0x1p53)
        return -1;
    *value = (int64_t)real;
    return 0;
}

int rt_import_part_latency(const struct rt_csv *csv, const struct rt_csv_field *field, const char *column,
                           double *value)
{
    double parsed;
    if (rt_parse_real(field->text, field->length, &parsed) == 0 && parsed > 0) {
        *value = parsed;
        return RT_OK;
    }
    return rt_fail(RT_EFORMAT, "%s:%zu: %s is \"%.40s\"; it must be a positive number", rt_csv_path(csv),
                   rt_csv_line(csv), column, field->text);
}

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

/* The deepest folder called train or test decides, among the one that was named and those below it: whoever
 * works in /home/test does not mean it so. */
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

static int32_t resolve_device(struct rt_dataset *devices, const char *name)
{
    struct rt_device device;
    int32_t index = rt_dataset_find_device(devices, name);
    if (index >= 0)
        return index;
    if (rt_device_named(name, &device) != RT_OK)
        return -1;
    index = rt_dataset_find_device(devices, device.name); /* `name` may be an alias of one that is there */
    return index >= 0 ? index : rt_dataset_add_device(devices, &device);
}

int32_t rt_tree_device(struct rt_tree *tree, const char *name)
{
    pthread_mutex_lock(&tree->lock);
    int32_t index = resolve_device(&tree->devices, name);
    pthread_mutex_unlock(&tree->lock);
    return index;
}

static int32_t name_device(struct rt_import_part *part, const struct rt_csv_field *name)
{
    size_t known = part->device_names.count;
    int32_t at = rt_strings_add(&part->device_names, name->text, name->length);
    if ((size_t)at < known)
        return at;
    part->device_index = rt_realloc(part->device_index, known + 1, sizeof *part->device_index);
    part->device_index[at] = rt_tree_device(part->tree, name->text);
    if (part->device_index[at] < 0)
        part->unknown_devices++;
    return at;
}

static bool same_text(const struct rt_strings *strings, const struct rt_import_part_text *last,
                      const char *text, size_t length)
{
    return last->index >= 0 && last->length == length &&
           memcmp(rt_strings_get(strings, last->index), text, length) == 0;
}

int32_t rt_import_part_device(struct rt_import_part *part, const struct rt_csv *csv,
                              const struct rt_csv_field *name)
{
    struct rt_import_part_text *last = &part->device_text;
    if (!same_text(&part->device_names, last, name->text, name->length))
        *last = (struct rt_import_part_text){name_device(part, name), name->length};
    if (part->device_index[last->index] >= 0)
        return part->device_index[last->index];
    if (part->unknown_devices > UNKNOWN_DEVICES)
        return rt_fail(RT_EFORMAT,
                       "%s:%zu: names more than %d unknown GPUs; the rest of the file is not read",
                       rt_csv_path(csv), rt_csv_line(csv), UNKNOWN_DEVICES);
    return rt_fail(RT_ENOTFOUND,
                   "%s:%zu: unknown GPU \"%.80s\": neither a device file of the tree nor the catalogue "
                   "(`rooftile devices`) has it; add a device file",
                   rt_csv_path(csv), rt_csv_line(csv), name->text);
}

int32_t rt_import_part_kernel(struct rt_import_part *part, struct rt_import_part_text *last, const char *text,
                              size_t length)
{
    struct rt_strings *kernels = &part->data.kernels;
    if (length == 0)
        return -1;
    if (same_text(kernels, last, text, length))
        return last->index;
    *last = (struct rt_import_part_text){rt_strings_add(kernels, text, length), length};
    if (kernels->count > part->kernel_hash_count) {
        part->kernel_hashes =
            rt_realloc(part->kernel_hashes, kernels->offset_capacity, sizeof *part->kernel_hashes);
        part->kernel_hashes[part->kernel_hash_count++] = rt_hash(RT_HASH_START, text, length);
    }
    return last->index;
}

/* `value` as digits to the base 255, none of them 0: keys are strings. */
static char *put_number(char *to, size_t value, int digits)
{
    for (; digits > 0; digits--, value /= 255)
        *to++ = (char)(1 + value % 255);
    return to;
}

/* The row's attributes as one string in part->key: which columns, how long, what. Returns its length. */
static size_t join_values(struct rt_import_part *part, const struct rt_csv_field *row, const int *columns,
                          size_t count)
{
    enum { COLUMN = 2, LENGTH = 4 }; /* digits: RT_CSV_COLUMNS and RT_CSV_ROW_LIMIT fit */
    size_t length = COLUMN;
    for (size_t i = 0; i < count; i++)
        length += COLUMN + LENGTH + row[columns[i]].length;
    if (length > part->key_capacity) {
        part->key_capacity = 2 * length;
        part->key = rt_realloc(part->key, part->key_capacity, 1);
        part->last_key = rt_realloc(part->last_key, part->key_capacity, 1);
    }
    char *to = put_number(part->key, count, COLUMN);
    for (size_t i = 0; i < count; i++) {
        to = put_number(to, (size_t)columns[i], COLUMN);
        to = put_number(to, row[columns[i]].length, LENGTH);
        memcpy(to, row[columns[i]].text, row[columns[i]].length);
        to += row[columns[i]].length;
    }
    return length;
}

static int check_attributes(const struct rt_csv *csv, const struct rt_csv_field *row, const int *columns,
                            size_t count)
{
    if (count > ATTRIBUTES)
        return rt_fail(RT_EFORMAT,
                       "%s:%zu: has %zu columns that nothing is known of; at most %d are kept as attributes",
                       rt_csv_path(csv), rt_csv_line(csv), count, ATTRIBUTES);
    for (size_t i = 0; i < count; i++)
        if (row[columns[i]].length > ATTRIBUTE_BYTES ||
            strlen(rt_csv_header(csv, columns[i])) > ATTRIBUTE_BYTES)
            return rt_fail(
                RT_EFORMAT,
                "%s:%zu: column \"%.60s\" holds a text of more than %d bytes, too long for an attribute",
                rt_csv_path(csv), rt_csv_line(csv), rt_csv_header(csv, columns[i]), ATTRIBUTE_BYTES);
    return RT_OK;
}

static int32_t make_group(struct rt_import_part *part, const struct rt_csv *csv,
                          const struct rt_csv_field *row, const int *columns, size_t count, size_t fixed,
                          const char *const *names, const char *const *values)
{
    const char *all_names[ATTRIBUTES + 4], *all_values[ATTRIBUTES + 4];
    int status = check_attributes(csv, row, columns, count);
    if (status != RT_OK)
        return status;
    for (size_t i = 0; i < fixed; i++) {
        all_names[i] = names[i];
        all_values[i] = values[i];
    }
    for (size_t i = 0; i < count; i++) {
        all_names[fixed + i] = rt_csv_header(csv, columns[i]);
        all_values[fixed + i] = row[columns[i]].text;
    }
    return rt_dataset_add_group(&part->data, fixed + count, all_names, all_values);
}

int32_t rt_import_part_group(struct rt_import_part *part, const struct rt_csv *csv,
                             const struct rt_csv_field *row, const int *columns, size_t count, size_t fixed,
                             const char *const *names, const char *const *values)
{
    size_t length = join_values(part, row, columns, count), known = part->group_keys.count;
    if (length == part->last_key_length && memcmp(part->key, part->last_key, length) == 0)
        return part->last_group;
    int32_t key = rt_strings_find(&part->group_keys, part->key, length);
    if (key < 0 && known >= GROUPS)
        return rt_fail(RT_EFORMAT,
                       "%s:%zu: more than %d combinations of attributes (%s ...): a column numbers the rows; "
                       "take it out",
                       rt_csv_path(csv), rt_csv_line(csv), GROUPS,
                       count > 0 ? rt_csv_header(csv, columns[0]) : "");
    if (key < 0) {
        int32_t group = make_group(part, csv, row, columns, count, fixed, names, values);
        if (group < 0)
            return group;
        key = rt_strings_add(&part->group_keys, part->key, length);
        part->group_index = rt_realloc(part->group_index, known + 1, sizeof *part->group_index);
        part->group_index[key] = group;
    }
    char *swap = part->key;
    part->key = part->last_key;
    part->last_key = swap;
    part->last_key_length = length;
    return part->last_group = part->group_index[key];
}

/* A sum of products with odd constants: quick, and equal samples are compared in full anyway. */
static uint64_t hash_sample(const struct rt_import_part *part, const struct rt_sample *s)
{
    static const uint64_t factor[RT_MAX_DIMS] = {
        0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu, 0xff51afd7ed558ccdu,
        0xc4ceb9fe1a85ec53u, 0xd6e8feb86659fd93u, 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu,
        0x8ebc6af09c88c6e3u, 0x589965cc75374cc3u, 0x1d8e4e27c47d124fu};
    uint64_t latency, sum = s->kernel >= 0 ? part->kernel_hashes[s->kernel] : 0;
    memcpy(&latency, &s->latency_us, sizeof latency);
    for (int i = 0; i < RT_MAX_DIMS; i++)
        sum += (uint64_t)s->call.dim[i] * factor[i];
    for (int i = 0; i < 3; i++)
        sum += ((uint64_t)s->grid[i] << 32 | (uint32_t)s->block[i]) * (factor[i] ^ 0xabcdef0123456788u);
    sum = (sum ^ (uint64_t)s->device << 24 ^ s->call.op ^ s->call.dtype << 8 ^ s->split << 16) * factor[3];
    sum = (sum ^ sum >> 29 ^ latency) * factor[4];
    return sum ^ sum >> 32;
}

void rt_import_part_sample(struct rt_import_part *part, const struct rt_sample *sample)
{
    rt_merge_sample(part->tree->merge, part, sample, hash_sample(part, sample));
}

/* ---- reading side by side ---- */

struct reading {
    struct rt_tree *tree;
    atomic_size_t next, done;
    struct rt_progress *progress;
};

static void release_part(struct rt_import_part *part)
{
    rt_dataset_release(&part->data);
    rt_import_report_release(&part->report);
    rt_strings_release(&part->device_names);
    rt_strings_release(&part->group_keys);
    free(part->kernel_hashes);
    free(part->device_index);
    free(part->group_index);
    free(part->key);
    free(part->last_key);
}

static void work(void *shared, size_t member)
{
    struct reading *reading = shared;
    struct rt_tree *tree = reading->tree;
    size_t at;
    while ((at = atomic_fetch_add(&reading->next, 1)) < tree->paths.count) {
        tree->reader->read(&tree->parts[at]);
        rt_merge_end_part(tree->merge, &tree->parts[at]);
        size_t done = 1 + atomic_fetch_add(&reading->done, 1);
        if (member == 0)
            rt_progress_update(reading->progress, (double)done, "%zu of %zu files", done, tree->paths.count);
    }
}

static void read_files(struct rt_tree *tree, struct rt_dataset *out)
{
    struct rt_progress progress;
    struct reading reading = {.tree = tree, .progress = &progress};
    size_t threads = tree->options->threads > 0 ? (size_t)tree->options->threads : rt_threads_processors();
    struct rt_threads *pool = rt_threads_new(threads < tree->paths.count ? threads : tree->paths.count);
    tree->merge = rt_merge_new(tree, out);
    rt_progress_start(&progress, "import", (double)tree->paths.count, tree->options->quiet);
    if (tree->reader->prepare != NULL)
        tree->reader->prepare(tree);
    rt_threads_run(pool, work, &reading);
    rt_threads_free(pool);
    rt_progress_end(&progress);
    rt_merge_free(tree->merge);
}

static void init_part(struct rt_import_part *part, struct rt_tree *tree, const char *path)
{
    part->tree = tree;
    part->path = path;
    part->split = split_of_path(tree, path);
    part->device_text.index = part->kernel_text.index = part->last_group = -1;
    rt_dataset_init(&part->data);
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
    tree.parts = rt_calloc(tree.paths.count, sizeof *tree.parts);
    for (size_t p = 0; p < tree.paths.count; p++)
        init_part(&tree.parts[p], &tree, tree.paths.path[p]);
    read_files(&tree, out);
    free(out->source);
    free(out->licence);
    out->source = rt_strdup(reader->source);
    out->licence = rt_strdup(reader->licence);
    for (size_t p = 0; p < tree.paths.count; p++)
        release_part(&tree.parts[p]);
    free(tree.parts);
    rt_dataset_release(&tree.devices);
    rt_paths_release(&tree.paths);
    pthread_mutex_destroy(&tree.lock);
    return RT_OK;
}
