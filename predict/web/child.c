/* Processes that run for clients. See child.h. */
#include "predict/web/child.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST_MEMORY_MIB = 4096,
    MOST_OUTPUT_MIB = 64,
    MOST_LINES =
        20000, /* of a worker, which keeps every model and GPU that was named: another takes its place */
};

extern char **environ;

/* ---- starting ---- */

/* A folder of its own, to be removed and freed; NULL: none could be made. */
static char *make_folder(void)
{
    const char *root = getenv("TMPDIR");
    char *folder = rt_format("%s/rooftile-web-XXXXXX", root != NULL && root[0] == '/' ? root : "/tmp");
    if (mkdtemp(folder) != NULL)
        return folder;
    free(folder);
    return NULL;
}

/* AddressSanitizer maps terabytes that it does not use. */
#if defined(__SANITIZE_ADDRESS__)
enum { LIMITS_MEMORY = 0 };
#elif defined(__has_feature)
enum { LIMITS_MEMORY = !__has_feature(address_sanitizer) };
#else
enum { LIMITS_MEMORY = 1 };
#endif

static void limit(pid_t process, const struct rt_web_limits *limits, bool kept)
{
    const struct rlimit memory = {(rlim_t)MOST_MEMORY_MIB << 20, (rlim_t)MOST_MEMORY_MIB << 20};
    const struct rlimit output = {(rlim_t)MOST_OUTPUT_MIB << 20, (rlim_t)MOST_OUTPUT_MIB << 20};
    const struct rlimit cpu = {(rlim_t)(64 * limits->seconds) + 1, RLIM_INFINITY}; /* of all its threads */
    if (LIMITS_MEMORY)
        prlimit(process, RLIMIT_AS, &memory, NULL);
    prlimit(process, RLIMIT_FSIZE, &output, NULL);
    if (!kept)
        prlimit(process, RLIMIT_CPU, &cpu, NULL);
}

/* The environment without what leads to files of the user's: the caches of Hugging Face
 * (models/networks/hub.c). */
static char **child_environment(void)
{
    static const char *const hidden[] = {"HF_", "HUGGINGFACE", "TRANSFORMERS", "XDG_", "HOME="};
    size_t count = 0, kept = 0;
    while (environ[count] != NULL)
        count++;
    char **out = rt_calloc(count + 1, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        size_t h = 0;
        while (h < RT_COUNT(hidden) && strncmp(environ[i], hidden[h], strlen(hidden[h])) != 0)
            h++;
        if (h == RT_COUNT(hidden))
            out[kept++] = environ[i];
    }
    return out;
}

/* Starts the program in the folder with these streams, a group of its own, and no signal blocked. */
static int start(const char *const *words, const char *folder, const int streams[3], pid_t *process)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    sigaddset(&none, SIGPIPE); /* which the server ignores */
    posix_spawnattr_setsigdefault(&attributes, &none);
    posix_spawn_file_actions_init(&actions);
    for (int s = 0; s < 3; s++)
        posix_spawn_file_actions_adddup2(&actions, streams[s], s);
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    char **environment = child_environment();
    int failed = posix_spawn(process, "/proc/self/exe", &actions, &attributes,
                             (char *const *)(uintptr_t)words, environment);
    free(environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed == 0 ? RT_OK : rt_fail(RT_EIO, "no process can be started: %s", strerror(failed));
}

/* ---- one command ---- */

void rt_web_output_release(struct rt_web_output *output)
{
    free(output->out);
    free(output->error);
    free(output->page);
    *output = (struct rt_web_output){0};
}

/* All of a file from its start; NULL where there is none. */
static char *read_all(int file)
{
    off_t size = file >= 0 ? lseek(file, 0, SEEK_END) : -1;
    if (size < 0)
        return NULL;
    char *text = rt_malloc((size_t)size + 1);
    ssize_t length = pread(file, text, (size_t)size, 0);
    text[length > 0 ? length : 0] = '\0';
    return text;
}

static int write_file(const char *folder, const struct rt_web_file *file)
{
    char *path = rt_format("%s/%s", folder, file->name);
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t length = strlen(file->text);
    bool written = to >= 0 && write(to, file->text, length) == (ssize_t)length;
    free(path);
    if (to >= 0)
        close(to);
    return written ? RT_OK : rt_fail(RT_EIO, "the request cannot be kept: %s", strerror(errno));
}

