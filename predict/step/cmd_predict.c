/* `rooftile predict`: how long a model takes on a GPU. */
#include "base/options.h"
#include "base/ranges.h"
#include "base/report_files.h"
#include "base/status.h"
#include "datasets/run_attributes.h"
#include "datasets/share.h"
#include "models/networks/source.h"
#include "models/networks/model.h"
#include "models/networks/step_options.h"
#include "predict/step/job_lines.h"
#include "predict/step/limit_curve.h"
#include "predict/step/power_limit.h"
#include "predict/step/prediction.h"
#include "predict/step/share_curve.h"
#include "predict/step/forecast_graphs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 64 };

struct arguments {
    const char *jobs, *predictor, *as, *trace;
    struct rt_names models, gpus, reports;
    struct rt_numbers batches, sequences, images; /* those of the step, case by case; none: not given */
    int64_t dataset_size, top;
    struct rt_electricity electricity;
    struct rt_step step;
    struct rt_network_memo *memo;
    struct rt_shard part; /* of the lines of jobs */
    struct rt_numbers shares;
    enum rt_share_kind share_kind;
    double within;
    struct rt_numbers limits;
    double clock_mhz;
    struct rt_onnx_given onnx;
    bool max_batch, fallback, overwrite, json, no_patterns, data_given, explain, fail_if_not_fit;
};

/* What GPUs share out, or a part of the lines. */
static int read_shard(const char *option, const char *text, void *value)
{
    struct arguments *arguments = value;
    return strchr(text, '/') != NULL ? rt_read_shard(NULL, option, text, &arguments->part)
                                     : rt_step_set(&arguments->step, "shard", text);
}

/* "1,2,4" */
static int read_values(const char *option, const char *text, void *value)
{
    return rt_numbers_read(option, text, 1, INT32_MAX, true, MOST_VALUES, value);
}

/* "1024,720x1280": height and width of each in one number, of 2^16 a height. */
enum { HEIGHT = 1 << 16 };
static int read_images(const char *option, const char *text, void *value)
{
    struct rt_numbers *images = value;
    images->count = 0;
    for (const char *at = text; at != NULL; at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL) {
        int64_t side[2];
        char *one = rt_format("%.*s", (int)strcspn(at, ","), at);
        int status = rt_read_image(option, one, side);
        free(one);
        if (status == RT_OK && images->count == MOST_VALUES)
            status = rt_fail(RT_EUSAGE, "%s: gives more than %d sizes", option, MOST_VALUES);
        if (status != RT_OK)
            return status;
        images->value[images->count++] = (double)(side[0] * HEIGHT + side[1]);
    }
    return RT_OK;
}

