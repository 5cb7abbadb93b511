/* Files as the HDF5 library has them, and what it says of failures. See h5_file.h. */
#include "base/h5_file.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rt_h5_quiet_library(void)
{
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

hid_t rt_h5_access_properties(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    return rt_h5_properties(access, H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110) >= 0 &&
                                        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0);
}

hid_t rt_h5_properties(hid_t properties, bool set)
{
    if (set)
        return properties;
    H5Pclose(properties);
    return H5I_INVALID_HID;
}

void rt_h5_close_on_exec(hid_t file)
{
    int *descriptor = NULL;
    if (file >= 0 && H5Fget_vfd_handle(file, H5P_DEFAULT, (void **)&descriptor) >= 0)
        fcntl(*descriptor, F_SETFD, FD_CLOEXEC);
}

/* ---- failures ---- */

static herr_t lacks_memory(unsigned depth, const H5E_error2_t *error, void *found)
{
    (void)depth;
    *(bool *)found |= error->maj_num == H5E_RESOURCE || error->min_num == H5E_NOSPACE;
    return 0;
}

static herr_t deepest(unsigned depth, const H5E_error2_t *error, void *text)
{
    if (depth == 0 && error->desc != NULL)
        snprintf(text, 160, "%s", error->desc);
    return 0;
}

const char *rt_h5_reason(void)
{
    static _Thread_local char text[160];
    strcpy(text, "no reason given");
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, deepest, text);
    return text;
}

/* HDF5 reports a full disk as one line of details; errno still has the system's reason. */
int rt_h5_fail_write(const struct rt_h5 *file, const char *what)
{
    int code = errno;
    bool disk = code == ENOSPC || code == EFBIG || code == EDQUOT || code == EIO;
    return rt_fail(RT_EIO, "%s: %s cannot be written: %s; what was there is unchanged", file->path, what,
                   disk ? strerror(code) : rt_h5_reason());
}

int rt_h5_fail_read(const struct rt_h5 *file, const char *what)
{
    if (file->outside[0] != '\0')
        return rt_fail(RT_EFORMAT,
                       "%s: %s leads to another file, %s, which is not followed; copy the data into one file "
                       "(h5copy)",
                       file->path, what, file->outside);
    bool memory = false; /* that is lacking, or that a damaged length asks for */
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, lacks_memory, &memory);
    return rt_fail(RT_EFORMAT, "%s: %s cannot be read (%s): %sthe file is damaged, restore it from a copy",
                   file->path, what, rt_h5_reason(), memory ? "there is too little memory, or " : "");
}

void rt_h5_close_object(struct rt_h5 *file)
{
    if (file->object_path != NULL)
        H5Oclose(file->object);
    free(file->object_path);
    file->object_path = NULL;
}

/* ---- opening ---- */

/* HDF5 asks this before it follows a link into another file: what stands there is no part of this one. */
static herr_t refuse_outside(const char *from, const char *group, const char *file_name, const char *object,
                             unsigned *flags, hid_t access, void *data)
{
    struct rt_h5 *file = data;
    (void)from, (void)group, (void)object, (void)flags, (void)access;
    snprintf(file->outside, sizeof file->outside, "%s", file_name);
    return -1;
}

int rt_h5_open_by_library(struct rt_h5 *file)
{
    rt_h5_quiet_library();
    if (H5Fis_hdf5(file->path) <= 0)
        return rt_fail(RT_EFORMAT, "%s: is not an HDF5 file (or its first bytes are damaged)", file->path);
    hid_t access = rt_h5_access_properties();
    file->id = H5Fopen(file->path, H5F_ACC_RDONLY, access);
    rt_h5_close_on_exec(file->id);
    H5Pclose(access);
    if (file->id < 0)
        return rt_fail(RT_EFORMAT, "%s: cannot be opened (%s): truncated or damaged, restore it from a copy",
                       file->path, rt_h5_reason());
    file->links = H5Pcreate(H5P_DATASET_ACCESS);
    if (H5Pset_elink_cb(file->links, refuse_outside, file) < 0)
        return rt_h5_fail_read(file, "links");
    return RT_OK;
}

hid_t rt_h5_library_id(struct rt_h5 *file)
{
    if (file->id < 0)
        (void)rt_h5_open_by_library(file);
    return file->id;
}
