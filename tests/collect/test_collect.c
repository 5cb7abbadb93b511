/* Collections on the synthetic backend: samples, faults, workers that die, shards, resuming, refusals. */
#include "test.h"

#include "collect/backend.h"
#include "collect/collect.h"
#include "collect/journal.h"
#include "plan_request.h"
#include "datasets/dataset_order.h"
#include "datasets/health.h"

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

static struct rt_job job_for(const char *output, const struct rt_plan *plan)
{
    return (struct rt_job){.backend = backend(),
                           .plan = plan,
                           .output = output,
                           .plan_name = "quick",
                           .command = "rooftile collect --test",
                           .backend_options = {.seed = 1},
                           .stopping = RT_STOPPING_DEFAULT,
                           .budget_s = INFINITY,
                           .quiet = true};
}

static void make_plan(uint64_t seed, size_t count, struct rt_plan *plan)
{
    struct rt_plan_request request = request_for(backend(), NULL, NULL, seed, count);
    RT_ASSERT_OK(rt_plan_make("quick", &request, plan));
}

/* 1 where the dataset holds each planned kernel once and nothing else. */
static int each_kernel_once(const struct rt_plan *plan, const struct rt_dataset *dataset, size_t devices)
{
    char *seen = calloc(plan->count * devices, 1);
    int good = dataset->samples.count == plan->count * devices && dataset->device_count == devices;
    for (size_t i = 0; good && i < dataset->samples.count; i++) {
        struct rt_task task;
        rt_task_init(&task, RT_SAMPLE(dataset, i)->call.op, RT_SAMPLE(dataset, i)->call.dtype);
        memcpy(task.call.dim, RT_SAMPLE(dataset, i)->call.dim, sizeof task.call.dim);
        ptrdiff_t at = rt_plan_find(plan, &task);
        good = at >= 0 && seen[(size_t)at * devices + (size_t)RT_SAMPLE(dataset, i)->device]++ == 0;
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
    struct rt_plan plan;
    struct rt_job job = job_for(output, &plan);
    struct rt_collected collected;
    struct rt_dataset read;
    make_plan(1, 150, &plan);
    RT_ASSERT_OK(rt_collect(&job, &collected));
    CU_ASSERT_EQUAL(collected.planned, 300);
    CU_ASSERT_FALSE(exists(output, ".journal"));
    RT_ASSERT_OK(rt_dataset_read(output, &read));
    CU_ASSERT_TRUE(each_kernel_once(&plan, &read, 2));
    CU_ASSERT_STRING_EQUAL(read.uuid, collected.dataset.uuid);
    CU_ASSERT_STRING_EQUAL(rt_dataset_attribute(&read, RT_SAMPLE(&read, 0)->group, "backend"), "synthetic");
    CU_ASSERT_STRING_EQUAL(rt_dataset_attribute(&read, RT_SAMPLE(&read, 0)->group, "latency_statistic"),
                           "median");
    CU_ASSERT_STRING_EQUAL(rt_dataset_attribute(&read, RT_SAMPLE(&read, 0)->group, "seed"), "1");
    int bad = 0;
    for (size_t i = 0; i < read.samples.count; i++) {
        const struct rt_sample *s = RT_SAMPLE(&read, i);
        bad += s->flags != RT_FLAG_SYNTHETIC || s->split != RT_SPLIT_NONE || s->tile[0] < 1 || s->grid[0] < 1;
        bad += !(s->latency_min_us <= s->latency_us && s->latency_us == s->latency_median_us &&
                 s->latency_min_us > 0);
        bad += !(s->latency_spread_us >= 0) || s->count < 5 || !isnan(s->energy_mj);
        bad += strstr(rt_strings_get(&read.kernels, s->kernel), "synthetic") == NULL;
        bad += strstr(read.devices[s->device].name, "synthetic") == NULL;
    }
    CU_ASSERT_EQUAL(bad, 0);
    rt_dataset_release(&read);
    rt_collected_release(&collected);
    rt_plan_release(&plan);
}

static void test_summary_counts(void)
{
    struct rt_plan plan;
    struct rt_job job = job_for(rt_test_path("faults.h5"), &plan);
    struct rt_collected collected;
    job.backend_options.faults = "oom=0.2,noise=0.3,throttle=0.1";
    make_plan(1, 300, &plan);
    RT_ASSERT_OK(rt_collect(&job, &collected));
    size_t measured = 0, unstable = 0, throttled = 0, failed = 0;
    for (size_t i = 0; i < collected.row_count; i++) {
        measured += collected.rows[i].measured;
        unstable += collected.rows[i].unstable;
        throttled += collected.rows[i].throttled;
        failed += collected.rows[i].failed;
    }
    CU_ASSERT_EQUAL(measured + failed, 600);
    CU_ASSERT_TRUE(failed > 80 && failed < 160); /* 120 expected */
    CU_ASSERT_TRUE(throttled > 20 && throttled < 80);
    CU_ASSERT_TRUE(unstable <= 200);
    int bad = 0;
    for (size_t i = 0; i < collected.dataset.samples.count; i++) {
        const struct rt_sample *s = RT_SAMPLE(&collected.dataset, i);
        const char *why = rt_dataset_attribute(&collected.dataset, s->group, "failure");
        bool out = (s->flags & RT_FLAG_FAILED) != 0;
        bad +=
            out != isnan(s->latency_us) || out != (why != NULL) || (out && strcmp(why, "out of memory") != 0);
    }
    CU_ASSERT_EQUAL(bad, 0);
    rt_collected_release(&collected);
    rt_plan_release(&plan);
}

/* Noise of 50% and little time: --rel-error is not met, and the samples are flagged. */
static void test_unstable_is_flagged(void)
{
    struct rt_plan plan;
    struct rt_job job = job_for(rt_test_path("unstable.h5"), &plan);
    struct rt_collected collected;
    job.backend_options.faults = "noise=1";
    job.stopping.max_time_s = 0.001;
    make_plan(1, 20, &plan);
    RT_ASSERT_OK(rt_collect(&job, &collected));
    size_t unstable = 0;
    for (size_t i = 0; i < collected.dataset.samples.count; i++)
        unstable += (RT_SAMPLE(&collected.dataset, i)->flags & RT_FLAG_UNSTABLE) != 0;
    CU_ASSERT_TRUE(unstable >= 38);
    rt_collected_release(&collected);
    rt_plan_release(&plan);
}

static size_t count_failures(const struct rt_dataset *dataset, const char *words)
{
    size_t count = 0;
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const char *why = rt_dataset_attribute(dataset, RT_SAMPLE(dataset, i)->group, "failure");
        count += why != NULL && strstr(why, words) != NULL;
    }
    return count;
}

