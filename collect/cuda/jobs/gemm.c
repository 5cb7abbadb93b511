/*
 * Matrix products on cuBLASLt: the first choice of its heuristic is recorded and timed.
 *
 * Matrices are row-major here and column-major in cuBLASLt, so C(m,n) = A(m,k) B(k,n) is computed as
 * C'(n,m) = B'(n,k) A'(k,m), where ' is the same memory read as column-major; as in frameworks, nothing is
 * moved or transposed. cuBLASLt's first matrix is therefore our second, its rows are our n, and its tile of
 * R x C covers C of our rows and R of our columns.
 *   linear: weights are (n,k) as PyTorch stores them, so the first matrix is read transposed ("TN").
 *   fp8: cuBLASLt requires TN, so B is (n,k) in gemm and bmm, too; the result is bf16.
 *   bmm and linear with batch > 1: batch products with strides; a linear's bias is shared.
 * fp32 is CUBLAS_COMPUTE_32F, what PyTorch asks for where TF32 is not allowed.
 *
 * Source: NVIDIA, cuBLAS documentation 13.0, "Using the cuBLASLt API".
 */
#include "collect/cuda/jobs/job.h"
#include "base/status.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include "cublaslt_ids.h"

/* X(member, symbol) */
#define LT_FUNCTIONS(X)                                                                                      \
    X(create, cublasLtCreate)                                                                                \
    X(destroy, cublasLtDestroy)                                                                              \
    X(version, cublasLtGetVersion)                                                                           \
    X(product_new, cublasLtMatmulDescCreate)                                                                 \
    X(product_free, cublasLtMatmulDescDestroy)                                                               \
    X(product_set, cublasLtMatmulDescSetAttribute)                                                           \
    X(layout_new, cublasLtMatrixLayoutCreate)                                                                \
    X(layout_free, cublasLtMatrixLayoutDestroy)                                                              \
    X(layout_set, cublasLtMatrixLayoutSetAttribute)                                                          \
    X(preference_new, cublasLtMatmulPreferenceCreate)                                                        \
    X(preference_free, cublasLtMatmulPreferenceDestroy)                                                      \
    X(preference_set, cublasLtMatmulPreferenceSetAttribute)                                                  \
    X(choose, cublasLtMatmulAlgoGetHeuristic)                                                                \
    X(algorithm_get, cublasLtMatmulAlgoConfigGetAttribute)                                                   \
    X(run, cublasLtMatmul)

static struct {
#define LT_MEMBER(member, symbol) __typeof__(symbol) *member;
    LT_FUNCTIONS(LT_MEMBER)
} lt;

static const struct rt_cuda_symbol lt_symbols[] = {
#define LT_SYMBOL(member, symbol) {#symbol, offsetof(__typeof__(lt), member)},
    LT_FUNCTIONS(LT_SYMBOL)};

struct rt_cublaslt {
    cublasLtHandle_t handle;
};

