/*
 * Measured runs of LLM servers beside their simulation (predict/serving): TPOT, throughput and TTFT of each,
 * with errors of every step's forecast in them, and the scheduler's.
 *
 * Measured runs of LLM servers under load, out of CSV: how long the users of a server waited. A row is a
 * run; columns that are not here are passed over:
 *
 *   device, model       by the names of the catalogue and of the zoo
 *   backend             vllm, sglang, tensorrt-llm
 *   dtype, quant, kv_cache   as the columns of runs have them (datasets/run_attributes.h); default bf16, none
 *   tp, pp, ep, attention_dp, replicas   how the GPUs that serve are cut; of disaggregated ones those that
 *                       prefill; default 1
 *   decode_tp, decode_pp, decode_ep, decode_attention_dp, decode_replicas   disaggregated: those that decode
 *   input, output       tokens of a prompt and made of it; `least`: the share of them that the shortest has,
 *                       lengths lie evenly between (default 1: all alike)
 *   concurrency         users in a closed loop
 *   sequences, budget   that the server runs at once; tokens of a step that prefills; default: its scheduler's
 *   poll_steps          steps that decode between two looks for new requests (rt_scheduler.poll)
 *   gather_steps        steps for which a prompt waits for others (rt_scheduler.gathers)
 *   graph_tokens        tokens up to which steps are CUDA graphs (rt_scheduler.graph_most)
 *   ttft_ms, tpot_ms    means over the requests; output_per_s: tokens a second, else it follows from the two
 *   id, note            of the run; a note says why a run is judged apart from the others
 */
#pragma once

#include "base/options.h"
#include "base/report.h"
#include "base/threads.h"
#include "models/networks/parallelism.h"
#include "models/predictors/predictor/predictor.h"
#include "predict/evaluate/quantity.h"
#include "predict/step/grade.h"

#include <stddef.h>
#include <stdint.h>

/* ---- runs ---- */

/* Texts of a run, "" where the cell is empty. */
enum rt_serving_text {
    RT_SERVING_ID,
    RT_SERVING_DEVICE,
    RT_SERVING_MODEL,
    RT_SERVING_BACKEND,
    RT_SERVING_DTYPE,
    RT_SERVING_QUANT,
    RT_SERVING_CACHE,
    RT_SERVING_NOTE,
    RT_SERVING_TEXTS
};
extern const char *const rt_serving_texts[RT_SERVING_TEXTS]; /* their columns */

struct rt_serving_run {
    char *text[RT_SERVING_TEXTS]; /* owned */
    /* data: replicas; decode.data 0: the first group does both */
    struct rt_parallelism serve, decode;
    int64_t input, output, concurrency;
    int64_t sequences, budget, poll, gather, graph; /* 0: those of the scheduler */
    double least, ttft_us, tpot_us, output_per_s;   /* NaN: was not measured */
    size_t line;
    struct rt_trust trust; /* of the decode steps of those that were simulated: predict/step/grade.h */
    double ln_half_width;  /* of their interval: rt_deployment_ln_half_width */
    bool asked;            /* of the devices and models that were asked for */
    const char *server, *architecture, *dtype; /* constant: what runs it, set where it was forecast */
    char *reason;                              /* owned: why it cannot be forecast; NULL: it can */
};

struct rt_serving_runs {
    char *path;
    struct rt_serving_run *run;
    size_t count, capacity;
};

/* RT_EIO or RT_EFORMAT where the file is none of such runs. A row that does not say what it takes to forecast
 * it is kept, with its reason. Release in both cases. */
int rt_serving_runs_read(const char *path, struct rt_serving_runs *out);
void rt_serving_runs_release(struct rt_serving_runs *runs);
/* Of all that it says: what a predictor that was calibrated to it knows it by. */
uint64_t rt_serving_run_key(const struct rt_serving_run *run);

/* ---- their simulation ---- */

struct rt_serving_options {
    const struct rt_names *gpus, *models; /* words in names; rt_names_match; empty: all */
    bool fallback, quiet;
    struct rt_threads *threads;
};

/* Users up to whom a prompt hardly waits for others: RT_QUANTITY_TTFT_FEW. */
enum { RT_FEW_USERS = 8 };

/* Runs with a forecast, whose items are TPOT, TTFT and throughput. */
struct rt_serving_evaluation {
    struct rt_serving_runs *runs;
    struct rt_scored_items items;
    const struct rt_serving_run **run; /* (items.count) */
    size_t asked;                      /* runs of the devices and models that were asked for */
};

/* Simulates every run that can be; the others get a reason. `runs` must outlive `out`. Throughput is that
 * which follows from TTFT and TPOT on both sides (rt_serving_output_per_s) where none was measured.
 * RT_ENOTFOUND where nothing is left to judge. Release with rt_serving_evaluation_release. */
int rt_evaluate_serving(struct rt_serving_runs *runs, const struct rt_predictor *predictor,
                        const struct rt_serving_options *options, struct rt_serving_evaluation *out);
void rt_serving_evaluation_release(struct rt_serving_evaluation *evaluation);

/* `by`: columns of the runs (gpu for device, concurrency, precision ...), several with commas; a table each.
 */
int rt_serving_by_check(const struct rt_names *by);
struct rt_report *rt_serving_report(const struct rt_serving_evaluation *evaluation, const char *predictor,
                                    const struct rt_names *by);
