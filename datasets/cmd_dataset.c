/* `rooftile dataset`: info, import, export, merge, validate. */
#include "base/array.h"
#include "base/options.h"
#include "base/outputs.h"
#include "datasets/dataset.h"
#include "datasets/export_csv.h"
#include "datasets/health.h"
#include "datasets/import/import.h"
#include "datasets/dataset_order.h"
#include "base/progress.h"
#include "base/report_files.h"
#include "base/status.h"
#include "base/threads.h"
#include "datasets/sample_plots.h"
#include "datasets/summary.h"
#include "datasets/validate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    struct rt_names names; /* files and folders, in order */
    struct rt_names reports;
    const char *out, *format, *source, *licence, *gpu;
    int threads;
    size_t max_impossible;
    bool json, quiet, strict, sort, overwrite;
};

#define ROW_JSON                                                                                             \
    {                                                                                                        \
        "json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"                     \
    }
#define ROW_OVERWRITE(what)                                                                                  \
    {                                                                                                        \
        "overwrite", 0, NULL, RT_FLAG(struct arguments, overwrite), what                                     \
    }
#define ROW_QUIET                                                                                            \
    {                                                                                                        \
        "quiet", 'q', NULL, RT_FLAG(struct arguments, quiet), "No progress on stderr"                        \
    }
#define OVERWRITE_DATASET ROW_OVERWRITE("Replace a dataset that is there already (a dataset, nothing else)")
#define SAY_OUTPUT        .required = "say where to write to: -o NAME"
#define WRITES_DATASET    SAY_OUTPUT, .writes = &rt_dataset_kind

static int read_shown(const struct arguments *arguments, const char *what, struct rt_dataset *out)
{
    struct rt_progress progress;
    rt_progress_start(&progress, what, 1, arguments->quiet);
    int status = rt_dataset_read_shown(arguments->names.name[0], &progress, out);
    rt_progress_end(&progress);
    return status;
}

/* ---- the health of sessions ---- */

static const char LEAVES_OUT[] = "`rooftile train` leaves them out";

static void add_health(struct rt_report *report, const struct rt_dataset *dataset,
                       const struct rt_session_health *health)
{
    rt_report_add_table(report, "sessions", "health of sessions", rt_health_sessions(health, dataset));
    rt_report_add_table(report, "health", "what is wrong with them", rt_health_complaints(health, dataset));
}

static void warn_of_health(const struct rt_dataset *dataset)
{
    struct rt_session_health health;
    rt_health_judge(dataset, &health);
    rt_health_warn(&health, dataset, -1, 0, LEAVES_OUT);
    rt_health_release(&health);
}

/* ---- info ---- */

static int run_info(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    struct rt_dataset d;
    int status = rt_outputs_check(line);
    if (status == RT_OK)
        status = read_shown(arguments, "dataset info", &d);
    if (status != RT_OK)
        return status;
    struct rt_report *report = rt_report_new();
    rt_report_add_text(report, "file", "file", arguments->names.name[0]);
    rt_report_add_text(report, "uuid", "uuid", d.uuid);
    rt_report_add_text(report, "creator", "creator", d.creator);
    rt_report_add_text(report, "created", "created", d.created);
    rt_report_add_text(report, "source", "source", d.source);
    rt_report_add_text(report, "licence", "licence", d.licence);
    rt_report_add_words(report, "holds",
                        "%zu samples, %zu workloads, %zu devices, %zu groups of attributes, %zu kernel names",
                        d.samples.count, d.workload_count, d.device_count, d.group_count, d.kernels.count);
    rt_report_add_count(report, "samples", NULL, d.samples.count);
    rt_report_add_count(report, "workloads", NULL, d.workload_count);
    rt_report_add_count(report, "devices", NULL, d.device_count);
    rt_report_add_count(report, "groups", NULL, d.group_count);
    rt_report_add_count(report, "kernel_names", NULL, d.kernels.count);
    if (rt_report_is_asked(arguments->json, &arguments->reports, RT_REPORT_HTML))
        rt_sample_plots_add(report, &d);
    rt_report_add_table(report, "sample_counts", "samples", rt_summary_samples(&d));
    rt_report_add_table(report, "workload_counts", "workloads", rt_summary_workloads(&d));
    rt_report_add_table(report, "ranges", "ranges", rt_summary_ranges(&d));
    rt_report_add_table(report, "flags", "flags", rt_summary_flags(&d));
    rt_report_add_table(report, "attributes", "attributes of groups", rt_summary_attributes(&d));
    struct rt_session_health health;
    rt_health_judge(&d, &health);
    add_health(report, &d, &health);
    rt_health_warn(&health, &d, -1, 0, LEAVES_OUT);
    rt_health_release(&health);
    rt_dataset_release(&d);
    return rt_report_end_with(report, arguments->json, &arguments->reports);
}

