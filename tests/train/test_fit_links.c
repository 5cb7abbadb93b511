/* The model of links: what a fit finds again in made-up collectives, what a file keeps of it. */
#include "train/train.h"

#include "collectives.h"

static void train(const struct rt_dataset *dataset, const char *held_out, const char *path,
                  struct rt_predictor *predictor)
{
    struct rt_train_options options = rt_train_defaults;
    options.out = path;
    options.quiet = true;
    options.threads = 1;
    options.held_out_gpus = (struct rt_names){&held_out, held_out != NULL};
    RT_ASSERT_OK(rt_train(dataset, &options, NULL));
    RT_ASSERT_OK(rt_predictor_open(path, predictor));
}

static void test_fit_finds_the_model(void)
{
    struct rt_dataset dataset;
    struct rt_predictor predictor;
    collectives_dataset(&dataset);
    train(&dataset, NULL, rt_test_path("links.h5"), &predictor);
    CU_ASSERT_EQUAL_FATAL(predictor.net_count, 1);
    const struct rt_family_net *net = &predictor.nets[0];
    CU_ASSERT_EQUAL(net->forecaster, RT_FORECASTER_LINKS);
    CU_ASSERT_TRUE(net->rows_train > 900 && net->validation_mape < 3);
    for (int32_t d = 0; d < 4; d++) {
        printf("# %s: %.1f%%\n", collective_gpus[d], 100 * collectives_error(&predictor, &dataset, d));
        CU_ASSERT_TRUE(collectives_error(&predictor, &dataset, d) < 0.05);
    }
    CU_ASSERT_EQUAL_FATAL(net->effects.count, 4);
    const struct rt_device_effect *slow = rt_device_effects_find(&net->effects, "NVIDIA H200"),
                                  *other = rt_device_effects_find(&net->effects, "NVIDIA A100-SXM4-80GB");
    CU_ASSERT_TRUE(slow->value[RT_EFFECT_COMPUTE] > other->value[RT_EFFECT_COMPUTE] + 0.15);
    CU_ASSERT_TRUE(net->links.coefficient[RT_LINK_RING_REDUCE][RT_LINK_START] >
                   1.5 * rt_link_prior.coefficient[RT_LINK_RING_REDUCE][RT_LINK_START]);
    CU_ASSERT_EQUAL(net->intervals.gpus, 4);
    rt_predictor_release(&predictor);
    rt_dataset_release(&dataset);
}

static void test_files_keep_it(void)
{
    struct rt_dataset dataset;
    struct rt_predictor predictor, again;
    struct rt_query query;
    collectives_dataset(&dataset);
    train(&dataset, NULL, rt_test_path("links.h5"), &predictor);
    RT_ASSERT_OK(rt_predictor_save(&predictor, rt_test_path("again.h5")));
    RT_ASSERT_OK(rt_predictor_open(rt_test_path("again.h5"), &again));
    for (size_t i = 0; i < dataset.samples.count; i += 7) {
        const struct rt_device *device = &dataset.devices[RT_SAMPLE(&dataset, i)->device];
        double first, second;
        rt_query_of_sample(RT_SAMPLE(&dataset, i), false, &query);
        rt_predictor_forecast(&predictor, device, &query, 1, NULL, &first, NULL);
        rt_predictor_forecast(&again, device, &query, 1, NULL, &second, NULL);
        CU_ASSERT_EQUAL(first, second);
        CU_ASSERT_EQUAL(rt_predictor_interval(&predictor, device, &query, 0.9),
                        rt_predictor_interval(&again, device, &query, 0.9));
    }
    rt_predictor_release(&again);
    again = predictor;
    again.nets[0].links.coefficient[0][0] = -1;
    RT_ASSERT_OK(rt_predictor_save(&again, rt_test_path("negative.h5")));
    RT_ASSERT_FAILS(rt_predictor_open(rt_test_path("negative.h5"), &again), RT_EFORMAT, "coefficients");
    rt_predictor_release(&predictor);
    rt_dataset_release(&dataset);
}

/* A device of the catalogue without a link number. */
static void test_no_link_is_no_forecast(void)
{
    struct rt_dataset dataset;
    struct rt_predictor predictor;
    struct rt_query query;
    double us;
    uint8_t skip;
    collectives_dataset(&dataset);
    train(&dataset, NULL, rt_test_path("links.h5"), &predictor);
    struct rt_device device = dataset.devices[0];
    device.link_gbs = NAN;
    rt_query_of_sample(RT_SAMPLE(&dataset, 0), false, &query);
    rt_predictor_forecast(&predictor, &device, &query, 1, NULL, &us, &skip);
    CU_ASSERT_EQUAL(skip, RT_SKIP_NO_PEAK);
    CU_ASSERT_TRUE(isnan(us));
    rt_predictor_release(&predictor);
    rt_dataset_release(&dataset);
}

RT_TESTS(RT_TEST(test_fit_finds_the_model), RT_TEST(test_files_keep_it), RT_TEST(test_no_link_is_no_forecast))
