/* What a forecast comes to in tokens, images and joules. See prediction.h. */
#include "models/networks/sequences.h"
#include "predict/step/prediction.h"

#include <math.h>

bool rt_prediction_of_images(const struct rt_prediction *prediction)
{
    return prediction->image > 0;
}

double rt_prediction_items_per_second(const struct rt_prediction *prediction)
{
    return (double)prediction->batch / (prediction->forecast.total_us / 1e6);
}

double rt_prediction_tokens(const struct rt_prediction *prediction)
{
    const struct rt_graph_options *options = &prediction->graph.options;
    bool decode = options->step == RT_STEP_DECODE;
    if (options->groups != NULL)
        return rt_sequences_totals(options->groups, options->group_count).tokens;
    if (rt_prediction_of_images(prediction))
        return NAN;
    return (double)prediction->batch * (decode ? 1 : (double)prediction->sequence);
}

double rt_prediction_tokens_per_second(const struct rt_prediction *prediction)
{
    return rt_prediction_tokens(prediction) / (prediction->forecast.total_us / 1e6);
}

int64_t rt_prediction_epoch_steps(const struct rt_prediction *prediction)
{
    int64_t batch = prediction->batch;
    return (prediction->dataset_size + batch - 1) / batch;
}

double rt_prediction_epoch_s(const struct rt_prediction *prediction)
{
    return (double)rt_prediction_epoch_steps(prediction) * prediction->forecast.total_us / 1e6;
}

double rt_prediction_joules(const struct rt_prediction *prediction)
{
    return prediction->forecast.energy.joules * prediction->forecast.energy.gpus;
}

double rt_prediction_items(const struct rt_prediction *prediction)
{
    return rt_prediction_of_images(prediction) ? (double)prediction->batch : rt_prediction_tokens(prediction);
}

double rt_prediction_joules_per_item(const struct rt_prediction *prediction)
{
    return rt_prediction_joules(prediction) / rt_prediction_items(prediction);
}
