/* One server. See replica.h. */
#include "predict/serving/replica.h"
#include "base/status.h"
#include "predict/serving/load.h"

#include <math.h>
#include <stdlib.h>

const char *const rt_serve_steps[RT_SERVE_STEPS] = {"prefill", "mixed", "decode"};

static const int64_t MOST_BLOCKS = (int64_t)1 << 50; /* of a cache without bound */
enum { LONGEST_RUN = 1 << 20 };

void rt_replica_init(struct rt_replica *replica, const struct rt_serve_group *group, int number,
                     struct rt_lives *lives, struct rt_serve_counts *counts,
                     const struct rt_serve_options *options)
{
    const struct rt_scheduler *scheduler = &group->scheduler;
    int64_t groups = group->attention_groups > 1 ? group->attention_groups : 1;
    int64_t budget = scheduler->budget * (scheduler->budget_shared ? 1 : groups);
    int64_t sequences = scheduler->sequences * groups;
    double blocks = floor(group->cache_tokens / (double)scheduler->block);
    *replica = (struct rt_replica){
        .group = group,
        .options = options,
        .lives = lives,
        .counts = counts,
        .number = number,
        .attention_groups = groups,
        .budget = budget,
        .sequences = scheduler->mixed && budget < sequences ? budget : sequences,
        .waiting = RT_NO_REQUESTS,
        .running = RT_NO_REQUESTS,
        .moving = RT_NO_REQUESTS,
        .ready = RT_NO_REQUESTS,
        .blocks = blocks < (double)MOST_BLOCKS ? (int64_t)blocks : MOST_BLOCKS,
        .longest = 64,
        .begun = RT_NOBODY,
    };
    rt_decoding_init(&replica->decoding, scheduler->block);
}

void rt_replica_release(struct rt_replica *replica)
{
    rt_decoding_release(&replica->decoding);
    rt_prefix_cache_release(&replica->prefixes);
    rt_prefix_cache_release(&replica->host);
    free(replica->chunks);
    free(replica->chunk_of);
    *replica = (struct rt_replica){0};
}

/* ---- the cache ---- */

static int64_t blocks_of(const struct rt_replica *replica, int64_t tokens)
{
    int64_t block = replica->group->scheduler.block;
    return (tokens + block - 1) / block;
}

/* The last token of the output is not kept. */
int64_t rt_replica_blocks(const struct rt_replica *replica, int64_t input, int64_t output)
{
    return blocks_of(replica, input + output - 1);
}

static int64_t room(const struct rt_replica *replica)
{
    return replica->blocks - replica->own - replica->prefixes.used;
}

static double shared_tokens(const struct rt_replica *replica, const struct rt_kv_allocation *room_of)
{
    return (double)room_of->shared * (double)replica->group->scheduler.block;
}

/* After requests took blocks: prefixes that nobody uses give way. */
static void make_way(struct rt_replica *replica)
{
    int64_t in_use = replica->own + replica->prefixes.used;
    rt_prefix_evict(&replica->prefixes, in_use + replica->prefixes.unused - replica->blocks);
    replica->peak = in_use > replica->peak ? in_use : replica->peak;
}

/* Blocks of the cache that hold what one hash stands for; those of a hash are a prefix of their own. */
static int64_t hashed_blocks(const struct rt_replica *replica)
{
    return RT_SERVE_HASHED / replica->group->scheduler.block;
}

/* Uses what is in a cache of a request's prefix, at most so many blocks: of its group, or of its hashes up to
 * the first that is not all there. Returns how many. */
static int64_t use_prefix(const struct rt_replica *replica, struct rt_prefix_cache *cache,
                          const struct rt_live *live, int64_t most, int32_t *hashes)
{
    int64_t each = hashed_blocks(replica), there = 0;
    *hashes = 0;
    if (live->hash == NULL)
        return rt_prefix_use(cache, live->group, most);
    while (*hashes < live->hashes && there == *hashes * each && there < most) {
        int64_t want = most - there < each ? most - there : each;
        int64_t blocks = rt_prefix_use(cache, live->hash[*hashes], want);
        if (blocks == 0)
            break;
        there += blocks;
        ++*hashes;
    }
    return there;
}

/* The end of a prompt first, so that it gives way first. */
static void leave_prefix(struct rt_prefix_cache *cache, const struct rt_live *live, int32_t hashes)
{
    if (live->hash == NULL)
        rt_prefix_leave(cache, live->group);
    while (hashes > 0)
        rt_prefix_leave(cache, live->hash[--hashes]);
}

