/* Plots as SVG. See plot_svg.h. */
#include "base/plot_svg.h"
#include "base/locale.h"
#include "base/plot_axes.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* In units of the picture, of which the smallest phone shows one at 0.68 of a pixel. */
enum {
    WIDTH = 480,
    HEIGHT = 360,
    TOP = 28,    /* the vertical axis' label */
    BOTTOM = 44, /* ticks and the label of x */
    RIGHT = 16,
    LETTER = 9, /* of the widest fonts, at 14 units */
    TICK = 4,
    ROW = 24
};

enum { MOST_LETTERS = 26, MOST_MARKERS = 40, MOST_INTERVALS = 300, MANY = 1000, COLOURS = 6 };

/* Okabe and Ito's colours (https://jfly.uni-koeln.de/color/), which colour-blind readers tell apart: on white
 * those of at least 3:1 (WCAG 2.1, 1.4.11), orange and yellow darkened to it; on black the lighter ones. Then
 * the grid, and limits. */
static const struct {
    char name;
    const char *light, *dark;
} paint[] = {{'1', "#0072b2", "#56b4e9"}, {'2', "#d55e00", "#e69f00"}, {'3', "#008660", "#2fc79c"},
             {'4', "#b5548b", "#e39cc4"}, {'5', "#8a6d00", "#f0e442"}, {'6', "#333", "#ccc"},
             {'g', "#ddd", "#3a3a3a"},    {'q', "#767676", "#999"}};

static void print_paint(bool dark, FILE *file)
{
    fputs(":root{", file);
    for (size_t i = 0; i < RT_COUNT(paint); i++)
        fprintf(file, "%s--s%c:%s", i > 0 ? ";" : "", paint[i].name, dark ? paint[i].dark : paint[i].light);
    fputs("}", file);
}

/* In a page the reader's scheme decides; a file of its own is light, for programs that know no var(). */
static void print_style(bool page, FILE *file)
{
    if (page) {
        print_paint(false, file);
        fputs("\n@media(prefers-color-scheme:dark){", file);
        print_paint(true, file);
        fputs("}\n@media print{", file);
        print_paint(false, file);
        fputs("}\n", file);
    }
    fputs(".plot{display:block;width:100%;height:auto;color:inherit}\n"
          ".plot .g,.key{fill:none;stroke:currentColor}.plot text{fill:currentColor;stroke:none;"
          "font:14px sans-serif}\n"
          ".plot [class^=f],.key [class^=f]{stroke:none}\n",
          file);
    for (size_t i = 0; i < RT_COUNT(paint); i++) {
        char own[] = {'v', 'a', 'r', '(', '-', '-', 's', paint[i].name, ')', '\0'};
        const char *colour = page ? own : paint[i].light;
        fprintf(file, ".c%c{color:%s}.k%c{stroke:%s}.f%c{fill:%s}\n", paint[i].name, colour, paint[i].name,
                colour, paint[i].name, colour);
    }
}

/* +-1 wide, full and hollow by turns. */
static const char markers_svg[] =
    "<svg width=\"0\" height=\"0\" aria-hidden=\"true\" class=\"defs\"><defs>"
    "<g id=\"m4\" fill=\"none\" stroke=\"currentColor\" stroke-width=\".4\"><path d=\"M-1-1h2v2h-2z\"/></g>"
    "<path id=\"m5\" fill=\"currentColor\" stroke=\"none\" d=\"M-1-1h2v2h-2z\"/>"
    "<circle id=\"m6\" fill=\"none\" stroke=\"currentColor\" stroke-width=\".4\" r=\"1\"/>"
    "<circle id=\"m7\" fill=\"currentColor\" stroke=\"none\" r=\"1\"/>"
    "<path id=\"m8\" fill=\"none\" stroke=\"currentColor\" stroke-width=\".4\" "
    "d=\"M0-1.33-1.33.67H1.33z\"/>"
    "<path id=\"m9\" fill=\"currentColor\" stroke=\"none\" d=\"M0-1.33-1.33.67H1.33z\"/>"
    "<path id=\"m11\" fill=\"currentColor\" stroke=\"none\" d=\"M0 1.33-1.33-.67H1.33z\"/>"
    "<path id=\"m13\" fill=\"currentColor\" stroke=\"none\" d=\"M0-1.41 1.41 0 0 1.41-1.41 0z\"/>"
    "</defs></svg>\n";

