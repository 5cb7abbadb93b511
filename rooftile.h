/*
 * librooftile: how long does deep-learning work take on GPUs that are not in the room?
 *
 *   predictor   what was fitted to measurements: a file of `rooftile train`, "pretrained" (comes with
 *               rooftile) or "roofline" (the bound alone)
 *   device      a GPU as numbers: a name of the catalogue, a JSON file, with changes ("H100,sms=100")
 *   model       a network: a name of the zoo, or the path of a Hugging Face config.json
 *   forecast    the time and memory of one step of a model on a device
 *
 * Functions that can fail return 0 or a negative number, and rooftile_error() is then one sentence that names
 * the place and the remedy; what they were to fill is left as it was. Objects are opaque: every _open, _find
 * and rooftile_forecast has its _free, which accepts NULL. Any other NULL that is not said to be allowed is
 * such a failure, not a crash; functions that return no number of that kind then return NULL or 0 or leave
 * all as it was. Objects are not changed once made, so threads may share them; the sentence of the last
 * failure is each thread's own. Functions that read predictors and datasets, and reports, take turns: HDF5 is
 * not made for threads.
 *
 * Structs of this header keep their members: a program that was built against one release runs with the next.
 * What is new is another function, a number by its key (rooftile_forecast_number), or a member of a report
 * (rooftile_report_json), which knows all that the program can do.
 *
 * docs/examples/forecast.c is a program that uses it; python/ is a Python module over it.
 */
#ifndef ROOFTILE_H
#define ROOFTILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#define ROOFTILE_PUBLIC __attribute__((visibility("default")))
#else
#define ROOFTILE_PUBLIC
#endif

typedef struct rooftile_device rooftile_device;
typedef struct rooftile_predictor rooftile_predictor;
typedef struct rooftile_model rooftile_model;
typedef struct rooftile_forecast rooftile_forecast;

/* "0.1.0" */
ROOFTILE_PUBLIC const char *rooftile_version(void);
/* The sentence of this thread's last failure; "" if there was none. */
ROOFTILE_PUBLIC const char *rooftile_error(void);

/* ---- devices ---- */

/* Name of the i-th device of the catalogue, from 0; NULL behind the last. Not to be freed. */
ROOFTILE_PUBLIC const char *rooftile_device_catalogue(size_t i);
ROOFTILE_PUBLIC int rooftile_device_find(const char *spec, rooftile_device **out);
ROOFTILE_PUBLIC void rooftile_device_free(rooftile_device *device);
ROOFTILE_PUBLIC const char *rooftile_device_name(const rooftile_device *device);
/* A number of the device by its key, as `rooftile devices NAME --json` prints them: "sms", "bandwidth_gbs"
 * (10^9 bytes/s), "memory_gib" ...; NaN where the vendor does not publish it. Fails where there is no such
 * key. */
ROOFTILE_PUBLIC int rooftile_device_number(const rooftile_device *device, const char *key, double *value);

/* ---- predictors ---- */

ROOFTILE_PUBLIC int rooftile_predictor_open(const char *name, rooftile_predictor **out);
ROOFTILE_PUBLIC void rooftile_predictor_free(rooftile_predictor *predictor);
/* 1: it was fitted to measurements of this device; 0: forecasts for it are for a device that it never saw,
 * such as one whose numbers were changed. */
ROOFTILE_PUBLIC int rooftile_predictor_knows(const rooftile_predictor *predictor,
                                             const rooftile_device *device);

/* ---- kernels ---- */

/* One kernel, timed alone: "gemm,m=8192,n=8192,k=8192,dtype=bf16", an op with all its dims (`rooftile collect
 * --list` names them). `interval_us` (two numbers, may be NULL): between which nine of ten measurements lie;
 * NaN: unknown. */
ROOFTILE_PUBLIC int rooftile_kernel_us(const rooftile_predictor *predictor, const rooftile_device *device,
                                       const char *call, double *time_us, double *interval_us);

/* ---- models ---- */

/* Name of the i-th model of the zoo, from 0; NULL behind the last. Not to be freed. */
ROOFTILE_PUBLIC const char *rooftile_model_catalogue(size_t i);
ROOFTILE_PUBLIC int rooftile_model_find(const char *name, rooftile_model **out);
/* An ONNX model (docs/guide/onnx.md) without its weights. `dims` (count) are the sizes of dims that have a
 * name in the file, "batch=8"; the step's batch and sequence do not count, nor do tensor_parallel and
 * kv_cache. */
ROOFTILE_PUBLIC int rooftile_model_onnx(const char *path, const char *const *dims, size_t count,
                                        rooftile_model **out);
ROOFTILE_PUBLIC void rooftile_model_free(rooftile_model *model);

/*
 * One step. What is left at 0 or NULL is as `rooftile predict` has it: the dtype of the checkpoint (16 bits
 * where none is known and the device has units for them), a server for decode and inference of the language
 * models that servers run, PyTorch's eager mode else, AdamW in training, as many tokens as the model has
 * positions, 1024 at most. rooftile_forecast_json says what was assumed.
 */
