/*
 * Towers of images of models of text and images ("vision_config"): an encoder of patches before the language
 * part, whose tokens stand among those of the prompt. A make of tower is a row of tower.c: traits, and the
 * keys that hold its sizes; architectures/served_tower.c builds what LLM servers run.
 */
#pragma once

#include "models/networks/sizes.h"

#include <jansson.h>

/* Reads the tower of a whole config of `type` into model->vision_tower; one of no make that is known, or
 * none, leaves it as it is. RT_EFORMAT: a size is missing or is none; `where` is the file. */
int rt_vision_tower_read(const json_t *config, const char *type, const char *where, struct rt_model *model);

/* Does it have one that is known? */
static inline bool rt_model_sees(const struct rt_model *model)
{
    return model->vision_tower.hidden > 0;
}

/* Pieces of an image of `side` pixels that run each by itself (1, but for towers of tiles), and tokens of the
 * prompt that the whole image becomes. */
int64_t rt_vision_tower_pieces(const struct rt_vision_tower *tower, int64_t side);
int64_t rt_vision_tower_tokens(const struct rt_vision_tower *tower, int64_t side);

/* RT_EUSAGE where images of that side cannot be cut into its patches. */
int rt_vision_tower_check(const struct rt_model *model, int64_t side);
