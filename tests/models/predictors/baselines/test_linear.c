/* The linear baseline: lines that are found again, carried to devices without one, kept in files. */
#include "base/h5.h"
#include "models/predictors/baselines/linear.h"
#include "base/random.h"
#include "samples.h"

#include <math.h>

static struct rt_query product(int64_t m, uint8_t dtype)
{
    return (struct rt_query){
        .call.op = RT_OP_GEMM, .call.dtype = dtype, .call.dim = {m, 64, 32}, .tile = {-1, -1}};
}

static void fit(struct rt_linear_baseline *lines, const struct rt_dataset *dataset)
{
    uint32_t all[MOST_SAMPLES];
    all_rows(dataset, all);
    rt_linear_baseline_fit(lines, dataset, all, dataset->samples.count);
}

static double seconds_at_peak(const struct rt_query *query, const struct rt_device *device)
{
    return rt_query_flops(query) /
           rt_device_peak_flops(device, rt_call_family(&query->call), (enum rt_dtype)query->call.dtype);
}

/* The T4 starts in 4 us and reaches 0.5 of its peak, the V100 in 8 us and 0.7; fp32 only. */
static void make(struct rt_dataset *dataset)
{
    rt_dataset_init(dataset);
    add_device(dataset, "T4");
    add_device(dataset, "V100");
    for (int i = 1; i <= 20; i++)
        for (int32_t d = 0; d < 2; d++) {
            struct rt_query query = product(1000 * i, RT_FP32);
            double us = 1e6 * seconds_at_peak(&query, &dataset->devices[d]);
            add_sample(dataset, &query, d, d == 0 ? 4 + us / 0.5 : 8 + us / 0.7);
        }
}

static void test_finds_the_lines(void)
{
    struct rt_dataset dataset;
    struct rt_linear_baseline lines;
    make(&dataset);
    fit(&lines, &dataset);
    CU_ASSERT_EQUAL_FATAL(lines.count, 2);
    for (size_t d = 0; d < 2; d++) {
        const struct rt_line *line = &lines.line[d];
        CU_ASSERT_STRING_EQUAL(line->device, dataset.devices[d].name);
        CU_ASSERT_EQUAL(line->by, RT_LINE_FLOPS);
        CU_ASSERT_EQUAL(line->kernels, 20);
        RT_ASSERT_NEAR(line->start_us, d == 0 ? 4 : 8, 1e-9);
        RT_ASSERT_NEAR(line->rate / line->peak, d == 0 ? 0.5 : 0.7, 1e-9);
        struct rt_query query = product(123456, RT_FP32);
        double us = 1e6 * seconds_at_peak(&query, &dataset.devices[d]);
        RT_ASSERT_NEAR(rt_linear_baseline_us(&lines, &query, &dataset.devices[d]),
                       d == 0 ? 4 + us / 0.5 : 8 + us / 0.7, 1e-9);
    }
    rt_linear_baseline_release(&lines);
    rt_dataset_release(&dataset);
}

/* Squared relative errors are least at the line: no line near it leaves less. */
static void test_least_relative_squares(void)
{
    struct rt_dataset dataset;
    struct rt_linear_baseline lines;
    struct rt_random random;
    rt_random_seed(&random, 5, 0);
    rt_dataset_init(&dataset);
    add_device(&dataset, "T4");
    for (int i = 1; i <= 60; i++) {
        struct rt_query query = product(100 * i * i, RT_FP32);
        double us = 1e6 * seconds_at_peak(&query, &dataset.devices[0]);
        add_sample(&dataset, &query, 0,
                   (20 + 2 * us) * (0.5 + (double)rt_random_below(&random, 1000) / 1000));
    }
    fit(&lines, &dataset);
    CU_ASSERT_EQUAL_FATAL(lines.count, 1);
    const double steps[][2] = {{0, 0}, {0.1, 0}, {-0.1, 0}, {0, 0.01}, {0, -0.01}};
    double rest[RT_COUNT(steps)] = {0};
    for (size_t s = 0; s < RT_COUNT(steps); s++)
        for (size_t i = 0; i < dataset.samples.count; i++) {
            const struct rt_sample *sample = RT_SAMPLE(&dataset, i);
            struct rt_query query = product(sample->call.dim[0], RT_FP32);
            double start = lines.line[0].start_us + steps[s][0],
                   rate = lines.line[0].rate * (1 + steps[s][1]);
            double error = (start + 1e6 * rt_query_flops(&query) / rate) / sample->latency_us - 1;
            rest[s] += error * error;
        }
    for (size_t s = 1; s < RT_COUNT(steps); s++)
        CU_ASSERT_TRUE(rest[0] < rest[s]);
    rt_linear_baseline_release(&lines);
    rt_dataset_release(&dataset);
}

