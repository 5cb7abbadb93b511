/*
 * Models of images, as rows: what torchvision and timm have by name. A family is a file with a builder, the
 * settings that vary and a row for each model; a model that varies one that is here is a row.
 *
 * The room: vision.[ch] is the table of families and finds models by name; the others are families.
 */
#pragma once

#include "models/networks/graph.h"

struct rt_diffusion;
struct rt_vision {
    const char *name;    /* as torchvision has it, or timm */
    const char *aliases; /* other names, "a, b"; NULL: none */
    int64_t image;       /* side in pixels that it was trained for */
    int64_t classes;
    const void *settings; /* what the family's builder reads */
    /* Adds blocks and nodes to an empty graph, for images of options.image pixels. */
    void (*build)(const struct rt_vision *vision, struct rt_graph *graph);
    bool fixed_image; /* takes no other size */
    int64_t multiple; /* of which other sides than its own are: the patch; 0: any */
    const struct rt_diffusion *diffusion; /* a pipeline that makes images; NULL: it reads them */
};

struct rt_vision_family {
    const char *what; /* "ResNet, ResNeXt, Wide ResNet" */
    const struct rt_vision *models;
    size_t count;
};

/* The i-th model of all families, in the order of the table; NULL past the last. */
const struct rt_vision *rt_vision_at(size_t i);
const struct rt_vision_family *rt_vision_family_of(const struct rt_vision *vision);