/* Blocks of a request's prefix that the host's memory keeps, at most so many. */
static int64_t on_host(struct rt_replica *replica, const struct rt_live *live, int64_t most)
{
    int32_t hashes;
    int64_t there = use_prefix(replica, &replica->host, live, most, &hashes);
    if (there > 0)
        leave_prefix(&replica->host, live, hashes);
    return there;
}

/* So many blocks of a prefix are copied there, the longest unused gone. */
static void keep_on_host(struct rt_replica *replica, const struct rt_live *live, int64_t blocks)
{
    struct rt_prefix_cache *host = &replica->host;
    int64_t each = hashed_blocks(replica);
    int64_t most = (int64_t)(replica->group->host_tokens / (double)replica->group->scheduler.block);
    int32_t hashes = live->hash == NULL ? 1 : live->hashes;
    while (hashes > 0) {
        int64_t before = live->hash == NULL ? 0 : --hashes * each, own = blocks - before;
        int32_t group = live->hash == NULL ? live->group : live->hash[hashes];
        hashes -= live->hash == NULL;
        if (own <= 0)
            continue;
        rt_prefix_publish(host, group, live->hash != NULL && own > each ? each : own, 0);
        rt_prefix_leave(host, group);
    }
    rt_prefix_evict(host, host->unused - most);
}

/* So many blocks of its prompt are computed; returns how many of them were not there. */
static int64_t publish_blocks(struct rt_replica *replica, struct rt_live *live, int64_t blocks)
{
    int64_t each = hashed_blocks(replica), more = 0;
    int32_t used = live->room.hashes;
    if (live->hash == NULL)
        return rt_prefix_publish(&replica->prefixes, live->group, blocks, live->room.uses_prefix);
    for (int32_t h = 0; h < live->hashes && h * each < blocks; h++) {
        int64_t own = blocks - h * each < each ? blocks - h * each : each;
        more += rt_prefix_publish(&replica->prefixes, live->hash[h], own, h < used);
        live->room.hashes = h + 1 > used ? h + 1 : used;
    }
    return more;
}

/* A request with so many tokens in the cache gives back what it has. */
static void release_room(struct rt_replica *replica, struct rt_kv_allocation *has, const struct rt_live *live,
                         int64_t tokens)
{
    replica->own -= blocks_of(replica, tokens) - has->shared;
    replica->full -= has->full;
    replica->held -= (double)tokens - shared_tokens(replica, has);
    if (has->uses_prefix)
        leave_prefix(&replica->prefixes, live, has->hashes);
    *has = (struct rt_kv_allocation){0};
}

/* Whole blocks of a prefix, but for the last token of what is to be computed. */
static int64_t prefix_blocks(const struct rt_replica *replica, const struct rt_live *live)
{
    int64_t known = (int64_t)live->input + live->made, block = replica->group->scheduler.block;
    int64_t hashed = (int64_t)live->hashes * RT_SERVE_HASHED < live->input
                         ? (int64_t)live->hashes * RT_SERVE_HASHED
                         : live->input;
    int64_t common = live->hash != NULL ? hashed : live->group != RT_NO_GROUP ? live->prefix : 0;
    int64_t prefix = common < known ? common : known - 1;
    return replica->group->scheduler.prefix_cache ? prefix / block : 0;
}

static void publish_prefix(struct rt_replica *replica, struct rt_live *live)
{
    int64_t blocks = prefix_blocks(replica, live);
    if (blocks == 0 || live->done < blocks * replica->group->scheduler.block || live->room.shared >= blocks)
        return;
    int64_t more = publish_blocks(replica, live, blocks);
    if (replica->group->host_tokens > 0)
        keep_on_host(replica, live, blocks);
    live->room.uses_prefix = true;
    live->room.shared += (int32_t)more;
    live->room.full -= more;
    replica->own -= more;
    replica->full -= more;
    replica->held -= (double)(more * replica->group->scheduler.block);
}

/* ---- sums over time ---- */

static void note_queue(struct rt_replica *replica, double now)
{
    double time = now - replica->queue_noted_us;
    size_t running = replica->running.count + replica->moving.count + replica->ready.count;
    replica->counts->waiting_us += time * (double)replica->waiting.count;
    replica->counts->running_us += time * (double)running;
    replica->queue_noted_us = now;
}

