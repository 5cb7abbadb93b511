/* Plots as commands of gnuplot. See plot_script.h. */
#include "base/plot_script.h"
#include "base/locale.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEIGHT = 360,
    ROW = 24,
    FRAME = 72,
    MOST_LETTERS = 26,
    MOST_MARKERS = 40,
    MOST_INTERVALS = 300,
    MANY = 1000
};

/* On, off, ... in units of the picture. */
static const char *const dashes[] = {"", "9,4", "2,3", "9,3,2,3"};
static const int markers[] = {7, 9, 5, 13, 11, 6, 8, 4}; /* full ones first */

const char *rt_plot_dashes(size_t style)
{
    return dashes[style % RT_COUNT(dashes)];
}

int rt_plot_marker(const struct rt_series *series)
{
    return series->count > MANY ? RT_PLOT_DOT : markers[series->style % RT_COUNT(markers)];
}

bool rt_plot_line_has_markers(const struct rt_series *series)
{
    return series->count <= MOST_MARKERS && series->count > 2;
}

/* ---- ranges ---- */

struct range {
    double low, high;
    bool log;
};

/* Numbers beyond 10^100, or on a logarithmic axis below 10^-100, are not drawn: differences and quotients of
 * those that are have doubles. */
static bool can_show(const struct range *range, double value)
{
    return fabs(value) <= 1e100 && (!range->log || value >= 1e-100);
}

static void extend(struct range *range, const double *values, size_t count)
{
    for (size_t i = 0; values != NULL && i < count; i++)
        if (can_show(range, values[i])) {
            range->low = fmin(range->low, values[i]);
            range->high = fmax(range->high, values[i]);
        }
}

static bool is_empty(const struct range *range)
{
    return range->low > range->high;
}

/* Room around the values, also around a single one. Ranges of positive numbers begin at zero where that
 * costs less than half of the picture. */
static void pad(struct range *range)
{
    if (range->log) {
        double factor = range->high > range->low ? pow(range->high / range->low, 0.05) : 2;
        range->low /= factor;
        range->high *= factor;
        return;
    }
    bool from_zero = range->low >= 0 && range->low <= range->high / 2;
    double room = range->high > range->low ? 0.05 * (range->high - range->low) : 0.5 * fabs(range->low);
    room = room > 0 && isfinite(room) ? room : 1;
    range->low = from_zero ? 0 : range->low - room;
    range->high += room;
}

/* Of both axes, before room is added. */
static void find_ranges(const struct rt_plot *plot, struct range range[2])
{
    for (int axis = 0; axis < 2; axis++)
        range[axis] = (struct range){INFINITY, -INFINITY, plot->scale[axis] == RT_SCALE_LOG};
    for (size_t s = 0; s < plot->count; s++) {
        const struct rt_series *series = &plot->series[s];
        int values = series->kind >= RT_SERIES_BARS ? 0 : 1;
        extend(&range[0], series->x, series->count);
        extend(&range[1], series->y, series->count);
        extend(&range[values], series->low, series->count);
        extend(&range[values], series->high, series->count);
    }
    if (!isnan(plot->diagonal))
        for (int axis = 0; axis < 2; axis++)
            extend(&range[axis], (double[]){range[!axis].low, range[!axis].high}, 2);
}

bool rt_plot_is_empty(const struct rt_plot *plot)
{
    struct range range[2];
    find_ranges(plot, range);
    return is_empty(&range[0]) || is_empty(&range[1]);
}

/* Where a value lies between the ends of its axis. */
static double share_of(const struct range *range, double value)
{
    return range->log ? log(value / range->low) / log(range->high / range->low)
                      : (value - range->low) / (range->high - range->low);
}

/* ---- words ---- */

/* Quoted for gnuplot, which does nothing to what stands between single quotes but halve doubled ones. Long
 * names are cut: the tables have them whole. */
static void print_quoted(const char *text, size_t most, FILE *file)
{
    char *printable = rt_text_printable(text, false);
    size_t letters = 0;
    unsigned code = 0;
    fputc('\'', file);
    for (const char *at = printable; *at != '\0'; letters++) {
        size_t length = rt_utf8(at, &code);
        if (letters + 1 == most && at[length] != '\0') {
            fputs("…", file);
            break;
        }
        fprintf(file, *at == '\'' ? "''" : "%.*s", (int)length, at);
        at += length;
    }
    fputc('\'', file);
    free(printable);
}

