/* Every check of `validate` finds what it is for, damage is refused with a sentence, and true data pass. */
#include "datasets/import/import.h"
#include "datasets/validate.h"
#include "datasets/damage.h"
#include "sample_rows.h"
#include "test.h"

#include <math.h>

#define MINI RT_SOURCE_DIR "/tests/data/"

/* HDF5 1.10 loses the object header that it could not decode, once per damaged file; all else must be
 * released. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5\n";
}

static void load_mini(struct rt_dataset *out)
{
    const struct rt_import_options options = {1, true, true, NULL};
    struct rt_import_report report = {0};
    RT_ASSERT_OK(rt_import("neusight", MINI "neusight_mini/per_gpu", &options, out, &report));
    rt_import_report_release(&report);
}

/* Stamps, writes and validates; one check must find `wrong` things, the others nothing. */
static void check_finds(struct rt_dataset *dataset, enum rt_check_id id, size_t wrong, const char *words)
{
    struct rt_validation validation;
    struct rt_dataset back;
    const char *path = rt_test_path("found.h5");
    if (id != RT_CHECK_UUID)
        rt_dataset_stamp(dataset);
    RT_ASSERT_OK(rt_dataset_write(dataset, path));
    RT_ASSERT_OK(rt_validate(path, NULL, &back, &validation));
    for (int i = 0; i < RT_CHECK_COUNT; i++) {
        const struct rt_check *check = &validation.checks[i];
        size_t expected = i == (int)id ? wrong : 0;
        if (check->wrong != expected)
            printf("# %s: %zu wrong, expected %zu: %s\n", check->name, check->wrong, expected, check->first);
        CU_ASSERT_EQUAL(check->wrong, expected);
        CU_ASSERT_TRUE(check->checked > 0);
    }
    if (strstr(validation.checks[id].first, words) == NULL)
        printf("# no \"%s\" in: %s\n", words, validation.checks[id].first);
    CU_ASSERT_PTR_NOT_NULL(strstr(validation.checks[id].first, words));
    rt_dataset_release(&back);
}

static void test_good(void)
{
    struct rt_dataset d;
    load_mini(&d);
    check_finds(&d, RT_CHECK_RANGES, 0, "");
    rt_dataset_release(&d);
}

static void test_ranges(void)
{
    static const double bad_latency[] = {0, -1, NAN, INFINITY, 1e-300, 9e-4, 1e11};
    struct rt_dataset d;
    load_mini(&d);
    const struct rt_sample kept = rt_dataset_sample(&d, 2);
    for (size_t i = 0; i < RT_COUNT(bad_latency); i++) {
        RT_CHANGE(&d, 2, sample.latency_us = bad_latency[i]);
        check_finds(&d, RT_CHECK_RANGES, 1, "/samples row 2");
    }
    RT_CHANGE(&d, 2, sample = kept, sample.latency_us = NAN,
              sample.flags |= RT_FLAG_FAILED); /* could not run: that is no fault */
    check_finds(&d, RT_CHECK_RANGES, 0, "");
    RT_CHANGE(&d, 2, sample = kept, sample.tile[1] = 0);
    check_finds(&d, RT_CHECK_RANGES, 1, "tile");
    RT_CHANGE(&d, 2, sample = kept, sample.block[0] = -7);
    check_finds(&d, RT_CHECK_RANGES, 1, "block");
    RT_CHANGE(&d, 2, sample = kept, sample.count = 0);
    check_finds(&d, RT_CHECK_RANGES, 1, "count");
    RT_CHANGE(&d, 2, sample = kept, sample.call.dim[RT_MAX_DIMS - 1] = 0);
    check_finds(&d, RT_CHECK_RANGES, 1, "a dim that its op does not have");
    RT_CHANGE(&d, 2, sample = kept, sample.latency_min_us = 2, sample.latency_median_us = 1);
    check_finds(&d, RT_CHECK_RANGES, 1, "latency_min_us");
    RT_CHANGE(&d, 2, sample = kept, sample.energy_mj = -1);
    check_finds(&d, RT_CHECK_RANGES, 1, "energy_mj");
    RT_CHANGE(&d, 2, sample = kept, sample.flags = 1u << 20);
    check_finds(&d, RT_CHECK_RANGES, 1, "flags");
    RT_CHANGE(&d, 2, sample = kept);
    d.workloads[1].end_to_end_us = 0;
    check_finds(&d, RT_CHECK_RANGES, 1, "/workloads row 1 (gpt_mini): end_to_end_us");
    d.workloads[1].end_to_end_us = 1, d.workloads[1].layers = INT64_MAX;
    check_finds(&d, RT_CHECK_RANGES, 1, "/workloads row 1 (gpt_mini): layers");
    const char *const lengths[] = {"lengths", "7,"};
    int32_t group = d.workloads[1].group;
    d.workloads[1].layers = 1, d.workloads[1].batch = 2, d.workloads[1].mode = RT_INFERENCE;
    d.workloads[1].group = rt_dataset_add_group(&d, 1, &lengths[0], &lengths[1]);
    check_finds(&d, RT_CHECK_RANGES, 1, "/workloads row 1 (gpt_mini): its attribute lengths has \"\"");
    d.workloads[1].group = group;
    d.workloads[1].kernels_backward_us = -1;
    check_finds(&d, RT_CHECK_RANGES, 1, "kernels_backward_us");
    rt_dataset_release(&d);
}

