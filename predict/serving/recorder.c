/* Steps, moments and latencies of a simulation. See recorder.h. */
#include "predict/serving/recorder.h"
#include "base/status.h"

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
    if (recorder->spans == recorder->span_capacity) {
        recorder->span_capacity = 2 * recorder->span_capacity + 256;
        recorder->span = rt_realloc(recorder->span, recorder->span_capacity, sizeof *recorder->span);
    }
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
