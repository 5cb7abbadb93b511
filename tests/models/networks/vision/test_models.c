/* Models of images against torchvision's and timm's: parameters to the last one, FLOPs of convolutions and
 * products within 0.1%. */
#include "models/networks/find.h"
#include "models/networks/vision/vision.h"

#include <stdlib.h>

/* clang-format off */
static const struct {
    const char *name;
    double parameters; /* sum of numel() of model.parameters() */
    double flops;      /* torch.utils.flop_counter, one image of the model's size, inference */
} published[] = {
    /* torchvision 0.29.2, PyTorch 2.15; scripts/crosscheck_vision.py counts again */
    {"alexnet", 61100840, 1428376960},
    {"vgg11", 132863336, 15218180096},
    {"vgg13", 133047848, 22616932352},
    {"vgg16", 138357544, 30940528640},
    {"vgg19", 143667240, 39264124928},
    {"vgg11_bn", 132868840, 15218180096},
    {"vgg13_bn", 133053736, 22616932352},
    {"vgg16_bn", 138365992, 30940528640},
    {"vgg19_bn", 143678248, 39264124928},
    {"retinanet_resnet50_fpn", 34014999, 303080874496}, /* torchvision's weights: 34014999, 151.54 GMAC */
    {"resnet18", 11689512, 3628146688},
    {"resnet34", 21797672, 7327522816},
    {"resnet50", 25557032, 8178368512},
    {"resnet101", 44549160, 15602810880},
    {"resnet152", 60192808, 23027253248},
    {"resnext50_32x4d", 25028904, 8460959744},
    {"resnext101_32x8d", 88791336, 32828030976},
    {"resnext101_64x4d", 83455272, 30920540160},
    {"wide_resnet50_2", 68883240, 22796042240},
    {"wide_resnet101_2", 126886696, 45506101248},
    {"googlenet", 13004888, 2996752384},
    {"inception_v3", 27161264, 11426432192},
    {"densenet121", 7978856, 5668323328},
    {"densenet161", 28681000, 15455814144},
    {"densenet169", 14149480, 6719686656},
    {"densenet201", 20013928, 8582731776},
    {"squeezenet1_0", 1248424, 1637849152},
    {"squeezenet1_1", 1235496, 698303872},
    {"shufflenet_v2_x0_5", 1366792, 80952896},
    {"shufflenet_v2_x1_0", 2278604, 289815984},
    {"shufflenet_v2_x1_5", 3503624, 591518784},
    {"shufflenet_v2_x2_0", 7393996, 1166506928},
    {"mobilenet_v2", 3504872, 601548544},
    {"mobilenet_v3_large", 5483032, 433179520},
    {"mobilenet_v3_small", 2542856, 113020800},
    {"mnasnet0_5", 2218512, 208911936},
    {"mnasnet0_75", 3170208, 430986208},
    {"mnasnet1_0", 4383312, 628831744},
    {"mnasnet1_3", 6282256, 1052724864},
    {"efficientnet_b0", 5288548, 771629504},
    {"efficientnet_b1", 7794184, 1373605664},
    {"efficientnet_b2", 9109994, 2175058912},
    {"efficientnet_b3", 12233232, 3654282784},
    {"efficientnet_b4", 19341616, 8787542048},
    {"efficientnet_b5", 30389784, 20532769504},
    {"efficientnet_b6", 43040704, 38135187072},
    {"efficientnet_b7", 66347960, 75491768384},
    {"efficientnet_v2_s", 21458488, 16731234304},
    {"efficientnet_v2_m", 54139356, 49164920768},
    {"efficientnet_v2_l", 118515272, 112159398016},
    /* timm 1.0.31 */
    {"vit_b_16", 86567656, 35127656448},
    {"vit_b_32", 88224232, 8818372608},
    {"vit_l_16", 304326632, 123109425152},
    {"vit_h_14", 632045800, 334590218240},
    {"vit_small_patch16_384", 22196584, 30980702208},
    {"deit_base_patch16_224", 86567656, 35127656448},
    {"deit_base_distilled_patch16_224", 87338192, 35313623040},
    {"deit3_base_patch16_224", 86585320, 35127656448},
    {"vit_base_patch16_siglip_224", 92884224, 35416584192},
    {"vit_base_patch14_reg4_dinov2", 86582016, 304231532544},
    {"vit_base_patch16_clip_224", 86568424, 35127656448},
    {"swin_t", 28288354, 8981133312},
    {"swin_s", 49606258, 17481750528},
    {"swin_b", 87768224, 30861893632},
    {"swin_s3_small_224", 49737298, 18809407488},
    {"convnext_tiny", 28589128, 8911062528},
    {"convnext_atto_ols", 3702912, 1153069824},
    {"convnext_large_mlp", 200128168, 140252270592},
    {"convnextv2_base", 88717800, 30709458944},
    {"convnext_tiny_hnf", 28589128, 8911062528},
    {"mobilenetv1_100", 4231976, 1137480704},
    {"mobilenetv2_140", 6108776, 1164391648},
    {"mobilenetv3_large_100", 5483032, 433179520},
    {"mobilenetv4_conv_medium", 9715512, 2160488448},
    {"tf_efficientnet_lite2", 6092072, 1719472544},
    {"tf_efficientnetv2_b0", 7139704, 1056373504},
    {"mnasnet_a1", 3887038, 623158144},
    {"fbnetv3_b", 8598464, 815017152},
    {"lcnet_050", 1880856, 89462016},
    {"hardcorenas_f", 8199688, 683811392},
    {"mobilenet_edgetpu_v2_xs", 4459880, 1376429056},
    {"resnet50d", 25576264, 8657649664},
    {"ecaresnet50t", 25573814, 11224296960},
    {"seresnet50", 28088024, 8183398400},
    {"resnetrs50", 35691912, 4557258752},
    {"resnetaa50", 25557032, 10259267584},
    {"senet154", 115088984, 41376727040},
    {"regnet_y_400mf", 4344144, 803685696},
    {"regnetx_032", 15296552, 6353243904},
    /* neither library has it: LeCun et al. 1998 with average pools without weights, 156 + 2416 + 48120 + 10164 +
     * 850 parameters */
    {"lenet5", 61706, 2 * (117600 + 240000 + 48000 + 10080 + 840)},
};
/* clang-format on */

