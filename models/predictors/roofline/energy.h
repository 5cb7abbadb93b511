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
 * boost clock (rt_power_voltage). The energy of FLOPs and of the L2 goes with v^2 (dynamic power C V^2 f),
 * active watts with phi v^2, in part with v (leakage), the core's share of idle watts with v; memory stays as
 * it is.
 */
#pragma once

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

/* Watts of a board between kernels, clocks up, at a core voltage (rt_power_voltage; 1: at the boost clock):
 * its `idle_w` at the boost clock, else by its power and its kind and size of memory; what the core leaks of
 * it goes with the voltage. NaN where neither is known. */
double rt_energy_idle_w(const struct rt_device *device, double voltage);

/* ---- watts against the clock, and what a power limit leaves of them ---- */

/* Core voltage at a share of the boost clock, over that at the boost clock: in proportion to the clock down
 * to a floor, 0.7. Below the floor a lower clock saves no energy per operation any more: it only stretches
 * the time in which the GPU draws its static power, which is what makes low limits cost energy. The floor was
 * chosen from 0.6, 0.65, 0.7 and 0.75 by time and power against power limits on P100, V100 and Quadro RTX
 * 6000, each GPU by the other two (docs/log/energy.md). */
double rt_power_voltage(double clock_share);

/* The least clock of a GPU, over its boost clock: no limit makes it slower. Drivers list 210 of 1740 MHz
 * (A40), 210 of 1410 (A100), 300 of 1770 (Quadro RTX 6000), 345 of 1980 (H100; `nvidia-smi -q -d
 * SUPPORTED_CLOCKS`, from memory). Under 100 W an A40 takes 2.9 to 4.4 times as long, what 0.13 to 0.15 does,
 * and draws up to 121 W. */
#define RT_POWER_LEAST_CLOCK 0.16

/* A step is RT_POWER_PHASES phases of equal time, as it runs at the board's limit. While kernels run, a phase
 * draws a base (idle and clocked, the same for all) and rt_power_phase_gain() times the mean dynamic power:
 * the midpoints of equal parts of a lognormal distribution with a deviation of 0.25 in ln, mean 1. The limit
 * holds for each phase by itself, as boards regulate within milliseconds; so a step that is limited only now
 * and then draws less than its limit on average: 0.91 of 250 W where BERT trains on a V100, and nearly all of
 * 100 W. */
enum { RT_POWER_PHASES = 5 };
double rt_power_phase_gain(int phase);

/* Watts that a board keeps to: 0.98 of its limit. Long phases under a limit average 0.97 to 1.00 of it. */
double rt_power_kept(double limit_w);

/* Average watts while kernels run of a step whose kernels would draw base_w + dynamic_w were there no limit;
 * grows with all three. NaN as limit_w: there is none. */
double rt_power_clipped(double base_w, double dynamic_w, double limit_w);
