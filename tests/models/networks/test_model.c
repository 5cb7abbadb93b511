/* Models by name and from config.json, and the graphs of GPT-2: sizes, options, bad input. */
#include "find.h"
#include "models/networks/architectures/architecture.h"

#include <jansson.h>

extern const char *const rt_model_zoo_json[];

/* --- the zoo --- */

static void test_zoo_is_whole(void)
{
    struct rt_model model, found;
    CU_ASSERT_TRUE(rt_zoo_size() >= 18);
    for (size_t i = 0; i < rt_zoo_size(); i++) {
        RT_ASSERT_OK(rt_zoo_model(i, &model));
        RT_ASSERT_OK(rt_model_named(model.name, &found));
        CU_ASSERT_STRING_EQUAL(model.name, found.name);
        CU_ASSERT_TRUE(rt_model_parameters(&model) > 6e7);
    }
}

/* Every model names the source of its sizes; no name or alias names two models. */
static void test_zoo_has_sources(void)
{
    for (size_t i = 0; rt_model_zoo_json[i] != NULL; i++) {
        json_t *root = json_loads(rt_model_zoo_json[i], 0, NULL), *alias, *url;
        const char *name = json_string_value(json_object_get(root, "name"));
        struct rt_model found;
        size_t k;
        CU_ASSERT_TRUE(json_array_size(json_object_get(root, "sources")) > 0);
        json_array_foreach(json_object_get(root, "sources"), k, url)
            CU_ASSERT_EQUAL(strncmp(json_string_value(url), "https://", 8), 0);
        json_array_foreach(json_object_get(root, "aliases"), k, alias)
        {
            RT_ASSERT_OK(rt_model_named(json_string_value(alias), &found));
            CU_ASSERT_STRING_EQUAL(found.name, name);
        }
        json_decref(root);
    }
}

static void test_names(void)
{
    static const char *const pairs[][2] = {
        {"gpt3-2.7b", "gpt3-2.7b"},
        {"GPT3 2.7B", "gpt3-2.7b"},
        {"gpt_3_2_7b", "gpt3-2.7b"},
        {"gpt3_27", "gpt3-2.7b"},
        {"gpt3_xl", "gpt3-xl"},
        {"GPT-3 XL", "gpt3-xl"},
        {"gpt2_med", "gpt2-medium"},
        {"llama2-7b", "llama-2-7b"},
        {"Llama 2 7B", "llama-2-7b"},
        {"Qwen2.5 7B", "qwen2.5-7b"},
        {"Qwen/Qwen2.5-7B", "qwen2.5-7b"},
    };
    struct rt_model model;
    for (size_t i = 0; i < RT_COUNT(pairs); i++) {
        RT_ASSERT_OK(rt_model_find(pairs[i][0], &model));
        CU_ASSERT_STRING_EQUAL(model.name, pairs[i][1]);
    }
    RT_ASSERT_FAILS(rt_model_find("gpt4", &model), RT_ENOTFOUND,
                    "unknown model \"gpt4\"; `rooftile graph --list` lists all");
    RT_ASSERT_FAILS(rt_model_find("lama-3-8b", &model), RT_ENOTFOUND, "nearest names: llama-3-8b");
    RT_ASSERT_FAILS(rt_model_find("", &model), RT_ENOTFOUND, "unknown model");
    RT_ASSERT_FAILS(rt_model_find("no/such/config.json", &model), RT_EIO, "no/such/config.json");
}

/* The dot distinguishes 1.3B from 13B; "opt-13" is the name that measurements use for 1.3B. */
static void test_opt_names(void)
{
    static const char *const pairs[][2] = {{"opt-1.3b", "opt-1.3b"}, {"OPT 1.3B", "opt-1.3b"},
                                           {"opt_13", "opt-1.3b"},   {"opt-13b", "opt-13b"},
                                           {"OPT 13B", "opt-13b"},   {"facebook/opt-1.3b", "opt-1.3b"}};
    struct rt_model model;
    for (size_t i = 0; i < RT_COUNT(pairs); i++) {
        RT_ASSERT_OK(rt_model_find(pairs[i][0], &model));
        CU_ASSERT_STRING_EQUAL(model.name, pairs[i][1]);
    }
}

