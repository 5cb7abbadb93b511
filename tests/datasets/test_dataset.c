/* Datasets in memory and on disk: round trip, merging, damage, versions. */
#include "base/h5.h"
#include "datasets/dataset.h"
#include "datasets/dataset_input.h"
#include "datasets/split.h"
#include "datasets/damage.h"
#include "sample_rows.h"
#include "test.h"

#include <hdf5.h>
#include <math.h>

static void add_bmm(struct rt_dataset *dataset, int64_t m, double latency_us)
{
    struct rt_sample sample;
    rt_sample_init(&sample);
    sample.call.op = RT_OP_BMM;
    sample.device = 0;
    sample.call.dim[0] = 2, sample.call.dim[1] = m, sample.call.dim[2] = 8, sample.call.dim[3] = 16;
    sample.latency_us = latency_us;
    sample.kernel = rt_strings_add(&dataset->kernels, m % 2 ? "odd" : "even", 9);
    sample.group = rt_dataset_add_group(dataset, 2, (const char *[]){"torch", "cuda"},
                                        (const char *[]){"2.1", m % 3 ? "12" : ""});
    rt_dataset_add_sample(dataset, &sample);
}

static void make(struct rt_dataset *dataset, int count)
{
    struct rt_device device;
    rt_dataset_init(dataset);
    CU_ASSERT_EQUAL_FATAL(rt_device_find("V100", &device), RT_OK);
    rt_dataset_add_device(dataset, &device);
    for (int i = 1; i <= count; i++)
        add_bmm(dataset, i, 1.5 * i);
    struct rt_workload workload;
    rt_workload_init(&workload);
    workload.device = 0;
    workload.model = rt_strings_add(&dataset->texts, "gpt2", 4);
    workload.end_to_end_us = 1e6;
    rt_dataset_add_workload(dataset, &workload);
    rt_dataset_stamp(dataset);
}

static void test_round_trip(void)
{
    struct rt_dataset a, b;
    char one[512], two[512];
    snprintf(one, sizeof one, "%s", rt_test_path("one.h5"));
    snprintf(two, sizeof two, "%s", rt_test_path("two.h5"));
    make(&a, 1000);
    RT_ASSERT_OK(rt_dataset_write(&a, one));
    RT_ASSERT_OK(rt_dataset_read(one, &b));
    CU_ASSERT_EQUAL(b.samples.count, 1000);
    CU_ASSERT_TRUE(same_samples(&a, &b));
    CU_ASSERT_STRING_EQUAL(rt_strings_get(&b.kernels, RT_SAMPLE(&b, 1)->kernel), "even");
    CU_ASSERT_STRING_EQUAL(rt_dataset_attribute(&b, RT_SAMPLE(&b, 0)->group, "cuda"), "12");
    CU_ASSERT_PTR_NULL(rt_dataset_attribute(&b, RT_SAMPLE(&b, 2)->group, "cuda"));
    CU_ASSERT_EQUAL(b.workloads[0].end_to_end_us, 1e6);
    RT_ASSERT_OK(rt_dataset_write(&b, two));
    struct image image_one = read_image(one), image_two = read_image(two);
    CU_ASSERT_EQUAL_FATAL(image_one.size, image_two.size);
    CU_ASSERT_EQUAL(memcmp(image_one.bytes, image_two.bytes, image_one.size), 0);
    free(image_one.bytes);
    free(image_two.bytes);
    rt_dataset_release(&a);
    rt_dataset_release(&b);
}

static void test_append_and_duplicates(void)
{
    struct rt_dataset a, b;
    make(&a, 10);
    make(&b, 12);
    RT_ASSERT_OK(rt_dataset_append(&a, &b));
    CU_ASSERT_EQUAL(a.samples.count, 22);
    CU_ASSERT_EQUAL(a.device_count, 1);
    CU_ASSERT_EQUAL(rt_dataset_drop_duplicates(&a), 10 + 1); /* samples and the workload */
    CU_ASSERT_EQUAL(a.samples.count, 12);
    b.devices[0].bandwidth_gbs = 1;
    RT_ASSERT_FAILS(rt_dataset_append(&a, &b), RT_EFORMAT, "bandwidth_gbs is 900 in one description and 1");
    rt_dataset_release(&a);
    rt_dataset_release(&b);
}

