/* The CUDA backend over stand-ins for NVIDIA's driver and NVML (fake_cuda/). */
#include "datasets/share.h"
#include "test.h"

#ifdef RT_FAKE_CUDA

#include "collect/backend.h"
#include "collect/cuda/device.h"
#include "collect/cuda/nvml.h"
#include "tests/collect/fake_cuda/driver.h"

#include <dlfcn.h>
#include <math.h>

extern const struct rt_backend rt_backend_cuda;
static const struct rt_backend *const cuda = &rt_backend_cuda;

static void use_fakes(void)
{
    setenv("ROOFTILE_CUDA_DRIVER", RT_FAKE_CUDA "/driver.so", 1);
    setenv("ROOFTILE_NVML", RT_FAKE_CUDA "/nvml.so", 1);
    setenv("ROOFTILE_CUPTI", "/nonexistent", 1);
    setenv("ROOFTILE_CUBLASLT", "/nonexistent", 1);
    setenv("ROOFTILE_CUDNN", "/nonexistent", 1);
}

static void *fake(const char *symbol)
{
    void *library = dlopen(RT_FAKE_CUDA "/driver.so", RTLD_NOW);
    return library != NULL ? dlsym(library, symbol) : NULL;
}

static size_t ran(const struct fake_ran **runs)
{
    return ((fake_cuda_log_function *)fake("fake_cuda_log"))(runs);
}

static void forget(void)
{
    ((fake_cuda_forget_function *)fake("fake_cuda_forget"))();
}

static int count_of(const char *symbol)
{
    return ((fake_cuda_count_function *)fake(symbol))();
}

static void *open_with(const char *devices, const char *shares)
{
    struct rt_backend_options options = {.devices = devices, .sm_shares = shares, .seed = 3};
    void *context = NULL;
    use_fakes();
    RT_ASSERT_OK(cuda->open(&options, &context));
    return context;
}

static struct rt_task task_of(enum rt_op_id op, enum rt_variant variant, int64_t first, int64_t second)
{
    struct rt_task task;
    rt_task_init(&task, op, RT_FP32);
    task.variant = (uint8_t)variant;
    task.call.dim[0] = first;
    if (second > 0)
        task.call.dim[1] = second;
    return task;
}

static void *ready(void *context, size_t device, struct rt_task task)
{
    struct rt_launch_config kernel;
    void *work = NULL;
    const char *refused = NULL;
    RT_ASSERT_OK(cuda->prepare(context, device, &task, &kernel, &work, &refused));
    if (refused != NULL)
        printf("# refused: %s\n", refused);
    CU_ASSERT_PTR_NULL_FATAL(refused);
    CU_ASSERT_PTR_NOT_NULL_FATAL(work);
    CU_ASSERT_PTR_NOT_NULL(kernel.name);
    return work;
}

static size_t count_ran(const char *name)
{
    const struct fake_ran *runs;
    size_t count = ran(&runs), found = 0;
    for (size_t i = 0; i < count; i++)
        found += strcmp(runs[i].name, name) == 0;
    return found;
}

/* ---- missing drivers; first, since a driver stays open ---- */

static void open_fails(const char *words)
{
    struct rt_backend_options options = {0};
    void *context;
    RT_ASSERT_FAILS(cuda->open(&options, &context), RT_ENOTFOUND, words);
    RT_ASSERT_FAILS(cuda->open(&options, &context), RT_ENOTFOUND, "no CUDA device");
}

static void test_no_driver(void)
{
    setenv("ROOFTILE_CUDA_DRIVER", "/nonexistent", 1);
    open_fails("/nonexistent");
}

static void test_driver_without_device(void)
{
    use_fakes();
    setenv("FAKE_CUDA_INIT", "100", 1);
    open_fails("finds no GPU");
    setenv("FAKE_CUDA_INIT", "803", 1);
    open_fails("different versions");
    setenv("FAKE_CUDA_INIT", "999", 1);
    open_fails("CUDA_ERROR_UNKNOWN");
    unsetenv("FAKE_CUDA_INIT");
    setenv("FAKE_CUDA_DEVICES", "0", 1);
    open_fails("finds no GPU");
    unsetenv("FAKE_CUDA_DEVICES");
}

/* ---- devices ---- */

static void test_devices_are_listed_without_a_context(void)
{
    void *context = open_with(NULL, NULL);
    CU_ASSERT_EQUAL(cuda->device_count(context), 2);
    CU_ASSERT_STRING_EQUAL(cuda->device_name(context, 1), "synthetic fake GPU");
    CU_ASSERT_EQUAL(cuda->lane(context, 0), 0);
    CU_ASSERT_EQUAL(cuda->lane(context, 1), 1);
    struct rt_device device;
    RT_ASSERT_OK(cuda->describe(context, 0, &device));
    CU_ASSERT_EQUAL(device.sms, 40);
    RT_ASSERT_NEAR(device.bandwidth_gbs, 1024, 1e-9);
    RT_ASSERT_NEAR(device.fp32_vector_tflops, 40 * 256 * 1.5e-3, 1e-9);
    RT_ASSERT_NEAR(device.bf16_matrix_tflops, 40 * 4096 * 1.5e-3, 1e-9);
    CU_ASSERT_STRING_EQUAL(device.compute_capability, "9.0");
    CU_ASSERT_EQUAL(count_of("fake_cuda_contexts"), 0);
    cuda->close(context);
}

