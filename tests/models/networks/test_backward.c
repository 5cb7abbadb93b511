/* Kernels that PyTorch runs besides the op itself: copies of heads, sums of gradients, backward kernels.
 * Counts and sizes are computed by hand. */
#include "find.h"

enum { BATCH = 3, TOKENS = 5, HEADS = 2, WIDTH = 7, HIDDEN = HEADS * WIDTH, ROWS = BATCH * TOKENS };

static struct rt_graph build(const char *text, enum rt_step_kind step, int64_t batch, bool fusion)
{
    struct rt_model model = {0};
    struct rt_graph graph;
    struct rt_graph_options options = {.step = step,
                                       .batch = batch,
                                       .sequence = TOKENS,
                                       .context = TOKENS,
                                       .tensor_parallel = 1,
                                       .fusion = fusion};
    RT_ASSERT_OK(rt_model_load(rt_test_write("config.json", text), &model));
    RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
    return graph;
}

#define GPT2                                                                                                 \
    "{\"model_type\": \"gpt2\", \"n_embd\": 14, \"n_layer\": 1, \"n_head\": 2, \"n_inner\": 11, "            \
    "\"vocab_size\": 17, \"n_positions\": 5}"
#define OPT                                                                                                  \
    "{\"model_type\": \"opt\", \"hidden_size\": 14, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "  \
    "\"ffn_dim\": 11, \"vocab_size\": 17, \"max_position_embeddings\": 5}"
#define BERT                                                                                                 \
    "{\"model_type\": \"bert\", \"hidden_size\": 14, \"num_hidden_layers\": 1, "                             \
    "\"num_attention_heads\": 2, \"intermediate_size\": 11, \"vocab_size\": 17}"

/* Number of kernels of an op in a phase, in all nodes of that name (NULL: any), and their bytes. */
static size_t count(const struct rt_graph *graph, const char *name, enum rt_phase phase, enum rt_op_id op,
                    double *bytes)
{
    size_t found = 0;
    double sum = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_node *node = &graph->nodes[n];
        for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++) {
            const struct rt_graph_kernel *kernel = &graph->kernels[k];
            if (kernel->call.phase != phase || kernel->call.op != op ||
                (name != NULL && strcmp(name, node->name) != 0))
                continue;
            found++;
            sum += kernel->bytes;
        }
    }
    if (bytes != NULL)
        *bytes = sum;
    return found;
}

static void test_heads_are_copied_where_there_are_several_sequences(void)
{
    double bytes = 0;
    struct rt_graph graph = build(GPT2, RT_STEP_PREFILL, BATCH, false);
    CU_ASSERT_EQUAL(count(&graph, "attn.heads_q", RT_FORWARD, RT_OP_COPY, &bytes), 1);
    RT_ASSERT_NEAR(bytes, 8.0 * ROWS * HIDDEN, 1e-12);
    CU_ASSERT_EQUAL(count(&graph, "attn.heads_v", RT_FORWARD, RT_OP_COPY, NULL), 1);
    CU_ASSERT_EQUAL(count(&graph, "attn.heads_k", RT_FORWARD, RT_OP_TRANSPOSE, &bytes), 1);
    RT_ASSERT_NEAR(bytes, (32.0 + 4) * ROWS * HIDDEN, 1e-12); /* a sector of 32 B for each element read */
    rt_graph_release(&graph);
    graph = build(GPT2, RT_STEP_PREFILL, BATCH, true);
    CU_ASSERT_EQUAL(count(&graph, "attn.heads_k", RT_FORWARD, RT_OP_TRANSPOSE, &bytes), 1);
    RT_ASSERT_NEAR(bytes, 8.0 * ROWS * HIDDEN, 1e-12);
    rt_graph_release(&graph);
    graph = build(GPT2, RT_STEP_PREFILL, 1, false);
    CU_ASSERT_EQUAL(count(&graph, NULL, RT_FORWARD, RT_OP_COPY, NULL), 1); /* merged heads */
    CU_ASSERT_EQUAL(count(&graph, NULL, RT_FORWARD, RT_OP_TRANSPOSE, NULL), 0);
    rt_graph_release(&graph);
    graph = build(OPT, RT_STEP_PREFILL, BATCH,
                  false); /* explicit copies in Hugging Face's code, keys not transposed */
    CU_ASSERT_EQUAL(count(&graph, NULL, RT_FORWARD, RT_OP_COPY, NULL), 4);
    CU_ASSERT_EQUAL(count(&graph, NULL, RT_FORWARD, RT_OP_TRANSPOSE, NULL), 0);
    rt_graph_release(&graph);
}

