/* What all parts of a served decoder are made of: single kernels, the sequences of a step, caches. See
 * served.h. */
#include "models/networks/architectures/served.h"
#include "models/networks/build_node.h"

#include <math.h>

const char rt_layer_does_words[] =
    "nothing|attention|window|delta|states|convolution|dense|experts|index|shared|wkv|values|reuse";

/* --- single kernels --- */

uint32_t rt_served_vector(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, uint32_t y,
                          int64_t rows, int64_t cols)
{
    uint32_t node = rt_node_add(graph, name, x, y, (double)rows * cols);
    rt_node_add_kernel(graph, RT_FORWARD, op, rows, cols);
    return node;
}

uint32_t rt_served_rmsnorm(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    uint32_t node = rt_served_vector(graph, name, RT_OP_RMSNORM, x, RT_NO_INPUT, rows, cols);
    graph->nodes[node].parameters = (double)cols;
    return node;
}

/* Queries' columns and keys', which are not as many: one kernel, or two at once (vLLM, fused_qk_rmsnorm.py).
 */
uint32_t rt_served_norm_pair(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t queries, int64_t keys)
{
    uint32_t node = rt_served_rmsnorm(graph, "attn.qk_norm", x, rows, queries);
    rt_served_fuse(graph, node, (double)keys,
                   2 * rt_dtypes[graph->options.dtype].bytes * (double)rows * (double)keys);
    return node;
}

uint32_t rt_served_sub_norm(const struct rt_stack *stack, const char *name, uint32_t x, int64_t width)
{
    return stack->model->sub_norms ? rt_served_rmsnorm(stack->graph, name, x, stack->shape.rows, width) : x;
}

uint32_t rt_served_kernel(const struct rt_served *step, const char *name, enum rt_op_id op, uint32_t x,
                          const int64_t *dim, double outputs, bool decode)
{
    struct rt_graph *graph = step->stack->graph;
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, outputs);
    rt_graph_add_kernel(graph, RT_FORWARD, op, dim);
    graph->nodes[node].role = decode ? RT_NODE_DECODES : RT_NODE_CHUNKS;
    return node;
}

uint32_t rt_served_sum(const struct rt_served *step, const char *name, uint32_t x)
{
    const struct rt_stack *stack = step->stack;
    return rt_build_all_reduce(stack->graph, name, x, stack->shape.rows * stack->model->hidden, true, false);
}

uint32_t rt_served_collective(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x,
                              int64_t gpus, int64_t elements)
{
    uint32_t node = rt_node_add(graph, name, x, RT_NO_INPUT, (double)elements);
    rt_graph_add_kernel(graph, RT_FORWARD, op, (const int64_t[]){gpus, elements});
    return node;
}

/* Of the nodes from `first` on. */
void rt_served_set_role(struct rt_graph *graph, size_t first, enum rt_node_role role)
{
    for (size_t n = first; n < graph->node_count; n++)
        graph->nodes[n].role = role;
}

/* --- sequences --- */

const struct rt_sequences *rt_served_groups(const struct rt_served *step, size_t *count)
{
    const struct rt_graph_options *options = &step->stack->graph->options;
    *count = options->groups != NULL ? options->group_count : 1;
    return options->groups != NULL ? options->groups : &step->one;
}

/* Sequences that prefill have work that may be quadratic in their length: kernels for each group. */
uint32_t rt_served_prefills(const struct rt_served *step, uint32_t x)
{
    size_t count;
    const struct rt_sequences *groups = rt_served_groups(step, &count);
    uint32_t out = x;
    for (size_t g = 0; g < count; g++)
        if (groups[g].tokens > 1)
            out = step->mix(step, x, groups[g], false);
    return out;
}

/* Sequences that decode share one kernel, whose time goes with all their keys. */
uint32_t rt_served_decodes(const struct rt_served *step, uint32_t x)
{
    size_t count;
    const struct rt_sequences *groups = rt_served_groups(step, &count);
    int64_t decoding = 0;
    double cached = 0;
    for (size_t g = 0; g < count; g++) {
        if (groups[g].tokens > 1)
            continue;
        decoding += groups[g].count;
        cached += (double)groups[g].count * (double)groups[g].cached;
    }
    if (decoding == 0)
        return x;
    const struct rt_sequences together = {decoding, 1, (int64_t)llround(cached / (double)decoding)};
    return step->mix(step, x, together, true);
}

uint32_t rt_served_mix(const struct rt_served *step, uint32_t x)
{
    uint32_t prefilled = rt_served_prefills(step, x), decoded = rt_served_decodes(step, x);
    return decoded != x ? decoded : prefilled;
}

int64_t rt_served_decoding_rows(const struct rt_served *step)
{
    size_t count;
    const struct rt_sequences *groups = rt_served_groups(step, &count);
    int64_t rows = 0;
    bool prefills = false;
    for (size_t g = 0; g < count; g++) {
        rows += groups[g].tokens > 1 ? 0 : groups[g].count;
        prefills = prefills || groups[g].tokens > 1;
    }
    return prefills ? rows : step->stack->shape.rows;
}

/* --- caches --- */

/* Of all sequences, after the step; within a window where there is one. */
static double kept_tokens(const struct rt_served *step, int64_t window, double *sequences)
{
    size_t count;
    const struct rt_sequences *groups = rt_served_groups(step, &count);
    double tokens = 0;
    *sequences = 0;
    for (size_t g = 0; g < count; g++) {
        double kept = (double)groups[g].cached + (double)groups[g].tokens;
        tokens += (double)groups[g].count * (window > 0 ? fmin(kept, (double)window) : kept);
        *sequences += (double)groups[g].count;
    }
    return tokens;
}

static double layers(const struct rt_graph *graph)
{
    return (double)graph->blocks[graph->block_count - 1].repeat;
}

double rt_served_kept(const struct rt_served *step, int64_t wide, int64_t ratio)
{
    const struct rt_stack *stack = step->stack;
    struct rt_graph *graph = stack->graph;
    double sequences, tokens = kept_tokens(step, ratio > 1 ? 0 : stack->window, &sequences);
    graph->cache += tokens / (double)ratio * wide * layers(graph);
    double width = rt_dtypes[graph->options.dtype].bytes;
    double kept = graph->options.kv_bits > 0 ? (double)graph->options.kv_bits / 8 : width;
    return (width + kept) * (double)stack->shape.rows * wide / (double)ratio;
}

uint32_t rt_served_cache(const struct rt_served *step, const char *name, uint32_t x, int64_t wide)
{
    struct rt_graph *graph = step->stack->graph;
    uint32_t node = rt_served_vector(graph, name, RT_OP_COPY, x, RT_NO_INPUT, step->stack->shape.rows, wide);
    graph->kernels[graph->nodes[node].kernel].bytes = rt_served_kept(step, wide, 1);
    return node;
}

void rt_served_fuse(struct rt_graph *graph, uint32_t node, double parameters, double bytes)
{
    graph->nodes[node].parameters += parameters;
    graph->kernels[graph->nodes[node].kernel].bytes += bytes;
}

void rt_served_keep_tokens(const struct rt_served *step, double bytes)
{
    double sequences;
    step->stack->graph->state_bytes += kept_tokens(step, 0, &sequences) * bytes * layers(step->stack->graph);
}

void rt_served_keep_states(const struct rt_served *step, double bytes)
{
    double sequences;
    kept_tokens(step, 0, &sequences);
    step->stack->graph->state_bytes += sequences * bytes * layers(step->stack->graph);
}
