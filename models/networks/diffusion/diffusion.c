/* The table of pipelines. See diffusion.h. */
#include "models/networks/diffusion/diffusion.h"
#include "base/status.h"
#include "models/networks/diffusion/cross.h"
#include "models/networks/diffusion/decoder.h"
#include "models/networks/diffusion/joint.h"
#include "models/networks/diffusion/text.h"
#include "models/networks/diffusion/unet.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Nodes of a block that do the same again are numbered: "norm1", "norm1.2". */
static void number_names(struct rt_graph *graph)
{
    enum { MOST = 512 };
    struct {
        const char *name;
        int count;
    } seen[MOST];
    for (size_t b = 0; b < graph->block_count; b++) {
        size_t known = 0;
        for (uint32_t n = graph->blocks[b].node; n < graph->blocks[b].node + graph->blocks[b].node_count;
             n++) {
            struct rt_node *node = &graph->nodes[n];
            size_t i = 0;
            while (i < known && strcmp(seen[i].name, node->name) != 0)
                i++;
            if (i == known && known < MOST) {
                seen[known].name = node->name;
                seen[known++].count = 1;
            } else if (i < known) {
                char *name = rt_format("%s.%d", node->name, ++seen[i].count);
                node->name = rt_graph_text(graph, name, strlen(name));
                free(name);
            }
        }
    }
}

/* Of prompts: their weights are not trained, and nothing of them runs backward. */
static void build_texts(const struct rt_diffusion *pipeline, struct rt_graph *graph)
{
    bool trains = rt_graph_trains(graph);
    int64_t prompts = pipeline->guidance == RT_GUIDANCE_NONE || trains ? 1 : 2;
    graph->options.step = RT_STEP_PREFILL;
    for (size_t i = 0; i < RT_COUNT(pipeline->text) && pipeline->text[i].encoder != NULL; i++)
        rt_text_encoder_build(&pipeline->text[i], graph, graph->options.batch, prompts);
    graph->options.step = trains ? RT_STEP_TRAINING : RT_STEP_PREFILL;
    for (size_t n = 0; n < graph->node_count; n++) {
        graph->nodes[n].frozen = graph->nodes[n].parameters;
        graph->nodes[n].gradient = false;
    }
}

static void build(const struct rt_vision *vision, struct rt_graph *graph)
{
    const struct rt_diffusion *pipeline = vision->diffusion;
    build_texts(pipeline, graph);
    pipeline->denoise(pipeline, graph);
    if (!rt_graph_trains(graph)) /* latents of the pictures to learn from are ready */
        rt_decoder_build(pipeline->decoder, graph, rt_diffusion_latents(pipeline, graph));
    number_names(graph);
}

/* ---- what does not fit ---- */

static int check_frames(const struct rt_vision *vision, int64_t frames)
{
    int64_t each = vision->diffusion->squeeze_time;
    if (vision->diffusion->frames == 0)
        return frames == 0 ? RT_OK
                           : rt_fail(RT_EUSAGE, "{frames}: %s makes images, not videos", vision->name);
    if (frames == 0 || (frames - 1) % each == 0)
        return RT_OK;
    return rt_fail(RT_EUSAGE,
                   "{frames} %" PRId64 ": %s makes 1 frame and a multiple of %" PRId64 " more; give %" PRId64
                   " or %" PRId64,
                   frames, vision->name, each, (frames - 1) / each * each + 1,
                   (frames - 1) / each * each + each + 1);
}

static int check_parallel(const struct rt_vision *vision, const struct rt_graph_options *options)
{
    const struct rt_diffusion *pipeline = vision->diffusion;
    int64_t parts = rt_diffusion_or(options->ulysses, 1), heads = 0;
    bool cut = parts > 1 || options->ring > 1;
    if (pipeline->denoise == rt_joint_build)
        heads = ((const struct rt_joint *)pipeline->denoiser)->heads;
    else if (pipeline->denoise == rt_cross_build)
        heads = ((const struct rt_cross *)pipeline->denoiser)->heads;
    if (cut && heads == 0)
        return rt_fail(
            RT_EUSAGE,
            "{ulysses} and {ring} share out the tokens of denoising transformers; %s has a U-Net, so share "
            "the batch out with {dp}",
            vision->name);
    if (heads % parts != 0 && heads > 0)
        return rt_fail(RT_EUSAGE, "{ulysses} %" PRId64 " does not divide the %" PRId64 " heads of %s", parts,
                       heads, vision->name);
    return RT_OK;
}

