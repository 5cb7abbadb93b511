/* Operands on a GPU. See memory.h. */
#include "collect/cuda/memory.h"
#include "collect/cuda/kernels/args.h"
#include "base/status.h"
#include "base/strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    RESULT_BYTE = 0x3c,      /* small positive numbers in every format */
    HOST_ROTATED = 64 << 20, /* bytes of host memory in rotation: more than most CPUs cache */
    KEPT = 1 << 30,          /* bytes; a block up to this size is always kept for the next work */
    FILL_THREADS = 256
};

size_t rt_cuda_padded(size_t bytes)
{
    return (bytes + RT_CUDA_ALIGNED - 1) / RT_CUDA_ALIGNED * RT_CUDA_ALIGNED;
}

/* ---- blocks ---- */

/* Grows the block to at least `bytes`; CUDA_ERROR_OUT_OF_MEMORY where the GPU has less. A block far larger
 * than needed is released first: libraries need memory of their own. */
static CUresult reserve_device(struct rt_cuda_memory *memory, const struct rt_cuda_driver *driver,
                               size_t bytes)
{
    if (bytes <= memory->device_bytes && (memory->device_bytes <= KEPT || bytes > memory->device_bytes / 8))
        return CUDA_SUCCESS;
    if (memory->device_bytes > 0)
        driver->release(memory->device);
    memory->device_bytes = 0;
    CUresult result = driver->alloc(&memory->device, bytes);
    if (result == CUDA_SUCCESS)
        memory->device_bytes = bytes;
    return result;
}

static void release_host(struct rt_cuda_memory *memory, const struct rt_cuda_driver *driver, bool pinned)
{
    if (memory->host_bytes[pinned] == 0)
        return;
    if (pinned)
        driver->host_release(memory->host[pinned]);
    else
        munmap(memory->host[pinned], memory->host_bytes[pinned]);
    memory->host_bytes[pinned] = 0;
}

static void fill_host(float *values, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u; /* Knuth's LCG: upper bits are random */
        values[i] = 0.5f + (float)(seed >> 40) * 0x1p-24f;
    }
}

static CUresult reserve_host(struct rt_cuda_memory *memory, const struct rt_cuda_driver *driver, size_t bytes,
                             bool pinned, uint64_t seed)
{
    void *block;
    CUresult result = CUDA_SUCCESS;
    if (bytes <= memory->host_bytes[pinned])
        return CUDA_SUCCESS;
    release_host(memory, driver, pinned);
    if (pinned)
        result = driver->host_alloc(&block, bytes, 0);
    else
        block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (result == CUDA_SUCCESS && block == MAP_FAILED)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS)
        return result;
    fill_host(block, bytes / sizeof(float), seed);
    memory->host[pinned] = block;
    memory->host_bytes[pinned] = bytes;
    return CUDA_SUCCESS;
}

void rt_cuda_memory_release(struct rt_cuda_memory *memory, const struct rt_cuda_driver *driver)
{
    if (memory->device_bytes > 0)
        driver->release(memory->device);
    release_host(memory, driver, false);
    release_host(memory, driver, true);
    *memory = (struct rt_cuda_memory){0};
}

/* ---- values ---- */

/* The kernel that fills values of a type and the bytes of an element; NULL for what has none. */
static const char *fill_kernel(enum rt_dtype dtype, size_t *width)
{
    *width = (size_t)rt_dtypes[dtype].bytes;
    switch (dtype) {
    case RT_FP32:
    case RT_TF32:
        return "rt_fill_values_f32";
    case RT_FP16:
        return "rt_fill_values_f16";
    case RT_BF16:
        return "rt_fill_values_bf16";
    case RT_FP8:
    case RT_FP8_BLOCK:
        return "rt_fill_values_f8";
    default:
        return NULL;
    }
}

static CUresult launch_fill(const struct rt_cuda_gpu *gpu, const char *name, struct rt_cuda_args *args)
{
    CUfunction function;
    void *parameters[] = {args};
    int64_t blocks = (args->count + FILL_THREADS - 1) / FILL_THREADS;
    unsigned most = 16 * (unsigned)gpu->sms;
    CUresult result = gpu->driver->module_function(&function, gpu->kernels, name);
    if (result != CUDA_SUCCESS || blocks == 0)
        return result;
    return gpu->driver->launch(function, blocks < most ? (unsigned)blocks : most, 1, 1, FILL_THREADS, 1, 1, 0,
                               gpu->stream, parameters, NULL);
}

CUresult rt_cuda_fill(const struct rt_cuda_gpu *gpu, const struct rt_cuda_operand *operand, CUdeviceptr to,
                      uint64_t seed)
{
    struct rt_cuda_args args = {.operand = {to}, .limit = operand->limit, .seed = seed};
    const char *name = NULL;
    size_t width = 1;
    if (operand->fill == RT_FILL_INDICES) {
        name = "rt_fill_indices";
        width = sizeof(int32_t);
    } else if (operand->fill == RT_FILL_VALUES) {
        name = fill_kernel(operand->dtype, &width);
    }
    if (name == NULL)
        return gpu->driver->set_bytes(to, RESULT_BYTE, operand->bytes, gpu->stream);
    args.count = (int64_t)(operand->bytes / width);
    return launch_fill(gpu, name, &args);
}

