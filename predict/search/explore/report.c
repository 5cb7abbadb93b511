/* An exploration as a report. See objectives.h. */
#include "predict/search/explore/objectives.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 24, NUMBERS = RT_MOST_AXES + RT_MOST_OBJECTIVES };

static const char *limit_name(const struct rt_exploration *exploration, int limit)
{
    return limit < 0 ? "nothing" : exploration->limits[limit].name;
}

/* ---- the front ---- */

/* Fields and objectives behind the name of what binds. */
static size_t front_columns(const struct rt_assessment *assessment, struct rt_column *columns)
{
    const struct rt_objective *objective[RT_MOST_OBJECTIVES];
    const struct rt_space *space = &assessment->exploration->space;
    size_t count = 0, objectives = rt_objectives_of(assessment, objective);
    columns[count++] = (struct rt_column){"binds", "bound by", 's', 0};
    for (size_t o = 0; o < objectives; o++)
        columns[count++] = (struct rt_column){objective[o]->key, objective[o]->title, 'g', 5};
    for (size_t a = 0; a < space->axes; a++)
        columns[count++] = (struct rt_column){rt_device_fields[space->axis[a].field].key, NULL, 'g', 6};
    return count;
}

static void add_front_row(const struct rt_assessment *assessment, size_t point, struct rt_table *table)
{
    const struct rt_objective *objective[RT_MOST_OBJECTIVES];
    const struct rt_exploration *exploration = assessment->exploration;
    size_t objectives = rt_objectives_of(assessment, objective);
    double number[NUMBERS];
    for (size_t o = 0; o < objectives; o++)
        number[o] = objective[o]->value(assessment, point);
    rt_space_values(&exploration->space, point, number + objectives);
    rt_table_row_numbers(table, number, objectives + exploration->space.axes,
                         limit_name(exploration, rt_exploration_binds(exploration, point, RT_ALL_MODELS)));
}

struct on_front {
    double time_us;
    size_t point;
};

static int compare_times(const void *x, const void *y)
{
    const struct on_front *a = x, *b = y;
    return a->time_us != b->time_us ? (a->time_us > b->time_us) - (a->time_us < b->time_us)
                                    : (a->point > b->point) - (a->point < b->point);
}

/* The fastest first; of more than `most` an even choice with both ends. */
static struct rt_table *front_table(const struct rt_assessment *assessment, const bool *front, size_t count,
                                    size_t most)
{
    const struct rt_exploration *exploration = assessment->exploration;
    struct rt_column columns[NUMBERS + 1];
    struct rt_table *table = rt_table_new(columns, front_columns(assessment, columns));
    struct on_front *sorted = rt_malloc((count + 1) * sizeof *sorted);
    size_t found = 0, rows = count < most ? count : most;
    for (size_t p = 0; p < exploration->space.points; p++)
        if (front[p])
            sorted[found++] = (struct on_front){rt_exploration_time_us(exploration, p), p};
    qsort(sorted, count, sizeof *sorted, compare_times);
    for (size_t r = 0; r < rows; r++)
        add_front_row(assessment, sorted[rows > 1 ? r * (count - 1) / (rows - 1) : 0].point, table);
    free(sorted);
    return table;
}

static void add_front(struct rt_report *report, const struct rt_assessment *assessment, const bool *front,
                      size_t count)
{
    const struct rt_objective *objective[RT_MOST_OBJECTIVES];
    size_t objectives = rt_objectives_of(assessment, objective);
    struct rt_text over = {0};
    for (size_t o = 0; o < objectives; o++)
        rt_text_item(&over, ", ", "%s", o == 0 ? "time" : objective[o]->title);
    char *title = count > MOST_ROWS
                      ? rt_format("The front over %s: %d of its %zu points", over.text, MOST_ROWS, count)
                      : rt_format("The front over %s", over.text);
    rt_report_add_table(report, NULL, title, front_table(assessment, front, count, MOST_ROWS));
    struct rt_table *all = front_table(assessment, front, count, SIZE_MAX);
    rt_report_add_json(report, "front", rt_table_json(all));
    rt_table_free(all);
    if (count == 0)
        rt_report_add_note(report, "notes",
                           "There is no front: no point has the memory that the step takes; vary memory_gib, "
                           "or take a smaller batch.");
    else if (objectives == 1)
        rt_report_add_note(report, "notes", "Without %s, %s or %s the front is the fastest point alone.",
                           rt_field_words("energy").text, rt_field_words(rt_priced[RT_PRICED_COST]).text,
                           rt_field_words(rt_priced[RT_PRICED_AREA]).text);
    free(title);
    rt_text_release(&over);
}

