/* The table of schedulers. See scheduler.h. */
#include "predict/serve/scheduler.h"
#include "base/status.h"
#include "base/strings.h"

const char rt_scheduler_names[] = "vllm, sglang or tensorrt-llm";

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
     .reserve = 0.1,
     .graph_most = 256,
     .chunked = true,
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

const struct rt_scheduler *rt_scheduler_named(const char *name)
{
    for (size_t s = 0; s < RT_COUNT(schedulers); s++)
        if (rt_name_equal(schedulers[s].name, name))
            return &schedulers[s];
    return NULL;
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
