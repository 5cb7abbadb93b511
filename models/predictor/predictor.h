/*
 * A predictor: one network per op family with its features, scaling and tiles, in one self-describing file
 * (FORMAT.md). Baselines have lines or measured kernels where others have a network. Also "roofline", which
 * needs no file.
 *
 * Everything that tells predictors apart is data: features by name, architecture, head, tile policy. A new
 * kind of predictor is a row in recipe.c.
 */
#ifndef ROOFTILE_MODELS_PREDICTOR_PREDICTOR_H
#define ROOFTILE_MODELS_PREDICTOR_PREDICTOR_H

#include "datasets/dataset.h"
#include "base/h5.h"
#include "datasets/split.h"
#include "models/predictor/features.h"
#include "models/predictor/head.h"
#include "models/predictor/conformal_interval.h"
#include "models/predictor/device_effects.h"
#include "models/baselines/linear.h"
#include "models/nn/mlp.h"
#include "models/baselines/wave_scaling.h"
#include "models/baselines/measured_tiles.h"

#define RT_PREDICTOR_FORMAT  "rooftile-predictor"
#define RT_PREDICTOR_VERSION 2 /* 2: clipping, device effects */
#define RT_MAX_FEATURES      32
#define RT_MAX_NETS          (2 * RT_FAMILY_COUNT) /* of a predictor */

/* How the tile of a kernel is found where it was not given. */
enum rt_tile_policy {
    RT_TILE_NEAREST, /* the measured tile of the nearest shape */
    RT_TILE_ROW,     /* one row of the operand (softmax, layer norm) */
    RT_TILE_WHOLE,   /* no tile: features of the whole op, some of them for reference tiles */
    RT_TILE_TILING,  /* as RT_TILE_WHOLE, attention and experts as fused.h cuts them */
    RT_TILE_POLICY_COUNT
};
extern const char *const rt_tile_policies[RT_TILE_POLICY_COUNT];

/* What dtypes a network serves: products in fp32 run on vector lanes, narrower ones on matrix units, and what
 * is known of a device's one says little of its other. */
enum rt_units {
    RT_UNITS_ANY,
    RT_UNITS_VECTOR, /* fp32, fp64 */
    RT_UNITS_MATRIX, /* all others */
    RT_UNITS_COUNT
};
extern const char *const rt_units[RT_UNITS_COUNT]; /* "any", "vector", "matrix" */

/* The part of a predictor that forecasts one family, or its kernels on one kind of units. */
struct rt_family_net {
    enum rt_family family;
    enum rt_units units;
    int feature[RT_MAX_FEATURES]; /* indices into rt_features */
    int feature_count;
    double offset[RT_MAX_FEATURES], scale[RT_MAX_FEATURES]; /* the net sees (feature - offset) * scale, */
    double clip_low[RT_MAX_FEATURES], clip_high[RT_MAX_FEATURES]; /* of the feature within these */
    int head;                                                     /* index into rt_heads */
    enum rt_tile_policy policy;
    struct rt_mlp mlp;
    struct rt_measured_tiles tiles;
    struct rt_device_effects effects; /* none where the head has no use for them */
    struct rt_linear_baseline lines;  /* instead of a network, where the head says so; */
    struct rt_wave_scaling origins;   /* or these */
    struct rt_intervals intervals;
    char *loss; /* what it was fitted with, by name */
    int64_t rows_train, rows_validation, epochs, best_epoch;
    double validation_mape; /* percent */
};

struct rt_predictor {
    char *kind; /* "neusight", "roofline" */
    struct rt_family_net *nets;
    size_t net_count;
    /* Where it comes from; lists have one entry a line. Never NULL. */
    char *creator, *data_uuids, *data_sources, *data_licences;
    char *devices; /* names of the GPUs it was fitted to */
    char *held_out_gpus, *held_out_ops;
    char *calibrated; /* devices whose device effects were fitted later: "NAME\tWHAT TO\tUUID OF THE DATA" */
    struct rt_split_rule split; /* how what is measured is dealt */
    bool kept_no_test;          /* it was fitted to all parts of its devices */
    int64_t threads;
    bool complete; /* false: training was interrupted, these are the best weights so far */
};

void rt_predictor_init(struct rt_predictor *predictor, const char *kind);
void rt_predictor_release(struct rt_predictor *predictor);
void rt_family_net_release(struct rt_family_net *net);

/* `name` is the path of a predictor file, "roofline", or "pretrained": the file that comes with rooftile. */
int rt_predictor_open(const char *name, struct rt_predictor *out);
/* That file's path, free with free(): ROOFTILE_PRETRAINED, else beside the program. */
int rt_pretrained_path(char **out);
int rt_predictor_save(const struct rt_predictor *predictor, const char *path); /* atomic */

