/* Samples of a dataset, compared, and changed where they stand: RT_CHANGE(&dataset, 3, sample.flags |=
 * RT_FLAG_FAILED). */
#pragma once

#include "datasets/dataset.h"

#include <string.h>

#define RT_CHANGE(dataset, row, ...)                                                                         \
    do {                                                                                                     \
        const size_t at = (row);                                                                             \
        struct rt_sample sample = rt_dataset_sample(dataset, at);                                            \
        __VA_ARGS__;                                                                                         \
        rt_rows_put(&(dataset)->samples, at, &sample);                                                       \
    } while (0)

static inline bool same_samples(const struct rt_dataset *a, const struct rt_dataset *b)
{
    bool same = a->samples.count == b->samples.count;
    for (size_t i = 0; same && i < a->samples.count; i++)
        same = memcmp(RT_SAMPLE(a, i), RT_SAMPLE(b, i), sizeof(struct rt_sample)) == 0;
    return same;
}
