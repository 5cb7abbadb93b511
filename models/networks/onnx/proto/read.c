/* From a file to a model: names become numbers of values. See onnx.h. */
#include "models/networks/onnx/proto/read.h"
#include "base/array.h"
#include "base/status.h"
#include "base/strings.h"
#include "models/networks/onnx/infer.h"
#include "models/networks/onnx/operator.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CALL_DEPTH      32 /* functions that call functions */
#define MOST_OPSETS     256
#define MOST_ATTRIBUTES 1024

static const char *text_of(const char *text)
{
    return text != NULL ? text : "";
}

/* A name and the value that it stands for, from a scope on inwards. */
struct binding {
    uint32_t value, scope;
};

/* What a function was called with; NULL values: the model's own graph. */
struct frame {
    const Onnx__NodeProto *call;
    const struct frame *caller;
    Onnx__OperatorSetIdProto *const *opsets;
    size_t opset_count;
    uint32_t scope; /* names of scopes before it are not seen */
    int depth;
};

struct reader {
    struct rt_onnx_model *model;
    const Onnx__ModelProto *file;
    struct rt_strings names;
    struct rt_strings functions;          /* "domain:name" */
    const Onnx__FunctionProto **function; /* (functions) */
    struct binding *bound;                /* (names) */
    size_t bound_capacity;
    struct undone {
        int32_t name;
        struct binding before;
    } * undo;
    size_t undo_count, undo_capacity;
    uint32_t scope;
};

static int too_many(const struct rt_onnx_model *model, const char *what, size_t limit)
{
    return rt_fail(RT_EFORMAT,
                   "more than %zu %s, with functions written out; no network's file of its size has so many",
                   rt_onnx_most(model, limit), what);
}

/* --- names --- */

static int32_t name_of(struct reader *reader, const char *text)
{
    int32_t name = rt_strings_add(&reader->names, text, strlen(text));
    while ((size_t)name >= reader->bound_capacity) {
        size_t before = reader->bound_capacity;
        reader->bound_capacity = before > 0 ? 2 * before : 1024;
        reader->bound = rt_realloc(reader->bound, reader->bound_capacity, sizeof *reader->bound);
        for (size_t i = before; i < reader->bound_capacity; i++)
            reader->bound[i] = (struct binding){RT_ONNX_NO_VALUE, 0};
    }
    return name;
}

static const struct binding *binding_of(struct reader *reader, const char *text)
{
    int32_t name = name_of(reader, text); /* may move the bindings */
    return &reader->bound[name];
}

static void bind(struct reader *reader, const char *text, uint32_t value)
{
    int32_t name = name_of(reader, text);
    RT_GROW(reader->undo, reader->undo_count, 1, reader->undo_capacity);
    reader->undo[reader->undo_count++] = (struct undone){name, reader->bound[name]};
    reader->bound[name] = (struct binding){value, reader->scope};
}

static uint32_t find(struct reader *reader, const struct frame *frame, const char *text)
{
    const struct binding *bound = binding_of(reader, text);
    return bound->scope >= frame->scope ? bound->value : RT_ONNX_NO_VALUE;
}

static size_t open_scope(struct reader *reader)
{
    reader->scope++;
    return reader->undo_count;
}

static void close_scope(struct reader *reader, size_t mark)
{
    reader->scope--;
    while (reader->undo_count > mark) {
        const struct undone *last = &reader->undo[--reader->undo_count];
        reader->bound[last->name] = last->before;
    }
}

/* A new value of that name. RT_EFORMAT where this scope has one. */
static int make_value(struct reader *reader, const char *text, uint32_t *out)
{
    const struct binding *bound = binding_of(reader, text);
    if (bound->value != RT_ONNX_NO_VALUE && bound->scope == reader->scope)
        return rt_fail(RT_EFORMAT, "value '%s' is made twice; in ONNX every value has one maker", text);
    if (reader->model->value_count >= rt_onnx_most(reader->model, RT_ONNX_MOST_VALUES))
        return too_many(reader->model, "values", RT_ONNX_MOST_VALUES);
    *out = rt_onnx_add_value(reader->model, text);
    bind(reader, text, *out);
    return RT_OK;
}

