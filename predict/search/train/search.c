/* The search. See plan.h. */
#include "base/progress.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/units.h"
#include "base/shared_work.h"
#include "models/predictors/roofline/board.h"
#include "predict/search/train/plan.h"
#include "predict/step/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_training_fates[RT_TRAINING_FATES] = {"cut",   "state",  "saved", "memory",
                                                          "below", "slower", "best"};

/* Candidates that are forecast at once, whatever the threads: what is ruled out depends on what was found
 * before. */
enum { WAVE = 16 };

/* --- work that threads share --- */

struct search {
    struct rt_training_plan *plan;
    struct rt_threads *pool;
    struct rt_network_memos memos;
    const uint32_t *list; /* of shapes or candidates */
    bool energy;          /* candidates: their energy, too */
    struct rt_point_table
        table; /* (candidates, TRAINED_NUMBERS): forecasts that are kept; numbers NULL: none are */
    struct rt_point_journal *journal;
    struct rt_progress progress;
};

static int count_item(void *context, size_t item)
{
    struct search *search = context;
    (void)item;
    rt_progress_step(&search->progress, 1, "");
    return RT_OK;
}

static int run_items(struct search *search, size_t count, int (*item)(void *, size_t, size_t),
                     int (*end)(void *, size_t))
{
    int status = rt_shared_work_run(&(struct rt_shared_work){item, end, search}, search->pool, count);
    if (status != RT_EINTERRUPTED)
        return status;
    rt_fail(RT_EINTERRUPTED, "interrupted after %zu forecasts", search->plan->forecast_count);
    return rt_fail_remedy(status, search->journal != NULL
                                      ? "the same command goes on with them"
                                      : "with {csv} the same command would go on with them");
}

/* --- shapes, and what their bounds rule out --- */

static int build_shape(void *context, size_t item, size_t member)
{
    struct rt_training_plan *plan = ((struct search *)context)->plan;
    (void)member;
    return rt_training_shape_build(plan, &plan->shape[item]);
}

static int time_shape(void *context, size_t item, size_t member)
{
    struct search *search = context;
    return rt_training_shape_time(search->plan, rt_network_memo_of(&search->memos, member),
                                  &search->plan->shape[search->list[item]]);
}

double rt_training_most_bytes(const struct rt_training_plan *plan, const struct rt_training_candidate *c)
{
    return (1 - RT_MEMORY_MARGIN) * RT_GIB *
           rt_memory_for_programs_gib(&plan->request->gpu[plan->cell[c->cell].gpu].device);
}

static void rule_out_memory(struct rt_training_plan *plan, struct rt_training_candidate *c)
{
    double most = rt_training_most_bytes(plan, c);
    if (c->fate == RT_TRAINING_CUT)
        return;
    if (plan->shape[c->shape].refused != NULL) {
        c->fate = RT_TRAINING_CUT;
        return;
    }
    double state = rt_training_state_bytes(plan, c), saved = rt_training_saved_bytes(plan, c);
    c->memory_bytes = fmax(state, saved);
    if (!plan->request->exhaustive && c->memory_bytes > most)
        c->fate = state > most ? RT_TRAINING_STATE : RT_TRAINING_SAVED;
}

static bool is_ours(const struct rt_training_plan *plan, const struct rt_training_candidate *c)
{
    return rt_shard_has(plan->request->shard, c->shape);
}

/* Of what is left, the shapes' kernels are forecast. */
static int prepare(struct search *search)
{
    struct rt_training_plan *plan = search->plan;
    uint32_t *list = rt_malloc((plan->shape_count + 1) * sizeof *list);
    bool *needed = rt_calloc(plan->shape_count + 1, sizeof *needed);
    size_t count = 0;
    int status = run_items(search, plan->shape_count, build_shape, count_item);
    for (size_t i = 0; status == RT_OK && i < plan->candidate_count; i++) {
        rule_out_memory(plan, &plan->candidate[i]);
        if (plan->candidate[i].fate == RT_TRAINING_BELOW && is_ours(plan, &plan->candidate[i]))
            needed[plan->candidate[i].shape] = true;
    }
    for (uint32_t s = 0; s < plan->shape_count; s++)
        if (needed[s])
            list[count++] = s;
    search->list = list;
    if (status == RT_OK)
        status = run_items(search, count, time_shape, count_item);
    for (size_t i = 0; status == RT_OK && i < plan->candidate_count; i++)
        if (plan->candidate[i].fate == RT_TRAINING_BELOW && is_ours(plan, &plan->candidate[i]))
            plan->candidate[i].bound_us = rt_training_least_us(plan, &plan->candidate[i]);
    free(needed);
    free(list);
    return status;
}

