/* A plan as a report. See plan.h. */
#include "base/csv.h"
#include "base/file.h"
#include "base/pareto.h"
#include "base/status.h"
#include "base/text.h"
#include "base/units.h"
#include "predict/search/train/plan.h"
#include "predict/step/forecast_graphs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const cost_names[RT_COSTS] = {"fastest", "cheapest", "least_energy"};
static const char *const cost_words[RT_COSTS] = {"fastest", "cheapest", "least energy"};

/* ---- one candidate ---- */

static double tokens_per_s(const struct rt_training_plan *plan, const struct rt_training_candidate *c)
{
    return 1e6 * (double)plan->cell[c->cell].batch * (double)plan->request->step.sequence / c->time_us;
}

static json_t *cut_json(const struct rt_training_candidate *c)
{
    return json_pack(
        "{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:s}", "shard_gpus", c->value[RT_AXIS_SHARD_GPUS],
        "data", c->value[RT_AXIS_DP], "tensor", c->value[RT_AXIS_TP], "pipeline", c->value[RT_AXIS_PP],
        "chunks", c->value[RT_AXIS_VP], "context", c->value[RT_AXIS_CP], "expert", c->value[RT_AXIS_EP],
        "micro_batch", c->value[RT_AXIS_MICRO_BATCH], "microbatches", c->microbatches, "shard",
        rt_shard_kinds[c->value[RT_AXIS_SHARD]], "recompute", rt_recomputes[c->value[RT_AXIS_RECOMPUTE]]);
}

/* clang-format off */
static const struct rt_column columns[] = {
    {"gpu", NULL, 's', 0}, {"gpus", NULL, 'd', 0}, {"step_ms", "step ms", 'f', 0},
    {"tokens_per_s", "tokens/s", 'f', 0}, {"mfu_pct", "MFU %", 'f', 1}, {"hfu_pct", "", 'f', 1},
    {"days", NULL, 'f', 1}, {"money", NULL, 'f', 0}, {"mwh", "MWh", 'f', 1}, {"memory_gib", "GiB", 'f', 1},
    {"communication_pct", "exposed %", 'f', 1}, {"bubble_pct", "bubble %", 'f', 1}, {"front", NULL, 'b', 0},
    {"cut", NULL, 's', 0},
};
/* clang-format on */
enum { FEW_COUNTS = 5, GPU = 0, GPUS = 1, DAYS = 6, MWH = 8, FRONT = RT_COUNT(columns) - 2 };

static bool has_length(const struct rt_training_request *request)
{
    return request->step.run.tokens > 0 || request->step.run.steps > 0;
}

/* What nobody can know is for programs alone: costs of a run of no given tokens, prices that were not given.
 * Of one cell, what all rows have in common, too. */
static struct rt_table *new_table(const struct rt_training_plan *plan, bool one_cell)
{
    struct rt_column shown[RT_COUNT(columns)];
    bool priced = false;
    memcpy(shown, columns, sizeof columns);
    for (size_t g = 0; g < plan->request->gpu_count; g++)
        priced |= !isnan(plan->request->gpu[g].price);
    for (int c = DAYS; c <= MWH; c++)
        if (!has_length(plan->request) || (strcmp(columns[c].key, "money") == 0 && !priced))
            shown[c].title = "";
    if (one_cell)
        shown[GPU].title = shown[GPUS].title = shown[FRONT].title = "";
    return rt_table_new(shown, RT_COUNT(shown));
}

static void add_row(struct rt_table *table, const struct rt_training_plan *plan, uint32_t candidate,
                    bool front)
{
    const struct rt_training_candidate *c = &plan->candidate[candidate];
    const struct rt_training_cell *cell = &plan->cell[c->cell];
    char *words = rt_training_words(c);
    struct rt_run_totals totals;
    rt_training_totals(plan, candidate, &totals);
    rt_table_row(table, plan->request->gpu[cell->gpu].device.name, (long long)cell->gpus, c->time_us / 1e3,
                 tokens_per_s(plan, c), 100 * c->mfu, 100 * c->hfu, totals.hours / 24, totals.money,
                 totals.joules / RT_MWH, c->memory_bytes / RT_GIB, 100 * c->exposed, 100 * c->bubble, front,
                 words);
    rt_table_row_json(table, "run", rt_run_json(&totals));
    rt_table_row_json(table, "parallel", cut_json(c));
    rt_table_row_json(table, "batch", json_integer(cell->batch));
    rt_table_row_json(table, "step_joules", rt_json_number(c->joules));
    free(words);
}

