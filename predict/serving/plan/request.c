/* Weights and cache on a device. See request.h. */
#include "predict/serving/plan/request.h"

bool rt_serving_has_units(const struct rt_device *device, const struct rt_serving_quant *quant)
{
    return rt_device_peak_flops(device, RT_FAMILY_LINEAR, quant->dtype) > 0;
}

struct rt_serving_quant rt_serving_quant_on(const struct rt_device *device,
                                            const struct rt_serving_quant *quant)
{
    struct rt_serving_quant on = *quant;
    bool bf16 = rt_device_has_bf16(device);
    if (on.dtype == RT_BF16 && !bf16)
        on.dtype = RT_FP16;
    on.fp16_beside |= !bf16;
    return on;
}

const char *rt_serving_cache_dtype(const struct rt_serving_quant *quant)
{
    return quant->kv_bits == 8 ? "fp8" : rt_dtypes[quant->fp16_beside ? RT_FP16 : RT_BF16].name;
}