/* Without biases, which flop_counter does not count. */
static double flops_of(const struct rt_graph_kernel *kernel)
{
    int64_t batch, m, n, k;
    if (kernel->call.op == RT_OP_CONV2D || kernel->call.op == RT_OP_ATTENTION_ENCODER)
        return kernel->flops;
    return rt_call_product(&kernel->call, &batch, &m, &n, &k)
               ? 2.0 * (double)batch * (double)m * (double)n * (double)k
               : 0;
}

static double counted_flops(const struct rt_graph *graph)
{
    double flops = 0;
    for (size_t n = 0; n < graph->node_count; n++)
        for (uint32_t k = 0; k < graph->nodes[n].kernel_count; k++) {
            const struct rt_graph_kernel *kernel = &graph->kernels[graph->nodes[n].kernel + k];
            flops += flops_of(kernel) * (double)rt_graph_repeat(graph, &graph->nodes[n]);
        }
    return flops;
}

static void test_parameters_and_flops_are_the_libraries(void)
{
    for (size_t i = 0; i < RT_COUNT(published); i++) {
        struct rt_model model;
        struct rt_graph_totals totals;
        struct rt_graph graph = build_images(published[i].name, (struct rt_graph_options){.batch = 1});
        rt_graph_totals(&graph, &totals);
        if (totals.parameters != published[i].parameters)
            printf("# %s: %.0f parameters, expected %.0f\n", published[i].name, totals.parameters,
                   published[i].parameters);
        CU_ASSERT_EQUAL(totals.parameters, published[i].parameters);
        RT_ASSERT_NEAR(counted_flops(&graph), published[i].flops, 1e-3);
        rt_graph_release(&graph);
        RT_ASSERT_OK(rt_model_named(published[i].name, &model));
        CU_ASSERT_EQUAL(rt_model_parameters(&model), published[i].parameters);
    }
}

/* Nodes are found by block and name: where a block repeats, or another has its name, too. */
static void check_names(const struct rt_graph *graph)
{
    for (size_t b = 0; b < graph->block_count; b++) {
        const struct rt_block *block = &graph->blocks[b];
        for (uint32_t i = block->node; i < block->node + block->node_count; i++)
            for (uint32_t j = block->node; j < i; j++)
                if (strcmp(graph->nodes[i].name, graph->nodes[j].name) == 0)
                    CU_ASSERT_STRING_EQUAL(graph->nodes[i].name, "cast");
    }
}