/* ---- the head ---- */

/* Forecast again as `rooftile predict` would be asked: with its interval. */
static int predict(const struct rt_training_plan *plan, uint32_t candidate, struct rt_prediction *out)
{
    const struct rt_training_request *request = plan->request;
    const struct rt_training_candidate *c = &plan->candidate[candidate];
    struct rt_step step = rt_training_step(plan, c);
    step.wants = RT_WANT_MEMORY | RT_WANT_ENERGY;
    int status =
        rt_prediction_begin(&step, request->source, &request->gpu[plan->cell[c->cell].gpu].device, out);
    if (status != RT_OK)
        return status;
    struct rt_forecast_options options = rt_prediction_how(out);
    options.fallback = request->fallback;
    out->predictor = request->predictor;
    out->predictor_name = "";
    return rt_forecast_graph(&out->graph, request->predictor, &out->device, &options, &out->forecast);
}

static void add_run(struct rt_report *report, const struct rt_training_plan *plan, uint32_t candidate)
{
    struct rt_run_totals totals;
    rt_training_totals(plan, candidate, &totals);
    char *words = rt_run_words(&plan->request->step.run, &totals);
    if (words[0] != '\0')
        rt_report_add_words(report, "", "run %s", words);
    free(words);
}

/* Of the GPU that needs most: a pipeline's first stage. */
static void add_memory(struct rt_report *report, const struct rt_forecast *f)
{
    const struct rt_graph_memory *m = &f->memory;
    rt_report_add_words(
        report, "",
        "memory %.1f of %.1f GiB a GPU: weights %.1f, gradients %.1f, optimizer %.1f, activations %.1f",
        f->taken.used / RT_GIB, f->memory_bytes / RT_GIB, m->weights / RT_GIB, m->gradients / RT_GIB,
        m->optimizer / RT_GIB, m->activations / RT_GIB);
}

/* Where the memory is tight: the fastest of the cell's best that leaves room. */
static void add_room(struct rt_report *report, const struct rt_training_plan *plan,
                     const struct rt_training_cell *cell, const struct rt_forecast *f)
{
    if (!rt_forecast_is_tight(f))
        return;
    for (size_t b = 0; b < cell->best_count[RT_COST_HOURS]; b++) {
        const struct rt_training_candidate *c = &plan->candidate[cell->best[RT_COST_HOURS][b]];
        if (c->memory_bytes > RT_TIGHT_MEMORY * f->memory_bytes)
            continue;
        char *words = rt_training_words(c);
        rt_report_add_words(
            report, "", "memory is tight, such steps may take longer; with room: %s, step %.3f s, %.1f GiB",
            words, c->time_us / 1e6, c->memory_bytes / RT_GIB);
        free(words);
        return;
    }
    rt_report_add_words(report, "",
                        "memory is tight, such steps may take longer; no cut in the table has room");
}

static json_t *memory_json(const struct rt_forecast *f)
{
    const struct rt_graph_memory *m = &f->memory;
    return json_pack("{s:o, s:f, s:f, s:f, s:f, s:f, s:f}", "available",
                     rt_json_number(f->memory_bytes / RT_GIB), "taken", f->taken.used / RT_GIB, "weights",
                     m->weights / RT_GIB, "gradients", m->gradients / RT_GIB, "optimizer",
                     m->optimizer / RT_GIB, "activations", m->activations / RT_GIB, "workspace",
                     m->workspace / RT_GIB);
}

