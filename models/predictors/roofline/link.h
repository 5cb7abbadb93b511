/*
 * What a collective takes on the links between GPUs. An algorithm sends data in steps; its time is a sum of
 * terms, each of which grows with nothing but the message and shrinks with nothing but hardware:
 *
 *   time = (start + step x steps + sum over protocols of step-ups) x 1000 cycles + hop x steps over PCIe
 *          + wire x (bytes / bandwidth)
 *
 * with coefficients that are the same on every GPU (rt_link_prior, or fitted: train/fit_links.h). The kernels
 * of NCCL run on multiprocessors, so that what they take beside the wire is in cycles: A100 and H100 agree on
 * it to a tenth, in us they are 1.5 apart. A protocol that is made for larger messages starts slower (NCCL's
 * LL, LL128, Simple; src/graph/tuning.cc of NCCL chooses by size): a step-up is a smooth one in the wire time
 * of a step, so that time never falls where a message grows or a link slows down.
 */
#pragma once

#include "datasets/call.h"
#include "datasets/device.h"

#include <stdbool.h>

enum rt_link_algorithm {
    RT_LINK_RING_REDUCE,   /* all-reduce in 2 (p-1) steps (Thakur, Rabenseifner and Gropp 2005) */
    RT_LINK_RING_GATHER,   /* all-gather and reduce-scatter in p-1 */
    RT_LINK_ALL_TO_ALL,    /* a message to each peer */
    RT_LINK_SEND,          /* a message to one */
    RT_LINK_SWITCH_REDUCE, /* all-reduce by the switches (NVLink SHARP): a GPU sends its message once */
    RT_LINK_ONE_SHOT,      /* a server's all-reduce: a GPU reads the messages of all others */
    RT_LINK_TWO_SHOT,      /* the same as a reduce-scatter and an all-gather, in one kernel */
    RT_LINK_DEEPEP,        /* tokens to the GPUs of their experts, by few multiprocessors */
    RT_LINK_DEEPEP_LL,     /* the same by as many as there are experts for */
    /* Over servers: */
    RT_LINK_NODES_REDUCE, /* all-reduce up and down two trees of servers (Sanders, Speck and Traff 2009) */
    RT_LINK_NODES_GATHER, /* all-gather and reduce-scatter in a ring of all GPUs */
    RT_LINK_NODES_ALL_TO_ALL,
    RT_LINK_NODES_SEND,
    RT_LINK_ALGORITHMS
};
extern const char *const rt_link_algorithms[RT_LINK_ALGORITHMS];

enum rt_link_term {
    RT_LINK_START,  /* 1000 cycles */
    RT_LINK_STEP,   /* for each step */
    RT_LINK_HOP,    /* us for each step that goes through PCIe */
    RT_LINK_MIDDLE, /* 1000 cycles: step-up from 0.06 us of wire time a step */
    RT_LINK_MIDDLE_STEP,
    RT_LINK_LARGE, /* from 2.7 us */
    RT_LINK_LARGE_STEP,
    RT_LINK_FILL, /* from 64 us */
    RT_LINK_FILL_STEP,
    RT_LINK_WIRE,       /* bytes over what the fabric carries of them; at least 1 */
    RT_LINK_WIRE_SPLIT, /* the same over p-1: small groups use fewer channels */
    /* Over servers, in us of the network's latency: */
    RT_LINK_NET_START,
    RT_LINK_NET_STEP,        /* for each step from server to server */
    RT_LINK_NET_MIDDLE_STEP, /* the same: step-up from 3 us of wire time a step, in us of its protocols */
    RT_LINK_NET_LARGE_STEP,  /* from 16 us */
    RT_LINK_TERMS
};
extern const char *const rt_link_terms[RT_LINK_TERMS];

struct rt_link_model {
    double coefficient[RT_LINK_ALGORITHMS][RT_LINK_TERMS]; /* >= 0 */
    double host_us; /* that an all-reduce of a server takes at least where the host launches it */
};

/* Fitted to all measurements that docs/log/links.md names: what a predictor without a fit of its own takes.
 */
extern const struct rt_link_model rt_link_prior;

/* The terms of an algorithm, 0 where it has none of one. False where the device has no link for the call's
 * fabric. `call`: of a collective. */
bool rt_link_terms_of(const struct rt_call *call, const struct rt_device *device,
                      enum rt_link_algorithm algorithm, double term[RT_LINK_TERMS]);

/* The algorithm that its library runs, by the numbers of GPUs and bytes: NCCL 2.27 to 2.29 and vLLM 0.14 to
 * 0.24, by their measured times. Fits take it; forecasts take the fastest of those that may run. */
enum rt_link_algorithm rt_link_chosen(const struct rt_call *call, const struct rt_device *device);

/* Time of a collective in us, no less than rt_link_bound_us; NaN where the link is unknown. `queued`: one of
 * many in a queue, so that the host does not show. */
double rt_link_us(const struct rt_link_model *model, const struct rt_call *call,
                  const struct rt_device *device, bool queued);

/* Its two parts, of which it takes the longer: what it would take if all GPUs were in one server, by those
 * that NVLink or PCIe join there; and over servers, 0 where they are in one. */
double rt_link_one_server_us(const struct rt_link_model *model, const struct rt_call *call,
                             const struct rt_device *device, bool queued);
double rt_link_nodes_us(const struct rt_link_model *model, const struct rt_call *call,
                        const struct rt_device *device);

/* What the host takes to launch it where it does: no GPU's effect scales it. */
double rt_link_host_us(const struct rt_link_model *model, const struct rt_call *call,
                       const struct rt_device *device);

/* Bytes that a GPU must send over the link of the data sheet: (p-1)/p of the message, all-reduce twice that
 * or, where switches may reduce, the message once. NaN where the link is unknown. Over servers of q GPUs, the
 * longer of that among q and of what must leave a server through its network: (p-q)/p of the message, by q
 * GPUs together; all-reduce twice that, all-to-all all of it by each. */
double rt_link_bound_us(const struct rt_call *call, const struct rt_device *device);

/* Shares, 0..1, by which device effects mix in a call's time.
 *
 * Start: what is not wire in a ring's time by the prior, and the rest. So mixed, no message is faster than a
 * shorter one and no link slower than a lesser one while the two effects differ by less than 1: of a wire's
 * share w the time grows by w (1 + (wire - start) (1 - w)).
 * Bridges (RT_EFFECT_DEPTH): wire times how often GPUs double from a pair to the eight of a host; 0 where
 * they do not share host bridges. An effect of ln 4 is a server whose GPUs' part falls with the square of how
 * many they are, -ln 4 one where all are peers. Steps (RT_EFFECT_NARROW): the same of starting up. */
double rt_link_start_share(const struct rt_call *call, const struct rt_device *device);
double rt_link_bridge_share(const struct rt_call *call, const struct rt_device *device);
double rt_link_steps_share(const struct rt_call *call, const struct rt_device *device);

/* ln of the 90% interval that host bridges of an unknown server leave: wire times ln 2 of a pair (0.36 to
 * 0.75 of the link are measured), ln 4 of eight (from peers to the square). */
double rt_link_server_width(const struct rt_call *call, const struct rt_device *device);
