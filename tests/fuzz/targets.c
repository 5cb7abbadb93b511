/* A row per format. See targets.h. */
#include "targets.h"
#include "input_limits.h"
#include "base/options.h"
#include "base/status.h"
#include "datasets/export_csv.h"
#include "datasets/import/import.h"
#include "datasets/validate.h"
#include "models/networks/source.h"
#include "models/networks/onnx/onnx.h"
#include "models/networks/memory.h"
#include "models/predictors/predictor/predictor.h"
#include "predict/search/explore/formula.h"
#include "predict/search/explore/space.h"
#include "predict/step/host.h"
#include "predict/step/jobs.h"
#include "predict/serving/load.h"
#include "predict/step/share_curve.h"
#include "train/checkpoint.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- inputs as texts and files ---- */

static char *text_of(const uint8_t *data, size_t size)
{
    char *text = rt_malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

static char folder[64];

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        fprintf(stderr, "%s stays\n", folder);
}

/* In memory where there is such a file system. */
static const char *work(void)
{
    const char *given = getenv("FUZZ_FILES"); /* whoever gives one removes it */
    if (folder[0] == '\0' && given != NULL) {
        snprintf(folder, sizeof folder, "%s", given);
    } else if (folder[0] == '\0') {
        strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/fuzz-XXXXXX" : "/tmp/fuzz-XXXXXX");
        if (mkdtemp(folder) == NULL)
            abort();
        atexit(remove_folder);
    }
    return folder;
}

/* A file of that name in the folder, with those bytes; the path is valid until the next call. */
static const char *put(const char *name, const uint8_t *data, size_t size)
{
    static char path[192];
    snprintf(path, sizeof path, "%s/%s", work(), name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, data, size) != (ssize_t)size || close(file) != 0)
        abort();
    return path;
}

static void must(bool promise)
{
    if (!promise)
        abort();
}

/* ---- texts ---- */

static void run_call(const uint8_t *data, size_t size)
{
    struct rt_call call;
    char *text = text_of(data, size), dims[256];
    if (rt_call_parse(text, NULL, NULL, &call) == RT_OK) {
        rt_call_dims(&call, dims, sizeof dims);
        must(rt_call_flops(&call) >= 0 && isfinite(rt_call_flops(&call)));
        must(rt_call_bytes(&call) >= 0 && isfinite(rt_call_bytes(&call)));
    }
    free(text);
}

/* A GPU by name with overrides; what has a slash would be a file. */
static void run_spec(const uint8_t *data, size_t size)
{
    struct rt_device device;
    char *text = text_of(data, size);
    if (strchr(text, '/') == NULL && rt_device_find(text, &device) == RT_OK)
        must(rt_device_check(&device, "it") == RT_OK);
    free(text);
}

/* A formula on a GPU, and the fields that vary: whatever is read has values, and those lie in their range. */
static void run_explore(const uint8_t *data, size_t size)
{
    struct rt_formula formula;
    struct rt_device device;
    struct rt_space space = {0};
    double values[RT_MOST_AXES];
    char *text = text_of(data, size);
    must(rt_device_find("H100", &device) == RT_OK);
    if (rt_formula_read("--cost", text, &formula) == RT_OK) {
        double value = rt_formula_value(&formula, &device); /* may be NaN */
        must(formula.steps > 0 && (isnan(value) || value == rt_formula_value(&formula, &device)));
    }
    if (rt_space_read("--vary", text, &space) == RT_OK &&
        rt_space_points(&space, data[size - 1] % 2 == 0 ? 17 : 0, 1) == RT_OK)
        for (size_t p = 0; p < space.points && p < 100; p++) {
            rt_space_values(&space, p, values);
            for (size_t a = 0; a < space.axes; a++)
                must(values[a] >= space.axis[a].low && values[a] <= space.axis[a].high * (1 + 1e-9));
        }
    rt_space_release(&space);
    free(text);
}

extern const struct rt_command rt_command_collect, rt_command_dataset, rt_command_devices, rt_command_graph,
    rt_command_train, rt_command_calibrate, rt_command_predict, rt_command_evaluate, rt_command_crossval,
    rt_command_pack;

