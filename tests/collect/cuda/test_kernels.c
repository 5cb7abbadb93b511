/* Our CUDA kernels, emulated on the CPU as vector_plan.c launches them, against formulas in double precision.
 */
#include "kernels_on_cpu.h"
#include "test.h"
#include "vector_reference.h"

#include <math.h>
#include <stdarg.h>
#include <sys/mman.h>

enum { SMS = 4 };

/* ---- running them ---- */

static void run_blocks(struct work *work, int i, int64_t first, int64_t last, int descending)
{
    const struct rt_vector_launch *from = &work->plan.launch[i];
    struct rt_cuda_args args = from->args;
    struct on_cpu_launch launch = {
        .kernel = from->name, .first = first, .last = last, .descending = descending};
    memcpy(launch.grid, from->grid, sizeof launch.grid);
    memcpy(launch.block, from->block, sizeof launch.block);
    for (int k = 0; k < work->plan.operands; k++)
        args.operand[k] = (uint64_t)(uintptr_t)work->block[k];
    args.workspace = (uint64_t)(uintptr_t)work->block[RT_CUDA_OPERANDS];
    const char *why = on_cpu_run(&launch, &args);
    if (why != NULL)
        work->failure = why;
}

/* ---- tests ---- */

static const int dtypes[] = {RT_FP32, RT_FP16, RT_BF16};

static bool works(int op, int dtype, int64_t rows, int64_t cols, int descending)
{
    struct work work;
    work_init(&work, op, dtype, rows, cols, SMS);
    for (int i = 0; i < work.plan.launches && work.failure == NULL; i++)
        run_blocks(&work, i, 0, 0, descending);
    if (work.failure != NULL)
        printf("# %s\n", work.failure);
    bool good = work.failure == NULL && results_are_right(&work) && guards_stand(&work);
    if (!good)
        printf("# wrong: %s %s %lld x %lld\n", rt_ops[op].name, rt_dtypes[dtype].name, (long long)rows,
               (long long)cols);
    work_release(&work);
    return good;
}

/* Odd and even rows on both sides of the limits between kernels. */
static int check_ops(bool rows_only)
{
    int checked = 0;
    static const int64_t cols[] = {1,   2,   3,   7,    8,    31,   33,   64,   127,  128,  129,
                                   256, 264, 513, 1000, 1024, 1025, 4097, 8192, 8197, 16384};
    for (int op = 0; op < RT_OP_COUNT; op++) {
        struct rt_task task;
        rt_task_init(&task, op, RT_FP32);
        if (!rt_vector_can(&task) || is_row_op(op) != rows_only)
            continue;
        for (size_t d = 0; d < RT_COUNT(dtypes); d++)
            for (size_t c = 0; c < RT_COUNT(cols); c++) {
                int64_t rows = cols[c] < 512 ? 37 : cols[c] < 2000 ? 5 : 1 + (cols[c] % 2);
                CU_ASSERT_TRUE(works(op, dtypes[d], rows, cols[c], (int)(c + d) % 2));
            }
        checked++;
    }
    return checked;
}

static void test_flat_and_moving_ops(void)
{
    CU_ASSERT_EQUAL(check_ops(false), 26);
}

static void test_row_ops(void)
{
    CU_ASSERT_EQUAL(check_ops(true), 7);
}

/* A single row or column, many rows, rows too long to be held, both orders of threads. */
static void test_row_ops_at_the_ends(void)
{
    static const int64_t shapes[][2] = {{1, 1},     {1, 5},     {130, 1},  {300, 40},
                                        {2, 16392}, {2, 20001}, {1, 70000}};
    for (int op = 0; op < RT_OP_COUNT; op++) {
        struct rt_task task;
        rt_task_init(&task, op, RT_FP32);
        if (!rt_vector_can(&task) || !is_row_op(op))
            continue;
        for (size_t s = 0; s < RT_COUNT(shapes); s++)
            for (int descending = 0; descending < 2; descending++)
                CU_ASSERT_TRUE(works(op, dtypes[s % 3], shapes[s][0], shapes[s][1], descending));
    }
}

/* Takes what a block wrote out of the results, which are poison again afterwards; false where an element was
 * written before. Bytes of a number that are all POISON mean NaN, which nothing gives. */
