/* Packing: contention that only slows, and a search that finds what trying everything finds. Jobs are random
 * ones whose times fall with SMs and bandwidth. */
#include "base/random.h"
#include "predict/search/pack/pack.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum { SHARES = 7, BATCHES = 2 };
static const double share_sms[SHARES] = {2, 5, 8, 10, 12, 15, 18};

struct random_jobs {
    struct rt_pack_problem problem;
    struct rt_pack_job job[RT_PACK_JOBS];
    struct rt_pack_batch batch[RT_PACK_JOBS][BATCHES];
    double time_us[RT_PACK_JOBS][BATCHES][SHARES][RT_PACK_LEVELS], bytes[RT_PACK_JOBS][BATCHES][SHARES],
        watts[RT_PACK_JOBS][BATCHES][SHARES];
};

static double between(struct rt_random *random, double low, double high)
{
    return low + (high - low) * rt_random_uniform(random);
}

/* Compute on SMs, memory by bandwidth, host: the longest of them. */
static void draw_batch(struct rt_random *random, struct random_jobs *r, size_t j, size_t b)
{
    struct rt_pack_batch *batch = &r->batch[j][b];
    double items = b == 0 ? 1 : 4, compute = items * between(random, 100, 2000),
           memory = (1 + 0.3 * items) * between(random, 20, 1500), host = between(random, 0, 1500);
    double bandwidth = 1e3 * r->problem.bandwidth_gbs, whole = fmax(compute, memory);
    for (size_t s = 0; s < SHARES; s++) {
        r->bytes[j][b][s] = memory * bandwidth;
        r->watts[j][b][s] = between(random, 0, 100);
        for (size_t l = 0; l < RT_PACK_LEVELS; l++)
            r->time_us[j][b][s][l] =
                fmax(fmax(compute * 20 / share_sms[s], memory / rt_pack_levels[l]), host);
    }
    *batch = (struct rt_pack_batch){.items = (int64_t)items,
                                    .whole_us = fmax(whole, host),
                                    .kernels_us = whole,
                                    .host_us = host,
                                    .memory_bytes = between(random, 1, 5),
                                    .bytes = r->bytes[j][b],
                                    .watts = r->watts[j][b],
                                    .time_us = r->time_us[j][b][0]};
}

static void draw(struct rt_random *random, size_t jobs, struct random_jobs *r)
{
    memset(r, 0, sizeof *r);
    r->problem = (struct rt_pack_problem){.sms = 20,
                                          .bandwidth_gbs = 900,
                                          .memory_bytes = between(random, 6, 16),
                                          .dynamic_w = between(random, 0, 200),
                                          .launchers = rt_random_uniform(random) < 0.5 ? INFINITY : 1,
                                          .share_sms = share_sms,
                                          .shares = SHARES,
                                          .job = r->job,
                                          .jobs = jobs};
    for (size_t j = 0; j < jobs; j++) {
        for (size_t b = 0; b < BATCHES; b++)
            draw_batch(random, r, j, b);
        double whole = r->batch[j][0].whole_us;
        bool rated = rt_random_uniform(random) < 0.5, limited = rt_random_uniform(random) < 0.5;
        r->job[j] = (struct rt_pack_job){.name = "job",
                                         .rate = rated ? between(random, 0.05, 0.6) * 1e6 / whole : NAN,
                                         .latency_us = limited ? between(random, 1.5, 12) * whole : NAN,
                                         .batch = r->batch[j],
                                         .batches = BATCHES};
    }
}

/* What a placement gives; false where it misses a target or does not fit. */
static bool judge(const struct rt_pack_problem *problem, struct rt_pack_group *group)
{
    double memory = 0, sms = 0;
    group->work = 0;
    group->margin = INFINITY;
    for (size_t j = 0; j < problem->jobs; j++) {
        struct rt_pack_place *place = &group->place[j];
        if (!(group->jobs >> j & 1))
            continue;
        rt_pack_judge(&problem->job[j], rt_pack_whole_rate(problem, j, NULL), place);
        memory += problem->job[j].batch[place->batch].memory_bytes;
        sms += group->way == RT_PACK_SHARED ? share_sms[place->share] : 0;
        group->work += place->work;
        group->margin = fmin(group->margin, place->margin);
    }
    return group->margin >= 0 && memory <= problem->memory_bytes && sms <= problem->sms;
}

/* What is best: work, then margin. */
struct best {
    double work, margin;
};

