/* Energy of kernels: laws over random kernels on every GPU of the catalogue, and evaluation by it. */
#include "test.h"

#include "base/random.h"
#include "predict/evaluate/evaluate.h"

#include <math.h>

static const enum rt_op_id ops[] = {RT_OP_LINEAR, RT_OP_BMM,       RT_OP_SOFTMAX,
                                    RT_OP_ADD,    RT_OP_LAYERNORM, RT_OP_RELU};
static const enum rt_dtype dtypes[] = {RT_FP32, RT_FP16, RT_BF16};

static int64_t random_size(struct rt_random *random, double most)
{
    return 1 + (int64_t)exp(log(most) * rt_random_uniform(random));
}

static void random_query(struct rt_random *random, struct rt_query *query)
{
    struct rt_call call;
    rt_call_init(&call, ops[rt_random_below(random, RT_COUNT(ops))],
                 dtypes[rt_random_below(random, RT_COUNT(dtypes))]);
    for (int d = 0; d < rt_op_ndims(call.op); d++)
        call.dim[d] = random_size(random, d == 0 ? 64 : 4096);
    rt_query_init(query, &call);
}

/* A kernel of the same kind with one dim twice as large. */
static void grow(struct rt_random *random, struct rt_query *query)
{
    struct rt_call call = query->call;
    call.dim[rt_random_below(random, (uint64_t)rt_op_ndims(call.op))] *= 2;
    rt_query_init(query, &call);
}

/* Power lies between what the bound says and the board's; more work in the same time or more of it never
 * takes less. */
static void check_laws(const struct rt_predictor *predictor, const struct rt_device *device,
                       struct rt_random *random, int *bad)
{
    struct rt_query query, larger;
    struct rt_tiled_call launch;
    random_query(random, &query);
    double us = rt_roofline_us(&query, device);
    if (isnan(us) || !rt_tiled_call_init_whole(&launch, &query, device))
        return;
    us *= 1 + 20 * rt_random_uniform(random);
    double mj = rt_kernel_energy_mj(predictor, device, &query, us);
    *bad += !(mj >= rt_targets[RT_TARGET_ENERGY].bound(&launch) && mj <= 1e-3 * us * device->power_w);
    larger = query;
    grow(random, &larger);
    double later = fmax(us, rt_roofline_us(&larger, device));
    *bad += !(rt_kernel_energy_mj(predictor, device, &larger, later) >= mj * (1 - 1e-12));
    *bad += !(rt_kernel_energy_mj(predictor, device, &query, 1.5 * us) >= mj);
}

static void test_laws_of_kernels(void)
{
    struct rt_predictor predictor;
    struct rt_random random;
    struct rt_device device;
    int bad = 0, known = 0;
    rt_random_seed(&random, 17, 0);
    rt_predictor_init_roofline(&predictor);
    for (size_t d = 0; d < rt_device_catalogue_size(); d++) {
        RT_ASSERT_OK(rt_device_catalogue(d, &device));
        known += device.power_w > 0;
        for (int i = 0; i < 50 && device.power_w > 0; i++)
            check_laws(&predictor, &device, &random, &bad);
    }
    CU_ASSERT_TRUE(known > 20);
    CU_ASSERT_EQUAL(bad, 0);
    rt_predictor_release(&predictor);
}

static struct rt_query product(void)
{
    struct rt_call call;
    rt_call_init(&call, RT_OP_LINEAR, RT_FP32);
    for (int d = 0; d < 4; d++)
        call.dim[d] = 512;
    struct rt_query query;
    rt_query_init(&query, &call);
    return query;
}

