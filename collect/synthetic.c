/*
 * The synthetic backend: two simulated devices, whose kernels take the time of a wave-quantised roofline
 * times seeded noise. It tests everything around measuring, on any machine and without waiting: its clock
 * advances only by simulated time. Every sample carries RT_FLAG_SYNTHETIC and every device name begins with
 * "synthetic".
 *
 * --faults gives the shares of shapes that fail in some way; which shapes these are follows from the seed.
 *
 *     oom       out of memory
 *     noise     times scatter by 50%
 *     throttle  throttled: half of them until they have cooled once or twice, half always
 *     lost      the device is lost
 *     hang      the worker sleeps until it is killed
 *     crash     the worker crashes
 *     slow=5    no share: every kernel takes 5 ms of real time more
 *     drift=0.1 no share: kernels take longer by a tenth of their time with each simulated second
 *
 * --sm-share 25,100 makes a device of each share of SMs of each device: "synthetic large (20 of 80 SMs)", in
 * the lane of the device that it shares.
 */
#include "collect/backend.h"
#include "base/status.h"
#include "base/strings.h"
#include "datasets/share.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum fault {
    FAULT_OOM,
    FAULT_NOISE,
    FAULT_THROTTLE,
    FAULT_LOST,
    FAULT_HANG,
    FAULT_CRASH,
    FAULT_SLOW,
    FAULT_DRIFT,
    FAULT_COUNT
};
static const struct {
    const char *name;
    double most;
    uint64_t salt; /* of the hash that decides for a shape */
} faults[FAULT_COUNT] = {
    [FAULT_OOM] = {"oom", 1, 0},           [FAULT_NOISE] = {"noise", 1, 1},
    [FAULT_THROTTLE] = {"throttle", 1, 2}, [FAULT_LOST] = {"lost", 1, 3},
    [FAULT_HANG] = {"hang", 1, ~0u},       [FAULT_CRASH] = {"crash", 1, ~1u},
    [FAULT_SLOW] = {"slow", 60000, ~2u}, /* ms */
    [FAULT_DRIFT] = {"drift", 10, ~3u} /* of its time, by which a kernel takes longer a simulated second later
                                        */
};
enum { SALT_ENERGY = -3, SALT_SCATTER = 4 }; /* the latter plus the number of the batch */
static const double WARM_SHARE = 0.8;        /* of the time of a cold run */
static const double THROTTLED = 1.25;        /* times the time of a run at full clock */
static const double ENERGY_SCATTER = 0.02;   /* of energy, 1% up and down */
enum { SHARES = 8 };

/* Operands come from memory, so the L2 is small. Energy is a roofline of energy (Choi et al., IPDPS 2013):
 * so much a FLOP, so much a byte, and `static_w` while anything runs, at most the board's power. */
static const struct machine {
    const char *name, *choice;
    double sms, tflops, bandwidth_gbs, memory_gib, l2_mib, clock_mhz;
    double flop_pj, byte_pj, static_w, power_w;
} machines[] = {
    {"synthetic small", "small", 8, 4, 100, 4, 2, 1000, 8, 60, 20, 75},
    {"synthetic large", "large", 80, 40, 900, 32, 4, 1500, 5, 40, 80, 300},
};

/* A machine, or a share of it. */
struct synthetic_device {
    struct machine machine; /* scaled to the share */
    char name[96];
    size_t lane;
};

struct synthetic_context {
    struct synthetic_device device[RT_COUNT(machines) * SHARES];
    size_t device_count;
    const struct machine *chosen[RT_COUNT(machines)];
    size_t chosen_count;
    int share[SHARES]; /* percent */
    size_t share_count;
    double fault[FAULT_COUNT];
    uint64_t seed;
    double now; /* simulated seconds */
};

struct synthetic_work {
    uint64_t hash;
    double us, scatter;
    double mj; /* of a run at full clock */
    double clock_mhz;
    int throttled; /* calls of `health` that report it throttled */
    bool lost, hangs, crashes;
};

static double uniform(uint64_t hash, uint64_t salt)
{
    hash += (salt + 1) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    hash ^= hash >> 31;
    return (double)(hash >> 11) * 0x1p-53;
}

/* The comma-separated parts of `list`, one call each; stops at the first failure. */
static int each_part(struct synthetic_context *context, const char *list,
                     int (*part)(struct synthetic_context *context, const char *text, size_t length))
{
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        int status = part(context, at, length);
        if (status != RT_OK)
            return status;
        at += length;
        if (*at == '\0')
            return RT_OK;
    }
}

