/*
 * Evaluation: what was measured beside what was forecast. Every measured kernel (or run of a whole model) of
 * a dataset becomes a row with its measured time and one forecast per candidate; rows are gathered into
 * groups and pooled, and errors are computed of each pool.
 *
 * All candidates are judged on the same rows. What one of them cannot forecast is left out for all, and so is
 * what a candidate was calibrated to. Nothing is left out silently:
 * rows + left out (over all reasons) = what the dataset holds.
 *
 * "Held out" is what a candidate was not fitted to: the device or the op is on its held-out list, or its
 * network for the op and dtype was not fitted to the device. Candidates that are fitted to nothing (roofline)
 * follow the reference, the first candidate that is.
 *
 * The files, in reading order:
 *   metrics.h       error metrics and their formulas
 *   candidate.h     the predictors that are judged
 *   evaluate.h      rows, columns, pools; the two entry points
 *   evaluation.h    what the two share
 *   kernel_property.h  what errors of kernels are given by
 *   kernel_energy.h what a kernel takes of energy
 *   kernels.c       rows of kernels
 *   workload.h      a measured run of a model as a graph
 *   run_property.h  what errors of runs are given by
 *   workloads.c     rows of whole models
 *   memory.h        their memory
 *   energy.h        their power and energy
 *   curves.h        runs under several power limits
 *   run_pools.h     what of runs these are given by
 *   published.h     columns of forecasts that others published
 *   pool.h          from rows to errors per device, op, model, and pooled
 *   report.h        the evaluation as text, JSON, CSV, Markdown
 *   cmd_evaluate.c  the command
 */
#ifndef ROOFTILE_PREDICT_EVALUATE_EVALUATE_H
#define ROOFTILE_PREDICT_EVALUATE_EVALUATE_H

#include "base/options.h"
#include "datasets/run_attributes.h"
#include "models/predictors/roofline/target.h"
#include "predict/evaluate/candidate.h"
#include "predict/evaluate/metrics.h"
#include "predict/evaluate/workload.h"

#define RT_WORST_KERNELS   10
#define RT_EVALUATE_LEVEL  0.9  /* of the intervals that are judged */
#define RT_COVERAGE_LEVELS 6    /* at which intervals of kernels are counted, rt_coverage_levels */
#define RT_PART_ANY        (-1) /* beside enum rt_part: every sample */
#define RT_MAX_BY          4    /* properties that errors are given by */
#define RT_MAX_PUBLISHED   9    /* columns of a CSV file of published forecasts */
#define RT_MAX_SCORED      (RT_MAX_CANDIDATES + 1 + RT_MAX_PUBLISHED) /* columns of an evaluation */

/* ---- what is asked for ---- */

struct rt_evaluate_options {
    const bool *devices; /* (device_count) which are asked for; NULL: all */
    /* Kernels: */
    const bool *ops, *dtypes;       /* (RT_OP_COUNT), (RT_DTYPE_COUNT) which are asked for; NULL: all */
    const struct rt_target *target; /* that is judged; NULL: what the reference was fitted to */
    int part;                       /* enum rt_part or RT_PART_ANY */
    bool each;                      /* a row for each kernel in JSON */
    bool pictures;                  /* the report has them: for pages */
    bool measured_tiles;            /* use a sample's own tile where it is known, else forecast all */
    struct rt_threads *threads;     /* NULL: this thread alone */
    bool quiet;                     /* no progress on stderr */
    const struct rt_names *by; /* properties to give errors by, kernel_property.h and of runs; NULL: none */
    /* Whole models: */
    const struct rt_names *models; /* parts of names; NULL or empty: all */
    const char *published;         /* CSV file of published forecasts, or NULL */
    const char *graphs;            /* folder of operator graphs, or NULL */
    bool fallback;                 /* as in rt_forecast_options */
    /* Only runs on parts of a GPU (MIG slices), forecast from the time of the same run on the whole: on the
     * board, or on its part with the most multiprocessors. */
    bool from_whole;
};

/* "test", "train", "validation", "all" */
const char *rt_part_name(int part);
int rt_part_find(const char *name, int *part); /* RT_EUSAGE naming them */

