/* `rooftile pack`: which jobs share a GPU, and how. */
#include "base/options.h"
#include "base/report_files.h"
#include "base/status.h"
#include "predict/step/share_curve.h"
#include "predict/search/pack/pack.h"

#include <math.h>
#include <stdlib.h>

struct arguments {
    const char *predictor, *gpu, *host_spec;
    struct rt_names jobs, reports;
    struct rt_host host;
    int gpus, launchers;
    struct rt_pack_options pack;
    bool overwrite, json;
};

static const struct rt_option options[] = {
    RT_PREDICTOR_OPTION(struct arguments, predictor),
    {"gpu", 0, "NAME",
     RT_TEXT(struct arguments, gpu,
             .required = "say on which GPU: --gpu NAME (`rooftile devices` lists them)",
             .reads = rt_device_reads, .suggests = rt_device_suggest),
     "A GPU of the catalogue, a MIG slice of it, or a device file, with overrides: H100,sms=100"},
    {"gpus", 0, "N", RT_INTEGER(struct arguments, gpus, 1, RT_PACK_JOBS),
     "Such GPUs at hand, to do the most work with (default: as few as meet all targets)"},
    {"share-by", 0, "NAME", RT_CHOICE(struct arguments, pack.kind, rt_share_kinds),
     "What gives the shares: mps (any number of SMs) or green contexts (by 2 SMs, by 8 since Hopper)"},
    {"step", 0, "PERCENT", RT_NUMBER(struct arguments, pack.step_percent, 1, 50),
     "Percent of the SMs between the shares that are tried (default: 5)"},
    {"shares", 0, "PERCENT,...", RT_OWN(struct arguments, pack.given, rt_shares_read),
     "Percent of the SMs for each job, in the list's order: how they run side by side on one GPU"},
    RT_HEADING("The host:"),
    {"launchers", 0, "N", RT_INTEGER(struct arguments, launchers, 1, 1024),
     "Threads of the host that launch: 1 where all jobs are in one Python process (default: one for each "
     "job)"},
    {"host", 0, "NAME",
     RT_TEXT(struct arguments, host_spec, .reads = rt_host_reads, .suggests = rt_host_suggest),
     "What launches, as of `rooftile predict`"},
    {"host-us", 0, "X", RT_NUMBER(struct arguments, pack.forecast.host_us, 0, 1e4),
     "What it takes to launch any kernel, in us; 0: it is never in the way (default: as --host has it)"},
    RT_HEADING("Output:"),
    {"fallback", 0, NULL, RT_FLAG(struct arguments, pack.forecast.fallback),
     "Take the roofline where the predictor has no network for an op"},
    RT_REPORT_OPTION(struct arguments, reports),
    RT_REPORT_OVERWRITE(struct arguments, overwrite),
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"},
};

static void set_defaults(void *value)
{
    *(struct arguments *)value = (struct arguments){
        .predictor = "pretrained",
        .pack = {.step_percent = NAN,
                 .forecast = {.host_us = NAN,
                              .parallel = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN}}},
    };
}

static int search(const struct rt_pack_problem *problem, size_t gpus, bool given, const char *path,
                  const char *gpu, struct rt_pack_result *out)
{
    const unsigned shared = 1U << RT_PACK_SHARED, sliced = 1U << RT_PACK_SLICED;
    *out = (struct rt_pack_result){0};
    rt_pack_best_plan(problem, 0, 0, &out->whole);
    rt_pack_best_plan(problem, gpus, sliced, &out->slices);
    if (given) {
        rt_pack_given_plan(problem, &out->plan);
        return RT_OK;
    }
    if (rt_pack_best_plan(problem, gpus, shared | sliced, &out->plan))
        return RT_OK;
    rt_pack_best_plan(problem, 0, shared | sliced, &out->plan);
    return rt_fail(RT_EFORMAT, "%s: %zu x %s do not meet all targets; %zu do (--gpus %zu)", path, gpus, gpu,
                   out->plan.gpus, out->plan.gpus);
}

