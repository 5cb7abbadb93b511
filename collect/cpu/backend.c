/*
 * The CPU backend: OpenBLAS and plain loops on this machine, cut into tiles as a GPU cuts an op into thread
 * blocks.
 *
 * Decisions that matter for the measurements:
 *   - A device is this CPU with a number of threads; one thread counts as one SM. "One thread" and "all
 *     threads" are two devices, so that even one machine has a device to hold out.
 *   - OpenBLAS runs single-threaded. The backend divides each op into tiles (kernels.h), which a thread pool
 *     computes in turn, so tiles and waves mean the same as on a GPU. The tile of a sample is what was
 *     computed: at most 128 x 128, less where the output is smaller (a CPU does not pad); the elements of all
 *     rows of a tile of softmax or layer norm; the elements of a run of elementwise. How OpenBLAS blocks the
 *     depth k is not known: tile[2] is -1.
 *   - The peaks of n threads of a CPU are not published, so `describe` measures them: the best of many sgemm
 *     calls on all threads at once, and the best of many triads over arrays far larger than the last-level
 *     cache. The collector describes a device before and after the kernels and keeps the higher peaks,
 *     because other load on the machine lowers them. A kernel that is still faster than the roofline is kept;
 *     `dataset validate` reports it.
 *   - Cold runs rotate through sets of operands that together are eight times the last-level cache (less
 *     where memory is short). With four times the cache, vector ops still ran up to 15% above the memory
 *     bandwidth. Warm runs use one set.
 *   - Energy is that of all packages of the machine, whatever else runs on them and however few threads a
 *     device has.
 *   - Operands are uniform in 0.5..1.5: no zeros, no subnormals, and defined for pow and div. None of the
 *     kernels branches on a value.
 */
#include "collect/backend.h"
#include "base/progress.h"
#include "collect/cpu/kernels.h"
#include "collect/cpu/machine.h"
#include "collect/cpu/pool.h"
#include "collect/cpu/rapl.h"
#include "base/status.h"
#include "base/strings.h"

#include <cblas.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { MAX_DEVICES = 16, ROTATED_CACHES = 8, TRIAD_CACHES = 4, TRIAD_CHUNK = 1 << 16 };

/* Floats with random values that outlive a kernel: made once, grown when a kernel needs more. */
struct arena {
    float *base;
    size_t count;
};

struct cpu_device {
    char name[96];
    int threads;
    struct rt_pool *pool;
};

struct cpu_context {
    struct rt_cpu_machine machine;
    struct cpu_device device[MAX_DEVICES];
    size_t device_count;
    struct arena input, output;
    struct rt_rapl rapl;
    double limit_bytes; /* of one kernel's operands, all sets of them: a quarter of the memory */
    size_t rotate_bytes;
    uint64_t seed;
    bool cache_given;
    int blas_threads; /* before the backend was opened */
};

/* One run, as the pool's tiles receive it. */
struct job {
    void (*tile)(const struct rt_cpu_call *call, size_t tile);
    struct rt_cpu_call call;
};

struct cpu_work {
    struct rt_pool *pool;
    struct job job;
    size_t sets, input_stride, output_stride; /* floats from one set of operands to the next */
    size_t input_offset[RT_CPU_INPUTS];
    const struct arena *input, *output;
};

/* ---- buffers ---- */

static void arena_release(struct arena *arena)
{
    if (arena->base != NULL)
        munmap(arena->base, arena->count * sizeof(float));
    *arena = (struct arena){0};
}

