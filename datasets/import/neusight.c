/*
 * NeuSight's measurements (Lee, Phanishayee, Mahajan, ASPLOS 2025; repository sitar-lab/NeuSight): kernel
 * CSVs, labels of whole models, device files. What a file is, its columns and keys say, not its name;
 * FORMAT.md tells how each column becomes ours.
 */
#include "datasets/import/tree.h"
#include "base/status.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { JSON_BYTES = 16 << 20 };

/* ---- kernels ---- */

enum role {
    OP_NAME,
    LATENCY,
    DEVICE,
    KERNEL,
    KERNELS,
    GRID,
    BLOCK = GRID + 3,
    B = BLOCK + 3,
    M,
    N,
    K,
    H,
    IN_CHANNELS,
    OUT_CHANNELS,
    KERNEL_SIZE,
    INPUT_SIZE,
    STRIDE,
    PADDING,
    IGNORED,
    ROLES
};

/* Every column that is read. Others become attributes of the samples' group; IGNORED ones follow from the
 * rest. */
static const struct {
    const char *header;
    enum role role;
} headers[] = {
    {"OPName", OP_NAME},
    {"Latency", LATENCY},
    {"Device", DEVICE},
    {"Kernel Name", KERNEL},
    {"Kernels", KERNELS},
    {"Grid x", GRID},
    {"Grid y", GRID + 1},
    {"Grid z", GRID + 2},
    {"Block x", BLOCK},
    {"Block y", BLOCK + 1},
    {"Block z", BLOCK + 2},
    {"B", B},
    {"M", M},
    {"N", N},
    {"K", K},
    {"H", H},
    {"Input_Channel", IN_CHANNELS},
    {"Output_Channel", OUT_CHANNELS},
    {"Kernel_Szie", KERNEL_SIZE}, /* as NeuSight spells it */
    {"Kernel_Size", KERNEL_SIZE},
    {"Input_Size", INPUT_SIZE},
    {"Stride", STRIDE},
    {"Padding", PADDING},
    {"Warps per SM", IGNORED},
    {"Blocks per SM", IGNORED},
    {"", IGNORED}, /* row numbers that a data frame was saved with */
    {"Unnamed: 0", IGNORED},
};

static const char *const fixed_names[] = {"latency_statistic"};
static const char *const fixed_values[] = {"mean of the 5 fastest of 25 runs"};

/* Which columns are our dims, per op family; -1 - v: the number v. */
static const int matmul_dims[] = {B, M, K, N}; /* theirs: B x (M,N) @ (N,K) */
static const int row_dims[] = {B, H};
static const int conv_dims[] = {B,           IN_CHANNELS, OUT_CHANNELS, INPUT_SIZE, INPUT_SIZE, KERNEL_SIZE,
                                KERNEL_SIZE, STRIDE,      PADDING,      -1 - 1,     -1 - 1};

static const int *const dims_of_family[RT_FAMILY_COUNT] = {
    [RT_FAMILY_BMM] = matmul_dims,  [RT_FAMILY_LINEAR] = matmul_dims, [RT_FAMILY_ELEMENTWISE] = row_dims,
    [RT_FAMILY_SOFTMAX] = row_dims, [RT_FAMILY_LAYERNORM] = row_dims, [RT_FAMILY_CONV] = conv_dims,
};

struct reading {
    struct rt_import_part *part;
    struct rt_csv *csv;
    const struct rt_csv_field *row;
    int column[ROLES]; /* -1: the file has no such column */
    int *attributes;   /* columns that nothing else is read from */
    size_t attribute_count;
    char op_text[32]; /* the last row's op: neighbours mostly share it */
    int op;
    struct rt_import_part_text kernels_text;
    char *single; /* the last row's "Kernels" where it named one, */
    size_t single_length;
    int32_t single_kernel; /* its kernel, and what was decided: */
    int32_t single_kernels;
    int32_t tile_of; /* kernel for which `tile` was read */
    int32_t tile[3];
    bool tile_known;
};

static const struct rt_csv_field *cell(const struct reading *r, enum role role)
{
    return r->column[role] < 0 ? NULL : &r->row[r->column[role]];
}

static int fail_row(const struct reading *r, const char *column, const char *text, const char *must)
{
    return rt_fail(RT_EFORMAT, "%s:%zu: %s is \"%.40s\"; it must be %s", rt_csv_path(r->csv),
                   rt_csv_line(r->csv), column, text, must);
}

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
        r->tile_known = tile_of_name(rt_strings_get(&r->part->data.kernels, sample->kernel), r->tile);
    }
    if (r->tile_known)
        memcpy(sample->tile, r->tile, sizeof sample->tile);
    return r->tile_known;
}

