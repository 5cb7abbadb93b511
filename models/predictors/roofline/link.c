/* Collectives on links. See link.h. */
#include "models/predictors/roofline/link.h"
#include "base/units.h"
#include "models/predictors/roofline/board.h"

#include <math.h>
#include <string.h>

const char *const rt_link_algorithms[RT_LINK_ALGORITHMS] = {
    "ring_reduce", "ring_gather", "all_to_all", "send",         "switch_reduce",    "one_shot",  "two_shot",
    "deepep",      "deepep_ll",   "nodes_reduce", "nodes_gather", "nodes_all_to_all", "nodes_send"};
const char *const rt_link_terms[RT_LINK_TERMS] = {
    "start",     "step", "hop",        "middle",    "middle_step", "large",           "large_step",    "fill",
    "fill_step", "wire", "wire_split", "net_start", "net_step",    "net_middle_step", "net_large_step"};

/* clang-format off */
const struct rt_link_model rt_link_prior = {
    .coefficient = {
        /*                          start  step   hop    middle .. step large  .. step fill   .. step wire   split net: start step middle large */
        [RT_LINK_RING_REDUCE]   = { 9.8,   1.62,  0.378, 0.327, 0.685,  18.3,  0,      39.6,  10.8,   1,     0.18 },
        [RT_LINK_RING_GATHER]   = { 9.6,   1.72,  0.405, 3.07,  0.302,  12.3,  4.65,   71.4,  0,      1.065, 0.246},
        [RT_LINK_ALL_TO_ALL]    = {12.8,   0.605, 0.34,  9.91,  0,      0,     3.46,   70.9,  4.0,    1.175, 0    },
        [RT_LINK_SEND]          = { 5.62,  5.3,   0,     3.31,  2.38,   0,     0,      0,     0,      1,     0    },
        [RT_LINK_SWITCH_REDUCE] = {36.1,  16.3,   0,     0,     0,      0,     0,      0,     0,      1.53,  0    },
        [RT_LINK_ONE_SHOT]      = { 7.81,  0.175, 2.05,  0,     0,      0,     0,      0,     0,      1.28,  0    },
        [RT_LINK_TWO_SHOT]      = {15.4,   0.405, 0,     0,     0,      0,     0,      0,     0,      1.074, 0    },
        [RT_LINK_DEEPEP]        = {37.3,  19.6,   0,     0,     0,      0,     0,      0,     0,      1.23,  0    },
        [RT_LINK_DEEPEP_LL]     = {23.8,   0,     0,     0,     0,      0,     0,      0,     0,      1.63,  0    },
        [RT_LINK_NODES_REDUCE]  = { 0,     3.65,  0,     0,     0,      0,     0,      0,     0,      1,     0,    0,    8.59, 14.4, 38.7},
        [RT_LINK_NODES_GATHER]  = { 0,     3.08,  0,     0,     0,      0,     0,      0,     0,      1,     0,    6.69, 0,    2.34, 53.4},
        [RT_LINK_NODES_ALL_TO_ALL]={0,     0.567, 0,     0,     0,      0,     0,      0,     0,      1.067, 0,   13.2,  5.65, 0,    0.062},
        [RT_LINK_NODES_SEND]    = { 0,     0,     0,     0,     0,      0,     0,      0,     0,      1.07,  0,    8,    5.65, 0,   20   },
    },
    .host_us = 34,
};
/* clang-format on */

/* ---- the call ---- */

static enum rt_fabric fabric_of(const struct rt_call *call, const struct rt_device *device)
{
    int64_t fabric = call->dim[RT_DIM_FABRIC];
    return fabric > 0 ? (enum rt_fabric)fabric : rt_device_fabric(device);
}

/* Of the group, in each server: none of it between servers, where that is all of them. */
static int64_t per_node(const struct rt_call *call, int64_t gpus)
{
    int64_t near = call->dim[RT_DIM_PER_NODE];
    return near >= 1 && near < gpus ? near : gpus;
}

/* A message goes to one GPU, whatever its first dim. */
static int64_t gpus_of(const struct rt_call *call)
{
    int64_t gpus = call->op == RT_OP_SEND_RECEIVE ? 2 : call->dim[RT_DIM_GPUS];
    return gpus > 2 ? gpus : 2;
}

