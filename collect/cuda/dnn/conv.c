/*
 * Convolutions of images: forward, to the input (backward) and to the weights (accumulate), either layout
 * (the dim channels_last). As in frameworks the kernel is not flipped: cross-correlation. Groups follow from
 * the weights' channels.
 */
#include "collect/cuda/dnn/dnn.h"

#if __has_include(<cudnn.h>)
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>

struct conv {
    struct rt_dnn_plan plan; /* first: rt_dnn_release */
    cudnnHandle_t handle;
    char name[32];
};

enum { IMAGE, WEIGHTS, OUTPUT }; /* operands, and uid - 1 of the tensors */

/* Plans and --list ask without dims: can any shape run? */
static bool can_conv(const struct rt_task *task)
{
    const int64_t *d = task->call.dim;
    bool divides =
        d[0] < 0 || (d[RT_CONV_GROUPS] > 0 && d[1] % d[RT_CONV_GROUPS] == 0 && d[2] % d[RT_CONV_GROUPS] == 0);
    return divides && task->variant == RT_PLAIN;
}

/* x (n, c, h, w), w (k, c / groups, r, s), y (n, k, p, q) */
static void describe_tensors(const struct rt_task *task, struct rt_dnn_tensor tensor[3])
{
    const int64_t *d = task->call.dim;
    double p, q;
    rt_conv_outputs(d, &p, &q);
    const int64_t dims[3][4] = {{d[0], d[1], d[3], d[4]},
                                {d[2], d[1] / d[RT_CONV_GROUPS], d[5], d[6]},
                                {d[0], d[2], (int64_t)p, (int64_t)q}};
    for (int t = 0; t < 3; t++) {
        tensor[t] = (struct rt_dnn_tensor){.uid = t + 1, .type = rt_dnn_type(task->call.dtype)};
        for (int i = 0; i < 4; i++)
            tensor[t].dim[i] = dims[t][i];
        rt_dnn_strides(dims[t], d[RT_CONV_CHANNELS_LAST] == 1, tensor[t].stride);
    }
}

static cudnnBackendDescriptor_t describe_window(struct rt_dnn_graph *graph, const int64_t *d)
{
    const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    const int64_t spatial = 2, stride[] = {d[RT_CONV_STRIDE], rt_conv_stride_w(d)},
                  padding[] = {d[RT_CONV_PADDING], rt_conv_padding_w(d)},
                  dilation[] = {d[RT_CONV_DILATION], d[RT_CONV_DILATION]};
    cudnnBackendDescriptor_t window = rt_dnn_begin(graph, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    rt_dnn_set(graph, window, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &spatial);
    rt_dnn_set(graph, window, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
    rt_dnn_set(graph, window, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    rt_dnn_set(graph, window, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilation);
    rt_dnn_set(graph, window, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, stride);
    rt_dnn_set(graph, window, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, padding);
    rt_dnn_set(graph, window, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, padding);
    rt_dnn_end(graph, window);
    return window;
}

/* The attributes of each direction. */
static const struct direction {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t window, tensor[3], alpha, beta;
    int result; /* operand that is written */
    const char *name;
} directions[RT_PHASE_COUNT] = {
    [RT_FORWARD] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                    OUTPUT,
                    "fprop"},
    [RT_BACKWARD] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
                     IMAGE,
                     "dgrad"},
    [RT_ACCUMULATE] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                       {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
                       WEIGHTS,
                       "wgrad"},
};

static void describe_conv(const struct rt_task *task, struct rt_dnn_graph *graph)
{
    const struct direction *way = &directions[task->call.phase];
    const float one = 1, zero = 0;
    struct rt_dnn_tensor tensor[3];
    describe_tensors(task, tensor);
    cudnnBackendDescriptor_t window = describe_window(graph, task->call.dim), described[3];
    for (int t = 0; t < 3; t++)
        described[t] = rt_dnn_tensor(graph, &tensor[t]);
    cudnnBackendDescriptor_t operation = rt_dnn_begin(graph, way->type);
    rt_dnn_set_descriptor(graph, operation, way->window, window);
    for (int t = 0; t < 3; t++)
        rt_dnn_set_descriptor(graph, operation, way->tensor[t], described[t]);
    rt_dnn_set(graph, operation, way->alpha, CUDNN_TYPE_FLOAT, 1, &one);
    rt_dnn_set(graph, operation, way->beta, CUDNN_TYPE_FLOAT, 1, &zero);
    rt_dnn_end_operation(graph, operation);
}

static void list_operands(const struct rt_task *task, struct rt_cuda_job *job)
{
    struct rt_dnn_tensor tensor[3];
    describe_tensors(task, tensor);
    for (int t = 0; t < 3; t++)
        rt_cuda_job_operand(job, tensor[t].dim[0] * tensor[t].stride[0], task->call.dtype,
                            t == directions[task->call.phase].result ? RT_FILL_RESULT : RT_FILL_VALUES);
}

static CUresult launch_conv(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace)
{
    const struct conv *conv = job->detail;
    void *const pointer[] = {(void *)operand[IMAGE], (void *)operand[WEIGHTS], (void *)operand[OUTPUT]};
    return rt_dnn_run(conv->handle, &conv->plan, 3, pointer, workspace);
}

/* cuDNN reports no tile of a convolution as a product; the kernel's name holds it. */
static const char *make_conv(const struct rt_task *task, const struct rt_dnn_place *place,
                             struct rt_cuda_job *job)
{
    struct conv *conv = rt_calloc(1, sizeof *conv);
    struct rt_dnn_graph graph = {0};
    conv->handle = place->handle;
    job->detail = conv;
    job->launch = launch_conv;
    job->release = rt_dnn_release;
    describe_conv(task, &graph);
    const char *refused = rt_dnn_plan(&graph, place, &conv->plan);
    rt_dnn_graph_release(&graph);
    if (refused != NULL)
        return refused;
    list_operands(task, job);
    snprintf(conv->name, sizeof conv->name, "cudnn_%s_engine%d", directions[task->call.phase].name,
             (int)conv->plan.engine);
    job->workspace_bytes = conv->plan.workspace_bytes;
    job->kernel = (struct rt_launch_config){.name = conv->name,
                                            .algorithm = conv->plan.text,
                                            .tile = {-1, -1, -1},
                                            .grid = {-1, -1, -1},
                                            .block = {-1, -1, -1}};
    return NULL;
}

const struct rt_dnn_maker rt_dnn_conv = {can_conv, make_conv};

#endif
