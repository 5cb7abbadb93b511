/* The Pareto front: points that no other one equals or beats in every objective. Less of each is better. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* values (points, objectives), without NaN where it matters. `front` (points) says which points may be on the
 * front, and then which are; of equal ones the first is. Returns how many. */
size_t rt_pareto(const double *values, size_t points, size_t objectives, bool *front);