static double message_bytes(const struct rt_call *call)
{
    return rt_dtypes[call->dtype].bytes * (double)call->dim[RT_DIM_ELEMENTS];
}

/* 10^9 bytes/s of the data sheet, to all peers of the group together. */
static double link_gbs(const struct rt_call *call, const struct rt_device *device)
{
    int64_t gpus = gpus_of(call);
    const struct rt_link link = rt_device_fabric_link(device, fabric_of(call, device), gpus);
    return rt_link_gbs(&link, gpus - 1);
}

static bool over_servers(const struct rt_call *call)
{
    return per_node(call, gpus_of(call)) < gpus_of(call);
}

/* What of a network's rate arrives in rings and where all exchange with all, and the most of it in GB/s a
 * GPU; times of its latency, and of starting protocols for long messages, beside InfiniBand's. InfiniBand's by
 * an A100 and an H100 cluster, Slingshot's and TCP's (which hosts limit: 3.5 GB/s for four GPUs) by two of
 * A100s (docs/log/links.md); RoCE as InfiniBand, EFA as Slingshot (libfabric both): nothing was measured. */
struct network {
    double payload, all_to_all, most, most_all_to_all, latency, protocols;
};
/* clang-format off */
static const struct network networks[RT_NETWORK_COUNT] = {
    [RT_NETWORK_OWN]        = {0.90, 0.93, INFINITY, INFINITY, 1, 1},
    [RT_NETWORK_INFINIBAND] = {0.90, 0.93, INFINITY, INFINITY, 1, 1},
    [RT_NETWORK_ROCE]       = {0.90, 0.93, INFINITY, INFINITY, 1, 1},
    [RT_NETWORK_EFA]        = {0.72, 0.42, INFINITY, INFINITY, 1, 3},
    [RT_NETWORK_SLINGSHOT]  = {0.72, 0.42, INFINITY, INFINITY, 1, 3},
    [RT_NETWORK_TCP]        = {0.90, 0.90, 0.86,     1.5,      2, 2.5},
};
/* clang-format on */

static int network_of(const struct rt_call *call)
{
    int64_t network = call->dim[RT_DIM_NETWORK];
    return network > 0 && network < RT_NETWORK_COUNT ? (int)network : RT_NETWORK_INFINIBAND;
}

/* 10^9 bytes/s that a GPU sends to other servers. */
static double network_gbs(const struct rt_call *call, const struct rt_device *device)
{
    int64_t mbs = call->dim[RT_DIM_NETWORK_MBS];
    return mbs >= 1 ? 1e-3 * (double)mbs : rt_design_of(device)->nic_gbs;
}

/* What PCIe carries of its data sheet: rings of four A100 and H100 boards reach 0.75 between their pairs
 * (Vidur), pairs of L40S 0.63 to 0.69 (AIConfigurator). */
static const double PCIE_PAYLOAD = 0.75;
/* Host bridges that p GPUs share carry what one pair of them does: the prior, between peers of which each has
 * its own path (1; four A100 and H100 boards, Vidur) and machines where it falls with the square (four and
 * eight L40S, AIConfigurator). What a server does beyond it is its device effect (rt_link_bridge_share). A
 * host has up to eight GPUs: more of them are several hosts. */
static double pairs_on_bridges(int64_t gpus)
{
    const double most = 4;
    return fmin((double)gpus / 2, most);
}

static bool shares_bridges(enum rt_fabric fabric)
{
    return fabric == RT_FABRIC_PCIE || fabric == RT_FABRIC_PCIE_HOST;
}
/* Through the host's memory a pair of A40 reaches 4 to 5 of 32 GB/s (Vidur). */
static const double HOST_PAYLOAD = 0.14;

static double carried(const struct rt_call *call, const struct rt_device *device)
{
    enum rt_fabric fabric = fabric_of(call, device);
    int64_t gpus = gpus_of(call);
    if (shares_bridges(fabric))
        return (fabric == RT_FABRIC_PCIE ? PCIE_PAYLOAD : HOST_PAYLOAD) / pairs_on_bridges(gpus);
    return rt_fabric_is_pcie(fabric, gpus) ? PCIE_PAYLOAD : rt_design_of(device)->link_payload;
}

/* ---- algorithms ---- */

/* Of p GPUs: steps, and what a GPU sends of a message of 1. */
struct shape {
    double steps, sent;
};

