/* NeuSight's kernels and devices: what becomes of every column, duplicates, refusals; threads change nothing.
 */
#include "datasets/import/import_test.h"

static void check_three(const int32_t got[3], int a, int b, int c)
{
    CU_ASSERT_TRUE(got[0] == a && got[1] == b && got[2] == c);
    if (got[0] != a || got[1] != b || got[2] != c)
        printf("# %d %d %d, expected %d %d %d\n", got[0], got[1], got[2], a, b, c);
}

static void test_products(void)
{
    RT_ASSERT_OK(import("neusight", MINI "neusight_mini/per_gpu", 2, true));
    const struct rt_sample *s = find(RT_OP_BMM, 6, 130); /* theirs: B 6, M 130, N 64, K 200 */
    CU_ASSERT_EQUAL(s->call.dim[2], 200);
    CU_ASSERT_EQUAL(s->call.dim[3], 64);
    CU_ASSERT_EQUAL(s->call.dim[4], -1);
    CU_ASSERT_DOUBLE_EQUAL(s->latency_us, 50, 0);
    CU_ASSERT_EQUAL(s->call.dtype, RT_FP32);
    CU_ASSERT_EQUAL(s->split, RT_SPLIT_TRAIN);
    CU_ASSERT_EQUAL(s->count, -1);
    CU_ASSERT_TRUE(isnan(s->latency_median_us) && isnan(s->latency_min_us) && isnan(s->energy_mj));
    check_three(s->tile, 64, 128, -1); /* sgemm_128x64: 128 of our columns, 64 of our rows */
    check_three(s->grid, 2, 3, 6);     /* ceil(200 / 128), ceil(130 / 64), batch */
    check_three(s->block, 128, 1, 1);
    CU_ASSERT_STRING_EQUAL(rt_strings_get(&imported.kernels, s->kernel), "volta_sgemm_128x64_nn");
    CU_ASSERT_EQUAL(s->kernels, -1); /* only that one ran */
    CU_ASSERT_STRING_EQUAL(attribute(s, "latency_statistic"), "mean of the 5 fastest of 25 runs");
    CU_ASSERT_STRING_EQUAL(attribute(s, "CUDA Version"), "cu121");
    CU_ASSERT_STRING_EQUAL(attribute(s, "Warps per SM"), "(none)");
    check_three(find(RT_OP_BMM, 2, 64)->tile, 32, 32, -1); /* sgemm_32x32_sliced1x4 */
    s = find(RT_OP_BMM, 4, 128);
    check_three(s->tile, 128, 128, 8); /* sgemm_128x128x8 */
    CU_ASSERT_STRING_EQUAL(rt_strings_get(&imported.kernels, s->kernels),
                           "void splitk_prepare();sgemm_128x128x8_nn");
    s = find(RT_OP_BMM, 16, 1024);
    CU_ASSERT_EQUAL(s->split, RT_SPLIT_TEST);
    check_three(find(RT_OP_LINEAR, 1, 1024)->tile, 64, 128, -1);
    s = find(RT_OP_BMM, 3, 128); /* rocBLAS: MT64x32x16, launched by threads */
    check_three(s->tile, 32, 64, 16);
    check_three(s->grid, 4, 4, 3);
    CU_ASSERT_STRING_EQUAL(imported.devices[s->device].name, "AMD Instinct MI100");
    CU_ASSERT_STRING_EQUAL(attribute(s, "CUDA Version"), "(none)");
    release();
}

static void test_other_ops(void)
{
    RT_ASSERT_OK(import("neusight", MINI "neusight_mini/per_gpu", 2, true));
    const struct rt_sample *s = find(RT_OP_ADD, 127, 168);
    check_three(s->tile, 512, -1, -1); /* 21336 elements in 42 blocks: 508 each */
    CU_ASSERT_EQUAL(s->flags, 0);
    check_three(find(RT_OP_SOFTMAX, 256, 96)->tile, 96, -1, -1);
    s = find(RT_OP_LAYERNORM, 256, 768);
    check_three(s->tile, 768, -1, -1);
    CU_ASSERT_STRING_EQUAL(attribute(s, "large"), "True");
    s = find(RT_OP_CONV2D, 8, 16);
    const int64_t dims[] = {8, 16, 32, 14, 14, 3, 3, 1, 1, 1, 1};
    CU_ASSERT_EQUAL(memcmp(s->call.dim, dims, sizeof dims), 0);
    check_three(s->tile, 64, 128, -1);
    CU_ASSERT_EQUAL(rt_import_counter(&report, "conv2d", "Tesla T4")->unknown_tiles, 1);
    size_t unknown = 0;
    for (size_t i = 0; i < imported.samples.count; i++) {
        s = RT_SAMPLE(&imported, i);
        unknown += (s->flags & RT_FLAG_UNKNOWN_TILE) != 0;
        CU_ASSERT_EQUAL((s->flags & RT_FLAG_UNKNOWN_TILE) != 0, s->tile[0] == -1);
    }
    CU_ASSERT_EQUAL(unknown, 1);
    CU_ASSERT_EQUAL(report.total.read, 14);
    CU_ASSERT_EQUAL(report.total.kept, 14);
    release();
}

