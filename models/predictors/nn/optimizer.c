/* AdamW and its learning rate. See optimizer.h. */
#include "models/predictors/nn/optimizer.h"

#include <math.h>
#include <stdlib.h>

const struct rt_adamw rt_adamw_default = {
    .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.01};

void rt_optimizer_init(struct rt_optimizer *optimizer, const struct rt_adamw *adamw, size_t count)
{
    *optimizer = (struct rt_optimizer){.adamw = *adamw, .count = count};
    optimizer->state = rt_real_new(2 * count);
}

void rt_optimizer_release(struct rt_optimizer *optimizer)
{
    free(optimizer->state);
    *optimizer = (struct rt_optimizer){0};
}

/*
 * Step k = 1, 2, ... with gradient g, as torch.optim.AdamW computes it:
 *     p -= rate weight_decay p
 *     m = beta1 m + (1 - beta1) g
 *     v = beta2 v + (1 - beta2) g^2
 *     p -= rate / (1 - beta1^k) m / (sqrt(v) / sqrt(1 - beta2^k) + epsilon)
 */
void rt_optimizer_begin(struct rt_optimizer *optimizer, double learning_rate)
{
    const struct rt_adamw *adamw = &optimizer->adamw;
    double k = (double)++optimizer->steps;
    optimizer->keep = (rt_real)(1 - learning_rate * adamw->weight_decay);
    optimizer->step_size = (rt_real)(learning_rate / (1 - pow(adamw->beta1, k)));
    optimizer->root_scale = (rt_real)(1 / sqrt(1 - pow(adamw->beta2, k)));
}

static inline rt_real root(rt_real x)
{
    return sizeof x == sizeof(float) ? (rt_real)sqrtf((float)x) : (rt_real)sqrt((double)x);
}

RT_WIDE
static void update(size_t count, rt_real beta1, rt_real beta2, rt_real rest1, rt_real rest2, rt_real epsilon,
                   rt_real keep, rt_real step_size, rt_real root_scale, const rt_real *restrict g,
                   rt_real *restrict m, rt_real *restrict v, rt_real *restrict p)
{
    for (size_t i = 0; i < count; i++) {
        rt_real first = beta1 * m[i] + rest1 * g[i], second = beta2 * v[i] + rest2 * (g[i] * g[i]);
        m[i] = first;
        v[i] = second;
        p[i] = keep * p[i] - step_size * (first / (root(second) * root_scale + epsilon));
    }
}

void rt_optimizer_update(const struct rt_optimizer *optimizer, size_t first, size_t count,
                         const rt_real *gradient, rt_real *parameters)
{
    const struct rt_adamw *adamw = &optimizer->adamw;
    rt_real *m = optimizer->state + first, *v = m + optimizer->count;
    update(count, (rt_real)adamw->beta1, (rt_real)adamw->beta2, (rt_real)(1 - adamw->beta1),
           (rt_real)(1 - adamw->beta2), (rt_real)adamw->epsilon, optimizer->keep, optimizer->step_size,
           optimizer->root_scale, gradient, m, v, parameters + first);
}

/* Half a cosine from `from` to `to` as `part` goes from 0 to 1. */
static double anneal(double from, double to, double part)
{
    const double pi = 3.14159265358979323846;
    return to + (from - to) / 2 * (1 + cos(pi * part));
}

/* Up from rate / start_ratio to rate, then down to rate / start_ratio / final_ratio at the last step. */
double rt_learning_rate(const struct rt_schedule *schedule, uint64_t step)
{
    double first = schedule->rate / schedule->start_ratio, end = (double)schedule->steps - 1,
           at = (double)step;
    double top = schedule->warmup * (double)schedule->steps - 1;
    if (at < top)
        return anneal(first, schedule->rate, at / top);
    double part = end > top ? (at - top) / (end - top) : 1;
    return anneal(schedule->rate, first / schedule->final_ratio, part < 1 ? part : 1);
}

const struct rt_schedule rt_schedule_default = {
    .rate = 1e-3, .steps = 1, .warmup = 0.3, .start_ratio = 25, .final_ratio = 1e4};