/* --- forecasts --- */

/* A candidate's row of the journal. */
enum {
    TRAINED_FATE,
    TRAINED_MEMORY,
    TRAINED_TIME,
    TRAINED_JOULES,
    TRAINED_MFU,
    TRAINED_HFU,
    TRAINED_EXPOSED,
    TRAINED_BUBBLE,
    TRAINED_NUMBERS
};

static void keep_numbers(const struct rt_training_candidate *c, double *numbers)
{
    const double all[] = {c->fate, c->memory_bytes, c->time_us, c->joules,
                          c->mfu,  c->hfu,          c->exposed, c->bubble};
    memcpy(numbers, all, sizeof all);
}

static void take_numbers(const double *numbers, struct rt_training_candidate *c)
{
    c->fate = (uint8_t)numbers[TRAINED_FATE];
    c->memory_bytes = numbers[TRAINED_MEMORY];
    c->time_us = numbers[TRAINED_TIME];
    c->joules = numbers[TRAINED_JOULES];
    c->mfu = numbers[TRAINED_MFU];
    c->hfu = numbers[TRAINED_HFU];
    c->exposed = numbers[TRAINED_EXPOSED];
    c->bubble = numbers[TRAINED_BUBBLE];
}

/* What it takes of the memory; where that fits its time, and its energy where the power is known. */
static int forecast_anew(const struct search *search, struct rt_training_candidate *c)
{
    const struct rt_training_plan *plan = search->plan;
    struct rt_forecast f;
    int status = rt_training_forecast(plan, c, search->energy, &f);
    if (status == RT_EUSAGE) { /* what settling lets pass and the graph does not */
        c->fate = RT_TRAINING_CUT;
        return RT_OK;
    }
    if (status != RT_OK)
        return status;
    c->memory_bytes = f.taken.used;
    c->fate = rt_forecast_fits(&f) ? RT_TRAINING_SLOWER : RT_TRAINING_MEMORY;
    if (rt_forecast_fits(&f)) {
        c->time_us = f.total_us;
        c->joules = f.energy.joules * f.energy.gpus;
        rt_training_use(&f, c);
    }
    rt_forecast_release(&f);
    return RT_OK;
}

static int forecast(void *context, size_t item, size_t member)
{
    struct search *search = context;
    uint32_t candidate = search->list[item];
    struct rt_training_candidate *c = &search->plan->candidate[candidate];
    (void)member;
    if (search->journal == NULL) /* then there is no table */
        return forecast_anew(search, c);
    double *numbers = search->table.numbers + (size_t)candidate * TRAINED_NUMBERS;
    if (search->table.done[candidate]) {
        take_numbers(numbers, c);
        return RT_OK;
    }
    int status = forecast_anew(search, c);
    if (status == RT_OK)
        keep_numbers(c, numbers);
    return status;
}

static int end_forecast(void *context, size_t item)
{
    struct search *search = context;
    uint32_t candidate = search->list[item];
    count_item(context, item);
    return search->journal != NULL && !search->table.done[candidate]
               ? rt_point_journal_add(search->journal, &search->table, candidate)
               : RT_OK;
}

/* --- the best of a cell --- */

static double value_of(const struct rt_training_candidate *c, enum rt_training_cost cost)
{
    return cost == RT_COST_JOULES ? c->joules : c->time_us;
}

