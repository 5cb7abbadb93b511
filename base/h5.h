/*
 * The only user of HDF5: one-dimensional arrays, attributes, groups, atomic writing, versions.
 *
 * Arrays are chunked and extendible, shuffled, deflated (weights, RT_H5_F32, are neither) and checksummed
 * (fletcher32); object headers are of the newest layout, whose metadata carries checksums too. So reading
 * notices a flipped byte. No object stores a time: the same content gives the same bytes.
 */
#pragma once

#include "base/hdf5_array.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_h5;

/* A new file. It appears at `path` with rt_h5_commit; rt_h5_close without it removes it. */
int rt_h5_create(const char *path, struct rt_h5 **out);
int rt_h5_commit(struct rt_h5 *file); /* closes, syncs, renames; frees `file` whatever it returns */

/* Opens for reading. Nothing outside the file is followed: external links, external storage and virtual
 * datasets are refused with their place. `format` is what the root attribute "format" must say; the root
 * attribute "version" must lie in 1..newest. RT_EIO (no regular file), RT_EFORMAT (not HDF5, other format),
 * RT_EVERSION (names both versions). */
int rt_h5_open(const char *path, const char *format, int newest, struct rt_h5 **out);
void rt_h5_close(struct rt_h5 *file); /* accepts NULL */

/* What the root attribute "format" of the file says, to be freed; NULL where it is no HDF5 file or has none.
 */
char *rt_h5_format(const char *path);

const char *rt_h5_path(const struct rt_h5 *file);
int rt_h5_version(const struct rt_h5 *file); /* what the root attribute "version" said on opening */

int rt_h5_make_group(struct rt_h5 *file, const char *path);
bool rt_h5_exists(struct rt_h5 *file, const char *path);

/* Names of the objects in a group or of the attributes of an object, sorted; calls `visit` for each until
 * it returns non-zero, and returns that. */
typedef int (*rt_h5_visit)(struct rt_h5 *file, const char *name, void *context);
int rt_h5_each_child(struct rt_h5 *file, const char *group, rt_h5_visit visit, void *context);
int rt_h5_each_attribute(struct rt_h5 *file, const char *object, rt_h5_visit visit, void *context);

/* `count` values, `stride` bytes apart from `base`: a column of an array of structs, or a plain array. */
int rt_h5_write(struct rt_h5 *file, const struct rt_h5_array *array, const void *base, size_t stride,
                size_t count);

/* Columns of `count` values at once, compressed on all processors: `copy` gives some values of one of them,
 * in any thread. A chunk in which every value is missing (NaN, -1, 0 of unsigned and enums) is not stored: it
 * reads as the array's fill value. */
int rt_h5_write_columns(struct rt_h5 *file, const struct rt_h5_array *arrays, size_t column_count,
                        rt_h5_copy *copy, const void *table, size_t count);

/* Number of values of an array; RT_EFORMAT where it is missing, not one-dimensional, of another class
 * than `array->type`, or larger than the file could hold. */
int rt_h5_count(struct rt_h5 *file, const struct rt_h5_array *array, size_t *count);
/* Could the file hold `count` values, or rows of a table, of `size` bytes in memory each? Asked before they
 * are allocated: a column of single bytes may claim more rows than memory holds. RT_EFORMAT names `what`. */
int rt_h5_check_count(const struct rt_h5 *file, const char *what, uint64_t count, size_t size);
/* Reads exactly `count` values. Enums are matched by name, so a file whose enum is numbered otherwise
 * reads right; a name this build does not know is refused. */
int rt_h5_read(struct rt_h5 *file, const struct rt_h5_array *array, void *base, size_t stride, size_t count);

/* Attributes of the object at `object` ("/" is the file). Texts are UTF-8; *text is freed by the caller. */
int rt_h5_set_text(struct rt_h5 *file, const char *object, const char *name, const char *text);
int rt_h5_set_integer(struct rt_h5 *file, const char *object, const char *name, int64_t value);
int rt_h5_set_real(struct rt_h5 *file, const char *object, const char *name, double value);
bool rt_h5_has(struct rt_h5 *file, const char *object, const char *name);
int rt_h5_get_text(struct rt_h5 *file, const char *object, const char *name, char **text);
int rt_h5_get_integer(struct rt_h5 *file, const char *object, const char *name, int64_t *value);
int rt_h5_get_real(struct rt_h5 *file, const char *object, const char *name, double *value);

/* The HDF5 library's version, "1.10.8". */
const char *rt_h5_library(void);
