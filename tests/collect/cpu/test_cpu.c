/* The CPU backend: kernels against naive double-precision loops, the pool, devices, refusals. */
#include "test.h"

#include "collect/backend.h"
#include "collect/cpu/kernels.h"
#include "collect/cpu/machine.h"
#include "collect/cpu/pool.h"
#include "collect/cpu/rapl.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

/* ---- kernels ---- */

enum { GUARD = 32 };
static const float guard = 12345;

/* One op run tile by tile, last tile first; operands signed, or positive for pow. */
struct fixture {
    struct rt_cpu_call call;
    float *input[RT_CPU_INPUTS], *output;
};

static float random_value(bool positive)
{
    float u = (float)rand() / (float)RAND_MAX;
    return positive ? 0.25f + 2 * u : 8 * u - 4;
}

static void run_op(enum rt_op_id op, const int64_t *dim, struct fixture *f)
{
    const struct rt_cpu_kernel *kernel = rt_cpu_kernel(op);
    CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
    kernel->shape(kernel, dim, &f->call);
    for (int i = 0; i < RT_CPU_INPUTS; i++) {
        f->input[i] = malloc((f->call.input_count[i] + 1) * sizeof(float));
        for (size_t j = 0; j < f->call.input_count[i]; j++)
            f->input[i][j] = random_value(op == RT_OP_POW || op == RT_OP_POW_SCALAR);
        f->call.input[i] = f->input[i];
    }
    f->output = malloc((f->call.output_count + 2 * GUARD) * sizeof(float));
    for (size_t j = 0; j < f->call.output_count + 2 * GUARD; j++)
        f->output[j] = j < GUARD || j >= f->call.output_count + GUARD ? guard : NAN;
    f->call.output = f->output + GUARD;
    for (size_t tile = f->call.tiles; tile-- > 0;)
        kernel->tile(&f->call, tile);
}

/* Largest difference, relative to 1 + |expected|; infinite where the kernel wrote outside or left a hole. */
static double end_op(struct fixture *f, double (*expected)(const struct fixture *f, size_t at))
{
    double worst = 0;
    for (size_t j = 0; j < f->call.output_count; j++) {
        double want = expected(f, j), error = fabs((double)f->call.output[j] - want) / (1 + fabs(want));
        worst = error <= worst ? worst : isnan(error) ? INFINITY : error;
    }
    for (size_t j = 0; j < GUARD; j++)
        if (f->output[j] != guard || f->output[GUARD + f->call.output_count + j] != guard)
            worst = INFINITY;
    for (int i = 0; i < RT_CPU_INPUTS; i++)
        free(f->input[i]);
    free(f->output);
    return worst;
}

static double product_reference(const struct fixture *f, size_t at, bool transposed, bool bias)
{
    size_t m = (size_t)f->call.m, n = (size_t)f->call.n, k = (size_t)f->call.k;
    size_t batch = at / (m * n), row = at / n % m, column = at % n;
    double sum = bias ? (double)f->input[2][column] : 0;
    const float *a = f->input[0] + (batch * m + row) * k, *b = f->input[1] + batch * k * n;
    for (size_t i = 0; i < k; i++)
        sum += (double)a[i] * (transposed ? b[column * k + i] : b[i * n + column]);
    return sum;
}

static double want_linear(const struct fixture *f, size_t at)
{
    return product_reference(f, at, true, true);
}
static double want_product(const struct fixture *f, size_t at)
{
    return product_reference(f, at, false, false);
}

