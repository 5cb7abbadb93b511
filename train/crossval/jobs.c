/* Child processes of cross-validation. See fold_file.h. */
#include "train/crossval/fold_file.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS 20000000L

/* A unit of this shard whose fold file is to be made. */
struct job {
    const struct rt_unit *unit;
    pid_t process; /* 0: does not run */
    int lock;
    volatile double *share; /* of its training that is done, which its process says; shared memory */
};

struct jobs {
    const struct rt_crossval *crossval;
    struct job *job;
    size_t count, next, running, ended;
    struct rt_progress progress;
};

/* --- folders --- */

static int make_folder(const char *path)
{
    struct stat file;
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return rt_fail(RT_EIO, "%s: cannot be made: %s; choose another folder with -o", path,
                       strerror(errno));
    if (stat(path, &file) != 0 || !S_ISDIR(file.st_mode))
        return rt_fail(RT_EIO, "%s: is no folder; choose another with -o", path);
    return RT_OK;
}

/* DIR/fold-NAME and DIR/fold-NAME/KIND, locked for as long as *lock is open here or in the child. */
static int enter_folder(const struct rt_unit *unit, int *lock)
{
    char *fold = rt_strdup(unit->folder), *path = rt_unit_path(unit, "lock");
    *strrchr(fold, '/') = '\0';
    int status = make_folder(fold);
    if (status == RT_OK)
        status = make_folder(unit->folder);
    *lock = status == RT_OK ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (status == RT_OK && *lock < 0)
        status = rt_fail(RT_EIO, "%s: cannot be written: %s; choose another folder with -o", path,
                         strerror(errno));
    if (status == RT_OK && flock(*lock, LOCK_EX | LOCK_NB) != 0) {
        close(*lock);
        status = rt_fail(RT_EIO,
                         "%s: another `rooftile crossval` is at work in it; wait for it, or choose another "
                         "folder with -o",
                         unit->folder);
    }
    free(fold);
    free(path);
    return status;
}

/* --- a child --- */

static void redirect(const struct rt_unit *unit)
{
    char *path = rt_unit_path(unit, "log.txt");
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC),
        log = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    dup2(null, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    free(path);
}

/* Never returns, and leaves without what the parent has to do at its end. */
static void become_unit(const struct rt_crossval *crossval, const struct job *job, pid_t parent,
                        const sigset_t *signals)
{
    const struct rt_unit *unit = job->unit;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    sigprocmask(SIG_SETMASK, signals, NULL);
    redirect(unit);
    rt_progress_share(job->share);
    int status = rt_fold_run(crossval, unit);
    if (status != RT_OK)
        fprintf(stderr, "rooftile: %s\n", rt_error());
    _exit(status == RT_OK ? 0 : 1);
}

/* Signals wait until the child is a process group of its own. */
static int start(const struct rt_crossval *crossval, struct job *job)
{
    sigset_t ends, before;
    pid_t parent = getpid();
    int status = enter_folder(job->unit, &job->lock);
    if (status != RT_OK)
        return status;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, &before);
    job->process = fork();
    if (job->process == 0)
        become_unit(crossval, job, parent, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (job->process > 0)
        return RT_OK;
    close(job->lock);
    return rt_fail(RT_EIO, "no further process can be started: %s; use fewer {jobs}", strerror(errno));
}

/* What was killed could not say so itself. */
static int end(const struct rt_crossval *crossval, struct job *job, int ended)
{
    int status = RT_OK;
    if (WIFSIGNALED(ended) && !rt_interrupted()) {
        char *why = rt_format("was ended by signal %d (%s)", WTERMSIG(ended), strsignal(WTERMSIG(ended)));
        status = rt_fold_file_write_failure(crossval, job->unit, why);
        free(why);
    }
    job->process = 0;
    close(job->lock);
    return status;
}

/* --- all of them --- */