/* A file of version 1: columns that came later are no fault of it, and its uuid holds. */
static void test_version_1(void)
{
    struct rt_validation validation;
    struct rt_dataset d;
    struct rt_progress progress;
    rt_progress_start(&progress, "validate", RT_VALIDATION_UNITS, true);
    RT_ASSERT_OK(rt_validate(MINI "dataset_v1.h5", &progress, &d, &validation));
    CU_ASSERT_DOUBLE_EQUAL(progress.done, RT_VALIDATION_UNITS, 1e-9);
    for (int i = 0; i < RT_CHECK_COUNT; i++)
        CU_ASSERT_TRUE(validation.checks[i].wrong == 0 && validation.checks[i].checked > 0);
    rt_dataset_release(&d);
}

static void test_duplicates(void)
{
    struct rt_dataset d;
    load_mini(&d);
    rt_dataset_add_sample(&d, RT_SAMPLE(&d, 3));
    check_finds(&d, RT_CHECK_DUPLICATES, 1, "/samples row 12 equals an earlier one");
    d.samples.count--;
    rt_dataset_add_workload(&d, &(struct rt_workload){0});
    d.workloads[2] = d.workloads[0];
    check_finds(&d, RT_CHECK_DUPLICATES, 1, "/workloads row 2");
    rt_dataset_release(&d);
}

static void test_devices(void)
{
    struct rt_dataset d;
    load_mini(&d);
    d.devices = rt_realloc(d.devices, d.device_count + 1, sizeof *d.devices);
    d.devices[d.device_count] = d.devices[0];
    for (char *at = d.devices[d.device_count++].name; *at; at++)
        *at = *at == ' ' ? '_' : *at;
    check_finds(&d, RT_CHECK_DEVICES, 1, "is described twice");
    d.device_count--;
    RT_CHANGE(&d, 0, sample.call.dtype = RT_FP8); /* no such peak on these */
    check_finds(&d, RT_CHECK_DEVICES, 1, "in fp8, but no peak for it");
    rt_dataset_release(&d);
}

static void test_uuid(void)
{
    struct rt_dataset d;
    load_mini(&d);
    RT_CHANGE(&d, 1, sample.latency_us *= 2); /* not stamped again */
    check_finds(&d, RT_CHECK_UUID, 1, "its content makes");
    rt_dataset_release(&d);
}

