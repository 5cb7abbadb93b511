/* Reading several datasets as one. See dataset_input.h. */
#include "datasets/dataset_input.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void note_file(const char *path, const struct rt_dataset *from, struct rt_dataset_input *input)
{
    input->files = rt_realloc(input->files, input->file_count + 1, sizeof *input->files);
    input->files[input->file_count++] = (struct rt_dataset_file){.path = path,
                                                                 .uuid = rt_strdup(from->uuid),
                                                                 .source = rt_strdup(from->source),
                                                                 .licence = rt_strdup(from->licence),
                                                                 .samples = from->samples.count,
                                                                 .workloads = from->workload_count};
}

static void add_line(char **lines, const char *more)
{
    char *longer = rt_format("%s\n%s", *lines, more);
    free(*lines);
    *lines = longer;
}

static int append(struct rt_dataset *whole, const struct rt_dataset *next)
{
    add_line(&whole->uuid, next->uuid);
    add_line(&whole->source, next->source);
    add_line(&whole->licence, next->licence);
    return rt_dataset_append(whole, next);
}

/* A GPU that an earlier file describes otherwise (sources differ in boost clocks and in what they call a
 * multiprocessor) is that of the earlier file, as in an import. */
static void describe_alike(const char *path, const struct rt_dataset *whole, struct rt_dataset *next)
{
    for (size_t d = 0; d < next->device_count; d++) {
        int32_t there = rt_dataset_find_device(whole, next->devices[d].name);
        if (there < 0 || rt_device_same(&whole->devices[there], &next->devices[d]))
            continue;
        rt_warn("%s: %s; the first file's numbers are used", path, rt_error());
        struct rt_device first = whole->devices[there];
        rt_device_fill(&first, &next->devices[d]);
        next->devices[d] = first;
    }
}

static void note_end(struct rt_dataset *dataset)
{
    dataset->file_end = rt_realloc(dataset->file_end, dataset->file_count + 1, sizeof *dataset->file_end);
    dataset->file_end[dataset->file_count++] = dataset->samples.count;
}

/* Appends a file to the input and keeps where it comes from; the first one is taken as it is. */
static int read_file(const char *path, struct rt_dataset_input *input)
{
    struct rt_dataset next;
    int status = rt_dataset_read(path, &next);
    if (status != RT_OK)
        return status;
    note_file(path, &next, input);
    if (input->file_count == 1) {
        rt_dataset_release(&input->dataset);
        input->dataset = next;
        note_end(&input->dataset);
        return RT_OK;
    }
    describe_alike(path, &input->dataset, &next);
    if ((status = append(&input->dataset, &next)) != RT_OK)
        rt_fail_context(status, "%s", path);
    note_end(&input->dataset);
    rt_dataset_release(&next);
    return status;
}

void rt_dataset_input_release(struct rt_dataset_input *input)
{
    for (size_t f = 0; f < input->file_count; f++) {
        free(input->files[f].uuid);
        free(input->files[f].source);
        free(input->files[f].licence);
    }
    free(input->files);
    rt_dataset_release(&input->dataset);
}

int rt_dataset_input_read(const struct rt_names *paths, struct rt_dataset_input *out)
{
    int status = RT_OK;
    *out = (struct rt_dataset_input){.file_count = 0};
    rt_dataset_init(&out->dataset);
    for (size_t i = 0; status == RT_OK && i < paths->count; i++)
        status = read_file(paths->name[i], out);
    if (status == RT_OK && paths->count > 1)
        out->duplicates = rt_dataset_drop_duplicates(&out->dataset);
    return status;
}

/* ---- devices of a list ---- */

size_t rt_devices_named(const struct rt_dataset *dataset, const char *name, bool *devices, bool *exact)
{
    int32_t device = rt_dataset_find_device(dataset, name);
    size_t count = 0;
    if (exact != NULL)
        *exact = device >= 0;
    for (size_t d = 0; d < dataset->device_count; d++)
        if (device >= 0 ? (size_t)device == d : rt_name_has_words(dataset->devices[d].name, name)) {
            devices[d] = true;
            count++;
        }
    return count;
}

char *rt_devices_list(const struct rt_dataset *dataset, const bool *devices)
{
    struct rt_text text = {0};
    size_t left = 0;
    for (size_t d = 0; d < dataset->device_count; d++)
        left += devices == NULL || devices[d];
    if (left == 0)
        rt_text_add(&text, "none");
    for (size_t d = 0; d < dataset->device_count; d++)
        if (devices == NULL || devices[d])
            rt_text_item(&text, --left > 0 ? ", " : " and ", "%s", dataset->devices[d].name);
    return rt_text_take(&text);
}

/* One name. */
static int choose(const struct rt_dataset *dataset, const char *option, const char *name, bool *devices)
{
    bool exact, *found = rt_calloc(dataset->device_count + 1, sizeof *found);
    size_t count = rt_devices_named(dataset, name, found, &exact);
    char *list = rt_devices_list(dataset, count > 0 ? found : NULL);
    int status = RT_OK;
    if (count == 0)
        status = rt_fail(RT_ENOTFOUND,
                         "%s %s: no device of the data has that name, or those words in it; it has %s",
                         option, name, list);
    else if (!exact)
        rt_note("%s %s: %s", option, name, list);
    for (size_t d = 0; d < dataset->device_count; d++)
        devices[d] |= found[d];
    free(list);
    free(found);
    return status;
}

int rt_devices_choose(const struct rt_dataset *dataset, const char *option, const struct rt_names *names,
                      bool *devices)
{
    for (size_t i = 0; i < names->count; i++) {
        int status = choose(dataset, option, names->name[i], devices);
        if (status != RT_OK)
            return status;
    }
    return RT_OK;
}
