/* An evaluation for people. See report.h. */
#include "base/status.h"
#include "base/table.h"
#include "predict/evaluate/report.h"

#include <stdlib.h>
#include <string.h>

enum { LABEL = 11, WIDTH = 108 }; /* columns of "predictor  ", and of a line */

void rt_report_labelled(FILE *file, const char *label, const char *text)
{
    size_t column = LABEL;
    fprintf(file, "%-*s", LABEL, label);
    for (const char *word = text; *word != '\0';) {
        size_t length = strcspn(word, " ");
        if (column + 1 + length > WIDTH && word != text) {
            fprintf(file, "\n%*s", LABEL, "");
            column = LABEL;
        } else if (word != text) {
            fputc(' ', file);
            column++;
        }
        fwrite(word, 1, length, file);
        column += length;
        word += length + (word[length] == ' ');
    }
    fputc('\n', file);
}

void rt_report_formatted(FILE *file, const char *label, char *text)
{
    rt_report_labelled(file, label, text);
    free(text);
}

char *rt_report_commas(const char *list)
{
    char *text = rt_strdup(list[0] != '\0' ? "" : "none");
    for (const char *line = list; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        char *longer = rt_format("%s%s%.*s", text, text[0] != '\0' ? ", " : "", (int)length, line);
        free(text);
        text = longer;
        line += length + (line[length] == '\n');
    }
    return text;
}

void rt_report_candidate(FILE *file, const char *label, const struct rt_candidate *candidate)
{
    const struct rt_predictor *p = &candidate->predictor;
    if (p->net_count == 0) {
        rt_report_formatted(file, label, rt_format("%s, fitted to nothing", candidate->label));
        return;
    }
    bool by_kind = strcmp(candidate->label, p->kind) == 0, ops_held_out = p->held_out_ops[0] != '\0';
    char *devices = rt_report_commas(p->devices), *gpus = rt_report_commas(p->held_out_gpus),
         *ops = rt_report_commas(p->held_out_ops);
    rt_report_formatted(file, label,
                        rt_format("%s%s%s (%s), fitted to %s; held out: %s%s%s",
                                  by_kind ? "" : candidate->label, by_kind ? "" : ": ", p->kind,
                                  candidate->name, devices, gpus, ops_held_out ? "; ops held out: " : "",
                                  ops_held_out ? ops : ""));
    if (!p->complete)
        rt_report_labelled(file, "",
                           "WARNING: its training was interrupted; these are the best weights up to then");
    free(devices);
    free(gpus);
    free(ops);
}

static void print_data(FILE *file, const struct rt_evaluation *evaluation)
{
    for (size_t f = 0; f < evaluation->options.file_count; f++) {
        const struct rt_evaluation_file *from = &evaluation->options.files[f];
        char *source = rt_report_commas(from->source), *licence = rt_report_commas(from->licence);
        rt_report_formatted(file, f == 0 ? "data" : "",
                            rt_format("%s: %zu samples, source %s, licence %s, uuid %s", from->path,
                                      from->samples, source, licence, from->uuid));
        free(source);
        free(licence);
    }
    if (evaluation->options.duplicates > 0)
        rt_report_formatted(
            file, "",
            rt_format("%zu samples were in the data twice and count once", evaluation->options.duplicates));
}

/* Which element types the rows pool, "fp32" or "bf16 10, fp8 20". Free with free(). */
static char *dtype_list(const struct rt_evaluation *evaluation)
{
    char *text = rt_strdup("");
    for (int t = 0; t < RT_DTYPE_COUNT; t++) {
        if (evaluation->dtypes[t] == 0)
            continue;
        bool only = evaluation->dtypes[t] == evaluation->evaluated;
        char *longer = only ? rt_strdup(rt_dtypes[t].name)
                            : rt_format("%s%s%s %zu", text, text[0] != '\0' ? ", " : "", rt_dtypes[t].name,
                                        evaluation->dtypes[t]);
        free(text);
        text = longer;
    }
    return text;
}

