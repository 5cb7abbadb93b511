/*
 * Pipelines that make images and videos out of noise and text: text encoders, a denoising network that runs
 * once a step, a decoder of latents. A pipeline is a row of names and parts, each part a row of sizes; the
 * builders write what diffusers runs, operator by operator (github.com/huggingface/diffusers; each file names
 * the module that its rows and orders come from).
 *
 * A graph is of the whole batch: blocks of the denoiser repeat for every layer of every step, with weights of
 * their own for each layer. All steps of one block come before the next block, as if steps were turned inside
 * out: their sum is the same. Blocks are named "text ...", "denoise ..." and "decode ..."
 * (rt_diffusion_parts).
 *
 * Classifier-free guidance denoises a prompt and an empty one: twice the batch at once, or two passes a step,
 * as the pipeline has it. Sequence parallel (options.ulysses, options.ring): the tokens of the image are
 * shared out over ulysses x ring GPUs; text encoders and decoder run on each (xDiT,
 * github.com/xdit-project/xDiT).
 *
 * The room: diffusion.[ch] has the table of pipelines; pipeline.[ch] what one is; text.c text encoders;
 * layers.[ch] what denoisers share; cross.c and joint.c transformers that attend to text across and beside
 * it; unet.c U-Nets; decoder.c decoders.
 */
#pragma once

#include "models/networks/vision/vision.h"

enum rt_diffusion_part { RT_DIFFUSION_TEXT, RT_DIFFUSION_DENOISE, RT_DIFFUSION_DECODE, RT_DIFFUSION_PARTS };
/* "text", "denoise", "decode": how the names of a part's blocks begin. */
extern const char *const rt_diffusion_parts[RT_DIFFUSION_PARTS];

/* Classifier-free guidance. */
enum rt_guidance {
    RT_GUIDANCE_NONE,   /* distilled into the weights, or not used */
    RT_GUIDANCE_BATCH,  /* twice the batch */
    RT_GUIDANCE_PASSES, /* two passes a step */
};

struct rt_text_encoder; /* text.c */
struct rt_denoiser;     /* layers.h */
struct rt_decoder;      /* decoder.c */

struct rt_text_use {
    const struct rt_text_encoder *encoder;
    int64_t tokens;
};

struct rt_diffusion {
    const char *class_name; /* of model_index.json */
    int64_t width;          /* of its own images; their height is the vision row's `image` */
    int64_t frames;         /* of its own videos; 0: it makes images */
    int64_t steps;          /* as the pipeline's default has it */
    enum rt_guidance guidance;
    bool fp16;            /* the published checkpoint is fp16, else bf16 */
    int64_t squeeze;      /* pixels of a side that become one latent */
    int64_t squeeze_time; /* frames that become one latent, after the first; 0: images */
    int64_t channels;     /* of latents */
    struct rt_text_use text[4];
    /* Adds the blocks of `steps` steps; batch: with guidance. */
    void (*denoise)(const struct rt_diffusion *pipeline, struct rt_graph *graph);
    const void *denoiser; /* what `denoise` reads */
    int64_t experts;      /* denoisers of which each step runs one (Wan 2.2); 0: 1 */
    const struct rt_decoder *decoder;
};

/* What was asked for, or else the pipeline's own. */
int64_t rt_diffusion_or(int64_t asked, int64_t own);

/* Sizes of one batch on one GPU. */
struct rt_latents {
    int64_t batch, frames, height, width; /* frames: 1 of images */
};
struct rt_latents rt_diffusion_latents(const struct rt_diffusion *pipeline, const struct rt_graph *graph);
/* Of the denoiser in each pass. */
int64_t rt_diffusion_batch(const struct rt_diffusion *pipeline, const struct rt_graph *graph);

/* A block of the denoiser that runs `layers` times a pass. */
void rt_diffusion_block(const struct rt_diffusion *pipeline, struct rt_graph *graph, const char *name,
                        int64_t layers);
