/* Ids of the Hub: addresses, the cache on this machine, the catalogue that comes along. */
#include "find.h"
#include "models/networks/architectures/parts.h"
#include "models/networks/hub.h"

#include <jansson.h>
#include <strings.h>

extern const char *const rt_model_hub_json[];

/* No cache of the developer's is read here, nor one of a test before. */
static void empty_cache(void)
{
    setenv("HF_HUB_CACHE", rt_test_path("no-cache"), 1);
}

static void test_addresses(void)
{
    static const char *const pairs[][2] = {
        {"Qwen/Qwen3-8B", "Qwen/Qwen3-8B"},
        {"https://huggingface.co/Qwen/Qwen3-8B", "Qwen/Qwen3-8B"},
        {"https://huggingface.co/Qwen/Qwen3-8B/", "Qwen/Qwen3-8B"},
        {"HTTPS://HuggingFace.co/Qwen/Qwen3-8B/tree/main", "Qwen/Qwen3-8B"},
        {"https://huggingface.co/Qwen/Qwen3-8B/resolve/main/config.json?download=true", "Qwen/Qwen3-8B"},
        {"huggingface.co/Qwen/Qwen3-8B#usage", "Qwen/Qwen3-8B"},
        {"https://hf.co/Qwen/Qwen3-8B", "Qwen/Qwen3-8B"},
        {"https://huggingface.co/gpt2/tree/main", "gpt2"},
        {"https://huggingface.co/gpt2", "gpt2"},
    };
    static const char *const others[] = {"gpt2",
                                         "a/b/c",
                                         "./a",
                                         "../a",
                                         "a/config.json",
                                         "a/net.onnx",
                                         "a/",
                                         "/a",
                                         "",
                                         "https://huggingface.co/",
                                         "https://example.org/a/b",
                                         "a b/c"};
    for (size_t i = 0; i < RT_COUNT(pairs); i++) {
        char *id = rt_hub_id(pairs[i][0]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(id);
        CU_ASSERT_STRING_EQUAL(id, pairs[i][1]);
        free(id);
    }
    for (size_t i = 0; i < RT_COUNT(others); i++)
        CU_ASSERT_PTR_NULL(rt_hub_id(others[i]));
}

/* --- the catalogue --- */

struct seen {
    size_t count;
    struct rt_hub_name {
        char id[96];
    } * names;
};

/* A step that every model has, of few tokens; of models with layers that differ as servers run it. */
static void build(const struct rt_model *model)
{
    struct rt_graph_options options = prefill(1, 16);
    struct rt_graph graph;
    if (model->architecture != NULL && model->architecture->build == rt_build_served) {
        options.runtime = RT_RUNTIME_SERVING;
        options.dtype = RT_BF16;
    }
    RT_ASSERT_OK(rt_graph_build(model, &options, &graph));
    CU_ASSERT_TRUE(graph.node_count > 0);
    rt_graph_release(&graph);
}

static int see(void *context, const struct rt_model *model)
{
    struct seen *seen = context;
    struct rt_model found;
    for (size_t i = 0; i < seen->count; i++) {
        if (strcasecmp(seen->names[i].id, model->name) == 0)
            printf("# twice: %s\n", model->name);
        CU_ASSERT_NOT_EQUAL(strcasecmp(seen->names[i].id, model->name), 0);
    }
    seen->names = rt_realloc(seen->names, seen->count + 1, sizeof *seen->names);
    snprintf(seen->names[seen->count++].id, sizeof seen->names[0].id, "%s", model->name);
    CU_ASSERT_PTR_NOT_NULL(strchr(model->name, '/'));
    CU_ASSERT_TRUE(rt_model_parameters(model) > 1e6);
    RT_ASSERT_OK(rt_model_find(model->name, &found));
    CU_ASSERT_EQUAL(rt_model_parameters(&found), rt_model_parameters(model));
    build(model);
    return RT_OK;
}

/* Every id is there once, is found, and has a graph. */
static void test_catalogue(void)
{
    struct seen seen = {0};
    empty_cache();
    RT_ASSERT_OK(rt_hub_each(see, &seen));
    CU_ASSERT_TRUE(seen.count >= 600);
    free(seen.names);
}

/* A row says where its sizes come from; one without a config of its own is like another. */
static void test_rows_have_sources(void)
{
    for (size_t i = 0; rt_model_hub_json[i] != NULL; i++) {
        json_t *row = json_loads(rt_model_hub_json[i], JSON_REJECT_DUPLICATES, NULL);
        const char *source = json_string_value(json_object_get(row, "source"));
        CU_ASSERT_TRUE(json_is_array(json_object_get(row, "sources")) ||
                       (source != NULL && source[0] != '\0'));
        CU_ASSERT_TRUE(json_is_string(json_object_get(row, "model_type")) ||
                       json_is_string(json_object_get(row, "like")));
        json_decref(row);
    }
}

static void test_ids(void)
{
    static const char *const pairs[][2] = {
        {"qwen/qwen3-14b", "Qwen/Qwen3-14B"},
        {"https://huggingface.co/Qwen/Qwen3-14B/tree/main", "Qwen/Qwen3-14B"},
        {"Qwen3 14B", "Qwen/Qwen3-14B"},
        {"all-minilm-l6-v2", "sentence-transformers/all-MiniLM-L6-v2"},
        {"meta-llama/llama-3.1-8b-instruct", "llama-3.1-8b"}, /* the zoo's */
        {"timm/resnet50.a1_in1k", "resnet50"},
        {"microsoft/resnet-50", "microsoft/resnet-50"},
        {"vit_base_patch16_224", "vit_b_16"}, /* timm's before google/vit-base-patch16-224 */
    };
    struct rt_model model;
    empty_cache();
    for (size_t i = 0; i < RT_COUNT(pairs); i++) {
        RT_ASSERT_OK(rt_model_find(pairs[i][0], &model));
        if (strcmp(model.name, pairs[i][1]) != 0)
            printf("# %s is %s\n", pairs[i][0], model.name);
        CU_ASSERT_STRING_EQUAL(model.name, pairs[i][1]);
    }
    /* As the Hub counts them. */
    RT_ASSERT_OK(rt_model_find("sentence-transformers/all-MiniLM-L6-v2", &model));
    CU_ASSERT_EQUAL(rt_model_parameters(&model), 22713216);
    RT_ASSERT_OK(rt_model_find("google-t5/t5-11b", &model));
    CU_ASSERT_EQUAL(rt_model_parameters(&model), 11307321344);
}

static void test_unknown(void)
{
    struct rt_model model;
    empty_cache();
    RT_ASSERT_FAILS(rt_model_find("https://huggingface.co/acme/Qwen9/tree/main", &model), RT_ENOTFOUND,
                    "fetch https://huggingface.co/acme/Qwen9/resolve/main/config.json and give its path");
    RT_ASSERT_FAILS(rt_model_find("acme/Qwen9", &model), RT_ENOTFOUND, "no-cache) has it");
    RT_ASSERT_FAILS(rt_model_find("sentence-transformers/all-MiniLM-L6-v", &model), RT_ENOTFOUND,
                    "nearest names: sentence-transformers/all-MiniLM-L6-v2");
    RT_ASSERT_FAILS(rt_model_find("timm/no_such_net", &model), RT_ENOTFOUND,
                    "`scripts/export_onnx.py timm/no_such_net -o net.onnx` writes a file");
    RT_ASSERT_FAILS(rt_model_named("acme/Qwen9", &model), RT_ENOTFOUND, "give the path of a config.json");
}

/* The published configs that AIConfigurator has, and the catalogue's of the same ids. */
static void test_against_published_configs(void)
{
    const char *tree = rt_test_data("ROOFTILE_AICONFIGURATOR_CLONE", "aiconfigurator-clone");
    static const char *const ids[] = {"Qwen/Qwen3-1.7B",
                                      "Qwen/Qwen3-8B",
                                      "Qwen/Qwen3-30B-A3B-FP8",
                                      "Qwen/Qwen3-Coder-480B-A35B-Instruct",
                                      "Qwen/Qwen3-VL-32B-Instruct",
                                      "mistralai/Mixtral-8x22B-v0.1",
                                      "openai/gpt-oss-20b",
                                      "nvidia/DeepSeek-V3.1-NVFP4",
                                      "Qwen/Qwen3.5-397B-A17B",
                                      "zai-org/GLM-5",
                                      "deepseek-ai/DeepSeek-V4-Pro",
                                      "moonshotai/Kimi-K3",
                                      "nvidia/MiniMax-M3-NVFP4",
                                      "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8",
                                      "moonshotai/Kimi-K2.5"};
    empty_cache();
    for (size_t i = 0; tree != NULL && i < RT_COUNT(ids); i++) {
        struct rt_model published, ours;
        const char *slash = strchr(ids[i], '/');
        char *path = rt_format("%s/aic-core/src/aiconfigurator_core/model_configs/%.*s--%s_config.json", tree,
                               (int)(slash - ids[i]), ids[i], slash + 1);
        RT_ASSERT_OK(rt_model_load(path, &published));
        RT_ASSERT_OK(rt_model_find(ids[i], &ours));
        CU_ASSERT_EQUAL(rt_model_parameters(&ours), rt_model_parameters(&published));
        CU_ASSERT_EQUAL(ours.dtype, published.dtype);
        CU_ASSERT_EQUAL(ours.wide_parts, published.wide_parts);
        CU_ASSERT_EQUAL(ours.layers, published.layers);
        CU_ASSERT_EQUAL(ours.hidden, published.hidden);
        free(path);
    }
}

/* --- the cache --- */

static void write_text(const char *folder, const char *name, const char *text)
{
    char *path = rt_format("%s/%s", folder, name);
    for (char *slash = path; (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
    free(path);
}

#define GPT2_OF(layers) "{\"model_type\": \"gpt2\", \"n_layer\": " layers ", \"n_embd\": 64, \"n_head\": 4}"

/* The revision of refs/main counts, before the catalogue; what is damaged is named. */
static void test_cache(void)
{
    char cache[256];
    struct rt_model model;
    snprintf(cache, sizeof cache, "%s", rt_test_path("hub"));
    write_text(cache, "models--acme--Net-1B/refs/main", "abc123\n");
    write_text(cache, "models--acme--Net-1B/snapshots/abc123/config.json", GPT2_OF("3"));
    write_text(cache, "models--acme--Net-1B/snapshots/000000/config.json", GPT2_OF("7"));
    write_text(cache, "models--Qwen--Qwen3-8B/refs/main", "1");
    write_text(cache, "models--Qwen--Qwen3-8B/snapshots/1/config.json", GPT2_OF("5"));
    write_text(cache, "models--acme--weights-only/refs/main", "1");
    write_text(cache, "models--acme--broken/refs/main", "1");
    write_text(cache, "models--acme--broken/snapshots/1/config.json", "{");
    setenv("HF_HUB_CACHE", cache, 1);
    RT_ASSERT_OK(rt_model_find("Acme/net-1b", &model));
    CU_ASSERT_EQUAL(model.layers, 3);
    CU_ASSERT_STRING_EQUAL(model.name, "Acme/net-1b");
    RT_ASSERT_OK(rt_model_find("https://huggingface.co/acme/Net-1B", &model));
    RT_ASSERT_OK(rt_model_find("Qwen/Qwen3-8B", &model));
    CU_ASSERT_EQUAL(model.layers, 5);
    RT_ASSERT_OK(rt_model_named("Qwen/Qwen3-8B", &model)); /* a name in a file is the same everywhere */
    CU_ASSERT_EQUAL(model.layers, 36);
    RT_ASSERT_FAILS(rt_model_find("acme/weights-only", &model), RT_ENOTFOUND,
                    "fetch https://huggingface.co/acme");
    RT_ASSERT_FAILS(rt_model_find("acme/broken", &model), RT_EFORMAT, "snapshots/1/config.json:1:");
}

/* The variables of huggingface_hub, in its order. */
static void test_cache_folder(void)
{
    static const char *const rows[][3] = {{"HF_HUB_CACHE", "/a", "/a"},
                                          {"HUGGINGFACE_HUB_CACHE", "/b", "/b"},
                                          {"HF_HOME", "/c", "/c/hub"},
                                          {"XDG_CACHE_HOME", "/d", "/d/huggingface/hub"},
                                          {"HOME", "/e", "/e/.cache/huggingface/hub"}};
    for (size_t i = RT_COUNT(rows); i-- > 0;) {
        for (size_t k = 0; k < i; k++)
            unsetenv(rows[k][0]);
        setenv(rows[i][0], rows[i][1], 1);
        char *folder = rt_hub_folder();
        CU_ASSERT_STRING_EQUAL(folder, rows[i][2]);
        free(folder);
    }
}

RT_TESTS(RT_TEST(test_addresses), RT_TEST(test_catalogue), RT_TEST(test_rows_have_sources), RT_TEST(test_ids),
         RT_TEST(test_unknown), RT_TEST(test_against_published_configs), RT_TEST(test_cache),
         RT_TEST(test_cache_folder))