static void add_step(struct rt_report *report, const struct rt_training_plan *plan, uint32_t candidate,
                     const struct rt_prediction *prediction)
{
    const struct rt_training_candidate *c = &plan->candidate[candidate];
    const struct rt_forecast *f = &prediction->forecast;
    double s = 1e6;
    if (isnan(f->interval_low_us) || !(f->interval_level > 0))
        rt_report_add_words(report, "", "step %.3f s, %.0f tokens/s", f->total_us / s, tokens_per_s(plan, c));
    else
        rt_report_add_words(report, "", "step %.3f s (%.3f .. %.3f, %g%%), %.0f tokens/s", f->total_us / s,
                            f->interval_low_us / s, f->interval_high_us / s, 100 * f->interval_level,
                            tokens_per_s(plan, c));
    rt_report_add_words(report, "", "MFU %.1f%%, HFU %.1f%%, exposed communication %.1f%%, bubble %.1f%%",
                        100 * c->mfu, 100 * c->hfu, 100 * c->exposed, 100 * c->bubble);
    add_memory(report, f);
    add_room(report, plan, &plan->cell[c->cell], f);
}

static json_t *best_json(const struct rt_training_plan *plan, uint32_t candidate,
                         const struct rt_prediction *prediction)
{
    struct rt_table *table = new_table(plan, true);
    char *launch = rt_training_launch(plan, &plan->candidate[candidate]),
         *line = rt_training_predict_line(plan, &plan->candidate[candidate]);
    add_row(table, plan, candidate, true);
    rt_table_row_json(table, "step_ms_low", rt_json_number(prediction->forecast.interval_low_us / 1e3));
    rt_table_row_json(table, "step_ms_high", rt_json_number(prediction->forecast.interval_high_us / 1e3));
    rt_table_row_json(table, "memory_parts_gib", memory_json(&prediction->forecast));
    rt_table_row_json(table, "launch", rt_json_text(launch));
    rt_table_row_json(table, "predict", rt_json_text(line));
    json_t *rows = rt_table_json(table), *row = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    json_object_del(row, "front");
    rt_table_free(table);
    free(launch);
    free(line);
    return row;
}

/* What decides of the fastest, in one row of a page. */
static void add_tiles(struct rt_report *report, const struct rt_training_plan *plan,
                      const struct rt_training_cell *cell, const struct rt_prediction *prediction)
{
    const struct rt_forecast *f = &prediction->forecast;
    double rate = rt_prediction_items(prediction) / (f->total_us / 1e6);
    rt_report_add_tile(report, "the fastest", NAN, "%" PRId64 " GPUs\n%s", cell->gpus,
                       plan->request->gpu[cell->gpu].device.name);
    rt_report_add_tile(report, "time of a step", NAN, "%s s\n%s .. %s",
                       rt_number_text(f->total_us / 1e6).text, rt_number_text(f->interval_low_us / 1e6).text,
                       rt_number_text(f->interval_high_us / 1e6).text);
    rt_report_add_tile(report, "tokens", NAN, "%s/s\n%s of a GPU", rt_number_text(rate).text,
                       rt_number_text(rate / (double)cell->gpus).text);
    if (f->memory_bytes > 0)
        rt_report_add_tile(report, "memory", f->taken.used / f->memory_bytes, "%.1f GiB\nof %.1f",
                           f->taken.used / RT_GIB, f->memory_bytes / RT_GIB);
}

/* One of the winners; the same as one before is only named. */
static int add_best(struct rt_report *report, const struct rt_training_plan *plan, enum rt_training_cost cost,
                    const int64_t best[RT_COSTS])
{
    struct rt_prediction prediction = {.refused = NULL};
    uint32_t candidate = (uint32_t)best[cost];
    const struct rt_training_candidate *c = &plan->candidate[candidate];
    int status = predict(plan, candidate, &prediction);
    if (status == RT_OK) {
        const struct rt_training_cell *cell = &plan->cell[c->cell];
        char *words = rt_training_words(c);
        bool said = false;
        if (cost == 0)
            add_tiles(report, plan, cell, &prediction);
        for (int before = 0; before < (int)cost; before++)
            said |= best[before] == best[cost];
        rt_report_add_json(report, cost_names[cost], best_json(plan, candidate, &prediction));
        rt_report_add_words(report, cost_words[cost], "%" PRId64 " %s: %s", cell->gpus,
                            plan->request->gpu[cell->gpu].device.name, said ? "the same" : words);
        if (!said) {
            add_step(report, plan, candidate, &prediction);
            add_run(report, plan, candidate);
        }
        free(words);
    }
    rt_prediction_release(&prediction);
    return status;
}

