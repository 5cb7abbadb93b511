/* What is known of a plan's candidates. See plan.h. */
#include "predict/search/train/plan.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

void rt_training_plan_release(struct rt_training_plan *plan)
{
    for (size_t s = 0; s < plan->shape_count; s++) {
        rt_prediction_release(&plan->shape[s].prediction);
        free(plan->shape[s].refused);
        free(plan->shape[s].block_us);
    }
    free(plan->shape);
    free(plan->candidate);
    free(plan->cell);
    *plan = (struct rt_training_plan){.request = NULL};
}

static void totals_of(const struct rt_training_plan *plan, uint32_t candidate,
                      const struct rt_training_run *asked, struct rt_run_totals *out)
{
    const struct rt_training_candidate *c = &plan->candidate[candidate];
    const struct rt_training_cell *cell = &plan->cell[c->cell];
    struct rt_training_run run = *asked;
    struct rt_run_step step = {.time_us = c->time_us,
                               .joules = c->joules,
                               .items = (double)cell->batch,
                               .tokens = (double)cell->batch * (double)plan->request->step.sequence,
                               .gpus = cell->gpus,
                               .node_gpus = rt_training_node_gpus(plan, cell),
                               .checkpoint_bytes = plan->checkpoint_bytes};
    run.gpu_price = plan->request->gpu[cell->gpu].price;
    rt_run_totals(&run, &step, out);
}

void rt_training_totals(const struct rt_training_plan *plan, uint32_t candidate, struct rt_run_totals *out)
{
    totals_of(plan, candidate, &plan->request->step.run, out);
}

static double cost_of(const struct rt_run_totals *totals, enum rt_training_cost cost)
{
    return cost == RT_COST_HOURS ? totals->hours : cost == RT_COST_MONEY ? totals->money : totals->joules;
}

double rt_training_cost(const struct rt_training_plan *plan, uint32_t candidate, enum rt_training_cost cost)
{
    struct rt_run_totals totals;
    rt_training_totals(plan, candidate, &totals);
    return cost_of(&totals, cost);
}

bool rt_training_in_budget(const struct rt_training_plan *plan, uint32_t candidate)
{
    for (int cost = 0; cost < RT_COSTS; cost++)
        if (!isnan(plan->request->budget[cost]) &&
            !(rt_training_cost(plan, candidate, cost) <= plan->request->budget[cost]))
            return false;
    return true;
}

/* --- the best --- */

/* Of all cells' batches, for each sequence of one step: the same whatever the run's length. */
static double worth(const struct rt_training_plan *plan, uint32_t candidate, enum rt_training_cost cost)
{
    struct rt_training_run one = plan->request->step.run;
    struct rt_run_totals totals;
    one.tokens = 0;
    one.steps = 1;
    totals_of(plan, candidate, &one, &totals);
    return cost_of(&totals, cost) / (double)plan->cell[plan->candidate[candidate].cell].batch;
}

static void take_better(const struct rt_training_plan *plan, uint32_t candidate, enum rt_training_cost cost,
                        int64_t *best)
{
    double value = worth(plan, candidate, cost);
    if (isnan(value) || !rt_training_in_budget(plan, candidate))
        return;
    if (*best < 0 || value < worth(plan, (uint32_t)*best, cost))
        *best = (int64_t)candidate;
}

int64_t rt_training_best(const struct rt_training_plan *plan, enum rt_training_cost cost)
{
    int64_t best = -1;
    for (size_t i = 0; i < plan->cell_count; i++) {
        const struct rt_training_cell *cell = &plan->cell[i];
        for (int by = 0; !cell->weak && by < RT_COSTS; by++)
            for (size_t b = 0; b < cell->best_count[by]; b++)
                take_better(plan, cell->best[by][b], cost, &best);
    }
    return best;
}

int64_t rt_training_best_of(const struct rt_training_plan *plan, const struct rt_training_cell *cell)
{
    int64_t best = -1;
    for (size_t b = 0; b < cell->best_count[RT_COST_HOURS]; b++)
        take_better(plan, cell->best[RT_COST_HOURS][b], RT_COST_HOURS, &best);
    return best >= 0 || cell->best_count[RT_COST_HOURS] == 0 ? best : (int64_t)cell->best[RT_COST_HOURS][0];
}

/* --- words --- */

char *rt_training_words(const struct rt_training_candidate *c)
{
    static const char *const degrees[] = {[RT_AXIS_TP] = "tp", [RT_AXIS_CP] = "cp", [RT_AXIS_PP] = "pp",
                                          [RT_AXIS_VP] = "vp", [RT_AXIS_DP] = "dp", [RT_AXIS_EP] = "ep"};
    static const int order[] = {RT_AXIS_DP, RT_AXIS_TP, RT_AXIS_PP, RT_AXIS_VP, RT_AXIS_CP, RT_AXIS_EP};
    struct rt_text words = {0};
    for (size_t i = 0; i < RT_COUNT(order); i++)
        if (c->value[order[i]] > 1)
            rt_text_item(&words, ", ", "%s %d", degrees[order[i]], c->value[order[i]]);
    rt_text_item(&words, ", ", "micro batch %d x %d", c->value[RT_AXIS_MICRO_BATCH], c->microbatches);
    if (c->value[RT_AXIS_SHARD] != RT_SHARD_NONE)
        rt_text_item(&words, ", ", "shard %s", rt_shard_kinds[c->value[RT_AXIS_SHARD]]);
    if (c->value[RT_AXIS_SHARD_GPUS] > 0)
        rt_text_add(&words, " over %d", c->value[RT_AXIS_SHARD_GPUS]);
    if (c->value[RT_AXIS_RECOMPUTE] != RT_RECOMPUTE_NONE)
        rt_text_item(&words, ", ", "recompute %s", rt_recomputes[c->value[RT_AXIS_RECOMPUTE]]);
    return rt_text_take(&words);
}
