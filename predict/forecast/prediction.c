/* A forecast as text, JSON and table rows. See prediction.h. */
#include "predict/forecast/prediction.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double GIB = 1073741824.0;
static const double TELLING_SHARE = 0.05; /* of the time, from which on a doubt is told */
enum { FEW_GPUS = 3 };
enum { HEAVIEST = 10, MAX_ROWS = RT_OP_COUNT * RT_TIME_SOURCE_COUNT };

double rt_prediction_tokens(const struct rt_prediction *prediction)
{
    bool decode = prediction->graph.options.step == RT_STEP_DECODE;
    return (double)prediction->batch * (decode ? 1 : (double)prediction->sequence);
}

static double tokens_per_second(const struct rt_prediction *prediction)
{
    return rt_prediction_tokens(prediction) / (prediction->forecast.total_us / 1e6);
}

/* --- what a reader should know --- */

/* The family's net that serves the model. */
static const struct rt_family_net *net_of(const struct rt_prediction *prediction, enum rt_family family)
{
    const struct rt_forecast *forecast = &prediction->forecast;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        enum rt_op_id op = forecast->launches[i].kernel.call.op;
        if (rt_ops[op].family == family)
            return rt_predictor_net(prediction->predictor, op, forecast->graph->options.dtype);
    }
    return NULL;
}

/* "softmax 2, moe 1": families with few GPUs behind the widths of their intervals, with a share of the time
 * that counts. */
static char *few_words(const struct rt_prediction *prediction)
{
    const struct rt_forecast *forecast = &prediction->forecast;
    double time_us[RT_FAMILY_COUNT] = {0}, sum = 0;
    char *words = rt_strdup("");
    for (size_t i = 0; i < forecast->launch_count; i++) {
        double time = rt_forecast_launch_total(forecast, &forecast->launches[i]);
        time_us[rt_call_family(&forecast->launches[i].kernel.call)] += time;
        sum += time;
    }
    for (int f = 0; f < RT_FAMILY_COUNT; f++) {
        const struct rt_family_net *net = net_of(prediction, (enum rt_family)f);
        if (net == NULL || !rt_heads[net->head].effects || net->effects.count >= FEW_GPUS ||
            time_us[f] < TELLING_SHARE * sum)
            continue;
        char *longer = rt_format("%s%s%s %zu", words, words[0] != '\0' ? ", " : "", rt_families[f].name,
                                 net->effects.count);
        free(words);
        words = longer;
    }
    return words;
}

/* Where the forecast reaches beyond what was measured. */
static size_t add_doubts(const struct rt_prediction *prediction, char *warnings[RT_MAX_WARNINGS],
                         size_t count)
{
    enum rt_family family = RT_FAMILY_LINEAR;
    int feature = 0;
    double beyond = rt_forecast_beyond(&prediction->forecast, prediction->predictor, &family, &feature);
    if (beyond >= TELLING_SHARE)
        warnings[count++] =
            rt_format("%.0f%% of the time is in kernels beyond what the predictor was fitted to (%s: %s)",
                      100 * beyond, rt_families[family].name, rt_features[feature].name);
    char *few = few_words(prediction);
    if (few[0] != '\0')
        warnings[count++] = rt_format("few GPUs were measured for some families, so nobody knows how far "
                                      "others differ (%s)",
                                      few);
    free(few);
    return count;
}

/* NeuSight's training runs that need 0.81, 0.88 and 0.91 of an MI210: the first and the last spend 700 and
 * 540 ms more in the forward pass than their kernels take. Runs that need less than 0.55 do not. */
static bool tight(const struct rt_forecast *forecast)
{
    return forecast->graph->options.step == RT_STEP_TRAINING &&
           forecast->memory.total > 0.75 * forecast->memory_bytes;
}

