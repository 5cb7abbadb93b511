/* Units in processes, and what is there already. See crossval.h. */
#include "predict/crossval/crossval.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOG_LIMIT    ((size_t)1 << 24)
#define RECORD_LIMIT ((size_t)1 << 22)
#define POLL_NS      20000000L

/* --- folders --- */

static int make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return RT_OK;
    return rt_fail(RT_EIO, "%s: cannot be made: %s; choose another folder with -o", path, strerror(errno));
}

/* DIR/fold-NAME and DIR/fold-NAME/KIND. */
static int make_unit_folder(const struct rt_unit *unit)
{
    char *fold = rt_strdup(unit->folder);
    *strrchr(fold, '/') = '\0';
    int status = make_folder(fold);
    free(fold);
    return status == RT_OK ? make_folder(unit->folder) : status;
}

int rt_crossval_lock(const char *folder, int *lock)
{
    struct stat file;
    int status = make_folder(folder);
    if (status != RT_OK)
        return status;
    if (stat(folder, &file) != 0 || !S_ISDIR(file.st_mode))
        return rt_fail(RT_EIO, "%s: is no folder; choose another with -o", folder);
    char *path = rt_format("%s/lock", folder);
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0)
        status = rt_fail(RT_EIO, "%s: cannot be written: %s; choose another folder with -o", path,
                         strerror(errno));
    else if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        status = rt_fail(RT_EIO,
                         "%s: another `rooftile crossval` is at work in it; wait for it, or choose "
                         "another folder with -o",
                         folder);
        close(descriptor);
    }
    free(path);
    if (status == RT_OK)
        *lock = descriptor;
    return status;
}

static bool exists(const struct rt_unit *unit, const struct rt_fold_step *step)
{
    char *path = rt_fold_step_path(unit, step);
    bool there = access(path, R_OK) == 0;
    free(path);
    return there;
}

/* --- what is there already --- */

/* A hash of this program: another build may give other numbers. */
static uint64_t hash_program(void)
{
    uint64_t hash = RT_HASH_START;
    unsigned char block[1 << 16];
    size_t got;
    FILE *file = fopen("/proc/self/exe", "r");
    if (file == NULL)
        return 0;
    while ((got = fread(block, 1, sizeof block, file)) > 0)
        hash = rt_hash(hash, block, got);
    fclose(file);
    return hash;
}

/* A line for the program, one for the data, one for each step: everything its output depends on, so without
 * the folder and the names of the data files. */
static char *make_record(const struct rt_crossval *crossval, const struct rt_unit *unit, uint64_t program)
{
    char *text = NULL;
    size_t size = 0, folder = strlen(unit->folder);
    FILE *file = open_memstream(&text, &size);
    if (file == NULL)
        abort();
    fprintf(file, "program rooftile %s %016" PRIx64 "\ndata", RT_VERSION, program);
    for (size_t i = 0; i < crossval->uuids.count; i++)
        fprintf(file, " %s", crossval->uuids.name[i]);
    for (size_t s = 0; s < unit->step_count; s++) {
        const struct rt_fold_step *step = &unit->steps[s];
        fprintf(file, "\n%s:", step->output);
        for (size_t a = 1; a < step->data; a++) {
            const char *argument = step->argv[a], *in_folder = strstr(argument, unit->folder);
            if (in_folder != NULL && in_folder[folder] == '/')
                fprintf(file, " %.*s%s", (int)(in_folder - argument), argument, in_folder + folder + 1);
            else
                fprintf(file, " %s", argument);
        }
    }
    fputc('\n', file);
    fclose(file);
    return text;
}

/* How many steps of the unit two records have in common from the first on. */
static size_t common_steps(const char *a, const char *b, size_t step_count)
{
    for (size_t line = 0; line < step_count + 2; line++) {
        size_t length = strcspn(a, "\n");
        if (a[length] == '\0' || strncmp(a, b, length + 1) != 0)
            return line < 2 ? 0 : line - 2;
        a += length + 1;
        b += length + 1;
    }
    return step_count;
}

static void remove_outputs(const struct rt_unit *unit, const struct rt_fold_step *step)
{
    char *path = rt_fold_step_path(unit, step), *part = rt_fold_step_part_path(unit, step);
    char *checkpoint = rt_format("%s.checkpoint", part), *log = rt_fold_step_log_path(unit, step);
    const char *const paths[] = {path, part, checkpoint, log};
    for (size_t i = 0; i < RT_COUNT(paths); i++)
        unlink(paths[i]);
    free(path);
    free(part);
    free(checkpoint);
    free(log);
}