/* NULL, or why cuBLASLt is missing; tried once. */
static const char *open_lt(void)
{
    static const char *const files[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", NULL};
    static bool tried;
    static const char *missing;
    if (tried)
        return missing;
    tried = true;
    /* Libraries of CUDA 13 do not run on a driver of CUDA 12. */
    const struct rt_cuda_driver *driver = NULL;
    bool old = rt_cuda_driver(&driver) == RT_OK && driver->version < 13000;
    const struct rt_cuda_library library = {"ROOFTILE_CUBLASLT", old ? files + 1 : files, lt_symbols,
                                            RT_COUNT(lt_symbols)};
    const char *lacks;
    enum rt_cuda_found found = rt_cuda_library_load(&library, &lt, &lacks);
    if (found == RT_CUDA_ABSENT)
        missing = "cuBLASLt is not installed";
    else if (found == RT_CUDA_LACKS_SYMBOLS)
        missing = "the cuBLASLt that is installed is too old";
    return missing;
}

const char *rt_cublaslt_version(void)
{
    static char text[48];
    if (open_lt() != NULL)
        return NULL;
    size_t number = lt.version(); /* 130100 for 13.1.0 */
    snprintf(text, sizeof text, "cuBLASLt %zu.%zu.%zu", number / 10000, number / 100 % 100, number % 100);
    return text;
}

static const char *ready(struct rt_cuda_gpu *gpu)
{
    const char *missing = open_lt();
    if (missing != NULL || gpu->cublaslt != NULL)
        return missing;
    cublasLtHandle_t handle;
    if (lt.create(&handle) != CUBLAS_STATUS_SUCCESS)
        return "cuBLASLt does not start on this GPU";
    gpu->cublaslt = rt_malloc(sizeof *gpu->cublaslt);
    gpu->cublaslt->handle = handle;
    return NULL;
}

void rt_cublaslt_free(struct rt_cublaslt *library)
{
    if (library == NULL)
        return;
    lt.destroy(library->handle);
    free(library);
}

static const struct precision {
    cudaDataType_t in, out;
    cublasComputeType_t compute; /* sums, alpha and beta are fp32 in all */
    enum rt_dtype out_dtype;
    int capability; /* 80: from 8.0 on; 0: never */
} precisions[RT_DTYPE_COUNT] = {
    [RT_FP32] = {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, RT_FP32, 50},
    [RT_TF32] = {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, RT_FP32, 80},
    [RT_FP16] = {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, RT_FP16, 53},
    [RT_BF16] = {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, RT_BF16, 80},
    [RT_FP8] = {CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, RT_BF16, 89},
};

struct product {
    int64_t batch, m, n, k;
    bool biased, scaled, weights_transposed;
    struct precision precision;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t first, second, result;
    cublasLtMatmulHeuristicResult_t chosen;
    int bias, scale; /* operands' places; of the scales, A's */
    char name[32], algorithm[192];
};

enum { OPERAND_A, OPERAND_B }; /* then bias, C, and the scales of A and B */

static void shape_of(const struct rt_task *task, struct product *product)
{
    const int64_t *dim = task->call.dim;
    product->batch = task->call.op == RT_OP_GEMM ? 1 : *dim++;
    product->m = dim[0];
    product->n = dim[1];
    product->k = dim[2];
    product->biased = task->call.op == RT_OP_LINEAR;
    product->scaled = task->call.dtype == RT_FP8;
    product->weights_transposed = product->biased || product->scaled;
    product->precision = precisions[task->call.dtype];
}

static void list_operands(const struct rt_task *task, struct product *p, struct rt_cuda_job *job)
{
    enum rt_dtype out = p->precision.out_dtype;
    rt_cuda_job_operand(job, p->batch * p->m * p->k, task->call.dtype, RT_FILL_VALUES);
    rt_cuda_job_operand(job, p->batch * p->k * p->n, task->call.dtype, RT_FILL_VALUES);
    p->bias = job->operands;
    if (p->biased)
        rt_cuda_job_operand(job, p->n, out, RT_FILL_VALUES);
    rt_cuda_job_operand(job, p->batch * p->m * p->n, out, RT_FILL_RESULT);
    p->scale = job->operands;
    for (int i = 0; i < (p->scaled ? 2 : 0); i++)
        rt_cuda_job_operand(job, 1, RT_FP32, RT_FILL_VALUES);
}

#define PRODUCT_SET(product, attribute, value)                                                               \
    (lt.product_set((product)->operation, attribute, &(value), sizeof(value)) == CUBLAS_STATUS_SUCCESS)
#define LAYOUT_SET(layout, attribute, value)                                                                 \
    (lt.layout_set(layout, attribute, &(value), sizeof(value)) == CUBLAS_STATUS_SUCCESS)

/* rows x columns, a column after the other */
static bool describe_matrix(const struct product *p, cudaDataType_t type, int64_t rows, int64_t columns,
                            cublasLtMatrixLayout_t *layout)
{
    if (lt.layout_new(layout, type, (uint64_t)rows, (uint64_t)columns, rows) != CUBLAS_STATUS_SUCCESS)
        return false;
    int32_t count = (int32_t)p->batch;
    int64_t stride = rows * columns;
    return count == 1 || (LAYOUT_SET(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count) &&
                          LAYOUT_SET(*layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride));
}

/* Of one set of operands; the heuristic reads of the addresses only how they are aligned. */
static bool set_addresses(const struct product *p, CUdeviceptr bias, CUdeviceptr scale_a, CUdeviceptr scale_b)
{
    if (p->biased && !PRODUCT_SET(p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias))
        return false;
    return !p->scaled || (PRODUCT_SET(p, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale_b) &&
                          PRODUCT_SET(p, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale_a));
}

/* Of some of a GPU's SMs (a green context) the heuristic does not know by itself. */
static int32_t fewer_sms(const struct rt_cuda_gpu *gpu)
{
    int all = 0;
    CUresult result =
        gpu->driver->device_attribute(&all, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, gpu->device);
    return result == CUDA_SUCCESS && gpu->sms > 0 && gpu->sms < all ? gpu->sms : 0;
}

static bool describe_product(const struct rt_cuda_gpu *gpu, struct product *p)
{
    const struct precision *as = &p->precision;
    if (lt.product_new(&p->operation, as->compute, CUDA_R_32F) != CUBLAS_STATUS_SUCCESS)
        return false;
    int32_t transposed = CUBLAS_OP_T, sms = fewer_sms(gpu);
    uint32_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    if (p->weights_transposed && !PRODUCT_SET(p, CUBLASLT_MATMUL_DESC_TRANSA, transposed))
        return false;
    if (p->biased && !PRODUCT_SET(p, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue))
        return false;
    if (sms > 0 && !PRODUCT_SET(p, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, sms))
        return false;
    const CUdeviceptr aligned = 256; /* as all operands are */
    int64_t rows = p->weights_transposed ? p->k : p->n, columns = p->weights_transposed ? p->n : p->k;
    return set_addresses(p, aligned, aligned, aligned) &&
           describe_matrix(p, as->in, rows, columns, &p->first) &&
           describe_matrix(p, as->in, p->k, p->m, &p->second) &&
           describe_matrix(p, as->out, p->n, p->m, &p->result);
}

/* As in PyTorch: with more, the heuristic would split k where frameworks' kernels do not. */
static uint64_t workspace_limit(const struct rt_cuda_gpu *gpu)
{
    uint64_t most = (uint64_t)(gpu->capability >= 90 ? 32 : 8) << 20;
    return gpu->workspace_bytes < most ? gpu->workspace_bytes : most;
}

static const char *choose(const struct rt_cuda_gpu *gpu, struct product *p)
{
    cublasLtMatmulPreference_t preference;
    if (lt.preference_new(&preference) != CUBLAS_STATUS_SUCCESS)
        return "out of memory";
    uint64_t workspace = workspace_limit(gpu);
    int found = 0;
    cublasStatus_t status =
        lt.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = lt.choose(p->handle, p->operation, p->first, p->second, p->result, p->result, preference, 1,
                           &p->chosen, &found);
    lt.preference_free(preference);
    if (status == CUBLAS_STATUS_SUCCESS && found > 0)
        status = p->chosen.state;
    if (status == CUBLAS_STATUS_ALLOC_FAILED)
        return "out of memory";
    return status == CUBLAS_STATUS_SUCCESS && found > 0 ? NULL : "cuBLASLt has no algorithm for it";
}

/* An attribute of the choice, of 2 or 4 bytes; -1 where this library does not know it. */
static int64_t choice(const struct product *p, cublasLtMatmulAlgoConfigAttributes_t attribute, size_t size)
{
    uint16_t narrow = 0;
    uint32_t wide = 0;
    size_t written = 0;
    void *to = size == sizeof narrow ? (void *)&narrow : (void *)&wide;
    if (lt.algorithm_get(&p->chosen.algo, attribute, to, size, &written) != CUBLAS_STATUS_SUCCESS)
        return -1;
    return size == sizeof narrow ? narrow : wide;
}

static const struct lt_id *find_id(const struct lt_id *ids, size_t count, int64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i].id == id)
            return &ids[i];
    return NULL;
}

