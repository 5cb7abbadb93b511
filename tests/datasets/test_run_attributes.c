/* Attributes of runs: what they say, and what is refused with one sentence. */
#include "datasets/run_attributes.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct rt_workload run_of(enum rt_mode mode, int64_t batch)
{
    struct rt_workload workload;
    rt_workload_init(&workload);
    workload.mode = (uint8_t)mode;
    workload.batch = batch;
    workload.sequence = 128;
    workload.dtype = RT_BF16;
    return workload;
}

/* Reads the run with one attribute. */
static int read_one(enum rt_mode mode, int64_t batch, const char *name, const char *value,
                    struct rt_run_attributes *out)
{
    struct rt_dataset dataset;
    rt_dataset_init(&dataset);
    struct rt_workload workload = run_of(mode, batch);
    workload.group = rt_dataset_add_group(&dataset, 1, &name, &value);
    int status = rt_run_attributes_read(&dataset, &workload, out);
    out->runtime = out->backend = NULL;
    rt_dataset_release(&dataset);
    return status;
}

static void test_read(void)
{
    static const char *const names[] = {"runtime", "backend", "lengths", "contexts",
                                        "output",  "fabric",  "quant",   "kv_cache"};
    static const char *const values[] = {"serving", "vllm", "7,2648",    "0,16",
                                         "128",     "mesh", "fp8_block", "fp8"};
    struct rt_run_attributes a;
    struct rt_dataset dataset;
    rt_dataset_init(&dataset);
    struct rt_workload workload = run_of(RT_GENERATION, 2);
    workload.group = rt_dataset_add_group(&dataset, RT_COUNT(names), names, values);
    RT_ASSERT_OK(rt_run_attributes_read(&dataset, &workload, &a));
    CU_ASSERT_STRING_EQUAL(a.runtime, "serving");
    CU_ASSERT_STRING_EQUAL(a.backend, "vllm");
    CU_ASSERT_TRUE(a.lengths[0] == 7 && a.lengths[1] == 2648);
    CU_ASSERT_TRUE(a.contexts[0] == 0 && a.contexts[1] == 16);
    CU_ASSERT_TRUE(a.output == 128 && a.fabric == RT_FABRIC_MESH && a.quant == RT_FP8_BLOCK &&
                   a.kv_cache == RT_FP8);
    rt_run_attributes_release(&a);
    workload.group = -1;
    workload.mode = RT_DECODE;
    RT_ASSERT_OK(rt_run_attributes_read(&dataset, &workload, &a));
    CU_ASSERT_TRUE(a.runtime == NULL && a.backend == NULL && a.lengths == NULL && a.contexts == NULL);
    CU_ASSERT_TRUE(a.output == -1 && a.prompt == -1 && a.fabric == RT_FABRIC_OWN && a.quant == -1 &&
                   a.kv_cache == -1);
    rt_run_attributes_release(&a);
    rt_dataset_release(&dataset);
}

