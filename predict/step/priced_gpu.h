/* GPUs that may be had, and what an hour of one costs: what plans choose among. */
#pragma once

#include "base/options.h"
#include "datasets/device.h"

enum { RT_MOST_PRICED_GPUS = 16 };

struct rt_priced_gpu {
    struct rt_device device;
    const char *asked; /* as it was named; borrowed */
    double price;      /* of a GPU-hour, in any currency; NaN: unknown */
};

/* The GPUs of `names`, and the prices of "H100=2.5", each of a GPU among them by its name or another one of
 * the same device. `out` has room for RT_MOST_PRICED_GPUS. RT_EUSAGE names {gpu} or {price}. */
int rt_priced_gpus_find(const struct rt_names *names, const struct rt_names *prices,
                        struct rt_priced_gpu *out, size_t *count);
