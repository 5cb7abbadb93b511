/*
 * The CUDA backend: NVIDIA GPUs through the driver, which is opened at run time.
 *
 * Decisions that matter for the measurements:
 *   - A device is a GPU, a MIG slice, or with --sm-share a share of a GPU's SMs (device.h). Each GPU is a
 *     lane; the shares of a GPU take turns.
 *   - Descriptors are not measured: peaks are published ones (device.h). The driver's clocks and memory size
 *     are attributes of the samples.
 *   - timing.h describes how runs are timed. Operands (memory.h) are uniform in 0.5..1.5, results small
 *     positive numbers.
 *   - A sample is throttled where NVML reported heat, a power brake or a hardware slowdown before, during or
 *     after its runs. A power limit is recorded but not flagged: large products always run at it, and no
 *     pause changes that.
 *   - A missing library makes only its own ops fail; the fact "missing" names it. Settings of the card are
 *     never changed.
 *   - A shape that cannot run is refused. After an error that leaves the driver unusable (rt_cuda_is_sticky)
 *     the device is lost, and the process must end.
 *   - Contexts cost GPU memory and do not survive fork, so they are made with the first work.
 */
#include "collect/backend.h"
#include "base/progress.h"
#include "collect/cuda/device.h"
#include "collect/cuda/jobs/makers.h"
#include "collect/cuda/kernels/args.h"
#include "collect/cuda/memory.h"
#include "collect/cuda/nvml.h"
#include "collect/cuda/profile.h"
#include "collect/cuda/sequence.h"
#include "collect/cuda/timing.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double watch_s = 0.02; /* between readings of NVML while kernels run */

/* A GPU or MIG slice: the state that its shares have in common. */
struct lane {
    int ordinal;
    CUdevice device;
    CUcontext primary; /* NULL: not retained */
    struct rt_cuda_memory memory;
};

struct cuda_device {
    struct rt_cuda_gpu_found found;
    struct rt_device described;
    struct lane *lane;
    void *nvml; /* NULL: NVML does not know it */
    bool ready; /* the fields below are set */
    CUgreenCtx share;
    struct rt_cuda_gpu gpu;
    struct rt_cuda_timer timer;
    uint64_t reasons; /* NVML's, of all readings since the last rt_health */
    double watched_s; /* time of the last reading */
};

struct cuda_context {
    struct cuda_device *device;
    struct lane *lane;
    size_t device_count, lane_count;
    uint64_t seed;
};

struct cuda_work {
    struct cuda_device *device;
    struct rt_cuda_job job;
    struct rt_cuda_operands operands;
    enum rt_cuda_way way;
};

/* ---- devices ---- */

static bool is_slice(const struct cuda_device *device)
{
    return strstr(device->found.gpu, " MIG ") != NULL;
}

static size_t lane_of(struct cuda_context *context, int ordinal)
{
    size_t l = 0;
    while (l < context->lane_count && context->lane[l].ordinal != ordinal)
        l++;
    if (l == context->lane_count)
        context->lane[context->lane_count++].ordinal = ordinal;
    return l;
}

static int cuda_open(const struct rt_backend_options *options, void **out)
{
    struct rt_cuda_gpu_found *found;
    size_t count;
    if (options->faults != NULL)
        return rt_fail(RT_EUSAGE,
                       "{faults} is for the synthetic backend; the cuda backend measures real kernels");
    int status = rt_cuda_find(options->devices, options->sm_shares, &found, &count);
    if (status != RT_OK)
        return status;
    struct cuda_context *context = rt_calloc(1, sizeof *context);
    context->seed = options->seed;
    context->device = rt_calloc(count, sizeof *context->device);
    context->lane = rt_calloc(count, sizeof *context->lane);
    context->device_count = count;
    for (size_t d = 0; d < count; d++) {
        struct cuda_device *device = &context->device[d];
        device->found = found[d];
        device->lane = &context->lane[lane_of(context, found[d].ordinal)];
        rt_cuda_describe(&found[d], &device->described);
    }
    free(found);
    *out = context;
    return RT_OK;
}