static void test_unknown_power_is_unknown_energy(void)
{
    struct rt_predictor predictor;
    struct rt_device device;
    struct rt_query query = product();
    struct rt_tiled_call launch;
    RT_ASSERT_OK(rt_device_find("V100-PCIE-32GB", &device));
    rt_predictor_init_roofline(&predictor);
    CU_ASSERT_TRUE(rt_kernel_energy_mj(&predictor, &device, &query, 100) > 0);
    device.power_w = device.idle_w = NAN;
    CU_ASSERT_TRUE(isnan(rt_kernel_energy_mj(&predictor, &device, &query, 100)));
    CU_ASSERT_TRUE(rt_tiled_call_init_whole(&launch, &query, &device));
    CU_ASSERT_TRUE(isnan(rt_targets[RT_TARGET_ENERGY].bound(&launch)));
    rt_predictor_release(&predictor);
}

static void test_measured_energy(void)
{
    const struct rt_target *energy = &rt_targets[RT_TARGET_ENERGY];
    struct rt_sample sample;
    rt_sample_init(&sample);
    CU_ASSERT_TRUE(isnan(rt_target_measured(energy, &sample)));
    sample.energy_mj = 2.5;
    RT_ASSERT_NEAR(rt_target_measured(energy, &sample), 2.5, 1e-15);
    sample.flags = RT_FLAG_FAILED;
    CU_ASSERT_TRUE(isnan(rt_target_measured(energy, &sample)));
    sample.flags = 0;
    const double never[] = {0, -1, INFINITY, 1e-10, 1e14};
    for (size_t i = 0; i < RT_COUNT(never); i++) {
        sample.energy_mj = never[i];
        CU_ASSERT_TRUE(isnan(rt_target_measured(energy, &sample)));
    }
}

/* ---- evaluation ---- */

/* A kernel of 1.5 times its roofline, whose energy is `times` what the roofline forecasts. */
static void add(struct rt_dataset *dataset, int64_t size, double times)
{
    struct rt_predictor roofline;
    struct rt_sample sample;
    struct rt_query query;
    rt_predictor_init_roofline(&roofline);
    rt_sample_init(&sample);
    rt_call_init(&sample.call, RT_OP_BMM, RT_FP32);
    for (int d = 0; d < 4; d++)
        sample.call.dim[d] = d == 0 ? 8 : size;
    sample.device = 0;
    sample.split = RT_SPLIT_TEST;
    rt_query_of_sample(&sample, false, &query);
    double us = rt_roofline_us(&query, &dataset->devices[0]);
    sample.latency_us = 1.5 * us;
    sample.energy_mj = times * rt_kernel_energy_mj(&roofline, &dataset->devices[0], &query, us);
    rt_dataset_add_sample(dataset, &sample);
    rt_predictor_release(&roofline);
}

static void make_data(struct rt_dataset *dataset)
{
    struct rt_device device;
    rt_dataset_init(dataset);
    RT_ASSERT_OK(rt_device_find("V100-PCIE-32GB", &device));
    CU_ASSERT_EQUAL_FATAL(rt_dataset_add_device(dataset, &device), 0);
    add(dataset, 256, 2);
    add(dataset, 512, 1.25);
    add(dataset, 1024, NAN);
}

static const char *const roofline_name[] = {"roofline"};

static void test_kernels_are_judged_by_energy(void)
{
    struct rt_dataset data;
    struct rt_candidate roofline;
    struct rt_evaluation e;
    const struct rt_evaluate_options options = {
        .part = RT_PART_TEST, .quiet = true, .target = &rt_targets[RT_TARGET_ENERGY]};
    make_data(&data);
    RT_ASSERT_OK(rt_candidates_open(roofline_name, 1, &roofline));
    RT_ASSERT_OK(rt_evaluate_kernels(&data, &roofline, 1, &options, &e));
    CU_ASSERT_EQUAL_FATAL(e.row_count, 2);
    CU_ASSERT_EQUAL(rt_evaluation_left_out(&e, RT_LEFT_NO_ENERGY), 1);
    RT_ASSERT_NEAR(rt_evaluation_error(&e, 0, 0), -50, 1e-9);
    RT_ASSERT_NEAR(rt_evaluation_error(&e, 1, 0), -20, 1e-9);
    CU_ASSERT_EQUAL_FATAL(e.column_count, 3);
    CU_ASSERT_STRING_EQUAL(e.column[1].key, "measured_time");
    CU_ASSERT_TRUE(e.column[1].value[0] > e.column[0].value[0]); /* which takes longer */
    CU_ASSERT_STRING_EQUAL(e.column[2].key, "board_power");
    RT_ASSERT_NEAR(e.column[2].value[1], 0.25 * RT_SAMPLE(&data, e.sample[1])->latency_us, 1e-12); /* 250 W */
    rt_evaluation_release(&e);
    rt_candidates_release(&roofline, 1);
    rt_dataset_release(&data);
}