/* Sizes of the measured models, as NeuSight published them with the measurements. */
static void test_zoo_against_published_configs(void)
{
    static const char *const files[] = {"bert",    "bert_large", "gpt2_med", "gpt2_large",
                                        "gpt2_xl", "gpt3_xl",    "gpt3_27",  "gpt3_67",
                                        "gpt3_13", "opt_13",     "switchxl4"};
    const char *tree = rt_test_data("ROOFTILE_NEUSIGHT", "neusight");
    for (size_t i = 0; tree != NULL && i < RT_COUNT(files); i++) {
        struct rt_model zoo, published;
        char *path = rt_format("%s/models/%s.json", tree, files[i]);
        RT_ASSERT_OK(rt_model_named(files[i], &zoo));
        RT_ASSERT_OK(rt_model_find(path, &published));
        CU_ASSERT_STRING_EQUAL(published.name + strlen(published.name) - 5, ".json");
        memcpy(published.name, zoo.name, sizeof zoo.name);
        /* Switch's names bf16, and was measured in fp32; OPT's names none, and its weights are fp16. */
        published.dtype = zoo.dtype;
        published.fp16 = zoo.fp16;
        if (strncmp(files[i], "bert", 4) == 0) { /* names a head that was not measured */
            CU_ASSERT_EQUAL(published.head, RT_MODEL_HEAD_MASKED_WORDS);
            published.head = zoo.head;
        }
        CU_ASSERT_EQUAL(memcmp(&zoo, &published, sizeof zoo), 0);
        free(path);
    }
}

/* As the checkpoints on Hugging Face count them; GPT-3's as table 2.1 rounds them. */
static void test_gpt_parameters(void)
{
    static const struct {
        const char *name;
        double parameters, relative;
    } known[] = {{"gpt2", 124439808, 0},      {"gpt2-medium", 354823168, 0}, {"gpt2-large", 774030080, 0},
                 {"gpt2-xl", 1557611200, 0},  {"gpt3-2.7b", 2.65e9, 0.01},   {"gpt3-6.7b", 6.7e9, 0.01},
                 {"gpt3-13b", 12.85e9, 0.001}};
    struct rt_model model;
    for (size_t i = 0; i < RT_COUNT(known); i++) {
        RT_ASSERT_OK(rt_model_named(known[i].name, &model));
        RT_ASSERT_NEAR(rt_model_parameters(&model), known[i].parameters, known[i].relative);
    }
}

/* --- config.json --- */

#define GPT2(more)                                                                                           \
    "{\"model_type\": \"gpt2\", \"n_embd\": 64, \"n_layer\": 2, \"n_head\": 4, \"vocab_size\": 100" more "}"

static void test_config(void)
{
    struct rt_model model;
    RT_ASSERT_OK(
        rt_model_find(rt_test_write("plain.json", GPT2(", \"n_ctx\": 7, \"task\": {\"a\": [1]}")), &model));
    CU_ASSERT_EQUAL(model.hidden, 64);
    CU_ASSERT_EQUAL(model.layers, 2);
    CU_ASSERT_EQUAL(model.heads, 4);
    CU_ASSERT_EQUAL(model.kv_heads, 4);
    CU_ASSERT_EQUAL(model.head_dim, 16);
    CU_ASSERT_EQUAL(model.ffn_width, 256);
    CU_ASSERT_EQUAL(model.positions, 1024);
    CU_ASSERT_EQUAL(model.tied, 1);
    CU_ASSERT_EQUAL(model.activation, RT_ACT_GELU_TANH);
    CU_ASSERT_STRING_EQUAL(model.architecture->model_type, "gpt2");
    RT_ASSERT_OK(rt_model_find(rt_test_write("more.json", GPT2(", \"n_inner\": 96, \"n_positions\": null,"
                                                               "\"tie_word_embeddings\": false,"
                                                               "\"activation_function\": \"relu\"")),
                               &model));
    CU_ASSERT_EQUAL(model.ffn_width, 96);
    CU_ASSERT_EQUAL(model.positions, 1024);
    CU_ASSERT_EQUAL(model.tied, 0);
    CU_ASSERT_EQUAL(model.activation, RT_ACT_RELU);
}