static void print_samples(FILE *file, const struct rt_evaluation *evaluation)
{
    const struct rt_evaluate_options *options = &evaluation->options;
    const char *tiles = options->measured_tiles ? "measured tiles where they are known"
                                                : "tiles found as for a GPU that nobody measured";
    char *dtypes = dtype_list(evaluation);
    rt_report_formatted(file, "samples",
                        rt_format("%zu (%s), split %s (seed %llu); %s", evaluation->evaluated, dtypes,
                                  rt_part_name(options->part), (unsigned long long)evaluation->split.seed,
                                  tiles));
    free(dtypes);
    if (evaluation->synthetic > 0)
        rt_report_formatted(
            file, "", rt_format("SYNTHETIC: %zu of them are made up, not measured", evaluation->synthetic));
    if (options->part != RT_PART_TEST &&
        rt_candidates_reference(evaluation->candidates, evaluation->candidate_count))
        rt_report_labelled(
            file, "", "NOTE: rows that are not held out were seen in training, unlike those of split test");
    if (evaluation->unstable > 0 || evaluation->throttled > 0)
        rt_report_formatted(
            file, "",
            rt_format("NOTE: %zu are flagged as unstable and %zu as throttled; they count like the others",
                      evaluation->unstable, evaluation->throttled));
}

static void print_head(FILE *file, const struct rt_evaluation *evaluation)
{
    for (size_t c = 0; c < evaluation->candidate_count; c++)
        rt_report_candidate(file, c == 0 ? "predictor" : c == 1 ? "beside" : "", &evaluation->candidates[c]);
    print_data(file, evaluation);
    print_samples(file, evaluation);
    rt_report_labelled(
        file, "errors",
        "percent of the measured latency: MAPE, median and p90 of the absolute error; bias is its "
        "signed mean "
        "(above 0: forecast too slow); <=10% is the share of kernels that near; in 90%: share of the kernels "
        "within their 90% interval, +-90%: half of which is that wide on average");
}

/* The first candidate in full, the others by their MAPE. Text tables show one row per op and device, so a row
 * has as many columns as there are candidates: the table is made with the first of these. */
enum { OWN_COLUMNS = 11 };
static const struct rt_column own_columns[OWN_COLUMNS] = {
    {"op", NULL, 's', 0},
    {"device", NULL, 's', 0},
    {"held_out", "held out", 'b', 0},
    {"n", NULL, 'd', 0},
    {"mape", "MAPE", 'f', 1},
    {"median", NULL, 'f', 1},
    {"p90", NULL, 'f', 1},
    {"bias", NULL, 'f', 1},
    {"within10", "<=10%", 'f', 1},
    {"coverage90", "in 90%", 'f', 1},
    {"width90", "+-90%", 'f', 1},
};

static const char *pooled_device(const char *device)
{
    return strcmp(device, "all") == 0 ? "all devices" : "held-out devices";
}

/* Does a row per op and device hold the same samples, or the twin of an "all" row that is all held out? */
static bool told_already(const struct rt_evaluation *evaluation, const struct rt_evaluation_row *pooled)
{
    if (strcmp(pooled->device, "all") == 0 && pooled->held_out[0])
        return true;
    for (size_t r = 0; r < evaluation->row_count; r++)
        if (strcmp(evaluation->rows[r].op, pooled->op) == 0 &&
            evaluation->rows[r].metrics[0].count == pooled->metrics[0].count &&
            evaluation->rows[r].held_out[0] == pooled->held_out[0])
            return true;
    return false;
}