static double held_now(const struct rt_replica *replica)
{
    return replica->held + (double)replica->prefixes.used * (double)replica->group->scheduler.block;
}

/* While a step is under way its own sum goes on, over_run(). */
void rt_replica_note(struct rt_replica *replica, double now)
{
    note_queue(replica, now);
    if (replica->busy)
        return;
    replica->held_us += held_now(replica) * (now - replica->held_noted_us);
    replica->held_noted_us = now;
}

/* Time after so many steps of the run. */
static double run_us(const struct rt_replica *replica, int64_t steps)
{
    double n = (double)steps;
    return n * replica->first_us + n * (n - 1) / 2 * replica->slope_us;
}

/* Tokens x time of a run in which `grows` sequences get a token a step: sum of (held + grows (i + 1)) (first
 * + slope i) over its steps i. */
static double held_over_run(const struct rt_replica *replica, double grows)
{
    double n = (double)replica->run, i1 = n * (n - 1) / 2, i2 = n * (n - 1) * (2 * n - 1) / 6;
    double held = held_now(replica) + grows, a = replica->first_us, b = replica->slope_us;
    return held * (a * n + b * i1) + grows * (a * i1 + b * i2);
}

/* ---- requests come ---- */

/* The run ends with the step that is under way. */
static void cut_run(struct rt_replica *replica, double now)
{
    if (!replica->busy || replica->run == 1)
        return;
    int64_t low = 1, high = replica->run;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (replica->start_us + run_us(replica, middle) >= now)
            high = middle;
        else
            low = middle + 1;
    }
    replica->run = low;
    replica->end_us = replica->start_us + run_us(replica, low);
}

void rt_replica_push(struct rt_replica *replica, uint32_t request, double now)
{
    note_queue(replica, now);
    rt_requests_queue(&replica->waiting, replica->lives, request);
    cut_run(replica, now);
}

void rt_replica_arrive(struct rt_replica *replica, uint32_t request, double now)
{
    note_queue(replica, now);
    rt_requests_remove(&replica->moving, replica->lives, request);
    rt_requests_append(&replica->ready, replica->lives, request);
    cut_run(replica, now);
}

void rt_replica_give_up(struct rt_replica *replica, uint32_t request, double now)
{
    struct rt_live *live = &replica->lives->live[request];
    double before;
    rt_replica_note(replica, now);
    before = held_now(replica);
    release_room(replica, &live->behind, live, live->input);
    if (replica->busy) /* it was there until now */
        replica->held_us += (before - held_now(replica)) * (now - replica->start_us);
}

/* ---- forming a step ---- */

/* What a request that shares no prefix had stays a prefix of its own, from its end on the first to give way:
 * vLLM frees a request's blocks in reverse, and finds by their hashes those that nobody took
 * (vllm/v1/core/block_pool.py). */
static void keep_blocks(struct rt_replica *replica, struct rt_live *live, int64_t tokens)
{
    const struct rt_scheduler *scheduler = &replica->group->scheduler;
    bool own = live->group < RT_NO_GROUP || (live->group == RT_NO_GROUP && live->hash == NULL);
    if (!scheduler->prefix_cache || !scheduler->keeps || !own || tokens < scheduler->block)
        return;
    live->group = RT_NO_GROUP - 1 - (int32_t)live->id;
    live->prefix = (int32_t)tokens;
    rt_prefix_publish(&replica->prefixes, live->group, tokens / scheduler->block, 0);
    rt_prefix_leave(&replica->prefixes, live->group);
}

/* Back to the front of the queue; all it knows is computed again, but for what is still there. */
static void preempt(struct rt_replica *replica, uint32_t request)
{
    struct rt_live *live = &replica->lives->live[request];
    bool decodes = live->done == live->input + live->made;
    if (decodes) {
        int64_t tokens = rt_decoding_tokens(&replica->decoding, live);
        rt_decoding_remove(&replica->decoding, replica->lives, request);
        live->last_us = fmax(live->last_us, replica->decoded_us);
        release_room(replica, &live->room, live, tokens);
        keep_blocks(replica, live, tokens);
        replica->counts->recomputed_tokens += (double)tokens;
    } else {
        release_room(replica, &live->room, live, (int64_t)live->input + live->made);
        replica->counts->recomputed_tokens += (double)live->done;
    }
    replica->begun = request == replica->begun ? RT_NOBODY : replica->begun;
    live->done = 0;
    live->remote = false;
    rt_requests_remove(&replica->running, replica->lives, request);
    if (replica->lives->prioritised)
        rt_requests_queue(&replica->waiting, replica->lives, request);
    else
        rt_requests_prepend(&replica->waiting, replica->lives, request);
    replica->noticed++;
    replica->counts->preemptions++;
    replica->holds_back = true;
}

