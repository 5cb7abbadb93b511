/* Joules of launches by part. See energy.h. */
#include "models/predictors/roofline/energy.h"
#include "models/predictors/roofline/board.h"

#include <math.h>

const char *const rt_energy_parts[RT_ENERGY_PARTS] = {"matrix", "vector", "cache", "dram", "active", "idle"};

/* ---- clock, voltage and limit ---- */

double rt_power_voltage(double clock_share)
{
    const double floor_share = 0.7;
    return fmax(floor_share, clock_share);
}

double rt_power_phase_gain(int phase)
{
    /* exp(0.25 z) over its mean, z: the normal quantiles of 0.1, 0.3, 0.5, 0.7, 0.9 */
    static const double gain[RT_POWER_PHASES] = {0.708752, 0.856448, 0.976421, 1.113200, 1.345179};
    return gain[phase];
}

double rt_power_kept(double limit_w)
{
    return 0.98 * limit_w;
}

double rt_power_clipped(double base_w, double dynamic_w, double limit_w)
{
    double sum = 0;
    for (int phase = 0; phase < RT_POWER_PHASES; phase++) /* fmin leaves out a limit that is NaN */
        sum += fmin(base_w + rt_power_phase_gain(phase) * dynamic_w, rt_power_kept(limit_w));
    return sum / RT_POWER_PHASES;
}

/* ---- joules ---- */

/* Between kernels, clocks up: the core takes a share of the board's power, memory W a GiB: chips and
 * interfaces of GDDR run at their full clock whatever the GPU does. They solve the least that host-bound NCF
 * draws of Zeus' boards: P100 33.5 W, V100 36.1, Quadro RTX 6000 55.3, A40 82.2; of all but the A40 they
 * say 83.4 for it, of all but the RTX 6000 54.7 (docs/log/energy.md). At most REST_MOST, what an L4 comes to:
 * boards of the GDDR designs with LPDDR have more of it. ACTIVE_SHARE: clocks and leakage beside it at the
 * boost clock while kernels run. */
static const double REST_SHARE = 0.125, REST_MOST = 0.45, ACTIVE_SHARE = 0.14, LEAKAGE = 0.4;
static const double GIB_WATTS[RT_MEMORY_KINDS] = {
    [RT_MEMORY_GDDR] = 0.95, [RT_MEMORY_HBM] = 0.15, [RT_MEMORY_HBM_OTHER] = 0.15};
/* A byte between L2 and multiprocessors in a 12 nm process, 9 pJ a bit: arrays, and wires across the chip, of
 * which Horowitz (ISSCC 2014) has 100 pJ for 64 bits out of 1 MB at 45 nm without the wires. */
static const double CACHE_PICOJOULES = 70;
/* Products are computed in tiles of so many rows and columns, each of which reads its part of both operands
 * out of the L2. */
static const double TILE = 128;

/* Chips that boost higher run at a higher voltage there: energy of switching at the boost clock over that at
 * 1650 MHz. */
static double boost_energy(const struct rt_device *boost)
{
    const double usual_mhz = 1650;
    return boost->clock_mhz > 0 ? boost->clock_mhz / usual_mhz : 1;
}

double rt_energy_clock(const struct rt_device *device)
{
    return device->boost_mhz > 0 ? device->clock_mhz / device->boost_mhz : 1;
}

double rt_energy_idle_w(const struct rt_device *device, double voltage)
{
    double core = REST_SHARE * device->power_w, gib = device->memory_gib > 0 ? device->memory_gib : 0;
    double memory = fmin(GIB_WATTS[rt_memory_kind_of(device)] * gib, REST_MOST * device->power_w - core);
    double own = device->idle_w > 0 ? device->idle_w / (core + memory) : 1;
    return isnan(core) ? device->idle_w > 0 ? device->idle_w : NAN : own * (voltage * core + memory);
}

