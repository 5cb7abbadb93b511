/* Products of narrow activations: what quantises them, which library multiplies, when the host shows. */
#include "models/predictors/roofline/tile.h"
#include "test.h"

#include <math.h>

static void served(const char *gpu, enum rt_server_project server, enum rt_dtype dtype, double m, double n,
                   double k, struct rt_product_kernels *out)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_named(gpu, &device));
    rt_product_kernels_of(dtype, m, n, k, server, &device, out);
}

static void kernels_of(const char *gpu, enum rt_dtype dtype, double m, double n, double k,
                       struct rt_product_kernels *out)
{
    served(gpu, RT_SERVER_VLLM, dtype, m, n, k, out);
}

/* Activations of 16 bits are read as they are; weights alone may be narrow. */
static void test_wide_activations_are_not_quantised(void)
{
    const enum rt_dtype wide[] = {RT_FP32, RT_BF16, RT_FP16, RT_INT4, RT_MXFP4, RT_INT8_WO};
    struct rt_product_kernels kernels;
    for (size_t i = 0; i < RT_COUNT(wide); i++) {
        kernels_of("H100", wide[i], 4096, 4096, 4096, &kernels);
        CU_ASSERT_FALSE(kernels.quantised);
        CU_ASSERT_EQUAL(kernels.quantise_us, 0);
        CU_ASSERT_EQUAL(kernels.host_us, 0);
    }
}

/* A thread block for each row: cycles of multiprocessors on Hopper, the memory's bandwidth on the L40S. */
static void test_quantising(void)
{
    struct rt_product_kernels hopper, same, ada;
    kernels_of("H100", RT_FP8, 32768, 64, 32, &hopper);
    RT_ASSERT_NEAR(hopper.quantise_us, (3000 + 32768 * 1900.0 / 132) / 1980, 1e-9);
    kernels_of("H100", RT_FP8, 32768, 64, 16384, &hopper);
    kernels_of("H200", RT_FP8, 32768, 64, 16384, &same);
    RT_ASSERT_NEAR(hopper.quantise_us, (3000 + 32768 * 0.6 * 16384 / 132) / 1980, 1e-9);
    RT_ASSERT_NEAR(hopper.quantise_us, same.quantise_us, 1e-9);
    kernels_of("L40S", RT_FP8, 32768, 64, 16384, &ada);
    RT_ASSERT_NEAR(ada.quantise_us, 3000 / 2520.0 + 3 * 32768 * 16384.0 / 864e3, 1);
}

/* One scale a row is vLLM's for fp8; TensorRT-LLM's for all rows takes kernels and passes of its own; blocks
 * of elements have theirs without a sum along the row, and nvfp4 goes at the memory's rate. */
static void test_quantising_by_server(void)
{
    struct rt_product_kernels kernels;
    served("H200", RT_SERVER_SGLANG, RT_FP8, 32768, 64, 4096, &kernels);
    RT_ASSERT_NEAR(kernels.quantise_us, (3000 + 32768 * 0.4 * 4096 / 132) / 1980, 1e-9);
    served("H200", RT_SERVER_TENSORRT, RT_FP8, 1, 64, 128, &kernels);
    RT_ASSERT_NEAR(kernels.quantise_us, (18000 + 0.6 * 128 / 132) / 1980, 1e-3);
    served("A100-SXM4-80GB", RT_SERVER_TENSORRT, RT_INT8, 4096, 64, 4096,
           &kernels); /* its plugin's, by norms */
    CU_ASSERT_TRUE(kernels.quantised);
    CU_ASSERT_EQUAL(kernels.quantise_us, 0);
    kernels_of("A100-SXM4-80GB", RT_INT8, 4096, 64, 4096, &kernels);
    CU_ASSERT_TRUE(kernels.quantise_us > 0);
    kernels_of("H200", RT_FP8_BLOCK, 32768, 64, 128, &kernels);
    RT_ASSERT_NEAR(kernels.quantise_us, (3000 + 32768 * 0.6 * 128 / 132) / 1980, 1e-9);
    kernels_of("B200", RT_FP4, 32768, 64, 16384, &kernels);
    RT_ASSERT_NEAR(kernels.quantise_us, 3000 / 1980.0 + 2.5625 * 32768 * 16384.0 / 7700e3, 0.5);
}

