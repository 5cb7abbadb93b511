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

/* ---- putting the parts together, in path order, while later files are still being read ---- */

enum { UNSEEN = -2 };

struct slot {
    uint32_t sample, tag; /* 1 + index of a sample in the dataset; its hash */
};

/* Room for the samples of a file, handed on from part to part: fresh memory costs more than filling it. */
struct room {
    struct rt_sample *samples;
    uint64_t *hashes;
    size_t capacity;
};

struct merge {
    struct rt_tree *tree;
    struct rt_dataset *out;
    pthread_mutex_t lock;
    size_t next;        /* part that comes next */
    bool *ready;        /* per part: it has been read */
    struct room *rooms; /* that no part uses now */
    size_t room_count;
    int32_t *device; /* of the tree: index in the dataset */
    size_t device_count;
    struct rt_import_count *counts; /* (device of the tree, op) */
    int32_t *group, *kernel; /* of the part: index in the dataset, UNSEEN until a kept sample uses it */
    struct slot *slots;
    size_t slot_count;
};

static int32_t *unseen(size_t count)
{
    int32_t *map = rt_malloc(count * sizeof *map);
    for (size_t i = 0; i < count; i++)
        map[i] = UNSEEN;
    return map;
}

/* The tree may have found more devices since the last part. */
static void know_devices(struct merge *merge, size_t count)
{
    merge->device = rt_realloc(merge->device, count, sizeof *merge->device);
    merge->counts = rt_realloc(merge->counts, count * RT_OP_COUNT, sizeof *merge->counts);
    for (; merge->device_count < count; merge->device_count++) {
        merge->device[merge->device_count] = UNSEEN;
        memset(merge->counts + merge->device_count * RT_OP_COUNT, 0, RT_OP_COUNT * sizeof *merge->counts);
    }
}

static int32_t map_device(struct merge *merge, int32_t device)
{
    if (merge->device[device] == UNSEEN) {
        pthread_mutex_lock(&merge->tree->lock);
        merge->device[device] = rt_dataset_add_device(merge->out, &merge->tree->devices.devices[device]);
        pthread_mutex_unlock(&merge->tree->lock);
    }
    return merge->device[device];
}

static int32_t map_group(struct merge *merge, const struct rt_part *part, int32_t group)
{
    if (group < 0)
        return -1;
    const struct rt_group *from = &part->data.groups[group];
    if (merge->group[group] == UNSEEN)
        merge->group[group] = rt_dataset_add_group(merge->out, from->count, (const char *const *)from->name,
                                                   (const char *const *)from->value);
    return merge->group[group];
}

static int32_t map_kernel(struct merge *merge, const struct rt_part *part, int32_t kernel)
{
    if (kernel < 0)
        return -1;
    if (merge->kernel[kernel] == UNSEEN) {
        const char *name = rt_strings_get(&part->data.kernels, kernel);
        merge->kernel[kernel] = rt_strings_add(&merge->out->kernels, name, strlen(name));
    }
    return merge->kernel[kernel];
}

static bool same_sample(const struct merge *merge, const struct rt_sample *a, const struct rt_sample *b)
{
    return a->op == b->op && a->dtype == b->dtype && a->phase == b->phase && a->split == b->split &&
           a->device == b->device && memcmp(&a->latency_us, &b->latency_us, sizeof a->latency_us) == 0 &&
           memcmp(a->dim, b->dim, sizeof a->dim) == 0 && memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
           memcmp(a->block, b->block, sizeof a->block) == 0 && a->kernel == b->kernel &&
           (!merge->tree->reader->groups_differ || a->group == b->group);
}

