/* The kernels plan: all that the backend can run, evenly in every prefix, within bounds. */
#include "test.h"

#include "any_backend.h"
#include "plan_request.h"
#include "datasets/device.h"

#include <math.h>

static void make(uint64_t seed, const char *ops_list, const char *dtype_list, size_t count,
                 struct rt_plan *plan)
{
    struct rt_plan_request request = request_for(&any_backend, ops_list, dtype_list, seed, count);
    RT_ASSERT_OK(rt_plan_kernels(&request, plan));
}

static void test_prefixes_and_seeds(void)
{
    struct rt_plan a, b, c;
    make(1, NULL, NULL, 300, &a);
    make(1, NULL, NULL, 4000, &b);
    make(2, NULL, NULL, 300, &c);
    CU_ASSERT_EQUAL(b.count, 4000);
    CU_ASSERT_EQUAL(memcmp(a.tasks, b.tasks, 300 * sizeof *a.tasks), 0);
    CU_ASSERT_NOT_EQUAL(a.hash, c.hash);
    rt_plan_release(&a);
    rt_plan_release(&b);
    rt_plan_release(&c);
}

/* The plan holds every op, dtype, phase and variant that the backend has, and nothing else. */
static void test_holds_all_that_can_be_measured(void)
{
    struct rt_plan plan;
    bool has[RT_OP_COUNT][RT_DTYPE_COUNT][RT_PHASE_COUNT][RT_VARIANT_COUNT] = {0};
    int missing = 0;
    make(1, NULL, NULL, 4000, &plan);
    for (size_t i = 0; i < plan.count; i++) {
        const struct rt_task *t = &plan.tasks[i];
        CU_ASSERT_TRUE_FATAL(any_can(t));
        has[t->call.op][t->call.dtype][t->call.phase][t->variant] = true;
    }
    for (int op = 0; op < RT_OP_COUNT; op++)
        for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++)
            for (int phase = 0; phase < RT_PHASE_COUNT; phase++)
                for (int variant = 0; variant < RT_VARIANT_COUNT; variant++) {
                    struct rt_task task;
                    rt_task_init(&task, op, dtype);
                    task.call.phase = (uint8_t)phase;
                    task.variant = (uint8_t)variant;
                    if (task.call.dtype == dtype && any_can(&task) && !has[op][dtype][phase][variant]) {
                        printf("missing: %s %s %s %d\n", rt_ops[op].name, rt_dtypes[dtype].name,
                               rt_phases[phase], variant);
                        missing++;
                    }
                }
    CU_ASSERT_EQUAL(missing, 0);
    rt_plan_release(&plan);
}

/* In every prefix each family has its share: linear as many as bmm, twice as many as softmax. */
static void test_families_take_turns(void)
{
    static const struct {
        enum rt_family family;
        size_t every;
    } turns[] = {{RT_FAMILY_LINEAR, 1},    {RT_FAMILY_BMM, 1},       {RT_FAMILY_ELEMENTWISE, 1},
                 {RT_FAMILY_SOFTMAX, 2},   {RT_FAMILY_LAYERNORM, 2}, {RT_FAMILY_CONV, 1},
                 {RT_FAMILY_ATTENTION, 2}, {RT_FAMILY_MEMORY, 1},    {RT_FAMILY_HOST, 8}};
    struct rt_plan plan;
    size_t got[RT_FAMILY_COUNT] = {0};
    bool even = true;
    make(5, NULL, NULL, 2000, &plan);
    for (size_t i = 0; i < plan.count; i++) {
        got[rt_call_family(&plan.tasks[i].call)]++;
        size_t rounds = got[RT_FAMILY_LINEAR];
        for (size_t t = 0; t < RT_COUNT(turns); t++) {
            size_t due = rounds / turns[t].every, has = got[turns[t].family];
            even &= has <= due + 1 && has + 1 >= due;
        }
    }
    CU_ASSERT_TRUE(even);
    rt_plan_release(&plan);
}

