/* Calibration of energy on made-up runs and kernels: three GPUs that take known multiples of what the physics
 * says. */
#include "sample_rows.h"
#include "test.h"

#include "train/calibrate/energy.h"
#include "train/judge_energy.h"

#include <math.h>

enum { GPUS = 3, RUNS = 8 };
static const char *const gpus[GPUS] = {"A100-PCIE-40GB", "V100-PCIE-32GB", "T4"};
static const double population[RT_ENERGY_PARTS] = {1.3, 1.2, 1.4, 1.5, 1.1, 1.05};
static const double effect[GPUS] = {0.2, -0.1, 0}; /* of all parts */

static double true_watts(const struct rt_energy_observation *observation, int32_t device)
{
    double scale[RT_ENERGY_PARTS];
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        scale[p] = population[p] * exp(effect[device]);
    return rt_energy_observation_watts(observation, scale);
}

static void add_run(struct rt_dataset *data, int32_t device, int64_t batch)
{
    struct rt_workload workload;
    rt_workload_init(&workload);
    workload.device = device;
    workload.model = rt_strings_add(&data->texts, "gpt2_large", strlen("gpt2_large"));
    workload.option = rt_strings_add(&data->texts, "", 0);
    workload.batch = batch;
    workload.sequence = 256;
    workload.mode = batch % 2 == 0 ? RT_TRAINING : RT_INFERENCE;
    workload.end_to_end_us = 6e4 * (double)batch;
    workload.energy_mj = 1; /* of which only the time is used for what follows */
    rt_dataset_add_workload(data, &workload);
}

static void add_kernel(struct rt_dataset *data, int32_t device, int64_t rows)
{
    struct rt_sample sample;
    rt_sample_init(&sample);
    sample.call.op = rows % 2 == 0 ? RT_OP_SOFTMAX : RT_OP_GELU;
    sample.call.dim[0] = rows * 256;
    sample.call.dim[1] = 512;
    sample.device = device;
    sample.latency_us = 40 + (double)rows;
    sample.energy_mj = 1;
    rt_dataset_add_sample(data, &sample);
}

/* The energy of every run and kernel by the true multiples. */
static void measure(struct rt_dataset *data, const struct rt_predictor *predictor)
{
    const bool all[GPUS] = {true, true, true};
    struct rt_energy_measurements measurements;
    rt_energy_measurements_gather(data, predictor, all, true, true, &measurements);
    CU_ASSERT_EQUAL_FATAL(measurements.count, data->workload_count + data->samples.count);
    for (size_t i = 0; i < measurements.count; i++) {
        const struct rt_energy_measured *measured = &measurements.list[i];
        double watts = true_watts(&measured->observation, measured->observation.device);
        if (measured->workload != NULL)
            data->workloads[measured->workload - data->workloads].energy_mj =
                1e-3 * watts * measured->measured_us;
        else
            RT_CHANGE(data, measured->sample, sample.energy_mj = 1e-3 * watts * measured->measured_us);
    }
    rt_energy_measurements_release(&measurements);
}

/* The last run once more, `slower` times as long under a limit of so many watts. */
static void repeat_under(struct rt_dataset *data, const char *limit, double slower)
{
    const char *const names[] = {"power_limit_w"}, *const values[] = {limit};
    struct rt_workload workload = data->workloads[data->workload_count - 1];
    workload.end_to_end_us *= slower;
    workload.group = rt_dataset_add_group(data, 1, names, values);
    rt_dataset_add_workload(data, &workload);
}

static void make(struct rt_dataset *data, struct rt_predictor *predictor)
{
    rt_dataset_init(data);
    rt_predictor_init_roofline(predictor);
    for (int32_t d = 0; d < GPUS; d++) {
        struct rt_device device;
        RT_ASSERT_OK(rt_device_find(gpus[d], &device));
        CU_ASSERT_EQUAL_FATAL(rt_dataset_add_device(data, &device), d);
        for (int64_t r = 1; r <= RUNS; r++) {
            add_run(data, d, r);
            add_kernel(data, d, r);
        }
    }
    measure(data, predictor);
}

/* Mean |error| of power over a device. */
static double error_of(const struct rt_dataset *data, const struct rt_predictor *predictor, int32_t device)
{
    bool only[GPUS] = {false};
    double scale[RT_ENERGY_PARTS], sum = 0;
    struct rt_energy_measurements measurements;
    only[device] = true;
    rt_energy_measurements_gather(data, predictor, only, true, true, &measurements);
    rt_energy_scales(&predictor->energy, &data->devices[device], scale);
    for (size_t i = 0; i < measurements.count; i++) {
        const struct rt_energy_observation *o = &measurements.list[i].observation;
        sum += fabs(rt_energy_observation_watts(o, scale) / o->watts - 1);
    }
    sum /= (double)measurements.count;
    rt_energy_measurements_release(&measurements);
    return sum;
}

