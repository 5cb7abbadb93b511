/* Energy of kernels. See kernel_energy.h. */
#include "predict/evaluate/kernel_energy.h"
#include "base/status.h"
#include "predict/step/energy.h"

#include <math.h>

double rt_kernel_energy_mj(const struct rt_predictor *predictor, const struct rt_device *device,
                           const struct rt_query *query, double time_us)
{
    struct rt_power_profile profile;
    struct rt_power_state state;
    struct rt_launch launch;
    double scale[RT_ENERGY_PARTS];
    rt_power_profile_kernel(query, device, time_us, &profile);
    rt_energy_scales(&predictor->energy, device, scale);
    if (rt_power_at(&profile, scale, device->power_w, &state) != RT_OK)
        return NAN;
    double mj = 1e3 * state.joules;
    return rt_launch_init_whole(&launch, query, device)
               ? fmax(mj, rt_targets[RT_TARGET_ENERGY].bound(&launch))
               : mj;
}

void rt_kernel_energy_intervals(const struct rt_predictor *predictor, const struct rt_device *device,
                                const struct rt_query *query, const double *level, size_t count, double *half)
{
    rt_predictor_intervals(predictor, device, query, level, count, half);
    for (size_t l = 0; l < count; l++)
        half[l] = hypot(half[l], rt_energy_interval(&predictor->energy, device, level[l]));
}
