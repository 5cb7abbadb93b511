/* NeuSight's operator graphs: graphs that follow, and errors. */
#include "base/file.h"
#include "find.h"
#include "models/networks/opgraph/opgraph.h"
#include "models/networks/opgraph/python_literal.h"
#include "models/networks/memory.h"

#define DATA RT_SOURCE_DIR "/tests/data/graphs/"
#define W    4.0 /* bytes of an fp32 */

static const struct rt_node *node_named(const struct rt_graph *graph, const char *name)
{
    const struct rt_node *node = find_node(graph, name);
    if (node == NULL)
        printf("# no node %s\n", name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(node);
    return node;
}

static const struct rt_graph_kernel *kernel_at(const struct rt_graph *graph, const char *name, uint32_t k)
{
    const struct rt_node *node = node_named(graph, name);
    CU_ASSERT_TRUE_FATAL(k < node->kernel_count);
    return &graph->kernels[node->kernel + k];
}

static void check_dims(const struct rt_graph_kernel *kernel, enum rt_op_id op, int64_t a, int64_t b,
                       int64_t c, int64_t d)
{
    const int64_t expected[4] = {a, b, c, d};
    CU_ASSERT_EQUAL(kernel->call.op, op);
    for (int i = 0; i < rt_op_graph_dims(op) && i < 4; i++)
        CU_ASSERT_EQUAL(kernel->call.dim[i], expected[i]);
}

static void check_input(const struct rt_graph *graph, const char *name, uint32_t i, const char *from)
{
    const struct rt_node *node = node_named(graph, name);
    CU_ASSERT_TRUE_FATAL(i < node->input_count);
    CU_ASSERT_STRING_EQUAL(graph->nodes[graph->inputs[node->input + i]].name, from);
}

/* --- literals --- */

static int parse(const char *text, struct rt_python_literals *out)
{
    return rt_python_literal_parse(text, strlen(text), out);
}

static void test_literals(void)
{
    struct rt_python_literals values = {0};
    RT_ASSERT_OK(parse(" [('MEM', ((1,), (2, -3))), \"x\", {'a', 'b',}, set(), [], (7)] ", &values));
    CU_ASSERT_EQUAL(values.value[0].count, 6);
    CU_ASSERT_EQUAL(values.value[0].end, values.count);
    CU_ASSERT_EQUAL(values.value[1].count, 2);
    CU_ASSERT_EQUAL(values.value[2].length, 3);
    CU_ASSERT_EQUAL(values.value[3].count, 2);
    CU_ASSERT_EQUAL(values.value[4].count, 1);
    CU_ASSERT_EQUAL(values.value[8].integer, -3);
    CU_ASSERT_EQUAL(values.value[values.count - 1].kind, RT_PYTHON_INTEGER); /* (7) is 7 */
    CU_ASSERT_EQUAL(values.value[values.count - 1].integer, 7);
    CU_ASSERT_EQUAL(values.value[values.count - 1].end, values.count);
    RT_ASSERT_FAILS(parse("[1, 2", &values), RT_EFORMAT, "character 6: a ']' is missing");
    RT_ASSERT_FAILS(parse("[1)", &values), RT_EFORMAT, "character 3: a ',' or ']' must stand here");
    RT_ASSERT_FAILS(parse("[1] 2", &values), RT_EFORMAT, "character 5: more follows");
    RT_ASSERT_FAILS(parse("[1 2]", &values), RT_EFORMAT, "character 4: a ','");
    RT_ASSERT_FAILS(parse("[,]", &values), RT_EFORMAT, "character 2: a number");
    RT_ASSERT_FAILS(parse("", &values), RT_EFORMAT, "character 1: a number");
    RT_ASSERT_FAILS(parse("['a]", &values), RT_EFORMAT, "no closing quote");
    RT_ASSERT_FAILS(parse("['a\\n']", &values), RT_EFORMAT, "backslash");
    RT_ASSERT_FAILS(parse("(1.5,)", &values), RT_EFORMAT, "\"1.5\" is no whole number");
    RT_ASSERT_FAILS(parse("(None,)", &values), RT_EFORMAT, "\"None\" is no whole number");
    RT_ASSERT_FAILS(parse("(99999999999999999999,)", &values), RT_EFORMAT, "is no whole number");
    free(values.value);
}

static void test_deep_nesting(void)
{
    struct rt_python_literals values = {0};
    size_t deep = 1000000;
    char *text = rt_malloc(deep + 1);
    for (size_t i = 0; i < deep; i++)
        text[i] = "[({"[i % 3];
    text[deep] = '\0';
    RT_ASSERT_FAILS(parse(text, &values), RT_EFORMAT, "nest more than 16 deep");
    free(text);
    free(values.value);
}

/* --- names --- */

static void test_names(void)
{
    struct rt_opgraph_name name;
    CU_ASSERT_TRUE_FATAL(rt_opgraph_name("/a-inf-1-1/gpt2_large-train-1024-16-pp4_2.csv", &name));
    CU_ASSERT_STRING_EQUAL(name.model, "gpt2_large");
    CU_ASSERT_EQUAL(name.step, RT_STEP_TRAINING);
    CU_ASSERT_EQUAL(name.sequence, 1024);
    CU_ASSERT_EQUAL(name.batch, 16);
    CU_ASSERT_EQUAL(name.parallel.pipeline, 4);
    CU_ASSERT_EQUAL(name.parallel.microbatches, 2);
    CU_ASSERT_EQUAL(name.parallel.data, 1);
    CU_ASSERT_TRUE_FATAL(rt_opgraph_name("opt-13-inf-2048-2-fusion", &name));
    CU_ASSERT_STRING_EQUAL(name.model, "opt-13");
    CU_ASSERT_TRUE(name.fusion);
    static const char *const others[] = {"gpt2.csv",          "x-inf-8.csv",      "x-inf-8-0.csv",
                                         "x-inf-8-2-zp4.csv", "x-inf-8-2-dp.csv", "x-inf-8-2-pp4.csv",
                                         "-inf-8-2.csv",      "x-inf-8-2.csv.gz", "x-inf-99999999999-2.csv"};
    for (size_t i = 0; i < RT_COUNT(others); i++)
        CU_ASSERT_FALSE(rt_opgraph_name(others[i], &name));
}

/* --- fixtures --- */

static void test_training(void)
{
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_import_opgraph(DATA "gpt_mini-train-16-4-dp2.csv", 5, RT_FP32, &graph));
    CU_ASSERT_EQUAL(graph.options.step, RT_STEP_TRAINING);
    CU_ASSERT_EQUAL(graph.options.batch, 2); /* of each of two devices */
    CU_ASSERT_EQUAL(graph.options.sequence, 16);
    CU_ASSERT_EQUAL_FATAL(graph.block_count, 3);
    CU_ASSERT_EQUAL(graph.blocks[1].repeat, 5);
    CU_ASSERT_EQUAL(graph.blocks[1].role, RT_BLOCK_LAYER);
    CU_ASSERT_EQUAL(graph.blocks[0].node_count, 3); /* wte_grad, wte, drop */
    CU_ASSERT_EQUAL(graph.blocks[1].node_count, 6);
    CU_ASSERT_EQUAL(graph.blocks[2].node_count, 1);
    CU_ASSERT_EQUAL(graph.node_count, 10); /* sizes and views are no nodes */

    check_dims(kernel_at(&graph, "addmm", 0), RT_OP_LINEAR, 1, 32, 24, 8);
    check_dims(kernel_at(&graph, "addmm", 1), RT_OP_LINEAR, 1, 32, 8, 24);
    CU_ASSERT_EQUAL(kernel_at(&graph, "addmm", 2)->call.phase, RT_BACKWARD);
    CU_ASSERT_EQUAL(kernel_at(&graph, "addmm", 3)->call.phase, RT_ACCUMULATE);
    check_dims(kernel_at(&graph, "addmm", 3), RT_OP_ADD, 1, 192, 0, 0);
    check_dims(kernel_at(&graph, "matmul", 0), RT_OP_BMM, 4, 16, 5, 3);
    check_dims(kernel_at(&graph, "wte", 0), RT_OP_COPY, 1, 32 + 256, 0, 0);
    RT_ASSERT_NEAR(kernel_at(&graph, "wte", 0)->bytes, W * (32 + 256), 1e-12);
    check_dims(kernel_at(&graph, "wte_grad", 0), RT_OP_ALL_REDUCE, 2, 320, 0, 0);
    CU_ASSERT_EQUAL(kernel_at(&graph, "wte_grad", 0)->call.phase, RT_BACKWARD);
    node_named(&graph, "addmm_sum_grad"); /* renamed, since it overlaps */

    /* Each element of a vector op moves (inputs + output) / output elements of its row. */
    RT_ASSERT_NEAR(kernel_at(&graph, "add_15", 0)->bytes, W * (256 + 128 + 256), 1e-12);
    RT_ASSERT_NEAR(kernel_at(&graph, "transformer_h_0_ln_1", 2)->bytes, W * 8 * 2, 1e-12);

    check_input(&graph, "addmm", 0, "transformer_h_0_ln_1"); /* through a view */
    check_input(&graph, "matmul", 0, "addmm");
    CU_ASSERT_EQUAL(node_named(&graph, "add_15")->input_count, 2);
    CU_ASSERT_EQUAL(node_named(&graph, "wte")->input_count, 0);

    struct rt_graph_totals totals;
    rt_graph_totals(&graph, &totals);
    /* tied table, five layers of norm and product, the head's bias */
    RT_ASSERT_NEAR(totals.parameters, 320 + 5 * (16 + 8 * 24 + 24) + 40, 1e-12);
    CU_ASSERT_EQUAL(graph.boundary, 256);
    CU_ASSERT_EQUAL(graph.classes, 2 * 16 * 40);
    CU_ASSERT_EQUAL(node_named(&graph, "softmax")->saved, 64 * 5);
    CU_ASSERT_EQUAL(node_named(&graph, "drop")->saved, 256 + 256 / W); /* for layer norm, and a mask */
    CU_ASSERT_EQUAL(node_named(&graph, "add_15")->saved, 256);         /* for lm_head */
    rt_graph_release(&graph);
}