static bool take_written(struct work *work, uint8_t *kept[], int *written[])
{
    bool once = true;
    for (int k = 0; k <= RT_CUDA_OPERANDS; k++) {
        if (written[k] == NULL)
            continue;
        size_t width = k == RT_CUDA_OPERANDS ? 4 : (size_t)rt_dtypes[work->plan.operand[k].dtype].bytes;
        for (size_t i = 0; i < work->bytes[k] / width; i++) {
            static const uint8_t poison[8] = {POISON, POISON, POISON, POISON};
            if (memcmp(work->block[k] + i * width, poison, width) == 0)
                continue;
            once = once && written[k][i]++ == 0;
            memcpy(kept[k] + i * width, work->block[k] + i * width, width);
            memset(work->block[k] + i * width, POISON, width);
        }
    }
    return once;
}

static bool writes_once(int op, int dtype, int64_t rows, int64_t cols)
{
    struct work work;
    uint8_t *kept[RT_CUDA_OPERANDS + 1] = {NULL};
    int *written[RT_CUDA_OPERANDS + 1] = {NULL};
    bool once = true;
    work_init(&work, op, dtype, rows, cols, SMS);
    for (int k = 0; k <= RT_CUDA_OPERANDS; k++)
        if (k == RT_CUDA_OPERANDS ||
            (k < work.plan.operands && work.plan.operand[k].fill == RT_FILL_RESULT)) {
            kept[k] = rt_calloc(work.bytes[k] + 1, 1);
            written[k] = rt_calloc(work.bytes[k] + 1, sizeof(int));
        }
    for (int i = 0; i < work.plan.launches; i++) {
        const int32_t *grid = work.plan.launch[i].grid;
        bool last = i == work.plan.launches - 1 && i > 0;
        if (last) /* what the launch before left for this one */
            memcpy(work.block[RT_CUDA_OPERANDS], kept[RT_CUDA_OPERANDS], work.bytes[RT_CUDA_OPERANDS]);
        int *workspace = written[RT_CUDA_OPERANDS];
        for (int64_t b = 0; b < (int64_t)grid[0] * grid[1]; b++) {
            run_blocks(&work, i, b, b + 1, 0);
            if (last) /* it reads the workspace */
                written[RT_CUDA_OPERANDS] = NULL;
            once = take_written(&work, kept, written) && once;
            written[RT_CUDA_OPERANDS] = workspace;
        }
    }
    for (int k = 0; k <= RT_CUDA_OPERANDS; k++) {
        size_t width = k == RT_CUDA_OPERANDS ? 4 : (size_t)rt_dtypes[work.plan.operand[k].dtype].bytes;
        for (size_t i = 0; written[k] != NULL && i < work.bytes[k] / width; i++)
            once = once && written[k][i] == 1;
        if (kept[k] != NULL)
            memcpy(work.block[k], kept[k], work.bytes[k]);
        free(kept[k]);
        free(written[k]);
    }
    once = once && work.failure == NULL && results_are_right(&work);
    if (!once)
        printf("# not once: %s %s %lld x %lld\n", rt_ops[op].name, rt_dtypes[dtype].name, (long long)rows,
               (long long)cols);
    work_release(&work);
    return once;
}

static void test_each_element_is_written_by_one_block(void)
{
    static const int64_t shapes[][2] = {{5, 7}, {67, 33}, {3, 1024}, {9, 520}, {700, 3}, {1, 40000}};
    for (int op = 0; op < RT_OP_COUNT; op++) {
        struct rt_task task;
        rt_task_init(&task, op, RT_FP32);
        if (!rt_vector_can(&task) || op == RT_OP_OPTIMIZER) /* in place: twice would be another value */
            continue;
        for (size_t s = 0; s < RT_COUNT(shapes); s++)
            CU_ASSERT_TRUE(writes_once(op, dtypes[s % 3], shapes[s][0], shapes[s][1]));
    }
}

/* The tile is what a block covers: so many blocks are enough, and one less is not. */
static void test_tiles_cover_the_output(void)
{
    for (int op = 0; op < RT_OP_COUNT; op++)
        for (int64_t rows = 1; rows < 100000; rows = rows * 7 + 3)
            for (int64_t cols = 1; cols < 200000; cols = cols * 3 + (cols % 2)) {
                struct rt_task task;
                struct rt_vector_plan plan;
                rt_task_init(&task, op, cols % 3 == 0 ? RT_FP32 : RT_BF16);
                task.call.dim[0] = op == RT_OP_OPTIMIZER ? rows * cols : rows;
                task.call.dim[1] = op == RT_OP_OPTIMIZER ? -1 : cols;
                if (!rt_vector_can(&task))
                    continue;
                CU_ASSERT_PTR_NULL_FATAL(rt_vector_plan(&task, 132, &plan));
                const struct rt_vector_launch *first = &plan.launch[0];
                int64_t blocks = (int64_t)first->grid[0] * first->grid[1], tile = plan.tile;
                CU_ASSERT_TRUE(blocks * tile >= rows * cols);
                CU_ASSERT_TRUE(first->grid[1] <= 65535 && first->grid[2] == 1);
                int threads = first->block[0] * first->block[1];
                CU_ASSERT_TRUE(threads >= 32 && threads <= 1024 && threads % 32 == 0);
                if (op == RT_OP_TRANSPOSE || op == RT_OP_REDUCE)
                    continue;
                CU_ASSERT_TRUE((blocks - 1) * tile < rows * cols);
            }
}

