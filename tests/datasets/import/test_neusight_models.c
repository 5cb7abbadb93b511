/* NeuSight's labels and nodes: how often a layer counts, and what is refused. */
#include "datasets/import/import_test.h"

static void test_bad_labels(void)
{
    static const struct {
        const char *name, *text, *words;
    } cases[] = {
        {"Tesla T4/m-inf-512-8.json", "{\"e2e_latency\": -1}",
         "\"e2e_latency\" must be a latency in ms above 0"},
        {"Tesla T4/m-inf-512-8.json", "{\"e2e_latency\": null}", "\"e2e_latency\" must be"},
        {"Tesla T4/m-inf-512-8.json", "{\"e2e_latency\": 5, \"fw_latency\": \"x\"}",
         "\"fw_latency\" must be"},
        {"Tesla T4/m-inf-512-8.json", "{\"e2e_latency\": 5, \"num_layer\": -3}", "\"num_layer\" must be"},
        {"Tesla T4/m-512-8.json", "{\"e2e_latency\": 5}", "a label's name must be <model>"},
        {"Tesla T4/m-inf-0-8.json", "{\"e2e_latency\": 5}", "a label's name must be <model>"},
        {"Voodoo/m-inf-512-8.json", "{\"e2e_latency\": 5}", "a label of the unknown GPU \"Voodoo\""},
    };
    char folder[256], good[300];
    make_folder("labels", "Tesla T4", folder, sizeof folder);
    make_folder("labels", "Voodoo", folder, sizeof folder);
    snprintf(good, sizeof good, "%s",
             rt_test_write("labels/Tesla T4/good-train-1-1.json", "{\"e2e_latency\": 5}"));
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        char name[64];
        snprintf(name, sizeof name, "labels/%s", cases[i].name);
        const char *path = rt_test_write(name, cases[i].text);
        RT_ASSERT_OK(import("neusight", folder, 1, false));
        CU_ASSERT_TRUE(imported.workload_count == 1 && report.total.refused == 1);
        check_words(&report.refused, cases[i].words);
        unlink(path);
    }
    release();
}

#define NODES          "op,target,fw_latency,bw_latency,acc_latency,Name\n"
#define NODE(ms, name) "call_module,x," ms "," name "\n"

/* What is repeated, per model; and a label or its nodes alone. */
static void test_nodes(void)
{
    static const struct {
        const char *name, *layers, *nodes;
        double forward_us, backward_us;
    } cases[] = {
        {"GPT_x-train-8-2", "3",
         NODE("1,2,4", "add") NODE("1,2,0.5", "transformer_h_0_ln_1") NODE("1,2,0", "mul")
             NODE("1,2,0", "add_15") NODE("1,2,8", "add_16"),
         11000, 35500}, /* 1 + 3 x 3 + 1, and 6 + 3 x 6.5 + 10 */
        {"opt_x-inf-8-2", "2",
         NODE("1,0,0", "model_decoder_layers_0_self_attn_layer_norm") NODE("1,0,0", "view_11")
             NODE("1,0,0", "view_12"),
         5000, NAN},
        {"gpt_x-inf-8-2", "0", NODE("1,0,0", "transformer_h_0_ln_1") NODE("1,0,0", "add_15"), 2000, NAN},
        {"switch_x-inf-8-2", "12", NODE("1,0,0", "a") NODE("2,0,0", "b"), 3000, NAN},
    };
    char folder[256];
    make_folder("nodes", "Tesla T4", folder, sizeof folder);
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        char *label = rt_format("nodes/Tesla T4/%s.json", cases[i].name),
             *nodes = rt_format("nodes/Tesla T4/%s.csv", cases[i].name),
             *text = rt_format("{\"e2e_latency\": 5, \"num_layer\": %s}", cases[i].layers),
             *rows = rt_format("%s%s", NODES, cases[i].nodes);
        rt_test_write(label, text);
        rt_test_write(nodes, rows);
        RT_ASSERT_OK(import("neusight", folder, 2, true));
        const struct rt_workload *w = &imported.workloads[0];
        CU_ASSERT_TRUE(imported.workload_count == 1 && report.other_count == 0 && report.files == 1);
        CU_ASSERT_DOUBLE_EQUAL(w->kernels_forward_us, cases[i].forward_us, 1e-9);
        CU_ASSERT_TRUE(isnan(cases[i].backward_us) ? isnan(w->kernels_backward_us)
                                                   : w->kernels_backward_us == cases[i].backward_us);
        unlink(rt_test_path(nodes));
        RT_ASSERT_OK(import("neusight", folder, 2, true)); /* the label alone */
        CU_ASSERT_TRUE(isnan(imported.workloads[0].kernels_forward_us));
        CU_ASSERT_EQUAL(others("labels of models that were not measured node by node"), 1);
        unlink(rt_test_path(label));
        rt_test_write(nodes, rows);
        RT_ASSERT_FAILS(import("neusight", folder, 2, false), RT_EFORMAT,
                        "nothing to import"); /* the nodes */
        CU_ASSERT_EQUAL(others("models node by node, without their label"), 1);
        unlink(rt_test_path(nodes));
        free(label), free(nodes), free(text), free(rows);
    }
    release();
}

