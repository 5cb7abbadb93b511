/* All ways to cut a model over the GPUs of a cell. See plan.h. */
#include "base/array.h"
#include "base/hash_set.h"
#include "base/status.h"
#include "base/text.h"
#include "datasets/cluster.h"
#include "models/networks/cuts.h"
#include "predict/search/train/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Beyond these nothing is tried unless it is asked for: tokens of a sequence on each context-parallel GPU at
 * least, sequences of a micro batch. */
enum { LEAST_CONTEXT_TOKENS = 1024, MOST_MICRO_BATCH = 64, MOST_CANDIDATES = 20000000 };

/* A cut that is being made: axis after axis. */
struct cutting {
    struct rt_training_plan *plan;
    uint32_t cell;
    int64_t value[RT_AXES];
};

/* Values of one axis, given those before it. */
struct values {
    int64_t value[RT_AXIS_VALUES];
    size_t count;
};

static void add_value(struct values *values, int64_t value)
{
    if (values->count < RT_AXIS_VALUES)
        values->value[values->count++] = value;
}

static void add_divisors(struct values *values, int64_t of, int64_t most)
{
    for (int64_t d = 1; d <= of && d <= most; d++)
        if (of % d == 0)
            add_value(values, d);
}

int64_t rt_training_node_gpus(const struct rt_training_plan *plan, const struct rt_training_cell *cell)
{
    return rt_cluster_settled(&plan->request->step.parallel.cluster, &plan->request->gpu[cell->gpu].device)
        .node_gpus;
}

static const struct rt_training_cell *cell_of(const struct cutting *c)
{
    return &c->plan->cell[c->cell];
}

static const struct rt_model *model_of(const struct cutting *c)
{
    return &c->plan->request->source->model;
}

/* GPUs that are left for the axes behind `axis`. */
static int64_t left(const struct cutting *c, enum rt_training_axis axis)
{
    int64_t gpus = cell_of(c)->gpus;
    for (int a = 0; a < (int)axis; a++)
        if (a == RT_AXIS_TP || a == RT_AXIS_CP || a == RT_AXIS_PP)
            gpus /= c->value[a];
    return gpus;
}

/* --- the values of each axis --- */

/* Tensor-parallel GPUs pass messages in every layer: they stay within a server. */
static void list_tensor(const struct cutting *c, struct values *out)
{
    add_divisors(out, left(c, RT_AXIS_TP),
                 c->plan->trainer->tensor ? rt_training_node_gpus(c->plan, cell_of(c)) : 1);
}

static void list_context(const struct cutting *c, struct values *out)
{
    int64_t sequence = c->plan->request->step.sequence, gpus = left(c, RT_AXIS_CP);
    add_value(out, 1);
    for (int64_t d = 2; c->plan->trainer->context && d <= gpus && sequence / d >= LEAST_CONTEXT_TOKENS;
         d *= 2)
        if (gpus % d == 0 &&
            sequence % (2 * d) == 0) /* each has a piece from both ends: causal work is even */
            add_value(out, d);
}

static void list_pipeline(const struct cutting *c, struct values *out)
{
    add_divisors(out, left(c, RT_AXIS_PP), c->plan->trainer->pipeline ? model_of(c)->layers : 1);
}

/* Chunks are even, or would be if embedding and head were a layer each (rt_piece_repeats). */
static void list_chunks(const struct cutting *c, struct values *out)
{
    int64_t layers = model_of(c)->layers, stages = c->value[RT_AXIS_PP];
    add_value(out, 1);
    for (int64_t v = 2; c->plan->trainer->interleaved && stages > 1 && v * stages <= layers + 2; v++)
        if (layers % (v * stages) == 0 || (layers + 2) % (v * stages) == 0)
            add_value(out, v);
}

static void list_data(const struct cutting *c, struct values *out)
{
    add_value(out, left(c, RT_AXIS_DP));
}

/* Experts are shared out over the GPUs that have copies of a layer or cuts of it (models/networks/cuts.c). */
static void list_expert(const struct cutting *c, struct values *out)
{
    bool shares = rt_runtimes[c->plan->trainer->runtime].grouped_experts;
    int64_t experts = model_of(c)->experts.count,
            gpus = c->value[RT_AXIS_DP] * c->value[RT_AXIS_CP] * c->value[RT_AXIS_TP];
    add_value(out, 1);
    for (int64_t d = 2; shares && d <= experts && d <= gpus; d++)
        if (experts % d == 0 && gpus % d == 0)
            add_value(out, d);
}

static void list_shard(const struct cutting *c, struct values *out)
{
    unsigned shards = c->value[RT_AXIS_DP] > 1 ? c->plan->trainer->shards : 1u << RT_SHARD_NONE;
    for (int s = 0; s < RT_SHARD_COUNT; s++)
        if (shards & 1u << s)
            add_value(out, s);
}

