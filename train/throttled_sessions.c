/* Throttled sessions. See throttled_sessions.h. */
#include "train/throttled_sessions.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>

double rt_training_rows_utilisation(const struct rt_training_rows *rows, int32_t device,
                                    enum rt_split session)
{
    double *shares = rt_malloc((rows->count + 1) * sizeof *shares);
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->device[i] == device && rows->split[i] == session && rt_shows_utilisation(&rows->bounds[i]))
            shares[count++] = rows->bounds[i].bound_us / rows->target[i];
    double median = rt_median_utilisation(shares, count);
    free(shares);
    return median;
}

/* Is the session throttled? Where it is and `warn`, says so. */
static bool is_throttled(const struct rt_training_rows *train, const struct rt_family_net *net,
                         const struct rt_device *device, int32_t index, enum rt_split session, bool warn)
{
    double utilisation = rt_training_rows_utilisation(train, index, session);
    bool throttled = utilisation < RT_THROTTLED; /* not where it is NaN */
    if (throttled && warn)
        rt_warn(
            "%s of %s looks throttled: large kernels reach %.0f%% of what the board sustains; its kernels "
            "are left out (--keep-all keeps them)",
            rt_net_name(net->family, net->units), device->name, 100 * utilisation);
    return throttled;
}

void rt_throttled_drop(const struct rt_training_data *data, const struct rt_family_net *net, bool warn,
                       struct rt_training_rows *train, struct rt_training_rows *validation,
                       struct rt_training_rows_left_out *left_out)
{
    size_t devices = data->dataset->device_count, before = train->count + validation->count;
    if (!rt_throttling_covers(net->family))
        return;
    bool *drop = rt_calloc((devices + 1) * RT_SPLIT_COUNT, sizeof *drop);
    for (size_t d = 0; d < devices; d++)
        for (int session = 0; session < RT_SPLIT_COUNT; session++)
            drop[d * RT_SPLIT_COUNT + session] = is_throttled(train, net, &data->dataset->devices[d],
                                                              (int32_t)d, (enum rt_split)session, warn);
    rt_training_rows_drop(train, net->feature_count, drop);
    rt_training_rows_drop(validation, net->feature_count, drop);
    left_out->throttled += before - train->count - validation->count;
    free(drop);
}
