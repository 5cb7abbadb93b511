/* The graph that follows from a model's sizes, and what a step of it reads. */
#pragma once

#include "models/networks/sizes.h"

struct rt_diffusion;

/* RT_EUSAGE where options are out of range or do not fit the model (heads that tensor parallelism does not
 * divide, an image smaller than the network's windows). A sequence beyond the model's positions is built, too
 * (rt_model_overlong). */
int rt_graph_build(const struct rt_model *model, const struct rt_graph_options *options,
                   struct rt_graph *out);

/* Do LLM servers run it? */
bool rt_model_is_served(const struct rt_model *model);

/* False of models of images by name, and of sound without a decoder: --seq is not for these. */
bool rt_model_reads_text(const struct rt_model *model);

/* Seconds of sound that are read where none are asked for: the window of an encoder that has one (Whisper's
 * 30), else 10; 0: the model reads no sound. */
double rt_model_seconds(const struct rt_model *model);
/* Side in pixels of the images that the model was made for; 0: it reads none. CLIP reads text, too. */
int64_t rt_model_image(const struct rt_model *model);

/* Their width where that differs; 0: it does not. */
int64_t rt_model_image_width(const struct rt_model *model);
/* What makes images out of noise; NULL: the model is no such pipeline. */
const struct rt_diffusion *rt_model_diffusion(const struct rt_model *model);

/* Tokens of the step: options->sequence, or what a model that reads no text makes of what it reads. */
int64_t rt_model_sequence(const struct rt_model *model, const struct rt_graph_options *options);

/* 1024, or the model's positions where those are fewer; what a model makes that reads no text. */
int64_t rt_model_default_sequence(const struct rt_model *model);

/* True where the step reads more positions than the model was trained for. */
bool rt_model_overlong(const struct rt_model *model, const struct rt_graph_options *options);

/* Parameters of the whole model. */
double rt_model_parameters(const struct rt_model *model);
