/* Graphs of cuDNN (its graph API): descriptors, plans, their workspaces. See dnn.h. */
#include "collect/cuda/dnn/dnn.h"

#if __has_include(<cudnn.h>)
#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- descriptors ---- */

static bool keep_status(struct rt_dnn_graph *graph, cudnnStatus_t status)
{
    if (graph->status == CUDNN_STATUS_SUCCESS)
        graph->status = status;
    return graph->status == CUDNN_STATUS_SUCCESS;
}

cudnnBackendDescriptor_t rt_dnn_begin(struct rt_dnn_graph *graph, cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t descriptor = NULL;
    if (graph->descriptors == RT_COUNT(graph->descriptor))
        keep_status(graph, CUDNN_STATUS_INTERNAL_ERROR);
    if (graph->status != CUDNN_STATUS_SUCCESS ||
        !keep_status(graph, rt_dnn.descriptor_new(type, &descriptor)))
        return NULL;
    graph->descriptor[graph->descriptors++] = descriptor;
    return descriptor;
}

void rt_dnn_set(struct rt_dnn_graph *graph, cudnnBackendDescriptor_t descriptor,
                cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type, int64_t count,
                const void *values)
{
    if (graph->status == CUDNN_STATUS_SUCCESS)
        keep_status(graph, rt_dnn.set(descriptor, attribute, type, count, values));
}

