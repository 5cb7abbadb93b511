/* What one GPU runs in one pass, and the bounds that follow. See plan.h. */
#include "base/status.h"
#include "models/predictors/predictor/energy_model.h"
#include "predict/search/train/plan.h"
#include "predict/step/breakdown.h"
#include "predict/step/energy.h"
#include "predict/step/forecast_graphs.h"
#include "predict/step/memory.h"
#include "predict/step/passes.h"
#include "predict/step/overlap.h"
#include "predict/step/pipeline.h"

#include <math.h>

/* What the energy of a candidate may be below its bound: kernels that the board's limit holds down take less
 * than the sum of their joules. 6% were seen (tests/predict/search/train/test_plan.c). */
static const double ENERGY_SLACK = 0.12;

/* --- building --- */

/* Adapters alone have gradients, where there are some. */
static void count_bytes(const struct rt_graph *graph, bool layers, struct rt_training_bytes *out)
{
    struct rt_memory_options options = RT_MEMORY_DEFAULTS;
    struct rt_graph_memory memory;
    struct rt_weight_bytes each;
    options.without_first = options.without_last = layers;
    rt_graph_memory(graph, &options, &memory);
    rt_graph_weight_bytes(graph, &each);
    *out = (struct rt_training_bytes){
        .weights = memory.weights, .optimizer = memory.optimizer, .saved = memory.saved};
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_node *node = &graph->nodes[n];
        if (!layers || graph->blocks[node->block].role == RT_BLOCK_LAYER)
            out->gradients +=
                each.gradient * (node->parameters - node->frozen) * (double)rt_graph_repeat(graph, node);
    }
}

int rt_training_shape_build(const struct rt_training_plan *plan, struct rt_training_shape *shape)
{
    const struct rt_training_request *request = plan->request;
    struct rt_step step = rt_training_step(plan, &plan->candidate[shape->first]);
    int status =
        rt_prediction_begin(&step, request->source, &request->gpu[shape->gpu].device, &shape->prediction);
    if (status == RT_EUSAGE) {
        shape->refused = rt_strdup(rt_error());
        return RT_OK;
    }
    if (status != RT_OK)
        return status;
    shape->prediction.predictor = request->predictor;
    count_bytes(&shape->prediction.graph, false, &shape->bytes);
    count_bytes(&shape->prediction.graph, true, &shape->layer_bytes);
    return RT_OK;
}

/* --- timing --- */

/* A pass of one repetition of a block, forward and back, without what follows once a step. Tokens that may be
 * exchanged beside other micro batches cost what hides them, at least. */
static double block_us(const struct rt_forecast *forecast, size_t block, bool exchanges_beside)
{
    const struct rt_graph *graph = forecast->graph;
    const struct rt_block *b = &graph->blocks[block];
    double us = 0;
    for (uint32_t i = forecast->node_launch[b->node]; i < forecast->node_launch[b->node + b->node_count];
         i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        int phase = launch->kernel.call.phase;
        bool beside = exchanges_beside && launch->kernel.group == RT_GROUP_EXPERT;
        double each = beside ? rt_overlap_share(forecast->device) * launch->time_us
                             : rt_launch_in_line_us(forecast, launch);
        if (phase == RT_FORWARD || phase == RT_BACKWARD)
            us += each * rt_forecast_launch_runs(forecast, launch);
    }
    return us / (double)b->repeat;
}

static void set_times(struct rt_training_shape *shape, bool exchanges_beside)
{
    const struct rt_graph *graph = &shape->prediction.graph;
    shape->block_us = rt_malloc((graph->block_count + 1) * sizeof *shape->block_us);
    for (size_t b = 0; b < graph->block_count; b++) {
        shape->block_us[b] = block_us(&shape->prediction.forecast, b, exchanges_beside);
        shape->all_us += shape->block_us[b] * (double)graph->blocks[b].repeat;
    }
}

/* Joules of a pass that do not follow from how long the step is: what another microbatch adds, which steps
 * no optimizer. Watts at rest and at most. */
