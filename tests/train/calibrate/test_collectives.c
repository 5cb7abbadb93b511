/* Calibration to collectives: a GPU whose links are slower than its description says. */
#include "base/status.h"
#include "train/calibrate/calibrate.h"
#include "predict/evaluate/evaluate.h"

#include "train/collectives.h"

/* The model that made the data, which knows no device. */
static void make_predictor(struct rt_predictor *predictor)
{
    rt_predictor_init(predictor, "rooftile");
    predictor->nets = rt_calloc(1, sizeof *predictor->nets);
    predictor->net_count = 1;
    predictor->nets[0] = (struct rt_family_net){.family = RT_FAMILY_COLLECTIVE,
                                                .forecaster = RT_FORECASTER_LINKS,
                                                .links = collectives_truth(),
                                                .effects.family = RT_FAMILY_COLLECTIVE};
    rt_intervals_init(&predictor->nets[0].intervals);
}

static void test_calibration_finds_a_slow_link(void)
{
    struct rt_dataset dataset;
    struct rt_predictor predictor;
    struct rt_calibrate_options options = {
        .from = RT_FROM_KERNELS, .kernels = 20, .seed = 1, .part = RT_PART_ANY};
    struct rt_calibration calibration;
    collectives_dataset(&dataset);
    make_predictor(&predictor);
    double before = collectives_error(&predictor, &dataset, COLLECTIVES_SLOW);
    RT_ASSERT_OK(rt_calibrate(&predictor, &dataset, COLLECTIVES_SLOW, &options, &calibration));
    double after = collectives_error(&predictor, &dataset, COLLECTIVES_SLOW);
    printf("# off by %.0f%%, %.0f%% after calibration\n", 100 * before, 100 * after);
    CU_ASSERT_TRUE(before > 0.2 && after < 0.06);
    CU_ASSERT_EQUAL(calibration.family[0].used, 20);
    rt_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&dataset);
}

RT_TESTS(RT_TEST(test_calibration_finds_a_slow_link))
