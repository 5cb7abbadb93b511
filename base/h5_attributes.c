/* Attributes of HDF5 objects. See h5.h. */
#include "base/h5.h"
#include "base/h5_file.h"
#include "base/printable.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* H5Lexists wants every step of the path to exist, so the steps are tried one by one. What lies in
 * another file is there, so that reading it is refused. */
bool rt_h5_exists(struct rt_h5 *file, const char *path)
{
    char step[256];
    size_t length = strlen(path);
    if (length >= sizeof step)
        return false;
    if (file->tree != NULL)
        return rt_h5_tree_at(file->tree, path) != NULL;
    for (size_t i = 1; i <= length; i++)
        if (path[i] == '/' || path[i] == '\0') {
            memcpy(step, path, i);
            step[i] = '\0';
            if (H5Lexists(file->id, step, file->links) <= 0)
                return file->outside[0] != '\0';
        }
    return true;
}

static int set_attribute(struct rt_h5 *file, const char *object, const char *name, hid_t type,
                         const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute =
        H5Acreate_by_name(file->id, object, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int status = RT_OK;
    if (attribute < 0 || H5Awrite(attribute, type, value) < 0)
        status = rt_h5_fail_write(file, name);
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    return status;
}

/* Fixed-length: the bytes lie in the object header, under its checksum; variable-length text would not. */
int rt_h5_set_text(struct rt_h5 *file, const char *object, const char *name, const char *text)
{
    if (!rt_is_utf8(text) || !rt_is_utf8(name))
        return rt_fail(RT_EFORMAT,
                       "%s: attribute \"%s\" of %s would be \"%.200s\", which is not UTF-8; correct it",
                       file->path, name, object, text);
    hid_t type = H5Tcopy(H5T_C_S1);
    bool set = H5Tset_size(type, strlen(text) + 1) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0;
    int status = set ? set_attribute(file, object, name, type, text) : rt_h5_fail_write(file, name);
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
    rt_h5_close_object(file);
    hid_t id = rt_h5_library_id(file);
    file->object = H5Oopen(id, path, file->links);
    if (file->object >= 0)
        file->object_path = rt_strdup(path);
    return file->object;
}

bool rt_h5_has(struct rt_h5 *file, const char *object, const char *name)
{
    if (file->tree != NULL) {
        const struct rt_h5_object *known = rt_h5_tree_at(file->tree, object);
        return known != NULL && rt_h5_object_has(known, name);
    }
    hid_t parent = object_at(file, object);
    return parent >= 0 && H5Aexists(parent, name) > 0;
}

static int open_attribute(struct rt_h5 *file, const char *object, const char *name, H5T_class_t class,
                          hid_t *out, hid_t *type_out)
{
    hid_t parent = object_at(file, object), attribute = parent < 0 ? -1 : H5Aopen(parent, name, H5P_DEFAULT);
    if (attribute < 0) {
        int status = rt_h5_fail_read(file, name); /* while HDF5 knows why */
        return file->outside[0] != '\0' || rt_h5_has(file, object, name)
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
    const struct rt_h5_object *known = rt_h5_object_of(file, object);
    if (known != NULL && rt_h5_object_text(known, name, text))
        return RT_OK;
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
            status = rt_h5_fail_read(file, name);
        else if (!rt_is_utf8(buffer) || !rt_is_utf8(name))
            status = rt_fail(RT_EFORMAT, "%s: attribute \"%s\" of %s is not UTF-8: the file is damaged",
                             file->path, name, object);
    }
    H5Tclose(type);
    H5Aclose(attribute);
    if (status == RT_OK)
        *text = buffer;
    else
        free(buffer);
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
        status = rt_h5_fail_read(file, name);
    H5Tclose(type);
    H5Aclose(attribute);
    return status;
}

int rt_h5_get_integer(struct rt_h5 *file, const char *object, const char *name, int64_t *value)
{
    const struct rt_h5_object *known = rt_h5_object_of(file, object);
    if (known != NULL && rt_h5_object_integer(known, name, value))
        return RT_OK;
    return get_number(file, object, name, H5T_INTEGER, H5T_NATIVE_INT64, value);
}

int rt_h5_get_real(struct rt_h5 *file, const char *object, const char *name, double *value)
{
    const struct rt_h5_object *known = rt_h5_object_of(file, object);
    if (known != NULL && rt_h5_object_real(known, name, value))
        return RT_OK;
    return get_number(file, object, name, H5T_FLOAT, H5T_NATIVE_DOUBLE, value);
}