/* Copies of what is shared out are tried where they are asked for. */
static void list_shard_gpus(const struct cutting *c, struct values *out)
{
    const struct rt_training_values *asked = &c->plan->request->axis[RT_AXIS_SHARD_GPUS];
    int64_t gpus = c->value[RT_AXIS_DP] * c->value[RT_AXIS_CP];
    for (size_t i = 0; c->value[RT_AXIS_SHARD] != RT_SHARD_NONE && i < asked->count; i++)
        if (gpus % asked->value[i] == 0)
            add_value(out, asked->value[i]);
    if (asked->count == 0)
        add_value(out, 0);
}

static void list_recompute(const struct cutting *c, struct values *out)
{
    const struct rt_training_values *asked = &c->plan->request->axis[RT_AXIS_RECOMPUTE];
    unsigned known = c->plan->trainer->recomputes;
    for (size_t i = 0; rt_runtimes[c->plan->trainer->runtime].engine && i < asked->count; i++)
        known |= 1u << asked->value[i]; /* of one kind of model: where it is asked for */
    for (int r = 0; r < RT_RECOMPUTE_COUNT; r++)
        if (known & 1u << r)
            add_value(out, r);
}

/* Where the batch cannot be shared out, one candidate says so. */
static void list_micro_batch(const struct cutting *c, struct values *out)
{
    int64_t batch = cell_of(c)->batch, data = c->value[RT_AXIS_DP];
    if (batch % data == 0)
        add_divisors(out, batch / data, MOST_MICRO_BATCH);
    else
        add_value(out, 1);
}

static void (*const lists[RT_AXES])(const struct cutting *c, struct values *out) = {
    [RT_AXIS_TP] = list_tensor,
    [RT_AXIS_CP] = list_context,
    [RT_AXIS_PP] = list_pipeline,
    [RT_AXIS_VP] = list_chunks,
    [RT_AXIS_DP] = list_data,
    [RT_AXIS_EP] = list_expert,
    [RT_AXIS_SHARD] = list_shard,
    [RT_AXIS_SHARD_GPUS] = list_shard_gpus,
    [RT_AXIS_RECOMPUTE] = list_recompute,
    [RT_AXIS_MICRO_BATCH] = list_micro_batch,
};

static bool has(const int64_t *value, size_t count, int64_t wanted)
{
    for (size_t i = 0; i < count; i++)
        if (value[i] == wanted)
            return true;
    return false;
}

/* Values that were asked for stand in place of the axis' own where they can be: a degree must divide the GPUs
 * that are left; whatever else is wrong with it, settling says. */
static void choose_values(const struct cutting *c, enum rt_training_axis axis, struct values *out)
{
    const struct rt_training_values *asked = &c->plan->request->axis[axis];
    struct values own = {.count = 0};
    bool divides = axis == RT_AXIS_TP || axis == RT_AXIS_CP || axis == RT_AXIS_PP;
    lists[axis](c, &own);
    *out = own;
    if (asked->count == 0)
        return;
    out->count = 0;
    for (size_t i = 0; i < asked->count; i++) {
        int64_t value = asked->value[i];
        bool kept = divides                     ? left(c, axis) % value == 0
                    : axis == RT_AXIS_VP        ? value == 1 || c->value[RT_AXIS_PP] > 1
                    : axis == RT_AXIS_RECOMPUTE ? true
                                                : has(own.value, own.count, value);
        if (kept)
            add_value(out, value);
    }
}

/* --- candidates --- */

static void add_candidate(struct cutting *c)
{
    struct rt_training_plan *plan = c->plan;
    struct rt_training_candidate candidate = {.cell = c->cell,
                                              .shape = UINT32_MAX,
                                              .fate = RT_TRAINING_CUT,
                                              .bound_us = NAN,
                                              .time_us = NAN,
                                              .memory_bytes = NAN,
                                              .joules = NAN};
    for (int a = 0; a < RT_AXES; a++)
        candidate.value[a] = (int32_t)c->value[a];
    int64_t part = c->value[RT_AXIS_DP] * c->value[RT_AXIS_MICRO_BATCH];
    candidate.microbatches =
        (int32_t)(plan->cell[c->cell].batch / part > 0 ? plan->cell[c->cell].batch / part : 1);
    RT_GROW(plan->candidate, plan->candidate_count, 1, plan->candidate_capacity);
    plan->candidate[plan->candidate_count++] = candidate;
}

static void extend(struct cutting *c, enum rt_training_axis axis)
{
    struct values values;
    if (axis == RT_AXES) {
        add_candidate(c);
        return;
    }
    choose_values(c, axis, &values);
    for (size_t i = 0; i < values.count; i++) {
        c->value[axis] = values.value[i];
        extend(c, axis + 1);
    }
}