/* Around the edge of a tile, one row, one column, depth 1. */
static void test_products(void)
{
    static const int64_t shapes[][4] = {{1, 1, 1, 1},     {1, 256, 256, 7}, {1, 257, 255, 33},
                                        {2, 300, 513, 5}, {3, 17, 600, 19}, {1, 1, 700, 64},
                                        {1, 700, 1, 64},  {5, 64, 64, 1}};
    for (size_t s = 0; s < RT_COUNT(shapes); s++) {
        struct fixture f;
        run_op(RT_OP_LINEAR, shapes[s], &f);
        CU_ASSERT_EQUAL(f.call.tiles,
                        (size_t)(shapes[s][0] * ((shapes[s][1] + 127) / 128) * ((shapes[s][2] + 127) / 128)));
        CU_ASSERT_TRUE(end_op(&f, want_linear) < 2e-5);
        run_op(RT_OP_BMM, shapes[s], &f);
        CU_ASSERT_TRUE(end_op(&f, want_product) < 2e-5);
        run_op(RT_OP_GEMM, shapes[s] + 1, &f);
        CU_ASSERT_TRUE(end_op(&f, want_product) < 2e-5);
    }
}

static const int64_t *conv; /* the dims of conv2d */

/* An output of a convolution, from its definition. */
static double want_conv(const struct fixture *f, size_t at)
{
    double height, width, sum = 0;
    rt_conv_outputs(conv, &height, &width);
    int64_t pixels = (int64_t)(height * width), pixel = (int64_t)at % pixels;
    int64_t filter = (int64_t)at / pixels % conv[2], image = (int64_t)at / pixels / conv[2];
    int64_t channels = conv[1] / conv[10], group = filter / (conv[2] / conv[10]);
    int64_t stride_w = conv[11] > 0 ? conv[11] : conv[7], padding_w = conv[12] >= 0 ? conv[12] : conv[8];
    for (int64_t c = 0; c < channels; c++)
        for (int64_t r = 0; r < conv[5]; r++)
            for (int64_t s = 0; s < conv[6]; s++) {
                int64_t y = pixel / (int64_t)width * conv[7] + r * conv[9] - conv[8];
                int64_t z = pixel % (int64_t)width * stride_w + s * conv[9] - padding_w;
                if (y < 0 || y >= conv[3] || z < 0 || z >= conv[4])
                    continue;
                int64_t channel = image * conv[1] + group * channels + c;
                sum += (double)f->input[0][(channel * conv[3] + y) * conv[4] + z] *
                       f->input[1][((filter * channels + c) * conv[5] + r) * conv[6] + s];
            }
    return sum;
}

/* Deeper than what is gathered at once; groups, depthwise; either dim with its own stride and padding. */
static void test_convolutions(void)
{
    static const int64_t shapes[][RT_MAX_DIMS] = {{2, 40, 9, 13, 14, 3, 3, 1, 1, 1, 1, -1, -1, -1},
                                                  {1, 3, 130, 15, 15, 7, 7, 2, 3, 1, 1, -1, -1, 0},
                                                  {3, 8, 12, 9, 7, 3, 2, 2, 0, 2, 4, 1, 1, -1},
                                                  {1, 6, 6, 5, 30, 1, 7, 1, 0, 1, 6, -1, 3, -1},
                                                  {2, 300, 5, 4, 4, 1, 1, 1, 0, 1, 1, -1, -1, -1}};
    for (size_t s = 0; s < RT_COUNT(shapes); s++) {
        struct fixture f;
        conv = shapes[s];
        run_op(RT_OP_CONV2D, conv, &f);
        CU_ASSERT_TRUE(end_op(&f, want_conv) < 1e-4);
    }
    const struct rt_backend *cpu;
    struct rt_task last;
    RT_ASSERT_OK(rt_backend_find("cpu", &cpu));
    rt_task_init(&last, RT_OP_CONV2D, RT_FP32);
    CU_ASSERT_TRUE(cpu->can(&last));
    last.call.dim[13] = 1;
    CU_ASSERT_FALSE(cpu->can(&last));
}

static double want_softmax(const struct fixture *f, size_t at)
{
    size_t n = (size_t)f->call.n;
    const float *x = f->input[0] + at / n * n;
    double most = x[0], sum = 0;
    for (size_t j = 0; j < n; j++)
        most = fmax(most, x[j]);
    for (size_t j = 0; j < n; j++)
        sum += exp(x[j] - most);
    return exp(x[at % n] - most) / sum;
}