/* One thread block's share of the elements, rounded up to a power of two as vectorised kernels deal them. */
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
    enum rt_family family = rt_call_family(&sample->call);
    bool known = family == RT_FAMILY_ELEMENTWISE                                ? elementwise_tile(sample)
                 : family == RT_FAMILY_SOFTMAX || family == RT_FAMILY_LAYERNORM ? row_tile(sample)
                                                                                : product_tile(r, sample);
    if (!known)
        sample->flags |= RT_FLAG_UNKNOWN_TILE;
}

static int find_op(struct reading *r)
{
    const struct rt_csv_field *name = cell(r, OP_NAME);
    if (strcmp(name->text, r->op_text) == 0)
        return r->op;
    for (int op = 0; op < RT_OP_COUNT; op++)
        if (rt_ops[op].neusight != NULL && strcmp(rt_ops[op].neusight, name->text) == 0) {
            snprintf(r->op_text, sizeof r->op_text, "%s", name->text);
            return r->op = op;
        }
    return RT_OP_COUNT;
}

static int read_dims(struct reading *r, struct rt_sample *sample)
{
    const int *roles = dims_of_family[rt_call_family(&sample->call)];
    int dims = rt_op_ndims(sample->call.op);
    for (int i = 0; i < dims; i++) {
        if (roles[i] < 0) {
            sample->call.dim[i] = -1 - roles[i];
            continue;
        }
        const struct rt_csv_field *field = cell(r, roles[i]);
        if (field == NULL)
            return rt_fail(RT_EFORMAT, "%s:%zu: a %s needs its %s, which no column of the file holds",
                           rt_csv_path(r->csv), rt_csv_line(r->csv), rt_ops[sample->call.op].name,
                           rt_ops[sample->call.op].dims[i]);
        if (rt_import_part_integer(field, &sample->call.dim[i]) != 0)
            return fail_row(r, rt_csv_header(r->csv, r->column[roles[i]]), field->text, "a whole number");
    }
    if (rt_op_check(sample->call.op, sample->call.dim) != RT_OK)
        return rt_fail_context(RT_EFORMAT, "%s:%zu", rt_csv_path(r->csv), rt_csv_line(r->csv));
    return RT_OK;
}

