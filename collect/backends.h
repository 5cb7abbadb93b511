/* The table of backends: one row each. */
#ifndef ROOFTILE_COLLECT_BACKENDS_H
#define ROOFTILE_COLLECT_BACKENDS_H

#include "collect/backend.h"

extern const struct rt_backend *const rt_backends[];
extern const size_t rt_backend_count;

/* RT_ENOTFOUND names the backends there are. */
int rt_backend_find(const char *name, const struct rt_backend **out);

#endif
