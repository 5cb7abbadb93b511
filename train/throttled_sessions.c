/* Throttled sessions. See hygiene.h. */
#include "train/throttled_sessions.h"
#include "base/status.h"

#include <stdlib.h>

double rt_training_rows_utilisation(const struct rt_training_rows *rows, int32_t device,
                                    enum rt_split session)
{
    double *shares = rt_malloc((rows->count + 1) * sizeof *shares);
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->device[i] == device && rows->session[i] == session &&
            rt_tells_utilisation(&rows->bounds[i]))
            shares[count++] = rows->bounds[i].bound_us / rows->target_us[i];
    double median = rt_median_utilisation(shares, count);
    free(shares);
    return median;
}
