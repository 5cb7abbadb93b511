/* Diffusion pipelines: parameters as published, FLOPs by hand, steps, pixels and GPUs. */
#include "models/networks/diffusion/diffusion.h"
#include "models/networks/model.h"
#include "models/networks/find.h"

#include <string.h>

/* Parameters of the blocks whose names begin so, each layer once. */
static double parameters_of(const struct rt_graph *graph, const char *start)
{
    double sum = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_block *block = &graph->blocks[graph->nodes[n].block];
        if (strncmp(block->name, start, strlen(start)) == 0)
            sum += graph->nodes[n].parameters * (double)block->distinct;
    }
    return sum;
}

static double flops_of(const struct rt_graph *graph, const char *start)
{
    double sum = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_node *node = &graph->nodes[n];
        const struct rt_block *block = &graph->blocks[node->block];
        for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++)
            if (strncmp(block->name, start, strlen(start)) == 0)
                sum += graph->kernels[k].flops * (double)block->repeat;
    }
    return sum;
}

static struct rt_graph build(const char *name, struct rt_graph_options options)
{
    options.batch = options.batch > 0 ? options.batch : 1;
    options.runtime = RT_RUNTIME_EAGER;
    options.dtype = RT_BF16;
    return build_images(name, options);
}

/* sum(p.numel() for p in module.parameters()) of diffusers and transformers, as the checkpoints have them. */
static void test_parameters_are_the_checkpoints(void)
{
    static const struct {
        const char *pipeline, *blocks;
        double parameters;
    } published[] = {
        {"sd1.5", "denoise", 859520964},
        {"sd1.5", "text clip-l", 123060480},
        {"sd1.5", "decode", 49490199},
        {"stabilityai/stable-diffusion-2-1", "denoise", 865910724},
        {"sdxl", "denoise", 2567463684},
        {"sdxl", "text openclip-bigg", 694659840},
        {"sd3-medium", "denoise", 2028328000},
        {"sd3.5-large", "denoise", 8056627520},
        {"sd3.5-large", "text t5-xxl", 4762310656},
        {"flux.1-dev", "denoise", 11901408320},
        {"flux.1-schnell", "denoise", 11891178560},
        {"flux.1-dev", "decode", 49545475},
        {"pixart-sigma", "denoise", 610856096},
        {"hunyuanvideo", "denoise", 12821012544},
        {"wan2.1-t2v-1.3b", "denoise", 1418996800},
        {"wan2.1-t2v-14b", "denoise", 14288491584},
        {"wan2.2-t2v-a14b", "denoise", 2 * 14288491584.0},
        {"wan2.1-t2v-14b", "text umt5-xxl", 5680910336},
    };
    for (size_t i = 0; i < RT_COUNT(published); i++) {
        struct rt_graph graph = build(published[i].pipeline, (struct rt_graph_options){0});
        double parameters = parameters_of(&graph, published[i].blocks);
        if (parameters != published[i].parameters)
            printf("# %s, %s: %.0f parameters, expected %.0f\n", published[i].pipeline, published[i].blocks,
                   parameters, published[i].parameters);
        CU_ASSERT_EQUAL(parameters, published[i].parameters);
        rt_graph_release(&graph);
    }
}

/* FLUX: a token passes 12 h^2 weights a layer, 4096 of the image and 512 of the text attend to all. */
static void test_flops_of_a_step(void)
{
    struct rt_graph graph = build("flux.1-dev", (struct rt_graph_options){.denoising_steps = 1});
    double tokens = 4096 + 512, h = 3072, layers = 19 + 38;
    double expected = layers * (2 * 12 * h * h * tokens + 4 * tokens * tokens * h);
    RT_ASSERT_NEAR(flops_of(&graph, "denoise"), expected, 0.02);
    rt_graph_release(&graph);
    /* Wan: 480 x 832 x 81 frames are 21 x 30 x 52 tokens, twice a step; text's keys and values are 512 rows.
     */
    graph = build("wan2.1-t2v-14b", (struct rt_graph_options){.denoising_steps = 1});
    tokens = 21 * 30 * 52;
    h = 5120;
    double weights = 6 * h * h + 2 * 13824 * h;
    expected = 2 * 40 * (2 * weights * tokens + 4 * tokens * (tokens + 512) * h + 2 * 2 * h * h * 512);
    RT_ASSERT_NEAR(flops_of(&graph, "denoise"), expected, 0.01);
    rt_graph_release(&graph);
}

