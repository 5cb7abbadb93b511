/* Patterns of ONNX models: what exporters write as several operators, and what only looks like it. */
#include "text.h"
#include "base/status.h"
#include "base/text.h"
#include "models/networks/source.h"

static struct rt_graph_options step = {
    .batch = 1, .sequence = 1, .tensor_parallel = 1, .runtime = RT_RUNTIME_EAGER};
static bool no_patterns;

/* The model as fp32 in eager code, or as `step` has it; false where the build has no ONNX. */
static bool graph_of(const char *text, struct rt_graph *graph)
{
    char path[256];
    struct rt_model_source source;
    snprintf(path, sizeof path, "%s/pattern.onnx", rt_test_folder());
    write_onnx(path, text);
    RT_ASSERT_OK(rt_model_source_find(path, &source));
    source.no_patterns = no_patterns;
    if (rt_model_source_graph(&source, &step, 0, graph) == RT_OK)
        return true;
    if (strstr(rt_error(), "built without ONNX") == NULL)
        printf("# %s\n", rt_error());
    CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(rt_error(), "built without ONNX"));
    printf("skipped: built without ONNX\n");
    return false;
}

/* "op dim dim ...; ..." of all launches, with the dtype where it is another than the graph's. */
static void add_launches(const struct rt_graph *graph, const struct rt_node *node, struct rt_text *out)
{
    struct rt_graph_kernel launches[64];
    CU_ASSERT_FATAL(node->kernel_count <= RT_COUNT(launches));
    size_t count = rt_node_launches(graph, node, RT_FORWARD, launches);
    for (size_t k = 0; k < count; k++) {
        const struct rt_call *call = &launches[k].call;
        rt_text_item(out, "; ", "%s", rt_ops[call->op].name);
        for (int d = 0; d < rt_op_ndims((enum rt_op_id)call->op); d++)
            if (call->dim[d] >= 0)
                rt_text_add(out, " %" PRId64, call->dim[d]);
        if (call->dtype != graph->options.dtype)
            rt_text_add(out, " %s", rt_dtypes[call->dtype].name);
    }
}

static void becomes(const char *text, const char *expected)
{
    struct rt_graph graph;
    struct rt_text got = {0};
    if (!graph_of(text, &graph))
        return;
    for (size_t n = 0; n < graph.node_count; n++)
        add_launches(&graph, &graph.nodes[n], &got);
    if (strcmp(got.text, expected) != 0)
        printf("# %s\n# becomes  %s\n# expected %s\n", text, got.text, expected);
    CU_ASSERT_STRING_EQUAL(got.text, expected);
    rt_text_release(&got);
    rt_graph_release(&graph);
}

static void has_parameters(const char *text, double expected)
{
    struct rt_graph graph;
    struct rt_graph_totals totals;
    if (!graph_of(text, &graph))
        return;
    rt_graph_totals(&graph, &totals);
    CU_ASSERT_EQUAL(totals.parameters, expected);
    rt_graph_release(&graph);
}

/* --- activations --- */

#define NUMBERS                                                                                              \
    "number one 1; number two 2; number three 3; number half 0.5; number root 1.4142135; number away 1.5;"   \
    "number a 0.044715; number b 0.79788456; number eps 1e-5;"
#define X NUMBERS "input x 4x8; output y;"

static void test_gelu(void)
{
    becomes(X "d = Div x root; e = Erf d; s = Add e one; m = Mul x s; y = Mul m half", "gelu 4 8");
    becomes(X "d = Div x root; e = Erf d; s = Add one e; m = Mul half x; y = Mul s m", "gelu 4 8");
    becomes(X "d = Div x root; e = Erf d; s = Add e one; m = Mul s half; y = Mul x m", "gelu 4 8");
    /* another constant; what is made on the way is an output; the product is with another value */
    becomes(X "d = Div x away; e = Erf d; s = Add e one; m = Mul x s; y = Mul m half",
            "div_scalar 4 8; tanh 4 8; add_scalar 4 8; mul 4 8; mul_scalar 4 8");
    becomes(X "output e; d = Div x root; e = Erf d; s = Add e one; m = Mul x s; y = Mul m half",
            "div_scalar 4 8; tanh 4 8; add_scalar 4 8; mul 4 8; mul_scalar 4 8");
    becomes(X "input z 4x8; d = Div x root; e = Erf d; s = Add e one; m = Mul z s; y = Mul m half",
            "div_scalar 4 8; tanh 4 8; add_scalar 4 8; mul 4 8; mul_scalar 4 8");
}

