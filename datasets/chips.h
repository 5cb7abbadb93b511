/* GPUs of one chip, by the names of devices: what is held out to judge a predictor is held out with all of
 * them. */
#ifndef ROOFTILE_DATASETS_CHIPS_H
#define ROOFTILE_DATASETS_CHIPS_H

#include <stdbool.h>
#include <stddef.h>

/* The word that names the chip: "A100" in "NVIDIA A100-PCIE-40GB"; the first with a digit, else the whole
 * name. */
void rt_chip_word(const char *device, char *out, size_t size);

/* Is it the same chip? A Grace superchip is the chip it is named after: GB200, B200. */
bool rt_chip_same(const char *a, const char *b);

#endif
