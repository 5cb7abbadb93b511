/* Lines about workloads. See model_report.h. */
#include "collect/model_report.h"
#include "base/table.h"

#include <inttypes.h>
#include <math.h>

static const char *or_nothing(const char *text)
{
    return text != NULL ? text : "";
}

static void report(const struct rt_dataset *dataset, const struct rt_workload *w, FILE *file)
{
    bool training = w->mode == RT_TRAINING;
    const char *left_out = rt_dataset_attribute(dataset, w->group, "left_out");
    fprintf(file, "%s, batch %" PRId64 ", sequence %" PRId64 ", %s, %s on %s: ",
            rt_strings_get(&dataset->texts, w->model), w->batch, w->sequence, rt_modes[w->mode],
            rt_dtypes[w->dtype].name, dataset->devices[w->device].name);
    if (w->flags & RT_FLAG_FAILED) {
        fprintf(file, "failed: %s\n", or_nothing(rt_dataset_attribute(dataset, w->group, "failure")));
    } else {
        fprintf(file, "%.3f ms", 1e-3 * w->end_to_end_us);
        if (training)
            fprintf(file, " (forward %.3f, backward %.3f)", 1e-3 * w->forward_us, 1e-3 * w->backward_us);
        fprintf(file, "; its kernels alone %.3f ms%s\n",
                1e-3 * (w->kernels_forward_us + (training ? w->kernels_backward_us : 0)),
                w->flags & RT_FLAG_UNSTABLE ? "; unstable" : "");
    }
    if (left_out != NULL)
        fprintf(file, "  partial: %s of its launches could not run and are missing in these times: %s\n",
                or_nothing(rt_dataset_attribute(dataset, w->group, "launches_left_out")), left_out);
}

void rt_model_report(const struct rt_dataset *dataset, FILE *file)
{
    for (size_t i = 0; i < dataset->workload_count; i++)
        report(dataset, &dataset->workloads[i], file);
}

static json_t *text_or_null(const struct rt_dataset *dataset, const struct rt_workload *w, const char *name)
{
    const char *text = rt_dataset_attribute(dataset, w->group, name);
    return text != NULL ? json_string(text) : json_null();
}

static json_t *workload_json(const struct rt_dataset *dataset, const struct rt_workload *w)
{
    return json_pack(
        "{s:s, s:I, s:I, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "model",
        rt_strings_get(&dataset->texts, w->model), "batch", (json_int_t)w->batch, "sequence",
        (json_int_t)w->sequence, "mode", rt_modes[w->mode], "dtype", rt_dtypes[w->dtype].name, "device",
        dataset->devices[w->device].name, "end_to_end_us", rt_json_number(w->end_to_end_us), "forward_us",
        rt_json_number(w->forward_us), "backward_us", rt_json_number(w->backward_us), "kernels_forward_us",
        rt_json_number(w->kernels_forward_us), "kernels_backward_us", rt_json_number(w->kernels_backward_us),
        "partial", (w->flags & RT_FLAG_PARTIAL) != 0, "left_out", text_or_null(dataset, w, "left_out"),
        "failure", text_or_null(dataset, w, "failure"));
}

json_t *rt_model_report_json(const struct rt_dataset *dataset)
{
    json_t *list = json_array();
    for (size_t i = 0; i < dataset->workload_count; i++)
        json_array_append_new(list, workload_json(dataset, &dataset->workloads[i]));
    return list;
}