/* Beside a micro batch of the same stage: a pipeline's has chunks, and no layer runs again (Megatron-Core's
 * transformer_config.py, overlap_moe_expert_parallel_comm). */
static bool exchanges_beside(const struct rt_training_plan *plan, const struct rt_training_candidate *c)
{
    return plan->trainer->exchanges_beside && c->value[RT_AXIS_EP] > 1 && c->microbatches > 1 &&
           c->value[RT_AXIS_RECOMPUTE] != RT_RECOMPUTE_LAYERS &&
           (c->value[RT_AXIS_PP] == 1 || c->value[RT_AXIS_VP] > 1);
}

struct rt_step rt_training_step(const struct rt_training_plan *plan, const struct rt_training_candidate *c)
{
    struct rt_step step = plan->request->step;
    struct rt_parallelism *parallel = &step.parallel;
    step.mode = RT_STEP_TRAINING;
    step.batch = plan->cell[c->cell].batch;
    step.recompute = c->value[RT_AXIS_RECOMPUTE];
    parallel->tensor = c->value[RT_AXIS_TP];
    parallel->context = c->value[RT_AXIS_CP];
    parallel->pipeline = c->value[RT_AXIS_PP];
    parallel->chunks = c->value[RT_AXIS_VP];
    parallel->data = c->value[RT_AXIS_DP];
    parallel->expert = c->value[RT_AXIS_EP];
    parallel->shard = (enum rt_shard_kind)c->value[RT_AXIS_SHARD];
    parallel->shard_gpus = c->value[RT_AXIS_SHARD_GPUS];
    parallel->microbatches = c->microbatches;
    parallel->sequence =
        plan->trainer->sequence && parallel->tensor > 1 && rt_is_stack(&plan->request->source->model);
    parallel->tensor_overlap = parallel->sequence && (plan->trainer->overlap || step.parallel.tensor_overlap);
    parallel->expert_overlap = step.parallel.expert_overlap && exchanges_beside(plan, c);
    return step;
}

/* --- shapes --- */

/* What a graph follows from, in bytes that can be compared. */
struct shape_key {
    uint32_t gpu;
    struct rt_graph_options graph;
};

static void add_shape(struct rt_training_plan *plan, uint32_t gpu, size_t first)
{
    RT_GROW(plan->shape, plan->shape_count, 1, plan->shape_capacity);
    plan->shape[plan->shape_count++] = (struct rt_training_shape){.gpu = gpu, .first = first};
}

/* Settles every candidate: what does not go together is cut out, the others share shapes. */
static void find_shapes(struct rt_training_plan *plan)
{
    struct shape_key *key = NULL;
    struct rt_hash_set set = {0};
    size_t capacity = 0;
    for (size_t i = 0; i < plan->candidate_count; i++) {
        struct rt_training_candidate *c = &plan->candidate[i];
        uint32_t gpu = plan->cell[c->cell].gpu;
        struct rt_step step = rt_training_step(plan, c);
        struct rt_settled_step settled;
        bool fits =
            rt_step_settle(&step, plan->request->source, &plan->request->gpu[gpu].device, &settled) == RT_OK;
        RT_GROW(key, plan->shape_count, 1, capacity);
        memset(&key[plan->shape_count], 0, sizeof *key);
        key[plan->shape_count].gpu = gpu;
        key[plan->shape_count].graph = settled.graph;
        rt_settled_step_release(&settled);
        if (!fits)
            continue;
        int64_t same = rt_hash_set_add_bytes(&set, key, sizeof *key, plan->shape_count);
        c->shape = same >= 0 ? (uint32_t)same : (uint32_t)plan->shape_count;
        c->fate = RT_TRAINING_BELOW;
        if (same < 0)
            add_shape(plan, gpu, i);
    }
    rt_hash_set_release(&set);
    free(key);
}

/* --- cells --- */

static void add_cell(struct rt_training_plan *plan, size_t gpu, int64_t gpus, int64_t batch, bool weak)
{
    plan->cell[plan->cell_count++] =
        (struct rt_training_cell){.gpu = (uint32_t)gpu, .gpus = gpus, .batch = batch, .weak = weak};
}

/* The batch of weak scaling is that of the fewest GPUs, times as many as there are more; none where that is
 * no whole number of sequences. */
