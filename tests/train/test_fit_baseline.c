/* Training the kinds without a network: what they are given, what a file keeps of them, what they forecast.
 */
#include "base/status.h"
#include "train/train.h"

#include "synthetic.h"
#include "sample_rows.h"
#include "test.h"

static void train(const char *kind, const struct rt_dataset *dataset, const char *held_out, const char *path,
                  struct rt_predictor *predictor)
{
    struct rt_train_options options = rt_train_defaults;
    options.kind = kind;
    options.out = path;
    options.quiet = true;
    options.threads = 1;
    options.held_out_gpus = (struct rt_names){&held_out, held_out != NULL};
    RT_ASSERT_OK(rt_train(dataset, &options, NULL));
    RT_ASSERT_OK(rt_predictor_open(path, predictor));
    CU_ASSERT_STRING_EQUAL(predictor->kind, kind);
    CU_ASSERT_TRUE(predictor->complete);
    CU_ASSERT_STRING_EQUAL(predictor->data_uuids, dataset->uuid);
}

static size_t count_samples(const struct rt_dataset *dataset, enum rt_family family, int32_t device,
                            bool test)
{
    struct rt_split_rule rule = RT_SPLIT_DEFAULT;
    size_t count = 0;
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        enum rt_part part = rt_split_of(&rule, sample);
        count += rt_call_family(&sample->call) == family && (device < 0 || sample->device == device) &&
                 (test || part == RT_PART_TRAIN);
    }
    return count;
}

/* Mean error over the samples of a family on a device; all must be forecast. */
static double error_of(const struct rt_predictor *predictor, const struct rt_dataset *dataset,
                       enum rt_family family, int32_t device)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        struct rt_query query;
        double latency_us;
        uint8_t skip;
        if (rt_call_family(&sample->call) != family || sample->device != device)
            continue;
        rt_query_of_sample(sample, false, &query);
        rt_predictor_forecast(predictor, &dataset->devices[device], &query, 1, NULL, &latency_us, &skip);
        CU_ASSERT_EQUAL_FATAL(skip, RT_SKIP_NONE);
        CU_ASSERT_TRUE(isnan(rt_predictor_interval(predictor, &dataset->devices[device], &query, 0.9)));
        sum += fabs(latency_us / sample->latency_us - 1);
        count++;
    }
    return sum / (double)count;
}

static void test_linear(void)
{
    struct rt_dataset dataset;
    struct rt_predictor predictor;
    synthetic_dataset(&dataset, 300);
    train("linear", &dataset, "large", rt_test_path("linear.h5"), &predictor);
    CU_ASSERT_EQUAL(predictor.net_count, 4);
    const struct rt_family_net *net = rt_predictor_net(&predictor, RT_OP_SOFTMAX, RT_FP32);
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    CU_ASSERT_EQUAL_FATAL(net->linear.count, 1); /* none of the large device, which is held out */
    CU_ASSERT_EQUAL(net->rows_train, (int64_t)count_samples(&dataset, RT_FAMILY_SOFTMAX, 0, false));
    CU_ASSERT_EQUAL(net->linear.line[0].kernels, net->rows_train); /* no test rows */
    CU_ASSERT_TRUE(net->validation_mape > 0 && net->validation_mape < 60);
    double known = error_of(&predictor, &dataset, RT_FAMILY_SOFTMAX, 0),
           unseen = error_of(&predictor, &dataset, RT_FAMILY_SOFTMAX, 1);
    printf("# softmax is off by %.0f%% on the device of the line, %.0f%% on the other\n", 100 * known,
           100 * unseen);
    CU_ASSERT_TRUE(known < 0.35 && unseen < 0.6); /* waves are no line */
    rt_predictor_release(&predictor);
    rt_dataset_release(&dataset);
}

