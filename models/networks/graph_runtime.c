/* What a runtime makes of a graph that is built: chains as one kernel, layouts, loads. See graph.h. */
#include "base/status.h"
#include "base/text.h"
#include "models/networks/graph.h"

#include <math.h>
#include <stdlib.h>

/* --- fusion --- */

/*
 * Chains of pointwise and row-wise nodes become one node, whose forward (and backward) kernels run as
 * one.
 *
 * Which nodes join follows NeuSight (ASPLOS 2025, section 4.4; its Opgraph/fuse): a node joins its reader
 * where that is its only reader and both are fusable. So a chain is a tree that ends in one node, the only
 * one whose output is written; all other values stay in registers.
 *
 * Traffic, in elements, each of the dtype of the node that writes it:
 *   forward  = sum of the kernels' own
 *              - values that members pass to one another (written once, read once by each reader)
 *              - repeated reads of a value from outside
 *              + values that are saved for the backward pass
 *   backward = gradient of the chain's output (read)
 *              + gradients of its inputs and parameters (written)
 *              + values that the gradients are computed from (read: inputs and saved values)
 * and at most that of the kernels one by one. At inference the forward formula is the published one, the
 * inputs and the output of the fused node once each, plus broadcast constants and masks, which are no inputs
 * of a node. Published graphs fuse no training step; the backward formula is ours.
 */

#define NONE UINT32_MAX

struct fusion {
    struct rt_graph *graph;
    uint32_t *last; /* (node_count) the node that ends the chain of each node */
    uint32_t *next; /* (node_count) the member after this one in its chain, NONE at the end */
    uint32_t *head; /* (node_count) the first member of the chain that ends here, NONE elsewhere */
    bool *again;    /* (node_count) chains that end here are computed again by each reader */
};

/* The nodes that a chain reads, each once, with the bytes read of it. */
struct reads {
    uint32_t *node;
    double *bytes;
    size_t count;
    double repeated; /* bytes read more than once, each time after the first */
    double inside;   /* bytes read of other members */
    double more;     /* bytes read in place of chains that are computed again, over what those would write */
};

static const uint32_t *inputs_of(const struct fusion *fusion, const struct rt_node *node)
{
    return fusion->graph->inputs + node->input;
}

/* --- which node joins which --- */

/* The only reader of each node; NONE where there is none or more than one. */
static uint32_t *only_readers(const struct fusion *fusion)
{
    const struct rt_graph *graph = fusion->graph;
    uint32_t *reader = rt_malloc((graph->node_count + 1) * sizeof *reader);
    bool *several = rt_calloc(graph->node_count + 1, sizeof *several);
    for (size_t n = 0; n < graph->node_count; n++)
        reader[n] = NONE;
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++) {
            uint32_t from = inputs_of(fusion, &graph->nodes[n])[i];
            several[from] |= reader[from] != NONE && reader[from] != n;
            reader[from] = n;
        }
    for (size_t n = 0; n < graph->node_count; n++)
        if (several[n])
            reader[n] = NONE;
    free(several);
    return reader;
}

static const struct rt_graph_kernel *kernel_of(const struct rt_graph *graph, const struct rt_node *node,
                                               enum rt_phase phase)
{
    for (uint32_t k = 0; k < node->kernel_count; k++)
        if (graph->kernels[node->kernel + k].call.phase == phase)
            return &graph->kernels[node->kernel + k];
    return NULL;
}

/* A view launches nothing, so nothing joins it and it joins nothing. */
static bool may_join(const struct rt_graph *graph, const struct rt_node *node)
{
    return node->fusable && kernel_of(graph, node, RT_FORWARD) != NULL;
}

/* The last node of a layer is read by the next repetition of its block. It joins nothing: in the list its
 * reader stands in another block. */
