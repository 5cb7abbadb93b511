/* Fits of the baselines. See fit_baseline.h. */
#include "train/fit_baseline.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* Samples by index. */
struct chosen {
    uint32_t *fit, *validation;
    size_t fit_count, validation_count;
};

static void fit_linear(struct rt_family_net *net, const struct rt_dataset *dataset,
                       const struct chosen *chosen)
{
    rt_linear_baseline_fit(&net->linear, dataset, chosen->fit, chosen->fit_count);
}

static void fit_wave_scaling(struct rt_family_net *net, const struct rt_dataset *dataset,
                             const struct chosen *chosen)
{
    rt_wave_scaling_build(&net->wave_scaling, dataset, chosen->fit, chosen->fit_count);
}

static const struct {
    bool all_parts; /* fitted to validation and test samples, too */
    void (*fit)(struct rt_family_net *net, const struct rt_dataset *dataset, const struct chosen *chosen);
} baselines[RT_FORECASTER_COUNT] = {
    [RT_FORECASTER_LINEAR] = {false, fit_linear},
    [RT_FORECASTER_WAVE_SCALING] = {true, fit_wave_scaling},
};

static void choose(const struct rt_training_data *data, const struct rt_family_net *net, struct chosen *out,
                   struct rt_training_rows_left_out *left_out)
{
    const struct rt_dataset *dataset = data->dataset;
    bool all = baselines[net->forecaster].all_parts;
    *out = (struct chosen){0};
    *left_out = (struct rt_training_rows_left_out){0};
    out->fit = rt_malloc((dataset->sample_count + 1) * sizeof *out->fit);
    out->validation = rt_malloc((dataset->sample_count + 1) * sizeof *out->validation);
    for (size_t i = 0; i < dataset->sample_count; i++) {
        const struct rt_sample *sample = &dataset->samples[i];
        if (rt_call_family(&sample->call) != net->family ||
            rt_training_leaves_out(data, sample, net, all, left_out))
            continue;
        enum rt_part part = rt_split_of(data->split, sample);
        if (part == RT_PART_VALIDATION)
            out->validation[out->validation_count++] = (uint32_t)i;
        if (all || part == RT_PART_TRAIN)
            out->fit[out->fit_count++] = (uint32_t)i;
    }
}

/* Mean absolute percentage error over the validation samples that can be forecast. */
static double validate(const struct rt_dataset *dataset, const struct chosen *chosen,
                       struct rt_family_net *net)
{
    char kind[] = "";
    const struct rt_predictor alone = {.kind = kind, .nets = net, .net_count = 1};
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < chosen->validation_count; i++) {
        const struct rt_sample *sample = &dataset->samples[chosen->validation[i]];
        struct rt_query query;
        double forecast, measured = rt_target_measured(&rt_targets[net->target], sample);
        uint8_t skip;
        rt_query_of_sample(sample, false, &query);
        rt_predictor_forecast(&alone, &dataset->devices[sample->device], &query, 1, NULL, &forecast, &skip);
        if (skip != RT_SKIP_NONE)
            continue;
        sum += fabs(forecast - measured) / measured;
        count++;
    }
    return count > 0 ? 100 * sum / (double)count : NAN;
}

void rt_baseline_fit(const struct rt_training_data *data, struct rt_family_net *net,
                     struct rt_training_rows_left_out *left_out)
{
    struct chosen chosen;
    choose(data, net, &chosen, left_out);
    net->rows_train = (int64_t)chosen.fit_count;
    net->rows_validation = (int64_t)chosen.validation_count;
    net->rows_impossible = (int64_t)left_out->impossible;
    baselines[net->forecaster].fit(net, data->dataset, &chosen);
    net->validation_mape = validate(data->dataset, &chosen, net);
    free(chosen.fit);
    free(chosen.validation);
}
