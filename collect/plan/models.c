/*
 * The models plan: every kernel of the zoo's models over batches, sequences and steps (inference, training,
 * decode). In each round every step gives one of its kernels, so that a prefix of the plan holds kernels of
 * all models, batches, sequences and ops. See docs/guide/collect.md.
 */
#include "collect/plan/model_run.h"
#include "collect/plan/plans.h"
#include "collect/plan/sweep.h"
#include "base/status.h"
#include "models/networks/source.h"

#include <math.h>
#include <stdlib.h>

static const int64_t batches[] = {1, 2, 4, 8, 16, 32};
static const int64_t sequences[] = {128, 256, 512, 1024, 2048};
enum { STEPS = 3 }; /* inference, training, decode */

/* Larger kernels are measured only where a plan file names them. */
#define MOST_FLOPS 0x1p42 /* 90 ms at 50 TFLOP/s */
#define MOST_BYTES 0x1p32

static const double golden = 0.618033988749895;

/* The kernels of a model's step, of which `next` were taken. */
struct source {
    struct rt_model_tasks kernels;
    size_t next, first, step; /* the i-th to be taken is number (first + i step) % count */
};

struct sources {
    struct source *source;
    size_t count;
};

enum { STEPS_OF_A_MODEL = STEPS * RT_COUNT(sequences) * RT_COUNT(batches) };

/* The i-th step of a model: inference, training, decode vary slowest, then sequences, then batches. */
static struct rt_model_step step_of(const struct rt_model_source *model, size_t i)
{
    size_t batch = i % RT_COUNT(batches), sequence = i / RT_COUNT(batches) % RT_COUNT(sequences);
    size_t step = i / (RT_COUNT(batches) * RT_COUNT(sequences));
    return (struct rt_model_step){.model = model->spec,
                                  .batch = batches[batch],
                                  .sequence = sequences[sequence],
                                  .dtype = RT_FP32,
                                  .training = step == 1,
                                  .decode = step == 2};
}

/* Steps that do not exist are skipped: BERT does not decode, some models are made for shorter sequences. */
static int add_source(struct sources *sources, const struct rt_model_source *model,
                      const struct rt_model_step *step, size_t i)
{
    struct source *source = &sources->source[sources->count];
    int status = rt_source_tasks(model, step, &source->kernels);
    if (status == RT_EUSAGE)
        return RT_OK;
    if (status != RT_OK)
        return status;
    if (source->kernels.overlong) {
        rt_model_tasks_release(&source->kernels);
        return RT_OK;
    }
    source->step = rt_golden_step(source->kernels.count);
    source->first = (size_t)(fmod(golden * (double)i, 1) * (double)source->kernels.count);
    sources->count++;
    return RT_OK;
}

static int find_model(size_t i, struct rt_model_source *out)
{
    struct rt_model model;
    int status = rt_zoo_model(i, &model);
    if (status == RT_OK)
        status = rt_model_source_find(model.name, out);
    out->spec = out->model.name;
    return status;
}

/* Each step once, models, sequences and batches mixed. */
static int open_sources(struct sources *sources)
{
    size_t models = rt_zoo_size(), count = models * STEPS_OF_A_MODEL, stride = rt_golden_step(count);
    struct rt_model_source *zoo = rt_calloc(models, sizeof *zoo);
    int status = RT_OK;
    sources->source = rt_calloc(count, sizeof *sources->source);
    for (size_t m = 0; m < models && status == RT_OK; m++)
        status = find_model(m, &zoo[m]);
    for (size_t i = 0; i < count && status == RT_OK; i++) {
        const struct rt_model_source *model = &zoo[i * stride % count / STEPS_OF_A_MODEL];
        struct rt_model_step step = step_of(model, i * stride % count % STEPS_OF_A_MODEL);
        status = add_source(sources, model, &step, i);
    }
    free(zoo);
    return status;
}

static void close_sources(struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        rt_model_tasks_release(&sources->source[i].kernels);
    free(sources->source);
}

struct choice {
    struct rt_plan_request request;
    struct rt_plan plan;
    struct rt_plan left_out; /* each task is counted once */
};

static bool add_task(struct choice *choice, const struct rt_task *task)
{
    if (!choice->request.backend->can(task)) {
        choice->plan.unable[task->call.op] += rt_plan_add(&choice->left_out, task);
        return false;
    }
    if (rt_call_flops(&task->call) > MOST_FLOPS || rt_call_bytes(&task->call) > MOST_BYTES) {
        choice->plan.too_large += rt_plan_add(&choice->left_out, task);
        return false;
    }
    return rt_plan_add(&choice->plan, task);
}

static bool is_asked(const struct choice *choice, enum rt_op_id op)
{
    return choice->request.ops.all || choice->request.ops.has[op];
}

static bool add_in_dtypes(struct choice *choice, const struct rt_task *task)
{
    bool added = false;
    for (size_t d = 0; d < choice->request.dtypes.count && choice->plan.count < choice->request.count; d++) {
        struct rt_task other = *task;
        other.call.dtype = (uint8_t)rt_task_dtype(task->call.op, choice->request.dtypes.dtype[d]);
        added |= add_task(choice, &other);
    }
    return added;
}

/* Adds the source's next kernel that the plan does not have; false where there is none. */
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
    for (bool more = true; more && choice->plan.count < choice->request.count;) {
        more = false;
        for (size_t i = 0; i < sources->count && choice->plan.count < choice->request.count; i++)
            more |= take(&sources->source[i], choice);
    }
}

int rt_plan_models(const struct rt_plan_request *request, struct rt_plan *out)
{
    struct choice choice = {.request = *request};
    struct sources sources = {0};
    if (choice.request.dtypes.count == 0)
        choice.request.dtypes = (struct rt_dtype_set){.dtype = {RT_FP32}, .count = 1};
    int status = open_sources(&sources);
    if (status == RT_OK)
        take_all(&sources, &choice);
    close_sources(&sources);
    rt_plan_release(&choice.left_out);
    if (status == RT_OK && choice.plan.count == 0)
        status = rt_fail(RT_EUSAGE,
                         "{plan} models has no kernels for these {ops} and {dtypes} that the %s backend can "
                         "measure; see {list}",
                         request->backend->name);
    if (status != RT_OK)
        rt_plan_release(&choice.plan);
    else
        *out = choice.plan;
    return status;
}
