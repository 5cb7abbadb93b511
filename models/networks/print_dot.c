/* Graphs as pictures. See print.h. */
#include "base/status.h"
#include "base/text.h"
#include "models/networks/print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_WIDTH 40

void rt_node_short_name(const char *name, char *out, size_t size)
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
    char name[RT_NODE_SHORT_NAME], dims[256];
    const char *colour = "white";
    rt_node_short_name(node->name, name, sizeof name);
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
