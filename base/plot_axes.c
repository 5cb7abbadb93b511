/* Ranges and ticks of plots. See plot_axes.h. */
#include "base/plot_axes.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool rt_plot_axis_shows(const struct rt_plot_axis *axis, double value)
{
    return fabs(value) <= 1e100 && (!axis->log || value >= 1e-100);
}

double rt_plot_axis_place(const struct rt_plot_axis *axis, double value)
{
    double share = axis->log ? log(value / axis->low) / log(axis->high / axis->low)
                             : (value - axis->low) / (axis->high - axis->low);
    return axis->from + share * (axis->to - axis->from);
}

/* ---- ranges ---- */

static void extend(struct rt_plot_axis *axis, const double *values, size_t count)
{
    for (size_t i = 0; values != NULL && i < count; i++)
        if (rt_plot_axis_shows(axis, values[i])) {
            axis->low = fmin(axis->low, values[i]);
            axis->high = fmax(axis->high, values[i]);
        }
}

/* Of both axes, before room is added. */
static void find_ranges(const struct rt_plot *plot, struct rt_plot_axis axis[2])
{
    for (int i = 0; i < 2; i++)
        axis[i] =
            (struct rt_plot_axis){.low = INFINITY, .high = -INFINITY, .log = plot->scale[i] == RT_SCALE_LOG};
    for (size_t s = 0; s < plot->count; s++) {
        const struct rt_series *series = &plot->series[s];
        int values = series->kind >= RT_SERIES_BARS ? 0 : 1;
        extend(&axis[0], series->x, series->count);
        extend(&axis[1], series->y, series->count);
        extend(&axis[values], series->low, series->count);
        extend(&axis[values], series->high, series->count);
    }
    if (!isnan(plot->diagonal))
        for (int i = 0; i < 2; i++)
            extend(&axis[i], (double[]){axis[!i].low, axis[!i].high}, 2);
}

bool rt_plot_is_empty(const struct rt_plot *plot)
{
    struct rt_plot_axis axis[2];
    find_ranges(plot, axis);
    return axis[0].low > axis[0].high || axis[1].low > axis[1].high;
}

/* Room around the values, also around a single one. Ranges of positive numbers begin at zero where that
 * costs less than half of the picture. */
static void pad(struct rt_plot_axis *axis)
{
    if (axis->log) {
        double factor = axis->high > axis->low ? pow(axis->high / axis->low, 0.05) : 2;
        axis->low /= factor;
        axis->high *= factor;
        return;
    }
    bool from_zero = axis->low >= 0 && axis->low <= axis->high / 2;
    double room = axis->high > axis->low ? 0.05 * (axis->high - axis->low) : 0.5 * fabs(axis->low);
    room = room > 0 && isfinite(room) ? room : 1;
    axis->low = from_zero ? 0 : axis->low - room;
    axis->high += room;
}

/* From zero, with room for the figures. */
static void pad_bars(struct rt_plot_axis *axis)
{
    axis->low = fmin(axis->low, 0);
    axis->high = fmax(axis->high, 0) + 0.18 * (fmax(axis->high, 0) - axis->low);
    axis->high = axis->high > axis->low ? axis->high : 1;
}

/* ---- ticks ---- */

static void add_tick(struct rt_plot_axis *axis, double at, const char *label)
{
    if (axis->ticks == RT_PLOT_MOST_TICKS)
        return;
    struct rt_plot_tick *tick = &axis->tick[axis->ticks++];
    tick->at = at;
    snprintf(tick->label, sizeof tick->label, "%s", label);
}

static void add_number(struct rt_plot_axis *axis, double at)
{
    char label[32];
    snprintf(label, sizeof label, "%.6g", at);
    add_tick(axis, at, fabs(at) < 1e6 ? label : rt_number_text(at).text);
}

/* A power of ten as people write it; `plain`: 0.001 to 10000 are written out. */
static void add_power(struct rt_plot_axis *axis, int exponent, bool plain)
{
    static const char *const digit[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char number[12], label[32];
    if (plain ? exponent >= -3 && exponent <= 4 : exponent >= -1 && exponent <= 2) {
        add_number(axis, pow(10, exponent));
        return;
    }
    snprintf(number, sizeof number, "%d", abs(exponent));
    int length = snprintf(label, sizeof label, "10%s", exponent < 0 ? "⁻" : "");
    for (const char *at = number; *at != '\0'; at++)
        length += snprintf(label + length, sizeof label - (size_t)length, "%s", digit[*at - '0']);
    add_tick(axis, pow(10, exponent), label);
}

/* Round numbers, about `parts` steps apart. */
static void add_even_ticks(struct rt_plot_axis *axis, int parts)
{
    double rough = (axis->high - axis->low) / parts, power = pow(10, floor(log10(rough))),
           ratio = rough / power,
           step = power * (ratio > 5     ? 10
                           : ratio > 2.5 ? 5
                           : ratio > 2   ? 2.5
                           : ratio > 1   ? 2
                                         : 1),
           first = ceil(axis->low / step);
    for (int i = 0; i <= 2 * parts && (first + i) * step <= axis->high; i++)
        if ((first + i) * step >= axis->low)            /* false where steps are below a double's */
            add_number(axis, (first + i) * step + 0.0); /* no -0 */
}

/* Powers of ten, at most about six; 1, 2 and 5 times them where few lie within, as numbers up to a million.
 */
static void add_log_ticks(struct rt_plot_axis *axis)
{
    double decades = log10(axis->high / axis->low);
    if (decades < 0.9) {
        add_even_ticks(axis, 5);
        return;
    }
    int step = 1 + (int)(decades / 6), first = (int)floor(log10(axis->low));
    const bool few = decades <= 2.5, plain = axis->low >= 1e-3 && axis->high < (few ? 2e6 : 1e5);
    for (int e = first; e <= (int)ceil(log10(axis->high)); e++)
        for (int part = 1; part <= 5; part = part == 1 ? 2 : part + 3) {
            double at = part * pow(10, e);
            if (at < axis->low || at > axis->high || (part == 1 ? (e - first) % step != 0 : !few))
                continue;
            if (few && plain)
                add_number(axis, at);
            else if (part == 1)
                add_power(axis, e, plain);
            else
                add_tick(axis, at, "");
        }
}

void rt_plot_find_axes(const struct rt_plot *plot, struct rt_plot_axis axis[2])
{
    bool rows = rt_plot_has_rows(plot), bars = rows && plot->series[0].kind == RT_SERIES_BARS;
    find_ranges(plot, axis);
    if (bars)
        pad_bars(&axis[0]);
    else
        pad(&axis[0]);
    if (rows)
        axis[1] = (struct rt_plot_axis){.low = -0.5, .high = (double)plot->rows - 0.5};
    else
        pad(&axis[1]);
    for (int i = 0; i < (rows ? 1 : 2); i++)
        if (axis[i].log)
            add_log_ticks(&axis[i]);
        else
            add_even_ticks(&axis[i], bars ? 4 : 5);
}
