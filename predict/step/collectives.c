/* Collectives of a step. See collectives.h. */
#include "predict/step/collectives.h"
#include "base/status.h"
#include "datasets/cluster.h"
#include "models/predictors/roofline/tile.h"
#include "models/networks/graph.h"

#include <math.h>

/* Half-widths in ln at 90% by the prior: of nine of ten collectives on GPUs that a fit left out, short and
 * long ones (docs/log/links.md). */
static const double PRIOR_HALF[RT_INTERVAL_SIZES] = {[RT_INTERVAL_SHORT] = 0.45, [RT_INTERVAL_LONG] = 0.22};

/* The same over servers, of machines that a fit left out (docs/results/collectives-servers.csv). */
static const double NODES_HALF[RT_INTERVAL_SIZES] = {[RT_INTERVAL_SHORT] = 0.78, [RT_INTERVAL_LONG] = 0.28};

static enum rt_collective_library library_of(const struct rt_graph_options *options)
{
    if (!rt_runtimes[options->runtime].served)
        return RT_LIBRARY_NCCL;
    return options->step == RT_STEP_DECODE ? RT_LIBRARY_SERVER : RT_LIBRARY_SERVER_EAGER;
}

static void set_link(struct rt_collectives *collectives, double gbs)
{
    struct rt_device *device = &collectives->device;
    device->link_gbs = gbs;
    device->link_peers = NAN;
    if (collectives->fabric == RT_FABRIC_OWN)
        collectives->fabric =
            rt_device_fabric(device) == RT_FABRIC_PCIE ? RT_FABRIC_PCIE_PEER : RT_FABRIC_SWITCH;
}

void rt_collectives_init(struct rt_collectives *out, const struct rt_predictor *predictor,
                         const struct rt_device *device, const struct rt_graph *graph,
                         const struct rt_parallelism *parallel, double level)
{
    bool once = parallel->exchange == RT_EXCHANGE_OWN ? rt_runtimes[graph->options.runtime].once_a_server
                                                      : parallel->exchange == RT_EXCHANGE_DEEPEP;
    *out = (struct rt_collectives){.predictor = predictor,
                                   .device = *device,
                                   .fabric = parallel->fabric,
                                   .library = library_of(&graph->options),
                                   .dtype = graph->options.dtype,
                                   .level = level,
                                   .choices = once ? graph->choices : 0,
                                   .cluster = rt_cluster_settled(&parallel->cluster, device)};
    for (int group = 0; group < RT_GROUPS; group++)
        out->groups[group] = rt_parallelism_group(parallel, (enum rt_gpu_group)group);
    if (!isnan(parallel->link_gbs))
        set_link(out, parallel->link_gbs);
}

int rt_collectives_check(const struct rt_collectives *collectives, int64_t gpus)
{
    const struct rt_device *device = &collectives->device;
    if (rt_device_fabric_link(device, collectives->fabric, gpus).gbs > 0)
        return RT_OK;
    if (collectives->fabric == RT_FABRIC_PAIRS && gpus <= 2)
        return rt_fail(RT_EFORMAT,
                       "%s: the bandwidth of a bridge to another board is unknown; give it (`--gpu "
                       "NAME,bridge_gbs=X`), or choose another {fabric}",
                       device->name);
    return rt_fail(RT_EFORMAT, "%s: the bandwidth to a peer GPU is unknown; give it with {link_gbs}",
                   device->name);
}

/* Has the predictor a model of links? */
static bool is_fitted(const struct rt_collectives *collectives, const struct rt_call *call)
{
    const struct rt_family_net *net = rt_predictor_net(collectives->predictor, call->op, call->dtype);
    return net != NULL && net->forecaster == RT_FORECASTER_LINKS;
}

static double time_us(const struct rt_collectives *collectives, const struct rt_query *query)
{
    double us;
    if (!is_fitted(collectives, &query->call))
        return rt_link_us(&rt_link_prior, &query->call, &collectives->device, true);
    rt_predictor_forecast(collectives->predictor, &collectives->device, query, 1, NULL, &us, NULL);
    return us;
}

/* NaN where the predictor has a fit without intervals. */
static double half_of(const struct rt_collectives *collectives, const struct rt_query *query, double bound_us)
{
    if (!(collectives->level > 0))
        return NAN;
    int64_t near = query->call.dim[RT_DIM_PER_NODE];
    int size = rt_interval_size_of(bound_us);
    double scale = rt_interval_scale(collectives->level);
    if (near >= 1 && near < query->call.dim[RT_DIM_GPUS])
        return NODES_HALF[size] * scale;
    if (!is_fitted(collectives, &query->call))
        return PRIOR_HALF[size] * scale;
    return rt_predictor_interval(collectives->predictor, &collectives->device, query, collectives->level);
}

