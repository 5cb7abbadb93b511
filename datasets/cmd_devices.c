/* `rooftile devices`: the catalogue of GPUs as numbers, or one of them in full. */
#include "datasets/device.h"
#include "base/options.h"
#include "base/status.h"
#include "base/report_files.h"
#include "base/text.h"
#include "datasets/mig.h"

#include <math.h>
#include <stdbool.h>

struct arguments {
    struct rt_names specs, reports;
    bool overwrite, json;
};

static const struct rt_option options[] = {
    RT_REPORT_OPTION(struct arguments, reports),
    RT_REPORT_OVERWRITE(struct arguments, overwrite),
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"},
};

/* In the form of a device file, so that it can be kept as one. */
static json_t *device_json(struct rt_device *device)
{
    json_t *object = json_object();
    for (size_t t = 0; t < rt_device_text_count; t++) {
        const char *text = rt_device_text(device, t);
        if (!rt_device_texts[t].sparse || text[0] != '\0')
            json_object_set_new(object, rt_device_texts[t].key, json_string(text));
    }
    for (size_t f = 0; f < rt_device_field_count; f++)
        json_object_set_new(object, rt_device_fields[f].key, rt_json_number(*rt_device_value(device, f)));
    return object;
}

static void add_device(struct rt_report *report, struct rt_device *device)
{
    static const struct rt_column columns[] = {
        {"field", NULL, 's', 0}, {"value", NULL, 'g', 6}, {"units", NULL, 's', 0}, {"meaning", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct rt_text title = {0};
    for (size_t t = 0; t < rt_device_text_count; t++)
        if (!rt_device_texts[t].sparse)
            rt_text_item(&title, ", ", "%s", rt_device_text(device, t));
    if (device->whole[0] != '\0')
        rt_text_add(&title, ", a part of %s", device->whole);
    for (size_t f = 0; f < rt_device_field_count; f++)
        rt_table_row(table, rt_device_fields[f].key, *rt_device_value(device, f), rt_device_fields[f].units,
                     rt_device_fields[f].long_name);
    rt_report_add_table(report, NULL, title.text, table);
    rt_text_release(&title);
}

static void add_profiles(struct rt_report *report, const struct rt_mig *mig)
{
    static const struct rt_column columns[] = {{"profile", NULL, 's', 0},
                                               {"sms", "SMs", 'f', 0},
                                               {"memory_gib", "GiB", 'f', 2},
                                               {"slices", NULL, 'd', 0},
                                               {"memory_slices", "memory slices", 'd', 0},
                                               {"engines", "copy engines", 'd', 0},
                                               {"most", "at most", 'd', 0},
                                               {"placements", "may start at", 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (int i = 0; i < mig->count; i++) {
        const struct rt_mig_profile *row = &mig->profile[i];
        struct rt_text places = {0};
        for (int p = 0; p < row->placement_count; p++)
            rt_text_item(&places, ", ", "%d", row->placements[p]);
        rt_table_row(table, row->name, row->sms, row->memory_gib, (long long)row->slices,
                     (long long)row->memory_slices, (long long)row->copy_engines, (long long)row->most,
                     places.text);
        rt_text_release(&places);
    }
    rt_report_add_table(report, NULL, "MIG profiles", table);
}

/* One device is an object of JSON, which a device file is; several are an array. */
static int add_specs(struct rt_report *report, const struct rt_names *specs)
{
    json_t *list = json_array();
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < specs->count; i++) {
        struct rt_device device, board;
        struct rt_mig mig = {0};
        if ((status = rt_device_find(specs->name[i], &device)) != RT_OK)
            break;
        json_t *object = device_json(&device);
        add_device(report, &device);
        if (device.whole[0] == '\0' && rt_device_mig(specs->name[i], &board, &mig) == RT_OK &&
            mig.count > 0) {
            add_profiles(report, &mig);
            json_object_set_new(object, "mig", rt_mig_json(&mig));
        }
        json_array_append_new(list, object);
    }
    rt_report_add_json(report, "", json_incref(specs->count == 1 ? json_array_get(list, 0) : list));
    json_decref(list);
    return status;
}

static int add_catalogue(struct rt_report *report)
{
    static const struct rt_column columns[] = {{"name", NULL, 's', 0},
                                               {"architecture", NULL, 's', 0},
                                               {"sms", "SMs", 'g', 4},
                                               {"fp32", "fp32 TFLOP/s", 'g', 4},
                                               {"matrix", "16-bit TFLOP/s", 'g', 4},
                                               {"fp8", "fp8 TFLOP/s", 'g', 5},
                                               {"memory", "GiB", 'g', 4},
                                               {"bandwidth", "GB/s", 'g', 5},
                                               {"l2", "L2 MiB", 'g', 4},
                                               {"power", "W", 'g', 4}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    json_t *list = json_array();
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < rt_device_catalogue_size(); i++) {
        struct rt_device d;
        if ((status = rt_device_catalogue(i, &d)) != RT_OK)
            break;
        json_array_append_new(list, device_json(&d));
        rt_table_row(table, d.name, d.architecture, d.sms, d.fp32_vector_tflops,
                     isnan(d.bf16_matrix_tflops) ? d.fp16_matrix_tflops : d.bf16_matrix_tflops,
                     d.fp8_matrix_tflops, d.memory_gib, d.bandwidth_gbs, d.l2_mib, d.power_w);
    }
    rt_report_add_table(report, NULL, "", table);
    rt_report_add_json(report, "", list);
    return status;
}

static int run(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    int status = rt_outputs_check(line);
    if (status != RT_OK)
        return status;
    struct rt_report *report = rt_report_new();
    status = arguments->specs.count > 0 ? add_specs(report, &arguments->specs) : add_catalogue(report);
    if (status == RT_OK)
        return rt_report_end_with(report, arguments->json, &arguments->reports);
    rt_report_free(report);
    return status;
}

const struct rt_command rt_command_devices = {
    .name = "devices",
    .also = "gpu gpus device list",
    .brief = "the catalogue of GPUs as numbers",
    .operands_usage = "[SPEC]...",
    .about =
        "Lists the catalogue of GPUs, or prints every number of those that SPEC names: a catalogue name or a "
        "JSON file, either with overrides, as --gpu takes them; and the MIG profiles of a GPU that has some.",
    .details = "With one SPEC, --json prints a device file: keep it, edit it, name it as a GPU.\n\n"
               "Example: an H100 with fewer multiprocessors and more bandwidth\n"
               "  rooftile devices H100,sms=100,bandwidth_gbs=4000 --json > future.json",
    .options = options,
    .option_count = RT_COUNT(options),
    .operands = RT_OPERANDS(struct arguments, specs, 0, RT_MANY, "devices", .reads = rt_device_reads,
                            .suggests = rt_device_suggest),
    .size = sizeof(struct arguments),
    .run = run,
    .in_library = true,
};
