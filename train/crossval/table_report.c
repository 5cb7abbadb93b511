/* The table of a cross-validation for people and for programs. See table.h. */
#include "train/crossval/table.h"
#include "base/status.h"
#include "base/text.h"
#include "base/version.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the table --- */

static void add_text_row(const struct rt_crossval_table *table, const struct rt_crossval_block *block,
                         int row, bool first, struct rt_table *out)
{
    size_t columns = table->crossval->column_count, n = 0;
    char **cell = rt_malloc((columns + 3) * sizeof *cell),
         *name = rt_format("%s%s", block->label, rt_protocols[block->protocol].words);
    const char *star = rt_crossval_is_partial(table, block, row) ? "*" : "";
    int worst;
    for (size_t c = 0; c < columns; c++) {
        const struct rt_score *score = &block->score[row][c];
        bool fewer = rt_crossval_has_fewer(table, block, row, c);
        cell[c] = score->n > 0 ? rt_format("%.1f%s", score->mape, fewer ? "*" : "") : NULL;
        n += score->n;
    }
    cell[columns] = rt_format("%.1f%s", rt_crossval_mean(table, block, row), star);
    cell[columns + 1] = rt_format("%.1f%s", rt_crossval_worst(table, block, row, &worst), star);
    cell[columns + 2] = rt_format("%zu", n);
    rt_table_row_texts(out, (const char *const *)cell, columns + 3, first ? rt_crossval_row_name(row) : "",
                       name);
    for (size_t c = 0; c < columns + 3; c++)
        free(cell[c]);
    free(cell);
    free(name);
}

static struct rt_table *make_text(const struct rt_crossval_table *table)
{
    size_t columns = table->crossval->column_count;
    struct rt_column *column = rt_calloc(columns + 5, sizeof *column);
    column[0] = (struct rt_column){NULL, "family", 's', 0};
    column[1] = (struct rt_column){NULL, "predictor", 's', 0};
    for (size_t c = 0; c < columns; c++)
        column[2 + c] = (struct rt_column){NULL, table->crossval->columns[c], 'r', 0};
    column[2 + columns] = (struct rt_column){NULL, "mean", 'r', 0};
    column[3 + columns] = (struct rt_column){NULL, "worst", 'r', 0};
    column[4 + columns] = (struct rt_column){NULL, "n", 'r', 0};
    struct rt_table *out = rt_table_new(column, columns + 5);
    free(column);
    for (int row = 0; row < RT_CROSSVAL_ROWS; row++) {
        bool first = true;
        for (size_t b = 0; b < table->block_count; b++)
            if (rt_crossval_has(table, &table->blocks[b], row)) {
                add_text_row(table, &table->blocks[b], row, first, out);
                first = false;
            }
    }
    return out;
}

/* --- intervals --- */

/* Has every column that is judged an interval? */
static bool has_intervals(const struct rt_crossval_table *table, const struct rt_crossval_block *block,
                          int row)
{
    bool some = false;
    for (size_t c = 0; c < table->crossval->column_count; c++) {
        const struct rt_score *score = &block->score[row][c];
        if (score->n > 0 && isnan(score->width90))
            return false;
        some |= score->n > 0;
    }
    return some;
}

/* "91 (32)" in each column and in the mean of columns, and what the mean half-width is of the mean error. */
static void add_interval_row(const struct rt_crossval_table *table, const struct rt_crossval_block *block,
                             int row, bool first, struct rt_table *out)
{
    size_t columns = table->crossval->column_count;
    char **cell = rt_calloc(columns + 2, sizeof *cell),
         *name = rt_format("%s%s", block->label, rt_protocols[block->protocol].words);
    double coverage = 0, width = 0, mape = 0, n = 0;
    for (size_t c = 0; c < columns; c++) {
        const struct rt_score *score = &block->score[row][c];
        if (score->n == 0)
            continue;
        cell[c] = rt_format("%.0f (%.0f)", score->coverage90, score->width90);
        coverage += score->coverage90;
        width += score->width90;
        mape += score->mape;
        n++;
    }
    cell[columns] = rt_format("%.1f (%.1f)", coverage / n, width / n);
    cell[columns + 1] = rt_format("%.1f", width / mape);
    rt_table_row_texts(out, (const char *const *)cell, columns + 2, first ? rt_crossval_row_name(row) : "",
                       name);
    for (size_t c = 0; c < columns + 2; c++)
        free(cell[c]);
    free(cell);
    free(name);
}

