/* What a simulation leaves behind, and its timeline. See report.h. */
#include "predict/serving/report.h"
#include "base/file.h"
#include "base/array.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdlib.h>

void rt_serve_recorder_init(struct rt_serve_recorder *recorder, size_t most_spans)
{
    *recorder = (struct rt_serve_recorder){.stride = 1, .most_spans = most_spans};
    recorder->moment = rt_malloc(RT_RECORDED_POINTS * sizeof *recorder->moment);
}

void rt_serve_recorder_release(struct rt_serve_recorder *recorder)
{
    free(recorder->span);
    free(recorder->moment);
    rt_tally_release(&recorder->ttft_us);
    rt_tally_release(&recorder->tpot_us);
    rt_tally_release(&recorder->e2e_us);
    *recorder = (struct rt_serve_recorder){0};
}

static void keep_span(struct rt_serve_recorder *recorder, const struct rt_serve_span *span)
{
    if (recorder->spans == recorder->most_spans) {
        recorder->left_out++;
        return;
    }
    RT_GROW(recorder->span, recorder->spans, 1, recorder->span_capacity);
    recorder->span[recorder->spans++] = *span;
}

/* Where there is no room for more, every second goes, and from then on only every second comes. */
static void keep_moment(struct rt_serve_recorder *recorder, const struct rt_serve_span *span)
{
    if (recorder->seen++ % recorder->stride != 0)
        return;
    if (recorder->moments == RT_RECORDED_POINTS) {
        for (size_t i = 0; i < RT_RECORDED_POINTS / 2; i++)
            recorder->moment[i] = recorder->moment[2 * i];
        recorder->moments = RT_RECORDED_POINTS / 2;
        recorder->stride *= 2;
    }
    recorder->moment[recorder->moments++] = (struct rt_serve_moment){
        span->start_us, (double)span->waiting, (double)span->running, (double)span->blocks};
}

static void keep_step(void *context, const struct rt_serve_span *span)
{
    struct rt_serve_recorder *recorder = context;
    keep_span(recorder, span);
    if (span->replica == 0)
        keep_moment(recorder, span);
}

static void keep_answer(void *context, const struct rt_serve_answer *answer)
{
    struct rt_serve_recorder *recorder = context;
    rt_tally_add(&recorder->ttft_us, answer->first_us - answer->sent_us, 1);
    rt_tally_add(&recorder->e2e_us, answer->end_us - answer->sent_us, 1);
    if (answer->output > 1)
        rt_tally_add(&recorder->tpot_us, (answer->end_us - answer->first_us) / (answer->output - 1), 1);
}

void rt_serve_recorder_attach(struct rt_serve_recorder *recorder, struct rt_serve_options *options)
{
    options->step = keep_step;
    options->answered = keep_answer;
    options->context = recorder;
}

/* ---- a timeline ---- */

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
