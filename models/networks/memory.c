/* The walk through a step. See memory.h. */
#include "models/networks/memory.h"
#include "base/array.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* The first, one of those between, the last. */
enum { FOLDED = 3 };

/* One run of a node: where a block repeats, a node has several. Values are named by the run that made them;
 * a view's is that of what it shows. */
struct run {
    uint32_t node, root;  /* root: whose output holds the value */
    uint32_t last_reader; /* of the value, forward; the run itself where nothing reads it */
    uint32_t needed;      /* the run whose backward kernels are the last to read the value; NONE: none do */
    uint32_t next_freed;  /* after the same run; NONE: no more */
    uint32_t freed;       /* first of the values that are freed after this run */
    bool saved;           /* for the backward pass */
    bool late;            /* a copy that the product which reads it makes */
    bool outside;         /* checkpoints: read by another layer than its own */
    uint32_t value, mask, copy, gradient; /* tensors; copy: of weights, by autocast; NONE: not there */
};

struct walk {
    const struct rt_graph *graph;
    const struct rt_memory_options *options;
    struct rt_tensor_schedule *out;
    uint32_t *first;   /* (blocks): first run of each */
    int64_t *repeats;  /* (blocks): on this device */
    int64_t *walked;   /* (blocks): of them; of those that are alike one */
    uint32_t *carried; /* (blocks): the node before the block whose place its own last node takes; NONE */
    struct run *runs;
    uint32_t run_count;
    double shared;        /* elements of tied weights whose second gradient is still to come */
    uint32_t gathered[2]; /* weights of the two units that were gathered last */
};

/* --- tensors --- */

static void add_event(struct rt_tensor_schedule *out, uint32_t tensor, bool made)
{
    RT_GROW(out->events, out->event_count, 1, out->event_capacity);
    out->events[out->event_count++] = (struct rt_tensor_event){tensor, made};
}

static uint32_t make(struct walk *walk, enum rt_memory_part part, double bytes)
{
    struct rt_tensor_schedule *out = walk->out;
    if (!(bytes > 0))
        return NONE;
    RT_GROW(out->tensors, out->tensor_count, 1, out->tensor_capacity);
    out->tensors[out->tensor_count] = (struct rt_tensor){bytes, part, 1};
    add_event(out, (uint32_t)out->tensor_count, true);
    return (uint32_t)out->tensor_count++;
}

static uint32_t hold(struct walk *walk, uint32_t tensor)
{
    if (tensor != NONE)
        walk->out->tensors[tensor].holders++;
    return tensor;
}

static void let_go(struct walk *walk, uint32_t *tensor)
{
    if (*tensor != NONE && --walk->out->tensors[*tensor].holders == 0)
        add_event(walk->out, *tensor, false);
    *tensor = NONE;
}

void rt_tensor_schedule_release(struct rt_tensor_schedule *schedule)
{
    free(schedule->tensors);
    free(schedule->events);
    free(schedule->again);
    *schedule = (struct rt_tensor_schedule){0};
}

/* --- nodes --- */

static const struct rt_node *node_of(const struct walk *walk, uint32_t run)
{
    return &walk->graph->nodes[walk->runs[run].node];
}

/* The first kernel of a phase; NULL: there is none. */
static const struct rt_graph_kernel *kernel_of(const struct walk *walk, uint32_t run, enum rt_phase phase)
{
    const struct rt_node *node = node_of(walk, run);
    for (uint32_t k = 0; k < node->kernel_count; k++)
        if (walk->graph->kernels[node->kernel + k].call.phase == phase)
            return &walk->graph->kernels[node->kernel + k];
    return NULL;
}

/* The op that the node is named after: the last of its forward kernels, behind those that cast weights. */
static enum rt_op_id op_of(const struct rt_graph *graph, const struct rt_node *node)
{
    enum rt_op_id op = RT_OP_COUNT;
    for (uint32_t k = 0; k < node->kernel_count; k++)
        if (graph->kernels[node->kernel + k].call.phase == RT_FORWARD)
            op = graph->kernels[node->kernel + k].call.op;
    return op;
}

static enum rt_kept kept_by(const struct rt_graph *graph, const struct rt_node *node)
{
    enum rt_op_id op = op_of(graph, node);
    return op == RT_OP_COUNT ? RT_KEEPS_NOTHING : rt_op_keeps(op);
}

/* Nothing runs forward: the node shows what its input holds. Collectives, biases of convolutions and sums of
 * gradients work in place. */
static bool is_view(const struct rt_graph *graph, const struct rt_node *node)
{
    enum rt_op_id op = op_of(graph, node);
    return node->input_count > 0 && (op == RT_OP_COUNT || op == RT_OP_ALL_REDUCE || node->nested);
}

static double value_bytes(const struct rt_graph *graph, uint32_t node)
{
    return graph->nodes[node].outputs * rt_node_width(graph, node);
}

static double gradient_bytes(const struct rt_graph *graph, uint32_t node)
{
    const struct rt_node *of = &graph->nodes[node];
    return of->outputs * rt_dtypes[rt_gradient_dtype(graph, of)].bytes;
}

static bool keeps_output(const struct rt_node *node)
{
    return node->saved > 0 && node->saved >= node->outputs;
}

