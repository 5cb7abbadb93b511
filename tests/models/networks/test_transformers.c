/* BERT, OPT, T5 and Switch Transformer: parameters of the checkpoints, decoding, shards, variants.
 * test_opgraph_match.c compares their kernels with published graphs. */
#include "find.h"

static struct rt_model config(const char *text)
{
    struct rt_model model = {0};
    RT_ASSERT_OK(rt_model_load(rt_test_write("config.json", text), &model));
    return model;
}

static struct rt_graph build(const struct rt_model *model, struct rt_graph_options options)
{
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_build(model, &options, &graph));
    return graph;
}

static struct rt_graph_options decode(int64_t batch, int64_t context)
{
    return (struct rt_graph_options){
        .step = RT_STEP_DECODE, .batch = batch, .context = context, .tensor_parallel = 1};
}

static struct rt_graph_options training(int64_t batch, int64_t sequence)
{
    return (struct rt_graph_options){
        .step = RT_STEP_TRAINING, .batch = batch, .sequence = sequence, .tensor_parallel = 1};
}

/* How often nodes of that name run. */
static int64_t runs(const struct rt_graph *graph, const char *name)
{
    int64_t count = 0;
    for (size_t n = 0; n < graph->node_count; n++)
        if (strcmp(graph->nodes[n].name, name) == 0)
            count += rt_graph_repeat(graph, &graph->nodes[n]);
    return count;
}

/* Sum of a collective's elements over a step. */
static double reduced(const struct rt_graph *graph, enum rt_phase phase)
{
    double elements = 0;
    for (size_t n = 0; n < graph->node_count; n++)
        for (uint32_t k = 0; k < graph->nodes[n].kernel_count; k++) {
            const struct rt_graph_kernel *kernel = &graph->kernels[graph->nodes[n].kernel + k];
            if (kernel->call.op == RT_OP_ALL_REDUCE && kernel->call.phase == phase)
                elements += (double)rt_graph_repeat(graph, &graph->nodes[n]) * kernel->call.dim[1];
        }
    return elements;
}

/* No node reads a later one. */
static void assert_ordered(const struct rt_graph *graph)
{
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++)
            CU_ASSERT_TRUE(graph->inputs[graph->nodes[n].input + i] < n);
}

#define OPT_350M                                                                                             \
    "{\"model_type\": \"opt\", \"hidden_size\": 1024, \"num_hidden_layers\": 24, \"ffn_dim\": 4096,"         \
    "\"num_attention_heads\": 16, \"vocab_size\": 50272, \"word_embed_proj_dim\": 512,"                      \
    "\"do_layer_norm_before\": false}"
#define T5(sizes) "{\"model_type\": \"t5\", \"vocab_size\": 32128, " sizes "}"
#define T5_SMALL  T5("\"d_model\": 512, \"d_ff\": 2048, \"num_layers\": 6, \"num_heads\": 8")
#define T5_V1_1_SMALL                                                                                        \
    T5("\"d_model\": 512, \"d_ff\": 1024, \"num_layers\": 8, \"num_heads\": 6,"                              \
       "\"feed_forward_proj\": \"gated-gelu\", \"tie_word_embeddings\": false")
#define SWITCH(sizes) "{\"model_type\": \"switch_transformers\", \"vocab_size\": 32128, " sizes "}"
#define SWITCH_BASE_8                                                                                        \
    SWITCH("\"d_model\": 768, \"d_ff\": 3072, \"num_layers\": 12, \"num_heads\": 12, \"num_experts\": 8,"    \
           "\"num_sparse_encoder_layers\": 6, \"num_sparse_decoder_layers\": 6")
#define SWITCH_TINY(more)                                                                                    \
    SWITCH("\"d_model\": 64, \"d_kv\": 16, \"d_ff\": 128, \"num_heads\": 4, \"num_experts\": 4,"             \
           "\"num_decoder_layers\": null" more)

