/* The energy of a forecast and what its electricity comes to, printed. See prediction.h. */
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
                       decimals(each), each,
                       !rt_prediction_of_images(prediction)   ? " token"
                       : prediction->graph.options.frames > 0 ? " video"
                                                              : "n image",
                       fitted ? "" : "; by coefficients that were not fitted");
    free(range);
    range = interval_words(energy->low_watts, energy->high_watts, f->interval_level);
    rt_report_add_fact(report, "energy.watts", rt_json_number(energy->watts), known ? "power" : NULL,
                       "%.0f W on average%s%s, of %.0f%s", energy->watts, energy->gpus > 1 ? " a GPU" : "",
                       range, energy->limit_w,
                       energy->watts > energy->limit_w         ? ", which its least clock exceeds"
                       : !energy->limited                      ? ""
                       : energy->watts < 0.8 * energy->limit_w ? ", which limits parts of it"
                                                               : ", which limits it");
    free(range);
    free(gpus);
    add_json(report, prediction);
}

/* --- electricity --- */

static const double JOULES_A_KWH = 3.6e6;

static const struct {
    const char *key, *fact, *unit, *rate; /* of reports; behind an amount; what a kWh brings */
    struct rt_electricity_column tokens, images;
} kinds[RT_ELECTRICITY_KINDS] = {
    [RT_ELECTRICITY_CARBON] = {"carbon_g",
                               "carbon",
                               " g",
                               " g of CO2",
                               {"carbon_g_per_million_tokens", "g CO2/Mtoken", NAN},
                               {"carbon_g_per_million_images", "g CO2/Mimage", NAN}},
    [RT_ELECTRICITY_PRICE] = {"price",
                              "price",
                              "",
                              "",
                              {"price_per_million_tokens", "price/Mtoken", NAN},
                              {"price_per_million_images", "price/Mimage", NAN}},
};

/* What joules bring. */
static double amount_of(const struct rt_electricity *electricity, enum rt_electricity_kind kind,
                        double joules)
{
    return electricity->per_kwh[kind] * joules / JOULES_A_KWH;
}

bool rt_electricity_asked(const struct rt_electricity *electricity)
{
    bool asked = false;
    for (int kind = 0; kind < RT_ELECTRICITY_KINDS; kind++)
        asked |= electricity->per_kwh[kind] > 0;
    return asked;
}

struct rt_electricity_column rt_electricity_column(const struct rt_prediction *prediction,
                                                   enum rt_electricity_kind kind, double joules)
{
    bool images = rt_prediction_of_images(prediction);
    struct rt_electricity_column column = images ? kinds[kind].images : kinds[kind].tokens;
    column.value = amount_of(&prediction->electricity, kind, 1e6 * joules / rt_prediction_items(prediction));
    return column;
}

struct amounts {
    double step, low, high, items, epoch;
};

static struct amounts amounts_of(const struct rt_prediction *prediction, enum rt_electricity_kind kind)
{
    const struct rt_electricity *electricity = &prediction->electricity;
    const struct rt_forecast_energy *energy = &prediction->forecast.energy;
    double joules = rt_prediction_joules(prediction);
    return (struct amounts){
        .step = amount_of(electricity, kind, joules),
        .low = amount_of(electricity, kind, energy->low_joules * energy->gpus),
        .high = amount_of(electricity, kind, energy->high_joules * energy->gpus),
        .items = rt_electricity_column(prediction, kind, joules).value,
        .epoch = prediction->dataset_size > 0
                     ? amount_of(electricity, kind, joules * (double)rt_prediction_epoch_steps(prediction))
                     : NAN};
}

static json_t *amounts_json(const struct rt_prediction *prediction, enum rt_electricity_kind kind,
                            const struct amounts *amounts)
{
    bool images = rt_prediction_of_images(prediction);
    return json_pack("{s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "per_kwh", prediction->electricity.per_kwh[kind],
                     "step", rt_json_number(amounts->step), "low", rt_json_number(amounts->low), "high",
                     rt_json_number(amounts->high), "per_million_tokens",
                     rt_json_number(images ? NAN : amounts->items), "per_million_images",
                     rt_json_number(images ? amounts->items : NAN), "epoch", rt_json_number(amounts->epoch));
}

/* "0.42 g a step (0.3 .. 0.59, 90%), 4.1 g per million tokens, 12 g an epoch, at 380 g of CO2 a kWh" */
static void add_kind(struct rt_report *report, const struct rt_prediction *prediction,
                     enum rt_electricity_kind kind)
{
    struct amounts amounts = amounts_of(prediction, kind);
    const char *unit = kinds[kind].unit;
    char *range = isnan(amounts.low) || isnan(amounts.high)
                      ? rt_strdup("")
                      : rt_format(" (%.3g .. %.3g, %g%%)", amounts.low, amounts.high,
                                  100 * prediction->forecast.interval_level);
    char *epoch = isnan(amounts.epoch) ? rt_strdup("") : rt_format("%.4g%s an epoch, ", amounts.epoch, unit);
    rt_report_add_fact(report, kinds[kind].key, amounts_json(prediction, kind, &amounts), kinds[kind].fact,
                       "%.4g%s a step%s, %.4g%s per %s, %sat %g%s a kWh", amounts.step, unit, range,
                       amounts.items, unit,
                       rt_prediction_of_images(prediction) ? "million images" : "million tokens", epoch,
                       prediction->electricity.per_kwh[kind], kinds[kind].rate);
    free(range);
    free(epoch);
}

void rt_prediction_add_electricity(struct rt_report *report, const struct rt_prediction *prediction)
{
    for (int kind = 0; kind < RT_ELECTRICITY_KINDS; kind++)
        if (prediction->electricity.per_kwh[kind] > 0)
            add_kind(report, prediction, kind);
}