static void test_devices_and_labels(void)
{
    RT_ASSERT_OK(import("neusight", MINI "neusight_mini/per_gpu", 2, true));
    CU_ASSERT_EQUAL(imported.device_count, 2); /* not the one that was only described */
    const struct rt_device *t4 = &imported.devices[rt_dataset_find_device(&imported, "tesla_t4")];
    CU_ASSERT_EQUAL(t4->bandwidth_gbs, 300); /* the tree's number */
    RT_ASSERT_NEAR(t4->fp32_vector_tflops, 8, 1e-12);
    CU_ASSERT_TRUE(t4->shared_kib_per_sm > 0); /* the catalogue's */
    CU_ASSERT_EQUAL(imported.workload_count, 2);
    const struct rt_workload *w = &imported.workloads[0];
    CU_ASSERT_STRING_EQUAL(rt_strings_get(&imported.texts, w->model), "bert_mini");
    CU_ASSERT_STRING_EQUAL(rt_strings_get(&imported.texts, w->option), "");
    CU_ASSERT_TRUE(w->mode == RT_INFERENCE && w->sequence == 512 && w->batch == 8 && w->layers == 24);
    CU_ASSERT_DOUBLE_EQUAL(w->end_to_end_us, 100500, 0);
    CU_ASSERT_TRUE(isnan(w->backward_us)); /* none ran */
    /* 0.5 ms before the layer, 24 times the 1.375 of the layer, 0.75 behind it */
    CU_ASSERT_DOUBLE_EQUAL(w->kernels_forward_us, 34250, 0);
    CU_ASSERT_TRUE(isnan(w->kernels_backward_us));
    w = &imported.workloads[1];
    CU_ASSERT_STRING_EQUAL(rt_strings_get(&imported.texts, w->option), "dp4");
    CU_ASSERT_TRUE(w->mode == RT_TRAINING && w->layers == -1);
    CU_ASSERT_DOUBLE_EQUAL(w->backward_us, 200000, 0);
    CU_ASSERT_TRUE(isnan(w->kernels_forward_us) && isnan(w->kernels_backward_us));
    CU_ASSERT_EQUAL(others("operator graphs"), 1);
    CU_ASSERT_EQUAL(others("models node by node, without their label"), 0);
    CU_ASSERT_EQUAL(others("labels of models that were not measured node by node"), 1);
    CU_ASSERT_EQUAL(others("model configurations"), 1);
    CU_ASSERT_EQUAL(others("forecasts of others"), 1);
    CU_ASSERT_EQUAL(others("device descriptions"), 2);
    CU_ASSERT_EQUAL(others("other files (not .csv or .json)"), 1);
    CU_ASSERT_EQUAL(report.skipped.count, 0);
    release();
}

/* Merged files beside collected ones: each measurement once within its split, whatever file it is read from.
 */
static void test_public_layout(void)
{
    RT_ASSERT_OK(import("neusight", MINI "neusight_mini/public", 2, true));
    const struct rt_import_count *bmm = rt_import_counter(&report, "bmm", "Tesla T4");
    CU_ASSERT_EQUAL(bmm->read, 9);
    CU_ASSERT_EQUAL(bmm->kept, 5); /* three to train, and one of them again among the two to test */
    CU_ASSERT_EQUAL(bmm->duplicates, 4);
    const struct rt_import_count *add = rt_import_counter(&report, "add", "Tesla T4");
    CU_ASSERT_TRUE(add->read == 4 && add->kept == 2 && add->duplicates == 2); /* "127.0" is 127 */
    CU_ASSERT_EQUAL(imported.group_count, 1);    /* the column of row numbers is no attribute */
    CU_ASSERT_EQUAL(imported.workload_count, 1); /* not the forecast */
    CU_ASSERT_EQUAL(others("forecasts of others"), 1);
    CU_ASSERT_EQUAL(report.warned.count, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(report.warned.text[0], "bandwidth_gbs is 300 in one description and 320"));
    CU_ASSERT_EQUAL(imported.devices[0].bandwidth_gbs, 300);
    release();
}

