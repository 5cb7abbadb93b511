/* Where descriptions of devices come from: JSON files, the built-in catalogue, overrides. See device.h. */
#include "datasets/device.h"
#include "base/array.h"
#include "base/file.h"
#include "base/options.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"
#include "datasets/mig.h"
#include "datasets/share.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern const char *const rt_device_catalogue_json[]; /* NULL-terminated; scripts/embed_texts.cmake */
static const char built_in[] = "built-in catalogue";

/* ---- JSON ---- */

/* Keys a device file may carry beside its numbers and texts. */
static bool is_other_key(const char *key)
{
    static const char *const keys[] = {"aliases", "mig", "sources", "checked", "notes"};
    for (size_t k = 0; k < RT_COUNT(keys); k++)
        if (strcmp(key, keys[k]) == 0)
            return true;
    return false;
}

static int set_from_json(struct rt_device *device, const char *key, json_t *value, const char *where)
{
    const struct rt_device_field *field = rt_device_field_named(key, strlen(key));
    if (field != NULL && field->quirk && json_is_boolean(value)) {
        *rt_device_value(device, field - rt_device_fields) = json_is_true(value);
        return RT_OK;
    }
    if (field != NULL) {
        if (!json_is_number(value) && !json_is_null(value))
            return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a number, or null where it is unknown", where,
                           key);
        *rt_device_value(device, field - rt_device_fields) =
            json_is_null(value) ? NAN : json_number_value(value);
        return RT_OK;
    }
    for (size_t t = 0; t < rt_device_text_count; t++) {
        if (strcmp(rt_device_texts[t].key, key) != 0)
            continue;
        const char *text = json_string_value(value);
        if (text == NULL || strlen(text) >= rt_device_texts[t].size)
            return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a text of fewer than %zu bytes", where, key,
                           rt_device_texts[t].size);
        strcpy(rt_device_text(device, t), text);
        return RT_OK;
    }
    if (is_other_key(key))
        return RT_OK;
    return rt_fail(RT_EFORMAT,
                   "%s: \"%s\" is no field of a device; `rooftile devices H100` shows all of them", where,
                   key);
}

/* NULL, with a sentence that names `where`, for text that is no JSON object. */
static json_t *parse(const char *json, const char *where)
{
    json_error_t error;
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        rt_fail(RT_EFORMAT, "%s:%d:%d: not JSON: %s", where, error.line, error.column, error.text);
    } else if (!json_is_object(root)) {
        rt_fail(RT_EFORMAT, "%s: a device file holds one JSON object", where);
        json_decref(root);
        root = NULL;
    }
    return root;
}

/* `mig` gets the profiles of its slices. */
static int device_from_object(json_t *root, const char *where, struct rt_device *out, struct rt_mig *mig)
{
    struct rt_device device;
    const char *key;
    json_t *value;
    int status = RT_OK;
    rt_device_init(&device, "");
    json_object_foreach(root, key, value)
    {
        if (status == RT_OK)
            status = set_from_json(&device, key, value, where);
    }
    if (status == RT_OK)
        status = rt_device_check(&device, where);
    if (status == RT_OK)
        status = rt_mig_read(json_object_get(root, "mig"), where, mig);
    if (status == RT_OK)
        *out = device;
    return status;
}

static int device_from_json(const char *json, const char *where, struct rt_device *out, struct rt_mig *mig)
{
    json_t *root = parse(json, where), *list = json_object_get(root, "devices");
    if (json_is_object(json_array_get(list, 0)) &&
        json_array_size(list) == 1) { /* as `rooftile devices` prints one */
        json_t *one = json_incref(json_array_get(list, 0));
        json_decref(root);
        root = one;
    }
    int status = root == NULL ? RT_EFORMAT : device_from_object(root, where, out, mig);
    json_decref(root);
    return status;
}

static int load_board(const char *path, struct rt_device *out, struct rt_mig *mig)
{
    char *text;
    size_t size;
    int status = rt_file_read(path, 1 << 20, &text, &size);
    if (status != RT_OK)
        return status;
    status = device_from_json(text, path, out, mig);
    free(text);
    return status;
}

