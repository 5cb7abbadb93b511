/*
 * Jobs as lines of JSON, forecasts as lines of JSON (https://jsonlines.org):
 *
 *     {"model": "gpt2-large", "gpu": "H100", "batch": 8, "id": 7}
 *     {"schema": 1, "line": 1, "id": 7, "model": "gpt2-large", "gpu": "NVIDIA H100 ...", "time_ms": ...}
 *
 * A job has the fields of a step (rt_step_set), model and gpu; `id`, anything, is handed through. Lists are what the
 * command line writes with commas. A line that is wrong gives {"schema", "line", "id", "error"}, and the rest goes on.
 */
#pragma once

#include "base/options.h"
#include "models/networks/step.h"
#include "models/predictors/predictor/predictor.h"

#include <stdio.h>

/* What a line that does not say it has. */
struct rt_job_line_defaults {
    const char *model, *gpu; /* NULL: a line must say it */
    struct rt_step step;
    bool fallback; /* the roofline where the predictor has no network */
    struct rt_shard shard;
};

/* Reads `path` ("-": standard input) and writes a line for each that is not empty, of the shard's part of the
 * lines: a run of them, so that the shards' outputs, one after the other, are the whole's ({0, 0}: all; else
 * `path` is a file). RT_EFORMAT where any was wrong, after the last; RT_EIO. */
int rt_job_lines(const char *path, const struct rt_predictor *predictor,
                 const struct rt_job_line_defaults *defaults, FILE *out);