/* A sample of `op` on a made-up device of 1 TFLOP/s, 100 GB/s, 1 MiB of cache and 1 MHz. */
static double least_of(const char *vendor, int op, const int64_t *dims, const char **limit)
{
    struct rt_dataset d;
    struct rt_device device;
    struct rt_sample s;
    rt_dataset_init(&d);
    rt_device_init(&device, "made up");
    device.fp32_vector_tflops = 1, device.bandwidth_gbs = 100, device.l2_mib = 1;
    device.sms = device.clock_mhz = device.memory_gib = 1;
    strcpy(device.vendor, vendor), strcpy(device.architecture, "x86_64");
    rt_dataset_add_device(&d, &device);
    rt_sample_init(&s);
    s.call.op = (uint8_t)op, s.call.dtype = RT_FP32, s.device = 0;
    for (int i = 0; i < rt_op_ndims((enum rt_op_id)op); i++)
        s.call.dim[i] = dims[i];
    *limit = "";
    double us = rt_sample_least_us(&d, &s, limit);
    rt_dataset_release(&d);
    return us;
}

static double least(int op, const int64_t *dims, const char **limit)
{
    return least_of("", op, dims, limit);
}

/* What only GPUs have: a start, and a cache that is not a core's own. */
static void test_least_time_of_gpus(void)
{
    const char *limit;
    const int64_t small[] = {100, 100}, mid[] = {1000, 300};
    RT_ASSERT_NEAR(least_of("NVIDIA", RT_OP_ADD, small, &limit), 180, 1e-12); /* cycles of 1 us */
    CU_ASSERT_STRING_EQUAL(limit, "start");
    RT_ASSERT_NEAR(least_of("AMD", RT_OP_ADD, small, &limit), 0.01, 1e-12); /* a CPU */
    RT_ASSERT_NEAR(least_of("", RT_OP_ADD, mid, &limit), 0.3, 1e-12);       /* 3.6 MB, within 4 x 1 MiB */
    CU_ASSERT_STRING_EQUAL(limit, "compute");
}

/* Kernels of the mini tree are possible, and a thousand times faster they are not (or took milliseconds). */
static void test_impossible(void)
{
    struct rt_dataset d;
    load_mini(&d);
    for (size_t i = 0; i < d.samples.count; i++) {
        CU_ASSERT_FALSE(rt_sample_is_impossible(&d, RT_SAMPLE(&d, i)));
        RT_CHANGE(&d, i, sample.latency_us /= 1000);
        CU_ASSERT_TRUE(rt_sample_is_impossible(&d, RT_SAMPLE(&d, i)) || RT_SAMPLE(&d, i)->latency_us > 0.15);
    }
    rt_dataset_release(&d);
}

static void test_least_time(void)
{
    const char *limit;
    const int64_t cube[] = {1000, 1000, 1000}, small[] = {100, 100}, large[] = {10000, 1000};
    const int64_t conv[] = {8, 64, 64, 56, 56, 3, 3, 1, 1, 1, 1, -1, -1, -1},
                  ring[] = {8, 1 << 20, 0, 0, -1, -1, -1};
    RT_ASSERT_NEAR(least(RT_OP_GEMM, cube, &limit), 2000, 1e-12); /* 2e9 / 1e12 s */
    CU_ASSERT_STRING_EQUAL(limit, "compute");
    RT_ASSERT_NEAR(least(RT_OP_ADD, small, &limit), 0.01, 1e-12); /* its 120 kB may lie in the cache */
    CU_ASSERT_STRING_EQUAL(limit, "compute");
    RT_ASSERT_NEAR(least(RT_OP_ADD, large, &limit), 1200, 1e-12); /* 120 MB at 100 GB/s */
    CU_ASSERT_STRING_EQUAL(limit, "memory");
    RT_ASSERT_NEAR(least(RT_OP_CONV2D, conv, &limit), 0.25 * 2 * 8 * 64 * 64 * 56 * 56 * 9 / 1e6, 1e-12);
    CU_ASSERT_TRUE(isnan(least(RT_OP_ALL_REDUCE, ring, &limit)));
}

