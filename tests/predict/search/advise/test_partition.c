/* Partitions: what placements allow, exact search beside brute force, naive alternatives. */
#include "datasets/device.h"
#include "base/random.h"
#include "predict/search/advise/advise.h"
#include "test.h"

#include <math.h>

static void mig_of(const char *board, struct rt_mig *mig)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_mig(board, &device, mig));
}

static int named(const struct rt_mig *mig, const char *name)
{
    const struct rt_mig_profile *profile = rt_mig_profile_named(mig, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(profile);
    return (int)(profile - mig->profile);
}

/* What the MIG User Guide shows for an A100-40GB, and what it does not. */
static void test_known_partitions(void)
{
    static const struct {
        const char *names[8];
        bool allowed;
    } cases[] = {
        {{"7g.40gb"}, true},
        {{"4g.20gb", "3g.20gb"}, true},
        {{"4g.20gb", "2g.10gb", "1g.5gb"}, true},
        {{"3g.20gb", "3g.20gb"}, true},
        {{"3g.20gb", "2g.10gb", "1g.5gb", "1g.5gb"}, true},
        {{"4g.20gb", "2g.10gb", "1g.5gb", "1g.5gb"}, false}, /* eight of seven compute slices */
        {{"2g.10gb", "2g.10gb", "2g.10gb", "1g.5gb"}, true},
        {{"1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb"}, true},
        {{"1g.5gb", "1g.5gb", "1g.5gb", "3g.20gb"}, true},
        {{"4g.20gb", "4g.20gb"}, false},
        {{"7g.40gb", "1g.5gb"}, false},
        {{"3g.20gb", "3g.20gb", "1g.5gb"}, false}, /* six of seven compute slices, no memory left */
        {{"1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb"}, true},
        {{"2g.10gb", "2g.10gb", "2g.10gb", "1g.10gb"}, true},
        {{"1g.5gb+me", "1g.5gb+me"}, false}, /* one set of media engines */
    };
    struct rt_mig mig;
    mig_of("A100-40", &mig);
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        int profiles[8], starts[8], count = 0;
        while (count < 8 && cases[i].names[count] != NULL) {
            profiles[count] = named(&mig, cases[i].names[count]);
            count++;
        }
        bool allowed = rt_mig_place(&mig, profiles, count, starts);
        if (allowed != cases[i].allowed)
            printf("# case %zu\n", i);
        CU_ASSERT_EQUAL(allowed, cases[i].allowed);
    }
}

/* No two instances share a memory slice, each starts where its profile may, and no more than the board has.
 */
static void check_valid(const struct rt_mig *mig, const struct rt_device *board, const struct rt_partition *p)
{
    unsigned taken = 0;
    double sms = 0, gib = 0;
    for (int i = 0; i < p->count; i++) {
        const struct rt_mig_profile *profile = &mig->profile[p->profile[i]];
        unsigned own = ((1U << profile->memory_slices) - 1) << p->start[i];
        bool may = false;
        CU_ASSERT_EQUAL(taken & own, 0);
        taken |= own;
        sms += profile->sms;
        gib += profile->memory_gib;
        for (int s = 0; s < profile->placement_count; s++)
            may |= profile->placements[s] == p->start[i];
        CU_ASSERT_TRUE(may);
    }
    CU_ASSERT_EQUAL(taken >> mig->memory_slices, 0);
    CU_ASSERT_TRUE(sms <= board->sms);
    CU_ASSERT_TRUE(gib <= board->memory_gib);
}

/* All profiles for all jobs, without a shortcut. */
static double brute(const struct rt_mig *mig, const double *progress, int jobs, int *profiles, int at)
{
    double best = -1;
    if (at == jobs) {
        double sum = 0;
        for (int j = 0; j < jobs; j++)
            sum += progress[j * mig->count + profiles[j]];
        return !isnan(sum) && rt_mig_place(mig, profiles, jobs, NULL) ? sum : -1;
    }
    for (profiles[at] = 0; profiles[at] < mig->count; profiles[at]++) {
        int kept = profiles[at];
        best = fmax(best, brute(mig, progress, jobs, profiles, at + 1));
        profiles[at] = kept;
    }
    return best;
}

/* Random jobs: larger profiles give more, some profiles do not do. */
static void made_up(struct rt_random *random, const struct rt_mig *mig, int jobs, double *progress)
{
    for (int j = 0; j < jobs; j++) {
        double knee = rt_random_uniform(random), misses = rt_random_uniform(random) - 0.5;
        for (int p = 0; p < mig->count; p++) {
            double share = mig->profile[p].sms / mig->profile[mig->count - 1].sms;
            progress[j * mig->count + p] = share < misses ? NAN : fmin(1, share / (0.05 + knee));
        }
    }
}

static void test_search_is_exact(void)
{
    static const char *const boards[] = {"A30", "A100-40", "H100-SXM", "B200"};
    struct rt_random random;
    int found = 0, none = 0;
    rt_random_seed(&random, 16, 0);
    for (int i = 0; i < 200; i++) {
        struct rt_device board;
        struct rt_mig mig;
        double progress[8 * RT_MIG_PROFILES];
        int jobs = 1 + i % 4, profiles[8];
        RT_ASSERT_OK(rt_device_mig(boards[i % 4], &board, &mig));
        struct rt_partition best, equal;
        made_up(&random, &mig, jobs, progress);
        double most = brute(&mig, progress, jobs, profiles, 0);
        bool any = rt_partition_best(&mig, progress, jobs, &best);
        CU_ASSERT_EQUAL(any, most >= 0);
        (*(any ? &found : &none))++;
        if (any) {
            RT_ASSERT_NEAR(best.progress, most, 1e-9);
            check_valid(&mig, &board, &best);
        }
        if (rt_partition_equal(&mig, progress, jobs, &equal)) { /* never worse than the naive alternative */
            CU_ASSERT_TRUE(any && best.progress >= equal.progress - 1e-9);
            check_valid(&mig, &board, &equal);
        }
    }
    CU_ASSERT_TRUE(found > 50 && none > 10);
}

/* Seven equal jobs have one partition; eight have none. */
static void test_many_jobs(void)
{
    struct rt_mig mig;
    struct rt_partition best;
    double progress[9 * RT_MIG_PROFILES];
    mig_of("A100-80GB", &mig);
    for (int i = 0; i < 9 * mig.count; i++)
        progress[i] = 0.5;
    CU_ASSERT_TRUE(rt_partition_best(&mig, progress, 7, &best));
    for (int j = 0; j < 7; j++)
        CU_ASSERT_EQUAL(mig.profile[best.profile[j]].memory_slices, 1);
    CU_ASSERT_FALSE(rt_partition_best(&mig, progress, 8, &best));
    CU_ASSERT_FALSE(rt_partition_best(&mig, progress, 9, &best));
    CU_ASSERT_FALSE(rt_partition_best(&mig, progress, 0, &best));
    CU_ASSERT_TRUE(rt_partition_best(&mig, progress, 1, &best));
    CU_ASSERT_EQUAL(best.memory_slices, 1); /* equal progress: the fewest */
}

RT_TESTS(RT_TEST(test_known_partitions), RT_TEST(test_search_is_exact), RT_TEST(test_many_jobs))
