/* `rooftile explore`: models on hardware that isn't. */
#include "base/options.h"
#include "base/report_files.h"
#include "base/point_journal.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/target.h"
#include "models/networks/source.h"
#include "models/networks/step_options.h"
#include "predict/search/explore/objectives.h"

#include <math.h>
#include <stdlib.h>

struct arguments {
    const char *predictor, *gpu;
    struct rt_names models, reports;
    struct rt_space space;
    int64_t sample, seed;
    struct rt_formula formulas[RT_PRICED_COUNT];
    struct rt_step step;
    struct rt_forecast_options how;
    const char *host_spec;
    struct rt_host host;
    const char *h5, *csv, *picture;
    int64_t threads;
    struct rt_shard shard;
    bool overwrite, json, quiet;
};

static int read_space(const char *option, const char *text, void *value)
{
    return rt_space_read(option, text, value);
}

static int read_formula(const char *option, const char *text, void *value)
{
    return rt_formula_read(option, text, value);
}

static const struct rt_option options[] = {
    {"gpu", 0, "NAME",
     RT_TEXT(struct arguments, gpu,
             .required = "say which GPU the others are like: --gpu NAME (`rooftile devices` lists them)",
             .reads = rt_device_reads, .suggests = rt_device_suggest),
     "The GPU that the points are like: of the catalogue or a device file, with overrides as in `predict`"},
    {"vary", 0, "FIELD=LOW:HIGH:STEP,...", RT_OWN(struct arguments, space, read_space),
     "Fields of it that vary, all combinations; several options add up. More SMs and a higher clock bring "
     "their share of the peaks"},
    {"sample", 0, "N", RT_INTEGER(struct arguments, sample, 1, RT_MOST_POINTS),
     "N points of a Latin hypercube instead of the grid; steps may then be left out"},
    {"seed", 0, "N", RT_INTEGER(struct arguments, seed, 0, INT64_MAX), "Seed of --sample"},
    {"model", 'm', "NAME",
     RT_LIST(struct arguments, models,
             .required =
                 "say which model: --model NAME (`rooftile graph --list` lists them) or a config.json",
             .reads = rt_model_reads, .suggests = rt_model_suggest),
     "A model of the zoo, a config.json, an operator graph or an ONNX model; of several the geometric mean "
     "of their times counts"},
    {"energy", 0, NULL, RT_FLAG(struct arguments, how.energy),
     "Joules of a step are an objective beside time: the front is over both"},
    {"cost", 0, "FORMULA", RT_OWN(struct arguments, formulas[RT_PRICED_COST], read_formula),
     "What a point costs, over its fields: \"0.2*sms+0.01*bandwidth_gbs\"; + - * / ^ ( ) sqrt log exp min "
     "max"},
    {"area", 0, "FORMULA", RT_OWN(struct arguments, formulas[RT_PRICED_AREA], read_formula),
     "What area it takes, likewise"},
    RT_PREDICTOR_OPTION(struct arguments, predictor),
    RT_HEADING("The step:"),
    {"batch", 'b', "N", RT_INTEGER(struct arguments, step.batch, 1, INT32_MAX),
     "Sequences or images of a step, over all GPUs"},
    {"seq", 's', "N", RT_INTEGER(struct arguments, step.sequence, 1, INT32_MAX),
     "Tokens of a sequence (default: the model's positions, at most 1024)"},
    {"image", 0, "N[xW]", RT_OWN(struct arguments, step.image, rt_read_image),
     "Models of images: their side in pixels (default: the model's own)"},
    {"context", 0, "N", RT_INTEGER(struct arguments, step.context, 1, INT32_MAX),
     "decode: tokens cached already (default: as --seq)"},
    RT_STEP_OPTIONS(struct arguments, step),
    {"host", 0, "NAME",
     RT_TEXT(struct arguments, host_spec, .reads = rt_host_reads, .suggests = rt_host_suggest),
     "What launches and copies, as in `predict`"},
    {"host-us", 0, "X", RT_NUMBER(struct arguments, how.host_us, 0, 1e4),
     "What it takes to launch any kernel, in us; 0: it is never in the way (default: as --host has it)"},
    {"fallback", 0, NULL, RT_FLAG(struct arguments, how.fallback),
     "Take the roofline where the predictor has no network for an op"},
    RT_HEADING("Several GPUs:"),
    {"dp", 0, "N", RT_INTEGER(struct arguments, step.parallel.data, 1, 65536),
     "Data parallel: N parts of the batch"},
    RT_STEP_GPU_OPTIONS(struct arguments, step),
    RT_HEADING("Output:"),
    {"output", 'o', "POINTS.h5", RT_TEXT(struct arguments, h5, .writes = &rt_points_h5_kind),
     "All points as HDF5"},
    {"csv", 0, "POINTS.csv",
     RT_TEXT(struct arguments, csv, .check = rt_output_check_csv, .writes = &rt_points_csv_kind),
     "All points as CSV"},
    {"picture", 0, "FRONT.svg", RT_TEXT(struct arguments, picture, .writes = &rt_picture_kind),
     "Points and front as a picture"},
    RT_REPORT_OPTION(struct arguments, reports),
    {"overwrite", 0, NULL, RT_FLAG(struct arguments, overwrite), "Replace outputs that are there already"},
    {"shard", 0, "I/N", RT_SHARD(struct arguments, shard),
     "Forecast part I of N of the points alone and keep them beside -o or --csv; the same command without it "
     "reads all parts, makes what is missing and writes the outputs"},
    {"threads", 't', "N", RT_INTEGER(struct arguments, threads, 1, RT_THREADS_MAX),
     "Threads (default: all processors); they change no byte of the results"},
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"},
    {"quiet", 'q', NULL, RT_FLAG(struct arguments, quiet), "No progress"},
};

