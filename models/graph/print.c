/* Graphs as text, JSON and dot. See print.h. */
#include "models/graph/print.h"
#include "base/status.h"
#include "base/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_WIDTH 40 /* of a node in text and pictures */

/* A chain "a+b+c" that is long becomes "a+...+c"; JSON has the whole name. */
static void short_name(const char *name, char *out, size_t size)
{
    const char *first = strpbrk(name, "+~"), *last = first;
    for (const char *at = first; at != NULL; at = strpbrk(at + 1, "+~"))
        last = at;
    if (strlen(name) <= NAME_WIDTH)
        snprintf(out, size, "%s", name);
    else if (first != last)
        snprintf(out, size, "%.*s%c...%.*s", first - name > NAME_WIDTH ? NAME_WIDTH : (int)(first - name),
                 name, *first, NAME_WIDTH, last);
    else
        snprintf(out, size, "%.*s...", NAME_WIDTH, name);
}

/* "m=4096 n=1280 k=5120" */
static void dims_text(const struct rt_graph_kernel *kernel, char *out, size_t size)
{
    size_t length = 0;
    out[0] = '\0';
    for (int d = 0; rt_ops[kernel->call.op].dims[d] != NULL && length < size; d++)
        length += (size_t)snprintf(out + length, size - length, "%s%s=%" PRId64, d > 0 ? " " : "",
                                   rt_ops[kernel->call.op].dims[d], kernel->call.dim[d]);
}

static bool is_collective(const struct rt_graph_kernel *kernel)
{
    return rt_families[rt_call_family(&kernel->call)].link;
}

/* What rt_graph_totals does not tell: kernels of each phase, and bytes that collectives send. */
struct phase_counts {
    size_t kernels[RT_PHASE_COUNT];
    double sent[RT_PHASE_COUNT];
};

static struct phase_counts count_phases(const struct rt_graph *graph)
{
    struct phase_counts counts = {0};
    struct rt_graph_kernel *launches = rt_malloc((graph->kernel_count + 1) * sizeof *launches);
    for (size_t n = 0; n < graph->node_count; n++)
        for (int phase = 0; phase < RT_PHASE_COUNT; phase++) {
            const struct rt_node *node = &graph->nodes[n];
            size_t launched = rt_node_launches(graph, node, (enum rt_phase)phase, launches);
            counts.kernels[phase] += launched * (size_t)rt_graph_repeat(graph, node);
            for (size_t k = 0; k < launched; k++)
                if (is_collective(&launches[k]))
                    counts.sent[phase] += launches[k].bytes * (double)rt_graph_repeat(graph, node);
        }
    free(launches);
    return counts;
}

/* --- text --- */

/* A row for each kernel that is launched; name and parameters stand in the first. */
static void node_rows(const struct rt_graph *graph, const struct rt_node *node,
                      struct rt_graph_kernel *launches, struct rt_table *table)
{
    char name[3 * NAME_WIDTH], dims[256];
    size_t rows = 0;
    short_name(node->name, name, sizeof name);
    for (int phase = 0; phase < RT_PHASE_COUNT; phase++) {
        size_t count = rt_node_launches(graph, node, (enum rt_phase)phase, launches);
        for (size_t k = 0; k < count; k++, rows++) {
            dims_text(&launches[k], dims, sizeof dims);
            rt_table_row(table, rows == 0 ? name : "", rt_phases[phase], rt_ops[launches[k].call.op].name,
                         dims, launches[k].flops / 1e9, launches[k].bytes / 1e6,
                         rows == 0 && node->parameters > 0 ? node->parameters : NAN);
        }
    }
    if (rows == 0)
        rt_table_row(table, name, NULL, NULL, NULL, NAN, NAN, node->parameters > 0 ? node->parameters : NAN);
}

