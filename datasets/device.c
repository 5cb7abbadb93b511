/* Device descriptors: JSON, the built-in catalogue, overrides. See device.h. */
#include "datasets/device.h"
#include "base/file.h"
#include "base/status.h"
#include "base/strings.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

extern const char *const rt_device_catalogue_json[]; /* NULL-terminated; scripts/embed_devices.cmake */

/* clang-format off */
#define FIELD(member, units, long_name, min, max, required) \
    {#member, offsetof(struct rt_device, member), units, long_name, min, max, required}
/* clang-format on */

/* The ranges are wide on purpose: they catch a wrong unit, not an unusual chip. */
const struct rt_device_field rt_device_fields[] = {
    FIELD(sms, "1", "multiprocessors", 1, 1e6, true),
    FIELD(cores_per_sm, "1", "fp32 lanes per multiprocessor", 1, 1e5, false),
    FIELD(clock_mhz, "MHz", "maximum boost clock", 1, 1e5, false),
    FIELD(fp32_vector_tflops, "TFLOP/s", "dense fp32 peak of the vector lanes", 1e-4, 1e6, true),
    FIELD(fp32_matrix_tflops, "TFLOP/s", "dense fp32 peak of the matrix units", 1e-4, 1e6, false),
    FIELD(tf32_matrix_tflops, "TFLOP/s", "dense tf32 peak of the matrix units", 1e-4, 1e6, false),
    FIELD(fp16_vector_tflops, "TFLOP/s", "dense fp16 peak of the vector lanes", 1e-4, 1e6, false),
    FIELD(fp16_matrix_tflops, "TFLOP/s", "dense fp16 peak of the matrix units", 1e-4, 1e6, false),
    FIELD(bf16_vector_tflops, "TFLOP/s", "dense bf16 peak of the vector lanes", 1e-4, 1e6, false),
    FIELD(bf16_matrix_tflops, "TFLOP/s", "dense bf16 peak of the matrix units", 1e-4, 1e6, false),
    FIELD(fp8_matrix_tflops, "TFLOP/s", "dense fp8 peak of the matrix units", 1e-4, 1e6, false),
    FIELD(fp4_matrix_tflops, "TFLOP/s", "dense fp4 peak of the matrix units", 1e-4, 1e6, false),
    FIELD(int8_matrix_tops, "TOP/s", "dense int8 peak of the matrix units", 1e-4, 1e6, false),
    FIELD(memory_gib, "GiB", "device memory", 0.01, 1e5, true),
    FIELD(bandwidth_gbs, "GB/s", "peak memory bandwidth", 0.1, 1e6, true),
    FIELD(l2_mib, "MiB", "last-level cache", 0.01, 1e5, true),
    FIELD(shared_kib_per_sm, "KiB", "shared memory per multiprocessor", 1, 1e5, false),
    FIELD(power_w, "W", "board power", 1, 1e5, false),
    FIELD(link_gbs, "GB/s", "bandwidth to a peer, one direction", 0.01, 1e5, false),
};
const size_t rt_device_field_count = RT_COUNT(rt_device_fields);

/* clang-format off */
#define TEXT(member) {#member, offsetof(struct rt_device, member), sizeof((struct rt_device *)0)->member}
/* clang-format on */
const struct rt_device_text rt_device_texts[] = {TEXT(name), TEXT(vendor), TEXT(architecture),
                                                 TEXT(compute_capability)};
const size_t rt_device_text_count = RT_COUNT(rt_device_texts);

static double value_of(const struct rt_device *device, size_t field)
{
    return *rt_device_value((struct rt_device *)(uintptr_t)device, field);
}

static char *text_of(struct rt_device *device, size_t text)
{
    return (char *)device + rt_device_texts[text].offset;
}

void rt_device_init(struct rt_device *device, const char *name)
{
    memset(device, 0, sizeof *device);
    for (size_t f = 0; f < rt_device_field_count; f++)
        *rt_device_value(device, f) = NAN;
    snprintf(device->name, sizeof device->name, "%s", name);
}

int rt_device_check(const struct rt_device *device, const char *where)
{
    if (device->name[0] == '\0')
        return rt_fail(RT_EFORMAT, "%s: the device has no name; add \"name\"", where);
    for (size_t f = 0; f < rt_device_field_count; f++) {
        const struct rt_device_field *field = &rt_device_fields[f];
        double value = value_of(device, f);
        if (isnan(value) && field->required)
            return rt_fail(RT_EFORMAT, "%s: \"%s\" of %s is missing; give it in %s", where, field->key,
                           device->name, field->units[0] == '1' ? "units" : field->units);
        if (!isnan(value) && !(value >= field->min && value <= field->max))
            return rt_fail(RT_EFORMAT, "%s: \"%s\" of %s is %g; it must lie in %g..%g %s", where, field->key,
                           device->name, value, field->min, field->max,
                           field->units[0] == '1' ? "" : field->units);
    }
    return RT_OK;
}

/* Keys a device file may carry beside its numbers and texts. */
static int is_other_key(const char *key)
{
    return strcmp(key, "aliases") == 0 || strcmp(key, "sources") == 0 || strcmp(key, "notes") == 0;
}

static const struct rt_device_field *find_field(const char *key, size_t length)
{
    for (size_t f = 0; f < rt_device_field_count; f++)
        if (strlen(rt_device_fields[f].key) == length && strncmp(rt_device_fields[f].key, key, length) == 0)
            return &rt_device_fields[f];
    return NULL;
}

static int set_from_json(struct rt_device *device, const char *key, json_t *value, const char *where)
{
    const struct rt_device_field *field = find_field(key, strlen(key));
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
        strcpy(text_of(device, t), text);
        return RT_OK;
    }
    if (is_other_key(key))
        return RT_OK;
    return rt_fail(RT_EFORMAT,
                   "%s: \"%s\" is no field of a device; `rooftile devices H100` shows all of them", where,
                   key);
}

