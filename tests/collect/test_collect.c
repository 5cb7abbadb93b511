/* Collections on the synthetic backend: what is stored, faults, workers that die, shards, going on after a
 * cut, who is refused. */
#include "test.h"

#include "collect/collect.h"
#include "collect/journal.h"
#include "datasets/dataset_order.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

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
        rt_task_init(&task, dataset->samples[i].call.op, dataset->samples[i].call.dtype);
        memcpy(task.call.dim, dataset->samples[i].call.dim, sizeof task.call.dim);
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

static size_t count_failures(const struct rt_dataset *dataset, const char *words)
{
    size_t count = 0;
    for (size_t i = 0; i < dataset->sample_count; i++) {
        const char *why = rt_dataset_attribute(dataset, dataset->samples[i].group, "failure");
        count += why != NULL && strstr(why, words) != NULL;
    }
    return count;
}

static size_t count_lost(const struct rt_collect_summary *summary)
{
    size_t lost = 0;
    for (size_t i = 0; i < summary->row_count; i++)
        lost += summary->rows[i].lost;
    return lost;
}

static int no_child_is_left(void)
{
    return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

/* Whatever a kernel does to its worker: it is marked once, and all others are measured. */
static void test_workers_die_and_the_rest_goes_on(void)
{
    struct rt_collect_options options = options_for(rt_test_path("dying.h5"));
    struct rt_collect_summary summary, whole;
    struct rt_plan plan;
    options.backend.faults = "lost=0.04,crash=0.05,hang=0.02,oom=0.05";
    options.hang_limit_s = 1.5;
    make_plan(1, 120, &plan);
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
    CU_ASSERT_TRUE(each_kernel_once(&plan, &summary.dataset, 2));
    size_t lost = count_failures(&summary.dataset, "device lost: the synthetic device was lost, as");
    size_t crashed = count_failures(&summary.dataset, "crashed: signal 11");
    size_t hung = count_failures(&summary.dataset, "no answer in 1.5 s");
    size_t memory = count_failures(&summary.dataset, "out of memory"), failed = 0;
    CU_ASSERT_TRUE(lost > 0 && crashed > 0 && hung > 0 && memory > 0);
    for (size_t i = 0; i < summary.row_count; i++)
        failed += summary.rows[i].failed;
    CU_ASSERT_EQUAL(failed, lost + crashed + hung + memory);
    CU_ASSERT_EQUAL(count_lost(&summary), lost + crashed + hung);
    CU_ASSERT_TRUE(no_child_is_left());
    options.output = rt_test_path("well.h5"); /* what a worker measured before it died is what it would be */
    options.backend.faults = NULL;
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &whole));
    size_t differing = 0;
    for (size_t i = 0; i < whole.dataset.sample_count; i++)
        differing += !(summary.dataset.samples[i].flags & RT_FLAG_FAILED) &&
                     summary.dataset.samples[i].latency_us != whole.dataset.samples[i].latency_us;
    CU_ASSERT_EQUAL(differing, 0);
    rt_collect_summary_release(&summary);
    rt_collect_summary_release(&whole);
    rt_plan_release(&plan);
}

/* A device whose every worker dies is given up, what is measured stays, and budget 0 ends with it. */
static void test_hopeless_device_is_given_up(void)
{
    const char *output = rt_test_path("hopeless.h5");
    struct rt_collect_options options = options_for(output);
    struct rt_collect_summary summary;
    struct rt_plan plan;
    options.backend.faults = "lost=1";
    make_plan(1, 100, &plan);
    RT_ASSERT_FAILS(rt_collect(backend(), &plan, &options, &summary), RT_EIO,
                    "given up after 5 workers in a row died, the last: device lost");
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "10 of 200 kernels are saved in"));
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "run the same command to go on"));
    CU_ASSERT_FALSE(exists(output, ""));
    CU_ASSERT_TRUE(no_child_is_left());
    options.budget_s = 0;
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
    CU_ASSERT_EQUAL(summary.dataset.sample_count, 10);
    CU_ASSERT_EQUAL(count_lost(&summary), 10);
    rt_collect_summary_release(&summary);
    rt_plan_release(&plan);
}

/* A backend that opens so often and no more, whatever process asks. */
static int *opens_left;

static int open_while_it_may(const struct rt_backend_options *options, void **context)
{
    if (__atomic_fetch_sub(opens_left, 1, __ATOMIC_SEQ_CST) <= 0)
        return rt_fail(RT_EIO, "the driver is gone");
    return backend()->open(options, context);
}