/* splitmix64 (Steele 2014) at a position: two floats in 0.5..1.5 */
static void random_pair(uint64_t seed, size_t position, float *to)
{
    uint64_t z = seed + (position + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    to[0] = 0.5f + (float)(z >> 40) * 0x1p-24f;
    to[1] = 0.5f + (float)(z & 0xffffff) * 0x1p-24f;
}

/* What an arena holds stays as it grows, so that all of it is filled once. false where the system has no such
 * memory. */
static bool arena_reserve(struct arena *arena, size_t count, uint64_t seed)
{
    if (count <= arena->count)
        return true;
    count += count & 1;
    size_t bytes = count * sizeof(float);
    void *base = arena->base == NULL
                     ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                     : mremap(arena->base, arena->count * sizeof(float), bytes, MREMAP_MAYMOVE);
    if (base == MAP_FAILED)
        return false;
    madvise(base, bytes, MADV_HUGEPAGE); /* fewer page walks in the timed runs; a hint */
    size_t filled = arena->count;
    *arena = (struct arena){.base = base, .count = count};
    for (size_t i = filled; i < count; i += 2)
        random_pair(seed, i, arena->base + i);
    return true;
}

/* ---- devices ---- */

static int add_device(struct cpu_context *context, const char *text, size_t length)
{
    int available = context->machine.threads, threads;
    char word[32], *end;
    if (length == 3 && strncmp(text, "all", 3) == 0) {
        threads = available;
    } else {
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        long value = strtol(word, &end, 10);
        if (length == 0 || length >= sizeof word || *end != '\0' || value < 1 || value > available)
            return rt_fail(RT_EUSAGE, "{device} %.*s is no number of threads; give \"all\" or 1 to %d",
                           (int)length, text, available);
        threads = (int)value;
    }
    for (size_t d = 0; d < context->device_count; d++)
        if (context->device[d].threads == threads)
            return RT_OK;
    if (context->device_count == MAX_DEVICES)
        return rt_fail(RT_EUSAGE, "{device} names more than %d devices; measure the others in another run",
                       MAX_DEVICES);
    struct cpu_device device = {.threads = threads};
    snprintf(device.name, sizeof device.name, "CPU %s %d thread%s", context->machine.model, threads,
             threads == 1 ? "" : "s");
    context->device[context->device_count++] = device;
    return RT_OK;
}

static int add_devices(struct cpu_context *context, const char *list)
{
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        int status = add_device(context, at, length);
        if (status != RT_OK)
            return status;
        at += length;
        if (*at == '\0')
            return RT_OK;
    }
}

static void cpu_close(void *opaque)
{
    struct cpu_context *context = opaque;
    if (context == NULL)
        return;
    for (size_t d = 0; d < context->device_count; d++)
        rt_pool_free(context->device[d].pool);
    arena_release(&context->input);
    arena_release(&context->output);
    openblas_set_num_threads(context->blas_threads);
    free(context);
}

/* A guest of two processors is told of the last-level cache of all those that the host has: buffers of many
 * times that take minutes to fill. ROOFTILE_CPU_CACHE_MIB says what is to count instead. */
static int read_given_cache(struct cpu_context *context)
{
    const char *text = getenv("ROOFTILE_CPU_CACHE_MIB");
    int64_t mib;
    if (text == NULL)
        return RT_OK;
    if (rt_parse_integer(text, strlen(text), &mib) != 0 || mib < 1 || mib > 1 << 20)
        return rt_fail(RT_EUSAGE,
                       "ROOFTILE_CPU_CACHE_MIB is \"%s\": give the last-level cache as a whole number of "
                       "MiB, or unset it",
                       text);
    context->machine.cache_bytes = (size_t)mib << 20;
    context->cache_given = true;
    return RT_OK;
}

static int cpu_open(const struct rt_backend_options *options, void **out)
{
#ifdef ROOFTILE_STANDALONE
    return rt_fail(RT_ENOTFOUND,
                   "this build has plain loops in place of OpenBLAS, whose times would say nothing of this "
                   "CPU; measure with rooftile's Debian package or a build of its source");
#endif
    struct cpu_context *context = rt_calloc(1, sizeof *context);
    rt_cpu_machine_read(&context->machine);
    rt_rapl_open(&context->rapl);
    context->seed = options->seed;
    context->limit_bytes = context->machine.memory_bytes / 4;
    context->blas_threads = openblas_get_num_threads();
    openblas_set_num_threads(1);
    int status = read_given_cache(context);
    context->rotate_bytes = ROTATED_CACHES * context->machine.cache_bytes;
    if (status == RT_OK)
        status = add_devices(context, options->devices != NULL ? options->devices : "1,all");
    if (status == RT_OK && options->faults != NULL)
        status = rt_fail(RT_EUSAGE,
                         "{faults} is for the synthetic backend; the cpu backend measures real kernels");
    if (status == RT_OK && options->sm_shares != NULL)
        status = rt_fail(RT_EUSAGE, "{sm_share} is for GPUs; of the cpu backend, {device} names threads");
    for (size_t d = 0; d < context->device_count && status == RT_OK; d++)
        status = rt_pool_new(context->device[d].threads, &context->device[d].pool);
    if (status != RT_OK) {
        cpu_close(context);
        return status;
    }
    *out = context;
    return RT_OK;
}

