/* Convolutions as products, and what each algorithm takes for them. */
#include "datasets/power.h"
#include "models/predictors/roofline/conv.h"
#include "test.h"

#include <math.h>

static struct rt_call conv_call(const char *text)
{
    struct rt_call call;
    RT_ASSERT_OK(rt_call_parse(text, NULL, NULL, &call));
    return call;
}

static struct rt_conv_shape conv_of(const char *text)
{
    struct rt_call call = conv_call(text);
    struct rt_conv_shape conv;
    rt_conv_of(&call, &conv);
    return conv;
}

#define SQUARE                                                                                               \
    "conv2d,batch=8,in_channels=64,out_channels=128,height=56,width=56,kernel_h=3,kernel_w=3,stride=1,"      \
    "padding=1,dilation=1,groups=1"
#define STRIDED                                                                                              \
    "conv2d,batch=8,in_channels=64,out_channels=128,height=56,width=56,kernel_h=1,kernel_w=1,stride=2,"      \
    "padding=0,dilation=1,groups=1"
#define DEPTHWISE                                                                                            \
    "conv2d,batch=8,in_channels=64,out_channels=64,height=56,width=56,kernel_h=3,kernel_w=3,stride=1,"       \
    "padding=1,dilation=1,groups=64"

#define GROUPS(groups)                                                                                       \
    "conv2d,batch=8,in_channels=576,out_channels=576,height=56,width=56,kernel_h=3,kernel_w=3,stride=1,"     \
    "padding=1,dilation=1,dtype=fp16,groups=" #groups
#define LARGE(side)                                                                                          \
    "conv2d,batch=64,in_channels=768,out_channels=768,height=32,width=32,kernel_h=" #side ",kernel_w=" #side \
    ",stride=1,padding=4,dilation=1,dtype=fp16,groups=768"

static void check_product(const char *text, double m, double n, double k)
{
    struct rt_conv_shape conv = conv_of(text);
    CU_ASSERT_EQUAL(conv.m, m);
    CU_ASSERT_EQUAL(conv.n, n);
    CU_ASSERT_EQUAL(conv.k, k);
}

static void test_products(void)
{
    check_product(SQUARE, 8 * 56 * 56, 128, 64 * 9);
    check_product(SQUARE ",phase=backward", 8 * 56 * 56, 64, 128 * 9);
    check_product(SQUARE ",phase=accumulate", 128, 64 * 9, 8 * 56 * 56);
    check_product(STRIDED, 8 * 28 * 28, 128, 64);
    check_product(STRIDED ",phase=backward", 8 * 28 * 28, 64, 128); /* the other pixels get zeros */
    check_product(DEPTHWISE, 8 * 56 * 56, 1, 9);
    check_product(DEPTHWISE ",dtype=fp16", 8 * 56 * 56, 1, 9); /* whatever a GPU makes of it */
}

static void test_bytes(void)
{
    double in = 8 * 64 * 56 * 56, out = 8 * 128 * 28 * 28, weights = 64 * 128;
    CU_ASSERT_EQUAL(conv_of(STRIDED).bytes, 4 * (in / 2 + out + weights)); /* every other row */
    CU_ASSERT_EQUAL(conv_of(STRIDED ",channels_last=1").bytes, 4 * (in / 4 + out + weights));
    CU_ASSERT_EQUAL(conv_of(STRIDED ",phase=backward").bytes, 4 * (in + out + weights));
    CU_ASSERT_EQUAL(conv_of(SQUARE).moved, 0); /* fp32 needs no other layout */
    CU_ASSERT_EQUAL(conv_of(DEPTHWISE ",dtype=fp16").moved, 0);
    CU_ASSERT_EQUAL(conv_of(SQUARE ",dtype=fp16,channels_last=1").moved, 0);
    CU_ASSERT_EQUAL(conv_of(GROUPS(9) ",channels_last=1").moved, 0); /* of 64 */
    CU_ASSERT(conv_of(GROUPS(8) ",channels_last=1").moved > 0);      /* of 72: no kernel */
    CU_ASSERT_EQUAL(conv_of(SQUARE ",dtype=fp16").moved, 2 * 2 * 8 * 56 * 56 * (64 + 128));
}

static struct rt_conv_times times_of(const char *text, const char *gpu)
{
    struct rt_device device;
    struct rt_conv_shape conv = conv_of(text);
    struct rt_call call = conv_call(text);
    struct rt_conv_times times;
    RT_ASSERT_OK(rt_device_named(gpu, &device));
    rt_conv_times_of(&conv, &device, (enum rt_dtype)call.dtype, 1e9 * device.bandwidth_gbs, &times);
    return times;
}

