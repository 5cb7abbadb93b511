/*
 * What joins the GPUs of one server, and whose kernels move data over it: the dims `fabric` and `library` of
 * collectives. Both numbers are stored in datasets: append, never renumber.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Places of the dims of every collective: GPUs, elements, fabric, library; GPUs of them in each server (less
 * than 1, or all: they are in one), what joins servers, and what each GPU sends to other servers in 10^6
 * bytes/s (less than 1: as its design's servers do). */
enum {
    RT_DIM_GPUS,
    RT_DIM_ELEMENTS,
    RT_DIM_FABRIC,
    RT_DIM_LIBRARY,
    RT_DIM_PER_NODE,
    RT_DIM_NETWORK,
    RT_DIM_NETWORK_MBS
};

enum rt_fabric {
    RT_FABRIC_OWN,       /* what the device's description says: rt_device_fabric */
    RT_FABRIC_SWITCH,    /* NVLink through switches: every GPU sends at its whole rate to any other */
    RT_FABRIC_MESH,      /* NVLink from each GPU to each of its peers */
    RT_FABRIC_PAIRS,     /* bridges between two boards each, PCIe with peer access between pairs */
    RT_FABRIC_PCIE,      /* PCIe: peer access in a pair, host bridges that more GPUs share */
    RT_FABRIC_PCIE_PEER, /* PCIe with peer access between all of them, as behind one switch */
    RT_FABRIC_PCIE_HOST, /* PCIe without peer access: everything goes through the host's memory */
    RT_FABRIC_COUNT
};
/* "own", "switch", "mesh", "pairs", "pcie", "pcie-peer", "pcie-host" */
extern const char *const rt_fabrics[RT_FABRIC_COUNT];

/* Whose kernels a collective runs. */
enum rt_collective_library {
    RT_LIBRARY_NCCL,         /* or RCCL */
    RT_LIBRARY_SERVER,       /* an LLM server's own all-reduce of small messages, in a CUDA graph */
    RT_LIBRARY_SERVER_EAGER, /* the same launched by the host, which copies the message to a buffer first */
    RT_LIBRARY_DEEPEP, /* DeepEP's exchange of tokens between experts: one to each GPU, on 20 multiprocessors
                        */
    RT_LIBRARY_DEEPEP_LL, /* the same in low latency: one to each expert */
    RT_LIBRARY_COUNT
};

/* What joins servers. */
enum rt_network {
    RT_NETWORK_OWN, /* nobody said: InfiniBand */
    RT_NETWORK_INFINIBAND,
    RT_NETWORK_ROCE, /* RDMA over Ethernet */
    RT_NETWORK_EFA,  /* Amazon's */
    RT_NETWORK_SLINGSHOT,
    RT_NETWORK_TCP, /* sockets: through the hosts */
    RT_NETWORK_COUNT
};
/* "own", "infiniband", "roce", "efa", "slingshot", "tcp" */
extern const char *const rt_networks[RT_NETWORK_COUNT];

/* Servers beside each other. */
struct rt_cluster {
    int64_t node_gpus; /* GPUs of a server, or of one NVLink domain over several; 0: as the device's */
    double node_gbs;   /* that each GPU sends to other servers, one direction, GB/s; NaN: as its design's */
    enum rt_network network; /* that carries it */
    double oversubscription; /* how much less the network's core carries than its servers send; 0: 1 */
};
#define RT_CLUSTER_NONE                                                                                      \
    {                                                                                                        \
        .node_gbs = NAN                                                                                      \
    }

/* Does data go through PCIe between so many GPUs? */
bool rt_fabric_is_pcie(enum rt_fabric fabric, int64_t gpus);
