/* A file that HDF5 could not be told how to write is not written: every property that arrays, groups and
 * files are made with fails once. */
#include "base/h5.h"
#include "test.h"

#include <dlfcn.h>
#include <hdf5.h>

/* In place of the library's own, which they call unless they are the one that fails. */
static const char *failing;
static bool asked;

#define PROPERTY(name, parameters, ...)                                                                      \
    herr_t name parameters                                                                                   \
    {                                                                                                        \
        herr_t(*own) parameters = dlsym(RTLD_NEXT, #name);                                                   \
        bool fails = failing != NULL && strcmp(failing, #name) == 0;                                         \
        asked |= fails;                                                                                      \
        return fails ? -1 : own(__VA_ARGS__);                                                                \
    }
PROPERTY(H5Pset_chunk, (hid_t list, int rank, const hsize_t size[]), list, rank, size)
PROPERTY(H5Pset_shuffle, (hid_t list), list)
PROPERTY(H5Pset_deflate, (hid_t list, unsigned level), list, level)
PROPERTY(H5Pset_fletcher32, (hid_t list), list)
PROPERTY(H5Pset_fill_value, (hid_t list, hid_t type, const void *value), list, type, value)
PROPERTY(H5Pset_obj_track_times, (hid_t list, hbool_t track), list, track)
PROPERTY(H5Pset_file_locking, (hid_t list, hbool_t use, hbool_t ignore), list, use, ignore)
PROPERTY(H5Pset_libver_bounds, (hid_t list, H5F_libver_t low, H5F_libver_t high), list, low, high)
PROPERTY(H5Pset_fclose_degree, (hid_t list, H5F_close_degree_t degree), list, degree)

static void copy(const void *table, size_t column, size_t first, size_t count, void *out)
{
    (void)column;
    memcpy(out, (const double *)table + first, count * sizeof(double));
}

/* A file with a column in a group. */
static int write_file(const char *path)
{
    static const double values[] = {1, 2, 3};
    const struct rt_h5_array array = {.path = "/samples/x", .type = RT_H5_F64};
    struct rt_h5 *file;
    int status = rt_h5_create(path, &file);
    if (status != RT_OK)
        return status;
    status = rt_h5_make_group(file, "/samples");
    if (status == RT_OK)
        status = rt_h5_write_columns(file, &array, 1, copy, values, RT_COUNT(values));
    if (status == RT_OK)
        return rt_h5_commit(file);
    rt_h5_close(file);
    return status;
}

static void test_each_property(void)
{
    static const char *const names[] = {
        "H5Pset_chunk",        "H5Pset_shuffle",       "H5Pset_deflate",
        "H5Pset_fletcher32",   "H5Pset_fill_value",    "H5Pset_obj_track_times",
        "H5Pset_file_locking", "H5Pset_libver_bounds", "H5Pset_fclose_degree"};
    const char *path = rt_test_path("properties.h5");
    for (size_t i = 0; i < RT_COUNT(names); i++) {
        failing = names[i];
        asked = false;
        RT_ASSERT_FAILS(write_file(path), RT_EIO, "properties.h5");
        CU_ASSERT_TRUE(asked);
        CU_ASSERT_EQUAL(access(path, F_OK), -1);
    }
    failing = NULL;
    RT_ASSERT_OK(write_file(path));
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
}

RT_TESTS(RT_TEST(test_each_property))
