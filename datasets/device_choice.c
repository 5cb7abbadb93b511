/* Devices by what a user wrote. See device_choice.h. */
#include "datasets/device_choice.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

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