static void list_cells(struct rt_training_plan *plan)
{
    const struct rt_training_request *r = plan->request;
    plan->cell = rt_calloc(2 * r->gpu_count * r->gpus_count + 1, sizeof *plan->cell);
    for (size_t g = 0; g < r->gpu_count; g++)
        for (size_t n = 0; n < r->gpus_count; n++)
            add_cell(plan, g, r->gpus[n], r->step.batch, false);
    for (size_t g = 0; !r->strong && g < r->gpu_count; g++)
        for (size_t n = 1; n < r->gpus_count; n++)
            if (r->step.batch * r->gpus[n] % r->gpus[0] == 0)
                add_cell(plan, g, r->gpus[n], r->step.batch * r->gpus[n] / r->gpus[0], true);
}

/* --- what cannot be --- */

static const char *const fields[RT_AXES] = {"tp", "cp",    "pp",         "vp",        "dp",
                                            "ep", "shard", "shard_gpus", "recompute", "micro_batch"};

/* Degrees that divide one of the numbers of GPUs, "1, 2, 4 or 8". */
static void add_dividing(const struct rt_training_plan *plan, struct rt_text *words)
{
    const struct rt_training_request *r = plan->request;
    for (int64_t d = 1; d <= r->gpus[r->gpus_count - 1] && d <= 64; d++)
        for (size_t n = 0; n < r->gpus_count; n++)
            if (r->gpus[n] % d == 0) {
                rt_text_item(words, ", ", "%" PRId64, d);
                break;
            }
}

static int refuse_axis(const struct rt_training_plan *plan, enum rt_training_axis axis)
{
    const struct rt_training_request *r = plan->request;
    struct rt_field_words field = rt_field_words(fields[axis]);
    struct rt_text words = {0};
    int64_t asked = r->axis[axis].value[0];
    if (axis == RT_AXIS_MICRO_BATCH)
        return rt_fail(RT_EUSAGE,
                       "%s %" PRId64 ": on no number of data-parallel GPUs does it divide the %" PRId64
                       " sequences of {batch}; give a divisor of what each has, or another {batch}",
                       field.text, asked, r->step.batch);
    if (axis == RT_AXIS_EP)
        return rt_fail(RT_EUSAGE,
                       "%s %" PRId64 ": must divide the %" PRId64
                       " experts of the model and the data-parallel GPUs; give a divisor of both",
                       field.text, asked, r->source->model.experts.count);
    if (axis == RT_AXIS_SHARD)
        return rt_fail(RT_EUSAGE, "%s %s: {runtime} %s has no such thing, or no cut has data-parallel GPUs",
                       field.text, rt_shard_kinds[asked], rt_runtimes[plan->trainer->runtime].name);
    if (axis == RT_AXIS_SHARD_GPUS)
        return rt_fail(RT_EUSAGE,
                       "%s %" PRId64 ": divides the data-parallel GPUs of no cut that shares something out; "
                       "give a divisor of them, and {shard}",
                       field.text, asked);
    add_dividing(plan, &words);
    int status =
        rt_fail(RT_EUSAGE,
                "%s %" PRId64 ": divides none of the numbers of {gpus} with the other degrees; of these "
                "numbers alone %s would",
                field.text, asked, words.text);
    rt_text_release(&words);
    return status;
}

/* The first axis whose values leave no candidate. */
static int refuse(struct rt_training_plan *plan)
{
    struct rt_training_request all = *plan->request, *asked = &all;
    struct rt_training_plan with = *plan;
    memset(all.axis, 0, sizeof all.axis);
    with.request = asked;
    with.candidate = NULL;
    with.candidate_capacity = 0;
    for (int a = 0; a < RT_AXES; a++) {
        all.axis[a] = plan->request->axis[a];
        with.candidate_count = 0;
        for (uint32_t i = 0; i < plan->cell_count; i++)
            extend(&(struct cutting){.plan = &with, .cell = i}, 0);
        if (with.candidate_count == 0) {
            free(with.candidate);
            return refuse_axis(plan, (enum rt_training_axis)a);
        }
    }
    free(with.candidate);
    return rt_fail(RT_EUSAGE, "no number of {gpus} can be cut as asked");
}

int rt_training_list(struct rt_training_plan *plan)
{
    list_cells(plan);
    plan->asked_count = 0;
    for (uint32_t i = 0; i < plan->cell_count; i++) {
        plan->cell[i].first = plan->candidate_count;
        extend(&(struct cutting){.plan = plan, .cell = i}, 0);
        plan->cell[i].count = plan->candidate_count - plan->cell[i].first;
        plan->asked_count += plan->cell[i].weak ? 0 : plan->cell[i].count;
        if (plan->candidate_count > MOST_CANDIDATES)
            return rt_fail(RT_EUSAGE, "there are more than %d candidates; give fewer {gpus}",
                           MOST_CANDIDATES);
    }
    if (plan->candidate_count == 0)
        return refuse(plan);
    find_shapes(plan);
    return RT_OK;
}