/* Room for `more` samples at no more than half full. Slots are found by the tag, so that they can move. */
static void grow_slots(struct merge *merge, size_t more)
{
    size_t old_count = merge->slot_count, count = old_count ? old_count : 1024;
    struct slot *old = merge->slots;
    while (count < 2 * (merge->out->sample_count + more))
        count *= 2;
    if (count == old_count)
        return;
    merge->slots = rt_calloc(count, sizeof *merge->slots);
    merge->slot_count = count;
    for (size_t i = 0; i < old_count; i++) {
        size_t at = old[i].tag & (count - 1);
        while (old[i].sample != 0 && merge->slots[at].sample != 0)
            at = (at + 1) & (count - 1);
        if (old[i].sample != 0)
            merge->slots[at] = old[i];
    }
    free(old);
}

/* True where an equal sample came before; otherwise takes a slot for this one, which will be the next. */
static bool is_duplicate(struct merge *merge, const struct rt_sample *sample, uint32_t tag)
{
    const struct rt_dataset *out = merge->out;
    size_t mask = merge->slot_count - 1, at = tag & mask;
    for (; merge->slots[at].sample != 0; at = (at + 1) & mask)
        if (merge->slots[at].tag == tag &&
            same_sample(merge, &out->samples[merge->slots[at].sample - 1], sample))
            return true;
    merge->slots[at] = (struct slot){(uint32_t)out->sample_count + 1, tag};
    return false;
}

static void merge_samples(struct merge *merge, struct rt_part *part)
{
    enum { AHEAD = 12 };
    size_t count = part->data.sample_count;
    grow_slots(merge, count);
    for (size_t i = 0; i < count; i++) {
        struct rt_sample *sample = &part->data.samples[i];
        struct rt_import_count *counts = &merge->counts[(size_t)sample->device * RT_OP_COUNT + sample->op];
        if (i + AHEAD < count)
            __builtin_prefetch(&merge->slots[(uint32_t)part->hashes[i + AHEAD] & (merge->slot_count - 1)], 1);
        sample->device = map_device(merge, sample->device);
        sample->group = map_group(merge, part, sample->group);
        sample->kernel = map_kernel(merge, part, sample->kernel);
        counts->read++;
        if (is_duplicate(merge, sample, (uint32_t)part->hashes[i])) {
            counts->duplicates++;
            continue;
        }
        sample->kernels = map_kernel(merge, part, sample->kernels);
        counts->kept++;
        counts->unknown_tiles += (sample->flags & RT_FLAG_UNKNOWN_TILE) != 0;
        rt_dataset_add_sample(merge->out, sample);
    }
}

static void merge_workloads(struct merge *merge, const struct rt_part *part)
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
    part->hashes = NULL;
    part->kernel_hashes = NULL;
    part->device_index = part->group_index = NULL;
    part->key = part->last_key = NULL;
}

static void give_room(struct merge *merge, struct rt_part *part)
{
    if (part->data.sample_capacity == 0)
        return;
    merge->rooms = rt_realloc(merge->rooms, merge->room_count + 1, sizeof *merge->rooms);
    merge->rooms[merge->room_count++] =
        (struct room){part->data.samples, part->hashes, part->data.sample_capacity};
    part->data.samples = NULL;
    part->data.sample_count = part->data.sample_capacity = part->hash_capacity = 0;
    part->hashes = NULL;
}

/* Room that another part left, or for as many rows as a file of that size seems to hold. */
static void take_room(struct merge *merge, struct rt_part *part)
{
    enum { ROW_BYTES = 64, MOST = 1 << 18 };
    struct stat file;
    struct room room = {0};
    pthread_mutex_lock(&merge->lock);
    if (merge->room_count > 0)
        room = merge->rooms[--merge->room_count];
    pthread_mutex_unlock(&merge->lock);
    if (room.capacity == 0 && stat(part->path, &file) == 0) {
        room.capacity = file.st_size / ROW_BYTES < MOST ? (size_t)file.st_size / ROW_BYTES + 1 : MOST;
        room.samples = rt_malloc(room.capacity * sizeof *room.samples);
        room.hashes = rt_malloc(room.capacity * sizeof *room.hashes);
    }
    part->data.samples = room.samples;
    part->data.sample_capacity = part->hash_capacity = room.capacity;
    part->hashes = room.hashes;
}