size_t rt_prediction_warnings(const struct rt_prediction *prediction, char *warnings[RT_MAX_WARNINGS])
{
    const struct rt_forecast *forecast = &prediction->forecast;
    const struct rt_predictor *predictor = prediction->predictor;
    size_t count = 0;
    if (!rt_forecast_fits(forecast))
        warnings[count++] =
            rt_format("does not fit: the step needs %.1f GiB and %s has %.1f GiB",
                      forecast->memory.total / GIB, prediction->device.name, forecast->memory_bytes / GIB);
    else if (tight(forecast))
        warnings[count++] =
            rt_format("memory is tight: a training step needs %.1f of %.1f GiB, and where the "
                      "allocator frees and maps memory in every step it takes longer than "
                      "told (of three such runs that were measured, two: 1.3 and 1.6 times)",
                      forecast->memory.total / GIB, forecast->memory_bytes / GIB);
    if (prediction->overlong)
        warnings[count++] = rt_format("%s has fewer positions than the sequence has tokens; the time is told "
                                      "all the same, the model would not run so",
                                      prediction->model);
    if (!predictor->complete)
        warnings[count++] =
            rt_format("%s is unfinished: its training was interrupted", prediction->predictor_name);
    if (forecast->source_us[RT_TIME_ROOFLINE] > 0 && rt_predictor_is_fitted(predictor))
        warnings[count++] = rt_format("--fallback: part of the time is the bare roofline, which is a lower "
                                      "bound, not a forecast");
    return add_doubts(prediction, warnings, count);
}

/* "where 2.1%, copy 0.8%": ops without a trained network, with their share of the time. */
static char *fallback_words(const struct rt_forecast_row *rows, size_t count)
{
    char *words = rt_strdup("");
    for (size_t r = 0; r < count; r++) {
        if (rows[r].source == RT_TIME_TRAINED || rows[r].source == RT_TIME_LINK)
            continue;
        char *longer = rt_format("%s%s%s %.1f%%", words, words[0] != '\0' ? ", " : "",
                                 rt_ops[rows[r].op].name, 100 * rows[r].share);
        free(words);
        words = longer;
    }
    return words;
}

/* --- text --- */

static void print_title(const struct rt_prediction *prediction, FILE *file)
{
    const struct rt_graph_options *o = &prediction->graph.options;
    const struct rt_parallel *p = &prediction->forecast.options.parallel;
    fprintf(file, "%s, %s", prediction->model, rt_steps[o->step]);
    if (o->step == RT_STEP_DECODE)
        fprintf(file, ", %" PRId64 " sequences with %" PRId64 " cached tokens", prediction->batch,
                o->context);
    else
        fprintf(file, ", %" PRId64 " x %" PRId64 " tokens", prediction->batch, prediction->sequence);
    fprintf(file, ", %s%s", rt_dtypes[o->dtype].name, o->fusion ? ", fused" : "");
    if (o->step == RT_STEP_TRAINING && o->optimizer != RT_OPTIMIZER_NONE)
        fprintf(file, ", %s", rt_optimizers[o->optimizer]);
    int64_t gpus = p->data * p->pipeline * o->tensor_parallel;
    fprintf(file, ", on %s", prediction->device.name);
    if (gpus > 1)
        fprintf(file, " x %" PRId64 " (data %" PRId64 ", tensor %" PRId64 ", pipeline %" PRId64 ")", gpus,
                p->data, o->tensor_parallel, p->pipeline);
    if (p->microbatches > 1)
        fprintf(file, ", %" PRId64 " microbatches, %s", p->microbatches, rt_pipeline_schedules[p->schedule]);
    fputc('\n', file);
}

static void print_predictor(const struct rt_prediction *prediction, FILE *file)
{
    const struct rt_predictor *p = prediction->predictor;
    if (!rt_predictor_is_fitted(p))
        fputs("by the roofline: a lower bound, not a forecast\n", file);
    else
        fprintf(file, "by %s (%s), which was%s fitted to this GPU\n", prediction->predictor_name, p->kind,
                rt_predictor_knows_device_in(p, prediction->device.name,
                                             prediction->forecast.graph->options.dtype)
                    ? ""
                    : " not");
}

/* Three digits or so: an interval is not known to more. */
static int interval_digits(const struct rt_forecast *f)
{
    double ms = f->interval_low_us / 1e3;
    return ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : 3;
}

