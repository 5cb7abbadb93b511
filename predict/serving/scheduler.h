/* Schedulers of LLM servers as rows: what goes into a step, and who waits. */
#ifndef ROOFTILE_PREDICT_SERVING_SCHEDULER_H
#define ROOFTILE_PREDICT_SERVING_SCHEDULER_H

#include "datasets/device.h"

#include <stdbool.h>
#include <stdint.h>

/* Of one attention group (attention data parallel), where there are several. */
struct rt_scheduler {
    const char *name;    /* "vllm" */
    int64_t budget;      /* tokens of a step that prefills: of chunks, and of the decodes beside them */
    int64_t sequences;   /* at most that run at once */
    int64_t block;       /* tokens of a block of the cache */
    double memory_share; /* of the GPU's memory that weights, activations and cache may take */
    /* Who waits comes in where all of its prompt and output fit beside this share of what the outputs of
     * those that run will still take: 1: nobody is preempted; 0: where the prompt alone fits. */
    double reserve;
    int64_t graph_most; /* decode batches up to this run as CUDA graphs; 0: none do */
    bool mixed;         /* chunks of prompts and decodes in one step; else steps that prefill go first */
    bool chunked;       /* prompts longer than the budget are cut; else the first goes as a whole */
    bool budget_shared; /* attention groups share the budget; else each has its own */
    bool prefix_cache;  /* blocks of prompts stay for others until their room is needed */
};

/* The row of a name, case and separators ignored, with what the server chooses by the GPU's memory and the
 * number of GPUs that share a model (scheduler.c has the sources); NULL device: of 80 GiB. RT_ENOTFOUND with
 * the names there are. */
int rt_scheduler_find(const char *name, const struct rt_device *device, int64_t tensor,
                      struct rt_scheduler *out);

/* The captured batch that so many decodes run in; 0: none. Sizes 1, 2, 4, then every 8, above 256 every 16.
 */
int64_t rt_scheduler_padded(const struct rt_scheduler *scheduler, int64_t decodes);

#endif
