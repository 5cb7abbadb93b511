/* One-dimensional arrays in HDF5 files. See h5.h. */
#include "base/h5.h"
#include "base/h5_chunks.h"
#include "base/h5_file.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Level 1: files a tenth larger than level 9 makes them, written 8 times faster. */
enum { CHUNK = 16384, DEFLATE_LEVEL = 1 };

static hid_t type_of(enum rt_h5_type type, bool in_file)
{
    switch (type) {
    case RT_H5_F32:
        return in_file ? H5T_IEEE_F32LE : H5T_NATIVE_FLOAT;
    case RT_H5_F64:
        return in_file ? H5T_IEEE_F64LE : H5T_NATIVE_DOUBLE;
    case RT_H5_I32:
        return in_file ? H5T_STD_I32LE : H5T_NATIVE_INT32;
    case RT_H5_I64:
        return in_file ? H5T_STD_I64LE : H5T_NATIVE_INT64;
    case RT_H5_U8:
        return in_file ? H5T_STD_U8LE : H5T_NATIVE_UINT8;
    default:
        return in_file ? H5T_STD_U32LE : H5T_NATIVE_UINT32;
    }
}

/* The enum type of an array over 8 bits in memory and file alike; the caller closes it. Negative: HDF5
 * failed. */
static hid_t enum_type(const struct rt_h5_array *array)
{
    hid_t type = H5Tenum_create(H5T_STD_U8LE);
    for (size_t i = 0; type >= 0 && i < array->name_count; i++) {
        uint8_t value = (uint8_t)i;
        if (H5Tenum_insert(type, array->names[i], &value) < 0) {
            H5Tclose(type);
            type = H5I_INVALID_HID;
        }
    }
    return type;
}

/* 32-bit reals are weights of networks: compressed they would be a tenth smaller, and read 5 times slower. */
static hid_t creation_properties(enum rt_h5_type type, size_t count)
{
    hsize_t chunk = count < 1 ? 1 : count < CHUNK ? count : CHUNK;
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    bool set = H5Pset_chunk(creation, 1, &chunk) >= 0;
    if (type != RT_H5_F32)
        set = set && H5Pset_shuffle(creation) >= 0 && H5Pset_deflate(creation, DEFLATE_LEVEL) >= 0;
    set = set && H5Pset_fletcher32(creation) >= 0 && H5Pset_obj_track_times(creation, 0) >= 0;
    return rt_h5_properties(creation, set);
}

static size_t type_size(enum rt_h5_type type)
{
    return type == RT_H5_U8 ? 1 : type == RT_H5_F64 || type == RT_H5_I64 ? 8 : 4;
}

