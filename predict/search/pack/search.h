/*
 * The best plan: groups of jobs, a GPU each. A group runs side by side or takes turns, whichever is better;
 * better is more work, then more margin. Side by side, shares and batches are found by branch and bound: what
 * jobs do without neighbours bounds what they do with them. Every group is tried, and the fewest GPUs that
 * meet all targets are taken, or as many as are given with the most work.
 */
#ifndef ROOFTILE_PREDICT_SEARCH_PACK_SEARCH_H
#define ROOFTILE_PREDICT_SEARCH_PACK_SEARCH_H

#include "predict/search/pack/pack.h"

/* The best of a group of jobs (a bit each) that may go these ways (a bit each); false where none of them
 * meets all targets in the GPU's memory. */
bool rt_pack_best_group(const struct rt_pack_problem *problem, uint32_t jobs, unsigned ways,
                        struct rt_pack_group *out);

/* `gpus`: at most so many; 0: as few as meet all targets. One job alone may always have a whole GPU. False
 * where they are too few, or where a job misses its targets even alone. */
bool rt_pack_best_plan(const struct rt_pack_problem *problem, size_t gpus, unsigned ways,
                       struct rt_pack_plan *out);

#endif
