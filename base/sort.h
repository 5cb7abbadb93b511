/* Real numbers in ascending order, and their median. None of them may be NaN. */
#pragma once

#include <stddef.h>

void rt_sort_reals(double *values, size_t count);

/* Sorts the values. The mean of the two middle ones for an even count; NaN for none. */
double rt_median(double *values, size_t count);
