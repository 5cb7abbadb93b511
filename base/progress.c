/* Progress lines and the interrupt flag. See progress.h. */
#include "base/progress.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/terminal.h"

#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double rt_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* An empty SOURCE_DATE_EPOCH counts as none. */
static bool given_time(int64_t *seconds)
{
    const int64_t end_of_9999 = INT64_C(253402300799);
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    *seconds = -1;
    if (epoch == NULL || epoch[0] == '\0')
        return false;
    if (rt_parse_integer(epoch, strlen(epoch), seconds) != 0 || *seconds > end_of_9999)
        *seconds = -1;
    return true;
}

bool rt_time_is_given_right(void)
{
    int64_t seconds;
    return !given_time(&seconds) || seconds >= 0;
}

void rt_time_of_day(char *text, size_t size)
{
    int64_t given;
    time_t now = given_time(&given) && given >= 0 ? (time_t)given : time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

void rt_progress_start(struct rt_progress *progress, const char *what, double total, bool quiet)
{
    double now = rt_clock();
    struct rt_terminal terminal = rt_terminal_of(stderr);
    *progress = (struct rt_progress){.what = what,
                                     .total = total,
                                     .started = now,
                                     .drawn = now,
                                     .quiet = quiet,
                                     .terminal = terminal.controls,
                                     .columns = terminal.columns};
}

static void format_duration(char *text, size_t size, double seconds)
{
    long s = (long)(seconds + 0.5);
    if (s < 3600)
        snprintf(text, size, "%ld:%02ld", s / 60, s % 60);
    else
        snprintf(text, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
}

/* In place of the line before; what is longer than the terminal would begin another. Takes the line. */
static void draw_line(const struct rt_progress *progress, char *line)
{
    int room = progress->columns > 1 ? progress->columns - 1 : INT_MAX;
    fprintf(stderr, "\r\033[K%.*s", room, line);
    free(line);
}

static void draw(const struct rt_progress *progress, const char *note)
{
    enum { WIDTH = 24 };
    double elapsed = rt_clock() - progress->started;
    double share = progress->total > 0 ? progress->done / progress->total : 0;
    char bar[WIDTH + 1], spent[32], left[32] = "?";
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < (int)(share * WIDTH) ? '=' : ' ';
    bar[WIDTH] = '\0';
    format_duration(spent, sizeof spent, elapsed);
    if (share > 0)
        format_duration(left, sizeof left, elapsed * (1 - share) / share);
    if (progress->terminal)
        draw_line(progress, rt_format("%s [%s] %3.0f%%  %s left, %s so far  %s", progress->what, bar,
                                      100 * share, left, spent, note));
    else
        fprintf(stderr, "%s %3.0f%%  %s left, %s so far  %s\n", progress->what, 100 * share, left, spent,
                note);
    fflush(stderr);
}

static volatile double *shared;

void rt_progress_share(volatile double *share)
{
    shared = share;
}

void rt_progress_update(struct rt_progress *progress, double done, const char *format, ...)
{
    double now = rt_clock();
    progress->done = done;
    if (shared != NULL && progress->total > 0 && done / progress->total > *shared)
        *shared = done < progress->total ? done / progress->total : 1;
    if (progress->quiet || now - progress->drawn < (progress->terminal ? 0.1 : 5))
        return;
    char raw[256], note[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    rt_printable(note, sizeof note, raw, false);
    progress->drawn = now;
    draw(progress, note);
}

void rt_progress_step(struct rt_progress *progress, double by, const char *note)
{
    if (progress != NULL)
        rt_progress_update(progress, progress->done + by, "%s", note);
}

void rt_progress_end(struct rt_progress *progress)
{
    if (!progress->quiet && progress->terminal && progress->drawn > progress->started)
        fputs("\r\033[K", stderr);
    progress->quiet = true;
}

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    if (interrupted && number != SIGHUP)
        _exit(128 + number);
    interrupted = 1;
}

void rt_interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

bool rt_interrupted(void)
{
    return interrupted != 0;
}