static void print_time(const struct rt_prediction *prediction, FILE *file)
{
    const struct rt_forecast *f = &prediction->forecast;
    fprintf(file, "\n  %-14s %10.3f ms   ", "total", f->total_us / 1e3);
    if (!isnan(f->interval_low_us))
        fprintf(file, "(%.*f .. %.*f, %g%%)   ", interval_digits(f), f->interval_low_us / 1e3,
                interval_digits(f), f->interval_high_us / 1e3, 100 * f->interval_level);
    fprintf(file, "%.0f tokens/s\n", tokens_per_second(prediction));
    if (prediction->graph.options.step == RT_STEP_TRAINING && !isnan(f->forward_us)) {
        fprintf(file, "  %-14s %10.3f ms\n", "forward", f->forward_us / 1e3);
        fprintf(file, "  %-14s %10.3f ms   with accumulation%s\n", "backward", f->backward_us / 1e3,
                prediction->graph.options.optimizer != RT_OPTIMIZER_NONE ? " and optimizer" : "");
    }
    if (f->communication_us > 0.5e-3 * f->total_us) {
        fprintf(file, "  %-14s %10.3f ms   of the busiest GPU\n", "kernels", f->compute_us / 1e3);
        fprintf(file, "  %-14s %10.3f ms   for links and waiting, not hidden\n", "communication",
                f->communication_us / 1e3);
    }
}

static void print_coverage(const struct rt_prediction *prediction, const struct rt_forecast_row *rows,
                           size_t count, FILE *file)
{
    if (!rt_predictor_is_fitted(prediction->predictor))
        return;
    char *words = fallback_words(rows, count);
    fprintf(file, "  %-14s %9.1f %%    of the kernels' time by trained networks", "coverage",
            100 * prediction->forecast.coverage);
    if (words[0] != '\0')
        fprintf(file, "; by bandwidth%s: %s",
                prediction->forecast.source_us[RT_TIME_ROOFLINE] > 0 ? " or roofline" : "", words);
    fputc('\n', file);
    free(words);
}

static void print_memory(const struct rt_prediction *prediction, FILE *file)
{
    const struct rt_graph_memory *m = &prediction->forecast.memory;
    const struct {
        const char *name;
        double bytes;
    } parts[] = {{"weights", m->weights},
                 {"gradients", m->gradients},
                 {"optimizer", m->optimizer},
                 {"activations", m->activations},
                 {"cache", m->cache}};
    fprintf(file, "  %-14s %10.2f GiB  of %.0f:", "memory", m->total / GIB,
            prediction->forecast.memory_bytes / GIB);
    for (size_t i = 0, printed = 0; i < RT_COUNT(parts); i++)
        if (parts[i].bytes > 0)
            fprintf(file, "%s %s %.2f", printed++ > 0 ? "," : "", parts[i].name, parts[i].bytes / GIB);
    fputc('\n', file);
}

static const char *bound_words(const struct rt_forecast_row *row)
{
    return row->source == RT_TIME_LINK ? "link" : row->compute_bound ? "compute" : "memory";
}

static const struct rt_column op_columns[] = {
    {"op", NULL, 's', 0},
    {"launches", NULL, 'd', 0},
    {"time_ms", "ms", 'f', 3},
    {"share_pct", "share %", 'f', 1},
    {"tflops", "TFLOP/s", 'g', 3},
    {"gbs", "GB/s", 'g', 4},
    {"roofline_pct", "of roofline %", 'f', 1},
    {"bound", "bound by", 's', 0},
    {"source", "forecast by", 's', 0},
};

static struct rt_table *op_table(const struct rt_forecast_row *rows, size_t count)
{
    struct rt_table *table = rt_table_new(op_columns, RT_COUNT(op_columns));
    for (size_t r = 0; r < count; r++) {
        const struct rt_forecast_row *row = &rows[r];
        rt_table_row(table, rt_ops[row->op].name, (long long)row->launches, row->time_us / 1e3,
                     100 * row->share, row->flops > 0 ? row->flops / row->time_us / 1e6 : NAN,
                     row->bytes / row->time_us / 1e3, 100 * row->roofline_us / row->time_us, bound_words(row),
                     rt_time_sources[row->source]);
    }
    return table;
}

