/* Device effects: the prior of devices that were not measured; the head that uses them; what a board
 * sustains. */
#include "test.h"

#include "models/predictors/predictor/head.h"
#include "models/predictors/predictor/predictor.h"

#include <math.h>
#include <string.h>

static void find(const char *name, struct rt_device *device)
{
    RT_ASSERT_OK(rt_device_find(name, device));
}

static struct rt_device_effect effect(const char *device, double compute, double memory, double dispatch_us)
{
    struct rt_device description;
    struct rt_device_effect result;
    find(device, &description);
    rt_device_effect_init(&result, &description);
    result.value[RT_EFFECT_COMPUTE] = compute;
    result.value[RT_EFFECT_MEMORY] = memory;
    result.dispatch_us = dispatch_us;
    result.kernels = 100;
    return result;
}

static void test_prior(void)
{
    struct rt_device_effect known[] = {effect("P4", 0.3, 0.2, 30), effect("V100-PCIE-32GB", -0.1, -0.2, 40),
                                       effect("A100-PCIE-40GB", 0.1, -0.3, 50)};
    struct rt_device_effects effects = {known, 3, RT_FAMILY_ELEMENTWISE};
    struct rt_device device;
    struct rt_device_effect out;
    find("A100-PCIE-40GB", &device);
    rt_device_effects_of(&effects, &device, &out);
    CU_ASSERT_EQUAL(out.value[RT_EFFECT_COMPUTE], 0.1); /* known: as it is */
    find("H100", &device);
    rt_device_effects_of(&effects, &device, &out);
    CU_ASSERT_EQUAL(out.value[RT_EFFECT_COMPUTE], 0.1); /* the median of three */
    CU_ASSERT_EQUAL(out.dispatch_us, 40);
    CU_ASSERT_EQUAL(out.kernels, 0);
    double mean = (0.2 - 0.2 - 0.3) / 3;
    RT_ASSERT_NEAR(out.value[RT_EFFECT_MEMORY], (-0.5 + 0.5 * mean) / 2.5, 1e-12); /* HBM: V100 and A100 */
    find("L4", &device);
    rt_device_effects_of(&effects, &device, &out);
    RT_ASSERT_NEAR(out.value[RT_EFFECT_MEMORY], (0.2 + 0.5 * mean) / 1.5, 1e-12); /* GDDR: the P4 */
    struct rt_device_effects none = {0};
    rt_device_effects_of(&none, &device, &out);
    CU_ASSERT_EQUAL(out.value[RT_EFFECT_MEMORY], 0);
}

/* Products: the kind of memory has no part in the prior; depth and narrow are shrunk to the major compute
 * capability, which has the same binaries; all effects to the same compute capability. */
static void test_prior_of_products(void)
{
    struct rt_device_effect known[] = {effect("P100", 0.1, 0.2, 30), effect("V100-PCIE-32GB", -0.1, -0.2, 40),
                                       effect("A100-PCIE-40GB", 0.3, -0.3, 50)};
    known[0].value[RT_EFFECT_NARROW] = 0.6;
    known[1].value[RT_EFFECT_NARROW] = -0.4;
    struct rt_device_effects effects = {known, 3, RT_FAMILY_BMM};
    struct rt_device device;
    struct rt_device_effect out;
    const double mean = -0.1, median_narrow = 0;
    find("T4", &device); /* runs the V100's binaries; its multiprocessor is another */
    rt_device_effects_of(&effects, &device, &out);
    CU_ASSERT_EQUAL(out.value[RT_EFFECT_COMPUTE], 0.1);
    RT_ASSERT_NEAR(out.value[RT_EFFECT_MEMORY], (-0.2 + 0.5 * mean) / 1.5, 1e-12);
    RT_ASSERT_NEAR(out.value[RT_EFFECT_NARROW], (-0.4 + 0.5 * median_narrow) / 1.5, 1e-12);
    find("H100", &device); /* like none of them */
    rt_device_effects_of(&effects, &device, &out);
    RT_ASSERT_NEAR(out.value[RT_EFFECT_MEMORY], mean, 1e-12);
    RT_ASSERT_NEAR(out.value[RT_EFFECT_NARROW], median_narrow, 1e-12);
    find("A100-SXM4-80GB", &device); /* the A100's twin */
    rt_device_effects_of(&effects, &device, &out);
    RT_ASSERT_NEAR(out.value[RT_EFFECT_COMPUTE], (0.3 + 0.5 * 0.1) / 1.5, 1e-12);
    double library = (-0.3 + 0.5 * mean) / 1.5;
    RT_ASSERT_NEAR(out.value[RT_EFFECT_MEMORY], (-0.3 + 0.5 * library) / 1.5, 1e-12);
    memset(device.compute_capability, 0, sizeof device.compute_capability); /* unknown is like no other */
    rt_device_effects_of(&effects, &device, &out);
    CU_ASSERT_EQUAL(out.value[RT_EFFECT_COMPUTE], 0.1);
}

