/* A synthetic dataset for the tests of training: two invented devices, products and vector ops whose latency
 * is a known share of the roofline. Nothing here was measured; every sample is flagged so. */
#pragma once

#include "models/predictors/predictor/predictor.h"
#include "base/random.h"

#include <math.h>

static inline void synthetic_device(struct rt_dataset *dataset, const char *name, double size)
{
    struct rt_device device;
    rt_device_init(&device, name);
    device.sms = 20 * size;
    device.fp32_vector_tflops = 4 * size;
    device.memory_gib = 8 * size;
    device.bandwidth_gbs = 200 * size;
    device.l2_mib = 2 * size;
    rt_dataset_add_device(dataset, &device);
}

static inline void synthetic_sample(struct rt_dataset *dataset, struct rt_random *random, uint8_t op,
                                    int32_t device)
{
    struct rt_sample sample;
    struct rt_query query;
    struct rt_tiled_call launch;
    rt_sample_init(&sample);
    sample.call.op = op;
    sample.device = device;
    sample.flags = RT_FLAG_SYNTHETIC;
    bool product = op == RT_OP_BMM || op == RT_OP_LINEAR;
    for (int d = 0; d < rt_op_ndims(op); d++)
        sample.call.dim[d] = 1 + (int64_t)rt_random_below(random, product && d == 0 ? 8 : 900);
    sample.tile[0] = product ? 64 : op == RT_OP_SOFTMAX ? (int32_t)sample.call.dim[1] : 512;
    sample.tile[1] = product ? 128 : -1;
    rt_query_of_sample(&sample, true, &query);
    rt_tiled_call_init(&launch, &query, sample.tile, &dataset->devices[device]);
    sample.latency_us = launch.bound_us / (0.8 - 0.3 / launch.waves);
    rt_dataset_add_sample(dataset, &sample);
}

static inline void synthetic_dataset(struct rt_dataset *dataset, int per_op)
{
    const uint8_t ops[] = {RT_OP_BMM, RT_OP_LINEAR, RT_OP_ADD, RT_OP_GELU, RT_OP_SOFTMAX};
    struct rt_random random;
    rt_dataset_init(dataset);
    synthetic_device(dataset, "Synthetic small", 1);
    synthetic_device(dataset, "Synthetic large", 2);
    rt_random_seed(&random, 11, 0);
    for (int i = 0; i < per_op; i++)
        for (size_t o = 0; o < sizeof ops; o++)
            synthetic_sample(dataset, &random, ops[o], i % 2);
    rt_dataset_stamp(dataset);
}
