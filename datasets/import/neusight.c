/*
 * NeuSight's measurements (Lee, Phanishayee, Mahajan, ASPLOS 2025; repository sitar-lab/NeuSight): kernel
 * CSVs, device files, labels of whole models (neusight_models.c). A file is recognised by its columns or
 * keys, not by its name. FORMAT.md lists what each column becomes.
 */
#include "datasets/import/neusight.h"
#include "base/file.h"
#include "base/status.h"
#include "datasets/import/sample_table.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { JSON_BYTES = 16 << 20 };

/* ---- kernels ---- */

/* clang-format off */
#define DIM(...)  {.name = __VA_ARGS__}
#define ONE       {.fixed = 1}
#define LACKS     {.fixed = -1}
#define MATMUL    NULL, {DIM("B"), DIM("M"), DIM("K"), DIM("N")} /* theirs: B x (M,N) @ (N,K) */
#define ROWS_COLS NULL, {DIM("B"), DIM("H")}
#define KERNEL    DIM("Kernel_Szie|Kernel_Size") /* as NeuSight spells it */

static const struct rt_sample_op ops[] = {
    {"bmm", RT_OP_BMM, MATMUL},
    {"linear", RT_OP_LINEAR, MATMUL},
    {"conv", RT_OP_CONV2D, NULL,
     {DIM("B"), DIM("Input_Channel"), DIM("Output_Channel"), DIM("Input_Size"), DIM("Input_Size"), KERNEL, KERNEL,
      DIM("Stride"), DIM("Padding"), ONE, ONE, LACKS, LACKS, LACKS}},
    {"softmax", RT_OP_SOFTMAX, ROWS_COLS},
    {"ln", RT_OP_LAYERNORM, ROWS_COLS},
    {"add", RT_OP_ADD, ROWS_COLS},
    {"addu", RT_OP_ADD_SCALAR, ROWS_COLS},
    {"mul", RT_OP_MUL, ROWS_COLS},
    {"mulu", RT_OP_MUL_SCALAR, ROWS_COLS},
    {"div", RT_OP_DIV, ROWS_COLS},
    {"divu", RT_OP_DIV_SCALAR, ROWS_COLS},
    {"pow", RT_OP_POW, ROWS_COLS},
    {"powu", RT_OP_POW_SCALAR, ROWS_COLS},
    {"relu", RT_OP_RELU, ROWS_COLS},
    {"gelu", RT_OP_GELU, ROWS_COLS},
    {"tanh", RT_OP_TANH, ROWS_COLS},
};

/* The columns that kernel, grid and block are read from. */
enum { KERNEL_NAME, KERNELS, GRID, BLOCK = GRID + 3, COLUMNS = BLOCK + 3 };
static const char *const columns[COLUMNS] = {"Kernel Name", "Kernels", "Grid x", "Grid y", "Grid z",
                                             "Block x", "Block y", "Block z"};

/* Warps and blocks follow from grid, block and SMs; "Unnamed: 0" numbers the rows of a saved data frame. */
static const char *const no_attributes[] = {
    "Kernel Name", "Kernels", "Grid x", "Grid y", "Grid z", "Block x", "Block y", "Block z", "B", "M", "N", "K", "H",
    "Input_Channel", "Output_Channel", "Kernel_Szie", "Kernel_Size", "Input_Size", "Stride", "Padding",
    "Warps per SM", "Blocks per SM", "Unnamed: 0", NULL,
};
/* clang-format on */

struct reading {
    struct rt_import_file *file;
    struct rt_csv *csv;
    int column[COLUMNS]; /* -1: the file has no such column */
    struct rt_import_last last_kernels;
    /* "Kernels" of the row before, where it named one kernel, the row's main kernel, and what it became. */
    char *single;
    size_t single_length;
    int32_t single_kernel, single_kernels;
    int32_t tile_of; /* the kernel whose name `tile` was read from */
    int32_t tile[3];
    bool tile_known;
};

/* A number of at most five digits at *at, which moves behind it; 0 where there is none. */
static int32_t take_number(const char **at)
{
    int32_t value = 0;
    for (int digits = 0; **at >= '0' && **at <= '9'; (*at)++)
        value = ++digits > 5 ? 0 : 10 * value + (**at - '0');
    return value;
}

static bool take_x(const char **at)
{
    *at += **at == 'x';
    return (*at)[-1] == 'x';
}

