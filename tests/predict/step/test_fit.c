/* What fits: the largest batch and changes, over models, modes and devices. */
#include "test.h"

#include "models/networks/graph.h"
#include "predict/step/fit.h"

#include <string.h>

struct asked {
    const char *model, *gpu;
    enum rt_step_kind step;
    int64_t sequence, data, microbatches;
    enum rt_dtype dtype;
    enum rt_optimizer_kind optimizer;
};

/* A case, with what it borrows. */
struct made {
    struct rt_model_source source;
    struct rt_device device;
    struct rt_fit_case fit;
};

static void make(const struct asked *asked, struct made *made)
{
    RT_ASSERT_OK(rt_model_source_find(asked->model, &made->source));
    RT_ASSERT_OK(rt_device_named(asked->gpu, &made->device));
    bool decode = asked->step == RT_STEP_DECODE;
    made->fit = (struct rt_fit_case){
        .source = &made->source,
        .step = {.step = asked->step,
                 .sequence = asked->sequence,
                 .context = asked->sequence,
                 .tensor_parallel = 1,
                 .dtype = asked->dtype,
                 .runtime = decode ? RT_RUNTIME_SERVING : RT_RUNTIME_EAGER_MATH,
                 .optimizer = asked->optimizer},
        .batch = asked->data * asked->microbatches,
        .options = {.parallel = {.data = asked->data, .pipeline = 1, .microbatches = asked->microbatches}},
        .device = &made->device};
}

static const struct asked cases[] = {
    {"gpt2", "V100-SXM2-16GB", RT_STEP_TRAINING, 512, 1, 1, RT_FP32, RT_OPTIMIZER_ADAMW},
    {"gpt2", "V100-SXM2-16GB", RT_STEP_TRAINING, 512, 2, 2, RT_FP16, RT_OPTIMIZER_SGD},
    {"bert-large", "A100-40:2g.10gb", RT_STEP_PREFILL, 384, 1, 1, RT_FP32, RT_OPTIMIZER_NONE},
    {"llama-3-8b", "H100", RT_STEP_DECODE, 4096, 1, 1, RT_BF16, RT_OPTIMIZER_NONE},
    {"resnet50", "A100-40:1g.5gb", RT_STEP_TRAINING, 0, 1, 1, RT_TF32, RT_OPTIMIZER_SGD},
};

/* The largest fits and the next does not; what is asked of it is what rt_fit_of says. */
static void test_largest(void)
{
    for (size_t c = 0; c < RT_COUNT(cases); c++) {
        struct made made;
        struct rt_fit_largest largest;
        struct rt_fit_memory fit;
        make(&cases[c], &made);
        RT_ASSERT_OK(rt_fit_largest(&made.fit, &largest));
        int64_t parts = rt_fit_parts(&made.fit);
        CU_ASSERT_TRUE(largest.batch >= parts && largest.batch % parts == 0);
        made.fit.batch = largest.batch;
        RT_ASSERT_OK(rt_fit_of(&made.fit, &fit));
        CU_ASSERT_TRUE(fit.fits && largest.at.fits && fit.used_bytes == largest.at.used_bytes);
        made.fit.batch += parts;
        RT_ASSERT_OK(rt_fit_of(&made.fit, &fit));
        CU_ASSERT_TRUE(!fit.fits && !largest.next.fits && fit.used_bytes == largest.next.used_bytes);
        CU_ASSERT_STRING_EQUAL(largest.limit, made.fit.step.step == RT_STEP_DECODE ? "cache" : "activations");
    }
}

/* More of a batch takes no less, but for the allocator's blocks: what halving rests on. */
static void test_memory_grows_with_the_batch(void)
{
    for (size_t c = 0; c < RT_COUNT(cases); c++) {
        struct made made;
        double last = 0;
        make(&cases[c], &made);
        for (int64_t times = 1; times <= 40; times += times < 10 ? 1 : 7) {
            struct rt_fit_memory fit;
            struct rt_fit_case more = made.fit;
            more.batch = times * rt_fit_parts(&made.fit);
            RT_ASSERT_OK(rt_fit_of(&more, &fit));
            CU_ASSERT_TRUE(fit.used_bytes >= 0.98 * last);
            last = fit.used_bytes;
        }
    }
}

/* A slice of a GPU holds no larger batch than a larger slice, and that none than the whole. */
static void test_more_memory_holds_more(void)
{
    static const char *const slices[] = {"A100-40:1g.5gb", "A100-40:2g.10gb", "A100-40:3g.20gb", "A100-40"};
    int64_t last = 0;
    for (size_t s = 0; s < RT_COUNT(slices); s++) {
        struct asked asked = cases[0];
        struct made made;
        struct rt_fit_largest largest;
        asked.gpu = slices[s];
        make(&asked, &made);
        RT_ASSERT_OK(rt_fit_largest(&made.fit, &largest));
        CU_ASSERT_TRUE(largest.batch >= last);
        last = largest.batch;
    }
    CU_ASSERT_TRUE(last > 0);
}

