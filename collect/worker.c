/* Worker processes: how they are started, asked and ended, and what they do. See worker.h. */
#include "collect/worker.h"
#include "collect/model_run.h"
#include "base/progress.h"
#include "base/status.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum question { ASK_MEASURE, ASK_PASS, ASK_DEVICE, ASK_DESCRIBE, ASK_FACTS };
struct request {
    int32_t question;
    uint64_t task, device;
    double pause_s;
};

/* ---- the worker's side ---- */

struct server {
    const struct rt_worker_job *job;
    int socket;
    void *context;
};

/* A collector that is gone takes the worker along: nobody is left to be told. */
static void say(const struct server *server, const struct rt_message *message)
{
    send(server->socket, message, sizeof *message, MSG_NOSIGNAL);
}

static void say_failure(const struct server *server, int status)
{
    struct rt_message message = {.word = RT_WORD_FAIL, .status = status};
    snprintf(message.is.text, sizeof message.is.text, "%s", rt_error());
    say(server, &message);
}

static void say_alive(void *to)
{
    const struct rt_message message = {.word = RT_WORD_ALIVE};
    say(to, &message);
}

static void answer_measure(struct server *server, const struct request *request)
{
    const struct rt_worker_job *job = server->job;
    struct rt_measurer measurer = {job->backend, server->context, job->options,
                                   say_alive,    server,          request->pause_s};
    struct rt_message message = {.word = RT_WORD_FOUND};
    rt_find(&measurer, &job->plan->tasks[request->task], request->device, &message.is.task_result);
    say(server, &message);
}

static void answer_pass(struct server *server, const struct request *request)
{
    const struct rt_worker_job *job = server->job;
    struct rt_measurer measurer = {job->backend, server->context, job->options, say_alive, server, 0};
    struct rt_message message = {.word = RT_WORD_PASSED};
    rt_model_timing_measure(&measurer, request->device, &job->options->model->sequence, &message.is.pass);
    say(server, &message);
}

static void answer_device(struct server *server, const struct request *request)
{
    const struct rt_backend *backend = server->job->backend;
    struct rt_message message = {.word = RT_WORD_DEVICE};
    snprintf(message.is.device.name, sizeof message.is.device.name, "%s",
             backend->device_name(server->context, request->device));
    message.is.device.lane = backend->lane(server->context, request->device);
    int status = RT_OK;
    if (request->question == ASK_DESCRIBE)
        status = backend->describe(server->context, request->device, &message.is.device.descriptor);
    if (status == RT_OK)
        say(server, &message);
    else
        say_failure(server, status);
}

static void say_fact(void *to, const char *name, const char *value)
{
    struct rt_message message = {.word = RT_WORD_FACT};
    snprintf(message.is.fact.name, sizeof message.is.fact.name, "%s", name);
    snprintf(message.is.fact.value, sizeof message.is.fact.value, "%s", value);
    say(to, &message);
}

static void answer_facts(struct server *server, const struct request *request)
{
    const struct rt_message end = {.word = RT_WORD_END};
    server->job->backend->facts(server->context, request->device, say_fact, server);
    say(server, &end);
}

static void (*const answers[])(struct server *server, const struct request *request) = {
    [ASK_MEASURE] = answer_measure, [ASK_PASS] = answer_pass,   [ASK_DEVICE] = answer_device,
    [ASK_DESCRIBE] = answer_device, [ASK_FACTS] = answer_facts,
};

/* Until the collector closes its end. */
static void serve(struct server *server)
{
    const struct rt_backend *backend = server->job->backend;
    struct request request;
    int status = backend->open(&server->job->options->backend, &server->context);
    if (status != RT_OK) {
        say_failure(server, status);
        return;
    }
    struct rt_message ready = {.word = RT_WORD_READY};
    ready.is.ready.devices = backend->device_count(server->context);
    say(server, &ready);
    while (recv(server->socket, &request, sizeof request, 0) == (ssize_t)sizeof request)
        answers[request.question](server, &request);
    backend->close(server->context);
}

