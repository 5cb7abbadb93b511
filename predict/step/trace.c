/* A step as a timeline. The format: "Trace Event Format", Google 2016; times in us. */
#include "base/file.h"
#include "base/outputs.h"
#include "base/status.h"
#include "predict/step/prediction.h"
#include "predict/step/timeline.h"

#include <inttypes.h>
#include <string.h>

#define TRACE_BEGINS "{\"displayTimeUnit\": \"ms\", \"traceEvents\": ["
const struct rt_output_kind rt_trace_kind = {"a timeline", NULL, TRACE_BEGINS};

enum { MOST_EVENTS = 1000000 };

struct trace {
    FILE *file;
    size_t events;
};

static json_t *launch_arguments(const struct rt_forecast_launch *launch, int64_t repeat)
{
    const struct rt_op *op = &rt_ops[launch->kernel.call.op];
    json_t *dims = json_object();
    for (int d = 0; op->dims[d] != NULL; d++)
        json_object_set_new(dims, op->dims[d], json_integer(launch->kernel.call.dim[d]));
    return json_pack("{s:s, s:I, s:s, s:o, s:f, s:f, s:s, s:f}", "op", op->name, "layer", (json_int_t)repeat,
                     "phase", rt_phases[launch->kernel.call.phase], "dims", dims, "gflop",
                     launch->kernel.flops / 1e9, "mbytes", launch->kernel.bytes / 1e6, "source",
                     rt_time_sources[launch->source], "of_roofline", launch->roofline_us / launch->time_us);
}

static json_t *arguments_of(const struct rt_timeline_span *span)
{
    if (span->launch != NULL)
        return launch_arguments(span->launch, span->number);
    return span->lane == RT_LANE_KERNELS ? json_pack("{s:I}", "microbatch", (json_int_t)span->number)
                                         : json_pack("{s:f}", "mbytes", span->bytes / 1e6);
}

/* The name may come from a file: jansson quotes it; a span whose name is not UTF-8 is left out. */
static void print_span(void *context, const struct rt_timeline_span *span)
{
    struct trace *trace = context;
    json_t *event = json_pack("{s:s, s:s, s:s, s:f, s:f, s:I, s:i, s:o}", "name", span->name, "cat",
                              span->kind, "ph", "X", "ts", span->start_us, "dur", span->time_us, "pid",
                              (json_int_t)span->stage, "tid", (int)span->lane, "args", arguments_of(span));
    if (event == NULL || trace->events >= MOST_EVENTS) {
        json_decref(event);
        return;
    }
    fputs(trace->events++ > 0 ? ",\n" : "\n", trace->file);
    json_dumpf(event, trace->file, JSON_COMPACT);
    json_decref(event);
}

static void name_track(void *context, int64_t stage, enum rt_timeline_lane lane, const char *name)
{
    struct trace *trace = context;
    json_t *event =
        json_pack("{s:s, s:s, s:I, s:i, s:{s:s}}", "name",
                  lane == RT_LANE_STAGE ? "process_name" : "thread_name", "ph", "M", "pid", (json_int_t)stage,
                  "tid", lane == RT_LANE_STAGE ? RT_LANE_KERNELS : (int)lane, "args", "name", name);
    fputs(trace->events++ > 0 ? ",\n" : "\n", trace->file);
    json_dumpf(event, trace->file, JSON_COMPACT);
    json_decref(event);
}

int rt_prediction_trace(const struct rt_prediction *prediction, const char *path)
{
    struct rt_new_file file;
    int status = rt_file_create(path, &file);
    if (status != RT_OK)
        return status;
    struct trace trace = {.file = file.stream};
    fputs(TRACE_BEGINS, trace.file);
    rt_timeline_walk(&prediction->forecast, prediction->predictor, print_span, name_track, &trace);
    fputs("\n]}\n", trace.file);
    return rt_file_finish(&file);
}
