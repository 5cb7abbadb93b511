/* The library's functions over the rooms: every object wraps what a room knows it by. See rooftile.h. */
#include "rooftile.h"
#include "base/locale.h"
#include "base/report.h"
#include "base/status.h"
#include "base/version.h"
#include "commands.h"
#include "models/networks/vision/vision.h"
#include "models/networks/source.h"
#include "predict/step/forecast.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 0.9 /* of intervals */

struct rooftile_device {
    struct rt_device device;
};
struct rooftile_predictor {
    struct rt_predictor predictor;
};
struct rooftile_model {
    struct rt_model_source source;
    char *path; /* of an ONNX model, else NULL */
    struct rt_onnx_given onnx;
};
struct rooftile_forecast {
    struct rt_device device;
    struct rt_graph graph;
    struct rt_forecast forecast; /* of the two */
    struct rt_forecast_row row[RT_OP_COUNT * RT_TIME_SOURCE_COUNT];
    size_t rows;
};

/* Debian's HDF5 is not built for threads. */
static pthread_mutex_t files = PTHREAD_MUTEX_INITIALIZER;

const char *rooftile_version(void)
{
    return RT_VERSION;
}

const char *rooftile_error(void)
{
    return rt_error();
}

/* ---- devices ---- */

const char *rooftile_device_catalogue(size_t i)
{
    RT_C_LOCALE;
    static _Thread_local struct rt_device device;
    if (i >= rt_device_catalogue_size() || rt_device_catalogue(i, &device) != RT_OK)
        return NULL;
    return device.name;
}

int rooftile_device_find(const char *spec, rooftile_device **out)
{
    RT_C_LOCALE;
    struct rooftile_device found;
    int status = rt_device_find(spec, &found.device);
    if (status != RT_OK)
        return status;
    *out = rt_malloc(sizeof found);
    **out = found;
    return RT_OK;
}

void rooftile_device_free(rooftile_device *device)
{
    free(device);
}

const char *rooftile_device_name(const rooftile_device *device)
{
    return device->device.name;
}

int rooftile_device_number(const rooftile_device *device, const char *key, double *value)
{
    RT_C_LOCALE;
    for (size_t f = 0; f < rt_device_field_count; f++)
        if (strcmp(rt_device_fields[f].key, key) == 0) {
            struct rt_device copy = device->device;
            *value = *rt_device_value(&copy, f);
            return RT_OK;
        }
    return rt_fail(RT_ENOTFOUND,
                   "\"%.60s\" is no number of a device; `rooftile devices NAME --json` lists them", key);
}

/* ---- predictors ---- */

int rooftile_predictor_open(const char *name, rooftile_predictor **out)
{
    RT_C_LOCALE;
    struct rooftile_predictor opened;
    pthread_mutex_lock(&files);
    int status = rt_predictor_open(name, &opened.predictor);
    pthread_mutex_unlock(&files);
    if (status != RT_OK)
        return status;
    *out = rt_malloc(sizeof opened);
    **out = opened;
    return RT_OK;
}

void rooftile_predictor_free(rooftile_predictor *predictor)
{
    if (predictor != NULL)
        rt_predictor_release(&predictor->predictor);
    free(predictor);
}

int rooftile_predictor_knows(const rooftile_predictor *predictor, const rooftile_device *device)
{
    return !device->device.altered &&
           (rt_predictor_knows_device(&predictor->predictor, device->device.name) ||
            rt_predictor_knows_device(&predictor->predictor, rt_device_board(&device->device)));
}

/* ---- kernels ---- */

int rooftile_kernel_us(const rooftile_predictor *predictor, const rooftile_device *device, const char *call,
                       double *time_us, double *interval_us)
{
    RT_C_LOCALE;
    struct rt_call parsed;
    struct rt_query query;
    double us;
    uint8_t skip;
    int status = rt_call_parse(call, NULL, NULL, &parsed);
    if (status != RT_OK)
        return status;
    rt_query_init(&query, &parsed);
    rt_predictor_forecast(&predictor->predictor, &device->device, &query, 1, NULL, &us, &skip);
    if (skip != RT_SKIP_NONE)
        return rt_fail(RT_ENOTFOUND, "%.200s on %s: %s", call, device->device.name, rt_skip_words[skip]);
    *time_us = us;
    if (interval_us == NULL)
        return RT_OK;
    double half = rt_predictor_interval(&predictor->predictor, &device->device, &query, LEVEL);
    interval_us[0] = us * exp(-half);
    interval_us[1] = us * exp(half);
    return RT_OK;
}

/* ---- models ---- */