static void release_device(struct cuda_device *device)
{
    const struct rt_cuda_driver *driver = device->gpu.driver;
    if (device->gpu.context == NULL)
        return;
    driver->use(device->gpu.context);
    rt_cublaslt_free(device->gpu.cublaslt);
    rt_cudnn_free(device->gpu.cudnn);
    rt_cuda_timer_close(&device->timer);
    if (device->gpu.kernels != NULL)
        driver->module_unload(device->gpu.kernels);
    if (device->gpu.stream != NULL)
        driver->stream_free(device->gpu.stream);
    if (device->share != NULL)
        driver->green_free(device->share);
    device->gpu = (struct rt_cuda_gpu){0};
    device->share = NULL;
    device->ready = false;
}

static void cuda_close(void *opaque)
{
    struct cuda_context *context = opaque;
    const struct rt_cuda_driver *driver;
    if (context == NULL)
        return;
    /* A process forked from the one that made the contexts has none to release. */
    if (rt_cuda_driver_is_open() && rt_cuda_driver(&driver) == RT_OK) {
        for (size_t d = 0; d < context->device_count; d++)
            release_device(&context->device[d]);
        for (size_t l = 0; l < context->lane_count; l++) {
            if (context->lane[l].primary == NULL)
                continue;
            driver->use(context->lane[l].primary);
            rt_cuda_memory_release(&context->lane[l].memory, driver);
            driver->use(NULL);
            driver->drop(context->lane[l].device);
        }
    }
    free(context->device);
    free(context->lane);
    free(context);
}

static size_t cuda_device_count(void *opaque)
{
    return ((struct cuda_context *)opaque)->device_count;
}

static const char *cuda_device_name(void *opaque, size_t device)
{
    return ((struct cuda_context *)opaque)->device[device].found.name;
}

static size_t cuda_lane(void *opaque, size_t device)
{
    const struct cuda_context *context = opaque;
    return (size_t)(context->device[device].lane - context->lane);
}

static int cuda_describe(void *opaque, size_t which, struct rt_device *out)
{
    const struct cuda_device *device = &((struct cuda_context *)opaque)->device[which];
    int status = rt_device_check(&device->described, "the driver's description");
    if (status == RT_OK)
        *out = device->described;
    return status;
}

static void *nvml_of(struct cuda_device *device)
{
    if (device->nvml == NULL)
        device->nvml = rt_nvml_find(device->found.pci, device->found.uuid);
    return device->nvml;
}

/* ---- contexts ---- */

static int retain_lane(const struct rt_cuda_driver *driver, struct lane *lane, const char *name)
{
    CUcontext primary;
    if (lane->primary != NULL)
        return RT_OK;
    int status = rt_cuda_check(driver->device_get(&lane->device, lane->ordinal), name, "cuDeviceGet");
    if (status == RT_OK)
        status = rt_cuda_check(driver->retain(&primary, lane->device), name, "cuDevicePrimaryCtxRetain");
    if (status == RT_OK)
        lane->primary = primary;
    return status;
}

static int load_kernels(struct rt_cuda_gpu *gpu)
{
    CUresult result = gpu->driver->module_load(&gpu->kernels, rt_cuda_kernels_image);
    switch ((int)result) {
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
        return rt_fail(RT_EIO,
                       "%s: this build's kernels (CUDA %d.%d) do not load in its driver (CUDA %d.%d); update "
                       "the driver, or build with a toolkit no newer than it and ROOFTILE_CUDA_ARCHITECTURES "
                       "with %d",
                       gpu->name, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10, gpu->driver->version / 1000,
                       gpu->driver->version % 1000 / 10, gpu->capability);
    default:
        return rt_cuda_check(result, gpu->name, "cuModuleLoadData");
    }
}

