/*
 * How a run of a whole model was served, as attributes of its group say it. All of them are optional:
 *
 *   runtime         what ran it: eager-math, eager, eager-2.4, eager-1.13, eager-1.4, graph, compile, serving
 *                   (models/networks/graph.h has the table)
 *   backend         which program that was: vllm, sglang, tensorrt-llm; errors are reported by it
 *   lengths         "2648,3740": new tokens of each sequence of a prefill or a generation; else `sequence`
 *                   of each
 *   contexts        tokens that are cached of each sequence before the step; else `sequence` (decode) or none
 *   output          tokens that a generation makes of each sequence; the first one comes out of its prefill
 *   prompt          of a decode step, with output: the mean over a server's steps under steady load, where
 *                   after `output` tokens of a sequence another one takes its place, whose prompt of so many
 *                   tokens is prefilled between or beside the decode steps
 *   fabric          what joined its GPUs: switch, mesh, pairs, pcie ... (fabric.h); else as the device says
 *   quant           dtype of the layers' products with weights; else the run's
 *   kv_cache        dtype of cached keys and values; else the run's
 *   image           models of images: side in pixels; else the model's own
 *   layout          of images: nchw or nhwc (channels last); else nchw
 *   autocast        1: torch.autocast in the run's dtype, weights in fp32; else 0
 *   input           is its copy to the device in the time, and from what memory: none, pageable, pinned
 *   optimizer       whose step is in the time of training: none, sgd, adamw; else none
 *   host            which host launched it (predict/step/host.h has the table); else the runtime's
 *   power_limit_w   what its GPUs' power was limited to, W of one; else the board's power
 *
 * and what was measured beside its time:
 *
 *   memory_allocated_mib, memory_reserved_mib, memory_used_mib
 *              the most that its tensors took, that the framework's allocator had of the driver, that the
 *              device had in use (nvidia-smi, DCGM), MiB
 *   out_of_memory   1: it did not fit, and has no time
 *   power_w         the mean power of one of its GPUs, W
 */
#pragma once

#include "datasets/dataset.h"
#include "datasets/fabric.h"

/* Their names: what tells two runs of one model apart beside the columns of /workloads. */
extern const char *const rt_run_attribute_names[];
extern const size_t rt_run_attribute_count;

/* Memory of the device, as it was measured: tensors, the allocator's, the device's. */
enum rt_memory_column { RT_MEMORY_ALLOCATED, RT_MEMORY_RESERVED, RT_MEMORY_USED, RT_MEMORY_COLUMNS };
extern const char *const rt_memory_attributes[RT_MEMORY_COLUMNS]; /* "memory_allocated_mib", ... */
extern const char rt_out_of_memory_attribute[];
extern const char rt_power_attribute[]; /* "power_w" */

/* Memory of the host that inputs and results are copied from and to. */
enum rt_transfer { RT_TRANSFER_NONE, RT_TRANSFER_PAGEABLE, RT_TRANSFER_PINNED, RT_TRANSFER_COUNT };
extern const char *const rt_transfers[RT_TRANSFER_COUNT]; /* "none", "pageable", "pinned" */

struct rt_run_attributes {
    const char *runtime, *backend;        /* of the dataset; NULL: not said */
    int64_t *lengths, *contexts;          /* (batch); NULL: not said */
    int64_t output, prompt;               /* -1: not said */
    int quant, kv_cache;                  /* enum rt_dtype; -1: not said */
    enum rt_fabric fabric;                /* RT_FABRIC_OWN: not said */
    int64_t image, image_width;           /* sides in pixels; -1: not said, or a square */
    int64_t frames, steps;                /* of diffusion pipelines; -1: not said */
    bool channels_last, autocast;         /* not said: no */
    enum rt_transfer input;               /* RT_TRANSFER_NONE: not said */
    const char *optimizer, *host;         /* of the dataset; NULL: not said */
    double memory_mib[RT_MEMORY_COLUMNS]; /* NaN: not measured */
    bool out_of_memory;
    double power_limit_w, power_w; /* of one GPU; NaN: not said */
};

enum { RT_MOST_LISTED = 65536 };                      /* sequences of a list */
enum { RT_MOST_PIXELS = 16384 };                      /* of a side of an image */
enum { RT_MOST_FRAMES = 1024, RT_MOST_STEPS = 1000 }; /* of a video; of denoising */

/* Reads them. RT_EFORMAT where one is malformed or does not fit the run: a list that has not one number per
 * sequence, a generation without output. Release with rt_run_attributes_release. */
int rt_run_attributes_read(const struct rt_dataset *dataset, const struct rt_workload *workload,
                           struct rt_run_attributes *out);
void rt_run_attributes_release(struct rt_run_attributes *attributes);

/* The measured mean power of one of the run's GPUs, W: what they say, else by the energy of all of them
 * (gpus); NaN: neither is there. */
double rt_run_watts(const struct rt_workload *workload, const struct rt_run_attributes *attributes,
                    double gpus);

/* Reads them for their errors alone: RT_OK or RT_EFORMAT. */
int rt_run_attributes_check(const struct rt_dataset *dataset, const struct rt_workload *workload);
