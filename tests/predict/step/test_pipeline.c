/* Schedules of pipelines against formulas, small cases worked out by hand, and laws over random stages. */
#include "test.h"

#include "base/random.h"
#include "predict/step/pipeline.h"

#include <math.h>

enum { MOST = 128 };

static struct rt_pipeline pipeline(int64_t stages, int64_t chunks, int64_t microbatches,
                                   enum rt_pipeline_schedule schedule)
{
    static const double nothing[MOST];
    return (struct rt_pipeline){.stages = stages,
                                .chunks = chunks,
                                .microbatches = microbatches,
                                .schedule = schedule,
                                .send_us = nothing};
}

static double us(const struct rt_pipeline *p)
{
    return rt_pipeline_us(p, NULL, NULL);
}

static void fill(double *time_us, double value)
{
    for (int i = 0; i < MOST; i++)
        time_us[i] = value;
}

/* Even stages without links take (m + p - 1) (f + b) (Narayanan et al., SC 2021, section 2.2), with chunks a
 * bubble of (p - 1) (f + b) / v; ZB-H1's is (p - 1) (f + b - w), b of the input alone (Qi et al. 2023, table
 * 2). */
static void test_even_pipelines_have_the_known_bubble(void)
{
    double forward[MOST], backward[MOST], weights[MOST];
    fill(forward, 3);
    fill(backward, 5);
    for (int64_t m = 1; m <= 9; m++)
        for (int s = RT_PIPELINE_1F1B; s <= RT_PIPELINE_GPIPE; s++) {
            struct rt_pipeline p = pipeline(4, 1, m, s);
            p.pass_us[RT_PASS_FORWARD] = forward;
            p.pass_us[RT_PASS_BACKWARD] = backward;
            RT_ASSERT_NEAR(us(&p), (double)(m + 3) * 8, 1e-12);
            p.pass_us[RT_PASS_BACKWARD] = NULL;
            RT_ASSERT_NEAR(us(&p), (double)(m + 3) * 3, 1e-12);
        }
    for (int64_t v = 2; v <= 8; v *= 2)
        for (int64_t m = 4; m <= 40; m += 4) {
            struct rt_pipeline p = pipeline(4, v, m, RT_PIPELINE_1F1B);
            p.pass_us[RT_PASS_FORWARD] = forward;
            p.pass_us[RT_PASS_BACKWARD] = backward;
            RT_ASSERT_NEAR(us(&p), (double)(m * v + 3) * 8, 1e-12);
        }
    fill(weights, 2);
    struct rt_pipeline p = pipeline(4, 1, 12, RT_PIPELINE_ZERO_BUBBLE);
    p.pass_us[RT_PASS_FORWARD] = forward;
    p.pass_us[RT_PASS_BACKWARD] = forward;
    p.pass_us[RT_PASS_WEIGHTS] = weights;
    RT_ASSERT_NEAR(us(&p), 12 * 8 + 3 * (3 + 3 - 2), 1e-12);
}

/* One micro batch passes 3 stages forward and backward: every time once, every link once in each direction.
 */
static void test_one_microbatch_is_a_chain(void)
{
    const double forward[] = {1, 2, 3}, backward[] = {10, 20, 30}, send[] = {7, 7, 7};
    double stage[3], last[3];
    for (int s = RT_PIPELINE_1F1B; s <= RT_PIPELINE_GPIPE; s++) {
        struct rt_pipeline p = pipeline(3, 1, 1, s);
        p.pass_us[RT_PASS_FORWARD] = forward;
        p.pass_us[RT_PASS_BACKWARD] = backward;
        p.send_us = send;
        double end = rt_pipeline_us(&p, &(struct rt_pipeline_ends){stage, last}, NULL);
        RT_ASSERT_NEAR(end, 1 + 7 + 2 + 7 + 3 + 30 + 7 + 20 + 7 + 10, 1e-12);
        RT_ASSERT_NEAR(last[2], 50, 1e-12);
        RT_ASSERT_NEAR(last[0], end, 1e-12);
    }
}

static void test_one_stage_runs_microbatches_in_turn(void)
{
    const double forward = 2, backward = 4, send = 100;
    struct rt_pipeline p = pipeline(1, 1, 5, RT_PIPELINE_1F1B);
    p.pass_us[RT_PASS_FORWARD] = &forward;
    p.pass_us[RT_PASS_BACKWARD] = &backward;
    p.send_us = &send;
    RT_ASSERT_NEAR(us(&p), 30, 1e-12);
}

