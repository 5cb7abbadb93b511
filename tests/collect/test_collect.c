/* Collections on the synthetic backend: what is stored, faults, going on after a cut, who is refused. */
#include "test.h"

#include "collect/collect.h"
#include "collect/parts.h"

#include <math.h>

static const struct rt_backend *backend(void)
{
    const struct rt_backend *found = NULL;
    RT_ASSERT_OK(rt_backend_find("synthetic", &found));
    return found;
}

static struct rt_collect_options options_for(const char *output)
{
    return (struct rt_collect_options){.output = output,
                                       .plan_name = "quick",
                                       .command = "rooftile collect --test",
                                       .backend = {.seed = 1},
                                       .stopping = RT_STOPPING_DEFAULT,
                                       .budget_s = INFINITY,
                                       .quiet = true};
}

static void make_plan(uint64_t seed, size_t count, struct rt_plan *plan)
{
    struct rt_op_set ops;
    RT_ASSERT_OK(rt_op_set_parse(NULL, backend(), &ops));
    RT_ASSERT_OK(rt_plan_quick(seed, &ops, count, plan));
}

/* How often each planned kernel is in the dataset: 0 where one is missing, or repeated, or not planned. */
static int each_kernel_once(const struct rt_plan *plan, const struct rt_dataset *dataset, size_t devices)
{
    char *seen = calloc(plan->count * devices, 1);
    int good = dataset->sample_count == plan->count * devices && dataset->device_count == devices;
    for (size_t i = 0; good && i < dataset->sample_count; i++) {
        struct rt_task task;
        rt_task_init(&task, dataset->samples[i].op, dataset->samples[i].dtype);
        memcpy(task.dim, dataset->samples[i].dim, sizeof task.dim);
        ptrdiff_t at = rt_plan_find(plan, &task);
        good = at >= 0 && seen[(size_t)at * devices + (size_t)dataset->samples[i].device]++ == 0;
    }
    free(seen);
    return good;
}

static int exists(const char *path, const char *suffix)
{
    char whole[600];
    snprintf(whole, sizeof whole, "%s%s", path, suffix);
    return access(whole, F_OK) == 0;
}

static void test_a_whole_collection(void)
{
    const char *output = rt_test_path("whole.h5");
    struct rt_collect_options options = options_for(output);
    struct rt_collect_summary summary;
    struct rt_dataset read;
    struct rt_plan plan;
    make_plan(1, 150, &plan);
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
    CU_ASSERT_EQUAL(summary.planned, 300);
    CU_ASSERT_FALSE(exists(output, ".parts"));
    RT_ASSERT_OK(rt_dataset_read(output, &read));
    CU_ASSERT_TRUE(each_kernel_once(&plan, &read, 2));
    CU_ASSERT_STRING_EQUAL(read.uuid, summary.dataset.uuid);
    CU_ASSERT_STRING_EQUAL(rt_dataset_attribute(&read, read.samples[0].group, "backend"), "synthetic");
    CU_ASSERT_STRING_EQUAL(rt_dataset_attribute(&read, read.samples[0].group, "latency_statistic"), "median");
    CU_ASSERT_STRING_EQUAL(rt_dataset_attribute(&read, read.samples[0].group, "seed"), "1");
    int bad = 0;
    for (size_t i = 0; i < read.sample_count; i++) {
        const struct rt_sample *s = &read.samples[i];
        bad += s->flags != RT_FLAG_SYNTHETIC || s->split != RT_SPLIT_NONE || s->tile[0] < 1 || s->grid[0] < 1;
        bad += !(s->latency_min_us <= s->latency_us && s->latency_us == s->latency_median_us &&
                 s->latency_min_us > 0);
        bad += !(s->latency_spread_us >= 0) || s->count < 5 || !isnan(s->energy_mj);
        bad += strstr(rt_strings_get(&read.kernels, s->kernel), "synthetic") == NULL;
        bad += strstr(read.devices[s->device].name, "synthetic") == NULL;
    }
    CU_ASSERT_EQUAL(bad, 0);
    rt_dataset_release(&read);
    rt_collect_summary_release(&summary);
    rt_plan_release(&plan);
}