static const struct rt_column node_columns[] = {
    {"node", NULL, 's', 0},    {"block", NULL, 's', 0},          {"repeat", "x", 'd', 0},
    {"time_ms", "ms", 'f', 3}, {"share_pct", "share %", 'f', 1},
};

static struct rt_table *node_table(const struct rt_prediction *prediction)
{
    struct rt_forecast_node heaviest[HEAVIEST];
    struct rt_table *table = rt_table_new(node_columns, RT_COUNT(node_columns));
    size_t count = rt_forecast_heaviest(&prediction->forecast, heaviest, HEAVIEST);
    for (size_t i = 0; i < count; i++) {
        const struct rt_node *node = &prediction->graph.nodes[heaviest[i].node];
        const struct rt_block *block = &prediction->graph.blocks[node->block];
        rt_table_row(table, node->name, block->name, (long long)block->repeat, heaviest[i].time_us / 1e3,
                     100 * heaviest[i].share);
    }
    return table;
}

static void print_table(struct rt_table *table, const char *title, FILE *file)
{
    fprintf(file, "\n%s\n", title);
    rt_table_text(table, file);
    rt_table_free(table);
}

void rt_prediction_text(const struct rt_prediction *prediction, FILE *file)
{
    struct rt_forecast_row rows[MAX_ROWS];
    size_t count = rt_forecast_rows(&prediction->forecast, rows);
    print_title(prediction, file);
    print_predictor(prediction, file);
    print_time(prediction, file);
    print_coverage(prediction, rows, count, file);
    print_memory(prediction, file);
    print_table(op_table(rows, count), "By op, all launches of one pass on one GPU", file);
    print_table(node_table(prediction), "The heaviest nodes", file);
}

/* --- JSON --- */

static json_t *table_json(struct rt_table *table)
{
    json_t *json = rt_table_json(table);
    rt_table_free(table);
    return json;
}

static json_t *memory_json(const struct rt_forecast *f)
{
    const struct rt_graph_memory *m = &f->memory;
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:b}", "weights_gib", m->weights / GIB,
                     "gradients_gib", m->gradients / GIB, "optimizer_gib", m->optimizer / GIB,
                     "activations_gib", m->activations / GIB, "cache_gib", m->cache / GIB, "total_gib",
                     m->total / GIB, "device_gib", rt_json_number(f->memory_bytes / GIB), "fits",
                     rt_forecast_fits(f));
}

static json_t *parallel_json(const struct rt_prediction *prediction)
{
    const struct rt_parallel *p = &prediction->forecast.options.parallel;
    double link = isnan(p->link_gbs) ? prediction->device.link_gbs : p->link_gbs;
    return json_pack("{s:I, s:I, s:I, s:I, s:s, s:b, s:o}", "data", (json_int_t)p->data, "tensor",
                     (json_int_t)prediction->graph.options.tensor_parallel, "pipeline",
                     (json_int_t)p->pipeline, "microbatches", (json_int_t)p->microbatches, "schedule",
                     rt_pipeline_schedules[p->schedule], "overlap", !p->no_overlap, "link_gbs",
                     rt_json_number(link));
}

static json_t *fallbacks_json(const struct rt_forecast_row *rows, size_t count)
{
    json_t *array = json_array();
    for (size_t r = 0; r < count; r++)
        if (rows[r].source != RT_TIME_TRAINED && rows[r].source != RT_TIME_LINK)
            json_array_append_new(array, json_pack("{s:s, s:s, s:f}", "op", rt_ops[rows[r].op].name, "source",
                                                   rt_time_sources[rows[r].source], "share_pct",
                                                   100 * rows[r].share));
    return array;
}

static json_t *warnings_json(const struct rt_prediction *prediction)
{
    char *warnings[RT_MAX_WARNINGS];
    json_t *array = json_array();
    size_t count = rt_prediction_warnings(prediction, warnings);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(array, json_string(warnings[i]));
        free(warnings[i]);
    }
    return array;
}

