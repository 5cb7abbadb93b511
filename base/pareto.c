/* The Pareto front by one sorted pass. See pareto.h. */
#include "base/pareto.h"
#include "base/status.h"

#include <stdlib.h>

struct candidate {
    size_t point;
    const double *value; /* (objectives) */
    size_t objectives;
};

/* By the first objective, then the others, then their order. */
static int compare(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    for (size_t o = 0; o < a->objectives; o++)
        if (a->value[o] != b->value[o])
            return a->value[o] < b->value[o] ? -1 : 1;
    return (a->point > b->point) - (a->point < b->point);
}

static bool covers(const struct candidate *a, const struct candidate *b)
{
    for (size_t o = 0; o < a->objectives; o++)
        if (a->value[o] > b->value[o])
            return false;
    return true;
}

/* Whatever covers a point stands before it in this order, and so does one of the front that covers it. The
 * last ones of the front are the likeliest: their first objective is the nearest. */
static size_t sweep(struct candidate *candidates, size_t count, bool *front)
{
    struct candidate *on = rt_malloc((count + 1) * sizeof *on);
    size_t found = 0;
    qsort(candidates, count, sizeof *candidates, compare);
    for (size_t c = 0; c < count; c++) {
        bool covered = false;
        for (size_t f = found; f-- > 0 && !covered;)
            covered = covers(&on[f], &candidates[c]);
        if (covered)
            continue;
        on[found++] = candidates[c];
        front[candidates[c].point] = true;
    }
    free(on);
    return found;
}

size_t rt_pareto(const double *values, size_t points, size_t objectives, bool *front)
{
    struct candidate *candidates = rt_malloc((points + 1) * sizeof *candidates);
    size_t count = 0;
    for (size_t p = 0; p < points; p++) {
        if (front[p])
            candidates[count++] = (struct candidate){p, values + p * objectives, objectives};
        front[p] = false;
    }
    size_t found = sweep(candidates, count, front);
    free(candidates);
    return found;
}
