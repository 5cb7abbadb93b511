/* One task on one device. See task result.h. */
#include "collect/task_result.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void describe_kernel(const struct rt_kernel_info *kernel, struct rt_task_result *task_result)
{
    struct rt_sample *sample = &task_result->sample;
    snprintf(task_result->kernel, sizeof task_result->kernel, "%s", kernel->name);
    snprintf(task_result->kernels, sizeof task_result->kernels, "%s",
             kernel->names != NULL ? kernel->names : kernel->name);
    snprintf(task_result->algorithm, sizeof task_result->algorithm, "%s",
             kernel->algorithm != NULL ? kernel->algorithm : "");
    memcpy(sample->tile, kernel->tile, sizeof sample->tile);
    memcpy(sample->grid, kernel->grid, sizeof sample->grid);
    memcpy(sample->block, kernel->block, sizeof sample->block);
    if (kernel->registers > 0) {
        sample->registers = kernel->registers;
        sample->shared_bytes = kernel->shared_bytes;
    }
}

static void describe_times(const struct rt_measurement *measured, struct rt_sample *sample)
{
    sample->latency_us = sample->latency_median_us = measured->us.median;
    sample->latency_min_us = measured->us.min;
    sample->latency_p20_us = measured->us.p20;
    sample->latency_p80_us = measured->us.p80;
    sample->latency_spread_us = measured->us.mad;
    sample->count = measured->runs > INT32_MAX ? INT32_MAX : (int32_t)measured->runs;
    sample->flags = measured->met ? 0 : RT_FLAG_UNSTABLE;
}

static void describe_health(const struct rt_health *health, struct rt_task_result *task_result)
{
    struct rt_sample *sample = &task_result->sample;
    sample->flags |= health->flags;
    sample->sm_clock_mhz = health->sm_clock_mhz;
    sample->temperature_c = health->temperature_c;
    sample->power_w = health->power_w;
    snprintf(task_result->throttle, sizeof task_result->throttle, "%s",
             health->throttle != NULL ? health->throttle : "");
}

/* Cold, warm or both; of both, the cold runs are the sample's latency. */
static int measure_once(const struct rt_measurer *m, void *work, struct rt_task_result *task_result)
{
    struct rt_measurement measured, warm;
    struct rt_health health = {0};
    const struct rt_stopping *stopping = &m->options->stopping;
    enum rt_cache cache = m->options->cache;
    m->alive(m->to);
    int status = rt_measure(m->backend, m->context, work, stopping, cache == RT_CACHE_WARM, &measured);
    if (status != RT_OK)
        return status;
    describe_times(&measured, &task_result->sample);
    if (cache == RT_CACHE_WARM)
        task_result->sample.latency_warm_us = measured.us.median;
    if (cache == RT_CACHE_BOTH) {
        m->alive(m->to);
        status = rt_measure(m->backend, m->context, work, stopping, true, &warm);
        if (status != RT_OK)
            return status;
        task_result->sample.latency_warm_us = warm.us.median;
    }
    m->backend->health(m->context, work, &health);
    describe_health(&health, task_result);
    return RT_OK;
}

/* What was throttled is measured again once the device has had time to cool, as long as there is time to
 * pause; the last time counts. */
static int measure_unthrottled(const struct rt_measurer *m, void *work, struct rt_task_result *task_result)
{
    double pause_s = RT_THROTTLE_PAUSE_S;
    int status = measure_once(m, work, task_result);
    while (status == RT_OK && (task_result->sample.flags & RT_FLAG_THROTTLED) != 0 &&
           task_result->retries < RT_THROTTLE_RETRIES && task_result->paused_s + pause_s <= m->pause_s) {
        m->alive(m->to);
        m->backend->pause(m->context, pause_s);
        task_result->paused_s += pause_s;
        pause_s *= 2;
        task_result->retries++;
        status = measure_once(m, work, task_result);
    }
    return status;
}

static int measure_work(const struct rt_measurer *m, void *work, struct rt_task_result *task_result)
{
    int status = measure_unthrottled(m, work, task_result);
    if (status == RT_OK && m->options->energy && m->backend->energy != NULL) {
        m->alive(m->to);
        status = m->backend->energy(m->context, work, RT_ENERGY_S, &task_result->sample.energy_mj);
    }
    return status;
}

void rt_find(const struct rt_measurer *m, const struct rt_task *task, size_t device,
             struct rt_task_result *out)
{
    const char *refused = NULL;
    struct rt_kernel_info kernel = {0};
    void *work = NULL;
    double started = m->backend->clock(m->context);
    memset(out, 0, sizeof *out);
    rt_sample_init(&out->sample);
    int status = m->backend->prepare(m->context, device, task, &kernel, &work, &refused);
    if (status == RT_OK && refused != NULL) {
        out->sample.flags = RT_FLAG_FAILED;
        snprintf(out->failure, sizeof out->failure, "%s", refused);
    } else if (status == RT_OK) {
        status = measure_work(m, work, out);
        describe_kernel(&kernel, out);
        m->backend->finish(m->context, work);
    }
    if (status != RT_OK) {
        char why[sizeof out->failure];
        snprintf(why, sizeof why, "device lost: %.480s", rt_error());
        rt_task_result_lose(out, why);
    }
    out->status = status;
    out->seconds = m->backend->clock(m->context) - started;
}

static const char *const losses[] = {"device lost", "crashed", "exited", "no answer"};

void rt_task_result_lose(struct rt_task_result *task_result, const char *why)
{
    memset(task_result, 0, sizeof *task_result);
    rt_sample_init(&task_result->sample);
    task_result->sample.flags = RT_FLAG_FAILED;
    task_result->status = RT_EIO;
    snprintf(task_result->failure, sizeof task_result->failure, "%s", why);
}

bool rt_failure_is_loss(const char *failure)
{
    for (size_t i = 0; i < RT_COUNT(losses); i++)
        if (strncmp(failure, losses[i], strlen(losses[i])) == 0)
            return true;
    return false;
}