/* Of a ring; NCCL takes trees where there are many GPUs: two levels for each doubling from a server's eight
 * on, so that its pieces grow no smaller. */
static const double LONGEST_RING = 8;
static double reduce_steps(double p)
{
    return p <= LONGEST_RING ? 2 * (p - 1) : 2 * (LONGEST_RING - 1) + 4 * log2(p / LONGEST_RING);
}
static double pieces(enum rt_link_algorithm algorithm, double p)
{
    return (algorithm == RT_LINK_RING_REDUCE ? fmin(p, LONGEST_RING) : p) - 1;
}

static struct shape shape_of(enum rt_link_algorithm algorithm, double p)
{
    const struct shape shapes[RT_LINK_ALGORITHMS] = {
        [RT_LINK_RING_REDUCE] = {reduce_steps(p), 2 * (p - 1) / p},
        [RT_LINK_RING_GATHER] = {p - 1, (p - 1) / p},
        [RT_LINK_ALL_TO_ALL] = {p - 1, (p - 1) / p},
        [RT_LINK_SEND] = {1, 1},
        [RT_LINK_SWITCH_REDUCE] = {2, 1},
        [RT_LINK_ONE_SHOT] = {p - 1, p - 1},
        [RT_LINK_TWO_SHOT] = {p - 1, 2 * (p - 1) / p},
        [RT_LINK_DEEPEP] = {1, (p - 1) / p},
        [RT_LINK_DEEPEP_LL] = {0, (p - 1) / p},
    };
    return shapes[algorithm];
}

/* The same over servers: steps from GPU to GPU as if all were in one, further ones from server to server, and
 * what each GPU sends over the network of a message of 1. All of it grows where GPUs are added and
 * where as many of them are in more servers: a tree's log2 p is log2 q + log2 n. */
struct nodes_shape {
    double steps, node_steps, sent;
};

static struct nodes_shape nodes_shape_of(enum rt_link_algorithm algorithm, double p, double q)
{
    double n = ceil(p / q), ring = (p - 1) / p / q;
    const struct nodes_shape shapes[RT_LINK_ALGORITHMS] = {
        [RT_LINK_NODES_REDUCE] = {2 * log2(p), 2 * log2(n), 2 * ring},
        [RT_LINK_NODES_GATHER] = {p - 1, n - 1, ring},
        [RT_LINK_NODES_ALL_TO_ALL] = {p - 1, p - q, (p - q) / p},
        [RT_LINK_NODES_SEND] = {1, 1, 1},
    };
    return shapes[algorithm];
}

/* A smooth step from 0 to 1 at `at`. */
static double step_up(double value, double at, double power)
{
    double part = pow(value / at, power);
    return part / (1 + part);
}

/* DeepEP runs on 20 multiprocessors where nobody says otherwise (its buffer.py, Buffer.num_sms). */
static const double DEEPEP_SMS = 20;
/* What each of them sends in a cycle: 4 of them, far below what the link carries, send 68 to 76 GB/s on H100,
 * H200 and B200 in 16 bits, 8.7 to 9.6 bytes a cycle; 20 a B200's 306, 7.8. */
static const double DEEPEP_CYCLE_BYTES = 8;

/* Tokens go there in 8 bits; a kernel before that which brings them back, in 16, clears the queues (DeepEP,
 * csrc/kernels/intranode.cu, cached_notify_combine). */
static double deepep_kernels(const struct rt_call *call)
{
    return rt_dtypes[call->dtype].bytes > 1 ? 2 : 1;
}

/* Protocols are NCCL's: kernels of servers and switches have one. */
static bool has_protocols(enum rt_link_algorithm algorithm)
{
    return algorithm <= RT_LINK_SEND;
}

static bool is_over_servers(enum rt_link_algorithm algorithm)
{
    return algorithm >= RT_LINK_NODES_REDUCE;
}

/* Network time in us of what a GPU sends, at the whole rate. */
static double network_us(const struct rt_call *call, const struct rt_device *device, double sent)
{
    return 1e6 * sent * message_bytes(call) / (1e9 * network_gbs(call, device));
}

/* At what its payload is of that, and no more than the most. */
static double network_wire_us(const struct rt_call *call, const struct rt_device *device, double sent)
{
    const struct network *network = &networks[network_of(call)];
    bool all = call->op == RT_OP_ALL_TO_ALL;
    double gbs = network_gbs(call, device), most = all ? network->most_all_to_all : network->most,
           carried = fmin((all ? network->all_to_all : network->payload) * gbs, most);
    return network_us(call, device, sent) * gbs / carried;
}

