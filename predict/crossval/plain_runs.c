/* Which workloads are plain runs. See plain_runs.h. */
#include "predict/crossval/plain_runs.h"
#include "base/status.h"
#include "predict/evaluate/workload.h"

bool *rt_plain_runs(const struct rt_dataset *dataset)
{
    bool *plain = rt_calloc(dataset->workload_count + 1, sizeof *plain);
    for (size_t w = 0; w < dataset->workload_count; w++) {
        const struct rt_workload *workload = &dataset->workloads[w];
        struct rt_workload_split split;
        struct rt_graph graph;
        if (rt_strings_get(&dataset->texts, workload->option)[0] != '\0' ||
            rt_workload_graph(dataset, workload, &split, &graph) != RT_OK)
            continue;
        plain[w] = true;
        rt_graph_release(&graph);
    }
    return plain;
}
