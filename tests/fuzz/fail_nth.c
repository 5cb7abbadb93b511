/*
 * Allocations that fail, as SQLite's tests have them (https://www.sqlite.org/testing.html, "out-of-memory
 * testing"): preloaded before a command, it lets the command run once; at each allocation from the FROMth to
 * the TOth the process forks, and the child goes on without that memory. So a failure costs what comes after
 * it, which is little, and not the run before it.
 *
 *     LD_PRELOAD=fail_nth.so FAIL_COUNT=FILE rooftile ...           runs it once as it is; FILE gets how many there are
 *     LD_PRELOAD=fail_nth.so FAIL_FROM=1 FAIL_TO=900 FAIL_LOG=FILE FAIL_SAID=OUTPUT
 *         [FAIL_MADE=OUT FAIL_WHOLE=REFERENCE FAIL_OLD=BEFORE] rooftile ...
 *
 * FILE gets a line for each child that ended as none may: by a signal; not within a minute; with status 0 and
 * another standard output than OUTPUT, of commands without OUT (reports of others say how long they took);
 * with another OUT than REFERENCE; with another status and no sentence; by a signal or with another status
 * and an OUT that is neither REFERENCE nor BEFORE, which is what OUT was when the command began. The line
 * ends with where the allocation was asked for: offsets in the program, the innermost first (addr2line -f).
 *
 * A child works in a folder of its own, "failing", with copies of the files "out*" and a link to "in"; files
 * that are open for writing are its copies. Offsets of files that it shares are put back. What the command
 * starts itself is left alone.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What glibc's malloc(3) calls. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

enum { SECONDS = 60, LOOKED_AT = 1 << 16, FRAMES = 16, FILES = 64 };
static const char folder[] = "failing";

static atomic_long made;
static long from, to = -1; /* allocations at which it forks */
static bool busy;          /* allocations of this file's own */
static char count_path[4096];
static int said = -1; /* a file in memory: what the command has written to standard output */

/* ---- what a child left ---- */

static bool same_start(int a, int b)
{
    static char x[LOOKED_AT], y[LOOKED_AT];
    ssize_t in_a = pread(a, x, sizeof x, 0), in_b = pread(b, y, sizeof y, 0);
    return in_a == in_b && in_a >= 0 && memcmp(x, y, (size_t)in_a) == 0;
}

static bool same_file(int a, const char *path)
{
    struct stat x, y;
    int b = open(path, O_RDONLY);
    bool same =
        b >= 0 && fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_size == y.st_size && same_start(a, b);
    close(b);
    return same;
}

/* Has the file of the name in the child's folder the bytes of the reference? */
static bool is_like(const char *name, const char *reference)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_RDONLY);
    bool same = file >= 0 && same_file(file, reference);
    close(file);
    return same;
}

/* What was wrong; NULL: nothing. */
static const char *judge(int status, int out, int err)
{
    const char *name = getenv("FAIL_MADE"), *reference = getenv("FAIL_WHOLE"), *old = getenv("FAIL_OLD");
    struct stat sentence;
    bool whole = name == NULL || is_like(name, reference),
         ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!whole && !ended && !is_like(name, old))
        return "an output is lost";
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGALRM ? "does not end" : strsignal(WTERMSIG(status));
    if (WEXITSTATUS(status) > 2)
        return "exit status above 2";
    if (WEXITSTATUS(status) != 0)
        return fstat(err, &sentence) == 0 && sentence.st_size > 0 ? NULL : "fails without a sentence";
    if (name == NULL && !same_file(out, getenv("FAIL_SAID")))
        return "status 0, another output";
    return whole ? NULL : "status 0, another file";
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

/* ---- the child's folder ---- */

static void copy(int from_file, int to_file)
{
    off_t at = 0;
    while (sendfile(to_file, from_file, &at, 1 << 30) > 0)
        ;
}

static void make_folder(void)
{
    char path[512];
    DIR *here = opendir(".");
    mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s/in", folder);
    symlink("../in", path);
    for (struct dirent *entry; here != NULL && (entry = readdir(here)) != NULL;) {
        if (strncmp(entry->d_name, "out", 3) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        int source = open(entry->d_name, O_RDONLY), target = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        copy(source, target);
        close(source);
        close(target);
    }
    closedir(here);
}

static void clear_folder(void)
{
    DIR *it = opendir(folder);
    for (struct dirent *entry; it != NULL && (entry = readdir(it)) != NULL;)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(it), entry->d_name, 0);
    if (it != NULL)
        closedir(it);
}