static const struct rt_option options[] = {
    {"predictor", 'p', "P.h5",
     RT_TEXT(struct arguments, predictor, .reads = rt_predictor_reads, .suggests = rt_predictor_suggest),
     "A predictor file, or \"roofline\"; pretrained: what comes with rooftile, its card is in "
     "models/predictors/pretrained/"},
    {"gpu", 0, "NAME",
     RT_ITEMS(struct arguments, gpus, .specs = true,
              .required = "say on which GPU: --gpu NAME (`rooftile devices` lists them)", .unless = "jobs",
              .reads = rt_device_reads, .suggests = rt_device_suggest),
     "A GPU of the catalogue (`rooftile devices`), a device file, either with overrides: H100,sms=100, or a "
     "MIG slice of one: A100-40:2g.10gb; several: H100,H200"},
    {"model", 'm', "NAME",
     RT_ITEMS(struct arguments, models, .specs = true,
              .required =
                  "say which model: --model NAME (`rooftile graph --list` lists them) or a config.json",
              .unless = "jobs", .reads = rt_model_reads, .suggests = rt_model_suggest),
     "A model of the zoo (`rooftile graph --list`) or a Hugging Face config.json, either with changes, "
     "gpt2,n_layer=24; an operator graph of NeuSight, .csv; an ONNX model, .onnx; several: gpt2,bert-base"},
    RT_STEP_AS_OPTION(struct arguments, as),
    {"jobs", 0, "FILE.jsonl", RT_TEXT(struct arguments, jobs, .reads = rt_reads_path),
     "Many steps, a JSON object a line (\"-\": standard input), answered by a line each: model, gpu and "
     "these options with underscores; what a line does not say is as given here"},
    {"batch", 'b', "N[,N...]", RT_OWN(struct arguments, batches, read_values),
     "Sequences or images of a step, over all GPUs (default 1)"},
    {"max-batch", 0, NULL, RT_FLAG(struct arguments, max_batch),
     "The largest batch that fits into the GPU's memory, in place of --batch"},
    {"seq", 's', "N[,N...]",
     RT_OWN(struct arguments, sequences, read_values, .also = "input-len prompt-len max-seq-len isl"),
     "Tokens of a sequence (default: the model's positions, at most 1024)"},
    {"image", 0, "N[xW][,...]", RT_OWN(struct arguments, images, read_images),
     "Models of images: their side in pixels, of diffusion pipelines height x width, too (default: the "
     "model's own, mostly 224)"},
    {"context", 0, "N", RT_INTEGER(struct arguments, step.context, 1, INT32_MAX),
     "decode: tokens cached already (default: as --seq, with room for one more)"},
    RT_STEP_OPTIONS(struct arguments, step),
    {"layers", 0, "N", RT_INTEGER(struct arguments, step.layers, 1, 65536),
     "Of an operator graph that holds one layer (default: those of the zoo's model that the file is named "
     "after)"},
    {"dim", 0, "NAME=N", RT_LIST(struct arguments, onnx.dims),
     "ONNX models: the size of a dim that has a name, such as batch=8"},
    {"shape", 0, "VALUE=2x3", RT_LIST(struct arguments, onnx.shapes),
     "ONNX models: the shape of a value that the file does not tell"},
    {"no-patterns", 0, NULL, RT_FLAG(struct arguments, no_patterns),
     "ONNX models: count the operators as they stand, each by itself"},
    {"dataset-size", 0, "N", RT_INTEGER(struct arguments, dataset_size, 1, INT64_MAX / 2),
     "Also the time of an epoch: of steps over so many sequences or images"},
    {"server", 0, "NAME", RT_TEXT(struct arguments, step.server, .suggests = rt_server_suggest),
     "serving: adds what its host takes: " RT_SERVER_NAMES " (default: hidden)"},
    {"carbon", 0, "G_PER_KWH",
     RT_NUMBER(struct arguments, electricity.per_kwh[RT_ELECTRICITY_CARBON], 1e-3, 1e5),
     "Also the grams of CO2 of the GPUs' energy, at so many a kWh: of a step, of a million tokens or images"},
    {"price", 0, "PER_KWH", RT_NUMBER(struct arguments, electricity.per_kwh[RT_ELECTRICITY_PRICE], 1e-6, 1e6),
     "Also what that energy costs, at so much a kWh, in any currency"},
    RT_HEADING("The host:"),
    {"host", 0, "NAME",
     RT_TEXT(struct arguments, step.host, .reads = rt_host_reads, .suggests = rt_host_suggest),
     "What launches and copies: a host of the table in docs/guide/host.md, a file of JSON, or a dataset with "
     "measured copies (default: of --runtime eager, eager-math and graph epyc-7742, which is Hugging Face's "
     "code on an EPYC 7742; of others none)"},
    {"host-us", 0, "X", RT_NUMBER(struct arguments, step.host_us, 0, 1e4),
     "What it takes to launch any kernel, in us; 0: it is never in the way (default: as --host has it)"},
    {"input", 0, "NAME", RT_CHOICE(struct arguments, step.input, rt_transfers),
     "The input's copy to the GPU: none (it is there), pageable or pinned memory of the host (default none)"},
    {"result", 0, "NAME", RT_CHOICE(struct arguments, step.result, rt_transfers),
     "inference: the result's copy to the host: none, pageable or pinned (default none)"},
    {"overlap", 0, NULL, RT_FLAG(struct arguments, step.overlap),
     "Copy the input while the step before it runs; for --input pinned"},
    RT_HEADING("Several GPUs:"),
    {"dp", 0, "N", RT_INTEGER(struct arguments, step.parallel.data, 1, 65536, .also = "data-parallel"),
     "Data parallel: N parts of the batch"},
    {"shard", 0, "WHAT|I/N", RT_OWN_ALL(read_shard, .suggests = rt_shard_suggest),
     "training: what the --dp GPUs share out: none, optimizer (ZeRO 1), gradients (and the optimizer: ZeRO "
     "2) or parameters (all: ZeRO 3, FSDP). I/N: part I of N of the lines of --jobs, a run of them (default: "
     "none)"},
    {"shard-gpus", 0, "N", RT_INTEGER(struct arguments, step.parallel.shard_gpus, 1, 65536),
     "training: N of the --dp x --cp GPUs share out what --shard says, copies beside them (default all)"},
    RT_STEP_GPU_OPTIONS(struct arguments, step),
    RT_STEP_TRAINING_OPTIONS(struct arguments, step),
    {"tp-overlap", 0, NULL, RT_FLAG(struct arguments, step.parallel.tensor_overlap),
     "training: gathers and scatters of --sp run beside the products"},
    {"expert-exchange", 0, "NAME", RT_CHOICE(struct arguments, step.parallel.exchange, rt_expert_exchanges),
     "training: who brings tokens to the experts of --ep: alltoall (NCCL) or deepep (once a server; HybridEP "
     "too); default own, the runtime's"},
    {"expert-overlap", 0, NULL, RT_FLAG(struct arguments, step.parallel.expert_overlap),
     "training: tokens of one micro batch are exchanged beside kernels of another"},
    {"pp", 0, "N", RT_INTEGER(struct arguments, step.parallel.pipeline, 1, 4096, .also = "pipeline"),
     "Pipeline parallel: the layers in N stages"},
    {"microbatches", 0, "N", RT_INTEGER(struct arguments, step.parallel.microbatches, 1, 65536),
     "Parts of a GPU's batch that follow one another"},
    {"vp", 0, "N", RT_INTEGER(struct arguments, step.parallel.chunks, 1, 65536),
     "training: N chunks of layers on each stage of --pp, interleaved"},
    {"schedule", 0, "NAME", RT_CHOICE(struct arguments, step.parallel.schedule, rt_pipeline_schedules),
     "Of a pipeline: 1f1b, gpipe or zero-bubble"},
    {"link-gbs", 0, "X", RT_NUMBER(struct arguments, step.parallel.link_gbs, 0.01, 1e5),
     "What a GPU sends to others, one direction, GB/s (default: by the GPU's links)"},
    {"fabric", 0, "NAME", RT_CHOICE(struct arguments, step.parallel.fabric, rt_fabrics),
     "What joins the GPUs: switch, mesh, pairs (bridges), pcie, pcie-peer (peer access between all), "
     "pcie-host (no peer access); default: own, by the GPU's links"},
    {"no-overlap", 0, NULL, RT_FLAG(struct arguments, step.parallel.no_overlap),
     "Sum gradients after the backward pass, not during it"},
    RT_HEADING("Servers:"),
    {"nodes", 0, "N", RT_INTEGER(struct arguments, step.nodes, 1, 65536),
     "Servers, all of whose GPUs take part: --dp is what the other degrees leave of them"},
    RT_STEP_CLUSTER_OPTIONS(struct arguments, step),
    RT_HEADING("Training, the whole run:"),
    RT_STEP_RUN_OPTIONS(struct arguments, step),
    {"gpu-price", 0, "MONEY", RT_NUMBER(struct arguments, step.run.gpu_price, 1e-6, 1e6),
     "What an hour of a GPU costs, in any currency"},
    RT_HEADING("A share of the SMs:"),
    {"sm-share", 0, "LIST", RT_OWN(struct arguments, shares, rt_shares_read),
     "The step's time against its share of the GPU's SMs, in percent, and the smallest share that is as good "
     "as all: 25,50,100 or FROM:TO:STEP, 10:100:10"},
    {"share-by", 0, "NAME", RT_CHOICE(struct arguments, share_kind, rt_share_kinds),
     "What gives the share: mps (any number of SMs; libraries choose tiles for the share) or green contexts "
     "(by 2 SMs, by 8 since Hopper; libraries choose tiles for the whole GPU)"},
    {"within", 0, "PERCENT", RT_NUMBER(struct arguments, within, 0, 1000),
     "How much longer, in percent, that smallest share may take than all SMs"},
    RT_HEADING("Power:"),
    {"power-limit", 0, "LIST", RT_OWN(struct arguments, limits, rt_limits_read),
     "Under a power limit of each GPU, in watts: time and energy of the step; of several limits (150,200,250 "
     "or FROM:TO:STEP, 150:700:25) the curve, and which take the least energy and the least energy x time "
     "(default: the board's)"},
    {"clock", 0, "MHZ", RT_NUMBER(struct arguments, clock_mhz, 1, 1e5),
     "At a lower clock of the multiprocessors, in MHz, as nvidia-smi --lock-gpu-clocks sets it; memory keeps "
     "its own (default: the boost clock)"},
    RT_HEADING("Output:"),
    {"interval", 0, "LEVEL", RT_NUMBER(struct arguments, step.level, 0, 0.99),
     "Level of the interval around the total, a share: 0.9 holds nine of ten; 0: none"},
    {"top", 0, "N", RT_INTEGER(struct arguments, top, 1, INT32_MAX),
     "List the N nodes of the graph that take longest; in JSON with the node of the ONNX file that each is "
     "made of (default 10)"},
    {"explain", 0, NULL, RT_FLAG(struct arguments, explain),
     "Also how the GPU is known, what forecast which part of the time, and every reason to doubt it"},
    {"fail-if-not-fit", 0, NULL, RT_FLAG(struct arguments, fail_if_not_fit),
     "Exit status 3 where a forecast does not fit into the memory of its GPU"},
    {"fallback", 0, NULL, RT_FLAG(struct arguments, fallback),
     "Take the roofline where the predictor has no network for an op"},
    {"trace", 0, "FILE", RT_TEXT(struct arguments, trace, .writes = &rt_trace_kind),
     "Also write a timeline that Perfetto (ui.perfetto.dev) opens"},
    RT_REPORT_OPTION(struct arguments, reports),
    {"overwrite", 0, NULL, RT_FLAG(struct arguments, overwrite),
     "Replace a timeline and reports that are there already, each its own kind"},
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"},
};