static int read_three(struct reading *r, enum role first, int32_t out[3])
{
    for (int i = 0; i < 3; i++) {
        const struct rt_csv_field *field = cell(r, first + i);
        int64_t value;
        if (field == NULL || field->missing)
            continue;
        if (rt_import_part_integer(field, &value) != 0 || value < 1 || value > INT32_MAX)
            return fail_row(r, rt_csv_header(r->csv, r->column[first + i]), field->text,
                            "a whole number of 1 or more");
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

/* Index of the one kernel in "Kernels"; -1 where it is the row's kernel in lower case. */
static int32_t one_kernel(struct reading *r, int32_t kernel, const char *text, size_t length)
{
    if (kernel == r->single_kernel && length == r->single_length && memcmp(text, r->single, length) == 0)
        return r->single_kernels;
    r->single = rt_realloc(r->single, length + 1, 1);
    memcpy(r->single, text, length);
    r->single_length = length;
    r->single_kernel = kernel;
    bool same = kernel >= 0 && strcasecmp(rt_strings_get(&r->part->data.kernels, kernel), text) == 0;
    return r->single_kernels = same ? -1 : rt_import_part_kernel(r->part, &r->kernels_text, text, length);
}

/* All kernels, ";" before each, in lower case; kept where several ran, or where the one is another. */
static int32_t all_kernels(struct reading *r, int32_t kernel)
{
    const struct rt_csv_field *field = cell(r, KERNELS);
    if (field == NULL || field->length == 0)
        return -1;
    size_t skip = field->text[0] == ';';
    const char *text = field->text + skip;
    if (strchr(text, ';') == NULL)
        return one_kernel(r, kernel, text, field->length - skip);
    return rt_import_part_kernel(r->part, &r->kernels_text, text, field->length - skip);
}

static int read_sample(struct reading *r, struct rt_sample *sample)
{
    const struct rt_csv_field *name = cell(r, KERNEL);
    int status = rt_import_part_latency(r->csv, cell(r, LATENCY), "Latency", &sample->latency_us);
    if (status != RT_OK || (status = read_dims(r, sample)) != RT_OK ||
        (status = read_three(r, GRID, sample->grid)) != RT_OK ||
        (status = read_three(r, BLOCK, sample->block)) != RT_OK)
        return status;
    sample->latency_us *= 1000; /* ms */
    sample->group = rt_import_part_group(r->part, r->csv, r->row, r->attributes, r->attribute_count,
                                         RT_COUNT(fixed_names), fixed_names, fixed_values);
    if (sample->group < 0)
        return sample->group;
    if (name != NULL) {
        sample->kernel = rt_import_part_kernel(r->part, &r->part->kernel_text, name->text, name->length);
        threads_to_blocks(name->text, sample);
    }
    sample->kernels = all_kernels(r, sample->kernel);
    set_tile(r, sample);
    return RT_OK;
}

/* One row: kept, or refused. Not RT_OK where the rest of the file is not worth reading. */
static int read_row(struct reading *r, const struct rt_sample *blank)
{
    struct rt_sample sample = *blank;
    int op = find_op(r);
    int32_t device = rt_import_part_device(r->part, r->csv, cell(r, DEVICE));
    bool kept = false;
    if (device >= 0 && op == RT_OP_COUNT) {
        fail_row(r, "OPName", cell(r, OP_NAME)->text,
                 "an op that NeuSight measures (bmm, linear, conv, softmax, add, ...)");
    } else if (device >= 0) {
        sample.call.op = (uint8_t)op;
        sample.device = device;
        kept = read_sample(r, &sample) == RT_OK;
    }
    if (kept)
        rt_import_part_sample(r->part, &sample);
    else
        rt_import_part_refuse(r->part, op < RT_OP_COUNT ? rt_ops[op].name : NULL, device);
    return device == RT_EFORMAT ? RT_EFORMAT : RT_OK;
}

static void read_rows(struct reading *r)
{
    struct rt_sample blank;
    rt_sample_init(&blank);
    blank.call.dtype = RT_FP32;
    blank.split = r->part->split;
    int got;
    while ((got = rt_csv_next(r->csv, &r->row)) > 0) {
        if (got == RT_CSV_REFUSED)
            rt_import_part_refuse(r->part, NULL, -1);
        else if (read_row(r, &blank) != RT_OK)
            break;
    }
    if (got < 0)
        rt_import_part_refuse(r->part, NULL, -1);
    r->part->bytes = (double)rt_csv_bytes(r->csv);
}

static void find_columns(struct reading *r)
{
    for (int role = 0; role < ROLES; role++)
        r->column[role] = -1;
    r->attributes = rt_calloc(rt_csv_columns(r->csv), sizeof *r->attributes);
    for (size_t c = 0; c < rt_csv_columns(r->csv); c++) {
        size_t h = 0;
        while (h < RT_COUNT(headers) && strcmp(headers[h].header, rt_csv_header(r->csv, c)) != 0)
            h++;
        if (h < RT_COUNT(headers))
            r->column[headers[h].role] = (int)c;
        else
            r->attributes[r->attribute_count++] = (int)c;
    }
}

static void read_kernels(struct rt_import_part *part, struct rt_csv *csv)
{
    struct reading r = {.part = part,
                        .csv = csv,
                        .op = RT_OP_COUNT,
                        .single_kernel = -2,
                        .tile_of = -1,
                        .kernels_text = {-1, 0}};
    find_columns(&r);
    read_rows(&r);
    free(r.attributes);
    free(r.single);
}

/* ---- what a CSV file is ---- */

/* A CSV file whose header has these columns; the first row that fits decides. */
enum { KERNELS_LAYOUT, NODES_LAYOUT };
static const struct {
    const char *kind; /* of a file that is not read, or not on its own */
    const char *columns[5];
} layouts[] = {
    [KERNELS_LAYOUT] = {NULL, {"OPName", "Latency", "Device"}},
    [NODES_LAYOUT] = {"models node by node, without their label",
                      {"op", "Name", "fw_latency", "bw_latency", "acc_latency"}},
    {"operator graphs", {"OpName", "FwOps", "BwOps"}},
    {"forecasts of others", {"workload", "measured_ms"}},
    {"forecasts of others", {"OPName", "Latency", "Prediction"}},
    {"lists of shapes", {"B", "M", "N", "K"}},
    {"lists of shapes", {"B", "H"}},
    {"lists of shapes", {"B", "Input_Channel", "Output_Channel"}},
};

static bool has_columns(const struct rt_csv *csv, const char *const columns[5])
{
    for (int i = 0; i < 5 && columns[i] != NULL; i++)
        if (rt_csv_find(csv, columns[i]) < 0)
            return false;
    return true;
}

static size_t find_layout(const struct rt_csv *csv)
{
    size_t i = 0;
    while (i < RT_COUNT(layouts) && !has_columns(csv, layouts[i].columns))
        i++;
    return i;
}

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path);
    return length >= strlen(end) && strcasecmp(path + length - strlen(end), end) == 0;
}