/* Masks, places of maxima: what a node keeps beside values. */
static double mask_bytes(const struct rt_graph *graph, uint32_t n)
{
    const struct rt_node *node = &graph->nodes[n];
    return (node->saved - (keeps_output(node) ? node->outputs : 0)) * rt_node_width(graph, n);
}

/* Bytes of an element of the node's weights: in training they are kept in 16 bits and quantised by the way.
 */
static double weight_width(const struct rt_graph *graph, const struct rt_node *node)
{
    enum rt_op_id op = op_of(graph, node);
    bool own = (op == RT_OP_LINEAR || op == RT_OP_MOE) && !rt_graph_trains(graph) && !graph->options.autocast;
    enum rt_dtype dtype = rt_graph_weight_dtype(graph);
    for (uint32_t k = 0; own && k < node->kernel_count; k++)
        if (graph->kernels[node->kernel + k].call.op == op)
            dtype = graph->kernels[node->kernel + k].call.dtype;
    return rt_dtypes[dtype].bytes;
}

/* Experts that GPUs share out have fewer copies, which share out what the others do. */
static double parts(const struct walk *walk, const struct rt_node *node, enum rt_shard_kind from)
{
    const struct rt_memory_options *options = walk->options;
    bool expert = node != NULL && node->role == RT_NODE_EXPERTS && options->expert_gpus > 0;
    return options->shard >= from ? (double)(expert ? options->expert_gpus : options->gpus) : 1;
}

/* Gradients that are there before the backward pass: those of the microbatch before, and sums in fp32. */
static bool accumulates(const struct walk *walk)
{
    return walk->options->accumulates ||
           rt_runtimes[walk->graph->options.runtime].accumulation != RT_ACCUMULATION_FREED;
}

/* Is the block on this device? */
static bool is_here(const struct walk *walk, const struct rt_block *block)
{
    return (block->role != RT_BLOCK_FIRST || !walk->options->without_first) &&
           (block->role != RT_BLOCK_LAST || !walk->options->without_last);
}

/* --- runs --- */

/* The value that a block hands from one repetition to the next is its last node's. The first repetition reads
 * in its place the latest node before the block that is as large. */
static uint32_t carried_into(const struct rt_graph *graph, const struct rt_block *block)
{
    uint32_t found = NONE;
    double outputs = graph->nodes[block->node + block->node_count - 1].outputs;
    for (uint32_t n = block->node; n < block->node + block->node_count; n++)
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++) {
            uint32_t input = graph->inputs[graph->nodes[n].input + i];
            bool before = input != RT_NO_INPUT && input < block->node;
            if (before && graph->nodes[input].outputs == outputs && (found == NONE || input > found))
                found = input;
        }
    return found;
}

/* The run whose output the run's input is; NONE: the model's own input. */
static uint32_t input_of(const struct walk *walk, uint32_t run, uint32_t i)
{
    const struct rt_graph *graph = walk->graph;
    const struct rt_node *node = node_of(walk, run);
    const struct rt_block *block = &graph->blocks[node->block];
    uint32_t input = graph->inputs[node->input + i], first = walk->first[node->block];
    if (input == RT_NO_INPUT)
        return NONE;
    uint32_t repetition = (run - first) / block->node_count, start = first + repetition * block->node_count;
    if (input >= block->node)
        return start + (input - block->node);
    if (input == walk->carried[node->block] && repetition > 0)
        return start - 1;
    const struct rt_block *other = &graph->blocks[graph->nodes[input].block];
    if (walk->walked[graph->nodes[input].block] == 0) /* another stage's */
        return NONE;
    uint32_t last = (uint32_t)(walk->walked[graph->nodes[input].block] - 1) * other->node_count;
    return walk->first[graph->nodes[input].block] + last + (input - other->node);
}

static bool is_checkpointed(const struct walk *walk, uint32_t run)
{
    return rt_node_runs_again(walk->graph, node_of(walk, run));
}

static bool same_repetition(const struct walk *walk, uint32_t a, uint32_t b)
{
    uint32_t block = node_of(walk, a)->block, count = walk->graph->blocks[block].node_count;
    return block == node_of(walk, b)->block &&
           (a - walk->first[block]) / count == (b - walk->first[block]) / count;
}

/* A reader of the value: forward, and backward where gradients of its op are computed from inputs. */
static void add_reader(struct walk *walk, uint32_t input, uint32_t reader)
{
    uint32_t root = walk->runs[input].root;
    struct run *value = &walk->runs[root];
    const struct rt_node *node = node_of(walk, reader);
    value->last_reader = reader;
    bool again = is_checkpointed(walk, reader) && !same_repetition(walk, root, reader);
    bool computes = value->saved && node->gradient && kept_by(walk->graph, node) == RT_KEEPS_INPUTS;
    bool leaves = !same_repetition(walk, root, reader) || !is_checkpointed(walk, reader);
    value->outside |= again || (is_checkpointed(walk, root) && leaves);
    if ((computes || again) && (value->needed == NONE || reader < value->needed))
        value->needed = reader;
}

