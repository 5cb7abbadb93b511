/* A model on GPUs of one kind, cut in a way and served: the costs of its steps and the room for its cache. */
#pragma once

#include "models/networks/source.h"
#include "models/predictors/predictor/anchors.h"
#include "predict/serving/simulate.h"
#include "predict/serving/speculation.h"
#include "predict/serving/step_cost.h"

/* What proposes tokens: speculation.h. */
struct rt_draft {
    const char *name;
    const struct rt_model_source *source;
    struct rt_graph_options graph; /* as rt_step_settle leaves it */
    int64_t drafted;
    double accepted;
};

/* RT_EUSAGE where so many of the proposed tokens cannot be accepted, or nobody says how many are (NaN). */
int rt_draft_check(int64_t drafted, double accepted);
/* The model of a draft's name: "mtp" is the layer for a further token of `of` itself (DeepSeek-V3, section
 * 2.2), a model of that layer, embedding and head. Its product of two hidden sizes is left out; embedding and
 * head take room once more than they do. Else the errors of rt_model_source_find. */
int rt_draft_find(const char *name, const struct rt_model_source *of, struct rt_model_source *out);
bool rt_draft_is_own(const char *name); /* "mtp" */

struct rt_deployment_options {
    const char *name; /* of the model, in sentences */
    const struct rt_model *model;
    const struct rt_predictor *predictor;
    const struct rt_device *device;
    struct rt_step_cost_options cost; /* the ends of its grids follow from the scheduler and the rest */
    struct rt_scheduler scheduler;
    double cache_tokens;            /* NaN: as many as fit */
    double host_gib;                /* memory of the host for prefixes; 0: none */
    int64_t sequences;              /* most that there are at once; 0: as the scheduler has it */
    int64_t longest_input, longest; /* tokens of a prompt, and with its output */
    const struct rt_draft *draft;   /* NULL: none */
};

struct rt_deployment {
    struct rt_step_cost *cost, *draft;
    struct rt_speculation *speculation; /* NULL without a draft, as it is */
    struct rt_serve_group group;
    struct rt_anchor anchor;
    double level, ln_load;             /* of intervals; rt_server.ln_load */
    double weight_gib, activation_gib; /* of one GPU */
};

/* Whether or not it fits. Errors of rt_step_cost_new. Release with rt_deployment_release. */
int rt_deployment_init(const struct rt_deployment_options *options, struct rt_deployment *out);
/* The same; RT_EUSAGE with a sentence that says what would do where the model does not fit, or leaves no room
 * for the longest request. */
int rt_deployment_open(const struct rt_deployment_options *options, struct rt_deployment *out);
void rt_deployment_release(struct rt_deployment *deployment); /* accepts zeros */

/* A decode step of so many users with so many tokens in the cache each. */
struct rt_serve_batch rt_deployment_decodes(const struct rt_deployment *deployment, int64_t users,
                                            double context);
/* Half-width in ln, at options.cost.level, of the interval of a step under load: its kernels', the server's,
 * with what measured runs say; NaN: unknown, or not asked for. */
double rt_deployment_ln_half_width(const struct rt_deployment *deployment,
                                   const struct rt_serve_batch *batch);

/* Tokens of cache that a request of so many is given: in whole blocks, and one to grow into. */
double rt_deployment_request_tokens(const struct rt_deployment *deployment, int64_t tokens);
/* Requests of so many tokens that have their caches at once, as many as the scheduler runs at most. */
int64_t rt_deployment_requests(const struct rt_deployment *deployment, int64_t tokens);

/* The same group with steps that take `factor` times as long. Valid while `scaled` and the deployment are. */
struct rt_scaled_costs {
    struct rt_serve_costs costs;
    double factor, chunk_factor; /* of steps without and with prompts */
};
struct rt_serve_costs rt_scaled_costs(const struct rt_scaled_costs *scaled);