static size_t cpu_device_count(void *opaque)
{
    return ((struct cpu_context *)opaque)->device_count;
}

static const char *cpu_device_name(void *opaque, size_t device)
{
    return ((struct cpu_context *)opaque)->device[device].name;
}

/* ---- the peaks ---- */

struct probe {
    float *a;
    const float *b, *c;
    int m, n, k;
    size_t count;
};

/* Every tile is one sgemm of its own output; the inputs are shared. */
static void probe_sgemm(const void *job, size_t tile)
{
    const struct probe *p = job;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p->m, p->n, p->k, 1, p->b, p->k, p->c, p->n, 0,
                p->a + tile * (size_t)p->m * (size_t)p->n, p->n);
}

static void probe_triad(const void *job, size_t tile)
{
    const struct probe *p = job;
    size_t first = tile * TRIAD_CHUNK, left = p->count - first;
    rt_cpu_triad(p->a + first, p->b + first, p->c + first, 1.25f, left < TRIAD_CHUNK ? left : TRIAD_CHUNK);
}

/* Shortest of many runs: at least 5 and 0.15 s of them. */
static double best_seconds(struct rt_pool *pool, rt_pool_tile tile, const struct probe *probe, size_t tiles)
{
    double best = INFINITY, start = rt_clock(), before = start;
    for (int i = 0; i < 5 || before - start < 0.15; i++) {
        rt_pool_run(pool, tile, probe, tiles);
        double after = rt_clock();
        best = after - before < best ? after - before : best;
        before = after;
    }
    return best;
}

static int probe_peak(struct cpu_context *context, const struct cpu_device *device, double *tflops)
{
    static const int sizes[][3] = {{256, 256, 512}, {256, 256, 2048}, {768, 768, 768}, {1024, 1024, 1024}};
    size_t tiles = (size_t)device->threads, edge = 1024 * 1024;
    *tflops = 0;
    if (!arena_reserve(&context->input, 2 * edge, context->seed) ||
        !arena_reserve(&context->output, tiles * edge, ~context->seed))
        return rt_fail(RT_EIO, "%s: no memory to measure its peak with; free some", device->name);
    for (size_t s = 0; s < RT_COUNT(sizes); s++) {
        struct probe probe = {.a = context->output.base,
                              .b = context->input.base,
                              .c = context->input.base + edge,
                              .m = sizes[s][0],
                              .n = sizes[s][1],
                              .k = sizes[s][2]};
        double flops = 2.0 * probe.m * probe.n * probe.k * (double)tiles;
        double rate = flops / best_seconds(device->pool, probe_sgemm, &probe, tiles);
        *tflops = fmax(*tflops, 1e-12 * rate);
    }
    return RT_OK;
}

static int probe_bandwidth(struct cpu_context *context, const struct cpu_device *device, double *gbs)
{
    double bytes =
        fmin((double)TRIAD_CACHES * (double)context->machine.cache_bytes, context->limit_bytes / 4);
    size_t count = (size_t)bytes / sizeof(float);
    if (!arena_reserve(&context->input, 2 * count, context->seed) ||
        !arena_reserve(&context->output, count, ~context->seed))
        return rt_fail(RT_EIO, "%s: no memory to measure its bandwidth with; free some", device->name);
    struct probe probe = {.a = context->output.base,
                          .b = context->input.base,
                          .c = context->input.base + count,
                          .count = count};
    size_t tiles = (count + TRIAD_CHUNK - 1) / TRIAD_CHUNK;
    *gbs = 1e-9 * 3 * sizeof(float) * (double)count / best_seconds(device->pool, probe_triad, &probe, tiles);
    return RT_OK;
}

static int cpu_describe(void *opaque, size_t which, struct rt_device *out)
{
    struct cpu_context *context = opaque;
    const struct cpu_device *device = &context->device[which];
    struct rt_device described;
    rt_device_init(&described, device->name);
    strcpy(described.vendor, context->machine.vendor);
    strcpy(described.architecture, context->machine.architecture);
    described.sms = device->threads;
    described.clock_mhz = context->machine.clock_mhz;
    described.memory_gib = context->machine.memory_bytes * 0x1p-30;
    described.l2_mib = (double)context->machine.cache_bytes * 0x1p-20;
    int status = probe_peak(context, device, &described.fp32_vector_tflops);
    if (status == RT_OK)
        status = probe_bandwidth(context, device, &described.bandwidth_gbs);
    if (status == RT_OK)
        *out = described;
    return status;
}