static double want_layernorm(const struct fixture *f, size_t at)
{
    size_t n = (size_t)f->call.n, column = at % n;
    const float *x = f->input[0] + at / n * n;
    double mean = 0, variance = 0;
    for (size_t j = 0; j < n; j++)
        mean += x[j] / (double)n;
    for (size_t j = 0; j < n; j++)
        variance += (x[j] - mean) * (x[j] - mean) / (double)n;
    return (x[column] - mean) / sqrt(variance + RT_CPU_EPSILON) * f->input[1][column] + f->input[2][column];
}

/* Rows shorter and longer than the lanes of the reductions and than a tile. */
static void test_row_ops(void)
{
    static const int64_t shapes[][2] = {{1, 2},    {3, 15},    {3, 16},   {3, 17},
                                        {129, 31}, {1000, 33}, {7, 4096}, {2, 20000}};
    for (size_t s = 0; s < RT_COUNT(shapes); s++) {
        struct fixture f;
        run_op(RT_OP_SOFTMAX, shapes[s], &f);
        CU_ASSERT_TRUE(f.call.tile_m * f.call.n <= RT_CPU_TILE_ELEMENTS || f.call.tile_m == 1);
        CU_ASSERT_TRUE(end_op(&f, want_softmax) < 1e-6);
        run_op(RT_OP_LAYERNORM, shapes[s], &f);
        CU_ASSERT_TRUE(end_op(&f, want_layernorm) < 1e-5);
    }
}

static double want_elementwise(const struct fixture *f, size_t at);
static enum rt_op_id current;

static double want_elementwise(const struct fixture *f, size_t at)
{
    double x = f->input[0][at], y = f->call.input_count[1] > 0 ? f->input[1][at] : 0;
    switch (current) {
    case RT_OP_ADD:
        return x + y;
    case RT_OP_ADD_SCALAR:
        return x + RT_CPU_SCALAR;
    case RT_OP_MUL:
        return x * y;
    case RT_OP_MUL_SCALAR:
        return x * RT_CPU_SCALAR;
    case RT_OP_DIV:
        return x / y;
    case RT_OP_DIV_SCALAR:
        return x / RT_CPU_SCALAR;
    case RT_OP_POW:
        return pow(x, y);
    case RT_OP_POW_SCALAR:
        return pow(x, RT_CPU_POW_SCALAR);
    case RT_OP_RELU:
        return fmax(x, 0);
    case RT_OP_GELU:
        return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case RT_OP_TANH:
        return tanh(x);
    default:
        return NAN;
    }
}

static void test_elementwise(void)
{
    static const int64_t shapes[][2] = {{1, 1}, {3, 7}, {128, 128}, {129, 128}, {5, 20000}};
    int ops = 0;
    for (int op = 0; op < RT_OP_COUNT; op++) {
        /* silu, clamp and rsqrt appear in graphs; no backend times them yet */
        if (rt_ops[op].family != RT_FAMILY_ELEMENTWISE || rt_cpu_kernel(op) == NULL)
            continue;
        current = op;
        ops++;
        for (size_t s = 0; s < RT_COUNT(shapes); s++) {
            struct fixture f;
            run_op(op, shapes[s], &f);
            int64_t runs = (shapes[s][1] + RT_CPU_TILE_RUN - 1) / RT_CPU_TILE_RUN;
            CU_ASSERT_EQUAL(f.call.tiles, (size_t)(shapes[s][0] * runs));
            double worst = end_op(&f, want_elementwise);
            if (!(worst < 1e-6))
                printf("# %s: %g\n", rt_ops[op].name, worst);
            CU_ASSERT_TRUE(worst < 1e-6);
        }
    }
    CU_ASSERT_EQUAL(ops, 11);
}

/* ---- the pool ---- */

struct counted {
    atomic_int *hits;
};

