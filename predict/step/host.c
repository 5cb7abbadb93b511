/* The table of hosts, and hosts in files. See host.h. */
#include "predict/step/host.h"
#include "base/file.h"
#include "base/report.h"
#include "base/sort.h"
#include "base/options.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"
#include "datasets/dataset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COMMON .launch_us = 4, .optimizer_us = 10, .pinned_gbs = NAN, .context_mib = NAN
static const struct rt_host hosts[] = {
#include "predict/step/hosts.def"
};
#undef COMMON
enum { HOSTS = sizeof hosts / sizeof *hosts };

/* The numbers of a host: names in files, ranges. */
static const struct {
    const char *key;
    size_t offset;
    double least, most;
} numbers[] = {
    {"ghz", offsetof(struct rt_host, ghz), 0.1, 10},
    {"forward_us", offsetof(struct rt_host, forward_us), 0, 1e5},
    {"backward_us", offsetof(struct rt_host, backward_us), 0, 1e5},
    {"launch_us", offsetof(struct rt_host, launch_us), 0, 1e5},
    {"optimizer_us", offsetof(struct rt_host, optimizer_us), 0, 1e5},
    {"step_us", offsetof(struct rt_host, step_us), 0, 1e8},
    {"staged", offsetof(struct rt_host, staged), 0, 1e3},
    {"pageable_gbs", offsetof(struct rt_host, pageable_gbs), 1e-3, 1e5},
    {"pinned_gbs", offsetof(struct rt_host, pinned_gbs), 1e-3, 1e5},
    {"context_mib", offsetof(struct rt_host, context_mib), 0, 1e6},
};

static double *number_of(struct rt_host *host, size_t i)
{
    return (double *)((char *)host + numbers[i].offset);
}

const struct rt_host *rt_host_default(void)
{
    return &hosts[0];
}

const struct rt_host *rt_host_named(const char *name)
{
    for (int h = 0; h < HOSTS; h++)
        if (rt_name_equal(hosts[h].name, name))
            return &hosts[h];
    return NULL;
}

const struct rt_host *rt_host_of_runtime(enum rt_runtime_id runtime)
{
    bool megatron = runtime == RT_RUNTIME_MEGATRON_OLD || rt_runtimes[runtime].engine;
    return megatron                         ? rt_host_named("megatron-2021")
           : runtime == RT_RUNTIME_NANOTRON ? rt_host_named("nanotron")
                                            : rt_host_default();
}

char *rt_host_names(void)
{
    struct rt_text words = {0};
    for (int h = 0; h < HOSTS; h++)
        rt_text_item(&words, ", ", "%s", hosts[h].name);
    return rt_text_take(&words);
}

/* --- a file --- */

static int set_number(struct rt_host *host, const char *key, const json_t *value, const char *path)
{
    struct rt_text keys = {0};
    for (size_t i = 0; i < RT_COUNT(numbers); i++) {
        double number = json_number_value(value);
        rt_text_item(&keys, ", ", "%s", numbers[i].key);
        if (strcmp(numbers[i].key, key) != 0)
            continue;
        rt_text_release(&keys);
        if (!json_is_number(value) || !(number >= numbers[i].least && number <= numbers[i].most))
            return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a number in %g..%g", path, key, numbers[i].least,
                           numbers[i].most);
        *number_of(host, i) = number;
        return RT_OK;
    }
    int status = rt_fail(RT_EFORMAT, "%s: \"%.60s\" is nothing that a host has; there are name, note, %s",
                         path, key, keys.text);
    rt_text_release(&keys);
    return status;
}

static int set_member(struct rt_host *host, const char *key, const json_t *value, const char *path)
{
    if (strcmp(key, "note") == 0)
        return RT_OK;
    if (strcmp(key, "name") != 0)
        return set_number(host, key, value, path);
    const char *text = json_string_value(value);
    if (text == NULL || text[0] == '\0' || strlen(text) >= sizeof host->name)
        return rt_fail(RT_EFORMAT, "%s: \"name\" must be a text of 1 to %zu bytes", path,
                       sizeof host->name - 1);
    strcpy(host->name, text);
    return RT_OK;
}