/* General names of Hugging Face's attribute_map; a class instead of a model_type. */
static void test_config_other_names(void)
{
    struct rt_model model;
    RT_ASSERT_OK(rt_model_load(rt_test_write("general.json",
                                             "{\"architectures\": [\"GPT2LMHeadModel\"], \"hidden_size\": 64,"
                                             "\"num_hidden_layers\": 3, \"num_attention_heads\": 2,"
                                             "\"max_position_embeddings\": 99, \"vocab_size\": 10}"),
                               &model));
    CU_ASSERT_EQUAL(model.hidden, 64);
    CU_ASSERT_EQUAL(model.layers, 3);
    CU_ASSERT_EQUAL(model.heads, 2);
    CU_ASSERT_EQUAL(model.positions, 99);
    RT_ASSERT_FAILS(
        rt_model_load(rt_test_write("moe.json", "{\"architectures\": [\"Qwen2AudioForCausalLM\"]}"), &model),
        RT_ENOTFOUND,
        "\"Qwen2AudioForCausalLM\" is no architecture that is known here; the nearest by name is qwen2,");
}

/* The folder of a downloaded checkpoint. */
static void test_config_folder(void)
{
    struct rt_model model;
    const char *folder = rt_test_path("downloaded-model");
    CU_ASSERT_EQUAL(mkdir(folder, 0700), 0);
    rt_test_write("downloaded-model/config.json", GPT2(""));
    RT_ASSERT_OK(rt_model_find(folder, &model));
    CU_ASSERT_EQUAL(model.hidden, 64);
}

static void test_bad_configs(void)
{
    static const struct {
        const char *text;
        int status;
        const char *words;
    } bad[] = {
        {"{\"model_type\": \"gpt2\",\n \"n_embd\" 64}", RT_EFORMAT, "bad.json:2:"},
        {"{\"model_type\": \"gpt2\",\n \"n_embd\" 64}", RT_EFORMAT, "not JSON"},
        {"", RT_EFORMAT, "not JSON"},
        {"[1, 2]", RT_EFORMAT, "one JSON object"},
        {GPT2(", \"n_embd\": 64"), RT_EFORMAT, "duplicate object key"},
        {"{\"model_type\": \"xlstm\"}", RT_ENOTFOUND,
         "\"xlstm\" is no architecture that is known here; the nearest by its keys is llama"},
        {"{\"n_embd\": 64}", RT_EFORMAT,
         "\"model_type\" is missing; give one of those that `rooftile graph --types`"},
        {"{\"model_type\": 3}", RT_EFORMAT, "\"model_type\" is missing"},
        {GPT2(", \"n_inner\": 0"), RT_EFORMAT, "\"n_inner\" is 0; it must be a whole number in 1..2^31"},
        {GPT2(", \"n_inner\": -7"), RT_EFORMAT, "\"n_inner\" is -7"},
        {GPT2(", \"n_inner\": 1099511627776"), RT_EFORMAT, "\"n_inner\" is 1099511627776; it must be"},
        {GPT2(", \"n_inner\": 64.5"), RT_EFORMAT, "\"n_inner\" is 64.5; it must be a whole number"},
        {GPT2(", \"n_inner\": \"64\""), RT_EFORMAT, "\"n_inner\" is \"64\"; it must be a whole number"},
        {GPT2(", \"n_inner\": [[[1]]]"), RT_EFORMAT, "\"n_inner\" is [[[1]]]; it must be"},
        {GPT2(", \"n_inner\": 99999999999999999999"), RT_EFORMAT, "too big"},
        {GPT2(", \"tie_word_embeddings\": 1"), RT_EFORMAT, "\"tie_word_embeddings\" must be true or false"},
        {GPT2(", \"activation_function\": 1"), RT_EFORMAT, "\"activation_function\" must be the name"},
        {GPT2(", \"activation_function\": \"mish\""), RT_EFORMAT,
         "is \"mish\", an activation that is not known"},
        {"{\"model_type\": \"gpt2\", \"n_embd\": 64, \"n_layer\": 2, \"n_head\": 3, \"vocab_size\": 10}",
         RT_EFORMAT, "3 heads do not divide the hidden size 64"},
        {"{\"model_type\": \"gpt2\", \"n_embd\": 2147483648, \"n_layer\": 2, \"n_head\": 4, \"vocab_size\": "
         "10}",
         RT_EFORMAT, "feed-forward"},
        {"{\"model_type\": \"gpt2\", \"n_embd\": 65536, \"n_layer\": 65536, \"n_head\": 4, "
         "\"vocab_size\": 10}",
         RT_EFORMAT, "parameters, more than any model has"},
        {"{\"model_type\": \"gpt2\", \"n_embd\": 4, \"n_layer\": 2147483648, \"n_head\": 4, "
         "\"vocab_size\": 10}",
         RT_EFORMAT, "2147483648 layers; it may have 65536 at most"},
        {"{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"vocab_size\": 10,"
         "\"num_attention_heads\": 2147483648, \"head_dim\": 2147483648, \"intermediate_size\": 64}",
         RT_EFORMAT, "the number of heads times their width is"},
    };
    struct rt_model model;
    for (size_t i = 0; i < RT_COUNT(bad); i++)
        RT_ASSERT_FAILS(rt_model_load(rt_test_write("bad.json", bad[i].text), &model), bad[i].status,
                        bad[i].words);
    RT_ASSERT_FAILS(rt_model_load(rt_test_path("absent.json"), &model), RT_EIO, "absent.json");
    RT_ASSERT_FAILS(rt_model_load(rt_test_folder(), &model), RT_EIO, rt_test_folder());
}

