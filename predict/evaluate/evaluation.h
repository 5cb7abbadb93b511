/*
 * An evaluation: its rows, columns and pools, and what was left out. What is measured beside the time of runs
 * is in quantity.h.
 */
#pragma once

#include "base/options.h"
#include "models/predictors/predictor/predictor.h"
#include "models/predictors/roofline/target.h"
#include "predict/evaluate/quantity.h"
#include "predict/evaluate/workload.h"
#include "predict/step/grade.h"

/* ---- predictors that are judged side by side: the first one is in question ---- */

#define RT_MAX_CANDIDATES 6

struct rt_candidate {
    struct rt_predictor predictor;
    char *name; /* as it was asked for: a path or "roofline" */
    /* In tables: its kind; where two are of one kind, the file's name without folder and ".h5". */
    char *label;
};

/* Opens predictors by name. RT_EUSAGE where there are too many or one is named twice. */
int rt_candidates_open(const char *const *names, size_t count, struct rt_candidate *out);
void rt_candidates_release(struct rt_candidate *candidates, size_t count);

/* The first candidate that was fitted to data, NULL where none was. */
const struct rt_candidate *rt_candidates_reference(const struct rt_candidate *candidates, size_t count);

/* The candidate by which "held out" is decided for candidate `c`: itself, or the reference where it was
 * fitted to nothing; NULL where none was fitted. */
const struct rt_candidate *rt_candidates_fitted(const struct rt_candidate *candidates, size_t count,
                                                size_t c);

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
    const struct rt_names *models; /* rt_names_match; NULL or empty: all */
    const char *published;         /* CSV file of published forecasts, or NULL */
    const char *graphs;            /* folder of operator graphs, or NULL */
    bool fallback;                 /* as in rt_forecast_options */
    /* Only runs on parts of a GPU (MIG slices), forecast from the time of the same run on the whole: on the
     * board, or on its part with the most multiprocessors. */
    bool from_whole;
};

/* "test", "train", "validation", "all" */
const char *rt_part_name(int part);
int rt_part_read(const char *option, const char *name, void *part); /* for rows of options: an int */

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
    double *ln_half_width; /* (row_count) of candidates, else NULL: half-width of the interval in ln; NaN:
                              unknown */
};

/* ---- rows ---- */

/* A judged run of a whole model. */
struct rt_scored_run {
    struct rt_workload_name name;
    const struct rt_workload *workload;
    enum rt_workload_kind kind;
    bool graph_read;                               /* the graph was read from a file, not built */
    bool throttled;                                /* looks so: run_steps.h */
    double forward_us, backward_us;                /* of the first candidate; NaN for pipelines */
    double coverage, kernels_us, communication_us; /* of the first candidate: forecast.h */
    struct rt_trust trust;                         /* likewise */
};

/* Runs under several power limits, by falling limit: the first is where the others are forecast from. */
struct rt_scored_curve {
    const struct rt_workload *workload; /* the first */
    size_t points;
    double *limit_w;                  /* (points) of one GPU; one block with the others */
    double *us, *watts;               /* (points) measured */
    double *forecast_us, *forecast_w; /* (points) */
    size_t best, forecast_best;       /* points of the least joules */
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
    size_t count, capacity;
};

struct rt_scored_worst {
    struct rt_sample sample;
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
    const struct rt_dataset *dataset;
    struct rt_evaluate_options options;
    /* Owned: rt_evaluation_release. */
    bool workloads;                              /* rows are runs of whole models, else kernels */
    const struct rt_target *target;              /* what of a sample is judged */
    size_t total;                                /* rows + left out */
    size_t candidate_count, column_count, floor; /* columns: candidates first; floor: its number */
    struct rt_scored_column column[RT_MAX_SCORED];
    size_t row_count;
    double *measured;          /* (row_count), in the target's unit */
    uint32_t *sample;          /* (row_count) of kernels: rows of the dataset, else NULL */
    struct rt_scored_run *run; /* (row_count) of whole models, else NULL */
    struct rt_scored_group *groups;
    size_t group_count, group_capacity;
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
    size_t refused_count, refused_capacity, graphs_read;
    size_t published_lines, published_unknown; /* of the CSV file; of runs that the data does not have */
    struct rt_scored_disagreement *disagreements;
    size_t disagreement_count, disagreement_capacity;
    struct rt_scored_items memory;  /* of the rows, and of runs that were out of memory */
    struct rt_scored_items energy;  /* of the rows that have power or energy measured */
    size_t energy_calibrated;       /* runs that are no test of it: it was calibrated to their power */
    struct rt_scored_curve *curves; /* of all runs that are asked for */
    size_t curve_count, curve_capacity;
    struct rt_scored_items points; /* of the curves */
};

void rt_evaluation_release(struct rt_evaluation *evaluation);

/* Left out for that reason, over all ops. */
size_t rt_evaluation_left_out(const struct rt_evaluation *evaluation, enum rt_left_out reason);

/* Error of a column in percent, NaN where the row has no time in it. */
double rt_evaluation_error(const struct rt_evaluation *evaluation, size_t row, size_t column);

/* Is the run of a device and model that is asked for? */
bool rt_evaluation_asks(const struct rt_evaluate_options *options, const struct rt_dataset *dataset,
                        const struct rt_workload *workload);

/* ---- how the rows of kernels and of whole models are made; internal to predict/evaluate ---- */

/* An evaluation with a column for each candidate and room for `capacity` rows. RT_EUSAGE where a candidate
 * forecasts another target. */
int rt_evaluation_init(struct rt_evaluation *evaluation, const struct rt_candidate *candidates, size_t count,
                       const struct rt_evaluate_options *options, enum rt_target_id target, size_t capacity);

/* A further column with room for `capacity` rows, NaN until it is filled (a candidate's: in every row); takes
 * name and key. Returns its number. */
size_t rt_evaluation_add_column(struct rt_evaluation *evaluation, enum rt_scored_kind kind, char *name,
                                char *key, size_t capacity);

/* Appends a group after the last. */
void rt_evaluation_add_group(struct rt_evaluation *evaluation, const struct rt_scored_group *group);

/* RT_EFORMAT: there are no rows; the sentence says why most were left out. */
int rt_evaluation_refuse_empty(const struct rt_evaluation *evaluation);

/* Reads options.published, a CSV file with the columns `device`, `workload` (rt_workload_title), perhaps
 * `measured_ms`, and further ones that end in "_ms": each is a forecast, an empty cell none. Adds a column
 * for each of those. RT_EFORMAT names file and line. */
int rt_published_read(const struct rt_dataset *dataset, struct rt_evaluation *evaluation);

/* ---- from rows to errors: pools of groups, gathered by their keys ---- */

/* A condition on groups: the key has that value. {0} holds for every group. */
struct rt_scored_where {
    enum rt_scored_key key;
    int32_t value;
};

/* Appends the errors of all rows whose groups meet both conditions, unless there is none. */
void rt_scored_pool(const struct rt_evaluation *evaluation, struct rt_scored_pools *to, const char *scope,
                    const char *what, struct rt_scored_where first, struct rt_scored_where second);

void rt_scored_pools_release(struct rt_scored_pools *pools);

/* Do groups that meet both conditions differ in the key? */
bool rt_scored_several(const struct rt_evaluation *evaluation, enum rt_scored_key key,
                       struct rt_scored_where first, struct rt_scored_where second);