static void add_run(struct walk *walk, uint32_t n)
{
    const struct rt_graph *graph = walk->graph;
    uint32_t run = walk->run_count++;
    const struct rt_node *node = &graph->nodes[n];
    walk->runs[run] = (struct run){.node = n,
                                   .root = run,
                                   .last_reader = run,
                                   .needed = NONE,
                                   .next_freed = NONE,
                                   .freed = NONE,
                                   .value = NONE,
                                   .mask = NONE,
                                   .copy = NONE,
                                   .gradient = NONE};
    uint32_t shown = is_view(graph, node) ? input_of(walk, run, 0) : NONE;
    if (shown != NONE)
        walk->runs[run].root = walk->runs[shown].root;
    walk->runs[walk->runs[run].root].saved |= keeps_output(node);
    if (keeps_output(node) && kept_by(graph, node) == RT_KEEPS_OUTPUT)
        walk->runs[run].needed = run;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t input = input_of(walk, run, i);
        if (input == NONE)
            continue;
        walk->runs[walk->runs[input].root].saved |=
            keeps_output(&graph->nodes[graph->inputs[node->input + i]]);
        add_reader(walk, input, run);
    }
}

static bool is_copy(enum rt_op_id op)
{
    return op == RT_OP_COPY || op == RT_OP_TRANSPOSE;
}

static bool keeps_cache(const struct rt_graph *graph)
{
    for (size_t n = 0; n < graph->node_count; n++)
        if (graph->nodes[n].cached)
            return true;
    return false;
}

/* The block that the run's value enters as the first layer's input; NONE: it is none's. */
static uint32_t entered_by(const struct walk *walk, uint32_t run)
{
    for (uint32_t b = 0; b < walk->graph->block_count; b++)
        if (walk->graph->blocks[b].role == RT_BLOCK_LAYER && walk->carried[b] == walk->runs[run].node)
            return b;
    return NONE;
}

/* Inference of eager code: what has a name in transformers' functions stays until they return. The embeddings
 * (a name in the model's forward): until the last layer has run. Queries, keys, values and probabilities:
 * until the product of attention's output has run; in encoders scores too, and all of them until just before
 * that product, which is another function's. What matmul copies for itself and what takes the name of its
 * input is freed. */
static uint32_t last_named(const struct walk *walk, uint32_t run, bool encoder)
{
    const struct rt_graph *graph = walk->graph;
    uint32_t last = walk->runs[run].last_reader, block = entered_by(walk, run);
    enum rt_op_id op = op_of(graph, node_of(walk, run)), reader = op_of(graph, node_of(walk, last));
    if (block != NONE)
        return walk->first[block] + (uint32_t)walk->walked[block] * graph->blocks[block].node_count - 1;
    bool copied = is_copy(reader) && op != RT_OP_BMM;
    bool named = !is_copy(op) && (reader == RT_OP_BMM || copied || (encoder && reader == RT_OP_SOFTMAX));
    for (uint32_t next = last; named && next < walk->run_count; next++)
        if (op_of(graph, node_of(walk, next)) == RT_OP_LINEAR)
            return encoder && next > last ? next - 1 : next;
    return last;
}

/* When each value is freed: behind its last reader, and not before the backward pass where that needs it. */
static void end_values(struct walk *walk)
{
    const struct rt_graph_options *options = &walk->graph->options;
    const struct rt_runtime *runtime = &rt_runtimes[options->runtime];
    bool names =
        options->step != RT_STEP_TRAINING && options->image == 0 && !runtime->fusion && !runtime->served;
    bool encoder = !keeps_cache(walk->graph);
    for (uint32_t run = 0; run + 1 < walk->run_count; run++) {
        struct run *value = &walk->runs[run];
        if (value->root != run)
            continue;
        if (value->saved && value->needed == NONE)
            value->needed = run;
        value->late = names && is_copy(op_of(walk->graph, node_of(walk, run))) &&
                      op_of(walk->graph, node_of(walk, value->last_reader)) == RT_OP_BMM;
        uint32_t last = names ? last_named(walk, run, encoder) : value->last_reader;
        value->next_freed = walk->runs[last].freed;
        walk->runs[last].freed = run;
    }
}

static void list_runs(struct walk *walk, bool folded)
{
    const struct rt_graph *graph = walk->graph;
    size_t count = 0;
    for (size_t b = 0; b < graph->block_count; b++) {
        const struct rt_block *block = &graph->blocks[b];
        double share = block->role == RT_BLOCK_LAYER ? walk->options->layers : 1;
        walk->repeats[b] = is_here(walk, block) ? (int64_t)ceil((double)block->repeat * share - 1e-9) : 0;
        walk->walked[b] = folded && walk->repeats[b] > FOLDED ? FOLDED : walk->repeats[b];
        walk->first[b] = (uint32_t)count;
        walk->carried[b] = block->node_count > 0 ? carried_into(graph, block) : NONE;
        count += (size_t)walk->walked[b] * block->node_count;
    }
    walk->runs = rt_malloc((count + 1) * sizeof *walk->runs);
    for (size_t b = 0; b < graph->block_count; b++)
        for (int64_t r = 0; r < walk->walked[b]; r++)
            for (uint32_t n = 0; n < graph->blocks[b].node_count; n++)
                add_run(walk, graph->blocks[b].node + n);
    end_values(walk);
}