int rt_device_load(const char *path, struct rt_device *out)
{
    struct rt_mig mig;
    return load_board(path, out, &mig);
}

size_t rt_device_catalogue_size(void)
{
    size_t n = 0;
    while (rt_device_catalogue_json[n] != NULL)
        n++;
    return n;
}

int rt_device_catalogue(size_t i, struct rt_device *out)
{
    struct rt_mig mig;
    return device_from_json(rt_device_catalogue_json[i], built_in, out, &mig);
}

/* ---- names ---- */

/* Lower case, without the separators that drivers and file names use differently. */
static void normalise(const char *name, size_t length, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < length && name[i] != '\0' && n + 1 < size; i++)
        if (name[i] != ' ' && name[i] != '-' && name[i] != '_')
            out[n++] = (char)tolower((unsigned char)name[i]);
    out[n] = '\0';
}

/* What the boards of the catalogue are called, each its name first, then its aliases. Parsing all of the
 * catalogue takes longer than a forecast: a file has a key a line, and names have no escapes. */
struct board_name {
    size_t board;
    bool alias;
    char *text, *plain; /* as it is written; normalised */
};
static struct board_name *board_names;
static size_t name_count, name_capacity;
static pthread_once_t names_once = PTHREAD_ONCE_INIT;

/* The texts in quotes behind `key`, up to a letter of `end`. */
static void list_names_of(size_t board, const char *key, const char *end)
{
    const char *found = strstr(rt_device_catalogue_json[board], key);
    const char *at = found != NULL ? found + strlen(key) : "", *stop = at + strcspn(at, end);
    while ((at = strchr(at, '"')) != NULL && at < stop) {
        size_t length = strcspn(++at, "\"");
        RT_GROW(board_names, name_count, 1, name_capacity);
        struct board_name *name = &board_names[name_count++];
        *name = (struct board_name){board, end[0] == ']', rt_strndup(at, length), rt_malloc(length + 1)};
        normalise(at, length, name->plain, length + 1);
        at += length + 1;
    }
}

static void list_names(void)
{
    for (size_t i = 0; rt_device_catalogue_json[i] != NULL; i++) {
        list_names_of(i, "\"name\"", "\n");
        list_names_of(i, "\"aliases\"", "]");
    }
}

/* For the hints, of each board the nearest of its names that are near. */
static void add_hints(const char *wanted, struct rt_hints *hints)
{
    for (size_t n = 0; n < name_count;) {
        const char *label = NULL;
        size_t nearest = (size_t)-1;
        for (size_t board = board_names[n].board; n < name_count && board_names[n].board == board; n++) {
            if (!rt_name_near(board_names[n].plain, wanted))
                continue;
            size_t distance = rt_name_distance(board_names[n].plain, wanted);
            if (distance < nearest) {
                nearest = distance;
                label = board_names[n].text;
            }
        }
        if (label != NULL)
            rt_hints_add(hints, label, nearest);
    }
}

bool rt_device_listed(const char *name, struct rt_device *out)
{
    struct rt_mig mig;
    pthread_once(&names_once, list_names);
    for (size_t n = 0; n < name_count; n++)
        if (!board_names[n].alias && strcmp(board_names[n].text, name) == 0)
            return device_from_json(rt_device_catalogue_json[board_names[n].board], built_in, out, &mig) ==
                   RT_OK;
    return false;
}

void rt_device_recall(struct rt_device *device)
{
    struct rt_device listed;
    if (!rt_device_listed(rt_device_board(device), &listed))
        return;
    for (size_t f = 0; f < rt_device_field_count; f++)
        if (rt_device_fields[f].quirk && isnan(*rt_device_value(device, f)))
            *rt_device_value(device, f) = *rt_device_value(&listed, f);
    for (size_t t = 0; t < rt_device_text_count; t++)
        if (rt_device_texts[t].quirk && rt_device_text(device, t)[0] == '\0')
            strcpy(rt_device_text(device, t), rt_device_text(&listed, t));
}

