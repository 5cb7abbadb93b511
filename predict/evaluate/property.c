/* Properties of kernels and of runs. See property.h. */
#include "predict/evaluate/property.h"
#include "base/status.h"
#include "predict/evaluate/workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernels ---- */

static const char *kind_of(const struct rt_call *call)
{
    const int64_t *d = call->dim;
    if (call->op != RT_OP_CONV2D)
        return "";
    if (d[RT_CONV_GROUPS] > 1)
        return d[RT_CONV_GROUPS] == d[RT_CONV_IN] ? "depthwise" : "grouped";
    if (d[RT_CONV_IN] <= 8)
        return "first";
    if (d[RT_CONV_STRIDE] > 1 || rt_conv_stride_w(d) > 1)
        return "strided";
    if (d[RT_CONV_KERNEL_H] != d[RT_CONV_KERNEL_W] || d[RT_CONV_KERNEL_H] > 3 || d[RT_CONV_KERNEL_H] == 2)
        return "other";
    return d[RT_CONV_KERNEL_H] == 1 ? "1x1" : "3x3";
}

static int find_dim(const struct rt_call *call, const char *name)
{
    for (int d = 0; d < rt_op_ndims(call->op); d++)
        if (strcmp(rt_ops[call->op].dims[d], name) == 0)
            return d;
    return -1;
}

/* The value of a property as text, "" where the sample has none: gpu, dtype, phase; kind, of convolutions:
 * the first of depthwise, grouped, first (up to 8 channels), strided, 1x1, 3x3, other; a dim of its op; an
 * attribute of its group. */
static void kernel_property(const struct rt_dataset *dataset, const struct rt_sample *sample,
                            const char *grade, const char *name, char *out, size_t size)
{
    const struct rt_call *call = &sample->call;
    const struct {
        const char *name, *text;
    } own[] = {{"gpu", dataset->devices[sample->device].name},
               {"dtype", rt_dtypes[call->dtype].name},
               {"phase", rt_phases[call->phase]},
               {"kind", kind_of(call)},
               {"grade", grade}};
    const char *text = rt_dataset_attribute(dataset, sample->group, name);
    for (size_t i = 0; i < RT_COUNT(own); i++)
        if (strcmp(own[i].name, name) == 0)
            text = own[i].text;
    int dim = find_dim(call, name);
    if (text == NULL && dim >= 0)
        snprintf(out, size, "%" PRId64, call->dim[dim]);
    else
        snprintf(out, size, "%s", text != NULL ? text : "");
}

void rt_kernel_properties(const struct rt_dataset *dataset, const struct rt_sample *sample, const char *grade,
                          const char *names, char *out, size_t size)
{
    char *list = rt_strdup(names), *rest = NULL, value[160];
    size_t length = 0;
    out[0] = '\0';
    for (char *name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        kernel_property(dataset, sample, grade, name, value, sizeof value);
        if (value[0] != '\0' && length < size)
            length += (size_t)snprintf(out + length, size - length, "%s%s", length > 0 ? " " : "", value);
    }
    free(list);
}

static bool some_has(const struct rt_dataset *dataset, const char *name)
{
    char value[160] = "";
    for (size_t i = 0; value[0] == '\0' && i < dataset->samples.count; i++)
        kernel_property(dataset, RT_SAMPLE(dataset, i), "any", name, value, sizeof value);
    return value[0] != '\0';
}

int rt_kernel_properties_check(const struct rt_dataset *dataset, const struct rt_names *by)
{
    int status = RT_OK;
    for (size_t b = 0; status == RT_OK && b < by->count; b++) {
        char *list = rt_strdup(by->name[b]), *rest = NULL, *name = strtok_r(list, ",", &rest);
        if (name == NULL)
            status = rt_fail(RT_ENOTFOUND, "{by} is empty; name a property such as phase");
        for (; status == RT_OK && name != NULL; name = strtok_r(NULL, ",", &rest))
            if (!some_has(dataset, name))
                status = rt_fail(RT_ENOTFOUND,
                                 "{by} %s: no kernel has a property, dim or attribute of that name; gpu, "
                                 "dtype, phase, grade and kind (of "
                                 "convolutions) are some",
                                 name);
        free(list);
    }
    return status;
}

/* ---- runs ---- */

void rt_run_property(const struct rt_dataset *dataset, const struct rt_workload *workload, const char *name,
                     char *out, size_t size)
{
    const struct rt_workload_name texts = rt_workload_name(dataset, workload);
    const char *attribute = rt_dataset_attribute(dataset, workload->group, name);
    const struct {
        const char *name, *text;
        int64_t number; /* where text is NULL */
    } own[] = {{"gpu", texts.device, 0},         {"model", texts.model, 0},
               {"batch", NULL, workload->batch}, {"seq", NULL, workload->sequence},
               {"option", texts.option, 0},      {"dtype", rt_dtypes[workload->dtype].name, 0}};
    snprintf(out, size, "%s", attribute != NULL ? attribute : "");
    for (size_t i = 0; i < RT_COUNT(own); i++)
        if (strcmp(own[i].name, name) == 0 && own[i].text != NULL)
            snprintf(out, size, "%s", own[i].text);
        else if (strcmp(own[i].name, name) == 0)
            snprintf(out, size, "%" PRId64, own[i].number);
}

void rt_run_properties(const struct rt_dataset *dataset, const struct rt_workload *workload,
                       const struct rt_names *names, char *out, size_t size)
{
    char value[160];
    size_t length = 0;
    out[0] = '\0';
    for (size_t n = 0; n < names->count && length < size; n++) {
        rt_run_property(dataset, workload, names->name[n], value, sizeof value);
        length += (size_t)snprintf(out + length, size - length, "%s%s", length > 0 ? " " : "", value);
    }
}

struct rt_names rt_run_property_names(char *list)
{
    struct rt_names names = {0};
    char *save = NULL;
    for (char *name = strtok_r(list, ",", &save); name != NULL; name = strtok_r(NULL, ",", &save))
        rt_names_add(&names, name);
    return names;
}
