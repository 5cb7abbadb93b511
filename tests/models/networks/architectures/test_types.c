/* Files of architectures: a user's is as good as one that is compiled in; what is wrong in one is said in a
 * sentence with its file and key. */
#include "find.h"
#include "models/networks/architectures/types.h"

#define MISTRAL                                                                                              \
    "\"what\": \"mine\", \"like\": \"llama\", \"without\": [\"attention_bias\", \"mlp_bias\", "              \
    "\"attention_chunk_size\"], \"keys\": {\"intermediate_size\": 14336, \"max_position_embeddings\": "      \
    "131072, \"num_key_value_heads\": 8, \"sliding_window\": {\"is\": \"reach.window\", \"default\": "       \
    "4096}}, \"fixed\": {\"reach.slides\": true}"

/* The same sizes, and the same nodes and kernels. */
static void test_own_file_is_a_type(void)
{
    static const char config[] =
        "{\"model_type\": \"mistral\", \"num_hidden_layers\": 3, \"vocab_size\": 999}";
    const char *path = rt_test_write("config.json", config),
               *type = rt_test_write("mine.json", "{\"type\": \"mine\", " MISTRAL "}");
    struct rt_graph_options options = {
        .step = RT_STEP_TRAINING, .batch = 2, .sequence = 64, .tensor_parallel = 1};
    struct rt_model built_in, own;
    struct rt_graph a, b;
    RT_ASSERT_OK(rt_model_load(path, &built_in));
    RT_ASSERT_OK(rt_model_load_as(path, type, &own));
    CU_ASSERT_STRING_EQUAL(own.architecture->model_type, "mine");
    CU_ASSERT_PTR_NOT_EQUAL(own.architecture, built_in.architecture);
    own.architecture = built_in.architecture;
    CU_ASSERT_EQUAL(memcmp(&own, &built_in, sizeof own), 0);
    RT_ASSERT_OK(rt_model_load_as(path, type, &own));
    RT_ASSERT_OK(rt_graph_build(&built_in, &options, &a));
    RT_ASSERT_OK(rt_graph_build(&own, &options, &b));
    CU_ASSERT_EQUAL(a.node_count, b.node_count);
    for (size_t i = 0; i < a.node_count && i < b.node_count; i++) {
        CU_ASSERT_STRING_EQUAL(a.nodes[i].name, b.nodes[i].name);
        CU_ASSERT_EQUAL(a.nodes[i].parameters, b.nodes[i].parameters);
        CU_ASSERT_EQUAL(a.nodes[i].kernel_count, b.nodes[i].kernel_count);
    }
    rt_graph_release(&a);
    rt_graph_release(&b);
}

/* A class of the type that config.json names is none of a file's that it is read as. */
static void test_own_file_has_its_head(void)
{
    const char *path = rt_test_write("other.json", "{\"model_type\": \"new_thing\", \"architectures\": "
                                                   "[\"NewThingForCausalLM\"], \"num_hidden_layers\": 2}"),
               *type = rt_test_write("thing.json", "{\"type\": \"new_thing\", " MISTRAL "}");
    struct rt_model model;
    CU_ASSERT_EQUAL(rt_model_load(path, &model), RT_ENOTFOUND);
    RT_ASSERT_OK(rt_model_load_as(path, type, &model));
    CU_ASSERT_EQUAL(model.head, RT_MODEL_HEAD_OWN);
    CU_ASSERT_EQUAL(model.layers, 2);
    RT_ASSERT_FAILS(rt_model_load_as(path, "none/such.json", &model), RT_EIO, "none/such.json");
}

