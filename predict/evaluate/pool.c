/* Errors of pooled rows. See pool.h. */
#include "predict/evaluate/pool.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The groups of a pool, and its rows of one column side by side. */
struct gathered {
    const struct rt_evaluation *evaluation;
    const struct rt_judged_group **groups;
    size_t group_count, row_count;
    double *measured, *time, *half; /* (row_count) */
};

static bool meets(const struct rt_judged_group *group, struct rt_judged_where where)
{
    return group->key[where.key] == where.value;
}

static void gather_groups(struct gathered *gathered, struct rt_judged_where first,
                          struct rt_judged_where second)
{
    const struct rt_evaluation *evaluation = gathered->evaluation;
    gathered->groups = rt_malloc((evaluation->group_count + 1) * sizeof *gathered->groups);
    for (size_t g = 0; g < evaluation->group_count; g++) {
        const struct rt_judged_group *group = &evaluation->groups[g];
        if (!meets(group, first) || !meets(group, second))
            continue;
        gathered->groups[gathered->group_count++] = group;
        gathered->row_count += group->count;
    }
}

/* The times of column `c` in the rows that column `having` has, and their measured times. Returns how many.
 */
static size_t gather_times(struct gathered *gathered, size_t c, size_t having)
{
    const struct rt_evaluation *evaluation = gathered->evaluation;
    const double *has = evaluation->column[having].value, *time = evaluation->column[c].value,
                 *half = evaluation->column[c].half;
    size_t count = 0;
    for (size_t g = 0; g < gathered->group_count; g++) {
        size_t end = gathered->groups[g]->first + gathered->groups[g]->count;
        for (size_t r = gathered->groups[g]->first; r < end; r++) {
            if (isnan(has[r]))
                continue;
            gathered->measured[count] = evaluation->measured[r];
            gathered->time[count] = time[r];
            gathered->half[count++] = half != NULL ? half[r] : NAN;
        }
    }
    return count;
}

static void sum_errors(struct gathered *gathered, struct rt_judged_pool *pool)
{
    struct rt_metrics first;
    for (size_t c = 0; c < gathered->evaluation->column_count; c++) {
        size_t count = gather_times(gathered, c, c);
        rt_metrics_of(gathered->measured, gathered->time, count, &pool->metrics[c]);
        if (c < gathered->evaluation->candidate_count)
            rt_interval_metrics_of(gathered->measured, gathered->time, gathered->half, count,
                                   &pool->intervals[c]);
        pool->first_mape[c] = pool->metrics[0].mape;
        if (count == gathered->row_count)
            continue;
        count = gather_times(gathered, 0, c);
        rt_metrics_of(gathered->measured, gathered->time, count, &first);
        pool->first_mape[c] = first.mape;
    }
}

static void sum_groups(const struct gathered *gathered, struct rt_judged_pool *pool)
{
    memset(pool->held_out, true, sizeof pool->held_out);
    pool->count = gathered->row_count;
    for (size_t g = 0; g < gathered->group_count; g++) {
        pool->synthetic += gathered->groups[g]->synthetic;
        for (size_t c = 0; c < RT_MAX_CANDIDATES; c++)
            pool->held_out[c] &= gathered->groups[g]->held_out[c];
    }
}

void rt_judged_pool(const struct rt_evaluation *evaluation, struct rt_judged_pools *to, const char *scope,
                    const char *what, struct rt_judged_where first, struct rt_judged_where second)
{
    struct gathered gathered = {.evaluation = evaluation};
    gather_groups(&gathered, first, second);
    if (gathered.row_count > 0) {
        gathered.measured = rt_malloc(3 * gathered.row_count * sizeof *gathered.measured);
        gathered.time = gathered.measured + gathered.row_count;
        gathered.half = gathered.time + gathered.row_count;
        to->row = rt_realloc(to->row, to->count + 1, sizeof *to->row);
        struct rt_judged_pool *pool = &to->row[to->count++];
        *pool = (struct rt_judged_pool){.scope = rt_strdup(scope), .what = rt_strdup(what)};
        sum_groups(&gathered, pool);
        sum_errors(&gathered, pool);
        free(gathered.measured);
    }
    free(gathered.groups);
}

void rt_judged_pools_release(struct rt_judged_pools *pools)
{
    for (size_t p = 0; p < pools->count; p++) {
        free(pools->row[p].scope);
        free(pools->row[p].what);
    }
    free(pools->row);
}

bool rt_judged_several(const struct rt_evaluation *evaluation, enum rt_judged_key key,
                       struct rt_judged_where first, struct rt_judged_where second)
{
    const struct rt_judged_group *found = NULL;
    for (size_t g = 0; g < evaluation->group_count; g++) {
        const struct rt_judged_group *group = &evaluation->groups[g];
        if (!meets(group, first) || !meets(group, second))
            continue;
        if (found != NULL && found->key[key] != group->key[key])
            return true;
        found = group;
    }
    return false;
}
