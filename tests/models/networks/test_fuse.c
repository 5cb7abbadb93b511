/* Fusion: which nodes join, the traffic of chains, invariants of the fused graph. */
#include "find.h"
#include "models/networks/build.h"
#include "models/networks/memory.h"

#define ROWS 64
#define COLS 32
#define ALL  ((double)ROWS * COLS)
#define W    4.0 /* bytes of an fp32 */

static struct rt_graph empty_graph(enum rt_step_kind step)
{
    struct rt_graph graph;
    struct rt_graph_options options = {
        .step = step, .batch = 1, .sequence = 1, .tensor_parallel = 1, .dtype = RT_FP32};
    rt_graph_init(&graph, &options);
    rt_graph_add_block(&graph, "one", RT_BLOCK_FIRST, 1);
    return graph;
}

/* The only kernel that a node launches in a phase. */
static struct rt_graph_kernel only_launch(const struct rt_graph *graph, const struct rt_node *node,
                                          enum rt_phase phase)
{
    struct rt_graph_kernel launches[64] = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(node);
    CU_ASSERT_TRUE_FATAL(node->kernel_count <= 64);
    CU_ASSERT_EQUAL(rt_node_launches(graph, node, phase, launches), 1);
    return launches[0];
}

static uint32_t relu(struct rt_graph *graph, const char *name, uint32_t x)
{
    return rt_build_unary(graph, name, RT_OP_RELU, x, ROWS, COLS);
}

static void test_chain_becomes_one_kernel(void)
{
    struct rt_graph graph = empty_graph(RT_STEP_PREFILL);
    uint32_t x = rt_build_linear(&graph, "x", RT_NO_INPUT, ROWS, 8, COLS, true);
    uint32_t y = rt_build_linear(&graph, "y", RT_NO_INPUT, ROWS, 8, COLS, true);
    uint32_t z = relu(&graph, "a", x);
    z = rt_build_binary(&graph, "b", RT_OP_ADD, z, y, ROWS, COLS, ROWS * COLS);
    z = rt_build_layernorm(&graph, "c", z, ROWS, COLS);
    rt_build_linear(&graph, "out", z, ROWS, COLS, 8, true);
    rt_graph_fuse(&graph);
    CU_ASSERT_EQUAL(graph.node_count, 4);
    const struct rt_node *chain = find_node(&graph, "a+b+c");
    struct rt_graph_kernel kernel = only_launch(&graph, chain, RT_FORWARD);
    CU_ASSERT_EQUAL(kernel.call.op, RT_OP_LAYERNORM);
    RT_ASSERT_NEAR(kernel.bytes, W * 3 * ALL, 1e-12); /* reads x and y, writes one */
    RT_ASSERT_NEAR(kernel.flops, (1 + 1 + 6) * ALL, 1e-12);
    CU_ASSERT_EQUAL(chain->input_count, 2);
    CU_ASSERT_EQUAL(chain->parameters, 2 * COLS);
    const struct rt_node *out = find_node(&graph, "out");
    CU_ASSERT_PTR_EQUAL(&graph.nodes[graph.inputs[out->input]], chain);
    rt_graph_release(&graph);
}

static void test_two_readers_keep_a_node(void)
{
    struct rt_graph graph = empty_graph(RT_STEP_PREFILL);
    uint32_t a = relu(&graph, "a", RT_NO_INPUT);
    uint32_t b = relu(&graph, "b", a), c = relu(&graph, "c", a);
    rt_build_binary(&graph, "d", RT_OP_MUL, b, c, ROWS, COLS, ROWS * COLS);
    rt_graph_fuse(&graph);
    CU_ASSERT_EQUAL(graph.node_count, 2);
    CU_ASSERT_PTR_NOT_NULL(find_node(&graph, "a"));
    /* b, c and d become one node, which reads a once, although b and c both read it. */
    struct rt_graph_kernel kernel = only_launch(&graph, find_node(&graph, "b+c+d"), RT_FORWARD);
    RT_ASSERT_NEAR(kernel.bytes, W * 2 * ALL, 1e-12);
    rt_graph_release(&graph);
}

/* Models of images, compiled for inference: a pointwise value of one input is no kernel, each of its readers
 * computes it; one of two inputs, one that a product reads, too, and any in training stays. */
