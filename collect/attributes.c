/* Lists of named texts. See attributes.h. */
#include "collect/attributes.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rt_attributes_add(struct rt_attributes *attributes, const char *name, const char *value)
{
    size_t at = attributes->count++;
    attributes->name = rt_realloc(attributes->name, attributes->count, sizeof *attributes->name);
    attributes->value = rt_realloc(attributes->value, attributes->count, sizeof *attributes->value);
    attributes->name[at] = rt_strdup(name);
    attributes->value[at] = rt_strdup(value);
}

void rt_attributes_add_number(struct rt_attributes *attributes, const char *name, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.15g", value);
    rt_attributes_add(attributes, name, text);
}

void rt_attributes_add_all(struct rt_attributes *attributes, const struct rt_attributes *others)
{
    for (size_t i = 0; i < others->count; i++)
        rt_attributes_add(attributes, others->name[i], others->value[i]);
}

void rt_attributes_release(struct rt_attributes *attributes)
{
    for (size_t i = 0; i < attributes->count; i++) {
        free(attributes->name[i]);
        free(attributes->value[i]);
    }
    free(attributes->name);
    free(attributes->value);
    *attributes = (struct rt_attributes){0};
}

const char *rt_attributes_get(const struct rt_attributes *attributes, const char *name)
{
    for (size_t i = 0; i < attributes->count; i++)
        if (strcmp(attributes->name[i], name) == 0)
            return attributes->value[i];
    return NULL;
}

int32_t rt_attributes_group(const struct rt_attributes *attributes, struct rt_dataset *dataset)
{
    return rt_dataset_add_group(dataset, attributes->count, (const char *const *)attributes->name,
                                (const char *const *)attributes->value);
}
