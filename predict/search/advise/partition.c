/* Exact search over partitions. See advise.h. */
#include "predict/search/advise/advise.h"

#include <math.h>

struct search {
    const struct rt_mig *mig;
    const double *progress; /* (jobs, profiles) */
    int jobs;
    double rest[RT_MIG_PLACES + 1]; /* at most, of the jobs from here on */
    struct rt_partition at, best;
    bool found;
};

static double progress_of(const struct search *search, int job, int profile)
{
    return search->progress[job * search->mig->count + profile];
}

static bool is_better(const struct rt_partition *a, const struct rt_partition *b)
{
    const double equal = 1e-9;
    if (fabs(a->progress - b->progress) > equal)
        return a->progress > b->progress;
    return a->memory_slices < b->memory_slices;
}

/* All profiles for the jobs from at.count on; a branch ends where it cannot be placed or cannot get better.
 */
static void search_rest(struct search *search)
{
    struct rt_partition *at = &search->at;
    if (at->count == search->jobs) {
        if (!search->found || is_better(at, &search->best))
            search->best = *at;
        search->found = true;
        return;
    }
    if (search->found && at->progress + search->rest[at->count] < search->best.progress - 1e-9)
        return;
    for (int p = 0; p < search->mig->count; p++) {
        struct rt_partition before = *at;
        double progress = progress_of(search, at->count, p);
        at->profile[at->count++] = p;
        at->memory_slices += search->mig->profile[p].memory_slices;
        at->progress += progress;
        if (!isnan(progress) && at->memory_slices <= search->mig->memory_slices &&
            rt_mig_place(search->mig, at->profile, at->count, at->start))
            search_rest(search);
        *at = before;
    }
}

bool rt_partition_best(const struct rt_mig *mig, const double *progress, int jobs, struct rt_partition *out)
{
    struct search search = {.mig = mig, .progress = progress, .jobs = jobs};
    if (jobs < 1 || jobs > RT_MIG_PLACES)
        return false;
    for (int j = jobs - 1; j >= 0; j--) {
        double most = 0;
        for (int p = 0; p < mig->count; p++)
            most = fmax(most, progress_of(&search, j, p)); /* drops a NaN */
        search.rest[j] = search.rest[j + 1] + most;
    }
    search_rest(&search);
    if (search.found)
        *out = search.best;
    return search.found;
}

bool rt_partition_equal(const struct rt_mig *mig, const double *progress, int jobs, struct rt_partition *out)
{
    bool found = false;
    if (jobs < 1 || jobs > RT_MIG_PLACES)
        return false;
    for (int p = 0; p < mig->count; p++) {
        struct rt_partition all = {.count = jobs, .memory_slices = jobs * mig->profile[p].memory_slices};
        for (int j = 0; j < jobs; j++) {
            all.profile[j] = p;
            all.progress += progress[j * mig->count + p];
        }
        if (isnan(all.progress) || !rt_mig_place(mig, all.profile, jobs, all.start))
            continue;
        if (!found || is_better(&all, out))
            *out = all;
        found = true;
    }
    return found;
}
