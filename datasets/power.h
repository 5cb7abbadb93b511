/*
 * What the power of a device's board sustains: energies of a FLOP by process and dtype, and the rate that
 * they allow. The physics of forecasts (models/predictors/roofline) and the health of a measurement
 * (health.h) both start from it.
 */
#pragma once

#include "datasets/device.h"
#include "datasets/dtype.h"
#include "datasets/family.h"

#include <stdbool.h>

/* FLOP/s that the board's power sustains, at most the peak, of fp32 products at most what their instructions
 * leave of it (`fp32_issue` of designs); that where power, clock or process are unknown.
 *
 * fp32: RT_CORE_POWER x power / energy per FLOP.
 *
 * Energy of an fp32 FLOP in a product, with all it takes to feed it: 11.4 pJ at 16 and 12 nm, by large
 * products of NeuSight's P4 (75 W: 11.5) and T4 (70 W: 11.2). Smaller processes scale by what their foundry
 * announced (half the power from 12 to 7 nm, 0.9 to 6, 0.7 from 7 to 5; Samsung's 8 nm as 7), products
 * by 1.35 more at 5 nm (an L40S' best: 47 of 92 TFLOP/s at 350 W) and 1.6 more at 8 nm (RTX A2000, A4000,
 * A6000: 5.5, 11.9, 23.9 TFLOP/s at 70, 140, 300 W); L4 and A10 judge these (docs/log/next-gpu.md). So are 16
 * bits that lanes convert, where there are no matrix units.
 *
 * Matrix units: the clock falls until the power fits. Voltage falls with it, so that a FLOP takes energy with
 * the square of the clock f and power goes with its cube (dynamic power C V^2 f):
 *
 *   RT_CORE_POWER x power = FLOPs a cycle x f x e (f / 1.65 GHz)^2
 *
 * e is 0.5 pJ in 16 bits in a 5 nm process, on AMD's matrix cores 2.64 times as much (`matrix_energy` of
 * designs), by process as above, by the bits of the operands otherwise. 0.5 was chosen by whole runs of LLMs
 * on five GPUs (docs/log/predictor.md); the form holds boards of one chip apart whose power per peak differs.
 */
#define RT_CORE_POWER 0.75 /* of the board: the rest feeds memory, regulators, fans */
/* The data sheet's peak, of products in fp32 what their instructions leave of it, in FLOP/s. */
double rt_issued_flops(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype);
/* What the board's power sustains of units with such a peak; NaN where it is unknown. */
double rt_power_flops(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype,
                      double peak);
/* The lower of both. */
double rt_sustained_flops(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype);

/* How much longer a product takes in steps that follow one another for long than in a table's burst, 1 or
 * more: by the law above, where a FLOP takes RT_LONG_ENERGY times as much. Of 1, 1.25, 1.5, 1.75 and 2 it has
 * the least mean error on MLPerf's language models on H100 and H200 (docs/log/corpora.md). */
#define RT_LONG_ENERGY 1.5
double rt_long_run(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype);

/* pJ of a FLOP of the dtype on vector lanes or on matrix units: the energies above, by the bits of the
 * operands; of a 7 nm process where it is unknown. */
double rt_flop_picojoules(const struct rt_device *device, enum rt_dtype dtype, bool matrix);
/* What switching takes in the device's process over what it takes at 12 nm, as above. */
double rt_process_energy(const struct rt_device *device);
