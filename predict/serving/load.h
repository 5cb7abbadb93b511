/*
 * Who asks: requests, their lengths and when they come, as benchmarks of servers have it.
 *
 *   closed loop   as many users as `concurrency`, each sends its next request when the one before is answered
 *                 (`--max-concurrency C --request-rate inf` of vLLM's and InferenceX's benchmark_serving), after
 *                 a time to think
 *   Poisson       requests come at a rate, whether or not others are answered
 *   trace         requests come when and as a list says
 */
#pragma once

#include "base/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RT_MOST_SERVED_TOKENS = 1 << 28 }; /* of a prompt or an output */

/* Tokens that Mooncake's traces hash at a time. */
enum { RT_SERVE_HASHED = 512 };

struct rt_serve_request {
    double arrival_us; /* closed loop: 0, users have times of their own */
    int32_t input, output;
    int32_t group;  /* requests of one group have a prefix in common; -1: none */
    int32_t prefix; /* its tokens, at most input */
    int32_t priority; /* the least goes first */
    const int32_t
        *hash; /* (hashes) in place of a group: of each RT_SERVE_HASHED tokens of the prompt; NULL: none */
    int32_t hashes;
};

/*
 * A list of requests in CSV, a row each in the order of their arrival. Columns, in any order:
 *
 *   arrival_s       seconds from any zero, never less than in the row before
 *   input_tokens    of the prompt, at least 1
 *   output_tokens   at least 1
 *   prefix_group    may be missing, as may its cells: a number; prompts of one group begin alike
 *   prefix_tokens   may be missing: tokens of that beginning (default: all of the prompt)
 *   priority        may be missing: the least goes first, the greatest is preempted first, as with vLLM's
 *                   --scheduling-policy priority (default 0)
 *
 * In memory `group`, `prefix` and `priority` are NULL where none has any.
 *
 * Or as Mooncake publishes traces (Qin et al., FAST 2025), NAME.jsonl, an object a line: timestamp in ms,
 * input_length, output_length, and hash_ids, a number for each 512 tokens of the prompt and all before them,
 * the last block as far as the prompt goes: prompts that begin alike have the same numbers up to where they
 * differ.
 */
struct rt_serve_trace {
    double *arrival_us; /* (count) */
    int32_t *input, *output, *group, *prefix, *priority;
    int32_t *hash;     /* of all requests, one after the other; NULL: none */
    size_t *hash_from; /* (count + 1) where those of a request begin */
    size_t count;
};

enum rt_arrivals { RT_CLOSED_LOOP, RT_POISSON, RT_TRACE, RT_ARRIVALS };

/* Tokens, even between the two. */
struct rt_serve_lengths {
    int64_t least, most;
};
/* .read of rows of options (base/options.h): "4096", or "3276:4096". RT_EUSAGE. */
int rt_serve_lengths_read(const char *option, const char *text, void *value);
/* Lengths even between `ratio` times the most and the most, at least one token. */
void rt_serve_lengths_spread(double ratio, struct rt_serve_lengths *lengths);

struct rt_serve_load {
    enum rt_arrivals arrivals;
    int64_t concurrency; /* closed loop: users; else at most so many at once, the others wait before the
                            server (0: no limit) */
    double rate;         /* Poisson: requests a second */
    struct rt_serve_lengths input, output; /* not of a trace */
    double prefix_share; /* of every prompt's tokens that all have in common (a system's prompt), 0 to 1: a
                            server with a prefix cache computes them once */
    int64_t requests;    /* in all; 0: 10 x concurrency, as InferenceX has it; of a trace: all */
    double ramp_us;      /* closed loop: users begin at random times within so long; 0: all at once */
    double think_us; /* closed loop: mean of the exponential time between an answer and the next request of
                        its user; 0: none */
    int64_t warm_up; /* the first so many answered are not counted */
    bool lasting;    /* closed loop: users go on until `requests` are answered; else nobody asks after
                        those, and the last ones have the servers to themselves */
    uint64_t seed;
    const struct rt_serve_trace *trace;
};

/* How many requests the load has. */
size_t rt_serve_load_requests(const struct rt_serve_load *load);

/* RT_EUSAGE with a sentence where lengths, rate, shares or counts are none. */
int rt_serve_load_check(const struct rt_serve_load *load);

/* The requests of a load, one after the other: same load and seed, same requests. */
struct rt_serve_source {
    const struct rt_serve_load *load;
    struct rt_random lengths, arrivals, thoughts;
    size_t next, count;
    double clock_us;
};
void rt_serve_source_open(struct rt_serve_source *source, const struct rt_serve_load *load);
bool rt_serve_source_next(struct rt_serve_source *source,
                          struct rt_serve_request *request); /* false: no more */
/* Closed loop: when a user begins; how long one thinks. */
double rt_serve_source_begin_us(struct rt_serve_source *source);
double rt_serve_source_think_us(struct rt_serve_source *source);

/* Reads such a list. Release with rt_serve_trace_release. RT_EIO; RT_EFORMAT naming file, line and column for
 * cells that are wrong, rows out of order, columns that do not exist and a file without requests. */
int rt_serve_trace_read(const char *path, struct rt_serve_trace *out);
void rt_serve_trace_release(struct rt_serve_trace *trace); /* accepts zeros */
