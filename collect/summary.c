/* Samples counted per op and device. See summary.h. */
#include "collect/summary.h"
#include "collect/task_result.h"
#include "base/sort.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* Clearly faster than the device's peaks allow. */
static bool beats_roofline(const struct rt_sample *sample, const struct rt_device *device)
{
    double peak = rt_device_peak_flops(device, rt_call_family(&sample->call), sample->call.dtype);
    double bound_s = fmax(rt_call_flops(&sample->call) / peak,
                          rt_call_bytes(&sample->call) / (1e9 * device->bandwidth_gbs));
    return sample->latency_us < 1e6 * bound_s / 1.05;
}

static void count_sample(const struct rt_dataset *dataset, const struct rt_sample *sample,
                         struct rt_summary_row *row)
{
    const char *failure = rt_dataset_attribute(dataset, sample->group, "failure");
    row->failed += (sample->flags & RT_FLAG_FAILED) != 0;
    row->measured += (sample->flags & RT_FLAG_FAILED) == 0;
    row->unstable += (sample->flags & RT_FLAG_UNSTABLE) != 0;
    row->throttled += (sample->flags & RT_FLAG_THROTTLED) != 0;
    row->retried += rt_dataset_attribute(dataset, sample->group, "throttle_retries") != NULL;
    row->lost += failure != NULL && rt_failure_is_loss(failure);
    row->faster += beats_roofline(sample, &dataset->devices[sample->device]);
}

static void summarise_row(const struct rt_dataset *dataset, struct rt_summary_row *row, double *scratch)
{
    size_t timed = 0;
    for (size_t i = 0; i < dataset->sample_count; i++) {
        const struct rt_sample *sample = &dataset->samples[i];
        if (sample->call.op != row->op || sample->device != row->device)
            continue;
        count_sample(dataset, sample, row);
        if (!isnan(sample->latency_us))
            scratch[timed++] = sample->latency_us;
    }
    if (timed > 0)
        row->median_us = rt_median(scratch, timed);
}

struct rt_summary_row *rt_summary_rows(const struct rt_dataset *dataset, size_t *count)
{
    double *scratch = rt_malloc(dataset->sample_count * sizeof *scratch);
    struct rt_summary_row *rows = rt_calloc(RT_OP_COUNT * dataset->device_count, sizeof *rows);
    size_t used = 0;
    for (int op = 0; op < RT_OP_COUNT; op++)
        for (size_t d = 0; d < dataset->device_count; d++) {
            struct rt_summary_row row = {.op = (uint8_t)op, .device = (int32_t)d, .median_us = NAN};
            summarise_row(dataset, &row, scratch);
            if (row.measured + row.failed > 0)
                rows[used++] = row;
        }
    free(scratch);
    *count = used;
    return rows;
}
