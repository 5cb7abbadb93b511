/* Predictors without a network. See baseline.h. */
#include "train/fit_baseline.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* Samples by index. */
struct picked {
    uint32_t *fit, *validation;
    size_t fit_count, validation_count;
};

/* Counts why a sample is of no use; false where it is of use. */
static bool leave_out(const struct rt_dataset *dataset, const struct rt_sample *sample, bool held_out,
                      bool test, struct rt_training_rows_left_out *left_out)
{
    if (held_out)
        left_out->held_out++;
    else if (test)
        left_out->test++;
    else if (!(sample->latency_us > 0) || !isfinite(sample->latency_us) || (sample->flags & RT_FLAG_FAILED))
        left_out->failed++;
    else if (isnan(rt_device_peak_flops(&dataset->devices[sample->device], rt_call_family(&sample->call),
                                        (enum rt_dtype)sample->call.dtype)))
        left_out->no_peak++;
    else
        return false;
    return true;
}

static void pick(const struct rt_dataset *dataset, const struct rt_split_rule *rule,
                 const bool *held_out_device, const bool *held_out_op, const struct rt_family_net *net,
                 struct picked *out, struct rt_training_rows_left_out *left_out)
{
    bool all = net->forecaster == RT_FORECASTER_WAVE_SCALING;
    *out = (struct picked){0};
    *left_out = (struct rt_training_rows_left_out){0};
    out->fit = rt_malloc((dataset->sample_count + 1) * sizeof *out->fit);
    out->validation = rt_malloc((dataset->sample_count + 1) * sizeof *out->validation);
    for (size_t i = 0; i < dataset->sample_count; i++) {
        const struct rt_sample *sample = &dataset->samples[i];
        if (rt_call_family(&sample->call) != net->family)
            continue;
        enum rt_part part = rt_split_of(rule, sample);
        bool held_out = held_out_device[sample->device] || held_out_op[sample->call.op];
        if (leave_out(dataset, sample, held_out, part == RT_PART_TEST && !all, left_out))
            continue;
        if (part == RT_PART_VALIDATION)
            out->validation[out->validation_count++] = (uint32_t)i;
        if (all || part == RT_PART_TRAIN)
            out->fit[out->fit_count++] = (uint32_t)i;
    }
}

/* Mean absolute percentage error over what can be forecast of the validation rows. */
static double validate(const struct rt_dataset *dataset, const struct picked *picked,
                       struct rt_family_net *net)
{
    char kind[] = "";
    const struct rt_predictor alone = {.kind = kind, .nets = net, .net_count = 1};
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < picked->validation_count; i++) {
        const struct rt_sample *sample = &dataset->samples[picked->validation[i]];
        struct rt_query query;
        double latency_us;
        uint8_t skip;
        rt_query_of_sample(sample, false, &query);
        rt_predictor_forecast(&alone, &dataset->devices[sample->device], &query, 1, NULL, &latency_us, &skip);
        if (skip != RT_SKIP_NONE)
            continue;
        sum += fabs(latency_us - sample->latency_us) / sample->latency_us;
        count++;
    }
    return count > 0 ? 100 * sum / (double)count : NAN;
}

void rt_baseline_fit(const struct rt_dataset *dataset, const struct rt_split_rule *rule,
                     const bool *held_out_device, const bool *held_out_op, struct rt_family_net *net,
                     struct rt_training_rows_left_out *left_out)
{
    struct picked picked;
    pick(dataset, rule, held_out_device, held_out_op, net, &picked, left_out);
    net->rows_train = (int64_t)picked.fit_count;
    net->rows_validation = (int64_t)picked.validation_count;
    if (net->forecaster == RT_FORECASTER_LINEAR)
        rt_linear_baseline_fit(&net->linear, dataset, picked.fit, picked.fit_count);
    else
        rt_wave_scaling_build(&net->wave_scaling, dataset, picked.fit, picked.fit_count);
    net->validation_mape = validate(dataset, &picked, net);
    free(picked.fit);
    free(picked.validation);
}
