/* The table of families. See vision.h. */
#include "models/networks/vision/vision.h"

extern const struct rt_vision_family rt_vision_alexnet, rt_vision_vgg, rt_vision_resnet, rt_vision_inception,
    rt_vision_densenet, rt_vision_squeezenet, rt_vision_shufflenet, rt_vision_mobile, rt_vision_vit,
    rt_vision_blocks, rt_vision_swin, rt_vision_convnext, rt_vision_regnet;

const struct rt_vision_family *const rt_vision_families[] = {&rt_vision_alexnet,    &rt_vision_vgg,
                                                             &rt_vision_resnet,     &rt_vision_inception,
                                                             &rt_vision_densenet,   &rt_vision_squeezenet,
                                                             &rt_vision_shufflenet, &rt_vision_mobile,
                                                             &rt_vision_vit,        &rt_vision_blocks,
                                                             &rt_vision_swin,       &rt_vision_convnext,
                                                             &rt_vision_regnet,     NULL};

const struct rt_vision *rt_vision_at(size_t i)
{
    for (size_t f = 0; rt_vision_families[f] != NULL; i -= rt_vision_families[f++]->count)
        if (i < rt_vision_families[f]->count)
            return &rt_vision_families[f]->models[i];
    return NULL;
}

const struct rt_vision_family *rt_vision_family_of(const struct rt_vision *vision)
{
    for (size_t f = 0; rt_vision_families[f] != NULL; f++)
        if (vision >= rt_vision_families[f]->models &&
            vision < rt_vision_families[f]->models + rt_vision_families[f]->count)
            return rt_vision_families[f];
    return NULL;
}