static void set_defaults(void *value)
{
    struct arguments *arguments = value;
    *arguments = (struct arguments){
        .predictor = "pretrained", .step = RT_STEP_NOT_GIVEN, .within = 5, .clock_mhz = NAN};
    arguments->step.level = 0.9;
    arguments->step.wants = RT_WANT_MEMORY | RT_WANT_ENERGY;
}

static int check_shares(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    if (arguments->shares.count == 0 && (rt_given(line, "share-by") || rt_given(line, "within")))
        return rt_fail(
            RT_EUSAGE,
            "--share-by and --within are for --sm-share; say which shares, such as --sm-share 10:100:10");
    if (arguments->shares.count > 0 && rt_electricity_asked(&arguments->electricity))
        return rt_fail(RT_EUSAGE, "--carbon and --price are of whole GPUs: leave them out with --sm-share");
    if (arguments->shares.count > 0 && arguments->trace != NULL)
        return rt_fail(
            RT_EUSAGE,
            "--trace shows one forecast: name one share as a GPU, such as --gpu \"V100 (20 of 80 SMs)\"");
    return RT_OK;
}

/* A curve is no step that other options could show. */
static int check_limits(const struct arguments *arguments)
{
    if (arguments->limits.count > 0 && arguments->shares.count > 0)
        return rt_fail(RT_EUSAGE, "--power-limit and --sm-share are curves of their own: give one of them");
    if (arguments->limits.count > 1 && arguments->trace != NULL)
        return rt_fail(RT_EUSAGE, "--trace shows one forecast: give one --power-limit");
    return RT_OK;
}

