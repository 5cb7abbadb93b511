/* The writer table, and the rows that CSV and JSON share. See report.h. */
#include "predict/evaluate/report.h"
#include "base/file.h"
#include "base/status.h"
#include "base/table.h"

#include <string.h>

const struct rt_report_writer rt_report_writers[] = {
    {".txt", "text for people", rt_report_text, rt_workloads_text},
    {".json", "everything, for programs", rt_report_json, rt_workloads_json},
    {".csv", "one line per op, device and predictor, or per workload", rt_report_csv, rt_workloads_csv},
};
const size_t rt_report_writer_count = RT_COUNT(rt_report_writers);

static const struct rt_report_writer *find_writer(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < rt_report_writer_count; i++) {
        size_t ending = strlen(rt_report_writers[i].ending);
        if (length > ending && strcasecmp(path + length - ending, rt_report_writers[i].ending) == 0)
            return &rt_report_writers[i];
    }
    return NULL;
}

int rt_report_check(const char *path)
{
    char known[128] = "";
    if (find_writer(path) != NULL)
        return RT_OK;
    for (size_t i = 0; i < rt_report_writer_count; i++) {
        strcat(known, i == 0 ? "" : i + 1 < rt_report_writer_count ? ", " : " or ");
        strcat(known, rt_report_writers[i].ending);
    }
    return rt_fail(RT_EUSAGE, "--report %s: no report has that ending; name a file that ends in %s", path,
                   known);
}

/* Writes whichever of the two is not NULL. */
static int write_report(const struct rt_evaluation *kernels, const struct rt_workload_evaluation *workloads,
                        const char *path)
{
    FILE *file;
    char *temporary;
    int status = rt_report_check(path);
    if (status == RT_OK)
        status = rt_file_create(path, &file, &temporary);
    if (status != RT_OK)
        return status;
    const struct rt_report_writer *writer = find_writer(path);
    status = kernels != NULL ? writer->write(kernels, file) : writer->write_workloads(workloads, file);
    if (status != RT_OK) {
        rt_file_abandon(file, temporary);
        return rt_fail_context(status, "%s", path);
    }
    return rt_file_finish(file, temporary, path);
}

int rt_report_write(const struct rt_evaluation *evaluation, const char *path)
{
    return write_report(evaluation, NULL, path);
}

int rt_report_write_workloads(const struct rt_workload_evaluation *evaluation, const char *path)
{
    return write_report(NULL, evaluation, path);
}

/* Percent everywhere. */
static const struct rt_column columns[] = {
    {"op", NULL, 's', 0},       {"device", NULL, 's', 0},    {"predictor", NULL, 's', 0},
    {"held_out", NULL, 'b', 0}, {"n", NULL, 'd', 0},         {"mape", NULL, 'f', 1},
    {"median", NULL, 'f', 1},   {"p90", NULL, 'f', 1},       {"bias", NULL, 'f', 1},
    {"within10", NULL, 'f', 1}, {"synthetic", NULL, 'd', 0}, {"coverage90", NULL, 'f', 1},
    {"width90", NULL, 'f', 1},
};

void rt_report_table_add(struct rt_table *table, const struct rt_evaluation *evaluation,
                         const struct rt_evaluation_row *rows, size_t count)
{
    for (size_t r = 0; r < count; r++)
        for (size_t c = 0; c < evaluation->candidate_count; c++) {
            const struct rt_metrics *m = &rows[r].metrics[c];
            const struct rt_interval_metrics *interval = &rows[r].intervals[c];
            rt_table_row(table, rows[r].op, rows[r].device, evaluation->candidates[c].label,
                         (int)rows[r].held_out[c], (long long)m->count, m->mape, m->median, m->p90, m->bias,
                         m->within10, (long long)rows[r].synthetic, interval->coverage, interval->width);
        }
}

struct rt_table *rt_report_table(const struct rt_evaluation *evaluation, const struct rt_evaluation_row *rows,
                                 size_t count)
{
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    rt_report_table_add(table, evaluation, rows, count);
    return table;
}
