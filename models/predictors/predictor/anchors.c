/* Lines of measured runs. See anchors.h. */
#include "models/predictors/predictor/anchors.h"
#include "base/sort.h"
#include "base/status.h"
#include "models/predictors/predictor/conformal_interval.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double OTHERS = 0.75, OTHERS_RUNS = 3, OWN_RUNS = 0.5;
static const double SCATTER = 0.25, SCATTER_RUNS = 3;

char *rt_anchor_line(const struct rt_anchor_kind *kind, double ln_ratio, uint64_t key)
{
    return rt_format("%s\t%s\t%s\t%s\t%.6f\t%016" PRIx64, kind->server, kind->architecture, kind->dtype,
                     kind->device, ln_ratio, key);
}

enum { SERVER, ARCHITECTURE, DTYPE, DEVICE, RATIO, KEY, FIELDS };

/* The fields of the next line, into `field`; false: no more. Lines of other builds with fewer fields have "".
 */
static bool next_line(char **rest, const char *field[FIELDS])
{
    char *line = strsep(rest, "\n");
    for (int f = 0; f < FIELDS; f++) {
        const char *text = line != NULL ? strsep(&line, "\t") : NULL;
        field[f] = text != NULL ? text : "";
    }
    return field[SERVER][0] != '\0';
}

static bool is_of(const char *const field[FIELDS], const struct rt_anchor_kind *kind)
{
    return strcmp(field[SERVER], kind->server) == 0 && strcmp(field[ARCHITECTURE], kind->architecture) == 0 &&
           strcmp(field[DTYPE], kind->dtype) == 0;
}

/* Runs of a kind: what each was off by, those of one device one after the other. */
struct runs {
    struct run {
        const char *device; /* in the text of the lines */
        double ln_ratio;
    } * run;
    size_t count;
};

static int by_device(const void *a, const void *b)
{
    return strcmp(((const struct run *)a)->device, ((const struct run *)b)->device);
}

/* Into `ratio` those of a device, or of all others; how many. */
static size_t ratios_of(const struct runs *runs, const char *device, bool others, double *ratio)
{
    size_t count = 0;
    for (size_t i = 0; i < runs->count; i++)
        if ((strcmp(runs->run[i].device, device) != 0) == others)
            ratio[count++] = runs->run[i].ln_ratio;
    return count;
}

static double scatter_of(const struct runs *runs, double *ratio)
{
    double deviations = 0, devices = 0;
    for (size_t from = 0, count; from < runs->count; from += count) {
        count = ratios_of(runs, runs->run[from].device, false, ratio);
        double median = rt_median(ratio, count);
        for (size_t i = 0; i < count; i++)
            deviations += fabs(ratio[i] - median);
        devices++;
    }
    return (SCATTER_RUNS * SCATTER - log(0.1) * deviations) / (SCATTER_RUNS + (double)runs->count - devices);
}

static struct rt_anchor combine(const struct runs *runs, const char *device)
{
    double *ratio = rt_malloc((runs->count + 1) * sizeof *ratio);
    double n = (double)ratios_of(runs, device, true, ratio), others = n / (n + OTHERS_RUNS) * OTHERS;
    struct rt_anchor anchor = {.other_runs = n};
    if (n > 0)
        anchor.ln_factor = others * rt_median(ratio, (size_t)n);
    double k = (double)ratios_of(runs, device, false, ratio), own = k / (k + OWN_RUNS);
    if (k > 0)
        anchor.ln_factor += own * (rt_median(ratio, (size_t)k) - anchor.ln_factor);
    anchor.own_runs = k;
    anchor.explained = 1 - (1 - others) * (1 - own);
    anchor.ln_scatter = runs->count > 0 ? scatter_of(runs, ratio) : 0;
    free(ratio);
    return anchor;
}

struct rt_anchor rt_anchor_of(const char *lines, const struct rt_anchor_kind *kind)
{
    if (lines == NULL || lines[0] == '\0')
        return (struct rt_anchor){0};
    char *copy = rt_strdup(lines), *rest = copy;
    const char *field[FIELDS];
    size_t most = strlen(lines) / FIELDS + 1; /* a line has more letters */
    struct runs runs = {.run = rt_malloc(most * sizeof *runs.run)};
    while (next_line(&rest, field))
        if (is_of(field, kind))
            runs.run[runs.count++] = (struct run){field[DEVICE], strtod(field[RATIO], NULL)};
    qsort(runs.run, runs.count, sizeof *runs.run, by_device);
    struct rt_anchor anchor = combine(&runs, kind->device);
    free(runs.run);
    free(copy);
    return anchor;
}

double rt_anchor_ln_half_width(const struct rt_anchor *anchor, double ln_half_width, double level)
{
    return hypot((1 - anchor->explained) * ln_half_width, anchor->ln_scatter * rt_interval_scale(level));
}

bool rt_anchors_have(const char *lines, uint64_t key)
{
    char text[24];
    snprintf(text, sizeof text, "\t%016" PRIx64, key);
    return lines != NULL && strstr(lines, text) != NULL;
}