/* Kernels that the coefficients were calibrated to are not judged by energy; by time they are. */
static void test_calibrated_kernels_are_left_out(void)
{
    struct rt_dataset data;
    struct rt_candidate roofline;
    struct rt_evaluation e;
    struct rt_energy_device entry = {.device = "Tesla V100-PCIE-32GB", .calibrated = true};
    struct rt_evaluate_options options = {
        .part = RT_PART_TEST, .quiet = true, .target = &rt_targets[RT_TARGET_ENERGY]};
    make_data(&data);
    RT_ASSERT_OK(rt_candidates_open(roofline_name, 1, &roofline));
    rt_fitted_keys_add(&entry.fitted_keys, rt_kernel_key(RT_SAMPLE(&data, 1)));
    rt_energy_model_put(&roofline.predictor.energy, &entry);
    RT_ASSERT_OK(rt_evaluate_kernels(&data, &roofline, 1, &options, &e));
    CU_ASSERT_EQUAL(e.row_count, 1);
    CU_ASSERT_EQUAL(rt_evaluation_left_out(&e, RT_LEFT_CALIBRATED), 1);
    rt_evaluation_release(&e);
    options.target = NULL;
    RT_ASSERT_OK(rt_evaluate_kernels(&data, &roofline, 1, &options, &e));
    CU_ASSERT_EQUAL(e.row_count, 3);
    rt_evaluation_release(&e);
    rt_candidates_release(&roofline, 1);
    rt_dataset_release(&data);
}

static void test_devices_without_power_are_left_out(void)
{
    struct rt_dataset data;
    struct rt_candidate roofline;
    struct rt_evaluation e;
    const struct rt_evaluate_options options = {
        .part = RT_PART_TEST, .quiet = true, .target = &rt_targets[RT_TARGET_ENERGY]};
    make_data(&data);
    data.devices[0].power_w = NAN;
    RT_ASSERT_OK(rt_candidates_open(roofline_name, 1, &roofline));
    RT_ASSERT_FAILS(rt_evaluate_kernels(&data, &roofline, 1, &options, &e), RT_EFORMAT,
                    "without a board power in its description; add power_w");
    rt_candidates_release(&roofline, 1);
    rt_dataset_release(&data);
}

static void test_other_targets_are_refused(void)
{
    struct rt_dataset data;
    struct rt_candidate energy;
    struct rt_evaluation e;
    const struct rt_evaluate_options options = {
        .part = RT_PART_TEST, .quiet = true, .target = &rt_targets[RT_TARGET_LATENCY]};
    make_data(&data);
    RT_ASSERT_OK(rt_candidates_open(roofline_name, 1, &energy));
    energy.predictor.target = RT_TARGET_ENERGY;
    RT_ASSERT_FAILS(rt_evaluate_kernels(&data, &energy, 1, &options, &e), RT_EUSAGE,
                    "roofline forecasts energy where latency is judged");
    rt_candidates_release(&energy, 1);
    rt_dataset_release(&data);
}

RT_TESTS(RT_TEST(test_laws_of_kernels), RT_TEST(test_unknown_power_is_unknown_energy),
         RT_TEST(test_measured_energy), RT_TEST(test_kernels_are_judged_by_energy),
         RT_TEST(test_calibrated_kernels_are_left_out), RT_TEST(test_devices_without_power_are_left_out),
         RT_TEST(test_other_targets_are_refused))
