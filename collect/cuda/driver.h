/*
 * The CUDA driver, opened at run time, so that the program also starts without one. This is the list of all
 * driver functions that are called. The CUDA runtime is not used, so nothing of CUDA is linked, and a test
 * can replace the driver (tests/collect/fake_cuda).
 *
 * Source of all names and meanings: NVIDIA, CUDA Driver API reference, version 13.0.
 */
#pragma once

#include "datasets/device.h"

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

/* X(member, symbol): the symbol's type is that of its prototype in cuda.h, where later versions of a function
 * are macros. */
#define RT_CUDA_FUNCTIONS(X)                                                                                 \
    X(init, cuInit)                                                                                          \
    X(driver_version, cuDriverGetVersion)                                                                    \
    X(error_name, cuGetErrorName)                                                                            \
    X(error_string, cuGetErrorString)                                                                        \
    X(device_count, cuDeviceGetCount)                                                                        \
    X(device_get, cuDeviceGet)                                                                               \
    X(device_name, cuDeviceGetName)                                                                          \
    X(device_uuid, cuDeviceGetUuid)                                                                          \
    X(device_attribute, cuDeviceGetAttribute)                                                                \
    X(device_memory, cuDeviceTotalMem)                                                                       \
    X(device_pci_id, cuDeviceGetPCIBusId)                                                                    \
    X(retain, cuDevicePrimaryCtxRetain)                                                                      \
    X(drop, cuDevicePrimaryCtxRelease)                                                                       \
    X(use, cuCtxSetCurrent)                                                                                  \
    X(memory_left, cuMemGetInfo)                                                                             \
    X(module_load, cuModuleLoadData)                                                                         \
    X(module_unload, cuModuleUnload)                                                                         \
    X(module_function, cuModuleGetFunction)                                                                  \
    X(function_attribute, cuFuncGetAttribute)                                                                \
    X(launch, cuLaunchKernel)                                                                                \
    X(alloc, cuMemAlloc)                                                                                     \
    X(release, cuMemFree)                                                                                    \
    X(host_alloc, cuMemHostAlloc)                                                                            \
    X(host_release, cuMemFreeHost)                                                                           \
    X(host_device_pointer, cuMemHostGetDevicePointer)                                                        \
    X(to_device, cuMemcpyHtoDAsync)                                                                          \
    X(to_host, cuMemcpyDtoHAsync)                                                                            \
    X(set_bytes, cuMemsetD8Async)                                                                            \
    X(stream_new, cuStreamCreate)                                                                            \
    X(stream_free, cuStreamDestroy)                                                                          \
    X(stream_wait, cuStreamSynchronize)                                                                      \
    X(event_new, cuEventCreate)                                                                              \
    X(event_free, cuEventDestroy)                                                                            \
    X(event_record, cuEventRecord)                                                                           \
    X(event_wait, cuEventSynchronize)                                                                        \
    X(event_elapsed, cuEventElapsedTime)

/* Not in every driver: NULL where it lacks them (green contexts came with 12.4). */
#define RT_CUDA_OPTIONAL_FUNCTIONS(X)                                                                        \
    X(sm_resource, cuDeviceGetDevResource)                                                                   \
    X(sm_split, cuDevSmResourceSplitByCount)                                                                 \
    X(resource_describe, cuDevResourceGenerateDesc)                                                          \
    X(green_new, cuGreenCtxCreate)                                                                           \
    X(green_free, cuGreenCtxDestroy)                                                                         \
    X(green_context, cuCtxFromGreenCtx)

struct rt_cuda_driver {
#define RT_CUDA_MEMBER(member, symbol) __typeof__(symbol) *member;
    RT_CUDA_FUNCTIONS(RT_CUDA_MEMBER)
    RT_CUDA_OPTIONAL_FUNCTIONS(RT_CUDA_MEMBER)
#undef RT_CUDA_MEMBER
    void *library;
    int version; /* 13000 for 13.0 */
};

/* The driver, opened and initialised once per process. RT_ENOTFOUND: there is none, it is too old, or finds
 * no device. ROOFTILE_CUDA_DRIVER names another library than libcuda.so.1. */
int rt_cuda_driver(const struct rt_cuda_driver **out);

/* Has this process started the driver? A process forked from one that has cannot use it: cuInit does not
 * survive fork. */
bool rt_cuda_driver_is_open(void);

/* RT_OK, or RT_EIO with the driver's words: "NVIDIA H200: cuMemAlloc: out of memory (CUDA_ERROR_...)". */
int rt_cuda_check(CUresult result, const char *device, const char *call);

/* After such an error (CUDA_ERROR_ILLEGAL_ADDRESS and the like) every call of the process fails: the device
 * is lost to this worker. Out of memory, or an unsupported or invalid launch, is no such error. */
bool rt_cuda_is_sticky(CUresult result);

/*
 * cuBLASLt, cuDNN or CUPTI, opened when it is first needed and called through a table of functions: nothing
 * of it is linked, and a test can replace it.
 */

struct rt_cuda_symbol {
    const char *name;
    size_t offset; /* of the pointer in the table of functions */
};

struct rt_cuda_library {
    const char *variable;     /* of the environment: names another file, "ROOFTILE_CUBLASLT" */
    const char *const *files; /* newest first, NULL-terminated */
    const struct rt_cuda_symbol *symbols;
    size_t symbol_count;
};

enum rt_cuda_found { RT_CUDA_ABSENT, RT_CUDA_LACKS_SYMBOLS, RT_CUDA_FOUND };

/* Fills `table` and never closes the library again. Of LACKS_SYMBOLS, *lacks is the first one. */
enum rt_cuda_found rt_cuda_library_load(const struct rt_cuda_library *library, void *table,
                                        const char **lacks);
