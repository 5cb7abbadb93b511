/* Schedules of pipelines. See pipeline.h. */
#include "predict/step/pipeline.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

const char *const rt_passes[RT_PASSES] = {"forward", "backward", "weights"};

/* --- the order of passes --- */

/* Forward passes that a stage runs before it alternates: the number of virtual micro batches that
 * Megatron-LM's get_num_microbatches warms up with. */
static int64_t warm_up(int64_t stages, int64_t chunks, int64_t passes, int64_t stage)
{
    int64_t later = stages - 1 - stage;
    int64_t count = chunks > 1 ? 2 * later + (chunks - 1) * stages : later;
    return count < passes ? count : passes;
}

double rt_pipeline_in_flight(int64_t stages, int64_t chunks, int64_t microbatches,
                             enum rt_pipeline_schedule schedule)
{
    if (schedule == RT_PIPELINE_GPIPE)
        return (double)microbatches;
    int64_t passes = microbatches * chunks, first = warm_up(stages, chunks, passes, 0) + 1;
    return (double)(first < passes ? first : passes) / (double)chunks;
}

struct progress {
    int64_t done[RT_PASSES], warm_up;
    double clock_us;
};

/* The first micro batches of a step. */
struct simulation {
    const struct rt_pipeline *p;
    int64_t microbatches, passes; /* passes of each kind on each stage */
    bool defers; /* weights' gradients, of as many micro batches as there are stages before */
    struct progress *stage;
    struct place {
        int64_t chunk, microbatch;
    } * order;         /* (passes): of forward passes; of backward ones the chunks are those from the last */
    double *end_us[2]; /* (chunks, stages, microbatches): of forward and backward passes; NaN: not yet */
    const struct rt_pipeline_watch *watch;
};

/* The next pass of a stage; RT_PASSES: it is done. */
static enum rt_pass next_pass(const struct simulation *s, int64_t stage)
{
    const struct rt_pipeline *p = s->p;
    const struct progress *at = &s->stage[stage];
    int64_t forwards = at->done[RT_PASS_FORWARD], backwards = at->done[RT_PASS_BACKWARD],
            weights = at->done[RT_PASS_WEIGHTS];
    if (p->pass_us[RT_PASS_BACKWARD] == NULL)
        return forwards < s->passes ? RT_PASS_FORWARD : RT_PASSES;
    if (p->schedule == RT_PIPELINE_ZERO_BUBBLE && weights < backwards - (s->defers ? stage : 0))
        return RT_PASS_WEIGHTS;
    bool more = p->schedule == RT_PIPELINE_GPIPE || forwards - backwards <= at->warm_up;
    if (forwards < s->passes && more)
        return RT_PASS_FORWARD;
    if (backwards < s->passes)
        return RT_PASS_BACKWARD;
    return p->schedule == RT_PIPELINE_ZERO_BUBBLE && weights < s->passes ? RT_PASS_WEIGHTS : RT_PASSES;
}

/* Number of the piece of a stage's chunk. */
static int64_t piece_of(const struct rt_pipeline *p, int64_t chunk, int64_t stage)
{
    return chunk * p->stages + stage;
}

/* When what a pass needs of another stage has come, us; NaN: not yet. */
static double ready_us(const struct simulation *s, enum rt_pass pass, int64_t piece, int64_t microbatch)
{
    const struct rt_pipeline *p = s->p;
    int64_t from = pass == RT_PASS_FORWARD ? piece - 1 : piece + 1;
    if (pass == RT_PASS_WEIGHTS || from < 0 || from == p->chunks * p->stages)
        return 0;
    int64_t link = (pass == RT_PASS_FORWARD ? from : piece) % p->stages;
    return s->end_us[pass][from * s->microbatches + microbatch] + p->send_us[link];
}

/* Until the stage goes on after a pass: where it waits, for what it sends to arrive. */
static double sent_us(const struct rt_pipeline *p, enum rt_pass pass, int64_t piece)
{
    int64_t last = pass == RT_PASS_FORWARD ? p->chunks * p->stages - 1 : 0;
    if (!p->blocks || pass == RT_PASS_WEIGHTS || piece == last)
        return 0;
    int64_t link = pass == RT_PASS_FORWARD ? piece : piece - 1;
    return p->send_us[link % p->stages];
}