static int add_fault(struct synthetic_context *context, const char *text, size_t length)
{
    for (int f = 0; f < FAULT_COUNT; f++) {
        size_t name = strlen(faults[f].name);
        double share;
        if (length > name && strncmp(text, faults[f].name, name) == 0 && text[name] == '=' &&
            rt_parse_real(text + name + 1, length - name - 1, &share) == 0 && share >= 0 &&
            share <= faults[f].most) {
            context->fault[f] = share;
            return RT_OK;
        }
    }
    return rt_fail(RT_EUSAGE,
                   "{faults}: \"%.*s\" is no fault; give oom, noise, throttle, lost, hang or crash with a "
                   "share, such as oom=0.05, slow with milliseconds, or drift",
                   (int)length, text);
}

static int add_machine(struct synthetic_context *context, const char *text, size_t length)
{
    for (size_t m = 0; m < RT_COUNT(machines); m++) {
        if (strlen(machines[m].choice) != length || strncmp(machines[m].choice, text, length) != 0)
            continue;
        for (size_t d = 0; d < context->chosen_count; d++)
            if (context->chosen[d] == &machines[m])
                return RT_OK;
        context->chosen[context->chosen_count++] = &machines[m];
        return RT_OK;
    }
    return rt_fail(RT_EUSAGE, "{device} %.*s is no synthetic device; give small, large or both", (int)length,
                   text);
}

static int add_share(struct synthetic_context *context, const char *text, size_t length)
{
    int64_t percent;
    if (rt_parse_integer(text, length, &percent) != 0 || percent < 1 || percent > 100)
        return rt_fail(RT_EUSAGE,
                       "{sm_share}: \"%.*s\" is no share; give percents of the SMs, such as 25,50,100",
                       (int)length, text);
    for (size_t s = 0; s < context->share_count; s++)
        if (context->share[s] == (int)percent)
            return RT_OK;
    if (context->share_count == SHARES)
        return rt_fail(RT_EUSAGE, "{sm_share} names more than %d shares; measure the others in another run",
                       SHARES);
    context->share[context->share_count++] = (int)percent;
    return RT_OK;
}

/* Half of the SMs suffice for all of the bandwidth. */
static void add_device(struct synthetic_context *context, size_t lane, int percent)
{
    struct synthetic_device *device = &context->device[context->device_count];
    const struct machine *whole = context->chosen[lane];
    double sms = fmax(1, floor(whole->sms * percent / 100)), share = sms / whole->sms;
    *device = (struct synthetic_device){.machine = *whole, .lane = lane};
    device->machine.sms = sms;
    device->machine.tflops *= share;
    device->machine.bandwidth_gbs *= fmin(1, 2 * share);
    if (sms < whole->sms)
        snprintf(device->name, sizeof device->name, RT_SHARE_NAME, whole->name, sms, whole->sms);
    else
        snprintf(device->name, sizeof device->name, "%s", whole->name);
    for (size_t d = 0; d < context->device_count; d++)
        if (strcmp(context->device[d].name, device->name) == 0)
            return; /* two shares may round to the same number of SMs */
    context->device_count++;
}

static void synthetic_close(void *context)
{
    free(context);
}

static int synthetic_open(const struct rt_backend_options *options, void **out)
{
    struct synthetic_context *context = rt_calloc(1, sizeof *context);
    context->seed = options->seed;
    int status = each_part(context, options->devices != NULL ? options->devices : "small,large", add_machine);
    if (status == RT_OK && options->faults != NULL)
        status = each_part(context, options->faults, add_fault);
    if (status == RT_OK)
        status = each_part(context, options->sm_shares != NULL ? options->sm_shares : "100", add_share);
    if (status != RT_OK) {
        free(context);
        return status;
    }
    for (size_t m = 0; m < context->chosen_count; m++)
        for (size_t s = 0; s < context->share_count; s++)
            add_device(context, m, context->share[s]);
    *out = context;
    return RT_OK;
}

static size_t synthetic_device_count(void *opaque)
{
    return ((struct synthetic_context *)opaque)->device_count;
}

static const char *synthetic_device_name(void *opaque, size_t device)
{
    return ((struct synthetic_context *)opaque)->device[device].name;
}

