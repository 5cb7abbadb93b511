/*
 * The devices of an exploration: a base, and fields of it that vary. `--vary
 * sms=80:200:8,power_w=400:1000:100` is the grid of all combinations; of a Latin hypercube (McKay, Beckman
 * and Conover 1979) every axis is cut into as many equal parts as there are points, and each part holds one
 * point.
 */
#pragma once

#include "datasets/device.h"

#include <stdint.h>

enum { RT_MOST_AXES = 12 };
#define RT_MOST_POINTS 2000000

struct rt_axis {
    size_t field; /* of rt_device_fields */
    double low, high, step;
    size_t levels; /* low, low + step ...; 0: no step was given, any value between */
};

struct rt_space {
    struct rt_axis axis[RT_MOST_AXES]; /* the last one varies fastest in a grid */
    size_t axes;
    size_t points;
    double *sample; /* (points, axes) of a Latin hypercube; NULL: a grid */
};
void rt_space_release(struct rt_space *space);

/* Adds the axes of "field=LOW:HIGH:STEP,field=LOW:HIGH,field=VALUE". RT_EUSAGE: an unknown field, one that
 * varies twice, a range that is empty, reversed or beyond what a device may have, a step of 0 or less. */
int rt_space_read(const char *option, const char *text, struct rt_space *space);

/* Makes the points once all axes are there: the grid, or `sample` points (> 0) of a Latin hypercube of that
 * seed; where an axis has steps its values lie on them. RT_EUSAGE: too many points, an axis of a grid without
 * step. */
int rt_space_points(struct rt_space *space, size_t sample, uint64_t seed);

/* The values of a point, one for each axis. */
void rt_space_values(const struct rt_space *space, size_t point, double *values);

/* The base with them. */
void rt_space_device(const struct rt_space *space, const double *values, const struct rt_device *base,
                     struct rt_device *out);