static void keep(const struct rt_pack_group *trial, struct best *best)
{
    bool same = fabs(trial->work - best->work) <= 1e-12 * best->work;
    if (same ? trial->margin > best->margin : trial->work > best->work)
        *best = (struct best){trial->work, trial->margin};
}

/* Tries all shares and batches of the jobs from the j-th on. */
static void try_all(const struct rt_pack_problem *problem, size_t j, struct rt_pack_group *trial,
                    struct best *best)
{
    if (j == problem->jobs) {
        if (trial->way == RT_PACK_SHARED)
            rt_pack_side_by_side(problem, trial);
        else
            rt_pack_turns(problem, trial);
        if (judge(problem, trial))
            keep(trial, best);
        return;
    }
    for (size_t s = 0; s < (trial->way == RT_PACK_SHARED ? SHARES : 1); s++)
        for (size_t b = 0; b < BATCHES; b++) {
            trial->place[j].share = s;
            trial->place[j].batch = b;
            try_all(problem, j + 1, trial, best);
        }
}

static struct best best_by_trying(const struct rt_pack_problem *problem, enum rt_pack_way way)
{
    struct best best = {-1, -1};
    struct rt_pack_group trial = {.jobs = (UINT32_C(1) << problem->jobs) - 1, .way = way};
    for (size_t j = 0; j < problem->jobs; j++)
        if (rt_pack_whole_rate(problem, j, NULL) == 0)
            return best;
    try_all(problem, 0, &trial, &best);
    return best;
}

static void test_the_best_of_all(void)
{
    struct rt_random random;
    static struct random_jobs r;
    size_t possible = 0;
    rt_random_seed(&random, 1, 0);
    for (int trial = 0; trial < 400; trial++) {
        struct rt_pack_group group;
        draw(&random, 2 + (size_t)trial % 2, &r);
        uint32_t all = (UINT32_C(1) << r.problem.jobs) - 1;
        for (int way = RT_PACK_SLICED; way <= RT_PACK_SHARED; way++) {
            struct best best = best_by_trying(&r.problem, (enum rt_pack_way)way);
            bool found = rt_pack_best_group(&r.problem, all, 1U << way, &group);
            CU_ASSERT_EQUAL(found, best.work >= 0);
            if (!found)
                continue;
            possible++;
            CU_ASSERT_TRUE(group.exact);
            RT_ASSERT_NEAR(group.work, best.work, 1e-9);
            RT_ASSERT_NEAR(group.margin, best.margin, 1e-9);
            CU_ASSERT_TRUE(judge(&r.problem, &group));
        }
    }
    CU_ASSERT_TRUE(possible > 100);
}

/* Every job once; no GPU over its SMs or memory; all targets met; no more GPUs, and on as many no less work,
 * than by turns alone or with a GPU each. */
static void test_plans(void)
{
    struct rt_random random;
    static struct random_jobs r;
    size_t packed = 0, planned = 0;
    rt_random_seed(&random, 2, 0);
    for (int trial = 0; trial < 120; trial++) {
        static struct rt_pack_plan plan, slices, whole, more;
        draw(&random, 1 + (size_t)trial % 6, &r);
        bool alone = rt_pack_best_plan(&r.problem, 0, 0, &whole);
        bool found = rt_pack_best_plan(&r.problem, 0, 6, &plan);
        CU_ASSERT_EQUAL(found, alone);
        if (!found)
            continue;
        planned++;
        packed += plan.gpus < r.problem.jobs;
        uint32_t seen = 0;
        double work = 0;
        for (size_t g = 0; g < plan.gpus; g++) {
            CU_ASSERT_EQUAL(seen & plan.group[g].jobs, 0);
            seen |= plan.group[g].jobs;
            CU_ASSERT_TRUE(judge(&r.problem, &plan.group[g]));
            work += plan.group[g].work;
        }
        CU_ASSERT_EQUAL(seen, (UINT32_C(1) << r.problem.jobs) - 1);
        RT_ASSERT_NEAR(plan.work, work, 1e-9);
        CU_ASSERT_EQUAL(whole.gpus, r.problem.jobs);
        CU_ASSERT_TRUE(rt_pack_best_plan(&r.problem, 0, 2, &slices));
        CU_ASSERT_TRUE(plan.gpus <= slices.gpus && slices.gpus <= whole.gpus);
        if (plan.gpus == slices.gpus)
            CU_ASSERT_TRUE(plan.work >= slices.work * (1 - 1e-9));
        CU_ASSERT_TRUE(rt_pack_best_plan(&r.problem, r.problem.jobs, 6, &more)); /* more GPUs, more work */
        CU_ASSERT_TRUE(more.work >= plan.work * (1 - 1e-9) && more.work >= whole.work * (1 - 1e-9));
        if (plan.gpus > 1)
            CU_ASSERT_FALSE(rt_pack_best_plan(&r.problem, plan.gpus - 1, 6, &more));
    }
    CU_ASSERT_TRUE(planned > 60 && packed > 30);
}

