/* Calibration on a copy of a predictor's device effects. See calibrate.h. */
#include "train/calibrate/calibrate.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the copy --- */

/* A predictor with device effects of its own; all else is borrowed. */
static void copy_effects(const struct rt_predictor *predictor, struct rt_predictor *out)
{
    *out = *predictor;
    out->nets = rt_malloc((predictor->net_count + 1) * sizeof *out->nets);
    for (size_t n = 0; n < predictor->net_count; n++) {
        out->nets[n] = predictor->nets[n];
        rt_device_effects_copy(&predictor->nets[n].effects, &out->nets[n].effects);
    }
}

static void swap_effects(struct rt_predictor *a, struct rt_predictor *b)
{
    for (size_t n = 0; n < a->net_count; n++) {
        struct rt_device_effects effects = a->nets[n].effects;
        a->nets[n].effects = b->nets[n].effects;
        b->nets[n].effects = effects;
    }
}

static void release_copy(struct rt_predictor *copy)
{
    for (size_t n = 0; n < copy->net_count; n++)
        rt_device_effects_release(&copy->nets[n].effects);
    free(copy->nets);
}

/* --- the predictor's list of calibrated devices: "NAME\tWHAT TO\tUUIDS" a line --- */

/* "150 kernels", "2 runs", "150 kernels, 2 runs". `before`: the entry of an earlier calibration to kernels
 * that still holds, else "". Free with free(). */
static char *what_to(const struct rt_calibration *calibration, const char *before)
{
    size_t kernels = 0, runs = calibration->runs_used;
    for (size_t f = 0; f < calibration->family_count; f++)
        kernels += calibration->family[f].used;
    const char *end = strstr(before, " kernels");
    char *first = calibration->from_kernels ? rt_format("%zu kernels", kernels)
                  : end != NULL             ? rt_format("%.*s kernels", (int)(end - before), before)
                                            : rt_strdup("");
    if (!calibration->from_models)
        return first;
    char *both =
        rt_format("%s%s%zu %s", first, first[0] != '\0' ? ", " : "", runs, runs == 1 ? "run" : "runs");
    free(first);
    return both;
}

/* Replaces the device's line. Runs in a queue leave an earlier calibration to kernels as it is: then what the
 * line says of those and their data stays. */
static void record(struct rt_predictor *predictor, const char *uuid, const struct rt_calibration *calibration)
{
    char *text = NULL, *data = rt_strdup(uuid), *copy = rt_strdup(predictor->calibrated), *rest = copy, *line;
    const char *before = "", *uuids = "";
    bool holds = calibration->queued && !calibration->from_kernels;
    size_t size;
    FILE *list = open_memstream(&text, &size);
    if (list == NULL)
        abort();
    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        char *device = strsep(&line, "\t");
        if (!rt_name_equal(device, calibration->device)) {
            fprintf(list, "%s%s%s\n", device, line != NULL ? "\t" : "", line != NULL ? line : "");
        } else if (holds && line != NULL) {
            before = strsep(&line, "\t");
            uuids = line != NULL ? line : "";
        }
    }
    char *what = what_to(calibration, before);
    for (char *at = data; (at = strchr(at, '\n')) != NULL;) /* of several files: a line each */
        *at = ',';
    bool known = strstr(uuids, data) != NULL;
    fprintf(list, "%s\t%s\t%s%s%s", calibration->device, what, uuids, uuids[0] == '\0' || known ? "" : ",",
            known ? "" : data);
    fclose(list);
    free(what);
    free(data);
    free(copy);
    free(predictor->calibrated);
    predictor->calibrated = text;
}

/* --- both --- */

static int check_predictor(const struct rt_predictor *predictor)
{
    for (size_t n = 0; n < predictor->net_count; n++)
        if (rt_family_net_has_effects(&predictor->nets[n]))
            return RT_OK;
    return rt_fail(RT_EUSAGE,
                   "a predictor of kind \"%s\" has nothing to calibrate: its networks have no device "
                   "effects; train one with `rooftile train --predictor rooftile`",
                   predictor->kind);
}

static bool has_kernels(const struct rt_dataset *dataset, int32_t device)
{
    for (size_t i = 0; i < dataset->samples.count; i++)
        if (RT_SAMPLE(dataset, i)->device == device)
            return true;
    return false;
}

int rt_calibrate(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                 const struct rt_calibrate_options *options, struct rt_calibration *out)
{
    enum rt_calibrate_from from = options->from;
    if (from == RT_FROM_EITHER)
        from = has_kernels(dataset, device) ? RT_FROM_KERNELS : RT_FROM_MODELS;
    struct rt_calibration calibration = {.device = dataset->devices[device].name,
                                         .from_kernels = from != RT_FROM_MODELS,
                                         .from_models = from != RT_FROM_KERNELS};
    struct rt_predictor copy;
    int status = check_predictor(predictor);
    if (status != RT_OK)
        return status;
    copy_effects(predictor, &copy);
    if (calibration.from_kernels)
        status = rt_calibrate_kernels(&copy, dataset, device, options, &calibration);
    if (status == RT_OK && calibration.from_models)
        status = rt_calibrate_runs(&copy, dataset, device, options, &calibration);
    if (status == RT_OK) {
        swap_effects(predictor, &copy);
        record(predictor, dataset->uuid, &calibration);
        *out = calibration;
    } else
        rt_calibration_release(&calibration);
    release_copy(&copy);
    return status;
}

void rt_calibration_release(struct rt_calibration *calibration)
{
    free(calibration->runs);
    *calibration = (struct rt_calibration){0};
}