/* A command by the first byte, a word a line. */
static void run_options(const uint8_t *data, size_t size)
{
    static const struct rt_command *const commands[] = {
        &rt_command_collect,  &rt_command_devices,   &rt_command_graph,
        &rt_command_train,    &rt_command_calibrate, &rt_command_predict,
        &rt_command_evaluate, &rt_command_crossval,  &rt_command_pack};
    static char name[] = "rooftile";
    enum { WORDS = 32 };
    struct rt_command_line line;
    char *argv[WORDS + 1] = {name}, *word;
    int argc = 1;
    if (size == 0)
        return;
    char *text = text_of(data + 1, size - 1), *rest = text;
    while (argc < WORDS && (word = strsep(&rest, "\n")) != NULL)
        argv[argc++] = word;
    if (memchr(data, '/', size) == NULL) /* no file of this machine decides */
        rt_command_line_read(commands[data[0] % RT_COUNT(commands)], argc, argv, &line),
            rt_command_line_release(&line);
    free(text);
}

/* ---- JSON ---- */

static void run_device(const uint8_t *data, size_t size)
{
    struct rt_device device;
    if (rt_device_load(put("device.json", data, size), &device) == RT_OK)
        must(rt_device_check(&device, "it") == RT_OK);
}

static void run_host(const uint8_t *data, size_t size)
{
    struct rt_host host;
    struct rt_device device;
    must(rt_device_find("T4", &device) == RT_OK);
    if (rt_host_find(put("host.json", data, size), &host) != RT_OK)
        return;
    must(host.forward_us >= 0 && host.backward_us >= 0 && host.pageable_gbs > 0);
    must(rt_host_copy_us(&host, &device, RT_TRANSFER_PAGEABLE, 1e6) >= 1e6 / 16e3);
}

static void check_kernels(const struct rt_graph *graph)
{
    for (size_t k = 0; k < graph->kernel_count; k++) {
        const struct rt_graph_kernel *kernel = &graph->kernels[k];
        must(kernel->bytes >= 0 && isfinite(kernel->bytes) && kernel->flops >= 0 && isfinite(kernel->flops));
    }
}

static void check_memory(const struct rt_graph *graph)
{
    struct rt_graph_memory memory;
    rt_graph_memory(graph, NULL, &memory);
    must(memory.total >= 0 && isfinite(memory.total));
}

/* One of its steps, on one GPU or as a server runs it on two, by the input's bytes, and of one in eight the
 * memory, which goes through every layer: all of each input took eight times as long. */
static void run_config(const uint8_t *data, size_t size)
{
    static const enum rt_step_kind steps[] = {RT_STEP_PREFILL, RT_STEP_DECODE, RT_STEP_TRAINING};
    struct rt_model model;
    struct rt_graph graph;
    if (rt_model_load(put("config.json", data, size), &model) != RT_OK)
        return;
    uint64_t way = rt_hash(RT_HASH_START, data, size);
    struct rt_graph_options options = {.step = steps[way % RT_COUNT(steps)],
                                       .batch = 2,
                                       .sequence = 64,
                                       .context = 64,
                                       .tensor_parallel = 1,
                                       .dtype = RT_BF16};
    if (way >> 32 & 1) {
        options.runtime = RT_RUNTIME_SERVING;
        options.tensor_parallel = 2;
        options.expert_parallel = model.experts.count > 0 ? 2 : 1;
    }
    if (rt_graph_build(&model, &options, &graph) != RT_OK)
        return;
    check_kernels(&graph);
    if ((way >> 40 & 7) == 0)
        check_memory(&graph);
    rt_graph_release(&graph);
}

/* ---- CSV ---- */

static void run_opgraph(const uint8_t *data, size_t size)
{
    struct rt_model_source source;
    struct rt_graph_options options = {.dtype = RT_FP32};
    struct rt_graph graph;
    if (rt_model_source_find(put("mini-inf-8-2.csv", data, size), &source) == RT_OK &&
        rt_model_source_graph(&source, &options, 2, &graph) == RT_OK)
        rt_graph_release(&graph);
}

