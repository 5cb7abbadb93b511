/* Names, options and kinds of measured runs. See workload.h. */
#include "predict/evaluate/workload.h"
#include "base/status.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_workload_kinds[RT_KIND_COUNT] = {"inference", "training", "fusion",    "distributed",
                                                      "prefill",   "decode",   "generation"};

/* --- names, options, kinds --- */

/* Takes `word` and a number of 1..65536 off the front of *at. */
static bool take(const char **at, const char *word, int64_t *number)
{
    size_t length = strlen(word), digits = 0;
    if (strncmp(*at, word, length) != 0)
        return false;
    while (isdigit((unsigned char)(*at)[length + digits]))
        digits++;
    if (digits == 0 || rt_parse_integer(*at + length, digits, number) != 0 || *number < 1 || *number > 65536)
        return false;
    *at += length + digits;
    return true;
}

static bool take_part(const char **at, struct rt_step *step)
{
    if (strncmp(*at, "kernels", 7) == 0) {
        *at += 7;
        step->host_us = 0;
        return true;
    }
    if (strncmp(*at, "fusion", 6) == 0) {
        *at += 6;
        step->fusion = true;
        return true;
    }
    struct rt_parallelism *parallel = &step->parallel;
    return take(at, "dp", &parallel->data) || take(at, "tp", &parallel->tensor) ||
           take(at, "ep", &parallel->expert) || take(at, "adp", &parallel->attention) ||
           take(at, "ulysses", &parallel->ulysses) || take(at, "ring", &parallel->ring) ||
           (take(at, "pp", &parallel->pipeline) && take(at, "_", &parallel->microbatches));
}

bool rt_workload_option(const char *option, struct rt_step *step)
{
    struct rt_step said = *step;
    for (const char *at = option; *at != '\0';) {
        if (!take_part(&at, &said) || (*at != '\0' && (*at++ != '-' || *at == '\0')))
            return false;
    }
    *step = said;
    return true;
}

/* Fields that columns of /workloads or readers of their own say, or that would name a file of this machine.
 */
static bool is_read_elsewhere(int field)
{
    switch ((enum rt_step_field)field) {
    case RT_STEP_MODE:
    case RT_STEP_BATCH:
    case RT_STEP_SEQ:
    case RT_STEP_DTYPE:
    case RT_STEP_LAYERS:
    case RT_STEP_LENGTHS:
    case RT_STEP_CONTEXTS:
    case RT_STEP_CONTEXT:
    case RT_STEP_RUNTIME:
    case RT_STEP_HOST:
    case RT_STEP_SERVER:
    case RT_STEP_CLUSTER:
    case RT_STEP_POWER_LIMIT: /* power_limit_w */
    case RT_STEP_INTERVAL:
        return true;
    default:
        return false;
    }
}

static int set_field(const struct rt_dataset *dataset, const struct rt_workload *workload, int field,
                     struct rt_step *step)
{
    const char *name = rt_step_field_names[field];
    const char *text = rt_dataset_attribute(dataset, workload->group, name);
    if (text == NULL || is_read_elsewhere(field) || rt_step_set(step, name, text) == RT_OK)
        return RT_OK;
    return rt_fail_context(RT_EFORMAT, "its attribute %s", name);
}

int rt_workload_request(const struct rt_dataset *dataset, const struct rt_workload *workload,
                        struct rt_step *step)
{
    const char *option = rt_strings_get(&dataset->texts, workload->option);
    int status = RT_OK;
    if (!rt_workload_option(option, step))
        return rt_fail(RT_EFORMAT,
                       "option \"%s\" is unknown; known are fusion, dpN, tpN, epN, adpN, ulyssesN, ringN and "
                       "ppN_M (N GPUs, M microbatches)",
                       option);
    for (int field = 0; field < RT_STEP_FIELDS && status == RT_OK; field++)
        status = set_field(dataset, workload, field, step);
    return status;
}

/* Attention written out by PyTorch 1, and in one kernel by PyTorch before 2.5, is another runtime. */
static enum rt_runtime_id of_version(enum rt_runtime_id runtime, const char *software)
{
    int major = 0, minor = 0;
    if (software == NULL || sscanf(software, "pytorch %9d.%9d", &major, &minor) != 2)
        return runtime;
    if (runtime == RT_RUNTIME_EAGER_MATH && major == 1)
        return RT_RUNTIME_EAGER_1;
    return runtime == RT_RUNTIME_EAGER && major == 2 && minor < 5 ? RT_RUNTIME_EAGER_2 : runtime;
}

enum rt_runtime_id rt_workload_runtime(const struct rt_dataset *dataset, const struct rt_workload *workload)
{
    const char *name = rt_dataset_attribute(dataset, workload->group, "runtime");
    const char *software = rt_dataset_attribute(dataset, workload->group, "software");
    for (int r = 0; name != NULL && r < RT_RUNTIME_COUNT; r++)
        if (rt_name_equal(rt_runtimes[r].name, name))
            return of_version((enum rt_runtime_id)r, software);
    if (name != NULL)
        return RT_RUNTIME_COUNT;
    return workload->mode == RT_DECODE || workload->mode == RT_GENERATION ? RT_RUNTIME_SERVING
                                                                          : RT_RUNTIME_EAGER_1;
}