/* Over a budget of joules: what takes less time may take more of them. */
static bool is_over(const struct rt_training_plan *plan, uint32_t i)
{
    return !isnan(plan->request->budget[RT_COST_JOULES]) && !rt_training_in_budget(plan, i);
}

static bool is_better(const struct rt_training_plan *plan, uint32_t a, uint32_t b, enum rt_training_cost cost)
{
    bool over = is_over(plan, a);
    return over != is_over(plan, b)
               ? !over
               : value_of(&plan->candidate[a], cost) < value_of(&plan->candidate[b], cost);
}

/* Keeps the best in order; of equal ones the first. */
static void keep(struct rt_training_plan *plan, struct rt_training_cell *cell, uint32_t i,
                 enum rt_training_cost cost, size_t most)
{
    uint32_t *best = cell->best[cost];
    size_t at = cell->best_count[cost];
    if (isnan(value_of(&plan->candidate[i], cost)))
        return;
    while (at > 0 && is_better(plan, i, best[at - 1], cost))
        at--;
    if (at == most)
        return;
    size_t kept = cell->best_count[cost] < most ? cell->best_count[cost]++ : most - 1;
    for (; kept > at; kept--)
        best[kept] = best[kept - 1];
    best[at] = i;
}

/* What a bound must be below to be worth a forecast. */
static double worst_kept(const struct rt_training_plan *plan, const struct rt_training_cell *cell,
                         enum rt_training_cost cost, size_t most)
{
    if (cell->best_count[cost] < most || is_over(plan, cell->best[cost][most - 1]))
        return INFINITY;
    return value_of(&plan->candidate[cell->best[cost][most - 1]], cost);
}

struct bounded {
    double bound;
    uint32_t candidate;
};

static int compare(const void *x, const void *y)
{
    const struct bounded *a = x, *b = y;
    return a->bound != b->bound ? (a->bound > b->bound) - (a->bound < b->bound)
                                : (a->candidate > b->candidate) - (a->candidate < b->candidate);
}

/* Those of a cell that may be worth it, the best bound first. */
static size_t list_bounded(const struct rt_training_plan *plan, const struct rt_training_cell *cell,
                           enum rt_training_cost cost, struct bounded *out)
{
    size_t count = 0;
    for (size_t i = cell->first; i < cell->first + cell->count; i++) {
        const struct rt_training_candidate *c = &plan->candidate[i];
        double bound = c->bound_us;
        if (c->fate == RT_TRAINING_BELOW && !is_ours(plan, c))
            continue;
        if (c->fate == RT_TRAINING_BELOW && cost == RT_COST_JOULES)
            bound = rt_training_least_joules(plan, c);
        if (c->fate == RT_TRAINING_BELOW && !isnan(bound))
            out[count++] = (struct bounded){bound, (uint32_t)i};
    }
    qsort(out, count, sizeof *out, compare);
    return count;
}

static int forecast_wave(struct search *search, struct rt_training_cell *cell, const uint32_t *wave,
                         size_t count)
{
    search->list = wave;
    int status = run_items(search, count, forecast, end_forecast);
    for (size_t i = 0; status == RT_OK && i < count; i++) {
        const struct rt_training_candidate *c = &search->plan->candidate[wave[i]];
        search->plan->forecast_count += c->fate != RT_TRAINING_CUT && !cell->weak;
        if (c->fate != RT_TRAINING_SLOWER)
            continue;
        keep(search->plan, cell, wave[i], RT_COST_HOURS, RT_TRAINING_KEPT);
        keep(search->plan, cell, wave[i], RT_COST_JOULES, 1);
    }
    return status;
}

/* Forecasts until no bound is below what was found. */
static int search_by(struct search *search, struct rt_training_cell *cell, enum rt_training_cost cost,
                     size_t most)
{
    struct rt_training_plan *plan = search->plan;
    struct bounded *left = rt_malloc((cell->count + 1) * sizeof *left);
    size_t count = list_bounded(plan, cell, cost, left);
    int status = RT_OK;
    for (size_t at = 0; status == RT_OK && at < count;) {
        uint32_t wave[WAVE];
        size_t chosen = 0;
        double worst = plan->request->exhaustive ? INFINITY : worst_kept(plan, cell, cost, most);
        while (at < count && chosen < WAVE && left[at].bound < worst)
            wave[chosen++] = left[at++].candidate;
        if (chosen == 0)
            break;
        status = forecast_wave(search, cell, wave, chosen);
    }
    free(left);
    return status;
}