static size_t count_lost(const struct rt_collected *collected)
{
    size_t lost = 0;
    for (size_t i = 0; i < collected->row_count; i++)
        lost += collected->rows[i].lost;
    return lost;
}

static int no_child_is_left(void)
{
    return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

/* A kernel that ends its worker is marked as failed once, and all others are measured. */
static void test_workers_die_and_the_rest_goes_on(void)
{
    struct rt_plan plan;
    struct rt_job job = job_for(rt_test_path("dying.h5"), &plan);
    struct rt_collected collected, whole;
    job.backend_options.faults = "lost=0.04,crash=0.05,hang=0.02,oom=0.05";
    job.hang_limit_s = 1.5;
    make_plan(1, 120, &plan);
    RT_ASSERT_OK(rt_collect(&job, &collected));
    CU_ASSERT_TRUE(each_kernel_once(&plan, &collected.dataset, 2));
    size_t lost = count_failures(&collected.dataset, "device lost: the synthetic device was lost, as");
    size_t crashed = count_failures(&collected.dataset, "crashed: signal 11");
    size_t hung = count_failures(&collected.dataset, "no answer in 1.5 s");
    size_t memory = count_failures(&collected.dataset, "out of memory"), failed = 0;
    CU_ASSERT_TRUE(lost > 0 && crashed > 0 && hung > 0 && memory > 0);
    for (size_t i = 0; i < collected.row_count; i++)
        failed += collected.rows[i].failed;
    CU_ASSERT_EQUAL(failed, lost + crashed + hung + memory);
    CU_ASSERT_EQUAL(count_lost(&collected), lost + crashed + hung);
    CU_ASSERT_TRUE(no_child_is_left());
    job.output = rt_test_path("well.h5"); /* samples of workers that died later are the same */
    job.backend_options.faults = NULL;
    RT_ASSERT_OK(rt_collect(&job, &whole));
    size_t differing = 0;
    for (size_t i = 0; i < whole.dataset.samples.count; i++)
        differing += !(RT_SAMPLE(&collected.dataset, i)->flags & RT_FLAG_FAILED) &&
                     RT_SAMPLE(&collected.dataset, i)->latency_us != RT_SAMPLE(&whole.dataset, i)->latency_us;
    CU_ASSERT_EQUAL(differing, 0);
    rt_collected_release(&collected);
    rt_collected_release(&whole);
    rt_plan_release(&plan);
}

/* A device whose workers all die is given up; its samples stay, and a budget of 0 writes them. */
static void test_a_device_is_given_up(void)
{
    const char *output = rt_test_path("hopeless.h5");
    struct rt_plan plan;
    struct rt_job job = job_for(output, &plan);
    struct rt_collected collected;
    job.backend_options.faults = "lost=1";
    make_plan(1, 100, &plan);
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EIO,
                    "given up after 5 workers in a row died, the last: device lost");
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "10 of 200 kernels are saved in"));
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "run the same command to go on"));
    CU_ASSERT_FALSE(exists(output, ""));
    CU_ASSERT_TRUE(no_child_is_left());
    job.budget_s = 0;
    RT_ASSERT_OK(rt_collect(&job, &collected));
    CU_ASSERT_EQUAL(collected.dataset.samples.count, 10);
    CU_ASSERT_EQUAL(count_lost(&collected), 10);
    rt_collected_release(&collected);
    rt_plan_release(&plan);
}