/* Without rows where no predictor has intervals. */
static struct rt_table *make_intervals(const struct rt_crossval_table *table, size_t *rows)
{
    size_t columns = table->crossval->column_count;
    struct rt_column *column = rt_calloc(columns + 4, sizeof *column);
    column[0] = (struct rt_column){NULL, "family", 's', 0};
    column[1] = (struct rt_column){NULL, "predictor", 's', 0};
    for (size_t c = 0; c < columns; c++)
        column[2 + c] = (struct rt_column){NULL, table->crossval->columns[c], 'r', 0};
    column[2 + columns] = (struct rt_column){NULL, "mean", 'r', 0};
    column[3 + columns] = (struct rt_column){NULL, "of error", 'r', 0};
    struct rt_table *out = rt_table_new(column, columns + 4);
    free(column);
    *rows = 0;
    for (int row = 0; row < RT_CROSSVAL_ROWS; row++) {
        bool first = true;
        for (size_t b = 0; b < table->block_count; b++)
            if (has_intervals(table, &table->blocks[b], row)) {
                add_interval_row(table, &table->blocks[b], row, first, out);
                first = false;
                ++*rows;
            }
    }
    return out;
}

static void add_intervals(const struct rt_crossval_table *table, struct rt_report *report)
{
    size_t rows;
    struct rt_table *intervals = make_intervals(table, &rows);
    if (rows > 0)
        rt_report_add_table(report, NULL,
                            "90% intervals: share of the measurements within, percent (mean half-width, "
                            "percent of the forecast); the mean half-width over the mean error",
                            intervals);
    else
        rt_table_free(intervals);
}

/* --- for programs --- */

static const struct rt_column score_columns[] = {
    {"level", NULL, 's', 0},         {"family", NULL, 's', 0},  {"predictor", NULL, 's', 0},
    {"protocol", NULL, 's', 0},      {"fold", NULL, 's', 0},    {"n", NULL, 'd', 0},
    {"calibrated_to", NULL, 'd', 0}, {"mape", NULL, 'f', 2},    {"bias", NULL, 'f', 2},
    {"coverage90", NULL, 'f', 1},    {"width90", NULL, 'f', 1},
};

static const char *level_of(int row)
{
    return row < RT_FAMILY_COUNT ? "kernels" : "end to end";
}

static const char *family_of(int row)
{
    return row < RT_FAMILY_COUNT ? rt_families[row].name : rt_workload_kinds[row - RT_FAMILY_COUNT];
}

/* A line for each score. */
static struct rt_table *make_scores(const struct rt_crossval_table *table)
{
    struct rt_table *out = rt_table_new(score_columns, RT_COUNT(score_columns));
    for (int row = 0; row < RT_CROSSVAL_ROWS; row++)
        for (size_t b = 0; b < table->block_count; b++)
            for (size_t c = 0; c < table->crossval->column_count; c++) {
                const struct rt_crossval_block *block = &table->blocks[b];
                const struct rt_score *score = &block->score[row][c];
                if (score->n > 0)
                    rt_table_row(out, level_of(row), family_of(row), block->label,
                                 rt_protocols[block->protocol].name, table->crossval->columns[c],
                                 (long long)score->n, (long long)score->calibrated_to, score->mape,
                                 score->bias, score->coverage90, score->width90);
            }
    return out;
}

static json_t *scores_json(const struct rt_crossval_table *table, const struct rt_score *scores)
{
    json_t *json = json_object();
    for (size_t c = 0; c < table->crossval->column_count; c++) {
        const struct rt_score *score = &scores[c];
        json_t *cell =
            score->n == 0
                ? json_null()
                : json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "n", (json_int_t)score->n, "calibrated_to",
                            (json_int_t)score->calibrated_to, "mape", rt_json_number(score->mape), "bias",
                            rt_json_number(score->bias), "coverage90", rt_json_number(score->coverage90),
                            "width90", rt_json_number(score->width90));
        json_object_set_new(json, table->crossval->columns[c], cell);
    }
    return json;
}

static json_t *row_json(const struct rt_crossval_table *table, const struct rt_crossval_block *block, int row)
{
    const struct rt_protocol_row *protocol = &rt_protocols[block->protocol];
    int at;
    double worst = rt_crossval_worst(table, block, row, &at);
    return json_pack("{s:s, s:s, s:s, s:s, s:b, s:s?, s:b, s:o, s:o, s:o, s:o}", "level", level_of(row),
                     "family", family_of(row), "predictor", block->label, "protocol", protocol->name,
                     "calibrated", block->protocol != RT_ZERO_SHOT, "calibrate_split", protocol->split,
                     "runs", block->protocol >= RT_KERNEL_PROTOCOLS, "mean",
                     rt_json_number(rt_crossval_mean(table, block, row)), "worst", rt_json_number(worst),
                     "worst_fold", rt_json_text(at >= 0 ? table->crossval->columns[at] : NULL), "folds",
                     scores_json(table, block->score[row]));
}

