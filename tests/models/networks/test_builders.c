/* Builders of parts and of norms by themselves: which kernels they add, with how many bytes, and what runs
 * backward. Sizes are computed by hand; all is fp32. */
#include "find.h"
#include "models/networks/build.h"

enum { ROWS = 6, WHOLE = 20, COLS = 8, WIDTH = 4, SECTOR = 32 };

/* A graph whose node 0 is x(ROWS, cols), with a gradient. */
static struct rt_graph begin(enum rt_step_kind step, int64_t cols)
{
    struct rt_graph graph;
    struct rt_graph_options options = {.step = step, .batch = 1, .sequence = ROWS, .tensor_parallel = 1};
    rt_graph_init(&graph, &options);
    rt_graph_add_block(&graph, "block", RT_BLOCK_FIRST, 1);
    rt_build_linear(&graph, "x", RT_NO_INPUT, ROWS, cols, cols, false);
    return graph;
}

/* Kernels of a phase of the nodes from the second on. */
static size_t count(const struct rt_graph *graph, enum rt_phase phase, enum rt_op_id op)
{
    size_t found = 0;
    for (size_t n = 1; n < graph->node_count; n++)
        for (uint32_t k = 0; k < graph->nodes[n].kernel_count; k++) {
            const struct rt_call *call = &graph->kernels[graph->nodes[n].kernel + k].call;
            found += call->phase == phase && call->op == op;
        }
    return found;
}

static void check(const struct rt_graph *graph, const char *name, enum rt_phase phase, size_t i,
                  enum rt_op_id op, double bytes)
{
    const struct rt_graph_kernel *kernel = find_kernel(graph, name, phase, i);
    CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
    CU_ASSERT_EQUAL(kernel->call.op, op);
    CU_ASSERT_EQUAL(kernel->bytes, bytes);
}

/* A view forward; its gradient is copied into zeros for all columns. */
static void test_slice(void)
{
    struct rt_graph graph = begin(RT_STEP_PREFILL, WHOLE);
    CU_ASSERT_EQUAL(rt_build_slice(&graph, "part", 0, ROWS, WHOLE, COLS, false), 0);
    CU_ASSERT_EQUAL(graph.node_count, 1);
    rt_graph_release(&graph);
    for (int transposed = 0; transposed < 2; transposed++) {
        graph = begin(RT_STEP_TRAINING, WHOLE);
        uint32_t node = rt_build_slice(&graph, "part", 0, ROWS, WHOLE, COLS, transposed);
        CU_ASSERT_EQUAL(graph.nodes[node].outputs, ROWS * COLS);
        CU_ASSERT_EQUAL(graph.nodes[node].kernel_count, 2);
        check(&graph, "part", RT_BACKWARD, 0, RT_OP_FILL, WIDTH * ROWS * WHOLE);
        check(&graph, "part", RT_BACKWARD, 1, transposed ? RT_OP_TRANSPOSE : RT_OP_COPY,
              (transposed ? SECTOR + WIDTH : 2 * WIDTH) * ROWS * COLS);
        rt_graph_release(&graph);
    }
}

/* Two parts of one tensor: the gradients for all columns are added up. */
static void test_slices_are_added_up(void)
{
    struct rt_graph graph = begin(RT_STEP_TRAINING, WHOLE);
    rt_build_slice(&graph, "first", 0, ROWS, WHOLE, COLS, false);
    rt_build_slice(&graph, "second", 0, ROWS, WHOLE, WHOLE - COLS, false);
    CU_ASSERT_EQUAL(count(&graph, RT_BACKWARD, RT_OP_FILL), 2);
    CU_ASSERT_EQUAL(count(&graph, RT_BACKWARD, RT_OP_COPY), 2);
    check(&graph, "second", RT_BACKWARD, 0, RT_OP_ADD, 3 * WIDTH * ROWS * WHOLE);
    CU_ASSERT_EQUAL(count(&graph, RT_BACKWARD, RT_OP_ADD), 1);
    rt_graph_release(&graph);
}

/* One copy forward; gradients of the parts are views. */
static void test_join(void)
{
    struct rt_graph graph = begin(RT_STEP_TRAINING, COLS);
    uint32_t other = rt_build_unary(&graph, "other", RT_OP_RELU, 0, ROWS, COLS);
    uint32_t node = rt_build_join(&graph, "join", 0, other, ROWS, 2 * COLS);
    CU_ASSERT_EQUAL(graph.nodes[node].outputs, 2 * ROWS * COLS);
    CU_ASSERT(graph.nodes[node].gradient);
    CU_ASSERT_EQUAL(graph.nodes[node].saved, 0);
    check(&graph, "join", RT_FORWARD, 0, RT_OP_COPY, 2 * WIDTH * ROWS * 2 * COLS);
    check(&graph, "join", RT_BACKWARD, 0, RT_OP_ADD, 3 * WIDTH * ROWS * COLS); /* x is read twice */
    CU_ASSERT_EQUAL(graph.nodes[node].kernel_count, 2);
    rt_graph_release(&graph);
}

/* Rows of columns: the operator's own copy, and the sum of gradients of what others read, too. */
static void test_rows(void)
{
    struct rt_graph graph = begin(RT_STEP_TRAINING, COLS);
    rt_build_unary(&graph, "other", RT_OP_RELU, 0, ROWS, COLS);
    uint32_t node = rt_build_rows(&graph, "rows", 0, ROWS, COLS);
    check(&graph, "rows", RT_FORWARD, 0, RT_OP_TRANSPOSE, (SECTOR + WIDTH) * ROWS * COLS);
    check(&graph, "rows", RT_BACKWARD, 0, RT_OP_ADD, 3 * WIDTH * ROWS * COLS);
    CU_ASSERT_EQUAL(graph.nodes[node].kernel_count, 2);
    rt_graph_release(&graph);
}