static void print_block(const struct rt_graph *graph, const struct rt_block *block, FILE *file)
{
    static const struct rt_column columns[] = {
        {"node", NULL, 's', 0},       {"phase", NULL, 's', 0},    {"op", NULL, 's', 0},
        {"dims", NULL, 's', 0},       {"gflop", "GFLOP", 'g', 4}, {"mb", "MB", 'g', 4},
        {"parameters", NULL, 'f', 0},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct rt_graph_kernel *launches = rt_malloc((graph->kernel_count + 1) * sizeof *launches);
    for (uint32_t n = block->node; n < block->node + block->node_count; n++)
        node_rows(graph, &graph->nodes[n], launches, table);
    fprintf(file, "\n%s", block->name);
    if (block->repeat > 1)
        fprintf(file, ", %" PRId64 " times", block->repeat);
    fputc('\n', file);
    rt_table_text(table, file);
    rt_table_free(table);
    free(launches);
}

static void print_totals(const struct rt_graph *graph, FILE *file)
{
    static const struct rt_column columns[] = {{"total", NULL, 's', 0},
                                               {"gflop", "GFLOP", 'f', 3},
                                               {"gb", "GB", 'f', 3},
                                               {"kernels", NULL, 'd', 0},
                                               {"sent_gb", "GB sent", 'f', 3}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct rt_graph_totals totals;
    struct phase_counts counts = count_phases(graph);
    rt_graph_totals(graph, &totals);
    for (int p = 0; p < RT_PHASE_COUNT; p++)
        if (counts.kernels[p] > 0)
            rt_table_row(table, rt_phases[p], totals.flops[p] / 1e9, totals.bytes[p] / 1e9,
                         (long long)counts.kernels[p], counts.sent[p] / 1e9);
    fputc('\n', file);
    rt_table_text(table, file);
    rt_table_free(table);
    fprintf(file, "\nparameters %.0f%s\n", totals.parameters,
            graph->options.tensor_parallel > 1 ? " on each device" : "");
}

/* Parts of a step's memory, by name. */
static const struct {
    const char *name;
    size_t offset;
} memory_parts[] = {
    {"weights", offsetof(struct rt_graph_memory, weights)},
    {"gradients", offsetof(struct rt_graph_memory, gradients)},
    {"optimizer", offsetof(struct rt_graph_memory, optimizer)},
    {"activations", offsetof(struct rt_graph_memory, activations)},
    {"cache", offsetof(struct rt_graph_memory, cache)},
    {"total", offsetof(struct rt_graph_memory, total)},
};

static double memory_part(const struct rt_graph_memory *memory, size_t part)
{
    return *(const double *)((const char *)memory + memory_parts[part].offset);
}

static void print_memory(const struct rt_graph *graph, FILE *file)
{
    struct rt_graph_memory memory;
    rt_graph_memory(graph, 1, 1, &memory);
    fputs("memory     ", file);
    const char *comma = "";
    for (size_t i = 0; i < RT_COUNT(memory_parts); i++) {
        if (memory_part(&memory, i) > 0)
            fprintf(file, "%s%s %.2f GB", comma, memory_parts[i].name, memory_part(&memory, i) / 1e9);
        comma = memory_part(&memory, i) > 0 ? ", " : comma;
    }
    fputc('\n', file);
}

static void print_title(const struct rt_graph *graph, const char *model, FILE *file)
{
    const struct rt_graph_options *options = &graph->options;
    fprintf(file, "%s: %s, batch %" PRId64, model, rt_steps[options->step], options->batch);
    if (options->step == RT_STEP_DECODE)
        fprintf(file, ", context %" PRId64, options->context);
    else
        fprintf(file, ", sequence %" PRId64, options->sequence);
    if (options->tensor_parallel > 1)
        fprintf(file, ", one of %" PRId64 " tensor-parallel devices", options->tensor_parallel);
    fprintf(file, ", %s%s", rt_dtypes[options->dtype].name, options->fusion ? ", fused" : "");
    if (options->optimizer != RT_OPTIMIZER_NONE)
        fprintf(file, ", %s", rt_optimizers[options->optimizer]);
}

void rt_graph_print_text(const struct rt_graph *graph, const char *model, FILE *file)
{
    print_title(graph, model, file);
    fputc('\n', file);
    for (size_t b = 0; b < graph->block_count; b++)
        print_block(graph, &graph->blocks[b], file);
    print_totals(graph, file);
    print_memory(graph, file);
}

/* --- JSON --- */

/* The ops that a launch was fused from; NULL where it is one op. */
static json_t *fused_ops(const struct rt_graph *graph, const struct rt_node *node, enum rt_phase phase,
                         size_t launched)
{
    json_t *ops = json_array();
    for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++)
        if (graph->kernels[k].call.phase == phase)
            json_array_append_new(ops, json_string(rt_ops[graph->kernels[k].call.op].name));
    if (json_array_size(ops) != launched)
        return ops;
    json_decref(ops);
    return NULL;
}

static json_t *kernel_json(const struct rt_graph_kernel *kernel)
{
    json_t *dims = json_object();
    for (int d = 0; rt_ops[kernel->call.op].dims[d] != NULL; d++)
        json_object_set_new(dims, rt_ops[kernel->call.op].dims[d], json_integer(kernel->call.dim[d]));
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "phase", rt_phases[kernel->call.phase], "op",
                     rt_ops[kernel->call.op].name, "dims", dims, "flops", rt_json_number(kernel->flops),
                     "bytes", rt_json_number(kernel->bytes));
}

