/* The report of an evaluation. See report.h. */
#include "predict/evaluate/report.h"
#include "base/status.h"

#include <stdlib.h>

struct rt_report *rt_evaluation_report(const struct rt_evaluation *evaluation,
                                       const struct rt_dataset_input *input)
{
    struct rt_report *report = rt_report_new();
    rt_evaluation_add_candidates(report, evaluation);
    rt_evaluation_add_input(report, evaluation, input);
    if (evaluation->workloads) {
        rt_evaluation_add_workloads(report, evaluation, &input->dataset);
        rt_evaluation_add_memory(report, evaluation, &input->dataset);
        rt_evaluation_add_energy(report, evaluation, &input->dataset);
        rt_evaluation_add_curves(report, evaluation, &input->dataset);
    } else {
        rt_evaluation_add_kernels(report, evaluation);
        if (evaluation->options.each)
            rt_evaluation_add_each(report, evaluation, &input->dataset);
    }
    rt_evaluation_add_left_out(report, evaluation);
    return report;
}

void rt_evaluation_add_errors(struct rt_report *report, const struct rt_evaluation *evaluation,
                              const char *key)
{
    const char *what = evaluation->workloads ? "mode" : "op", *pooled = evaluation->workloads ? "kind" : "op";
    const char *scope = evaluation->workloads ? "scope" : "device";
    char *devices = rt_format("%s.devices", key), *pools = rt_format("%s.pooled", key);
    rt_evaluation_add_pools(report, evaluation, &evaluation->devices, devices,
                            evaluation->workloads ? "Whole models, per device" : "Kernels, per device",
                            "device", what, false);
    rt_evaluation_add_pools(report, evaluation, &evaluation->pooled, pools,
                            evaluation->workloads ? "Whole models, pooled" : "Kernels, pooled over devices",
                            scope, pooled, true);
    free(devices);
    free(pools);
}