static void test_nothing_fits(void)
{
    struct asked asked = {"llama-2-70b", "A100-40:1g.5gb", RT_STEP_PREFILL, 128, 1, 1,
                          RT_BF16,       RT_OPTIMIZER_NONE};
    struct made made;
    struct rt_fit_largest largest;
    make(&asked, &made);
    RT_ASSERT_OK(rt_fit_largest(&made.fit, &largest));
    CU_ASSERT_EQUAL(largest.batch, 0);
    CU_ASSERT_TRUE(!largest.next.fits && largest.next.used_bytes > largest.next.device_bytes);
}

static const struct rt_fit_change *find(const struct rt_fit_change *changes, size_t count, const char *option)
{
    for (size_t c = 0; c < count; c++)
        if (strncmp(changes[c].words, option, strlen(option)) == 0)
            return &changes[c];
    return NULL;
}

/* Every change takes less; the ones that search for what fits fit. */
static void test_changes(void)
{
    struct asked asked = {"llama-2-13b", "A100-40", RT_STEP_DECODE, 2048, 1, 1, RT_FP16, RT_OPTIMIZER_NONE};
    struct made made;
    struct rt_fit_memory now;
    struct rt_fit_change changes[RT_FIT_CHANGES];
    make(&asked, &made);
    made.fit.batch = 64;
    RT_ASSERT_OK(rt_fit_of(&made.fit, &now));
    CU_ASSERT_FALSE(now.fits);
    size_t count = rt_fit_changes(&made.fit, changes);
    for (size_t c = 0; c < count; c++)
        CU_ASSERT_TRUE(changes[c].fit.used_bytes < now.used_bytes);
    static const char *const fitting[] = {"batch ", "dp ", "tp "};
    for (size_t f = 0; f < RT_COUNT(fitting); f++) {
        const struct rt_fit_change *change = find(changes, count, fitting[f]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(change);
        CU_ASSERT_TRUE(change->fit.fits);
    }
    CU_ASSERT_PTR_NOT_NULL(find(changes, count, "quant int4"));
    CU_ASSERT_PTR_NOT_NULL(find(changes, count, "kv_cache fp8"));
    CU_ASSERT_PTR_NULL(find(changes, count, "dtype"));
    asked = cases[0];
    make(&asked, &made);
    made.fit.batch = 4096;
    count = rt_fit_changes(&made.fit, changes);
    CU_ASSERT_PTR_NOT_NULL(find(changes, count, "batch "));
    CU_ASSERT_PTR_NOT_NULL(find(changes, count, "dtype fp16")); /* V100 has no bf16 */
    CU_ASSERT_PTR_NOT_NULL(find(changes, count, "recompute layers"));
    CU_ASSERT_PTR_NULL(find(changes, count, "quant"));
    CU_ASSERT_PTR_NULL(find(changes, count, "shard")); /* on one GPU */
}

/* On several GPUs the least stage of sharding that fits: what a step takes falls from one to the next. */
static void test_sharding(void)
{
    struct asked asked = {"gpt2-xl", "A100-40", RT_STEP_TRAINING, 256, 8, 1, RT_FP32, RT_OPTIMIZER_ADAMW};
    struct made made;
    struct rt_fit_memory now;
    struct rt_fit_change changes[RT_FIT_CHANGES];
    make(&asked, &made);
    for (made.fit.batch = 8; rt_fit_of(&made.fit, &now) == RT_OK && now.fits;)
        made.fit.batch += 8;
    size_t count = rt_fit_changes(&made.fit, changes);
    const struct rt_fit_change *change = find(changes, count, "shard optimizer");
    CU_ASSERT_PTR_NOT_NULL_FATAL(change);
    CU_ASSERT_TRUE(change->fit.fits && change->fit.used_bytes < now.used_bytes);
    CU_ASSERT_PTR_NOT_NULL(find(changes, count, "recompute layers"));
    made.fit.options.parallel.shard = RT_SHARD_PARAMETERS;
    count = rt_fit_changes(&made.fit, changes);
    CU_ASSERT_PTR_NULL(find(changes, count, "shard"));
}

RT_TESTS(RT_TEST(test_largest), RT_TEST(test_memory_grows_with_the_batch),
         RT_TEST(test_more_memory_holds_more), RT_TEST(test_nothing_fits), RT_TEST(test_changes),
         RT_TEST(test_sharding))
