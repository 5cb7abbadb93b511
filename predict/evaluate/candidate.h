/* The predictors that are judged side by side. The first one is in question; the others stand beside it. */
#ifndef ROOFTILE_PREDICT_EVALUATE_CANDIDATE_H
#define ROOFTILE_PREDICT_EVALUATE_CANDIDATE_H

#include "models/predictors/predictor/predictor.h"

#define RT_MAX_CANDIDATES 6

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

/* The candidate by which "held out" is decided for candidate `c`: itself, or the reference where it was
 * fitted to nothing; NULL where none was fitted. */
const struct rt_candidate *rt_candidates_fitted(const struct rt_candidate *candidates, size_t count,
                                                size_t c);

#endif
