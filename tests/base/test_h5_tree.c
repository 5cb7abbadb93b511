/* HDF5 files read without the library: the same values as were written, and nothing where anything differs.
 */
#include "base/h5.h"
#include "base/h5_tree.h"
#include "test.h"

#include "base/file.h"

#include <math.h>

enum {
    CHUNK = 16384,
    MANY = 4 * CHUNK
}; /* values in a chunk; in as many as the index itself has places for */

static const char *const colours[] = {"red", "green", "blue"};
static const char *const others[] = {"blue", "red"}; /* a build that numbers otherwise and has no green */
static const struct rt_h5_array reals = {.path = "/reals", .type = RT_H5_F64, .units = "us"},
                                weights = {.path = "/group/weights", .type = RT_H5_F32},
                                counts = {.path = "/group/counts", .type = RT_H5_I64, .long_name = "counts"},
                                named = {"/named", RT_H5_U8, NULL, NULL, colours, 3},
                                renamed = {"/named", RT_H5_U8, NULL, NULL, others, 2},
                                none = {.path = "/none", .type = RT_H5_I32},
                                more = {.path = "/more", .type = RT_H5_U32};

static double some_reals[MANY];
static float some_weights[3];
static const int64_t some_counts[] = {-1, INT64_MAX, 0, 12};
static const uint8_t some_named[] = {2, 0, 2};

/* Groups and attributes of which there are few lie in headers, of which there are many in heaps. */
static void write_groups(struct rt_h5 *file, int groups, int attributes)
{
    char name[64];
    for (int g = 0; g < groups; g++) {
        snprintf(name, sizeof name, "/group/%04d", g);
        RT_ASSERT_OK(rt_h5_make_group(file, name));
    }
    for (int a = 0; a < attributes; a++) {
        snprintf(name, sizeof name, "number %d", a);
        RT_ASSERT_OK(rt_h5_set_real(file, "/group", name, a / 3.0));
        snprintf(name, sizeof name, "word %d", a);
        RT_ASSERT_OK(rt_h5_set_text(file, "/group", name, name));
    }
}

static const char *write_file(int groups, int attributes)
{
    const char *path = rt_test_path("tree.h5");
    struct rt_h5 *file;
    RT_ASSERT_OK(rt_h5_create(path, &file));
    RT_ASSERT_OK(rt_h5_set_text(file, "/", "format", "test"));
    RT_ASSERT_OK(rt_h5_set_integer(file, "/", "version", 1));
    RT_ASSERT_OK(rt_h5_make_group(file, "/group"));
    RT_ASSERT_OK(rt_h5_write(file, &reals, some_reals, sizeof *some_reals, MANY));
    RT_ASSERT_OK(rt_h5_write(file, &weights, some_weights, sizeof *some_weights, 3));
    RT_ASSERT_OK(rt_h5_write(file, &counts, some_counts, sizeof *some_counts, 4));
    RT_ASSERT_OK(rt_h5_write(file, &named, some_named, 1, 3));
    RT_ASSERT_OK(rt_h5_write(file, &none, "", 4, 0));
    write_groups(file, groups, attributes);
    RT_ASSERT_OK(rt_h5_commit(file));
    return path;
}

static struct rt_h5_tree *tree_of(const char *path)
{
    struct stat status;
    CU_ASSERT_EQUAL_FATAL(stat(path, &status), 0);
    return rt_h5_tree_open(path, (double)status.st_size);
}

static void check_array(struct rt_h5_tree *tree, const struct rt_h5_array *array, const void *written,
                        size_t count, size_t size)
{
    const struct rt_h5_object *object = rt_h5_tree_at(tree, array->path);
    size_t found = 0;
    void *values = malloc(count * size + 1);
    CU_ASSERT_FATAL(object != NULL && values != NULL);
    CU_ASSERT(rt_h5_object_count(object, array, &found));
    CU_ASSERT_EQUAL(found, count);
    CU_ASSERT_FATAL(rt_h5_object_values(tree, object, array, values, count));
    CU_ASSERT_EQUAL(memcmp(values, written, count * size), 0);
    CU_ASSERT_FALSE(rt_h5_object_values(tree, object, array, values, count + 1));
    free(values);
}

static void test_arrays(void)
{
    struct rt_h5_tree *tree = tree_of(write_file(2, 2));
    CU_ASSERT_FATAL(tree != NULL);
    check_array(tree, &reals, some_reals, MANY, sizeof *some_reals);
    check_array(tree, &weights, some_weights, 3, sizeof *some_weights);
    check_array(tree, &counts, some_counts, 4, sizeof *some_counts);
    check_array(tree, &named, some_named, 3, 1);
    check_array(tree, &none, "", 0, 4);
    CU_ASSERT_PTR_NULL(rt_h5_tree_at(tree, "/reals/x"));
    CU_ASSERT_PTR_NULL(rt_h5_tree_at(tree, "/real"));
    CU_ASSERT(rt_h5_object_has(rt_h5_tree_at(tree, "/reals"), "units"));
    size_t count; /* another type is the library's to refuse */
    CU_ASSERT_FALSE(rt_h5_object_count(rt_h5_tree_at(tree, "/reals"), &weights, &count));
    CU_ASSERT_FALSE(rt_h5_object_count(rt_h5_tree_at(tree, "/group"), &weights, &count));
    rt_h5_tree_free(tree);
}

