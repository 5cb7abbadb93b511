/*
 * HDF5 files for the readers: bytes as they are, or a sound file that is changed by HDF5 itself. Changed
 * bytes alone do not get far, for headers and chunks carry checksums; a forged file has right ones.
 *
 * An input that is no HDF5 file is a script: a byte that picks the sound file, then edits of 12 bytes: kind,
 * object (2), which, value (8).
 */
#include "targets.h"
#include "base/file.h"
#include "base/status.h"

#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EDIT = 12, MOST_OBJECTS = 256, MOST_EDITS = 16, MOST_BYTES = 1 << 18 };

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size || close(file) != 0)
        abort();
}

struct objects {
    char *name[MOST_OBJECTS];
    size_t count;
};

static herr_t note(hid_t file, const char *name, const H5L_info_t *info, void *data)
{
    struct objects *objects = data;
    (void)file, (void)info;
    if (objects->count < MOST_OBJECTS)
        objects->name[objects->count++] = rt_strdup(name);
    return 0;
}

/* A value of the type: the edges of what numbers can be for small first bytes, the bytes themselves
 * otherwise. */
static void make_value(hid_t type, const uint8_t *bytes, void *out, size_t size)
{
    static const double edges[] = {NAN, INFINITY, -INFINITY, 1e308, 1e-300, -1, 0, 1e9, 0x1p62, 1, 1000.5};
    memset(out, 0, size);
    memcpy(out, bytes + 1, size < 7 ? size : 7);
    if (bytes[0] >= 2 * RT_COUNT(edges))
        return;
    double real = edges[bytes[0] % RT_COUNT(edges)];
    int64_t whole = fabs(real) < 0x1p63 ? (int64_t)real : INT64_MAX;
    float narrow = (float)real;
    if (H5Tget_class(type) == H5T_FLOAT)
        memcpy(out, size == 4 ? (const void *)&narrow : &real, size < 8 ? size : 8);
    else if (H5Tget_class(type) == H5T_INTEGER)
        memcpy(out, &whole, size < 8 ? size : 8);
}

static void edit_attribute(hid_t object, unsigned which, const uint8_t *value)
{
    hid_t attribute =
        H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, which, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0)
        return;
    hid_t type = H5Aget_type(attribute);
    size_t size = H5Tget_size(type);
    void *buffer = rt_calloc(1, size + 8);
    make_value(type, value, buffer, size);
    H5Awrite(attribute, type, buffer);
    free(buffer);
    H5Tclose(type);
    H5Aclose(attribute);
}

static void edit_element(hid_t set, unsigned which, const uint8_t *value)
{
    hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    size_t size = H5Tget_size(type);
    if (count > 0 && (size_t)count * size <= MOST_BYTES && size <= 8) {
        char *values = rt_calloc((size_t)count + 1, size);
        if (H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0) {
            make_value(type, value, values + which * 7 % (size_t)count * size, size);
            H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        }
        free(values);
    }
    H5Tclose(type);
    H5Sclose(space);
}

/* Another length, and one value everywhere. */
static void replace(hid_t file, const char *name, hid_t set, unsigned count, const uint8_t *value)
{
    char fill[8];
    hsize_t extent = count;
    hid_t type = H5Dget_type(set), space = H5Screate_simple(1, &extent, NULL);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (H5Tget_size(type) <= sizeof fill) {
        make_value(type, value, fill, H5Tget_size(type));
        H5Pset_fill_value(creation, type, fill);
    }
    H5Ldelete(file, name, H5P_DEFAULT);
    hid_t made = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    if (made >= 0)
        H5Dclose(made);
    H5Pclose(creation);
    H5Sclose(space);
    H5Tclose(type);
}

static void edit(hid_t file, const struct objects *objects, const uint8_t *at)
{
    const char *name = objects->name[(at[1] << 8 | at[2]) % objects->count];
    const char *other = objects->name[at[3] % objects->count];
    hid_t object = H5Oopen(file, at[0] % 8 == 0 ? "/" : name, H5P_DEFAULT);
    bool is_set = object >= 0 && H5Iget_type(object) == H5I_DATASET;
    if (object < 0)
        return;
    if (at[0] % 8 < 3)
        edit_attribute(object, at[3], at + 4);
    else if (at[0] % 8 < 5 && is_set)
        edit_element(object, at[3], at + 4);
    else if (at[0] % 8 == 5 && is_set)
        replace(file, name, object, at[3], at + 4);
    else if (at[0] % 8 == 6)
        H5Ldelete(file, name, H5P_DEFAULT);
    else if (at[0] % 8 == 7) {
        H5Ldelete(file, other, H5P_DEFAULT);
        H5Lmove(file, name, file, other, H5P_DEFAULT, H5P_DEFAULT);
    }
    H5Oclose(object);
}

static void run_script(const char *path, const uint8_t *edits, size_t count)
{
    struct objects objects = {0};
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, access);
    H5Pclose(access);
    if (file < 0)
        abort();
    H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, note, &objects);
    for (size_t i = 0; i < count && i < MOST_EDITS && objects.count > 0; i++)
        edit(file, &objects, edits + i * EDIT);
    H5Fclose(file);
    for (size_t i = 0; i < objects.count; i++)
        free(objects.name[i]);
}

void fuzz_h5_file(const uint8_t *data, size_t size, const char *const *sound, size_t sound_count,
                  const char *path)
{
    static char *text[8];
    static size_t length[8];
    static const char *from[8];
    if (size == 0 || data[0] == 0x89) {
        write_bytes(path, data, size);
        return;
    }
    size_t pick = data[0] % sound_count;
    if (from[pick] != sound[pick]) {
        char *whole = rt_format("%s/%s", RT_SOURCE_DIR, sound[pick]);
        if (rt_file_read(whole, 1 << 20, &text[pick], &length[pick]) != RT_OK)
            abort();
        from[pick] = sound[pick];
        free(whole);
    }
    write_bytes(path, text[pick], length[pick]);
    run_script(path, data + 1, (size - 1) / EDIT);
}