/* Twice the steps denoise twice as much, and neither encode nor decode more. */
static void test_steps_and_guidance(void)
{
    struct rt_graph ten = build("sd3.5-medium", (struct rt_graph_options){.denoising_steps = 10}),
                    twenty = build("sd3.5-medium", (struct rt_graph_options){.denoising_steps = 20});
    CU_ASSERT_EQUAL(2 * flops_of(&ten, "denoise"), flops_of(&twenty, "denoise"));
    CU_ASSERT_EQUAL(flops_of(&ten, "text"), flops_of(&twenty, "text"));
    CU_ASSERT_EQUAL(flops_of(&ten, "decode"), flops_of(&twenty, "decode"));
    CU_ASSERT_EQUAL(parameters_of(&ten, "denoise"), parameters_of(&twenty, "denoise"));
    rt_graph_release(&ten);
    rt_graph_release(&twenty);
    struct rt_model base, turbo;
    RT_ASSERT_OK(rt_model_named("sdxl", &base));
    RT_ASSERT_OK(rt_model_named("stabilityai/sdxl-turbo", &turbo));
    struct rt_graph guided = build("sdxl", (struct rt_graph_options){.denoising_steps = 1, .image = 512}),
                    plain =
                        build("sdxl-turbo", (struct rt_graph_options){.denoising_steps = 1, .image = 512});
    CU_ASSERT_EQUAL(flops_of(&guided, "denoise"), 2 * flops_of(&plain, "denoise"));
    CU_ASSERT_EQUAL(rt_model_parameters(&base), rt_model_parameters(&turbo));
    rt_graph_release(&guided);
    rt_graph_release(&plain);
}

static size_t kernels_of(const struct rt_graph *graph, enum rt_op_id op)
{
    size_t count = 0;
    for (size_t k = 0; k < graph->kernel_count; k++)
        count += graph->kernels[k].call.op == op;
    return count;
}

/* Ulysses and ring: as many attention FLOPs in all as one GPU's, and messages between. */
static void test_tokens_on_several_gpus(void)
{
    struct rt_graph one = build("wan2.1-t2v-14b", (struct rt_graph_options){.denoising_steps = 1}),
                    four = build("wan2.1-t2v-14b",
                                 (struct rt_graph_options){.denoising_steps = 1, .ulysses = 2, .ring = 2});
    CU_ASSERT_EQUAL(kernels_of(&one, RT_OP_ALL_TO_ALL), 0);
    CU_ASSERT_EQUAL(kernels_of(&four, RT_OP_ALL_TO_ALL), 4);
    double share = flops_of(&four, "denoise layers") / flops_of(&one, "denoise layers");
    CU_ASSERT_TRUE(share >= 0.25 && share < 0.26);
    CU_ASSERT_EQUAL(parameters_of(&one, "denoise"), parameters_of(&four, "denoise"));
    rt_graph_release(&one);
    rt_graph_release(&four);
}

/* xDiT's long-context attention copies for a ring alone, too, where text does not divide or is apart; its USP
 * does not. SANA's borders have the image's weights. */
static void test_long_context(void)
{
    const struct rt_graph_options ring = {.denoising_steps = 1, .ring = 2}, alone = {.denoising_steps = 1};
    struct rt_graph pixart = build("pixart-sigma", ring), flux = build("flux.1-dev", ring),
                    sana = build("sana1.5-1.6b", ring), whole = build("sana1.5-1.6b", alone);
    CU_ASSERT_EQUAL(kernels_of(&pixart, RT_OP_ALL_TO_ALL), 0);
    CU_ASSERT_EQUAL(count_nodes(&pixart, "ulysses.pack"), 4);
    CU_ASSERT_EQUAL(count_nodes(&pixart, "ulysses.unpack"), 4);
    CU_ASSERT_EQUAL(count_nodes(&pixart, "cache.cat"), 1);
    CU_ASSERT_EQUAL(count_nodes(&flux, "ulysses.pack") + count_nodes(&flux, "cache.cat"), 0);
    CU_ASSERT_EQUAL(count_nodes(&sana, "ff.border"), 3);
    CU_ASSERT_EQUAL(count_nodes(&whole, "ff.border"), 0);
    CU_ASSERT_EQUAL(parameters_of(&sana, "denoise"), parameters_of(&whole, "denoise"));
    rt_graph_release(&pixart);
    rt_graph_release(&flux);
    rt_graph_release(&sana);
    rt_graph_release(&whole);
}

/* Kernels that fuse attention are of 16 bits. */
static void test_attention_of_32_bits(void)
{
    struct rt_graph_options options = {.batch = 1, .dtype = RT_FP32, .runtime = RT_RUNTIME_EAGER};
    struct rt_graph graph = build_images("sd1.5", options);
    CU_ASSERT_EQUAL(kernels_of(&graph, RT_OP_ATTENTION_ENCODER) + kernels_of(&graph, RT_OP_ATTENTION_CROSS),
                    0);
    CU_ASSERT_TRUE(kernels_of(&graph, RT_OP_SOFTMAX) > 0);
    rt_graph_release(&graph);
}

/* The denoiser alone is trained, once a step and without guidance: its products take twice their forward
 * FLOPs back, but for gradients that nobody reads; text encoders run forward, latents are ready. */