static json_t *rows_json(const struct rt_crossval_table *table)
{
    json_t *rows = json_array();
    for (int row = 0; row < RT_CROSSVAL_ROWS; row++)
        for (size_t b = 0; b < table->block_count; b++)
            if (rt_crossval_has(table, &table->blocks[b], row))
                json_array_append_new(rows, row_json(table, &table->blocks[b], row));
    return rows;
}

static json_t *failures_json(const struct rt_crossval_table *table)
{
    json_t *array = json_array();
    for (size_t f = 0; f < table->failure_count; f++) {
        const struct rt_crossval_failure *failure = &table->failures[f];
        json_array_append_new(array, json_pack("{s:o, s:s, s:o}", "fold",
                                               rt_json_text(failure->unit->fold->name), "predictor",
                                               failure->unit->kind, "message", rt_json_text(failure->why)));
    }
    return array;
}

/* --- the folds --- */

/* Of `marked` devices the names. */
static char *device_names(const struct rt_crossval *crossval, const bool *marked)
{
    struct rt_text text = {0};
    for (size_t d = 0; d < crossval->dataset.device_count; d++)
        if (marked[d])
            rt_text_item(&text, ", ", "%s", crossval->dataset.devices[d].name);
    return rt_text_take(&text);
}

static const char *why_left_out(const struct rt_crossval *crossval)
{
    return crossval->options->leave_out == RT_LEAVE_OP ? "its family has no other op to learn from"
                                                       : "nothing older was measured";
}

static size_t test_kernels(const struct rt_fold *fold)
{
    size_t count = 0;
    for (int family = 0; family < RT_FAMILY_COUNT; family++)
        count += fold->kernels[family][RT_PART_TEST];
    return count;
}

static json_t *fold_json(const struct rt_crossval *crossval, const struct rt_fold *fold)
{
    json_t *devices = json_array();
    for (size_t d = 0; d < crossval->dataset.device_count; d++)
        if (fold->devices[d])
            json_array_append_new(devices, rt_json_text(crossval->dataset.devices[d].name));
    return json_pack("{s:o, s:o, s:s?, s:I, s:I}", "fold", rt_json_text(fold->name), "held_out_gpus", devices,
                     "held_out_op", fold->op >= 0 ? rt_ops[fold->op].name : NULL, "test_kernels",
                     (json_int_t)test_kernels(fold), "workloads", (json_int_t)fold->workloads);
}

static json_t *folds_json(const struct rt_crossval *crossval)
{
    json_t *array = json_array();
    for (size_t f = 0; f < crossval->fold_count; f++)
        json_array_append_new(array, fold_json(crossval, &crossval->folds[f]));
    return array;
}

static const struct rt_column fold_columns[] = {
    {NULL, "fold", 's', 0},
    {NULL, "held out", 's', 0},
    {NULL, "test kernels", 'd', 0},
    {NULL, "workloads", 'd', 0},
};

struct rt_report *rt_crossval_report_folds(const struct rt_crossval *crossval)
{
    struct rt_report *report = rt_report_new();
    struct rt_table *list = rt_table_new(fold_columns, RT_COUNT(fold_columns));
    for (size_t f = 0; f < crossval->fold_count; f++) {
        const struct rt_fold *fold = &crossval->folds[f];
        char *devices = fold->op >= 0 ? rt_strdup(fold->name) : device_names(crossval, fold->devices);
        rt_table_row(list, fold->name, devices[0] ? devices : NULL, (long long)test_kernels(fold),
                     (long long)fold->workloads);
        free(devices);
    }
    rt_report_add_table(report, NULL, "", list);
    if (crossval->options->leave_out == RT_LEAVE_MODEL) {
        struct rt_text models = {0};
        for (size_t c = 0; c < crossval->column_count; c++)
            rt_text_item(&models, ", ", "%s", crossval->columns[c]);
        rt_report_add_note(report, NULL, "models: %s", models.text);
        rt_text_release(&models);
    }
    if (crossval->left_out != NULL)
        rt_report_add_note(report, NULL, "no fold: %s; %s", crossval->left_out, why_left_out(crossval));
    rt_report_add_json(report, "folds", folds_json(crossval));
    return report;
}