int rt_diffusion_check(const struct rt_vision *vision, const struct rt_graph_options *options)
{
    if (options->step == RT_STEP_TRAINING &&
        (options->denoising_steps > 1 || options->ulysses > 1 || options->ring > 1))
        return rt_fail(
            RT_EUSAGE,
            "%s: training denoises once a step, each GPU whole pictures; leave {steps}, {ulysses} and "
            "{ring} away, and share the batch out with {dp}",
            vision->name);
    int status = check_frames(vision, options->frames);
    return status != RT_OK ? status : check_parallel(vision, options);
}

/* ---- denoisers ---- */

/* clang-format off */
/* From unet/config.json and transformer/config.json of the Hub's repositories that the pipelines below name. */
static const struct rt_unet
    sd15 = {.levels = 4, .channels = {320, 640, 1280, 1280}, .layers = {1, 1, 1, 0}, .middle_layers = 1, .heads = {8, 8, 8, 8},
            .text_tokens = 77, .text_width = 768},
    sd21 = {.levels = 4, .channels = {320, 640, 1280, 1280}, .layers = {1, 1, 1, 0}, .middle_layers = 1, .heads = {5, 10, 20, 20},
            .text_tokens = 77, .text_width = 1024, .linear = true},
    sdxl = {.levels = 3, .channels = {320, 640, 1280}, .layers = {0, 2, 10}, .middle_layers = 10, .heads = {5, 10, 20},
            .text_tokens = 77, .text_width = 2048, .added_width = 2816, .linear = true};

#define SD3 .patch = 2, .patch_time = 1, .text_tokens = 333, .text_width = 4096, .pooled_width = 2048
#define FLUX .width = 3072, .heads = 24, .doubles = 19, .singles = 38, .patch = 2, .patch_time = 1, .text_width = 4096, .pooled_width = 768
static const struct rt_joint
    sd3_medium = {SD3, .width = 1536, .heads = 24, .doubles = 24, .traits = RT_JOINT_LAST},
    sd35_medium = {SD3, .width = 1536, .heads = 24, .doubles = 24, .duals = 13, .traits = RT_JOINT_LAST | RT_JOINT_RMS_QK},
    sd35_large = {SD3, .width = 2432, .heads = 38, .doubles = 38, .traits = RT_JOINT_LAST | RT_JOINT_RMS_QK},
    flux_dev = {FLUX, .text_tokens = 512, .traits = RT_JOINT_RMS_QK | RT_JOINT_ROTARY | RT_JOINT_GUIDANCE},
    flux_schnell = {FLUX, .text_tokens = 256, .traits = RT_JOINT_RMS_QK | RT_JOINT_ROTARY},
    hunyuan_video = {.width = 3072, .heads = 24, .doubles = 20, .singles = 40, .patch = 2, .patch_time = 1, .text_tokens = 256,
                     .text_width = 4096, .pooled_width = 768,
                     .traits = RT_JOINT_RMS_QK | RT_JOINT_ROTARY | RT_JOINT_GUIDANCE | RT_JOINT_REFINER},
    cogvideox_2b = {.width = 1920, .heads = 30, .singles = 30, .patch = 2, .patch_time = 1, .text_tokens = 226, .text_width = 4096,
                    .time_width = 512, .traits = RT_JOINT_LAYER_QK},
    cogvideox15_5b = {.width = 3072, .heads = 48, .singles = 42, .patch = 2, .patch_time = 2, .text_tokens = 226, .text_width = 4096,
                      .time_width = 512, .traits = RT_JOINT_LAYER_QK | RT_JOINT_ROTARY};

