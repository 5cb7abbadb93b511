/*
 * Features by name: what a network sees of a launch. A predictor file lists its features by these names; a
 * new feature is a function and a row in features.c.
 *
 * But for NeuSight's, features are of the call and the device's design (vendor, compute capability) alone, so
 * that a network cannot make a forecast slower where a device has more of anything
 * (models/predictors/roofline/tile.h).
 */
#ifndef ROOFTILE_MODELS_PREDICTORS_PREDICTOR_FEATURES_H
#define ROOFTILE_MODELS_PREDICTORS_PREDICTOR_FEATURES_H

#include "models/predictors/roofline/tile.h"

enum rt_feature_use {
    RT_OF_CALL,
    RT_OF_DEVICE, /* depends on the device's numbers: the head "times" takes none of these */
    RT_OF_KIND /* of a call; beyond the range that a network saw of it kernels are of another kind, and it has
                  nothing to say: its outputs count as 0, so that physics alone forecasts them */
};

struct rt_feature {
    const char *name, *what;
    double (*value)(const struct rt_tiled_call *launch);
    enum rt_feature_use use;
};

extern const struct rt_feature rt_features[];
extern const size_t rt_feature_count;
int rt_feature_find(const char *name); /* -1 where there is none */

#endif
