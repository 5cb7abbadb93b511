/* Calibration of energy. See energy.h. */
#include "train/calibrate/energy.h"
#include "base/random.h"
#include "base/status.h"
#include "train/judge_energy.h"

#include <stdlib.h>

enum { RUNS_IN_TURN = 12 }; /* of a GPU left out, for its interval with one run */

/* ---- which ---- */

static bool is_without(const struct rt_dataset *dataset, const struct rt_workload *workload,
                       const struct rt_names *without)
{
    return rt_names_match(without, rt_strings_get(&dataset->texts, workload->model));
}

/* How much is used already. */
struct chosen {
    size_t runs;
    size_t (*kernels)[RT_FAMILY_COUNT][RT_DTYPE_COUNT]; /* of each device */
};

static bool use(const struct rt_dataset *dataset, const struct rt_calibrate_options *options,
                const struct rt_energy_measured *measured, struct chosen *chosen)
{
    if (measured->workload == NULL) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, measured->sample);
        return chosen->kernels[sample->device][rt_call_family(&sample->call)][sample->call.dtype]++ <
               options->kernels;
    }
    if ((options->runs > 0 && chosen->runs == options->runs) ||
        is_without(dataset, measured->workload, &options->without))
        return false;
    chosen->runs++;
    return true;
}

/* Every name that is left out is of a model whose power was measured. */
static int check_names(const struct rt_dataset *dataset, const struct rt_names *without,
                       const struct rt_energy_measurements *measurements)
{
    for (size_t n = 0; n < without->count; n++) {
        const struct rt_names name = {.name = &without->name[n], .count = 1};
        bool found = false;
        for (size_t i = 0; !found && i < measurements->count; i++)
            found = measurements->list[i].workload != NULL &&
                    is_without(dataset, measurements->list[i].workload, &name);
        if (!found)
            return rt_fail(
                RT_ENOTFOUND,
                "{without_model} %s: no run with measured power is of a model of that name; '%s*' is "
                "all that begin so",
                without->name[n], without->name[n]);
    }
    return RT_OK;
}

/* Marks what is fitted to, in a random order: all but what `options` leave as a check. */
static void choose(const struct rt_dataset *dataset, const struct rt_calibrate_options *options,
                   struct rt_energy_calibration *calibration)
{
    size_t count = calibration->measurements.count;
    struct chosen chosen = {.kernels = rt_calloc(dataset->device_count + 1, sizeof *chosen.kernels)};
    uint32_t *order = rt_malloc((count + 1) * sizeof *order);
    struct rt_random random;
    calibration->used = rt_calloc(count + 1, sizeof *calibration->used);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    rt_random_seed(&random, options->seed, 998);
    rt_random_shuffle(&random, order, count);
    for (size_t i = 0; i < count; i++)
        calibration->used[order[i]] =
            use(dataset, options, &calibration->measurements.list[order[i]], &chosen);
    free(chosen.kernels);
    free(order);
}

static void gather(const struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                   enum rt_calibrate_from from, struct rt_energy_measurements *out)
{
    bool *devices = rt_calloc(dataset->device_count + 1, sizeof *devices);
    for (size_t d = 0; d < dataset->device_count; d++)
        devices[d] = device < 0 || d == (size_t)device;
    rt_energy_measurements_gather(dataset, predictor, devices, from != RT_FROM_KERNELS,
                                  from != RT_FROM_MODELS, out);
    free(devices);
}

/* ---- the fit ---- */

static struct rt_energy_observation *used_observations(const struct rt_energy_calibration *calibration,
                                                       size_t *count)
{
    size_t all = calibration->measurements.count;
    struct rt_energy_observation *observations = rt_malloc((all + 1) * sizeof *observations);
    *count = 0;
    for (size_t i = 0; i < all; i++)
        if (calibration->used[i])
            observations[(*count)++] = calibration->measurements.list[i].observation;
    return observations;
}

static const char **device_names(const struct rt_dataset *dataset)
{
    const char **names = rt_malloc((dataset->device_count + 1) * sizeof *names);
    for (size_t d = 0; d < dataset->device_count; d++)
        names[d] = dataset->devices[d].name;
    return names;
}

/* Over all devices from the physics on, and how wrong that is on those left out. */
static int fit_population(struct rt_energy_folds *folds, struct rt_energy_model *model)
{
    rt_energy_model_release(model);
    rt_energy_model_init(model);
    int status = rt_energy_fit(folds->observations, folds->count, folds->names, folds->device_count,
                               &rt_energy_fit_defaults, model);
    return status == RT_OK ? rt_energy_fit_intervals(folds, model) : status;
}

static int fit(const struct rt_energy_calibration *calibration, const struct rt_dataset *dataset,
               const struct rt_calibrate_options *options, struct rt_energy_model *model)
{
    size_t count;
    struct rt_energy_observation *observations = used_observations(calibration, &count);
    const char **names = device_names(dataset);
    struct rt_energy_folds folds = {.observations = observations,
                                    .count = count,
                                    .devices = dataset->devices,
                                    .names = names,
                                    .device_count = dataset->device_count,
                                    .seed = options->seed,
                                    .runs = RUNS_IN_TURN};
    int status;
    if (calibration->device < 0)
        status = fit_population(&folds, model);
    else
        status =
            rt_energy_fit(observations, count, names, dataset->device_count, &rt_energy_fit_effects, model);
    free(observations);
    free(names);
    return status;
}

/* So that a calibrated device is not judged by what it was fitted to. */
static void add_keys(const struct rt_energy_calibration *calibration, const struct rt_dataset *dataset,
                     struct rt_energy_model *model)
{
    struct rt_energy_device *entry = NULL;
    for (size_t d = 0; d < model->count; d++)
        if (rt_name_equal(model->devices[d].device, dataset->devices[calibration->device].name))
            entry = &model->devices[d];
    for (size_t i = 0; entry != NULL && i < calibration->measurements.count; i++) {
        const struct rt_energy_measured *measured = &calibration->measurements.list[i];
        if (calibration->used[i])
            rt_fitted_keys_add(&entry->fitted_keys, measured->workload == NULL
                                                        ? rt_kernel_key(RT_SAMPLE(dataset, measured->sample))
                                                        : rt_run_key(dataset, measured->workload));
    }
}

int rt_calibrate_energy(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                        const struct rt_calibrate_options *options, struct rt_energy_calibration *out)
{
    struct rt_energy_calibration calibration = {.device = device,
                                                .before = rt_energy_model_copy(&predictor->energy)};
    struct rt_energy_model model = rt_energy_model_copy(&predictor->energy);
    gather(predictor, dataset, device, options->from, &calibration.measurements);
    choose(dataset, options, &calibration);
    int status = check_names(dataset, &options->without, &calibration.measurements);
    if (status == RT_OK)
        status = fit(&calibration, dataset, options, &model);
    if (status != RT_OK) {
        rt_energy_model_release(&model);
        rt_energy_calibration_release(&calibration);
        return status;
    }
    if (device >= 0)
        add_keys(&calibration, dataset, &model);
    else
        rt_predictor_add_data(predictor, dataset);
    rt_energy_model_release(&predictor->energy);
    predictor->energy = model;
    *out = calibration;
    return RT_OK;
}

void rt_energy_calibration_release(struct rt_energy_calibration *calibration)
{
    rt_energy_model_release(&calibration->before);
    rt_energy_measurements_release(&calibration->measurements);
    free(calibration->used);
    calibration->used = NULL;
}
