/* Models by name or config.json. */
#pragma once

#include "models/networks/model_graph.h"

struct rt_text;

/* A model of the zoo or of images by name or alias (case and "-_. " alike), the path of a config.json, or an
 * id of the Hugging Face Hub or its address: of a folder here, of the Hub's cache on this machine, or of
 * zoo/hub.jsonl; of each with changes of its config, "gpt2,n_layer=24,n_embd=2048". RT_ENOTFOUND suggests the
 * nearest names; RT_EFORMAT names file, line and column, or the field. */
int rt_model_find(const char *spec, struct rt_model *out);
/* By name and changes, and nothing else: for names that come out of files.
 * "timm/NAME" is also NAME where timm has no other network of that name. */
int rt_model_named(const char *name, struct rt_model *out);
void rt_model_of_images(const struct rt_vision *vision, struct rt_model *out);

/* The zoo, for listings: transformers only. Models of images are listed by rt_vision_at. */
size_t rt_zoo_size(void);
int rt_zoo_model(size_t i, struct rt_model *out);
/* Every id of zoo/hub.jsonl, until `visit` fails. */
int rt_hub_each(int (*visit)(void *context, const struct rt_model *model), void *context);
/* .suggests of rows (base/options.h): all models by name; files. */
void rt_model_suggest(struct rt_text *list);