static void test_large_file_is_refused(void)
{
    char *text = rt_malloc((17 << 20) + 1);
    struct rt_model model;
    memset(text, ' ', 17 << 20);
    text[17 << 20] = '\0';
    RT_ASSERT_FAILS(rt_model_load(rt_test_write("large.json", text), &model), RT_EFORMAT, "is larger than");
    free(text);
}

/* A config that is truncated or has flipped bits gives a model or an error; a model gives a graph or an
 * error. Runs under the sanitizers in CI. */
static void try_config(const char *path, const char *text, size_t size)
{
    unlink(path); /* overwriting a file makes some file systems sync */
    FILE *file = fopen(path, "w");
    struct rt_model model;
    struct rt_graph graph;
    if (file == NULL || fwrite(text, 1, size, file) != size || fclose(file) != 0)
        abort();
    if (rt_model_load(path, &model) != RT_OK) {
        CU_ASSERT_TRUE(strlen(rt_error()) > 0);
        return;
    }
    for (int step = 0; step < RT_STEP_COUNT; step++) {
        struct rt_graph_options options = {
            .step = (enum rt_step_kind)step, .batch = 2, .sequence = 16, .context = 16, .tensor_parallel = 1};
        if (rt_graph_build(&model, &options, &graph) == RT_OK)
            rt_graph_release(&graph);
        else
            CU_ASSERT_TRUE(strlen(rt_error()) > 0);
    }
}

static void test_damaged_configs(void)
{
    const char *path = rt_test_path("damaged.json");
    uint64_t random = 1;
    for (size_t i = 0; rt_model_zoo_json[i] != NULL; i++) {
        size_t size = strlen(rt_model_zoo_json[i]);
        char *text = rt_malloc(size);
        for (size_t round = 0; round < 100; round++) {
            memcpy(text, rt_model_zoo_json[i], size);
            for (size_t flip = 0; flip <= round % 3; flip++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                text[(random >> 33) % size] ^= (char)(1 << (random >> 20) % 8);
            }
            try_config(path, text, round % 4 == 3 ? (random >> 40) % size : size);
        }
        free(text);
    }
}

/* --- graphs --- */

static struct rt_model named(const char *name)
{
    struct rt_model model = {0};
    RT_ASSERT_OK(rt_model_named(name, &model));
    return model;
}

