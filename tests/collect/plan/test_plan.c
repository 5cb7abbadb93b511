/* The quick plan is deterministic, balanced in every prefix and within its ranges; plan files say what is
 * wrong. */
#include "test.h"

#include "any_backend.h"
#include "collect/backend.h"
#include "plan_request.h"

#include <math.h>

static const struct rt_backend *cpu(void)
{
    const struct rt_backend *backend = NULL;
    RT_ASSERT_OK(rt_backend_find("cpu", &backend));
    return backend;
}

static void make_quick(uint64_t seed, const char *list, size_t count, struct rt_plan *plan)
{
    struct rt_plan_request request = request_for(cpu(), list, NULL, seed, count);
    RT_ASSERT_OK(rt_plan_make("quick", &request, plan));
}

static void test_quick_is_deterministic(void)
{
    struct rt_plan a, b, c;
    make_quick(1, NULL, 500, &a);
    make_quick(1, NULL, 500, &b);
    make_quick(2, NULL, 500, &c);
    CU_ASSERT_EQUAL(a.count, 500);
    CU_ASSERT_EQUAL(memcmp(a.tasks, b.tasks, 500 * sizeof *a.tasks), 0);
    CU_ASSERT_EQUAL(a.hash, b.hash);
    CU_ASSERT_NOT_EQUAL(a.hash, c.hash);
    rt_plan_release(&a);
    rt_plan_release(&b);
    rt_plan_release(&c);
}

static void test_a_longer_plan_begins_like_a_shorter(void)
{
    struct rt_plan a, b;
    make_quick(7, NULL, 100, &a);
    make_quick(7, NULL, 1000, &b);
    CU_ASSERT_EQUAL(memcmp(a.tasks, b.tasks, 100 * sizeof *a.tasks), 0);
    rt_plan_release(&a);
    rt_plan_release(&b);
}

/* In every prefix the families differ by at most one shape, and so do the ops of a family. */
static void test_every_prefix_is_balanced(void)
{
    struct rt_plan plan;
    struct rt_op_set ops = request_for(cpu(), NULL, NULL, 3, 600).ops;
    make_quick(3, NULL, 600, &plan);
    size_t per_op[RT_OP_COUNT] = {0}, per_family[RT_FAMILY_COUNT] = {0};
    bool balanced = true;
    for (size_t i = 0; i < plan.count; i++) {
        per_op[plan.tasks[i].call.op]++;
        per_family[rt_call_family(&plan.tasks[i].call)]++;
        for (int f = RT_FAMILY_BMM; f <= RT_FAMILY_LAYERNORM; f++) {
            size_t least = SIZE_MAX, most = 0;
            for (int op = 0; op < RT_OP_COUNT; op++)
                if (ops.has[op] && (int)rt_ops[op].family == f) {
                    least = per_op[op] < least ? per_op[op] : least;
                    most = per_op[op] > most ? per_op[op] : most;
                }
            balanced &= most <= least + 1 && per_family[f] + 1 >= i / 5 && per_family[f] <= i / 5 + 1;
        }
    }
    CU_ASSERT_TRUE(balanced);
    rt_plan_release(&plan);
}

/* Any 64 softmax shapes: every quarter of the log range of columns gets its share. */
static void test_prefix_covers_the_ranges(void)
{
    struct rt_plan plan;
    make_quick(11, "softmax", 64, &plan);
    int quarter[4] = {0};
    for (size_t i = 0; i < plan.count; i++) {
        int q = (int)(4 * log((double)plan.tasks[i].call.dim[1] / 32) / log(4097.0 / 32));
        quarter[q < 3 ? q : 3]++;
    }
    for (int q = 0; q < 4; q++)
        CU_ASSERT_TRUE(quarter[q] >= 9);
    rt_plan_release(&plan);
}