static void add_title(struct rt_report *report, const struct rt_training_plan *plan)
{
    const struct rt_training_request *request = plan->request;
    struct rt_text gpus = {0}, counts = {0}, tokens = {0};
    for (size_t g = 0; g < request->gpu_count; g++)
        rt_text_item(&gpus, " or ", "%s", request->gpu[g].device.name);
    for (size_t g = 0; g < request->gpus_count; g++)
        if (g < 2 || g + 1 == request->gpus_count || request->gpus_count <= FEW_COUNTS)
            rt_text_item(&counts,
                         g + 1 < request->gpus_count ? ", "
                         : g >= FEW_COUNTS           ? " ... "
                                                     : " or ",
                         "%" PRId64, request->gpus[g]);
    if (request->step.run.tokens > 0)
        rt_text_add(&tokens, "; %s tokens in all", rt_number_text(request->step.run.tokens).text);
    rt_report_add_title(
        report, "%s trained by %s on %s of %s: %" PRId64 " sequences of %" PRId64 " tokens a step%s",
        request->source->spec, rt_runtimes[plan->trainer->runtime].name, counts.text, gpus.text,
        request->step.batch, request->step.sequence, tokens.text != NULL ? tokens.text : "");
    rt_report_add_json(report, "model", rt_json_text(request->source->spec));
    rt_report_add_json(report, "runtime", rt_json_text(rt_runtimes[plan->trainer->runtime].name));
    rt_report_add_json(report, "batch", json_integer(request->step.batch));
    rt_report_add_json(report, "sequence", json_integer(request->step.sequence));
    rt_report_add_json(report, "tokens",
                       request->step.run.tokens > 0 ? json_real(request->step.run.tokens) : json_null());
    rt_text_release(&gpus);
    rt_text_release(&counts);
    rt_text_release(&tokens);
}

static void add_budget(struct rt_report *report, const struct rt_training_request *request)
{
    static const char *const keys[RT_COSTS] = {"budget_hours", "budget_money", "budget_joules"};
    struct rt_text words = {0};
    if (!isnan(request->budget[RT_COST_HOURS]))
        rt_text_item(&words, ", ", "%.1f days", request->budget[RT_COST_HOURS] / 24);
    if (!isnan(request->budget[RT_COST_MONEY]))
        rt_text_item(&words, ", ", "%s in money", rt_number_text(request->budget[RT_COST_MONEY]).text);
    if (!isnan(request->budget[RT_COST_JOULES]))
        rt_text_item(&words, ", ", "%s MWh", rt_number_text(request->budget[RT_COST_JOULES] / RT_MWH).text);
    if (words.length > 0)
        rt_report_add_words(report, "budget", "%s at most", words.text);
    for (int cost = 0; cost < RT_COSTS; cost++)
        rt_report_add_json(report, keys[cost], rt_json_number(request->budget[cost]));
    rt_text_release(&words);
}

/* How it is launched, and what its step looks like. */
static int add_fastest(struct rt_report *report, const struct rt_training_plan *plan, uint32_t candidate,
                       bool pictures)
{
    struct rt_prediction prediction = {.refused = NULL};
    char *launch = rt_training_launch(plan, &plan->candidate[candidate]);
    rt_report_add_heading(report, "To launch the fastest");
    rt_report_add_lines(report, launch);
    free(launch);
    char *line = rt_training_predict_line(plan, &plan->candidate[candidate]);
    rt_report_add_heading(report, "Its step in all detail");
    rt_report_add_lines(report, line);
    free(line);
    if (!pictures)
        return RT_OK;
    int status = predict(plan, candidate, &prediction);
    if (status == RT_OK)
        rt_prediction_add_plots(report, &prediction);
    rt_prediction_release(&prediction);
    return status;
}

