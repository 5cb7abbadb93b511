/* Outputs beside inputs, and what is there already. See outputs.h. */
#include "base/outputs.h"
#include "base/file.h"
#include "base/h5.h"
#include "base/status.h"
#include "base/target.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct rt_output_kind rt_output_text = {"a report", NULL, NULL};

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* ---- inputs ---- */

/* Is the file `there` below the folder? */
static bool folder_holds(const char *folder, const struct stat *there)
{
    struct rt_paths paths;
    struct stat status;
    bool found = false;
    if (rt_file_walk(folder, &paths) != RT_OK)
        return false;
    for (size_t i = 0; !found && i < paths.count; i++)
        found = stat(paths.path[i], &status) == 0 && is_same(&status, there);
    rt_paths_release(&paths);
    return found;
}

/* Folders are read for their texts: an HDF5 file that lies in one is no input. */
static int check_inputs(const char *option, const char *path, const struct stat *there,
                        const struct rt_output_kind *kind, const struct rt_names *inputs)
{
    for (size_t i = 0; inputs != NULL && i < inputs->count; i++) {
        struct stat status;
        const char *input = inputs->name[i];
        if (stat(input, &status) != 0)
            continue;
        bool same = S_ISDIR(status.st_mode) ? kind->format == NULL && folder_holds(input, there)
                                            : is_same(&status, there);
        if (same)
            return rt_fail(RT_EUSAGE,
                           "%s: is what this command reads (%s), and would be lost; choose another %s", path,
                           input, option);
    }
    return RT_OK;
}

/* ---- what is there ---- */

static int check_streams(const char *option, const char *path, const struct stat *there)
{
    struct stat status;
    for (int stream = STDOUT_FILENO; stream <= STDERR_FILENO; stream++)
        if (fstat(stream, &status) == 0 && is_same(&status, there))
            return rt_fail(RT_EUSAGE, "%s: is where standard %s goes; choose another %s", path,
                           stream == STDOUT_FILENO ? "output" : "error", option);
    return RT_OK;
}

static bool is_format(const char *path, const char *format)
{
    char *found = rt_h5_format(path);
    bool same = found != NULL && strcmp(found, format) == 0;
    free(found);
    return same;
}

/* A text without NUL bytes at its start that begins as such texts do; an empty one is any. */
static bool is_text(const char *path, const char *begins)
{
    char start[4096];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, start, sizeof start) : -1;
    if (file >= 0)
        close(file);
    if (length < 0 || memchr(start, '\0', (size_t)length) != NULL)
        return false;
    size_t needed = begins != NULL ? strlen(begins) : 0;
    return length == 0 ||
           ((size_t)length >= needed && memcmp(start, begins != NULL ? begins : "", needed) == 0);
}

static int check_kind(const char *option, const char *path, const struct stat *there,
                      const struct rt_output_kind *kind)
{
    bool same = kind->format == NULL  ? is_text(path, kind->begins)
                : there->st_size == 0 ? true
                                      : is_format(path, kind->format);
    if (same)
        return RT_OK;
    char *found = rt_h5_format(path);
    int status =
        found != NULL
            ? rt_fail(RT_EUSAGE,
                      "%s: is a %.64s file, and %s may only replace its own kind; choose another %s", path,
                      found, kind->name, option)
            : rt_fail(RT_EUSAGE, "%s: is there already and is not %s; choose another %s, or remove it", path,
                      kind->name, option);
    free(found);
    return status;
}

int rt_output_check(const char *option, const char *path, const struct rt_output_kind *kind, bool replace,
                    const struct rt_names *inputs)
{
    struct stat there;
    if (kind->format == NULL && rt_target_is_special(path))
        return RT_OK;
    int status = rt_target_check(path);
    if (status != RT_OK || stat(path, &there) != 0)
        return status;
    status = check_inputs(option, path, &there, kind, inputs);
    if (status == RT_OK)
        status = check_streams(option, path, &there);
    if (status == RT_OK)
        status = check_kind(option, path, &there, kind);
    if (status == RT_OK && !replace)
        status = rt_fail(RT_EUSAGE, "%s: is there already; choose another %s, or replace it with {overwrite}",
                         path, option);
    return status;
}

int rt_output_check_csv(const char *option, const char *path)
{
    if (rt_file_ends_in(path, ".csv") || rt_target_is_special(path))
        return RT_OK;
    return rt_fail(RT_EUSAGE, "%s %s: name a file that ends in .csv", option, path);
}