/* Layout, precision and fusion change kernels, not parameters. */
static void test_all_models_build_in_all_forms(void)
{
    static const struct rt_graph_options forms[] = {
        {.batch = 2, .channels_last = true, .dtype = RT_FP16, .runtime = RT_RUNTIME_COMPILE},
        {.batch = 2, .step = RT_STEP_TRAINING, .optimizer = RT_OPTIMIZER_SGD},
        {.batch = 2, .step = RT_STEP_TRAINING, .runtime = RT_RUNTIME_COMPILE, .dtype = RT_BF16},
        {.batch = 2, .step = RT_STEP_TRAINING, .dtype = RT_FP16, .autocast = true, .channels_last = true},
    };
    const struct rt_vision *vision;
    for (size_t i = 0; (vision = rt_vision_at(i)) != NULL; i++) {
        struct rt_model model;
        CU_ASSERT_PTR_NOT_NULL(rt_vision_family_of(vision));
        if (vision->diffusion != NULL) /* tests/models/networks/diffusion */
            continue;
        rt_model_of_images(vision, &model);
        for (size_t f = 0; f < RT_COUNT(forms); f++) {
            struct rt_graph_totals totals;
            struct rt_graph_options form = forms[f];
            struct rt_graph graph;
            form.tensor_parallel = 1;
            RT_ASSERT_OK(rt_graph_build(&model, &form, &graph));
            rt_graph_totals(&graph, &totals);
            CU_ASSERT_EQUAL(totals.parameters, rt_model_parameters(&model));
            CU_ASSERT_EQUAL(graph.options.image, vision->image);
            if (vision->classes > 0 && graph.classes != forms[f].batch * vision->classes)
                printf("# %s: %g classes\n", vision->name, graph.classes / (double)forms[f].batch);
            if (vision->classes > 0) /* 0: features */
                CU_ASSERT_EQUAL(graph.classes, forms[f].batch * vision->classes);
            check_names(&graph);
            rt_graph_release(&graph);
        }
    }
}

static void test_names_and_aliases(void)
{
    static const char *const pairs[][2] = {{"ResNet-50", "resnet50"},
                                           {"VGG-16_bn", "vgg16_bn"},
                                           {"LeNet", "lenet5"},
                                           {"EfficientNetV2-S", "efficientnet_v2_s"},
                                           {"MobileNet v2", "mobilenet_v2"}};
    struct rt_model model;
    for (size_t i = 0; i < RT_COUNT(pairs); i++) {
        RT_ASSERT_OK(rt_model_named(pairs[i][0], &model));
        CU_ASSERT_STRING_EQUAL(model.name, pairs[i][1]);
        CU_ASSERT_PTR_NOT_NULL(model.vision);
    }
    RT_ASSERT_FAILS(rt_model_named("renset50", &model), RT_ENOTFOUND, "nearest names: resnet50");
}

/* A pool between two modules halves what a network's stages make. */
static void test_sizes_of_images(void)
{
    struct rt_graph graph = build_images("googlenet", (struct rt_graph_options){.batch = 3});
    const int64_t last[] = {3, 192, 384, 7, 7, 3, 3, 1, 1, 1, 1, -1, -1, -1}; /* of inception5b's branch2 */
    size_t found = 0;
    for (size_t k = 0; k < graph.kernel_count; k++)
        found += graph.kernels[k].call.op == RT_OP_CONV2D &&
                 memcmp(graph.kernels[k].call.dim, last, sizeof last) == 0;
    CU_ASSERT_EQUAL(found, 1);
    rt_graph_release(&graph);
}

/* Heads that run in training only take memory at inference. */
static void test_auxiliary_heads(void)
{
    struct rt_graph graph = build_images("inception_v3", (struct rt_graph_options){.batch = 2});
    const struct rt_node *fc = NULL;
    for (size_t n = 0; n < graph.node_count; n++)
        if (strcmp(graph.blocks[graph.nodes[n].block].name, "auxiliary") == 0)
            fc = &graph.nodes[n];
    CU_ASSERT_PTR_NOT_NULL_FATAL(fc);
    CU_ASSERT_EQUAL(fc->parameters, 769 * 1000);
    CU_ASSERT_EQUAL(fc->kernel_count, 0);
    rt_graph_release(&graph);
    graph = build_images("inception_v3", (struct rt_graph_options){.batch = 2, .step = RT_STEP_TRAINING});
    fc = NULL;
    for (size_t n = 0; n < graph.node_count; n++)
        if (strcmp(graph.blocks[graph.nodes[n].block].name, "auxiliary") == 0)
            fc = &graph.nodes[n];
    CU_ASSERT_TRUE(fc != NULL && fc->kernel_count > 3);
    rt_graph_release(&graph);
}