static void test_worker_that_does_not_start(void)
{
    struct rt_collect_options options = options_for(rt_test_path("start.h5"));
    struct rt_collect_summary summary;
    struct rt_backend broken = *backend();
    struct rt_plan plan;
    broken.open = open_while_it_may;
    opens_left = mmap(NULL, sizeof *opens_left, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    make_plan(1, 60, &plan);
    *opens_left = 0;
    RT_ASSERT_FAILS(rt_collect(&broken, &plan, &options, &summary), RT_EIO, "the driver is gone");
    CU_ASSERT_FALSE(exists(options.output, ".parts"));
    *opens_left = 2; /* who looks at the devices, and one of two workers */
    RT_ASSERT_FAILS(rt_collect(&broken, &plan, &options, &summary), RT_EIO,
                    "given up: its worker does not start: the driver is gone; 60 of 120 kernels are saved");
    *opens_left = 100;
    RT_ASSERT_OK(rt_collect(&broken, &plan, &options, &summary));
    CU_ASSERT_TRUE(each_kernel_once(&plan, &summary.dataset, 2));
    CU_ASSERT_EQUAL(summary.measured, 60);
    CU_ASSERT_TRUE(no_child_is_left());
    munmap(opens_left, sizeof *opens_left);
    rt_collect_summary_release(&summary);
    rt_plan_release(&plan);
}

/* Half of what throttles recovers after a pause or two, and then is what it is without throttling. */
static void test_throttled_is_measured_again(void)
{
    struct rt_collect_options options = options_for(rt_test_path("throttled.h5"));
    struct rt_collect_summary summary, whole;
    struct rt_plan plan;
    options.backend.faults = "throttle=0.5";
    make_plan(1, 60, &plan);
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
    options.output = rt_test_path("unthrottled.h5");
    options.backend.faults = NULL;
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &whole));
    size_t recovered = 0, throttled = 0, bad = 0, retried = 0;
    for (size_t i = 0; i < summary.dataset.sample_count; i++) {
        const struct rt_sample *s = &summary.dataset.samples[i];
        const char *retries = rt_dataset_attribute(&summary.dataset, s->group, "throttle_retries");
        const char *why = rt_dataset_attribute(&summary.dataset, s->group, "throttle");
        double slower = s->latency_us / whole.dataset.samples[i].latency_us;
        bool flagged = (s->flags & RT_FLAG_THROTTLED) != 0;
        throttled += flagged;
        recovered += retries != NULL && !flagged;
        bad += fabs(slower - (flagged ? 1.25 : 1)) > (flagged ? 0.01 : 1e-12) || flagged != (why != NULL);
        bad += flagged && (retries == NULL || strcmp(retries, "3") != 0);
        bad += !flagged && retries != NULL && strcmp(retries, "1") != 0 && strcmp(retries, "2") != 0;
    }
    for (size_t i = 0; i < summary.row_count; i++)
        retried += summary.rows[i].retried;
    CU_ASSERT_TRUE(throttled > 15 && recovered > 15);
    CU_ASSERT_EQUAL(retried, throttled + recovered);
    CU_ASSERT_EQUAL(bad, 0);
    rt_collect_summary_release(&summary);
    rt_collect_summary_release(&whole);
    rt_plan_release(&plan);
}

static void test_energy(void)
{
    struct rt_collect_options options = options_for(rt_test_path("energy.h5"));
    struct rt_collect_summary summary;
    struct rt_backend silent = *backend();
    struct rt_plan plan;
    int bad = 0;
    options.energy = true;
    options.backend.faults = "oom=0.2";
    make_plan(1, 40, &plan);
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
    for (size_t i = 0; i < summary.dataset.sample_count; i++) {
        const struct rt_sample *s = &summary.dataset.samples[i];
        double watts = 1e3 * s->energy_mj / s->latency_us;
        bad += s->flags & RT_FLAG_FAILED ? !isnan(s->energy_mj) : !(watts > 98 && watts < 102);
    }
    CU_ASSERT_EQUAL(bad, 0);
    rt_collect_summary_release(&summary);
    silent.energy = NULL;
    options.output = rt_test_path("silent.h5");
    RT_ASSERT_OK(rt_collect(&silent, &plan, &options, &summary));
    for (size_t i = 0; i < summary.dataset.sample_count; i++)
        bad += !isnan(summary.dataset.samples[i].energy_mj);
    CU_ASSERT_EQUAL(bad, 0);
    rt_collect_summary_release(&summary);
    rt_plan_release(&plan);
}

