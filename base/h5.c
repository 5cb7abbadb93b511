/* The only user of HDF5. See h5.h. */
#include "base/h5.h"
#include "base/h5_chunks.h"
#include "base/file.h"
#include "base/status.h"

#include <errno.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct rt_h5 {
    hid_t id;
    char *path;
    char *temporary; /* NULL where the file is open for reading */
    int version;
    double size;       /* bytes on disk, for reading */
    char *object_path; /* of the object whose attributes were read last, NULL none */
    hid_t object;      /* open where there is a path */
};

/* Level 1: files a tenth larger than level 9 makes them, written 8 times faster. */
enum { CHUNK = 16384, DEFLATE_LEVEL = 1 };

static hid_t memory_type(enum rt_h5_type type)
{
    switch (type) {
    case RT_H5_F32:
        return H5T_NATIVE_FLOAT;
    case RT_H5_F64:
        return H5T_NATIVE_DOUBLE;
    case RT_H5_I32:
        return H5T_NATIVE_INT32;
    case RT_H5_I64:
        return H5T_NATIVE_INT64;
    case RT_H5_U8:
        return H5T_NATIVE_UINT8;
    default:
        return H5T_NATIVE_UINT32;
    }
}

static hid_t file_type(enum rt_h5_type type)
{
    switch (type) {
    case RT_H5_F32:
        return H5T_IEEE_F32LE;
    case RT_H5_F64:
        return H5T_IEEE_F64LE;
    case RT_H5_I32:
        return H5T_STD_I32LE;
    case RT_H5_I64:
        return H5T_STD_I64LE;
    case RT_H5_U8:
        return H5T_STD_U8LE;
    default:
        return H5T_STD_U32LE;
    }
}

static herr_t deepest(unsigned depth, const H5E_error2_t *error, void *text)
{
    if (depth == 0 && error->desc != NULL)
        snprintf(text, 160, "%s", error->desc);
    return 0;
}

/* The innermost description of HDF5's last failure. */
static const char *reason(void)
{
    static _Thread_local char text[160];
    strcpy(text, "no reason given");
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, deepest, text);
    return text;
}

/* HDF5 reports a full disk as one line of details; errno still has the system's reason. */
static int fail_write(const struct rt_h5 *file, const char *what)
{
    int code = errno;
    bool disk = code == ENOSPC || code == EFBIG || code == EDQUOT || code == EIO;
    return rt_fail(RT_EIO, "%s: %s cannot be written: %s; what was there is unchanged", file->path, what,
                   disk ? strerror(code) : reason());
}

static int fail_read(const struct rt_h5 *file, const char *what)
{
    return rt_fail(RT_EFORMAT, "%s: %s cannot be read (%s): the file is damaged, restore it from a copy",
                   file->path, what, reason());
}

