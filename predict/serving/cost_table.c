/* Tables on geometric grids. See cost_table.h. */
#include "predict/serving/cost_table.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* --- axes --- */

static int64_t point(int64_t number)
{
    return number < 4 ? number : (4 + number % 4) << (number / 4 - 1);
}

/* Of the last point that is not above x >= 0. */
static int64_t number_below(double x)
{
    int exponent;
    if (x < 4)
        return (int64_t)x;
    double mantissa = frexp(x, &exponent); /* 0.5 <= mantissa < 1 */
    return 4 * (exponent - 2) + (int64_t)(8 * mantissa) - 4;
}

struct rt_cost_axis rt_cost_axis(int64_t from, int64_t to, int64_t every, bool at_zero)
{
    struct rt_cost_axis axis = {
        .first = number_below((double)from), .every = every, .at_zero = at_zero, .count = 1};
    while (point(axis.first + every * (axis.count - 1)) < to)
        axis.count++;
    return axis;
}

int64_t rt_cost_axis_points(const struct rt_cost_axis *axis)
{
    return axis->count == 0 ? 1 : axis->count + axis->at_zero;
}

int64_t rt_cost_axis_at(const struct rt_cost_axis *axis, int64_t i)
{
    i -= axis->at_zero;
    return i < 0 ? 0 : point(axis->first + axis->every * i);
}

/* Between points `low` and `high`, so far on the way, all of it `scale` times. */
struct place {
    int64_t low, high;
    double way, scale;
};

static struct place between(const struct rt_cost_axis *axis, int64_t low, double x)
{
    double from = (double)rt_cost_axis_at(axis, low), to = (double)rt_cost_axis_at(axis, low + 1);
    return (struct place){low, low + 1, (x - from) / (to - from), 1};
}

static struct place place_of(const struct rt_cost_axis *axis, double x)
{
    int64_t last = rt_cost_axis_points(axis) - 1;
    double end = (double)rt_cost_axis_at(axis, last);
    if (axis->count == 0)
        return (struct place){0, 0, 0, 1};
    if (x >= end)
        return (struct place){last, last, 0, x / end};
    int64_t beyond = number_below(x) - axis->first;
    if (beyond >= 0)
        return between(axis, beyond / axis->every + axis->at_zero, x);
    return axis->at_zero ? between(axis, 0, x) : (struct place){0, 0, 0, 1};
}

/* --- tables --- */

void rt_cost_table_init(struct rt_cost_table *table, struct rt_cost_axis x, struct rt_cost_axis y)
{
    *table = (struct rt_cost_table){.x = x, .y = y};
    table->cell = rt_calloc((size_t)(rt_cost_axis_points(&x) * rt_cost_axis_points(&y)), sizeof *table->cell);
}

void rt_cost_table_release(struct rt_cost_table *table)
{
    free(table->cell);
    *table = (struct rt_cost_table){0};
}

struct rt_cost_cell *rt_cost_table_cell(const struct rt_cost_table *table, int64_t x, int64_t y)
{
    return &table->cell[x * rt_cost_axis_points(&table->y) + y];
}

static void raise_to(struct rt_cost_cell *cell, const struct rt_cost_cell *before)
{
    for (int v = 0; v < RT_CELL_VALUES; v++)
        cell->value[v] = fmax(cell->value[v], before->value[v]);
}

void rt_cost_table_rise(struct rt_cost_table *table)
{
    int64_t columns = rt_cost_axis_points(&table->x), rows = rt_cost_axis_points(&table->y);
    for (int64_t x = 0; x < columns; x++)
        for (int64_t y = 0; y < rows; y++) {
            if (x > 0)
                raise_to(rt_cost_table_cell(table, x, y), rt_cost_table_cell(table, x - 1, y));
            if (y > 0)
                raise_to(rt_cost_table_cell(table, x, y), rt_cost_table_cell(table, x, y - 1));
        }
}

static void add_cell(const struct rt_cost_cell *cell, double times, struct rt_cost_cell *sum)
{
    for (int v = 0; times != 0 && v < RT_CELL_VALUES; v++)
        sum->value[v] += times * cell->value[v];
}

void rt_cost_table_add(const struct rt_cost_table *table, double x, double y, double times,
                       struct rt_cost_cell *sum)
{
    struct place a = place_of(&table->x, x), b = place_of(&table->y, y);
    times *= a.scale * b.scale;
    add_cell(rt_cost_table_cell(table, a.low, b.low), times * (1 - a.way) * (1 - b.way), sum);
    add_cell(rt_cost_table_cell(table, a.high, b.low), times * a.way * (1 - b.way), sum);
    add_cell(rt_cost_table_cell(table, a.low, b.high), times * (1 - a.way) * b.way, sum);
    add_cell(rt_cost_table_cell(table, a.high, b.high), times * a.way * b.way, sum);
}