/* Until it ends, or its time is over and it is killed with all that it started. */
static int wait_for(pid_t process, double seconds, int *code)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    double end = rt_clock() + seconds;
    while (waitpid(process, code, WNOHANG) == 0) {
        if (rt_clock() > end) {
            kill(-process, SIGKILL);
            waitpid(process, code, 0);
            return rt_fail(RT_EINTERRUPTED,
                           "this took longer than the %g s that a request may take: ask for less, or "
                           "start the server with a longer --timeout",
                           seconds);
        }
        nanosleep(&pause, NULL);
    }
    kill(-process, SIGKILL); /* whatever it left */
    return RT_OK;
}

static int run_in(const struct rt_web_limits *limits, const char *const *words, const char *folder,
                  const int streams[3], int *code)
{
    pid_t process;
    int status = start(words, folder, streams, &process);
    if (status != RT_OK)
        return status;
    limit(process, limits, false);
    return wait_for(process, limits->seconds, code);
}

static void clean(const char *folder, const struct rt_web_file *files, size_t file_count, const char *page)
{
    for (size_t i = 0; i <= file_count; i++) {
        const char *name = i < file_count ? files[i].name : page;
        char *path = rt_format("%s/%s", folder, name != NULL ? name : "");
        if (name != NULL)
            unlink(path);
        free(path);
    }
    rmdir(folder); /* where a killed process left more, it stays */
}

static void take_page(const char *folder, const char *page, struct rt_web_output *output)
{
    char *path = rt_format("%s/%s", folder, page);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    output->page = read_all(file);
    if (file >= 0)
        close(file);
    free(path);
}

int rt_web_run(const struct rt_web_limits *limits, const char *const *words, const struct rt_web_file *files,
               size_t file_count, const char *page, struct rt_web_output *out)
{
    char *folder = make_folder();
    if (folder == NULL)
        return rt_fail(RT_EIO, "no folder can be made for the request: %s", strerror(errno));
    int streams[3] = {open("/dev/null", O_RDONLY | O_CLOEXEC), memfd_create("out", MFD_CLOEXEC),
                      memfd_create("error", MFD_CLOEXEC)};
    int status = RT_OK, code = 0;
    for (size_t i = 0; status == RT_OK && i < file_count; i++)
        if (files[i].text != NULL)
            status = write_file(folder, &files[i]);
    if (status == RT_OK)
        status = run_in(limits, words, folder, streams, &code);
    if (status == RT_OK) {
        *out = (struct rt_web_output){.exit = WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code),
                                      .out = read_all(streams[1]),
                                      .error = read_all(streams[2])};
        if (page != NULL)
            take_page(folder, page, out);
    }
    for (int s = 0; s < 3; s++)
        if (streams[s] >= 0)
            close(streams[s]);
    clean(folder, files, file_count, page);
    free(folder);
    return status;
}

/* ---- workers ---- */

struct worker {
    pid_t process; /* 0: none runs */
    int to, from;
    size_t lines;
    bool busy;
};

struct rt_web_workers {
    struct rt_web_limits limits;
    char *folder, *predictor;
    pthread_mutex_t lock;
    pthread_cond_t idle;
    struct worker *worker; /* (limits.processes) */
};

struct rt_web_workers *rt_web_workers_new(const struct rt_web_limits *limits, const char *predictor)
{
    struct rt_web_workers *workers = rt_calloc(1, sizeof *workers);
    workers->limits = *limits;
    workers->folder = make_folder();
    workers->predictor = rt_strdup(predictor);
    workers->worker = rt_calloc(limits->processes, sizeof *workers->worker);
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->idle, NULL);
    return workers;
}

static void stop(struct worker *worker)
{
    if (worker->process == 0)
        return;
    kill(-worker->process, SIGKILL);
    waitpid(worker->process, NULL, 0);
    close(worker->to);
    close(worker->from);
    *worker = (struct worker){.busy = worker->busy};
}

void rt_web_workers_free(struct rt_web_workers *workers)
{
    if (workers == NULL)
        return;
    for (size_t i = 0; i < workers->limits.processes; i++)
        stop(&workers->worker[i]);
    if (workers->folder != NULL)
        rmdir(workers->folder);
    pthread_mutex_destroy(&workers->lock);
    pthread_cond_destroy(&workers->idle);
    free(workers->folder);
    free(workers->predictor);
    free(workers->worker);
    free(workers);
}