/* ---- import ---- */

static void add_count_row(struct rt_table *table, const char *op, const char *device,
                          const struct rt_import_count *count)
{
    rt_table_row(table, op, device, (long long)count->read, (long long)count->kept,
                 (long long)count->duplicates, (long long)count->refused, (long long)count->unknown_tiles);
}

/* The total is the last row for people, an object for programs. */
static void add_counts(struct rt_report *report, const struct rt_import_report *import)
{
    static const struct rt_column columns[] = {{"op", NULL, 's', 0},
                                               {"device", NULL, 's', 0},
                                               {"read", NULL, 'd', 0},
                                               {"kept", NULL, 'd', 0},
                                               {"duplicates", NULL, 'd', 0},
                                               {"refused", NULL, 'd', 0},
                                               {"unknown_tiles", "unknown tiles", 'd', 0}};
    struct rt_table *rows = rt_table_new(columns, RT_COUNT(columns));
    struct rt_table *with_total = rt_table_new(columns, RT_COUNT(columns));
    for (size_t i = 0; i < import->row_count; i++) {
        add_count_row(rows, import->rows[i].op, import->rows[i].device, &import->rows[i].count);
        add_count_row(with_total, import->rows[i].op, import->rows[i].device, &import->rows[i].count);
    }
    add_count_row(with_total, "total", "", &import->total);
    rt_report_add_table(report, "rows", NULL, rows);
    rt_report_add_table(report, NULL, "", with_total);
    rt_report_add_count(report, "total.read", NULL, import->total.read);
    rt_report_add_count(report, "total.kept", NULL, import->total.kept);
    rt_report_add_count(report, "total.duplicates", NULL, import->total.duplicates);
    rt_report_add_count(report, "total.refused", NULL, import->total.refused);
    rt_report_add_count(report, "total.unknown_tiles", NULL, import->total.unknown_tiles);
}

static void add_sentences(struct rt_report *report, const char *key, const char *heading,
                          const struct rt_import_sentences *sentences)
{
    size_t others = sentences->count;
    json_t *reasons = json_array();
    for (size_t i = 0; i < sentences->reasons; i++)
        json_array_append_new(reasons, json_pack("{s:I, s:o}", "count", (json_int_t)sentences->times[i],
                                                 "first", rt_json_text(sentences->text[i])));
    rt_report_add_json(report, key,
                       json_pack("{s:I, s:o}", "count", (json_int_t)sentences->count, "reasons", reasons));
    if (sentences->count == 0)
        return;
    rt_report_add_heading(report, "%s (%zu)", heading, sentences->count);
    for (size_t i = 0; i < sentences->reasons; i++) {
        if (sentences->times[i] > 1)
            rt_report_add_note(report, NULL, "  %s (and %zu more alike)", sentences->text[i],
                               sentences->times[i] - 1);
        else
            rt_report_add_note(report, NULL, "  %s", sentences->text[i]);
        others -= sentences->times[i];
    }
    if (others > 0)
        rt_report_add_note(report, NULL, "  ... and %zu more, for other reasons", others);
}

static void add_others(struct rt_report *report, const struct rt_import_report *import)
{
    json_t *others = json_object();
    if (import->other_count > 0)
        rt_report_add_heading(report, "files that hold no samples");
    for (size_t i = 0; i < import->other_count; i++) {
        rt_report_add_note(report, NULL, "  %5zu  %s", import->others[i].files, import->others[i].kind);
        json_object_set_new(others, import->others[i].kind,
                            json_integer((json_int_t)import->others[i].files));
    }
    rt_report_add_json(report, "other_files", others);
}

