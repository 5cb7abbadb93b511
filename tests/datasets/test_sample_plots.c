/* Pictures of samples hold what the dataset holds. */
#include "plots.h"
#include "sample_rows.h"
#include "test.h"

#include "datasets/sample_plots.h"

/* Two ops on two devices; one sample of each failed, the rest take i us, 5% apart. */
static void make_data(struct rt_dataset *data)
{
    struct rt_device device;
    rt_dataset_init(data);
    RT_ASSERT_OK(rt_device_find("V100-PCIE-32GB", &device));
    CU_ASSERT_EQUAL_FATAL(rt_dataset_add_device(data, &device), 0);
    RT_ASSERT_OK(rt_device_find("A100-PCIE-40GB", &device));
    CU_ASSERT_EQUAL_FATAL(rt_dataset_add_device(data, &device), 1);
    for (int i = 1; i <= 20; i++) {
        struct rt_sample sample;
        rt_sample_init(&sample);
        sample.call.op = i % 2 ? RT_OP_BMM : RT_OP_ADD;
        sample.device = i > 12;
        for (int d = 0; d < rt_op_ndims(sample.call.op); d++)
            sample.call.dim[d] = 8 * i;
        sample.latency_us = i <= 18 ? i : NAN;
        sample.latency_spread_us = i <= 18 ? 0.05 * i : NAN;
        sample.flags = i <= 18 ? 0 : RT_FLAG_FAILED;
        rt_dataset_add_sample(data, &sample);
    }
}

static void test_plots(void)
{
    struct rt_dataset data;
    struct rt_report *report = rt_report_new();
    make_data(&data);
    rt_sample_plots_add(report, &data);
    const struct rt_plot *counts = find_plot(report, "Samples by op and device"),
                         *bytes = find_plot(report, "Time against bytes"),
                         *roofline = find_plot(report, "Roofline of Tesla V100-PCIE-32GB"),
                         *spread = find_plot(report, "Spread of repeated measurements"),
                         *flags = find_plot(report, "Samples that are flagged, by op");
    CU_ASSERT_EQUAL(bar_of(counts, "Tesla V100-PCIE-32GB", "bmm"), 6);
    CU_ASSERT_EQUAL(bar_of(counts, "NVIDIA A100-PCIE-40GB", "add"), 4);
    CU_ASSERT_EQUAL(count_points(bytes), 18); /* what failed has no time */
    CU_ASSERT_EQUAL(count_points(roofline), 12);
    const struct rt_series *bmm = find_series(spread, "bmm");
    CU_ASSERT_PTR_NOT_NULL_FATAL(bmm);
    CU_ASSERT_EQUAL(bmm->count, 9);
    RT_ASSERT_NEAR(bmm->x[0], 5, 1e-9);
    CU_ASSERT_EQUAL(bmm->y[8], 100);
    CU_ASSERT_EQUAL(bar_of(flags, "failed", "add"), 1);
    CU_ASSERT_PTR_NULL(find_plot(report, "Clock in the order of the samples")); /* none is known */
    rt_report_free(report);
    rt_dataset_release(&data);
}

/* Points lie on the roof where they take what peak and bandwidth allow. */
static void test_roof(void)
{
    struct rt_dataset data;
    struct rt_report *report = rt_report_new();
    make_data(&data);
    const struct rt_device *device = &data.devices[0];
    double peak = rt_device_peak_flops(device, RT_FAMILY_BMM, RT_FP32);
    for (size_t i = 0; i < data.samples.count; i++)
        RT_CHANGE(&data, i,
                  sample.latency_us =
                      1e6 * fmax(rt_call_flops(&sample.call) / peak,
                                 rt_call_bytes(&sample.call) / (1e9 * device->bandwidth_gbs)));
    rt_sample_plots_add(report, &data);
    const struct rt_plot *roofline = find_plot(report, "Roofline of Tesla V100-PCIE-32GB");
    const struct rt_series *points = find_series(roofline, "bmm");
    CU_ASSERT_PTR_NOT_NULL_FATAL(points);
    for (size_t i = 0; i < points->count; i++)
        RT_ASSERT_NEAR(points->y[i], 1e-12 * fmin(peak, points->x[i] * 1e9 * device->bandwidth_gbs), 1e-9);
    rt_report_free(report);
    rt_dataset_release(&data);
}

static void test_nothing(void)
{
    struct rt_dataset data;
    struct rt_report *report = rt_report_new();
    rt_dataset_init(&data);
    rt_sample_plots_add(report, &data);
    CU_ASSERT_EQUAL(report->count, 0);
    rt_report_free(report);
    rt_dataset_release(&data);
}

RT_TESTS(RT_TEST(test_plots), RT_TEST(test_roof), RT_TEST(test_nothing))