static int begin(struct rt_web_workers *workers, struct worker *worker)
{
    const char *const words[] = {"rooftile", "predict", "--jobs", "-", "-p", workers->predictor, NULL};
    int to[2], from[2], null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (workers->folder == NULL || null < 0 || pipe2(to, O_CLOEXEC) != 0)
        return rt_fail(RT_EIO, "no process can be started: %s", strerror(errno));
    if (pipe2(from, O_CLOEXEC) != 0) {
        close(to[0]), close(to[1]), close(null);
        return rt_fail(RT_EIO, "no process can be started: %s", strerror(errno));
    }
    int status = start(words, workers->folder, (const int[]){to[0], from[1], null}, &worker->process);
    close(to[0]), close(from[1]), close(null);
    if (status != RT_OK) {
        close(to[1]), close(from[0]);
        worker->process = 0;
        return status;
    }
    limit(worker->process, &workers->limits, true);
    fcntl(to[1], F_SETFL, O_NONBLOCK);
    worker->to = to[1];
    worker->from = from[0];
    return RT_OK;
}

/* Milliseconds until the time; 0: it is over. */
static int left(double end)
{
    double ms = (end - rt_clock()) * 1e3;
    return ms > 0 ? (int)ceil(ms) : 0;
}

static bool send(struct worker *worker, const char *text, size_t length, double end)
{
    while (length > 0) {
        struct pollfd at = {worker->to, POLLOUT, 0};
        ssize_t sent = poll(&at, 1, left(end)) == 1 ? write(worker->to, text, length) : -1;
        if (sent <= 0)
            return false;
        text += sent;
        length -= (size_t)sent;
    }
    return true;
}

/* A line without its end; NULL: it did not come in time, or the process ended. */
static char *receive(struct worker *worker, double end)
{
    struct rt_text line = {0};
    char part[1 << 14];
    for (;;) {
        struct pollfd at = {worker->from, POLLIN, 0};
        ssize_t got = poll(&at, 1, left(end)) == 1 ? read(worker->from, part, sizeof part) : -1;
        if (got <= 0)
            break;
        rt_text_add(&line, "%.*s", (int)got, part);
        if (part[got - 1] == '\n') {
            line.text[line.length - 1] = '\0';
            return rt_text_take(&line);
        }
    }
    rt_text_release(&line);
    return NULL;
}

static int ask(struct rt_web_workers *workers, struct worker *worker, const char *line, char **answer)
{
    double end = rt_clock() + workers->limits.seconds;
    int status = worker->process == 0 ? begin(workers, worker) : RT_OK;
    if (status != RT_OK)
        return status;
    bool sent = send(worker, line, strlen(line), end) && send(worker, "\n", 1, end);
    *answer = sent ? receive(worker, end) : NULL;
    if (*answer == NULL || ++worker->lines >= MOST_LINES)
        stop(worker);
    return *answer != NULL
               ? RT_OK
               : rt_fail(RT_EINTERRUPTED, "no forecast within %g s: ask for less", workers->limits.seconds);
}

int rt_web_ask(struct rt_web_workers *workers, const char *line, char **answer)
{
    struct worker *worker = NULL;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += (time_t)workers->limits.seconds + 1;
    pthread_mutex_lock(&workers->lock);
    while (worker == NULL) {
        for (size_t i = 0; i < workers->limits.processes && worker == NULL; i++)
            if (!workers->worker[i].busy)
                worker = &workers->worker[i];
        if (worker == NULL && pthread_cond_timedwait(&workers->idle, &workers->lock, &end) == ETIMEDOUT) {
            pthread_mutex_unlock(&workers->lock);
            return rt_fail(RT_EINTERRUPTED, "the server is busy: try again later");
        }
    }
    worker->busy = true;
    pthread_mutex_unlock(&workers->lock);
    int status = ask(workers, worker, line, answer);
    pthread_mutex_lock(&workers->lock);
    worker->busy = false;
    pthread_cond_signal(&workers->idle);
    pthread_mutex_unlock(&workers->lock);
    return status;
}