const char *rooftile_model_catalogue(size_t i)
{
    RT_C_LOCALE;
    static _Thread_local struct rt_model model;
    if (i < rt_zoo_size())
        return rt_zoo_model(i, &model) == RT_OK ? model.name : NULL;
    const struct rt_vision *vision = rt_vision_at(i - rt_zoo_size());
    return vision != NULL ? vision->name : NULL;
}

int rooftile_model_find(const char *name, rooftile_model **out)
{
    RT_C_LOCALE;
    struct rooftile_model found = {0};
    int status = rt_model_find(name, &found.source.model);
    if (status != RT_OK)
        return status;
    *out = rt_malloc(sizeof found);
    **out = found;
    return RT_OK;
}

int rooftile_model_onnx(const char *path, const char *const *dims, size_t count, rooftile_model **out)
{
    RT_C_LOCALE;
    struct rt_model_source source;
    int status = rt_model_is_onnx(path)
                     ? rt_model_source_find(path, &source)
                     : rt_fail(RT_EUSAGE, "\"%.200s\" is no ONNX model: its name ends in .onnx", path);
    if (status != RT_OK)
        return status;
    struct rooftile_model *model = rt_calloc(1, sizeof *model);
    model->source = source;
    model->source.spec = model->path = rt_strdup(path);
    model->source.onnx = &model->onnx;
    for (size_t i = 0; i < count; i++)
        rt_names_add(&model->onnx.dims, rt_strdup(dims[i]));
    *out = model;
    return RT_OK;
}

void rooftile_model_free(rooftile_model *model)
{
    if (model == NULL)
        return;
    for (size_t i = 0; i < model->onnx.dims.count; i++)
        free((char *)model->onnx.dims.name[i]);
    rt_names_release(&model->onnx.dims);
    free(model->path);
    free(model);
}

void rooftile_step_init(struct rooftile_step *step)
{
    *step = (struct rooftile_step){.mode = rt_steps[RT_STEP_PREFILL],
                                   .dtype = NULL,
                                   .optimizer = rt_optimizers[RT_OPTIMIZER_NONE],
                                   .batch = 1,
                                   .sequence = 512,
                                   .context = 512,
                                   .tensor_parallel = 1,
                                   .expert_parallel = 1,
                                   .attention_data_parallel = 1,
                                   .data_parallel = 1};
}

static int find_name(const char *what, const char *name, const char *const *names, int count, int *found)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) {
            *found = i;
            return RT_OK;
        }
    return rt_fail(RT_EUSAGE, "\"%.60s\" is no %s; see rooftile.h", name, what);
}

static int find_dtype(const struct rooftile_step *step, const struct rooftile_model *model,
                      enum rt_dtype *out)
{
    if (step->dtype == NULL && model->path != NULL)
        return RT_OK;
    if (step->dtype == NULL)
        return rt_model_dtype(&model->source.model, out);
    int dtype = rt_dtype_find(step->dtype);
    if (dtype < 0)
        return rt_fail(RT_ENOTFOUND, "\"%.60s\" is no dtype", step->dtype);
    *out = (enum rt_dtype)dtype;
    return RT_OK;
}

static int find_runtime(const struct rooftile_step *step, const struct rooftile_model *model,
                        enum rt_step_kind mode, enum rt_dtype dtype, int *out)
{
    if (step->runtime != NULL)
        return find_name("runtime", step->runtime, rt_runtime_names, RT_RUNTIME_COUNT, out);
    *out = model->path != NULL ? RT_RUNTIME_EAGER
                               : (int)rt_model_default_runtime(&model->source.model, mode, dtype);
    return RT_OK;
}

