/* A measured run of a whole model (struct rt_workload), and the graph that was run. */
#ifndef ROOFTILE_PREDICT_EVALUATE_WORKLOAD_H
#define ROOFTILE_PREDICT_EVALUATE_WORKLOAD_H

#include "datasets/dataset.h"
#include "models/graph/graph.h"

enum rt_workload_kind {
    RT_KIND_INFERENCE, /* one GPU, eager kernels */
    RT_KIND_TRAINING,
    RT_KIND_FUSION,
    RT_KIND_DISTRIBUTED,
    RT_KIND_COUNT
};
extern const char *const rt_workload_kinds[RT_KIND_COUNT];

/* How a run was split over GPUs; 1: not. */
struct rt_workload_split {
    int64_t data, tensor, pipeline, microbatches;
    bool fusion;
};

/* Reads a run's option: "", "fusion", "kernels", "dp4", "tp2", "pp4_8" (4 stages, 8 microbatches), or several
 * with "-" between. False where the text is anything else. */
bool rt_workload_option(const char *option, struct rt_workload_split *out);

enum rt_workload_kind rt_workload_kind_of(const struct rt_workload *workload,
                                          const struct rt_workload_split *split);

/* The sum of all nodes measured alone, us; training needs both passes. NaN where it was not measured. */
double rt_workload_floor_us(const struct rt_workload *workload);

/* Texts of a run, borrowed from its dataset. */
struct rt_workload_name {
    const char *device, *model, *option; /* option: "" plain */
};
struct rt_workload_name rt_workload_name(const struct rt_dataset *dataset,
                                         const struct rt_workload *workload);

/* "gpt2_large-train-1024-4-dp4", as NeuSight's published files are named. Free with free(). */
char *rt_workload_title(const struct rt_workload *workload, const struct rt_workload_name *name);

/* The graph of a run as it was measured, and how it was split. RT_EFORMAT or RT_EUSAGE where the run cannot
 * be forecast: the measurement failed, its option or model is unknown, the split does not fit. */
int rt_workload_graph(const struct rt_dataset *dataset, const struct rt_workload *workload,
                      struct rt_workload_split *split, struct rt_graph *graph);

/* The same, but read from the operator graph "FOLDER/TITLE.csv" where there is such a file and the run was on
 * one GPU: graphs of several hold their all-reduces as nodes. `folder` may be NULL. RT_EIO where the file
 * cannot be read. */
int rt_workload_graph_in(const char *folder, const struct rt_workload_name *name,
                         const struct rt_workload *workload, struct rt_workload_split *split,
                         struct rt_graph *graph, bool *read);

#endif
