/* Models of sound: Whisper's window, convolutions over samples, heads, what does not fit together. */
#include "find.h"

#define WHISPER(more)                                                                                        \
    "{\"model_type\": \"whisper\", \"d_model\": 64, \"encoder_layers\": 2, \"decoder_layers\": 3,"           \
    "\"encoder_attention_heads\": 4, \"decoder_attention_heads\": 8, \"encoder_ffn_dim\": 96,"               \
    "\"decoder_ffn_dim\": 160, \"vocab_size\": 100, \"num_mel_bins\": 10" more "}"
#define SOUND(type, more)                                                                                    \
    "{\"model_type\": \"" type "\", \"hidden_size\": 64, \"num_hidden_layers\": 2,"                          \
    "\"num_attention_heads\": 4, \"intermediate_size\": 96, \"conv_dim\": [32, 48],"                         \
    "\"conv_kernel\": [10, 4], \"conv_stride\": [5, 2], \"num_conv_pos_embeddings\": 6,"                     \
    "\"num_conv_pos_embedding_groups\": 8" more "}"
#define CLASS(type, class) SOUND(type, ", \"architectures\": [\"" class "\"]")
#define LARGE              ", \"feat_extract_norm\": \"layer\", \"conv_bias\": true, \"do_stable_layer_norm\": true"

static struct rt_model config(const char *text)
{
    struct rt_model model;
    RT_ASSERT_OK(rt_model_load(rt_test_write("sound.json", text), &model));
    return model;
}

static struct rt_graph build(const char *text, struct rt_graph_options options)
{
    struct rt_model model = config(text);
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
    return graph;
}

static struct rt_graph_options seconds(double seconds)
{
    struct rt_graph_options options = prefill(2, 7);
    options.seconds = seconds;
    return options;
}

enum {
    H = 64,
    NORM = 2 * H,
    ATTENTION = 4 * (H * H + H),
    LAYERS = 2 * (ATTENTION + 2 * H * 96 + 96 + H + 2 * NORM),
    CONVS = 32 * 10 + 48 * 32 * 4,
    FEATURES = 2 * 48 + 48 * H + H,                          /* norm, product */
    POSITIONS = H * (H / 8) * 6 + H + 6,                     /* directions, bias, lengths */
    BODY = CONVS + FEATURES + H + POSITIONS + NORM + LAYERS, /* H: the frame that masks */
};

/* By hand. */
static void test_parameters(void)
{
    static const struct {
        const char *text;
        double parameters;
    } known[] = {
        {CLASS("wav2vec2", "Wav2Vec2Model"), BODY + 2 * 32},
        {CLASS("wav2vec2", "Wav2Vec2ForCTC"), BODY + 2 * 32 + 32 * (H + 1)},
        {CLASS("unispeech", "UniSpeechForCTC"), BODY + 2 * 32 + 32 * (H + 1)},
        {CLASS("unispeech-sat", "UniSpeechSatModel"), BODY + 2 * 32},
        {CLASS("hubert", "HubertForCTC"), BODY + 2 * 32 + 32 * (H + 1)},
        {SOUND("hubert", LARGE), BODY + 2 * (32 + 48) + 32 + 48 + 32 * (H + 1)},
        {CLASS("wav2vec2", "Wav2Vec2ForSequenceClassification"),
         BODY + 2 * 32 + 256 * (H + 1) + 2 * (256 + 1)},
        {CLASS("wav2vec2", "Wav2Vec2ForAudioFrameClassification"), BODY + 2 * 32 + 2 * (H + 1)},
        {SOUND("wav2vec2", ", \"use_weighted_layer_sum\": true,"
                           "\"architectures\": [\"Wav2Vec2ForSequenceClassification\"]"),
         BODY + 2 * 32 + 256 * (H + 1) + 2 * (256 + 1) + 3},
        {CLASS("wav2vec2", "Wav2Vec2ForPreTraining"),
         BODY + 2 * 32 + 256 * (H + 1) + 640 * (48 + 1) + 640 * 128 + 256 * (256 + 1)},
        {SOUND("wav2vec2", ", \"mask_time_prob\": 0.0"), BODY + 2 * 32 + 32 * (H + 1) - H},
        {SOUND("hubert", ", \"feat_proj_layer_norm\": false"), BODY + 2 * 32 + 32 * (H + 1) - 2 * 48},
        {SOUND("hubert", ", \"conv_pos_batch_norm\": true"), BODY + 2 * 32 + 32 * (H + 1) - 6 + 2 * H},
        /* keys of attention have no bias; one table of words, which the decoder has */
        {WHISPER(""), 3 * 10 * H + H + 3 * H * H + H + 1500 * H + 448 * H + 100 * H + 2 * NORM +
                          2 * (ATTENTION - H + 2 * H * 96 + 96 + H + 2 * NORM) +
                          3 * (2 * (ATTENTION - H) + 2 * H * 160 + 160 + H + 3 * NORM)},
        {WHISPER(", \"architectures\": [\"WhisperForAudioClassification\"], \"num_labels\": 5"),
         3 * 10 * H + H + 3 * H * H + H + 1500 * H + NORM +
             2 * (ATTENTION - H + 2 * H * 96 + 96 + H + 2 * NORM) + 256 * (H + 1) + 5 * (256 + 1)},
    };
    for (size_t i = 0; i < RT_COUNT(known); i++) {
        struct rt_model model = config(known[i].text);
        double found = rt_model_parameters(&model);
        if (found != known[i].parameters)
            printf("# %s: %.0f, expected %.0f\n", known[i].text, found, known[i].parameters);
        CU_ASSERT_EQUAL(found, known[i].parameters);
    }
}

