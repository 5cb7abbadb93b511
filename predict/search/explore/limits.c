/* The table of limits, and how time answers to one. See limits.h. */
#include "predict/search/explore/limits.h"
#include "base/status.h"
#include "models/predictors/roofline/board.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>
#include <string.h>

static const double RAISE = 1.1;

/* Fields that are raised together; multiprocessors bring their share of the peaks. A clock brings that too
 * and more besides, so that it always binds before them: it counts where it varies (rt_limits_of). */
static const struct row {
    const char *name;
    const char *fields[4];
} rows[] = {
    {"compute", {"sms"}},
    {"bandwidth", {"bandwidth_gbs"}},
    {"L2", {"l2_mib"}},
    {"power", {"power_w"}},
    {"link", {"link_gbs", "bridge_gbs", "host_link_gbs"}},
    {"host", {NULL}},
};

static size_t field_of(const char *key)
{
    return key == NULL ? rt_device_field_count
                       : (size_t)(rt_device_field_named(key, strlen(key)) - rt_device_fields);
}

static const struct row *row_of(const struct rt_limit *limit)
{
    for (size_t r = 0; r < RT_COUNT(rows); r++)
        if (strcmp(rows[r].name, limit->name) == 0)
            return &rows[r];
    return NULL;
}

static bool is_listed(size_t field)
{
    for (size_t r = 0; r < RT_COUNT(rows); r++)
        for (size_t f = 0; f < RT_COUNT(rows[r].fields); f++)
            if (rows[r].fields[f] != NULL && field_of(rows[r].fields[f]) == field)
                return true;
    return false;
}

size_t rt_limits_of(const struct rt_space *space, struct rt_limit *out)
{
    size_t count = 0;
    for (size_t r = 0; r < RT_COUNT(rows); r++)
        out[count++] = (struct rt_limit){rows[r].name, field_of(rows[r].fields[0])};
    for (size_t a = 0; a < space->axes; a++)
        if (!is_listed(space->axis[a].field))
            out[count++] =
                (struct rt_limit){rt_device_fields[space->axis[a].field].key, space->axis[a].field};
    return count;
}

bool rt_limit_known(const struct rt_limit *limit, const struct rt_device *device)
{
    return limit->field == rt_device_field_count ||
           !isnan(*rt_device_value((struct rt_device *)(uintptr_t)device, limit->field));
}

static void raise_field(struct rt_device *device, size_t field)
{
    double value = *rt_device_value(device, field);
    struct rt_device_setting setting = {field, RAISE * value};
    if (!isnan(value))
        rt_device_set(device, &setting, 1);
}

static void raise_device(const struct rt_limit *limit, struct rt_device *device)
{
    const struct row *row = row_of(limit);
    if (row == NULL)
        raise_field(device, limit->field);
    for (size_t f = 0; row != NULL && f < RT_COUNT(row->fields) && row->fields[f] != NULL; f++)
        raise_field(device, field_of(row->fields[f]));
}

/* A host that dispatches in 1 / RAISE of the time. */
static void raise_host(struct rt_forecast_options *how, struct rt_host *host)
{
    *host = how->host != NULL ? *how->host : *rt_host_default();
    host->forward_us /= RAISE;
    host->backward_us /= RAISE;
    host->launch_us /= RAISE;
    host->optimizer_us /= RAISE;
    host->step_us /= RAISE;
    how->host_us /= RAISE;
    how->host = host;
}

/* Does no kernel compute faster with a tenth more power? It enters by these rates alone
 * (models/predictors/roofline/board.h). */
static bool is_within_power(const struct rt_forecast *forecast)
{
    bool asked[RT_FAMILY_COUNT][RT_DTYPE_COUNT] = {{false}};
    const struct rt_device *device = forecast->device;
    struct rt_device raised = *device;
    raised.power_w *= RAISE;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_call *call = &forecast->launches[i].kernel.call;
        bool moves =
            rt_families[rt_call_family(call)].moves; /* forecast as elementwise ops of the graph's dtype */
        enum rt_family family = moves ? RT_FAMILY_ELEMENTWISE : rt_call_family(call);
        enum rt_dtype dtype = moves ? forecast->graph->options.dtype : (enum rt_dtype)call->dtype;
        if (asked[family][dtype])
            continue;
        asked[family][dtype] = true;
        if (rt_sustained_flops(&raised, family, dtype) > rt_sustained_flops(device, family, dtype) ||
            rt_rates_of(&raised, family, dtype).sustained_flops >
                rt_rates_of(device, family, dtype).sustained_flops)
            return false;
    }
    return true;
}

/* What cannot be in the way of this step, so that no forecast is needed to tell. */
static bool is_out_of_the_way(const struct rt_limit *limit, const struct rt_forecast *forecast)
{
    if (strcmp(limit->name, "power") == 0)
        return is_within_power(forecast);
    if (strcmp(limit->name, "link") == 0)
        return forecast->source_us[RT_TIME_LINK] == 0 && forecast->communication_us <= 0 &&
               forecast->copy_us == 0;
    return strcmp(limit->name, "host") == 0 && forecast->host_us == 0;
}

/* The step's time with the limit raised. */
static int raised_us(const struct rt_limit *limit, const struct rt_predictor *predictor,
                     const struct rt_forecast *forecast, double *out)
{
    struct rt_forecast_options how = forecast->options;
    how.times_only = true;
    how.energy = false;
    struct rt_device device = *forecast->device;
    struct rt_forecast raised;
    struct rt_host host;
    if (limit->field == rt_device_field_count) {
        raise_host(&how, &host);
        *out = rt_forecast_total_with(forecast, predictor, &how);
        return RT_OK;
    }
    raise_device(limit, &device);
    int status = rt_forecast_graph(forecast->graph, predictor, &device, &how, &raised);
    if (status != RT_OK)
        return status;
    *out = raised.total_us;
    rt_forecast_release(&raised);
    return RT_OK;
}

int rt_limit_elasticity(const struct rt_limit *limit, const struct rt_predictor *predictor,
                        const struct rt_forecast *forecast, double *out)
{
    double us = forecast->total_us;
    int status = RT_OK;
    if (!is_out_of_the_way(limit, forecast) && rt_limit_known(limit, forecast->device))
        status = raised_us(limit, predictor, forecast, &us);
    *out = rt_limit_known(limit, forecast->device) ? log(us / forecast->total_us) / log(RAISE) : NAN;
    return status;
}