/* `where` names the file in sentences. *root (may be NULL) gets the JSON for aliases. */
static int device_from_json(const char *json, const char *where, struct rt_device *out, json_t **root_out)
{
    json_error_t error;
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &error), *value;
    if (root == NULL)
        return rt_fail(RT_EFORMAT, "%s:%d:%d: not JSON: %s", where, error.line, error.column, error.text);
    struct rt_device device;
    rt_device_init(&device, "");
    int status = RT_OK;
    const char *key;
    if (!json_is_object(root))
        status = rt_fail(RT_EFORMAT, "%s: a device file holds one JSON object", where);
    if (status == RT_OK)
        json_object_foreach(root, key, value) if (status == RT_OK) status =
            set_from_json(&device, key, value, where);
    if (status == RT_OK)
        status = rt_device_check(&device, where);
    if (status == RT_OK) {
        *out = device;
        if (root_out != NULL)
            *root_out = json_incref(root);
    }
    json_decref(root);
    return status;
}

int rt_device_load(const char *path, struct rt_device *out)
{
    char *text;
    size_t size;
    int status = rt_file_read(path, 1 << 20, &text, &size);
    if (status != RT_OK)
        return status;
    status = device_from_json(text, path, out, NULL);
    free(text);
    return status;
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
    return device_from_json(rt_device_catalogue_json[i], "built-in catalogue", out, NULL);
}

/* Lower case, without the separators that drivers and file names use differently. */
static void normalise(const char *name, size_t length, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < length && name[i] != '\0' && n + 1 < size; i++)
        if (strchr(" -_", name[i]) == NULL)
            out[n++] = (char)tolower((unsigned char)name[i]);
    out[n] = '\0';
}