/* As transformers counts them: T5 of version 1.1 ties its embeddings there, though its checkpoints hold both.
 */
static void test_parameters(void)
{
    static const struct {
        const char *text;
        double parameters;
    } known[] = {
        {OPT_350M, 331196416}, {T5_SMALL, 60506624}, {T5_V1_1_SMALL, 60511616}, {SWITCH_BASE_8, 619339008}};
    for (size_t i = 0; i < RT_COUNT(known); i++) {
        struct rt_model m = config(known[i].text);
        CU_ASSERT_EQUAL(rt_model_parameters(&m), known[i].parameters);
    }
    struct rt_model m;
    RT_ASSERT_OK(rt_model_named("opt-1.3b", &m));
    CU_ASSERT_EQUAL(rt_model_parameters(&m), 1315758080);
    /* Multilingual encoders without a head, as MIGProfiler counted them; Llama's sizes */
    static const struct {
        const char *name;
        double parameters;
    } counted[] = {{"bert-base-multilingual-cased", 177853440},
                   {"distiluse-base-multilingual-cased-v1", 134734080},
                   {"paraphrase-multilingual-MiniLM-L12-v2", 117653760},
                   {"paraphrase-multilingual-mpnet-base-v2", 278043648},
                   {"vicuna-7b-v1.5", 6738415616},
                   {"llama-2-13b", 13015864320},
                   {"llama-65b", 65285660672}};
    for (size_t i = 0; i < RT_COUNT(counted); i++) {
        RT_ASSERT_OK(rt_model_named(counted[i].name, &m));
        CU_ASSERT_EQUAL(rt_model_parameters(&m), counted[i].parameters);
    }
    RT_ASSERT_OK(rt_model_named("bert-base", &m));
    CU_ASSERT_EQUAL(rt_model_parameters(&m), 109483778); /* BertForSequenceClassification */
    struct rt_graph graph = build(&m, training(1, 8));
    struct rt_graph_totals totals;
    rt_graph_totals(&graph, &totals);
    CU_ASSERT_EQUAL(totals.parameters, 110106428); /* BertForPreTraining */
    rt_graph_release(&graph);
}

static void test_bert(void)
{
    struct rt_model m;
    struct rt_graph graph;
    RT_ASSERT_OK(rt_model_named("bert-base", &m));
    struct rt_graph_options options = decode(1, 128);
    RT_ASSERT_FAILS(rt_graph_build(&m, &options, &graph), RT_EUSAGE, "keeps no keys and values");
    graph = build(&m, prefill(4, 128));
    assert_ordered(&graph);
    ASSERT_FORWARD(&graph, "classifier", RT_OP_LINEAR, 1, 4, 2, 768);
    CU_ASSERT_PTR_NULL(find_node(&graph, "words"));
    CU_ASSERT_EQUAL(graph.classes, 8);
    /* The mask of padding is broadcast over heads and queries. */
    double scores = 4.0 * 12 * 128 * 128;
    CU_ASSERT_EQUAL(find_kernel(&graph, "attn.mask", RT_FORWARD, 0)->bytes, 4 * (2 * scores + 4 * 128));
    rt_graph_release(&graph);
    graph = build(&m, training(4, 128));
    ASSERT_FORWARD(&graph, "words", RT_OP_LINEAR, 1, 512, 30522, 768);
    CU_ASSERT_EQUAL(graph.classes, 512.0 * 30522);
    rt_graph_release(&graph);
}

/* DistilBERT scales queries, fills scores where the mask of padding is 0, and drops nothing out behind
 * attention; RoBERTa counts positions on the device. */
