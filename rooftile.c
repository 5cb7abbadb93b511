/* The program: the command table and main(), nothing else. */
#include "base/status.h"
#include "datasets/version.h"
#include "models/nn/blas.h"

#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

int rt_cmd_calibrate(int argc, char **argv);
int rt_cmd_collect(int argc, char **argv);
int rt_cmd_crossval(int argc, char **argv);
int rt_cmd_dataset(int argc, char **argv);
int rt_cmd_devices(int argc, char **argv);
int rt_cmd_evaluate(int argc, char **argv);
int rt_cmd_graph(int argc, char **argv);
int rt_cmd_predict(int argc, char **argv);
int rt_cmd_train(int argc, char **argv);

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *what;
} commands[] = {
    {"collect", rt_cmd_collect, "measure kernels on the devices of this machine"},
    {"dataset", rt_cmd_dataset, "import, inspect, check, merge and export measurements"},
    {"devices", rt_cmd_devices, "the catalogue of GPUs as numbers"},
    {"graph", rt_cmd_graph, "a model as ops: what runs, with FLOPs, bytes and parameters"},
    {"train", rt_cmd_train, "fit a predictor to measurements"},
    {"calibrate", rt_cmd_calibrate, "fit a predictor to a GPU from a few of its kernels"},
    {"predict", rt_cmd_predict, "forecast how long a model takes on a GPU"},
    {"evaluate", rt_cmd_evaluate, "report how far forecasts are from measurements"},
    {"crossval", rt_cmd_crossval, "train and evaluate with every GPU, model or op left out in turn"},
};

static void print_help(FILE *file)
{
    fputs("rooftile " RT_VERSION
          ": forecasts how long deep-learning work takes on GPUs nobody in the room has\n\n"
          "Usage: rooftile COMMAND [OPTION...]\n\nCommands:\n",
          file);
    for (size_t i = 0; i < RT_COUNT(commands); i++)
        fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].what);
    fputs("\n`rooftile COMMAND --help` tells the rest. Start with:\n"
          "  rooftile collect -o cpu.h5 --budget 60s\n"
          "  rooftile train cpu.h5 -o predictor.h5\n"
          "  rooftile evaluate --predictor predictor.h5 cpu.h5\n",
          file);
}

static int run_command(int argc, char **argv)
{
    for (size_t i = 0; i < RT_COUNT(commands); i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        char title[64];
        snprintf(title, sizeof title, "rooftile %s", commands[i].name);
        argv[1] = title;
        return commands[i].run(argc - 1, argv + 1);
    }
    return rt_fail(RT_EUSAGE, "\"%s\" is no command; `rooftile --help` lists them", argv[1]);
}

int main(int argc, char **argv)
{
    rt_blas_tune(argv);
    argp_err_exit_status = 2;
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is an error of write(), told in a sentence */
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("rooftile " RT_VERSION);
        return 0;
    }
    int status = run_command(argc, argv);
    if (status == RT_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = rt_fail(RT_EIO, "standard output cannot be written");
    if (status != RT_OK)
        fprintf(stderr, "rooftile: %s\n", rt_error());
    return rt_exit_status(status);
}
