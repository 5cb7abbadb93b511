/* GPUs and their descriptors. See device.h. */
#include "collect/cuda/device.h"
#include "base/status.h"
#include "base/strings.h"
#include "collect/cuda/driver.h"
#include "datasets/designs.h"
#include "datasets/share.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHARES = 16, MOST_GPUS = 64 };

/* Numbers of a command line's list; RT_EUSAGE with `rule` where one is none or out of range. */
struct numbers {
    int value[MOST_GPUS];
    size_t count;
};

static int read_numbers(const char *list, int least, int most, const char *rule, struct numbers *out)
{
    *out = (struct numbers){0};
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        int64_t value;
        if (rt_parse_integer(at, length, &value) != 0 || value < least || value > most)
            return rt_fail(RT_EUSAGE, rule, (int)length, at, most);
        bool there = false;
        for (size_t i = 0; i < out->count; i++)
            there |= out->value[i] == (int)value;
        if (!there && out->count < MOST_GPUS)
            out->value[out->count++] = (int)value;
        at += length;
        if (*at == '\0')
            return RT_OK;
    }
}

/* ---- shares of a GPU ---- */

static int split(const struct rt_cuda_driver *driver, CUdevice device, const char *name, int asked,
                 CUdevResource *out)
{
    CUdevResource all, rest;
    unsigned groups = 1;
    if (driver->sm_resource == NULL || driver->sm_split == NULL || driver->resource_describe == NULL ||
        driver->green_new == NULL || driver->green_free == NULL || driver->green_context == NULL)
        return rt_fail(RT_ENOTFOUND,
                       "{sm_share}: this driver (CUDA %d.%d) has no green contexts; update it to one of CUDA "
                       "12.4 or later, or measure the whole GPU",
                       driver->version / 1000, driver->version % 1000 / 10);
    CUresult result = driver->sm_resource(device, &all, CU_DEV_RESOURCE_TYPE_SM);
    if (result == CUDA_SUCCESS)
        result = driver->sm_split(out, &groups, &all, &rest, 0, (unsigned)asked);
    if (result == CUDA_SUCCESS && groups == 1)
        return RT_OK;
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION)
        return rt_fail(RT_ENOTFOUND, "{sm_share}: %s gives no share of %d SMs; choose another percentage",
                       name, asked);
    return rt_fail(
        RT_ENOTFOUND,
        "{sm_share}: %s cannot be divided (the driver returns error %d; MIG slices and some boards "
        "cannot); measure it whole",
        name, (int)result);
}

/* How many SMs a share of at least `asked` SMs gets. Needs no context. RT_ENOTFOUND: the driver or the GPU
 * (a MIG slice) has no shares. */
static int share_sms(const struct rt_cuda_driver *driver, CUdevice device, const char *name, int asked,
                     int *sms)
{
    CUdevResource part;
    int status = split(driver, device, name, asked, &part);
    if (status == RT_OK)
        *sms = (int)part.sm.smCount;
    return status;
}

int rt_cuda_share_open(const struct rt_cuda_driver *driver, CUdevice device, const char *name, int asked,
                       CUgreenCtx *share, CUcontext *context)
{
    CUdevResource part;
    CUdevResourceDesc described;
    CUgreenCtx made;
    int status = split(driver, device, name, asked, &part);
    if (status == RT_OK)
        status =
            rt_cuda_check(driver->resource_describe(&described, &part, 1), name, "cuDevResourceGenerateDesc");
    if (status == RT_OK)
        status = rt_cuda_check(driver->green_new(&made, described, device, CU_GREEN_CTX_DEFAULT_STREAM), name,
                               "cuGreenCtxCreate");
    if (status != RT_OK)
        return status;
    status = rt_cuda_check(driver->green_context(context, made), name, "cuCtxFromGreenCtx");
    if (status == RT_OK)
        *share = made;
    else
        driver->green_free(made);
    return status;
}

/* ---- GPUs and shares ---- */

struct found_list {
    struct rt_cuda_gpu_found *item;
    size_t count;
};

static int attribute(const struct rt_cuda_driver *driver, CUdevice device, CUdevice_attribute which,
                     int otherwise)
{
    int value;
    return driver->device_attribute(&value, which, device) == CUDA_SUCCESS ? value : otherwise;
}