/* Shards merged and sorted are the whole, sorted. */
static void collect_shards(const struct rt_plan *plan, size_t shards, struct rt_dataset *merged)
{
    struct rt_collect_options options = options_for(rt_test_path("shard.h5"));
    options.backend.faults = "oom=0.1,throttle=0.1";
    options.overwrite = true;
    rt_dataset_init(merged);
    for (size_t i = shards; i > 0; i--) { /* in any order */
        struct rt_collect_summary summary;
        options.shard = i;
        options.shards = shards;
        RT_ASSERT_OK(rt_collect(backend(), plan, &options, &summary));
        CU_ASSERT_EQUAL(summary.planned, summary.dataset.sample_count);
        RT_ASSERT_OK(rt_dataset_append(merged, &summary.dataset));
        rt_collect_summary_release(&summary);
    }
    rt_dataset_sort(merged);
    rt_dataset_stamp(merged);
}

static void test_shards(void)
{
    struct rt_dataset one, two, three;
    struct rt_plan plan;
    make_plan(1, 101, &plan);
    collect_shards(&plan, 1, &one);
    collect_shards(&plan, 2, &two);
    collect_shards(&plan, 3, &three);
    CU_ASSERT_TRUE(each_kernel_once(&plan, &two, 2));
    CU_ASSERT_TRUE(each_kernel_once(&plan, &three, 2));
    CU_ASSERT_STRING_EQUAL(one.uuid, two.uuid);
    CU_ASSERT_STRING_EQUAL(one.uuid, three.uuid);
    rt_dataset_release(&one);
    rt_dataset_release(&two);
    rt_dataset_release(&three);
    rt_plan_release(&plan);
}

/* Shares of a device are devices of its lane, with the SMs they got. */
static void test_sm_shares(void)
{
    struct rt_collect_options options = options_for(rt_test_path("shares.h5"));
    struct rt_collect_summary summary;
    struct rt_plan plan;
    make_plan(1, 12, &plan);
    options.backend.sm_shares = "50,100,5,25,1";
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
    /* of 8 SMs, 5% and 1% are the same one */
    CU_ASSERT_EQUAL_FATAL(summary.dataset.device_count, 9);
    CU_ASSERT_TRUE(each_kernel_once(&plan, &summary.dataset, 9));
    int32_t half = rt_dataset_find_device(&summary.dataset, "synthetic large (40 of 80 SMs)");
    int32_t whole = rt_dataset_find_device(&summary.dataset, "synthetic large");
    CU_ASSERT_TRUE_FATAL(half >= 0 && whole >= 0);
    RT_ASSERT_NEAR(summary.dataset.devices[half].sms, 40, 0);
    RT_ASSERT_NEAR(summary.dataset.devices[whole].sms, 80, 0);
    rt_collect_summary_release(&summary);
    options.output = rt_test_path("badshares.h5");
    options.backend.sm_shares = "50,0";
    RT_ASSERT_FAILS(rt_collect(backend(), &plan, &options, &summary), RT_EUSAGE, "\"0\" is no share");
    rt_plan_release(&plan);
}

/* Variants and algorithms: a backend that takes any layout. */
static int prepare_any(void *context, size_t device, const struct rt_task *task,
                       struct rt_kernel_info *kernel, void **work, const char **refused)
{
    struct rt_task plain = *task;
    plain.variant = RT_PLAIN;
    int status = backend()->prepare(context, device, &plain, kernel, work, refused);
    kernel->algorithm = task->variant == RT_NHWC ? "stages=4" : NULL;
    return status;
}

static void test_variants(void)
{
    struct rt_collect_options options = options_for(rt_test_path("variants.h5"));
    struct rt_collect_summary summary;
    struct rt_backend any = *backend();
    struct rt_plan plan = {0};
    any.prepare = prepare_any;
    opens_left = mmap(NULL, sizeof *opens_left, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int v = 0; v < RT_VARIANT_COUNT; v++) {
        struct rt_task task;
        rt_task_init(&task, RT_OP_SOFTMAX, RT_FP32);
        task.call.dim[0] = task.call.dim[1] = 128;
        task.variant = (uint8_t)v;
        CU_ASSERT_TRUE(rt_plan_add(&plan, &task));
    }
    any.open = open_while_it_may;
    *opens_left = 2; /* one of the lanes does not start: its tasks are left for the second run */
    CU_ASSERT_EQUAL(rt_collect(&any, &plan, &options, &summary), RT_EIO);
    *opens_left = 100;
    RT_ASSERT_OK(rt_collect(&any, &plan, &options, &summary));
    CU_ASSERT_EQUAL(summary.measured, RT_VARIANT_COUNT);
    CU_ASSERT_EQUAL_FATAL(summary.dataset.sample_count, 2 * RT_VARIANT_COUNT);
    for (size_t i = 0; i < summary.dataset.sample_count; i++) {
        int32_t group = summary.dataset.samples[i].group;
        const char *layout = rt_dataset_attribute(&summary.dataset, group, "layout");
        const char *memory = rt_dataset_attribute(&summary.dataset, group, "host_memory");
        const char *algorithm = rt_dataset_attribute(&summary.dataset, group, "algorithm");
        CU_ASSERT_EQUAL(layout != NULL && strcmp(layout, "nhwc") == 0, i / 2 == RT_NHWC);
        CU_ASSERT_EQUAL(memory != NULL && strcmp(memory, "pageable") == 0, i / 2 == RT_PAGEABLE);
        CU_ASSERT_EQUAL(algorithm != NULL && strcmp(algorithm, "stages=4") == 0, i / 2 == RT_NHWC);
    }
    munmap(opens_left, sizeof *opens_left);
    rt_collect_summary_release(&summary);
    rt_plan_release(&plan);
}

