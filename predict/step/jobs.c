/* Reading lists of jobs. See jobs.h. */
#include "predict/step/jobs.h"
#include "base/csv.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"
#include "datasets/run_attributes.h"
#include "models/networks/graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum column {
    NAME,
    MODEL,
    BATCH,
    SEQ,
    IMAGE,
    MODE,
    OPTIMIZER,
    DTYPE,
    RUNTIME,
    INPUT,
    LATENCY_MS,
    RATE,
    COLUMNS
};
static const char *const columns[COLUMNS] = {"name",      "model", "batch",   "seq",   "image",      "mode",
                                             "optimizer", "dtype", "runtime", "input", "latency_ms", "rate"};

struct reading {
    struct rt_csv *csv;
    const struct rt_csv_field *cell[COLUMNS]; /* of the row; NULL: missing */
    int place[COLUMNS];                       /* -1: no such column */
};

static int find_columns(struct reading *r)
{
    for (size_t c = 0; c < rt_csv_columns(r->csv); c++) {
        bool known = false;
        for (int i = 0; i < COLUMNS; i++)
            known |= strcmp(rt_csv_header(r->csv, c), columns[i]) == 0;
        if (!known)
            return rt_fail(RT_EFORMAT,
                           "%s: a list of jobs has no column \"%.40s\"; there are name, model, batch, seq, "
                           "image, mode, optimizer, dtype, runtime, input, latency_ms and rate",
                           rt_csv_path(r->csv), rt_csv_header(r->csv, c));
    }
    for (int i = 0; i < COLUMNS; i++)
        r->place[i] = rt_csv_find(r->csv, columns[i]);
    return r->place[MODEL] >= 0
               ? RT_OK
               : rt_fail(RT_EFORMAT, "%s: a list of jobs needs the column model", rt_csv_path(r->csv));
}

static int read_count(struct reading *r, enum column c, int64_t *value)
{
    const struct rt_csv_field *cell = r->cell[c];
    if (cell == NULL)
        return RT_OK;
    if (rt_csv_integer(cell, value) != 0 || *value < 1 || *value > INT32_MAX)
        return rt_csv_fail_cell(r->csv, columns[c], cell, "a whole number above 0");
    return RT_OK;
}

static int read_number(struct reading *r, enum column c, double *value)
{
    const struct rt_csv_field *cell = r->cell[c];
    *value = NAN;
    if (cell == NULL)
        return RT_OK;
    if (rt_parse_real(cell->text, cell->length, value) != 0 || !(*value > 0) || !isfinite(*value))
        return rt_csv_fail_cell(r->csv, columns[c], cell, "a number above 0");
    return RT_OK;
}

/* The place of a cell's text in a list of names; -1 where there is no cell. */
static int read_choice(struct reading *r, enum column c, const char *const *names, int count, int *value)
{
    const struct rt_csv_field *cell = r->cell[c];
    struct rt_text all = {0};
    *value = -1;
    for (int i = 0; cell != NULL && i < count; i++) {
        rt_text_item(&all, ", ", "%s", names[i]);
        if (rt_name_equal(names[i], cell->text))
            *value = i;
    }
    char *must = rt_format("one of %s", all.text != NULL ? all.text : "");
    int status = cell != NULL && *value < 0 ? rt_csv_fail_cell(r->csv, columns[c], cell, must) : RT_OK;
    free(must);
    rt_text_release(&all);
    return status;
}

/* "1 2 4 8" */
static int read_batches(struct reading *r, struct rt_gpu_job *job)
{
    const struct rt_csv_field *cell = r->cell[BATCH];
    const char *at = cell != NULL ? cell->text : "1", *end = at + (cell != NULL ? cell->length : 1);
    int status = RT_OK;
    while (status == RT_OK && at < end) {
        size_t length = strcspn(at, " ;");
        const struct rt_csv_field part = {.text = at, .length = length};
        int64_t *batch = &job->batches[job->batch_count];
        if (length == 0) {
            at++;
        } else if (job->batch_count == RT_JOB_BATCHES) {
            status = rt_csv_fail(r->csv, "batch lists more than %d sizes", RT_JOB_BATCHES);
        } else if (rt_csv_integer(&part, batch) != 0 || *batch < 1 || *batch > INT32_MAX) {
            status = rt_csv_fail_cell(r->csv, columns[BATCH], cell,
                                      "a whole number above 0, or several with spaces between");
        } else {
            job->batch_count++;
            at += length;
        }
    }
    if (status == RT_OK && job->batch_count == 0)
        status = rt_csv_fail_cell(r->csv, columns[BATCH], cell, "a whole number above 0");
    job->step.batch = job->batches[0];
    return status;
}

int rt_job_settle(struct rt_gpu_job *job)
{
    struct rt_graph graph;
    int status = rt_step_settle(&job->step, &job->source, NULL, &job->settled);
    if (status != RT_OK || !rt_model_source_traced(&job->source))
        return status;
    status =
        rt_settled_step_graph(&job->settled, &job->source, &graph); /* a file's own sizes, and its warnings */
    if (status != RT_OK)
        return status;
    job->source.quiet = true;
    rt_graph_release(&graph);
    return RT_OK;
}

