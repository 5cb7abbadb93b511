/* The training half of `rooftile plan`: what its options say, and making the plan of them. */
#pragma once

#include "predict/search/train/plan.h"
#include "predict/serving/plan/command.h"

struct rt_training_arguments {
    struct rt_step step; /* of all candidates: batch, sequence, dtype, runtime, host ... */
    double budget[RT_COSTS];
    struct rt_numbers degree[RT_AXES]; /* of those axes that are numbers */
    struct rt_names shards, recomputes;
    const char *trace; /* file of the fastest step's timeline; NULL: none */
};
void rt_training_arguments_init(struct rt_training_arguments *arguments);

/* Reads degrees, rising. */
int rt_training_degrees_read(const char *option, const char *text, void *value);

int rt_training_plan_run(const struct rt_plan_arguments *shared,
                         const struct rt_training_arguments *arguments, const struct rt_model_source *source,
                         bool counts_given);