/* The last of the greatest priority number. */
static uint32_t whom_to_preempt(const struct rt_replica *replica)
{
    const struct rt_live *live = replica->lives->live;
    uint32_t chosen = replica->running.last;
    for (uint32_t r = chosen; replica->lives->prioritised && r != RT_NOBODY; r = live[r].previous)
        chosen = live[r].priority > live[chosen].priority ? r : chosen;
    return chosen;
}

/* Room for a token of every sequence that decodes: who came last goes first. */
static void preempt_for_decodes(struct rt_replica *replica)
{
    while (replica->decoding.count > 0 && rt_decoding_blocks(&replica->decoding, 1) > room(replica))
        preempt(replica, whom_to_preempt(replica));
}

static void add_chunk(struct rt_replica *replica, uint32_t request, int64_t tokens)
{
    if (replica->chunk_count == replica->chunk_capacity) {
        replica->chunk_capacity = 2 * replica->chunk_capacity + 16;
        replica->chunks = rt_realloc(replica->chunks, replica->chunk_capacity, sizeof *replica->chunks);
        replica->chunk_of = rt_realloc(replica->chunk_of, replica->chunk_capacity, sizeof *replica->chunk_of);
    }
    const struct rt_live *live = &replica->lives->live[request];
    bool first = live->done == (live->room.shared + live->room.loaded) * replica->group->scheduler.block;
    replica->chunks[replica->chunk_count] =
        (struct rt_serve_chunk){.tokens = tokens, .cached = live->done, .first = first};
    replica->chunk_of[replica->chunk_count++] = request;
}

/* Tokens of a prompt that go into the step; 0: none. Where prompts are not cut, the first of a step goes in
 * whatever its length: who serves such prompts gives the server the tokens for them beside those that decode.
 */
static int64_t chunk_tokens(const struct rt_replica *replica, int64_t left, int64_t budget)
{
    const struct rt_scheduler *scheduler = &replica->group->scheduler;
    if (left <= budget || scheduler->chunked)
        return left < budget ? left : budget;
    return replica->chunk_count == 0 ? left : 0;
}

/* Takes room for a request, the prefix that is there included; false: there is none. */
static bool take_room(struct rt_replica *replica, struct rt_live *live)
{
    const struct rt_scheduler *scheduler = &replica->group->scheduler;
    int64_t known = live->remote ? live->input : (int64_t)live->input + live->made;
    int32_t hashes = 0;
    int64_t prefix = live->remote ? 0 : prefix_blocks(replica, live);
    int64_t shared = use_prefix(replica, &replica->prefixes, live, prefix, &hashes);
    int64_t need = blocks_of(replica, known) - shared;
    int64_t full = rt_replica_blocks(replica, live->input, live->output) - shared;
    int64_t promised = (int64_t)ceil(scheduler->reserve * (double)(replica->full - replica->own));
    int64_t ahead = scheduler->reserve > 0 ? full : need;
    if (need > room(replica) - rt_decoding_blocks(&replica->decoding, 1) ||
        promised + ahead > room(replica)) {
        if (shared > 0)
            leave_prefix(&replica->prefixes, live, hashes);
        return false;
    }
    int64_t kept = replica->group->host_tokens > 0 ? on_host(replica, live, prefix) : 0;
    int64_t loaded = kept > shared ? kept - shared : 0;
    live->room = (struct rt_kv_allocation){.full = full,
                                           .shared = (int32_t)shared,
                                           .loaded = (int32_t)loaded,
                                           .hashes = hashes,
                                           .uses_prefix = shared > 0};
    live->done = (int32_t)((shared + loaded) * scheduler->block);
    if (loaded > 0) {
        replica->loading_us += (double)(loaded * scheduler->block) * replica->group->load_us;
        replica->counts->loaded_tokens += (double)(loaded * scheduler->block);
    }
    replica->own += need;
    replica->full += full;
    replica->held += (double)known - shared_tokens(replica, &live->room);
    if (live->group < RT_NO_GROUP) /* it had them before */
        replica->counts->recomputed_tokens -= (double)live->done;
    else
        replica->counts->prefix_tokens += (double)live->done;
    make_way(replica);
    return true;
}