struct rooftile_step {
    const char *mode;        /* "inference" (whole sequences), "decode" (one token each), "training" */
    const char *dtype;       /* of weights and activations: "fp32", "fp16", "bf16", "fp8" ... */
    const char *optimizer;   /* training: "none", "sgd", "adamw", "momentum", "adamw-cpu" */
    int64_t batch;           /* sequences or images of the step, over all devices */
    int64_t sequence;        /* tokens of each */
    int64_t context;         /* decode: tokens already in the cache */
    int64_t tensor_parallel; /* devices that share every layer */
    int64_t data_parallel;   /* devices that each take a part of the batch */
    const char *runtime;     /* "eager-math", "eager", "graph", "compile", "serving" */
    const char *kv_cache;    /* serving: "fp8", "none": as wide as activations */
    int64_t expert_parallel, attention_data_parallel; /* serving */
    int fusion; /* 1: chains of elementwise ops run as one kernel (torch.compile) */
};
/* Nothing said. */
ROOFTILE_PUBLIC void rooftile_step_init(struct rooftile_step *step);
/* Name of the i-th of all fields of a step, from 0; NULL behind the last. Not to be freed. */
ROOFTILE_PUBLIC const char *rooftile_step_field(size_t i);

/* ---- forecasts ---- */

/* A forecast holds what it needs of its predictor, device and model: they may be freed before it. */
ROOFTILE_PUBLIC int rooftile_forecast_step(const rooftile_predictor *predictor, const rooftile_device *device,
                                           const rooftile_model *model, const struct rooftile_step *step,
                                           rooftile_forecast **out);
/* The same of a step in words, {"mode=decode", "context=4096", "kv_cache=fp8"}: all that can be said of a
 * step, by the options of `rooftile predict` with underscores (quant, lengths, contexts, pp, microbatches,
 * shard, recompute, autocast, host, server, input, power_limit, interval ...). `count` fields; what none
 * names is as above. */
ROOFTILE_PUBLIC int rooftile_forecast_fields(const rooftile_predictor *predictor,
                                             const rooftile_device *device, const rooftile_model *model,
                                             const char *const *fields, size_t count,
                                             rooftile_forecast **out);
/* All of a forecast, as `rooftile predict --json` prints it. Free with rooftile_text_free. */
ROOFTILE_PUBLIC int rooftile_forecast_json(const rooftile_forecast *forecast, char **json);
ROOFTILE_PUBLIC void rooftile_forecast_free(rooftile_forecast *forecast);

/* Sums over one step on one device. Unknown is NaN. */
struct rooftile_totals {
    double time_ms;                 /* of the step */
    double low_ms, high_ms;         /* between these lie nine of ten */
    double forward_ms, backward_ms; /* backward with gradient accumulation and optimizer */
    double communication_ms;        /* that compute does not hide */
    double coverage;   /* 0..1: share of the time forecast by a network fitted to its kind of op */
    double flops;      /* floating-point operations; a multiply-add counts two */
    double parameters; /* of the model, on one device */
    double memory_gib, device_memory_gib; /* needed; there */
};
ROOFTILE_PUBLIC void rooftile_forecast_totals(const rooftile_forecast *forecast, struct rooftile_totals *out);

/* One op's kernels in the step, those that take longest first. */
struct rooftile_op_time {
    const char *op;  /* "linear" */
    double time_ms;  /* of all its kernels */
    double bound_ms; /* of their rooflines */
    size_t kernels;
};
/* The i-th, from 0: 1, or 0 behind the last. */
ROOFTILE_PUBLIC int rooftile_forecast_op(const rooftile_forecast *forecast, size_t i,
                                         struct rooftile_op_time *out);

/*
 * A number by its key, of the whole step and all its devices where not said otherwise; NaN where it is
 * unknown, such as energy where the device has no power_w. Fails where there is no such key. Memory and
 * energy are computed when they are asked for.
 *
 *   time_ms, low_ms, high_ms                 of the step; between the last two lie nine of ten
 *   forward_ms, backward_ms, communication_ms, coverage, memory_gib, device_memory_gib
 *                                            as in struct rooftile_totals
 *   energy_j, energy_low_j, energy_high_j    joules; between low and high lie nine of ten
 *   power_w, power_low_w, power_high_w       average of one device
 *   limit_w, clock_mhz                       of its board, and at which it runs
 *   kernels_ms, host_ms, copy_ms             of the busiest device; that it waits for the host, for copies
 *   weights_gib, gradients_gib, optimizer_gib, activations_gib, cache_gib
 *                                            of one device's memory
 *   fits                                     1: the step fits into it; 0
 */
ROOFTILE_PUBLIC int rooftile_forecast_number(const rooftile_forecast *forecast, const char *key,
                                             double *value);

/* ---- reports ---- */

/* What `rooftile WORDS --json` prints, as text of JSON, made in this process: {"predict", "--gpu", "H100",
 * "--model", "gpt2-large"}, {"evaluate", "-p", "pretrained", "data.h5"}. `count` words; options, defaults and
 * members of the JSON are the program's (`rooftile predict --help`), and so are the files that an option says
 * to write. Commands that start processes, train or catch Ctrl-C (collect, train, crossval,
 * explore, plan) are refused, and those that make no report. Free with
 * rooftile_text_free, which accepts NULL. */
ROOFTILE_PUBLIC int rooftile_report_json(size_t count, const char *const *words, char **json);
ROOFTILE_PUBLIC void rooftile_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