/* Kernels that come of it are all forecastable, whatever runs it. */
static void lower_onnx(const char *path, const struct rt_onnx_given *given)
{
    static const struct rt_graph_options ways[] = {
        {.dtype = RT_FP32},
        {.dtype = RT_FP16, .runtime = RT_RUNTIME_COMPILE},
        {.dtype = RT_BF16, .step = RT_STEP_TRAINING, .optimizer = RT_OPTIMIZER_ADAMW}};
    struct rt_model_source source;
    struct rt_graph graph;
    if (rt_model_source_find(path, &source) != RT_OK)
        return;
    source.onnx = given;
    for (size_t w = 0; w < RT_COUNT(ways); w++) {
        if (rt_model_source_graph(&source, &ways[w], 0, &graph) != RT_OK)
            continue;
        check_kernels(&graph);
        check_memory(&graph);
        rt_graph_release(&graph);
    }
}

/* Shapes keep to their bounds, elements to their shapes, and all of it can be printed. */
static void read_onnx(const char *path)
{
    const char *dims[] = {"batch=3"};
    struct rt_onnx_given given = {.dims = {dims, 1}};
    struct rt_onnx_model model;
    if (rt_onnx_read(path, &given, &model) != RT_OK && rt_onnx_read(path, NULL, &model) != RT_OK)
        return;
    for (size_t i = 0; i < model.value_count; i++) {
        const struct rt_onnx_value *value = &model.values[i];
        must(value->shape.rank >= RT_ONNX_UNKNOWN && value->shape.rank <= RT_ONNX_RANK);
        for (int d = 0; d < value->shape.rank; d++)
            must(value->shape.dim[d] >= RT_ONNX_UNKNOWN && value->shape.dim[d] <= RT_ONNX_LARGEST);
        must(value->data == NULL || rt_onnx_count(&value->shape) == (int64_t)value->data->count);
    }
    rt_report_free(rt_onnx_report(&model));
    lower_onnx(path, &given);
    rt_onnx_release(&model);
}

static void run_onnx(const uint8_t *data, size_t size)
{
    static const struct fuzz_limits limits = {
        .seconds = 4, .seconds_a_byte = 200e-6, .bytes = 32 << 20, .bytes_a_byte = 4096};
    const char *path = put("net.onnx", data, size);
    fuzz_limits_begin();
    read_onnx(path);
    fuzz_limits_end(&limits, size);
}

#ifdef FUZZ_ONNX
#define CHANGE_ONNX fuzz_onnx_change
#else
#define CHANGE_ONNX NULL
#endif

/* A list of requests. */
static void run_requests(const uint8_t *data, size_t size)
{
    struct rt_serve_trace trace;
    if (rt_serve_trace_read(put("requests.csv", data, size), &trace) != RT_OK)
        return;
    must(trace.count > 0);
    for (size_t i = 0; i < trace.count; i++) {
        must(i == 0 || trace.arrival_us[i] >= trace.arrival_us[i - 1]);
        must(trace.input[i] >= 1 && trace.output[i] >= 1);
        must(trace.group == NULL || (trace.prefix[i] >= 0 && trace.prefix[i] <= trace.input[i]));
    }
    rt_serve_trace_release(&trace);
}

/* A list of jobs; what has a slash would name files. */
static void run_jobs(const uint8_t *data, size_t size)
{
    struct rt_gpu_jobs jobs;
    if (memchr(data, '/', size) != NULL || rt_jobs_read(put("jobs.csv", data, size), &jobs) != RT_OK)
        return;
    must(jobs.count > 0);
    for (size_t j = 0; j < jobs.count; j++) {
        const struct rt_gpu_job *job = &jobs.job[j];
        must(job->batch_count >= 1 && job->batch_count <= RT_JOB_BATCHES);
        for (size_t b = 0; b < job->batch_count; b++)
            must(job->batches[b] >= 1);
        must(!(job->rate <= 0) && !(job->latency_us <= 0)); /* NaN: none */
    }
    rt_jobs_release(&jobs);
}

