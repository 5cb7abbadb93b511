/* Decoders of LLM servers on several GPUs, for every config of a type that servers run: weights and products
 * of all GPUs add up to the model's, but for what each GPU holds; caches, by hand. */
#include "models/networks/served_configs.h"

#include "models/networks/memory.h"

#include <math.h>
#include <unistd.h>

enum { BATCH = 4, CONTEXT = 100 };

static struct rt_graph_options served(int64_t tensor, int64_t expert)
{
    return (struct rt_graph_options){.step = RT_STEP_DECODE,
                                     .batch = BATCH,
                                     .sequence = 1,
                                     .context = CONTEXT,
                                     .tensor_parallel = tensor,
                                     .expert_parallel = expert,
                                     .dtype = RT_BF16,
                                     .runtime = RT_RUNTIME_SERVING};
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), last = strlen(end);
    return length >= last && strcmp(name + length - last, end) == 0;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

/* --- what two GPUs have more than one --- */

/* More than half of n that the larger of two parts is, twice. */
static double padding(int64_t n)
{
    return (double)(n % 2);
}

/* Columns of keys and values that both GPUs compute, since there is one head of them. */
static double repeated_columns(const struct rt_model *m)
{
    return m->latent.kv_rank == 0 && m->kv_heads == 1 ? 2.0 * (double)m->head_dim : 0;
}

/* Every GPU has it whole: norms over the hidden size or within a head, routers, positions, latent columns. */
static bool is_whole(const struct rt_model *m, const char *name)
{
    static const char *const whole[] = {"router",        "attn.down",     "project_in", "project_out",
                                        "add_positions", "shared.weight", "mlp.act",    NULL};
    bool of_heads = strcmp(name, "attn.q_norm") == 0 || strcmp(name, "attn.k_norm") == 0;
    bool own = m->qk_norm == RT_QK_NORM_WHOLE || m->qk_norm == RT_QK_NORM_EACH;
    if (of_heads && own && m->latent.kv_rank == 0)
        return strcmp(name, "attn.k_norm") == 0 && m->kv_heads == 1;
    return (ends_with(name, "norm") && !ends_with(name, "sub_norm")) || is_one_of(name, whole);
}

/* Weights that the two hold beyond those of the model. */
static double more_weights(const struct rt_model *m, const char *name, double all, int64_t expert)
{
    double h = (double)m->hidden, parts = m->gated ? 2 : 1;
    if (is_whole(m, name))
        return all;
    if (strcmp(name, "attn.qkv") == 0)
        return repeated_columns(m) * (h + (double)m->bias.qkv);
    if (strcmp(name, "attn.o") == 0)
        return m->bias.out ? h : 0;
    if (strcmp(name, "mlp.gate_up") == 0 || strcmp(name, "mlp.up") == 0)
        return padding(m->ffn_width) * parts * (h + (double)m->bias.ffn);
    if (strcmp(name, "mlp.down") == 0)
        return padding(m->ffn_width) * h + (m->bias.ffn ? h : 0);
    if (strcmp(name, "experts") == 0 && expert == 1)
        return (double)m->experts.count * (padding(m->experts.width) * 3 * h + (m->experts.bias ? h : 0));
    if (strcmp(name, "tokens") == 0 || strcmp(name, "lm_head") == 0)
        return padding(m->vocab) * (double)(m->embedding + (*name == 'l' ? m->bias.head : 0));
    return 0;
}

/* FLOPs of a product that the two compute beyond those of one GPU. */
static double more_flops(const struct rt_model *m, const char *name, double all)
{
    double each = 2.0 * BATCH * (double)m->hidden;
    if (is_whole(m, name))
        return all;
    if (strcmp(name, "attn.qkv") == 0)
        return each * repeated_columns(m);
    if (strcmp(name, "mlp.gate_up") == 0 || strcmp(name, "mlp.up") == 0)
        return each * padding(m->ffn_width) * (m->gated ? 2 : 1);
    if (strcmp(name, "mlp.down") == 0)
        return each * padding(m->ffn_width);
    if (strcmp(name, "lm_head") == 0)
        return 2.0 * BATCH * (double)m->embedding * padding(m->vocab);
    return 0;
}

