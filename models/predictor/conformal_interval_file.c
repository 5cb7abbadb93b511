/* Conformal intervals in predictor files: the group intervals/, which is absent where there are none. */
#include "base/h5_struct.h"
#include "base/status.h"
#include "models/predictor/device_effects_file.h"

#include <stdio.h>
#include <string.h>

enum { CELLS = RT_INTERVAL_SIZES * RT_INTERVAL_LEVELS };

static const struct rt_h5_array levels_array = {
    .type = RT_H5_F64, .units = "1", .long_name = "share of the measurements within the half-width"};
static const struct rt_h5_array widths_array = {
    .type = RT_H5_F64,
    .units = "1",
    .long_name = "half-width of ln(measured / forecast), short kernels and then long ones"};

int rt_intervals_write(const struct rt_intervals *intervals, struct rt_h5 *file, const char *group)
{
    char base[128];
    if (intervals->gpus == 0 && !(intervals->known[RT_INTERVAL_LONG][0] > 0))
        return RT_OK;
    snprintf(base, sizeof base, "%s/intervals", group);
    int status = rt_h5_make_group(file, base);
    if (status == RT_OK)
        status = rt_h5_set_integer(file, base, "gpus", intervals->gpus);
    if (status == RT_OK)
        status = rt_h5_write_in(file, base, "level", levels_array, rt_interval_levels, sizeof(double),
                                RT_INTERVAL_LEVELS);
    if (status == RT_OK)
        status = rt_h5_write_in(file, base, "unseen", widths_array, intervals->unseen, sizeof(double), CELLS);
    return status == RT_OK
               ? rt_h5_write_in(file, base, "known", widths_array, intervals->known, sizeof(double), CELLS)
               : status;
}

/* NaN: unknown. */
static bool is_sound(const double widths[RT_INTERVAL_SIZES][RT_INTERVAL_LEVELS])
{
    for (int s = 0; s < RT_INTERVAL_SIZES; s++)
        for (int l = 0; l < RT_INTERVAL_LEVELS; l++)
            if (widths[s][l] < 0 || widths[s][l] > 100)
                return false;
    return true;
}

int rt_intervals_read(struct rt_h5 *file, const char *group, struct rt_intervals *intervals)
{
    char base[128];
    double levels[RT_INTERVAL_LEVELS];
    rt_intervals_init(intervals);
    snprintf(base, sizeof base, "%s/intervals", group);
    if (!rt_h5_exists(file, base))
        return RT_OK;
    int status = rt_h5_get_integer(file, base, "gpus", &intervals->gpus);
    if (status == RT_OK)
        status = rt_h5_read_in(file, base, "level", levels_array, levels, sizeof(double), RT_INTERVAL_LEVELS);
    if (status == RT_OK)
        status = rt_h5_read_in(file, base, "unseen", widths_array, intervals->unseen, sizeof(double), CELLS);
    if (status == RT_OK)
        status = rt_h5_read_in(file, base, "known", widths_array, intervals->known, sizeof(double), CELLS);
    if (status != RT_OK)
        return status;
    if (memcmp(levels, rt_interval_levels, sizeof levels) != 0)
        return rt_fail(RT_EVERSION, "%s: %s has other levels than this build knows; use a newer rooftile",
                       rt_h5_path(file), base);
    if (intervals->gpus < 0 || !is_sound(intervals->unseen) || !is_sound(intervals->known))
        return rt_fail(RT_EFORMAT, "%s: %s holds widths that cannot be: the file is damaged",
                       rt_h5_path(file), base);
    return RT_OK;
}
