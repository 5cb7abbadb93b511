/* `rooftile calibrate`: fits a predictor to a GPU of which a little is measured. */
#include "base/options.h"
#include "base/outputs.h"
#include "base/report_files.h"
#include "base/status.h"
#include "datasets/dataset_input.h"
#include "train/calibrate/calibrate.h"
#include "train/calibrate/energy.h"
#include "predict/evaluate/evaluate.h"

#include <stdlib.h>
#include <string.h>

struct arguments {
    const char *predictor, *gpu, *output;
    struct rt_names data, reports;
    struct rt_calibrate_options options;
    enum { TARGET_LATENCY, TARGET_ENERGY, TARGETS } target;
    bool overwrite, json;
};

static const char *const targets[TARGETS] = {"latency", "energy"};

static const char *const sources[] = {"either", "kernels", "models", "both",
                                      "runs"}; /* enum rt_calibrate_from */

/* "NAME,NAME": an empty name is part of every name. */
static int check_without(const char *option, const char *text)
{
    size_t length = strlen(text);
    if (length > 0 && text[0] != ',' && text[length - 1] != ',' && strstr(text, ",,") == NULL)
        return RT_OK;
    return rt_fail(RT_EUSAGE, "%s %s: has an empty name; name models, NAME or NAME,NAME", option, text);
}

#define FIELD(reader, member, ...) reader(struct arguments, options.member, __VA_ARGS__)

