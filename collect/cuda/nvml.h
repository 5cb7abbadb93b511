/*
 * NVML: clocks, temperature, power, energy and throttling of a GPU. Opened at run time, read only, optional:
 * NVML may be missing, and boards differ in what they report. ROOFTILE_NVML names another library than
 * libnvidia-ml.so.1.
 *
 * Source of names, numbers and meanings: NVIDIA, NVML API reference, release 580. Its header is not in the
 * CUDA toolkit, so nvml.c declares the few functions that are called.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* NULL where NVML is open, or why it is not, in a few words. */
const char *rt_nvml_missing(void);

/* NVML's handle of the GPU at a PCI address ("0000:3b:00.0"), else of that uuid ("GPU-..."); NULL where it
 * has none. The functions below accept NULL: nothing is known then. */
void *rt_nvml_find(const char *pci, const char *uuid);

enum rt_nvml_quantity {
    RT_NVML_SM_CLOCK_MHZ,
    RT_NVML_SM_CLOCK_MOST_MHZ,
    RT_NVML_TEMPERATURE_C,
    RT_NVML_POWER_W,
    RT_NVML_POWER_LIMIT_W,
    RT_NVML_ENERGY_MJ /* since the driver was loaded; of the whole board */
};
double rt_nvml_number(void *device, enum rt_nvml_quantity quantity); /* NaN: not known */

enum rt_nvml_mode { RT_NVML_ECC, RT_NVML_MIG, RT_NVML_PERSISTENCE };
const char *rt_nvml_mode(void *device, enum rt_nvml_mode mode); /* "on", "off", "unknown" */

const char *rt_nvml_driver(void); /* "580.65.06", "unknown" */

/* Reasons for lowered clocks at this moment, as NVML's bits; 0: none, or not known. */
uint64_t rt_nvml_reasons(void *device);

/* The most severe of the reasons that is throttling, as constant text; NULL where none is (an idle GPU,
 * clocks set by the user). *fault: it ends when the board cools or its power supply recovers; false for the
 * power limit, at which large products always run. */
const char *rt_nvml_throttle(uint64_t reasons, bool *fault);