static size_t l2_bytes(const struct cuda_device *device)
{
    return (size_t)fmax(device->found.l2_bytes, device->described.l2_mib * 0x1p20);
}

/* The default of cuBLAS: with more, its heuristic would choose kernels that no framework gets (NVIDIA, cuBLAS
 * documentation 13.0, cublasSetWorkspace). */
static size_t workspace_of(const struct rt_cuda_gpu_found *found)
{
    return found->capability >= 90 ? (size_t)32 << 20 : (size_t)4 << 20;
}

static int make_ready(struct cuda_device *device)
{
    const struct rt_cuda_driver *driver;
    struct rt_cuda_gpu *gpu = &device->gpu;
    int status = rt_cuda_driver(&driver);
    if (status == RT_OK)
        status = retain_lane(driver, device->lane, device->found.name);
    if (status != RT_OK)
        return status;
    *gpu = (struct rt_cuda_gpu){.driver = driver,
                                .device = device->lane->device,
                                .capability = device->found.capability,
                                .sms = device->found.sms,
                                .shared_bytes_per_block = (size_t)device->found.shared_bytes_per_block,
                                .workspace_bytes = workspace_of(&device->found)};
    strcpy(gpu->name, device->found.name);
    CUcontext current = device->lane->primary;
    if (device->found.share_percent < 100)
        status = rt_cuda_share_open(driver, gpu->device, gpu->name, device->found.share_asked, &device->share,
                                    &current);
    if (status == RT_OK)
        status = rt_cuda_check(driver->use(current), gpu->name, "cuCtxSetCurrent");
    if (status == RT_OK)
        gpu->context = current;
    if (status == RT_OK)
        status = rt_cuda_check(driver->stream_new(&gpu->stream, CU_STREAM_NON_BLOCKING), gpu->name,
                               "cuStreamCreate");
    if (status == RT_OK)
        status = load_kernels(gpu);
    if (status == RT_OK)
        status = rt_cuda_timer_open(&device->timer, gpu, l2_bytes(device));
    device->ready = status == RT_OK;
    if (status != RT_OK)
        release_device(device);
    return status;
}

/* The device's context is the current one afterwards: devices of a lane take turns. */
static int enter(struct cuda_device *device)
{
    if (!device->ready)
        return make_ready(device);
    return rt_cuda_check(device->gpu.driver->use(device->gpu.context), device->gpu.name, "cuCtxSetCurrent");
}

/* ---- facts ---- */

static void visit_number(rt_fact_visit visit, void *to, const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.10g", value);
    if (!isnan(value) && value > 0)
        visit(to, name, text);
}

static const char *mps_state(const struct rt_cuda_gpu_found *found)
{
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    if (found->mps >= 0)
        return found->mps ? "on" : "off";
    char *control = rt_format("%s/control", folder != NULL ? folder : "/tmp/nvidia-mps");
    bool there = access(control, F_OK) == 0;
    free(control);
    return there ? "on" : "off";
}

static void visit_missing(rt_fact_visit visit, void *to)
{
    const char *const missing[] = {
        rt_nvml_missing(),
        rt_cublaslt_version() == NULL ? "cuBLASLt is not installed" : NULL,
        rt_cudnn_version() == NULL ? "cuDNN is not installed" : NULL,
        rt_cuda_profile_missing(),
    };
    struct rt_text text = {0};
    for (size_t i = 0; i < RT_COUNT(missing); i++)
        if (missing[i] != NULL)
            rt_text_item(&text, "; ", "%s", missing[i]);
    visit(to, "missing", text.text != NULL ? text.text : "");
    rt_text_release(&text);
}

