/* Which net forecasts a kernel, forecasts, and what a predictor was fitted to. See predictor.h. */
#include "models/predictors/predictor/predictor.h"
#include "base/status.h"
#include "base/version.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rt_predictor_init(struct rt_predictor *predictor, const char *kind)
{
    *predictor = (struct rt_predictor){.complete = true};
    predictor->kind = rt_strdup(kind);
    predictor->creator = rt_strdup("rooftile " RT_VERSION);
    predictor->data_uuids = rt_strdup("");
    predictor->data_sources = rt_strdup("");
    predictor->data_licences = rt_strdup("");
    predictor->devices = rt_strdup("");
    predictor->held_out_gpus = rt_strdup("");
    predictor->held_out_ops = rt_strdup("");
    predictor->calibrated = rt_strdup("");
    rt_energy_model_init(&predictor->energy);
}

void rt_predictor_init_roofline(struct rt_predictor *predictor)
{
    rt_predictor_init(predictor, rt_forecasters[RT_FORECASTER_ROOFLINE].name);
    predictor->nets = rt_calloc(RT_FAMILY_COUNT, sizeof *predictor->nets);
    for (int family = 0; family < RT_FAMILY_COUNT; family++)
        predictor->nets[predictor->net_count++] =
            (struct rt_family_net){.family = (enum rt_family)family, .forecaster = RT_FORECASTER_ROOFLINE};
}

void rt_predictor_release(struct rt_predictor *predictor)
{
    for (size_t i = 0; i < predictor->net_count; i++)
        rt_family_net_release(&predictor->nets[i]);
    free(predictor->nets);
    rt_energy_model_release(&predictor->energy);
    char *texts[] = {predictor->kind,          predictor->creator,       predictor->data_uuids,
                     predictor->data_sources,  predictor->data_licences, predictor->devices,
                     predictor->held_out_gpus, predictor->held_out_ops,  predictor->calibrated};
    for (size_t i = 0; i < RT_COUNT(texts); i++)
        free(texts[i]);
    *predictor = (struct rt_predictor){0};
}

/* "a\nb", in place of *list. */
static void add_line(char **list, const char *line)
{
    char *longer = rt_format("%s%s%s", *list, (*list)[0] ? "\n" : "", line);
    free(*list);
    *list = longer;
}

void rt_predictor_add_data(struct rt_predictor *predictor, const struct rt_dataset *dataset)
{
    add_line(&predictor->data_uuids, dataset->uuid);
    add_line(&predictor->data_sources, dataset->source);
    add_line(&predictor->data_licences, dataset->licence);
}

bool rt_predictor_is_fitted(const struct rt_predictor *predictor)
{
    for (size_t n = 0; n < predictor->net_count; n++)
        if (rt_forecasters[predictor->nets[n].forecaster].fitted)
            return true;
    return false;
}

const struct rt_family_net *rt_predictor_net(const struct rt_predictor *predictor, enum rt_op_id op,
                                             enum rt_dtype dtype)
{
    const struct rt_family_net *other = NULL;
    for (size_t i = 0; i < predictor->net_count; i++) {
        if (rt_net_serves(&predictor->nets[i], op, dtype))
            return &predictor->nets[i];
        if (predictor->nets[i].family == rt_ops[op].family)
            other = &predictor->nets[i];
    }
    return other;
}

/* Is `name` one of the lines of `list`, up to a tab? */
static bool has_line(const char *list, const char *name)
{
    char *lines = rt_strdup(list), *rest = lines, *line;
    bool found = false;
    while (!found && (line = strtok_r(rest, "\n", &rest)) != NULL) {
        line[strcspn(line, "\t")] = '\0';
        found = rt_name_equal(line, name);
    }
    free(lines);
    return found;
}

bool rt_predictor_knows_device(const struct rt_predictor *predictor, const char *name)
{
    return has_line(predictor->devices, name);
}

bool rt_predictor_fitted_to(const struct rt_predictor *predictor, const char *device, enum rt_op_id op,
                            enum rt_dtype dtype)
{
    const struct rt_family_net *net = rt_predictor_net(predictor, op, dtype);
    if (net == NULL || net->effects.count == 0)
        return rt_predictor_knows_device(predictor, device);
    const struct rt_device_effect *effect = rt_device_effects_find(&net->effects, device);
    return effect != NULL && !effect->calibrated && rt_net_serves(net, op, dtype);
}

bool rt_predictor_has_seen(const struct rt_predictor *predictor, const struct rt_device *device,
                           enum rt_op_id op, enum rt_dtype dtype)
{
    const struct rt_family_net *net = rt_predictor_net(predictor, op, dtype);
    if (device->altered || net == NULL || !rt_forecasters[net->forecaster].fitted)
        return false;
    if (net->effects.count == 0)
        return rt_predictor_knows_device(predictor, device->name) ||
               rt_predictor_knows_device(predictor, rt_device_board(device));
    const struct rt_device_effect *effect = rt_device_effects_known(&net->effects, device);
    return effect != NULL && rt_net_serves(net, op, dtype) && rt_device_effect_has_dtype(effect, dtype);
}

void rt_predictor_seen_dtypes(const struct rt_predictor *predictor, const struct rt_device *device,
                              bool *seen)
{
    for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) {
        seen[dtype] = false; /* collectives count not: what links carry says nothing of kernels */
        for (int op = 0; op < RT_OP_COUNT && !seen[dtype]; op++)
            seen[dtype] = !rt_families[rt_ops[op].family].link &&
                          rt_predictor_has_seen(predictor, device, (enum rt_op_id)op, (enum rt_dtype)dtype);
    }
}