/* Shares of SMs, "10:100:10". */
static void run_shares(const uint8_t *data, size_t size)
{
    struct rt_numbers list;
    char *text = text_of(data, size);
    if (rt_shares_read("--sm-share", text, &list) == RT_OK) {
        must(list.count >= 1 && list.count <= RT_RANGES_MOST);
        for (size_t i = 0; i < list.count; i++)
            must(list.value[i] > 0 && list.value[i] <= 100);
    }
    free(text);
}

static const struct rt_import_options quietly = {.threads = 1, .quiet = true};

/* What was imported is possible, and the same again after its CSV. */
static void check_imported(struct rt_dataset *dataset)
{
    struct rt_dataset back;
    struct rt_import_report report = {0};
    char path[128];
    for (size_t i = 0; i < dataset->samples.count; i++)
        must((RT_SAMPLE(dataset, i)->flags & RT_FLAG_FAILED) ||
             rt_time_is_possible(RT_SAMPLE(dataset, i)->latency_us));
    snprintf(path, sizeof path, "%s/exported", work());
    must(rt_export_csv(dataset, path, NULL) == RT_OK);
    int status = rt_import("csv", path, &quietly, &back, &report);
    if (status != RT_OK)
        fprintf(stderr, "%s\n", rt_error());
    must(status == RT_OK);
    must(strcmp(back.uuid, dataset->uuid) == 0);
    rt_import_report_release(&report);
    rt_dataset_release(&back);
}

static void import(const char *format, const char *path)
{
    struct rt_dataset dataset;
    struct rt_import_report report = {0};
    int status = rt_import(format, path, &quietly, &dataset, &report);
    rt_import_report_release(&report);
    if (status != RT_OK)
        return;
    check_imported(&dataset);
    rt_dataset_release(&dataset);
}

static void run_neusight(const uint8_t *data, size_t size)
{
    import("neusight", put("kernels.csv", data, size));
}

static void run_aiconfigurator(const uint8_t *data, size_t size)
{
    import("aiconfigurator", put("table.csv", data, size));
}

static void run_workloads(const uint8_t *data, size_t size)
{
    import("workloads", put("models.csv", data, size));
}

/* The file of a folder by the first byte; the others are sound. */
static void run_csv(const uint8_t *data, size_t size)
{
    static const char devices[] =
        "name,sms,fp32_vector_tflops,memory_gib,bandwidth_gbs,l2_mib\nMine,9,1,8,100,2\n";
    static const char samples[] = "op,dtype,device,latency_us,dim0,dim1\nadd,fp32,Mine,5,8,8\n";
    static const char *const names[] = {"samples.csv", "workloads.csv", "devices.csv",
                                        "groups.csv",  "strings.csv",   "meta.csv"};
    char in[128], path[160];
    if (size == 0)
        return;
    snprintf(in, sizeof in, "%s/in", work());
    mkdir(in, 0700);
    for (size_t i = 0; i < RT_COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/%s", in, names[i]);
        unlink(path);
    }
    put("in/devices.csv", (const uint8_t *)devices, sizeof devices - 1);
    put("in/samples.csv", (const uint8_t *)samples, sizeof samples - 1);
    snprintf(path, sizeof path, "in/%s", names[data[0] % RT_COUNT(names)]);
    put(path, data + 1, size - 1);
    import("csv", in);
}

/* ---- HDF5 ---- */

#define PUT_H5(data, size, ...)                                                                              \
    put_h5(data, size, (const char *const[]){__VA_ARGS__}, RT_COUNT(((const char *const[]){__VA_ARGS__})))

static const char *put_h5(const uint8_t *data, size_t size, const char *const *sound, size_t count)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/file.h5", work());
    fuzz_h5_file(data, size, sound, count, path);
    return path;
}

