/*
 * Hardware that isn't: models are forecast on many devices that differ from one in numbers of their
 * description. What comes out is the time at every point, how it answers to each limit of the hardware, and
 * which points are worth their cost, or their energy.
 *
 * Time is monotone by law: no point with more in every field is slower (models/predictors/roofline/tile.h).
 */
#pragma once

#include "base/options.h"
#include "base/threads.h"
#include "predict/search/explore/space.h"
#include "predict/step/forecast.h"

/* --- limits --- */

/* What a step may wait for: limits of the hardware, a row each. A limit is raised by a tenth, all else the
 * same, and the elasticity of time is
 *
 *   e = ln(time with 1.1 x the limit / time) / ln 1.1,
 *
 * 0 where the limit is not in the way, -1 where time is proportional to its inverse. More is never slower, so
 * none is above 0. A tenth, not an infinitesimal step: blocks run in whole waves, and derivatives of stairs
 * say nothing. */

struct rt_limit {
    const char *name; /* "compute" */
    size_t
        field; /* that stands for it, of rt_device_fields; rt_device_field_count: the host, which is none */
};
enum { RT_MOST_LIMITS = 8 + RT_MOST_AXES };

/* Those of the table, and a row for each axis that is none of them, by the field's key. Returns how many. */
size_t rt_limits_of(const struct rt_space *space, struct rt_limit *out);

/* --- the points --- */

struct rt_explored_model {
    const char *name; /* as it was asked for */
    struct rt_graph graph;
    int fits; /* at every point: 1, at none: 0, else -1; set by rt_explore */
};

/* A point is (models) of these numbers: */
enum {
    RT_POINT_TIME,         /* us of a step */
    RT_POINT_ENERGY,       /* J of a step, of all GPUs; NaN: unknown, or how.energy is not set */
    RT_POINT_FITS,         /* 1: in the device's memory, or that is unknown; 0: not */
    RT_POINT_ELASTICITIES, /* of time in each limit (limit_count); NaN: the device has no such number */
};

struct rt_exploration {
    const struct rt_predictor *predictor;
    struct rt_device base;
    struct rt_forecast_options how; /* without memo and interval */
    struct rt_space space;
    struct rt_explored_model *models; /* (model_count) */
    size_t model_count;
    struct rt_limit limits[RT_MOST_LIMITS];
    size_t limit_count;
    double *numbers; /* (space.points + 1, model_count, RT_POINT_ELASTICITIES + limit_count); the last is the
                        base */
    bool quiet;      /* no progress */
    bool overwrite;  /* a journal of another exploration may be replaced */
    struct rt_shard shard; /* of the points: only these are forecast, into the shard's journal */
};
void rt_exploration_release(struct rt_exploration *exploration); /* not base and predictor */

/* Doubles of a point. */
size_t rt_exploration_width(const struct rt_exploration *exploration);
/* The numbers of a point and model. */
double *rt_exploration_at(const struct rt_exploration *exploration, size_t point, size_t model);

/* Over the models: the geometric mean of their times in us, and the mean of their elasticities, which is that
 * of the former. */
double rt_exploration_time_us(const struct rt_exploration *exploration, size_t point);
double rt_exploration_energy_j(const struct rt_exploration *exploration, size_t point); /* likewise */
double rt_exploration_elasticity(const struct rt_exploration *exploration, size_t point, size_t limit);
bool rt_exploration_fits(const struct rt_exploration *exploration, size_t point);
/* The limit whose raise helps most at a point; `model` RT_ALL_MODELS: by the mean. -1: none helps by more
 * than RT_BINDS. */
#define RT_BINDS      0.01 /* |d ln time / d ln limit| */
#define RT_ALL_MODELS SIZE_MAX
int rt_exploration_binds(const struct rt_exploration *exploration, size_t point, size_t model);

/* Forecasts every point on the threads of `pool`; numbers do not depend on how many there are. With `output`
 * (may be NULL) finished points are kept in a journal beside it (base/point_journal.h), and what a journal of
 * the same exploration holds is not forecast again; *resumed of the points were there. RT_EINTERRUPTED after
 * Ctrl-C; else errors are those of rt_forecast_graph. */
int rt_explore(struct rt_exploration *exploration, struct rt_threads *pool, const char *output,
               size_t *resumed);
