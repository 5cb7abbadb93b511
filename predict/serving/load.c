/* Requests of a load, one after the other, and lists of them in files. See load.h. */
#include "predict/serving/load.h"
#include "base/csv.h"
#include "base/options.h"
#include "base/status.h"
#include "base/strings.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t rt_serve_load_requests(const struct rt_serve_load *load)
{
    if (load->arrivals == RT_TRACE)
        return load->requests > 0 && (size_t)load->requests < load->trace->count ? (size_t)load->requests
                                                                                 : load->trace->count;
    return (size_t)(load->requests > 0 ? load->requests : 10 * load->concurrency);
}

static int check_lengths(const char *what, const struct rt_serve_lengths *lengths)
{
    if (lengths->least < 1 || lengths->most < lengths->least || lengths->most > RT_MOST_SERVED_TOKENS)
        return rt_fail(RT_EUSAGE,
                       "%s of %" PRId64 " to %" PRId64 " tokens: must be 1 to %d, the smaller first", what,
                       lengths->least, lengths->most, RT_MOST_SERVED_TOKENS);
    return RT_OK;
}

int rt_serve_load_check(const struct rt_serve_load *load)
{
    int status = RT_OK;
    if (load->warm_up > 0 && (load->arrivals != RT_TRACE || load->trace != NULL) &&
        (size_t)load->warm_up >= rt_serve_load_requests(load))
        return rt_fail(RT_EUSAGE, "{warm_up} %" PRId64 " leaves none of %zu requests to count", load->warm_up,
                       rt_serve_load_requests(load));
    if (load->arrivals == RT_TRACE)
        return load->trace != NULL && load->trace->count > 0
                   ? RT_OK
                   : rt_fail(RT_EUSAGE, "the trace holds no requests");
    if (load->arrivals == RT_CLOSED_LOOP && load->concurrency < 1)
        return rt_fail(RT_EUSAGE, "a closed loop has at least one user");
    if (load->arrivals == RT_POISSON && !(load->rate > 0 && load->rate < INFINITY))
        return rt_fail(RT_EUSAGE, "requests come at a rate above 0 a second");
    if (!(load->prefix_share >= 0 && load->prefix_share <= 1))
        return rt_fail(RT_EUSAGE, "the share of prompts that is the same in all is 0 to 1");
    if (!(load->ramp_us >= 0 && load->think_us >= 0 && load->ramp_us + load->think_us < INFINITY))
        return rt_fail(RT_EUSAGE, "times that users take are 0 or more");
    if (rt_serve_load_requests(load) < 1)
        return rt_fail(RT_EUSAGE, "say how many requests there are");
    status = check_lengths("prompts", &load->input);
    return status == RT_OK ? check_lengths("outputs", &load->output) : status;
}

int rt_serve_lengths_read(const char *option, const char *text, void *value)
{
    struct rt_serve_lengths *lengths = value;
    const char *colon = strchr(text, ':');
    char *least = colon != NULL ? rt_format("%.*s", (int)(colon - text), text) : rt_strdup(text);
    int status = rt_argument_integer(option, least, 1, RT_MOST_SERVED_TOKENS, &lengths->least);
    free(least);
    lengths->most = lengths->least;
    if (status == RT_OK && colon != NULL)
        status =
            rt_argument_integer(option, colon + 1, lengths->least, RT_MOST_SERVED_TOKENS, &lengths->most);
    return status;
}

void rt_serve_lengths_spread(double ratio, struct rt_serve_lengths *lengths)
{
    int64_t least = (int64_t)floor(ratio * (double)lengths->most);
    if (ratio < 1)
        lengths->least = least > 1 ? least : 1;
}

