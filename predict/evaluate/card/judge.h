/* A predictor evaluated on a dataset, for the card of either. */
#ifndef ROOFTILE_PREDICT_EVALUATE_CARD_JUDGE_H
#define ROOFTILE_PREDICT_EVALUATE_CARD_JUDGE_H

#include "predict/evaluate/card/card.h"
#include "predict/evaluate/evaluate.h"

/* Owned, but for the paths. */
struct rt_card_scored {
    const char *predictor, *data;      /* as they were named */
    struct rt_candidate candidates[2]; /* the predictor, and the roofline beside it unless it is that */
    size_t candidate_count;
    struct rt_dataset_input input;
    bool has_kernels, has_runs;
    struct rt_evaluation kernels, runs;
};

/* Judges the kernels of the dataset's test part, and its runs of whole models, as far as it has any.
 * RT_EFORMAT where none can be judged, with the reason. To be released in any case. */
int rt_card_judge(const char *predictor, const char *data, struct rt_threads *threads, bool quiet,
                  struct rt_card_scored *out);
void rt_card_scored_release(struct rt_card_scored *judged);

/* The commands and the tables they print. */
void rt_card_add_scored(struct rt_report *report, const struct rt_card_scored *judged);

/* The results as the model-index of a front matter holds them: a new array. */
json_t *rt_card_results(const struct rt_card_scored *judged);

#endif
