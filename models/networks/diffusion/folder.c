/* Pipelines as diffusers saves them: a folder with model_index.json. See diffusion.h. */
#include "base/status.h"
#include "base/file.h"
#include "base/text.h"
#include "models/networks/diffusion/cross.h"
#include "models/networks/diffusion/diffusion.h"
#include "models/networks/diffusion/joint.h"
#include "models/networks/diffusion/unet.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static bool is_file(const char *folder, const char *name)
{
    char *path = rt_format("%s/%s", folder, name);
    bool found = rt_file_is_there(path);
    free(path);
    return found;
}

bool rt_diffusion_is_folder(const char *folder)
{
    return is_file(folder, "model_index.json");
}

static int read_object(const char *folder, const char *name, json_t **out)
{
    json_error_t error;
    char *path = rt_format("%s/%s", folder, name);
    *out = json_load_file(path, 0, &error);
    int status = RT_OK;
    if (*out == NULL)
        status = rt_fail(RT_EFORMAT, "%s:%d:%d: %s", path, error.line, error.column, error.text);
    else if (!json_is_object(*out))
        status = rt_fail(RT_EFORMAT, "%s: holds no JSON object", path);
    if (status != RT_OK) {
        json_decref(*out);
        *out = NULL;
    }
    free(path);
    return status;
}

/* A size that the config has must be the row's; one that it lacks says nothing. */
static bool is_size(const json_t *config, const char *key, int64_t size)
{
    const json_t *value = json_object_get(config, key);
    return value == NULL || (json_is_integer(value) && json_integer_value(value) == size);
}

static bool fits(const struct rt_diffusion *pipeline, const json_t *config)
{
    if (pipeline->denoise == rt_unet_build)
        return is_size(config, "cross_attention_dim",
                       ((const struct rt_unet *)pipeline->denoiser)->text_width);
    if (pipeline->denoise == rt_cross_build) {
        const struct rt_cross *net = pipeline->denoiser;
        return is_size(config, "num_layers", net->layers) &&
               is_size(config, "num_attention_heads", net->heads);
    }
    const struct rt_joint *net = pipeline->denoiser;
    const json_t *guidance = json_object_get(config, "guidance_embeds");
    bool guided = (net->traits & RT_JOINT_GUIDANCE) != 0;
    return is_size(config, "num_layers", net->doubles > 0 ? net->doubles : net->singles) &&
           is_size(config, "num_attention_heads", net->heads) &&
           (net->doubles == 0 || is_size(config, "num_single_layers", net->singles)) &&
           (int64_t)json_array_size(json_object_get(config, "dual_attention_layers")) == net->duals &&
           (guidance == NULL || json_is_true(guidance) == guided);
}

/* The row of that class whose sizes are the config's; NULL: there is none. Two denoisers are Wan 2.2's. */
static const struct rt_vision *find(const char *class_name, const json_t *config, bool two)
{
    for (size_t i = 0; i < rt_vision_diffusion.count; i++) {
        const struct rt_vision *row = &rt_vision_diffusion.models[i];
        bool experts = row->diffusion->experts == 2;
        if (strcmp(row->diffusion->class_name, class_name) == 0 && experts == two &&
            fits(row->diffusion, config))
            return row;
    }
    return NULL;
}

static char *classes(void)
{
    struct rt_text words = {0};
    for (size_t i = 0; i < rt_vision_diffusion.count; i++) {
        const char *name = rt_vision_diffusion.models[i].diffusion->class_name;
        if (words.text == NULL || strstr(words.text, name) == NULL)
            rt_text_item(&words, ", ", "%s", name);
    }
    return rt_text_take(&words);
}

int rt_diffusion_of_folder(const char *folder, const struct rt_vision **out)
{
    json_t *index, *config = NULL;
    int status = read_object(folder, "model_index.json", &index);
    if (status != RT_OK)
        return status;
    const char *denoiser =
        is_file(folder, "unet/config.json") ? "unet/config.json" : "transformer/config.json";
    const char *class_name = json_string_value(json_object_get(index, "_class_name"));
    status = read_object(folder, denoiser, &config);
    if (status == RT_OK) {
        *out =
            find(class_name != NULL ? class_name : "", config, is_file(folder, "transformer_2/config.json"));
        if (*out == NULL) {
            char *known = classes();
            status = rt_fail(
                RT_EFORMAT,
                "%s: \"_class_name\" %.60s with the sizes of %s is no pipeline that is known here; known "
                "are %s, at their published sizes",
                folder, class_name != NULL ? class_name : "is missing, which", denoiser, known);
            free(known);
        }
    }
    json_decref(index);
    json_decref(config);
    return status;
}