/* A backend that opens a limited number of times, counted over all processes. */
static int *opens_left;

static int open_if_left(const struct rt_backend_options *options, void **context)
{
    if (__atomic_fetch_sub(opens_left, 1, __ATOMIC_SEQ_CST) <= 0)
        return rt_fail(RT_EIO, "the driver is gone");
    return backend()->open(options, context);
}

static void test_worker_that_does_not_start(void)
{
    struct rt_plan plan;
    struct rt_job job = job_for(rt_test_path("start.h5"), &plan);
    struct rt_collected collected;
    struct rt_backend broken = *backend();
    broken.open = open_if_left;
    job.backend = &broken;
    opens_left = mmap(NULL, sizeof *opens_left, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    make_plan(1, 60, &plan);
    *opens_left = 0;
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EIO, "the driver is gone");
    CU_ASSERT_FALSE(exists(job.output, ".journal"));
    *opens_left = 2; /* the probe, and one of two workers */
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EIO,
                    "given up: its worker does not start: the driver is gone; 60 of 120 kernels are saved");
    *opens_left = 100;
    RT_ASSERT_OK(rt_collect(&job, &collected));
    CU_ASSERT_TRUE(each_kernel_once(&plan, &collected.dataset, 2));
    CU_ASSERT_EQUAL(collected.measured, 60);
    CU_ASSERT_TRUE(no_child_is_left());
    munmap(opens_left, sizeof *opens_left);
    rt_collected_release(&collected);
    rt_plan_release(&plan);
}

/* Half of the throttled kernels recover after a pause or two, and then have the times of a run without
 * faults. */
static void test_throttled_is_measured_again(void)
{
    struct rt_plan plan;
    struct rt_job job = job_for(rt_test_path("throttled.h5"), &plan);
    struct rt_collected collected, whole;
    job.backend_options.faults = "throttle=0.5";
    make_plan(1, 60, &plan);
    RT_ASSERT_OK(rt_collect(&job, &collected));
    job.output = rt_test_path("unthrottled.h5");
    job.backend_options.faults = NULL;
    RT_ASSERT_OK(rt_collect(&job, &whole));
    size_t recovered = 0, throttled = 0, bad = 0, retried = 0;
    for (size_t i = 0; i < collected.dataset.samples.count; i++) {
        const struct rt_sample *s = RT_SAMPLE(&collected.dataset, i);
        const char *retries = rt_dataset_attribute(&collected.dataset, s->group, "throttle_retries");
        const char *why = rt_dataset_attribute(&collected.dataset, s->group, "throttle");
        double slower = s->latency_us / RT_SAMPLE(&whole.dataset, i)->latency_us;
        bool flagged = (s->flags & RT_FLAG_THROTTLED) != 0;
        throttled += flagged;
        recovered += retries != NULL && !flagged;
        bad += fabs(slower - (flagged ? 1.25 : 1)) > (flagged ? 0.01 : 1e-12) || flagged != (why != NULL);
        bad += flagged && (retries == NULL || strcmp(retries, "3") != 0);
        bad += !flagged && retries != NULL && strcmp(retries, "1") != 0 && strcmp(retries, "2") != 0;
    }
    for (size_t i = 0; i < collected.row_count; i++)
        retried += collected.rows[i].retried;
    CU_ASSERT_TRUE(throttled > 15 && recovered > 15);
    CU_ASSERT_EQUAL(retried, throttled + recovered);
    CU_ASSERT_EQUAL(bad, 0);
    rt_collected_release(&collected);
    rt_collected_release(&whole);
    rt_plan_release(&plan);
}