static void test_fused(void)
{
    struct rt_graph graph;
    struct rt_graph_kernel launches[8];
    RT_ASSERT_OK(rt_graph_import_opgraph(DATA "mini-inf-8-2-fusion.csv", 9, RT_FP16, &graph));
    CU_ASSERT_TRUE(graph.options.fusion);
    CU_ASSERT_EQUAL(graph.options.step, RT_STEP_PREFILL);
    CU_ASSERT_EQUAL_FATAL(graph.block_count, 1); /* all layers are in the file */
    CU_ASSERT_EQUAL(graph.blocks[0].repeat, 1);
    CU_ASSERT_EQUAL_FATAL(graph.node_count, 5);
    CU_ASSERT_STRING_EQUAL(graph.nodes[0].name, "late"); /* before the node that reads it */
    CU_ASSERT_STRING_EQUAL(graph.nodes[1].name, "wte~add");
    CU_ASSERT_EQUAL(rt_node_launches(&graph, &graph.nodes[1], RT_FORWARD, launches), 1);
    CU_ASSERT_EQUAL(launches[0].call.op, RT_OP_ADD);
    RT_ASSERT_NEAR(launches[0].bytes, 2 * (16 + 32 + 64), 1e-12);
    const struct rt_node *chain = node_named(&graph, "pow~tanh");
    CU_ASSERT_EQUAL(rt_node_launches(&graph, chain, RT_FORWARD, launches), 1);
    CU_ASSERT_EQUAL(launches[0].call.op, RT_OP_TANH);
    RT_ASSERT_NEAR(launches[0].flops, 2 * 96, 1e-12);
    RT_ASSERT_NEAR(launches[0].bytes, 2 * (96 + 96), 1e-12);
    CU_ASSERT_EQUAL(rt_node_launches(&graph, node_named(&graph, "relu~drop"), RT_FORWARD, launches), 1);
    RT_ASSERT_NEAR(launches[0].bytes, 2 * (96 + 96), 1e-12);
    rt_graph_release(&graph);
}

