/* HDF5 files that reach outside themselves, or claim more than they hold: refused with their place, before
 * anything else is opened or allocated. */
#include "base/h5.h"
#include "test.h"

#include <hdf5.h>

static const struct rt_h5_array reals = {.path = "/x", .type = RT_H5_F64},
                                nested = {.path = "/group/x", .type = RT_H5_F64},
                                bytes = {.path = "/x", .type = RT_H5_U8};

/* A new file with format and version, open by HDF5 itself. */
static hid_t new_file(const char *path)
{
    struct rt_h5 *file;
    RT_ASSERT_OK(rt_h5_create(path, &file));
    RT_ASSERT_OK(rt_h5_set_text(file, "/", "format", "test"));
    RT_ASSERT_OK(rt_h5_set_integer(file, "/", "version", 1));
    RT_ASSERT_OK(rt_h5_commit(file));
    return H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
}

static void add_values(hid_t file, hsize_t count, hid_t type, hid_t creation)
{
    hid_t space = H5Screate_simple(1, &count, NULL);
    hid_t set = H5Dcreate2(file, "/x", type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    CU_ASSERT_FATAL(set >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(creation);
    CU_ASSERT(H5Fclose(file) >= 0);
}

/* The array is refused with these words, by count and by reading alike. */
static void expect(const char *path, const struct rt_h5_array *array, const char *words)
{
    struct rt_h5 *file;
    size_t count;
    double value[4];
    RT_ASSERT_OK(rt_h5_open(path, "test", 1, &file));
    RT_ASSERT_FAILS(rt_h5_count(file, array, &count), RT_EFORMAT, words);
    RT_ASSERT_FAILS(rt_h5_read(file, array, value, sizeof *value, 4), RT_EFORMAT, words);
    rt_h5_close(file);
}

/* A file with four reals that another file points to, and a pipe: who opens it waits forever. */
static const char *secret(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s", rt_test_path("secret.h5"));
    add_values(new_file(path), 4, H5T_NATIVE_DOUBLE, H5Pcreate(H5P_DATASET_CREATE));
    return path;
}

static const char *fifo(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s", rt_test_path("pipe"));
    unlink(path);
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    return path;
}

static void test_external_link(void)
{
    const char *targets[] = {secret(), fifo()}, *path = rt_test_path("link.h5");
    for (size_t t = 0; t < RT_COUNT(targets); t++) {
        hid_t file = new_file(path);
        CU_ASSERT(H5Lcreate_external(targets[t], "/x", file, "/x", H5P_DEFAULT, H5P_DEFAULT) >= 0);
        CU_ASSERT(H5Lcreate_external(targets[t], "/", file, "/group", H5P_DEFAULT, H5P_DEFAULT) >= 0);
        H5Fclose(file);
        expect(path, &reals, "/x leads to another file");
        expect(path, &nested, "/group/x leads to another file");
    }
}

static int count_child(struct rt_h5 *file, const char *name, void *context)
{
    (void)file, (void)name;
    ++*(int *)context;
    return RT_OK;
}

static void test_external_group(void)
{
    struct rt_h5 *file;
    int children = 0;
    char *text;
    const char *path = rt_test_path("group.h5");
    hid_t made = new_file(path);
    H5Lcreate_external(secret(), "/", made, "/group", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(made);
    RT_ASSERT_OK(rt_h5_open(path, "test", 1, &file));
    RT_ASSERT_FAILS(rt_h5_each_child(file, "/group", count_child, &children), RT_EFORMAT, "secret.h5");
    RT_ASSERT_FAILS(rt_h5_each_attribute(file, "/group", count_child, &children), RT_EFORMAT, "secret.h5");
    RT_ASSERT_FAILS(rt_h5_get_text(file, "/group", "format", &text), RT_EFORMAT, "secret.h5");
    CU_ASSERT_EQUAL(children, 0);
    rt_h5_close(file);
}

static void test_external_storage(void)
{
    const char *targets[] = {secret(), fifo(), "/etc/passwd"}, *path = rt_test_path("storage.h5");
    for (size_t t = 0; t < RT_COUNT(targets); t++) {
        hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_external(creation, targets[t], 0, 32);
        add_values(new_file(path), 4, H5T_NATIVE_DOUBLE, creation);
        expect(path, &reals, "the values of /x lie in other files");
    }
}

static void test_virtual_dataset(void)
{
    const char *targets[] = {secret(), fifo()}, *path = rt_test_path("virtual.h5");
    for (size_t t = 0; t < RT_COUNT(targets); t++) {
        hsize_t four = 4;
        hid_t creation = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &four, NULL);
        CU_ASSERT(H5Pset_virtual(creation, space, targets[t], "/x", space) >= 0);
        H5Sclose(space);
        add_values(new_file(path), 4, H5T_NATIVE_DOUBLE, creation);
        expect(path, &reals, "the values of /x lie in other files");
    }
}

/* A pipe in a file's place is not waited for; nor is a device read. */
static void test_no_file(void)
{
    struct rt_h5 *file;
    RT_ASSERT_FAILS(rt_h5_open(fifo(), "test", 1, &file), RT_EIO, "is a pipe or a device");
    RT_ASSERT_FAILS(rt_h5_open("/dev/zero", "test", 1, &file), RT_EIO, "is a pipe or a device");
}

static hid_t packed(hsize_t chunk, int deflates)
{
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 1, &chunk);
    for (int i = 0; i < deflates; i++)
        H5Pset_deflate(creation, 9);
    return creation;
}

/* What is claimed is held against the size of the file: extent, chunk, and rows of structs. */
static void test_claims(void)
{
    struct rt_h5 *file;
    size_t count = 0;
    const char *path = rt_test_path("claims.h5");
    add_values(new_file(path), (hsize_t)1 << 33, H5T_NATIVE_UINT8, packed(1 << 15, 1));
    expect(path, &bytes, "/x claims 8589934592 values, more than a file of");
    add_values(new_file(path), 4, H5T_NATIVE_DOUBLE, packed(4, 0));
    RT_ASSERT_OK(rt_h5_open(path, "test", 1, &file));
    RT_ASSERT_OK(rt_h5_count(file, &reals, &count));
    CU_ASSERT_EQUAL(count, 4);
    RT_ASSERT_OK(rt_h5_check_count(file, "/x", 4, 300));
    RT_ASSERT_FAILS(rt_h5_check_count(file, "/rows", 1 << 20, 300), RT_EFORMAT,
                    "/rows claims 1048576 values");
    rt_h5_close(file);
}

/* An array of few values in a chunk of 2 GB. */
static void test_chunk(void)
{
    const char *path = rt_test_path("chunk.h5");
    hsize_t count = 4, most = H5S_UNLIMITED;
    hid_t file = new_file(path), creation = packed(1 << 28, 1), space = H5Screate_simple(1, &count, &most);
    H5Dclose(H5Dcreate2(file, "/x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Sclose(space);
    H5Pclose(creation);
    H5Fclose(file);
    expect(path, &reals, "/x claims 268435456 values");
}

static void test_filters(void)
{
    const char *path = rt_test_path("filters.h5");
    add_values(new_file(path), 4, H5T_NATIVE_DOUBLE, packed(4, 2));
    expect(path, &reals, "/x is packed by other filters");
}

/* Neither written nor read: JSON and CSV of it would be no text. */
static void test_not_utf8(void)
{
    const char *path = rt_test_path("latin.h5");
    struct rt_h5 *made;
    char *text;
    RT_ASSERT_OK(rt_h5_create(rt_test_path("never.h5"), &made));
    RT_ASSERT_FAILS(rt_h5_set_text(made, "/", "source", "caf\xe9"), RT_EFORMAT, "which is not UTF-8");
    RT_ASSERT_FAILS(rt_h5_set_text(made, "/", "caf\xe9", "x"), RT_EFORMAT, "which is not UTF-8");
    rt_h5_close(made);
    hid_t file = new_file(path), type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, 8);
    hid_t attribute = H5Acreate2(file, "source", type, space, H5P_DEFAULT, H5P_DEFAULT);
    CU_ASSERT(H5Awrite(attribute, type, "caf\xe9\0\0\0") >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    H5Fclose(file);
    RT_ASSERT_OK(rt_h5_open(path, "test", 1, &made));
    RT_ASSERT_FAILS(rt_h5_get_text(made, "/", "source", &text), RT_EFORMAT, "\"source\" of / is not UTF-8");
    rt_h5_close(made);
}

RT_TESTS(RT_TEST(test_external_link), RT_TEST(test_external_group), RT_TEST(test_external_storage),
         RT_TEST(test_virtual_dataset), RT_TEST(test_no_file), RT_TEST(test_claims), RT_TEST(test_chunk),
         RT_TEST(test_filters), RT_TEST(test_not_utf8))
