/* AdamW's first steps by hand, parts in any order, and the learning rate against PyTorch's. Many steps of
 * AdamW against PyTorch's are in test_step*.c. */
#include "models/predictors/nn/optimizer.h"
#include "test.h"

#include <jansson.h>
#include <math.h>

static void test_first_step_by_hand(void)
{
    struct rt_adamw adamw = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1};
    struct rt_optimizer optimizer;
    rt_real p[] = {1, -2, 3}, g[] = {0.5, -0.25, 0};
    rt_optimizer_init(&optimizer, &adamw, 3);
    rt_optimizer_begin(&optimizer, 0.01);
    rt_optimizer_update(&optimizer, 0, 3, g, p);
    /* The corrected moments are g and g^2, so the first step is the rate times the sign of g. */
    RT_ASSERT_NEAR((double)p[0], 1 * 0.999 - 0.01, 1e-6);
    RT_ASSERT_NEAR((double)p[1], -2 * 0.999 + 0.01, 1e-6);
    RT_ASSERT_NEAR((double)p[2], 3 * 0.999, 1e-6);
    CU_ASSERT_EQUAL(optimizer.steps, 1);
    rt_optimizer_release(&optimizer);
    rt_optimizer_release(&optimizer);
}

/* State saved and put back, and the block updated in pieces: the same bytes. */
static void test_pieces_and_restored_state(void)
{
    enum { COUNT = 101 };
    struct rt_optimizer whole, pieces, restored;
    rt_real p[COUNT], q[COUNT], r[COUNT], g[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        p[i] = q[i] = (rt_real)i / 50 - 1;
    rt_optimizer_init(&whole, &rt_adamw_default, COUNT);
    rt_optimizer_init(&pieces, &rt_adamw_default, COUNT);
    rt_optimizer_init(&restored, &rt_adamw_default, COUNT);
    for (int s = 0; s < 10; s++) {
        if (s == 5) {
            memcpy(r, p, sizeof p);
            memcpy(restored.state, whole.state, 2 * COUNT * sizeof *whole.state);
            restored.steps = whole.steps;
        }
        for (size_t i = 0; i < COUNT; i++)
            g[i] = (rt_real)sin((double)(i * 7) + s);
        rt_optimizer_begin(&whole, 1e-2);
        rt_optimizer_update(&whole, 0, COUNT, g, p);
        rt_optimizer_begin(&pieces, 1e-2);
        rt_optimizer_update(&pieces, 37, COUNT - 37, g + 37, q);
        rt_optimizer_update(&pieces, 0, 37, g, q);
        if (s >= 5) {
            rt_optimizer_begin(&restored, 1e-2);
            rt_optimizer_update(&restored, 0, COUNT, g, r);
        }
    }
    CU_ASSERT_EQUAL(memcmp(p, q, sizeof p), 0);
    CU_ASSERT_EQUAL(memcmp(p, r, sizeof p), 0);
    rt_optimizer_release(&whole);
    rt_optimizer_release(&pieces);
    rt_optimizer_release(&restored);
}

static double number_or(const json_t *object, const char *key, double otherwise)
{
    const json_t *value = json_object_get(object, key);
    return value == NULL ? otherwise : json_number_value(value);
}

static void test_schedule_matches_pytorch(void)
{
    json_error_t error;
    json_t *root = json_load_file(RT_SOURCE_DIR "/tests/data/mlp_golden.json", 0, &error), *golden;
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    size_t i;
    json_array_foreach(json_object_get(root, "schedules"), i, golden)
    {
        struct rt_schedule schedule = rt_schedule_default;
        schedule.rate = number_or(golden, "rate", 0);
        schedule.steps = (uint64_t)number_or(golden, "steps", 0);
        const json_t *rates = json_object_get(golden, "rates");
        CU_ASSERT_EQUAL(json_array_size(rates), schedule.steps);
        for (size_t s = 0; s < schedule.steps; s++)
            RT_ASSERT_NEAR(rt_learning_rate(&schedule, s), json_number_value(json_array_get(rates, s)), 1e-9);
    }
    CU_ASSERT_EQUAL(i, 1);
    json_decref(root);
}

/* Whatever the settings, a rate is finite, not negative and never above the highest. */
static void test_schedule_stays_in_range(void)
{
    for (uint64_t steps = 0; steps < 12; steps++)
        for (double warmup = 0; warmup <= 1; warmup += 0.25) {
            struct rt_schedule schedule = rt_schedule_default;
            schedule.steps = steps;
            schedule.warmup = warmup;
            for (uint64_t s = 0; s < 30; s++) {
                double rate = rt_learning_rate(&schedule, s);
                CU_ASSERT_TRUE(rate >= 0 && rate <= schedule.rate * (1 + 1e-12));
            }
        }
}

RT_TESTS(RT_TEST(test_first_step_by_hand), RT_TEST(test_pieces_and_restored_state),
         RT_TEST(test_schedule_matches_pytorch), RT_TEST(test_schedule_stays_in_range))
