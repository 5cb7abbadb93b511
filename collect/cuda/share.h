/*
 * Shares of a GPU: green contexts, which run kernels on some of its SMs. The driver rounds the number of SMs
 * up to what the chip allows (multiples of 8 on Hopper, of 2 on Ampere); the rounded number is recorded.
 * Memory, its bandwidth and the L2 are shared with the rest of the GPU.
 */
#ifndef ROOFTILE_COLLECT_CUDA_SHARE_H
#define ROOFTILE_COLLECT_CUDA_SHARE_H

#include "collect/cuda/driver.h"

/* How many SMs a share of at least `asked` SMs gets. Needs no context. RT_ENOTFOUND: the driver or the GPU
 * (a MIG slice) has no shares. */
int rt_cuda_share_sms(const struct rt_cuda_driver *driver, CUdevice device, const char *name, int asked,
                      int *sms);

/* The context of such a share; the primary context must be retained. Destroy with driver->green_free. */
int rt_cuda_share_open(const struct rt_cuda_driver *driver, CUdevice device, const char *name, int asked,
                       CUgreenCtx *share, CUcontext *context);

#endif
