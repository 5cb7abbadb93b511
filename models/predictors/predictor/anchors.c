/* Lines of measured runs. See anchors.h. */
#include "models/predictors/predictor/anchors.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double OTHERS = 0.75, OTHERS_RUNS = 3, OWN_RUNS = 0.5;

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

static struct rt_anchor combine(double *own, size_t own_runs, double *others, size_t other_runs)
{
    double n = (double)other_runs, k = (double)own_runs;
    struct rt_anchor anchor = {.own_runs = k, .other_runs = n};
    if (other_runs > 0)
        anchor.ln_factor = OTHERS * n / (n + OTHERS_RUNS) * rt_median(others, other_runs);
    if (own_runs > 0)
        anchor.ln_factor += k / (k + OWN_RUNS) * (rt_median(own, own_runs) - anchor.ln_factor);
    return anchor;
}

struct rt_anchor rt_anchor_of(const char *lines, const struct rt_anchor_kind *kind)
{
    if (lines == NULL || lines[0] == '\0')
        return (struct rt_anchor){0};
    char *copy = rt_strdup(lines), *rest = copy;
    const char *field[FIELDS];
    size_t most = strlen(lines) / FIELDS + 1, own = 0, others = 0; /* a line has more letters */
    double *ratio = rt_malloc(2 * most * sizeof *ratio);
    while (next_line(&rest, field))
        if (is_of(field, kind)) {
            bool ours = strcmp(field[DEVICE], kind->device) == 0;
            *(ours ? &ratio[own++] : &ratio[most + others++]) = strtod(field[RATIO], NULL);
        }
    struct rt_anchor anchor = combine(ratio, own, ratio + most, others);
    free(ratio);
    free(copy);
    return anchor;
}

bool rt_anchors_have(const char *lines, uint64_t key)
{
    char text[24];
    snprintf(text, sizeof text, "\t%016" PRIx64, key);
    return lines != NULL && strstr(lines, text) != NULL;
}
