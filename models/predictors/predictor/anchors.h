/*
 * Anchors: by how much measured runs of LLM servers took longer than forecast, kept in a predictor and
 * carried to other GPUs, models and cuts of their kind (a server, an architecture, an element type). What is
 * carried is scheduling, host and kernels that forecasts have wrong alike on GPUs:
 *
 *     ln factor = 0.75 n / (n + 3) m + k / (k + 0.5) (o - that)
 *
 * m: the median of ln(measured / forecast) over n runs of other GPUs, o over k runs of this one. The weights
 * were chosen on H200 with H100's runs as anchors, both forecast without H200 and what is newer; B200 judged
 * them (docs/log/serving.md).
 *
 * What a forecast was unsure of, h in ln, was sure to be off by alike in all runs of the kind: of that the
 * weights leave a part. Beside it runs scatter, s at 90%, by what they did around their GPU's median:
 *
 *     h'^2 = ((1 - 0.75 n / (n + 3)) (1 - k / (k + 0.5)) h)^2 + s^2
 *     s = (3 x 0.25 + -ln(0.1) sum of |deviations|) / (3 + runs - GPUs)
 *
 * 3 and 0.25 have the least mean interval score over H100's runs, forecast without H100 and what is newer,
 * after 1, 3 and 10 of them; H200 and B200 judged them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_anchor_kind {
    const char *server, *architecture, *dtype, *device;
};

struct rt_anchor {
    double ln_factor;            /* of times; 0: no anchor */
    double own_runs, other_runs; /* of its device, of others */
    double explained;            /* share of what forecasts of the kind are off by alike that runs tell */
    double ln_scatter;           /* half-width at 90% of runs around it; 0: no anchor */
};

/* One measured run, a line of the text that a predictor holds: its kind, ln(measured / forecast), its key.
 * Free with free(). */
char *rt_anchor_line(const struct rt_anchor_kind *kind, double ln_ratio, uint64_t key);

/* Of a text of such lines; NULL and "": none. */
struct rt_anchor rt_anchor_of(const char *lines, const struct rt_anchor_kind *kind);
/* Half-width in ln of a forecast with the anchor, of one without it at a level. */
double rt_anchor_ln_half_width(const struct rt_anchor *anchor, double ln_half_width, double level);
bool rt_anchors_have(const char *lines, uint64_t key);
