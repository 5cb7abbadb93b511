/* Towers of images beside transformers 5.23.0 (torch 2.15.0): parameters of each of the models' own sizes on
 * the meta device, and FLOPs of small ones by torch.utils.flop_counter. */
#include "find.h"

#include "models/networks/source.h"
#include "models/networks/step.h"
#include "models/networks/tower.h"

#include <math.h>

#define TEXT(type)                                                                                           \
    "\"text_config\": {\"model_type\": \"" type "\", \"hidden_size\": 256, \"num_hidden_layers\": 2, "       \
    "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"head_dim\": 64, \"intermediate_size\": 512, " \
    "\"vocab_size\": 1000}"
#define CONFIG(whole, text, tower)                                                                           \
    "{\"model_type\": \"" whole "\", " TEXT(text) ", \"vision_config\": {" tower "}}"
#define QWEN(depth, deep, text)                                                                              \
    CONFIG("qwen3_vl", text,                                                                                 \
           "\"depth\": " depth ", \"deepstack_visual_indexes\": " deep ", \"patch_size\": 16")
#define GEMMA(layers)                                                                                        \
    CONFIG("gemma4", "gemma4_text",                                                                          \
           "\"hidden_size\": 1152, \"num_attention_heads\": 16, \"intermediate_size\": 4304, "               \
           "\"num_hidden_layers\": " layers)
#define LLAMA(layers)                                                                                        \
    CONFIG("llama4", "llama4_text",                                                                          \
           "\"hidden_size\": 1408, \"image_size\": 336, \"num_hidden_layers\": " layers)

#define MINIMAX CONFIG("minimax_m3_vl", "minimax_m3", "\"hidden_size\": 1280")
#define SIGLIP(whole, text, type, image, merge)                                                              \
    "{\"model_type\": \"" whole "\", " merge                                                                 \
    ", " TEXT(text) ", \"vision_config\": {\"hidden_size\": 1152, "                                          \
                    "\"num_attention_heads\": 16, \"intermediate_size\": 4304, \"num_hidden_layers\": 27, "  \
                    "\"patch_size\": 14, "                                                                   \
                    "\"model_type\": \"" type "\", \"image_size\": " image "}}"
#define CLIP(layer)                                                                                          \
    "{\"model_type\": \"llava\", \"vision_feature_layer\": " layer                                           \
    ", " TEXT("llama") ", \"vision_config\": {"                                                              \
                       "\"hidden_size\": 1024, \"num_attention_heads\": 16, \"intermediate_size\": 4096, "   \
                       "\"num_hidden_layers\": 24, \"patch_size\": 14, \"image_size\": 336}}"
#define QWEN25(depth, full)                                                                                  \
    CONFIG("qwen2_5_vl", "qwen2_5_vl_text",                                                                  \
           "\"hidden_size\": 1280, \"depth\": " depth ", \"fullatt_block_indexes\": " full)

static struct rt_step request(int64_t image, int64_t images)
{
    struct rt_step step = RT_STEP_NOT_GIVEN;
    step.dtype = RT_BF16;
    step.runtime = RT_RUNTIME_SERVING;
    step.batch = 1;
    step.sequence = 64;
    step.image = image;
    step.images = images;
    return step;
}

static struct rt_model_source read_source(const char *text)
{
    struct rt_model_source source = {0};
    RT_ASSERT_OK(rt_model_source_find(rt_test_write("config.json", text), &source));
    return source;
}

/* Of a graph: parameters, and FLOPs of products and attention of the blocks whose names begin with "images".
 */
static void count(const char *text, const struct rt_step *step, double *parameters, double *flops)
{
    struct rt_model_source source = read_source(text);
    struct rt_graph graph;
    *parameters = *flops = 0;
    int status = rt_step_graph(step, &source, NULL, &graph);
    RT_ASSERT_OK(status);
    if (status != RT_OK)
        return;
    for (size_t b = 0; b < graph.block_count; b++) {
        const struct rt_block *block = &graph.blocks[b];
        bool tower = strncmp(block->name, "images", 6) == 0;
        for (uint32_t n = block->node; n < block->node + block->node_count; n++) {
            const struct rt_node *node = &graph.nodes[n];
            *parameters += node->parameters * (double)block->repeat;
            for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++)
                if (tower && (graph.kernels[k].call.op == RT_OP_LINEAR ||
                              graph.kernels[k].call.op == RT_OP_ATTENTION_ENCODER))
                    *flops += graph.kernels[k].flops * (double)block->repeat;
        }
    }
    rt_graph_release(&graph);
}