/* " tile=128x256", or " tile=#700" where it is newer than this build */
static void append_id(char *text, size_t size, const char *name, const struct lt_id *known, const char *end,
                      int64_t id)
{
    size_t used = strlen(text);
    if (known == NULL)
        snprintf(text + used, size - used, " %s=#%lld", name, (long long)id);
    else if (known->second == 0)
        snprintf(text + used, size - used, " %s=%dxauto", name, known->first);
    else
        snprintf(text + used, size - used, " %s=%dx%d%s", name, known->first, known->second, end);
}

static void append_number(char *text, size_t size, const char *name, int64_t value)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, " %s=%lld", name, (long long)value);
}

/* In the library's terms: tile as its rows x columns, stages as depth x count. */
static void read_choice(struct product *p, struct rt_launch_config *kernel)
{
    int64_t id = choice(p, CUBLASLT_ALGO_CONFIG_ID, 4);
    int64_t tile = choice(p, CUBLASLT_ALGO_CONFIG_TILE_ID, 4);
    int64_t stages = choice(p, CUBLASLT_ALGO_CONFIG_STAGES_ID, 4);
    int64_t cluster = choice(p, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2);
    const struct lt_id *tile_id = find_id(tile_ids, RT_COUNT(tile_ids), tile);
    const struct lt_id *stage_id = find_id(stage_ids, RT_COUNT(stage_ids), stages);
    char *text = p->algorithm;
    size_t size = sizeof p->algorithm;
    snprintf(text, size, "id=%lld", (long long)id);
    append_id(text, size, "tile", tile_id, "", tile);
    append_id(text, size, "stages", stage_id, "", stages);
    append_number(text, size, "splitk", choice(p, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4));
    append_number(text, size, "reduction", choice(p, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4));
    append_number(text, size, "swizzle", choice(p, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4));
    append_number(text, size, "custom", choice(p, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4));
    append_id(text, size, "cluster", find_id(cluster_ids, RT_COUNT(cluster_ids), cluster), "x1", cluster);
    append_number(text, size, "inner", choice(p, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2));
    snprintf(p->name, sizeof p->name, "cublaslt_id%lld", (long long)id);
    *kernel = (struct rt_launch_config){.name = p->name,
                                        .algorithm = p->algorithm,
                                        .tile = {tile_id == NULL ? -1 : tile_id->second,
                                                 tile_id == NULL ? -1 : tile_id->first,
                                                 stage_id == NULL ? -1 : stage_id->first},
                                        .grid = {-1, -1, -1},
                                        .block = {-1, -1, -1}};
}