static void count_tile(const void *job, size_t tile)
{
    atomic_fetch_add(&((const struct counted *)job)->hits[tile], 1);
}

static void test_pool_runs_each_tile_once(void)
{
    enum { TILES = 1000, LAUNCHES = 300 };
    static atomic_int hits[TILES];
    struct counted job = {hits};
    for (int threads = 1; threads <= 5; threads += 2) { /* more than there are processors, too */
        struct rt_pool *pool;
        RT_ASSERT_OK(rt_pool_new(threads, &pool));
        memset(hits, 0, sizeof hits);
        for (int launch = 0; launch < LAUNCHES; launch++) {
            rt_pool_run(pool, count_tile, &job, (size_t)(launch % TILES));
            if (launch % 50 == 0)
                usleep(3000); /* the workers fall asleep */
        }
        int wrong = 0;
        for (int tile = 0; tile < TILES; tile++)
            wrong += hits[tile] != (tile < LAUNCHES ? LAUNCHES - 1 - tile : 0);
        CU_ASSERT_EQUAL(wrong, 0);
        rt_pool_free(pool);
    }
    rt_pool_free(NULL);
}

/* ---- the machine ---- */

static void test_cpuinfo(void)
{
    static const char text[] =
        "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t:  Some   CPU  @ 3 GHz \n"
        "cpu MHz\t\t: 2596.096\nempty\t:\n";
    char value[32];
    CU_ASSERT_TRUE(rt_cpuinfo_value(text, "model name", value, sizeof value));
    CU_ASSERT_STRING_EQUAL(value, "Some CPU @ 3 GHz");
    CU_ASSERT_TRUE(rt_cpuinfo_value(text, "cpu MHz", value, sizeof value));
    CU_ASSERT_STRING_EQUAL(value, "2596.096");
    CU_ASSERT_FALSE(rt_cpuinfo_value(text, "model", value, sizeof value));
    CU_ASSERT_FALSE(rt_cpuinfo_value(text, "empty", value, sizeof value));
    CU_ASSERT_TRUE(rt_cpuinfo_value(text, "vendor_id", value, 4));
    CU_ASSERT_STRING_EQUAL(value, "Gen");
}

static void test_machine(void)
{
    struct rt_cpu_machine machine;
    rt_cpu_machine_read(&machine);
    CU_ASSERT_TRUE(machine.model[0] != '\0' && machine.architecture[0] != '\0');
    CU_ASSERT_TRUE(machine.threads >= 1 && machine.cache_bytes >= 1 << 16 && machine.memory_bytes >= 0x1p26);
}

/* ---- the backend ---- */

static const struct rt_backend *open_cpu(const char *devices, void **context)
{
    const struct rt_backend *backend;
    struct rt_backend_options options = {.devices = devices, .seed = 1};
    RT_ASSERT_OK(rt_backend_find("cpu", &backend));
    RT_ASSERT_OK(backend->open(&options, context));
    return backend;
}

static void keep_cache_source(void *to, const char *name, const char *value)
{
    if (strcmp(name, "l2_mib_source") == 0)
        snprintf(to, 128, "%s", value);
}