static void test_device_choice(void)
{
    void *context = open_with("1", NULL);
    CU_ASSERT_EQUAL(cuda->device_count(context), 1);
    cuda->close(context);
    struct rt_backend_options two = {.devices = "2"}, word = {.devices = "0,x"}, share = {.sm_shares = "0"},
                              faults = {.faults = "oom=1"};
    RT_ASSERT_FAILS(cuda->open(&two, &context), RT_EUSAGE, "device 2 is no GPU here");
    RT_ASSERT_FAILS(cuda->open(&word, &context), RT_EUSAGE, "device x is no GPU here");
    RT_ASSERT_FAILS(cuda->open(&share, &context), RT_EUSAGE, "sm_share 0");
    RT_ASSERT_FAILS(cuda->open(&faults, &context), RT_EUSAGE, "faults is for the synthetic backend");
}

/* 25% of 40 SMs are 10, which the chip rounds to 16; 30% gives the same device. */
static void test_shares(void)
{
    void *context = open_with("0", "25,30,50,100");
    CU_ASSERT_EQUAL_FATAL(cuda->device_count(context), 3);
    CU_ASSERT_STRING_EQUAL(cuda->device_name(context, 0), "synthetic fake GPU (16 of 40 SMs)");
    CU_ASSERT_STRING_EQUAL(cuda->device_name(context, 1), "synthetic fake GPU (24 of 40 SMs)");
    CU_ASSERT_STRING_EQUAL(cuda->device_name(context, 2), "synthetic fake GPU");
    CU_ASSERT_EQUAL(cuda->lane(context, 0), cuda->lane(context, 2));
    struct rt_device share, whole;
    RT_ASSERT_OK(cuda->describe(context, 0, &share));
    RT_ASSERT_OK(cuda->describe(context, 2, &whole));
    CU_ASSERT_EQUAL(share.sms, 16);
    RT_ASSERT_NEAR(share.tf32_matrix_tflops, 0.4 * whole.tf32_matrix_tflops, 1e-9);
    RT_ASSERT_NEAR(share.bandwidth_gbs, fmin(whole.bandwidth_gbs, 16 * rt_share_sm_gbs(&whole)), 1e-9);
    CU_ASSERT_EQUAL(share.l2_mib, whole.l2_mib);
    for (size_t d = 0; d < 3; d++) { /* in turn, as the collector does */
        void *work = ready(context, d, task_of(RT_OP_ADD, RT_PLAIN, 64, 256));
        double us[2];
        forget();
        struct rt_batch batch = {.runs = 1, .batches = 2};
        RT_ASSERT_OK(cuda->time(context, work, &batch, us));
        const struct fake_ran *runs;
        size_t count = ran(&runs);
        for (size_t i = 0; i < count; i++)
            if (strncmp(runs[i].name, "rt_", 3) == 0)
                CU_ASSERT_EQUAL(runs[i].sms, d == 0 ? 16 : d == 1 ? 24 : 40);
        cuda->finish(context, work);
    }
    CU_ASSERT_EQUAL(count_of("fake_cuda_contexts"), 1);
    cuda->close(context);
    CU_ASSERT_EQUAL(count_of("fake_cuda_contexts"), 0);
    CU_ASSERT_EQUAL(count_of("fake_cuda_live"), 0);
}

static void test_slices_have_no_shares(void)
{
    struct rt_backend_options options = {.sm_shares = "50"};
    void *context;
    setenv("FAKE_CUDA_MIG", "1", 1);
    RT_ASSERT_FAILS(cuda->open(&options, &context), RT_ENOTFOUND, "MIG");
    context = open_with("0", NULL);
    void *work = ready(context, 0, task_of(RT_OP_ADD, RT_PLAIN, 64, 256));
    struct rt_health health;
    const char *missing = NULL;
    double mj = 1;
    cuda->health(context, work, &health);
    CU_ASSERT_TRUE(isnan(health.power_w)); /* the board's, not the slice's */
    RT_ASSERT_OK(cuda->energy(context, work, 0.01, &mj, &missing));
    CU_ASSERT_TRUE(isnan(mj));
    CU_ASSERT_STRING_EQUAL(missing, "a MIG slice has no energy counter of its own");
    cuda->finish(context, work);
    cuda->close(context);
    unsetenv("FAKE_CUDA_MIG");
}

