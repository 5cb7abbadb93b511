/* Which net forecasts a kernel, forecasts, and what a predictor was fitted to. See predictor.h. */
#include "models/predictors/predictor/predictor.h"
#include "base/status.h"
#include "base/version.h"
#include "base/h5_struct.h"
#include "base/outputs.h"
#include "base/text.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void rt_predictor_init(struct rt_predictor *predictor, const char *kind)
{
    *predictor = (struct rt_predictor){.complete = true};
    predictor->kind = rt_strdup(kind);
    predictor->creator = rt_strdup("rooftile " RT_VERSION);
    predictor->data_uuids = rt_strdup("");
    predictor->data_sources = rt_strdup("");
    predictor->data_licences = rt_strdup("");
    predictor->devices = rt_strdup("");
    predictor->held_out_gpus = rt_strdup("");
    predictor->held_out_ops = rt_strdup("");
    predictor->calibrated = rt_strdup("");
    rt_energy_model_init(&predictor->energy);
}

void rt_predictor_init_roofline(struct rt_predictor *predictor)
{
    rt_predictor_init(predictor, rt_forecasters[RT_FORECASTER_ROOFLINE].name);
    predictor->nets = rt_calloc(RT_FAMILY_COUNT, sizeof *predictor->nets);
    for (int family = 0; family < RT_FAMILY_COUNT; family++)
        predictor->nets[predictor->net_count++] =
            (struct rt_family_net){.family = (enum rt_family)family, .forecaster = RT_FORECASTER_ROOFLINE};
}

void rt_predictor_release(struct rt_predictor *predictor)
{
    for (size_t i = 0; i < predictor->net_count; i++)
        rt_family_net_release(&predictor->nets[i]);
    free(predictor->nets);
    rt_energy_model_release(&predictor->energy);
    char *texts[] = {predictor->kind,          predictor->creator,       predictor->data_uuids,
                     predictor->data_sources,  predictor->data_licences, predictor->devices,
                     predictor->held_out_gpus, predictor->held_out_ops,  predictor->calibrated,
                     predictor->anchors};
    for (size_t i = 0; i < RT_COUNT(texts); i++)
        free(texts[i]);
    *predictor = (struct rt_predictor){0};
}

/* "a\nb", in place of *list. */
static void add_line(char **list, const char *line)
{
    char *longer = rt_format("%s%s%s", *list, (*list)[0] ? "\n" : "", line);
    free(*list);
    *list = longer;
}

void rt_predictor_add_data(struct rt_predictor *predictor, const struct rt_dataset *dataset)
{
    add_line(&predictor->data_uuids, dataset->uuid);
    add_line(&predictor->data_sources, dataset->source);
    add_line(&predictor->data_licences, dataset->licence);
}

bool rt_predictor_is_fitted(const struct rt_predictor *predictor)
{
    for (size_t n = 0; n < predictor->net_count; n++)
        if (rt_forecasters[predictor->nets[n].forecaster].fitted)
            return true;
    return false;
}

const struct rt_family_net *rt_predictor_net(const struct rt_predictor *predictor, enum rt_op_id op,
                                             enum rt_dtype dtype)
{
    const struct rt_family_net *other = NULL;
    for (size_t i = 0; i < predictor->net_count; i++) {
        if (rt_net_serves(&predictor->nets[i], op, dtype))
            return &predictor->nets[i];
        if (predictor->nets[i].family == rt_ops[op].family)
            other = &predictor->nets[i];
    }
    return other;
}

/* Is `name` one of the lines of `list`, up to a tab? */
static bool has_line(const char *list, const char *name)
{
    char *lines = rt_strdup(list), *rest = lines, *line;
    bool found = false;
    while (!found && (line = strtok_r(rest, "\n", &rest)) != NULL) {
        line[strcspn(line, "\t")] = '\0';
        found = rt_name_equal(line, name);
    }
    free(lines);
    return found;
}

bool rt_predictor_knows_device(const struct rt_predictor *predictor, const char *name)
{
    return has_line(predictor->devices, name);
}

bool rt_predictor_fitted_to(const struct rt_predictor *predictor, const char *device, enum rt_op_id op,
                            enum rt_dtype dtype)
{
    const struct rt_family_net *net = rt_predictor_net(predictor, op, dtype);
    if (net == NULL || net->effects.count == 0)
        return rt_predictor_knows_device(predictor, device);
    const struct rt_device_effect *effect = rt_device_effects_find(&net->effects, device);
    return effect != NULL && !effect->calibrated && rt_net_serves(net, op, dtype);
}