static void test_parameters(void)
{
    static const struct {
        const char *text;
        int64_t image;
        double tower; /* of transformers, with its last product into 256 columns */
    } rows[] = {
        {QWEN("27", "[8, 16, 24]", "qwen3_vl_text"), 192, 576388336 - 4 * 4609.0 * (4096 - 256)},
        {GEMMA("27"), 192, 572792112 - 1152.0 * (2816 - 256)},
        {MINIMAX, 336, 648500224},
        {LLAMA("34"), 336, 871932416 - 4096.0 * (5120 - 256)},
        {SIGLIP("gemma3", "gemma3_text", "siglip_vision_model", "896", "\"mm_tokens_per_image\": 256"), 896,
         417162096},
        {SIGLIP("paligemma", "gemma", "siglip_vision_model", "224", "\"projection_dim\": 256"), 224,
         412737520},
        {SIGLIP("idefics3", "llama", "idefics3_vision", "364", "\"scale_factor\": 2"), 364, 414105840},
        {CLIP("-2"), 336, 303835648},
        {CONFIG("mistral3", "mistral", "\"patch_size\": 14"), 560, 407828480},
        {CONFIG("qwen2_vl", "qwen2_vl_text", "\"depth\": 32"), 448, 658716416},
        {QWEN25("32", "[7, 15, 23, 31]"), 448, 659507456},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        double with, without, flops;
        struct rt_step step = request(rows[i].image, 0), plain = request(0, 0);
        count(rows[i].text, &step, &with, &flops);
        count(rows[i].text, &plain, &without, &flops);
        CU_ASSERT_EQUAL(flops, 0);
        RT_ASSERT_NEAR(with - without, rows[i].tower, 1e-12);
    }
}

/* vLLM runs no layer behind the one that LLaVA reads, where transformers runs all of CLIP's: its 24th has
 * 15884357632. Attention's own count has its softmax, which that of torch has not: 0.1%. The last products of
 * Llama and Gemma are no part of its class. */
static void test_flops(void)
{
    static const struct {
        const char *text;
        int64_t image;
        double flops, last;
    } rows[] = {
        {QWEN("4", "[0, 1, 2]", "qwen3_vl_text"), 192, 24885854208.0, 0},
        {LLAMA("3"), 336, 100414013952.0, 2.0 * 4096 * 256 * 144},
        {GEMMA("3"), 192, 17984913408.0, 2.0 * 1152 * 256 * 16},
        {SIGLIP("gemma3", "gemma3_text", "siglip_vision_model", "896", "\"mm_tokens_per_image\": 256"), 896,
         5460543406080.0, 0},
        {SIGLIP("paligemma", "gemma", "siglip_vision_model", "224", "\"projection_dim\": 256"), 224,
         219119616000.0, 0},
        {CLIP("-2"), 336, 382295703552.0 - 15884357632.0, 0},
        {CONFIG("mistral3", "mistral", "\"patch_size\": 14"), 560, 1545692774400.0, 0},
        {QWEN25("3", "[1]"), 224, 35035545600.0, 0},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        double parameters, one, three;
        struct rt_step step = request(rows[i].image, 0), more = request(rows[i].image, 3);
        count(rows[i].text, &step, &parameters, &one);
        count(rows[i].text, &more, &parameters, &three);
        RT_ASSERT_NEAR(one, rows[i].flops + rows[i].last, 1e-3);
        RT_ASSERT_NEAR(three, 3 * one, 1e-9);
    }
}