/* A board of the catalogue, a share and a slice of it, and boards that the catalogue lacks. */
static void test_descriptions(void)
{
    struct rt_cuda_gpu_found found = {.name = "NVIDIA H200",
                                      .gpu = "NVIDIA H200",
                                      .sms = 132,
                                      .gpu_sms = 132,
                                      .capability = 90,
                                      .clock_khz = 1980000,
                                      .memory_clock_khz = 3201000,
                                      .bus_bits = 6144,
                                      .l2_bytes = 60 << 20,
                                      .memory_bytes = (size_t)140 << 30};
    struct rt_device catalogue, device;
    RT_ASSERT_OK(rt_device_named("NVIDIA H200", &catalogue));
    rt_cuda_describe(&found, &device);
    CU_ASSERT_TRUE(rt_device_same(&device, &catalogue));
    CU_ASSERT_EQUAL(device.bandwidth_gbs, 4800);
    CU_ASSERT_STRING_EQUAL(rt_cuda_peaks_source(&found), "catalogue");
    strcpy(found.name, "NVIDIA H200 (72 of 132 SMs)");
    found.sms = 72;
    rt_cuda_describe(&found, &device);
    CU_ASSERT_STRING_EQUAL(device.name, found.name);
    CU_ASSERT_EQUAL(device.sms, 72);
    RT_ASSERT_NEAR(device.fp8_matrix_tflops, catalogue.fp8_matrix_tflops * 72 / 132, 1e-9);
    CU_ASSERT_EQUAL(device.memory_gib, catalogue.memory_gib);
    strcpy(found.name, "NVIDIA H200 MIG 2g.35gb");
    strcpy(found.gpu, found.name);
    found.sms = found.gpu_sms = 32;
    found.memory_bytes = (size_t)35 << 30;
    rt_cuda_describe(&found, &device);
    CU_ASSERT_STRING_EQUAL(device.whole, "NVIDIA H200"); /* whose effects and calibrations hold for it */
    RT_ASSERT_NEAR(device.bandwidth_gbs, 1200, 1e-9);
    RT_ASSERT_NEAR(device.memory_gib, 32.5,
                   1e-9); /* the catalogue's, so that all datasets of a slice agree */
    RT_ASSERT_NEAR(device.bf16_matrix_tflops, catalogue.bf16_matrix_tflops * 32 / 132, 1e-9);
    strcpy(found.gpu, "NVIDIA GeForce RTX 9999");
    strcpy(found.name, found.gpu);
    found.capability = 86;
    rt_cuda_describe(&found, &device);
    RT_ASSERT_NEAR(device.fp16_matrix_tflops, 512 * 1.98e-3 * 32, 1e-9); /* GeForce: half */
    RT_ASSERT_NEAR(device.bandwidth_gbs, 4916.736, 1e-9);
    found.capability = 199;
    rt_cuda_describe(&found, &device);
    CU_ASSERT_TRUE(isnan(device.fp16_matrix_tflops));
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_cuda_peaks_source(&found), "not known"));
}

/* The rates reproduce published peaks, so those of other boards are about right. */
static void test_rates_against_the_catalogue(void)
{
    static const char *const boards[] = {"Tesla V100-SXM2-16GB",    "Tesla T4",    "NVIDIA A100-SXM4-40GB",
                                         "NVIDIA GeForce RTX 3090", "NVIDIA L40S", "NVIDIA GeForce RTX 4090",
                                         "NVIDIA GeForce RTX 5090", "NVIDIA H200", "NVIDIA B200"};
    for (size_t b = 0; b < RT_COUNT(boards); b++) {
        struct rt_device catalogue, device;
        struct rt_cuda_gpu_found found = {0};
        RT_ASSERT_OK(rt_device_named(boards[b], &catalogue));
        snprintf(found.gpu, sizeof found.gpu, "no board of %s", boards[b]);
        found.sms = found.gpu_sms = (int)catalogue.sms;
        found.capability = (int)(10 * atof(catalogue.compute_capability) + 0.5);
        found.clock_khz = (int)(1000 * catalogue.clock_mhz);
        rt_cuda_describe(&found, &device);
        for (size_t f = 0; f < rt_device_field_count; f++) {
            double wanted = *rt_device_value(&catalogue, f), got = *rt_device_value(&device, f);
            if (strstr(rt_device_fields[f].units, "OP/s") != NULL && !isnan(wanted))
                RT_ASSERT_NEAR(got, wanted, 0.11); /* 30 boards round, and name another boost clock */
        }
    }
}

/* ---- timing ---- */

/* spin, stamp, then flush, event, run, event for each run, stamp. */
static void test_cold_runs(void)
{
    void *context = open_with("0", NULL);
    void *work = ready(context, 0, task_of(RT_OP_ADD, RT_PLAIN, 64, 1024));
    const struct fake_ran *runs;
    double us[8];
    forget();
    struct rt_batch batch = {.first = 5, .runs = 1, .batches = 8};
    RT_ASSERT_OK(cuda->time(context, work, &batch, us));
    CU_ASSERT_EQUAL_FATAL(ran(&runs), 2 + 8 * 4 + 1);
    CU_ASSERT_STRING_EQUAL(runs[0].name, "rt_spin");
    CU_ASSERT_STRING_EQUAL(runs[1].name, "rt_stamp");
    CU_ASSERT_STRING_EQUAL(runs[34].name, "rt_stamp");
    for (int i = 0; i < 8; i++) {
        const struct fake_ran *run = &runs[2 + 4 * i];
        CU_ASSERT_STRING_EQUAL(run[0].name, "rt_flush");
        CU_ASSERT_TRUE(run[0].bytes >= 2u << 20);
        CU_ASSERT_STRING_EQUAL(run[1].name, "event");
        CU_ASSERT_STRING_EQUAL(run[3].name, "event");
        RT_ASSERT_NEAR(us[i], 10, 1e-3); /* the fake's time of such a kernel, without spin and flush */
    }
    cuda->finish(context, work);
    cuda->close(context);
    CU_ASSERT_EQUAL(count_of("fake_cuda_live"), 0);
}

