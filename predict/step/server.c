/* The table of servers. See server.h. */
#include "predict/step/server.h"
#include "base/strings.h"
#include "base/text.h"

/* Constants are fitted to runs of others (docs/log/llm-runs.md says which, and judges them on other GPUs). */
static const struct rt_server servers[] = {
    {.name = "hidden"},
    {.name = "sglang", .prompts_first = true},
    /* LLM-Inference-Bench (Argonne), generations that fit into the memory: */
    {.name = "vllm-2024", .step_us = 950, .sequence_us = 70, .parallel_us = 850},
    {.name = "tensorrt-llm-2024", .step_us = 390, .sequence_us = 26, .parallel_us = 180},
    /* vLLM 0.11 to 0.18 of InferenceX, under load; the way of a request holds for all three
     * (docs/log/serving.md): */
    {.name = "vllm-2025", .step_us = 300, .request_us = 20000},
    {.name = "sglang-2025", .request_us = 20000, .prompts_first = true},
    {.name = "tensorrt-llm-2025", .request_us = 20000},
    /* ML.ENERGY's vLLM 0.5.4 behind its web server, means of decode steps and the prefills between them: */
    {.name = "vllm-0.5", .step_us = 4200, .sequence_us = 425, .gpu_us = 10500},
    /* Splitwise, decode steps; its two hosts take 46 and 31 us: */
    {.name = "vllm-2023", .sequence_us = 300, .launch_us = 37},
};

const struct rt_server *rt_server_named(const char *name)
{
    for (size_t s = 0; s < sizeof servers / sizeof *servers; s++)
        if (rt_name_equal(servers[s].name, name))
            return &servers[s];
    return NULL;
}

const struct rt_server *rt_server_find(const char *name)
{
    const struct rt_server *server = name != NULL ? rt_server_named(name) : NULL;
    return server != NULL ? server : &servers[0];
}

double rt_server_step_us(const struct rt_server *server, int64_t sequences, int64_t gpus, int64_t stages)
{
    return server->step_us + server->sequence_us * (double)sequences + (gpus > 1 ? server->parallel_us : 0) +
           server->gpu_us * (double)(gpus / stages - 1);
}

double rt_server_busy_us(const struct rt_server *server, int64_t sequences)
{
    return 0.4 * (server->step_us + server->sequence_us * (double)sequences);
}

void rt_server_suggest(struct rt_text *list)
{
    for (size_t s = 0; s < sizeof servers / sizeof *servers; s++)
        rt_text_add(list, "%s\n", servers[s].name);
}