static void test_threads_change_nothing(void)
{
    char uuid[64];
    RT_ASSERT_OK(import("neusight", MINI "neusight_mini", 1, true));
    snprintf(uuid, sizeof uuid, "%s", imported.uuid);
    for (int threads = 2; threads <= 16; threads *= 2) {
        RT_ASSERT_OK(import("neusight", MINI "neusight_mini", threads, true));
        CU_ASSERT_STRING_EQUAL(imported.uuid, uuid);
    }
    /* The split comes from the folder that is named and those below, not from those above it. */
    RT_ASSERT_OK(import("neusight", MINI "neusight_mini/per_gpu/kernels/train/bmm", 2, true));
    CU_ASSERT_EQUAL(RT_SAMPLE(&imported, 0)->split, RT_SPLIT_NONE);
    RT_ASSERT_OK(import("neusight", MINI "neusight_mini/per_gpu/kernels/train/", 2, true));
    CU_ASSERT_EQUAL(RT_SAMPLE(&imported, 0)->split, RT_SPLIT_TRAIN);
    release();
}

#define HEADER                           "OPName,Latency,Device,Kernel Name,Grid x,Grid y,Grid z,Block x,Block y,Block z,B,H\n"
#define ROW(latency, device, grid, dims) "add," latency "," device ",k," grid ",1,1,128,1,1," dims "\n"

/* Every way in which a row can be wrong, with its line and sentence; the good rows around it stay. */
static void test_refusals(void)
{
    static const struct {
        const char *row, *words;
    } cases[] = {
        {ROW("fast", "Tesla T4", "1", "8,8"), "Latency is \"fast\"; it must be a positive number"},
        {ROW("-1", "Tesla T4", "1", "8,8"), "Latency is \"-1\""},
        {ROW("0", "Tesla T4", "1", "8,8"), "Latency is \"0\""},
        {ROW("nan", "Tesla T4", "1", "8,8"), "Latency is \"nan\""},
        {ROW("inf", "Tesla T4", "1", "8,8"), "Latency is \"inf\""},
        {ROW("1e999", "Tesla T4", "1", "8,8"), "Latency is \"1e999\""},
        {ROW("1e308", "Tesla T4", "1", "8,8"),
         "Latency is \"1e308\"; it must be a positive number, 1 ns to a"},
        {ROW("1e-300", "Tesla T4", "1", "8,8"), "Latency is \"1e-300\""},
        {ROW("9.9e-7", "Tesla T4", "1", "8,8"), "Latency is \"9.9e-7\""},
        {ROW("86400001", "Tesla T4", "1", "8,8"), "Latency is \"86400001\""},
        {ROW("", "Tesla T4", "1", "8,8"), "Latency is \"\""},
        {ROW("1", "Voodoo 2", "1", "8,8"),
         "unknown GPU \"Voodoo 2\": neither a device file of the tree nor the catalogue"},
        {ROW("1", "\"H100,sms=1\"", "1", "8,8"), "unknown GPU \"H100,sms=1\""},
        {ROW("1", "/etc/passwd", "1", "8,8"), "unknown GPU \"/etc/passwd\""},
        {ROW("1", "Tesla T4", "x", "8,8"), "Grid x is \"x\""},
        {ROW("1", "Tesla T4", "0", "8,8"), "Grid x is \"0\""},
        {ROW("1", "Tesla T4", "99999999999", "8,8"), "Grid x is \"99999999999\""},
        {ROW("1", "Tesla T4", "1", "8,-8"), "cols is -8"},
        {ROW("1", "Tesla T4", "1", "8,0"), "cols is 0"},
        {ROW("1", "Tesla T4", "1", "8,8.5"), "H is \"8.5\"; it must be a whole number"},
        {ROW("1", "Tesla T4", "1", "8,1e18"), "H is \"1e18\""},
        {ROW("1", "Tesla T4", "1", "8,2000000000000"), "cols is 2000000000000"},
        {ROW("1", "Tesla T4", "1", "8"), "the row has 11 columns where the header has 12"},
        {"flip,1,Tesla T4,k,1,1,1,128,1,1,8,8\n", "OPName is \"flip\""},
        {"bmm,1,Tesla T4,k,1,1,1,128,1,1,8,8\n", "a row of bmm needs a column \"M\""},
    };
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        char *text = rt_format("%s%s%s%s", HEADER, ROW("1", "Tesla T4", "1", "8,8"), cases[i].row,
                               ROW("2", "Tesla T4", "1", "8,8"));
        const char *path = rt_test_write("refusal.csv", text);
        free(text);
        RT_ASSERT_OK(import("neusight", path, 1, false));
        CU_ASSERT_EQUAL(report.total.read, 3);
        CU_ASSERT_EQUAL(report.total.kept, 2);
        check_words(&report.refused, cases[i].words);
        CU_ASSERT_PTR_NOT_NULL(strstr(report.refused.text[0], "refusal.csv:3: "));
        RT_ASSERT_FAILS(import("neusight", path, 1, true), RT_EFORMAT, "with strict nothing may be refused");
    }
    release();
}