/* --- what is there before the first kernel --- */

/* Elements of an embedding that are tied to the head's; `shared` are those left to be found. */
static double tied_parameters(const struct rt_graph *graph, const struct rt_node *node, double *shared)
{
    bool embeds = false;
    for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++)
        embeds |= graph->kernels[k].call.op == RT_OP_EMBEDDING;
    double tied = embeds && 4 * node->parameters >= *shared ? fmin(node->parameters, *shared) : 0;
    *shared -= tied;
    return tied;
}

/* Elements of a node's weights on this device, of one repetition. */
static double own_parameters(struct walk *walk, uint32_t n, double *shared)
{
    const struct rt_graph *graph = walk->graph;
    const struct rt_node *node = &graph->nodes[n];
    const struct rt_block *block = &graph->blocks[node->block];
    double tied = tied_parameters(graph, node, shared);
    if (walk->repeats[node->block] == 0)
        return 0;
    double share = block->role == RT_BLOCK_LAYER
                       ? (double)block->repeat * walk->options->layers / (double)walk->repeats[node->block]
                       : 1;
    if (block->distinct > 0) /* every stage of a pipeline holds the weights that layers share */
        share = (double)block->distinct / (double)walk->repeats[node->block];
    return (node->parameters - tied) * share;
}

static void make_weights(struct walk *walk)
{
    const struct rt_graph *graph = walk->graph;
    bool trains = rt_graph_trains(graph);
    double shared = walk->options->without_last ? 0 : graph->shared;
    struct rt_weight_bytes bytes;
    rt_graph_weight_bytes(graph, &bytes);
    for (uint32_t n = (uint32_t)graph->node_count; n-- > 0;) {
        const struct rt_node *node = &graph->nodes[n];
        double elements = own_parameters(walk, n, &shared), width = weight_width(graph, node);
        double trained = node->frozen > 0 ? elements * (1 - node->frozen / node->parameters) : elements;
        for (int64_t r = 0; r < walk->repeats[node->block]; r++) {
            bool copied = trains && op_of(graph, node) == RT_OP_LINEAR &&
                          graph->products != graph->options.dtype &&
                          graph->blocks[node->block].role == RT_BLOCK_LAYER && !graph->options.autocast;
            make(walk, RT_MEMORY_WEIGHTS,
                 elements * (copied ? bytes.held : width) / parts(walk, node, RT_SHARD_PARAMETERS));
            if (!trains)
                continue;
            make(walk, RT_MEMORY_OPTIMIZER, trained * bytes.state / parts(walk, node, RT_SHARD_OPTIMIZER));
            if (accumulates(walk))
                make(walk, RT_MEMORY_GRADIENTS,
                     trained * bytes.gradient / parts(walk, node, RT_SHARD_GRADIENTS));
        }
    }
}

/* Keys and values are tensors of their own in every layer. */
static void make_cache(struct walk *walk)
{
    const struct rt_graph *graph = walk->graph;
    double context = (double)graph->options.context;
    double width = graph->options.kv_bits > 0 ? (double)graph->options.kv_bits / 8
                                              : rt_dtypes[graph->options.dtype].bytes;
    bool concatenates = graph->options.step == RT_STEP_DECODE && keeps_cache(graph);
    double before = concatenates ? context / (context + 1) : 1; /* it stays beside the new one */
    double bytes = (graph->cache * before * width + graph->state_bytes) * walk->options->layers;
    int64_t layers = 0;
    for (size_t b = 0; b < graph->block_count; b++)
        layers += graph->blocks[b].role == RT_BLOCK_LAYER ? walk->repeats[b] : 0;
    for (int64_t i = 0; i < 2 * layers; i++)
        make(walk, RT_MEMORY_CACHE, bytes / (2 * (double)layers));
}

/* --- forward --- */

static bool keeps_value(const struct walk *walk, uint32_t root, bool again)
{
    const struct run *run = &walk->runs[root];
    if (node_of(walk, root)->cached)
        return true;
    if (!again && is_checkpointed(walk, root) && !run->outside)
        return false;
    return run->needed != NONE;
}

/* Autocast keeps the narrow copies of weights until it ends, and autograd until the gradient is there. */
static void make_copy(struct walk *walk, uint32_t run)
{
    const struct rt_graph *graph = walk->graph;
    const struct rt_node *node = node_of(walk, run);
    enum rt_op_id op = op_of(graph, node);
    double width = rt_dtypes[graph->options.dtype].bytes;
    bool casts = graph->options.autocast && width < 4 && node->parameters > 0 && op != RT_OP_COUNT &&
                 rt_families[rt_ops[op].family].tensor;
    if (casts)
        walk->runs[run].copy = make(walk, RT_MEMORY_ACTIVATIONS, node->parameters * width);
}

/* Frees what has been read for the last time. */
static void let_go_read(struct walk *walk, uint32_t run, bool again)
{
    for (uint32_t root = walk->runs[run].freed; root != NONE; root = walk->runs[root].next_freed)
        if (!keeps_value(walk, root, again) && (!again || same_repetition(walk, root, run)))
            let_go(walk, &walk->runs[root].value);
}

