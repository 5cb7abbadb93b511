/*
 * Forecasters: what turns a family's kernels into times. A row is a struct of functions: a network, the
 * model of links, the linear baseline, wave scaling, the bare roofline. How a row is fitted is in
 * train/train.c, which is the only other place that a new one touches.
 */
#pragma once

#include "base/h5.h"
#include "base/threads.h"
#include "models/predictors/predictor/network_memo.h"

struct rt_forecaster {
    const char *name; /* in predictor files */
    bool fitted;      /* to measurements; else it is physics alone */
    void (*forecast)(const struct rt_family_net *net, const struct rt_forecast_batch *batch);
    /* Latencies (count) of kernels by their inputs (count, feature_count) and bounds, with the device effects
     * that those hold. NULL: it takes no device effects. */
    void (*latency)(const struct rt_family_net *net, struct rt_threads *pool, const rt_real *inputs,
                    const struct rt_bound *bounds, size_t count, double *latency_us);
    /* What the net holds, in the group of its family, beside the attributes that all forecasters have. */
    int (*write)(const struct rt_family_net *net, struct rt_h5 *file, const char *group);
    int (*read)(struct rt_h5 *file, const char *group, struct rt_family_net *net);
    void (*release)(struct rt_family_net *net);
};

extern const struct rt_forecaster rt_forecasters[RT_FORECASTER_COUNT];

void rt_family_net_release(struct rt_family_net *net);

/* The row "network": features, a network, a head; device effects and residual corrections in between. Also of
 * links, which take device effects: inputs and bounds in chunks. */
void rt_network_forecast(const struct rt_family_net *net, const struct rt_forecast_batch *batch);
void rt_network_latency(const struct rt_family_net *net, struct rt_threads *pool, const rt_real *inputs,
                        const struct rt_bound *bounds, size_t count, double *latency_us);
int rt_network_write(const struct rt_family_net *net, struct rt_h5 *file, const char *group);
int rt_network_read(struct rt_h5 *file, const char *group, struct rt_family_net *net);
void rt_network_release(struct rt_family_net *net);

/* The row "links": collectives by a model of links with few coefficients (models/predictors/roofline/link.h),
 * which are the same on every GPU, and device effects: compute is what starting up takes more, memory what
 * the wire does. Latencies are never below what the link allows. */
void rt_links_latency(const struct rt_family_net *net, struct rt_threads *pool, const rt_real *inputs,
                      const struct rt_bound *bounds, size_t count, double *latency_us);
int rt_links_write(const struct rt_family_net *net, struct rt_h5 *file, const char *group);
int rt_links_read(struct rt_h5 *file, const char *group, struct rt_family_net *net);
void rt_links_release(struct rt_family_net *net);
