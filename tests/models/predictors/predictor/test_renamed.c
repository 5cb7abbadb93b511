/*
 * What a board does is in its description, not in its name: every file of the catalogue under another name,
 * said to be of the same board where predictors were fitted to it (`whole`), is forecast to the bit as under
 * its own.
 */
#include "datasets/device.h"
#include "models/predictors/predictor/predictor.h"
#include "models/predictors/roofline/board.h"
#include "models/predictors/roofline/energy.h"
#include "test.h"

#include <jansson.h>
#include <string.h>

extern const char *const rt_device_catalogue_json[];

static const char *const calls[] = {
    "linear,batch=1,m=4096,n=4096,k=4096",
    "linear,batch=1,m=8,n=28672,k=8192",
    "bmm,batch=96,m=512,n=512,k=64",
    "gelu,rows=4096,cols=16384",
    "add,rows=64,cols=4096",
    "softmax,rows=49152,cols=1024",
    "layernorm,rows=8192,cols=4096",
    "rmsnorm,rows=32,cols=8192",
    "attention_context,batch=4,tokens=2048,cached=0,heads=32,kv_heads=8,head_dim=128,window=0,kv_bits=0",
    "attention_generation,batch=64,tokens=1,cached=4096,heads=32,kv_heads=8,head_dim=128,window=0,kv_bits=8",
    "moe,tokens=256,hidden=4096,inter=14336,topk=2,experts=8,tp=1,ep=1,skew=0",
    "conv2d,batch=32,in_channels=256,out_channels=256,height=28,width=28,kernel_h=3,kernel_w=3,stride=1,"
    "padding=1,"
    "dilation=1,groups=1,stride_w=1,padding_w=1,channels_last=0",
    "all_reduce,gpus=8,elements=16777216,fabric=0,library=0",
};
static const char *const dtypes[] = {"fp32", "tf32", "fp16", "bf16", "fp8", "mxfp4"};
enum { CALLS = RT_COUNT(calls) * RT_COUNT(dtypes) };

static void make_queries(struct rt_query *queries)
{
    for (size_t i = 0; i < CALLS; i++) {
        struct rt_call call;
        char text[512];
        snprintf(text, sizeof text, "%s,dtype=%s", calls[i / RT_COUNT(dtypes)], dtypes[i % RT_COUNT(dtypes)]);
        RT_ASSERT_OK(rt_call_parse(text, NULL, NULL, &call));
        rt_query_init(&queries[i], &call);
    }
}

/* The file of that device as if it were of a board that nobody has heard of. */
static void rename_file(const char *json, bool known, struct rt_device *out)
{
    json_t *root = json_loads(json, 0, NULL);
    if (known)
        json_object_set(root, "whole", json_object_get(root, "name"));
    json_object_set_new(root, "name", json_string("Board of Somebody"));
    char *text = json_dumps(root, 0);
    RT_ASSERT_OK(rt_device_find(rt_test_write("board.json", text), out));
    free(text);
    json_decref(root);
}

static void check_alike(const struct rt_predictor *predictor, const struct rt_query *queries,
                        const struct rt_device *named, const struct rt_device *renamed)
{
    double as_named[CALLS], as_renamed[CALLS];
    struct rt_energy_rates joules[2];
    rt_predictor_forecast(predictor, named, queries, CALLS, NULL, as_named, NULL);
    rt_predictor_forecast(predictor, renamed, queries, CALLS, NULL, as_renamed, NULL);
    bool same = memcmp(as_named, as_renamed, sizeof as_named) == 0;
    if (!same)
        printf("# %s is forecast by its name\n", named->name);
    CU_ASSERT_TRUE(same);
    memset(joules, 0, sizeof joules);
    rt_energy_rates_of(named, &joules[0]);
    rt_energy_rates_of(renamed, &joules[1]);
    CU_ASSERT_EQUAL(memcmp(&joules[0], &joules[1], sizeof *joules), 0);
    CU_ASSERT_EQUAL(rt_memory_for_programs_gib(named), rt_memory_for_programs_gib(renamed));
}

static void test_names_do_not_matter(void)
{
    struct rt_predictor predictor;
    struct rt_query queries[CALLS];
    size_t unknown = 0;
    RT_ASSERT_OK(rt_predictor_open(RT_SOURCE_DIR "/models/predictors/pretrained/rooftile.h5", &predictor));
    make_queries(queries);
    for (size_t i = 0; rt_device_catalogue_json[i] != NULL; i++) {
        struct rt_device named, renamed;
        RT_ASSERT_OK(rt_device_catalogue(i, &named));
        bool known = rt_predictor_knows_device(&predictor, named.name);
        rename_file(rt_device_catalogue_json[i], known, &renamed);
        check_alike(&predictor, queries, &named, &renamed);
        unknown += !known;
    }
    CU_ASSERT_TRUE(unknown > 30);
    rt_predictor_release(&predictor);
}

/* A file that an older rooftile printed has the catalogue's quirks, where it has that very name. */
static void test_older_files(void)
{
    struct rt_device device;
    const char *text = "{\"name\": \"%s\", \"sms\": 128, \"fp32_vector_tflops\": 82.6, \"memory_gib\": 24, "
                       "\"bandwidth_gbs\": 1008, \"l2_mib\": 72, \"compute_capability\": \"8.9\"%s}";
    static const struct {
        const char *name, *more;
        double typical, in_line;
    } rows[] = {{"NVIDIA GeForce RTX 4090", "", 1, 0},
                {"NVIDIA GeForce RTX 4090", ", \"ecc_inline\": true", 1, 1},
                {"NVIDIA GeForce RTX 4090", ", \"boost_typical\": false, \"ecc_inline\": null", 0, 0},
                {"NVIDIA GeForce RTX 4099", "", NAN, NAN}};
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        char json[512];
        snprintf(json, sizeof json, text, rows[i].name, rows[i].more);
        RT_ASSERT_OK(rt_device_find(rt_test_write("old.json", json), &device));
        CU_ASSERT_TRUE(device.boost_typical == rows[i].typical ||
                       (isnan(device.boost_typical) && isnan(rows[i].typical)));
        CU_ASSERT_TRUE(device.ecc_inline == rows[i].in_line ||
                       (isnan(device.ecc_inline) && isnan(rows[i].in_line)));
    }
    RT_ASSERT_FAILS(rt_device_find("RTX 4090,ecc_inline=0.5", &device), RT_EUSAGE,
                    "it must be 1 (yes) or 0 (no)");
    RT_ASSERT_OK(rt_device_find("RTX 4090,ecc_inline=1", &device));
    CU_ASSERT_TRUE(device.altered && rt_memory_gain(&device) == 1);
}

RT_TESTS(RT_TEST(test_names_do_not_matter), RT_TEST(test_older_files))