static CUresult status_of(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return CUDA_SUCCESS;
    case CUBLAS_STATUS_ALLOC_FAILED:
        return CUDA_ERROR_OUT_OF_MEMORY;
    case CUBLAS_STATUS_INVALID_VALUE:
        return CUDA_ERROR_INVALID_VALUE;
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return CUDA_ERROR_LAUNCH_FAILED;
    case CUBLAS_STATUS_INTERNAL_ERROR:
        return CUDA_ERROR_UNKNOWN;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

static CUresult launch_product(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace)
{
    static const float one = 1, zero = 0;
    struct product *p = job->detail;
    CUdeviceptr bias = p->biased ? operand[p->bias] : 0;
    if (!set_addresses(p, bias, p->scaled ? operand[p->scale] : 0, p->scaled ? operand[p->scale + 1] : 0))
        return CUDA_ERROR_INVALID_VALUE;
    void *result = (void *)operand[p->biased ? p->bias + 1 : p->bias];
    return status_of(lt.run(p->handle, p->operation, &one, (const void *)operand[OPERAND_B], p->first,
                            (const void *)operand[OPERAND_A], p->second, &zero, result, p->result, result,
                            p->result, &p->chosen.algo, (void *)workspace, job->workspace_bytes,
                            job->gpu->stream));
}

static void free_product(struct product *p)
{
    if (p->result != NULL)
        lt.layout_free(p->result);
    if (p->second != NULL)
        lt.layout_free(p->second);
    if (p->first != NULL)
        lt.layout_free(p->first);
    if (p->operation != NULL)
        lt.product_free(p->operation);
    free(p);
}

static void release_product(struct rt_cuda_job *job)
{
    free_product(job->detail);
    job->detail = NULL;
}

/* Why it cannot run; before the library is called. */
static const char *refuse(const struct rt_cuda_gpu *gpu, const struct rt_task *task, const struct product *p)
{
    if (gpu->capability < p->precision.capability)
        return task->call.dtype == RT_FP8 ? "fp8 needs compute capability 8.9"
                                          : "needs a newer GPU for this dtype";
    if (p->batch > INT_MAX || p->m > INT_MAX || p->n > INT_MAX || p->k > INT_MAX)
        return "too long for the library's 32-bit sizes";
    return rt_call_bytes(&task->call) > 0x1p50 ? "out of memory" : NULL;
}

int rt_cuda_gemm_job(struct rt_cuda_gpu *gpu, const struct rt_task *task, struct rt_cuda_job *job,
                     const char **refused)
{
    *job = (struct rt_cuda_job){.gpu = gpu, .launch = launch_product, .release = release_product};
    if (!rt_cuda_gemm_can(task)) {
        *refused = "not supported";
        return RT_OK;
    }
    struct product *p = rt_calloc(1, sizeof *p);
    shape_of(task, p);
    *refused = refuse(gpu, task, p);
    if (*refused == NULL)
        *refused = ready(gpu);
    if (*refused == NULL) {
        p->handle = gpu->cublaslt->handle;
        *refused = describe_product(gpu, p) ? choose(gpu, p) : "cuBLASLt does not take this product";
    }
    if (*refused != NULL) {
        free_product(p);
        return RT_OK;
    }
    list_operands(task, p, job);
    read_choice(p, &job->kernel);
    job->workspace_bytes = p->chosen.workspaceSize;
    job->detail = p;
    return RT_OK;
}

bool rt_cuda_gemm_can(const struct rt_task *task)
{
    bool product = task->call.op == RT_OP_GEMM || task->call.op == RT_OP_LINEAR || task->call.op == RT_OP_BMM;
    return product && task->call.phase == RT_FORWARD && task->variant == RT_PLAIN &&
           precisions[task->call.dtype].capability > 0;
}

#else /* a toolkit without cuBLASLt's header */

int rt_cuda_gemm_job(struct rt_cuda_gpu *gpu, const struct rt_task *task, struct rt_cuda_job *job,
                     const char **refused)
{
    (void)task;
    *job = (struct rt_cuda_job){.gpu = gpu};
    *refused = "built without cuBLASLt";
    return RT_OK;
}

bool rt_cuda_gemm_can(const struct rt_task *task)
{
    return task->op == RT_OP_GEMM || task->op == RT_OP_LINEAR || task->op == RT_OP_BMM;
}

const char *rt_cublaslt_version(void)
{
    return NULL;
}

void rt_cublaslt_free(struct rt_cublaslt *library)
{
    (void)library;
}

#endif