static int write_record(const char *path, const char *text)
{
    FILE *file;
    char *temporary;
    int status = rt_file_create(path, &file, &temporary);
    if (status != RT_OK)
        return status;
    fputs(text, file);
    return rt_file_finish(file, temporary, path);
}

/* Counts the steps whose outputs are there and were made by the same program, data and options; the others'
 * outputs are removed, unless they are parts of a step that can go on. */
static int prepare_unit(const struct rt_crossval *crossval, struct rt_unit *unit, uint64_t program)
{
    char *path = rt_format("%s/command.txt", unit->folder), *before = NULL;
    char *record = make_record(crossval, unit, program);
    size_t size = 0, same = 0;
    int status = make_unit_folder(unit);
    if (status != RT_OK)
        goto done;
    if (!crossval->options->overwrite && access(path, R_OK) == 0) {
        if ((status = rt_file_read(path, RECORD_LIMIT, &before, &size)) != RT_OK)
            goto done;
        same = common_steps(record, before, unit->step_count);
    }
    unit->done = 0;
    while (unit->done < same && exists(unit, &unit->steps[unit->done]))
        unit->done++;
    if (same < unit->step_count) {
        for (size_t s = same; s < unit->step_count; s++)
            remove_outputs(unit, &unit->steps[s]);
        status = write_record(path, record);
    }
done:
    free(path);
    free(before);
    free(record);
    return status;
}

/* --- processes --- */

/* In the child: never returns. Its own process group, so that Ctrl-C reaches it once, through us; and it does
 * not outlive us, whatever ends us. */
static void become_step(const struct rt_fold_step *step, int log, pid_t parent, const sigset_t *signals)
{
    int null = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_SETMASK, signals, NULL);
    dup2(null, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execv("/proc/self/exe", step->argv);
    static const char sentence[] = "rooftile: this program cannot be started again\n";
    (void)!write(STDERR_FILENO, sentence, sizeof sentence - 1);
    _exit(1);
}

/* Signals wait while it forks: one that the child took with our handler, which only makes a note, would be
 * lost, and the child would run on while we wait for its end. */
static pid_t fork_step(const struct rt_fold_step *step, int log)
{
    sigset_t ends, before;
    pid_t parent = getpid();
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, &before);
    pid_t process = fork();
    if (process == 0)
        become_step(step, log, parent, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return process;
}

static int start_step(struct rt_unit *unit)
{
    const struct rt_fold_step *step = &unit->steps[unit->done];
    char *path = rt_fold_step_log_path(unit, step);
    int log = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0666), status = RT_OK;
    pid_t process = -1;
    if (log < 0)
        status = rt_fail(RT_EIO, "%s: cannot be written: %s", path, strerror(errno));
    else if ((process = fork_step(step, log)) < 0)
        status = rt_fail(RT_EIO, "no further process can be started: %s; use fewer --jobs", strerror(errno));
    if (log >= 0)
        close(log);
    free(path);
    if (status == RT_OK)
        unit->process = process;
    return status;
}

/* Who was killed could not tell: the log does. */
static void note_signal(const struct rt_unit *unit, const struct rt_fold_step *step, int number)
{
    char *path = rt_fold_step_log_path(unit, step);
    FILE *file = fopen(path, "a");
    if (file != NULL) {
        fprintf(file, "\nrooftile: was ended by signal %d (%s)\n", number, strsignal(number));
        fclose(file);
    }
    free(path);
}

/* After the step's process ended: keeps its output, or gives the unit up. */
static int end_of_step(struct rt_unit *unit, int ended)
{
    const struct rt_fold_step *step = &unit->steps[unit->done];
    unit->process = 0;
    if (WIFSIGNALED(ended))
        note_signal(unit, step, WTERMSIG(ended));
    if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0) {
        unit->failed = true;
        return RT_OK;
    }
    char *part = rt_fold_step_part_path(unit, step), *path = rt_fold_step_path(unit, step);
    int status = rt_file_replace(part, path);
    unit->done += status == RT_OK;
    free(part);
    free(path);
    return status;
}

bool rt_unit_failure(const struct rt_unit *unit, const struct rt_fold_step **step, char **message)
{
    size_t s = 0, size;
    while (s < unit->step_count && exists(unit, &unit->steps[s]))
        s++;
    if (s == unit->step_count)
        return false;
    char *path = rt_fold_step_log_path(unit, &unit->steps[s]), *text = NULL, *found = NULL;
    if (access(path, R_OK) == 0 && rt_file_read(path, LOG_LIMIT, &text, &size) == RT_OK)
        for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
            if (strncmp(line, "rooftile: ", 10) == 0 && strncmp(line, "rooftile: warning: ", 19) != 0)
                found = line + 10;
    *step = &unit->steps[s];
    *message = found != NULL  ? rt_strdup(found)
               : text != NULL ? rt_format("failed without a word; see %s", path)
                              : rt_format("was not run: %s is not there", path);
    free(path);
    free(text);
    return true;
}

