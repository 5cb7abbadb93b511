/*
 * A cuDNN for tests, its graphs: keeps what descriptors are given, checks that it is whole where they are
 * finalized, names two engines for every graph (the first on tensor cores) and runs plans by evaluating the
 * operations one after the other on the CPU, in fp32 or bf16.
 */
#if __has_include(<cudnn.h>)
#include "tests/collect/fake_cuda/cudnn/tensor.h"
#include "tests/collect/fake_cuda/timed.h"

#include <math.h>
#include <stdlib.h>

size_t cudnnGetVersion(void)
{
    return 91905;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    *handle = malloc(1);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    (void)stream;
    return handle == NULL ? wrong("no handle") : CUDNN_STATUS_SUCCESS;
}

/* ---- descriptors: all attributes that are set ---- */

enum { MOST_ATTRIBUTES = 16, MOST_OPERATIONS = 24 };

struct descriptor {
    cudnnBackendDescriptorType_t type;
    bool finalized;
    int count;
    struct attribute {
        cudnnBackendAttributeName_t name;
        cudnnBackendAttributeType_t type;
        int64_t count;
        unsigned char value[MOST_OPERATIONS * 8];
    } attribute[MOST_ATTRIBUTES];
    struct graph *graph; /* of a plan: what it evaluates, copied, so that the graph may go */
    int engine;
};

/* Number of descriptors that are not released; for the test. */
int fake_cudnn_descriptors;

int fake_cudnn_living(void)
{
    return fake_cudnn_descriptors;
}

static size_t width_of(cudnnBackendAttributeType_t type)
{
    switch (type) {
    case CUDNN_TYPE_BOOLEAN:
        return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
        return 8;
    default:
        return 4;
    }
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out)
{
    struct descriptor *descriptor = calloc(1, sizeof *descriptor);
    descriptor->type = type;
    fake_cudnn_descriptors++;
    *out = descriptor;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t opaque)
{
    struct descriptor *descriptor = opaque;
    free(descriptor->graph);
    free(descriptor);
    fake_cudnn_descriptors--;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t opaque, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    struct descriptor *descriptor = opaque;
    if (descriptor == NULL || values == NULL || descriptor->finalized || descriptor->count == MOST_ATTRIBUTES)
        return wrong("an attribute of what is not open");
    struct attribute *attribute = &descriptor->attribute[descriptor->count++];
    if ((size_t)count * width_of(type) > sizeof attribute->value)
        return wrong("too long an attribute");
    *attribute = (struct attribute){.name = name, .type = type, .count = count};
    memcpy(attribute->value, values, (size_t)count * width_of(type));
    const cudnnBackendDescriptor_t *held = values;
    for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++)
        if (held[i] == NULL || !((struct descriptor *)held[i])->finalized)
            return wrong("a descriptor that holds one that is not finalized");
    return CUDNN_STATUS_SUCCESS;
}

static const void *get(const struct descriptor *descriptor, cudnnBackendAttributeName_t name,
                       cudnnBackendAttributeType_t type, int64_t count)
{
    for (int i = 0; i < descriptor->count; i++)
        if (descriptor->attribute[i].name == name)
            return descriptor->attribute[i].type == type &&
                           (count < 0 || descriptor->attribute[i].count == count)
                       ? descriptor->attribute[i].value
                       : NULL;
    return NULL;
}

static const struct descriptor *get_descriptor(const struct descriptor *descriptor,
                                               cudnnBackendAttributeName_t name)
{
    const cudnnBackendDescriptor_t *held = get(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1);
    return held == NULL ? NULL : *held;
}

static int64_t get_integer(const struct descriptor *descriptor, cudnnBackendAttributeName_t name)
{
    const int64_t *value = get(descriptor, name, CUDNN_TYPE_INT64, 1);
    return value == NULL ? -1 : *value;
}

/* ---- graphs: tensors and operations, copied out of descriptors ---- */

struct operation {
    cudnnBackendDescriptorType_t type;
    struct tensor x, y, third, result; /* of a convolution: x, w, -, y */
    int mode;
    int64_t axis, stride[2], padding[2], dilation[2];
};

struct graph {
    int operations;
    struct operation operation[MOST_OPERATIONS];
    const void *handle;
};

