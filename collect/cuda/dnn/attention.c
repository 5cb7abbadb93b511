/*
 * Fused attention: two products with a softmax between them, described op by op; cuDNN recognises the pattern
 * and runs it as one kernel that never writes the scores. Where it has no engine for it, the task is refused.
 *
 * Tensors have the layout of projections: batch, token, head, element. Scores are scaled by 1/sqrt(head_dim).
 *   attention_encoder: every query attends to every key
 *   attention_context: causal, of a prompt without a cache (cached = 0) or window
 *   attention_generation: one new token attends to all keys; no mask
 */
#include "collect/cuda/dnn/dnn.h"

#if __has_include(<cudnn.h>)
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct attention {
    struct rt_dnn_plan plan; /* first: rt_dnn_release */
    cudnnHandle_t handle;
    float scale, masked; /* by value: their addresses are passed with every run */
    bool causal;
    char name[40];
};

/* uid - 1 of the tensors; the first four are the operands. MASKED only where there is a mask. */
enum { QUERIES, KEYS, VALUES, OUTPUT, SCALE, MASKED };

struct extent {
    int64_t batch, queries, keys, heads, kv_heads, head_dim;
    bool causal;
};

static struct extent extent_of(const struct rt_task *task)
{
    const int64_t *d = task->call.dim;
    switch (task->call.op) {
    case RT_OP_ATTENTION_ENCODER:
        return (struct extent){d[RT_ATTENTION_BATCH],
                               d[RT_ATTENTION_TOKENS],
                               d[RT_ATTENTION_TOKENS],
                               d[RT_ENCODER_HEADS],
                               d[RT_ENCODER_HEADS],
                               d[RT_ENCODER_HEAD_DIM],
                               false};
    case RT_OP_ATTENTION_CONTEXT:
        return (struct extent){d[RT_ATTENTION_BATCH],
                               d[RT_ATTENTION_TOKENS],
                               d[RT_ATTENTION_TOKENS],
                               d[RT_ATTENTION_HEADS],
                               d[RT_ATTENTION_KV_HEADS],
                               d[RT_ATTENTION_HEAD_DIM],
                               true};
    default: /* generation */
        return (struct extent){d[RT_ATTENTION_BATCH],
                               d[RT_ATTENTION_TOKENS],
                               d[RT_ATTENTION_TOKENS] + d[RT_ATTENTION_CACHED],
                               d[RT_ATTENTION_HEADS],
                               d[RT_ATTENTION_KV_HEADS],
                               d[RT_ATTENTION_HEAD_DIM],
                               false};
    }
}

/* Plans and --list ask without dims: can any shape run? */
static bool can_attention(const struct rt_task *task)
{
    const int64_t *d = task->call.dim;
    struct extent e = extent_of(task);
    bool encoder = task->call.op == RT_OP_ATTENTION_ENCODER;
    int64_t window = encoder ? 0 : d[RT_ATTENTION_WINDOW];
    bool whole = encoder || ((window == 0 || window >= e.keys) &&
                             d[RT_ATTENTION_KV_BITS] <= 0); /* nothing hidden, one dtype */
    bool alone = encoder || (task->call.op == RT_OP_ATTENTION_CONTEXT ? d[RT_ATTENTION_CACHED] == 0
                                                                      : d[RT_ATTENTION_TOKENS] == 1);
    bool narrow = task->call.dtype == RT_FP16 || task->call.dtype == RT_BF16;
    bool fits = d[RT_ATTENTION_BATCH] < 0 || (whole && alone && e.kv_heads > 0 && e.heads % e.kv_heads == 0);
    return fits && narrow && task->call.phase == RT_FORWARD && task->variant == RT_PLAIN;
}

/* Queries or keys of (batch, tokens, heads, head_dim) in memory, seen as (batch, heads, tokens, head_dim). */
static struct rt_dnn_tensor projected(int64_t uid, cudnnDataType_t type, const struct extent *e,
                                      int64_t tokens, int64_t heads)
{
    return (struct rt_dnn_tensor){
        .uid = uid,
        .type = type,
        .dim = {e->batch, heads, tokens, e->head_dim},
        .stride = {tokens * heads * e->head_dim, e->head_dim, heads * e->head_dim, 1}};
}

static struct rt_dnn_tensor transposed(struct rt_dnn_tensor t)
{
    return (struct rt_dnn_tensor){t.uid,
                                  t.type,
                                  {t.dim[0], t.dim[1], t.dim[3], t.dim[2]},
                                  {t.stride[0], t.stride[1], t.stride[3], t.stride[2]},
                                  false};
}

/* ---- the graph ---- */

struct builder {
    struct rt_dnn_graph *graph;
    struct extent extent;
};

/* Inside the kernel: scores (batch, heads, queries, keys), or one number a row of them (keys = 1). */
static cudnnBackendDescriptor_t inside(struct builder *b, cudnnDataType_t type, int64_t keys)
{
    const struct extent *e = &b->extent;
    const struct rt_dnn_tensor tensor = {
        .type = type,
        .dim = {e->batch, e->heads, e->queries, keys},
        .stride = {e->heads * e->queries * keys, e->queries * keys, keys, 1}};
    return rt_dnn_tensor(b->graph, &tensor);
}

