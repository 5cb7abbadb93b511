/* The servers of a step: how many there are, what a file says of them, and what was assumed. */
#include "test.h"

#include "datasets/device.h"
#include "models/networks/source.h"
#include "models/networks/step.h"

#include <math.h>

static struct rt_model_source source;
static struct rt_device h100;

static int settle(const struct rt_step *step, struct rt_settled_step *out)
{
    RT_ASSERT_OK(rt_model_source_find("gpt2-large", &source));
    RT_ASSERT_OK(rt_device_named("H100-SXM", &h100));
    return rt_step_settle(step, &source, &h100, out);
}

static bool assumed(const struct rt_settled_step *settled, enum rt_step_field field)
{
    return settled->assumed[field];
}

static void test_servers_are_filled(void)
{
    struct rt_step step = RT_STEP_NOT_GIVEN;
    struct rt_settled_step settled;
    step.nodes = 16;
    step.parallel.tensor = 4;
    step.parallel.pipeline = 2;
    RT_ASSERT_OK(settle(&step, &settled));
    CU_ASSERT_EQUAL(settled.step.parallel.data, 16);
    CU_ASSERT_EQUAL(settled.step.batch, 16);
    CU_ASSERT_EQUAL(settled.step.parallel.cluster.node_gpus, 8);
    CU_ASSERT_EQUAL(settled.step.parallel.cluster.node_gbs, 50);
    CU_ASSERT_TRUE(assumed(&settled, RT_STEP_DP) && assumed(&settled, RT_STEP_NODE_GPUS) &&
                   assumed(&settled, RT_STEP_NODE_GBS));
    step.parallel.data = 16;
    step.parallel.cluster.node_gpus = 8;
    RT_ASSERT_OK(settle(&step, &settled));
    CU_ASSERT_FALSE(assumed(&settled, RT_STEP_DP) || assumed(&settled, RT_STEP_NODE_GPUS));
    step.parallel.data = 8;
    RT_ASSERT_FAILS(settle(&step, &settled), RT_EUSAGE, "or give dp 16");
    step.parallel.data = 1;
    step.parallel.context = 3;
    RT_ASSERT_FAILS(settle(&step, &settled), RT_EUSAGE, "cannot be divided by the 24");
}

/* Where all are in one server nothing is said of others. */
static void test_one_server(void)
{
    struct rt_step step = RT_STEP_NOT_GIVEN;
    struct rt_settled_step settled;
    step.parallel.data = 8;
    RT_ASSERT_OK(settle(&step, &settled));
    CU_ASSERT_EQUAL(settled.step.parallel.cluster.node_gpus, 0);
    CU_ASSERT_TRUE(isnan(settled.step.parallel.cluster.node_gbs));
    CU_ASSERT_FALSE(assumed(&settled, RT_STEP_NODE_GPUS) || assumed(&settled, RT_STEP_NODE_GBS));
}

static void test_a_file_and_what_is_given_beside_it(void)
{
    struct rt_step step = RT_STEP_NOT_GIVEN;
    struct rt_settled_step settled;
    step.cluster = rt_test_write("cluster.json", "{\"levels\": [{\"name\": \"mesh\", \"gpus\": 4}, "
                                                 "{\"name\": \"efa\", \"gbs_per_gpu\": 12}]}");
    step.nodes = 4;
    step.parallel.cluster.node_gbs = 6;
    RT_ASSERT_OK(settle(&step, &settled));
    CU_ASSERT_EQUAL(settled.step.parallel.data, 16);
    CU_ASSERT_EQUAL(settled.step.parallel.fabric, RT_FABRIC_MESH);
    CU_ASSERT_EQUAL(settled.step.parallel.cluster.network, RT_NETWORK_EFA);
    CU_ASSERT_EQUAL(settled.step.parallel.cluster.node_gbs, 6);
    CU_ASSERT_FALSE(assumed(&settled, RT_STEP_NODE_GPUS) || assumed(&settled, RT_STEP_NODE_GBS));
    step.cluster = "/nowhere/cluster.json";
    CU_ASSERT_EQUAL(settle(&step, &settled), RT_EIO);
}

RT_TESTS(RT_TEST(test_servers_are_filled), RT_TEST(test_one_server),
         RT_TEST(test_a_file_and_what_is_given_beside_it))
