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

/* Attention's own count has its softmax, which that of torch has not: 0.1%. The last products of Llama and
 * Gemma are no part of its class. */
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
}

RT_TESTS(RT_TEST(test_parameters), RT_TEST(test_flops), RT_TEST(test_tokens), RT_TEST(test_refusals))
