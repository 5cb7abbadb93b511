/*
 * Evaluation at the level of whole models: every measured workload of a dataset is built as a graph, forecast
 * by every candidate, and compared with its measured time, with the sum of its kernels measured alone (the
 * additive floor) and with forecasts that others published.
 *
 * A table of columns, each a time for a row or NaN: the candidates (first: the one in question, "ours"), the
 * floor, the columns of a CSV file of others. Means are over the rows that a column has, and beside each
 * stands the mean of the first column over the same rows.
 *
 * What cannot be forecast is left out with its reason, and runs that a candidate was calibrated to are
 * counted: rows + skipped + not asked + calibrated to = workloads.
 */
#ifndef ROOFTILE_PREDICT_EVALUATE_WORKLOADS_H
#define ROOFTILE_PREDICT_EVALUATE_WORKLOADS_H

#include "base/options.h"
#include "models/graph/graph.h"
#include "predict/evaluate/evaluate.h"
#include "predict/forecast/parallel.h"

enum {
    RT_MAX_COMPARED = 9,
    RT_MAX_WORKLOAD_COLUMNS = RT_MAX_CANDIDATES + 1 + RT_MAX_COMPARED,
};

enum rt_workload_column_kind { RT_COLUMN_CANDIDATE, RT_COLUMN_FLOOR, RT_COLUMN_COMPARED };

struct rt_workload_column {
    enum rt_workload_column_kind kind;
    char *name;  /* in text: "roofline", "floor", "habitat*" */
    char *key;   /* in JSON and CSV: label of the candidate, "floor", the CSV file's own "habitat_ms" */
    bool scored; /* a forecast that means over "rows of every column" need; the floor is none */
};

enum rt_workload_kind {
    RT_KIND_INFERENCE, /* one GPU, as written */
    RT_KIND_TRAINING,
    RT_KIND_FUSION,
    RT_KIND_DISTRIBUTED,
    RT_KIND_COUNT
};
extern const char *const rt_workload_kinds[RT_KIND_COUNT];

struct rt_workload_row {
    const struct rt_workload *workload;
    const char *device, *model, *option; /* option: "plain" where there is none */
    enum rt_workload_kind kind;
    bool held_out;                                 /* the reference was not fitted to the device */
    bool graph_read;                               /* the graph was read from a file, not built */
    double time_us[RT_MAX_WORKLOAD_COLUMNS];       /* of a step; NaN: the column has none */
    double forward_us, backward_us;                /* of the first candidate; NaN for pipelines */
    double coverage, kernels_us, communication_us; /* of the first candidate: forecast.h */
    double half; /* of the first candidate's 90% interval, in ln; NaN: none */
};

struct rt_workload_skip {
    const struct rt_workload *workload;
    char *reason;
};

/* Errors of one column over some rows; percent. */
struct rt_workload_mean {
    size_t n;
    double mape, bias, max; /* mean of |e|, mean of e, the largest |e|; NaN where n is 0 */
    double ours;            /* mape of the first column over the same rows */
};

struct rt_workload_summary {
    const char *scope; /* a device, a model, "all", "fitted", "held out", "every column" */
    const char *what;  /* a mode or a kind */
    bool held_out;     /* all of its rows are */
    size_t rows;
    struct rt_interval_metrics interval; /* of the first candidate; NaN where a row has none */
    struct rt_workload_mean mean[RT_MAX_WORKLOAD_COLUMNS];
};

struct rt_workload_summaries {
    struct rt_workload_summary *row;
    size_t count;
};

/* A row of the CSV file whose measured time is not that of the data (by more than 0.1%). */
struct rt_workload_disagreement {
    size_t line; /* in the CSV file */
    const struct rt_workload_row *row;
    double measured_us; /* as the CSV file has it */
};

struct rt_workload_options {
    const bool *devices;           /* (device_count); NULL: all */
    const struct rt_names *models; /* parts of names; NULL or empty: all */
    const char *compare;           /* CSV file of others' forecasts, or NULL */
    const char *graphs;            /* folder of operator graphs, or NULL */
    bool fallback;                 /* as in rt_forecast_options */
    const struct rt_evaluation_file *files;
    size_t file_count, duplicates;
};

/* Borrows the dataset, candidates and options it was made from. */
struct rt_workload_evaluation {
    const struct rt_dataset *dataset;
    const struct rt_candidate *candidates;
    const struct rt_candidate *reference; /* whose devices "held out" is about; NULL: fitted to nothing */
    size_t candidate_count;
    struct rt_workload_options options;
    struct rt_workload_column column[RT_MAX_WORKLOAD_COLUMNS];
    size_t column_count, floor; /* floor: number of its column */
    struct rt_workload_row *rows;
    struct rt_workload_skip *skipped;
    size_t row_count, skipped_count, not_asked, calibrated_to, graphs_read, synthetic;
    struct rt_workload_summaries devices, models, kinds; /* device x mode, model x mode, scope x kind */
    size_t compared_rows, compared_unknown; /* of the CSV file; of workloads that the data does not have */
    struct rt_workload_disagreement *disagreements;
    size_t disagreement_count;
};

/* RT_EFORMAT where there is no workload, or none that can be forecast; RT_ENOTFOUND where a candidate lacks a
 * family and no fallback was allowed. */
int rt_evaluate_workloads(const struct rt_dataset *dataset, const struct rt_candidate *candidates,
                          size_t count, const struct rt_workload_options *options,
                          struct rt_workload_evaluation *out);
void rt_workload_evaluation_release(struct rt_workload_evaluation *evaluation);

/* Reads options->compare and fills its columns of every row (RT_EFORMAT names file and line). Part of
 * rt_evaluate_workloads: workloads_compare.c. */
int rt_workloads_compare(struct rt_workload_evaluation *evaluation);

/* The means over devices, models and kinds. Part of rt_evaluate_workloads: workloads_summary.c. */
void rt_workloads_summarise(struct rt_workload_evaluation *evaluation);

/* Measured error of a column in percent, NaN where the row does not have it. */
double rt_workload_error(const struct rt_workload_row *row, size_t column);

/* How a workload ran, from its option: "", "fusion", "kernels", "dp4", "tp2", "pp4_8", or several with "-"
 * between. False where the text is anything else. */
struct rt_workload_split {
    int64_t data, tensor, pipeline, microbatches;
    bool fusion;
};
bool rt_workload_option(const char *option, struct rt_workload_split *out);

/* The graph of a workload as it was measured, and how it was split. Not RT_OK where the measurement failed,
 * its option is unknown or no model has its name. */
int rt_workload_graph(const struct rt_dataset *dataset, const struct rt_workload *workload,
                      struct rt_workload_split *split, struct rt_graph *graph);

/* "gpt2_large-train-1024-4-dp4": how the published files call a workload. Free with free(). */
char *rt_workload_name(const struct rt_dataset *dataset, const struct rt_workload *workload);

#endif