/* Files of ".", "out*", that are open for writing become the copies. */
static void use_copies(void)
{
    char link[64], path[4096], here[2048];
    size_t length = getcwd(here, sizeof here) != NULL ? strlen(here) : 0;
    for (int file = 3; file < FILES; file++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t size = readlink(link, path, sizeof path - 1);
        int mode = fcntl(file, F_GETFL);
        if (size <= 0 || mode < 0 || (mode & O_ACCMODE) == O_RDONLY)
            continue;
        path[size] = '\0';
        if (strncmp(path, here, length) != 0 || strncmp(path + length, "/out", 4) != 0)
            continue;
        char own[4200];
        snprintf(own, sizeof own, "%s/%s", folder, path + length + 1);
        int copied = open(own, mode & (O_ACCMODE | O_APPEND));
        if (copied < 0)
            continue;
        lseek(copied, lseek(file, 0, SEEK_CUR), SEEK_SET);
        dup3(copied, file, O_CLOEXEC);
        close(copied);
    }
}

/* ---- a child for each ---- */

static int memory_file(void)
{
    return memfd_create("fail_nth", MFD_CLOEXEC);
}

static void begin_child(int out, int err, int place)
{
    void *frames[FRAMES];
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), place);
    copy(said, out);
    lseek(out, 0, SEEK_END);
    use_copies();
    if (chdir(folder) != 0)
        _exit(99);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    alarm(SECONDS);
    to = -1;
}

static void log_wrong(long n, const char *wrong, int place)
{
    FILE *log = fopen(getenv("FAIL_LOG"), "a");
    if (log == NULL)
        _exit(1);
    fprintf(log, "%ld %s:", n, wrong);
    print_place(log, place);
    fprintf(log, "\n");
    fclose(log);
}

/* True in the child. */
static bool fork_child(long n)
{
    off_t at[FILES];
    int status = 0, out = memory_file(), err = memory_file(), place = memory_file();
    for (int file = 0; file < FILES; file++)
        at[file] = lseek(file, 0, SEEK_CUR);
    make_folder();
    pid_t child = fork();
    if (child == 0) {
        begin_child(out, err, place);
        return true;
    }
    waitpid(child, &status, 0);
    for (int file = 0; file < FILES; file++)
        if (at[file] >= 0)
            lseek(file, at[file], SEEK_SET);
    const char *wrong = judge(status, out, err);
    if (wrong != NULL)
        log_wrong(n, wrong, place);
    clear_folder();
    close(out);
    close(err);
    close(place);
    return false;
}

__attribute__((constructor)) static void begin(void)
{
    const char *first = getenv("FAIL_FROM"), *last = getenv("FAIL_TO"), *path = getenv("FAIL_COUNT");
    snprintf(count_path, sizeof count_path, "%s", path != NULL ? path : "");
    unsetenv("LD_PRELOAD");
    if (first != NULL && last != NULL && getenv("FAIL_LOG") != NULL && getenv("FAIL_SAID") != NULL) {
        void *frames[2];
        backtrace(frames, 2); /* loads what it needs */
        said = memory_file();
        dup2(said, STDOUT_FILENO);
        from = strtol(first, NULL, 10);
        to = strtol(last, NULL, 10);
    }
    made = 0;
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

/* Relative names stay so: the child's files lie in its folder. */
char *realpath(const char *path, char *room)
{
    char *(*real)(const char *, char *) = (char *(*)(const char *, char *))dlsym(RTLD_NEXT, "realpath");
    if (path[0] == '/' || said < 0)
        return real(path, room);
    return access(path, F_OK) != 0 ? NULL : room != NULL ? strcpy(room, path) : strdup(path);
}

/* ---- allocations ---- */

static bool is_failing(void)
{
    if (busy)
        return false;
    long n = atomic_fetch_add(&made, 1) + 1;
    if (n < from || n > to)
        return false;
    busy = true;
    bool fails = fork_child(n);
    busy = false;
    if (fails)
        errno = ENOMEM;
    return fails;
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
