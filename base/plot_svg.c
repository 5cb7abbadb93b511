/* One gnuplot for all plots of a page, and its SVG made small. See plot_svg.h. */
#include "base/plot_svg.h"
#include "base/plot_script.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Okabe and Ito's colours (https://jfly.uni-koeln.de/color/), which colour-blind readers tell apart: on white
 * those of at least 3:1 (WCAG 2.1, 1.4.11), orange and yellow darkened to it; on black the lighter ones. */
const char rt_plot_style[] =
    ":root{--s1:#0072b2;--s2:#d55e00;--s3:#008660;--s4:#b5548b;--s5:#8a6d00;--s6:#333;--grid:#ddd;"
    "--quiet:#767676}\n"
    "@media(prefers-color-scheme:dark){:root{--s1:#56b4e9;--s2:#e69f00;--s3:#2fc79c;--s4:#e39cc4;"
    "--s5:#f0e442;--s6:#ccc;--grid:#3a3a3a;--quiet:#999}}\n"
    "@media print{:root{--s1:#0072b2;--s2:#d55e00;--s3:#008660;--s4:#b5548b;--s5:#8a6d00;--s6:#333;"
    "--grid:#ddd;--quiet:#767676}}\n"
    ".plot{display:block;width:100%;height:auto;color:inherit}\n"
    ".plot .g,.key{fill:none;stroke:currentColor}.plot text{fill:currentColor;stroke:none;"
    "font:14px sans-serif}\n"
    ".plot polygon,.plot [class^=f],.key [class^=f]{stroke:none}\n"
    ".c1{color:var(--s1)}.c2{color:var(--s2)}.c3{color:var(--s3)}.c4{color:var(--s4)}.c5{color:var(--s5)}"
    ".c6{color:var(--s6)}\n"
    ".k1{stroke:var(--s1)}.k2{stroke:var(--s2)}.k3{stroke:var(--s3)}.k4{stroke:var(--s4)}"
    ".k5{stroke:var(--s5)}.k6{stroke:var(--s6)}.k253{stroke:var(--grid)}.k254{stroke:var(--quiet)}.k255{"
    "stroke:currentColor}\n"
    ".f1{fill:var(--s1)}.f2{fill:var(--s2)}.f3{fill:var(--s3)}.f4{fill:var(--s4)}.f5{fill:var(--s5)}"
    ".f6{fill:var(--s6)}\n";

/* As gnuplot draws them: +-1 wide, full and hollow by turns. */
const char rt_plot_markers[] =
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

/* ---- gnuplot ---- */

/* Pictures take tenths of a second; one that waits for anything is ended. */
enum { MOST_SECONDS = 30 };

/* Waits for the process. Ctrl-C reaches it as it does this program. */
static int wait_for(pid_t process)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    int code = 0, ended = 0, waits = 0;
    while ((ended = waitpid(process, &code, WNOHANG)) == 0 && !rt_interrupted() &&
           waits++ < MOST_SECONDS * 500)
        nanosleep(&pause, NULL);
    if (ended == 0) {
        kill(process, SIGKILL);
        waitpid(process, &code, 0);
    }
    if (rt_interrupted() || (ended > 0 && WIFSIGNALED(code) && WTERMSIG(code) == SIGINT))
        return rt_fail(RT_EINTERRUPTED, "interrupted while gnuplot drew");
    if (ended == 0)
        return rt_fail(RT_ENOTFOUND, "gnuplot did not end within %d s", MOST_SECONDS); /* not tried again */
    if (ended < 0)
        return rt_fail(RT_EIO, "gnuplot: cannot be waited for: %s", strerror(errno));
    if (WIFEXITED(code) && WEXITSTATUS(code) == 127)
        return rt_fail(RT_ENOTFOUND, "gnuplot was not found; install it (Debian: gnuplot-nox)");
    if (!WIFEXITED(code) || WEXITSTATUS(code) != 0)
        return rt_fail(RT_EIO, "gnuplot failed");
    return RT_OK;
}

