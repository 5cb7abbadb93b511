/* The configs of the test data whose models LLM servers run. */
#pragma once

#include "base/file.h"
#include "models/networks/architectures/architecture.h"
#include "models/networks/model.h"
#include "test.h"

/* Calls `run` for each; returns how many there are. */
static inline int for_each_served(void (*run)(const struct rt_model *model))
{
    struct rt_paths paths;
    int count = 0;
    RT_ASSERT_OK(rt_file_walk(RT_SOURCE_DIR "/tests/data/configs", &paths));
    for (size_t i = 0; i < paths.count; i++) {
        struct rt_model model;
        if (strstr(paths.path[i], ".json") == NULL)
            continue;
        if (strstr(paths.path[i], "/layers/") != NULL)
            continue; /* layers that differ: test_layers.c */
        RT_ASSERT_OK(rt_model_load(paths.path[i], &model));
        if (!model.architecture->served)
            continue;
        run(&model);
        count++;
    }
    rt_paths_release(&paths);
    return count;
}
