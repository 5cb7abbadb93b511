/* The rows a family is fitted to: features, bounds and targets of its samples, dealt to training and
 * validation. */
#ifndef ROOFTILE_TRAIN_TRAINING_ROWS_H
#define ROOFTILE_TRAIN_TRAINING_ROWS_H

#include "models/predictor/predictor.h"

struct rt_training_rows {
    size_t count;
    rt_real *features;       /* (count, feature_count) */
    struct rt_bound *bounds; /* (count) */
    double *target_us;       /* (count) */
    int32_t *device;         /* (count), of the dataset */
    uint8_t *dtype;          /* (count), rt_dtype */
    uint8_t *session;        /* (count), rt_split: what a source marked apart was measured apart */
    double *weight;          /* (count), of each in the loss, 1 on average; NULL: all the same */
};
void rt_training_rows_release(struct rt_training_rows *rows);

/* Why samples of a family are not fitted to. */
struct rt_training_rows_left_out {
    size_t held_out, test, failed, unknown_tile, no_peak, throttled;
};

/* Samples of net->family: `train` and `validation` get their rows, net->tiles the tiles of both. Held-out
 * devices are marked in held_out_device (by device index), ops in held_out_op (by rt_op_id). Features are as
 * the net scales them now. */
void rt_training_rows_gather(const struct rt_dataset *dataset, const struct rt_split_rule *rule,
                             const bool *held_out_device, const bool *held_out_op, struct rt_family_net *net,
                             struct rt_training_rows *train, struct rt_training_rows *validation,
                             struct rt_training_rows_left_out *left_out);

/* Keeps at most `most` rows of each device and dtype, drawn by `random`, in their order. `features` a row. */
void rt_training_rows_limit(struct rt_training_rows *rows, int features, size_t most,
                            struct rt_random *random);

/* Drops the rows of the sessions marked in `drop` (devices of the dataset, RT_SPLIT_COUNT). */
void rt_training_rows_drop(struct rt_training_rows *rows, int features, const bool *drop);

/* Weights that count short kernels less: v / mean(v) + 0.1, v = sigmoid(log2(bound / small_us)). What they
 * measure is the host's dispatch. */
void rt_training_rows_weigh(struct rt_training_rows *rows, double small_us);

/* Sets the net's scaling to mean 0, deviation 1 over `train`, and scales the features of both. `clip_margin`:
 * the net will take features within the range of `train`, this part of it wider on both sides; negative: any.
 */
void rt_training_rows_standardise(struct rt_family_net *net, struct rt_training_rows *train,
                                  struct rt_training_rows *validation, double clip_margin);

#endif