static void test_refused(void)
{
    static const struct {
        enum rt_mode mode;
        int64_t batch;
        const char *name, *value, *words;
    } bad[] = {
        {RT_INFERENCE, 2, "lengths", "7", "fewer numbers than its batch of 2"},
        {RT_INFERENCE, 2, "lengths", "7,8,9", "more numbers than its batch of 2"},
        {RT_INFERENCE, 2, "lengths", "7,", "lengths has \"\" where a number of tokens, 1 or more"},
        {RT_INFERENCE, 2, "lengths", "7,-8", "lengths has \"-8\""},
        {RT_INFERENCE, 2, "lengths", "7,0", "lengths has \"0\""},
        {RT_INFERENCE, 2, "lengths", "7, 8", "lengths has \" 8\""},
        {RT_INFERENCE, 1, "lengths", "99999999999999999999", "lengths has \"99999999999999999999\""},
        {RT_INFERENCE, 2, "lengths", "2147483648,1", "adds up to 2147483649 tokens"},
        {RT_INFERENCE, -1, "lengths", "7", "its batch is missing"},
        {RT_INFERENCE, 1 << 20, "lengths", "7", "its batch is missing or above 65536"},
        {RT_DECODE, 1, "lengths", "7", "only inference and generation have"},
        {RT_TRAINING, 1, "lengths", "7", "only inference and generation have"},
        {RT_TRAINING, 1, "contexts", "7", "which training has not"},
        {RT_DECODE, 2, "contexts", "7,0", "contexts has \"0\""},
        {RT_DECODE, 1, "output", "7", "with an attribute output, but none called prompt"},
        {RT_DECODE, 1, "prompt", "7", "with an attribute prompt, but none called output"},
        {RT_INFERENCE, 1, "output", "7", "which only generation and decode have"},
        {RT_GENERATION, 1, "prompt", "7", "a generation without the attribute output"},
        {RT_GENERATION, 1, "output", "0", "output is \"0\""},
        {RT_GENERATION, 1, "output", "many", "output is \"many\""},
        {RT_GENERATION, 1, "backend", "vllm", "a generation without the attribute output"},
        {RT_DECODE, 1, "fabric", "string", "fabric is \"string\"; known are own, switch, mesh"},
        {RT_DECODE, 1, "quant", "fp9", "quant is \"fp9\", which is no element type"},
        {RT_DECODE, 1, "kv_cache", "x", "kv_cache is \"x\", which is no element type"},
        {RT_INFERENCE, 1, "image", "0", "image is \"0\"; it must be the side"},
        {RT_INFERENCE, 1, "image", "9999999999", "image is \"9999999999\""},
        {RT_INFERENCE, 1, "image", "224x", "image is \"224x\""},
        {RT_INFERENCE, 1, "image", "224x99999", "height and width, 720x1280"},
        {RT_INFERENCE, 1, "frames", "0", "frames is \"0\"; it must be a whole number from 1 to 1024"},
        {RT_INFERENCE, 1, "steps", "a", "steps is \"a\""},
        {RT_INFERENCE, 1, "layout", "nwhc", "layout is \"nwhc\"; it must be nchw or nhwc"},
        {RT_INFERENCE, 1, "autocast", "yes", "autocast is \"yes\"; it must be 0 or 1"},
        {RT_INFERENCE, 1, "input", "usb", "input is \"usb\"; known are none, pageable and pinned"},
        {RT_TRAINING, 1, "power_limit_w", "-100", "power_limit_w is \"-100\"; it must be watts of one GPU"},
        {RT_TRAINING, 1, "power_w", "0", "power_w is \"0\"; it must be watts of one GPU, more than 0"},
        {RT_TRAINING, 1, "power_w", "250 W", "power_w is \"250 W\""},
        {RT_INFERENCE, 1, "optimizer", "sgd", "an attribute optimizer, which only training has"},
    };
    for (size_t i = 0; i < RT_COUNT(bad); i++) {
        struct rt_run_attributes a;
        CU_ASSERT_EQUAL(read_one(bad[i].mode, bad[i].batch, bad[i].name, bad[i].value, &a), RT_EFORMAT);
        if (strstr(rt_error(), bad[i].words) == NULL)
            printf("# %s = %s: no \"%s\" in: %s\n", bad[i].name, bad[i].value, bad[i].words, rt_error());
        CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), bad[i].words));
    }
}

/* A million lengths are refused by the batch of the run, and read no further than that. */
static void test_hostile_list(void)
{
    enum { MANY = 1000000 };
    struct rt_run_attributes a;
    char *list = rt_malloc(2 * MANY);
    for (size_t i = 0; i < MANY; i++) {
        list[2 * i] = '7';
        list[2 * i + 1] = i + 1 < MANY ? ',' : '\0';
    }
    CU_ASSERT_EQUAL(read_one(RT_INFERENCE, 8, "lengths", list, &a), RT_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "more numbers than its batch of 8"));
    CU_ASSERT_EQUAL(read_one(RT_INFERENCE, MANY, "lengths", list, &a), RT_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "above 65536"));
    free(list);
}

static void test_read_images(void)
{
    struct rt_run_attributes a;
    RT_ASSERT_OK(read_one(RT_INFERENCE, 12, "image", "720x1280", &a));
    CU_ASSERT_TRUE(a.image == 720 && a.image_width == 1280 && a.frames == -1 && a.steps == -1);
    RT_ASSERT_OK(read_one(RT_INFERENCE, 12, "image", "224", &a));
    CU_ASSERT_TRUE(a.image == 224 && !a.channels_last && !a.autocast && a.input == RT_TRANSFER_NONE);
    CU_ASSERT_TRUE(a.optimizer == NULL && a.host == NULL);
    RT_ASSERT_OK(read_one(RT_INFERENCE, 12, "layout", "nhwc", &a));
    CU_ASSERT_TRUE(a.channels_last && a.image == -1);
    RT_ASSERT_OK(read_one(RT_TRAINING, 12, "autocast", "1", &a));
    CU_ASSERT_TRUE(a.autocast);
    RT_ASSERT_OK(read_one(RT_TRAINING, 12, "input", "pageable", &a));
    CU_ASSERT_EQUAL(a.input, RT_TRANSFER_PAGEABLE);
    RT_ASSERT_OK(read_one(RT_INFERENCE, 12, "optimizer", "none", &a));
}

static void test_read_power(void)
{
    struct rt_run_attributes a;
    RT_ASSERT_OK(read_one(RT_TRAINING, 12, "power_limit_w", "175", &a));
    CU_ASSERT_TRUE(a.power_limit_w == 175 && isnan(a.power_w));
    RT_ASSERT_OK(read_one(RT_TRAINING, 12, "power_w", "116.5", &a));
    CU_ASSERT_TRUE(a.power_w == 116.5 && isnan(a.power_limit_w));
}

RT_TESTS(RT_TEST(test_read_power), RT_TEST(test_read_images), RT_TEST(test_read), RT_TEST(test_refused),
         RT_TEST(test_hostile_list))
