/*
 * Measured runs of LLM servers beside their simulation (predict/serving): TPOT, throughput and TTFT of each,
 * with errors of every step's forecast in them, and the scheduler's.
 */
#ifndef ROOFTILE_PREDICT_EVALUATE_SERVING_H
#define ROOFTILE_PREDICT_EVALUATE_SERVING_H

#include "base/options.h"
#include "base/report.h"
#include "base/threads.h"
#include "predict/evaluate/candidate.h"
#include "predict/evaluate/serving_runs.h"

/* What is compared. */
enum rt_serving_figure { RT_SERVING_TPOT, RT_SERVING_THROUGHPUT, RT_SERVING_TTFT, RT_SERVING_FIGURES };
extern const char *const rt_serving_figures[RT_SERVING_FIGURES]; /* "tpot", "throughput", "ttft" */

/* A run with a forecast: us, and tokens a second. */
struct rt_scored_serving {
    const struct rt_serving_run *run;
    double measured[RT_SERVING_FIGURES], forecast[RT_SERVING_FIGURES];
};

struct rt_serving_options {
    const struct rt_names *gpus, *models; /* parts of names; empty: all */
    bool fallback, quiet;
    struct rt_threads *threads;
};

struct rt_serving_evaluation {
    struct rt_serving_runs *runs;
    struct rt_scored_serving *judged;
    size_t count, asked; /* asked: runs of the devices and models that were asked for */
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

#endif