void rt_device_forget(struct rt_device *device)
{
    struct rt_device listed;
    if (!rt_device_listed(rt_device_board(device), &listed))
        return;
    for (size_t f = 0; f < rt_device_field_count; f++)
        if (rt_device_fields[f].quirk && *rt_device_value(device, f) == *rt_device_value(&listed, f))
            *rt_device_value(device, f) = NAN;
    for (size_t t = 0; t < rt_device_text_count; t++)
        if (rt_device_texts[t].quirk && strcmp(rt_device_text(device, t), rt_device_text(&listed, t)) == 0)
            rt_device_text(device, t)[0] = '\0';
}

static int find_in_catalogue(const char *name, size_t length, struct rt_device *out, struct rt_mig *mig)
{
    char wanted[128];
    struct rt_hints hints = {0};
    normalise(name, length, wanted, sizeof wanted);
    pthread_once(&names_once, list_names);
    for (size_t n = 0; n < name_count; n++)
        if (strcmp(board_names[n].plain, wanted) == 0)
            return device_from_json(rt_device_catalogue_json[board_names[n].board], built_in, out, mig);
    add_hints(wanted, &hints);
    char *near = rt_hints_words(&hints);
    int status =
        rt_fail(RT_ENOTFOUND, "unknown GPU \"%.*s\"%s; `rooftile devices` lists all, or give a JSON file",
                (int)(length < 80 ? length : 80), name, near);
    free(near);
    return status;
}

/* Where a text of that length names a slice: the length of its board, and its profile. */
static size_t board_length(const char *name, size_t length, const char **profile)
{
    static const char mark[] = " MIG ";
    *profile = NULL;
    for (size_t i = 0; i < length && *profile == NULL; i++)
        if (name[i] == ':')
            *profile = name + (length = i) + 1;
        else if (i + sizeof mark <= length && strncasecmp(name + i, mark, sizeof mark - 1) == 0)
            *profile = name + (length = i) + sizeof mark - 1;
    return length;
}

/* Makes the slice of that profile (`length` letters) of the board in *out. */
static int take_slice(const struct rt_mig *mig, const char *profile, size_t length, struct rt_device *out)
{
    char *name = rt_strndup(profile, length), *names = rt_mig_profile_names(mig);
    const struct rt_mig_profile *row = rt_mig_profile_named(mig, name);
    int status = RT_OK;
    if (row != NULL)
        rt_mig_slice(out, mig, row, out);
    else if (mig->count == 0)
        status =
            rt_fail(RT_ENOTFOUND, "%s has no MIG slices, so no \"%.40s\"; name it without", out->name, name);
    else
        status = rt_fail(RT_ENOTFOUND, "%s has no MIG profile \"%.40s\"; it has %s", out->name, name, names);
    free(names);
    free(name);
    return status;
}

/* A board or a slice of it. */
static int find_named(const char *name, size_t name_length, struct rt_device *out)
{
    const char *profile;
    size_t length = board_length(name, name_length, &profile);
    struct rt_device device;
    struct rt_mig mig;
    int status = find_in_catalogue(name, length, &device, &mig);
    if (status == RT_OK && profile != NULL)
        status = take_slice(&mig, profile, name_length - (size_t)(profile - name), &device);
    if (status == RT_OK)
        *out = device;
    return status;
}

/* *device, found by `name`, becomes a share of it: "NAME (20 of 80 SMs)". */
static int take_share(const char *name, double sms, double of, struct rt_device *device)
{
    if (device->sms != of)
        return rt_fail(RT_EUSAGE, "\"%.100s\": %s has %g SMs", name, device->name, device->sms);
    return rt_device_share(device, sms, false, device);
}

int rt_device_named(const char *name, struct rt_device *out)
{
    struct rt_device device;
    double sms, of;
    size_t length = rt_share_parse(name, &sms, &of);
    int status = find_named(name, length > 0 ? length : strlen(name), &device);
    if (status == RT_OK && length > 0)
        status = take_share(name, sms, of, &device);
    if (status == RT_OK)
        *out = device;
    return status;
}