static int add_head(struct rt_report *report, const struct rt_training_plan *plan, bool pictures)
{
    int64_t best[RT_COSTS];
    int status = RT_OK;
    add_title(report, plan);
    add_budget(report, plan->request);
    rt_report_add_fact(report, "candidates", json_integer((json_int_t)plan->asked_count), "candidates",
                       "%zu, of which %zu were forecast", plan->asked_count, plan->forecast_count);
    rt_report_add_json(report, "forecast", json_integer((json_int_t)plan->forecast_count));
    for (int cost = 0; cost < RT_COSTS; cost++)
        best[cost] = rt_training_best(plan, cost);
    for (int cost = 0; status == RT_OK && cost < RT_COSTS; cost++)
        if (best[cost] >= 0)
            status = add_best(report, plan, (enum rt_training_cost)cost, best);
        else
            rt_report_add_json(report, cost_names[cost], json_null());
    if (status != RT_OK)
        return status;
    if (best[RT_COST_HOURS] < 0) {
        rt_report_add_words(report, "best", "none keeps to the budget; the table has the fastest of each");
        return RT_OK;
    }
    return add_fastest(report, plan, (uint32_t)best[RT_COST_HOURS], pictures);
}

/* ---- tables ---- */

/* Of hours against money, or energy where no price is known; of cells' bests, which `best` has. */
static void mark_front(const struct rt_training_plan *plan, const int64_t *best, bool *front)
{
    double *values = rt_malloc((2 * plan->cell_count + 1) * sizeof *values);
    for (size_t i = 0; i < plan->cell_count; i++) {
        const struct rt_training_cell *cell = &plan->cell[i];
        front[i] = best[i] >= 0 && !cell->weak;
        if (!front[i])
            continue;
        const struct rt_training_candidate *c = &plan->candidate[best[i]];
        double each = plan->request->gpu[cell->gpu].price;
        values[2 * i] = c->time_us;
        values[2 * i + 1] = c->time_us * (double)cell->gpus * (isnan(each) ? 1 : each);
    }
    rt_pareto(values, plan->cell_count, 2, front);
    free(values);
}

static void add_choices(struct rt_report *report, const struct rt_training_plan *plan)
{
    struct rt_table *table = new_table(plan, false);
    int64_t *best = rt_malloc((plan->cell_count + 1) * sizeof *best);
    bool *front = rt_calloc(plan->cell_count + 1, sizeof *front);
    for (size_t i = 0; i < plan->cell_count; i++)
        best[i] = rt_training_best_of(plan, &plan->cell[i]);
    mark_front(plan, best, front);
    for (size_t i = 0; i < plan->cell_count; i++)
        if (best[i] >= 0 && !plan->cell[i].weak)
            add_row(table, plan, (uint32_t)best[i], front[i]);
    rt_report_add_table(report, "best", "The fastest of each GPU and number of GPUs", table);
    free(best);
    free(front);
}

/* Of the cell that the fastest is of. */
static void add_nearest(struct rt_report *report, const struct rt_training_plan *plan)
{
    int64_t best = rt_training_best(plan, RT_COST_HOURS);
    if (best < 0)
        return;
    const struct rt_training_cell *cell = &plan->cell[plan->candidate[best].cell];
    struct rt_table *table = new_table(plan, true);
    for (size_t b = 0; b < cell->best_count[RT_COST_HOURS]; b++)
        add_row(table, plan, cell->best[RT_COST_HOURS][b], true);
    char *title = rt_format("The fastest cuts of %" PRId64 " %s", cell->gpus,
                            plan->request->gpu[cell->gpu].device.name);
    rt_report_add_table(report, "cuts", title, table);
    free(title);
}

/* ---- what became of all ---- */

static const char *const fate_words[RT_TRAINING_FATES] = {
    "cannot be cut so",
    "do not fit: weights, gradients and optimizer",
    "do not fit: activations of microbatches in flight",
    "do not fit, forecast",
    "slower than those that were found, by their bound",
    "slower, forecast",
    "among the best of their GPU and number",
};