/* A process that is killed when it has saved something. */
static void begin_and_stop(const char *output, const struct rt_plan *plan)
{
    struct rt_collect_options options = options_for(output);
    struct rt_collect_summary summary;
    options.backend.faults = "slow=2";
    pid_t process = fork();
    if (process == 0) {
        rt_collect(backend(), plan, &options, &summary);
        _exit(1);
    }
    for (int i = 0; i < 10000 && !exists(output, ".parts/part-000001.h5"); i++)
        usleep(1000);
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
    CU_ASSERT_TRUE_FATAL(exists(output, ".parts/header.h5"));
    CU_ASSERT_FALSE(exists(output, ""));
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
    options.backend.faults = "slow=2";
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
                    "faults slow=2, this is none");
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
    options.backend.faults = "slow=2";
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
        struct rt_journal parts;
        RT_ASSERT_OK(rt_journal_open(output, &parts));
        if (!parts.begun) {
            struct rt_dataset header;
            rt_dataset_init(&header);
            const struct rt_group *group = &one.dataset.groups[0];
            rt_dataset_add_group(&header, group->count, (const char *const *)group->name,
                                 (const char *const *)group->value);
            for (size_t d = 0; d < one.dataset.device_count; d++)
                rt_dataset_add_device(&header, &one.dataset.devices[d]);
            rt_dataset_stamp(&header);
            RT_ASSERT_OK(rt_journal_begin(&parts, &header));
            rt_dataset_release(&header);
        }
        CU_ASSERT_EQUAL(parts.saved.sample_count, 20 * begun);
        struct rt_dataset part = one.dataset; /* a window of it */
        part.samples += 20 * begun;
        part.sample_count = 20;
        RT_ASSERT_OK(rt_journal_save(&parts, &part));
        rt_journal_close(&parts);
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
    struct rt_journal parts;
    struct rt_plan plan;
    make_plan(1, 10, &plan);
    RT_ASSERT_OK(rt_journal_open(output, &parts));
    RT_ASSERT_FAILS(rt_collect(backend(), &plan, &options, &summary), RT_EUSAGE,
                    "another collector (process ");
    char process[32];
    snprintf(process, sizeof process, "%ld", (long)getpid());
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), process));
    CU_ASSERT_TRUE(exists(output, ".parts/lock"));
    rt_journal_close(&parts);
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
    options.backend.faults = "slow=2";
    snprintf(part, sizeof part, "%s.parts/part-000001.h5", output);
    CU_ASSERT_EQUAL_FATAL(truncate(part, 1000), 0);
    CU_ASSERT_EQUAL(rt_collect(backend(), &plan, &options, &summary), RT_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "part-000001.h5 to measure its kernels again"));
    CU_ASSERT_EQUAL(unlink(part), 0);
    RT_ASSERT_OK(rt_collect(backend(), &plan, &options, &summary));
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
         RT_TEST(test_workers_die_and_the_rest_goes_on), RT_TEST(test_hopeless_device_is_given_up),
         RT_TEST(test_worker_that_does_not_start), RT_TEST(test_throttled_is_measured_again),
         RT_TEST(test_energy), RT_TEST(test_shards), RT_TEST(test_sm_shares), RT_TEST(test_variants),
         RT_TEST(test_another_collection_is_refused), RT_TEST(test_an_output_is_not_overwritten),
         RT_TEST(test_budget), RT_TEST(test_interrupted_equals_uninterrupted),
         RT_TEST(test_second_collector_is_refused), RT_TEST(test_damaged_part),
         RT_TEST(test_descriptors_of_an_earlier_dataset), RT_TEST(test_places_that_cannot_be_written))
