/* The models plan holds every kernel of the zoo once; every prefix holds kernels of all models. */
#include "test.h"

#include "any_backend.h"
#include "collect/backend.h"
#include "collect/plan/model_run.h"
#include "models/networks/model.h"
#include "plan_request.h"

static void make(const struct rt_backend *backend, const char *ops_list, const char *dtype_list, size_t count,
                 struct rt_plan *plan)
{
    struct rt_plan_request request = request_for(backend, ops_list, dtype_list, 1, count);
    RT_ASSERT_OK(rt_plan_models(&request, plan));
}

/* All of the plan in fp32, made once. */
static const struct rt_plan *all_kernels(void)
{
    static struct rt_plan plan;
    if (plan.count == 0)
        make(&any_backend, NULL, NULL, SIZE_MAX, &plan);
    return &plan;
}

static void read_model(const char *model, int64_t batch, int64_t sequence, bool training,
                       struct rt_model_tasks *tasks)
{
    struct rt_model_step step = {
        .model = model, .batch = batch, .sequence = sequence, .dtype = RT_FP32, .training = training};
    RT_ASSERT_OK(rt_model_tasks(&step, tasks));
}

/* All kernels of a step that are not too large are in the plan. */
static void test_holds_a_models_kernels(void)
{
    const struct rt_plan *plan = all_kernels();
    struct rt_model_tasks tasks;
    read_model("gpt2-large", 4, 1024, true, &tasks);
    size_t missing = 0;
    for (size_t i = 0; i < tasks.count; i++)
        missing += rt_plan_find(plan, &tasks.tasks[i]) < 0;
    CU_ASSERT_TRUE(tasks.count > 20);
    CU_ASSERT_EQUAL(missing, 0);
    CU_ASSERT_TRUE(plan->count > 5000 && plan->too_large > 0);
    for (size_t i = 0; i < plan->count; i++)
        if (rt_call_bytes(&plan->tasks[i].call) > 0x1p32 || rt_call_flops(&plan->tasks[i].call) > 0x1p42)
            missing++;
    CU_ASSERT_EQUAL(missing, 0);
    rt_model_tasks_release(&tasks);
}

/* Kernels of the plan that occur in the model, at any batch and sequence; counted up to `enough`. */
static size_t seen(const struct rt_plan *plan, const char *model, size_t enough)
{
    static const int64_t batches[] = {1, 2, 4, 8, 16, 32}, sequences[] = {128, 256, 512, 1024, 2048};
    size_t found = 0;
    for (size_t b = 0; b < RT_COUNT(batches); b++)
        for (size_t s = 0; s < RT_COUNT(sequences) && found < enough; s++) {
            struct rt_model_tasks tasks;
            read_model(model, batches[b], sequences[s], true, &tasks);
            for (size_t i = 0; i < tasks.count; i++)
                found += rt_plan_find(plan, &tasks.tasks[i]) >= 0;
            rt_model_tasks_release(&tasks);
        }
    return found;
}

static void test_a_prefix_shows_all_models(void)
{
    struct rt_plan plan;
    size_t models = rt_zoo_size(), ops = 0;
    bool has[RT_OP_COUNT] = {0};
    make(&any_backend, NULL, NULL, 200, &plan);
    CU_ASSERT_EQUAL(plan.count, 200);
    CU_ASSERT_TRUE(models >= 19);
    for (size_t m = 0; m < models; m++) {
        struct rt_model model;
        RT_ASSERT_OK(rt_zoo_model(m, &model));
        CU_ASSERT_TRUE(seen(&plan, model.name, 3) >= 3);
    }
    for (size_t i = 0; i < plan.count; i++) {
        ops += !has[plan.tasks[i].call.op];
        has[plan.tasks[i].call.op] = true;
    }
    CU_ASSERT_TRUE(ops >= 16);
    rt_plan_release(&plan);
}