/* ---- limits ---- */

/* Of a model over all points, or of the base. */
static double mean_elasticity(const struct rt_exploration *exploration, size_t model, size_t limit,
                              double *least, double *most)
{
    double sum = 0;
    *least = *most = NAN;
    for (size_t p = 0; p < exploration->space.points; p++) {
        double e = rt_exploration_at(exploration, p, model)[RT_POINT_ELASTICITIES + limit];
        sum += e;
        *least = fmin(*least, e);
        *most = fmax(*most, e);
    }
    return sum / (double)exploration->space.points;
}

/* No "-0.000". */
static double rounded(double elasticity)
{
    return fabs(elasticity) < 5e-4 ? 0 : elasticity;
}

static double share_bound(const struct rt_exploration *exploration, size_t model, int limit)
{
    size_t bound = 0;
    for (size_t p = 0; p < exploration->space.points; p++)
        bound += rt_exploration_binds(exploration, p, model) == limit;
    return 100 * (double)bound / (double)exploration->space.points;
}

static void add_elasticities(struct rt_report *report, const struct rt_exploration *exploration)
{
    static const struct rt_column columns[] = {
        {"model", NULL, 's', 0},          {"limit", NULL, 's', 0},    {"base", "on the base", 'f', 3},
        {"mean", NULL, 'f', 3},           {"steepest", NULL, 'f', 3}, {"flattest", NULL, 'f', 3},
        {"binds_pct", "binds %", 'f', 1},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t m = 0; m < exploration->model_count; m++)
        for (size_t l = 0; l < exploration->limit_count; l++) {
            double least, most, mean = mean_elasticity(exploration, m, l, &least, &most);
            double base =
                rt_exploration_at(exploration, exploration->space.points, m)[RT_POINT_ELASTICITIES + l];
            rt_table_row(table, exploration->models[m].name, exploration->limits[l].name, rounded(base),
                         rounded(mean), rounded(least), rounded(most), share_bound(exploration, m, (int)l));
        }
    rt_report_add_table(report, "elasticities",
                        "Elasticity of time, d ln time / d ln limit, and where it is the largest", table);
}