void rt_plot_style(FILE *file)
{
    print_style(true, file);
}

void rt_plot_markers(FILE *file)
{
    fputs(markers_svg, file);
}

/* On, off, ... in units of the picture. */
static const char *dashes_of(const struct rt_series *series)
{
    static const char *const dashes[] = {"none", "9,4", "2,3", "9,3,2,3"};
    return dashes[series->style % RT_COUNT(dashes)];
}

/* What follows `k`, `f` or `c` in a class. */
static char colour_of(const struct rt_series *series)
{
    return series->kind == RT_SERIES_LIMIT ? 'q' : (char)('1' + series->style % COLOURS);
}

enum { DOT = 7 };

/* The marker of a style, full ones first, but circles where points are so many that they are small. */
static int marker_of(const struct rt_series *series)
{
    static const int markers[] = {DOT, 9, 5, 13, 11, 6, 8, 4};
    return series->count > MANY ? DOT : markers[series->style % RT_COUNT(markers)];
}

static bool line_has_markers(const struct rt_series *series)
{
    return series->count <= MOST_MARKERS && series->count > 2;
}

/* Half of its width: small where they are many. */
static double marker_size(const struct rt_series *series)
{
    if (series->kind == RT_SERIES_LINE)
        return 3.7;
    return series->count > MANY ? 1.3 : series->count > 200 ? 2.1 : 3.1;
}

/* ---- the frame ---- */

struct drawing {
    const struct rt_plot *plot;
    struct rt_plot_axis axis[2]; /* x, y */
    int height;
    FILE *file;
};

/* At most so many letters: the tables have them whole. */
static void print_cut(const char *text, size_t most, FILE *file)
{
    char *printable = rt_text_printable(text, false);
    size_t letters = 0, length = 0;
    unsigned code = 0;
    while (printable[length] != '\0' && letters + 1 < most) {
        length += rt_utf8(printable + length, &code);
        letters++;
    }
    bool cut = printable[length] != '\0' && printable[length + rt_utf8(printable + length, &code)] != '\0';
    if (cut)
        printable[length] = '\0';
    rt_html_text(printable, file);
    fputs(cut ? "…" : "", file);
    free(printable);
}

