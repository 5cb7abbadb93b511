/*
 * Random numbers that are the same on every machine: xoshiro256** seeded through splitmix64. The state is
 * four integers; a checkpoint that stores them resumes the sequence.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rt_random {
    uint64_t state[4];
};

/* Different streams of one seed are independent: one for initial parameters, one for shuffling ... */
void rt_random_seed(struct rt_random *random, uint64_t seed, uint64_t stream);

uint64_t rt_random_next(struct rt_random *random);
double rt_random_uniform(struct rt_random *random); /* in [0, 1), 53 bits */
uint64_t rt_random_below(struct rt_random *random,
                         uint64_t limit); /* in [0, limit), without bias; limit > 0 */
void rt_random_shuffle(struct rt_random *random, uint32_t *item, size_t count); /* Fisher-Yates */
