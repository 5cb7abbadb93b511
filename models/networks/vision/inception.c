/* GoogLeNet (Szegedy et al. 2014, with batch norm) and Inception v3 (Szegedy et al. 2015), as
 * torchvision/models/googlenet.py and inception.py have them. Their auxiliary heads run in training; at
 * inference their weights only take memory. A module is branches side by side, whose channels are
 * concatenated; a branch is convolutions, each with batch norm and ReLU. */
#include "models/networks/vision/vision.h"
#include "base/status.h"
#include "models/networks/build_image.h"

#define MOST_CONVS 5

struct branch {
    enum { PLAIN, AVERAGE, MAXIMUM, MAXIMUM_BY_2 } pool; /* before its convolutions */
    struct rt_conv conv[MOST_CONVS];                     /* out 0 ends them */
    bool forks; /* the last two are side by side, their channels concatenated */
};

struct module {
    const char *name;
    int64_t repeat;
    struct rt_window pool; /* before it; kernel 0: none */
    struct branch branch[4];
    bool auxiliary; /* a head reads what it makes */
};

/* A convolution with a pool behind it where its kernel is not 0 */
struct stem {
    struct rt_conv conv;
    struct rt_window pool;
};

struct inception {
    const struct stem *stem;
    const struct module *module;
    size_t stems, modules;
    void (*head)(struct rt_graph *graph, struct rt_image x, int64_t classes);
};

static struct rt_image conv(struct rt_graph *graph, const char *branch, int number, struct rt_image x,
                            const struct rt_conv *settings)
{
    static const char *const parts[] = {"1", "2", "3", "4", "5"};
    return rt_image_conv_bn(graph, rt_image_name(graph, branch, parts[number]), x, settings, RT_OP_RELU);
}

static struct rt_image pooled(struct rt_graph *graph, const struct branch *branch, struct rt_image x)
{
    const struct rt_window same = {.kernel = 3, .stride = 1, .padding = 1};
    const struct rt_window halve = {.kernel = 3, .stride = 2};
    return branch->pool == PLAIN ? x
           : branch->pool == AVERAGE
               ? rt_image_avg_pool(graph, "pool", x, same)
               : rt_image_max_pool(graph, "pool", x, branch->pool == MAXIMUM ? same : halve);
}

static struct rt_image run_branch(struct rt_graph *graph, const char *name, const struct branch *branch,
                                  struct rt_image x)
{
    int count = 0;
    while (count < MOST_CONVS && branch->conv[count].out > 0)
        count++;
    x = pooled(graph, branch, x);
    for (int i = 0; i < (branch->forks ? count - 2 : count); i++)
        x = conv(graph, name, i, x, &branch->conv[i]);
    if (!branch->forks)
        return x;
    const struct rt_image part[] = {conv(graph, name, count - 2, x, &branch->conv[count - 2]),
                                    conv(graph, name, count - 1, x, &branch->conv[count - 1])};
    return rt_image_concat(graph, rt_image_name(graph, name, "concat"), part, RT_COUNT(part));
}

static struct rt_image run_module(struct rt_graph *graph, const struct module *module, struct rt_image x)
{
    static const char *const names[] = {"branch1", "branch2", "branch3", "branch4"};
    struct rt_image part[4];
    size_t count = 0;
    if (module->pool.kernel > 0)
        x = rt_image_max_pool(graph, "maxpool", x, module->pool);
    for (; count < 4 && (module->branch[count].conv[0].out > 0 || module->branch[count].pool != PLAIN);
         count++)
        part[count] = run_branch(graph, names[count], &module->branch[count], x);
    return rt_image_concat(graph, "concat", part, count);
}

/* Drops the kernels of the last block, which only takes memory. */
static void idle(struct rt_graph *graph)
{
    const struct rt_block *block = &graph->blocks[graph->block_count - 1];
    graph->kernel_count = graph->nodes[block->node].kernel;
    for (uint32_t n = block->node; n < block->node + block->node_count; n++)
        graph->nodes[n].kernel_count = 0;
}

static void auxiliary_head(struct rt_graph *graph, const struct inception *net, struct rt_image x,
                           int64_t classes)
{
    rt_graph_add_block(graph, "auxiliary", RT_BLOCK_LAYER, 1);
    net->head(graph, x, classes);
    if (!rt_graph_trains(graph))
        idle(graph);
}

