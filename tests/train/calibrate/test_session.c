/* Calibration to a session that was slower than the device. */
#include "made_up.h"

static void add_vector_kernels(struct rt_dataset *dataset, enum rt_op_id op)
{
    struct rt_sample sample;
    rt_sample_init(&sample);
    sample.call.op = op;
    sample.device = 0;
    sample.split = RT_SPLIT_TEST;
    for (int64_t i = 0; i < 12; i++) {
        sample.call.dim[0] = 8192 + 1024 * i, sample.call.dim[1] = 1024 + 128 * i;
        rt_dataset_add_sample(dataset, &sample);
    }
}

/* Large kernels of three families, which take exp(slower) of what a device like the others takes. */
static void measure_session(struct rt_dataset *dataset, const double slower[3])
{
    static const enum rt_op_id ops[] = {RT_OP_ADD, RT_OP_SOFTMAX, RT_OP_LAYERNORM};
    struct rt_predictor source;
    make_predictor(&source);
    make_device(dataset);
    for (size_t o = 0; o < RT_COUNT(ops); o++)
        add_vector_kernels(dataset, ops[o]);
    for (size_t i = 0; i < dataset->samples.count; i++) {
        struct rt_sample sample = rt_dataset_sample(dataset, i);
        struct rt_query query;
        rt_query_of_sample(&sample, false, &query);
        rt_predictor_forecast(&source, &dataset->devices[0], &query, 1, NULL, &sample.latency_us, NULL);
        for (size_t o = 0; o < RT_COUNT(ops); o++)
            sample.latency_us *= sample.call.op == ops[o] ? exp(slower[o]) : 1;
        rt_rows_put(&dataset->samples, i, &sample);
    }
    rt_predictor_release(&source);
}

/* Calibrated to that session; forecasts before of a device that two others, left out, resembled to 5%. */
static void calibrate_to_session(const double slower[3], struct rt_predictor *predictor,
                                 struct rt_dataset *data, struct rt_calibration *calibration)
{
    measure_session(data, slower);
    make_predictor(predictor);
    for (size_t n = 0; n < predictor->net_count; n++) {
        struct rt_intervals *intervals = &predictor->nets[n].intervals;
        rt_intervals_init(intervals);
        intervals->left_out = rt_calloc(2, sizeof *intervals->left_out);
        intervals->left_out[0] = (struct rt_left_out_device){"Tesla T4", 0.05, 0.01, 0};
        intervals->left_out[1] = (struct rt_left_out_device){"Tesla P4", n % 2 == 0 ? 0.05 : -0.05, 0.01, 0};
        intervals->left_out_count = 2;
    }
    RT_ASSERT_OK(rt_calibrate(predictor, data, 0, &all_kernels, calibration));
}

static void test_a_slow_session_is_taken_back_in_queues(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    calibrate_to_session((double[]){0.3, 0.3, 0.3}, &predictor, &data, &calibration);
    CU_ASSERT_TRUE(calibration.slow_session.probability > 0.5);
    CU_ASSERT_TRUE(calibration.queued_prior < -0.08 && calibration.queued_prior > -0.3);
    const struct rt_device_effect *entry = rt_device_effects_find(&predictor.nets[3].effects, truth.device);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    CU_ASSERT_EQUAL(entry->queued[RT_EFFECT_MEMORY], calibration.queued_prior);
    RT_ASSERT_NEAR(entry->value[RT_EFFECT_MEMORY], 0.3, 0.03); /* kernels alone are as measured */
    rt_calibration_release(&calibration);
    /* again: it is no shift that was fitted to runs, and nothing is forgotten */
    RT_ASSERT_OK(rt_calibrate(&predictor, &data, 0, &all_kernels, &calibration));
    CU_ASSERT_FALSE(calibration.forgot_runs);
    CU_ASSERT_TRUE(calibration.queued_prior < -0.08);
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

static void test_one_slow_family_is_the_device(void)
{
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_calibration calibration;
    calibrate_to_session((double[]){0, 0.3, 0}, &predictor, &data, &calibration);
    CU_ASSERT_TRUE(calibration.slow_session.probability < 0.5);
    CU_ASSERT_EQUAL(calibration.queued_prior, 0);
    const struct rt_device_effect *entry = rt_device_effects_find(&predictor.nets[3].effects, truth.device);
    CU_ASSERT_TRUE(entry != NULL && entry->queued[RT_EFFECT_MEMORY] == 0);
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

RT_TESTS(RT_TEST(test_a_slow_session_is_taken_back_in_queues), RT_TEST(test_one_slow_family_is_the_device))
