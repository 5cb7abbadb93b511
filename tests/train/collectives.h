/* Made-up collectives of four GPUs, by a model of links that is not the prior. Nothing here was measured;
 * every sample is flagged so. */
#pragma once

#include "models/predictors/predictor/predictor.h"

#include "test.h"

#include <math.h>

enum { COLLECTIVES_SLOW = 2 }; /* takes 1.3 times as long as the model says */
static const enum rt_op_id collective_ops[] = {RT_OP_ALL_REDUCE, RT_OP_ALL_GATHER, RT_OP_REDUCE_SCATTER,
                                               RT_OP_ALL_TO_ALL, RT_OP_SEND_RECEIVE};
static const char *const collective_gpus[] = {"A100-SXM4-80GB", "H100-SXM", "H200", "L40S"};

/* The prior with other numbers: what is to be found. */
static inline struct rt_link_model collectives_truth(void)
{
    struct rt_link_model model = rt_link_prior;
    for (int a = 0; a < RT_LINK_ALGORITHMS; a++) {
        model.coefficient[a][RT_LINK_START] *= 2;
        model.coefficient[a][RT_LINK_STEP] *= 1.5;
        model.coefficient[a][RT_LINK_WIRE] *= 1.2;
    }
    return model;
}

/* Each GPU takes its factor of what the model says. */
static inline void collectives_add(struct rt_dataset *dataset, const struct rt_link_model *model,
                                   int32_t device, double factor)
{
    for (size_t o = 0; o < sizeof collective_ops / sizeof *collective_ops; o++)
        for (int64_t p = 2; p <= 8; p *= 2)
            for (int bits = 8; bits <= 28; bits++) {
                struct rt_sample sample;
                rt_sample_init(&sample);
                rt_call_init(&sample.call, collective_ops[o], RT_FP16);
                sample.call.dim[RT_DIM_GPUS] = collective_ops[o] == RT_OP_SEND_RECEIVE ? 2 : p;
                sample.call.dim[RT_DIM_ELEMENTS] = ((int64_t)1 << bits) + p;
                sample.call.dim[RT_DIM_FABRIC] = RT_FABRIC_OWN;
                sample.call.dim[RT_DIM_LIBRARY] = bits % 4 == 0 ? RT_LIBRARY_SERVER : RT_LIBRARY_NCCL;
                sample.device = device;
                sample.flags = RT_FLAG_SYNTHETIC;
                sample.latency_us = factor * rt_link_us(model, &sample.call, &dataset->devices[device], true);
                rt_dataset_add_sample(dataset, &sample);
            }
}

static inline void collectives_dataset(struct rt_dataset *dataset)
{
    const struct rt_link_model model = collectives_truth();
    rt_dataset_init(dataset);
    for (size_t d = 0; d < sizeof collective_gpus / sizeof *collective_gpus; d++) {
        struct rt_device device;
        RT_ASSERT_OK(rt_device_named(collective_gpus[d], &device));
        rt_dataset_add_device(dataset, &device);
        collectives_add(dataset, &model, (int32_t)d, d == COLLECTIVES_SLOW ? 1.3 : 1);
    }
    rt_dataset_stamp(dataset);
}

/* Mean error over a GPU's samples. */
static inline double collectives_error(const struct rt_predictor *predictor, const struct rt_dataset *dataset,
                                       int32_t device)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        struct rt_query query;
        double us;
        uint8_t skip;
        if (sample->device != device)
            continue;
        rt_query_of_sample(sample, false, &query);
        rt_predictor_forecast(predictor, &dataset->devices[device], &query, 1, NULL, &us, &skip);
        CU_ASSERT_EQUAL_FATAL(skip, RT_SKIP_NONE);
        CU_ASSERT_TRUE(us >= rt_link_bound_us(&sample->call, &dataset->devices[device]));
        sum += fabs(us / sample->latency_us - 1);
        count++;
    }
    return sum / (double)count;
}
