/* Device effects in predictor files, in the group of their family. What a failed reading leaves is released
 * as usual. */
#ifndef ROOFTILE_MODELS_PREDICTORS_PREDICTOR_DEVICE_EFFECTS_FILE_H
#define ROOFTILE_MODELS_PREDICTORS_PREDICTOR_DEVICE_EFFECTS_FILE_H

#include "base/h5.h"
#include "models/predictors/predictor/device_effects.h"

int rt_device_effects_write(const struct rt_device_effects *effects, struct rt_h5 *file, const char *group);
/* `width` of a place of the network: rt_family_net_place_width. */
int rt_device_effects_read(struct rt_h5 *file, const char *group, size_t width,
                           struct rt_device_effects *effects);

#endif