#define WAN .kind = RT_CROSS_WAN, .patch = 2, .text_tokens = 512, .text_width = 4096, .qk_norm = true
static const struct rt_cross
    pixart = {.kind = RT_CROSS_PIXART, .width = 1152, .layers = 28, .heads = 16, .cross_heads = 16, .ffn = 4608, .patch = 2,
              .text_tokens = 300, .text_width = 4096, .out_channels = 8},
    sana_1600m = {.kind = RT_CROSS_SANA, .width = 2240, .layers = 20, .heads = 70, .cross_heads = 20, .ffn = 5600, .patch = 1,
                  .text_tokens = 300, .text_width = 2304, .out_channels = 32, .qk_norm = true},
    sana_4800m = {.kind = RT_CROSS_SANA, .width = 2240, .layers = 60, .heads = 70, .cross_heads = 20, .ffn = 5600, .patch = 1,
                  .text_tokens = 300, .text_width = 2304, .out_channels = 32, .qk_norm = true},
    hunyuan_dit = {.kind = RT_CROSS_HUNYUAN, .width = 1408, .layers = 40, .heads = 16, .cross_heads = 16, .ffn = 6144, .patch = 2,
                   .text_tokens = 333, .text_width = 1024, .out_channels = 8, .qk_norm = true},
    wan_1300m = {WAN, .width = 1536, .layers = 30, .heads = 12, .cross_heads = 12, .ffn = 8960, .out_channels = 16},
    wan_5b = {WAN, .width = 3072, .layers = 30, .heads = 24, .cross_heads = 24, .ffn = 14336, .out_channels = 48},
    wan_14b = {WAN, .width = 5120, .layers = 40, .heads = 40, .cross_heads = 40, .ffn = 13824, .out_channels = 16};

/* ---- pipelines ---- */

#define UNET(net, ...) .denoise = rt_unet_build, .denoiser = &(net), __VA_ARGS__
#define JOINT(net, ...) .denoise = rt_joint_build, .denoiser = &(net), __VA_ARGS__
#define CROSS(net, ...) .denoise = rt_cross_build, .denoiser = &(net), __VA_ARGS__
#define KL4 .squeeze = 8, .channels = 4
#define KL16 .squeeze = 8, .channels = 16, .decoder = &rt_decoder_kl16
#define SD3_TEXT .text = {{&rt_text_clip_l_projected, 77}, {&rt_text_openclip_bigg, 77}, {&rt_text_t5_xxl, 256}}
#define FLUX_TEXT(tokens) .text = {{&rt_text_clip_l, 77}, {&rt_text_t5_xxl, tokens}}
#define WAN_PARTS .squeeze = 8, .squeeze_time = 4, .channels = 16, .text = {{&rt_text_umt5_xxl, 512}}, \
    .decoder = &rt_decoder_wan, .guidance = RT_GUIDANCE_PASSES
#define COG .squeeze = 8, .squeeze_time = 4, .channels = 16, .text = {{&rt_text_t5_xxl, 226}}, \
    .decoder = &rt_decoder_cogvideox, .guidance = RT_GUIDANCE_BATCH
#define ROW(side, multiple_, ...) \
    .image = side, .build = build, .multiple = multiple_, .diffusion = &(const struct rt_diffusion){__VA_ARGS__}

