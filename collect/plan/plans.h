/*
 * Plans by name (docs/guide/collect.md says what they are for):
 *
 *     quick      shapes for a CPU or a first look: a minute
 *     kernels    what a predictor is trained on: all ops, dtypes and layouts of a GPU
 *     models     every kernel of the zoo's models, over batches and sequences
 *     calibrate  the few shapes that determine most of a new GPU's device effects
 *
 * or from a file, a line per shape (rt_call_parse; a variant by its attribute):
 *
 *     # anything after a hash is a comment
 *     bmm,batch=16,m=512,n=512,k=64
 *     conv2d,batch=8,in_channels=64,...,dtype=fp16,phase=backward,layout=nhwc
 */
#pragma once

#include "collect/plan/plan.h"

struct rt_text;

/* A plan by its name, or from the file of that name. request->count 0: as many tasks as is usual for the
 * plan. RT_EUSAGE where no task is left of it; RT_EFORMAT and RT_EUSAGE about a file name its line. */
int rt_plan_make(const char *name, const struct rt_plan_request *request, struct rt_plan *out);

void rt_plan_suggest(struct rt_text *list); /* .suggests of rows: base/options.h */

/* In the request's dtypes, as far as the backend can run them. */
int rt_plan_kernels(const struct rt_plan_request *request, struct rt_plan *out);

/* Tasks that the backend cannot run, and those too large to run in a while, are counted and left out. */
int rt_plan_models(const struct rt_plan_request *request, struct rt_plan *out);

/* Lines whose op or dtype is not requested are left out. */
int rt_plan_read(const char *path, const struct rt_plan_request *request, struct rt_plan *out);
