/* The feature table. The first four are NeuSight's, in its units, so that networks see the published numbers.
 */
#include "models/predictor/features.h"
#include "datasets/status.h"

#include <math.h>
#include <string.h>

static const double MIB = 1048576.0;

/* GFLOP of a tile over TFLOP/s of an SM: NeuSight, mlp_wave features. */
static double log2_tile_flops(const struct rt_launch *l)
{
    return log2((l->tile_flops / 1e9) / (l->peak_flops / 1e12 / l->device->sms));
}

/* MiB of a tile over GB/s of an SM. */
static double log2_tile_bytes(const struct rt_launch *l)
{
    return log2((l->tile_bytes / MIB) / (l->device->bandwidth_gbs / l->device->sms));
}

/* MiB of all waves of one SM over its share of the memory, MiB. */
static double log2_wave_bytes_memory(const struct rt_launch *l)
{
    return log2(l->waves * (l->tile_bytes / MIB) / (l->device->memory_gib * 1024 / l->device->sms));
}

/* MiB of all waves of one SM over its share of the L2, KiB. */
static double log2_wave_bytes_l2(const struct rt_launch *l)
{
    return log2(l->waves * (l->tile_bytes / MIB) / (l->device->l2_mib * 1024 / l->device->sms));
}

const struct rt_feature rt_features[] = {
    {"log2_tile_flops_per_sm_peak", "FLOPs of a tile over the peak of an SM", log2_tile_flops},
    {"log2_tile_bytes_per_sm_bandwidth", "bytes of a tile over the bandwidth of an SM", log2_tile_bytes},
    {"log2_wave_bytes_per_sm_memory", "waves x bytes of a tile over memory per SM", log2_wave_bytes_memory},
    {"log2_wave_bytes_per_sm_l2", "waves x bytes of a tile over L2 per SM", log2_wave_bytes_l2},
};
const size_t rt_feature_count = RT_COUNT(rt_features);

int rt_feature_find(const char *name)
{
    for (size_t i = 0; i < rt_feature_count; i++)
        if (strcmp(rt_features[i].name, name) == 0)
            return (int)i;
    return -1;
}