/* Dtypes of an op in every prefix: no two differ by more than the dtypes there are. */
static void test_dtypes_take_turns(void)
{
    struct rt_plan plan;
    size_t got[RT_OP_COUNT][RT_DTYPE_COUNT] = {{0}};
    static const enum rt_dtype wide[] = {RT_FP32, RT_FP16, RT_BF16};
    bool even = true;
    make(3, NULL, NULL, 3000, &plan);
    for (size_t i = 0; i < plan.count; i++) {
        int op = plan.tasks[i].call.op;
        got[op][plan.tasks[i].call.dtype]++;
        if (rt_ops[op].family == RT_FAMILY_HOST || rt_ops[op].family == RT_FAMILY_ATTENTION)
            continue;
        for (size_t a = 0; a < RT_COUNT(wide); a++)
            for (size_t b = 0; b < RT_COUNT(wide); b++)
                even &= got[op][wide[a]] <= got[op][wide[b]] + 3;
    }
    CU_ASSERT_TRUE(even);
    rt_plan_release(&plan);
}

/* The first 48 shapes of an op, over all of its dtypes: of every quarter of the logarithm of columns, a
 * share. A sequence per dtype that began at the same place would fail here. */
static void test_prefix_covers_the_ranges(void)
{
    static const char *const ops[] = {"layernorm", "softmax", "gelu"};
    for (size_t o = 0; o < RT_COUNT(ops); o++)
        for (uint64_t seed = 1; seed <= 8; seed++) {
            struct rt_plan plan;
            int quarter[4] = {0}, op = rt_op_find(ops[o]);
            make(seed, ops[o], NULL, 48, &plan);
            double low = op == RT_OP_GELU ? 1 : op == RT_OP_SOFTMAX ? 8 : 32;
            double high = op == RT_OP_SOFTMAX ? 65537 : 16385;
            for (size_t i = 0; i < plan.count; i++) {
                int q = (int)(4 * log((double)plan.tasks[i].call.dim[1] / low) / log(high / low));
                quarter[q < 3 ? q : 3]++;
            }
            for (int q = 0; q < 4; q++)
                CU_ASSERT_TRUE(quarter[q] >= 4);
            rt_plan_release(&plan);
        }
}

/* Sweeps of one op begin at different places: its dtypes do not repeat the same shapes. */
static void test_dtypes_have_shapes_of_their_own(void)
{
    struct rt_plan plan;
    size_t repeated = 0;
    make(1, "layernorm", NULL, 48, &plan);
    for (size_t i = 0; i < plan.count; i++)
        for (size_t j = 0; j < i; j++)
            repeated +=
                memcmp(plan.tasks[i].call.dim, plan.tasks[j].call.dim, sizeof plan.tasks[i].call.dim) == 0;
    CU_ASSERT_EQUAL(repeated, 0);
    rt_plan_release(&plan);
}

/* The first few shapes of a family already show most of its ops, phases, layouts and kernels. */
static void test_short_prefixes_show_much(void)
{
    struct rt_plan plan;
    bool op[RT_OP_COUNT] = {false}, phase[RT_PHASE_COUNT] = {false}, layout[2] = {false}, edge[8] = {false};
    size_t ops = 0, edges = 0;
    make(1, "elementwise", NULL, 20, &plan);
    for (size_t i = 0; i < plan.count; i++)
        op[plan.tasks[i].call.op] = true;
    for (int i = 0; i < RT_OP_COUNT; i++)
        ops += op[i];
    CU_ASSERT_TRUE(ops >= 12);
    rt_plan_release(&plan);
    make(1, "conv2d", NULL, 24, &plan);
    for (size_t i = 0; i < plan.count; i++) {
        phase[plan.tasks[i].call.phase] = layout[plan.tasks[i].call.dim[13] == 1] = true;
        edge[plan.tasks[i].call.dim[5]] = true;
    }
    for (size_t i = 0; i < RT_COUNT(edge); i++)
        edges += edge[i];
    CU_ASSERT_TRUE(phase[RT_FORWARD] && phase[RT_BACKWARD] && phase[RT_ACCUMULATE]);
    CU_ASSERT_TRUE(layout[0] && layout[1]);
    CU_ASSERT_EQUAL(edges, 4);
    rt_plan_release(&plan);
}

