/*
 * AIConfigurator's measurements (repository ai-dynamo/aiconfigurator): tables of gemm, attention, mixture of
 * experts and collectives. A row's op_name says which columns are its dims; whatever else the table says of
 * it becomes an attribute of its group, under the column's own name.
 */
#include "datasets/import/tree.h"
#include "base/status.h"
#include "base/strings.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DTYPE_LENGTH = 32 };

/* How a column says a dim. All but the first may be absent or empty: 0 (no window, nothing cached). */
enum form {
    REQUIRED, /* a whole number */
    OPTIONAL,
    BITS,    /* a dtype: the bits of an element, 0 where they are those of the row's dtype; */
    ROUTING, /* "balanced": 0; "power_law_1.2": 120. These two remain attributes as well */
};

struct dim {
    const char *column;
    enum form form;
};

/* What an op_name is: our op, the column of its dtype, the columns of its dims in our order. */
struct layout {
    const char *op_name;
    enum rt_op_id op;
    const char *dtypes[2];
    struct dim dims[RT_MAX_DIMS];
};

#define ATTENTION(step_)                                                                                     \
    {"attn_dtype"},                                                                                          \
    {                                                                                                        \
        {"batch_size", REQUIRED}, {"isl", REQUIRED}, {"step", step_}, {"num_heads", REQUIRED},               \
            {"num_key_value_heads", REQUIRED}, {"head_dim", REQUIRED}, {"window_size", OPTIONAL},            \
        {                                                                                                    \
            "kv_cache_dtype", BITS                                                                           \
        }                                                                                                    \
    }
#define COLLECTIVE                                                                                           \
    {"nccl_dtype", "allreduce_dtype"},                                                                       \
    {                                                                                                        \
        {"num_gpus", REQUIRED},                                                                              \
        {                                                                                                    \
            "message_size", REQUIRED                                                                         \
        }                                                                                                    \
    }

/* clang-format off */
static const struct layout layouts[] = {
    {"gemm", RT_OP_GEMM, {"gemm_dtype"}, {{"m", REQUIRED}, {"n", REQUIRED}, {"k", REQUIRED}}},
    {"context_attention", RT_OP_ATTENTION_CONTEXT, ATTENTION(OPTIONAL)},
    {"generation_attention", RT_OP_ATTENTION_GENERATION, ATTENTION(REQUIRED)},
    {"encoder_attention", RT_OP_ATTENTION_ENCODER, {"attn_dtype"},
     {{"batch_size", REQUIRED}, {"isl", REQUIRED}, {"num_heads", REQUIRED}, {"head_dim", REQUIRED}}},
    {"moe", RT_OP_MOE, {"moe_dtype"},
     {{"num_tokens", REQUIRED}, {"hidden_size", REQUIRED}, {"inter_size", REQUIRED}, {"topk", REQUIRED}, {"num_experts", REQUIRED},
      {"moe_tp_size", REQUIRED}, {"moe_ep_size", REQUIRED}, {"distribution", ROUTING}}},
    {"all_reduce", RT_OP_ALL_REDUCE, COLLECTIVE},
    {"all_gather", RT_OP_ALL_GATHER, COLLECTIVE},
    {"reduce_scatter", RT_OP_REDUCE_SCATTER, COLLECTIVE},
    {"alltoall", RT_OP_ALL_TO_ALL, COLLECTIVE},
};
/* clang-format on */

/* Where a layout's columns are in the file at hand. */
struct places {
    bool found;
    int dims;
    int dtype, dim[RT_MAX_DIMS]; /* -1: no such column */
    int *attributes;
    size_t attribute_count;
};

struct reading {
    struct rt_import_part *part;
    struct rt_csv *csv;
    const struct rt_csv_field *row;
    int op_name, device, latency; /* columns */
    struct places places[RT_COUNT(layouts)];
    size_t layout; /* of the last row: neighbours mostly share it, and the dtype */
    int last_dtype;
    char dtype_text[RT_DTYPE_COUNT][DTYPE_LENGTH]; /* how the file last spelled each dtype */
};

static int fail_row(const struct reading *r, const char *column, const char *text, const char *must)
{
    return rt_fail(RT_EFORMAT, "%s:%zu: %s is \"%.40s\"; it must be %s", rt_csv_path(r->csv),
                   rt_csv_line(r->csv), column, text, must);
}

static bool is_used(const struct reading *r, const struct layout *layout, const struct places *places,
                    int column)
{
    bool used =
        column == r->op_name || column == r->device || column == r->latency || column == places->dtype;
    for (int i = 0; i < places->dims; i++)
        used |= column == places->dim[i] && layout->dims[i].form <= OPTIONAL;
    return used;
}

