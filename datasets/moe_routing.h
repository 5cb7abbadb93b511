/*
 * Routing of tokens to experts: how many rows the busiest of ep GPUs gets and how many of its experts they
 * use, as expectations in closed form.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Dims of moe, in the order of its row (op.h). */
enum rt_moe_dim {
    RT_MOE_TOKENS,
    RT_MOE_HIDDEN,
    RT_MOE_INTER,
    RT_MOE_TOPK,
    RT_MOE_EXPERTS,
    RT_MOE_TP,
    RT_MOE_EP,
    RT_MOE_SKEW,   /* 0: experts get as many tokens each */
    RT_MOE_UNGATED /* 1: experts are up and down alone; 0: gate, up, down */
};

/* Of an expert. */
static inline double rt_moe_products(const int64_t *dim)
{
    return dim[RT_MOE_UNGATED] > 0 ? 2 : 3;
}

struct rt_moe_routing {
    bool even;      /* every expert gets as many tokens */
    double experts; /* that the GPU holds: E / ep */
    double rows;    /* (token, expert) pairs that it computes; of the busiest GPU */
    double touched; /* of its experts, those that get a token */
    double busiest; /* rows over the mean of the ep GPUs, 1 or more */
};

/* `dim`: of the op moe. Its skew is 100 a, where the loads of experts follow the density x^-a, as in
 * AIConfigurator's synthetic routing (collector/helper.py, sample_power_law): x in 1 .. 0.8 tokens where
 * there are more pairs than experts, else in 0.01 .. 2; then scaled to tokens x topk pairs and rounded, so
 * that an expert whose share is below half a token gets none. 0: even. */
void rt_moe_routing_of(const int64_t *dim, struct rt_moe_routing *out);
