/* From options to a plan of training. See command.h. */
#include "predict/search/train/command.h"
#include "base/progress.h"
#include "base/report_files.h"
#include "base/status.h"
#include "base/strings.h"
#include "datasets/cluster.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST_DEGREE = 65536, FEWEST_GPUS = 8, MOST_GPUS = 16384 };

void rt_training_arguments_init(struct rt_training_arguments *arguments)
{
    *arguments = (struct rt_training_arguments){.step = RT_STEP_NOT_GIVEN};
    for (int cost = 0; cost < RT_COSTS; cost++)
        arguments->budget[cost] = NAN;
}

int rt_training_degrees_read(const char *option, const char *text, void *value)
{
    static const struct rt_range_kind kind = {"degree", "degrees", "give numbers such as 1,2,4",
                                              "a degree is 1 to 65536", MOST_DEGREE};
    return rt_rising_numbers_read(option, text, &kind, RT_AXIS_VALUES, value);
}

/* ---- the request ---- */

/* Names of a list as places of an enum. */
static int set_names(const char *option, const struct rt_names *names, const char *const *of, int count,
                     struct rt_training_values *out)
{
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < names->count; i++) {
        int place = 0;
        status = rt_argument_choice(option, names->name[i], of, count, &place);
        if (out->count < RT_AXIS_VALUES)
            out->value[out->count++] = place;
    }
    return status;
}

static int set_axes(const struct rt_training_arguments *arguments, struct rt_training_request *request)
{
    for (int a = 0; a < RT_AXES; a++)
        for (size_t i = 0; i < arguments->degree[a].count; i++)
            request->axis[a].value[request->axis[a].count++] = (int64_t)arguments->degree[a].value[i];
    int status = set_names("--shard", &arguments->shards, rt_shard_kinds, RT_SHARD_COUNT,
                           &request->axis[RT_AXIS_SHARD]);
    return status == RT_OK ? set_names("--recompute", &arguments->recomputes, rt_recomputes,
                                       RT_RECOMPUTE_COUNT, &request->axis[RT_AXIS_RECOMPUTE])
                           : status;
}

/* Where a budget says how much, and nothing how many: all powers of two. */
static void set_counts(const struct rt_plan_arguments *shared, bool given,
                       struct rt_training_request *request)
{
    bool budget = false;
    for (int cost = 0; cost < RT_COSTS; cost++)
        budget |= !isnan(request->budget[cost]);
    if (given || !budget) {
        for (size_t i = 0; i < shared->counts.count; i++)
            request->gpus[request->gpus_count++] = (int64_t)shared->counts.value[i];
        return;
    }
    for (int64_t gpus = FEWEST_GPUS; gpus <= MOST_GPUS; gpus *= 2)
        request->gpus[request->gpus_count++] = gpus;
}

static int check_budget(const struct rt_training_request *request)
{
    static const char *const options[RT_COSTS] = {"--max-hours", "--max-money", "--max-joules"};
    for (int cost = 0; cost < RT_COSTS; cost++) {
        if (isnan(request->budget[cost]))
            continue;
        if (!(request->step.run.tokens > 0 || request->step.run.steps > 0))
            return rt_fail(RT_EUSAGE, "%s is for a whole run: say how long it is, --tokens 15e12",
                           options[cost]);
        for (size_t g = 0; cost == RT_COST_MONEY && g < request->gpu_count; g++)
            if (isnan(request->gpu[g].price))
                return rt_fail(RT_EUSAGE, "--max-money: what does an hour of %s cost? give --price %s=X",
                               request->gpu[g].asked, request->gpu[g].asked);
        for (size_t g = 0; cost == RT_COST_JOULES && g < request->gpu_count; g++)
            if (isnan(request->gpu[g].device.power_w))
                return rt_fail(RT_EUSAGE,
                               "--max-joules: the power of %s is not known; give it (--gpu \"%s,power_w=X\")",
                               request->gpu[g].asked, request->gpu[g].asked);
    }
    return RT_OK;
}

static int check_model(const struct rt_plan_arguments *shared, const struct rt_model_source *source)
{
    if (rt_model_source_traced(source) || !rt_model_reads_text(&source->model))
        return rt_fail(RT_EUSAGE,
                       "--model %s: plans of training are for language models; name one by its config.json "
                       "or of the zoo",
                       shared->model);
    return RT_OK;
}

/* What numbers follow from beside the candidates, the predictor and how the model is cut: as it is settled,
 * so that a default that is written out, or options in another order, are no other plan. */
static uint64_t key_of(const struct rt_training_request *request, const struct rt_step *settled)
{
    const struct rt_parallelism *parallel = &request->step.parallel;
    const char *host = settled->host != NULL ? settled->host : "";
    const int64_t whole[] = {request->step.batch,      settled->sequence,    settled->dtype,
                             settled->quant,           settled->runtime,     settled->optimizer,
                             settled->attention,       settled->lora,        parallel->tensor_overlap,
                             parallel->expert_overlap, parallel->exchange,   parallel->schedule,
                             parallel->fabric,         settled->cuda_graphs, request->fallback};
    uint64_t key = rt_hash(RT_HASH_START, whole, sizeof whole);
    key = rt_hash(key, request->gpus, request->gpus_count * sizeof *request->gpus);
    key = rt_hash(rt_hash(key, host, strlen(host)), request->source->spec, strlen(request->source->spec));
    for (size_t g = 0; g < request->gpu_count; g++) {
        const char *asked = request->gpu[g].asked;
        struct rt_cluster cluster = rt_cluster_settled(&parallel->cluster, &request->gpu[g].device);
        const double reals[] = {(double)cluster.node_gpus, cluster.node_gbs, cluster.network,
                                cluster.oversubscription, parallel->link_gbs};
        key = rt_hash(rt_hash(key, asked, strlen(asked)), reals, sizeof reals);
    }
    return key;
}

