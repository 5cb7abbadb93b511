/* `rooftile devices`: the catalogue of GPUs as numbers, or one of them in full. */
#include "datasets/device.h"
#include "base/options.h"
#include "base/status.h"
#include "base/report_files.h"
#include "base/text.h"
#include "datasets/mig.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
    for (size_t f = 0; f < rt_device_field_count; f++) {
        double value = *rt_device_value(device, f);
        bool yes_or_no = rt_device_fields[f].quirk && !isnan(value);
        json_object_set_new(object, rt_device_fields[f].key,
                            yes_or_no ? json_boolean(value > 0) : rt_json_number(value));
    }
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

static double peak_16(const struct rt_device *device)
{
    return isnan(device->bf16_matrix_tflops) ? device->fp16_matrix_tflops : device->bf16_matrix_tflops;
}

/* A point for each GPU of the catalogue: which vendor's, and who stands out. */
static void add_catalogue_plot(struct rt_report *report, const struct rt_device *devices, size_t count)
{
    double *x = rt_malloc(2 * count * sizeof *x), *y = x + count;
    const char **names = rt_malloc((count + 1) * sizeof *names);
    size_t widest = 0, shown = 0;
    for (size_t i = 0; i < count; i++) {
        shown += !isnan(peak_16(&devices[i]));
        if (devices[i].bandwidth_gbs > devices[widest].bandwidth_gbs)
            widest = i;
    }
    struct rt_plot *plot =
        rt_plot_new("Peak against bandwidth",
                    "The peak of the 16-bit matrix units of the %zu GPUs that have some, against the "
                    "bandwidth of their memory. The %s has the most: %s GB/s.",
                    shown, devices[widest].name, rt_number_text(devices[widest].bandwidth_gbs).text);
    rt_plot_axes(plot, "memory bandwidth, GB/s", RT_SCALE_LOG, "16-bit peak, TFLOP/s", RT_SCALE_LOG);
    for (size_t first = 0; first < count; first++) {
        size_t points = 0, earlier = 0;
        while (strcmp(devices[earlier].vendor, devices[first].vendor) != 0)
            earlier++;
        for (size_t i = first; i < count && earlier == first; i++)
            if (strcmp(devices[i].vendor, devices[first].vendor) == 0) {
                x[points] = devices[i].bandwidth_gbs;
                names[points] = devices[i].name;
                y[points++] = peak_16(&devices[i]);
            }
        if (points > 0) {
            rt_plot_points(plot, devices[first].vendor, x, y, points);
            rt_plot_point_names(plot, names);
        }
    }
    rt_report_add_plot(report, plot);
    free(names);
    free(x);
}

/* "fp16 matrix" of "fp16_matrix_tflops". */
static char *peak_name(const struct rt_device_field *field)
{
    char *name = rt_strdup(field->key);
    *strrchr(name, '_') = '\0';
    for (char *at = name; *at != '\0'; at++)
        *at = *at == '_' ? ' ' : *at;
    return name;
}

/* A bar for each peak that any of the devices has, a series for each device. */
static void add_peaks_plot(struct rt_report *report, const struct rt_device *devices, size_t count)
{
    struct rt_text words = {0};
    for (size_t d = 0; d < count; d++)
        rt_text_item(&words, "; ", "%s: %s TFLOP/s in 16 bits, %s GB/s", devices[d].name,
                     rt_number_text(peak_16(&devices[d])).text,
                     rt_number_text(devices[d].bandwidth_gbs).text);
    struct rt_plot *plot = rt_plot_new("Peaks by dtype", "%s.", words.text);
    rt_plot_axes(plot, "TFLOP/s (integers: TOP/s)", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    for (size_t f = 0; f < rt_device_field_count; f++)
        for (size_t d = 0; d < count && rt_device_fields[f].peak; d++) {
            struct rt_device device = devices[d];
            double peak = *rt_device_value(&device, f);
            char *name = peak_name(&rt_device_fields[f]);
            if (!isnan(peak))
                rt_plot_bars(plot, count > 1 ? device.name : "", (const char *const *)&name, &peak, 1);
            free(name);
        }
    rt_report_add_plot(report, plot);
    rt_text_release(&words);
}

/* A table and an object, with its MIG profiles. */
static json_t *add_spec(struct rt_report *report, const char *spec, struct rt_device *device)
{
    struct rt_device board;
    struct rt_mig mig = {0};
    json_t *object = device_json(device);
    add_device(report, device);
    if (device->whole[0] == '\0' && rt_device_mig(spec, &board, &mig) == RT_OK && mig.count > 0) {
        add_profiles(report, &mig);
        json_object_set_new(object, "mig", rt_mig_json(&mig));
    }
    return object;
}

/* A list of one is a device file. */
static int add_specs(struct rt_report *report, const struct rt_names *specs)
{
    json_t *list = json_array();
    struct rt_device *devices = rt_calloc(specs->count, sizeof *devices);
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < specs->count; i++)
        status = rt_device_find(specs->name[i], &devices[i]);
    if (status == RT_OK)
        add_peaks_plot(report, devices, specs->count);
    for (size_t i = 0; status == RT_OK && i < specs->count; i++)
        json_array_append_new(list, add_spec(report, specs->name[i], &devices[i]));
    free(devices);
    rt_report_add_json(report, "devices", list);
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
    size_t count = rt_device_catalogue_size();
    struct rt_device *devices = rt_calloc(count, sizeof *devices);
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < count; i++) {
        if ((status = rt_device_catalogue(i, &devices[i])) != RT_OK)
            break;
        struct rt_device d = devices[i];
        json_array_append_new(list, device_json(&d));
        rt_table_row(table, d.name, d.architecture, d.sms, d.fp32_vector_tflops, peak_16(&d),
                     d.fp8_matrix_tflops, d.memory_gib, d.bandwidth_gbs, d.l2_mib, d.power_w);
    }
    if (status == RT_OK)
        add_catalogue_plot(report, devices, count);
    rt_report_add_table(report, NULL, "", table);
    rt_report_add_json(report, "devices", list);
    free(devices);
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
    RT_RUNS(run, struct arguments, options),
    .operands = RT_OPERANDS(struct arguments, specs, 0, RT_MANY, "devices", .reads = rt_device_reads,
                            .suggests = rt_device_suggest),
    .in_library = true,
};