/* The synthetic devices' energy by their constants, of the measured time: half its noise and that of energy
 * are 0.5% and 1%. */
static double roofline_mj(const struct rt_sample *s)
{
    bool large = s->device == 1;
    double pj = rt_call_flops(&s->call) * (large ? 5 : 8) + rt_call_bytes(&s->call) * (large ? 40 : 60);
    double static_w = large ? 80 : 20, power_w = large ? 300 : 75;
    return fmin(1e-9 * pj + 1e-3 * static_w * s->latency_us, 1e-3 * power_w * s->latency_us);
}

static void test_energy(void)
{
    struct rt_plan plan;
    struct rt_job job = job_for(rt_test_path("energy.h5"), &plan);
    struct rt_collected collected;
    struct rt_backend silent = *backend();
    int bad = 0;
    job.energy = true;
    job.backend_options.faults = "oom=0.2";
    make_plan(1, 40, &plan);
    RT_ASSERT_OK(rt_collect(&job, &collected));
    for (size_t i = 0; i < collected.dataset.samples.count; i++) {
        const struct rt_sample *s = RT_SAMPLE(&collected.dataset, i);
        bad += s->flags & RT_FLAG_FAILED ? !isnan(s->energy_mj)
                                         : !(fabs(s->energy_mj / roofline_mj(s) - 1) < 0.02);
    }
    CU_ASSERT_EQUAL(bad, 0);
    rt_collected_release(&collected);
    silent.energy = NULL;
    job.backend = &silent;
    job.output = rt_test_path("silent.h5");
    RT_ASSERT_OK(rt_collect(&job, &collected));
    for (size_t i = 0; i < collected.dataset.samples.count; i++)
        bad += !isnan(RT_SAMPLE(&collected.dataset, i)->energy_mj);
    CU_ASSERT_EQUAL(bad, 0);
    rt_collected_release(&collected);
    rt_plan_release(&plan);
}

/* Merged and sorted shards equal the sorted whole. */
static void collect_shards(const struct rt_plan *plan, size_t shards, struct rt_dataset *merged)
{
    struct rt_job job = job_for(rt_test_path("shard.h5"), plan);
    job.backend_options.faults = "oom=0.1,throttle=0.1";
    job.overwrite = true;
    rt_dataset_init(merged);
    for (size_t i = shards; i > 0; i--) { /* in any order */
        struct rt_collected collected;
        job.shard = (struct rt_shard){i, shards};
        RT_ASSERT_OK(rt_collect(&job, &collected));
        CU_ASSERT_EQUAL(collected.planned, collected.dataset.samples.count);
        RT_ASSERT_OK(rt_dataset_append(merged, &collected.dataset));
        rt_collected_release(&collected);
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
    struct rt_plan plan;
    struct rt_job job = job_for(rt_test_path("shares.h5"), &plan);
    struct rt_collected collected;
    make_plan(1, 12, &plan);
    job.backend_options.sm_shares = "50,100,5,25,1";
    RT_ASSERT_OK(rt_collect(&job, &collected));
    /* 5% and 1% of 8 SMs are both 1 SM */
    CU_ASSERT_EQUAL_FATAL(collected.dataset.device_count, 9);
    CU_ASSERT_TRUE(each_kernel_once(&plan, &collected.dataset, 9));
    int32_t half = rt_dataset_find_device(&collected.dataset, "synthetic large (40 of 80 SMs)");
    int32_t whole = rt_dataset_find_device(&collected.dataset, "synthetic large");
    CU_ASSERT_TRUE_FATAL(half >= 0 && whole >= 0);
    RT_ASSERT_NEAR(collected.dataset.devices[half].sms, 40, 0);
    RT_ASSERT_NEAR(collected.dataset.devices[whole].sms, 80, 0);
    rt_collected_release(&collected);
    job.output = rt_test_path("badshares.h5");
    job.backend_options.sm_shares = "50,0";
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EUSAGE, "\"0\" is no share");
    rt_plan_release(&plan);
}

