/* The search. See plan.h. */
#include "base/pareto.h"
#include "base/point_journal.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/shared_work.h"
#include "predict/serving/plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- work that threads share --- */

struct search {
    struct rt_serving_plan *plan;
    struct rt_threads *pool;
    struct rt_network_memos memos;
    struct rt_progress progress;
    /* Simulations: */
    const uint32_t *wave; /* candidates */
    uint32_t *row;        /* (candidates): of the table, whatever the order of the simulations */
    struct rt_point_table table;
    struct rt_point_journal *journal; /* NULL: none */
};

/* --- engines --- */

static void list_engines(struct rt_serving_plan *plan)
{
    const struct rt_serving_request *request = plan->request;
    size_t cuts;
    struct rt_parallelism *cut =
        rt_serving_cuts(&request->source->model, request->server, request->gpus, request->gpus_count, &cuts);
    plan->engine = rt_calloc(request->gpu_count * request->quant_count * cuts + 1, sizeof *plan->engine);
    for (uint32_t g = 0; g < request->gpu_count; g++)
        for (uint32_t q = 0; q < request->quant_count; q++)
            for (size_t c = 0; c < cuts; c++)
                plan->engine[plan->engine_count++] =
                    (struct rt_serving_engine){.gpu = g, .quant = q, .cut = cut[c]};
    free(cut);
}

static int fill_engine(void *context, size_t item, size_t member)
{
    struct search *search = context;
    return rt_serving_engine_fill(search->plan->request, rt_network_memo_of(&search->memos, member),
                                  &search->plan->engine[item]);
}

static int end_engine(void *context, size_t item)
{
    (void)item;
    rt_progress_step(&((struct search *)context)->progress, 1, "");
    return RT_OK;
}

static int fill_engines(struct search *search)
{
    rt_progress_start(&search->progress, "plan: steps", (double)search->plan->engine_count,
                      search->plan->request->quiet);
    int status = rt_shared_work_run(&(struct rt_shared_work){fill_engine, end_engine, search}, search->pool,
                                    search->plan->engine_count);
    rt_progress_end(&search->progress);
    return status == RT_EINTERRUPTED ? rt_fail(status, "interrupted before the first simulation") : status;
}

static bool any_engine(const struct rt_serving_plan *plan)
{
    for (size_t e = 0; e < plan->engine_count; e++)
        if (plan->engine[e].refused == RT_SERVING_FATES)
            return true;
    return false;
}

/* --- simulations, wave by wave --- */

static int simulate(void *context, size_t item, size_t member)
{
    struct search *search = context;
    size_t row = search->row[search->wave[item]];
    (void)member;
    return search->table.done[row] ? RT_OK
                                   : rt_serving_simulate(search->plan, search->wave[item],
                                                         search->table.numbers + row * RT_PLANNED_NUMBERS);
}

static int end_simulation(void *context, size_t item)
{
    struct search *search = context;
    size_t row = search->row[search->wave[item]];
    rt_progress_step(&search->progress, 1, "");
    return search->journal != NULL && !search->table.done[row]
               ? rt_point_journal_add(search->journal, &search->table, row)
               : RT_OK;
}

/* After its simulation. */
static enum rt_serving_fate judge(const struct rt_serving_request *request, const double *numbers)
{
    if (numbers[RT_PLANNED_REQUESTS] < request->rate)
        return RT_SERVING_MISSED_RATE;
    double longer = !(request->risk > 0) ? 0 : numbers[RT_PLANNED_INTERVAL];
    if (longer + rt_serving_target_miss(&request->ttft, numbers + RT_PLANNED_TTFT) > 0)
        return RT_SERVING_MISSED_TTFT;
    bool late = longer + rt_serving_target_miss(&request->tpot, numbers + RT_PLANNED_TPOT) > 0;
    return late ? RT_SERVING_MISSED_TPOT : RT_SERVING_FRONT;
}

/* Is a candidate's bound below a plan that was found, of the same kind of GPU and to be had wherever it is?
 */
static bool is_below(const struct rt_serving_plan *plan, uint32_t candidate, uint32_t found)
{
    const struct rt_serving_candidate *c = &plan->candidate[candidate], *f = &plan->candidate[found];
    bool alike = plan->engine[c->engine].gpu == plan->engine[f->engine].gpu;
    if (!alike || (isnan(plan->request->rate) ? c->gpus % f->gpus != 0 : c->gpus < f->gpus))
        return false;
    double user = rt_serving_user_rate(plan, found), gpu = rt_serving_gpu_rate(plan, found);
    return user >= c->most_user && gpu >= c->most_gpu;
}