/* bf16: all kernels. tf32: products only; the rest in fp32. */
static void test_dtypes(void)
{
    const struct rt_plan *fp32 = all_kernels();
    struct rt_plan plan;
    make(&any_backend, NULL, "bf16", SIZE_MAX, &plan);
    size_t wrong = 0;
    for (size_t i = 0; i < plan.count; i++)
        wrong += plan.tasks[i].call.dtype != RT_BF16;
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_TRUE(plan.count >= fp32->count); /* fewer are too large */
    rt_plan_release(&plan);
    make(&any_backend, NULL, "tf32", SIZE_MAX, &plan);
    CU_ASSERT_EQUAL(plan.count, fp32->count);
    for (size_t i = 0; i < plan.count; i++) {
        enum rt_family family = rt_call_family(&plan.tasks[i].call);
        bool product = family == RT_FAMILY_LINEAR || family == RT_FAMILY_BMM;
        wrong += plan.tasks[i].call.dtype != (product ? RT_TF32 : RT_FP32);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    rt_plan_release(&plan);
    make(&any_backend, NULL, "fp32,bf16", 101, &plan);
    CU_ASSERT_EQUAL(plan.count, 101);
    rt_plan_release(&plan);
}

/* What the backend cannot run is counted by op, each kernel once, and no more than what is missing. */
static void test_what_is_left_out_is_counted(void)
{
    const struct rt_backend *cpu = NULL;
    const struct rt_plan *all = all_kernels();
    struct rt_plan some, softmax;
    size_t unable = 0, softmaxes = 0;
    RT_ASSERT_OK(rt_backend_find("cpu", &cpu));
    make(cpu, NULL, NULL, SIZE_MAX, &some);
    for (int op = 0; op < RT_OP_COUNT; op++) {
        unable += some.unable[op];
        CU_ASSERT_EQUAL(all->unable[op], 0);
    }
    CU_ASSERT_TRUE(some.unable[RT_OP_EMBEDDING] > 50);
    /* Too large ones of ops that the CPU lacks are counted as the latter. */
    CU_ASSERT_EQUAL(some.count + some.too_large + unable, all->count + all->too_large);
    for (size_t i = 0; i < some.count; i++)
        softmaxes += some.tasks[i].call.op == RT_OP_SOFTMAX;
    make(cpu, "softmax", NULL, SIZE_MAX, &softmax);
    CU_ASSERT_EQUAL(softmax.count, softmaxes);
    CU_ASSERT_EQUAL(softmax.unable[RT_OP_EMBEDDING], 0); /* not requested */
    rt_plan_release(&some);
    rt_plan_release(&softmax);
}

/* The order of a step: every layer's forward kernels, then backward from the last one on. */
static void test_launches(void)
{
    struct rt_model_tasks inference, training;
    read_model("gpt2", 2, 128, false, &inference);
    read_model("gpt2", 2, 128, true, &training);
    CU_ASSERT_EQUAL(inference.forward, inference.launch_count);
    CU_ASSERT_EQUAL(inference.layers, 12);
    CU_ASSERT_TRUE(training.launch_count > 2 * training.forward);
    CU_ASSERT_STRING_EQUAL(training.name, "gpt2");
    CU_ASSERT_EQUAL(inference.tasks[inference.launches[0]].call.op, RT_OP_EMBEDDING);
    /* The head's product over the vocabulary is the last of the forward pass, and its gradient the first of
     * the backward pass. */
    const struct rt_task *last = &training.tasks[training.launches[training.forward - 1]];
    const struct rt_task *first = &training.tasks[training.launches[training.forward]];
    CU_ASSERT_EQUAL(last->call.op, RT_OP_LINEAR);
    CU_ASSERT_EQUAL(last->call.dim[2], 50257);
    CU_ASSERT_EQUAL(first->call.op, RT_OP_LINEAR);
    CU_ASSERT_EQUAL(first->call.dim[3], 50257);
    rt_model_tasks_release(&inference);
    rt_model_tasks_release(&training);
    struct rt_model_step decode = {.model = "bert-base", .batch = 1, .sequence = 8, .decode = true};
    RT_ASSERT_FAILS(rt_model_tasks(&decode, &inference), RT_EUSAGE, "does not decode");
}

RT_TESTS(RT_TEST(test_holds_a_models_kernels), RT_TEST(test_a_prefix_shows_all_models), RT_TEST(test_dtypes),
         RT_TEST(test_what_is_left_out_is_counted), RT_TEST(test_launches))