static void write_uuid(const CUuuid *uuid, bool slice, char out[48])
{
    size_t at = (size_t)sprintf(out, slice ? "MIG-" : "GPU-");
    for (int i = 0; i < 16; i++)
        at += (size_t)sprintf(out + at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                              (unsigned char)uuid->bytes[i]);
}

/* A slice whose profile the catalogue has. */
static bool slice_of(const struct rt_cuda_gpu_found *found, struct rt_device *out)
{
    return strstr(found->gpu, " MIG ") != NULL && rt_device_named(found->gpu, out) == RT_OK;
}

/* A slice has the name that forecasts know it by, "NVIDIA H200:1g.18gb", where its board has such a profile.
 */
static void name_gpu(struct rt_cuda_gpu_found *found)
{
    struct rt_device slice;
    strcpy(found->name, slice_of(found, &slice) ? slice.name : found->gpu);
}

static int read_gpu(const struct rt_cuda_driver *driver, int ordinal, CUdevice *device,
                    struct rt_cuda_gpu_found *out)
{
    struct rt_cuda_gpu_found f = {
        .ordinal = ordinal, .share_percent = 100, .driver_version = driver->version};
    CUuuid uuid;
    char where[32];
    snprintf(where, sizeof where, "GPU %d", ordinal);
    int status = rt_cuda_check(driver->device_get(device, ordinal), where, "cuDeviceGet");
    if (status == RT_OK)
        status = rt_cuda_check(driver->device_name(f.gpu, sizeof f.gpu, *device), where, "cuDeviceGetName");
    if (status == RT_OK)
        status = rt_cuda_check(driver->device_memory(&f.memory_bytes, *device), f.gpu, "cuDeviceTotalMem");
    if (status != RT_OK)
        return status;
    if (driver->device_uuid(&uuid, *device) == CUDA_SUCCESS)
        write_uuid(&uuid, strstr(f.gpu, " MIG ") != NULL, f.uuid);
    if (driver->device_pci_id(f.pci, sizeof f.pci, *device) != CUDA_SUCCESS)
        f.pci[0] = '\0';
    name_gpu(&f);
    f.sms = f.gpu_sms = attribute(driver, *device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
    f.capability = 10 * attribute(driver, *device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) +
                   attribute(driver, *device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
    f.clock_khz = attribute(driver, *device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0);
    f.memory_clock_khz = attribute(driver, *device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 0);
    f.bus_bits = attribute(driver, *device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 0);
    f.l2_bytes = attribute(driver, *device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 0);
    f.shared_bytes_per_sm =
        attribute(driver, *device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 0);
    f.shared_bytes_per_block =
        attribute(driver, *device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 48 << 10);
    f.ecc = attribute(driver, *device, CU_DEVICE_ATTRIBUTE_ECC_ENABLED, -1);
    f.mps = attribute(driver, *device, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, -1);
    *out = f;
    return RT_OK;
}

static bool is_listed(const struct found_list *list, const struct rt_cuda_gpu_found *found)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->item[i].ordinal == found->ordinal && list->item[i].sms == found->sms)
            return true;
    return false;
}

/* Two percentages may round to the same count of SMs: that is one device. */
static int add_shares(const struct rt_cuda_driver *driver, CUdevice device,
                      const struct rt_cuda_gpu_found *whole, const struct numbers *shares,
                      struct found_list *list)
{
    for (size_t i = 0; i < shares->count; i++) {
        struct rt_cuda_gpu_found share = *whole;
        share.share_percent = shares->value[i];
        if (share.share_percent < 100) {
            share.share_asked = (whole->sms * share.share_percent + 99) / 100;
            int status = share_sms(driver, device, whole->gpu, share.share_asked, &share.sms);
            if (status != RT_OK)
                return status;
            snprintf(share.name, sizeof share.name, RT_SHARE_NAME, whole->gpu, (double)share.sms,
                     (double)whole->sms);
        }
        if (!is_listed(list, &share))
            list->item[list->count++] = share;
    }
    return RT_OK;
}

