/* Device descriptors: the catalogue, names and overrides, bad files. */
#include "datasets/device.h"
#include "test.h"

#include <jansson.h>
#include <math.h>

extern const char *const rt_device_catalogue_json[];

static void test_catalogue_is_whole(void)
{
    struct rt_device device, found;
    CU_ASSERT_TRUE(rt_device_catalogue_size() >= 116);
    for (size_t i = 0; i < rt_device_catalogue_size(); i++) {
        RT_ASSERT_OK(rt_device_catalogue(i, &device));
        RT_ASSERT_OK(rt_device_find(device.name, &found));
        CU_ASSERT_STRING_EQUAL(device.name, found.name);
    }
}

/* A name or alias is of one device. */
static void test_names_are_of_one_device(void)
{
    for (size_t i = 0; rt_device_catalogue_json[i] != NULL; i++) {
        json_t *root = json_loads(rt_device_catalogue_json[i], 0, NULL), *alias;
        const char *name = json_string_value(json_object_get(root, "name"));
        size_t index;
        json_array_foreach(json_object_get(root, "aliases"), index, alias)
        {
            struct rt_device found;
            RT_ASSERT_OK(rt_device_find(json_string_value(alias), &found));
            CU_ASSERT_STRING_EQUAL(found.name, name);
        }
        json_decref(root);
    }
}

/* Every number names the vendor page it comes from, once. */
static void test_every_number_has_a_source(void)
{
    for (size_t i = 0; rt_device_catalogue_json[i] != NULL; i++) {
        json_t *root = json_loads(rt_device_catalogue_json[i], 0, NULL), *fields, *field;
        const char *url;
        size_t index;
        for (size_t f = 0; f < rt_device_field_count; f++) {
            int named = 0;
            json_object_foreach(json_object_get(root, "sources"), url, fields)
            {
                CU_ASSERT_EQUAL(strncmp(url, "https://", 8), 0);
                json_array_foreach(fields, index, field) named +=
                    strcmp(json_string_value(field), rt_device_fields[f].key) == 0;
            }
            int known = json_is_number(json_object_get(root, rt_device_fields[f].key));
            if (named != known)
                printf("# %s: %s\n", json_string_value(json_object_get(root, "name")),
                       rt_device_fields[f].key);
            CU_ASSERT_EQUAL(named, known);
        }
        json_decref(root);
    }
}

static void test_find(void)
{
    struct rt_device d;
    RT_ASSERT_OK(rt_device_find("h100", &d));
    CU_ASSERT_STRING_EQUAL(d.name, "NVIDIA H100 80GB HBM3");
    RT_ASSERT_OK(rt_device_find("H100,sms=100,bandwidth_gbs=3000", &d));
    CU_ASSERT_EQUAL(d.sms, 100);
    CU_ASSERT_EQUAL(d.bandwidth_gbs, 3000);
    RT_ASSERT_OK(rt_device_find("tesla_v100-pcie 32GB", &d)); /* separators as file names have them */
    CU_ASSERT_STRING_EQUAL(d.name, "Tesla V100-PCIE-32GB");
    RT_ASSERT_FAILS(rt_device_find("H10", &d), RT_ENOTFOUND, "nearest names: H100");
    static const char *const strangers[] = {"GB100", "M1", "RTX 6060", "B100", "H10x200", "cheese"};
    for (size_t i = 0; i < RT_COUNT(strangers); i++) { /* near names and no others */
        RT_ASSERT_FAILS(rt_device_find(strangers[i], &d), RT_ENOTFOUND, "`rooftile devices` lists all");
        CU_ASSERT_PTR_NULL(strstr(rt_error(), "nearest"));
    }
    RT_ASSERT_FAILS(rt_device_find("MI300", &d), RT_ENOTFOUND, "nearest names: MI300A, MI300X;");
    RT_ASSERT_FAILS(rt_device_find("H100,cheese=1", &d), RT_EUSAGE, "is no override");
    RT_ASSERT_FAILS(rt_device_find("H100,sms=many", &d), RT_EUSAGE, "is not a number");
    RT_ASSERT_FAILS(rt_device_find("H100,sms=-3", &d), RT_EUSAGE, "must lie in");
    RT_ASSERT_FAILS(rt_device_find("H100,idle_w=800", &d), RT_EUSAGE, "not below its \"power_w\" of 700");
}