extern const double rt_coverage_levels[RT_COVERAGE_LEVELS]; /* ascending, in 0..1 */

/* ---- columns: a value for each row ---- */

enum rt_scored_kind {
    RT_SCORED_CANDIDATE,
    RT_SCORED_FLOOR,     /* whole models: the sum of their kernels measured alone (additive floor) */
    RT_SCORED_PUBLISHED, /* whole models: a column of the CSV file */
    RT_SCORED_BESIDE /* kernels' energy: of the first candidate at the measured time; board power x time */
};

struct rt_scored_column {
    enum rt_scored_kind kind;
    char *name;    /* in text: "roofline", "floor", "habitat*" */
    char *key;     /* in JSON and CSV: label of the candidate, "floor", the CSV file's own "habitat_ms" */
    double *value; /* (row_count), in the target's unit; NaN: the column has none */
    double *half;  /* (row_count) of candidates, else NULL: half-width of the interval in ln; NaN: unknown */
};

/* ---- rows ---- */

/* A judged run of a whole model. */
struct rt_scored_run {
    struct rt_workload_name name;
    const struct rt_workload *workload;
    enum rt_workload_kind kind;
    bool graph_read;                               /* the graph was read from a file, not built */
    double forward_us, backward_us;                /* of the first candidate; NaN for pipelines */
    double coverage, kernels_us, communication_us; /* of the first candidate: forecast.h */
};

/* The memory of a run at its peak. */
struct rt_scored_memory {
    struct rt_scored_run run;
    double measured_mib[RT_MEMORY_COLUMNS]; /* NaN: not measured */
    double forecast_mib[RT_MEMORY_COLUMNS];
    double device_mib;  /* that the device has; NaN: unknown */
    bool out_of_memory; /* as it was measured */
    bool fits;          /* as it is forecast */
};

struct rt_memory_pool {
    const char *by;   /* of options.by; NULL: all runs */
    char *value;      /* of that property, or "all" */
    const char *mode; /* or "all" */
    struct rt_metrics metrics[RT_MEMORY_COLUMNS];
    size_t ran, said_not_to_fit, out_of_memory, said_to_fit;
};

/* energy.h names them. */
enum rt_energy_column { RT_ENERGY_FITTED, RT_ENERGY_PRIORS, RT_ENERGY_BOARD, RT_ENERGY_COLUMNS };

/* The energy of a run. Watts are of one GPU, the mean over the run; joules of all of them. */
struct rt_scored_energy {
    struct rt_scored_run run;
    double gpus, limit_w; /* limit_w: of each; the board's, or a lower one that was set */
    double tokens;        /* that the run makes; NaN: it makes none */
    double watts, joules; /* measured */
    double forecast_us;   /* the time of the forecast joules, under that limit */
    double half;          /* half-width of the interval of ln watts; NaN: unknown */
    double forecast_w[RT_ENERGY_COLUMNS], forecast_j[RT_ENERGY_COLUMNS];
    double timed_w[RT_ENERGY_COLUMNS]; /* where the run takes its measured time */
};

struct rt_energy_pool {
    const char *by; /* of options.by; NULL: all runs */
    char *value;    /* of that property, or "all" */
    const char *mode;
    struct rt_metrics power[RT_ENERGY_COLUMNS], energy[RT_ENERGY_COLUMNS], timed[RT_ENERGY_COLUMNS];
    struct rt_metrics tokens[RT_ENERGY_COLUMNS]; /* J/token */
    struct rt_interval_metrics interval;         /* of power at the measured time */
};

/* Runs under several power limits, by falling limit: the first is where the others are forecast from. */
struct rt_scored_curve {
    struct rt_scored_run run; /* the first */
    size_t points;
    double *limit_w;                  /* (points) of one GPU */
    double *us, *watts;               /* (points) measured */
    double *forecast_us, *forecast_w; /* (points) */
    size_t best, forecast_best;       /* points of the least joules */
};