/* The product returns the gradient of keys transposed. GPT-2 concatenates it as it is; BERT and OPT view it
 * as rows where there is one sequence, and copy it where there are several. */
static void test_gradients_of_heads_are_copied_back(void)
{
    for (int64_t batch = 1; batch <= BATCH; batch += BATCH - 1) {
        struct rt_graph graph = build(GPT2, RT_STEP_TRAINING, batch, false);
        double bytes = 0;
        CU_ASSERT_EQUAL(count(&graph, "attn.heads_q", RT_BACKWARD, RT_OP_COPY, NULL), 1);
        CU_ASSERT_EQUAL(count(&graph, NULL, RT_BACKWARD, RT_OP_TRANSPOSE, NULL), 0);
        CU_ASSERT_EQUAL(count(&graph, "attn.heads_v", RT_BACKWARD, RT_OP_COPY, NULL), 1);
        CU_ASSERT_EQUAL(count(&graph, "attn.split", RT_BACKWARD, RT_OP_COPY, &bytes), 1);
        RT_ASSERT_NEAR(bytes, (8.0 + 8 + 36) * (double)batch * TOKENS * HIDDEN, 1e-12);
        CU_ASSERT_EQUAL(count(&graph, "attn.merge_heads", RT_BACKWARD, RT_OP_COPY, NULL), batch > 1);
        rt_graph_release(&graph);
        graph = build(BERT, RT_STEP_TRAINING, batch, false);
        CU_ASSERT_EQUAL(count(&graph, "attn.heads_k", RT_BACKWARD, RT_OP_TRANSPOSE, NULL), batch > 1);
        CU_ASSERT_EQUAL(count(&graph, "attn.heads_v", RT_BACKWARD, RT_OP_COPY, NULL), 1);
        rt_graph_release(&graph);
        graph = build(OPT, RT_STEP_TRAINING, batch, false);
        CU_ASSERT_EQUAL(count(&graph, "attn.split_k", RT_BACKWARD, RT_OP_TRANSPOSE, NULL), batch > 1);
        CU_ASSERT_EQUAL(count(&graph, "attn.split_k", RT_BACKWARD, RT_OP_COPY, NULL), 0);
        CU_ASSERT_EQUAL(count(&graph, "attn.split_v", RT_BACKWARD, RT_OP_COPY, NULL), 1);
        rt_graph_release(&graph);
    }
}

/* T5's layers share a bias of scores, and the layers of its decoder the encoder's states. The first layer is
 * a block of its own, which reads the bias once and the states twice. */
static void test_gradients_of_what_blocks_share_are_added_up(void)
{
    struct rt_graph graph =
        build("{\"model_type\": \"t5\", \"d_model\": 14, \"d_kv\": 7, \"d_ff\": 11, \"num_layers\": 4, "
              "\"num_heads\": 2, \"vocab_size\": 17}",
              RT_STEP_TRAINING, BATCH, false);
    CU_ASSERT_EQUAL(count(&graph, "attn.bias", RT_BACKWARD, RT_OP_ADD, NULL),
                    2); /* both stacks' later layers */
    CU_ASSERT_EQUAL(count(&graph, "cross.k", RT_BACKWARD, RT_OP_ADD, NULL), 1);    /* the later layers */
    CU_ASSERT_EQUAL(count(&graph, "cross.v", RT_BACKWARD, RT_OP_ADD, NULL), 2);    /* all layers */
    CU_ASSERT_EQUAL(count(&graph, "cross.bias", RT_BACKWARD, RT_OP_ADD, NULL), 0); /* a constant */
    CU_ASSERT_EQUAL(count(&graph, "relative_bias.mask", RT_BACKWARD, RT_OP_REDUCE, NULL), 2);
    rt_graph_release(&graph);
}

/* A value with several readers: one addition of gradients for each reader but the first. */
static void test_gradients_are_added_up(void)
{
    struct rt_graph graph = build(GPT2, RT_STEP_TRAINING, BATCH, false);
    double bytes = 0;
    /* the layer's input and its middle, each read by a layer norm and a residual; in GELU x is read three
     * times */
    CU_ASSERT_EQUAL(count(&graph, NULL, RT_BACKWARD, RT_OP_ADD, &bytes), 2 + 2);
    RT_ASSERT_NEAR(bytes, 12.0 * ROWS * (2 * HIDDEN + 2 * 11), 1e-12);
    CU_ASSERT_EQUAL(count(&graph, "attn.residual", RT_BACKWARD, RT_OP_ADD, NULL), 1);
    CU_ASSERT_EQUAL(count(&graph, NULL, RT_BACKWARD, RT_OP_FILL, NULL), 1); /* the embedding's table */
    rt_graph_release(&graph);
    graph = build(BERT, RT_STEP_TRAINING, BATCH, false);
    /* a layer's input: q, k, v, residual; its middle: up, residual; the last output: pooler and words */
    CU_ASSERT_EQUAL(count(&graph, NULL, RT_BACKWARD, RT_OP_ADD, NULL), 3 + 1 + 1);
    rt_graph_release(&graph);
}

