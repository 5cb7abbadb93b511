/* The events. See simulate.h. */
#include "predict/serving/simulate.h"
#include "base/status.h"
#include "base/timers.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

const char *const rt_serve_routers[RT_SERVE_ROUTERS] = {"round-robin", "least-loaded"};

struct simulation {
    const struct rt_serve_load *load;
    const struct rt_serve_system *system;
    const struct rt_serve_options *options;
    struct rt_serve_source source;
    struct rt_serve_request next; /* of the source; has_next: there is one */
    bool has_next;
    struct rt_lives lives;
    struct rt_serve_counts counts;
    struct rt_replica *replica; /* (replicas) the first group's come first */
    size_t replicas, first;     /* first: of that group */
    size_t turn[2];             /* round robin, of both groups */
    uint32_t *requests;         /* (replicas) requests that each has */
    size_t *waited;             /* (replicas) requests in its queue, when it was last looked at */
    uint32_t *touched;          /* (touched_count) replicas that something happened to at this time */
    bool *is_touched;           /* (replicas) */
    size_t touched_count, waiting;
    struct rt_timers ends;        /* of steps, by replica; not of those that were cut short since */
    struct rt_timers users;       /* closed loop: who sends a request when */
    struct rt_timers moves;       /* caches on their way, by request; `to` of each */
    int64_t sent, open, answered; /* open: sent and not answered */
    double now, first_us, began_us, moved_us;
    size_t waiting_peak;
    struct rt_tally ttft_us, tpot_us, e2e_us, queue_us;
    double input_tokens, output_tokens, good;
    int status;
};

/* ---- replicas that something happens to ---- */

static void touch(struct simulation *s, size_t replica)
{
    if (!s->is_touched[replica])
        s->touched[s->touched_count++] = (uint32_t)replica;
    s->is_touched[replica] = true;
}

/* Its step ends at another time than was thought. */
static void note_end(struct simulation *s, const struct rt_replica *replica, double before)
{
    if (replica->busy && replica->end_us != before)
        rt_timers_add(&s->ends, replica->end_us, (uint32_t)replica->number);
}

static void push(struct simulation *s, size_t to, uint32_t request)
{
    struct rt_replica *replica = &s->replica[to];
    double before = replica->end_us;
    s->requests[to]++;
    rt_replica_push(replica, request, s->now);
    note_end(s, replica, before);
    touch(s, to);
}

/* ---- sending ---- */

/* The replica of `count` from `from` on that takes the next request. */
static size_t route(struct simulation *s, size_t from, size_t count, size_t *turn)
{
    size_t chosen = from + (*turn)++ % count;
    if (s->system->router == RT_ROUND_ROBIN)
        return chosen;
    for (size_t r = chosen = from; r < from + count; r++)
        if (s->requests[r] < s->requests[chosen])
            chosen = r;
    return chosen;
}

static int check_request(const struct simulation *s, const struct rt_serve_request *request)
{
    const struct rt_replica *last = &s->replica[s->replicas - 1];
    int64_t need = rt_replica_blocks(last, request->input, request->output), has = last->blocks;
    if (s->first < s->replicas &&
        rt_replica_blocks(&s->replica[0], request->input, 1) > s->replica[0].blocks) {
        need = rt_replica_blocks(&s->replica[0], request->input, 1);
        has = s->replica[0].blocks;
    }
    if (need > has)
        return rt_fail(
            RT_EUSAGE,
            "a request of %d + %d tokens needs %" PRId64 " blocks of cache, a server has %" PRId64
            "; take shorter ones, more GPUs a model ({tp}) or a smaller cache per token ({kv_cache} fp8)",
            request->input, request->output, need, has);
    return RT_OK;
}

