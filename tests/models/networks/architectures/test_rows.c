/* The rows of architectures: complete, and without a name that two of them have. */
#include "find.h"
#include "models/networks/architectures/types.h"

static bool has_key(const struct rt_architecture *row, size_t offset)
{
    for (const struct rt_config_key *key = row->keys; key->key != NULL; key++)
        if (key->offset == offset)
            return true;
    return false;
}

static void test_rows_are_whole(void)
{
    const struct rt_architecture *row;
    RT_ASSERT_OK(rt_architectures_check());
    for (size_t i = 0; (row = rt_architecture_at(i)) != NULL; i++) {
        CU_ASSERT_PTR_NOT_NULL(row->what);
        CU_ASSERT_PTR_NOT_NULL(row->build);
        CU_ASSERT_PTR_NOT_NULL(row->attention);
        CU_ASSERT_PTR_NOT_NULL(row->feed_forward);
        CU_ASSERT(row->losses == NULL || row->sparse != NULL);
        CU_ASSERT_EQUAL(row->cross != NULL, has_key(row, offsetof(struct rt_model, decoder.layers)));
        CU_ASSERT_TRUE(has_key(row, offsetof(struct rt_model, hidden)));
        CU_ASSERT_TRUE(has_key(row, offsetof(struct rt_model, layers)));
        CU_ASSERT_TRUE(has_key(row, offsetof(struct rt_model, heads)));
        CU_ASSERT_TRUE(has_key(row, offsetof(struct rt_model, ffn_width)));
        CU_ASSERT_TRUE(row->input != NULL || has_key(row, offsetof(struct rt_model, vocab)));
        CU_ASSERT_PTR_EQUAL(rt_architecture_of_type(row->model_type), row);
    }
}

/* A layer norm is a node with the row's name for it. */
static void test_layer_norms_have_names(void)
{
    const struct rt_architecture *row;
    for (size_t i = 0; (row = rt_architecture_at(i)) != NULL; i++) {
        if (row->norm == RT_NORM_RMS || row->norm == RT_NORM_RMS_ONE)
            continue;
        CU_ASSERT_PTR_NOT_NULL(row->norms.attention);
        CU_ASSERT_PTR_NOT_NULL(row->norms.feed_forward);
        CU_ASSERT_TRUE(row->norms.last != NULL || row->head != NULL ||
                       !has_key(row, offsetof(struct rt_model, norm_first)));
        CU_ASSERT_TRUE(row->norms.cross != NULL || row->cross == NULL);
    }
}

/* A builder that uses a name its row lacks would add a node without one. */
static void test_nodes_have_names(void)
{
    for (size_t i = 0; i < rt_zoo_size(); i++) {
        struct rt_model model;
        struct rt_graph graph;
        struct rt_graph_options options = {
            .step = RT_STEP_TRAINING, .batch = 2, .sequence = 16, .tensor_parallel = 1};
        RT_ASSERT_OK(rt_zoo_model(i, &model));
        RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
        for (size_t n = 0; n < graph.node_count; n++)
            CU_ASSERT_PTR_NOT_NULL(graph.nodes[n].name);
        rt_graph_release(&graph);
    }
}

RT_TESTS(RT_TEST(test_rows_are_whole), RT_TEST(test_layer_norms_have_names), RT_TEST(test_nodes_have_names))