/* --- attributes --- */

static int read_graph(struct reader *reader, const struct frame *frame, const Onnx__GraphProto *from,
                      struct rt_onnx_graph *out);

static void read_texts(struct rt_onnx_model *model, const ProtobufCBinaryData *from, size_t count,
                       struct rt_onnx_attribute *out)
{
    const char **texts = rt_onnx_room(model, count, sizeof *texts);
    for (size_t i = 0; i < count; i++) {
        texts[i] = rt_onnx_copy(model, (const char *)from[i].data, from[i].len);
        model->operand_count += 1 + from[i].len / 64;
    }
    out->texts = texts;
    out->count = count;
}

static int read_tensor(struct reader *reader, const Onnx__TensorProto *tensor, uint32_t *out)
{
    if (reader->model->value_count >= rt_onnx_most(reader->model, RT_ONNX_MOST_VALUES))
        return too_many(reader->model, "values", RT_ONNX_MOST_VALUES);
    *out = rt_onnx_add_value(reader->model, text_of(tensor->name));
    return rt_onnx_read_tensor(reader->model, tensor, *out);
}

/* Its kind: as written, or where files of before 2018 do not say, by what is there. */
static enum rt_onnx_attribute_kind attribute_kind(const Onnx__AttributeProto *from)
{
    int type = from->has_type ? (int)from->type : 0;
    if (type != 0)
        return type >= RT_ONNX_A_FLOAT && type <= RT_ONNX_A_STRINGS ? (enum rt_onnx_attribute_kind)type
                                                                    : RT_ONNX_A_OTHER;
    return from->has_f       ? RT_ONNX_A_FLOAT
           : from->has_i     ? RT_ONNX_A_INT
           : from->has_s     ? RT_ONNX_A_STRING
           : from->t != NULL ? RT_ONNX_A_TENSOR
           : from->g != NULL ? RT_ONNX_A_GRAPH
           : from->n_floats  ? RT_ONNX_A_FLOATS
           : from->n_strings ? RT_ONNX_A_STRINGS
                             : RT_ONNX_A_INTS;
}

static int read_attribute(struct reader *reader, const struct frame *frame, const Onnx__AttributeProto *from,
                          struct rt_onnx_attribute *out)
{
    struct rt_onnx_model *model = reader->model;
    enum rt_onnx_attribute_kind kind = attribute_kind(from);
    out->kind = kind;
    out->count = 1;
    if (kind == RT_ONNX_A_FLOAT) {
        out->reals = &from->f;
    } else if (kind == RT_ONNX_A_INT) {
        out->ints = &from->i;
    } else if (kind == RT_ONNX_A_FLOATS) {
        out->reals = from->floats;
        out->count = from->n_floats;
    } else if (kind == RT_ONNX_A_INTS) {
        out->ints = from->ints;
        out->count = from->n_ints;
    } else if (kind == RT_ONNX_A_STRING) {
        read_texts(model, &from->s, 1, out);
    } else if (kind == RT_ONNX_A_STRINGS) {
        read_texts(model, from->strings, from->n_strings, out);
    } else if (kind == RT_ONNX_A_TENSOR && from->t != NULL) {
        return read_tensor(reader, from->t, &out->value);
    } else if (kind == RT_ONNX_A_GRAPH && from->g != NULL) {
        struct rt_onnx_graph *body = rt_onnx_room(model, 1, sizeof *body);
        out->body = body;
        return read_graph(reader, frame, from->g, body);
    } else {
        out->kind = RT_ONNX_A_OTHER;
    }
    return RT_OK;
}

/* The attribute of the call that an attribute of a function's node stands for; NULL: the call has none. */
static const Onnx__AttributeProto *referred(const struct frame *frame, const Onnx__AttributeProto *from)
{
    for (; from != NULL && from->ref_attr_name != NULL && from->ref_attr_name[0] != '\0';
         frame = frame->caller) {
        const char *name = from->ref_attr_name;
        from = NULL;
        if (frame == NULL || frame->call == NULL)
            return NULL;
        for (size_t i = 0; i < frame->call->n_attribute && from == NULL; i++)
            if (strcmp(text_of(frame->call->attribute[i]->name), name) == 0)
                from = frame->call->attribute[i];
    }
    return from;
}