/* A file that breaks off keeps what came before; a tree without anything is refused with the reason. */
static void test_broken_files(void)
{
    const char *path = rt_test_write("broken.csv", HEADER ROW("1", "Tesla T4", "1", "8,8") "add,2,\"Tesla");
    RT_ASSERT_OK(import("neusight", path, 1, false));
    CU_ASSERT_TRUE(report.total.kept == 1 && report.total.refused == 1);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(report.refused.text[0], "broken.csv:3: a quote is opened and never closed"));
    path = rt_test_write("cut.csv",
                         HEADER ROW("1", "Tesla T4", "1", "8,8") "add,2,Tesla T4,k,1,1,1,128,1,1,8,16");
    RT_ASSERT_OK(import("neusight", path, 1, false)); /* was it 16, or 1600? */
    CU_ASSERT_TRUE(report.total.kept == 1 && report.total.refused == 1);
    RT_ASSERT_FAILS(import("neusight", rt_test_write("empty.csv", ""), 1, false), RT_EFORMAT,
                    "empty.csv: is empty");
    RT_ASSERT_FAILS(import("neusight", rt_test_write("head.csv", HEADER), 1, false), RT_EFORMAT,
                    "nothing to import");
    RT_ASSERT_FAILS(import("neusight", rt_test_write("else.csv", "a,b\n1,2\n"), 1, false), RT_EFORMAT,
                    "else.csv:1: has neither the columns of kernels");
    RT_ASSERT_FAILS(
        import("neusight", rt_test_write("bad.csv", HEADER ROW("0", "Tesla T4", "1", "8,8")), 1, false),
        RT_EFORMAT, "bad.csv:2: Latency is \"0\"");
    RT_ASSERT_FAILS(import("neusight", rt_test_path("absent"), 1, false), RT_EIO, "absent");
    RT_ASSERT_FAILS(import("excel", path, 1, false), RT_EUSAGE, "no importer is called \"excel\"");
    release();
}

/* A column that numbers the rows must not make a group of each. */
static void test_too_many_groups(void)
{
    const char *path = rt_test_path("groups.csv");
    FILE *file = fopen(path, "w");
    fputs("OPName,Latency,Device,run,B,H\n", file);
    for (int i = 0; i < 5000; i++)
        fprintf(file, "add,1,Tesla T4,%d,8,%d\n", i, 8 + i);
    fclose(file);
    RT_ASSERT_OK(import("neusight", path, 1, false));
    CU_ASSERT_EQUAL(imported.group_count, 4096);
    CU_ASSERT_EQUAL(report.total.refused, 904);
    CU_ASSERT_PTR_NOT_NULL(strstr(report.refused.text[0], "a column numbers the rows"));
    release();
}

/* The same name in many spellings is looked up once each, but not without end. */
static void test_too_many_gpus(void)
{
    const char *path = rt_test_path("gpus.csv");
    FILE *file = fopen(path, "w");
    fputs("OPName,Latency,Device,B,H\nadd,1,Tesla_T4,8,8\n", file);
    for (int i = 0; i < 5000; i++)
        fprintf(file, "add,1,GPU %d,8,8\n", i);
    fclose(file);
    RT_ASSERT_OK(import("neusight", path, 1, false));
    CU_ASSERT_TRUE(report.total.kept == 1 && report.total.refused == 65);
    release();
}