static void set_defaults(void *value)
{
    *(struct arguments *)value = (struct arguments){
        .predictor = "pretrained",
        .seed = 1,
        .step = RT_STEP_NOT_GIVEN,
        .how.host_us = NAN,
    };
}

/* ---- models ---- */

static int build_models(const struct rt_command_line *line, struct rt_exploration *exploration)
{
    const struct arguments *arguments = line->options;
    int status = RT_OK;
    exploration->models = rt_calloc(arguments->models.count, sizeof *exploration->models);
    for (size_t m = 0; status == RT_OK && m < arguments->models.count; m++) {
        struct rt_model_source source;
        struct rt_explored_model *model = &exploration->models[m];
        model->name = arguments->models.name[m];
        status = rt_model_source_find(model->name, &source);
        if (status == RT_OK)
            status = rt_step_graph(&arguments->step, &source, &exploration->base, &model->graph);
        exploration->model_count += status == RT_OK;
    }
    return status;
}

/* ---- outputs ---- */

static int write_outputs(const struct arguments *arguments, const struct rt_assessment *assessment,
                         const bool *front)
{
    int status = RT_OK;
    if (arguments->h5 != NULL)
        status = rt_points_write_h5(assessment, front, arguments->h5);
    if (status == RT_OK && arguments->csv != NULL)
        status = rt_points_write_csv(assessment, front, arguments->csv);
    if (status == RT_OK && arguments->picture != NULL)
        status = rt_picture_write(assessment, front, arguments->picture);
    return status;
}

/* The points lie in a journal beside the file that they go to; none where that is a device or a pipe. */
static const char *journal_of(const struct arguments *arguments)
{
    const char *output = arguments->h5 != NULL ? arguments->h5 : arguments->csv;
    return output != NULL && !rt_target_is_special(output) ? output : NULL;
}

static int judge(const struct arguments *arguments, const struct rt_assessment *assessment, size_t resumed)
{
    bool *front = rt_malloc(assessment->exploration->space.points * sizeof *front);
    size_t count = rt_pareto_front(assessment, front);
    int status = write_outputs(arguments, assessment, front);
    if (status == RT_OK && journal_of(arguments) != NULL)
        rt_point_journal_remove(journal_of(arguments));
    if (status == RT_OK)
        status = rt_report_end_with(rt_exploration_report(assessment, front, count, resumed), arguments->json,
                                    &arguments->reports);
    free(front);
    return status;
}

/* ---- the command ---- */

/* Energy is a share of the board's power, among others: it must be known wherever it does not vary. */
static int check_power(const struct arguments *arguments, const struct rt_exploration *exploration)
{
    bool known = exploration->base.power_w > 0;
    for (size_t a = 0; a < exploration->space.axes; a++)
        known |=
            rt_device_fields[exploration->space.axis[a].field].offset == offsetof(struct rt_device, power_w);
    return known || !exploration->how.energy
               ? RT_OK
               : rt_fail(RT_EUSAGE,
                         "--energy: the description of %s has no board power: add it, such as --gpu "
                         "%s,power_w=300, or vary power_w",
                         exploration->base.name, arguments->gpu);
}

