/* Every value of a model with its shape. See onnx.h. */
#include "base/report.h"
#include "base/status.h"
#include "base/strings.h"
#include "models/networks/onnx/operator.h"
#include "models/networks/onnx/infer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_REASONS 20

static const char *const kinds[] = {"tensor", "sequence", "optional", "other"};

/* What is collected while the nodes are walked. */
struct walk {
    const struct rt_onnx_model *model;
    struct rt_table *values;
    bool *told; /* (values) the reason that begins there was told */
    uint32_t reasons[MOST_REASONS];
    size_t reason_count, unknown_count, node_count;
    struct rt_strings operators; /* that no row knows */
};

static void add_reason(struct walk *walk, uint32_t number)
{
    uint32_t cause = walk->model->values[number].cause;
    walk->unknown_count++;
    if (cause == RT_ONNX_NO_VALUE || walk->told[cause])
        return;
    walk->told[cause] = true;
    if (walk->reason_count < MOST_REASONS)
        walk->reasons[walk->reason_count++] = number;
}

static json_t *dims_json(const struct rt_onnx_shape *shape)
{
    if (shape->rank == RT_ONNX_UNKNOWN)
        return json_null();
    json_t *dims = json_array();
    for (int d = 0; d < shape->rank; d++)
        json_array_append_new(dims,
                              shape->dim[d] == RT_ONNX_UNKNOWN ? json_null() : json_integer(shape->dim[d]));
    return dims;
}

static void add_value(struct walk *walk, uint32_t number, const char *node, const char *op)
{
    const struct rt_onnx_value *value = &walk->model->values[number];
    rt_table_row(walk->values, value->name, node, op, kinds[value->kind], rt_onnx_dtypes[value->dtype].name,
                 rt_onnx_shape_words(&value->shape).text);
    rt_table_row_json(walk->values, "dims", dims_json(&value->shape));
    if (value->kind == RT_ONNX_TENSOR && !rt_onnx_shape_known(&value->shape))
        add_reason(walk, number);
}

static void add_graph(struct walk *walk, const struct rt_onnx_graph *graph);

/* Bodies that are never run are not told. */
static void add_bodies(struct walk *walk, const struct rt_onnx_node *node)
{
    struct rt_onnx_at at = {(struct rt_onnx_model *)walk->model, node, 0};
    const struct rt_onnx_graph *only = strcmp(node->op, "If") == 0 ? rt_onnx_branch(&at) : NULL;
    for (size_t a = 0; a < node->attribute_count; a++)
        if (node->attributes[a].kind == RT_ONNX_A_GRAPH && (only == NULL || node->attributes[a].body == only))
            add_graph(walk, node->attributes[a].body);
}

static void add_graph(struct walk *walk, const struct rt_onnx_graph *graph)
{
    for (size_t i = 0; i < graph->input_count; i++)
        add_value(walk, graph->inputs[i], NULL, "input");
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct rt_onnx_node *node = &graph->nodes[i];
        walk->node_count++;
        if (node->row == NULL) {
            char *name = rt_format("%s%s%s", node->domain, node->domain[0] != '\0' ? "." : "", node->op);
            rt_strings_add(&walk->operators, name, strlen(name));
            free(name);
        }
        add_bodies(walk, node);
        for (size_t o = 0; o < node->output_count; o++)
            if (node->outputs[o] != RT_ONNX_NO_VALUE)
                add_value(walk, node->outputs[o], node->name, node->op);
    }
}

/* Elements of initializers but those of whole numbers of 16 bits and more, which are indices and shapes. */
static double weight_elements(const struct rt_onnx_model *model)
{
    double elements = 0;
    for (size_t i = 0; i < model->value_count; i++) {
        const struct rt_onnx_value *value = &model->values[i];
        const struct rt_onnx_dtype_row *row = &rt_onnx_dtypes[value->dtype];
        if (value->initializer &&
            (row->real || (row->bits > 0 && row->bits <= 8 && value->dtype != RT_ONNX_BOOL)))
            elements += (double)rt_onnx_count(&value->shape);
    }
    return elements;
}

static void add_facts(const struct walk *walk, struct rt_report *report)
{
    const struct rt_onnx_model *model = walk->model;
    double weights = weight_elements(model);
    rt_report_add_title(report, "%s: ONNX, opset %" PRId64 "%s%s %s", model->path, model->opset,
                        model->producer[0] != '\0' ? ", by " : "", model->producer, model->producer_version);
    rt_report_add_json(report, "opset", json_integer(model->opset));
    rt_report_add_json(report, "producer", rt_json_text(model->producer));
    rt_report_add_count(report, "nodes", "nodes", walk->node_count);
    rt_report_add_fact(report, "parameters", rt_json_number(weights), "parameters", "%.0f", weights);
    rt_report_add_count(report, "unknown", "shapes not known", walk->unknown_count);
}

static void add_notes(const struct walk *walk, struct rt_report *report)
{
    for (size_t i = 0; i < walk->reason_count; i++) {
        char *why = rt_onnx_why_unknown(walk->model, walk->reasons[i]);
        rt_report_add_note(report, "reasons", "not known: %s", why);
        free(why);
    }
    for (size_t i = 0; i < walk->operators.count; i++)
        rt_report_add_note(report, "operators", "no row for operator %s",
                           rt_strings_get(&walk->operators, (int32_t)i));
}

struct rt_report *rt_onnx_report(const struct rt_onnx_model *model)
{
    static const struct rt_column columns[] = {{"value", NULL, 's', 0}, {"node", NULL, 's', 0},
                                               {"op", NULL, 's', 0},    {"kind", "", 's', 0},
                                               {"dtype", NULL, 's', 0}, {"shape", NULL, 's', 0}};
    struct rt_report *report = rt_report_new();
    struct walk walk = {.model = model,
                        .values = rt_table_new(columns, RT_COUNT(columns)),
                        .told = rt_calloc(model->value_count + 1, sizeof *walk.told)};
    add_graph(&walk, model->graph);
    add_facts(&walk, report);
    rt_report_add_table(report, "values", "", walk.values);
    add_notes(&walk, report);
    rt_strings_release(&walk.operators);
    free(walk.told);
    return report;
}