/* Variants and algorithms: a backend that takes any layout. */
static int prepare_any(void *context, size_t device, const struct rt_task *task,
                       struct rt_launch_config *launch, void **work, const char **refused)
{
    struct rt_task plain = *task;
    plain.variant = RT_PLAIN;
    int status = backend()->prepare(context, device, &plain, launch, work, refused);
    launch->algorithm = task->variant == RT_NHWC ? "stages=4" : NULL;
    return status;
}

static void test_variants(void)
{
    struct rt_plan plan = {0};
    struct rt_job job = job_for(rt_test_path("variants.h5"), &plan);
    struct rt_collected collected;
    struct rt_backend any = *backend();
    any.prepare = prepare_any;
    opens_left = mmap(NULL, sizeof *opens_left, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int v = 0; v < RT_VARIANT_COUNT; v++) {
        struct rt_task task;
        rt_task_init(&task, RT_OP_SOFTMAX, RT_FP32);
        task.call.dim[0] = task.call.dim[1] = 128;
        task.variant = (uint8_t)v;
        CU_ASSERT_TRUE(rt_plan_add(&plan, &task));
    }
    any.open = open_if_left;
    job.backend = &any;
    *opens_left = 2; /* one of the lanes does not start: its tasks are left for the second run */
    CU_ASSERT_EQUAL(rt_collect(&job, &collected), RT_EIO);
    *opens_left = 100;
    RT_ASSERT_OK(rt_collect(&job, &collected));
    CU_ASSERT_EQUAL(collected.measured, RT_VARIANT_COUNT);
    CU_ASSERT_EQUAL_FATAL(collected.dataset.samples.count, 2 * RT_VARIANT_COUNT);
    for (size_t i = 0; i < collected.dataset.samples.count; i++) {
        int32_t group = RT_SAMPLE(&collected.dataset, i)->group;
        const char *layout = rt_dataset_attribute(&collected.dataset, group, "layout");
        const char *memory = rt_dataset_attribute(&collected.dataset, group, "host_memory");
        const char *algorithm = rt_dataset_attribute(&collected.dataset, group, "algorithm");
        CU_ASSERT_EQUAL(layout != NULL && strcmp(layout, "nhwc") == 0, i / 2 == RT_NHWC);
        CU_ASSERT_EQUAL(memory != NULL && strcmp(memory, "pageable") == 0, i / 2 == RT_PAGEABLE);
        CU_ASSERT_EQUAL(algorithm != NULL && strcmp(algorithm, "stages=4") == 0, i / 2 == RT_NHWC);
    }
    munmap(opens_left, sizeof *opens_left);
    rt_collected_release(&collected);
    rt_plan_release(&plan);
}

/* A collection in a process that is killed once a part is saved. */
static void begin_and_kill(const struct rt_job *job)
{
    struct rt_collected collected;
    pid_t process = fork(), ended = 0;
    if (process == 0) {
        rt_collect(job, &collected);
        _exit(1);
    }
    while (ended == 0 && !exists(job->output, ".journal/part-000001.h5")) {
        usleep(1000);
        ended = waitpid(process, NULL, WNOHANG);
    }
    if (ended == 0) {
        kill(process, SIGKILL);
        waitpid(process, NULL, 0);
    }
}

/* Anew where it was done before it was killed. */
static void begin_and_stop(const char *output, const struct rt_plan *plan)
{
    struct rt_job job = job_for(output, plan);
    job.backend_options.faults = "slow=2";
    begin_and_kill(&job);
    while (exists(output, "")) {
        unlink(output);
        begin_and_kill(&job);
    }
    CU_ASSERT_TRUE_FATAL(exists(output, ".journal/header.h5"));
}

