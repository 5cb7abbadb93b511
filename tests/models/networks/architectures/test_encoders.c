/* Encoders of text: parameters of transformers' own models, and FLOPs of their products. */
#include "find.h"
#include "models/networks/memory.h"

#define SMALL                                                                                                \
    ", \"hidden_size\": 128, \"num_hidden_layers\": 3, \"num_attention_heads\": 4, \"intermediate_size\": "  \
    "256, "                                                                                                  \
    "\"vocab_size\": 1000"
#define DISTANCES                                                                                            \
    ", \"relative_attention\": true, \"position_buckets\": 32, \"norm_rel_ebd\": \"layer_norm\", "           \
    "\"share_att_key\": true, \"pos_att_type\": \"p2c|c2p\", \"position_biased_input\": false, "             \
    "\"max_relative_positions\": -1"

static struct rt_model config(const char *type, const char *class, const char *rest)
{
    struct rt_model model = {0};
    char text[1024];
    snprintf(text, sizeof text, "{\"model_type\": \"%s\", \"architectures\": [\"%s\"]%s}", type, class, rest);
    RT_ASSERT_OK(rt_model_load(rt_test_write("config.json", text), &model));
    return model;
}

/* Parameters of the class, FLOPs (2 m n k of all products, and convolutions) of one forward and one backward
 * pass of 128 tokens, by torch's FlopCounterMode with attention written out: transformers 5.23, torch 2.15,
 * meta device (scripts/architectures_table.py). FLOPs 0: what DeBERTa's heads ask of tokens does not run
 * there.
 */
static const struct {
    const char *type, *class, *rest;
    double parameters, forward, backward;
} rows[] = {
    {"albert", "AlbertForMaskedLM", "", 206368944, 622947991552, 1245895983104},
    {"albert", "AlbertForPreTraining", SMALL ", \"embedding_size\": 32, \"num_labels\": 3", 207307, 136151808,
     272236544},
    {"albert", "AlbertForSequenceClassification",
     ", \"hidden_size\": 128, \"num_hidden_layers\": 6, \"num_attention_heads\": 4, \"intermediate_size\": "
     "256, \"vocab_size\": 1000, \"embedding_size\": 32, \"num_hidden_groups\": 2, \"inner_group_num\": 2, "
     "\"num_labels\": 5",
     599813, 504399104, 1008798208},
    {"electra", "ElectraForPreTraining", "", 13549057, 2642477056, 5284954112},
    {"electra", "ElectraForMaskedLM", SMALL ", \"embedding_size\": 32", 455368, 136118272, 272236544},
    {"electra", "ElectraForSequenceClassification", SMALL ", \"embedding_size\": 128, \"num_labels\": 5",
     608645, 125863168, 251726336},
    {"electra", "ElectraModel", SMALL, 591488, 125829120, 251658240},
    {"mpnet", "MPNetForMaskedLM", "", 109516991, 28500099072, 57000198144},
    {"mpnet", "MPNetForTokenClassification",
     SMALL ", \"relative_attention_num_buckets\": 16, \"num_labels\": 5", 591941, 125992960, 251985920},
    {"mpnet", "MPNetModel", SMALL, 607872, 125861888, 251658240},
    {"deberta-v2", "DebertaV2Model", SMALL DISTANCES, 534144, 150994944, 301989888},
    {"deberta-v2", "DebertaV2Model",
     SMALL ", \"relative_attention\": true, \"position_buckets\": 32, \"norm_rel_ebd\": \"none\", "
           "\"share_att_key\": false, \"pos_att_type\": \"p2c|c2p\", \"position_biased_input\": true, "
           "\"max_relative_positions\": -1, \"embedding_size\": 64, \"type_vocab_size\": 2",
     610048, 153092096, 306184192},
    {"deberta-v2", "DebertaV2Model", "", 877507584, 176362094592, 352724189184},
    {"deberta-v2", "DebertaV2Model", SMALL DISTANCES ", \"conv_kernel_size\": 3", 583680, 163577856,
     327155712},
    {"deberta-v2", "DebertaV2ForMaskedLM", SMALL DISTANCES ", \"tie_word_embeddings\": false", 680912, 0, 0},
    {"deberta-v2", "DebertaV2ForSequenceClassification", SMALL DISTANCES ", \"num_labels\": 5", 551301, 0, 0},
    {"modernbert", "ModernBertForMaskedLM", "", 149655232, 39397097472, 78794194944},
    {"modernbert", "ModernBertForSequenceClassification", SMALL ", \"num_labels\": 5, \"pad_token_id\": 0",
     637573, 151028992, 302057984},
    {"modernbert", "ModernBertModel",
     SMALL ", \"norm_bias\": true, \"attention_bias\": true, \"mlp_bias\": true, \"pad_token_id\": 0", 624768,
     150994944, 301989888},
    {"modernbert", "ModernBertForQuestionAnswering", SMALL ", \"classifier_bias\": true, \"pad_token_id\": 0",
     637314, 155254784, 310509568},
    {"roberta", "RobertaForMaskedLM", "", 124696665, 32380747776, 64761495552},
    {"bert", "BertForMaskedLM", SMALL ", \"tie_word_embeddings\": false", 738256, 162791424, 325582848},
    {"ernie", "ErnieForPreTraining", SMALL ", \"use_task_id\": true", 626410, 162824704, 325582848},
    {"megatron-bert", "MegatronBertForMaskedLM", "", 333671808, 0, 0},
    {"roberta-prelayernorm", "RobertaPreLayerNormForTokenClassification", SMALL ", \"num_labels\": 5", 592389,
     125992960, 251985920},
    {"xlm-roberta-xl", "XLMRobertaXLForMaskedLM", "", 3482741760, 896909967360, 1793819934720},
    {"data2vec-text", "Data2VecTextModel", "", 109482240, 22348431360, 44694503424},
};

