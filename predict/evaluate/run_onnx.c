/* Runs of models that are ONNX files. See run_steps.h. */
#include "predict/evaluate/run_steps.h"
#include "base/status.h"
#include "models/networks/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *rt_run_onnx_file(const char *folder, const char *model)
{
    struct stat file;
    if (strchr(model, '/') != NULL) /* a name that leads out of the folder */
        return NULL;
    char *path = rt_format("%s/%s%s", folder, model, rt_model_is_onnx(model) ? "" : ".onnx");
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode))
        return path;
    free(path);
    return NULL;
}

/* What a run may say that a graph of one step and dtype cannot hold. */
static int check_run(const struct rt_workload *workload, const struct rt_run_attributes *a,
                     enum rt_runtime_id runtime)
{
    if (workload->mode != RT_INFERENCE && workload->mode != RT_TRAINING)
        return rt_fail(RT_EFORMAT, "an ONNX model is of one step, so only inference and training of it are "
                                   "forecast");
    if (rt_runtimes[runtime].served)
        return rt_fail(RT_EFORMAT, "LLM servers do not run ONNX models; leave its attribute runtime out");
    if (a->quant >= 0 || a->lengths != NULL || a->contexts != NULL)
        return rt_fail(RT_EFORMAT, "it has an attribute %s, which is not forecast of ONNX models",
                       a->quant >= 0        ? "quant"
                       : a->lengths != NULL ? "lengths"
                                            : "contexts");
    return RT_OK;
}

static bool is_first_of_model(const struct rt_dataset *dataset, const struct rt_workload *workload)
{
    for (const struct rt_workload *other = dataset->workloads; other < workload; other++)
        if (other->model == workload->model)
            return false;
    return true;
}

int rt_run_onnx_graph(const char *path, const struct rt_dataset *dataset, const struct rt_workload *workload,
                      const struct rt_run_attributes *attributes, struct rt_graph_options options,
                      struct rt_graph *out)
{
    struct rt_model_source source;
    if (attributes->runtime == NULL)
        options.runtime = RT_RUNTIME_EAGER;
    options.sequence = workload->sequence;
    options.image = 0;
    int status = check_run(workload, attributes, options.runtime);
    if (status == RT_OK)
        status = rt_model_source_find(path, &source);
    if (status != RT_OK)
        return status;
    source.batch_asked = true;
    source.sequence_asked = workload->sequence >= 1;
    source.quiet = !is_first_of_model(dataset, workload);
    status = rt_model_source_graph(&source, &options, 0, out);
    if (status == RT_OK && attributes->image >= 0 && attributes->image != out->options.image) {
        status = rt_fail(RT_EFORMAT, "its images have a side of %" PRId64 ", those of %s %" PRId64,
                         attributes->image, path, out->options.image);
        rt_graph_release(out);
    }
    return status;
}
