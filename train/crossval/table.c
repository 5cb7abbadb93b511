/* Fold files as one table. See table.h. */
#include "train/crossval/table.h"
#include "base/status.h"
#include "train/crossval/fold_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- blocks --- */

static void add_block(struct rt_crossval_table *table, const char *label, enum rt_protocol protocol)
{
    for (size_t b = 0; b < table->block_count; b++)
        if (strcmp(table->blocks[b].label, label) == 0 && table->blocks[b].protocol == protocol)
            return;
    table->blocks = rt_realloc(table->blocks, table->block_count + 1, sizeof *table->blocks);
    struct rt_crossval_block *block = &table->blocks[table->block_count++];
    *block = (struct rt_crossval_block){.label = label, .protocol = protocol};
    for (int row = 0; row < RT_CROSSVAL_ROWS; row++)
        block->score[row] = rt_calloc(table->crossval->column_count, sizeof(struct rt_score));
}

static void release_block(struct rt_crossval_block *block)
{
    for (int row = 0; row < RT_CROSSVAL_ROWS; row++)
        free(block->score[row]);
}

/* Every kind by every protocol, the roofline and, of whole models, the additive floor. */
static void add_blocks(struct rt_crossval_table *table)
{
    const struct rt_names *kinds = &table->crossval->options->kinds;
    for (size_t k = 0; k < kinds->count; k++)
        for (int p = 0; p < RT_PROTOCOL_COUNT; p++)
            add_block(table, kinds->name[k], (enum rt_protocol)p);
    add_block(table, "roofline", RT_ZERO_SHOT);
    add_block(table, "floor", RT_ZERO_SHOT);
}

static void drop_empty_blocks(struct rt_crossval_table *table)
{
    size_t kept = 0;
    for (size_t b = 0; b < table->block_count; b++) {
        bool some = false;
        for (int row = 0; row < RT_CROSSVAL_ROWS; row++)
            some |= rt_crossval_has(table, &table->blocks[b], row);
        if (some)
            table->blocks[kept++] = table->blocks[b];
        else
            release_block(&table->blocks[b]);
    }
    table->block_count = kept;
}

/* --- rows of fold files --- */

static int find_row(const struct rt_fold_row *from)
{
    int family = strcmp(from->level, "kernels") == 0 ? rt_family_find(from->row) : -1;
    for (int kind = 0; family < 0 && kind < RT_KIND_COUNT; kind++)
        if (strcmp(from->row, rt_workload_kinds[kind]) == 0)
            return RT_FAMILY_COUNT + kind;
    return family;
}

/* A fold's column, or that of the model where models are left out; -1: a model that was not asked for. */
static int find_column(const struct rt_crossval *crossval, const struct rt_unit *unit, const char *model)
{
    if (crossval->options->leave_out != RT_LEAVE_MODEL)
        return (int)(unit->fold - crossval->folds);
    for (size_t c = 0; c < crossval->column_count; c++)
        if (strcmp(crossval->columns[c], model) == 0)
            return (int)c;
    return -1;
}

/* Where the roofline stands beside several kinds, it is that of the first. */
static void add_row(struct rt_crossval_table *table, const struct rt_unit *unit,
                    const struct rt_fold_row *from)
{
    int row = find_row(from), column = find_column(table->crossval, unit, from->of);
    for (size_t b = 0; b < table->block_count && row >= 0 && column >= 0; b++) {
        struct rt_crossval_block *block = &table->blocks[b];
        struct rt_score *score = &block->score[row][column];
        if (strcmp(block->label, from->predictor) != 0 || block->protocol != from->protocol ||
            (score->unit != NULL && score->unit != unit))
            continue;
        score->unit = unit;
        score->calibrated_to += from->calibrated_to;
        if (from->n == 0 || isnan(from->mape))
            continue;
        score->n += from->n;
        score->mape += (double)from->n * from->mape;
        score->bias += (double)from->n * from->bias;
        score->coverage90 += (double)from->n * from->coverage90;
        score->width90 += (double)from->n * from->width90;
    }
}

static void add_failure(struct rt_crossval_table *table, const struct rt_unit *unit, const char *why)
{
    table->failures = rt_realloc(table->failures, table->failure_count + 1, sizeof *table->failures);
    table->failures[table->failure_count++] = (struct rt_crossval_failure){unit, rt_strdup(why)};
}