struct rt_curve_pool {
    const char *by;
    char *value;
    const char *mode;
    size_t curves, near;                   /* near: the optimum is off by RT_CURVE_STEP_W or less */
    struct rt_metrics time, power, energy; /* of the points below the first */
    double regret; /* mean of the measured joules at the forecast optimum above the least, percent */
};

/* What rows are pooled by. Texts are indices into the dataset's tables. */
enum rt_scored_key {
    RT_KEY_NONE, /* 0 in every group: a pool without a condition gathers all */
    RT_KEY_DEVICE,
    RT_KEY_OP,
    RT_KEY_FAMILY,
    RT_KEY_MODEL,
    RT_KEY_MODE,
    RT_KEY_KIND,
    RT_KEY_HELD_OUT,   /* held_out[0] */
    RT_KEY_EVERY_TIME, /* all candidates and published columns have a time for it */
    RT_KEY_PROPERTY,   /* the property that is pooled by at the moment */
    RT_KEY_COUNT
};

/* Rows [first, first + count), which share all keys: kernels of one op on one device, or one run. */
struct rt_scored_group {
    int32_t key[RT_KEY_COUNT];
    size_t first, count, synthetic; /* synthetic: rows that are no measurements */
    bool held_out[RT_MAX_CANDIDATES];
};

/* ---- errors ---- */

/* The errors of the rows of some groups. */
struct rt_scored_pool {
    char *scope; /* a device, a model, "all", "fitted", "held out", "every column" */
    char *what;  /* an op, "all elementwise" (several ops of a family), "all"; a mode, a kind */
    size_t count, synthetic;
    bool held_out[RT_MAX_CANDIDATES];         /* all of its rows are */
    struct rt_metrics metrics[RT_MAX_SCORED]; /* by column, of the rows that it has */
    double first_mape[RT_MAX_SCORED];         /* MAPE of the first column over the rows that the column has */
    struct rt_interval_metrics intervals[RT_MAX_CANDIDATES];
};

struct rt_scored_pools {
    struct rt_scored_pool *row;
    size_t count;
};

struct rt_scored_worst {
    const struct rt_sample *sample;
    const char *device, *kernel; /* kernel: name of the main kernel, "" unknown */
    double forecast, error;      /* of the first candidate; error in percent, signed */
};

/* ---- what is left out ---- */

enum rt_left_out {
    RT_LEFT_NOT_ASKED,   /* another GPU, op, dtype or model than asked for */
    RT_LEFT_OTHER_SPLIT, /* not in the chosen part */
    RT_LEFT_FITTED,      /* of a device that a predictor was fitted to without keeping a test part */
    RT_LEFT_FAILED,      /* the measurement failed */
    RT_LEFT_NO_LATENCY,  /* missing, or not positive */
    RT_LEFT_NO_ENERGY,   /* likewise, where energy is judged */
    RT_LEFT_NO_POWER,    /* where energy is judged: the device's description has no board power */
    RT_LEFT_IMPOSSIBLE,  /* faster than the roofline of its device: datasets/validate.h */
    RT_LEFT_NO_WHOLE,    /* from_whole: of a whole, or not measured on the whole */
    RT_LEFT_CALIBRATED,  /* a predictor was calibrated to it */
    RT_LEFT_NO_FAMILY,
    RT_LEFT_NO_PEAK,
    RT_LEFT_NO_TILE,
    RT_LEFT_NO_ORIGIN,
    RT_LEFT_NO_NUMBER,   /* the forecast is not a positive number */
    RT_LEFT_NO_FORECAST, /* a run, for the reason in `refused` */
    RT_LEFT_COUNT
};
struct rt_left_out_row {
    const char *key, *words, *remedy;
};
extern const struct rt_left_out_row rt_left_outs[RT_LEFT_COUNT];

/* A run that cannot be forecast. */
struct rt_scored_refusal {
    struct rt_scored_run run;
    char *reason;
};

/* A line of the CSV file whose measured time is not that of the data (by more than 0.1%). */
struct rt_scored_disagreement {
    size_t line, row;   /* in the CSV file, of the evaluation */
    double measured_us; /* as the CSV file has it */
};

/* ---- the evaluation ---- */

