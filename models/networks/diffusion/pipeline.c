/* Sizes of a pipeline's parts. See pipeline.h. */
#include "models/networks/diffusion/pipeline.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

const char *const rt_diffusion_parts[RT_DIFFUSION_PARTS] = {"text", "denoise", "decode"};

int64_t rt_diffusion_or(int64_t asked, int64_t own)
{
    return asked > 0 ? asked : own;
}

static int64_t latent_frames(const struct rt_diffusion *pipeline, int64_t frames)
{
    return pipeline->frames == 0 ? 1 : (frames - 1) / pipeline->squeeze_time + 1;
}

struct rt_latents rt_diffusion_latents(const struct rt_diffusion *pipeline, const struct rt_graph *graph)
{
    const struct rt_graph_options *o = &graph->options;
    return (struct rt_latents){.batch = o->batch,
                               .frames =
                                   latent_frames(pipeline, rt_diffusion_or(o->frames, pipeline->frames)),
                               .height = o->image / pipeline->squeeze,
                               .width = rt_diffusion_or(o->image_width, o->image) / pipeline->squeeze};
}

static int64_t passes(const struct rt_diffusion *pipeline, const struct rt_graph *graph)
{
    if (rt_graph_trains(graph)) /* of one time, without guidance */
        return 1;
    return rt_diffusion_or(graph->options.denoising_steps, pipeline->steps) *
           (pipeline->guidance == RT_GUIDANCE_PASSES ? 2 : 1);
}

int64_t rt_diffusion_batch(const struct rt_diffusion *pipeline, const struct rt_graph *graph)
{
    return graph->options.batch *
           (pipeline->guidance == RT_GUIDANCE_BATCH && !rt_graph_trains(graph) ? 2 : 1);
}

void rt_diffusion_block(const struct rt_diffusion *pipeline, struct rt_graph *graph, const char *name,
                        int64_t layers)
{
    char *text = rt_format("%s %s", rt_diffusion_parts[RT_DIFFUSION_DENOISE], name);
    const char *kept = rt_graph_text(graph, text, strlen(text));
    free(text);
    rt_graph_add_block(graph, kept, RT_BLOCK_LAYER, layers * passes(pipeline, graph));
    graph->blocks[graph->block_count - 1].distinct = layers * rt_diffusion_or(pipeline->experts, 1);
}
