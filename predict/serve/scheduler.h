/* Schedulers of LLM servers as rows: what goes into a step, and who waits. */
#ifndef ROOFTILE_PREDICT_SERVE_SCHEDULER_H
#define ROOFTILE_PREDICT_SERVE_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

struct rt_scheduler {  /* of one attention group */
    const char *name;  /* "vllm" */
    int64_t budget;    /* tokens of a step: a prompt's decode tokens and chunks together; of a step that only
                          prefills where !mixed */
    int64_t sequences; /* at most that run at once */
    int64_t block;     /* tokens of a block of the cache */
    double memory_share; /* of the GPU's memory that weights, activations and cache may take */
    double reserve; /* a request is admitted where its prompt and this share of its output fit beside those of
                       the others: 0 as vLLM, 1: nobody is preempted (TensorRT-LLM's guaranteed no evict) */
    int64_t graph_most; /* decode batches up to this run as CUDA graphs; 0: none do */
    bool mixed;         /* chunks of prompts and decodes in one step; else steps that prefill go first */
    bool chunked;       /* prompts longer than the budget are cut; else they go as a whole, alone */
    bool budget_shared; /* attention groups share the budget; else each has its own */
    bool prefix_cache;  /* blocks of prompts stay for others until their room is needed */
};

/* The row of a name, case and separators ignored; NULL: none. */
const struct rt_scheduler *rt_scheduler_named(const char *name);
/* "vllm, sglang or tensorrt-llm" */
extern const char rt_scheduler_names[];

/* The captured batch that so many decodes run in; 0: none. Sizes 1, 2, 4, then every 8, above 256 every 16.
 */
int64_t rt_scheduler_padded(const struct rt_scheduler *scheduler, int64_t decodes);

#endif
