/* Steps as a timeline. The format: "Trace Event Format", Google 2016; times in us. */
#include "predict/serving/timeline.h"
#include "base/file.h"
#include "base/status.h"

#include <inttypes.h>

#define TIMELINE_BEGINS "{\"displayTimeUnit\": \"ms\", \"traceEvents\": ["
const struct rt_output_kind rt_serve_timeline_kind = {"a timeline", NULL, TIMELINE_BEGINS};

static void print_counter(FILE *file, const struct rt_serve_span *span, const char *name, double value)
{
    fprintf(file, ",\n{\"name\":\"%s\",\"ph\":\"C\",\"ts\":%.3f,\"pid\":%d,\"args\":{\"%s\":%.17g}}", name,
            span->start_us, span->replica, name, value);
}

static void print_span(FILE *file, const struct rt_serve_span *span)
{
    fprintf(file,
            ",\n{\"name\":\"%s\",\"cat\":\"step\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":%d,\"tid\":1,"
            "\"args\":"
            "{\"steps\":%" PRId64 ",\"decodes\":%" PRId64
            ",\"context\":%.17g,\"prompts\":%zu,\"prompt_tokens\":%" PRId64 "}}",
            rt_serve_steps[span->kind], span->start_us, span->end_us - span->start_us, span->replica,
            span->steps, span->decodes, span->context, span->prompts, span->prompt_tokens);
    print_counter(file, span, "waiting", (double)span->waiting);
    print_counter(file, span, "running", (double)span->running);
    print_counter(file, span, "cache blocks", (double)span->blocks);
}

static void name_replicas(FILE *file, const struct rt_serve_recorder *recorder)
{
    int last = 0;
    for (size_t i = 0; i < recorder->spans; i++)
        last = recorder->span[i].replica > last ? recorder->span[i].replica : last;
    for (int r = 0; r <= last; r++)
        fprintf(file,
                "%s\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":1,\"args\":{\"name\":"
                "\"replica %d\"}}",
                r > 0 ? "," : "", r, r);
}

int rt_serve_timeline_write(const struct rt_serve_recorder *recorder, const char *path)
{
    struct rt_new_file file;
    int status = rt_file_create(path, &file);
    if (status != RT_OK)
        return status;
    fputs(TIMELINE_BEGINS, file.stream);
    name_replicas(file.stream, recorder);
    for (size_t i = 0; i < recorder->spans; i++)
        print_span(file.stream, &recorder->span[i]);
    fputs("\n]}\n", file.stream);
    return rt_file_finish(&file);
}