static void test_shapes_are_valid_distinct_and_sized(void)
{
    struct rt_plan plan;
    make_quick(5, NULL, 2000, &plan);
    CU_ASSERT_EQUAL(plan.count, 2000);
    int bad = 0;
    for (size_t i = 0; i < plan.count; i++) {
        const struct rt_task *task = &plan.tasks[i];
        bad += rt_op_check(task->call.op, task->call.dim) != RT_OK || !cpu()->can(task);
        bad += rt_call_flops(&task->call) > 0x1p33 || rt_call_bytes(&task->call) > 0x1p28;
        bad += rt_plan_find(&plan, task) != (ptrdiff_t)i;
    }
    CU_ASSERT_EQUAL(bad, 0);
    rt_plan_release(&plan);
}

static void test_ops_can_be_chosen(void)
{
    struct rt_op_set ops;
    RT_ASSERT_OK(rt_op_set_parse("bmm,elementwise", cpu(), &ops));
    CU_ASSERT_TRUE(ops.has[RT_OP_BMM] && ops.has[RT_OP_TANH] && ops.has[RT_OP_ADD]);
    CU_ASSERT_FALSE(ops.has[RT_OP_LINEAR] || ops.has[RT_OP_SOFTMAX]);
    RT_ASSERT_FAILS(rt_op_set_parse("bmm,nothing", cpu(), &ops), RT_ENOTFOUND, "\"nothing\"");
    RT_ASSERT_FAILS(rt_op_set_parse("batchnorm", cpu(), &ops), RT_EUSAGE, "cannot measure batchnorm");
    RT_ASSERT_FAILS(rt_op_set_parse("", cpu(), &ops), RT_ENOTFOUND, "ops: ");
}

static int read_text(const char *text, struct rt_plan *plan)
{
    struct rt_plan_request request = request_for(cpu(), NULL, NULL, 1, 0);
    return rt_plan_read(rt_test_write("plan.csv", text), &request, plan);
}

static void test_file(void)
{
    struct rt_plan plan;
    RT_ASSERT_OK(read_text("# two shapes\n bmm, k=3, batch=16 ,m=1,n=2\r\n\nsoftmax,rows=4,cols=5 # why\n"
                           "bmm,batch=16,m=1,n=2,k=3,dtype=fp32",
                           &plan));
    CU_ASSERT_EQUAL(plan.count, 2);
    CU_ASSERT_EQUAL(plan.duplicates, 1);
    CU_ASSERT_EQUAL(plan.tasks[0].call.op, RT_OP_BMM);
    static const int64_t dims[] = {16, 1, 2, 3, -1};
    CU_ASSERT_EQUAL(memcmp(plan.tasks[0].call.dim, dims, sizeof dims), 0);
    CU_ASSERT_EQUAL(plan.tasks[1].call.dim[1], 5);
    rt_plan_release(&plan);
}

/* dtype, phase and variant of a line; --dtypes leaves lines out. */
static void test_file_with_settings(void)
{
    static const char text[] = "conv2d,batch=1,in_channels=3,out_channels=8,height=9,width=9,kernel_h=3,"
                               "kernel_w=3,stride=1,padding=1,"
                               "dilation=1,groups=1,channels_last=1,dtype=fp16,phase=accumulate\n"
                               "batchnorm,batch=1,channels=3,height=9,width=9,layout=nhwc\n"
                               "host_to_device,bytes=4096,host_memory=pageable\n"
                               "softmax_backward,rows=4,cols=5\n";
    const char *path = rt_test_write("plan.csv", text);
    struct rt_plan plan;
    struct rt_plan_request any = request_for(&any_backend, NULL, NULL, 1, 0);
    struct rt_plan_request fp16 = request_for(&any_backend, NULL, "fp16", 1, 0);
    RT_ASSERT_OK(rt_plan_read(path, &any, &plan));
    CU_ASSERT_EQUAL_FATAL(plan.count, 4);
    CU_ASSERT_EQUAL(plan.tasks[0].call.dtype, RT_FP16);
    CU_ASSERT_EQUAL(plan.tasks[0].call.phase, RT_ACCUMULATE);
    CU_ASSERT_EQUAL(plan.tasks[0].call.dim[13], 1);
    CU_ASSERT_EQUAL(plan.tasks[1].variant, RT_NHWC);
    CU_ASSERT_EQUAL(plan.tasks[2].variant, RT_PAGEABLE);
    CU_ASSERT_EQUAL(plan.tasks[3].call.phase, RT_BACKWARD);
    rt_plan_release(&plan);
    RT_ASSERT_OK(rt_plan_read(path, &fp16, &plan));
    CU_ASSERT_EQUAL(plan.count, 1);
    rt_plan_release(&plan);
}

