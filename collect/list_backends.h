/* `rooftile collect --list`: backends, their devices, what can be measured, what devices say of themselves.
 */
#ifndef ROOFTILE_COLLECT_LIST_BACKENDS_H
#define ROOFTILE_COLLECT_LIST_BACKENDS_H

#include "collect/collect.h"

/* Prints all backends, or `only` that one; one that cannot be opened says why. */
void rt_list_backends(const struct rt_backend *only, const struct rt_collect_options *options, bool json);

#endif
