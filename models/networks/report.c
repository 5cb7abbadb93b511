/* Graphs as reports: tables for people, one object of JSON, pictures. See report.h. */
#include "base/status.h"
#include "base/text.h"
#include "models/networks/memory.h"
#include "models/networks/report.h"
#include "models/networks/sequences.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_WIDTH 40
#define SHORT_NAME 120 /* bytes that hold one that is shortened */

/* For tables and boxes: the long name of a chain "a+b+c" becomes "a+...+c". */
static void shorten_name(const char *name, char *out, size_t size)
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

/* --- text --- */

/* A row for each kernel that is launched; name and parameters stand in the first. */
static void node_rows(const struct rt_graph *graph, const struct rt_node *node,
                      struct rt_graph_kernel *launches, struct rt_table *table)
{
    char name[SHORT_NAME], dims[256];
    size_t rows = 0;
    shorten_name(node->name, name, sizeof name);
    for (int phase = 0; phase < RT_PHASE_COUNT; phase++) {
        size_t count = rt_node_launches(graph, node, (enum rt_phase)phase, launches);
        for (size_t k = 0; k < count; k++, rows++) {
            rt_call_dims(&launches[k].call, dims, sizeof dims);
            rt_table_row(table, rows == 0 ? name : "", rt_phases[phase], rt_ops[launches[k].call.op].name,
                         dims, launches[k].flops / 1e9, launches[k].bytes / 1e6,
                         rows == 0 && node->parameters > 0 ? node->parameters : NAN);
        }
    }
    if (rows == 0)
        rt_table_row(table, name, NULL, NULL, NULL, NAN, NAN, node->parameters > 0 ? node->parameters : NAN);
}

static void add_block(struct rt_report *report, const struct rt_graph *graph, const struct rt_block *block)
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
    char *title = block->repeat > 1 ? rt_format("%s, %" PRId64 " times", block->name, block->repeat)
                                    : rt_strdup(block->name);
    rt_report_add_table(report, NULL, title, table);
    free(title);
    free(launches);
}