/* Llama 4 cuts a square of two tiles a side into four, and sees the whole, too. */
static void test_tokens(void)
{
    struct rt_model_source qwen = read_source(QWEN("4", "[]", "qwen3_vl_text")),
                           llama = read_source(LLAMA("3")), gemma = read_source(GEMMA("3"));
    CU_ASSERT_EQUAL(rt_vision_tower_tokens(&qwen.model.vision_tower, 448), 196);
    CU_ASSERT_EQUAL(rt_vision_tower_tokens(&llama.model.vision_tower, 336), 144);
    CU_ASSERT_EQUAL(rt_vision_tower_tokens(&llama.model.vision_tower, 672), 720);
    CU_ASSERT_EQUAL(rt_vision_tower_tokens(&gemma.model.vision_tower, 768), 256);
    static const struct {
        const char *text;
        int64_t image, tokens;
    } rows[] = {
        /* scaled to 896; cut into 4 x 4 tiles and the whole; to 336; 40 x 40 patches by 2 x 2 */
        {SIGLIP("gemma3", "gemma3_text", "siglip_vision_model", "896", "\"mm_tokens_per_image\": 256"), 1000,
         256},
        {SIGLIP("idefics3", "llama", "idefics3_vision", "364", "\"scale_factor\": 2"), 1456, 17 * 169},
        {CLIP("-2"), 500, 576},
        {CONFIG("mistral3", "mistral", "\"patch_size\": 14"), 560, 400},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_model_source source = read_source(rows[i].text);
        CU_ASSERT_EQUAL(rt_vision_tower_tokens(&source.model.vision_tower, rows[i].image), rows[i].tokens);
    }
    struct rt_step step = request(448, 2);
    struct rt_settled_step settled;
    RT_ASSERT_OK(rt_step_settle(&step, &qwen, NULL, &settled));
    CU_ASSERT_EQUAL(settled.graph.sequence, 64 + 2 * 196);
    rt_settled_step_release(&settled);
}

static void refuses(const char *text, const struct rt_step *step, const char *words)
{
    struct rt_model_source source = read_source(text);
    struct rt_settled_step settled;
    RT_ASSERT_FAILS(rt_step_settle(step, &source, NULL, &settled), RT_EUSAGE, words);
    rt_settled_step_release(&settled);
}

static void test_refusals(void)
{
    struct rt_model bad;
    struct rt_step alone = request(0, 2), odd = request(100, 1), decode = request(192, 1),
                   eager = request(192, 1);
    decode.mode = RT_STEP_DECODE;
    eager.runtime = RT_RUNTIME_EAGER;
    refuses(QWEN("4", "[]", "qwen3_vl_text"), &alone, "images 2: give their side with image");
    refuses(QWEN("4", "[]", "qwen3_vl_text"), &odd, "cuts images into squares of 32 pixels");
    refuses(QWEN("4", "[]", "qwen3_vl_text"), &decode, "reads images with the prompt");
    refuses(QWEN("4", "[]", "qwen3_vl_text"), &eager, "is forecast as LLM servers run it");
    refuses("{\"model_type\": \"gpt2\"}", &alone, "has no tower of images that is known");
    RT_ASSERT_FAILS(rt_model_load(rt_test_write("config.json", QWEN("-4", "[]", "qwen3_vl_text")), &bad),
                    RT_EFORMAT, "\"depth\" of \"vision_config\" must be a whole number in 1..65536");
    RT_ASSERT_FAILS(rt_model_load(rt_test_write("config.json", CONFIG("llama4", "llama4_text",
                                                                      "\"num_attention_heads\": 7")),
                                  &bad),
                    RT_EFORMAT, "7 heads do not divide the hidden size 768 of \"vision_config\"");
    RT_ASSERT_FAILS(rt_model_load(rt_test_write("config.json", CLIP("[3, 5]")), &bad), RT_EFORMAT,
                    "\"vision_feature_layer\" must be one layer of the tower's 24");
    RT_ASSERT_FAILS(rt_model_load(rt_test_write("config.json", QWEN25("3", "[0, 1, 2, 3]")), &bad),
                    RT_EFORMAT, "\"fullatt_block_indexes\" of \"vision_config\" names 4 layers of 3");
}

RT_TESTS(RT_TEST(test_parameters), RT_TEST(test_flops), RT_TEST(test_tokens), RT_TEST(test_refusals))