/* The tree's file beside this one whose name ends in `end` instead of ".csv" or ".json"; NULL where there is
 * none. */
static const char *file_beside(const struct rt_import_part *part, const char *end)
{
    const struct rt_paths *paths = &part->tree->paths;
    size_t stem = (size_t)(strrchr(part->path, '.') - part->path);
    for (size_t i = 0; i < paths->count; i++)
        if (strncmp(paths->path[i], part->path, stem) == 0 && strcmp(paths->path[i] + stem, end) == 0)
            return paths->path[i];
    return NULL;
}

static void read_csv(struct rt_import_part *part)
{
    struct rt_csv *csv;
    if (rt_csv_open(part->path, &csv) != RT_OK) {
        rt_import_part_skip(part);
        return;
    }
    size_t i = find_layout(csv);
    if (i == RT_COUNT(layouts)) {
        rt_fail(
            RT_EFORMAT,
            "%s:1: has neither the columns of kernels (OPName, Latency, Device) nor of another NeuSight file",
            part->path);
        rt_import_part_skip(part);
    } else if (i == KERNELS_LAYOUT) {
        read_kernels(part, csv);
    } else if (i != NODES_LAYOUT || file_beside(part, ".json") == NULL) {
        rt_import_part_is(part, layouts[i].kind);
    } /* else its label's reader takes it: add_nodes() */
    rt_csv_close(csv);
}

/* ---- models measured node by node ---- */

/* Of most models one layer was traced, which stands for all: these nodes, the first and the last among them,
 * as NeuSight repeats them (neusight/Prediction/aggregator.py). Other models were traced as a whole. */
static const struct layer {
    const char *model; /* what the name contains, in any case; the first row that fits decides */
    const char *first, *last;
} traced_layers[] = {
    {"bert", "bert_encoder_layer_0_attention_self_query", "bert_encoder_layer_0_output_layer_norm"},
    {"gpt", "transformer_h_0_ln_1", "add_15"},
    {"opt", "model_decoder_layers_0_self_attn_layer_norm", "view_11"},
};

static const struct layer *layer_of(const struct rt_import_part *part, const struct rt_workload *workload)
{
    const char *model = rt_strings_get(&part->data.texts, workload->model);
    if (workload->layers < 1) /* the label does not say how many there are */
        return NULL;
    for (size_t i = 0; i < RT_COUNT(traced_layers); i++)
        if (strcasestr(model, traced_layers[i].model) != NULL)
            return &traced_layers[i];
    return NULL;
}

/* Adds a node's latency, `times` over, to *sum_ms. */
static int add_node(const struct rt_csv *csv, const struct rt_csv_field *row, const char *column,
                    double times, double *sum_ms)
{
    const struct rt_csv_field *field = &row[rt_csv_find(csv, column)];
    double value;
    if (rt_parse_real(field->text, field->length, &value) != 0 || value < 0 || value > 1e12)
        return rt_fail(RT_EFORMAT, "%s:%zu: %s is \"%.40s\"; it must be a latency in ms", rt_csv_path(csv),
                       rt_csv_line(csv), column, field->text);
    *sum_ms += times * value;
    return RT_OK;
}

/* Every node counts, also those that launch no kernel (size, getitem, view: 0.01 ms of the host): so they
 * were measured, and so the published floors come out. */