/* `anchor`: start, middle, end. */
static void draw_text(const struct drawing *drawing, double x, double y, const char *anchor, const char *text,
                      size_t most)
{
    fprintf(drawing->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    print_cut(text, most, drawing->file);
    fputs("</text>\n", drawing->file);
}

static size_t letters_of(const char *text)
{
    char *printable = rt_text_printable(text, false); /* rt_utf8 is 0 at what is no UTF-8 */
    size_t letters = 0;
    unsigned code = 0;
    for (const char *at = printable; *at != '\0' && letters < MOST_LETTERS; letters++)
        at += rt_utf8(at, &code);
    free(printable);
    return letters;
}

static const char *row_name(const struct rt_plot *plot, size_t row, char number[24])
{
    snprintf(number, 24, "%zu", row);
    return plot->row[row] != NULL ? plot->row[row] : number;
}

/* The width of what stands left of the vertical axis. */
static double left_of(const struct drawing *drawing)
{
    size_t letters = 1;
    char number[24];
    for (size_t r = 0; rt_plot_has_rows(drawing->plot) && r < drawing->plot->rows; r++) {
        size_t row = letters_of(row_name(drawing->plot, r, number));
        letters = row > letters ? row : letters;
    }
    for (size_t t = 0; t < drawing->axis[1].ticks; t++) {
        size_t tick = letters_of(drawing->axis[1].tick[t].label);
        letters = tick > letters ? tick : letters;
    }
    return (double)(LETTER * letters + 3 * TICK);
}

static int height_of(const struct rt_plot *plot)
{
    if (!rt_plot_has_rows(plot))
        return HEIGHT;
    bool bars = plot->series[0].kind == RT_SERIES_BARS;
    return BOTTOM + 2 * TICK +
           (int)plot->rows * (bars && plot->styles > 1 ? (int)plot->styles * 18 + 8 : ROW);
}

static void drawing_init(struct drawing *drawing, const struct rt_plot *plot, FILE *file)
{
    *drawing = (struct drawing){.plot = plot, .height = height_of(plot), .file = file};
    struct rt_plot_axis *axis = drawing->axis;
    rt_plot_find_axes(plot, axis);
    const double top = rt_plot_has_rows(plot) ? 2 * TICK : TOP, bottom = drawing->height - BOTTOM;
    axis[0].from = left_of(drawing);
    axis[0].to = WIDTH - RIGHT;
    axis[1].from = rt_plot_has_rows(plot) ? top : bottom;
    axis[1].to = rt_plot_has_rows(plot) ? bottom : top;
}

static double place(const struct drawing *drawing, int axis, double value)
{
    return rt_plot_axis_place(&drawing->axis[axis], value);
}

/* Lines across the picture, ticks and figures. */
static void draw_ticks(const struct drawing *drawing)
{
    const struct rt_plot_axis *x = &drawing->axis[0], *y = &drawing->axis[1];
    const double bottom = drawing->height - BOTTOM, top = fmin(y->from, y->to);
    FILE *file = drawing->file;
    fputs("<path class=\"kg\" d=\"", file);
    for (size_t t = 0; t < x->ticks; t++)
        fprintf(file, "M%.1f,%.1fV%.1f", place(drawing, 0, x->tick[t].at), bottom, top);
    for (size_t t = 0; t < y->ticks; t++)
        fprintf(file, "M%.1f,%.1fH%.1f", x->from, place(drawing, 1, y->tick[t].at), x->to);
    fputs("\"/>\n<path d=\"", file);
    for (size_t t = 0; t < x->ticks; t++)
        fprintf(file, "M%.1f,%.1fv%d", place(drawing, 0, x->tick[t].at), bottom, TICK);
    for (size_t t = 0; t < y->ticks; t++)
        fprintf(file, "M%.1f,%.1fh-%d", x->from, place(drawing, 1, y->tick[t].at), TICK);
    fputs("\"/>\n", file);
    for (size_t t = 0; t < x->ticks; t++)
        if (x->tick[t].label[0] != '\0')
            draw_text(drawing, place(drawing, 0, x->tick[t].at), bottom + 18, "middle", x->tick[t].label,
                      MOST_LETTERS);
    for (size_t t = 0; t < y->ticks; t++)
        if (y->tick[t].label[0] != '\0')
            draw_text(drawing, x->from - 2 * TICK, place(drawing, 1, y->tick[t].at) + 5, "end",
                      y->tick[t].label, MOST_LETTERS);
}

static void draw_frame(const struct drawing *drawing)
{
    const struct rt_plot *plot = drawing->plot;
    const struct rt_plot_axis *x = &drawing->axis[0];
    const double bottom = drawing->height - BOTTOM;
    char number[24];
    draw_ticks(drawing);
    for (size_t r = 0; rt_plot_has_rows(plot) && r < plot->rows; r++)
        draw_text(drawing, x->from - 2 * TICK, place(drawing, 1, (double)r) + 5, "end",
                  row_name(plot, r, number), MOST_LETTERS);
    draw_text(drawing, (x->from + x->to) / 2, drawing->height - 6, "middle", plot->label[0], 50);
    if (rt_plot_has_rows(plot)) {
        fprintf(drawing->file, "<path d=\"M%.1f,%.1fH%.1f\"/>\n", x->from, bottom, x->to);
        return;
    }
    draw_text(drawing, 0, 14, "start", plot->label[1], 56);
    fprintf(drawing->file, "<path d=\"M%.1f,%dV%.1fH%.1f\"/>\n", x->from, TOP, bottom, x->to);
}

/* ---- thinning ---- */

/* Which cells of the picture hold a point already. */
struct cells {
    int size; /* units of the picture */
    bool *taken;
};

static struct cells cells_new(int size)
{
    return (struct cells){size, rt_calloc((size_t)WIDTH * HEIGHT, sizeof(bool))};
}

static bool shows(const struct drawing *drawing, double x, double y)
{
    return rt_plot_axis_shows(&drawing->axis[0], x) && rt_plot_axis_shows(&drawing->axis[1], y);
}

static size_t cell_of(const struct drawing *drawing, int size, double x, double y)
{
    size_t column = (size_t)fmax(place(drawing, 0, x), 0) / (size_t)size,
           row = (size_t)fmax(place(drawing, 1, y), 0) / (size_t)size;
    return row * WIDTH + column;
}

static bool take(struct cells *cells, const struct drawing *drawing, double x, double y)
{
    bool *taken = &cells->taken[cell_of(drawing, cells->size, x, y)], was = *taken;
    *taken = true;
    return !was;
}

static size_t count_cells(const struct drawing *drawing, const struct rt_series *series, int size)
{
    struct cells cells = cells_new(size);
    size_t count = 0;
    for (size_t i = 0; i < series->count; i++)
        count +=
            shows(drawing, series->x[i], series->y[i]) && take(&cells, drawing, series->x[i], series->y[i]);
    free(cells.taken);
    return count;
}

/* The least size of cells, from two units, that leaves the series its part of the picture's points. */
static int cell_size(const struct drawing *drawing, const struct rt_series *series)
{
    enum { MOST_POINTS = 9000, MOST_SIZE = 12 };
    const size_t most = MOST_POINTS / drawing->plot->count;
    int size = 2;
    while (size < MOST_SIZE && series->count > most && count_cells(drawing, series, size) > most)
        size++;
    return size;
}

/* ---- series ---- */

static void draw_marker(const struct drawing *drawing, const struct rt_series *series, size_t i)
{
    fprintf(drawing->file, "<use href=\"#m%d\" transform=\"translate(%.1f,%.1f)scale(%.2g)\" class=\"c%c\"",
            marker_of(series), place(drawing, 0, series->x[i]), place(drawing, 1, series->y[i]),
            marker_size(series), colour_of(series));
    if (series->point == NULL) {
        fputs("/>\n", drawing->file);
        return;
    }
    fputs("><title>", drawing->file);
    rt_html_text(series->point[i], drawing->file);
    fputs("</title></use>\n", drawing->file);
}

/* Points, each place once, but all that have names. Full circles are dots of one path. */
static void draw_points(const struct drawing *drawing, const struct rt_series *series)
{
    struct cells cells = cells_new(cell_size(drawing, series));
    const bool dots = marker_of(series) == DOT && series->point == NULL;
    if (dots)
        fprintf(drawing->file, "<path class=\"k%c\" stroke-linecap=\"round\" stroke-width=\"%.2g\" d=\"",
                colour_of(series), 2 * marker_size(series));
    for (size_t i = 0; i < series->count; i++) {
        double x = series->x[i], y = series->y[i];
        if (!shows(drawing, x, y) || (!take(&cells, drawing, x, y) && series->point == NULL))
            continue;
        if (dots)
            fprintf(drawing->file, "M%.1f,%.1fh0", place(drawing, 0, x), place(drawing, 1, y));
        else
            draw_marker(drawing, series, i);
    }
    fputs(dots ? "\"/>\n" : "", drawing->file);
    free(cells.taken);
}

/* Vertical: of many some, so that they can be told from each other. What is below the axis begins at its end.
 */
static void draw_intervals(const struct drawing *drawing, const struct rt_series *series)
{
    const struct rt_plot_axis *y = &drawing->axis[1];
    struct cells cells = cells_new(series->count > MOST_INTERVALS ? 16 : 2);
    fprintf(drawing->file, "<path class=\"k%c\" d=\"", colour_of(series));
    for (size_t i = 0; i < series->count; i++)
        if (shows(drawing, series->x[i], series->y[i]) && rt_plot_axis_shows(y, series->high[i]) &&
            take(&cells, drawing, series->x[i], series->y[i]))
            fprintf(drawing->file, "M%.1f,%.1fV%.1f", place(drawing, 0, series->x[i]),
                    place(drawing, 1, rt_plot_axis_shows(y, series->low[i]) ? series->low[i] : y->low),
                    place(drawing, 1, series->high[i]));
    fputs("\"/>\n", drawing->file);
    free(cells.taken);
}

/* In its order; neighbours in the same place once but for its end, gaps where it cannot be drawn. */
static void draw_line(const struct drawing *drawing, const struct rt_series *series)
{
    size_t before = SIZE_MAX;
    fprintf(drawing->file, "<path class=\"k%c\" stroke-width=\"%s\" stroke-dasharray=\"%s\" d=\"",
            colour_of(series), series->kind == RT_SERIES_LIMIT ? "1.5" : "2", dashes_of(series));
    for (size_t i = 0; i < series->count; i++) {
        if (!shows(drawing, series->x[i], series->y[i])) {
            before = SIZE_MAX;
            continue;
        }
        size_t cell = cell_of(drawing, 1, series->x[i], series->y[i]);
        if (cell != before || i + 1 == series->count)
            fprintf(drawing->file, "%c%.1f,%.1f", before == SIZE_MAX ? 'M' : 'L',
                    place(drawing, 0, series->x[i]), place(drawing, 1, series->y[i]));
        before = cell;
    }
    fputs("\"/>\n", drawing->file);
    for (size_t i = 0; series->kind == RT_SERIES_LINE && line_has_markers(series) && i < series->count; i++)
        if (shows(drawing, series->x[i], series->y[i]))
            draw_marker(drawing, series, i);
}

static bool band_shows(const struct drawing *drawing, const struct rt_series *series, size_t i)
{
    return i < series->count && shows(drawing, series->x[i], series->high[i]);
}

/* A piece for each run without gaps: along its upper end, back along the lower one. */
static void draw_band(const struct drawing *drawing, const struct rt_series *series)
{
    const struct rt_plot_axis *y = &drawing->axis[1];
    fprintf(drawing->file, "<path class=\"f%c\" fill-opacity=\".2\" d=\"", colour_of(series));
    for (size_t i = 0, end; i < series->count; i = end + 1) {
        for (end = i; band_shows(drawing, series, end); end++)
            fprintf(drawing->file, "%c%.1f,%.1f", end == i ? 'M' : 'L', place(drawing, 0, series->x[end]),
                    place(drawing, 1, series->high[end]));
        for (size_t back = end; back > i; back--)
            fprintf(drawing->file, "L%.1f,%.1f", place(drawing, 0, series->x[back - 1]),
                    place(drawing, 1,
                          rt_plot_axis_shows(y, series->low[back - 1]) ? series->low[back - 1] : y->low));
        fputs(end > i ? "z" : "", drawing->file);
    }
    fputs("\"/>\n", drawing->file);
}

static void draw_box(const struct drawing *drawing, double from, double to, double top, double bottom)
{
    fprintf(drawing->file, "M%.1f,%.1fH%.1fV%.1fH%.1fz", from, top, to, bottom, from);
}

/* The interval with its ends; the figure behind it. */
static void draw_bar_figure(const struct drawing *drawing, const struct rt_series *series, size_t i, double y)
{
    double high = series->high != NULL ? series->high[i] : NAN, end = fmax(series->x[i], 0);
    if (isfinite(high) && isfinite(series->low[i])) {
        double from = place(drawing, 0, series->low[i]), to = place(drawing, 0, high);
        fprintf(drawing->file, "<path stroke-width=\"1.5\" d=\"M%.1f,%.1fH%.1fM%.1f,%.1fv8M%.1f,%.1fv8\"/>\n",
                from, y, to, from, y - 4, to, y - 4);
        end = fmax(end, high);
    }
    draw_text(drawing, place(drawing, 0, end) + 5, y + 5, "start", rt_number_text(series->x[i]).text,
              MOST_LETTERS);
}

/* Bars of several series share their row. */
static void draw_bars(const struct drawing *drawing, const struct rt_series *series)
{
    const double height = 0.8 / (double)drawing->plot->styles, above = 0.4 - height * (double)series->style;
    fprintf(drawing->file, "<path class=\"f%c\" d=\"", colour_of(series));
    for (size_t i = 0; i < series->count; i++)
        if (isfinite(series->x[i]))
            draw_box(drawing, place(drawing, 0, 0), place(drawing, 0, series->x[i]),
                     place(drawing, 1, series->y[i] - above),
                     place(drawing, 1, series->y[i] - above + height));
    fputs("\"/>\n", drawing->file);
    for (size_t i = 0; i < series->count; i++)
        if (isfinite(series->x[i]))
            draw_bar_figure(drawing, series, i, place(drawing, 1, series->y[i] - above + height / 2));
}

/* Spans of a row that begin where the one before ended are one, where they are narrower than the eye sees. */
static void draw_spans(const struct drawing *drawing, const struct rt_series *series)
{
    const struct rt_plot_axis *x = &drawing->axis[0];
    const double unit = (x->high - x->low) / (x->to - x->from);
    fprintf(drawing->file, "<path class=\"f%c\" d=\"", colour_of(series));
    for (size_t i = 0; i < series->count; i++) {
        double from = series->low[i], to = series->high[i];
        for (; i + 1 < series->count && series->y[i + 1] == series->y[i] &&
               series->low[i + 1] - to < 2 * unit && series->low[i + 1] >= from;
             i++)
            to = fmax(to, series->high[i + 1]);
        to = fmax(to, from + unit);
        if (isfinite(from) && isfinite(to))
            draw_box(drawing, place(drawing, 0, from), place(drawing, 0, to),
                     place(drawing, 1, series->y[i] - 0.4), place(drawing, 1, series->y[i] + 0.4));
    }
    fputs("\"/>\n", drawing->file);
}

static void draw_series(const struct drawing *drawing, const struct rt_series *series)
{
    switch (series->kind) {
    case RT_SERIES_INTERVALS:
        draw_intervals(drawing, series);
        draw_points(drawing, series);
        break;
    case RT_SERIES_POINTS:
        draw_points(drawing, series);
        break;
    case RT_SERIES_LIMIT:
    case RT_SERIES_LINE:
        draw_line(drawing, series);
        break;
    case RT_SERIES_BAND:
        draw_band(drawing, series);
        break;
    case RT_SERIES_BARS:
        draw_bars(drawing, series);
        break;
    case RT_SERIES_SPANS:
        draw_spans(drawing, series);
        break;
    }
}

/* y = factor x, from where it enters the picture to where it leaves it. */
static void draw_diagonal(const struct drawing *drawing, double factor, const char *dashes)
{
    const struct rt_plot_axis *x = &drawing->axis[0], *y = &drawing->axis[1];
    double from = fmax(x->low, y->low / factor), to = fmin(x->high, y->high / factor);
    if (factor > 0 && from < to)
        fprintf(drawing->file, "<path class=\"kq\" stroke-dasharray=\"%s\" d=\"M%.1f,%.1fL%.1f,%.1f\"/>\n",
                dashes, place(drawing, 0, from), place(drawing, 1, from * factor), place(drawing, 0, to),
                place(drawing, 1, to * factor));
}

bool rt_plot_svg(const struct rt_plot *plot, const char *attributes, FILE *file)
{
    RT_C_LOCALE;
    struct drawing drawing;
    if (rt_plot_is_empty(plot))
        return false;
    drawing_init(&drawing, plot, file);
    fprintf(file, "<svg class=\"plot\" viewBox=\"0 0 %d %d\"%s>\n<g class=\"g\">\n", WIDTH, drawing.height,
            attributes);
    draw_frame(&drawing);
    for (size_t s = 0; s < plot->count; s++)
        draw_series(&drawing, &plot->series[s]);
    for (int i = -1; !isnan(plot->diagonal) && i <= 1; i++)
        draw_diagonal(&drawing, 1 + i * plot->diagonal, i != 0 ? "4,4" : "none");
    fputs("</g>\n</svg>\n", file);
    return true;
}

void rt_plot_svg_file(const struct rt_plot *plot, FILE *file)
{
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\">\n<rect width=\"100%%\" "
            "height=\"100%%\" fill=\"#fff\"/>\n<title>",
            WIDTH, height_of(plot));
    rt_html_text(plot->title, file);
    fputs("</title>\n<desc>", file);
    rt_html_text(plot->alt, file);
    fputs("</desc>\n<style>\n", file);
    print_style(false, file);
    fprintf(file, "</style>\n%s", markers_svg);
    rt_plot_svg(plot, "", file);
    fputs("</svg>\n", file);
}