/* Experts: a B300 runs what was compiled for a B200; an RTX PRO 6000, of Blackwell too, what an A100 does. */
static void test_prior_of_experts(void)
{
    struct rt_device_effect known[] = {effect("A100-PCIE-40GB", -0.1, 0, 50), effect("H100", 0, 0, 40),
                                       effect("B200", 0.4, 0, 30)};
    struct rt_device_effects effects = {known, 3, RT_FAMILY_MOE};
    struct rt_device device;
    struct rt_device_effect out;
    find("B300", &device);
    rt_device_effects_of(&effects, &device, &out);
    RT_ASSERT_NEAR(out.value[RT_EFFECT_COMPUTE], (0.4 + 0.5 * 0.4 / 1.5) / 1.5, 1e-12);
    find("RTX PRO 6000", &device);
    rt_device_effects_of(&effects, &device, &out);
    RT_ASSERT_NEAR(out.value[RT_EFFECT_COMPUTE], -0.1 / 1.5, 1e-12);
}

/* Compute, depth and dispatch overhead come from devices of the same vendor where there are any. */
static void test_prior_keeps_to_the_vendor(void)
{
    struct rt_device_effect known[] = {effect("P4", 0.3, 0.2, 30), effect("V100-PCIE-32GB", -0.1, -0.2, 40),
                                       effect("MI100", 0.5, 0, 10)};
    struct rt_device_effects effects = {known, 3, RT_FAMILY_LINEAR};
    struct rt_device device;
    struct rt_device_effect out;
    find("MI250", &device);
    rt_device_effects_of(&effects, &device, &out);
    CU_ASSERT_EQUAL(out.value[RT_EFFECT_COMPUTE], 0.5);
    CU_ASSERT_EQUAL(out.dispatch_us, 10);
    find("T4", &device);
    rt_device_effects_of(&effects, &device, &out);
    RT_ASSERT_NEAR(out.value[RT_EFFECT_COMPUTE], 0.1, 1e-12);
    effects.count = 2; /* of NVIDIA only: better than nothing */
    find("MI250", &device);
    rt_device_effects_of(&effects, &device, &out);
    RT_ASSERT_NEAR(out.value[RT_EFFECT_COMPUTE], 0.1, 1e-12);
}

/* A board without kernels takes over what a calibrated one of its chip is off by; one with kernels keeps its
 * own, and another chip of the design the prior. */
static void test_sibling(void)
{
    rt_real place = 0;
    double weight = 0.7;
    uint8_t dtype = RT_FP32;
    struct rt_device_effect known[] = {effect("A100-PCIE-40GB", 0.3, -0.2, 30),
                                       effect("A100-SXM4-40GB", 0.1, 0.2, 30)};
    known[0].correction = (struct rt_residual_correction){
        .points = 1, .width = 1, .point = &place, .weight = &weight, .dtype = &dtype};
    struct rt_device_effects effects = {known, 2, RT_FAMILY_BMM};
    struct rt_device device;
    struct rt_device_effect out;
    find("A100-SXM4-80GB", &device);
    rt_device_effects_of(&effects, &device, &out);
    CU_ASSERT_EQUAL(out.value[RT_EFFECT_COMPUTE], 0.3);
    CU_ASSERT_EQUAL(out.correction.weight, &weight);
    CU_ASSERT_EQUAL(out.kernels, 0);
    find("A100-SXM4-40GB", &device);
    rt_device_effects_of(&effects, &device, &out);
    CU_ASSERT_EQUAL(out.value[RT_EFFECT_COMPUTE], 0.1);
    CU_ASSERT_EQUAL(out.correction.points, 0);
    find("A30", &device);
    rt_device_effects_of(&effects, &device, &out);
    CU_ASSERT_EQUAL(out.correction.points, 0);
}

