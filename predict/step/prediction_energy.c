/* The energy of a forecast, printed. See prediction.h. */
#include "base/status.h"
#include "models/predictors/predictor/energy_model.h"
#include "predict/step/prediction.h"

#include <math.h>
#include <stdlib.h>

/* Decimals that leave three digits or so. */
static int decimals(double value)
{
    return value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : value >= 0.1 ? 3 : value >= 0.01 ? 4 : 5;
}

/* " (98 .. 179, 90%)"; "" where the interval is unknown. Free with free(). */
static char *interval_words(double low, double high, double level)
{
    if (isnan(low) || isnan(high))
        return rt_strdup("");
    return rt_format(" (%.*f .. %.*f, %g%%)", decimals(low), low, decimals(low), high, 100 * level);
}

static json_t *interval_json(const struct rt_forecast_energy *energy, double level)
{
    if (isnan(energy->low_joules) || isnan(energy->high_joules))
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "level", level, "low_j", energy->low_joules * energy->gpus,
                     "high_j", energy->high_joules * energy->gpus, "low_w", energy->low_watts, "high_w",
                     energy->high_watts);
}

static json_t *parts_json(const struct rt_forecast_energy *energy)
{
    json_t *parts = json_object();
    for (int part = 0; part < RT_ENERGY_PARTS; part++)
        json_object_set_new(parts, rt_energy_parts[part], rt_json_number(energy->parts[part] * energy->gpus));
    return parts;
}

static void add_json(struct rt_report *report, const struct rt_prediction *prediction)
{
    const struct rt_forecast_energy *energy = &prediction->forecast.energy;
    bool images = rt_prediction_of_images(prediction);
    double each = rt_prediction_joules_per_item(prediction);
    const struct {
        const char *key;
        json_t *value;
    } members[] = {
        {"energy.j_per_token", rt_json_number(images ? NAN : each)},
        {"energy.j_per_image", rt_json_number(images ? each : NAN)},
        {"energy.gpus", rt_json_number(energy->gpus)},
        {"energy.gpu_j", rt_json_number(energy->joules)},
        {"energy.limit_w", rt_json_number(energy->limit_w)},
        {"energy.limited", json_boolean(energy->limited)},
        {"energy.clock_mhz", rt_json_number(energy->clock_mhz)},
        {"energy.parts_j", parts_json(energy)},
        {"energy.interval", interval_json(energy, prediction->forecast.interval_level)},
        {"energy.fitted", json_boolean(rt_energy_model_is_fitted(&prediction->predictor->energy))},
    };
    for (size_t i = 0; i < RT_COUNT(members); i++)
        rt_report_add_json(report, members[i].key, members[i].value);
}

void rt_prediction_add_energy(struct rt_report *report, const struct rt_prediction *prediction)
{
    const struct rt_forecast *f = &prediction->forecast;
    const struct rt_forecast_energy *energy = &f->energy;
    double joules = rt_prediction_joules(prediction), each = rt_prediction_joules_per_item(prediction);
    bool known = !isnan(joules), fitted = rt_energy_model_is_fitted(&prediction->predictor->energy);
    char *range = interval_words(energy->low_joules * energy->gpus, energy->high_joules * energy->gpus,
                                 f->interval_level);
    char *gpus = energy->gpus > 1 ? rt_format(" of %g GPUs", energy->gpus) : rt_strdup("");
    rt_report_add_fact(report, "energy.step_j", rt_json_number(joules), known ? "energy" : NULL,
                       "%.*f J a step%s%s, %.*f J a%s%s", decimals(joules), joules, gpus, range,
                       decimals(each), each, rt_prediction_of_images(prediction) ? "n image" : " token",
                       fitted ? "" : "; by coefficients that were not fitted");
    free(range);
    range = interval_words(energy->low_watts, energy->high_watts, f->interval_level);
    rt_report_add_fact(report, "energy.watts", rt_json_number(energy->watts), known ? "power" : NULL,
                       "%.0f W on average%s%s, of %.0f%s", energy->watts, energy->gpus > 1 ? " a GPU" : "",
                       range, energy->limit_w, energy->limited ? ", which limits it" : "");
    free(range);
    free(gpus);
    add_json(report, prediction);
}
