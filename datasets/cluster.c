/* Servers beside each other. See cluster.h. */
#include "datasets/cluster.h"
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "datasets/designs.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SERVER, NETWORK, LEVELS };

struct rt_cluster rt_cluster_settled(const struct rt_cluster *cluster, const struct rt_device *device)
{
    struct rt_cluster settled = *cluster;
    if (settled.node_gpus < 1)
        settled.node_gpus = rt_device_node_gpus(device);
    if (!(settled.node_gbs > 0))
        settled.node_gbs = device != NULL ? rt_design_of(device)->nic_gbs : NAN;
    if (settled.network == RT_NETWORK_OWN)
        settled.network = RT_NETWORK_INFINIBAND;
    if (!(settled.oversubscription >= 1))
        settled.oversubscription = 1;
    return settled;
}

/* ---- files ---- */

static int find_name(const char *text, const char *const *names, int count, const char *where, int *out)
{
    struct rt_text known = {0};
    for (int i = 0; i < count; i++) {
        rt_text_item(&known, ", ", "%s", names[i]);
        if (text != NULL && strcmp(names[i], text) == 0)
            *out = i;
    }
    int status = *out >= 0 ? RT_OK
                           : rt_fail(RT_EFORMAT, "%s: \"name\" is \"%.40s\"; it must be one of %s", where,
                                     text != NULL ? text : "", known.text);
    rt_text_release(&known);
    return status;
}

/* "nvlink" is a switch. */
static int read_name(const json_t *value, int level, const char *where, struct rt_cluster_file *out)
{
    const char *text = json_string_value(value);
    int place = -1;
    if (level == SERVER && text != NULL && strcmp(text, "nvlink") == 0)
        text = rt_fabrics[RT_FABRIC_SWITCH];
    int status = level == SERVER ? find_name(text, rt_fabrics, RT_FABRIC_COUNT, where, &place)
                                 : find_name(text, rt_networks, RT_NETWORK_COUNT, where, &place);
    if (status != RT_OK)
        return status;
    if (level == SERVER)
        out->fabric = (enum rt_fabric)place;
    else
        out->cluster.network = (enum rt_network)place;
    return RT_OK;
}

static int read_number(const json_t *value, const char *key, double least, double most, const char *where,
                       double *out)
{
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= least && number <= most))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a number in %g..%g", where, key, least, most);
    *out = number;
    return RT_OK;
}

static int read_gpus(const json_t *value, const char *where, struct rt_cluster *out)
{
    double gpus = 0;
    int status = read_number(value, "gpus", 1, 65536, where, &gpus);
    if (status == RT_OK && gpus != floor(gpus))
        status = rt_fail(RT_EFORMAT, "%s: \"gpus\" must be a whole number", where);
    out->node_gpus = (int64_t)gpus;
    return status;
}

static int read_member(const char *key, const json_t *value, int level, const char *where,
                       struct rt_cluster_file *out)
{
    if (strcmp(key, "name") == 0)
        return read_name(value, level, where, out);
    if (level == SERVER && strcmp(key, "gpus") == 0)
        return read_gpus(value, where, &out->cluster);
    if (strcmp(key, "gbs_per_gpu") == 0)
        return read_number(value, key, 0.01, 1e5, where,
                           level == SERVER ? &out->link_gbs : &out->cluster.node_gbs);
    if (level == NETWORK && strcmp(key, "oversubscription") == 0)
        return read_number(value, key, 1, 1e3, where, &out->cluster.oversubscription);
    return rt_fail(RT_EFORMAT,
                   "%s: \"%.40s\" is nothing that this level has; there are name, gbs_per_gpu and %s", where,
                   key, level == SERVER ? "gpus" : "oversubscription");
}

static int read_level(json_t *root, int level, const char *path, struct rt_cluster_file *out)
{
    char *where =
        rt_format("%s: level %d, %s", path, level + 1, level == SERVER ? "a server" : "between servers");
    int status = json_is_object(root) ? RT_OK : rt_fail(RT_EFORMAT, "%s: must be an object", where);
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value)
    {
        if (status == RT_OK)
            status = read_member(key, value, level, where, out);
    }
    if (status == RT_OK && level == SERVER && out->cluster.node_gpus < 1)
        status = rt_fail(RT_EFORMAT, "%s: \"gpus\" is missing: how many one server has", where);
    free(where);
    return status;
}

static int read_levels(const json_t *root, const char *path, struct rt_cluster_file *out)
{
    json_t *levels = json_object_get(root, "levels");
    size_t count = json_array_size(levels);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)root, key, value)
    {
        if (strcmp(key, "name") != 0 && strcmp(key, "note") != 0 && strcmp(key, "levels") != 0)
            return rt_fail(RT_EFORMAT,
                           "%s: \"%.40s\" is nothing that a cluster has; there are name, note, levels", path,
                           key);
    }
    if (count < 1 || count > LEVELS)
        return rt_fail(
            RT_EFORMAT,
            "%s: \"levels\" must be a list of one or two: a server, and what joins servers, such as "
            "[{\"name\": \"switch\", \"gpus\": 8}, {\"name\": \"infiniband\", \"gbs_per_gpu\": 50}]",
            path);
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < count; i++)
        status = read_level(json_array_get(levels, i), (int)i, path, out);
    return status;
}

int rt_cluster_read(const char *path, struct rt_cluster_file *out)
{
    struct rt_cluster_file found = {.cluster = RT_CLUSTER_NONE, .link_gbs = NAN};
    json_error_t error;
    char *text;
    size_t size;
    int status = rt_file_read(path, 1 << 20, &text, &size);
    if (status != RT_OK)
        return status;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (root == NULL)
        return rt_fail(RT_EFORMAT, "%s:%d:%d: not JSON: %s", path, error.line, error.column, error.text);
    status = read_levels(root, path, &found);
    json_decref(root);
    if (status == RT_OK)
        *out = found;
    return status;
}
