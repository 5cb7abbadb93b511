/* A CUDA driver for tests. See driver.h. */
#include "tests/collect/fake_cuda/driver.h"
#include "collect/cuda/kernels/args.h"

#include <cuda.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMS = 40, ALIGNED_SMS = 8, MOST_RAN = 1 << 16, L2_BYTES = 1 << 20, MOST_QUEUED = 1024 };
static const size_t memory_bytes = 64u << 20;

struct CUctx_st {
    int device, sms;
};
struct CUgreenCtx_st {
    struct CUctx_st context;
};
struct CUmod_st {
    int loaded;
};
struct CUfunc_st {
    char name[64];
};
struct CUstream_st {
    CUcontext context;
};
struct CUevent_st {
    CUcontext context;
    double ns;
    bool recorded;
};
struct CUdevResourceDesc_st {
    int sms;
};

struct command {
    enum { RUN, RECORD, COPY, SET, WAIT } what;
    struct fake_ran ran;
    struct rt_cuda_args args;
    CUevent event;
    void *to;
    const void *from;
    int byte;
    double ns;
};

static struct command *queue;
static size_t queued, queue_room;
static double clock_ns = 1e6;
static struct fake_ran *log_of_runs;
static size_t logged;
static CUresult lost; /* the error that every call returns from then on */
static CUcontext current;
static struct CUctx_st primary[8] = {{0, SMS}, {1, SMS}, {2, SMS}, {3, SMS},
                                     {4, SMS}, {5, SMS}, {6, SMS}, {7, SMS}};
static int retained, live, launches, gave_up;
static size_t used;

static long environment(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? atol(text) : otherwise;
}

/* ---- for the test ---- */

size_t fake_cuda_log(const struct fake_ran **ran)
{
    *ran = log_of_runs;
    return logged;
}

void fake_cuda_forget(void)
{
    logged = 0;
    launches = gave_up = 0;
}

int fake_cuda_contexts(void)
{
    return retained;
}

int fake_cuda_live(void)
{
    return live;
}

/* ---- what runs ---- */

static CUresult run_all(void);

/* A full queue makes the caller wait for the GPU, also where the caller has yet to release the queue. */
static struct command *add_command(int what)
{
    if (queued == MOST_QUEUED)
        run_all();
    if (queued == queue_room)
        queue = realloc(queue, (queue_room = 2 * queue_room + 64) * sizeof *queue);
    struct command *command = &queue[queued++];
    memset(command, 0, sizeof *command);
    command->what = what;
    return command;
}

/* For other fakes, whose libraries would launch kernels. */
void fake_cuda_ran(double us)
{
    add_command(WAIT)->ns = 1e3 * us;
}

static bool is(const struct command *command, const char *name)
{
    return strncmp(command->ran.name, name, strlen(name)) == 0;
}

static void run_kernel(struct command *c)
{
    const struct rt_cuda_args *a = &c->args;
    void *to = (void *)(uintptr_t)a->operand[0];
    double elements = a->rows > 0 ? (double)a->rows * (double)a->cols : (double)a->count;
    double took = elements * 32 / 1e3 > 1e4 ? elements * 32 / 1e3 : 1e4; /* 32 bytes an element at 1 TB/s */
    if (is(c, "rt_spin")) {
        bool released = (int32_t)(*(volatile uint32_t *)to - (uint32_t)a->limit) >= 0 &&
                        ++gave_up > environment("FAKE_CUDA_GIVE_UP", 0);
        if (!released && a->operand[1] != 0)
            *(uint32_t *)(uintptr_t)a->operand[1] = 1;
        took = released ? 5e3 : (double)a->count;
    } else if (is(c, "rt_stamp")) {
        ((uint64_t *)to)[0] = (uint64_t)(1.5 * clock_ns); /* 1500 MHz */
        ((uint64_t *)to)[1] = (uint64_t)clock_ns;
        ((uint64_t *)to)[2] = 7;
        took = 1e3;
    } else if (is(c, "rt_flush")) {
        memset(to, 1, (size_t)a->count);
        c->ran.bytes = (uint64_t)a->count;
        took = (double)a->count / 1e3;
    } else if (is(c, "rt_fill_values_f32")) {
        for (int64_t i = 0; i < a->count; i++)
            ((float *)to)[i] = 0.5f + (float)((a->seed + (uint64_t)i) % 1000) / 1000;
    } else if (is(c, "rt_fill_indices")) {
        for (int64_t i = 0; i < a->count; i++)
            ((int32_t *)to)[i] = (int32_t)((uint64_t)i % (uint64_t)a->limit);
    } else if (is(c, "rt_fill_values")) {
        memset(to, 0x3c, (size_t)a->count);
    } else if (is(c, "rt_empty")) {
        took = 1500;
    }
    clock_ns += took;
}

