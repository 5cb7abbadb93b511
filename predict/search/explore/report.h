/* What an exploration found, for people and programs. */
#ifndef ROOFTILE_PREDICT_SEARCH_EXPLORE_REPORT_H
#define ROOFTILE_PREDICT_SEARCH_EXPLORE_REPORT_H

#include "base/report.h"
#include "predict/search/explore/objectives.h"

/* The base, the front (of a long one text shows an even choice, JSON all), elasticities by model and limit,
 * and where each limit binds. `front` (points) holds `front_count` of them. Free with rt_report_free. */
struct rt_report *rt_exploration_report(const struct rt_assessment *assessment, const bool *front,
                                        size_t front_count, size_t resumed);

#endif