static int refuse_override(const char *text, size_t key, const char *spec)
{
    struct rt_device other;
    if (find_named(text, key, &other) == RT_OK)
        return rt_fail(RT_EUSAGE, "\"%s\": names several GPUs where one is meant; run it once for each",
                       spec);
    char *fields = rt_device_field_keys();
    int status = rt_fail(RT_EUSAGE,
                         "\"%s\": \"%.*s\" is no override; write field=value, such as sms=100 or "
                         "bandwidth_gbs=3000; fields are %s",
                         spec, (int)key, text, fields);
    free(fields);
    return status;
}

/* Multiprocessors of the same design at the same clock, or the same ones at another. */
static void scale_peaks(struct rt_device *device, double factor)
{
    for (size_t f = 0; f < rt_device_field_count; f++)
        if (rt_device_fields[f].peak && isfinite(factor))
            *rt_device_value(device, f) *= factor;
}

static bool moves_peaks(const struct rt_device_field *field)
{
    return field->offset == offsetof(struct rt_device, sms) ||
           field->offset == offsetof(struct rt_device, clock_mhz);
}

void rt_device_set(struct rt_device *device, const struct rt_device_setting *settings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double *held = rt_device_value(device, settings[i].field);
        if (!moves_peaks(&rt_device_fields[settings[i].field]))
            continue;
        scale_peaks(device, settings[i].value / *held);
        *held = settings[i].value;
    }
    for (size_t i = 0; i < count; i++) /* a peak that is given is not scaled */
        if (!moves_peaks(&rt_device_fields[settings[i].field]))
            *rt_device_value(device, settings[i].field) = settings[i].value;
}

/* "field=value" */
static int read_override(const char *text, size_t length, const char *spec, struct rt_device_setting *out)
{
    const char *equals = memchr(text, '=', length);
    size_t key = equals != NULL ? (size_t)(equals - text) : length;
    const struct rt_device_field *field = rt_device_field_named(text, key);
    if (equals == NULL || field == NULL)
        return refuse_override(text, key, spec);
    out->field = (size_t)(field - rt_device_fields);
    if (rt_parse_real(equals + 1, length - key - 1, &out->value) != 0)
        return rt_fail(RT_EUSAGE, "\"%s\": \"%.*s\" is not a number for %s", spec, (int)(length - key - 1),
                       equals + 1, field->key);
    return RT_OK;
}

static int override_all(struct rt_device *device, const char *spec)
{
    struct rt_device_setting *settings = NULL;
    size_t count = 0;
    int status = RT_OK;
    for (size_t at = strcspn(spec, ","); status == RT_OK && spec[at] == ',';) {
        const char *item = spec + at + 1;
        size_t size = strcspn(item, ",");
        settings = rt_realloc(settings, count + 1, sizeof *settings);
        status = read_override(item, size, spec, &settings[count++]);
        at += 1 + size;
    }
    if (status == RT_OK)
        rt_device_set(device, settings, count);
    free(settings);
    return status;
}

/* Does a number that both know, and that kernels depend on, differ by more than that share? */
static bool differs(const struct rt_device *a, const struct rt_device *b, double share)
{
    for (size_t f = 0; f < rt_device_field_count; f++) {
        size_t offset = rt_device_fields[f].offset;
        double x = *(const double *)((const char *)a + offset),
               y = *(const double *)((const char *)b + offset);
        bool kernels = offset != offsetof(struct rt_device, memory_gib) &&
                       offset != offsetof(struct rt_device, link_gbs) &&
                       offset != offsetof(struct rt_device, link_peers) &&
                       offset != offsetof(struct rt_device, node_gpus) &&
                       offset != offsetof(struct rt_device, bridge_gbs) &&
                       offset != offsetof(struct rt_device, host_link_gbs);
        if (kernels && fabs(x - y) > share * fmax(fabs(x), fabs(y))) /* false where one is NaN */
            return true;
    }
    return false;
}

/* A file may hold what a driver reports of a catalogue's device, which is off by a few percent. A device that
 * was printed by `rooftile devices` has no profiles of its own, nor quirks where an older one printed it: the
 * catalogue's hold for it. */