/* Three operands of 256 KiB: sets of 768 KiB, of which 4 are three times the L2 of 1 MiB. */
static void test_operands_rotate(void)
{
    void *context = open_with("0", NULL);
    void *work = ready(context, 0, task_of(RT_OP_ADD, RT_PLAIN, 64, 1024));
    const struct fake_ran *runs;
    uint64_t at[9] = {0};
    double us[8];
    for (int cold = 1; cold >= 0; cold--) {
        int found = 0;
        forget();
        struct rt_batch batch = {.runs = 1, .batches = 8, .warm = !cold};
        RT_ASSERT_OK(cuda->time(context, work, &batch, us));
        size_t count = ran(&runs);
        for (size_t i = 0; i < count; i++)
            if (i > 0 && strcmp(runs[i - 1].name, "event") == 0 && strncmp(runs[i].name, "rt_add", 6) == 0)
                at[found++] = runs[i].operand[0];
        CU_ASSERT_EQUAL(found, 8);
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < i; j++)
                CU_ASSERT_EQUAL(at[i] == at[j], !cold || i % 4 == j % 4);
        CU_ASSERT_EQUAL(count_ran("rt_flush"), cold ? 8 : 0);
    }
    CU_ASSERT_EQUAL(count_ran(runs[1].name), 9); /* warm: one run before those that are timed */
    cuda->finish(context, work);
    cuda->close(context);
}

/* More runs than a queue holds; a batch of several runs is their sum. */
static void test_batches_of_runs(void)
{
    void *context = open_with("0", NULL);
    void *work = ready(context, 0, task_of(RT_OP_ADD, RT_PLAIN, 1, 64));
    double us[7];
    forget();
    struct rt_batch batch = {.runs = 10, .batches = 7};
    RT_ASSERT_OK(cuda->time(context, work, &batch, us));
    for (int i = 0; i < 7; i++)
        RT_ASSERT_NEAR(us[i], 100, 1e-3);
    CU_ASSERT_EQUAL(count_ran("rt_spin"), 3);
    CU_ASSERT_EQUAL(count_ran("event"), 140);
    struct rt_health health;
    cuda->health(context, work, &health);
    RT_ASSERT_NEAR(health.sm_clock_mhz, 1500, 1e-3); /* by the stamps, not NVML's 1400 */
    cuda->health(context, work, &health);
    CU_ASSERT_EQUAL(health.sm_clock_mhz, 1400); /* nothing was timed since */
    cuda->finish(context, work);
    cuda->close(context);
}

/* A queue that the host fills too slowly is timed again, RT_CUDA_TRIES times. */
static void test_spin_gives_up(void)
{
    void *context = open_with("0", NULL);
    void *work = ready(context, 0, task_of(RT_OP_ADD, RT_PLAIN, 1, 64));
    double us[2];
    struct rt_batch batch = {.runs = 1, .batches = 2};
    forget();
    setenv("FAKE_CUDA_GIVE_UP", "2", 1);
    RT_ASSERT_OK(cuda->time(context, work, &batch, us));
    CU_ASSERT_EQUAL(count_ran("rt_spin"), 3);
    RT_ASSERT_NEAR(us[1], 10, 1e-3);
    forget();
    setenv("FAKE_CUDA_GIVE_UP", "3", 1);
    RT_ASSERT_FAILS(cuda->time(context, work, &batch, us), RT_EIO, "did not fill the GPU's queue");
    unsetenv("FAKE_CUDA_GIVE_UP");
    cuda->finish(context, work);
    cuda->close(context);
}

static void test_copies(void)
{
    void *context = open_with("0", NULL);
    const struct fake_ran *runs;
    double us[4];
    for (int pageable = 0; pageable < 2; pageable++)
        for (int out = 0; out < 2; out++) {
            enum rt_op_id op = out ? RT_OP_DEVICE_TO_HOST : RT_OP_HOST_TO_DEVICE;
            void *work = ready(context, 0, task_of(op, pageable ? RT_PAGEABLE : RT_PLAIN, 1 << 20, 0));
            forget();
            struct rt_batch batch = {.runs = 1, .batches = 4};
            RT_ASSERT_OK(cuda->time(context, work, &batch, us));
            size_t count = ran(&runs);
            CU_ASSERT_EQUAL(count_ran("rt_spin"), pageable ? 0 : 1);
            CU_ASSERT_EQUAL(count_ran(out ? "copy out" : "copy in"), 4);
            for (size_t i = 0; i < count; i++)
                if (strncmp(runs[i].name, "copy", 4) == 0)
                    CU_ASSERT_EQUAL(runs[i].bytes, 1 << 20);
            if (pageable) {
                CU_ASSERT_TRUE(us[0] > 0 && us[0] < 1e6);
            } else {
                RT_ASSERT_NEAR(us[0], 2 + 1048.576 / 20, 1e-3);
            }
            cuda->finish(context, work);
        }
    cuda->close(context);
    CU_ASSERT_EQUAL(count_of("fake_cuda_live"), 0);
}

static void test_launch(void)
{
    void *context = open_with("0", NULL);
    void *work = ready(context, 0, task_of(RT_OP_LAUNCH, RT_PLAIN, 3, 0));
    double us[4];
    forget();
    struct rt_batch batch = {.runs = 1, .batches = 4};
    RT_ASSERT_OK(cuda->time(context, work, &batch, us));
    CU_ASSERT_EQUAL(count_ran("rt_empty"), 8); /* by events, and by the host's clock */
    CU_ASSERT_TRUE(us[0] > 1.5 && us[0] < 1e5);
    cuda->finish(context, work);
    cuda->close(context);
}