static void test_another_collection_is_refused(void)
{
    const char *output = rt_test_path("other.h5");
    struct rt_plan plan, other;
    struct rt_job job = job_for(output, &plan);
    struct rt_collected collected;
    make_plan(1, 200, &plan);
    make_plan(2, 200, &other);
    begin_and_stop(output, &plan);
    job.backend_options.faults = "slow=2";
    job.plan = &other;
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EUSAGE, "was begun with plan_hash");
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EUSAGE, "`rooftile collect --test`");
    job.plan = &plan;
    job.backend_options.seed = 3;
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EUSAGE, "was begun with seed 1, this is 3");
    job.backend_options.seed = 1;
    job.cache = RT_CACHE_WARM;
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EUSAGE, "cache cold, this is warm");
    job.cache = RT_CACHE_COLD;
    job.backend_options.devices = "small";
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EUSAGE, "devices");
    job.backend_options.devices = NULL;
    job.backend_options.faults = NULL;
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EUSAGE, "faults slow=2, this is none");
    job.overwrite = true;
    job.plan = &other;
    RT_ASSERT_OK(rt_collect(&job, &collected));
    CU_ASSERT_TRUE(each_kernel_once(&other, &collected.dataset, 2));
    rt_collected_release(&collected);
    rt_plan_release(&plan);
    rt_plan_release(&other);
}

static void test_an_output_is_not_overwritten(void)
{
    const char *output = rt_test_path("twice.h5");
    struct rt_plan plan;
    struct rt_job job = job_for(output, &plan);
    struct rt_collected collected;
    make_plan(1, 10, &plan);
    RT_ASSERT_OK(rt_collect(&job, &collected));
    rt_collected_release(&collected);
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EUSAGE, "is there already");
    CU_ASSERT_FALSE(exists(output, ".journal"));
    job.overwrite = true;
    RT_ASSERT_OK(rt_collect(&job, &collected));
    rt_collected_release(&collected);
    rt_plan_release(&plan);
}

static void test_budget(void)
{
    const char *output = rt_test_path("budget.h5");
    struct rt_plan plan;
    struct rt_job job = job_for(output, &plan);
    struct rt_collected collected;
    make_plan(1, 200, &plan);
    job.budget_s = 0;
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EUSAGE, "nothing was measured");
    CU_ASSERT_FALSE(exists(output, ".journal"));
    begin_and_stop(output, &plan); /* a budget of 0 s ends a begun collection */
    job.backend_options.faults = "slow=2";
    RT_ASSERT_OK(rt_collect(&job, &collected));
    CU_ASSERT_TRUE(collected.dataset.samples.count > 0 &&
                   collected.dataset.samples.count < collected.planned);
    CU_ASSERT_FALSE(exists(output, ".journal"));
    rt_collected_release(&collected);
    job.overwrite = true;
    job.backend_options.faults = NULL;
    job.budget_s = 0.05;
    RT_ASSERT_OK(rt_collect(&job, &collected));
    CU_ASSERT_TRUE(collected.dataset.samples.count > 5 &&
                   collected.dataset.samples.count < collected.planned);
    rt_collected_release(&collected);
    rt_plan_release(&plan);
}

