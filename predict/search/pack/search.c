/* The search. See pack.h. */
#include "base/status.h"
#include "predict/search/pack/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the bound: SMs are counted in so many steps at most, rounded in favour of what fits. */
enum { STEPS = 400 };
/* Placements tried for a group before it is given up as long enough. */
static const long MOST_TRIED = 300000;
static const double ROUNDING = 1e-12;

/* A share and a batch for a job, as if it had no neighbours' traffic. */
struct option {
    size_t share, batch;
    double sms, memory_bytes, work, margin;
    int steps;
};

struct search {
    const struct rt_pack_problem *problem;
    size_t job[RT_PACK_JOBS], count; /* of the group */
    double whole_rate[RT_PACK_JOBS]; /* by job */
    struct option *option[RT_PACK_JOBS];
    size_t options[RT_PACK_JOBS];
    double least_sms[RT_PACK_JOBS + 1]; /* of the jobs from that one on */
    double least_memory[RT_PACK_JOBS + 1];
    double work[RT_PACK_JOBS + 1][STEPS + 1], margin[RT_PACK_JOBS + 1][STEPS + 1]; /* at most, likewise */
    struct rt_pack_group trial, best;
    bool found;
    long tried;
};

static bool is_better(double work, double margin, const struct rt_pack_group *than)
{
    if (fabs(work - than->work) > ROUNDING * than->work)
        return work > than->work;
    return margin > than->margin;
}

/* Most work first, then most margin: what is found early prunes most. */
static int compare_options(const void *a, const void *b)
{
    const struct option *x = a, *y = b;
    if (x->work != y->work)
        return x->work > y->work ? -1 : 1;
    if (x->margin != y->margin)
        return x->margin > y->margin ? -1 : 1;
    return x->sms < y->sms ? -1 : x->sms > y->sms;
}

static void list_options(struct search *search, size_t i)
{
    const struct rt_pack_problem *problem = search->problem;
    size_t j = search->job[i];
    const struct rt_pack_job *job = &problem->job[j];
    search->option[i] = rt_malloc((problem->shares * job->batches + 1) * sizeof(struct option));
    for (size_t s = 0; s < problem->shares; s++)
        for (size_t b = 0; b < job->batches; b++) {
            struct rt_pack_place place = {.batch = b, .share = s};
            place.step_us = rt_pack_alone_us(problem, j, b, s, true);
            rt_pack_judge(job, search->whole_rate[j], &place);
            if (place.margin < 0)
                continue;
            search->option[i][search->options[i]++] =
                (struct option){.share = s,
                                .batch = b,
                                .sms = problem->share_sms[s],
                                .memory_bytes = job->batch[b].memory_bytes,
                                .work = place.work,
                                .margin = place.margin,
                                .steps = (int)floor(problem->share_sms[s] / problem->sms * STEPS)};
        }
    qsort(search->option[i], search->options[i], sizeof(struct option), compare_options);
}

/* Bounds of the jobs from the i-th on, by how many steps of SMs are left: the last job first. */
static void bound(struct search *search, size_t i)
{
    double sms = INFINITY, memory = INFINITY;
    for (int left = 0; left <= STEPS; left++)
        search->work[i][left] = search->margin[i][left] = -INFINITY;
    for (size_t o = 0; o < search->options[i]; o++) {
        const struct option *option = &search->option[i][o];
        sms = fmin(sms, option->sms);
        memory = fmin(memory, option->memory_bytes);
        for (int left = option->steps; left <= STEPS; left++) {
            int rest = left - option->steps;
            search->work[i][left] = fmax(search->work[i][left], option->work + search->work[i + 1][rest]);
            search->margin[i][left] =
                fmax(search->margin[i][left], fmin(option->margin, search->margin[i + 1][rest]));
        }
    }
    search->least_sms[i] = sms + search->least_sms[i + 1];
    search->least_memory[i] = memory + search->least_memory[i + 1];
}

/* Work and margin of the trial, whose step times are set. */
static void judge(const struct search *search, struct rt_pack_group *group)
{
    group->work = 0;
    group->margin = INFINITY;
    for (size_t i = 0; i < search->count; i++) {
        struct rt_pack_place *place = &group->place[search->job[i]];
        rt_pack_judge(&search->problem->job[search->job[i]], search->whole_rate[search->job[i]], place);
        group->work += place->work;
        group->margin = fmin(group->margin, place->margin);
    }
}

