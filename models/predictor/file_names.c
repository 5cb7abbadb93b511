/* The table of changed names. See file_names.h. */
#include "models/predictor/file_names.h"

const struct rt_h5_rename *rt_predictor_renames(const struct rt_h5 *file)
{
    static const struct rt_h5_rename version_2[] = {
        {"device_effects", "latents"},
        {"dispatch_overhead_us", "floor_us"},
        {"residual_correction_points", "correction_points"},
        {"residual_correction_weights", "correction_weights"},
        {"residual_correction_dtypes", "correction_dtypes"},
        {"fitted_keys", "calibrated_to"},
        {"measured_tiles", "tiles"},
        {"wave_scaling", "origins"},
        {"forecaster", "head"},
        {"linear", "line"}, /* the forecaster */
        {"tiling", "cut"},  /* the tile policy */
        {"tiling_log2_blocks", "cut_log2_blocks"},
        {"tiling_wave_fill", "cut_wave_fill"},
        {"tiling_padding", "cut_padding"},
        {"tiling_log2_splits", "cut_log2_splits"},
        {"tiling_log2_tile", "cut_log2_tile"},
        {"tiling_ln_compute_memory", "cut_ln_compute_memory"},
        {"tiling_ln_roofline", "cut_ln_roofline"},
        {0},
    };
    return rt_h5_version(file) < 3 ? version_2 : NULL;
}

const char *rt_predictor_stored_name(const struct rt_h5 *file, const char *name)
{
    return rt_h5_stored_name(rt_predictor_renames(file), name);
}
