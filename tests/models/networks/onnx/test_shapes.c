/* ONNX models: shapes that follow, what is said of those that do not, and files that are refused. */
#include "models/networks/onnx/onnx.h"
#include "models/networks/onnx/infer.h"
#include "models/networks/onnx/operator.h"
#include "test.h"

#include <string.h>

#define DATA RT_SOURCE_DIR "/tests/data/onnx/"

static bool built(const char *name)
{
    struct rt_onnx_model model;
    if (rt_onnx_read(DATA "weights.onnx", NULL, &model) == RT_OK) {
        rt_onnx_release(&model);
        return true;
    }
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "built without ONNX"));
    printf("skipped %s: built without ONNX\n", name);
    return false;
}

static const struct rt_onnx_value *value_named(const struct rt_onnx_model *model, const char *name)
{
    for (size_t i = model->value_count; i-- > 0;)
        if (strcmp(model->values[i].name, name) == 0)
            return &model->values[i];
    printf("# no value %s\n", name);
    CU_FAIL_FATAL("no such value");
    return NULL;
}

static void check_shape(const struct rt_onnx_model *model, const char *name, const char *shape)
{
    const struct rt_onnx_value *value = value_named(model, name);
    if (strcmp(rt_onnx_shape_words(&value->shape).text, shape) != 0)
        printf("# %s: %s, expected %s\n", name, rt_onnx_shape_words(&value->shape).text, shape);
    CU_ASSERT_STRING_EQUAL(rt_onnx_shape_words(&value->shape).text, shape);
}

static struct rt_onnx_given given_dims(const char **dims, size_t count)
{
    return (struct rt_onnx_given){.dims = {dims, count}};
}

/* --- shapes --- */

static void test_arithmetic(void)
{
    const char *dims[] = {"batch=8", "seq=33"};
    struct rt_onnx_given given = given_dims(dims, 2);
    struct rt_onnx_model model;
    if (!built("test_arithmetic"))
        return;
    RT_ASSERT_OK(rt_onnx_read(DATA "arithmetic.onnx", &given, &model));
    check_shape(&model, "heads", "8x12x33x64");
    check_shape(&model, "mask", "33x33");
    check_shape(&model, "positions", "16"); /* Range to floor(33 * 0.5) */
    const struct rt_onnx_data *last = value_named(&model, "last")->data;
    CU_ASSERT_TRUE_FATAL(last != NULL && last->count == 2 && !last->real);
    CU_ASSERT_EQUAL(last->element[0].whole, 33);
    CU_ASSERT_EQUAL(last->element[1].whole, 768);
    CU_ASSERT_EQUAL(value_named(&model, "late")->data->element[0].whole, 1);
    CU_ASSERT_EQUAL(value_named(&model, "late")->dtype, RT_ONNX_BOOL);
    const struct rt_onnx_data *front = value_named(&model, "front")->data; /* from INT64_MIN to -2 */
    CU_ASSERT_TRUE_FATAL(front != NULL && front->count == 1);
    CU_ASSERT_EQUAL(front->element[0].whole, 8);
    rt_onnx_release(&model);
}

static void test_dims_not_given(void)
{
    const char *dims[] = {"batch=8"};
    struct rt_onnx_given given = given_dims(dims, 1);
    struct rt_onnx_model model;
    if (!built("test_dims_not_given"))
        return;
    RT_ASSERT_OK(rt_onnx_read(DATA "arithmetic.onnx", &given, &model));
    check_shape(&model, "x", "8x?x768");
    check_shape(&model, "heads", "8x12x?x?"); /* both follow from the one that is not known */
    uint32_t positions = (uint32_t)(value_named(&model, "positions") - model.values);
    char *why = rt_onnx_why_unknown(&model, positions);
    CU_ASSERT_PTR_NOT_NULL_FATAL(why);
    CU_ASSERT_PTR_NOT_NULL(strstr(why, "give dim 'seq=N'"));
    free(why);
    CU_ASSERT_PTR_NULL(rt_onnx_why_unknown(&model, (uint32_t)(value_named(&model, "twelve") - model.values)));
    rt_onnx_release(&model);
}