static void merge_part(struct merge *merge, struct rt_part *part)
{
    pthread_mutex_lock(&merge->tree->lock);
    size_t devices = merge->tree->devices.device_count;
    pthread_mutex_unlock(&merge->tree->lock);
    know_devices(merge, devices);
    merge->group = unseen(part->data.group_count);
    merge->kernel = unseen(part->data.kernels.count);
    merge_samples(merge, part);
    merge_workloads(merge, part);
    merge_report(merge->tree->report, part);
    free(merge->group);
    free(merge->kernel);
    give_room(merge, part);
    release_part(part);
}

/* A part has been read: it and those that waited for it are put in place. */
static void merge_ready(struct merge *merge, size_t at)
{
    pthread_mutex_lock(&merge->lock);
    merge->ready[at] = true;
    for (; merge->next < merge->tree->paths.count && merge->ready[merge->next]; merge->next++)
        merge_part(merge, &merge->tree->parts[merge->next]);
    pthread_mutex_unlock(&merge->lock);
}

static void count_samples(const struct merge *merge, struct rt_import_report *report)
{
    for (size_t d = 0; d < merge->device_count; d++)
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

static void end_merge(struct merge *merge)
{
    for (size_t i = 0; i < merge->room_count; i++) {
        free(merge->rooms[i].samples);
        free(merge->rooms[i].hashes);
    }
    free(merge->rooms);
    free(merge->ready);
    free(merge->device);
    free(merge->counts);
    free(merge->slots);
    pthread_mutex_destroy(&merge->lock);
}

/* ---- reading side by side ---- */

struct crew {
    struct rt_tree *tree;
    struct merge *merge;
    atomic_size_t next, done;
    struct rt_progress *progress;
    pthread_t main;
};

static void *work(void *shared)
{
    struct crew *crew = shared;
    struct rt_tree *tree = crew->tree;
    size_t at;
    while ((at = atomic_fetch_add(&crew->next, 1)) < tree->paths.count) {
        take_room(crew->merge, &tree->parts[at]);
        tree->reader->read(&tree->parts[at]);
        merge_ready(crew->merge, at);
        size_t done = 1 + atomic_fetch_add(&crew->done, 1);
        if (pthread_equal(pthread_self(), crew->main))
            rt_progress_update(crew->progress, (double)done, "%zu of %zu files", done, tree->paths.count);
    }
    return NULL;
}

static void run_crew(struct crew *crew)
{
    enum { MOST = 256 };
    pthread_t thread[MOST];
    int started = 0, threads = crew->tree->options->threads;
    long cores = threads > 0 ? threads : sysconf(_SC_NPROCESSORS_ONLN);
    for (long t = 1; t < cores && t < MOST && (size_t)t < crew->tree->paths.count; t++)
        if (pthread_create(&thread[started], NULL, work, crew) == 0) /* else the rest does it */
            started++;
    work(crew);
    for (int t = 0; t < started; t++)
        pthread_join(thread[t], NULL);
}

static void read_files(struct rt_tree *tree, struct rt_dataset *out)
{
    struct rt_progress progress;
    struct merge merge = {.tree = tree, .out = out, .ready = rt_calloc(tree->paths.count, sizeof(bool))};
    struct crew crew = {.tree = tree, .merge = &merge, .progress = &progress, .main = pthread_self()};
    pthread_mutex_init(&merge.lock, NULL);
    rt_progress_start(&progress, "import", (double)tree->paths.count, tree->options->quiet);
    if (tree->reader->prepare != NULL)
        tree->reader->prepare(tree);
    run_crew(&crew);
    rt_progress_end(&progress);
    count_samples(&merge, tree->report);
    count_workloads(out, tree->report);
    end_merge(&merge);
}

static void init_part(struct rt_part *part, struct rt_tree *tree, const char *path)
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
    free(tree.parts);
    rt_dataset_release(&tree.devices);
    rt_paths_release(&tree.paths);
    pthread_mutex_destroy(&tree.lock);
    return RT_OK;
}