static int load_file(const char *path, struct rt_device *out, struct rt_mig *mig)
{
    const double probed = 0.05;
    struct rt_device named, board;
    struct rt_mig listed;
    int status = load_board(path, out, mig);
    if (status == RT_OK)
        rt_device_recall(out);
    if (status != RT_OK || rt_device_named(out->name, &named) != RT_OK)
        return status;
    out->altered = differs(out, &named, probed);
    if (mig->count == 0 && find_in_catalogue(out->name, strlen(out->name), &board, &listed) == RT_OK)
        *mig = listed;
    return RT_OK;
}

static bool is_file(const char *spec, size_t length)
{
    char *name = rt_strndup(spec, length);
    bool found = rt_file_is_there(name);
    free(name);
    return found;
}

/* The board that the `length` letters before the overrides name, and the profile of its slice, NULL: none. */
static int find_board(const char *spec, size_t length, struct rt_device *out, struct rt_mig *mig,
                      const char **profile)
{
    size_t board = is_file(spec, length) ? length : board_length(spec, length, profile);
    char *name = rt_strndup(spec, board);
    int status = is_file(spec, board) ? load_file(name, out, mig) : find_in_catalogue(name, board, out, mig);
    free(name);
    return status;
}

/* The `length` letters before the overrides. */
static int find_plain(const char *spec, size_t length, struct rt_device *out)
{
    const char *profile = NULL;
    struct rt_mig mig;
    int status = find_board(spec, length, out, &mig, &profile);
    if (status == RT_OK && profile != NULL)
        status = take_slice(&mig, profile, length - (size_t)(profile - spec), out);
    return status;
}

int rt_device_mig(const char *spec, struct rt_device *board, struct rt_mig *out)
{
    const char *profile = NULL;
    return find_board(spec, strcspn(spec, ","), board, out, &profile);
}

/* The same, or a share of it. */
static int find_part(const char *spec, size_t length, struct rt_device *out)
{
    double sms, of;
    char *name = rt_strndup(spec, length);
    size_t whole = rt_share_parse(name, &sms, &of);
    int status = find_plain(spec, whole > 0 ? whole : length, out);
    if (status == RT_OK && whole > 0)
        status = take_share(name, sms, of, out);
    free(name);
    return status;
}

int rt_device_find(const char *spec, struct rt_device *out)
{
    struct rt_device plain, device;
    int status = find_part(spec, strcspn(spec, ","), &plain);
    if (status != RT_OK)
        return status;
    device = plain;
    status = override_all(&device, spec);
    if (status == RT_OK && rt_device_check(&device, spec) != RT_OK)
        status = RT_EUSAGE;
    if (status != RT_OK)
        return status;
    device.altered |= differs(&device, &plain, 0);
    *out = device;
    return RT_OK;
}

void rt_device_reads(const char *spec, struct rt_names *paths)
{
    size_t length = strcspn(spec, ",");
    const char *profile;
    length = is_file(spec, length) ? length : board_length(spec, length, &profile);
    rt_names_add(paths, rt_strndup(spec, length));
}

/* ---- names, for a shell ---- */

/* The shortest of its names that a shell takes without quotes. */
void rt_device_suggest(struct rt_text *list)
{
    pthread_once(&names_once, list_names);
    for (size_t n = 0; n < name_count;) {
        const struct board_name *board = &board_names[n];
        const char *shortest = NULL;
        for (; n < name_count && board_names[n].board == board->board; n++)
            if (strpbrk(board_names[n].text, " ()") == NULL &&
                (shortest == NULL || strlen(board_names[n].text) < strlen(shortest)))
                shortest = board_names[n].text;
        if (shortest != NULL)
            rt_text_add(list, "%s\t%s\n", shortest, board->text);
    }
    rt_text_add(list, ":files json\n");
}

bool rt_device_is_gpu(const struct rt_device *device)
{
    return strcmp(device->vendor, "NVIDIA") == 0 ||
           (strcmp(device->vendor, "AMD") == 0 && strcmp(device->architecture, "x86_64") != 0);
}