static void test_shapes_that_do_not_fit_are_refused(void)
{
    struct rt_task task;
    struct rt_vector_plan plan;
    rt_task_init(&task, RT_OP_ADD, RT_FP32);
    task.call.dim[0] = task.call.dim[1] = (int64_t)1 << 40;
    CU_ASSERT_STRING_EQUAL(rt_vector_plan(&task, 132, &plan), "out of memory");
    task.call.dim[0] = (int64_t)1 << 41;
    task.call.dim[1] = 4;
    CU_ASSERT_STRING_EQUAL(rt_vector_plan(&task, 132, &plan), "more blocks than a grid has");
    CU_ASSERT_FALSE((rt_task_init(&task, RT_OP_GEMM, RT_FP32), rt_vector_can(&task)));
    CU_ASSERT_FALSE((rt_task_init(&task, RT_OP_ADD, RT_FP8), rt_vector_can(&task)));
    task.call.dtype = RT_FP32;
    CU_ASSERT_TRUE(rt_vector_can(&task));
    task.call.phase = RT_BACKWARD;
    CU_ASSERT_FALSE(rt_vector_can(&task));
}

/* Address space without memory behind it, but for the pages that are touched. */
static uint8_t *vast(size_t bytes)
{
    void *block =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

/* More than 2^32 elements: the last block must find the end of the last row. */
static void check_far_end(int op, int64_t rows, int64_t cols)
{
    struct rt_task task;
    struct rt_vector_plan plan;
    uint8_t *block[RT_CUDA_OPERANDS] = {NULL};
    rt_task_init(&task, op, RT_FP16);
    task.call.dim[0] = rows;
    task.call.dim[1] = cols;
    CU_ASSERT_PTR_NULL_FATAL(rt_vector_plan(&task, 132, &plan));
    struct rt_cuda_args args = plan.launch[0].args;
    for (int k = 0; k < plan.operands; k++) {
        block[k] = vast(plan.operand[k].bytes);
        CU_ASSERT_PTR_NOT_NULL_FATAL(block[k]);
        args.operand[k] = (uint64_t)(uintptr_t)block[k];
    }
    int result = op == RT_OP_ADD || op == RT_OP_EMBEDDING || op == RT_OP_INDEX ? 2 : 1;
    int64_t end = rows * cols - 1;
    if (result == 1)
        set_value(block[0], RT_FP16, end, 2);
    else if (op == RT_OP_ADD)
        set_value(block[0], RT_FP16, end, 1.5), set_value(block[1], RT_FP16, end, 0.5);
    else
        set_value(block[0], RT_FP16, cols - 1, 2); /* row 0 of the table, as all indices are 0 */
    struct on_cpu_launch launch = {.kernel = plan.launch[0].name};
    memcpy(launch.grid, plan.launch[0].grid, sizeof launch.grid);
    memcpy(launch.block, plan.launch[0].block, sizeof launch.block);
    launch.first = (int64_t)launch.grid[0] * launch.grid[1] - 1;
    CU_ASSERT_PTR_NULL(on_cpu_run(&launch, &args));
    if (op == RT_OP_SOFTMAX) {
        double other = (double)(cols - 1);
        RT_ASSERT_NEAR(value_of(block[1], RT_FP16, end), exp(2) / (exp(2) + other), 1e-2);
    } else {
        CU_ASSERT_EQUAL(value_of(block[result], RT_FP16, end), 2);
    }
    for (int k = 0; k < plan.operands; k++)
        munmap(block[k], plan.operand[k].bytes);
}

static void test_more_than_32_bits_of_elements(void)
{
    int64_t rows = ((int64_t)1 << 24) + 1;
    check_far_end(RT_OP_ADD, rows, 260);
    check_far_end(RT_OP_COPY, rows, 259);
    check_far_end(RT_OP_SOFTMAX, rows, 264);
    check_far_end(RT_OP_SOFTMAX, rows, 257);
    check_far_end(RT_OP_EMBEDDING, rows, 264);
    check_far_end(RT_OP_INDEX, rows, 257);
    check_far_end(RT_OP_TRANSPOSE, ((int64_t)1 << 17) + 3, ((int64_t)1 << 15) + 5);
}

/* ---- what the backend launches ---- */

static const char *run_utility(const char *name, int blocks, int threads, const struct rt_cuda_args *args)
{
    struct on_cpu_launch launch = {.kernel = name, .grid = {blocks, 1, 1}, .block = {threads, 1, 1}};
    return on_cpu_run(&launch, args);
}

static void test_values_are_those_of_the_cpu_backend(void)
{
    static const struct {
        const char *kernel;
        enum rt_dtype dtype;
        double error; /* half a unit in the last place, below 1 and from 1 */
    } types[] = {{"rt_fill_values_f32", RT_FP32, 0},
                 {"rt_fill_values_f16", RT_FP16, 0x1p-11},
                 {"rt_fill_values_bf16", RT_BF16, 0x1p-8},
                 {"rt_fill_values_f8", RT_FP8, 0x1p-4}};
    for (size_t t = 0; t < RT_COUNT(types); t++)
        for (int64_t count = 1; count < 6000; count = count * 3 + 1) {
            size_t bytes = (size_t)count * (size_t)rt_dtypes[types[t].dtype].bytes;
            uint8_t *block = guarded(bytes);
            struct rt_cuda_args args = {.operand = {(uint64_t)(uintptr_t)block}, .count = count, .seed = 42};
            CU_ASSERT_PTR_NULL(run_utility(types[t].kernel, 3, 256, &args));
            for (int64_t i = 0; i < count; i++) {
                uint64_t bits = mixed(42, (uint64_t)(i / 2 * 2));
                double exact = 0.5 + (double)(i % 2 == 0 ? bits >> 40 : bits & 0xffffff) * 0x1p-24;
                double value = value_of(block, types[t].dtype, i);
                double most = types[t].dtype == RT_FP32 ? 0x1p-24
                              : exact < 1               ? types[t].error / 2
                                                        : types[t].error;
                CU_ASSERT_TRUE(fabs(value - exact) <= most);
            }
            CU_ASSERT_TRUE(guard_stands(block, bytes));
            free(block);
        }
}

static void test_indices_are_in_range(void)
{
    enum { COUNT = 5000 };
    static const int64_t limits[] = {1, 3, 50257, INT32_MAX};
    for (size_t l = 0; l < RT_COUNT(limits); l++) {
        int32_t *index = (int32_t *)guarded(COUNT * sizeof *index);
        struct rt_cuda_args args = {
            .operand = {(uint64_t)(uintptr_t)index}, .count = COUNT, .limit = limits[l], .seed = 9};
        CU_ASSERT_PTR_NULL(run_utility("rt_fill_indices", 2, 256, &args));
        double sum = 0;
        for (int i = 0; i < COUNT; i++) {
            CU_ASSERT_TRUE(index[i] >= 0 && index[i] < limits[l]);
            sum += index[i];
        }
        RT_ASSERT_NEAR(sum / COUNT + 1, (double)(limits[l] - 1) / 2 + 1, 0.05);
        CU_ASSERT_TRUE(guard_stands(index, COUNT * sizeof *index));
        free(index);
    }
}

static void test_flush_writes_all(void)
{
    enum { BYTES = 256 * 16 * 5 + 48 };
    uint8_t *block = guarded(BYTES);
    struct rt_cuda_args args = {.operand = {(uint64_t)(uintptr_t)block}, .count = BYTES, .seed = 1};
    CU_ASSERT_PTR_NULL(run_utility("rt_flush", 3, 256, &args));
    uint32_t first, word;
    memcpy(&first, block, sizeof first);
    CU_ASSERT_NOT_EQUAL(first, UINT32_MAX);
    for (size_t i = 0; i < BYTES; i += sizeof word) {
        memcpy(&word, block + i, sizeof word);
        CU_ASSERT_EQUAL(word, first);
    }
    args.seed = 2;
    CU_ASSERT_PTR_NULL(run_utility("rt_flush", 3, 256, &args));
    memcpy(&word, block, sizeof word);
    CU_ASSERT_NOT_EQUAL(word, first);
    CU_ASSERT_TRUE(guard_stands(block, BYTES));
    free(block);
}

static volatile uint32_t flag;
static int readings;

static void raise_flag(void)
{
    if (++readings == 20)
        flag = 7;
}

static void test_spin_waits_for_the_flag_or_gives_up(void)
{
    uint32_t timed_out = 0;
    struct rt_cuda_args args = {.operand = {(uint64_t)(uintptr_t)&flag, (uint64_t)(uintptr_t)&timed_out},
                                .limit = 7,
                                .count = 1000000};
    on_cpu_clock = raise_flag;
    flag = 6;
    CU_ASSERT_PTR_NULL(run_utility("rt_spin", 1, 1, &args));
    CU_ASSERT_EQUAL(readings, 20);
    CU_ASSERT_EQUAL(timed_out, 0);
    CU_ASSERT_PTR_NULL(run_utility("rt_spin", 1, 1, &args)); /* raised: at once */
    CU_ASSERT_TRUE(readings < 23);
    args.limit = (int64_t)UINT32_MAX; /* 8 tickets before 7, on a counter that wraps */
    CU_ASSERT_PTR_NULL(run_utility("rt_spin", 1, 1, &args));
    CU_ASSERT_EQUAL(timed_out, 0);
    on_cpu_clock = NULL;
    args.limit = 8;
    CU_ASSERT_PTR_NULL(run_utility("rt_spin", 1, 1, &args));
    CU_ASSERT_EQUAL(timed_out, 1);
    args.operand[1] = 0;
    CU_ASSERT_PTR_NULL(run_utility("rt_spin", 1, 1, &args));
}

static void test_stamp_and_empty(void)
{
    uint64_t stamp[2][3];
    for (int i = 0; i < 2; i++) {
        struct rt_cuda_args args = {.operand = {(uint64_t)(uintptr_t)stamp[i]}};
        CU_ASSERT_PTR_NULL(run_utility("rt_stamp", 1, 1, &args));
        CU_ASSERT_PTR_NULL(run_utility("rt_empty", 40, 128, NULL));
    }
    CU_ASSERT_TRUE(stamp[1][0] > stamp[0][0]);
    CU_ASSERT_TRUE(stamp[1][1] > stamp[0][1]);
    CU_ASSERT_EQUAL(stamp[1][2], stamp[0][2]);
}

/* ---- jobs, where there is a toolkit: the launches of vector.c, run by the emulation in a driver's place
 * ---- */

#ifdef ROOFTILE_CUDA
#include "collect/cuda/jobs/job.h"

static char launched[256];

static CUresult find_function(CUfunction *function, CUmodule module, const char *name)
{
    (void)module;
    *function = (CUfunction)(uintptr_t)name;
    return strncmp(name, "rt_", 3) == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static CUresult tell_attribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    (void)function;
    *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? 40 : 256;
    return CUDA_SUCCESS;
}

static CUresult launch_here(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned shared, CUstream stream, void **parameters,
                            void **extra)
{
    struct on_cpu_launch launch = {.kernel = (const char *)function,
                                   .grid = {(int32_t)gx, (int32_t)gy, (int32_t)gz},
                                   .block = {(int32_t)bx, (int32_t)by, (int32_t)bz}};
    size_t length = strlen(launched);
    CU_ASSERT_TRUE(shared == 0 && stream == (CUstream)(uintptr_t)5 && extra == NULL);
    snprintf(launched + length, sizeof launched - length, "%s%s", length > 0 ? ";" : "", launch.kernel);
    return on_cpu_run(&launch, parameters[0]) == NULL ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}

static void check_job(int op, int64_t rows, int64_t cols)
{
    struct rt_cuda_driver driver = {
        .module_function = find_function, .function_attribute = tell_attribute, .launch = launch_here};
    struct rt_cuda_gpu gpu = {
        .driver = &driver, .stream = (CUstream)(uintptr_t)5, .name = "here", .sms = SMS};
    struct rt_cuda_job job;
    struct work work;
    const char *refused;
    CUdeviceptr address[RT_CUDA_OPERANDS];
    work_init(&work, op, RT_BF16, rows, cols, SMS);
    CU_ASSERT_TRUE(rt_cuda_vector_can(&work.task));
    RT_ASSERT_OK(rt_cuda_vector_job(&gpu, &work.task, &job, &refused));
    CU_ASSERT_PTR_NULL_FATAL(refused);
    CU_ASSERT_EQUAL(job.operands, work.plan.operands);
    CU_ASSERT_EQUAL(job.workspace_bytes, work.plan.workspace_bytes);
    for (int k = 0; k < job.operands; k++)
        address[k] = (CUdeviceptr)(uintptr_t)work.block[k];
    launched[0] = '\0';
    CU_ASSERT_EQUAL(job.launch(&job, address, (CUdeviceptr)(uintptr_t)work.block[RT_CUDA_OPERANDS]),
                    CUDA_SUCCESS);
    CU_ASSERT_TRUE(results_are_right(&work) && guards_stand(&work));
    CU_ASSERT_STRING_EQUAL(launched, job.kernel.names != NULL ? job.kernel.names : job.kernel.name);
    CU_ASSERT_EQUAL(strncmp(launched, job.kernel.name, strlen(job.kernel.name)), 0);
    CU_ASSERT_EQUAL(job.kernel.tile[0], work.plan.tile);
    CU_ASSERT_TRUE(job.kernel.registers == 40 && job.kernel.shared_bytes == 256);
    address[0] += 2; /* no kernel may run on this */
    CU_ASSERT_EQUAL(job.launch(&job, address, 0), CUDA_ERROR_INVALID_VALUE);
    job.release(&job);
    work_release(&work);
}

static void test_jobs_launch_what_was_planned(void)
{
    check_job(RT_OP_ADD, 3, 700);
    check_job(RT_OP_RMSNORM, 3, 700);
    check_job(RT_OP_LAYERNORM_BACKWARD, 150, 40); /* three kernels */
    check_job(RT_OP_RMSNORM_BACKWARD, 3, 700);    /* two */
    check_job(RT_OP_REDUCE, 1, 40000);            /* two */
    struct rt_cuda_gpu gpu = {.sms = SMS};
    struct rt_cuda_job job;
    struct rt_task task;
    const char *refused = NULL;
    rt_task_init(&task, RT_OP_COPY, RT_FP32);
    task.call.dim[0] = task.call.dim[1] = (int64_t)1 << 30;
    RT_ASSERT_OK(rt_cuda_vector_job(&gpu, &task, &job, &refused));
    CU_ASSERT_STRING_EQUAL(refused, "out of memory");
}
#else
static void test_jobs_launch_what_was_planned(void)
{
    snprintf(rt_test_skipped, sizeof rt_test_skipped, "built without a CUDA toolkit");
}
#endif

/* The emulation itself finds bad launches. */
static void test_bad_launches_are_found(void)
{
    struct work work;
    work_init(&work, RT_OP_SOFTMAX, RT_FP32, 2, 64, SMS);
    struct rt_vector_launch good = work.plan.launch[0], *launch = &work.plan.launch[0];
    launch->block[1] *= 2; /* 256 threads for 128 */
    run_blocks(&work, 0, 0, 0, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(work.failure);
    CU_ASSERT_PTR_NOT_NULL(strstr(work.failure, "more threads"));
    *launch = good;
    launch->block[1] = 1; /* half a warp, shuffles of a whole one */
    run_blocks(&work, 0, 0, 0, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(work.failure, "not there"));
    *launch = good;
    strcpy(launch->name, "rt_none");
    run_blocks(&work, 0, 0, 0, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(work.failure, "no such kernel"));
    *launch = good;
    work.failure = NULL;
    run_blocks(&work, 0, 0, 0, 0);
    CU_ASSERT_PTR_NULL(work.failure);
    CU_ASSERT_TRUE(results_are_right(&work));
    ((float *)work.block[1])[70] *= 1.0001f;
    CU_ASSERT_FALSE(results_are_right(&work));
    work_release(&work);
}

RT_TESTS(RT_TEST(test_flat_and_moving_ops), RT_TEST(test_row_ops), RT_TEST(test_row_ops_at_the_ends),
         RT_TEST(test_each_element_is_written_by_one_block), RT_TEST(test_tiles_cover_the_output),
         RT_TEST(test_shapes_that_do_not_fit_are_refused), RT_TEST(test_more_than_32_bits_of_elements),
         RT_TEST(test_values_are_those_of_the_cpu_backend), RT_TEST(test_indices_are_in_range),
         RT_TEST(test_flush_writes_all), RT_TEST(test_spin_waits_for_the_flag_or_gives_up),
         RT_TEST(test_stamp_and_empty), RT_TEST(test_jobs_launch_what_was_planned),
         RT_TEST(test_bad_launches_are_found))
