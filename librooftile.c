/* The library's functions over the rooms: every object wraps what a room knows it by. See rooftile.h. */
#include "rooftile.h"
#include "base/locale.h"
#include "base/report.h"
#include "base/status.h"
#include "base/units.h"
#include "base/version.h"
#include "commands.h"
#include "models/networks/vision/vision.h"
#include "models/networks/source.h"
#include "predict/step/power_limit.h"
#include "predict/step/prediction.h"
#include "predict/step/breakdown.h"
#include "predict/step/energy.h"
#include "predict/step/forecast_graphs.h"
#include "predict/step/memory.h"
#include "predict/step/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 0.9 /* of intervals */

struct rooftile_device {
    struct rt_device device;
    char *changes; /* "sms=100": what was changed of it; NULL: nothing */
};
struct rooftile_predictor {
    struct rt_predictor predictor;
    char *name; /* as it was opened */
    atomic_int
        users; /* whoever opened it and has not freed it, and forecasts, which ask it for their energy */
};
struct rooftile_model {
    struct rt_model_source source;
    char *spec; /* as it was asked for */
    struct rt_onnx_given onnx;
};
struct rooftile_forecast {
    struct rt_prediction prediction; /* of time; memory and energy follow when they are asked for */
    struct rooftile_predictor *predictor;
    struct rt_model_source source; /* of sizes; its graphs say what would take less memory */
    char *model, *changes;
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

/* ---- what must be given ---- */

/* Of pointers named "spec, out": is none NULL? Else the thread's sentence says which. */
static bool given(const char *function, const char *names, const void *const *pointers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pointers[i] == NULL) {
            rt_fail(RT_EUSAGE, "%s: of %s, number %zu is NULL, and must be given", function, names, i + 1);
            return false;
        }
    return true;
}
#define GIVEN(...)                                                                                           \
    given(__func__, #__VA_ARGS__, (const void *const[]){__VA_ARGS__},                                        \
          RT_COUNT(((const void *const[]){__VA_ARGS__})))

