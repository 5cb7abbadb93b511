/* Questions to one worker, each waited for. See probe.h. */
#include "collect/probe.h"
#include "base/progress.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

/*
 * Time that passes is no silence on a machine that gives the worker little of it: one that works is waited
 * for until it has used RT_WORKER_PATIENCE_S of processors, in vain. One that sleeps, as on a device that
 * hangs, has used none.
 */
struct patience {
    double end;             /* on the clock */
    double began_s, used_s; /* of processors: when the question was asked, and when last looked */
};

static struct patience patience_of(const struct rt_probe *probe)
{
    double used_s = rt_worker_cpu_s(&probe->worker);
    return (struct patience){rt_clock() + RT_WORKER_PATIENCE_S, used_s, used_s};
}

static bool is_over(struct patience *patience, const struct rt_probe *probe)
{
    enum { PARTS = 200 }; /* of its time that a worker at work gets at least */
    if (rt_clock() < patience->end)
        return false;
    double used_s = rt_worker_cpu_s(&probe->worker), before_s = patience->used_s;
    patience->end = rt_clock() + RT_WORKER_PATIENCE_S;
    patience->used_s = used_s;
    bool works = used_s - before_s > (double)RT_WORKER_PATIENCE_S / PARTS; /* false for NaN */
    return !works || used_s - patience->began_s > RT_WORKER_PATIENCE_S;
}

/* Waits for a message of one of two kinds. */
static int wait_for(struct rt_probe *probe, enum rt_message_kind kind, enum rt_message_kind other,
                    struct rt_message *message)
{
    char how[64];
    for (struct patience patience = patience_of(probe); !is_over(&patience, probe);) {
        rt_worker_receive(&probe->worker, 0.1, message);
        if (message->kind == (int32_t)kind || message->kind == (int32_t)other)
            return RT_OK;
        if (message->kind == RT_MESSAGE_ALIVE)
            patience = patience_of(probe);
        if (message->kind == RT_MESSAGE_ERROR)
            return rt_fail(message->status, "%s", message->text);
        if (message->kind == RT_MESSAGE_GONE) {
            rt_worker_release_dead(&probe->worker, how, sizeof how);
            return rt_fail(RT_EIO, "the process that describes the devices %s; try one with {device}", how);
        }
        if (rt_interrupted())
            return rt_fail(RT_EINTERRUPTED, "interrupted before anything was measured");
    }
    rt_worker_kill(&probe->worker);
    return rt_fail(RT_EIO,
                   "the devices do not answer within %d s: another program hangs on one of them, or the "
                   "machine is too busy; try again when it is quieter",
                   RT_WORKER_PATIENCE_S);
}

static int ask(struct rt_probe *probe, enum rt_request_kind kind, size_t device, enum rt_message_kind answer,
               struct rt_message *message)
{
    const struct rt_request request = {.kind = (int32_t)kind, .device = device};
    int status = rt_worker_send(&probe->worker, &request);
    return status == RT_OK ? wait_for(probe, answer, answer, message) : status;
}

int rt_probe_start(const struct rt_job *job, struct rt_probe *out)
{
    struct rt_message message;
    struct rt_probe probe = RT_NO_PROBE;
    int status = rt_worker_start(job, &probe.worker);
    if (status == RT_OK)
        status = wait_for(&probe, RT_MESSAGE_READY, RT_MESSAGE_READY, &message);
    if (status != RT_OK) {
        rt_worker_kill(&probe.worker);
        return status;
    }
    probe.devices = message.ready.devices;
    *out = probe;
    return RT_OK;
}

int rt_probe_device(struct rt_probe *probe, size_t device, char name[static 96], size_t *lane)
{
    struct rt_message message;
    int status = ask(probe, RT_REQUEST_DEVICE, device, RT_MESSAGE_DEVICE, &message);
    if (status != RT_OK)
        return status;
    memcpy(name, message.device.name, sizeof message.device.name);
    *lane = message.device.lane;
    return RT_OK;
}

int rt_probe_describe(struct rt_probe *probe, size_t device, struct rt_device *out)
{
    struct rt_message message;
    int status = ask(probe, RT_REQUEST_DESCRIBE, device, RT_MESSAGE_DEVICE, &message);
    if (status == RT_OK)
        *out = message.device.descriptor;
    return status;
}

int rt_probe_facts(struct rt_probe *probe, size_t device, struct rt_attributes *add_to)
{
    const struct rt_request request = {.kind = RT_REQUEST_FACTS, .device = device};
    struct rt_message message;
    int status = rt_worker_send(&probe->worker, &request);
    while (status == RT_OK) {
        status = wait_for(probe, RT_MESSAGE_FACT, RT_MESSAGE_END, &message);
        if (status == RT_OK && message.kind == RT_MESSAGE_END)
            return RT_OK;
        if (status == RT_OK)
            rt_attributes_add(add_to, message.fact.name, message.fact.value);
    }
    return status;
}

int rt_probe_model(struct rt_probe *probe, size_t device, struct rt_model_timing *out)
{
    struct rt_message message;
    int status = ask(probe, RT_REQUEST_MODEL, device, RT_MESSAGE_TIMING, &message);
    if (status == RT_OK)
        *out = message.timing;
    return status;
}

void rt_probe_end(struct rt_probe *probe)
{
    rt_worker_end(&probe->worker);
    probe->devices = 0;
}