/* Steps, sizes and guidance are the pipelines' defaults in diffusers (pipeline_*.py, __call__), or the model card's. */
static const struct rt_vision models[] = {
    {"stable-diffusion-v1-5", "stable-diffusion-v1-5/stable-diffusion-v1-5, runwayml/stable-diffusion-v1-5, CompVis/stable-diffusion-v1-4, "
     "prompthero/openjourney-v4, sd1.5, sd15",
     ROW(512, 64, UNET(sd15, .class_name = "StableDiffusionPipeline", KL4, .width = 512, .steps = 50, .guidance = RT_GUIDANCE_BATCH, .fp16 = true,
         .text = {{&rt_text_clip_l, 77}}, .decoder = &rt_decoder_kl4))},
    {"stable-diffusion-2-1", "stabilityai/stable-diffusion-2-1, sd2.1, sd21",
     ROW(768, 64, UNET(sd21, .class_name = "StableDiffusionPipeline", KL4, .width = 768, .steps = 50, .guidance = RT_GUIDANCE_BATCH, .fp16 = true,
         .text = {{&rt_text_openclip_h, 77}}, .decoder = &rt_decoder_kl4))},
    {"stable-diffusion-xl-base-1.0", "stabilityai/stable-diffusion-xl-base-1.0, sdxl, sdxl-base-1.0",
     ROW(1024, 32, UNET(sdxl, .class_name = "StableDiffusionXLPipeline", KL4, .width = 1024, .steps = 50, .guidance = RT_GUIDANCE_BATCH, .fp16 = true,
         .text = {{&rt_text_clip_l, 77}, {&rt_text_openclip_bigg, 77}}, .decoder = &rt_decoder_kl4_wide))},
    {"sdxl-turbo", "stabilityai/sdxl-turbo",
     ROW(512, 32, UNET(sdxl, .class_name = "StableDiffusionXLPipeline", KL4, .width = 512, .steps = 1, .guidance = RT_GUIDANCE_NONE, .fp16 = true,
         .text = {{&rt_text_clip_l, 77}, {&rt_text_openclip_bigg, 77}}, .decoder = &rt_decoder_kl4_wide))},
    {"stable-diffusion-3-medium", "stabilityai/stable-diffusion-3-medium-diffusers, stabilityai/stable-diffusion-3-medium, sd3-medium, sd3",
     ROW(1024, 16, JOINT(sd3_medium, .class_name = "StableDiffusion3Pipeline", KL16, SD3_TEXT, .width = 1024, .steps = 28, .guidance = RT_GUIDANCE_BATCH, .fp16 = true))},
    {"stable-diffusion-3.5-medium", "stabilityai/stable-diffusion-3.5-medium, sd3.5-medium",
     ROW(1024, 16, JOINT(sd35_medium, .class_name = "StableDiffusion3Pipeline", KL16, SD3_TEXT, .width = 1024, .steps = 28, .guidance = RT_GUIDANCE_BATCH))},
    {"stable-diffusion-3.5-large", "stabilityai/stable-diffusion-3.5-large, sd3.5-large, sd3.5",
     ROW(1024, 16, JOINT(sd35_large, .class_name = "StableDiffusion3Pipeline", KL16, SD3_TEXT, .width = 1024, .steps = 28, .guidance = RT_GUIDANCE_BATCH))},
    {"flux.1-dev", "black-forest-labs/FLUX.1-dev, flux-dev, flux",
     ROW(1024, 16, JOINT(flux_dev, .class_name = "FluxPipeline", KL16, FLUX_TEXT(512), .width = 1024, .steps = 28))},
    {"flux.1-schnell", "black-forest-labs/FLUX.1-schnell, flux-schnell",
     ROW(1024, 16, JOINT(flux_schnell, .class_name = "FluxPipeline", KL16, FLUX_TEXT(256), .width = 1024, .steps = 4))},
    {"pixart-sigma", "PixArt-alpha/PixArt-Sigma-XL-2-1024-MS, pixart-sigma-xl-2-1024-ms",
     ROW(1024, 16, CROSS(pixart, .class_name = "PixArtSigmaPipeline", KL4, .width = 1024, .steps = 20, .guidance = RT_GUIDANCE_BATCH,
         .text = {{&rt_text_t5_xxl, 300}}, .decoder = &rt_decoder_kl4))},
    {"sana1.5-1.6b", "Efficient-Large-Model/SANA1.5_1.6B_1024px_diffusers, sana1.5_1.6b_1024px, sana-1.6b, sana",
     ROW(1024, 32, CROSS(sana_1600m, .class_name = "SanaPipeline", .squeeze = 32, .channels = 32, .width = 1024, .steps = 20, .guidance = RT_GUIDANCE_BATCH,
         .text = {{&rt_text_gemma2_2b, 300}}, .decoder = &rt_decoder_dc32))},
    {"sana1.5-4.8b", "Efficient-Large-Model/SANA1.5_4.8B_1024px_diffusers, sana1.5_4.8b_1024px, sana-4.8b",
     ROW(1024, 32, CROSS(sana_4800m, .class_name = "SanaPipeline", .squeeze = 32, .channels = 32, .width = 1024, .steps = 20, .guidance = RT_GUIDANCE_BATCH,
         .text = {{&rt_text_gemma2_2b, 300}}, .decoder = &rt_decoder_dc32))},
    {"hunyuandit-v1.2", "Tencent-Hunyuan/HunyuanDiT-v1.2-Diffusers, hunyuandit",
     ROW(1024, 16, CROSS(hunyuan_dit, .class_name = "HunyuanDiTPipeline", KL4, .width = 1024, .steps = 50, .guidance = RT_GUIDANCE_BATCH, .fp16 = true,
         .text = {{&rt_text_bert_l, 77}, {&rt_text_mt5_xl, 256}}, .decoder = &rt_decoder_kl4))},
    {"hunyuanvideo", "tencent/HunyuanVideo, hunyuanvideo-community/HunyuanVideo",
     ROW(720, 16, JOINT(hunyuan_video, .class_name = "HunyuanVideoPipeline", .squeeze = 8, .squeeze_time = 4, .channels = 16, .width = 1280, .frames = 129, .steps = 50,
         .text = {{&rt_text_clip_l, 77}, {&rt_text_llama3_8b, 351}}, .decoder = &rt_decoder_hunyuan))},
    {"wan2.1-t2v-1.3b", "Wan-AI/Wan2.1-T2V-1.3B-Diffusers, Wan-AI/Wan2.1-T2V-1.3B",
     ROW(480, 16, CROSS(wan_1300m, .class_name = "WanPipeline", WAN_PARTS, .width = 832, .frames = 81, .steps = 50))},
    {"wan2.1-t2v-14b", "Wan-AI/Wan2.1-T2V-14B-Diffusers, Wan-AI/Wan2.1-T2V-14B",
     ROW(480, 16, CROSS(wan_14b, .class_name = "WanPipeline", WAN_PARTS, .width = 832, .frames = 81, .steps = 50))},
    {"wan2.2-t2v-a14b", "Wan-AI/Wan2.2-T2V-A14B-Diffusers, Wan-AI/Wan2.2-T2V-A14B",
     ROW(720, 16, CROSS(wan_14b, .class_name = "WanPipeline", WAN_PARTS, .width = 1280, .frames = 81, .steps = 40, .experts = 2))},
    {"wan2.2-ti2v-5b", "Wan-AI/Wan2.2-TI2V-5B-Diffusers, Wan-AI/Wan2.2-TI2V-5B",
     ROW(704, 32, CROSS(wan_5b, .class_name = "WanPipeline", .squeeze = 16, .squeeze_time = 4, .channels = 48, .text = {{&rt_text_umt5_xxl, 512}},
         .decoder = &rt_decoder_wan22, .guidance = RT_GUIDANCE_PASSES, .width = 1280, .frames = 121, .steps = 50))},
    {"cogvideox-2b", "zai-org/CogVideoX-2b, THUDM/CogVideoX-2b",
     ROW(480, 16, JOINT(cogvideox_2b, .class_name = "CogVideoXPipeline", COG, .width = 720, .frames = 49, .steps = 50, .fp16 = true))},
    {"cogvideox1.5-5b", "zai-org/CogVideoX1.5-5B, THUDM/CogVideoX1.5-5B",
     ROW(768, 16, JOINT(cogvideox15_5b, .class_name = "CogVideoXPipeline", COG, .width = 1360, .frames = 81, .steps = 50))},
};
/* clang-format on */

const struct rt_vision_family rt_vision_diffusion = {"diffusion pipeline", models, RT_COUNT(models)};