/* Of products and attention; additions of a bias are none. */
static double flops_of(const struct rt_graph_kernel *kernel)
{
    const int64_t *dim = kernel->call.dim;
    switch (kernel->call.op) {
    case RT_OP_LINEAR:
    case RT_OP_BMM:
        return 2.0 * (double)dim[0] * (double)dim[1] * (double)dim[2] * (double)dim[3];
    case RT_OP_MOE:
    case RT_OP_ATTENTION_GENERATION:
        return kernel->flops;
    default:
        return 0;
    }
}

static double products_of(const struct rt_graph *graph, const struct rt_node *node)
{
    double flops = 0;
    for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++)
        flops += flops_of(&graph->kernels[k]);
    return flops;
}

static bool is_exchange(const struct rt_graph *graph, const struct rt_node *node)
{
    int op = node->kernel_count > 0 ? (int)graph->kernels[node->kernel].call.op : -1;
    return op == RT_OP_ALL_REDUCE || op == RT_OP_ALL_GATHER;
}

/* --- splits --- */

static void compare(const struct rt_model *m, const struct rt_graph *one, const struct rt_graph *two,
                    int64_t expert)
{
    CU_ASSERT_EQUAL_FATAL(one->block_count, two->block_count);
    for (size_t a = 0, b = 0; a < one->node_count; a++, b++) {
        while (is_exchange(two, &two->nodes[b]))
            b++;
        const struct rt_node *x = &one->nodes[a], *y = &two->nodes[b];
        CU_ASSERT_STRING_EQUAL_FATAL(x->name, y->name);
        CU_ASSERT_EQUAL(one->blocks[x->block].repeat, two->blocks[y->block].repeat);
        double weights = x->parameters + more_weights(m, x->name, x->parameters, expert);
        double flops = products_of(one, x) + more_flops(m, x->name, products_of(one, x));
        double both = 2 * products_of(two, y);
        bool uneven = expert == 2 && strcmp(x->name, "experts") == 0; /* the GPU with more of the tokens */
        bool equal = uneven ? both >= flops && both <= 2 * flops : fabs(both - flops) <= 1e-12 * flops;
        if (2 * y->parameters != weights || !equal)
            printf("# %s, --ep %d: %s: weights %.17g for %.17g, FLOPs %.17g for %.17g\n", m->name,
                   (int)expert, x->name, 2 * y->parameters, weights, both, flops);
        CU_ASSERT_EQUAL(2 * y->parameters, weights);
        CU_ASSERT_TRUE(equal);
    }
}

/* Heads, and key-value heads unless there is one that both hold, are whole on every GPU. */
static bool divides(const struct rt_model *m, int64_t parts)
{
    return m->heads % parts == 0 && (m->kv_heads % parts == 0 || parts % m->kv_heads == 0);
}

/* PyTorch's modules on two GPUs hold what a server's do. */
static void compare_eager(const struct rt_model *m, const struct rt_graph *two)
{
    struct rt_graph_options options = served(2, 1);
    struct rt_graph eager;
    struct rt_graph_totals expected, totals;
    options.runtime = RT_RUNTIME_EAGER;
    RT_ASSERT_OK(rt_graph_build(m, &options, &eager));
    rt_graph_totals(two, &expected);
    rt_graph_totals(&eager, &totals);
    if (totals.parameters != expected.parameters)
        printf("# %s: eager %.17g, served %.17g\n", m->name, totals.parameters, expected.parameters);
    CU_ASSERT_EQUAL(totals.parameters, expected.parameters);
    rt_graph_release(&eager);
}

static int splits_by_experts;

static void split(const struct rt_model *m)
{
    struct rt_graph one, two;
    struct rt_graph_options options = served(1, 1);
    struct rt_graph_totals totals;
    RT_ASSERT_OK(rt_graph_build(m, &options, &one));
    rt_graph_totals(&one, &totals);
    RT_ASSERT_NEAR(totals.parameters, rt_model_parameters(m), 1e-12);
    for (int64_t expert = 1; expert <= 2; expert++) {
        options = served(2, expert);
        if (!divides(m, 2)) {
            RT_ASSERT_FAILS(rt_graph_build(m, &options, &two), RT_EUSAGE, "tp 2 does not divide");
        } else if (expert == 2 && m->experts.count == 0) {
            RT_ASSERT_FAILS(rt_graph_build(m, &options, &two), RT_EUSAGE, "no experts to share out");
        } else if (expert == 2 && m->experts.count % 2 != 0) {
            RT_ASSERT_FAILS(rt_graph_build(m, &options, &two), RT_EUSAGE, "ep 2 does not divide");
        } else {
            RT_ASSERT_OK(rt_graph_build(m, &options, &two));
            compare(m, &one, &two, expert);
            if (expert == 1)
                compare_eager(m, &two);
            splits_by_experts += expert == 2;
            rt_graph_release(&two);
            continue;
        }
        CU_ASSERT_PTR_NULL(strchr(rt_error(), '\n'));
    }
    rt_graph_release(&one);
}