/* Each is all of a file but its type. */
static void test_refused_files(void)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"[]", "bad.json: an architecture is one JSON object"},
        {"{", "bad.json:1:1: not JSON"},
        {"{\"like\": \"llama\", \"what\": \"x\"}", "bad.json: \"type\" is missing"},
        {"{\"type\": \"x\", \"like\": \"llama\"}", "bad.json: \"what\" is missing"},
        {"{\"type\": \"x\", \"what\": \"x\"}", "bad.json: \"builder\" is missing"},
        {"{\"like\": \"lama\"}", "bad.json: \"like\" is \"lama\"; it must be one of the types that"},
        {"{\"like\": \"llama\", \"atention\": \"opt\"}",
         "bad.json: \"atention\" is none of an architecture's fields; nearest names: attention"},
        {"{\"like\": \"llama\", \"attention\": \"flash\"}",
         "bad.json: \"attention\" is \"flash\"; it must be one of gpt2|bert"},
        {"{\"like\": \"llama\", \"norm\": \"l2\"}",
         "bad.json: \"norm\" is \"l2\"; it must be one of layer|rms"},
        {"{\"like\": \"llama\", \"served\": 1}", "bad.json: \"served\" is 1; it must be true or false"},
        {"{\"like\": \"llama\", \"labels\": -1}", "bad.json: \"labels\" is -1; it must be a whole number"},
        {"{\"like\": \"llama\", \"heads\": [\"ForPoetry\"]}", "bad.json: \"heads\" is \"ForPoetry\""},
        {"{\"like\": \"llama\", \"aliases\": \"x\"}", "bad.json: \"aliases\" is \"x\"; it must be a list of"},
        {"{\"like\": \"llama\", \"norms\": {\"frist\": \"x\"}}", "\"frist\" is none of the places of norms"},
        {"{\"like\": \"llama\", \"without\": [\"n_embd\"]}",
         "\"without\" is \"n_embd\"; it must be a key of"},
        {"{\"like\": \"llama\", \"fixed\": {\"rotary.dims\": 3}}",
         "\"fixed\" names \"rotary.dims\", which is no field of a model; nearest names: rotary.dim"},
        {"{\"like\": \"llama\", \"fixed\": {\"qkv\": \"joined\"}}",
         "\"qkv\" is \"joined\"; it must be one of separate|chunks|slices|selects"},
        {"{\"like\": \"llama\", \"fixed\": {\"gated\": 1}}", "\"gated\" is 1; it must be true or false"},
        {"{\"like\": \"llama\", \"keys\": {\"hidden_sizes\": 3}}",
         "\"hidden_sizes\" has a default alone, and the architecture that this is like has no such key; "
         "nearest "
         "names: hidden_size"},
        {"{\"like\": \"llama\", \"keys\": {\"hidden_size\": \"big\"}}",
         "\"hidden_size\" is \"big\"; it must be"},
        {"{\"like\": \"llama\", \"keys\": {\"x\": {\"default\": 3}}}",
         "\"x\" is unreadable; it must be the name of a field"},
        {"{\"like\": \"llama\", \"keys\": {\"x\": {\"is\": \"layers\", \"least\": 3}}}",
         "\"x\" has \"least\"; a key has is|default|kind|true"},
        {"{\"like\": \"llama\", \"keys\": {\"x\": {\"is\": \"layers\", \"kind\": \"flag\"}}}",
         "\"x\" is \"flag\"; it must be a kind of key that layers can have"},
        {"{\"like\": \"llama\", \"keys\": {\"x\": {\"is\": \"qk_norm\"}}}",
         "\"x\" must say what \"true\" stands for, one of none|heads"},
        {"{\"type\": \"x\", \"what\": \"x\", \"like\": \"llama\", \"attention\": \"latent\"}",
         "latent needs \"latent.kv_rank\", and no key with a default but 0 gives it"},
        {"{\"type\": \"x\", \"what\": \"x\", \"like\": \"llama\", \"sparse\": \"topk\"}",
         "topk needs \"experts.count\""},
        {"{\"type\": \"x\", \"what\": \"x\", \"like\": \"llama\", \"without\": [\"vocab_size\"]}",
         "a model of text needs \"vocab\""},
        {"{\"type\": \"x\", \"what\": \"x\", \"like\": \"llama\", \"norm\": \"layer\"}",
         "\"attention\" of \"norms\" is missing"},
        {"{\"type\": \"x\", \"what\": \"x\", \"like\": \"llama\", \"cross\": \"t5\"}",
         "\"cross\" is for the builder encoder_decoder"},
    };
    const struct rt_architecture *row;
    for (size_t i = 0; i < RT_COUNT(bad); i++)
        RT_ASSERT_FAILS(rt_architecture_load(rt_test_write("bad.json", bad[i].text), &row), RT_EFORMAT,
                        bad[i].words);
}

/* Read once: models keep a pointer to it. */
static void test_is_kept(void)
{
    const struct rt_architecture *once, *again;
    const char *path = rt_test_write("kept.json", "{\"type\": \"kept\", " MISTRAL "}");
    RT_ASSERT_OK(rt_architecture_load(path, &once));
    RT_ASSERT_OK(rt_architecture_load(path, &again));
    CU_ASSERT_PTR_EQUAL(once, again);
    CU_ASSERT_PTR_EQUAL(rt_architecture_of_type("kimi_k2"), rt_architecture_of_type("deepseek_v3"));
    CU_ASSERT_STRING_EQUAL(rt_architecture_of_wrapper("gemma3")->model_type, "gemma3_text");
    CU_ASSERT_PTR_NULL(rt_architecture_of_wrapper("gemma2"));
    CU_ASSERT_PTR_NULL(rt_architecture_of_type("kept"));
}

RT_TESTS(RT_TEST(test_own_file_is_a_type), RT_TEST(test_own_file_has_its_head), RT_TEST(test_refused_files),
         RT_TEST(test_is_kept))