/* Of three servers whose processors are known (3.7, 2.2 and 2.2 GHz; pgb-2080ti-2, pgb-titanrtx and
 * pgb-titanxp) forward x clock is 84 to 104, backward 174 to 348, the copy's rate over the clock 0.57 to
 * 0.81: the geometric means. */
static void set_by_clock(struct rt_host *host)
{
    host->forward_us = 94 / host->ghz;
    host->backward_us = 232 / host->ghz;
    host->pageable_gbs = 0.64 * host->ghz;
}

static int from_json(const char *text, size_t size, const char *path, struct rt_host *out)
{
    json_error_t error;
    const char *key;
    json_t *value, *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    int status = RT_OK;
    if (root == NULL)
        return rt_fail(RT_EFORMAT, "%s:%d:%d: not JSON: %s", path, error.line, error.column, error.text);
    if (!json_is_object(root))
        status = rt_fail(RT_EFORMAT,
                         "%s: the file of a host holds one JSON object, such as "
                         "{\"name\": \"mine\", \"forward_us\": 8, \"backward_us\": 6}",
                         path);
    if (status == RT_OK && (value = json_object_get(root, "ghz")) != NULL &&
        (status = set_number(out, "ghz", value, path)) == RT_OK)
        set_by_clock(out); /* what else the file says replaces */
    json_object_foreach(root, key, value)
    {
        if (status == RT_OK)
            status = set_member(out, key, value, path);
    }
    json_decref(root);
    return status;
}

static int read_json(const char *path, struct rt_host *out)
{
    char *text;
    size_t size;
    int status = rt_file_read(path, 1 << 20, &text, &size);
    if (status != RT_OK)
        return status;
    status = from_json(text, size, path, out);
    free(text);
    return status;
}

/* --- a dataset --- */

enum { LARGE_COPY = 1 << 20 }; /* bytes: from here on a copy's start does not count */

struct found {
    double *value;
    size_t count;
};
enum { LAUNCHES = RT_TRANSFER_NONE }; /* beside the two kinds of copies */

static bool is_copy_in(const struct rt_sample *sample)
{
    return sample->call.op == RT_OP_HOST_TO_DEVICE && sample->call.dim[0] >= LARGE_COPY &&
           sample->latency_us > 0;
}

static void add_samples(const struct rt_dataset *dataset, struct found found[RT_TRANSFER_COUNT])
{
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        if (sample->call.op == RT_OP_LAUNCH && sample->latency_us > 0)
            found[LAUNCHES].value[found[LAUNCHES].count++] = sample->latency_us;
        if (!is_copy_in(sample))
            continue;
        const char *memory = rt_dataset_attribute(dataset, sample->group, "host_memory");
        bool pageable = memory != NULL && strcmp(memory, rt_transfers[RT_TRANSFER_PAGEABLE]) == 0;
        struct found *of = &found[pageable ? RT_TRANSFER_PAGEABLE : RT_TRANSFER_PINNED];
        of->value[of->count++] = (double)sample->call.dim[0] / sample->latency_us / 1e3;
    }
}