static void make_value(struct walk *walk, uint32_t run)
{
    uint32_t node = walk->runs[run].node;
    bool cached = walk->graph->nodes[node].cached;
    walk->runs[run].value =
        make(walk, cached ? RT_MEMORY_CACHE : RT_MEMORY_ACTIVATIONS, value_bytes(walk->graph, node));
}

/* The copies of inputs that matmul makes just before its product. */
static void make_late(struct walk *walk, uint32_t run)
{
    for (uint32_t i = 0; i < node_of(walk, run)->input_count; i++) {
        uint32_t input = input_of(walk, run, i);
        if (input != NONE && walk->runs[input].late && walk->runs[input].last_reader == run)
            make_value(walk, input);
    }
}

/* cuDNN's workspaces: kernels of more than one pixel that mix channels transform operands first, or bring
 * them into another order (Lavin and Gray 2016; cuDNN's developer guide, "Tensor Core Operations"). As many
 * bytes as that many times input and output have, by the tenth of GPUMemNet's models of docs/log/parts.md;
 * depthwise and 1 x 1 ones take none. */
static const double workspace_operands = 3;

static double workspace_bytes(const struct walk *walk, uint32_t run)
{
    const struct rt_graph_kernel *kernel = kernel_of(walk, run, RT_FORWARD);
    if (kernel == NULL || kernel->call.op != RT_OP_CONV2D)
        return 0;
    const int64_t *dim = kernel->call.dim;
    bool pixel = dim[RT_CONV_KERNEL_H] * dim[RT_CONV_KERNEL_W] == 1;
    bool depthwise = dim[RT_CONV_GROUPS] > 1 && dim[RT_CONV_GROUPS] == dim[RT_CONV_IN];
    double height, width;
    rt_conv_outputs(dim, &height, &width);
    double in = (double)(dim[RT_CONV_IN] * dim[RT_CONV_HEIGHT] * dim[RT_CONV_WIDTH]),
           out = (double)dim[RT_CONV_OUT] * height * width;
    return pixel || depthwise ? 0
                              : workspace_operands * (double)dim[RT_CONV_BATCH] * (in + out) *
                                    rt_dtypes[kernel->call.dtype].bytes;
}

/* While a kernel runs. */
static void use_workspace(struct walk *walk, uint32_t run)
{
    uint32_t workspace = make(walk, RT_MEMORY_WORKSPACE, workspace_bytes(walk, run));
    let_go(walk, &workspace);
}

/* `again`: before the backward pass of a layer whose values were not saved; its output is there already. */
static void run_forward(struct walk *walk, uint32_t run, bool again)
{
    const struct rt_graph *graph = walk->graph;
    struct run *self = &walk->runs[run];
    bool keeps = again || !is_checkpointed(walk, run);
    if (self->root == run && !(again && self->outside)) {
        make_late(walk, run);
        if (!self->late)
            make_value(walk, run);
    }
    if (rt_graph_trains(graph))
        use_workspace(walk, run);
    self->mask = make(walk, RT_MEMORY_ACTIVATIONS, mask_bytes(graph, self->node));
    make_copy(walk, run);
    let_go_read(walk, run, again);
    if (!keeps) {
        let_go(walk, &self->mask);
        let_go(walk, &self->copy);
    }
}

/* --- units: repetitions of blocks --- */

/* Where weights are shared out, a unit's are gathered before it runs, while those of the unit before are
 * still there (FullyShardedDataParallel's prefetching). */
static void gather(struct walk *walk, size_t block)
{
    const struct rt_graph *graph = walk->graph;
    double bytes = 0;
    if (!(parts(walk, NULL, RT_SHARD_PARAMETERS) > 1))
        return;
    for (uint32_t n = graph->blocks[block].node;
         n < graph->blocks[block].node + graph->blocks[block].node_count; n++)
        bytes += graph->nodes[n].parameters * weight_width(graph, &graph->nodes[n]);
    if (!(bytes > 0))
        return;
    let_go(walk, &walk->gathered[0]);
    walk->gathered[0] = walk->gathered[1];
    walk->gathered[1] = make(walk, RT_MEMORY_WEIGHTS, bytes);
}

/* Tensors from there on that are still held: as many, or more than there is room for. */
static size_t list_held(const struct rt_tensor_schedule *out, size_t from, uint32_t held[RT_MOST_CARRIED])
{
    size_t count = 0;
    for (size_t t = from; t < out->tensor_count && count <= RT_MOST_CARRIED; t++) {
        if (out->tensors[t].holders > 0 && count++ < RT_MOST_CARRIED)
            held[count - 1] = (uint32_t)t;
    }
    return count;
}

/* The second repetition has ended: it let go of what the first left, of nothing older, and left as much. */
static bool leaves_the_same(const struct rt_tensor_schedule *out, struct rt_tensor_again *again, size_t first,
                            size_t second)
{
    size_t left = list_held(out, second, again->own);
    bool same = left == again->carried && left <= RT_MOST_CARRIED;
    for (size_t c = 0; same && c < left; c++)
        same = out->tensors[again->own[c]].bytes == out->tensors[again->before[c]].bytes;
    for (size_t t = first; same && t < second; t++)
        same = out->tensors[t].holders == 0;
    for (size_t e = again->from; same && e < again->to; e++)
        same = out->events[e].tensor >= first;
    return same;
}

