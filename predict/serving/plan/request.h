/* What a plan of serving is asked for. */
#ifndef ROOFTILE_PREDICT_SERVING_PLAN_REQUEST_H
#define ROOFTILE_PREDICT_SERVING_PLAN_REQUEST_H

#include "models/networks/source.h"
#include "models/predictors/predictor/predictor.h"
#include "predict/step/server.h"

enum { RT_SERVING_GPUS = 16, RT_SERVING_COUNTS = 32, RT_SERVING_QUANTS = 24, RT_SERVING_LEVELS = 40 };

/* A kind of GPU that may be had. */
struct rt_serving_gpu {
    struct rt_device device;
    const char *asked; /* as it was named */
    double price;      /* of a GPU-hour, in any currency; NaN: unknown */
};

/* Of weights and cache. */
struct rt_serving_quant {
    enum rt_dtype dtype; /* of the products with weights */
    bool fp16_beside;    /* narrow: what is beside them is fp16, not bf16 */
    int64_t kv_bits;     /* of cached keys and values; 0: as the activations */
};

struct rt_serving_request {
    const struct rt_model_source *source; /* a model of sizes that servers run */
    const struct rt_predictor *predictor;
    struct rt_serving_gpu gpu[RT_SERVING_GPUS];
    size_t gpu_count;
    int64_t gpus[RT_SERVING_COUNTS]; /* GPUs that may be had of one kind, rising */
    size_t gpus_count;
    struct rt_serving_quant quant[RT_SERVING_QUANTS];
    size_t quant_count;
    int64_t level[RT_SERVING_LEVELS]; /* users at once of one server, rising; not with a rate */
    size_t level_count;
    int64_t isl, osl;        /* tokens of a prompt and of its answer, osl >= 2 */
    double ttft_us, tpot_us; /* targets; NaN: none */
    double rate;    /* requests a second that come, Poisson; NaN: users come back as they are served */
    int percentile; /* that targets hold at: 50, 90 or 99 */
    const struct rt_server *server; /* whose scheduler, and what its host takes */
    enum rt_fabric fabric;          /* between GPUs; RT_FABRIC_OWN: by the device's description */
    double link_gbs;                /* NaN: likewise */
    double move_gbs;                /* between prefill and decode, one way of a GPU; NaN: the device's link */
    double confidence;              /* of intervals; 0: none */
    int64_t requests;               /* simulated for each user or server; 0: as many as settle it */
    uint64_t seed;
    bool disaggregate; /* prefill and decode on servers of their own, too */
    bool exhaustive;   /* bounds rule nothing out: slow */
    bool fallback;     /* the roofline where the predictor has no network for an op */
    bool overwrite;    /* a journal of another plan may be replaced */
    bool quiet;        /* no progress */
};

/* Does a device have units for the products? */
bool rt_serving_has_units(const struct rt_device *device, const struct rt_serving_quant *quant);

/* As a device runs it: fp16 for bf16 where it has none. */
struct rt_serving_quant rt_serving_quant_on(const struct rt_device *device,
                                            const struct rt_serving_quant *quant);

/* "fp8" of the cache. Constant. */
const char *rt_serving_cache_dtype(const struct rt_serving_quant *quant);

#endif