static int from_dataset(const struct rt_dataset *dataset, const char *path, struct rt_host *out)
{
    struct found found[RT_TRANSFER_COUNT] = {0};
    for (int c = 0; c < RT_TRANSFER_COUNT; c++)
        found[c].value = rt_malloc((dataset->samples.count + 1) * sizeof(double));
    add_samples(dataset, found);
    double pageable = rt_median(found[RT_TRANSFER_PAGEABLE].value, found[RT_TRANSFER_PAGEABLE].count),
           pinned = rt_median(found[RT_TRANSFER_PINNED].value, found[RT_TRANSFER_PINNED].count);
    double launch = rt_median(found[LAUNCHES].value, found[LAUNCHES].count);
    for (int c = 0; c < RT_TRANSFER_COUNT; c++)
        free(found[c].value);
    if (isnan(pageable) && isnan(pinned))
        return rt_fail(RT_EFORMAT,
                       "%s holds no copies from host to device of 1 MiB or more; `rooftile collect --ops "
                       "host_to_device` measures them",
                       path);
    out->pinned_gbs = pinned;
    if (!isnan(launch))
        out->launch_us = launch;
    out->pageable_gbs = isnan(pageable) ? fmin(out->pageable_gbs, pinned) : pageable;
    return RT_OK;
}

static int read_dataset(const char *path, struct rt_host *out)
{
    struct rt_dataset dataset;
    int status = rt_dataset_read(path, &dataset);
    if (status != RT_OK)
        return status;
    status = from_dataset(&dataset, path, out);
    rt_dataset_release(&dataset);
    return status;
}

/* --- what --host means --- */

static bool is_path(const char *spec)
{
    struct stat file;
    return strchr(spec, '/') != NULL || rt_ends_with(spec, ".json") || rt_ends_with(spec, ".h5") ||
           stat(spec, &file) == 0;
}

int rt_host_find(const char *spec, struct rt_host *out)
{
    const struct rt_host *row = rt_host_named(spec);
    struct rt_host host = row != NULL ? *row : hosts[0];
    int status = RT_OK;
    if (spec[0] == '{') {
        status = from_json(spec, strlen(spec), "the host", &host);
    } else if (row == NULL && !is_path(spec)) {
        char *names = rt_host_names();
        status = rt_fail(RT_ENOTFOUND, "unknown host \"%.60s\"; there are %s, or give a file of JSON", spec,
                         names);
        free(names);
    } else if (row == NULL) {
        const char *base = strrchr(spec, '/');
        snprintf(host.name, sizeof host.name, "%s", base != NULL ? base + 1 : spec);
        status = rt_ends_with(spec, ".h5") ? read_dataset(spec, &host) : read_json(spec, &host);
    }
    if (status == RT_OK)
        *out = host;
    return status;
}

void rt_host_reads(const char *spec, struct rt_names *paths)
{
    if (rt_host_named(spec) == NULL && spec[0] != '{' && is_path(spec))
        rt_names_add(paths, rt_strdup(spec));
}

/* --- launches and copies --- */

struct rt_dispatch rt_host_dispatch(const struct rt_host *host, bool replayed)
{
    struct rt_dispatch dispatch = {.step_us = host->step_us};
    if (replayed) {
        dispatch.first_us = host->forward_us;
        return dispatch;
    }
    dispatch.forward_us = host->forward_us;
    dispatch.backward_us = host->backward_us;
    dispatch.launch_us = host->launch_us;
    dispatch.optimizer_us = host->optimizer_us;
    return dispatch;
}

static const double PINNED_PAYLOAD = 0.75; /* of the link, see host.h */

double rt_host_copy_us(const struct rt_host *host, const struct rt_device *device, enum rt_transfer copy,
                       double bytes)
{
    if (copy == RT_TRANSFER_NONE || bytes == 0)
        return 0;
    double link = PINNED_PAYLOAD * rt_device_host_link_gbs(device);
    double gbs = isnan(host->pinned_gbs) ? link : fmin(host->pinned_gbs, link);
    if (copy == RT_TRANSFER_PAGEABLE)
        gbs = fmin(gbs, host->pageable_gbs);
    return isnan(link) ? NAN : bytes / gbs / 1e3;
}

void rt_host_suggest(struct rt_text *list)
{
    for (int h = 0; h < HOSTS; h++)
        rt_text_add(list, "%s\n", hosts[h].name);
    rt_text_add(list, ":files json\n");
}
