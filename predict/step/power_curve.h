/*
 * Time and power against the limit, from one measured point at full power: of a step that nobody forecasts,
 * by its GPU alone. What a step is made of is not known then, so the constants are those of the GPUs that
 * were measured under limits (P100, V100, Quadro RTX 6000; each judged by constants chosen on the other two,
 * docs/log/energy.md), as shares of the board's power:
 *   watts between kernels as the GPU's (rt_energy_idle_w; what its core takes of them goes with the voltage); a GPU that is busy all the time would draw 1.1; of its dynamic energy
 *   0.1 does not follow the voltage (memory); of its busy time 0.85 follows the clock.
 * A step that draws less than such a GPU waits for its host, or its kernels draw less: half of each, in ln.
 * Of the time that the GPU waits, half gives way when kernels take longer (the host runs ahead), half stays.
 */
#pragma once

#include "datasets/device.h"
#include "predict/step/power.h"
#include "predict/step/energy.h"

/* The profile of a step that takes `step_us` and `watts` on average under `limit_w`, in scales of 1.
 * RT_EUSAGE where one of them is not above 0, or the watts are above the limit. */
int rt_power_profile_of_point(const struct rt_device *device, double step_us, double watts, double limit_w,
                              struct rt_power_profile *out);

/* The step under each of `limit` (count). At limits of limit_w and above it is the point itself. */
int rt_power_curve_from_point(const struct rt_device *device, double step_us, double watts, double limit_w,
                              const double *limit, size_t count, struct rt_power_state *out);

/* Which of a curve's states takes the least joules, and which the least joules x time. Of states that are the
 * same to 0.1% it is the one with the lowest limit, which other GPUs of the room may have the rest of;
 * `limit` may be in any order. */
size_t rt_power_least_energy(const struct rt_power_state *states, const double *limit, size_t count);
size_t rt_power_least_delay_product(const struct rt_power_state *states, const double *limit, size_t count);
