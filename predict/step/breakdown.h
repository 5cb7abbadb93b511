/* The time of a step by op and by node. */
#pragma once

#include "models/networks/diffusion/diffusion.h"
#include "predict/step/forecast.h"

/* One row per op, over all its launches: in training those of the busiest GPU in a step, whose kernels add up to
 * compute_us; else those of one pass. Collectives with what nothing hides. */
struct rt_forecast_row {
    enum rt_op_id op;
    double time_us, share; /* share of all rows, 0..1 */
    double flops, bytes;   /* of all launches */
    double roofline_us;    /* share of the roofline = roofline_us / time_us */
    size_t launches;       /* repeats counted */
    enum rt_time_source source;
    bool compute_bound; /* which roof is the lower one for most of its time */
};
/* Rows with the longest time first; `out` holds RT_OP_COUNT x RT_TIME_SOURCE_COUNT. Returns how many. */
size_t rt_forecast_rows(const struct rt_forecast *forecast, struct rt_forecast_row *out);

/* Training: FLOPs of a GPU's step over those of its peak in the products' dtype. MFU counts three times the forward
 * pass's products and attention (PaLM: Chowdhery et al. 2022, appendix B), HFU layers that are computed again too
 * (Korthikanti et al. 2022). NaN else. */
void rt_forecast_use(const struct rt_forecast *forecast, double *mfu, double *hfu);

/* Time of each part of a diffusion pipeline (enum rt_diffusion_part), with what its kernels wait; their sum is
 * that of the step on the GPU. False: the graph is of no pipeline. */
bool rt_forecast_parts(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                       double us[RT_DIFFUSION_PARTS]);

struct rt_forecast_node {
    uint32_t node;
    double time_us, share; /* all phases, all repeats */
};
/* The nodes that take longest, at most `most`. Returns how many. */
size_t rt_forecast_heaviest(const struct rt_forecast *forecast, struct rt_forecast_node *out, size_t most);