static void find_chains(struct fusion *fusion)
{
    const struct rt_graph *graph = fusion->graph;
    const struct rt_node *nodes = graph->nodes;
    uint32_t *reader = only_readers(fusion);
    for (uint32_t n = (uint32_t)graph->node_count; n-- > 0;) {
        uint32_t to = reader[n];
        bool joins = to != NONE && to > n && may_join(graph, &nodes[n]) && may_join(graph, &nodes[to]) &&
                     nodes[n].block == nodes[to].block;
        fusion->last[n] = joins ? fusion->last[to] : n;
        fusion->head[n] = NONE;
        /* from the last node to the first, so that each chain's list has the order of the graph */
        fusion->next[n] = joins ? fusion->head[fusion->last[n]] : NONE;
        fusion->head[fusion->last[n]] = n;
    }
    free(reader);
}

static bool is_pointwise(const struct rt_graph *graph, const struct rt_node *node)
{
    for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++) {
        enum rt_op_id op = (enum rt_op_id)graph->kernels[k].call.op;
        if (rt_ops[op].family != RT_FAMILY_ELEMENTWISE && op != RT_OP_COPY)
            return false;
    }
    return true;
}

/* Inductor computes a pointwise value again in each kernel that reads it, rather than write it, while that
 * reads no more (torch/_inductor/ir.py: mark_reuse, of up to realize_reads_threshold, 4, values; here of one,
 * where nothing is traded). Of models of images at inference, as below. */
static void find_again(struct fusion *fusion)
{
    const struct rt_graph *graph = fusion->graph;
    struct rt_node *nodes = graph->nodes;
    bool inference = graph->options.image > 0 && !rt_graph_trains(graph);
    uint32_t *readers = rt_calloc(graph->node_count + 1, sizeof *readers);
    for (uint32_t n = 0; n < graph->node_count; n++)
        fusion->again[n] = inference && may_join(graph, &nodes[n]) && nodes[n].input_count == 1 &&
                           fusion->head[n] == n && is_pointwise(graph, &nodes[n]);
    for (uint32_t to = 0; to < graph->node_count; to++)
        for (uint32_t i = 0; i < nodes[to].input_count; i++) {
            uint32_t from = inputs_of(fusion, &nodes[to])[i];
            readers[from]++;
            fusion->again[from] &=
                to > from && nodes[to].block == nodes[from].block && may_join(graph, &nodes[to]);
        }
    for (uint32_t n = 0; n < graph->node_count; n++)
        fusion->again[n] &= readers[n] > 1;
    for (uint32_t to = 0; to < graph->node_count; to++) /* weights are counted where they are read first */
        for (uint32_t i = 0; i < nodes[to].input_count; i++) {
            uint32_t from = inputs_of(fusion, &nodes[to])[i];
            nodes[to].parameters += fusion->again[from] ? nodes[from].parameters : 0;
            nodes[from].parameters = fusion->again[from] ? 0 : nodes[from].parameters;
        }
    free(readers);
}

/* --- reads of a chain --- */

/* Bytes that a node reads of an input: no more than it works on (a slice of a larger output). */
static double read_bytes(const struct rt_graph *graph, const struct rt_node *node, uint32_t from)
{
    const struct rt_graph_kernel *kernel = kernel_of(graph, node, RT_FORWARD);
    double work = node->outputs;
    if (kernel != NULL && rt_op_ndims(kernel->call.op) == 2)
        work = fmax(work, (double)kernel->call.dim[0] * (double)kernel->call.dim[1]);
    return fmin(work, graph->nodes[from].outputs) * rt_node_width(graph, from);
}

static void add_read(struct reads *reads, uint32_t from, double bytes)
{
    for (size_t i = 0; i < reads->count; i++)
        if (reads->node[i] == from) {
            reads->repeated += fmin(bytes, reads->bytes[i]);
            reads->bytes[i] = fmax(bytes, reads->bytes[i]);
            return;
        }
    reads->node[reads->count] = from;
    reads->bytes[reads->count++] = bytes;
}

