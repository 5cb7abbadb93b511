/* GPUs of one chip: what is held out to judge a predictor is held out with all of them. */
#ifndef ROOFTILE_DATASETS_CHIPS_H
#define ROOFTILE_DATASETS_CHIPS_H

#include "datasets/device.h"

/* What names the chip: the device's `chip`; where its description has none the word of its name with the
 * first digit, "A100" of "NVIDIA A100-PCIE-40GB", else the whole name. */
void rt_chip_word(const struct rt_device *device, char *out, size_t size);

/* Is it the same chip? A Grace superchip is the chip it is named after: GB200, B200. */
bool rt_chip_same(const struct rt_device *a, const struct rt_device *b);

#endif
