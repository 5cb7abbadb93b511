/*
 * The energy of a launch, in joules, by what takes it: a roofline of energy (Choi, Bedard, Fowler and Vuduc,
 * IPDPS 2013). Every FLOP and every byte takes so many picojoules, and time takes power:
 *
 *   joules = FLOPs e_unit + bytes through the L2 e_cache + bytes of memory e_dram
 *            + busy time x active watts + time x idle watts
 *
 * What is here are physical priors. A predictor scales each part
 * (models/predictors/predictor/energy_model.h); nothing in this folder is fitted to measured energy.
 *
 * Clock and voltage: at a clock that is `phi` of the boost clock chips run at a voltage v(phi) of that at the
 * boost clock (power_clip.h). The energy of FLOPs and of the L2 goes with v^2 (dynamic power C V^2 f), active
 * watts with phi v^2, in part with v (leakage); memory and idle watts stay as they are.
 */
#ifndef ROOFTILE_MODELS_PREDICTORS_ROOFLINE_ENERGY_H
#define ROOFTILE_MODELS_PREDICTORS_ROOFLINE_ENERGY_H

#include "datasets/call.h"
#include "datasets/device.h"

#include <stdbool.h>

enum rt_energy_part {
    RT_ENERGY_MATRIX, /* FLOPs on matrix units */
    RT_ENERGY_VECTOR, /* FLOPs on vector lanes; also products, where the device has no units for the dtype */
    RT_ENERGY_CACHE,  /* bytes between L2 and multiprocessors */
    RT_ENERGY_DRAM,   /* bytes that miss the L2 */
    RT_ENERGY_ACTIVE, /* beside idle, while kernels run: clocks, leakage */
    RT_ENERGY_IDLE,   /* at rest, all the time */
    RT_ENERGY_PARTS
};
extern const char *const rt_energy_parts[RT_ENERGY_PARTS]; /* "matrix", "vector" ... */

/* What a device takes at its clock, by the priors. All NaN where its board power is unknown. */
struct rt_energy_rates {
    double flop[2][RT_DTYPE_COUNT]; /* J of a FLOP: of families on vector lanes, of those on matrix units */
    enum rt_energy_part unit[RT_DTYPE_COUNT]; /* of the latter: MATRIX, or VECTOR where there are none */
    double cache, dram;                       /* J of a byte */
    double active_w, idle_w;
};
void rt_energy_rates_of(const struct rt_device *device, struct rt_energy_rates *out);

/* What a kernel does. */
struct rt_work {
    enum rt_family family;
    enum rt_dtype dtype;
    double flops, bytes; /* compulsory traffic, every operand once */
    double cold_bytes;   /* of them, those that no cache can hold since they were last read */
    double reread_bytes; /* moved beside `bytes`, from memory */
};

/* Adds `runs` of it to joules (RT_ENERGY_PARTS), but for ACTIVE and IDLE, which are of time. It never falls
 * with FLOPs or bytes. */
void rt_energy_add_work(const struct rt_energy_rates *rates, const struct rt_device *device,
                        const struct rt_work *work, double runs, double joules[RT_ENERGY_PARTS]);
/* Adds what time takes: `busy_us` of `step_us`. */
void rt_energy_add_time(const struct rt_energy_rates *rates, double busy_us, double step_us,
                        double joules[RT_ENERGY_PARTS]);

/* The device's clock over its boost clock: 1 unless it is a device at another clock (datasets/share.h). */
double rt_energy_clock(const struct rt_device *device);

#endif
