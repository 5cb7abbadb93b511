/* Worker processes: started, asked and ended; and what they do. See worker.h. */
#include "collect/worker.h"
#include "collect/plan/model_run.h"
#include "base/progress.h"
#include "base/status.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the worker's side ---- */

struct server {
    const struct rt_job *job;
    int socket;
    void *context;
};

/* Errors are ignored: a worker whose collector is gone is killed. */
static void reply(const struct server *server, const struct rt_message *message)
{
    send(server->socket, message, sizeof *message, MSG_NOSIGNAL);
}

static void reply_error(const struct server *server, int status)
{
    struct rt_message message = {.kind = RT_MESSAGE_ERROR, .status = status};
    snprintf(message.text, sizeof message.text, "%s", rt_error());
    reply(server, &message);
}

static void reply_alive(void *to)
{
    const struct rt_message message = {.kind = RT_MESSAGE_ALIVE};
    reply(to, &message);
}

static struct rt_measurer measurer_of(struct server *server, double pause_s)
{
    return (struct rt_measurer){server->job, server->context, reply_alive, server, pause_s};
}

static void answer_task(struct server *server, const struct rt_request *request)
{
    struct rt_measurer measurer = measurer_of(server, request->pause_s);
    struct rt_message message = {.kind = RT_MESSAGE_RESULT};
    rt_measure_task(&measurer, &server->job->plan->tasks[request->task], request->device, &message.result);
    reply(server, &message);
}

static void answer_model(struct server *server, const struct rt_request *request)
{
    struct rt_measurer measurer = measurer_of(server, 0);
    struct rt_message message = {.kind = RT_MESSAGE_TIMING};
    rt_model_timing_measure(&measurer, request->device, &server->job->model->sequence, &message.timing);
    reply(server, &message);
}

static void answer_device(struct server *server, const struct rt_request *request)
{
    const struct rt_backend *backend = server->job->backend;
    struct rt_message message = {.kind = RT_MESSAGE_DEVICE};
    snprintf(message.device.name, sizeof message.device.name, "%s",
             backend->device_name(server->context, request->device));
    message.device.lane = backend->lane(server->context, request->device);
    int status = RT_OK;
    if (request->kind == RT_REQUEST_DESCRIBE)
        status = backend->describe(server->context, request->device, &message.device.descriptor);
    if (status == RT_OK)
        reply(server, &message);
    else
        reply_error(server, status);
}

static void reply_fact(void *to, const char *name, const char *value)
{
    struct rt_message message = {.kind = RT_MESSAGE_FACT};
    snprintf(message.fact.name, sizeof message.fact.name, "%s", name);
    snprintf(message.fact.value, sizeof message.fact.value, "%s", value);
    reply(to, &message);
}

static void answer_facts(struct server *server, const struct rt_request *request)
{
    const struct rt_message end = {.kind = RT_MESSAGE_END};
    server->job->backend->facts(server->context, request->device, reply_fact, server);
    reply(server, &end);
}

static void (*const answers[])(struct server *server, const struct rt_request *request) = {
    [RT_REQUEST_TASK] = answer_task,     [RT_REQUEST_MODEL] = answer_model,
    [RT_REQUEST_DEVICE] = answer_device, [RT_REQUEST_DESCRIBE] = answer_device,
    [RT_REQUEST_FACTS] = answer_facts,
};

/* Until the collector closes its end. */
static void serve(struct server *server)
{
    const struct rt_backend *backend = server->job->backend;
    struct rt_request request;
    int status = backend->open(&server->job->backend_options, &server->context);
    if (status != RT_OK) {
        reply_error(server, status);
        return;
    }
    struct rt_message ready = {.kind = RT_MESSAGE_READY};
    ready.ready.devices = backend->device_count(server->context);
    reply(server, &ready);
    while (recv(server->socket, &request, sizeof request, 0) == (ssize_t)sizeof request)
        answers[request.kind](server, &request);
    backend->close(server->context);
}

/* Ctrl-C and the TERM of a batch system reach every process of a group; only the collector reacts. */
static void become_worker(int socket, pid_t collector)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != collector) /* the collector died before the line above */
        _exit(1);
    if (socket > STDERR_FILENO + 1)
        close_range(STDERR_FILENO + 1, (unsigned)socket - 1, 0);
    close_range((unsigned)socket + 1, ~0u, 0);
}

int rt_worker_start(const struct rt_job *job, struct rt_worker *out)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return rt_fail(RT_EIO, "no socket for a worker process: %s; raise `ulimit -n`", strerror(errno));
    fflush(NULL); /* or the worker would write it again */
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

int rt_worker_send(const struct rt_worker *worker, const struct rt_request *request)
{
    if (send(worker->socket, request, sizeof *request, MSG_NOSIGNAL) != (ssize_t)sizeof *request)
        return rt_fail(RT_EIO, "a worker process is gone: %s", strerror(errno));
    return RT_OK;
}

void rt_worker_receive(const struct rt_worker *worker, double seconds, struct rt_message *out)
{
    struct pollfd waiting = {.fd = worker->socket, .events = POLLIN};
    out->kind = RT_MESSAGE_NONE;
    if (poll(&waiting, 1, (int)(1e3 * seconds)) <= 0)
        return;
    ssize_t got = recv(worker->socket, out, sizeof *out, 0);
    if (got != (ssize_t)sizeof *out)
        out->kind = got < 0 && errno == EINTR ? RT_MESSAGE_NONE : RT_MESSAGE_GONE;
}

/* The process's wait status, -1 where it has not ended within the time. */
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

/* A worker that hangs inside a driver cannot be killed; it is left to the operating system. */
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

double rt_worker_cpu_s(const struct rt_worker *worker)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(worker->process, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return NAN;
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
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
        snprintf(how, size, "crashed: it closed its socket");
    if (status >= 0) {
        close(worker->socket);
        *worker = RT_NO_WORKER;
    }
    rt_worker_kill(worker);
}
