/*
 * What collectives of a step take: by the predictor's model of links (models/predictors/predictor/links.c)
 * where it has one, by rt_link_prior otherwise (the roofline, predictors of earlier builds).
 */
#pragma once

#include "models/networks/graph.h"
#include "models/predictors/predictor/predictor.h"
#include "models/networks/parallelism.h"

struct rt_collectives {
    const struct rt_predictor *predictor;
    struct rt_device device; /* with the link that was asked for */
    enum rt_fabric fabric;   /* of it; RT_FABRIC_OWN: by the device's description */
    /* Whose kernels run the graph's own: a server's in a CUDA graph where it decodes, launched by the host in
     * other steps; NCCL's elsewhere. Which algorithm that is follows from the message
     * (models/predictors/roofline/link.h). */
    enum rt_collective_library library;
    enum rt_dtype dtype; /* of gradients and of what a pipeline passes on */
    double level;        /* of intervals; 0: none */
    double choices;      /* experts that a token is sent to, once a server; 0: once an expert */
    struct rt_group_places groups[RT_GROUPS];
    struct rt_cluster cluster; /* settled: nothing in it is missing */
};

/* A link given by its rate (--link-gbs) is what a GPU sends, whoever to: as through a switch, over PCIe where
 * it is no faster than that. */
void rt_collectives_init(struct rt_collectives *out, const struct rt_predictor *predictor,
                         const struct rt_device *device, const struct rt_graph *graph,
                         const struct rt_parallelism *parallel, double level);

/* RT_EFORMAT where the bandwidth between `gpus` of one server is unknown. */
int rt_collectives_check(const struct rt_collectives *collectives, int64_t gpus);

struct rt_collective_time {
    double time_us, bound_us;
    double ln_half_width; /* half-width of the interval in ln; NaN: not asked for */
    double shared;        /* share of the squared error that collectives have in common */
};
/* A call of a graph between GPUs of a group, all of it or, by the call's own dim, its nearest: fabric,
 * library and what lies between servers are set here. */
void rt_collective_time_of(const struct rt_collectives *collectives, const struct rt_call *call,
                           enum rt_gpu_group group, struct rt_collective_time *out);

/* Time of NCCL's `op` in us over a message of `bytes` (of one GPU before or after it, as the op's elements).
 * A send/receive goes to the next GPU of the group, in another server where the group does not lie in one. */
double rt_collective_us(const struct rt_collectives *collectives, enum rt_op_id op, enum rt_gpu_group group,
                        double bytes);

/* A copy on the GPU of what is gathered or summed: pieces become one, or one becomes pieces. */
double rt_join_us(const struct rt_collectives *collectives, double bytes);
