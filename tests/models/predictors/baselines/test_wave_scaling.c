/* The wave-scaling baseline: Habitat's formula, which kernel of which device is scaled, files. */
#include "base/h5.h"
#include "models/predictors/baselines/wave_scaling.h"
#include "sample_rows.h"
#include "samples.h"

#include <math.h>

static struct rt_query product(int64_t m)
{
    return (struct rt_query){.call.op = RT_OP_BMM, .call.dim = {2, m, 512, 256}, .tile = {-1, -1}};
}

static void build(struct rt_wave_scaling *origins, const struct rt_dataset *dataset)
{
    uint32_t all[MOST_SAMPLES];
    all_rows(dataset, all);
    rt_wave_scaling_build(origins, dataset, all, dataset->samples.count);
}

/* Two devices with numbers that can be reckoned with: half the multiprocessors, a quarter of the bandwidth.
 */
static void simple_devices(struct rt_device *small, struct rt_device *large)
{
    rt_device_init(small, "Small");
    small->sms = 10;
    small->clock_mhz = 1000;
    small->bandwidth_gbs = 100;
    small->fp32_vector_tflops = 1;
    small->memory_gib = small->l2_mib = 1;
    *large = *small;
    strcpy(large->name, "Large");
    large->sms = 20;
    large->clock_mhz = 1500;
    large->bandwidth_gbs = 400;
    large->fp32_vector_tflops = 4; /* a ridge of 10 FLOPs per byte */
}

static void test_formula(void)
{
    struct rt_device small, large;
    simple_devices(&small, &large);
    struct rt_query query = {
        .call.op = RT_OP_ADD, .call.dim = {100, 100}, .tile = {-1, -1}, .flops = 1, .bytes = 1e9};
    RT_ASSERT_NEAR(rt_wave_scale(&query, &small, &large), 0.25, 1e-7); /* only bandwidth */
    query.flops = query.bytes = 1e9; /* x = 1, a tenth of the ridge: gamma 0.95 */
    RT_ASSERT_NEAR(rt_wave_scale(&query, &small, &large), pow(0.25, 0.95) * pow(1 / 3.0, 0.05), 1e-12);
    query.flops = 1e10; /* at the ridge: 0.5 */
    RT_ASSERT_NEAR(rt_wave_scale(&query, &small, &large), sqrt(0.25 / 3), 1e-12);
    query.flops = 1e11; /* ten times the ridge: 0.05 */
    RT_ASSERT_NEAR(rt_wave_scale(&query, &small, &large), pow(0.25, 0.05) * pow(1 / 3.0, 0.95), 1e-12);
    small.clock_mhz = NAN; /* peaks instead: 1 to 4 */
    RT_ASSERT_NEAR(rt_wave_scale(&query, &small, &large), 0.25, 1e-12);
    RT_ASSERT_NEAR(rt_wave_scale(&query, &small, &small), 1, 1e-12);
}

static void test_same_kernel(void)
{
    struct rt_dataset dataset;
    struct rt_wave_scaling origins;
    struct rt_device v100;
    rt_dataset_init(&dataset);
    add_device(&dataset, "T4");
    RT_ASSERT_OK(rt_device_named("V100", &v100));
    struct rt_query asked = product(300), other = product(3000);
    const double times[] = {70, 50, 52}; /* measured three times: the median */
    for (size_t i = 0; i < RT_COUNT(times); i++)
        add_sample(&dataset, &asked, 0, times[i]);
    add_sample(&dataset, &other, 0, 900);
    build(&origins, &dataset);
    CU_ASSERT_EQUAL_FATAL(origins.count, 1);
    CU_ASSERT_EQUAL(origins.sets[0].shapes.count, 2);
    double scale = rt_wave_scale(&asked, &dataset.devices[0], &v100);
    CU_ASSERT_TRUE(scale > 0.3 && scale < 0.9);
    RT_ASSERT_NEAR(rt_wave_scaling_us(&origins, &asked, &v100), 52 * scale, 1e-6);
    /* Of other dims: the nearest, by the ratio of the rooflines on the origin. */
    struct rt_query near = product(320);
    double alike = rt_roofline_us(&near, &dataset.devices[0]) / rt_roofline_us(&asked, &dataset.devices[0]);
    RT_ASSERT_NEAR(rt_wave_scaling_us(&origins, &near, &v100),
                   52 * alike * rt_wave_scale(&near, &dataset.devices[0], &v100), 1e-6);
    near = product(2000);
    alike = rt_roofline_us(&near, &dataset.devices[0]) / rt_roofline_us(&other, &dataset.devices[0]);
    RT_ASSERT_NEAR(rt_wave_scaling_us(&origins, &near, &v100),
                   900 * alike * rt_wave_scale(&near, &dataset.devices[0], &v100), 1e-6);
    /* The device's own measurements are never used. */
    CU_ASSERT_TRUE(isnan(rt_wave_scaling_us(&origins, &asked, &dataset.devices[0])));
    rt_wave_scaling_release(&origins);
    rt_dataset_release(&dataset);
}