static struct rt_report *report_import(const struct rt_import_report *import, double seconds)
{
    struct rt_report *report = rt_report_new();
    double megabytes = import->bytes / 1e6;
    add_counts(report, import);
    add_sentences(report, "refused", "rows refused", &import->refused);
    add_sentences(report, "skipped", "files skipped", &import->skipped);
    add_sentences(report, "clashes", "device descriptions that differ", &import->warned);
    add_others(report, import);
    rt_report_add_fact(report, "files", json_integer((json_int_t)import->files), "files",
                       "%zu, %.1f MB in %.3f s: %.1f MB/s", import->files, megabytes, seconds,
                       megabytes / seconds);
    rt_report_add_json(report, "megabytes", rt_json_number(megabytes));
    rt_report_add_json(report, "seconds", rt_json_number(seconds));
    rt_report_add_json(report, "megabytes_per_second", rt_json_number(megabytes / seconds));
    return report;
}

static void set_text(char **text, const char *value)
{
    if (value == NULL)
        return;
    free(*text);
    *text = rt_strdup(value);
}

static int run_import(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    const struct rt_import_options options = {arguments->threads, arguments->quiet, arguments->strict,
                                              arguments->gpu};
    struct rt_import_report report = {0};
    struct rt_dataset dataset;
    double start = rt_clock();
    int status = rt_outputs_check(line);
    if (status == RT_OK && arguments->gpu != NULL && strcmp(arguments->format, "table") != 0)
        status = rt_fail(RT_EUSAGE, "--gpu is for --format table: others name their devices");
    if (status == RT_OK)
        status = rt_import(arguments->format, arguments->names.name[0], &options, &dataset, &report);
    if (status == RT_OK) {
        set_text(&dataset.source, arguments->source);
        set_text(&dataset.licence, arguments->licence);
        status = rt_dataset_write(&dataset, arguments->out);
        if (status == RT_OK)
            warn_of_health(&dataset);
        rt_dataset_release(&dataset);
    }
    if (report.total.read + report.skipped.count + report.other_count > 0)
        rt_report_end(report_import(&report, rt_clock() - start), arguments->json);
    rt_import_report_release(&report);
    return status;
}

/* ---- export ---- */

static int run_export(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    struct rt_dataset dataset;
    struct rt_progress progress;
    if (arguments->format != NULL && strcmp(arguments->format, "csv") != 0)
        return rt_fail(RT_EUSAGE, "--format %s: datasets are exported as csv", arguments->format);
    int status = rt_export_check(arguments->out, arguments->overwrite, &arguments->names);
    if (status == RT_OK)
        status = read_shown(arguments, "dataset export: reading", &dataset);
    if (status != RT_OK)
        return status;
    struct rt_report *report = rt_report_new();
    rt_report_add_text(report, "folder", "folder", arguments->out);
    rt_report_add_count(report, "samples", "samples", dataset.samples.count);
    rt_report_add_count(report, "workloads", "workloads", dataset.workload_count);
    rt_progress_start(&progress, "dataset export", 1, arguments->quiet);
    status = rt_export_csv(&dataset, arguments->out, &progress);
    rt_progress_end(&progress);
    rt_dataset_release(&dataset);
    if (status == RT_OK)
        return rt_report_end(report, arguments->json);
    rt_report_free(report);
    return status;
}

/* ---- merge ---- */

/* "A; B", each once. */
static void join_text(char **text, const char *more)
{
    size_t length = strlen(more);
    for (const char *at = *text; length > 0 && at != NULL;
         at = strchr(at, ';'), at = at != NULL ? at + 2 : NULL)
        if (strncmp(at, more, length) == 0 && (at[length] == '\0' || at[length] == ';'))
            return;
    char *joined =
        (*text)[0] == '\0' || length == 0 ? rt_format("%s%s", *text, more) : rt_format("%s; %s", *text, more);
    free(*text);
    *text = joined;
}