static const struct rt_option calibrate_options[] = {
    {"predictor", 'p', "P.h5",
     RT_TEXT(struct arguments, predictor,
             .required =
                 "say what to calibrate: --predictor P.h5 (`rooftile train --predictor rooftile` makes one)",
             .reads = rt_predictor_reads, .suggests = rt_predictor_suggest),
     "The predictor; it is left as it is"},
    {"gpu", 0, "NAME", RT_TEXT(struct arguments, gpu, .suggests = rt_device_suggest),
     "The device of the data, or words in its name; needed but for --population and --from runs"},
    {"output", 'o', "P2.h5",
     RT_TEXT(struct arguments, output, .required = "say where the calibrated predictor goes: -o P2.h5",
             .writes = &rt_predictor_kind),
     "Where the calibrated predictor goes"},
    {"from", 0, "WHAT", FIELD(RT_CHOICE, from, sources),
     "kernels; models: runs of whole models; both; either: kernels where the data has some of the GPU, else "
     "models. runs: of LLM servers, RUNS.csv as `evaluate --serving` reads them, whose error is carried to "
     "other GPUs, models and cuts of their server, architecture and dtype by simulate and plan"},
    {"kernels", 0, "N", FIELD(RT_INTEGER, kernels, RT_CALIBRATE_LEAST, RT_CALIBRATE_MOST),
     "Kernels of each family and dtype, 5 or more; the others are a check"},
    {"runs", 0, "N", FIELD(RT_INTEGER, runs, 1, RT_CALIBRATE_MOST),
     "Runs of models (default: all); the others are a check"},
    {"without-model", 0, "NAME", RT_ITEMS(struct arguments, options.without, .check = check_without),
     "Runs of this model, or those of a pattern ('gpt3*'), are a check, too; several with commas between"},
    {"split", 0, "PART", RT_OWN(struct arguments, options.part, rt_part_read),
     "Kernels of train, test, validation or all of the data (default train)"},
    {"keep-all", 0, NULL, RT_FLAG(struct arguments, options.keep_all),
     "Use kernels that look throttled, too"},
    {"effects-only", 0, NULL, RT_FLAG(struct arguments, options.effects_only),
     "Fit device effects and dispatch overhead, and no residual correction"},
    {"target", 't', "WHAT", RT_CHOICE(struct arguments, target, targets),
     "latency, or energy: what is known of the GPU's power, by runs and kernels with measured power"},
    {"population", 0, NULL, RT_FLAG(struct arguments, options.population),
     "--target energy: fit what GPUs have in common again, too, by all devices of the data"},
    {"seed", 's', "N", FIELD(RT_INTEGER, seed, 0, INT64_MAX), "Seed of the selection of kernels or runs"},
    RT_REPORT_OPTION(struct arguments, reports),
    {"overwrite", 0, NULL, RT_FLAG(struct arguments, overwrite),
     "Replace a predictor that is there already (a predictor, nothing else), and reports (texts)"},
    {"json", 0, NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"},
};

static void set_defaults(void *value)
{
    ((struct arguments *)value)->options =
        (struct rt_calibrate_options){.kernels = 30, .seed = 1, .part = RT_PART_TRAIN};
}

/* --- the device --- */

/* The device of that name, or the only one with those words in its name. */
static int find_device(const struct rt_dataset *dataset, const char *name, int32_t *device)
{
    bool *found = rt_calloc(dataset->device_count + 1, sizeof *found);
    size_t count = rt_devices_named(dataset, name, found, NULL);
    char *names = rt_devices_list(dataset, count == 0 ? NULL : found);
    int status = RT_OK;
    if (count == 0)
        status = rt_fail(RT_ENOTFOUND,
                         "--gpu %s: no device of the data has that name, or those words in it; it has %s",
                         name, names);
    else if (count > 1)
        status = rt_fail(RT_EUSAGE, "--gpu %s: is part of several names: %s; name one", name, names);
    for (size_t d = 0; d < dataset->device_count; d++)
        if (found[d])
            *device = (int32_t)d;
    free(names);
    free(found);
    return status;
}

/* --- work --- */

/* The uuids of all files on one line, for the predictor's list of calibrated devices. */
static void put_uuids_on_a_line(struct rt_dataset *dataset)
{
    for (char *at = dataset->uuid; (at = strchr(at, '\n')) != NULL;)
        *at = ',';
}

static const char *data_name(const struct arguments *arguments)
{
    return arguments->data.count == 1 ? arguments->data.name[0] : "the data";
}

/* What was read and written. */
static void add_provenance(const struct arguments *arguments, const struct rt_dataset *dataset,
                           struct rt_report *report)
{
    json_t *data = json_array();
    for (size_t i = 0; i < arguments->data.count; i++)
        json_array_append_new(data, rt_json_text(arguments->data.name[i]));
    rt_report_add_text(report, "predictor", NULL, arguments->predictor);
    rt_report_add_text(report, "output", NULL, arguments->output);
    rt_report_add_json(report, "data", data);
    rt_report_add_text(report, "data_uuid", NULL, dataset->uuid);
    rt_report_add_json(report, "seed", json_integer((json_int_t)arguments->options.seed));
    rt_report_add_note(report, NULL, "%s is written", arguments->output);
}

static int print(const struct arguments *arguments, const struct rt_dataset *dataset, const char *name,
                 const struct rt_calibration *calibration)
{
    struct rt_report *report = rt_report_new();
    rt_calibration_report(calibration, dataset, name, report);
    add_provenance(arguments, dataset, report);
    if (calibration->from_kernels)
        rt_report_add_text(report, "split", NULL, rt_part_name(arguments->options.part));
    return rt_report_end_with(report, arguments->json, &arguments->reports);
}

static int calibrate(const struct arguments *arguments, struct rt_predictor *predictor,
                     const struct rt_dataset *dataset, int32_t device)
{
    struct rt_calibration calibration;
    int status = rt_calibrate(predictor, dataset, device, &arguments->options, &calibration);
    if (status != RT_OK)
        return rt_fail_context(status, "%s",
                               status == RT_EUSAGE ? arguments->predictor : data_name(arguments));
    status = rt_predictor_save(predictor, arguments->output);
    if (status == RT_OK)
        status = print(arguments, dataset, data_name(arguments), &calibration);
    rt_calibration_release(&calibration);
    return status;
}

static int print_energy(const struct arguments *arguments, const struct rt_predictor *predictor,
                        const struct rt_dataset *dataset, const struct rt_energy_calibration *calibration)
{
    struct rt_report *report = rt_report_new();
    rt_energy_calibration_report(calibration, predictor, dataset, data_name(arguments), report);
    add_provenance(arguments, dataset, report);
    return rt_report_end_with(report, arguments->json, &arguments->reports);
}

static int calibrate_energy(const struct arguments *arguments, struct rt_predictor *predictor,
                            const struct rt_dataset *dataset, int32_t device)
{
    struct rt_energy_calibration calibration;
    int status = rt_calibrate_energy(predictor, dataset, device, &arguments->options, &calibration);
    if (status != RT_OK)
        return rt_fail_context(status, "%s", data_name(arguments));
    status = rt_predictor_save(predictor, arguments->output);
    if (status == RT_OK)
        status = print_energy(arguments, predictor, dataset, &calibration);
    rt_energy_calibration_release(&calibration);
    return status;
}

static int fit(const struct arguments *arguments, struct rt_predictor *predictor,
               const struct rt_dataset *dataset)
{
    int32_t device = -1;
    int status = arguments->options.population ? RT_OK : find_device(dataset, arguments->gpu, &device);
    if (status != RT_OK)
        return status;
    return (arguments->target == TARGET_ENERGY ? calibrate_energy : calibrate)(arguments, predictor, dataset,
                                                                               device);
}

static int calibrate_to_servers(const struct arguments *arguments, struct rt_predictor *predictor)
{
    struct rt_report *report = rt_report_new();
    int status = rt_calibrate_to_servers(predictor, &arguments->data, arguments->gpu, report);
    if (status == RT_OK)
        status = rt_predictor_save(predictor, arguments->output);
    if (status != RT_OK) {
        rt_report_free(report);
        return status;
    }
    rt_report_add_text(report, "predictor", NULL, arguments->predictor);
    rt_report_add_text(report, "output", NULL, arguments->output);
    rt_report_add_note(report, NULL, "%s is written", arguments->output);
    return rt_report_end_with(report, arguments->json, &arguments->reports);
}

/* Runs of servers are all fitted to. */
static int check_servers(const struct rt_command_line *line)
{
    static const char *const of_others[] = {"kernels",      "runs",   "without-model", "split", "keep-all",
                                            "effects-only", "target", "population",    "seed",  NULL};
    const char *option = rt_given_of(line, of_others);
    return option == NULL
               ? RT_OK
               : rt_fail(RT_EUSAGE, "--%s is not for --from runs, which takes all runs of its files", option);
}

/* What belongs to one target is not given with the other. */
static int check_target(const struct rt_command_line *line)
{
    static const char *const of_latency[] = {"split", "keep-all", "effects-only", NULL};
    const struct arguments *arguments = line->options;
    const char *option = rt_given_of(line, of_latency);
    if (arguments->options.from == RT_FROM_RUNS)
        return check_servers(line);
    if (arguments->target == TARGET_ENERGY && option != NULL)
        return rt_fail(RT_EUSAGE, "--%s is about the time of kernels; leave it out with --target energy",
                       option);
    if (arguments->target != TARGET_ENERGY && arguments->options.population)
        return rt_fail(RT_EUSAGE, "--population is about energy: give --target energy with it");
    if (arguments->options.population && arguments->gpu != NULL)
        return rt_fail(RT_EUSAGE, "--population is fitted to all devices of the data; leave out --gpu");
    if (!arguments->options.population && arguments->gpu == NULL)
        return rt_fail(RT_EUSAGE, "say which device of the data: --gpu NAME");
    return RT_OK;
}

static int run(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    const struct rt_calibrate_options *options = &arguments->options;
    struct rt_predictor predictor;
    struct rt_dataset_input input;
    if (options->without.count > 0 && options->from != RT_FROM_MODELS && options->from != RT_FROM_BOTH)
        return rt_fail(
            RT_EUSAGE,
            "--without-model says which runs are not fitted to: give --from models or --from both with it");
    int status = check_target(line);
    if (status == RT_OK)
        status = rt_outputs_check(line);
    if (status == RT_OK)
        status = rt_predictor_open(arguments->predictor, &predictor);
    if (status != RT_OK)
        return status;
    if (options->from == RT_FROM_RUNS) {
        status = calibrate_to_servers(arguments, &predictor);
        rt_predictor_release(&predictor);
        return status;
    }
    status = rt_dataset_input_read(&arguments->data, &input);
    if (status == RT_OK) {
        if (!options->population)
            put_uuids_on_a_line(&input.dataset);
        status = fit(arguments, &predictor, &input.dataset);
    }
    rt_dataset_input_release(&input);
    rt_predictor_release(&predictor);
    return status;
}

const struct rt_command rt_command_calibrate = {
    .name = "calibrate",
    .brief = "fit a predictor to a GPU from a few of its kernels",
    .operands_usage = "DATA.h5...",
    .about = "Fits what a predictor knows of one GPU, its device effects, to a few of its kernels or to runs "
             "of whole models, and writes the calibrated predictor.",
    .details =
        "Networks stay as they are. Outliers do not move the fit, and what the kernels do not determine "
        "stays at the prior. The file keeps which kernels or runs it was fitted to, and `rooftile evaluate` "
        "does not judge by them.\n\n"
        "Where kernels of the GPU are known (in training or by calibration), runs fit how much slower or "
        "faster kernels are in a queue: forecasts of models move, those of kernels alone do not. Of any "
        "other GPU they move both.\n\n"
        "Example: a GPU that nobody measured but you, in ten minutes:\n"
        "  rooftile collect --plan calibrate -o mine.h5\n"
        "  rooftile calibrate -p predictor.h5 mine.h5 --gpu NAME -o predictor-mine.h5\n\n"
        "Example: and with whole models that you ran there, but for the one to judge by:\n"
        "  rooftile calibrate -p predictor.h5 mine.h5 runs.h5 --gpu NAME \\\n"
        "    --from both --without-model 'gpt3*' -o mine.p.h5\n"
        "  rooftile evaluate -p mine.p.h5 --workloads runs.h5 --model 'gpt3*'\n\n"
        "Runs of LLM servers (--from runs): one run of the GPU, or several of others, say what a server "
        "adds:\n"
        "  rooftile calibrate -p pretrained --from runs RUNS.csv -o mine.p.h5\n"
        "  rooftile simulate -p mine.p.h5 --gpu B200 -m llama-3.1-70b --isl 1024 --osl 1024 -c 64\n\n"
        "Energy (--target energy): scales of what the GPU's units, memory and rest draw, by the measured "
        "power of runs or kernels that ran at the board's own limit; a run or two do. Times stay.\n"
        "  rooftile calibrate -p pretrained --target energy runs.h5 --gpu NAME -o mine.p.h5",
    RT_RUNS(run, struct arguments, calibrate_options),
    .operands = RT_OPERANDS(struct arguments, data, 1, RT_MANY,
                            "at least one dataset, DATA.h5, that has measurements of the GPU",
                            .reads = rt_reads_path),
    .set_defaults = set_defaults,
    .in_library = true,
};
