/* A plan as a report. See plan.h. */
#include "base/csv.h"
#include "base/file.h"
#include "base/plot.h"
#include "base/status.h"
#include "base/text.h"
#include "predict/serving/plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 12 };

/* ---- rows of plans ---- */

/* What decides comes first, and the longest last, where it is wrapped: a screen of 100 columns holds them.
 * The GPU is in the title; without a title of its own a column is in files alone. */
static const struct rt_column columns[] = {
    {"gpu", "", 's', 0},
    {"gpu_tokens_per_s", "a GPU", 'f', 0},
    {"user_tokens_per_s", "a user", 'f', 1},
    {"half_pct", "+-%", 'f', 0},
    {"price_per_million", "a million", 'f', 3},
    {"ttft_ms", "TTFT ms", 'f', 0},
    {"tpot_ms", "TPOT ms", 'f', 1},
    {"good_requests_per_s", "in target", 'f', 2},
    {"users", NULL, 'd', 0},
    {"gpus", NULL, 'd', 0},
    {"requests_per_s", "", 'f', 2},
    {"servers", "", 's', 0},
    {"weights", "", 's', 0},
    {"cache", "", 's', 0},
    {"plan", "servers", 's', 0},
};

/* "2 x (tp 4), fp8, cache fp8". Free with free(). */
static char *plan_words(const struct rt_serving_plan *plan, size_t candidate, int64_t times)
{
    char *servers = rt_serving_servers_words(plan, candidate, times);
    char *words = rt_format("%s, %s, cache %s", servers, rt_serving_weights_name(plan, candidate),
                            rt_serving_cache_name(plan, candidate));
    free(servers);
    return words;
}

static json_t *cut_json(int64_t servers, const struct rt_parallelism *cut)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "servers", (json_int_t)servers, "tensor",
                     (json_int_t)cut->tensor, "pipeline", (json_int_t)cut->pipeline, "attention_data",
                     (json_int_t)cut->attention, "experts", (json_int_t)cut->expert);
}

/* Times from `value` e^-half to `value` e^half; rates likewise. */
static json_t *range_json(double value, double ln_half_width)
{
    json_t *range = json_array();
    json_array_append_new(range, rt_json_number(value * exp(-ln_half_width)));
    json_array_append_new(range, rt_json_number(value * exp(ln_half_width)));
    return range;
}

/* `gpus`: of how many they are shown; a multiple of the candidate's. */
static void add_row(struct rt_table *table, const struct rt_serving_plan *plan, size_t candidate,
                    int64_t gpus)
{
    const struct rt_serving_candidate *c = &plan->candidate[candidate];
    const struct rt_serving_engine *engine = &plan->engine[c->engine];
    const double *numbers = rt_serving_numbers(plan, candidate);
    double times = (double)gpus / c->gpus, ln_half_width = numbers[RT_PLANNED_INTERVAL];
    double ttft_us = rt_serving_shown_us(plan, candidate, RT_PLANNED_TTFT),
           tpot_us = rt_serving_shown_us(plan, candidate, RT_PLANNED_TPOT);
    char *servers = rt_serving_servers_words(plan, candidate, gpus / c->gpus);
    char *words = plan_words(plan, candidate, gpus / c->gpus);
    rt_table_row(table, plan->request->gpu[engine->gpu].device.name, rt_serving_gpu_rate(plan, candidate),
                 rt_serving_user_rate(plan, candidate), 100 * expm1(ln_half_width),
                 rt_serving_price(plan, candidate), ttft_us / 1e3, tpot_us / 1e3,
                 times * numbers[RT_PLANNED_GOOD],
                 (long long)(times * (double)rt_serving_users(plan, candidate)), (long long)gpus,
                 times * numbers[RT_PLANNED_REQUESTS], servers, rt_serving_weights_name(plan, candidate),
                 rt_serving_cache_name(plan, candidate), words);
    free(words);
    if (c->prefills > 0)
        rt_table_row_json(table, "prefill",
                          cut_json((int64_t)(times * c->prefills), &plan->engine[c->prefill].cut));
    rt_table_row_json(table, c->prefills > 0 ? "decode" : "serve",
                      cut_json((int64_t)(times * c->engines), &engine->cut));
    rt_table_row_json(table, "tpot_ms_interval", range_json(tpot_us / 1e3, ln_half_width));
    rt_table_row_json(table, "gpu_tokens_per_s_interval",
                      range_json(rt_serving_gpu_rate(plan, candidate), ln_half_width));
    free(servers);
}

