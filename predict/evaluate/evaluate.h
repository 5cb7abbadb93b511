/*
 * Evaluation at kernel level: every sample of the chosen part of a dataset is forecast by every candidate,
 * and the errors are gathered per op and device and pooled.
 *
 * All candidates are judged on the same samples: a sample that one of them cannot forecast is left out for
 * all, and counted with the reason. So is one that a candidate's device effects of its device were calibrated
 * to. Nothing is left out silently: evaluated + left out = samples.
 *
 * "Held out" is what a candidate was not fitted to: the device or the op is on its held-out list, or the
 * network for the op and dtype was not fitted to the device. Candidates that are fitted to nothing (roofline)
 * follow the reference, the first candidate that is: their rows are marked as those they stand beside.
 */
#ifndef ROOFTILE_PREDICT_EVALUATE_EVALUATE_H
#define ROOFTILE_PREDICT_EVALUATE_EVALUATE_H

#include "models/predictor/predictor.h"
#include "predict/evaluate/metrics.h"

#define RT_MAX_CANDIDATES 6
#define RT_WORST_KERNELS  10
#define RT_EVALUATE_LEVEL 0.9  /* of the intervals that are judged */
#define RT_PART_ANY       (-1) /* beside enum rt_part: every sample */

struct rt_candidate {
    struct rt_predictor predictor;
    char *name; /* as it was asked for: a path or "roofline" */
    char
        *label; /* in tables: its kind; where two are of one kind, the file's name without folder and ".h5" */
};

/* Opens predictors by name. RT_EUSAGE where there are too many or one is named twice. */
int rt_candidates_open(const char *const *names, size_t count, struct rt_candidate *out);
void rt_candidates_release(struct rt_candidate *candidates, size_t count);

/* The first candidate that was fitted to data, NULL where none was. */
const struct rt_candidate *rt_candidates_reference(const struct rt_candidate *candidates, size_t count);

/* Why a sample was left out. */
enum rt_left_out {
    RT_LEFT_NOT_ASKED,   /* another GPU, op or dtype than asked for */
    RT_LEFT_OTHER_SPLIT, /* not in the chosen part */
    RT_LEFT_FITTED,      /* of a device that a predictor was fitted to without keeping a test part */
    RT_LEFT_FAILED,      /* the measurement failed */
    RT_LEFT_NO_LATENCY,  /* missing, or not positive */
    RT_LEFT_CALIBRATED,  /* a predictor was calibrated to it */
    RT_LEFT_NO_FAMILY,
    RT_LEFT_NO_PEAK,
    RT_LEFT_NO_TILE,
    RT_LEFT_NO_ORIGIN,
    RT_LEFT_NO_NUMBER, /* the forecast is not a positive number */
    RT_LEFT_COUNT
};
struct rt_left_out_row {
    const char *key, *words, *remedy;
};
extern const struct rt_left_out_row rt_left_outs[RT_LEFT_COUNT];

/* A file the samples come from: for reports. */
struct rt_evaluation_file {
    const char *path;
    char *uuid, *source, *licence;
    size_t samples, workloads;
};

struct rt_evaluate_options {
    int part;            /* enum rt_part or RT_PART_ANY */
    bool measured_tiles; /* use a sample's own tile where it is known */
    bool quiet;
    const bool *devices; /* (device_count) which are asked for; NULL: all. Also ops (RT_OP_COUNT), dtypes. */
    const bool *ops, *dtypes;
    struct rt_threads *pool; /* NULL: this thread alone */
    const struct rt_evaluation_file *files;
    size_t file_count;
    size_t duplicates; /* samples that were in several files and count once */
};

struct rt_evaluation_row {
    char op[64];                      /* an op, "all elementwise" (several ops of a family) or "all" */
    const char *device;               /* its name, "all" or "held out" */
    size_t synthetic;                 /* samples that are no measurements */
    bool held_out[RT_MAX_CANDIDATES]; /* pooled rows: of every op and device in it */
    struct rt_metrics metrics[RT_MAX_CANDIDATES];
    struct rt_interval_metrics intervals[RT_MAX_CANDIDATES];
};

struct rt_evaluation_worst {
    const struct rt_sample *sample;
    double forecast_us, error; /* of the first candidate; percent, signed */
};

/* Borrows the dataset, candidates and options it was made from. */
struct rt_evaluation {
    const struct rt_dataset *dataset;
    const struct rt_candidate *candidates;
    size_t candidate_count;
    struct rt_evaluate_options options;
    struct rt_split_rule split; /* of the reference; RT_SPLIT_DEFAULT where there is none */
    struct rt_evaluation_row *rows, *pooled;
    size_t row_count, pooled_count;
    struct rt_evaluation_worst worst[RT_WORST_KERNELS]; /* largest |error| of the first candidate first */
    size_t worst_count;
    size_t evaluated, synthetic, unstable, throttled;
    size_t dtypes[RT_DTYPE_COUNT]; /* of the evaluated, by element type */
    bool *fitted;                  /* (devices, ops, dtypes): see RT_LEFT_FITTED; NULL: none */
    size_t left_out[RT_LEFT_COUNT][RT_OP_COUNT];
};

/* RT_EFORMAT where no sample can be evaluated: the sentence tells why most were left out. */
int rt_evaluate(const struct rt_dataset *dataset, const struct rt_candidate *candidates, size_t count,
                const struct rt_evaluate_options *options, struct rt_evaluation *out);
void rt_evaluation_release(struct rt_evaluation *evaluation);

size_t rt_evaluation_left_out(const struct rt_evaluation *evaluation,
                              enum rt_left_out reason); /* over all ops */

/* "test", "train", "validation", "all" */
const char *rt_part_name(int part);
int rt_part_find(const char *name, int *part); /* RT_EUSAGE naming them */

#endif