/* One kernel of each device is measured again and again: not among the kernels, and it shows a drift. */
static void test_repeats_show_drift(void)
{
    struct rt_plan plan;
    struct rt_job job = job_for(rt_test_path("drift.h5"), &plan);
    struct rt_collected collected;
    struct rt_session_health health;
    make_plan(1, 300, &plan);
    job.repeat_s = 0.1; /* simulated */
    job.backend_options.faults = "drift=1";
    RT_ASSERT_OK(rt_collect(&job, &collected));
    const struct rt_dataset *dataset = &collected.dataset;
    CU_ASSERT_EQUAL(collected.kernels, 600);
    CU_ASSERT_EQUAL(collected.measured, 600);
    CU_ASSERT_TRUE(dataset->samples.count >= 602);
    rt_health_judge(dataset, &health);
    size_t repeats = 0, wrong = 0;
    for (size_t i = 0; i < dataset->samples.count; i++) {
        bool repeat = (RT_SAMPLE(dataset, i)->flags & RT_FLAG_REPEAT) != 0;
        wrong += repeat != (health.row[i] == RT_ROW_REPEAT);
        wrong += repeat && memcmp(&RT_SAMPLE(dataset, i)->call, &RT_SAMPLE(dataset, i - 1)->call,
                                  sizeof(struct rt_call)) != 0; /* behind its kernel */
        repeats += repeat;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(repeats, dataset->samples.count - 600);
    CU_ASSERT_TRUE(health.sessions[0].repeats >= 2 && health.sessions[0].drift > RT_DRIFT);
    CU_ASSERT_TRUE(health.complaint_count > 0 && strstr(health.complaints[0].text, "was repeated") != NULL);
    rt_health_release(&health);
    rt_collected_release(&collected);
    rt_plan_release(&plan);
}

/* A collection that is resumed often equals one that is not, to the last bit. */
static void test_interrupted_equals_uninterrupted(void)
{
    struct rt_plan plan;
    struct rt_job job = job_for(rt_test_path("one.h5"), &plan);
    struct rt_collected one, many;
    make_plan(1, 120, &plan);
    RT_ASSERT_OK(rt_collect(&job, &one));
    const char *output = rt_test_path("many.h5");
    job.output = output;
    for (size_t begun = 0; begun < 6; begun++) { /* the journal after each of several kills */
        struct rt_journal journal;
        RT_ASSERT_OK(rt_journal_open(output, &journal));
        if (!journal.begun) {
            struct rt_dataset header;
            rt_dataset_init(&header);
            const struct rt_group *group = &one.dataset.groups[0];
            rt_dataset_add_group(&header, group->count, (const char *const *)group->name,
                                 (const char *const *)group->value);
            for (size_t d = 0; d < one.dataset.device_count; d++)
                rt_dataset_add_device(&header, &one.dataset.devices[d]);
            rt_dataset_stamp(&header);
            RT_ASSERT_OK(rt_journal_begin(&journal, &header));
            rt_dataset_release(&header);
        }
        CU_ASSERT_EQUAL(journal.saved.samples.count, 20 * begun);
        struct rt_dataset part = one.dataset; /* a window of it */
        part.samples = (struct rt_rows){.kind = &rt_sample_rows};
        for (size_t i = 0; i < 20; i++)
            rt_dataset_add_sample(&part, RT_SAMPLE(&one.dataset, 20 * begun + i));
        RT_ASSERT_OK(rt_journal_save(&journal, &part));
        rt_rows_release(&part.samples);
        rt_journal_close(&journal);
    }
    RT_ASSERT_OK(rt_collect(&job, &many));
    CU_ASSERT_EQUAL(many.dataset.samples.count, one.dataset.samples.count);
    CU_ASSERT_STRING_EQUAL(many.dataset.uuid, one.dataset.uuid);
    rt_collected_release(&one);
    rt_collected_release(&many);
    rt_plan_release(&plan);
}

static void test_second_collector_is_refused(void)
{
    const char *output = rt_test_path("locked.h5");
    struct rt_plan plan;
    struct rt_job job = job_for(output, &plan);
    struct rt_collected collected;
    struct rt_journal journal;
    make_plan(1, 10, &plan);
    RT_ASSERT_OK(rt_journal_open(output, &journal));
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EUSAGE, "another collector (process ");
    char process[32];
    snprintf(process, sizeof process, "%ld", (long)getpid());
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), process));
    CU_ASSERT_TRUE(exists(output, ".journal/lock"));
    rt_journal_close(&journal);
    CU_ASSERT_FALSE(exists(output, ".journal"));
    RT_ASSERT_OK(rt_collect(&job, &collected));
    rt_collected_release(&collected);
    rt_plan_release(&plan);
}

/* A journal in a folder of the old name, OUT.h5.parts, is resumed. */
static void test_a_folder_of_the_old_name(void)
{
    const char *output = rt_test_path("old.h5");
    struct rt_plan plan;
    struct rt_job job = job_for(output, &plan);
    struct rt_collected collected;
    char old[600], folder[600];
    make_plan(1, 200, &plan);
    begin_and_stop(output, &plan);
    snprintf(old, sizeof old, "%s.parts", output);
    snprintf(folder, sizeof folder, "%s.journal", output);
    CU_ASSERT_EQUAL_FATAL(rename(folder, old), 0);
    job.backend_options.faults = "slow=2";
    RT_ASSERT_OK(rt_collect(&job, &collected));
    CU_ASSERT_TRUE(collected.measured < collected.planned);
    CU_ASSERT_TRUE(each_kernel_once(&plan, &collected.dataset, 2));
    CU_ASSERT_FALSE(exists(output, ".parts"));
    rt_collected_release(&collected);
    rt_plan_release(&plan);
}

