/* Tiles, waves, features, roofline and head: numbers worked out by hand from the paper's formulas. */
#include "models/predictors/predictor/family_net.h"
#include "models/predictors/predictor/head.h"
#include "models/predictors/roofline/tile.h"
#include "test.h"

#include <math.h>

static struct rt_device device(void)
{
    struct rt_device d;
    rt_device_init(&d, "ten SMs");
    d.sms = 10;
    d.fp32_vector_tflops = 5;
    d.memory_gib = 16;
    d.bandwidth_gbs = 500;
    d.l2_mib = 4;
    return d;
}

static void test_product(void)
{
    struct rt_device d = device();
    struct rt_tiled_call l;
    struct rt_query q = {.call.op = RT_OP_BMM, .call.dtype = RT_FP32, .call.dim = {2, 300, 100, 64}};
    CU_ASSERT_TRUE_FATAL(rt_tiled_call_init(&l, &q, (int32_t[]){128, 64}, &d));
    CU_ASSERT_EQUAL(l.tiles, 2 * 3 * 2);
    CU_ASSERT_EQUAL(l.waves, 2);
    CU_ASSERT_EQUAL(l.tile_flops, 2.0 * 128 * 64 * 64);
    CU_ASSERT_EQUAL(l.tile_bytes, 4.0 * (128 * 64 + 64 * 64 + 128 * 64));
    double intensity = 2.0 * 384 * 128 * 64 / (4.0 * (300 * 64 + 64 * 100 + 300 * 100));
    RT_ASSERT_NEAR(l.intensity, intensity, 1e-12);
    double roof = fmin(5e12, intensity * 500e9 * (1073741824 / 1e9));
    RT_ASSERT_NEAR(l.bound_us, 1e6 * 2 * 10 * l.tile_flops / roof, 1e-12);
    RT_ASSERT_NEAR(rt_features[0].value(&l), log2(l.tile_flops / 1e9 / 0.5), 1e-12);
    RT_ASSERT_NEAR(rt_features[1].value(&l), log2(l.tile_bytes / 1048576 / 50), 1e-12);
    RT_ASSERT_NEAR(rt_features[2].value(&l), log2(2 * l.tile_bytes / 1048576 / (16384.0 / 10)), 1e-12);
    RT_ASSERT_NEAR(rt_features[3].value(&l), log2(2 * l.tile_bytes / 1048576 / (4096.0 / 10)), 1e-12);
    CU_ASSERT_FALSE(rt_tiled_call_init(&l, &q, (int32_t[]){0, 64}, &d));
    q.call.dtype = RT_FP8; /* no peak in the descriptor */
    CU_ASSERT_FALSE(rt_tiled_call_init(&l, &q, (int32_t[]){128, 64}, &d));
}

/* GELU of 10^6 elements in 16 bits takes 0.3 cycles of ten multiprocessors at 1 GHz each: 30 us. In fp32, and
 * of what needs fewer instructions, FLOPs alone are counted. */
static void test_instructions(void)
{
    struct rt_device d = device();
    struct rt_tiled_call l;
    struct rt_times times;
    struct rt_query q = {.call.op = RT_OP_GELU, .call.dtype = RT_BF16, .call.dim = {1000, 1000}};
    d.clock_mhz = 1000;
    d.bf16_vector_tflops = 5;
    CU_ASSERT_TRUE_FATAL(rt_tiled_call_init_whole(&l, &q, &d));
    rt_tiled_call_times(&l, &times);
    RT_ASSERT_NEAR(exp(times.ln_compute[0]), 30, 1e-9);
    q.call.dtype = RT_FP32;
    CU_ASSERT_TRUE_FATAL(rt_tiled_call_init_whole(&l, &q, &d));
    rt_tiled_call_times(&l, &times);
    CU_ASSERT_TRUE(exp(times.ln_compute[0]) < 1);
    q = (struct rt_query){.call.op = RT_OP_RELU, .call.dtype = RT_BF16, .call.dim = {1000, 1000}};
    CU_ASSERT_TRUE_FATAL(rt_tiled_call_init_whole(&l, &q, &d));
    rt_tiled_call_times(&l, &times);
    CU_ASSERT_TRUE(exp(times.ln_compute[0]) < 1);
}