#define CURVE "f = Mul c a; g = Add x f; h = Mul g b; t = Tanh h; s = Add t one;"
static void test_gelu_by_tanh(void)
{
    /* torch.nn.functional.gelu: TorchScript's exporter, torch.export's */
    becomes(X "p = Mul x x; c = Mul x p;" CURVE "m = Mul x s; y = Mul half m", "gelu 4 8");
    becomes(X "c = Pow x three;" CURVE "m = Mul x s; y = Mul half m", "gelu 4 8");
    /* transformers' gelu_new runs op by op */
    becomes(X "c = Pow x three;" CURVE "m = Mul half x; y = Mul m s",
            "mul_scalar 4 8; pow_scalar 4 8; mul_scalar 4 8; add 4 8; mul_scalar 4 8; tanh 4 8; add_scalar 4 "
            "8; mul 4 8");
    becomes(X "c = Pow x two;" CURVE "m = Mul x s; y = Mul half m",
            "pow_scalar 4 8; mul_scalar 4 8; add 4 8; mul_scalar 4 8; tanh 4 8; add_scalar 4 8; mul 4 8; "
            "mul_scalar 4 8");
}

static void test_gates(void)
{
    becomes(X "g = Sigmoid x; y = Mul g x", "silu 4 8");
    becomes(X "g = HardSigmoid x; y = Mul x g", "hardswish 4 8");
    becomes(X "p = Softplus x; g = Tanh p; y = Mul x g", "silu 4 8");
    becomes(X "input z 4x8; g = Sigmoid z; y = Mul x g", "sigmoid 4 8; mul 4 8");
    becomes(X "output g; g = Sigmoid x; y = Mul x g", "sigmoid 4 8; mul 4 8");
    /* SwiGLU: what swish makes is multiplied by a kernel of its own */
    becomes(X "input z 4x8; g = Sigmoid x; w = Mul x g; y = Mul w z", "silu 4 8; mul 4 8");
    becomes(X "r = Sqrt x; y = Reciprocal r", "rsqrt 4 8");
    becomes(X "r = Sqrt x; y = Div one r", "rsqrt 4 8");
    becomes(X "r = Sqrt x; y = Div two r", "rsqrt 4 8; div_scalar 4 8");
    no_patterns = true;
    becomes(X "g = Sigmoid x; y = Mul g x", "sigmoid 4 8; mul 4 8");
    no_patterns = false;
}

/* What torch.export writes for one kernel of PyTorch. */
static void test_exported(void)
{
    becomes(X "p = Softplus x; g = Greater x two; y = Where g x p", "tanh 4 8");
    becomes(X "input z 4x8; p = Softplus x; g = Greater x two; y = Where g z p",
            "tanh 4 8; add 4 8; where 4 8");
    becomes(X "input z 4x8; d = Sub x z; u = Abs d; l = Less u one; p = Pow u two; m = Mul p half; s = Sub u "
              "half; y = Where l m s",
            "add 4 8");
    becomes(
        X "number nil 0; e = Equal x nil; i = IsNaN x; l = Log x; m = Mul x l; w = Where i x m; y = Where e "
          "x w",
        "tanh 4 8");
    becomes(
        X "number nil 0; e = Equal x nil; i = IsNaN x; l = Log x; m = Mul x l; w = Where i x m; y = Where e "
          "w x",
        "add 4 8; add 4 8; tanh 4 8; mul 4 8; where 4 8; where 4 8");
}