/* The device at its boost clock. */
static struct rt_device at_boost(const struct rt_device *device)
{
    struct rt_device boost = *device;
    double gain = 1 / rt_energy_clock(device);
    for (size_t f = 0; gain != 1 && f < rt_device_field_count; f++)
        if (rt_device_fields[f].peak)
            *rt_device_value(&boost, f) *= gain;
    boost.clock_mhz *= gain;
    boost.boost_mhz = 0;
    return boost;
}

/* Of the energy that a FLOP takes at the boost clock: its voltage, squared. Matrix units that the board's
 * power does not let boost run at the clock that it sustains. What an fp32 FLOP takes is known at the
 * sustained clock itself. */
static double flop_voltage(const struct rt_device *boost, enum rt_family family, enum rt_dtype dtype,
                           double phi)
{
    double sustained = rt_sustained_flops(boost, family, dtype) / rt_device_peak_flops(boost, family, dtype);
    double own = rt_power_voltage(fmin(phi, sustained > 0 ? sustained : 1));
    return dtype == RT_FP32 ? own / rt_power_voltage(sustained) : own;
}

/* Does the device have matrix units for the dtype? They are faster than its lanes. */
static bool has_matrix_units(const struct rt_device *device, enum rt_dtype dtype)
{
    double lanes = rt_device_peak_flops(device, RT_FAMILY_ELEMENTWISE, dtype);
    return !(rt_device_peak_flops(device, RT_FAMILY_LINEAR, dtype) <= lanes);
}

void rt_energy_rates_of(const struct rt_device *device, struct rt_energy_rates *out)
{
    double phi = rt_energy_clock(device), v = rt_power_voltage(phi), power = device->power_w;
    struct rt_device boost = at_boost(device);
    double known = power > 0 ? 1e-12 : NAN, switched = known * boost_energy(&boost);
    for (int d = 0; d < RT_DTYPE_COUNT; d++) {
        bool matrix = has_matrix_units(device, d);
        out->unit[d] = matrix ? RT_ENERGY_MATRIX : RT_ENERGY_VECTOR;
        for (int tensor = 0; tensor < 2; tensor++) {
            enum rt_family family = tensor ? RT_FAMILY_LINEAR : RT_FAMILY_ELEMENTWISE;
            double voltage = flop_voltage(&boost, family, d, phi);
            out->flop[tensor][d] =
                switched * rt_flop_picojoules(device, d, tensor && matrix) * voltage * voltage;
        }
    }
    out->cache = switched * CACHE_PICOJOULES * rt_process_energy(device) * v * v;
    out->dram = known * 8 * rt_design_of(device)->memory_picojoules;
    out->idle_w = rt_energy_idle_w(device, v);
    out->active_w = ACTIVE_SHARE * power * (LEAKAGE * v + (1 - LEAKAGE) * phi * v * v);
}

void rt_energy_add_work(const struct rt_energy_rates *rates, const struct rt_device *device,
                        const struct rt_work *work, double runs, double joules[RT_ENERGY_PARTS])
{
    const struct rt_family_row *family = &rt_families[work->family];
    double cold = fmin(work->cold_bytes, work->bytes), width = rt_dtypes[work->dtype].input_bytes;
    double missed = cold + (work->bytes - cold) * (1 - rt_l2_hits(device, work->bytes));
    double tiled = family->tensor ? width * work->flops / TILE : 0;
    enum rt_energy_part unit = family->tensor ? rates->unit[work->dtype] : RT_ENERGY_VECTOR;
    joules[unit] += runs * work->flops * rates->flop[family->tensor][work->dtype];
    joules[RT_ENERGY_CACHE] += runs * (work->bytes + work->reread_bytes + tiled) * rates->cache;
    joules[RT_ENERGY_DRAM] += runs * (missed + work->reread_bytes) * rates->dram;
}

void rt_energy_add_time(const struct rt_energy_rates *rates, double busy_us, double step_us,
                        double joules[RT_ENERGY_PARTS])
{
    joules[RT_ENERGY_ACTIVE] += 1e-6 * busy_us * rates->active_w;
    joules[RT_ENERGY_IDLE] += 1e-6 * step_us * rates->idle_w;
}
