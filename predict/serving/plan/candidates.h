/*
 * All candidates of a plan: every engine with every number of users, alone; and every pair of engines of one
 * GPU and one quantisation that prefill and decode for each other, as many of each as fill a count of GPUs.
 * The same in twice the GPUs is the same candidate, unless requests come at a rate.
 */
#ifndef ROOFTILE_PREDICT_SERVING_PLAN_CANDIDATES_H
#define ROOFTILE_PREDICT_SERVING_PLAN_CANDIDATES_H

#include "predict/serving/plan/plan.h"

#define RT_SERVING_MOST_CANDIDATES 8000000

/* Sets the candidates of a plan whose engines are filled, with their bounds, and the fate of those that these
 * rule out by themselves; the others are RT_SERVING_FRONT until more is known. RT_EUSAGE: too many. */
int rt_serving_list_candidates(struct rt_serving_plan *plan);

/* The engine that a candidate fails by, where one is refused, else the one that decodes. */
const struct rt_serving_engine *rt_serving_failing_engine(const struct rt_serving_plan *plan,
                                                          size_t candidate);

/* Simulates a candidate: numbers (RT_PLANNED_NUMBERS). */
int rt_serving_simulate(const struct rt_serving_plan *plan, size_t candidate, double *numbers);

#endif