static void show_progress(struct jobs *jobs)
{
    struct rt_text running = {0};
    double done = (double)jobs->ended;
    for (size_t j = 0; j < jobs->next; j++)
        if (jobs->job[j].process > 0) {
            double share = *jobs->job[j].share;
            done += share;
            rt_text_item(&running, ", ", "%s %s %.0f%%", jobs->job[j].unit->fold->name,
                         jobs->job[j].unit->kind, 100 * share);
        }
    char *text = rt_text_take(&running);
    rt_progress_update(&jobs->progress, done, "%zu of %zu done  %.160s", jobs->ended, jobs->count, text);
    free(text);
}

static int fill(struct jobs *jobs)
{
    int status = RT_OK;
    while (status == RT_OK && jobs->running < jobs->crossval->options->jobs && jobs->next < jobs->count)
        if ((status = start(jobs->crossval, &jobs->job[jobs->next])) == RT_OK) {
            jobs->next++;
            jobs->running++;
        }
    return status;
}

/* Reaps the children that ended. */
static int reap(struct jobs *jobs, int options)
{
    int status = RT_OK, ended;
    for (size_t j = 0; j < jobs->next; j++) {
        struct job *job = &jobs->job[j];
        pid_t found = 0;
        while (job->process > 0 && (found = waitpid(job->process, &ended, options)) < 0 && errno == EINTR)
            continue;
        if (job->process <= 0 || found != job->process)
            continue;
        int failed = end(jobs->crossval, job, ended);
        status = status == RT_OK ? failed : status;
        jobs->running--;
        jobs->ended++;
    }
    return status;
}

/* Training keeps a checkpoint when it is asked to end. */
static void stop(struct jobs *jobs)
{
    for (size_t j = 0; j < jobs->next; j++)
        if (jobs->job[j].process > 0)
            kill(jobs->job[j].process, SIGTERM);
    reap(jobs, 0);
}

static int run_jobs(struct jobs *jobs)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    int status = rt_interrupted() ? RT_OK : fill(jobs);
    while (status == RT_OK && jobs->running > 0 && !rt_interrupted()) {
        show_progress(jobs);
        nanosleep(&pause, NULL);
        if ((status = reap(jobs, WNOHANG)) == RT_OK && !rt_interrupted())
            status = fill(jobs);
    }
    stop(jobs);
    if (status != RT_OK || !rt_interrupted())
        return status;
    return rt_fail(RT_EINTERRUPTED, "interrupted; what is complete is kept in %s, the same command goes on",
                   jobs->crossval->options->out);
}

/* The units of the shard without a fold file of theirs, or with one that says that it failed. */
static int find_jobs(struct jobs *jobs)
{
    const struct rt_crossval *crossval = jobs->crossval;
    const struct rt_crossval_options *options = crossval->options;
    for (size_t u = 0; u < crossval->unit_count; u++) {
        const struct rt_unit *unit = &crossval->units[u];
        json_t *file = NULL;
        if (!rt_shard_has(options->shard, (size_t)(unit->fold - crossval->folds)))
            continue;
        int status = options->overwrite ? RT_OK : rt_fold_file_read(crossval, unit, &file);
        if (status == RT_OK && rt_fold_file_failure(file) != NULL)
            jobs->job[jobs->count++].unit = unit;
        json_decref(file);
        if (status != RT_OK)
            return status;
    }
    return RT_OK;
}

int rt_crossval_run(const struct rt_crossval *crossval)
{
    struct jobs jobs = {.crossval = crossval};
    int status = make_folder(crossval->options->out);
    jobs.job = rt_calloc(crossval->unit_count + 1, sizeof *jobs.job);
    size_t size = (crossval->unit_count + 1) * sizeof(double);
    double *shares = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (status == RT_OK && shares == MAP_FAILED)
        status = rt_fail(RT_EIO, "no memory to share with processes: %s", strerror(errno));
    for (size_t j = 0; j < crossval->unit_count; j++)
        jobs.job[j].share = shares + j;
    if (status == RT_OK)
        status = find_jobs(&jobs);
    if (status == RT_OK) {
        rt_progress_start(&jobs.progress, "crossval", (double)jobs.count, crossval->options->quiet);
        status = run_jobs(&jobs);
        rt_progress_end(&jobs.progress);
    }
    if (shares != MAP_FAILED)
        munmap(shares, size);
    free(jobs.job);
    return status;
}