static void print_rows(FILE *file, const struct rt_evaluation *evaluation,
                       const struct rt_evaluation_row *rows, size_t count, bool pooled)
{
    struct rt_column columns[OWN_COLUMNS + RT_MAX_CANDIDATES];
    char *title[RT_MAX_CANDIDATES] = {NULL};
    memcpy(columns, own_columns, sizeof own_columns);
    for (size_t c = 1; c < evaluation->candidate_count; c++) {
        title[c] = rt_format("%s MAPE", evaluation->candidates[c].label);
        columns[OWN_COLUMNS + c - 1] = (struct rt_column){title[c], NULL, 'f', 1};
    }
    struct rt_table *table = rt_table_new(columns, OWN_COLUMNS + evaluation->candidate_count - 1);
    for (size_t r = 0; r < count; r++) {
        if (pooled && told_already(evaluation, &rows[r]))
            continue;
        const struct rt_metrics *m = rows[r].metrics; /* more arguments than columns are left unread */
        rt_table_row(table, rows[r].op, pooled ? pooled_device(rows[r].device) : rows[r].device,
                     (int)rows[r].held_out[0], (long long)m->count, m->mape, m->median, m->p90, m->bias,
                     m->within10, rows[r].intervals[0].coverage, rows[r].intervals[0].width, m[1].mape,
                     m[2].mape, m[3].mape, m[4].mape, m[5].mape);
    }
    rt_table_text(table, file);
    rt_table_free(table);
    for (size_t c = 1; c < evaluation->candidate_count; c++)
        free(title[c]);
}

static const struct rt_column worst_columns[] = {
    {"error", "error %", 'f', 1},
    {"measured_us", "measured us", 'f', 1},
    {"forecast_us", "forecast us", 'f', 1},
    {"device", NULL, 's', 0},
    {"op", NULL, 's', 0},
    {"dims", NULL, 's', 0},
};

static void print_worst(FILE *file, const struct rt_evaluation *evaluation)
{
    struct rt_table *table = rt_table_new(worst_columns, RT_COUNT(worst_columns));
    char dims[512], op[64];
    for (size_t i = 0; i < evaluation->worst_count; i++) {
        const struct rt_evaluation_worst *worst = &evaluation->worst[i];
        const struct rt_sample *sample = worst->sample;
        rt_call_dims(&sample->call, dims, sizeof dims);
        snprintf(op, sizeof op, "%s %s", rt_ops[sample->call.op].name, rt_dtypes[sample->call.dtype].name);
        rt_table_row(table, worst->error, sample->latency_us, worst->forecast_us,
                     evaluation->dataset->devices[sample->device].name, op, dims);
    }
    fprintf(file, "\nworst %zu kernels of %s\n", evaluation->worst_count, evaluation->candidates[0].label);
    rt_table_text(table, file);
    rt_table_free(table);
}

static void print_left_out(FILE *file, const struct rt_evaluation *evaluation)
{
    fprintf(file, "\nleft out: %zu of %zu samples\n",
            evaluation->dataset->sample_count - evaluation->evaluated, evaluation->dataset->sample_count);
    for (int r = 0; r < RT_LEFT_COUNT; r++) {
        size_t count = rt_evaluation_left_out(evaluation, r);
        if (count == 0)
            continue;
        fprintf(file, "%9zu  %s", count, rt_left_outs[r].words);
        bool ops = r != RT_LEFT_NOT_ASKED && r != RT_LEFT_OTHER_SPLIT; /* those two say nothing by op */
        for (int op = 0, listed = 0; ops && op < RT_OP_COUNT; op++)
            if (evaluation->left_out[r][op] > 0)
                fprintf(file, "%s%s %zu", listed++ ? ", " : ": ", rt_ops[op].name,
                        evaluation->left_out[r][op]);
        fputc('\n', file);
    }
}

int rt_report_text(const struct rt_evaluation *evaluation, FILE *file)
{
    print_head(file, evaluation);
    fputc('\n', file);
    print_rows(file, evaluation, evaluation->rows, evaluation->row_count, false);
    fputs("\npooled (a pool of one row above is not repeated)\n", file);
    print_rows(file, evaluation, evaluation->pooled, evaluation->pooled_count, true);
    print_worst(file, evaluation);
    print_left_out(file, evaluation);
    return RT_OK;
}
