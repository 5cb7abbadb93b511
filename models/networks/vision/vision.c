/* The table of families. See vision.h. */
#include "models/networks/vision/vision.h"

extern const struct rt_vision_family rt_vision_alexnet, rt_vision_vgg, rt_vision_resnet, rt_vision_inception,
    rt_vision_densenet, rt_vision_squeezenet, rt_vision_shufflenet, rt_vision_mobile, rt_vision_vit,
    rt_vision_blocks, rt_vision_swin, rt_vision_convnext, rt_vision_regnet, rt_vision_traced,
    rt_vision_diffusion;

static const struct rt_vision_family *const families[] = {
    &rt_vision_alexnet,  &rt_vision_vgg,        &rt_vision_resnet,     &rt_vision_inception,
    &rt_vision_densenet, &rt_vision_squeezenet, &rt_vision_shufflenet, &rt_vision_mobile,
    &rt_vision_vit,      &rt_vision_blocks,     &rt_vision_swin,       &rt_vision_convnext,
    &rt_vision_regnet,   &rt_vision_traced,     &rt_vision_diffusion,  NULL};

const struct rt_vision *rt_vision_at(size_t i)
{
    for (size_t f = 0; families[f] != NULL; i -= families[f++]->count)
        if (i < families[f]->count)
            return &families[f]->models[i];
    return NULL;
}

const struct rt_vision_family *rt_vision_family_of(const struct rt_vision *vision)
{
    for (size_t f = 0; families[f] != NULL; f++)
        if (vision >= families[f]->models && vision < families[f]->models + families[f]->count)
            return families[f];
    return NULL;
}
