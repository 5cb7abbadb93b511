/* Names in predictor files of version 2 that version 3 changed. */
#ifndef ROOFTILE_MODELS_PREDICTOR_FILE_NAMES_H
#define ROOFTILE_MODELS_PREDICTOR_FILE_NAMES_H

#include "base/h5_struct.h"

/* The changed names where the file is of version 2, else NULL. */
const struct rt_h5_rename *rt_predictor_renames(const struct rt_h5 *file);

/* What a group, array, attribute, feature or tile policy is called in the file. */
const char *rt_predictor_stored_name(const struct rt_h5 *file, const char *name);

#endif
