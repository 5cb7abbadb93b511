/* Encoder-decoders of text: sizes of each stack, heads, decoding, tensor parallelism. */
#include "find.h"
#include "base/status.h"

/* The encoder has 3 layers of 4 heads, the decoder 2 layers of 8. */
#define SIZES                                                                                                \
    "\"d_model\": 64, \"encoder_layers\": 3, \"decoder_layers\": 2, \"encoder_attention_heads\": 4,"         \
    "\"decoder_attention_heads\": 8, \"encoder_ffn_dim\": 96, \"decoder_ffn_dim\": 160,"                     \
    "\"max_position_embeddings\": 50, \"vocab_size\": 100"
#define CONFIG(type, more) "{\"model_type\": \"" type "\", " SIZES more "}"
#define CLASS(type, class) CONFIG(type, ", \"architectures\": [\"" class "\"]")

static struct rt_model config(const char *text)
{
    struct rt_model model;
    RT_ASSERT_OK(rt_model_load(rt_test_write("encoder_decoder.json", text), &model));
    return model;
}

static struct rt_graph build(const char *text, struct rt_graph_options options)
{
    struct rt_model model = config(text);
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
    return graph;
}

static double parameters(const char *text)
{
    struct rt_model model = config(text);
    return rt_model_parameters(&model);
}

enum {
    H = 64,
    NORM = 2 * H,
    ATTENTION = 4 * (H * H + H),
    LAYERS = 3 * (ATTENTION + 2 * H * 96 + 96 + H + 2 * NORM) +
             2 * (2 * ATTENTION + 2 * H * 160 + 160 + H + 3 * NORM),
    WORDS = 100 * H,
    POSITIONS = 2 * 50 * H,
};

/* By hand: one table of words, a table of positions for each stack, the layers, norms of embeddings and of
 * ends. BART's and mBART's positions have two rows more; M2M-100's are no parameters. */
static void test_parameters(void)
{
    static const struct {
        const char *text;
        double parameters;
    } known[] = {
        {CONFIG("bart", ""), WORDS + POSITIONS + 4 * H + LAYERS + 2 * NORM},
        {CONFIG("mbart", ""), WORDS + POSITIONS + 4 * H + LAYERS + 4 * NORM},
        {CONFIG("pegasus", ""), WORDS + POSITIONS + LAYERS + 2 * NORM},
        {CONFIG("marian", ""), WORDS + POSITIONS + LAYERS},
        {CONFIG("m2m_100", ""), WORDS + LAYERS + 2 * NORM},
        {CONFIG("blenderbot", ""), WORDS + POSITIONS + LAYERS + 2 * NORM},
        {CONFIG("blenderbot-small", ""), WORDS + POSITIONS + LAYERS + 2 * NORM},
        {CLASS("bart", "BartModel"), WORDS + POSITIONS + 4 * H + LAYERS + 2 * NORM},
        /* classes: three, where the config does not say */
        {CLASS("bart", "BartForSequenceClassification"),
         WORDS + POSITIONS + 4 * H + LAYERS + 2 * NORM + (H * H + H) + (3 * H + 3)},
        {CLASS("mbart", "MBartForQuestionAnswering"),
         WORDS + POSITIONS + 4 * H + LAYERS + 4 * NORM + (2 * H + 2)},
        {CONFIG("bart", ", \"tie_word_embeddings\": false"),
         2 * WORDS + POSITIONS + 4 * H + LAYERS + 2 * NORM},
    };
    for (size_t i = 0; i < RT_COUNT(known); i++) {
        double found = parameters(known[i].text);
        if (found != known[i].parameters)
            printf("# %s: %.0f, expected %.0f\n", known[i].text, found, known[i].parameters);
        CU_ASSERT_EQUAL(found, known[i].parameters);
    }
}

