/* Conformal quantiles. See conformal_interval.h. */
#include "models/predictors/predictor/conformal_interval.h"
#include "models/predictors/predictor/residual_correction.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/h5_struct.h"
#include "base/strings.h"
#include "base/text.h"
#include "models/predictors/predictor/dtype_scales_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const double rt_interval_levels[RT_INTERVAL_LEVELS] = {0.5, 0.8, 0.9, 0.95, 0.98};

enum rt_interval_size rt_interval_size_of(double bound_us)
{
    return bound_us < RT_INTERVAL_LONG_US ? RT_INTERVAL_SHORT : RT_INTERVAL_LONG;
}

static void set_unknown(double quantile[RT_INTERVAL_LEVELS])
{
    for (int l = 0; l < RT_INTERVAL_LEVELS; l++)
        quantile[l] = NAN;
}

void rt_intervals_init(struct rt_intervals *intervals)
{
    *intervals = (struct rt_intervals){0};
    for (int d = 0; d < RT_DTYPE_COUNT; d++)
        intervals->dtype_scale[d] = 1;
    for (int size = 0; size < RT_INTERVAL_SIZES; size++) {
        set_unknown(intervals->unseen[size]);
        set_unknown(intervals->known[size]);
    }
}

void rt_intervals_release(struct rt_intervals *intervals)
{
    free(intervals->left_out);
    intervals->left_out = NULL;
    intervals->left_out_count = 0;
}

double rt_intervals_square(const struct rt_intervals *intervals)
{
    double sum = 0;
    for (size_t d = 0; d < intervals->left_out_count; d++)
        sum += intervals->left_out[d].square;
    return sum / (double)intervals->left_out_count;
}

double rt_intervals_shared(const struct rt_intervals *intervals)
{
    double common = 0, all = 0;
    for (size_t d = 0; d < intervals->left_out_count; d++) {
        common += intervals->left_out[d].error * intervals->left_out[d].error;
        all += intervals->left_out[d].square;
    }
    return common / all;
}

static bool is_same(const struct rt_left_out_device *a, const struct rt_left_out_device *b)
{
    return a->key != 0 && b->key != 0 ? a->key == b->key : rt_name_equal(a->device, b->device);
}

void rt_intervals_add_pair(const struct rt_intervals *a, const struct rt_intervals *b, double *products,
                           double *norms)
{
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < a->left_out_count; i++)
        for (size_t j = 0; j < b->left_out_count; j++)
            if (is_same(&a->left_out[i], &b->left_out[j])) {
                ab += a->left_out[i].error * b->left_out[j].error;
                aa += a->left_out[i].error * a->left_out[i].error;
                bb += b->left_out[j].error * b->left_out[j].error;
            }
    *products += ab;
    *norms += sqrt(aa * bb);
}

static int by_value(const void *a, const void *b)
{
    const struct rt_residual *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* How many residuals each group has, of one size or (RT_INTERVAL_SIZES) of any: (*groups). */
static size_t *count_groups(const struct rt_residual *residuals, size_t count, int size, size_t *groups)
{
    int32_t most = -1;
    for (size_t i = 0; i < count; i++)
        most = residuals[i].group > most ? residuals[i].group : most;
    *groups = (size_t)(most + 1);
    size_t *counts = rt_calloc(*groups + 1, sizeof *counts);
    for (size_t i = 0; i < count; i++)
        counts[residuals[i].group] += size == RT_INTERVAL_SIZES || (int)residuals[i].size == size;
    return counts;
}

void rt_residual_quantiles(struct rt_residual *residuals, size_t count, double quantile[RT_INTERVAL_LEVELS])
{
    size_t group_count, *counts = count_groups(residuals, count, RT_INTERVAL_SIZES, &group_count);
    double groups = 0, n = (double)count;
    for (size_t g = 0; g < group_count; g++)
        groups += counts[g] > 0;
    set_unknown(quantile);
    if (count > 0)
        qsort(residuals, count, sizeof *residuals, by_value);
    double weight = 0;
    int level = 0;
    for (size_t i = 0; i < count; i++) {
        weight += 1 / (groups * (double)counts[residuals[i].group]);
        /* 1e-9: a sum of weights may round down */
        for (; level < RT_INTERVAL_LEVELS; level++) {
            double wanted = ceil((n + 1) * rt_interval_levels[level] - 1e-9) / n;
            if (wanted > 1 || weight < wanted - 1e-9)
                break;
            quantile[level] = residuals[i].value;
        }
    }
    free(counts);
}

/* --- dtypes --- */

static double median_of(const struct rt_residual *residuals, size_t count, int32_t group, int dtype,
                        double *values, size_t *found)
{
    *found = 0;
    for (size_t i = 0; i < count; i++)
        if (residuals[i].group == group && (dtype == RT_DTYPE_COUNT || residuals[i].dtype == dtype))
            values[(*found)++] = residuals[i].value;
    return *found > 0 ? rt_median(values, *found) : NAN;
}

/* ln of a dtype's scale by one group; NaN where it says nothing. */
static double group_scale(const struct rt_residual *residuals, size_t count, int32_t group, int dtype,
                          double *values)
{
    size_t all, own;
    double typical = median_of(residuals, count, group, RT_DTYPE_COUNT, values, &all);
    double median = median_of(residuals, count, group, dtype, values, &own);
    bool enough = own >= RT_RESIDUAL_LEAST && all >= own + RT_RESIDUAL_LEAST && typical > 0 && median > 0;
    return enough ? log(median / typical) : NAN;
}

void rt_residual_scale_dtypes(struct rt_residual *residuals, size_t count, double dtype_scale[RT_DTYPE_COUNT])
{
    double *values = rt_malloc((count + 1) * sizeof *values);
    int32_t groups = 0;
    for (size_t i = 0; i < count; i++)
        groups = residuals[i].group >= groups ? residuals[i].group + 1 : groups;
    for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) {
        double sum = 0, n = 0;
        for (int32_t g = 0; g < groups; g++) {
            double scale = group_scale(residuals, count, g, dtype, values);
            sum += isnan(scale) ? 0 : scale;
            n += !isnan(scale);
        }
        dtype_scale[dtype] = n > 0 ? exp(sum / n) : 1;
    }
    for (size_t i = 0; i < count; i++)
        residuals[i].value /= dtype_scale[residuals[i].dtype];
    free(values);
}

