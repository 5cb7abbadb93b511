/* What a calibration changed, for people and programs. */
#ifndef ROOFTILE_TRAIN_CALIBRATE_CALIBRATE_REPORT_H
#define ROOFTILE_TRAIN_CALIBRATE_CALIBRATE_REPORT_H

#include "base/report.h"
#include "train/calibrate/calibration.h"

/* Adds tables, facts, notes and pictures. `data`: what the dataset is called. */
void rt_calibration_report(const struct rt_calibration *calibration, const struct rt_dataset *dataset,
                           const char *data, struct rt_report *report);

/* Its pictures alone: errors and device effects before and after, runs before and after. */
void rt_calibration_add_plots(struct rt_report *report, const struct rt_calibration *calibration);

#endif