/* Before any other call: HDF5 1.10 repeats a failed write at exit and crashes. */
static void quiet_library(void)
{
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static hid_t access_properties(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    return access;
}

int rt_h5_create(const char *path, struct rt_h5 **out)
{
    quiet_library();
    struct stat target;
    if (stat(path, &target) == 0 && S_ISDIR(target.st_mode))
        return rt_fail(RT_EIO, "%s: is a folder; name a file to write to", path);
    char *temporary = rt_file_temporary(path);
    FILE *probe = fopen(temporary, "w"); /* HDF5 loses errno */
    if (probe == NULL) {
        int status =
            rt_fail(RT_EIO, "%s: cannot be written: %s; choose another place", path, strerror(errno));
        free(temporary);
        return status;
    }
    fclose(probe);
    hid_t access = access_properties(), creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_obj_track_times(creation, 0);
    hid_t id = H5Fcreate(temporary, H5F_ACC_TRUNC, creation, access);
    H5Pclose(access);
    H5Pclose(creation);
    if (id < 0) {
        int status = rt_fail(RT_EIO, "%s: cannot be written: %s", path, reason());
        unlink(temporary);
        free(temporary);
        return status;
    }
    struct rt_h5 *file = rt_calloc(1, sizeof *file);
    file->id = id;
    file->path = rt_strdup(path);
    file->temporary = temporary;
    *out = file;
    return RT_OK;
}

static void close_object(struct rt_h5 *file)
{
    if (file->object_path != NULL)
        H5Oclose(file->object);
    free(file->object_path);
    file->object_path = NULL;
}

void rt_h5_close(struct rt_h5 *file)
{
    if (file == NULL)
        return;
    close_object(file);
    if (file->id >= 0)
        H5Fclose(file->id);
    if (file->temporary != NULL)
        unlink(file->temporary);
    free(file->temporary);
    free(file->path);
    free(file);
}

int rt_h5_commit(struct rt_h5 *file)
{
    int status = RT_OK;
    close_object(file);
    bool failed = H5Fflush(file->id, H5F_SCOPE_GLOBAL) < 0;
    if (failed)
        status = fail_write(file, "the file");
    if (H5Fclose(file->id) < 0 && !failed)
        status = fail_write(file, "the file");
    file->id = -1;
    if (status == RT_OK) {
        status = rt_file_replace(file->temporary, file->path);
        free(file->temporary);
        file->temporary = NULL;
    }
    rt_h5_close(file);
    return status;
}

static int check_readable(const char *path, double *size)
{
    struct stat status;
    FILE *probe = fopen(path, "r");
    if (probe == NULL || fstat(fileno(probe), &status) != 0) {
        int code = rt_fail(RT_EIO, "%s: cannot be read: %s", path, strerror(errno));
        if (probe != NULL)
            fclose(probe);
        return code;
    }
    fclose(probe);
    if (S_ISDIR(status.st_mode))
        return rt_fail(RT_EIO, "%s: is a folder, not a file", path);
    if (status.st_size == 0)
        return rt_fail(RT_EFORMAT, "%s: is empty, not an HDF5 file", path);
    *size = (double)status.st_size;
    return RT_OK;
}

static int check_format(struct rt_h5 *file, const char *format, int newest)
{
    char *found = NULL;
    int64_t version;
    if (!rt_h5_has(file, "/", "format"))
        return rt_fail(RT_EFORMAT, "%s: an HDF5 file, but not a %s file (no attribute \"format\")",
                       file->path, format);
    int status = rt_h5_get_text(file, "/", "format", &found);
    if (status == RT_OK && strcmp(found, format) != 0)
        status =
            rt_fail(RT_EFORMAT, "%s: is a %.64s file where a %s file is needed", file->path, found, format);
    free(found);
    if (status == RT_OK)
        status = rt_h5_get_integer(file, "/", "version", &version);
    if (status == RT_OK && (version < 1 || version > newest))
        status = rt_fail(RT_EVERSION,
                         "%s: %s version %lld, this build reads versions 1 to %d; use a newer rooftile",
                         file->path, format, (long long)version, newest);
    if (status == RT_OK)
        file->version = (int)version;
    return status;
}

int rt_h5_open(const char *path, const char *format, int newest, struct rt_h5 **out)
{
    double size = 0;
    int status = check_readable(path, &size);
    if (status != RT_OK)
        return status;
    quiet_library();
    if (H5Fis_hdf5(path) <= 0)
        return rt_fail(RT_EFORMAT, "%s: is not an HDF5 file (or its first bytes are damaged)", path);
    hid_t access = access_properties();
    hid_t id = H5Fopen(path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    if (id < 0)
        return rt_fail(RT_EFORMAT, "%s: cannot be opened (%s): truncated or damaged, restore it from a copy",
                       path, reason());
    struct rt_h5 *file = rt_calloc(1, sizeof *file);
    *file = (struct rt_h5){.id = id, .path = rt_strdup(path), .size = size};
    status = check_format(file, format, newest);
    if (status == RT_OK)
        *out = file;
    else
        rt_h5_close(file);
    return status;
}

const char *rt_h5_path(const struct rt_h5 *file)
{
    return file->path;
}

int rt_h5_version(const struct rt_h5 *file)
{
    return file->version;
}

int rt_h5_make_group(struct rt_h5 *file, const char *path)
{
    hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_obj_track_times(creation, 0);
    hid_t group = H5Gcreate2(file->id, path, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    if (group < 0)
        return fail_write(file, path);
    H5Gclose(group);
    return RT_OK;
}

/* H5Lexists wants every step of the path to exist, so the steps are tried one by one. */
bool rt_h5_exists(struct rt_h5 *file, const char *path)
{
    char step[256];
    size_t length = strlen(path);
    if (length >= sizeof step)
        return false;
    for (size_t i = 1; i <= length; i++)
        if (path[i] == '/' || path[i] == '\0') {
            memcpy(step, path, i);
            step[i] = '\0';
            if (H5Lexists(file->id, step, H5P_DEFAULT) <= 0 ||
                H5Oexists_by_name(file->id, step, H5P_DEFAULT) <= 0)
                return false;
        }
    return true;
}

struct visitor {
    struct rt_h5 *file;
    rt_h5_visit visit;
    void *context;
    int result;
};

static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
    struct visitor *visitor = data;
    (void)group, (void)info;
    visitor->result = visitor->visit(visitor->file, name, visitor->context);
    return visitor->result != 0;
}

static herr_t visit_attribute(hid_t object, const char *name, const H5A_info_t *info, void *data)
{
    struct visitor *visitor = data;
    (void)object, (void)info;
    visitor->result = visitor->visit(visitor->file, name, visitor->context);
    return visitor->result != 0;
}

int rt_h5_each_child(struct rt_h5 *file, const char *group, rt_h5_visit visit, void *context)
{
    struct visitor visitor = {file, visit, context, 0};
    if (H5Literate_by_name(file->id, group, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_link, &visitor,
                           H5P_DEFAULT) < 0)
        return fail_read(file, group);
    return visitor.result;
}

int rt_h5_each_attribute(struct rt_h5 *file, const char *object, rt_h5_visit visit, void *context)
{
    struct visitor visitor = {file, visit, context, 0};
    if (H5Aiterate_by_name(file->id, object, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_attribute, &visitor,
                           H5P_DEFAULT) < 0)
        return fail_read(file, object);
    return visitor.result;
}

/* The enum type of an array over 8 bits in memory and file alike; the caller closes it. */
static hid_t enum_type(const struct rt_h5_array *array)
{
    hid_t type = H5Tenum_create(H5T_STD_U8LE);
    for (size_t i = 0; i < array->name_count; i++) {
        uint8_t value = (uint8_t)i;
        H5Tenum_insert(type, array->names[i], &value);
    }
    return type;
}

/* 32-bit reals are weights of networks: compressed they would be a tenth smaller, and read 5 times slower. */
static hid_t creation_properties(enum rt_h5_type type, size_t count)
{
    hsize_t chunk = count < 1 ? 1 : count < CHUNK ? count : CHUNK;
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 1, &chunk);
    if (type != RT_H5_F32) {
        H5Pset_shuffle(creation);
        H5Pset_deflate(creation, DEFLATE_LEVEL);
    }
    H5Pset_fletcher32(creation);
    H5Pset_obj_track_times(creation, 0);
    return creation;
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
        status = fail_write(file, array->path);
    free(packed);
    return status;
}

/* A new array of that length; `missing` (NULL: none) is what reads where nothing is stored. */
static hid_t create_array(struct rt_h5 *file, const struct rt_h5_array *array, hid_t named, size_t count,
                          const void *missing)
{
    hsize_t extent = count, most = H5S_UNLIMITED;
    hid_t space = H5Screate_simple(1, &extent, &most), creation = creation_properties(array->type, count);
    if (missing != NULL)
        H5Pset_fill_value(creation, named >= 0 ? named : memory_type(array->type), missing);
    hid_t dataset = H5Dcreate2(file->id, array->path, named >= 0 ? named : file_type(array->type), space,
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
        status = fail_write(file, array->path);
    else
        status = write_values(file, array, dataset, named >= 0 ? named : memory_type(array->type), base,
                              stride, count);
    if (dataset >= 0 && H5Dclose(dataset) < 0 && status == RT_OK)
        status = fail_write(file, array->path);
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
    int status = dataset < 0 ? fail_write(file, array->path) : RT_OK;
    for (size_t c = 0; status == RT_OK && c < chunk_count; c++) {
        hsize_t offset = c * CHUNK;
        if (chunks[c].bytes != NULL &&
            H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, &offset, chunks[c].size, chunks[c].bytes) < 0)
            status = fail_write(file, array->path);
    }
    if (dataset >= 0 && H5Dclose(dataset) < 0 && status == RT_OK)
        status = fail_write(file, array->path);
    if (named >= 0)
        H5Tclose(named);
    return status == RT_OK ? describe_array(file, array) : status;
}

int rt_h5_write_columns(struct rt_h5 *file, const struct rt_h5_array *arrays, const size_t *offsets,
                        size_t column_count, const void *base, size_t stride, size_t count)
{
    struct rt_chunk_column *columns = rt_calloc(column_count, sizeof *columns);
    struct rt_chunk *chunks;
    size_t rows = count < 1 ? 1 : count < CHUNK ? count : CHUNK, chunk_count = (count + rows - 1) / rows;
    for (size_t k = 0; k < column_count; k++) {
        columns[k] = (struct rt_chunk_column){offsets[k], type_size(arrays[k].type), 0};
        missing_value(arrays[k].type, &columns[k].missing);
    }
    rt_chunks_make(base, stride, count, columns, column_count, rows, DEFLATE_LEVEL, &chunks);
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

/* Deflate compresses a thousandfold at most: an array cannot be longer than that times the file. */
static int check_extent(struct rt_h5 *file, const struct rt_h5_array *array, hid_t space, size_t *count)
{
    hsize_t extent = 0;
    if (H5Sget_simple_extent_ndims(space) != 1 || H5Sget_simple_extent_dims(space, &extent, NULL) != 1)
        return rt_fail(RT_EFORMAT, "%s: %s is not one-dimensional", file->path, array->path);
    if ((double)extent * (double)type_size(array->type) > 1100 * file->size + 65536)
        return rt_fail(RT_EFORMAT, "%s: %s claims %llu values, more than a file of %.0f bytes can hold",
                       file->path, array->path, (unsigned long long)extent, file->size);
    *count = (size_t)extent;
    return RT_OK;
}

static int open_array(struct rt_h5 *file, const struct rt_h5_array *array, hid_t *out, size_t *count)
{
    hid_t dataset = H5Dopen2(file->id, array->path, H5P_DEFAULT);
    if (dataset < 0) {
        int status = fail_read(file, array->path); /* while HDF5 knows why */
        return rt_h5_exists(file, array->path)
                   ? status
                   : rt_fail(RT_EFORMAT, "%s: has no %s, which its format requires", file->path, array->path);
    }
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    int status;
    if (type < 0 || space < 0)
        status = fail_read(file, array->path);
    else if (!class_matches(type, array))
        status =
            rt_fail(RT_EFORMAT, "%s: %s is of another type than its format says", file->path, array->path);
    else
        status = check_extent(file, array, space, count);
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    if (status == RT_OK)
        *out = dataset;
    else
        H5Dclose(dataset);
    return status;
}

int rt_h5_count(struct rt_h5 *file, const struct rt_h5_array *array, size_t *count)
{
    hid_t dataset;
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

int rt_h5_read(struct rt_h5 *file, const struct rt_h5_array *array, void *base, size_t stride, size_t count)
{
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
    hid_t type = stored >= 0 ? stored : memory_type(array->type);
    if (count > 0 && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, packed) < 0)
        status = fail_read(file, array->path);
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

static int set_attribute(struct rt_h5 *file, const char *object, const char *name, hid_t type,
                         const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute =
        H5Acreate_by_name(file->id, object, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int status = RT_OK;
    if (attribute < 0 || H5Awrite(attribute, type, value) < 0)
        status = fail_write(file, name);
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    return status;
}

/* Fixed-length: the bytes lie in the object header, under its checksum; variable-length text would not. */
int rt_h5_set_text(struct rt_h5 *file, const char *object, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(text) + 1);
    H5Tset_cset(type, H5T_CSET_UTF8);
    int status = set_attribute(file, object, name, type, text);
    H5Tclose(type);
    return status;
}

int rt_h5_set_integer(struct rt_h5 *file, const char *object, const char *name, int64_t value)
{
    return set_attribute(file, object, name, H5T_STD_I64LE, &value);
}

int rt_h5_set_real(struct rt_h5 *file, const char *object, const char *name, double value)
{
    return set_attribute(file, object, name, H5T_IEEE_F64LE, &value);
}

/* The object at `path`, which stays open: attributes are read one after the other, and a path takes HDF5
 * longer than an attribute. < 0: cannot be opened. */
static hid_t object_at(struct rt_h5 *file, const char *path)
{
    if (file->object_path != NULL && strcmp(file->object_path, path) == 0)
        return file->object;
    close_object(file);
    file->object = H5Oopen(file->id, path, H5P_DEFAULT);
    if (file->object >= 0)
        file->object_path = rt_strdup(path);
    return file->object;
}

bool rt_h5_has(struct rt_h5 *file, const char *object, const char *name)
{
    hid_t parent = object_at(file, object);
    return parent >= 0 && H5Aexists(parent, name) > 0;
}

static int open_attribute(struct rt_h5 *file, const char *object, const char *name, H5T_class_t class,
                          hid_t *out, hid_t *type_out)
{
    hid_t parent = object_at(file, object), attribute = parent < 0 ? -1 : H5Aopen(parent, name, H5P_DEFAULT);
    if (attribute < 0) {
        int status = fail_read(file, name); /* while HDF5 knows why */
        return rt_h5_has(file, object, name)
                   ? status
                   : rt_fail(RT_EFORMAT, "%s: %s has no attribute \"%s\", which its format requires",
                             file->path, object, name);
    }
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    bool right =
        type >= 0 && space >= 0 && H5Tget_class(type) == class && H5Sget_simple_extent_npoints(space) == 1;
    if (space >= 0)
        H5Sclose(space);
    if (!right) {
        if (type >= 0)
            H5Tclose(type);
        H5Aclose(attribute);
        return rt_fail(RT_EFORMAT, "%s: attribute \"%s\" of %s is of another type than its format says",
                       file->path, name, object);
    }
    *out = attribute;
    *type_out = type;
    return RT_OK;
}

int rt_h5_get_text(struct rt_h5 *file, const char *object, const char *name, char **text)
{
    hid_t attribute = -1, type = -1;
    int status = open_attribute(file, object, name, H5T_STRING, &attribute, &type);
    if (status != RT_OK)
        return status;
    size_t size = H5Tget_size(type);
    char *buffer = NULL;
    if (H5Tis_variable_str(type) > 0 || size > (1 << 20)) {
        status = rt_fail(RT_EFORMAT, "%s: attribute \"%s\" of %s is not a fixed-length text", file->path,
                         name, object);
    } else {
        buffer = rt_calloc(size + 1, 1);
        if (H5Aread(attribute, type, buffer) < 0)
            status = fail_read(file, name);
    }
    H5Tclose(type);
    H5Aclose(attribute);
    if (status == RT_OK)
        *text = buffer;
    else
        free(buffer);
    return status;
}

int rt_h5_get_name(struct rt_h5 *file, const char *object, const char *name, int (*find)(const char *),
                   int *value)
{
    char *text;
    int status = rt_h5_get_text(file, object, name, &text);
    if (status != RT_OK)
        return status;
    int found = find(text);
    if (found >= 0)
        *value = found;
    else
        status =
            rt_fail(RT_EVERSION,
                    "%s: %s needs the %s \"%.60s\", which this build does not have; use a newer rooftile",
                    file->path, object, name, text);
    free(text);
    return status;
}

static int get_number(struct rt_h5 *file, const char *object, const char *name, H5T_class_t class,
                      hid_t memory, void *value)
{
    hid_t attribute = -1, type = -1;
    int status = open_attribute(file, object, name, class, &attribute, &type);
    if (status != RT_OK)
        return status;
    if (H5Aread(attribute, memory, value) < 0)
        status = fail_read(file, name);
    H5Tclose(type);
    H5Aclose(attribute);
    return status;
}

int rt_h5_get_integer(struct rt_h5 *file, const char *object, const char *name, int64_t *value)
{
    return get_number(file, object, name, H5T_INTEGER, H5T_NATIVE_INT64, value);
}

int rt_h5_get_real(struct rt_h5 *file, const char *object, const char *name, double *value)
{
    return get_number(file, object, name, H5T_FLOAT, H5T_NATIVE_DOUBLE, value);
}

const char *rt_h5_library(void)
{
    static char text[32];
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    snprintf(text, sizeof text, "%u.%u.%u", major, minor, release);
    return text;
}