static void test_relatives_of_bert(void)
{
    struct rt_model m;
    RT_ASSERT_OK(rt_model_named("distilbert-base", &m));
    struct rt_graph graph = build(&m, prefill(4, 128));
    assert_ordered(&graph);
    ASSERT_FORWARD(&graph, "attn.scale", RT_OP_DIV_SCALAR, 4 * 128, 768);
    ASSERT_FORWARD(&graph, "attn.mask_copy", RT_OP_COPY, 4 * 12 * 128, 128);
    double scores = 4.0 * 12 * 128 * 128;
    CU_ASSERT_EQUAL(find_kernel(&graph, "attn.mask", RT_FORWARD, 0)->bytes, 4 * 2 * scores + 4 * 128);
    ASSERT_FORWARD(&graph, "pre_classifier.relu", RT_OP_RELU, 4, 768);
    CU_ASSERT_PTR_NULL(find_node(&graph, "pooler"));
    rt_graph_release(&graph);
    graph = build(&m, training(4, 128));
    CU_ASSERT_PTR_NULL(find_node(&graph, "attn.residual_dropout"));
    CU_ASSERT_PTR_NOT_NULL(find_node(&graph, "mlp.dropout"));
    ASSERT_FORWARD(&graph, "words", RT_OP_LINEAR, 1, 512, 30522, 768);
    rt_graph_release(&graph);
    RT_ASSERT_OK(rt_model_named("xlm-roberta-base", &m));
    graph = build(&m, training(4, 128));
    ASSERT_FORWARD(&graph, "positions.cumsum", RT_OP_REDUCE, 4, 128);
    CU_ASSERT_PTR_NULL(find_node(&graph, "next_sentence"));
    struct rt_graph_totals totals;
    rt_graph_totals(&graph, &totals);
    CU_ASSERT_EQUAL(totals.parameters, 278295186); /* XLMRobertaForMaskedLM */
    rt_graph_release(&graph);
}

static void test_opt_350m(void)
{
    struct rt_model m = config(OPT_350M);
    struct rt_graph graph = build(&m, prefill(2, 64));
    assert_ordered(&graph);
    ASSERT_FORWARD(&graph, "tokens", RT_OP_EMBEDDING, 128, 512);
    ASSERT_FORWARD(&graph, "project_in", RT_OP_LINEAR, 1, 128, 1024, 512);
    ASSERT_FORWARD(&graph, "project_out", RT_OP_LINEAR, 1, 128, 512, 1024);
    ASSERT_FORWARD(&graph, "lm_head", RT_OP_LINEAR, 1, 128, 50272, 512);
    CU_ASSERT_PTR_NULL(find_node(&graph, "layer_norm")); /* none before the head, two in a layer */
    CU_ASSERT_EQUAL(runs(&graph, "attn.layer_norm"), 24);
    CU_ASSERT_EQUAL(runs(&graph, "mlp.layer_norm"), 24);
    CU_ASSERT_TRUE(find_node(&graph, "attn.layer_norm") > find_node(&graph, "attn.residual"));
    rt_graph_release(&graph);
}

static void test_opt_decodes(void)
{
    struct rt_model m;
    RT_ASSERT_OK(rt_model_named("opt-1.3b", &m));
    struct rt_graph graph = build(&m, decode(2, 99));
    assert_ordered(&graph);
    ASSERT_FORWARD(&graph, "attn.q", RT_OP_LINEAR, 1, 2, 2048, 2048);
    ASSERT_FORWARD(&graph, "attn.scores", RT_OP_BMM, 64, 1, 100, 64);
    ASSERT_FORWARD(&graph, "attn.values", RT_OP_BMM, 64, 1, 64, 100);
    ASSERT_FORWARD(&graph, "positions.mask", RT_OP_MUL, 2, 100);
    ASSERT_FORWARD(&graph, "positions.offset", RT_OP_ADD_SCALAR, 2, 1);
    CU_ASSERT_PTR_NULL(find_node(&graph, "mask.causal"));
    CU_ASSERT_EQUAL(graph.cache, 24 * 2.0 * 2 * 100 * 2048);
    rt_graph_release(&graph);
}