void rt_serve_source_open(struct rt_serve_source *source, const struct rt_serve_load *load)
{
    *source = (struct rt_serve_source){.load = load, .count = rt_serve_load_requests(load)};
    rt_random_seed(&source->lengths, load->seed, 1);
    rt_random_seed(&source->arrivals, load->seed, 2);
    rt_random_seed(&source->thoughts, load->seed, 3);
    if (load->arrivals == RT_CLOSED_LOOP && load->lasting)
        source->count = SIZE_MAX;
}

double rt_serve_source_begin_us(struct rt_serve_source *source)
{
    double ramp_us = source->load->ramp_us;
    return ramp_us > 0 ? ramp_us * rt_random_uniform(&source->arrivals) : 0;
}

double rt_serve_source_think_us(struct rt_serve_source *source)
{
    double think_us = source->load->think_us;
    return think_us > 0 ? -log1p(-rt_random_uniform(&source->thoughts)) * think_us : 0;
}

static int32_t draw(struct rt_random *random, const struct rt_serve_lengths *lengths)
{
    uint64_t width = (uint64_t)(lengths->most - lengths->least) + 1;
    return (int32_t)(lengths->least + (int64_t)rt_random_below(random, width));
}

static void next_of_trace(const struct rt_serve_trace *trace, size_t i, struct rt_serve_request *request)
{
    *request = (struct rt_serve_request){
        .arrival_us = trace->arrival_us[i],
        .input = trace->input[i],
        .output = trace->output[i],
        .group = trace->group != NULL && trace->group[i] >= 0 ? trace->group[i] : -1,
        .prefix = trace->prefix != NULL ? trace->prefix[i] : 0,
        .priority = trace->priority != NULL ? trace->priority[i] : 0,
    };
    if (trace->hash == NULL)
        return;
    request->hash = trace->hash + trace->hash_from[i];
    request->hashes = (int32_t)(trace->hash_from[i + 1] - trace->hash_from[i]);
}

/* The times between arrivals of a Poisson process are exponential. */
static double next_arrival(struct rt_serve_source *source)
{
    if (source->load->arrivals == RT_POISSON)
        source->clock_us -= log1p(-rt_random_uniform(&source->arrivals)) * 1e6 / source->load->rate;
    return source->clock_us;
}

bool rt_serve_source_next(struct rt_serve_source *source, struct rt_serve_request *request)
{
    if (source->next >= source->count)
        return false;
    if (source->load->arrivals == RT_TRACE) {
        next_of_trace(source->load->trace, source->next, request);
    } else {
        *request = (struct rt_serve_request){0};
        request->arrival_us = next_arrival(source);
        request->input = draw(&source->lengths, &source->load->input);
        request->output = draw(&source->lengths, &source->load->output);
        request->prefix = (int32_t)(source->load->prefix_share * request->input);
        request->group = request->prefix > 0 ? 0 : -1;
    }
    source->next++;
    return true;
}

/* ---- lists in CSV ---- */

enum column { ARRIVAL, INPUT, OUTPUT, GROUP, PREFIX, PRIORITY, COLUMNS };
static const char *const columns[COLUMNS] = {"arrival_s",    "input_tokens",  "output_tokens",
                                             "prefix_group", "prefix_tokens", "priority"};
static const double MOST_SECONDS = 1e9; /* 30 years */
_Static_assert(RT_MOST_SERVED_TOKENS == 268435456, "sentences below say it");

struct reading {
    struct rt_csv *csv;
    int place[COLUMNS]; /* -1: no such column */
    size_t capacity;
};

static int find_columns(struct reading *r)
{
    for (size_t c = 0; c < rt_csv_columns(r->csv); c++) {
        bool known = false;
        for (int i = 0; i < COLUMNS; i++)
            known |= strcmp(rt_csv_header(r->csv, c), columns[i]) == 0;
        if (!known)
            return rt_fail(RT_EFORMAT,
                           "%s: a list of requests has no column \"%.40s\"; there are arrival_s, "
                           "input_tokens, output_tokens, prefix_group, prefix_tokens and priority",
                           rt_csv_path(r->csv), rt_csv_header(r->csv, c));
    }
    for (int i = 0; i < COLUMNS; i++)
        r->place[i] = rt_csv_find(r->csv, columns[i]);
    for (int i = ARRIVAL; i <= OUTPUT; i++)
        if (r->place[i] < 0)
            return rt_fail(RT_EFORMAT, "%s: a list of requests needs the column %s", rt_csv_path(r->csv),
                           columns[i]);
    return RT_OK;
}