static void test_parameters_and_flops(void)
{
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_model model = config(rows[i].type, rows[i].class, rows[i].rest);
        struct rt_graph_options options = {
            .step = RT_STEP_TRAINING, .batch = 1, .sequence = 128, .tensor_parallel = 1};
        struct rt_graph graph;
        CU_ASSERT_EQUAL(rt_model_parameters(&model), rows[i].parameters);
        RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
        if (rows[i].forward > 0) {
            CU_ASSERT_DOUBLE_EQUAL(product_flops(&graph, false) / rows[i].forward, 1, 1e-3);
            CU_ASSERT_DOUBLE_EQUAL(product_flops(&graph, true) / rows[i].backward, 1, 1e-3);
        }
        for (size_t n = 0; n < graph.node_count; n++)
            CU_ASSERT_PTR_NOT_NULL(graph.nodes[n].name);
        rt_graph_release(&graph);
    }
}

/* Two devices do each half the FLOPs of the layers, and have half of their weights. */
static void test_tensor_parallel(void)
{
    static const char *const classes[][2] = {{"albert", "AlbertModel"},
                                             {"mpnet", "MPNetModel"},
                                             {"deberta-v2", "DebertaV2Model"},
                                             {"modernbert", "ModernBertModel"}};
    for (size_t i = 0; i < RT_COUNT(classes); i++) {
        struct rt_model model = config(classes[i][0], classes[i][1], SMALL DISTANCES);
        struct rt_graph_options options = {.batch = 2, .sequence = 128, .tensor_parallel = 1};
        struct rt_graph whole, half;
        RT_ASSERT_OK(rt_graph_build(&model, &options, &whole));
        options.tensor_parallel = 2;
        RT_ASSERT_OK(rt_graph_build(&model, &options, &half));
        CU_ASSERT_DOUBLE_EQUAL(product_flops(&half, false) / product_flops(&whole, false), 0.5, 0.03);
        rt_graph_release(&whole);
        rt_graph_release(&half);
    }
}

