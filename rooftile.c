/*
 * The program: what it needs of its surroundings before any command runs (memory, streams, the environment),
 * `rooftile --version`, and main(). The commands are in commands.c.
 */
#include "base/csv.h"
#include "base/h5.h"
#include "base/pager.h"
#include "base/progress.h"
#include "base/report.h"
#include "base/revision.h"
#include "base/status.h"
#include "base/terminal.h"
#include "base/threads.h"
#include "base/version.h"
#include "collect/backend.h"
#include "commands.h"
#include "models/networks/onnx/onnx.h"
#include "models/predictors/nn/blas.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

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
    static const char sentence[] = "rooftile: the address space of this process is limited to less than the "
                                   "256 MiB that it needs; raise the limit (ulimit -v)\n";
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

/* The program computes with OpenBLAS in the threads of base/threads.h, one product a thread (blas.h).
 * OpenBLAS starts threads of its own before main() all the same, and those poll for 10 ms: as long as the
 * forecast of a model takes. So it starts none, unless the user asks for them; this runs before the
 * constructor of an OpenBLAS that the program holds. */
__attribute__((constructor(101))) static void keep_blas_to_one_thread(void)
{
    kept_to_one = getenv(BLAS_THREADS) == NULL && getenv("GOTO_NUM_THREADS") == NULL &&
                  getenv("OMP_NUM_THREADS") == NULL && setenv(BLAS_THREADS, "1", 0) == 0;
}

/* Takes out of the environment what was set for OpenBLAS alone: programs that this one starts get the user's.
 */
static void restore_environment(void)
{
    if (kept_to_one)
        unsetenv(BLAS_THREADS);
}

/* ---- streams ---- */

/* Standard streams that are closed become /dev/null, so that no file takes their numbers. Reading and writing
 * them fails as it did: what cannot be printed is an error. */
static void open_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null",
                        stream == STDIN_FILENO ? O_WRONLY : O_RDONLY); /* the lowest free number */
}

/* ---- environment ---- */

static int check_environment(void)
{
    if (rt_time_is_given_right())
        return RT_OK;
    return rt_fail(RT_EUSAGE,
                   "SOURCE_DATE_EPOCH=%.40s: is no time; it must be a whole number of seconds since 1970, of "
                   "a year up to 9999; correct or unset it",
                   getenv("SOURCE_DATE_EPOCH"));
}

/* ---- --version: what the program is built of, and what it finds ---- */

#ifdef __clang__
#define COMPILER "clang "
#else
#define COMPILER "gcc "
#endif

static bool has_backend(const char *name)
{
    size_t b = 0;
    while (b < rt_backend_count && strcmp(rt_backends[b]->name, name) != 0)
        b++;
    return b < rt_backend_count;
}

static void add_libraries(struct rt_report *report)
{
    const char *onnx = rt_onnx_library();
    rt_report_add_text(report, "libraries.hdf5", "HDF5", rt_h5_library());
    rt_report_add_text(report, "libraries.openblas", "OpenBLAS", rt_blas_library());
    rt_report_add_text(report, "libraries.jansson", "jansson", jansson_version_str());
    rt_report_add_text(report, "libraries.libcsv", "libcsv", rt_csv_library());
    rt_report_add_text(report, "libraries.zlib", "zlib", zlibVersion());
    rt_report_add_fact(report, "libraries.protobuf_c", onnx != NULL ? json_string(onnx) : json_null(), "ONNX",
                       "%s%s", onnx != NULL ? "read by protobuf-c " : "not built in",
                       onnx != NULL ? onnx : "");
}

/* Prints "rooftile 0.1.0" and a line each for the revision, the compiler, libraries and tools; all of it as
 * JSON where argv[2] is --json. RT_EUSAGE for other words behind it. */
static int print_version(int argc, char **argv)
{
    bool json = argc == 3 && strcmp(argv[2], "--json") == 0;
    if (argc > 2 && !json)
        return rt_fail(RT_EUSAGE, "--version %s: say nothing behind --version, or --json", argv[2]);
    struct rt_report *report = rt_report_new();
    bool cuda = has_backend("cuda");
    rt_report_add_title(report, "rooftile " RT_VERSION);
    rt_report_add_json(report, "version", json_string(RT_VERSION));
    rt_report_add_text(report, "revision", "revision", RT_REVISION[0] != '\0' ? RT_REVISION : NULL);
    rt_report_add_text(report, "compiler", "compiler", COMPILER __VERSION__);
    add_libraries(report);
    rt_report_add_fact(report, "cuda", json_boolean(cuda), "CUDA backend", "%s",
                       cuda ? "built in; the driver and its libraries are opened at run time"
                            : "not built in");
    return rt_report_end(report, json);
}

/* ---- main ---- */

/* As JSON, too, where that was asked for. */
static void print_error(int status, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "-j") == 0) {
            rt_report_print_error(status);
            break;
        }
    struct rt_terminal terminal = rt_terminal_of(stderr);
    fprintf(stderr, "%srooftile:%s %s\n", rt_terminal_style(&terminal, RT_STYLE_RED),
            rt_terminal_style(&terminal, RT_STYLE_NONE), rt_error());
}

/* As newcomers type it, too. */
static bool is_version(const char *word)
{
    return strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 || strcmp(word, "version") == 0;
}

/* HDF5 1.10 ends the program by exit(-1), without a word, where it has no memory for an identifier. */
static void speak_for_hdf5(int status, void *unused)
{
    (void)unused;
    if (status != -1)
        return;
    fputs("rooftile: out of memory (HDF5)\n", stderr); /* which has no buffer */
    _exit(1);
}

int main(int argc, char **argv)
{
    on_exit(speak_for_hdf5, NULL);
    open_streams();
    rt_error_names_options(true);
    json_set_alloc_funcs(rt_malloc, free); /* without memory jansson would leave values out in silence */
    restore_environment();
    rt_blas_tune(argv);
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is an error of write(), reported in a sentence */
    if (argc > 1 && strcmp(argv[1], "--no-pager") == 0) {
        rt_pager_off();
        argc--, argv++;
    }
    argv[0] = (char[]){"rooftile"};
    int status = check_environment();
    if (status == RT_OK)
        status = argc > 1 && is_version(argv[1]) ? print_version(argc, argv)
                                                 : rt_command_run(&rt_program, argc, argv);
    if (status == RT_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = rt_fail(RT_EIO, "standard output cannot be written");
    if (status != RT_OK)
        print_error(status, argc, argv);
    return rt_exit_status(status);
}