/* ---- legends ---- */

static void print_swatch(const struct rt_series *series, FILE *file)
{
    bool line = series->kind == RT_SERIES_LINE, limit = series->kind == RT_SERIES_LIMIT,
         interval = series->kind == RT_SERIES_INTERVALS;
    const char colour = colour_of(series);
    if (series->kind >= RT_SERIES_BAND)
        fprintf(file, "<path class=\"f%c\"%s d=\"M1 1h28v10H1z\"/>", colour,
                series->kind == RT_SERIES_BAND ? " fill-opacity=\".25\"" : "");
    if (line || limit)
        fprintf(file, "<path class=\"k%c\" stroke-width=\"2\" stroke-dasharray=\"%s\" d=\"M0 6h30\"/>",
                colour, dashes_of(series));
    if (interval)
        fprintf(file, "<path class=\"k%c\" d=\"M15 0v12\"/>", colour);
    if (series->kind == RT_SERIES_POINTS || interval || (line && line_has_markers(series)))
        fprintf(file, "<use href=\"#m%d\" class=\"c%c\" transform=\"translate(15,6)scale(4)\"/>",
                marker_of(series), colour);
}

static bool is_first_of_style(const struct rt_plot *plot, size_t s)
{
    for (size_t i = 0; i < s; i++)
        if (plot->series[i].style == plot->series[s].style)
            return false;
    return true;
}