/* Images that lie channels last are rows of pixels as they are. */
static void test_pixels(void)
{
    const char *there = "input x 2x4x6x8; output y; p = AveragePool x kernel_shape=2,2; t = Transpose p "
                        "perm=0,2,3,1; y = Relu t",
               *turned = "input x 2x4x6x8; output y; p = AveragePool x kernel_shape=2,2; t = Transpose p "
                         "perm=0,3,2,1; y = Relu t";
    const char *tokens =
        "input x 2x4x6x8; output y; list flat 2,4,35; list whole 2,4,5,7; p = AveragePool x "
        "kernel_shape=2,2; f = Reshape p flat; t = Transpose f perm=0,2,1; r = Relu t; b = Transpose r "
        "perm=0,2,1; i = Reshape b whole; y = AveragePool i kernel_shape=2,2";
    becomes(there, "avg_pool2d 2 4 6 8 2 1 0; transpose 70 4; relu 70 4");
    step.channels_last = true;
    becomes(there, "avg_pool2d 2 4 6 8 2 1 0; relu 70 4");
    becomes(turned, "avg_pool2d 2 4 6 8 2 1 0; transpose 70 4; relu 70 4");
    /* by way of tokens */
    becomes(tokens, "avg_pool2d 2 4 6 8 2 1 0; relu 70 4; avg_pool2d 2 4 5 7 2 1 0");
    step.channels_last = false;
    becomes(tokens, "avg_pool2d 2 4 6 8 2 1 0; transpose 70 4; relu 70 4; avg_pool2d 2 4 5 7 2 1 0");
}

/* An image that was turned into rows is stored channels last when it is one again, whatever --layout says. */
static void test_turned_image(void)
{
    const char *net = "input x 2x4x6x8; output y; weight w 4x1x3x3; weight u 4x1x3x3; c = Conv x w group=4 "
                      "pads=1,1,1,1; t = Transpose c perm=0,2,3,1; r = Relu t; b = Transpose r perm=0,3,1,2; "
                      "y = Conv b u group=4 pads=1,1,1,1";
    becomes(net, "conv2d 2 4 4 6 8 3 3 1 1 1 4; transpose 96 4; relu 96 4; "
                 "conv2d 2 4 4 6 8 3 3 1 1 1 4 1");
    step.channels_last = true;
    becomes(net, "conv2d 2 4 4 6 8 3 3 1 1 1 4 1; relu 96 4; conv2d 2 4 4 6 8 3 3 1 1 1 4 1");
    step.channels_last = false;
}

/* --- norms --- */

#define DEVIATION                                                                                            \
    "m = ReduceMean x axes=-1,; d = Sub x m; p = Pow d two; v = ReduceMean p axes=-1,; e = Add v eps; r = "  \
    "Sqrt e;"
static void test_layer_norm(void)
{
    const char *whole = X "weight w 8; weight c 8;" DEVIATION "n = Div d r; s = Mul n w; y = Add s c";
    becomes(whole, "layernorm 4 8");
    has_parameters(whole, 16);
    becomes(X "weight w 8;" DEVIATION "n = Div d r; y = Mul w n", "layernorm 4 8");
    has_parameters(X "weight w 8;" DEVIATION "n = Div d r; y = Mul w n", 8);
    becomes(X DEVIATION "y = Div d r", "layernorm 4 8");
    has_parameters(X DEVIATION "y = Div d r", 0);
    /* over columns; a mean of cubes; the root is an output */
    becomes(X "m = ReduceMean x axes=0,; d = Sub x m; p = Pow d two; v = ReduceMean p axes=0,; e = Add v "
              "eps; r = Sqrt e; y = Div d r",
            "reduce 8 4; add 4 8; pow_scalar 4 8; reduce 8 4; add_scalar 1 8; rsqrt 1 8; div 4 8");
    becomes(X "m = ReduceMean x axes=-1,; d = Sub x m; p = Pow d three; v = ReduceMean p axes=-1,; e = Add v "
              "eps; r = Sqrt e; y = Div d r",
            "reduce 4 8; add 4 8; pow_scalar 4 8; reduce 4 8; add_scalar 4 1; rsqrt 4 1; div 4 8");
    becomes(X "output r;" DEVIATION "y = Div d r",
            "reduce 4 8; add 4 8; pow_scalar 4 8; reduce 4 8; add_scalar 4 1; rsqrt 4 1; div 4 8");
}