/* Fills places of a layout; its `found` stays false where a column is missing. */
static void find_places(struct reading *r, size_t l)
{
    const struct layout *layout = &layouts[l];
    struct places *places = &r->places[l];
    int dims = places->dims = rt_op_ndims(layout->op), columns = (int)rt_csv_columns(r->csv);
    places->dtype = rt_csv_find(r->csv, layout->dtypes[0]);
    if (places->dtype < 0 && layout->dtypes[1] != NULL)
        places->dtype = rt_csv_find(r->csv, layout->dtypes[1]);
    places->found = places->dtype >= 0;
    for (int i = 0; i < dims; i++) {
        places->dim[i] = rt_csv_find(r->csv, layout->dims[i].column);
        places->found &= places->dim[i] >= 0 || layout->dims[i].form != REQUIRED;
    }
    places->attributes = rt_calloc((size_t)columns, sizeof *places->attributes);
    for (int c = 0; c < columns; c++)
        if (!is_used(r, layout, places, c) && rt_csv_header(r->csv, (size_t)c)[0] != '\0')
            places->attributes[places->attribute_count++] = c;
}

static const struct layout *find_layout(struct reading *r)
{
    const char *name = r->row[r->op_name].text;
    if (strcmp(layouts[r->layout].op_name, name) == 0)
        return &layouts[r->layout];
    for (size_t l = 0; l < RT_COUNT(layouts); l++)
        if (strcmp(layouts[l].op_name, name) == 0) {
            r->layout = l;
            return &layouts[l];
        }
    return NULL;
}

static int fail_columns(const struct reading *r, const struct layout *layout)
{
    const struct places *places = &r->places[layout - layouts];
    const char *missing = places->dtype < 0 ? layout->dtypes[0] : NULL;
    for (int i = 0; i < rt_op_ndims(layout->op) && missing == NULL; i++)
        if (places->dim[i] < 0 && layout->dims[i].form == REQUIRED)
            missing = layout->dims[i].column;
    return rt_fail(RT_EFORMAT, "%s:%zu: a row of %s needs a column \"%s\"", rt_csv_path(r->csv),
                   rt_csv_line(r->csv), layout->op_name, missing);
}

static int find_dtype(struct reading *r, const struct rt_csv_field *field)
{
    if (field->length == 0 || field->length >= DTYPE_LENGTH)
        return -1;
    if (strcmp(field->text, r->dtype_text[r->last_dtype]) == 0)
        return r->last_dtype;
    for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++)
        if (strcmp(field->text, r->dtype_text[dtype]) == 0)
            return r->last_dtype = dtype;
    int dtype = rt_dtype_find(field->text);
    if (dtype >= 0)
        strcpy(r->dtype_text[dtype], field->text);
    return dtype;
}

static int read_dtype(struct reading *r, const struct places *places, struct rt_sample *sample)
{
    const struct rt_csv_field *field = &r->row[places->dtype];
    int dtype = find_dtype(r, field);
    if (dtype < 0)
        return fail_row(r, rt_csv_header(r->csv, (size_t)places->dtype), field->text,
                        "a dtype that datasets/op.c has a row for");
    sample->call.dtype = (uint8_t)dtype;
    return RT_OK;
}

/* Bits of the dtype that `field` names, 0 where it is as wide as `dtype`. */
static int read_bits(const struct rt_csv_field *field, enum rt_dtype dtype, int64_t *dim)
{
    int other = rt_dtype_find(field->text);
    if (other < 0)
        return -1;
    bool same = rt_dtypes[other].bytes == rt_dtypes[dtype].bytes;
    *dim = same ? 0 : (int64_t)(8 * rt_dtypes[other].bytes + 0.5);
    return 0;
}

/* 100 times the exponent of a power law, 0 where loads are even: by themselves, or after an expert-parallel
 * load balancer ("power_law_1.2_eplb") has spread them. */
static int read_routing(const struct rt_csv_field *field, int64_t *dim)
{
    static const char power_law[] = "power_law_", balancer[] = "_eplb";
    size_t length = strlen(power_law), rest = field->length - length, tail = strlen(balancer);
    double exponent = 0;
    *dim = 0;
    if (strcmp(field->text, "balanced") == 0 || strcmp(field->text, "uniform") == 0)
        return 0;
    if (field->length <= length || strncmp(field->text, power_law, length) != 0)
        return -1;
    bool balanced = rest > tail && strcmp(field->text + field->length - tail, balancer) == 0;
    if (rt_parse_real(field->text + length, balanced ? rest - tail : rest, &exponent) != 0 ||
        !(exponent > 0) || exponent > 100)
        return -1;
    if (balanced)
        return 0;
    *dim = (int64_t)(100 * exponent + 0.5);
    return 0;
}