bool rt_workload_is_plain(const struct rt_dataset *dataset, const struct rt_workload *workload)
{
    struct rt_step step = RT_STEP_NOT_GIVEN;
    if (rt_workload_request(dataset, workload, &step) != RT_OK || step.fusion)
        return false;
    const struct rt_parallelism *parallel = &step.parallel;
    if (rt_workload_runtime(dataset, workload) == RT_RUNTIME_SERVING)
        return parallel->data * parallel->pipeline == 1;
    return rt_parallelism_gpus(parallel) == 1 && !isfinite(step.host_us);
}

enum rt_workload_kind rt_workload_kind_of(const struct rt_workload *workload, const struct rt_step *step)
{
    const struct rt_parallelism *parallel = &step->parallel;
    if (workload->mode == RT_DECODE)
        return RT_KIND_DECODE;
    if (workload->mode == RT_GENERATION)
        return RT_KIND_GENERATION;
    if (workload->mode == RT_INFERENCE && step->runtime == RT_RUNTIME_SERVING)
        return RT_KIND_PREFILL;
    if (rt_parallelism_gpus(parallel) > 1)
        return RT_KIND_DISTRIBUTED;
    if (step->fusion)
        return RT_KIND_FUSION;
    return workload->mode == RT_TRAINING ? RT_KIND_TRAINING : RT_KIND_INFERENCE;
}

double rt_workload_floor_us(const struct rt_workload *workload)
{
    return workload->kernels_forward_us + (workload->mode == RT_TRAINING ? workload->kernels_backward_us : 0);
}

static const char *attribute(const struct rt_dataset *dataset, const struct rt_workload *workload,
                             const char *name)
{
    const char *value = rt_dataset_attribute(dataset, workload->group, name);
    return value != NULL ? value : "";
}

struct rt_workload_name rt_workload_name(const struct rt_dataset *dataset, const struct rt_workload *workload)
{
    return (struct rt_workload_name){.device = dataset->devices[workload->device].name,
                                     .model = rt_strings_get(&dataset->texts, workload->model),
                                     .option = rt_strings_get(&dataset->texts, workload->option),
                                     .output = attribute(dataset, workload, "output"),
                                     .image = attribute(dataset, workload, "image"),
                                     .backend = attribute(dataset, workload, "backend")};
}

char *rt_workload_title(const struct rt_workload *workload, const struct rt_workload_name *name)
{
    static const char *const modes[RT_MODE_COUNT] = {"inf", "train", "dec", "gen"};
    char *size = workload->sequence >= 1 ? rt_format("%" PRId64 "-", workload->sequence)
                                         : rt_format("%s%s", name->image, name->image[0] != '\0' ? "-" : "");
    if (name->output[0] != '\0') {
        free(size);
        size = rt_format("%" PRId64 "+%s-", workload->sequence, name->output);
    }
    char *title = rt_format("%s-%s-%s%" PRId64 "%s%s", name->model, modes[workload->mode], size,
                            workload->batch, name->option[0] != '\0' ? "-" : "", name->option);
    free(size);
    return title;
}

bool rt_workload_is_same(const struct rt_dataset *dataset, const struct rt_workload *a,
                         const struct rt_workload *b)
{
    struct rt_workload_name names[] = {rt_workload_name(dataset, a), rt_workload_name(dataset, b)};
    if (a->model != b->model || a->mode != b->mode || a->batch != b->batch || a->dtype != b->dtype ||
        rt_workload_runtime(dataset, a) != rt_workload_runtime(dataset, b))
        return false;
    char *titles[] = {rt_workload_title(a, &names[0]), rt_workload_title(b, &names[1])};
    bool same = strcmp(titles[0], titles[1]) == 0;
    free(titles[0]);
    free(titles[1]);
    return same;
}

bool rt_workload_same_but_limit(const struct rt_dataset *dataset, const struct rt_workload *a,
                                const struct rt_workload *b)
{
    if (a->device != b->device || a->sequence != b->sequence || !rt_workload_is_same(dataset, a, b))
        return false;
    for (size_t i = 0; i <= rt_run_attribute_count; i++) {
        const char *name = i < rt_run_attribute_count ? rt_run_attribute_names[i] : "run";
        const char *of_a = rt_dataset_attribute(dataset, a->group, name);
        const char *of_b = rt_dataset_attribute(dataset, b->group, name);
        if (strcmp(name, "power_limit_w") != 0 &&
            strcmp(of_a != NULL ? of_a : "", of_b != NULL ? of_b : "") != 0)
            return false;
    }
    return true;
}
