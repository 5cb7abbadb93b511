/* The table of servers. See server.h. */
#include "predict/step/server.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"
#include "base/units.h"

#include <math.h>

/*
 * Defaults of the schedulers, as the servers' code has them (2025, 2026):
 *
 *   vllm          V1. EngineArgs.get_batch_defaults (vllm/engine/arg_utils.py): 8192 tokens and 1024 sequences
 *                 for the API server on GPUs of 70 GiB and more but the A100, else 2048 and 256. Blocks of 16
 *                 tokens, gpu_memory_utilization 0.9 (CacheConfig). Decodes come first, then chunks of
 *                 prompts; who waits comes in where its prompt fits; who came last is preempted and computed
 *                 again (vllm/v1/core/sched/scheduler.py). Graphs up to min(2 x sequences, 512)
 *                 (VllmConfig._set_cudagraph_sizes), of steps with prompts without attention
 *                 (CUDAGraphMode.FULL_AND_PIECEWISE).
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
static const struct rt_scheduler schedulers[RT_SERVER_PROJECTS] = {
    [RT_SERVER_VLLM] = {.budget = 8192,
                        .sequences = 1024,
                        .block = 16,
                        .memory_share = 0.9,
                        .graph_most = 512,
                        .graph_pieces = true,
                        .mixed = true,
                        .chunked = true,
                        .prefix_cache = true,
                        .keeps = true},
    [RT_SERVER_SGLANG] = {.budget = 8192,
                          .sequences = 4096,
                          .block = 1,
                          .memory_share = 0.88,
                          .reserve = 0.7 * 0.14,
                          .graph_most = 256,
                          .chunked = true,
                          .budget_shared = true,
                          .prefix_cache = true},
    [RT_SERVER_TENSORRT] = {.budget = 8192,
                            .sequences = 2048,
                            .block = 32,
                            .memory_share = 0.9,
                            .reserve = 1,
                            .graph_most = 128,
                            .mixed = true,
                            .prefix_cache = true},
};

/* Hosts are fitted to runs of others (docs/log/llm-runs.md says which, and judges them on other GPUs). The
 * newest row of a project comes first; older versions are given its scheduler: only their hosts were
 * measured.
 */
enum { HIDDEN };
static const struct rt_server servers[] = {
    [HIDDEN] = {.name = "hidden"},
    /* vLLM 0.11 to 0.18 of InferenceX, under load; the way of a request holds for all three projects; eager
     * operators and layers of experts by every second run of H100 and H200, judged on the others and on the
     * B200, where TensorRT-LLM's did not hold. ln_load likewise, by the mean interval score
     * (docs/log/serving.md): */
    {.name = "vllm-2025",
     .step_us = 300,
     .eager_us = 60,
     .experts_us = 600,
     .ln_load = 0.1,
     .request_us = 20000},
    /* ML.ENERGY's vLLM of version 3 behind its web server, by its answers to GPQA on H100, judged on its chat
     * (docs/log/energy.md): */
    {.name = "vllm-2025-web",
     .step_us = 600,
     .sequence_us = 38,
     .sampler_us = 38,
     .eager_us = 60,
     .experts_us = 600,
     .request_us = 20000},
    {.name = "sglang-2025",
     .project = RT_SERVER_SGLANG,
     .eager_us = 60,
     .experts_us = 3000,
     .ln_load = 0.25,
     .request_us = 20000},
    /* Layers of experts by Qwen3-235B on H100, judged on the H200; Blackwell runs them by the TRTLLM backend.
     */
    {.name = "tensorrt-llm-2025",
     .project = RT_SERVER_TENSORRT,
     .experts_us = 2500,
     .experts_fused = true,
     .ln_load = 0.1,
     .request_us = 20000},
    /* LLM-Inference-Bench (Argonne), generations that fit into the memory: */
    {.name = "vllm-2024", .step_us = 950, .sequence_us = 70, .parallel_us = 850},
    {.name = "tensorrt-llm-2024",
     .project = RT_SERVER_TENSORRT,
     .step_us = 390,
     .sequence_us = 26,
     .parallel_us = 180},
    /* ML.ENERGY's vLLM 0.5.4 behind its web server, means of decode steps and the prefills between them: */
    {.name = "vllm-0.5", .step_us = 4200, .sequence_us = 425, .gpu_us = 10500},
    /* Splitwise, decode steps; its two hosts take 46 and 31 us: */
    {.name = "vllm-2023", .sequence_us = 300, .launch_us = 37},
};

