/* What of an fp32 model runs in TF32: PyTorch's choice, and the user's. */
#include "models/networks/step.h"
#include "test.h"

/* How many kinds of kernels of convolutions and of products the model has in TF32; the first layer's 3
 * channels never are. */
static void count(const char *model, const char *gpu, struct rt_step step, size_t *convolutions,
                  size_t *products)
{
    struct rt_model_source source;
    struct rt_device device;
    struct rt_graph graph;
    RT_ASSERT_OK(rt_model_source_find(model, &source));
    RT_ASSERT_OK(rt_device_find(gpu, &device));
    CU_ASSERT_EQUAL_FATAL(rt_step_graph(&step, &source, &device, &graph), RT_OK);
    *convolutions = *products = 0;
    for (size_t k = 0; k < graph.kernel_count; k++) {
        bool tf32 = graph.kernels[k].call.dtype == RT_TF32;
        CU_ASSERT_FALSE(tf32 && graph.kernels[k].call.op == RT_OP_CONV2D &&
                        graph.kernels[k].call.dim[RT_CONV_IN] == 3);
        *convolutions += tf32 && graph.kernels[k].call.op == RT_OP_CONV2D;
        *products += tf32 && graph.kernels[k].call.op == RT_OP_LINEAR;
    }
    rt_graph_release(&graph);
}

static void test_what_runs_in_it(void)
{
    static const struct {
        const char *gpu;
        int dtype, tf32, runtime;
        bool convolutions, products;
    } rows[] = {
        {"A100-80", RT_FP32, RT_NOT_GIVEN, RT_NOT_GIVEN, true, false},
        {"A100-80", RT_NOT_GIVEN, RT_NOT_GIVEN, RT_RUNTIME_COMPILE, true, false},
        {"A100-80", RT_FP32, RT_TF32_NONE, RT_NOT_GIVEN, false, false},
        {"A100-80", RT_FP32, RT_TF32_ALL, RT_NOT_GIVEN, true, true},
        {"A100-80", RT_TF32, RT_NOT_GIVEN, RT_NOT_GIVEN, true, true},
        {"A100-80", RT_FP32, RT_NOT_GIVEN, RT_RUNTIME_EAGER_OLD, false, false},
        {"T4", RT_FP32, RT_NOT_GIVEN, RT_NOT_GIVEN, false, false},
        {"T4", RT_FP32, RT_TF32_CONV, RT_NOT_GIVEN, false, false},
        {"A100-80", RT_FP16, RT_NOT_GIVEN, RT_NOT_GIVEN, false, false},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_step step = RT_STEP_NOT_GIVEN;
        size_t convolutions, products;
        step.dtype = rows[i].dtype;
        step.tf32 = rows[i].tf32;
        step.runtime = rows[i].runtime;
        count("resnet50", rows[i].gpu, step, &convolutions, &products);
        CU_ASSERT_EQUAL(convolutions > 0, rows[i].convolutions);
        CU_ASSERT_EQUAL(products > 0, rows[i].products);
    }
}

/* It is said where nobody chose, and of nothing but fp32. */
static void test_what_is_said(void)
{
    struct rt_model_source source;
    struct rt_settled_step settled;
    struct rt_device device;
    struct rt_step step = RT_STEP_NOT_GIVEN;
    RT_ASSERT_OK(rt_model_source_find("resnet50", &source));
    RT_ASSERT_OK(rt_device_find("A100-80", &device));
    RT_ASSERT_OK(rt_step_settle(&step, &source, &device, &settled));
    CU_ASSERT_TRUE(settled.assumed[RT_STEP_TF32]);
    rt_settled_step_release(&settled);
    RT_ASSERT_OK(rt_step_set(&step, "tf32", "none"));
    RT_ASSERT_OK(rt_step_settle(&step, &source, &device, &settled));
    CU_ASSERT_FALSE(settled.assumed[RT_STEP_TF32]);
    rt_settled_step_release(&settled);
    step.dtype = RT_FP16;
    RT_ASSERT_FAILS(rt_step_settle(&step, &source, &device, &settled), RT_EUSAGE,
                    "tf32 none says what of a model");
    rt_settled_step_release(&settled);
    step.dtype = RT_TF32;
    RT_ASSERT_FAILS(rt_step_settle(&step, &source, &device, &settled), RT_EUSAGE, "is tf32");
    rt_settled_step_release(&settled);
    RT_ASSERT_FAILS(rt_step_set(&step, "tf32", "some"), RT_EUSAGE, "some");
}

RT_TESTS(RT_TEST(test_what_runs_in_it), RT_TEST(test_what_is_said))