static void test_bad_options(void)
{
    struct rt_model gpt = named("gpt2-large"), qwen = named("qwen2.5-7b");
    struct rt_graph graph;
    struct rt_graph_options o = prefill(0, 16);
    RT_ASSERT_FAILS(rt_graph_build(&gpt, &o, &graph), RT_EUSAGE, "batch is 0; it must lie in 1..2^31");
    o = prefill(1, -4);
    RT_ASSERT_FAILS(rt_graph_build(&gpt, &o, &graph), RT_EUSAGE, "seq is -4; it must lie in");
    o = prefill(1, (int64_t)1 << 40);
    RT_ASSERT_FAILS(rt_graph_build(&gpt, &o, &graph), RT_EUSAGE, "seq is 1099511627776; it must lie in");
    o = prefill((int64_t)1 << 31, (int64_t)1 << 31);
    RT_ASSERT_FAILS(rt_graph_build(&gpt, &o, &graph), RT_EUSAGE, "give less of either");
    o = prefill(1 << 20, 1024);
    o.tensor_parallel = 2;
    RT_ASSERT_FAILS(rt_graph_build(&gpt, &o, &graph), RT_EUSAGE,
                    "gpt2-large with batch 1048576 and seq 1024 is too large, give less of either: "
                    "all_reduce: elements is 1374389534720; it must lie in 1..2^40");
    o = prefill(1, 16);
    o.step = RT_STEP_DECODE;
    RT_ASSERT_FAILS(rt_graph_build(&gpt, &o, &graph), RT_EUSAGE, "context is 0; it must lie in");
    o = prefill(1, 16);
    o.tensor_parallel = 3;
    RT_ASSERT_FAILS(rt_graph_build(&gpt, &o, &graph), RT_EUSAGE,
                    "tp 3 does not divide the 20 heads (20 of keys and values) of gpt2-large; give one of 1, "
                    "2, 4, 5, 10, 20");
    o.tensor_parallel = 0;
    RT_ASSERT_FAILS(rt_graph_build(&gpt, &o, &graph), RT_EUSAGE, "tp 0 does not divide");
    o.tensor_parallel = 40;
    RT_ASSERT_FAILS(rt_graph_build(&gpt, &o, &graph), RT_EUSAGE, "tp 40 does not divide");
    o.tensor_parallel = 7; /* divides 28 heads, but not 4 key-value heads */
    RT_ASSERT_FAILS(rt_graph_build(&qwen, &o, &graph), RT_EUSAGE, "give one of 1, 2, 4, 28");
}

/* A multiply-add for every weight of a product and token, and the two products of attention. */
static void test_flops(void)
{
    static const char *const names[] = {"gpt3-2.7b", "llama-2-7b", "mistral-7b"};
    for (size_t i = 0; i < RT_COUNT(names); i++) {
        struct rt_model m = named(names[i]);
        struct rt_graph_options options = prefill(2, 512);
        struct rt_graph_totals totals, training;
        struct rt_graph graph;
        double tokens = 2 * 512, tables = (double)m.vocab * m.hidden * (m.tied ? 0 : 1);
        double products = 2 * tokens * (rt_model_parameters(&m) - tables);
        double attention = 4 * tokens * 512 * (double)m.heads * m.head_dim * m.layers;
        RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
        rt_graph_totals(&graph, &totals);
        RT_ASSERT_NEAR(totals.flops[RT_FORWARD], products + attention, 0.01);
        CU_ASSERT_EQUAL(totals.flops[RT_BACKWARD] + totals.flops[RT_ACCUMULATE], 0);
        CU_ASSERT_EQUAL(totals.parameters, rt_model_parameters(&m));
        rt_graph_release(&graph);
        options.step = RT_STEP_TRAINING;
        RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
        rt_graph_totals(&graph, &training);
        RT_ASSERT_NEAR(training.flops[RT_BACKWARD], 2 * totals.flops[RT_FORWARD], 0.01);
        rt_graph_release(&graph);
    }
}

