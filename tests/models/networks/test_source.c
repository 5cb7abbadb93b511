/* What --model may name: the importer that recognises it, and the graph that follows. */
#include "find.h"
#include "models/networks/source.h"

#define TRACED RT_SOURCE_DIR "/tests/data/graphs/gpt_mini-train-16-4-dp2.csv"

static void test_names_are_models(void)
{
    struct rt_model_source source;
    struct rt_graph graph;
    struct rt_graph_options options = {.batch = 2, .sequence = 64, .tensor_parallel = 1};
    RT_ASSERT_OK(rt_model_source_find("gpt2", &source));
    CU_ASSERT_FALSE(rt_model_source_traced(&source));
    CU_ASSERT_EQUAL(source.model.layers, 12);
    CU_ASSERT_EQUAL(rt_model_default_sequence(&source.model), 1024);
    RT_ASSERT_OK(rt_model_source_graph(&source, &options, 0, &graph));
    CU_ASSERT_EQUAL(graph.options.batch, 2);
    rt_graph_release(&graph);
    RT_ASSERT_FAILS(rt_model_source_graph(&source, &options, 5, &graph), RT_EUSAGE,
                    "layers is for operator graphs");
    RT_ASSERT_FAILS(rt_model_source_find("gpt4", &source), RT_ENOTFOUND, "unknown model");
}

/* Of what was traced, options set the element type and fuse. */
static void test_traced_graphs(void)
{
    struct rt_model_source source;
    struct rt_graph plain, fused;
    struct rt_graph_options options = {.batch = 77, .dtype = RT_BF16};
    RT_ASSERT_OK(rt_model_source_find(TRACED, &source));
    CU_ASSERT_TRUE(rt_model_source_traced(&source));
    RT_ASSERT_OK(rt_model_source_graph(&source, &options, 3, &plain));
    options.fusion = true;
    RT_ASSERT_OK(rt_model_source_graph(&source, &options, 3, &fused));
    CU_ASSERT_EQUAL(plain.options.batch, 2);
    CU_ASSERT_EQUAL(plain.options.dtype, RT_BF16);
    CU_ASSERT_EQUAL(plain.blocks[1].repeat, 3);
    CU_ASSERT_FALSE(plain.options.fusion);
    CU_ASSERT_TRUE(fused.options.fusion);
    CU_ASSERT_TRUE(fused.node_count < plain.node_count);
    rt_graph_release(&plain);
    rt_graph_release(&fused);
}

RT_TESTS(RT_TEST(test_names_are_models), RT_TEST(test_traced_graphs))
