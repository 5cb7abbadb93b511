/* Files side by side, one dataset in path order. See import_tree.h. */
#include "datasets/import_tree.h"
#include "datasets/progress.h"
#include "datasets/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    UNKNOWN_DEVICES = 64, /* more in one file: it is not what it seems */
    GROUPS = 4096,        /* more in one file: an attribute numbers the rows */
    ATTRIBUTES = 60,
    ATTRIBUTE_BYTES = 1000,
};

void rt_part_is(struct rt_part *part, const char *kind)
{
    rt_import_other(&part->report, kind, 1);
}

void rt_part_skip(struct rt_part *part)
{
    rt_import_note(&part->report.skipped, rt_error());
}

void rt_part_refuse(struct rt_part *part, const char *op, int32_t device)
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

int rt_part_integer(const struct rt_csv_field *field, int64_t *value)
{
    double real;
    if (rt_parse_integer(field->text, field->length, value) == 0)
        return 0;
    if (rt_parse_real(field->text, field->length, &real) != 0 || real != floor(real) || fabs(real) > 0x1p53)
        return -1;
    *value = (int64_t)real;
    return 0;
}

int rt_part_latency(const struct rt_csv *csv, const struct rt_csv_field *field, const char *column,
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

/* The deepest folder called train or test decides; the root's own name counts, and all of the path where the
 * root is the file itself. */
static enum rt_split split_of_path(const struct rt_tree *tree, const char *path)
{
    enum rt_split split = RT_SPLIT_NONE;
    size_t length = root_length(tree);
    bool is_file = path[length] == '\0';
    while (length > 0 && (is_file || path[length - 1] != '/'))
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

static int32_t name_device(struct rt_part *part, const struct rt_csv_field *name)
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

static bool same_text(const struct rt_strings *strings, const struct rt_part_text *last, const char *text,
                      size_t length)
{
    return last->index >= 0 && last->length == length &&
           memcmp(rt_strings_get(strings, last->index), text, length) == 0;
}

int32_t rt_part_device(struct rt_part *part, const struct rt_csv *csv, const struct rt_csv_field *name)
{
    struct rt_part_text *last = &part->device_text;
    if (!same_text(&part->device_names, last, name->text, name->length))
        *last = (struct rt_part_text){name_device(part, name), name->length};
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

int32_t rt_part_kernel(struct rt_part *part, struct rt_part_text *last, const char *text, size_t length)
{
    struct rt_strings *kernels = &part->data.kernels;
    if (length == 0)
        return -1;
    if (same_text(kernels, last, text, length))
        return last->index;
    *last = (struct rt_part_text){rt_strings_add(kernels, text, length), length};
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
static size_t join_values(struct rt_part *part, const struct rt_csv_field *row, const int *columns,
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

static int32_t make_group(struct rt_part *part, const struct rt_csv *csv, const struct rt_csv_field *row,
                          const int *columns, size_t count, size_t fixed, const char *const *names,
                          const char *const *values)
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

int32_t rt_part_group(struct rt_part *part, const struct rt_csv *csv, const struct rt_csv_field *row,
                      const int *columns, size_t count, size_t fixed, const char *const *names,
                      const char *const *values)
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
static uint64_t hash_sample(const struct rt_part *part, const struct rt_sample *s)
{
    static const uint64_t factor[RT_MAX_DIMS] = {
        0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu, 0xff51afd7ed558ccdu,
        0xc4ceb9fe1a85ec53u, 0xd6e8feb86659fd93u, 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu,
        0x8ebc6af09c88c6e3u, 0x589965cc75374cc3u, 0x1d8e4e27c47d124fu};
    uint64_t latency, sum = s->kernel >= 0 ? part->kernel_hashes[s->kernel] : 0;
    memcpy(&latency, &s->latency_us, sizeof latency);
    for (int i = 0; i < RT_MAX_DIMS; i++)
        sum += (uint64_t)s->dim[i] * factor[i];
    for (int i = 0; i < 3; i++)
        sum += ((uint64_t)s->grid[i] << 32 | (uint32_t)s->block[i]) * (factor[i] ^ 0xabcdef0123456788u);
    sum = (sum ^ (uint64_t)s->device << 24 ^ s->op ^ s->dtype << 8 ^ s->split << 16) * factor[3];
    sum = (sum ^ sum >> 29 ^ latency) * factor[4];
    return sum ^ sum >> 32;
}

void rt_part_sample(struct rt_part *part, const struct rt_sample *sample)
{
    rt_dataset_add_sample(&part->data, sample);
    if (part->data.sample_capacity > part->hash_capacity) {
        part->hash_capacity = part->data.sample_capacity;
        part->hashes = rt_realloc(part->hashes, part->hash_capacity, sizeof *part->hashes);
    }
    part->hashes[part->data.sample_count - 1] = hash_sample(part, sample);
}

/* ---- reading side by side ---- */

struct crew {
    struct rt_tree *tree;
    size_t *order; /* largest file first, so that no thread is left alone with it at the end */
    atomic_size_t next;
    atomic_size_t done;
    void (*work)(struct rt_part *part, void *context);
    void *context;
    struct rt_progress *progress;
    pthread_t main;
};

static void *work(void *shared)
{
    struct crew *crew = shared;
    size_t at, count = crew->tree->paths.count;
    while ((at = atomic_fetch_add(&crew->next, 1)) < count) {
        crew->work(&crew->tree->parts[crew->order[at]], crew->context);
        size_t done = 1 + atomic_fetch_add(&crew->done, 1);
        if (pthread_equal(pthread_self(), crew->main))
            rt_progress_update(crew->progress, (double)done, "%zu of %zu files", done, count);
    }
    return NULL;
}

static void run_crew(struct crew *crew, int threads)
{
    enum { MOST = 256 };
    pthread_t thread[MOST];
    int started = 0;
    long cores = threads > 0 ? threads : sysconf(_SC_NPROCESSORS_ONLN);
    size_t files = crew->tree->paths.count;
    crew->main = pthread_self();
    for (long t = 1; t < cores && t < MOST && (size_t)t < files; t++)
        if (pthread_create(&thread[started], NULL, work, crew) == 0) /* else the rest does it */
            started++;
    work(crew);
    for (int t = 0; t < started; t++)
        pthread_join(thread[t], NULL);
}

struct sized {
    size_t index;
    off_t size;
};

static int by_size(const void *one, const void *other)
{
    const struct sized *a = one, *b = other;
    if (a->size != b->size)
        return a->size < b->size ? 1 : -1;
    return (a->index > b->index) - (a->index < b->index);
}

static size_t *order_by_size(const struct rt_paths *paths)
{
    struct sized *files = rt_calloc(paths->count, sizeof *files);
    size_t *order = rt_calloc(paths->count, sizeof *order);
    for (size_t i = 0; i < paths->count; i++) {
        struct stat file;
        files[i] = (struct sized){i, stat(paths->path[i], &file) == 0 ? file.st_size : 0};
    }
    if (paths->count > 0)
        qsort(files, paths->count, sizeof *files, by_size);
    for (size_t i = 0; i < paths->count; i++)
        order[i] = files[i].index;
    free(files);
    return order;
}

/* ---- putting the parts together ---- */

enum { UNSEEN = -2 };
#define DROPPED (1u << 31) /* of rt_sample.flags, within the merge only */

struct maps {
    int32_t *group, *kernel; /* of a part: index in the dataset, UNSEEN until a kept sample uses it */
    size_t base, kept;       /* first sample of the part in the dataset */
};

struct slot {
    uint32_t row, tag; /* 1 + number of the sample over all parts; upper half of its hash */
};

struct merge {
    struct rt_tree *tree;
    struct rt_dataset *out;
    struct maps *maps; /* per part */
    size_t *first;     /* per part: number of its first sample over all parts */
    int32_t *device;   /* of the tree: index in the dataset */
    struct slot *slots;
    size_t mask, samples;
    struct rt_import_count *counts; /* (device of the tree, op) */
};

static int32_t *unseen(size_t count)
{
    int32_t *map = rt_malloc(count * sizeof *map);
    for (size_t i = 0; i < count; i++)
        map[i] = UNSEEN;
    return map;
}

static int32_t map_device(struct merge *merge, int32_t device)
{
    if (merge->device[device] == UNSEEN)
        merge->device[device] = rt_dataset_add_device(merge->out, &merge->tree->devices.devices[device]);
    return merge->device[device];
}

static int32_t map_group(struct merge *merge, size_t part, int32_t group)
{
    if (group < 0)
        return -1;
    int32_t *to = &merge->maps[part].group[group];
    const struct rt_group *from = &merge->tree->parts[part].data.groups[group];
    if (*to == UNSEEN)
        *to = rt_dataset_add_group(merge->out, from->count, (const char *const *)from->name,
                                   (const char *const *)from->value);
    return *to;
}

static int32_t map_kernel(struct merge *merge, size_t part, int32_t kernel)
{
    if (kernel < 0)
        return -1;
    int32_t *to = &merge->maps[part].kernel[kernel];
    if (*to == UNSEEN) {
        const char *name = rt_strings_get(&merge->tree->parts[part].data.kernels, kernel);
        *to = rt_strings_add(&merge->out->kernels, name, strlen(name));
    }
    return *to;
}

/* The part that holds the sample of that number. */
static size_t part_of(const struct merge *merge, size_t row)
{
    size_t low = 0, high = merge->tree->paths.count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (merge->first[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool same_sample(struct merge *merge, size_t row, size_t part, const struct rt_sample *b)
{
    size_t there = part_of(merge, row);
    const struct rt_sample *a = &merge->tree->parts[there].data.samples[row - merge->first[there]];
    return a->op == b->op && a->dtype == b->dtype && a->phase == b->phase && a->split == b->split &&
           a->device == b->device && memcmp(&a->latency_us, &b->latency_us, sizeof a->latency_us) == 0 &&
           memcmp(a->dim, b->dim, sizeof a->dim) == 0 && memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
           memcmp(a->block, b->block, sizeof a->block) == 0 &&
           map_kernel(merge, there, a->kernel) == map_kernel(merge, part, b->kernel) &&
           (!merge->tree->reader->groups_differ ||
            map_group(merge, there, a->group) == map_group(merge, part, b->group));
}

/* True where an equal sample came before; otherwise takes a slot for this one. */
static bool is_duplicate(struct merge *merge, size_t row, size_t part, const struct rt_sample *sample,
                         uint64_t hash)
{
    size_t at = hash & merge->mask;
    uint32_t tag = (uint32_t)(hash >> 32);
    for (; merge->slots[at].row != 0; at = (at + 1) & merge->mask)
        if (merge->slots[at].tag == tag && same_sample(merge, merge->slots[at].row - 1, part, sample))
            return true;
    merge->slots[at] = (struct slot){(uint32_t)row + 1, tag};
    return false;
}

/* Decides what is kept and numbers devices, groups and kernels by first use. */
static void decide(struct merge *merge, size_t p)
{
    enum { AHEAD = 12 };
    struct rt_part *part = &merge->tree->parts[p];
    struct maps *maps = &merge->maps[p];
    maps->group = unseen(part->data.group_count);
    maps->kernel = unseen(part->data.kernels.count);
    maps->base = merge->out->sample_count;
    for (size_t i = 0; i < part->data.sample_count; i++) {
        struct rt_sample *sample = &part->data.samples[i];
        if (i + AHEAD < part->data.sample_count)
            __builtin_prefetch(&merge->slots[part->hashes[i + AHEAD] & merge->mask], 1);
        struct rt_import_count *count = &merge->counts[(size_t)sample->device * RT_OP_COUNT + sample->op];
        count->read++;
        if (is_duplicate(merge, merge->first[p] + i, p, sample, part->hashes[i])) {
            sample->flags |= DROPPED;
            count->duplicates++;
            continue;
        }
        count->kept++;
        count->unknown_tiles += (sample->flags & RT_FLAG_UNKNOWN_TILE) != 0;
        maps->kept++;
        map_device(merge, sample->device);
        map_group(merge, p, sample->group);
        map_kernel(merge, p, sample->kernel);
        map_kernel(merge, p, sample->kernels);
    }
    merge->out->sample_count += maps->kept;
}

/* Moves what is kept of a part to its place in the dataset; parts don't overlap, so threads share the work.
 */
static void place(struct rt_part *part, void *context)
{
    const struct merge *merge = context;
    const struct maps *maps = &merge->maps[part - merge->tree->parts];
    struct rt_sample *to = merge->out->samples + maps->base;
    for (size_t i = 0; i < part->data.sample_count; i++) {
        const struct rt_sample *from = &part->data.samples[i];
        if (from->flags & DROPPED)
            continue;
        *to = *from;
        to->device = merge->device[from->device];
        to->group = from->group < 0 ? -1 : maps->group[from->group];
        to->kernel = from->kernel < 0 ? -1 : maps->kernel[from->kernel];
        to->kernels = from->kernels < 0 ? -1 : maps->kernel[from->kernels];
        to++;
    }
    free(part->data.samples);
    part->data.samples = NULL;
    part->data.sample_count = 0;
}

static void merge_workloads(struct merge *merge, size_t p)
{
    const struct rt_part *part = &merge->tree->parts[p];
    struct rt_dataset *out = merge->out;
    for (size_t i = 0; i < part->data.workload_count; i++) {
        struct rt_workload workload = part->data.workloads[i];
        const char *model = rt_strings_get(&part->data.texts, workload.model);
        const char *option = rt_strings_get(&part->data.texts, workload.option);
        workload.device = map_device(merge, workload.device);
        workload.group = map_group(merge, p, workload.group);
        workload.model = rt_strings_add(&out->texts, model, strlen(model));
        workload.option = rt_strings_add(&out->texts, option, strlen(option));
        rt_dataset_add_workload(out, &workload);
    }
}

/* A model measured once is one workload, however many copies of its file there are. */
static void count_workloads(struct rt_dataset *out, struct rt_import_report *report)
{
    size_t slots = 64, kept = 0;
    while (slots < 2 * out->workload_count)
        slots *= 2;
    uint32_t *slot = rt_calloc(slots, sizeof *slot);
    for (size_t i = 0; i < out->workload_count; i++) {
        const struct rt_workload *workload = &out->workloads[i];
        struct rt_import_count *count =
            rt_import_counter(report, "workload", out->devices[workload->device].name);
        size_t at = rt_hash(RT_HASH_START, workload, sizeof *workload) & (slots - 1);
        while (slot[at] != 0 && memcmp(&out->workloads[slot[at] - 1], workload, sizeof *workload) != 0)
            at = (at + 1) & (slots - 1);
        count->read++;
        if (slot[at] != 0) {
            count->duplicates++;
            continue;
        }
        count->kept++;
        out->workloads[kept++] = *workload;
        slot[at] = (uint32_t)kept;
    }
    out->workload_count = kept;
    free(slot);
}

static void add_sentences(struct rt_import_sentences *to, const struct rt_import_sentences *from)
{
    size_t kept = from->count < RT_IMPORT_SENTENCES ? from->count : RT_IMPORT_SENTENCES;
    for (size_t i = 0; i < kept; i++)
        rt_import_note(to, from->text[i]);
    to->count += from->count - kept;
}

static void merge_report(struct rt_import_report *to, const struct rt_part *part)
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

static void count_samples(const struct merge *merge, struct rt_import_report *report)
{
    for (size_t d = 0; d < merge->tree->devices.device_count; d++)
        for (int op = 0; op < RT_OP_COUNT; op++) {
            const struct rt_import_count *from = &merge->counts[d * RT_OP_COUNT + op];
            if (from->read == 0)
                continue;
            struct rt_import_count *to =
                rt_import_counter(report, rt_ops[op].name, merge->tree->devices.devices[d].name);
            to->read += from->read;
            to->kept += from->kept;
            to->duplicates += from->duplicates;
            to->unknown_tiles += from->unknown_tiles;
        }
}

static int start_merge(struct merge *merge)
{
    struct rt_tree *tree = merge->tree;
    size_t parts = tree->paths.count, slots = 64;
    merge->maps = rt_calloc(parts, sizeof *merge->maps);
    merge->first = rt_calloc(parts + 1, sizeof *merge->first);
    merge->device = unseen(tree->devices.device_count);
    merge->counts = rt_calloc(tree->devices.device_count * RT_OP_COUNT, sizeof *merge->counts);
    for (size_t p = 0; p < parts; p++)
        merge->first[p + 1] = merge->first[p] + tree->parts[p].data.sample_count;
    merge->samples = merge->first[parts];
    if (merge->samples >= UINT32_MAX)
        return rt_fail(RT_EFORMAT, "%s: holds %zu rows; import fewer than 2^32 at a time", tree->root,
                       merge->samples);
    while (slots < 2 * merge->samples)
        slots *= 2;
    merge->slots = rt_calloc(slots, sizeof *merge->slots);
    merge->mask = slots - 1;
    return RT_OK;
}

static void end_merge(struct merge *merge)
{
    for (size_t p = 0; p < merge->tree->paths.count; p++) {
        free(merge->maps[p].group);
        free(merge->maps[p].kernel);
    }
    free(merge->maps);
    free(merge->first);
    free(merge->device);
    free(merge->counts);
    free(merge->slots);
}

static int merge_parts(struct rt_tree *tree, struct crew *crew, struct rt_dataset *out)
{
    struct merge merge = {.tree = tree, .out = out};
    int status = start_merge(&merge);
    if (status == RT_OK) {
        for (size_t p = 0; p < tree->paths.count; p++) {
            decide(&merge, p);
            merge_workloads(&merge, p);
            merge_report(tree->report, &tree->parts[p]);
        }
        out->samples = rt_malloc(out->sample_count * sizeof *out->samples);
        out->sample_capacity = out->sample_count;
        crew->work = place;
        crew->context = &merge;
        atomic_store(&crew->next, 0);
        atomic_store(&crew->done, 0);
        run_crew(crew, tree->options->threads);
        count_samples(&merge, tree->report);
        count_workloads(out, tree->report);
    }
    end_merge(&merge);
    return status;
}

static void release_part(struct rt_part *part)
{
    rt_dataset_release(&part->data);
    rt_import_report_release(&part->report);
    rt_strings_release(&part->device_names);
    rt_strings_release(&part->group_keys);
    free(part->hashes);
    free(part->kernel_hashes);
    free(part->device_index);
    free(part->group_index);
    free(part->key);
    free(part->last_key);
}

static void init_part(struct rt_part *part, struct rt_tree *tree, const char *path)
{
    part->tree = tree;
    part->path = path;
    part->split = split_of_path(tree, path);
    part->device_text.index = part->kernel_text.index = part->last_group = -1;
    rt_dataset_init(&part->data);
}

static void run_reader(struct rt_part *part, void *context)
{
    (void)context;
    part->tree->reader->read(part);
}

int rt_tree_import(const char *root, const struct rt_tree_reader *reader,
                   const struct rt_import_options *options, struct rt_dataset *out,
                   struct rt_import_report *report)
{
    struct rt_tree tree = {.root = root, .options = options, .reader = reader, .report = report};
    int status = rt_file_walk(root, &tree.paths);
    if (status != RT_OK)
        return status;
    struct rt_progress progress;
    struct crew crew = {
        .tree = &tree, .order = order_by_size(&tree.paths), .work = run_reader, .progress = &progress};
    pthread_mutex_init(&tree.lock, NULL);
    rt_dataset_init(&tree.devices);
    tree.parts = rt_calloc(tree.paths.count, sizeof *tree.parts);
    for (size_t p = 0; p < tree.paths.count; p++)
        init_part(&tree.parts[p], &tree, tree.paths.path[p]);
    rt_progress_start(&progress, "import", (double)tree.paths.count, options->quiet);
    if (reader->prepare != NULL)
        reader->prepare(&tree);
    run_crew(&crew, options->threads);
    rt_progress_end(&progress);
    status = merge_parts(&tree, &crew, out);
    if (status == RT_OK) {
        free(out->source);
        free(out->licence);
        out->source = rt_strdup(reader->source);
        out->licence = rt_strdup(reader->licence);
    }
    for (size_t p = 0; p < tree.paths.count; p++)
        release_part(&tree.parts[p]);
    free(tree.parts);
    free(crew.order);
    rt_dataset_release(&tree.devices);
    rt_paths_release(&tree.paths);
    pthread_mutex_destroy(&tree.lock);
    return status;
}