static void add_totals(struct rt_report *report, const struct rt_graph *graph)
{
    static const struct rt_column columns[] = {{"total", NULL, 's', 0},
                                               {"gflop", "GFLOP", 'f', 3},
                                               {"gb", "GB", 'f', 3},
                                               {"kernels", NULL, 'd', 0},
                                               {"sent_gb", "GB sent", 'f', 3}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct rt_graph_totals totals;
    rt_graph_totals(graph, &totals);
    for (int p = 0; p < RT_PHASE_COUNT; p++)
        if (totals.kernels[p] > 0)
            rt_table_row(table, rt_phases[p], totals.flops[p] / 1e9, totals.bytes[p] / 1e9,
                         (long long)totals.kernels[p], totals.sent_bytes[p] / 1e9);
    rt_report_add_table(report, NULL, "", table);
    rt_report_add_words(report, "parameters", "%.0f%s", totals.parameters,
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
    {"workspace", offsetof(struct rt_graph_memory, workspace)},
    {"total", offsetof(struct rt_graph_memory, total)},
    {"saved", offsetof(struct rt_graph_memory, saved)},
};

static double memory_part(const struct rt_graph_memory *memory, size_t part)
{
    return *(const double *)((const char *)memory + memory_parts[part].offset);
}

static void add_memory(struct rt_report *report, const struct rt_graph *graph)
{
    struct rt_graph_memory memory;
    struct rt_text text = {0};
    rt_graph_memory(graph, NULL, &memory);
    for (size_t i = 0; i < RT_COUNT(memory_parts); i++)
        if (memory_part(&memory, i) > 0)
            rt_text_item(&text, ", ", "%s %.2f GB", memory_parts[i].name, memory_part(&memory, i) / 1e9);
    rt_report_add_words(report, "memory", "%s", text.text);
    rt_text_release(&text);
}

static void add_title(struct rt_report *report, const struct rt_graph *graph, const char *model)
{
    const struct rt_graph_options *options = &graph->options;
    struct rt_text title = {0};
    char *groups = rt_sequences_words(options->groups, options->group_count);
    rt_text_add(&title, "%s: %s, ", model, rt_steps[options->step]);
    if (options->groups != NULL)
        rt_text_add(&title, "%s", groups);
    else if (options->step == RT_STEP_DECODE)
        rt_text_add(&title, "batch %" PRId64 ", context %" PRId64, options->batch, options->context);
    else
        rt_text_add(&title, "batch %" PRId64 ", %s %" PRId64, options->batch,
                    options->image > 0 ? "image" : "sequence",
                    options->image > 0 ? options->image : options->sequence);
    free(groups);
    if (options->image_width > 0 && options->image_width != options->image)
        rt_text_add(&title, " x %" PRId64, options->image_width);
    if (options->frames > 0)
        rt_text_add(&title, ", %" PRId64 " frames", options->frames);
    if (options->denoising_steps > 0)
        rt_text_add(&title, ", %" PRId64 " steps", options->denoising_steps);
    if (options->seconds > 0)
        rt_text_add(&title, ", %g s of sound", options->seconds);
    rt_text_add(&title, "%s%s", options->channels_last ? ", channels last" : "",
                options->autocast ? ", autocast" : "");
    if (options->tensor_parallel > 1)
        rt_text_add(&title, ", one of %" PRId64 " tensor-parallel devices", options->tensor_parallel);
    rt_text_add(&title, ", %s%s, by %s", rt_graph_dtype_words(graph).text, options->fusion ? ", fused" : "",
                rt_runtimes[options->runtime].name);
    if (options->optimizer != RT_OPTIMIZER_NONE)
        rt_text_add(&title, ", %s", rt_optimizers[options->optimizer]);
    rt_report_add_title(report, "%s", title.text);
    rt_text_release(&title);
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

static json_t *options_json(const struct rt_graph *graph)
{
    const struct rt_graph_options *options = &graph->options;
    bool decode = options->step == RT_STEP_DECODE, image = options->image > 0;
    return json_pack("{s:s, s:o, s:o, s:s, s:I, s:I, s:o, s:I, s:s, s:s, s:b, s:b, s:b}", "runtime",
                     rt_runtimes[options->runtime].name, "kv_bits",
                     options->kv_bits > 0 ? json_integer(options->kv_bits) : json_null(), "sequence_groups",
                     rt_sequences_json(options->groups, options->group_count), "mode",
                     rt_steps[options->step], "batch", (json_int_t)options->batch,
                     image    ? "image"
                     : decode ? "context"
                              : "sequence",
                     (json_int_t)(image    ? options->image
                                  : decode ? options->context
                                           : options->sequence),
                     "seconds", options->seconds > 0 ? json_real(options->seconds) : json_null(),
                     "tensor_parallel", (json_int_t)options->tensor_parallel, "dtype",
                     rt_dtypes[graph->products].name, "optimizer", rt_optimizers[options->optimizer],
                     "fusion", options->fusion, "channels_last", options->channels_last, "autocast",
                     options->autocast);
}

static json_t *totals_json(const struct rt_graph *graph)
{
    json_t *object = json_object();
    struct rt_graph_totals totals;
    json_int_t kernels = 0;
    rt_graph_totals(graph, &totals);
    for (int p = 0; p < RT_PHASE_COUNT; p++) {
        json_t *phase = json_pack("{s:o, s:o, s:I, s:o}", "flops", rt_json_number(totals.flops[p]), "bytes",
                                  rt_json_number(totals.bytes[p]), "kernels", (json_int_t)totals.kernels[p],
                                  "sent_bytes", rt_json_number(totals.sent_bytes[p]));
        json_object_set_new(object, rt_phases[p], phase);
        kernels += (json_int_t)totals.kernels[p];
    }
    json_object_set_new(object, "parameters", rt_json_number(totals.parameters));
    json_object_set_new(object, "nodes", json_integer((json_int_t)totals.nodes));
    json_object_set_new(object, "kernels", json_integer(kernels));
    return object;
}

static json_t *graph_json(const struct rt_graph *graph, const char *model)
{
    struct rt_graph_memory memory;
    json_t *parts = json_object();
    rt_graph_memory(graph, NULL, &memory);
    for (size_t i = 0; i < RT_COUNT(memory_parts); i++)
        json_object_set_new(parts, memory_parts[i].name, rt_json_number(memory_part(&memory, i)));
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "model", rt_json_text(model), "options",
                     options_json(graph), "blocks", blocks_json(graph), "totals", totals_json(graph),
                     "memory", parts);
}

/* FLOPs and bytes of one step by op, with repetitions. */
struct op_sums {
    double flops[RT_OP_COUNT], bytes[RT_OP_COUNT];
};

static struct op_sums sum_ops(const struct rt_graph *graph)
{
    struct op_sums sums = {{0}, {0}};
    struct rt_graph_kernel *launches = rt_malloc((graph->kernel_count + 1) * sizeof *launches);
    for (size_t n = 0; n < graph->node_count; n++)
        for (int phase = 0; phase < RT_PHASE_COUNT; phase++) {
            const struct rt_node *node = &graph->nodes[n];
            size_t count = rt_node_launches(graph, node, (enum rt_phase)phase, launches);
            for (size_t k = 0; k < count; k++) {
                sums.flops[launches[k].call.op] +=
                    rt_graph_runs(graph, node, (enum rt_phase)phase) * launches[k].flops;
                if (rt_families[rt_call_family(&launches[k].call)].link)
                    continue; /* they are sent */
                sums.bytes[launches[k].call.op] +=
                    rt_graph_runs(graph, node, (enum rt_phase)phase) * launches[k].bytes;
            }
        }
    free(launches);
    return sums;
}

/* Bars of the largest first, in a unit of 1e9. `what`: "FLOPs", "Bytes". */
static void add_op_plot(struct rt_report *report, const char *what, const char *label, const double *sum)
{
    enum { MOST = 12 };
    const double small = 1e-4; /* too little to be seen */
    const char *names[MOST];
    double values[MOST], all = 0;
    size_t count = 0;
    bool taken[RT_OP_COUNT] = {false};
    for (int op = 0; op < RT_OP_COUNT; op++)
        all += sum[op];
    for (; count < MOST; count++) {
        int most = -1;
        for (int op = 0; op < RT_OP_COUNT; op++)
            if (!taken[op] && sum[op] > 0 && (most < 0 || sum[op] > sum[most]))
                most = op;
        if (most < 0 || sum[most] < small * all)
            break;
        taken[most] = true;
        names[count] = rt_ops[most].name;
        values[count] = sum[most] / 1e9;
    }
    if (count == 0)
        return;
    char *title = rt_format("%s by op", what);
    struct rt_plot *plot =
        rt_plot_new(title, "%s %s in one step on one device, the most, %.0f%%, in %s.",
                    rt_number_text(all / 1e9).text, label, 100e9 * values[0] / all, names[0]);
    rt_plot_axes(plot, label, RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    rt_plot_bars(plot, "", names, values, count);
    rt_report_add_plot(report, plot);
    free(title);
}

static void add_plots(struct rt_report *report, const struct rt_graph *graph)
{
    struct op_sums sums = sum_ops(graph);
    add_op_plot(report, "FLOPs", "GFLOP", sums.flops);
    add_op_plot(report, "Bytes", "GB", sums.bytes);
}

struct rt_report *rt_graph_report(const struct rt_graph *graph, const char *model)
{
    struct rt_report *report = rt_report_new();
    add_title(report, graph, model);
    add_plots(report, graph);
    for (size_t b = 0; b < graph->block_count; b++)
        add_block(report, graph, &graph->blocks[b]);
    add_totals(report, graph);
    add_memory(report, graph);
    rt_report_add_json(report, "", graph_json(graph, model));
    return report;
}

/* --- Graphviz --- */

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
    char *printable = rt_text_printable(text, false);
    for (const char *at = printable; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            fputc('\\', file);
        fputc(*at, file);
    }
    free(printable);
}

static void print_box(const struct rt_graph *graph, size_t n, struct rt_graph_kernel *launches, FILE *file)
{
    const struct rt_node *node = &graph->nodes[n];
    char name[SHORT_NAME], dims[256];
    const char *colour = "white";
    shorten_name(node->name, name, sizeof name);
    fprintf(file, "    n%zu [label=\"", n);
    print_escaped(name, file);
    for (int phase = 0; phase < RT_PHASE_COUNT; phase++) {
        size_t count = rt_node_launches(graph, node, (enum rt_phase)phase, launches);
        if (phase == RT_FORWARD && count > 0) {
            const struct rt_graph_kernel *kernel = &launches[count - 1];
            rt_call_dims(&kernel->call, dims, sizeof dims);
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
