/* See numbers.h. */
#include "predict/step/numbers.h"
#include "base/status.h"
#include "base/units.h"
#include "models/networks/step.h"

#include <stddef.h>
#include <string.h>

#define NUMBER(key, member, ...)                                                                             \
    {                                                                                                        \
        key, offsetof(struct rt_forecast, member), __VA_ARGS__                                               \
    }
const struct rt_forecast_number rt_forecast_numbers[] = {
    NUMBER("time_ms", total_us, 1e3, 0, false),
    NUMBER("low_ms", interval_low_us, 1e3, 0, false),
    NUMBER("high_ms", interval_high_us, 1e3, 0, false),
    NUMBER("forward_ms", forward_us, 1e3, 0, false),
    NUMBER("backward_ms", backward_us, 1e3, 0, false),
    NUMBER("communication_ms", communication_us, 1e3, 0, false),
    NUMBER("kernels_ms", compute_us, 1e3, 0, false),
    NUMBER("host_ms", host_us, 1e3, 0, false),
    NUMBER("copy_ms", copy_us, 1e3, 0, false),
    NUMBER("coverage", coverage, 1, 0, false),
    NUMBER("energy_j", energy.joules, 1, RT_WANT_ENERGY, true),
    NUMBER("energy_low_j", energy.low_joules, 1, RT_WANT_ENERGY, true),
    NUMBER("energy_high_j", energy.high_joules, 1, RT_WANT_ENERGY, true),
    NUMBER("power_w", energy.watts, 1, RT_WANT_ENERGY, false),
    NUMBER("power_low_w", energy.low_watts, 1, RT_WANT_ENERGY, false),
    NUMBER("power_high_w", energy.high_watts, 1, RT_WANT_ENERGY, false),
    NUMBER("limit_w", energy.limit_w, 1, RT_WANT_ENERGY, false),
    NUMBER("clock_mhz", energy.clock_mhz, 1, RT_WANT_ENERGY, false),
    NUMBER("memory_gib", taken.used, RT_GIB, RT_WANT_MEMORY, false),
    NUMBER("device_memory_gib", memory_bytes, RT_GIB, RT_WANT_MEMORY, false),
    NUMBER("weights_gib", memory.weights, RT_GIB, RT_WANT_MEMORY, false),
    NUMBER("gradients_gib", memory.gradients, RT_GIB, RT_WANT_MEMORY, false),
    NUMBER("optimizer_gib", memory.optimizer, RT_GIB, RT_WANT_MEMORY, false),
    NUMBER("activations_gib", memory.activations, RT_GIB, RT_WANT_MEMORY, false),
    NUMBER("cache_gib", memory.cache, RT_GIB, RT_WANT_MEMORY, false),
};
const size_t rt_forecast_number_count = RT_COUNT(rt_forecast_numbers);

const struct rt_forecast_number *rt_forecast_number_named(const char *key)
{
    for (size_t i = 0; i < rt_forecast_number_count; i++)
        if (strcmp(rt_forecast_numbers[i].key, key) == 0)
            return &rt_forecast_numbers[i];
    return NULL;
}

double rt_forecast_number(const struct rt_forecast *forecast, const struct rt_forecast_number *number)
{
    double value = *(const double *)((const char *)forecast + number->offset);
    return value / number->unit * (number->of_all ? forecast->energy.gpus : 1);
}