/* Of `gpus` of a group. A message goes on within a server only where no neighbours are in two. */
static int64_t per_node(const struct rt_collectives *collectives, enum rt_op_id op, enum rt_gpu_group group,
                        int64_t gpus)
{
    const struct rt_group_places *places = &collectives->groups[group];
    bool sends = op == RT_OP_SEND_RECEIVE;
    int64_t all = sends && places->gpus > gpus ? places->gpus : gpus,
            near = rt_group_per_node(all, places->stride, collectives->cluster.node_gpus);
    return near == all ? gpus : sends ? 1 : near;
}

/* What crosses servers over what would if each of a token's copies did: DeepEP sends a token once to a server
 * and hands it on there over NVLink (DeepSeek-V3, 2024, section 3.2.2). Of k choices among n servers, all
 * alike, n (1 - (1 - 1/n)^k) servers are chosen. */
static double once_a_server(double k, double n)
{
    return n * (1 - pow(1 - 1 / n, k)) / k;
}

static void set_links(const struct rt_collectives *collectives, enum rt_gpu_group group,
                      enum rt_collective_library library, struct rt_call *call)
{
    const struct rt_cluster *cluster = &collectives->cluster;
    call->dim[RT_DIM_FABRIC] = collectives->fabric;
    call->dim[RT_DIM_LIBRARY] = library;
    call->dim[RT_DIM_PER_NODE] =
        per_node(collectives, (enum rt_op_id)call->op, group, call->dim[RT_DIM_GPUS]);
    if (call->dim[RT_DIM_PER_NODE] == call->dim[RT_DIM_GPUS])
        return;
    call->dim[RT_DIM_NETWORK] = cluster->network;
    call->dim[RT_DIM_NETWORK_MBS] =
        (int64_t)fmax(1, round(1e3 * cluster->node_gbs / cluster->oversubscription));
    if (call->op == RT_OP_ALL_TO_ALL && group == RT_GROUP_EXPERT && collectives->choices > 0) {
        double servers = (double)call->dim[RT_DIM_GPUS] / (double)call->dim[RT_DIM_PER_NODE];
        call->dim[RT_DIM_ELEMENTS] =
            (int64_t)ceil((double)call->dim[RT_DIM_ELEMENTS] * once_a_server(collectives->choices, servers));
    }
}

void rt_collective_time_of(const struct rt_collectives *collectives, const struct rt_call *call,
                           enum rt_gpu_group group, struct rt_collective_time *out)
{
    struct rt_query query;
    rt_query_init(&query, call);
    set_links(collectives, group, collectives->library, &query.call);
    query.queued = true;
    out->time_us = time_us(collectives, &query);
    out->bound_us = rt_link_bound_us(&query.call, &collectives->device);
    out->ln_half_width = half_of(collectives, &query, out->bound_us);
    out->shared =
        is_fitted(collectives, &query.call) ? rt_predictor_shared_error(collectives->predictor, &query) : 1;
}

double rt_collective_us(const struct rt_collectives *collectives, enum rt_op_id op, enum rt_gpu_group group,
                        double bytes)
{
    struct rt_query query;
    struct rt_call call;
    rt_call_init(&call, op, collectives->dtype);
    call.dim[RT_DIM_GPUS] = op == RT_OP_SEND_RECEIVE ? 2 : collectives->groups[group].gpus;
    call.dim[RT_DIM_ELEMENTS] = (int64_t)ceil(bytes / rt_dtypes[collectives->dtype].bytes);
    set_links(collectives, group, RT_LIBRARY_NCCL, &call);
    rt_query_init(&query, &call);
    query.queued = true;
    return time_us(collectives, &query);
}

double rt_join_us(const struct rt_collectives *collectives, double bytes)
{
    struct rt_query query;
    struct rt_call call;
    double width = rt_dtypes[collectives->dtype].bytes, us = NAN;
    rt_call_init(&call, RT_OP_MUL_SCALAR, collectives->dtype);
    call.dim[0] = 1;
    call.dim[1] = (int64_t)ceil(bytes / width);
    rt_query_init(&query, &call);
    query.queued = true;
    if (rt_predictor_net(collectives->predictor, call.op, call.dtype) != NULL)
        rt_predictor_forecast(collectives->predictor, &collectives->device, &query, 1, NULL, &us, NULL);
    return isnan(us) ? rt_roofline_us(&query, &collectives->device) : us;
}