static int search_cell(struct search *search, struct rt_training_cell *cell)
{
    struct rt_training_plan *plan = search->plan;
    search->energy = !isnan(plan->request->gpu[cell->gpu].device.power_w) && !cell->weak;
    int status = search_by(search, cell, RT_COST_HOURS, cell->weak ? 1 : RT_TRAINING_KEPT);
    if (status == RT_OK && search->energy)
        status = search_by(search, cell, RT_COST_JOULES, 1);
    for (int cost = 0; cost < RT_COSTS; cost++)
        for (size_t b = 0; b < cell->best_count[cost]; b++)
            plan->candidate[cell->best[cost][b]].fate = RT_TRAINING_BEST;
    return status;
}

/* --- the whole --- */

static bool any_best(const struct rt_training_plan *plan)
{
    for (size_t i = 0; i < plan->cell_count; i++)
        if (plan->cell[i].best_count[RT_COST_HOURS] > 0)
            return true;
    return false;
}

/* What all numbers follow from: what was asked for, what can be, and what model, predictor and device make of
 * a shape. */
static int key_of(struct search *search, uint64_t *key)
{
    struct rt_training_plan *plan = search->plan;
    struct rt_network_memo *memo = rt_network_memo_new();
    size_t s = 0;
    *key = plan->request->key;
    for (size_t i = 0; i < plan->candidate_count; i++) {
        const struct rt_training_candidate *c = &plan->candidate[i];
        *key =
            rt_hash(rt_hash(rt_hash(*key, &c->cell, sizeof c->cell), c->value, sizeof c->value), &c->fate, 1);
    }
    while (s < plan->shape_count && plan->shape[s].refused != NULL)
        s++;
    bool timed = s == plan->shape_count || plan->shape[s].timed;
    int status = timed ? RT_OK : rt_training_shape_time(plan, memo, &plan->shape[s]);
    if (status == RT_OK && s < plan->shape_count)
        *key = rt_hash(*key, &plan->shape[s].all_us, sizeof(double));
    rt_network_memo_free(memo);
    return status;
}

static int search_cells(struct search *search)
{
    struct rt_training_plan *plan = search->plan;
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < plan->cell_count; i++)
        status = search_cell(search, &plan->cell[i]);
    return status;
}

static int search_with_journal(struct search *search, const char *output)
{
    struct rt_training_plan *plan = search->plan;
    struct rt_point_journal journal;
    size_t count = plan->candidate_count;
    search->table = (struct rt_point_table){.what = "plan",
                                            .points = count,
                                            .width = TRAINED_NUMBERS,
                                            .chunk = 1,
                                            .numbers = rt_calloc(count * TRAINED_NUMBERS + 1, sizeof(double)),
                                            .done = rt_calloc(count + 1, sizeof(bool))};
    int status = key_of(search, &search->table.key);
    if (status == RT_OK)
        status = rt_point_journal_open(output, plan->request->shard, plan->request->overwrite, &search->table,
                                       &journal);
    if (status == RT_OK) {
        search->journal = &journal;
        status = search_cells(search);
        rt_point_journal_close(&journal);
    }
    if (status == RT_OK && plan->request->shard.of > 0)
        rt_point_journal_say(output, plan->request->shard, &search->table);
    free(search->table.numbers);
    free(search->table.done);
    return status;
}