/* Neighbours make nothing faster, one more neighbour neither; without any the time is that of the share. */
static void test_neighbours_only_slow(void)
{
    struct rt_random random;
    static struct random_jobs r;
    rt_random_seed(&random, 3, 0);
    for (int trial = 0; trial < 300; trial++) {
        struct rt_pack_group two = {.jobs = 3, .way = RT_PACK_SHARED}, three;
        draw(&random, 3, &r);
        for (size_t j = 0; j < 3; j++) {
            two.place[j].share = (size_t)between(&random, 0, 3);
            two.place[j].batch = (size_t)between(&random, 0, BATCHES);
        }
        three = two;
        three.jobs = 7;
        rt_pack_side_by_side(&r.problem, &two);
        rt_pack_side_by_side(&r.problem, &three);
        for (size_t j = 0; j < 2; j++) {
            const struct rt_pack_place *place = &two.place[j];
            double alone = rt_pack_alone_us(&r.problem, j, place->batch, place->share, false);
            CU_ASSERT_EQUAL(place->alone_us, alone);
            CU_ASSERT_TRUE(place->step_us >= 1.02 * alone * (1 - 1e-12));
            CU_ASSERT_TRUE(three.place[j].step_us >= place->step_us * (1 - 1e-12));
        }
    }
}

/* Two jobs that draw 0.8 of the bandwidth each have half of it each; one thread of the host launches for
 * both.
 */
static void test_contention_by_hand(void)
{
    static const double sms[1] = {10}, bytes[1] = {800e6}; /* 800 us at 1,000 GB/s */
    static const double watts[1] = {100};                  /* half of what the board has for it */
    static const double times[RT_PACK_LEVELS] = {1000, 1600, 3200, 8000, 20000};
    const struct rt_pack_batch batch = {.items = 2,
                                        .whole_us = 900,
                                        .kernels_us = 800,
                                        .host_us = 900,
                                        .memory_bytes = 1,
                                        .bytes = bytes,
                                        .watts = watts,
                                        .time_us = times};
    const struct rt_pack_job job[2] = {{"a", NAN, NAN, &batch, 1}, {"b", 500, 5000, &batch, 1}};
    struct rt_pack_problem problem = {20, 1000, 10, 200, INFINITY, sms, 1, job, 2};
    struct rt_pack_group group = {.jobs = 3, .way = RT_PACK_SHARED};
    rt_pack_side_by_side(&problem, &group);
    RT_ASSERT_NEAR(group.place[0].step_us, (1.02 + 0.11 * 0.5 + 0.15 * 0.6) * 1600, 1e-12);
    problem.dynamic_w = 0; /* of a board whose watts are not known */
    problem.launchers = 1; /* 900 + 900 us of launches */
    rt_pack_side_by_side(&problem, &group);
    RT_ASSERT_NEAR(group.place[1].step_us, 1800, 1e-12);
    rt_pack_judge(&job[1], 2000, &group.place[1]);
    RT_ASSERT_NEAR(group.place[1].latency_us, 2000 + 1800,
                   1e-12); /* the second item of a batch comes 2 ms late */
    RT_ASSERT_NEAR(group.place[1].work, 0.25, 1e-12);
    RT_ASSERT_NEAR(group.place[1].margin, 1 - 3800.0 / 5000, 1e-12);
    problem.launchers = INFINITY;
    rt_pack_turns(&problem, &group); /* b takes 0.2 of the GPU's time, a what is left */
    RT_ASSERT_NEAR(group.place[0].step_us, 800 / 0.8, 1e-12);
    RT_ASSERT_NEAR(group.place[1].step_us, 1600, 1e-12);
}

RT_TESTS(RT_TEST(test_contention_by_hand), RT_TEST(test_neighbours_only_slow), RT_TEST(test_plans),
         RT_TEST(test_the_best_of_all))