/* --- errors --- */

#define HEADER "Name,OpName,FwOps,BwOps,AccOps,Prev,Next,InputShapes,OutputShape\n"

/* Reads a file of the header and these lines. */
static int import_lines(const char *lines, struct rt_graph *out)
{
    char *text = rt_format("%s%s", HEADER, lines);
    const char *path = rt_test_write("graph.csv", text);
    free(text);
    return rt_graph_import_opgraph(path, 1, RT_FP32, out);
}

static void refuse_lines(const char *lines, const char *words)
{
    struct rt_graph graph;
    int status = import_lines(lines, &graph);
    RT_ASSERT_FAILS(status, RT_EFORMAT, words);
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "graph.csv"));
    if (status == RT_OK)
        rt_graph_release(&graph);
}

static void refuse_ops(const char *ops, const char *words)
{
    char *lines = rt_format("a,x,\"%s\",[],[],set(),set(),[],\"(4, 4)\"\n", ops);
    refuse_lines(lines, words);
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "graph.csv:2: FwOps: "));
    free(lines);
}

static void test_bad_ops(void)
{
    refuse_ops("[['Foo', (1, 2)]]", "there is no op \"Foo\"; known are Linear, BMM, MEM");
    refuse_ops("[['VECfoo', (1, 2)]]", "VECsoftmax");
    refuse_ops("[['VECbmm', (1, 2)]]", "there is no op \"VECbmm\"");
    refuse_ops("[['Linear', (1, 2)]]", "takes 3 whole numbers");
    refuse_ops("[['Linear', (1, 2, 'x')]]", "takes 3 whole numbers");
    refuse_ops("[['Linear', (0, 2, 3)]]", "linear: m is 0; it must lie in 1..2^40");
    refuse_ops("[['VECadd', (-4, 2)]]", "add: rows is -4");
    refuse_ops("[['BMM', (1, 2, 3, 2000000000000)]]", "bmm: n is 2000000000000");
    refuse_ops("[['BMM', (1, 2, 3, 1e9)]]", "\"1e9\" is no whole number");
    refuse_ops("[['MEM', ((9999999999999,),)]]", "a dim is 9999999999999");
    refuse_ops("[['MEM', ((1000000000000, 1000000000000),)]]", "a shape has 1e+24 elements");
    refuse_ops("[['MEM', ((1000000, 1000000), (1000000, 1000000))]]", "MEM moves 2e+12 elements");
    refuse_ops("[['MEM', (4, 4)]]", "a shape is a tuple of whole numbers");
    refuse_ops("[['MEM', 4]]", "MEM takes a tuple of shapes");
    refuse_ops("[['Linear']]", "an op is written");
    refuse_ops("['Linear']", "an op is written");
    refuse_ops("'Linear'", "a list, tuple or set must stand here");
    refuse_ops("[['Linear', (1, 2, 3)]", "character 23: a ']' is missing");
    refuse_ops("", "the cell is empty");
    refuse_ops("[['ALLREDUCE', (8,)]]", "among an unknown number of GPUs");
}

