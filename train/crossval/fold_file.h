/*
 * Fold files: FOLDER/fold.json, the errors of one unit and what they were made from.
 *
 *     {"made_from": KEY, "rows": [{"protocol": "calibrated", "predictor": "rooftile", "level": "kernels",
 *       "row": "softmax", "of": "softmax", "device": "Tesla T4", "n": 40, "calibrated_to": 0,
 *       "mape": 5.1, "bias": -0.2}, ...]}
 *
 * or {"made_from": KEY, "failed": "why"}. "row" is a family of kernels or a kind of whole models, "of" an op
 * or a model. Numbers have all digits.
 */
#pragma once

#include "train/crossval/crossval.h"

#include <jansson.h>

/* Errors of kernels of an op on a device, or of one run. */
struct rt_fold_row {
    enum rt_protocol protocol;
    const char *predictor; /* a kind, "roofline", "floor" (additive floor of whole models) */
    const char *level;     /* "kernels", "end to end" */
    const char *row;       /* family, kind of whole models */
    const char *of;        /* op, model */
    const char *device;
    size_t n;             /* judged */
    size_t calibrated_to; /* kernels that are not judged because the predictor was calibrated to them */
    double mape, bias;    /* percent; NaN where n is 0 */
    double coverage90,
        width90; /* of 90% intervals, percent, as `evaluate` has them; NaN where one has none */
};

/* Appends a row to the array. */
void rt_fold_row_add(json_t *rows, const struct rt_fold_row *row);

/* Borrows texts from the JSON. RT_EFORMAT where it is no such row. */
int rt_fold_row_read(const json_t *json, struct rt_fold_row *out);

/* The file appears whole. */
int rt_fold_file_write(const struct rt_crossval *crossval, const struct rt_unit *unit, json_t *rows);
int rt_fold_file_write_failure(const struct rt_crossval *crossval, const struct rt_unit *unit,
                               const char *why);

/* The unit's file, a new reference; NULL in *out where there is none that was made from the same. RT_EFORMAT
 * where it is damaged. */
int rt_fold_file_read(const struct rt_crossval *crossval, const struct rt_unit *unit, json_t **out);

/* Why the unit of such a file, or of NULL, has no rows; NULL where it has. */
const char *rt_fold_file_failure(const json_t *file);

/* ---- fold.c ---- */

/* Makes the unit's predictors and its fold file. A trained predictor that is there and was made from the same
 * is taken as it is. RT_EINTERRUPTED after Ctrl-C: training then goes on from its checkpoint. */
int rt_fold_run(const struct rt_crossval *crossval, const struct rt_unit *unit);

/* ---- jobs.c: units in child processes of one thread, --jobs at a time ---- */

/*
 * Makes the fold files of this shard that are not there yet. A unit that fails says why in its fold file and
 * the others go on; RT_OK then. RT_EINTERRUPTED after Ctrl-C. RT_EIO where the folder cannot be used, or
 * another run is at work in it.
 *
 * Children share the parent's data (copy on write), are a process group each, so that Ctrl-C reaches them
 * through the parent alone, and end with it, whatever ends it. Their messages go to FOLDER/log.txt.
 */
int rt_crossval_run(const struct rt_crossval *crossval);