/* ---- the head ---- */

/* The targets of a percent of requests; false: it has none. */
static bool add_targets_of(struct rt_text *words, const struct rt_serving_request *request, int p)
{
    double ttft_us = request->ttft.us[p], tpot_us = request->tpot.us[p];
    if (isnan(ttft_us) && isnan(tpot_us))
        return false;
    const char *comma = words->length > 0 ? "; " : "";
    if (!isnan(ttft_us))
        rt_text_add(words, "%sTTFT of %g ms", comma, ttft_us / 1e3);
    if (!isnan(tpot_us))
        rt_text_add(words, "%sTPOT of %g ms", !isnan(ttft_us) ? ", " : comma, tpot_us / 1e3);
    rt_text_add(words, " at most, for %d%% of requests", rt_serving_percents[p]);
    return true;
}

static json_t *targets_json(const struct rt_serving_target *target)
{
    json_t *json = json_object();
    for (int p = 0; p < RT_SERVING_PERCENTILES; p++) {
        char name[8];
        snprintf(name, sizeof name, "p%d", rt_serving_percents[p]);
        json_object_set_new(json, name, rt_json_number(target->us[p] / 1e3));
    }
    return json;
}

static void add_target(struct rt_report *report, const struct rt_serving_request *request)
{
    struct rt_text words = {0};
    for (int p = 0; p < RT_SERVING_PERCENTILES; p++)
        add_targets_of(&words, request, p);
    if (words.length > 0 && request->risk > 0)
        rt_text_add(&words, ", with a probability of %g", request->risk);
    if (!isnan(request->rate))
        rt_text_item(&words, "; ", "%.4g requests a second", request->rate);
    if (request->headroom > 0)
        rt_text_add(&words, ", %g%% more than come", 100 * request->headroom);
    if (request->spare > 0)
        rt_text_add(&words, ", with %" PRId64 " server%s of each kind lost", request->spare,
                    request->spare > 1 ? "s" : "");
    rt_report_add_words(report, "target", "%s", words.length > 0 ? words.text : "none: the whole front");
    rt_report_add_json(report, "ttft_ms", rt_json_number(rt_serving_target_most(&request->ttft) / 1e3));
    rt_report_add_json(report, "tpot_ms", rt_json_number(rt_serving_target_most(&request->tpot) / 1e3));
    rt_report_add_json(report, "ttft_targets_ms", targets_json(&request->ttft));
    rt_report_add_json(report, "tpot_targets_ms", targets_json(&request->tpot));
    rt_report_add_json(report, "rate", rt_json_number(request->rate));
    rt_report_add_json(report, "headroom", rt_json_number(request->headroom));
    rt_report_add_json(report, "spare", json_integer(request->spare));
    rt_report_add_json(report, "percentile", json_integer(rt_serving_percents[request->percentile]));
    rt_text_release(&words);
}

static void add_best(struct rt_report *report, const struct rt_serving_plan *plan, size_t best)
{
    const struct rt_serving_candidate *c = &plan->candidate[best];
    const struct rt_serving_engine *engine = &plan->engine[c->engine];
    const double *numbers = rt_serving_numbers(plan, best);
    double factor = exp(numbers[RT_PLANNED_INTERVAL]), gpu = rt_serving_gpu_rate(plan, best);
    char *servers = rt_serving_servers_words(plan, best, 1);
    rt_report_add_words(report, "best", "%d %s: %s, weights in %s, cache in %s", c->gpus,
                        plan->request->gpu[engine->gpu].device.name, servers,
                        rt_serving_weights_name(plan, best), rt_serving_cache_name(plan, best));
    if (c->users > 0)
        rt_report_add_words(report, "", "%" PRId64 " users at once", rt_serving_users(plan, best));
    rt_report_add_words(report, "", "TTFT %.0f ms, TPOT %.1f ms; a user gets %.1f tokens/s",
                        rt_serving_shown_us(plan, best, RT_PLANNED_TTFT) / 1e3,
                        rt_serving_shown_us(plan, best, RT_PLANNED_TPOT) / 1e3,
                        rt_serving_user_rate(plan, best));
    if (isnan(factor))
        rt_report_add_words(report, "", "%.0f tokens/s a GPU", gpu);
    else
        rt_report_add_words(report, "", "%.0f tokens/s a GPU (%.0f .. %.0f, %g%%), %.2f requests/s", gpu,
                            gpu / factor, gpu * factor, 100 * plan->request->confidence,
                            numbers[RT_PLANNED_REQUESTS]);
    double hour = c->gpus * plan->request->gpu[engine->gpu].price;
    if (!isnan(hour))
        rt_report_add_words(report, "price", "%.3f for a million output tokens, %.2f an hour",
                            rt_serving_price(plan, best), hour);
    if (!isnan(hour) && !isnan(plan->request->rate))
        rt_report_add_words(report, "", "of it %.2f an hour while servers are idle, %.0f%% of their time",
                            hour * numbers[RT_PLANNED_IDLE], 100 * numbers[RT_PLANNED_IDLE]);
    free(servers);
}

