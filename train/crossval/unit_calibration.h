/* A unit's predictor calibrated to kernels of the held-out GPUs. */
#ifndef ROOFTILE_TRAIN_CROSSVAL_UNIT_CALIBRATION_H
#define ROOFTILE_TRAIN_CROSSVAL_UNIT_CALIBRATION_H

#include "train/crossval/crossval.h"

/* The families that the kind has networks for and that were asked for. */
void rt_unit_families(const struct rt_crossval *crossval, const struct rt_unit *unit,
                      bool out[RT_FAMILY_COUNT]);

/* Has a family of the unit enough kernels of the device for calibration? True of RT_ZERO_SHOT. */
bool rt_unit_calibrates(const struct rt_crossval *crossval, const struct rt_unit *unit, size_t device,
                        enum rt_protocol kernels);

/* The same of one family. */
bool rt_unit_calibrates_family(const struct rt_crossval *crossval, const struct rt_fold *fold, size_t device,
                               int family, enum rt_protocol kernels);

/* Calibrates the trained predictor to all devices of the fold, into rt_unit_predictor(unit, kernels). */
int rt_unit_calibrate(const struct rt_crossval *crossval, const struct rt_unit *unit,
                      enum rt_protocol kernels);

/* Path of a protocol's predictor, "predictor.h5" of RT_ZERO_SHOT; "roofline" where the kind is. Free with
 * free(). */
char *rt_unit_predictor(const struct rt_unit *unit, enum rt_protocol kernels);

#endif