static void cpu_facts(void *opaque, size_t which, rt_fact_visit visit, void *to)
{
    const struct cpu_context *context = opaque;
    char text[256];
    snprintf(text, sizeof text, "%d", context->device[which].threads);
    visit(to, "threads", text);
    snprintf(text, sizeof text,
             "operands of cold runs rotated through %zu MiB, %d times the last-level cache",
             context->rotate_bytes >> 20, ROTATED_CACHES);
    visit(to, "buffers", text);
    visit(to, "operand_values", "uniform in 0.5..1.5");
    visit(to, "fp32_vector_tflops_source",
          RT_PROBED "many sgemm calls on all threads at once, before and after the kernels");
    visit(to, "bandwidth_gbs_source",
          RT_PROBED "many triads, 12 bytes an element counted, before and after the kernels");
    visit(to, "clock_mhz_source",
          RT_PROBED "the clocks that the system reported"); /* some report the current one */
    visit(to, "l2_mib_source",
          context->cache_given           ? "last-level cache as ROOFTILE_CPU_CACHE_MIB gives it"
          : context->machine.cache_known ? "last-level cache as the system reports it"
                                         : "assumed: the system does not report its last-level cache");
    visit(
        to, "tiling",
        "products 128x128, rows about 16384 elements, elementwise 4096 of a row; threads take tiles in turn");
    visit(to, "timer", "clock_gettime CLOCK_MONOTONIC around a batch of runs");
    if (context->rapl.count > 0) {
        snprintf(text, sizeof text, "RAPL, %zu package%s of the machine, idle part included",
                 context->rapl.count, context->rapl.count == 1 ? "" : "s");
        visit(to, "energy_counter", text);
    }
    visit(to, "openblas", openblas_get_config());
    visit(to, "openblas_core", openblas_get_corename());
}

static double cpu_clock(void *opaque)
{
    (void)opaque;
    return rt_clock();
}

static void cpu_pause(void *opaque, double seconds)
{
    (void)opaque;
    struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};
    nanosleep(&time, NULL); /* Ctrl-C ends it */
}

/* One thread and all threads are the same cores. */
static size_t cpu_lane(void *opaque, size_t device)
{
    (void)opaque;
    (void)device;
    return 0;
}

/* ---- kernels ---- */

static bool cpu_can(const struct rt_task *task)
{
    return task->call.dtype == RT_FP32 && task->call.phase == RT_FORWARD && task->variant == RT_PLAIN &&
           rt_cpu_kernel(task->call.op) != NULL &&
           (task->call.op != RT_OP_CONV2D || rt_cpu_conv_can(task->call.dim));
}

/* Each operand starts on a cache line of its own. */
static size_t padded(size_t count)
{
    return (count + 15) / 16 * 16;
}

/* Rotated sets of operands, as many as make up rotate_bytes and fit the limit. */
static size_t choose_sets(const struct cpu_context *context, double bytes)
{
    double wanted = ceil((double)context->rotate_bytes / bytes), most = floor(context->limit_bytes / bytes);
    return (size_t)fmax(1, fmin(wanted, most));
}

/* Why a shape cannot run on this machine, NULL where it can. Counts are checked as doubles, before any
 * product of dims is made in integers. */
static const char *refuse(const struct cpu_context *context, const struct rt_task *task)
{
    if (!cpu_can(task))
        return "not supported";
    if (rt_call_bytes(&task->call) > context->limit_bytes)
        return "out of memory";
    for (int i = 0; rt_ops[task->call.op].dims[i] != NULL; i++)
        if (task->call.dim[i] > INT_MAX / RT_CPU_TILE_EDGE)
            return "too long for the library's 32-bit sizes";
    return NULL;
}

static bool place_operands(struct cpu_context *context, struct cpu_work *work)
{
    const struct rt_cpu_call *call = &work->job.call;
    for (int i = 0; i < RT_CPU_INPUTS; i++) {
        work->input_offset[i] = work->input_stride;
        work->input_stride += padded(call->input_count[i]);
    }
    work->output_stride = padded(call->output_count);
    double bytes = (double)(work->input_stride + work->output_stride) * sizeof(float);
    work->sets = choose_sets(context, bytes);
    return arena_reserve(&context->input, work->sets * work->input_stride, context->seed) &&
           arena_reserve(&context->output, work->sets * work->output_stride, ~context->seed);
}