static void visit_board(struct cuda_device *device, rt_fact_visit visit, void *to)
{
    const struct rt_cuda_gpu_found *found = &device->found;
    void *nvml = nvml_of(device);
    visit(to, "gpu_uuid", found->uuid);
    visit(to, "ecc", found->ecc >= 0 ? found->ecc ? "on" : "off" : rt_nvml_mode(nvml, RT_NVML_ECC));
    visit(to, "mig", is_slice(device) ? "on" : rt_nvml_mode(nvml, RT_NVML_MIG));
    visit(to, "mps", mps_state(found));
    visit(to, "persistence", rt_nvml_mode(nvml, RT_NVML_PERSISTENCE));
    visit_number(visit, to, "power_limit_w", rt_nvml_number(nvml, RT_NVML_POWER_LIMIT_W));
    visit_number(visit, to, "sm_clock_most_mhz", rt_nvml_number(nvml, RT_NVML_SM_CLOCK_MOST_MHZ));
    visit_number(visit, to, "driver_clock_mhz", 1e-3 * found->clock_khz);
    visit_number(visit, to, "driver_memory_clock_mhz", 1e-3 * found->memory_clock_khz);
    visit_number(visit, to, "driver_memory_bus_bits", found->bus_bits);
    visit_number(visit, to, "driver_l2_bytes", found->l2_bytes);
    visit_number(visit, to, "driver_memory_bytes", (double)found->memory_bytes);
    visit(to, "peaks_source", rt_cuda_peaks_source(found));
}

static void visit_versions(const struct rt_cuda_gpu_found *found, rt_fact_visit visit, void *to)
{
    char text[32];
    const char *cublaslt = rt_cublaslt_version(), *cudnn = rt_cudnn_version();
    visit(to, "driver", rt_nvml_driver());
    snprintf(text, sizeof text, "%d.%d", found->driver_version / 1000, found->driver_version % 1000 / 10);
    visit(to, "driver_cuda", text);
    snprintf(text, sizeof text, "%d.%d", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
    visit(to, "kernels_cuda", text);
    if (cublaslt != NULL)
        visit(to, "cublaslt", cublaslt);
    if (cudnn != NULL)
        visit(to, "cudnn", cudnn);
}

static void cuda_facts(void *opaque, size_t which, rt_fact_visit visit, void *to)
{
    struct cuda_device *device = &((struct cuda_context *)opaque)->device[which];
    const struct rt_cuda_gpu_found *found = &device->found;
    char text[160];
    visit_board(device, visit, to);
    visit_versions(found, visit, to);
    if (found->share_percent < 100) {
        snprintf(text, sizeof text, "green context of %d of %d SMs, %d%% asked for", found->sms,
                 found->gpu_sms, found->share_percent);
        visit(to, "sm_share", text);
    }
    snprintf(text, sizeof text,
             "cold: sets of operands in turn, %d times the L2 or %d sets, and the L2 overwritten before each "
             "run; warm: one set",
             RT_CUDA_ROTATED_CACHES, RT_CUDA_MOST_SETS);
    visit(to, "buffers", text);
    visit(to, "operand_values", "uniform in 0.5..1.5");
    visit(to, "timer", "CUDA events around each run, in a queue that is full before it starts");
    visit(to, "timer_pageable", "host clock around the copy and the wait for it");
    visit(to, "timer_launch", "host clock around the call, plus events around the empty kernel");
    visit_missing(visit, to);
    if (strstr(found->gpu, "synthetic") != NULL)
        visit(to, "synthetic", "not a measurement: a driver for tests");
}

static double cuda_clock(void *opaque)
{
    (void)opaque;
    return rt_clock();
}

static void cuda_pause(void *opaque, double seconds)
{
    (void)opaque;
    struct timespec left = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - floor(seconds)))};
    nanosleep(&left, NULL); /* a signal ends the pause */
}

/* ---- works ---- */

static enum rt_cuda_way way_of(const struct rt_task *task)
{
    if (task->variant == RT_PAGEABLE)
        return RT_CUDA_ON_HOST;
    return task->call.op == RT_OP_LAUNCH ? RT_CUDA_WITH_LAUNCH : RT_CUDA_QUEUED;
}

