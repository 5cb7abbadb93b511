/* The table of a cross-validation for people and for programs. See crossval.h. */
#include "predict/crossval/crossval.h"
#include "base/status.h"
#include "base/table.h"
#include "base/version.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- for people --- */

/* Texts in rows and columns; the first row is the heading, the first two columns are words. */
struct grid {
    char **cell; /* row by row */
    size_t count, columns;
};

static void labelled(FILE *file, const char *label, const char *text)
{
    fprintf(file, "%-11s", label);
    rt_print_wrapped(file, text, 11, 11, 108);
}

static void formatted(FILE *file, const char *label, char *text)
{
    labelled(file, label, text);
    free(text);
}

/* "a\nb" as "a, b"; "none" where there is nothing. Free with free(). */
static char *commas(const char *list)
{
    struct rt_text text = {0};
    for (const char *line = list; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        rt_text_item(&text, ", ", "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return text.length > 0 ? rt_text_take(&text) : rt_strdup("none");
}

static void add_cell(struct grid *grid, char *text)
{
    grid->cell = rt_realloc(grid->cell, grid->count + 1, sizeof *grid->cell);
    grid->cell[grid->count++] = text;
}

/* With the kernels that it was calibrated to: that those are left out is no lack. */
static size_t judged(const struct rt_crossval_block *block, int row, size_t column)
{
    const struct rt_score *score = &block->score[row][column];
    return score->n > 0 ? score->n + score->calibrated_to : 0;
}

/* The largest number of any block: one that has fewer was judged on fewer. */
static size_t most_judged(const struct rt_crossval_table *table, int row, size_t column)
{
    size_t most = 0;
    for (size_t b = 0; b < table->block_count; b++) {
        size_t n = judged(&table->blocks[b], row, column);
        most = n > most && strcmp(table->blocks[b].label, "floor") != 0 ? n : most;
    }
    return most;
}

static char *score_text(const struct rt_crossval_table *table, const struct rt_crossval_block *block, int row,
                        size_t column)
{
    const struct rt_score *score = &block->score[row][column];
    if (score->n == 0)
        return rt_strdup("-");
    return rt_format("%.1f%s", score->mape,
                     judged(block, row, column) < most_judged(table, row, column) ? "*" : "");
}

/* Is the block's row judged on fewer than another's in some column? Then its mean is not comparable. */
static bool is_partial(const struct rt_crossval_table *table, const struct rt_crossval_block *block, int row)
{
    for (size_t c = 0; c < table->crossval->column_count; c++)
        if (judged(block, row, c) < most_judged(table, row, c))
            return true;
    return false;
}

static bool has_row(const struct rt_crossval_table *table, const struct rt_crossval_block *block, int row)
{
    return !isnan(rt_crossval_mean(table, block, row));
}

static void add_heading(const struct rt_crossval_table *table, struct grid *grid)
{
    add_cell(grid, rt_strdup("family"));
    add_cell(grid, rt_strdup("predictor"));
    for (size_t c = 0; c < table->crossval->column_count; c++)
        add_cell(grid, rt_strdup(table->crossval->columns[c]));
    add_cell(grid, rt_strdup("mean"));
    add_cell(grid, rt_strdup("worst"));
    add_cell(grid, rt_strdup("n"));
}

static void add_row(const struct rt_crossval_table *table, struct grid *grid,
                    const struct rt_crossval_block *block, int row, bool first)
{
    size_t n = 0;
    int worst;
    add_cell(grid, rt_strdup(first ? rt_crossval_row_name(row) : ""));
    add_cell(grid, rt_format("%s%s", block->label, rt_protocols[block->protocol].words));
    for (size_t c = 0; c < table->crossval->column_count; c++) {
        add_cell(grid, score_text(table, block, row, c));
        n += block->score[row][c].n;
    }
    const char *star = is_partial(table, block, row) ? "*" : "";
    add_cell(grid, rt_format("%.1f%s", rt_crossval_mean(table, block, row), star));
    add_cell(grid, rt_format("%.1f%s", rt_crossval_worst(table, block, row, &worst), star));
    add_cell(grid, rt_format("%zu", n));
}

static void make_grid(const struct rt_crossval_table *table, struct grid *grid)
{
    *grid = (struct grid){.columns = table->crossval->column_count + 5};
    add_heading(table, grid);
    for (int row = 0; row < RT_CROSSVAL_ROWS; row++) {
        bool first = true;
        for (size_t b = 0; b < table->block_count; b++)
            if (has_row(table, &table->blocks[b], row)) {
                add_row(table, grid, &table->blocks[b], row, first);
                first = false;
            }
    }
}

/* Aligned; with bars it is a table of Markdown. */
static void print_grid(const struct grid *grid, bool bars, FILE *file)
{
    size_t *width = rt_calloc(grid->columns, sizeof *width);
    for (size_t i = 0; i < grid->count; i++) {
        size_t length = strlen(grid->cell[i]);
        width[i % grid->columns] = length > width[i % grid->columns] ? length : width[i % grid->columns];
    }
    for (size_t r = 0; r < grid->count / grid->columns; r++) {
        for (size_t c = 0; c < grid->columns; c++)
            fprintf(file, c < 2 ? "%s%-*s" : "%s%*s", bars ? (c ? " | " : "| ") : (c ? "  " : ""),
                    (int)width[c], grid->cell[r * grid->columns + c]);
        fputs(bars ? " |\n" : "\n", file);
        for (size_t c = 0; bars && r == 0 && c < grid->columns; c++)
            fprintf(file, "%s%s%s", c ? " " : "| ",
                    c < 2 ? "---" : "--:", c + 1 < grid->columns ? " |" : " |\n");
    }
    free(width);
}

static void grid_release(struct grid *grid)
{
    for (size_t i = 0; i < grid->count; i++)
        free(grid->cell[i]);
    free(grid->cell);
}

/* "A100: NVIDIA A100-PCIE-40GB and NVIDIA A100-SXM4-40GB" for folds of several devices. Free with free(). */
static char *fold_devices(const struct rt_crossval *crossval, const struct rt_fold *fold)
{
    char *text = rt_strdup("");
    for (size_t d = 0; d < crossval->dataset.device_count; d++) {
        if (!fold->devices[d])
            continue;
        char *longer = rt_format("%s%s%s", text, text[0] ? ", " : "", crossval->dataset.devices[d].name);
        free(text);
        text = longer;
    }
    return text;
}

/* --- what a reader must know of the table, a sentence each --- */

static void add_protocol(const struct rt_crossval *crossval, struct rt_names *notes)
{
    static const char *const protocols[RT_LEAVE_COUNT] = {
        "Every column is a GPU that the predictor was not fitted to, nor to any other of the same chip.",
        "Every column is a model. No predictor is fitted to whole models, so one training, on the kernels of "
        "all "
        "GPUs, serves every model; the GPUs were not held out.",
        "Every column is an op that the predictor was not fitted to, judged on all GPUs."};
    const struct rt_crossval_options *options = crossval->options;
    rt_names_add(notes, rt_strdup(protocols[options->leave_out]));
    if (options->leave_out != RT_LEAVE_MODEL)
        rt_names_add(
            notes,
            rt_strdup("Kernels are those of the test part of the data (`--split test`); where a fold has "
                      "none of a family there, those of the validation part."));
    rt_names_add(
        notes, rt_strdup("Numbers are mean absolute percentage errors; mean and worst are over columns, each "
                         "counting once; n is the number of kernels or runs of models."));
}

static bool has_protocol(const struct rt_crossval_table *table, enum rt_protocol protocol)
{
    for (size_t b = 0; b < table->block_count; b++)
        if (table->blocks[b].protocol == protocol)
            return true;
    return false;
}

static void add_calibration(const struct rt_crossval_table *table, struct rt_names *notes)
{
    int64_t kernels = table->crossval->options->calibrate;
    if (has_protocol(table, RT_CALIBRATED))
        rt_names_add(notes,
                     rt_format("Calibrated: after `rooftile calibrate --kernels %" PRId64
                               "` with kernels of the training part of the held-out GPU, none of which is "
                               "judged; without a word: zero-shot.",
                               kernels));
    if (has_protocol(table, RT_CALIBRATED_ALIKE))
        rt_names_add(
            notes,
            rt_format("Calibrated, same kind: after `rooftile calibrate --kernels %" PRId64
                      " --split test`, with kernels of the test part of the held-out GPU, and judged on all "
                      "others of that part; zero-shot (without a word) and all other rows are judged on the "
                      "whole part. Where the validation part is judged: with kernels of the training part, "
                      "which is of its kind.",
                      kernels));
    bool runs = false;
    for (int p = RT_KERNEL_PROTOCOLS; p < RT_PROTOCOL_COUNT; p++)
        runs |= has_protocol(table, (enum rt_protocol)p);
    if (runs)
        rt_names_add(
            notes,
            rt_strdup(
                "Other models' runs: every model is judged after `rooftile calibrate --from models "
                "--without-model NAME`, with the plain runs of all other models on the same GPU, on top "
                "of the kernels where the row says so; one after the other, and the errors of all "
                "together. Where no other model ran on the GPU, without runs. Only plain runs on one "
                "GPU are judged."));
}

static void add_stars(const struct rt_crossval_table *table, struct rt_names *notes)
{
    for (size_t b = 0; b < table->block_count; b++)
        for (int row = 0; row < RT_CROSSVAL_ROWS; row++)
            if (has_row(table, &table->blocks[b], row) && is_partial(table, &table->blocks[b], row)) {
                rt_names_add(notes,
                             rt_strdup("* judged on fewer than another of the same row: of the missing, no "
                                       "forecast could be made, no calibration kernels or no sum of "
                                       "kernels are there. Do not compare these means."));
                return;
            }
}

static void add_floor(const struct rt_crossval_table *table, struct rt_names *notes)
{
    for (size_t b = 0; b < table->block_count; b++)
        for (int row = 0; row < RT_CROSSVAL_ROWS; row++)
            if (strcmp(table->blocks[b].label, "floor") == 0 && has_row(table, &table->blocks[b], row)) {
                rt_names_add(notes,
                             rt_strdup("Floor: the sum of a model's kernels, each measured alone, against "
                                       "its measured time (docs/evaluate.md)."));
                return;
            }
}

static void add_folds(const struct rt_crossval *crossval, struct rt_names *notes)
{
    for (size_t f = 0; f < crossval->fold_count; f++) {
        char *devices = fold_devices(crossval, &crossval->folds[f]);
        if (strstr(devices, ", ") != NULL)
            rt_names_add(notes, rt_format("%s is %s, held out together.", crossval->folds[f].name, devices));
        free(devices);
    }
    if (crossval->left_out != NULL)
        rt_names_add(
            notes, rt_format("No column: %s; its family has no other op to learn from.", crossval->left_out));
}

static void add_failures(const struct rt_crossval *crossval, struct rt_names *notes)
{
    for (size_t u = 0; u < crossval->unit_count; u++) {
        const struct rt_unit *unit = &crossval->units[u];
        const struct rt_fold_step *step;
        char *message;
        if (!rt_unit_failure(unit, &step, &message))
            continue;
        rt_names_add(notes,
                     rt_format("FAILED: %s, %s: %s: %s", unit->fold->name, unit->kind, step->name, message));
        free(message);
    }
}

static void make_notes(const struct rt_crossval_table *table, struct rt_names *notes)
{
    *notes = (struct rt_names){0};
    add_protocol(table->crossval, notes);
    add_calibration(table, notes);
    add_floor(table, notes);
    add_stars(table, notes);
    add_folds(table->crossval, notes);
    add_failures(table->crossval, notes);
}

static void notes_release(struct rt_names *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free((char *)(uintptr_t)notes->name[i]);
    rt_names_release(notes);
}

/* The command as another would give it: without folder and --jobs, the data by its names without folders. */
static char *command_of(const struct rt_crossval *crossval)
{
    const struct rt_crossval_options *o = crossval->options;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (file == NULL)
        abort();
    fprintf(file, "rooftile crossval");
    for (size_t i = 0; i < o->data.count; i++) {
        const char *slash = strrchr(o->data.name[i], '/');
        fprintf(file, " %s", slash != NULL ? slash + 1 : o->data.name[i]);
    }
    fprintf(file, " --leave-out %s", rt_leave_outs[o->leave_out]);
    for (size_t i = 0; i < o->only.count; i++)
        fprintf(file, " --%s \"%s\"", rt_leave_outs[o->leave_out], o->only.name[i]);
    for (size_t i = 0; i < o->kinds.count; i++)
        fprintf(file, " --predictor %s", o->kinds.name[i]);
    for (size_t i = 0; i < o->families.count; i++)
        fprintf(file, " --family %s", o->families.name[i]);
    fprintf(file, " --seed %" PRId64, o->seed);
    if (o->epochs > 0)
        fprintf(file, " --epochs %" PRId64, o->epochs);
    if (o->leave_out == RT_LEAVE_GPU)
        fprintf(file, " --calibrate %" PRId64, o->calibrate);
    for (int p = RT_CALIBRATED; o->protocols[RT_CALIBRATED_ALIKE] && p < RT_KERNEL_PROTOCOLS; p++)
        if (o->protocols[p])
            fprintf(file, " --calibrate-split %s", rt_protocols[p].split);
    if (o->runs)
        fprintf(file, " --calibrate-runs");
    if (o->keep_test)
        fprintf(file, " --keep-test");
    for (size_t i = 0; i < o->train.count; i++)
        fprintf(file, "%s %s", i == 0 ? " --" : "", o->train.name[i]);
    fclose(file);
    return text;
}

void rt_crossval_text(const struct rt_crossval_table *table, FILE *file)
{
    const struct rt_crossval *crossval = table->crossval;
    struct rt_names notes;
    struct grid grid;
    make_grid(table, &grid);
    make_notes(table, &notes);
    formatted(file, "command", command_of(crossval));
    for (size_t i = 0; i < crossval->uuids.count; i++)
        formatted(file, i == 0 ? "data" : "",
                  rt_format("%s, uuid %s", crossval->options->data.name[i], crossval->uuids.name[i]));
    fputc('\n', file);
    print_grid(&grid, false, file);
    fputc('\n', file);
    for (size_t i = 0; i < notes.count; i++)
        labelled(file, i == 0 ? "notes" : "", notes.name[i]);
    notes_release(&notes);
    grid_release(&grid);
}

void rt_crossval_markdown(const struct rt_crossval_table *table, FILE *file)
{
    const struct rt_crossval *crossval = table->crossval;
    struct rt_names notes;
    struct grid grid;
    make_grid(table, &grid);
    make_notes(table, &notes);
    char *command = command_of(crossval);
    fprintf(file, "# Cross-validation, leave one %s out\n\n```\n%s\n```\n\n",
            rt_leave_outs[crossval->options->leave_out], command);
    for (size_t i = 0; i < crossval->uuids.count; i++) {
        char *source = commas(crossval->sources.name[i]), *licence = commas(crossval->licences.name[i]);
        fprintf(file, "- data %s: %s; licence %s\n", crossval->uuids.name[i],
                source[0] ? source : "source unknown", licence[0] ? licence : "unknown");
        free(source);
        free(licence);
    }
    fprintf(file, "- rooftile %s, every fold with one thread\n\n", RT_VERSION);
    print_grid(&grid, true, file);
    fputc('\n', file);
    for (size_t i = 0; i < notes.count; i++)
        fprintf(file, "- %s\n", notes.name[i]);
    free(command);
    notes_release(&notes);
    grid_release(&grid);
}

/* --- for programs --- */

static json_t *row_json(const struct rt_crossval_table *table, const struct rt_crossval_block *block, int row)
{
    json_t *json = json_object(), *folds = json_object();
    int worst_column;
    double worst = rt_crossval_worst(table, block, row, &worst_column);
    for (size_t c = 0; c < table->crossval->column_count; c++) {
        const struct rt_score *score = &block->score[row][c];
        json_t *cell = json_null();
        if (score->n > 0) {
            cell = json_object();
            json_object_set_new(cell, "n", json_integer((json_int_t)score->n));
            json_object_set_new(cell, "calibrated_to", json_integer((json_int_t)score->calibrated_to));
            json_object_set_new(cell, "mape", rt_json_number(score->mape));
            json_object_set_new(cell, "bias", rt_json_number(score->bias));
        }
        json_object_set_new(folds, table->crossval->columns[c], cell);
    }
    json_object_set_new(json, "level", json_string(row < RT_FAMILY_COUNT ? "kernels" : "end to end"));
    json_object_set_new(json, "family",
                        json_string(row < RT_FAMILY_COUNT ? rt_families[row].name
                                                          : rt_workload_kinds[row - RT_FAMILY_COUNT]));
    json_object_set_new(json, "predictor", json_string(block->label));
    json_object_set_new(json, "calibrated", json_boolean(block->protocol != RT_ZERO_SHOT));
    json_object_set_new(json, "calibrate_split",
                        rt_protocols[block->protocol].split != NULL
                            ? json_string(rt_protocols[block->protocol].split)
                            : json_null());
    json_object_set_new(json, "runs", json_boolean(block->protocol >= RT_KERNEL_PROTOCOLS));
    json_object_set_new(json, "mean", rt_json_number(rt_crossval_mean(table, block, row)));
    json_object_set_new(json, "worst", rt_json_number(worst));
    json_object_set_new(json, "worst_fold",
                        worst_column >= 0 ? rt_json_text(table->crossval->columns[worst_column])
                                          : json_null());
    json_object_set_new(json, "folds", folds);
    return json;
}

static json_t *failures_json(const struct rt_crossval *crossval)
{
    json_t *array = json_array();
    for (size_t u = 0; u < crossval->unit_count; u++) {
        const struct rt_unit *unit = &crossval->units[u];
        const struct rt_fold_step *step;
        char *message;
        if (!rt_unit_failure(unit, &step, &message))
            continue;
        json_t *json = json_object();
        json_object_set_new(json, "fold", rt_json_text(unit->fold->name));
        json_object_set_new(json, "predictor", rt_json_text(unit->kind));
        json_object_set_new(json, "step", json_string(step->name));
        json_object_set_new(json, "message", rt_json_text(message));
        json_array_append_new(array, json);
        free(message);
    }
    return array;
}

static json_t *names_json(const struct rt_names *names)
{
    json_t *array = json_array();
    for (size_t i = 0; i < names->count; i++)
        json_array_append_new(array, rt_json_text(names->name[i]));
    return array;
}

json_t *rt_crossval_list_json(const struct rt_crossval *crossval)
{
    json_t *array = json_array();
    for (size_t f = 0; f < crossval->fold_count; f++) {
        const struct rt_fold *fold = &crossval->folds[f];
        json_t *json = json_object(), *devices = json_array();
        size_t test = 0;
        for (size_t d = 0; d < crossval->dataset.device_count; d++)
            if (fold->devices[d])
                json_array_append_new(devices, rt_json_text(crossval->dataset.devices[d].name));
        for (int family = 0; family < RT_FAMILY_COUNT; family++)
            test += fold->kernels[family][RT_PART_TEST];
        json_object_set_new(json, "fold", rt_json_text(fold->name));
        json_object_set_new(json, "held_out_gpus", devices);
        json_object_set_new(json, "held_out_op",
                            fold->op >= 0 ? json_string(rt_ops[fold->op].name) : json_null());
        json_object_set_new(json, "test_kernels", json_integer((json_int_t)test));
        json_object_set_new(json, "workloads", json_integer((json_int_t)fold->workloads));
        json_array_append_new(array, json);
    }
    return array;
}

json_t *rt_crossval_json(const struct rt_crossval_table *table)
{
    const struct rt_crossval *crossval = table->crossval;
    char *command = command_of(crossval);
    json_t *json = json_object(), *rows = json_array();
    for (int row = 0; row < RT_CROSSVAL_ROWS; row++)
        for (size_t b = 0; b < table->block_count; b++)
            if (has_row(table, &table->blocks[b], row))
                json_array_append_new(rows, row_json(table, &table->blocks[b], row));
    json_object_set_new(json, "leave_out", json_string(rt_leave_outs[crossval->options->leave_out]));
    json_object_set_new(json, "command", rt_json_text(command));
    json_object_set_new(json, "rooftile", json_string(RT_VERSION));
    json_object_set_new(json, "data_uuids", names_json(&crossval->uuids));
    json_object_set_new(json, "data_sources", names_json(&crossval->sources));
    json_object_set_new(json, "data_licences", names_json(&crossval->licences));
    json_object_set_new(json, "folds", rt_crossval_list_json(crossval));
    json_object_set_new(json, "rows", rows);
    json_object_set_new(json, "failed", failures_json(crossval));
    free(command);
    return json;
}

/* --- the plan --- */

static const struct rt_column list_columns[] = {
    {"fold", NULL, 's', 0},
    {"held_out", "held out", 's', 0},
    {"test_kernels", "test kernels", 'd', 0},
    {"workloads", NULL, 'd', 0},
};

void rt_crossval_list(const struct rt_crossval *crossval, FILE *file)
{
    struct rt_table *list = rt_table_new(list_columns, RT_COUNT(list_columns));
    for (size_t f = 0; f < crossval->fold_count; f++) {
        const struct rt_fold *fold = &crossval->folds[f];
        char *devices = fold->op >= 0 ? rt_strdup(fold->name) : fold_devices(crossval, fold);
        long long test = 0;
        for (int family = 0; family < RT_FAMILY_COUNT; family++)
            test += (long long)fold->kernels[family][RT_PART_TEST];
        rt_table_row(list, fold->name, devices[0] ? devices : NULL, test, (long long)fold->workloads);
        free(devices);
    }
    rt_table_text(list, file);
    rt_table_free(list);
    for (size_t c = 0; crossval->options->leave_out == RT_LEAVE_MODEL && c < crossval->column_count; c++)
        fprintf(file, "%s%s%s", c == 0 ? "\nmodels: " : ", ", crossval->columns[c],
                c + 1 == crossval->column_count ? "\n" : "");
    for (size_t u = 0; u < crossval->unit_count; u++) {
        const struct rt_unit *unit = &crossval->units[u];
        fprintf(file, "%s%s/:", u == 0 ? "\n" : "", unit->folder);
        for (size_t s = 0; s < unit->step_count; s++)
            fprintf(file, " %s", unit->steps[s].output);
        fputc('\n', file);
    }
    if (crossval->left_out != NULL)
        fprintf(file, "\nno fold: %s; its family has no other op to learn from\n", crossval->left_out);
}