/* ---- whole models ---- */

static struct rt_task tasks_of_a_model[4];
static int lives;

static void live(void *to)
{
    (void)to;
    lives++;
}

/* `launches` of embedding, add, mul and relu (which is larger) in turn, half of them forward. */
static struct rt_sequence model_of(size_t launches)
{
    static uint32_t order[4096];
    tasks_of_a_model[0] = task_of(RT_OP_EMBEDDING, RT_PLAIN, 300, 64);
    tasks_of_a_model[1] = task_of(RT_OP_ADD, RT_PLAIN, 64, 1024);
    tasks_of_a_model[2] = task_of(RT_OP_MUL, RT_PLAIN, 8, 24);
    tasks_of_a_model[3] = task_of(RT_OP_RELU, RT_PLAIN, 512, 2048);
    for (size_t l = 0; l < launches; l++)
        order[l] = (uint32_t)(l % 4);
    return (struct rt_sequence){tasks_of_a_model, 4, order, launches, launches / 2};
}

static void *ready_model(void *context, const struct rt_sequence *sequence)
{
    const char *refused = NULL;
    void *work = NULL;
    lives = 0;
    RT_ASSERT_OK(cuda->prepare_sequence(context, 0, sequence, live, NULL, &work, &refused));
    CU_ASSERT_PTR_NULL_FATAL(refused);
    CU_ASSERT_PTR_NOT_NULL_FATAL(work);
    CU_ASSERT_EQUAL((size_t)lives, 2 * sequence->count); /* made, and run */
    return work;
}

/* Kernels of the model among what ran, in their order. */
static size_t models_kernels(const struct fake_ran *of_model[], size_t most)
{
    static const char *const names[] = {"rt_embedding", "rt_add", "rt_mul", "rt_relu"};
    const struct fake_ran *runs;
    size_t count = ran(&runs), found = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; n < RT_COUNT(names); n++)
            if (strncmp(runs[i].name, names[n], strlen(names[n])) == 0 && found < most)
                of_model[found++] = &runs[i];
    return found;
}

/* spin, stamp, event, forward, event, the rest, event, stamp; nothing flushed. 10 us a kernel, the relu 34.
 */
static void test_a_models_timing(void)
{
    void *context = open_with("0", NULL);
    struct rt_sequence sequence = model_of(10);
    void *work = ready_model(context, &sequence);
    const struct fake_ran *runs, *kernels[16];
    double us[3];
    forget();
    RT_ASSERT_OK(cuda->time_sequence(context, work, 0, us));
    CU_ASSERT_EQUAL_FATAL(ran(&runs), 2 + 1 + 5 + 1 + 5 + 1 + 1);
    CU_ASSERT_STRING_EQUAL(runs[0].name, "rt_spin");
    CU_ASSERT_STRING_EQUAL(runs[1].name, "rt_stamp");
    CU_ASSERT_STRING_EQUAL(runs[2].name, "event");
    CU_ASSERT_STRING_EQUAL(runs[8].name, "event");
    CU_ASSERT_STRING_EQUAL(runs[14].name, "event");
    CU_ASSERT_STRING_EQUAL(runs[15].name, "rt_stamp");
    CU_ASSERT_EQUAL(models_kernels(kernels, 16), 10);
    CU_ASSERT_EQUAL(strncmp(kernels[6]->name, "rt_mul", 6), 0);
    double relu_us = 512 * 2048 * 32e-6; /* as the fake driver counts: one relu in each half */
    RT_ASSERT_NEAR(us[0], 40 + relu_us, 1e-3);
    RT_ASSERT_NEAR(us[1], 40 + relu_us, 1e-3);
    CU_ASSERT_EQUAL(us[2], 0); /* all was queued before the GPU was released */
    struct rt_health health;
    cuda->sequence_health(context, work, &health);
    RT_ASSERT_NEAR(health.sm_clock_mhz, 1500, 1e-3);
    cuda->finish_sequence(context, work);
    sequence.forward = sequence.launch_count; /* inference: two events */
    work = ready_model(context, &sequence);
    forget();
    RT_ASSERT_OK(cuda->time_sequence(context, work, 0, us));
    CU_ASSERT_EQUAL(count_ran("event"), 2);
    RT_ASSERT_NEAR(us[0], 80 + 2 * relu_us, 1e-3);
    CU_ASSERT_EQUAL(us[1], 0);
    cuda->finish_sequence(context, work);
    cuda->close(context);
    CU_ASSERT_EQUAL(count_of("fake_cuda_live"), 0);
}

static bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* Between two uses of an address of an area, more than twice the L2 of that area is used. */
static void test_a_models_memory(void)
{
    void *context = open_with("0", NULL);
    struct rt_sequence sequence = model_of(400);
    void *work = ready_model(context, &sequence);
    const struct fake_ran *kernels[400];
    double us[3];
    forget();
    RT_ASSERT_OK(cuda->time_sequence(context, work, 0, us));
    CU_ASSERT_EQUAL_FATAL(models_kernels(kernels, 400), 400);
    size_t shared = 0, soon = 0, met = 0;
    const uint64_t add_bytes = 64 * 1024 * 4, relu_bytes = 512 * 2048 * 4; /* of each operand */
    for (size_t l = 1; l < 400; l += 4) {
        const uint64_t *at = kernels[l]->operand;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < i; j++)
                shared += overlap(at[i], add_bytes, at[j], add_bytes);
        uint64_t since = 0;
        for (size_t before = l; before-- > 1;) { /* back to its last use */
            const uint64_t *other = kernels[before]->operand;
            uint64_t bytes = before % 4 == 1 ? add_bytes : before % 4 == 3 ? relu_bytes : 0;
            if (overlap(at[0], add_bytes, other[0], bytes) ||
                (bytes == add_bytes && overlap(at[0], add_bytes, other[1], bytes))) {
                met++;
                soon += since < 2u << 20;
                break;
            }
            since += bytes == add_bytes ? 2 * bytes : bytes;
        }
    }
    CU_ASSERT_EQUAL(shared, 0);
    CU_ASSERT_TRUE(met > 90);
    CU_ASSERT_EQUAL(soon, 0);
    cuda->finish_sequence(context, work);
    cuda->close(context);
}

/* Indices are in range and values as they were filled, also after other kernels ran. */
static void test_a_models_values(void)
{
    void *context = open_with("0", NULL);
    struct rt_sequence sequence = model_of(200);
    const struct fake_ran *kernels[200];
    double us[3];
    void *work = ready_model(context, &sequence);
    for (uint64_t run = 0; run < 3; run++) {
        forget();
        RT_ASSERT_OK(cuda->time_sequence(context, work, run, us));
    }
    CU_ASSERT_EQUAL_FATAL(models_kernels(kernels, 200), 200);
    size_t indices = 0, wrong = 0, rows = 0;
    for (size_t l = 0; l < 200; l += 4)
        for (int o = 0; o < 2; o++) { /* the table and the indices, in either order */
            const int32_t *index = (const int32_t *)(uintptr_t)kernels[l]->operand[o];
            const float *value = (const float *)(uintptr_t)kernels[l]->operand[o];
            bool table = value[0] >= 0.5f && value[0] <= 1.5f;
            for (int i = 0; i < 300; i++) {
                wrong += table ? value[i] < 0.5f || value[i] > 1.5f : index[i] < 0 || index[i] > 1 << 24;
                rows = !table && (size_t)index[i] > rows ? (size_t)index[i] : rows;
            }
            indices += !table;
        }
    CU_ASSERT_EQUAL(indices, 50);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_TRUE(rows > 0);
    cuda->finish_sequence(context, work);
    cuda->close(context);
}

/* More launches than the driver's queue holds: the spin is released in time, and the host's time is known. */
static void test_more_launches_than_a_queue_holds(void)
{
    void *context = open_with("0", NULL);
    struct rt_sequence sequence = model_of(4000);
    void *work = ready_model(context, &sequence);
    double us[3];
    forget();
    RT_ASSERT_OK(cuda->time_sequence(context, work, 0, us));
    CU_ASSERT_EQUAL(count_ran("rt_spin"), 1);
    double relu_us = 512 * 2048 * 32e-6;
    RT_ASSERT_NEAR(us[0] + us[1], 30000 + 1000 * relu_us, 1);
    CU_ASSERT_TRUE(us[2] > 0 && us[2] < 60e6);
    forget();
    setenv("FAKE_CUDA_GIVE_UP", "1", 1);
    RT_ASSERT_OK(cuda->time_sequence(context, work, 1, us));
    CU_ASSERT_EQUAL(count_ran("rt_spin"), 2);
    forget();
    setenv("FAKE_CUDA_GIVE_UP", "3", 1);
    RT_ASSERT_FAILS(cuda->time_sequence(context, work, 2, us), RT_EIO, "did not fill the GPU's queue");
    unsetenv("FAKE_CUDA_GIVE_UP");
    cuda->finish_sequence(context, work);
    cuda->close(context);
    CU_ASSERT_EQUAL(count_of("fake_cuda_live"), 0);
}

static void model_is_refused(void *context, const struct rt_sequence *sequence, const char *words)
{
    const char *refused = NULL;
    void *work = &refused;
    RT_ASSERT_OK(cuda->prepare_sequence(context, 0, sequence, live, NULL, &work, &refused));
    CU_ASSERT_PTR_NULL(work);
    CU_ASSERT_PTR_NOT_NULL_FATAL(refused);
    CU_ASSERT_STRING_EQUAL(refused, words);
}

static void test_models_that_are_refused(void)
{
    void *context = open_with("0", NULL);
    struct rt_sequence sequence = model_of(40);
    tasks_of_a_model[3].call.dim[0] = 1 << 16; /* 512 MiB each of values and results */
    model_is_refused(context, &sequence, "out of memory");
    sequence = model_of(40);
    setenv("FAKE_CUDA_OOM_BYTES", "16000000", 1); /* too little for three times the L2, enough without */
    cuda->finish_sequence(context, ready_model(context, &sequence));
    setenv("FAKE_CUDA_OOM_BYTES", "100000", 1);
    model_is_refused(context, &sequence, "out of memory");
    unsetenv("FAKE_CUDA_OOM_BYTES");
    tasks_of_a_model[1] = task_of(RT_OP_HOST_TO_DEVICE, RT_PLAIN, 4096, 0);
    model_is_refused(context, &sequence, "copies to or from the host run in no sequence");
    tasks_of_a_model[1] = task_of(RT_OP_MOE, RT_PLAIN, 1, 1);
    model_is_refused(context, &sequence, "not supported");
    sequence = model_of(40); /* the device is not lost */
    cuda->finish_sequence(context, ready_model(context, &sequence));
    cuda->close(context);
    CU_ASSERT_EQUAL(count_of("fake_cuda_live"), 0);
}

