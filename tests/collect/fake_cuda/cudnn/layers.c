/* A cuDNN for tests, its functions without graphs: pooling and batch normalisation as plain loops. */
#if __has_include(<cudnn.h>)
#include "tests/collect/fake_cuda/cudnn/tensor.h"
#include "tests/collect/fake_cuda/timed.h"

#include <math.h>
#include <stdlib.h>

struct cudnnTensorStruct {
    struct tensor t;
};

struct cudnnPoolingStruct {
    int64_t window, padding, stride;
    bool mean;
};

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *out)
{
    *out = calloc(1, sizeof **out);
    fake_cudnn_descriptors++;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor)
{
    free(tensor);
    fake_cudnn_descriptors--;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w)
{
    if (n < 1 || c < 1 || h < 1 || w < 1)
        return wrong("an empty tensor");
    bool last = format == CUDNN_TENSOR_NHWC;
    tensor->t =
        (struct tensor){.uid = 1,
                        .type = type,
                        .dim = {n, c, h, w},
                        .stride = {(int64_t)c * h * w, last ? 1 : h * w, last ? w * c : w, last ? c : 1}};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t *out)
{
    *out = calloc(1, sizeof **out);
    fake_cudnn_descriptors++;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t pooling)
{
    free(pooling);
    fake_cudnn_descriptors--;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int window_h, int window_w,
                                          int padding_h, int padding_w, int stride_h, int stride_w)
{
    (void)nan;
    bool mean = mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
    if ((mode != CUDNN_POOLING_MAX && !mean) || window_h != window_w || padding_h != padding_w ||
        stride_h != stride_w)
        return wrong("another pooling");
    *pooling = (struct cudnnPoolingStruct){window_h, padding_h, stride_h, mean};
    return CUDNN_STATUS_SUCCESS;
}

/* The i-th place of the window of an output; false: it lies in the padding. */
static bool window_place(const struct cudnnPoolingStruct *pooling, const struct tensor *in,
                         const int64_t at[4], int64_t i, int64_t place[4])
{
    place[0] = at[0];
    place[1] = at[1];
    place[2] = at[2] * pooling->stride - pooling->padding + i / pooling->window;
    place[3] = at[3] * pooling->stride - pooling->padding + i % pooling->window;
    return place[2] >= 0 && place[3] >= 0 && place[2] < in->dim[2] && place[3] < in->dim[3];
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling,
                                  const void *alpha, const cudnnTensorDescriptor_t in, const void *x,
                                  const void *beta, const cudnnTensorDescriptor_t out, void *y)
{
    const struct tensor *ti = &in->t, *to = &out->t;
    int64_t at[4] = {0};
    if (handle == NULL || *(const float *)alpha != 1 || *(const float *)beta != 0)
        return wrong("not a plain pooling");
    if ((ti->dim[2] + 2 * pooling->padding - pooling->window) / pooling->stride + 1 != to->dim[2] ||
        (ti->dim[3] + 2 * pooling->padding - pooling->window) / pooling->stride + 1 != to->dim[3])
        return wrong("a pooled image of another size");
    if (fake_timed(2 + 32e-6 * ti->dim[0] * ti->dim[1] * ti->dim[2] * ti->dim[3]))
        return CUDNN_STATUS_SUCCESS;
    do {
        float most = -INFINITY, sum = 0;
        for (int64_t i = 0; i < pooling->window * pooling->window; i++) {
            int64_t place[4];
            if (!window_place(pooling, ti, at, i, place))
                continue;
            most = fmaxf(most, load(ti, x, place));
            sum += load(ti, x, place);
        }
        store(to, y, at, pooling->mean ? sum / (float)(pooling->window * pooling->window) : most);
    } while (next_place(to->dim, at));
    return CUDNN_STATUS_SUCCESS;
}