/* It is searched for where sequences are alike. */
static int check_max_batch(const struct rt_command_line *line)
{
    static const char *const instead[] = {"batch", "lengths", "contexts", NULL};
    const struct arguments *arguments = line->options;
    const char *other = rt_given_of(line, instead);
    if (arguments->max_batch && other != NULL)
        return rt_fail(RT_EUSAGE, "--max-batch finds the batch: leave out --%s", other);
    return RT_OK;
}

static int check_arguments(const struct arguments *arguments)
{
    if (arguments->models.count > 1 &&
        (arguments->trace != NULL || arguments->shares.count > 0 || arguments->limits.count > 1))
        return rt_fail(RT_EUSAGE,
                       "--trace, --sm-share and several --power-limit are of one model: give one --model");
    if (arguments->trace != NULL && (arguments->gpus.count > 1 || arguments->batches.count > 1 ||
                                     arguments->sequences.count > 1 || arguments->images.count > 1))
        return rt_fail(RT_EUSAGE,
                       "--trace shows one forecast: give one GPU, one batch and one sequence or image");
    if (arguments->dataset_size > 0 && arguments->step.mode == RT_STEP_DECODE)
        return rt_fail(RT_EUSAGE, "--dataset-size is for --mode inference and training, not for decode");
    if (arguments->images.count > 0 && arguments->sequences.count > 1)
        return rt_fail(RT_EUSAGE, "--seq: give one length for all sizes of images of %s",
                       arguments->models.name[0]);
    return RT_OK;
}

/* ---- cases ---- */

/* What steps differ in beside the batch: images, or sequences. */
static const struct rt_numbers *sizes_of(const struct arguments *arguments)
{
    return arguments->images.count > 0 ? &arguments->images : &arguments->sequences;
}

/* Steps on one GPU: every batch with every size; one of each where none is given. */
static size_t case_count(const struct arguments *arguments)
{
    const struct rt_numbers *sizes = sizes_of(arguments);
    return (arguments->batches.count > 0 ? arguments->batches.count : 1) *
           (sizes->count > 0 ? sizes->count : 1);
}

