/*
 * A cuBLASLt for tests: checks what it is given as the real one does (sizes of attributes, leading
 * dimensions, the algorithm that its heuristic gave) and computes fp32 products on the CPU, element by
 * element, from the descriptors alone. Errors go to stderr and fail the call.
 */
#include "tests/collect/fake_cuda/timed.h"

#include <cublasLt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cublasStatus_t wrong(const char *what)
{
    fprintf(stderr, "# fake cuBLASLt: %s\n", what);
    return CUBLAS_STATUS_INVALID_VALUE;
}

#define MAGIC_PRODUCT 0x70726f64u
#define MAGIC_LAYOUT  0x6c61796fu

struct operation {
    uint32_t magic;
    int32_t compute, scale, transposed[2], sms;
    uint32_t epilogue;
    const void *bias, *scale_first, *scale_second;
};

struct layout {
    uint32_t magic, type;
    uint64_t rows, columns;
    int64_t ld, stride;
    int32_t batch;
};

struct preference {
    uint64_t workspace;
};

size_t cublasLtGetVersion(void)
{
    return 130102;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = malloc(1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    struct operation *operation = calloc(1, sizeof *operation);
    *operation = (struct operation){
        .magic = MAGIC_PRODUCT, .compute = compute, .scale = scale, .epilogue = CUBLASLT_EPILOGUE_DEFAULT};
    *out = (cublasLtMatmulDesc_t)operation;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product)
{
    free(product);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t keep(void *field, size_t field_size, const void *value, size_t size)
{
    if (value == NULL || size != field_size)
        return wrong("an attribute of another size");
    memcpy(field, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute, const void *value,
                                              size_t size)
{
    struct operation *o = (struct operation *)product;
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        return keep(&o->transposed[0], 4, value, size);
    case CUBLASLT_MATMUL_DESC_TRANSB:
        return keep(&o->transposed[1], 4, value, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return keep(&o->epilogue, 4, value, size);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET:
        return keep(&o->sms, 4, value, size);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        return keep(&o->bias, sizeof(void *), value, size);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
        return keep(&o->scale_first, sizeof(void *), value, size);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
        return keep(&o->scale_second, sizeof(void *), value, size);
    default:
        return wrong("an attribute of products that it does not know");
    }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t ld)
{
    struct layout *layout = calloc(1, sizeof *layout);
    *layout = (struct layout){MAGIC_LAYOUT, type, rows, columns, ld, 0, 1};
    *out = (cublasLtMatrixLayout_t)layout;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t out,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void *value,
                                                size_t size)
{
    struct layout *layout = (struct layout *)out;
    switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
        return keep(&layout->batch, 4, value, size);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
        return keep(&layout->stride, 8, value, size);
    default:
        return wrong("an attribute of layouts that it does not know");
    }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    *out = calloc(1, sizeof(struct preference));
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    free(preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t size)
{
    if (attribute != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        return wrong("an attribute of preferences that it does not know");
    return keep(&((struct preference *)preference)->workspace, 8, value, size);
}

/* ---- one product ---- */

struct shape {
    uint64_t m, n, k; /* of cuBLASLt: result m x n, columns one after the other */
    int32_t batch;
};

static bool is_fp8(const struct layout *layout)
{
    return layout->type == CUDA_R_8F_E4M3;
}

static bool layout_fits(const struct layout *layout, int32_t batch)
{
    return layout->magic == MAGIC_LAYOUT && layout->ld >= (int64_t)layout->rows && layout->batch == batch &&
           (batch == 1 || layout->stride == layout->ld * (int64_t)layout->columns);
}

static const char *check(const struct operation *o, const struct layout *a, const struct layout *b,
                         const struct layout *c, struct shape *out)
{
    if (o->magic != MAGIC_PRODUCT)
        return "no product";
    if (!layout_fits(a, c->batch) || !layout_fits(b, c->batch) || !layout_fits(c, c->batch))
        return "a leading dimension, batch or stride that does not fit";
    *out = (struct shape){c->rows, c->columns, o->transposed[0] ? a->rows : a->columns, c->batch};
    uint64_t first = o->transposed[0] ? a->columns : a->rows;
    uint64_t depth = o->transposed[1] ? b->columns : b->rows;
    uint64_t second = o->transposed[1] ? b->rows : b->columns;
    if (first != out->m || second != out->n || depth != out->k)
        return "matrices that do not fit one another";
    if (o->scale != CUDA_R_32F || a->type != b->type)
        return "types that do not fit";
    if (is_fp8(a) && (!o->transposed[0] || o->transposed[1] || c->type != CUDA_R_16BF || out->m % 16 != 0 ||
                      out->k % 16 != 0))
        return "fp8 that is not TN, of bf16 results and multiples of 16";
    if (is_fp8(a) && (o->scale_first == NULL || o->scale_second == NULL))
        return "fp8 without scales";
    if (!is_fp8(a) && c->type != a->type)
        return "a result of another type";
    if (o->compute == CUBLAS_COMPUTE_32F_FAST_TF32 && a->type != CUDA_R_32F)
        return "TF32 of what is not fp32";
    if ((o->epilogue == CUBLASLT_EPILOGUE_BIAS) != (o->bias != NULL))
        return "a bias without its epilogue, or the other way round";
    return NULL;
}

/* An algorithm is what the heuristic was asked for: the product that it is run with must be the same. */
struct algorithm {
    uint64_t mark, m, n, k;
    uint32_t batch, sms;
    uint64_t types;
};
_Static_assert(sizeof(struct algorithm) <= sizeof(cublasLtMatmulAlgo_t), "fits");

static struct algorithm algorithm_for(const struct operation *o, const struct layout *a,
                                      const struct layout *c, const struct shape *s)
{
    uint64_t types = a->type | (uint64_t)c->type << 16 | (uint64_t)o->compute << 32;
    return (struct algorithm){0x616c676f, s->m, s->n, s->k, (uint32_t)s->batch, (uint32_t)o->sms, types};
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t *results, int *found)
{
    struct shape shape;
    const struct operation *o = (const struct operation *)product;
    *found = 0;
    if (handle == NULL || c != d || most < 1)
        return wrong("a heuristic asked for nothing");
    const char *why = check(o, (struct layout *)a, (struct layout *)b, (struct layout *)c, &shape);
    if (why != NULL && is_fp8((struct layout *)a))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (why != NULL)
        return wrong(why);
    struct algorithm algorithm = algorithm_for(o, (struct layout *)a, (struct layout *)c, &shape);
    memset(results, 0, sizeof *results);
    memcpy(&results->algo, &algorithm, sizeof algorithm);
    results->workspaceSize = ((struct preference *)preference)->workspace / 2;
    results->state = CUBLAS_STATUS_SUCCESS;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void *value, size_t size, size_t *written)
{
    static const struct {
        size_t size;
        uint32_t value;
    } attributes[] = {
        [CUBLASLT_ALGO_CONFIG_ID] = {4, 66},
        [CUBLASLT_ALGO_CONFIG_TILE_ID] = {4, CUBLASLT_MATMUL_TILE_128x256},
        [CUBLASLT_ALGO_CONFIG_SPLITK_NUM] = {4, 3},
        [CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME] = {4, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE},
        [CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING] = {4, 1},
        [CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION] = {4, 5},
        [CUBLASLT_ALGO_CONFIG_STAGES_ID] = {4, CUBLASLT_MATMUL_STAGES_64xAUTO},
        [CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID] = {2, 0},
        [CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID] = {2, CUBLASLT_CLUSTER_SHAPE_2x1x1},
    };
    struct algorithm given;
    memcpy(&given, algo, sizeof given);
    if (given.mark != 0x616c676f || attribute > CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID ||
        size != attributes[attribute].size)
        return wrong("an attribute of the algorithm in another size");
    /* fp16 is given a tile that is newer than any header; the number of SMs shows as the custom option. */
    uint32_t answer = attributes[attribute].value;
    if (attribute == CUBLASLT_ALGO_CONFIG_TILE_ID && (given.types & 0xffff) == CUDA_R_16F)
        answer = 60000;
    if (attribute == CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION && given.sms > 0)
        answer = given.sms;
    memcpy(value, &answer, size);
    *written = size;
    return CUBLAS_STATUS_SUCCESS;
}

static float element(const float *data, const struct layout *layout, int32_t batch, uint64_t row,
                     uint64_t column, bool transposed)
{
    uint64_t r = transposed ? column : row, c = transposed ? row : column;
    return data[batch * layout->stride + (int64_t)c * layout->ld + (int64_t)r];
}

static void multiply(const struct operation *o, const struct shape *s, const float *a,
                     const struct layout *la, const float *b, const struct layout *lb, float *d,
                     const struct layout *ld)
{
    for (int32_t batch = 0; batch < s->batch; batch++)
        for (uint64_t row = 0; row < s->m; row++)
            for (uint64_t column = 0; column < s->n; column++) {
                float sum = 0;
                for (uint64_t k = 0; k < s->k; k++)
                    sum += element(a, la, batch, row, k, o->transposed[0]) *
                           element(b, lb, batch, k, column, o->transposed[1]);
                if (o->bias != NULL)
                    sum += ((const float *)o->bias)[row];
                d[batch * ld->stride + (int64_t)column * ld->ld + (int64_t)row] = sum;
            }
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t la, const void *b,
                              cublasLtMatrixLayout_t lb, const void *beta, const void *c,
                              cublasLtMatrixLayout_t lc, void *d, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspace_size,
                              cudaStream_t stream)
{
    struct shape shape;
    const struct operation *o = (const struct operation *)product;
    const char *why = check(o, (struct layout *)la, (struct layout *)lb, (struct layout *)lc, &shape);
    if (why != NULL)
        return wrong(why);
    struct algorithm expected = algorithm_for(o, (struct layout *)la, (struct layout *)lc, &shape);
    if (algo == NULL || memcmp(algo, &expected, sizeof expected) != 0)
        return wrong("an algorithm that the heuristic did not give for this product");
    if (handle == NULL || lc != ld || c != d || *(const float *)alpha != 1 || *(const float *)beta != 0)
        return wrong("not a plain product");
    if (workspace_size > 0 && workspace == NULL)
        return wrong("no workspace");
    (void)stream;
    /* No faster than the fake GPU could: 2 TFLOP/s, and half of its 1 TB/s. */
    double products = (double)shape.m * shape.n * shape.k * shape.batch;
    double elements =
        ((double)shape.m * shape.k + (double)shape.k * shape.n + (double)shape.m * shape.n) * shape.batch;
    if (!fake_timed(2 + 1e-6 * products + 8e-6 * elements) && ((struct layout *)la)->type == CUDA_R_32F)
        multiply(o, &shape, a, (struct layout *)la, b, (struct layout *)lb, d, (struct layout *)ld);
    return CUBLAS_STATUS_SUCCESS;
}
