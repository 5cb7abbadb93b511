/* The search. See plan.h. */
#include "base/pareto.h"
#include "base/point_journal.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/strings.h"
#include "predict/serving/plan/plan.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* --- work that threads share --- */

struct work {
    struct rt_serving_plan *plan;
    int (*item)(struct work *work, size_t item, struct rt_network_memo *memo);
    pthread_mutex_t lock; /* of what follows */
    size_t next, end;     /* items */
    int status;
    char *sentence; /* of a thread that failed: rt_error() is its own */
    struct rt_progress progress;
    double done; /* of the progress */
    /* Simulations: */
    const uint32_t *wave; /* candidates; the first goes into row `from` of the table */
    size_t from;
    struct rt_point_table table;
    struct rt_point_journal *journal; /* NULL: none */
};

static size_t take_item(struct work *work)
{
    pthread_mutex_lock(&work->lock);
    if (work->status == RT_OK && rt_interrupted())
        work->status = RT_EINTERRUPTED;
    size_t item = work->status == RT_OK && work->next < work->end ? work->next++ : SIZE_MAX;
    pthread_mutex_unlock(&work->lock);
    return item;
}

static void fail(struct work *work, int status)
{
    pthread_mutex_lock(&work->lock);
    if (work->status == RT_OK) {
        work->status = status;
        work->sentence = rt_strdup(rt_error());
    }
    pthread_mutex_unlock(&work->lock);
}

static void member(void *context, size_t number)
{
    struct work *work = context;
    struct rt_network_memo *memo = rt_network_memo_new();
    (void)number;
    for (size_t item; (item = take_item(work)) != SIZE_MAX;) {
        int status = work->item(work, item, memo);
        if (status != RT_OK)
            fail(work, status);
    }
    rt_network_memo_free(memo);
}

static void advance(struct work *work, double by)
{
    pthread_mutex_lock(&work->lock);
    work->done += by;
    rt_progress_update(&work->progress, work->done, "%s", "");
    pthread_mutex_unlock(&work->lock);
}

static int run_items(struct work *work, struct rt_threads *pool, size_t count,
                     int (*item)(struct work *, size_t, struct rt_network_memo *))
{
    work->item = item;
    work->next = 0;
    work->end = count;
    rt_threads_run(pool, member, work);
    if (work->status == RT_EINTERRUPTED)
        return RT_EINTERRUPTED;
    return work->status == RT_OK ? RT_OK : rt_fail(work->status, "%s", work->sentence);
}

/* --- engines --- */

static void list_engines(struct rt_serving_plan *plan)
{
    const struct rt_serving_request *request = plan->request;
    size_t cuts;
    struct rt_parallelism *cut =
        rt_serving_cuts(&request->source->model, request->gpus, request->gpus_count, &cuts);
    plan->engine = rt_calloc(request->gpu_count * request->quant_count * cuts + 1, sizeof *plan->engine);
    for (uint32_t g = 0; g < request->gpu_count; g++)
        for (uint32_t q = 0; q < request->quant_count; q++)
            for (size_t c = 0; c < cuts; c++)
                plan->engine[plan->engine_count++] =
                    (struct rt_serving_engine){.gpu = g, .quant = q, .cut = cut[c]};
    free(cut);
}

static int fill_engine(struct work *work, size_t item, struct rt_network_memo *memo)
{
    int status = rt_serving_engine_fill(work->plan->request, memo, &work->plan->engine[item]);
    advance(work, 1);
    return status;
}

