/* Nodes with bodies: If, Loop, Scan, SequenceMap. See operator.h. */
#include "base/status.h"
#include "models/networks/onnx/operator.h"
#include "models/networks/onnx/infer.h"

#include <string.h>

#define ROUNDS 4 /* of a loop's body until its shapes stay; then those that change are not known */

/* --- shapes of two ways --- */

static bool same_shape(const struct rt_onnx_shape *a, const struct rt_onnx_shape *b)
{
    return a->rank == b->rank &&
           (a->rank <= 0 || memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]) == 0);
}

/* --- bodies --- */

static struct rt_onnx_value *body_input(const struct rt_onnx_at *at, const struct rt_onnx_graph *body,
                                        size_t i)
{
    return i < body->input_count ? &at->model->values[body->inputs[i]] : NULL;
}

static const struct rt_onnx_value *body_output(const struct rt_onnx_at *at, const struct rt_onnx_graph *body,
                                               size_t i)
{
    return i < body->output_count ? &at->model->values[body->outputs[i]] : NULL;
}

static void tell(struct rt_onnx_value *input, enum rt_onnx_dtype dtype, const struct rt_onnx_shape *shape)
{
    if (input == NULL)
        return;
    rt_onnx_set(input, dtype, shape);
    input->data = NULL;
    input->cause = RT_ONNX_NO_VALUE;
}

static int want_body(const struct rt_onnx_graph *body, size_t inputs, size_t outputs)
{
    if (body == NULL)
        return rt_fail(RT_EFORMAT, "has no body");
    if (body->input_count != inputs || body->output_count < outputs)
        return rt_fail(RT_EFORMAT, "its body has %zu inputs and %zu outputs, not %zu and %zu",
                       body->input_count, body->output_count, inputs, outputs);
    return RT_OK;
}

/* --- If --- */

static void take_branch(const struct rt_onnx_at *at, const struct rt_onnx_graph *branch, bool first)
{
    for (size_t i = 0; i < at->node->output_count; i++) {
        struct rt_onnx_value *out = rt_onnx_out(at, i);
        const struct rt_onnx_value *from = body_output(at, branch, i);
        if (out == NULL || from == NULL)
            continue;
        if (first) {
            rt_onnx_set_like(out, from);
            out->data = from->data;
            continue;
        }
        out->shape = rt_onnx_common(&out->shape, &from->shape);
        out->length = out->length == from->length ? out->length : RT_ONNX_UNKNOWN;
        out->data = NULL;
    }
}

static int branch_of_two(const struct rt_onnx_at *at)
{
    const struct rt_onnx_graph *taken = rt_onnx_branch(at);
    static const char *const names[] = {"then_branch", "else_branch"};
    for (size_t b = 0; b < 2; b++) {
        const struct rt_onnx_graph *branch = rt_onnx_body(at, names[b]);
        int status = want_body(branch, 0, at->node->output_count);
        if (status == RT_OK && (taken == NULL || branch == taken))
            status = rt_onnx_infer_graph(at->model, branch, at->depth + 1);
        if (status != RT_OK)
            return status;
        if (taken == NULL || branch == taken)
            take_branch(at, branch, b == 0 || taken != NULL);
    }
    return RT_OK;
}

/* --- Loop --- */

static void tell_truth(const struct rt_onnx_at *at, struct rt_onnx_value *input)
{
    struct rt_onnx_shape scalar = rt_onnx_scalar();
    struct rt_onnx_data *data = rt_onnx_new_data(at->model, 1, false);
    tell(input, RT_ONNX_BOOL, &scalar);
    if (data != NULL)
        data->element[0].whole = 1;
    input->data = data;
}

/* Carries what the body made to its inputs; false where they have those shapes already. */
static bool carry(const struct rt_onnx_at *at, const struct rt_onnx_graph *body, size_t inputs,
                  size_t outputs, size_t count, bool last)
{
    bool changed = false;
    for (size_t i = 0; i < count; i++) {
        struct rt_onnx_value *in = body_input(at, body, inputs + i);
        const struct rt_onnx_value *out = body_output(at, body, outputs + i);
        struct rt_onnx_shape common = rt_onnx_common(&in->shape, &out->shape);
        if (in->kind == RT_ONNX_SEQUENCE && in->length == 0 && in->shape.rank == RT_ONNX_UNKNOWN)
            common = out->shape; /* of no tensors: those that the body puts in */
        changed |=
            !same_shape(&common, &in->shape) || (in->kind == RT_ONNX_SEQUENCE && in->length != out->length);
        in->shape = last && !same_shape(&common, &in->shape) ? rt_onnx_no_shape : common;
        in->length = in->length == out->length ? in->length : RT_ONNX_UNKNOWN;
    }
    return changed;
}