static bool reads_tile(const char *name, const char *mark, int32_t tile[3])
{
    for (const char *at = name; (at = strstr(at, mark)) != NULL;) {
        at += strlen(mark);
        int32_t first = take_number(&at), second = take_x(&at) ? take_number(&at) : 0;
        if (first == 0 || second == 0)
            continue;
        int32_t depth = take_x(&at) ? take_number(&at) : 0;
        /* cuBLAS, cuDNN and rocBLAS see matrices column by column: their first number runs along our columns.
         */
        tile[0] = second;
        tile[1] = first;
        tile[2] = depth > 0 ? depth : -1;
        return true;
    }
    return false;
}

/* "ampere_sgemm_128x64_tn", "sgemm_128x128x8_NN", "tilesize128x128x8", "Cijk_..._MT64x32x16_...",
 * "..._scudnn_128x64_relu...", "..._winograd_128x128_...". */
static bool tile_of_name(const char *name, int32_t tile[3])
{
    static const char *const marks[] = {"gemm_", "tilesize", "_MT", "scudnn_", "winograd_"};
    for (size_t i = 0; i < RT_COUNT(marks); i++)
        if (reads_tile(name, marks[i], tile))
            return true;
    return false;
}

static bool product_tile(struct reading *r, struct rt_sample *sample)
{
    if (sample->kernel < 0)
        return false;
    if (sample->kernel != r->tile_of) {
        r->tile_of = sample->kernel;
        r->tile_known = tile_of_name(rt_strings_get(&r->file->data.kernels, sample->kernel), r->tile);
    }
    if (r->tile_known)
        memcpy(sample->tile, r->tile, sizeof sample->tile);
    return r->tile_known;
}

/* Elements per thread block, rounded up to a power of two, as vectorised kernels assign them. */
static bool elementwise_tile(struct rt_sample *sample)
{
    double blocks = 1;
    for (int i = 0; i < 3; i++) {
        if (sample->grid[i] < 1)
            return false;
        blocks *= sample->grid[i];
    }
    double share = ceil((double)sample->call.dim[0] * (double)sample->call.dim[1] / blocks), tile = 1;
    while (tile < share)
        tile *= 2;
    if (tile > INT32_MAX)
        return false;
    sample->tile[0] = (int32_t)tile;
    return true;
}

static bool row_tile(struct rt_sample *sample)
{
    if (sample->call.dim[1] > INT32_MAX)
        return false;
    sample->tile[0] = (int32_t)sample->call.dim[1];
    return true;
}

static void set_tile(struct reading *r, struct rt_sample *sample)
{
    const struct rt_family_row *family = &rt_families[rt_call_family(&sample->call)];
    bool known = family->pointwise  ? elementwise_tile(sample)
                 : family->row_wise ? row_tile(sample)
                                    : product_tile(r, sample);
    if (!known)
        sample->flags |= RT_FLAG_UNKNOWN_TILE;
}

static int read_three(const struct reading *r, const struct rt_csv_field *row, int first, int32_t out[3])
{
    for (int i = 0; i < 3; i++) {
        int column = r->column[first + i];
        int64_t value;
        if (column < 0 || row[column].missing)
            continue;
        if (rt_csv_integer(&row[column], &value) != 0 || value < 1 || value > INT32_MAX)
            return rt_csv_fail_cell(r->csv, columns[first + i], &row[column], "a whole number of 1 or more");
        out[i] = (int32_t)value;
    }
    return RT_OK;
}

/* rocBLAS kernels are launched by threads, not by blocks, and recorded so. */
static void threads_to_blocks(const char *kernel, struct rt_sample *sample)
{
    if (strncmp(kernel, "Cijk_", 5) != 0)
        return;
    for (int i = 0; i < 3; i++)
        if (sample->block[i] > 1 && sample->grid[i] > 0 && sample->grid[i] % sample->block[i] == 0)
            sample->grid[i] /= sample->block[i];
}

/* Number of the one kernel in "Kernels"; -1 where it is the row's kernel in lower case. */
static int32_t one_kernel(struct reading *r, int32_t kernel, const char *text, size_t length)
{
    if (kernel == r->single_kernel && length == r->single_length && memcmp(text, r->single, length) == 0)
        return r->single_kernels;
    r->single = rt_realloc(r->single, length + 1, 1);
    memcpy(r->single, text, length);
    r->single_length = length;
    r->single_kernel = kernel;
    bool same = kernel >= 0 && strcasecmp(rt_strings_get(&r->file->data.kernels, kernel), text) == 0;
    return r->single_kernels = same ? -1 : rt_import_file_kernel(r->file, &r->last_kernels, text, length);
}

