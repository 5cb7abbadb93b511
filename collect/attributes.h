/* A list of named texts, before it becomes a group of a dataset. */
#ifndef ROOFTILE_COLLECT_ATTRIBUTES_H
#define ROOFTILE_COLLECT_ATTRIBUTES_H

#include "datasets/dataset.h"

struct rt_attributes { /* an empty list is {0} */
    size_t count;
    char **name, **value;
};

void rt_attributes_add(struct rt_attributes *attributes, const char *name, const char *value);
void rt_attributes_add_number(struct rt_attributes *attributes, const char *name, double value);
void rt_attributes_add_all(struct rt_attributes *attributes, const struct rt_attributes *others);
void rt_attributes_release(struct rt_attributes *attributes);
const char *rt_attributes_get(const struct rt_attributes *attributes, const char *name); /* NULL: none */

/* Index of the dataset's group with these attributes, added where it is new. */
int32_t rt_attributes_group(const struct rt_attributes *attributes, struct rt_dataset *dataset);

#endif