static void test_origins_of_choice(void)
{
    struct rt_dataset dataset;
    struct rt_wave_scaling origins;
    struct rt_device a100;
    rt_dataset_init(&dataset);
    add_device(&dataset, "T4");
    add_device(&dataset, "V100");
    add_device(&dataset, "P100");
    add_device(&dataset, "MI100");
    RT_ASSERT_OK(rt_device_named("A100", &a100));
    struct rt_query asked = product(300), amd_only = product(5000);
    const double says[] = {10, 40, 20, 1000}; /* of the A100, scaled */
    for (int32_t d = 0; d < 4; d++)
        add_sample(&dataset, &asked, d, says[d] / rt_wave_scale(&asked, &dataset.devices[d], &a100));
    add_sample(&dataset, &amd_only, 3, 77);
    build(&origins, &dataset);
    CU_ASSERT_EQUAL(origins.device_count, 4);
    RT_ASSERT_NEAR(rt_wave_scaling_us(&origins, &asked, &a100), 20,
                   1e-6);                                          /* of the same vendor, the middle one */
    RT_ASSERT_NEAR(rt_wave_scaling_us(&origins, &amd_only, &a100), /* only another vendor's is so near */
                   77 * rt_wave_scale(&amd_only, &dataset.devices[3], &a100), 1e-6);
    rt_wave_scaling_release(&origins);
    RT_CHANGE(&dataset, 2, sample.latency_us = NAN); /* leaves 10 and 40: the middle of their logarithms */
    rt_wave_scaling_build(&origins, &dataset, (const uint32_t[]){0, 1}, 2);
    RT_ASSERT_NEAR(rt_wave_scaling_us(&origins, &asked, &a100), 20, 1e-6);
    rt_wave_scaling_release(&origins);
    rt_dataset_release(&dataset);
}

static void test_anything_like_it(void)
{
    struct rt_dataset dataset;
    struct rt_wave_scaling origins, none = {0};
    struct rt_device a100;
    rt_dataset_init(&dataset);
    add_device(&dataset, "V100");
    RT_ASSERT_OK(rt_device_named("A100", &a100));
    struct rt_query add = {.call.op = RT_OP_ADD, .call.dim = {512, 1024}, .tile = {-1, -1}}, gelu = add,
                    half = add;
    gelu.call.op = RT_OP_GELU;
    half.call.dtype = RT_FP16;
    add_sample(&dataset, &add, 0, 20);
    build(&origins, &dataset);
    double whole = rt_wave_scaling_us(&origins, &add, &a100);
    RT_ASSERT_NEAR(rt_wave_scaling_us(&origins, &gelu, &a100), whole * 2 / 3,
                   0.01); /* two operands of three */
    RT_ASSERT_NEAR(rt_wave_scaling_us(&origins, &half, &a100), whole / 2, 0.05);
    struct rt_query twice = add; /* a kernel that moves twice the op's bytes */
    twice.bytes = 2 * rt_query_bytes(&add);
    RT_ASSERT_NEAR(rt_wave_scaling_us(&origins, &twice, &a100), 2 * whole, 0.01);
    struct rt_query bmm = product(300);
    CU_ASSERT_TRUE(isnan(rt_wave_scaling_us(&origins, &bmm, &a100)));
    CU_ASSERT_TRUE(isnan(rt_wave_scaling_us(&none, &add, &a100)));
    rt_wave_scaling_release(&origins);
    rt_dataset_release(&dataset);
}

static void many(struct rt_dataset *dataset)
{
    rt_dataset_init(dataset);
    add_device(dataset, "V100");
    add_device(dataset, "MI100");
    for (int i = 0; i < 300; i++) {
        struct rt_query query = product(1 + i * 37 % 2000);
        query.call.dim[3] = 64 + i % 7;
        add_sample(dataset, &query, i % 2, 10 + i);
    }
}

