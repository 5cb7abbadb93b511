/* cuDNN: opened at run time, its handle, and the makers of its ops. See dnn.h. */
#include "collect/cuda/dnn/dnn.h"
#include "base/status.h"
#include "collect/cuda/driver.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#if __has_include(<cudnn.h>)

struct rt_dnn_functions rt_dnn;

static const struct rt_cuda_symbol dnn_symbols[] = {
#define DNN_SYMBOL(member, symbol) {#symbol, offsetof(struct rt_dnn_functions, member)},
    RT_DNN_FUNCTIONS(DNN_SYMBOL)};

const char *rt_dnn_open(void)
{
    static const char *const files[] = {"libcudnn.so.9", "libcudnn.so", NULL};
    static const struct rt_cuda_library library = {"ROOFTILE_CUDNN", files, dnn_symbols,
                                                   RT_COUNT(dnn_symbols)};
    static bool tried;
    static const char *missing;
    if (tried)
        return missing;
    tried = true;
    const char *lacks;
    enum rt_cuda_found found = rt_cuda_library_load(&library, &rt_dnn, &lacks);
    if (found == RT_CUDA_ABSENT)
        missing = "cuDNN is not installed";
    else if (found == RT_CUDA_LACKS_SYMBOLS || rt_dnn.version() < 90000)
        missing = "the cuDNN that is installed is too old";
    return missing;
}

const char *rt_cudnn_version(void)
{
    static char text[48];
    if (rt_dnn_open() != NULL)
        return NULL;
    size_t number = rt_dnn.version(); /* 91900 for 9.19.0 */
    snprintf(text, sizeof text, "cuDNN %zu.%zu.%zu", number / 10000, number / 100 % 100, number % 100);
    return text;
}

static const char *ready(struct rt_cuda_gpu *gpu)
{
    const char *missing = rt_dnn_open();
    if (missing != NULL || gpu->cudnn != NULL)
        return missing;
    cudnnHandle_t handle;
    if (rt_dnn.create(&handle) != CUDNN_STATUS_SUCCESS)
        return "cuDNN does not start on this GPU";
    if (rt_dnn.set_stream(handle, gpu->stream) != CUDNN_STATUS_SUCCESS) {
        rt_dnn.destroy(handle);
        return "cuDNN does not take this GPU's stream";
    }
    gpu->cudnn = rt_malloc(sizeof *gpu->cudnn);
    gpu->cudnn->handle = handle;
    return NULL;
}

void rt_cudnn_free(struct rt_cudnn *library)
{
    if (library == NULL)
        return;
    rt_dnn.destroy(library->handle);
    free(library);
}

/* ---- what the ops share ---- */

static const struct dnn_type {
    cudnnDataType_t type;
    int capability; /* 80: from 8.0 on; 0: never */
} types[RT_DTYPE_COUNT] = {
    [RT_FP32] = {CUDNN_DATA_FLOAT, 50},
    [RT_TF32] = {CUDNN_DATA_FLOAT, 80},
    [RT_FP16] = {CUDNN_DATA_HALF, 53},
    [RT_BF16] = {CUDNN_DATA_BFLOAT16, 80},
};

cudnnDataType_t rt_dnn_type(enum rt_dtype dtype)
{
    return types[dtype].type;
}

/* cuDNN groups its codes by thousands. */
CUresult rt_dnn_result(cudnnStatus_t status)
{
    switch (CUDNN_STATUS_CATEGORY(status)) {
    case 0:
        return CUDA_SUCCESS;
    case 2000: /* bad parameter */
        return CUDA_ERROR_INVALID_VALUE;
    case 3000: /* not supported */
        return CUDA_ERROR_NOT_SUPPORTED;
    case 5000: /* execution failed */
        return CUDA_ERROR_LAUNCH_FAILED;
    default:
        return status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED ? CUDA_ERROR_OUT_OF_MEMORY
                                                                              : CUDA_ERROR_UNKNOWN;
    }
}

void rt_dnn_strides(const int64_t dim[4], bool channels_last, int64_t stride[4])
{
    stride[3] = channels_last ? dim[1] : 1;
    stride[2] = dim[3] * stride[3];
    stride[1] = channels_last ? 1 : dim[2] * stride[2];
    stride[0] = dim[1] * dim[2] * dim[3];
}

/* ---- jobs ---- */

static const struct rt_dnn_maker *maker_of(enum rt_op_id op)
{
    switch (op) {
    case RT_OP_CONV2D:
        return &rt_dnn_conv;
    case RT_OP_ATTENTION_CONTEXT:
    case RT_OP_ATTENTION_GENERATION:
    case RT_OP_ATTENTION_ENCODER:
        return &rt_dnn_attention;
    case RT_OP_MAX_POOL2D:
    case RT_OP_AVG_POOL2D:
    case RT_OP_MAX_POOL2D_BACKWARD:
    case RT_OP_AVG_POOL2D_BACKWARD:
        return &rt_dnn_pooling;
    case RT_OP_BATCHNORM:
    case RT_OP_BATCHNORM_INFERENCE:
    case RT_OP_BATCHNORM_BACKWARD:
        return &rt_dnn_batchnorm;
    default:
        return NULL;
    }
}

