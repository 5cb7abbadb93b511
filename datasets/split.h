/*
 * Which samples train, validate and test. What a source marked as train or test stays so; unmarked samples
 * are dealt by a hash of seed and shape, so a shape falls on the same side on every device, in every run, and
 * in `train` and `evaluate` alike (the predictor file keeps the seed).
 */
#ifndef ROOFTILE_DATASETS_SPLIT_H
#define ROOFTILE_DATASETS_SPLIT_H

#include "datasets/dataset.h"

#include <stdbool.h>

enum rt_part { RT_PART_TRAIN, RT_PART_VALIDATION, RT_PART_TEST };

struct rt_split_rule {
    uint64_t seed;
    double validation, test; /* fractions; `test` applies to unmarked samples only */
    bool all; /* nothing is kept for testing: what is judged by are devices that are held out */
};

/* What `train` deals by unless it is told otherwise, and `evaluate` where nothing was trained. */
/* clang-format off */
#define RT_SPLIT_DEFAULT {.seed = 1, .validation = 0.1, .test = 0.2}
/* clang-format on */

enum rt_part rt_split_of(const struct rt_split_rule *rule, const struct rt_sample *sample);

#endif
