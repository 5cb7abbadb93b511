/* `rooftile dataset`: info, import, export, merge, validate. */
#include "base/options.h"
#include "datasets/dataset.h"
#include "datasets/export_csv.h"
#include "datasets/import/import.h"
#include "datasets/dataset_order.h"
#include "base/progress.h"
#include "base/status.h"
#include "datasets/summary.h"
#include "datasets/validate.h"

#include <argp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rt_cmd_dataset(int argc, char **argv);

/* ---- command lines ---- */

enum { SOURCE = 256, LICENCE, STRICT, MAX_IMPOSSIBLE, SORT };

struct arguments {
    const char **names; /* files and folders, in order */
    size_t name_count;
    const char *out, *format, *source, *licence;
    int threads;
    size_t max_impossible;
    bool json, quiet, strict, sort;
};

static const struct argp_option options_of_info[] = {{"json", 'j', NULL, 0, "Print JSON instead of text", 0},
                                                     {0}};

static const struct argp_option options_of_import[] = {
    {"format", 'f', "NAME", 0, "neusight, aiconfigurator, csv or workloads (required)", 0},
    {"output", 'o', "FILE.h5", 0, "The dataset to write (required)", 0},
    {"threads", 't', "N", 0, "Files are read side by side on N threads (default: every processor)", 0},
    {"source", SOURCE, "TEXT", 0, "Where the data come from (default: what the format's authors say)", 0},
    {"licence", LICENCE, "TEXT", 0, "The licence of the data (default: as the source)", 0},
    {"strict", STRICT, NULL, 0, "Fail where anything is refused or skipped", 0},
    {"json", 'j', NULL, 0, "Print JSON instead of text", 0},
    {"quiet", 'q', NULL, 0, "No progress on stderr", 0},
    {0},
};

static const struct argp_option options_of_export[] = {
    {"format", 'f', "NAME", 0, "csv (default)", 0},
    {"output", 'o', "FOLDER", 0, "The folder to write to (required)", 0},
    {"json", 'j', NULL, 0, "Print JSON instead of text", 0},
    {0},
};

static const struct argp_option options_of_merge[] = {
    {"output", 'o', "FILE.h5", 0, "The dataset to write (required)", 0},
    {"sort", SORT, NULL, 0,
     "By device, op, dtype and shape, whatever the order of the files: shards of a collection become what "
     "the "
     "whole becomes",
     0},
    {"json", 'j', NULL, 0, "Print JSON instead of text", 0},
    {0},
};