static bool nodes_terms(const struct rt_call *call, const struct rt_device *device,
                        enum rt_link_algorithm algorithm, double term[RT_LINK_TERMS])
{
    double p = (double)gpus_of(call), q = (double)per_node(call, gpus_of(call));
    struct nodes_shape shape = nodes_shape_of(algorithm, p, q);
    const struct network *network = &networks[network_of(call)];
    double wire = network_wire_us(call, device, shape.sent), part = wire / fmax(1, shape.node_steps);
    memset(term, 0, RT_LINK_TERMS * sizeof *term);
    term[RT_LINK_STEP] = rt_cycles_us(device, 1000) * shape.steps;
    term[RT_LINK_WIRE] = wire;
    term[RT_LINK_NET_START] = network->latency;
    term[RT_LINK_NET_STEP] = network->latency * shape.node_steps;
    term[RT_LINK_NET_MIDDLE_STEP] = network->protocols * shape.node_steps * step_up(part, 3, 1);
    term[RT_LINK_NET_LARGE_STEP] = network->protocols * shape.node_steps * step_up(part, 16, 1);
    return isfinite(wire);
}

bool rt_link_terms_of(const struct rt_call *call, const struct rt_device *device,
                      enum rt_link_algorithm algorithm, double term[RT_LINK_TERMS])
{
    double p = (double)gpus_of(call), thousand = rt_cycles_us(device, 1000);
    if (is_over_servers(algorithm))
        return nodes_terms(call, device, algorithm, term);
    struct shape shape = shape_of(algorithm, p);
    double gbs = carried(call, device) * link_gbs(call, device);
    double wire = 1e6 * shape.sent * message_bytes(call) / (1e9 * gbs), part = wire / pieces(algorithm, p);
    memset(term, 0, RT_LINK_TERMS * sizeof *term);
    if (!(gbs > 0))
        return false;
    term[RT_LINK_START] = thousand;
    term[RT_LINK_STEP] = thousand * shape.steps;
    term[RT_LINK_HOP] = rt_fabric_is_pcie(fabric_of(call, device), gpus_of(call)) ? shape.steps : 0;
    term[RT_LINK_WIRE] = wire;
    if (algorithm == RT_LINK_DEEPEP) {
        double cycles = shape.sent * message_bytes(call) / (DEEPEP_SMS * DEEPEP_CYCLE_BYTES);
        term[RT_LINK_STEP] = thousand * deepep_kernels(call);
        term[RT_LINK_WIRE] = fmax(wire, rt_cycles_us(device, cycles));
    }
    if (!has_protocols(algorithm))
        return true;
    term[RT_LINK_MIDDLE] = thousand * step_up(part, 0.06, 1);
    term[RT_LINK_LARGE] = thousand * step_up(part, 2.7, 2);
    term[RT_LINK_FILL] = thousand * step_up(part, 64, 1);
    for (int t = RT_LINK_MIDDLE; t < RT_LINK_WIRE; t += 2)
        term[t + 1] = term[t] * shape.steps;
    term[RT_LINK_WIRE_SPLIT] = part;
    return true;
}

static bool is_floating(const struct rt_call *call)
{
    return call->dtype == RT_FP64 || call->dtype == RT_FP32 || call->dtype == RT_FP16 ||
           call->dtype == RT_BF16;
}

/* NVLink SHARP: switches add up floating-point numbers. Groups of four do not gain by it: H100s
 * reach 360 GB/s in such a ring, where 8 reach 461 with switches that add. */
static bool switch_reduces(const struct rt_call *call, const struct rt_device *device)
{
    return call->op == RT_OP_ALL_REDUCE && fabric_of(call, device) == RT_FABRIC_SWITCH &&
           rt_design_of(device)->switches_add && gpus_of(call) > 4 && is_floating(call);
}

/* vLLM's rule (vllm/distributed/device_communicators/custom_all_reduce.py, should_custom_ar): less than 8
 * MiB, at most 8 GPUs, two of them or all joined by NVLink. */
