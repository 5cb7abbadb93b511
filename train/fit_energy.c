/* The energy model, fitted. See fit_energy.h. */
#include "train/fit_energy.h"
#include "base/status.h"
#include "models/predictors/roofline/energy.h"
#include "train/robust.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double longest_step = 0.7; /* of a parameter: a factor of 2 */
static const double scatter_rows = 10;  /* how many observations the prior of their scale counts as */
static const double difference = 1e-4;  /* of ln scales, for slopes */
/* Effects that runs move little settle to it while the scale is still wide, and stay nearer to the prior for
 * it. With 1e-10 fewer do, and power of a GPU by one run of it is 6.77% off in place of 6.66% (crossval of
 * energy, 339 runs, times of the predictor that comes along). */
static const double short_step = 1e-9;

const struct rt_energy_fit_options rt_energy_fit_defaults = {
    .population_sd = {0.5, 0.5, 0.5, 0.5, 0.2, 0.2}, .scatter = 0.08, .cell_power = 0.5};

const struct rt_energy_fit_options rt_energy_fit_effects = {.scatter = 0.1, .cell_power = 0.5};

/* ---- an observation ---- */

/* Joules of a step with those scales, within the limit. */
static double joules_of(const struct rt_energy_step *step, double limit_w,
                        const double scale[RT_ENERGY_PARTS])
{
    double joules[RT_ENERGY_PARTS], dynamic = 0, busy_s = 1e-6 * step->busy_us;
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        joules[p] = scale[p] * step->joules[p];
    for (int p = 0; p < RT_ENERGY_ACTIVE; p++)
        dynamic += joules[p];
    if (!(busy_s > 0))
        return joules[RT_ENERGY_IDLE];
    double idle_w = joules[RT_ENERGY_IDLE] / (1e-6 * step->step_us);
    double base_w = idle_w + joules[RT_ENERGY_ACTIVE] / busy_s;
    return joules[RT_ENERGY_IDLE] + busy_s * (rt_power_clipped(base_w, dynamic / busy_s, limit_w) - idle_w);
}

double rt_energy_observation_watts(const struct rt_energy_observation *observation,
                                   const double scale[RT_ENERGY_PARTS])
{
    double joules = 0, seconds = 0;
    for (size_t s = 0; s < observation->steps; s++) {
        joules += joules_of(&observation->step[s], observation->limit_w, scale);
        seconds += 1e-6 * observation->step[s].step_us;
    }
    return joules / seconds;
}

static bool step_is_sound(const struct rt_energy_step *step)
{
    double sum = 0;
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        sum += step->joules[p];
    return sum > 0 && isfinite(sum) && step->step_us > 0 && step->busy_us >= 0 &&
           step->busy_us <= step->step_us * (1 + 1e-9);
}

bool rt_energy_observation_is_sound(const struct rt_energy_observation *observation)
{
    bool sound = observation->steps > 0 && observation->watts > 0 && isfinite(observation->watts);
    for (size_t s = 0; s < observation->steps; s++)
        sound &= step_is_sound(&observation->step[s]);
    return sound;
}

/* ---- the problem ---- */

/* Parameters: ln population of each part, then the effects of each observed device. */
struct problem {
    const struct rt_energy_observation **row; /* (rows) those that can be used */
    double *weight;                           /* (rows) */
    size_t rows, parameters;
    size_t *slot; /* (device_count) of the observed devices, from 0; SIZE_MAX: not observed */
    size_t slot_count;
    double *spread;    /* (parameters) prior deviation; 0: fixed */
    double *parameter; /* (parameters) */
};

static size_t effect_at(size_t slot, int effect)
{
    return RT_ENERGY_PARTS + slot * RT_ENERGY_EFFECTS + (size_t)effect;
}

static void weigh(struct problem *problem, double cell_power)
{
    int32_t last = 0;
    for (size_t i = 0; i < problem->rows; i++)
        last = problem->row[i]->cell > last ? problem->row[i]->cell : last;
    double *held = rt_calloc((size_t)last + 1, sizeof *held);
    for (size_t i = 0; i < problem->rows; i++)
        held[problem->row[i]->cell]++;
    for (size_t i = 0; i < problem->rows; i++)
        problem->weight[i] = pow(held[problem->row[i]->cell], problem->row[i]->limited ? -1 : -cell_power);
    free(held);
}

static void find_slots(struct problem *problem, size_t device_count)
{
    for (size_t d = 0; d < device_count; d++)
        problem->slot[d] = SIZE_MAX;
    for (size_t i = 0; i < problem->rows; i++)
        if (problem->slot[problem->row[i]->device] == SIZE_MAX)
            problem->slot[problem->row[i]->device] = problem->slot_count++;
}

static void set_up(const struct rt_energy_observation *observations, size_t count, size_t device_count,
                   const struct rt_energy_fit_options *options, const struct rt_energy_model *model,
                   struct problem *problem)
{
    *problem = (struct problem){.row = rt_malloc((count + 1) * sizeof *problem->row),
                                .weight = rt_malloc((count + 1) * sizeof *problem->weight),
                                .slot = rt_malloc((device_count + 1) * sizeof *problem->slot)};
    for (size_t i = 0; i < count; i++)
        if (rt_energy_observation_is_sound(&observations[i]))
            problem->row[problem->rows++] = &observations[i];
    find_slots(problem, device_count);
    weigh(problem, options->cell_power);
    problem->parameters = effect_at(problem->slot_count, 0);
    problem->spread = rt_calloc(problem->parameters, sizeof *problem->spread);
    problem->parameter = rt_calloc(problem->parameters, sizeof *problem->parameter);
    for (int p = 0; p < RT_ENERGY_PARTS; p++) {
        problem->spread[p] = options->population_sd[p];
        problem->parameter[p] = log(model->population[p]);
    }
    for (size_t s = 0; s < problem->slot_count; s++)
        for (int e = 0; e < RT_ENERGY_EFFECTS; e++)
            problem->spread[effect_at(s, e)] = model->sd[e];
}