static int cpu_prepare(void *opaque, size_t which, const struct rt_task *task, struct rt_launch_config *ran,
                       void **out, const char **refused)
{
    struct cpu_context *context = opaque;
    const struct rt_cpu_kernel *kernel = rt_cpu_kernel(task->call.op);
    *out = NULL;
    *refused = refuse(context, task);
    if (*refused != NULL)
        return RT_OK;
    struct cpu_work *work = rt_calloc(1, sizeof *work);
    work->pool = context->device[which].pool;
    work->input = &context->input;
    work->output = &context->output;
    work->job.tile = kernel->tile;
    kernel->shape(kernel, task->call.dim, &work->job.call);
    if (!place_operands(context, work)) {
        free(work);
        *refused = "out of memory";
        return RT_OK;
    }
    bool product =
        rt_families[rt_call_family(&task->call)].product || rt_call_family(&task->call) == RT_FAMILY_CONV;
    int64_t rows = work->job.call.tile_m, columns = work->job.call.tile_n;
    *ran = (struct rt_launch_config){
        .name = kernel->name,
        .tile = {(int32_t)(product ? rows : rows * columns), product ? (int32_t)columns : -1, -1},
        .grid = {(int32_t)work->job.call.tiles, 1, 1},
        .block = {1, 1, 1}};
    *out = work;
    return RT_OK;
}

static void run_tile(const void *opaque, size_t tile)
{
    const struct job *job = opaque;
    job->tile(&job->call, tile);
}

static void run_once(struct cpu_work *work, uint64_t turn)
{
    size_t set = (size_t)(turn % work->sets);
    struct rt_cpu_call *call = &work->job.call;
    for (int i = 0; i < RT_CPU_INPUTS; i++)
        call->input[i] = work->input->base + set * work->input_stride + work->input_offset[i];
    call->output = work->output->base + set * work->output_stride;
    rt_pool_run(work->pool, run_tile, &work->job, call->tiles);
}

static int cpu_time(void *opaque, void *work, const struct rt_batch *batch, double *us)
{
    (void)opaque;
    for (size_t b = 0; b < batch->batches; b++) {
        double start = rt_clock();
        for (uint64_t r = 0; r < batch->runs; r++)
            run_once(work, batch->warm ? 0 : batch->first + b * batch->runs + r);
        us[b] = 1e6 * (rt_clock() - start);
    }
    return RT_OK;
}

/* Cold runs, one after the other, between two readings. The counters move every millisecond, which is a
 * five-hundredth of what is measured. */
static int cpu_energy(void *opaque, void *work, double seconds, double *mj, const char **missing)
{
    struct cpu_context *context = opaque;
    double start = rt_clock();
    uint64_t runs = 0;
    *mj = rt_rapl_taken_mj(&context->rapl);
    for (; !isnan(*mj) && (runs == 0 || rt_clock() - start < seconds); runs++)
        run_once(work, runs);
    if (runs > 0)
        *mj = rt_rapl_taken_mj(&context->rapl) / (double)runs;
    if (*mj == 0)
        *mj = NAN;
    *missing = context->rapl.missing[0] != '\0' ? context->rapl.missing : "its RAPL counter does not count";
    return RT_OK;
}

/* Throttling of a CPU cannot be read portably; the spread of the times shows it. */
static void cpu_health(void *opaque, void *work, struct rt_health *out)
{
    (void)opaque;
    (void)work;
    *out = (struct rt_health){0, NAN, NAN, NAN, NULL};
}

static void cpu_finish(void *opaque, void *work)
{
    (void)opaque;
    free(work);
}

const struct rt_backend rt_backend_cpu = {
    .name = "cpu",
    .about = "OpenBLAS and plain loops on this machine",
    .measures_peaks = true,
    .most_batches = 1,
    .can = cpu_can,
    .open = cpu_open,
    .close = cpu_close,
    .device_count = cpu_device_count,
    .device_name = cpu_device_name,
    .describe = cpu_describe,
    .facts = cpu_facts,
    .clock = cpu_clock,
    .pause = cpu_pause,
    .lane = cpu_lane,
    .prepare = cpu_prepare,
    .time = cpu_time,
    .energy = cpu_energy,
    .health = cpu_health,
    .finish = cpu_finish,
    .many_works = true,
};