static int32_t *grown(int32_t *column, size_t capacity, bool there)
{
    return there ? rt_realloc(column, capacity, sizeof *column) : NULL;
}

static void grow(struct reading *r, struct rt_serve_trace *trace)
{
    if (trace->count < r->capacity)
        return;
    r->capacity = r->capacity > 0 ? r->capacity + r->capacity / 2 : 1024;
    trace->arrival_us = rt_realloc(trace->arrival_us, r->capacity, sizeof *trace->arrival_us);
    trace->input = grown(trace->input, r->capacity, true);
    trace->output = grown(trace->output, r->capacity, true);
    trace->group = grown(trace->group, r->capacity, r->place[GROUP] >= 0);
    trace->prefix = grown(trace->prefix, r->capacity, r->place[GROUP] >= 0);
    trace->priority = grown(trace->priority, r->capacity, r->place[PRIORITY] >= 0);
}

static int read_tokens(struct reading *r, enum column c, const struct rt_csv_field *cell, int64_t most,
                       int32_t *value)
{
    int64_t number;
    if (cell->missing || rt_csv_integer(cell, &number) != 0 || number < (c <= OUTPUT) || number > most)
        return rt_csv_fail_cell(r->csv, columns[c], cell,
                                c == PREFIX  ? "a whole number of tokens, at most input_tokens"
                                : c >= GROUP ? "a whole number of 0 to 2147483647, or empty"
                                             : "a whole number of tokens, 1 to 268435456");
    *value = (int32_t)number;
    return RT_OK;
}

static int read_arrival(struct reading *r, const struct rt_csv_field *cell, struct rt_serve_trace *trace)
{
    double seconds;
    size_t i = trace->count;
    if (cell->missing || rt_parse_real(cell->text, cell->length, &seconds) != 0 ||
        !(fabs(seconds) <= MOST_SECONDS))
        return rt_csv_fail_cell(r->csv, columns[ARRIVAL], cell, "seconds, at most 1e9");
    trace->arrival_us[i] = seconds * 1e6;
    if (i > 0 && trace->arrival_us[i] < trace->arrival_us[i - 1])
        return rt_csv_fail(r->csv, "arrival_s goes back from %.10g to %.10g; sort the rows by it",
                           trace->arrival_us[i - 1] / 1e6, seconds);
    return RT_OK;
}

/* A group without prefix_tokens: the whole prompt. */
static int read_prefix(struct reading *r, const struct rt_csv_field *fields, struct rt_serve_trace *trace)
{
    size_t i = trace->count;
    const struct rt_csv_field *group = &fields[r->place[GROUP]];
    trace->group[i] = -1;
    trace->prefix[i] = 0;
    if (group->missing)
        return RT_OK;
    trace->prefix[i] = trace->input[i];
    int status = read_tokens(r, GROUP, group, INT32_MAX, &trace->group[i]);
    if (status == RT_OK && r->place[PREFIX] >= 0 && !fields[r->place[PREFIX]].missing)
        status = read_tokens(r, PREFIX, &fields[r->place[PREFIX]], trace->input[i], &trace->prefix[i]);
    return status;
}

static int read_priority(struct reading *r, const struct rt_csv_field *cell, int32_t *priority)
{
    *priority = 0;
    return cell->missing ? RT_OK : read_tokens(r, PRIORITY, cell, INT32_MAX, priority);
}