/* Free with reads_release. */
static struct reads chain_reads(const struct fusion *fusion, uint32_t last)
{
    const struct rt_graph *graph = fusion->graph;
    size_t most = 1;
    for (uint32_t m = fusion->head[last]; m != NONE; m = fusion->next[m])
        most += graph->nodes[m].input_count;
    struct reads reads = {.node = rt_malloc(most * sizeof *reads.node),
                          .bytes = rt_malloc(most * sizeof *reads.bytes)};
    for (uint32_t m = fusion->head[last]; m != NONE; m = fusion->next[m])
        for (uint32_t i = 0; i < graph->nodes[m].input_count; i++) {
            uint32_t from = inputs_of(fusion, &graph->nodes[m])[i];
            double bytes = read_bytes(graph, &graph->nodes[m], from);
            while (fusion->again[from]) { /* it has one input */
                uint32_t input = inputs_of(fusion, &graph->nodes[from])[0];
                reads.more -= bytes;
                bytes = read_bytes(graph, &graph->nodes[from], input);
                reads.more += bytes;
                from = input;
            }
            if (fusion->last[from] == last)
                reads.inside += bytes;
            else
                add_read(&reads, from, bytes);
        }
    return reads;
}

static void reads_release(struct reads *reads)
{
    free(reads->node);
    free(reads->bytes);
}

static double phase_bytes(const struct fusion *fusion, uint32_t last, enum rt_phase phase)
{
    double bytes = 0;
    const struct rt_graph *graph = fusion->graph;
    for (uint32_t m = fusion->head[last]; m != NONE; m = fusion->next[m])
        for (uint32_t k = 0; k < graph->nodes[m].kernel_count; k++) {
            const struct rt_graph_kernel *kernel = &graph->kernels[graph->nodes[m].kernel + k];
            bytes += kernel->call.phase == phase ? kernel->bytes : 0;
        }
    return bytes;
}

/* --- values saved for the backward pass --- */

/* Bytes that a member keeps in any case, as computing them again is costly: a mask, a row-wise result. */
static double always_saved(const struct fusion *fusion, const struct rt_node *node)
{
    double width = rt_dtypes[node->dtype].bytes;
    const struct rt_graph_kernel *kernel = kernel_of(fusion->graph, node, RT_FORWARD);
    if (kernel == NULL)
        return 0;
    if (kernel->call.op == RT_OP_DROPOUT)
        return fmin(node->saved * width, node->outputs); /* a byte each */
    return rt_op_keeps(kernel->call.op) == RT_KEEPS_OUTPUT ? node->saved * width : 0;
}

/* Elements that are to be saved in addition, so that a node's output is saved. */
static double to_keep(const struct rt_node *node)
{
    return node->saved < node->outputs ? node->outputs : 0;
}

/* Pointwise results inside a chain are saved, or computed again from the chain's inputs where those are fewer
 * bytes: the choice that torch.compile's partitioner makes by a minimum cut. Returns the bytes that the
 * chain keeps besides its output; *written is the part that its forward kernel writes. */
static double chain_saves(struct fusion *fusion, uint32_t last, const struct reads *reads, double *written)
{
    struct rt_node *nodes = fusion->graph->nodes;
    double always = 0, masks = 0, pointwise = 0, inputs = 0;
    for (uint32_t m = fusion->head[last]; m != last; m = fusion->next[m]) {
        double saved = always_saved(fusion, &nodes[m]);
        always += saved;
        if (saved < nodes[m].outputs * rt_node_width(fusion->graph, m))
            masks += saved; /* already in the dropout kernel's bytes */
        pointwise += nodes[m].saved * rt_node_width(fusion->graph, m) - saved;
    }
    for (size_t i = 0; i < reads->count; i++)
        inputs += to_keep(&nodes[reads->node[i]]) * rt_node_width(fusion->graph, reads->node[i]);
    if (pointwise > 0 && inputs < pointwise) {
        for (size_t i = 0; i < reads->count; i++)
            nodes[reads->node[i]].saved += to_keep(&nodes[reads->node[i]]);
        pointwise = 0;
    }
    *written = always - masks + pointwise;
    return always + pointwise;
}