static int read_dims(struct reading *r, const struct layout *layout, const struct places *places,
                     struct rt_sample *sample)
{
    for (int i = 0; i < places->dims; i++) {
        const struct rt_csv_field *field = places->dim[i] >= 0 ? &r->row[places->dim[i]] : NULL;
        const struct dim *dim = &layout->dims[i];
        if (dim->form != REQUIRED && (field == NULL || field->missing))
            sample->call.dim[i] = 0;
        else if (dim->form <= OPTIONAL && rt_import_part_integer(field, &sample->call.dim[i]) != 0)
            return fail_row(r, dim->column, field->text, "a whole number");
        else if (dim->form == BITS && read_bits(field, sample->call.dtype, &sample->call.dim[i]) != 0)
            return fail_row(r, dim->column, field->text, "a dtype that datasets/op.c has a row for");
        else if (dim->form == ROUTING && read_routing(field, &sample->call.dim[i]) != 0)
            return fail_row(r, dim->column, field->text, "\"balanced\", \"uniform\" or \"power_law_A\"");
    }
    if (rt_op_check(layout->op, sample->call.dim) != RT_OK)
        return rt_fail_context(RT_EFORMAT, "%s:%zu", rt_csv_path(r->csv), rt_csv_line(r->csv));
    return RT_OK;
}

static int read_sample(struct reading *r, const struct layout *layout, struct rt_sample *sample)
{
    struct places *places = &r->places[layout - layouts];
    int status;
    if (!places->found)
        return fail_columns(r, layout);
    if ((status = read_dtype(r, places, sample)) != RT_OK ||
        (status = read_dims(r, layout, places, sample)) != RT_OK ||
        (status = rt_import_part_latency(r->csv, &r->row[r->latency], "latency", &sample->latency_us)) !=
            RT_OK)
        return status;
    sample->call.op = (uint8_t)layout->op;
    sample->latency_us *= 1000; /* ms */
    if (rt_ops[layout->op].family != RT_FAMILY_COLLECTIVE)
        sample->flags = RT_FLAG_UNKNOWN_TILE; /* no table names its kernels' tiles */
    sample->group = rt_import_part_group(r->part, r->csv, r->row, places->attributes, places->attribute_count,
                                         0, NULL, NULL);
    return sample->group < 0 ? sample->group : RT_OK;
}

/* One row: kept, or refused. Not RT_OK where the rest of the file is not worth reading. */
static int read_row(struct reading *r, const struct rt_sample *blank)
{
    struct rt_sample sample = *blank;
    const struct layout *layout = find_layout(r);
    bool kept = false;
    sample.device = rt_import_part_device(r->part, r->csv, &r->row[r->device]);
    if (sample.device >= 0 && layout == NULL)
        fail_row(r, "op_name", r->row[r->op_name].text,
                 "an op that is known here (gemm, moe, context_attention, ...)");
    else if (sample.device >= 0)
        kept = read_sample(r, layout, &sample) == RT_OK;
    if (kept)
        rt_import_part_sample(r->part, &sample);
    else
        rt_import_part_refuse(r->part, layout != NULL ? rt_ops[layout->op].name : NULL, sample.device);
    return sample.device == RT_EFORMAT ? RT_EFORMAT : RT_OK;
}

static void read_rows(struct reading *r)
{
    struct rt_sample blank;
    rt_sample_init(&blank);
    blank.split = r->part->split;
    for (size_t l = 0; l < RT_COUNT(layouts); l++)
        find_places(r, l);
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
    for (size_t l = 0; l < RT_COUNT(layouts); l++)
        free(r->places[l].attributes);
}

static void read_csv(struct rt_import_part *part)
{
    struct reading r = {.part = part};
    if (rt_csv_open(part->path, &r.csv) != RT_OK) {
        rt_import_part_skip(part);
        return;
    }
    r.op_name = rt_csv_find(r.csv, "op_name");
    r.device = rt_csv_find(r.csv, "device");
    r.latency = rt_csv_find(r.csv, "latency");
    if (r.op_name >= 0 && r.device >= 0 && r.latency >= 0) {
        read_rows(&r);
    } else {
        rt_fail(RT_EFORMAT,
                "%s:1: has not the columns of a table of AIConfigurator (op_name, device, latency)",
                part->path);
        rt_import_part_skip(part);
    }
    rt_csv_close(r.csv);
}

static void read_file(struct rt_import_part *part)
{
    const char *dot = strrchr(part->path, '.');
    if (dot != NULL && strcasecmp(dot, ".csv") == 0)
        read_csv(part);
    else if (dot != NULL && (strcasecmp(dot, ".yaml") == 0 || strcasecmp(dot, ".yml") == 0))
        rt_import_part_is(part, "system descriptions (the catalogue has their numbers)");
    else
        rt_import_part_is(part, "other files (not .csv or .yaml)");
}

int rt_import_aiconfigurator(const char *path, const struct rt_import_options *options,
                             struct rt_dataset *out, struct rt_import_report *report)
{
    static const struct rt_tree_reader reader = {
        .read = read_file,
        .groups_differ = true,
        .source = "AIConfigurator, repository ai-dynamo/aiconfigurator",
        .licence = "Apache-2.0, copyright 2025-2026 NVIDIA CORPORATION & AFFILIATES",
    };
    return rt_tree_import(path, &reader, options, out, report);
}