static void test_given_cache(void)
{
    const char *before = getenv("ROOFTILE_CPU_CACHE_MIB");
    char *kept = before != NULL ? rt_strdup(before) : NULL, source[128];
    const struct rt_backend_options options = {.devices = "1"};
    const struct rt_backend *backend;
    struct rt_device device;
    void *context;
    RT_ASSERT_OK(rt_backend_find("cpu", &backend));
    setenv("ROOFTILE_CPU_CACHE_MIB", "3", 1);
    context = NULL;
    RT_ASSERT_OK(backend->open(&options, &context));
    RT_ASSERT_OK(backend->describe(context, 0, &device));
    CU_ASSERT_EQUAL(device.l2_mib, 3);
    backend->facts(context, 0, keep_cache_source, source);
    CU_ASSERT_STRING_EQUAL(source, "last-level cache as ROOFTILE_CPU_CACHE_MIB gives it");
    backend->close(context);
    static const char *const wrong[] = {"", "0", "-1", "1.5", "4 MiB", "1048577"};
    for (size_t i = 0; i < RT_COUNT(wrong); i++) {
        setenv("ROOFTILE_CPU_CACHE_MIB", wrong[i], 1);
        RT_ASSERT_FAILS(backend->open(&options, &context), RT_EUSAGE, "ROOFTILE_CPU_CACHE_MIB is");
    }
    unsetenv("ROOFTILE_CPU_CACHE_MIB");
    RT_ASSERT_OK(backend->open(&options, &context));
    backend->facts(context, 0, keep_cache_source, source);
    CU_ASSERT_PTR_NOT_NULL(strstr(source, "the system"));
    backend->close(context);
    if (kept != NULL)
        setenv("ROOFTILE_CPU_CACHE_MIB", kept, 1);
    free(kept);
}

static void test_devices(void)
{
    void *context;
    const struct rt_backend *backend = open_cpu("1,1", &context);
    CU_ASSERT_EQUAL(backend->device_count(context), 1);
    const char *name = backend->device_name(context, 0);
    CU_ASSERT_EQUAL(strncmp(name, "CPU ", 4), 0);
    CU_ASSERT_STRING_EQUAL(name + strlen(name) - 9, " 1 thread");
    backend->close(context);
}

static void test_bad_devices(void)
{
    static const char *const bad[] = {
        "0", "-1", "x", "", "1,", "1000000", "1.5", "alll", "99999999999999999999"};
    const struct rt_backend *backend;
    RT_ASSERT_OK(rt_backend_find("cpu", &backend));
    for (size_t i = 0; i < RT_COUNT(bad); i++) {
        void *context = NULL;
        struct rt_backend_options options = {.devices = bad[i]};
        RT_ASSERT_FAILS(backend->open(&options, &context), RT_EUSAGE, "device ");
        CU_ASSERT_PTR_NULL(context);
    }
    struct rt_backend_options options = {.faults = "oom=1"};
    void *context = NULL;
    RT_ASSERT_FAILS(backend->open(&options, &context), RT_EUSAGE, "faults is for the synthetic backend");
    RT_ASSERT_FAILS(rt_backend_find("abacus", &backend), RT_ENOTFOUND, "is not one of cpu");
}

static void test_kernel_is_described_and_timed(void)
{
    void *context, *work;
    const struct rt_backend *backend = open_cpu(NULL, &context);
    for (size_t d = 0; d < backend->device_count(context); d++) {
        struct rt_task task;
        struct rt_launch_config kernel;
        const char *refused;
        double us = 0;
        rt_task_init(&task, RT_OP_BMM, RT_FP32);
        memcpy(task.call.dim, (const int64_t[]){3, 300, 100, 20}, 4 * sizeof task.call.dim[0]);
        RT_ASSERT_OK(backend->prepare(context, d, &task, &kernel, &work, &refused));
        CU_ASSERT_PTR_NULL_FATAL(refused);
        CU_ASSERT_STRING_EQUAL(kernel.name, "openblas_sgemm_tile128x128");
        CU_ASSERT_TRUE(kernel.tile[0] == 128 && kernel.tile[1] == 100 && kernel.tile[2] == -1);
        CU_ASSERT_TRUE(kernel.grid[0] == 9 && kernel.grid[1] == 1 && kernel.block[0] == 1);
        RT_ASSERT_OK(
            backend->time(context, work, &(struct rt_batch){.runs = 3, .batches = 1, .warm = true}, &us));
        CU_ASSERT_TRUE(us > 0);
        backend->finish(context, work);
        rt_task_init(&task, RT_OP_GELU, RT_FP32);
        memcpy(task.call.dim, (const int64_t[]){30, 1000}, 2 * sizeof task.call.dim[0]);
        RT_ASSERT_OK(backend->prepare(context, d, &task, &kernel, &work, &refused));
        CU_ASSERT_TRUE(kernel.tile[0] == 1000 && kernel.tile[1] == -1 && kernel.grid[0] == 30);
        RT_ASSERT_OK(
            backend->time(context, work, &(struct rt_batch){.runs = 3, .batches = 1, .warm = true}, &us));
        backend->finish(context, work);
    }
    backend->close(context);
}

