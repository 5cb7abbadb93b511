/*
 * Workloads: the job's model run as a whole on every device, beside the sum of its kernels measured alone.
 */
#ifndef ROOFTILE_COLLECT_WORKLOADS_H
#define ROOFTILE_COLLECT_WORKLOADS_H

#include "collect/collection.h"

/* Runs job->model on every device, in a worker process, and adds its workloads to the journal's samples. A
 * device whose memory it exceeds, or that is lost while it runs, gets a failed workload. All kernels must
 * have been measured. RT_EINTERRUPTED after Ctrl-C. */
int rt_workloads_measure(struct rt_collection *c);

#endif
