/* Calls: from text, as text, and what they cost. */
#include "datasets/call.h"
#include "test.h"

static void test_a_call_is_read_in_any_order(void)
{
    struct rt_call call;
    char dims[128];
    RT_ASSERT_OK(rt_call_parse("bmm, k=64,batch=16 ,dtype=bf16,m=512,n=256", NULL, NULL, &call));
    CU_ASSERT_EQUAL(call.op, RT_OP_BMM);
    CU_ASSERT_EQUAL(call.dtype, RT_BF16);
    CU_ASSERT_EQUAL(call.phase, RT_FORWARD);
    CU_ASSERT_EQUAL(call.dim[4], -1);
    rt_call_dims(&call, dims, sizeof dims);
    CU_ASSERT_STRING_EQUAL(dims, "batch=16 m=512 n=256 k=64");
    RT_ASSERT_NEAR(rt_call_flops(&call), 2.0 * 16 * 512 * 256 * 64, 1e-15);
    RT_ASSERT_NEAR(rt_call_bytes(&call), 2.0 * 16 * (512 * 64 + 64 * 256 + 512 * 256), 1e-15);
}

static void test_a_backward_op_runs_backward(void)
{
    struct rt_call call;
    RT_ASSERT_OK(rt_call_parse("softmax_backward,rows=8,cols=16", NULL, NULL, &call));
    CU_ASSERT_EQUAL(call.phase, RT_BACKWARD);
    CU_ASSERT_EQUAL(rt_call_family(&call), rt_ops[RT_OP_SOFTMAX_BACKWARD].family);
}

/* TF32 multiplies matrices; all else is fp32. */
static void test_what_tf32_is_of(void)
{
    struct rt_call call;
    rt_call_init(&call, RT_OP_LINEAR, RT_TF32);
    CU_ASSERT_EQUAL(call.dtype, RT_TF32);
    rt_call_init(&call, RT_OP_LAYERNORM, RT_TF32);
    CU_ASSERT_EQUAL(call.dtype, RT_FP32);
    rt_call_init(&call, RT_OP_LAYERNORM, RT_BF16);
    CU_ASSERT_EQUAL(call.dtype, RT_BF16);
}

static void test_refusals_name_what_is_wrong(void)
{
    static const struct {
        const char *text, *words;
    } bad[] = {{"", "is no op"},
               {"foo,rows=1", "\"foo\" is no op"},
               {"softmax,rows=4", "dim \"cols\" of softmax is missing"},
               {"softmax,rows=4,cols=5,layout=nhwc", "softmax has no dim \"layout\"; it has rows cols"},
               {"softmax,rows=4,rows=4,cols=5", "\"rows\" is given twice"},
               {"softmax,rows=0,cols=5", "rows is 0"},
               {"softmax,rows=4,cols=5,dtype=fp99", "dtype \"fp99\" is unknown"},
               {"softmax,rows,cols=5", "\"rows\" is not dim=value"}};
    struct rt_call call, as_it_was;
    rt_call_init(&call, RT_OP_ADD, RT_FP32);
    as_it_was = call;
    for (size_t i = 0; i < RT_COUNT(bad); i++) {
        RT_ASSERT_FAILS(rt_call_parse(bad[i].text, NULL, NULL, &call), RT_EFORMAT, bad[i].words);
        CU_ASSERT_EQUAL(memcmp(&call, &as_it_was, sizeof call), 0);
    }
}

static void test_products_of_every_kind(void)
{
    struct rt_call call;
    int64_t batch, m, n, k;
    RT_ASSERT_OK(rt_call_parse("gemm,m=3,n=4,k=5", NULL, NULL, &call));
    CU_ASSERT_TRUE(rt_call_product(&call, &batch, &m, &n, &k));
    CU_ASSERT_TRUE(batch == 1 && m == 3 && n == 4 && k == 5);
    RT_ASSERT_OK(rt_call_parse("bmm,batch=2,m=3,n=4,k=5", NULL, NULL, &call));
    CU_ASSERT_TRUE(rt_call_product(&call, &batch, &m, &n, &k));
    CU_ASSERT_TRUE(batch == 2 && m == 3 && n == 4 && k == 5);
    RT_ASSERT_OK(rt_call_parse("relu,rows=3,cols=4", NULL, NULL, &call));
    CU_ASSERT_FALSE(rt_call_product(&call, &batch, &m, &n, &k));
}

RT_TESTS(RT_TEST(test_a_call_is_read_in_any_order), RT_TEST(test_a_backward_op_runs_backward),
         RT_TEST(test_what_tf32_is_of), RT_TEST(test_refusals_name_what_is_wrong),
         RT_TEST(test_products_of_every_kind))
