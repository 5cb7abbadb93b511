/* Boards and their architectures. See board.h. */
#include "models/predictors/roofline/board.h"
#include "base/units.h"
#include "datasets/mig.h"
#include "datasets/share.h"

#include <math.h>

double rt_near_l2_bytes(const struct rt_device *device)
{
    return device->l2_mib * RT_MIB / rt_design_of(device)->l2_parts;
}

/* GDDR that carries the check bits of ECC itself. */
static bool carries_check_bits(const struct rt_device *device)
{
    return isnan(device->ecc_inline) ? rt_memory_kind_of(device) == RT_MEMORY_GDDR : device->ecc_inline > 0;
}

double rt_memory_gain(const struct rt_device *device)
{
    const double gain = 1.1;
    return rt_memory_kind_of(device) == RT_MEMORY_GDDR && !carries_check_bits(device) ? gain : 1;
}

double rt_memory_for_programs_gib(const struct rt_device *device)
{
    if (rt_mig_is_slice(device) || rt_design_of(device)->memory == RT_MEMORY_KINDS)
        return device->memory_gib;
    return device->memory_gib * 0.99 * (carries_check_bits(device) ? 15.0 / 16 : 1);
}

/* Over the clock of the data sheet. */
static double clock_gain(const struct rt_device *device)
{
    return device->boost_typical > 0 ? 1.1 : 1;
}

/* The peak of full-rate units whose products take as long. */
static double fed_peak(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype)
{
    const double gain = 1.2, share = 0.6, usual_rate = 1024; /* where nobody has looked */
    double peak = rt_issued_flops(device, family, dtype), rate = rt_design_of(device)->rates.fp16;
    if (!rt_families[family].tensor || dtype == RT_FP32 || !rt_device_has_matrix_units(device, dtype) ||
        !(device->clock_mhz > 0))
        return peak;
    double fed = share * (rate > 0 ? rate : usual_rate) * 2 / rt_dtypes[dtype].input_bytes * device->sms *
                 1e6 * device->clock_mhz;
    return fmax(peak, fmin(gain * peak, fed));
}

struct rt_rates rt_rates_of(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype)
{
    double units = fed_peak(device, family, dtype), peak = clock_gain(device) * units,
           power = rt_power_flops(device, family, dtype, units);
    return (struct rt_rates){.peak_flops = peak,
                             .sustained_flops = power < peak ? power : peak,
                             .bandwidth = 1e9 * device->bandwidth_gbs,
                             .sms = device->sms};
}

struct rt_rates rt_library_rates(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype,
                                 double hits)
{
    struct rt_device whole;
    rt_share_whole(device, &whole);
    struct rt_rates rates = rt_rates_of(&whole, family, dtype);
    rates.bandwidth /= 1 - (1 - rt_product_l2_cost(&whole)) * hits;
    return rates;
}

double rt_l2_hits(const struct rt_device *device, double bytes)
{
    const double fits = 0.85;
    return 1 / (1 + exp(-4 * log2(fits * device->l2_mib * RT_MIB / bytes)));
}

/* Bytes in a cycle of each of a device's multiprocessors, in GB/s. */
static double cycle_gbs(const struct rt_device *device, double bytes)
{
    return bytes / (1e3 * rt_cycles_us(device, 1));
}

static const double PORT_BYTES = 64; /* of a multiprocessor, in a cycle */

double rt_l2_cost(const struct rt_device *device)
{
    const double hit = 0.3;
    double port = cycle_gbs(device, PORT_BYTES);
    if (device->share_of.sms == 0)
        return hit;
    double whole = device->share_of.bandwidth_gbs / hit;
    return device->bandwidth_gbs / fmin(whole, device->sms * fmax(port, whole / device->share_of.sms));
}

double rt_l2_least_cost(const struct rt_device *device)
{
    return fmin(rt_l2_cost(device), device->bandwidth_gbs / (device->sms * cycle_gbs(device, PORT_BYTES)));
}

double rt_vector_l2_bandwidth(const struct rt_device *device)
{
    const double bytes = 22;
    return 1e9 * device->sms * cycle_gbs(device, bytes);
}

double rt_vector_memory_us(const struct rt_device *device, double missed, double held)
{
    double l2 = rt_vector_l2_bandwidth(device), memory = fmin(1e9 * device->bandwidth_gbs, l2);
    return 1e6 * (missed / memory + held / l2);
}

double rt_product_l2_cost(const struct rt_device *device)
{
    double memory = 1e9 * device->bandwidth_gbs, l2 = fmax(memory, rt_vector_l2_bandwidth(device));
    return fmax(rt_l2_cost(device), memory / l2);
}

double rt_cycles_us(const struct rt_device *device, double cycles)
{
    const double usual_mhz = 1700; /* where nobody says */
    return cycles / (device->clock_mhz > 0 ? device->clock_mhz : usual_mhz);
}