/* The body again and again until the shapes that it carries stay. */
static int settle(const struct rt_onnx_at *at, const struct rt_onnx_graph *body, size_t inputs,
                  size_t outputs, size_t count)
{
    int status = RT_OK;
    bool changed = true;
    for (int round = 0; round <= ROUNDS && changed && status == RT_OK; round++) {
        status = rt_onnx_infer_graph(at->model, body, at->depth + 1);
        changed = status == RT_OK && carry(at, body, inputs, outputs, count, round + 1 >= ROUNDS);
    }
    return status;
}

/* --- how often a Loop runs --- */

/* Nodes that may be walked to follow all Loops of a model trip by trip. */
#define MOST_FOLLOWED ((size_t)1 << 16)

/* May the body be walked so often? Bodies in it would multiply. */
static bool may_follow(const struct rt_onnx_at *at, const struct rt_onnx_graph *body, int64_t most)
{
    struct rt_onnx_model *model = at->model;
    for (size_t i = 0; i < body->node_count; i++)
        for (size_t a = 0; a < body->nodes[i].attribute_count; a++)
            if (body->nodes[i].attributes[a].kind == RT_ONNX_A_GRAPH)
                return false;
    size_t left = MOST_FOLLOWED - model->followed;
    if (at->depth > 0 || most < 1 || (uint64_t)most > left / (body->node_count + 1))
        return false;
    model->followed += (size_t)most * (body->node_count + 1);
    return true;
}

/* Elements of `from`, where they may be those of `to`. */
static const struct rt_onnx_data *elements_for(const struct rt_onnx_value *to,
                                               const struct rt_onnx_value *from)
{
    bool fit = from->data != NULL && from->dtype == to->dtype &&
               rt_onnx_count(&to->shape) == (int64_t)from->data->count;
    return fit ? from->data : NULL;
}

/* What the body knows in one trip: its number, and elements that the trip before has carried. */
static void tell_trip(const struct rt_onnx_at *at, const struct rt_onnx_graph *body, size_t carried,
                      int64_t trip, const struct rt_onnx_data **elements)
{
    struct rt_onnx_value *counter = body_input(at, body, 0);
    struct rt_onnx_data *number = rt_onnx_new_data(at->model, 1, false);
    if (number != NULL)
        number->element[0].whole = trip;
    counter->data = number;
    for (size_t i = 0; i < carried; i++)
        elements[i] = elements_for(body_input(at, body, 2 + i),
                                   trip == 0 ? rt_onnx_in(at, 2 + i) : body_output(at, body, 1 + i));
    for (size_t i = 0; i < carried; i++)
        body_input(at, body, 2 + i)->data = elements[i];
}

/* Trips of a Loop whose condition follows from what it counts, as TensorFlow's do: one after the other.
 * Shapes stay as they were settled, and nothing of a single trip is left. */
static int follow(const struct rt_onnx_at *at, const struct rt_onnx_graph *body, size_t carried, int64_t most,
                  int64_t *count)
{
    const struct rt_onnx_data **elements = rt_onnx_room(at->model, carried, sizeof *elements);
    bool known = true, goes_on = true;
    int status = RT_OK;
    int64_t trip = 0;
    for (; trip < most && known && goes_on && status == RT_OK; trip++) {
        tell_trip(at, body, carried, trip, elements);
        status = rt_onnx_infer_graph(at->model, body, at->depth + 1);
        known = rt_onnx_known_truth(body_output(at, body, 0), &goes_on);
    }
    *count = known ? trip : RT_ONNX_UNKNOWN;
    body_input(at, body, 0)->data = NULL;
    for (size_t i = 0; i < carried; i++)
        body_input(at, body, 2 + i)->data = NULL;
    return status == RT_OK ? rt_onnx_infer_graph(at->model, body, at->depth + 1) : status;
}

/* As often as its first input says, where neither condition ends it before. The body was told that its
 * condition is true: if it makes a true one of that, it always does. */
