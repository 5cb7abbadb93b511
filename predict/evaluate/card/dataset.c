/* The card of a dataset. See card.h. */
#include "predict/evaluate/card/card_parts.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* "Kernel latencies of NVIDIA L4, NVIDIA H100 80GB HBM3 and 3 more". Free with free(). */
static char *title_of(const struct rt_dataset *dataset, const struct rt_card_options *options)
{
    if (options->title != NULL)
        return rt_strdup(options->title);
    const char **names = rt_calloc(dataset->device_count + 1, sizeof *names);
    for (size_t d = 0; d < dataset->device_count; d++)
        names[d] = dataset->devices[d].name;
    char *devices = rt_card_names(names, dataset->device_count, 3);
    char *title = rt_format("%s%s of %s", rt_card_synthetic(dataset) > 0 ? "SYNTHETIC: " : "",
                            dataset->sample_count > 0 ? "Kernel latencies" : "Measured models", devices);
    free(devices);
    free(names);
    return title;
}

static void add_what(struct rt_report *report, const struct rt_dataset *dataset)
{
    size_t synthetic = rt_card_synthetic(dataset), rows = dataset->sample_count + dataset->workload_count;
    if (synthetic > 0)
        rt_report_add_paragraph(
            report,
            "**SYNTHETIC: %zu of the %zu rows are made up by a formula, not measured. They show how "
            "the tools work and nothing about hardware.**",
            synthetic, rows);
    rt_report_add_paragraph(
        report,
        "%zu samples (one kernel on one device each) and %zu runs of whole models, measured on %zu "
        "device%s, in one HDF5 file. Times are in microseconds, energy in millijoules.",
        dataset->sample_count, dataset->workload_count, dataset->device_count,
        dataset->device_count == 1 ? "" : "s");
}

static void add_origin(struct rt_report *report, const struct rt_dataset *dataset, const char *licence,
                       const struct rt_card_options *options)
{
    rt_report_add_heading(report, "Where it is from");
    if (options->author != NULL)
        rt_report_add_text(report, "author", "author", options->author);
    rt_report_add_text(report, "source", "source",
                       options->source != NULL ? options->source : dataset->source);
    rt_report_add_fact(
        report, "licence", rt_json_text(licence), "licence", "%s",
        licence[0] != '\0' ? licence : "**not stated: ask who measured it before you use or pass it on**");
    rt_report_add_text(report, "creator", "written by", dataset->creator);
    rt_report_add_text(report, "created", "on", dataset->created);
    rt_report_add_text(report, "uuid", "uuid of the content", dataset->uuid);
    rt_report_add_fact(report, "version", json_integer(RT_DATASET_VERSION), "format", "%s, version %d",
                       RT_DATASET_FORMAT, RT_DATASET_VERSION);
}

static void add_tables(struct rt_report *report, const struct rt_dataset *dataset)
{
    rt_report_add_table(report, "devices", "Devices", rt_card_devices(dataset));
    rt_report_add_table(report, "ops", "Ops and dtypes", rt_card_ops(dataset));
    rt_report_add_table(report, "models", "Whole models", rt_card_models(dataset));
    rt_report_add_table(report, "attributes", "How it was measured, and with which versions",
                        rt_card_attributes(dataset));
}

static void add_faults(struct rt_report *report, const struct rt_dataset *dataset)
{
    struct rt_table *faults = rt_card_faults(dataset), *sessions = rt_card_sessions(dataset);
    if (rt_table_rows(faults) + rt_table_rows(sessions) == 0) {
        rt_report_add_heading(report, "Known faults");
        rt_report_add_paragraph(report,
                                "None is marked, and no kernel is faster than its device's peaks allow.");
    }
    rt_report_add_table(report, "faults", "Known faults", faults);
    rt_report_add_table(report, "failures", "Failures", rt_card_failures(dataset));
    rt_report_add_table(report, "throttled_sessions", "Sessions that look throttled", sessions);
}

static void add_limits(struct rt_report *report)
{
    rt_report_add_heading(report, "Limits");
    rt_report_add_note(report, NULL,
                       "It holds for these devices with these drivers, libraries and clocks; others differ.");
    rt_report_add_note(
        report, NULL,
        "A kernel that is timed alone carries the host's dispatch, but where it has the flag `queued`; "
        "in a model that runs many, most of that is hidden.");
    rt_report_add_note(report, NULL,
                       "Outside the ranges above nothing was measured: a predictor that is fitted to it "
                       "extrapolates there, by physics.");
    rt_report_add_note(report, NULL,
                       "Failed kernels have no time: leave out rows whose `latency_us` is missing.");
}

static void add_use(struct rt_report *report, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    char *lines = rt_format("rooftile dataset info %s\n"
                            "rooftile dataset validate %s\n"
                            "rooftile train %s -o predictor.h5\n",
                            name, name, name);
    rt_report_add_heading(report, "How to use it");
    rt_report_add_lines(report, lines);
    free(lines);
    rt_report_add_paragraph(
        report, "Any reader of HDF5 opens it; datasets/FORMAT.md of rooftile names every column.");
}

struct rt_report *rt_card_of_dataset(const struct rt_dataset *dataset, const char *path,
                                     const struct rt_card_options *options,
                                     const struct rt_card_scored *judged)
{
    struct rt_report *report = rt_report_new();
    const char *licence = options->licence != NULL ? options->licence : dataset->licence;
    char *title = title_of(dataset, options);
    rt_report_add_front(report, "metadata", rt_front_of_dataset(dataset, title, licence, options));
    rt_report_add_title(report, "%s", title);
    add_what(report, dataset);
    add_origin(report, dataset, licence, options);
    add_tables(report, dataset);
    add_faults(report, dataset);
    if (judged != NULL)
        rt_card_add_scored(report, judged);
    add_limits(report);
    add_use(report, path);
    rt_card_add_end(report, options, dataset->source);
    free(title);
    return report;
}
