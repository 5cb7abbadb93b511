/*
 * A linear layer of fewer than 16 rows takes no longer than of more, up to 16, whatever its network and
 * device effects are: a decode step of a small batch is not forecast to be slower than of a larger one.
 */
#include "random_predictor.h"

enum { LADDER = 16, LADDERS = 3000 };

/* Products that differ in their rows alone: 1 to 16, with their FLOPs and bytes where a step asks. False
 * where an op of them is not sound. */
static bool ladder(struct rt_query *queries, bool step)
{
    static const enum rt_op_id ops[] = {RT_OP_GEMM, RT_OP_LINEAR};
    struct rt_call call;
    rt_call_init(&call, ops[coin()], (enum rt_dtype)rt_random_below(&dice, RT_DTYPE_COUNT));
    for (int d = 0; d < rt_op_ndims(call.op); d++)
        call.dim[d] = call.op == RT_OP_LINEAR && d == 0 ? 1 : size(16384);
    int64_t *rows = &call.dim[call.op == RT_OP_LINEAR ? 1 : 0];
    for (int i = 0; i < LADDER; i++) {
        *rows = i + 1;
        if (rt_op_check(call.op, call.dim) != RT_OK)
            return false;
        rt_query_init(&queries[i], &call);
        queries[i].flops = step ? rt_query_flops(&queries[i]) : 0;
        queries[i].bytes = step ? rt_query_bytes(&queries[i]) : 0;
    }
    return true;
}

static void check_ladders(const struct rt_predictor *predictor)
{
    size_t checked = 0, slower = 0;
    while (checked < LADDERS) {
        struct rt_query queries[LADDER];
        struct rt_device device;
        double us[LADDER];
        bool queued = coin(), step = coin();
        random_device(&device);
        if (!ladder(queries, step))
            continue;
        for (int i = 0; i < LADDER; i++)
            queries[i].queued = queued;
        rt_predictor_forecast(predictor, &device, queries, LADDER, NULL, us, NULL);
        if (isnan(us[0])) /* the device has no peak for it */
            continue;
        for (int i = 1; i < LADDER; i++)
            slower += us[i] < us[i - 1] * (1 - 1e-6);
        checked++;
    }
    printf("# %s: %zu products of 1 to 16 rows, %zu steps down\n", predictor->kind, checked, slower);
    CU_ASSERT_EQUAL(slower, 0);
}

static void test_random_weights(void)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct rt_predictor predictor;
        rt_random_seed(&dice, seed, 4);
        make_random_predictor(&predictor);
        check_ladders(&predictor);
        rt_predictor_release(&predictor);
    }
}

static void test_pretrained(void)
{
    struct rt_predictor predictor;
    RT_ASSERT_OK(rt_predictor_open(RT_SOURCE_DIR "/models/predictors/pretrained/rooftile.h5", &predictor));
    rt_random_seed(&dice, 1, 5);
    check_ladders(&predictor);
    rt_predictor_release(&predictor);
}

RT_TESTS(RT_TEST(test_random_weights), RT_TEST(test_pretrained))