static void test_training(void)
{
    static const char *const names[] = {"sd21", "sdxl", "flux.1-dev", "wan2.1-t2v-1.3b", "sana"};
    for (size_t i = 0; i < RT_COUNT(names); i++) {
        struct rt_graph_options options = {.step = RT_STEP_TRAINING, .optimizer = RT_OPTIMIZER_ADAMW};
        struct rt_graph trained = build(names[i], options);
        options = (struct rt_graph_options){.denoising_steps = 1};
        struct rt_graph run = build(names[i], options);
        double flops[2] = {0}, weights = 0, optimizer = 0;
        for (size_t n = 0; n < trained.node_count; n++) {
            const struct rt_node *node = &trained.nodes[n];
            const struct rt_block *block = &trained.blocks[node->block];
            bool text = strncmp(block->name, "text", 4) == 0;
            CU_ASSERT_TRUE(strncmp(block->name, "decode", 6) != 0);
            weights +=
                rt_node_trained(node) * (double)(block->distinct > 0 ? block->distinct : block->repeat);
            for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++) {
                const struct rt_graph_kernel *kernel = &trained.kernels[k];
                CU_ASSERT_TRUE(!text || kernel->call.phase == RT_FORWARD);
                if (kernel->call.op == RT_OP_OPTIMIZER)
                    optimizer += (double)kernel->call.dim[0];
                else if (!text)
                    flops[kernel->call.phase != RT_FORWARD] += kernel->flops * (double)block->repeat;
            }
        }
        RT_ASSERT_NEAR(weights, parameters_of(&run, "denoise"), 1e-9);
        RT_ASSERT_NEAR(optimizer, weights, 1e-6);
        CU_ASSERT_TRUE(flops[1] > 1.8 * flops[0] && flops[1] < 2.5 * flops[0]);
        rt_graph_release(&trained);
        rt_graph_release(&run);
    }
}

static void test_what_does_not_fit(void)
{
    static const struct {
        const char *name;
        struct rt_graph_options options;
        const char *sentence;
    } wrong[] = {
        {"flux.1-dev", {.step = RT_STEP_TRAINING, .ring = 2}, "training denoises once a step"},
        {"flux.1-dev", {.frames = 5}, "makes images, not videos"},
        {"wan2.1-t2v-1.3b", {.frames = 80}, "give 77 or 81"},
        {"flux.1-dev", {.image = 1000}, "give a multiple"},
        {"flux.1-dev", {.image = 1024, .image_width = 1000}, "widths that are multiples of 16"},
        {"wan2.1-t2v-1.3b", {.ulysses = 8}, "does not divide the 12 heads"},
        {"sdxl", {.ring = 2}, "has a U-Net"},
        {"sdxl", {.step = RT_STEP_DECODE}, "does not decode"},
    };
    for (size_t i = 0; i < RT_COUNT(wrong); i++) {
        struct rt_model model;
        struct rt_graph graph;
        struct rt_graph_options options = wrong[i].options;
        options.batch = options.tensor_parallel = 1;
        RT_ASSERT_OK(rt_model_named(wrong[i].name, &model));
        RT_ASSERT_FAILS(rt_graph_build(&model, &options, &graph), RT_EUSAGE, wrong[i].sentence);
    }
}

/* Every pipeline, eager and compiled: whole dims, names that are found, the same parameters. */
static void test_all_pipelines_build(void)
{
    const struct rt_vision *vision;
    size_t pipelines = 0;
    for (size_t i = 0; (vision = rt_vision_at(i)) != NULL; i++) {
        if (vision->diffusion == NULL)
            continue;
        struct rt_model model;
        struct rt_graph_options options = {.batch = 2, .dtype = RT_FP16, .runtime = RT_RUNTIME_COMPILE};
        rt_model_of_images(vision, &model);
        struct rt_graph graph = build_images(vision->name, options);
        CU_ASSERT_EQUAL(graph_parameters(&graph), rt_model_parameters(&model));
        for (size_t b = 0; b < graph.block_count; b++)
            for (uint32_t n = graph.blocks[b].node; n < graph.blocks[b].node + graph.blocks[b].node_count;
                 n++)
                for (uint32_t m = graph.blocks[b].node; m < n; m++)
                    if (strcmp(graph.nodes[n].name, graph.nodes[m].name) == 0)
                        CU_FAIL("two nodes of a block have one name");
        rt_graph_release(&graph);
        pipelines++;
    }
    CU_ASSERT_EQUAL(pipelines, 20);
}

RT_TESTS(RT_TEST(test_parameters_are_the_checkpoints), RT_TEST(test_flops_of_a_step),
         RT_TEST(test_steps_and_guidance), RT_TEST(test_tokens_on_several_gpus), RT_TEST(test_long_context),
         RT_TEST(test_attention_of_32_bits), RT_TEST(test_training), RT_TEST(test_what_does_not_fit),
         RT_TEST(test_all_pipelines_build))
