/* Encoders of images, vision_encoders.c: parameters of transformers' own models, and FLOPs of their products.
 */
#include "find.h"

#define IMAGES_FIRST                                                                                         \
    "\"hidden_size\": 128, \"num_hidden_layers\": 3, \"num_attention_heads\": 4, "                           \
    "\"intermediate_size\": 256, \"image_size\": 64, \"patch_size\": 16"
#define TEXT_FIRST                                                                                           \
    "\"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "                            \
    "\"intermediate_size\": 128, \"vocab_size\": 1000, \"max_position_embeddings\": 32"
#define IMAGES ", " IMAGES_FIRST
#define TEXT   ", " TEXT_FIRST

static struct rt_model config(const char *type, const char *class, const char *rest)
{
    struct rt_model model = {0};
    char text[1024];
    snprintf(text, sizeof text, "{\"model_type\": \"%s\", \"architectures\": [\"%s\"]%s}", type, class, rest);
    RT_ASSERT_OK(rt_model_load(rt_test_write("config.json", text), &model));
    return model;
}

/* Parameters of the class, FLOPs of products and convolutions of one forward and one backward pass of an
 * image and as many tokens as the model has positions, by torch's FlopCounterMode with attention written out:
 * transformers 5.23, torch 2.15, meta device (scripts/architectures_table.py). A pooled output got no
 * gradient there, so those of Model and ModelWithProjection are a little fewer. */
static const struct {
    const char *type, *class, *rest;
    double parameters, forward, backward;
} rows[] = {
    {"vit", "ViTForImageClassification", IMAGES ", \"num_labels\": 7", 499335, 16960768, 30775808},
    {"vit", "ViTModel", IMAGES ", \"pooler_output_size\": 32, \"qkv_bias\": false", 501408, 16967168,
     30772224},
    {"vit", "ViTForImageClassification", "", 85800194, 35126123520, 70021036032},
    {"deit", "DeiTForImageClassification", IMAGES, 498946, 17799680, 32453632},
    {"deit", "DeiTForImageClassificationWithTeacher", IMAGES ", \"num_labels\": 7", 500494, 17802752,
     32459776},
    {"clip", "CLIPModel", "", 151277313, 14777164800, 29323118592},
    {"clip", "CLIPModel",
     ", \"text_config\": {" TEXT_FIRST "}, \"vision_config\": {" IMAGES_FIRST "}, \"projection_dim\": 48",
     640897, 21696096, 40246464},
    {"clip", "CLIPModel", ", \"vision_config\": {\"patch_size\": 16}, \"projection_dim\": 48", 149026817,
     41085259872, 81939308736},
    {"clip", "CLIPForImageClassification",
     ", \"text_config\": {" TEXT_FIRST "}, \"vision_config\": {" IMAGES_FIRST
     "}, \"projection_dim\": 48, \"num_labels\": 7",
     499463, 16960768, 30775808},
    {"clip_text_model", "CLIPTextModel", TEXT, 133120, 4718592, 9437184},
    {"clip_text_model", "CLIPTextModelWithProjection", TEXT ", \"projection_dim\": 24", 134656, 4721664,
     9437184},
    {"clip_vision_model", "CLIPVisionModel", IMAGES, 498560, 16958976, 30772224},
    {"clip_vision_model", "CLIPVisionModelWithProjection", IMAGES ", \"projection_dim\": 24", 501632,
     16965120, 30772224},
};

static void test_parameters_and_flops(void)
{
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_model model = config(rows[i].type, rows[i].class, rows[i].rest);
        struct rt_graph_options options = {.step = RT_STEP_TRAINING, .batch = 1, .tensor_parallel = 1};
        struct rt_graph graph;
        bool pooled = model.head == RT_MODEL_HEAD_NONE || model.head == RT_MODEL_HEAD_PROJECTION;
        options.sequence = model.positions > 0 ? model.positions : 1;
        CU_ASSERT_EQUAL(rt_model_parameters(&model), rows[i].parameters);
        RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
        CU_ASSERT_DOUBLE_EQUAL(product_flops(&graph, false) / rows[i].forward, 1, 1e-4);
        CU_ASSERT_DOUBLE_EQUAL(product_flops(&graph, true) / rows[i].backward, 1, pooled ? 2e-3 : 1e-3);
        for (size_t n = 0; n < graph.node_count; n++)
            CU_ASSERT_PTR_NOT_NULL(graph.nodes[n].name);
        rt_graph_release(&graph);
    }
}

