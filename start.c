/* Memory, streams and the environment at the start. See start.h. */
#include "start.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory ---- */

#define BLAS_THREADS "OPENBLAS_NUM_THREADS"

static const char *find_variable(char **environment, const char *name)
{
    size_t length = strlen(name);
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

/* Starts the program again with OpenBLAS kept to `room` threads; returns where that fails. */
static void start_with_threads(char **argv, char **environment, size_t room)
{
    static char setting[sizeof BLAS_THREADS + 24];
    size_t count = 0;
    while (environment[count] != NULL)
        count++;
    char **changed = calloc(count + 2, sizeof *changed);
    if (changed == NULL)
        return;
    snprintf(setting, sizeof setting, BLAS_THREADS "=%zu", room);
    changed[0] = setting; /* the first of a name counts */
    memcpy(changed + 1, environment, count * sizeof *changed);
    execve("/proc/self/exe", argv, changed);
    free(changed);
}

/* OpenBLAS takes a buffer for each of its threads before main(), and where the address space has no room for
 * it tries for a minute. So this runs before: a sentence where there is no room for one, and no more threads
 * than there is room for. */
static void check_memory(int argc, char **argv, char **environment)
{
    static const char sentence[] =
        "rooftile: the address space of this process is limited to less than the 256 MiB "
        "that it needs; raise the limit (ulimit -v)\n";
    size_t room = rt_threads_room();
    const char *given = find_variable(environment, BLAS_THREADS);
    size_t wanted = given != NULL ? strtoul(given, NULL, 10) : 0;
    (void)argc;
    if (room == 0) {
        if (write(STDERR_FILENO, sentence, sizeof sentence - 1) < 0)
            _exit(1);
        _exit(1);
    }
    if (room < RT_THREADS_MAX && (wanted < 1 || wanted > room))
        start_with_threads(argv, environment, room);
}

/* glibc calls these before the constructors of the program and its libraries, with the arguments of main().
 */
__attribute__((section(".preinit_array"), used)) static void (*const before_all)(int, char **,
                                                                                 char **) = check_memory;

/* ---- threads of OpenBLAS ---- */

static bool kept_to_one;

/* The program computes with OpenBLAS in the threads of base/threads.h, one product a thread (blas.h). OpenBLAS
 * starts threads of its own before main() all the same, and those poll for 10 ms: as long as the forecast of a
 * model takes. So it starts none, unless the user asks for them; this runs before the constructor of an
 * OpenBLAS that the program holds. */
__attribute__((constructor(101))) static void keep_blas_to_one_thread(void)
{
    kept_to_one = getenv(BLAS_THREADS) == NULL && getenv("GOTO_NUM_THREADS") == NULL &&
                  getenv("OMP_NUM_THREADS") == NULL && setenv(BLAS_THREADS, "1", 0) == 0;
}

void rt_start_environment(void)
{
    if (kept_to_one)
        unsetenv(BLAS_THREADS);
}

/* ---- streams ---- */

void rt_start_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null",
                        stream == STDIN_FILENO ? O_WRONLY : O_RDONLY); /* the lowest free number */
}

/* ---- environment ---- */

int rt_start_check(void)
{
    if (rt_time_is_given_right())
        return RT_OK;
    return rt_fail(
        RT_EUSAGE,
        "SOURCE_DATE_EPOCH=%.40s: is no time; it must be a whole number of seconds since 1970, of a year "
        "up to 9999; correct or unset it",
        getenv("SOURCE_DATE_EPOCH"));
}
