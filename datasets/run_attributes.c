/* Attributes of runs, read. See run_attributes.h. */
#include "datasets/run_attributes.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_run_attribute_names[] = {"runtime",       "backend",  "lengths", "contexts",  "output",
                                              "prompt",        "fabric",   "quant",   "kv_cache",  "image",
                                              "layout",        "autocast", "input",   "optimizer", "host",
                                              "power_limit_w", "frames",   "steps"};
const size_t rt_run_attribute_count = RT_COUNT(rt_run_attribute_names);
const char *const rt_memory_attributes[RT_MEMORY_COLUMNS] = {"memory_allocated_mib", "memory_reserved_mib",
                                                             "memory_used_mib"};
const char rt_out_of_memory_attribute[] = "out_of_memory";
const char rt_power_attribute[] = "power_w";
const char *const rt_transfers[RT_TRANSFER_COUNT] = {"none", "pageable", "pinned"};

#define MOST_TOKENS ((int64_t)1 << 31) /* of a sequence, and of all of a step: as graphs are built */

/* A list while it is read. */
struct list {
    const char *name;
    int64_t batch, least; /* how many numbers it must have, and the least of each */
};

static int read_number(const struct list *list, const char *text, size_t length, int64_t *out)
{
    if (length == 0 || length > 12 || rt_parse_integer(text, length, out) != 0 || *out < list->least ||
        *out > MOST_TOKENS)
        return rt_fail(RT_EFORMAT,
                       "its attribute %s has \"%.*s\" where a number of tokens, %" PRId64
                       " or more, must be; write them with commas between, such as 2648,3740",
                       list->name, (int)(length < 24 ? length : 24), text, list->least);
    return RT_OK;
}

static int fail_count(const struct list *list, const char *words)
{
    return rt_fail(RT_EFORMAT,
                   "its attribute %s has %s numbers than its batch of %" PRId64
                   " has sequences; give one for each",
                   list->name, words, list->batch);
}

static int read_numbers(const struct list *list, const char *text, int64_t *out)
{
    int64_t count = 0, sum = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (count == list->batch)
            return fail_count(list, "more");
        int status = read_number(list, at, length, &out[count]);
        if (status != RT_OK)
            return status;
        sum += out[count++];
        at += length;
        if (*at == '\0')
            break;
    }
    if (count < list->batch)
        return fail_count(list, "fewer");
    return sum <= MOST_TOKENS
               ? RT_OK
               : rt_fail(RT_EFORMAT, "its attribute %s adds up to %" PRId64 " tokens; at most %" PRId64,
                         list->name, sum, MOST_TOKENS);
}

/* One number per sequence of the batch. */
static int read_list(const char *name, const char *text, int64_t batch, int64_t least, int64_t **out)
{
    const struct list list = {name, batch, least};
    if (text == NULL)
        return RT_OK;
    if (batch < 1 || batch > RT_MOST_LISTED)
        return rt_fail(RT_EFORMAT, "it has an attribute %s, but its batch is missing or above %d", name,
                       RT_MOST_LISTED);
    *out = rt_malloc((size_t)batch * sizeof **out);
    return read_numbers(&list, text, *out);
}

static int read_dtype(const char *name, const char *text, int *out)
{
    *out = text != NULL ? rt_dtype_find(text) : -1;
    if (text == NULL || *out >= 0)
        return RT_OK;
    return rt_fail(
        RT_EFORMAT,
        "its attribute %s is \"%.40s\", which is no element type; fp8, fp8_block and int4 are some", name,
        text);
}

static int read_tokens(const char *name, const char *text, int64_t *out)
{
    if (text == NULL || (rt_parse_integer(text, strlen(text), out) == 0 && *out >= 1 && *out <= MOST_TOKENS))
        return RT_OK;
    return rt_fail(RT_EFORMAT, "its attribute %s is \"%.24s\"; it must be a number of tokens, 1 or more",
                   name, text);
}

/* A generation has an output; a decode step under steady load an output and a prompt; others have neither. */
static int check_output(uint8_t mode, const char *output, const char *prompt)
{
    if (mode == RT_GENERATION && output == NULL)
        return rt_fail(RT_EFORMAT,
                       "it is a generation without the attribute output, the tokens made of each sequence");
    if (mode == RT_DECODE && (output == NULL) != (prompt == NULL))
        return rt_fail(RT_EFORMAT,
                       "it is a decode step with an attribute %s, but none called %s; a step under steady "
                       "load needs both, any other neither",
                       output != NULL ? "output" : "prompt", output != NULL ? "prompt" : "output");
    if (mode != RT_GENERATION && mode != RT_DECODE && output != NULL)
        return rt_fail(RT_EFORMAT,
                       "it has an attribute output, which only generation and decode have; leave it out");
    if (mode != RT_DECODE && prompt != NULL)
        return rt_fail(RT_EFORMAT, "it has an attribute prompt, which only decode has; leave it out");
    return RT_OK;
}