static void test_point(void)
{
    double point[RT_WAVE_SCALING_MOST_AXES];
    struct rt_query query = {.call.op = RT_OP_ADD, .call.dim = {3, 1}, .tile = {-1, -1}};
    rt_wave_scaling_point(&query, point); /* 3 FLOPs, 36 bytes */
    CU_ASSERT_TRUE(point[0] == 2 && point[1] == 1 && point[2] == 4);
    RT_ASSERT_NEAR(point[3], 2 * log2(37), 1e-12);
    query.bytes = 127;
    rt_wave_scaling_point(&query, point);
    CU_ASSERT_EQUAL(point[3], 14);
}

/* Found through the tree as by looking at every kernel. */
static void test_nearest_of_many(void)
{
    struct rt_dataset dataset;
    struct rt_wave_scaling origins;
    struct rt_device a100;
    many(&dataset);
    build(&origins, &dataset);
    RT_ASSERT_OK(rt_device_named("MI210", &a100)); /* so that only the MI100's count where both are as near */
    int differ = 0;
    for (int64_t m = 3; m < 2500; m += 17) {
        struct rt_query query = product(m);
        double nearest = INFINITY, expected = 0, asked[RT_WAVE_SCALING_MOST_AXES],
               point[RT_WAVE_SCALING_MOST_AXES];
        rt_wave_scaling_point(&query, asked);
        for (size_t i = 0; i < dataset.samples.count; i++) {
            const struct rt_sample *sample = RT_SAMPLE(&dataset, i);
            struct rt_query measured = product(sample->call.dim[1]);
            measured.call.dim[3] = sample->call.dim[3];
            rt_wave_scaling_point(&measured, point);
            double distance = 0;
            for (int axis = 0; axis < 4 + RT_WAVE_SCALING_AMOUNTS; axis++)
                distance += pow(asked[axis] - point[axis], 2);
            if (distance >= nearest - 1e-9)
                continue;
            const struct rt_device *origin = &dataset.devices[sample->device];
            nearest = distance;
            expected = sample->latency_us * rt_roofline_us(&query, origin) /
                       rt_roofline_us(&measured, origin) * rt_wave_scale(&query, origin, &a100);
        }
        differ += fabs(rt_wave_scaling_us(&origins, &query, &a100) / expected - 1) > 1e-6;
    }
    CU_ASSERT_EQUAL(differ, 0);
    rt_wave_scaling_release(&origins);
    rt_dataset_release(&dataset);
}

static struct rt_h5 *create(const char *path)
{
    struct rt_h5 *file = NULL;
    RT_ASSERT_OK(rt_h5_create(path, &file));
    RT_ASSERT_OK(rt_h5_set_text(file, "/", "format", "origins"));
    RT_ASSERT_OK(rt_h5_set_integer(file, "/", "version", 1));
    return file;
}

static void test_files(void)
{
    const char *path = rt_test_path("origins.h5");
    struct rt_dataset dataset;
    struct rt_wave_scaling a, b = {0};
    many(&dataset);
    build(&a, &dataset);
    struct rt_h5 *file = create(path);
    RT_ASSERT_OK(rt_wave_scaling_write(&a, file, "/o"));
    RT_ASSERT_OK(rt_h5_commit(file));
    RT_ASSERT_OK(rt_h5_open(path, "origins", 1, &file));
    RT_ASSERT_OK(rt_wave_scaling_read(file, "/o", &b));
    CU_ASSERT_EQUAL_FATAL(a.count, b.count);
    CU_ASSERT_EQUAL_FATAL(a.device_count, b.device_count);
    for (size_t d = 0; d < a.device_count; d++)
        CU_ASSERT_TRUE(rt_device_same(&a.devices[d], &b.devices[d]) &&
                       strcmp(a.devices[d].vendor, b.devices[d].vendor) == 0);
    for (size_t i = 0; i < a.count; i++) {
        const struct rt_wave_scaling_set *x = &a.sets[i], *y = &b.sets[i];
        CU_ASSERT_TRUE_FATAL(x->shapes.op == y->shapes.op && x->shapes.dtype == y->shapes.dtype &&
                             x->device == y->device && x->shapes.count == y->shapes.count);
        CU_ASSERT_EQUAL(memcmp(x->dim, y->dim, x->shapes.count * x->shapes.dims * sizeof *x->dim), 0);
        CU_ASSERT_EQUAL(memcmp(x->latency_us, y->latency_us, x->shapes.count * sizeof *x->latency_us), 0);
        CU_ASSERT_EQUAL(
            memcmp(x->points, y->points,
                   x->shapes.count * (x->shapes.dims + RT_WAVE_SCALING_AMOUNTS) * sizeof *x->points),
            0);
    }
    rt_h5_close(file);
    rt_wave_scaling_release(&a);
    rt_wave_scaling_release(&b);
    rt_dataset_release(&dataset);
}