/* ---- what fails ---- */

static void refused_with(void *context, struct rt_task task, const char *words)
{
    struct rt_launch_config kernel;
    void *work;
    const char *refused = NULL;
    RT_ASSERT_OK(cuda->prepare(context, 0, &task, &kernel, &work, &refused));
    CU_ASSERT_PTR_NULL(work);
    CU_ASSERT_PTR_NOT_NULL_FATAL(refused);
    CU_ASSERT_STRING_EQUAL(refused, words);
}

static void test_refusals(void)
{
    void *context = open_with("0", NULL);
    refused_with(context, task_of(RT_OP_ADD, RT_PLAIN, 4096, 4096), "out of memory"); /* 192 of 64 MiB */
    refused_with(context, task_of(RT_OP_MOE, RT_PLAIN, 1, 1), "not supported");
    refused_with(context, task_of(RT_OP_LAUNCH, RT_PLAIN, (int64_t)1 << 32, 0),
                 "more blocks than a grid has");
    setenv("FAKE_CUDA_OOM_BYTES", "100000", 1);
    refused_with(context, task_of(RT_OP_ADD, RT_PLAIN, 64, 1024), "out of memory");
    /* One set fits where four did not. */
    setenv("FAKE_CUDA_OOM_BYTES", "1000000", 1);
    cuda->finish(context, ready(context, 0, task_of(RT_OP_ADD, RT_PLAIN, 64, 1024)));
    unsetenv("FAKE_CUDA_OOM_BYTES");
    setenv("FAKE_CUDA_LAUNCH", "701", 1);
    refused_with(context, task_of(RT_OP_ADD, RT_PLAIN, 1, 64),
                 "a block needs more registers or shared memory than there are");
    unsetenv("FAKE_CUDA_LAUNCH");
    cuda->finish(context, ready(context, 0, task_of(RT_OP_ADD, RT_PLAIN, 1, 64)));
    cuda->close(context);
    CU_ASSERT_EQUAL(count_of("fake_cuda_live"), 0);
}

static void test_module_does_not_load(void)
{
    void *context = open_with("0", NULL), *work;
    struct rt_task task = task_of(RT_OP_ADD, RT_PLAIN, 1, 64);
    struct rt_launch_config kernel;
    const char *refused;
    setenv("FAKE_CUDA_MODULE", "222", 1);
    RT_ASSERT_FAILS(cuda->prepare(context, 0, &task, &kernel, &work, &refused), RT_EIO, "do not load");
    unsetenv("FAKE_CUDA_MODULE");
    cuda->finish(context, ready(context, 0, task));
    cuda->close(context);
    CU_ASSERT_EQUAL(count_of("fake_cuda_live"), 0);
}

/* ---- health, energy, facts ---- */

static void test_throttling(void)
{
    void *context = open_with("0", NULL);
    void *work = ready(context, 0, task_of(RT_OP_ADD, RT_PLAIN, 1, 64));
    struct rt_health health;
    cuda->health(context, work, &health);
    CU_ASSERT_EQUAL(health.flags, RT_FLAG_SYNTHETIC); /* an idle GPU is not throttled */
    CU_ASSERT_PTR_NULL(health.throttle);
    CU_ASSERT_EQUAL(health.temperature_c, 55);
    RT_ASSERT_NEAR(health.power_w, 345.6, 1e-9);
    setenv("FAKE_NVML_REASONS", "0x24", 1);
    cuda->health(context, work, &health);
    CU_ASSERT_EQUAL(health.flags, RT_FLAG_SYNTHETIC | RT_FLAG_THROTTLED);
    CU_ASSERT_STRING_EQUAL(health.throttle, "software thermal slowdown");
    setenv("FAKE_NVML_REASONS", "0x4", 1); /* the power limit is recorded, and no fault */
    cuda->health(context, work, &health);
    CU_ASSERT_EQUAL(health.flags, RT_FLAG_SYNTHETIC);
    CU_ASSERT_STRING_EQUAL(health.throttle, "power cap");
    unsetenv("FAKE_NVML_REASONS");
    cuda->health(context, work, &health);
    CU_ASSERT_EQUAL(health.flags, RT_FLAG_SYNTHETIC);
    cuda->finish(context, work);
    /* Throttled only while it was prepared or while it ran. */
    setenv("FAKE_NVML_REASONS", "0x40", 1);
    work = ready(context, 0, task_of(RT_OP_ADD, RT_PLAIN, 1, 64));
    unsetenv("FAKE_NVML_REASONS");
    cuda->health(context, work, &health);
    CU_ASSERT_STRING_EQUAL(health.throttle, "hardware thermal slowdown");
    setenv("FAKE_NVML_REASONS", "0x80", 1);
    double us[1];
    struct rt_batch batch = {.runs = 1, .batches = 1};
    cuda->pause(context, 0.03);
    RT_ASSERT_OK(cuda->time(context, work, &batch, us));
    unsetenv("FAKE_NVML_REASONS");
    cuda->health(context, work, &health);
    CU_ASSERT_STRING_EQUAL(health.throttle, "hardware power brake");
    cuda->finish(context, work);
    cuda->close(context);
    bool fault = true;
    CU_ASSERT_PTR_NULL(rt_nvml_throttle(0x113, &fault)); /* idle, chosen clocks, sync boost, display */
    CU_ASSERT_FALSE(fault);
    CU_ASSERT_STRING_EQUAL(rt_nvml_throttle(0xc, &fault), "hardware slowdown");
    CU_ASSERT_TRUE(fault);
}