bool rt_cuda_dnn_can(const struct rt_task *task)
{
    const struct rt_dnn_maker *maker = maker_of(task->call.op);
    return maker != NULL && types[task->call.dtype].capability > 0 && maker->can(task);
}

static const char *refuse(const struct rt_cuda_gpu *gpu, const struct rt_task *task)
{
    if (!rt_cuda_dnn_can(task))
        return "not supported";
    if (gpu->capability < types[task->call.dtype].capability)
        return "needs a newer GPU for this dtype";
    for (int i = 0; rt_ops[task->call.op].dims[i] != NULL; i++)
        if (task->call.dim[i] > INT_MAX)
            return "too long for the library's 32-bit sizes";
    return rt_call_bytes(&task->call) > 0x1p50 ? "out of memory" : NULL;
}

/* Convolutions get more workspace than products: PyTorch gives them all free memory. */
static struct rt_dnn_place place_of(const struct rt_cuda_gpu *gpu, const struct rt_task *task)
{
    const size_t most = (size_t)1 << 30;
    return (struct rt_dnn_place){.handle = gpu->cudnn->handle,
                                 .workspace_bytes = gpu->workspace_bytes > most ? gpu->workspace_bytes : most,
                                 .full_precision = task->call.dtype == RT_FP32 || task->call.dtype == RT_TF32,
                                 .tensor_cores = task->call.dtype != RT_FP32};
}

int rt_cuda_dnn_job(struct rt_cuda_gpu *gpu, const struct rt_task *task, struct rt_cuda_job *job,
                    const char **refused)
{
    const struct rt_cuda_job empty = {.gpu = gpu};
    *job = empty;
    *refused = refuse(gpu, task);
    if (*refused == NULL)
        *refused = ready(gpu);
    if (*refused != NULL)
        return RT_OK;
    struct rt_dnn_place place = place_of(gpu, task);
    *refused = maker_of(task->call.op)->make(task, &place, job);
    if (*refused != NULL) {
        if (job->release != NULL)
            job->release(job);
        *job = empty;
    }
    return RT_OK;
}

#else /* a toolkit without cuDNN's header */

int rt_cuda_dnn_job(struct rt_cuda_gpu *gpu, const struct rt_task *task, struct rt_cuda_job *job,
                    const char **refused)
{
    (void)task;
    *job = (struct rt_cuda_job){.gpu = gpu};
    *refused = "built without cuDNN";
    return RT_OK;
}

bool rt_cuda_dnn_can(const struct rt_task *task)
{
    return task->op == RT_OP_CONV2D || task->op == RT_OP_MAX_POOL2D || task->op == RT_OP_BATCHNORM ||
           rt_ops[task->op].family == RT_FAMILY_ATTENTION;
}

const char *rt_cudnn_version(void)
{
    return NULL;
}

void rt_cudnn_free(struct rt_cudnn *library)
{
    (void)library;
}

#endif

/* ---- jobs on images ---- */

#if __has_include(<cudnn.h>)

bool rt_dnn_can_image(const struct rt_task *task)
{
    return task->call.phase == rt_op_own_phase(task->call.op) &&
           task->call.dtype != RT_TF32 && /* nothing is multiplied on tensor cores */
           (task->variant == RT_PLAIN || task->variant == RT_NHWC);
}

bool rt_dnn_describe_image(const struct rt_task *task, int64_t height, int64_t width, enum rt_dtype dtype,
                           cudnnTensorDescriptor_t *out)
{
    cudnnTensorFormat_t format = task->variant == RT_NHWC ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    bool whole = height > 0;
    return rt_dnn.tensor_new(out) == CUDNN_STATUS_SUCCESS &&
           rt_dnn.tensor_set(*out, format, rt_dnn_type(dtype), whole ? (int)task->call.dim[0] : 1,
                             (int)task->call.dim[1], whole ? (int)height : 1,
                             whole ? (int)width : 1) == CUDNN_STATUS_SUCCESS;
}

void rt_dnn_free_image(cudnnTensorDescriptor_t tensor)
{
    if (tensor != NULL)
        rt_dnn.tensor_free(tensor);
}

struct rt_launch_config rt_dnn_kernel_named(const char *name, const char *algorithm)
{
    return (struct rt_launch_config){.name = name,
                                     .algorithm = algorithm,
                                     .tile = {-1, -1, -1},
                                     .grid = {-1, -1, -1},
                                     .block = {-1, -1, -1}};
}

#endif