static int synthetic_describe(void *opaque, size_t which, struct rt_device *out)
{
    const struct synthetic_device *device = &((struct synthetic_context *)opaque)->device[which];
    rt_device_init(out, device->name);
    strcpy(out->vendor, "none");
    strcpy(out->architecture, "synthetic");
    out->sms = device->machine.sms;
    out->clock_mhz = device->machine.clock_mhz;
    out->fp32_vector_tflops = device->machine.tflops;
    out->memory_gib = device->machine.memory_gib;
    out->bandwidth_gbs = device->machine.bandwidth_gbs;
    out->l2_mib = device->machine.l2_mib;
    out->power_w = device->machine.power_w;
    return RT_OK;
}

static void synthetic_facts(void *opaque, size_t which, rt_fact_visit visit, void *to)
{
    (void)opaque;
    (void)which;
    visit(to, "synthetic", "not a measurement: rooflines of time and energy, waves, seeded noise");
}

static double synthetic_clock(void *opaque)
{
    return ((struct synthetic_context *)opaque)->now;
}

static void synthetic_pause(void *opaque, double seconds)
{
    ((struct synthetic_context *)opaque)->now += seconds;
}

static size_t synthetic_lane(void *opaque, size_t device)
{
    return ((struct synthetic_context *)opaque)->device[device].lane;
}

static bool synthetic_can(const struct rt_task *task)
{
    switch (rt_call_family(&task->call)) {
    case RT_FAMILY_BMM:
    case RT_FAMILY_LINEAR:
    case RT_FAMILY_ELEMENTWISE:
    case RT_FAMILY_SOFTMAX:
    case RT_FAMILY_LAYERNORM:
    case RT_FAMILY_MEMORY:
        return rt_op_ndims(task->call.op) >= 2 && task->call.op != RT_OP_BATCHNORM &&
               task->call.op != RT_OP_MAX_POOL2D && task->call.dtype == RT_FP32 &&
               task->call.phase == rt_op_own_phase(task->call.op) && task->variant == RT_PLAIN;
    default:
        return false;
    }
}

/* Outputs of an op as rows and columns, and how many such matrices. */
static void output_of(const struct rt_task *task, double out[3])
{
    bool batched = task->call.op == RT_OP_BMM || task->call.op == RT_OP_LINEAR;
    out[0] = (double)task->call.dim[batched ? 1 : 0];
    out[1] = (double)task->call.dim[batched ? 2 : 1];
    out[2] = batched ? (double)task->call.dim[0] : 1;
}

/* 128 x 128 tiles of products, 4096 elements of anything else; a partial wave costs a whole one. */
static double lay_tiles(const struct machine *machine, const struct rt_task *task,
                        struct rt_launch_config *kernel)
{
    double out[3], tiles;
    output_of(task, out);
    bool product = rt_families[rt_call_family(&task->call)].product;
    *kernel =
        (struct rt_launch_config){.name = product ? "synthetic_product_128x128" : "synthetic_vector_4096",
                                  .tile = {product ? 128 : 4096, product ? 128 : -1, -1},
                                  .grid = {1, 1, 1},
                                  .block = {256, 1, 1}};
    if (product)
        tiles = out[2] * ceil(out[0] / 128) * ceil(out[1] / 128);
    else
        tiles = ceil(out[0] * out[1] / 4096);
    kernel->grid[0] = (int32_t)fmin(tiles, INT32_MAX);
    double flops = rt_call_flops(&task->call) / (1e6 * machine->tflops);
    double bytes = rt_call_bytes(&task->call) / (1e3 * machine->bandwidth_gbs);
    double waves = ceil(tiles / machine->sms) / (tiles / machine->sms);
    return 2 + fmax(flops * fmin(waves, machine->sms), bytes) * 1.1; /* us; 2 for the launch */
}

/* mJ of a kernel that takes `us`: pJ and W x us to mJ. */
static double energy_of(const struct machine *machine, const struct rt_task *task, double us)
{
    double moved =
        machine->flop_pj * rt_call_flops(&task->call) + machine->byte_pj * rt_call_bytes(&task->call);
    return fmin(1e-9 * moved + 1e-3 * machine->static_w * us, 1e-3 * machine->power_w * us);
}

static bool has_fault(const struct synthetic_context *context, uint64_t hash, enum fault fault)
{
    return uniform(hash, faults[fault].salt) < context->fault[fault];
}

static void take_real_time(double ms)
{
    struct timespec time = {(time_t)(ms / 1e3), (long)(1e6 * fmod(ms, 1e3))};
    if (ms > 0)
        nanosleep(&time, NULL);
}