/* An enum's values go by name; one without a name here is the library's to refuse. */
static void test_names(void)
{
    struct rt_h5_tree *tree = tree_of(write_file(1, 1));
    uint8_t values[] = {2, 0, 2}, green[] = {1};
    const struct rt_h5_object *object = rt_h5_tree_at(tree, "/named");
    CU_ASSERT(rt_h5_object_rename(object, &renamed, values, 3));
    CU_ASSERT(values[0] == 0 && values[1] == 1 && values[2] == 0);
    CU_ASSERT_FALSE(rt_h5_object_rename(object, &renamed, green, 1));
    rt_h5_tree_free(tree);
}

static void check_groups(int groups, int attributes)
{
    struct rt_h5_tree *tree = tree_of(write_file(groups, attributes));
    CU_ASSERT_FATAL(tree != NULL);
    const struct rt_h5_object *group = rt_h5_tree_at(tree, "/group");
    char name[64], *text;
    double value;
    for (int g = 0; g < groups; g++) { /* in the order of their names, before counts and weights */
        snprintf(name, sizeof name, "%04d", g);
        CU_ASSERT_STRING_EQUAL(rt_h5_object_child(group, (size_t)g), name);
    }
    CU_ASSERT_STRING_EQUAL(rt_h5_object_child(group, (size_t)groups + 1), "weights");
    CU_ASSERT_PTR_NULL(rt_h5_object_child(group, (size_t)groups + 2));
    for (int a = 0; a < attributes; a++) {
        snprintf(name, sizeof name, "number %d", a);
        CU_ASSERT(rt_h5_object_real(group, name, &value) && value == a / 3.0);
        CU_ASSERT_FALSE(rt_h5_object_text(group, name, &text));
        snprintf(name, sizeof name, "word %d", a);
        CU_ASSERT_FATAL(rt_h5_object_text(group, name, &text));
        CU_ASSERT_STRING_EQUAL(text, name);
        free(text);
    }
    CU_ASSERT_PTR_NULL(rt_h5_object_attribute(group, 2 * (size_t)attributes));
    CU_ASSERT_FALSE(rt_h5_object_has(group, "number"));
    rt_h5_tree_free(tree);
}

static void test_groups(void)
{
    check_groups(0, 0);
    check_groups(3, 3);
    check_groups(12, 10); /* in heaps of one block */
    check_groups(20, 11);
}

/* What lies deeper is the library's: reads give the same. */
static void test_library(void)
{
    enum { COUNT = MANY + 1 };
    static uint32_t values[COUNT], read[COUNT];
    const char *path = rt_test_path("more.h5");
    struct rt_h5 *file;
    for (uint32_t i = 0; i < COUNT; i++)
        values[i] = i * i;
    RT_ASSERT_OK(rt_h5_create(path, &file));
    RT_ASSERT_OK(rt_h5_set_text(file, "/", "format", "test"));
    RT_ASSERT_OK(rt_h5_set_integer(file, "/", "version", 1));
    RT_ASSERT_OK(rt_h5_make_group(file, "/group"));
    RT_ASSERT_OK(rt_h5_write(file, &more, values, sizeof *values, COUNT));
    write_groups(file, 300, 40);
    RT_ASSERT_OK(rt_h5_commit(file));
    RT_ASSERT_OK(rt_h5_open(path, "test", 1, &file));
    RT_ASSERT_OK(rt_h5_read(file, &more, read, sizeof *read, COUNT));
    CU_ASSERT_EQUAL(memcmp(values, read, sizeof values), 0);
    CU_ASSERT(rt_h5_exists(file, "/group/0299") && !rt_h5_exists(file, "/group/0300"));
    rt_h5_close(file);
}

static void write_bytes(const char *path, const char *bytes, size_t length)
{
    FILE *file = fopen(path, "w");
    CU_ASSERT_FATAL(file != NULL && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
}

/* A flipped bit anywhere leaves no tree, or one that does not answer for what it lies in: all is under a
 * checksum, or means nothing. */
static void test_flipped_bits(void)
{
    char *bytes;
    size_t length;
    RT_ASSERT_OK(rt_file_read(write_file(9, 9), (size_t)1 << 24, &bytes, &length));
    const char *path = rt_test_path("flipped.h5");
    for (size_t at = 0; at < length; at += 1 + at / 97) {
        bytes[at] ^= 4;
        write_bytes(path, bytes, length);
        bytes[at] ^= 4;
        struct rt_h5_tree *tree = rt_h5_tree_open(path, (double)length);
        if (tree == NULL)
            continue;
        static double values[MANY];
        int64_t read[4];
        const struct rt_h5_object *first = rt_h5_tree_at(tree, "/reals"),
                                  *second = rt_h5_tree_at(tree, "/group/counts");
        CU_ASSERT_FATAL(first != NULL && second != NULL);
        if (rt_h5_object_values(tree, first, &reals, values, MANY))
            CU_ASSERT_EQUAL(memcmp(values, some_reals, sizeof values), 0);
        if (rt_h5_object_values(tree, second, &counts, read, 4))
            CU_ASSERT_EQUAL(memcmp(read, some_counts, sizeof read), 0);
        rt_h5_tree_free(tree);
    }
    for (size_t shorter = 0; shorter < length; shorter += 1 + shorter / 17) {
        write_bytes(path, bytes, shorter);
        CU_ASSERT_PTR_NULL(rt_h5_tree_open(path, (double)shorter));
    }
    free(bytes);
}

static void fill(void)
{
    for (size_t i = 0; i < MANY; i++)
        some_reals[i] = sin((double)i);
    for (int i = 0; i < 3; i++)
        some_weights[i] = (float)i / 7;
}

static void test_all_arrays(void)
{
    fill();
    test_arrays();
}

RT_TESTS(RT_TEST(test_all_arrays), RT_TEST(test_names), RT_TEST(test_groups), RT_TEST(test_library),
         RT_TEST(test_flipped_bits))
