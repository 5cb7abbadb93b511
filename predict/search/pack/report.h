/* What `rooftile pack` prints. */
#ifndef ROOFTILE_PREDICT_SEARCH_PACK_REPORT_H
#define ROOFTILE_PREDICT_SEARCH_PACK_REPORT_H

#include "base/report.h"
#include "predict/search/pack/surface.h"

/* A plan with what it is beside: `slices` and `whole` are plans by turns alone and of a GPU for each job;
 * gpus 0: there is none. */
struct rt_pack_result {
    struct rt_pack_plan plan, slices, whole;
};

/* Free with rt_report_free. */
struct rt_report *rt_pack_report(const struct rt_pack_problem *problem, const struct rt_pack_result *result,
                                 const char *gpu, const char *predictor, enum rt_share_kind kind);

#endif