static int read_row(struct reading *r, const struct rt_csv_field *fields, struct rt_serve_trace *trace)
{
    grow(r, trace);
    int status = read_arrival(r, &fields[r->place[ARRIVAL]], trace);
    if (status == RT_OK)
        status = read_tokens(r, INPUT, &fields[r->place[INPUT]], RT_MOST_SERVED_TOKENS,
                             &trace->input[trace->count]);
    if (status == RT_OK)
        status = read_tokens(r, OUTPUT, &fields[r->place[OUTPUT]], RT_MOST_SERVED_TOKENS,
                             &trace->output[trace->count]);
    if (status == RT_OK && r->place[GROUP] >= 0)
        status = read_prefix(r, fields, trace);
    if (status == RT_OK && r->place[PRIORITY] >= 0)
        status = read_priority(r, &fields[r->place[PRIORITY]], &trace->priority[trace->count]);
    trace->count += status == RT_OK;
    return status;
}

/* Nobody sizes a server for a request every quarter of an hour: such a list is in other units. */
static void warn_of_unit(const char *path, const struct rt_serve_trace *trace)
{
    const double rare = 900;
    if (trace->count < 2)
        return;
    double last_us = trace->arrival_us[trace->count - 1] - trace->arrival_us[0];
    double seconds = last_us / 1e6 / (double)(trace->count - 1);
    bool us = seconds > 1e3 * rare;
    if (seconds > rare)
        rt_warn("%s: requests come %.4g s apart in the mean; is arrival_s in %s? divide it by %s", path,
                seconds, us ? "us" : "ms or us", us ? "10^6" : "1000 or 10^6");
}

static int read_rows(const char *path, struct rt_serve_trace *out)
{
    struct reading r = {0};
    const struct rt_csv_field *fields;
    int status = rt_csv_open(path, &r.csv);
    if (status != RT_OK)
        return status;
    status = find_columns(&r);
    for (int next; status == RT_OK && (next = rt_csv_next(r.csv, &fields)) != RT_CSV_END;)
        status = next == RT_CSV_ROW ? read_row(&r, fields, out) : next < 0 ? next : RT_EFORMAT;
    rt_csv_close(r.csv);
    if (status == RT_OK)
        warn_of_unit(path, out);
    return status;
}

/* ---- lists with hashes ---- */

struct hashed {
    struct rt_serve_trace *trace;
    const char *path;
    size_t capacity, hash_capacity;
    double zero_ms; /* of the first request */
};

static int fail_line(const struct hashed *h, const char *what)
{
    return rt_fail(RT_EFORMAT,
                   "%s:%zu: %s; a line is {\"timestamp\": MS, \"input_length\": N, \"output_length\": N, "
                   "\"hash_ids\": [N, ...]}, in the order of time",
                   h->path, h->trace->count + 1, what);
}

/* A member that is a whole number from 1 on; 0: it is none. */
static int32_t tokens_of(const json_t *line, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(line, name));
    return value >= 1 && value <= RT_MOST_SERVED_TOKENS ? (int32_t)value : 0;
}

static void make_room(struct hashed *h, size_t hashes)
{
    struct rt_serve_trace *trace = h->trace;
    size_t used = trace->count > 0 ? trace->hash_from[trace->count] : 0;
    if (trace->count == h->capacity) {
        h->capacity = 2 * h->capacity + 1024;
        trace->arrival_us = rt_realloc(trace->arrival_us, h->capacity, sizeof *trace->arrival_us);
        trace->input = rt_realloc(trace->input, h->capacity, sizeof *trace->input);
        trace->output = rt_realloc(trace->output, h->capacity, sizeof *trace->output);
        trace->hash_from = rt_realloc(trace->hash_from, h->capacity + 1, sizeof *trace->hash_from);
    }
    if (used + hashes + 1 > h->hash_capacity) {
        h->hash_capacity = 2 * (used + hashes + 1);
        trace->hash = rt_realloc(trace->hash, h->hash_capacity, sizeof *trace->hash);
    }
    trace->hash_from[0] = 0;
}

