/* The curve over power limits, and what `predict` prints of it. See limit_curve.h. */
#include "predict/step/limit_curve.h"
#include "base/status.h"
#include "predict/step/power_limit.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

int rt_limits_read(const char *option, const char *text, void *watts)
{
    static const struct rt_range_kind kind = {
        .noun = "power limit",
        .nouns = "power limits",
        .give = "give watts such as 200 or 150,200,250, or FROM:TO:STEP such as 150:700:25",
        .bounds = "a power limit is above 0 W",
        .most = 1e6};
    return rt_ranges_read(option, text, &kind, watts);
}

static int solve(const struct rt_prediction *prediction, struct rt_limit_curve *curve)
{
    struct rt_power_profile profile;
    double scale[RT_ENERGY_PARTS];
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < curve->limits.count; i++)
        status = rt_power_limit_check(&prediction->device, curve->limits.value[i]);
    if (status == RT_OK)
        status = rt_power_profile_clocks(&prediction->forecast, prediction->predictor, &profile, scale);
    if (status == RT_OK)
        status = rt_power_at(&profile, scale, profile.board_w, &curve->full);
    for (size_t i = 0; status == RT_OK && i < curve->limits.count; i++)
        if ((status = rt_power_at(&profile, scale, curve->limits.value[i], &curve->states[i])) != RT_OK)
            rt_fail_context(status, "%s", prediction->device.name);
    return status;
}

int rt_limit_curve(const struct rt_prediction *prediction, const struct rt_numbers *limits,
                   struct rt_limit_curve *out)
{
    const struct rt_device *device = &prediction->device;
    struct rt_limit_curve curve = {.limits = *limits, .boost_mhz = device->clock_mhz};
    if (device->boost_mhz > 0)
        curve.boost_mhz = device->boost_mhz;
    curve.states = rt_calloc(limits->count, sizeof *curve.states);
    int status = solve(prediction, &curve);
    if (status != RT_OK) {
        rt_limit_curve_release(&curve);
        return status;
    }
    curve.least_energy = rt_power_least_energy(curve.states, limits->value, limits->count);
    curve.least_delay_product = rt_power_least_delay_product(curve.states, limits->value, limits->count);
    *out = curve;
    return RT_OK;
}

void rt_limit_curve_release(struct rt_limit_curve *curve)
{
    free(curve->states);
    *curve = (struct rt_limit_curve){0};
}

/* --- the report --- */

static double delay_product(const struct rt_power_state *state)
{
    return state->joules * 1e-6 * state->step_us;
}

/* Carbon and price of a million tokens or images, where they are asked for. Returns how many. */
static size_t electricity(const struct rt_prediction *p, double gpu_joules, struct rt_column *columns,
                          double *values)
{
    size_t count = 0;
    for (int kind = 0; kind < RT_ELECTRICITY_KINDS; kind++) {
        double joules = gpu_joules * p->forecast.energy.gpus;
        struct rt_electricity_column column =
            rt_electricity_column(p, (enum rt_electricity_kind)kind, joules);
        if (p->electricity.per_kwh[kind] <= 0)
            continue;
        columns[count] = (struct rt_column){column.key, column.title, 'g', 4};
        values[count++] = column.value;
    }
    return count;
}

static struct rt_table *states_table(const struct rt_prediction *p, const struct rt_limit_curve *curve)
{
    enum { OWN = 9 };
    double values[RT_ELECTRICITY_KINDS];
    struct rt_column columns[OWN + RT_ELECTRICITY_KINDS] = {
        {"limit_w", "limit W", 'f', 0},
        {"clock_mhz", "MHz", 'f', 0},
        {"total_ms", "ms", 'f', 3},
        {"over_full", "x full", 'f', 2},
        {"watts", "W drawn", 'f', 0},
        {"step_j", "J", 'g', 4},
        {"energy_pct", "J % of full", 'f', 1},
        {"delay_product_js", "J s", 'g', 4},
        {NULL, "J of the most", 's', 0},
    };
    size_t more = electricity(p, NAN, columns + OWN, values);
    struct rt_table *table = rt_table_new(columns, OWN + more);
    double most = 0;
    for (size_t i = 0; i < curve->limits.count; i++)
        most = fmax(most, curve->states[i].joules);
    for (size_t i = 0; i < curve->limits.count; i++) {
        const struct rt_power_state *state = &curve->states[i];
        char *bar = rt_text_bar(state->joules / most);
        electricity(p, state->joules, columns + OWN, values);
        rt_table_row_numbers(table, values, more, curve->limits.value[i], state->clock * curve->boost_mhz,
                             state->step_us / 1e3, state->step_us / curve->full.step_us, state->watts,
                             state->joules, 100 * state->joules / curve->full.joules, delay_product(state),
                             bar);
        free(bar);
    }
    return table;
}

static void add_best_json(struct rt_report *report, const char *name, const struct rt_limit_curve *curve,
                          size_t best)
{
    const struct rt_power_state *state = &curve->states[best];
    const struct {
        const char *member;
        double value;
    } members[] = {{"limit_w", curve->limits.value[best]},
                   {"total_ms", state->step_us / 1e3},
                   {"step_j", state->joules},
                   {"watts", state->watts}};
    for (size_t i = 0; i < RT_COUNT(members); i++) {
        char *key = rt_format("%s.%s", name, members[i].member);
        rt_report_add_json(report, key, rt_json_number(members[i].value));
        free(key);
    }
}