/* Patches alone stay in the order of the convolution that made them, and layer norm copies them into rows;
 * learned tokens before them, channels last and compiled code make rows at once. ConvNeXt's norms leave
 * channels last. */
static void test_orders_of_tokens(void)
{
    struct rt_graph graph = build_images("vit_base_patch16_gap_224", (struct rt_graph_options){.batch = 2});
    ASSERT_FORWARD(&graph, "norm1.order", RT_OP_TRANSPOSE, 2 * 196, 768);
    rt_graph_release(&graph);
    graph = build_images("vit_base_patch16_gap_224",
                         (struct rt_graph_options){.batch = 2, .channels_last = true});
    CU_ASSERT_PTR_NULL(find_node(&graph, "norm1.order"));
    rt_graph_release(&graph);
    graph = build_images("vit_b_16", (struct rt_graph_options){.batch = 2});
    CU_ASSERT_PTR_NULL(find_node(&graph, "norm1.order"));
    ASSERT_FORWARD(&graph, "attn.qkv", RT_OP_LINEAR, 1, 2 * 197, 3 * 768, 768);
    rt_graph_release(&graph);
    graph = build_images("convnext_tiny", (struct rt_graph_options){.batch = 2});
    CU_ASSERT_EQUAL(find_kernel(&graph, "conv_dw", RT_FORWARD, 0)->call.dim[13], 1);
    CU_ASSERT_EQUAL(find_kernel(&graph, "stem.0", RT_FORWARD, 0)->call.dim[13], -1);
    CU_ASSERT_FALSE(graph.options.channels_last);
    rt_graph_release(&graph);
}

static int count_kernels(const struct rt_graph *graph, enum rt_op_id op, enum rt_dtype dtype)
{
    int count = 0;
    for (size_t k = 0; k < graph->kernel_count; k++)
        count += graph->kernels[k].call.op == op && graph->kernels[k].call.dtype == dtype;
    return count;
}

/* What PyTorch copies depends on the layout that images come in: DaViT's convolutions behind its first norm
 * are channels last in either, so that norm alone turns its input. Attention of fewer keys is one kernel. */
static void test_copies_as_traced(void)
{
    struct rt_graph_options options = {.batch = 2, .dtype = RT_FP16, .runtime = RT_RUNTIME_EAGER};
    struct rt_graph first = build_images("davit_tiny", options);
    options.channels_last = true;
    struct rt_graph last = build_images("davit_tiny", options);
    CU_ASSERT_EQUAL(count_kernels(&first, RT_OP_TRANSPOSE, RT_FP16),
                    count_kernels(&last, RT_OP_TRANSPOSE, RT_FP16) + 1);
    CU_ASSERT_EQUAL(count_kernels(&first, RT_OP_CONV2D, RT_FP16),
                    count_kernels(&last, RT_OP_CONV2D, RT_FP16));
    rt_graph_release(&first);
    rt_graph_release(&last);
    first = build_images("pvt_v2_b0", options);
    CU_ASSERT_TRUE(count_kernels(&first, RT_OP_ATTENTION_CROSS, RT_FP16) > 0);
    CU_ASSERT_EQUAL(count_kernels(&first, RT_OP_BMM, RT_FP16), 0);
    rt_graph_release(&first);
    first = build_images("lcnet_100", options); /* its separable blocks have no branch beside them */
    CU_ASSERT_PTR_NULL(find_node(&first, "add"));
    rt_graph_release(&first);
}

/* Norms in 16 bits where they are fast, but for those of PyTorch's class, which Swin and Twins have. */
static void test_fast_norms(void)
{
    static const struct {
        const char *name;
        bool fast;
    } models[] = {{"vit_b_16", true}, {"davit_tiny", true}, {"swin_t", false}, {"twins_pcpvt_small", false}};
    const struct rt_graph_options options = {
        .batch = 2, .dtype = RT_FP16, .autocast = true, .fast_norms = true};
    for (size_t i = 0; i < RT_COUNT(models); i++) {
        struct rt_graph graph = build_images(models[i].name, options);
        CU_ASSERT_EQUAL(count_kernels(&graph, RT_OP_LAYERNORM, RT_FP16) > 0, models[i].fast);
        CU_ASSERT_EQUAL(count_kernels(&graph, RT_OP_LAYERNORM, RT_FP32) > 0, !models[i].fast);
        CU_ASSERT_TRUE(graph.options.fast_norms);
        rt_graph_release(&graph);
    }
}