static int add_hashes(struct hashed *h, const json_t *ids)
{
    struct rt_serve_trace *trace = h->trace;
    size_t from = trace->hash_from[trace->count], count = json_array_size(ids);
    for (size_t i = 0; i < count; i++) {
        json_int_t id = json_integer_value(json_array_get(ids, i));
        if (!json_is_integer(json_array_get(ids, i)) || id < 0 || id > INT32_MAX)
            return fail_line(h, "hash_ids are whole numbers of 0 to 2147483647");
        trace->hash[from + i] = (int32_t)id;
    }
    trace->hash_from[trace->count + 1] = from + count;
    return RT_OK;
}

static int read_line(struct hashed *h, const json_t *line)
{
    struct rt_serve_trace *trace = h->trace;
    const json_t *time = json_object_get(line, "timestamp"), *ids = json_object_get(line, "hash_ids");
    int32_t input = tokens_of(line, "input_length"), output = tokens_of(line, "output_length");
    size_t i = trace->count;
    double ms = json_number_value(time);
    if (!json_is_number(time) || !(fabs(ms) <= 1e3 * MOST_SECONDS) || input == 0 || output == 0)
        return fail_line(h, "timestamp is no time, or a length is not of 1 to 268435456 tokens");
    if (!json_is_array(ids) || json_array_size(ids) > (size_t)input)
        return fail_line(h, "hash_ids is no list of as many as its prompt can have");
    make_room(h, json_array_size(ids));
    h->zero_ms = i == 0 ? ms : h->zero_ms;
    trace->arrival_us[i] = 1e3 * (ms - h->zero_ms);
    trace->input[i] = input;
    trace->output[i] = output;
    if (i > 0 && trace->arrival_us[i] < trace->arrival_us[i - 1])
        return fail_line(h, "timestamp goes back");
    int status = add_hashes(h, ids);
    trace->count += status == RT_OK;
    return status;
}

/* The next value of a file; NULL: its end, or `status` says why not. */
static json_t *next_line(const struct hashed *h, FILE *file, int *status)
{
    json_error_t error;
    int next;
    while ((next = fgetc(file)) == ' ' || (next >= '\t' && next <= '\r'))
        continue;
    if (next == EOF)
        return NULL;
    ungetc(next, file);
    json_t *line = json_loadf(file, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &error);
    *status = line == NULL ? fail_line(h, error.text) : RT_OK;
    return line;
}

static int read_hashed(const char *path, struct rt_serve_trace *out)
{
    struct hashed h = {.trace = out, .path = path};
    FILE *file = fopen(path, "r");
    int status = RT_OK;
    json_t *line;
    if (file == NULL)
        return rt_fail(RT_EIO, "cannot open %s: %s", path, strerror(errno));
    while (status == RT_OK && (line = next_line(&h, file, &status)) != NULL) {
        status = read_line(&h, line);
        json_decref(line);
    }
    fclose(file);
    return status;
}

static bool is_hashed(const char *path)
{
    const char *end = strrchr(path, '.');
    return end != NULL && (strcmp(end, ".jsonl") == 0 || strcmp(end, ".json") == 0);
}

int rt_serve_trace_read(const char *path, struct rt_serve_trace *out)
{
    *out = (struct rt_serve_trace){0};
    int status = is_hashed(path) ? read_hashed(path, out) : read_rows(path, out);
    if (status == RT_OK && out->count == 0)
        status = rt_fail(RT_EFORMAT, "%s: holds no requests", path);
    if (status != RT_OK)
        rt_serve_trace_release(out);
    return status;
}

void rt_serve_trace_release(struct rt_serve_trace *trace)
{
    free(trace->arrival_us);
    free(trace->input);
    free(trace->output);
    free(trace->group);
    free(trace->prefix);
    free(trace->priority);
    free(trace->hash);
    free(trace->hash_from);
    *trace = (struct rt_serve_trace){0};
}