/* Two stages of two chunks, two micro batches: stage 0 runs F0 F1 (chunk 0) F0 F1 (chunk 1), stage 1 warms up
 * with F0 F1 and then alternates; worked out by hand. */
static void test_interleaved_by_hand(void)
{
    double forward[MOST], backward[MOST], stage[2], last[4];
    fill(forward, 1);
    fill(backward, 2);
    struct rt_pipeline p = pipeline(2, 2, 2, RT_PIPELINE_1F1B);
    p.pass_us[RT_PASS_FORWARD] = forward;
    p.pass_us[RT_PASS_BACKWARD] = backward;
    /* stage 1: F0 1-2, F1 2-3, F0' 3-4, B0' 4-6, F1' 6-7, B1' 7-9, B0 9-11, B1 11-13
     * stage 0: F0 0-1, F1 1-2, F0' 2-3, F1' 3-4, B0' 6-8, B1' 9-11, B0 11-13, B1 13-15 */
    RT_ASSERT_NEAR(rt_pipeline_us(&p, &(struct rt_pipeline_ends){stage, last}, NULL), 15, 1e-12);
    RT_ASSERT_NEAR(stage[1], 13, 1e-12);
    RT_ASSERT_NEAR(last[0], 15, 1e-12);
    RT_ASSERT_NEAR(last[2], 11, 1e-12); /* stage 0, chunk 1 */
}

/* --- random stages --- */

struct cut {
    double forward[MOST], backward[MOST], weights[MOST], both[MOST], send[MOST];
    struct rt_pipeline p;
};

static void draw(struct rt_random *random, struct cut *cut, int64_t chunks)
{
    int64_t stages = 1 + (int64_t)rt_random_below(random, 6);
    int64_t microbatches = chunks > 1 ? stages * (1 + (int64_t)rt_random_below(random, 16))
                                      : 1 + (int64_t)rt_random_below(random, 90);
    bool even = rt_random_below(random, 2) == 0;
    for (int i = 0; i < MOST; i++) {
        cut->forward[i] = even && i > 0 ? cut->forward[0] : 1 + rt_random_uniform(random);
        cut->backward[i] = even && i > 0 ? cut->backward[0] : 1 + 2 * rt_random_uniform(random);
        cut->weights[i] = even && i > 0 ? cut->weights[0] : rt_random_uniform(random);
        cut->both[i] = cut->backward[i] + cut->weights[i];
        cut->send[i] = rt_random_below(random, 3) == 0 ? rt_random_uniform(random) : 0;
    }
    cut->p = pipeline(stages, chunks, microbatches, RT_PIPELINE_1F1B);
    cut->p.pass_us[RT_PASS_FORWARD] = cut->forward;
    cut->p.pass_us[RT_PASS_BACKWARD] = cut->both;
    cut->p.send_us = cut->send;
    cut->p.blocks = rt_random_below(random, 2) == 0;
}

static void split(struct cut *cut)
{
    cut->p.schedule = RT_PIPELINE_ZERO_BUBBLE;
    cut->p.pass_us[RT_PASS_BACKWARD] = cut->backward;
    cut->p.pass_us[RT_PASS_WEIGHTS] = cut->weights;
}

struct seen {
    double busy_us[MOST], end_us[MOST], last_us;
    size_t passes;
};

static void see(void *context, const struct rt_pipeline_span *span)
{
    struct seen *seen = context;
    CU_ASSERT_TRUE(span->start_us >= seen->end_us[span->stage] - 1e-9); /* one after the other */
    seen->busy_us[span->stage] += span->time_us;
    seen->end_us[span->stage] = span->start_us + span->time_us;
    seen->last_us = fmax(seen->last_us, seen->end_us[span->stage]);
    seen->passes++;
}

/* Groups that repeat themselves are counted, flows are formulas: the same as pass by pass. No stage is done
 * before all that it runs. */
static void test_counted_groups_are_simulated_ones(void)
{
    struct rt_random random;
    rt_random_seed(&random, 1, 0);
    for (int i = 0; i < 600; i++) {
        struct cut cut;
        draw(&random, &cut, 1 + (int64_t)rt_random_below(&random, 4));
        int kinds = 2;
        if (cut.p.chunks == 1 && rt_random_below(&random, 2) == 0)
            cut.p.schedule = RT_PIPELINE_GPIPE;
        else if (cut.p.chunks == 1 && rt_random_below(&random, 2) == 0) {
            split(&cut);
            kinds = 3;
        }
        struct seen seen = {.passes = 0};
        double end = rt_pipeline_us(&cut.p, NULL, &(struct rt_pipeline_watch){see, &seen});
        RT_ASSERT_NEAR(us(&cut.p), end, 1e-9);
        CU_ASSERT_EQUAL(seen.passes, (size_t)(kinds * cut.p.stages * cut.p.chunks * cut.p.microbatches));
        RT_ASSERT_NEAR(seen.last_us, end, 1e-9);
        for (int64_t s = 0; s < cut.p.stages; s++)
            CU_ASSERT_TRUE(end >= seen.busy_us[s] - 1e-9 * end);
    }
}