static void test_computed_again(void)
{
    static const struct {
        int64_t image;
        enum rt_step_kind step;
        bool two_inputs, product, again;
    } cases[] = {{224, RT_STEP_PREFILL, false, false, true},
                 {0, RT_STEP_PREFILL, false, false, false},
                 {224, RT_STEP_TRAINING, false, false, false},
                 {224, RT_STEP_PREFILL, true, false, false},
                 {224, RT_STEP_PREFILL, false, true, false}};
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        struct rt_graph graph = empty_graph(cases[i].step);
        graph.options.image = cases[i].image;
        uint32_t x = rt_build_linear(&graph, "x", RT_NO_INPUT, ROWS, 8, COLS, true);
        uint32_t y = rt_build_linear(&graph, "y", RT_NO_INPUT, ROWS, 8, COLS, true);
        uint32_t a = cases[i].two_inputs ? rt_build_binary(&graph, "a", RT_OP_ADD, x, y, ROWS, COLS, ALL)
                                         : relu(&graph, "a", x);
        rt_build_linear(&graph, "p", relu(&graph, "b", a), ROWS, COLS, 8, true);
        rt_build_linear(&graph, "q", cases[i].product ? a : relu(&graph, "c", a), ROWS, COLS, 8, true);
        relu(&graph, "d", a);
        size_t nodes = graph.node_count;
        rt_graph_fuse(&graph);
        CU_ASSERT_EQUAL(graph.node_count, nodes - (cases[i].again ? 1 : 0));
        const struct rt_node *b = find_node(&graph, "b");
        RT_ASSERT_NEAR(only_launch(&graph, b, RT_FORWARD).bytes, W * 2 * ALL, 1e-12);
        CU_ASSERT_EQUAL(strcmp(graph.nodes[graph.inputs[b->input]].name, cases[i].again ? "x" : "a"), 0);
        rt_graph_release(&graph);
    }
}

static void test_read_twice_by_one(void)
{
    struct rt_graph graph = empty_graph(RT_STEP_PREFILL);
    uint32_t a = relu(&graph, "a", RT_NO_INPUT);
    rt_build_binary(&graph, "square", RT_OP_MUL, a, a, ROWS, COLS, ROWS * COLS);
    rt_graph_fuse(&graph);
    CU_ASSERT_EQUAL(graph.node_count, 1);
    /* The model's input is no node, but relu reads it: it counts as traffic of the chain. */
    RT_ASSERT_NEAR(only_launch(&graph, &graph.nodes[0], RT_FORWARD).bytes, W * 2 * ALL, 1e-12);
    rt_graph_release(&graph);
}

static void test_what_does_not_join(void)
{
    struct rt_graph graph = empty_graph(RT_STEP_PREFILL);
    uint32_t x = relu(&graph, "a", RT_NO_INPUT);
    x = rt_build_move(&graph, "transpose", RT_OP_COPY, x, ROWS, COLS, 0);
    x = relu(&graph, "b", x);
    rt_graph_add_block(&graph, "two", RT_BLOCK_LAYER, 3);
    x = relu(&graph, "c", x);
    x = rt_build_linear(&graph, "product", x, ROWS, COLS, COLS, false);
    x = relu(&graph, "d", x);
    rt_graph_add_block(&graph, "three", RT_BLOCK_LAST, 1);
    relu(&graph, "e", x);
    rt_graph_fuse(&graph);
    CU_ASSERT_EQUAL(graph.node_count, 7);
    CU_ASSERT_EQUAL(graph.blocks[1].node, 3);
    CU_ASSERT_EQUAL(graph.blocks[1].node_count, 3);
    CU_ASSERT_EQUAL(graph.blocks[2].node_count, 1);
    rt_graph_release(&graph);
}

/* The chain takes the place of its last node: y is between its members. */
static void test_order_stays_topological(void)
{
    struct rt_graph graph = empty_graph(RT_STEP_PREFILL);
    uint32_t a = relu(&graph, "a", RT_NO_INPUT);
    uint32_t y = rt_build_linear(&graph, "y", RT_NO_INPUT, ROWS, 8, COLS, true);
    rt_build_binary(&graph, "sum", RT_OP_ADD, a, y, ROWS, COLS, ROWS * COLS);
    rt_graph_fuse(&graph);
    CU_ASSERT_EQUAL(graph.node_count, 2);
    CU_ASSERT_STRING_EQUAL(graph.nodes[0].name, "y");
    CU_ASSERT_STRING_EQUAL(graph.nodes[1].name, "a+sum");
    CU_ASSERT_EQUAL(graph.inputs[graph.nodes[1].input], 0);
    rt_graph_release(&graph);
}

