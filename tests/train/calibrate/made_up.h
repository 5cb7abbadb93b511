/* A predictor of networks of zeros, a V100 whose device effects are known in advance, and kernels and runs as
 * they would be on it. */
#pragma once

#include "sample_rows.h"
#include "predict/zero_net.h"

#include "train/calibrate/calibrate.h"
#include "predict/evaluate/evaluate.h"
#include "predict/evaluate/run_steps.h"
#include "predict/step/forecast.h"

#include <math.h>

static const enum rt_family families[] = {RT_FAMILY_BMM, RT_FAMILY_LINEAR, RT_FAMILY_ELEMENTWISE,
                                          RT_FAMILY_SOFTMAX, RT_FAMILY_LAYERNORM};
enum { FAMILIES = RT_COUNT(families) };

static inline void add_known(struct rt_device_effects *effects, const char *device, double value,
                             double dispatch_us)
{
    struct rt_device_effect *known;
    effects->known = rt_realloc(effects->known, effects->count + 1, sizeof *effects->known);
    known = &effects->known[effects->count++];
    *known =
        (struct rt_device_effect){.value = {value, value, 0}, .dispatch_us = dispatch_us, .kernels = 1000};
    snprintf(known->device, sizeof known->device, "%s", device);
}

/* A network of zeros; its devices have effects around 0 and dispatch overheads around 10 us. */
static inline void make_net(enum rt_family family, struct rt_family_net *net)
{
    make_zero_net(family, net);
    add_known(&net->effects, "NVIDIA A100-PCIE-40GB", -0.3, 8);
    add_known(&net->effects, "Tesla T4", 0, 10);
    add_known(&net->effects, "Tesla P4", 0.3, 12);
}

static inline void make_predictor(struct rt_predictor *predictor)
{
    rt_predictor_init(predictor, "rooftile");
    predictor->split = (struct rt_split_rule)RT_SPLIT_DEFAULT;
    predictor->nets = rt_calloc(FAMILIES, sizeof *predictor->nets);
    for (size_t f = 0; f < FAMILIES; f++)
        make_net(families[f], &predictor->nets[predictor->net_count++]);
}

/* What the V100 is made up to be in products. */
static const struct rt_device_effect truth = {
    .device = "Tesla V100-PCIE-32GB", .value = {0.4, -0.25, 0}, .dispatch_us = 15};

static inline void make_device(struct rt_dataset *dataset)
{
    struct rt_device device;
    rt_dataset_init(dataset);
    RT_ASSERT_OK(rt_device_find("V100-PCIE-32GB", &device));
    CU_ASSERT_EQUAL_FATAL(rt_dataset_add_device(dataset, &device), 0);
    CU_ASSERT_STRING_EQUAL_FATAL(device.name, truth.device);
}

static inline void add_bmm(struct rt_dataset *dataset, int64_t batch, int64_t size, int64_t depth)
{
    struct rt_sample sample;
    rt_sample_init(&sample);
    sample.call.op = RT_OP_BMM;
    sample.device = 0;
    sample.split = RT_SPLIT_TEST;
    sample.call.dim[0] = batch, sample.call.dim[1] = sample.call.dim[2] = size, sample.call.dim[3] = depth;
    rt_dataset_add_sample(dataset, &sample);
}

/* Latencies as the predictor would forecast them, were the device what it is made up to be. */
static inline void measure(struct rt_dataset *dataset)
{
    struct rt_predictor source;
    make_predictor(&source);
    add_known(&source.nets[0].effects, truth.device, 0, 0);
    source.nets[0].effects.known[3] = truth;
    for (size_t i = 0; i < dataset->samples.count; i++) {
        struct rt_query query;
        rt_query_of_sample(RT_SAMPLE(dataset, i), false, &query);
        RT_CHANGE(
            dataset, i,
            rt_predictor_forecast(&source, &dataset->devices[0], &query, 1, NULL, &sample.latency_us, NULL));
    }
    rt_predictor_release(&source);
}

/* Products from a few us to many ms, bound by either. */
static inline void make_data(struct rt_dataset *dataset)
{
    make_device(dataset);
    for (int64_t size = 64; size <= 2048; size *= 2)
        for (int64_t depth = 8; depth <= 2048; depth *= 4)
            add_bmm(dataset, 1 + size % 7, size, depth);
    measure(dataset);
}

static const struct rt_calibrate_options all_kernels = {.kernels = 1000, .seed = 1, .part = RT_PART_ANY};

static inline const struct rt_calibrated_family *row_of(const struct rt_calibration *calibration,
                                                        enum rt_family family)
{
    for (size_t f = 0; f < calibration->family_count; f++)
        if (calibration->family[f].family == family)
            return &calibration->family[f];
    CU_FAIL_FATAL("no such family");
    return NULL;
}

/* --- runs of models --- */

static inline void set_shift(struct rt_predictor *predictor, double compute, double memory)
{
    for (size_t n = 0; n < predictor->net_count; n++) {
        struct rt_device_effects *effects = &predictor->nets[n].effects;
        add_known(effects, truth.device, 0, 10);
        effects->known[3].value[RT_EFFECT_COMPUTE] = compute;
        effects->known[3].value[RT_EFFECT_MEMORY] = memory;
    }
}

/* Runs of a model that take `times` what a predictor forecasts. */
static inline void add_runs_of(struct rt_dataset *dataset, const struct rt_predictor *source,
                               const char *model, double times)
{
    static const int64_t batches[] = {1, 2, 4, 8};
    for (size_t i = 0; i < RT_COUNT(batches); i++) {
        struct rt_workload workload;
        struct rt_run_steps steps;
        struct rt_run_forecast forecast;
        rt_workload_init(&workload);
        workload.device = 0;
        workload.model = rt_strings_add(&dataset->texts, model, strlen(model));
        workload.option = rt_strings_add(&dataset->texts, "", 0);
        workload.batch = batches[i];
        workload.sequence = 512;
        workload.end_to_end_us = 1;
        RT_ASSERT_OK(rt_run_steps(dataset, &workload, &dataset->devices[0], NULL, &steps));
        RT_ASSERT_OK(rt_run_forecast(&steps, source, &dataset->devices[0], false, 0, &forecast));
        workload.end_to_end_us = times * forecast.total_us;
        rt_dataset_add_workload(dataset, &workload);
        rt_run_steps_release(&steps);
    }
}

/* Runs that take what a predictor with those shifts forecasts. */
static inline void add_runs(struct rt_dataset *dataset, double compute, double memory)
{
    struct rt_predictor source;
    make_predictor(&source);
    set_shift(&source, compute, memory);
    add_runs_of(dataset, &source, "gpt2_large", 1);
    rt_predictor_release(&source);
}

static inline struct rt_device_effect entry_of(const struct rt_predictor *predictor, size_t net)
{
    const struct rt_device_effect *entry =
        rt_device_effects_find(&predictor->nets[net].effects, truth.device);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    return *entry;
}
