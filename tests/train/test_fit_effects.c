/* Dispatch overhead of devices. The effects themselves are tested in test_train.c. */
#include "test.h"

#include "train/fit_network.h"

enum { EACH = 200, COUNT = 3 * EACH };

/* Device 0 and 1 run small kernels that take 40 and 60 us; device 2 large ones only. */
static void make_rows(struct rt_training_rows *rows)
{
    *rows = (struct rt_training_rows){.count = COUNT,
                                      .bounds = calloc(COUNT, sizeof(struct rt_bound)),
                                      .target = calloc(COUNT, sizeof(double)),
                                      .device = calloc(COUNT, sizeof(int32_t)),
                                      .dtype = calloc(COUNT, 1),
                                      .corpus = calloc(COUNT, sizeof(int32_t))};
    for (int i = 0; i < COUNT; i++) {
        int device = i / EACH;
        rows->device[i] = device;
        rows->bounds[i].bound_us = device == 2 ? 1000 : 5;
        rows->target[i] = device == 2 ? 1500 : 40 + 20 * device + 0.01 * (i % EACH);
    }
}

static void make_devices(struct rt_dataset *dataset)
{
    rt_dataset_init(dataset);
    for (int d = 0; d < 3; d++) {
        struct rt_device device;
        char name[16];
        snprintf(name, sizeof name, "Synthetic %d", d);
        rt_device_init(&device, name);
        rt_dataset_add_device(dataset, &device);
    }
}

static void test_dispatch_overhead(void)
{
    struct rt_training_rows rows;
    struct rt_effect_fit fit;
    struct rt_dataset dataset;
    make_devices(&dataset);
    make_rows(&rows);
    rt_effect_fit_init(&fit, RT_FAMILY_LINEAR, &dataset, &rows, 1e-2, 64);
    RT_ASSERT_NEAR(fit.device[0].dispatch_us, 37.02, 1e-9); /* the third of 200, less 3 us */
    RT_ASSERT_NEAR(fit.device[1].dispatch_us, 57.02, 1e-9);
    RT_ASSERT_NEAR(fit.device[2].dispatch_us, 47.02, 1e-9); /* the median of the others, not 1,497 us */
    CU_ASSERT_EQUAL(fit.device[2].kernels, EACH);
    rt_effect_fit_release(&fit);
    rt_training_rows_release(&rows);
    rt_dataset_release(&dataset);
}

/* Of device 0, half of the rows are of another corpus and take 10 us; device 1's are all timed in a queue. */
static void test_sessions(void)
{
    struct rt_training_rows rows;
    struct rt_effect_fit fit;
    struct rt_dataset dataset;
    make_devices(&dataset);
    make_rows(&rows);
    for (int i = 0; i < EACH; i += 2) {
        rows.corpus[i] = -1;
        rows.target[i] = 10;
    }
    for (int i = EACH; i < 2 * EACH; i++)
        rows.bounds[i].queued = true;
    rt_effect_fit_init(&fit, RT_FAMILY_LINEAR, &dataset, &rows, 1e-2, 64);
    RT_ASSERT_NEAR(rt_effect_fit_bound(&fit, &rows, 0).dispatch_us, 7, 1e-9);
    RT_ASSERT_NEAR(rt_effect_fit_bound(&fit, &rows, 1).dispatch_us, 37.03, 1e-9);
    RT_ASSERT_NEAR(fit.device[0].dispatch_us, 37.03, 1e-9); /* the slowest session's */
    RT_ASSERT_NEAR(fit.device[1].dispatch_us, 37.03, 1e-9); /* the median of the others */
    RT_ASSERT_NEAR(rt_effect_fit_bound(&fit, &rows, EACH).dispatch_us, RT_QUEUED_US, 1e-9);
    rows.bounds[EACH].on_device = true; /* without even the gap */
    CU_ASSERT_EQUAL(rt_effect_fit_bound(&fit, &rows, EACH).dispatch_us, 0);
    CU_ASSERT_EQUAL(fit.device[0].kernels, EACH);
    rt_effect_fit_release(&fit);
    rt_training_rows_release(&rows);
    rt_dataset_release(&dataset);
}

RT_TESTS(RT_TEST(test_dispatch_overhead), RT_TEST(test_sessions))