/* False: the repetitions of a block that is folded are not alike. */
static bool forward_block(struct walk *walk, size_t b)
{
    struct rt_tensor_schedule *out = walk->out;
    struct rt_tensor_again again = {.times = walk->repeats[b] - walk->walked[b]};
    uint32_t count = walk->graph->blocks[b].node_count;
    size_t made[FOLDED] = {0}; /* tensors before the repetition */
    for (int64_t r = 0; r < walk->walked[b]; r++) {
        bool folded = again.times > 0;
        if (folded)
            made[r] = out->tensor_count;
        if (folded && r == 1) {
            again.from = out->event_count;
            again.carried = list_held(out, made[0], again.before);
        }
        if (folded && r == 2) {
            again.to = out->event_count;
            if (!leaves_the_same(out, &again, made[0], made[1]))
                return false;
            RT_GROW(out->again, out->again_count, 1, out->again_capacity);
            out->again[out->again_count++] = again;
        }
        gather(walk, b);
        for (uint32_t n = 0; n < count; n++)
            run_forward(walk, walk->first[b] + (uint32_t)r * count + n, false);
    }
    return true;
}

static bool forward(struct walk *walk)
{
    bool alike = true;
    for (size_t b = 0; alike && b < walk->graph->block_count; b++)
        alike = forward_block(walk, b);
    return alike;
}

/* --- backward --- */

/* The gradient of a value is `tensor` (the caller's hold passes on), or has that added: in place where
 * nobody else reads it (torch/csrc/autograd/input_buffer.cpp). */
static void add_gradient(struct walk *walk, uint32_t run, uint32_t tensor)
{
    uint32_t *gradient = &walk->runs[run].gradient;
    if (*gradient != NONE && walk->out->tensors[*gradient].holders > 1) {
        uint32_t sum = make(walk, RT_MEMORY_ACTIVATIONS, walk->out->tensors[*gradient].bytes);
        let_go(walk, gradient);
        *gradient = sum;
    }
    if (*gradient == NONE)
        *gradient = tensor;
    else
        let_go(walk, &tensor);
}

/* The gradients of inputs: the output's own where it passes through. */
static void pass_gradients(struct walk *walk, uint32_t run)
{
    const struct rt_graph *graph = walk->graph;
    const struct rt_node *node = node_of(walk, run);
    const struct rt_graph_kernel *kernel = kernel_of(walk, run, RT_BACKWARD);
    bool adds = kernel != NULL && kernel->call.op == RT_OP_ADD;
    bool passes = op_of(graph, node) == RT_OP_ADD || op_of(graph, node) == RT_OP_ADD_SCALAR ||
                  kernel == NULL || (adds && is_view(graph, node) && node->kernel_count == 1);
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t input = input_of(walk, run, i);
        if (input == NONE || !node_of(walk, input)->gradient)
            continue;
        uint32_t own = walk->runs[run].gradient;
        double bytes = gradient_bytes(graph, walk->runs[input].node);
        bool same = own != NONE && walk->out->tensors[own].bytes == bytes;
        add_gradient(walk, input,
                     passes && same ? hold(walk, own) : make(walk, RT_MEMORY_ACTIVATIONS, bytes));
    }
}

/* Layers that share weights add to one gradient of them, of which each counts as much. */
static void make_shared_gradient(struct walk *walk, const struct rt_block *block, double bytes)
{
    uint32_t whole = make(walk, RT_MEMORY_ACTIVATIONS, bytes);
    if (!accumulates(walk))
        make(walk, RT_MEMORY_GRADIENTS,
             bytes * (double)block->distinct / (double)block->repeat / parts(walk, NULL, RT_SHARD_GRADIENTS));
    let_go(walk, &whole);
}

/* The gradient of the node's weights: it stays, or is added to what is there, or all but a share goes to
 * other GPUs. */
static void make_weight_gradient(struct walk *walk, uint32_t run)
{
    const struct rt_graph *graph = walk->graph;
    const struct rt_node *node = node_of(walk, run);
    double bytes = rt_node_trained(node) * rt_dtypes[rt_graph_weight_dtype(graph)].bytes;
    double shards = parts(walk, node, RT_SHARD_GRADIENTS);
    enum rt_accumulation kind = rt_runtimes[graph->options.runtime].accumulation;
    if (kind == RT_ACCUMULATION_FUSED || kind == RT_ACCUMULATION_JOINED)
        return;
    if (graph->blocks[node->block].distinct > 0) {
        make_shared_gradient(walk, &graph->blocks[node->block], bytes);
        return;
    }
    bool tied = tied_parameters(graph, node, &walk->shared) > 0;
    bool stays = !tied && !accumulates(walk);
    uint32_t whole = make(walk, stays && !(shards > 1) ? RT_MEMORY_GRADIENTS : RT_MEMORY_ACTIVATIONS, bytes);
    if (stays && shards > 1)
        make(walk, RT_MEMORY_GRADIENTS, bytes / shards);
    if (!stays || shards > 1)
        let_go(walk, &whole);
}