/* The same of a list of texts; one of none may be NULL. */
static bool all_given(const char *function, const char *const *texts, size_t count)
{
    if (count > 0 && texts == NULL) {
        rt_fail(RT_EUSAGE, "%s: a list of %zu texts is NULL, and must be given", function, count);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (texts[i] == NULL) {
            rt_fail(RT_EUSAGE, "%s: text %zu of a list is NULL, and must be given", function, i + 1);
            return false;
        }
    return true;
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
    if (!GIVEN(spec, out))
        return RT_EUSAGE;
    RT_C_LOCALE;
    struct rooftile_device found = {.changes = NULL};
    int status = rt_device_find(spec, &found.device);
    if (status != RT_OK)
        return status;
    const char *comma = strchr(spec, ',');
    found.changes = comma != NULL ? rt_strdup(comma + 1) : NULL;
    *out = rt_malloc(sizeof found);
    **out = found;
    return RT_OK;
}

void rooftile_device_free(rooftile_device *device)
{
    if (device != NULL)
        free(device->changes);
    free(device);
}

const char *rooftile_device_name(const rooftile_device *device)
{
    if (!GIVEN(device))
        return NULL;
    return device->device.name;
}

int rooftile_device_number(const rooftile_device *device, const char *key, double *value)
{
    if (!GIVEN(device, key, value))
        return RT_EUSAGE;
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
    if (!GIVEN(name, out))
        return RT_EUSAGE;
    RT_C_LOCALE;
    struct rooftile_predictor *opened = rt_calloc(1, sizeof *opened);
    pthread_mutex_lock(&files);
    int status = rt_predictor_open(name, &opened->predictor);
    pthread_mutex_unlock(&files);
    if (status != RT_OK) {
        free(opened);
        return status;
    }
    opened->name = rt_strdup(name);
    opened->users = 1;
    *out = opened;
    return RT_OK;
}

void rooftile_predictor_free(rooftile_predictor *predictor)
{
    if (predictor == NULL || atomic_fetch_sub(&predictor->users, 1) > 1)
        return;
    rt_predictor_release(&predictor->predictor);
    free(predictor->name);
    free(predictor);
}

int rooftile_predictor_knows(const rooftile_predictor *predictor, const rooftile_device *device)
{
    if (!GIVEN(predictor, device))
        return RT_EUSAGE;
    return !device->device.altered &&
           (rt_predictor_knows_device(&predictor->predictor, device->device.name) ||
            rt_predictor_knows_device(&predictor->predictor, rt_device_board(&device->device)));
}

/* ---- kernels ---- */

int rooftile_kernel_us(const rooftile_predictor *predictor, const rooftile_device *device, const char *call,
                       double *time_us, double *interval_us)
{
    if (!GIVEN(predictor, device, call, time_us))
        return RT_EUSAGE;
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
    double ln_half_width = rt_predictor_interval(&predictor->predictor, &device->device, &query, LEVEL);
    interval_us[0] = us * exp(-ln_half_width);
    interval_us[1] = us * exp(ln_half_width);
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
    if (!GIVEN(name, out))
        return RT_EUSAGE;
    RT_C_LOCALE;
    struct rooftile_model found = {0};
    int status = rt_model_is_onnx(name)
                     ? rt_fail(RT_EUSAGE, "%.200s is an ONNX model: rooftile_model_onnx opens it", name)
                     : rt_model_source_find(name, &found.source);
    if (status != RT_OK)
        return status;
    found.source.spec = found.spec = rt_strdup(name);
    *out = rt_malloc(sizeof found);
    **out = found;
    return RT_OK;
}

int rooftile_model_onnx(const char *path, const char *const *dims, size_t count, rooftile_model **out)
{
    if (!GIVEN(path, out) || !all_given(__func__, dims, count))
        return RT_EUSAGE;
    RT_C_LOCALE;
    struct rt_model_source source;
    int status = rt_model_is_onnx(path)
                     ? rt_model_source_find(path, &source)
                     : rt_fail(RT_EUSAGE, "\"%.200s\" is no ONNX model: its name ends in .onnx", path);
    if (status != RT_OK)
        return status;
    struct rooftile_model *model = rt_calloc(1, sizeof *model);
    model->source = source;
    model->source.spec = model->spec = rt_strdup(path);
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
    free(model->spec);
    free(model);
}

void rooftile_step_init(struct rooftile_step *step)
{
    if (!GIVEN(step))
        return;
    *step = (struct rooftile_step){0};
}

const char *rooftile_step_field(size_t i)
{
    return i < RT_STEP_FIELDS ? rt_step_field_names[i] : NULL;
}

static int set_text(struct rt_step *step, const char *field, const char *text)
{
    return text == NULL ? RT_OK : rt_step_set(step, field, text);
}

static int set_number(struct rt_step *step, const char *field, int64_t number)
{
    if (number == 0)
        return RT_OK;
    char *text = rt_format("%" PRId64, number);
    int status = rt_step_set(step, field, text);
    free(text);
    return status;
}

/* The fields of the header's struct, by the names of all fields. */
static int step_of(const struct rooftile_step *from, struct rt_step *to)
{
    const struct {
        const char *field, *text;
        int64_t number;
    } fields[] = {
        {"mode", from->mode, 0},
        {"dtype", from->dtype, 0},
        {"optimizer", from->optimizer, 0},
        {"runtime", from->runtime, 0},
        {"kv_cache", from->kv_cache, 0},
        {"batch", NULL, from->batch},
        {"seq", NULL, from->sequence},
        {"context", NULL, from->context},
        {"tp", NULL, from->tensor_parallel},
        {"dp", NULL, from->data_parallel},
        {"ep", NULL, from->expert_parallel},
        {"attention_dp", NULL, from->attention_data_parallel},
    };
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < RT_COUNT(fields); i++) {
        status = set_text(to, fields[i].field, fields[i].text);
        if (status == RT_OK)
            status = set_number(to, fields[i].field, fields[i].number);
    }
    to->fusion = from->fusion;
    return status;
}

