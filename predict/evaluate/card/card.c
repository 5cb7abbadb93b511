/* What all cards have. See card.h. */
#include "predict/evaluate/card/card.h"
#include "base/status.h"
#include "base/table.h"
#include "base/text.h"
#include "base/version.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- licences by their names on the Hub ---- */

/* clang-format off */
static const char *const known[] = {
    "apache-2.0", "mit", "bsd-2-clause", "bsd-3-clause", "cc0-1.0", "cc-by-3.0", "cc-by-4.0",
    "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0", "cc-by-nc-nd-4.0",
    "odc-by", "odbl", "pddl", "cdla-permissive-1.0", "cdla-permissive-2.0", "cdla-sharing-1.0", "gpl-2.0",
    "gpl-3.0", "lgpl-2.1", "lgpl-3.0", "agpl-3.0", "mpl-2.0", "isc", "unlicense", "zlib", "bsl-1.0",
};
/* clang-format on */

/* The name of the licence that the line begins with, NULL where the Hub has none. */
static const char *find(const char *line, size_t length)
{
    for (size_t i = 0; i < RT_COUNT(known); i++) {
        size_t name = strlen(known[i]);
        if (length >= name && strncasecmp(line, known[i], name) == 0 &&
            (length == name || (!isalnum((unsigned char)line[name]) && strchr("-.", line[name]) == NULL)))
            return known[i];
    }
    return NULL;
}

/* A name for a licence of one's own: letters, digits and dashes. Free with free(). */
static char *own_name(const char *line, size_t length)
{
    char *name = rt_format("%.*s", (int)length, line);
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        bool letter = isalnum((unsigned char)line[i]) || line[i] == '.';
        if (letter || (count > 0 && name[count - 1] != '-'))
            name[count++] = letter ? (char)tolower((unsigned char)line[i]) : '-';
    }
    while (count > 0 && name[count - 1] == '-')
        count--;
    name[count] = '\0';
    return name;
}

static void add_once(json_t *names, const char *name)
{
    size_t i;
    json_t *there;
    json_array_foreach(names, i, there) if (strcmp(json_string_value(there), name) == 0) return;
    json_array_append_new(names, json_string(name));
}

static void set_other(json_t *front, const char *line, size_t length)
{
    char *name = own_name(line, length);
    json_object_set_new(front, "license", json_string("other"));
    json_object_set_new(front, "license_name", rt_json_text(name[0] != '\0' ? name : "own"));
    free(name);
}

void rt_licence_set(json_t *front, const char *lines)
{
    json_t *names = json_array();
    const char *strange = NULL;
    for (const char *line = lines; *line != '\0';) {
        size_t length = strcspn(line, "\n;");
        const char *name = find(line, length);
        if (name != NULL)
            add_once(names, name);
        else if (length > 0 && strange == NULL)
            strange = line;
        line += length;
        line += strspn(line, "\n; ");
    }
    if (strange != NULL)
        set_other(front, strange, strcspn(strange, "\n;"));
    else if (json_array_size(names) > 0)
        json_object_set(front, "license", json_array_size(names) > 1 ? names : json_array_get(names, 0));
    json_decref(names);
}

/* ---- citations ---- */