bool rt_predictor_has_seen(const struct rt_predictor *predictor, const struct rt_device *device,
                           enum rt_op_id op, enum rt_dtype dtype)
{
    const struct rt_family_net *net = rt_predictor_net(predictor, op, dtype);
    if (device->altered || net == NULL || !rt_forecasters[net->forecaster].fitted)
        return false;
    if (net->effects.count == 0)
        return rt_predictor_knows_device(predictor, device->name) ||
               rt_predictor_knows_device(predictor, rt_device_board(device));
    const struct rt_device_effect *effect = rt_device_effects_known(&net->effects, device);
    return effect != NULL && rt_net_serves(net, op, dtype) && rt_device_effect_has_dtype(effect, dtype);
}

void rt_predictor_seen_dtypes(const struct rt_predictor *predictor, const struct rt_device *device,
                              bool *seen)
{
    for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) {
        seen[dtype] = false; /* collectives count not: what links carry says nothing of kernels */
        for (int op = 0; op < RT_OP_COUNT && !seen[dtype]; op++)
            seen[dtype] = !rt_families[rt_ops[op].family].link &&
                          rt_predictor_has_seen(predictor, device, (enum rt_op_id)op, (enum rt_dtype)dtype);
    }
}

bool rt_predictor_knows_device_in(const struct rt_predictor *predictor, const char *name, enum rt_dtype dtype)
{
    static const enum rt_op_id ops[] = {RT_OP_LINEAR, RT_OP_BMM, RT_OP_SOFTMAX, RT_OP_LAYERNORM, RT_OP_ADD};
    bool known = false;
    for (size_t i = 0; i < RT_COUNT(ops) && !known; i++)
        known = rt_predictor_fitted_to(predictor, name, ops[i], dtype);
    return known;
}

bool rt_predictor_calibrated_device(const struct rt_predictor *predictor, const char *name)
{
    return has_line(predictor->calibrated, name);
}

bool rt_predictor_calibrated_to_runs(const struct rt_predictor *predictor, const char *name)
{
    char *lines = rt_strdup(predictor->calibrated), *rest = lines, *line;
    bool found = false;
    while ((line = strsep(&rest, "\n")) != NULL) {
        const char *device = strsep(&line, "\t"), *what = line != NULL ? strsep(&line, "\t") : "";
        found |= rt_name_equal(device, name) && strstr(what, " run") != NULL;
    }
    free(lines);
    return found;
}

static bool is_fitted_key(const struct rt_family_net *net, const char *device, int64_t key)
{
    const struct rt_device_effect *effect = rt_device_effects_find(&net->effects, device);
    return effect != NULL && effect->fitted_keys.count > 0 && rt_fitted_keys_has(&effect->fitted_keys, key);
}

bool rt_predictor_calibrated_to_kernel(const struct rt_predictor *predictor, const struct rt_dataset *dataset,
                                       const struct rt_sample *sample)
{
    const struct rt_family_net *net =
        rt_predictor_net(predictor, (enum rt_op_id)sample->call.op, (enum rt_dtype)sample->call.dtype);
    return net != NULL && is_fitted_key(net, dataset->devices[sample->device].name, rt_kernel_key(sample));
}

bool rt_predictor_calibrated_to_run(const struct rt_predictor *predictor, const struct rt_dataset *dataset,
                                    const struct rt_workload *workload)
{
    const char *device = dataset->devices[workload->device].name;
    int64_t key = rt_run_key(dataset, workload);
    for (size_t n = 0; n < predictor->net_count; n++)
        if (is_fitted_key(&predictor->nets[n], device, key))
            return true;
    return false;
}

bool rt_predictor_holds_out(const struct rt_predictor *predictor, const char *device, enum rt_op_id op)
{
    return has_line(predictor->held_out_gpus, device) || has_line(predictor->held_out_ops, rt_ops[op].name);
}

/* The kernels of each net: `index` gets those of net 0, then those of net 1 ...; first (net_count + 1) where
 * they begin. */