static void test_summary_counts(void)
{
    struct rt_collect_options options = options_for(rt_test_path("faults.h5"));
    struct rt_collect_summary summary;
    struct rt_plan plan;
    options.backend.faults = "oom=0.2,noise=0.3,throttle=0.1";
    make_plan(1, 300, &plan);
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
    size_t measured = 0, unstable = 0, throttled = 0, failed = 0;
    for (size_t i = 0; i < summary.row_count; i++) {
        measured += summary.rows[i].measured;
        unstable += summary.rows[i].unstable;
        throttled += summary.rows[i].throttled;
        failed += summary.rows[i].failed;
    }
    CU_ASSERT_EQUAL(measured + failed, 600);
    CU_ASSERT_TRUE(failed > 80 && failed < 160); /* 120 expected */
    CU_ASSERT_TRUE(throttled > 20 && throttled < 80);
    CU_ASSERT_TRUE(unstable <= 200);
    int bad = 0;
    for (size_t i = 0; i < summary.dataset.sample_count; i++) {
        const struct rt_sample *s = &summary.dataset.samples[i];
        const char *why = rt_dataset_attribute(&summary.dataset, s->group, "failure");
        bool out = (s->flags & RT_FLAG_FAILED) != 0;
        bad +=
            out != isnan(s->latency_us) || out != (why != NULL) || (out && strcmp(why, "out of memory") != 0);
    }
    CU_ASSERT_EQUAL(bad, 0);
    rt_collect_summary_release(&summary);
    rt_plan_release(&plan);
}

/* Noise of 50% and little time: the criterion is not met, and the samples say so. */
static void test_unstable_is_flagged(void)
{
    struct rt_collect_options options = options_for(rt_test_path("unstable.h5"));
    struct rt_collect_summary summary;
    struct rt_plan plan;
    options.backend.faults = "noise=1";
    options.stopping.max_time_s = 0.001;
    make_plan(1, 20, &plan);
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
    size_t unstable = 0;
    for (size_t i = 0; i < summary.dataset.sample_count; i++)
        unstable += (summary.dataset.samples[i].flags & RT_FLAG_UNSTABLE) != 0;
    CU_ASSERT_TRUE(unstable >= 38);
    rt_collect_summary_release(&summary);
    rt_plan_release(&plan);
}

/* Each loss ends a run with the shape marked; as many runs later everything is there once. */
static void test_lost_device_goes_on(void)
{
    const char *output = rt_test_path("lost.h5");
    struct rt_collect_options options = options_for(output);
    struct rt_collect_summary summary;
    struct rt_plan plan;
    options.backend.faults = "lost=0.05";
    make_plan(1, 100, &plan);
    int losses = 0, status;
    while ((status = rt_collect(backend(), &plan, &options, &summary)) == RT_EIO && losses < 100) {
        losses++;
        CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "run the same command to go on"));
        CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "synthetic device was lost"));
        CU_ASSERT_FALSE(exists(output, ""));
    }
    CU_ASSERT_EQUAL_FATAL(status, RT_OK);
    CU_ASSERT_TRUE(losses > 1);
    CU_ASSERT_TRUE(each_kernel_once(&plan, &summary.dataset, 2));
    int marked = 0;
    for (size_t i = 0; i < summary.dataset.sample_count; i++)
        marked += (summary.dataset.samples[i].flags & RT_FLAG_FAILED) != 0;
    CU_ASSERT_EQUAL(marked, losses);
    rt_collect_summary_release(&summary);
    rt_plan_release(&plan);
}

/* A budget that ends early, then another plan, another seed, then the same one to the end. */
static void begin_and_stop(const char *output, const struct rt_plan *plan)
{
    struct rt_collect_options options = options_for(output);
    struct rt_collect_summary summary;
    options.backend.faults = "lost=0.02";
    CU_ASSERT_EQUAL_FATAL(rt_collect(backend(), plan, &options, &summary), RT_EIO);
    CU_ASSERT_TRUE(exists(output, ".parts/header.h5"));
}

static void test_another_collection_is_refused(void)
{
    const char *output = rt_test_path("other.h5");
    struct rt_collect_options options = options_for(output);
    struct rt_collect_summary summary;
    struct rt_plan plan, other;
    make_plan(1, 200, &plan);
    make_plan(2, 200, &other);
    begin_and_stop(output, &plan);
    options.backend.faults = "lost=0.02";
    RT_ASSERT_FAILS(rt_collect(backend(), &other, &options, &summary), RT_EUSAGE, "was begun with plan_hash");
    RT_ASSERT_FAILS(rt_collect(backend(), &other, &options, &summary), RT_EUSAGE,
                    "`rooftile collect --test`");
    options.backend.seed = 3;
    RT_ASSERT_FAILS(rt_collect(backend(), &plan, &options, &summary), RT_EUSAGE,
                    "was begun with seed 1, this is 3");
    options.backend.seed = 1;
    options.cache = RT_CACHE_WARM;
    RT_ASSERT_FAILS(rt_collect(backend(), &plan, &options, &summary), RT_EUSAGE, "cache cold, this is warm");
    options.cache = RT_CACHE_COLD;
    options.backend.devices = "small";
    RT_ASSERT_FAILS(rt_collect(backend(), &plan, &options, &summary), RT_EUSAGE, "devices");
    options.backend.devices = NULL;
    options.backend.faults = NULL;
    RT_ASSERT_FAILS(rt_collect(backend(), &plan, &options, &summary), RT_EUSAGE,
                    "faults lost=0.02, this is none");
    options.overwrite = true;
    RT_ASSERT_OK(rt_collect(backend(), &other, &options, &summary));
    CU_ASSERT_TRUE(each_kernel_once(&other, &summary.dataset, 2));
    rt_collect_summary_release(&summary);
    rt_plan_release(&plan);
    rt_plan_release(&other);
}

