/* `rooftile compare`: two datasets, predictors or GPUs beside each other. */
#include "base/h5.h"
#include "base/report_files.h"
#include "base/status.h"
#include "models/networks/step_options.h"
#include "predict/evaluate/compare.h"

#include <stdlib.h>
#include <string.h>

struct arguments {
    struct rt_names names, models, gpus, reports;
    const char *predictor;
    bool overwrite, json;
};

/* What A and B are. */
enum kind { DATASET, PREDICTOR, DEVICE };
static const char *const words[] = {"a dataset", "a predictor", "a GPU"};

static const struct rt_option options[] = {
    {"predictor", 'p', "P.h5",
     RT_TEXT(struct arguments, predictor, .reads = rt_predictor_reads, .suggests = rt_predictor_suggest),
     "Of GPUs: what forecasts the steps on both, a predictor file, pretrained or roofline (default "
     "pretrained)"},
    {"model", 'm', "NAME",
     RT_ITEMS(struct arguments, models, .specs = true, .reads = rt_model_reads, .suggests = rt_model_suggest),
     "Of GPUs and predictors: the models whose steps are forecast (default: eight steps of five models)"},
    {"gpu", 0, "NAME",
     RT_ITEMS(struct arguments, gpus, .specs = true, .reads = rt_device_reads, .suggests = rt_device_suggest),
     "Of predictors: the GPUs that both forecast (default: those that both were fitted to)"},
    RT_REPORT_OPTION(struct arguments, reports),
    RT_REPORT_OVERWRITE(struct arguments, overwrite),
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"},
};

/* `unknown`: of a file that cannot be read. */
static enum kind kind_of(const char *name, enum kind unknown)
{
    char *format = rt_h5_format(name);
    bool predictor = strcmp(name, "pretrained") == 0 || strcmp(name, "roofline") == 0 ||
                     (format != NULL && strcmp(format, RT_PREDICTOR_FORMAT) == 0);
    bool dataset = format != NULL && strcmp(format, RT_DATASET_FORMAT) == 0;
    bool file = format == NULL && strlen(name) > 3 && strcmp(name + strlen(name) - 3, ".h5") == 0;
    free(format);
    return predictor ? PREDICTOR : dataset ? DATASET : file ? unknown : DEVICE;
}

static int compare_datasets(const struct arguments *arguments, struct rt_report *report)
{
    struct rt_dataset sides[2];
    int status = rt_dataset_read(arguments->names.name[0], &sides[0]);
    if (status != RT_OK)
        return status;
    status = rt_dataset_read(arguments->names.name[1], &sides[1]);
    if (status == RT_OK) {
        status = rt_compare_datasets(sides, report);
        rt_dataset_release(&sides[1]);
    }
    rt_dataset_release(&sides[0]);
    return status;
}

static int compare_predictors(const struct arguments *arguments, struct rt_report *report)
{
    struct rt_predictor sides[2];
    int status = rt_predictor_open(arguments->names.name[0], &sides[0]);
    if (status != RT_OK)
        return status;
    status = rt_predictor_open(arguments->names.name[1], &sides[1]);
    if (status == RT_OK) {
        status = rt_compare_predictors(sides, &arguments->gpus, &arguments->models, report);
        rt_predictor_release(&sides[1]);
    }
    rt_predictor_release(&sides[0]);
    return status;
}

static int compare_devices(const struct arguments *arguments, struct rt_report *report)
{
    struct rt_device sides[2];
    struct rt_predictor predictor;
    int status = RT_OK;
    for (int s = 0; status == RT_OK && s < 2; s++)
        status = rt_device_find(arguments->names.name[s], &sides[s]);
    if (status == RT_OK)
        status =
            rt_predictor_open(arguments->predictor != NULL ? arguments->predictor : "pretrained", &predictor);
    if (status != RT_OK)
        return status;
    status = rt_compare_devices(sides, &predictor, &arguments->models, report);
    rt_predictor_release(&predictor);
    return status;
}

/* Options that say nothing of this kind. */
static int check(const struct arguments *arguments, enum kind a, enum kind b)
{
    if (a != b)
        return rt_fail(RT_EUSAGE, "%s is %s and %s is %s: name two of a kind", arguments->names.name[0],
                       words[a], arguments->names.name[1], words[b]);
    if (arguments->predictor != NULL && a != DEVICE)
        return rt_fail(RT_EUSAGE, "--predictor is for two GPUs, A and B are each %s: leave it out", words[a]);
    if (arguments->gpus.count > 0 && a != PREDICTOR)
        return rt_fail(RT_EUSAGE, "--gpu is for two predictors, A and B are each %s: leave it out", words[a]);
    if (arguments->models.count > 0 && a == DATASET)
        return rt_fail(RT_EUSAGE,
                       "--model is for GPUs and predictors; datasets are compared in all that both measured");
    return RT_OK;
}

static int run(const struct rt_command_line *line)
{
    static int (*const compare[])(const struct arguments *, struct rt_report *) = {
        [DATASET] = compare_datasets, [PREDICTOR] = compare_predictors, [DEVICE] = compare_devices};
    const struct arguments *arguments = line->options;
    const char *a = arguments->names.name[0], *b = arguments->names.name[1];
    enum kind kind = kind_of(a, kind_of(b, DATASET));
    int status = check(arguments, kind, kind_of(b, kind));
    if (status == RT_OK)
        status = rt_outputs_check(line);
    if (status != RT_OK)
        return status;
    struct rt_report *report = rt_report_new();
    rt_report_add_title(report, "A: %s, B: %s", a, b);
    rt_report_add_json(report, "a", rt_json_text(a));
    rt_report_add_json(report, "b", rt_json_text(b));
    rt_report_add_json(report, "kind", json_string(strchr(words[kind], ' ') + 1));
    status = compare[kind](arguments, report);
    if (status == RT_OK)
        return rt_report_end_with(report, arguments->json, &arguments->reports);
    rt_report_free(report);
    return status;
}

const struct rt_command rt_command_compare = {
    .name = "compare",
    .also = "diff versus",
    .brief = "two datasets, predictors or GPUs beside each other",
    .operands_usage = "A B",
    .about =
        "Says what changed from A to B and by how much: what is in one alone (devices, drivers, libraries, "
        "families), and how long what both have takes in B as a share of A, by family and dtype.",
    .details = "Datasets: kernels and runs that both measured on the same device, or on the one of each. "
               "Predictors and GPUs: the kernels of a few models' steps, forecast.\n\n"
               "Example: two drivers, two GPUs, two predictors\n"
               "  rooftile compare driver-550.h5 driver-570.h5\n"
               "  rooftile compare H100 B200\n"
               "  rooftile compare pretrained mine.p.h5 --gpu H100",
    RT_RUNS(run, struct arguments, options),
    .in_library = true,
    .operands = RT_OPERANDS(struct arguments, names, 2, 2, "two datasets, predictors or GPUs", .once = false),
};