static void test_decode(void)
{
    struct rt_model m = named("gpt2-large");
    struct rt_graph_options options = {
        .step = RT_STEP_DECODE, .batch = 4, .context = 100, .tensor_parallel = 1};
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "attn.qkv", RT_OP_LINEAR, 1, 4, 3840, 1280);
    ASSERT_FORWARD(&graph, "attn.scores", RT_OP_BMM, 80, 1, 101, 64);
    ASSERT_FORWARD(&graph, "attn.softmax", RT_OP_SOFTMAX, 80, 101);
    ASSERT_FORWARD(&graph, "attn.values", RT_OP_BMM, 80, 1, 64, 101);
    ASSERT_FORWARD(&graph, "lm_head", RT_OP_LINEAR, 1, 4, 50257, 1280);
    CU_ASSERT_EQUAL(graph.cache, 2.0 * 4 * 101 * 1280 * 36);
    rt_graph_release(&graph);
}

static void test_prefill(void)
{
    struct rt_model m = named("gpt2-large");
    struct rt_graph_options options = prefill(4, 1024);
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "attn.qkv", RT_OP_LINEAR, 1, 4096, 3840, 1280);
    ASSERT_FORWARD(&graph, "attn.scores", RT_OP_BMM, 80, 1024, 1024, 64);
    ASSERT_FORWARD(&graph, "attn.softmax", RT_OP_SOFTMAX, 81920, 1024);
    ASSERT_FORWARD(&graph, "mlp.up", RT_OP_LINEAR, 1, 4096, 5120, 1280);
    CU_ASSERT_EQUAL(graph.cache, 0);
    CU_ASSERT_EQUAL(graph.classes, 4096.0 * 50257);
    CU_ASSERT_PTR_NULL(find_node(&graph, "optimizer.step"));
    rt_graph_release(&graph);
}

/* One of four devices: a quarter of the heads, of the inner width and of the vocabulary. */
static void test_tensor_parallel(void)
{
    struct rt_model m = named("gpt2-large");
    struct rt_graph_options options = prefill(4, 1024);
    struct rt_graph graph;
    options.step = RT_STEP_TRAINING;
    options.tensor_parallel = 4;
    options.optimizer = RT_OPTIMIZER_ADAMW;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "attn.qkv", RT_OP_LINEAR, 1, 4096, 960, 1280);
    ASSERT_FORWARD(&graph, "attn.projection", RT_OP_LINEAR, 1, 4096, 1280, 320);
    ASSERT_FORWARD(&graph, "mlp.up", RT_OP_LINEAR, 1, 4096, 1280, 1280);
    ASSERT_FORWARD(&graph, "attn.all_reduce", RT_OP_ALL_REDUCE, 4, 4096 * 1280);
    ASSERT_FORWARD(&graph, "lm_head", RT_OP_LINEAR, 1, 4096, 12565, 1280);
    CU_ASSERT_PTR_NOT_NULL(find_kernel(&graph, "mlp.gradient_all_reduce", RT_BACKWARD, 0));
    CU_ASSERT_PTR_NULL(find_kernel(&graph, "mlp.gradient_all_reduce", RT_FORWARD, 0));
    struct rt_graph_totals totals;
    rt_graph_totals(&graph, &totals);
    RT_ASSERT_NEAR(totals.parameters, rt_model_parameters(&m) / 4, 0.01);
    const struct rt_graph_kernel *step = find_kernel(&graph, "optimizer.step", RT_ACCUMULATE, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(step);
    CU_ASSERT_EQUAL((double)step->call.dim[0], totals.parameters);
    rt_graph_release(&graph);
}

static void test_overlong(void)
{
    struct rt_model m = named("gpt2-large");
    struct rt_graph_options options = prefill(1, 1024);
    struct rt_graph graph;
    CU_ASSERT_FALSE(rt_model_overlong(&m, &options));
    options.sequence = 1025;
    CU_ASSERT_TRUE(rt_model_overlong(&m, &options));
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    rt_graph_release(&graph);
    options.step = RT_STEP_DECODE;
    options.context = 1023;
    CU_ASSERT_FALSE(rt_model_overlong(&m, &options));
    options.context = 1024;
    CU_ASSERT_TRUE(rt_model_overlong(&m, &options));
}

/* The largest sizes that options allow overflow nowhere: they give a graph or an error. Every model meets
 * every product of batch and length, each by one in four of its pairs; any four models meet all pairs. */
