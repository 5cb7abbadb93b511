/*
 * Two of a kind beside each other, A and B: datasets, predictors or GPUs. What is in one and not in the
 * other, and how long what is in both takes in B, as a share of A: by device, family (runs: mode) and dtype,
 * as the median and the tenth and ninetieth of a hundred.
 */
#pragma once

#include "base/options.h"
#include "base/report.h"
#include "datasets/dataset.h"
#include "models/predictors/predictor/predictor.h"

/* What was measured twice: the same call, or run of a model, on the same device; where each has one device,
 * those two. RT_EFORMAT where they share no device otherwise. */
int rt_compare_datasets(const struct rt_dataset sides[2], struct rt_report *report);

/* Of a few models' steps on the GPUs (`gpus`; none: those that both were fitted to, else A's). `models`: in
 * place of the table's in compare.c. */
int rt_compare_predictors(const struct rt_predictor sides[2], const struct rt_names *gpus,
                          const struct rt_names *models, struct rt_report *report);

/* Their descriptions, and the same steps by one predictor. */
int rt_compare_devices(const struct rt_device sides[2], const struct rt_predictor *predictor,
                       const struct rt_names *models, struct rt_report *report);