static int sum_nodes(struct rt_csv *csv, const struct layer *layer, double layers,
                     struct rt_workload *workload)
{
    enum { BEFORE, WITHIN, BEHIND } at = BEFORE;
    const struct rt_csv_field *row;
    double forward_ms = 0, backward_ms = 0;
    int got, status, name = rt_csv_find(csv, "Name");
    while ((got = rt_csv_next(csv, &row)) == RT_CSV_ROW) {
        if (layer != NULL && at == BEFORE && strcmp(row[name].text, layer->first) == 0)
            at = WITHIN;
        double times = at == WITHIN ? layers : 1;
        if ((status = add_node(csv, row, "fw_latency", times, &forward_ms)) != RT_OK ||
            (status = add_node(csv, row, "bw_latency", times, &backward_ms)) != RT_OK ||
            (status = add_node(csv, row, "acc_latency", times, &backward_ms)) != RT_OK)
            return status;
        if (at == WITHIN && strcmp(row[name].text, layer->last) == 0)
            at = BEHIND;
    }
    if (got != RT_CSV_END)
        return RT_EFORMAT;
    if (layer != NULL && at != BEHIND)
        return rt_fail(
            RT_EFORMAT,
            "%s: its label says %.0f layers, but no rows from \"%s\" to \"%s\" say what a layer is",
            rt_csv_path(csv), layers, layer->first, layer->last);
    if (!(forward_ms > 0))
        return rt_fail(RT_EFORMAT, "%s: no node has a fw_latency above 0", rt_csv_path(csv));
    workload->kernels_forward_us = 1000 * forward_ms;
    workload->kernels_backward_us = backward_ms > 0 ? 1000 * backward_ms : NAN; /* 0: none ran */
    return RT_OK;
}

/* What the nodes sum to, from the CSV file beside a label. A file that is wrong is told, and the label stays:
 * the whole model was measured all the same. One that cannot be opened or is something else tells so itself.
 */
static void add_nodes(struct rt_import_part *part, struct rt_workload *workload)
{
    const char *path = file_beside(part, ".csv");
    struct rt_csv *csv = NULL;
    if (path == NULL || rt_csv_open(path, &csv) != RT_OK || find_layout(csv) != NODES_LAYOUT)
        rt_import_part_is(part, "labels of models that were not measured node by node");
    else if (sum_nodes(csv, layer_of(part, workload), (double)workload->layers, workload) != RT_OK)
        rt_import_part_skip(part);
    else
        part->bytes = (double)rt_csv_bytes(csv);
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

/* The first description of a GPU in path order holds; another one that differs is told. */
static void add_device(struct rt_tree *tree, const char *path, json_t *root)
{
    struct rt_device device;
    char text[512];
    if (device_from_json(path, root, &device) != RT_OK) {
        rt_import_note(&tree->report->skipped, rt_error());
        return;
    }
    if (rt_dataset_add_device(&tree->devices, &device) < 0) {
        snprintf(text, sizeof text, "%s: %s; the first file's numbers hold", path, rt_error());
        rt_import_note(&tree->report->warned, text);
    }
    rt_import_other(tree->report, "device descriptions", 1);
}

/* Devices first: rows and labels refer to them. */
static void prepare(struct rt_tree *tree)
{
    for (size_t i = 0; i < tree->paths.count; i++) {
        const char *path = tree->paths.path[i];
        json_t *root = ends_with(path, ".json") ? load_json(path) : NULL;
        if (is_device(root))
            add_device(tree, path, root);
        json_decref(root);
    }
}

/* "gpt2_large-train-1024-4-dp4.json": model, mode, sequence, batch, option. */
static int workload_of_name(struct rt_import_part *part, const char *name, struct rt_workload *workload)
{
    static const char *const modes[RT_MODE_COUNT] = {[RT_INFERENCE] = "-inf-", [RT_TRAINING] = "-train-"};
    int end = 0;
    for (int mode = 0; mode < RT_MODE_COUNT; mode++) {
        const char *at = strstr(name, modes[mode]);
        long long sequence, batch;
        if (at == NULL || at == name ||
            sscanf(at + strlen(modes[mode]), "%9lld-%9lld%n", &sequence, &batch, &end) < 2 || sequence < 1 ||
            batch < 1)
            continue;
        const char *option = at + strlen(modes[mode]) + end;
        size_t length = strlen(option) - strlen(".json");
        if (length > 0 && *option != '-')
            continue;
        workload->mode = (uint8_t)mode;
        workload->sequence = sequence;
        workload->batch = batch;
        workload->model = rt_strings_add(&part->data.texts, name, (size_t)(at - name));
        workload->option = rt_strings_add(&part->data.texts, option + (length > 0), length - (length > 0));
        return RT_OK;
    }
    return rt_fail(RT_EFORMAT,
                   "%s: a label's name must be <model>-<inf or train>-<sequence>-<batch>[-option].json",
                   part->path);
}

/* A latency of a label in us; NaN where it is missing or 0, which is how labels say that nothing ran. */
static int label_time(const struct rt_import_part *part, json_t *root, const char *key, bool required,
                      double *out)
{
    json_t *value = json_object_get(root, key);
    double time = json_is_number(value) ? json_number_value(value) : NAN;
    if ((value != NULL && !json_is_number(value)) || time < 0 || time > 1e12 || (required && !(time > 0)))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a latency in ms%s", part->path, key,
                       required ? " above 0" : "");
    *out = time > 0 ? time * 1000 : NAN;
    return RT_OK;
}