static cudnnBackendDescriptor_t scores(struct builder *b)
{
    return inside(b, CUDNN_DATA_FLOAT, b->extent.keys);
}

static cudnnBackendDescriptor_t number(struct builder *b, int64_t uid)
{
    const struct rt_dnn_tensor tensor = {
        .uid = uid, .type = CUDNN_DATA_FLOAT, .dim = {1, 1, 1, 1}, .stride = {1, 1, 1, 1}, .by_value = true};
    return rt_dnn_tensor(b->graph, &tensor);
}

static void product(struct builder *b, cudnnBackendDescriptor_t left, cudnnBackendDescriptor_t right,
                    cudnnBackendDescriptor_t result)
{
    const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t kind = rt_dnn_begin(b->graph, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    rt_dnn_set(b->graph, kind, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
    rt_dnn_end(b->graph, kind);
    cudnnBackendDescriptor_t operation = rt_dnn_begin(b->graph, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    rt_dnn_set_descriptor(b->graph, operation, CUDNN_ATTR_OPERATION_MATMUL_DESC, kind);
    rt_dnn_set_descriptor(b->graph, operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, left);
    rt_dnn_set_descriptor(b->graph, operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC, right);
    rt_dnn_set_descriptor(b->graph, operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, result);
    rt_dnn_end_operation(b->graph, operation);
}

/* result = mode(x, y, third); y and third may be NULL. `axis` is what GEN_INDEX counts along. */
static void pointwise(struct builder *b, cudnnPointwiseMode_t mode, cudnnDataType_t type, int64_t axis,
                      cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t y, cudnnBackendDescriptor_t third,
                      cudnnBackendDescriptor_t result)
{
    cudnnBackendDescriptor_t kind = rt_dnn_begin(b->graph, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    rt_dnn_set(b->graph, kind, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    rt_dnn_set(b->graph, kind, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
    if (mode == CUDNN_POINTWISE_GEN_INDEX)
        rt_dnn_set(b->graph, kind, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
    rt_dnn_end(b->graph, kind);
    cudnnBackendDescriptor_t operation = rt_dnn_begin(b->graph, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    rt_dnn_set_descriptor(b->graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind);
    rt_dnn_set_descriptor(b->graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (y != NULL)
        rt_dnn_set_descriptor(b->graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, y);
    if (third != NULL)
        rt_dnn_set_descriptor(b->graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, third);
    rt_dnn_set_descriptor(b->graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result);
    rt_dnn_end_operation(b->graph, operation);
}

static cudnnBackendDescriptor_t reduced(struct builder *b, cudnnReduceTensorOp_t mode,
                                        cudnnBackendDescriptor_t x)
{
    const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t result = inside(b, CUDNN_DATA_FLOAT, 1);
    cudnnBackendDescriptor_t kind = rt_dnn_begin(b->graph, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    rt_dnn_set(b->graph, kind, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
    rt_dnn_set(b->graph, kind, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode);
    rt_dnn_end(b->graph, kind);
    cudnnBackendDescriptor_t operation = rt_dnn_begin(b->graph, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    rt_dnn_set_descriptor(b->graph, operation, CUDNN_ATTR_OPERATION_REDUCTION_DESC, kind);
    rt_dnn_set_descriptor(b->graph, operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    rt_dnn_set_descriptor(b->graph, operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result);
    rt_dnn_end_operation(b->graph, operation);
    return result;
}

/* Keeps the scores on or below the diagonal: row >= column. */
static cudnnBackendDescriptor_t mask(struct builder *b, cudnnBackendDescriptor_t s)
{
    cudnnBackendDescriptor_t row = inside(b, CUDNN_DATA_INT32, b->extent.keys);
    pointwise(b, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, 2, s, NULL, NULL, row);
    cudnnBackendDescriptor_t column = inside(b, CUDNN_DATA_INT32, b->extent.keys);
    pointwise(b, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, 3, s, NULL, NULL, column);
    cudnnBackendDescriptor_t keeps = inside(b, CUDNN_DATA_BOOLEAN, b->extent.keys);
    pointwise(b, CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, -1, row, column, NULL, keeps);
    cudnnBackendDescriptor_t result = scores(b);
    pointwise(b, CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, -1, s, number(b, MASKED + 1), keeps,
              result);
    return result;
}

/* Of each row: e^(s - max) / sum, rounded to the dtype of the second product. The logarithm of the sum is
 * computed, too, and stays inside: cuDNN recognises the pattern only with it. */
static cudnnBackendDescriptor_t softmax(struct builder *b, cudnnBackendDescriptor_t s, cudnnDataType_t type)
{
    cudnnBackendDescriptor_t most = reduced(b, CUDNN_REDUCE_TENSOR_MAX, s);
    cudnnBackendDescriptor_t below = scores(b);
    pointwise(b, CUDNN_POINTWISE_SUB, CUDNN_DATA_FLOAT, -1, s, most, NULL, below);
    cudnnBackendDescriptor_t powers = scores(b);
    pointwise(b, CUDNN_POINTWISE_EXP, CUDNN_DATA_FLOAT, -1, below, NULL, NULL, powers);
    cudnnBackendDescriptor_t sum = reduced(b, CUDNN_REDUCE_TENSOR_ADD, powers);
    cudnnBackendDescriptor_t logarithm = inside(b, CUDNN_DATA_FLOAT, 1),
                             whole = inside(b, CUDNN_DATA_FLOAT, 1);
    pointwise(b, CUDNN_POINTWISE_LOG, CUDNN_DATA_FLOAT, -1, sum, NULL, NULL, logarithm);
    pointwise(b, CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, -1, most, logarithm, NULL, whole);
    cudnnBackendDescriptor_t shares = inside(b, type, b->extent.keys);
    pointwise(b, CUDNN_POINTWISE_DIV, CUDNN_DATA_FLOAT, -1, powers, sum, NULL, shares);
    return shares;
}

static void describe_attention(const struct rt_task *task, struct rt_dnn_graph *graph)
{
    struct builder b = {graph, extent_of(task)};
    const struct extent *e = &b.extent;
    cudnnDataType_t type = rt_dnn_type(task->call.dtype);
    struct rt_dnn_tensor queries = projected(QUERIES + 1, type, e, e->queries, e->heads);
    struct rt_dnn_tensor keys = transposed(projected(KEYS + 1, type, e, e->keys, e->kv_heads));
    struct rt_dnn_tensor values = projected(VALUES + 1, type, e, e->keys, e->kv_heads);
    struct rt_dnn_tensor output = projected(OUTPUT + 1, type, e, e->queries, e->heads);
    cudnnBackendDescriptor_t s = scores(&b);
    product(&b, rt_dnn_tensor(graph, &queries), rt_dnn_tensor(graph, &keys), s);
    cudnnBackendDescriptor_t scaled = scores(&b);
    pointwise(&b, CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT, -1, s, number(&b, SCALE + 1), NULL, scaled);
    s = scaled;
    if (e->causal)
        s = mask(&b, s);
    s = softmax(&b, s, type);
    product(&b, s, rt_dnn_tensor(graph, &values), rt_dnn_tensor(graph, &output));
}

/* ---- the job ---- */

static CUresult launch_attention(struct rt_cuda_job *job, const CUdeviceptr *operand, CUdeviceptr workspace)
{
    struct attention *attention = job->detail;
    void *const pointer[] = {(void *)operand[QUERIES], (void *)operand[KEYS], (void *)operand[VALUES],
                             (void *)operand[OUTPUT],  &attention->scale,     &attention->masked};
    return rt_dnn_run(attention->handle, &attention->plan, attention->causal ? 6 : 5, pointer, workspace);
}

static void list_operands(const struct rt_task *task, const struct extent *e, struct rt_cuda_job *job)
{
    int64_t queries = e->batch * e->queries * e->heads * e->head_dim;
    int64_t keys = e->batch * e->keys * e->kv_heads * e->head_dim;
    rt_cuda_job_operand(job, queries, task->call.dtype, RT_FILL_VALUES);
    rt_cuda_job_operand(job, keys, task->call.dtype, RT_FILL_VALUES);
    rt_cuda_job_operand(job, keys, task->call.dtype, RT_FILL_VALUES);
    rt_cuda_job_operand(job, queries, task->call.dtype, RT_FILL_RESULT);
}

static const char *make_attention(const struct rt_task *task, const struct rt_dnn_place *place,
                                  struct rt_cuda_job *job)
{
    struct attention *attention = rt_calloc(1, sizeof *attention);
    struct extent extent = extent_of(task);
    struct rt_dnn_graph graph = {0};
    attention->handle = place->handle;
    attention->causal = extent.causal;
    attention->scale = 1 / sqrtf((float)extent.head_dim);
    attention->masked = -INFINITY;
    job->detail = attention;
    job->launch = launch_attention;
    job->release = rt_dnn_release;
    describe_attention(task, &graph);
    const char *refused = rt_dnn_plan(&graph, place, &attention->plan);
    rt_dnn_graph_release(&graph);
    if (refused != NULL)
        return refused;
    list_operands(task, &extent, job);
    snprintf(attention->name, sizeof attention->name, "cudnn_attention_engine%d",
             (int)attention->plan.engine);
    job->workspace_bytes = attention->plan.workspace_bytes;
    job->kernel = (struct rt_launch_config){.name = attention->name,
                                            .algorithm = attention->plan.text,
                                            .tile = {-1, -1, -1},
                                            .grid = {-1, -1, -1},
                                            .block = {-1, -1, -1}};
    return NULL;
}

const struct rt_dnn_maker rt_dnn_attention = {can_attention, make_attention};

#endif