/* The quick plan in other dtypes: the same shapes, each in each. */
static void test_quick_in_dtypes(void)
{
    struct rt_plan fp32, plan;
    struct rt_plan_request own = request_for(&any_backend, NULL, NULL, 1, 30);
    struct rt_plan_request both = request_for(&any_backend, NULL, "bf16,tf32", 1, 30);
    struct rt_plan_request none = request_for(cpu(), NULL, "bf16", 1, 30);
    RT_ASSERT_OK(rt_plan_make("quick", &own, &fp32));
    RT_ASSERT_OK(rt_plan_make("quick", &both, &plan));
    CU_ASSERT_EQUAL(plan.count, 30);
    CU_ASSERT_EQUAL(plan.tasks[0].call.dtype, RT_BF16);
    CU_ASSERT_EQUAL(plan.tasks[1].call.dtype, RT_TF32);
    CU_ASSERT_EQUAL(memcmp(plan.tasks[0].call.dim, fp32.tasks[0].call.dim, sizeof plan.tasks[0].call.dim), 0);
    rt_plan_release(&plan);
    rt_plan_release(&fp32);
    RT_ASSERT_FAILS(rt_plan_make("quick", &none, &plan), RT_EUSAGE, "the cpu backend can measure none");
}

static void test_file_with_chosen_ops(void)
{
    struct rt_plan plan;
    struct rt_plan_request request = request_for(cpu(), "softmax", NULL, 1, 0);
    RT_ASSERT_OK(rt_plan_read(rt_test_write("plan.csv", "bmm,batch=1,m=1,n=1,k=1\nsoftmax,rows=4,cols=5\n"),
                              &request, &plan));
    CU_ASSERT_EQUAL(plan.count, 1);
    rt_plan_release(&plan);
}

static void test_bad_files(void)
{
    static const struct {
        const char *text, *words;
        int status;
    } cases[] = {
        {"softmax,rows=4,cols=5\nfoo,rows=4\n", "plan.csv:2: \"foo\" is no op", RT_EFORMAT},
        {"softmax,rows=4\n", "plan.csv:1: dim \"cols\" of softmax is missing", RT_EFORMAT},
        {"softmax,rows=4,cols=5,depth=3\n", "softmax has no dim \"depth\"; it has rows cols", RT_EFORMAT},
        {"softmax,rows=4,rows=5,cols=1\n", "\"rows\" is given twice", RT_EFORMAT},
        {"softmax,rows=4.5,cols=1\n", "rows=4.5 is not a whole number", RT_EFORMAT},
        {"softmax,rows=-4,cols=1\n", "rows=-4 is not a whole number", RT_EFORMAT},
        {"softmax,rows=,cols=1\n", "rows= is not a whole number", RT_EFORMAT},
        {"softmax,rows=0,cols=1\n", "plan.csv:1: ", RT_EFORMAT},
        {"softmax,rows=99999999999999,cols=1\n", "plan.csv:1: ", RT_EFORMAT},
        {"softmax,rows,cols=1\n", "\"rows\" is not dim=value", RT_EFORMAT},
        {"softmax,rows=4,cols=1,dtype=fp99\n", "dtype \"fp99\" is unknown", RT_EFORMAT},
        {"softmax,rows=4,cols=1,dtype=fp16\n", "the cpu backend cannot measure softmax in fp16", RT_EUSAGE},
        {"softmax,rows=4,cols=1,dtype=fp32,dtype=fp32\n", "dtype is given twice", RT_EFORMAT},
        {"softmax,rows=4,cols=1,phase=sideways\n", "phase \"sideways\" is not forward", RT_EFORMAT},
        {"softmax,rows=4,cols=1,phase=backward\n", "cannot measure softmax in fp32, backward", RT_EUSAGE},
        {"softmax,rows=4,cols=1,layout=nchw\n", "layout \"nchw\" is unknown; it may be nhwc", RT_EFORMAT},
        {"softmax,rows=4,cols=1,layout=nhwc\n", "in fp32, forward, layout=nhwc", RT_EUSAGE},
        {"all_reduce,gpus=2,elements=4\n", "cannot measure all_reduce", RT_EUSAGE},
        {"# nothing\n", "holds no shape", RT_EFORMAT},
        {"", "holds no shape", RT_EFORMAT},
        {",,,\n", "is no op", RT_EFORMAT},
    };
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        struct rt_plan plan = {0};
        RT_ASSERT_FAILS(read_text(cases[i].text, &plan), cases[i].status, cases[i].words);
        CU_ASSERT_PTR_NULL(plan.tasks);
    }
}