static bool has_place(const struct rt_replica *replica)
{
    int64_t running = (int64_t)(replica->running.count + replica->moving.count + replica->ready.count);
    return replica->noticed > 0 && running < replica->sequences;
}

static uint32_t pop_waiting(struct rt_replica *replica)
{
    replica->noticed--;
    return rt_requests_pop(&replica->waiting, replica->lives);
}

/* Who came is noticed where it is time to look. Nothing to decode, or a prefill before: at once (SGLang's
 * SchedulerRecvSkipper, managers/scheduler_recv_skipper.py). */
static void poll_arrivals(struct rt_replica *replica)
{
    const struct rt_scheduler *scheduler = &replica->group->scheduler;
    bool decodes = replica->decoding.count > 0 && (replica->kind == RT_SERVE_DECODE || scheduler->gathers);
    bool early = decodes && replica->unpolled < scheduler->poll;
    replica->gathering = early && replica->noticed < replica->waiting.count;
    if (early)
        return;
    replica->noticed = replica->waiting.count;
    replica->unpolled = 0;
}

/* Steps until it looks again, where somebody is there whom it does not know. */
static int64_t steps_until_poll(const struct rt_replica *replica)
{
    bool unknown = replica->noticed < replica->waiting.count;
    return unknown ? replica->group->scheduler.poll - replica->unpolled : INT64_MAX;
}

/* Those whose prompts others computed. They need no step. */
static void admit_remote(struct rt_replica *replica)
{
    while (has_place(replica) && replica->lives->live[replica->waiting.first].remote &&
           take_room(replica, &replica->lives->live[replica->waiting.first])) {
        uint32_t request = pop_waiting(replica);
        rt_requests_append(&replica->moving, replica->lives, request);
    }
}

/* As much of a running request's prompt as goes into the step. Returns its tokens. */
static int64_t add_prompt(struct rt_replica *replica, uint32_t request, int64_t budget)
{
    const struct rt_live *live = &replica->lives->live[request];
    int64_t left = (int64_t)live->input + live->made - live->done;
    int64_t tokens = chunk_tokens(replica, left, budget);
    if (tokens > 0)
        add_chunk(replica, request, tokens);
    replica->begun = tokens < left ? request : RT_NOBODY;
    return tokens;
}

/* Chunks of prompts: of the one that is begun, then of those that wait. */
static void add_chunks(struct rt_replica *replica, int64_t budget, double now)
{
    if (replica->begun != RT_NOBODY && budget > 0)
        budget -= add_prompt(replica, replica->begun, budget);
    while (replica->begun == RT_NOBODY && budget > 0 && has_place(replica) && !replica->holds_back) {
        uint32_t request = replica->waiting.first;
        struct rt_live *live = &replica->lives->live[request];
        if (live->remote || chunk_tokens(replica, (int64_t)live->input + live->made, budget) == 0 ||
            !take_room(replica, live))
            return;
        rt_requests_append(&replica->running, replica->lives, pop_waiting(replica));
        live->began_us = isnan(live->began_us) ? now : live->began_us;
        budget -= add_prompt(replica, request, budget);
    }
}

/* Those whose caches came. */
static void take_ready(struct rt_replica *replica)
{
    for (uint32_t request; (request = rt_requests_pop(&replica->ready, replica->lives)) != RT_NOBODY;) {
        struct rt_live *live = &replica->lives->live[request];
        live->done = live->input + live->made;
        rt_requests_append(&replica->running, replica->lives, request);
        rt_decoding_add(&replica->decoding, replica->lives, request, live->input);
    }
}

/* What runs in the next step. */
static void form_step(struct rt_replica *replica, double now)
{
    const struct rt_scheduler *scheduler = &replica->group->scheduler;
    replica->chunk_count = 0;
    replica->loading_us = 0;
    replica->holds_back = false;
    if (scheduler->mixed) {
        preempt_for_decodes(replica);
        add_chunks(replica, replica->budget - replica->decoding.count, now);
    } else {
        add_chunks(replica, replica->budget, now);
        if (replica->chunk_count == 0)
            preempt_for_decodes(replica);
    }
    bool decodes = replica->decoding.count > 0 && (scheduler->mixed || replica->chunk_count == 0);
    replica->kind = !decodes ? RT_SERVE_PREFILL : replica->chunk_count > 0 ? RT_SERVE_MIXED : RT_SERVE_DECODE;
}