/* Attention within 8 x 8 windows of 7 x 7 tokens, the second layer's shifted. */
static void test_windows(void)
{
    struct rt_graph graph = build_images("swin_t", (struct rt_graph_options){.batch = 2, .dtype = RT_FP16});
    ASSERT_FORWARD(&graph, "attn.scores", RT_OP_BMM, 2 * 64 * 3, 49, 49, 32);
    ASSERT_FORWARD(&graph, "roll", RT_OP_COPY, 2 * 56 * 56, 96);
    ASSERT_FORWARD(&graph, "attn.mask", RT_OP_ADD, 2 * 64 * 3 * 49, 49);
    CU_ASSERT_EQUAL(find_node(&graph, "attn.bias_table")->parameters, 13 * 13 * 3);
    ASSERT_FORWARD(&graph, "merge.reduction", RT_OP_LINEAR, 1, 2 * 28 * 28, 192, 384);
    rt_graph_release(&graph);
}

/* Compiled: chains go on where a network's layers repeat, two casts of a value are one, which its norm
 * writes, and what is put together is written there. */
static void test_compiled_chains(void)
{
    struct rt_graph_options options = {
        .batch = 2, .dtype = RT_FP16, .autocast = true, .runtime = RT_RUNTIME_COMPILE};
    struct rt_graph graph = build_images("timm/res2net50_26w_4s", options);
    CU_ASSERT_EQUAL(count_nodes(&graph, "act"), 0);
    rt_graph_release(&graph);
    graph = build_images("timm/pvt_v2_b0", options);
    CU_ASSERT_EQUAL(count_nodes(&graph, "cast"), 1); /* of the image */
    CU_ASSERT_EQUAL(count_nodes(&graph, "norm"), 16);
    rt_graph_release(&graph);
    graph = build_images("timm/eva02_tiny_patch14_224", options);
    CU_ASSERT_EQUAL(count_nodes(&graph, "concat"), 12); /* of each layer's sines */
    rt_graph_release(&graph);
    options.runtime = RT_RUNTIME_EAGER;
    graph = build_images("timm/pvt_v2_b0", options);
    CU_ASSERT_TRUE(count_nodes(&graph, "cast") > 1);
    rt_graph_release(&graph);
}

/* Compiled: a norm behind the residual stream writes 16 bits and reads nothing; windows are indices. */
static void test_compiled_streams(void)
{
    const struct rt_graph_options options = {
        .batch = 2, .dtype = RT_FP16, .autocast = true, .runtime = RT_RUNTIME_COMPILE};
    struct rt_graph graph = build_images("vit_b_16", options);
    CU_ASSERT_EQUAL(find_node(&graph, "norm2+cast")->fused_bytes[RT_FORWARD], 2.0 * 2 * 197 * 768);
    CU_ASSERT_EQUAL(find_node(&graph, "norm1+cast")->fused_bytes[RT_FORWARD], 2.0 * 2 * 197 * 768);
    rt_graph_release(&graph);
    graph = build_images("swin_t", options);
    CU_ASSERT_PTR_NOT_NULL(find_node(&graph, "norm1+roll+pad+windows+cast"));
    rt_graph_release(&graph);
    graph = build_images("convnextv2_tiny", options); /* both readers of GELU compute it */
    CU_ASSERT_PTR_NULL(find_node(&graph, "mlp.act"));
    CU_ASSERT_PTR_NOT_NULL(find_node(&graph, "grn.norm"));
    rt_graph_release(&graph);
}

RT_TESTS(RT_TEST(test_compiled_chains), RT_TEST(test_compiled_streams), RT_TEST(test_orders_of_tokens),
         RT_TEST(test_windows), RT_TEST(test_copies_as_traced), RT_TEST(test_fast_norms),
         RT_TEST(test_parameters_and_flops_are_the_libraries), RT_TEST(test_all_models_build_in_all_forms),
         RT_TEST(test_names_and_aliases), RT_TEST(test_sizes_of_images), RT_TEST(test_auxiliary_heads))