/* The gradients of weight and bias are one kernel, and an addition accumulates each; without either there is
 * neither. */
static void test_layernorm_of(void)
{
    for (int vectors = 0; vectors < 3; vectors++) {
        struct rt_graph graph = begin(RT_STEP_TRAINING, COLS);
        uint32_t node = rt_build_layernorm_of(&graph, "norm", 0, ROWS, COLS, vectors);
        CU_ASSERT_EQUAL(graph.nodes[node].parameters, vectors * COLS);
        CU_ASSERT_EQUAL(graph.nodes[0].saved, ROWS * COLS); /* its input is kept */
        check(&graph, "norm", RT_FORWARD, 0, RT_OP_LAYERNORM, 2 * WIDTH * ROWS * COLS);
        check(&graph, "norm", RT_BACKWARD, 0, RT_OP_LAYERNORM_BACKWARD, 3 * WIDTH * ROWS * COLS);
        if (vectors > 0)
            check(&graph, "norm", RT_BACKWARD, 1, RT_OP_REDUCE, 2 * WIDTH * ROWS * COLS);
        CU_ASSERT_EQUAL(count(&graph, RT_BACKWARD, RT_OP_REDUCE), vectors > 0);
        CU_ASSERT_EQUAL(count(&graph, RT_ACCUMULATE, RT_OP_ADD), (size_t)vectors);
        rt_graph_release(&graph);
    }
}

/* (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * weight, of nine nodes; `groups` of rows have weights of
 * their own. */
static void test_centred_norm(void)
{
    for (int groups = 1; groups < 3; groups++) {
        struct rt_graph graph = begin(RT_STEP_TRAINING, COLS);
        uint32_t node = rt_build_centred_norm(&graph, 0, ROWS, COLS, groups * COLS);
        CU_ASSERT_EQUAL(graph.node_count, 10);
        CU_ASSERT_EQUAL(graph.nodes[node].parameters, groups * COLS);
        CU_ASSERT_EQUAL(count(&graph, RT_FORWARD, RT_OP_REDUCE), 2);
        CU_ASSERT_EQUAL(count(&graph, RT_FORWARD, RT_OP_POW_SCALAR), 1);
        CU_ASSERT_EQUAL(count(&graph, RT_FORWARD, RT_OP_RSQRT), 1);
        check(&graph, "norm.centre", RT_FORWARD, 0, RT_OP_ADD, WIDTH * (2 * ROWS * COLS + ROWS));
        check(&graph, "norm.scale", RT_FORWARD, 0, RT_OP_MUL, WIDTH * (2 * ROWS * COLS + ROWS));
        check(&graph, "norm.weight", RT_FORWARD, 0, RT_OP_MUL, WIDTH * (2 * ROWS * COLS + groups * COLS));
        /* each mean gets its gradient negated and summed up, as do the root's and the weight's sums */
        CU_ASSERT_EQUAL(count(&graph, RT_BACKWARD, RT_OP_DIV_SCALAR), 2);
        CU_ASSERT_EQUAL(count(&graph, RT_BACKWARD, RT_OP_REDUCE), 4);
        /* x is read by its mean and by both differences, the mean by both */
        CU_ASSERT_EQUAL(count(&graph, RT_BACKWARD, RT_OP_ADD), 3);
        CU_ASSERT_EQUAL(find_kernel(&graph, "norm.weight", RT_ACCUMULATE, 0)->call.dim[1], groups * COLS);
        rt_graph_release(&graph);
    }
    struct rt_graph graph = begin(RT_STEP_PREFILL, COLS);
    rt_build_centred_norm(&graph, 0, ROWS, COLS, COLS);
    for (size_t k = 0; k < graph.kernel_count; k++)
        CU_ASSERT_EQUAL(graph.kernels[k].call.phase, RT_FORWARD);
    rt_graph_release(&graph);
}

/* BLOOM's GELU keeps its input alone, and computes its curve again. */
static void test_gelu_that_keeps_its_input(void)
{
    struct rt_graph graph = begin(RT_STEP_TRAINING, COLS);
    rt_build_activation(&graph, RT_ACT_GELU_BLOOM, 0, ROWS, COLS);
    double saved = 0;
    size_t forward = 0;
    for (size_t n = 0; n < graph.node_count; n++) {
        saved += graph.nodes[n].saved;
        forward += n > 0 && find_kernel(&graph, graph.nodes[n].name, RT_FORWARD, 0) != NULL;
    }
    CU_ASSERT_EQUAL(saved, ROWS * COLS);
    CU_ASSERT_EQUAL(graph.nodes[0].saved, ROWS * COLS);
    CU_ASSERT_EQUAL(forward, 9);
    CU_ASSERT_EQUAL(count(&graph, RT_FORWARD, RT_OP_TANH), 1);
    CU_ASSERT_EQUAL(count(&graph, RT_BACKWARD, RT_OP_TANH), 1);
    CU_ASSERT_EQUAL(count(&graph, RT_BACKWARD, RT_OP_MUL), 7);
    CU_ASSERT_EQUAL(count(&graph, RT_BACKWARD, RT_OP_MUL_SCALAR), 5);
    CU_ASSERT_EQUAL(count(&graph, RT_BACKWARD, RT_OP_ADD_SCALAR), 4);
    CU_ASSERT_EQUAL(count(&graph, RT_BACKWARD, RT_OP_ADD), 1);
    rt_graph_release(&graph);
}

RT_TESTS(RT_TEST(test_slice), RT_TEST(test_slices_are_added_up), RT_TEST(test_join), RT_TEST(test_rows),
         RT_TEST(test_layernorm_of), RT_TEST(test_centred_norm), RT_TEST(test_gelu_that_keeps_its_input))