#define ROOT "p = Pow x two; v = ReduceMean p axes=-1,; e = Add v eps; r = Sqrt e;"
#define RMS  "pow_scalar 4 8; reduce 4 8; add_scalar 4 1; rsqrt 4 1; mul 4 8; mul 4 8"
static void test_rms_norm(void)
{
    struct rt_graph graph;
    const char *both[] = {X "weight w 8;" ROOT "i = Reciprocal r; n = Mul x i; y = Mul w n",
                          X "weight w 8;" ROOT "i = Div one r; n = Mul i x; y = Mul n w"};
    for (int i = 0; i < 2; i++) {
        becomes(both[i], RMS);
        has_parameters(both[i], 8);
        if (graph_of(both[i], &graph)) {
            CU_ASSERT_STRING_EQUAL(graph.nodes[5].name, "norm.weight"); /* the builder's */
            rt_graph_release(&graph);
        }
    }
    /* as torch.compile has it, and what it is not: over columns, squares read by others, x / root */
    step.runtime = RT_RUNTIME_COMPILE;
    becomes(both[0], "mul 4 8");
    step.runtime = RT_RUNTIME_EAGER;
    becomes(X "weight w 8; p = Pow x two; v = ReduceMean p axes=0,; e = Add v eps; r = Sqrt e; i = "
              "Reciprocal r; n = Mul x i; y = Mul w n",
            "pow_scalar 4 8; reduce 8 4; add_scalar 1 8; rsqrt 1 8; mul 4 8; mul 4 8");
    if (graph_of(X "weight w 8; output p;" ROOT "i = Reciprocal r; n = Mul x i; y = Mul w n", &graph)) {
        CU_ASSERT_STRING_EQUAL(graph.nodes[graph.node_count - 1].name, "Mul 6");
        rt_graph_release(&graph);
    }
    becomes(X "weight w 8;" ROOT "n = Div x r; y = Mul w n",
            "pow_scalar 4 8; reduce 4 8; add_scalar 4 1; rsqrt 4 1; div 4 8; mul 4 8");
}

/* --- attention --- */

/* 2 sequences of 6 tokens, 4 heads of 16 */
#define HEADS                                                                                                \
    NUMBERS "number scale 0.25; number low -1e9; input q 2x4x6x16; input k 2x4x16x6; input v 2x4x6x16;"      \
            "output y;"
#define ENCODER "attention_encoder 2 6 4 16"
#define CAUSAL  "attention_context 2 6 0 4 4 16 0 0"
#define WRITTEN "bmm 8 6 6 16; mul_scalar 48 6; softmax 48 6; bmm 8 6 16 6"

static void fuse_attention(bool on)
{
    step.dtype = on ? RT_BF16 : RT_FP32;
    step.runtime = RT_RUNTIME_EAGER;
}

static void test_attention(void)
{
    const char *plain = HEADS "s = MatMul q k; c = Mul s scale; p = Softmax c; y = MatMul p v";
    becomes(plain, WRITTEN); /* no kernel fuses fp32 */
    fuse_attention(true);
    becomes(plain, ENCODER);
    becomes(HEADS "s = MatMul q k; c = Div s scale; p = Softmax c axis=3; y = MatMul p v", ENCODER);
    becomes(HEADS "s = MatMul q k; p = Softmax s; y = MatMul p v", ENCODER);
    becomes(HEADS "a1 = Mul q scale; b1 = Mul k scale; s = MatMul a1 b1; p = Softmax s; n = IsNaN p; w = "
                  "Where n low p; y = MatMul w v",
            ENCODER); /* scaled_dot_product_attention */
    becomes(HEADS
            "input m 2x1x1x6; s = MatMul q k; c = Mul scale s; d = Add m c; p = Softmax d; y = MatMul p v",
            ENCODER);
    step.runtime = RT_RUNTIME_EAGER_MATH;
    becomes(plain, WRITTEN);
    step.runtime = RT_RUNTIME_EAGER;
    no_patterns = true;
    becomes(plain, WRITTEN);
    no_patterns = false;
    fuse_attention(false);
}