/* Numbers of a device that were probed more than once, and differ. */
struct probed {
    char device[96];
    size_t field;
    double low, high;
};
struct probed_list {
    struct probed *items;
    size_t count, capacity;
};

static void note_probed(struct probed_list *list, const char *device, size_t field, double x, double y)
{
    size_t i = 0;
    while (i < list->count && (list->items[i].field != field || strcmp(list->items[i].device, device) != 0))
        i++;
    if (i == list->count) {
        RT_GROW(list->items, list->count, 1, list->capacity);
        list->items[list->count++] = (struct probed){.field = field, .low = x, .high = x};
        snprintf(list->items[i].device, sizeof list->items[i].device, "%s", device);
    }
    struct probed *item = &list->items[i];
    item->low = fmin(item->low, fmin(x, y));
    item->high = fmax(item->high, fmax(x, y));
}

/* What differs between two descriptions that are merged all the same. */
static void note_differences(struct probed_list *list, const struct rt_dataset *merged,
                             const struct rt_dataset *dataset)
{
    for (size_t d = 0; d < dataset->device_count; d++) {
        struct rt_device device = dataset->devices[d];
        int32_t there = rt_dataset_find_device(merged, device.name);
        for (size_t f = 0; there >= 0 && f < rt_device_field_count; f++) {
            double x = *rt_device_value(&merged->devices[there], f), y = *rt_device_value(&device, f);
            if (!isnan(x) && !isnan(y) && x != y)
                note_probed(list, device.name, f, x, y);
        }
    }
}

static void report_probed(struct rt_report *report, const struct probed_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct probed *item = &list->items[i];
        const struct rt_device_field *field = &rt_device_fields[item->field];
        rt_report_add_note(
            report, "probed",
            "%s of %s was probed as %.6g to %.6g %s; the largest, which is nearest to the peak, is kept",
            field->key, item->device, item->low, item->high, field->units);
    }
}

static int add_file(struct rt_dataset *merged, const char *path, struct probed_list *probed,
                    struct rt_table *files, struct rt_progress *progress)
{
    struct rt_dataset dataset;
    int status = rt_dataset_read_shown(path, progress, &dataset);
    if (status != RT_OK)
        return status;
    warn_of_health(&dataset);
    note_differences(probed, merged, &dataset);
    status = rt_dataset_append(merged, &dataset);
    if (status == RT_OK) {
        join_text(&merged->source, dataset.source);
        join_text(&merged->licence, dataset.licence);
        rt_table_row(files, path, dataset.uuid, (long long)dataset.samples.count,
                     (long long)dataset.workload_count);
    } else {
        rt_fail_context(status, "%s cannot be merged with the files before it", path);
    }
    rt_dataset_release(&dataset);
    return status;
}

enum { MERGE_UNITS = 4 }; /* of progress, beside one for each file */

/* The merged rows as they are written; returns how many were dropped. */
static size_t finish_merged(const struct arguments *arguments, struct rt_dataset *merged,
                            struct rt_progress *progress)
{
    rt_progress_step(progress, 0, "duplicates");
    size_t duplicates = rt_dataset_drop_duplicates(merged);
    rt_progress_step(progress, 1, "sort");
    if (arguments->sort)
        rt_dataset_sort(merged);
    rt_progress_step(progress, 1, "uuid");
    rt_dataset_stamp(merged);
    rt_progress_step(progress, 1, arguments->out);
    return duplicates;
}

static int write_merged(const struct arguments *arguments, struct rt_dataset *merged,
                        const struct probed_list *probed, struct rt_table *files,
                        struct rt_progress *progress)
{
    struct rt_report *report = rt_report_new();
    size_t duplicates = finish_merged(arguments, merged, progress);
    rt_report_add_table(report, "files", "", files);
    rt_report_add_note(
        report, NULL, "%s: %zu samples, %zu workloads, %zu devices; %zu exact duplicates dropped",
        arguments->out, merged->samples.count, merged->workload_count, merged->device_count, duplicates);
    report_probed(report, probed);
    rt_report_add_text(report, "output", NULL, arguments->out);
    rt_report_add_count(report, "samples", NULL, merged->samples.count);
    rt_report_add_count(report, "workloads", NULL, merged->workload_count);
    rt_report_add_count(report, "devices", NULL, merged->device_count);
    rt_report_add_count(report, "duplicates", NULL, duplicates);
    int status = rt_dataset_write(merged, arguments->out);
    rt_progress_end(progress);
    if (status == RT_OK)
        return rt_report_end(report, arguments->json);
    rt_report_free(report);
    return status;
}

