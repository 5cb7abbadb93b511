/* Arrays that grow: room for what is added at their end. */
#pragma once

#include "base/status.h"

/* Room for `more` elements behind the `count` that `array` has: at least doubles
 * `capacity`, so that n additions cost O(n). `array` is NULL or of malloc's; `capacity`, a size_t, is 0 for NULL.
 * All are evaluated more than once; the new elements are not set. */
#define RT_GROW(array, count, more, capacity)                                                                \
    ((capacity) < (count) + (more)                                                                           \
         ? (void)((capacity) = rt_array_capacity((capacity), (count) + (more)),                              \
                  (array) = rt_realloc((array), (capacity), sizeof *(array)))                                \
         : (void)0)

static inline size_t rt_array_capacity(size_t capacity, size_t needed)
{
    capacity = capacity > 0 ? 2 * capacity : 16;
    return capacity < needed ? needed : capacity;
}