static void test_bad_rows(void)
{
    refuse_lines("a,x,[],[],[],{'b'},set(),[],\"(4, 4)\"\n", "holds no ops");
    refuse_lines("a,x,\"[['VECadd', (4, 4)]]\",[],[],{'b'},set(),[],\"(4, 4)\"\n",
                 ":2: Prev: no row has the name \"b\"");
    refuse_lines("a,x,\"[['VECadd', (4, 4)]]\",[],[],{3},set(),[],\"(4, 4)\"\n", ":2: Prev: a set of names");
    refuse_lines("a,x,\"[['VECadd', (4, 4)]]\",[],[],set(),set(),[],\"(4, 4)\"\n"
                 "a,x,[],[],[],set(),set(),[],\"(4, 4)\"\n",
                 ":3: Name: \"a\" is the name of line 2 too");
    refuse_lines("a,x,\"[['VECadd', (4, 4)]]\",[],[],{'b'},set(),[],\"(4, 4)\"\n"
                 "b,x,[],[],[],{'a'},set(),[],\"(4, 4)\"\n",
                 "its own output");
    refuse_lines(",x,[],[],[],set(),set(),[],\"(4, 4)\"\n", ":2: Name: the row has no name");
    refuse_lines("a,x,[],[],[],set(),set(),[4],\"(4, 4)\"\n", ":2: InputShapes: a shape is a tuple");
    refuse_lines("a,x,[],[],[],set(),set(),[],\"(4, -4)\"\n", ":2: OutputShape: a dim is -4");
    refuse_lines("a,x,[],[],[],set(),set(),[]\n", ":2: the row has 8 columns");
    refuse_lines("", "holds no ops");
}