static const struct argp_option options_of_validate[] = {
    {"max-impossible", MAX_IMPOSSIBLE, "N", 0,
     "Samples that may be faster than the roofline allows (default 0)", 0},
    {"json", 'j', NULL, 0, "Print JSON instead of text", 0},
    {0},
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    int64_t value = 0;
    int status = RT_OK;
    switch (key) {
    case 'f':
        arguments->format = text;
        break;
    case 'o':
        arguments->out = text;
        break;
    case 't':
        if ((status = rt_argument_integer("--threads", text, 1, 256, &value)) == RT_OK)
            arguments->threads = (int)value;
        break;
    case SOURCE:
        arguments->source = text;
        break;
    case LICENCE:
        arguments->licence = text;
        break;
    case STRICT:
        arguments->strict = true;
        break;
    case SORT:
        arguments->sort = true;
        break;
    case MAX_IMPOSSIBLE:
        if ((status = rt_argument_integer("--max-impossible", text, 0, INT64_MAX, &value)) == RT_OK)
            arguments->max_impossible = (size_t)value;
        break;
    case 'j':
        arguments->json = true;
        break;
    case 'q':
        arguments->quiet = true;
        break;
    case ARGP_KEY_ARG:
        arguments->names = rt_realloc(arguments->names, arguments->name_count + 1, sizeof *arguments->names);
        arguments->names[arguments->name_count++] = text;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return status;
}

/* One name is wanted, or at least one where `several`; an output where `out`. */
static int check_arguments(const struct arguments *arguments, const char *what, bool several, bool out)
{
    if (arguments->name_count == 0)
        return rt_fail(RT_EUSAGE, "name %s; --help shows an example", what);
    if (!several && arguments->name_count > 1)
        return rt_fail(RT_EUSAGE, "\"%s\" is one name too many; name only %s", arguments->names[1], what);
    if (out && arguments->out == NULL)
        return rt_fail(RT_EUSAGE, "say where to write to: -o NAME");
    return RT_OK;
}

/* ---- printing ---- */

static void print_table(struct rt_table *table, const char *heading)
{
    if (rt_table_rows(table) > 0) {
        printf("\n%s\n", heading);
        rt_table_text(table, stdout);
    }
    rt_table_free(table);
}

static void json_table(json_t *root, const char *key, struct rt_table *table)
{
    json_object_set_new(root, key, rt_table_json(table));
    rt_table_free(table);
}

static void json_text(json_t *root, const char *key, const char *text)
{
    json_t *value = json_string(text); /* NULL where it is not UTF-8 */
    json_object_set_new(root, key, value != NULL ? value : json_null());
}

static void json_count(json_t *root, const char *key, size_t count)
{
    json_object_set_new(root, key, json_integer((json_int_t)count));
}

/* ---- info ---- */

static void print_info(const struct rt_dataset *d, const char *path)
{
    printf("file      %s\nuuid      %s\ncreator   %s\ncreated   %s\nsource    %s\nlicence   %s\n", path,
           d->uuid, d->creator, d->created, d->source, d->licence);
    printf("holds     %zu samples, %zu workloads, %zu devices, %zu groups of attributes, %zu kernel names\n",
           d->sample_count, d->workload_count, d->device_count, d->group_count, d->kernels.count);
    print_table(rt_summary_samples(d), "samples");
    print_table(rt_summary_workloads(d), "workloads");
    print_table(rt_summary_ranges(d), "ranges");
    print_table(rt_summary_flags(d), "flags");
    print_table(rt_summary_attributes(d), "attributes of groups");
}

static void print_info_json(const struct rt_dataset *d, const char *path)
{
    json_t *root = json_object();
    json_text(root, "file", path);
    json_text(root, "uuid", d->uuid);
    json_text(root, "creator", d->creator);
    json_text(root, "created", d->created);
    json_text(root, "source", d->source);
    json_text(root, "licence", d->licence);
    json_count(root, "samples", d->sample_count);
    json_count(root, "workloads", d->workload_count);
    json_count(root, "devices", d->device_count);
    json_count(root, "groups", d->group_count);
    json_count(root, "kernel_names", d->kernels.count);
    json_table(root, "sample_counts", rt_summary_samples(d));
    json_table(root, "workload_counts", rt_summary_workloads(d));
    json_table(root, "ranges", rt_summary_ranges(d));
    json_table(root, "flags", rt_summary_flags(d));
    json_table(root, "attributes", rt_summary_attributes(d));
    rt_json_print(root, stdout);
}

static int run_info(const struct arguments *arguments)
{
    struct rt_dataset dataset;
    int status = check_arguments(arguments, "a dataset, DATA.h5", false, false);
    if (status != RT_OK || (status = rt_dataset_read(arguments->names[0], &dataset)) != RT_OK)
        return status;
    (arguments->json ? print_info_json : print_info)(&dataset, arguments->names[0]);
    rt_dataset_release(&dataset);
    return RT_OK;
}

/* ---- import ---- */

static struct rt_table *import_rows(const struct rt_import_report *report)
{
    static const struct rt_column columns[] = {{"op", NULL, 's', 0},
                                               {"device", NULL, 's', 0},
                                               {"read", NULL, 'd', 0},
                                               {"kept", NULL, 'd', 0},
                                               {"duplicates", NULL, 'd', 0},
                                               {"refused", NULL, 'd', 0},
                                               {"unknown_tiles", "unknown tiles", 'd', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t i = 0; i <= report->row_count; i++) {
        bool last = i == report->row_count;
        const struct rt_import_count *count = last ? &report->total : &report->rows[i].count;
        rt_table_row(table, last ? "total" : report->rows[i].op, last ? "" : report->rows[i].device,
                     (long long)count->read, (long long)count->kept, (long long)count->duplicates,
                     (long long)count->refused, (long long)count->unknown_tiles);
    }
    return table;
}

static void print_sentences(const char *heading, const struct rt_import_sentences *sentences)
{
    if (sentences->count == 0)
        return;
    printf("\n%s (%zu)\n", heading, sentences->count);
    for (size_t i = 0; i < sentences->count && i < RT_IMPORT_SENTENCES; i++)
        printf("  %s\n", sentences->text[i]);
    if (sentences->count > RT_IMPORT_SENTENCES)
        printf("  ... and %zu more\n", sentences->count - RT_IMPORT_SENTENCES);
}

static void print_import(const struct rt_import_report *report, double seconds)
{
    struct rt_table *rows = import_rows(report);
    rt_table_text(rows, stdout);
    rt_table_free(rows);
    print_sentences("rows refused", &report->refused);
    print_sentences("files skipped", &report->skipped);
    print_sentences("device descriptions that differ", &report->warned);
    if (report->other_count > 0)
        puts("\nfiles that hold no samples");
    for (size_t i = 0; i < report->other_count; i++)
        printf("  %5zu  %s\n", report->others[i].files, report->others[i].kind);
    printf("\n%zu files, %.1f MB in %.3f s: %.1f MB/s\n", report->files, report->bytes / 1e6, seconds,
           report->bytes / 1e6 / seconds);
}

static void json_sentences(json_t *root, const char *key, const struct rt_import_sentences *sentences)
{
    json_t *list = json_array(), *object = json_object();
    for (size_t i = 0; i < sentences->count && i < RT_IMPORT_SENTENCES; i++) {
        json_t *text = json_string(sentences->text[i]);
        json_array_append_new(list, text != NULL ? text : json_string("(not UTF-8)"));
    }
    json_count(object, "count", sentences->count);
    json_object_set_new(object, "first", list);
    json_object_set_new(root, key, object);
}

static void print_import_json(const struct rt_import_report *report, double seconds)
{
    json_t *root = json_object(), *others = json_object(), *total = json_object();
    struct rt_table *rows = import_rows(report);
    json_t *all = rt_table_json(rows);
    rt_table_free(rows);
    json_array_remove(all, json_array_size(all) - 1); /* the total has a place of its own */
    json_object_set_new(root, "rows", all);
    json_count(total, "read", report->total.read);
    json_count(total, "kept", report->total.kept);
    json_count(total, "duplicates", report->total.duplicates);
    json_count(total, "refused", report->total.refused);
    json_count(total, "unknown_tiles", report->total.unknown_tiles);
    json_object_set_new(root, "total", total);
    json_sentences(root, "refused", &report->refused);
    json_sentences(root, "skipped", &report->skipped);
    json_sentences(root, "clashes", &report->warned);
    for (size_t i = 0; i < report->other_count; i++)
        json_count(others, report->others[i].kind, report->others[i].files);
    json_object_set_new(root, "other_files", others);
    json_count(root, "files", report->files);
    json_object_set_new(root, "megabytes", rt_json_number(report->bytes / 1e6));
    json_object_set_new(root, "seconds", rt_json_number(seconds));
    json_object_set_new(root, "megabytes_per_second", rt_json_number(report->bytes / 1e6 / seconds));
    rt_json_print(root, stdout);
}

static void set_text(char **text, const char *value)
{
    if (value == NULL)
        return;
    free(*text);
    *text = rt_strdup(value);
}

static int run_import(const struct arguments *arguments)
{
    int status = check_arguments(arguments, "the file or folder to import", false, true);
    if (status == RT_OK && arguments->format == NULL)
        status = rt_fail(RT_EUSAGE, "say what it is: --format neusight, aiconfigurator, csv or workloads");
    if (status != RT_OK)
        return status;
    const struct rt_import_options options = {arguments->threads, arguments->quiet, arguments->strict};
    struct rt_import_report report = {0};
    struct rt_dataset dataset;
    double start = rt_clock();
    status = rt_import(arguments->format, arguments->names[0], &options, &dataset, &report);
    if (status == RT_OK) {
        set_text(&dataset.source, arguments->source);
        set_text(&dataset.licence, arguments->licence);
        status = rt_dataset_write(&dataset, arguments->out);
        rt_dataset_release(&dataset);
    }
    if (report.total.read + report.skipped.count + report.other_count > 0)
        (arguments->json ? print_import_json : print_import)(&report, rt_clock() - start);
    rt_import_report_release(&report);
    return status;
}

/* ---- export ---- */

static int run_export(const struct arguments *arguments)
{
    struct rt_dataset dataset;
    int status = check_arguments(arguments, "a dataset, DATA.h5", false, true);
    if (status == RT_OK && arguments->format != NULL && strcmp(arguments->format, "csv") != 0)
        status = rt_fail(RT_EUSAGE, "--format %s: datasets are exported as csv", arguments->format);
    if (status != RT_OK || (status = rt_dataset_read(arguments->names[0], &dataset)) != RT_OK)
        return status;
    status = rt_export_csv(&dataset, arguments->out);
    if (status == RT_OK && arguments->json) {
        json_t *root = json_object();
        json_text(root, "folder", arguments->out);
        json_count(root, "samples", dataset.sample_count);
        json_count(root, "workloads", dataset.workload_count);
        rt_json_print(root, stdout);
    } else if (status == RT_OK) {
        printf("%s: %zu samples, %zu workloads\n", arguments->out, dataset.sample_count,
               dataset.workload_count);
    }
    rt_dataset_release(&dataset);
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

static int add_file(struct rt_dataset *merged, const char *path, struct rt_table *files)
{
    struct rt_dataset dataset;
    int status = rt_dataset_read(path, &dataset);
    if (status != RT_OK)
        return status;
    status = rt_dataset_append(merged, &dataset);
    if (status == RT_OK) {
        join_text(&merged->source, dataset.source);
        join_text(&merged->licence, dataset.licence);
        rt_table_row(files, path, dataset.uuid, (long long)dataset.sample_count,
                     (long long)dataset.workload_count);
    } else {
        rt_fail_context(status, "%s cannot be merged with the files before it", path);
    }
    rt_dataset_release(&dataset);
    return status;
}

static void print_merge(const struct arguments *arguments, const struct rt_dataset *merged,
                        struct rt_table *files, size_t duplicates)
{
    if (!arguments->json) {
        rt_table_text(files, stdout);
        printf("\n%s: %zu samples, %zu workloads, %zu devices; %zu exact duplicates dropped\n",
               arguments->out, merged->sample_count, merged->workload_count, merged->device_count,
               duplicates);
        return;
    }
    json_t *root = json_object();
    json_object_set_new(root, "files", rt_table_json(files));
    json_text(root, "output", arguments->out);
    json_count(root, "samples", merged->sample_count);
    json_count(root, "workloads", merged->workload_count);
    json_count(root, "devices", merged->device_count);
    json_count(root, "duplicates", duplicates);
    rt_json_print(root, stdout);
}

static int run_merge(const struct arguments *arguments)
{
    static const struct rt_column columns[] = {{"file", NULL, 's', 0},
                                               {"uuid", NULL, 's', 0},
                                               {"samples", NULL, 'd', 0},
                                               {"workloads", NULL, 'd', 0}};
    int status = check_arguments(arguments, "the datasets to merge, A.h5 B.h5 ...", true, true);
    if (status != RT_OK)
        return status;
    struct rt_table *files = rt_table_new(columns, RT_COUNT(columns));
    struct rt_dataset merged;
    rt_dataset_init(&merged);
    for (size_t i = 0; status == RT_OK && i < arguments->name_count; i++)
        status = add_file(&merged, arguments->names[i], files);
    if (status == RT_OK) {
        size_t duplicates = rt_dataset_drop_duplicates(&merged);
        if (arguments->sort)
            rt_dataset_sort(&merged);
        rt_dataset_stamp(&merged);
        if ((status = rt_dataset_write(&merged, arguments->out)) == RT_OK)
            print_merge(arguments, &merged, files, duplicates);
    }
    rt_table_free(files);
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
        const struct rt_sample *sample = &dataset->samples[worst->sample];
        rt_call_dims(&sample->call, dims, sizeof dims);
        rt_table_row(table, (long long)worst->sample, rt_ops[sample->call.op].name,
                     rt_dtypes[sample->call.dtype].name, dataset->devices[sample->device].name, dims,
                     worst->latency_us, worst->least_us, worst->limit);
    }
    return table;
}

static void print_validation(const struct arguments *arguments, const struct rt_dataset *dataset,
                             const struct rt_validation *validation)
{
    struct rt_table *checks = check_rows(validation, arguments->max_impossible);
    struct rt_table *impossible = impossible_rows(dataset, validation);
    if (arguments->json) {
        json_t *root = json_object();
        json_text(root, "file", arguments->names[0]);
        json_table(root, "checks", checks);
        json_table(root, "impossible", impossible);
        rt_json_print(root, stdout);
    } else {
        rt_table_text(checks, stdout);
        rt_table_free(checks);
        print_table(impossible, "faster than the roofline allows, worst first");
    }
}

static int run_validate(const struct arguments *arguments)
{
    struct rt_validation validation;
    struct rt_dataset dataset;
    int status = check_arguments(arguments, "a dataset, DATA.h5", false, false);
    if (status != RT_OK || (status = rt_validate(arguments->names[0], &dataset, &validation)) != RT_OK)
        return status;
    print_validation(arguments, &dataset, &validation);
    for (int i = 0; status == RT_OK && i < RT_CHECK_COUNT; i++) {
        const struct rt_check *check = &validation.checks[i];
        if (check->wrong > (i == RT_CHECK_ROOFLINE ? arguments->max_impossible : 0))
            status = rt_fail(RT_EFORMAT, "%s: the check \"%s\" found %zu wrong: %s", arguments->names[0],
                             check->name, check->wrong, check->first);
    }
    rt_dataset_release(&dataset);
    return status;
}

/* ---- the table of subcommands ---- */

static const struct {
    const char *name;
    int (*run)(const struct arguments *arguments);
    const struct argp_option *options;
    const char *arguments, *what; /* what: description, "\v", example */
} subcommands[] = {
    {"info", run_info, options_of_info, "DATA.h5",
     "Tells what a dataset holds: where it comes from, counts per op, device, dtype and split, ranges, "
     "flags, attributes."
     "\vExample:\n  rooftile dataset info data.h5"},
    {"import", run_import, options_of_import, "FILE-OR-FOLDER",
     "Turns the measurements of others into a dataset. What each file is, its columns say. Ends with a "
     "table: rows "
     "read, kept, dropped as duplicates, refused (with file, line and reason), tiles that could not be read."
     "\vA refused row is no failure; a source from which nothing was kept is one, and with --strict any "
     "refusal."
     "\n\nExample:\n  rooftile dataset import --format neusight NeuSight -o neusight.h5"},
    {"export", run_export, options_of_export, "DATA.h5",
     "Writes a dataset as a folder of CSV files: samples.csv, workloads.csv, devices.csv, groups.csv, "
     "strings.csv, "
     "meta.csv. `rooftile dataset import --format csv` makes the same dataset of it again, byte for byte."
     "\vExample:\n  rooftile dataset export --format csv data.h5 -o data/"},
    {"merge", run_merge, options_of_merge, "A.h5 B.h5...",
     "Puts datasets together. Refuses devices of one name with different numbers; drops exact duplicates and "
     "counts "
     "them.\vExamples:\n  rooftile dataset merge monday.h5 tuesday.h5 -o week.h5\n"
     "  rooftile dataset merge --sort shard1.h5 shard2.h5 -o all.h5"},
    {"validate", run_validate, options_of_validate, "DATA.h5",
     "Checks a dataset: checksums, units, ranges, duplicates, devices, samples that are faster than the "
     "roofline of "
     "their GPU allows. One line per check; exit status 1 where one fails."
     "\vExample:\n  rooftile dataset validate data.h5 --max-impossible 10"},
};

static void print_help(FILE *file)
{
    fputs("Usage: rooftile dataset COMMAND [OPTION...]\n\nCommands:\n", file);
    for (size_t i = 0; i < RT_COUNT(subcommands); i++)
        fprintf(file, "  %-9s %.*s\n", subcommands[i].name, (int)strcspn(subcommands[i].what, ":.;"),
                subcommands[i].what);
    fputs("\n`rooftile dataset COMMAND --help` tells the rest. Example:\n"
          "  rooftile dataset import --format neusight NeuSight -o neusight.h5\n"
          "  rooftile dataset info neusight.h5\n",
          file);
}

int rt_cmd_dataset(int argc, char **argv)
{
    char title[64];
    if (argc < 2)
        return rt_fail(RT_EUSAGE, "say what to do: info, import, export, merge or validate");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0) {
        print_help(stdout);
        return RT_OK;
    }
    for (size_t i = 0; i < RT_COUNT(subcommands); i++) {
        if (strcmp(argv[1], subcommands[i].name) != 0)
            continue;
        struct argp argp = {subcommands[i].options,
                            parse_option,
                            subcommands[i].arguments,
                            subcommands[i].what,
                            NULL,
                            NULL,
                            NULL};
        struct arguments arguments = {0};
        snprintf(title, sizeof title, "rooftile dataset %s", subcommands[i].name);
        argv[1] = title;
        int status = argp_parse(&argp, argc - 1, argv + 1, 0, NULL, &arguments);
        if (status == 0)
            status = subcommands[i].run(&arguments);
        free(arguments.names);
        return status;
    }
    return rt_fail(RT_EUSAGE,
                   "\"%s\" is no command of rooftile dataset: info, import, export, merge, validate",
                   argv[1]);
}