/* Zero-bubble is never slower than 1F1B, and neither faster with one micro batch more. */
static void test_zero_bubble_is_no_slower(void)
{
    struct rt_random random;
    rt_random_seed(&random, 2, 0);
    for (int i = 0; i < 400; i++) {
        struct cut cut;
        draw(&random, &cut, 1);
        double alternates = us(&cut.p);
        split(&cut);
        CU_ASSERT_TRUE(us(&cut.p) <= alternates * (1 + 1e-12));
    }
}

/* Where sends are free, layers are even and stages too, chunks take no longer than stages as a whole. */
static void test_chunks_make_the_bubble_smaller(void)
{
    struct rt_random random;
    rt_random_seed(&random, 3, 0);
    for (int i = 0; i < 200; i++) {
        struct cut cut;
        draw(&random, &cut, 2 + (int64_t)rt_random_below(&random, 4));
        double forward = cut.forward[0], backward = cut.both[0], part = 1 / (double)cut.p.chunks;
        fill(cut.forward, part * forward);
        fill(cut.both, part * backward);
        fill(cut.send, 0);
        double chunks = us(&cut.p);
        fill(cut.forward, forward);
        fill(cut.both, backward);
        cut.p.chunks = 1;
        CU_ASSERT_TRUE(chunks <= us(&cut.p) * (1 + 1e-12));
    }
}

/* What takes longer ends nothing earlier: a pass, a link, a micro batch more. Zero-bubble chooses between two
 * orders and keeps to it, too. */
static void test_more_to_do_is_never_faster(void)
{
    struct rt_random random;
    rt_random_seed(&random, 4, 0);
    for (int i = 0; i < 400; i++) {
        struct cut cut;
        draw(&random, &cut, 1 + (int64_t)rt_random_below(&random, 3));
        if (cut.p.chunks == 1 && rt_random_below(&random, 3) == 0)
            split(&cut);
        double before = us(&cut.p);
        int64_t piece = (int64_t)rt_random_below(&random, (uint32_t)(cut.p.stages * cut.p.chunks));
        cut.forward[piece] *= 1 + rt_random_uniform(&random);
        double slower = us(&cut.p);
        CU_ASSERT_TRUE(slower >= before * (1 - 1e-12));
        cut.send[piece % cut.p.stages] += 0.3;
        CU_ASSERT_TRUE(us(&cut.p) >= slower * (1 - 1e-12));
        slower = us(&cut.p);
        cut.p.microbatches += cut.p.chunks > 1 ? cut.p.stages : 1;
        CU_ASSERT_TRUE(us(&cut.p) >= slower * (1 - 1e-12));
    }
}

static void test_activations_in_flight(void)
{
    RT_ASSERT_NEAR(rt_pipeline_in_flight(4, 1, 16, RT_PIPELINE_1F1B), 4, 0);
    RT_ASSERT_NEAR(rt_pipeline_in_flight(4, 1, 2, RT_PIPELINE_1F1B), 2, 0);
    RT_ASSERT_NEAR(rt_pipeline_in_flight(4, 1, 16, RT_PIPELINE_GPIPE), 16, 0);
    RT_ASSERT_NEAR(rt_pipeline_in_flight(4, 2, 16, RT_PIPELINE_1F1B), 5.5, 1e-12); /* 4 x (1 + 3 / 8) */
}

RT_TESTS(RT_TEST(test_even_pipelines_have_the_known_bubble), RT_TEST(test_one_microbatch_is_a_chain),
         RT_TEST(test_one_stage_runs_microbatches_in_turn), RT_TEST(test_interleaved_by_hand),
         RT_TEST(test_counted_groups_are_simulated_ones), RT_TEST(test_zero_bubble_is_no_slower),
         RT_TEST(test_chunks_make_the_bubble_smaller), RT_TEST(test_more_to_do_is_never_faster),
         RT_TEST(test_activations_in_flight))