static void test_two_gpus(void)
{
    CU_ASSERT_TRUE(for_each_served(split) >= 90);
    CU_ASSERT_TRUE(splits_by_experts >= 15);
}

/* A split into one part more than there are heads, and into the first that does not divide them. */
static void refuse(const struct rt_model *m)
{
    struct rt_graph graph;
    int64_t parts = 2;
    while (divides(m, parts))
        parts++;
    const int64_t refused[] = {parts, m->heads + 1};
    for (size_t i = 0; i < RT_COUNT(refused); i++) {
        struct rt_graph_options options = served(refused[i], 1);
        RT_ASSERT_FAILS(rt_graph_build(m, &options, &graph), RT_EUSAGE, "does not divide the");
        CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "give one of 1"));
        CU_ASSERT_PTR_NULL(strchr(rt_error(), '\n'));
    }
}

static void test_refused(void)
{
    CU_ASSERT_TRUE(for_each_served(refuse) >= 90);
}

/* --- caches --- */

/* A config.json of tests/data, or a model of the zoo. */
static struct rt_model config_named(const char *name)
{
    char path[256];
    struct rt_model model;
    snprintf(path, sizeof path, RT_SOURCE_DIR "/tests/data/configs/%s.json", name);
    RT_ASSERT_OK(rt_model_find(access(path, R_OK) == 0 ? path : name, &model));
    return model;
}

/* Bytes of the cache of a step of one sequence in bf16. */
static double cache_of(const char *config, int64_t context)
{
    struct rt_model model = config_named(config);
    struct rt_graph graph;
    struct rt_graph_memory memory;
    struct rt_graph_options options = served(1, 1);
    options.batch = 1;
    options.context = context;
    RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
    rt_graph_memory(&graph, NULL, &memory);
    RT_ASSERT_NEAR(memory.cache, 2 * graph.cache, 1e-12);
    rt_graph_release(&graph);
    return memory.cache;
}

/* Keys and values: layers that see all tokens and layers with a window, heads of both, columns of a head. */
static const struct {
    const char *config;
    double full, windowed, window, kv_heads, head_dim;
} caches[] = {
    {"llama-3.2-1b", 16, 0, 0, 8, 64},    {"llama-3.2-3b", 28, 0, 0, 8, 128},
    {"gemma-2-9b", 21, 21, 4096, 8, 256}, {"gemma-2-27b", 23, 23, 4096, 16, 128},
    {"gemma-3-1b", 4, 22, 512, 1, 256},   {"gemma-3-27b", 10, 52, 1024, 16, 128},
    {"gpt-oss-20b", 12, 12, 128, 8, 64},  {"gpt-oss-120b", 18, 18, 128, 8, 64},
    {"minimax-m2", 62, 0, 0, 8, 128},     {"falcon-7b", 32, 0, 0, 1, 64},
    {"falcon-40b", 60, 0, 0, 8, 64},
};

static void test_caches(void)
{
    for (size_t i = 0; i < RT_COUNT(caches); i++)
        for (double tokens = 64; tokens <= 65536; tokens *= 4) {
            double window = tokens < caches[i].window ? tokens : caches[i].window;
            double kept = caches[i].full * tokens + caches[i].windowed * window;
            RT_ASSERT_NEAR(cache_of(caches[i].config, (int64_t)tokens - 1),
                           2 * kept * caches[i].kv_heads * caches[i].head_dim * 2, 1e-12);
        }
}

/* Latent attention keeps 512 + 64 columns of a token, whatever the number of heads. */
static void test_latent_cache(void)
{
    RT_ASSERT_NEAR(cache_of("deepseek-v3", 999), 61.0 * 1000 * (512 + 64) * 2, 1e-12);
    RT_ASSERT_NEAR(cache_of("deepseek-v2-lite", 999), 27.0 * 1000 * (512 + 64) * 2, 1e-12);
}

RT_TESTS(RT_TEST(test_two_gpus), RT_TEST(test_refused), RT_TEST(test_caches), RT_TEST(test_latent_cache))