void rt_dnn_set_descriptor(struct rt_dnn_graph *graph, cudnnBackendDescriptor_t descriptor,
                           cudnnBackendAttributeName_t attribute, cudnnBackendDescriptor_t value)
{
    rt_dnn_set(graph, descriptor, attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

void rt_dnn_end(struct rt_dnn_graph *graph, cudnnBackendDescriptor_t descriptor)
{
    if (graph->status == CUDNN_STATUS_SUCCESS)
        keep_status(graph, rt_dnn.finalize(descriptor));
}

void rt_dnn_end_operation(struct rt_dnn_graph *graph, cudnnBackendDescriptor_t operation)
{
    if (graph->operations == RT_COUNT(graph->operation))
        keep_status(graph, CUDNN_STATUS_INTERNAL_ERROR);
    rt_dnn_end(graph, operation);
    if (graph->status == CUDNN_STATUS_SUCCESS)
        graph->operation[graph->operations++] = operation;
}

cudnnBackendDescriptor_t rt_dnn_tensor(struct rt_dnn_graph *graph, const struct rt_dnn_tensor *tensor)
{
    cudnnBackendDescriptor_t descriptor = rt_dnn_begin(graph, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const int64_t alignment = 16;
    const bool inside = tensor->uid == 0, yes = true;
    int64_t uid = inside ? 1000 + graph->virtual_tensors++ : tensor->uid;
    rt_dnn_set(graph, descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &tensor->type);
    rt_dnn_set(graph, descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, tensor->dim);
    rt_dnn_set(graph, descriptor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, tensor->stride);
    rt_dnn_set(graph, descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
    rt_dnn_set(graph, descriptor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    if (inside)
        rt_dnn_set(graph, descriptor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes);
    if (tensor->by_value)
        rt_dnn_set(graph, descriptor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &yes);
    rt_dnn_end(graph, descriptor);
    return descriptor;
}

void rt_dnn_graph_release(struct rt_dnn_graph *graph)
{
    while (graph->descriptors > 0)
        rt_dnn.descriptor_free(graph->descriptor[--graph->descriptors]);
}

/* ---- engines ---- */

/* Descriptors that an attribute of another holds; as many as fit. */
static int64_t get_descriptors(cudnnBackendDescriptor_t from, cudnnBackendAttributeName_t attribute,
                               cudnnBackendDescriptorType_t type, int64_t most, cudnnBackendDescriptor_t *out)
{
    int64_t made = 0, count = 0;
    while (made < most && rt_dnn.descriptor_new(type, &out[made]) == CUDNN_STATUS_SUCCESS)
        made++;
    if (made > 0 &&
        rt_dnn.get(from, attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, made, &count, out) != CUDNN_STATUS_SUCCESS)
        count = 0;
    count = count < made ? count : made;
    while (made > count)
        rt_dnn.descriptor_free(out[--made]);
    return count;
}

static cudnnBackendDescriptor_t engine_of(cudnnBackendDescriptor_t config)
{
    cudnnBackendDescriptor_t engine = NULL;
    return get_descriptors(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1,
                           &engine) == 1
               ? engine
               : NULL;
}

/* fp32 means fp32: PyTorch leaves out the same engines where TF32 is not allowed, and those that narrow their
 * inputs anyway. */
static bool allowed(cudnnBackendDescriptor_t engine, const struct rt_dnn_place *place)
{
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t count = 0;
    cudnnStatus_t status = rt_dnn.get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                      CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes);
    for (int64_t i = 0; status == CUDNN_STATUS_SUCCESS && i < count; i++) {
        if (place->full_precision && notes[i] == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)
            return false;
        if (!place->tensor_cores && notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE)
            return false;
    }
    return true;
}

/* cuDNN reports knobs as numbers only: which, and its value. */
static void append_knobs(cudnnBackendDescriptor_t config, char *text, size_t size)
{
    cudnnBackendDescriptor_t choice[24];
    int64_t count = get_descriptors(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                    CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, RT_COUNT(choice), choice);
    for (int64_t i = 0; i < count; i++) {
        cudnnBackendKnobType_t knob = 0;
        int64_t value = 0, got = 0;
        rt_dnn.get(choice[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &got, &knob);
        rt_dnn.get(choice[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &got, &value);
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%d:%" PRId64, i == 0 ? " knobs=" : ",", (int)knob, value);
        rt_dnn.descriptor_free(choice[i]);
    }
}

static void describe_plan(cudnnBackendDescriptor_t config, cudnnBackendDescriptor_t engine,
                          const char *heuristic, struct rt_dnn_plan *plan)
{
    int64_t count = 0;
    plan->engine = -1;
    rt_dnn.get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &plan->engine);
    snprintf(plan->text, sizeof plan->text, "engine=%" PRId64, plan->engine);
    append_knobs(config, plan->text, sizeof plan->text);
    size_t used = strlen(plan->text);
    snprintf(plan->text + used, sizeof plan->text - used, " heuristic=%s", heuristic);
}

static bool set_place(cudnnBackendDescriptor_t descriptor, const struct rt_dnn_place *place,
                      cudnnBackendAttributeName_t handle, cudnnBackendAttributeName_t properties)
{
    cudnnStatus_t status =
        place->properties != NULL
            ? rt_dnn.set(descriptor, properties, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &place->properties)
            : rt_dnn.set(descriptor, handle, CUDNN_TYPE_HANDLE, 1, &place->handle);
    return status == CUDNN_STATUS_SUCCESS;
}

/* A listed engine may still not support the graph; then the next one is tried. */
static bool build_plan(cudnnBackendDescriptor_t config, const struct rt_dnn_place *place,
                       struct rt_dnn_plan *plan)
{
    cudnnBackendDescriptor_t made = NULL;
    if (rt_dnn.descriptor_new(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &made) != CUDNN_STATUS_SUCCESS)
        return false;
    int64_t bytes = 0, count = 0;
    bool built =
        set_place(made, place, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP) &&
        rt_dnn.set(made, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                   &config) == CUDNN_STATUS_SUCCESS &&
        rt_dnn.finalize(made) == CUDNN_STATUS_SUCCESS &&
        rt_dnn.get(made, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes) ==
            CUDNN_STATUS_SUCCESS &&
        (size_t)bytes <= place->workspace_bytes;
    if (!built) {
        rt_dnn.descriptor_free(made);
        return false;
    }
    plan->plan = made;
    plan->config = config;
    plan->workspace_bytes = (size_t)bytes;
    return true;
}

static bool try_config(cudnnBackendDescriptor_t config, const struct rt_dnn_place *place,
                       const char *heuristic, struct rt_dnn_plan *out)
{
    cudnnBackendDescriptor_t engine = engine_of(config);
    bool done = engine != NULL && allowed(engine, place) && build_plan(config, place, out);
    if (done)
        describe_plan(config, engine, heuristic, out);
    if (engine != NULL)
        rt_dnn.descriptor_free(engine);
    return done;
}

/* The first of a heuristic's engines that can be built. In a green context it plans for the whole GPU, too:
 * with fewer SMs (CUDNN_ATTR_ENGINEHEUR_SM_COUNT_TARGET), cuDNN 9.19 finds no engine. */
static bool ask_heuristic(cudnnBackendDescriptor_t graph, cudnnBackendHeurMode_t mode,
                          const struct rt_dnn_place *place, struct rt_dnn_plan *out)
{
    enum { MOST_CONFIGS = 32 };
    cudnnBackendDescriptor_t heuristic = NULL, config[MOST_CONFIGS];
    if (rt_dnn.descriptor_new(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristic) != CUDNN_STATUS_SUCCESS)
        return false;
    bool asked = rt_dnn.set(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                            1, &graph) == CUDNN_STATUS_SUCCESS &&
                 rt_dnn.set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode) ==
                     CUDNN_STATUS_SUCCESS;
    if (asked && place->properties != NULL)
        asked = rt_dnn.set(heuristic, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                           &place->properties) == CUDNN_STATUS_SUCCESS;
    int64_t count = 0;
    if (asked && rt_dnn.finalize(heuristic) == CUDNN_STATUS_SUCCESS)
        count = get_descriptors(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                                MOST_CONFIGS, config);
    for (int64_t i = 0; i < count; i++)
        if (out->plan != NULL ||
            !try_config(config[i], place, mode == CUDNN_HEUR_MODE_A ? "a" : "fallback", out))
            rt_dnn.descriptor_free(config[i]);
    rt_dnn.descriptor_free(heuristic);
    return out->plan != NULL;
}

const char *rt_dnn_plan(struct rt_dnn_graph *graph, const struct rt_dnn_place *place, struct rt_dnn_plan *out)
{
    *out = (struct rt_dnn_plan){0};
    cudnnBackendDescriptor_t whole = rt_dnn_begin(graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    rt_dnn_set(graph, whole, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
               (int64_t)graph->operations, graph->operation);
    if (place->properties == NULL)
        rt_dnn_set(graph, whole, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &place->handle);
    rt_dnn_end(graph, whole);
    if (graph->status != CUDNN_STATUS_SUCCESS)
        return "cuDNN does not take this shape";
    if (ask_heuristic(whole, CUDNN_HEUR_MODE_A, place, out) ||
        ask_heuristic(whole, CUDNN_HEUR_MODE_FALLBACK, place, out))
        return NULL;
    return "cuDNN has no engine for it";
}

void rt_dnn_plan_release(struct rt_dnn_plan *plan)
{
    if (plan->plan != NULL) {
        rt_dnn.descriptor_free(plan->plan);
        rt_dnn.descriptor_free(plan->config);
    }
    *plan = (struct rt_dnn_plan){0};
}

void rt_dnn_release(struct rt_cuda_job *job)
{
    rt_dnn_plan_release(job->detail);
    free(job->detail);
    job->detail = NULL;
}

CUresult rt_dnn_run(cudnnHandle_t handle, const struct rt_dnn_plan *plan, int64_t tensors,
                    void *const *pointer, CUdeviceptr workspace)
{
    int64_t uid[RT_CUDA_OPERANDS];
    for (int64_t i = 0; i < tensors; i++)
        uid[i] = i + 1;
    struct rt_dnn_graph one = {0};
    cudnnBackendDescriptor_t pack = rt_dnn_begin(&one, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    rt_dnn_set(&one, pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, tensors, uid);
    rt_dnn_set(&one, pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, tensors, pointer);
    rt_dnn_set(&one, pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    rt_dnn_end(&one, pack);
    if (one.status == CUDNN_STATUS_SUCCESS)
        one.status = rt_dnn.execute(handle, plan->plan, pack);
    rt_dnn_graph_release(&one);
    return rt_dnn_result(one.status);
}

#endif