/* ---- its time ---- */

/* What runs in step i of the run. */
static struct rt_serve_batch batch_of(const struct rt_replica *replica, double i)
{
    int64_t count = replica->kind != RT_SERVE_PREFILL ? replica->decoding.count : 0;
    int64_t groups = replica->attention_groups, part = (count + groups - 1) / groups;
    return (struct rt_serve_batch){
        .decodes = count,
        .padded =
            replica->chunk_count == 0 ? groups * rt_scheduler_padded(&replica->group->scheduler, part) : 0,
        .context = count > 0 ? replica->decoding.context + (double)count * i : 0,
        .chunks = replica->chunks,
        .chunk_count = replica->chunk_count,
    };
}

static double step_us(const struct rt_replica *replica, double i)
{
    struct rt_serve_batch batch = batch_of(replica, i);
    return replica->group->costs.step_us(replica->group->costs.context, &batch);
}

/* Most steps in which nobody comes, leaves or is preempted. */
static int64_t steps_alike(const struct rt_replica *replica)
{
    if (replica->kind != RT_SERVE_DECODE || replica->holds_back || replica->options->step_by_step)
        return 1;
    int64_t most = rt_decoding_until(&replica->decoding);
    most = most < replica->longest ? most : replica->longest;
    most = most < steps_until_poll(replica) ? most : steps_until_poll(replica);
    most = rt_decoding_room(&replica->decoding, room(replica), most);
    return most > 1 ? most : 1;
}

/* As many of the steps alike as are on one line: the time of the middle one tells. */
static void plan_run(struct rt_replica *replica)
{
    int64_t run = steps_alike(replica);
    double first = step_us(replica, 0), last = run > 1 ? step_us(replica, (double)(run - 1)) : first;
    while (run > 2) {
        int64_t middle = (run - 1) / 2;
        double time = step_us(replica, (double)middle);
        double line = first + (last - first) * (double)middle / (double)(run - 1);
        if (fabs(time - line) <= 1e-12 * time)
            break;
        run = middle + 1;
        last = time;
    }
    replica->run = run;
    replica->longest = 2 * run > 64 ? (2 * run < LONGEST_RUN ? 2 * run : LONGEST_RUN) : 64;
    replica->first_us = first + replica->loading_us;
    replica->slope_us = run > 1 ? (last - first) / (double)(run - 1) : 0;
}

bool rt_replica_start(struct rt_replica *replica, double now)
{
    rt_replica_note(replica, now);
    take_ready(replica);
    poll_arrivals(replica);
    admit_remote(replica);
    form_step(replica, now);
    if (replica->holds_back && replica->chunk_count == 0 && replica->decoding.count == 0)
        form_step(replica, now); /* all were preempted: the first of them goes on */
    if (replica->chunk_count == 0 && replica->decoding.count == 0)
        return false;
    plan_run(replica);
    replica->busy = true;
    replica->start_us = now;
    replica->end_us = now + run_us(replica, replica->run);
    return true;
}

/* ---- its end ---- */

/* Times between tokens. Sequences that joined got theirs elsewhere. */
static void count_gaps(struct rt_replica *replica)
{
    const struct rt_decoding *decoding = &replica->decoding;
    struct rt_tally *tally = &replica->counts->itl_us;
    double first_end = replica->start_us + replica->first_us;
    int64_t others = decoding->count - (int64_t)decoding->joined_count;
    for (size_t j = 0; j < decoding->joined_count; j++)
        rt_tally_add(tally, fmax(first_end - replica->lives->live[decoding->joined[j]].last_us, 0), 1);
    if (others > 0)
        rt_tally_add(tally, first_end - replica->decoded_us, (double)others);
    rt_tally_add_run(tally, replica->first_us + replica->slope_us, replica->slope_us,
                     (size_t)(replica->run - 1), (double)decoding->count);
}

static void count_step(struct rt_replica *replica, double time)
{
    struct rt_serve_counts *counts = replica->counts;
    const struct rt_serve_costs *costs = &replica->group->costs;
    double parts[RT_SERVE_PARTS], sum = 0;
    counts->steps[replica->kind] += (double)replica->run;
    counts->time_us[replica->kind] += time;
    if (costs->parts_us == NULL)
        return;
    struct rt_serve_batch batch = batch_of(replica, (double)(replica->run - 1) / 2);
    costs->parts_us(costs->context, &batch, parts);
    for (int p = 0; p < RT_SERVE_PARTS; p++)
        sum += parts[p];
    for (int p = 0; p < RT_SERVE_PARTS; p++)
        counts->parts_us[p] += sum > 0 ? parts[p] / sum * time : 0;
}