/* The most tokens/s of a GPU that meets the targets, of servers that do all or of those apart, on the GPUs of
 * a candidate; -1: none. */
static int64_t best_of(const struct rt_serving_plan *plan, size_t like, bool apart)
{
    const struct rt_serving_candidate *on = &plan->candidate[like];
    int64_t best = -1;
    for (size_t c = 0; c < plan->candidate_count; c++)
        if ((plan->fate[c] == RT_SERVING_FRONT || plan->fate[c] == RT_SERVING_BEATEN) &&
            (plan->candidate[c].prefills > 0) == apart && plan->candidate[c].gpus == on->gpus &&
            plan->engine[plan->candidate[c].engine].gpu == plan->engine[on->engine].gpu &&
            (best < 0 || rt_serving_gpu_rate(plan, c) > rt_serving_gpu_rate(plan, (size_t)best)))
            best = (int64_t)c;
    return best;
}

static void add_apart(struct rt_report *report, const struct rt_serving_plan *plan, size_t best)
{
    int64_t apart = best_of(plan, best, true), together = best_of(plan, best, false);
    if (!plan->request->disaggregate || !isnan(plan->request->rate) || (apart < 0 && together < 0))
        return;
    if (apart < 0 || together < 0) {
        rt_report_add_words(report, "apart", "only servers that %s meet the target",
                            apart < 0 ? "prefill and decode together" : "prefill and decode apart");
        return;
    }
    double ours = rt_serving_gpu_rate(plan, (size_t)apart),
           theirs = rt_serving_gpu_rate(plan, (size_t)together);
    rt_report_add_words(report, "apart",
                        "prefill and decode apart give %.0f tokens/s a GPU at most, together %.0f: %+.0f%%",
                        ours, theirs, 100 * (ours / theirs - 1));
}

static void add_commands(struct rt_report *report, const struct rt_serving_plan *plan, size_t best)
{
    const struct rt_serving_candidate *c = &plan->candidate[best];
    char *prefill = c->prefills > 0 ? rt_serving_launch(plan, best, true) : NULL;
    char *serve = rt_serving_launch(plan, best, false), *again = rt_serving_simulate_words(plan, best);
    if (prefill != NULL)
        rt_report_add_text(report, "launch_prefill", "launch", prefill);
    rt_report_add_text(report, "launch", prefill != NULL ? "" : "launch", serve);
    if (rt_serving_hosts(plan, best) > 1 && plan->request->server->project != RT_SERVER_TENSORRT)
        rt_report_add_words(
            report, "",
            "where it says $RANK, on each host of a server: RANK from 0, HEAD the first one's address");
    if (rt_serving_checkpoint(plan, best) != NULL)
        rt_report_add_words(report, "", "of a checkpoint whose weights are in %s",
                            rt_serving_checkpoint(plan, best));
    if (again != NULL)
        rt_report_add_text(report, "simulate", "simulate", again);
    free(prefill);
    free(serve);
    free(again);
}