/* Runs the next pass of a stage; false where there is none, or its input is not there. */
static bool advance(struct simulation *s, int64_t stage)
{
    const struct rt_pipeline *p = s->p;
    struct progress *at = &s->stage[stage];
    enum rt_pass pass = next_pass(s, stage);
    if (pass == RT_PASSES)
        return false;
    const struct place *place = &s->order[at->done[pass]];
    int64_t chunk = pass == RT_PASS_FORWARD ? place->chunk : p->chunks - 1 - place->chunk;
    int64_t piece = piece_of(p, chunk, stage);
    double ready = ready_us(s, pass, piece, place->microbatch), time = p->pass_us[pass][piece];
    if (isnan(ready))
        return false;
    double start = at->clock_us > ready ? at->clock_us : ready;
    if (pass != RT_PASS_WEIGHTS)
        s->end_us[pass][piece * s->microbatches + place->microbatch] = start + time;
    if (s->watch != NULL)
        s->watch->pass(s->watch->context,
                       &(struct rt_pipeline_span){pass, stage, chunk, place->microbatch, start, time});
    at->clock_us = start + time + sent_us(p, pass, piece);
    at->done[pass]++;
    return true;
}

/* Micro batches go round in groups of `stages`; without chunks one after the other. */
static void list_order(struct simulation *s)
{
    int64_t stages = s->p->chunks > 1 ? s->p->stages : 1, k = 0;
    for (int64_t first = 0; first < s->microbatches; first += stages)
        for (int64_t chunk = 0; chunk < s->p->chunks; chunk++)
            for (int64_t m = first; m < first + stages && m < s->microbatches; m++)
                s->order[k++] = (struct place){chunk, m};
}

static void release_simulation(struct simulation *s)
{
    free(s->stage);
    free(s->order);
    free(s->end_us[0]);
}

/* Simulates the first `microbatches`, as if there were no more. */
static void simulate(const struct rt_pipeline *p, int64_t microbatches, bool defers,
                     const struct rt_pipeline_watch *watch, struct simulation *s)
{
    size_t cells = (size_t)(p->stages * p->chunks * microbatches);
    *s = (struct simulation){.p = p,
                             .microbatches = microbatches,
                             .passes = microbatches * p->chunks,
                             .defers = defers,
                             .watch = watch,
                             .stage = rt_calloc((size_t)p->stages, sizeof *s->stage),
                             .order = rt_malloc((size_t)(microbatches * p->chunks) * sizeof *s->order)};
    s->end_us[0] = rt_malloc(2 * cells * sizeof(double));
    s->end_us[1] = s->end_us[0] + cells;
    for (size_t c = 0; c < 2 * cells; c++)
        s->end_us[0][c] = NAN;
    for (int64_t i = 0; i < p->stages; i++)
        s->stage[i].warm_up = warm_up(p->stages, p->chunks, s->passes, i);
    list_order(s);
    for (bool moved = true; moved;) {
        moved = false;
        for (int64_t i = 0; i < p->stages; i++)
            while (advance(s, i))
                moved = true;
    }
}

/* --- many micro batches --- */

static const double SAME = 1e-10; /* of the time of a group: rounding */

static double end_of(const struct simulation *s, enum rt_pass pass, int64_t stage, int64_t k)
{
    const struct place *place = &s->order[k];
    int64_t chunk = pass == RT_PASS_FORWARD ? place->chunk : s->p->chunks - 1 - place->chunk;
    return s->end_us[pass][piece_of(s->p, chunk, stage) * s->microbatches + place->microbatch];
}

/* Does every pass of two groups come as much later as its like of the group before? What a pass waits for
 * lies no further back, so all groups that follow repeat them. The time of a group, us; NaN: not yet. */
static double period_us(const struct simulation *s)
{
    int64_t group = s->p->stages * s->p->chunks, to = s->passes - s->stage[0].warm_up, from = to - 2 * group;
    if (from < group)
        return NAN;
    double period = end_of(s, RT_PASS_BACKWARD, 0, to - 1) - end_of(s, RT_PASS_BACKWARD, 0, to - 1 - group);
    for (int64_t stage = 0; stage < s->p->stages; stage++)
        for (int64_t k = from; k < to; k++)
            for (int pass = 0; pass < 2; pass++) {
                int64_t n = k + (pass == RT_PASS_FORWARD ? s->stage[stage].warm_up : 0);
                double later = end_of(s, pass, stage, n) - end_of(s, pass, stage, n - group);
                if (!(fabs(later - period) <= SAME * period))
                    return NAN;
            }
    return period;
}