/* Kernels of a gradient in several steps hand on what they made. */
static uint32_t make_step(struct walk *walk, uint32_t run)
{
    const struct rt_node *node = node_of(walk, run);
    size_t steps = 0;
    for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++) {
        const struct rt_call *call = &walk->graph->kernels[k].call;
        bool vector = rt_family_vector(rt_call_family(call)) && call->op != RT_OP_ADD;
        steps += call->phase == RT_BACKWARD && vector ? 1 : 0;
    }
    bool several = steps > 1 && !(node->parameters > 0);
    return several ? make(walk, RT_MEMORY_ACTIVATIONS, value_bytes(walk->graph, walk->runs[run].node)) : NONE;
}

static void let_go_saved(struct walk *walk, uint32_t run)
{
    struct run *self = &walk->runs[run];
    for (uint32_t i = 0; i < node_of(walk, run)->input_count; i++) {
        uint32_t input = input_of(walk, run, i), root = input == NONE ? NONE : walk->runs[input].root;
        if (root != NONE && walk->runs[root].needed == run)
            let_go(walk, &walk->runs[root].value);
    }
    if (walk->runs[self->root].needed == run)
        let_go(walk, &walk->runs[self->root].value);
    let_go(walk, &self->mask);
    let_go(walk, &self->copy);
    let_go(walk, &self->gradient);
}

static void run_backward(struct walk *walk, uint32_t run)
{
    const struct rt_graph *graph = walk->graph;
    struct run *self = &walk->runs[run];
    if (graph->nodes[self->node].gradient) {
        if (self->gradient == NONE)
            self->gradient = make(walk, RT_MEMORY_ACTIVATIONS, gradient_bytes(graph, self->node));
        uint32_t step = make_step(walk, run);
        pass_gradients(walk, run);
        use_workspace(walk, run);
        make_weight_gradient(walk, run);
        let_go(walk, &step);
    }
    let_go_saved(walk, run);
}

static void backward(struct walk *walk)
{
    for (size_t b = walk->graph->block_count; b-- > 0;) {
        uint32_t count = walk->graph->blocks[b].node_count;
        for (int64_t r = walk->repeats[b]; r-- > 0;) {
            uint32_t first = walk->first[b] + (uint32_t)r * count;
            gather(walk, b);
            for (uint32_t n = 0; n < count; n++)
                if (is_checkpointed(walk, first + n))
                    run_forward(walk, first + n, true);
            for (uint32_t n = count; n-- > 0;)
                run_backward(walk, first + n);
        }
    }
}

/* --- between forward and backward, and behind --- */

/* The last run before the optimizer's: what the model returns. */
static uint32_t output_of(const struct walk *walk)
{
    for (uint32_t run = walk->run_count; run-- > 0;)
        if (node_of(walk, run)->outputs > 0)
            return run;
    return NONE;
}

/* transformers copies scores to fp32 and lets go of the narrow ones. */
static void widen_scores(struct walk *walk, uint32_t output)
{
    const struct rt_graph *graph = walk->graph;
    if (!graph->fp32_scores || rt_node_width(graph, walk->runs[output].node) >= 4)
        return;
    uint32_t *value = &walk->runs[walk->runs[output].root].value;
    uint32_t wide = make(walk, RT_MEMORY_ACTIVATIONS, 4 * node_of(walk, output)->outputs);
    let_go(walk, value);
    *value = wide;
}

/* Cross entropy: log-softmax keeps its output; the gradient of what picks the labels is as large, and then
 * that of the scores (torch.nn.functional.cross_entropy; autocast computes it in fp32). */
static void make_loss(struct walk *walk, uint32_t output)
{
    const struct rt_graph *graph = walk->graph;
    bool wide = graph->options.autocast || graph->fp32_scores;
    double bytes =
        node_of(walk, output)->outputs * (wide ? 4 : rt_node_width(graph, walk->runs[output].node));
    uint32_t logs = make(walk, RT_MEMORY_ACTIVATIONS, bytes),
             picked = make(walk, RT_MEMORY_ACTIVATIONS, bytes);
    uint32_t scores = make(walk, RT_MEMORY_ACTIVATIONS, bytes);
    let_go(walk, &logs);
    let_go(walk, &picked);
    walk->runs[output].gradient =
        make(walk, RT_MEMORY_ACTIVATIONS, value_bytes(graph, walk->runs[output].node));
    let_go(walk, &scores);
}

/* Activations of the microbatches before, in a pipeline: as much as this one keeps. */
static void make_in_flight(struct walk *walk)
{
    double saved = 0;
    for (size_t t = 0; t < walk->out->tensor_count; t++) {
        const struct rt_tensor *tensor = &walk->out->tensors[t];
        saved += tensor->part == RT_MEMORY_ACTIVATIONS && tensor->holders > 0 ? tensor->bytes : 0;
    }
    for (double more = walk->options->in_flight - 1; more > 0; more--)
        make(walk, RT_MEMORY_ACTIVATIONS, saved * fmin(1, more));
}

/* torch.optim.AdamW on all tensors at once makes the roots of the second moments as one; on one after the
 * other it makes those of a tensor, as one kernel none. */