static void run_command(struct command *c)
{
    if (c->what == RUN)
        run_kernel(c);
    else if (c->what == COPY)
        memcpy(c->to, c->from, c->ran.bytes);
    else if (c->what == SET)
        memset(c->to, c->byte, c->ran.bytes);
    clock_ns += c->what == COPY || c->what == SET ? 2e3 + (double)c->ran.bytes / 20 : c->ns; /* 20 GB/s */
    if (c->what == RECORD) {
        c->event->ns = clock_ns;
        c->event->recorded = true;
    }
    if (log_of_runs == NULL)
        log_of_runs = malloc(MOST_RAN * sizeof *log_of_runs);
    if (logged < MOST_RAN && c->what != WAIT)
        log_of_runs[logged++] = c->ran;
}

static CUresult run_all(void)
{
    for (size_t i = 0; i < queued && lost == CUDA_SUCCESS; i++) {
        long sticky = environment("FAKE_CUDA_STICKY_AT", 0);
        if (queue[i].what == RUN &&
            ((sticky > 0 && ++launches == sticky) || is(&queue[i], "rt_test_illegal")))
            lost = CUDA_ERROR_ILLEGAL_ADDRESS;
        else
            run_command(&queue[i]);
    }
    queued = 0;
    return lost;
}

/* What every call checks that needs a context. */
static CUresult checked(void)
{
    return lost != CUDA_SUCCESS ? lost : current == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

/* ---- driver and devices ---- */

CUresult cuInit(unsigned flags)
{
    return flags != 0 ? CUDA_ERROR_INVALID_VALUE : (CUresult)environment("FAKE_CUDA_INIT", 0);
}

CUresult cuDriverGetVersion(int *version)
{
#ifdef FAKE_CUDA_OLD
    *version = 12020;
#else
    *version = 13000;
#endif
    return CUDA_SUCCESS;
}

static const struct {
    CUresult result;
    const char *name, *text;
} errors[] = {
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

CUresult cuGetErrorName(CUresult result, const char **name)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].result == result) {
            *name = errors[i].name;
            return CUDA_SUCCESS;
        }
    *name = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult result, const char **text)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].result == result) {
            *text = errors[i].text;
            return CUDA_SUCCESS;
        }
    *text = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count)
{
    *count = (int)environment("FAKE_CUDA_DEVICES", 2);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return ordinal >= 0 && ordinal < 8 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    (void)device;
    snprintf(name, (size_t)size, "%s",
             environment("FAKE_CUDA_MIG", 0) ? "synthetic fake GPU MIG 1g.64mb" : "synthetic fake GPU");
    return CUDA_SUCCESS;
}

#ifdef FAKE_CUDA_OLD
#undef cuDeviceGetUuid
#endif
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    memset(uuid, 0xa0 + device, sizeof *uuid);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device)
{
    static const struct {
        CUdevice_attribute which;
        int value;
    } attributes[] = {
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, SMS},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1500000},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2000000},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 2048},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, L2_BYTES},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 << 10},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10},
        {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
        {CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 0},
    };
    (void)device;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i].which == which) {
            *value = attributes[i].value;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = memory_bytes;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int size, CUdevice device)
{
    snprintf(id, (size_t)size, "0000:%02x:00.0", device + 1);
    return CUDA_SUCCESS;
}

