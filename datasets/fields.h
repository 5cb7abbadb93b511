/*
 * Samples and workloads, and the columns of /samples and /workloads, a row each: reading, writing, CSV,
 * checks, ranges and orders of rows all follow these tables. A new column is a member of the struct, a row
 * here, and a version of the format.
 */
#pragma once

#include "datasets/call.h"
#include "base/h5.h"

#include <math.h>

enum rt_split { RT_SPLIT_NONE = 0, RT_SPLIT_TRAIN = 1, RT_SPLIT_TEST = 2, RT_SPLIT_COUNT };
/* What a workload ran. The numbers are stored in files: append, never renumber. */
enum rt_mode {
    RT_INFERENCE = 0,  /* one pass over whole sequences: the prefill of a language model */
    RT_TRAINING = 1,   /* one step of it */
    RT_DECODE = 2,     /* one step: a new token of each sequence */
    RT_GENERATION = 3, /* a prefill and the decode steps after it, of a whole batch */
    RT_MODE_COUNT
};

/* LLM servers. Each runs kernels of its own choice for products, attention and experts. */
enum rt_server_project { RT_SERVER_VLLM, RT_SERVER_SGLANG, RT_SERVER_TENSORRT, RT_SERVER_PROJECTS };

/* Bits of rt_sample.flags. Flagged samples are kept; training and evaluation decide what to do with them. */
enum {
    RT_FLAG_UNKNOWN_TILE = 1 << 0, /* the tile could not be read off the kernel */
    RT_FLAG_UNSTABLE = 1 << 1,     /* the collector's stopping criterion was not met */
    RT_FLAG_THROTTLED = 1 << 2,    /* the clock fell while it was measured */
    RT_FLAG_FAILED = 1 << 3,       /* could not run (out of memory, unsupported): latency is NaN */
    RT_FLAG_SYNTHETIC = 1 << 4,    /* not a measurement */
    RT_FLAG_PARTIAL = 1 << 5,      /* a workload some of whose kernels could not run: its times lack them */
    RT_FLAG_QUEUED = 1 << 6,       /* timed by the device itself or in a queue: no dispatch overhead in it */
    RT_FLAG_SCALAR_LOADS =
        1 << 7,                /* the kernel reads its rows element by element, as vLLM's did until 2025 */
    RT_FLAG_SGLANG = 1 << 8,   /* the kernel is SGLang's choice, */
    RT_FLAG_TENSORRT = 1 << 9, /* or TensorRT-LLM's; neither: vLLM's, or no server's */
    RT_FLAG_REPEAT = 1 << 10,  /* a kernel of the session measured again, to see whether it drifts */
};
#define RT_FLAG_COUNT 11
extern const char *const rt_flag_names[RT_FLAG_COUNT];

/* Could a clock have given that time: 1 ns to a day? Not so NaN. What could not is no measurement: importers
 * refuse its row, `validate` names it, and nothing is fitted to it or judged by it. */
static inline bool rt_time_is_possible(double time_us)
{
    return time_us >= 1e-3 && time_us <= 86400e6;
}

struct rt_sample {
    double latency_us; /* what predictors are fitted to; which statistic: its group's attribute
                          "latency_statistic" */
    double latency_median_us, latency_min_us;
    double latency_spread_us; /* median absolute deviation */
    double energy_mj;
    struct rt_call call;
    int32_t count;         /* timed runs behind the statistics */
    int32_t device, group; /* indices into the dataset's tables */
    int32_t kernel;        /* index into kernels: name of the kernel that dominates */
    int32_t kernels;       /* index into kernels: all names, ";" between, where several ran */
    int32_t tile[3];       /* products: rows m, columns n, depth k; else: elements, -1, -1 */
    int32_t grid[3], block[3];
    uint32_t flags;
    uint8_t split;   /* rt_split */
    uint8_t zero[7]; /* samples compare as bytes */
    /* Columns of version 3: */
    double latency_p20_us, latency_p80_us; /* of the timed runs */
    double latency_warm_us;                /* median with the operands left in the caches */
    double sm_clock_mhz;                   /* while it was timed */
    double temperature_c, power_w;         /* right after */
    int32_t registers;                     /* of a thread of the main kernel */
    int32_t shared_bytes;                  /* of a block of it, static and dynamic */
};

