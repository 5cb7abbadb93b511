/* What `rooftile collect` prints: reports (base/report.h) of the devices, of an estimate, of a collection. */
#ifndef ROOFTILE_COLLECT_REPORT_H
#define ROOFTILE_COLLECT_REPORT_H

#include "base/report.h"
#include "collect/collect.h"
#include "collect/estimate.h"

/* All backends, or the job's where it has one: devices, ops, facts. A backend that cannot be opened is listed
 * with the reason. */
struct rt_report *rt_report_backends(const struct rt_job *job);

struct rt_report *rt_report_estimate(const struct rt_job *job, const struct rt_estimate *estimate);
struct rt_report *rt_report_collected(const struct rt_job *job, const struct rt_collected *collected);

#endif