static json_t *kernels_json(const struct rt_graph *graph, const struct rt_node *node)
{
    json_t *kernels = json_array();
    struct rt_graph_kernel *launches = rt_malloc((node->kernel_count + 1) * sizeof *launches);
    for (int phase = 0; phase < RT_PHASE_COUNT; phase++) {
        size_t count = rt_node_launches(graph, node, (enum rt_phase)phase, launches);
        json_t *ops = fused_ops(graph, node, (enum rt_phase)phase, count);
        for (size_t k = 0; k < count; k++) {
            json_t *kernel = kernel_json(&launches[k]);
            if (ops != NULL)
                json_object_set(kernel, "fused", ops);
            json_array_append_new(kernels, kernel);
        }
        json_decref(ops);
    }
    free(launches);
    return kernels;
}

/* "NODE", or "BLOCK/NODE" where it stands in another block. */
static json_t *input_json(const struct rt_graph *graph, const struct rt_node *node, uint32_t input)
{
    const struct rt_node *from = &graph->nodes[input];
    if (from->block == node->block)
        return json_string(from->name);
    char *name = rt_format("%s/%s", graph->blocks[from->block].name, from->name);
    json_t *text = json_string(name);
    free(name);
    return text;
}

static json_t *node_json(const struct rt_graph *graph, const struct rt_node *node)
{
    json_t *inputs = json_array();
    for (uint32_t i = 0; i < node->input_count; i++)
        json_array_append_new(inputs, input_json(graph, node, graph->inputs[node->input + i]));
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", node->name, "inputs", inputs, "outputs",
                     rt_json_number(node->outputs), "parameters", rt_json_number(node->parameters), "kernels",
                     kernels_json(graph, node));
}

static json_t *blocks_json(const struct rt_graph *graph)
{
    json_t *blocks = json_array();
    for (size_t b = 0; b < graph->block_count; b++) {
        const struct rt_block *block = &graph->blocks[b];
        json_t *nodes = json_array();
        for (uint32_t n = block->node; n < block->node + block->node_count; n++)
            json_array_append_new(nodes, node_json(graph, &graph->nodes[n]));
        json_array_append_new(blocks, json_pack("{s:s, s:I, s:o}", "name", block->name, "repeat",
                                                (json_int_t)block->repeat, "nodes", nodes));
    }
    return blocks;
}

static json_t *options_json(const struct rt_graph_options *options)
{
    bool decode = options->step == RT_STEP_DECODE;
    return json_pack("{s:s, s:I, s:I, s:I, s:s, s:s, s:b}", "mode", rt_steps[options->step], "batch",
                     (json_int_t)options->batch, decode ? "context" : "sequence",
                     (json_int_t)(decode ? options->context : options->sequence), "tensor_parallel",
                     (json_int_t)options->tensor_parallel, "dtype", rt_dtypes[options->dtype].name,
                     "optimizer", rt_optimizers[options->optimizer], "fusion", options->fusion);
}

