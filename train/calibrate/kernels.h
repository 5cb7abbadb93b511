/* Calibration from kernels: network by network, those of the device are gathered, some selected and fitted.
 */
#ifndef ROOFTILE_TRAIN_CALIBRATE_KERNELS_H
#define ROOFTILE_TRAIN_CALIBRATE_KERNELS_H

#include "train/calibrate/calibration.h"

/* Writes the fits into the predictor's device effects and the families into `out`. RT_EFORMAT where no family
 * has enough kernels; the predictor may then be changed in part. */
int rt_calibrate_kernels(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                         const struct rt_calibrate_options *options, struct rt_calibration *out);

#endif