static struct rt_step case_of(const struct arguments *arguments, size_t i)
{
    const struct rt_numbers *sizes = sizes_of(arguments);
    size_t each = sizes->count > 0 ? sizes->count : 1;
    struct rt_step step = arguments->step;
    if (arguments->batches.count > 0)
        step.batch = (int64_t)arguments->batches.value[i / each];
    if (arguments->sequences.count > 0)
        step.sequence = (int64_t)arguments->sequences.value[0];
    int64_t size = sizes->count > 0 ? (int64_t)sizes->value[i % each] : 0;
    if (sizes->count > 0 && sizes == &arguments->images) {
        step.image = size / HEIGHT;
        step.image_width = size % HEIGHT;
    } else if (sizes->count > 0) {
        step.sequence = size;
    }
    return step;
}

/* A line is one step of one model on one GPU. */
static int check_jobs(const struct rt_command_line *line)
{
    static const char *const others[] = {"as",           "max-batch", "dim",   "shape",    "no-patterns",
                                         "dataset-size", "carbon",    "price", "sm-share", "clock",
                                         "trace",        "report",    "top",   NULL};
    const struct arguments *arguments = line->options;
    const char *other = rt_given_of(line, others);
    if (arguments->jobs == NULL)
        return arguments->part.of == 0
                   ? RT_OK
                   : rt_fail(RT_EUSAGE, "--shard %zu/%zu: parts are of the lines of --jobs",
                             arguments->part.number, arguments->part.of);
    if (other != NULL)
        return rt_fail(RT_EUSAGE, "--jobs: a line is a step; leave out --%s", other);
    if (arguments->gpus.count > 1 || arguments->models.count > 1 || case_count(arguments) > 1 ||
        arguments->limits.count > 1)
        return rt_fail(
            RT_EUSAGE,
            "--jobs: give one --model, --gpu, --batch, --seq and --power-limit at most; lines say others");
    return RT_OK;
}

/* The largest batch that fits, or the least where none does, in place of the one that was settled. */
static int find_batch(const struct rt_model_source *source, struct rt_prediction *prediction)
{
    struct rt_fit_case fit = rt_prediction_fit(prediction, source);
    prediction->advice.searched = true;
    int status = rt_fit_largest(&fit, &prediction->advice.largest);
    int64_t largest = prediction->advice.largest.batch, parts = rt_fit_parts(&fit);
    if (status != RT_OK)
        return status;
    prediction->batch = prediction->settled.step.batch = largest > 0 ? largest : parts;
    prediction->settled.assumed[RT_STEP_BATCH] = false;
    prediction->settled.graph.batch = prediction->batch / parts;
    rt_graph_release(&prediction->graph);
    return rt_settled_step_graph(&prediction->settled, source, &prediction->graph);
}

static int begin(const struct arguments *arguments, const struct rt_model_source *source,
                 const struct rt_device *device, size_t i, struct rt_prediction *prediction)
{
    struct rt_step step = case_of(arguments, i);
    int status = rt_prediction_begin(&step, source, device, prediction); /* of --max-batch, the least first */
    int64_t data = prediction->settled.step.parallel.data;
    if (status == RT_OK && arguments->data_given && data != step.parallel.data)
        status =
            rt_fail(RT_EUSAGE, "--nodes %" PRId64 " has GPUs for --dp %" PRId64 "; leave one of them out",
                    step.nodes, data);
    return status == RT_OK && arguments->max_batch ? find_batch(source, prediction) : status;
}

/* What would make it fit. */
static void advise(const struct rt_model_source *source, struct rt_prediction *prediction)
{
    if (prediction->refused != NULL || rt_forecast_fits(&prediction->forecast))
        return;
    struct rt_fit_case fit = rt_prediction_fit(prediction, source);
    prediction->advice.change_count = rt_fit_changes(&fit, prediction->advice.changes);
}

/* Curves over shares of SMs instead of the forecasts themselves. */
static int print_shares(const struct arguments *arguments, const struct rt_prediction *predictions,
                        size_t count)
{
    struct rt_share_curve *curves = rt_calloc(count, sizeof *curves);
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < count; i++)
        status = predictions[i].refused != NULL
                     ? rt_fail(RT_EFORMAT, "%s", predictions[i].refused)
                     : rt_share_curve(&predictions[i], arguments->share_kind, &arguments->shares,
                                      arguments->within, &curves[i]);
    if (status == RT_OK)
        status = rt_report_end_with(rt_share_report(predictions, curves, count), arguments->json,
                                    &arguments->reports);
    fflush(stdout);
    if (status == RT_OK && !arguments->json) /* a share has all of the memory */
        rt_prediction_warn(predictions, count);
    for (size_t i = 0; i < count; i++)
        rt_share_curve_release(&curves[i]);
    free(curves);
    return status;
}