static int find_all(const char *devices, const char *shares, struct found_list *list)
{
    static const char device_rule[] =
        "{device} %.*s is no GPU here; give \"all\" or numbers from 0 to %d, such as 0,1";
    static const char share_rule[] =
        "{sm_share} %.*s is no share; give percentages from 1 to %d, such as 25,50,100";
    const struct rt_cuda_driver *driver;
    struct numbers gpus = {0}, percents = {.value = {100}, .count = 1};
    int present = 0, status = rt_cuda_driver(&driver);
    if (status == RT_OK)
        status = rt_cuda_check(driver->device_count(&present), "CUDA driver", "cuDeviceGetCount");
    if (status == RT_OK && shares != NULL)
        status = read_numbers(shares, 1, 100, share_rule, &percents);
    if (status == RT_OK && devices != NULL && strcmp(devices, "all") != 0)
        status = read_numbers(devices, 0, present - 1, device_rule, &gpus);
    else
        for (int i = 0; i < present && i < MOST_GPUS; i++)
            gpus.value[gpus.count++] = i;
    if (status == RT_OK && percents.count > MOST_SHARES)
        status = rt_fail(RT_EUSAGE, "{sm_share} names more than %d shares; measure the others in another run",
                         MOST_SHARES);
    if (status != RT_OK)
        return status;
    *list = (struct found_list){.item = rt_calloc(gpus.count * percents.count, sizeof *list->item)};
    for (size_t i = 0; i < gpus.count && status == RT_OK; i++) {
        CUdevice device;
        struct rt_cuda_gpu_found whole;
        status = read_gpu(driver, gpus.value[i], &device, &whole);
        if (status == RT_OK)
            status = add_shares(driver, device, &whole, &percents, list);
    }
    return status;
}

int rt_cuda_find(const char *devices, const char *shares, struct rt_cuda_gpu_found **found, size_t *count)
{
    struct found_list list = {0};
    int status = find_all(devices, shares, &list);
    if (status != RT_OK) {
        free(list.item);
        return status;
    }
    *found = list.item;
    *count = list.count;
    return RT_OK;
}

/* ---- descriptors ---- */

/* The driver says the line of a board in its name alone. Only boards that no catalogue has are described by
 * it. */
static bool is_geforce(const struct rt_cuda_gpu_found *found)
{
    return rt_name_contains(found->gpu, "GeForce");
}

/* What is measured is not described by the rates of another major version. */
static const struct rt_design_rates *rates_of(const struct rt_device *device)
{
    static const struct rt_design_rates unknown = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    const struct rt_design *design = rt_design_of(device);
    return rt_capability_same_major(design->capability, device->compute_capability) ? &design->rates
                                                                                    : &unknown;
}

/* GeForce boards since Turing run their floating-point matrix units at half rate with fp32 accumulation, but
 * fp4 at full rate (RTX Blackwell's white paper). */
static void peaks_by_rate(const struct rt_cuda_gpu_found *found, struct rt_device *device)
{
    const struct rt_design *design = rt_design_of(device);
    const struct rt_design_rates *rate = rates_of(device);
    double per_rate = 1e-9 * found->clock_khz * found->gpu_sms; /* TFLOP/s for each FLOP a cycle and SM */
    double half = found->capability >= 75 && is_geforce(found) ? 0.5 : 1;
    device->cores_per_sm = design->lanes;
    device->fp32_vector_tflops = 2 * device->cores_per_sm * per_rate;
    snprintf(device->architecture, sizeof device->architecture, "%s", design->architecture);
    device->fp16_vector_tflops = rate->fp16_vector * per_rate;
    device->bf16_vector_tflops = rate->bf16_vector * per_rate;
    device->tf32_matrix_tflops = half * rate->tf32 * per_rate;
    device->fp16_matrix_tflops = half * rate->fp16 * per_rate;
    device->bf16_matrix_tflops = half * rate->bf16 * per_rate;
    device->fp8_matrix_tflops = half * rate->fp8 * per_rate;
    device->fp4_matrix_tflops = rate->fp4 * per_rate;
    device->int8_matrix_tops = rate->int8 * per_rate;
}