static void test_masks(void)
{
    fuse_attention(true);
    /* a triangle, positions that are compared, a table of the file: what makes the mask does not run */
    becomes(HEADS "input m 6x6; t = Trilu m; s = MatMul q k; d = Add s t; p = Softmax d; y = MatMul p v",
            CAUSAL);
    becomes(HEADS "input i 6x1; input j 1x6; g = LessOrEqual j i; s = MatMul q k; d = Where g s low; p = "
                  "Softmax d; y = MatMul p v",
            CAUSAL);
    becomes(HEADS "weight m 1x1x6x6; s = MatMul q k; d = Add s m; p = Softmax d; y = MatMul p v", CAUSAL);
    /* a triangle that others read, too, is made */
    becomes(HEADS
            "output t; input m 6x6; t = Trilu m; s = MatMul q k; d = Add s t; p = Softmax d; y = MatMul p v",
            "copy 6 6; " CAUSAL);
    fuse_attention(false);
}

static void test_no_attention(void)
{
    fuse_attention(true);
    /* softmax over queries; scores or their softmax are an output; scores are capped; a bias of each head */
    becomes(HEADS "s = MatMul q k; c = Mul s scale; p = Softmax c axis=2; y = MatMul p v", WRITTEN);
    becomes(HEADS "output s; s = MatMul q k; c = Mul s scale; p = Softmax c; y = MatMul p v", WRITTEN);
    becomes(HEADS "output p; s = MatMul q k; c = Mul s scale; p = Softmax c; y = MatMul p v", WRITTEN);
    becomes(HEADS "s = MatMul q k; c = Tanh s; p = Softmax c; y = MatMul p v",
            "bmm 8 6 6 16; tanh 48 6; softmax 48 6; bmm 8 6 16 6");
    becomes(HEADS "input m 1x4x6x6; s = MatMul q k; d = Add s m; p = Softmax d; y = MatMul p v",
            "bmm 8 6 6 16; add 48 6; softmax 48 6; bmm 8 6 16 6");
    fuse_attention(false);
}

/* All tokens attend to others than themselves; a bias of each head is PyTorch's function's, which scales
 * both. */
static void test_attention_to_others(void)
{
    const char *others =
        NUMBERS "input q 2x4x6x16; input k 2x4x16x9; input v 2x4x9x16; output y; s = MatMul q "
                "k; p = Softmax s; y = MatMul p v";
    becomes(others, "bmm 8 6 9 16; softmax 48 9; bmm 8 6 16 9");
    fuse_attention(true);
    becomes(others, "attention_cross 2 6 4 16 9");
    becomes(
        HEADS
        "input m 1x4x6x6; qs = Mul q half; ks = Mul k half; s = MatMul qs ks; d = Add s m; p = Softmax d; "
        "y = MatMul p v",
        ENCODER);
    fuse_attention(false);
}

