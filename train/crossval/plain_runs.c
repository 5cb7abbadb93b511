/* Which workloads are plain runs. See plain_runs.h. */
#include "train/crossval/plain_runs.h"
#include "base/status.h"
#include "predict/evaluate/run_steps.h"

bool *rt_plain_runs(const struct rt_dataset *dataset)
{
    bool *plain = rt_calloc(dataset->workload_count + 1, sizeof *plain);
    for (size_t w = 0; w < dataset->workload_count; w++) {
        const struct rt_workload *workload = &dataset->workloads[w];
        struct rt_run_steps steps;
        if (!rt_workload_is_plain(dataset, workload) ||
            rt_run_steps(dataset, workload, &dataset->devices[workload->device], NULL, &steps) != RT_OK)
            continue;
        plain[w] = true;
        rt_run_steps_release(&steps);
    }
    return plain;
}