static void test_an_output_is_not_overwritten(void)
{
    const char *output = rt_test_path("twice.h5");
    struct rt_collect_options options = options_for(output);
    struct rt_collect_summary summary;
    struct rt_plan plan;
    make_plan(1, 10, &plan);
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
    rt_collect_summary_release(&summary);
    RT_ASSERT_FAILS(rt_collect(backend(), &plan, &options, &summary), RT_EUSAGE, "is there already");
    CU_ASSERT_FALSE(exists(output, ".parts"));
    options.overwrite = true;
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
    rt_collect_summary_release(&summary);
    rt_plan_release(&plan);
}

static void test_budget(void)
{
    const char *output = rt_test_path("budget.h5");
    struct rt_collect_options options = options_for(output);
    struct rt_collect_summary summary;
    struct rt_plan plan;
    make_plan(1, 200, &plan);
    options.budget_s = 0;
    RT_ASSERT_FAILS(rt_collect(backend(), &plan, &options, &summary), RT_EUSAGE, "nothing was measured");
    CU_ASSERT_FALSE(exists(output, ".parts"));
    begin_and_stop(output, &plan); /* 0 s more end what was begun */
    options.backend.faults = "lost=0.02";
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
    CU_ASSERT_TRUE(summary.dataset.sample_count > 0 && summary.dataset.sample_count < summary.planned);
    CU_ASSERT_FALSE(exists(output, ".parts"));
    rt_collect_summary_release(&summary);
    options.overwrite = true;
    options.backend.faults = NULL;
    options.budget_s = 0.05;
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
    CU_ASSERT_TRUE(summary.dataset.sample_count > 5 && summary.dataset.sample_count < summary.planned);
    rt_collect_summary_release(&summary);
    rt_plan_release(&plan);
}

/* The same seed in one go and in many: equal to the last bit. */
static void test_interrupted_equals_uninterrupted(void)
{
    struct rt_collect_options options = options_for(rt_test_path("one.h5"));
    struct rt_collect_summary one, many;
    struct rt_plan plan;
    make_plan(1, 120, &plan);
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &one));
    const char *output = rt_test_path("many.h5");
    options.output = output;
    for (size_t begun = 0; begun < 6; begun++) { /* parts of a collection that was cut off after each */
        struct rt_parts parts;
        RT_ASSERT_OK(rt_parts_open(output, &parts));
        if (!parts.begun) {
            struct rt_dataset header;
            rt_dataset_init(&header);
            const struct rt_group *group = &one.dataset.groups[0];
            rt_dataset_add_group(&header, group->count, (const char *const *)group->name,
                                 (const char *const *)group->value);
            for (size_t d = 0; d < one.dataset.device_count; d++)
                rt_dataset_add_device(&header, &one.dataset.devices[d]);
            rt_dataset_stamp(&header);
            RT_ASSERT_OK(rt_parts_begin(&parts, &header));
            rt_dataset_release(&header);
        }
        CU_ASSERT_EQUAL(parts.saved.sample_count, 20 * begun);
        struct rt_dataset part = one.dataset; /* a window of it */
        part.samples += 20 * begun;
        part.sample_count = 20;
        RT_ASSERT_OK(rt_parts_save(&parts, &part));
        rt_parts_close(&parts);
    }
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &many));
    CU_ASSERT_EQUAL(many.dataset.sample_count, one.dataset.sample_count);
    CU_ASSERT_STRING_EQUAL(many.dataset.uuid, one.dataset.uuid);
    rt_collect_summary_release(&one);
    rt_collect_summary_release(&many);
    rt_plan_release(&plan);
}

