/* See job_lines.h. */
#include "predict/step/job_lines.h"
#include "base/array.h"
#include "base/report.h"
#include "base/status.h"
#include "base/text.h"
#include "predict/step/forecast_graphs.h"
#include "predict/step/numbers.h"
#include "predict/step/power_limit.h"
#include "predict/step/prediction.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Devices and models are looked up once: a file of ten thousand lines names a few. */
struct named_device {
    char *spec;
    struct rt_device device;
};
struct named_model {
    char *spec;
    struct rt_model_source source;
};

struct lines {
    const struct rt_predictor *predictor;
    const struct rt_job_line_defaults *defaults;
    struct rt_network_memo *memo;
    struct named_device **devices;
    struct named_model **models;
    size_t device_count, device_capacity, model_count, model_capacity;
    size_t line, wrong;
    FILE *out;
};

static int find_device(struct lines *lines, const char *spec, const struct rt_device **out)
{
    for (size_t i = lines->device_count; i-- > 0;)
        if (strcmp(lines->devices[i]->spec, spec) == 0) {
            *out = &lines->devices[i]->device;
            return RT_OK;
        }
    struct rt_device device;
    int status = rt_device_find(spec, &device);
    if (status != RT_OK)
        return status;
    struct named_device *named = rt_malloc(sizeof *named);
    *named = (struct named_device){rt_strdup(spec), device};
    RT_GROW(lines->devices, lines->device_count, 1, lines->device_capacity);
    lines->devices[lines->device_count++] = named;
    *out = &named->device;
    return RT_OK;
}

static int find_model(struct lines *lines, const char *spec, const struct rt_model_source **out)
{
    for (size_t i = lines->model_count; i-- > 0;)
        if (strcmp(lines->models[i]->spec, spec) == 0) {
            *out = &lines->models[i]->source;
            return RT_OK;
        }
    struct named_model *named = rt_calloc(1, sizeof *named);
    int status = rt_model_source_find(spec, &named->source);
    if (status != RT_OK) {
        free(named);
        return status;
    }
    named->spec = rt_strdup(spec);
    named->source.spec = named->spec;
    named->source.quiet = true;
    RT_GROW(lines->models, lines->model_count, 1, lines->model_capacity);
    lines->models[lines->model_count++] = named;
    *out = &named->source;
    return RT_OK;
}

/* ---- a line's fields ---- */

/* As the command line would write it; NULL: a kind of JSON that no field has. Free with free(). */
static char *words_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        return rt_strdup(json_string_value(value));
    case JSON_INTEGER:
        return rt_format("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    case JSON_REAL:
        return rt_format("%.17g", json_real_value(value));
    case JSON_TRUE:
    case JSON_FALSE:
        return rt_strdup(json_is_true(value) ? "true" : "false");
    default:
        return NULL;
    }
}

static char *field_words(const json_t *value)
{
    if (!json_is_array(value) || json_array_size(value) == 0)
        return words_of(value);
    struct rt_text list = {0};
    for (size_t i = 0; i < json_array_size(value); i++) {
        char *one = words_of(json_array_get(value, i));
        if (one == NULL) {
            rt_text_release(&list);
            return NULL;
        }
        rt_text_item(&list, ",", "%s", one);
        free(one);
    }
    return rt_text_take(&list);
}

/* What a job says; texts that the step points to are kept as long. */
struct job {
    const char *model, *gpu;
    struct rt_step step;
    char *kept[RT_STEP_FIELDS + 2];
    size_t kept_count;
};

static int take_field(struct job *job, const char *key, const json_t *value)
{
    if (strcmp(key, "id") == 0 || json_is_null(value))
        return RT_OK;
    char *words = field_words(value);
    if (words == NULL)
        return rt_fail(RT_EUSAGE, "\"%.40s\": must be a text, a number, true, false or a list of them", key);
    if (job->kept_count == RT_COUNT(job->kept)) { /* as many as have names: one has none */
        free(words);
        return rt_fail(RT_EUSAGE, "\"%.40s\" is one field more than a job has", key);
    }
    job->kept[job->kept_count++] = words;
    if (strcmp(key, "model") == 0)
        job->model = words;
    else if (strcmp(key, "gpu") == 0)
        job->gpu = words;
    else
        return rt_step_set(&job->step, key, words);
    return RT_OK;
}

static int take_fields(const struct lines *lines, const json_t *object, struct job *job)
{
    const char *key;
    json_t *value;
    int status = RT_OK;
    *job = (struct job){
        .model = lines->defaults->model, .gpu = lines->defaults->gpu, .step = lines->defaults->step};
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (status == RT_OK)
            status = take_field(job, key, value);
    }
    if (status == RT_OK && job->model == NULL)
        status = rt_fail(RT_EUSAGE, "says no model, such as \"model\": \"gpt2-large\"");
    if (status == RT_OK && job->gpu == NULL)
        status = rt_fail(RT_EUSAGE, "says no GPU, such as \"gpu\": \"H100\"");
    return status;
}

/* ---- its forecast ---- */