static void test_peak_flops(void)
{
    struct rt_device d;
    RT_ASSERT_OK(rt_device_find("H100", &d));
    CU_ASSERT_EQUAL(rt_device_peak_flops(&d, RT_FAMILY_BMM, RT_FP32), 1e12 * d.fp32_vector_tflops);
    CU_ASSERT_EQUAL(rt_device_peak_flops(&d, RT_FAMILY_LINEAR, RT_BF16), 1e12 * d.bf16_matrix_tflops);
    CU_ASSERT_EQUAL(rt_device_peak_flops(&d, RT_FAMILY_SOFTMAX, RT_BF16), 1e12 * d.bf16_vector_tflops);
    CU_ASSERT_TRUE(isnan(rt_device_peak_flops(&d, RT_FAMILY_LINEAR, RT_FP4)));
    RT_ASSERT_OK(rt_device_find("MI100", &d));
    CU_ASSERT_EQUAL(rt_device_peak_flops(&d, RT_FAMILY_BMM, RT_FP32), 1e12 * d.fp32_matrix_tflops);
}

/* Frameworks compute 16-bit types in fp32 where that is faster than a GPU's own. */
static void test_peak_of_narrow_types(void)
{
    struct rt_device d;
    RT_ASSERT_OK(rt_device_find("P4", &d)); /* fp16 at 1/64 of fp32 */
    CU_ASSERT_EQUAL(rt_device_peak_flops(&d, RT_FAMILY_LINEAR, RT_FP16), 1e12 * d.fp32_vector_tflops);
    CU_ASSERT_EQUAL(rt_device_peak_flops(&d, RT_FAMILY_SOFTMAX, RT_FP16), 1e12 * d.fp32_vector_tflops);
    CU_ASSERT_EQUAL(rt_device_peak_flops(&d, RT_FAMILY_BMM, RT_BF16), 1e12 * d.fp32_vector_tflops);
    CU_ASSERT_TRUE(isnan(rt_device_peak_flops(&d, RT_FAMILY_LINEAR, RT_FP8)));
    RT_ASSERT_OK(rt_device_find("P100", &d)); /* fp16 at twice fp32 */
    CU_ASSERT_EQUAL(rt_device_peak_flops(&d, RT_FAMILY_LINEAR, RT_FP16), 1e12 * d.fp16_vector_tflops);
    RT_ASSERT_OK(rt_device_find("T4", &d)); /* matrix units for fp16 and none for bf16 */
    CU_ASSERT_EQUAL(rt_device_peak_flops(&d, RT_FAMILY_LINEAR, RT_FP16), 1e12 * d.fp16_matrix_tflops);
    CU_ASSERT_EQUAL(rt_device_peak_flops(&d, RT_FAMILY_LINEAR, RT_BF16), 1e12 * d.fp32_vector_tflops);
    CU_ASSERT_EQUAL(rt_device_peak_flops(&d, RT_FAMILY_ELEMENTWISE, RT_BF16), 1e12 * d.fp32_vector_tflops);
}

static void test_same_and_fill(void)
{
    struct rt_device a, b;
    RT_ASSERT_OK(rt_device_find("V100", &a));
    b = a;
    b.link_gbs = NAN;
    CU_ASSERT_TRUE(rt_device_same(&a, &b)); /* unknown does not clash */
    rt_device_fill(&b, &a);
    CU_ASSERT_EQUAL(b.link_gbs, a.link_gbs);
    b.bandwidth_gbs = 897;
    CU_ASSERT_FALSE(rt_device_same(&a, &b));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(rt_error(), "bandwidth_gbs is 900 in one description and 897 in the other"));
}