static int read_attributes(struct reader *reader, const struct frame *frame, const Onnx__NodeProto *from,
                           struct rt_onnx_node *node)
{
    struct rt_onnx_attribute *out = rt_onnx_room(reader->model, from->n_attribute, sizeof *out);
    node->attributes = out;
    reader->model->operand_count += from->n_attribute;
    if (from->n_attribute > MOST_ATTRIBUTES)
        return rt_fail(RT_EFORMAT, "has %zu attributes; no operator has more than %d", from->n_attribute,
                       MOST_ATTRIBUTES);
    for (size_t i = 0; i < from->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = referred(frame, from->attribute[i]);
        struct rt_onnx_attribute *slot = &out[node->attribute_count];
        if (attribute == NULL)
            continue;
        slot->name = text_of(from->attribute[i]->name);
        int status = read_attribute(reader, frame, attribute, slot);
        if (status != RT_OK)
            return status;
        node->attribute_count++;
    }
    return RT_OK;
}

/* --- nodes --- */

static bool is_standard(const char *domain)
{
    return domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0;
}

static bool same_domain(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || (is_standard(a) && is_standard(b));
}

/* Files of before opsets were written import none: 1. */
static int64_t opset_of(const struct frame *frame, const char *domain)
{
    for (size_t i = 0; i < frame->opset_count && i < MOST_OPSETS; i++)
        if (same_domain(text_of(frame->opsets[i]->domain), domain))
            return frame->opsets[i]->version;
    return 1;
}

static int read_operands(struct reader *reader, const struct frame *frame, const Onnx__NodeProto *from,
                         struct rt_onnx_node *node)
{
    struct rt_onnx_model *model = reader->model;
    uint32_t *inputs = rt_onnx_room(model, from->n_input, sizeof *inputs);
    model->operand_count += from->n_input + from->n_output;
    if (model->operand_count > rt_onnx_most(model, RT_ONNX_MOST_INPUTS))
        return too_many(model, "inputs and outputs of nodes", RT_ONNX_MOST_INPUTS);
    node->inputs = inputs;
    node->input_count = from->n_input;
    for (size_t i = 0; i < from->n_input; i++) {
        inputs[i] = from->input[i][0] == '\0' ? RT_ONNX_NO_VALUE : find(reader, frame, from->input[i]);
        if (inputs[i] == RT_ONNX_NO_VALUE && from->input[i][0] != '\0')
            return rt_fail(RT_EFORMAT,
                           "reads '%s', which no input, initializer or node before it makes; nodes stand "
                           "behind what they read and in no circle",
                           from->input[i]);
    }
    return RT_OK;
}

static int make_outputs(struct reader *reader, const Onnx__NodeProto *from, struct rt_onnx_node *node)
{
    uint32_t *outputs = rt_onnx_room(reader->model, from->n_output, sizeof *outputs);
    int status = RT_OK;
    node->outputs = outputs;
    node->output_count = from->n_output;
    for (size_t i = 0; i < from->n_output && status == RT_OK; i++) {
        outputs[i] = RT_ONNX_NO_VALUE;
        if (from->output[i][0] != '\0')
            status = make_value(reader, from->output[i], &outputs[i]);
    }
    return status;
}

static struct rt_onnx_node *add_node(struct rt_onnx_model *model, struct rt_onnx_graph *graph)
{
    if (graph->node_count == graph->node_capacity) {
        size_t more = graph->node_capacity > 0 ? 2 * graph->node_capacity : 16;
        struct rt_onnx_node *nodes = rt_onnx_room(model, more, sizeof *nodes);
        if (graph->node_count > 0)
            memcpy(nodes, graph->nodes, graph->node_count * sizeof *nodes);
        graph->nodes = nodes;
        graph->node_capacity = more;
    }
    return &graph->nodes[graph->node_count++];
}