/* A GPU known in bf16 is not known in fp32, although both are in the list of devices. */
static void test_known_in_a_dtype(void)
{
    struct rt_device_effect on_vector[] = {effect("P4", 0, 0, 0)}, on_matrix[] = {effect("H100", 0, 0, 0)};
    struct rt_family_net nets[] = {
        {.family = RT_FAMILY_LINEAR, .units = RT_UNITS_VECTOR, .effects = {on_vector, 1, RT_FAMILY_LINEAR}},
        {.family = RT_FAMILY_LINEAR, .units = RT_UNITS_MATRIX, .effects = {on_matrix, 1, RT_FAMILY_LINEAR}},
        {.family = RT_FAMILY_SOFTMAX}};
    const char *p4 = on_vector[0].device, *h100 = on_matrix[0].device;
    char devices[256];
    snprintf(devices, sizeof devices, "%s\n%s", p4, h100);
    struct rt_predictor predictor = {.nets = nets, .net_count = 2, .devices = devices};
    CU_ASSERT_TRUE(rt_predictor_fitted_to(&predictor, p4, RT_OP_LINEAR, RT_FP32));
    CU_ASSERT_FALSE(rt_predictor_fitted_to(&predictor, h100, RT_OP_LINEAR, RT_FP32));
    CU_ASSERT_TRUE(rt_predictor_fitted_to(&predictor, h100, RT_OP_LINEAR, RT_BF16));
    CU_ASSERT_FALSE(rt_predictor_fitted_to(&predictor, p4, RT_OP_GEMM, RT_BF16));
    predictor.net_count = 3; /* a net without device effects goes by the list */
    CU_ASSERT_TRUE(rt_predictor_fitted_to(&predictor, h100, RT_OP_SOFTMAX, RT_FP32));
    on_vector[0].calibrated = true; /* not one that the network was fitted to */
    CU_ASSERT_FALSE(rt_predictor_fitted_to(&predictor, p4, RT_OP_LINEAR, RT_FP32));
    predictor.net_count = 1; /* bf16 is forecast by the net for fp32, which knows nothing of it */
    CU_ASSERT_PTR_EQUAL(rt_predictor_net(&predictor, RT_OP_LINEAR, RT_BF16), &nets[0]);
}

/* What is said of a forecast: the very dtype, and a device as its name has it. */
static void test_seen_in_a_dtype(void)
{
    struct rt_device_effect entry[] = {effect("P4", 0, 0, 0)};
    struct rt_family_net net = {.family = RT_FAMILY_ELEMENTWISE,
                                .effects = {entry, 1, RT_FAMILY_ELEMENTWISE}};
    struct rt_predictor predictor = {.nets = &net, .net_count = 1, .devices = entry[0].device};
    struct rt_device p4;
    bool seen[RT_DTYPE_COUNT];
    find("P4", &p4);
    CU_ASSERT_TRUE(
        rt_predictor_has_seen(&predictor, &p4, RT_OP_ADD, RT_FP16)); /* an earlier file: not known */
    rt_device_effect_add_dtype(&entry[0], RT_FP32);
    rt_device_effect_add_dtype(&entry[0], RT_FP8_BLOCK);
    rt_device_effect_add_dtype(&entry[0], RT_FP32);
    CU_ASSERT_STRING_EQUAL(entry[0].dtypes, "fp32 fp8_block");
    CU_ASSERT_TRUE(rt_predictor_has_seen(&predictor, &p4, RT_OP_ADD, RT_FP32));
    CU_ASSERT_FALSE(rt_predictor_has_seen(&predictor, &p4, RT_OP_ADD, RT_FP16));
    CU_ASSERT_FALSE(rt_predictor_has_seen(&predictor, &p4, RT_OP_ADD, RT_FP8)); /* no part of a word */
    CU_ASSERT_FALSE(rt_predictor_has_seen(&predictor, &p4, RT_OP_SOFTMAX, RT_FP32));
    rt_predictor_seen_dtypes(&predictor, &p4, seen);
    CU_ASSERT_TRUE(seen[RT_FP32] && seen[RT_FP8_BLOCK] && !seen[RT_FP16] && !seen[RT_FP8]);
    RT_ASSERT_OK(rt_device_find("P4,sms=10", &p4));
    CU_ASSERT_FALSE(rt_predictor_has_seen(&predictor, &p4, RT_OP_ADD, RT_FP32));
    for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) /* all have room */
        rt_device_effect_add_dtype(&entry[0], (enum rt_dtype)dtype);
    for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++)
        CU_ASSERT_TRUE(rt_device_effect_has_dtype(&entry[0], (enum rt_dtype)dtype));
}