/* Tiles of matrix units shrink with the rows, down to 16: a product of few rows is not padded to 64. By hand
 * on 10 multiprocessors of 1 TFLOP/s: 40 tiles of 16 x 64 in 4 waves of 2 x 16 x 64 x 512 FLOPs. */
static void test_few_rows(void)
{
    struct rt_device d = device();
    struct rt_tiled_call l;
    struct rt_times times;
    struct rt_query q = {.call.op = RT_OP_GEMM, .call.dtype = RT_FP16, .call.dim = {10, 2560, 512}};
    d.fp16_matrix_tflops = 10;
    CU_ASSERT_TRUE_FATAL(rt_tiled_call_init_whole(&l, &q, &d));
    rt_tiled_call_times(&l, &times);
    RT_ASSERT_NEAR(exp(times.ln_compute[3]), 4 * 2.0 * 16 * 64 * 512 / 1e6, 1e-9);
    q.call.dtype = RT_FP32; /* vector lanes: 64 x 64 at 0.5 TFLOP/s */
    CU_ASSERT_TRUE_FATAL(rt_tiled_call_init_whole(&l, &q, &d));
    rt_tiled_call_times(&l, &times);
    RT_ASSERT_NEAR(exp(times.ln_compute[3]), 4 * 2.0 * 64 * 64 * 512 / 0.5e6, 1e-9);
}

/* On Pascal a linear layer's rows of 54 kB, 270 MB in all, wait for a quarter of 2 x 2500 x 20 tiles x 54000
 * / 32 pages, three a cycle of 1 GHz; its gradient by data, and Volta, for none. */
static void test_pages(void)
{
    double us[3];
    const char *capability[] = {"6.0", "6.0", "7.0"};
    for (int i = 0; i < 3; i++) {
        struct rt_device d = device();
        struct rt_tiled_call l;
        struct rt_times times;
        struct rt_query q = {.call = {.op = RT_OP_LINEAR, .phase = i == 1, .dim = {1, 2500, 2500, 13500}}};
        d.clock_mhz = 1000;
        snprintf(d.compute_capability, sizeof d.compute_capability, "%s", capability[i]);
        CU_ASSERT_TRUE_FATAL(rt_tiled_call_init_whole(&l, &q, &d));
        rt_tiled_call_times(&l, &times);
        us[i] = exp(times.ln_compute[0]);
    }
    RT_ASSERT_NEAR(us[0] - us[1], 14062.5, 1e-9);
    RT_ASSERT_NEAR(us[2], us[1], 1e-12);
}

static void test_vector(void)
{
    struct rt_device d = device();
    struct rt_tiled_call l;
    struct rt_query q = {.call.op = RT_OP_ADD, .call.dtype = RT_FP32, .call.dim = {100, 1500}};
    CU_ASSERT_TRUE_FATAL(rt_tiled_call_init(&l, &q, (int32_t[]){512, -1}, &d));
    CU_ASSERT_EQUAL(l.tiles, 300);
    CU_ASSERT_EQUAL(l.waves, 30);
    CU_ASSERT_EQUAL(l.tile_flops, 512);
    CU_ASSERT_EQUAL(l.tile_bytes, 12.0 * 512);
    RT_ASSERT_NEAR(l.intensity, 1536.0 / (12 * 1500), 1e-12);
    q.call.op = RT_OP_CONV2D;
    CU_ASSERT_FALSE(rt_tiled_call_init(&l, &q, (int32_t[]){512, 64}, &d));
}

/* The memory times of a vector op: run over and over, and in a step. By hand on 10 multiprocessors of 1 GHz,
 * whose 220 GB/s from the L2 bound what the memory's 500 bring, too, and with a memory of 20 GB/s: of 32 MiB
 * the cyclic sweep finds nothing, a step a quarter of 4. */