static int trips(const struct rt_onnx_at *at, const struct rt_onnx_graph *body, size_t carried,
                 int64_t *count)
{
    const struct rt_onnx_value *condition = rt_onnx_in(at, 1);
    int64_t most;
    bool begins = condition == NULL, goes_on;
    *count = RT_ONNX_UNKNOWN;
    if ((condition != NULL && !rt_onnx_known_truth(condition, &begins)) ||
        (begins && rt_onnx_in(at, 0) == NULL) || (begins && !rt_onnx_number(rt_onnx_in(at, 0), &most)))
        return RT_OK;
    if (!begins || most < 0)
        most = 0;
    if (most == 0 || (rt_onnx_known_truth(body_output(at, body, 0), &goes_on) && goes_on))
        *count = most;
    else if (may_follow(at, body, most))
        return follow(at, body, carried, most, count);
    return RT_OK;
}

static int set_stacked(const struct rt_onnx_at *at, size_t output, const struct rt_onnx_value *each,
                       int64_t count)
{
    struct rt_onnx_shape shape = {.rank = each->shape.rank + 1, .dim = {count}};
    if (each->shape.rank == RT_ONNX_RANK)
        return rt_fail(RT_EFORMAT, "its result has more than %d dims", RT_ONNX_RANK);
    if (each->shape.rank == RT_ONNX_UNKNOWN)
        shape = rt_onnx_no_shape;
    for (int d = 1; d < shape.rank; d++)
        shape.dim[d] = each->shape.dim[d - 1];
    rt_onnx_set(rt_onnx_out(at, output), each->dtype, &shape);
    return RT_OK;
}

/* The most trips and the condition, then what is carried. Its outputs: what is carried, then what every trip
 * made. */
static int loop(const struct rt_onnx_at *at)
{
    const struct rt_onnx_graph *body = rt_onnx_body(at, "body");
    size_t carried = at->node->input_count < 2 ? 0 : at->node->input_count - 2;
    struct rt_onnx_shape scalar = rt_onnx_scalar();
    int status = want_body(body, carried + 2, at->node->output_count + 1);
    if (status == RT_OK && at->node->output_count < carried)
        status =
            rt_fail(RT_EFORMAT, "carries %zu values and has %zu outputs", carried, at->node->output_count);
    if (status != RT_OK)
        return status;
    tell(body_input(at, body, 0), RT_ONNX_INT64, &scalar);
    tell_truth(at, body_input(at, body, 1));
    for (size_t i = 0; i < carried; i++) {
        if (rt_onnx_in(at, 2 + i) == NULL)
            return rt_fail(RT_EFORMAT, "leaves out input %zu, which its body carries", 2 + i);
        rt_onnx_set_like(body_input(at, body, 2 + i), rt_onnx_in(at, 2 + i));
    }
    int64_t count = RT_ONNX_UNKNOWN;
    status = settle(at, body, 2, 1, carried);
    if (status == RT_OK)
        status = trips(at, body, carried, &count);
    for (size_t i = 0; i < at->node->output_count && status == RT_OK; i++)
        if (i < carried)
            rt_onnx_set_like(rt_onnx_out(at, i), body_input(at, body, 2 + i));
        else
            status = set_stacked(at, i, body_output(at, body, 1 + i), count);
    return status;
}

/* --- Scan --- */

/* Axis `i` of a list of axes; 0 without one. */
static int scan_axis(const struct rt_onnx_at *at, const char *name, size_t i, int rank, int *axis)
{
    const struct rt_onnx_attribute *axes = rt_onnx_attribute(at, name);
    bool given = axes != NULL && axes->kind == RT_ONNX_A_INTS && i < axes->count;
    return rt_onnx_axis(given ? axes->ints[i] : 0, rank, axis);
}

static struct rt_onnx_shape without(const struct rt_onnx_shape *in, int axis)
{
    struct rt_onnx_shape shape = {.rank = 0};
    for (int d = 0; d < in->rank; d++)
        if (d != axis)
            shape.dim[shape.rank++] = in->dim[d];
    return shape;
}

static int with_axis(const struct rt_onnx_shape *in, int axis, int64_t size, struct rt_onnx_shape *out)
{
    *out = *in;
    if (in->rank == RT_ONNX_RANK)
        return rt_fail(RT_EFORMAT, "its result has more than %d dims", RT_ONNX_RANK);
    for (int d = ++out->rank - 1; d > axis; d--)
        out->dim[d] = out->dim[d - 1];
    out->dim[axis] = size;
    return RT_OK;
}

/* Scan of opset 8 has the lengths of sequences as its first input and a batch before all other axes. */
struct scan {
    const struct rt_onnx_graph *body;
    size_t states, inputs, first;
    int batch; /* 1: there is that axis */
    int64_t batches, count;
};

