/* Shares of a GPU. See share.h. */
#include "collect/cuda/share.h"
#include "base/status.h"

static int split(const struct rt_cuda_driver *driver, CUdevice device, const char *name, int asked,
                 CUdevResource *out)
{
    CUdevResource all, rest;
    unsigned groups = 1;
    if (driver->sm_resource == NULL || driver->sm_split == NULL || driver->resource_describe == NULL ||
        driver->green_new == NULL || driver->green_free == NULL || driver->green_context == NULL)
        return rt_fail(RT_ENOTFOUND,
                       "{sm_share}: this driver (CUDA %d.%d) has no green contexts; update it to one of CUDA "
                       "12.4 or later, or measure the whole GPU",
                       driver->version / 1000, driver->version % 1000 / 10);
    CUresult result = driver->sm_resource(device, &all, CU_DEV_RESOURCE_TYPE_SM);
    if (result == CUDA_SUCCESS)
        result = driver->sm_split(out, &groups, &all, &rest, 0, (unsigned)asked);
    if (result == CUDA_SUCCESS && groups == 1)
        return RT_OK;
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION)
        return rt_fail(RT_ENOTFOUND, "{sm_share}: %s gives no share of %d SMs; choose another percentage",
                       name, asked);
    return rt_fail(
        RT_ENOTFOUND,
        "{sm_share}: %s cannot be divided (the driver returns error %d; MIG slices and some boards "
        "cannot); measure it whole",
        name, (int)result);
}

int rt_cuda_share_sms(const struct rt_cuda_driver *driver, CUdevice device, const char *name, int asked,
                      int *sms)
{
    CUdevResource part;
    int status = split(driver, device, name, asked, &part);
    if (status == RT_OK)
        *sms = (int)part.sm.smCount;
    return status;
}

int rt_cuda_share_open(const struct rt_cuda_driver *driver, CUdevice device, const char *name, int asked,
                       CUgreenCtx *share, CUcontext *context)
{
    CUdevResource part;
    CUdevResourceDesc described;
    CUgreenCtx made;
    int status = split(driver, device, name, asked, &part);
    if (status == RT_OK)
        status =
            rt_cuda_check(driver->resource_describe(&described, &part, 1), name, "cuDevResourceGenerateDesc");
    if (status == RT_OK)
        status = rt_cuda_check(driver->green_new(&made, described, device, CU_GREEN_CTX_DEFAULT_STREAM), name,
                               "cuGreenCtxCreate");
    if (status != RT_OK)
        return status;
    status = rt_cuda_check(driver->green_context(context, made), name, "cuCtxFromGreenCtx");
    if (status == RT_OK)
        *share = made;
    else
        driver->green_free(made);
    return status;
}