/* "kv_cache=fp8" */
static int set_field(struct rt_step *step, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL)
        return rt_fail(RT_EUSAGE, "\"%.60s\" is no field=value, such as batch=8", text);
    char *field = rt_format("%.*s", (int)(equals - text), text);
    int status = rt_step_set(step, field, equals + 1);
    free(field);
    return status;
}

/* ---- forecasts ---- */

static const struct rt_step asked_by_default = RT_STEP_NOT_GIVEN;

static int forecast(struct rooftile_forecast *out, const struct rt_step *step,
                    const struct rt_model_source *source, const struct rt_device *device)
{
    struct rt_prediction *prediction = &out->prediction;
    int status = rt_prediction_begin(step, source, device, prediction);
    if (status != RT_OK)
        return status;
    struct rt_forecast_options how = rt_prediction_how(prediction);
    how.fallback = true;
    prediction->predictor = &out->predictor->predictor;
    status = rt_forecast_graph(&prediction->graph, prediction->predictor, &prediction->device, &how,
                               &prediction->forecast);
    if (status == RT_OK && !isnan(step->power_limit_w))
        status = rt_forecast_cap_power(&prediction->forecast, &prediction->device, prediction->predictor,
                                       step->power_limit_w);
    return status;
}

static int forecast_asked(const rooftile_predictor *predictor, const rooftile_device *device,
                          const rooftile_model *model, const struct rt_step *asked, rooftile_forecast **out)
{
    struct rooftile_forecast *made = rt_calloc(1, sizeof *made);
    made->predictor = (struct rooftile_predictor *)(uintptr_t)predictor; /* counted, else not changed */
    atomic_fetch_add(&made->predictor->users, 1);
    made->model = rt_strdup(model->spec);
    made->source = model->source;
    made->source.spec = made->model;
    made->source.onnx = NULL; /* the model's, which may go before the forecast */
    made->changes = device->changes != NULL ? rt_strdup(device->changes) : NULL;
    int status = forecast(made, asked, &model->source, &device->device);
    made->prediction.model = made->model;
    made->prediction.predictor_name = predictor->name;
    made->prediction.gpu_changes = made->changes;
    if (status == RT_OK)
        *out = made;
    else
        rooftile_forecast_free(made);
    return status;
}

int rooftile_forecast_step(const rooftile_predictor *predictor, const rooftile_device *device,
                           const rooftile_model *model, const struct rooftile_step *step,
                           rooftile_forecast **out)
{
    if (!GIVEN(predictor, device, model, step, out))
        return RT_EUSAGE;
    RT_C_LOCALE;
    struct rt_step asked = asked_by_default;
    asked.level = LEVEL;
    int status = step_of(step, &asked);
    return status == RT_OK ? forecast_asked(predictor, device, model, &asked, out) : status;
}

int rooftile_forecast_fields(const rooftile_predictor *predictor, const rooftile_device *device,
                             const rooftile_model *model, const char *const *fields, size_t count,
                             rooftile_forecast **out)
{
    if (!GIVEN(predictor, device, model, out) || !all_given(__func__, fields, count))
        return RT_EUSAGE;
    RT_C_LOCALE;
    struct rt_step asked = asked_by_default;
    int status = RT_OK;
    asked.level = LEVEL;
    for (size_t i = 0; status == RT_OK && i < count; i++)
        status = set_field(&asked, fields[i]);
    return status == RT_OK ? forecast_asked(predictor, device, model, &asked, out) : status;
}

void rooftile_forecast_free(rooftile_forecast *forecast)
{
    if (forecast == NULL)
        return;
    rt_prediction_release(&forecast->prediction);
    rooftile_predictor_free(forecast->predictor);
    free(forecast->model);
    free(forecast->changes);
    free(forecast);
}

/* The forecast with more of it computed: a copy, as threads may share the object. Its arrays are the
 * object's. */
