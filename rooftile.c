/* main(), nothing else: the commands are in commands.c. */
#include "about.h"
#include "base/pager.h"
#include "base/status.h"
#include "base/terminal.h"
#include "commands.h"
#include "models/predictors/nn/blas.h"
#include "start.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void print_error(void)
{
    struct rt_terminal terminal = rt_terminal_of(stderr);
    fprintf(stderr, "%srooftile:%s %s\n", rt_terminal_style(&terminal, RT_STYLE_RED),
            rt_terminal_style(&terminal, RT_STYLE_NONE), rt_error());
}

/* As newcomers type it, too. */
static bool is_version(const char *word)
{
    return strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 || strcmp(word, "version") == 0;
}

int main(int argc, char **argv)
{
    rt_start_streams();
    rt_error_names_options(true);
    rt_start_environment();
    rt_blas_tune(argv);
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is an error of write(), reported in a sentence */
    if (argc > 1 && strcmp(argv[1], "--no-pager") == 0) {
        rt_pager_off();
        argc--, argv++;
    }
    argv[0] = (char[]){"rooftile"};
    int status = rt_start_check();
    if (status == RT_OK)
        status =
            argc > 1 && is_version(argv[1]) ? rt_about(argc, argv) : rt_command_run(&rt_program, argc, argv);
    if (status == RT_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = rt_fail(RT_EIO, "standard output cannot be written");
    if (status != RT_OK)
        print_error();
    return rt_exit_status(status);
}
