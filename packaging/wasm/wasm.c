/* rooftile for WebAssembly: the commands that forecast, called by page.js as often as it likes. */
#include "base/options.h"
#include "base/report.h"
#include "base/status.h"
#include "base/version.h"
#include "models/predictors/predictor/predictor.h"

#include <emscripten.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct rt_command rt_command_predict, rt_command_simulate, rt_command_plan, rt_command_devices,
    rt_command_graph;
static const struct rt_command *const commands[] = {&rt_command_predict, &rt_command_simulate,
                                                    &rt_command_plan, &rt_command_devices, &rt_command_graph};
const struct rt_command rt_program = {
    .about = "rooftile " RT_VERSION ", in a browser",
    .commands = commands,
    .command_count = RT_COUNT(commands),
};

/* ---- what emscripten has not: there is one processor ---- */

int sched_getaffinity(int process, size_t size, void *set)
{
    (void)process, (void)size, (void)set;
    errno = ENOSYS;
    return -1;
}

int __sched_cpucount(size_t size, const void *set)
{
    (void)size, (void)set;
    return 1;
}

long syscall(long number, ...)
{
    (void)number; /* a futex, which nobody waits at */
    errno = ENOSYS;
    return -1;
}

ssize_t getrandom(void *bytes, size_t size, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)(emscripten_random() * 256);
    return (ssize_t)size;
}

/* ---- the predictor is read once: commands open and release it each time, and the linker brings them here
 * (--wrap) ---- */

int __real_rt_predictor_open(const char *name, struct rt_predictor *out);
void __real_rt_predictor_release(struct rt_predictor *predictor);
static struct rt_predictor kept;
static bool is_kept;

int __wrap_rt_predictor_open(const char *name, struct rt_predictor *out)
{
    if (strcmp(name, "pretrained") != 0)
        return __real_rt_predictor_open(name, out);
    int status = is_kept ? RT_OK : __real_rt_predictor_open(name, &kept);
    is_kept = status == RT_OK;
    if (is_kept)
        *out = kept;
    return status;
}

void __wrap_rt_predictor_release(struct rt_predictor *predictor)
{
    if (!is_kept || predictor->nets != kept.nets)
        __real_rt_predictor_release(predictor);
}

/* The command of these words, one a line: what it prints goes to Module.print, its sentence to
 * Module.printErr. The exit status. */
EMSCRIPTEN_KEEPALIVE int rooftile_run(char *lines)
{
    enum { MOST = 128 };
    char *argv[MOST + 2] = {"rooftile"}, *word;
    int argc = 1;
    while (argc <= MOST && (word = strsep(&lines, "\n")) != NULL)
        argv[argc++] = word;
    rt_error_names_options(true);
    int status = rt_command_run(&rt_program, argc, argv);
    if (status != RT_OK)
        fprintf(stderr, "rooftile: %s\n", rt_error());
    fflush(NULL);
    return rt_exit_status(status);
}

/* The predictor is in the module's files. */
int main(void)
{
    return setenv("ROOFTILE_PRETRAINED", "/rooftile.h5", 1);
}