/* 1 s: 16000 samples, 3199 windows of 10, 5 apart, then 1598 of 4, 2 apart. */
static void test_convolutions_over_samples(void)
{
    struct rt_graph graph = build(SOUND("wav2vec2", ""), seconds(1));
    CU_ASSERT_EQUAL(graph.options.sequence, 1598);
    ASSERT_FORWARD(&graph, "features.0.conv", RT_OP_CONV2D, 2, 1, 32, 1, 16000, 1, 10, 1, 0, 1, 1, 5, -1, -1);
    ASSERT_FORWARD(&graph, "features.1.conv", RT_OP_CONV2D, 2, 32, 48, 1, 3199, 1, 4, 1, 0, 1, 1, 2, -1, -1);
    ASSERT_FORWARD(&graph, "features.0.norm", RT_OP_LAYERNORM, 2 * 32, 3199);
    CU_ASSERT_PTR_NULL(find_node(&graph, "features.1.norm"));
    ASSERT_FORWARD(&graph, "positions.conv", RT_OP_CONV2D, 2, 64, 64, 1, 1598, 1, 6, 1, 0, 1, 8, -1, 3, -1);
    ASSERT_FORWARD(&graph, "attn.scores", RT_OP_BMM, 2 * 4, 1598, 1598, 16);
    ASSERT_FORWARD(&graph, "lm_head", RT_OP_LINEAR, 1, 2 * 1598, 32, 64);
    CU_ASSERT_EQUAL(graph.input_bytes, 2 * 16000 * 4.0);
    CU_ASSERT_PTR_NULL(find_node(&graph, "attn.mask"));
    rt_graph_release(&graph);
    graph = build(SOUND("wav2vec2", LARGE), seconds(1));
    ASSERT_FORWARD(&graph, "features.1.norm", RT_OP_LAYERNORM, 2 * 1598, 48);
    rt_graph_release(&graph);
}

/* The window is 1500 tokens of the encoder whatever is heard; decoding has them cached. */
static void test_whisper_hears_a_window(void)
{
    struct rt_graph graph = build(WHISPER(""), seconds(5));
    ASSERT_FORWARD(&graph, "conv1", RT_OP_CONV2D, 2, 10, 64, 1, 3000, 1, 3, 1, 0, 1, 1, -1, 1, -1);
    ASSERT_FORWARD(&graph, "attn.scores", RT_OP_BMM, 2 * 4, 1500, 1500, 16);
    ASSERT_FORWARD(&graph, "cross.scores", RT_OP_BMM, 2 * 8, 7, 1500, 8);
    ASSERT_FORWARD(&graph, "norm.order", RT_OP_TRANSPOSE, 2 * 1500, 64);
    CU_ASSERT_EQUAL(graph.input_bytes, 2 * 10 * 3000 * 4.0);
    rt_graph_release(&graph);
    struct rt_graph_options options = {
        .step = RT_STEP_DECODE, .batch = 3, .context = 20, .tensor_parallel = 1};
    graph = build(WHISPER(""), options);
    ASSERT_FORWARD(&graph, "cross.scores", RT_OP_BMM, 3 * 8, 1, 1500, 8);
    CU_ASSERT_EQUAL(graph.cache, 3 * 2.0 * 3 * (21 + 1500) * H);
    rt_graph_release(&graph);
}

