/* Why a kernel or run of a device was not used for calibration. */
#ifndef ROOFTILE_TRAIN_CALIBRATE_UNUSED_H
#define ROOFTILE_TRAIN_CALIBRATE_UNUSED_H

#include <stdint.h>

enum rt_unused {
    RT_UNUSED_FAILED,
    RT_UNUSED_THROTTLED,
    RT_UNUSED_UNSTABLE,
    RT_UNUSED_NO_LATENCY,
    RT_UNUSED_IMPOSSIBLE,  /* a kernel faster than the roofline of its device: datasets/validate.h */
    RT_UNUSED_NO_FORECAST, /* no network with device effects, no peak, no tile or no model of that name */
    RT_UNUSED_COUNT
};
struct rt_unused_row {
    const char *key, *words; /* for JSON; behind "12 kernels" */
};
extern const struct rt_unused_row rt_unused[RT_UNUSED_COUNT];

/* By the measurement alone; RT_UNUSED_COUNT where it can be used. `flags`: of enum rt_sample_flag. */
enum rt_unused rt_unused_of(uint32_t flags, double latency_us);

#endif
