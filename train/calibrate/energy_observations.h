/*
 * Measured power as observations that the energy model is fitted to and judged by (train/fit_energy.h): runs
 * of whole models, by the power profiles of their steps at the measured time, and kernels. A run
 * under a limit below the board's that the same run was measured without is one at the clock at which its
 * steps are forecast to be slower by as much: what it draws there says what is drawn whatever runs. It is
 * fitted to, not judged.
 */
#pragma once

#include "datasets/dataset.h"
#include "models/predictors/predictor/predictor.h"
#include "train/fit_energy.h"

/* Why a run or kernel is no observation. */
enum rt_unobserved {
    RT_UNOBSERVED_NO_POWER,
    RT_UNOBSERVED_FLAGGED,
    RT_UNOBSERVED_LIMITED,
    RT_UNOBSERVED_NO_FORECAST,
    RT_UNOBSERVED_COUNT
};
struct rt_unobserved_row {
    const char *key, *words; /* for JSON; behind "12 runs" */
};
extern const struct rt_unobserved_row rt_unobserved[RT_UNOBSERVED_COUNT];

/* One measured run or kernel; the pointer is into the dataset. */
struct rt_energy_measured {
    struct rt_energy_observation observation; /* at the measured time */
    struct rt_energy_observation as_forecast; /* at the time that the predictor forecasts */
    const struct rt_workload *workload;       /* NULL: a kernel */
    size_t sample;                            /* a kernel's row of the dataset */
    double measured_us;                       /* of the run or kernel */
    double forecast_us;                       /* its time by the predictor; of a kernel the measured one */
    double gpus;                              /* of the run */
};

struct rt_energy_measurements {
    struct rt_energy_measured *list;
    size_t count, capacity;
    size_t runs_left[RT_UNOBSERVED_COUNT], kernels_left[RT_UNOBSERVED_COUNT];
};

/* Gathers those of the devices marked (device_count of the dataset), runs and kernels as asked for. What
 * cannot be forecast is counted. */
void rt_energy_measurements_gather(const struct rt_dataset *dataset, const struct rt_predictor *predictor,
                                   const bool *devices, bool runs, bool kernels,
                                   struct rt_energy_measurements *out);
void rt_energy_measurements_release(struct rt_energy_measurements *measurements);