static bool read_tensor(const struct descriptor *d, struct tensor *out)
{
    memset(out, 0, sizeof *out);
    if (d == NULL || d->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
        return false;
    const int64_t *dim = get(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4);
    const int64_t *stride = get(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4);
    const cudnnDataType_t *type = get(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1);
    if (dim == NULL || stride == NULL || type == NULL ||
        get_integer(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) != 16 ||
        get_integer(d, CUDNN_ATTR_TENSOR_UNIQUE_ID) < 1)
        return false;
    memcpy(out->dim, dim, sizeof out->dim);
    memcpy(out->stride, stride, sizeof out->stride);
    out->type = *type;
    out->uid = get_integer(d, CUDNN_ATTR_TENSOR_UNIQUE_ID);
    out->inside = get(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1) != NULL;
    out->by_value = get(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1) != NULL;
    return true;
}

static bool read_optional(const struct descriptor *d, cudnnBackendAttributeName_t name, struct tensor *out)
{
    const struct descriptor *held = get_descriptor(d, name);
    memset(out, 0, sizeof *out);
    return held == NULL || read_tensor(held, out);
}

static bool read_pair(const struct descriptor *d, cudnnBackendAttributeName_t name, int64_t out[2])
{
    const int64_t *values = get(d, name, CUDNN_TYPE_INT64, 2);
    if (values != NULL)
        memcpy(out, values, 2 * sizeof *out);
    return values != NULL;
}

static bool read_window(const struct descriptor *d, struct operation *out)
{
    int64_t after[2];
    const cudnnConvolutionMode_t *mode =
        d == NULL ? NULL : get(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1);
    return mode != NULL && *mode == CUDNN_CROSS_CORRELATION &&
           get_integer(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) == 2 &&
           read_pair(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, out->stride) &&
           read_pair(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, out->padding) &&
           read_pair(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, out->dilation) &&
           read_pair(d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, after) && memcmp(after, out->padding, 16) == 0;
}

/* Sizes of the result follow from those of image, weights and window. */
static bool conv_fits(const struct operation *o)
{
    for (int i = 0; i < 2; i++) {
        int64_t reach = o->dilation[i] * (o->y.dim[2 + i] - 1) + 1;
        if ((o->x.dim[2 + i] + 2 * o->padding[i] - reach) / o->stride[i] + 1 != o->result.dim[2 + i])
            return false;
    }
    return o->x.dim[0] == o->result.dim[0] && o->y.dim[0] == o->result.dim[1] &&
           o->x.dim[1] % o->y.dim[1] == 0;
}

static bool read_conv(const struct descriptor *d, struct operation *o)
{
    static const cudnnBackendAttributeName_t names[3][6] = {
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA}};
    const cudnnBackendAttributeName_t *name =
        names[d->type - CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR];
    const float *alpha = get(d, name[4], CUDNN_TYPE_FLOAT, 1), *beta = get(d, name[5], CUDNN_TYPE_FLOAT, 1);
    return read_window(get_descriptor(d, name[0]), o) && read_tensor(get_descriptor(d, name[1]), &o->x) &&
           read_tensor(get_descriptor(d, name[2]), &o->y) &&
           read_tensor(get_descriptor(d, name[3]), &o->result) && alpha != NULL && beta != NULL &&
           *alpha == 1 && *beta == 0 && conv_fits(o);
}