/* Curves over power limits instead of the forecasts themselves. */
static int print_limits(const struct arguments *arguments, const struct rt_prediction *predictions,
                        size_t count)
{
    struct rt_limit_curve *curves = rt_calloc(count, sizeof *curves);
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < count; i++)
        status = predictions[i].refused != NULL
                     ? rt_fail(RT_EFORMAT, "%s", predictions[i].refused)
                     : rt_limit_curve(&predictions[i], &arguments->limits, &curves[i]);
    if (status == RT_OK)
        status = rt_report_end_with(rt_limit_report(predictions, curves, count), arguments->json,
                                    &arguments->reports);
    for (size_t i = 0; i < count; i++)
        rt_limit_curve_release(&curves[i]);
    free(curves);
    return status;
}

/* Each forecast under the one limit that was given. */
static int cap_power(const struct arguments *arguments, struct rt_prediction *predictions, size_t count)
{
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < count; i++)
        if (predictions[i].refused == NULL)
            status = rt_forecast_cap_power(&predictions[i].forecast, &predictions[i].device,
                                           predictions[i].predictor, arguments->limits.value[0]);
    return status;
}

static int print(const struct arguments *arguments, const struct rt_prediction *predictions, size_t count)
{
    bool json = rt_report_is_asked(arguments->json, &arguments->reports, RT_REPORT_JSON);
    bool pictures = rt_report_is_asked(arguments->json, &arguments->reports, RT_REPORT_HTML);
    int status = rt_report_end_with(count == 1 ? rt_prediction_report(predictions, pictures)
                                               : rt_prediction_sweep(predictions, count, json, pictures),
                                    arguments->json, &arguments->reports);
    fflush(stdout); /* warnings come below the table, also where both go to one file */
    if (!arguments->json)
        rt_prediction_warn(predictions, count);
    return status;
}

/* What one of several GPUs cannot run keeps the others' forecasts: its rows say why. */
static int refuse_rows(const struct arguments *arguments, int status, struct rt_prediction *predictions,
                       size_t count)
{
    if (arguments->gpus.count * arguments->models.count == 1 || status != RT_EFORMAT)
        return status;
    for (size_t i = 0; i < count; i++) {
        predictions[i].refused = rt_strdup(rt_error());
        predictions[i].forecast.options = rt_prediction_how(&predictions[i]);
    }
    return RT_OK;
}

/* All of them at once: they share kernels. */
static int forecast_begun(const struct arguments *arguments, struct rt_prediction *predictions, size_t count)
{
    const struct rt_graph **graphs = rt_malloc(count * sizeof *graphs);
    struct rt_forecast *forecasts = rt_calloc(count, sizeof *forecasts);
    struct rt_forecast_options how = rt_prediction_how(&predictions[0]);
    how.fallback = arguments->fallback;
    how.memo = arguments->memo;
    for (size_t i = 0; i < count; i++)
        graphs[i] = &predictions[i].graph;
    int status =
        rt_forecast_graphs(graphs, count, predictions[0].predictor, &predictions[0].device, &how, forecasts);
    for (size_t i = 0; status == RT_OK && i < count; i++) {
        predictions[i].forecast = forecasts[i];
        predictions[i].forecast.device = &predictions[i].device; /* a limit may move it alone */
    }
    free(forecasts);
    free(graphs);
    return refuse_rows(arguments, status, predictions, count);
}

/* Every batch and size on one GPU; `predictions` holds as many. */
static int predict_on(const struct arguments *arguments, const struct rt_model_source *source,
                      const struct rt_predictor *predictor, const struct rt_device *device,
                      const char *changes, struct rt_prediction *predictions)
{
    size_t count = case_count(arguments);
    struct rt_model_source said = *source;
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < count; i++) {
        struct rt_prediction *prediction = &predictions[i];
        prediction->predictor_name = arguments->predictor;
        prediction->predictor = predictor;
        prediction->gpu_changes = changes;
        prediction->dataset_size = arguments->dataset_size;
        prediction->nodes = (size_t)arguments->top;
        prediction->electricity = arguments->electricity;
        prediction->explain = arguments->explain;
        status = begin(arguments, &said, device, i, prediction);
        said.quiet = true;
    }
    return status == RT_OK ? forecast_begun(arguments, predictions, count) : status;
}

