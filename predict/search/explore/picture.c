/* Points and their front as SVG. See objectives.h. */
#include "predict/search/explore/objectives.h"
#include "base/file.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

const struct rt_output_kind rt_picture_kind = {"a picture (SVG)", NULL, "<svg"};

enum { WIDTH = 720, HEIGHT = 480, LEFT = 70, RIGHT = 20, TOP = 30, BOTTOM = 50, MOST_DOTS = 5000, TICKS = 5 };

struct axis {
    double low, high;
    bool log;
    int from, to; /* pixels */
};

struct picture {
    const struct rt_assessment *assessment;
    const char *across; /* what x is */
    struct axis x, y;
};

static double across(const struct rt_assessment *assessment, size_t point)
{
    const struct rt_objective *objective[RT_MOST_OBJECTIVES];
    double values[RT_MOST_AXES];
    if (rt_objectives_of(assessment, objective) > 1)
        return objective[1]->value(assessment, point);
    rt_space_values(&assessment->exploration->space, point, values);
    return values[0];
}

static double time_ms(const struct rt_assessment *assessment, size_t point)
{
    return rt_exploration_time_us(assessment->exploration, point) / 1000;
}

static double place(const struct axis *axis, double value)
{
    double low = axis->low, high = axis->high;
    if (axis->log) {
        value = log(value);
        low = log(low);
        high = log(high);
    }
    return axis->from + (axis->to - axis->from) * (high > low ? (value - low) / (high - low) : 0.5);
}

static double tick(const struct axis *axis, int i)
{
    double share = (double)i / (TICKS - 1);
    return axis->log ? axis->low * pow(axis->high / axis->low, share)
                     : axis->low + share * (axis->high - axis->low);
}

/* What x is. */
static const char *across_words(const struct rt_assessment *assessment)
{
    const struct rt_objective *objective[RT_MOST_OBJECTIVES];
    return rt_objectives_of(assessment, objective) > 1
               ? objective[1]->title
               : rt_device_fields[assessment->exploration->space.axis[0].field].key;
}

static void picture_init(struct picture *picture, const struct rt_assessment *assessment)
{
    const struct rt_space *space = &assessment->exploration->space;
    *picture = (struct picture){.assessment = assessment,
                                .x = {INFINITY, -INFINITY, false, LEFT, WIDTH - RIGHT},
                                .y = {INFINITY, -INFINITY, true, HEIGHT - BOTTOM, TOP}};
    picture->across = across_words(assessment);
    for (size_t p = 0; p < space->points; p++) {
        double x = across(assessment, p), y = time_ms(assessment, p);
        picture->x.low = fmin(picture->x.low, x);
        picture->x.high = fmax(picture->x.high, x);
        picture->y.low = fmin(picture->y.low, y);
        picture->y.high = fmax(picture->y.high, y);
    }
}

static void draw_axes(const struct picture *picture, FILE *file)
{
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    for (int i = 0; i < TICKS; i++) {
        double x = tick(&picture->x, i), y = tick(&picture->y, i);
        fprintf(file, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g</text>\n", place(&picture->x, x),
                HEIGHT - BOTTOM + 18, x);
        fprintf(file, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n", LEFT - 6,
                place(&picture->y, y) + 4, y);
    }
    fprintf(file, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"black\"/>\n", LEFT, TOP, HEIGHT - BOTTOM,
            WIDTH - RIGHT);
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", (LEFT + WIDTH - RIGHT) / 2,
            HEIGHT - 12, picture->across);
    fprintf(file, "<text x=\"%d\" y=\"%d\">ms a step (logarithmic)</text>\n", LEFT, TOP - 12);
}

/* Every one of few points, an even choice of many. */
static void draw_points(const struct picture *picture, FILE *file)
{
    size_t points = picture->assessment->exploration->space.points,
           dots = points < MOST_DOTS ? points : MOST_DOTS;
    fprintf(file, "<g fill=\"#999\" fill-opacity=\"0.5\">\n");
    for (size_t d = 0; d < dots; d++) {
        size_t p = d * points / dots;
        fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>\n",
                place(&picture->x, across(picture->assessment, p)),
                place(&picture->y, time_ms(picture->assessment, p)));
    }
    fprintf(file, "</g>\n");
}

struct dot {
    double x, y;
};

static int compare(const void *a, const void *b)
{
    const struct dot *x = a, *y = b;
    return x->x != y->x ? (x->x > y->x) - (x->x < y->x) : (x->y < y->y) - (x->y > y->y);
}

/* A line where the front is one: over two objectives. */
static void draw_front(const struct picture *picture, const bool *front, FILE *file)
{
    const struct rt_objective *objective[RT_MOST_OBJECTIVES];
    size_t points = picture->assessment->exploration->space.points, count = 0;
    struct dot *dots = rt_malloc((points + 1) * sizeof *dots);
    for (size_t p = 0; p < points; p++)
        if (front[p])
            dots[count++] = (struct dot){place(&picture->x, across(picture->assessment, p)),
                                         place(&picture->y, time_ms(picture->assessment, p))};
    qsort(dots, count, sizeof *dots, compare);
    fprintf(file, "<g fill=\"#c00\">\n");
    for (size_t d = 0; d < count; d++)
        fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", dots[d].x, dots[d].y);
    fprintf(file, "</g>\n<polyline fill=\"none\" stroke=\"#c00\" stroke-width=\"2\" points=\"");
    for (size_t d = 0; d < count && rt_objectives_of(picture->assessment, objective) == 2; d++)
        fprintf(file, "%s%.1f,%.1f", d > 0 ? " " : "", dots[d].x, dots[d].y);
    fprintf(file, "\"/>\n</svg>\n");
    free(dots);
}

int rt_picture_write(const struct rt_assessment *assessment, const bool *front, const char *path)
{
    struct rt_new_file file;
    struct picture picture;
    int status = rt_file_create(path, &file);
    if (status != RT_OK)
        return status;
    picture_init(&picture, assessment);
    draw_axes(&picture, file.stream);
    draw_points(&picture, file.stream);
    draw_front(&picture, front, file.stream);
    return rt_file_finish(&file);
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
        all[p] = (struct dot){across(assessment, p), time_ms(assessment, p)};
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