static void test_missing_and_binary_files(void)
{
    struct rt_plan plan;
    struct rt_plan_request request = request_for(cpu(), NULL, NULL, 1, 0);
    RT_ASSERT_FAILS(rt_plan_make("/nowhere/plan.csv", &request, &plan), RT_EIO, "/nowhere/plan.csv");
    const char *path = rt_test_path("binary.csv");
    FILE *file = fopen(path, "w");
    fwrite("bmm\0,x", 1, 6, file);
    fclose(file);
    RT_ASSERT_FAILS(rt_plan_read(path, &request, &plan), RT_EFORMAT, "is not text");
}

/* 16 shapes of five families by turns: every prefix has as many of each, give or take one. */
static void test_calibrate_is_balanced(void)
{
    struct rt_plan plan, few;
    struct rt_plan_request all = request_for(cpu(), NULL, NULL, 1, 2000);
    struct rt_plan_request first = request_for(cpu(), NULL, NULL, 1, 25);
    size_t of_family[RT_FAMILY_COUNT] = {0};
    RT_ASSERT_OK(rt_plan_make("calibrate", &all, &plan));
    CU_ASSERT_EQUAL(plan.count, 80);
    for (size_t i = 0; i < plan.count; i++) {
        RT_ASSERT_OK(rt_op_check(plan.tasks[i].call.op, plan.tasks[i].call.dim));
        CU_ASSERT_TRUE(cpu()->can(&plan.tasks[i]));
        CU_ASSERT_TRUE(rt_call_flops(&plan.tasks[i].call) < 1e12); /* seconds on a CPU, not hours */
        CU_ASSERT_EQUAL(of_family[rt_call_family(&plan.tasks[i].call)]++, i / 5);
    }
    RT_ASSERT_OK(rt_plan_make("calibrate", &first, &few));
    CU_ASSERT_EQUAL(few.count, 25);
    CU_ASSERT_EQUAL(memcmp(few.tasks, plan.tasks, 25 * sizeof *few.tasks), 0);
    rt_plan_release(&few);
    rt_plan_release(&plan);
}

static void test_calibrate_with_chosen_ops(void)
{
    struct rt_plan plan;
    struct rt_plan_request some = request_for(cpu(), "softmax,bmm", NULL, 1, 2000);
    struct rt_plan_request none = request_for(cpu(), "gemm", NULL, 1, 2000);
    RT_ASSERT_OK(rt_plan_make("calibrate", &some, &plan));
    CU_ASSERT_EQUAL(plan.count, 32);
    rt_plan_release(&plan);
    RT_ASSERT_FAILS(rt_plan_make("calibrate", &none, &plan), RT_EUSAGE, "has no shapes for these ops");
}

RT_TESTS(RT_TEST(test_calibrate_is_balanced), RT_TEST(test_calibrate_with_chosen_ops),
         RT_TEST(test_quick_is_deterministic), RT_TEST(test_a_longer_plan_begins_like_a_shorter),
         RT_TEST(test_every_prefix_is_balanced), RT_TEST(test_prefix_covers_the_ranges),
         RT_TEST(test_shapes_are_valid_distinct_and_sized), RT_TEST(test_ops_can_be_chosen),
         RT_TEST(test_file), RT_TEST(test_file_with_settings), RT_TEST(test_quick_in_dtypes),
         RT_TEST(test_file_with_chosen_ops), RT_TEST(test_bad_files), RT_TEST(test_missing_and_binary_files))