/* GPUs of whose vendor no kernel was measured: nothing says how far off their forecast is. */
static void add_unknown(struct rt_report *report, const struct rt_serving_plan *plan)
{
    const struct rt_serving_request *request = plan->request;
    for (size_t g = 0; g < request->gpu_count; g++) {
        bool in_dtype;
        const struct rt_device *device = &request->gpu[g].device;
        enum rt_knowledge how = rt_predictor_knowledge(request->predictor, device, RT_OP_ATTENTION_GENERATION,
                                                       RT_BF16, &in_dtype);
        if (how >= RT_KNOWN_OLDER)
            rt_report_add_note(report, "notes",
                               "%s: attention of servers is forecast from %s; measured runs of it make the "
                               "plan surer (rooftile calibrate --from runs)",
                               device->name, rt_knowledge_words[how]);
    }
}

/* The candidate that misses the targets by the least; -1: none has numbers or bounds. */
static int64_t nearest(const struct rt_serving_plan *plan)
{
    double least = INFINITY;
    int64_t best = -1;
    for (size_t c = 0; c < plan->candidate_count; c++) {
        const struct rt_serving_candidate *candidate = &plan->candidate[c];
        if (!(candidate->most_user > 0) || plan->fate[c] == RT_SERVING_SLOW_RATE ||
            plan->fate[c] == RT_SERVING_MISSED_RATE)
            continue;
        double miss = fmax(rt_serving_miss(plan, c), 0);
        if (miss < least) {
            least = miss;
            best = (int64_t)c;
        }
    }
    return best;
}

/* What decides, in one row of a page. */
static void add_tiles(struct rt_report *report, const struct rt_serving_plan *plan, size_t best)
{
    const struct rt_serving_candidate *c = &plan->candidate[best];
    double price = rt_serving_price(plan, best);
    rt_report_add_tile(report, "the best", NAN, "%d GPUs\n%s", c->gpus,
                       plan->request->gpu[plan->engine[c->engine].gpu].device.name);
    rt_report_add_tile(report, "a GPU", NAN, "%s tokens/s",
                       rt_number_text(rt_serving_gpu_rate(plan, best)).text);
    rt_report_add_tile(report, "a user", NAN, "%s tokens/s",
                       rt_number_text(rt_serving_user_rate(plan, best)).text);
    rt_report_add_tile(report, "first token", NAN, "%s ms\n%s ms each further one",
                       rt_number_text(rt_serving_shown_us(plan, best, RT_PLANNED_TTFT) / 1e3).text,
                       rt_number_text(rt_serving_shown_us(plan, best, RT_PLANNED_TPOT) / 1e3).text);
    if (!isnan(price))
        rt_report_add_tile(report, "a million tokens", NAN, "%s", rt_number_text(price).text);
}

static void add_none(struct rt_report *report, const struct rt_serving_plan *plan)
{
    int64_t near = nearest(plan);
    rt_report_add_words(report, "best", "none: no plan meets the target");
    if (near < 0)
        return;
    const struct rt_serving_candidate *c = &plan->candidate[near];
    const double *numbers = rt_serving_numbers(plan, (size_t)near);
    const char *least = numbers != NULL ? "" : "at least ";
    int shown = plan->request->percentile;
    double ttft = numbers != NULL ? numbers[RT_PLANNED_TTFT + shown] : c->least_ttft_us;
    double tpot = numbers != NULL ? numbers[RT_PLANNED_TPOT + shown] : 1e6 / c->most_user;
    char *servers = rt_serving_servers_words(plan, (size_t)near, 1);
    rt_report_add_words(report, "nearest", "%d %s: %s, weights in %s: TTFT %s%.0f ms, TPOT %s%.1f ms",
                        c->gpus, plan->request->gpu[plan->engine[c->engine].gpu].device.name, servers,
                        rt_serving_weights_name(plan, (size_t)near), least, ttft / 1e3, least, tpot / 1e3);
    free(servers);
}

/* "4096", or "3276 to 4096". Free with free(). */
static char *lengths_words(const struct rt_serve_lengths *lengths)
{
    return lengths->least == lengths->most
               ? rt_format("%" PRId64, lengths->most)
               : rt_format("%" PRId64 " to %" PRId64, lengths->least, lengths->most);
}

/* "prompts of 4096 tokens, answers of 1024". Free with free(). */
static char *load_words(const struct rt_serving_request *request)
{
    const struct rt_serve_load *load = &request->load;
    if (load->trace != NULL)
        return rt_format("%zu requests as they came, of %.0f and %.0f tokens in the mean",
                         rt_serve_load_requests(load), request->traffic.input, request->traffic.output);
    char *input = lengths_words(&load->input), *output = lengths_words(&load->output);
    char *words = rt_format("prompts of %s tokens, answers of %s", input, output);
    free(input);
    free(output);
    return words;
}