static json_t *totals_json(const struct rt_graph *graph)
{
    json_t *object = json_object();
    struct rt_graph_totals totals;
    struct phase_counts counts = count_phases(graph);
    rt_graph_totals(graph, &totals);
    for (int p = 0; p < RT_PHASE_COUNT; p++)
        json_object_set_new(object, rt_phases[p],
                            json_pack("{s:o, s:o, s:I, s:o}", "flops", rt_json_number(totals.flops[p]),
                                      "bytes", rt_json_number(totals.bytes[p]), "kernels",
                                      (json_int_t)counts.kernels[p], "sent_bytes",
                                      rt_json_number(counts.sent[p])));
    json_object_set_new(object, "parameters", rt_json_number(totals.parameters));
    json_object_set_new(object, "nodes", json_integer((json_int_t)totals.nodes));
    json_object_set_new(object, "kernels", json_integer((json_int_t)totals.kernels));
    return object;
}

json_t *rt_graph_json(const struct rt_graph *graph, const char *model)
{
    struct rt_graph_memory memory;
    json_t *parts = json_object();
    rt_graph_memory(graph, 1, 1, &memory);
    for (size_t i = 0; i < RT_COUNT(memory_parts); i++)
        json_object_set_new(parts, memory_parts[i].name, rt_json_number(memory_part(&memory, i)));
    json_t *name = json_string(model); /* NULL for a path that is not UTF-8 */
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "model", name != NULL ? name : json_null(), "options",
                     options_json(&graph->options), "blocks", blocks_json(graph), "totals",
                     totals_json(graph), "memory", parts);
}

/* --- dot --- */

/* By what bounds the kernel: matrix units, the link between GPUs, or memory (row by row, element by element).
 */
static const char *colour_of(const struct rt_graph_kernel *kernel)
{
    const struct rt_family_row *family = &rt_families[rt_call_family(&kernel->call)];
    return family->tensor      ? "#9ecae1"
           : family->link      ? "#f4a3a3"
           : family->row_wise  ? "#fdc086"
           : family->pointwise ? "#fee6a8"
                               : "#e0e0e0";
}

/* A text within quotes. */
static void print_escaped(const char *text, FILE *file)
{
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        fputc(*text, file);
    }
}

static void print_box(const struct rt_graph *graph, size_t n, struct rt_graph_kernel *launches, FILE *file)
{
    const struct rt_node *node = &graph->nodes[n];
    char name[3 * NAME_WIDTH], dims[256];
    const char *colour = "white";
    short_name(node->name, name, sizeof name);
    fprintf(file, "    n%zu [label=\"", n);
    print_escaped(name, file);
    for (int phase = 0; phase < RT_PHASE_COUNT; phase++) {
        size_t count = rt_node_launches(graph, node, (enum rt_phase)phase, launches);
        if (phase == RT_FORWARD && count > 0) {
            const struct rt_graph_kernel *kernel = &launches[count - 1];
            dims_text(kernel, dims, sizeof dims);
            fprintf(file, "\\n%s %s", rt_ops[kernel->call.op].name, dims);
            colour = colour_of(kernel);
        } else if (count > 0) {
            fprintf(file, "\\n%s: %zu kernel%s", rt_phases[phase], count, count > 1 ? "s" : "");
        }
    }
    fprintf(file, "\", fillcolor=\"%s\"];\n", colour);
}

void rt_graph_print_dot(const struct rt_graph *graph, const char *model, FILE *file)
{
    struct rt_graph_kernel *launches = rt_malloc((graph->kernel_count + 1) * sizeof *launches);
    fputs("digraph graph_of_ops {\n  node [shape=box, style=filled, fontname=\"Helvetica\", fontsize=10];\n"
          "  fontname=\"Helvetica\"; labelloc=t; label=\"",
          file);
    print_escaped(model, file);
    fputs("\";\n", file);
    for (size_t b = 0; b < graph->block_count; b++) {
        const struct rt_block *block = &graph->blocks[b];
        fprintf(file, "  subgraph cluster_%zu {\n    label=\"%s x %" PRId64 "\"; labeljust=l;\n", b,
                block->name, block->repeat);
        for (uint32_t n = block->node; n < block->node + block->node_count; n++)
            print_box(graph, n, launches, file);
        fputs("  }\n", file);
    }
    for (size_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++)
            fprintf(file, "  n%" PRIu32 " -> n%zu;\n", graph->inputs[graph->nodes[n].input + i], n);
    fputs("}\n", file);
    free(launches);
}