static void test_largest_options(void)
{
    struct rt_graph graph;
    struct rt_model model;
    for (size_t i = 0; i < rt_zoo_size(); i++) {
        RT_ASSERT_OK(rt_zoo_model(i, &model));
        for (int step = 0; step < RT_STEP_COUNT; step++)
            for (int log = 0; log <= 31; log++)
                for (int other = 0; other <= 31; other++) {
                    if (((size_t)log + 2 * (size_t)other + i) % 4 != 0 && log < 31 && other < 31)
                        continue;
                    struct rt_graph_options o = {.step = (enum rt_step_kind)step,
                                                 .batch = (int64_t)1 << log,
                                                 .sequence = (int64_t)1 << other,
                                                 .context = (int64_t)1 << other,
                                                 .tensor_parallel = 1,
                                                 .optimizer = RT_OPTIMIZER_SGD,
                                                 .fusion = log % 2 == 0};
                    if (rt_graph_build(&model, &o, &graph) == RT_OK)
                        rt_graph_release(&graph);
                }
    }
}

/* "gpt2,n_layer=24": a known model with other sizes, by any name of a key. */
static void test_changes(void)
{
    struct rt_model model, other;
    RT_ASSERT_OK(rt_model_named("gpt2,n_layer=24,n_embd=1024,n_head=16", &model));
    RT_ASSERT_OK(rt_model_named("gpt2-medium", &other));
    CU_ASSERT_EQUAL(rt_model_parameters(&model), rt_model_parameters(&other));
    CU_ASSERT_STRING_EQUAL(model.name, "gpt2,n_layer=24,n_embd=1024,n_head=16");
    RT_ASSERT_OK(
        rt_model_named("GPT 2,num_hidden_layers=24,hidden_size=1024,num_attention_heads=16", &model));
    CU_ASSERT_EQUAL(rt_model_parameters(&model), rt_model_parameters(&other));
    RT_ASSERT_OK(
        rt_model_find("meta-llama/Llama-3.1-8B,num_hidden_layers=7,tie_word_embeddings=true", &model));
    CU_ASSERT_TRUE(model.layers == 7 && model.tied && model.hidden == 4096);
}

static void test_bad_changes(void)
{
    static const struct {
        const char *spec, *words;
        int status;
    } bad[] = {
        {"gpt2,foo=2",
         "\"foo\" is no key that the graph of GPT-2, GPT-3 is built from; there are n_embd, n_layer",
         RT_EUSAGE},
        {"gpt2,n_layer=many", "\"n_layer\" is \"many\"", RT_EFORMAT},
        {"gpt2,n_layer=", "write key=value, such as n_layer=24", RT_EUSAGE},
        {"gpt2,n_embd=1000", "heads do not divide the hidden size 1000", RT_EFORMAT},
        {"resnet50,layers=3", "only models with a config.json can be changed", RT_EUSAGE},
        {"gpt9,n_layer=3", "unknown model \"gpt9\"", RT_ENOTFOUND},
    };
    struct rt_model model;
    for (size_t i = 0; i < RT_COUNT(bad); i++) {
        CU_ASSERT_EQUAL(rt_model_find(bad[i].spec, &model), bad[i].status);
        if (strstr(rt_error(), bad[i].words) == NULL)
            printf("# no \"%s\" in: %s\n", bad[i].words, rt_error());
        CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), bad[i].words));
    }
}

RT_TESTS(RT_TEST(test_changes), RT_TEST(test_bad_changes), RT_TEST(test_zoo_is_whole),
         RT_TEST(test_zoo_has_sources), RT_TEST(test_names), RT_TEST(test_opt_names),
         RT_TEST(test_zoo_against_published_configs), RT_TEST(test_gpt_parameters), RT_TEST(test_config),
         RT_TEST(test_config_other_names), RT_TEST(test_config_folder), RT_TEST(test_bad_configs),
         RT_TEST(test_large_file_is_refused), RT_TEST(test_damaged_configs), RT_TEST(test_bad_options),
         RT_TEST(test_flops), RT_TEST(test_prefill), RT_TEST(test_decode), RT_TEST(test_tensor_parallel),
         RT_TEST(test_overlong), RT_TEST(test_largest_options))