static void test_opt_without_bias(void)
{
    struct rt_model m = config("{\"model_type\": \"opt\", \"hidden_size\": 8, \"num_hidden_layers\": 1,"
                               "\"ffn_dim\": 32, \"num_attention_heads\": 2, \"vocab_size\": 10,"
                               "\"max_position_embeddings\": 6, \"enable_bias\": false}");
    /* words, positions, two norms a layer and one at the end, attention, feed-forward */
    CU_ASSERT_EQUAL(rt_model_parameters(&m), 10 * 8 + 8 * 8 + 3 * 16 + 4 * 64 + 2 * 8 * 32);
}

static void test_t5(void)
{
    struct rt_model m = config(T5_V1_1_SMALL);
    struct rt_graph graph = build(&m, prefill(2, 32));
    assert_ordered(&graph);
    CU_ASSERT_EQUAL(m.positions, 0); /* relative: no sequence is too long */
    CU_ASSERT_EQUAL(runs(&graph, "attn.scores"), 16);
    CU_ASSERT_EQUAL(runs(&graph, "cross.scores"), 8);
    CU_ASSERT_EQUAL(runs(&graph, "relative_bias"), 2);
    CU_ASSERT_EQUAL(runs(&graph, "buckets.side"),
                    1); /* the encoder's buckets differ by the sign of the distance */
    CU_ASSERT_EQUAL(runs(&graph, "source_bias.mask"), 1);
    CU_ASSERT_EQUAL(runs(&graph, "router"), 0);
    CU_ASSERT_EQUAL(runs(&graph, "losses.balance"), 0);
    CU_ASSERT_PTR_NULL(find_node(&graph, "scale")); /* only where embeddings are tied */
    ASSERT_FORWARD(&graph, "mlp.gate", RT_OP_LINEAR, 1, 64, 1024, 512);
    ASSERT_FORWARD(&graph, "mlp.product", RT_OP_MUL, 64, 1024);
    ASSERT_FORWARD(&graph, "attn.q", RT_OP_LINEAR, 1, 64, 384, 512);
    ASSERT_FORWARD(&graph, "relative_bias", RT_OP_EMBEDDING, 32 * 32, 6);
    /* heads are adjacent in the bias: a sector for each score, unless the cache still holds it */
    CU_ASSERT_EQUAL(find_kernel(&graph, "attn.bias", RT_FORWARD, 0)->reread_bytes, 28.0 * 2 * 6 * 32 * 32);
    CU_ASSERT_EQUAL(find_kernel(&graph, "attn.bias", RT_FORWARD, 0)->reuse_distance_bytes, 40.0 * 32 * 32);
    CU_ASSERT_EQUAL(find_kernel(&graph, "cross.bias", RT_FORWARD, 0)->reread_bytes, 0);
    rt_graph_release(&graph);
    m = config(T5_SMALL);
    graph = build(&m, prefill(2, 32));
    ASSERT_FORWARD(&graph, "scale", RT_OP_MUL_SCALAR, 64, 512);
    CU_ASSERT_PTR_NULL(find_node(&graph, "mlp.gate"));
    CU_ASSERT_EQUAL(m.decoder.layers, 6);
    rt_graph_release(&graph);
}

/* The decoder alone, and no products for the keys and values of the encoder's tokens. */
static void test_t5_decodes(void)
{
    struct rt_model m = config(T5_SMALL);
    struct rt_graph graph = build(&m, decode(2, 31));
    assert_ordered(&graph);
    CU_ASSERT_EQUAL(runs(&graph, "attn.scores"), 6);
    CU_ASSERT_PTR_NULL(find_node(&graph, "cross.k"));
    ASSERT_FORWARD(&graph, "attn.scores", RT_OP_BMM, 16, 1, 32, 64);
    ASSERT_FORWARD(&graph, "cross.q", RT_OP_LINEAR, 1, 2, 512, 512);
    ASSERT_FORWARD(&graph, "cross.scores", RT_OP_BMM, 16, 1, 31, 64);
    ASSERT_FORWARD(&graph, "lm_head", RT_OP_LINEAR, 1, 2, 32128, 512);
    CU_ASSERT_EQUAL(graph.cache, 6 * 2.0 * 2 * (32 + 31) * 512);
    rt_graph_release(&graph);
}