/* dy goes to the first of a window that is as large as y, or in equal parts to all of it. */
static void give_gradient(const struct cudnnPoolingStruct *pooling, const struct tensor *to, const void *y,
                          const void *dy, const struct tensor *ti, const void *x, void *dx,
                          const int64_t at[4])
{
    bool given = false;
    for (int64_t i = 0; i < pooling->window * pooling->window && !given; i++) {
        int64_t place[4];
        if (!window_place(pooling, ti, at, i, place))
            continue;
        given = !pooling->mean && load(ti, x, place) == load(to, y, at);
        float part = load(to, dy, at) / (float)(pooling->window * pooling->window);
        if (pooling->mean || given)
            store(ti, dx, place, load(ti, dx, place) + (given ? load(to, dy, at) : part));
    }
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling,
                                   const void *alpha, const cudnnTensorDescriptor_t out, const void *y,
                                   const cudnnTensorDescriptor_t dout, const void *dy,
                                   const cudnnTensorDescriptor_t in, const void *x, const void *beta,
                                   const cudnnTensorDescriptor_t din, void *dx)
{
    const struct tensor *ti = &in->t, *to = &out->t;
    int64_t at[4] = {0};
    if (handle == NULL || *(const float *)alpha != 1 || *(const float *)beta != 0 || in != din || out != dout)
        return wrong("not a plain gradient of a pooling");
    if (fake_timed(2 + 64e-6 * ti->dim[0] * ti->dim[1] * ti->dim[2] * ti->dim[3]))
        return CUDNN_STATUS_SUCCESS;
    do
        store(ti, dx, at, 0);
    while (next_place(ti->dim, at));
    do
        give_gradient(pooling, to, y, dy, ti, x, dx, at);
    while (next_place(to->dim, at));
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const cudnnTensorDescriptor_t x,
    const cudnnTensorDescriptor_t z, const cudnnTensorDescriptor_t y, const cudnnTensorDescriptor_t channel,
    const cudnnActivationDescriptor_t activation, size_t *bytes)
{
    (void)mode;
    *bytes = 512;
    return handle == NULL || ops != CUDNN_BATCHNORM_OPS_BN || z != NULL || activation != NULL || x != y ||
                   channel->t.dim[0] != 1 || channel->t.dim[1] != x->t.dim[1] || channel->t.dim[2] != 1 ||
                   channel->t.type != CUDNN_DATA_FLOAT
               ? wrong("not a plain batch normalisation")
               : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t x, size_t *bytes)
{
    (void)handle;
    (void)ops;
    (void)activation;
    (void)x;
    *bytes = mode == CUDNN_BATCHNORM_SPATIAL_PERSISTENT ? 130 : 0;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void *alpha,
    const void *beta, const cudnnTensorDescriptor_t image, const void *x, const cudnnTensorDescriptor_t zd,
    const void *z, const cudnnTensorDescriptor_t yd, void *y, const cudnnTensorDescriptor_t channel,
    const void *scale, const void *bias, double factor, void *running_mean, void *running_variance,
    double epsilon, void *saved_mean, void *saved_inverse, cudnnActivationDescriptor_t activation,
    void *workspace, size_t workspace_bytes, void *reserve, size_t reserve_bytes)
{
    const struct tensor *t = &image->t;
    (void)zd;
    (void)z;
    (void)yd;
    (void)channel;
    (void)activation;
    bool persistent = mode == CUDNN_BATCHNORM_SPATIAL_PERSISTENT;
    if (handle == NULL || ops != CUDNN_BATCHNORM_OPS_BN || *(const float *)alpha != 1 ||
        *(const float *)beta != 0 || workspace == NULL || workspace_bytes != 512 ||
        reserve_bytes != (persistent ? 130 : 0) || (persistent && reserve == NULL) ||
        epsilon < CUDNN_BN_MIN_EPSILON || factor <= 0)
        return wrong("a batch normalisation that lacks something");
    if (fake_timed(2 + 32e-6 * t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3]))
        return CUDNN_STATUS_SUCCESS;
    for (int64_t c = 0; c < t->dim[1]; c++) {
        double sum = 0, square = 0, count = (double)(t->dim[0] * t->dim[2] * t->dim[3]);
        const int64_t dim[4] = {t->dim[0], 1, t->dim[2], t->dim[3]};
        int64_t at[4] = {0};
        do {
            float v = load(t, x, (const int64_t[]){at[0], c, at[2], at[3]});
            sum += v;
            square += (double)v * v;
        } while (next_place(dim, at));
        double mean = sum / count, inverse = 1 / sqrt(square / count - mean * mean + epsilon);
        do {
            const int64_t here[4] = {at[0], c, at[2], at[3]};
            store(t, y, here,
                  (float)((load(t, x, here) - mean) * inverse * ((const float *)scale)[c] +
                          ((const float *)bias)[c]));
        } while (next_place(dim, at));
        ((float *)saved_mean)[c] = (float)mean;
        ((float *)saved_inverse)[c] = (float)inverse;
        ((float *)running_mean)[c] = ((float *)running_variance)[c] = (float)mean;
    }
    return CUDNN_STATUS_SUCCESS;
}