static void test_bad_files(void)
{
    struct rt_graph graph;
    RT_ASSERT_FAILS(rt_graph_import_opgraph("/nowhere.csv", 1, RT_FP32, &graph), RT_EIO, "/nowhere.csv");
    RT_ASSERT_FAILS(rt_graph_import_opgraph(rt_test_write("e.csv", ""), 1, RT_FP32, &graph), RT_EFORMAT,
                    "is empty");
    RT_ASSERT_FAILS(
        rt_graph_import_opgraph(rt_test_write("h.csv", "Name,OpName,FwOps\n"), 1, RT_FP32, &graph),
        RT_EFORMAT, "h.csv:1: there is no column \"BwOps\"");
    RT_ASSERT_FAILS(rt_graph_import_opgraph(DATA "mini-inf-8-2-fusion.csv", 2000000, RT_FP32, &graph),
                    RT_EUSAGE, "more than a million");
}

/* Where the name has another form: the step by its phases, batch and sequence by the first shape. */
static void test_unnamed(void)
{
    struct rt_graph graph;
    RT_ASSERT_OK(
        import_lines("ids,misc,[],[],[],set(),set(),[],\"(3, 7)\"\n"
                     "a,x,\"[['VECgelu', (21, 4)]]\",\"[['VECgelu', (21, 4)]]\",[],{'ids'},set(),\"[(3, "
                     "7)]\",\"(3, 7, 4)\"\n",
                     &graph));
    CU_ASSERT_EQUAL(graph.options.step, RT_STEP_TRAINING);
    CU_ASSERT_EQUAL(graph.options.batch, 3);
    CU_ASSERT_EQUAL(graph.options.sequence, 7);
    rt_graph_release(&graph);
}

/* --- damaged files --- */

/* Gives a graph, or an error that names the file. */
static bool survives(const char *text, size_t size)
{
    const char *path = rt_test_path("damaged-train-16-4-dp2.csv");
    struct rt_graph graph;
    FILE *file = fopen(path, "w");
    if (file == NULL || fwrite(text, 1, size, file) != size || fclose(file) != 0)
        abort();
    if (rt_graph_import_opgraph(path, 3, RT_FP32, &graph) != RT_OK)
        return strstr(rt_error(), "damaged-train-16-4-dp2.csv") != NULL;
    struct rt_graph_totals totals;
    struct rt_graph_memory memory;
    rt_graph_fuse(&graph);
    rt_graph_totals(&graph, &totals);
    rt_graph_memory(&graph, NULL, &memory);
    rt_graph_release(&graph);
    return totals.flops[RT_FORWARD] >= 0 && memory.total >= 0;
}

static void test_damage(void)
{
    char *text;
    size_t size;
    RT_ASSERT_OK(rt_file_read(DATA "gpt_mini-train-16-4-dp2.csv", 1 << 20, &text, &size));
    for (size_t cut = 0; cut < size; cut += 3)
        CU_ASSERT_TRUE(survives(text, cut));
    for (size_t at = 1; at < size; at += 3) {
        static const unsigned char flips[] = {0x01, 0x08, 0x40, 0x80};
        char original = text[at];
        text[at] = (char)(original ^ flips[at % 4]);
        CU_ASSERT_TRUE(survives(text, size));
        text[at] = original;
    }
    static const char letters[] = "()[]{}',\"0-9\n";
    for (size_t at = 2; at < size; at += 3) {
        char original = text[at];
        text[at] = letters[(at * 7) % (sizeof letters - 1)];
        CU_ASSERT_TRUE(survives(text, size));
        text[at] = original;
    }
    free(text);
}

