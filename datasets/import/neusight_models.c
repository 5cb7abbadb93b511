/*
 * NeuSight's labels: a JSON file per run of a whole model, and beside most of them a CSV file of the same
 * stem with the same run node by node. A label becomes a workload, the sums over its nodes its additive
 * floor.
 */
#include "datasets/import/neusight.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- nodes ---- */

bool rt_neusight_has_nodes(const struct rt_csv *csv)
{
    static const char *const columns[] = {"op", "Name", "fw_latency", "bw_latency", "acc_latency", NULL};
    return rt_csv_has(csv, columns);
}

/* Most models were traced with one layer, from the first to the last of these nodes, which counts once per
 * layer (neusight/Prediction/aggregator.py). Other models were traced as a whole. */
static const struct layer {
    const char *model; /* part of the model's name, in any case; the first row that fits is used */
    const char *first, *last;
} traced_layers[] = {
    {"bert", "bert_encoder_layer_0_attention_self_query", "bert_encoder_layer_0_output_layer_norm"},
    {"gpt", "transformer_h_0_ln_1", "add_15"},
    {"opt", "model_decoder_layers_0_self_attn_layer_norm", "view_11"},
};

static const struct layer *layer_of(const struct rt_import_file *file, const struct rt_workload *workload)
{
    const char *model = rt_strings_get(&file->data.texts, workload->model);
    if (workload->layers < 1) /* the label does not say how many there are */
        return NULL;
    for (size_t i = 0; i < RT_COUNT(traced_layers); i++)
        if (strcasestr(model, traced_layers[i].model) != NULL)
            return &traced_layers[i];
    return NULL;
}

/* Adds a node's latency, `times` over, to *sum_ms. */
static int add_node(const struct rt_csv *csv, const struct rt_csv_field *row, const char *column,
                    double times, double *sum_ms)
{
    const struct rt_csv_field *field = &row[rt_csv_find(csv, column)];
    double value;
    if (rt_parse_real(field->text, field->length, &value) != 0 || value < 0 ||
        (value > 0 && !rt_time_is_possible(1000 * value)))
        return rt_csv_fail_cell(csv, column, field, "a latency in ms");
    *sum_ms += times * value;
    return RT_OK;
}

/* Every node counts, also those that launch no kernel (size, getitem, view: 0.01 ms of the host), as in the
 * published sums. */
static int sum_nodes(struct rt_csv *csv, const struct layer *layer, double layers,
                     struct rt_workload *workload)
{
    enum { BEFORE, WITHIN, BEHIND } at = BEFORE;
    const struct rt_csv_field *row;
    double forward_ms = 0, backward_ms = 0;
    int got, status, name = rt_csv_find(csv, "Name");
    while ((got = rt_csv_next(csv, &row)) == RT_CSV_ROW) {
        if (layer != NULL && at == BEFORE && strcmp(row[name].text, layer->first) == 0)
            at = WITHIN;
        double times = at == WITHIN ? layers : 1;
        if ((status = add_node(csv, row, "fw_latency", times, &forward_ms)) != RT_OK ||
            (status = add_node(csv, row, "bw_latency", times, &backward_ms)) != RT_OK ||
            (status = add_node(csv, row, "acc_latency", times, &backward_ms)) != RT_OK)
            return status;
        if (at == WITHIN && strcmp(row[name].text, layer->last) == 0)
            at = BEHIND;
    }
    if (got != RT_CSV_END)
        return RT_EFORMAT;
    if (layer != NULL && at != BEHIND)
        return rt_fail(RT_EFORMAT,
                       "%s: its label says %.0f layers, but no rows from \"%s\" to \"%s\" delimit a layer",
                       rt_csv_path(csv), layers, layer->first, layer->last);
    if (!(forward_ms > 0))
        return rt_fail(RT_EFORMAT, "%s: no node has a fw_latency above 0", rt_csv_path(csv));
    workload->kernels_forward_us = 1000 * forward_ms;
    workload->kernels_backward_us = backward_ms > 0 ? 1000 * backward_ms : NAN; /* 0: none ran */
    return RT_OK;
}

/* Adds the sums over the nodes, from the CSV file beside a label. Where that file is wrong it is skipped and
 * the label kept. Where it cannot be opened or holds something else, reading it as a file of its own reports
 * that. */
static void add_nodes(struct rt_import_file *file, struct rt_workload *workload)
{
    const char *path = rt_import_file_beside(file, ".csv");
    struct rt_csv *csv = NULL;
    if (path == NULL || rt_csv_open(path, &csv) != RT_OK || !rt_neusight_has_nodes(csv))
        rt_import_file_is(file, "labels of models that were not measured node by node");
    else if (sum_nodes(csv, layer_of(file, workload), (double)workload->layers, workload) != RT_OK)
        rt_import_file_skip(file);
    else
        file->report.bytes = (double)rt_csv_bytes(csv);
    rt_csv_close(csv);
}

