/* Who is where: groups of GPUs and the servers that they lie in. */
#include "test.h"

#include "models/networks/parallelism.h"

static void near(const struct rt_parallelism *parallel, enum rt_gpu_group group, int64_t gpus,
                 int64_t per_node)
{
    struct rt_group_places places = rt_parallelism_group(parallel, group);
    CU_ASSERT_EQUAL(places.gpus, gpus);
    CU_ASSERT_EQUAL(rt_group_per_node(places.gpus, places.stride, 8), per_node);
}

/* 1,024 GPUs in servers of 8: tensor in a server, context two of a server, data and pipeline across. */
static void test_groups_of_megatron(void)
{
    struct rt_parallelism parallel = {
        .tensor = 4, .context = 4, .data = 8, .pipeline = 8, .expert = 16, .attention = 1, .shard_gpus = 4};
    CU_ASSERT_EQUAL(rt_parallelism_gpus(&parallel), 1024);
    near(&parallel, RT_GROUP_TENSOR, 4, 4);
    near(&parallel, RT_GROUP_CONTEXT, 4, 2);
    near(&parallel, RT_GROUP_EXPERT, 16, 8);
    near(&parallel, RT_GROUP_DATA, 32, 2);
    near(&parallel, RT_GROUP_SHARD, 4, 2);
    near(&parallel, RT_GROUP_COPIES, 8, 1);
    near(&parallel, RT_GROUP_EXPERT_DATA, 8, 1);
    near(&parallel, RT_GROUP_PIPELINE, 8, 1);
}

static void test_what_nobody_says_is_one(void)
{
    struct rt_parallelism parallel = {.data = 0};
    for (int group = 0; group < RT_GROUPS; group++)
        near(&parallel, (enum rt_gpu_group)group, 1, 1);
}

/* Images on 16 GPUs by tokens; a tensor group of 6 is laid in one server, one of 16 in two. */
static void test_uneven_groups(void)
{
    struct rt_parallelism parallel = {.ulysses = 4, .ring = 4, .tensor = 6};
    near(&parallel, RT_GROUP_TENSOR, 6, 6);
    near(&parallel, RT_GROUP_CONTEXT, 16, 1);
    parallel.tensor = 16;
    near(&parallel, RT_GROUP_TENSOR, 16, 8);
    parallel.tensor = 1;
    near(&parallel, RT_GROUP_CONTEXT, 16, 8);
}

RT_TESTS(RT_TEST(test_groups_of_megatron), RT_TEST(test_what_nobody_says_is_one), RT_TEST(test_uneven_groups))
