/* A measured run of a whole model (struct rt_workload): its name, kind, and how it was split. */
#pragma once

#include "datasets/dataset.h"
#include "models/networks/step.h"

enum rt_workload_kind {
    RT_KIND_INFERENCE, /* one GPU, eager kernels */
    RT_KIND_TRAINING,
    RT_KIND_FUSION,
    RT_KIND_DISTRIBUTED,
    RT_KIND_PREFILL,    /* by a server, on one GPU or several; so the two after it */
    RT_KIND_DECODE,     /* one step, whatever runs it */
    RT_KIND_GENERATION, /* a prefill and its decode steps */
    RT_KIND_COUNT
};
extern const char *const rt_workload_kinds[RT_KIND_COUNT];

/* Reads a run's option into its request: "", "fusion", "dp4", "tp2", "ep2" (experts), "adp2" (attention data
 * parallel), "pp4_8" (4 stages, 8 microbatches), "kernels" (launched one behind the other without a
 * framework: rooftile collect --model; its host_us is 0), or several with "-" between. False, and nothing
 * set, where the text is anything else. */
bool rt_workload_option(const char *option, struct rt_step *step);

/* Reads into it what the run says of how it ran: its option, and each attribute whose name is a field of a
 * step (rt_step_set: tp, cp, shard, node_gpus ...). RT_EFORMAT: one of them is malformed. */
int rt_workload_request(const struct rt_dataset *dataset, const struct rt_workload *workload,
                        struct rt_step *step);

/* A plain run: on one GPU without fusion, or by a server on GPUs that share every layer (tensor parallel).
 * Calibration from runs takes these: what is fitted is the GPU's. */
bool rt_workload_is_plain(const struct rt_dataset *dataset, const struct rt_workload *workload);

/* What ran it, by its attributes "runtime" and "software" (eager-math of PyTorch 1 is eager-1.13, eager of
 * PyTorch before 2.5 eager-2.4). Without one: eager-1.13, for NeuSight's runs add up gradients as that does,
 * of decode steps and generations serving. RT_RUNTIME_COUNT: by a runtime that this build does not know. */
enum rt_runtime_id rt_workload_runtime(const struct rt_dataset *dataset, const struct rt_workload *workload);

enum rt_workload_kind rt_workload_kind_of(const struct rt_workload *workload, const struct rt_step *step);

/* The sum of all nodes measured alone, us; training needs both passes. NaN where it was not measured. */
double rt_workload_floor_us(const struct rt_workload *workload);

/* Texts of a run, borrowed from its dataset. */
struct rt_workload_name {
    const char *device, *model, *option;  /* option: "" plain */
    const char *output, *image, *backend; /* attributes (datasets/run_attributes.h); "": not said */
};
struct rt_workload_name rt_workload_name(const struct rt_dataset *dataset,
                                         const struct rt_workload *workload);

/* "gpt2_large-train-1024-4-dp4": model, "inf", "train", "dec" or "gen", sequence (of a generation with its
 * output, "1024+128"; of images their side, where that is said), batch, option; as NeuSight's published files
 * are named. Free with free(). */
char *rt_workload_title(const struct rt_workload *workload, const struct rt_workload_name *name);

/* Did both run the same, each on its device: title, dtype, runtime? */
bool rt_workload_is_same(const struct rt_dataset *dataset, const struct rt_workload *a,
                         const struct rt_workload *b);

/* Do two runs differ in their power limit alone? Copies of a run (attribute run) are others. */
bool rt_workload_same_but_limit(const struct rt_dataset *dataset, const struct rt_workload *a,
                                const struct rt_workload *b);