static enum rt_knowledge known(const struct rt_predictor *predictor, const char *gpu, enum rt_dtype dtype,
                               bool *in_dtype)
{
    struct rt_device device;
    find(gpu, &device);
    return rt_predictor_knowledge(predictor, &device, RT_OP_ADD, dtype, in_dtype);
}

/* By the nearest of those that were measured in the dtype, else in any. */
static void test_how_a_device_is_known(void)
{
    static const struct {
        const char *gpu;
        enum rt_dtype dtype;
        enum rt_knowledge known;
        bool in_dtype;
    } rows[] = {
        {"V100-PCIE-32GB", RT_FP32, RT_KNOWN_MEASURED, true},
        {"V100-PCIE-32GB", RT_FP16, RT_KNOWN_OTHERS, true}, /* P100 and A40 */
        {"V100-PCIE-32GB,sms=40", RT_FP32, RT_KNOWN_CHIP, true},
        {"V100S", RT_FP32, RT_KNOWN_CHIP, true},
        {"TITAN V", RT_FP32, RT_KNOWN_DESIGN, true},
        {"RTX 4070 Laptop", RT_FP32, RT_KNOWN_OLDER, true},
        {"RTX 3080", RT_FP16, RT_KNOWN_DESIGN, true},
        {"M40", RT_FP32, RT_KNOWN_NEWER, true},
        {"P100", RT_BF16, RT_KNOWN_CHIP, false}, /* itself in fp16 */
        {"MI300X", RT_FP32, RT_KNOWN_VENDORS, true},
        {"RTX 4090", RT_BF16, RT_KNOWN_OLDER, false},
    };
    struct rt_device_effect entry[] = {effect("V100-PCIE-32GB", 0, 0, 0), effect("P100", 0, 0, 0),
                                       effect("A40", 0, 0, 0), effect("RTX 4090", 0, 0, 0)};
    struct rt_family_net net = {.family = RT_FAMILY_ELEMENTWISE,
                                .effects = {entry, RT_COUNT(entry), RT_FAMILY_ELEMENTWISE}};
    struct rt_predictor predictor = {.nets = &net, .net_count = 1, .devices = entry[0].device};
    struct rt_device device;
    bool in_dtype;
    rt_device_effect_add_dtype(&entry[0], RT_FP32);
    rt_device_effect_add_dtype(&entry[1], RT_FP16);
    rt_device_effect_add_dtype(&entry[2], RT_FP16);
    rt_device_effect_add_dtype(&entry[3], RT_FP32);
    entry[3].calibrated = true; /* says nothing of others */
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        enum rt_knowledge got = known(&predictor, rows[i].gpu, rows[i].dtype, &in_dtype);
        if (got != rows[i].known || in_dtype != rows[i].in_dtype)
            printf("# %s: %s\n", rows[i].gpu, rt_knowledge_words[got]);
        CU_ASSERT_EQUAL(got, rows[i].known);
        CU_ASSERT_EQUAL(in_dtype, rows[i].in_dtype);
    }
    CU_ASSERT_EQUAL(known(&predictor, "RTX 4090", RT_FP32, &in_dtype), RT_KNOWN_MEASURED);
    CU_ASSERT_EQUAL(known(&predictor, "RTX 4080", RT_FP32, &in_dtype), RT_KNOWN_OLDER);
    find("V100", &device);
    CU_ASSERT_EQUAL(rt_predictor_knowledge(&predictor, &device, RT_OP_SOFTMAX, RT_FP32, &in_dtype),
                    RT_KNOWN_NOWHERE);
    net.effects.count = 0; /* by the predictor's list, which says no dtypes */
    char names[] = "Tesla T4\nNVIDIA H200\nCPU";
    predictor.devices = names;
    CU_ASSERT_EQUAL(known(&predictor, "T4", RT_FP32, &in_dtype), RT_KNOWN_MEASURED);
    CU_ASSERT_EQUAL(known(&predictor, "GH200", RT_FP32, &in_dtype), RT_KNOWN_CHIP);
    CU_ASSERT_EQUAL(known(&predictor, "RTX 2080 SUPER", RT_BF16, &in_dtype), RT_KNOWN_DESIGN);
    CU_ASSERT_EQUAL(known(&predictor, "A100", RT_FP16, &in_dtype), RT_KNOWN_OTHERS);
}