static void test_population(void)
{
    const struct rt_calibrate_options options = {.kernels = 30, .seed = 1, .population = true};
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_energy_calibration calibration;
    make(&data, &predictor);
    RT_ASSERT_OK(rt_calibrate_energy(&predictor, &data, -1, &options, &calibration));
    CU_ASSERT_EQUAL_FATAL(predictor.energy.count, GPUS);
    for (int32_t d = 0; d < GPUS; d++) {
        double error = error_of(&data, &predictor, d);
        printf("# %s: %.1f%%\n", gpus[d], 100 * error);
        CU_ASSERT_TRUE(error < 0.03);
        CU_ASSERT_EQUAL(predictor.energy.devices[d].runs, RUNS);
        CU_ASSERT_EQUAL(predictor.energy.devices[d].kernels, RUNS);
        CU_ASSERT_FALSE(predictor.energy.devices[d].calibrated);
        CU_ASSERT_EQUAL(predictor.energy.devices[d].fitted_keys.count, 0);
    }
    CU_ASSERT_TRUE(predictor.energy.unseen[2] > 0 && predictor.energy.unseen[2] < 0.6);
    CU_ASSERT_TRUE(predictor.energy.known[2] < predictor.energy.unseen[2] + 0.1);
    rt_energy_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

/* Two runs of a GPU; the others get better, the other GPUs stay as they are. */
static void test_a_device(void)
{
    const struct rt_calibrate_options options = {.from = RT_FROM_MODELS, .runs = 2, .seed = 1};
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_energy_calibration calibration;
    make(&data, &predictor);
    memcpy(predictor.energy.population, population, sizeof population);
    double before = error_of(&data, &predictor, 0), other = error_of(&data, &predictor, 1);
    RT_ASSERT_OK(rt_calibrate_energy(&predictor, &data, 0, &options, &calibration));
    double after = error_of(&data, &predictor, 0);
    printf("# %.1f%% before, %.1f%% after two runs\n", 100 * before, 100 * after);
    CU_ASSERT_TRUE(before > 0.08 && after < 0.7 * before);
    CU_ASSERT_EQUAL(error_of(&data, &predictor, 1), other);
    CU_ASSERT_EQUAL(memcmp(predictor.energy.population, population, sizeof population), 0);
    CU_ASSERT_EQUAL_FATAL(predictor.energy.count, 1);
    const struct rt_energy_device *entry = &predictor.energy.devices[0];
    CU_ASSERT_TRUE(entry->calibrated);
    CU_ASSERT_EQUAL(entry->runs, 2);
    CU_ASSERT_EQUAL(entry->kernels, 0);
    CU_ASSERT_EQUAL(entry->fitted_keys.count, 2);
    size_t used = 0;
    for (size_t i = 0; i < calibration.measurements.count; i++)
        if (calibration.used[i]) {
            used++;
            CU_ASSERT_TRUE(rt_fitted_keys_has(&entry->fitted_keys,
                                              rt_run_key(&data, calibration.measurements.list[i].workload)));
        }
    CU_ASSERT_EQUAL(used, 2);
    rt_energy_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

/* Kernels alone, as many of a family and dtype as asked for. */
static void test_kernels(void)
{
    const struct rt_calibrate_options options = {.from = RT_FROM_KERNELS, .kernels = 3, .seed = 1};
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_energy_calibration calibration;
    make(&data, &predictor);
    RT_ASSERT_OK(rt_calibrate_energy(&predictor, &data, 2, &options, &calibration));
    CU_ASSERT_EQUAL(predictor.energy.devices[0].kernels, 6); /* softmax, elementwise */
    CU_ASSERT_EQUAL(predictor.energy.devices[0].runs, 0);
    rt_energy_calibration_release(&calibration);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

/* What cannot be fitted to is counted by its reason, and leaves the predictor as it was. */
static void test_what_is_left_out(void)
{
    const struct rt_calibrate_options options = {.kernels = 30, .seed = 1};
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_energy_calibration calibration;
    struct rt_energy_measurements measurements;
    const bool only[GPUS] = {true};
    make(&data, &predictor);
    data.workloads[0].energy_mj = NAN;
    data.workloads[1].flags = RT_FLAG_THROTTLED;
    data.workloads[2].model = rt_strings_add(&data.texts, "no-such-model", strlen("no-such-model"));
    RT_CHANGE(&data, 0, sample.energy_mj = NAN);
    rt_energy_measurements_gather(&data, &predictor, only, true, true, &measurements);
    CU_ASSERT_EQUAL(measurements.count, 2 * RUNS - 4);
    CU_ASSERT_EQUAL(measurements.runs_left[RT_UNOBSERVED_NO_POWER], 1);
    CU_ASSERT_EQUAL(measurements.runs_left[RT_UNOBSERVED_FLAGGED], 1);
    CU_ASSERT_EQUAL(measurements.runs_left[RT_UNOBSERVED_NO_FORECAST], 1);
    CU_ASSERT_EQUAL(measurements.kernels_left[RT_UNOBSERVED_NO_POWER], 1);
    rt_energy_measurements_release(&measurements);
    data.devices[0].power_w = NAN; /* of a board of unknown power nothing is said */
    RT_ASSERT_FAILS(rt_calibrate_energy(&predictor, &data, 0, &options, &calibration), RT_EFORMAT,
                    "no run or kernel with a measured power");
    CU_ASSERT_FALSE(rt_energy_model_is_fitted(&predictor.energy));
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

/* A run that a limit slows is an observation at the clock at which its steps are slower by as much: there it
 * takes less for a FLOP. Runs that are hardly slower, or slower than at any clock, are none. */
static void test_under_limits(void)
{
    const bool only[GPUS] = {true};
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_energy_measurements measurements;
    make(&data, &predictor);
    data.workload_count = 1; /* of the first device */
    repeat_under(&data, "100", 1.5);
    data.workloads[1].end_to_end_us = 1.5 * data.workloads[0].end_to_end_us;
    repeat_under(&data, "200", 1.05 / 1.5);
    repeat_under(&data, "90", 100);
    rt_energy_measurements_gather(&data, &predictor, only, true, false, &measurements);
    CU_ASSERT_EQUAL_FATAL(measurements.count, 2);
    CU_ASSERT_EQUAL(measurements.runs_left[RT_UNOBSERVED_LIMITED], 1);
    CU_ASSERT_EQUAL(measurements.runs_left[RT_UNOBSERVED_NO_FORECAST], 1);
    const struct rt_energy_observation *full = &measurements.list[0].observation,
                                       *held = &measurements.list[1].observation;
    CU_ASSERT_TRUE(held->limited && !full->limited && isnan(held->limit_w) && held->cell != full->cell);
    RT_ASSERT_NEAR(held->step[0].step_us, 1.5 * full->step[0].step_us, 1e-3);
    CU_ASSERT_TRUE(held->step[0].joules[RT_ENERGY_VECTOR] < full->step[0].joules[RT_ENERGY_VECTOR]);
    RT_ASSERT_NEAR(held->step[0].joules[RT_ENERGY_DRAM], full->step[0].joules[RT_ENERGY_DRAM], 1e-9);
    rt_energy_measurements_release(&measurements);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

/* Every chip is left out, and forecasts of it know nothing of it. */
struct visits {
    size_t unseen, one_run;
    bool knew; /* the device that was left out */
    const struct rt_energy_folds *folds;
};

static void visit(void *context, size_t observation, const struct rt_energy_model *model, bool one_run)
{
    struct visits *visits = context;
    const char *name = visits->folds->names[visits->folds->observations[observation].device];
    *(one_run ? &visits->one_run : &visits->unseen) += 1;
    for (size_t d = 0; d < model->count; d++)
        visits->knew |= !one_run && strcmp(model->devices[d].device, name) == 0;
}

static void test_leave_each_out(void)
{
    const bool all[GPUS] = {true, true, true};
    const char *names[GPUS];
    struct rt_dataset data;
    struct rt_predictor predictor;
    struct rt_energy_measurements measurements;
    make(&data, &predictor);
    rt_energy_measurements_gather(&data, &predictor, all, true, false, &measurements);
    struct rt_energy_observation observations[GPUS * RUNS];
    CU_ASSERT_EQUAL_FATAL(measurements.count, RT_COUNT(observations));
    for (size_t i = 0; i < measurements.count; i++)
        observations[i] = measurements.list[i].observation;
    for (int d = 0; d < GPUS; d++)
        names[d] = data.devices[d].name;
    struct rt_energy_folds folds = {.observations = observations,
                                    .count = measurements.count,
                                    .devices = data.devices,
                                    .names = names,
                                    .device_count = GPUS,
                                    .seed = 1,
                                    .runs = 2};
    struct visits visits = {.folds = &folds};
    RT_ASSERT_OK(rt_energy_leave_each_out(&folds, visit, &visits));
    CU_ASSERT_EQUAL(visits.unseen, GPUS * RUNS);
    CU_ASSERT_EQUAL(visits.one_run, GPUS * 2 * (RUNS - 1));
    CU_ASSERT_FALSE(visits.knew);
    folds.count = RUNS; /* of one chip alone */
    RT_ASSERT_FAILS(rt_energy_leave_each_out(&folds, visit, &visits), RT_EFORMAT, "fewer than two chips");
    struct rt_energy_model model;
    rt_energy_model_init(&model);
    RT_ASSERT_OK(rt_energy_fit_intervals(&folds, &model));
    CU_ASSERT_TRUE(isnan(model.unseen[0]));
    rt_energy_measurements_release(&measurements);
    rt_predictor_release(&predictor);
    rt_dataset_release(&data);
}

RT_TESTS(RT_TEST(test_population), RT_TEST(test_a_device), RT_TEST(test_kernels),
         RT_TEST(test_what_is_left_out), RT_TEST(test_under_limits), RT_TEST(test_leave_each_out))
