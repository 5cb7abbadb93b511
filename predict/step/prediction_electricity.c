/* What a step's electricity comes to, printed. See prediction.h. */
#include "base/status.h"
#include "predict/step/prediction.h"

#include <math.h>
#include <stdlib.h>

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

double rt_electricity_of(const struct rt_electricity *electricity, enum rt_electricity_kind kind,
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
    column.value =
        rt_electricity_of(&prediction->electricity, kind, 1e6 * joules / rt_prediction_items(prediction));
    return column;
}

/* --- the report --- */

struct amounts {
    double step, low, high, items, epoch;
};

static struct amounts amounts_of(const struct rt_prediction *prediction, enum rt_electricity_kind kind)
{
    const struct rt_electricity *electricity = &prediction->electricity;
    const struct rt_forecast_energy *energy = &prediction->forecast.energy;
    double joules = rt_prediction_joules(prediction);
    return (struct amounts){
        .step = rt_electricity_of(electricity, kind, joules),
        .low = rt_electricity_of(electricity, kind, energy->low_joules * energy->gpus),
        .high = rt_electricity_of(electricity, kind, energy->high_joules * energy->gpus),
        .items = rt_electricity_column(prediction, kind, joules).value,
        .epoch =
            prediction->dataset_size > 0
                ? rt_electricity_of(electricity, kind, joules * (double)rt_prediction_epoch_steps(prediction))
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
