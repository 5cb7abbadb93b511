/* The forecaster "network": features, a network, a head; device effects and residual corrections in between.
 */
#ifndef ROOFTILE_MODELS_PREDICTORS_PREDICTOR_NETWORK_H
#define ROOFTILE_MODELS_PREDICTORS_PREDICTOR_NETWORK_H

#include "models/predictors/predictor/network_memo.h"

struct rt_h5;
struct rt_threads;

/* Also of links, which take device effects: inputs and bounds in chunks. */
void rt_network_forecast(const struct rt_family_net *net, const struct rt_forecast_batch *batch);
void rt_network_latency(const struct rt_family_net *net, struct rt_threads *pool, const rt_real *inputs,
                        const struct rt_bound *bounds, size_t count, double *latency_us);
void rt_network_release(struct rt_family_net *net);

/* network_file.c */
int rt_network_write(const struct rt_family_net *net, struct rt_h5 *file, const char *group);
int rt_network_read(struct rt_h5 *file, const char *group, struct rt_family_net *net);

#endif
