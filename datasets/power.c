/* What a board's power sustains. See power.h. */
#include "datasets/power.h"
#include "datasets/designs.h"

#include <math.h>

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

/* pJ of an fp32 FLOP in a product, as measured at 5 and at 8 nm; NaN where the process is unknown. */
static double product_picojoules(double node_nm)
{
    const double measured_at_5 = 1.35, measured_at_8 = 1.6;
    bool at_5 = node_nm > 0 && node_nm < 6;
    bool at_8 = node_nm >= 8 && node_nm < 12;
    return flop_picojoules(node_nm) * (at_8 ? measured_at_8 : at_5 ? measured_at_5 : 1);
}

/* Are there neither matrix units for it nor lanes that do more of it than of fp32? */
static bool is_converted(const struct rt_device *device, enum rt_dtype dtype)
{
    const struct rt_design *design = rt_design_of(device);
    double rate = dtype == RT_FP16 ? design->rates.fp16_vector : design->rates.bf16_vector;
    return (dtype == RT_FP16 || dtype == RT_BF16) && !rt_device_has_matrix_units(device, dtype) &&
           !(rate > 2 * design->lanes);
}

double rt_power_flops(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype, double peak)
{
    if (dtype == RT_FP32 || (rt_families[family].tensor && is_converted(device, dtype)))
        return RT_CORE_POWER * device->power_w / (1e-12 * product_picojoules(rt_design_of(device)->node_nm));
    if (!rt_families[family].tensor || !(device->clock_mhz > 0))
        return NAN;
    double flops_a_cycle = peak / (1e6 * device->clock_mhz);
    return 1e6 * matrix_clock_mhz(device, dtype, flops_a_cycle) * flops_a_cycle;
}

/* cuDNN's TF32 kernels are Ampere's, whose instructions are issued by warps: on Hopper such reach 0.63 of the
 * peak (Luo et al. 2024, arXiv 2402.13499), 1,290 FLOP a cycle of a multiprocessor, and no newer design is
 * known to do more. */
static const double TF32_BY_WARPS = 1290;

double rt_issued_flops(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype)
{
    double peak = rt_device_peak_flops(device, family, dtype);
    const struct rt_design *design = rt_design_of(device);
    if (family == RT_FAMILY_CONV && dtype == RT_TF32 && rt_design_asynchronous(design))
        return peak * TF32_BY_WARPS / design->rates.tf32;
    return dtype == RT_FP32 && rt_families[family].tensor ? peak * rt_design_of(device)->fp32_issue : peak;
}

double rt_sustained_flops(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype)
{
    double peak = rt_issued_flops(device, family, dtype),
           sustained = rt_power_flops(device, family, dtype, peak);
    return sustained < peak ? sustained : peak;
}

double rt_long_run(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype)
{
    double peak = rt_issued_flops(device, family, dtype);
    double burst = rt_power_flops(device, family, dtype, peak);
    double slower = fmin(peak, burst) / fmin(peak, burst / cbrt(RT_LONG_ENERGY));
    return slower > 1 ? slower : 1; /* NaN: 1 */
}