static int run_merge(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    static const struct rt_column columns[] = {{"file", NULL, 's', 0},
                                               {"uuid", NULL, 's', 0},
                                               {"samples", NULL, 'd', 0},
                                               {"workloads", NULL, 'd', 0}};
    struct rt_table *files = rt_table_new(columns, RT_COUNT(columns));
    struct rt_dataset merged;
    struct probed_list probed = {0};
    struct rt_progress progress;
    int status = rt_outputs_check(line);
    rt_dataset_init(&merged);
    rt_progress_start(&progress, "dataset merge", (double)arguments->names.count + MERGE_UNITS,
                      arguments->quiet);
    for (size_t i = 0; status == RT_OK && i < arguments->names.count; i++)
        status = add_file(&merged, arguments->names.name[i], &probed, files, &progress);
    if (status == RT_OK)
        status = write_merged(arguments, &merged, &probed, files, &progress);
    else
        rt_table_free(files);
    rt_progress_end(&progress);
    free(probed.items);
    rt_dataset_release(&merged);
    return status;
}

/* ---- validate ---- */

static struct rt_table *check_rows(const struct rt_validation *validation, size_t max_impossible)
{
    static const struct rt_column columns[] = {{"check", NULL, 's', 0},   {"ok", NULL, 'b', 0},
                                               {"checked", NULL, 'd', 0}, {"wrong", NULL, 'd', 0},
                                               {"allowed", NULL, 'd', 0}, {"what", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (int i = 0; i < RT_CHECK_COUNT; i++) {
        const struct rt_check *check = &validation->checks[i];
        size_t allowed = i == RT_CHECK_ROOFLINE ? max_impossible : 0;
        rt_table_row(table, check->name, check->wrong <= allowed, (long long)check->checked,
                     (long long)check->wrong, (long long)allowed,
                     check->wrong > 0 ? check->first : check->what);
    }
    return table;
}

static struct rt_table *impossible_rows(const struct rt_dataset *dataset,
                                        const struct rt_validation *validation)
{
    static const struct rt_column columns[] = {{"sample", NULL, 'd', 0},   {"op", NULL, 's', 0},
                                               {"dtype", NULL, 's', 0},    {"device", NULL, 's', 0},
                                               {"dims", NULL, 's', 0},     {"latency_us", NULL, 'g', 5},
                                               {"least_us", NULL, 'g', 5}, {"limit", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    char dims[256];
    for (size_t i = 0; i < validation->worst_count; i++) {
        const struct rt_impossible *worst = &validation->worst[i];
        const struct rt_sample *sample = RT_SAMPLE(dataset, worst->sample);
        rt_call_dims(&sample->call, dims, sizeof dims);
        rt_table_row(table, (long long)worst->sample, rt_ops[sample->call.op].name,
                     rt_dtypes[sample->call.dtype].name, dataset->devices[sample->device].name, dims,
                     worst->latency_us, worst->least_us, worst->limit);
    }
    return table;
}

static int run_validate(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    struct rt_validation validation;
    struct rt_progress progress;
    struct rt_dataset dataset;
    rt_progress_start(&progress, "dataset validate", RT_VALIDATION_UNITS, arguments->quiet);
    int status = rt_validate(arguments->names.name[0], &progress, &dataset, &validation);
    rt_progress_end(&progress);
    if (status != RT_OK)
        return status;
    struct rt_report *report = rt_report_new();
    rt_report_add_json(report, "file", rt_json_text(arguments->names.name[0]));
    rt_report_add_table(report, "checks", "", check_rows(&validation, arguments->max_impossible));
    rt_report_add_table(report, "impossible", "faster than the roofline allows, worst first",
                        impossible_rows(&dataset, &validation));
    struct rt_session_health health;
    rt_health_judge(&dataset, &health);
    add_health(report, &dataset, &health);
    status = rt_report_end(report, arguments->json);
    for (int i = 0; status == RT_OK && i < RT_CHECK_COUNT; i++) {
        const struct rt_check *check = &validation.checks[i];
        if (check->wrong > (i == RT_CHECK_ROOFLINE ? arguments->max_impossible : 0))
            status = rt_fail(RT_EFORMAT, "%s: the check \"%s\" found %zu wrong: %s", arguments->names.name[0],
                             check->name, check->wrong, check->first);
    }
    const struct rt_complaint *refusal = rt_health_refusal(&health, -1);
    if (status == RT_OK && refusal != NULL)
        status = rt_fail(RT_EFORMAT, "%s: a session of %s cannot be believed: %s", arguments->names.name[0],
                         dataset.devices[health.sessions[refusal->session].device].name, refusal->text);
    if (status == RT_OK)
        rt_health_warn(&health, &dataset, -1, 0, LEAVES_OUT);
    rt_health_release(&health);
    rt_dataset_release(&dataset);
    return status;
}

/* ---- the commands ---- */

#define ONE_DATASET RT_OPERANDS(struct arguments, names, 1, 1, "a dataset, DATA.h5")

static const struct rt_option info_options[] = {RT_REPORT_OPTION(struct arguments, reports),
                                                RT_REPORT_OVERWRITE(struct arguments, overwrite), ROW_JSON,
                                                ROW_QUIET};

static const struct rt_command info = {
    .name = "info",
    .brief = "what a dataset holds",
    .operands_usage = "DATA.h5",
    .about = "Prints what a dataset holds: where it comes from, counts per op, device, dtype and split, "
             "ranges, flags, attributes.",
    .details = "Example:\n  rooftile dataset info data.h5",
    RT_RUNS(run_info, struct arguments, info_options),
    .operands = ONE_DATASET,
    .in_library = true,
};

static const struct rt_option import_options[] = {
    {"format", 'f', "NAME",
     RT_TEXT(struct arguments, format,
             .required = "say what it is: --format neusight, aiconfigurator, csv, workloads or table",
             .suggests = rt_import_suggest),
     "neusight, aiconfigurator, csv (what export wrote), workloads (runs of models), or table: a row a "
     "kernel with op, dtype, device, the op's dims by their names, such as m, n, k, and us"},
    {"gpu", 0, "NAME", RT_TEXT(struct arguments, gpu, .suggests = rt_device_suggest, .also = "device"),
     "The device of a table that has no column of that name"},
    {"output", 'o', "FILE.h5", RT_TEXT(struct arguments, out, WRITES_DATASET), "The dataset to write"},
    {"threads", 't', "N", RT_INTEGER(struct arguments, threads, 1, RT_THREADS_MAX),
     "Files are read in N threads (default: every processor)"},
    {"source", 0, "TEXT", RT_TEXT(struct arguments, source, .check = rt_check_utf8),
     "Where the data come from (default: what the format's authors say)"},
    {"licence", 0, "TEXT", RT_TEXT(struct arguments, licence, .check = rt_check_utf8),
     "The licence of the data (default: that of the source)"},
    {"strict", 0, NULL, RT_FLAG(struct arguments, strict), "Fail where anything is refused or skipped"},
    OVERWRITE_DATASET,
    ROW_JSON,
    ROW_QUIET,
};

static const struct rt_command import = {
    .name = "import",
    .brief = "turn the measurements of others into a dataset",
    .operands_usage = "FILE-OR-FOLDER",
    .about = "Turns the measurements of others into a dataset. The columns of a file decide what it is. Ends "
             "with a table: rows read, kept, dropped as duplicates, refused (with file, line and reason), "
             "tiles that could not be read.",
    .details = "A refused row is no failure; a source from which nothing was kept is one, and with --strict "
               "any refusal. scripts/corpora/traces.py makes csv of what nsys, torch.profiler and nvbench "
               "timed.\n\nExample:\n  rooftile dataset import --format neusight NeuSight -o neusight.h5",
    RT_RUNS(run_import, struct arguments, import_options),
    .operands =
        RT_OPERANDS(struct arguments, names, 1, 1, "the file or folder to import", .reads = rt_reads_path),
    .in_library = true,
};

static const struct rt_option export_options[] = {
    {"format", 'f', "NAME", RT_TEXT(struct arguments, format), "csv (default)"},
    {"output", 'o', "FOLDER", RT_TEXT(struct arguments, out, SAY_OUTPUT), "The folder to write to"},
    ROW_OVERWRITE("Replace the files of an export that is there already (its seven, nothing else)"),
    ROW_JSON,
    ROW_QUIET,
};

static const struct rt_command export = {
    .name = "export",
    .brief = "write a dataset as a folder of CSV files",
    .operands_usage = "DATA.h5",
    .about = "Writes a dataset as a folder of CSV files: samples.csv, workloads.csv, devices.csv, "
             "groups.csv, strings.csv, dims.csv, meta.csv. `rooftile dataset import --format csv` makes the "
             "same dataset of it again, byte for byte.",
    .details = "scripts/dataset_parquet.py makes Parquet of the folder, a column for each dim by its name.\n"
               "Example:\n  rooftile dataset export --format csv data.h5 -o data/",
    RT_RUNS(run_export, struct arguments, export_options),
    .operands = ONE_DATASET,
    .in_library = true,
};

static const struct rt_option merge_options[] = {
    {"output", 'o', "FILE.h5", RT_TEXT(struct arguments, out, WRITES_DATASET), "The dataset to write"},
    OVERWRITE_DATASET,
    {"sort", 0, NULL, RT_FLAG(struct arguments, sort),
     "By device, op, dtype and shape, whatever the order of the files: shards of a collection become what "
     "the whole becomes"},
    ROW_JSON,
    ROW_QUIET,
};

static const struct rt_command merge = {
    .name = "merge",
    .brief = "put datasets together",
    .operands_usage = "A.h5 B.h5...",
    .about = "Puts datasets together. Refuses devices of one name with different numbers; drops exact "
             "duplicates and counts them.",
    .details = "Examples:\n  rooftile dataset merge monday.h5 tuesday.h5 -o week.h5\n"
               "  rooftile dataset merge --sort shard1.h5 shard2.h5 -o all.h5",
    RT_RUNS(run_merge, struct arguments, merge_options),
    .operands = RT_OPERANDS(struct arguments, names, 1, RT_MANY, "the datasets to merge, A.h5 B.h5 ...",
                            .reads = rt_reads_path),
    .in_library = true,
};

static const struct rt_option validate_options[] = {
    {"max-impossible", 0, "N", RT_INTEGER(struct arguments, max_impossible, 0, INT64_MAX),
     "Samples that may be faster than the roofline allows (default 0)"},
    ROW_JSON,
    ROW_QUIET,
};

static const struct rt_command validate = {
    .name = "validate",
    .brief = "check a dataset",
    .operands_usage = "DATA.h5",
    .about = "Checks a dataset: checksums, units, ranges, duplicates, devices, samples that are faster than "
             "the roofline of their GPU allows, the health of sessions. One line per check; exit status 1 "
             "where one fails, or a session is refused.",
    .details = "Example:\n  rooftile dataset validate data.h5 --max-impossible 10",
    RT_RUNS(run_validate, struct arguments, validate_options),
    .operands = ONE_DATASET,
    .in_library = true,
};

static const struct rt_command *const commands[] = {&info, &import, &export, &merge, &validate};

const struct rt_command rt_command_dataset = {
    .name = "dataset",
    .also = "data info",
    .brief = "import, inspect, check, merge and export measurements",
    .details = "`rooftile dataset COMMAND --help` explains each. Example:\n"
               "  rooftile dataset import --format neusight NeuSight -o neusight.h5\n"
               "  rooftile dataset info neusight.h5",
    .commands = commands,
    .command_count = RT_COUNT(commands),
};