static void googlenet_head(struct rt_graph *graph, struct rt_image x, int64_t classes)
{
    const struct rt_conv point = {.out = 128, .kernel_h = 1};
    x = rt_image_adaptive_avg_pool(graph, "pool", x, 4, 4);
    x = rt_image_flatten(graph, "flatten", rt_image_conv_bn(graph, "conv", x, &point, RT_OP_RELU));
    x = rt_image_activation(graph, "relu", RT_OP_RELU, rt_image_linear(graph, "fc1", x, 1024, true), true);
    rt_image_linear(graph, "fc2", rt_image_dropout(graph, "dropout", x), classes, true);
}

static void inception_head(struct rt_graph *graph, struct rt_image x, int64_t classes)
{
    const struct rt_conv point = {.out = 128, .kernel_h = 1}, wide = {.out = 768, .kernel_h = 5};
    x = rt_image_avg_pool(graph, "pool", x, (struct rt_window){.kernel = 5, .stride = 3});
    x = rt_image_conv_bn(graph, "conv0", x, &point, RT_OP_RELU);
    x = rt_image_conv_bn(graph, "conv1", x, &wide, RT_OP_RELU);
    x = rt_image_flatten(graph, "flatten", rt_image_adaptive_avg_pool(graph, "mean", x, 1, 1));
    rt_image_linear(graph, "fc", x, classes, true);
}

static struct rt_image run_stem(struct rt_graph *graph, const struct inception *net)
{
    static const char *const names[] = {"conv1", "conv2", "conv3", "conv4", "conv5"};
    static const char *const pools[] = {"pool1", "pool2", "pool3", "pool4", "pool5"};
    struct rt_image x = rt_image_input(graph, 3);
    for (size_t i = 0; i < net->stems; i++) {
        x = rt_image_conv_bn(graph, names[i], x, &net->stem[i].conv, RT_OP_RELU);
        if (net->stem[i].pool.kernel > 0)
            x = rt_image_max_pool(graph, pools[i], x, net->stem[i].pool);
    }
    return x;
}

static void build(const struct rt_vision *vision, struct rt_graph *graph)
{
    const struct inception *net = vision->settings;
    rt_graph_add_block(graph, "stem", RT_BLOCK_FIRST, 1);
    struct rt_image x = run_stem(graph, net);
    for (size_t i = 0; i < net->modules; i++) {
        const struct module *module = &net->module[i];
        rt_graph_add_block(graph, module->name, RT_BLOCK_LAYER, module->repeat);
        x = run_module(graph, module, x);
        if (module->auxiliary)
            auxiliary_head(graph, net, x, vision->classes);
    }
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    x = rt_image_flatten(graph, "flatten", rt_image_adaptive_avg_pool(graph, "avgpool", x, 1, 1));
    rt_image_linear(graph, "fc", rt_image_dropout(graph, "dropout", x), vision->classes, true);
}

/* clang-format off */
#define POINT(out_)             {.out = (out_), .kernel_h = 1}
#define SQUARE(out_, kernel_)   {.out = (out_), .kernel_h = (kernel_), .padding_h = (kernel_) / 2}
#define WIDE(out_, kernel_)     {.out = (out_), .kernel_h = 1, .kernel_w = (kernel_), .padding_w = (kernel_) / 2}
#define HIGH(out_, kernel_)     {.out = (out_), .kernel_h = (kernel_), .kernel_w = 1, .padding_h = (kernel_) / 2}
#define BY_2(out_)              {.out = (out_), .kernel_h = 3, .stride = 2}
#define INSIDE(out_, kernel_)   {.out = (out_), .kernel_h = (kernel_)} /* without padding */

#define PATH(...)          {.conv = {__VA_ARGS__}}
#define FORKED(...)        {.conv = {__VA_ARGS__}, .forks = true}
#define AVERAGED(...)      {.conv = {__VA_ARGS__}, .pool = AVERAGE}
#define MAXED(...)         {.conv = {__VA_ARGS__}, .pool = MAXIMUM}
#define MAXED_BY_2         {.pool = MAXIMUM_BY_2}

/* The 5 x 5 branch of GoogLeNet is 3 x 3 in torchvision. */
#define GOOGLENET(point_, reduce3_, square3_, reduce5_, square5_, pool_)                     \
    {PATH(POINT(point_)), PATH(POINT(reduce3_), SQUARE(square3_, 3)),                        \
     PATH(POINT(reduce5_), SQUARE(square5_, 3)), MAXED(POINT(pool_))}

