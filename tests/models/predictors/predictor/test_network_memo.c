/* A memo changes no forecast: over devices that differ in their numbers and in their design, every time is
 * that of a forecast without one, bit for bit, and networks are asked once for all that differ in their
 * numbers alone. */
#include "random_predictor.h"

enum { CALLS = 40, DEVICES = 200 };

static size_t sound_queries(struct rt_query *queries)
{
    static const enum rt_op_id ops[] = {RT_OP_LINEAR,
                                        RT_OP_BMM,
                                        RT_OP_SOFTMAX,
                                        RT_OP_LAYERNORM,
                                        RT_OP_ADD,
                                        RT_OP_CONV2D,
                                        RT_OP_ATTENTION_CONTEXT,
                                        RT_OP_ATTENTION_GENERATION,
                                        RT_OP_ATTENTION_ENCODER,
                                        RT_OP_MOE};
    size_t count = 0;
    while (count < CALLS) {
        struct rt_call call;
        rt_call_init(&call, ops[rt_random_below(&dice, RT_COUNT(ops))], coin() ? RT_FP32 : RT_FP16);
        for (int d = 0; d < rt_op_ndims(call.op); d++)
            call.dim[d] = size(4096);
        if (rt_op_check(call.op, call.dim) == RT_OK)
            rt_query_init(&queries[count++], &call);
    }
    return count;
}

static void test_same_bits(void)
{
    struct rt_predictor predictor;
    struct rt_query queries[CALLS];
    double plain[CALLS], again[CALLS];
    uint8_t skip[CALLS], skip_again[CALLS];
    rt_random_seed(&dice, 1, 4);
    make_random_predictor(&predictor);
    size_t count = sound_queries(queries), finite = 0;
    struct rt_network_memo *memo = rt_network_memo_new();
    for (int i = 0; i < DEVICES; i++) {
        struct rt_device device;
        random_device(&device);
        for (size_t f = 0; f < rt_device_field_count; f++) /* another board of the same design */
            *rt_device_value(&device, f) *= exp2(between(-1.5, 1.5));
        rt_predictor_forecast(&predictor, &device, queries, count, NULL, plain, skip);
        rt_predictor_forecast_again(&predictor, &device, queries, count, memo, again, skip_again, NULL);
        CU_ASSERT_EQUAL(memcmp(plain, again, sizeof plain), 0);
        CU_ASSERT_EQUAL(memcmp(skip, skip_again, sizeof skip), 0);
        finite += isfinite(again[0]);
    }
    CU_ASSERT(finite > DEVICES / 2);
    rt_network_memo_free(memo);
    rt_predictor_release(&predictor);
}

/* The same outputs are handed out, not made again: their address stays. */
static void test_asked_once(void)
{
    struct rt_predictor predictor;
    rt_random_seed(&dice, 2, 4);
    make_random_predictor(&predictor);
    const struct rt_family_net *net = rt_predictor_net(&predictor, RT_OP_SOFTMAX, RT_FP32);
    struct rt_network_memo *memo = rt_network_memo_new();
    rt_real inputs[2 * RT_MAX_FEATURES] = {0};
    const rt_real *first = rt_network_memo_outputs(memo, net, inputs, 2);
    CU_ASSERT_PTR_EQUAL(rt_network_memo_outputs(memo, net, inputs, 2), first);
    CU_ASSERT_PTR_NOT_EQUAL(rt_network_memo_outputs(memo, net, inputs, 1), first);
    inputs[0] = 1;
    CU_ASSERT_PTR_NOT_EQUAL(rt_network_memo_outputs(memo, net, inputs, 2), first);
    for (int i = 2; i < 200; i++) { /* more than it keeps: the oldest are given up */
        inputs[0] = (rt_real)i;
        rt_network_memo_outputs(memo, net, inputs, 2);
    }
    inputs[0] = 1;
    rt_real expected[2 * 32];
    rt_mlp_infer(&net->mlp, NULL, inputs, 2, expected);
    CU_ASSERT_EQUAL(memcmp(rt_network_memo_outputs(memo, net, inputs, 2), expected,
                           2 * (size_t)rt_heads[net->head].outputs * sizeof *expected),
                    0);
    rt_network_memo_free(memo);
    rt_predictor_release(&predictor);
}

RT_TESTS(RT_TEST(test_same_bits), RT_TEST(test_asked_once))