static const char *node_name(struct rt_onnx_model *model, const Onnx__NodeProto *from)
{
    const char *name = text_of(from->name);
    if (name[0] != '\0')
        return name;
    char *made = rt_format("%.64s %zu", text_of(from->op_type), model->node_count);
    name = rt_onnx_copy(model, made, strlen(made));
    free(made);
    return name;
}

static int read_node(struct reader *reader, const struct frame *frame, const Onnx__NodeProto *from,
                     struct rt_onnx_graph *graph)
{
    struct rt_onnx_model *model = reader->model;
    struct rt_onnx_node node = {
        .name = node_name(model, from), .op = text_of(from->op_type), .domain = text_of(from->domain)};
    if (model->node_count++ >= rt_onnx_most(model, RT_ONNX_MOST_NODES))
        return too_many(model, "nodes", RT_ONNX_MOST_NODES);
    node.domain = is_standard(node.domain) ? "" : node.domain;
    node.opset = opset_of(frame, node.domain);
    node.row = rt_onnx_find_operator(node.domain, node.op);
    int status = read_operands(reader, frame, from, &node);
    if (status == RT_OK)
        status = read_attributes(reader, frame, from, &node);
    if (status == RT_OK)
        status = make_outputs(reader, from, &node);
    if (status != RT_OK)
        return rt_fail_context(status, "node '%s' (%s)", node.name, node.op);
    *add_node(model, graph) = node;
    return RT_OK;
}

/* --- functions --- */

/* "domain:name", to be freed. */
static char *function_key(const char *domain, const char *name)
{
    domain = text_of(domain);
    return rt_format("%s:%s", is_standard(domain) ? "" : domain, text_of(name));
}

/* Of two of one name the first counts. */
static void list_functions(struct reader *reader)
{
    size_t count = reader->file->n_functions;
    reader->function = rt_onnx_room(reader->model, count, sizeof *reader->function);
    for (size_t i = count; i-- > 0;) {
        const Onnx__FunctionProto *function = reader->file->functions[i];
        char *key = function_key(function->domain, function->name);
        reader->function[rt_strings_add(&reader->functions, key, strlen(key))] = function;
        free(key);
    }
}

static const Onnx__FunctionProto *find_function(const struct reader *reader, const Onnx__NodeProto *from)
{
    if (reader->functions.count == 0)
        return NULL;
    char *key = function_key(from->domain, from->op_type);
    int32_t index = rt_strings_find(&reader->functions, key, strlen(key));
    free(key);
    return index < 0 ? NULL : reader->function[index];
}

static int read_nodes(struct reader *reader, const struct frame *frame, Onnx__NodeProto **from, size_t count,
                      struct rt_onnx_graph *graph);

/* Values of the caller under the names that the function has for them. */
static int bind_call(struct reader *reader, const struct frame *caller, const Onnx__NodeProto *call,
                     const Onnx__FunctionProto *function)
{
    struct rt_onnx_node operands = {.name = ""};
    int status = read_operands(reader, caller, call, &operands);
    open_scope(reader);
    for (size_t i = 0; i < function->n_input && status == RT_OK; i++)
        if (i < call->n_input && operands.inputs[i] != RT_ONNX_NO_VALUE)
            bind(reader, function->input[i], operands.inputs[i]);
    return status;
}

/* Writes the function's nodes out in place of the call. */
static int read_call(struct reader *reader, const struct frame *caller, const Onnx__NodeProto *call,
                     const Onnx__FunctionProto *function, struct rt_onnx_graph *graph)
{
    struct frame frame = {
        call, caller, function->opset_import, function->n_opset_import, reader->scope + 1, caller->depth + 1};
    size_t mark = reader->undo_count, results = 0;
    if (frame.depth > CALL_DEPTH)
        return rt_fail(RT_EFORMAT, "function '%s' is called %d deep; functions may not call themselves",
                       text_of(function->name), CALL_DEPTH);
    if (reader->model->node_count++ >= rt_onnx_most(reader->model, RT_ONNX_MOST_NODES))
        return too_many(reader->model, "nodes", RT_ONNX_MOST_NODES);
    uint32_t *made = rt_onnx_room(reader->model, call->n_output, sizeof *made);
    int status = bind_call(reader, caller, call, function);
    if (status == RT_OK)
        status = read_nodes(reader, &frame, function->node, function->n_node, graph);
    for (; results < call->n_output && results < function->n_output && status == RT_OK; results++) {
        made[results] = find(reader, &frame, function->output[results]);
        if (made[results] == RT_ONNX_NO_VALUE)
            status = rt_fail(RT_EFORMAT, "function '%s' does not make its output '%s'",
                             text_of(function->name), function->output[results]);
    }
    close_scope(reader, mark);
    for (size_t i = 0; i < results && status == RT_OK; i++)
        if (call->output[i][0] != '\0')
            bind(reader, call->output[i], made[i]);
    return status;
}