/* All kernels, ";" before each, in lower case; kept where several ran, or where the one is another. */
static int32_t all_kernels(struct reading *r, int32_t kernel, const struct rt_csv_field *cell)
{
    if (cell->length == 0)
        return -1;
    size_t skip = cell->text[0] == ';';
    const char *text = cell->text + skip;
    if (strchr(text, ';') == NULL)
        return one_kernel(r, kernel, text, cell->length - skip);
    return rt_import_file_kernel(r->file, &r->last_kernels, text, cell->length - skip);
}

static int read_launch(void *context, const struct rt_csv_field *row, struct rt_sample *sample)
{
    struct reading *r = context;
    int status = read_three(r, row, GRID, sample->grid), name = r->column[KERNEL_NAME];
    if (status != RT_OK || (status = read_three(r, row, BLOCK, sample->block)) != RT_OK)
        return status;
    if (name >= 0) {
        sample->kernel =
            rt_import_file_kernel(r->file, &r->file->last_kernel, row[name].text, row[name].length);
        threads_to_blocks(row[name].text, sample);
    }
    if (r->column[KERNELS] >= 0)
        sample->kernels = all_kernels(r, sample->kernel, &row[r->column[KERNELS]]);
    set_tile(r, sample);
    return RT_OK;
}

static void remove_drift(struct rt_rows *rows)
{
    const size_t latency = rt_field_named(rows->kind, "latency_us");
    double *time_us = rt_malloc((rows->count + 1) * sizeof *time_us);
    rt_rows_copy_column(rows, latency, 0, rows->count, time_us);
    rt_session_drift_remove(time_us, rows->count);
    rt_rows_set_column(rows, latency, time_us);
    free(time_us);
}

static void read_kernels(struct rt_import_file *file, struct rt_csv *csv)
{
    static const char *const convolution[] = {"Input_Channel", "Input_Size", NULL};
    struct rt_sample_table table = {.op = "OPName",
                                    .device = "Device",
                                    .latency = "Latency",
                                    .latency_unit_us = 1000,
                                    .latency_statistic = "mean of the 5 fastest of 25 runs",
                                    .dtype = RT_FP32,
                                    .ops = ops,
                                    .op_count = RT_COUNT(ops),
                                    .no_attributes = no_attributes,
                                    .finish = read_launch};
    struct reading r = {
        .file = file, .csv = csv, .single_kernel = -2, .tile_of = -1, .last_kernels = {.index = -1}};
    for (int c = 0; c < COLUMNS; c++)
        r.column[c] = rt_csv_find(csv, columns[c]);
    bool drifts = rt_csv_has(csv, convolution); /* those files alone are in no order of size */
    if (drifts)
        table.latency_statistic = "mean of the 5 fastest of 25 runs, less the session's drift";
    rt_import_samples(file, csv, &table, &r);
    if (drifts)
        remove_drift(&file->data.samples);
    free(r.single);
}

/* ---- what a CSV file is ---- */

/* By the columns of its header; the first row that fits decides. */
static const char *const kernel_columns[] = {"OPName", "Latency", "Device", NULL};
static const struct {
    const char *kind;
    const char *columns[5];
} others[] = {
    {"operator graphs", {"OpName", "FwOps", "BwOps"}},
    {"forecasts of others", {"workload", "measured_ms"}},
    {"forecasts of others", {"OPName", "Latency", "Prediction"}},
    {"lists of shapes", {"B", "M", "N", "K"}},
    {"lists of shapes", {"B", "H"}},
    {"lists of shapes", {"B", "Input_Channel", "Output_Channel"}},
};

/* What a file is that holds neither kernels nor nodes; NULL: unknown. */
static const char *other_kind(const struct rt_csv *csv)
{
    for (size_t i = 0; i < RT_COUNT(others); i++)
        if (rt_csv_has(csv, others[i].columns))
            return others[i].kind;
    return NULL;
}

