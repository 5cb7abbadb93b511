/* HDF5 files: created under another name, opened by format and version. See h5.h. */
#include "base/h5.h"
#include "base/h5_file.h"
#include "base/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The temporary is locked by this process, so HDF5 need not lock it. */
static hid_t create_file(const char *name)
{
    hid_t access = rt_h5_access_properties(), creation = H5Pcreate(H5P_FILE_CREATE);
#if H5_VERSION_GE(1, 10, 7)
    access = rt_h5_properties(access, H5Pset_file_locking(access, false, true) >= 0);
#endif
    creation = rt_h5_properties(creation, H5Pset_obj_track_times(creation, 0) >= 0);
    hid_t id = H5Fcreate(name, H5F_ACC_TRUNC, creation, access);
    rt_h5_close_on_exec(id);
    H5Pclose(access);
    H5Pclose(creation);
    return id;
}

int rt_h5_create(const char *path, struct rt_h5 **out)
{
    struct rt_temporary temporary;
    rt_h5_quiet_library();
    int status = rt_temporary_make(path, &temporary);
    if (status != RT_OK)
        return status;
    hid_t id = create_file(temporary.name);
    if (id < 0) {
        status = rt_fail(RT_EIO, "%s: cannot be written: %s", path, rt_h5_reason());
        rt_temporary_discard(&temporary);
        return status;
    }
    struct rt_h5 *file = rt_calloc(1, sizeof *file);
    *file = (struct rt_h5){.id = id, .path = rt_strdup(path), .temporary = temporary};
    *out = file;
    return RT_OK;
}

void rt_h5_close(struct rt_h5 *file)
{
    if (file == NULL)
        return;
    rt_h5_close_object(file);
    if (file->id >= 0)
        H5Fclose(file->id);
    if (file->links > 0)
        H5Pclose(file->links);
    rt_h5_tree_free(file->tree);
    rt_temporary_discard(&file->temporary);
    free(file->path);
    free(file);
}

int rt_h5_commit(struct rt_h5 *file)
{
    int status = RT_OK;
    rt_h5_close_object(file);
    bool failed = H5Fflush(file->id, H5F_SCOPE_GLOBAL) < 0;
    if (failed)
        status = rt_h5_fail_write(file, "the file");
    if (H5Fclose(file->id) < 0 && !failed)
        status = rt_h5_fail_write(file, "the file");
    file->id = -1;
    if (status == RT_OK)
        status = rt_temporary_keep(&file->temporary);
    rt_h5_close(file);
    return status;
}

/* Opening a FIFO would wait for a writer, and HDF5 reads here and there in a file. */
static int check_readable(const char *path, double *size)
{
    struct stat status;
    if (stat(path, &status) != 0 || access(path, R_OK) != 0)
        return rt_fail(RT_EIO, "%s: cannot be read: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return rt_fail(RT_EIO, "%s: is a folder, not a file", path);
    if (!S_ISREG(status.st_mode))
        return rt_fail(RT_EIO, "%s: is a pipe or a device, which HDF5 cannot read; copy it to a file first",
                       path);
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

/* An HDF5 file whose format is not known yet. */
static int open_any(const char *path, struct rt_h5 **out)
{
    double size = 0;
    int status = check_readable(path, &size);
    if (status != RT_OK)
        return status;
    struct rt_h5 *file = rt_calloc(1, sizeof *file);
    *file = (struct rt_h5){.id = -1, .path = rt_strdup(path), .size = size};
    file->tree = rt_h5_tree_open(path, size);
    if (file->tree == NULL)
        status = rt_h5_open_by_library(file);
    if (status == RT_OK)
        *out = file;
    else
        rt_h5_close(file);
    return status;
}

int rt_h5_open(const char *path, const char *format, int newest, struct rt_h5 **out)
{
    struct rt_h5 *file;
    int status = open_any(path, &file);
    if (status != RT_OK)
        return status;
    status = check_format(file, format, newest);
    if (status == RT_OK)
        *out = file;
    else
        rt_h5_close(file);
    return status;
}

char *rt_h5_format(const char *path)
{
    struct rt_h5 *file;
    char *format = NULL;
    if (open_any(path, &file) != RT_OK)
        return NULL;
    if (!rt_h5_has(file, "/", "format") || rt_h5_get_text(file, "/", "format", &format) != RT_OK)
        format = NULL;
    rt_h5_close(file);
    return format;
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
    creation = rt_h5_properties(creation, H5Pset_obj_track_times(creation, 0) >= 0);
    hid_t group = H5Gcreate2(file->id, path, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    if (group < 0)
        return rt_h5_fail_write(file, path);
    H5Gclose(group);
    return RT_OK;
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
    const struct rt_h5_object *object = rt_h5_object_of(file, group);
    const char *name;
    int result = 0;
    if (object != NULL) {
        for (size_t i = 0; result == 0 && (name = rt_h5_object_child(object, i)) != NULL; i++)
            result = visit(file, name, context);
        return result;
    }
    hid_t id = rt_h5_library_id(file);
    struct visitor visitor = {file, visit, context, 0};
    if (H5Literate_by_name(id, group, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_link, &visitor, file->links) <
        0)
        return rt_h5_fail_read(file, group);
    return visitor.result;
}

int rt_h5_each_attribute(struct rt_h5 *file, const char *object, rt_h5_visit visit, void *context)
{
    const struct rt_h5_object *known = rt_h5_object_of(file, object);
    const char *name;
    int result = 0;
    if (known != NULL) {
        for (size_t i = 0; result == 0 && (name = rt_h5_object_attribute(known, i)) != NULL; i++)
            result = visit(file, name, context);
        return result;
    }
    hid_t id = rt_h5_library_id(file);
    struct visitor visitor = {file, visit, context, 0};
    if (H5Aiterate_by_name(id, object, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_attribute, &visitor,
                           file->links) < 0)
        return rt_h5_fail_read(file, object);
    return visitor.result;
}

const char *rt_h5_library(void)
{
    static char text[32];
    unsigned major = 0, minor = 0, release = 0;
    if (H5get_libversion(&major, &minor, &release) < 0)
        return "does not start";
    snprintf(text, sizeof text, "%u.%u.%u", major, minor, release);
    return text;
}