static void test_what_does_not_fit_is_refused(void)
{
    static const struct {
        enum rt_op_id op;
        int64_t dim[4];
        const char *why;
    } cases[] = {
        {RT_OP_GEMM, {INT64_C(1) << 40, INT64_C(1) << 40, INT64_C(1) << 40}, "out of memory"},
        {RT_OP_ADD, {INT64_C(1) << 40, INT64_C(1) << 40}, "out of memory"},
        {RT_OP_BMM, {INT64_C(1) << 40, 1, 1, 1}, "out of memory"},
        {RT_OP_RELU, {1 << 24, 1}, "too long for the library's 32-bit sizes"},
        {RT_OP_BATCHNORM, {1, 1, 1, 1}, "not supported"},
    };
    void *context;
    const struct rt_backend *backend = open_cpu("1", &context);
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        struct rt_task task;
        struct rt_launch_config kernel;
        const char *refused = NULL;
        void *work = &task;
        rt_task_init(&task, cases[i].op, RT_FP32);
        memcpy(task.call.dim, cases[i].dim, sizeof cases[i].dim);
        RT_ASSERT_OK(backend->prepare(context, 0, &task, &kernel, &work, &refused));
        CU_ASSERT_PTR_NULL(work);
        CU_ASSERT_PTR_NOT_NULL_FATAL(refused);
        CU_ASSERT_STRING_EQUAL(refused, cases[i].why);
    }
    backend->close(context);
}

/* ---- energy ---- */

/* FOLDER/intel-rapl:ZONE/FILE, as Linux has them; the folder becomes ROOFTILE_POWERCAP. */
static void write_zone(const char *folder, int zone, const char *file, const char *text)
{
    char name[96];
    setenv("ROOFTILE_POWERCAP", rt_test_path(folder), 1);
    mkdir(rt_test_path(folder), 0700);
    snprintf(name, sizeof name, "%s/intel-rapl:%d", folder, zone);
    mkdir(rt_test_path(name), 0700);
    snprintf(name, sizeof name, "%s/intel-rapl:%d/.%s", folder, zone, file);
    const char *made = rt_test_write(name, text);
    snprintf(name, sizeof name, "%s/intel-rapl:%d/%s", folder, zone, file);
    rename(made, rt_test_path(name)); /* readers see the old number or the new one */
}

static void test_packages_are_summed_over_wraps(void)
{
    struct rt_rapl rapl;
    write_zone("powercap", 0, "name", "package-0\n");
    write_zone("powercap", 0, "energy_uj", "1000000\n");
    write_zone("powercap", 1, "name", "psys\n"); /* the platform holds the packages, too */
    write_zone("powercap", 1, "energy_uj", "5\n");
    write_zone("powercap", 2, "name", "package-1\n");
    write_zone("powercap", 2, "energy_uj", "262143000000\n");
    write_zone("powercap", 2, "max_energy_range_uj", "262143328850\n");
    rt_rapl_open(&rapl);
    CU_ASSERT_EQUAL_FATAL(rapl.count, 2);
    CU_ASSERT_EQUAL(rt_rapl_taken_mj(&rapl), 0);
    write_zone("powercap", 0, "energy_uj", "1250000\n");
    write_zone("powercap", 2, "energy_uj", "171150\n");
    RT_ASSERT_NEAR(rt_rapl_taken_mj(&rapl), 250 + 500, 1e-12);
    write_zone("powercap", 0, "energy_uj", "7\n"); /* its range is not known */
    CU_ASSERT_TRUE(isnan(rt_rapl_taken_mj(&rapl)));
    CU_ASSERT_EQUAL(rt_rapl_taken_mj(&rapl), 0);
    write_zone("powercap", 0, "energy_uj", "none\n");
    CU_ASSERT_TRUE(isnan(rt_rapl_taken_mj(&rapl)));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(rapl.missing, "intel-rapl:0/energy_uj cannot be read (it holds no number)"));
}