static void test_stacks_have_their_own_sizes(void)
{
    struct rt_graph graph = build(CONFIG("bart", ""), prefill(2, 10));
    CU_ASSERT_EQUAL(graph.block_count, 5);
    CU_ASSERT_STRING_EQUAL(graph.blocks[1].name, "encoder.layers");
    CU_ASSERT_EQUAL(graph.blocks[1].repeat, 3);
    CU_ASSERT_STRING_EQUAL(graph.blocks[3].name, "decoder.layers");
    CU_ASSERT_EQUAL(graph.blocks[3].repeat, 2);
    ASSERT_FORWARD(&graph, "attn.scores", RT_OP_BMM, 2 * 4, 10, 10, 16);
    ASSERT_FORWARD(&graph, "cross.scores", RT_OP_BMM, 2 * 8, 10, 10, 8);
    ASSERT_FORWARD(&graph, "scale_tokens", RT_OP_MUL_SCALAR, 20, 64);
    ASSERT_FORWARD(&graph, "lm_head.bias", RT_OP_ADD, 20, 100);
    rt_graph_release(&graph);
}

/* Only the decoder masks its scores, and only those of its own tokens. */
static void test_masks(void)
{
    struct rt_graph graph = build(CONFIG("pegasus", ""), prefill(1, 10));
    size_t masks = 0;
    for (size_t n = 0; n < graph.node_count; n++)
        masks += strcmp(graph.nodes[n].name, "attn.mask") == 0;
    CU_ASSERT_EQUAL(masks, 1);
    CU_ASSERT_EQUAL(find_node(&graph, "attn.mask")->block, 3 + 1); /* behind encoder.end */
    rt_graph_release(&graph);
}

/* Both caches: of the decoder's own tokens, and of as many of the encoder's. */
static void test_decoding(void)
{
    struct rt_graph_options options = {
        .step = RT_STEP_DECODE, .batch = 3, .context = 20, .tensor_parallel = 1};
    struct rt_graph graph = build(CONFIG("bart", ""), options);
    CU_ASSERT_PTR_NULL(find_node(&graph, "cross.k"));
    ASSERT_FORWARD(&graph, "attn.scores", RT_OP_BMM, 3 * 8, 1, 21, 8);
    ASSERT_FORWARD(&graph, "cross.scores", RT_OP_BMM, 3 * 8, 1, 20, 8);
    CU_ASSERT_EQUAL(graph.cache, 2 * 2.0 * 3 * (21 + 20) * H);
    rt_graph_release(&graph);
}

/* In 16 bits attention is one kernel: without a mask in the encoder and across, causal in the decoder. */
static void test_fused_attention(void)
{
    struct rt_graph_options options = prefill(2, 10);
    options.dtype = RT_BF16;
    options.runtime = RT_RUNTIME_EAGER;
    struct rt_graph graph = build(CONFIG("bart", ""), options);
    ASSERT_FORWARD(&graph, "attn.attention", RT_OP_ATTENTION_ENCODER, 2, 10, 4, 16);
    ASSERT_FORWARD(&graph, "cross.attention", RT_OP_ATTENTION_ENCODER, 2, 10, 8, 8);
    size_t causal = 0;
    for (size_t k = 0; k < graph.kernel_count; k++)
        causal += graph.kernels[k].call.op == RT_OP_ATTENTION_CONTEXT;
    CU_ASSERT_EQUAL(causal, 1);
    rt_graph_release(&graph);
}

/* Every GPU holds whole heads of both stacks. */
static void test_tensor_parallel(void)
{
    struct rt_model model = config(CONFIG("bart", ""));
    struct rt_graph_options options = prefill(1, 10);
    struct rt_graph graph;
    options.tensor_parallel = 4;
    RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
    ASSERT_FORWARD(&graph, "cross.scores", RT_OP_BMM, 2, 10, 10, 8);
    rt_graph_release(&graph);
    options.tensor_parallel = 8; /* divides the decoder's heads, not the encoder's */
    CU_ASSERT_EQUAL(rt_graph_build(&model, &options, &graph), RT_EUSAGE);
    model = config(CONFIG("bart", ", \"unused\": 0"));
    model.decoder.heads = 2;
    options.tensor_parallel = 4;
    CU_ASSERT_EQUAL(rt_graph_build(&model, &options, &graph), RT_EUSAGE);
}

#define T5(more) "{\"model_type\": \"t5\", \"d_model\": 64, \"num_layers\": 2, \"num_heads\": 4" more "}"