static void test_bad_json(void)
{
    static const struct {
        const char *name, *text, *words;
    } cases[] = {
        {"device.json", "{\"Device\": \"X\", \"Num_Sm\": 40, \"Freq\": 1000}",
         "\"fp32_vector_tflops\" of X is missing"},
        {"device.json", "{\"Device\": \"Tesla T4\", \"Num_Sm\": -4}",
         "\"Num_Sm\" of Tesla T4 must be a number above 0"},
        {"device.json", "{\"Device\": \"Tesla T4\", \"Num_Sm\": \"40\"}",
         "\"Num_Sm\" of Tesla T4 must be a number"},
        {"device.json", "{\"Device\": \"Tesla T4\", \"Num_Sm\": 40, \"Mem_Bw\": 1e12}",
         "\"bandwidth_gbs\" of Tesla T4 is 1e+12"},
        {"device.json", "{\"Device\": 7, \"Num_Sm\": 40}", "\"Device\" must be the name"},
        {"odd.json", "{\"Device\": ", "odd.json:1:"},
        {"odd.json", "{}", "neither a device, a label nor a model"},
    };
    char folder[256];
    make_folder("json", NULL, folder, sizeof folder);
    rt_test_write("json/add.csv", HEADER ROW("1", "Tesla T4", "1", "8,8"));
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        char name[64];
        snprintf(name, sizeof name, "json/%s", cases[i].name);
        const char *path = rt_test_write(name, cases[i].text);
        RT_ASSERT_OK(import("neusight", folder, 1, false));
        check_words(&report.skipped, cases[i].words);
        RT_ASSERT_FAILS(import("neusight", folder, 1, true), RT_EFORMAT,
                        "with strict nothing may be refused");
        unlink(path);
    }
    release();
}

/* How far the nodes of the measured models are from their whole, on average: |sum / end to end - 1|. */
static double floor_percent(const char *device, enum rt_mode mode)
{
    double sum = 0;
    int count = 0;
    for (size_t i = 0; i < imported.workload_count; i++) {
        const struct rt_workload *w = &imported.workloads[i];
        if (w->mode != mode || strcmp(imported.devices[w->device].name, device) != 0 ||
            isnan(w->kernels_forward_us))
            continue;
        double backward_us = isnan(w->kernels_backward_us) ? 0 : w->kernels_backward_us;
        sum += fabs((w->kernels_forward_us + backward_us) / w->end_to_end_us - 1);
        count++;
    }
    return 100 * sum / count;
}

/* Rows of all tables below a folder: `wc -l` less their headers. */
static size_t rows_below(const char *path, const char *folder)
{
    char command[2048];
    snprintf(command, sizeof command, "find '%s/%s' -name '*.csv' -exec tail -q -n +2 {} + | wc -l", path,
             folder);
    FILE *counted = popen(command, "r");
    size_t rows = 0;
    CU_ASSERT_EQUAL_FATAL(fscanf(counted, "%zu", &rows), 1);
    pclose(counted);
    return rows;
}

static void test_real_neusight(void)
{
    static const struct { /* of a study of the same files that was made apart from this program */
        const char *device;
        enum rt_mode mode;
        double percent;
    } floors[] = {
        {"NVIDIA A100-PCIE-40GB", RT_INFERENCE, 18.5},
        {"Tesla V100-PCIE-32GB", RT_INFERENCE, 4.2},
        {"Tesla P100-PCIE-16GB", RT_INFERENCE, 2.1},
        {"Tesla T4", RT_INFERENCE, 7.9},
        {"Tesla P4", RT_INFERENCE, 1.3},
        {"Tesla V100-PCIE-32GB", RT_TRAINING, 14.6},
    };
    const char *path = rt_test_data("ROOFTILE_NEUSIGHT", "neusight");
    if (path == NULL)
        return;
    RT_ASSERT_OK(import("neusight", path, 0, false));
    CU_ASSERT_EQUAL(imported.samples.count, rows_below(path, "kernels"));
    CU_ASSERT_EQUAL(imported.samples.count + imported.workload_count, report.total.read);
    CU_ASSERT_EQUAL(report.total.refused + report.total.duplicates + report.skipped.count, 0);
    size_t convolutions = 0; /* those whose kernel does not say its tile, and nothing else */
    for (size_t i = 0; i < report.row_count; i++)
        if (strncmp(report.rows[i].op, "conv", 4) == 0)
            convolutions += report.rows[i].count.unknown_tiles;
    CU_ASSERT_EQUAL(report.total.unknown_tiles, convolutions);
    for (size_t i = 0; i < RT_COUNT(floors); i++)
        CU_ASSERT_DOUBLE_EQUAL(floor_percent(floors[i].device, floors[i].mode), floors[i].percent, 0.05);
    release();
}

RT_TESTS(RT_TEST(test_products), RT_TEST(test_other_ops), RT_TEST(test_devices_and_labels),
         RT_TEST(test_public_layout), RT_TEST(test_threads_change_nothing), RT_TEST(test_refusals),
         RT_TEST(test_broken_files), RT_TEST(test_too_many_groups), RT_TEST(test_too_many_gpus),
         RT_TEST(test_bad_json), RT_TEST(test_real_neusight))