static void test_what_hides_the_counter_is_said(void)
{
    struct rt_rapl rapl;
    write_zone("virtual", 0, "name", "psys\n");
    rt_rapl_open(&rapl);
    CU_ASSERT_EQUAL(rapl.count, 0);
    CU_ASSERT_TRUE(isnan(rt_rapl_taken_mj(&rapl)));
    CU_ASSERT_PTR_NOT_NULL(strstr(rapl.missing, "virtual lists no package with a RAPL counter"));
    write_zone("refused", 0, "name", "package-0\n");
    write_zone("refused", 0, "energy_uj", "1\n");
    chmod(rt_test_path("refused/intel-rapl:0/energy_uj"), 0);
    rt_rapl_open(&rapl);
    if (geteuid() == 0) { /* whom nothing is refused */
        CU_ASSERT_EQUAL(rapl.count, 1);
        return;
    }
    CU_ASSERT_EQUAL(rapl.count, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(rapl.missing, "energy_uj cannot be read (Permission denied); run as root"));
}

/* 10 J a reading of the clock, until it is told to end. */
static void *turn_counter(void *end)
{
    char text[32];
    for (long long uj = 10000000; !atomic_load((atomic_bool *)end); uj += 10000000) {
        snprintf(text, sizeof text, "%lld\n", uj);
        write_zone("turning", 0, "energy_uj", text);
    }
    return NULL;
}

static void test_energy_of_a_run(void)
{
    atomic_bool end = false;
    pthread_t thread;
    struct rt_task task;
    struct rt_launch_config kernel;
    void *context, *work;
    const char *refused, *missing = NULL;
    double mj = NAN;
    write_zone("turning", 0, "name", "package-0\n");
    write_zone("turning", 0, "energy_uj", "0\n");
    const struct rt_backend *backend = open_cpu("1", &context);
    rt_task_init(&task, RT_OP_GELU, RT_FP32);
    memcpy(task.call.dim, (const int64_t[]){300, 1000}, 2 * sizeof task.call.dim[0]);
    RT_ASSERT_OK(backend->prepare(context, 0, &task, &kernel, &work, &refused));
    CU_ASSERT_PTR_NULL_FATAL(refused);
    RT_ASSERT_OK(backend->energy(context, work, 0.01, &mj, &missing));
    CU_ASSERT_TRUE(isnan(mj));
    CU_ASSERT_STRING_EQUAL(missing, "its RAPL counter does not count");
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, turn_counter, &end), 0);
    RT_ASSERT_OK(backend->energy(context, work, 0.2, &mj, &missing));
    atomic_store(&end, true);
    pthread_join(thread, NULL);
    CU_ASSERT_TRUE(mj > 0 && mj < 1e9);
    backend->finish(context, work);
    backend->close(context);
}

RT_TESTS(RT_TEST(test_products), RT_TEST(test_convolutions), RT_TEST(test_row_ops), RT_TEST(test_elementwise),
         RT_TEST(test_pool_runs_each_tile_once), RT_TEST(test_cpuinfo), RT_TEST(test_machine),
         RT_TEST(test_given_cache), RT_TEST(test_devices), RT_TEST(test_bad_devices),
         RT_TEST(test_kernel_is_described_and_timed), RT_TEST(test_what_does_not_fit_is_refused),
         RT_TEST(test_packages_are_summed_over_wraps), RT_TEST(test_what_hides_the_counter_is_said),
         RT_TEST(test_energy_of_a_run))