/* The largest and the smallest device of the space, whose peaks follow from others of its fields. */
static int check_corners(const struct rt_exploration *exploration)
{
    const struct rt_space *space = &exploration->space;
    int status = RT_OK;
    for (int high = 0; status == RT_OK && high < 2; high++) {
        double values[RT_MOST_AXES];
        struct rt_device corner;
        for (size_t a = 0; a < space->axes; a++)
            values[a] = high ? space->axis[a].high : space->axis[a].low;
        rt_space_device(space, values, &exploration->base, &corner);
        status = rt_device_check(&corner, "--vary");
    }
    return status == RT_OK ? RT_OK : RT_EUSAGE;
}

static int explore(const struct rt_command_line *line, struct rt_exploration *exploration)
{
    const struct arguments *arguments = line->options;
    const struct rt_assessment assessment = {exploration, arguments->formulas};
    size_t resumed = 0;
    int status = rt_device_find(arguments->gpu, &exploration->base);
    if (status == RT_OK)
        status = check_power(arguments, exploration);
    if (status == RT_OK)
        status = check_corners(exploration);
    if (status == RT_OK)
        status = rt_objectives_check(&assessment);
    if (status == RT_OK)
        status = build_models(line, exploration);
    if (status != RT_OK)
        return status;
    exploration->limit_count = rt_limits_of(&exploration->space, exploration->limits);
    struct rt_threads *pool =
        rt_threads_new(arguments->threads > 0 ? (size_t)arguments->threads : rt_threads_processors());
    rt_interrupt_catch();
    status = rt_explore(exploration, pool, journal_of(arguments), &resumed);
    rt_threads_free(pool);
    if (status == RT_EINTERRUPTED)
        rt_fail_remedy(status, journal_of(arguments) != NULL
                                   ? "the same command goes on with them"
                                   : "with -o or --csv the same command would go on with them");
    return status == RT_OK && arguments->shard.of == 0 ? judge(arguments, &assessment, resumed) : status;
}

static int explore_with(const struct rt_command_line *line, struct rt_exploration *exploration)
{
    struct arguments *arguments = line->options;
    struct rt_predictor predictor;
    int status = RT_OK;
    if (arguments->host_spec != NULL) {
        status = rt_host_find(arguments->host_spec, &arguments->host);
        arguments->how.host = &arguments->host;
    }
    exploration->how = arguments->how;
    exploration->how.parallel = arguments->step.parallel;
    if (status == RT_OK)
        status = rt_predictor_open(arguments->predictor, &predictor);
    if (status != RT_OK)
        return status;
    exploration->predictor = &predictor;
    status = explore(line, exploration);
    rt_predictor_release(&predictor);
    return status;
}

static int run(const struct rt_command_line *line)
{
    struct arguments *arguments = line->options;
    struct rt_exploration exploration = {.space = arguments->space,
                                         .quiet = arguments->quiet,
                                         .overwrite = arguments->overwrite,
                                         .shard = arguments->shard};
    static const char *const of_all[] = {"report", "picture", "json", NULL};
    int status = rt_outputs_check(line);
    if (status == RT_OK)
        status = rt_point_shard_check(arguments->shard, journal_of(arguments), "-o or --csv",
                                      rt_given_of(line, of_all));
    if (status == RT_OK && exploration.space.axes == 0)
        status =
            rt_fail(RT_EUSAGE, "say what varies: --vary FIELD=LOW:HIGH:STEP, such as --vary sms=80:200:8");
    if (status == RT_OK)
        status = rt_space_points(&exploration.space, (size_t)arguments->sample, (uint64_t)arguments->seed);
    if (status == RT_OK)
        status = explore_with(line, &exploration);
    rt_exploration_release(&exploration);
    return status;
}

const struct rt_command rt_command_explore = {
    .name = "explore",
    .brief = "forecast models on GPUs that do not exist",
    .about = "Forecasts models on many devices that are like a GPU but for fields of its description: the "
             "Pareto front of time against cost or energy, how time answers to each limit of the hardware, "
             "and which limit binds where.",
    .details =
        "Points that are done are kept beside the output: after Ctrl-C or a crash the same command goes on. "
        "More in every field is never slower. docs/guide/parts.md says what the figures mean.\n\n"
        "Example: what an H100 would gain from more SMs, bandwidth and power\n"
        "  rooftile explore --gpu H100 --vary sms=80:200:8,bandwidth_gbs=2000:8000:500,power_w=400:1000:100 "
        "\\\n"
        "    --model gpt2 --model resnet50 --cost \"0.2*sms+0.01*bandwidth_gbs\" -o points.h5 --picture "
        "front.svg",
    RT_RUNS(run, struct arguments, options),
    .set_defaults = set_defaults,
    .operands = RT_NO_OPERANDS("name a GPU with --gpu and a model with --model"),
};
