/* The evaluations of all units as one table. See crossval.h. */
#include "predict/crossval/crossval.h"
#include "base/file.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EVALUATION_LIMIT ((size_t)1 << 28)

const char *rt_crossval_row_name(int row)
{
    static const char *const models[RT_KIND_COUNT] = {"end to end inference", "end to end training",
                                                      "end to end fusion", "end to end distributed"};
    return row < RT_FAMILY_COUNT ? rt_families[row].name : models[row - RT_FAMILY_COUNT];
}

/* --- blocks --- */

static struct rt_crossval_block *add_block(struct rt_crossval_table *table, const char *label,
                                           enum rt_protocol protocol, bool baseline)
{
    table->blocks = rt_realloc(table->blocks, table->block_count + 1, sizeof *table->blocks);
    struct rt_crossval_block *block = &table->blocks[table->block_count++];
    *block = (struct rt_crossval_block){.label = label, .protocol = protocol, .baseline = baseline};
    for (int row = 0; row < RT_CROSSVAL_ROWS; row++)
        block->score[row] = rt_calloc(table->crossval->column_count, sizeof(struct rt_score));
    return block;
}

static struct rt_crossval_block *find_block(const struct rt_crossval_table *table, const char *label,
                                            enum rt_protocol protocol)
{
    for (size_t b = 0; b < table->block_count; b++)
        if (strcmp(table->blocks[b].label, label) == 0 && table->blocks[b].protocol == protocol)
            return &table->blocks[b];
    return NULL;
}

static bool any_unit_has(const struct rt_crossval *crossval, const char *kind, const char *step)
{
    for (size_t u = 0; u < crossval->unit_count; u++)
        if (strcmp(crossval->units[u].kind, kind) == 0 && rt_unit_step(&crossval->units[u], step) != NULL)
            return true;
    return false;
}

/* The name of evaluation `number` (from 1) of a protocol with runs. Free with free(). */
static char *evaluation_of_runs(int protocol, size_t number)
{
    return rt_format("%sworkloads-%zu", rt_protocols[protocol].outputs, number);
}

/* A block for each kind, one for each way it was calibrated, the roofline and, of whole models, the floor. */
static void add_blocks(struct rt_crossval_table *table)
{
    const struct rt_crossval *crossval = table->crossval;
    for (size_t k = 0; k < crossval->options->kinds.count; k++) {
        const char *kind = crossval->options->kinds.name[k];
        add_block(table, kind, RT_ZERO_SHOT, strcmp(kind, "roofline") == 0);
        for (int p = RT_CALIBRATED; p < RT_PROTOCOL_COUNT; p++) {
            char *first =
                p < RT_KERNEL_PROTOCOLS ? rt_strdup(rt_protocols[p].step) : evaluation_of_runs(p, 1);
            if (any_unit_has(crossval, kind, first))
                add_block(table, kind, (enum rt_protocol)p, false);
            free(first);
        }
    }
    if (find_block(table, "roofline", RT_ZERO_SHOT) == NULL)
        add_block(table, "roofline", RT_ZERO_SHOT, true);
    add_block(table, "floor", RT_ZERO_SHOT, true);
}

/* --- evaluations --- */