/* ---- contexts ---- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    retained++;
    *context = &primary[device];
    return lost;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    (void)device;
    retained--;
    return lost;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    current = context;
    return lost;
}

#ifndef FAKE_CUDA_OLD
CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *out, CUdevResourceType type)
{
    (void)device;
    memset(out, 0, sizeof *out);
    out->type = type;
    out->sm.smCount = SMS;
    return environment("FAKE_CUDA_MIG", 0) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

/* Groups are multiples of 8 SMs, as on Hopper. */
CUresult cuDevSmResourceSplitByCount(CUdevResource *out, unsigned *groups, const CUdevResource *in,
                                     CUdevResource *rest, unsigned flags, unsigned least)
{
    unsigned sms = (least + ALIGNED_SMS - 1) / ALIGNED_SMS * ALIGNED_SMS;
    if (flags != 0 || in->type != CU_DEV_RESOURCE_TYPE_SM || *groups != 1)
        return CUDA_ERROR_INVALID_VALUE;
    if (sms > in->sm.smCount)
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    *out = *rest = *in;
    out->sm.smCount = sms;
    rest->sm.smCount = in->sm.smCount - sms;
    return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *out, CUdevResource *resource, unsigned count)
{
    static struct CUdevResourceDesc_st described;
    described.sms = (int)resource->sm.smCount;
    *out = &described;
    return count == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc described, CUdevice device, unsigned flags)
{
    if (flags != CU_GREEN_CTX_DEFAULT_STREAM)
        return CUDA_ERROR_INVALID_VALUE;
    *out = calloc(1, sizeof **out);
    (*out)->context = (struct CUctx_st){device, described->sms};
    live++;
    return lost;
}

CUresult cuGreenCtxDestroy(CUgreenCtx share)
{
    if (current == &share->context)
        current = NULL;
    free(share);
    live--;
    return lost;
}

CUresult cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx share)
{
    *context = &share->context;
    return lost;
}
#endif

/* ---- modules and launches ---- */

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    CUresult result = checked();
    if (result == CUDA_SUCCESS)
        result = (CUresult)environment("FAKE_CUDA_MODULE", 0);
    if (result != CUDA_SUCCESS)
        return result;
    *module = calloc(1, sizeof **module);
    (*module)->loaded = image != NULL;
    live++;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    free(module);
    live--;
    return lost;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    static struct CUfunc_st functions[512];
    int i = 0;
    if (module == NULL || strncmp(name, "rt_", 3) != 0 || strlen(name) >= sizeof functions[0].name)
        return CUDA_ERROR_NOT_FOUND;
    while (functions[i].name[0] != '\0' && strcmp(functions[i].name, name) != 0)
        i++;
    strcpy(functions[i].name, name);
    *function = &functions[i];
    return lost;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction function)
{
    (void)function;
    *value = which == CU_FUNC_ATTRIBUTE_NUM_REGS ? 32 : 0;
    return lost;
}

static bool is_the_backends(const char *name)
{
    static const char *const own[] = {"rt_spin", "rt_stamp", "rt_flush", "rt_fill"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strncmp(name, own[i], strlen(own[i])) == 0)
            return true;
    return false;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream stream, void **parameters, void **extra)
{
    CUresult result = checked();
    (void)shared;
    if (result == CUDA_SUCCESS && (gx * gy * gz == 0 || bx * by * bz == 0 || extra != NULL || stream == NULL))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !is_the_backends(function->name))
        result = (CUresult)environment("FAKE_CUDA_LAUNCH", 0);
    if (result != CUDA_SUCCESS)
        return result;
    struct command *command = add_command(RUN);
    strcpy(command->ran.name, function->name);
    command->ran.sms = stream->context->sms;
    command->ran.grid = gx;
    if (parameters != NULL) {
        command->args = *(const struct rt_cuda_args *)parameters[0];
        memcpy(command->ran.operand, command->args.operand, sizeof command->ran.operand);
    }
    return CUDA_SUCCESS;
}

/* ---- memory ---- */

/* Each block knows its size. */
enum { HEADER = 512 };

static CUresult allocate(void **out, size_t bytes)
{
    CUresult result = checked();
    if (result == CUDA_SUCCESS && bytes == 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && (long)bytes >= environment("FAKE_CUDA_OOM_BYTES", 1L << 40))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS)
        return result;
    char *block = aligned_alloc(HEADER, HEADER + (bytes + HEADER - 1) / HEADER * HEADER);
    *(size_t *)block = bytes;
    *out = block + HEADER;
    live++;
    return CUDA_SUCCESS;
}