static void test_gelu(void)
{
    struct rt_graph graph = empty_graph(RT_STEP_TRAINING);
    uint32_t x = rt_build_linear(&graph, "up", RT_NO_INPUT, ROWS, 8, COLS, true);
    x = rt_build_activation(&graph, RT_ACT_GELU_TANH, x, ROWS, COLS);
    rt_build_linear(&graph, "down", x, ROWS, COLS, 8, true);
    rt_graph_fuse(&graph);
    CU_ASSERT_EQUAL_FATAL(graph.node_count, 3);
    const struct rt_node *gelu = &graph.nodes[1];
    struct rt_graph_kernel forward = only_launch(&graph, gelu, RT_FORWARD);
    RT_ASSERT_NEAR(forward.bytes, W * 2 * ALL, 1e-12);
    RT_ASSERT_NEAR(forward.flops, 8 * ALL, 1e-12);
    CU_ASSERT_EQUAL(forward.call.op, RT_OP_MUL);
    /* The gradient reads dy and x and writes dx. Kept are x and the result (for down), nothing inside. */
    RT_ASSERT_NEAR(only_launch(&graph, gelu, RT_BACKWARD).bytes, W * 3 * ALL, 1e-12);
    RT_ASSERT_NEAR(graph.nodes[0].saved, ALL, 1e-12);
    RT_ASSERT_NEAR(gelu->saved, ALL, 1e-12);
    rt_graph_release(&graph);
}

/* Softmax and mask are kept: computing softmax again takes a pass over its rows. */
static void test_kept_inside_a_chain(void)
{
    struct rt_graph graph = empty_graph(RT_STEP_TRAINING);
    uint32_t x = rt_build_linear(&graph, "x", RT_NO_INPUT, ROWS, 8, COLS, true);
    x = rt_build_softmax(&graph, "softmax", x, ROWS, COLS);
    x = rt_build_dropout(&graph, "dropout", x, ROWS, COLS);
    rt_build_move(&graph, "copy", RT_OP_COPY, x, ROWS, COLS, 0);
    rt_graph_fuse(&graph);
    const struct rt_node *chain = find_node(&graph, "softmax+dropout");
    RT_ASSERT_NEAR(only_launch(&graph, chain, RT_FORWARD).bytes, (3 * W + 1) * ALL, 1e-12);
    RT_ASSERT_NEAR(chain->saved, ALL + ALL / W, 1e-12);
    rt_graph_release(&graph);
}

/* The gradient of GELU needs the sum. Keeping the sum takes less memory than keeping its two terms. */
static void test_keeps_what_is_less(void)
{
    struct rt_graph graph = empty_graph(RT_STEP_TRAINING);
    uint32_t x = rt_build_linear(&graph, "x", RT_NO_INPUT, ROWS, 8, COLS, true);
    uint32_t y = rt_build_linear(&graph, "y", RT_NO_INPUT, ROWS, 8, COLS, true);
    x = rt_build_binary(&graph, "sum", RT_OP_ADD, x, y, ROWS, COLS, ROWS * COLS);
    rt_build_unary(&graph, "gelu", RT_OP_GELU, x, ROWS, COLS);
    rt_graph_fuse(&graph);
    const struct rt_node *chain = find_node(&graph, "sum+gelu");
    RT_ASSERT_NEAR(only_launch(&graph, chain, RT_FORWARD).bytes, W * 4 * ALL, 1e-12); /* and writes it */
    RT_ASSERT_NEAR(chain->saved, ALL, 1e-12);
    CU_ASSERT_EQUAL(graph.nodes[0].saved, 0);
    rt_graph_release(&graph);
}

/* --- the zoo --- */