static int pack(const struct arguments *arguments, const struct rt_gpu_jobs *jobs,
                const struct rt_predictor *predictor, const struct rt_device *device)
{
    struct rt_pack_surface surface;
    struct rt_pack_result result;
    const char *path = arguments->jobs.name[0];
    size_t gpus = (size_t)arguments->gpus;
    int status = rt_pack_surface(path, jobs, predictor, device, &arguments->pack, &surface);
    if (status != RT_OK)
        return status;
    status = search(&surface.problem, gpus, arguments->pack.given.count > 0, path, device->name, &result);
    if (status == RT_OK)
        status = rt_report_end_with(rt_pack_report(&surface.problem, &result, device->name,
                                                   arguments->predictor, arguments->pack.kind),
                                    arguments->json, &arguments->reports);
    rt_pack_surface_release(&surface);
    return status;
}

static int run(const struct rt_command_line *line)
{
    struct arguments *arguments = line->options;
    struct rt_gpu_jobs jobs;
    struct rt_predictor predictor;
    struct rt_device device;
    int status = rt_outputs_check(line);
    if (arguments->pack.given.count > 0 && (arguments->gpus > 0 || !isnan(arguments->pack.step_percent)))
        return rt_fail(RT_EUSAGE, "--shares are those of one GPU: leave out --gpus and --step");
    if (isnan(arguments->pack.step_percent))
        arguments->pack.step_percent = 5;
    if (status == RT_OK)
        status = rt_device_find(arguments->gpu, &device);
    arguments->pack.launchers = arguments->launchers > 0 ? arguments->launchers : INFINITY;
    if (status == RT_OK && arguments->host_spec != NULL) {
        status = rt_host_find(arguments->host_spec, &arguments->host);
        arguments->pack.forecast.host = &arguments->host;
    }
    if (status == RT_OK)
        status = rt_jobs_read(arguments->jobs.name[0], &jobs);
    if (status != RT_OK)
        return status;
    status = rt_predictor_open(arguments->predictor, &predictor);
    if (status == RT_OK) {
        status = pack(arguments, &jobs, &predictor, &device);
        rt_predictor_release(&predictor);
    }
    rt_jobs_release(&jobs);
    return status;
}

const struct rt_command rt_command_pack = {
    .name = "pack",
    .brief = "place jobs side by side on shares of a GPU",
    .operands_usage = "JOBS.csv",
    .about = "Finds which jobs run side by side on one GPU, on which shares of its SMs and in which batches, "
             "so that each meets its rate and latency, on as few GPUs as possible; and how much more that is "
             "than taking turns, and than a GPU for each job.",
    .details =
        "JOBS.csv has a job a row. Columns, in any order; all but model may be missing:\n"
        "  model       as --model of `rooftile predict`\n"
        "  name        how the report calls it (default: the model)\n"
        "  batch       of a step (default 1), or several to choose from: 1 2 4 8\n"
        "  seq, image  tokens of a sequence, the side of images; while decoding seq is the context\n"
        "  mode        inference, training or decode; optimizer: none, sgd, momentum or adamw\n"
        "  dtype, runtime   as of `rooftile predict`\n"
        "  rate        sequences or images a second that it must serve (default: as many as it can)\n"
        "  latency_ms  an item may take so long, waiting for its batch included (default: any time)\n\n"
        "Example: a detector, a language model and a training job on a V100\n"
        "  printf 'name,model,mode,batch,seq,rate,latency_ms\\n"
        "camera,resnet50,,1 2 4,,60,50\\n"
        "search,bert-base-uncased,,1 4 8,128,40,100\\n"
        "tune,gpt2,training,2,256,,\\n' >jobs.csv\n"
        "  rooftile pack --gpu V100-PCIE-32GB jobs.csv",
    RT_RUNS(run, struct arguments, options),
    .set_defaults = set_defaults,
    .in_library = true,
    .operands = RT_OPERANDS(struct arguments, jobs, 1, 1, "a list of jobs, JOBS.csv", .reads = rt_reads_path),
};