static void send(struct simulation *s)
{
    const struct rt_serve_request *from = &s->next;
    if ((s->status = check_request(s, from)) != RT_OK)
        return;
    uint32_t request = rt_lives_new(&s->lives);
    struct rt_live *live = &s->lives.live[request];
    live->sent_us = s->now - s->system->serve.request_us;
    live->id = s->sent++;
    live->input = from->input;
    live->output = from->output;
    live->group = from->group;
    live->prefix = from->prefix;
    live->priority = from->priority;
    s->lives.prioritised |= from->priority > 0;
    live->hash = from->hash;
    live->hashes = from->hashes;
    s->open++;
    push(s, route(s, 0, s->first, &s->turn[0]), request);
    s->has_next = rt_serve_source_next(&s->source, &s->next);
}

/* When the next request is sent; INFINITY: not before one is answered. */
static double next_sending(const struct simulation *s)
{
    const struct rt_serve_load *load = s->load;
    if (s->status != RT_OK || !s->has_next)
        return INFINITY;
    if (load->arrivals == RT_CLOSED_LOOP)
        return rt_timers_next(&s->users);
    return load->concurrency > 0 && s->open >= load->concurrency ? INFINITY
                                                                 : fmax(s->next.arrival_us, s->now);
}

static void send_due(struct simulation *s)
{
    while (next_sending(s) <= s->now) {
        if (s->users.count > 0)
            rt_timers_pop(&s->users);
        send(s);
    }
}

/* ---- answers ---- */

static void count_answer(struct simulation *s, const struct rt_live *live)
{
    double e2e = s->now - live->sent_us, ttft = live->first_us - live->sent_us;
    double tpot = live->output > 1 ? (e2e - ttft) / (live->output - 1) : 0;
    rt_tally_add(&s->ttft_us, ttft, 1);
    rt_tally_add(&s->e2e_us, e2e, 1);
    rt_tally_add(&s->queue_us, live->began_us - live->sent_us, 1);
    if (live->output > 1)
        rt_tally_add(&s->tpot_us, tpot, 1);
    s->input_tokens += live->input;
    s->output_tokens += live->output;
    s->good += !(s->options->ttft_target_us > 0 && ttft > s->options->ttft_target_us) &&
               !(s->options->tpot_target_us > 0 && tpot > s->options->tpot_target_us);
}

static void answer(struct simulation *s, uint32_t request)
{
    const struct rt_live *live = &s->lives.live[request];
    if (s->answered++ >= s->load->warm_up)
        count_answer(s, live);
    else
        s->began_us = s->now;
    if (s->answered == s->load->warm_up)
        rt_tally_release(&s->counts.itl_us);
    if (s->options->answered != NULL) {
        struct rt_serve_answer out = {live->id,      live->input,    live->output,
                                      live->sent_us, live->first_us, s->now};
        s->options->answered(s->options->context, &out);
    }
    rt_lives_drop(&s->lives, request);
    s->open--;
    if (s->load->arrivals == RT_CLOSED_LOOP)
        rt_timers_add(&s->users, s->now + rt_serve_source_think_us(&s->source), 0);
}

/* ---- disaggregation: from prefill to decode ---- */

static void hand_over(struct simulation *s, uint32_t request, uint32_t source)
{
    struct rt_live *live = &s->lives.live[request];
    live->remote = true;
    live->source = source;
    push(s, route(s, s->first, s->replicas - s->first, &s->turn[1]), request);
}

/* Requests that a replica gave room, from one on, go on the links they come from. */
static void begin_moves(struct simulation *s, struct rt_replica *replica, uint32_t request)
{
    for (; request != RT_NOBODY; request = s->lives.live[request].next) {
        const struct rt_live *live = &s->lives.live[request];
        double *link = &s->replica[live->source].link_us,
               begin = s->system->transfer_overlap ? live->began_us : s->now;
        double time = s->system->transfer_us != NULL
                          ? s->system->transfer_us(s->system->transfer_context, live->input)
                          : 0;
        *link = fmax(begin, *link) + time;
        s->moved_us += time;
        s->lives.live[request].target = (uint32_t)replica->number;
        rt_timers_add(&s->moves, fmax(*link, s->now), request);
    }
}