/* Sets, devices and times that cannot be are refused, not followed. */
static void test_damaged_files(void)
{
    const char *path = rt_test_path("damaged.h5");
    struct rt_dataset dataset;
    struct rt_wave_scaling origins;
    many(&dataset);
    build(&origins, &dataset);
    struct rt_wave_scaling_set *set = &origins.sets[0];
    struct rt_h5 *file = create(path);
    set->device = 7;
    RT_ASSERT_OK(rt_wave_scaling_write(&origins, file, "/device"));
    set->device = 0;
    set->latency_us[3] = -1;
    RT_ASSERT_OK(rt_wave_scaling_write(&origins, file, "/time"));
    set->latency_us[3] = 1;
    set->dim[5] = -4;
    RT_ASSERT_OK(rt_wave_scaling_write(&origins, file, "/dim"));
    set->dim[5] = 4;
    origins.devices[1].bandwidth_gbs = -5;
    RT_ASSERT_OK(rt_wave_scaling_write(&origins, file, "/bandwidth"));
    RT_ASSERT_OK(rt_h5_commit(file));
    RT_ASSERT_OK(rt_h5_open(path, "origins", 1, &file));
    static const char *const groups[][2] = {{"/device", "/device: set 0 has a device, dim or latency"},
                                            {"/time", "/time: set 0 has a device, dim or latency"},
                                            {"/dim", "/dim: set 0 has a device, dim or latency"},
                                            {"/bandwidth", "\"bandwidth_gbs\" of"}};
    for (size_t i = 0; i < RT_COUNT(groups); i++) {
        struct rt_wave_scaling read = {0};
        RT_ASSERT_FAILS(rt_wave_scaling_read(file, groups[i][0], &read), RT_EFORMAT, groups[i][1]);
        rt_wave_scaling_release(&read);
    }
    rt_h5_close(file);
    rt_wave_scaling_release(&origins);
    rt_dataset_release(&dataset);
}

/* Forward and the gradients of a convolution are told apart, in files too; dims may lack. */
static void test_phases(void)
{
    const char *path = rt_test_path("phases.h5");
    struct rt_dataset dataset;
    struct rt_wave_scaling built, origins = {0};
    struct rt_device v100;
    struct rt_query query = {.call.op = RT_OP_CONV2D,
                             .call.dim = {8, 64, 64, 56, 56, 3, 3, 1, 1, 1, 1, -1, -1, -1},
                             .tile = {-1, -1}};
    RT_ASSERT_OK(rt_device_named("V100", &v100));
    rt_dataset_init(&dataset);
    add_device(&dataset, "T4");
    for (int phase = 0; phase < RT_PHASE_COUNT; phase++) {
        query.call.phase = (uint8_t)phase;
        add_sample(&dataset, &query, 0, 100 + 100 * phase);
    }
    build(&built, &dataset);
    struct rt_h5 *file = create(path);
    RT_ASSERT_OK(rt_wave_scaling_write(&built, file, "/o"));
    RT_ASSERT_OK(rt_h5_commit(file));
    RT_ASSERT_OK(rt_h5_open(path, "origins", 1, &file));
    RT_ASSERT_OK(rt_wave_scaling_read(file, "/o", &origins));
    rt_h5_close(file);
    query.call.phase = RT_FORWARD;
    double forward = rt_wave_scaling_us(&origins, &query, &v100);
    query.call.phase = RT_ACCUMULATE;
    RT_ASSERT_NEAR(rt_wave_scaling_us(&origins, &query, &v100), 3 * forward, 1e-9);
    rt_wave_scaling_release(&built);
    rt_wave_scaling_release(&origins);
    rt_dataset_release(&dataset);
}

RT_TESTS(RT_TEST(test_formula), RT_TEST(test_same_kernel), RT_TEST(test_origins_of_choice),
         RT_TEST(test_anything_like_it), RT_TEST(test_point), RT_TEST(test_nearest_of_many),
         RT_TEST(test_files), RT_TEST(test_damaged_files), RT_TEST(test_phases))