#define GOOD                                                                                                 \
    "{\"name\": \"X\", \"sms\": 10, \"fp32_vector_tflops\": 1, \"memory_gib\": 8, \"bandwidth_gbs\": 100, "  \
    "\"l2_mib\": 2"

static void test_bad_files(void)
{
    struct rt_device d;
    RT_ASSERT_OK(rt_device_load(rt_test_write("good.json", GOOD "}"), &d));
    RT_ASSERT_OK(rt_device_find(rt_test_path("good.json"), &d));
    CU_ASSERT_STRING_EQUAL(d.name, "X");
    static const struct {
        const char *text, *words;
        int status;
    } bad[] = {
        {"", "not JSON", RT_EFORMAT},
        {"{\"name\": \"X\",\n \"sms\": }", ":2:", RT_EFORMAT},
        {"[1, 2]", "one JSON object", RT_EFORMAT},
        {"{\"name\": \"X\", \"sms\": 10}", "\"fp32_vector_tflops\" of X is missing", RT_EFORMAT},
        {GOOD ", \"power_w\": -3}", "\"power_w\" of X is -3", RT_EFORMAT},
        {GOOD ", \"power_w\": 1e30}", "must lie in", RT_EFORMAT},
        {GOOD ", \"power_w\": \"lots\"}", "must be a number", RT_EFORMAT},
        {GOOD ", \"colour\": 3}", "\"colour\" is no field", RT_EFORMAT},
        {GOOD ", \"sms\": 10}", "duplicate", RT_EFORMAT},
    };
    for (size_t i = 0; i < RT_COUNT(bad); i++)
        RT_ASSERT_FAILS(rt_device_load(rt_test_write("bad.json", bad[i].text), &d), bad[i].status,
                        bad[i].words);
    RT_ASSERT_FAILS(rt_device_load("/nonexistent/x.json", &d), RT_EIO, "cannot be read");
}

/* A device whose numbers were changed is not the one of that name; memory and link do not change kernels. */
static void test_altered(void)
{
    static const struct {
        const char *spec;
        bool altered;
    } cases[] = {
        {"H100", false},
        {"H100,sms=132", false},
        {"H100,sms=131", true},
        {"H100,link_gbs=1", false},
        {"H100,memory_gib=8", false},
        {"H100,fp4_matrix_tflops=9", false},
        {"H100,l2_mib=51", true},
        {"H100,link_gbs=1,bandwidth_gbs=9", true},
    };
    struct rt_device d;
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        RT_ASSERT_OK(rt_device_find(cases[i].spec, &d));
        CU_ASSERT_EQUAL(d.altered, cases[i].altered);
    }
#define NAMED(bandwidth)                                                                                     \
    "{\"name\": \"NVIDIA L4\", \"sms\": 58, \"fp32_vector_tflops\": 30.3, \"memory_gib\": 22,"               \
    "\"bandwidth_gbs\": " bandwidth ", \"l2_mib\": 48}"
    RT_ASSERT_OK(rt_device_find(rt_test_write("probed.json", NAMED("306")), &d)); /* the catalogue: 300 */
    CU_ASSERT_FALSE(d.altered);
    RT_ASSERT_OK(rt_device_find(rt_test_write("other.json", NAMED("600")), &d));
    CU_ASSERT_TRUE(d.altered);
}

RT_TESTS(RT_TEST(test_altered), RT_TEST(test_catalogue_is_whole), RT_TEST(test_names_are_of_one_device),
         RT_TEST(test_every_number_has_a_source), RT_TEST(test_find), RT_TEST(test_peak_flops),
         RT_TEST(test_peak_of_narrow_types), RT_TEST(test_same_and_fill), RT_TEST(test_bad_files))