/* What does not depend on the cut is settled once. */
static int settle(const struct rt_model_source *source, struct rt_training_request *request)
{
    struct rt_settled_step settled;
    struct rt_step *step = &request->step;
    step->mode = RT_STEP_TRAINING;
    if (step->runtime == RT_NOT_GIVEN)
        step->runtime = RT_RUNTIME_MEGATRON;
    if (rt_trainer_of((enum rt_runtime_id)step->runtime) == NULL)
        return rt_fail(RT_EUSAGE,
                       "--runtime %s: choose one that trains: megatron, megatron-bridge, torchtitan, "
                       "nanotron, fsdp, deepspeed, eager or compile",
                       rt_runtimes[step->runtime].name);
    int status = rt_step_read_cluster(step);
    if (status == RT_OK && step->parallel.expert_overlap &&
        (!rt_trainer_of((enum rt_runtime_id)step->runtime)->exchanges_beside ||
         source->model.experts.count == 0))
        return rt_fail(
            RT_EUSAGE,
            "--expert-overlap is of megatron and megatron-bridge, and of models with experts: leave it out");
    if (status != RT_OK)
        return status;
    struct rt_step whole = *step; /* what overlaps follows from the cut */
    whole.parallel.tensor_overlap = whole.parallel.expert_overlap = false;
    status = rt_step_settle(&whole, source, &request->gpu[0].device, &settled);
    step->sequence = settled.step.sequence;
    step->dtype = settled.step.dtype;
    step->quant = settled.step.quant;
    if (status == RT_OK)
        request->key = key_of(request, &settled.step);
    rt_settled_step_release(&settled);
    return status;
}

static int set_request(const struct rt_plan_arguments *shared, const struct rt_training_arguments *arguments,
                       const struct rt_model_source *source, bool counts_given,
                       struct rt_training_request *request)
{
    *request = (struct rt_training_request){.source = source,
                                            .step = arguments->step,
                                            .exhaustive = shared->exhaustive,
                                            .fallback = shared->fallback,
                                            .overwrite = shared->overwrite,
                                            .shard = shared->shard,
                                            .quiet = shared->quiet};
    request->step.parallel.fabric = (enum rt_fabric)shared->fabric;
    request->step.parallel.link_gbs = shared->link_gbs;
    request->step.level = shared->confidence;
    memcpy(request->budget, arguments->budget, sizeof request->budget);
    if (arguments->step.batch == 0)
        return rt_fail(RT_EUSAGE, "say how many sequences a step has, over all GPUs: --batch N");
    int status = check_model(shared, source);
    if (status == RT_OK)
        status = rt_priced_gpus_find(&shared->gpus, &shared->prices, request->gpu, &request->gpu_count);
    if (status == RT_OK)
        status = check_budget(request);
    if (status == RT_OK)
        status = set_axes(arguments, request);
    if (status != RT_OK)
        return status;
    set_counts(shared, counts_given, request);
    return settle(source, request);
}

/* ---- the plan ---- */

static int make_plan(const struct rt_plan_arguments *shared, const struct rt_training_arguments *arguments,
                     const struct rt_training_request *request)
{
    struct rt_training_plan plan;
    struct rt_report *report = NULL;
    struct rt_threads *pool =
        rt_threads_new(shared->threads > 0 ? (size_t)shared->threads : rt_threads_processors());
    rt_interrupt_catch();
    int status = rt_training_plan_make(request, pool, rt_plan_journal_of(shared), &plan);
    rt_threads_free(pool);
    if (status != RT_OK || shared->shard.of > 0) {
        rt_training_plan_release(&plan);
        return status;
    }
    if (shared->csv != NULL)
        status = rt_training_write_csv(&plan, shared->csv);
    if (status == RT_OK && arguments->trace != NULL)
        status = rt_training_trace(&plan, arguments->trace);
    if (status == RT_OK)
        status = rt_training_report(&plan, rt_report_is_asked(shared->json, &shared->reports, RT_REPORT_HTML),
                                    &report);
    if (status == RT_OK && rt_plan_journal_of(shared) != NULL)
        rt_point_journal_remove(rt_plan_journal_of(shared));
    if (status == RT_OK)
        status = rt_report_end_with(report, shared->json, &shared->reports);
    rt_training_plan_release(&plan);
    return status;
}

int rt_training_plan_run(const struct rt_plan_arguments *shared,
                         const struct rt_training_arguments *arguments, const struct rt_model_source *source,
                         bool counts_given)
{
    struct rt_training_request request;
    struct rt_predictor predictor;
    int status = set_request(shared, arguments, source, counts_given, &request);
    if (status == RT_OK)
        status = rt_predictor_open(shared->predictor, &predictor);
    if (status != RT_OK)
        return status;
    request.predictor = &predictor;
    status = make_plan(shared, arguments, &request);
    rt_predictor_release(&predictor);
    return status;
}