/* Projects by name: a server of one whose version, and with it the host, is not known. */
static const struct rt_server projects[] = {{.name = "vllm", .project = RT_SERVER_VLLM},
                                            {.name = "sglang", .project = RT_SERVER_SGLANG},
                                            {.name = "tensorrt-llm", .project = RT_SERVER_TENSORRT},
                                            {.name = "trtllm", .project = RT_SERVER_TENSORRT}};

/* CUDA's context, NCCL's buffers and captured graphs lie beside a server's share; as
 * many GiB make the batches of Llama-2-70B on four A100-40 wait that did so in LLM-Inference-Bench. */
static const double BESIDE_GIB = 2;

static const struct rt_server *newest(enum rt_server_project project)
{
    size_t s = HIDDEN + 1;
    while (servers[s].project != project)
        s++;
    return &servers[s];
}

static const struct rt_server *row_named(const struct rt_server *rows, size_t count, const char *name)
{
    for (size_t r = 0; r < count; r++)
        if (rt_name_equal(rows[r].name, name))
            return &rows[r];
    return NULL;
}

int rt_server_find(const char *name, const struct rt_server **out)
{
    const struct rt_server *row = row_named(servers, RT_COUNT(servers), name);
    const struct rt_server *project = row_named(projects, RT_COUNT(projects), name);
    if (row == NULL && project == NULL)
        return rt_fail(RT_ENOTFOUND, "%.60s: there is no server of that name; there are " RT_SERVER_NAMES,
                       name);
    *out = row != NULL ? row : newest(project->project);
    return RT_OK;
}

int rt_server_argument(const char *option, const char *text, void *value)
{
    const struct rt_server **server = value;
    int status = rt_server_find(text, server);
    return status == RT_OK ? RT_OK : rt_fail(RT_EUSAGE, "%s %s", option, rt_error());
}

const struct rt_server *rt_server_default(void)
{
    return newest(RT_SERVER_VLLM);
}

const struct rt_server *rt_server_hidden(void)
{
    return &servers[HIDDEN];
}

const struct rt_server *rt_server_of_run(const char *backend)
{
    const char *name = backend != NULL ? backend : "";
    const struct rt_server *row = row_named(servers, RT_COUNT(servers), name);
    const struct rt_server *project = row_named(projects, RT_COUNT(projects), name);
    return row != NULL ? row : project != NULL ? project : rt_server_hidden();
}

void rt_server_suggest(struct rt_text *list)
{
    for (size_t p = 0; p < RT_COUNT(projects); p++)
        rt_text_add(list, "%s\n", projects[p].name);
    for (size_t s = 0; s < RT_COUNT(servers); s++)
        rt_text_add(list, "%s\n", servers[s].name);
}

/* ---- schedulers ---- */

static void choose_vllm(const struct rt_device *device, struct rt_scheduler *scheduler)
{
    char chip[96];
    rt_chip_word(device, chip, sizeof chip);
    if (device->memory_gib >= 70 && !rt_name_equal(chip, "A100"))
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

struct rt_scheduler rt_server_scheduler(const struct rt_server *server, const struct rt_device *device,
                                        int64_t tensor)
{
    struct rt_scheduler scheduler = schedulers[server->project];
    bool known = device != NULL && device->memory_gib > 0;
    if (known && server->project == RT_SERVER_VLLM)
        choose_vllm(device, &scheduler);
    if (known && server->project == RT_SERVER_SGLANG)
        choose_sglang(device, tensor, &scheduler);
    return scheduler;
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

/* ---- hosts ---- */

double rt_server_step_us(const struct rt_server *server, int64_t sequences, int64_t gpus, int64_t stages)
{
    return server->step_us + server->sequence_us * (double)sequences + (gpus > 1 ? server->parallel_us : 0) +
           server->gpu_us * (double)(gpus / stages - 1);
}

double rt_server_busy_us(const struct rt_server *server, int64_t sequences)
{
    double host_us = server->sequence_us - server->sampler_us;
    return 0.4 * (server->step_us + host_us * (double)sequences) + server->sampler_us * (double)sequences;
}

/* ---- memory ---- */

double rt_server_kv_allocation(const struct rt_scheduler *scheduler, double memory_gib, double taken_bytes)
{
    if (isnan(memory_gib))
        return INFINITY;
    return (scheduler->memory_share * memory_gib - BESIDE_GIB) * RT_GIB - taken_bytes;
}
