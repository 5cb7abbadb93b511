/*
 * What NVML tells of a GPU: clocks, temperature, power, energy, why it was slowed down. Opened at run time,
 * read only; all of it is optional, since NVML may be missing and boards differ in what they tell.
 * ROOFTILE_NVML names another library than libnvidia-ml.so.1.
 *
 * Source of names, numbers and meanings: NVIDIA, NVML API reference, release 580. Its header is no part of
 * the CUDA toolkit, so the little that is called is declared in nvml.c.
 */
#ifndef ROOFTILE_COLLECT_CUDA_NVML_H
#define ROOFTILE_COLLECT_CUDA_NVML_H

#include <stdbool.h>
#include <stdint.h>

/* NULL where NVML is open, or why it is not, in a few words. */
const char *rt_nvml_missing(void);

/* NVML's handle of the GPU at a PCI address ("0000:3b:00.0"), else of that uuid ("GPU-..."); NULL where it
 * has none. Functions below accept NULL and know nothing of it then. */
void *rt_nvml_find(const char *pci, const char *uuid);

enum rt_nvml_quantity {
    RT_NVML_SM_CLOCK_MHZ,
    RT_NVML_SM_CLOCK_MOST_MHZ,
    RT_NVML_MEMORY_CLOCK_MHZ,
    RT_NVML_TEMPERATURE_C,
    RT_NVML_POWER_W,
    RT_NVML_POWER_LIMIT_W,
    RT_NVML_ENERGY_MJ /* since the driver was loaded; of the whole board */
};
double rt_nvml_number(void *device, enum rt_nvml_quantity quantity); /* NaN: it does not say */

enum rt_nvml_mode { RT_NVML_ECC, RT_NVML_MIG, RT_NVML_PERSISTENCE };
const char *rt_nvml_mode(void *device, enum rt_nvml_mode mode); /* "on", "off", "unknown" */

const char *rt_nvml_driver(void); /* "580.65.06", "unknown" */

/* Reasons for which clocks are held down now, as NVML's bits; 0 where it does not say. */
uint64_t rt_nvml_reasons(void *device);

/* The gravest of the reasons that slow a kernel down below what the board can, NULL where there is none: an
 * idle GPU, or clocks that were set on purpose, are no throttling. Constant text. *fault: it passes when the
 * board cools or its supply recovers; false for the power limit, which is how large products run on this
 * board at any time. */
const char *rt_nvml_throttle(uint64_t reasons, bool *fault);

#endif