static int read_sizes(struct reading *r, struct rt_gpu_job *job)
{
    bool file = rt_model_source_traced(&job->source);
    bool of_images = !file && rt_model_image(&job->source.model) > 0;
    bool both = of_images && rt_model_reads_text(&job->source.model);
    enum column other = of_images ? SEQ : IMAGE;
    if (r->cell[other] != NULL && !both)
        return rt_csv_fail(r->csv, "%s is a %s, which has no %s; leave the cell empty", job->model,
                           of_images ? "model of images"
                           : file    ? "file"
                                     : "language model",
                           columns[other]);
    int status = read_batches(r, job);
    if (status == RT_OK)
        status = read_count(r, SEQ, &job->step.sequence);
    if (status == RT_OK)
        status = read_count(r, IMAGE, &job->step.image);
    if (status == RT_OK && job->step.image > RT_MOST_PIXELS)
        status = rt_csv_fail_cell(r->csv, columns[IMAGE], r->cell[IMAGE], "the side of an image in pixels");
    return status;
}

static int read_model(struct reading *r, struct rt_gpu_job *job)
{
    if (r->cell[MODEL] == NULL)
        return rt_csv_fail(r->csv, "the row names no model");
    job->model = rt_strdup(r->cell[MODEL]->text);
    job->name = rt_strdup(r->cell[NAME] != NULL ? r->cell[NAME]->text : job->model);
    int status = rt_model_source_find(job->model, &job->source);
    if (status == RT_OK && !rt_model_source_sized(&job->source))
        return rt_csv_fail(r->csv, "%s is an operator graph; jobs name models of sizes", job->model);
    return status == RT_OK ? RT_OK
                           : rt_fail_context(status, "%s:%zu", rt_csv_path(r->csv), rt_csv_line(r->csv));
}

static int read_step(struct reading *r, struct rt_step *step)
{
    const char *dtypes[RT_DTYPE_COUNT];
    for (int d = 0; d < RT_DTYPE_COUNT; d++)
        dtypes[d] = rt_dtypes[d].name;
    int status = RT_OK;
    step->mode = r->cell[MODE] != NULL ? rt_step_mode_find(r->cell[MODE]->text) : RT_NOT_GIVEN;
    if (step->mode < 0)
        status = read_choice(r, MODE, rt_steps, RT_STEP_COUNT, &step->mode);
    if (status == RT_OK)
        status = read_choice(r, OPTIMIZER, rt_optimizers, RT_OPTIMIZER_COUNT, &step->optimizer);
    if (status == RT_OK)
        status = read_choice(r, DTYPE, dtypes, RT_DTYPE_COUNT, &step->dtype);
    if (status == RT_OK)
        status = read_choice(r, RUNTIME, rt_runtime_names, RT_RUNTIME_COUNT, &step->runtime);
    if (status == RT_OK && r->cell[INPUT] != NULL)
        status = read_choice(r, INPUT, rt_transfers, RT_TRANSFER_COUNT, &step->input);
    return status;
}

static int read_job(struct reading *r, struct rt_gpu_job *job)
{
    job->step = (struct rt_step)RT_STEP_NOT_GIVEN;
    job->line = rt_csv_line(r->csv);
    int status = read_model(r, job);
    if (status == RT_OK)
        status = read_sizes(r, job);
    if (status == RT_OK)
        status = read_step(r, &job->step);
    if (status == RT_OK)
        status = read_number(r, LATENCY_MS, &job->latency_us);
    if (status == RT_OK)
        status = read_number(r, RATE, &job->rate);
    if (status != RT_OK)
        return status;
    job->latency_us *= 1e3;
    status = rt_job_settle(job);
    if (status == RT_OK)
        return RT_OK;
    rt_fail_context(status, "%s:%zu", rt_csv_path(r->csv), rt_csv_line(r->csv));
    return status == RT_EUSAGE ? RT_EFORMAT : status;
}

static int read_rows(struct reading *r, struct rt_gpu_jobs *jobs)
{
    const struct rt_csv_field *fields;
    int status = find_columns(r);
    for (int next; status == RT_OK && (next = rt_csv_next(r->csv, &fields)) != RT_CSV_END;) {
        if (next != RT_CSV_ROW)
            return next < 0 ? next : RT_EFORMAT;
        for (int c = 0; c < COLUMNS; c++)
            r->cell[c] = r->place[c] >= 0 && !fields[r->place[c]].missing ? &fields[r->place[c]] : NULL;
        jobs->job = rt_realloc(jobs->job, jobs->count + 1, sizeof *jobs->job);
        jobs->job[jobs->count] = (struct rt_gpu_job){0};
        status = read_job(r, &jobs->job[jobs->count++]);
    }
    if (status == RT_OK && jobs->count == 0)
        status = rt_fail(RT_EFORMAT, "%s: holds no jobs, only the names of its columns", rt_csv_path(r->csv));
    return status;
}

int rt_jobs_read(const char *path, struct rt_gpu_jobs *out)
{
    struct reading reading = {0};
    *out = (struct rt_gpu_jobs){0};
    int status = rt_csv_open(path, &reading.csv);
    if (status != RT_OK)
        return status;
    status = read_rows(&reading, out);
    rt_csv_close(reading.csv);
    if (status != RT_OK)
        rt_jobs_release(out);
    return status;
}

void rt_jobs_release(struct rt_gpu_jobs *jobs)
{
    for (size_t j = 0; j < jobs->count; j++) {
        free(jobs->job[j].name);
        free(jobs->job[j].model);
        rt_settled_step_release(&jobs->job[j].settled);
    }
    free(jobs->job);
    *jobs = (struct rt_gpu_jobs){0};
}

int rt_job_graph(const struct rt_gpu_job *job, const struct rt_device *device, struct rt_graph *out)
{
    return rt_step_graph(&job->step, &job->source, device, out);
}
