/* The events. See simulate.h. */
#include "predict/serving/simulate.h"
#include "base/array.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

const char *const rt_serve_routers[RT_SERVE_ROUTERS] = {"round-robin", "least-loaded"};

/* A cache on its way. */
struct move {
    double end_us;
    uint32_t request;
    struct rt_replica *to;
};

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
    struct move *move;          /* (moves) under way, from next_move on; by their ends */
    size_t moves, next_move, move_capacity;
    int64_t sent, open, answered; /* open: sent and not answered */
    double now, first_us, began_us, moved_us;
    size_t waiting_peak;
    struct rt_tally ttft_us, tpot_us, e2e_us, queue_us;
    double input_tokens, output_tokens, good;
    int status;
};

/* ---- sending ---- */

/* The replica of `count` from `from` on that takes the next request. */
static struct rt_replica *route(struct simulation *s, size_t from, size_t count, size_t *turn)
{
    size_t chosen = from + (*turn)++ % count;
    if (s->system->router == RT_ROUND_ROBIN)
        return &s->replica[chosen];
    size_t least = SIZE_MAX;
    for (size_t r = from; r < from + count; r++) {
        const struct rt_replica *replica = &s->replica[r];
        size_t load =
            replica->waiting.count + replica->running.count + replica->moving.count + replica->ready.count;
        if (load < least)
            chosen = r;
        least = load < least ? load : least;
    }
    return &s->replica[chosen];
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

static void send(struct simulation *s, double now)
{
    const struct rt_serve_request *from = &s->next;
    if ((s->status = check_request(s, from)) != RT_OK)
        return;
    struct rt_replica *replica = route(s, 0, s->first, &s->turn[0]);
    uint32_t request = rt_lives_new(&s->lives);
    struct rt_live *live = &s->lives.live[request];
    live->sent_us = now - s->system->serve.request_us;
    live->id = s->sent++;
    live->input = from->input;
    live->output = from->output;
    live->group = from->group;
    live->prefix = from->prefix;
    s->open++;
    rt_replica_push(replica, request, now);
    s->has_next = rt_serve_source_next(&s->source, &s->next);
}

/* May another request be sent, but for its time? */
static bool may_send(const struct simulation *s)
{
    return s->status == RT_OK && s->has_next && (s->load->concurrency == 0 || s->open < s->load->concurrency);
}

static void send_due(struct simulation *s)
{
    while (may_send(s) && s->next.arrival_us <= s->now)
        send(s, s->now);
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
}

/* ---- disaggregation: from prefill to decode ---- */

static void hand_over(struct simulation *s, uint32_t request, uint32_t source)
{
    struct rt_live *live = &s->lives.live[request];
    live->remote = true;
    live->source = source;
    rt_replica_push(route(s, s->first, s->replicas - s->first, &s->turn[1]), request, s->now);
}

static void add_move(struct simulation *s, struct move move)
{
    RT_GROW(s->move, s->moves, 1, s->move_capacity);
    size_t place = s->moves++;
    for (; place > s->next_move && s->move[place - 1].end_us > move.end_us; place--)
        s->move[place] = s->move[place - 1];
    s->move[place] = move;
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
        add_move(s, (struct move){.end_us = fmax(*link, s->now), .request = request, .to = replica});
    }
}

static void end_moves(struct simulation *s)
{
    while (s->next_move < s->moves && s->move[s->next_move].end_us <= s->now) {
        struct move *move = &s->move[s->next_move++];
        struct rt_live *live = &s->lives.live[move->request];
        live->first_us = live->last_us = s->now;
        rt_replica_give_up(&s->replica[live->source], move->request, s->now);
        rt_replica_arrive(move->to, move->request, s->now);
    }
    if (s->next_move == s->moves)
        s->next_move = s->moves = 0;
}

/* ---- the clock ---- */

static void start(struct simulation *s, struct rt_replica *replica)
{
    if (replica->busy || replica->waiting.count + replica->running.count + replica->ready.count == 0)
        return;
    uint32_t last = replica->moving.last;
    rt_replica_start(replica, s->now);
    begin_moves(s, replica, last != RT_NOBODY ? s->lives.live[last].next : replica->moving.first);
}

static void start_all(struct simulation *s)
{
    size_t waiting = 0;
    for (size_t r = 0; r < s->replicas; r++) {
        start(s, &s->replica[r]);
        waiting += s->replica[r].waiting.count;
    }
    s->waiting_peak = waiting > s->waiting_peak ? waiting : s->waiting_peak;
}

static void finish(struct simulation *s, struct rt_replica *replica)
{
    struct rt_request_list left = RT_NO_REQUESTS;
    rt_replica_finish(replica, &left);
    for (uint32_t request; (request = rt_requests_pop(&left, &s->lives)) != RT_NOBODY;) {
        const struct rt_live *live = &s->lives.live[request];
        if (live->made == live->output)
            answer(s, request);
        else
            hand_over(s, request, (uint32_t)replica->number);
    }
}

/* INFINITY: nothing more happens. */
static double next_event(const struct simulation *s)
{
    double next = s->next_move < s->moves ? s->move[s->next_move].end_us : INFINITY;
    for (size_t r = 0; r < s->replicas; r++)
        if (s->replica[r].busy)
            next = fmin(next, s->replica[r].end_us);
    return may_send(s) ? fmin(next, fmax(s->next.arrival_us, s->now)) : next;
}

static void run(struct simulation *s)
{
    s->has_next = rt_serve_source_next(&s->source, &s->next);
    s->now = s->first_us = s->began_us = s->next.arrival_us;
    for (double next = s->now; next < INFINITY && s->status == RT_OK; next = next_event(s)) {
        s->now = next;
        for (size_t r = 0; r < s->replicas; r++)
            if (s->replica[r].busy && s->replica[r].end_us <= s->now)
                finish(s, &s->replica[r]);
        end_moves(s);
        send_due(s);
        start_all(s);
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

static int check_group(const struct rt_serve_group *group)
{
    const struct rt_scheduler *scheduler = &group->scheduler;
    if (group->replicas < 1 || group->replicas > RT_MOST_REPLICAS)
        return rt_fail(RT_EUSAGE, "%" PRId64 " replicas: a group has 1 to %d", group->replicas,
                       RT_MOST_REPLICAS);
    if (scheduler->budget < 1 || scheduler->sequences < 1 || scheduler->block < 1)
        return rt_fail(RT_EUSAGE,
                       "a scheduler has at least 1 token and 1 sequence a step, and 1 token a block");
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
    rt_serve_source_open(&s->source, s->load);
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
    free(s->move);
    rt_lives_release(&s->lives);
    rt_tally_release(&s->counts.itl_us);
    rt_tally_release(&s->ttft_us);
    rt_tally_release(&s->tpot_us);
    rt_tally_release(&s->e2e_us);
    rt_tally_release(&s->queue_us);
}

int rt_serve_simulate(const struct rt_serve_load *load, const struct rt_serve_system *system,
                      const struct rt_serve_options *options, struct rt_serve_result *out)
{
    static const struct rt_serve_options plain;
    struct simulation s = {.load = load, .system = system, .options = options != NULL ? options : &plain};
    int status = rt_serve_load_check(load);
    if (status == RT_OK)
        status = check_group(&system->serve);
    if (status == RT_OK && system->decode.replicas != 0)
        status = check_group(&system->decode);
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
