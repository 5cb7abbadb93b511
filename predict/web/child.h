/*
 * The program, run for a client of `rooftile web`: in a process of its own, in an empty folder, with limits
 * of time, memory and size of files. What it does to itself hurts nobody else.
 */
#pragma once

#include <stddef.h>

struct rt_web_limits {
    double seconds;   /* of one request */
    size_t processes; /* that run for clients at once */
};

/* What a command printed; texts to be freed, NULL: nothing. */
struct rt_web_output {
    int exit; /* status; 128 and more: it was killed */
    char *out, *error, *page;
};
void rt_web_output_release(struct rt_web_output *output);

/* A file that a command finds in its folder. */
struct rt_web_file {
    const char *name, *text; /* NULL text: none */
};

/* Runs the program with those words (NULL behind the last; the first is its name). `page`: the name of the
 * report that it writes into its folder, NULL: none. RT_EINTERRUPTED where it took too long, RT_EIO where
 * nothing could be run. */
int rt_web_run(const struct rt_web_limits *limits, const char *const *words, const struct rt_web_file *files,
               size_t file_count, const char *page, struct rt_web_output *out);

/* Processes that stay and answer lines of JSON with lines: `rooftile predict --jobs -`. Threads share them.
 */
struct rt_web_workers;
struct rt_web_workers *rt_web_workers_new(const struct rt_web_limits *limits, const char *predictor);
void rt_web_workers_free(struct rt_web_workers *workers); /* accepts NULL */
/* Asks one of them; waits for it. `line` has no line end; the answer, without one, is to be freed. */
int rt_web_ask(struct rt_web_workers *workers, const char *line, char **answer);