static void test_vector_memory(void)
{
    struct rt_device d = device();
    struct rt_tiled_call l;
    struct rt_times times;
    struct rt_query q = {.call.op = RT_OP_ADD, .call.dtype = RT_FP32, .call.dim = {16, 1 << 10}};
    d.clock_mhz = 1000;
    double small = 3 * 4.0 * 16 * 1024, large = 1024 * small;
    CU_ASSERT_TRUE_FATAL(rt_tiled_call_init_whole(&l, &q, &d));
    rt_tiled_call_times(&l, &times);
    RT_ASSERT_NEAR(exp(times.ln_memory[0]), small / 220e3, 1e-6);
    q.call.dim[0] *= 1024;
    CU_ASSERT_TRUE_FATAL(rt_tiled_call_init_whole(&l, &q, &d));
    rt_tiled_call_times(&l, &times);
    RT_ASSERT_NEAR(exp(times.ln_memory[1]), large / 220e3, 1e-6);
    d.bandwidth_gbs = 20;
    CU_ASSERT_TRUE_FATAL(rt_tiled_call_init_whole(&l, &q, &d));
    rt_tiled_call_times(&l, &times);
    RT_ASSERT_NEAR(exp(times.ln_memory[0]), large / 20e3, 0.01 * large / 20e3);
    double left = (1 << 20) / large;
    RT_ASSERT_NEAR(exp(times.ln_memory[1]), large * ((1 - left) / 20e3 + left / 220e3), 1e-3 * large / 20e3);
    CU_ASSERT_TRUE(times.least_us <= large / 640e3 * (1 + 1e-9)); /* 64 bytes a cycle */
}

static void test_roofline(void)
{
    struct rt_device d = device();
    struct rt_query q = {.call.op = RT_OP_GEMM, .call.dtype = RT_FP32, .call.dim = {1000, 1000, 1000}};
    RT_ASSERT_NEAR(rt_roofline_us(&q, &d), 1e6 * 2e9 / 5e12, 1e-12);
    struct rt_query add = {.call.op = RT_OP_ADD, .call.dtype = RT_FP32, .call.dim = {1000, 1000}};
    RT_ASSERT_NEAR(rt_roofline_us(&add, &d), 1e6 * 12e6 / 500e9, 1e-12);
    struct rt_query ring = {.call.op = RT_OP_ALL_REDUCE, .call.dtype = RT_FP32, .call.dim = {4, 1000000}};
    CU_ASSERT_TRUE(isnan(rt_roofline_us(&ring, &d)));
    d.link_gbs = 100;
    RT_ASSERT_NEAR(rt_roofline_us(&ring, &d), 1e6 * 6e6 / 100e9, 1e-12);
    d.link_peers = 7; /* a mesh: three of the links are used at once */
    RT_ASSERT_NEAR(rt_roofline_us(&ring, &d), 1e6 * 6e6 / 300e9, 1e-12);
    q.call.dtype = RT_FP8;
    CU_ASSERT_TRUE(isnan(rt_roofline_us(&q, &d)));
}

/* The head's gradient against central differences. */
static void test_head(void)
{
    const struct rt_head *head = &rt_heads[rt_head_find("utilisation")];
    const float out[] = {-0.7f, 0.4f};
    const struct rt_bound bound = {.bound_us = 120, .waves = 3};
    double alpha = 1 / (1 + exp(0.7)), gamma = 1 / (1 + exp(-0.4));
    RT_ASSERT_NEAR(head->latency(out, &bound), 120 / (gamma - alpha / 3), 1e-6);
    float gradient[2];
    head->gradient(out, &bound, 2, gradient);
    for (int i = 0; i < 2; i++) {
        float up[] = {out[0], out[1]}, down[] = {out[0], out[1]};
        up[i] += 0.01f;
        down[i] -= 0.01f;
        double slope = (head->latency(up, &bound) - head->latency(down, &bound)) / ((double)up[i] - down[i]);
        RT_ASSERT_NEAR(gradient[i], 2 * slope, 1e-3);
    }
    const float low[] = {5, -5}; /* the formula falls below zero: held, with a way back */
    const struct rt_bound one_wave = {.bound_us = 120, .waves = 1};
    RT_ASSERT_NEAR(head->latency(low, &one_wave), 120 / RT_LEAST_UTILISATION, 1e-12);
    head->gradient(low, &one_wave, 1, gradient);
    CU_ASSERT_TRUE(gradient[0] > 0 && gradient[1] < 0);
}

RT_TESTS(RT_TEST(test_product), RT_TEST(test_instructions), RT_TEST(test_few_rows), RT_TEST(test_pages),
         RT_TEST(test_vector), RT_TEST(test_vector_memory), RT_TEST(test_roofline), RT_TEST(test_head))
