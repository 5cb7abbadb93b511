/* The front matter of cards. See card_parts.h. */
#include "predict/evaluate/card/card_parts.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>

#define TASK                                                                                                 \
    "tabular-regression" /* the Hub's task that is nearest: numbers of a kernel and a GPU to a time */

static void add_tags(json_t *front, bool synthetic)
{
    json_object_set_new(front, "tags",
                        json_pack("[s, s, s, s]", "gpu", "latency", "performance-modeling", "rooftile"));
    if (synthetic)
        json_array_append_new(json_object_get(front, "tags"), json_string("synthetic"));
}

/* Of `rows`, as the Hub names sizes. */
static const char *size_category(size_t rows)
{
    static const struct {
        size_t below;
        const char *name;
    } sizes[] = {{1000, "n<1K"},
                 {10000, "1K<n<10K"},
                 {100000, "10K<n<100K"},
                 {1000000, "100K<n<1M"},
                 {10000000, "1M<n<10M"}};
    for (size_t i = 0; i < RT_COUNT(sizes); i++)
        if (rows < sizes[i].below)
            return sizes[i].name;
    return "10M<n<100M";
}

static json_t *config(const char *name, const char *folder)
{
    char *path = rt_format("%s/%s.csv", folder, name);
    json_t *config = json_pack("{s:s, s:[{s:s, s:o}]}", "config_name", name, "data_files", "split", "train",
                               "path", rt_json_text(path));
    free(path);
    return config;
}

static void add_configs(json_t *front, const struct rt_dataset *dataset, const char *folder)
{
    json_t *configs = json_array();
    if (dataset->sample_count > 0)
        json_array_append_new(configs, config("samples", folder));
    if (dataset->workload_count > 0)
        json_array_append_new(configs, config("workloads", folder));
    json_array_append_new(configs, config("devices", folder));
    json_object_set_new(front, "configs", configs);
}

static bool is_synthetic(const struct rt_dataset *dataset)
{
    for (size_t i = 0; i < dataset->sample_count; i++)
        if (dataset->samples[i].flags & RT_FLAG_SYNTHETIC)
            return true;
    for (size_t i = 0; i < dataset->workload_count; i++)
        if (dataset->workloads[i].flags & RT_FLAG_SYNTHETIC)
            return true;
    return false;
}

json_t *rt_front_of_dataset(const struct rt_dataset *dataset, const char *title, const char *licence,
                            const struct rt_card_options *options)
{
    json_t *front = json_object();
    json_object_set_new(front, "pretty_name", rt_json_text(title));
    rt_licence_set(front, licence);
    json_object_set_new(front, "task_categories", json_pack("[s]", TASK));
    add_tags(front, is_synthetic(dataset));
    json_object_set_new(front, "size_categories",
                        json_pack("[s]", size_category(dataset->sample_count + dataset->workload_count)));
    if (options->csv != NULL)
        add_configs(front, dataset, options->csv);
    return front;
}

json_t *rt_front_result(const char *dataset, const char *split, const char *what, double mape)
{
    char *name = rt_format("MAPE of %s, percent", what);
    json_t *result = json_pack("{s:{s:s, s:s}, s:{s:s, s:o, s:o}, s:[{s:s, s:o, s:o}]}", "task", "type", TASK,
                               "name", "forecasting of latencies", "dataset", "type", "rooftile", "name",
                               rt_json_text(dataset), "split", rt_json_text(split), "metrics", "type", "mape",
                               "value", rt_json_number(mape), "name", rt_json_text(name));
    free(name);
    return result;
}

json_t *rt_front_of_predictor(const char *title, const char *licence, const struct rt_card_options *options,
                              json_t *results)
{
    json_t *front = json_object();
    rt_licence_set(front, licence);
    json_object_set_new(front, "library_name", json_string("rooftile"));
    json_object_set_new(front, "pipeline_tag", json_string(TASK));
    add_tags(front, false);
    if (options->hub_datasets.count > 0) {
        json_t *datasets = json_array();
        for (size_t i = 0; i < options->hub_datasets.count; i++)
            json_array_append_new(datasets, rt_json_text(options->hub_datasets.name[i]));
        json_object_set_new(front, "datasets", datasets);
    }
    json_object_set_new(front, "metrics", json_pack("[s]", "mape"));
    if (json_array_size(results) > 0)
        json_object_set_new(front, "model-index",
                            json_pack("[{s:o, s:O}]", "name", rt_json_text(title), "results", results));
    json_decref(results);
    return front;
}