/* Queries, keys and values of one product, taken apart by heads: views, of which the products copy theirs. */
static void test_packed_heads(void)
{
    const char *packed =
        "input x 2x6x192; output y; list five 2,6,3,4,16; list whole 2,6,64; list first 0,; list second 1,; "
        "list "
        "third 2,; f = Reshape x five; t = Transpose f perm=2,0,3,1,4; a = Gather t first; q = Squeeze a "
        "first; b "
        "= Gather t second; k = Squeeze b first; c = Gather t third; v = Squeeze c first; kt = Transpose k "
        "perm=0,1,3,2; s = MatMul q kt; p = Softmax s; z = MatMul p v; h = Transpose z perm=0,2,1,3; y = "
        "Reshape h "
        "whole";
    becomes(packed,
            "copy 12 64; transpose 12 64; bmm 8 6 6 16; softmax 48 6; copy 12 64; bmm 8 6 16 6; copy 12 64");
    fuse_attention(true);
    becomes(packed, ENCODER);
    fuse_attention(false);
}

/* Of 4 heads, two share keys and values. */
#define GROUPS                                                                                               \
    NUMBERS "input q 2x4x6x16; input k 2x2x6x16; input v 2x2x6x16; output y;"                                \
            "list at 2,; list wide 2,2,2,6,16; list all 2,4,6,16;"                                           \
            "ku = Unsqueeze k at; ke = Expand ku wide; kr = Reshape ke all;"                                 \
            "vu = Unsqueeze v at; ve = Expand vu wide; vr = Reshape ve all;"                                 \
            "kt = Transpose kr perm=0,1,3,2; s = MatMul q kt; weight m 6x6; d = Add s m; p = Softmax d;"     \
            "y = MatMul p vr;"
static void test_shared_heads(void)
{
    struct rt_graph graph;
    becomes(GROUPS, "copy 48 16; copy 48 16; bmm 8 6 6 16; add 48 6; softmax 48 6; bmm 8 6 16 6");
    if (graph_of(GROUPS, &graph)) {
        CU_ASSERT_EQUAL(graph.kernels[0].bytes, 4.0 * 3 * 2 * 2 * 6 * 16); /* read once, written twice */
        rt_graph_release(&graph);
    }
    fuse_attention(true);
    becomes(GROUPS, "attention_context 2 6 0 4 2 16 0 0");
    becomes(GROUPS "output kr; output vr", "copy 48 16; copy 48 16; attention_context 2 6 0 4 4 16 0 0");
    fuse_attention(false);
    becomes(NUMBERS "input x 2x2x6x16; output y; list at 2,; list wide 2,2,1,6,16; list all 2,2,6,16; u = "
                    "Unsqueeze x at; e = Expand u wide; r = Reshape e all; y = Tanh r",
            "tanh 24 16"); /* nothing is repeated */
}

/* A new token and 8 that are cached. */
static void test_decoding(void)
{
    fuse_attention(true);
    becomes("input q 2x4x1x16; input k 2x4x16x9; input v 2x4x9x16; input m 2x1x1x9; output y; s = MatMul q "
            "k; d = Add s m; p = Softmax d; y = MatMul p v",
            "attention_generation 2 1 8 4 4 16 0 0");
    becomes("input q 2x4x3x16; input k 2x4x16x9; input v 2x4x9x16; weight m 3x9; output y; s = MatMul q k; d "
            "= Add s m; p = Softmax d; y = MatMul p v",
            "attention_context 2 3 6 4 4 16 0 0");
    fuse_attention(false);
}

/* Keys that torch.export's exporter turns by way of three dims, after positions or repetition. */
static void test_turned_keys(void)
{
    const char *turned =
        "input x 2x6x4x16; input q 2x4x6x16; output y; list three 8,6,16; list four 2,4,16,6;"
        "k = Transpose x perm=0,2,1,3; a = Reshape k three; b = Transpose a perm=0,2,1;"
        "c = Reshape b four; y = MatMul q c";
    becomes(turned, "transpose 12 64; bmm 8 6 6 16");
    becomes("input x 2x4x6x16; output y; list three 8,16,6; list four 2,4,6,16; a = Reshape x three; b = "
            "Transpose a perm=0,2,1; c = Reshape b four; y = Tanh c",
            "transpose 48 16; tanh 48 16"); /* other columns: elements move */
}