static void add_elasticity_plot(struct rt_report *report, const struct rt_exploration *exploration)
{
    const char *names[RT_MOST_LIMITS];
    double means[RT_MOST_LIMITS], least, most;
    struct rt_plot *plot =
        rt_plot_new("Elasticity of time by limit",
                    "d ln time / d ln limit, mean over the points: -1 where time is all the limit's.");
    rt_plot_axes(plot, "elasticity", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    for (size_t m = 0; m < exploration->model_count; m++) {
        for (size_t l = 0; l < exploration->limit_count; l++) {
            names[l] = exploration->limits[l].name;
            means[l] = rounded(mean_elasticity(exploration, m, l, &least, &most));
        }
        rt_plot_bars(plot, exploration->models[m].name, names, means, exploration->limit_count);
    }
    rt_report_add_plot(report, plot);
}

/* "80..136", the range of a field over the points that a limit binds. */
static void add_region(const struct rt_exploration *exploration, int limit, struct rt_table *table)
{
    const struct rt_space *space = &exploration->space;
    double least[RT_MOST_AXES], most[RT_MOST_AXES], values[RT_MOST_AXES];
    char *text[RT_MOST_AXES];
    size_t count = 0;
    for (size_t p = 0; p < space->points; p++) {
        if (rt_exploration_binds(exploration, p, RT_ALL_MODELS) != limit)
            continue;
        rt_space_values(space, p, values);
        for (size_t a = 0; a < space->axes; a++) {
            least[a] = count == 0 ? values[a] : fmin(least[a], values[a]);
            most[a] = count == 0 ? values[a] : fmax(most[a], values[a]);
        }
        count++;
    }
    if (count == 0)
        return;
    for (size_t a = 0; a < space->axes; a++)
        text[a] = least[a] == most[a] ? rt_format("%g", least[a]) : rt_format("%g..%g", least[a], most[a]);
    rt_table_row_texts(table, (const char *const *)text, space->axes, limit_name(exploration, limit),
                       (long long)count, 100 * (double)count / (double)space->points);
    for (size_t a = 0; a < space->axes; a++)
        free(text[a]);
}

static void add_regions(struct rt_report *report, const struct rt_exploration *exploration)
{
    struct rt_column columns[3 + RT_MOST_AXES] = {
        {"limit", "bound by", 's', 0}, {"points", NULL, 'd', 0}, {"share_pct", "share %", 'f', 1}};
    const struct rt_space *space = &exploration->space;
    for (size_t a = 0; a < space->axes; a++)
        columns[3 + a] = (struct rt_column){rt_device_fields[space->axis[a].field].key, NULL, 'r', 0};
    struct rt_table *table = rt_table_new(columns, 3 + space->axes);
    for (int l = -1; l < (int)exploration->limit_count; l++)
        add_region(exploration, l, table);
    rt_report_add_table(report, "regions",
                        exploration->model_count > 1 ? "Which limit binds where, over the models' mean time"
                                                     : "Which limit binds where",
                        table);
}

/* ---- the head ---- */

/* Joules on the base, and over the points, where they are asked for. */
static void add_energy(struct rt_report *report, const struct rt_exploration *exploration)
{
    double base = rt_exploration_energy_j(exploration, exploration->space.points), least = INFINITY, most = 0;
    if (!exploration->how.energy)
        return;
    for (size_t p = 0; p < exploration->space.points; p++) {
        least = fmin(least, rt_exploration_energy_j(exploration, p));
        most = fmax(most, rt_exploration_energy_j(exploration, p));
    }
    rt_report_add_fact(report, "base_j", rt_json_number(base), "energy",
                       "%.4g J a step on the base, %.4g to %.4g J at the points", base, least, most);
    rt_report_add_json(report, "least_j", rt_json_number(least));
    rt_report_add_json(report, "most_j", rt_json_number(most));
}

static void add_best(struct rt_report *report, const struct rt_assessment *assessment)
{
    const struct rt_exploration *exploration = assessment->exploration;
    const struct rt_space *space = &exploration->space;
    double base = rt_exploration_time_us(exploration, space->points), least = INFINITY, most = 0;
    size_t out = 0;
    for (size_t p = 0; p < space->points; p++) {
        least = fmin(least, rt_exploration_time_us(exploration, p));
        most = fmax(most, rt_exploration_time_us(exploration, p));
        out += !rt_exploration_fits(exploration, p);
    }
    rt_report_add_fact(report, "base_ms", rt_json_number(base / 1000), "base", "%.5g ms on %s as it is",
                       base / 1000, exploration->base.name);
    rt_report_add_fact(report, "fastest_ms", rt_json_number(least / 1000), "points", "%.5g to %.5g ms",
                       least / 1000, most / 1000);
    rt_report_add_json(report, "slowest_ms", rt_json_number(most / 1000));
    if (out > 0)
        rt_report_add_fact(report, "do_not_fit", json_integer((json_int_t)out), "memory",
                           "%zu of %zu points have too little, and are on no front", out, space->points);
}

/* A board built for other watts is another board; a limit set on one is not. */
static void add_power(struct rt_report *report, const struct rt_space *space)
{
    for (size_t a = 0; a < space->axes; a++)
        if (rt_device_fields[space->axis[a].field].offset == offsetof(struct rt_device, power_w))
            rt_report_add_note(
                report, "notes",
                "power_w: watts that a board is built for, which its rest and its clocks under load follow; "
                "a limit that is set on a board as it is: `rooftile predict` with %s",
                rt_field_words("power_limit").text);
}

struct rt_report *rt_exploration_report(const struct rt_assessment *assessment, const bool *front,
                                        size_t front_count, size_t resumed)
{
    const struct rt_exploration *exploration = assessment->exploration;
    struct rt_report *report = rt_report_new();
    struct rt_text models = {0}, fields = {0};
    for (size_t m = 0; m < exploration->model_count; m++)
        rt_text_item(&models, ", ", "%s", exploration->models[m].name);
    for (size_t a = 0; a < exploration->space.axes; a++)
        rt_text_item(&fields, ", ", "%s", rt_device_fields[exploration->space.axis[a].field].key);
    rt_report_add_title(report, "%s on %zu devices like %s that differ in %s", models.text,
                        exploration->space.points, exploration->base.name, fields.text);
    rt_report_add_json(report, "gpu", rt_json_text(exploration->base.name));
    rt_report_add_json(report, "models", rt_json_text(models.text));
    rt_report_add_json(report, "points", json_integer((json_int_t)exploration->space.points));
    if (resumed > 0)
        rt_report_add_fact(report, "resumed", json_integer((json_int_t)resumed), "resumed",
                           "%zu points were there from a run that did not end", resumed);
    add_best(report, assessment);
    add_energy(report, exploration);
    add_power(report, &exploration->space);
    rt_report_add_plot(report, rt_picture_plot(assessment, front));
    add_elasticity_plot(report, exploration);
    add_front(report, assessment, front, front_count);
    add_elasticities(report, exploration);
    add_regions(report, exploration);
    rt_text_release(&models);
    rt_text_release(&fields);
    return report;
}
