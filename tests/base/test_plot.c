/* Plots: what they hold, what gnuplot is told, what comes of it. */
#include "base/plot_svg.h"
#include "base/report.h"
#include "test.h"

#include <math.h>
#include <unistd.h>

/* A page with one of each kind. */
static struct rt_report *make_report(void)
{
    static const double x[] = {1, 2, 4, 8}, y[] = {1, 1.5, 2.5, 4.5}, low[] = {0.8, 1.2, 2, 3},
                        high[] = {1.2, 2, 3, 6};
    static const char *const names[] = {"linear", "softmax", "layernorm"};
    static const size_t rows[] = {0, 1, 1};
    struct rt_report *report = rt_report_new();
    rt_report_add_title(report, "Pictures");
    struct rt_plot *plot = rt_plot_new("Latency against batch", "From %g to %g ms", y[0], y[3]);
    rt_plot_axes(plot, "batch", RT_SCALE_LOG, "latency, ms", RT_SCALE_LOG);
    rt_plot_band(plot, "H100", x, low, high, 4);
    rt_plot_line(plot, "H100", x, y, 4);
    rt_plot_line(plot, "A100", x, high, 4);
    rt_report_add_plot(report, plot);
    plot = rt_plot_new("Forecast against measured", "Most within 10%%");
    rt_plot_axes(plot, "measured, ms", RT_SCALE_LOG, "forecast, ms", RT_SCALE_LOG);
    rt_plot_intervals(plot, "linear", x, y, low, high, 4);
    rt_plot_points(plot, "bmm", x, x, 4);
    rt_plot_diagonal(plot, 0.1);
    rt_report_add_plot(report, plot);
    plot = rt_plot_new("Time by op", "linear takes most");
    rt_plot_axes(plot, "ms", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    rt_plot_bars(plot, "forecast", names, y, 3);
    rt_plot_bars(plot, "bound", names, low, 3);
    rt_report_add_plot(report, plot);
    plot = rt_plot_new("A step", "Two rows");
    rt_plot_axes(plot, "ms", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    rt_plot_spans(plot, "forward", rows, x, x + 1, 3);
    rt_plot_row_name(plot, 0, "stage 0");
    rt_report_add_plot(report, plot);
    return report;
}

static void test_page(void)
{
    struct rt_report *report = make_report();
    RT_ASSERT_OK(rt_report_save(report, rt_test_path("page.html")));
    rt_report_free(report);
}

RT_TESTS(RT_TEST(test_page))