/* Several files as one: a device that the second describes otherwise is the first's. */
static void test_input_of_several(void)
{
    struct rt_dataset first, second;
    struct rt_dataset_input input;
    make(&first, 3);
    make(&second, 5);
    second.devices[0].clock_mhz = first.devices[0].clock_mhz + 100;
    first.devices[0].power_w = NAN;
    rt_dataset_stamp(&first);
    rt_dataset_stamp(&second);
    char *paths[] = {(char *)rt_test_path("first.h5"), (char *)rt_test_path("second.h5")};
    RT_ASSERT_OK(rt_dataset_write(&first, paths[0]));
    RT_ASSERT_OK(rt_dataset_write(&second, paths[1]));
    struct rt_names names = {0};
    rt_names_add(&names, paths[0]);
    rt_names_add(&names, paths[1]);
    RT_ASSERT_OK(rt_dataset_input_read(&names, &input));
    CU_ASSERT_EQUAL(input.dataset.device_count, 1);
    CU_ASSERT_EQUAL(input.dataset.samples.count, 5);
    CU_ASSERT_EQUAL(input.dataset.devices[0].clock_mhz, first.devices[0].clock_mhz);
    CU_ASSERT_EQUAL(input.dataset.devices[0].power_w, second.devices[0].power_w); /* what it lacks */
    rt_dataset_input_release(&input);
    rt_names_release(&names);
    rt_dataset_release(&first);
    rt_dataset_release(&second);
}

static bool same_content(const struct rt_dataset *a, const struct rt_dataset *b)
{
    return same_samples(a, b) && a->workload_count == b->workload_count &&
           memcmp(a->devices, b->devices, a->device_count * sizeof *a->devices) == 0 &&
           strcmp(a->source, b->source) == 0 && strcmp(a->uuid, b->uuid) == 0 &&
           a->kernels.size == b->kernels.size &&
           memcmp(a->kernels.text, b->kernels.text, a->kernels.size) == 0;
}

/* A flipped byte anywhere is noticed, or lies where nothing is stored. */
/* A dataset of one sample of a machine whose peak was probed (or not). */
static void make_shard(struct rt_dataset *dataset, double tflops, double l2_mib, const char *source)
{
    const char *const names[] = {"fp32_vector_tflops_source", "l2_mib_source"};
    const char *const values[] = {source, "as the system reports it"};
    struct rt_device device;
    struct rt_sample sample;
    rt_dataset_init(dataset);
    rt_device_init(&device, "Machine, 2 threads");
    device.fp32_vector_tflops = tflops;
    device.l2_mib = l2_mib;
    rt_sample_init(&sample);
    sample.device = rt_dataset_add_device(dataset, &device);
    sample.group = rt_dataset_add_group(dataset, 2, names, values);
    rt_dataset_add_sample(dataset, &sample);
}

/* Shards of one machine: of what was probed the larger stays, in any order; the rest must agree. */
static void test_probed_numbers(void)
{
    const double tflops[3] = {1.00, 1.03, 0.98};
    for (int first = 0; first < 3; first++) {
        struct rt_dataset merged;
        rt_dataset_init(&merged);
        for (int i = 0; i < 3; i++) {
            struct rt_dataset shard;
            make_shard(&shard, tflops[(first + i) % 3], 32, RT_PROBED "many sgemm calls");
            RT_ASSERT_OK(rt_dataset_append(&merged, &shard));
            rt_dataset_release(&shard);
        }
        CU_ASSERT_EQUAL(merged.device_count, 1);
        CU_ASSERT_EQUAL(merged.devices[0].fp32_vector_tflops, 1.03);
        rt_dataset_release(&merged);
    }
    static const struct {
        double tflops, l2_mib;
        const char *source, *words;
    } other[] = {{1.03, 32, "data sheet", "fp32_vector_tflops is 1 in one description and 1.03 in the other"},
                 {1.03, 33, RT_PROBED "many", "l2_mib is 32 in one description and 33 in the other"}};
    for (size_t i = 0; i < RT_COUNT(other); i++) {
        struct rt_dataset a, b;
        make_shard(&a, 1, 32, RT_PROBED "many sgemm calls");
        make_shard(&b, other[i].tflops, other[i].l2_mib, other[i].source);
        RT_ASSERT_FAILS(rt_dataset_append(&a, &b), RT_EFORMAT, other[i].words);
        rt_dataset_release(&a);
        rt_dataset_release(&b);
    }
}

static void test_flipped_bytes(void)
{
    struct rt_dataset a, b;
    const char *path = rt_test_path("flip.h5");
    make(&a, 300);
    RT_ASSERT_OK(rt_dataset_write(&a, path));
    struct image image = read_image(path);
    int refused = 0, wrong = 0;
    for (size_t at = 3; at < image.size; at += 97) {
        image.bytes[at] ^= 0x10;
        write_image(path, &image, image.size);
        image.bytes[at] ^= 0x10;
        if (rt_dataset_read(path, &b) != RT_OK) {
            refused++;
            wrong += strstr(rt_error(), "flip.h5: ") == NULL;
        } else {
            wrong += !same_content(&a, &b);
            rt_dataset_release(&b);
        }
    }
    CU_ASSERT_TRUE(refused > 100);
    CU_ASSERT_EQUAL(wrong, 0);
    free(image.bytes);
    rt_dataset_release(&a);
}