/* --- notes --- */

static void add_protocol(const struct rt_crossval *crossval, struct rt_report *report)
{
    static const char *const protocols[RT_LEAVE_COUNT] = {
        "Every column is a GPU that the predictor was not fitted to, nor to any other of the same chip.",
        "Every column is a generation of GPUs; the predictor was fitted to older ones alone, to none of it "
        "and to none that is newer.",
        ("Every column is a model. No predictor is fitted to whole models, so one training, on the kernels "
         "of all GPUs, serves every model; the GPUs were not held out."),
        "Every column is an op that the predictor was not fitted to, judged on all GPUs."};
    rt_report_add_note(report, "notes", "%s", protocols[crossval->options->leave_out]);
    if (crossval->options->leave_out != RT_LEAVE_MODEL)
        rt_report_add_note(report, "notes",
                           "Kernels are those of the test part of the data (`--split test`); where a fold "
                           "has none of a family there, those of the validation part.");
    rt_report_add_note(report, "notes",
                       "Numbers are mean absolute percentage errors; mean and worst are over columns, each "
                       "counting once; n is the number of kernels or runs of models.");
}

static bool has_protocol(const struct rt_crossval_table *table, enum rt_protocol protocol)
{
    for (size_t b = 0; b < table->block_count; b++)
        if (table->blocks[b].protocol == protocol)
            return true;
    return false;
}

static void add_calibration(const struct rt_crossval_table *table, struct rt_report *report)
{
    int64_t kernels = table->crossval->options->calibrate;
    if (has_protocol(table, RT_CALIBRATED))
        rt_report_add_note(report, "notes",
                           "Calibrated: after `rooftile calibrate --kernels %" PRId64
                           "` with kernels of the training part of the held-out GPU, none of which is "
                           "judged; without a word: zero-shot.",
                           kernels);
    if (has_protocol(table, RT_CALIBRATED_TEST))
        rt_report_add_note(
            report, "notes",
            "Calibrated, same kind: after `rooftile calibrate --kernels %" PRId64
            " --split test`, with kernels of the test part of the held-out GPU, and judged on all others of "
            "that part; zero-shot (without a word) and all other rows are judged on the whole part. Where "
            "the validation part is judged: with kernels of the training part, which is of its kind.",
            kernels);
    for (int p = RT_KERNEL_PROTOCOLS; p < RT_PROTOCOL_COUNT; p++)
        if (has_protocol(table, (enum rt_protocol)p)) {
            rt_report_add_note(
                report, "notes",
                "Other models' runs: every model is judged after `rooftile calibrate --from models "
                "--without-model NAME`, with the plain runs of all other models on the same GPU, on top of "
                "the kernels where the row says so; one after the other, and the errors of all together. "
                "Where no other model ran on the GPU, without runs. Only plain runs on one GPU are judged.");
            return;
        }
}

static void add_reading_aids(const struct rt_crossval_table *table, struct rt_report *report)
{
    bool partial = false, floor = false;
    for (size_t b = 0; b < table->block_count; b++)
        for (int row = 0; row < RT_CROSSVAL_ROWS; row++)
            if (rt_crossval_has(table, &table->blocks[b], row)) {
                partial |= rt_crossval_is_partial(table, &table->blocks[b], row);
                floor |= strcmp(table->blocks[b].label, "floor") == 0;
            }
    if (floor)
        rt_report_add_note(
            report, "notes",
            "Floor: the sum of a model's kernels, each measured alone, against its measured time.");
    if (partial)
        rt_report_add_note(
            report, "notes",
            "* judged on fewer than another of the same row: of the missing, no forecast could be made, no "
            "calibration kernels or no sum of kernels are there. Do not compare these means.");
}

static void add_folds(const struct rt_crossval *crossval, struct rt_report *report)
{
    for (size_t f = 0; f < crossval->fold_count; f++) {
        char *devices = device_names(crossval, crossval->folds[f].devices);
        if (strstr(devices, ", ") != NULL)
            rt_report_add_note(report, "notes", "%s is %s, held out together.", crossval->folds[f].name,
                               devices);
        free(devices);
    }
    if (crossval->left_out != NULL)
        rt_report_add_note(report, "notes", "No column: %s; %s.", crossval->left_out, why_left_out(crossval));
}