static void set_energy(const struct rt_predictor *predictor, struct rt_training_shape *shape)
{
    struct rt_power_profile profile, more;
    struct rt_forecast longer = shape->prediction.forecast;
    double scale[RT_ENERGY_PARTS];
    longer.options.parallel.microbatches++;
    rt_power_profile_full(&shape->prediction.forecast, &profile);
    rt_power_profile_full(&longer, &more);
    rt_energy_scales(&predictor->energy, &shape->prediction.device, scale);
    shape->pass_joules = 0;
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        if (p != RT_ENERGY_IDLE && p != RT_ENERGY_ACTIVE)
            shape->pass_joules += scale[p] * (more.joules[0][p] - profile.joules[0][p]);
    shape->active_watts =
        1e6 * scale[RT_ENERGY_ACTIVE] * profile.joules[0][RT_ENERGY_ACTIVE] / profile.busy_us[0];
    shape->idle_watts = rt_power_idle(&profile, scale, 0);
    shape->most_watts = profile.board_w;
}

int rt_training_shape_time(const struct rt_training_plan *plan, struct rt_network_memo *memo,
                           struct rt_training_shape *shape)
{
    struct rt_prediction *prediction = &shape->prediction;
    struct rt_forecast_options options = rt_prediction_how(prediction);
    options.parallel.pipeline = 1;
    options.parallel.microbatches = 2; /* with the kernels that add up gradients */
    options.parallel.chunks = 0;
    options.parallel.shard = RT_SHARD_NONE;
    options.parallel.shard_gpus = 0;
    options.level = 0;
    options.energy = false;
    options.times_only = true;
    options.fallback = plan->request->fallback;
    options.memo = memo;
    int status = rt_forecast_graph(&prediction->graph, plan->request->predictor, &prediction->device,
                                   &options, &prediction->forecast);
    if (status != RT_OK)
        return status;
    set_times(shape, plan->request->step.parallel.expert_overlap);
    set_energy(plan->request->predictor, shape);
    shape->timed = true;
    return RT_OK;
}

/* --- bounds --- */

static const struct rt_training_shape *shape_of(const struct rt_training_plan *plan,
                                                const struct rt_training_candidate *c)
{
    return &plan->shape[c->shape];
}

static double piece_us(const struct rt_training_shape *shape, int64_t piece, int64_t pieces)
{
    const struct rt_graph *graph = &shape->prediction.graph;
    double us = 0;
    for (size_t b = 0; b < graph->block_count; b++)
        us += shape->block_us[b] * (double)rt_piece_repeats(graph, b, piece, pieces);
    return us;
}

double rt_training_least_us(const struct rt_training_plan *plan, const struct rt_training_candidate *c)
{
    const struct rt_training_shape *shape = shape_of(plan, c);
    int64_t stages = c->value[RT_AXIS_PP], pieces = stages * c->value[RT_AXIS_VP];
    double last = 0, others = 0, mean = shape->all_us / (double)stages;
    for (int64_t k = stages - 1; k < pieces; k += stages)
        last += piece_us(shape, k, pieces);
    for (int64_t k = 0; k + 1 < stages; k++)
        others += piece_us(shape, k, pieces);
    if (plan->request->step.parallel.schedule == RT_PIPELINE_ZERO_BUBBLE)
        return c->microbatches * mean;
    return fmax(c->microbatches * last + others, c->microbatches * mean);
}

/* Each GPU draws at least what it does at rest throughout; its kernels take their joules, or run at the
 * limit. */
double rt_training_least_joules(const struct rt_training_plan *plan, const struct rt_training_candidate *c)
{
    const struct rt_training_shape *shape = shape_of(plan, c);
    double passes = (double)c->microbatches / c->value[RT_AXIS_PP], busy_s = 1e-6 * passes * shape->all_us;
    double work = passes * shape->pass_joules + shape->active_watts * busy_s;
    if (!isnan(shape->most_watts))
        work = fmin(work, fmax(shape->most_watts - shape->idle_watts, 0) * busy_s);
    double rest = shape->idle_watts * 1e-6 * rt_training_least_us(plan, c);
    return (1 - ENERGY_SLACK) * (double)plan->cell[c->cell].gpus * (work + rest);
}

static double shared(double bytes, const struct rt_training_candidate *c, enum rt_shard_kind from)
{
    double all = (double)c->value[RT_AXIS_DP] * (double)c->value[RT_AXIS_CP],
           gpus = c->value[RT_AXIS_SHARD_GPUS] > 0 ? c->value[RT_AXIS_SHARD_GPUS] : all;
    return c->value[RT_AXIS_SHARD] >= (int32_t)from ? bytes / gpus : bytes;
}