static struct rt_forecast with(const struct rooftile_forecast *forecast, unsigned wants)
{
    struct rt_forecast more = forecast->prediction.forecast;
    bool limited = !isnan(forecast->prediction.settled.step.power_limit_w); /* has it already */
    if ((wants & RT_WANT_ENERGY) && !limited) {
        more.options.energy = true;
        rt_forecast_sum_energy(&more, &forecast->predictor->predictor);
    }
    if (wants & RT_WANT_MEMORY)
        rt_forecast_sum_memory(&more);
    return more;
}

void rooftile_forecast_totals(const rooftile_forecast *forecast, struct rooftile_totals *out)
{
    if (!GIVEN(forecast, out))
        return;
    const struct rt_forecast step = with(forecast, RT_WANT_MEMORY);
    struct rt_graph_totals totals;
    rt_graph_totals(&forecast->prediction.graph, &totals);
    *out = (struct rooftile_totals){.time_ms = step.total_us / 1e3,
                                    .low_ms = step.interval_low_us / 1e3,
                                    .high_ms = step.interval_high_us / 1e3,
                                    .forward_ms = step.forward_us / 1e3,
                                    .backward_ms = step.backward_us / 1e3,
                                    .communication_ms = step.communication_us / 1e3,
                                    .coverage = step.coverage,
                                    .parameters = totals.parameters,
                                    .memory_gib = step.taken.used / RT_GIB,
                                    .device_memory_gib = step.memory_bytes / RT_GIB};
    for (int p = 0; p < RT_PHASE_COUNT; p++)
        out->flops += totals.flops[p];
}

int rooftile_forecast_op(const rooftile_forecast *forecast, size_t i, struct rooftile_op_time *out)
{
    if (!GIVEN(forecast, out))
        return 0;
    struct rt_forecast_row rows[RT_OP_COUNT * RT_TIME_SOURCE_COUNT];
    if (i >= rt_forecast_rows(&forecast->prediction.forecast, rows))
        return 0;
    *out = (struct rooftile_op_time){.op = rt_ops[rows[i].op].name,
                                     .time_ms = rows[i].time_us / 1e3,
                                     .bound_ms = rows[i].roofline_us / 1e3,
                                     .kernels = rows[i].launches};
    return 1;
}

int rooftile_forecast_number(const rooftile_forecast *forecast, const char *key, double *value)
{
    if (!GIVEN(forecast, key, value))
        return RT_EUSAGE;
    const struct rt_forecast_number *number = rt_forecast_number_named(key);
    bool fits = strcmp(key, "fits") == 0;
    if (number == NULL && !fits)
        return rt_fail(RT_ENOTFOUND, "\"%.60s\" is no number of a forecast; rooftile.h lists them", key);
    struct rt_forecast step = with(forecast, fits ? RT_WANT_MEMORY : number->wants);
    *value = fits ? rt_forecast_fits(&step) : rt_forecast_number(&step, number);
    return RT_OK;
}

static char *json_text(json_t *json);

int rooftile_forecast_json(const rooftile_forecast *forecast, char **json)
{
    if (!GIVEN(forecast, json))
        return RT_EUSAGE;
    RT_C_LOCALE;
    struct rt_prediction whole = forecast->prediction;
    whole.forecast = with(forecast, RT_WANT_MEMORY | RT_WANT_ENERGY);
    if (!rt_forecast_fits(&whole.forecast) && !rt_model_source_traced(&forecast->source)) {
        struct rt_fit_case fit = rt_prediction_fit(&whole, &forecast->source);
        whole.advice.change_count = rt_fit_changes(&fit, whole.advice.changes);
    }
    struct rt_report *report = rt_prediction_report(&whole, false);
    char *text = json_text(rt_report_json_whole(report));
    rt_report_free(report);
    if (text == NULL)
        return rt_fail(RT_EIO, "there is no memory for the report");
    *json = text;
    return RT_OK;
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
    if (!GIVEN(json) || !all_given(__func__, words, count))
        return RT_EUSAGE;
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
