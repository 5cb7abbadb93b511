/* `rooftile devices`: the catalogue of GPUs as numbers, or one of them in full. */
#include "datasets/device.h"
#include "base/options.h"
#include "base/status.h"
#include "base/table.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct arguments {
    struct rt_names specs;
    bool json;
};

static const struct rt_option options[] = {
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"},
};

/* In the form of a device file, so that it can be kept as one. */
static json_t *device_json(struct rt_device *device)
{
    json_t *object = json_object();
    for (size_t t = 0; t < rt_device_text_count; t++)
        json_object_set_new(object, rt_device_texts[t].key,
                            json_string((const char *)device + rt_device_texts[t].offset));
    for (size_t f = 0; f < rt_device_field_count; f++)
        json_object_set_new(object, rt_device_fields[f].key, rt_json_number(*rt_device_value(device, f)));
    return object;
}

static void print_fields(struct rt_device *device)
{
    static const struct rt_column columns[] = {
        {"field", NULL, 's', 0}, {"value", NULL, 'g', 6}, {"units", NULL, 's', 0}, {"meaning", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t t = 0; t < rt_device_text_count; t++)
        printf("%s%s", t > 0 ? ", " : "", (const char *)device + rt_device_texts[t].offset);
    printf("\n");
    for (size_t f = 0; f < rt_device_field_count; f++)
        rt_table_row(table, rt_device_fields[f].key, *rt_device_value(device, f), rt_device_fields[f].units,
                     rt_device_fields[f].long_name);
    rt_table_text(table, stdout);
    rt_table_free(table);
}

static int print_specs(const struct arguments *arguments)
{
    json_t *list = json_array();
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < arguments->specs.count; i++) {
        struct rt_device device;
        status = rt_device_find(arguments->specs.name[i], &device);
        if (status == RT_OK && arguments->json) {
            json_array_append_new(list, device_json(&device));
        } else if (status == RT_OK) {
            printf("%s", i > 0 ? "\n" : "");
            print_fields(&device);
        }
    }
    if (status == RT_OK && arguments->json)
        rt_json_print(json_incref(arguments->specs.count == 1 ? json_array_get(list, 0) : list), stdout);
    json_decref(list);
    return status;
}

static int print_catalogue(bool json)
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
    if (status == RT_OK && json)
        rt_json_print(json_incref(list), stdout);
    else if (status == RT_OK)
        rt_table_text(table, stdout);
    json_decref(list);
    rt_table_free(table);
    return status;
}

static int run(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    return arguments->specs.count > 0 ? print_specs(arguments) : print_catalogue(arguments->json);
}

const struct rt_command rt_command_devices = {
    .name = "devices",
    .brief = "the catalogue of GPUs as numbers",
    .operands_usage = "[SPEC]...",
    .about =
        "Lists the catalogue of GPUs, or prints every number of those that SPEC names: a catalogue name or a "
        "JSON file, either with overrides, as --gpu takes them.",
    .details = "With one SPEC, --json prints a device file: keep it, edit it, name it as a GPU.\n\n"
               "Example: an H100 with fewer multiprocessors and more bandwidth\n"
               "  rooftile devices H100,sms=100,bandwidth_gbs=4000 --json > future.json",
    .options = options,
    .option_count = RT_COUNT(options),
    .operands = RT_OPERANDS(struct arguments, specs, 0, RT_MANY, "devices"),
    .size = sizeof(struct arguments),
    .run = run,
};