static void test_backward_kernels(void)
{
    struct rt_graph graph = build(GPT2, RT_STEP_TRAINING, BATCH, false);
    double bytes = 0, scores = (double)BATCH * HEADS * TOKENS * TOKENS;
    CU_ASSERT_EQUAL(count(&graph, "attn.softmax", RT_BACKWARD, RT_OP_MUL, NULL), 1);
    CU_ASSERT_EQUAL(count(&graph, "attn.softmax", RT_BACKWARD, RT_OP_SOFTMAX_BACKWARD, &bytes), 1);
    RT_ASSERT_NEAR(bytes, 12 * scores, 1e-12);
    CU_ASSERT_EQUAL(count(&graph, "attn.scale", RT_BACKWARD, RT_OP_DIV, NULL), 1);   /* by a constant */
    CU_ASSERT_EQUAL(count(&graph, "gelu.product", RT_BACKWARD, RT_OP_MUL, NULL), 2); /* both are computed */
    CU_ASSERT_EQUAL(count(&graph, "gelu.tanh_add", RT_BACKWARD, RT_OP_ADD_SCALAR, NULL), 0);
    CU_ASSERT_EQUAL(count(&graph, "ln_1", RT_BACKWARD, RT_OP_LAYERNORM_BACKWARD, NULL), 1);
    CU_ASSERT_EQUAL(count(&graph, "ln_1", RT_BACKWARD, RT_OP_REDUCE, &bytes), 1);
    RT_ASSERT_NEAR(bytes, 8.0 * ROWS * HIDDEN, 1e-12);
    CU_ASSERT_EQUAL(count(&graph, "mlp.up", RT_BACKWARD, RT_OP_REDUCE, &bytes), 1); /* of the bias */
    RT_ASSERT_NEAR(bytes, 4.0 * ROWS * 11, 1e-12);
    CU_ASSERT_EQUAL(count(&graph, "lm_head", RT_BACKWARD, RT_OP_REDUCE, NULL), 0); /* has none */
    rt_graph_release(&graph);
    graph = build(OPT, RT_STEP_TRAINING, BATCH, false);
    for (int op = 0; op < RT_OP_COUNT; op++) { /* masks and positions have no gradient */
        CU_ASSERT_EQUAL(count(&graph, "mask.next", RT_BACKWARD, op, NULL), 0);
        CU_ASSERT_EQUAL(count(&graph, "positions.offset", RT_BACKWARD, op, NULL), 0);
    }
    CU_ASSERT_EQUAL(count(&graph, "attn.lowest", RT_BACKWARD, RT_OP_WHERE, NULL), 2);
    rt_graph_release(&graph);
}

/* A mask of queries x keys is read again for every head; a mask of keys is short and stays in cache. */
static void test_masks_are_reread(void)
{
    struct rt_graph graph = build(OPT, RT_STEP_PREFILL, BATCH, false);
    const struct rt_node *mask = find_node(&graph, "attn.mask");
    const struct rt_graph_kernel *add = &graph.kernels[mask->kernel];
    double scores = (double)BATCH * HEADS * TOKENS * TOKENS;
    RT_ASSERT_NEAR(add->bytes + add->reread_bytes, 12 * scores, 1e-12);
    RT_ASSERT_NEAR(add->reuse_distance_bytes, 12.0 * TOKENS * TOKENS, 1e-12);
    rt_graph_release(&graph);
    graph = build(BERT, RT_STEP_PREFILL, BATCH, false);
    mask = find_node(&graph, "attn.mask");
    CU_ASSERT_EQUAL(graph.kernels[mask->kernel].reread_bytes, 0);
    rt_graph_release(&graph);
}

RT_TESTS(RT_TEST(test_heads_are_copied_where_there_are_several_sequences),
         RT_TEST(test_gradients_of_heads_are_copied_back), RT_TEST(test_gradients_are_added_up),
         RT_TEST(test_gradients_of_what_blocks_share_are_added_up), RT_TEST(test_backward_kernels),
         RT_TEST(test_masks_are_reread))