/* ---- labels ---- */

/* "gpt2_large-train-1024-4-dp4.json": model, mode, sequence, batch, option. */
static int workload_of_name(struct rt_import_file *file, const char *name, struct rt_workload *workload)
{
    static const char *const modes[] = {[RT_INFERENCE] = "-inf-", [RT_TRAINING] = "-train-"};
    int end = 0;
    for (size_t mode = 0; mode < RT_COUNT(modes); mode++) {
        const char *at = strstr(name, modes[mode]);
        long long sequence, batch;
        if (at == NULL || at == name ||
            sscanf(at + strlen(modes[mode]), "%9lld-%9lld%n", &sequence, &batch, &end) < 2 || sequence < 1 ||
            batch < 1)
            continue;
        const char *option = at + strlen(modes[mode]) + end;
        size_t length = strlen(option) - strlen(".json");
        if (length > 0 && *option != '-')
            continue;
        workload->mode = (uint8_t)mode;
        workload->sequence = sequence;
        workload->batch = batch;
        workload->model = rt_strings_add(&file->data.texts, name, (size_t)(at - name));
        workload->option = rt_strings_add(&file->data.texts, option + (length > 0), length - (length > 0));
        return RT_OK;
    }
    return rt_fail(RT_EFORMAT,
                   "%s: a label's name must be <model>-<inf or train>-<sequence>-<batch>[-option].json",
                   file->path);
}

/* A latency of a label in us; NaN where it is missing or 0, which is how labels say that nothing ran. */
static int label_time(const struct rt_import_file *file, json_t *root, const char *key, bool required,
                      double *out)
{
    json_t *value = json_object_get(root, key);
    double time = json_is_number(value) ? json_number_value(value) : NAN;
    if ((value != NULL && !json_is_number(value)) ||
        (time != 0 && !isnan(time) && !rt_time_is_possible(1000 * time)) || (required && !(time > 0)))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a latency in ms%s, 1 ns to a day", file->path, key,
                       required ? " above 0" : "");
    *out = time > 0 ? time * 1000 : NAN;
    return RT_OK;
}

static int32_t label_device(struct rt_import_file *file)
{
    const char *name = strrchr(file->path, '/'), *folder = name;
    while (folder != NULL && folder > file->path && folder[-1] != '/')
        folder--;
    char *gpu = name != NULL ? rt_format("%.*s", (int)(name - folder), folder) : rt_strdup("");
    int32_t device = rt_tree_device(file->tree, gpu);
    if (device < 0)
        rt_fail(RT_ENOTFOUND,
                "%s: a label of the unknown GPU \"%.80s\" (its folder's name): neither a device file of the "
                "tree nor the catalogue has it; add a device file",
                file->path, gpu);
    free(gpu);
    return device;
}

static int read_label(struct rt_import_file *file, json_t *root, struct rt_workload *workload)
{
    const char *name = strrchr(file->path, '/');
    json_t *layers = json_object_get(root, "num_layer");
    int status = workload_of_name(file, name != NULL ? name + 1 : file->path, workload);
    if (status != RT_OK ||
        (status = label_time(file, root, "e2e_latency", true, &workload->end_to_end_us)) != RT_OK ||
        (status = label_time(file, root, "fw_latency", false, &workload->forward_us)) != RT_OK ||
        (status = label_time(file, root, "bwall_latency", false, &workload->backward_us)) != RT_OK)
        return status;
    if (layers != NULL && !json_is_null(layers) &&
        (!json_is_integer(layers) || json_integer_value(layers) < 0 || json_integer_value(layers) > 65536))
        return rt_fail(RT_EFORMAT, "%s: \"num_layer\" must be a whole number, 0 where it is unknown",
                       file->path);
    if (json_integer_value(layers) > 0)
        workload->layers = json_integer_value(layers);
    return RT_OK;
}

void rt_neusight_add_label(struct rt_import_file *file, json_t *root)
{
    struct rt_workload workload;
    rt_workload_init(&workload);
    workload.dtype = RT_FP32;
    workload.device = label_device(file);
    if (workload.device >= 0 && read_label(file, root, &workload) == RT_OK) {
        add_nodes(file, &workload);
        rt_dataset_add_workload(&file->data, &workload);
    } else {
        rt_import_file_refuse(file, "workload", workload.device);
    }
}
