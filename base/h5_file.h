/* An open HDF5 file, for the files that h5.h is made of: h5_attributes.c, h5_arrays.c, h5.c. */
#pragma once

#include "base/h5_tree.h"
#include "base/temporary.h"

#include <hdf5.h>

struct rt_h5 {
    struct rt_h5_tree *tree; /* what reads are answered from, NULL: by the library alone */
    hid_t id;                /* of the library; < 0 where it was not asked yet: rt_h5_library_id */
    char *path;
    struct rt_temporary temporary; /* empty where the file is open for reading */
    int version;
    double size;       /* bytes on disk, for reading */
    hid_t links;       /* dataset access (a kind of link access): links into other files are not followed */
    char outside[256]; /* the other file that a link named, "" none */
    char *object_path; /* of the object whose attributes were read last, NULL none */
    hid_t object;      /* open where there is a path */
};

/* Before any other call of the library: HDF5 1.10 repeats a failed write at exit and crashes. */
void rt_h5_quiet_library(void);
hid_t rt_h5_access_properties(void);
/* The properties where all of them were set; else closes them and is negative, so that what is made with them
 * fails. */
hid_t rt_h5_properties(hid_t properties, bool set);
/* Programs that a child runs get no descriptor of the file, which HDF5 opened. */
void rt_h5_close_on_exec(hid_t file);

/* Opens a file for reading; RT_EFORMAT. */
int rt_h5_open_by_library(struct rt_h5 *file);
/* The file as the library has it, opened when first asked for; < 0: it refuses the file. */
hid_t rt_h5_library_id(struct rt_h5 *file);

/* The object at a path where the tree answers, else NULL. */
static inline const struct rt_h5_object *rt_h5_object_of(const struct rt_h5 *file, const char *path)
{
    return file->tree != NULL ? rt_h5_tree_at(file->tree, path) : NULL;
}

/* The innermost description of HDF5's last failure. */
const char *rt_h5_reason(void);

/* RT_EIO and RT_EFORMAT with the reason: `what`, an array or attribute, cannot be written or read. */
int rt_h5_fail_write(const struct rt_h5 *file, const char *what);
int rt_h5_fail_read(const struct rt_h5 *file, const char *what);

/* Closes the object whose attributes were read last. */
void rt_h5_close_object(struct rt_h5 *file);