/* A line that would start below 0, or one point alone, goes through the origin; vector ops go by bytes. */
static void test_through_the_origin(void)
{
    struct rt_dataset dataset;
    struct rt_linear_baseline lines;
    rt_dataset_init(&dataset);
    add_device(&dataset, "T4");
    add_device(&dataset, "V100");
    for (int64_t rows = 1000; rows <= 3000; rows += 1000) {
        struct rt_query query = {.call.op = RT_OP_ADD, .call.dim = {rows, 1000}, .tile = {-1, -1}};
        add_sample(&dataset, &query, 0, (double)rows - 500);
    }
    struct rt_query one = {.call.op = RT_OP_GELU, .call.dim = {900, 1000}, .tile = {-1, -1}};
    add_sample(&dataset, &one, 1, 30);
    fit(&lines, &dataset);
    CU_ASSERT_EQUAL_FATAL(lines.count, 2);
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(lines.line[i].by, RT_LINE_BYTES);
        CU_ASSERT_EQUAL(lines.line[i].start_us, 0);
        CU_ASSERT_TRUE(lines.line[i].rate > 0);
        RT_ASSERT_NEAR(lines.line[i].peak, 1e9 * dataset.devices[i].bandwidth_gbs, 1e-12);
    }
    RT_ASSERT_NEAR(rt_linear_baseline_us(&lines, &one, &dataset.devices[1]), 30, 1e-12);
    rt_linear_baseline_release(&lines);
    rt_dataset_release(&dataset);
}

static void test_carries_over(void)
{
    struct rt_dataset dataset;
    struct rt_linear_baseline lines, none = {0};
    struct rt_device a100;
    make(&dataset);
    fit(&lines, &dataset);
    RT_ASSERT_OK(rt_device_named("A100", &a100));
    /* rate = share x peak: the share that both lines are off from least; 6 us is the median start. */
    double t4 = lines.line[0].peak, v100 = lines.line[1].peak;
    double share = (0.5 * t4 * t4 + 0.7 * v100 * v100) / (t4 * t4 + v100 * v100);
    struct rt_query query = product(70000, RT_FP32);
    RT_ASSERT_NEAR(rt_linear_baseline_us(&lines, &query, &a100),
                   6 + 1e6 * seconds_at_peak(&query, &a100) / share, 1e-9);
    query.call.dtype = RT_FP16; /* never measured: the same share of its own peak */
    RT_ASSERT_NEAR(rt_linear_baseline_us(&lines, &query, &a100),
                   6 + 1e6 * seconds_at_peak(&query, &a100) / share, 1e-9);
    query.flops = 1e9; /* a kernel that is not all of its op */
    RT_ASSERT_NEAR(rt_linear_baseline_us(&lines, &query, &a100),
                   6 + 1e6 * seconds_at_peak(&query, &a100) / share, 1e-9);
    CU_ASSERT_TRUE(isnan(rt_linear_baseline_us(&none, &query, &a100)));
    rt_linear_baseline_release(&lines);
    rt_dataset_release(&dataset);
}

static void test_files(void)
{
    const char *path = rt_test_path("lines.h5");
    struct rt_dataset dataset;
    struct rt_linear_baseline a, b = {0}, damaged = {0};
    struct rt_h5 *file = NULL;
    make(&dataset);
    fit(&a, &dataset);
    RT_ASSERT_OK(rt_h5_create(path, &file));
    RT_ASSERT_OK(rt_h5_set_text(file, "/", "format", "lines"));
    RT_ASSERT_OK(rt_h5_set_integer(file, "/", "version", 1));
    RT_ASSERT_OK(rt_linear_baseline_write(&a, file, "/lines"));
    a.line[1].rate = -1;
    RT_ASSERT_OK(rt_linear_baseline_write(&a, file, "/damaged"));
    a.line[1].rate = a.line[1].peak * 0.7;
    RT_ASSERT_OK(rt_h5_commit(file));
    RT_ASSERT_OK(rt_h5_open(path, "lines", 1, &file));
    RT_ASSERT_OK(rt_linear_baseline_read(file, "/lines", &b));
    RT_ASSERT_FAILS(rt_linear_baseline_read(file, "/damaged", &damaged), RT_EFORMAT,
                    "/damaged/0001 holds a line that cannot be");
    CU_ASSERT_EQUAL_FATAL(a.count, b.count);
    for (size_t i = 0; i < a.count; i++) {
        CU_ASSERT_STRING_EQUAL(a.line[i].device, b.line[i].device);
        CU_ASSERT_TRUE(a.line[i].dtype == b.line[i].dtype && a.line[i].by == b.line[i].by);
        CU_ASSERT_TRUE(a.line[i].start_us == b.line[i].start_us && a.line[i].kernels == b.line[i].kernels);
        RT_ASSERT_NEAR(a.line[i].rate, b.line[i].rate, 1e-9);
    }
    rt_h5_close(file);
    rt_linear_baseline_release(&a);
    rt_linear_baseline_release(&b);
    rt_linear_baseline_release(&damaged);
    rt_dataset_release(&dataset);
}

RT_TESTS(RT_TEST(test_finds_the_lines), RT_TEST(test_least_relative_squares),
         RT_TEST(test_through_the_origin), RT_TEST(test_carries_over), RT_TEST(test_files))
