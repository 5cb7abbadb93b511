/*
 * What one step of an LLM server takes: sequences that decode, and chunks of prompts beside them, in one pass
 * of the model (continuous batching: Yu et al., Orca, OSDI 2022; chunked prefill: Agrawal et al., Sarathi,
 * OSDI 2024).
 *
 * A step is forecast as predict does it, from the graph of the runtime "serving"
 * (models/networks/architectures/ served.c), but a simulation asks for millions of steps. So the kernels of a
 * step are put into classes by what their time follows:
 *
 *   tokens      products with weights, norms, activations, all-reduces: rows of the step
 *   experts     of a GPU's own and all other attention groups' rows, with their exchange
 *   sequences   head and sampling: sequences that get a token
 *   decode      attention of the sequences that decode: their number and mean context
 *   chunk       attention of each chunk: its tokens, and those cached before it
 *   tower       of prompts that begin: their images, all at once (vLLM encodes each when the scheduler comes to
 *               its tokens, and holds what comes out until then)
 *   host        of the server's row: sequences
 *
 * and each class is forecast once on a grid (rt_forecast_graphs, a few passes) and interpolated in between,
 * linearly: attention goes with number x context, so that a bilinear surface is what it is. Along each axis a
 * table never falls, so neither does a step with more tokens, sequences or context. Beyond the grid's end the
 * last slope goes on. What that costs beside the direct forecast of the same step is in docs/method.md.
 *
 * Attention groups (attention data parallel): each takes its part of the sequences, rounded up, and whole
 * chunks in turn; a step takes what the fullest takes. Pipelines: as many batches as stages are under way,
 * each with its part of the sequences; a step is one pass of one of them through all stages, the fullest.
 */
#pragma once

#include "models/networks/model.h"
#include "models/networks/parallelism.h"
#include "models/predictors/predictor/predictor.h"
#include "predict/step/grade.h"
#include "predict/step/server.h"
#include "predict/serving/batch.h"

struct rt_step_cost_options {
    /* dtype, fp16_beside, kv_bits and a prompt's images, as rt_step_settle leaves them; what says which step
     * it is (step, batch, groups ...) and how it is cut is not read. */
    struct rt_graph_options graph;
    struct rt_parallelism parallel; /* of one replica: data is not read; degrees of 0 are 1 */
    const struct rt_server *server; /* NULL: hidden */
    int64_t adapters; /* of graph.lora, that requests ask for: each sequence of a step for another, as far as
                         they go; 0: 1 */
    int64_t captured; /* tokens up to which steps with prompts are launched as graphs */
    double scale;     /* of all steps, by measured runs; 0: 1 */
    bool fallback;    /* rt_forecast_options.fallback */
    double level;     /* of intervals; 0: none */
    struct rt_network_memo *memo; /* rt_forecast_options.memo; may be NULL */
    /* Ends of the grids; 0: 512 sequences, 16384 tokens in a step, 32768 tokens of context. */
    int64_t most_sequences, most_tokens, most_context;
};

struct rt_step_cost;

/* Errors of rt_graph_build and of rt_forecast_graphs. All is borrowed while it runs and nothing after it but
 * `server`. Free with rt_step_cost_free. */
int rt_step_cost_new(const struct rt_model *model, const struct rt_predictor *predictor,
                     const struct rt_device *device, const struct rt_step_cost_options *options,
                     struct rt_step_cost **out);
void rt_step_cost_free(struct rt_step_cost *cost); /* accepts NULL */

/* The costs of its steps, as a simulation takes them; `cost` must outlive it. */
struct rt_serve_costs rt_step_cost_costs(const struct rt_step_cost *cost);

/* Time of a step, us; scaled, but no less than its bound. */
double rt_step_cost_us(const struct rt_step_cost *cost, const struct rt_serve_batch *batch);
/* What no step of this kind can be faster than: each kernel at its roofline, nothing for the host. */
double rt_step_cost_bound_us(const struct rt_step_cost *cost, const struct rt_serve_batch *batch);
/* Half-width of a step's interval in ln at options.level; NaN: unknown, or not asked for. */
double rt_step_cost_ln_half_width(const struct rt_step_cost *cost, const struct rt_serve_batch *batch);
/* How far they may be trusted, by a decode step in the middle of the grids; ln_error is NaN where
 * options.level is 0. */
struct rt_trust rt_step_cost_trust(const struct rt_step_cost *cost);

/* What of a step goes where; adds up to rt_step_cost_us. Experts are products. */
void rt_step_cost_parts(const struct rt_step_cost *cost, const struct rt_serve_batch *batch,
                        double parts[RT_SERVE_PARTS]);

/* --- memory --- */

/* Bytes of cache of one GPU for a sequence of so many tokens: linear in them but where windows end. Heads
 * are shared out by tensor parallelism, latents (MLA) are on every GPU of an attention group. */
double rt_step_cost_cache_bytes(const struct rt_step_cost *cost, double tokens);

/* Tokens of cache that fit beside weights and activations, over all GPUs of the cut, of sequences of
 * `length` tokens: rt_server_kv_allocation. `draft`: whose weights and cache lie beside it; NULL: none. 0 or
 * less: the model does not fit. INFINITY where the device's
 * memory is unknown. */
double rt_step_cost_cache_tokens(const struct rt_step_cost *cost, const struct rt_scheduler *scheduler,
                                 const struct rt_step_cost *draft, double length);

/* Bytes on one GPU that are no cache. */
double rt_step_cost_weight_bytes(const struct rt_step_cost *cost);
double rt_step_cost_activation_bytes(const struct rt_step_cost *cost);

/* Time to send the cache of a sequence of so many tokens to other GPUs cut alike: each sends its part, at
 * `gbs` (10^9 bytes/s one way per GPU; NaN: the device's link between GPUs). */
double rt_step_cost_move_us(const struct rt_step_cost *cost, double tokens, double gbs);

/* GPUs of the cut: tensor x attention x pipeline. */
int64_t rt_step_cost_gpus(const struct rt_step_cost *cost);