/* --- tables --- */

/* Those of a size, of groups that have enough of it; returns how many, and of how many groups. */
static size_t choose_size(const struct rt_residual *residuals, size_t count, int size,
                          struct rt_residual *chosen, size_t *groups)
{
    size_t group_count, found = 0, *counts = count_groups(residuals, count, size, &group_count);
    *groups = 0;
    for (size_t g = 0; g < group_count; g++)
        *groups += counts[g] >= RT_RESIDUAL_LEAST;
    for (size_t i = 0; i < count; i++)
        if ((int)residuals[i].size == size && counts[residuals[i].group] >= RT_RESIDUAL_LEAST)
            chosen[found++] = residuals[i];
    free(counts);
    return found;
}

void rt_residual_table(struct rt_residual *residuals, size_t count,
                       double table[RT_INTERVAL_SIZES][RT_INTERVAL_LEVELS])
{
    struct rt_residual *chosen = rt_malloc((count + 1) * sizeof *chosen);
    size_t groups, least = 1;
    rt_residual_quantiles(residuals, count, table[0]);
    for (int size = 0; size < RT_INTERVAL_SIZES; size++) {
        size_t found = choose_size(residuals, count, size, chosen, &groups);
        if (groups >= least)
            rt_residual_quantiles(chosen, found, table[size]);
        else if (size > 0)
            memcpy(table[size], table[size - 1], sizeof table[size]);
        least = groups > least ? groups : least;
    }
    free(chosen);
}

double rt_interval_at(const double quantile[RT_INTERVAL_LEVELS], double level)
{
    double from = 0, from_value = 0, slope = NAN, wanted = -log1p(-level);
    for (int l = 0; l < RT_INTERVAL_LEVELS && !isnan(quantile[l]); l++) {
        double to = -log1p(-rt_interval_levels[l]);
        slope = (quantile[l] - from_value) / (to - from);
        if (wanted <= to)
            return from_value + slope * (wanted - from);
        from = to;
        from_value = quantile[l];
    }
    return from_value + slope * (wanted - from);
}

double rt_interval_deviation(double share, double dispatch_part)
{
    double network = RT_CORRECTION_DEVIATION * RT_CORRECTION_DEVIATION * share;
    double noise = RT_CORRECTION_NOISE * RT_CORRECTION_NOISE;
    double left = 1 - fmin(1, dispatch_part);
    return sqrt(network * left * left + noise * (1 + 9 * dispatch_part * dispatch_part));
}

double rt_interval_size_factor(const struct rt_intervals *intervals, enum rt_interval_size size)
{
    double factor = sqrt(rt_interval_at(intervals->known[size], 0.9) /
                         rt_interval_at(intervals->known[RT_INTERVAL_LONG], 0.9));
    return isfinite(factor) && factor > 0 ? factor : 1;
}

/* The distribution function of |t| with 3 degrees of freedom. */
static double student_share(double t)
{
    double x = t / sqrt(RT_INTERVAL_FREEDOM);
    return 2 / acos(-1) * (atan(x) + x / (1 + x * x));
}

double rt_interval_student(double level)
{
    double low = 0, high = 1;
    while (student_share(high) < level)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(student_share(middle) < level ? &low : &high) = middle;
    }
    return high;
}

double rt_interval_scale(double level)
{
    return log1p(-level) / log1p(-0.9);
}

/* ---- in files: the group intervals/, which is absent where there are none ---- */

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