/* The first run; CUPTI, where it is installed, records its kernels. */
static int try_once(struct cuda_work *work, const char **refused)
{
    struct rt_cuda_gpu *gpu = &work->device->gpu;
    CUdeviceptr at[RT_CUDA_OPERANDS] = {0};
    rt_cuda_operands_of(&work->operands, 0, at);
    int status = rt_cuda_job_try(&work->job, at, work->operands.workspace, refused);
    if (status == RT_OK && *refused == NULL && work->way == RT_CUDA_QUEUED)
        status = rt_cuda_profile(gpu, &work->job, at, work->operands.workspace);
    return status;
}

static void cuda_finish(void *opaque, void *opaque_work)
{
    struct cuda_work *work = opaque_work;
    (void)opaque;
    if (work == NULL)
        return;
    rt_cuda_job_release(&work->job);
    free(work);
}

static int cuda_prepare(void *opaque, size_t which, const struct rt_task *task,
                        struct rt_launch_config *launch, void **out, const char **refused)
{
    struct cuda_context *context = opaque;
    struct cuda_device *device = &context->device[which];
    *out = NULL;
    *refused = NULL;
    int status = enter(device);
    if (status != RT_OK)
        return status;
    struct cuda_work *work = rt_calloc(1, sizeof *work);
    work->device = device;
    work->way = way_of(task);
    status = rt_cuda_job_make(&device->gpu, task, &work->job, refused);
    if (status != RT_OK || *refused != NULL) {
        free(work);
        return status;
    }
    status = rt_cuda_place(&device->lane->memory, &device->gpu, &work->job, l2_bytes(device),
                           task->variant != RT_PAGEABLE, context->seed, &work->operands, refused);
    if (status == RT_OK && *refused == NULL)
        status = try_once(work, refused);
    if (status != RT_OK || *refused != NULL) {
        cuda_finish(context, work);
        return status;
    }
    device->timer.cycles = device->timer.nanoseconds = 0;
    device->reasons = rt_nvml_reasons(nvml_of(device));
    *launch = work->job.kernel;
    *out = work;
    return RT_OK;
}

static void watch(void *opaque)
{
    struct cuda_device *device = opaque;
    double now = rt_clock();
    if (now - device->watched_s < watch_s)
        return;
    device->reasons |= rt_nvml_reasons(device->nvml);
    device->watched_s = now;
}

static int cuda_time(void *opaque, void *opaque_work, const struct rt_batch *batch, double *us)
{
    struct cuda_work *work = opaque_work;
    (void)opaque;
    int status = enter(work->device);
    if (status == RT_OK)
        status = rt_cuda_time(&work->device->timer, &work->job, &work->operands, work->way, batch, watch,
                              work->device, us);
    return status;
}

static double energy_counter(void *nvml)
{
    return rt_nvml_number(nvml, RT_NVML_ENERGY_MJ);
}

/* The counter is the whole board's, so a slice has none. */
static int cuda_energy(void *opaque, void *opaque_work, double seconds, double *mj, const char **missing)
{
    struct cuda_work *work = opaque_work;
    (void)opaque;
    *mj = NAN;
    *missing = is_slice(work->device) ? "a MIG slice has no energy counter of its own"
                                      : "NVML has no energy counter of this board";
    int status = enter(work->device);
    if (status == RT_OK && !is_slice(work->device))
        status = rt_cuda_energy(&work->device->timer, &work->job, &work->operands, seconds, energy_counter,
                                work->device->nvml, mj);
    return status;
}