static bool chain_gradient_reads(const struct fusion *fusion, uint32_t last)
{
    for (uint32_t m = fusion->head[last]; m != NONE; m = fusion->next[m]) {
        const struct rt_graph_kernel *kernel = kernel_of(fusion->graph, &fusion->graph->nodes[m], RT_FORWARD);
        if (kernel != NULL && rt_op_keeps(kernel->call.op) == RT_KEEPS_INPUTS)
            return true;
    }
    return false;
}

/* Bytes that a chain need not read of the value right before it, which has other readers, too (a residual
 * stream): Inductor makes one kernel of both, which writes the value and goes on with it. Of models of images
 * at inference, where a chain starts with a layer norm or a cast; NeuSight's rule for the others is kept as
 * published. Launches stay two. */
static double read_in_passing(const struct fusion *fusion, uint32_t last)
{
    const struct rt_graph *graph = fusion->graph;
    uint32_t first = fusion->head[last];
    const struct rt_node *node = &graph->nodes[first];
    const struct rt_graph_kernel *kernel = kernel_of(graph, node, RT_FORWARD);
    if (graph->options.image == 0 || rt_graph_trains(graph) || node->input_count != 1 || kernel == NULL ||
        (kernel->call.op != RT_OP_LAYERNORM && kernel->call.op != RT_OP_COPY))
        return 0;
    uint32_t from = inputs_of(fusion, node)[0];
    const struct rt_block *own = &graph->blocks[node->block],
                          *other = &graph->blocks[graph->nodes[from].block];
    bool before =
        own == other ? from + 1 == first : first == own->node && from + 1 == other->node + other->node_count;
    return before && may_join(graph, &graph->nodes[from]) ? read_bytes(graph, node, from) : 0;
}

/* Turns the chain's last node into the fused one, except for its name, kernels and inputs. */
static void merge(struct fusion *fusion, uint32_t last, const struct reads *reads)
{
    struct rt_node *nodes = fusion->graph->nodes, *node = &nodes[last];
    double width = rt_node_width(fusion->graph, last),
           weight = rt_dtypes[rt_graph_weight_dtype(fusion->graph)].bytes;
    double written = 0, passed = 0, parameters = 0, inputs = 0, saved_inputs = 0;
    double saved = chain_saves(fusion, last, reads, &written);
    for (uint32_t m = fusion->head[last]; m != NONE; m = fusion->next[m]) {
        passed += m != last ? nodes[m].outputs * rt_node_width(fusion->graph, m) : 0;
        parameters += nodes[m].parameters;
    }
    for (size_t i = 0; i < reads->count; i++) {
        inputs += reads->bytes[i];
        if (nodes[reads->node[i]].saved > 0)
            saved_inputs += reads->bytes[i];
    }
    if (!chain_gradient_reads(fusion, last))
        saved_inputs = 0;
    double forward = phase_bytes(fusion, last, RT_FORWARD) + reads->more,
           backward = phase_bytes(fusion, last, RT_BACKWARD);
    double output = width * node->outputs, least = output + inputs + written;
    double own = always_saved(fusion, node); /* saved by the last member */
    double fused = forward - (passed + reads->inside + reads->repeated - written);
    node->fused_bytes[RT_FORWARD] = fmin(forward, fmax(least, fused)) - read_in_passing(fusion, last);
    node->fused_bytes[RT_BACKWARD] =
        fmin(backward, output + inputs + weight * parameters + saved_inputs + saved + own);
    node->parameters = parameters;
    node->saved += saved / width; /* in elements of the last member */
}

/* --- the new graph --- */