static int graph_options(const struct rooftile_step *step, const struct rooftile_model *model,
                         const struct rt_device *device, struct rt_graph_options *out)
{
    int mode = 0, optimizer = 0, runtime = 0;
    enum rt_dtype dtype = RT_FP32;
    int status = find_name("mode", step->mode, rt_steps, RT_STEP_COUNT, &mode);
    if (status == RT_OK)
        status = find_name("optimizer", step->optimizer, rt_optimizers, RT_OPTIMIZER_COUNT, &optimizer);
    if (status == RT_OK)
        status = find_dtype(step, model, &dtype);
    if (status == RT_OK)
        status = find_runtime(step, model, (enum rt_step_kind)mode, dtype, &runtime);
    if (status == RT_OK && step->kv_cache != NULL && strcmp(step->kv_cache, "fp8") != 0)
        status = rt_fail(RT_EUSAGE, "kv_cache \"%.20s\" is unknown; it is fp8 or NULL", step->kv_cache);
    if (status == RT_OK && step->data_parallel < 1)
        status =
            rt_fail(RT_EUSAGE, "data_parallel is %lld; it must be 1 or more", (long long)step->data_parallel);
    if (status != RT_OK)
        return status;
    *out = (struct rt_graph_options){.step = (enum rt_step_kind)mode,
                                     .batch = step->batch,
                                     .sequence = step->sequence,
                                     .context = step->context,
                                     .tensor_parallel = step->tensor_parallel,
                                     .expert_parallel = step->expert_parallel,
                                     .attention_data_parallel = step->attention_data_parallel,
                                     .runtime = (enum rt_runtime_id)runtime,
                                     .kv_bits = step->kv_cache != NULL        ? 8
                                                : rt_runtimes[runtime].served ? model->source.model.kv_bits
                                                                              : 0,
                                     .dtype = dtype,
                                     .fp16_beside = !rt_device_has_bf16(device),
                                     .optimizer = (enum rt_optimizer_kind)optimizer,
                                     .fusion = step->fusion};
    return RT_OK;
}

/* ---- forecasts ---- */

static int forecast(const rooftile_predictor *predictor, const rooftile_model *model,
                    const struct rooftile_step *step, struct rooftile_forecast *out)
{
    struct rt_graph_options options;
    struct rt_forecast_options how = {
        .parallel = {.data = step->data_parallel, .pipeline = 1, .microbatches = 1, .link_gbs = NAN},
        .fallback = true,
        .host_us = NAN,
        .energy = true,
        .level = LEVEL};
    int status = graph_options(step, model, &out->device, &options);
    if (status == RT_OK)
        status = model->path == NULL ? rt_graph_build(&model->source.model, &options, &out->graph)
                                     : rt_model_source_graph(&model->source, &options, 0, &out->graph);
    if (status != RT_OK)
        return status;
    status = rt_forecast_graph(&out->graph, &predictor->predictor, &out->device, &how, &out->forecast);
    if (status != RT_OK)
        rt_graph_release(&out->graph);
    else
        out->rows = rt_forecast_rows(&out->forecast, out->row);
    return status;
}

int rooftile_forecast_step(const rooftile_predictor *predictor, const rooftile_device *device,
                           const rooftile_model *model, const struct rooftile_step *step,
                           rooftile_forecast **out)
{
    RT_C_LOCALE;
    struct rooftile_forecast *made = rt_calloc(1, sizeof *made);
    made->device = device->device; /* the forecast keeps a pointer to it, so it lives as long */
    int status = forecast(predictor, model, step, made);
    if (status == RT_OK)
        *out = made;
    else
        free(made);
    return status;
}

void rooftile_forecast_free(rooftile_forecast *forecast)
{
    if (forecast == NULL)
        return;
    rt_forecast_release(&forecast->forecast);
    rt_graph_release(&forecast->graph);
    free(forecast);
}

void rooftile_forecast_totals(const rooftile_forecast *forecast, struct rooftile_totals *out)
{
    const struct rt_forecast *step = &forecast->forecast;
    struct rt_graph_totals totals;
    rt_graph_totals(&forecast->graph, &totals);
    *out = (struct rooftile_totals){.time_ms = step->total_us / 1e3,
                                    .low_ms = step->interval_low_us / 1e3,
                                    .high_ms = step->interval_high_us / 1e3,
                                    .forward_ms = step->forward_us / 1e3,
                                    .backward_ms = step->backward_us / 1e3,
                                    .communication_ms = step->communication_us / 1e3,
                                    .coverage = step->coverage,
                                    .parameters = totals.parameters,
                                    .memory_gib = step->taken.used / 1073741824.0,
                                    .device_memory_gib = step->memory_bytes / 1073741824.0};
    for (int p = 0; p < RT_PHASE_COUNT; p++)
        out->flops += totals.flops[p];
}

int rooftile_forecast_op(const rooftile_forecast *forecast, size_t i, struct rooftile_op_time *out)
{
    if (i >= forecast->rows)
        return 0;
    const struct rt_forecast_row *row = &forecast->row[i];
    *out = (struct rooftile_op_time){.op = rt_ops[row->op].name,
                                     .time_ms = row->time_us / 1e3,
                                     .bound_ms = row->roofline_us / 1e3,
                                     .kernels = row->launches};
    return 1;
}

