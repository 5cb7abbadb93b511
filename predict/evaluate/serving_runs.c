/* Measured runs of LLM servers out of CSV. See serving_runs.h. */
#include "predict/evaluate/serving_runs.h"
#include "base/csv.h"
#include "base/status.h"
#include "base/strings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_serving_texts[RT_SERVING_TEXTS] = {"id",    "device", "model",    "backend",
                                                        "dtype", "quant",  "kv_cache", "note"};

#define NUMBER(member) offsetof(struct rt_serving_run, member)

/* A column of whole numbers: where it goes, what an empty cell is; -1: the run cannot do without. */
static const struct count_column {
    const char *name;
    size_t offset;
    int64_t otherwise;
} counts[] = {{"tp", NUMBER(serve.tensor), 1},
              {"pp", NUMBER(serve.pipeline), 1},
              {"ep", NUMBER(serve.expert), 1},
              {"attention_dp", NUMBER(serve.attention), 1},
              {"replicas", NUMBER(serve.replicas), 1},
              {"decode_tp", NUMBER(decode.tensor), 0},
              {"decode_pp", NUMBER(decode.pipeline), 1},
              {"decode_ep", NUMBER(decode.expert), 1},
              {"decode_attention_dp", NUMBER(decode.attention), 1},
              {"decode_replicas", NUMBER(decode.replicas), 0},
              {"input", NUMBER(input), -1},
              {"output", NUMBER(output), -1},
              {"concurrency", NUMBER(concurrency), -1},
              {"sequences", NUMBER(sequences), 0}};

static const struct real_column {
    const char *name;
    size_t offset;
    double scale, otherwise;
} reals[] = {{"least", NUMBER(least), 1, 1},
             {"ttft_ms", NUMBER(ttft_us), 1e3, NAN},
             {"tpot_ms", NUMBER(tpot_us), 1e3, NAN},
             {"output_per_s", NUMBER(output_per_s), 1, NAN}};

static const struct rt_csv_field *field_of(const struct rt_csv *csv, const struct rt_csv_field *fields,
                                           const char *name)
{
    int column = rt_csv_find(csv, name);
    return column >= 0 && fields[column].length > 0 ? &fields[column] : NULL;
}

/* Keeps the first reason. */
static void refuse(struct rt_serving_run *run, char *reason)
{
    if (run->reason == NULL)
        run->reason = reason;
    else
        free(reason);
}

static int read_counts(const struct rt_csv *csv, const struct rt_csv_field *fields,
                       struct rt_serving_run *run)
{
    for (size_t c = 0; c < RT_COUNT(counts); c++) {
        const struct rt_csv_field *field = field_of(csv, fields, counts[c].name);
        int64_t *value = (int64_t *)((char *)run + counts[c].offset);
        *value = counts[c].otherwise;
        if (field == NULL && *value < 0)
            refuse(run, rt_format("its %s is missing", counts[c].name));
        if (field != NULL && (rt_csv_integer(field, value) != 0 || *value < 1 || *value > INT32_MAX))
            return rt_csv_fail_cell(csv, counts[c].name, field, "a whole number from 1");
    }
    if (run->decode.tensor > 0 && run->decode.replicas == 0)
        refuse(run, rt_strdup("disaggregated: how many groups prefill and decode is missing"));
    return RT_OK;
}

static int read_reals(const struct rt_csv *csv, const struct rt_csv_field *fields, struct rt_serving_run *run)
{
    for (size_t c = 0; c < RT_COUNT(reals); c++) {
        const struct rt_csv_field *field = field_of(csv, fields, reals[c].name);
        double *value = (double *)((char *)run + reals[c].offset), cell;
        *value = reals[c].otherwise;
        if (field == NULL)
            continue;
        if (rt_parse_real(field->text, field->length, &cell) != 0 || !(cell > 0) || cell > 1e12)
            return rt_csv_fail_cell(csv, reals[c].name, field, "a number above 0");
        *value = cell * reals[c].scale;
    }
    if (run->least > 1)
        return rt_csv_fail(csv, "least is %g; it must be a share of the lengths, at most 1", run->least);
    if (isnan(run->tpot_us) || isnan(run->ttft_us))
        refuse(run, rt_format("its %s_ms is missing", isnan(run->tpot_us) ? "tpot" : "ttft"));
    return RT_OK;
}

static int read_row(const struct rt_csv *csv, const struct rt_csv_field *fields, struct rt_serving_run *run)
{
    run->line = rt_csv_line(csv);
    for (int t = 0; t < RT_SERVING_TEXTS; t++) {
        const struct rt_csv_field *field = field_of(csv, fields, rt_serving_texts[t]);
        run->text[t] = rt_strdup(field != NULL ? field->text : "");
    }
    int status = read_counts(csv, fields, run);
    return status == RT_OK ? read_reals(csv, fields, run) : status;
}

static int check_columns(const struct rt_csv *csv)
{
    static const char *const needed[] = {"device",      "model",   "backend", "input", "output",
                                         "concurrency", "ttft_ms", "tpot_ms", NULL};
    for (size_t c = 0; needed[c] != NULL; c++)
        if (rt_csv_find(csv, needed[c]) < 0)
            return rt_fail(RT_EFORMAT,
                           "%s:1: has no column \"%s\"; runs of servers need device, model, backend, input, "
                           "output, concurrency, ttft_ms and tpot_ms",
                           rt_csv_path(csv), needed[c]);
    return RT_OK;
}

static int read_rows(struct rt_csv *csv, struct rt_serving_runs *out)
{
    const struct rt_csv_field *fields;
    int status = check_columns(csv), row = RT_CSV_END;
    while (status == RT_OK && (row = rt_csv_next(csv, &fields)) == RT_CSV_ROW) {
        out->run = rt_realloc(out->run, out->count + 1, sizeof *out->run);
        out->run[out->count] = (struct rt_serving_run){0};
        status = read_row(csv, fields, &out->run[out->count++]);
    }
    if (status != RT_OK)
        return status;
    return row == RT_CSV_REFUSED ? RT_EFORMAT : row;
}

int rt_serving_runs_read(const char *path, struct rt_serving_runs *out)
{
    struct rt_csv *csv;
    *out = (struct rt_serving_runs){.path = rt_strdup(path)};
    int status = rt_csv_open(path, &csv);
    if (status != RT_OK)
        return status;
    status = read_rows(csv, out);
    rt_csv_close(csv);
    return status;
}

void rt_serving_runs_release(struct rt_serving_runs *runs)
{
    for (size_t r = 0; r < runs->count; r++) {
        for (int t = 0; t < RT_SERVING_TEXTS; t++)
            free(runs->run[r].text[t]);
        free(runs->run[r].reason);
    }
    free(runs->run);
    free(runs->path);
    *runs = (struct rt_serving_runs){0};
}

double rt_serving_output_per_s(const struct rt_serving_run *run, double ttft_us, double tpot_us)
{
    double output = (double)run->output * (1 + run->least) / 2;
    return 1e6 * (double)run->concurrency * output / (ttft_us + tpot_us * (output - 1));
}