static json_t *interval_json(const struct rt_forecast *f)
{
    if (isnan(f->interval_low_us))
        return json_null();
    return json_pack("{s:f, s:f, s:f}", "level", f->interval_level, "low_ms", f->interval_low_us / 1e3,
                     "high_ms", f->interval_high_us / 1e3);
}

static json_t *text_json(const char *text)
{
    json_t *json = json_string(text);
    return json != NULL ? json : json_null(); /* not UTF-8 */
}

json_t *rt_prediction_json(const struct rt_prediction *prediction)
{
    const struct rt_graph_options *o = &prediction->graph.options;
    const struct rt_forecast *f = &prediction->forecast;
    const struct rt_predictor *predictor = prediction->predictor;
    struct rt_forecast_row rows[MAX_ROWS];
    size_t count = rt_forecast_rows(f, rows);
    json_t *json = json_object();
    json_object_set_new(json, "model", text_json(prediction->model));
    json_object_set_new(json, "gpu", text_json(prediction->device.name));
    json_object_set_new(json, "predictor", text_json(prediction->predictor_name));
    json_object_set_new(json, "kind", text_json(predictor->kind));
    json_object_set_new(json, "gpu_in_training",
                        json_boolean(rt_predictor_knows_device_in(
                            predictor, prediction->device.name, prediction->forecast.graph->options.dtype)));
    json_object_set_new(json, "mode", json_string(rt_steps[o->step]));
    json_object_set_new(json, "batch", json_integer(prediction->batch));
    json_object_set_new(json, "sequence", json_integer(prediction->sequence));
    json_object_set_new(json, "context", o->step == RT_STEP_DECODE ? json_integer(o->context) : json_null());
    json_object_set_new(json, "dtype", json_string(rt_dtypes[o->dtype].name));
    json_object_set_new(json, "fusion", json_boolean(o->fusion));
    json_object_set_new(json, "optimizer", json_string(rt_optimizers[o->optimizer]));
    json_object_set_new(json, "parallel", parallel_json(prediction));
    json_object_set_new(json, "total_ms", rt_json_number(f->total_us / 1e3));
    json_object_set_new(json, "forward_ms", rt_json_number(f->forward_us / 1e3));
    json_object_set_new(json, "backward_ms", rt_json_number(f->backward_us / 1e3));
    json_object_set_new(json, "kernels_ms", rt_json_number(f->compute_us / 1e3));
    json_object_set_new(json, "communication_ms", rt_json_number(f->communication_us / 1e3));
    json_object_set_new(json, "tokens_per_s", rt_json_number(tokens_per_second(prediction)));
    json_object_set_new(json, "coverage_pct", rt_json_number(100 * f->coverage));
    json_object_set_new(json, "fallbacks", fallbacks_json(rows, count));
    json_object_set_new(json, "memory", memory_json(f));
    json_object_set_new(json, "ops", table_json(op_table(rows, count)));
    json_object_set_new(json, "heaviest", table_json(node_table(prediction)));
    json_object_set_new(json, "warnings", warnings_json(prediction));
    json_object_set_new(json, "interval", interval_json(f));
    return json;
}

/* --- sweeps --- */

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
    {"fits", NULL, 'b', 0},
    {"gpu_in_training", "GPU known", 'b', 0},
    {"interval_low_ms", "from", 'f', 3},
    {"interval_high_ms", "to", 'f', 3},
};

struct rt_table *rt_prediction_table(const struct rt_prediction *predictions, size_t count)
{
    struct rt_table *table = rt_table_new(sweep_columns, RT_COUNT(sweep_columns));
    for (size_t i = 0; i < count; i++) {
        const struct rt_prediction *p = &predictions[i];
        const struct rt_forecast *f = &p->forecast;
        rt_table_row(
            table, p->device.name, (long long)p->batch, (long long)p->sequence, f->total_us / 1e3,
            f->forward_us / 1e3, f->backward_us / 1e3, tokens_per_second(p), 100 * f->coverage,
            f->memory.total / GIB, (int)rt_forecast_fits(f),
            (int)rt_predictor_knows_device_in(p->predictor, p->device.name, p->forecast.graph->options.dtype),
            f->interval_low_us / 1e3, f->interval_high_us / 1e3);
    }
    return table;
}