/* The large device is the small one twice, so what it takes is half: the formula says so exactly. */
static void test_wave_scaling(void)
{
    struct rt_dataset dataset;
    struct rt_predictor predictor;
    synthetic_dataset(&dataset, 300);
    size_t count = dataset.samples.count;
    for (size_t i = 0; i < count; i++) /* each kernel of the small device also on the large one */
        if (RT_SAMPLE(&dataset, i)->device == 0) {
            struct rt_sample sample = rt_dataset_sample(&dataset, i);
            sample.device = 1;
            sample.latency_us /= 2;
            rt_dataset_add_sample(&dataset, &sample);
        }
    for (size_t i = 0; i < count; i++)
        if (RT_SAMPLE(&dataset, i)->device == 1)
            RT_CHANGE(&dataset, i, sample.flags |= RT_FLAG_FAILED);
    rt_dataset_stamp(&dataset);
    train("wave-scaling", &dataset, "large", rt_test_path("wave.h5"), &predictor);
    const struct rt_family_net *net = rt_predictor_net(&predictor, RT_OP_BMM, RT_FP32);
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    CU_ASSERT_EQUAL(net->wave_scaling.device_count, 1);
    CU_ASSERT_EQUAL(net->rows_train,
                    (int64_t)count_samples(&dataset, RT_FAMILY_BMM, 0, true)); /* test rows too */
    CU_ASSERT_TRUE(isnan(net->validation_mape)); /* no other device to forecast from */
    double worst = 0;
    for (size_t i = count; i < dataset.samples.count; i++) {
        struct rt_query query;
        double latency_us;
        uint8_t skip;
        rt_query_of_sample(RT_SAMPLE(&dataset, i), false, &query);
        rt_predictor_forecast(&predictor, &dataset.devices[1], &query, 1, NULL, &latency_us, &skip);
        CU_ASSERT_EQUAL_FATAL(skip, RT_SKIP_NONE);
        worst = fmax(worst, fabs(latency_us / RT_SAMPLE(&dataset, i)->latency_us - 1));
        rt_predictor_forecast(&predictor, &dataset.devices[0], &query, 1, NULL, &latency_us, &skip);
        CU_ASSERT_EQUAL_FATAL(skip, RT_SKIP_NO_ORIGIN); /* its own measurements do not count */
    }
    CU_ASSERT_TRUE(worst < 1e-5);
    rt_predictor_release(&predictor);
    rt_dataset_release(&dataset);
}

/* A thousand times too fast: left out by the rule of `validate`, counted in the file; --keep-all fits to
 * them. */
static void test_poison(void)
{
    struct rt_dataset dataset;
    struct rt_predictor clean, poisoned, kept;
    const char *path = rt_test_path("poison.h5");
    double before = 0, after = 0, worst = 0;
    synthetic_dataset(&dataset, 400);
    train("linear", &dataset, NULL, path, &clean);
    before = error_of(&clean, &dataset, RT_FAMILY_LINEAR, 0);
    size_t made = 0;
    struct rt_dataset truth;
    synthetic_dataset(&truth, 400);
    for (size_t i = 0; i < dataset.samples.count; i++) {
        struct rt_split_rule rule = RT_SPLIT_DEFAULT;
        const struct rt_sample *drawn = RT_SAMPLE(&dataset, i);
        if (i % 50 == 1 && rt_split_of(&rule, drawn) == RT_PART_TRAIN) {
            made += rt_call_family(&drawn->call) == RT_FAMILY_LINEAR;
            RT_CHANGE(&dataset, i, sample.latency_us /= 1000);
        }
    }
    rt_dataset_stamp(&dataset);
    train("linear", &dataset, NULL, path, &poisoned);
    after = error_of(&poisoned, &truth, RT_FAMILY_LINEAR, 0);
    const struct rt_family_net *net = rt_predictor_net(&poisoned, RT_OP_LINEAR, RT_FP32);
    CU_ASSERT_TRUE(made > 2);
    CU_ASSERT_EQUAL(net->rows_impossible, (int64_t)made);
    CU_ASSERT_EQUAL(rt_predictor_net(&clean, RT_OP_LINEAR, RT_FP32)->rows_impossible, 0);
    struct rt_train_options options = rt_train_defaults;
    options.kind = "linear", options.out = path, options.quiet = options.keep_all = true, options.threads = 1;
    RT_ASSERT_OK(rt_train(&dataset, &options, NULL));
    RT_ASSERT_OK(rt_predictor_open(path, &kept));
    worst = error_of(&kept, &truth, RT_FAMILY_LINEAR, 0);
    printf("# error of linear: clean %.3f, poisoned %.3f, kept %.3f\n", before, after, worst);
    CU_ASSERT_TRUE(fabs(after - before) < 0.05 * before);
    CU_ASSERT_TRUE(worst > 0.9);
    CU_ASSERT_EQUAL(rt_predictor_net(&kept, RT_OP_LINEAR, RT_FP32)->rows_impossible, 0);
    rt_predictor_release(&clean);
    rt_predictor_release(&poisoned);
    rt_predictor_release(&kept);
    rt_dataset_release(&truth);
    rt_dataset_release(&dataset);
}

static void test_nothing_to_fit(void)
{
    struct rt_dataset dataset;
    synthetic_dataset(&dataset, 20);
    const char *kinds[] = {"linear", "wave-scaling"}, *all[] = {"Synthetic"};
    for (size_t k = 0; k < RT_COUNT(kinds); k++) {
        struct rt_train_options options = rt_train_defaults;
        options.kind = kinds[k];
        options.out = rt_test_path("never.h5");
        options.quiet = true;
        options.held_out_gpus = (struct rt_names){all, 1};
        RT_ASSERT_FAILS(rt_train(&dataset, &options, NULL), RT_EFORMAT, "nothing to fit");
    }
    rt_dataset_release(&dataset);
}

RT_TESTS(RT_TEST(test_linear), RT_TEST(test_wave_scaling), RT_TEST(test_poison), RT_TEST(test_nothing_to_fit))
