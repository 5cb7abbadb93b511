/*
 * Progress of long work on stderr: a bar on a terminal, a line every few seconds elsewhere, nothing with
 * --quiet. Also clocks, and the flag that Ctrl-C, SIGTERM and SIGHUP set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct rt_progress {
    const char *what;      /* "train linear", "collect" */
    double total, done;    /* in units of work; total 0: unknown, no bar and no ETA */
    double started, drawn; /* rt_clock() of the start and of the last output */
    bool quiet, terminal;
    int columns; /* of the terminal; 0: not known */
};

void rt_progress_start(struct rt_progress *progress, const char *what, double total, bool quiet);
/* Redraws at most ten times a second on a terminal, every 5 s elsewhere. `format`: text after the bar. */
void rt_progress_update(struct rt_progress *progress, double done, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* From now on *share, which another process may read, is the largest share 0..1 that any progress of this one
 * has done, quiet or not. NULL: none is. */
void rt_progress_share(volatile double *share);
/* `by` units more are done; `note` says what comes next or is under way. NULL: nobody watches. */
void rt_progress_step(struct rt_progress *progress, double by, const char *note);
/* Clears the bar from a terminal, where one was drawn. */
void rt_progress_end(struct rt_progress *progress);

double rt_clock(void); /* seconds, monotonic */
/* "2026-11-21T15:00:05Z", UTC; of SOURCE_DATE_EPOCH (reproducible-builds.org) where it is set to a time. */
void rt_time_of_day(char *text, size_t size);
bool rt_time_is_given_right(void); /* false: SOURCE_DATE_EPOCH is set, and to no time */

/* After rt_interrupt_catch(), SIGINT, SIGTERM and SIGHUP set a flag instead of ending the program; a second
 * one ends it at once, but for SIGHUP: a lost connection sends it twice, once from the shell. A SIGHUP that
 * is ignored (nohup) stays so. Long loops poll rt_interrupted(), save what they have and return
 * RT_EINTERRUPTED. */
void rt_interrupt_catch(void);
bool rt_interrupted(void);