static void deal(const struct rt_predictor *predictor, const struct rt_query *queries, size_t count,
                 size_t *index, size_t *first)
{
    size_t *net_of = rt_malloc((count + 1) * sizeof *net_of), nets = predictor->net_count;
    memset(first, 0, (nets + 2) * sizeof *first);
    for (size_t i = 0; i < count; i++) {
        const struct rt_family_net *net =
            rt_predictor_net(predictor, queries[i].call.op, queries[i].call.dtype);
        net_of[i] = net != NULL ? (size_t)(net - predictor->nets) : nets;
        first[net_of[i] + 1]++;
    }
    for (size_t n = 0; n < nets; n++)
        first[n + 1] += first[n];
    for (size_t i = 0; i < count; i++)
        if (net_of[i] < nets)
            index[first[net_of[i]]++] = i;
    for (size_t n = nets; n > 0; n--) /* filling moved each beginning to its end */
        first[n] = first[n - 1];
    first[0] = 0;
    free(net_of);
}

static void forecast(const struct rt_predictor *predictor, const struct rt_device *device,
                     const struct rt_query *queries, size_t count, struct rt_threads *pool,
                     struct rt_network_memo *memo, double *latency_us, uint8_t *skip, struct rt_reach *reach)
{
    uint8_t *reasons = skip != NULL ? skip : rt_malloc(count + 1);
    size_t *index = rt_malloc((count + 1) * sizeof *index), first[RT_MAX_NETS + 2];
    for (size_t i = 0; i < count; i++) {
        latency_us[i] = NAN;
        reasons[i] = RT_SKIP_NO_FAMILY;
    }
    deal(predictor, queries, count, index, first);
    for (size_t n = 0; n < predictor->net_count; n++) {
        const struct rt_family_net *net = &predictor->nets[n];
        struct rt_forecast_batch batch = {.device = device,
                                          .queries = queries,
                                          .index = index + first[n],
                                          .count = first[n + 1] - first[n],
                                          .pool = pool,
                                          .memo = memo,
                                          .latency_us = latency_us,
                                          .skip = reasons,
                                          .reach = reach};
        if (batch.count > 0)
            rt_forecasters[net->forecaster].forecast(net, &batch);
    }
    free(index);
    if (reasons != skip)
        free(reasons);
}

void rt_predictor_forecast(const struct rt_predictor *predictor, const struct rt_device *device,
                           const struct rt_query *queries, size_t count, struct rt_threads *pool,
                           double *latency_us, uint8_t *skip)
{
    forecast(predictor, device, queries, count, pool, NULL, latency_us, skip, NULL);
}

void rt_predictor_forecast_again(const struct rt_predictor *predictor, const struct rt_device *device,
                                 const struct rt_query *queries, size_t count, struct rt_network_memo *memo,
                                 double *latency_us, uint8_t *skip, struct rt_reach *reach)
{
    forecast(predictor, device, queries, count, NULL, memo, latency_us, skip, reach);
}

/* ---- where the predictor lies that comes with rooftile ---- */

/* From the folder of the program or of librooftile.so: in a clone that is build/, installed bin/, lib/ or
 * lib/x86_64-linux-gnu/, of a wheel lib/python3.X/site-packages/rooftile/. A build folder elsewhere has a
 * link beside the program. */
static const char *const places[] = {"../models/predictors/pretrained/rooftile.h5",
                                     "../share/rooftile/rooftile.h5", "../../share/rooftile/rooftile.h5",
                                     "../../../../share/rooftile/rooftile.h5", "rooftile.h5"};

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? rt_format("%.*s", (int)(slash - path), path) : rt_strdup(".");
}

static char *program_folder(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length < 0 ? 0 : length] = '\0';
    return folder_of(path);
}

/* Of the library that this is part of; of a program that holds it, as that was called. */
static char *library_folder(void)
{
    Dl_info library;
    return folder_of(dladdr(places, &library) != 0 ? library.dli_fname : "");
}