/* The board of a MIG slice: "NVIDIA H200 MIG 1g.18gb" is of an NVIDIA H200. */
static bool board_of(const struct rt_cuda_gpu_found *found, char board[96], struct rt_device *out)
{
    snprintf(board, 96, "%s", found->gpu);
    char *slice = strstr(board, " MIG ");
    if (slice != NULL)
        *slice = '\0';
    return rt_device_named(board, out) == RT_OK;
}

static void scale_peaks(struct rt_device *device, double factor)
{
    for (size_t f = 0; f < rt_device_field_count; f++)
        if (strstr(rt_device_fields[f].units, "OP/s") != NULL)
            *rt_device_value(device, f) *= factor;
}

/* Slices of other profiles have whole eighths of a board's memory and of its channels. */
static void scale_memory(const struct rt_cuda_gpu_found *found, struct rt_device *device)
{
    double gib = (double)found->memory_bytes * 0x1p-30;
    double eighths = fmin(8, fmax(1, round(8 * gib / device->memory_gib)));
    device->bandwidth_gbs *= eighths / 8;
    device->memory_gib = gib;
    if (found->l2_bytes > 0)
        device->l2_mib = fmin(device->l2_mib, found->l2_bytes * 0x1p-20);
}

static double known(double value)
{
    return value > 0 ? value : NAN;
}

/* Memory transfers twice per cycle of the clock that the driver reports. */
static void from_attributes(const struct rt_cuda_gpu_found *found, struct rt_device *device)
{
    rt_device_init(device, found->gpu);
    strcpy(device->vendor, "NVIDIA");
    snprintf(device->compute_capability, sizeof device->compute_capability, "%d.%d",
             found->capability / 10 % 100, found->capability % 10);
    device->sms = found->gpu_sms;
    device->clock_mhz = known(1e-3 * found->clock_khz);
    device->memory_gib = (double)found->memory_bytes * 0x1p-30;
    device->bandwidth_gbs = known(2e-6 * found->memory_clock_khz * found->bus_bits / 8);
    device->l2_mib = known(found->l2_bytes * 0x1p-20);
    device->shared_kib_per_sm = known(found->shared_bytes_per_sm * 0x1p-10);
    if (found->ecc >= 0 && rt_memory_kind_of(device) == RT_MEMORY_GDDR)
        device->ecc_inline = found->ecc;
    device->boost_typical = is_geforce(found); /* as NVIDIA's data sheets of them have it */
}

static void describe_whole(const struct rt_cuda_gpu_found *found, struct rt_device *out)
{
    struct rt_device reported, board;
    char name[96];
    from_attributes(found, &reported);
    if (slice_of(found, &board)) {
        scale_peaks(&board, found->gpu_sms / board.sms);
        rt_device_fill(&board, &reported);
        *out = board;
    } else if (board_of(found, name, &board)) {
        struct rt_device device;
        rt_device_init(&device, found->gpu);
        rt_device_fill(&device, &board);
        scale_peaks(&device, found->gpu_sms / board.sms);
        if (strcmp(name, found->gpu) != 0)
            scale_memory(found, &device);
        rt_device_fill(&device, &reported);
        if (strcmp(found->name, board.name) != 0)
            strcpy(device.whole, board.name);
        *out = device;
    } else {
        peaks_by_rate(found, &reported);
        *out = reported;
    }
    out->sms = found->gpu_sms;
}

void rt_cuda_describe(const struct rt_cuda_gpu_found *found, struct rt_device *out)
{
    struct rt_device whole;
    describe_whole(found, &whole);
    if (found->sms >= found->gpu_sms || rt_device_share(&whole, found->sms, true, out) != RT_OK)
        *out = whole;
    snprintf(out->name, sizeof out->name, "%s", found->name);
}

const char *rt_cuda_peaks_source(const struct rt_cuda_gpu_found *found)
{
    struct rt_device board;
    char name[96];
    if (board_of(found, name, &board))
        return found->sms == board.sms ? "catalogue" : "catalogue, times the share of SMs";
    from_attributes(found, &board);
    return isnan(rates_of(&board)->fp16_vector) ? "fp32 as the lanes of an SM; matrix units not known"
                                                : "rates of the architecture times SMs and clock";
}
