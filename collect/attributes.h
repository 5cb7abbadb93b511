/*
 * Named attributes as they are gathered, before they become a group of a dataset; and what a collection says
 * of itself in them.
 */
#ifndef ROOFTILE_COLLECT_ATTRIBUTES_H
#define ROOFTILE_COLLECT_ATTRIBUTES_H

#include "collect/collect.h"

struct rt_attributes { /* an empty list is {0} */
    size_t count;
    char **name, **value;
};

void rt_attributes_add(struct rt_attributes *attributes, const char *name, const char *value);
void rt_attributes_add_number(struct rt_attributes *attributes, const char *name, double value);
/* Takes the last ones away until `count` are left. */
void rt_attributes_tiling(struct rt_attributes *attributes, size_t count);
void rt_attributes_release(struct rt_attributes *attributes);
const char *rt_attributes_get(const struct rt_attributes *attributes, const char *name); /* NULL: none */

/* Index of the dataset's group with these attributes, added where it is new. */
int32_t rt_attributes_group(const struct rt_attributes *attributes, struct rt_dataset *dataset);

/* What holds for every sample of a collection. */
void rt_collection_attributes(const struct rt_backend *backend, const struct rt_plan *plan,
                              const struct rt_collect_options *options, struct rt_attributes *out);
/* What only its header says: samples of shards are those of the whole. */
void rt_header_attributes(const struct rt_collect_options *options, struct rt_attributes *out);

/* Attributes of the header that must be the same for a collection to go on. NULL-terminated. */
extern const char *const rt_identity[];

#endif
