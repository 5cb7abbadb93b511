/* What `rooftile advise` prints: for people, JSON, CSV, Markdown (base/report.h). */
#ifndef ROOFTILE_PREDICT_SEARCH_ADVISE_REPORT_H
#define ROOFTILE_PREDICT_SEARCH_ADVISE_REPORT_H

#include "base/report.h"
#include "predict/search/advise/advice.h"
#include "predict/search/advise/judge.h"
#include "predict/search/advise/partition.h"

/* Profiles for a job. */
struct rt_report *rt_advice_report(const struct rt_gpu_job *job, const struct rt_advice *advice,
                                   const struct rt_advise_options *options);

/* A partition for several jobs: advices (jobs->count) of one board, its instances, and what it is compared
 * with: one profile for all (NULL: none serves all), and taking turns on the whole board. */
struct rt_advised_partition {
    const struct rt_gpu_jobs *jobs;
    const struct rt_advice *advices;
    const struct rt_partition *partition; /* NULL: none serves all */
    const struct rt_partition *equal;     /* NULL: likewise */
    bool given;                           /* the partition was named, not searched for */
    bool turns_fit, turns_meet;           /* all jobs in the board's memory at once; every target met */
};
/* The jobs take turns rather than a partition: none serves all, or it makes less progress. */
bool rt_partition_turns(const struct rt_advised_partition *advised);
struct rt_report *rt_partition_report(const struct rt_advised_partition *advised);

struct rt_report *rt_judgement_report(const struct rt_advice_judgement *judgement);

#endif