static void add_numbers(const struct rt_prediction *prediction, json_t *to)
{
    const struct rt_forecast *f = &prediction->forecast;
    json_object_set_new(to, "model", rt_json_text(prediction->model));
    json_object_set_new(to, "gpu", rt_json_text(prediction->device.name));
    json_object_set_new(to, "items_per_s",
                        rt_json_number(rt_prediction_items(prediction) / (f->total_us / 1e6)));
    json_object_set_new(to, "fits", json_boolean(rt_forecast_fits(f)));
    for (size_t i = 0; i < rt_forecast_number_count; i++)
        json_object_set_new(to, rt_forecast_numbers[i].key,
                            rt_json_number(rt_forecast_number(f, &rt_forecast_numbers[i])));
}

static int forecast(struct lines *lines, const struct job *job, json_t *to)
{
    const struct rt_device *device;
    const struct rt_model_source *source;
    struct rt_prediction prediction = {.predictor = lines->predictor};
    int status = find_device(lines, job->gpu, &device);
    if (status == RT_OK)
        status = find_model(lines, job->model, &source);
    if (status != RT_OK)
        return status;
    status = rt_prediction_begin(&job->step, source, device, &prediction);
    if (status == RT_OK) {
        struct rt_forecast_options how = rt_prediction_how(&prediction);
        how.fallback = lines->defaults->fallback;
        how.memo = lines->memo;
        status = rt_forecast_graph(&prediction.graph, lines->predictor, &prediction.device, &how,
                                   &prediction.forecast);
    }
    if (status == RT_OK && !isnan(job->step.power_limit_w))
        status = rt_forecast_cap_power(&prediction.forecast, &prediction.device, lines->predictor,
                                       job->step.power_limit_w);
    if (status == RT_OK)
        add_numbers(&prediction, to);
    rt_prediction_release(&prediction);
    return status;
}

/* ---- lines ---- */

static void do_job(struct lines *lines, const char *text, size_t length)
{
    json_error_t wrong;
    struct job job = {.kept_count = 0};
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &wrong);
    json_t *answer = json_pack("{s:i, s:I}", "schema", RT_REPORT_SCHEMA, "line", (json_int_t)lines->line);
    int status =
        object == NULL ? rt_fail(RT_EFORMAT, "column %d: not JSON: %s", wrong.column, wrong.text)
        : !json_is_object(object)
            ? rt_fail(RT_EFORMAT, "is no object of JSON, such as {\"model\": \"gpt2\", \"gpu\": \"H100\"}")
            : take_fields(lines, object, &job);
    if (json_object_get(object, "id") != NULL)
        json_object_set(answer, "id", json_object_get(object, "id"));
    if (status == RT_OK)
        status = forecast(lines, &job, answer);
    if (status != RT_OK) {
        json_object_set_new(answer, "error", rt_report_error(status));
        lines->wrong++;
    }
    for (size_t i = 0; i < job.kept_count; i++)
        free(job.kept[i]);
    json_decref(object);
    rt_json_print_line(answer, lines->out);
}

static void release(struct lines *lines)
{
    for (size_t i = 0; i < lines->device_count; i++) {
        free(lines->devices[i]->spec);
        free(lines->devices[i]);
    }
    for (size_t i = 0; i < lines->model_count; i++) {
        free(lines->models[i]->spec);
        free(lines->models[i]);
    }
    free(lines->devices);
    free(lines->models);
    rt_network_memo_free(lines->memo);
}

static size_t count_lines(FILE *in)
{
    char *text = NULL;
    size_t size = 0, count = 0;
    while (getline(&text, &size, in) >= 0)
        count++;
    free(text);
    rewind(in);
    return count;
}

static void read_lines(struct lines *lines, FILE *in)
{
    struct rt_shard shard = lines->defaults->shard;
    size_t all = shard.of > 0 ? count_lines(in) : 0;
    size_t first = shard.of > 0 ? all * (shard.number - 1) / shard.of : 0;
    size_t end = shard.of > 0 ? all * shard.number / shard.of : SIZE_MAX;
    char *text = NULL;
    size_t size = 0;
    for (ssize_t length; (length = getline(&text, &size, in)) >= 0;) {
        bool ours = lines->line >= first && lines->line < end;
        lines->line++;
        if (ours && strspn(text, " \t\r\n") < (size_t)length)
            do_job(lines, text, (size_t)length);
        if (in == stdin) /* whoever writes the lines may wait for each answer */
            fflush(lines->out);
    }
    free(text);
}

int rt_job_lines(const char *path, const struct rt_predictor *predictor,
                 const struct rt_job_line_defaults *defaults, FILE *out)
{
    if (strcmp(path, "-") == 0 && defaults->shard.of > 0)
        return rt_fail(
            RT_EUSAGE,
            "{shard}: give {jobs} a file; how many lines come from standard input is known at its end");
    FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (in == NULL)
        return rt_fail(RT_EIO, "%s: cannot be read: %s", path, strerror(errno));
    struct lines lines = {
        .predictor = predictor, .defaults = defaults, .memo = rt_network_memo_new(), .out = out};
    read_lines(&lines, in);
    int status = ferror(in) ? rt_fail(RT_EIO, "%s: cannot be read: %s", path, strerror(errno))
                 : lines.wrong > 0
                     ? rt_fail(RT_EFORMAT, "%s: %zu of %zu lines have no forecast; their \"error\" says why",
                               path, lines.wrong, lines.line)
                 : lines.line == 0 ? rt_fail(RT_EFORMAT, "%s: holds no line; a job is a line of JSON", path)
                                   : RT_OK;
    if (in != stdin)
        fclose(in);
    release(&lines);
    return status;
}
