/* The rows that a net is fitted to: features, bounds and measured targets of its samples, in a training and a
 * validation part. */
#pragma once

#include "models/predictors/predictor/predictor.h"
#include "datasets/health.h"

struct rt_training_rows {
    size_t count;
    rt_real *features;       /* (count, feature_count) */
    struct rt_bound *bounds; /* (count) */
    double *target;          /* (count), measured, in the unit of the net's target */
    int32_t *device;         /* (count), of the dataset */
    uint8_t *dtype;          /* (count), rt_dtype */
    uint8_t *split; /* (count), rt_split: splits that a source marks were measured in sessions of their own */
    int32_t *corpus; /* (count), texts of the attribute "corpus" by number, -1 none: its host and its timer */
    double *weight;  /* (count), of each in the loss, about 1 on average; NULL: all the same */
};
void rt_training_rows_release(struct rt_training_rows *rows);

/* The samples that a training may use. */
struct rt_training_data {
    const struct rt_dataset *dataset;
    const struct rt_split_rule *split;
    const bool *held_out_device;            /* (devices of the dataset) */
    const bool *held_out_op;                /* (RT_OP_COUNT) */
    const struct rt_session_health *health; /* what it leaves out is not fitted to; NULL: all is */
};

/* How many samples of a family are not fitted to, and why. */
struct rt_training_rows_left_out {
    size_t held_out, test, failed, unknown_tile, no_peak, impossible, stray, throttled, refused, repeats;
};

/* Is a sample of the net's family of no use? Counts why. Test samples are of use where `test`. */
bool rt_training_leaves_out(const struct rt_training_data *data, size_t row, const struct rt_sample *sample,
                            const struct rt_family_net *net, bool test,
                            struct rt_training_rows_left_out *left_out);

/* Rows of the net's samples, and net->tiles from both parts. Features are as the net scales them now. */
void rt_training_rows_gather(const struct rt_training_data *data, struct rt_family_net *net,
                             struct rt_training_rows *train, struct rt_training_rows *validation,
                             struct rt_training_rows_left_out *left_out);

/* Keeps a random sample of at most `most` rows of each device and dtype, in their order. `features` a row. */
void rt_training_rows_limit(struct rt_training_rows *rows, int features, size_t most,
                            struct rt_random *random);

/* Weights that are smaller for short kernels, which measure the host's dispatch: v / mean(v) + 0.1, v =
 * sigmoid(log2(bound / small_us)). */
void rt_training_rows_weigh(struct rt_training_rows *rows, double small_us);

/* Sets the net's scaling to mean 0 and deviation 1 over `train`, and scales the features of both.
 * `clip_margin`: features are clipped to the range of `train`, widened on both sides by this part of it;
 * negative: not clipped.
 */
void rt_training_rows_standardise(struct rt_family_net *net, struct rt_training_rows *train,
                                  struct rt_training_rows *validation, double clip_margin);