struct rt_workload {
    double forward_us, backward_us, end_to_end_us;
    double energy_mj;
    int64_t batch, sequence; /* tokens of a sequence (a prompt); decode: those that are cached */
    int64_t layers;          /* of the model as it was run */
    int32_t device, group;
    int32_t model, option; /* indices into `texts`: "gpt3_27"; "" plain, "fusion", "dp4", "tp4", "pp4_1" */
    uint32_t flags;
    uint8_t mode, dtype; /* rt_mode, rt_dtype */
    /* Sums over the model's nodes, each measured alone: the additive floor. Backward includes accumulation.
     * They stay last: the uuid is over the columns of version 1, then over these (dataset.c). */
    double kernels_forward_us, kernels_backward_us;
};

extern const char *const rt_splits[RT_SPLIT_COUNT];
extern const char *const rt_modes[RT_MODE_COUNT];

/* With everything missing. */
void rt_sample_init(struct rt_sample *sample);
void rt_workload_init(struct rt_workload *workload);

/* The table of which a column holds row numbers. */
enum rt_dataset_table {
    RT_NO_TABLE,
    RT_TABLE_DEVICES,
    RT_TABLE_GROUPS,
    RT_TABLE_KERNELS,
    RT_TABLE_TEXTS,
    RT_TABLE_COUNT
};

struct rt_field {
    const char *name;
    enum rt_h5_type type; /* RT_H5_U8: an enum; RT_H5_U32: bits */
    size_t offset;        /* in struct rt_sample or rt_workload */
    const char *units, *long_name;
    const char *const *names; /* of an enum */
    size_t name_count;
    int since; /* the first version of the format with this column; files before it read as missing */
    enum rt_dataset_table table;
    bool required;    /* never missing */
    bool may_be_zero; /* otherwise integers are 1 or more */
    int64_t most;     /* of an integer; 0: no limit */
};
extern const struct rt_field rt_sample_fields[];
extern const size_t rt_sample_field_count;
extern const struct rt_field rt_workload_fields[];
extern const size_t rt_workload_field_count;

enum { RT_LARGEST_ROW = 512 }; /* bytes that hold a row's struct */

/* What the rows of a table are. */
struct rt_row_kind {
    const char *table; /* in files: "/samples" */
    const struct rt_field *fields;
    size_t field_count, size; /* of the struct, in bytes */
    const void *blank;        /* a row with everything missing */
};
extern const struct rt_row_kind rt_sample_rows, rt_workload_rows;

/* Number of the column, which must be there. */
size_t rt_field_named(const struct rt_row_kind *kind, const char *name);

/* Is the value missing, or possible? Times are what a clock can give (rt_time_is_possible; a spread from
 * 0), other reals are finite and 0 or more, integers 1 or more, or 0 where that is a value. */
bool rt_field_is_possible(const struct rt_field *field, const void *row);
/* What the value must be, as words of a sentence: "a whole number of 1..65536". */
const char *rt_field_must_be(const struct rt_field *field, char text[static 96]);

static inline size_t rt_field_size(const struct rt_field *field)
{
    return field->type == RT_H5_U8 ? 1 : field->type == RT_H5_F64 || field->type == RT_H5_I64 ? 8 : 4;
}

/* A value of an integer column of any width; -1 where it is missing. */
static inline int64_t rt_integer_of(enum rt_h5_type type, const void *value)
{
    switch (type) {
    case RT_H5_U8:
        return *(const uint8_t *)value;
    case RT_H5_I32:
        return *(const int32_t *)value;
    case RT_H5_U32:
        return *(const uint32_t *)value;
    case RT_H5_I64:
        return *(const int64_t *)value;
    default:
        return -1;
    }
}
static inline int64_t rt_field_integer(const struct rt_field *field, const void *row)
{
    return rt_integer_of(field->type, (const char *)row + field->offset);
}

/* Value of any column as a real; NaN where it is missing. */
static inline double rt_field_real(const struct rt_field *field, const void *row)
{
    if (field->type == RT_H5_F64)
        return *(const double *)((const char *)row + field->offset);
    int64_t value = rt_field_integer(field, row);
    return value == -1 ? NAN : (double)value;
}