static void test_control(void)
{
    struct rt_onnx_model model;
    if (!built("test_control"))
        return;
    RT_ASSERT_OK(rt_onnx_read(DATA "control.onnx", NULL, &model));
    check_shape(&model, "known", "8x4");     /* the condition is a constant */
    check_shape(&model, "either", "?x8");    /* 8x8 or 4x8 */
    check_shape(&model, "grown", "?x8");     /* a row more each time */
    check_shape(&model, "stacked", "5x8x4"); /* five trips */
    check_shape(&model, "scanned", "4x8");
    rt_onnx_release(&model);
    RT_ASSERT_OK(rt_onnx_read(DATA "counted.onnx", NULL, &model));
    check_shape(&model, "steps", "7x4x3"); /* trips are counted one by one */
    check_shape(&model, "all", "28x3");
    rt_onnx_release(&model);
}

static void test_functions(void)
{
    struct rt_onnx_model model;
    if (!built("test_functions"))
        return;
    RT_ASSERT_OK(rt_onnx_read(DATA "functions.onnx", NULL, &model));
    CU_ASSERT_EQUAL(model.graph->node_count, 2);
    uint32_t out = model.graph->outputs[0];
    CU_ASSERT_STRING_EQUAL(rt_onnx_shape_words(&model.values[out].shape).text, "4x2x3");
    rt_onnx_release(&model);
}

static void test_unknown(void)
{
    const char *shapes[] = {"made=3x4", "found=2x7"}, *wrong[] = {"nobody=3"};
    const char *dims[] = {"rows=5"}, *idle[] = {"columns=5"};
    struct rt_onnx_given given = {.dims = {dims, 1}, .shapes = {shapes, 2}};
    struct rt_onnx_model model;
    if (!built("test_unknown"))
        return;
    RT_ASSERT_OK(rt_onnx_read(DATA "unknown.onnx", NULL, &model));
    char *why = rt_onnx_why_unknown(&model, (uint32_t)(value_named(&model, "z") - model.values));
    CU_ASSERT_PTR_NOT_NULL_FATAL(why);
    CU_ASSERT_PTR_NOT_NULL(strstr(why, "'Special 2' is a Special"));
    CU_ASSERT_PTR_NOT_NULL(strstr(why, "give shape 'made=...'"));
    free(why);
    rt_onnx_release(&model);
    RT_ASSERT_OK(rt_onnx_read(DATA "unknown.onnx", &given, &model));
    check_shape(&model, "z", "3x4");
    check_shape(&model, "y", "2x7");
    check_shape(&model, "p", "5x8");
    rt_onnx_release(&model);
    given = (struct rt_onnx_given){.shapes = {wrong, 1}};
    RT_ASSERT_FAILS(rt_onnx_read(DATA "unknown.onnx", &given, &model), RT_EUSAGE, "no value of that name");
    given = given_dims(idle, 1);
    RT_ASSERT_FAILS(rt_onnx_read(DATA "unknown.onnx", &given, &model), RT_EUSAGE, "no dim of that name");
}

/* The weight of the convolution is left out, that of the product lies in a file that is not there. */
static void test_weights(void)
{
    struct rt_onnx_model model;
    if (!built("test_weights"))
        return;
    RT_ASSERT_OK(rt_onnx_read(DATA "weights.onnx", NULL, &model));
    check_shape(&model, "w", "64x3x3x3");
    CU_ASSERT_PTR_NULL(value_named(&model, "w")->data);
    check_shape(&model, "m", "16384x10");
    check_shape(&model, "y", "1x10");
    rt_onnx_release(&model);
}

static size_t count_of(const char *domain)
{
    size_t count = 0;
    for (size_t k = 0; k < RT_ONNX_KINDS; k++)
        for (const struct rt_onnx_operator *row = rt_onnx_operators[k]; row->name != NULL; row++)
            count += strcmp(row->domain != NULL ? row->domain : "", domain) == 0;
    return count;
}

