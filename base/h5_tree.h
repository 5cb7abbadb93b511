/*
 * HDF5 files of the layout that this program writes, read whole and without the HDF5 library: opening the
 * predictor that comes along takes the library 10 ms, ten times as long as the forecast after it, and this
 * 0.5 ms.
 *
 * A tree answers or it does not. Whatever it does not know (another layout, filter, type or number of bits, a
 * link into another file), and whatever is damaged (every checksum is verified), h5.c asks the library, which
 * reads it or says what is wrong. So there are no errors here.
 *
 * Layouts by HDF5's file format specification, version 3: superblock 3, object headers 2, links and
 * attributes in headers or in fractal heaps, chunks in extensible arrays.
 */
#pragma once

#include "base/hdf5_array.h"

#include <stdbool.h>
#include <stdint.h>

struct rt_h5_tree;
struct rt_h5_object;

/* The tree of a file of `size` bytes; NULL where it is large or anything in it is not as said above. */
struct rt_h5_tree *rt_h5_tree_open(const char *path, double size);
void rt_h5_tree_free(struct rt_h5_tree *tree); /* accepts NULL */

/* The object at a path ("/" is the root), NULL: there is none. */
const struct rt_h5_object *rt_h5_tree_at(const struct rt_h5_tree *tree, const char *path);

/* Names of the children of a group, of the attributes of an object: sorted, NULL behind the last. */
const char *rt_h5_object_child(const struct rt_h5_object *object, size_t index);
const char *rt_h5_object_attribute(const struct rt_h5_object *object, size_t index);
bool rt_h5_object_has(const struct rt_h5_object *object, const char *name);

/* The rest answers: false where the library must. */
bool rt_h5_object_text(const struct rt_h5_object *object, const char *name, char **text);
bool rt_h5_object_integer(const struct rt_h5_object *object, const char *name, int64_t *value);
bool rt_h5_object_real(const struct rt_h5_object *object, const char *name, double *value);
bool rt_h5_object_count(const struct rt_h5_object *object, const struct rt_h5_array *array, size_t *count);
/* Exactly `count` values, next to each other; enums as the file numbers them. */
bool rt_h5_object_values(struct rt_h5_tree *tree, const struct rt_h5_object *object,
                         const struct rt_h5_array *array, void *values, size_t count);
/* Values of an enum from the file's numbers to this build's; false where a name is unknown. */
bool rt_h5_object_rename(const struct rt_h5_object *object, const struct rt_h5_array *array, uint8_t *values,
                         size_t count);
