/* `rooftile evaluate --workloads`: how far forecasts of whole models are from measurements. */
#include "base/status.h"
#include "predict/evaluate/cmd_evaluate.h"
#include "predict/evaluate/report.h"

#include <stdio.h>
#include <sys/stat.h>

static int check_folder(const char *graphs)
{
    struct stat file;
    if (graphs != NULL && (stat(graphs, &file) != 0 || !S_ISDIR(file.st_mode)))
        return rt_fail(RT_EIO,
                       "--graphs %s: is no folder; name one with operator graphs such as "
                       "gpt2_large-inf-1024-4.csv",
                       graphs);
    return RT_OK;
}

/* Every --model is in the name of some model of the data. */
static int check_models(const struct rt_names *models, const struct rt_dataset *dataset)
{
    for (size_t i = 0; i < models->count; i++) {
        bool found = false;
        for (size_t w = 0; !found && w < dataset->workload_count; w++)
            found = rt_name_contains(rt_strings_get(&dataset->texts, dataset->workloads[w].model),
                                     models->name[i]);
        if (!found && dataset->workload_count > 0)
            return rt_fail(RT_ENOTFOUND,
                           "--model %s: no workload of the data is of a model with that in its name; it has "
                           "%s, for one; `rooftile dataset info` lists them",
                           models->name[i], rt_strings_get(&dataset->texts, dataset->workloads[0].model));
    }
    return RT_OK;
}

static int write_reports(const struct rt_evaluate_arguments *arguments,
                         const struct rt_workload_evaluation *evaluation)
{
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < arguments->reports.count; i++)
        status = rt_report_write_workloads(evaluation, arguments->reports.name[i]);
    if (status == RT_OK)
        status =
            arguments->json ? rt_workloads_json(evaluation, stdout) : rt_workloads_text(evaluation, stdout);
    return status;
}

int rt_evaluate_workloads_command(const struct rt_evaluate_arguments *arguments,
                                  const struct rt_candidate *candidates, size_t count)
{
    struct rt_evaluate_input input;
    struct rt_workload_evaluation evaluation;
    int status = rt_evaluate_input_read(arguments, &input);
    if (status == RT_OK)
        status = check_folder(arguments->graphs);
    if (status == RT_OK)
        status = check_models(&arguments->models, &input.dataset);
    struct rt_workload_options options = {.devices = input.devices,
                                          .models = &arguments->models,
                                          .compare = arguments->compare,
                                          .graphs = arguments->graphs,
                                          .fallback = arguments->fallback,
                                          .files = input.files,
                                          .file_count = input.file_count,
                                          .duplicates = input.duplicates};
    if (status == RT_OK)
        status = rt_evaluate_workloads(&input.dataset, candidates, count, &options, &evaluation);
    if (status == RT_OK) {
        status = write_reports(arguments, &evaluation);
        rt_workload_evaluation_release(&evaluation);
    }
    rt_evaluate_input_release(&input);
    return status;
}