/* A power of ten as people write it; `plain`: 0.001 to 10000 are written out. */
static void print_power(int exponent, bool plain, FILE *file)
{
    static const char *const digit[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    if (plain ? exponent >= -3 && exponent <= 4 : exponent >= -1 && exponent <= 2) {
        fprintf(file, "'%g'", pow(10, exponent));
        return;
    }
    char *number = rt_format("%d", abs(exponent));
    fprintf(file, "'10%s", exponent < 0 ? "⁻" : "");
    for (const char *at = number; *at != '\0'; at++)
        fputs(digit[*at - '0'], file);
    fputc('\'', file);
    free(number);
}

/* Round numbers, about `parts` steps apart. */
static void print_even_tics(const struct range *range, int parts, FILE *file)
{
    double rough = (range->high - range->low) / parts, power = pow(10, floor(log10(rough))),
           ratio = rough / power,
           step = power * (ratio > 5     ? 10
                           : ratio > 2.5 ? 5
                           : ratio > 2   ? 2.5
                           : ratio > 1   ? 2
                                         : 1),
           first = ceil(range->low / step);
    const char *comma = "";
    for (int i = 0; i <= 2 * parts && (first + i) * step <= range->high; i++) {
        double at = (first + i) * step + 0.0; /* no -0 */
        fprintf(file, "%s'%.6g' %.17g", comma, at, at);
        comma = ", ";
    }
}

/* Ticks of a logarithmic axis: powers of ten, at most about six; 1, 2 and 5 times them where few lie within.
 */
static void print_log_tics(const struct range *range, FILE *file)
{
    double decades = log10(range->high / range->low);
    if (decades < 0.9) {
        print_even_tics(range, 5, file);
        return;
    }
    int step = 1 + (int)(decades / 6), first = (int)floor(log10(range->low));
    const bool plain = range->low >= 1e-3 && range->high < 1e5;
    const char *comma = "";
    for (int e = first; e <= (int)ceil(log10(range->high)); e++)
        for (int part = 1; part <= 5; part = part == 1 ? 2 : part + 3) {
            double at = part * pow(10, e);
            if (at < range->low || at > range->high || (part == 1 ? (e - first) % step != 0 : decades > 2.5))
                continue;
            fputs(comma, file);
            if (part == 1 || e < -3 || e > 4)
                part == 1 ? print_power(e, plain, file) : (void)fprintf(file, "''");
            else
                fprintf(file, "'%g'", at);
            fprintf(file, " %.17g", at);
            comma = ", ";
        }
}

/* `parts`: steps of a linear axis, about. */
static void print_axis(char axis, const char *label, const struct range *range, int parts, FILE *file)
{
    fprintf(file, "set %clabel ", axis);
    print_quoted(label, 60, file);
    fprintf(file, "%s\nset %crange [%.17g:%.17g]\n", axis == 'x' ? " offset 0,0.4" : "", axis, range->low,
            range->high);
    if (range->log)
        fprintf(file, "set logscale %c\n", axis);
    fprintf(file, "set %ctics (", axis);
    if (range->log)
        print_log_tics(range, file);
    else
        print_even_tics(range, parts, file);
    fputs(")\n", file);
}

/* ---- data ---- */

/* Which cells of the picture hold a point already. */
struct cells {
    int size; /* pixels */
    bool *taken;
};

enum { MOST_CELLS = RT_PLOT_WIDTH };

static struct cells cells_new(int size)
{
    return (struct cells){size, rt_calloc(MOST_CELLS * MOST_CELLS, sizeof(bool))};
}

static size_t cell_of(const struct cells *cells, const struct range range[2], double x, double y)
{
    size_t column = (size_t)(share_of(&range[0], x) * RT_PLOT_WIDTH / cells->size),
           row = (size_t)(share_of(&range[1], y) * HEIGHT / cells->size);
    return column % MOST_CELLS * MOST_CELLS + row % MOST_CELLS;
}

static bool can_show_point(const struct range range[2], double x, double y)
{
    return can_show(&range[0], x) && can_show(&range[1], y);
}

static bool take(struct cells *cells, const struct range range[2], double x, double y)
{
    bool *taken = &cells->taken[cell_of(cells, range, x, y)], was = *taken;
    *taken = true;
    return !was;
}

/* From `low` to `high`; what is below the axis begins at its end. */
static void print_interval(const struct rt_series *series, size_t i, const struct range *range, FILE *file)
{
    if (can_show(range, series->high[i]))
        fprintf(file, " %.6g %.6g", can_show(range, series->low[i]) ? series->low[i] : range->low,
                series->high[i]);
    else
        fputs(" NaN NaN", file);
}

static size_t count_cells(const struct rt_series *series, const struct range range[2], int size)
{
    struct cells cells = cells_new(size);
    size_t count = 0;
    for (size_t i = 0; i < series->count; i++)
        count += can_show_point(range, series->x[i], series->y[i]) &&
                 take(&cells, range, series->x[i], series->y[i]);
    free(cells.taken);
    return count;
}

/* The least size of cells, from two pixels, that leaves the series its part of the picture's points. */
static int cell_size(const struct rt_plot *plot, const struct rt_series *series, const struct range range[2])
{
    enum { MOST_POINTS = 9000, MOST_SIZE = 12 };
    int size = 2;
    while (size < MOST_SIZE && series->count > MOST_POINTS / plot->count &&
           count_cells(series, range, size) > MOST_POINTS / plot->count)
        size++;
    return size;
}

/* Points, each place once. Of many intervals some, so that they can be told from each other. */
static void print_points(const struct rt_plot *plot, const struct rt_series *series,
                         const struct range range[2], FILE *file)
{
    struct cells fine = cells_new(cell_size(plot, series, range)),
                 coarse = cells_new(series->count > MOST_INTERVALS ? 16 : 2);
    for (size_t i = 0; i < series->count; i++) {
        double x = series->x[i], y = series->y[i];
        bool taken = !can_show_point(range, x, y) || !take(&fine, range, x, y);
        if (!can_show_point(range, x, y) || (taken && series->point == NULL)) /* who has a name is there */
            continue;
        fprintf(file, "%.6g %.6g", x, y);
        if (series->low != NULL && take(&coarse, range, x, y))
            print_interval(series, i, &range[1], file);
        else if (series->low != NULL)
            fputs(" NaN NaN", file);
        fputc('\n', file);
    }
    free(fine.taken);
    free(coarse.taken);
}

/* A line in its order; neighbours in the same place once but for its end, gaps where it cannot be drawn. */
static void print_line(const struct rt_series *series, const struct range range[2], FILE *file)
{
    struct cells cells = {1, NULL};
    size_t before = SIZE_MAX;
    for (size_t i = 0; i < series->count; i++) {
        if (!can_show_point(range, series->x[i], series->y[i])) {
            fputc('\n', file);
            before = SIZE_MAX;
            continue;
        }
        size_t cell = cell_of(&cells, range, series->x[i], series->y[i]);
        if (cell != before || i + 1 == series->count)
            fprintf(file, "%.6g %.6g\n", series->x[i], series->y[i]);
        before = cell;
    }
}

static void print_band(const struct rt_series *series, const struct range range[2], FILE *file)
{
    for (size_t i = 0; i < series->count; i++) {
        if (can_show_point(range, series->x[i], series->high[i])) {
            fprintf(file, "%.6g", series->x[i]);
            print_interval(series, i, &range[1], file);
        }
        fputc('\n', file);
    }
}

/* Boxes: x from, to, y from, to; the figure and its place; the interval. Bars of several series share their
 * row. */
static void print_bars(const struct rt_plot *plot, const struct rt_series *series, FILE *file)
{
    double height = 0.8 / (double)plot->styles;
    for (size_t i = 0; i < series->count; i++) {
        double top = series->y[i] - 0.4 + height * (double)series->style;
        double high = series->high != NULL ? series->high[i] : NAN;
        if (!isfinite(series->x[i]))
            continue;
        fprintf(file, "0 %.6g %.6g %.6g \"%s\" %.6g ", series->x[i], top, top + height,
                rt_number_text(series->x[i]).text,
                fmax(0, isfinite(high) ? fmax(high, series->x[i]) : series->x[i]));
        if (isfinite(high) && isfinite(series->low[i]))
            fprintf(file, "%.6g %.6g\n", series->low[i], high);
        else
            fputs("NaN NaN\n", file);
    }
}

/* Spans of a row that begin where the one before ended are one, where they are narrower than the eye sees. */
static void print_spans(const struct rt_series *series, const struct range *range, FILE *file)
{
    double pixel = (range->high - range->low) / RT_PLOT_WIDTH;
    for (size_t i = 0; i < series->count; i++) {
        double from = series->low[i], to = series->high[i];
        for (; i + 1 < series->count && series->y[i + 1] == series->y[i] &&
               series->low[i + 1] - to < 2 * pixel && series->low[i + 1] >= from;
             i++)
            to = fmax(to, series->high[i + 1]);
        to = fmax(to, from + pixel);
        if (isfinite(from) && isfinite(to))
            fprintf(file, "%.9g %.9g %.6g %.6g\n", from, to, series->y[i] - 0.4, series->y[i] + 0.4);
    }
}

static void print_data(const struct rt_plot *plot, size_t s, const struct range range[2], FILE *file)
{
    const struct rt_series *series = &plot->series[s];
    switch (series->kind) {
    case RT_SERIES_POINTS:
    case RT_SERIES_INTERVALS:
        print_points(plot, series, range, file);
        break;
    case RT_SERIES_LIMIT:
    case RT_SERIES_LINE:
        print_line(series, range, file);
        break;
    case RT_SERIES_BAND:
        print_band(series, range, file);
        break;
    case RT_SERIES_BARS:
        print_bars(plot, series, file);
        break;
    case RT_SERIES_SPANS:
        print_spans(series, &range[0], file);
        break;
    }
}

/* ---- the plot ---- */

/* Small where they are many. */
static double point_size(const struct rt_series *series)
{
    return series->count > MANY ? 0.25 : series->count > 200 ? 0.4 : 0.6;
}

static void print_drawing(const struct rt_series *series, const char *data, FILE *file)
{
    int colour = RT_PLOT_FIRST_COLOUR + (int)(series->style % RT_PLOT_COLOURS),
        marker = rt_plot_marker(series);
    const char *dash = rt_plot_dashes(series->style);
    switch (series->kind) {
    case RT_SERIES_POINTS:
        fprintf(file, "%s using 1:2 with points pt %d ps %.2g lc rgb %d", data, marker, point_size(series),
                colour);
        break;
    case RT_SERIES_INTERVALS:
        fprintf(file, "%s using 1:3:(0):($4-$3) with vectors nohead lc rgb %d lw 1", data, colour);
        break;
    case RT_SERIES_LIMIT:
        fprintf(file, "%s using 1:2 with lines lc rgb %d lw 1.5", data, RT_PLOT_QUIET);
        if (dash[0] != '\0')
            fprintf(file, " dt (%s)", dash);
        break;
    case RT_SERIES_LINE:
        fprintf(file, "%s using 1:2 with %s lc rgb %d lw 2", data,
                rt_plot_line_has_markers(series) ? "linespoints" : "lines", colour);
        if (dash[0] != '\0')
            fprintf(file, " dt (%s)", dash);
        if (rt_plot_line_has_markers(series))
            fprintf(file, " pt %d ps 0.7", marker);
        break;
    case RT_SERIES_BAND:
        fprintf(file, "%s using 1:2:3 with filledcurves fs transparent solid 0.2 noborder fc rgb %d", data,
                colour);
        break;
    case RT_SERIES_BARS:
    case RT_SERIES_SPANS:
        fprintf(file, "%s using 1:3:1:2:3:4 with boxxyerror fs solid 1 noborder fc rgb %d", data, colour);
        break;
    }
}

/* What is drawn over the series: points on intervals, figures at bars. */
static void print_second(const struct rt_series *series, const char *data, FILE *file)
{
    if (series->kind == RT_SERIES_INTERVALS)
        fprintf(file, ", %s using 1:2 with points pt %d ps %.2g lc rgb %d", data, rt_plot_marker(series),
                point_size(series), RT_PLOT_FIRST_COLOUR + (int)(series->style % RT_PLOT_COLOURS));
    if (series->kind == RT_SERIES_BARS && series->low != NULL)
        fprintf(file,
                ", %s using 7:(($3+$4)/2):($8-$7):(0) with vectors heads size graph 0.01,90 lc rgb %d lw 1.5",
                data, RT_PLOT_TEXT);
    if (series->kind == RT_SERIES_BARS)
        fprintf(file, ", %s using 6:(($3+$4)/2):5 with labels left offset 0.4,0", data);
}

static void print_rows(const struct rt_plot *plot, FILE *file)
{
    fprintf(file, "set yrange [%zu.5:-0.5]\nset ytics scale 0 (", plot->rows - 1);
    for (size_t r = 0; r < plot->rows; r++) {
        char *number = rt_format("%zu", r);
        fputs(r > 0 ? ", " : "", file);
        print_quoted(plot->row[r] != NULL ? plot->row[r] : number, MOST_LETTERS, file);
        fprintf(file, " %zu", r);
        free(number);
    }
    fputs(")\n", file);
}

static int height_of(const struct rt_plot *plot)
{
    if (!rt_plot_has_rows(plot))
        return HEIGHT;
    bool bars = plot->series[0].kind == RT_SERIES_BARS;
    return FRAME + (int)plot->rows * (bars && plot->styles > 1 ? (int)plot->styles * 18 + 8 : ROW);
}

static void find_padded(const struct rt_plot *plot, struct range range[2])
{
    find_ranges(plot, range);
    if (plot->count > 0 && plot->series[0].kind == RT_SERIES_BARS) { /* from zero, room for the figures */
        range[0].low = fmin(range[0].low, 0);
        range[0].high = fmax(range[0].high, 0) + 0.18 * (fmax(range[0].high, 0) - range[0].low);
        range[0].high = range[0].high > range[0].low ? range[0].high : 1;
        return;
    }
    pad(&range[0]);
    pad(&range[1]);
}

static bool has_bars(const struct rt_plot *plot)
{
    return plot->count > 0 && plot->series[0].kind == RT_SERIES_BARS;
}

void rt_plot_script(const struct rt_plot *plot, size_t number, FILE *file)
{
    RT_C_LOCALE;
    struct range range[2];
    find_padded(plot, range);
    fprintf(
        file,
        "reset\nset encoding utf8\nset terminal svg size %d,%d dynamic noenhanced font 'sans-serif,%d'\n"
        "set border %d\nset tics nomirror out scale 0.6\nset grid %s back lt 1 lc rgb %d lw 1\nunset key\n"
        "set pointintervalbox 0\n",
        RT_PLOT_WIDTH, height_of(plot), RT_PLOT_FONT, rt_plot_has_rows(plot) ? 1 : 3,
        rt_plot_has_rows(plot) ? "noytics xtics" : "xtics ytics", RT_PLOT_GRID);
    print_axis('x', plot->label[0], &range[0], has_bars(plot) ? 4 : 5, file);
    if (rt_plot_has_rows(plot))
        print_rows(plot, file);
    else
        print_axis('y', plot->label[1], &range[1], 5, file);
    for (size_t s = 0; s < plot->count; s++) {
        fprintf(file, "$d%zu_%zu << EOD\n", number, s);
        print_data(plot, s, range, file);
        fputs("EOD\n", file);
    }
    if (!isnan(plot->diagonal))
        fprintf(file, "$d%zu << EOD\n%.17g\n%.17g\nEOD\n", number, range[0].low, range[0].high);
    fputs("plot ", file);
    for (size_t s = 0; s < plot->count; s++) {
        char *data = rt_format("$d%zu_%zu", number, s);
        fputs(s > 0 ? ", " : "", file);
        print_drawing(&plot->series[s], data, file);
        print_second(&plot->series[s], data, file);
        free(data);
    }
    for (int i = -1; !isnan(plot->diagonal) && i <= 1; i++)
        fprintf(file, ", $d%zu using 1:($1*%.6g) with lines lc rgb %d lw 1%s", number, 1 + i * plot->diagonal,
                RT_PLOT_QUIET, i != 0 ? " dt (4,4)" : "");
    fputs("\n", file);
}