static int32_t label_device(struct rt_import_part *part)
{
    const char *name = strrchr(part->path, '/'), *folder = name;
    while (folder != NULL && folder > part->path && folder[-1] != '/')
        folder--;
    char *gpu = name != NULL ? rt_format("%.*s", (int)(name - folder), folder) : rt_strdup("");
    int32_t device = rt_tree_device(part->tree, gpu);
    if (device < 0)
        rt_fail(RT_ENOTFOUND,
                "%s: a label of the unknown GPU \"%.80s\" (its folder's name): neither a device file of the "
                "tree nor the catalogue has it; add a device file",
                part->path, gpu);
    free(gpu);
    return device;
}

static int read_label(struct rt_import_part *part, json_t *root, struct rt_workload *workload)
{
    const char *name = strrchr(part->path, '/');
    json_t *layers = json_object_get(root, "num_layer");
    int status = workload_of_name(part, name != NULL ? name + 1 : part->path, workload);
    if (status != RT_OK ||
        (status = label_time(part, root, "e2e_latency", true, &workload->end_to_end_us)) != RT_OK ||
        (status = label_time(part, root, "fw_latency", false, &workload->forward_us)) != RT_OK ||
        (status = label_time(part, root, "bwall_latency", false, &workload->backward_us)) != RT_OK)
        return status;
    if (layers != NULL && !json_is_null(layers) &&
        (!json_is_integer(layers) || json_integer_value(layers) < 0 || json_integer_value(layers) > 1000000))
        return rt_fail(RT_EFORMAT, "%s: \"num_layer\" must be a whole number, 0 where it is unknown",
                       part->path);
    if (json_integer_value(layers) > 0)
        workload->layers = json_integer_value(layers);
    return RT_OK;
}

static void add_label(struct rt_import_part *part, json_t *root)
{
    struct rt_workload workload;
    rt_workload_init(&workload);
    workload.dtype = RT_FP32;
    workload.device = label_device(part);
    if (workload.device >= 0 && read_label(part, root, &workload) == RT_OK) {
        add_nodes(part, &workload);
        rt_dataset_add_workload(&part->data, &workload);
    } else {
        rt_import_part_refuse(part, "workload", workload.device);
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

static void read_json(struct rt_import_part *part)
{
    json_t *root = load_json(part->path);
    if (root == NULL) {
        rt_import_part_skip(part);
    } else if (is_device(root)) {
        (void)0; /* prepare() took it */
    } else if (json_object_get(root, "e2e_latency") != NULL) {
        add_label(part, root);
    } else if (is_model_config(root)) {
        rt_import_part_is(part, "model configurations");
    } else {
        rt_fail(RT_EFORMAT, "%s: is JSON, but neither a device, a label nor a model's configuration",
                part->path);
        rt_import_part_skip(part);
    }
    json_decref(root);
}

/* Forecasts look like labels and kernels, but nobody measured them. */
static bool is_forecast(const struct rt_import_part *part)
{
    return rt_tree_has_folder(part->tree, part->path, "results") ||
           rt_tree_has_folder(part->tree, part->path, "prediction");
}

static void read_file(struct rt_import_part *part)
{
    bool csv = ends_with(part->path, ".csv"), json = ends_with(part->path, ".json");
    if (!csv && !json)
        rt_import_part_is(part, "other files (not .csv or .json)");
    else if (is_forecast(part))
        rt_import_part_is(part, "forecasts of others");
    else if (csv)
        read_csv(part);
    else
        read_json(part);
}

int rt_import_neusight(const char *path, const struct rt_import_options *options, struct rt_dataset *out,
                       struct rt_import_report *report)
{
    static const struct rt_tree_reader reader = {
        .prepare = prepare,
        .read = read_file,
        .source =
            "NeuSight (Lee, Phanishayee, Mahajan: Forecasting GPU Performance for Deep Learning Training and "
            "Inference, ASPLOS 2025), repository sitar-lab/NeuSight",
        .licence = "MIT, copyright 2025 Georgia Institute of Technology and Microsoft Corporation",
    };
    return rt_tree_import(path, &reader, options, out, report);
}