static void keep_if_better(struct search *search)
{
    judge(search, &search->trial);
    if (search->trial.margin < 0 ||
        (search->found && !is_better(search->trial.work, search->trial.margin, &search->best)))
        return;
    search->best = search->trial;
    search->found = true;
}

/* Places the jobs from the i-th on. */
static void place(struct search *search, size_t i, double sms, double memory, double work, double margin)
{
    if (i == search->count) {
        rt_pack_side_by_side(search->problem, &search->trial);
        keep_if_better(search);
        return;
    }
    struct rt_pack_place *here = &search->trial.place[search->job[i]];
    for (size_t o = 0; o < search->options[i] && search->tried < MOST_TRIED; o++) {
        const struct option *option = &search->option[i][o];
        double sms_left = sms - option->sms, memory_left = memory - option->memory_bytes;
        if (sms_left < search->least_sms[i + 1] || memory_left < search->least_memory[i + 1])
            continue;
        int steps = (int)fmin(STEPS, ceil(sms_left / search->problem->sms * STEPS) + (double)search->count);
        double most = work + option->work + search->work[i + 1][steps],
               at_most = fmin(fmin(margin, option->margin), search->margin[i + 1][steps]);
        if (search->found && !is_better(most, at_most, &search->best))
            continue;
        search->tried++;
        here->share = option->share;
        here->batch = option->batch;
        place(search, i + 1, sms_left, memory_left, work + option->work, fmin(margin, option->margin));
    }
}

static void search_side_by_side(struct search *search)
{
    const struct rt_pack_problem *problem = search->problem;
    size_t n = search->count;
    search->least_sms[n] = search->least_memory[n] = 0;
    for (int left = 0; left <= STEPS; left++) {
        search->work[n][left] = 0;
        search->margin[n][left] = INFINITY;
    }
    for (size_t i = n; i-- > 0;) {
        list_options(search, i);
        bound(search, i);
    }
    search->trial.way = RT_PACK_SHARED;
    search->tried = 0;
    if (search->least_sms[0] <= problem->sms && search->least_memory[0] <= problem->memory_bytes)
        place(search, 0, problem->sms, problem->memory_bytes, 0, INFINITY);
    for (size_t i = 0; i < n; i++)
        free(search->option[i]);
}

/* Turns in all combinations of batches. */
static void search_turns(struct search *search, size_t i, double memory)
{
    if (i == search->count) {
        rt_pack_turns(search->problem, &search->trial);
        keep_if_better(search);
        return;
    }
    const struct rt_pack_job *job = &search->problem->job[search->job[i]];
    for (size_t b = 0; b < job->batches && search->tried < MOST_TRIED; b++) {
        if (memory < job->batch[b].memory_bytes)
            continue;
        search->tried++;
        search->trial.place[search->job[i]].batch = b;
        search_turns(search, i + 1, memory - job->batch[b].memory_bytes);
    }
}

static void take_whole(struct search *search)
{
    size_t j = search->job[0];
    struct rt_pack_place *place = &search->trial.place[j];
    search->trial.way = RT_PACK_WHOLE;
    rt_pack_whole_rate(search->problem, j, &place->batch);
    place->alone_us = place->step_us = search->problem->job[j].batch[place->batch].whole_us;
    keep_if_better(search);
}

/* False where a job misses its targets alone. */
static bool begin(const struct rt_pack_problem *problem, uint32_t jobs, struct search *search)
{
    search->problem = problem;
    search->trial.jobs = jobs;
    for (size_t j = 0; j < problem->jobs; j++)
        if (jobs >> j & 1) {
            search->job[search->count++] = j;
            search->whole_rate[j] = rt_pack_whole_rate(problem, j, NULL);
            if (search->whole_rate[j] == 0)
                return false;
        }
    return search->count > 0;
}

bool rt_pack_best_group(const struct rt_pack_problem *problem, uint32_t jobs, unsigned ways,
                        struct rt_pack_group *out)
{
    struct search *search = rt_calloc(1, sizeof *search);
    bool exact = true, possible = begin(problem, jobs, search);
    if (possible && search->count == 1) {
        take_whole(search);
    } else if (possible) {
        if (ways >> RT_PACK_SLICED & 1) {
            search->trial.way = RT_PACK_SLICED;
            search_turns(search, 0, problem->memory_bytes);
            exact &= search->tried < MOST_TRIED;
        }
        if (ways >> RT_PACK_SHARED & 1) {
            search_side_by_side(search);
            exact &= search->tried < MOST_TRIED;
        }
    }
    bool found = search->found;
    if (found) {
        *out = search->best;
        out->exact = exact;
    }
    free(search);
    return found;
}

