/*
 * What a point is judged by: objectives, a row each, less of each is better. And the Pareto front: points
 * that no other one equals or beats in every objective.
 */
#ifndef ROOFTILE_PREDICT_SEARCH_EXPLORE_OBJECTIVES_H
#define ROOFTILE_PREDICT_SEARCH_EXPLORE_OBJECTIVES_H

#include "predict/search/explore/explore.h"
#include "predict/search/explore/formula.h"

/* Formulas over the fields; without steps: not asked for. */
enum rt_priced { RT_PRICED_COST, RT_PRICED_AREA, RT_PRICED_COUNT };
extern const char *const rt_priced[RT_PRICED_COUNT]; /* "cost", "area" */

struct rt_assessment {
    const struct rt_exploration *exploration;
    const struct rt_formula *formulas; /* (RT_PRICED_COUNT) */
};

struct rt_objective {
    const char *key, *title;
    bool (*asked)(const struct rt_assessment *assessment);
    double (*value)(const struct rt_assessment *assessment, size_t point);
};
extern const struct rt_objective rt_objectives[];
extern const size_t rt_objective_count;
enum { RT_MOST_OBJECTIVES = 8 };

/* Those that are asked for: time, energy where it is forecast, and what has a formula. Returns how many. */
size_t rt_objectives_of(const struct rt_assessment *assessment, const struct rt_objective **out);

/* RT_EUSAGE where a formula gives no number at a point; the sentence says at which. */
int rt_objectives_check(const struct rt_assessment *assessment);

/* Marks the points of the front: front (space.points). Points that do not fit into memory are on none; of
 * equal ones the first is. Returns how many. */
size_t rt_pareto_front(const struct rt_assessment *assessment, bool *front);

#endif