static void add_errors(struct rt_score *score, double n, double mape, double bias)
{
    if (!(n > 0) || isnan(mape))
        return;
    score->n += (size_t)n;
    score->mape += n * mape;
    score->bias += n * bias;
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static size_t column_of_fold(const struct rt_crossval *crossval, const struct rt_fold *fold)
{
    return (size_t)(fold - crossval->folds);
}

/* Where the roofline stands beside several kinds, the first that has a number speaks for it. */
struct reading {
    struct rt_crossval_table *table;
    const struct rt_unit *unit;
    const struct rt_fold_step *step;
    struct rt_crossval_block *own, *roofline, *floor; /* NULL: not to be filled */
    const json_t *report;
};

static bool is_free(const struct rt_crossval_block *block, int row, size_t column)
{
    return block != NULL && block->score[row][column].n == 0;
}

/* Kernels that the predictor was calibrated to: evaluate leaves them out. */
static void read_left_out(const struct reading *reading, size_t column)
{
    json_t *ops = json_object_get(json_object_get(reading->report, "skipped_ops"), "calibrated"), *count;
    const char *name;
    json_object_foreach(ops, name, count)
    {
        int op = rt_op_find(name);
        if (op >= 0 && json_integer_value(count) > 0)
            reading->own->score[rt_ops[op].family][column].calibrated_to += (size_t)json_integer_value(count);
    }
}

static int read_kernels(struct reading *reading)
{
    const json_t *rows = json_object_get(reading->report, "rows");
    const char *label = text_of(json_object_get(reading->report, "predictor"), "label");
    size_t column = column_of_fold(reading->table->crossval, reading->unit->fold), i;
    bool free_row[RT_CROSSVAL_ROWS];
    json_t *row;
    for (int r = 0; r < RT_CROSSVAL_ROWS; r++)
        free_row[r] = is_free(reading->roofline, r, column);
    json_array_foreach(rows, i, row)
    {
        int op = rt_op_find(text_of(row, "op"));
        struct rt_crossval_block *block = strcmp(text_of(row, "predictor"), label) == 0 ? reading->own
                                          : strcmp(text_of(row, "predictor"), "roofline") == 0
                                              ? reading->roofline
                                              : NULL;
        if (op < 0 || block == NULL || (block != reading->own && !free_row[rt_ops[op].family]))
            continue;
        add_errors(&block->score[rt_ops[op].family][column], number_of(row, "n"), number_of(row, "mape"),
                   number_of(row, "bias"));
    }
    read_left_out(reading, column);
    return json_is_array(rows) ? RT_OK : RT_EFORMAT;
}

static int column_of_workload(const struct reading *reading, const json_t *row)
{
    const struct rt_crossval *crossval = reading->table->crossval;
    if (crossval->options->leave_out != RT_LEAVE_MODEL)
        return (int)column_of_fold(crossval, reading->unit->fold);
    for (size_t c = 0; c < crossval->column_count; c++)
        if (strcmp(text_of(row, "model"), crossval->columns[c]) == 0)
            return (int)c;
    return -1; /* not asked for */
}

static int row_of_workload(const json_t *row)
{
    for (int kind = 0; kind < RT_KIND_COUNT; kind++)
        if (strcmp(text_of(row, "kind"), rt_workload_kinds[kind]) == 0)
            return RT_FAMILY_COUNT + kind;
    return -1;
}

/* Is the run one that the step is about? `evaluate` takes parts of names, and other options of a model. */
static bool is_asked(const struct reading *reading, const json_t *row)
{
    const struct rt_fold_step *step = reading->step;
    const struct rt_device *devices = reading->table->crossval->dataset.devices;
    return step->model == NULL ||
           (strcmp(text_of(row, "model"), step->model) == 0 && strcmp(text_of(row, "option"), "plain") == 0 &&
            (step->device < 0 || strcmp(text_of(row, "device"), devices[step->device].name) == 0));
}

static void add_workload(struct rt_crossval_block *block, int row, int column, double error)
{
    if (block != NULL)
        add_errors(&block->score[row][column], 1, fabs(error), error);
}

static int read_workloads(struct reading *reading)
{
    const json_t *rows = json_object_get(reading->report, "rows");
    size_t columns = reading->table->crossval->column_count, i;
    bool *free_roofline = rt_calloc(RT_CROSSVAL_ROWS * columns, sizeof *free_roofline);
    bool *free_dispatch = rt_calloc(RT_CROSSVAL_ROWS * columns, sizeof *free_dispatch);
    json_t *row;
    for (int r = 0; r < RT_CROSSVAL_ROWS; r++)
        for (size_t c = 0; c < columns; c++) {
            free_roofline[(size_t)r * columns + c] = is_free(reading->roofline, r, c);
            free_dispatch[(size_t)r * columns + c] = is_free(reading->floor, r, c);
        }
    json_array_foreach(rows, i, row)
    {
        int r = row_of_workload(row), c = column_of_workload(reading, row);
        if (r < 0 || c < 0 || !is_asked(reading, row))
            continue;
        add_workload(reading->own, r, c, number_of(row, "error_pct"));
        if (free_roofline[(size_t)r * columns + (size_t)c])
            add_workload(reading->roofline, r, c, number_of(json_object_get(row, "errors_pct"), "roofline"));
        if (free_dispatch[(size_t)r * columns + (size_t)c])
            add_workload(reading->floor, r, c, number_of(row, "floor_pct"));
    }
    free(free_roofline);
    free(free_dispatch);
    return json_is_array(rows) ? RT_OK : RT_EFORMAT;
}

/* Reads one evaluation. */
static int read_step(struct rt_crossval_table *table, const struct rt_unit *unit,
                     const struct rt_fold_step *step, enum rt_protocol protocol,
                     int (*read)(struct reading *reading))
{
    struct reading reading = {
        .table = table, .unit = unit, .step = step, .own = find_block(table, unit->kind, protocol)};
    char *path = rt_fold_step_path(unit, step), *text = NULL;
    json_error_t error;
    json_t *report = NULL;
    size_t size = 0;
    int status = RT_OK;
    if (protocol == RT_ZERO_SHOT) {
        reading.floor = find_block(table, "floor", RT_ZERO_SHOT);
        reading.roofline = find_block(table, "roofline", RT_ZERO_SHOT);
        if (reading.roofline == reading.own)
            reading.roofline = NULL;
    }
    if (rt_file_read(path, EVALUATION_LIMIT, &text, &size) != RT_OK)
        goto done; /* a step that failed: told elsewhere */
    reading.report = report = json_loadb(text, size, 0, &error);
    if (report == NULL)
        status = rt_fail(RT_EFORMAT, "%s:%d: is damaged: %s; --overwrite makes it again", path, error.line,
                         error.text);
    else if ((status = read(&reading)) != RT_OK)
        status = rt_fail(RT_EFORMAT, "%s: is no evaluation; --overwrite makes it again", path);
done:
    json_decref(report);
    free(path);
    free(text);
    return status;
}

/* The evaluations of kernels and of whole models, where the unit has them. */
static int read_unit(struct rt_crossval_table *table, const struct rt_unit *unit, enum rt_protocol protocol)
{
    static const struct {
        const char *what;
        int (*read)(struct reading *reading);
    } evaluations[] = {
        {"kernels", read_kernels},
        {"validation", read_kernels},
        {"workloads", read_workloads},
    };
    int status = RT_OK;
    for (size_t e = 0; status == RT_OK && e < RT_COUNT(evaluations); e++) {
        char *name = rt_format("%s%s", rt_protocols[protocol].outputs, evaluations[e].what);
        const struct rt_fold_step *step = rt_unit_step(unit, name);
        if (step != NULL)
            status = read_step(table, unit, step, protocol, evaluations[e].read);
        free(name);
    }
    return status;
}

/* Model by model. */
static int read_unit_runs(struct rt_crossval_table *table, const struct rt_unit *unit,
                          enum rt_protocol protocol)
{
    int status = RT_OK;
    const struct rt_fold_step *step = unit->steps;
    for (size_t number = 1; status == RT_OK && step != NULL; number++) {
        char *name = evaluation_of_runs((int)protocol, number);
        step = rt_unit_step(unit, name);
        if (step != NULL)
            status = read_step(table, unit, step, protocol, read_workloads);
        free(name);
    }
    return status;
}

static void finish_block(struct rt_crossval_block *block, size_t columns)
{
    for (int row = 0; row < RT_CROSSVAL_ROWS; row++)
        for (size_t c = 0; c < columns; c++) {
            struct rt_score *score = &block->score[row][c];
            double n = score->n > 0 ? (double)score->n : NAN;
            score->mape /= n;
            score->bias /= n;
        }
}

int rt_crossval_collect(const struct rt_crossval *crossval, struct rt_crossval_table *out)
{
    struct rt_crossval_table table = {.crossval = crossval};
    int status = RT_OK;
    add_blocks(&table);
    for (size_t u = 0; u < crossval->unit_count; u++)
        for (int protocol = 0; status == RT_OK && protocol < RT_PROTOCOL_COUNT; protocol++)
            status = (protocol < RT_KERNEL_PROTOCOLS ? read_unit : read_unit_runs)(
                &table, &crossval->units[u], (enum rt_protocol)protocol);
    for (size_t b = 0; b < table.block_count; b++)
        finish_block(&table.blocks[b], crossval->column_count);
    if (status == RT_OK)
        *out = table;
    else
        rt_crossval_table_release(&table);
    return status;
}

void rt_crossval_table_release(struct rt_crossval_table *table)
{
    for (size_t b = 0; b < table->block_count; b++)
        for (int row = 0; row < RT_CROSSVAL_ROWS; row++)
            free(table->blocks[b].score[row]);
    free(table->blocks);
    *table = (struct rt_crossval_table){0};
}

double rt_crossval_mean(const struct rt_crossval_table *table, const struct rt_crossval_block *block, int row)
{
    double sum = 0;
    size_t count = 0;
    for (size_t c = 0; c < table->crossval->column_count; c++)
        if (block->score[row][c].n > 0) {
            sum += block->score[row][c].mape;
            count++;
        }
    return count > 0 ? sum / (double)count : NAN;
}

double rt_crossval_worst(const struct rt_crossval_table *table, const struct rt_crossval_block *block,
                         int row, int *column)
{
    double worst = NAN;
    *column = -1;
    for (size_t c = 0; c < table->crossval->column_count; c++)
        if (block->score[row][c].n > 0 && !(block->score[row][c].mape <= worst)) {
            worst = block->score[row][c].mape;
            *column = (int)c;
        }
    return worst;
}