/* A false "tie_word_embeddings" of T5 takes the scaling away and leaves the embeddings tied. */
static void test_t5_is_tied(void)
{
    CU_ASSERT_EQUAL(parameters(T5("")), parameters(T5(", \"tie_word_embeddings\": false")));
    struct rt_graph scaled = build(T5(""), prefill(1, 8));
    struct rt_graph plain = build(T5(", \"tie_word_embeddings\": false"), prefill(1, 8));
    CU_ASSERT_PTR_NOT_NULL(find_node(&scaled, "scale"));
    CU_ASSERT_PTR_NULL(find_node(&plain, "scale"));
    rt_graph_release(&scaled);
    rt_graph_release(&plain);
}

/* T5EncoderModel: no decoder, and no decoding. */
static void test_encoder_alone(void)
{
    struct rt_model model = config(T5(", \"architectures\": [\"T5EncoderModel\"]"));
    struct rt_graph_options options = prefill(1, 8);
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
    CU_ASSERT_PTR_NULL(find_node(&graph, "cross.q"));
    CU_ASSERT_EQUAL(graph.shared, 0);
    rt_graph_release(&graph);
    options =
        (struct rt_graph_options){.step = RT_STEP_DECODE, .batch = 1, .context = 8, .tensor_parallel = 1};
    CU_ASSERT_EQUAL(rt_graph_build(&model, &options, &graph), RT_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "is an encoder, it does not decode"));
}

static void test_odd_heads_are_refused(void)
{
    struct rt_model model;
    const char *path = rt_test_write("odd.json", "{\"model_type\": \"bart\", \"d_model\": 64,"
                                                 "\"encoder_attention_heads\": 4,"
                                                 "\"decoder_attention_heads\": 5}");
    CU_ASSERT_EQUAL(rt_model_load(path, &model), RT_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "5 heads of the decoder do not divide the hidden size 64"));
}

/* umT5: a table of biases in every layer; mT5: one in each stack. 32 buckets, 4 heads. */
static void test_biases_of_each_layer(void)
{
#define SMALL(type) "{\"model_type\": \"" type "\", \"d_model\": 64, \"num_layers\": 3, \"num_heads\": 4}"
    CU_ASSERT_EQUAL(parameters(SMALL("umt5")) - parameters(SMALL("mt5")), 2 * 2 * 32 * 4);
    struct rt_graph graph = build(SMALL("umt5"), prefill(1, 8));
    CU_ASSERT_EQUAL(graph.blocks[find_node(&graph, "relative_bias")->block].repeat, 3);
    rt_graph_release(&graph);
}

/* A decoder alone is another network than the one that is built. */
static void test_decoder_alone_is_refused(void)
{
    struct rt_model model;
    RT_ASSERT_FAILS(rt_model_load(rt_test_write("alone.json", CLASS("bart", "BartForCausalLM")), &model),
                    RT_EFORMAT, "a class that is not known here");
}

/* Helsinki's configs name MarianMTModel; a decoder may have words and a table of its own. */
static void test_marian(void)
{
    double one = parameters(CONFIG("marian", "")), more = 120;
    CU_ASSERT_EQUAL(parameters(CONFIG("marian", ", \"decoder_vocab_size\": 120")), one);
    CU_ASSERT_EQUAL(parameters(CONFIG("marian", ", \"decoder_vocab_size\": 120,"
                                                "\"share_encoder_decoder_embeddings\": false")),
                    one + more * H);
    struct rt_model model = config(CLASS("marian", "MarianMTModel"));
    CU_ASSERT_EQUAL(model.head, RT_MODEL_HEAD_WORDS);
}

RT_TESTS(RT_TEST(test_parameters), RT_TEST(test_stacks_have_their_own_sizes), RT_TEST(test_masks),
         RT_TEST(test_decoding), RT_TEST(test_fused_attention), RT_TEST(test_tensor_parallel),
         RT_TEST(test_t5_is_tied), RT_TEST(test_encoder_alone), RT_TEST(test_odd_heads_are_refused),
         RT_TEST(test_biases_of_each_layer), RT_TEST(test_decoder_alone_is_refused), RT_TEST(test_marian))