/* A model on every GPU; `predictions` of all of them. */
static int predict_model(const struct arguments *arguments, const struct rt_model_source *source,
                         const struct rt_predictor *predictor, struct rt_prediction *predictions)
{
    size_t each = case_count(arguments);
    int status = RT_OK;
    for (size_t g = 0; status == RT_OK && g < arguments->gpus.count; g++) {
        struct rt_device device;
        const char *spec = arguments->gpus.name[g], *comma = strchr(spec, ',');
        status = rt_device_find(spec, &device);
        if (status == RT_OK && !isnan(arguments->clock_mhz))
            status = rt_device_clock(&device, arguments->clock_mhz, &device);
        if (status == RT_OK)
            status = predict_on(arguments, source, predictor, &device, comma != NULL ? comma + 1 : NULL,
                                predictions + g * each);
    }
    return status;
}

static int predict_all(const struct arguments *arguments, const struct rt_model_source *sources,
                       const struct rt_predictor *predictor, struct rt_prediction *predictions)
{
    size_t each = arguments->gpus.count * case_count(arguments);
    int status = RT_OK;
    for (size_t m = 0; status == RT_OK && m < arguments->models.count; m++)
        status = predict_model(arguments, &sources[m], predictor, predictions + m * each);
    return status;
}

/* What --fail-if-not-fit is for. */
static int check_fits(const struct arguments *arguments, const struct rt_prediction *predictions,
                      size_t count)
{
    size_t without = 0;
    for (size_t i = 0; i < count; i++)
        without += predictions[i].refused == NULL && !rt_forecast_fits(&predictions[i].forecast);
    if (!arguments->fail_if_not_fit || without == 0)
        return RT_OK;
    return rt_fail(RT_ENOFIT, "%zu of %zu forecasts %s not fit into the memory", without, count,
                   without == 1 ? "does" : "do");
}

/* Carbon and price need the energy of at least one of them. */
static int check_electricity(const struct arguments *arguments, const struct rt_prediction *predictions,
                             size_t count)
{
    bool known = !rt_electricity_asked(&arguments->electricity);
    for (size_t i = 0; i < count && !known; i++)
        known = predictions[i].refused == NULL && !isnan(rt_prediction_joules(&predictions[i]));
    return known ? RT_OK
                 : rt_fail(RT_EFORMAT,
                           "--carbon and --price need energy, and the description of %s has no board power: "
                           "add it, such as --gpu %s,power_w=300, or leave them out",
                           predictions[0].device.name, arguments->gpus.name[0]);
}

static int predict(const struct arguments *arguments, const struct rt_model_source *sources,
                   const struct rt_predictor *predictor)
{
    size_t count = arguments->models.count * arguments->gpus.count * case_count(arguments);
    struct rt_prediction *predictions = rt_calloc(count, sizeof *predictions);
    int status = predict_all(arguments, sources, predictor, predictions);
    size_t refused = 0;
    while (status == RT_OK && refused < count && predictions[refused].refused != NULL)
        refused++;
    if (refused == count) /* there is nothing to show */
        status = rt_fail(RT_EFORMAT, "%s", predictions[0].refused);
    if (status == RT_OK && arguments->limits.count == 1)
        status = cap_power(arguments, predictions, count);
    if (status == RT_OK)
        status = check_electricity(arguments, predictions, count);
    if (status == RT_OK && count == 1)
        advise(&sources[0], &predictions[0]);
    if (status == RT_OK && arguments->trace != NULL)
        status = rt_prediction_trace(&predictions[0], arguments->trace);
    if (status == RT_OK)
        status = arguments->shares.count > 0   ? print_shares(arguments, predictions, count)
                 : arguments->limits.count > 1 ? print_limits(arguments, predictions, count)
                                               : print(arguments, predictions, count);
    if (status == RT_OK)
        status = check_fits(arguments, predictions, count);
    for (size_t i = 0; i < count; i++)
        rt_prediction_release(&predictions[i]);
    free(predictions);
    return status;
}

static int predict_sources(struct arguments *arguments, const struct rt_model_source *sources)
{
    struct rt_predictor predictor;
    int status = rt_predictor_open(arguments->predictor, &predictor);
    if (status != RT_OK)
        return status;
    arguments->memo = rt_network_memo_new(); /* most GPUs ask networks the same */
    status = predict(arguments, sources, &predictor);
    rt_network_memo_free(arguments->memo);
    rt_predictor_release(&predictor);
    return status;
}

/* What is said of an ONNX model goes with its file. */
static int take_onnx(const struct arguments *arguments, struct rt_model_source *source)
{
    bool said = arguments->no_patterns || arguments->onnx.dims.count + arguments->onnx.shapes.count > 0;
    if (said && !rt_model_is_onnx(source->spec))
        return rt_fail(RT_EUSAGE,
                       "--dim, --shape and --no-patterns are for ONNX models: give --model NET.onnx");
    source->onnx = &arguments->onnx;
    source->no_patterns = arguments->no_patterns;
    source->batch_asked = arguments->batches.count > 0 || arguments->max_batch;
    source->sequence_asked = arguments->sequences.count > 0;
    return RT_OK;
}