/* 100 W, over runs that take almost no time here. */
static void test_energy(void)
{
    void *context = open_with("0", NULL);
    void *work = ready(context, 0, task_of(RT_OP_ADD, RT_PLAIN, 1, 64));
    const char *missing = NULL;
    double mj = NAN;
    RT_ASSERT_OK(cuda->energy(context, work, 0.1, &mj, &missing));
    CU_ASSERT_TRUE(mj > 0 && mj < 1e4);
    cuda->finish(context, work);
    cuda->close(context);
}

struct facts {
    char text[8192];
};

static void add_fact(void *to, const char *name, const char *value)
{
    struct facts *facts = to;
    size_t length = strlen(facts->text);
    snprintf(facts->text + length, sizeof facts->text - length, "%s=%s\n", name, value);
}

static void test_facts(void)
{
    static const char *const wanted[] = {
        "gpu_uuid=GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0\n",
        "ecc=on\n",
        "mig=off\n",
        "mps=off\n",
        "persistence=on\n",
        "power_limit_w=700\n",
        "driver=580.00.00\n",
        "driver_cuda=13.0\n",
        "driver_clock_mhz=1500\n",
        "sm_share=green context of 24 of 40 SMs, 50% asked for\n",
        "sm_clock_most_mhz=1980\n",
        "cuBLASLt is not installed",
        "cuDNN is not installed",
        "synthetic=not a measurement",
    };
    void *context = open_with("0", "50");
    struct facts facts = {0};
    cuda->facts(context, 0, add_fact, &facts);
    for (size_t i = 0; i < RT_COUNT(wanted); i++) {
        CU_ASSERT_PTR_NOT_NULL(strstr(facts.text, wanted[i]));
        if (strstr(facts.text, wanted[i]) == NULL)
            printf("# no %s in %s\n", wanted[i], facts.text);
    }
    CU_ASSERT_PTR_NULL(strstr(facts.text, "NVML is not"));
    CU_ASSERT_EQUAL(count_of("fake_cuda_contexts"), 0);
    cuda->close(context);
}

/* ---- the last: the driver is unusable afterwards ---- */

static void test_sticky_error(void)
{
    void *context = open_with("0", NULL);
    struct rt_sequence sequence = model_of(40);
    void *model = ready_model(context, &sequence);
    void *work = ready(context, 0, task_of(RT_OP_ADD, RT_PLAIN, 1, 64));
    struct rt_task task = task_of(RT_OP_ADD, RT_PLAIN, 1, 64);
    struct rt_launch_config kernel;
    const char *refused;
    double us[4];
    forget();
    setenv("FAKE_CUDA_STICKY_AT", "4", 1);
    struct rt_batch batch = {.runs = 1, .batches = 4};
    RT_ASSERT_FAILS(cuda->time(context, work, &batch, us), RT_EIO, "CUDA_ERROR_ILLEGAL_ADDRESS");
    RT_ASSERT_FAILS(cuda->time(context, work, &batch, us), RT_EIO, "synthetic fake GPU");
    cuda->finish(context, work);
    RT_ASSERT_FAILS(cuda->prepare(context, 0, &task, &kernel, &work, &refused), RT_EIO, "illegal memory");
    RT_ASSERT_FAILS(cuda->time_sequence(context, model, 0, us), RT_EIO, "CUDA_ERROR_ILLEGAL_ADDRESS");
    cuda->finish_sequence(context, model);
    RT_ASSERT_FAILS(cuda->prepare_sequence(context, 0, &sequence, live, NULL, &model, &refused), RT_EIO,
                    "illegal memory");
    cuda->close(context); /* and does not crash */
}

RT_TESTS(RT_TEST(test_no_driver), RT_TEST(test_driver_without_device),
         RT_TEST(test_devices_are_listed_without_a_context), RT_TEST(test_device_choice),
         RT_TEST(test_shares), RT_TEST(test_slices_have_no_shares), RT_TEST(test_descriptions),
         RT_TEST(test_rates_against_the_catalogue), RT_TEST(test_cold_runs), RT_TEST(test_operands_rotate),
         RT_TEST(test_batches_of_runs), RT_TEST(test_spin_gives_up), RT_TEST(test_copies),
         RT_TEST(test_launch), RT_TEST(test_a_models_timing), RT_TEST(test_a_models_memory),
         RT_TEST(test_a_models_values), RT_TEST(test_more_launches_than_a_queue_holds),
         RT_TEST(test_models_that_are_refused), RT_TEST(test_refusals), RT_TEST(test_module_does_not_load),
         RT_TEST(test_throttling), RT_TEST(test_energy), RT_TEST(test_facts), RT_TEST(test_sticky_error))

#else

static void test_cuda(void)
{
    strcpy(rt_test_skipped, "built without a CUDA toolkit");
}
RT_TESTS(RT_TEST(test_cuda))

#endif