int rooftile_forecast_number(const rooftile_forecast *forecast, const char *key, double *value)
{
    const struct rt_forecast *step = &forecast->forecast;
    const struct rt_forecast_energy *energy = &step->energy;
    const double gib = 1073741824.0;
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"energy_j", energy->joules * energy->gpus},
                   {"energy_low_j", energy->low_joules * energy->gpus},
                   {"energy_high_j", energy->high_joules * energy->gpus},
                   {"power_w", energy->watts},
                   {"power_low_w", energy->low_watts},
                   {"power_high_w", energy->high_watts},
                   {"limit_w", energy->limit_w},
                   {"clock_mhz", energy->clock_mhz},
                   {"kernels_ms", step->compute_us / 1e3},
                   {"host_ms", step->host_us / 1e3},
                   {"copy_ms", step->copy_us / 1e3},
                   {"weights_gib", step->memory.weights / gib},
                   {"gradients_gib", step->memory.gradients / gib},
                   {"optimizer_gib", step->memory.optimizer / gib},
                   {"activations_gib", step->memory.activations / gib},
                   {"cache_gib", step->memory.cache / gib},
                   {"fits", rt_forecast_fits(step)}};
    for (size_t i = 0; i < RT_COUNT(numbers); i++)
        if (strcmp(numbers[i].key, key) == 0) {
            *value = numbers[i].value;
            return RT_OK;
        }
    return rt_fail(RT_ENOTFOUND, "\"%.60s\" is no number of a forecast; rooftile.h lists them", key);
}

/* ---- reports ---- */

/* The command that the first words name; *depth: how many they are. */
static int find_report(size_t count, const char *const *words, const struct rt_command **out, size_t *depth)
{
    const struct rt_command *command = &rt_program;
    size_t at = 0;
    while (command->command_count > 0) {
        if (at == count)
            return rt_fail(RT_EUSAGE, "the words name no report; {\"predict\", \"--gpu\", ...} is one");
        const struct rt_command *named = rt_command_named(command, words[at]);
        if (named == NULL)
            return rt_command_unknown(command, "rooftile", words[at]);
        command = named;
        at++;
    }
    *out = command;
    *depth = at;
    return command->in_library
               ? RT_OK
               : rt_fail(RT_EUSAGE, "%s is no report of librooftile; run the program", command->name);
}

static bool has_option(const struct rt_command *command, const char *name)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].name != NULL && strcmp(command->options[i].name, name) == 0)
            return true;
    return false;
}

/* {"rooftile predict", "--json", "--quiet", ...}: options first, as "--" may be among the words. */
static int report_arguments(const struct rt_command *command, size_t count, const char *const *words,
                            size_t depth, const char **argv)
{
    int argc = 1;
    argv[argc++] = "--json";
    if (has_option(command, "quiet"))
        argv[argc++] = "--quiet";
    for (size_t i = depth; i < count; i++)
        argv[argc++] = words[i];
    argv[argc] = NULL;
    return argc;
}

static int run_report(const struct rt_command *command, int argc, const char **argv, json_t **json)
{
    struct rt_command_line line;
    int status = rt_command_line_read(command, argc, (char **)argv, &line);
    if (status == RT_OK && line.help)
        status = rt_fail(RT_EUSAGE, "--help is no report; run the program");
    rt_report_divert(json);
    if (status == RT_OK)
        status = command->run(&line);
    rt_report_divert(NULL);
    rt_command_line_release(&line);
    return status == RT_OK && *json == NULL ? rt_fail(RT_EUSAGE, "%s printed no report", argv[0]) : status;
}

static char *json_text(json_t *json)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL)
        return json_decref(json), NULL;
    rt_json_print(json, memory);
    fclose(memory);
    return text;
}

int rooftile_report_json(size_t count, const char *const *words, char **json)
{
    RT_C_LOCALE;
    const struct rt_command *command = NULL;
    json_t *made = NULL;
    size_t depth = 0;
    int status = find_report(count, words, &command, &depth);
    if (status != RT_OK)
        return status;
    const char **argv = rt_malloc((count + 4) * sizeof *argv);
    char *title =
        depth == 2 ? rt_format("rooftile %s %s", words[0], words[1]) : rt_format("rooftile %s", words[0]);
    argv[0] = title;
    pthread_mutex_lock(&files);
    status = run_report(command, report_arguments(command, count, words, depth, argv), argv, &made);
    pthread_mutex_unlock(&files);
    char *text = status == RT_OK ? json_text(made) : NULL;
    if (status != RT_OK)
        json_decref(made);
    else if (text == NULL)
        status = rt_fail(RT_EIO, "no memory for the text of the report");
    else
        *json = text;
    free(title);
    free(argv);
    return status;
}

void rooftile_text_free(char *text)
{
    free(text);
}