static void step_optimizer(struct walk *walk)
{
    const struct rt_graph *graph = walk->graph;
    struct rt_graph_totals totals;
    rt_graph_totals(graph, &totals);
    if (graph->options.optimizer != RT_OPTIMIZER_ADAMW ||
        rt_runtimes[graph->options.runtime].stepping != RT_STEPPING_FOREACH)
        return;
    uint32_t roots = make(walk, RT_MEMORY_WORKSPACE,
                          4 * (totals.parameters - totals.frozen) * walk->options->layers /
                              parts(walk, NULL, RT_SHARD_OPTIMIZER));
    let_go(walk, &roots);
}

static void train(struct walk *walk, uint32_t output)
{
    make_in_flight(walk);
    if (output != NONE && !walk->options->without_last)
        make_loss(walk, output);
    walk->shared = walk->options->without_last ? 0 : walk->graph->shared;
    backward(walk);
    let_go(walk, &walk->gathered[0]);
    let_go(walk, &walk->gathered[1]);
    step_optimizer(walk);
}

/* False where `folded` repetitions are not alike. */
static bool make_schedule(const struct rt_graph *graph, const struct rt_memory_options *options, bool folded,
                          struct rt_tensor_schedule *out)
{
    size_t blocks = graph->block_count;
    *out = (struct rt_tensor_schedule){0};
    struct walk walk = {.graph = graph, .options = options, .out = out, .gathered = {NONE, NONE}};
    walk.first = rt_malloc((blocks + 1) * sizeof *walk.first);
    walk.repeats = rt_malloc((blocks + 1) * sizeof *walk.repeats);
    walk.walked = rt_malloc((blocks + 1) * sizeof *walk.walked);
    walk.carried = rt_malloc((blocks + 1) * sizeof *walk.carried);
    list_runs(&walk, folded);
    make_weights(&walk);
    make_cache(&walk);
    make(&walk, RT_MEMORY_ACTIVATIONS, graph->input_bytes);
    out->resident = out->event_count;
    uint32_t output = output_of(&walk);
    bool alike = forward(&walk);
    out->output = output != NONE ? walk.runs[walk.runs[output].root].value : NONE;
    out->forward = out->event_count;
    if (output != NONE && !options->without_last)
        widen_scores(&walk, output);
    if (rt_graph_trains(graph))
        train(&walk, output);
    free(walk.first);
    free(walk.repeats);
    free(walk.walked);
    free(walk.carried);
    free(walk.runs);
    return alike;
}

void rt_tensor_schedule(const struct rt_graph *graph, const struct rt_memory_options *options,
                        struct rt_tensor_schedule *out)
{
    bool folded =
        !options->every && !rt_graph_trains(graph) && !graph->options.autocast && !keeps_cache(graph);
    if (make_schedule(graph, options, folded, out))
        return;
    rt_tensor_schedule_release(out);
    make_schedule(graph, options, false, out);
}

/* ---- the most that is held ---- */

static double saved_bytes(const struct rt_graph *graph, const struct rt_tensor_schedule *schedule)
{
    double saved = 0;
    for (size_t e = 0; e < schedule->forward && rt_graph_trains(graph); e++) {
        const struct rt_tensor_event *event = &schedule->events[e];
        const struct rt_tensor *tensor = &schedule->tensors[event->tensor];
        if (tensor->part == RT_MEMORY_ACTIVATIONS && event->tensor != schedule->output)
            saved += event->made ? tensor->bytes : -tensor->bytes;
    }
    return saved;
}

void rt_graph_memory_of(const struct rt_graph *graph, const struct rt_tensor_schedule *schedule,
                        struct rt_graph_memory *out)
{
    double held[RT_MEMORY_PART_COUNT] = {0}, sum = 0;
    struct rt_graph_memory most = {0};
    for (size_t e = 0; e < schedule->event_count; e++) {
        const struct rt_tensor *tensor = &schedule->tensors[schedule->events[e].tensor];
        double bytes = schedule->events[e].made ? tensor->bytes : -tensor->bytes;
        held[tensor->part] += bytes;
        sum += bytes;
        if (sum > most.total)
            most = (struct rt_graph_memory){.weights = held[RT_MEMORY_WEIGHTS],
                                            .gradients = held[RT_MEMORY_GRADIENTS],
                                            .optimizer = held[RT_MEMORY_OPTIMIZER],
                                            .cache = held[RT_MEMORY_CACHE],
                                            .activations = held[RT_MEMORY_ACTIVATIONS],
                                            .workspace = held[RT_MEMORY_WORKSPACE],
                                            .total = sum};
    }
    most.saved = saved_bytes(graph, schedule);
    *out = most;
}

void rt_graph_memory(const struct rt_graph *graph, const struct rt_memory_options *options,
                     struct rt_graph_memory *out)
{
    static const struct rt_memory_options one_device = RT_MEMORY_DEFAULTS;
    struct rt_tensor_schedule schedule;
    rt_tensor_schedule(graph, options != NULL ? options : &one_device, &schedule);
    rt_graph_memory_of(graph, &schedule, out);
    rt_tensor_schedule_release(&schedule);
}