static void observe(const struct rt_replica *replica)
{
    struct rt_serve_batch batch = batch_of(replica, 0);
    struct rt_serve_span span = {
        .replica = replica->number,
        .kind = replica->kind,
        .start_us = replica->start_us,
        .end_us = replica->end_us,
        .steps = replica->run,
        .decodes = batch.decodes,
        .context = batch.context,
        .prompts = replica->chunk_count,
        .waiting = replica->waiting.count,
        .running = replica->running.count,
        .blocks = replica->own + replica->prefixes.used,
    };
    for (size_t c = 0; c < replica->chunk_count; c++)
        span.prompt_tokens += replica->chunks[c].tokens;
    replica->options->step(replica->options->context, &span);
}

static void leave(struct rt_replica *replica, uint32_t request, struct rt_request_list *left)
{
    rt_requests_remove(&replica->running, replica->lives, request);
    rt_requests_append(left, replica->lives, request);
}

static void finish_decodes(struct rt_replica *replica, struct rt_request_list *left)
{
    struct rt_decoding *decoding = &replica->decoding;
    double tokens = (double)decoding->count * (double)replica->run;
    count_gaps(replica);
    replica->own += rt_decoding_blocks(decoding, replica->run);
    replica->held += tokens;
    replica->counts->decoded_tokens += tokens;
    replica->decoded_us = replica->end_us;
    make_way(replica);
    rt_decoding_advance(decoding, replica->run);
    for (uint32_t request; (request = rt_decoding_answered(decoding, replica->lives)) != RT_NOBODY;) {
        struct rt_live *live = &replica->lives->live[request];
        release_room(replica, &live->room, live, rt_decoding_tokens(decoding, live));
        leave(replica, request, left);
    }
}

/* The prompt is computed: a token is out. */
static void finish_prompt(struct rt_replica *replica, uint32_t request, struct rt_request_list *left)
{
    struct rt_live *live = &replica->lives->live[request];
    int64_t known = live->done;
    if (live->made++ > 0) /* it was preempted before */
        rt_tally_add(&replica->counts->itl_us, replica->end_us - live->last_us, 1);
    live->done++;
    live->last_us = replica->end_us;
    live->first_us = live->made == 1 ? replica->end_us : live->first_us;
    if (live->made == live->output)
        release_room(replica, &live->room, live, known);
    else if (replica->prefills_only)
        live->behind = live->room;
    if (live->made == live->output || replica->prefills_only)
        leave(replica, request, left);
    else
        rt_decoding_add(&replica->decoding, replica->lives, request, known);
}

static void finish_chunks(struct rt_replica *replica, struct rt_request_list *left)
{
    for (size_t c = 0; c < replica->chunk_count; c++) {
        struct rt_live *live = &replica->lives->live[replica->chunk_of[c]];
        live->done += (int32_t)replica->chunks[c].tokens;
        replica->counts->computed_tokens += (double)replica->chunks[c].tokens;
        publish_prefix(replica, live);
        if (live->done == live->input + live->made)
            finish_prompt(replica, replica->chunk_of[c], left);
    }
}

/* A look at an empty queue is one, too. */
static void count_unpolled(struct rt_replica *replica)
{
    const struct rt_scheduler *scheduler = &replica->group->scheduler;
    if (scheduler->gathers)
        replica->unpolled = replica->gathering ? replica->unpolled + replica->run : 0;
    else if (scheduler->poll > 0)
        replica->unpolled = (replica->unpolled + replica->run - 1) % scheduler->poll + 1;
}

void rt_replica_finish(struct rt_replica *replica, struct rt_request_list *left)
{
    double decodes = replica->kind != RT_SERVE_PREFILL ? (double)replica->decoding.count : 0;
    note_queue(replica, replica->end_us);
    if (replica->options->step != NULL)
        observe(replica);
    replica->held_us += held_over_run(replica, decodes);
    replica->held_noted_us = replica->end_us;
    count_step(replica, replica->end_us - replica->start_us);
    replica->busy = false;
    count_unpolled(replica);
    if (decodes > 0)
        finish_decodes(replica, left);
    finish_chunks(replica, left);
}
