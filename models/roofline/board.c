/* Boards and their architectures. See board.h. */
#include "models/roofline/board.h"
#include "base/status.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* Process nodes as the vendors' white papers name them (Blackwell and Hopper: 4N, a 5 nm process). */
static const struct rt_architecture_row rows[] = {
    {"Pascal", 16, 2048, 1},         {"Volta", 12, 2048, 1}, {"Turing", 12, 1024, 1},
    {"Ampere", 7, 2048, 2}, /* GA100; "each L2 partition caches data for the SMs directly connected" */
    {"Ada Lovelace", 5, 1536, 1},    {"Hopper", 5, 2048, 2}, {"Blackwell", 5, 2048, 2},
    {"Blackwell Ultra", 5, 2048, 2}, {"CDNA", 7, 2560, 1},   {"CDNA2", 6, 2048, 1},
    {"CDNA3", 5, 2048, 1},
};
static const struct rt_architecture_row unknown = {"", 0, 2048, 1};

const struct rt_architecture_row *rt_architecture_of(const struct rt_device *device)
{
    for (size_t i = 0; i < RT_COUNT(rows); i++)
        if (strcasecmp(rows[i].name, device->architecture) == 0)
            return &rows[i];
    return &unknown;
}

double rt_multiprocessors(const struct rt_device *device)
{
    bool halved = strcmp(device->compute_capability, "6.1") == 0 && device->cores_per_sm == 64;
    return halved ? device->sms / 2 : device->sms;
}

double rt_near_l2_bytes(const struct rt_device *device)
{
    return device->l2_mib * 1048576 / rt_architecture_of(device)->l2_parts;
}

const char *const rt_memory_kinds[RT_MEMORY_KINDS] = {"gddr", "hbm", "hbm_other"};

enum rt_memory_kind rt_memory_kind_of(const struct rt_device *device)
{
    bool board = strstr(device->name, "RTX") != NULL || strstr(device->name, "GeForce") != NULL ||
                 strcmp(device->architecture, "Ada Lovelace") == 0;
    if (board || !(device->bandwidth_gbs > 500))
        return RT_MEMORY_GDDR;
    bool other = strcmp(device->architecture, "Pascal") == 0 || strncmp(device->architecture, "CDNA", 4) == 0;
    return other ? RT_MEMORY_HBM_OTHER : RT_MEMORY_HBM;
}

/* pJ of an fp32 FLOP; NaN where the process is unknown. */
static double flop_picojoules(double node_nm)
{
    const double at_12 = 11.4;
    if (node_nm >= 12)
        return at_12;
    return node_nm >= 7 ? 0.45 * at_12 : node_nm >= 6 ? 0.40 * at_12 : node_nm > 0 ? 0.31 * at_12 : NAN;
}

double rt_sustained_flops(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype)
{
    double peak = rt_device_peak_flops(device, family, dtype);
    double watts = RT_CORE_POWER * device->power_w;
    double sustained = watts / (1e-12 * flop_picojoules(rt_architecture_of(device)->node_nm));
    return dtype == RT_FP32 && sustained < peak ? sustained : peak;
}

double rt_cycles_us(const struct rt_device *device, double cycles)
{
    const double usual_mhz = 1700; /* where nobody says */
    return cycles / (device->clock_mhz > 0 ? device->clock_mhz : usual_mhz);
}
