/*
 * A forecast with what it is a forecast of, as a report, as a line of a sweep, and as a trace for Perfetto.
 */
#pragma once

#include "base/report.h"
#include "models/networks/step.h"
#include "predict/step/fit.h"
#include "predict/step/grade.h"
#include "predict/step/run.h"

/* What electricity brings, of a kWh: grams of CO2, money in any currency. 0: not asked for. */
enum rt_electricity_kind { RT_ELECTRICITY_CARBON, RT_ELECTRICITY_PRICE, RT_ELECTRICITY_KINDS };
struct rt_electricity {
    double per_kwh[RT_ELECTRICITY_KINDS];
};

struct rt_prediction {
    const char *model, *predictor_name; /* as they were asked for */
    const struct rt_predictor *predictor;
    int64_t batch, sequence; /* of the whole step, on all devices */
    int64_t image;           /* side of images in pixels; 0: no model of images */
    int64_t dataset_size;    /* sequences or images of an epoch; 0: not asked for */
    double checkpoint_bytes; /* of training whose checkpoints were asked for */
    struct rt_electricity electricity;
    size_t nodes;  /* that are listed, those that take longest, and what they are of; 0: ten, as they are */
    bool explain;  /* reports say how the GPU is known, what forecast which part, and every reason to doubt */
    bool overlong; /* the sequence is beyond the model's positions */
    struct rt_settled_step settled;
    struct rt_host host;            /* of settled.step.host */
    const struct rt_server *server; /* of settled.step.server; NULL: none */
    struct rt_device device;
    const char *gpu_changes; /* what was overridden of it: "sms=20"; NULL: nothing */
    struct rt_graph graph;
    struct rt_forecast forecast; /* of `graph` on `device`: they must not move */
    struct rt_fit_advice advice; /* of the largest batch, and of what would make it fit */
    char *refused; /* why this GPU has no forecast (no units for the dtype); NULL: it has one. In sweeps;
                      owned */
};

/* Settles `step` on a device and builds its graph: sets what a prediction says of its model and step, host,
 * device and graph; release with rt_prediction_release in any case. The errors of rt_step_settle,
 * rt_settled_step_graph and rt_host_find. */
int rt_prediction_begin(const struct rt_step *step, const struct rt_model_source *source,
                        const struct rt_device *device, struct rt_prediction *out);
void rt_prediction_release(struct rt_prediction *prediction);

/* How a begun prediction is forecast: its parallelism, host, server, copies, and what is wanted of it. */
struct rt_forecast_options rt_prediction_how(const struct rt_prediction *prediction);

/* The same step as a case of what fits (fit.h); `source` as it is to be read. */
struct rt_fit_case rt_prediction_fit(const struct rt_prediction *prediction,
                                     const struct rt_model_source *source);

double rt_prediction_tokens_per_second(const struct rt_prediction *prediction);

/* Tokens, or images, of a step. */
double rt_prediction_items(const struct rt_prediction *prediction);

/* Of a model of images? It has no tokens; images a second instead. */
bool rt_prediction_of_images(const struct rt_prediction *prediction);
/* Sequences or images a second. */
double rt_prediction_items_per_second(const struct rt_prediction *prediction);

/* The steps of an epoch of dataset_size, and its time; the last step is as long as the others. */
int64_t rt_prediction_epoch_steps(const struct rt_prediction *prediction);
double rt_prediction_epoch_s(const struct rt_prediction *prediction);

/* What the whole run comes to (run.h). */
void rt_prediction_run(const struct rt_prediction *prediction, struct rt_run_totals *out);

/* Joules of a step, of all GPUs, and of it a token's or an image's; NaN where the GPU's power is unknown. */
double rt_prediction_joules(const struct rt_prediction *prediction);
double rt_prediction_joules_per_item(const struct rt_prediction *prediction);
/* Its energy and power as facts of a report. */
void rt_prediction_add_energy(struct rt_report *report, const struct rt_prediction *prediction);

/* Was any of it asked for? */
bool rt_electricity_asked(const struct rt_electricity *electricity);
/* A column of a sweep: per million tokens or images, where a step takes `joules` on all GPUs. */
struct rt_electricity_column {
    const char *key, *title;
    double value;
};
struct rt_electricity_column rt_electricity_column(const struct rt_prediction *prediction,
                                                   enum rt_electricity_kind kind, double joules);
/* What was asked for as facts of a report: of a step, of a million tokens or images, of an epoch. It is
 * the electricity of the GPUs' boards alone: docs/guide/energy.md. */
void rt_prediction_add_electricity(struct rt_report *report, const struct rt_prediction *prediction);

/* Share of the time, in percent, in kernels like those that the predictor has seen of this GPU. */
double rt_prediction_seen_pct(const struct rt_prediction *prediction);

/* "NVIDIA L4 with sms=20". Free with free(). */
char *rt_prediction_gpu(const struct rt_prediction *prediction);
/* "NVIDIA L4, batch 8, sequence 128". Free with free(). */
char *rt_prediction_case(const struct rt_prediction *prediction);

/* Reasons to doubt a forecast. */
enum rt_warning {
    RT_WARNING_MEMORY,     /* it does not fit */
    RT_WARNING_TIGHT,      /* or only just */
    RT_WARNING_POSITIONS,  /* the sequence is longer than the model takes */
    RT_WARNING_UNFINISHED, /* the predictor's training was interrupted */
    RT_WARNING_EMULATED,   /* bf16 on a GPU without units for it */
    RT_WARNING_WEIGHTS,    /* fp4 on a GPU without units for it */
    RT_WARNING_ROOFLINE,   /* a part is the bare roofline */
    RT_WARNING_BEYOND,     /* kernels unlike those that were measured */
    RT_WARNING_FEW,        /* ops that few GPUs were measured in */
    RT_WARNING_SERVERS,    /* tensor-parallel GPUs in several servers */
    RT_WARNING_COUNT
};
/* One sentence, NULL where there is no such reason. Free with free(). */
char *rt_prediction_warning(const struct rt_prediction *prediction, enum rt_warning warning);

/* Warnings of one or several forecasts on stderr, each reason once, with the rows of the sweep it is about.
 */
void rt_prediction_warn(const struct rt_prediction *predictions, size_t count);

/* The step's time, its interval, coverage, memory, ops and heaviest nodes; with its plots where `pictures`.
 * Free with rt_report_free. */
struct rt_report *rt_prediction_report(const struct rt_prediction *prediction, bool pictures);

/* Several forecasts: a line for each, below them why GPUs have none; for programs an array of their reports,
 * {"model" "gpu" "gpu_changes" "batch" "sequence" "dtype" "error"} for those without. Free with
 * rt_report_free. */
struct rt_report *rt_prediction_sweep(const struct rt_prediction *predictions, size_t count, bool json,
                                      bool pictures);

/* The step as a timeline in Chrome's trace format, which Perfetto (ui.perfetto.dev) opens; atomic. See
 * timeline.h. */
extern const struct rt_output_kind rt_trace_kind; /* base/outputs.h */
int rt_prediction_trace(const struct rt_prediction *prediction, const char *path);

/* --- plots (base/plot.h), for the HTML form of reports --- */

/* Of one forecast: time by op beside its bound, kernels under the device's roofline, the step's timeline,
 * memory by part. */
void rt_prediction_add_plots(struct rt_report *report, const struct rt_prediction *prediction);