/* Samples below the roofline are counted; the worst stand first. */
static void test_roofline(void)
{
    struct rt_dataset d;
    struct rt_validation validation;
    struct rt_dataset back;
    const char *limit, *path = rt_test_path("fast.h5");
    load_mini(&d);
    for (size_t i = 0; i < 3; i++) {
        size_t row = 2 * i;
        RT_CHANGE(&d, row,
                  sample.latency_us = rt_sample_least_us(&d, &sample, &limit) * (0.97 - 0.2 * (double)i));
    }
    RT_CHANGE(&d, 7,
              sample.latency_us = rt_sample_least_us(&d, &sample, &limit) * 0.99); /* within the slack */
    rt_dataset_stamp(&d);
    RT_ASSERT_OK(rt_dataset_write(&d, path));
    RT_ASSERT_OK(rt_validate(path, NULL, &back, &validation));
    CU_ASSERT_EQUAL(validation.checks[RT_CHECK_ROOFLINE].wrong, 3);
    CU_ASSERT_EQUAL(validation.worst_count, 3);
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(validation.worst[i].sample, 4 - 2 * i);
    CU_ASSERT_PTR_NOT_NULL(strstr(validation.checks[RT_CHECK_ROOFLINE].first, "/samples row 4"));
    rt_dataset_release(&back);
    rt_dataset_release(&d);
}

/* More impossible samples than are kept: the ten worst, sorted. */
static void test_worst_ten(void)
{
    struct rt_dataset d, back;
    struct rt_validation validation;
    const char *limit, *path = rt_test_path("many.h5");
    load_mini(&d);
    struct rt_sample model = rt_dataset_sample(&d, 0);
    double us = rt_sample_least_us(&d, &model, &limit);
    for (int i = 0; i < 40; i++) {
        model.latency_us = us / (1.1 + (i * 17 % 40));
        rt_dataset_add_sample(&d, &model);
    }
    rt_dataset_stamp(&d);
    RT_ASSERT_OK(rt_dataset_write(&d, path));
    RT_ASSERT_OK(rt_validate(path, NULL, &back, &validation));
    CU_ASSERT_EQUAL(validation.checks[RT_CHECK_ROOFLINE].wrong, 40);
    CU_ASSERT_EQUAL_FATAL(validation.worst_count, RT_IMPOSSIBLE_KEPT);
    for (int i = 0; i < RT_IMPOSSIBLE_KEPT; i++)
        RT_ASSERT_NEAR(validation.worst[i].least_us / validation.worst[i].latency_us, 1.1 + 39 - i, 1e-9);
    rt_dataset_release(&back);
    rt_dataset_release(&d);
}

/* ---- damage ---- */

/* Is *d, which is released, exactly what `original` is? */
static bool is_same(struct rt_dataset *d, const struct rt_dataset *original)
{
    bool same = strcmp(d->uuid, original->uuid) == 0 && strcmp(d->creator, original->creator) == 0 &&
                strcmp(d->created, original->created) == 0 && strcmp(d->source, original->source) == 0 &&
                strcmp(d->licence, original->licence) == 0;
    rt_dataset_stamp(d);
    same &= strcmp(d->uuid, original->uuid) == 0;
    rt_dataset_release(d);
    return same;
}

static bool reads_same(const char *path, const struct rt_dataset *original)
{
    struct rt_dataset d;
    CU_ASSERT_EQUAL_FATAL(rt_dataset_read(path, &d), RT_OK);
    return is_same(&d, original);
}

/* Flip single bits all over the file: each must be refused in words, or make no difference. */
static void test_flipped_bits(void)
{
    const char *path = rt_test_path("whole.h5"), *flipped = rt_test_path("flipped.h5");
    struct rt_dataset d, back;
    load_mini(&d);
    RT_ASSERT_OK(rt_dataset_write(&d, path));
    CU_ASSERT_TRUE_FATAL(reads_same(path, &d));
    struct image image = read_image(path);
    uint64_t state = 88172645463325252u;
    int refused = 0, same = 0, different = 0;
    for (int i = 0; i < 1500; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        size_t at = state % image.size;
        unsigned char bit = (unsigned char)(1u << (state >> 60 & 7));
        image.bytes[at] ^= bit;
        write_image(flipped, &image, image.size);
        image.bytes[at] ^= bit;
        if (rt_dataset_read(flipped, &back) != RT_OK) {
            CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "flipped.h5"));
            refused++;
        } else if (is_same(&back, &d)) {
            same++;
        } else {
            printf("# bit %u of byte %zu is not noticed\n", bit, at);
            different++;
        }
    }
    printf("# %zu bytes: %d flips refused, %d without effect\n", image.size, refused, same);
    CU_ASSERT_EQUAL(different, 0);
    CU_ASSERT_TRUE(refused > 300);
    free(image.bytes);
    rt_dataset_release(&d);
}

