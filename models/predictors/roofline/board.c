/* Boards and their architectures. See board.h. */
#include "models/predictors/roofline/board.h"
#include "base/units.h"
#include "base/status.h"
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

/* Of a 16-bit FLOP on matrix units in a 5 nm process. */
static const double MATRIX_PICOJOULES = 0.5;

/* pJ of an fp32 FLOP; NaN where the process is unknown. */
static double flop_picojoules(double node_nm)
{
    const double at_12 = 11.4;
    if (node_nm >= 12)
        return at_12;
    return node_nm >= 7 ? 0.45 * at_12 : node_nm >= 6 ? 0.40 * at_12 : node_nm > 0 ? 0.31 * at_12 : NAN;
}

double rt_process_energy(const struct rt_device *device)
{
    const double usual_nm = 7; /* where nobody says */
    double node = rt_design_of(device)->node_nm;
    return flop_picojoules(node > 0 ? node : usual_nm) / flop_picojoules(12);
}

double rt_flop_picojoules(const struct rt_device *device, enum rt_dtype dtype, bool matrix)
{
    double of_lanes = flop_picojoules(12), of_matrix = MATRIX_PICOJOULES *
                                                       rt_design_of(device)->matrix_energy *
                                                       flop_picojoules(12) / flop_picojoules(5);
    double width = rt_dtypes[dtype].input_bytes;
    return rt_process_energy(device) * (matrix ? of_matrix * width / 2 : of_lanes * width / 4);
}

/* The clock at which matrix units stay within the board's power, in MHz; NaN where power or process are
 * unknown. */
static double matrix_clock_mhz(const struct rt_device *device, enum rt_dtype dtype, double flops_a_cycle)
{
    const double at_hz = 1650e6;
    const struct rt_design *design = rt_design_of(device);
    double node = design->matrix_energy * flop_picojoules(design->node_nm) / flop_picojoules(5);
    double joules = 1e-12 * MATRIX_PICOJOULES * node * rt_dtypes[dtype].input_bytes / 2;
    double watts = RT_CORE_POWER * device->power_w;
    return 1e-6 * cbrt(watts * at_hz * at_hz / (flops_a_cycle * joules));
}

/* pJ of an fp32 FLOP in a product, as measured at 5 nm; NaN where the process is unknown. */
static double product_picojoules(double node_nm)
{
    const double measured_at_5 = 1.35;
    return flop_picojoules(node_nm) * (node_nm > 0 && node_nm < 6 ? measured_at_5 : 1);
}

/* What the board's power sustains of units with such a peak; NaN where it is unknown. */
static double power_flops(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype,
                          double peak)
{
    if (dtype == RT_FP32)
        return RT_CORE_POWER * device->power_w / (1e-12 * product_picojoules(rt_design_of(device)->node_nm));
    if (!rt_families[family].tensor || !(device->clock_mhz > 0))
        return NAN;
    double flops_a_cycle = peak / (1e6 * device->clock_mhz);
    return 1e6 * matrix_clock_mhz(device, dtype, flops_a_cycle) * flops_a_cycle;
}

/* The data sheet's, of products in fp32 what their instructions leave of it. */
static double issued_peak(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype)
{
    double peak = rt_device_peak_flops(device, family, dtype);
    return dtype == RT_FP32 && rt_families[family].tensor ? peak * rt_design_of(device)->fp32_issue : peak;
}

double rt_sustained_flops(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype)
{
    double peak = issued_peak(device, family, dtype), sustained = power_flops(device, family, dtype, peak);
    return sustained < peak ? sustained : peak;
}

/* Over the clock of the data sheet. */
static double clock_gain(const struct rt_device *device)
{
    return device->boost_typical > 0 ? 1.1 : 1;
}

/* The peak of full-rate units whose products take as long. */
static double fed_peak(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype)
{
    const double gain = 1.2, flops_a_cycle = 614;
    double peak = issued_peak(device, family, dtype);
    if (!rt_families[family].tensor || dtype == RT_FP32 || !(device->clock_mhz > 0))
        return peak;
    double fed = flops_a_cycle * 2 / rt_dtypes[dtype].input_bytes * device->sms * 1e6 * device->clock_mhz;
    return fmax(peak, fmin(gain * peak, fed));
}

struct rt_rates rt_rates_of(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype)
{
    double units = fed_peak(device, family, dtype), peak = clock_gain(device) * units,
           power = power_flops(device, family, dtype, units);
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
    rates.bandwidth /= 1 - (1 - rt_l2_cost(&whole)) * hits;
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

double rt_cycles_us(const struct rt_device *device, double cycles)
{
    const double usual_mhz = 1700; /* where nobody says */
    return cycles / (device->clock_mhz > 0 ? device->clock_mhz : usual_mhz);
}