static int make(const struct rt_training_request *request, struct rt_threads *pool, const char *output,
                struct rt_training_plan *out)
{
    struct search search = {.plan = out, .pool = pool};
    *out = (struct rt_training_plan){.request = request,
                                     .trainer = rt_trainer_of((enum rt_runtime_id)request->step.runtime)};
    int status = rt_training_list(out);
    if (status == RT_OK && request->step.run.checkpoint_gbs > 0)
        status = rt_checkpoint_bytes(&request->step, request->source, &out->checkpoint_bytes);
    if (status != RT_OK)
        return status;
    rt_progress_start(&search.progress, "plan: forecasts", 0, request->quiet);
    status = prepare(&search);
    if (status == RT_OK)
        status = output != NULL ? search_with_journal(&search, output) : search_cells(&search);
    rt_progress_end(&search.progress);
    rt_network_memos_release(&search.memos);
    return status;
}

/* --- nothing fits --- */

/* The candidate that lacks the least memory; -1: none was refused for memory. */
static int64_t nearest(const struct rt_training_plan *plan, double *missing)
{
    int64_t best = -1;
    *missing = INFINITY;
    for (size_t i = 0; i < plan->asked_count; i++) {
        const struct rt_training_candidate *c = &plan->candidate[i];
        double lacks = c->memory_bytes - rt_training_most_bytes(plan, c);
        if (lacks < *missing) {
            *missing = lacks;
            best = (int64_t)i;
        }
    }
    return best;
}

/* The fewest GPUs that do, by doubling: 0 where none of a few doublings does. */
static int64_t enough_gpus(const struct rt_training_request *request, struct rt_threads *pool)
{
    struct rt_training_request more = *request;
    int64_t found = 0;
    more.quiet = true;
    more.strong = true;
    more.shard = (struct rt_shard){0, 0};
    more.gpus_count = 1;
    for (int doubling = 0; doubling < 6 && found == 0; doubling++) {
        struct rt_training_plan plan;
        more.gpus[0] = 2 * (doubling == 0 ? request->gpus[request->gpus_count - 1] : more.gpus[0]);
        if (more.gpus[0] > request->step.batch * 64)
            break;
        int status = make(&more, pool, NULL, &plan);
        found = status == RT_OK && any_best(&plan) ? more.gpus[0] : 0;
        rt_training_plan_release(&plan);
        if (status != RT_OK && status != RT_EUSAGE)
            break;
    }
    return found;
}

/* Why the first candidate that cannot be cut cannot: settling or building it says so. */
static int refuse_cut(const struct rt_training_plan *plan)
{
    const struct rt_training_candidate *c = &plan->candidate[0];
    if (c->shape != UINT32_MAX && plan->shape[c->shape].refused != NULL)
        return rt_fail(RT_EUSAGE, "%s", plan->shape[c->shape].refused);
    struct rt_step step = rt_training_step(plan, c);
    struct rt_settled_step settled;
    int status = rt_step_settle(&step, plan->request->source,
                                &plan->request->gpu[plan->cell[c->cell].gpu].device, &settled);
    rt_settled_step_release(&settled);
    return status != RT_OK ? status : rt_fail(RT_EUSAGE, "no candidate can be cut as asked");
}

static int refuse(const struct rt_training_plan *plan, struct rt_threads *pool)
{
    double missing;
    int64_t near = nearest(plan, &missing);
    if (near < 0)
        return refuse_cut(plan);
    const struct rt_training_candidate *c = &plan->candidate[near];
    const struct rt_training_cell *cell = &plan->cell[c->cell];
    char *words = rt_training_words(c);
    int64_t enough = enough_gpus(plan->request, pool);
    int status =
        rt_fail(RT_EUSAGE,
                "%s: training fits on no cut of %" PRId64 " %s: the nearest (%s) lacks %.2f GiB on each GPU",
                plan->request->source->spec, cell->gpus, plan->request->gpu[cell->gpu].device.name, words,
                missing / RT_GIB);
    if (enough > 0)
        status = rt_fail(RT_EUSAGE, "%s; what would fit: {gpus} %" PRId64, rt_error(), enough);
    free(words);
    return status;
}

int rt_training_plan_make(const struct rt_training_request *request, struct rt_threads *pool,
                          const char *output, struct rt_training_plan *out)
{
    int status = make(request, pool, output, out);
    if (status == RT_OK && request->shard.of == 0 && !any_best(out))
        status = refuse(out, pool);
    return status;
}