static void test_truncated(void)
{
    const char *path = rt_test_path("whole.h5"), *tiling = rt_test_path("cut.h5");
    struct rt_dataset d, back;
    load_mini(&d);
    RT_ASSERT_OK(rt_dataset_write(&d, path));
    CU_ASSERT_TRUE_FATAL(reads_same(path, &d));
    struct image image = read_image(path);
    for (size_t part = 0; part < 50; part++) {
        write_image(tiling, &image, image.size * part / 50);
        int status = rt_dataset_read(tiling, &back);
        CU_ASSERT_EQUAL(status, RT_EFORMAT);
        CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "cut.h5"));
    }
    free(image.bytes);
    rt_dataset_release(&d);
}

static void test_other_files(void)
{
    struct rt_validation validation;
    struct rt_dataset d;
    const char *path = rt_test_path("other.h5");
    RT_ASSERT_FAILS(rt_validate(rt_test_path("absent.h5"), NULL, &d, &validation), RT_EIO,
                    "absent.h5: cannot be read");
    RT_ASSERT_FAILS(rt_validate(rt_test_write("empty.h5", ""), NULL, &d, &validation), RT_EFORMAT,
                    "is empty");
    RT_ASSERT_FAILS(rt_validate(rt_test_write("text.h5", "a,b\n"), NULL, &d, &validation), RT_EFORMAT,
                    "is not an HDF5 file");
    write_h5(path, "rooftile-predictor", 1);
    RT_ASSERT_FAILS(rt_validate(path, NULL, &d, &validation), RT_EFORMAT, "is a rooftile-predictor file");
    write_h5(path, RT_DATASET_FORMAT, 99);
    RT_ASSERT_FAILS(rt_validate(path, NULL, &d, &validation), RT_EVERSION,
                    "version 99, this build reads versions 1 to 4");
    write_h5(path, RT_DATASET_FORMAT, 1);
    RT_ASSERT_FAILS(rt_validate(path, NULL, &d, &validation), RT_EFORMAT, "has no attribute \"uuid\"");
}

static void test_real(const char *variable, const char *name)
{
    const struct rt_import_options options = {0, true, false, NULL};
    struct rt_import_report report = {0};
    const char *tree = rt_test_data(variable, name), *path = rt_test_path("real.h5");
    struct rt_dataset d;
    if (tree == NULL)
        return;
    RT_ASSERT_OK(rt_import(name, tree, &options, &d, &report));
    check_finds(&d, RT_CHECK_ROOFLINE, 0, "");
    rt_import_report_release(&report);
    rt_dataset_release(&d);
    unlink(path);
}

static void test_real_neusight(void)
{
    test_real("ROOFTILE_NEUSIGHT", "neusight");
}

static void test_real_aiconfigurator(void)
{
    test_real("ROOFTILE_AICONFIGURATOR", "aiconfigurator");
}

RT_TESTS(RT_TEST(test_good), RT_TEST(test_ranges), RT_TEST(test_version_1), RT_TEST(test_duplicates),
         RT_TEST(test_devices), RT_TEST(test_uuid), RT_TEST(test_least_time),
         RT_TEST(test_least_time_of_gpus), RT_TEST(test_impossible), RT_TEST(test_roofline),
         RT_TEST(test_worst_ten), RT_TEST(test_flipped_bits), RT_TEST(test_truncated),
         RT_TEST(test_other_files), RT_TEST(test_real_neusight), RT_TEST(test_real_aiconfigurator))