static int fill_engines(struct work *work, struct rt_threads *pool)
{
    rt_progress_start(&work->progress, "plan: steps", (double)work->plan->engine_count,
                      work->plan->request->quiet);
    int status = run_items(work, pool, work->plan->engine_count, fill_engine);
    rt_progress_end(&work->progress);
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

static int simulate(struct work *work, size_t item, struct rt_network_memo *memo)
{
    size_t row = work->from + item;
    int status = RT_OK;
    (void)memo;
    if (!work->table.done[row])
        status =
            rt_serving_simulate(work->plan, work->wave[item], work->table.numbers + row * RT_PLANNED_NUMBERS);
    if (status == RT_OK && work->journal != NULL && !work->table.done[row]) {
        pthread_mutex_lock(&work->lock);
        status = rt_point_journal_add(work->journal, &work->table, row);
        pthread_mutex_unlock(&work->lock);
    }
    advance(work, 1);
    return status;
}

/* After its simulation. */
static enum rt_serving_fate judge(const struct rt_serving_request *request, const double *numbers)
{
    if (numbers[RT_PLANNED_REQUESTS] < request->rate)
        return RT_SERVING_MISSED_RATE;
    if (numbers[RT_PLANNED_TTFT] > request->ttft_us)
        return RT_SERVING_MISSED_TTFT;
    return numbers[RT_PLANNED_TPOT] > request->tpot_us ? RT_SERVING_MISSED_TPOT : RT_SERVING_FRONT;
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

static int run_wave(struct work *work, struct rt_threads *pool, const uint32_t *wave, size_t count)
{
    struct rt_serving_plan *plan = work->plan;
    work->wave = wave;
    work->from = plan->found_count;
    for (size_t i = 0; i < count; i++)
        plan->resumed += work->table.done[work->from + i];
    int status = run_items(work, pool, count, simulate);
    if (status != RT_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        plan->simulated[wave[i]] = (uint32_t)plan->found_count++;
        plan->fate[wave[i]] = (uint8_t)judge(plan->request, rt_serving_numbers(plan, wave[i]));
    }
    return RT_OK;
}

static int run_waves(struct work *work, struct rt_threads *pool, uint32_t *left, size_t count)
{
    uint32_t *wave = rt_malloc((count + 1) * sizeof *wave);
    size_t all = count;
    int status = RT_OK;
    rt_progress_start(&work->progress, "plan: simulations", (double)all, work->plan->request->quiet);
    while (status == RT_OK && count > 0) {
        size_t chosen = choose_wave(work->plan, left, count, wave);
        status = run_wave(work, pool, wave, chosen);
        if (status == RT_OK)
            count = drop_below(work->plan, left, count, wave, chosen);
        work->done = (double)(all - count);
    }
    rt_progress_end(&work->progress);
    free(wave);
    if (status != RT_EINTERRUPTED)
        return status;
    rt_fail(status, "interrupted after %zu simulations", work->plan->found_count);
    return work->journal != NULL
               ? rt_fail_remedy(status, "the same command goes on with them")
               : rt_fail_remedy(status, "with {csv} the same command would go on with them");
}

/* What all numbers follow from: engines' costs and bounds know model, predictor and devices; the rest is the
 * request's. */
static uint64_t key_of(const struct rt_serving_plan *plan)
{
    const struct rt_serving_request *r = plan->request;
    const double reals[] = {r->ttft_us, r->tpot_us, r->rate, r->confidence, r->link_gbs, r->move_gbs};
    const int64_t whole[] = {r->isl,           r->osl,        r->percentile,     r->requests,
                             (int64_t)r->seed, r->exhaustive, (int64_t)r->fabric};
    uint64_t hash = rt_hash(rt_hash(RT_HASH_START, reals, sizeof reals), whole, sizeof whole);
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

static int search(struct work *work, struct rt_threads *pool, const char *output)
{
    struct rt_serving_plan *plan = work->plan;
    uint32_t *left = rt_malloc((plan->candidate_count + 1) * sizeof *left);
    struct rt_point_journal journal;
    size_t count = list_left(plan, left);
    work->done = 0;
    work->table =
        (struct rt_point_table){.what = "plan",
                                .key = key_of(plan),
                                .points = count,
                                .width = RT_PLANNED_NUMBERS,
                                .chunk = 1,
                                .numbers = rt_calloc(count * RT_PLANNED_NUMBERS + 1, sizeof(double)),
                                .done = rt_calloc(count + 1, sizeof(bool))};
    plan->found = work->table.numbers;
    int status = output != NULL
                     ? rt_point_journal_open(output, plan->request->overwrite, &work->table, &journal)
                     : RT_OK;
    if (status == RT_OK) {
        work->journal = output != NULL ? &journal : NULL;
        status = run_waves(work, pool, left, count);
        if (output != NULL)
            rt_point_journal_close(&journal);
    }
    free(work->table.done);
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
    for (size_t f = 0; f < plan->found_count; f++) {
        uint32_t c = (uint32_t)plan->found[f * RT_PLANNED_NUMBERS + RT_PLANNED_CANDIDATE];
        if (plan->fate[c] != RT_SERVING_FRONT || plan->engine[plan->candidate[c].engine].gpu != gpu)
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
    struct work work = {.plan = out};
    pthread_mutex_init(&work.lock, NULL);
    list_engines(out);
    int status = fill_engines(&work, pool);
    if (status == RT_OK && !any_engine(out))
        status = rt_serving_refuse(out);
    if (status == RT_OK)
        status = rt_serving_list_candidates(out);
    if (status == RT_OK) {
        out->simulated = rt_malloc((out->candidate_count + 1) * sizeof *out->simulated);
        memset(out->simulated, 0xff, out->candidate_count * sizeof *out->simulated);
        status = search(&work, pool, output);
    }
    for (size_t gpu = 0; status == RT_OK && gpu < request->gpu_count; gpu++)
        mark_front_of(out, gpu);
    pthread_mutex_destroy(&work.lock);
    free(work.sentence);
    return status;
}
