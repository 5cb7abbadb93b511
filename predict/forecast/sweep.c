/* Several forecasts: a row for each, and their warnings. See prediction.h. */
#include "base/status.h"
#include "base/text.h"
#include "predict/forecast/prediction.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double GIB = 1073741824.0;

/* --- the table --- */

/* Columns of a sweep by place. */
enum { SWEEP_SEQUENCE = 2, SWEEP_LOW = 11 };
static const struct rt_column sweep_columns[] = {
    {"gpu", NULL, 's', 0},
    {"batch", NULL, 'd', 0},
    {"sequence", NULL, 'd', 0},
    {"total_ms", "ms", 'f', 3},
    {"forward_ms", "forward", 'f', 3},
    {"backward_ms", "backward", 'f', 3},
    {"tokens_per_s", "tokens/s", 'f', 0},
    {"coverage_pct", "coverage %", 'f', 1},
    {"memory_gib", "GiB", 'f', 1},
    {"fits", NULL, 's', 0},
    {"gpu_seen_pct", "GPU seen %", 'f', 0},
    {"interval_low_ms", "from", 'f', 3},
    {"interval_high_ms", "to", 'f', 3},
};

/* Decoding: the context instead of the sequence. The interval's columns say its level. */
static struct rt_table *sweep_table(const struct rt_graph_options *options, double level)
{
    struct rt_column columns[RT_COUNT(sweep_columns)];
    memcpy(columns, sweep_columns, sizeof columns);
    if (options->step == RT_STEP_DECODE)
        columns[SWEEP_SEQUENCE] = (struct rt_column){"context", NULL, 'd', 0};
    char *low = rt_format("%g%% from", 100 * level);
    columns[SWEEP_LOW].title = low;
    struct rt_table *table = rt_table_new(columns, level > 0 ? RT_COUNT(columns) : SWEEP_LOW);
    free(low);
    return table;
}

/* A row without a forecast: "-" from its time on. */
static void add_refused(struct rt_table *table, const struct rt_prediction *p, const char *gpu,
                        int64_t tokens)
{
    rt_table_row(table, gpu, (long long)p->batch, (long long)tokens, NAN, NAN, NAN, NAN, NAN, NAN, NULL, NAN,
                 NAN, NAN);
}

static struct rt_table *rows_table(const struct rt_prediction *predictions, size_t count)
{
    struct rt_table *table =
        sweep_table(&predictions[0].graph.options, predictions[0].forecast.options.level);
    for (size_t i = 0; i < count; i++) {
        const struct rt_prediction *p = &predictions[i];
        const struct rt_forecast *f = &p->forecast;
        const struct rt_graph_options *o = &p->graph.options;
        char *gpu = rt_prediction_gpu(p);
        int64_t tokens = o->step == RT_STEP_DECODE ? o->context : p->sequence;
        if (p->refused != NULL)
            add_refused(table, p, gpu, tokens);
        else
            rt_table_row(table, gpu, (long long)p->batch, (long long)tokens, f->total_us / 1e3,
                         f->forward_us / 1e3, f->backward_us / 1e3, rt_prediction_tokens_per_second(p),
                         100 * f->coverage, f->memory.total / GIB, rt_forecast_fits(f) ? "yes" : "no",
                         rt_prediction_seen_pct(p), f->interval_low_us / 1e3, f->interval_high_us / 1e3);
        free(gpu);
    }
    return table;
}

/* --- the report --- */

static json_t *row_json(const struct rt_prediction *p)
{
    if (p->refused != NULL)
        return json_pack("{s:o, s:o, s:o, s:I, s:I, s:s, s:o}", "model", rt_json_text(p->model), "gpu",
                         rt_json_text(p->device.name), "gpu_changes", rt_json_text(p->gpu_changes), "batch",
                         (json_int_t)p->batch, "sequence", (json_int_t)p->sequence, "dtype",
                         rt_dtypes[p->graph.products].name, "error", rt_json_text(p->refused));
    struct rt_report *report = rt_prediction_report(p);
    json_t *json = rt_report_json(report);
    rt_report_free(report);
    return json;
}

/* Each reason once: rows of one GPU have the same. */
static void add_reasons(struct rt_report *report, const struct rt_prediction *predictions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *reason = predictions[i].refused, *last = i > 0 ? predictions[i - 1].refused : NULL;
        if (reason != NULL && (last == NULL || strcmp(reason, last) != 0))
            rt_report_add_note(report, NULL, "%s", reason);
    }
}

struct rt_report *rt_prediction_sweep(const struct rt_prediction *predictions, size_t count, bool json)
{
    struct rt_report *report = rt_report_new();
    json_t *all = json_array();
    for (size_t i = 0; json && i < count; i++)
        json_array_append_new(all, row_json(&predictions[i]));
    rt_report_add_json(report, "", all);
    rt_report_add_title(report, "%s, %s, by %s", predictions[0].model,
                        rt_steps[predictions[0].graph.options.step], predictions[0].predictor_name);
    rt_report_add_table(report, NULL, "", rows_table(predictions, count));
    add_reasons(report, predictions, count);
    return report;
}

/* --- warnings --- */

/* "NVIDIA L4, batch 8, sequence 128: ": what of a row differs from others. */
static char *row_words(const struct rt_prediction *predictions, size_t count, size_t row)
{
    const struct rt_prediction *p = &predictions[row];
    bool gpus = false, batches = false, sequences = false;
    struct rt_text words = {0};
    for (size_t i = 0; i < count; i++) {
        gpus |= strcmp(predictions[i].device.name, p->device.name) != 0 ||
                predictions[i].gpu_changes != p->gpu_changes; /* of the same --gpu, the same text */
        batches |= predictions[i].batch != p->batch;
        sequences |= predictions[i].sequence != p->sequence;
    }
    char *gpu = rt_prediction_gpu(p);
    if (gpus || (!batches && !sequences))
        rt_text_item(&words, ", ", "%s", gpu);
    free(gpu);
    if (batches)
        rt_text_item(&words, ", ", "batch %" PRId64, p->batch);
    if (sequences)
        rt_text_item(&words, ", ", "sequence %" PRId64, p->sequence);
    return rt_text_take(&words);
}

/* One reason: the sentence of the first row that has it. */
static void warn_of(const struct rt_prediction *predictions, size_t count, enum rt_warning warning)
{
    char *sentence = NULL;
    size_t first = 0, rows = 0;
    bool same = true;
    for (size_t i = 0; i < count; i++) {
        char *other = rt_prediction_warning(&predictions[i], warning);
        if (other == NULL)
            continue;
        same &= sentence == NULL || strcmp(sentence, other) == 0;
        if (rows++ == 0) {
            first = i;
            sentence = other;
        } else {
            free(other);
        }
    }
    char *words = row_words(predictions, count, first);
    if (rows == count && same)
        rt_warn("%s", sentence);
    else if (rows == 1)
        rt_warn("%s: %s", words, sentence);
    else if (rows > 1)
        rt_warn("%s and %zu more rows: %s", words, rows - 1, sentence);
    free(words);
    free(sentence);
}

void rt_prediction_warn(const struct rt_prediction *predictions, size_t count)
{
    for (int warning = 0; warning < RT_WARNING_COUNT; warning++)
        warn_of(predictions, count, (enum rt_warning)warning);
}