/* Does `wanted` (normalised) name this device? Otherwise *nearest is the distance to its nearest name. */
static bool names_device(json_t *root, const char *wanted, const char **label, size_t *nearest)
{
    char candidate[128];
    json_t *aliases = json_object_get(root, "aliases");
    *label = json_string_value(json_object_get(root, "name"));
    *nearest = (size_t)-1;
    for (size_t i = 0; i <= json_array_size(aliases); i++) {
        const char *name = i == 0 ? json_string_value(json_object_get(root, "name"))
                                  : json_string_value(json_array_get(aliases, i - 1));
        if (name == NULL)
            continue;
        normalise(name, strlen(name), candidate, sizeof candidate);
        size_t distance = rt_name_distance(candidate, wanted);
        if (distance == 0)
            return true;
        if (distance < *nearest) {
            *nearest = distance;
            *label = name;
        }
    }
    return false;
}

/* Can `wanted` (normalised) be one of the names in this description? Parsing all of the catalogue takes
 * longer than a forecast. */
static bool may_name_device(const char *json, const char *wanted)
{
    size_t length = strlen(json);
    char *plain = rt_malloc(length + 1);
    normalise(json, length, plain, length + 1);
    bool found = strstr(plain, wanted) != NULL;
    free(plain);
    return found;
}

/* Where `all` is false only what may be it is looked at, and a failure is not told. */
static int search_catalogue(const char *name, size_t length, bool all, struct rt_device *out)
{
    char wanted[128];
    struct rt_hints hints = {0};
    normalise(name, length, wanted, sizeof wanted);
    for (size_t i = 0; rt_device_catalogue_json[i] != NULL; i++) {
        if (!all && !may_name_device(rt_device_catalogue_json[i], wanted))
            continue;
        struct rt_device device;
        json_t *root;
        int status = device_from_json(rt_device_catalogue_json[i], "built-in catalogue", &device, &root);
        if (status != RT_OK)
            return status;
        const char *label;
        size_t distance;
        bool found = names_device(root, wanted, &label, &distance);
        if (!found && label != NULL)
            rt_hints_add(&hints, label, distance);
        json_decref(root);
        if (found) {
            *out = device;
            return RT_OK;
        }
    }
    if (!all)
        return RT_ENOTFOUND;
    return rt_fail(
        RT_ENOTFOUND,
        "unknown GPU \"%.*s\"; nearest names: %s, %s, %s; `rooftile devices` lists all, or give a JSON file",
        (int)(length < 80 ? length : 80), name, hints.name[0], hints.name[1], hints.name[2]);
}

static int find_in_catalogue(const char *name, size_t length, struct rt_device *out)
{
    int status = search_catalogue(name, length, false, out);
    return status == RT_ENOTFOUND ? search_catalogue(name, length, true, out) : status;
}

int rt_device_named(const char *name, struct rt_device *out)
{
    return find_in_catalogue(name, strlen(name), out);
}

static int override(struct rt_device *device, const char *text, size_t length, const char *spec)
{
    const char *equals = memchr(text, '=', length);
    size_t key = equals != NULL ? (size_t)(equals - text) : length;
    const struct rt_device_field *field = find_field(text, key);
    double value;
    if (equals == NULL || field == NULL)
        return rt_fail(
            RT_EUSAGE,
            "\"%s\": \"%.*s\" is no override; write field=value, such as sms=100 or bandwidth_gbs=3000", spec,
            (int)length, text);
    if (rt_parse_real(equals + 1, length - key - 1, &value) != 0)
        return rt_fail(RT_EUSAGE, "\"%s\": \"%.*s\" is not a number for %s", spec, (int)(length - key - 1),
                       equals + 1, field->key);
    *rt_device_value(device, field - rt_device_fields) = value;
    return RT_OK;
}