/* Layers 1, 1 + step ... are sparse, in blocks that repeat. */
static void test_switch_layers(void)
{
    static const struct {
        const char *sizes;
        int64_t layers, sparse;
        size_t blocks;
    } cases[] = {
        {", \"num_layers\": 24, \"encoder_sparse_step\": 2, \"decoder_sparse_step\": 2", 24, 12, 10},
        {", \"num_layers\": 5, \"encoder_sparse_step\": 2, \"decoder_sparse_step\": 2", 5, 2, 8},
        {", \"num_layers\": 9, \"encoder_sparse_step\": 3, \"decoder_sparse_step\": 3", 9, 3, 10},
        {", \"num_layers\": 4, \"encoder_sparse_step\": 1, \"decoder_sparse_step\": 1", 4, 4, 8},
        {", \"num_layers\": 4, \"encoder_sparse_step\": 4, \"decoder_sparse_step\": 4,"
         "\"num_sparse_encoder_layers\": 0, \"num_sparse_decoder_layers\": 0",
         4, 1, 8}, /* the step counts, as in transformers */
        {", \"num_layers\": 4, \"num_sparse_encoder_layers\": 0, \"num_sparse_decoder_layers\": 0", 4, 0, 8},
        {", \"num_layers\": 12", 12, 3, 10},
        {", \"num_layers\": 1", 1, 0, 6}, /* 1 / 3 */
    };
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        char text[512];
        snprintf(text, sizeof text, SWITCH_TINY("%s"), cases[i].sizes);
        struct rt_model m = config(text);
        struct rt_graph graph = build(&m, prefill(3, 100));
        assert_ordered(&graph);
        CU_ASSERT_EQUAL(runs(&graph, "attn.q"), 2 * cases[i].layers);
        CU_ASSERT_EQUAL(runs(&graph, "cross.q"), cases[i].layers);
        CU_ASSERT_EQUAL(runs(&graph, "router"), 2 * cases[i].sparse);
        CU_ASSERT_EQUAL(runs(&graph, "expert.up"), 4 * 2 * cases[i].sparse);
        CU_ASSERT_EQUAL(runs(&graph, "mlp.up"), 2 * (cases[i].layers - cases[i].sparse));
        CU_ASSERT_EQUAL(graph.block_count, cases[i].blocks);
        if (cases[i].sparse > 0)
            ASSERT_FORWARD(&graph, "losses.softmax", RT_OP_SOFTMAX, 300 * cases[i].sparse, 4);
        rt_graph_release(&graph);
    }
}

/* An expert runs over its capacity, or over all tokens where they are fewer. */
static void test_switch_capacity(void)
{
    struct rt_model m = config(SWITCH_TINY(", \"num_layers\": 4, \"expert_capacity\": 64"));
    struct rt_graph graph = build(&m, prefill(3, 100));
    ASSERT_FORWARD(&graph, "expert.up", RT_OP_LINEAR, 1, 3 * 64, 128, 64);
    rt_graph_release(&graph);
    graph = build(&m, prefill(3, 20));
    ASSERT_FORWARD(&graph, "expert.up", RT_OP_LINEAR, 1, 3 * 20, 128, 64);
    rt_graph_release(&graph);
    graph = build(&m, decode(3, 20));
    assert_ordered(&graph);
    ASSERT_FORWARD(&graph, "expert.up", RT_OP_LINEAR, 1, 3, 128, 64);
    CU_ASSERT_PTR_NULL(find_node(&graph, "losses.balance"));
    rt_graph_release(&graph);
}

