/*
 * The forecaster "links": collectives by a model of links with few coefficients (models/predictors/roofline/link.h),
 * which are the same on every GPU, and device effects: compute is what starting up takes more, memory what
 * the wire does. Forecasts run as those of networks (network.h).
 */
#ifndef ROOFTILE_MODELS_PREDICTORS_PREDICTOR_LINKS_H
#define ROOFTILE_MODELS_PREDICTORS_PREDICTOR_LINKS_H

#include "models/predictors/predictor/family_net.h"

struct rt_h5;
struct rt_threads;

/* Latencies (count) of collectives by their bounds, device effects in them, never below what the link allows.
 */
void rt_links_latency(const struct rt_family_net *net, struct rt_threads *pool, const rt_real *inputs,
                      const struct rt_bound *bounds, size_t count, double *latency_us);
void rt_links_release(struct rt_family_net *net);

/* In predictor files. */
int rt_links_write(const struct rt_family_net *net, struct rt_h5 *file, const char *group);
int rt_links_read(struct rt_h5 *file, const char *group, struct rt_family_net *net);

#endif