/* The share of all layers that a stage has. */
static double layers_share(const struct rt_training_shape *shape, const struct rt_training_candidate *c,
                           int64_t stage)
{
    const struct rt_graph *graph = &shape->prediction.graph;
    int64_t stages = c->value[RT_AXIS_PP], pieces = stages * c->value[RT_AXIS_VP], layers = 0;
    for (int64_t k = stage; k < pieces; k += stages)
        for (size_t b = 0; b < graph->block_count; b++)
            layers += graph->blocks[b].role == RT_BLOCK_LAYER ? rt_piece_repeats(graph, b, k, pieces) : 0;
    return (double)layers / (double)rt_forecast_layers(graph);
}

static double state_of(const struct rt_training_bytes *bytes, const struct rt_training_candidate *c)
{
    return shared(bytes->weights, c, RT_SHARD_PARAMETERS) + shared(bytes->gradients, c, RT_SHARD_GRADIENTS) +
           shared(bytes->optimizer, c, RT_SHARD_OPTIMIZER);
}

/* Of a pipeline first and last stage together hold embedding and head: one of them has half of what both
 * have. */
double rt_training_state_bytes(const struct rt_training_plan *plan, const struct rt_training_candidate *c)
{
    const struct rt_training_shape *shape = shape_of(plan, c);
    double all = state_of(&shape->bytes, c), layers = state_of(&shape->layer_bytes, c);
    int64_t stages = c->value[RT_AXIS_PP];
    if (stages == 1)
        return all;
    double first = layers * layers_share(shape, c, 0), last = layers * layers_share(shape, c, stages - 1);
    return fmax(fmax(first, last), (first + last + all - layers) / 2);
}

/* Before the backward pass there may be no gradients yet. */
double rt_training_saved_bytes(const struct rt_training_plan *plan, const struct rt_training_candidate *c)
{
    const struct rt_training_shape *shape = shape_of(plan, c);
    int64_t stages = c->value[RT_AXIS_PP];
    const struct rt_training_bytes *of = stages > 1 ? &shape->layer_bytes : &shape->bytes;
    double in_flight = rt_pipeline_in_flight(stages, c->value[RT_AXIS_VP], c->microbatches,
                                             plan->request->step.parallel.schedule);
    double bytes = shared(of->weights, c, RT_SHARD_PARAMETERS) +
                   shared(of->optimizer, c, RT_SHARD_OPTIMIZER) + of->saved * (stages > 1 ? in_flight : 1);
    return stages > 1 ? bytes * layers_share(shape, c, 0) : bytes;
}

/* --- forecasting a candidate --- */

int rt_training_forecast(const struct rt_training_plan *plan, const struct rt_training_candidate *c,
                         bool energy, struct rt_forecast *out)
{
    const struct rt_training_shape *shape = shape_of(plan, c);
    struct rt_step step = rt_training_step(plan, c);
    struct rt_settled_step settled;
    int status = rt_step_settle(&step, plan->request->source, &shape->prediction.device, &settled);
    struct rt_forecast_options options = shape->prediction.forecast.options;
    options.parallel = settled.step.parallel;
    options.energy = energy;
    rt_settled_step_release(&settled);
    if (status != RT_OK)
        return status;
    *out = (struct rt_forecast){
        .graph = &shape->prediction.graph, .device = &shape->prediction.device, .options = options};
    rt_forecast_sum_memory(out);
    if (!rt_forecast_fits(out))
        return RT_OK;
    struct rt_forecast memory = *out;
    status = rt_forecast_recut(&shape->prediction.forecast, plan->request->predictor, &options, out);
    out->memory = memory.memory;
    out->taken = memory.taken;
    out->memory_bytes = memory.memory_bytes;
    return status;
}

/* --- how GPUs are used --- */

/* A bubble is what the busiest stage waits for others. */
void rt_training_use(const struct rt_forecast *forecast, struct rt_training_candidate *c)
{
    rt_forecast_use(forecast, &c->mfu, &c->hfu);
    c->bubble = forecast->bubble_us / forecast->total_us;
    c->exposed = 0;
    for (int group = 0; group < RT_GROUPS; group++)
        c->exposed += forecast->exposed_us[group] / forecast->total_us;
}
