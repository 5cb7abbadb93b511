/* Errors of pooled rows. See pool.h. */
#include "predict/evaluate/pool.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The groups of a pool, and its rows of one column side by side. */
struct builder {
    const struct rt_evaluation *evaluation;
    const struct rt_scored_group **groups;
    size_t group_count, row_count;
    double *measured, *time, *half; /* (row_count) */
};

static bool meets(const struct rt_scored_group *group, struct rt_scored_where where)
{
    return group->key[where.key] == where.value;
}

static void gather_groups(struct builder *builder, struct rt_scored_where first,
                          struct rt_scored_where second)
{
    const struct rt_evaluation *evaluation = builder->evaluation;
    builder->groups = rt_malloc((evaluation->group_count + 1) * sizeof *builder->groups);
    for (size_t g = 0; g < evaluation->group_count; g++) {
        const struct rt_scored_group *group = &evaluation->groups[g];
        if (!meets(group, first) || !meets(group, second))
            continue;
        builder->groups[builder->group_count++] = group;
        builder->row_count += group->count;
    }
}

/* The times of column `c` in the rows that column `having` has, and their measured times. Returns how many.
 */
static size_t gather_times(struct builder *builder, size_t c, size_t having)
{
    const struct rt_evaluation *evaluation = builder->evaluation;
    const double *has = evaluation->column[having].value, *time = evaluation->column[c].value,
                 *half = evaluation->column[c].half;
    size_t count = 0;
    for (size_t g = 0; g < builder->group_count; g++) {
        size_t end = builder->groups[g]->first + builder->groups[g]->count;
        for (size_t r = builder->groups[g]->first; r < end; r++) {
            if (isnan(has[r]))
                continue;
            builder->measured[count] = evaluation->measured[r];
            builder->time[count] = time[r];
            builder->half[count++] = half != NULL ? half[r] : NAN;
        }
    }
    return count;
}

static void sum_errors(struct builder *builder, struct rt_scored_pool *pool)
{
    struct rt_metrics first;
    for (size_t c = 0; c < builder->evaluation->column_count; c++) {
        size_t count = gather_times(builder, c, c);
        rt_metrics_of(builder->measured, builder->time, count, &pool->metrics[c]);
        if (c < builder->evaluation->candidate_count)
            rt_interval_metrics_of(builder->measured, builder->time, builder->half, count,
                                   &pool->intervals[c]);
        pool->first_mape[c] = pool->metrics[0].mape;
        if (count == builder->row_count)
            continue;
        count = gather_times(builder, 0, c);
        rt_metrics_of(builder->measured, builder->time, count, &first);
        pool->first_mape[c] = first.mape;
    }
}

static void sum_groups(const struct builder *builder, struct rt_scored_pool *pool)
{
    memset(pool->held_out, true, sizeof pool->held_out);
    pool->count = builder->row_count;
    for (size_t g = 0; g < builder->group_count; g++) {
        pool->synthetic += builder->groups[g]->synthetic;
        for (size_t c = 0; c < RT_MAX_CANDIDATES; c++)
            pool->held_out[c] &= builder->groups[g]->held_out[c];
    }
}

void rt_scored_pool(const struct rt_evaluation *evaluation, struct rt_scored_pools *to, const char *scope,
                    const char *what, struct rt_scored_where first, struct rt_scored_where second)
{
    struct builder builder = {.evaluation = evaluation};
    gather_groups(&builder, first, second);
    if (builder.row_count > 0) {
        builder.measured = rt_malloc(3 * builder.row_count * sizeof *builder.measured);
        builder.time = builder.measured + builder.row_count;
        builder.half = builder.time + builder.row_count;
        to->row = rt_realloc(to->row, to->count + 1, sizeof *to->row);
        struct rt_scored_pool *pool = &to->row[to->count++];
        *pool = (struct rt_scored_pool){.scope = rt_strdup(scope), .what = rt_strdup(what)};
        sum_groups(&builder, pool);
        sum_errors(&builder, pool);
        free(builder.measured);
    }
    free(builder.groups);
}

void rt_scored_pools_release(struct rt_scored_pools *pools)
{
    for (size_t p = 0; p < pools->count; p++) {
        free(pools->row[p].scope);
        free(pools->row[p].what);
    }
    free(pools->row);
}

bool rt_scored_several(const struct rt_evaluation *evaluation, enum rt_scored_key key,
                       struct rt_scored_where first, struct rt_scored_where second)
{
    const struct rt_scored_group *found = NULL;
    for (size_t g = 0; g < evaluation->group_count; g++) {
        const struct rt_scored_group *group = &evaluation->groups[g];
        if (!meets(group, first) || !meets(group, second))
            continue;
        if (found != NULL && found->key[key] != group->key[key])
            return true;
        found = group;
    }
    return false;
}