/* "a+b+c" */
static const char *chain_name(const struct fusion *fusion, uint32_t last)
{
    const struct rt_node *nodes = fusion->graph->nodes;
    struct rt_text name = {0};
    if (fusion->head[last] == last)
        return nodes[last].name;
    for (uint32_t m = fusion->head[last]; m != NONE; m = fusion->next[m])
        rt_text_item(&name, "+", "%s", nodes[m].name);
    const char *text = rt_graph_text(fusion->graph, name.text, name.length);
    rt_text_release(&name);
    return text;
}

/* Appends a chain's kernels to `out`, phase by phase. */
static size_t copy_kernels(const struct fusion *fusion, uint32_t last, struct rt_graph_kernel *out)
{
    const struct rt_graph *graph = fusion->graph;
    size_t count = 0;
    for (int phase = 0; phase < RT_PHASE_COUNT; phase++)
        for (uint32_t m = fusion->head[last]; m != NONE; m = fusion->next[m])
            for (uint32_t k = 0; k < graph->nodes[m].kernel_count; k++)
                if (graph->kernels[graph->nodes[m].kernel + k].call.phase == phase)
                    out[count++] = graph->kernels[graph->nodes[m].kernel + k];
    return count;
}

/* A chain takes the place of its last node: its inputs stand before that, its readers behind. */
static void rebuild(struct fusion *fusion)
{
    struct rt_graph *graph = fusion->graph;
    struct rt_node *nodes = rt_malloc((graph->node_count + 1) * sizeof *nodes);
    struct rt_graph_kernel *kernels = rt_malloc((graph->kernel_count + 1) * sizeof *kernels);
    uint32_t *inputs = rt_malloc((graph->input_count + 1) * sizeof *inputs);
    uint32_t *place = rt_malloc((graph->node_count + 1) * sizeof *place); /* of each last node */
    size_t node_count = 0, kernel_count = 0, input_count = 0;
    for (size_t b = 0; b < graph->block_count; b++)
        graph->blocks[b].node_count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (fusion->last[n] != n || fusion->again[n])
            continue;
        struct rt_node node = graph->nodes[n];
        struct reads reads = chain_reads(fusion, n);
        node.name = chain_name(fusion, n);
        node.kernel = (uint32_t)kernel_count;
        node.kernel_count = (uint32_t)copy_kernels(fusion, n, kernels + kernel_count);
        node.input = (uint32_t)input_count;
        node.input_count = (uint32_t)reads.count;
        for (size_t i = 0; i < reads.count; i++)
            inputs[input_count++] = place[reads.node[i]];
        reads_release(&reads);
        kernel_count += node.kernel_count;
        graph->blocks[node.block].node_count++;
        place[n] = (uint32_t)node_count;
        nodes[node_count++] = node;
    }
    for (size_t b = 1; b < graph->block_count; b++)
        graph->blocks[b].node = graph->blocks[b - 1].node + graph->blocks[b - 1].node_count;
    free(place);
    free(graph->nodes);
    free(graph->kernels);
    free(graph->inputs);
    graph->nodes = nodes;
    graph->kernels = kernels;
    graph->inputs = inputs;
    graph->node_capacity = graph->node_count + 1; /* as allocated above */
    graph->kernel_capacity = graph->kernel_count + 1;
    graph->input_capacity = graph->input_count + 1;
    graph->node_count = node_count;
    graph->kernel_count = kernel_count;
    graph->input_count = input_count;
}

void rt_graph_fuse(struct rt_graph *graph)
{
    struct fusion fusion = {.graph = graph};
    fusion.last = rt_malloc((graph->node_count + 1) * sizeof *fusion.last);
    fusion.next = rt_malloc((graph->node_count + 1) * sizeof *fusion.next);
    fusion.head = rt_malloc((graph->node_count + 1) * sizeof *fusion.head);
    fusion.again = rt_malloc((graph->node_count + 1) * sizeof *fusion.again);
    find_chains(&fusion);
    find_again(&fusion);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (fusion.last[n] != n || !graph->nodes[n].fusable)
            continue;
        struct reads reads = chain_reads(&fusion, n);
        merge(&fusion, n, &reads);
        reads_release(&reads);
    }
    rebuild(&fusion);
    free(fusion.last);
    free(fusion.next);
    free(fusion.head);
    free(fusion.again);
}