static int tell_scan(const struct rt_onnx_at *at, struct scan *scan, size_t i)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, scan->first + i);
    int axis, status;
    if (in == NULL)
        return rt_fail(RT_EFORMAT, "leaves out input %zu, which its body needs", scan->first + i);
    struct rt_onnx_shape shape = in->shape;
    if (shape.rank > 0 && scan->batch) {
        scan->batches = shape.dim[0];
        shape = without(&shape, 0);
    }
    if (i >= scan->states && shape.rank != RT_ONNX_UNKNOWN) {
        if ((status = scan_axis(at, "scan_input_axes", i - scan->states, shape.rank, &axis)) != RT_OK)
            return status;
        if (scan->count == RT_ONNX_UNKNOWN)
            scan->count = shape.dim[axis];
        shape = without(&shape, axis);
    }
    tell(body_input(at, scan->body, i), in->dtype, &shape);
    return RT_OK;
}

static int set_scanned(const struct rt_onnx_at *at, const struct scan *scan, size_t i)
{
    const struct rt_onnx_value *from =
        i < scan->states ? body_input(at, scan->body, i) : body_output(at, scan->body, i);
    struct rt_onnx_shape shape = from->shape;
    int axis, status = RT_OK;
    if (shape.rank != RT_ONNX_UNKNOWN && i >= scan->states) {
        status = scan_axis(at, "scan_output_axes", i - scan->states, shape.rank + 1, &axis);
        if (status == RT_OK)
            status = with_axis(&from->shape, axis, scan->count, &shape);
    }
    if (shape.rank != RT_ONNX_UNKNOWN && scan->batch && status == RT_OK) {
        struct rt_onnx_shape each = shape;
        status = with_axis(&each, 0, scan->batches, &shape);
    }
    rt_onnx_set(rt_onnx_out(at, i), from->dtype, &shape);
    return status;
}

static int scan_over(const struct rt_onnx_at *at)
{
    struct scan scan = {.body = rt_onnx_body(at, "body"),
                        .first = at->node->opset < 9,
                        .batch = at->node->opset < 9,
                        .batches = RT_ONNX_UNKNOWN,
                        .count = RT_ONNX_UNKNOWN};
    size_t given = at->node->input_count - scan.first;
    int64_t inputs = rt_onnx_int(at, "num_scan_inputs", 0);
    if (inputs < 1 || (size_t)inputs > given)
        return rt_fail(RT_EFORMAT, "scans %d of its %zu inputs", (int)inputs, given);
    scan.inputs = (size_t)inputs;
    scan.states = given - scan.inputs;
    int status = want_body(scan.body, given, at->node->output_count);
    if (status == RT_OK && at->node->output_count < scan.states)
        status = rt_fail(RT_EFORMAT, "carries %zu values and has %zu outputs", scan.states,
                         at->node->output_count);
    for (size_t i = 0; i < given && status == RT_OK; i++)
        status = tell_scan(at, &scan, i);
    if (status == RT_OK)
        status = settle(at, scan.body, 0, 0, scan.states);
    for (size_t i = 0; i < at->node->output_count && status == RT_OK; i++)
        status = set_scanned(at, &scan, i);
    return status;
}

/* --- SequenceMap --- */

static int sequence_map(const struct rt_onnx_at *at)
{
    const struct rt_onnx_graph *body = rt_onnx_body(at, "body");
    int status = want_body(body, at->node->input_count, at->node->output_count);
    for (size_t i = 0; i < at->node->input_count && status == RT_OK; i++) {
        const struct rt_onnx_value *in = rt_onnx_in(at, i);
        if (in == NULL)
            return rt_fail(RT_EFORMAT, "leaves out input %zu, which its body needs", i);
        tell(body_input(at, body, i), in->dtype, &in->shape);
    }
    if (status == RT_OK)
        status = rt_onnx_infer_graph(at->model, body, at->depth + 1);
    for (size_t i = 0; i < at->node->output_count && status == RT_OK; i++) {
        struct rt_onnx_value *out = rt_onnx_out(at, i);
        rt_onnx_set(out, body_output(at, body, i)->dtype, &body_output(at, body, i)->shape);
        if (out != NULL) {
            out->kind = RT_ONNX_SEQUENCE;
            out->length = rt_onnx_in(at, 0)->length;
        }
    }
    return status;
}

const struct rt_onnx_operator rt_onnx_control_rows[] = {
    {"If", 1, .shapes = branch_of_two},
    {"Loop", 0, .shapes = loop},
    {"Scan", 0, .shapes = scan_over},
    {"SequenceMap", 1, .shapes = sequence_map},
    {.name = NULL},
};