static void add_failures(const struct rt_crossval_table *table, struct rt_report *report)
{
    for (size_t f = 0; f < table->failure_count; f++)
        rt_report_add_note(report, "notes", "FAILED: %s, %s: %s", table->failures[f].unit->fold->name,
                           table->failures[f].unit->kind, table->failures[f].why);
}

/* --- all --- */

static void add_names(struct rt_text *text, const char *option, const struct rt_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        rt_text_add(text, strchr(names->name[i], ' ') != NULL ? " %s \"%s\"" : " %s %s", option,
                    names->name[i]);
}

/* The command as another would give it: without folder and --jobs, the data by its names without folders. */
static char *command_of(const struct rt_crossval *crossval)
{
    const struct rt_crossval_options *o = crossval->options;
    struct rt_text text = {0};
    char *only = rt_format("--%s", rt_leave_outs[o->leave_out]);
    rt_text_add(&text, "rooftile crossval");
    for (size_t i = 0; i < o->data.count; i++) {
        const char *slash = strrchr(o->data.name[i], '/');
        rt_text_add(&text, " %s", slash != NULL ? slash + 1 : o->data.name[i]);
    }
    rt_text_add(&text, " --leave-out %s", rt_leave_outs[o->leave_out]);
    add_names(&text, only, &o->only);
    add_names(&text, "--predictor", &o->kinds);
    add_names(&text, "--family", &o->families);
    rt_text_add(&text, " --seed %" PRId64, o->seed);
    if (o->epochs > 0)
        rt_text_add(&text, " --epochs %" PRId64, o->epochs);
    if (o->leave_out == RT_LEAVE_GPU)
        rt_text_add(&text, " --calibrate %" PRId64, o->calibrate);
    for (int p = RT_CALIBRATED; o->protocols[RT_CALIBRATED_TEST] && p < RT_KERNEL_PROTOCOLS; p++)
        if (o->protocols[p])
            rt_text_add(&text, " --calibrate-split %s", rt_protocols[p].split);
    rt_text_add(&text, "%s%s%s", o->runs ? " --calibrate-runs" : "", o->keep_test ? " --keep-test" : "",
                o->train.count > 0 ? " --" : "");
    for (size_t i = 0; i < o->train.count; i++)
        rt_text_add(&text, " %s", o->train.name[i]);
    free(only);
    return rt_text_take(&text);
}

/* A line of each file: uuids for people and programs, sources and licences for programs. */
static void add_data(const struct rt_crossval *crossval, struct rt_report *report)
{
    const struct {
        const char *key, *label, *lines;
    } facts[] = {{"data_uuids", "data", crossval->dataset.uuid},
                 {"data_sources", "source", crossval->dataset.source},
                 {"data_licences", "licence", crossval->dataset.licence}};
    for (size_t f = 0; f < RT_COUNT(facts); f++) {
        json_t *array = json_array();
        char *copy = rt_strdup(facts[f].lines), *rest = copy, *line;
        struct rt_text text = {0};
        while ((line = strsep(&rest, "\n")) != NULL) {
            json_array_append_new(array, rt_json_text(line));
            if (line[0] != '\0')
                rt_text_item(&text, ", ", "%s", line);
        }
        char *words = rt_text_take(&text);
        rt_report_add_fact(report, facts[f].key, array, facts[f].label, "%s", words[0] ? words : "unknown");
        free(words);
        free(copy);
    }
}

struct rt_report *rt_crossval_report_table(const struct rt_crossval_table *table)
{
    const struct rt_crossval *crossval = table->crossval;
    struct rt_report *report = rt_report_new();
    char *command = command_of(crossval);
    rt_report_add_title(report, "Cross-validation, leave one %s out",
                        rt_leave_outs[crossval->options->leave_out]);
    rt_report_add_json(report, "leave_out", json_string(rt_leave_outs[crossval->options->leave_out]));
    rt_report_add_text(report, "command", "command", command);
    add_data(crossval, report);
    rt_report_add_fact(report, "rooftile", json_string(RT_VERSION), "made by",
                       "rooftile " RT_VERSION ", every fold with one thread");
    rt_report_add_json(report, "folds", folds_json(crossval));
    rt_crossval_add_plots(report, table);
    rt_report_add_table(report, NULL, "", make_text(table));
    add_intervals(table, report);
    rt_report_add_csv(report, make_scores(table));
    rt_report_add_json(report, "rows", rows_json(table));
    rt_report_add_json(report, "failed", failures_json(table));
    add_protocol(crossval, report);
    add_calibration(table, report);
    add_reading_aids(table, report);
    add_folds(crossval, report);
    add_failures(table, report);
    free(command);
    return report;
}