static void test_second_collector_is_refused(void)
{
    const char *output = rt_test_path("locked.h5");
    struct rt_collect_options options = options_for(output);
    struct rt_collect_summary summary;
    struct rt_parts parts;
    struct rt_plan plan;
    make_plan(1, 10, &plan);
    RT_ASSERT_OK(rt_parts_open(output, &parts));
    RT_ASSERT_FAILS(rt_collect(backend(), &plan, &options, &summary), RT_EUSAGE,
                    "another collector (process ");
    char process[32];
    snprintf(process, sizeof process, "%ld", (long)getpid());
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), process));
    CU_ASSERT_TRUE(exists(output, ".parts/lock"));
    rt_parts_close(&parts);
    CU_ASSERT_FALSE(exists(output, ".parts"));
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
    rt_collect_summary_release(&summary);
    rt_plan_release(&plan);
}

/* A damaged part is named with the remedy, and the remedy works. */
static void test_damaged_part(void)
{
    const char *output = rt_test_path("damaged.h5");
    struct rt_collect_options options = options_for(output);
    struct rt_collect_summary summary;
    struct rt_plan plan;
    char part[600];
    make_plan(1, 200, &plan);
    begin_and_stop(output, &plan);
    options.backend.faults = "lost=0.02";
    snprintf(part, sizeof part, "%s.parts/part-000001.h5", output);
    CU_ASSERT_EQUAL_FATAL(truncate(part, 1000), 0);
    CU_ASSERT_EQUAL(rt_collect(backend(), &plan, &options, &summary), RT_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "part-000001.h5 to measure its kernels again"));
    CU_ASSERT_EQUAL(unlink(part), 0);
    int status;
    for (int i = 0; (status = rt_collect(backend(), &plan, &options, &summary)) == RT_EIO && i < 100; i++)
        ;
    CU_ASSERT_EQUAL_FATAL(status, RT_OK);
    CU_ASSERT_TRUE(each_kernel_once(&plan, &summary.dataset, 2));
    rt_collect_summary_release(&summary);
    rt_plan_release(&plan);
}

static void test_descriptors_of_an_earlier_dataset(void)
{
    const char *first = rt_test_path("first.h5");
    struct rt_collect_options options = options_for(first);
    struct rt_collect_summary summary;
    struct rt_plan plan;
    make_plan(1, 10, &plan);
    options.backend.devices = "small";
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
    summary.dataset.devices[0].bandwidth_gbs = 77;
    RT_ASSERT_OK(rt_dataset_write(&summary.dataset, first));
    rt_collect_summary_release(&summary);
    options.output = rt_test_path("second.h5");
    options.like = first;
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
    RT_ASSERT_NEAR(summary.dataset.devices[0].bandwidth_gbs, 77, 0);
    rt_collect_summary_release(&summary);
    options.output = rt_test_path("third.h5");
    options.backend.devices = "large";
    RT_ASSERT_FAILS(rt_collect(backend(), &plan, &options, &summary), RT_ENOTFOUND,
                    "no device \"synthetic large\"");
    options.like = rt_test_path("absent.h5");
    CU_ASSERT_NOT_EQUAL(rt_collect(backend(), &plan, &options, &summary), RT_OK);
    rt_plan_release(&plan);
}

static void test_places_that_cannot_be_written(void)
{
    struct rt_collect_options options = options_for("/nowhere/out.h5");
    struct rt_collect_summary summary;
    struct rt_plan plan;
    make_plan(1, 10, &plan);
    RT_ASSERT_FAILS(rt_collect(backend(), &plan, &options, &summary), RT_EIO, "/nowhere/out.h5");
    rt_test_write("file.h5.parts", "");
    options.output = rt_test_path("file.h5");
    RT_ASSERT_FAILS(rt_collect(backend(), &plan, &options, &summary), RT_EIO, "file.h5.parts");
    options.output = rt_test_path("fine.h5");
    options.backend.faults = "oom=2";
    RT_ASSERT_FAILS(rt_collect(backend(), &plan, &options, &summary), RT_EUSAGE, "\"oom=2\" is no fault");
    options.backend.faults = NULL;
    options.backend.devices = "medium";
    RT_ASSERT_FAILS(rt_collect(backend(), &plan, &options, &summary), RT_EUSAGE,
                    "medium is no synthetic device");
    rt_plan_release(&plan);
}

RT_TESTS(RT_TEST(test_a_whole_collection), RT_TEST(test_summary_counts), RT_TEST(test_unstable_is_flagged),
         RT_TEST(test_lost_device_goes_on), RT_TEST(test_another_collection_is_refused),
         RT_TEST(test_an_output_is_not_overwritten), RT_TEST(test_budget),
         RT_TEST(test_interrupted_equals_uninterrupted), RT_TEST(test_second_collector_is_refused),
         RT_TEST(test_damaged_part), RT_TEST(test_descriptors_of_an_earlier_dataset),
         RT_TEST(test_places_that_cannot_be_written))
