/*
 * A step's time against its share of a GPU's SMs, and the knee of that curve: the smallest share that is
 * within a few percent of the whole GPU (the "knee" of D-STACK, Dhakal et al. 2023; GSLICE, Dhakal, Kulkarni
 * and Ramakrishnan, SoCC 2020; gpulets, Choi et al., USENIX ATC 2022). What has a knee early: few thread
 * blocks, launches that the host is slower with than the GPU, traffic that few SMs draw already.
 */
#pragma once

#include "base/ranges.h"
#include "base/report.h"
#include "datasets/share.h"
#include "predict/step/prediction.h"

/* Percentages of the SMs into a struct rt_numbers: "25,50,100", "10:100:10" (from, to, step), or both mixed.
 * RT_EUSAGE for what is no share. */
int rt_shares_read(const char *option, const char *text, void *percents);

enum rt_share_bound { RT_SHARE_HOST, RT_SHARE_COMPUTE, RT_SHARE_MEMORY, RT_SHARE_BOUNDS };

struct rt_share_point {
    double percent, sms;
    double bandwidth_gbs;      /* that so many SMs draw, at most */
    double total_us;           /* of the step */
    double kernels_us;         /* of it, on the GPU */
    double tuned_us;           /* of the step with tiles chosen for the share, */
    double untuned_us;         /* and with those chosen for the whole GPU */
    enum rt_share_bound bound; /* where most of the time goes */
};

struct rt_share_curve {
    struct rt_share_point *points; /* (count) in the order asked for; one for equal numbers of SMs */
    size_t count;
    struct rt_share_point whole, knee;
    enum rt_share_kind kind;
    double within; /* percent over the whole's time that the knee may take */
};

/* Of the prediction's graph, on shares of its device, by its predictor and options. The knee is searched over
 * all granules, not only over the points: a step takes no longer with more SMs. The errors of
 * rt_forecast_graph. Release with rt_share_curve_release. */
int rt_share_curve(const struct rt_prediction *prediction, enum rt_share_kind kind,
                   const struct rt_numbers *percents, double within, struct rt_share_curve *out);
void rt_share_curve_release(struct rt_share_curve *curve);

/* Curves of predictions, one each. Free with rt_report_free. */
struct rt_report *rt_share_report(const struct rt_prediction *predictions,
                                  const struct rt_share_curve *curves, size_t count);