/* Ctrl-C and a job's end reach every process of a group; the collector alone answers them. */
static void become_worker(int socket, pid_t collector)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != collector) /* it died before the line above */
        _exit(1);
    if (socket > STDERR_FILENO + 1)
        close_range(STDERR_FILENO + 1, (unsigned)socket - 1, 0);
    close_range((unsigned)socket + 1, ~0u, 0);
}

int rt_worker_start(const struct rt_worker_job *job, struct rt_worker *out)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return rt_fail(RT_EIO, "no socket for a worker process: %s; raise `ulimit -n`", strerror(errno));
    fflush(NULL); /* or the worker would write it, too */
    pid_t collector = getpid(), process = fork();
    if (process == 0) {
        struct server server = {job, pair[1], NULL};
        become_worker(pair[1], collector);
        serve(&server);
        _exit(0);
    }
    int code = errno;
    close(pair[1]);
    if (process < 0) {
        close(pair[0]);
        return rt_fail(RT_EIO, "no worker process can be started: %s; raise `ulimit -u`, or free some memory",
                       strerror(code));
    }
    *out = (struct rt_worker){process, pair[0]};
    return RT_OK;
}

/* ---- the collector's side ---- */

static int ask(const struct rt_worker *worker, const struct request *request)
{
    if (send(worker->socket, request, sizeof *request, MSG_NOSIGNAL) != (ssize_t)sizeof *request)
        return rt_fail(RT_EIO, "a worker process is gone: %s", strerror(errno));
    return RT_OK;
}

int rt_worker_measure(const struct rt_worker *worker, size_t task, size_t device, double pause_s)
{
    const struct request request = {
        .question = ASK_MEASURE, .task = task, .device = device, .pause_s = pause_s};
    return ask(worker, &request);
}

void rt_worker_hear(const struct rt_worker *worker, double seconds, struct rt_message *out)
{
    struct pollfd waiting = {.fd = worker->socket, .events = POLLIN};
    out->word = RT_WORD_NONE;
    if (poll(&waiting, 1, (int)(1e3 * seconds)) <= 0)
        return;
    ssize_t got = recv(worker->socket, out, sizeof *out, 0);
    if (got != (ssize_t)sizeof *out)
        out->word = got < 0 && errno == EINTR ? RT_WORD_NONE : RT_WORD_GONE;
}

/* Its wait status, -1 where it has not ended within the time. */
static int wait_for(pid_t process, double seconds)
{
    static const struct timespec pause = {0, 500000};
    int how = 0;
    for (double end = rt_clock() + seconds;; nanosleep(&pause, NULL)) {
        pid_t ended = waitpid(process, &how, WNOHANG);
        if (ended == process)
            return how;
        if ((ended < 0 && errno != EINTR) || rt_clock() >= end)
            return -1;
    }
}

/* A worker that a driver keeps in the kernel cannot be killed; it is left to the system. */
static void finish_worker(struct rt_worker *worker, double patience_s)
{
    if (worker->process < 0)
        return;
    close(worker->socket);
    if (patience_s <= 0 || wait_for(worker->process, patience_s) < 0) {
        kill(worker->process, SIGKILL);
        wait_for(worker->process, 5);
    }
    *worker = RT_NO_WORKER;
}

void rt_worker_end(struct rt_worker *worker)
{
    finish_worker(worker, 10);
}

void rt_worker_kill(struct rt_worker *worker)
{
    finish_worker(worker, 0);
}

void rt_worker_release_dead(struct rt_worker *worker, char *how, size_t size)
{
    int status = wait_for(worker->process, 2);
    if (status >= 0 && WIFSIGNALED(status))
        snprintf(how, size, "crashed: signal %d", WTERMSIG(status));
    else if (status >= 0)
        snprintf(how, size, "exited: status %d", WEXITSTATUS(status));
    else
        snprintf(how, size, "crashed: it stopped talking");
    if (status >= 0) {
        close(worker->socket);
        *worker = RT_NO_WORKER;
    }
    rt_worker_kill(worker);
}

/* ---- the probe ---- */