static void run_dataset(const uint8_t *data, size_t size)
{
    struct rt_dataset dataset;
    struct rt_validation validation;
    if (rt_validate(PUT_H5(data, size, "tests/fuzz/corpus/dataset/small.h5", "tests/data/dataset_v1.h5"),
                    NULL, &dataset, &validation) == RT_OK)
        rt_dataset_release(&dataset);
}

static void check_forecasts(const struct rt_predictor *predictor)
{
    static const struct rt_query queries[] = {
        {.call.op = RT_OP_BMM, .call.dim = {16, 512, 512, 64}, .tile = {-1, -1}},
        {.call.op = RT_OP_LINEAR, .call.dim = {1, 512, 1024, 4096}, .tile = {-1, -1}},
        {.call.op = RT_OP_SOFTMAX, .call.dim = {4096, 512}, .tile = {-1, -1}},
        {.call.op = RT_OP_ADD, .call.dim = {4096, 512}, .tile = {-1, -1}},
        {.call.op = RT_OP_LAYERNORM, .call.dim = {4096, 512}, .tile = {-1, -1}}};
    double us[RT_COUNT(queries)];
    uint8_t skip[RT_COUNT(queries)];
    struct rt_device device;
    must(rt_device_find("T4", &device) == RT_OK);
    rt_predictor_forecast(predictor, &device, queries, RT_COUNT(queries), NULL, us, skip);
    for (size_t i = 0; i < RT_COUNT(queries); i++) {
        must(skip[i] != RT_SKIP_NONE || us[i] > 0); /* not NaN */
        rt_predictor_interval(predictor, &device, &queries[i], 0.9);
    }
}

static void run_predictor(const uint8_t *data, size_t size)
{
    struct rt_predictor predictor;
    if (rt_predictor_open(PUT_H5(data, size, "tests/fuzz/corpus/predictor/networks.h5",
                                 "tests/data/predictor_v3_linear.h5",
                                 "tests/data/predictor_v3_wave_scaling.h5"),
                          &predictor) != RT_OK)
        return;
    check_forecasts(&predictor);
    rt_predictor_release(&predictor);
}

static void run_checkpoint(const uint8_t *data, size_t size)
{
    struct rt_predictor finished;
    struct rt_fit fit;
    if (rt_checkpoint_load(PUT_H5(data, size, "tests/fuzz/corpus/checkpoint/sound.h5"), "signature",
                           &finished, &fit) != RT_OK)
        return;
    double sum = 0; /* reads all of what it says it holds */
    for (size_t i = 0; i < fit.count; i++)
        sum += fit.parameters[i] + fit.best[i] + fit.optimizer_state[i] + fit.optimizer_state[fit.count + i];
    for (size_t i = 0; i < fit.effect_count; i++)
        sum += fit.effects[i] + fit.best_effects[i] + fit.effect_state[fit.effect_count + i];
    must(!isnan(sum));
    rt_checkpoint_release(&fit);
    rt_predictor_release(&finished);
}

const struct fuzz_target fuzz_targets[] = {
    {"call", run_call, NULL},
    {"spec", run_spec, NULL},
    {"options", run_options, NULL},
    {"explore", run_explore, NULL},
    {"device", run_device, NULL},
    {"host", run_host, NULL},
    {"config", run_config, NULL},
    {"opgraph", run_opgraph, NULL},
    {"onnx", run_onnx, CHANGE_ONNX},
    {"neusight", run_neusight, NULL},
    {"aiconfigurator", run_aiconfigurator, NULL},
    {"workloads", run_workloads, NULL},
    {"jobs", run_jobs, NULL},
    {"requests", run_requests, NULL},
    {"shares", run_shares, NULL},
    {"csv", run_csv, NULL},
    {"dataset", run_dataset, NULL},
    {"predictor", run_predictor, NULL},
    {"checkpoint", run_checkpoint, NULL},
};

const struct fuzz_target *fuzz_target_find(const char *name)
{
    for (size_t i = 0; i < RT_COUNT(fuzz_targets); i++)
        if (strcmp(fuzz_targets[i].name, name) == 0)
            return &fuzz_targets[i];
    return NULL;
}