static void test_truncated(void)
{
    struct rt_dataset a, b;
    const char *path = rt_test_path("cut.h5");
    make(&a, 100);
    RT_ASSERT_OK(rt_dataset_write(&a, path));
    struct image image = read_image(path);
    for (size_t keep = 1; keep < image.size; keep += image.size / 23) {
        write_image(path, &image, keep);
        CU_ASSERT_EQUAL(rt_dataset_read(path, &b), RT_EFORMAT);
    }
    write_image(path, &image, 0);
    RT_ASSERT_FAILS(rt_dataset_read(path, &b), RT_EFORMAT, "is empty");
    RT_ASSERT_FAILS(rt_dataset_read(rt_test_write("text.h5", "not hdf5 at all"), &b), RT_EFORMAT,
                    "is not an HDF5 file");
    RT_ASSERT_FAILS(rt_dataset_read("/nonexistent.h5", &b), RT_EIO, "cannot be read");
    RT_ASSERT_FAILS(rt_dataset_read(rt_test_folder(), &b), RT_EIO, "is a folder");
    free(image.bytes);
    rt_dataset_release(&a);
}

static void test_versions(void)
{
    struct rt_dataset b;
    const char *path = rt_test_path("version.h5");
    write_h5(path, RT_DATASET_FORMAT, RT_DATASET_VERSION + 1);
    RT_ASSERT_FAILS(rt_dataset_read(path, &b), RT_EVERSION, "version 5, this build reads versions 1 to 4");
    write_h5(path, "rooftile-predictor", 1);
    RT_ASSERT_FAILS(rt_dataset_read(path, &b), RT_EFORMAT,
                    "is a rooftile-predictor file where a rooftile-dataset");
    write_h5(path, RT_DATASET_FORMAT, 1);
    RT_ASSERT_FAILS(rt_dataset_read(path, &b), RT_EFORMAT, "no attribute \"uuid\"");
}

/* tests/data/dataset_v1.h5 was written before version 2: what it holds reads, what it cannot hold is missing,
 * and it is the same dataset when it is written again. */
static void test_version_1(void)
{
    struct rt_dataset a, b;
    RT_ASSERT_OK(rt_dataset_read(RT_SOURCE_DIR "/tests/data/dataset_v1.h5", &a));
    CU_ASSERT_TRUE_FATAL(a.samples.count == 1 && a.workload_count == 2);
    CU_ASSERT_EQUAL(RT_SAMPLE(&a, 0)->latency_us, 1.5);
    CU_ASSERT_EQUAL(a.workloads[0].backward_us, 2000);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_TRUE(isnan(a.workloads[i].kernels_forward_us) && isnan(a.workloads[i].kernels_backward_us));
    char *uuid = rt_strdup(a.uuid);
    rt_dataset_stamp(&a);
    CU_ASSERT_STRING_EQUAL(a.uuid, uuid);
    RT_ASSERT_OK(rt_dataset_write(&a, rt_test_path("again.h5")));
    RT_ASSERT_OK(rt_dataset_read(rt_test_path("again.h5"), &b));
    CU_ASSERT_EQUAL(memcmp(a.workloads, b.workloads, 2 * sizeof *a.workloads), 0);
    b.workloads[1].kernels_forward_us = 900; /* a column of version 2 that holds something is content */
    rt_dataset_stamp(&b);
    CU_ASSERT_STRING_NOT_EQUAL(b.uuid, uuid);
    free(uuid);
    rt_dataset_release(&a);
    rt_dataset_release(&b);
}

/* Of kernels' names, too, which lie in one array. */
static void test_not_utf8(void)
{
    struct rt_dataset dataset;
    rt_dataset_init(&dataset);
    rt_strings_add(&dataset.kernels, "gemm_caf\xe9", 9);
    rt_dataset_stamp(&dataset);
    const char *path = rt_test_path("latin.h5");
    RT_ASSERT_FAILS(rt_dataset_write(&dataset, path), RT_EFORMAT, "/strings/kernels has \"gemm_caf");
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
    rt_dataset_release(&dataset);
}

