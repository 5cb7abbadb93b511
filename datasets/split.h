/*
 * Which samples train, validate and test. A source's own marks hold; unmarked samples are assigned by a hash
 * of seed, op, dtype, phase and dims. So a shape is on the same side on every device, in every run, and in
 * `train` and `evaluate` alike (the predictor file keeps the seed).
 */
#pragma once

#include "datasets/dataset.h"

#include <stdbool.h>

enum rt_part { RT_PART_TRAIN, RT_PART_VALIDATION, RT_PART_TEST };

struct rt_split_rule {
    uint64_t seed;
    double validation, test; /* fractions; `test` applies to unmarked samples only */
    bool all;                /* no sample tests: whole devices are held out instead */
};

/* The default of `train`, and of `evaluate` where nothing was trained. */
/* clang-format off */
#define RT_SPLIT_DEFAULT {.seed = 1, .validation = 0.1, .test = 0.2}
/* clang-format on */

enum rt_part rt_split_of(const struct rt_split_rule *rule, const struct rt_sample *sample);