static void test_memory_kinds(void)
{
    static const struct {
        const char *device;
        enum rt_memory_kind kind;
    } rows[] = {{"P4", RT_MEMORY_GDDR},   {"T4", RT_MEMORY_GDDR},       {"L4", RT_MEMORY_GDDR},
                {"L40S", RT_MEMORY_GDDR}, {"RTX 4090", RT_MEMORY_GDDR}, {"P100", RT_MEMORY_HBM_OTHER},
                {"H200", RT_MEMORY_HBM},  {"B200", RT_MEMORY_HBM},      {"MI250", RT_MEMORY_HBM_OTHER}};
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_device device;
        find(rows[i].device, &device);
        CU_ASSERT_EQUAL(rt_memory_kind_of(&device), rows[i].kind);
    }
}

/* GDDR without error correction moves 1.1 times as much. */
static void test_memory_gain(void)
{
    static const char *const with[] = {"A40",     "L40S",
                                       "T4",      "A100-SXM4-80GB",
                                       "TITAN V", "RTX PRO 6000 Blackwell Server Edition"},
                             *const without[] = {"RTX A6000", "RTX 3090", "RTX 4090", "RTX 6000 Ada",
                                                 "Quadro RTX 6000"};
    struct rt_device device;
    for (size_t i = 0; i < RT_COUNT(with); i++) {
        find(with[i], &device);
        CU_ASSERT_EQUAL(rt_memory_gain(&device), 1);
    }
    for (size_t i = 0; i < RT_COUNT(without); i++) {
        find(without[i], &device);
        CU_ASSERT_EQUAL(rt_memory_gain(&device), 1.1);
    }
}

static void test_sustained_flops(void)
{
    struct rt_device device;
    find("T4", &device); /* 70 W cannot feed 8.1 TFLOP/s: 0.75 x 70 W / 11.4 pJ */
    RT_ASSERT_NEAR(rt_sustained_flops(&device, RT_FAMILY_LINEAR, RT_FP32), 0.75 * 70 / 11.4e-12, 1e-9);
    find("V100-PCIE-32GB", &device); /* 250 W can */
    CU_ASSERT_EQUAL(rt_sustained_flops(&device, RT_FAMILY_LINEAR, RT_FP32),
                    rt_device_peak_flops(&device, RT_FAMILY_LINEAR, RT_FP32));
    find("L40S", &device); /* 0.75 x 350 W / (11.4 pJ x 0.31 x 1.35) = 55.0 TFLOP/s */
    RT_ASSERT_NEAR(rt_sustained_flops(&device, RT_FAMILY_LINEAR, RT_FP32), 55.0e12, 1e11);
    device.power_w = NAN; /* unknown: what products can issue of the peak */
    RT_ASSERT_NEAR(rt_sustained_flops(&device, RT_FAMILY_LINEAR, RT_FP32),
                   0.75 * rt_device_peak_flops(&device, RT_FAMILY_LINEAR, RT_FP32), 1e3);
    CU_ASSERT_EQUAL(rt_sustained_flops(&device, RT_FAMILY_ELEMENTWISE, RT_FP32),
                    rt_device_peak_flops(&device, RT_FAMILY_ELEMENTWISE, RT_FP32));
}

static double sustained_share(const char *name, double watts, enum rt_dtype dtype)
{
    struct rt_device device;
    find(name, &device);
    if (watts > 0)
        device.power_w = watts;
    return rt_sustained_flops(&device, RT_FAMILY_LINEAR, dtype) /
           rt_device_peak_flops(&device, RT_FAMILY_LINEAR, dtype);
}

/* Matrix units: the clock falls with the cube root of the power, once that is short. By hand for the L40S:
 * 362 TFLOP/s at 2.52 GHz and 0.75 x 350 W give (262.5 W x (1.65 GHz)^2 / (143.7 kFLOP x 0.5 pJ))^(1/3)
 * = 2.15 GHz. */