/* Waits for `word` (or, of the facts, another one). */
static int hear(struct rt_probe *probe, enum rt_word word, enum rt_word other, struct rt_message *message)
{
    char how[64];
    for (double end = rt_clock() + RT_WORKER_PATIENCE_S; rt_clock() < end;) {
        rt_worker_hear(&probe->worker, 0.1, message);
        if (message->word == (int32_t)word || message->word == (int32_t)other)
            return RT_OK;
        if (message->word == RT_WORD_ALIVE)
            end = rt_clock() + RT_WORKER_PATIENCE_S;
        if (message->word == RT_WORD_FAIL)
            return rt_fail(message->status, "%s", message->is.text);
        if (message->word == RT_WORD_GONE) {
            rt_worker_release_dead(&probe->worker, how, sizeof how);
            return rt_fail(RT_EIO, "the process that looks at the devices %s; try one with --device", how);
        }
        if (rt_interrupted())
            return rt_fail(RT_EINTERRUPTED, "interrupted before anything was measured");
    }
    rt_worker_kill(&probe->worker);
    return rt_fail(RT_EIO, "the devices say nothing for %d s; is another program hanging on one of them?",
                   RT_WORKER_PATIENCE_S);
}

int rt_probe_start(const struct rt_backend *backend, const struct rt_collect_options *options,
                   struct rt_probe *out)
{
    const struct rt_worker_job job = {backend, NULL, options};
    struct rt_message message;
    struct rt_probe probe = {RT_NO_WORKER, 0};
    int status = rt_worker_start(&job, &probe.worker);
    if (status == RT_OK)
        status = hear(&probe, RT_WORD_READY, RT_WORD_READY, &message);
    if (status != RT_OK) {
        rt_worker_kill(&probe.worker);
        return status;
    }
    probe.devices = message.is.ready.devices;
    *out = probe;
    return RT_OK;
}

static int ask_device(struct rt_probe *probe, enum question question, size_t device,
                      struct rt_message *message)
{
    const struct request request = {.question = (int32_t)question, .device = device};
    int status = ask(&probe->worker, &request);
    return status == RT_OK ? hear(probe, RT_WORD_DEVICE, RT_WORD_DEVICE, message) : status;
}

int rt_probe_device(struct rt_probe *probe, size_t device, char name[static 96], size_t *lane)
{
    struct rt_message message;
    int status = ask_device(probe, ASK_DEVICE, device, &message);
    if (status != RT_OK)
        return status;
    memcpy(name, message.is.device.name, sizeof message.is.device.name);
    *lane = message.is.device.lane;
    return RT_OK;
}

int rt_probe_describe(struct rt_probe *probe, size_t device, struct rt_device *out)
{
    struct rt_message message;
    int status = ask_device(probe, ASK_DESCRIBE, device, &message);
    if (status == RT_OK)
        *out = message.is.device.descriptor;
    return status;
}

int rt_probe_facts(struct rt_probe *probe, size_t device, struct rt_attributes *add_to)
{
    const struct request request = {.question = ASK_FACTS, .device = device};
    struct rt_message message;
    int status = ask(&probe->worker, &request);
    while (status == RT_OK) {
        status = hear(probe, RT_WORD_FACT, RT_WORD_END, &message);
        if (status == RT_OK && message.word == RT_WORD_END)
            return RT_OK;
        if (status == RT_OK)
            rt_attributes_add(add_to, message.is.fact.name, message.is.fact.value);
    }
    return status;
}

int rt_probe_model(struct rt_probe *probe, size_t device, struct rt_model_timing *out)
{
    const struct request request = {.question = ASK_PASS, .device = device};
    struct rt_message message;
    int status = ask(&probe->worker, &request);
    if (status == RT_OK)
        status = hear(probe, RT_WORD_PASSED, RT_WORD_PASSED, &message);
    if (status == RT_OK)
        *out = message.is.pass;
    return status;
}

void rt_probe_end(struct rt_probe *probe)
{
    rt_worker_end(&probe->worker);
    probe->devices = 0;
}