/* Runs it on the commands of `script`; its standard output goes to `svg`, its messages nowhere. */
static int run_gnuplot(FILE *script, FILE *svg)
{
    static const char *const words[] = {"gnuplot", "-d", NULL}; /* -d: no settings of the user's */
    extern char **environ;
    posix_spawn_file_actions_t actions;
    pid_t process;
    if (fflush(script) != 0 || lseek(fileno(script), 0, SEEK_SET) != 0)
        return rt_fail(RT_EIO, "the commands for gnuplot cannot be written: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(svg), STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&process, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed == ENOENT)
        return rt_fail(RT_ENOTFOUND, "gnuplot was not found; install it (Debian: gnuplot-nox)");
    if (failed != 0)
        return rt_fail(RT_EIO, "gnuplot cannot be started: %s", strerror(failed));
    return wait_for(process);
}

/* A file without a name, in memory. */
static FILE *memory_file(void)
{
    int file = memfd_create("rooftile", MFD_CLOEXEC);
    FILE *stream = file >= 0 ? fdopen(file, "w+") : NULL;
    if (stream == NULL && file >= 0)
        close(file);
    return stream;
}

static char *read_all(FILE *file)
{
    struct rt_text text = {0};
    char part[1 << 14];
    rewind(file);
    for (size_t length; (length = fread(part, 1, sizeof part, file)) > 0;)
        rt_text_add(&text, "%.*s", (int)length, part);
    return rt_text_take(&text);
}

/* ---- its SVG made small ---- */

/* Groups of gnuplot's SVG say how what is in them is drawn; here each element says it, in a class where it
 * can.
 */
struct rewriter {
    struct rt_text out;
    char width[16];             /* of lines: of the last group */
    char place[64], anchor[16]; /* of the next text */
    char path[16];              /* the class of the points or boxes that are gathered in one path; "": none */
    const struct rt_plot *plot;
    size_t series, point; /* whose markers come next: those of series with names */
};

/* The value of an attribute of a tag, "" where it has none. */
static const char *attribute(const char *tag, const char *name, char *out, size_t size)
{
    size_t length = strlen(name);
    const char *end = strchr(tag, '>');
    out[0] = '\0';
    for (const char *at = tag; (at = strstr(at, name)) != NULL && at < end; at += length) {
        const char *value = at + length + strspn(at + length, " =");
        if (at[-1] != ' ' || strchr("'\"", *value) == NULL || (at[length] != ' ' && at[length] != '='))
            continue;
        snprintf(out, size, "%.*s", (int)strcspn(value + 1, *value == '"' ? "\"" : "'"), value + 1);
        return out;
    }
    return out;
}

/* The same of any length, where it stands in the tag. */
static size_t long_attribute(const char *tag, const char *name, const char **value)
{
    char *pattern = rt_format(" %s", name);
    const char *end = strchr(tag, '>'), *at = strstr(tag, pattern);
    free(pattern);
    if (at == NULL || at > end || (at = strpbrk(at, "'\"")) == NULL)
        return 0;
    *value = at + 1;
    return strcspn(*value, *at == '"' ? "\"" : "'");
}

/* gnuplot's rgb(0, 0, 3), with three places a number, as a class: "k3"; "" for black. */
static const char *class_of(const char *tag, const char *name, char letter, char *out, size_t size)
{
    char value[32];
    int colour;
    out[0] = '\0';
    if (sscanf(attribute(tag, name, value, sizeof value), "rgb( 0, 0, %d)", &colour) == 1)
        snprintf(out, size, "%c%d", letter, colour);
    return out;
}

/* Points over several lines, in one. */
static void add_points(struct rewriter *to, const char *points, size_t length)
{
    while (length > 0) {
        size_t part = strcspn(points, "\n\t ");
        part = part < length ? part : length;
        if (part > 0)
            rt_text_add(&to->out, "%.*s ", (int)part, points);
        part += part < length;
        points += part;
        length -= part;
    }
}

static void end_path(struct rewriter *to)
{
    if (to->path[0] != '\0')
        rt_text_add(&to->out, "\"/>\n");
    to->path[0] = '\0';
}

/* Goes on in the path of the class, or begins one. */
static void begin_path(struct rewriter *to, const char *class, const char *more)
{
    if (strcmp(class, to->path) == 0)
        return;
    end_path(to);
    rt_text_add(&to->out, "<path class=\"%s\"%s d=\"", class, more);
    snprintf(to->path, sizeof to->path, "%s", class);
}

static bool is_shown(const struct rt_plot *plot, const struct rt_series *series, size_t i)
{
    const double at[2] = {series->x[i], series->y[i]};
    for (int axis = 0; axis < 2; axis++)
        if (!isfinite(at[axis]) || (plot->scale[axis] == RT_SCALE_LOG && at[axis] <= 0))
            return false;
    return true;
}

/* The name of the marker of that colour that comes next, of a series whose points have names; NULL: none.
 * Series follow each other, each in its order. */
static const char *next_name(struct rewriter *to, int colour)
{
    for (; to->series < to->plot->count; to->series++, to->point = 0) {
        const struct rt_series *series = &to->plot->series[to->series];
        bool named =
            series->point != NULL && RT_PLOT_FIRST_COLOUR + (int)(series->style % RT_PLOT_COLOURS) == colour;
        while (named && to->point < series->count && !is_shown(to->plot, series, to->point))
            to->point++;
        if (named && to->point < series->count)
            return series->point[to->point++];
        if (series->point != NULL && to->point == 0)
            return NULL; /* markers of another series are drawn before it */
    }
    return NULL;
}

/* A point: full circles as dots of one path, other markers one by one. */
static void rewrite_point(struct rewriter *to, const char *tag)
{
    char value[64], class[16];
    double x = 0, y = 0, scale = 1;
    int marker = 0;
    sscanf(attribute(tag, "xlink:href", value, sizeof value), "#gpPt%d", &marker);
    sscanf(attribute(tag, "transform", value, sizeof value), "translate(%lf,%lf) scale(%lf)", &x, &y, &scale);
    marker++; /* gnuplot counts them from 0 here */
    class_of(tag, "color", 'c', class, sizeof class);
    const char *name = next_name(to, atoi(class + (class[0] != '\0')));
    if (marker != RT_PLOT_DOT || name != NULL) {
        end_path(to);
        rt_text_add(&to->out, "<use href=\"#m%d\" transform=\"translate(%.1f,%.1f)scale(%.2g)\" class=\"%s\"",
                    marker, x, y, scale, class);
        if (name != NULL) {
            rt_text_add(&to->out, "><title>");
            rt_text_add_html(&to->out, name);
        }
        rt_text_add(&to->out, name != NULL ? "</title></use>\n" : "/>\n");
        return;
    }
    class_of(tag, "color", 'k', class, sizeof class);
    char width[48];
    snprintf(width, sizeof width, " stroke-linecap=\"round\" stroke-width=\"%.2g\"", 2 * scale);
    begin_path(to, class, width);
    rt_text_add(&to->out, "M%.1f,%.1fh0", x, y);
}

static void rewrite_path(struct rewriter *to, const char *tag)
{
    const char *points = "";
    char class[16], dashes[64];
    size_t length = long_attribute(tag, "d", &points);
    if (memchr(points, 'L', length) == NULL)
        return;
    rt_text_add(&to->out, "<path");
    if (class_of(tag, "stroke", 'k', class, sizeof class)[0] != '\0')
        rt_text_add(&to->out, " class=\"%s\"", class);
    if (strcmp(to->width, "1.00") != 0)
        rt_text_add(&to->out, " stroke-width=\"%s\"", to->width);
    if (attribute(tag, "stroke-dasharray", dashes, sizeof dashes)[0] != '\0')
        rt_text_add(&to->out, " stroke-dasharray=\"%s\"", dashes);
    rt_text_add(&to->out, " d=\"");
    add_points(to, points, length);
    rt_text_add(&to->out, "\"/>\n");
}

/* Upright boxes of a colour become one path. */
static bool rewrite_box(struct rewriter *to, const char *tag, const char *points)
{
    double x[5], y[5];
    char class[16];
    int corners = sscanf(points, "%lf,%lf %lf,%lf %lf,%lf %lf,%lf %lf,%lf", &x[0], &y[0], &x[1], &y[1], &x[2],
                         &y[2], &x[3], &y[3], &x[4], &y[4]);
    if (corners != 8 || attribute(tag, "fill-opacity", class, sizeof class)[0] != '\0' || x[0] != x[3] ||
        x[1] != x[2] || y[0] != y[1] || y[2] != y[3])
        return false;
    class_of(tag, "fill", 'f', class, sizeof class);
    begin_path(to, class, "");
    rt_text_add(&to->out, "M%.5g,%.5gH%.5gV%.5gH%.5gz", x[0], y[0], x[1], y[2], x[0]);
    return true;
}

static void rewrite_polygon(struct rewriter *to, const char *tag)
{
    const char *points = "";
    char class[16], opacity[32];
    size_t length = long_attribute(tag, "points", &points);
    if (rewrite_box(to, tag, points))
        return;
    end_path(to);
    rt_text_add(&to->out, "<polygon class=\"%s\"", class_of(tag, "fill", 'f', class, sizeof class));
    if (attribute(tag, "fill-opacity", opacity, sizeof opacity)[0] != '\0')
        rt_text_add(&to->out, " fill-opacity=\"%.3g\"", atof(opacity));
    rt_text_add(&to->out, " points=\"");
    add_points(to, points, length);
    rt_text_add(&to->out, "\"/>\n");
}

/* Up to its end, which is returned. gnuplot has escaped it. */
static const char *rewrite_text(struct rewriter *to, const char *tag)
{
    const char *text = tag + strlen("<text>"), *end = strstr(text, "</text>");
    if (end == NULL)
        return text;
    text += strspn(text, " ");
    rt_text_add(&to->out, "<text transform=\"%s\" text-anchor=\"%s\">%.*s</text>\n", to->place, to->anchor,
                (int)(end - text), text);
    return end;
}

static bool is_tag(const char *at, const char *begins)
{
    return strncmp(at, begins, strlen(begins)) == 0;
}

/* One element of gnuplot's; returns where to go on. */
static const char *rewrite_tag(struct rewriter *to, const char *at)
{
    if (is_tag(at, "<use ")) {
        rewrite_point(to, at);
        return at + 1;
    }
    if (is_tag(at, "<polygon ")) {
        rewrite_polygon(to, at);
        return at + 1;
    }
    end_path(to);
    if (is_tag(at, "<g transform")) {
        attribute(at, "transform", to->place, sizeof to->place);
        attribute(at, "text-anchor", to->anchor, sizeof to->anchor);
    } else if (is_tag(at, "<g fill")) {
        attribute(at, "stroke-width", to->width, sizeof to->width);
    } else if (is_tag(at, "<path ")) {
        rewrite_path(to, at);
    } else if (is_tag(at, "<text>")) {
        return rewrite_text(to, at);
    }
    return at + 1;
}

/* What stands between the first `</defs>` and `</svg>`, rewritten; *rest goes on behind it. NULL: there is
 * none. */
static char *rewrite(const struct rt_plot *plot, const char **rest)
{
    struct rewriter to = {.width = "1.00", .plot = plot};
    const char *view = strstr(*rest, "<svg"), *at = view != NULL ? strstr(view, "</defs>") : NULL,
               *end = at != NULL ? strstr(at, "</svg>") : NULL;
    char box[64];
    if (end == NULL)
        return NULL;
    attribute(view, "viewBox", box, sizeof box);
    rt_text_add(&to.out, "viewBox=\"%s\">\n<g class=\"g\">\n", box);
    for (at = strchr(at + 1, '<'); at < end; at = strchr(at, '<'))
        at = rewrite_tag(&to, at);
    end_path(&to);
    rt_text_add(&to.out, "</g>\n</svg>\n");
    *rest = end + 1;
    return rt_text_take(&to.out);
}

/* ---- plots ---- */

static int take_pictures(struct rt_plot *const *plots, size_t count, const char *text, char **svg)
{
    for (size_t p = 0; p < count; p++)
        if (!rt_plot_is_empty(plots[p]) && (svg[p] = rewrite(plots[p], &text)) == NULL)
            return rt_fail(RT_EIO, "gnuplot drew no picture of \"%s\"", plots[p]->title);
    return RT_OK;
}

static int draw(struct rt_plot *const *plots, size_t count, char **svg, FILE *script, FILE *drawn)
{
    size_t drawable = 0;
    for (size_t p = 0; p < count; p++)
        if (!rt_plot_is_empty(plots[p])) {
            rt_plot_script(plots[p], p, script);
            drawable++;
        }
    int status = drawable > 0 ? run_gnuplot(script, drawn) : RT_OK;
    if (status != RT_OK)
        return status;
    char *text = read_all(drawn);
    status = take_pictures(plots, count, text, svg);
    free(text);
    return status;
}

/* All by one gnuplot, or none. */
static int draw_together(struct rt_plot *const *plots, size_t count, char **svg)
{
    for (size_t p = 0; p < count; p++)
        svg[p] = NULL;
    FILE *script = memory_file(), *drawn = memory_file();
    int status = script != NULL && drawn != NULL
                     ? draw(plots, count, svg, script, drawn)
                     : rt_fail(RT_EIO, "no memory for gnuplot's commands: %s", strerror(errno));
    for (size_t p = 0; status != RT_OK && p < count; p++) {
        free(svg[p]);
        svg[p] = NULL;
    }
    if (script != NULL)
        fclose(script);
    if (drawn != NULL)
        fclose(drawn);
    return status;
}

int rt_plots_draw(struct rt_plot *const *plots, size_t count, char **svg)
{
    int status = draw_together(plots, count, svg);
    if (status != RT_EIO || count < 2)
        return status;
    for (size_t p = 0; p < count; p++)
        if (draw_together(plots + p, 1, svg + p) == RT_OK && svg[p] != NULL)
            status = RT_OK;
    return status;
}

/* ---- legends ---- */

static void print_swatch(const struct rt_series *series, FILE *file)
{
    bool line = series->kind == RT_SERIES_LINE, limit = series->kind == RT_SERIES_LIMIT,
         interval = series->kind == RT_SERIES_INTERVALS;
    size_t colour = limit ? RT_PLOT_QUIET : RT_PLOT_FIRST_COLOUR + series->style % RT_PLOT_COLOURS;
    if (series->kind >= RT_SERIES_BAND)
        fprintf(file, "<path class=\"f%zu\"%s d=\"M1 1h28v10H1z\"/>", colour,
                series->kind == RT_SERIES_BAND ? " fill-opacity=\".25\"" : "");
    if (line || limit)
        fprintf(file, "<path class=\"k%zu\" stroke-width=\"2\" stroke-dasharray=\"%s\" d=\"M0 6h30\"/>",
                colour, rt_plot_dashes(series->style)[0] != '\0' ? rt_plot_dashes(series->style) : "none");
    if (interval)
        fprintf(file, "<path class=\"k%zu\" d=\"M15 0v12\"/>", colour);
    if (series->kind == RT_SERIES_POINTS || interval || (line && rt_plot_line_has_markers(series)))
        fprintf(file, "<use href=\"#m%d\" class=\"c%zu\" transform=\"translate(15,6)scale(4)\"/>",
                rt_plot_marker(series), colour);
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
                "<li><svg class=\"key\" viewBox=\"0 0 30 12\" aria-hidden=\"true\"><path class=\"k%d\" "
                "d=\"M0 6h30\"/><path class=\"k%d\" stroke-dasharray=\"4,4\" "
                "d=\"M0 1h30M0 11h30\"/></svg> equal, and %g%% more or less</li>\n",
                RT_PLOT_QUIET, RT_PLOT_QUIET, 100 * plot->diagonal);
    fputs("</ul>\n", file);
}
