/* The tables of columns. See fields.h. */
#include "datasets/fields.h"
#include "base/status.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

const char *const rt_flag_names[RT_FLAG_COUNT] = {"unknown_tile", "unstable",     "throttled", "failed",
                                                  "synthetic",    "partial",      "queued",    "scalar_loads",
                                                  "sglang",       "tensorrt_llm", "repeat"};
const char *const rt_splits[RT_SPLIT_COUNT] = {"none", "train", "test"};
const char *const rt_modes[RT_MODE_COUNT] = {"inference", "training", "decode", "generation"};

void rt_sample_init(struct rt_sample *sample)
{
    memset(sample, 0, sizeof *sample); /* padding too: samples are compared as bytes */
    sample->latency_us = sample->latency_median_us = sample->latency_min_us = NAN;
    sample->latency_spread_us = sample->energy_mj = NAN;
    sample->latency_p20_us = sample->latency_p80_us = sample->latency_warm_us = NAN;
    sample->sm_clock_mhz = sample->temperature_c = sample->power_w = NAN;
    sample->registers = sample->shared_bytes = -1;
    sample->count = sample->device = sample->group = sample->kernel = sample->kernels = -1;
    for (int i = 0; i < RT_MAX_DIMS; i++)
        sample->call.dim[i] = -1;
    for (int i = 0; i < 3; i++)
        sample->tile[i] = sample->grid[i] = sample->block[i] = -1;
}

void rt_workload_init(struct rt_workload *workload)
{
    memset(workload, 0, sizeof *workload);
    workload->forward_us = workload->backward_us = workload->end_to_end_us = workload->energy_mj = NAN;
    workload->kernels_forward_us = workload->kernels_backward_us = NAN;
    workload->batch = workload->sequence = workload->layers = -1;
    workload->device = workload->group = workload->model = workload->option = -1;
}

/* Enum columns need arrays of names; these follow the op and dtype tables. */
static const char *op_names[RT_OP_COUNT], *dtype_names[RT_DTYPE_COUNT];
static struct rt_sample blank_sample;
static struct rt_workload blank_workload;

__attribute__((constructor)) static void fill_names(void)
{
    rt_sample_init(&blank_sample);
    rt_workload_init(&blank_workload);
    for (int i = 0; i < RT_OP_COUNT; i++)
        op_names[i] = rt_ops[i].name;
    for (int i = 0; i < RT_DTYPE_COUNT; i++)
        dtype_names[i] = rt_dtypes[i].name;
}

#define MOST_SIZE   ((int64_t)1 << 31) /* as graphs are built */
#define MOST_LAYERS 65536

#define S(member) offsetof(struct rt_sample, member)
#define W(member) offsetof(struct rt_workload, member)