/* Longest lengths, and means where requests differ. */
static void add_load(struct rt_report *report, const struct rt_serving_request *request)
{
    const struct rt_serve_load *load = &request->load;
    const struct rt_serving_traffic *traffic = &request->traffic;
    int64_t osl = load->trace != NULL ? traffic->longest - traffic->longest_input : load->output.most;
    rt_report_add_json(report, "isl", json_integer(traffic->longest_input));
    rt_report_add_json(report, "osl", json_integer(osl));
    rt_report_add_json(report, "input_mean", rt_json_number(traffic->input));
    rt_report_add_json(report, "output_mean", rt_json_number(traffic->output));
    rt_report_add_json(report, "prefix_share", rt_json_number(load->prefix_share));
    if (load->prefix_share > 0)
        rt_report_add_words(report, "prefix", "%g%% of every prompt is the same", 100 * load->prefix_share);
    if (!isnan(load->ramp_us))
        rt_report_add_words(report, "users", "begin within %g s and end with the last request",
                            load->ramp_us / 1e6);
    if (request->draft != NULL)
        rt_report_add_words(report, "draft", "%s proposes %" PRId64 " tokens, a check makes %g",
                            request->draft->name, request->draft->drafted, request->draft->accepted);
}

static void add_head(struct rt_report *report, const struct rt_serving_plan *plan)
{
    const struct rt_serving_request *request = plan->request;
    struct rt_text gpus = {0}, counts = {0};
    int64_t best = rt_serving_best(plan, SIZE_MAX, 0);
    for (size_t g = 0; g < request->gpu_count; g++)
        rt_text_item(&gpus, " or ", "%s", request->gpu[g].device.name);
    for (size_t g = 0; g < request->gpus_count; g++)
        rt_text_item(&counts, " or ", "%" PRId64, request->gpus[g]);
    char *load = load_words(request);
    rt_report_add_title(report, "%s served by %s of %s, by %s: %s", request->source->spec, counts.text,
                        gpus.text, request->server->name, load);
    free(load);
    rt_report_add_json(report, "model", rt_json_text(request->source->spec));
    add_load(report, request);
    rt_report_add_json(report, "backend", rt_json_text(request->server->name));
    if (request->images > 0)
        rt_report_add_fact(report, "images", json_integer(request->images), "images",
                           "%" PRId64 " of %" PRId64 " x %" PRId64 " pixels a prompt, %" PRId64
                           " of its tokens",
                           request->images, request->image, request->image, request->image_tokens);
    if (best >= 0)
        add_tiles(report, plan, (size_t)best);
    add_target(report, request);
    rt_report_add_fact(report, "candidates", json_integer((json_int_t)plan->candidate_count), "candidates",
                       "%zu, of which %zu were simulated", plan->candidate_count, plan->found_count);
    rt_report_add_json(report, "simulated", json_integer((json_int_t)plan->found_count));
    if (best >= 0) {
        add_best(report, plan, (size_t)best);
        add_apart(report, plan, (size_t)best);
        add_commands(report, plan, (size_t)best);
    } else {
        add_none(report, plan);
    }
    rt_text_release(&gpus);
    rt_text_release(&counts);
}

/* ---- tables ---- */

/* Of each number of GPUs of one kind. */
static void add_choices_of(struct rt_table *table, const struct rt_serving_plan *plan, size_t gpu)
{
    const struct rt_serving_request *request = plan->request;
    for (size_t g = 0; g < request->gpus_count; g++) {
        int64_t best = rt_serving_best(plan, gpu, request->gpus[g]);
        if (best >= 0)
            add_row(table, plan, (size_t)best, request->gpus[g]);
    }
}

static void add_choices(struct rt_report *report, const struct rt_serving_plan *plan)
{
    struct rt_table *all = rt_table_new(columns, RT_COUNT(columns));
    for (size_t gpu = 0; gpu < plan->request->gpu_count; gpu++) {
        struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
        char *title =
            rt_format("The best of %s, tokens/s of a GPU and of a user", plan->request->gpu[gpu].device.name);
        add_choices_of(table, plan, gpu);
        add_choices_of(all, plan, gpu);
        rt_report_add_table(report, NULL, title, table);
        free(title);
    }
    rt_report_add_json(report, "best", rt_table_json(all));
    rt_table_free(all);
}