/* ALBERT's layers run one after the other and are there once, in memory too. */
static void test_shared_layers(void)
{
    struct rt_model few = config("albert", "AlbertModel", SMALL), many;
    many = config("albert", "AlbertModel",
                  ", \"hidden_size\": 128, \"num_hidden_layers\": 30, \"num_attention_heads\": 4, "
                  "\"intermediate_size\": 256, \"vocab_size\": 1000");
    struct rt_graph_options options = {.step = RT_STEP_TRAINING,
                                       .batch = 1,
                                       .sequence = 16,
                                       .tensor_parallel = 1,
                                       .optimizer = RT_OPTIMIZER_ADAMW};
    struct rt_graph_memory need[2];
    struct rt_graph graph;
    CU_ASSERT_EQUAL(rt_model_parameters(&few), rt_model_parameters(&many));
    RT_ASSERT_OK(rt_graph_build(&few, &options, &graph));
    rt_graph_memory(&graph, NULL, &need[0]);
    rt_graph_release(&graph);
    RT_ASSERT_OK(rt_graph_build(&many, &options, &graph));
    rt_graph_memory(&graph, NULL, &need[1]);
    CU_ASSERT_DOUBLE_EQUAL(need[0].weights, need[1].weights, 1);
    CU_ASSERT_DOUBLE_EQUAL(need[0].optimizer, need[1].optimizer, 1);
    rt_graph_release(&graph);
}

/* Fused attention of ModernBERT's windows does as much as windows reach; layers of both kinds are blocks. */
static void test_windows(void)
{
    struct rt_model model = config("modernbert", "ModernBertModel", "");
    struct rt_graph_options options = {
        .batch = 2, .sequence = 1024, .tensor_parallel = 1, .dtype = RT_BF16, .runtime = RT_RUNTIME_COMPILE};
    double flops[3] = {0};
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
    CU_ASSERT_EQUAL_FATAL(graph.block_count, 5);
    CU_ASSERT_EQUAL(graph.blocks[1].repeat, 1);
    CU_ASSERT_EQUAL(graph.blocks[2].repeat, 14);
    CU_ASSERT_EQUAL(graph.blocks[3].repeat, 7);
    for (size_t n = 0; n < graph.node_count; n++)
        for (uint32_t k = 0; k < graph.nodes[n].kernel_count; k++) {
            const struct rt_graph_kernel *kernel = &graph.kernels[graph.nodes[n].kernel + k];
            if (kernel->call.op == RT_OP_ATTENTION_ENCODER)
                flops[graph.nodes[n].block - 1] += kernel->flops;
        }
    CU_ASSERT_EQUAL(flops[0], flops[2]);
    CU_ASSERT_DOUBLE_EQUAL(flops[1] / flops[2], 128.0 / 1024, 1e-3);
    rt_graph_release(&graph);
}

static void test_refused(void)
{
    static const struct {
        const char *type, *class, *rest, *words;
    } bad[] = {
        {"albert", "AlbertForMultipleChoice", "",
         "names AlbertForMultipleChoice, a class that is not known here"},
        {"albert", "AlbertModel", ", \"num_hidden_groups\": 0", "\"num_hidden_groups\" is 0"},
        {"deberta-v2", "DebertaV2Model", ", \"pos_att_type\": 3",
         "\"pos_att_type\" must be a text or a list"},
        {"deberta-v2", "DebertaV2Model", ", \"position_buckets\": -2", "\"position_buckets\" is -2"},
        {"modernbert", "ModernBertModel", ", \"layer_types\": [\"linear\"]", "names \"linear\""},
    };
    for (size_t i = 0; i < RT_COUNT(bad); i++) {
        struct rt_model m;
        char text[512];
        snprintf(text, sizeof text, "{\"model_type\": \"%s\", \"architectures\": [\"%s\"]%s}", bad[i].type,
                 bad[i].class, bad[i].rest);
        RT_ASSERT_FAILS(rt_model_load(rt_test_write("bad.json", text), &m), RT_EFORMAT, bad[i].words);
    }
}

static void test_no_decode(void)
{
    struct rt_model model = config("modernbert", "ModernBertModel", SMALL);
    struct rt_graph_options options = {
        .step = RT_STEP_DECODE, .batch = 1, .context = 16, .tensor_parallel = 1};
    struct rt_graph graph;
    RT_ASSERT_FAILS(rt_graph_build(&model, &options, &graph), RT_EUSAGE, "keeps no keys and values");
}

RT_TESTS(RT_TEST(test_parameters_and_flops), RT_TEST(test_tensor_parallel), RT_TEST(test_shared_layers),
         RT_TEST(test_windows), RT_TEST(test_refused), RT_TEST(test_no_decode))
