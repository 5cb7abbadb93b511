/*
 * The models plan: every kernel of the zoo's models over batches, sequences and steps (inference, decode,
 * training). A step gives one of its kernels per round, so that a prefix of the plan holds kernels of all
 * models, batches, sequences and ops. See plan.h and docs/collect-plans.md.
 */
#include "collect/plan/model_tasks.h"
#include "collect/plan/sweep.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t batches[] = {1, 2, 4, 8, 16, 32};
static const int64_t sequences[] = {128, 256, 512, 1024, 2048};
enum { STEPS = 3 }; /* inference, training, decode */

/* A kernel past these is left to who asks for it in a plan file. */
#define MOST_FLOPS 0x1p42 /* 90 ms at 50 TFLOP/s */
#define MOST_BYTES 0x1p32

static const double golden = 0.618033988749895;

/* A model's step, as far as its kernels are in the plan. */
struct source {
    struct rt_model_tasks kernels;
    size_t next, first, step; /* the i-th to be taken is number (first + i step) % count */
};

struct sources {
    struct source *source;
    size_t count;
};

/* The step of number `i`: models vary slowest, then what is done, the sequence, the batch. */
static struct rt_model_step step_of(char *const *names, size_t i)
{
    size_t batch = i % RT_COUNT(batches), sequence = i / RT_COUNT(batches) % RT_COUNT(sequences);
    size_t step = i / (RT_COUNT(batches) * RT_COUNT(sequences));
    return (struct rt_model_step){.model = names[step / STEPS],
                                  .batch = batches[batch],
                                  .sequence = sequences[sequence],
                                  .dtype = RT_FP32,
                                  .training = step % STEPS == 1,
                                  .decode = step % STEPS == 2};
}

/* Steps that a model does not have (BERT does not decode) and sequences that it is not made for are none. */
static int open_sources(struct sources *sources)
{
    size_t models;
    char **names = rt_zoo_names(&models);
    size_t count = models * STEPS * RT_COUNT(sequences) * RT_COUNT(batches), stride = rt_golden_step(count);
    int status = RT_OK;
    sources->source = rt_calloc(count, sizeof *sources->source);
    for (size_t i = 0; i < count && status == RT_OK; i++) {
        struct rt_model_step step = step_of(names, i * stride % count);
        struct source *source = &sources->source[sources->count];
        status = rt_model_tasks(&step, &source->kernels);
        if (status == RT_EUSAGE) {
            status = RT_OK;
        } else if (status == RT_OK && source->kernels.overlong) {
            rt_model_tasks_release(&source->kernels);
        } else if (status == RT_OK) {
            source->step = rt_golden_step(source->kernels.count);
            source->first = (size_t)(fmod(golden * (double)i, 1) * (double)source->kernels.count);
            sources->count++;
        }
    }
    for (size_t m = 0; m < models; m++)
        free(names[m]);
    free(names);
    return status;
}

static void close_sources(struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        rt_model_tasks_release(&sources->source[i].kernels);
    free(sources->source);
}

/* What goes into the plan, and what is left out of it: counted once each. */
struct choice {
    const struct rt_backend *backend;
    const struct rt_op_set *ops;
    const struct rt_dtype_set *dtypes;
    size_t count; /* at most */
    struct rt_plan plan, left;
};

static bool add_task(struct choice *choice, const struct rt_task *task)
{
    if (!choice->backend->can(task)) {
        choice->plan.unable[task->call.op] += rt_plan_add(&choice->left, task);
        return false;
    }
    if (rt_call_flops(&task->call) > MOST_FLOPS || rt_call_bytes(&task->call) > MOST_BYTES) {
        choice->plan.too_large += rt_plan_add(&choice->left, task);
        return false;
    }
    return rt_plan_add(&choice->plan, task);
}

static bool is_asked(const struct choice *choice, enum rt_op_id op)
{
    return choice->ops->all || choice->ops->has[op];
}

static bool add_in_dtypes(struct choice *choice, const struct rt_task *task)
{
    bool added = false;
    for (size_t d = 0; d < choice->dtypes->count && choice->plan.count < choice->count; d++) {
        struct rt_task other = *task;
        other.call.dtype = (uint8_t)rt_task_dtype(task->call.op, choice->dtypes->dtype[d]);
        added |= add_task(choice, &other);
    }
    return added;
}

/* The source's next kernel that the plan does not have; false where there is none. */
static bool take(struct source *source, struct choice *choice)
{
    size_t count = source->kernels.count;
    while (source->next < count) {
        size_t at = (source->first + source->next++ * source->step) % count;
        const struct rt_task *task = &source->kernels.tasks[at];
        if (is_asked(choice, task->call.op) && add_in_dtypes(choice, task))
            return true;
    }
    return false;
}

static void take_all(const struct sources *sources, struct choice *choice)
{
    for (bool more = true; more && choice->plan.count < choice->count;) {
        more = false;
        for (size_t i = 0; i < sources->count && choice->plan.count < choice->count; i++)
            more |= take(&sources->source[i], choice);
    }
}

int rt_plan_models(const struct rt_backend *backend, const struct rt_op_set *ops,
                   const struct rt_dtype_set *dtypes, size_t count, struct rt_plan *out)
{
    static const struct rt_dtype_set fp32 = {.dtype = {RT_FP32}, .count = 1};
    struct choice choice = {
        .backend = backend, .ops = ops, .dtypes = dtypes->count > 0 ? dtypes : &fp32, .count = count};
    struct sources sources = {0};
    int status = open_sources(&sources);
    if (status == RT_OK)
        take_all(&sources, &choice);
    close_sources(&sources);
    rt_plan_release(&choice.left);
    if (status == RT_OK && choice.plan.count == 0)
        status = rt_fail(RT_EUSAGE,
                         "--plan models has no kernels for these --ops and --dtypes that the %s backend can "
                         "measure; see --list",
                         backend->name);
    if (status != RT_OK)
        rt_plan_release(&choice.plan);
    else
        *out = choice.plan;
    return status;
}
