/* The servers of a step: read from a file, as usual where nobody said, and how many of them. See step.h. */
#include "models/networks/step.h"
#include "base/status.h"
#include "datasets/cluster.h"

#include <inttypes.h>
#include <math.h>

static void assume(struct rt_settled_step *settled, enum rt_step_field field)
{
    settled->assumed[field] = true;
}

int rt_step_read_cluster(struct rt_step *step)
{
    struct rt_parallelism *parallel = &step->parallel;
    struct rt_cluster *cluster = &parallel->cluster;
    struct rt_cluster_file file;
    int status = step->cluster != NULL ? rt_cluster_read(step->cluster, &file) : RT_OK;
    if (status != RT_OK || step->cluster == NULL)
        return status;
    cluster->node_gpus = cluster->node_gpus > 0 ? cluster->node_gpus : file.cluster.node_gpus;
    cluster->node_gbs = cluster->node_gbs > 0 ? cluster->node_gbs : file.cluster.node_gbs;
    cluster->network = cluster->network != RT_NETWORK_OWN ? cluster->network : file.cluster.network;
    if (!(cluster->oversubscription >= 1))
        cluster->oversubscription = file.cluster.oversubscription;
    parallel->fabric = parallel->fabric != RT_FABRIC_OWN ? parallel->fabric : file.fabric;
    parallel->link_gbs = isnan(parallel->link_gbs) ? file.link_gbs : parallel->link_gbs;
    step->cluster = NULL;
    return RT_OK;
}

/* So many servers are full: what the other degrees leave is data parallel. */
static int fill_nodes(struct rt_settled_step *settled, int64_t node_gpus)
{
    struct rt_step *step = &settled->step;
    struct rt_parallelism *parallel = &step->parallel;
    int64_t gpus = step->nodes * node_gpus, each = rt_parallelism_gpus(parallel) / parallel->data;
    if (step->nodes == 0)
        return RT_OK;
    if (gpus % each != 0)
        return rt_fail(RT_EUSAGE,
                       "{nodes} %" PRId64 ": %" PRId64 " GPUs ({node_gpus} %" PRId64
                       ") cannot be divided by the %" PRId64
                       " of {tp} x {pp} x {cp}; give a number of servers "
                       "or degrees with which they can",
                       step->nodes, gpus, node_gpus, each);
    if (parallel->data > 1 && parallel->data * each != gpus)
        return rt_fail(RT_EUSAGE,
                       "{nodes} %" PRId64 " have %" PRId64 " GPUs ({node_gpus} %" PRId64 "), {dp} %" PRId64
                       " with the other degrees takes %" PRId64
                       "; leave one of them out, or give {dp} %" PRId64,
                       step->nodes, gpus, node_gpus, parallel->data, parallel->data * each, gpus / each);
    if (parallel->data == 1 && gpus > each)
        assume(settled, RT_STEP_DP);
    parallel->data = gpus / each;
    return RT_OK;
}

int rt_step_settle_cluster(struct rt_settled_step *settled, const struct rt_device *device)
{
    struct rt_step *step = &settled->step;
    struct rt_cluster *cluster = &step->parallel.cluster;
    int status = rt_step_read_cluster(step);
    if (status != RT_OK)
        return status;
    struct rt_cluster usual = rt_cluster_settled(cluster, device);
    status = fill_nodes(settled, usual.node_gpus);
    if (status != RT_OK || rt_parallelism_gpus(&step->parallel) <= usual.node_gpus)
        return status;
    if (cluster->node_gpus < 1)
        assume(settled, RT_STEP_NODE_GPUS);
    if (!(cluster->node_gbs > 0))
        assume(settled, RT_STEP_NODE_GBS);
    *cluster = usual;
    return RT_OK;
}
