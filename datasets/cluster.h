/*
 * Servers beside each other: what is usual of them, and the files that describe them.
 *
 *   {"name": "mine", "levels": [{"name": "switch", "gpus": 8, "gbs_per_gpu": 450},
 *                               {"name": "infiniband", "gbs_per_gpu": 50, "oversubscription": 2}]}
 *
 * The first level is a server, or one NVLink domain over several: a name of rt_fabrics, how many GPUs it has
 * and, where that is not the device's, what each sends to the others, in one direction. The second joins
 * servers: a name of rt_networks, and what each GPU sends to other servers. What is left out is as usual.
 */
#pragma once

#include "datasets/device_fields.h"

/* What is missing is as the device's servers are and its design's network cards (datasets/designs.h, nic):
 * InfiniBand with a whole core. `device` NULL: eight GPUs, `node_gbs` stays missing. */
struct rt_cluster rt_cluster_settled(const struct rt_cluster *cluster, const struct rt_device *device);

struct rt_cluster_file {
    struct rt_cluster cluster;
    enum rt_fabric fabric; /* RT_FABRIC_OWN: the device's */
    double link_gbs;       /* NaN: the device's */
};
/* RT_EIO, or RT_EFORMAT with the place in the file. */
int rt_cluster_read(const char *path, struct rt_cluster_file *out);
