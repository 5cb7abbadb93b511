/* Measured tiles in files: there and back, counts that do not add up. */
#include "base/h5.h"
#include "models/predictors/baselines/measured_tiles.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static struct rt_h5 *create(const char *path)
{
    struct rt_h5 *file = NULL;
    RT_ASSERT_OK(rt_h5_create(path, &file));
    RT_ASSERT_OK(rt_h5_set_text(file, "/", "format", "tiles"));
    RT_ASSERT_OK(rt_h5_set_integer(file, "/", "version", 1));
    return file;
}

static struct rt_h5 *reopen(struct rt_h5 *file, const char *path)
{
    struct rt_h5 *again = NULL;
    RT_ASSERT_OK(rt_h5_commit(file));
    RT_ASSERT_OK(rt_h5_open(path, "tiles", 1, &again));
    return again;
}

static void same(const struct rt_measured_tiles *a, const struct rt_measured_tiles *b)
{
    CU_ASSERT_EQUAL_FATAL(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const struct rt_measured_tile_set *x = &a->sets[i], *y = &b->sets[i];
        CU_ASSERT_EQUAL(x->shapes.op, y->shapes.op);
        CU_ASSERT_EQUAL(x->shapes.dtype, y->shapes.dtype);
        CU_ASSERT_EQUAL_FATAL(x->shapes.count, y->shapes.count);
        CU_ASSERT_EQUAL_FATAL(x->shapes.dims, y->shapes.dims);
        CU_ASSERT_EQUAL(memcmp(x->device, y->device, sizeof x->device), 0);
        CU_ASSERT_EQUAL(memcmp(x->points, y->points, x->shapes.count * x->shapes.dims * sizeof *x->points),
                        0);
        CU_ASSERT_EQUAL(memcmp(x->tile, y->tile, 2 * x->shapes.count * sizeof *x->tile), 0);
        for (size_t d = 0; d < x->shapes.dims; d++)
            CU_ASSERT_TRUE(x->low[d] == y->low[d] && x->high[d] == y->high[d]);
    }
}

/* Two ops with different dims on two devices. */
static void build(struct rt_measured_tiles *tiles)
{
    struct rt_dataset dataset;
    struct rt_device device;
    uint32_t all[40];
    rt_dataset_init(&dataset);
    RT_ASSERT_OK(rt_device_named("T4", &device));
    rt_dataset_add_device(&dataset, &device);
    RT_ASSERT_OK(rt_device_named("V100", &device));
    rt_dataset_add_device(&dataset, &device);
    for (uint32_t i = 0; i < RT_COUNT(all); i++) {
        struct rt_sample sample;
        rt_sample_init(&sample);
        sample.call.op = i % 3 == 0 ? RT_OP_GEMM : RT_OP_LINEAR;
        sample.call.dtype = i % 5 == 0 ? RT_FP16 : RT_FP32;
        sample.device = i % 2;
        for (int d = 0; d < rt_op_ndims(sample.call.op); d++)
            sample.call.dim[d] = 1 + (i * 37 + (uint32_t)d * 11) % 64;
        sample.tile[0] = 32 << i % 3;
        sample.tile[1] = 16 << i % 4;
        rt_dataset_add_sample(&dataset, &sample);
        all[i] = i;
    }
    rt_measured_tiles_build(tiles, &dataset, all, RT_COUNT(all));
    rt_dataset_release(&dataset);
}

static void test_there_and_back(void)
{
    const char *path = rt_test_path("tiles.h5");
    struct rt_measured_tiles a, b = {0}, none = {0}, empty = {0};
    build(&a);
    CU_ASSERT_EQUAL(a.count, 8);
    struct rt_h5 *file = create(path);
    RT_ASSERT_OK(rt_measured_tiles_write(&a, file, "/full"));
    RT_ASSERT_OK(rt_measured_tiles_write(&none, file, "/none"));
    file = reopen(file, path);
    RT_ASSERT_OK(rt_measured_tiles_read(file, "/full", &b));
    RT_ASSERT_OK(rt_measured_tiles_read(file, "/none", &empty));
    same(&a, &b);
    CU_ASSERT_EQUAL(empty.count, 0);
    rt_h5_close(file);
    rt_measured_tiles_release(&a);
    rt_measured_tiles_release(&b);
}

static void test_counts_that_lie(void)
{
    const int64_t lies[][2] = {{1, 3}, {0, 2}, {-1, 3}, {INT64_MAX, 2}, {1, INT64_MAX}, {1, 1}};
    const uint8_t op[] = {RT_OP_GEMM, RT_OP_GEMM}, dtype[] = {RT_FP32, RT_FP32};
    const double numbers[2 * RT_TILE_DEVICE_NUMBERS] = {1};
    const int32_t tile[6] = {1, 1, 1, 1, 1, 1};
    const char *ops[RT_OP_COUNT], *dtypes[RT_DTYPE_COUNT];
    for (int i = 0; i < RT_OP_COUNT; i++)
        ops[i] = rt_ops[i].name;
    for (int i = 0; i < RT_DTYPE_COUNT; i++)
        dtypes[i] = rt_dtypes[i].name;
    struct rt_h5_array arrays[] = {
        {"/t/op", RT_H5_U8, NULL, NULL, ops, RT_OP_COUNT},
        {"/t/dtype", RT_H5_U8, NULL, NULL, dtypes, RT_DTYPE_COUNT},
        {"/t/count", RT_H5_I64, NULL, NULL, NULL, 0},
        {"/t/device", RT_H5_F64, NULL, NULL, NULL, 0},
        {"/t/dims", RT_H5_F64, NULL, NULL, NULL, 0},
        {"/t/tile", RT_H5_I32, NULL, NULL, NULL, 0},
    };
    for (size_t i = 0; i < RT_COUNT(lies); i++) { /* the arrays hold three shapes of three dims */
        const char *path = rt_test_path("lies.h5");
        struct rt_measured_tiles tiles = {0};
        struct rt_h5 *file = create(path);
        RT_ASSERT_OK(rt_h5_make_group(file, "/t"));
        RT_ASSERT_OK(rt_h5_write(file, &arrays[0], op, 1, 2));
        RT_ASSERT_OK(rt_h5_write(file, &arrays[1], dtype, 1, 2));
        RT_ASSERT_OK(rt_h5_write(file, &arrays[2], lies[i], sizeof lies[i][0], 2));
        RT_ASSERT_OK(rt_h5_write(file, &arrays[3], numbers, sizeof *numbers, 2 * RT_TILE_DEVICE_NUMBERS));
        RT_ASSERT_OK(rt_h5_write(file, &arrays[4], numbers, sizeof *numbers, 9));
        RT_ASSERT_OK(rt_h5_write(file, &arrays[5], tile, sizeof *tile, 6));
        file = reopen(file, path);
        RT_ASSERT_FAILS(rt_measured_tiles_read(file, "/t", &tiles), RT_EFORMAT, "do not add up");
        rt_measured_tiles_release(&tiles);
        rt_h5_close(file);
    }
}

RT_TESTS(RT_TEST(test_there_and_back), RT_TEST(test_counts_that_lie))
