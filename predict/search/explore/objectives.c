/* The table of objectives, and the front. See objectives.h. */
#include "predict/search/explore/objectives.h"
#include "base/pareto.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

const char *const rt_priced[RT_PRICED_COUNT] = {"cost", "area"};

static void device_at(const struct rt_exploration *exploration, size_t point, struct rt_device *out)
{
    double values[RT_MOST_AXES];
    *out = exploration->base;
    if (point == exploration->space.points)
        return;
    rt_space_values(&exploration->space, point, values);
    rt_space_device(&exploration->space, values, &exploration->base, out);
}

static double price(const struct rt_assessment *assessment, enum rt_priced priced, size_t point)
{
    struct rt_device device;
    device_at(assessment->exploration, point, &device);
    return rt_formula_value(&assessment->formulas[priced], &device);
}

static bool always(const struct rt_assessment *assessment)
{
    return assessment != NULL;
}
static double time_ms(const struct rt_assessment *assessment, size_t point)
{
    return rt_exploration_time_us(assessment->exploration, point) / 1000;
}
static bool energy_asked(const struct rt_assessment *assessment)
{
    return assessment->exploration->how.energy;
}
static double step_j(const struct rt_assessment *assessment, size_t point)
{
    return rt_exploration_energy_j(assessment->exploration, point);
}
static bool cost_asked(const struct rt_assessment *assessment)
{
    return assessment->formulas[RT_PRICED_COST].steps > 0;
}
static double cost(const struct rt_assessment *assessment, size_t point)
{
    return price(assessment, RT_PRICED_COST, point);
}
static bool area_asked(const struct rt_assessment *assessment)
{
    return assessment->formulas[RT_PRICED_AREA].steps > 0;
}
static double area(const struct rt_assessment *assessment, size_t point)
{
    return price(assessment, RT_PRICED_AREA, point);
}

static const struct rt_objective rows[] = {
    {"time_ms", "ms", always, time_ms},
    {"step_j", "J", energy_asked, step_j},
    {"cost", "cost", cost_asked, cost},
    {"area", "area", area_asked, area},
};
_Static_assert(RT_COUNT(rows) <= RT_MOST_OBJECTIVES, "raise RT_MOST_OBJECTIVES");

size_t rt_objectives_of(const struct rt_assessment *assessment, const struct rt_objective **out)
{
    size_t count = 0;
    for (size_t o = 0; o < RT_COUNT(rows); o++)
        if (rows[o].asked(assessment))
            out[count++] = &rows[o];
    return count;
}

static int refuse_price(const struct rt_assessment *assessment, enum rt_priced priced, size_t point,
                        double value)
{
    const struct rt_space *space = &assessment->exploration->space;
    double values[RT_MOST_AXES];
    struct rt_text at = {0};
    rt_space_values(space, point, values);
    for (size_t a = 0; a < space->axes; a++)
        rt_text_item(&at, ",", "%s=%g", rt_device_fields[space->axis[a].field].key, values[a]);
    int status = rt_fail(RT_EUSAGE,
                         "%s \"%.200s\": is %g on %s,%s; a formula must give a number at every point, of "
                         "fields that the device has",
                         rt_field_words(rt_priced[priced]).text, assessment->formulas[priced].text, value,
                         assessment->exploration->base.name, at.text);
    rt_text_release(&at);
    return status;
}

int rt_objectives_check(const struct rt_assessment *assessment)
{
    for (int priced = 0; priced < RT_PRICED_COUNT; priced++)
        for (size_t p = 0;
             assessment->formulas[priced].steps > 0 && p < assessment->exploration->space.points; p++) {
            double value = price(assessment, (enum rt_priced)priced, p);
            if (!isfinite(value))
                return refuse_price(assessment, (enum rt_priced)priced, p, value);
        }
    return RT_OK;
}

/* ---- the front ---- */

size_t rt_pareto_front(const struct rt_assessment *assessment, bool *front)
{
    const struct rt_objective *objective[RT_MOST_OBJECTIVES];
    size_t objectives = rt_objectives_of(assessment, objective),
           points = assessment->exploration->space.points;
    double *values = rt_malloc((points * objectives + 1) * sizeof *values);
    for (size_t p = 0; p < points; p++) {
        front[p] = rt_exploration_fits(assessment->exploration, p);
        for (size_t o = 0; o < objectives; o++)
            values[p * objectives + o] = objective[o]->value(assessment, p);
    }
    size_t found = rt_pareto(values, points, objectives, front);
    free(values);
    return found;
}