static void test_sustained_matrix_flops(void)
{
    RT_ASSERT_NEAR(sustained_share("L40S", 0, RT_BF16), 2.15 / 2.52, 5e-3);
    RT_ASSERT_NEAR(sustained_share("L40S", 700, RT_BF16), 1, 1e-12);
    RT_ASSERT_NEAR(sustained_share("L40S", 100, RT_BF16), cbrt(0.5) * sustained_share("L40S", 200, RT_BF16),
                   1e-9);
    RT_ASSERT_NEAR(sustained_share("L40S", 0, RT_FP8), sustained_share("L40S", 0, RT_BF16),
                   0.01); /* half the energy */
    CU_ASSERT_EQUAL(sustained_share("A100-SXM4-80GB", 0, RT_BF16), 1);
    CU_ASSERT_TRUE(sustained_share("L4", 0, RT_BF16) < sustained_share("L40S", 0, RT_BF16));
    struct rt_device device;
    find("L4", &device);
    CU_ASSERT_EQUAL(rt_sustained_flops(&device, RT_FAMILY_ELEMENTWISE, RT_BF16),
                    rt_device_peak_flops(&device, RT_FAMILY_ELEMENTWISE, RT_BF16));
}

enum { OUTPUTS = 3 + RT_COMPUTE_TIMES + RT_MEMORY_TIMES }; /* of the head "times" */

/* 10 us to start, 100 to 300 of compute, 50 or 60 of memory. */
static struct rt_bound times_bound(void)
{
    struct rt_bound bound = {.bound_us = 110, .shift = 0.2, .dispatch_us = 7};
    bound.times.start_us = 10;
    for (int i = 0; i < RT_COMPUTE_TIMES; i++)
        bound.times.ln_compute[i] = log(100 + 50 * i);
    for (int i = 0; i < RT_MEMORY_TIMES; i++)
        bound.times.ln_memory[i] = log(50 + 10 * i);
    return bound;
}

/* Outputs of 0: prior weights, 1.4 times the compute, 1.1 times the memory, which overlap. */
static void test_times_head(void)
{
    const struct rt_head *head = &rt_heads[rt_head_find("times")];
    struct rt_bound bound = times_bound();
    const rt_real zero[OUTPUTS] = {0};
    CU_ASSERT_EQUAL(head->outputs, OUTPUTS);
    double compute = 1.4 * pow(100.0 * 150 * 200 * 250 * 300, 0.2),
           memory = 1.1 * pow(50, 0.8) * pow(60, 0.2);
    double busy = cbrt(pow(compute, 3) + pow(memory, 3));
    RT_ASSERT_NEAR(head->latency(zero, &bound), 7 + (10 + busy) * exp(0.2), 1e-9);
    bound.times.least_us = 1000; /* physics holds, whatever the network says */
    RT_ASSERT_NEAR(head->latency(zero, &bound), 1007, 1e-12);
}

static void test_times_are_bounded(void)
{
    const struct rt_head *head = &rt_heads[rt_head_find("times")];
    struct rt_bound bound = times_bound();
    rt_real low[OUTPUTS] = {-1000, -1000, -1000}, high[OUTPUTS] = {1000, 1000, 1000};
    low[3] = high[3 + RT_COMPUTE_TIMES - 1] = 1000; /* all weight on the shortest, on the longest */
    low[3 + RT_COMPUTE_TIMES] = high[OUTPUTS - 1] = 1000;
    bound.shift = bound.dispatch_us = 0;
    RT_ASSERT_NEAR(head->latency(low, &bound), 5 + 0.3 * cbrt(pow(100, 3) + pow(50, 3)), 1e-6);
    RT_ASSERT_NEAR(head->latency(high, &bound), 20 + cbrt(pow(200 * 300.0, 3) + pow(1.5 * 60, 3)), 1e-6);
}

/* The GPU works while the host launches: the longer of both, which an output of 0 leaves as it is. */
static void test_host_head(void)
{
    const struct rt_head *head = &rt_heads[rt_head_find("times_host")],
                         *gpu = &rt_heads[rt_head_find("times")];
    struct rt_bound bound = times_bound();
    rt_real zero[OUTPUTS + 1] = {0};
    CU_ASSERT_EQUAL(head->outputs, OUTPUTS + 1);
    RT_ASSERT_NEAR(head->latency(zero, &bound), gpu->latency(zero, &bound), 1e-9);
    bound.times.host_us = 1e5;
    RT_ASSERT_NEAR(head->latency(zero, &bound), 7 + 1e5 * exp(0.2), 1e-3);
    zero[OUTPUTS] = 1000;
    RT_ASSERT_NEAR(head->latency(zero, &bound), 7 + 3e5 * exp(0.2), 1e-3);
}