static CUresult fill_sets(const struct rt_cuda_gpu *gpu, const struct rt_cuda_job *job,
                          const struct rt_cuda_operands *operands, uint64_t seed)
{
    CUresult result = CUDA_SUCCESS;
    CUdeviceptr at[RT_CUDA_OPERANDS];
    for (size_t set = 0; set < operands->sets; set++) {
        rt_cuda_operands_of(operands, set, at);
        for (int i = 0; i < job->operands && result == CUDA_SUCCESS; i++) {
            uint64_t which[3] = {seed, set, (uint64_t)i};
            if (!job->operand[i].on_host && job->operand[i].bytes > 0)
                result =
                    rt_cuda_fill(gpu, &job->operand[i], at[i], rt_hash(RT_HASH_START, which, sizeof which));
        }
    }
    return result == CUDA_SUCCESS ? gpu->driver->stream_wait(gpu->stream) : result;
}

/* ---- placing ---- */

/* A quarter of the host's memory: pinned memory is not available to other processes. */
static size_t most_host_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (size_t)pages / 4 * (size_t)bytes : (size_t)1 << 30;
}

static void lay_out(const struct rt_cuda_job *job, struct rt_cuda_operands *out)
{
    *out = (struct rt_cuda_operands){.count = job->operands};
    for (int i = 0; i < job->operands; i++) {
        size_t *stride = job->operand[i].on_host ? &out->host_stride : &out->device_stride;
        out->on_host[i] = job->operand[i].on_host;
        out->offset[i] = *stride;
        *stride += rt_cuda_padded(job->operand[i].bytes);
    }
}

static size_t choose_sets(const struct rt_cuda_operands *operands, size_t l2_bytes, size_t room)
{
    size_t stride = operands->device_stride, sets = 1;
    if (stride > 0)
        sets = (RT_CUDA_ROTATED_CACHES * l2_bytes + stride - 1) / stride;
    if (operands->host_stride > 0 && sets > HOST_ROTATED / operands->host_stride)
        sets = HOST_ROTATED / operands->host_stride;
    if (sets > RT_CUDA_MOST_SETS)
        sets = RT_CUDA_MOST_SETS;
    if (stride > 0 && sets > room / stride)
        sets = room / stride;
    return sets > 0 ? sets : 1;
}

static CUresult reserve(struct rt_cuda_memory *memory, const struct rt_cuda_gpu *gpu,
                        const struct rt_cuda_operands *operands, size_t workspace, bool pinned, uint64_t seed)
{
    CUresult result = CUDA_SUCCESS;
    size_t device = workspace + operands->sets * operands->device_stride;
    size_t host = operands->sets * operands->host_stride;
    if (device > 0)
        result = reserve_device(memory, gpu->driver, device);
    if (result == CUDA_SUCCESS && host > 0)
        result = reserve_host(memory, gpu->driver, host, pinned, seed);
    return result;
}

int rt_cuda_place(struct rt_cuda_memory *memory, const struct rt_cuda_gpu *gpu, const struct rt_cuda_job *job,
                  size_t l2_bytes, bool pinned, uint64_t seed, struct rt_cuda_operands *out,
                  const char **refused)
{
    size_t left, total, workspace = rt_cuda_padded(job->workspace_bytes);
    *refused = NULL;
    lay_out(job, out);
    CUresult result = gpu->driver->memory_left(&left, &total);
    if (result != CUDA_SUCCESS)
        return rt_cuda_check(result, gpu->name, "cuMemGetInfo");
    size_t room = (left + memory->device_bytes) / 10 * 9; /* the rest is for libraries and fragments */
    if (workspace > room || out->device_stride > room - workspace || out->host_stride > most_host_bytes()) {
        *refused = "out of memory";
        return RT_OK;
    }
    out->sets = choose_sets(out, l2_bytes, room - workspace);
    result = reserve(memory, gpu, out, workspace, pinned, seed);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && out->sets > 1) {
        out->sets = 1;
        result = reserve(memory, gpu, out, workspace, pinned, seed);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        *refused = "out of memory";
        return RT_OK;
    }
    if (result != CUDA_SUCCESS)
        return rt_cuda_check(result, gpu->name, "cuMemAlloc");
    out->workspace = workspace > 0 ? memory->device : 0;
    out->device = memory->device + workspace;
    out->host = (CUdeviceptr)(uintptr_t)memory->host[pinned];
    return rt_cuda_check(fill_sets(gpu, job, out, seed), gpu->name, "filling operands");
}

void rt_cuda_operands_of(const struct rt_cuda_operands *operands, uint64_t run,
                         CUdeviceptr to[RT_CUDA_OPERANDS])
{
    size_t set = (size_t)(run % operands->sets);
    for (int i = 0; i < operands->count; i++)
        to[i] =
            operands->offset[i] + (operands->on_host[i] ? operands->host + set * operands->host_stride
                                                        : operands->device + set * operands->device_stride);
}
