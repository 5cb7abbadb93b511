/*
 * A probe: a worker that describes devices and runs whole models. Each call waits for the answer; errors of
 * the worker become the caller's, in rt_error().
 */
#pragma once

#include "collect/worker.h"

struct rt_probe {
    struct rt_worker worker;
    size_t devices;
};
#define RT_NO_PROBE ((struct rt_probe){RT_NO_WORKER, 0})

int rt_probe_start(const struct rt_job *job, struct rt_probe *out);
int rt_probe_device(struct rt_probe *probe, size_t device, char name[static 96], size_t *lane);
int rt_probe_describe(struct rt_probe *probe, size_t device, struct rt_device *out);
int rt_probe_facts(struct rt_probe *probe, size_t device, struct rt_attributes *add_to);
/* Times job->model. RT_EIO where the worker died; the probe has none then. */
int rt_probe_model(struct rt_probe *probe, size_t device, struct rt_model_timing *out);
void rt_probe_end(struct rt_probe *probe);