static int read_unit(struct rt_crossval_table *table, const struct rt_unit *unit)
{
    json_t *file, *json;
    size_t i;
    int status = rt_fold_file_read(table->crossval, unit, &file);
    if (status != RT_OK)
        return status;
    if (file == NULL)
        table->missing++;
    else if (rt_fold_file_failure(file) != NULL)
        add_failure(table, unit, rt_fold_file_failure(file));
    json_array_foreach(json_object_get(file, "rows"), i, json)
    {
        struct rt_fold_row row;
        if ((status = rt_fold_row_read(json, &row)) != RT_OK) {
            rt_fail_context(status, "%s/fold.json", unit->folder);
            break;
        }
        add_row(table, unit, &row);
    }
    json_decref(file);
    return status;
}

/* --- the table --- */

static void finish_block(struct rt_crossval_block *block, size_t columns)
{
    for (int row = 0; row < RT_CROSSVAL_ROWS; row++)
        for (size_t c = 0; c < columns; c++) {
            struct rt_score *score = &block->score[row][c];
            double n = score->n > 0 ? (double)score->n : NAN;
            score->mape /= n;
            score->bias /= n;
            score->coverage90 /= n;
            score->width90 /= n;
        }
}

int rt_crossval_collect(const struct rt_crossval *crossval, struct rt_crossval_table *out)
{
    struct rt_crossval_table table = {.crossval = crossval};
    int status = RT_OK;
    add_blocks(&table);
    for (size_t u = 0; status == RT_OK && u < crossval->unit_count; u++)
        status = read_unit(&table, &crossval->units[u]);
    for (size_t b = 0; b < table.block_count; b++)
        finish_block(&table.blocks[b], crossval->column_count);
    drop_empty_blocks(&table);
    if (status == RT_OK)
        *out = table;
    else
        rt_crossval_table_release(&table);
    return status;
}

void rt_crossval_table_release(struct rt_crossval_table *table)
{
    for (size_t b = 0; b < table->block_count; b++)
        release_block(&table->blocks[b]);
    for (size_t f = 0; f < table->failure_count; f++)
        free(table->failures[f].why);
    free(table->blocks);
    free(table->failures);
    *table = (struct rt_crossval_table){0};
}

bool rt_crossval_has(const struct rt_crossval_table *table, const struct rt_crossval_block *block, int row)
{
    return !isnan(rt_crossval_mean(table, block, row));
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

/* With the kernels that it was calibrated to: it does not lack those. */
static size_t judged(const struct rt_crossval_block *block, int row, size_t column)
{
    const struct rt_score *score = &block->score[row][column];
    return score->n > 0 ? score->n + score->calibrated_to : 0;
}

/* The largest number of any block; the additive floor only exists for some runs. */
static size_t most_judged(const struct rt_crossval_table *table, int row, size_t column)
{
    size_t most = 0;
    for (size_t b = 0; b < table->block_count; b++) {
        size_t n = judged(&table->blocks[b], row, column);
        most = n > most && strcmp(table->blocks[b].label, "floor") != 0 ? n : most;
    }
    return most;
}

bool rt_crossval_has_fewer(const struct rt_crossval_table *table, const struct rt_crossval_block *block,
                           int row, size_t column)
{
    return judged(block, row, column) < most_judged(table, row, column);
}

bool rt_crossval_is_partial(const struct rt_crossval_table *table, const struct rt_crossval_block *block,
                            int row)
{
    for (size_t c = 0; c < table->crossval->column_count; c++)
        if (rt_crossval_has_fewer(table, block, row, c))
            return true;
    return false;
}

const char *rt_crossval_row_name(int row)
{
    static const char *const models[] = {
        [RT_KIND_INFERENCE] = "end to end inference",   [RT_KIND_TRAINING] = "end to end training",
        [RT_KIND_FUSION] = "end to end fusion",         [RT_KIND_DISTRIBUTED] = "end to end distributed",
        [RT_KIND_PREFILL] = "end to end prefill",       [RT_KIND_DECODE] = "end to end decode",
        [RT_KIND_GENERATION] = "end to end generation",
    };
    _Static_assert(RT_COUNT(models) == RT_KIND_COUNT, "a name for every kind");
    return row < RT_FAMILY_COUNT ? rt_families[row].name : models[row - RT_FAMILY_COUNT];
}