static void release(struct problem *problem)
{
    free(problem->row);
    free(problem->weight);
    free(problem->slot);
    free(problem->spread);
    free(problem->parameter);
}

/* ---- residuals ---- */

static void scales_of(const struct problem *problem, const double *parameter, size_t row,
                      double scale[RT_ENERGY_PARTS])
{
    size_t slot = problem->slot[problem->row[row]->device];
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        scale[p] = exp(parameter[p] + parameter[effect_at(slot, (int)rt_energy_effect_of[p])]);
}

/* ln(measured / forecast), and d ln forecast / d ln scale of each part (parts). */
static double residual_of(const struct problem *problem, const double *parameter, size_t row,
                          double slope[RT_ENERGY_PARTS])
{
    const struct rt_energy_observation *observation = problem->row[row];
    double scale[RT_ENERGY_PARTS];
    scales_of(problem, parameter, row, scale);
    for (int p = 0; p < RT_ENERGY_PARTS; p++) {
        double middle = scale[p];
        scale[p] = middle * exp(difference);
        double above = log(rt_energy_observation_watts(observation, scale));
        scale[p] = middle * exp(-difference);
        slope[p] = (above - log(rt_energy_observation_watts(observation, scale))) / (2 * difference);
        scale[p] = middle;
    }
    return log(observation->watts / rt_energy_observation_watts(observation, scale));
}

/* d forecast / d parameter out of that of parts: an effect moves all its parts. */
static void chain(const struct problem *problem, size_t row, const double slope[RT_ENERGY_PARTS], double *out)
{
    size_t slot = problem->slot[problem->row[row]->device];
    memset(out, 0, problem->parameters * sizeof *out);
    for (int p = 0; p < RT_ENERGY_PARTS; p++) {
        out[p] += slope[p];
        out[effect_at(slot, (int)rt_energy_effect_of[p])] += slope[p];
    }
}

static int evaluate(void *context, const double *parameter, double *residual, double *slope)
{
    const struct problem *problem = context;
    double parts[RT_ENERGY_PARTS];
    for (size_t i = 0; i < problem->rows; i++) {
        residual[i] = residual_of(problem, parameter, i, parts);
        chain(problem, i, parts, slope + i * problem->parameters);
    }
    return RT_OK;
}

static void solve(struct problem *problem, double scatter)
{
    double *centre = rt_calloc(problem->parameters, sizeof *centre);
    const struct rt_robust_problem robust = {.rows = problem->rows,
                                             .parameters = problem->parameters,
                                             .centre = centre,
                                             .spread = problem->spread,
                                             .weight = problem->weight,
                                             .scale = scatter,
                                             .evaluate = evaluate,
                                             .context = problem,
                                             .freedom = RT_ENERGY_FREEDOM,
                                             .scale_rows = scatter_rows,
                                             .longest_step = longest_step,
                                             .short_step = short_step,
                                             .wide = 4};
    struct rt_robust_fit fit;
    rt_robust_fit(&robust, problem->parameter, &fit); /* evaluate does not fail */
    free(centre);
}

/* ---- what comes out ---- */

static void put_device(const struct problem *problem, size_t device, const char *name, bool calibrated,
                       struct rt_energy_model *model)
{
    struct rt_energy_device entry = {.calibrated = calibrated};
    snprintf(entry.device, sizeof entry.device, "%s", name);
    for (int e = 0; e < RT_ENERGY_EFFECTS; e++)
        entry.effect[e] = problem->parameter[effect_at(problem->slot[device], e)];
    for (size_t i = 0; i < problem->rows; i++)
        if (problem->row[i]->device == (int32_t)device)
            *(problem->row[i]->kernel ? &entry.kernels : &entry.runs) += 1;
    rt_energy_model_put(model, &entry);
}

int rt_energy_fit(const struct rt_energy_observation *observations, size_t count, const char *const *names,
                  size_t device_count, const struct rt_energy_fit_options *options,
                  struct rt_energy_model *model)
{
    struct problem problem;
    bool population = false;
    set_up(observations, count, device_count, options, model, &problem);
    if (problem.rows == 0) {
        release(&problem);
        return rt_fail(RT_EFORMAT, "holds no run or kernel with a measured power that can be forecast; "
                                   "measure energy with `rooftile collect --energy`, or import runs with it");
    }
    solve(&problem, options->scatter);
    for (int p = 0; p < RT_ENERGY_PARTS; p++) {
        population |= options->population_sd[p] > 0;
        model->population[p] = exp(problem.parameter[p]);
    }
    for (size_t d = 0; d < device_count; d++)
        if (problem.slot[d] != SIZE_MAX)
            put_device(&problem, d, names[d], !population, model);
    release(&problem);
    return RT_OK;
}