/* In one kernel: 7 queries over 1500 tokens make as many scores as a causal call with 1496 cached ones. */
static void test_fused_attention_across(void)
{
    struct rt_graph_options options = seconds(30);
    options.dtype = RT_BF16;
    options.runtime = RT_RUNTIME_EAGER;
    struct rt_graph graph = build(WHISPER(""), options);
    const struct rt_graph_kernel *kernel = find_kernel(&graph, "cross.attention", RT_FORWARD, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
    CU_ASSERT_EQUAL(kernel->call.op, RT_OP_ATTENTION_CONTEXT);
    CU_ASSERT_EQUAL(kernel->flops, 4.0 * 2 * 7 * 1500 * H);
    rt_graph_release(&graph);
}

static void test_training(void)
{
    static const char *const configs[] = {WHISPER(""), SOUND("wav2vec2", ""), SOUND("hubert", LARGE),
                                          CLASS("wav2vec2", "Wav2Vec2ForPreTraining")};
    for (size_t i = 0; i < RT_COUNT(configs); i++) {
        struct rt_graph_options options = seconds(1);
        options.step = RT_STEP_TRAINING;
        struct rt_graph graph = build(configs[i], options);
        struct rt_graph_totals totals;
        rt_graph_totals(&graph, &totals);
        CU_ASSERT_TRUE(totals.flops[RT_BACKWARD] > 1.5 * totals.flops[RT_FORWARD] || i == 3);
        CU_ASSERT_PTR_NOT_NULL(find_kernel(&graph, i == 0 ? "conv2" : "positions.conv", RT_BACKWARD, 0));
        rt_graph_release(&graph);
    }
}

static void test_what_does_not_fit(void)
{
    struct rt_model whisper = config(WHISPER("")), sound = config(SOUND("hubert", ""));
    struct rt_graph_options options = seconds(31);
    struct rt_graph graph;
    RT_ASSERT_FAILS(rt_graph_build(&whisper, &options, &graph), RT_EUSAGE, "hears 30 seconds at a time");
    options.seconds = 30;
    options.batch = (int64_t)1 << 31;
    RT_ASSERT_FAILS(rt_graph_build(&whisper, &options, &graph), RT_EUSAGE, "seconds of sound is too large");
    options.seconds = 86400;
    RT_ASSERT_FAILS(rt_graph_build(&sound, &options, &graph), RT_EUSAGE, "is too large");
    options = seconds(0.0005);
    RT_ASSERT_FAILS(rt_graph_build(&sound, &options, &graph), RT_EUSAGE, "reach over");
    options = seconds(1);
    options.step = RT_STEP_DECODE;
    options.context = 5;
    RT_ASSERT_FAILS(rt_graph_build(&sound, &options, &graph), RT_EUSAGE, "keeps no keys and values");
}

static void test_bad_configs(void)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {SOUND("hubert", ", \"conv_bias\": 3"), "\"conv_bias\" must be true or false"},
        {"{\"model_type\": \"hubert\", \"conv_dim\": [512, 512]}", "list 2, 7 and 7 convolutions"},
        {"{\"model_type\": \"hubert\", \"conv_dim\": []}", "must be a list of 1 to 16 whole numbers"},
        {"{\"model_type\": \"hubert\", \"conv_dim\": 7}", "must be a list of 1 to 16 whole numbers"},
        {"{\"model_type\": \"hubert\", \"conv_stride\": [5, 2, 0, 2, 2, 2, 2]}", "correct number 3"},
        {"{\"model_type\": \"hubert\", \"num_conv_pos_embedding_groups\": 7}",
         "does not divide the hidden size 768"},
        {"{\"model_type\": \"wav2vec2\", \"num_codevector_groups\": 3}",
         "does not divide \"codevector_dim\" 256"},
        {"{\"model_type\": \"hubert\", \"conv_dim\": [2000000000, 2000000000], \"conv_kernel\": [2000000000, "
         "3],"
         "\"conv_stride\": [1, 1]}",
         "more than any model has"},
        {"{\"model_type\": \"hubert\", \"num_conv_pos_embeddings\": 2147483648}", "more than any model has"},
        {"{\"model_type\": \"wav2vec2\", \"num_codevectors_per_group\": 2147483648, \"codevector_dim\": "
         "2000000000}",
         "more than any model has"},
        {"{\"model_type\": \"wav2vec2\", \"feat_extract_norm\": 1}", "must be a text or a list of texts"},
    };
    struct rt_model model;
    for (size_t i = 0; i < RT_COUNT(bad); i++)
        RT_ASSERT_FAILS(rt_model_load(rt_test_write("bad.json", bad[i].text), &model), RT_EFORMAT,
                        bad[i].words);
}

static void test_what_is_read(void)
{
    struct rt_model whisper = config(WHISPER("")), sound = config(SOUND("hubert", ""));
    CU_ASSERT_TRUE(rt_model_reads_text(&whisper));
    CU_ASSERT_FALSE(rt_model_reads_text(&sound));
    CU_ASSERT_EQUAL(rt_model_seconds(&whisper), 30);
    CU_ASSERT_EQUAL(rt_model_seconds(&sound), 10);
    CU_ASSERT_EQUAL(rt_model_default_sequence(&whisper), 448);
    CU_ASSERT_EQUAL(rt_model_default_sequence(&sound), 15998);
}

RT_TESTS(RT_TEST(test_parameters), RT_TEST(test_convolutions_over_samples),
         RT_TEST(test_whisper_hears_a_window), RT_TEST(test_fused_attention_across), RT_TEST(test_training),
         RT_TEST(test_what_does_not_fit), RT_TEST(test_bad_configs), RT_TEST(test_what_is_read))
