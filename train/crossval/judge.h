/* A predictor of a unit evaluated on kernels or whole models: errors as rows of its fold file. */
#ifndef ROOFTILE_TRAIN_CROSSVAL_JUDGE_H
#define ROOFTILE_TRAIN_CROSSVAL_JUDGE_H

#include "models/predictors/predictor/predictor.h"
#include "train/crossval/fold_file.h"

struct rt_judgement {
    const struct rt_dataset *dataset;
    const struct rt_predictor *predictor;
    enum rt_protocol protocol; /* of RT_ZERO_SHOT: with roofline and additive floor beside */
    const bool *devices;       /* (device_count); none true: all */
    /* Of kernels: */
    bool ops[RT_OP_COUNT];
    int part;
    /* Of whole models: only plain runs of that model; NULL: everything */
    const char *model;
};

/* Append to `rows`. Nothing where the predictor was calibrated to all there is. */
int rt_judge_kernels(const struct rt_judgement *judgement, json_t *rows);
int rt_judge_models(const struct rt_judgement *judgement, json_t *rows);

#endif
