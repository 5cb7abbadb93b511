/* Files of clusters, and what is usual of servers. */
#include "datasets/cluster.h"
#include "datasets/device.h"
#include "base/status.h"
#include "test.h"

#include <math.h>

static void test_a_file(void)
{
    struct rt_cluster_file file;
    RT_ASSERT_OK(rt_cluster_read(
        rt_test_write("cluster.json", "{\"name\": \"mine\", \"levels\": ["
                                      "{\"name\": \"nvlink\", \"gpus\": 4, \"gbs_per_gpu\": 200}, "
                                      "{\"name\": \"roce\", \"gbs_per_gpu\": 25, \"oversubscription\": 2}]}"),
        &file));
    CU_ASSERT_EQUAL(file.fabric, RT_FABRIC_SWITCH);
    CU_ASSERT_EQUAL(file.link_gbs, 200);
    CU_ASSERT_EQUAL(file.cluster.node_gpus, 4);
    CU_ASSERT_EQUAL(file.cluster.network, RT_NETWORK_ROCE);
    CU_ASSERT_EQUAL(file.cluster.node_gbs, 25);
    CU_ASSERT_EQUAL(file.cluster.oversubscription, 2);
    RT_ASSERT_OK(rt_cluster_read(rt_test_write("one.json", "{\"levels\": [{\"gpus\": 72}]}"), &file));
    CU_ASSERT_EQUAL(file.cluster.node_gpus, 72);
    CU_ASSERT_TRUE(isnan(file.link_gbs) && isnan(file.cluster.node_gbs));
}

static void test_what_is_wrong_is_said(void)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"{", "not JSON"},
        {"[]", "list of one or two"},
        {"{\"levels\": []}", "list of one or two"},
        {"{\"levels\": [{\"gpus\": 8}, {}, {}]}", "list of one or two"},
        {"{\"levels\": [{\"name\": \"switch\"}]}", "\"gpus\" is missing"},
        {"{\"levels\": [{\"gpus\": 8.5}]}", "whole number"},
        {"{\"levels\": [{\"gpus\": 0}]}", "1..65536"},
        {"{\"levels\": [{\"gpus\": 8, \"name\": \"infiniband\"}]}", "must be one of own, switch"},
        {"{\"levels\": [{\"gpus\": 8}, {\"name\": \"nvlink\"}]}", "must be one of own, infiniband"},
        {"{\"levels\": [{\"gpus\": 8}, {\"gpus\": 2}]}", "level 2, between servers"},
        {"{\"levels\": [{\"gpus\": 8}, {\"gbs_per_gpu\": \"fast\"}]}", "a number in 0.01"},
        {"{\"levels\": [{\"gpus\": 8}], \"level\": 1}", "\"level\" is nothing"},
    };
    struct rt_cluster_file file = {.link_gbs = 7};
    for (size_t i = 0; i < RT_COUNT(bad); i++)
        RT_ASSERT_FAILS(rt_cluster_read(rt_test_write("bad.json", bad[i].text), &file), RT_EFORMAT,
                        bad[i].words);
    CU_ASSERT_EQUAL(file.link_gbs, 7);
    CU_ASSERT_EQUAL(rt_cluster_read("/nowhere/cluster.json", &file), RT_EIO);
}

static void test_what_is_usual(void)
{
    static const struct {
        const char *device;
        int64_t gpus;
        double gbs;
    } rows[] = {{"H100-SXM", 8, 50}, {"A100-SXM4-80GB", 8, 25}, {"GB200", 72, 50}, {"GB300", 72, 100}};
    struct rt_cluster none = RT_CLUSTER_NONE, given = {3, 7, RT_NETWORK_TCP, 2};
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_device device;
        RT_ASSERT_OK(rt_device_named(rows[i].device, &device));
        struct rt_cluster usual = rt_cluster_settled(&none, &device),
                          same = rt_cluster_settled(&given, &device);
        CU_ASSERT_EQUAL(usual.node_gpus, rows[i].gpus);
        CU_ASSERT_EQUAL(usual.node_gbs, rows[i].gbs);
        CU_ASSERT_EQUAL(usual.network, RT_NETWORK_INFINIBAND);
        CU_ASSERT_EQUAL(usual.oversubscription, 1);
        CU_ASSERT_EQUAL(same.node_gpus, 3);
        CU_ASSERT_EQUAL(same.node_gbs, 7);
    }
    CU_ASSERT_EQUAL(rt_cluster_settled(&none, NULL).node_gpus, 8);
}

RT_TESTS(RT_TEST(test_a_file), RT_TEST(test_what_is_wrong_is_said), RT_TEST(test_what_is_usual))
