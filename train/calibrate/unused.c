/* Why a kernel or run was not used. See unused.h. */
#include "train/calibrate/unused.h"
#include "datasets/dataset.h"

#include <math.h>

const struct rt_unused_row rt_unused[RT_UNUSED_COUNT] = {
    [RT_UNUSED_FAILED] = {"failed", "marked as failed"},
    [RT_UNUSED_THROTTLED] = {"throttled", "measured while the clock fell"},
    [RT_UNUSED_UNSTABLE] = {"unstable", "whose measurement did not become stable"},
    [RT_UNUSED_NO_LATENCY] = {"no_latency", "without a possible latency"},
    [RT_UNUSED_IMPOSSIBLE] = {"impossible", "faster than the roofline of the device allows"},
    [RT_UNUSED_NO_FORECAST] = {"no_forecast", "that the predictor has no network, peak or tile for"},
};

enum rt_unused rt_unused_of(uint32_t flags, double latency_us)
{
    return flags & RT_FLAG_FAILED             ? RT_UNUSED_FAILED
           : flags & RT_FLAG_THROTTLED        ? RT_UNUSED_THROTTLED
           : flags & RT_FLAG_UNSTABLE         ? RT_UNUSED_UNSTABLE
           : !rt_time_is_possible(latency_us) ? RT_UNUSED_NO_LATENCY
                                              : RT_UNUSED_COUNT;
}