static void test_bad_configs(void)
{
    struct rt_model m;
    RT_ASSERT_FAILS(
        rt_model_load(
            rt_test_write("bad.json", SWITCH_TINY(", \"num_layers\": 4, \"num_sparse_encoder_layers\": 5")),
            &m),
        RT_EFORMAT, "\"num_sparse_encoder_layers\" is 5 of 4 layers");
    RT_ASSERT_FAILS(
        rt_model_load(
            rt_test_write("bad.json", SWITCH_TINY(", \"num_layers\": 99, \"encoder_sparse_step\": 2,"
                                                  "\"decoder_sparse_step\": 65")),
            &m),
        RT_EFORMAT, "one decoder layer in 65 is sparse");
    RT_ASSERT_FAILS(rt_model_load(rt_test_write("bad.json", SWITCH("\"d_model\": 64, \"d_ff\": 128,"
                                                                   "\"num_heads\": 4, \"num_layers\": 2,"
                                                                   "\"num_experts\": 5000")),
                                  &m),
                    RT_EFORMAT, "\"num_experts\" is 5000");
    RT_ASSERT_FAILS(rt_model_load(rt_test_write("bad.json", SWITCH_TINY(", \"num_layers\": 100000")), &m),
                    RT_EFORMAT, "100000 layers; it may have 65536 at most");
}

/* Two devices: half the heads, inner width and words each, and sums after each half of a layer. */
static void assert_shards(const struct rt_model *m, int64_t hidden, double sums, double gradient_sums)
{
    struct rt_graph_options options = training(2, 32);
    struct rt_graph whole = build(m, options);
    options.tensor_parallel = 2;
    struct rt_graph half = build(m, options);
    struct rt_graph_totals all, part;
    assert_ordered(&half);
    rt_graph_totals(&whole, &all);
    rt_graph_totals(&half, &part);
    CU_ASSERT_TRUE(part.parameters > 0.5 * all.parameters && part.parameters < 0.6 * all.parameters);
    CU_ASSERT_TRUE(part.flops[RT_FORWARD] > 0.5 * all.flops[RT_FORWARD]);
    CU_ASSERT_TRUE(part.flops[RT_FORWARD] < 0.6 * all.flops[RT_FORWARD]);
    CU_ASSERT_EQUAL(reduced(&whole, RT_FORWARD), 0);
    CU_ASSERT_EQUAL(reduced(&half, RT_FORWARD), sums * 64 * (double)hidden);
    CU_ASSERT_EQUAL(reduced(&half, RT_BACKWARD), gradient_sums * 64 * (double)hidden);
    rt_graph_release(&whole);
    rt_graph_release(&half);
}

static void test_shards(void)
{
    struct rt_model m;
    RT_ASSERT_OK(rt_model_named("bert-large", &m));
    assert_shards(&m, 1024, 1 + 2 * 24, 2 * 24 + 1);
    RT_ASSERT_OK(rt_model_named("opt-1.3b", &m));
    assert_shards(&m, 2048, 1 + 2 * 24, 2 * 24 + 1);
    m = config(T5_SMALL);
    /* two embeddings; two sums an encoder layer, three a decoder layer; backward, the encoder's output too */
    assert_shards(&m, 512, 2 + 2 * 6 + 3 * 6, 2 * 6 + 4 * 6 + 1);
    m = config(SWITCH_BASE_8);
    assert_shards(&m, 768, 2 + 2 * 12 + 3 * 12, 2 * 12 + 4 * 12 + 1);
}

RT_TESTS(RT_TEST(test_parameters), RT_TEST(test_bert), RT_TEST(test_relatives_of_bert),
         RT_TEST(test_opt_350m), RT_TEST(test_opt_decodes), RT_TEST(test_opt_without_bias), RT_TEST(test_t5),
         RT_TEST(test_t5_decodes), RT_TEST(test_switch_layers), RT_TEST(test_switch_capacity),
         RT_TEST(test_bad_configs), RT_TEST(test_shards))