/* Heads of torch.nn.MultiheadAttention, which has 6 tokens before 2 sequences. */
static void test_tokens_first(void)
{
    becomes("input x 6x2x64; output y; list three 6,8,16; list four 2,4,6,16; a = Reshape x three;"
            "b = Transpose a perm=1,0,2; c = Reshape b four; y = Softmax c",
            "softmax 48 16");
    becomes("input x 6x2x64; output y; list three 6,8,16; list four 4,2,6,16; a = Reshape x three;"
            "b = Transpose a perm=1,0,2; c = Reshape b four; y = Softmax c",
            "copy 48 16; softmax 48 16"); /* sequences and heads in another order */
}

#define ROTARY_INPUTS                                                                                        \
    "input x 2x4x6x16; input z 2x4x6x16; input cos 6x16; input sin 6x16; output y;"                          \
    "list no 0,; list mid 8,; list end 16,; list last -1,;"
#define ROTARY "mul 48 16; mul_scalar 48 8; copy 48 16; mul 48 16; add 48 16"
static void test_rotary(void)
{
    struct rt_graph graph;
    const char *sliced = ROTARY_INPUTS "c = Mul cos x; lo = Slice x no mid last; hi = Slice x mid end last; "
                                       "n = Neg hi; r = Concat n lo axis=-1; s = Mul r sin; y = Add c s";
    becomes(sliced, ROTARY);
    becomes(ROTARY_INPUTS "list parts 8,8; c = Mul x cos; lo hi = Split x parts axis=-1; n = Neg hi; r = "
                          "Concat n lo axis=-1; s = Mul sin r; y = Add s c",
            ROTARY);
    if (graph_of(sliced, &graph)) {
        CU_ASSERT_STRING_EQUAL(graph.nodes[2].name, "Add 6.rotate_half");
        CU_ASSERT_FALSE(graph.nodes[2].fusable); /* torch.compile's chains end there, as in named models */
        rt_graph_release(&graph);
    }
    /* the halves of another value: no builder's node */
    if (graph_of(ROTARY_INPUTS "c = Mul z cos; lo = Slice x no mid last; hi = Slice x mid end last; n = Neg "
                               "hi; r = Concat n lo axis=-1; s = Mul r sin; y = Add c s",
                 &graph)) {
        for (size_t n = 0; n < graph.node_count; n++)
            CU_ASSERT_PTR_NULL(strstr(graph.nodes[n].name, "rotate_half"));
        rt_graph_release(&graph);
    }
}

/* --- quantised operands, convolutions --- */

#define SCALES "number s 0.1; number t 0.2; number u 0.3;"
static void test_quantised(void)
{
    const char *conv =
        SCALES "input x 1x3x8x8; weight w 4x3x1x1 int8; output y; xq = QuantizeLinear x s; xd = "
               "DequantizeLinear xq s;"
               "wd = DequantizeLinear w t; c = Conv xd wd kernel_shape=1,1; y = QuantizeLinear c u";
    becomes(conv, "conv2d 1 3 4 8 8 1 1 1 0 1 1 int8");
    has_parameters(conv, 12);
    becomes(SCALES "input x 4x8; weight w 8x8 int8; weight c 8; output y; xq = QuantizeLinear x s; xd = "
                   "DequantizeLinear xq s;"
                   "wd = DequantizeLinear w t; m = MatMul xd wd; b = Add m c; y = QuantizeLinear b u",
            "linear 1 4 8 8 int8");
    no_patterns = true;
    becomes(SCALES "input x 4x8; weight w 8x8 int8; output y; xq = QuantizeLinear x s; xd = DequantizeLinear "
                   "xq s; wd = DequantizeLinear w t; y = MatMul xd wd",
            "copy 4 8; copy 4 8; linear 1 4 8 8");
    no_patterns = false;
    /* what others read of the operands runs for them */
    becomes(SCALES "input x 4x8; weight w 8x8 int8; output y; output z; xq = QuantizeLinear x s; xd = "
                   "DequantizeLinear xq s; wd = DequantizeLinear w t; y = MatMul xd wd; z = Tanh xd",
            "copy 4 8; copy 4 8; linear 1 4 8 8 int8; tanh 4 8");
    becomes(SCALES "input x 4x8; weight w 8x8 int8; weight o 8x8 int8; output y; output z; xq = "
                   "QuantizeLinear x s; xd = DequantizeLinear xq s; wd = DequantizeLinear w t; od = "
                   "DequantizeLinear o t; y = MatMul xd wd; z = MatMul xd od",
            "linear 1 4 8 8 int8; linear 1 4 8 8 int8");
    /* one operand alone, or operands of two kinds */
    becomes(SCALES "input x 4x8; weight w 8x8 int8; output y; wd = DequantizeLinear w t; y = MatMul x wd",
            "linear 1 4 8 8");
    becomes(SCALES "input x 4x8; weight w 8x8 fp8; output y; xq = QuantizeLinear x s; xd = DequantizeLinear "
                   "xq s; wd = DequantizeLinear w t; y = MatMul xd wd",
            "copy 4 8; copy 4 8; linear 1 4 8 8");
}

