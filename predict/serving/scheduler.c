/* The table of schedulers. See scheduler.h. */
#include "predict/serving/scheduler.h"
#include "base/status.h"
#include "base/strings.h"

#include <math.h>

/*
 * Defaults of the servers, as their code has them (2025, 2026):
 *
 *   vllm          V1. EngineArgs.get_batch_defaults (vllm/engine/arg_utils.py): 8192 tokens and 1024 sequences
 *                 for the API server on GPUs of 70 GiB and more but the A100, else 2048 and 256. Blocks of 16
 *                 tokens, gpu_memory_utilization 0.9 (CacheConfig). Decodes come first, then chunks of
 *                 prompts; who waits comes in where its prompt fits; who came last is preempted and computed
 *                 again (vllm/v1/core/sched/scheduler.py). Graphs up to min(2 x sequences, 512)
 *                 (VllmConfig._set_cudagraph_sizes).
 *   sglang        ServerArgs (python/sglang/srt/server_args.py): chunked_prefill_size 2048 below 35 GiB, 4096
 *                 below 60, 8192 below 160, else 16384, divided over attention groups; cuda_graph_max_bs 24
 *                 (80 from four GPUs a model on), 32 (160), 256 (512), 512. Prompts go before decodes, not
 *                 beside them (enable_mixed_chunk is off; Scheduler.get_next_batch_to_run). Pages of 1 token,
 *                 4096 requests (max_running_requests), new_token_ratio 0.7 x 0.14 once it has fallen
 *                 (environ.py). mem_fraction_static is 0.88, or what leaves 10 GiB and more, but holds no
 *                 activations.
 *   tensorrt-llm  BuildConfig and TorchLlmArgs (tensorrt_llm/llmapi/llm_args.py): max_num_tokens 8192,
 *                 max_batch_size 2048, tokens_per_block 32, free_gpu_memory_fraction 0.9 (of what weights
 *                 leave), enable_chunked_prefill off, capacity_scheduler_policy GUARANTEED_NO_EVICT,
 *                 cuda_graph_config.max_batch_size 128 (with enable_padding, which benchmarks set).
 */
static const struct rt_scheduler schedulers[] = {
    {.name = "vllm",
     .budget = 8192,
     .sequences = 1024,
     .block = 16,
     .memory_share = 0.9,
     .graph_most = 512,
     .mixed = true,
     .chunked = true,
     .prefix_cache = true},
    {.name = "sglang",
     .budget = 8192,
     .sequences = 4096,
     .block = 1,
     .memory_share = 0.88,
     .reserve = 0.7 * 0.14,
     .graph_most = 256,
     .chunked = true,
     .budget_shared = true,
     .prefix_cache = true},
    {.name = "tensorrt-llm",
     .budget = 8192,
     .sequences = 2048,
     .block = 32,
     .memory_share = 0.9,
     .reserve = 1,
     .graph_most = 128,
     .mixed = true,
     .prefix_cache = true},
};
enum { VLLM, SGLANG };

static void choose_vllm(const struct rt_device *device, struct rt_scheduler *scheduler)
{
    if (device->memory_gib >= 70 && !rt_name_contains(device->name, "A100"))
        return;
    scheduler->budget = 2048;
    scheduler->sequences = 256;
}

static void choose_sglang(const struct rt_device *device, int64_t tensor, struct rt_scheduler *scheduler)
{
    static const struct {
        double below_gib;
        int64_t budget, graphs, graphs_of_four;
    } rows[] = {{35, 2048, 24, 80}, {60, 4096, 32, 160}, {160, 8192, 256, 512}, {INFINITY, 16384, 512, 512}};
    size_t r = 0;
    while (device->memory_gib >= rows[r].below_gib)
        r++;
    scheduler->budget = rows[r].budget;
    scheduler->graph_most = tensor < 4 ? rows[r].graphs : rows[r].graphs_of_four;
}

int rt_scheduler_find(const char *name, const struct rt_device *device, int64_t tensor,
                      struct rt_scheduler *out)
{
    for (size_t s = 0; s < RT_COUNT(schedulers); s++) {
        if (!rt_name_equal(schedulers[s].name, name))
            continue;
        *out = schedulers[s];
        if (s == VLLM && device != NULL && device->memory_gib > 0)
            choose_vllm(device, out);
        if (s == SGLANG && device != NULL && device->memory_gib > 0)
            choose_sglang(device, tensor, out);
        return RT_OK;
    }
    return rt_fail(RT_ENOTFOUND, "there is no server %s; there are vllm, sglang and tensorrt-llm", name);
}

int64_t rt_scheduler_padded(const struct rt_scheduler *scheduler, int64_t decodes)
{
    if (decodes > scheduler->graph_most)
        return 0;
    for (int64_t small = 1; small <= 4; small *= 2)
        if (decodes <= small)
            return small;
    int64_t every = decodes <= 256 ? 8 : 16;
    return (decodes + every - 1) / every * every;
}
