/*
 * Allocations that fail, as SQLite's tests have them (https://www.sqlite.org/testing.html, "out-of-memory
 * testing"): preloaded before a command, it runs the command once for each N of FROM to TO, a process each,
 * in which the Nth allocation returns NULL. What the command starts itself is left alone.
 *
 *     LD_PRELOAD=fail_nth.so FAIL_COUNT=FILE rooftile ...           runs it once as it is; FILE gets how many there are
 *     LD_PRELOAD=fail_nth.so FAIL_FROM=1 FAIL_TO=900 FAIL_LOG=FILE [FAIL_MADE=OUT FAIL_WHOLE=REFERENCE] rooftile ...
 *
 * FILE gets a line for each run that ended as none may: by a signal; not within a minute; with status 0 and
 * another standard output than the first such run had, of commands without OUT (reports of others say how
 * long they took); with another OUT than REFERENCE; with another status and no sentence. The line ends with
 * where the allocation was asked for: offsets in the program, the innermost first (addr2line -f).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What glibc's malloc(3) calls. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

enum { SECONDS = 60, LOOKED_AT = 1 << 16, FRAMES = 16 };

static atomic_long made, fails = -1;
static char count_path[4096];
static int place = -1; /* a file in memory: who asked for it */

/* ---- what a run left ---- */

static bool same_start(int a, int b)
{
    static char x[LOOKED_AT], y[LOOKED_AT];
    ssize_t in_a = pread(a, x, sizeof x, 0), in_b = pread(b, y, sizeof y, 0);
    return in_a == in_b && in_a >= 0 && memcmp(x, y, (size_t)in_a) == 0;
}

/* Is there a file of the name, with other bytes than the reference? */
static bool differs(const char *made_path, const char *reference)
{
    struct stat a, b;
    int x = open(made_path, O_RDONLY), y = open(reference, O_RDONLY);
    bool other = x >= 0 && y >= 0 &&
                 (fstat(x, &a) != 0 || fstat(y, &b) != 0 || a.st_size != b.st_size || !same_start(x, y));
    close(x);
    close(y);
    return other;
}

/* What was wrong; NULL: nothing. */
static const char *judge(int status, int out, int err, int first)
{
    const char *made_path = getenv("FAIL_MADE"), *reference = getenv("FAIL_WHOLE");
    struct stat said;
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGALRM ? "does not end" : strsignal(WTERMSIG(status));
    if (WEXITSTATUS(status) > 2)
        return "exit status above 2";
    if (WEXITSTATUS(status) != 0)
        return fstat(err, &said) == 0 && said.st_size > 0 ? NULL : "fails without a sentence";
    if (first >= 0 && made_path == NULL && !same_start(out, first))
        return "status 0, another output";
    return made_path != NULL && reference != NULL && differs(made_path, reference) ? "status 0, another file"
                                                                                   : NULL;
}

/* ---- a process for each ---- */

static int memory_file(void)
{
    return memfd_create("fail_nth", MFD_CLOEXEC);
}

/* The offsets of "program(+0x1234)" in what backtrace_symbols_fd() wrote. */
static void print_place(FILE *log, int file)
{
    static char text[8192];
    ssize_t length = pread(file, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *offset = strstr(line, "rooftile(+"), *end = offset != NULL ? strchr(offset, ')') : NULL;
        if (end != NULL)
            fprintf(log, " %.*s", (int)(end - offset - 10), offset + 10);
    }
}

/* Returns in each child, with `fails` set; the parent ends here. */
static void run_each(long from, long to)
{
    FILE *log = fopen(getenv("FAIL_LOG"), "a");
    int first = -1;
    for (long n = from; log != NULL && n <= to; n++) {
        int out = memory_file(), err = memory_file(), status = 0;
        place = memory_file();
        pid_t child = fork();
        if (child == 0) {
            dup2(out, STDOUT_FILENO);
            dup2(err, STDERR_FILENO);
            alarm(SECONDS);
            made = 0;
            fails = n;
            return;
        }
        waitpid(child, &status, 0);
        const char *wrong = judge(status, out, err, first);
        if (wrong != NULL) {
            fprintf(log, "%ld %s:", n, wrong);
            print_place(log, place);
            fprintf(log, "\n");
        }
        fflush(log);
        close(place);
        if (first < 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
            first = out;
        else
            close(out);
        close(err);
    }
    _exit(log == NULL);
}

__attribute__((constructor)) static void begin(void)
{
    const char *from = getenv("FAIL_FROM"), *to = getenv("FAIL_TO"), *path = getenv("FAIL_COUNT");
    snprintf(count_path, sizeof count_path, "%s", path != NULL ? path : "");
    unsetenv("LD_PRELOAD");
    if (from != NULL && to != NULL && getenv("FAIL_LOG") != NULL) {
        void *frames[2];
        backtrace(frames, 2); /* loads what it needs */
        run_each(strtol(from, NULL, 10), strtol(to, NULL, 10));
    } else {
        made = 0;
    }
}

__attribute__((destructor)) static void end(void)
{
    long count = made;
    FILE *file = count_path[0] != '\0' ? fopen(count_path, "w") : NULL;
    if (file != NULL) {
        fprintf(file, "%ld\n", count);
        fclose(file);
    }
}

/* ---- allocations ---- */

static bool is_failing(void)
{
    if (atomic_fetch_add(&made, 1) + 1 != fails)
        return false;
    void *frames[FRAMES];
    fails = -1;
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), place);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return is_failing() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return is_failing() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return is_failing() ? NULL : __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return is_failing() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    void *room = is_failing() ? NULL : __libc_memalign(alignment, size);
    if (room == NULL)
        return ENOMEM;
    *block = room;
    return 0;
}