/* clang-format off */
const struct rt_field rt_sample_fields[] = {
    {"op", RT_H5_U8, S(call.op), NULL, "operator", op_names, RT_OP_COUNT, .since = 1},
    {"dtype", RT_H5_U8, S(call.dtype), NULL, "element type of the operands", dtype_names, RT_DTYPE_COUNT, .since = 1},
    {"phase", RT_H5_U8, S(call.phase), NULL, "forward, backward or gradient accumulation", rt_phases, RT_PHASE_COUNT, .since = 1},
    {"split", RT_H5_U8, S(split), NULL, "marked by the source for training or testing", rt_splits, RT_SPLIT_COUNT, .since = 1},
    {"device", RT_H5_I32, S(device), "1", "row of /devices", .since = 1, .table = RT_TABLE_DEVICES, .required = true},
    {"group", RT_H5_I32, S(group), "1", "group of named attributes, -1 for none", .since = 1, .table = RT_TABLE_GROUPS},
    {"dim0", RT_H5_I64, S(call.dim[0]), "1", "first dim, by the op's dim names", .since = 1, .may_be_zero = true},
    {"dim1", RT_H5_I64, S(call.dim[1]), "1", "second dim", .since = 1, .may_be_zero = true},
    {"dim2", RT_H5_I64, S(call.dim[2]), "1", "third dim", .since = 1, .may_be_zero = true},
    {"dim3", RT_H5_I64, S(call.dim[3]), "1", "fourth dim", .since = 1, .may_be_zero = true},
    {"dim4", RT_H5_I64, S(call.dim[4]), "1", "fifth dim", .since = 1, .may_be_zero = true},
    {"dim5", RT_H5_I64, S(call.dim[5]), "1", "sixth dim", .since = 1, .may_be_zero = true},
    {"dim6", RT_H5_I64, S(call.dim[6]), "1", "seventh dim", .since = 1, .may_be_zero = true},
    {"dim7", RT_H5_I64, S(call.dim[7]), "1", "eighth dim", .since = 1, .may_be_zero = true},
    {"dim8", RT_H5_I64, S(call.dim[8]), "1", "ninth dim", .since = 1, .may_be_zero = true},
    {"dim9", RT_H5_I64, S(call.dim[9]), "1", "tenth dim", .since = 1, .may_be_zero = true},
    {"dim10", RT_H5_I64, S(call.dim[10]), "1", "eleventh dim", .since = 1, .may_be_zero = true},
    {"dim11", RT_H5_I64, S(call.dim[11]), "1", "twelfth dim", .since = 4, .may_be_zero = true},
    {"dim12", RT_H5_I64, S(call.dim[12]), "1", "thirteenth dim", .since = 4, .may_be_zero = true},
    {"dim13", RT_H5_I64, S(call.dim[13]), "1", "fourteenth dim", .since = 4, .may_be_zero = true},
    {"latency_us", RT_H5_F64, S(latency_us), "us", "latency that predictors are fitted to", .since = 1},
    {"latency_median_us", RT_H5_F64, S(latency_median_us), "us", "median of the timed runs", .since = 1},
    {"latency_min_us", RT_H5_F64, S(latency_min_us), "us", "fastest of the timed runs", .since = 1},
    {"latency_spread_us", RT_H5_F64, S(latency_spread_us), "us", "median absolute deviation of the timed runs", .since = 1, .may_be_zero = true},
    {"count", RT_H5_I32, S(count), "1", "number of timed runs", .since = 1},
    {"energy_mj", RT_H5_F64, S(energy_mj), "mJ", "energy of one run", .since = 1},
    {"tile0", RT_H5_I32, S(tile[0]), "1", "tile rows m, or elements", .since = 1},
    {"tile1", RT_H5_I32, S(tile[1]), "1", "tile columns n", .since = 1},
    {"tile2", RT_H5_I32, S(tile[2]), "1", "tile depth k", .since = 1},
    {"grid0", RT_H5_I32, S(grid[0]), "1", "thread blocks along x", .since = 1},
    {"grid1", RT_H5_I32, S(grid[1]), "1", "thread blocks along y", .since = 1},
    {"grid2", RT_H5_I32, S(grid[2]), "1", "thread blocks along z", .since = 1},
    {"block0", RT_H5_I32, S(block[0]), "1", "threads of a block along x", .since = 1},
    {"block1", RT_H5_I32, S(block[1]), "1", "threads of a block along y", .since = 1},
    {"block2", RT_H5_I32, S(block[2]), "1", "threads of a block along z", .since = 1},
    {"kernel", RT_H5_I32, S(kernel), "1", "main kernel, index into /strings/kernels", .since = 1, .table = RT_TABLE_KERNELS},
    {"kernels", RT_H5_I32, S(kernels), "1", "all kernels, index into /strings/kernels", .since = 1, .table = RT_TABLE_KERNELS},
    {"flags", RT_H5_U32, S(flags), "1", "bits: unknown_tile unstable throttled failed synthetic", .since = 1},
    {"latency_p20_us", RT_H5_F64, S(latency_p20_us), "us", "20th percentile of the timed runs", .since = 3},
    {"latency_p80_us", RT_H5_F64, S(latency_p80_us), "us", "80th percentile of the timed runs", .since = 3},
    {"latency_warm_us", RT_H5_F64, S(latency_warm_us), "us", "median with the operands left in the caches", .since = 3},
    {"sm_clock_mhz", RT_H5_F64, S(sm_clock_mhz), "MHz", "clock of the multiprocessors while it was timed", .since = 3},
    {"temperature_c", RT_H5_F64, S(temperature_c), "degC", "of the device, right after", .since = 3},
    {"power_w", RT_H5_F64, S(power_w), "W", "of the board, right after", .since = 3},
    {"registers", RT_H5_I32, S(registers), "1", "registers of a thread of the main kernel", .since = 3, .may_be_zero = true},
    {"shared_bytes", RT_H5_I32, S(shared_bytes), "1", "shared memory of a block of the main kernel", .since = 3, .may_be_zero = true},
};
const struct rt_field rt_workload_fields[] = {
    {"model", RT_H5_I32, W(model), "1", "model, index into /strings/texts", .since = 1, .table = RT_TABLE_TEXTS, .required = true},
    {"option", RT_H5_I32, W(option), "1", "fusion or parallelism, index into /strings/texts", .since = 1, .table = RT_TABLE_TEXTS},
    {"mode", RT_H5_U8, W(mode), NULL, "inference or training", rt_modes, RT_MODE_COUNT, .since = 1},
    {"dtype", RT_H5_U8, W(dtype), NULL, "element type of weights and activations", dtype_names, RT_DTYPE_COUNT, .since = 1},
    {"device", RT_H5_I32, W(device), "1", "row of /devices", .since = 1, .table = RT_TABLE_DEVICES, .required = true},
    {"group", RT_H5_I32, W(group), "1", "group of named attributes, -1 for none", .since = 1, .table = RT_TABLE_GROUPS},
    {"batch", RT_H5_I64, W(batch), "1", "sequences or images in a step", .since = 1, .most = MOST_SIZE},
    {"sequence", RT_H5_I64, W(sequence), "1", "tokens of a sequence", .since = 1, .most = MOST_SIZE},
    {"layers", RT_H5_I64, W(layers), "1", "layers of the model as it was run", .since = 1, .most = MOST_LAYERS},
    {"forward_us", RT_H5_F64, W(forward_us), "us", "time of the forward pass", .since = 1},
    {"backward_us", RT_H5_F64, W(backward_us), "us", "time of the backward pass", .since = 1},
    {"end_to_end_us", RT_H5_F64, W(end_to_end_us), "us", "time of the whole step", .since = 1},
    {"energy_mj", RT_H5_F64, W(energy_mj), "mJ", "energy of the whole step", .since = 1},
    {"kernels_forward_us", RT_H5_F64, W(kernels_forward_us), "us", "sum over the forward nodes, each measured alone", .since = 2},
    {"kernels_backward_us", RT_H5_F64, W(kernels_backward_us), "us", "sum over the backward and accumulation nodes, each measured alone", .since = 2},
    {"flags", RT_H5_U32, W(flags), "1", "bits: unknown_tile unstable throttled failed synthetic", .since = 1},
};
/* clang-format on */
const size_t rt_sample_field_count = RT_COUNT(rt_sample_fields);
const size_t rt_workload_field_count = RT_COUNT(rt_workload_fields);