static int find_source(const struct arguments *arguments, const char *model, struct rt_model_source *out)
{
    int status = rt_model_source_find_as(model, arguments->as, out);
    if (status == RT_OK && arguments->max_batch && rt_model_source_traced(out) && !rt_model_is_onnx(model))
        return rt_fail(RT_EUSAGE, "%s is forecast as it is: --max-batch does not apply to an %s", model,
                       out->importer->what);
    return status == RT_OK ? take_onnx(arguments, out) : status;
}

static int predict_models(struct arguments *arguments)
{
    struct rt_model_source *sources = rt_calloc(arguments->models.count, sizeof *sources);
    int status = RT_OK;
    for (size_t m = 0; status == RT_OK && m < arguments->models.count; m++)
        status = find_source(arguments, arguments->models.name[m], &sources[m]);
    if (status == RT_OK)
        status = predict_sources(arguments, sources);
    free(sources);
    return status;
}

static int predict_jobs(const struct arguments *arguments)
{
    struct rt_predictor predictor;
    struct rt_job_line_defaults defaults = {.model = arguments->models.count > 0 ? arguments->models.name[0]
                                                                                 : NULL,
                                            .gpu = arguments->gpus.count > 0 ? arguments->gpus.name[0] : NULL,
                                            .step = case_of(arguments, 0),
                                            .fallback = arguments->fallback,
                                            .shard = arguments->part};
    if (arguments->limits.count == 1)
        defaults.step.power_limit_w = arguments->limits.value[0];
    if (rt_report_is_diverted())
        return rt_fail(RT_EUSAGE,
                       "{jobs} is for the program; a library calls rooftile_forecast_fields a step");
    int status = rt_predictor_open(arguments->predictor, &predictor);
    if (status != RT_OK)
        return status;
    status = rt_job_lines(arguments->jobs, &predictor, &defaults, stdout);
    rt_predictor_release(&predictor);
    return status;
}

static int run(const struct rt_command_line *line)
{
    struct arguments *arguments = line->options;
    arguments->data_given = rt_given(line, "dp");
    int status = check_jobs(line);
    if (status == RT_OK && arguments->jobs != NULL)
        return predict_jobs(arguments);
    if (status == RT_OK)
        status = check_arguments(arguments);
    if (status == RT_OK)
        status = check_shares(line);
    if (status == RT_OK)
        status = check_limits(arguments);
    if (status == RT_OK)
        status = check_max_batch(line);
    if (status == RT_OK)
        status = rt_outputs_check(line);
    return status == RT_OK ? predict_models(arguments) : status;
}

const struct rt_command rt_command_predict = {
    .name = "predict",
    .also = "forecast estimate",
    .brief = "forecast how long a model takes on a GPU",
    .about = "Forecasts how long one step of a model takes: the model becomes a graph of ops, the predictor "
             "forecasts each kernel, and they are added up. Several models, GPUs, batches or sequences give "
             "one table.",
    .details =
        "Ops that only move data have no network of their own; they take as long as elementwise ops of as "
        "many bytes, and are listed. docs/guide/predict.md says what is counted and what is not.\n\n"
        "Example: a model of the Hub on a GPU that is not in the room\n"
        "  rooftile predict --gpu B200 --model Qwen/Qwen3.5-27B --mode decode --batch 32 --context 4096\n"
        "Example: an epoch of ImageNet, with its images copied from page-locked memory\n"
        "  rooftile predict --gpu A100-SXM4-40GB -m resnet50 --mode training --batch 256 --autocast \\\n"
        "    --layout nhwc --optimizer sgd --input pinned --overlap --dataset-size 1281167\n"
        "Example: how many SMs are enough, of a GPU that several models share\n"
        "  rooftile predict --gpu V100 -m resnet50 --batch 1,8,32 --sm-share 10:100:10\n"
        "Example: the power limit that takes the least energy\n"
        "  rooftile predict --gpu H100 -m gpt2-large --mode training --batch 8 --power-limit 200:700:50\n"
        "Example: which batch still fits when training on 4 GPUs\n"
        "  rooftile predict -p predictor.h5 --gpu A100-SXM4-40GB -m gpt2-large --mode training --dp 4 \\\n"
        "    --optimizer adamw --batch 4,8,16,32",
    RT_RUNS(run, struct arguments, options),
    .set_defaults = set_defaults,
    .in_library = true,
    .operands = RT_NO_OPERANDS("name a GPU with --gpu and a model with --model"),
};
