/*
 * The part of a predictor that forecasts one family of ops, or its kernels in some dtypes: which forecaster
 * it is (forecaster.h), and what that was fitted to. From a query to the inputs of a network.
 */
#pragma once

#include "datasets/dataset.h"
#include "models/predictors/baselines/linear.h"
#include "models/predictors/baselines/measured_tiles.h"
#include "models/predictors/baselines/wave_scaling.h"
#include "models/predictors/nn/mlp.h"
#include "models/predictors/predictor/conformal_interval.h"
#include "models/predictors/predictor/device_effects.h"
#include "models/predictors/predictor/head.h"
#include "models/predictors/roofline/link.h"
#include "models/predictors/roofline/target.h"

/*
 * Features by name: what a network sees of a launch. A predictor file lists its features by these names; a
 * new feature is a row of features.def.
 *
 * But for NeuSight's, features are of the call and the device's design (vendor, compute capability) alone, so
 * that a network cannot make a forecast slower where a device has more of anything
 * (models/predictors/roofline/tile.h).
 */
enum rt_feature_use {
    RT_OF_CALL,
    RT_OF_DEVICE, /* depends on the device's numbers: the head "times" takes none of these */
    RT_OF_KIND /* of a call; beyond the range that a network saw of it kernels are of another kind, and it has
                  nothing to say: its outputs count as 0, so that physics alone forecasts them */
};

struct rt_feature {
    const char *name, *what;
    double (*value)(const struct rt_tiled_call *launch);
    enum rt_feature_use use;
};

extern const struct rt_feature rt_features[];
extern const size_t rt_feature_count;
int rt_feature_find(const char *name); /* -1 where there is none */

#define RT_MAX_FEATURES 32

/* How the tile of a kernel is found where it was not measured. */
enum rt_tile_policy {
    RT_TILE_NEAREST, /* the measured tile of the nearest shape */
    RT_TILE_ROW,     /* one row of the operand (softmax, layer norm) */
    RT_TILE_WHOLE,   /* no tile: features of the whole op, some of them for reference tiles */
    RT_TILE_TILING,  /* as RT_TILE_WHOLE, attention and experts tiled as tiling.h models them */
    RT_TILE_WALK,    /* as RT_TILE_WHOLE, with blocks that walk along rows (tiling.h) */
    RT_TILE_POLICY_COUNT
};
extern const char
    *const rt_tile_policies[RT_TILE_POLICY_COUNT]; /* "nearest", "row", "whole", "tiling", "walk" */

/* The dtypes that a net serves. Products in fp32 run on vector lanes, narrower ones on matrix units; what a
 * device reaches on one says little of the other. Vector ops of 16 bits were measured as servers run them,
 * those of fp32 with a host in the way. */
enum rt_units {
    RT_UNITS_ANY,
    RT_UNITS_VECTOR, /* fp32, fp64 */
    RT_UNITS_MATRIX, /* all others */
    RT_UNITS_COUNT
};
extern const char *const rt_units[RT_UNITS_COUNT]; /* "any", "vector", "matrix" */

/* Rows of the table in forecaster.c. */
enum rt_forecaster_id {
    RT_FORECASTER_NETWORK,
    RT_FORECASTER_LINEAR,
    RT_FORECASTER_WAVE_SCALING,
    RT_FORECASTER_ROOFLINE,
    RT_FORECASTER_LINKS,
    RT_FORECASTER_COUNT
};

struct rt_family_net {
    enum rt_family family;
    enum rt_units units;
    enum rt_forecaster_id forecaster;
    enum rt_target_id target;
    /* Of a network: */
    int feature[RT_MAX_FEATURES]; /* indices into rt_features */
    int feature_count;
    double offset[RT_MAX_FEATURES], scale[RT_MAX_FEATURES]; /* an input is (feature - offset) x scale, */
    double clip_low[RT_MAX_FEATURES], clip_high[RT_MAX_FEATURES]; /* of the feature clipped to these */
    int head;                                                     /* index into rt_heads */
    enum rt_tile_policy policy;
    struct rt_mlp mlp;
    int64_t dtypes; /* that the network was fitted to, bit 1 << dtype; 0: not known, of a file of an earlier
                       build */
    struct rt_measured_tiles tiles;
    struct rt_device_effects effects; /* none where the head uses none */
    struct rt_intervals intervals;
    struct rt_link_model links; /* of the forecaster "links", beside effects and intervals */
    /* Of the baselines: */
    struct rt_linear_baseline linear;
    struct rt_wave_scaling wave_scaling;
    /* How the fit went: */
    char *loss; /* by name; NULL where nothing was fitted */
    int64_t rows_train, rows_validation, epochs, best_epoch;
    double validation_mape;  /* percent */
    int64_t rows_impossible; /* of its devices, faster than the roofline and not fitted to */
};

