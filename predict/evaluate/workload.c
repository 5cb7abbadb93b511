/* Names, options and graphs of measured runs. See workload.h. */
#include "predict/evaluate/workload.h"
#include "base/status.h"
#include "datasets/fields.h"
#include "models/graph/import/import.h"
#include "models/graph/model.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const rt_workload_kinds[RT_KIND_COUNT] = {"inference", "training", "fusion", "distributed"};

/* --- names, options, kinds --- */

/* Takes `word` and a number of 1..65536 off the front of *at. */
static bool take(const char **at, const char *word, int64_t *number)
{
    size_t length = strlen(word), digits = 0;
    if (strncmp(*at, word, length) != 0)
        return false;
    while (isdigit((unsigned char)(*at)[length + digits]))
        digits++;
    if (digits == 0 || rt_parse_integer(*at + length, digits, number) != 0 || *number < 1 || *number > 65536)
        return false;
    *at += length + digits;
    return true;
}

static bool take_part(const char **at, struct rt_workload_split *split)
{
    if (strncmp(*at, "kernels", 7) == 0) { /* no framework: rooftile collect --model */
        *at += 7;
        return true;
    }
    if (strncmp(*at, "fusion", 6) == 0) {
        *at += 6;
        split->fusion = true;
        return true;
    }
    return take(at, "dp", &split->data) || take(at, "tp", &split->tensor) ||
           (take(at, "pp", &split->pipeline) && take(at, "_", &split->microbatches));
}

bool rt_workload_option(const char *option, struct rt_workload_split *out)
{
    struct rt_workload_split split = {.data = 1, .tensor = 1, .pipeline = 1, .microbatches = 1};
    for (const char *at = option; *at != '\0';) {
        if (!take_part(&at, &split) || (*at != '\0' && (*at++ != '-' || *at == '\0')))
            return false;
    }
    *out = split;
    return true;
}

static bool is_split(const struct rt_workload_split *split)
{
    return split->data * split->tensor * split->pipeline > 1;
}

enum rt_workload_kind rt_workload_kind_of(const struct rt_workload *workload,
                                          const struct rt_workload_split *split)
{
    if (is_split(split))
        return RT_KIND_DISTRIBUTED;
    if (split->fusion)
        return RT_KIND_FUSION;
    return workload->mode == RT_TRAINING ? RT_KIND_TRAINING : RT_KIND_INFERENCE;
}

double rt_workload_floor_us(const struct rt_workload *workload)
{
    return workload->kernels_forward_us + (workload->mode == RT_TRAINING ? workload->kernels_backward_us : 0);
}

struct rt_workload_name rt_workload_name(const struct rt_dataset *dataset, const struct rt_workload *workload)
{
    return (struct rt_workload_name){.device = dataset->devices[workload->device].name,
                                     .model = rt_strings_get(&dataset->texts, workload->model),
                                     .option = rt_strings_get(&dataset->texts, workload->option)};
}

char *rt_workload_title(const struct rt_workload *workload, const struct rt_workload_name *name)
{
    return rt_format("%s-%s-%" PRId64 "-%" PRId64 "%s%s", name->model,
                     workload->mode == RT_TRAINING ? "train" : "inf", workload->sequence, workload->batch,
                     name->option[0] != '\0' ? "-" : "", name->option);
}

/* --- graphs --- */

static int check(const struct rt_workload *workload, const struct rt_workload_name *name,
                 struct rt_workload_split *split)
{
    if (workload->flags & RT_FLAG_FAILED)
        return rt_fail(RT_EFORMAT, "its measurement failed");
    if (workload->flags & RT_FLAG_PARTIAL)
        return rt_fail(RT_EFORMAT, "some of its kernels could not run");
    if (!rt_time_is_possible(workload->end_to_end_us))
        return rt_fail(RT_EFORMAT, "it has no measured time above 0 that a clock can give");
    if (workload->batch < 1 || workload->sequence < 1)
        return rt_fail(RT_EFORMAT, "its batch or sequence is missing");
    for (size_t f = 0; f < rt_workload_field_count; f++)
        if (!rt_field_is_possible(&rt_workload_fields[f], workload))
            return rt_fail(RT_EFORMAT, "its %s of %.9g is impossible", rt_workload_fields[f].name,
                           rt_field_real(&rt_workload_fields[f], workload));
    if (!rt_workload_option(name->option, split))
        return rt_fail(RT_EFORMAT,
                       "option \"%s\" is unknown; known are fusion, dpN, tpN and ppN_M (N GPUs, M "
                       "microbatches)",
                       name->option);
    return RT_OK;
}

static int64_t layers_of(const struct rt_workload *workload, const struct rt_model *model)
{
    return workload->layers >= 1 ? workload->layers : model->layers;
}

static int build(const struct rt_workload *workload, const struct rt_workload_split *split,
                 const struct rt_model *model, struct rt_graph *graph)
{
    struct rt_model run = *model; /* as many layers as it was run with; encoder-decoders have two counts */
    int64_t parts = split->data * split->microbatches;
    if (workload->batch % parts != 0)
        return rt_fail(RT_EUSAGE, "a batch of %" PRId64 " cannot be divided into %" PRId64 " parts",
                       workload->batch, parts);
    if (model->decoder_layers == 0)
        run.layers = layers_of(workload, model);
    struct rt_graph_options options = {.step =
                                           workload->mode == RT_TRAINING ? RT_STEP_TRAINING : RT_STEP_PREFILL,
                                       .batch = workload->batch / parts,
                                       .sequence = workload->sequence,
                                       .context = workload->sequence,
                                       .tensor_parallel = split->tensor,
                                       .dtype = (enum rt_dtype)workload->dtype,
                                       .fusion = split->fusion};
    return rt_graph_build(&run, &options, graph);
}

/* "FOLDER/TITLE.csv" where there is such a file, else NULL. Free with free(). */
static char *graph_file(const char *folder, const struct rt_workload *workload,
                        const struct rt_workload_name *name)
{
    struct stat file;
    char *title = rt_workload_title(workload, name), *path = rt_format("%s/%s.csv", folder, title);
    free(title);
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode))
        return path;
    free(path);
    return NULL;
}

int rt_workload_graph_in(const char *folder, const struct rt_workload_name *name,
                         const struct rt_workload *workload, struct rt_workload_split *split,
                         struct rt_graph *graph, bool *read)
{
    struct rt_model model;
    int status = check(workload, name, split);
    if (status == RT_OK && (status = rt_model_named(name->model, &model)) == RT_ENOTFOUND)
        status = RT_EFORMAT; /* an unknown model is about this run only */
    if (status != RT_OK)
        return status;
    char *path = folder != NULL && !is_split(split) ? graph_file(folder, workload, name) : NULL;
    *read = path != NULL;
    if (path == NULL)
        return build(workload, split, &model, graph);
    struct rt_model_source source;
    struct rt_graph_options options = {.dtype = (enum rt_dtype)workload->dtype};
    if ((status = rt_model_source_find(path, &source)) == RT_OK)
        status = rt_model_source_graph(&source, &options, layers_of(workload, &model), graph);
    free(path);
    return status == RT_OK ? RT_OK : RT_EIO; /* a file that was asked for: not about this run only */
}

int rt_workload_graph(const struct rt_dataset *dataset, const struct rt_workload *workload,
                      struct rt_workload_split *split, struct rt_graph *graph)
{
    struct rt_workload_name name = rt_workload_name(dataset, workload);
    bool read;
    return rt_workload_graph_in(NULL, &name, workload, split, graph, &read);
}