struct rt_evaluation {
    /* Borrowed: texts and samples are the dataset's, so dataset and candidates outlive the evaluation. */
    const struct rt_candidate *candidates;
    struct rt_evaluate_options options;
    /* Owned: rt_evaluation_release. */
    bool workloads;                              /* rows are runs of whole models, else kernels */
    const struct rt_target *target;              /* what of a sample is judged */
    size_t total;                                /* rows + left out */
    size_t candidate_count, column_count, floor; /* columns: candidates first; floor: its number */
    struct rt_scored_column column[RT_MAX_SCORED];
    size_t row_count;
    double *measured;                /* (row_count), in the target's unit */
    const struct rt_sample **sample; /* (row_count) of kernels, else NULL */
    struct rt_scored_run *run;       /* (row_count) of whole models, else NULL */
    struct rt_scored_group *groups;
    size_t group_count;
    /* Kernels: device x op, nothing, and pooled over devices. Whole models: device x mode, model x mode, and
     * scope x kind. */
    struct rt_scored_pools devices, models, pooled;
    struct rt_scored_pools by[RT_MAX_BY]; /* value of options.by x op or mode */
    size_t by_count;
    size_t left_out[RT_LEFT_COUNT][RT_OP_COUNT + 1]; /* by op; RT_OP_COUNT: runs of whole models */
    size_t synthetic;
    /* Kernels: */
    struct rt_split_rule split; /* of the reference; RT_SPLIT_DEFAULT where there is none */
    struct rt_scored_worst worst[RT_WORST_KERNELS]; /* largest |error| of the first candidate first */
    size_t worst_count, unstable, throttled;
    size_t dtypes[RT_DTYPE_COUNT]; /* rows by element type */
    /* Rows for which the first candidate has intervals, and how many lie within those of each level. */
    size_t covered_rows, covered[RT_COVERAGE_LEVELS];
    /* Whole models: */
    struct rt_scored_refusal *refused;
    size_t refused_count, graphs_read;
    size_t published_lines, published_unknown; /* of the CSV file; of runs that the data does not have */
    struct rt_scored_disagreement *disagreements;
    size_t disagreement_count;
    struct rt_scored_memory *memory; /* of the rows, and of runs that were out of memory */
    size_t memory_count;
    struct rt_memory_pool *memory_pools; /* none: nothing was measured */
    size_t memory_pool_count;
    struct rt_scored_energy *energy; /* of the rows that have power or energy measured */
    size_t energy_count;
    size_t energy_calibrated; /* runs that are no test of it: it was calibrated to their power */
    struct rt_energy_pool *energy_pools;
    size_t energy_pool_count;
    struct rt_scored_curve *curves; /* by limit; of all runs that are asked for */
    size_t curve_count;
    struct rt_curve_pool *curve_pools;
    size_t curve_pool_count;
};

/* Judges the kernels of the dataset. RT_EUSAGE where the candidates forecast different targets (one of time
 * forecasts energy, too); RT_EFORMAT
 * where none can be judged; the sentence says why most were left out. */
int rt_evaluate_kernels(const struct rt_dataset *dataset, const struct rt_candidate *candidates, size_t count,
                        const struct rt_evaluate_options *options, struct rt_evaluation *out);

/* Judges the runs of whole models, by their time. RT_EUSAGE where a candidate forecasts another target;
 * RT_EFORMAT where there is none or none can be forecast, or the published forecasts cannot be read;
 * RT_ENOTFOUND where a candidate lacks a family and no fallback was allowed. */
int rt_evaluate_workloads(const struct rt_dataset *dataset, const struct rt_candidate *candidates,
                          size_t count, const struct rt_evaluate_options *options, struct rt_evaluation *out);

void rt_evaluation_release(struct rt_evaluation *evaluation);

/* Left out for that reason, over all ops. */
size_t rt_evaluation_left_out(const struct rt_evaluation *evaluation, enum rt_left_out reason);

/* Error of a column in percent, NaN where the row has no time in it. */
double rt_evaluation_error(const struct rt_evaluation *evaluation, size_t row, size_t column);

#endif
