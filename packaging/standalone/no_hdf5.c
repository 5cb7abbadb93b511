/*
 * In place of the HDF5 library, for a librooftile that no other library comes along with: every call fails, and the
 * reason says why. base/h5_tree reads what rooftile wrote, up to 16 MiB, without any of them; Debian's libhdf5 would bring
 * 30 libraries, and its static one cannot be a part of a shared library. Symbols only: hdf5.h declares them otherwise.
 */
#include <stddef.h>
#include <stdint.h>

#define CALLS(X) \
    X(H5Aclose) X(H5Acreate_by_name) X(H5Aexists) X(H5Aget_space) X(H5Aget_type) X(H5Aiterate_by_name) \
    X(H5Aopen) X(H5Aread) X(H5Awrite) X(H5Dclose) X(H5Dcreate2) X(H5Dget_create_plist) X(H5Dget_space) \
    X(H5Dget_type) X(H5Dopen2) X(H5Dread) X(H5Dwrite) X(H5Dwrite_chunk) X(H5Fclose) X(H5Fcreate) X(H5Fflush) \
    X(H5Fget_vfd_handle) X(H5Fopen) X(H5Gclose) X(H5Gcreate2) X(H5Lexists) X(H5Literate_by_name) X(H5Oclose) X(H5Oopen) X(H5Pclose) \
    X(H5Pcreate) X(H5Pget_chunk) X(H5Pget_external_count) X(H5Pget_filter2) X(H5Pget_layout) X(H5Pget_nfilters) \
    X(H5Pset_chunk) X(H5Pset_deflate) X(H5Pset_elink_cb) X(H5Pset_fclose_degree) X(H5Pset_file_locking) \
    X(H5Pset_fill_value) X(H5Pset_fletcher32) X(H5Pset_libver_bounds) X(H5Pset_obj_track_times) \
    X(H5Pset_shuffle) X(H5Sclose) X(H5Screate) X(H5Screate_simple) X(H5Sget_simple_extent_dims) \
    X(H5Sget_simple_extent_ndims) X(H5Sget_simple_extent_npoints) X(H5Tclose) X(H5Tcopy) X(H5Tenum_create) \
    X(H5Tenum_insert) X(H5Tget_class) X(H5Tget_member_name) X(H5Tget_member_value) X(H5Tget_nmembers) \
    X(H5Tget_size) X(H5Tis_variable_str) X(H5Tset_cset) X(H5Tset_size)
#define VALUES(X)                                                                                            \
    X(H5E_NOSPACE_g)                                                                                         \
    X(H5E_RESOURCE_g) X(H5P_CLS_DATASET_ACCESS_ID_g) X(H5P_CLS_DATASET_CREATE_ID_g)                          \
        X(H5P_CLS_FILE_ACCESS_ID_g) X(H5P_CLS_FILE_CREATE_ID_g) X(H5P_CLS_GROUP_CREATE_ID_g) X(H5T_C_S1_g)   \
            X(H5T_IEEE_F32LE_g) X(H5T_IEEE_F64LE_g) X(H5T_NATIVE_DOUBLE_g) X(H5T_NATIVE_FLOAT_g)             \
                X(H5T_NATIVE_INT32_g) X(H5T_NATIVE_INT64_g) X(H5T_NATIVE_UINT32_g) X(H5T_NATIVE_UINT8_g)     \
                    X(H5T_STD_I32LE_g) X(H5T_STD_I64LE_g) X(H5T_STD_U32LE_g) X(H5T_STD_U8LE_g)

#define CALL(name)                                                                                           \
    int64_t name(void);                                                                                      \
    int64_t name(void)                                                                                       \
    {                                                                                                        \
        return -1;                                                                                           \
    }
#define VALUE(name)                                                                                          \
    extern int64_t name;                                                                                     \
    int64_t name = -1;
CALLS(CALL)
VALUES(VALUE)

#define NOTHING(name)                                                                                        \
    int name(void);                                                                                          \
    int name(void)                                                                                           \
    {                                                                                                        \
        return 0;                                                                                            \
    }
NOTHING(H5open)
NOTHING(H5check_version)
NOTHING(H5dont_atexit)
NOTHING(H5Eset_auto2)
NOTHING(H5free_memory)

/* "It may be": that it cannot be opened is said with the reason below. */
int H5Fis_hdf5(const char *path);
int H5Fis_hdf5(const char *path)
{
    (void)path;
    return 1;
}

int H5get_libversion(unsigned *major, unsigned *minor, unsigned *release);
int H5get_libversion(unsigned *major, unsigned *minor, unsigned *release)
{
    *major = *minor = *release = 0;
    return 0;
}

/* H5E_error2_t of HDF5 1.10. */
struct description {
    int64_t class, major, minor;
    unsigned line;
    const char *function, *file, *text;
};

int H5Ewalk2(int64_t stack, int direction, int (*visit)(unsigned depth, const struct description *error, void *context),
             void *context);
int H5Ewalk2(int64_t stack, int direction, int (*visit)(unsigned depth, const struct description *error, void *context),
             void *context)
{
    static const struct description reason = {
        .text = "this librooftile has no HDF5 and reads whole files of rooftile alone, up to 16 MiB; the program has it"};
    (void)stack, (void)direction;
    return visit(0, &reason, context);
}
