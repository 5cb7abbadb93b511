/* Calibration to kernels of what was held out. See crossval.h. */
#include "train/crossval/crossval.h"
#include "base/status.h"
#include "models/predictors/predictor/recipe.h"
#include "train/calibrate/calibrate.h"

#include <stdlib.h>
#include <string.h>

char *rt_unit_predictor(const struct rt_unit *unit, enum rt_protocol kernels)
{
    if (!rt_kind_is_trained(unit->kind))
        return rt_strdup(unit->kind);
    return kernels == RT_ZERO_SHOT ? rt_unit_path(unit, "predictor.h5")
                                   : rt_format("%s/%s.h5", unit->folder, rt_protocols[kernels].name);
}

void rt_unit_families(const struct rt_crossval *crossval, const struct rt_unit *unit,
                      bool out[RT_FAMILY_COUNT])
{
    const struct rt_names *families = &crossval->options->families;
    bool known = rt_recipe_kind(unit->kind);
    for (int family = 0; family < RT_FAMILY_COUNT; family++)
        out[family] = !known && families->count == 0;
    for (size_t r = 0; r < rt_recipe_count; r++)
        if (strcmp(rt_recipes[r].kind, unit->kind) == 0)
            out[rt_recipes[r].family] = families->count == 0;
    for (size_t i = 0; i < families->count; i++)
        out[rt_family_find(families->name[i])] = true;
}

/* The part that a family's calibration kernels are selected from. Of RT_CALIBRATED_TEST that is the part it
 * is judged on, unless that is the validation part, which is dealt from the training part and is like it. */
static enum rt_part part_of(const struct rt_fold *fold, int family, enum rt_protocol kernels)
{
    return kernels == RT_CALIBRATED_TEST && fold->kernels[family][RT_PART_TEST] > 0 ? RT_PART_TEST
                                                                                    : RT_PART_TRAIN;
}

bool rt_unit_calibrates_family(const struct rt_crossval *crossval, const struct rt_fold *fold, size_t device,
                               int family, enum rt_protocol kernels)
{
    return crossval->kernels[device][family][part_of(fold, family, kernels)] >= RT_CALIBRATE_LEAST;
}

/* Has the part enough kernels of the device for a family that is calibrated from it? */
static bool calibrates_from(const struct rt_crossval *crossval, const struct rt_unit *unit, size_t device,
                            enum rt_protocol kernels, enum rt_part part)
{
    bool families[RT_FAMILY_COUNT];
    rt_unit_families(crossval, unit, families);
    for (int family = 0; family < RT_FAMILY_COUNT; family++)
        if (families[family] && part_of(unit->fold, family, kernels) == part &&
            rt_unit_calibrates_family(crossval, unit->fold, device, family, kernels))
            return true;
    return false;
}

bool rt_unit_calibrates(const struct rt_crossval *crossval, const struct rt_unit *unit, size_t device,
                        enum rt_protocol kernels)
{
    return kernels == RT_ZERO_SHOT || calibrates_from(crossval, unit, device, kernels, RT_PART_TRAIN) ||
           calibrates_from(crossval, unit, device, kernels, RT_PART_TEST);
}

/* One device: families that are calibrated from the test part replace what the training part gave them. */
static int calibrate_device(const struct rt_crossval *crossval, const struct rt_unit *unit, size_t device,
                            enum rt_protocol kernels, struct rt_predictor *predictor)
{
    static const enum rt_part parts[] = {RT_PART_TRAIN, RT_PART_TEST};
    int status = RT_OK;
    for (size_t p = 0; status == RT_OK && p < RT_COUNT(parts); p++) {
        const struct rt_calibrate_options options = {.from = RT_FROM_KERNELS,
                                                     .kernels = (size_t)crossval->options->calibrate,
                                                     .seed = (uint64_t)crossval->options->seed,
                                                     .part = (int)parts[p]};
        struct rt_calibration calibration;
        if (!calibrates_from(crossval, unit, device, kernels, parts[p]))
            continue;
        status = rt_calibrate(predictor, &crossval->dataset, (int32_t)device, &options, &calibration);
        if (status == RT_OK)
            rt_calibration_release(&calibration);
    }
    return status;
}

int rt_unit_calibrate(const struct rt_crossval *crossval, const struct rt_unit *unit,
                      enum rt_protocol kernels)
{
    char *trained = rt_unit_predictor(unit, RT_ZERO_SHOT), *path = rt_unit_predictor(unit, kernels);
    struct rt_predictor predictor;
    int status = rt_predictor_open(trained, &predictor);
    if (status == RT_OK) {
        for (size_t d = 0; status == RT_OK && d < crossval->dataset.device_count; d++)
            if (unit->fold->devices[d])
                status = calibrate_device(crossval, unit, d, kernels, &predictor);
        if (status == RT_OK)
            status = rt_predictor_save(&predictor, path);
        rt_predictor_release(&predictor);
    }
    free(trained);
    free(path);
    return status == RT_OK ? RT_OK : rt_fail_context(status, "%s", rt_protocols[kernels].name);
}