static int read_nodes(struct reader *reader, const struct frame *frame, Onnx__NodeProto **from, size_t count,
                      struct rt_onnx_graph *graph)
{
    int status = RT_OK;
    for (size_t i = 0; i < count && status == RT_OK; i++) {
        const Onnx__FunctionProto *function = find_function(reader, from[i]);
        status = function != NULL ? read_call(reader, frame, from[i], function, graph)
                                  : read_node(reader, frame, from[i], graph);
    }
    return status;
}

/* --- graphs --- */

static int read_initializers(struct reader *reader, const Onnx__GraphProto *from)
{
    int status = RT_OK;
    uint32_t value;
    for (size_t i = 0; i < from->n_initializer && status == RT_OK; i++) {
        status = make_value(reader, text_of(from->initializer[i]->name), &value);
        if (status == RT_OK)
            status = rt_onnx_read_tensor(reader->model, from->initializer[i], value);
    }
    for (size_t i = 0; i < from->n_sparse_initializer && status == RT_OK; i++) {
        const Onnx__SparseTensorProto *sparse = from->sparse_initializer[i];
        const char *name = text_of(sparse->values != NULL ? sparse->values->name : NULL);
        if ((status = make_value(reader, name, &value)) == RT_OK)
            status = rt_onnx_read_sparse(reader->model, sparse, value);
    }
    return status;
}

static bool has_initializer(struct reader *reader, const char *name)
{
    const struct binding *bound = binding_of(reader, name);
    return bound->value != RT_ONNX_NO_VALUE && bound->scope == reader->scope &&
           reader->model->values[bound->value].initializer;
}

/* Inputs that have an initializer are weights: files of before 2019 list them. */
static int read_inputs(struct reader *reader, const Onnx__GraphProto *from, struct rt_onnx_graph *out)
{
    uint32_t *inputs = rt_onnx_room(reader->model, from->n_input, sizeof *inputs);
    int status = RT_OK;
    out->inputs = inputs;
    for (size_t i = 0; i < from->n_input && status == RT_OK; i++) {
        const char *name = text_of(from->input[i]->name);
        uint32_t *value = &inputs[out->input_count];
        if (has_initializer(reader, name))
            continue;
        if ((status = make_value(reader, name, value)) != RT_OK)
            break;
        out->input_count++;
        reader->model->values[*value].input = true;
        if (from->input[i]->type != NULL)
            status = rt_onnx_read_type(reader->model, from->input[i]->type, *value);
    }
    return status;
}

/* The types that the file writes for what nodes make. */
static int read_types(struct reader *reader, const struct frame *frame, Onnx__ValueInfoProto **from,
                      size_t count)
{
    int status = RT_OK;
    for (size_t i = 0; i < count && status == RT_OK; i++) {
        uint32_t value = find(reader, frame, text_of(from[i]->name));
        if (value != RT_ONNX_NO_VALUE && from[i]->type != NULL && !reader->model->values[value].input &&
            !reader->model->values[value].initializer)
            status = rt_onnx_read_type(reader->model, from[i]->type, value);
    }
    return status;
}

static int read_outputs(struct reader *reader, const struct frame *frame, const Onnx__GraphProto *from,
                        struct rt_onnx_graph *out)
{
    uint32_t *outputs = rt_onnx_room(reader->model, from->n_output, sizeof *outputs);
    out->outputs = outputs;
    out->output_count = from->n_output;
    reader->model->operand_count += from->n_output + from->n_input;
    for (size_t i = 0; i < from->n_output; i++) {
        const char *name = text_of(from->output[i]->name);
        outputs[i] = find(reader, frame, name);
        if (outputs[i] == RT_ONNX_NO_VALUE)
            return rt_fail(RT_EFORMAT, "nothing makes the output '%s' of graph '%s'", name, out->name);
    }
    return read_types(reader, frame, from->output, from->n_output);
}

