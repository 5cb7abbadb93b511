/* The table of designs. See designs.h. */
#include "datasets/designs.h"
#include "base/status.h"
#include "datasets/device_fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* clang-format off */
#define NO NAN
#define UNKNOWN_RATES {NO, NO, NO, NO, NO, NO, NO, NO, 16}
#define VEGA_RATES {256, NO, NO, NO, NO, NO, NO, NO, 16}
#define OLD_BLAS (2 * 4096 + 8 * 16)
#define NEW_BLAS (8 * 4096)
static const struct rt_design designs[] = {
#include "datasets/designs.def"
};
/* 128 lanes: as most since Ampere's GA102. */
static const struct rt_design unknown =
    {"", "",                    "",              0,     0, 128,    1, 2048, 1, 0,   RT_MEMORY_KINDS,   7.5, RT_MATRIX_NONE,          1,      0, 0.8,   false, 12.5, 1, 1, OLD_BLAS, UNKNOWN_RATES};
/* clang-format on */

const char *const rt_memory_kinds[RT_MEMORY_KINDS] = {"gddr", "hbm", "hbm_other"};

/* A capability as a number that grows with its generation, and the vendor's lines apart. */
struct version {
    bool amd;
    long major, minor; /* of AMD the target alone, as the hexadecimal number that it is */
};

/* False for what is none: "", "sm_90", AMD's GPUs for games. */
static bool read_version(const char *capability, struct version *out)
{
    char *end;
    bool amd = strncmp(capability, "gfx", 3) == 0;
    *out = (struct version){.amd = amd, .major = strtol(capability + (amd ? 3 : 0), &end, amd ? 16 : 10)};
    if (amd)
        return *end == '\0' && ((out->major >= 0x900 && out->major < 0xa00) || out->major >= 0x1250);
    if (end == capability || *end != '.')
        return false;
    out->minor = strtol(end + 1, &end, 10);
    return *end == '\0';
}

/* Later rows of a vendor are newer. */
static const struct rt_design *newest_before(const char *capability)
{
    struct version wanted, version;
    const struct rt_design *of_major = NULL, *of_line = NULL;
    if (!read_version(capability, &wanted))
        return NULL;
    for (size_t i = 0; i < RT_COUNT(designs); i++) {
        if (!read_version(designs[i].capability, &version) || version.amd != wanted.amd ||
            version.major > wanted.major)
            continue;
        if (version.major == wanted.major && version.minor <= wanted.minor)
            of_major = &designs[i];
        else if (version.major < wanted.major && designs[i].memory != RT_MEMORY_GDDR)
            of_line = &designs[i];
    }
    return of_major != NULL ? of_major : of_line;
}

static const struct rt_design *of_architecture(const char *name)
{
    for (size_t i = 0; i < RT_COUNT(designs); i++)
        if (strcasecmp(designs[i].architecture, name) == 0)
            return &designs[i];
    return &unknown;
}

/* NULL where nothing is known of it. Asked for two hundred times in a forecast, mostly of one device. */
static const struct rt_design *of_capability(const char *wanted)
{
    static _Thread_local size_t last = 0;
    for (size_t i = 0; i < RT_COUNT(designs); i++) {
        size_t at = (last + i) % RT_COUNT(designs);
        if (strcmp(designs[at].capability, wanted) == 0)
            return &designs[last = at];
    }
    return newest_before(wanted);
}

const struct rt_design *rt_design_of(const struct rt_device *device)
{
    const struct rt_design *design = of_capability(device->compute_capability);
    return design != NULL ? design : of_architecture(device->architecture);
}

/* Rows of a generation stand together. */
const struct rt_design *rt_generation_after(const struct rt_design *generation)
{
    const struct rt_design *next = NULL;
    for (size_t i = 0; i < RT_COUNT(designs); i++) {
        const struct rt_design *design = &designs[i];
        bool begins = i == 0 || strcmp(designs[i - 1].generation, design->generation) != 0;
        bool after = generation == NULL || design->year > generation->year ||
                     (design->year == generation->year && design > generation);
        if (begins && after && (next == NULL || design->year < next->year))
            next = design;
    }
    return next;
}

enum rt_memory_kind rt_memory_kind_of(const struct rt_device *device)
{
    enum rt_memory_kind kind = rt_design_of(device)->memory;
    return kind < RT_MEMORY_KINDS ? kind : RT_MEMORY_GDDR;
}

bool rt_design_asynchronous(const struct rt_design *design)
{
    return design->units == RT_MATRIX_WARP_GROUP || design->units == RT_MATRIX_TENSOR_MEMORY;
}

bool rt_capability_same(const char *a, const char *b)
{
    enum { FIRST_OF_FAMILIES = 10 };
    return a[0] != '\0' &&
           (strcmp(a, b) == 0 || (atoi(a) >= FIRST_OF_FAMILIES && rt_capability_same_major(a, b)));
}

int rt_capability_order(const char *a, const char *b)
{
    struct version x, y;
    if (!read_version(a, &x) || !read_version(b, &y) || x.amd != y.amd)
        return 0;
    const struct rt_design *of_a = newest_before(a), *of_b = newest_before(b);
    int years = of_a != NULL && of_b != NULL ? of_a->year - of_b->year : 0;
    return (years > 0) - (years < 0);
}

bool rt_capability_same_major(const char *a, const char *b)
{
    size_t major = strcspn(a, ".");
    return major > 0 && strcspn(b, ".") == major && strncmp(a, b, major) == 0;
}

bool rt_capability_same_units(const char *a, const char *b)
{
    const struct rt_design *of_a = of_capability(a), *of_b = of_capability(b);
    return of_a != NULL && of_b != NULL && of_a->units == of_b->units && of_a->units != RT_MATRIX_NONE;
}
