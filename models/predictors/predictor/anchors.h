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
 */
#ifndef ROOFTILE_MODELS_PREDICTORS_PREDICTOR_ANCHORS_H
#define ROOFTILE_MODELS_PREDICTORS_PREDICTOR_ANCHORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_anchor_kind {
    const char *server, *architecture, *dtype, *device;
};

struct rt_anchor {
    double ln_factor;            /* of times; 0: no anchor */
    double own_runs, other_runs; /* of its device, of others */
};

/* One measured run, a line of the text that a predictor holds: its kind, ln(measured / forecast), its key.
 * Free with free(). */
char *rt_anchor_line(const struct rt_anchor_kind *kind, double ln_ratio, uint64_t key);

/* Of a text of such lines; NULL and "": none. */
struct rt_anchor rt_anchor_of(const char *lines, const struct rt_anchor_kind *kind);
bool rt_anchors_have(const char *lines, uint64_t key);

#endif