/* Wrong nodes are reported, and the label is kept without them. */
static void test_bad_nodes(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {NODES NODE("1,0,0", "transformer_h_0_ln_1") NODE("x,0,0", "add_15"),
         "g-inf-8-2.csv:3: fw_latency is \"x\"; it must be a latency in ms"},
        {NODES NODE("1,0,0", "transformer_h_0_ln_1") NODE("1,-1,0", "add_15"), "bw_latency is \"-1\""},
        {NODES NODE("1,0,nan", "transformer_h_0_ln_1") NODE("1,0,0", "add_15"), "acc_latency is \"nan\""},
        {NODES NODE("1,0,", "transformer_h_0_ln_1") NODE("1,0,0", "add_15"), "acc_latency is \"\""},
        {NODES NODE("1,0,0", "transformer_h_0_ln_1") NODE("1,0,0,0", "add_15"), "the row has 7 columns"},
        {NODES NODE("1,0,0", "transformer_h_0_ln_1") "call_module,x,1,0,0,add_15", "it may be cut off"},
        {NODES NODE("1,0,0", "transformer_h_0_ln_1"),
         "its label says 2 layers, but no rows from \"transformer_h_0_ln_1\" to \"add_15\""},
        {NODES NODE("1,0,0", "add_15") NODE("1,0,0", "transformer_h_0_ln_1"), "its label says 2 layers"},
        {NODES NODE("0,0,0", "transformer_h_0_ln_1") NODE("0,0,0", "add_15"),
         "no node has a fw_latency above 0"},
        {"op,target,latency,Name\nplaceholder,x,1,x\n", "has neither the columns of kernels"},
        {"", "is empty"},
    };
    char folder[256];
    make_folder("bad_nodes", "Tesla T4", folder, sizeof folder);
    rt_test_write("bad_nodes/Tesla T4/gpt_g-inf-8-2.json", "{\"e2e_latency\": 5, \"num_layer\": 2}");
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        rt_test_write("bad_nodes/Tesla T4/gpt_g-inf-8-2.csv", cases[i].text);
        RT_ASSERT_OK(import("neusight", folder, 2, false));
        CU_ASSERT_EQUAL(imported.workloads[0].end_to_end_us, 5000);
        CU_ASSERT_TRUE(isnan(imported.workloads[0].kernels_forward_us));
        check_words(&report.skipped, cases[i].words);
        RT_ASSERT_FAILS(import("neusight", folder, 2, true), RT_EFORMAT, "with strict nothing may be refused");
    }
    release();
}

RT_TESTS(RT_TEST(test_bad_labels), RT_TEST(test_nodes), RT_TEST(test_bad_nodes))