/* Both only with numbers of channels beside. */
static bool plain_batchnorm(cudnnHandle_t handle, const void *alpha, const void *beta,
                            const struct tensor *image, const struct tensor *channel)
{
    return handle != NULL && *(const float *)alpha == 1 && *(const float *)beta == 0 &&
           channel->dim[0] == 1 && channel->dim[1] == image->dim[1] && channel->dim[2] == 1 &&
           channel->type == CUDNN_DATA_FLOAT;
}

cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                                                      const void *alpha, const void *beta,
                                                      const cudnnTensorDescriptor_t image, const void *x,
                                                      const cudnnTensorDescriptor_t yd, void *y,
                                                      const cudnnTensorDescriptor_t channel,
                                                      const void *scale, const void *bias, const void *mean,
                                                      const void *variance, double epsilon)
{
    const struct tensor *t = &image->t;
    int64_t at[4] = {0};
    if (!plain_batchnorm(handle, alpha, beta, t, &channel->t) || mode != CUDNN_BATCHNORM_SPATIAL ||
        yd != image)
        return wrong("not a plain batch normalisation by given statistics");
    if (fake_timed(2 + 32e-6 * t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3]))
        return CUDNN_STATUS_SUCCESS;
    do {
        int64_t c = at[1];
        double inverse = 1 / sqrt(((const float *)variance)[c] + epsilon);
        store(t, y, at,
              (float)((load(t, x, at) - ((const float *)mean)[c]) * inverse * ((const float *)scale)[c] +
                      ((const float *)bias)[c]));
    } while (next_place(t->dim, at));
    return CUDNN_STATUS_SUCCESS;
}

/* Sums of dy and of dy (x - mean) / deviation over a channel. */
static void channel_sums(const struct tensor *t, const void *x, const void *dy, int64_t c, double mean,
                         double inverse, double sum[2])
{
    const int64_t dim[4] = {t->dim[0], 1, t->dim[2], t->dim[3]};
    int64_t at[4] = {0};
    sum[0] = sum[1] = 0;
    do {
        const int64_t here[4] = {at[0], c, at[2], at[3]};
        sum[0] += load(t, dy, here);
        sum[1] += load(t, dy, here) * (load(t, x, here) - mean) * inverse;
    } while (next_place(dim, at));
}

cudnnStatus_t cudnnBatchNormalizationBackward(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                                              const void *alpha, const void *beta, const void *alpha_weights,
                                              const void *beta_weights, const cudnnTensorDescriptor_t image,
                                              const void *x, const cudnnTensorDescriptor_t dyd,
                                              const void *dy, const cudnnTensorDescriptor_t dxd, void *dx,
                                              const cudnnTensorDescriptor_t channel, const void *scale,
                                              void *dscale, void *dbias, double epsilon,
                                              const void *saved_mean, const void *saved_inverse)
{
    const struct tensor *t = &image->t;
    double count = (double)(t->dim[0] * t->dim[2] * t->dim[3]);
    (void)mode;
    if (!plain_batchnorm(handle, alpha, beta, t, &channel->t) || dyd != image || dxd != image ||
        *(const float *)alpha_weights != 1 || *(const float *)beta_weights != 0 ||
        epsilon < CUDNN_BN_MIN_EPSILON)
        return wrong("not a plain gradient of batch normalisation");
    if (fake_timed(2 + 48e-6 * t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3]))
        return CUDNN_STATUS_SUCCESS;
    for (int64_t c = 0; c < t->dim[1]; c++) {
        double mean = ((const float *)saved_mean)[c], inverse = ((const float *)saved_inverse)[c], sum[2];
        const int64_t dim[4] = {t->dim[0], 1, t->dim[2], t->dim[3]};
        int64_t at[4] = {0};
        channel_sums(t, x, dy, c, mean, inverse, sum);
        ((float *)dbias)[c] = (float)sum[0];
        ((float *)dscale)[c] = (float)sum[1];
        do {
            const int64_t here[4] = {at[0], c, at[2], at[3]};
            double normal = (load(t, x, here) - mean) * inverse;
            store(t, dx, here,
                  (float)(((const float *)scale)[c] * inverse *
                          (load(t, dy, here) - sum[0] / count - normal * sum[1] / count)));
        } while (next_place(dim, at));
    }
    return CUDNN_STATUS_SUCCESS;
}

#endif