/* The families and provenance inside an open file; checkpoints hold them too. */
int rt_predictor_write(const struct rt_predictor *predictor, struct rt_h5 *file);
int rt_predictor_read(struct rt_h5 *file, struct rt_predictor *out);

/* "linear", "linear matrix": what a net is called in tables and, with a "." between, in files. */
const char *rt_net_name(enum rt_family family, enum rt_units units);

/* Is a net for kernels of that op and dtype? */
bool rt_net_serves(const struct rt_family_net *net, enum rt_op_id op, enum rt_dtype dtype);

/* The net for an op in a dtype: the one that serves it, or else one that serves the family in other dtypes;
 * NULL where the predictor has none. */
const struct rt_family_net *rt_predictor_net(const struct rt_predictor *predictor, enum rt_op_id op,
                                             enum rt_dtype dtype);

/* Was the predictor fitted to this device (by name)? Is it on its held-out list? */
bool rt_predictor_knows_device(const struct rt_predictor *predictor, const char *name);
/* Was its net for that op and dtype fitted to kernels of the device? One that was fitted to several sources
 * may know a GPU in bf16 and not in fp32. Where a net has no device effects to tell, as
 * rt_predictor_knows_device.
 */
bool rt_predictor_fitted_to(const struct rt_predictor *predictor, const char *device, enum rt_op_id op,
                            enum rt_dtype dtype);
/* The same of what models are made of: products, row ops or elementwise ops in that dtype. */
bool rt_predictor_knows_device_in(const struct rt_predictor *predictor, const char *name,
                                  enum rt_dtype dtype);
bool rt_predictor_holds_out(const struct rt_predictor *predictor, const char *device, enum rt_op_id op);

/* Were the device effects of this device, which it may not have been fitted to, calibrated? */
bool rt_predictor_calibrated_device(const struct rt_predictor *predictor, const char *name);

/* Was what forecasts this kernel, or this run, on its device calibrated to it? */
bool rt_predictor_calibrated_to_kernel(const struct rt_predictor *predictor, const struct rt_dataset *dataset,
                                       const struct rt_sample *sample);
bool rt_predictor_calibrated_to_run(const struct rt_predictor *predictor, const struct rt_dataset *dataset,
                                    const struct rt_workload *workload);

/* Why a kernel was not forecast. */
enum rt_skip {
    RT_SKIP_NONE = 0,
    RT_SKIP_NO_FAMILY, /* the predictor has no network for this op's family */
    RT_SKIP_NO_PEAK,   /* the device descriptor has no peak for this dtype (or no link, for collectives) */
    RT_SKIP_NO_TILE,   /* no tile is known for anything like it */
    RT_SKIP_NO_ORIGIN, /* nothing like it was measured on another device */
    RT_SKIP_COUNT
};
extern const char *const rt_skip_words[RT_SKIP_COUNT];

/* Forecasts `count` kernels on one device: latency_us (count), NaN where skip (count, may be NULL) is not
 * RT_SKIP_NONE. A query's tile is used where it is known (>= 1), found by the policy otherwise. `pool` may be
 * NULL: this thread alone; results do not depend on it. */
void rt_predictor_forecast(const struct rt_predictor *predictor, const struct rt_device *device,
                           const struct rt_query *queries, size_t count, struct rt_threads *pool,
                           double *latency_us, uint8_t *skip);

/* How far ln(measured / forecast) of that kernel may lie from 0 on either side, at `level` (0.9: in nine of
 * ten cases it does not). NaN where the predictor does not know. */
double rt_predictor_interval(const struct rt_predictor *predictor, const struct rt_device *device,
                             const struct rt_query *query, double level);

/* The feature (of rt_features) that lies farthest beyond the range a net was fitted in, measured by that
 * range; -1 where none does. What lies beyond is forecast as if it lay at the edge. */
int rt_family_net_beyond(const struct rt_family_net *net, const struct rt_query *query,
                         const struct rt_device *device);

/* The query a sample asks; its tile is left unknown unless `with_tile`. */
void rt_query_of_sample(const struct rt_sample *sample, bool with_tile, struct rt_query *query);

/* For training: features (feature_count, scaled) and bound of one kernel with its tile. RT_SKIP_NONE or why
 * not. */
void rt_bound_set_effect(struct rt_bound *bound, const struct rt_device_effect *effect); /* shift and floor */
enum rt_skip rt_family_net_inputs(const struct rt_family_net *net, const struct rt_query *query,
                                  const struct rt_device *device, rt_real *features, struct rt_bound *bound);

/* The places of kernels by which corrections tell what is like what (correction.h): places (count, width)
 * from features (count, feature_count). A distance of 1.5 is as much as all inputs differing by 1,
 * one of 2.25 all of the last hidden layer. */
size_t rt_family_net_place_width(const struct rt_family_net *net);
void rt_family_net_places(const struct rt_family_net *net, struct rt_threads *pool, const rt_real *features,
                          size_t count, rt_real *places);

#endif
