/* Samples of kernels as queries have them, for tests of baselines. */
#pragma once

#include "models/predictors/roofline/tile.h"
#include "test.h"

static inline void add_device(struct rt_dataset *dataset, const char *name)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_named(name, &device));
    rt_dataset_add_device(dataset, &device);
}

static inline void add_sample(struct rt_dataset *dataset, const struct rt_query *query, int32_t device,
                              double latency_us)
{
    struct rt_sample sample;
    rt_sample_init(&sample);
    sample.call = query->call;
    sample.device = device;
    sample.latency_us = latency_us;
    rt_dataset_add_sample(dataset, &sample);
}

enum { MOST_SAMPLES = 512 };
/* The rows of all samples: row (MOST_SAMPLES). */
static inline void all_rows(const struct rt_dataset *dataset, uint32_t *row)
{
    CU_ASSERT_TRUE_FATAL(dataset->samples.count <= MOST_SAMPLES);
    for (uint32_t i = 0; i < dataset->samples.count; i++)
        row[i] = i;
}