/* The message about a damaged part names a remedy that works. */
static void test_damaged_part(void)
{
    const char *output = rt_test_path("damaged.h5");
    struct rt_plan plan;
    struct rt_job job = job_for(output, &plan);
    struct rt_collected collected;
    char part[600];
    make_plan(1, 200, &plan);
    begin_and_stop(output, &plan);
    job.backend_options.faults = "slow=2";
    snprintf(part, sizeof part, "%s.journal/part-000001.h5", output);
    CU_ASSERT_EQUAL_FATAL(truncate(part, 1000), 0);
    CU_ASSERT_EQUAL(rt_collect(&job, &collected), RT_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "part-000001.h5 to measure its kernels again"));
    CU_ASSERT_EQUAL(unlink(part), 0);
    RT_ASSERT_OK(rt_collect(&job, &collected));
    CU_ASSERT_TRUE(each_kernel_once(&plan, &collected.dataset, 2));
    rt_collected_release(&collected);
    rt_plan_release(&plan);
}

static void test_descriptors_of_an_earlier_dataset(void)
{
    const char *first = rt_test_path("first.h5");
    struct rt_plan plan;
    struct rt_job job = job_for(first, &plan);
    struct rt_collected collected;
    make_plan(1, 10, &plan);
    job.backend_options.devices = "small";
    RT_ASSERT_OK(rt_collect(&job, &collected));
    collected.dataset.devices[0].bandwidth_gbs = 77;
    RT_ASSERT_OK(rt_dataset_write(&collected.dataset, first));
    rt_collected_release(&collected);
    job.output = rt_test_path("second.h5");
    job.like = first;
    RT_ASSERT_OK(rt_collect(&job, &collected));
    RT_ASSERT_NEAR(collected.dataset.devices[0].bandwidth_gbs, 77, 0);
    rt_collected_release(&collected);
    job.output = rt_test_path("third.h5");
    job.backend_options.devices = "large";
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_ENOTFOUND, "no device \"synthetic large\"");
    job.like = rt_test_path("absent.h5");
    CU_ASSERT_NOT_EQUAL(rt_collect(&job, &collected), RT_OK);
    rt_plan_release(&plan);
}

static void test_places_that_cannot_be_written(void)
{
    struct rt_plan plan;
    struct rt_job job = job_for("/nowhere/out.h5", &plan);
    struct rt_collected collected;
    make_plan(1, 10, &plan);
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EIO, "/nowhere/out.h5");
    rt_test_write("file.h5.journal", "");
    job.output = rt_test_path("file.h5");
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EIO, "file.h5.journal");
    job.output = rt_test_path("fine.h5");
    job.backend_options.faults = "oom=2";
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EUSAGE, "\"oom=2\" is no fault");
    job.backend_options.faults = NULL;
    job.backend_options.devices = "medium";
    RT_ASSERT_FAILS(rt_collect(&job, &collected), RT_EUSAGE, "medium is no synthetic device");
    rt_plan_release(&plan);
}

RT_TESTS(RT_TEST(test_a_whole_collection), RT_TEST(test_summary_counts), RT_TEST(test_unstable_is_flagged),
         RT_TEST(test_workers_die_and_the_rest_goes_on), RT_TEST(test_a_device_is_given_up),
         RT_TEST(test_worker_that_does_not_start), RT_TEST(test_throttled_is_measured_again),
         RT_TEST(test_energy), RT_TEST(test_shards), RT_TEST(test_sm_shares), RT_TEST(test_variants),
         RT_TEST(test_another_collection_is_refused), RT_TEST(test_an_output_is_not_overwritten),
         RT_TEST(test_budget), RT_TEST(test_repeats_show_drift),
         RT_TEST(test_interrupted_equals_uninterrupted), RT_TEST(test_second_collector_is_refused),
         RT_TEST(test_a_folder_of_the_old_name), RT_TEST(test_damaged_part),
         RT_TEST(test_descriptors_of_an_earlier_dataset), RT_TEST(test_places_that_cannot_be_written))