static void end_moves(struct simulation *s)
{
    while (rt_timers_next(&s->moves) <= s->now) {
        uint32_t request = rt_timers_pop(&s->moves).item;
        struct rt_live *live = &s->lives.live[request];
        struct rt_replica *to = &s->replica[live->target];
        double before = to->end_us;
        live->first_us = live->last_us = s->now;
        rt_replica_give_up(&s->replica[live->source], request, s->now);
        rt_replica_arrive(to, request, s->now);
        note_end(s, to, before);
        touch(s, live->source);
        touch(s, live->target);
    }
}

/* ---- the clock ---- */

static void start(struct simulation *s, struct rt_replica *replica)
{
    if (replica->busy || replica->waiting.count + replica->running.count + replica->ready.count == 0)
        return;
    uint32_t last = replica->moving.last;
    if (rt_replica_start(replica, s->now))
        rt_timers_add(&s->ends, replica->end_us, (uint32_t)replica->number);
    begin_moves(s, replica, last != RT_NOBODY ? s->lives.live[last].next : replica->moving.first);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void start_touched(struct simulation *s)
{
    if (s->touched_count > 1)
        qsort(s->touched, s->touched_count, sizeof *s->touched, by_number);
    for (size_t i = 0; i < s->touched_count; i++) {
        struct rt_replica *replica = &s->replica[s->touched[i]];
        size_t *waited = &s->waited[s->touched[i]];
        start(s, replica);
        s->waiting += replica->waiting.count - *waited;
        *waited = replica->waiting.count;
        s->is_touched[s->touched[i]] = false;
    }
    s->touched_count = 0;
    s->waiting_peak = s->waiting > s->waiting_peak ? s->waiting : s->waiting_peak;
}

static void finish(struct simulation *s, struct rt_replica *replica)
{
    struct rt_request_list left = RT_NO_REQUESTS;
    rt_replica_finish(replica, &left);
    touch(s, (size_t)replica->number);
    for (uint32_t request; (request = rt_requests_pop(&left, &s->lives)) != RT_NOBODY;) {
        const struct rt_live *live = &s->lives.live[request];
        s->requests[replica->number]--;
        if (live->made == live->output)
            answer(s, request);
        else
            hand_over(s, request, (uint32_t)replica->number);
    }
}

/* The next end of a step; times of those that were cut short since are dropped. */
static double next_end(struct simulation *s)
{
    for (; s->ends.count > 0; rt_timers_pop(&s->ends)) {
        const struct rt_replica *replica = &s->replica[s->ends.timer[0].item];
        if (replica->busy && replica->end_us == s->ends.timer[0].time)
            return replica->end_us;
    }
    return INFINITY;
}

static void finish_due(struct simulation *s)
{
    while (next_end(s) <= s->now)
        finish(s, &s->replica[rt_timers_pop(&s->ends).item]);
}

/* INFINITY: nothing more happens. */
static double next_event(struct simulation *s)
{
    bool done = s->answered >= (int64_t)rt_serve_load_requests(s->load) && s->load->lasting;
    double next = fmin(rt_timers_next(&s->moves), next_end(s));
    return done ? INFINITY : fmin(next, next_sending(s));
}

static void run(struct simulation *s)
{
    s->has_next = rt_serve_source_next(&s->source, &s->next);
    s->now = next_sending(s);
    s->first_us = s->began_us = s->now;
    for (double next = s->now; next < INFINITY && s->status == RT_OK; next = next_event(s)) {
        s->now = next;
        finish_due(s);
        end_moves(s);
        send_due(s);
        start_touched(s);
    }
}

/* ---- what comes out ---- */

static struct rt_serve_quantiles quantiles(struct rt_tally *tally)
{
    return (struct rt_serve_quantiles){
        .mean = rt_tally_mean(tally),
        .p50 = rt_tally_percentile(tally, 0.5),
        .p90 = rt_tally_percentile(tally, 0.9),
        .p99 = rt_tally_percentile(tally, 0.99),
        .most = tally->weight > 0 ? tally->most : NAN,
    };
}

static void sum_cache(const struct simulation *s, double time, struct rt_serve_result *out)
{
    size_t from = s->first < s->replicas ? s->first : 0;
    double held = 0, room = 0;
    for (size_t r = from; r < s->replicas; r++) {
        const struct rt_replica *replica = &s->replica[r];
        held += replica->held_us;
        room += (double)replica->blocks * (double)replica->group->scheduler.block * time;
        out->cache_peak = fmax(out->cache_peak, (double)replica->peak / (double)replica->blocks);
    }
    bool bounded = isfinite(s->replica[from].group->cache_tokens);
    out->cache_mean = bounded && room > 0 ? held / room : NAN;
    out->cache_peak = bounded ? out->cache_peak : NAN;
}

static void sum_up(struct simulation *s, struct rt_serve_result *out)
{
    const struct rt_serve_counts *counts = &s->counts;
    double time = s->now - s->first_us, duration = s->now - s->began_us, seconds = duration / 1e6, busy = 0;
    bool targets = s->options->ttft_target_us > 0 || s->options->tpot_target_us > 0;
    *out = (struct rt_serve_result){
        .requests = (size_t)s->e2e_us.weight,
        .input_tokens = s->input_tokens,
        .output_tokens = s->output_tokens,
        .duration_us = duration,
        .ttft_us = quantiles(&s->ttft_us),
        .tpot_us = quantiles(&s->tpot_us),
        .itl_us = quantiles(&s->counts.itl_us),
        .e2e_us = quantiles(&s->e2e_us),
        .queue_us = quantiles(&s->queue_us),
        .input_per_s = s->input_tokens / seconds,
        .output_per_s = s->output_tokens / seconds,
        .requests_per_s = s->e2e_us.weight / seconds,
        .good_requests = targets ? s->good : NAN,
        .waiting_mean = counts->waiting_us / time,
        .waiting_peak = (double)s->waiting_peak,
        .running_mean = counts->running_us / time,
        .prefix_tokens = counts->prefix_tokens,
        .loaded_tokens = counts->loaded_tokens,
        .computed_tokens = counts->computed_tokens,
        .preemptions = counts->preemptions,
        .recomputed_tokens = counts->recomputed_tokens,
        .transfers_us = s->moved_us,
    };
    for (int k = 0; k < RT_SERVE_STEPS; k++) {
        out->steps[k] = counts->steps[k];
        out->time_us[k] = counts->time_us[k];
        busy += counts->time_us[k];
    }
    for (int p = 0; p < RT_SERVE_PARTS; p++)
        out->parts_us[p] = counts->parts_us[p];
    out->idle_us = fmax((double)s->replicas * time - busy, 0);
    sum_cache(s, time, out);
}

/* ---- begin and end ---- */

static int check_group(const struct rt_serve_group *group, bool hashed)
{
    const struct rt_scheduler *scheduler = &group->scheduler;
    if (group->replicas < 1 || group->replicas > RT_MOST_REPLICAS)
        return rt_fail(RT_EUSAGE, "%" PRId64 " replicas: a group has 1 to %d", group->replicas,
                       RT_MOST_REPLICAS);
    if (scheduler->budget < 1 || scheduler->sequences < 1 || scheduler->block < 1)
        return rt_fail(RT_EUSAGE,
                       "a scheduler has at least 1 token and 1 sequence a step, and 1 token a block");
    if (hashed && RT_SERVE_HASHED % scheduler->block != 0)
        return rt_fail(RT_EUSAGE,
                       "{block} %" PRId64
                       ": hashes of a trace stand for %d tokens each, which such blocks do not divide",
                       scheduler->block, RT_SERVE_HASHED);
    if (isnan(group->cache_tokens))
        return rt_fail(RT_EUSAGE, "it is not known how many tokens the cache holds");
    return RT_OK;
}

static void init(struct simulation *s)
{
    const struct rt_serve_system *system = s->system;
    bool apart = system->decode.replicas > 0;
    s->first = (size_t)system->serve.replicas;
    s->replicas = s->first + (apart ? (size_t)system->decode.replicas : 0);
    s->lives = (struct rt_lives){.empty = RT_NOBODY};
    s->replica = rt_calloc(s->replicas, sizeof *s->replica);
    s->requests = rt_calloc(s->replicas, sizeof *s->requests);
    s->waited = rt_calloc(s->replicas, sizeof *s->waited);
    s->touched = rt_calloc(s->replicas, sizeof *s->touched);
    s->is_touched = rt_calloc(s->replicas, sizeof *s->is_touched);
    s->now = -INFINITY;
    rt_serve_source_open(&s->source, s->load);
    for (int64_t u = 0; s->load->arrivals == RT_CLOSED_LOOP && u < s->load->concurrency; u++)
        rt_timers_add(&s->users, rt_serve_source_begin_us(&s->source), 0);
    for (size_t r = 0; r < s->replicas; r++) {
        const struct rt_serve_group *group = r < s->first ? &system->serve : &system->decode;
        rt_replica_init(&s->replica[r], group, (int)r, &s->lives, &s->counts, s->options);
        s->replica[r].prefills_only = apart && r < s->first;
    }
}

static void release(struct simulation *s)
{
    for (size_t r = 0; r < s->replicas; r++)
        rt_replica_release(&s->replica[r]);
    free(s->replica);
    free(s->requests);
    free(s->waited);
    free(s->touched);
    free(s->is_touched);
    rt_timers_release(&s->ends);
    rt_timers_release(&s->users);
    rt_timers_release(&s->moves);
    rt_lives_release(&s->lives);
    rt_tally_release(&s->counts.itl_us);
    rt_tally_release(&s->ttft_us);
    rt_tally_release(&s->tpot_us);
    rt_tally_release(&s->e2e_us);
    rt_tally_release(&s->queue_us);
}

/* About the time of an answer: the prompts of a server's users, and as many steps as an answer has tokens. */
void rt_serve_load_last(struct rt_serve_load *load, const struct rt_serve_system *system)
{
    bool apart = system->decode.replicas > 0;
    const struct rt_serve_group *prefills = &system->serve, *decodes = apart ? &system->decode : prefills;
    double input = (double)(load->input.least + load->input.most) / 2,
           output = (double)(load->output.least + load->output.most) / 2;
    int64_t users = (load->concurrency + decodes->replicas - 1) / decodes->replicas;
    const struct rt_serve_chunk chunk = {.tokens = (int64_t)ceil(input)};
    const struct rt_serve_batch prompt = {.chunks = &chunk, .chunk_count = 1},
                                step = {.decodes = users,
                                        .padded = users,
                                        .context = (double)users * (input + output / 2)};
    load->ramp_us = (double)load->concurrency / (double)prefills->replicas *
                        prefills->costs.step_us(prefills->costs.context, &prompt) +
                    output * decodes->costs.step_us(decodes->costs.context, &step);
    load->lasting = true;
    load->warm_up = (int64_t)rt_serve_load_requests(load) > load->concurrency ? load->concurrency : 0;
}

int rt_serve_simulate(const struct rt_serve_load *load, const struct rt_serve_system *system,
                      const struct rt_serve_options *options, struct rt_serve_result *out)
{
    static const struct rt_serve_options plain;
    struct simulation s = {.load = load, .system = system, .options = options != NULL ? options : &plain};
    bool hashed = load->arrivals == RT_TRACE && load->trace != NULL && load->trace->hash != NULL;
    int status = rt_serve_load_check(load);
    if (status == RT_OK)
        status = check_group(&system->serve, hashed);
    if (status == RT_OK && system->decode.replicas != 0)
        status = check_group(&system->decode, hashed);
    if (status != RT_OK)
        return status;
    init(&s);
    run(&s);
    for (size_t r = 0; r < s.replicas; r++)
        rt_replica_note(&s.replica[r], s.now);
    if (s.status == RT_OK)
        sum_up(&s, out);
    release(&s);
    return s.status;
}