/* NULL where it is in none of the places. */
static char *find_from(const char *folder)
{
    for (size_t i = 0; i < RT_COUNT(places); i++) {
        char *path = rt_format("%s/%s", folder, places[i]);
        if (access(path, R_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

/* Path of that file, free with free(): ROOFTILE_PRETRAINED, else beside the program. */
static int pretrained_path(char **out)
{
    const char *chosen = getenv("ROOFTILE_PRETRAINED");
    char *program = program_folder(), *library = library_folder();
    char *path = chosen != NULL ? rt_strdup(chosen) : find_from(program);
    if (path == NULL)
        path = find_from(library);
    int status = RT_OK;
    if (path != NULL)
        *out = path;
    else
        status =
            rt_fail(RT_ENOTFOUND,
                    "the predictor that comes with rooftile is not beside the program (%s/%s or %s); name "
                    "one with {predictor}, or say where it is in ROOFTILE_PRETRAINED",
                    program, places[0], places[1]);
    free(program);
    free(library);
    return status;
}

/* ---- in files: the root and its families, as FORMAT.md describes ---- */

const struct rt_output_kind rt_predictor_kind = {"a predictor", RT_PREDICTOR_FORMAT, NULL};

enum { OLDEST_VERSION = 3 };

#define ROOT(member, kind)      RT_H5_MEMBER(struct rt_predictor, member, #member, kind)
#define FIT(member, name, kind) RT_H5_MEMBER(struct rt_family_net, member, name, kind)

static const struct rt_h5_attribute root[] = {
    ROOT(kind, RT_H5_TEXT),
    ROOT(creator, RT_H5_TEXT),
    ROOT(data_uuids, RT_H5_TEXT),
    ROOT(data_sources, RT_H5_TEXT),
    ROOT(data_licences, RT_H5_TEXT),
    ROOT(devices, RT_H5_TEXT),
    ROOT(held_out_gpus, RT_H5_TEXT),
    ROOT(held_out_ops, RT_H5_TEXT),
    ROOT(calibrated, RT_H5_TEXT),
    RT_H5_MEMBER(struct rt_predictor, split.seed, "seed", RT_H5_INTEGER),
    RT_H5_MEMBER(struct rt_predictor, split.validation, "split_validation", RT_H5_REAL),
    RT_H5_MEMBER(struct rt_predictor, split.test, "split_test", RT_H5_REAL),
    ROOT(threads, RT_H5_INTEGER),
    ROOT(complete, RT_H5_BOOL),
    RT_H5_MEMBER_NAME(struct rt_predictor, target, "target", rt_targets, RT_TARGET_COUNT),
    ROOT(kept_no_test, RT_H5_BOOL),
};

/* Absent where there are none. */
static const struct rt_h5_attribute anchors = ROOT(anchors, RT_H5_TEXT);

/* Of all nets, whatever their forecaster. */
static const struct rt_h5_attribute net_attributes[] = {
    RT_H5_MEMBER_NAME(struct rt_family_net, units, "units", rt_units, RT_UNITS_COUNT),
    FIT(loss, "loss", RT_H5_TEXT),
    FIT(rows_train, "rows_train", RT_H5_INTEGER),
    FIT(rows_validation, "rows_validation", RT_H5_INTEGER),
    FIT(epochs, "epochs", RT_H5_INTEGER),
    FIT(best_epoch, "best_epoch", RT_H5_INTEGER),
    FIT(validation_mape, "validation_mape_percent", RT_H5_REAL),
};

/* Absent where there were none. */
static const struct rt_h5_attribute impossible = FIT(rows_impossible, "rows_impossible", RT_H5_INTEGER);

/* "/families/linear", "/families/linear.matrix" */
static void net_path(const struct rt_family_net *net, char path[static 64])
{
    snprintf(path, 64, "/families/%s", rt_net_name(net->family, net->units));
    for (char *at = path; *at != '\0'; at++)
        *at = *at == ' ' ? '.' : *at;
}

/* ---- writing ---- */

static int write_net(struct rt_h5 *file, const struct rt_family_net *net)
{
    char group[64];
    const struct rt_forecaster *forecaster = &rt_forecasters[net->forecaster];
    net_path(net, group);
    int status = rt_h5_make_group(file, group);
    if (status == RT_OK)
        status = rt_h5_set_text(file, group, "family", rt_families[net->family].name);
    if (status == RT_OK)
        status = rt_h5_set_text(file, group, "forecaster", forecaster->name);
    if (status == RT_OK)
        status = rt_h5_write_struct(file, group, net_attributes, RT_COUNT(net_attributes), net);
    if (status == RT_OK && net->rows_impossible > 0)
        status = rt_h5_write_struct(file, group, &impossible, 1, net);
    return status == RT_OK ? forecaster->write(net, file, group) : status;
}

static int by_family(const void *a, const void *b)
{
    const struct rt_family_net *x = *(const struct rt_family_net *const *)a,
                               *y = *(const struct rt_family_net *const *)b;
    int apart = (int)x->family - (int)y->family;
    return apart != 0 ? apart : (int)x->units - (int)y->units;
}

/* In the order of the families: the same nets, the same bytes. */
static int write_nets(struct rt_h5 *file, const struct rt_predictor *predictor)
{
    const struct rt_family_net *nets[RT_MAX_NETS];
    int status = rt_h5_make_group(file, "/families");
    for (size_t n = 0; n < predictor->net_count; n++)
        nets[n] = &predictor->nets[n];
    qsort(nets, predictor->net_count, sizeof *nets, by_family);
    for (size_t n = 0; status == RT_OK && n < predictor->net_count; n++)
        status = write_net(file, nets[n]);
    return status;
}

int rt_predictor_write(const struct rt_predictor *predictor, struct rt_h5 *file)
{
    int status = rt_h5_write_struct(file, "/", root, RT_COUNT(root), predictor);
    if (status == RT_OK && predictor->anchors != NULL)
        status = rt_h5_write_struct(file, "/", &anchors, 1, predictor);
    if (status == RT_OK)
        status = write_nets(file, predictor);
    return status == RT_OK ? rt_energy_model_write(&predictor->energy, file) : status;
}

int rt_predictor_save(const struct rt_predictor *predictor, const char *path)
{
    struct rt_h5 *file;
    int status = rt_h5_create(path, &file);
    if (status != RT_OK)
        return status;
    if ((status = rt_h5_set_text(file, "/", "format", RT_PREDICTOR_FORMAT)) != RT_OK ||
        (status = rt_h5_set_integer(file, "/", "version", RT_PREDICTOR_VERSION)) != RT_OK ||
        (status = rt_predictor_write(predictor, file)) != RT_OK) {
        rt_h5_close(file);
        return status;
    }
    return rt_h5_commit(file);
}

/* ---- reading ---- */

static int read_forecaster(struct rt_h5 *file, const char *group, struct rt_family_net *net)
{
    static const struct rt_h5_attribute row = RT_H5_MEMBER_NAME(
        struct rt_family_net, forecaster, "forecaster", rt_forecasters, RT_FORECASTER_COUNT);
    return rt_h5_read_struct(file, group, &row, 1, net);
}

/* Is the net that of its group? Files of earlier builds say the family in the group's name alone. */
static int check_name(struct rt_h5 *file, const char *group, const struct rt_family_net *net)
{
    char expected[64], *family = NULL;
    net_path(net, expected);
    int status = rt_h5_has(file, group, "family") ? rt_h5_get_text(file, group, "family", &family) : RT_OK;
    if (status == RT_OK && (strcmp(group, expected) != 0 ||
                            (family != NULL && strcmp(family, rt_families[net->family].name) != 0)))
        status =
            rt_fail(RT_EFORMAT,
                    "%s: %s holds the network of %.40s for %s dtypes: the file is damaged, restore it from "
                    "a copy or train again",
                    rt_h5_path(file), group, family != NULL ? family : "its family", rt_units[net->units]);
    free(family);
    return status;
}

static bool counts_are_sound(const struct rt_family_net *net)
{
    return net->rows_train >= 0 && net->rows_validation >= 0 && net->rows_impossible >= 0 &&
           net->best_epoch >= 0 && net->epochs >= net->best_epoch && !(net->validation_mape < 0);
}

static int read_net(struct rt_h5 *file, const char *name, void *context)
{
    struct rt_predictor *predictor = context;
    char group[64];
    snprintf(group, sizeof group, "%.*s", (int)strcspn(name, "."), name);
    int family = rt_family_find(group);
    if (family < 0 || predictor->net_count == RT_MAX_NETS)
        return rt_fail(
            RT_EVERSION,
            "%s: has a network for \"%.40s\", a family this build does not know; use a newer rooftile",
            rt_h5_path(file), name);
    predictor->nets = rt_realloc(predictor->nets, predictor->net_count + 1, sizeof *predictor->nets);
    struct rt_family_net *net = &predictor->nets[predictor->net_count++];
    *net = (struct rt_family_net){.family = (enum rt_family)family, .target = predictor->target};
    snprintf(group, sizeof group, "/families/%.48s", name);
    int status = read_forecaster(file, group, net);
    if (status == RT_OK)
        status = rt_h5_read_struct(file, group, net_attributes, RT_COUNT(net_attributes), net);
    if (status == RT_OK && rt_h5_has(file, group, impossible.name))
        status = rt_h5_read_struct(file, group, &impossible, 1, net);
    if (status == RT_OK)
        status = check_name(file, group, net);
    if (status == RT_OK && !counts_are_sound(net))
        status = rt_fail(RT_EFORMAT, "%s: %s was fitted in %lld epochs to %lld rows: the file is damaged",
                         rt_h5_path(file), group, (long long)net->epochs, (long long)net->rows_train);
    return status == RT_OK ? rt_forecasters[net->forecaster].read(file, group, net) : status;
}

static bool split_is_sound(const struct rt_split_rule *split)
{
    return split->validation >= 0 && split->test >= 0 && split->validation + split->test <= 1;
}

int rt_predictor_read(struct rt_h5 *file, struct rt_predictor *out)
{
    struct rt_predictor predictor;
    rt_predictor_init(&predictor, "");
    int status = rt_h5_read_struct(file, "/", root, RT_COUNT(root), &predictor);
    if (status == RT_OK && !split_is_sound(&predictor.split))
        status = rt_fail(RT_EFORMAT, "%s: split into %g validation and %g test: the file is damaged",
                         rt_h5_path(file), predictor.split.validation, predictor.split.test);
    if (status == RT_OK && rt_h5_has(file, "/", "anchors"))
        status = rt_h5_read_struct(file, "/", &anchors, 1, &predictor);
    if (status == RT_OK)
        status = rt_h5_each_child(file, "/families", read_net, &predictor);
    if (status == RT_OK)
        status = rt_energy_model_read(file, &predictor.energy);
    if (status == RT_OK)
        *out = predictor;
    else
        rt_predictor_release(&predictor);
    return status;
}

static int open_file(const char *path, struct rt_predictor *out)
{
    struct rt_h5 *file;
    int status = rt_h5_open(path, RT_PREDICTOR_FORMAT, RT_PREDICTOR_VERSION, &file);
    if (status == RT_EIO || status == RT_EFORMAT)
        return rt_fail_remedy(
            status, "`rooftile train DATA.h5 -o predictor.h5` makes a predictor, and \"pretrained\" is the "
                    "one that comes along");
    if (status != RT_OK)
        return status;
    if (rt_h5_version(file) < OLDEST_VERSION)
        status = rt_fail(RT_EVERSION,
                         "%s: is a predictor file of version %d; this build reads versions %d to %d: train "
                         "the predictor again",
                         path, rt_h5_version(file), OLDEST_VERSION, RT_PREDICTOR_VERSION);
    else
        status = rt_predictor_read(file, out);
    rt_h5_close(file);
    return status;
}

static int open_pretrained(struct rt_predictor *out)
{
    char *path;
    int status = pretrained_path(&path);
    if (status != RT_OK)
        return status;
    status = open_file(path, out);
    free(path);
    return status;
}

/* --- how errors go together; of an opened one it is kept --- */

double rt_predictor_error_correlation(const struct rt_predictor *predictor)
{
    if (predictor->correlation_known)
        return predictor->error_correlation;
    const double assumed = 0.2; /* of files of earlier builds */
    double products = 0, norms = 0;
    for (size_t n = 0; n < predictor->net_count; n++)
        for (size_t m = 0; m < n; m++)
            rt_intervals_add_pair(&predictor->nets[n].intervals, &predictor->nets[m].intervals, &products,
                                  &norms);
    return norms > 0 ? fmax(0, fmin(products / norms, 1)) : assumed;
}

int rt_predictor_open(const char *name, struct rt_predictor *out)
{
    if (strcmp(name, rt_forecasters[RT_FORECASTER_ROOFLINE].name) == 0) {
        rt_predictor_init_roofline(out);
        return RT_OK;
    }
    int status = strcmp(name, "pretrained") == 0 ? open_pretrained(out) : open_file(name, out);
    if (status == RT_OK) {
        out->error_correlation = rt_predictor_error_correlation(out);
        out->correlation_known = true;
    }
    return status;
}

void rt_predictor_reads(const char *name, struct rt_names *paths)
{
    char *path;
    if (strcmp(name, "pretrained") != 0)
        rt_names_add(paths, rt_strdup(name));
    else if (pretrained_path(&path) == RT_OK)
        rt_names_add(paths, path);
}

void rt_predictor_suggest(struct rt_text *list)
{
    rt_text_add(list, "pretrained\twhat comes with rooftile\nroofline\tthe bound alone\n:files h5\n");
}
