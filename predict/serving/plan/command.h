/* The serving half of `rooftile plan`: what its options say, and making the plan of them. */
#pragma once

#include "base/options.h"
#include "base/ranges.h"
#include "base/report_files.h"
#include "predict/serving/plan/plan.h"

/* What both halves of the command are told. */
struct rt_plan_arguments {
    const char *predictor, *model, *as, *csv, *compose;
    struct rt_names gpus, prices, reports;
    struct rt_numbers counts; /* of GPUs, rising */
    int64_t threads;
    double confidence, link_gbs;
    struct rt_cluster cluster; /* of servers, that GPUs beyond one are joined by */
    int fabric;
    bool exhaustive, fallback, overwrite, json, quiet;
    struct rt_shard shard;
};

/* Of --ttft and --tpot: ms for each of rt_serving_percents, and for the one of --percentile; NaN: none. */
struct rt_serving_times {
    double ms[RT_SERVING_PERCENTILES], shown_ms;
};

struct rt_serving_arguments {
    const struct rt_server *server;
    struct rt_names quants, caches;
    struct rt_numbers users;
    const char *trace, *draft;
    struct rt_serve_lengths isl, osl;
    int64_t image, images, requests, seed, drafted, spare;
    double range_ratio, prefix_percent, headroom_percent, accepted;
    double think_us, ramp_us; /* NaN: not given */
    struct rt_serving_times ttft, tpot;
    double rate, move_gbs, risk;
    int percentile; /* place in rt_serving_percentiles */
    bool together;
};
void rt_serving_arguments_init(struct rt_serving_arguments *arguments);

extern const char *const rt_serving_percentiles[RT_SERVING_PERCENTILES];

/* Readers of options: whole numbers, rising, each once. */
int rt_rising_numbers_read(const char *option, const char *text, const struct rt_range_kind *kind,
                           size_t most, struct rt_numbers *out);
int rt_serving_users_read(const char *option, const char *text, void *value);
/* rt_serve_lengths_read, for rooms that do not see load.h. */
int rt_serving_lengths_read(const char *option, const char *text, void *value);
/* "2000", "2s", or "500@50,2s@99". */
int rt_serving_times_read(const char *option, const char *text, void *value);

/* The file that what is done lies beside (base/point_journal.h); NULL: it is kept nowhere. */
const char *rt_plan_journal_of(const struct rt_plan_arguments *shared);

/* RT_EUSAGE where the model is not served, or options do not fit. */
int rt_serving_plan_run(const struct rt_plan_arguments *shared, const struct rt_serving_arguments *arguments,
                        const struct rt_model_source *source);