/* ---- a command line ---- */

void rt_reads_path(const char *text, struct rt_names *paths)
{
    rt_names_add(paths, rt_strdup(text));
}

/* The texts of a field that holds some: one, a list, or none. */
static struct rt_names texts_of(const struct rt_command_line *line, const struct rt_option_value *field,
                                const char **one)
{
    void *value = (char *)line->options + field->offset;
    if (field->read == rt_read_list || field->read == rt_read_items)
        return *(struct rt_names *)value;
    *one = field->read == rt_read_text ? *(const char **)value : NULL;
    return (struct rt_names){one, *one != NULL};
}

static void add_inputs(const struct rt_command_line *line, const struct rt_option_value *field,
                       struct rt_names *inputs)
{
    const char *one;
    if (field->reads == NULL)
        return;
    struct rt_names texts = texts_of(line, field, &one);
    for (size_t i = 0; i < texts.count; i++)
        field->reads(texts.name[i], inputs);
}

/* Is anything there that this command would write? Where nothing is, no input can be lost: then models are
 * not read for the files beside them. */
static bool any_output(const struct rt_command_line *line)
{
    for (size_t i = 0; i < line->command->option_count; i++) {
        const struct rt_option_value *field = &line->command->options[i].field;
        const char *one;
        struct rt_names texts = field->writes != NULL ? texts_of(line, field, &one) : (struct rt_names){0};
        for (size_t t = 0; t < texts.count; t++)
            if (access(texts.name[t], F_OK) == 0)
                return true;
    }
    return false;
}

static void add_all_inputs(const struct rt_command_line *line, struct rt_names *inputs)
{
    add_inputs(line, &line->command->operands, inputs);
    for (size_t i = 0; i < line->command->option_count; i++)
        add_inputs(line, &line->command->options[i].field, inputs);
}

static bool is_one_file(const char *a, const char *b)
{
    struct stat there, here;
    return stat(a, &there) == 0 && stat(b, &here) == 0 && is_same(&there, &here);
}

/* The path from the root, links followed, also of a file that is not there yet. */
static char *place_of(const char *path)
{
    char *target = rt_target_find(path), *copy = rt_strdup(target), *folder = realpath(dirname(copy), NULL);
    char *place = rt_format("%s/%s", folder != NULL ? folder : "", basename(target));
    free(folder);
    free(copy);
    free(target);
    return place;
}

/* Of two outputs the later would replace the earlier. Devices and pipes take what comes. */
static int check_twice(const char *name, const char *path, struct rt_names *outputs)
{
    char *target = place_of(path);
    bool twice = false;
    for (size_t i = 0; !twice && i < outputs->count; i++)
        twice = strcmp(outputs->name[i], target) == 0 || is_one_file(outputs->name[i], target);
    if (twice && !rt_target_is_special(path)) {
        free(target);
        return rt_fail(RT_EUSAGE, "%s: two outputs of this command go there; choose another %s", path, name);
    }
    rt_names_add(outputs, target);
    return RT_OK;
}

static int check_option(const struct rt_command_line *line, const struct rt_option *option,
                        const struct rt_names *inputs, struct rt_names *outputs)
{
    const char *one, letter[] = {'-', option->letter, '\0'};
    struct rt_names texts = texts_of(line, &option->field, &one);
    char *name = option->letter != 0 ? rt_strdup(letter) : rt_format("--%s", option->name);
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < texts.count; i++) {
        bool goes_on = option->field.goes_on != NULL && option->field.goes_on(line, texts.name[i]);
        status = rt_output_check(name, texts.name[i], option->field.writes,
                                 goes_on || rt_given(line, "overwrite"), inputs);
        if (status == RT_OK)
            status = check_twice(name, texts.name[i], outputs);
    }
    free(name);
    return status;
}

static void release_paths(struct rt_names *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free((char *)(uintptr_t)paths->name[i]);
    rt_names_release(paths);
}

int rt_outputs_check(const struct rt_command_line *line)
{
    const struct rt_command *command = line->command;
    struct rt_names inputs = {0}, outputs = {0};
    int status = RT_OK;
    if (any_output(line))
        add_all_inputs(line, &inputs);
    for (size_t i = 0; status == RT_OK && i < command->option_count; i++)
        if (command->options[i].field.writes != NULL)
            status = check_option(line, &command->options[i], &inputs, &outputs);
    release_paths(&inputs);
    release_paths(&outputs);
    return status;
}
