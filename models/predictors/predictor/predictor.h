/*
 * A predictor forecasts kernels of GPUs. It is a list of nets, one for each family of ops (products have two,
 * for vector lanes and matrix units); each net is made of a forecaster and what that was fitted to, and all
 * of it is data in one self-describing file (FORMAT.md).
 */
#pragma once

#include "datasets/split.h"
#include "models/predictors/predictor/energy_model.h"
#include "models/predictors/predictor/forecaster.h"

struct rt_names;
struct rt_text;

#define RT_PREDICTOR_FORMAT  "rooftile-predictor"
#define RT_PREDICTOR_VERSION 4
#define RT_MAX_NETS          (2 * RT_FAMILY_COUNT) /* of a predictor */

extern const struct rt_output_kind rt_predictor_kind; /* base/outputs.h */

struct rt_predictor {
    char *kind; /* of the recipes, or "roofline" */
    enum rt_target_id target;
    struct rt_family_net *nets;
    size_t net_count;
    struct rt_energy_model energy;
    /* Where it comes from; lists have one entry a line. Never NULL. */
    char *creator, *data_uuids, *data_sources, *data_licences;
    char *devices; /* names of the GPUs it was fitted to */
    char *held_out_gpus, *held_out_ops;
    char *calibrated; /* devices that were calibrated: "NAME\t150 kernels, 2 runs\tUUID OF THE DATA" */
    char *anchors;    /* measured runs of LLM servers: anchors.h; NULL: none */
    struct rt_split_rule split; /* of samples into training, validation and test */
    bool kept_no_test;          /* fitted to the test part, too */
    int64_t threads;
    bool complete; /* false: training was interrupted, these are the best weights so far */
    /* Of one that was opened; false: still being fitted, so that it is computed each time. */
    bool correlation_known;
    double error_correlation;
};

void rt_predictor_init(struct rt_predictor *predictor, const char *kind);
/* The predictor "roofline": every family by the bare roofline, nothing fitted. */
void rt_predictor_init_roofline(struct rt_predictor *predictor);
void rt_predictor_release(struct rt_predictor *predictor);

/* `name` is the path of a predictor file, "roofline", or "pretrained": the file that comes
 * with rooftile. */
int rt_predictor_open(const char *name, struct rt_predictor *out);
/* For the rows of options: the file that `name` reads. */
void rt_predictor_reads(const char *name, struct rt_names *paths);
void rt_predictor_suggest(struct rt_text *list); /* .suggests of rows: base/options.h */
/* The row --predictor of commands that forecast; `member` is a text. */
#define RT_PREDICTOR_OPTION(type, member)                                                                    \
    {                                                                                                        \
        "predictor", 'p', "P.h5",                                                                            \
            RT_TEXT(type, member, .reads = rt_predictor_reads, .suggests = rt_predictor_suggest),            \
            "A predictor file, or \"roofline\"; pretrained: what comes with rooftile"                        \
    }
int rt_predictor_save(const struct rt_predictor *predictor, const char *path); /* atomic */
/* Nets and provenance inside an open file; checkpoints hold them too. */
int rt_predictor_write(const struct rt_predictor *predictor, struct rt_h5 *file);
int rt_predictor_read(struct rt_h5 *file, struct rt_predictor *out);

/* Adds a dataset to what it was fitted to. */
void rt_predictor_add_data(struct rt_predictor *predictor, const struct rt_dataset *dataset);

/* Was any of its nets fitted to measurements? Not so "roofline". */
bool rt_predictor_is_fitted(const struct rt_predictor *predictor);

/* The net for an op in a dtype: the one that serves it, else one that serves the family in other dtypes; NULL
 * where the predictor has none of the family. */
const struct rt_family_net *rt_predictor_net(const struct rt_predictor *predictor, enum rt_op_id op,
                                             enum rt_dtype dtype);

/* Was the predictor fitted to this device (by name)? */
bool rt_predictor_knows_device(const struct rt_predictor *predictor, const char *name);
/* Was its net for that op and dtype fitted to kernels of the device? A predictor of several sources may be
 * fitted to a GPU in bf16 and not in fp32. Nets without device effects do not record it: as
 * rt_predictor_knows_device. */
bool rt_predictor_fitted_to(const struct rt_predictor *predictor, const char *device, enum rt_op_id op,
                            enum rt_dtype dtype);
/* What a forecast may say of itself: was that net fitted, or calibrated, to kernels of the device in that
 * very dtype? Not so of a device whose numbers were altered. Nets without device effects: as
 * rt_predictor_knows_device. */
bool rt_predictor_has_seen(const struct rt_predictor *predictor, const struct rt_device *device,
                           enum rt_op_id op, enum rt_dtype dtype);