static void test_algorithms(void)
{
    struct rt_conv_times square = times_of(SQUARE, "V100"), strided = times_of(STRIDED, "V100");
    CU_ASSERT_TRUE(square.fused < square.implicit);
    CU_ASSERT_TRUE(square.fused > square.implicit / 2.25 / 2);
    CU_ASSERT_TRUE(isfinite(square.nonfused));
    CU_ASSERT_TRUE(isinf(strided.fused) && isinf(strided.nonfused));
    CU_ASSERT_EQUAL(strided.fastest, strided.implicit);
    CU_ASSERT_TRUE(isinf(times_of(SQUARE ",phase=accumulate", "V100").fused));
    CU_ASSERT_TRUE(times_of(SQUARE ",dtype=fp16", "V100").fastest ==
                   times_of(SQUARE ",dtype=fp16", "V100").implicit);
    RT_ASSERT_NEAR(
        rt_conv_tile_fill(&(struct rt_conv_shape){
            .dense = true, .groups = 1, .kernel_h = 3, .kernel_w = 3, .batch = 1, .height = 8, .width = 8}),
        0.5, 1e-12); /* 8 x 16 pixels of an image, or 8 x 8 of two */
}

/* Since Ampere kernels on matrix units are products; on Hopper those in TF32 are issued by warps. */
static void test_only_products(void)
{
    struct rt_device t4, a100, h100;
    RT_ASSERT_OK(rt_device_named("T4", &t4));
    RT_ASSERT_OK(rt_device_named("A100-80", &a100));
    RT_ASSERT_OK(rt_device_named("NVIDIA H100 PCIe", &h100));
    CU_ASSERT_TRUE(isinf(times_of(SQUARE ",dtype=fp16", "A100-80").fused));
    CU_ASSERT_TRUE(isinf(times_of(SQUARE ",dtype=tf32", "A100-80").nonfused));
    CU_ASSERT_FALSE(isinf(times_of(SQUARE, "A100-80").fused));
    CU_ASSERT_FALSE(isinf(times_of(SQUARE ",dtype=fp16", "T4").fused));
    CU_ASSERT_TRUE(isinf(times_of(SQUARE ",dtype=fp16", "P4").fused));
    CU_ASSERT_FALSE(isinf(times_of(SQUARE, "P4").fused) ||
                    isinf(times_of(SQUARE ",dtype=fp16", "P100").fused));
    CU_ASSERT_FALSE(rt_conv_only_product(&t4, RT_FP16) || rt_conv_only_product(&a100, RT_FP32));
    RT_ASSERT_NEAR(rt_issued_flops(&h100, RT_FAMILY_CONV, RT_TF32) /
                       rt_device_peak_flops(&h100, RT_FAMILY_CONV, RT_TF32),
                   1290.0 / 2048, 1e-12);
    CU_ASSERT_EQUAL(rt_issued_flops(&a100, RT_FAMILY_CONV, RT_TF32),
                    rt_device_peak_flops(&a100, RT_FAMILY_CONV, RT_TF32));
    CU_ASSERT_EQUAL(rt_issued_flops(&h100, RT_FAMILY_LINEAR, RT_TF32),
                    rt_device_peak_flops(&h100, RT_FAMILY_LINEAR, RT_TF32));
}

/* Depthwise convolutions waste tiles, so that a thread computes an output. */
static void test_direct(void)
{
    struct rt_device device;
    struct rt_call call = conv_call(DEPTHWISE);
    RT_ASSERT_OK(rt_device_named("V100", &device));
    RT_ASSERT_NEAR(times_of(DEPTHWISE, "V100").implicit, 4e6 * rt_call_flops(&call) / 14e12, 1e-9);
    /* 16 bits, channels last: made for squares of up to 7 x 7, padded products beyond */
    double seven = times_of(LARGE(7) ",channels_last=1", "RTX 3090").implicit;
    CU_ASSERT(seven < times_of(LARGE(7), "RTX 3090").implicit);
    CU_ASSERT(times_of(LARGE(9) ",channels_last=1", "RTX 3090").implicit > 5 * seven);
    CU_ASSERT(times_of(LARGE(9), "RTX 3090").implicit < 5 * seven);
}

static void test_least(void)
{
    struct rt_call call = conv_call(SQUARE), strided = conv_call(STRIDED);
    RT_ASSERT_NEAR(rt_call_least_flops(&call), rt_call_flops(&call) / 4, 1e-12);
    RT_ASSERT_NEAR(rt_call_least_flops(&strided), rt_call_flops(&strided), 1e-12);
    call.dim[5] = call.dim[6] = 5;
    RT_ASSERT_NEAR(rt_call_least_flops(&call), rt_call_flops(&call) * pow(32. / (28 * 5), 2), 1e-12);
    call.dim[5] = call.dim[6] = 1;
    RT_ASSERT_NEAR(rt_call_least_flops(&call), rt_call_flops(&call), 1e-12);
}

RT_TESTS(RT_TEST(test_products), RT_TEST(test_bytes), RT_TEST(test_algorithms), RT_TEST(test_direct),
         RT_TEST(test_only_products), RT_TEST(test_least))