static size_t give_back(void *block)
{
    size_t bytes = *(size_t *)((char *)block - HEADER);
    free((char *)block - HEADER);
    live--;
    return bytes;
}

CUresult cuMemGetInfo(size_t *left, size_t *total)
{
    *total = memory_bytes;
    *left = memory_bytes - used;
    return checked();
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    void *block;
    if (used + bytes > memory_bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = allocate(&block, bytes);
    if (result != CUDA_SUCCESS)
        return result;
    used += bytes;
    *address = (CUdeviceptr)(uintptr_t)block;
    return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address)
{
    run_all();
    used -= give_back((void *)(uintptr_t)address);
    return lost;
}

static char *pinned[64];

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    CUresult result = allocate(out, bytes);
    (void)flags;
    for (int i = 0; i < 64 && result == CUDA_SUCCESS; i++)
        if (pinned[i] == NULL) {
            pinned[i] = *out;
            break;
        }
    return result;
}

CUresult cuMemFreeHost(void *block)
{
    for (int i = 0; i < 64; i++)
        if (pinned[i] == block)
            pinned[i] = NULL;
    give_back(block);
    return lost;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *address, void *host, unsigned flags)
{
    *address = (CUdeviceptr)(uintptr_t)host;
    return flags == 0 ? lost : CUDA_ERROR_INVALID_VALUE;
}

static bool is_pinned(const char *address)
{
    for (int i = 0; i < 64; i++)
        if (pinned[i] != NULL && address >= pinned[i] &&
            address < pinned[i] + *(size_t *)(pinned[i] - HEADER))
            return true;
    return false;
}

/* A copy of pageable memory waits for what is queued before it, as the driver's staging does. */
static CUresult copy(void *to, const void *from, size_t bytes, const void *host, const char *name)
{
    CUresult result = checked();
    if (result != CUDA_SUCCESS)
        return result;
    struct command *command = add_command(COPY);
    strcpy(command->ran.name, name);
    command->ran.operand[0] = (uint64_t)(uintptr_t)from;
    command->ran.operand[1] = (uint64_t)(uintptr_t)to;
    command->ran.bytes = bytes;
    command->to = to;
    command->from = from;
    return is_pinned(host) ? CUDA_SUCCESS : run_all();
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    (void)stream;
    return copy((void *)(uintptr_t)to, from, bytes, from, "copy in");
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    return copy(to, (const void *)(uintptr_t)from, bytes, to, "copy out");
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes, CUstream stream)
{
    struct command *command = add_command(SET);
    (void)stream;
    strcpy(command->ran.name, "set");
    command->ran.bytes = bytes;
    command->to = (void *)(uintptr_t)to;
    command->byte = byte;
    return checked();
}

/* ---- streams and events ---- */

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    CUresult result = checked();
    if (result == CUDA_SUCCESS && flags != CU_STREAM_NON_BLOCKING)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    *stream = calloc(1, sizeof **stream);
    (*stream)->context = current;
    live++;
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream)
{
    free(stream);
    live--;
    return lost;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    (void)stream;
    return run_all();
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    CUresult result = checked();
    if (result == CUDA_SUCCESS && flags != CU_EVENT_DEFAULT)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    *event = calloc(1, sizeof **event);
    (*event)->context = current;
    live++;
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event)
{
    free(event);
    live--;
    return lost;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    if (event->context != stream->context)
        return CUDA_ERROR_INVALID_HANDLE;
    event->recorded = false;
    struct command *command = add_command(RECORD);
    strcpy(command->ran.name, "event");
    command->event = event;
    return lost;
}

CUresult cuEventSynchronize(CUevent event)
{
    (void)event;
    return run_all();
}

#ifdef FAKE_CUDA_OLD
#undef cuEventElapsedTime
#endif
CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    if (!from->recorded || !to->recorded)
        return CUDA_ERROR_NOT_READY;
    *ms = (float)(1e-6 * (to->ns - from->ns));
    return lost;
}