/* Both halves of the range of each dim of a product, in any 40 of them. */
static void test_products_cover_their_corners(void)
{
    struct rt_plan plan;
    make(1, "linear", "bf16", 400, &plan);
    for (size_t first = 0; first + 40 <= plan.count; first += 40)
        for (int d = 1; d < 4; d++) {
            int small = 0, round = 0;
            for (size_t i = first; i < first + 40; i++) {
                small += plan.tasks[i].call.dim[d] <= 1024;
                round += plan.tasks[i].call.dim[d] % 8 == 0;
            }
            CU_ASSERT_TRUE(small >= 8 && small <= 32);
            CU_ASSERT_TRUE(round >= 12 && round <= 36); /* odd dims, and round ones as in networks */
        }
    rt_plan_release(&plan);
}

/* On an H200: 50 ms, 2 GiB, valid dims; convolutions as they are in networks. */
static void test_shapes_are_bounded(void)
{
    struct rt_plan plan;
    struct rt_device h200;
    int bad = 0;
    RT_ASSERT_OK(rt_device_named("H200", &h200));
    make(1, NULL, NULL, 4000, &plan);
    for (size_t i = 0; i < plan.count; i++) {
        const struct rt_task *t = &plan.tasks[i];
        double peak = rt_device_peak_flops(&h200, rt_call_family(&t->call), t->call.dtype);
        double seconds =
            fmax(rt_call_flops(&t->call) / peak, rt_call_bytes(&t->call) / (1e9 * h200.bandwidth_gbs));
        bad += !(seconds <= 0.05) || rt_call_bytes(&t->call) > 0x1p31 ||
               rt_op_check(t->call.op, t->call.dim) != RT_OK;
        if (t->call.op == RT_OP_CONV2D) {
            bad += t->call.dim[3] != t->call.dim[4] || t->call.dim[5] != t->call.dim[6];
            bad += t->call.dim[10] != 1 && t->call.dim[10] != 32 &&
                   (t->call.dim[10] != t->call.dim[1] || t->call.dim[1] != t->call.dim[2]);
            bad += t->variant != RT_PLAIN;
        }
        if (t->call.dtype == RT_FP8)
            for (int d = t->call.op == RT_OP_GEMM ? 0 : 1; d < rt_op_ndims(t->call.op); d++)
                bad += t->call.dim[d] % 16 != 0;
    }
    CU_ASSERT_EQUAL(bad, 0);
    rt_plan_release(&plan);
}

static void test_dtypes_can_be_chosen(void)
{
    struct rt_plan plan;
    struct rt_dtype_set dtypes;
    make(1, NULL, "fp16,fp8", 500, &plan);
    bool right = true, both[2] = {false};
    for (size_t i = 0; i < plan.count; i++) {
        const struct rt_task *t = &plan.tasks[i];
        right &=
            t->call.dtype == RT_FP16 || t->call.dtype == RT_FP8 || rt_call_family(&t->call) == RT_FAMILY_HOST;
        both[0] |= t->call.dtype == RT_FP16;
        both[1] |= t->call.dtype == RT_FP8;
    }
    CU_ASSERT_TRUE(right && both[0] && both[1]);
    rt_plan_release(&plan);
    struct rt_plan_request none = request_for(&any_backend, "softmax", "tf32", 1, 10);
    RT_ASSERT_FAILS(rt_plan_kernels(&none, &plan), RT_EUSAGE, "plan kernels has nothing");
    RT_ASSERT_FAILS(rt_dtype_set_parse("fp32,fp33", &dtypes), RT_ENOTFOUND, "\"fp33\" is not one of fp32");
    RT_ASSERT_OK(rt_dtype_set_parse("fp32,float32,bf16", &dtypes));
    CU_ASSERT_EQUAL(dtypes.count, 2);
}

RT_TESTS(RT_TEST(test_prefixes_and_seeds), RT_TEST(test_holds_all_that_can_be_measured),
         RT_TEST(test_families_take_turns), RT_TEST(test_dtypes_take_turns),
         RT_TEST(test_prefix_covers_the_ranges), RT_TEST(test_dtypes_have_shapes_of_their_own),
         RT_TEST(test_short_prefixes_show_much), RT_TEST(test_products_cover_their_corners),
         RT_TEST(test_shapes_are_bounded), RT_TEST(test_dtypes_can_be_chosen))