/* Simulates as few groups as repeat themselves; *skipped_us: of those that are counted alone. */
static void simulate_few(const struct rt_pipeline *p, bool defers, struct simulation *s, double *skipped_us)
{
    int64_t over = p->microbatches % p->stages;
    for (int64_t groups = 6;; groups *= 2) {
        int64_t some = over + groups * p->stages;
        bool all = some >= p->microbatches;
        simulate(p, all ? p->microbatches : some, defers, NULL, s);
        double period = all ? 0 : period_us(s);
        *skipped_us = all ? 0 : (double)((p->microbatches - some) / p->stages) * period;
        if (!isnan(period))
            return;
        release_simulation(s);
    }
}

/* --- the end --- */

static double ends_of(const struct simulation *s, double skipped_us, const struct rt_pipeline_ends *ends)
{
    const struct rt_pipeline *p = s->p;
    const double *end_us = s->end_us[p->pass_us[RT_PASS_BACKWARD] != NULL];
    double total = 0;
    for (int64_t i = 0; i < p->stages; i++) {
        total = fmax(total, s->stage[i].clock_us + skipped_us);
        if (ends != NULL)
            ends->stage_us[i] = s->stage[i].clock_us + skipped_us;
    }
    for (int64_t l = 0; ends != NULL && l < p->stages * p->chunks; l++)
        ends->last_us[l] = end_us[(l + 1) * s->microbatches - 1] + skipped_us;
    return total;
}

/* Passes that flow in one direction take their sum and, for each further micro batch, the slowest so far.
 * Sets when the last one has ended on each stage. */
static double flow(const struct rt_pipeline *p, enum rt_pass pass, double from_us,
                   const struct rt_pipeline_ends *ends)
{
    double slowest = 0, start = from_us, end = from_us;
    for (int64_t n = 0; n < p->stages; n++) {
        int64_t i = pass == RT_PASS_FORWARD ? n : p->stages - 1 - n;
        int64_t link = pass == RT_PASS_FORWARD ? i : i - 1;
        slowest = fmax(slowest, p->pass_us[pass][i] + sent_us(p, pass, i));
        end = start + p->pass_us[pass][i] + (double)(p->microbatches - 1) * slowest;
        if (ends != NULL)
            ends->last_us[i] = ends->stage_us[i] = end;
        if (n + 1 < p->stages)
            start += p->pass_us[pass][i] + p->send_us[link];
    }
    return end;
}

/* Without chunks, all of a kind one after the other. */
static double flows(const struct rt_pipeline *p, const struct rt_pipeline_ends *ends)
{
    double forward_us = flow(p, RT_PASS_FORWARD, 0, ends);
    return p->pass_us[RT_PASS_BACKWARD] != NULL ? flow(p, RT_PASS_BACKWARD, forward_us, ends) : forward_us;
}

/* Zero-bubble: does it take longer to defer weights' gradients? */
static bool at_once(const struct rt_pipeline *p)
{
    double total[2];
    for (int defers = 0; p->schedule == RT_PIPELINE_ZERO_BUBBLE && defers < 2; defers++) {
        struct simulation s;
        double skipped_us;
        simulate_few(p, defers, &s, &skipped_us);
        total[defers] = ends_of(&s, skipped_us, NULL);
        release_simulation(&s);
    }
    return p->schedule == RT_PIPELINE_ZERO_BUBBLE && total[0] < total[1];
}

double rt_pipeline_us(const struct rt_pipeline *p, const struct rt_pipeline_ends *ends,
                      const struct rt_pipeline_watch *watch)
{
    bool one_way = p->pass_us[RT_PASS_BACKWARD] == NULL || p->schedule == RT_PIPELINE_GPIPE;
    if (watch == NULL && p->chunks == 1 && one_way)
        return flows(p, ends);
    struct simulation s;
    double skipped_us = 0;
    if (watch != NULL)
        simulate(p, p->microbatches, !at_once(p), watch, &s);
    else
        simulate_few(p, !at_once(p), &s, &skipped_us);
    double total = ends_of(&s, skipped_us, ends);
    release_simulation(&s);
    return total;
}
