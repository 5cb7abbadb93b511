/* Rows of a training are limited and weighed. */
#include "test.h"

#include "train/training_rows.h"

enum { COUNT = 60, FEATURES = 2 };

/* Rows of devices 0, 1 and 2 by turns. */
static void make_rows(struct rt_training_rows *rows)
{
    *rows = (struct rt_training_rows){.count = COUNT,
                                      .features = calloc(COUNT * FEATURES, sizeof(rt_real)),
                                      .bounds = calloc(COUNT, sizeof(struct rt_bound)),
                                      .target = calloc(COUNT, sizeof(double)),
                                      .device = calloc(COUNT, sizeof(int32_t)),
                                      .dtype = calloc(COUNT, sizeof(uint8_t)),
                                      .split = calloc(COUNT, sizeof(uint8_t)),
                                      .corpus = calloc(COUNT, sizeof(int32_t))};
    for (int i = 0; i < COUNT; i++) {
        rows->device[i] = i % 3;
        rows->bounds[i] = (struct rt_bound){.bound_us = 1000 + i, .waves = 1, .compute_share = 1};
        rows->target[i] = rows->bounds[i].bound_us * (i % 3 == 1 ? 4 : 1.25);
        rows->features[i * FEATURES] = (rt_real)i;
    }
}

static void test_limit(void)
{
    struct rt_training_rows rows;
    struct rt_random random;
    make_rows(&rows);
    rt_random_seed(&random, 1, 2);
    rt_training_rows_limit(&rows, FEATURES, 5, &random);
    CU_ASSERT_EQUAL_FATAL(rows.count, 15);
    int each[3] = {0};
    for (size_t i = 0; i < rows.count; i++) {
        each[rows.device[i]]++;
        CU_ASSERT_TRUE(i == 0 || rows.bounds[i].bound_us > rows.bounds[i - 1].bound_us); /* in their order */
        CU_ASSERT_EQUAL(rows.features[i * FEATURES], (rt_real)(rows.bounds[i].bound_us - 1000));
    }
    CU_ASSERT_TRUE(each[0] == 5 && each[1] == 5 && each[2] == 5);
    rt_training_rows_release(&rows);
}

static void test_weigh(void)
{
    struct rt_training_rows rows;
    make_rows(&rows);
    for (int i = 0; i < COUNT / 2; i++)
        rows.bounds[i].bound_us = 1; /* sigmoid(log2(1 / 20)) is 0.013 */
    rt_training_rows_weigh(&rows, 20);
    double sum = 0;
    for (int i = 0; i < COUNT; i++)
        sum += rows.weight[i];
    RT_ASSERT_NEAR(sum / COUNT, 1.1, 1e-9);
    CU_ASSERT_TRUE(rows.weight[0] < 0.2 && rows.weight[COUNT - 1] > 1.9);
    rt_training_rows_release(&rows);
}

RT_TESTS(RT_TEST(test_limit), RT_TEST(test_weigh))