/* ---- groups ---- */

/* The best plan for a set of jobs on so many GPUs: of its last group and of the rest. */
struct cell {
    double work, margin;
    uint32_t group;
    bool possible;
};

struct partition {
    struct rt_pack_group *group; /* (2^jobs) by their bits */
    bool *possible;
    struct cell *cell; /* (gpus + 1, 2^jobs) */
    size_t sets, gpus;
};

/* Every group. One more job makes nothing faster, so a set with an impossible part is not tried. */
static void try_groups(const struct rt_pack_problem *problem, unsigned ways, struct partition *p)
{
    for (uint32_t set = 1; set < p->sets; set++) {
        bool possible = true;
        for (size_t j = 0; j < problem->jobs; j++) {
            uint32_t rest = set & ~(UINT32_C(1) << j);
            possible &= rest == set || rest == 0 || p->possible[rest];
        }
        p->possible[set] = possible && rt_pack_best_group(problem, set, ways, &p->group[set]);
    }
}

static void fill_cell(struct partition *p, size_t gpus, uint32_t set)
{
    struct cell *cell = &p->cell[gpus * p->sets + set];
    uint32_t first = set & -set;
    for (uint32_t group = set; group != 0; group = (group - 1) & set) {
        const struct cell *rest = &p->cell[(gpus - 1) * p->sets + (set & ~group)];
        if (!(group & first) || !p->possible[group] || !rest->possible)
            continue;
        struct rt_pack_group held = {.work = cell->work, .margin = cell->margin};
        double work = rest->work + p->group[group].work, margin = fmin(rest->margin, p->group[group].margin);
        if (!cell->possible || is_better(work, margin, &held))
            *cell = (struct cell){work, margin, group, true};
    }
}

static void take_plan(const struct partition *p, size_t gpus, struct rt_pack_plan *out)
{
    uint32_t set = (uint32_t)(p->sets - 1);
    *out = (struct rt_pack_plan){.gpus = gpus, .work = p->cell[gpus * p->sets + set].work, .exact = true};
    for (size_t i = 0; i < gpus; i++) {
        uint32_t group = p->cell[(gpus - i) * p->sets + set].group;
        out->group[i] = p->group[group];
        set &= ~group;
    }
    for (size_t g = 1; g < p->sets; g++) /* what was cut short might have been part of a better one */
        out->exact &= !p->possible[g] || p->group[g].exact;
}

bool rt_pack_best_plan(const struct rt_pack_problem *problem, size_t gpus, unsigned ways,
                       struct rt_pack_plan *out)
{
    struct partition p = {.sets = (size_t)1 << problem->jobs};
    size_t taken = 0;
    p.gpus = gpus == 0 || gpus > problem->jobs ? problem->jobs : gpus;
    p.group = rt_calloc(p.sets, sizeof *p.group);
    p.possible = rt_calloc(p.sets, sizeof *p.possible);
    p.cell = rt_calloc((p.gpus + 1) * p.sets, sizeof *p.cell);
    p.cell[0] = (struct cell){.margin = INFINITY, .possible = true};
    try_groups(problem, ways, &p);
    for (size_t g = 1; g <= p.gpus; g++) {
        for (uint32_t set = 1; set < p.sets; set++)
            fill_cell(&p, g, set);
        const struct cell *all = &p.cell[g * p.sets + p.sets - 1],
                          *before = &p.cell[taken * p.sets + p.sets - 1];
        struct rt_pack_group held = {.work = before->work, .margin = before->margin};
        if (all->possible && (taken == 0 || (gpus > 0 && is_better(all->work, all->margin, &held))))
            taken = g;
    }
    if (taken > 0)
        take_plan(&p, taken, out);
    free(p.group);
    free(p.possible);
    free(p.cell);
    return taken > 0;
}

void rt_pack_given_plan(const struct rt_pack_problem *problem, struct rt_pack_plan *out)
{
    struct search search = {.problem = problem};
    struct rt_pack_group *group = &out->group[0];
    *out = (struct rt_pack_plan){.gpus = 1, .exact = true};
    begin(problem, (UINT32_C(1) << problem->jobs) - 1, &search);
    *group = search.trial;
    group->way = RT_PACK_SHARED;
    for (size_t j = 0; j < problem->jobs; j++)
        group->place[j].share = j;
    rt_pack_side_by_side(problem, group);
    judge(&search, group);
    out->work = group->work;
}