struct on_front {
    double user, gpu;
    size_t candidate;
};

static int compare(const void *x, const void *y)
{
    const struct on_front *a = x, *b = y;
    return a->user != b->user ? (a->user < b->user) - (a->user > b->user)
                              : (a->candidate > b->candidate) - (a->candidate < b->candidate);
}

/* The fastest for a user first. Free with free(). */
static struct on_front *front_of(const struct rt_serving_plan *plan, size_t gpu, size_t *count)
{
    struct on_front *front = rt_malloc((plan->found_count + 1) * sizeof *front);
    *count = 0;
    for (size_t c = 0; c < plan->candidate_count; c++)
        if (plan->fate[c] == RT_SERVING_FRONT && plan->engine[plan->candidate[c].engine].gpu == gpu)
            front[(*count)++] =
                (struct on_front){rt_serving_user_rate(plan, c), rt_serving_gpu_rate(plan, c), c};
    qsort(front, *count, sizeof *front, compare);
    return front;
}

/* Bars make the rows a picture. */
static const struct rt_column front_columns[] = {
    {"user_tokens_per_s", "a user", 'f', 1},
    {"gpu_tokens_per_s", "a GPU", 'f', 0},
    {"bar", "of the most", 's', 0},
    {"ttft_ms", "TTFT ms", 'f', 0},
    {"tpot_ms", "TPOT ms", 'f', 1},
    {"users", NULL, 'd', 0},
    {"gpus", NULL, 'd', 0},
    {"plan", "servers", 's', 0},
};

static void add_front_row(struct rt_table *table, const struct rt_serving_plan *plan, size_t candidate,
                          double most)
{
    enum { WIDTH = 16 };
    char bar[WIDTH + 1] = "";
    double gpu = rt_serving_gpu_rate(plan, candidate);
    memset(bar, '#', (size_t)ceil(WIDTH * gpu / most));
    char *words = plan_words(plan, candidate, 1);
    rt_table_row(table, rt_serving_user_rate(plan, candidate), gpu, bar,
                 rt_serving_shown_us(plan, candidate, RT_PLANNED_TTFT) / 1e3,
                 rt_serving_shown_us(plan, candidate, RT_PLANNED_TPOT) / 1e3,
                 (long long)rt_serving_users(plan, candidate), (long long)plan->candidate[candidate].gpus,
                 words);
    free(words);
}

/* Of a long one text shows an even choice with both ends; JSON has all. */
static void add_front(struct rt_report *report, const struct rt_serving_plan *plan, size_t gpu,
                      struct rt_table *all)
{
    size_t count, rows;
    struct on_front *front = front_of(plan, gpu, &count);
    struct rt_table *table = rt_table_new(front_columns, RT_COUNT(front_columns));
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, rt_serving_gpu_rate(plan, front[i].candidate));
    rows = count < MOST_ROWS ? count : MOST_ROWS;
    for (size_t r = 0; r < rows; r++) {
        size_t at = rows > 1 ? r * (count - 1) / (rows - 1) : 0;
        add_front_row(table, plan, front[at].candidate, most);
    }
    for (size_t i = 0; i < count; i++)
        add_row(all, plan, front[i].candidate, plan->candidate[front[i].candidate].gpus);
    char *title = rt_format("The front of %s, tokens/s of a GPU against those of a user: %zu of %zu plans",
                            plan->request->gpu[gpu].device.name, rows, count);
    rt_report_add_table(report, NULL, title, table);
    free(title);
    free(front);
}

static void add_series(struct rt_plot *plot, const struct rt_serving_plan *plan, size_t gpu)
{
    size_t count;
    struct on_front *front = front_of(plan, gpu, &count);
    double *number = rt_malloc((4 * count + 1) * sizeof *number);
    double *x = number, *y = number + count, *low = number + 2 * count, *high = number + 3 * count;
    const char *name = plan->request->gpu[gpu].device.name;
    for (size_t i = 0; i < count; i++) {
        double ln_half_width = rt_serving_numbers(plan, front[i].candidate)[RT_PLANNED_INTERVAL];
        x[i] = front[i].user;
        y[i] = front[i].gpu;
        low[i] = y[i] * exp(-ln_half_width);
        high[i] = y[i] * exp(ln_half_width);
    }
    rt_plot_band(plot, name, x, low, high, count);
    rt_plot_line(plot, name, x, y, count);
    rt_plot_points(plot, name, x, y, count);
    free(number);
    free(front);
}