static int read_fabric(const char *text, enum rt_fabric *out)
{
    *out = RT_FABRIC_OWN;
    for (int f = 0; text != NULL && f < RT_FABRIC_COUNT; f++)
        if (strcmp(rt_fabrics[f], text) == 0) {
            *out = (enum rt_fabric)f;
            return RT_OK;
        }
    return text == NULL ? RT_OK
                        : rt_fail(RT_EFORMAT,
                                  "its attribute fabric is \"%.40s\"; known are own, switch, mesh, pairs, "
                                  "pcie, pcie-peer and pcie-host",
                                  text);
}

static const char *const layouts[] = {"nchw", "nhwc"}, *const no_yes[] = {"0", "1"};

/* One of two words: the second is true. */
static int read_flag(const char *name, const char *text, const char *const words[2], bool *out)
{
    *out = text != NULL && strcmp(text, words[1]) == 0;
    if (text == NULL || *out || strcmp(text, words[0]) == 0)
        return RT_OK;
    return rt_fail(RT_EFORMAT, "its attribute %s is \"%.24s\"; it must be %s or %s", name, text, words[0],
                   words[1]);
}

/* A side, or height and width, "720x1280". */
static int read_image(const char *text, int64_t *height, int64_t *width)
{
    const char *x = text != NULL ? strchr(text, 'x') : NULL;
    size_t first = x != NULL ? (size_t)(x - text) : text != NULL ? strlen(text) : 0;
    if (text == NULL ||
        (rt_parse_integer(text, first, height) == 0 && *height >= 1 && *height <= RT_MOST_PIXELS &&
         (x == NULL ||
          (rt_parse_integer(x + 1, strlen(x + 1), width) == 0 && *width >= 1 && *width <= RT_MOST_PIXELS))))
        return RT_OK;
    return rt_fail(RT_EFORMAT,
                   "its attribute image is \"%.24s\"; it must be the side of its images in pixels, 1 to %d, "
                   "or height and width, 720x1280",
                   text, RT_MOST_PIXELS);
}

static int read_count(const char *name, const char *text, int64_t most, int64_t *out)
{
    if (text == NULL || (rt_parse_integer(text, strlen(text), out) == 0 && *out >= 1 && *out <= most))
        return RT_OK;
    return rt_fail(RT_EFORMAT, "its attribute %s is \"%.24s\"; it must be a whole number from 1 to %" PRId64,
                   name, text, most);
}

static int read_transfer(const char *text, enum rt_transfer *out)
{
    *out = RT_TRANSFER_NONE;
    for (int t = 0; text != NULL && t < RT_TRANSFER_COUNT; t++)
        if (strcmp(rt_transfers[t], text) == 0) {
            *out = (enum rt_transfer)t;
            return RT_OK;
        }
    return text == NULL
               ? RT_OK
               : rt_fail(RT_EFORMAT, "its attribute input is \"%.24s\"; known are none, pageable and pinned",
                         text);
}

/* Which optimizers there are is known to those who build graphs. */
static int read_optimizer(uint8_t mode, const char *text, const char **out)
{
    *out = text;
    if (text == NULL || mode == RT_TRAINING || strcmp(text, "none") == 0)
        return RT_OK;
    return rt_fail(RT_EFORMAT, "it has an attribute optimizer, which only training has; leave it out");
}

#define MOST_MIB 1e9 /* of memory: 1 PB */

static int read_memory(const struct rt_dataset *dataset, int32_t group, enum rt_memory_column column,
                       double *out)
{
    const char *text = rt_dataset_attribute(dataset, group, rt_memory_attributes[column]);
    *out = NAN;
    if (text == NULL || (rt_parse_real(text, strlen(text), out) == 0 && *out > 0 && *out <= MOST_MIB))
        return RT_OK;
    return rt_fail(RT_EFORMAT, "its attribute %s is \"%.24s\"; it must be MiB of memory, more than 0",
                   rt_memory_attributes[column], text);
}

#define MOST_WATTS 1e5 /* of a GPU */

static int read_watts(const char *name, const char *text, double *out)
{
    *out = NAN;
    if (text == NULL || (rt_parse_real(text, strlen(text), out) == 0 && *out > 0 && *out <= MOST_WATTS))
        return RT_OK;
    return rt_fail(RT_EFORMAT, "its attribute %s is \"%.24s\"; it must be watts of one GPU, more than 0",
                   name, text);
}

/* A run that did not fit has no time. */
static int read_out_of_memory(const struct rt_dataset *dataset, const struct rt_workload *workload, bool *out)
{
    const char *text = rt_dataset_attribute(dataset, workload->group, rt_out_of_memory_attribute);
    int status = read_flag(rt_out_of_memory_attribute, text, no_yes, out);
    if (status == RT_OK && *out && !(workload->flags & RT_FLAG_FAILED))
        return rt_fail(RT_EFORMAT, "it was out of memory, but is not flagged as failed");
    return status;
}

