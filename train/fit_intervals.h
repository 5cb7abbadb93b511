/* Conformal intervals of a net (models/predictor/conformal_interval.h): half-widths for known devices from
 * the validation rows, for unseen ones from fits that leave each device out in turn. */
#ifndef ROOFTILE_TRAIN_FIT_INTERVALS_H
#define ROOFTILE_TRAIN_FIT_INTERVALS_H

#include "train/fit_network.h"

/* Fills fit->net.intervals; its net must have the best parameters. None where it fails. */
int rt_intervals_fit(struct rt_training *training, struct rt_network_fit *fit);

#endif