static void add_fronts(struct rt_report *report, const struct rt_serving_plan *plan)
{
    const struct rt_serving_request *request = plan->request;
    struct rt_table *all = rt_table_new(columns, RT_COUNT(columns));
    for (size_t gpu = 0; gpu < request->gpu_count; gpu++)
        add_front(report, plan, gpu, all);
    rt_report_add_json(report, "front", rt_table_json(all));
    rt_table_free(all);
}

static void add_picture(struct rt_report *report, const struct rt_serving_plan *plan)
{
    int64_t best = rt_serving_best(plan, SIZE_MAX, 0);
    if (best < 0)
        return;
    struct rt_plot *plot = rt_plot_new("Throughput of a GPU against what a user gets",
                                       "The best plan: %s tokens/s a GPU at %s tokens/s a user.",
                                       rt_number_text(rt_serving_gpu_rate(plan, (size_t)best)).text,
                                       rt_number_text(rt_serving_user_rate(plan, (size_t)best)).text);
    rt_plot_axes(plot, "tokens/s of a user", RT_SCALE_LINEAR, "tokens/s of a GPU", RT_SCALE_LINEAR);
    for (size_t gpu = 0; gpu < plan->request->gpu_count; gpu++)
        add_series(plot, plan, gpu);
    rt_report_add_plot(report, plot);
}

/* One that fails so, the nearest: "fp8, cache fp8: 2 x (tp 4), 128 users". Free with free(). */
static char *example_words(const struct rt_serving_plan *plan, size_t candidate)
{
    char *words = plan_words(plan, candidate, 1);
    int64_t users = rt_serving_users(plan, candidate);
    char *all = users > 0 ? rt_format("%s, %" PRId64 " users", words, users) : rt_strdup(words);
    free(words);
    return all;
}

static void add_reason(struct rt_table *table, const struct rt_serving_plan *plan,
                       const struct rt_serving_reason *reason)
{
    bool memory = reason->quant != UINT32_MAX;
    const struct rt_device *device = &plan->request->gpu[reason->gpu].device;
    struct rt_serving_quant quant =
        rt_serving_quant_on(device, &plan->request->quant[memory ? reason->quant : 0]);
    char *amount = rt_serving_reason_amount(reason), *example = example_words(plan, reason->example);
    rt_table_row(table, device->name, rt_serving_fates[reason->fate],
                 memory ? rt_dtypes[quant.dtype].name : NULL, memory ? rt_serving_cache_dtype(&quant) : NULL,
                 (long long)reason->candidates, reason->words, amount[0] != '\0' ? amount : NULL, example);
    rt_table_row_json(table, "nearest", rt_json_number(reason->nearest));
    free(amount);
    free(example);
}

static void add_reasons(struct rt_report *report, const struct rt_serving_plan *plan)
{
    static const struct rt_column reason_columns[] = {
        {"gpu", "", 's', 0},
        {"outcome", "", 's', 0},
        {"weights", "", 's', 0},
        {"cache", "", 's', 0},
        {"candidates", "plans", 'd', 0},
        {"words", "what became of them", 's', 0},
        {"nearest_words", "nearest misses by", 'r', 0},
        {"example", "for example", 's', 0},
    };
    size_t count, r = 0;
    struct rt_serving_reason *reasons = rt_serving_reasons(plan, &count);
    json_t *all = json_array(), *rows;
    for (size_t gpu = 0; gpu < plan->request->gpu_count; gpu++) {
        struct rt_table *table = rt_table_new(reason_columns, RT_COUNT(reason_columns));
        char *title = rt_format("What became of all candidates of %s", plan->request->gpu[gpu].device.name);
        for (; r < count && reasons[r].gpu == gpu; r++)
            add_reason(table, plan, &reasons[r]);
        json_array_extend(all, rows = rt_table_json(table));
        json_decref(rows);
        rt_report_add_table(report, NULL, title, table);
        free(title);
    }
    rt_report_add_json(report, "reasons", all);
    free(reasons);
}

