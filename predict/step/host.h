/*
 * Hosts as rows: what the CPU and the framework take while a GPU runs a step. Launches are dispatched one
 * after the other, so kernels that are shorter than their dispatch wait (step.h); inputs are copied over what
 * joins host and device. A host is a row of the table, a JSON file with the same names, or a dataset in which
 * `rooftile collect` measured copies.
 */
#pragma once

#include "datasets/device.h"
#include "datasets/run_attributes.h"
#include "models/networks/graph.h"

#include <stdbool.h>
#include <stddef.h>

struct rt_names;
struct rt_text;

struct rt_host {
    char name[64];
    double ghz;         /* the processor's highest clock, where that is all that is known; 0: it is not */
    double forward_us;  /* to dispatch an operator of the forward pass, down to the launch of its kernel */
    double backward_us; /* the same of the backward pass: an operator's gradients, or what accumulates them */
    double launch_us;   /* of each further kernel of an operator: the driver alone */
    double optimizer_us; /* of the optimizer's step, for each layer with weights */
    double step_us;      /* once a step, before the first launch */
    double staged; /* times as long all of them take, for each tensor-parallel GPU, where pipeline stages are
                    * on several servers; 0, or what makes it less than once: as elsewhere */
    double pageable_gbs; /* what a copy from memory that is not page-locked reaches at most, 10^9 bytes/s */
    double pinned_gbs;   /* the same of page-locked memory; NaN: as the link has it */
    double context_mib;  /* of the device's memory, beside what each SM takes, where it was measured; NaN: as
                          * the  runtime has it */
};

/* A row of the table by name, case and separators ignored; NULL where there is none. */
const struct rt_host *rt_host_named(const char *name);

/* The host that is taken where none is named: the first row. */
const struct rt_host *rt_host_default(void);

/* The host of a runtime, where none is named. */
const struct rt_host *rt_host_of_runtime(enum rt_runtime_id runtime);

/* "epyc-7742, xeon-2.2ghz ...": the names. Free with free(). */
char *rt_host_names(void);

/* What --host means: a row's name, JSON (one object; what it leaves out is the default's), a path of it, or
 * of a dataset, whose copies set pageable_gbs and pinned_gbs. RT_ENOTFOUND, RT_EIO or RT_EFORMAT with a
 * sentence.
 */
int rt_host_find(const char *spec, struct rt_host *out);
/* .reads of rows (base/options.h): adds the file that such a text names; a row's name names none. */
void rt_host_reads(const char *spec, struct rt_names *paths);
void rt_host_suggest(struct rt_text *list); /* .suggests of rows: base/options.h */

/* What a step's launches take on the host, us. All 0: the host is never in the way. */
struct rt_dispatch {
    double step_us;                 /* once, before the first launch */
    double first_us;                /* once a pass: the replay of a CUDA graph */
    double forward_us, backward_us; /* the first kernel of a node in a phase */
    double launch_us;               /* each further one */
    double optimizer_us;            /* each layer with weights */
};

/* How a host launches: kernel by kernel, or as CUDA graphs that were captured before, one launch each. */
struct rt_dispatch rt_host_dispatch(const struct rt_host *host, bool replayed);

/* The time of a copy of so many bytes, us; 0 for RT_TRANSFER_NONE. Page-locked memory reaches 0.75 of the
 * link: 12 of 16 GB/s on 16 lanes of PCIe 3.0 (NVIDIA, CUDA C++ Best Practices Guide, "Pinned Memory"); other
 * memory goes through a buffer of the driver at the host's rate, never faster. NaN where nothing says how
 * fast the link is. */
double rt_host_copy_us(const struct rt_host *host, const struct rt_device *device, enum rt_transfer copy,
                       double bytes);