/* The issue asks for 120 operators. */
static void test_operators(void)
{
    CU_ASSERT_TRUE(count_of("") >= 120);
    CU_ASSERT_PTR_NOT_NULL(rt_onnx_find_operator("", "MatMul"));
    CU_ASSERT_PTR_NOT_NULL(rt_onnx_find_operator("com.microsoft", "GroupQueryAttention"));
    CU_ASSERT_PTR_NULL(rt_onnx_find_operator("com.microsoft", "MatMul"));
}

/* --- files that are refused --- */

static const char *put(const char *name, const void *bytes, size_t size)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", rt_test_folder(), name);
    FILE *file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, file), size);
    fclose(file);
    return path;
}

/* Every beginning of a model: a sentence, or where only what may be missing is missing, a model. */
static void test_truncated(void)
{
    static unsigned char bytes[8192];
    struct rt_onnx_model model;
    size_t refused = 0;
    if (!built("test_truncated"))
        return;
    FILE *file = fopen(DATA "control.onnx", "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t length = 0; length < size; length++) {
        if (rt_onnx_read(put("short.onnx", bytes, length), NULL, &model) == RT_OK) {
            rt_onnx_release(&model);
            continue;
        }
        refused++;
        CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "short.onnx"));
    }
    CU_ASSERT_TRUE(refused + 40 > size); /* the last field of all, the opset, may be cut off */
}

/* Graphs in nodes in graphs, deeper than anybody writes them: field 7 of the model, then node (1), attribute
 * (5), graph (6) again and again, each around the next. */
static void test_deep(void)
{
    static const unsigned char fields[] = {1, 5, 6};
    static unsigned char bytes[8192];
    size_t at = sizeof bytes;
    struct rt_onnx_model model;
    if (!built("test_deep"))
        return;
    for (int depth = 300; depth >= 0; depth--) {
        size_t length = sizeof bytes - at;
        unsigned field = depth == 0 ? 7 : fields[(depth - 1) % 3];
        bytes[--at] = (unsigned char)(length >> 7);
        bytes[--at] = (unsigned char)(length | 0x80);
        bytes[--at] = (unsigned char)(field << 3 | 2);
    }
    RT_ASSERT_FAILS(rt_onnx_read(put("deep.onnx", bytes + at, sizeof bytes - at), NULL, &model), RT_EFORMAT,
                    "more than 96 deep");
}

static void test_not_onnx(void)
{
    struct rt_onnx_model model;
    if (!built("test_not_onnx"))
        return;
    RT_ASSERT_FAILS(rt_onnx_read(put("text.onnx", "{\"a\": 1}", 8), NULL, &model), RT_EFORMAT, "byte 0");
    RT_ASSERT_FAILS(rt_onnx_read(put("empty.onnx", "", 0), NULL, &model), RT_EFORMAT, "is empty");
    RT_ASSERT_FAILS(rt_onnx_read(put("version.onnx", "\x08\x08", 2), NULL, &model), RT_EFORMAT, "no graph");
    RT_ASSERT_FAILS(rt_onnx_read("/nowhere/net.onnx", NULL, &model), RT_EIO, "/nowhere/net.onnx");
    RT_ASSERT_FAILS(rt_onnx_read("/", NULL, &model), RT_EIO, "not a regular file");
}

/* A node that reads what it makes: model { graph { node { input "a" output "a" op "Relu" } } }. */
static void test_circle(void)
{
    static const char bytes[] = "\x3a\x0e\x0a\x0c\x0a\x01"
                                "a\x12\x01"
                                "a\x22\x04Relu";
    struct rt_onnx_model model;
    if (!built("test_circle"))
        return;
    RT_ASSERT_FAILS(rt_onnx_read(put("circle.onnx", bytes, sizeof bytes - 1), NULL, &model), RT_EFORMAT,
                    "node 'Relu 0' (Relu): reads 'a', which no input, initializer or node before it makes");
}

RT_TESTS(RT_TEST(test_arithmetic), RT_TEST(test_dims_not_given), RT_TEST(test_control),
         RT_TEST(test_functions), RT_TEST(test_unknown), RT_TEST(test_weights), RT_TEST(test_operators),
         RT_TEST(test_truncated), RT_TEST(test_deep), RT_TEST(test_not_onnx), RT_TEST(test_circle))
