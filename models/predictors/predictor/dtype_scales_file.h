/* A number for each dtype in predictor files, of which most have none: two arrays, of dtypes and of numbers.
 */
#pragma once

#include "base/h5_struct.h"
#include "datasets/dtype.h"

struct rt_dtype_scales {
    const char *dtypes, *scales; /* names of the arrays */
    const char *long_name;       /* of the scales */
    double none;                 /* that of a dtype that is not written */
    double low, high;            /* the range of what is */
};

/* Dtypes as an enum: one that this build does not know is refused. `names` has room for them, and outlives
 * it. */
struct rt_h5_array rt_dtypes_array(const char *long_name, const char *names[RT_DTYPE_COUNT]);

/* Writes nothing where every dtype has none. */
int rt_dtype_scales_write(const struct rt_dtype_scales *layout, struct rt_h5 *file, const char *group,
                          const double scale[RT_DTYPE_COUNT]);
/* Sets those that were written, and leaves the others. RT_EFORMAT where one is out of range. */
int rt_dtype_scales_read(const struct rt_dtype_scales *layout, struct rt_h5 *file, const char *group,
                         double scale[RT_DTYPE_COUNT]);