/* Invariants of every graph: blocks, kernels and inputs are contiguous; inputs of a node precede it. */
static void check_structure(const struct rt_graph *graph)
{
    size_t node = 0, kernel = 0, input = 0;
    for (size_t b = 0; b < graph->block_count; b++) {
        CU_ASSERT_EQUAL(graph->blocks[b].node, node);
        for (size_t n = node; n < node + graph->blocks[b].node_count; n++)
            CU_ASSERT_EQUAL(graph->nodes[n].block, b);
        node += graph->blocks[b].node_count;
    }
    CU_ASSERT_EQUAL(node, graph->node_count);
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_node *at = &graph->nodes[n];
        CU_ASSERT_EQUAL(at->kernel, kernel);
        CU_ASSERT_EQUAL(at->input, input);
        for (size_t k = kernel + 1; k < kernel + at->kernel_count; k++)
            CU_ASSERT_TRUE(graph->kernels[k].call.phase >= graph->kernels[k - 1].call.phase);
        for (size_t i = input; i < input + at->input_count; i++)
            CU_ASSERT_TRUE(graph->inputs[i] < n);
        kernel += at->kernel_count;
        input += at->input_count;
    }
    CU_ASSERT_EQUAL(kernel, graph->kernel_count);
    CU_ASSERT_EQUAL(input, graph->input_count);
}

static void compare(const struct rt_graph *plain, const struct rt_graph *fused)
{
    struct rt_graph_totals before, after;
    struct rt_graph_memory memory_before, memory_after;
    rt_graph_totals(plain, &before);
    rt_graph_totals(fused, &after);
    rt_graph_memory(plain, NULL, &memory_before);
    rt_graph_memory(fused, NULL, &memory_after);
    for (int p = 0; p < RT_PHASE_COUNT; p++) {
        RT_ASSERT_NEAR(after.flops[p], before.flops[p], 1e-9);
        CU_ASSERT_TRUE(after.bytes[p] <= before.bytes[p] * (1 + 1e-12));
        CU_ASSERT_TRUE(after.kernels[p] <= before.kernels[p]);
    }
    CU_ASSERT_TRUE(after.bytes[RT_FORWARD] < before.bytes[RT_FORWARD]);
    CU_ASSERT_TRUE(after.kernels[RT_FORWARD] < before.kernels[RT_FORWARD]);
    RT_ASSERT_NEAR(after.parameters, before.parameters, 1e-12);
    CU_ASSERT_TRUE(memory_after.total <= memory_before.total * (1 + 1e-12));
    CU_ASSERT_TRUE(memory_after.activations > 0);
}

static void test_zoo(void)
{
    for (size_t i = 0; i < rt_zoo_size(); i++)
        for (int step = 0; step < RT_STEP_COUNT; step++) {
            struct rt_model model;
            struct rt_graph plain, fused;
            struct rt_graph_options options = {.step = (enum rt_step_kind)step,
                                               .batch = 2,
                                               .sequence = 128,
                                               .context = 128,
                                               .tensor_parallel = 1,
                                               .dtype = step == RT_STEP_DECODE ? RT_BF16 : RT_FP32,
                                               .optimizer = step == RT_STEP_TRAINING ? RT_OPTIMIZER_ADAMW
                                                                                     : RT_OPTIMIZER_NONE};
            RT_ASSERT_OK(rt_zoo_model(i, &model));
            if (rt_graph_build(&model, &options, &plain) != RT_OK) {
                CU_ASSERT_EQUAL(step, RT_STEP_DECODE); /* BERT does not decode */
                continue;
            }
            options.fusion = true;
            RT_ASSERT_OK(rt_graph_build(&model, &options, &fused));
            check_structure(&plain);
            check_structure(&fused);
            compare(&plain, &fused);
            rt_graph_release(&plain);
            rt_graph_release(&fused);
        }
}

static void test_nothing_to_fuse(void)
{
    struct rt_graph graph = empty_graph(RT_STEP_PREFILL);
    rt_graph_fuse(&graph);
    CU_ASSERT_EQUAL(graph.node_count, 0);
    rt_build_linear(&graph, "x", RT_NO_INPUT, ROWS, 8, COLS, true); /* nodes can be added to a fused graph */
    CU_ASSERT_EQUAL(graph.node_count, 1);
    rt_graph_release(&graph);
}

RT_TESTS(RT_TEST(test_chain_becomes_one_kernel), RT_TEST(test_two_readers_keep_a_node),
         RT_TEST(test_computed_again), RT_TEST(test_read_twice_by_one), RT_TEST(test_what_does_not_join),
         RT_TEST(test_order_stays_topological), RT_TEST(test_gelu), RT_TEST(test_kept_inside_a_chain),
         RT_TEST(test_keeps_what_is_less), RT_TEST(test_zoo), RT_TEST(test_nothing_to_fuse))
