/*
 * What jobs on one GPU cost each other.
 *
 * Side by side: memory's bandwidth is what the others leave, at least a job's part by SMs. They are taken to
 * draw what they draw undisturbed, which is more than they will, so no forecast is too hopeful. L2 and power
 * are divided by SMs already (surface.h). What is left of
 * neighbours is 2%: on MIG slices, which share neither, MLPerf's runs with all other slices busy reach 0.981
 * of those with idle ones (mean of 19; docs/log/parts.md). A thread of the host that launches for several
 * jobs divides its time among them.
 */
#ifndef ROOFTILE_PREDICT_SEARCH_PACK_CONTENTION_H
#define ROOFTILE_PREDICT_SEARCH_PACK_CONTENTION_H

#include "predict/search/pack/pack.h"

/* Of a job that has a share of its own and no neighbours, or one that has some whose traffic is not yet
 * known: nothing that neighbours do makes it faster. */
double rt_pack_alone_us(const struct rt_pack_problem *problem, size_t job, size_t batch, size_t share,
                        bool neighbours);

/* Step times of the jobs of group->jobs, by their batches and shares: sets step_us and alone_us. */
void rt_pack_side_by_side(const struct rt_pack_problem *problem, struct rt_pack_group *group);

/* The same of jobs that take turns on the whole GPU, by their batches: slices of time, as the driver gives
 * them to processes. At worst a step waits for as long a turn of every other job; jobs without a rate divide
 * what those with one leave. Changing from one to the other costs nothing and a GPU that waits for one job's
 * host runs another's kernels: the best that time slicing can do. */
void rt_pack_turns(const struct rt_pack_problem *problem, struct rt_pack_group *group);

/* What follows for a job from its step: latency, throughput, work and margin. `whole_rate`: items a second of
 * a GPU of its own. A batch of b items at rate r fills in (b - 1) / r and must be done in b / r. */
void rt_pack_judge(const struct rt_pack_job *job, double whole_rate, struct rt_pack_place *place);

/* Items a second on a GPU of its own, in the best of its batches that meet its latency (and its rate); 0:
 * none does. *batch (may be NULL) is that one. */
double rt_pack_whole_rate(const struct rt_pack_problem *problem, size_t job, size_t *batch);

#endif
