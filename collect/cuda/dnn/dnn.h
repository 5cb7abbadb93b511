/*
 * cuDNN: its functions, its graphs of operations, and the makers of jobs in this folder. Private to them and
 * to their tests.
 *
 * Convolutions and attention use cuDNN's graph API, as PyTorch's do: a graph of operations over described
 * tensors, a heuristic that lists engines for it, and the first of these that can be built.
 *
 * Source: NVIDIA, cuDNN backend documentation 9, "Graph API".
 */
#pragma once

#include "collect/cuda/jobs/job.h"

#if __has_include(<cudnn.h>)
#include <cudnn.h>

/* X(member, symbol) */
#define RT_DNN_FUNCTIONS(X)                                                                                  \
    X(version, cudnnGetVersion)                                                                              \
    X(create, cudnnCreate)                                                                                   \
    X(destroy, cudnnDestroy)                                                                                 \
    X(set_stream, cudnnSetStream)                                                                            \
    X(descriptor_new, cudnnBackendCreateDescriptor)                                                          \
    X(descriptor_free, cudnnBackendDestroyDescriptor)                                                        \
    X(finalize, cudnnBackendFinalize)                                                                        \
    X(set, cudnnBackendSetAttribute)                                                                         \
    X(get, cudnnBackendGetAttribute)                                                                         \
    X(execute, cudnnBackendExecute)                                                                          \
    X(tensor_new, cudnnCreateTensorDescriptor)                                                               \
    X(tensor_free, cudnnDestroyTensorDescriptor)                                                             \
    X(tensor_set, cudnnSetTensor4dDescriptor)                                                                \
    X(pooling_new, cudnnCreatePoolingDescriptor)                                                             \
    X(pooling_free, cudnnDestroyPoolingDescriptor)                                                           \
    X(pooling_set, cudnnSetPooling2dDescriptor)                                                              \
    X(pooling_run, cudnnPoolingForward)                                                                      \
    X(pooling_gradient, cudnnPoolingBackward)                                                                \
    X(batchnorm_workspace, cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize)                         \
    X(batchnorm_reserve, cudnnGetBatchNormalizationTrainingExReserveSpaceSize)                               \
    X(batchnorm_run, cudnnBatchNormalizationForwardTrainingEx)                                               \
    X(batchnorm_inference, cudnnBatchNormalizationForwardInference)                                          \
    X(batchnorm_gradient, cudnnBatchNormalizationBackward)

struct rt_dnn_functions {
#define RT_DNN_MEMBER(member, symbol) __typeof__(symbol) *member;
    RT_DNN_FUNCTIONS(RT_DNN_MEMBER)
#undef RT_DNN_MEMBER
};

extern struct rt_dnn_functions rt_dnn; /* of dnn.c; filled by rt_dnn_open */

/* NULL, or why there is no cuDNN. */
const char *rt_dnn_open(void);

struct rt_cudnn {
    cudnnHandle_t handle; /* on the gpu's stream */
};

/* Of fp32, tf32, fp16, bf16; sums are fp32 in all. */
cudnnDataType_t rt_dnn_type(enum rt_dtype dtype);

CUresult rt_dnn_result(cudnnStatus_t status);

/* An image of batch x channels x height x width, or weights; strides in elements. */
void rt_dnn_strides(const int64_t dim[4], bool channels_last, int64_t stride[4]);

/* ---- graphs ---- */

struct rt_dnn_tensor {
    int64_t uid; /* from 1 on; 0: lives inside a fused kernel only */
    cudnnDataType_t type;
    int64_t dim[4], stride[4];
    bool by_value; /* a number in the host's memory */
};

struct rt_dnn_graph {
    cudnnBackendDescriptor_t descriptor[96]; /* all that were made, in order */
    cudnnBackendDescriptor_t operation[24];
    size_t descriptors, operations;
    int64_t virtual_tensors;
    cudnnStatus_t status; /* of the first call that failed; later ones do nothing */
};

/* Descriptors belong to the graph; NULL once something failed. */
cudnnBackendDescriptor_t rt_dnn_begin(struct rt_dnn_graph *graph, cudnnBackendDescriptorType_t type);
void rt_dnn_set(struct rt_dnn_graph *graph, cudnnBackendDescriptor_t descriptor,
                cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type, int64_t count,
                const void *values);
void rt_dnn_set_descriptor(struct rt_dnn_graph *graph, cudnnBackendDescriptor_t descriptor,
                           cudnnBackendAttributeName_t attribute, cudnnBackendDescriptor_t value);
void rt_dnn_end(struct rt_dnn_graph *graph, cudnnBackendDescriptor_t descriptor);
void rt_dnn_end_operation(struct rt_dnn_graph *graph, cudnnBackendDescriptor_t operation);
cudnnBackendDescriptor_t rt_dnn_tensor(struct rt_dnn_graph *graph, const struct rt_dnn_tensor *tensor);
void rt_dnn_graph_release(struct rt_dnn_graph *graph);

/* Where a graph is to run, and what may run it. */
struct rt_dnn_place {
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t properties; /* instead of a handle, for a device that is not present */
    size_t workspace_bytes;              /* at most */
    bool full_precision;                 /* no engine that rounds fp32 */
    bool tensor_cores;                   /* engines on tensor cores, too */
};

struct rt_dnn_plan {
    cudnnBackendDescriptor_t plan, config; /* config: what it was built from, kept as frameworks keep it */
    size_t workspace_bytes;
    int64_t engine;
    char text[256]; /* "engine=57 knobs=2:5,14:3 heuristic=a" */
};

/* NULL, or why no engine runs the graph, which may be released afterwards. */
const char *rt_dnn_plan(struct rt_dnn_graph *graph, const struct rt_dnn_place *place,
                        struct rt_dnn_plan *out);
void rt_dnn_plan_release(struct rt_dnn_plan *plan);
void rt_dnn_release(struct rt_cuda_job *job); /* whose detail begins with a plan */

/* Runs it over the tensors of uid 1, 2, ... */
CUresult rt_dnn_run(cudnnHandle_t handle, const struct rt_dnn_plan *plan, int64_t tensors,
                    void *const *pointer, CUdeviceptr workspace);

/* ---- images: batch, channels, height, width are the first dims of a task ---- */

/* In the op's own phase, either layout, and no tf32. */
bool rt_dnn_can_image(const struct rt_task *task);
/* The image of the task with another height and width; height 0: one number a channel. False where cuDNN
 * refuses; free `out` with rt_dnn_free_image in both cases. */
bool rt_dnn_describe_image(const struct rt_task *task, int64_t height, int64_t width, enum rt_dtype dtype,
                           cudnnTensorDescriptor_t *out);
void rt_dnn_free_image(cudnnTensorDescriptor_t tensor); /* NULL: nothing to do */
/* A kernel of the library: no tile, grid or block is known. */
struct rt_launch_config rt_dnn_kernel_named(const char *name, const char *algorithm);

/* ---- ops: they describe job and operands, and return NULL or why it cannot run ---- */

struct rt_dnn_maker {
    bool (*can)(const struct rt_task *task);
    const char *(*make)(const struct rt_task *task, const struct rt_dnn_place *place,
                        struct rt_cuda_job *job);
};
extern const struct rt_dnn_maker rt_dnn_conv, rt_dnn_attention, rt_dnn_pooling, rt_dnn_batchnorm;

#endif
