/*
 * What fits: the largest batch of a step that a device's memory holds, and what each change of the step
 * would take where it does not fit. Memory alone is asked for (memory.h), no predictor.
 */
#pragma once

#include "base/report.h"
#include "models/networks/source.h"
#include "predict/step/forecast.h"

/* A step whose graph is built anew for each batch and change; all is borrowed. */
struct rt_fit_case {
    const struct rt_model_source *source;
    struct rt_graph_options step;       /* its batch follows */
    int64_t layers;                     /* of operator graphs: rt_model_source_graph */
    int64_t batch;                      /* sequences or images of the step, over all GPUs */
    struct rt_forecast_options options; /* how it is split, and its host */
    const struct rt_device *device;
};

struct rt_fit_memory {
    bool fits;
    double used_bytes, device_bytes; /* on the device that needs most; NaN: unknown */
    struct rt_graph_memory memory;   /* its tensors by part */
};

/* Sequences that the batch is divided into parts of: --dp x --microbatches x --attention-dp. */
int64_t rt_fit_parts(const struct rt_fit_case *fit);

/* RT_EUSAGE where the batch cannot be divided, and the errors of rt_graph_build. */
int rt_fit_of(const struct rt_fit_case *fit, struct rt_fit_memory *out);

enum { RT_FIT_MOST_BATCH = 1 << 24 };

/* The largest multiple of rt_fit_parts, RT_FIT_MOST_BATCH at most, that fits, found by halving: it fits and
 * the next does not. More of a batch takes no less tensors; the allocator's blocks may fit them better, by 1%
 * of the memory, so that a batch just beyond may fit once more. */
struct rt_fit_largest {
    int64_t batch;                 /* 0: not even the least fits */
    struct rt_fit_memory at, next; /* of that batch, and of the one that is a part more */
    const char *limit; /* which tensors grow most between the two: "activations", "cache" ...; "" none */
};
int rt_fit_largest(const struct rt_fit_case *fit, struct rt_fit_largest *out);

/* A change of a step, as fields of a request or options of `predict` (rt_field_words). */
struct rt_fit_change {
    char words[96]; /* "batch 12", "--recompute layers --shard parameters" */
    struct rt_fit_memory fit;
};
enum { RT_FIT_CHANGES = 12 };

/* Changes that take less memory, each alone, in the order in which one would try them. Those that the model
 * or the device cannot have are left out. Where it fits with none of them, the last is several together.
 * Returns how many. */
size_t rt_fit_changes(const struct rt_fit_case *fit, struct rt_fit_change out[RT_FIT_CHANGES]);

/* What a prediction says of it. */
struct rt_fit_advice {
    bool searched; /* --max-batch */
    struct rt_fit_largest largest;
    struct rt_fit_change changes[RT_FIT_CHANGES]; /* where the step does not fit */
    size_t change_count;
};
void rt_fit_report(struct rt_report *report, const struct rt_fit_advice *advice);