bool rt_predictor_knows_device_in(const struct rt_predictor *predictor, const char *name, enum rt_dtype dtype)
{
    static const enum rt_op_id ops[] = {RT_OP_LINEAR, RT_OP_BMM, RT_OP_SOFTMAX, RT_OP_LAYERNORM, RT_OP_ADD};
    bool known = false;
    for (size_t i = 0; i < RT_COUNT(ops) && !known; i++)
        known = rt_predictor_fitted_to(predictor, name, ops[i], dtype);
    return known;
}

bool rt_predictor_calibrated_device(const struct rt_predictor *predictor, const char *name)
{
    return has_line(predictor->calibrated, name);
}

bool rt_predictor_calibrated_to_runs(const struct rt_predictor *predictor, const char *name)
{
    char *lines = rt_strdup(predictor->calibrated), *rest = lines, *line;
    bool found = false;
    while ((line = strsep(&rest, "\n")) != NULL) {
        const char *device = strsep(&line, "\t"), *what = line != NULL ? strsep(&line, "\t") : "";
        found |= rt_name_equal(device, name) && strstr(what, " run") != NULL;
    }
    free(lines);
    return found;
}

static bool is_fitted_key(const struct rt_family_net *net, const char *device, int64_t key)
{
    const struct rt_device_effect *effect = rt_device_effects_find(&net->effects, device);
    return effect != NULL && effect->fitted_keys.count > 0 && rt_fitted_keys_has(&effect->fitted_keys, key);
}

bool rt_predictor_calibrated_to_kernel(const struct rt_predictor *predictor, const struct rt_dataset *dataset,
                                       const struct rt_sample *sample)
{
    const struct rt_family_net *net =
        rt_predictor_net(predictor, (enum rt_op_id)sample->call.op, (enum rt_dtype)sample->call.dtype);
    return net != NULL && is_fitted_key(net, dataset->devices[sample->device].name, rt_kernel_key(sample));
}

bool rt_predictor_calibrated_to_run(const struct rt_predictor *predictor, const struct rt_dataset *dataset,
                                    const struct rt_workload *workload)
{
    const char *device = dataset->devices[workload->device].name;
    int64_t key = rt_run_key(dataset, workload);
    for (size_t n = 0; n < predictor->net_count; n++)
        if (is_fitted_key(&predictor->nets[n], device, key))
            return true;
    return false;
}

bool rt_predictor_holds_out(const struct rt_predictor *predictor, const char *device, enum rt_op_id op)
{
    return has_line(predictor->held_out_gpus, device) || has_line(predictor->held_out_ops, rt_ops[op].name);
}

/* The kernels of each net: `index` gets those of net 0, then those of net 1 ...; first (net_count + 1) where
 * they begin. */
static void deal(const struct rt_predictor *predictor, const struct rt_query *queries, size_t count,
                 size_t *index, size_t *first)
{
    size_t *net_of = rt_malloc((count + 1) * sizeof *net_of), nets = predictor->net_count;
    memset(first, 0, (nets + 2) * sizeof *first);
    for (size_t i = 0; i < count; i++) {
        const struct rt_family_net *net =
            rt_predictor_net(predictor, queries[i].call.op, queries[i].call.dtype);
        net_of[i] = net != NULL ? (size_t)(net - predictor->nets) : nets;
        first[net_of[i] + 1]++;
    }
    for (size_t n = 0; n < nets; n++)
        first[n + 1] += first[n];
    for (size_t i = 0; i < count; i++)
        if (net_of[i] < nets)
            index[first[net_of[i]]++] = i;
    for (size_t n = nets; n > 0; n--) /* filling moved each beginning to its end */
        first[n] = first[n - 1];
    first[0] = 0;
    free(net_of);
}

static void forecast(const struct rt_predictor *predictor, const struct rt_device *device,
                     const struct rt_query *queries, size_t count, struct rt_threads *pool,
                     struct rt_network_memo *memo, double *latency_us, uint8_t *skip)
{
    uint8_t *reasons = skip != NULL ? skip : rt_malloc(count + 1);
    size_t *index = rt_malloc((count + 1) * sizeof *index), first[RT_MAX_NETS + 2];
    for (size_t i = 0; i < count; i++) {
        latency_us[i] = NAN;
        reasons[i] = RT_SKIP_NO_FAMILY;
    }
    deal(predictor, queries, count, index, first);
    for (size_t n = 0; n < predictor->net_count; n++) {
        const struct rt_family_net *net = &predictor->nets[n];
        struct rt_forecast_batch batch = {.device = device,
                                          .queries = queries,
                                          .index = index + first[n],
                                          .count = first[n + 1] - first[n],
                                          .pool = pool,
                                          .memo = memo,
                                          .latency_us = latency_us,
                                          .skip = reasons};
        if (batch.count > 0)
            rt_forecasters[net->forecaster].forecast(net, &batch);
    }
    free(index);
    if (reasons != skip)
        free(reasons);
}

void rt_predictor_forecast(const struct rt_predictor *predictor, const struct rt_device *device,
                           const struct rt_query *queries, size_t count, struct rt_threads *pool,
                           double *latency_us, uint8_t *skip)
{
    forecast(predictor, device, queries, count, pool, NULL, latency_us, skip);
}

void rt_predictor_forecast_again(const struct rt_predictor *predictor, const struct rt_device *device,
                                 const struct rt_query *queries, size_t count, struct rt_network_memo *memo,
                                 double *latency_us, uint8_t *skip)
{
    forecast(predictor, device, queries, count, NULL, memo, latency_us, skip);
}