static const struct stem googlenet_stem[] = {
    {{.out = 64, .kernel_h = 7, .stride = 2, .padding_h = 3}, {.kernel = 3, .stride = 2, .ceil = true}},
    {POINT(64), {0}},
    {SQUARE(192, 3), {.kernel = 3, .stride = 2, .ceil = true}},
};
static const struct module googlenet_modules[] = {
    {"inception3a", 1, {0}, GOOGLENET(64, 96, 128, 16, 32, 32), false},
    {"inception3b", 1, {0}, GOOGLENET(128, 128, 192, 32, 96, 64), false},
    {"inception4a", 1, {.kernel = 3, .stride = 2, .ceil = true}, GOOGLENET(192, 96, 208, 16, 48, 64), true},
    {"inception4b", 1, {0}, GOOGLENET(160, 112, 224, 24, 64, 64), false},
    {"inception4c", 1, {0}, GOOGLENET(128, 128, 256, 24, 64, 64), false},
    {"inception4d", 1, {0}, GOOGLENET(112, 144, 288, 32, 64, 64), true},
    {"inception4e", 1, {0}, GOOGLENET(256, 160, 320, 32, 128, 128), false},
    {"inception5a", 1, {.kernel = 2, .stride = 2, .ceil = true}, GOOGLENET(256, 160, 320, 32, 128, 128), false},
    {"inception5b", 1, {0}, GOOGLENET(384, 192, 384, 48, 128, 128), false},
};

#define INCEPTION_A(pool_)                                                                   \
    {PATH(POINT(64)), PATH(POINT(48), SQUARE(64, 5)),                                        \
     PATH(POINT(64), SQUARE(96, 3), SQUARE(96, 3)), AVERAGED(POINT(pool_))}
#define INCEPTION_B {PATH(BY_2(384)), PATH(POINT(64), SQUARE(96, 3), BY_2(96)), MAXED_BY_2}
#define INCEPTION_C(c_)                                                                      \
    {PATH(POINT(192)), PATH(POINT(c_), WIDE(c_, 7), HIGH(192, 7)),                           \
     PATH(POINT(c_), HIGH(c_, 7), WIDE(c_, 7), HIGH(c_, 7), WIDE(192, 7)), AVERAGED(POINT(192))}
#define INCEPTION_D                                                                          \
    {PATH(POINT(192), BY_2(320)), PATH(POINT(192), WIDE(192, 7), HIGH(192, 7), BY_2(192)), MAXED_BY_2}
#define INCEPTION_E                                                                          \
    {PATH(POINT(320)), FORKED(POINT(384), WIDE(384, 3), HIGH(384, 3)),                       \
     FORKED(POINT(448), SQUARE(384, 3), WIDE(384, 3), HIGH(384, 3)), AVERAGED(POINT(192))}

static const struct stem inception_stem[] = {
    {BY_2(32), {0}},
    {INSIDE(32, 3), {0}},
    {SQUARE(64, 3), {.kernel = 3, .stride = 2}},
    {POINT(80), {0}},
    {INSIDE(192, 3), {.kernel = 3, .stride = 2}},
};
static const struct module inception_modules[] = {
    {"mixed_5b", 1, {0}, INCEPTION_A(32), false},
    {"mixed_5c", 1, {0}, INCEPTION_A(64), false},
    {"mixed_5d", 1, {0}, INCEPTION_A(64), false},
    {"mixed_6a", 1, {0}, INCEPTION_B, false},
    {"mixed_6b", 1, {0}, INCEPTION_C(128), false},
    {"mixed_6c", 2, {0}, INCEPTION_C(160), false},
    {"mixed_6e", 1, {0}, INCEPTION_C(192), true},
    {"mixed_7a", 1, {0}, INCEPTION_D, false},
    {"mixed_7b", 1, {0}, INCEPTION_E, false},
    {"mixed_7c", 1, {0}, INCEPTION_E, false},
};

#define INCEPTION(name_) .classes = 1000, .build = build, \
    .settings = &(const struct inception){name_##_stem, name_##_modules, RT_COUNT(name_##_stem), RT_COUNT(name_##_modules), name_##_head}
static const struct rt_vision models[] = {
    {"googlenet",    .image = 224, INCEPTION(googlenet)},
    {"inception_v3", .image = 299, INCEPTION(inception)},
};
/* clang-format on */

const struct rt_vision_family rt_vision_inception = {"GoogLeNet, Inception", models, RT_COUNT(models)};
