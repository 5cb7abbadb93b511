/*
 * Advice beside measured runs: a dataset in which the same run was measured on several slices of a board says
 * which profile is the smallest that meets a target, and which gives the board most. Of the profiles that
 * were measured, does the advice name that one?
 */
#ifndef ROOFTILE_PREDICT_SEARCH_ADVISE_JUDGE_H
#define ROOFTILE_PREDICT_SEARCH_ADVISE_JUDGE_H

#include "datasets/dataset.h"
#include "models/predictors/predictor/predictor.h"

enum { RT_ADVISE_TARGETS = 16, RT_ADVISE_MODES = 2 }; /* modes: inference, training */

/* Whose choice is judged. */
enum rt_advice_rule {
    RT_RULE_ADVICE,  /* the smallest that fits and meets the target, by forecasts */
    RT_RULE_WHOLE,   /* the same with forecasts from the measured time on the largest slice */
    RT_RULE_MEMORY,  /* DIPPM's: the smallest that fits */
    RT_RULE_LARGEST, /* the largest slice, always */
    RT_RULE_COUNT
};

/* Cases, and those in which a rule names the best measured profile. */
struct rt_advice_score {
    size_t cases, right[RT_RULE_COUNT];
    double lost[RT_RULE_COUNT]; /* throughput: of the best one's, 0..1, summed over cases */
};

struct rt_advice_judgement {
    double target_us[RT_ADVISE_TARGETS];
    size_t targets;
    struct rt_advice_score latency[RT_ADVISE_MODES][RT_ADVISE_TARGETS]; /* smallest profile in time */
    struct rt_advice_score throughput[RT_ADVISE_MODES];                 /* most of the board */
    size_t runs, groups, refused; /* runs on slices, the same on several of them, those without a forecast */
};

/* targets: `out` has them set. A run that was out of memory meets no target. RT_ENOTFOUND where no run is of
 * two slices of a board. */
int rt_advice_judge(const struct rt_dataset *dataset, const struct rt_predictor *predictor, bool fallback,
                    struct rt_advice_judgement *out);

#endif