static bool server_reduces(const struct rt_call *call, const struct rt_device *device)
{
    int64_t gpus = gpus_of(call);
    enum rt_fabric fabric = fabric_of(call, device);
    bool joined = fabric == RT_FABRIC_SWITCH || fabric == RT_FABRIC_MESH;
    int64_t library = call->dim[RT_DIM_LIBRARY];
    return call->op == RT_OP_ALL_REDUCE &&
           (library == RT_LIBRARY_SERVER || library == RT_LIBRARY_SERVER_EAGER) &&
           message_bytes(call) < 8 * RT_MIB && gpus <= 8 && (gpus == 2 || joined) && !over_servers(call);
}

static enum rt_link_algorithm all_to_all_of(int64_t library)
{
    return library == RT_LIBRARY_DEEPEP      ? RT_LINK_DEEPEP
           : library == RT_LIBRARY_DEEPEP_LL ? RT_LINK_DEEPEP_LL
                                             : RT_LINK_ALL_TO_ALL;
}

/* NCCL's, or DeepEP's. */
static enum rt_link_algorithm ring_of(const struct rt_call *call)
{
    return call->op == RT_OP_ALL_REDUCE     ? RT_LINK_RING_REDUCE
           : call->op == RT_OP_ALL_TO_ALL   ? all_to_all_of(call->dim[RT_DIM_LIBRARY])
           : call->op == RT_OP_SEND_RECEIVE ? RT_LINK_SEND
                                            : RT_LINK_RING_GATHER;
}

static enum rt_link_algorithm nodes_algorithm(const struct rt_call *call)
{
    return call->op == RT_OP_ALL_REDUCE     ? RT_LINK_NODES_REDUCE
           : call->op == RT_OP_ALL_TO_ALL   ? RT_LINK_NODES_ALL_TO_ALL
           : call->op == RT_OP_SEND_RECEIVE ? RT_LINK_NODES_SEND
                                            : RT_LINK_NODES_GATHER;
}

enum rt_link_algorithm rt_link_chosen(const struct rt_call *call, const struct rt_device *device)
{
    const double kib = RT_KIB, bytes = message_bytes(call);
    int64_t gpus = gpus_of(call);
    if (over_servers(call))
        return nodes_algorithm(call);
    if (server_reduces(call, device)) /* csrc/custom_all_reduce.cuh of vLLM */
        return gpus == 2 || bytes < (gpus <= 4 ? 512 : 256) * kib ? RT_LINK_ONE_SHOT : RT_LINK_TWO_SHOT;
    if (switch_reduces(call, device) && bytes >= 4096 * kib)
        return RT_LINK_SWITCH_REDUCE;
    return ring_of(call);
}

static double algorithm_us(const struct rt_link_model *model, const struct rt_call *call,
                           const struct rt_device *device, enum rt_link_algorithm algorithm)
{
    double term[RT_LINK_TERMS], us = 0;
    if (!rt_link_terms_of(call, device, algorithm, term))
        return NAN;
    for (int t = 0; t < RT_LINK_TERMS; t++)
        us += model->coefficient[algorithm][t] * term[t];
    return us;
}

/* The copy to the buffer that a server's peers read, through the memory. */
static double copy_us(const struct rt_call *call, const struct rt_device *device)
{
    return 1e6 * 2 * message_bytes(call) / (1e9 * device->bandwidth_gbs);
}

static double nccl_us(const struct rt_link_model *model, const struct rt_call *call,
                      const struct rt_device *device)
{
    double us = algorithm_us(model, call, device, ring_of(call));
    if (switch_reduces(call, device))
        us = fmin(us, algorithm_us(model, call, device, RT_LINK_SWITCH_REDUCE));
    return us;
}

/* NCCL where that is faster, as servers have it from some size on. */
static double server_us(const struct rt_link_model *model, const struct rt_call *call,
                        const struct rt_device *device, bool queued)
{
    double us = fmin(algorithm_us(model, call, device, RT_LINK_ONE_SHOT),
                     algorithm_us(model, call, device, RT_LINK_TWO_SHOT)),
           nccl = nccl_us(model, call, device);
    if (call->dim[RT_DIM_LIBRARY] != RT_LIBRARY_SERVER_EAGER)
        return fmin(us, nccl);
    return fmax(fmin(us + copy_us(call, device), nccl), queued ? 0 : rt_link_host_us(model, call, device));
}