static void read_csv(struct rt_import_file *file)
{
    struct rt_csv *csv = rt_import_file_csv(file);
    if (csv == NULL)
        return;
    const char *kind = other_kind(csv);
    if (rt_csv_has(csv, kernel_columns)) {
        read_kernels(file, csv);
    } else if (rt_neusight_has_nodes(csv)) {
        if (rt_import_file_beside(file, ".json") == NULL) /* else it is read with its label */
            rt_import_file_is(file, "models node by node, without their label");
    } else if (kind != NULL) {
        rt_import_file_is(file, kind);
    } else {
        rt_fail(
            RT_EFORMAT,
            "%s:1: has neither the columns of kernels (OPName, Latency, Device) nor of another NeuSight file",
            file->path);
        rt_import_file_skip(file);
    }
    rt_csv_close(csv);
}

/* ---- JSON files ---- */

/* NeuSight's keys, our fields, and the factor between. */
static const struct {
    const char *key;
    size_t offset;
    double factor;
} device_keys[] = {
    {"Dev_Mem", offsetof(struct rt_device, memory_gib), 1},
    {"Mem_Bw", offsetof(struct rt_device, bandwidth_gbs), 1},
    {"Num_Sm", offsetof(struct rt_device, sms), 1},
    {"Core_Per_SM", offsetof(struct rt_device, cores_per_sm), 1},
    {"Freq", offsetof(struct rt_device, clock_mhz), 1},
    {"SingleFLOPs", offsetof(struct rt_device, fp32_vector_tflops), 1e-3},
    {"SingleFLOPsVEC", offsetof(struct rt_device, fp32_vector_tflops), 1e-3},
    {"SingleFLOPsMM", offsetof(struct rt_device, fp32_matrix_tflops), 1e-3},
    {"L2Cache", offsetof(struct rt_device, l2_mib), 1},
};

static json_t *load_json(const char *path)
{
    char *text;
    size_t size;
    json_error_t error;
    if (rt_file_read(path, JSON_BYTES, &text, &size) != RT_OK)
        return NULL;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        rt_fail(RT_EFORMAT, "%s:%d:%d: not JSON: %s", path, error.line, error.column, error.text);
    free(text);
    return root;
}

static bool is_device(json_t *root)
{
    return json_object_get(root, "Device") != NULL && json_object_get(root, "Num_Sm") != NULL;
}

static int device_from_json(const char *path, json_t *root, struct rt_device *out)
{
    const char *name = json_string_value(json_object_get(root, "Device"));
    struct rt_device known;
    if (name == NULL || name[0] == '\0' || strlen(name) >= sizeof known.name)
        return rt_fail(RT_EFORMAT, "%s: \"Device\" must be the name of a GPU", path);
    rt_device_init(out, name);
    for (size_t i = 0; i < RT_COUNT(device_keys); i++) {
        json_t *value = json_object_get(root, device_keys[i].key);
        if (value == NULL)
            continue;
        if (!json_is_number(value) || !(json_number_value(value) > 0))
            return rt_fail(RT_EFORMAT, "%s: \"%s\" of %s must be a number above 0", path, device_keys[i].key,
                           name);
        *(double *)((char *)out + device_keys[i].offset) = json_number_value(value) * device_keys[i].factor;
    }
    if (rt_device_named(name, &known) == RT_OK) {
        snprintf(out->name, sizeof out->name, "%s", known.name);
        rt_device_fill(out, &known);
    }
    return rt_device_check(out, path);
}

/* Of several descriptions of a GPU the first in path order is used; one that differs is a warning. */
static void add_device(struct rt_tree *tree, const char *path, json_t *root)
{
    struct rt_device device;
    char text[512];
    if (device_from_json(path, root, &device) != RT_OK) {
        rt_import_note(&tree->report->skipped, rt_error());
        return;
    }
    if (rt_dataset_add_device(&tree->devices, &device) < 0) {
        snprintf(text, sizeof text, "%s: %s; the first file's numbers are used", path, rt_error());
        rt_import_note(&tree->report->warned, text);
    }
    rt_import_other(tree->report, "device descriptions", 1);
}

/* Devices are read first: rows and labels refer to them. */
static void prepare(struct rt_tree *tree)
{
    for (size_t i = 0; i < tree->paths.count; i++) {
        const char *path = tree->paths.path[i];
        json_t *root = rt_file_ends_in(path, ".json") ? load_json(path) : NULL;
        if (is_device(root))
            add_device(tree, path, root);
        json_decref(root);
    }
}

