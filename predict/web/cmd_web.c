/* `rooftile web`: forecasts in a browser, and as JSON for programs, from this machine. */
#include "base/options.h"
#include "base/status.h"
#include "base/threads.h"
#include "models/predictors/predictor/predictor.h"
#include "predict/web/server.h"

#include <stdlib.h>
#include <string.h>

struct arguments {
    struct rt_web_options web;
    int64_t processes;
};

static const struct rt_option options[] = {
    {"port", 0, "N", RT_INTEGER(struct arguments, web.port, 0, 65535),
     "TCP port; 0: any that is free, which is printed"},
    {"listen", 0, "ADDRESS", RT_TEXT(struct arguments, web.address),
     "Address to listen at: 127.0.0.1 is this machine alone, 0.0.0.0 every network it is in"},
    RT_PREDICTOR_OPTION(struct arguments, web.predictor),
    {"timeout", 0, "TIME", RT_SECONDS(struct arguments, web.limits.seconds, 1, 3600),
     "What a request may take, 30s, 2m; then it is ended and refused"},
    {"most", 0, "N", RT_INTEGER(struct arguments, web.body_kib, 1, 65536),
     "The largest request in KiB (1024 bytes)"},
    {"threads", 't', "N", RT_INTEGER(struct arguments, processes, 1, RT_THREADS_MAX),
     "Requests that are forecast at once, each in a process; others wait for their turn (default: every "
     "processor)"},
};

static void set_defaults(void *value)
{
    *(struct arguments *)value = (struct arguments){.web = {"127.0.0.1", 8040, "pretrained", {30, 1}, 256},
                                                    .processes = (int64_t)rt_threads_processors()};
}

static int run(const struct rt_command_line *line)
{
    struct arguments *arguments = line->options;
    struct rt_predictor predictor;
    int status = rt_predictor_open(arguments->web.predictor, &predictor); /* its faults are said now */
    if (status != RT_OK)
        return status;
    rt_predictor_release(&predictor);
    char *file = rt_given(line, "predictor") ? realpath(arguments->web.predictor, NULL) : NULL;
    if (file != NULL) /* requests run in folders of their own */
        arguments->web.predictor = file;
    arguments->web.limits.processes = (size_t)arguments->processes;
    status = rt_web_serve(&arguments->web);
    free(file);
    return status;
}

const struct rt_command rt_command_web = {
    .name = "web",
    .also = "server http browser gui",
    .brief = "forecasts in a browser, from this machine",
    .about = "Serves a form for the browser (models, GPUs, lengths, targets), the pages that --report x.html "
             "writes, and JSON for programs under /v1: forecast, predict, serve, plan. Prints its address; "
             "Ctrl-C ends it.",
    .details = "Nothing is read of this machine for a client but what came with rooftile: models and GPUs "
               "have names, a config.json is sent along. docs/guide/reports.md has every address.\n\n"
               "Example: at http://127.0.0.1:8040/\n"
               "  rooftile web --port 8040",
    RT_RUNS(run, struct arguments, options),
    .set_defaults = set_defaults,
    .operands = RT_NO_OPERANDS("it serves models that its clients name"),
};