static void read_health(struct cuda_device *device, struct rt_health *out)
{
    device->reasons |= rt_nvml_reasons(device->nvml);
    bool fault;
    const char *throttle = rt_nvml_throttle(device->reasons, &fault);
    *out = (struct rt_health){.flags = fault ? RT_FLAG_THROTTLED : 0,
                              .sm_clock_mhz = rt_nvml_number(device->nvml, RT_NVML_SM_CLOCK_MHZ),
                              .temperature_c = rt_nvml_number(device->nvml, RT_NVML_TEMPERATURE_C),
                              .power_w = NAN,
                              .throttle = throttle};
    if (!is_slice(device))
        out->power_w = rt_nvml_number(device->nvml, RT_NVML_POWER_W);
    if (device->timer.nanoseconds > 0)
        out->sm_clock_mhz = 1e3 * device->timer.cycles / device->timer.nanoseconds;
    if (strstr(device->found.gpu, "synthetic") != NULL)
        out->flags |= RT_FLAG_SYNTHETIC;
    device->reasons = 0;
    device->timer.cycles = device->timer.nanoseconds = 0;
}

static void cuda_health(void *opaque, void *opaque_work, struct rt_health *out)
{
    struct cuda_work *work = opaque_work;
    (void)opaque;
    read_health(work->device, out);
}

/* ---- whole models ---- */

struct cuda_model {
    struct cuda_device *device;
    struct rt_cuda_sequence *sequence;
};

static void cuda_finish_sequence(void *opaque, void *opaque_model)
{
    struct cuda_model *model = opaque_model;
    (void)opaque;
    if (model == NULL)
        return;
    enter(model->device);
    rt_cuda_sequence_free(model->sequence);
    free(model);
}

/* Invalidates the operands of earlier works, as every prepare does. */
static int cuda_prepare_sequence(void *opaque, size_t which, const struct rt_sequence *sequence,
                                 void (*alive)(void *to), void *to, void **out, const char **refused)
{
    struct cuda_context *context = opaque;
    struct cuda_device *device = &context->device[which];
    struct rt_cuda_sequence *made = NULL;
    *out = NULL;
    *refused = NULL;
    int status = enter(device);
    if (status != RT_OK)
        return status;
    rt_cuda_memory_release(&device->lane->memory, device->gpu.driver);
    status = rt_cuda_sequence_new(&device->gpu, sequence, l2_bytes(device), context->seed, alive, to, &made,
                                  refused);
    if (status != RT_OK || *refused != NULL)
        return status;
    device->timer.cycles = device->timer.nanoseconds = 0;
    device->reasons = rt_nvml_reasons(nvml_of(device));
    struct cuda_model *model = rt_malloc(sizeof *model);
    *model = (struct cuda_model){device, made};
    *out = model;
    return RT_OK;
}

static int cuda_time_sequence(void *opaque, void *opaque_model, uint64_t run, double us[3])
{
    struct cuda_model *model = opaque_model;
    (void)opaque;
    (void)run; /* a run continues in the ring where the one before it ended */
    int status = enter(model->device);
    if (status == RT_OK)
        status = rt_cuda_sequence_time(model->sequence, &model->device->timer, watch, model->device, us);
    return status;
}

static void cuda_sequence_health(void *opaque, void *opaque_model, struct rt_health *out)
{
    struct cuda_model *model = opaque_model;
    (void)opaque;
    read_health(model->device, out);
}

/* clang-format off */
const struct rt_backend rt_backend_cuda = {
    .name = "cuda", .about = "NVIDIA GPUs: cuBLASLt, cuDNN and kernels of our own", .warm_too = true,
    .most_batches = RT_CUDA_QUEUED_RUNS, .can = rt_cuda_job_can, .open = cuda_open, .close = cuda_close,
    .device_count = cuda_device_count, .device_name = cuda_device_name, .lane = cuda_lane,
    .describe = cuda_describe, .facts = cuda_facts, .clock = cuda_clock, .pause = cuda_pause,
    .prepare = cuda_prepare, .time = cuda_time, .energy = cuda_energy, .health = cuda_health,
    .finish = cuda_finish, .prepare_sequence = cuda_prepare_sequence, .time_sequence = cuda_time_sequence,
    .sequence_health = cuda_sequence_health, .finish_sequence = cuda_finish_sequence,
};
/* clang-format on */