static int write_values(struct rt_h5 *file, const struct rt_h5_array *array, hid_t dataset, hid_t type,
                        const void *base, size_t stride, size_t count)
{
    size_t size = type_size(array->type);
    const void *values = base;
    char *packed = NULL;
    if (stride != size) {
        values = packed = rt_malloc(count * size);
        for (size_t i = 0; i < count; i++)
            memcpy(packed + i * size, (const char *)base + i * stride, size);
    }
    int status = RT_OK;
    if (count > 0 && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        status = rt_h5_fail_write(file, array->path);
    free(packed);
    return status;
}

/* A new array of that length; `missing` (NULL: none) is what reads where nothing is stored. Negative where
 * HDF5 failed at any of it: an array without its filters or its missing value would lie. */
static hid_t create_array(struct rt_h5 *file, const struct rt_h5_array *array, hid_t named, size_t count,
                          const void *missing)
{
    hsize_t extent = count, most = H5S_UNLIMITED;
    hid_t space = H5Screate_simple(1, &extent, &most), creation = creation_properties(array->type, count);
    bool set = array->names == NULL || named >= 0;
    if (set && missing != NULL)
        set = H5Pset_fill_value(creation, named >= 0 ? named : type_of(array->type, false), missing) >= 0;
    creation = rt_h5_properties(creation, set);
    hid_t dataset = H5Dcreate2(file->id, array->path, named >= 0 ? named : type_of(array->type, true), space,
                               H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    H5Sclose(space);
    return dataset;
}

static int describe_array(struct rt_h5 *file, const struct rt_h5_array *array)
{
    int status = RT_OK;
    if (array->units != NULL)
        status = rt_h5_set_text(file, array->path, "units", array->units);
    if (status == RT_OK && array->long_name != NULL)
        status = rt_h5_set_text(file, array->path, "long_name", array->long_name);
    return status;
}

int rt_h5_write(struct rt_h5 *file, const struct rt_h5_array *array, const void *base, size_t stride,
                size_t count)
{
    hid_t named = array->names != NULL ? enum_type(array) : -1;
    hid_t dataset = create_array(file, array, named, count, NULL);
    int status = RT_OK;
    if (dataset < 0)
        status = rt_h5_fail_write(file, array->path);
    else
        status = write_values(file, array, dataset, named >= 0 ? named : type_of(array->type, false), base,
                              stride, count);
    if (dataset >= 0 && H5Dclose(dataset) < 0 && status == RT_OK)
        status = rt_h5_fail_write(file, array->path);
    if (named >= 0)
        H5Tclose(named);
    return status == RT_OK ? describe_array(file, array) : status;
}

/* The bits of a missing value: NaN, -1, or 0 of unsigned types. */
static void missing_value(enum rt_h5_type type, void *out)
{
    const float f32 = NAN;
    const double f64 = NAN;
    const int64_t minus_one = -1;
    memset(out, 0, 8);
    if (type == RT_H5_F32)
        memcpy(out, &f32, sizeof f32);
    else if (type == RT_H5_F64)
        memcpy(out, &f64, sizeof f64);
    else if (type == RT_H5_I32 || type == RT_H5_I64)
        memcpy(out, &minus_one, type_size(type));
}

static int write_chunks(struct rt_h5 *file, const struct rt_h5_array *array, uint64_t missing, size_t count,
                        const struct rt_chunk *chunks, size_t chunk_count)
{
    hid_t named = array->names != NULL ? enum_type(array) : -1;
    hid_t dataset = create_array(file, array, named, count, &missing);
    int status = dataset < 0 ? rt_h5_fail_write(file, array->path) : RT_OK;
    for (size_t c = 0; status == RT_OK && c < chunk_count; c++) {
        hsize_t offset = c * CHUNK;
        if (chunks[c].bytes != NULL &&
            H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, &offset, chunks[c].size, chunks[c].bytes) < 0)
            status = rt_h5_fail_write(file, array->path);
    }
    if (dataset >= 0 && H5Dclose(dataset) < 0 && status == RT_OK)
        status = rt_h5_fail_write(file, array->path);
    if (named >= 0)
        H5Tclose(named);
    return status == RT_OK ? describe_array(file, array) : status;
}

int rt_h5_write_columns(struct rt_h5 *file, const struct rt_h5_array *arrays, size_t column_count,
                        rt_h5_copy *copy, const void *table, size_t count)
{
    struct rt_chunk_column *columns = rt_calloc(column_count, sizeof *columns);
    struct rt_chunk *chunks;
    size_t rows = count < 1 ? 1 : count < CHUNK ? count : CHUNK, chunk_count = (count + rows - 1) / rows;
    for (size_t k = 0; k < column_count; k++) {
        columns[k] = (struct rt_chunk_column){type_size(arrays[k].type), 0};
        missing_value(arrays[k].type, &columns[k].missing);
    }
    rt_chunks_make(copy, table, count, columns, column_count, rows, DEFLATE_LEVEL, &chunks);
    int status = RT_OK;
    for (size_t k = 0; status == RT_OK && k < column_count; k++)
        status =
            write_chunks(file, &arrays[k], columns[k].missing, count, chunks + k * chunk_count, chunk_count);
    rt_chunks_free(chunks, column_count * chunk_count);
    free(columns);
    return status;
}

static bool class_matches(hid_t type, const struct rt_h5_array *array)
{
    H5T_class_t class = H5Tget_class(type);
    if (array->names != NULL)
        return class == H5T_ENUM && H5Tget_size(type) == 1;
    bool real = array->type == RT_H5_F32 || array->type == RT_H5_F64;
    return class == (real ? H5T_FLOAT : H5T_INTEGER);
}

/* Deflate compresses a thousandfold at most. */
int rt_h5_check_count(const struct rt_h5 *file, const char *what, uint64_t count, size_t size)
{
    if ((double)count * (double)size <= 1100 * file->size + 65536)
        return RT_OK;
    return rt_fail(RT_EFORMAT, "%s: %s claims %llu values, more than a file of %.0f bytes can hold",
                   file->path, what, (unsigned long long)count, file->size);
}

static int check_extent(struct rt_h5 *file, const struct rt_h5_array *array, hid_t space, size_t *count)
{
    hsize_t extent = 0;
    if (H5Sget_simple_extent_ndims(space) != 1 || H5Sget_simple_extent_dims(space, &extent, NULL) != 1)
        return rt_fail(RT_EFORMAT, "%s: %s is not one-dimensional", file->path, array->path);
    *count = (size_t)extent;
    return rt_h5_check_count(file, array->path, extent, type_size(array->type));
}

/* Each of the filters that arrays are written with once at most: what is deflated twice grows a millionfold.
 */
static bool filters_are_known(hid_t creation)
{
    int seen[H5Z_FILTER_FLETCHER32 + 1] = {0}, filters = H5Pget_nfilters(creation);
    for (int f = 0; f < filters; f++) {
        unsigned flags, configuration;
        size_t values = 0;
        H5Z_filter_t id =
            H5Pget_filter2(creation, (unsigned)f, &flags, &values, NULL, 0, NULL, &configuration);
        bool known = id == H5Z_FILTER_DEFLATE || id == H5Z_FILTER_SHUFFLE || id == H5Z_FILTER_FLETCHER32;
        if (!known || seen[id]++ > 0)
            return false;
    }
    return filters >= 0;
}

static int check_chunks(const struct rt_h5 *file, const char *path, hid_t creation, size_t size)
{
    hsize_t chunk = 0;
    if (H5Pget_chunk(creation, 1, &chunk) != 1)
        return rt_fail(RT_EFORMAT, "%s: %s is not one-dimensional", file->path, path);
    if (!filters_are_known(creation))
        return rt_fail(RT_EFORMAT,
                       "%s: %s is packed by other filters than shuffle, deflate and fletcher32, once each; "
                       "unpack it (h5repack -f NONE)",
                       file->path, path);
    return rt_h5_check_count(file, path, chunk, size);
}

/* Do the array's values, of `size` bytes, lie in this file? Nothing of them is read, no other file opened. */
static int check_storage(const struct rt_h5 *file, const char *path, hid_t dataset, size_t size)
{
    hid_t creation = H5Dget_create_plist(dataset);
    H5D_layout_t layout = creation >= 0 ? H5Pget_layout(creation) : H5D_LAYOUT_ERROR;
    int status = RT_OK;
    if (layout == H5D_LAYOUT_ERROR)
        status = rt_h5_fail_read(file, path);
    else if (layout == H5D_VIRTUAL || H5Pget_external_count(creation) > 0)
        status = rt_fail(RT_EFORMAT,
                         "%s: the values of %s lie in other files, which are not followed; copy the data "
                         "into one file (h5repack)",
                         file->path, path);
    else if (layout == H5D_CHUNKED)
        status = check_chunks(file, path, creation, size);
    if (creation >= 0)
        H5Pclose(creation);
    return status;
}

static int check_array(struct rt_h5 *file, const struct rt_h5_array *array, hid_t dataset, size_t *count)
{
    hid_t type = H5Dget_type(dataset), space = -1;
    int status = type < 0 ? rt_h5_fail_read(file, array->path)
                          : check_storage(file, array->path, dataset, H5Tget_size(type));
    if (status == RT_OK && (space = H5Dget_space(dataset)) < 0)
        status = rt_h5_fail_read(file, array->path);
    else if (status == RT_OK && !class_matches(type, array))
        status =
            rt_fail(RT_EFORMAT, "%s: %s is of another type than its format says", file->path, array->path);
    else if (status == RT_OK)
        status = check_extent(file, array, space, count);
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    return status;
}

static int open_array(struct rt_h5 *file, const struct rt_h5_array *array, hid_t *out, size_t *count)
{
    hid_t id = rt_h5_library_id(file), dataset = H5Dopen2(id, array->path, file->links);
    if (dataset < 0) {
        int status = rt_h5_fail_read(file, array->path); /* while HDF5 knows why */
        return rt_h5_exists(file, array->path)
                   ? status
                   : rt_fail(RT_EFORMAT, "%s: has no %s, which its format requires", file->path, array->path);
    }
    int status = check_array(file, array, dataset, count);
    if (status == RT_OK)
        *out = dataset;
    else
        H5Dclose(dataset);
    return status;
}

int rt_h5_count(struct rt_h5 *file, const struct rt_h5_array *array, size_t *count)
{
    const struct rt_h5_object *known = rt_h5_object_of(file, array->path);
    if (known != NULL && rt_h5_object_count(known, array, count))
        return rt_h5_check_count(file, array->path, *count, type_size(array->type));
    hid_t dataset = -1;
    int status = open_array(file, array, &dataset, count);
    if (status == RT_OK)
        H5Dclose(dataset);
    return status;
}

/* map[value in file] = value of this build, by the names of the file's enum; 255 where the name is unknown.
 */
static void enum_map(hid_t dataset, const struct rt_h5_array *array, uint8_t map[256])
{
    memset(map, 255, 256);
    hid_t type = H5Dget_type(dataset);
    int members = H5Tget_nmembers(type);
    for (int m = 0; m < members; m++) {
        uint8_t value = 255;
        char *name = H5Tget_member_name(type, (unsigned)m);
        if (name != NULL && H5Tget_member_value(type, (unsigned)m, &value) >= 0)
            for (size_t i = 0; i < array->name_count; i++)
                if (strcmp(array->names[i], name) == 0)
                    map[value] = (uint8_t)i;
        H5free_memory(name);
    }
    H5Tclose(type);
}

static int apply_enum(const struct rt_h5 *file, hid_t dataset, const struct rt_h5_array *array,
                      uint8_t *values, size_t count)
{
    uint8_t map[256];
    enum_map(dataset, array, map);
    for (size_t i = 0; i < count; i++) {
        if (map[values[i]] == 255)
            return rt_fail(RT_EFORMAT,
                           "%s: %s[%zu] is %u, a value this build has no name for; use a newer rooftile",
                           file->path, array->path, i, values[i]);
        values[i] = map[values[i]];
    }
    return RT_OK;
}

/* Values from the tree, `stride` bytes apart; false where the library must read them. */
static bool read_from_tree(struct rt_h5 *file, const struct rt_h5_array *array, char *base, size_t stride,
                           size_t count)
{
    const struct rt_h5_object *known = rt_h5_object_of(file, array->path);
    size_t size = type_size(array->type), stored = 0;
    if (known == NULL || !rt_h5_object_count(known, array, &stored) || stored != count)
        return false;
    char *packed = stride == size ? base : rt_malloc(count * size + 1);
    bool good = rt_h5_object_values(file->tree, known, array, packed, count) &&
                (array->names == NULL || rt_h5_object_rename(known, array, (uint8_t *)packed, count));
    for (size_t i = 0; good && packed != base && i < count; i++)
        memcpy(base + i * stride, packed + i * size, size);
    if (packed != base)
        free(packed);
    return good;
}

int rt_h5_read(struct rt_h5 *file, const struct rt_h5_array *array, void *base, size_t stride, size_t count)
{
    if (read_from_tree(file, array, base, stride, count))
        return RT_OK;
    hid_t dataset = -1;
    size_t found = 0, size = type_size(array->type);
    int status = open_array(file, array, &dataset, &found);
    if (status != RT_OK)
        return status;
    if (found != count) {
        H5Dclose(dataset);
        return rt_fail(RT_EFORMAT, "%s: %s holds %zu values where %zu are expected", file->path, array->path,
                       found, count);
    }
    char *packed = stride == size ? base : rt_malloc(count * size);
    hid_t stored = array->names != NULL ? H5Dget_type(dataset) : -1;
    hid_t type = stored >= 0 ? stored : type_of(array->type, false);
    if (count > 0 && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, packed) < 0)
        status = rt_h5_fail_read(file, array->path);
    if (status == RT_OK && stored >= 0)
        status = apply_enum(file, dataset, array, (uint8_t *)packed, count);
    if (status == RT_OK && packed != base)
        for (size_t i = 0; i < count; i++)
            memcpy((char *)base + i * stride, packed + i * size, size);
    if (packed != base)
        free(packed);
    if (stored >= 0)
        H5Tclose(stored);
    H5Dclose(dataset);
    return status;
}