static void print_entry(const struct rt_plot *plot, size_t style, const char *name, FILE *file)
{
    fputs("<li><svg class=\"key\" viewBox=\"0 0 30 12\" aria-hidden=\"true\">", file);
    for (size_t s = 0; s < plot->count; s++)
        if (plot->series[s].style == style)
            print_swatch(&plot->series[s], file);
    fputs("</svg> ", file);
    rt_html_text(name, file);
    fputs("</li>\n", file);
}

void rt_plot_legend(const struct rt_plot *plot, FILE *file)
{
    size_t entries = isnan(plot->diagonal) ? 0 : 1;
    for (size_t s = 0; s < plot->count; s++)
        entries += is_first_of_style(plot, s);
    if (entries < 2)
        return;
    fputs("<ul class=\"legend\">\n", file);
    for (size_t s = 0; s < plot->count; s++)
        if (plot->series[s].name[0] != '\0' && is_first_of_style(plot, s))
            print_entry(plot, plot->series[s].style, plot->series[s].name, file);
    if (!isnan(plot->diagonal))
        fprintf(file,
                "<li><svg class=\"key\" viewBox=\"0 0 30 12\" aria-hidden=\"true\"><path class=\"kq\" "
                "d=\"M0 6h30\"/><path class=\"kq\" stroke-dasharray=\"4,4\" "
                "d=\"M0 1h30M0 11h30\"/></svg> equal, and %g%% more or less</li>\n",
                100 * plot->diagonal);
    fputs("</ul>\n", file);
}
