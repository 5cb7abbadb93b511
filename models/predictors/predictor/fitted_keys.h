/*
 * Fitted keys: the kernels and runs of models that a device was calibrated to, so that it is not evaluated on
 * them. A key is a 64-bit hash of what was measured (op, dtype and dims; model, mode, batch ...), by the
 * names of the dataset, without device, latency or phase. It is the same in every dataset and build; a kernel
 * that was measured twice has one key.
 */
#pragma once

#include "datasets/dataset.h"
#include "base/h5.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_fitted_keys {
    int64_t *key; /* (count), ascending */
    size_t count;
};

/* None is {0}. */
void rt_fitted_keys_release(struct rt_fitted_keys *keys);
void rt_fitted_keys_add(struct rt_fitted_keys *keys, int64_t key); /* each is in it once */
bool rt_fitted_keys_has(const struct rt_fitted_keys *keys, int64_t key);
struct rt_fitted_keys rt_fitted_keys_copy(const struct rt_fitted_keys *keys);

int64_t rt_kernel_key(const struct rt_sample *sample);
int64_t rt_run_key(const struct rt_dataset *dataset, const struct rt_workload *workload);

/* As predictor files hold them, at `path`; nothing where there are none, and read so. */
int rt_fitted_keys_write(const struct rt_fitted_keys *keys, struct rt_h5 *file, const char *path);
int rt_fitted_keys_read(struct rt_h5 *file, const char *path, struct rt_fitted_keys *keys);
