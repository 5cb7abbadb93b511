/* Columns compressed chunk by chunk in threads: HDF5 must read exactly what was written. */
#include "datasets/dataset.h"
#include "sample_rows.h"
#include "test.h"

/* Rows with every kind of column: constant, missing, random, missing in some chunks only. */
static void make_rows(struct rt_dataset *d, size_t count)
{
    struct rt_device device;
    struct rt_sample s;
    uint64_t state = 88172645463325252u;
    rt_dataset_init(d);
    CU_ASSERT_EQUAL_FATAL(rt_device_find("T4", &device), RT_OK);
    rt_dataset_add_device(d, &device);
    for (size_t i = 0; i < count; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        rt_sample_init(&s);
        s.call.op = (uint8_t)(i % 3 == 0 ? RT_OP_ADD : RT_OP_RELU);
        s.call.dtype = RT_BF16;
        s.device = 0;
        s.call.dim[0] = 1 + (int64_t)(state >> 40);
        s.call.dim[1] = 1 + (int64_t)(i % 1000);
        s.latency_us = 1e-3 + (double)(state >> 20) / 1e9;
        if (i / 16384 == 1)
            s.tile[0] = (int32_t)(i % 77) + 1;
        if (i + 1 == count)
            s.energy_mj = -0.0;
        rt_dataset_add_sample(d, &s);
    }
    rt_dataset_stamp(d);
}

static void test_round_trip(void)
{
    static const size_t counts[] = {0, 1, 2, 1000, 16383, 16384, 16385, 40000};
    for (size_t i = 0; i < RT_COUNT(counts); i++) {
        struct rt_dataset d, back;
        const char *path = rt_test_path("rows.h5");
        make_rows(&d, counts[i]);
        RT_ASSERT_OK(rt_dataset_write(&d, path));
        RT_ASSERT_OK(rt_dataset_read(path, &back));
        CU_ASSERT_EQUAL_FATAL(back.samples.count, counts[i]);
        CU_ASSERT_TRUE(same_samples(&d, &back));
        rt_dataset_release(&back);
        rt_dataset_release(&d);
    }
}

/* The same content gives the same bytes, whichever thread compresses a chunk. */
static void test_same_bytes(void)
{
    struct rt_dataset d;
    char *first = NULL;
    size_t first_size = 0;
    make_rows(&d, 100000);
    for (int i = 0; i < 3; i++) {
        const char *path = rt_test_path("same.h5");
        RT_ASSERT_OK(rt_dataset_write(&d, path));
        FILE *file = fopen(path, "r");
        fseek(file, 0, SEEK_END);
        size_t size = (size_t)ftell(file);
        char *bytes = rt_malloc(size);
        rewind(file);
        CU_ASSERT_EQUAL_FATAL(fread(bytes, 1, size, file), size);
        fclose(file);
        if (first == NULL) {
            first = bytes;
            first_size = size;
            continue;
        }
        CU_ASSERT_TRUE(size == first_size && memcmp(bytes, first, size) == 0);
        free(bytes);
    }
    free(first);
    rt_dataset_release(&d);
}

/* Columns without a value take no space in the file. */
static void test_missing_is_free(void)
{
    struct rt_dataset d;
    struct stat file;
    const char *path = rt_test_path("missing.h5");
    make_rows(&d, 40000);
    for (size_t i = 0; i < d.samples.count; i++)
        RT_CHANGE(&d, i, sample.latency_us = 1, sample.call.dim[0] = 1);
    RT_ASSERT_OK(rt_dataset_write(&d, path));
    CU_ASSERT_EQUAL_FATAL(stat(path, &file), 0);
    CU_ASSERT_TRUE(file.st_size < 200000);
    rt_dataset_release(&d);
}

RT_TESTS(RT_TEST(test_round_trip), RT_TEST(test_same_bytes), RT_TEST(test_missing_is_free))