/* Why the first candidate that cannot be cut cannot. Free with free(); NULL: nothing says. */
static char *first_cut(const struct rt_training_plan *plan, size_t gpu)
{
    for (size_t i = 0; i < plan->asked_count; i++) {
        const struct rt_training_candidate *c = &plan->candidate[i];
        struct rt_settled_step settled;
        if (c->fate != RT_TRAINING_CUT || plan->cell[c->cell].gpu != gpu)
            continue;
        if (c->shape != UINT32_MAX && plan->shape[c->shape].refused != NULL)
            return rt_strdup(plan->shape[c->shape].refused);
        struct rt_step step = rt_training_step(plan, c);
        int status = rt_step_settle(&step, plan->request->source, &plan->request->gpu[gpu].device, &settled);
        rt_settled_step_release(&settled);
        if (status != RT_OK)
            return rt_strdup(rt_error());
    }
    return NULL;
}

static bool lacks_memory(enum rt_training_fate fate)
{
    return fate == RT_TRAINING_STATE || fate == RT_TRAINING_SAVED || fate == RT_TRAINING_MEMORY;
}

/* By how much a candidate fails: bytes too many, or the part of the fastest's time that it takes longer; NaN:
 * nothing says. */
static double fails_by(const struct rt_training_plan *plan, const struct rt_training_candidate *c)
{
    const struct rt_training_cell *cell = &plan->cell[c->cell];
    if (lacks_memory((enum rt_training_fate)c->fate))
        return c->memory_bytes - rt_training_most_bytes(plan, c);
    if ((c->fate != RT_TRAINING_BELOW && c->fate != RT_TRAINING_SLOWER) ||
        cell->best_count[RT_COST_HOURS] == 0)
        return NAN;
    double best = plan->candidate[cell->best[RT_COST_HOURS][0]].time_us;
    return (c->fate == RT_TRAINING_BELOW ? c->bound_us : c->time_us) / best - 1;
}

/* The one that fails by the least, -1: none says by how much; how many there are. */
static int64_t nearest(const struct rt_training_plan *plan, size_t gpu, enum rt_training_fate fate,
                       size_t *count)
{
    int64_t best = -1;
    *count = 0;
    for (size_t i = 0; i < plan->asked_count; i++) {
        const struct rt_training_candidate *c = &plan->candidate[i];
        if (c->fate != fate || plan->cell[c->cell].gpu != gpu)
            continue;
        ++*count;
        double by = fails_by(plan, c);
        if (!isnan(by) && (best < 0 || by < fails_by(plan, &plan->candidate[best])))
            best = (int64_t)i;
    }
    return best;
}

/* "64: dp 8, tp 8, micro batch 1 x 4 takes 72.9 of 71.3 GiB". Free with free(); NULL: there is none. */
static char *nearest_words(const struct rt_training_plan *plan, int64_t candidate)
{
    if (candidate < 0)
        return NULL;
    const struct rt_training_candidate *c = &plan->candidate[candidate];
    char *cut = rt_training_words(c), *words;
    int64_t gpus = plan->cell[c->cell].gpus;
    if (lacks_memory((enum rt_training_fate)c->fate))
        words = rt_format("%" PRId64 ": %s takes %.1f of %.1f GiB", gpus, cut, c->memory_bytes / RT_GIB,
                          rt_training_most_bytes(plan, c) / RT_GIB);
    else
        words = rt_format("%" PRId64 ": %s is %.1f%% slower", gpus, cut, 100 * fails_by(plan, c));
    free(cut);
    return words;
}

/* A row, where there are such candidates. */
static void add_reason(struct rt_table *table, const struct rt_training_plan *plan, size_t gpu,
                       enum rt_training_fate fate)
{
    size_t count;
    int64_t near = nearest(plan, gpu, fate, &count);
    if (count == 0)
        return;
    char *example = fate == RT_TRAINING_CUT ? first_cut(plan, gpu) : nearest_words(plan, near);
    rt_table_row(table, plan->request->gpu[gpu].device.name, rt_training_fates[fate], (long long)count,
                 fate_words[fate], example);
    free(example);
}