/* Batch norm and activation stay behind the convolution in eager code; compiled they are one kernel. */
static void test_convolution(void)
{
    const char *net =
        "input x 1x3x8x8; weight w 4x3x1x1; weight g 4; weight b 4; weight m 4; weight v 4; output y;"
        "c = Conv x w kernel_shape=1,1; n = BatchNormalization c g b m v; y = Relu n";
    becomes(net, "conv2d 1 3 4 8 8 1 1 1 0 1 1; batchnorm_inference 1 4 8 8; relu 4 64");
    step.runtime = RT_RUNTIME_COMPILE;
    becomes(net, "conv2d 1 3 4 8 8 1 1 1 0 1 1 1; relu 64 4");
    step.runtime = RT_RUNTIME_EAGER;
}

/* Found by fuzzing: a division by the rows of no group. */
static void test_groups(void)
{
    becomes("input x 2x6x4; weight w 6; output y; y = GroupNormalization x w w num_groups=3",
            "reduce 6 8; batchnorm_inference 1 6 1 8");
    becomes("input x 2x6x4; weight w 6; output y; y = GroupNormalization x w w num_groups=4", "copy 12 4");
}

/* x[2] = u, which a file writes as a new x. */
static void test_scatter(void)
{
    struct rt_graph graph;
    const char *net = "input x 4x6x8; input u 6x8; list i 2,; output y; y = ScatterND x i u";
    becomes(net, "index 24 8");
    if (graph_of(net, &graph)) {
        CU_ASSERT_EQUAL(graph.kernels[0].bytes, 4.0 * 2 * 6 * 8); /* u is read and written, x is not moved */
        rt_graph_release(&graph);
    }
}

/* torch.split of uneven parts, as torch.export writes it with nothing folded. */
static void test_uneven_parts(void)
{
    becomes("input x 2x8x6; output y; list sizes 3,5; list last -1,; s = SplitToSequence x sizes axis=1; p = "
            "SequenceAt s last; y = Relu p",
            "relu 10 6");
}

RT_TESTS(RT_TEST(test_gelu), RT_TEST(test_gelu_by_tanh), RT_TEST(test_gates), RT_TEST(test_exported),
         RT_TEST(test_pixels), RT_TEST(test_turned_image), RT_TEST(test_layer_norm), RT_TEST(test_rms_norm),
         RT_TEST(test_attention), RT_TEST(test_masks), RT_TEST(test_no_attention),
         RT_TEST(test_attention_to_others), RT_TEST(test_packed_heads), RT_TEST(test_shared_heads),
         RT_TEST(test_decoding), RT_TEST(test_turned_keys), RT_TEST(test_tokens_first), RT_TEST(test_rotary),
         RT_TEST(test_quantised), RT_TEST(test_convolution), RT_TEST(test_groups), RT_TEST(test_scatter),
         RT_TEST(test_uneven_parts))
