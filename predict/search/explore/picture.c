/* Points and their front as SVG. See objectives.h. */
#include "predict/search/explore/objectives.h"
#include "base/file.h"
#include "base/plot_svg.h"
#include "base/status.h"

#include <stdlib.h>

const struct rt_output_kind rt_picture_kind = {"a picture (SVG)", NULL, "<svg"};

static double across(const struct rt_assessment *assessment, size_t point)
{
    const struct rt_objective *objective[RT_MOST_OBJECTIVES];
    double values[RT_MOST_AXES];
    if (rt_objectives_of(assessment, objective) > 1)
        return objective[1]->value(assessment, point);
    rt_space_values(&assessment->exploration->space, point, values);
    return values[0];
}

/* What x is. */
static const char *across_words(const struct rt_assessment *assessment)
{
    const struct rt_objective *objective[RT_MOST_OBJECTIVES];
    return rt_objectives_of(assessment, objective) > 1
               ? objective[1]->title
               : rt_device_fields[assessment->exploration->space.axis[0].field].key;
}

struct dot {
    double x, y;
};

static int compare(const void *a, const void *b)
{
    const struct dot *x = a, *y = b;
    return x->x != y->x ? (x->x > y->x) - (x->x < y->x) : (x->y < y->y) - (x->y > y->y);
}

/* Dots as two arrays, in a series: a line where the front is one. */
static void add_dots(struct rt_plot *plot, const char *name, const struct dot *dots, size_t count, bool line)
{
    double *x = rt_malloc((2 * count + 1) * sizeof *x), *y = x + count;
    for (size_t d = 0; d < count; d++) {
        x[d] = dots[d].x;
        y[d] = dots[d].y;
    }
    (line ? rt_plot_line : rt_plot_points)(plot, name, x, y, count);
    free(x);
}

struct rt_plot *rt_picture_plot(const struct rt_assessment *assessment, const bool *front)
{
    const struct rt_objective *objective[RT_MOST_OBJECTIVES];
    const size_t points = assessment->exploration->space.points;
    struct dot *all = rt_malloc((2 * points + 1) * sizeof *all), *best = all + points;
    size_t count = 0;
    for (size_t p = 0; p < points; p++) {
        all[p] =
            (struct dot){across(assessment, p), rt_exploration_time_us(assessment->exploration, p) / 1000};
        if (front[p])
            best[count++] = all[p];
    }
    qsort(best, count, sizeof *best, compare);
    struct rt_plot *plot =
        rt_plot_new("Points and their front", "%zu of %zu points are on the front.", count, points);
    rt_plot_axes(plot, across_words(assessment), RT_SCALE_LINEAR, "time of a step, ms", RT_SCALE_LOG);
    add_dots(plot, "points", all, points, false);
    add_dots(plot, "front", best, count, rt_objectives_of(assessment, objective) == 2);
    free(all);
    return plot;
}

int rt_picture_write(const struct rt_assessment *assessment, const bool *front, const char *path)
{
    struct rt_new_file file;
    int status = rt_file_create(path, &file);
    if (status != RT_OK)
        return status;
    struct rt_plot *plot = rt_picture_plot(assessment, front);
    rt_plot_svg_file(plot, file.stream);
    rt_plot_free(plot);
    return rt_file_finish(&file);
}
