/* The memory of a step's tensors. See memory.h. */
#include "models/networks/memory.h"

static double saved_bytes(const struct rt_graph *graph, const struct rt_tensor_schedule *schedule)
{
    double saved = 0;
    for (size_t e = 0; e < schedule->forward && rt_graph_trains(graph); e++) {
        const struct rt_tensor_event *event = &schedule->events[e];
        const struct rt_tensor *tensor = &schedule->tensors[event->tensor];
        if (tensor->part == RT_MEMORY_ACTIVATIONS && event->tensor != schedule->output)
            saved += event->made ? tensor->bytes : -tensor->bytes;
    }
    return saved;
}

void rt_graph_memory_of(const struct rt_graph *graph, const struct rt_tensor_schedule *schedule,
                        struct rt_graph_memory *out)
{
    double held[RT_MEMORY_PART_COUNT] = {0}, sum = 0;
    struct rt_graph_memory most = {0};
    for (size_t e = 0; e < schedule->event_count; e++) {
        const struct rt_tensor *tensor = &schedule->tensors[schedule->events[e].tensor];
        double bytes = schedule->events[e].made ? tensor->bytes : -tensor->bytes;
        held[tensor->part] += bytes;
        sum += bytes;
        if (sum > most.total)
            most = (struct rt_graph_memory){.weights = held[RT_MEMORY_WEIGHTS],
                                            .gradients = held[RT_MEMORY_GRADIENTS],
                                            .optimizer = held[RT_MEMORY_OPTIMIZER],
                                            .cache = held[RT_MEMORY_CACHE],
                                            .activations = held[RT_MEMORY_ACTIVATIONS],
                                            .workspace = held[RT_MEMORY_WORKSPACE],
                                            .total = sum};
    }
    most.saved = saved_bytes(graph, schedule);
    *out = most;
}

void rt_graph_memory(const struct rt_graph *graph, const struct rt_memory_options *options,
                     struct rt_graph_memory *out)
{
    static const struct rt_memory_options one_device = RT_MEMORY_DEFAULTS;
    struct rt_tensor_schedule schedule;
    rt_tensor_schedule(graph, options != NULL ? options : &one_device, &schedule);
    rt_graph_memory_of(graph, &schedule, out);
    rt_tensor_schedule_release(&schedule);
}
