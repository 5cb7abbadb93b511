/* Fields of devices, checks and peaks. See device_fields.h. */
#include "datasets/device_fields.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
#define FIELD(member, units, long_name, min, max, required) \
    {#member, offsetof(struct rt_device, member), units, long_name, min, max, required, false, false, false}
#define PEAK(member, units, long_name, required) \
    {#member, offsetof(struct rt_device, member), units, long_name, 1e-4, 1e6, required, true, false, false}
#define QUIRK(member, long_name) \
    {#member, offsetof(struct rt_device, member), "1", long_name, 0, 1, false, false, true, true}
/* clang-format on */

/* The ranges are wide on purpose: they catch a wrong unit, not an unusual chip. */
const struct rt_device_field rt_device_fields[] = {
    FIELD(sms, "1", "multiprocessors", 1, 1e6, true),
    FIELD(cores_per_sm, "1", "fp32 lanes per multiprocessor", 1, 1e5, false),
    FIELD(clock_mhz, "MHz", "maximum boost clock", 1, 1e5, false),
    PEAK(fp32_vector_tflops, "TFLOP/s", "dense fp32 peak of the vector lanes", true),
    PEAK(fp32_matrix_tflops, "TFLOP/s", "dense fp32 peak of the matrix units", false),
    PEAK(tf32_matrix_tflops, "TFLOP/s", "dense tf32 peak of the matrix units", false),
    PEAK(fp16_vector_tflops, "TFLOP/s", "dense fp16 peak of the vector lanes", false),
    PEAK(fp16_matrix_tflops, "TFLOP/s", "dense fp16 peak of the matrix units", false),
    PEAK(bf16_vector_tflops, "TFLOP/s", "dense bf16 peak of the vector lanes", false),
    PEAK(bf16_matrix_tflops, "TFLOP/s", "dense bf16 peak of the matrix units", false),
    PEAK(fp8_matrix_tflops, "TFLOP/s", "dense fp8 peak of the matrix units", false),
    PEAK(fp4_matrix_tflops, "TFLOP/s", "dense fp4 peak of the matrix units", false),
    PEAK(int8_matrix_tops, "TOP/s", "dense int8 peak of the matrix units", false),
    FIELD(memory_gib, "GiB", "device memory", 0.01, 1e5, true),
    /* from what a CPU that is shared by many is probed at */
    FIELD(bandwidth_gbs, "GB/s", "peak memory bandwidth", 1e-3, 1e6, true),
    FIELD(l2_mib, "MiB", "last-level cache", 0.01, 1e5, true),
    FIELD(shared_kib_per_sm, "KiB", "shared memory per multiprocessor", 1, 1e5, false),
    FIELD(power_w, "W", "board power", 1, 1e5, false),
    FIELD(link_gbs, "GB/s", "bandwidth to a peer, one direction", 0.01, 1e5, false),
    {"link_peers", offsetof(struct rt_device, link_peers), "1",
     "peers with such a link each, used at once; missing: one peer at a time", 1, 1e5, false, false, true,
     false},
    {"bridge_gbs", offsetof(struct rt_device, bridge_gbs), "GB/s",
     "bandwidth of a bridge to one peer, one direction", 0.01, 1e5, false, false, true, false},
    {"host_link_gbs", offsetof(struct rt_device, host_link_gbs), "GB/s",
     "bandwidth to the host, one direction; missing: link_gbs where that is PCIe", 0.01, 1e5, false, false,
     true, false},
    {"idle_w", offsetof(struct rt_device, idle_w), "W", "board power between kernels, clocks up", 0.1, 1e5,
     false, false, true, false},
    {"node_gpus", offsetof(struct rt_device, node_gpus), "1",
     "GPUs that one NVLink domain joins; missing: the eight of a server", 1, 1e5, false, false, true, false},
    QUIRK(ecc_inline, "1: ECC's check bits take part of the memory and its bandwidth; 0: no"),
    QUIRK(boost_typical, "1: boards exceed clock_mhz where their power allows; 0: no"),
};
const size_t rt_device_field_count = RT_COUNT(rt_device_fields);

/* clang-format off */
#define TEXT(member, sparse, quirk) \
    {#member, offsetof(struct rt_device, member), sizeof((struct rt_device *)0)->member, sparse, quirk}
/* clang-format on */
const struct rt_device_text rt_device_texts[] = {
    TEXT(name, false, false),         TEXT(vendor, false, false),
    TEXT(architecture, false, false), TEXT(compute_capability, false, false),
    TEXT(whole, true, false),         TEXT(chip, true, true)};
const size_t rt_device_text_count = RT_COUNT(rt_device_texts);

const struct rt_device_field *rt_device_field_named(const char *key, size_t length)
{
    for (size_t f = 0; f < rt_device_field_count; f++)
        if (strlen(rt_device_fields[f].key) == length && strncmp(rt_device_fields[f].key, key, length) == 0)
            return &rt_device_fields[f];
    return NULL;
}

char *rt_device_field_keys(void)
{
    struct rt_text keys = {0};
    for (size_t f = 0; f < rt_device_field_count; f++)
        rt_text_item(&keys, ", ", "%s", rt_device_fields[f].key);
    return rt_text_take(&keys);
}

static double value_of(const struct rt_device *device, size_t field)
{
    return *rt_device_value((struct rt_device *)(uintptr_t)device, field);
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
        if (field->quirk && value > 0 && value < 1)
            return rt_fail(RT_EFORMAT, "%s: \"%s\" of %s is %g; it must be 1 (yes) or 0 (no)", where,
                           field->key, device->name, value);
    }
    if (device->idle_w >= device->power_w)
        return rt_fail(
            RT_EFORMAT,
            "%s: \"idle_w\" of %s is %g, not below its \"power_w\" of %g; give what it draws at rest", where,
            device->name, device->idle_w, device->power_w);
    return RT_OK;
}

bool rt_device_same(const struct rt_device *a, const struct rt_device *b)
{
    if (!rt_name_equal(a->name, b->name)) {
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
        if (rt_device_text(device, t)[0] == '\0')
            strcpy(rt_device_text(device, t), rt_device_text((struct rt_device *)(uintptr_t)from, t));
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
    [RT_MXFP4_MXFP8] = {0, offsetof(struct rt_device, fp8_matrix_tflops)},
    [RT_W4AFP8] = {0, offsetof(struct rt_device, fp8_matrix_tflops)},
    [RT_INT8_WO] = {0, offsetof(struct rt_device, fp16_matrix_tflops)},
};

struct rt_link rt_device_link(const struct rt_device *device)
{
    return (struct rt_link){device->link_gbs, device->link_peers > 1 ? device->link_peers : 1};
}

double rt_link_gbs(const struct rt_link *link, int64_t peers)
{
    return link->gbs * fmin(link->peers, fmax(1, (double)peers));
}

int64_t rt_device_node_gpus(const struct rt_device *device)
{
    const int64_t most_servers = 8;
    return device != NULL && device->node_gpus >= 1 ? (int64_t)device->node_gpus : most_servers;
}

enum rt_fabric rt_device_fabric(const struct rt_device *device)
{
    const double fastest_pcie = 64;
    return device->link_peers > 1            ? RT_FABRIC_MESH
           : device->link_gbs > fastest_pcie ? RT_FABRIC_SWITCH
                                             : RT_FABRIC_PCIE;
}

double rt_device_host_link_gbs(const struct rt_device *device)
{
    bool pcie = isnan(device->host_link_gbs) && rt_device_fabric(device) == RT_FABRIC_PCIE;
    return pcie ? device->link_gbs : device->host_link_gbs;
}

struct rt_link rt_device_fabric_link(const struct rt_device *device, enum rt_fabric fabric, int64_t gpus)
{
    const double peers_on_board = 3;
    if (fabric == RT_FABRIC_PAIRS && gpus <= 2)
        return (struct rt_link){device->bridge_gbs, 1};
    if (fabric == RT_FABRIC_MESH && !(device->link_peers > 1))
        return (struct rt_link){device->link_gbs / peers_on_board, peers_on_board};
    return rt_device_link(device);
}

static double tflops_at(const struct rt_device *device, size_t offset)
{
    return offset == 0 ? NAN : *(const double *)((const char *)device + offset);
}

bool rt_device_has_bf16(const struct rt_device *device)
{
    return !isnan(device->bf16_matrix_tflops) || !isnan(device->bf16_vector_tflops);
}

const char *rt_device_peak_field(enum rt_family family, enum rt_dtype dtype)
{
    size_t offset = rt_families[family].tensor ? peaks[dtype].matrix : peaks[dtype].vector;
    for (size_t f = 0; f < rt_device_field_count; f++)
        if (offset != 0 && rt_device_fields[f].offset == offset)
            return rt_device_fields[f].key;
    return NULL;
}

double rt_device_peak_flops(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype)
{
    bool tensor = rt_families[family].tensor;
    double vector = tflops_at(device, peaks[dtype].vector), matrix = tflops_at(device, peaks[dtype].matrix);
    if (dtype == RT_FP16 || dtype == RT_BF16) /* fmax drops a NaN */
        vector = fmax(vector, device->fp32_vector_tflops);
    return 1e12 * (tensor && !isnan(matrix) ? matrix : vector);
}

bool rt_device_has_matrix_units(const struct rt_device *device, enum rt_dtype dtype)
{
    return !isnan(tflops_at(device, peaks[dtype].matrix));
}

/* ---- chips ---- */

/* The word of a name that tells the chip. */
static void word_of(const char *name, char *out, size_t size)
{
    for (const char *at = name; *at != '\0';) {
        size_t length = strcspn(at, " -_()/,:"), digit = strcspn(at, "0123456789");
        if (digit < length && length > 1 && length < size) {
            memcpy(out, at, length);
            out[length] = '\0';
            return;
        }
        at += length + (at[length] != '\0');
    }
    snprintf(out, size, "%s", name);
}

void rt_chip_word(const struct rt_device *device, char *out, size_t size)
{
    if (device->chip[0] != '\0')
        snprintf(out, size, "%s", device->chip);
    else
        word_of(device->name, out, size);
}

static bool is_grace_of(const char *grace, const char *chip)
{
    return toupper((unsigned char)grace[0]) == 'G' && isalpha((unsigned char)chip[0]) &&
           rt_name_equal(grace + 1, chip);
}

bool rt_chip_same(const struct rt_device *a, const struct rt_device *b)
{
    char word[2][96];
    rt_chip_word(a, word[0], sizeof word[0]);
    rt_chip_word(b, word[1], sizeof word[1]);
    return rt_name_equal(word[0], word[1]) || is_grace_of(word[0], word[1]) || is_grace_of(word[1], word[0]);
}