/* Those that are not simulated yet and that no plan of the last wave stands above; their number. */
static size_t drop_below(struct rt_serving_plan *plan, uint32_t *left, size_t count, const uint32_t *wave,
                         size_t wave_count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t candidate = left[i];
        bool drop = plan->simulated[candidate] != UINT32_MAX;
        for (size_t w = 0; !drop && !plan->request->exhaustive && w < wave_count; w++)
            if (plan->fate[wave[w]] == RT_SERVING_FRONT && is_below(plan, candidate, wave[w])) {
                plan->fate[candidate] = RT_SERVING_BELOW;
                drop = true;
            }
        if (!drop)
            left[kept++] = candidate;
    }
    return kept;
}

/* Of the candidates of one kind and number of GPUs (all of the same `group`) the front of the bounds. */
static void choose_group(const struct rt_serving_plan *plan, const uint32_t *left, size_t count, bool *front)
{
    double *values = rt_malloc((2 * count + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        front[i] = true;
        values[2 * i] = -plan->candidate[left[i]].most_user;
        values[2 * i + 1] = -plan->candidate[left[i]].most_gpu;
    }
    if (!plan->request->exhaustive)
        rt_pareto(values, count, 2, front);
    free(values);
}

static bool is_alike(const struct rt_serving_plan *plan, uint32_t a, uint32_t b)
{
    const struct rt_serving_candidate *x = &plan->candidate[a], *y = &plan->candidate[b];
    return x->gpus == y->gpus && plan->engine[x->engine].gpu == plan->engine[y->engine].gpu;
}

/* What may beat all others, by its bound, of each kind and number of GPUs; `left` is sorted by them. */
static size_t choose_wave(const struct rt_serving_plan *plan, const uint32_t *left, size_t count,
                          uint32_t *wave)
{
    bool *front = rt_malloc(count + 1);
    size_t chosen = 0;
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && is_alike(plan, left[from], left[to]);)
            to++;
        choose_group(plan, left + from, to - from, front);
        for (size_t i = from; i < to; i++)
            if (front[i - from])
                wave[chosen++] = left[i];
    }
    free(front);
    return chosen;
}

static int run_wave(struct search *search, const uint32_t *wave, size_t count)
{
    struct rt_serving_plan *plan = search->plan;
    search->wave = wave;
    int status =
        rt_shared_work_run(&(struct rt_shared_work){simulate, end_simulation, search}, search->pool, count);
    if (status != RT_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        plan->simulated[wave[i]] = search->row[wave[i]];
        plan->found_count++;
        plan->fate[wave[i]] = (uint8_t)judge(plan->request, rt_serving_numbers(plan, wave[i]));
    }
    return RT_OK;
}

static int run_waves(struct search *search, uint32_t *left, size_t count)
{
    uint32_t *wave = rt_malloc((count + 1) * sizeof *wave);
    size_t all = count;
    int status = RT_OK;
    rt_progress_start(&search->progress, "plan: simulations", (double)all, search->plan->request->quiet);
    while (status == RT_OK && count > 0) {
        size_t chosen = choose_wave(search->plan, left, count, wave);
        status = run_wave(search, wave, chosen);
        if (status == RT_OK)
            count = drop_below(search->plan, left, count, wave, chosen);
        rt_progress_step(&search->progress, (double)(all - count) - search->progress.done, "");
    }
    rt_progress_end(&search->progress);
    free(wave);
    if (status != RT_EINTERRUPTED)
        return status;
    rt_fail(status, "interrupted after %zu simulations", search->plan->found_count);
    return search->journal != NULL
               ? rt_fail_remedy(status, "the same command goes on with them")
               : rt_fail_remedy(status, "with {csv} the same command would go on with them");
}

/* What all numbers follow from: engines' costs and bounds know model, predictor and devices; the rest is the
 * request's. */
static uint64_t key_of(const struct rt_serving_plan *plan)
{
    const struct rt_serving_request *r = plan->request;
    const struct rt_serving_traffic *t = &r->traffic;
    const double reals[] = {r->rate,
                            r->confidence,
                            r->link_gbs,
                            r->move_gbs,
                            r->risk,
                            r->headroom,
                            r->load.prefix_share,
                            r->load.think_us,
                            t->input,
                            t->output,
                            r->load.ramp_us,
                            t->prompt,
                            t->context,
                            r->draft != NULL ? r->draft->accepted : 0};
    const int64_t whole[] = {t->longest_input,
                             t->longest,
                             t->least_input,
                             r->requests,
                             (int64_t)r->seed,
                             r->exhaustive,
                             (int64_t)r->fabric,
                             r->images,
                             r->image,
                             r->spare,
                             r->draft != NULL ? r->draft->drafted : 0};
    uint64_t hash = rt_hash(rt_hash(RT_HASH_START, reals, sizeof reals), whole, sizeof whole);
    hash = rt_hash(rt_hash(hash, &r->ttft, sizeof r->ttft), &r->tpot, sizeof r->tpot);
    hash = rt_hash(hash, r->server->name, strlen(r->server->name));
    for (size_t c = 0; c < plan->candidate_count; c++)
        hash = rt_hash(hash, &plan->candidate[c], sizeof plan->candidate[c]);
    for (size_t e = 0; e < plan->engine_count; e++) {
        hash = rt_hash(hash, &plan->engine[e].prompt_us, sizeof(double));
        hash = rt_hash(hash, &plan->engine[e].token_us, sizeof(double));
        hash = rt_hash(hash, &plan->engine[e].deployment.group.cache_tokens, sizeof(double));
    }
    return rt_hash(hash, plan->fate, plan->candidate_count);
}

