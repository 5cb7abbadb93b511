/* The files of architectures: those of types/, compiled in, and users' own. */
#pragma once

#include "models/networks/architectures/architecture.h"

/* Those that are compiled in, in the order of their types; NULL behind the last. Files are read when they are
 * asked for, and kept as long as the process runs. */
const struct rt_architecture *rt_architecture_at(size_t i);
/* RT_EFORMAT: the first of them that cannot be read, which the functions here take for one that is not there.
 */
int rt_architectures_check(void);
/* By type or alias; NULL: none has it. */
const struct rt_architecture *rt_architecture_of_type(const char *type);
/* The language part of models of text and images of a type; NULL: of none. */
const struct rt_architecture *rt_architecture_of_wrapper(const char *type);
/* Of a user's file. RT_EFORMAT names file, key and what it may be. */
int rt_architecture_load(const char *path, const struct rt_architecture **out);