/* --- layout --- */

enum { IN = 1, OUT = 2, KERNEL_H = 5, GROUPS = 10 }; /* dims of conv2d */

enum conv_kind { GROUPED, SMALL, HALVING, OTHER, KINDS };
static const double gain[KINDS] = {[GROUPED] = 1.358, [SMALL] = 0.783, [HALVING] = 0.725, [OTHER] = 0.823};

static bool halves(const struct rt_call *call)
{
    return call->dim[OUT] * 2 <= call->dim[IN] / call->dim[GROUPS] && call->dim[KERNEL_H] > 1;
}

static enum conv_kind kind_of(const struct rt_call *call)
{
    int64_t inputs = call->dim[IN] / call->dim[GROUPS];
    if (call->dim[GROUPS] > 1 && inputs > 1)
        return GROUPED;
    if (call->dim[OUT] <= 64 && inputs <= 64)
        return SMALL;
    return halves(call) ? HALVING : OTHER;
}

/* Convolutions of the forward pass, by kind. */
struct convolutions {
    double count, flops[KINDS], nodes;
    bool refused; /* by training */
};

static void add_node(const struct rt_graph *graph, const struct rt_node *node, struct convolutions *found)
{
    double times = (double)rt_graph_repeat(graph, node);
    found->nodes += times;
    for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++) {
        const struct rt_graph_kernel *kernel = &graph->kernels[k];
        if (kernel->call.op != RT_OP_CONV2D || kernel->call.phase != RT_FORWARD)
            continue;
        enum conv_kind kind = kind_of(&kernel->call);
        found->count += times;
        found->flops[kind] += times * kernel->flops;
        found->refused |= kind == GROUPED || halves(&kernel->call);
    }
}

bool rt_graph_prefers_channels_last(const struct rt_graph *graph)
{
    struct convolutions found = {0};
    double flops = 0, weighed = 0;
    for (size_t n = 0; n < graph->node_count; n++)
        add_node(graph, &graph->nodes[n], &found);
    for (int kind = 0; kind < KINDS; kind++) {
        flops += found.flops[kind];
        weighed += gain[kind] * found.flops[kind];
    }
    if (3 * found.nodes >= 300 * found.count)
        return false;
    return rt_graph_trains(graph) ? !found.refused && found.flops[SMALL] < flops : weighed <= flops;
}

/* --- loads --- */

/* cuDNN normalises in fp32, and under autocast, where weights stay in fp32. */
static bool is_own_norm(const struct rt_graph *graph, enum rt_op_id op)
{
    return !graph->options.autocast &&
           (op == RT_OP_BATCHNORM || op == RT_OP_BATCHNORM_INFERENCE || op == RT_OP_BATCHNORM_BACKWARD);
}

static bool is_pool(enum rt_op_id op)
{
    return op == RT_OP_MAX_POOL2D || op == RT_OP_MAX_POOL2D_BACKWARD || op == RT_OP_AVG_POOL2D ||
           op == RT_OP_AVG_POOL2D_BACKWARD || op == RT_OP_ADAPTIVE_AVG_POOL2D;
}

static bool loads_scalars(const struct rt_graph *graph, const struct rt_call *call)
{
    enum rt_op_id op = (enum rt_op_id)call->op;
    bool elementwise = rt_call_family(call) == RT_FAMILY_ELEMENTWISE;
    if (elementwise && rt_runtimes[graph->options.runtime].scalar_loads)
        return true;
    return is_own_norm(graph, op) || is_pool(op);
}

void rt_graph_mark_scalar_loads(struct rt_graph *graph)
{
    for (size_t k = 0; k < graph->kernel_count && !graph->options.fusion; k++)
        graph->kernels[k].scalar_loads |= loads_scalars(graph, &graph->kernels[k].call);
}
