/*
 * Device effects: how far a device is from its description in ops of a family, a random effect of the device.
 *
 *   ln(latency / what the network makes of the times) = w x compute + (1 - w) x memory,
 *
 * where w is 1 for calls of many FLOP per byte and 0 for calls of few (rt_tiled_call_compute_share); long
 * reductions and narrow results of products have an effect each. They are fitted together with the network,
 * one set for each measured device. A device that was not measured gets the prior (docs/method.md):
 *
 * - compute: median of its vendor's devices
 * - memory: mean of those with the same kind of memory; of products, whose operands come out of the L2, mean
 * of its vendor's
 * - depth, narrow: median of its vendor's, shrunk to those of its major compute capability, which run the
 * same binaries: how a library tiles products depends on them
 * - of attention and experts all four shrunk to those whose matrix units are fed alike, which decides the
 * kernels
 *   that libraries run (tiling.h)
 * - all four shrunk to those of the same compute capability, one design of multiprocessor
 * - dispatch overhead: median of its vendor's; it is the host's
 * - of collectives depth and narrow are what a server's host bridges and steps do (roofline/link.h): 0, as
 * one server says nothing of the next; compute, their start, is shrunk to GPUs of the same major compute
 * capability and kind of memory, the boards of one line
 */
#pragma once

#include "models/predictors/roofline/board.h"
#include "models/predictors/predictor/residual_correction.h"
#include "models/predictors/predictor/conformal_interval.h"
#include "models/predictors/predictor/fitted_keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rt_effect_part {
    RT_EFFECT_COMPUTE,
    RT_EFFECT_MEMORY,
    RT_EFFECT_DEPTH,
    RT_EFFECT_NARROW,
    RT_EFFECT_PARTS
};
enum { RT_QUEUED_PARTS = RT_EFFECT_MEMORY + 1 };

struct rt_device_effect {
    char device[96];
    char vendor[32];
    char capability[16]; /* compute capability, "8.6", "gfx90a"; "" unknown: equal to no other */
    enum rt_memory_kind memory_kind;
    double value[RT_EFFECT_PARTS]; /* added to ln latency */
    double dispatch_us;            /* dispatch overhead: the host's share of a kernel that is timed alone */
    /* Compute and memory, added to `value` for kernels in a queue: fitted to runs of whole models, else what
     * a slow session of kernels leads to expect. Zeros otherwise. */
    double queued[RT_QUEUED_PARTS];
    int64_t kernels;  /* that it was fitted to; 0: a prior */
    char dtypes[160]; /* their element types, as words; "": not known, of a file of an earlier build */
    bool calibrated;  /* fitted after the network; not part of the prior of other devices */
    /* Of a calibrated one, owned by the rt_device_effects that it is in: */
    struct rt_residual_correction correction;
    struct rt_fitted_keys fitted_keys; /* kernels and runs that it was calibrated to */
    /* Errors of its kernels of a dtype in units of their expected deviation, Student's t; 0: not known. */
    double interval_scale[RT_DTYPE_COUNT];
    /* By earlier builds instead: half-widths in units of the family's known 90%; 0: none. */
    double interval[RT_INTERVAL_LEVELS];
};

struct rt_device_effects {
    struct rt_device_effect *known; /* (count) */
    size_t count;
    enum rt_family family;
};

void rt_device_effects_release(struct rt_device_effects *effects);

/* The entry of a device with effects of 0. */
void rt_device_effect_init(struct rt_device_effect *effect, const struct rt_device *device);

/* The entry of a device by name, NULL where it was not measured. */
struct rt_device_effect *rt_device_effects_find(const struct rt_device_effects *effects, const char *device);

/* The entry that serves a device: its own, else that of the device it is a part of; NULL where neither was
 * measured. Altered numbers keep the name, so they keep the entry. */
struct rt_device_effect *rt_device_effects_known(const struct rt_device_effects *effects,
                                                 const struct rt_device *device);

/* Notes that it was fitted to kernels of that dtype. */
void rt_device_effect_add_dtype(struct rt_device_effect *effect, enum rt_dtype dtype);
/* Was it? True where the file does not say. */
bool rt_device_effect_has_dtype(const struct rt_device_effect *effect, enum rt_dtype dtype);

/* The entry (what it owns is borrowed); of a device without one the prior by the description, with the
 * effects and the correction of a calibrated board of its chip, whose kernels take as long for the same
 * reasons; zeros where there are no entries. */
void rt_device_effects_of(const struct rt_device_effects *effects, const struct rt_device *device,
                          struct rt_device_effect *out);

/* The prior, also of a measured device. */
void rt_device_effects_prior(const struct rt_device_effects *effects, const struct rt_device *device,
                             struct rt_device_effect *out);

/* Where a calibration starts: what training fitted, else the prior. An earlier calibration of a device that
 * training did not have does not count. What it owns is borrowed. */
void rt_device_effects_start(const struct rt_device_effects *effects, const struct rt_device *device,
                             struct rt_device_effect *out);

/* Puts an entry in, over what is there of its device, and takes over what it owns. A new entry is marked as
 * calibrated, one of a device that training had is not. */
void rt_device_effects_put(struct rt_device_effects *effects, const struct rt_device_effect *effect);

/* A copy that owns all it has. */
void rt_device_effects_copy(const struct rt_device_effects *effects, struct rt_device_effects *out);

/* In predictor files, in the group of their family. What a failed reading leaves is released as usual. */
int rt_device_effects_write(const struct rt_device_effects *effects, struct rt_h5 *file, const char *group);
/* `width` of a place of the network: rt_family_net_place_width. */
int rt_device_effects_read(struct rt_h5 *file, const char *group, size_t width,
                           struct rt_device_effects *effects);
