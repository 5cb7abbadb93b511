/* Conformal intervals in predictor files: the group intervals/, which is absent where there are none. */
#include "base/h5_struct.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"
#include "models/predictors/predictor/conformal_interval.h"
#include "models/predictors/predictor/dtype_scales_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = RT_INTERVAL_SIZES * RT_INTERVAL_LEVELS };

static const struct rt_h5_array levels_array = {
    .type = RT_H5_F64, .units = "1", .long_name = "share of the measurements within the half-width"};
static const struct rt_h5_array widths_array = {
    .type = RT_H5_F64,
    .units = "1",
    .long_name = "half-width of ln(measured / forecast), short kernels and then long ones"};

/* No factor of more than 1000. */
static const struct rt_dtype_scales scales = {
    "scale_dtypes", "dtype_scale", "what half-widths of the dtype are multiplied by", 1, 1e-3, 1e3};
static const struct rt_h5_array error_array = {
    .type = RT_H5_F64,
    .units = "1",
    .long_name = "mean ln(measured / forecast) of a device that was left out"};
static const struct rt_h5_array square_array = {
    .type = RT_H5_F64, .units = "1", .long_name = "mean square of ln(measured / forecast) of that device"};

static int write_left_out(const struct rt_intervals *intervals, struct rt_h5 *file, const char *base)
{
    size_t count = intervals->left_out_count;
    double *error = rt_malloc((count + 1) * sizeof *error), *square = rt_malloc((count + 1) * sizeof *square);
    struct rt_text names = {0};
    int status = RT_OK;
    for (size_t d = 0; d < count; d++) {
        rt_text_item(&names, "\n", "%s", intervals->left_out[d].device);
        error[d] = intervals->left_out[d].error;
        square[d] = intervals->left_out[d].square;
    }
    if (count > 0)
        status = rt_h5_set_text(file, base, "left_out_devices", names.text);
    if (status == RT_OK && count > 0)
        status = rt_h5_write_in(file, base, "left_out_error", error_array, error, sizeof *error, count);
    if (status == RT_OK && count > 0)
        status = rt_h5_write_in(file, base, "left_out_square", square_array, square, sizeof *square, count);
    rt_text_release(&names);
    free(error);
    free(square);
    return status;
}

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
    if (status == RT_OK)
        status = rt_h5_write_in(file, base, "known", widths_array, intervals->known, sizeof(double), CELLS);
    if (status == RT_OK)
        status = rt_dtype_scales_write(&scales, file, base, intervals->dtype_scale);
    return status == RT_OK ? write_left_out(intervals, file, base) : status;
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

static void set_name(struct rt_left_out_device *device, const char *name)
{
    snprintf(device->device, sizeof device->device, "%s", name);
    device->key = rt_name_key(device->device);
}

/* Names, a line each; as many as there are numbers. */
static int read_names(struct rt_h5 *file, const char *base, struct rt_intervals *intervals)
{
    char *text = NULL, *rest, *line;
    size_t found = 0;
    int status = rt_h5_get_text(file, base, "left_out_devices", &text);
    for (rest = text; status == RT_OK && (line = strsep(&rest, "\n")) != NULL; found++)
        if (found < intervals->left_out_count)
            set_name(&intervals->left_out[found], line);
    free(text);
    if (status == RT_OK && found != intervals->left_out_count)
        return rt_fail(RT_EFORMAT, "%s: %s names %zu devices that were left out and has errors of %zu",
                       rt_h5_path(file), base, found, intervals->left_out_count);
    return status;
}

static int read_left_out(struct rt_h5 *file, const char *base, struct rt_intervals *intervals)
{
    size_t count = 0;
    if (!rt_h5_exists_in(file, base, "left_out_error"))
        return RT_OK;
    int status = rt_h5_count_in(file, base, "left_out_error", error_array, &count);
    if (status != RT_OK)
        return status;
    double *error = rt_malloc((count + 1) * sizeof *error), *square = rt_malloc((count + 1) * sizeof *square);
    status =
        rt_h5_read_range(file, base, "left_out_error", error_array, error, sizeof *error, count, -100, 100);
    if (status == RT_OK)
        status = rt_h5_read_range(file, base, "left_out_square", square_array, square, sizeof *square, count,
                                  0, 1e4);
    intervals->left_out = rt_calloc(count + 1, sizeof *intervals->left_out);
    for (size_t d = 0; status == RT_OK && d < count; d++) {
        intervals->left_out[d].error = error[d];
        intervals->left_out[d].square = square[d];
        intervals->left_out_count++;
    }
    free(error);
    free(square);
    return status == RT_OK ? read_names(file, base, intervals) : status;
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
    status = rt_dtype_scales_read(&scales, file, base, intervals->dtype_scale);
    return status == RT_OK ? read_left_out(file, base, intervals) : status;
}