double rt_link_host_us(const struct rt_link_model *model, const struct rt_call *call,
                       const struct rt_device *device)
{
    bool launched = call->dim[RT_DIM_LIBRARY] == RT_LIBRARY_SERVER_EAGER && server_reduces(call, device);
    return launched ? model->host_us : 0;
}

double rt_link_one_server_us(const struct rt_link_model *model, const struct rt_call *call,
                             const struct rt_device *device, bool queued)
{
    return server_reduces(call, device) ? server_us(model, call, device, queued)
                                        : nccl_us(model, call, device);
}

double rt_link_nodes_us(const struct rt_link_model *model, const struct rt_call *call,
                        const struct rt_device *device)
{
    return over_servers(call) ? algorithm_us(model, call, device, nodes_algorithm(call)) : 0;
}

double rt_link_us(const struct rt_link_model *model, const struct rt_call *call,
                  const struct rt_device *device, bool queued)
{
    double bound = rt_link_bound_us(call, device);
    if (isnan(bound))
        return NAN;
    return fmax(bound, fmax(rt_link_one_server_us(model, call, device, queued),
                            rt_link_nodes_us(model, call, device)));
}

/* Of the part that goes on in each server; a message to each GPU there is q/p of one to all. */
static double server_bound_us(const struct rt_call *call, const struct rt_device *device)
{
    struct rt_call part = *call;
    double p = (double)gpus_of(call), q = (double)per_node(call, gpus_of(call));
    if (q < 2)
        return 0;
    part.dim[RT_DIM_GPUS] = (int64_t)q;
    enum rt_link_algorithm algorithm = switch_reduces(call, device) ? RT_LINK_SWITCH_REDUCE : ring_of(call);
    double gbs = link_gbs(&part, device), sent = shape_of(algorithm, q).sent;
    sent *= call->op == RT_OP_ALL_TO_ALL ? q / p : 1;
    return gbs > 0 ? 1e6 * sent * message_bytes(call) / (1e9 * gbs) : NAN;
}

/* Of what GPUs must send to other servers: reduced within each before, gathered there after it. */
static double nodes_bound_us(const struct rt_call *call, const struct rt_device *device)
{
    double p = (double)gpus_of(call), q = (double)per_node(call, gpus_of(call));
    double sent = call->op == RT_OP_SEND_RECEIVE ? 1
                  : call->op == RT_OP_ALL_TO_ALL ? (p - q) / p
                                                 : (p - q) / (p * q);
    return network_us(call, device, call->op == RT_OP_ALL_REDUCE ? 2 * sent : sent);
}

double rt_link_bound_us(const struct rt_call *call, const struct rt_device *device)
{
    double server = server_bound_us(call, device);
    return over_servers(call) && !isnan(server) ? fmax(server, nodes_bound_us(call, device)) : server;
}

/* Share of the wire in a ring's time by the prior. */
static double wire_share(const struct rt_call *call, const struct rt_device *device)
{
    enum rt_link_algorithm ring = ring_of(call);
    double term[RT_LINK_TERMS], us = algorithm_us(&rt_link_prior, call, device, ring);
    if (!rt_link_terms_of(call, device, ring, term))
        return 0;
    const double *coefficient = rt_link_prior.coefficient[ring];
    return (coefficient[RT_LINK_WIRE] * term[RT_LINK_WIRE] +
            coefficient[RT_LINK_WIRE_SPLIT] * term[RT_LINK_WIRE_SPLIT]) /
           us;
}

/* How often GPUs double from a pair to all of a host, 0..1. */
static double doublings(const struct rt_call *call)
{
    return log2(pairs_on_bridges(gpus_of(call))) / 2;
}

double rt_link_start_share(const struct rt_call *call, const struct rt_device *device)
{
    return 1 - wire_share(call, device);
}

double rt_link_bridge_share(const struct rt_call *call, const struct rt_device *device)
{
    bool shared = shares_bridges(fabric_of(call, device));
    return shared ? doublings(call) * wire_share(call, device) : 0;
}

double rt_link_steps_share(const struct rt_call *call, const struct rt_device *device)
{
    return doublings(call) * rt_link_start_share(call, device);
}

double rt_link_server_width(const struct rt_call *call, const struct rt_device *device)
{
    bool shared = shares_bridges(fabric_of(call, device));
    return shared ? log(4) * wire_share(call, device) * (1 + doublings(call)) / 2 : 0;
}