/* Tokens are patches and what is put before them, whatever the length of sequences that is asked for; another
 * size of images changes their number and no weight. */
static void test_sizes(void)
{
    struct rt_model model = config("deit", "DeiTModel", IMAGES);
    struct rt_graph_options options = {.batch = 1, .sequence = 1, .tensor_parallel = 1};
    struct rt_graph graph;
    struct rt_graph_totals totals[2];
    CU_ASSERT_EQUAL(rt_model_image(&model), 64);
    CU_ASSERT_FALSE(rt_model_reads_text(&model));
    CU_ASSERT_EQUAL(rt_model_default_sequence(&model), 18);
    for (int i = 0; i < 2; i++) {
        options.image = i == 0 ? 0 : 128;
        RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
        CU_ASSERT_EQUAL(graph.options.sequence, i == 0 ? 18 : 66);
        CU_ASSERT_EQUAL(graph.input_bytes, 4.0 * 3 * (i == 0 ? 64 * 64 : 128 * 128));
        rt_graph_totals(&graph, &totals[i]);
        rt_graph_release(&graph);
    }
    CU_ASSERT_EQUAL(totals[0].parameters, totals[1].parameters);
    options.image = 72;
    RT_ASSERT_FAILS(rt_graph_build(&model, &options, &graph), RT_EUSAGE, "patches of 16 pixels");
}

/* CLIP reads both, and each tower its own. */
static void test_towers(void)
{
    struct rt_model model = config(
        "clip", "CLIPModel", ", \"text_config\": {" TEXT_FIRST "}, \"vision_config\": {" IMAGES_FIRST "}");
    struct rt_graph_options options = {.batch = 2, .sequence = 7, .tensor_parallel = 1};
    struct rt_graph graph;
    double half, whole;
    CU_ASSERT_EQUAL(rt_model_image(&model), 64);
    CU_ASSERT_TRUE(rt_model_reads_text(&model));
    RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
    CU_ASSERT_EQUAL(graph.input_bytes, 2 * (7 * 8 + 4.0 * 3 * 64 * 64));
    CU_ASSERT_EQUAL(graph.classes, 4);
    CU_ASSERT_EQUAL(graph.blocks[1].repeat, 3);
    CU_ASSERT_EQUAL(graph.blocks[3].repeat, 2);
    whole = product_flops(&graph, false);
    rt_graph_release(&graph);
    options.tensor_parallel = 2;
    RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
    half = product_flops(&graph, false);
    rt_graph_release(&graph);
    CU_ASSERT_TRUE(half / whole > 0.5 && half / whole < 0.65); /* patches are not cut */
}

static void test_refused(void)
{
    static const struct {
        const char *type, *class, *rest, *words;
    } bad[] = {
        {"vit", "ViTModel", ", \"image_size\": [224, 196]", "\"image_size\" must be a whole number, or two"},
        {"vit", "ViTModel", ", \"image_size\": 8", "patches of 16 pixels do not fit into images of 8"},
        {"vit", "ViTModel", ", \"image_size\": 2147483648", "a side may have 16384 pixels at most"},
        {"vit", "ViTForMaskedImageModeling", "",
         "names ViTForMaskedImageModeling, a class that is not known"},
        {"deit", "DeiTModel", ", \"patch_size\": 0", "\"patch_size\" is 0"},
        {"clip", "CLIPModel", ", \"vision_config\": {\"num_attention_heads\": 7}",
         "7 heads do not divide the hidden size 768 of \"vision_config\""},
        {"clip", "CLIPModel", ", \"text_config\": {\"vocab_size\": -1}", "\"text_config.vocab_size\" is -1"},
    };
    struct rt_model m = config("vit", "ViTModel", IMAGES);
    struct rt_graph_options options = {
        .step = RT_STEP_DECODE, .batch = 1, .context = 16, .tensor_parallel = 1};
    struct rt_graph graph;
    RT_ASSERT_FAILS(rt_graph_build(&m, &options, &graph), RT_EUSAGE, "does not decode");
    for (size_t i = 0; i < RT_COUNT(bad); i++) {
        char text[512];
        snprintf(text, sizeof text, "{\"model_type\": \"%s\", \"architectures\": [\"%s\"]%s}", bad[i].type,
                 bad[i].class, bad[i].rest);
        RT_ASSERT_FAILS(rt_model_load(rt_test_write("bad.json", text), &m), RT_EFORMAT, bad[i].words);
    }
}

RT_TESTS(RT_TEST(test_parameters_and_flops), RT_TEST(test_sizes), RT_TEST(test_towers), RT_TEST(test_refused))