/* --- all units --- */

struct run {
    struct rt_crossval *crossval;
    struct rt_unit **units; /* those of this rank */
    size_t unit_count, next, running;
    struct rt_progress progress;
    double done; /* weight of what ended */
};

static bool has_ended(const struct rt_unit *unit)
{
    return unit->failed || unit->done == unit->step_count;
}

static double weight_left(const struct rt_unit *unit)
{
    double weight = 0;
    for (size_t s = unit->done; s < unit->step_count; s++)
        weight += unit->steps[s].weight;
    return weight;
}

static void show_progress(struct run *run)
{
    char running[160] = "";
    size_t ended = 0;
    for (size_t u = 0; u < run->unit_count; u++) {
        const struct rt_unit *unit = run->units[u];
        size_t used = strlen(running);
        ended += has_ended(unit);
        if (unit->process > 0)
            snprintf(running + used, sizeof running - used, "%s%s %s %s", used > 0 ? ", " : "  ",
                     unit->fold->name, unit->kind, unit->steps[unit->done].name);
    }
    rt_progress_update(&run->progress, run->done, "%zu of %zu done%s", ended, run->unit_count, running);
}

/* Starts units until --jobs processes run. */
static int fill(struct run *run)
{
    int status = RT_OK;
    while (status == RT_OK && run->running < run->crossval->options->jobs && run->next < run->unit_count) {
        struct rt_unit *unit = run->units[run->next++];
        if (has_ended(unit))
            continue;
        if ((status = start_step(unit)) == RT_OK)
            run->running++;
    }
    return status;
}

/* Looks after the processes once: the next step of each that ended. */
static int tend(struct run *run)
{
    int status = RT_OK, ended;
    for (size_t u = 0; status == RT_OK && u < run->next; u++) {
        struct rt_unit *unit = run->units[u];
        if (unit->process <= 0 || waitpid(unit->process, &ended, WNOHANG) != unit->process)
            continue;
        run->running--;
        double before = weight_left(unit);
        status = end_of_step(unit, ended);
        run->done += before - (unit->failed ? 0 : weight_left(unit));
        if (status == RT_OK && !has_ended(unit) && !rt_interrupted() && (status = start_step(unit)) == RT_OK)
            run->running++;
    }
    return status;
}

/* Asks what still runs to end, and waits: training keeps a checkpoint. */
static void stop(struct run *run)
{
    int ended;
    for (size_t u = 0; u < run->next; u++)
        if (run->units[u]->process > 0)
            kill(run->units[u]->process, SIGTERM);
    for (size_t u = 0; u < run->next; u++) {
        struct rt_unit *unit = run->units[u];
        while (unit->process > 0 && waitpid(unit->process, &ended, 0) < 0 && errno == EINTR)
            continue;
        unit->process = 0;
    }
    run->running = 0;
}

static int run_units(struct run *run)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    int status = fill(run);
    while (status == RT_OK && run->running > 0 && !rt_interrupted()) {
        show_progress(run);
        nanosleep(&pause, NULL);
        if ((status = tend(run)) == RT_OK && !rt_interrupted())
            status = fill(run);
    }
    stop(run);
    if (status != RT_OK || !rt_interrupted())
        return status;
    return rt_fail(RT_EINTERRUPTED, "interrupted; what is complete is kept in %s, the same command goes on",
                   run->crossval->options->out);
}

int rt_crossval_run(struct rt_crossval *crossval, int rank, int size)
{
    struct run run = {.crossval = crossval};
    uint64_t program = hash_program();
    double left = 0;
    int status = make_folder(crossval->options->out);
    run.units = rt_calloc(crossval->unit_count + 1, sizeof(struct rt_unit *));
    for (size_t u = 0; status == RT_OK && u < crossval->unit_count; u++) {
        struct rt_unit *unit = &crossval->units[u];
        if ((unit->fold - crossval->folds) % size != rank)
            continue;
        status = prepare_unit(crossval, unit, program);
        run.units[run.unit_count++] = unit;
        left += weight_left(unit);
    }
    if (status == RT_OK) {
        rt_progress_start(&run.progress, "crossval", left, crossval->options->quiet || rank != 0);
        status = run_units(&run);
        rt_progress_end(&run.progress);
    }
    free(run.units);
    return status;
}