static const struct {
    const char *mark; /* in the words of a source */
    const char *entry;
} sources_known[] = {
    {"sitar-lab/NeuSight",
     "@inproceedings{neusight,\n"
     "  title = {Forecasting {GPU} Performance for Deep Learning Training and Inference},\n"
     "  author = {Lee, Seonho and Phanishayee, Amar and Mahajan, Divya},\n"
     "  booktitle = {ASPLOS},\n"
     "  year = {2025}\n"
     "}\n"},
    {"ai-dynamo/aiconfigurator", "@misc{aiconfigurator,\n"
                                 "  title = {{AIConfigurator}},\n"
                                 "  author = {{NVIDIA CORPORATION \\& AFFILIATES}},\n"
                                 "  howpublished = {repository ai-dynamo/aiconfigurator}\n"
                                 "}\n"},
    {"microsoft/vidur", "@inproceedings{vidur,\n"
                        "  title = {Vidur: A Large-Scale Simulation Framework for {LLM} Inference},\n"
                        "  author = {Agrawal, Amey and others},\n"
                        "  booktitle = {MLSys},\n"
                        "  year = {2024}\n"
                        "}\n"},
    {"baidu-research/DeepBench", "@misc{deepbench,\n"
                                 "  title = {{DeepBench}},\n"
                                 "  author = {{Baidu Research}},\n"
                                 "  howpublished = {repository baidu-research/DeepBench}\n"
                                 "}\n"},
    {"zksainx/pipeweave", "@misc{pipeweave,\n"
                          "  title = {{PipeWeave}},\n"
                          "  howpublished = {repository zksainx/pipeweave}\n"
                          "}\n"},
    {"ml-energy/zeus",
     "@inproceedings{zeus,\n"
     "  title = {Zeus: Understanding and Optimizing {GPU} Energy Consumption of {DNN} Training},\n"
     "  author = {You, Jie and Chung, Jae-Won and Chowdhury, Mosharaf},\n"
     "  booktitle = {NSDI},\n"
     "  year = {2023}\n"
     "}\n"},
    {"ml-energy/leaderboard", "@misc{mlenergy,\n"
                              "  title = {The {ML.ENERGY} Leaderboard},\n"
                              "  howpublished = {repository ml-energy/leaderboard-v2}\n"
                              "}\n"},
    {"splitwise", "@inproceedings{splitwise,\n"
                  "  title = {Splitwise: Efficient Generative {LLM} Inference Using Phase Splitting},\n"
                  "  author = {Patel, Pratyush and others},\n"
                  "  booktitle = {ISCA},\n"
                  "  year = {2024}\n"
                  "}\n"},
};

char *rt_citations(const char *sources, const char *own)
{
    struct rt_text text = {0};
    rt_text_add(&text, "@software{rooftile,\n"
                       "  title = {rooftile: forecasts of how long deep-learning work takes on {GPUs}},\n"
                       "  author = {{The rooftile authors}},\n"
                       "  version = {" RT_VERSION "},\n"
                       "  year = {2026},\n"
                       "  note = {MIT licence}\n"
                       "}\n");
    for (size_t i = 0; i < RT_COUNT(sources_known); i++)
        if (strstr(sources, sources_known[i].mark) != NULL)
            rt_text_add(&text, "%s", sources_known[i].entry);
    if (own != NULL)
        rt_text_add(&text, "%s\n", own);
    return rt_text_take(&text);
}

/* ---- front matter ---- */

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
    if (dataset->samples.count > 0)
        json_array_append_new(configs, config("samples", folder));
    if (dataset->workload_count > 0)
        json_array_append_new(configs, config("workloads", folder));
    json_array_append_new(configs, config("devices", folder));
    json_object_set_new(front, "configs", configs);
}

static bool is_synthetic(const struct rt_dataset *dataset)
{
    for (size_t i = 0; i < dataset->samples.count; i++)
        if (RT_SAMPLE(dataset, i)->flags & RT_FLAG_SYNTHETIC)
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
                        json_pack("[s]", size_category(dataset->samples.count + dataset->workload_count)));
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

/* ---- words ---- */

char *rt_card_names(const char *const *names, size_t count, size_t shown)
{
    struct rt_text words = {0};
    for (size_t i = 0; i < count && i < shown; i++)
        rt_text_item(&words, i + 1 == count ? " and " : ", ", "%s", names[i]);
    if (count > shown)
        rt_text_add(&words, " and %zu more", count - shown);
    return rt_text_take(&words);
}

char *rt_card_shell_word(const char *word)
{
    struct rt_text quoted = {0};
    bool plain = word[0] != '\0' && word[0] != '-';
    for (const char *at = word; plain && *at != '\0'; at++)
        plain = isalnum((unsigned char)*at) || strchr("-_./=:,+@%", *at) != NULL;
    if (plain)
        return rt_strdup(word);
    rt_text_add(&quoted, "'");
    for (const char *at = word; *at != '\0'; at++)
        rt_text_add(&quoted, *at == '\'' ? "'\\%c'" : "%c", *at);
    rt_text_add(&quoted, "'");
    return rt_text_take(&quoted);
}

void rt_card_add_end(struct rt_report *report, const struct rt_card_options *options, const char *sources)
{
    char *citations = rt_citations(sources, options->citation);
    rt_report_add_heading(report, "How to cite");
    rt_report_add_paragraph(report, "%s",
                            options->citation != NULL
                                ? "These, and the sources named above:"
                                : "These, the sources named above, and whoever measured what this rests on:");
    rt_report_add_lines(report, citations);
    if (options->notes != NULL)
        rt_report_add_markdown(report, options->notes);
    free(citations);
}