static void test_wrong_types(void)
{
    struct rt_h5 *file;
    double real = 1;
    size_t count;
    char path[512];
    snprintf(path, sizeof path, "%s", rt_test_path("types.h5"));
    RT_ASSERT_OK(rt_h5_create(path, &file));
    RT_ASSERT_OK(rt_h5_set_text(file, "/", "format", "test"));
    RT_ASSERT_OK(rt_h5_set_integer(file, "/", "version", 1));
    struct rt_h5_array reals = {"/x", RT_H5_F64, NULL, NULL, NULL, 0},
                       integers = {"/x", RT_H5_I32, NULL, NULL, NULL, 0};
    RT_ASSERT_OK(rt_h5_write(file, &reals, &real, sizeof real, 1));
    RT_ASSERT_OK(rt_h5_commit(file));
    RT_ASSERT_OK(rt_h5_open(path, "test", 1, &file));
    RT_ASSERT_FAILS(rt_h5_count(file, &integers, &count), RT_EFORMAT, "/x is of another type");
    reals.path = "/y";
    RT_ASSERT_FAILS(rt_h5_count(file, &reals, &count), RT_EFORMAT, "has no /y");
    int64_t integer;
    RT_ASSERT_FAILS(rt_h5_get_integer(file, "/", "format", &integer), RT_EFORMAT,
                    "\"format\" of / is of another type");
    rt_h5_close(file);
}

/* A column of single bytes that claims 50 million rows, none of them stored: within what deflate could make
 * of a file of this size, but not as rows of all columns. */
static void test_claimed_rows(void)
{
    struct rt_dataset a, b;
    const char *path = rt_test_path("claims.h5");
    hsize_t rows = 50000000, chunk = 16384;
    make(&a, 300);
    RT_ASSERT_OK(rt_dataset_write(&a, path));
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), old = H5Dopen2(file, "/samples/op", H5P_DEFAULT);
    hid_t type = H5Dget_type(old), space = H5Screate_simple(1, &rows, NULL);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 1, &chunk);
    H5Pset_deflate(creation, 1);
    H5Dclose(old);
    H5Ldelete(file, "/samples/op", H5P_DEFAULT);
    H5Dclose(H5Dcreate2(file, "/samples/op", type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Pclose(creation);
    H5Sclose(space);
    H5Tclose(type);
    CU_ASSERT(H5Fclose(file) >= 0);
    RT_ASSERT_FAILS(rt_dataset_read(path, &b), RT_EFORMAT, "/samples claims 50000000 values");
    rt_dataset_release(&a);
}

static void test_writing_leaves_no_trace(void)
{
    struct rt_dataset a;
    make(&a, 3);
    RT_ASSERT_FAILS(rt_dataset_write(&a, "/nonexistent/a.h5"), RT_EIO,
                    "/nonexistent/a.h5: cannot be written");
    RT_ASSERT_FAILS(rt_dataset_write(&a, rt_test_folder()), RT_EIO, "is a folder");
    struct rt_h5 *file;
    const char *path = rt_test_path("abandoned.h5");
    RT_ASSERT_OK(rt_h5_create(path, &file));
    rt_h5_close(file);
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
    rt_dataset_release(&a);
}

static void test_split(void)
{
    struct rt_split_rule rule = {.seed = 3, .validation = 0.1, .test = 0.25};
    struct rt_sample sample;
    int parts[3] = {0}, moved = 0;
    rt_sample_init(&sample);
    for (int i = 0; i < 10000; i++) {
        sample.call.dim[0] = i;
        sample.device = i % 5; /* the device does not matter: a shape falls on one side everywhere */
        enum rt_part part = rt_split_of(&rule, &sample);
        sample.device = 7;
        CU_ASSERT_EQUAL_FATAL(rt_split_of(&rule, &sample), part);
        struct rt_split_rule other = {.seed = 4, .validation = 0.1, .test = 0.25};
        moved += rt_split_of(&other, &sample) != part;
        parts[part]++;
    }
    CU_ASSERT_TRUE(parts[RT_PART_TEST] > 2350 && parts[RT_PART_TEST] < 2650);
    CU_ASSERT_TRUE(parts[RT_PART_VALIDATION] > 650 && parts[RT_PART_VALIDATION] < 850);
    CU_ASSERT_TRUE(moved > 3000);
    sample.split = RT_SPLIT_TEST;
    CU_ASSERT_EQUAL(rt_split_of(&rule, &sample), RT_PART_TEST);
    sample.split = RT_SPLIT_TRAIN;
    for (int i = 0; i < 1000; i++) {
        sample.call.dim[0] = i;
        CU_ASSERT_NOT_EQUAL_FATAL(rt_split_of(&rule, &sample), RT_PART_TEST);
    }
}

RT_TESTS(RT_TEST(test_round_trip), RT_TEST(test_append_and_duplicates), RT_TEST(test_input_of_several),
         RT_TEST(test_probed_numbers), RT_TEST(test_flipped_bytes), RT_TEST(test_truncated),
         RT_TEST(test_versions), RT_TEST(test_version_1), RT_TEST(test_wrong_types), RT_TEST(test_not_utf8),
         RT_TEST(test_claimed_rows), RT_TEST(test_writing_leaves_no_trace), RT_TEST(test_split))