/* Those that are to be simulated, by kind and number of GPUs. */
static size_t list_left(const struct rt_serving_plan *plan, uint32_t *left)
{
    const struct rt_serving_request *request = plan->request;
    size_t count = 0;
    for (size_t gpu = 0; gpu < request->gpu_count; gpu++)
        for (size_t g = 0; g < request->gpus_count; g++)
            for (size_t c = 0; c < plan->candidate_count; c++)
                if (plan->fate[c] == RT_SERVING_FRONT && plan->candidate[c].gpus == request->gpus[g] &&
                    plan->engine[plan->candidate[c].engine].gpu == gpu)
                    left[count++] = (uint32_t)c;
    return count;
}

/* Numbers the rows of the table, and keeps of what is left the part that is the shard's. */
static size_t number_rows(struct search *search, uint32_t *left, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        search->row[left[i]] = (uint32_t)i;
        if (rt_shard_has(search->plan->request->shard, i))
            left[kept++] = left[i];
    }
    return kept;
}

static int search_all(struct search *search, const char *output)
{
    struct rt_serving_plan *plan = search->plan;
    uint32_t *left = rt_malloc((plan->candidate_count + 1) * sizeof *left);
    struct rt_point_journal journal;
    size_t count = list_left(plan, left);
    search->row = rt_malloc((plan->candidate_count + 1) * sizeof *search->row);
    search->table =
        (struct rt_point_table){.what = "plan",
                                .key = key_of(plan),
                                .points = count,
                                .width = RT_PLANNED_NUMBERS,
                                .chunk = 1,
                                .numbers = rt_calloc(count * RT_PLANNED_NUMBERS + 1, sizeof(double)),
                                .done = rt_calloc(count + 1, sizeof(bool))};
    plan->found = search->table.numbers;
    int status = output != NULL ? rt_point_journal_open(output, plan->request->shard,
                                                        plan->request->overwrite, &search->table, &journal)
                                : RT_OK;
    if (status == RT_OK) {
        search->journal = output != NULL ? &journal : NULL;
        plan->resumed = search->table.resumed;
        status = run_waves(search, left, number_rows(search, left, count));
        if (output != NULL)
            rt_point_journal_close(&journal);
    }
    if (status == RT_OK && plan->request->shard.of > 0)
        rt_point_journal_say(output, plan->request->shard, &search->table);
    free(search->table.done);
    free(search->row);
    free(left);
    return status;
}

/* --- the front --- */

/* Of what meets the targets, of one kind of GPU. */
static void mark_front_of(struct rt_serving_plan *plan, size_t gpu)
{
    double *values = rt_malloc((2 * plan->found_count + 1) * sizeof *values);
    bool *front = rt_malloc(plan->found_count + 1);
    uint32_t *met = rt_malloc((plan->found_count + 1) * sizeof *met);
    size_t count = 0;
    for (uint32_t c = 0; c < plan->candidate_count; c++) {
        if (plan->simulated[c] == UINT32_MAX || plan->fate[c] != RT_SERVING_FRONT ||
            plan->engine[plan->candidate[c].engine].gpu != gpu)
            continue;
        front[count] = true;
        values[2 * count] = -rt_serving_user_rate(plan, c);
        values[2 * count + 1] = -rt_serving_gpu_rate(plan, c);
        met[count++] = c;
    }
    rt_pareto(values, count, 2, front);
    for (size_t i = 0; i < count; i++)
        plan->fate[met[i]] = front[i] ? RT_SERVING_FRONT : RT_SERVING_BEATEN;
    free(met);
    free(values);
    free(front);
}

/* --- the whole --- */

int rt_serving_plan_make(const struct rt_serving_request *request, struct rt_threads *pool,
                         const char *output, struct rt_serving_plan *out)
{
    *out = (struct rt_serving_plan){.request = request};
    struct search search = {.plan = out, .pool = pool};
    list_engines(out);
    int status = fill_engines(&search);
    if (status == RT_OK && !any_engine(out))
        status = rt_serving_refuse(out);
    if (status == RT_OK)
        status = rt_serving_list_candidates(out);
    if (status == RT_OK) {
        out->simulated = rt_malloc((out->candidate_count + 1) * sizeof *out->simulated);
        memset(out->simulated, 0xff, out->candidate_count * sizeof *out->simulated);
        status = search_all(&search, output);
    }
    for (size_t gpu = 0; status == RT_OK && gpu < request->gpu_count; gpu++)
        mark_front_of(out, gpu);
    rt_network_memos_release(&search.memos);
    return status;
}