static void check_gradient(const struct rt_head *head, struct rt_bound bound)
{
    enum { MOST = OUTPUTS + 1 };
    for (double at = -2; at <= 2; at += 0.5)
        for (int o = 0; o < head->outputs; o++) {
            rt_real out[MOST], up[MOST], down[MOST], gradient[MOST];
            for (int i = 0; i < MOST; i++)
                out[i] = up[i] = down[i] = (rt_real)(at * cos(i));
            up[o] += 0.01f;
            down[o] -= 0.01f;
            head->gradient(out, &bound, 2, gradient);
            double slope =
                (head->latency(up, &bound) - head->latency(down, &bound)) / ((double)up[o] - down[o]);
            CU_ASSERT_TRUE(fabs(gradient[o] - 2 * slope) < 5e-3 * fabs(slope) + 1e-3);
        }
}

static void test_gradient_of_times(void)
{
    struct rt_bound bound = times_bound();
    check_gradient(&rt_heads[rt_head_find("times")], bound);
    check_gradient(&rt_heads[rt_head_find("times_host")], bound);
    bound.times.host_us = 300; /* about as long as the GPU */
    check_gradient(&rt_heads[rt_head_find("times_host")], bound);
}

/* In a queue the dispatch overhead is at most RT_QUEUED_US. */
static void test_queued_kernels(void)
{
    struct rt_predictor predictor;
    struct rt_device device;
    rt_predictor_init(&predictor, "rooftile");
    predictor.nets = rt_calloc(1, sizeof *predictor.nets);
    predictor.net_count = 1;
    struct rt_family_net *net = predictor.nets;
    net->family = RT_FAMILY_SOFTMAX;
    net->head = rt_head_find("times");
    net->policy = RT_TILE_WHOLE;
    net->feature[0] = rt_feature_find("log2_cols");
    net->scale[0] = 1;
    net->clip_low[0] = -INFINITY;
    net->clip_high[0] = INFINITY;
    net->feature_count = 1;
    net->effects.known = rt_malloc(sizeof *net->effects.known);
    net->effects.known[0] = effect("A100-PCIE-40GB", 0, 0, 30);
    net->effects.count = 1;
    RT_ASSERT_OK(rt_mlp_init(&net->mlp, &(struct rt_mlp_shape){1, 4, 2, OUTPUTS, RT_SILU}));
    find("A100-PCIE-40GB", &device);
    struct rt_query alone = {
        .call.op = RT_OP_SOFTMAX, .call.dtype = RT_FP32, .call.dim = {64, 128}, .tile = {-1, -1}};
    struct rt_query queue = alone;
    queue.queued = true;
    double alone_us, queued_us;
    rt_predictor_forecast(&predictor, &device, &alone, 1, NULL, &alone_us, NULL);
    rt_predictor_forecast(&predictor, &device, &queue, 1, NULL, &queued_us, NULL);
    RT_ASSERT_NEAR(alone_us - queued_us, 30 - RT_QUEUED_US, 1e-9);
    const char *path = rt_test_path("effects.h5");
    net->loss = rt_strdup("log");
    RT_ASSERT_OK(rt_predictor_save(&predictor, path));
    struct rt_predictor again;
    RT_ASSERT_OK(rt_predictor_open(path, &again));
    double same_us;
    rt_predictor_forecast(&again, &device, &alone, 1, NULL, &same_us, NULL);
    CU_ASSERT_EQUAL(same_us, alone_us);
    CU_ASSERT_EQUAL(again.nets[0].effects.known[0].memory_kind, RT_MEMORY_HBM);
    rt_predictor_release(&again);
    rt_predictor_release(&predictor);
}

RT_TESTS(RT_TEST(test_prior), RT_TEST(test_prior_of_products), RT_TEST(test_prior_of_experts),
         RT_TEST(test_prior_keeps_to_the_vendor), RT_TEST(test_sibling), RT_TEST(test_known_in_a_dtype),
         RT_TEST(test_seen_in_a_dtype), RT_TEST(test_how_a_device_is_known), RT_TEST(test_memory_kinds),
         RT_TEST(test_memory_gain), RT_TEST(test_sustained_flops), RT_TEST(test_sustained_matrix_flops),
         RT_TEST(test_times_head), RT_TEST(test_host_head), RT_TEST(test_times_are_bounded),
         RT_TEST(test_gradient_of_times), RT_TEST(test_queued_kernels))
