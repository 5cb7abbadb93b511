/* Conformal intervals of a net (models/predictors/predictor/conformal_interval.h): half-widths for known
 * devices from the validation rows, for unseen ones from fits that leave each device out in turn. */
#pragma once

#include "train/fit_network.h"

/* Residuals so far, and ln(measured / forecast) and its square summed by device (of the dataset). */
struct rt_residuals {
    struct rt_residual *list;
    size_t count, capacity;
    double *error, *square, *rows;
};
void rt_residuals_init(struct rt_residuals *residuals, size_t devices);
void rt_residuals_release(struct rt_residuals *residuals);
/* `error`: ln(measured / forecast). */
void rt_residuals_add(struct rt_residuals *residuals, double error, int32_t device, uint8_t dtype,
                      double bound_us);
/* Intervals from the residuals of known devices and of devices that a fit left out; both get scaled, sorted.
 */
void rt_residuals_finish(const struct rt_dataset *dataset, struct rt_residuals *known,
                         struct rt_residuals *unseen, struct rt_intervals *intervals);

/* Marks (devices) a device and all others of `fitted` (devices) that have its compute capability, one design
 * of multiprocessor: with one of them in training another is not new. All that are fitted are no group: the
 * device alone. */
void rt_mark_alike(const struct rt_dataset *dataset, const bool *fitted, size_t device, bool *marked);

/* Fills fit->net.intervals; its net must have the best parameters. None where it fails. */
int rt_intervals_fit(struct rt_training *training, struct rt_network_fit *fit);

/* ---- fit_links.c ----
 *
 * The model of links (models/predictors/roofline/link.h), fitted to collectives: coefficients that all GPUs
 * share, then device effects, twice in turn; intervals by fits that leave each device out.
 *
 * Coefficients: least squares of relative errors, reweighted so that outliers count little, none below 0 (the
 * wire not below 1), by coordinate descent. Rows of one device, group, op, dtype, number of GPUs, fabric,
 * library and octave of bytes weigh as one, so that a corpus with a thousand sizes is not worth a hundred
 * others. An algorithm that no row has keeps its prior (rt_link_prior).
 *
 * Device effects: what starting up and the wire take more (ln), a ridge that is worth four such
 * cells shrinks both to 0. */

/* Fits the net of the recipe and adds it to the predictor; nothing where the data has no rows for it. */
int rt_links_fit(struct rt_training *training, const struct rt_recipe *recipe);