static int synthetic_prepare(void *opaque, size_t which, const struct rt_task *task,
                             struct rt_launch_config *kernel, void **out, const char **refused)
{
    const struct synthetic_context *context = opaque;
    const struct synthetic_device *device = &context->device[which];
    uint64_t hash = rt_hash(rt_task_hash(RT_HASH_START, task), &context->seed, sizeof context->seed);
    take_real_time(context->fault[FAULT_SLOW]);
    *out = NULL;
    *refused = NULL;
    if (!synthetic_can(task))
        *refused = "not supported";
    else if (has_fault(context, hash, FAULT_OOM) ||
             rt_call_bytes(&task->call) > device->machine.memory_gib * 0x1p30)
        *refused = "out of memory";
    if (*refused != NULL)
        return RT_OK;
    struct synthetic_work *work = rt_calloc(1, sizeof *work);
    work->us = lay_tiles(&device->machine, task, kernel);
    work->mj = energy_of(&device->machine, task, work->us);
    work->hash = rt_hash(hash, device->name, strlen(device->name));
    work->scatter = has_fault(context, hash, FAULT_NOISE) ? 0.5 : 0.005;
    if (has_fault(context, hash, FAULT_THROTTLE)) /* 1 or 2 times, or always */
        work->throttled = work->hash & 1 ? INT_MAX : 1 + (int)(work->hash >> 1 & 1);
    work->clock_mhz = device->machine.clock_mhz;
    work->lost = has_fault(context, hash, FAULT_LOST);
    work->hangs = has_fault(context, hash, FAULT_HANG);
    work->crashes = has_fault(context, hash, FAULT_CRASH);
    *out = work;
    return RT_OK;
}

/* As a driver would, but without a core dump, and not caught by a sanitizer. */
static void crash(void)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

static int synthetic_time(void *opaque, void *opaque_work, const struct rt_batch *batch, double *us)
{
    struct synthetic_context *context = opaque;
    const struct synthetic_work *work = opaque_work;
    if (work->lost)
        return rt_fail(RT_EIO, "the synthetic device was lost, as {faults} asked");
    if (work->crashes)
        crash();
    while (work->hangs)
        pause();
    for (size_t b = 0; b < batch->batches; b++) {
        uint64_t first = batch->first + b * batch->runs;
        double factor = 1 + work->scatter * (uniform(work->hash, SALT_SCATTER + first) - 0.5);
        factor *= (batch->warm ? WARM_SHARE : 1) * (work->throttled > 0 ? THROTTLED : 1);
        factor *= 1 + context->fault[FAULT_DRIFT] * context->now;
        us[b] = work->us * (double)batch->runs * factor;
        context->now += 1e-6 * us[b];
    }
    return RT_OK;
}

static int synthetic_energy(void *opaque, void *opaque_work, double seconds, double *mj, const char **missing)
{
    struct synthetic_context *context = opaque;
    const struct synthetic_work *work = opaque_work;
    context->now += seconds;
    *mj = work->mj * (1 + ENERGY_SCATTER * (uniform(work->hash, (uint64_t)SALT_ENERGY) - 0.5));
    *missing = NULL;
    return RT_OK;
}

static void synthetic_health(void *opaque, void *opaque_work, struct rt_health *out)
{
    (void)opaque;
    struct synthetic_work *work = opaque_work;
    bool throttled = work->throttled > 0;
    *out = (struct rt_health){.flags = throttled ? RT_FLAG_THROTTLED : 0,
                              .sm_clock_mhz = work->clock_mhz / (throttled ? THROTTLED : 1),
                              .temperature_c = 40,
                              .power_w = NAN,
                              .throttle = throttled ? "as asked for" : NULL};
    if (throttled && work->throttled != INT_MAX)
        work->throttled--;
}

static void synthetic_finish(void *opaque, void *work)
{
    (void)opaque;
    free(work);
}

/* clang-format off */
const struct rt_backend rt_backend_synthetic = {
    .name = "synthetic", .about = "simulated devices, for tests; samples are marked",
    .flags = RT_FLAG_SYNTHETIC, .can = synthetic_can, .open = synthetic_open, .close = synthetic_close,
    .device_count = synthetic_device_count, .device_name = synthetic_device_name,
    .describe = synthetic_describe, .facts = synthetic_facts, .clock = synthetic_clock,
    .pause = synthetic_pause, .lane = synthetic_lane, .warm_too = true, .most_batches = 1,
    .prepare = synthetic_prepare, .time = synthetic_time, .energy = synthetic_energy,
    .health = synthetic_health, .finish = synthetic_finish, .many_works = true,
};
/* clang-format on */