/* The dtypes in which any of its nets was fitted or calibrated to kernels of the device: seen
 * (RT_DTYPE_COUNT). */
void rt_predictor_seen_dtypes(const struct rt_predictor *predictor, const struct rt_device *device,
                              bool *seen);
/* How a GPU is known in kernels of an op, the nearest first, by the devices that its net was fitted to. */
enum rt_knowledge {
    RT_KNOWN_MEASURED, /* rt_predictor_has_seen */
    RT_KNOWN_CHIP,     /* another board of its chip; itself with other numbers, or in other dtypes */
    RT_KNOWN_DESIGN,   /* another chip of its compute capability */
    RT_KNOWN_OLDER,    /* of its vendor's designs only older ones */
    RT_KNOWN_NEWER,
    RT_KNOWN_OTHERS,  /* older and newer ones */
    RT_KNOWN_VENDORS, /* GPUs of other vendors */
    RT_KNOWN_NOWHERE, /* no net */
    RT_KNOWLEDGE_COUNT
};
extern const char *const rt_knowledge_words[RT_KNOWLEDGE_COUNT];
/* By devices that the net was fitted to in that dtype; where there are none, by all of them: not *in_dtype.
 */
enum rt_knowledge rt_predictor_knowledge(const struct rt_predictor *predictor, const struct rt_device *device,
                                         enum rt_op_id op, enum rt_dtype dtype, bool *in_dtype);
/* As rt_predictor_fitted_to for any of the ops that models are made of: products, row ops, elementwise ops.
 */
bool rt_predictor_knows_device_in(const struct rt_predictor *predictor, const char *name,
                                  enum rt_dtype dtype);
/* Is the device or the op on a list of what was held out? */
bool rt_predictor_holds_out(const struct rt_predictor *predictor, const char *device, enum rt_op_id op);

/* Was the predictor calibrated to this device? To runs of whole models on it, alone or beside kernels? */
bool rt_predictor_calibrated_device(const struct rt_predictor *predictor, const char *name);
bool rt_predictor_calibrated_to_runs(const struct rt_predictor *predictor, const char *name);

/* Is this kernel, or this run, among those that its device was calibrated to? */
bool rt_predictor_calibrated_to_kernel(const struct rt_predictor *predictor, const struct rt_dataset *dataset,
                                       const struct rt_sample *sample);
bool rt_predictor_calibrated_to_run(const struct rt_predictor *predictor, const struct rt_dataset *dataset,
                                    const struct rt_workload *workload);

/* Forecasts `count` kernels on one device: latency_us (count), NaN where skip (count, may be NULL) is not
 * RT_SKIP_NONE. A query's tile is used where it is known (>= 1), found by the net's tile policy otherwise.
 * `pool` may be NULL: the calling thread alone; results do not depend on it. */
void rt_predictor_forecast(const struct rt_predictor *predictor, const struct rt_device *device,
                           const struct rt_query *queries, size_t count, struct rt_threads *pool,
                           double *latency_us, uint8_t *skip);

/* The same in the calling thread, with what networks made of the same inputs before: for sweeps over devices.
 * `memo` may be NULL, and `reach` (count), which rt_predictor_interval_at takes of what is not skipped. */
void rt_predictor_forecast_again(const struct rt_predictor *predictor, const struct rt_device *device,
                                 const struct rt_query *queries, size_t count, struct rt_network_memo *memo,
                                 double *latency_us, uint8_t *skip, struct rt_reach *reach);

/* Half-width of the conformal interval of ln(measured / forecast) at `level` (0.9: nine of ten measurements
 * lie inside). NaN where the predictor has none. */
double rt_predictor_interval(const struct rt_predictor *predictor, const struct rt_device *device,
                             const struct rt_query *query, double level);
/* The same of a kernel that was just forecast. */
double rt_predictor_interval_at(const struct rt_predictor *predictor, const struct rt_device *device,
                                const struct rt_query *query, const struct rt_reach *reach, double level);
/* The same at several levels (count) in less time: ln_half_width (count). */
void rt_predictor_intervals(const struct rt_predictor *predictor, const struct rt_device *device,
                            const struct rt_query *query, const double *level, size_t count,
                            double *ln_half_width);

/* The share of the squared error of a kernel's forecast, 0..1, that a device's kernels of the family have in
 * common, by the fits that left a device out; 1 where that is not known. */
double rt_predictor_shared_error(const struct rt_predictor *predictor, const struct rt_query *query);
/* The correlation, 0..1, of what a device has in common in one family with that in another. */
double rt_predictor_error_correlation(const struct rt_predictor *predictor);
