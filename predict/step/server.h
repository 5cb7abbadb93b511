/*
 * LLM servers as rows: which requests go into a step, what the host takes for it beside the GPU's kernels,
 * and how much of a GPU's memory is the cache's. Kernels of all of them are those of the runtime "serving". A
 * row is named by the year of the version that was measured, or by the version; a project's name alone,
 * "vllm", means its newest row. Times of the host are of the machines that were measured; a faster one takes
 * less.
 */
#pragma once

#include "datasets/device.h"
#include "datasets/fields.h"

#include <stdbool.h>
#include <stdint.h>

struct rt_text;

/* What goes into a step, and who waits. Of one attention group (attention data parallel), where there are
 * several. */
struct rt_scheduler {
    int64_t budget;      /* tokens of a step that prefills: of chunks, and of the decodes beside them */
    int64_t sequences;   /* at most that run at once */
    int64_t block;       /* tokens of a block of the cache */
    double memory_share; /* of the GPU's memory that weights, activations and cache may take */
    /* Who waits comes in where all of its prompt and output fit beside this share of what the outputs of
     * those that run will still take: 1: nobody is preempted; 0: where the prompt alone fits. */
    double reserve;
    int64_t graph_most; /* decode batches up to this run as CUDA graphs; 0: none do */
    bool graph_pieces;  /* so do, but for attention, steps with prompts of up to as many tokens */
    /* Chunks of prompts and decodes in one step; else prompts of all that wait go before the next decode
     * step: sequences of one length then begin and end together, and the mean of them waits for half of the
     * others' prompts while it decodes. */
    bool mixed;
    bool chunked;       /* prompts longer than the budget are cut; else the first goes as a whole */
    bool budget_shared; /* attention groups share the budget; else each has its own */
    bool prefix_cache;  /* blocks of prompts stay for others until their room is needed */
    bool keeps;         /* so do, for itself, those of a request that was preempted */
    int64_t poll; /* who comes is noticed after a prefill, else every so many steps that decode alone; 0:
                     every one */
    bool gathers; /* those steps count from whom it does not know on, after a prefill too: prompts that come
                     meanwhile go together */
};

struct rt_server {
    const char *name;
    enum rt_server_project project; /* whose scheduler it has: rt_server_scheduler */
    double step_us;                 /* of the host in every step, not hidden behind the GPU */
    double sequence_us;             /* for each sequence of it */
    double sampler_us;              /* of that, in which GPUs sample, at the bandwidth of their memory */
    double parallel_us;             /* more where several GPUs share a model */
    double gpu_us;                  /* more for each GPU beside the first of a stage */
    double launch_us;   /* of a kernel, one by one: rt_forecast_options.host_us; 0: as CUDA graphs */
    double eager_us;    /* of an operator of a step with prompts, which no graph holds; 0: behind the GPU */
    double experts_us;  /* of a layer of experts of such a step, beside its operators: routing, permuting,
                           launching one product after the other */
    bool experts_fused; /* but that layer is one launch on GPUs that have units for 4 bits */
    double ln_load;     /* half-width at 90%, in ln, of what runs under load are off by beside kernels */
    double
        request_us; /* of a request, beside the steps: HTTP, tokenizer, the way to the scheduler and back */
};

/* The row of a name, case and separators ignored: its own, or a project's for the newest. RT_ENOTFOUND with
 * the names that there are. */
int rt_server_find(const char *name, const struct rt_server **out);

/* .read of rows of options (base/options.h): a name sets a const struct rt_server *. RT_EUSAGE. */
int rt_server_argument(const char *option, const char *text, void *value);
void rt_server_suggest(struct rt_text *list); /* and .suggests */

/* The server that is taken where none is named: the newest of vLLM. */
const struct rt_server *rt_server_default(void);

/* A server whose host is hidden behind the GPU. */
const struct rt_server *rt_server_hidden(void);

/* The server of a measured run, as its attribute `backend` has it. A project's name alone says no version, so
 * its host is not known and is taken as hidden, as that of what is no row, NULL and "". */
const struct rt_server *rt_server_of_run(const char *backend);

/* All names, for help and for sentences. */
#define RT_SERVER_NAMES                                                                                      \
    "vllm-2025, vllm-2025-web, vllm-2024, vllm-0.5, vllm-2023, sglang-2025, tensorrt-llm-2025, "             \
    "tensorrt-llm-2024, hidden (vLLM without a host); vllm, sglang and tensorrt-llm (or trtllm) are the "    \
    "newest"

/* What the server chooses by the GPU's memory and the number of GPUs that share a model (server.c has the
 * sources); NULL device: of 80 GiB. */
struct rt_scheduler rt_server_scheduler(const struct rt_server *server, const struct rt_device *device,
                                        int64_t tensor);

/* The captured batch that so many decodes run in; 0: none. Sizes 1, 2, 4, then every 8, above 256 every 16.
 */
int64_t rt_scheduler_padded(const struct rt_scheduler *scheduler, int64_t decodes);

/* What the host adds to a step of so many sequences on so many GPUs, in a pipeline of so many stages. */
double rt_server_step_us(const struct rt_server *server, int64_t sequences, int64_t gpus, int64_t stages);

/* Of it, the time in which a GPU is busy all the same, with what graphs do not have (sampling, copies,
 * launches one by one): 0.4 of all but what further GPUs add. ML.ENERGY's servers draw 200 to 300 W on an
 * H100 whose kernels fill a tenth of the time; 0.3, 0.4 and 0.5 were judged with each GPU left out
 * (docs/log/energy.md). All of the sampler's. */
double rt_server_busy_us(const struct rt_server *server, int64_t sequences);

/* Bytes of a GPU's memory that are left for the cache of keys and values: of the scheduler's share what
 * `taken` (weights and activations) and what lies beside the server leave. 0 or less: the model does not fit.
 * INFINITY where the device's memory is unknown. */
double rt_server_kv_allocation(const struct rt_scheduler *scheduler, double memory_gib, double taken_bytes);