static json_t *curve_json(const struct rt_prediction *p, const struct rt_limit_curve *curve)
{
    struct rt_report *report = rt_report_new();
    bool images = rt_prediction_of_images(p);
    rt_report_add_json(report, "gpu", rt_json_text(p->device.name));
    rt_report_add_json(report, "gpu_changes", rt_json_text(p->gpu_changes));
    rt_report_add_json(report, "batch", json_integer(p->batch));
    rt_report_add_json(report, images ? "image" : "sequence", json_integer(images ? p->image : p->sequence));
    rt_report_add_json(report, "board_w", rt_json_number(p->device.power_w));
    rt_report_add_json(report, "full_ms", rt_json_number(curve->full.step_us / 1e3));
    rt_report_add_json(report, "full_j", rt_json_number(curve->full.joules));
    rt_report_add_json(report, "full_w", rt_json_number(curve->full.watts));
    add_best_json(report, "least_energy", curve, curve->least_energy);
    add_best_json(report, "least_delay_product", curve, curve->least_delay_product);
    rt_report_add_table(report, "points", "", states_table(p, curve));
    json_t *json = rt_report_json(report);
    rt_report_free(report);
    return json;
}

static void add_best(struct rt_report *report, const char *what, const struct rt_limit_curve *curve,
                     size_t best)
{
    const struct rt_power_state *state = &curve->states[best];
    rt_report_add_note(report, NULL,
                       "%s: %g W, with %.1f%% of the energy at full power and %.2f times the time", what,
                       curve->limits.value[best], 100 * state->joules / curve->full.joules,
                       state->step_us / curve->full.step_us);
}

static void add_curve(struct rt_report *report, const struct rt_prediction *p,
                      const struct rt_limit_curve *curve)
{
    char *words = rt_prediction_case(p);
    rt_report_add_table(report, NULL, words, states_table(p, curve));
    free(words);
    add_best(report, "Least energy", curve, curve->least_energy);
    add_best(report, "Least energy x time", curve, curve->least_delay_product);
    double most = 0;
    for (size_t i = 0; i < curve->limits.count; i++)
        if (curve->states[i].watts > curve->limits.value[i])
            most = fmax(most, curve->limits.value[i]);
    if (most > 0)
        rt_report_add_note(report, NULL,
                           "Under %g W the GPU draws more than its limit at its least clock, %.0f MHz", most,
                           RT_POWER_LEAST_CLOCK * curve->boost_mhz);
}

/* Time or joules of each curve. */
static void add_plot(struct rt_report *report, const struct rt_prediction *predictions,
                     const struct rt_limit_curve *curves, size_t count, bool energy)
{
    const struct rt_limit_curve *first = &curves[0];
    const size_t best = first->least_energy;
    struct rt_plot *plot =
        energy
            ? rt_plot_new("Energy against the power limit",
                          "The %s takes the least energy, %.4g J a step, at %g W; at full power %.4g J.",
                          predictions[0].device.name, first->states[best].joules, first->limits.value[best],
                          first->full.joules)
            : rt_plot_new("Time against the power limit",
                          "The %s takes %.4g ms at full power, and %.4g ms at the %g W of the least energy.",
                          predictions[0].device.name, first->full.step_us / 1e3,
                          first->states[best].step_us / 1e3, first->limits.value[best]);
    rt_plot_axes(plot, "power limit, W", RT_SCALE_LINEAR, energy ? "J a step" : "time of a step, ms",
                 count > 1 ? RT_SCALE_LOG : RT_SCALE_LINEAR);
    for (size_t i = 0; i < count; i++) {
        double values[RT_RANGES_MOST];
        char *name = rt_prediction_case(&predictions[i]);
        for (size_t s = 0; s < curves[i].limits.count; s++)
            values[s] = energy ? curves[i].states[s].joules : curves[i].states[s].step_us / 1e3;
        rt_plot_line(plot, name, curves[i].limits.value, values, curves[i].limits.count);
        free(name);
    }
    rt_report_add_plot(report, plot);
}

struct rt_report *rt_limit_report(const struct rt_prediction *predictions,
                                  const struct rt_limit_curve *curves, size_t count)
{
    struct rt_report *report = rt_report_new();
    json_t *all = json_array();
    const struct rt_prediction *first = &predictions[0];
    rt_report_add_title(report, "%s, %s, %s, by %s, under power limits; of one GPU", first->model,
                        rt_steps[first->graph.options.step], rt_graph_dtype_words(&first->graph).text,
                        rt_graph_runtime_words(&first->graph));
    rt_report_add_text(report, "model", NULL, first->model);
    rt_report_add_text(report, "predictor", NULL, first->predictor_name);
    rt_report_add_text(report, "mode", NULL, rt_steps[first->graph.options.step]);
    add_plot(report, predictions, curves, count, false);
    add_plot(report, predictions, curves, count, true);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(all, curve_json(&predictions[i], &curves[i]));
        add_curve(report, &predictions[i], &curves[i]);
    }
    rt_report_add_json(report, "curves", all);
    return report;
}