/* "linear", "linear matrix": what a net is called in tables and, with a "." between, in files. */
const char *rt_net_name(enum rt_family family, enum rt_units units);

/* Is the net for kernels of that op and dtype? */
bool rt_net_serves(const struct rt_family_net *net, enum rt_op_id op, enum rt_dtype dtype);

/* Does it take device effects, which calibration fits? */
bool rt_family_net_has_effects(const struct rt_family_net *net);

/* Was the network fitted to kernels of that dtype? True where the file does not say. */
bool rt_net_saw(const struct rt_family_net *net, enum rt_dtype dtype);

/* The query of a sample, queued where that was timed so; its tile is unknown unless `with_tile`. */
void rt_query_of_sample(const struct rt_sample *sample, bool with_tile, struct rt_query *query);

/* Why a kernel was not forecast. */
enum rt_skip {
    RT_SKIP_NONE = 0,
    RT_SKIP_NO_FAMILY, /* the predictor has nothing for this op's family */
    RT_SKIP_NO_PEAK,   /* the device descriptor has no peak for this dtype (or no link, for collectives) */
    RT_SKIP_NO_TILE,   /* no tile of any similar kernel was measured */
    RT_SKIP_NO_ORIGIN, /* no similar kernel was measured on another device */
    RT_SKIP_COUNT
};
extern const char *const rt_skip_words[RT_SKIP_COUNT];

/* Tiles the kernel by the net's policy. `query` must outlive the launch. */
enum rt_skip rt_family_net_launch(const struct rt_family_net *net, const struct rt_query *query,
                                  const struct rt_device *device, struct rt_tiled_call *launch);

/* Where a kernel lies among those of training: what its interval depends on. */
struct rt_reach {
    double bound_us;
    bool beyond; /* outside their range: rt_family_net_launch_beyond */
};

/* Of a launch: inputs (feature_count), and whether it is of a kind that no kernel in training had. */
bool rt_family_net_features(const struct rt_family_net *net, const struct rt_tiled_call *launch,
                            rt_real *inputs, bool *beyond);
/* Its bound, without device effects; `query` is the launch's. */
void rt_family_net_bound(const struct rt_family_net *net, const struct rt_query *query,
                         const struct rt_tiled_call *launch, bool unseen, struct rt_bound *bound);
/* Both of one kernel. */
enum rt_skip rt_family_net_inputs(const struct rt_family_net *net, const struct rt_query *query,
                                  const struct rt_device *device, rt_real *inputs, struct rt_bound *bound);

/* Adds a device's effects: shift and dispatch overhead. Of a kernel in a queue: other shifts, and the host's
 * dispatch is hidden. */
void rt_bound_set_effect(struct rt_bound *bound, const struct rt_device_effect *effect);

/* The feature (of rt_features) that lies farthest outside the range that the net was fitted in, relative to
 * the width of that range; -1 where all lie inside. Forecasts clip features to the range. */
int rt_family_net_beyond(const struct rt_family_net *net, const struct rt_query *query,
                         const struct rt_device *device);
int rt_family_net_launch_beyond(const struct rt_family_net *net, const struct rt_tiled_call *launch);

/* Coordinates in which residual corrections measure the distance of kernels (residual_correction.h): places
 * (count, width) from inputs (count, feature_count). The network's inputs and its last hidden layer, scaled
 * so that a difference of 1 in all inputs is a distance of 1.5, and one of 1 in all hidden units one of 2.25.
 */
size_t rt_family_net_place_width(const struct rt_family_net *net);
void rt_family_net_places(const struct rt_family_net *net, struct rt_threads *pool, const rt_real *inputs,
                          size_t count, rt_real *places);