static void add_reasons(struct rt_report *report, const struct rt_training_plan *plan)
{
    static const struct rt_column reason_columns[] = {
        {"gpu", "", 's', 0},
        {"outcome", "", 's', 0},
        {"candidates", NULL, 'd', 0},
        {"words", "what became of them", 's', 0},
        {"nearest_words", "the nearest, by its GPUs", 's', 0},
    };
    json_t *all = json_array(), *rows;
    for (size_t g = 0; g < plan->request->gpu_count; g++) {
        struct rt_table *table = rt_table_new(reason_columns, RT_COUNT(reason_columns));
        char *title = rt_format("What became of all candidates of %s", plan->request->gpu[g].device.name);
        for (int fate = 0; fate < RT_TRAINING_FATES; fate++)
            add_reason(table, plan, g, (enum rt_training_fate)fate);
        json_array_extend(all, rows = rt_table_json(table));
        json_decref(rows);
        rt_report_add_table(report, NULL, title, table);
        free(title);
    }
    rt_report_add_json(report, "reasons", all);
}

int rt_training_report(const struct rt_training_plan *plan, bool pictures, struct rt_report **out)
{
    struct rt_report *report = rt_report_new();
    int status = add_head(report, plan, pictures);
    if (status != RT_OK) {
        rt_report_free(report);
        return status;
    }
    add_choices(report, plan);
    rt_training_add_scaling(report, plan, pictures);
    add_nearest(report, plan);
    add_reasons(report, plan);
    *out = report;
    return RT_OK;
}

int rt_training_trace(const struct rt_training_plan *plan, const char *path)
{
    struct rt_prediction prediction = {.refused = NULL};
    int64_t best = rt_training_best(plan, RT_COST_HOURS);
    if (best < 0)
        return RT_OK;
    int status = predict(plan, (uint32_t)best, &prediction);
    if (status == RT_OK)
        status = rt_prediction_trace(&prediction, path);
    rt_prediction_release(&prediction);
    return status;
}

/* ---- all candidates in CSV ---- */

const struct rt_output_kind rt_training_csv_kind = {"a table of plans", NULL, NULL};

static void write_row(FILE *file, const struct rt_training_plan *plan, uint32_t i)
{
    const struct rt_training_candidate *c = &plan->candidate[i];
    const struct rt_training_cell *cell = &plan->cell[c->cell];
    const int32_t *v = c->value;
    rt_csv_write(file, plan->request->gpu[cell->gpu].device.name);
    fprintf(file, ",%" PRId64 ",%" PRId64 ",%d,%d,%d,%d,%d,%d,%s,%d,%s,%d,%d,%s", cell->gpus, cell->batch,
            v[RT_AXIS_DP], v[RT_AXIS_TP], v[RT_AXIS_PP], v[RT_AXIS_VP], v[RT_AXIS_CP], v[RT_AXIS_EP],
            rt_shard_kinds[v[RT_AXIS_SHARD]], v[RT_AXIS_SHARD_GPUS], rt_recomputes[v[RT_AXIS_RECOMPUTE]],
            v[RT_AXIS_MICRO_BATCH], c->microbatches, rt_training_fates[c->fate]);
    rt_csv_write_number(file, c->bound_us / 1e3);
    rt_csv_write_number(file, c->time_us / 1e3);
    rt_csv_write_number(file, c->memory_bytes / RT_GIB);
    rt_csv_write_number(file, c->joules);
    rt_csv_write_number(file, rt_training_cost(plan, i, RT_COST_HOURS));
    rt_csv_write_number(file, rt_training_cost(plan, i, RT_COST_MONEY));
    fputc('\n', file);
}

int rt_training_write_csv(const struct rt_training_plan *plan, const char *path)
{
    struct rt_new_file file;
    int status = rt_file_create(path, &file);
    if (status != RT_OK)
        return status;
    fputs("gpu,gpus,batch,dp,tp,pp,vp,cp,ep,shard,shard_gpus,recompute,micro_batch,microbatches,outcome,"
          "least_step_ms,"
          "step_ms,"
          "memory_gib,step_joules,hours,money\n",
          file.stream);
    for (uint32_t i = 0; i < plan->asked_count; i++)
        write_row(file.stream, plan, i);
    return rt_file_finish(&file);
}