int rt_device_find(const char *spec, struct rt_device *out)
{
    struct rt_device device;
    struct stat file;
    size_t length = strcspn(spec, ",");
    char *name = rt_format("%.*s", (int)length, spec);
    int status;
    if (stat(name, &file) == 0 && S_ISREG(file.st_mode))
        status = rt_device_load(name, &device);
    else
        status = find_in_catalogue(name, length, &device);
    free(name);
    bool overridden = spec[length] == ',';
    while (status == RT_OK && spec[length] == ',') {
        const char *item = spec + length + 1;
        size_t size = strcspn(item, ",");
        status = override(&device, item, size, spec);
        length += 1 + size;
    }
    if (status == RT_OK && overridden && (status = rt_device_check(&device, spec)) != RT_OK)
        status = RT_EUSAGE;
    if (status == RT_OK)
        *out = device;
    return status;
}

bool rt_device_same(const struct rt_device *a, const struct rt_device *b)
{
    char one[128], two[128];
    normalise(a->name, strlen(a->name), one, sizeof one);
    normalise(b->name, strlen(b->name), two, sizeof two);
    if (strcmp(one, two) != 0) {
        rt_fail(RT_EFORMAT, "%s and %s are different devices", a->name, b->name);
        return false;
    }
    for (size_t f = 0; f < rt_device_field_count; f++) {
        double x = value_of(a, f), y = value_of(b, f);
        if (!isnan(x) && !isnan(y) && x != y) {
            rt_fail(RT_EFORMAT, "%s: %s is %g in one description and %g in the other", a->name,
                    rt_device_fields[f].key, x, y);
            return false;
        }
    }
    return true;
}

void rt_device_fill(struct rt_device *device, const struct rt_device *from)
{
    for (size_t f = 0; f < rt_device_field_count; f++)
        if (isnan(value_of(device, f)))
            *rt_device_value(device, f) = value_of(from, f);
    for (size_t t = 0; t < rt_device_text_count; t++)
        if (text_of(device, t)[0] == '\0')
            strcpy(text_of(device, t), (const char *)from + rt_device_texts[t].offset);
}

/* Vector and matrix peak of each dtype, as offsets; 0 where the descriptor has no such field (offset 0 is the
 * name). */
static const struct {
    size_t vector, matrix;
} peaks[RT_DTYPE_COUNT] = {
    [RT_FP32] = {offsetof(struct rt_device, fp32_vector_tflops),
                 offsetof(struct rt_device, fp32_matrix_tflops)},
    [RT_TF32] = {offsetof(struct rt_device, fp32_vector_tflops),
                 offsetof(struct rt_device, tf32_matrix_tflops)},
    [RT_FP16] = {offsetof(struct rt_device, fp16_vector_tflops),
                 offsetof(struct rt_device, fp16_matrix_tflops)},
    [RT_BF16] = {offsetof(struct rt_device, bf16_vector_tflops),
                 offsetof(struct rt_device, bf16_matrix_tflops)},
    [RT_FP8] = {0, offsetof(struct rt_device, fp8_matrix_tflops)},
    [RT_FP8_BLOCK] = {0, offsetof(struct rt_device, fp8_matrix_tflops)},
    [RT_FP4] = {0, offsetof(struct rt_device, fp4_matrix_tflops)},
    [RT_INT8] = {0, offsetof(struct rt_device, int8_matrix_tops)},
    [RT_INT4] = {0, offsetof(struct rt_device, fp16_matrix_tflops)},  /* 4-bit weights, 16-bit arithmetic */
    [RT_MXFP4] = {0, offsetof(struct rt_device, fp16_matrix_tflops)}, /* as above */
};

static double tflops_at(const struct rt_device *device, size_t offset)
{
    return offset == 0 ? NAN : *(const double *)((const char *)device + offset);
}

double rt_device_peak_flops(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype)
{
    bool tensor = rt_families[family].tensor;
    double vector = tflops_at(device, peaks[dtype].vector), matrix = tflops_at(device, peaks[dtype].matrix);
    /* Lanes that are said to do fp32 do 16 bits at least as fast: they convert. */
    if (isnan(vector) && !tensor && (dtype == RT_FP16 || dtype == RT_BF16))
        vector = device->fp32_vector_tflops;
    return 1e12 * (tensor && !isnan(matrix) ? matrix : vector);
}