static void test_tiles_go_by_rows(void)
{
    const double rows[] = {1, 16, 17, 32, 33, 64, 65, 128, 129, 32768};
    const double tile_m[] = {16, 16, 32, 32, 64, 64, 64, 64, 128, 128},
                 tile_n[] = {64, 64, 64, 64, 64, 64, 128, 128, 128, 128};
    struct rt_product_kernels kernels;
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        kernels_of("H100", RT_FP8, rows[i], 4096, 4096, &kernels);
        CU_ASSERT_EQUAL(kernels.tile_m, tile_m[i]);
        CU_ASSERT_EQUAL(kernels.tile_n, tile_n[i]);
    }
    /* 2 x 128 x 128 x 4096 FLOPs at a multiprocessor's share of the peak */
    RT_ASSERT_NEAR(kernels.block_us, 1e6 * 2 * 128 * 128 * 4096.0 / (1978.9e12 / 132), 1e-6);
    kernels_of("H100", RT_FP8, 1, 4096, 4096, &kernels); /* 80 rows and columns at 64 bytes a cycle */
    RT_ASSERT_NEAR(kernels.block_us, 80 * 4096 / 64.0 / 1980, 1e-9);
}

static void test_library_of_block_scaled_products(void)
{
    static const struct {
        const char *gpu;
        double m, n, k;
        bool swapped, triton;
        double host_us;
    } rows[] = {{"H100", 31, 4096, 4096, true, false, 59},  {"H100", 32, 4096, 4096, false, false, 90},
                {"H100", 1, 4128, 4096, false, false, 178}, {"H100", 4096, 4096, 4160, false, false, 178},
                {"L40S", 16, 4096, 4096, false, true, 178}, {"RTX 5090", 16, 4096, 4096, false, false, 178}};
    struct rt_product_kernels kernels;
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        kernels_of(rows[i].gpu, RT_FP8_BLOCK, rows[i].m, rows[i].n, rows[i].k, &kernels);
        CU_ASSERT_EQUAL(kernels.swapped, rows[i].swapped);
        CU_ASSERT_EQUAL(kernels.triton, rows[i].triton);
        CU_ASSERT_EQUAL(kernels.host_us, rows[i].host_us);
    }
    kernels_of("H100", RT_FP8, 16, 4096, 4096, &kernels); /* one scale a tensor: in a CUDA graph */
    CU_ASSERT_EQUAL(kernels.host_us, 0);
    served("H100", RT_SERVER_SGLANG, RT_FP8_BLOCK, 16, 4096, 4096, &kernels); /* as all of other servers */
    CU_ASSERT_TRUE(kernels.host_us == 0 && !kernels.swapped);
    kernels_of("B200", RT_FP8, 4096, 4096, 4096,
               &kernels); /* thread blocks of a cluster share what they read */
    RT_ASSERT_NEAR(kernels.block_us, 1e6 * 2 * 128 * 128 * 4096.0 / (4500e12 / 148), 1e-6);
}

/* The host does not show where kernels wait in a queue, and quantising is part of the start. */
static void test_times(void)
{
    struct rt_device device;
    struct rt_call call;
    struct rt_query query;
    struct rt_tiled_call launch;
    struct rt_times times;
    RT_ASSERT_OK(rt_device_named("H100", &device));
    rt_call_init(&call, RT_OP_GEMM, RT_FP8_BLOCK);
    call.dim[0] = 256, call.dim[1] = 4096, call.dim[2] = 4096;
    rt_query_init(&query, &call);
    CU_ASSERT_TRUE(rt_tiled_call_init_whole(&launch, &query, &device));
    rt_tiled_call_times(&launch, &times);
    CU_ASSERT_EQUAL(times.host_us, 90);
    RT_ASSERT_NEAR(times.start_us, 5000 / 1980.0 + launch.kernels.quantise_us, 1e-9);
    RT_ASSERT_NEAR(exp(times.ln_compute[4]), launch.kernels.block_us, 1e-6); /* 64 blocks, one wave */
    query.queued = true;
    rt_tiled_call_times(&launch, &times);
    CU_ASSERT_EQUAL(times.host_us, 0);
    query.narrow_input = true; /* a node of the graph quantises, as in training */
    CU_ASSERT_TRUE(rt_tiled_call_init_whole(&launch, &query, &device));
    rt_tiled_call_times(&launch, &times);
    RT_ASSERT_NEAR(times.start_us, 5000 / 1980.0, 1e-9);
}

RT_TESTS(RT_TEST(test_wide_activations_are_not_quantised), RT_TEST(test_quantising),
         RT_TEST(test_quantising_by_server), RT_TEST(test_tiles_go_by_rows),
         RT_TEST(test_library_of_block_scaled_products), RT_TEST(test_times))