/* Bodies see the names around them. */
static int read_graph(struct reader *reader, const struct frame *frame, const Onnx__GraphProto *from,
                      struct rt_onnx_graph *out)
{
    size_t mark = open_scope(reader);
    out->name = text_of(from->name);
    int status = read_initializers(reader, from);
    if (status == RT_OK)
        status = read_inputs(reader, from, out);
    if (status == RT_OK)
        status = read_nodes(reader, frame, from->node, from->n_node, out);
    if (status == RT_OK)
        status = read_types(reader, frame, from->value_info, from->n_value_info);
    if (status == RT_OK)
        status = read_outputs(reader, frame, from, out);
    close_scope(reader, mark);
    return status;
}

/* --- files --- */

static void release_source(void *source)
{
    onnx__model_proto__free_unpacked(source, NULL);
}

static int unpack(const char *path, struct rt_onnx_model *out)
{
    uint8_t *bytes;
    size_t size;
    int status = rt_slim_read(path, &bytes, &size);
    if (status != RT_OK)
        return status;
    Onnx__ModelProto *file = onnx__model_proto__unpack(NULL, size, bytes);
    free(bytes);
    if (file == NULL)
        return rt_fail(RT_EFORMAT, "%s: protobuf-c cannot read it as an ONNX model; the file is corrupt",
                       path);
    out->bytes = size;
    out->source = file;
    out->release_source = release_source;
    if (file->graph == NULL)
        return rt_fail(RT_EFORMAT, "%s holds no graph; it is not an ONNX model", path);
    out->producer = text_of(file->producer_name);
    out->producer_version = text_of(file->producer_version);
    return RT_OK;
}

static int read_model(struct rt_onnx_model *out)
{
    struct reader reader = {.model = out, .file = out->source};
    struct frame frame = {.opsets = reader.file->opset_import, .opset_count = reader.file->n_opset_import};
    out->graph = rt_onnx_room(out, 1, sizeof *out->graph);
    list_functions(&reader);
    out->opset = opset_of(&frame, "");
    int status = read_graph(&reader, &frame, reader.file->graph, out->graph);
    rt_strings_release(&reader.names);
    rt_strings_release(&reader.functions);
    free(reader.bound);
    free(reader.undo);
    return status == RT_OK ? RT_OK : rt_fail_context(status, "%s", out->path);
}

static void warn_of_opset(const struct rt_onnx_model *model)
{
    if (model->opset > RT_ONNX_NEWEST)
        rt_warn("%s: opset %" PRId64 " is newer than %d, the last that rooftile knows; operators that have "
                "changed since may be taken wrongly",
                model->path, model->opset, RT_ONNX_NEWEST);
    else if (model->opset > 0 && model->opset < RT_ONNX_OLDEST)
        rt_warn("%s: opset %" PRId64 " is older than %d, the first that rooftile knows; operators that have "
                "changed since may be taken wrongly",
                model->path, model->opset, RT_ONNX_OLDEST);
}

int rt_onnx_read(const char *path, const struct rt_onnx_given *given, struct rt_onnx_model *out)
{
    *out = (struct rt_onnx_model){.path = path, .given = given, .producer = "", .producer_version = ""};
    int status = rt_onnx_take_dims(out);
    if (status == RT_OK)
        status = unpack(path, out);
    if (status == RT_OK)
        status = read_model(out);
    if (status == RT_OK)
        status = rt_onnx_take_shapes(out);
    if (status == RT_OK && (status = rt_onnx_infer(out)) != RT_OK)
        status = rt_fail_context(status, "%s", path);
    if (status == RT_OK)
        warn_of_opset(out);
    else
        rt_onnx_release(out);
    return status;
}

const char *rt_onnx_library(void)
{
    return protobuf_c_version();
}