struct rt_report *rt_serving_plan_report(const struct rt_serving_plan *plan)
{
    struct rt_report *report = rt_report_new();
    add_head(report, plan);
    add_picture(report, plan);
    add_choices(report, plan);
    add_fronts(report, plan);
    add_reasons(report, plan);
    add_unknown(report, plan);
    if (plan->resumed > 0)
        rt_report_add_note(report, NULL, "%zu simulations were there from a run that did not end.",
                           plan->resumed);
    return report;
}

/* ---- all candidates in CSV ---- */

const struct rt_output_kind rt_serving_points_kind = {"a table of plans", NULL, NULL};

static void write_cut(FILE *file, int64_t servers, const struct rt_parallelism *cut)
{
    if (servers > 0)
        fprintf(file, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, servers, cut->tensor,
                cut->pipeline, cut->attention, cut->expert);
    else
        fputs(",0,,,,", file);
}

static void write_row(FILE *file, const struct rt_serving_plan *plan, size_t candidate)
{
    int shown = plan->request->percentile;
    const int times[] = {RT_PLANNED_TTFT + shown, RT_PLANNED_TPOT + shown, RT_PLANNED_TTFT,
                         RT_PLANNED_TPOT,         RT_PLANNED_TTFT + 2,     RT_PLANNED_TPOT + 2};
    const struct rt_serving_candidate *c = &plan->candidate[candidate];
    const struct rt_serving_engine *engine = &plan->engine[c->engine];
    const double *numbers = rt_serving_numbers(plan, candidate);
    bool bounded = c->most_user > 0;
    rt_csv_write(file, plan->request->gpu[engine->gpu].device.name);
    fprintf(file, ",%d,%s,%s", c->gpus, rt_serving_weights_name(plan, candidate),
            rt_serving_cache_name(plan, candidate));
    write_cut(file, c->prefills, &plan->engine[c->prefill].cut);
    write_cut(file, c->engines, &engine->cut);
    fprintf(file, ",%" PRId64 ",%s", rt_serving_users(plan, candidate),
            rt_serving_fates[plan->fate[candidate]]);
    rt_csv_write_number(file, bounded ? c->most_user : NAN);
    rt_csv_write_number(file, bounded ? c->most_gpu : NAN);
    rt_csv_write_number(file, bounded ? c->least_ttft_us / 1e3 : NAN);
    for (size_t t = 0; t < RT_COUNT(times); t++)
        rt_csv_write_number(file, numbers != NULL ? numbers[times[t]] / 1e3 : NAN);
    rt_csv_write_number(file, rt_serving_user_rate(plan, candidate));
    rt_csv_write_number(file, rt_serving_gpu_rate(plan, candidate));
    rt_csv_write_number(file, numbers != NULL ? numbers[RT_PLANNED_REQUESTS] : NAN);
    rt_csv_write_number(file, numbers != NULL ? numbers[RT_PLANNED_GOOD] : NAN);
    rt_csv_write_number(file, numbers != NULL ? numbers[RT_PLANNED_INTERVAL] : NAN);
    rt_csv_write_number(file, rt_serving_price(plan, candidate));
    fputc('\n', file);
}

int rt_serving_write_points(const struct rt_serving_plan *plan, const char *path)
{
    struct rt_new_file file;
    int status = rt_file_create(path, &file);
    if (status != RT_OK)
        return status;
    fputs("gpu,gpus,weights,cache,prefill_servers,prefill_tp,prefill_pp,prefill_attention_dp,prefill_ep,"
          "servers,tp,pp,attention_dp,ep,users,outcome,most_user_tokens_per_s,most_gpu_tokens_per_s,"
          "least_ttft_ms,ttft_ms,tpot_ms,ttft_p50_ms,tpot_p50_ms,ttft_p99_ms,tpot_p99_ms,"
          "user_tokens_per_s,gpu_tokens_per_s,"
          "requests_per_s,good_requests_per_s,half_width_ln,price_per_million\n",
          file.stream);
    for (size_t c = 0; c < plan->candidate_count; c++)
        write_row(file.stream, plan, c);
    return rt_file_finish(&file);
}