static bool read_operation(const struct descriptor *d, struct operation *o)
{
    const struct descriptor *kind;
    const int *mode = NULL;
    o->type = d->type;
    switch (d->type) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        return get_descriptor(d, CUDNN_ATTR_OPERATION_MATMUL_DESC) != NULL &&
               read_tensor(get_descriptor(d, CUDNN_ATTR_OPERATION_MATMUL_ADESC), &o->x) &&
               read_tensor(get_descriptor(d, CUDNN_ATTR_OPERATION_MATMUL_BDESC), &o->y) &&
               read_tensor(get_descriptor(d, CUDNN_ATTR_OPERATION_MATMUL_CDESC), &o->result) &&
               o->x.dim[3] == o->y.dim[2] && o->x.dim[2] == o->result.dim[2] &&
               o->y.dim[3] == o->result.dim[3];
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        kind = get_descriptor(d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
        if (kind != NULL)
            mode = get(kind, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1);
        o->mode = mode == NULL ? -1 : *mode;
        o->axis = kind == NULL ? -1 : get_integer(kind, CUDNN_ATTR_POINTWISE_AXIS);
        return mode != NULL && read_tensor(get_descriptor(d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC), &o->x) &&
               read_optional(d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, &o->y) &&
               read_optional(d, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, &o->third) &&
               read_tensor(get_descriptor(d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC), &o->result);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        kind = get_descriptor(d, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
        if (kind != NULL)
            mode = get(kind, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1);
        o->mode = mode == NULL ? -1 : *mode;
        return mode != NULL && read_tensor(get_descriptor(d, CUDNN_ATTR_OPERATION_REDUCTION_XDESC), &o->x) &&
               read_tensor(get_descriptor(d, CUDNN_ATTR_OPERATION_REDUCTION_YDESC), &o->result);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        return read_conv(d, o);
    default:
        return false;
    }
}

static struct graph *read_graph(const struct descriptor *d)
{
    struct graph *graph = calloc(1, sizeof *graph);
    const void *const *handle = get(d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1);
    for (int i = 0; i < d->count; i++) {
        const struct attribute *a = &d->attribute[i];
        const cudnnBackendDescriptor_t *held = (const void *)a->value;
        for (int64_t o = 0; a->name == CUDNN_ATTR_OPERATIONGRAPH_OPS && o < a->count; o++)
            graph->operations += read_operation(held[o], &graph->operation[graph->operations]);
    }
    graph->handle = handle == NULL ? NULL : *handle;
    return graph;
}

/* ---- finalizing ---- */

/* Tensor-core engine first; a graph of many channels (64 and more) has none at all. */
enum { CONFIGS = 2 };

static const struct descriptor *graph_of_config(const struct descriptor *config)
{
    const struct descriptor *engine = get_descriptor(config, CUDNN_ATTR_ENGINECFG_ENGINE);
    return engine == NULL ? NULL : get_descriptor(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t opaque)
{
    struct descriptor *d = opaque;
    struct operation operation;
    struct tensor tensor;
    memset(&operation, 0, sizeof operation);
    switch (d->type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        if (!read_tensor(d, &tensor))
            return wrong("a tensor that lacks something");
        break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        d->graph = read_graph(d);
        if (d->graph->operations == 0 || d->graph->handle == NULL)
            return wrong("a graph without operations or handle");
        break;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        if (!read_operation(d, &operation))
            return wrong("an operation that lacks something, or whose sizes do not fit");
        break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
        const struct descriptor *config = get_descriptor(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
        const struct descriptor *graph = config == NULL ? NULL : graph_of_config(config);
        if (graph == NULL || get(d, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1) == NULL)
            return wrong("a plan without engine or handle");
        d->graph = malloc(sizeof *d->graph);
        *d->graph = *graph->graph;
        d->engine = config->engine;
        break;
    }
    default:
        break;
    }
    d->finalized = true;
    return CUDNN_STATUS_SUCCESS;
}

/* A descriptor that the library itself fills. */
static void give(struct descriptor *to, cudnnBackendAttributeName_t name, const struct descriptor *value)
{
    to->attribute[to->count] = (struct attribute){name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {0}};
    memcpy(to->attribute[to->count++].value, &value, sizeof value);
}

static cudnnStatus_t give_configs(const struct descriptor *heuristic, int64_t most, int64_t *count,
                                  cudnnBackendDescriptor_t *out)
{
    const struct descriptor *graph = get_descriptor(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    const cudnnBackendHeurMode_t *mode = get(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1);
    if (graph == NULL || mode == NULL)
        return wrong("a heuristic that is asked for nothing");
    bool none = graph->graph->operation[0].x.dim[1] == 61; /* for the test: no engine */
    int made = none ? 0 : *mode == CUDNN_HEUR_MODE_A ? CONFIGS : 1;
    for (*count = 0; *count < made && *count < most; ++*count) {
        struct descriptor *config = out[*count];
        static struct descriptor engines[64]; /* live on, as the real ones belong to the library */
        static int next;
        struct descriptor *engine = &engines[next++ % 64];
        memset(engine, 0, sizeof *engine);
        engine->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
        engine->finalized = true;
        engine->engine = config->engine = (int)*count;
        give(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
        give(config, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
        config->finalized = true;
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t opaque, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most, int64_t *count,
                                       void *out)
{
    const struct descriptor *d = opaque;
    if (!d->finalized)
        return wrong("an attribute of what is not finalized");
    *count = 1;
    switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
        return give_configs(d, most, count, out);
    case CUDNN_ATTR_ENGINECFG_ENGINE: /* is copied into the one that the caller made */
        *(struct descriptor *)((cudnnBackendDescriptor_t *)out)[0] =
            *get_descriptor(d, CUDNN_ATTR_ENGINECFG_ENGINE);
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
        *count = d->engine == 0;
        *(cudnnBackendNumericalNote_t *)out = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
        *(int64_t *)out = 40 + d->engine;
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES: {
        struct descriptor *knob = ((cudnnBackendDescriptor_t *)out)[0];
        knob->finalized = true;
        return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE:
        *(cudnnBackendKnobType_t *)out = CUDNN_KNOB_TYPE_TILE_SIZE;
        return type == CUDNN_TYPE_KNOB_TYPE ? CUDNN_STATUS_SUCCESS : wrong("another type");
    case CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE:
        *(int64_t *)out = 7;
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
        *(int64_t *)out = 4096;
        return CUDNN_STATUS_SUCCESS;
    default:
        return wrong("an attribute that it does not know");
    }
}

/* ---- evaluating ---- */

/* Values of a tensor by uid: memory that was given, or the fake's own for what lives inside. */
static struct {
    int64_t uid[96];
    void *memory[96];
    int count;
    int given; /* the first ones are the caller's */
} known;

static void *memory_of(const struct tensor *t)
{
    for (int i = 0; i < known.count; i++)
        if (known.uid[i] == t->uid)
            return known.memory[i];
    if (!t->inside)
        return NULL;
    known.uid[known.count] = t->uid;
    known.memory[known.count] =
        calloc((size_t)(t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3]), sizeof(float));
    return known.memory[known.count++];
}

static float combine(const struct operation *o, float x, float y, float third, const int64_t at[4])
{
    switch (o->mode) {
    case CUDNN_POINTWISE_ADD:
        return x + y;
    case CUDNN_POINTWISE_SUB:
        return x - y;
    case CUDNN_POINTWISE_MUL:
        return x * y;
    case CUDNN_POINTWISE_DIV:
        return x / y;
    case CUDNN_POINTWISE_EXP:
        return expf(x);
    case CUDNN_POINTWISE_LOG:
        return logf(x);
    case CUDNN_POINTWISE_GEN_INDEX:
        return (float)at[o->axis];
    case CUDNN_POINTWISE_CMP_GE:
        return x >= y;
    case CUDNN_POINTWISE_BINARY_SELECT:
        return third != 0 ? x : y;
    default:
        return NAN;
    }
}

static void run_pointwise(const struct operation *o, const void *x, const void *y, const void *third,
                          void *result)
{
    int64_t at[4] = {0};
    do {
        float b = o->y.uid > 0 ? load(&o->y, y, at) : 0,
              t = o->third.uid > 0 ? load(&o->third, third, at) : 0;
        store(&o->result, result, at, combine(o, load(&o->x, x, at), b, t, at));
    } while (next_place(o->result.dim, at));
}

static void run_reduction(const struct operation *o, const void *x, void *result)
{
    int64_t at[4] = {0};
    do {
        float value = o->mode == CUDNN_REDUCE_TENSOR_MAX ? -INFINITY : 0;
        for (int64_t k = 0; k < o->x.dim[3]; k++) {
            float term = load(&o->x, x, (const int64_t[]){at[0], at[1], at[2], k});
            value = o->mode == CUDNN_REDUCE_TENSOR_MAX ? fmaxf(value, term) : value + term;
        }
        store(&o->result, result, at, value);
    } while (next_place(o->result.dim, at));
}

/* Several heads of the left share one of the right. */
static void run_product(const struct operation *o, const void *x, const void *y, void *result)
{
    int64_t at[4] = {0}, shared = o->x.dim[1] / o->y.dim[1];
    do {
        float sum = 0;
        for (int64_t k = 0; k < o->x.dim[3]; k++)
            sum += load(&o->x, x, (const int64_t[]){at[0], at[1], at[2], k}) *
                   load(&o->y, y, (const int64_t[]){at[0], at[1] / shared, k, at[3]});
        store(&o->result, result, at, sum);
    } while (next_place(o->result.dim, at));
}

/* All three directions add up the same triples (x, w, y) into another of the three. */
static void run_conv(const struct operation *o, void *x, void *w, void *y)
{
    bool forward = o->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
    bool to_image = o->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    const struct tensor *into = forward ? &o->result : to_image ? &o->x : &o->y;
    void *memory = forward ? y : to_image ? x : w;
    int64_t at[4] = {0}, groups = o->x.dim[1] / o->y.dim[1], of_group = o->result.dim[1] / groups;
    do
        store(into, memory, at, 0);
    while (next_place(into->dim, at));
    do
        for (int64_t c = 0; c < o->y.dim[1]; c++)
            for (int64_t r = 0; r < o->y.dim[2]; r++)
                for (int64_t s = 0; s < o->y.dim[3]; s++) {
                    int64_t row = at[2] * o->stride[0] - o->padding[0] + r * o->dilation[0];
                    int64_t column = at[3] * o->stride[1] - o->padding[1] + s * o->dilation[1];
                    if (row < 0 || column < 0 || row >= o->x.dim[2] || column >= o->x.dim[3])
                        continue;
                    const int64_t image[] = {at[0], at[1] / of_group * o->y.dim[1] + c, row, column};
                    const int64_t weight[] = {at[1], c, r, s};
                    const int64_t *target = forward ? at : to_image ? image : weight;
                    float a = forward || !to_image ? load(&o->x, x, image) : load(&o->y, w, weight);
                    float b = forward ? load(&o->y, w, weight) : load(&o->result, y, at);
                    store(into, memory, target, load(into, memory, target) + a * b);
                }
    while (next_place(o->result.dim, at));
}

static double elements_of(const struct tensor *t)
{
    return t->uid > 0 ? (double)t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3] : 0;
}

/* No faster than the fake GPU could: 32 bytes an element at 1 TB/s, 2 TFLOP/s. */
static double time_of(const struct operation *o)
{
    double inner = o->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR ? (double)o->x.dim[3]
                   : o->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR ||
                           o->type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR
                       ? 1
                       : (double)o->y.dim[1] * o->y.dim[2] * o->y.dim[3];
    return 2 + 1e-6 * inner * elements_of(&o->result) +
           32e-6 * (elements_of(&o->x) + elements_of(&o->y) + elements_of(&o->result));
}

static const char *run_operation(const struct operation *o)
{
    void *x = memory_of(&o->x), *y = o->y.uid > 0 ? memory_of(&o->y) : NULL, *result = memory_of(&o->result);
    void *third = o->third.uid > 0 ? memory_of(&o->third) : NULL;
    if (x == NULL || result == NULL || (o->y.uid > 0 && y == NULL))
        return "a tensor of the graph that was given no memory";
    if (o->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
        run_product(o, x, y, result);
    else if (o->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
        run_pointwise(o, x, y, third, result);
    else if (o->type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
        run_reduction(o, x, result);
    else
        run_conv(o, x, y, result);
    return NULL;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_opaque,
                                  cudnnBackendDescriptor_t pack_opaque)
{
    const struct descriptor *plan = plan_opaque, *pack = pack_opaque;
    const int64_t *uid = get(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, -1);
    void *const *pointer = get(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, -1);
    void *const *workspace = get(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1);
    if (handle == NULL || plan->graph == NULL || !pack->finalized || uid == NULL || pointer == NULL ||
        workspace == NULL || *workspace == NULL)
        return wrong("an execution that lacks something");
    double us = 0;
    for (int i = 0; i < plan->graph->operations; i++)
        us += time_of(&plan->graph->operation[i]);
    if (fake_timed(us))
        return CUDNN_STATUS_SUCCESS;
    known.count = 0;
    for (int64_t i = 0; i < pack->attribute[0].count; i++) {
        known.uid[known.count] = uid[i];
        known.memory[known.count++] = pointer[i];
    }
    known.given = known.count;
    const char *why = NULL;
    for (int i = 0; why == NULL && i < plan->graph->operations; i++)
        why = run_operation(&plan->graph->operation[i]);
    while (known.count > known.given)
        free(known.memory[--known.count]);
    if (why != NULL)
        return wrong(why);
    return CUDNN_STATUS_SUCCESS;
}

#endif