/* --- the published graphs --- */

static size_t count_words(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        count++;
    return count;
}

/* Every product of the file is in the graph, and the layer was found where one layer was traced. */
static void check_published(const char *path)
{
    struct rt_graph graph;
    struct rt_opgraph_name name;
    char *text;
    size_t size, linear = 0, bmm = 0, softmax = 0;
    RT_ASSERT_OK(rt_file_read(path, (size_t)64 << 20, &text, &size));
    RT_ASSERT_OK(rt_graph_import_opgraph(path, 24, RT_FP32, &graph));
    CU_ASSERT_TRUE_FATAL(rt_opgraph_name(path, &name));
    for (size_t k = 0; k < graph.kernel_count; k++) {
        linear += graph.kernels[k].call.op == RT_OP_LINEAR;
        bmm += graph.kernels[k].call.op == RT_OP_BMM;
        softmax += graph.kernels[k].call.op == RT_OP_SOFTMAX;
    }
    CU_ASSERT_EQUAL(linear, count_words(text, "'Linear'"));
    CU_ASSERT_EQUAL(bmm, count_words(text, "'BMM'"));
    CU_ASSERT_EQUAL(softmax, count_words(text, "'VECsoftmax'"));
    bool whole = name.fusion || strncmp(name.model, "switch", 6) == 0;
    CU_ASSERT_EQUAL(graph.block_count, whole ? 1 : 3);
    CU_ASSERT_EQUAL(graph.blocks[whole ? 0 : 1].repeat, whole ? 1 : 24);
    CU_ASSERT_TRUE(whole || graph.boundary > 0);
    CU_ASSERT_EQUAL(graph.options.fusion, name.fusion);
    for (size_t n = 0; n < graph.node_count; n++)
        for (uint32_t i = 0; i < graph.nodes[n].input_count; i++)
            CU_ASSERT_TRUE(graph.inputs[graph.nodes[n].input + i] < n);
    rt_graph_release(&graph);
    free(text);
}

static void test_published(void)
{
    const char *data = rt_test_data("ROOFTILE_NEUSIGHT", "neusight");
    struct rt_paths paths;
    if (data == NULL)
        return;
    char *folder = rt_format("%s/opgraph", data);
    RT_ASSERT_OK(rt_file_walk(folder, &paths));
    CU_ASSERT_TRUE(paths.count >= 38);
    for (size_t i = 0; i < paths.count; i++)
        check_published(paths.path[i]);
    rt_paths_release(&paths);
    free(folder);
}

/* GPT-2 large has 774 million parameters; the graph leaves out positions and has biases of its head. */
static void test_published_parameters(void)
{
    const char *data = rt_test_data("ROOFTILE_NEUSIGHT", "neusight");
    struct rt_graph graph;
    struct rt_graph_totals totals;
    if (data == NULL)
        return;
    char *path = rt_format("%s/opgraph/gpt2_large-train-1024-4.csv", data);
    RT_ASSERT_OK(rt_graph_import_opgraph(path, 36, RT_FP32, &graph));
    rt_graph_totals(&graph, &totals);
    RT_ASSERT_NEAR(totals.parameters, 774030080.0 - 1024 * 1280 + 50257, 1e-9);
    rt_graph_release(&graph);
    free(path);
}

RT_TESTS(RT_TEST(test_literals), RT_TEST(test_deep_nesting), RT_TEST(test_names), RT_TEST(test_training),
         RT_TEST(test_fused), RT_TEST(test_bad_ops), RT_TEST(test_bad_rows), RT_TEST(test_bad_files),
         RT_TEST(test_unnamed), RT_TEST(test_damage), RT_TEST(test_published),
         RT_TEST(test_published_parameters))