static int read_measured(const struct rt_dataset *dataset, const struct rt_workload *workload,
                         struct rt_run_attributes *out)
{
    int status = read_out_of_memory(dataset, workload, &out->out_of_memory);
    for (int column = 0; status == RT_OK && column < RT_MEMORY_COLUMNS; column++)
        status =
            read_memory(dataset, workload->group, (enum rt_memory_column)column, &out->memory_mib[column]);
    if (status == RT_OK)
        status =
            read_watts(rt_power_attribute, rt_dataset_attribute(dataset, workload->group, rt_power_attribute),
                       &out->power_w);
    return status;
}

/* What a mode has no use for is a slip. */
static int check_mode(const struct rt_workload *workload, const char *lengths, const char *contexts)
{
    if (lengths != NULL && (workload->mode == RT_DECODE || workload->mode == RT_TRAINING))
        return rt_fail(RT_EFORMAT,
                       "it has an attribute lengths, which only inference and generation have; leave it out");
    if (contexts != NULL && workload->mode == RT_TRAINING)
        return rt_fail(RT_EFORMAT, "it has an attribute contexts, which training has not; leave it out");
    return RT_OK;
}

int rt_run_attributes_read(const struct rt_dataset *dataset, const struct rt_workload *workload,
                           struct rt_run_attributes *out)
{
    const char *text[RT_COUNT(rt_run_attribute_names)];
    enum { RUNTIME, BACKEND, LENGTHS, CONTEXTS, OUTPUT, PROMPT, FABRIC, QUANT, KV_CACHE };
    enum { IMAGE = KV_CACHE + 1, LAYOUT, AUTOCAST, INPUT, OPTIMIZER, HOST, POWER_LIMIT, FRAMES, STEPS };
    for (size_t i = 0; i < rt_run_attribute_count; i++)
        text[i] = rt_dataset_attribute(dataset, workload->group, rt_run_attribute_names[i]);
    *out = (struct rt_run_attributes){
        .runtime = text[RUNTIME],
        .backend = text[BACKEND],
        .output = -1,
        .prompt = -1,
        .image = -1,
        .image_width = -1,
        .frames = -1,
        .steps = -1,
        .host = text[HOST],
    };
    int status = check_mode(workload, text[LENGTHS], text[CONTEXTS]);
    if (status == RT_OK)
        status = read_list("lengths", text[LENGTHS], workload->batch, 1, &out->lengths);
    if (status == RT_OK)
        status = read_list("contexts", text[CONTEXTS], workload->batch, workload->mode == RT_DECODE,
                           &out->contexts);
    if (status == RT_OK)
        status = check_output(workload->mode, text[OUTPUT], text[PROMPT]);
    if (status == RT_OK)
        status = read_tokens("output", text[OUTPUT], &out->output);
    if (status == RT_OK)
        status = read_tokens("prompt", text[PROMPT], &out->prompt);
    if (status == RT_OK)
        status = read_fabric(text[FABRIC], &out->fabric);
    if (status == RT_OK)
        status = read_dtype("quant", text[QUANT], &out->quant);
    if (status == RT_OK)
        status = read_dtype("kv_cache", text[KV_CACHE], &out->kv_cache);
    if (status == RT_OK)
        status = read_image(text[IMAGE], &out->image, &out->image_width);
    if (status == RT_OK)
        status = read_count("frames", text[FRAMES], RT_MOST_FRAMES, &out->frames);
    if (status == RT_OK)
        status = read_count("steps", text[STEPS], RT_MOST_STEPS, &out->steps);
    if (status == RT_OK)
        status = read_flag("layout", text[LAYOUT], layouts, &out->channels_last);
    if (status == RT_OK)
        status = read_flag("autocast", text[AUTOCAST], no_yes, &out->autocast);
    if (status == RT_OK)
        status = read_transfer(text[INPUT], &out->input);
    if (status == RT_OK)
        status = read_optimizer(workload->mode, text[OPTIMIZER], &out->optimizer);
    if (status == RT_OK)
        status = read_watts("power_limit_w", text[POWER_LIMIT], &out->power_limit_w);
    if (status == RT_OK)
        status = read_measured(dataset, workload, out);
    if (status != RT_OK)
        rt_run_attributes_release(out);
    return status;
}

void rt_run_attributes_release(struct rt_run_attributes *attributes)
{
    free(attributes->lengths);
    free(attributes->contexts);
    attributes->lengths = attributes->contexts = NULL;
}

double rt_run_watts(const struct rt_workload *workload, const struct rt_run_attributes *attributes,
                    double gpus)
{
    if (!isnan(attributes->power_w))
        return attributes->power_w;
    return workload->energy_mj > 0 ? 1e3 * workload->energy_mj / (workload->end_to_end_us * gpus) : NAN;
}

int rt_run_attributes_check(const struct rt_dataset *dataset, const struct rt_workload *workload)
{
    struct rt_run_attributes attributes;
    int status = rt_run_attributes_read(dataset, workload, &attributes);
    if (status == RT_OK)
        rt_run_attributes_release(&attributes);
    return status;
}
