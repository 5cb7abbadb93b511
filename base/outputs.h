/*
 * What a command may write onto. Nothing that a user has is destroyed:
 *
 *   - never an input of the same command: the same file (device and inode), whatever its name, and for texts
 * no file of a folder that is read;
 *   - never what another output of the command is;
 *   - never a folder, a file of another kind, or the file that standard output or error goes to;
 *   - a file of its own kind with --overwrite only.
 *
 * Kinds of HDF5 files are told by their attribute "format". Texts carry no such mark: a text may replace a
 * text, not a file with NUL bytes, and where such texts always begin alike, as traces and exported CSV do,
 * only one that does. Texts go into devices and pipes; HDF5 files cannot.
 *
 * The rows of a command's options say what is read (.reads) and written (.writes), options.h. The check is
 * made before the work; temporary.h makes the file appear whole after it.
 */
#pragma once

#include "base/options.h"

struct rt_output_kind {
    const char *name;   /* "a dataset" */
    const char *format; /* of HDF5; NULL: a text */
    const char *begins; /* what such texts begin with; NULL: anything */
};
extern const struct rt_output_kind rt_output_text; /* reports */

/* All outputs of the line beside all its inputs. RT_EUSAGE or RT_EIO with one sentence. */
int rt_outputs_check(const struct rt_command_line *line);

/* One output. `option` is how it is named, "-o"; `replace` whether one of its kind may be replaced; `inputs`
 * what is read, files and folders. */
int rt_output_check(const char *option, const char *path, const struct rt_output_kind *kind, bool replace,
                    const struct rt_names *inputs);

/* For .check of tables: the path ends in .csv, or is a device or a pipe. A name of another kind, code.py, is
 * a slip that would cost a file. */
int rt_output_check_csv(const char *option, const char *path);

/* For .reads: the text is the path. */
void rt_reads_path(const char *text, struct rt_names *paths);