static bool is_model_config(json_t *root)
{
    static const char *const keys[] = {"architectures", "model_type",        "hidden_size",
                                       "n_embd",        "num_hidden_layers", "n_layer"};
    for (size_t i = 0; i < RT_COUNT(keys); i++)
        if (json_object_get(root, keys[i]) != NULL)
            return true;
    return false;
}

static void read_json(struct rt_import_file *file)
{
    json_t *root = load_json(file->path);
    if (root == NULL) {
        rt_import_file_skip(file);
    } else if (is_device(root)) {
        (void)0; /* prepare() took it */
    } else if (json_object_get(root, "e2e_latency") != NULL) {
        rt_neusight_add_label(file, root);
    } else if (is_model_config(root)) {
        rt_import_file_is(file, "model configurations");
    } else {
        rt_fail(RT_EFORMAT, "%s: is JSON, but neither a device, a label nor a model's configuration",
                file->path);
        rt_import_file_skip(file);
    }
    json_decref(root);
}

/* Forecasts have the columns of labels and kernels, but are no measurements. */
static bool is_forecast(const struct rt_import_file *file)
{
    return rt_tree_has_folder(file->tree, file->path, "results") ||
           rt_tree_has_folder(file->tree, file->path, "prediction");
}

static void read_file(struct rt_import_file *file)
{
    bool csv = rt_file_ends_in(file->path, ".csv"), json = rt_file_ends_in(file->path, ".json");
    if (!csv && !json)
        rt_import_file_is(file, "other files (not .csv or .json)");
    else if (is_forecast(file))
        rt_import_file_is(file, "forecasts of others");
    else if (csv)
        read_csv(file);
    else
        read_json(file);
}

static int import(const char *path, const struct rt_import_options *options, struct rt_dataset *out,
                  struct rt_import_report *report)
{
    static const struct rt_tree_reader reader = {
        .prepare = prepare,
        .read = read_file,
        .source = "NeuSight (Lee, Phanishayee, Mahajan: Forecasting GPU Performance for Deep Learning "
                  "Training and Inference, ASPLOS 2025), repository sitar-lab/NeuSight",
        .licence = "MIT, copyright 2025 Georgia Institute of Technology and Microsoft Corporation",
    };
    return rt_tree_import(path, &reader, options, out, report);
}

const struct rt_importer rt_importer_neusight = {"neusight", import};

/* ---- what a session's host took longer and longer for ---- */

/* Does the hull turn up at row b, between a and c? */
static bool turns_up(const double *time_us, size_t a, size_t b, size_t c)
{
    double before = (time_us[b] - time_us[a]) * (double)(c - b);
    double after = (time_us[c] - time_us[b]) * (double)(b - a);
    return before < after;
}

/* Rows of the hull (Andrew's monotone chain, 1979); returns how many. */
static size_t find_hull(const double *time_us, size_t count, size_t *hull)
{
    size_t vertices = 0;
    for (size_t i = 0; i < count; i++) {
        while (vertices > 1 && !turns_up(time_us, hull[vertices - 2], hull[vertices - 1], i))
            vertices--;
        hull[vertices++] = i;
    }
    return vertices;
}

static size_t fastest(const double *time_us, size_t count)
{
    size_t at = 0;
    for (size_t i = 1; i < count; i++)
        if (time_us[i] < time_us[at])
            at = i;
    return at;
}

/* us a row on the piece of the hull from a to b. */
static double slope_of(const double *time_us, size_t a, size_t b)
{
    return (time_us[b] - time_us[a]) / (double)(b - a);
}

void rt_session_drift_remove(double *time_us, size_t count)
{
    if (count < RT_DRIFT_ROWS)
        return;
    size_t *hull = rt_malloc(count * sizeof *hull), vertices = find_hull(time_us, count, hull);
    double *drift = rt_calloc(count, sizeof *drift), slope = 0;
    for (size_t v = 0, from = fastest(time_us, count); v + 1 < vertices; v++) {
        if (hull[v] < from)
            continue;
        if (hull[v + 1] - hull[v] >= count / 50)
            slope = slope_of(time_us, hull[v], hull[v + 1]);
        for (size_t i = hull[v] + 1; i <= hull[v + 1]; i++)
            drift[i] = drift[i - 1] + slope;
    }
    for (size_t i = 0; i < count; i++)
        time_us[i] -= drift[i];
    free(drift);
    free(hull);
}