_Static_assert(sizeof blank_sample <= RT_LARGEST_ROW && sizeof blank_workload <= RT_LARGEST_ROW, "rows fit");
const struct rt_row_kind rt_sample_rows = {"/samples", rt_sample_fields, RT_COUNT(rt_sample_fields),
                                           sizeof blank_sample, &blank_sample};
const struct rt_row_kind rt_workload_rows = {"/workloads", rt_workload_fields, RT_COUNT(rt_workload_fields),
                                             sizeof blank_workload, &blank_workload};

size_t rt_field_named(const struct rt_row_kind *kind, const char *name)
{
    size_t f = 0;
    while (strcmp(kind->fields[f].name, name) != 0)
        f++;
    return f;
}

static bool is_time(const struct rt_field *field)
{
    return field->type == RT_H5_F64 && strcmp(field->units, "us") == 0;
}

bool rt_field_is_possible(const struct rt_field *field, const void *row)
{
    if (field->names != NULL || field->table != RT_NO_TABLE)
        return true; /* checked as the file is read */
    if (field->type == RT_H5_U32)
        return rt_field_integer(field, row) >> RT_FLAG_COUNT == 0;
    double value = rt_field_real(field, row);
    double least = field->type == RT_H5_F64 || field->may_be_zero ? 0 : 1;
    double most = field->most > 0 ? (double)field->most : DBL_MAX;
    if (is_time(field) && !field->may_be_zero)
        return isnan(value) || rt_time_is_possible(value);
    return isnan(value) || (value >= least && value <= most);
}

const char *rt_field_must_be(const struct rt_field *field, char text[static 96])
{
    if (is_time(field))
        snprintf(text, 96, "a time that a clock can give, 1 ns to a day, in us");
    else if (field->type == RT_H5_F64)
        snprintf(text, 96, "a number of 0 or more");
    else if (field->most > 0)
        snprintf(text, 96, "a whole number of 1..%lld", (long long)field->most);
    else
        snprintf(text, 96, "a whole number of %d or more", field->may_be_zero ? 0 : 1);
    return text;
}
