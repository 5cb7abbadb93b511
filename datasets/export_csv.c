/* The CSV files of a dataset. See export_csv.h. */
#include "datasets/export_csv.h"
#include "datasets/csv_cell.h"
#include "base/file.h"
#include "base/locale.h"
#include "base/outputs.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is exported, and who watches: NULL, nobody. */
struct source {
    const struct rt_dataset *dataset;
    struct rt_progress *progress;
};

static void write_rows(FILE *file, const struct source *source, const struct rt_rows *rows)
{
    enum { STEP = 4096 };
    char row[RT_LARGEST_ROW] __attribute__((aligned(8)));
    const struct rt_field *fields = rows->kind->fields;
    const double all = (double)(source->dataset->samples.count + source->dataset->workload_count);
    for (size_t f = 0; f < rows->kind->field_count; f++)
        fprintf(file, "%s%s", f > 0 ? "," : "", fields[f].name);
    for (size_t i = 0; i < rows->count; i++) {
        rt_rows_get(rows, i, row);
        if (i % STEP == 0)
            rt_progress_step(source->progress, (double)(i > 0 ? STEP : 0) / all, "rows");
        for (size_t f = 0; f < rows->kind->field_count; f++) {
            fputc(f > 0 ? ',' : '\n', file);
            rt_cell_write(file, source->dataset, &fields[f], row);
        }
    }
    fputc('\n', file);
}

static void write_samples(FILE *file, const struct source *source)
{
    write_rows(file, source, &source->dataset->samples);
}

static void write_workloads(FILE *file, const struct source *source)
{
    struct rt_rows rows = rt_dataset_workload_rows(source->dataset);
    write_rows(file, source, &rows);
    rt_rows_release(&rows);
}

static void write_devices(FILE *file, const struct source *source)
{
    const struct rt_dataset *dataset = source->dataset;
    for (size_t t = 0; t < rt_device_text_count; t++)
        fprintf(file, "%s%s", t > 0 ? "," : "", rt_device_texts[t].key);
    for (size_t f = 0; f < rt_device_field_count; f++)
        fprintf(file, ",%s", rt_device_fields[f].key);
    for (size_t d = 0; d < dataset->device_count; d++) {
        for (size_t t = 0; t < rt_device_text_count; t++) {
            const char *text = rt_device_text(&dataset->devices[d], t);
            fputc(t > 0 ? ',' : '\n', file);
            rt_csv_write(file, text[0] != '\0' ? text : NULL);
        }
        for (size_t f = 0; f < rt_device_field_count; f++) {
            fputc(',', file);
            rt_cell_write_real(file, *rt_device_value(&dataset->devices[d], f));
        }
    }
    fputc('\n', file);
}

/* One row per attribute; a group without any still has its row. */
static void write_groups(FILE *file, const struct source *source)
{
    const struct rt_dataset *dataset = source->dataset;
    fputs("group,name,value\n", file);
    for (size_t g = 0; g < dataset->group_count; g++) {
        const struct rt_group *group = &dataset->groups[g];
        if (group->count == 0)
            fprintf(file, "%zu,,\n", g);
        for (size_t i = 0; i < group->count; i++) {
            fprintf(file, "%zu,", g);
            rt_csv_write(file, group->name[i]);
            fputc(',', file);
            rt_csv_write(file, group->value[i]);
            fputc('\n', file);
        }
    }
}

static void write_table(FILE *file, const char *table, const struct rt_strings *strings)
{
    for (size_t i = 0; i < strings->count; i++) {
        fprintf(file, "%s,", table);
        rt_csv_write(file, rt_strings_get(strings, (int32_t)i));
        fputc('\n', file);
    }
}

/* The order of the string tables, which samples.csv does not show. */
static void write_strings(FILE *file, const struct source *source)
{
    const struct rt_dataset *dataset = source->dataset;
    fputs("table,text\n", file);
    write_table(file, "kernels", &dataset->kernels);
    write_table(file, "texts", &dataset->texts);
}

/* What dim0 and so on are of each op that the samples have. */
static void write_dims(FILE *file, const struct source *source)
{
    bool has[RT_OP_COUNT] = {false};
    for (size_t i = 0; i < source->dataset->samples.count; i++)
        has[RT_SAMPLE(source->dataset, i)->call.op] = true;
    fputs("op,dim,name\n", file);
    for (int op = 0; op < RT_OP_COUNT; op++)
        for (int d = 0; has[op] && d < rt_op_ndims((enum rt_op_id)op); d++)
            fprintf(file, "%s,dim%d,%s\n", rt_ops[op].name, d, rt_ops[op].dims[d]);
}

static void write_meta(FILE *file, const struct source *source)
{
    const struct rt_dataset *dataset = source->dataset;
    const char *const rows[][2] = {{"uuid", dataset->uuid},
                                   {"creator", dataset->creator},
                                   {"created", dataset->created},
                                   {"source", dataset->source},
                                   {"licence", dataset->licence}};
    fprintf(file, "name,value\nformat,%s\nversion,%d\n", RT_DATASET_FORMAT, RT_DATASET_VERSION);
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        fprintf(file, "%s,", rows[i][0]);
        rt_csv_write(file, rows[i][1]);
        fputc('\n', file);
    }
}

/* Rows name their device, so no two devices may have one name. */
static int check_names(const struct rt_dataset *dataset)
{
    for (size_t d = 0; d < dataset->device_count; d++)
        if (rt_dataset_find_device(dataset, dataset->devices[d].name) != (int32_t)d)
            return rt_fail(RT_EFORMAT,
                           "device \"%s\" is described twice, so rows cannot name it; see `rooftile dataset "
                           "validate`",
                           dataset->devices[d].name);
    return RT_OK;
}

static const struct {
    const char *name, *begins; /* every version of the file begins so */
    void (*write)(FILE *file, const struct source *source);
} files[] = {{"devices.csv", "name,", write_devices},      {"groups.csv", "group,name,value", write_groups},
             {"strings.csv", "table,text", write_strings}, {"dims.csv", "op,dim,name", write_dims},
             {"samples.csv", "op,", write_samples},        {"workloads.csv", "model,", write_workloads},
             {"meta.csv", "name,value", write_meta}};

int rt_export_check(const char *folder, bool replace, const struct rt_names *inputs)
{
    int status = RT_OK;
    for (size_t f = 0; status == RT_OK && f < RT_COUNT(files); f++) {
        const struct rt_output_kind kind = {"a file of an export", NULL, files[f].begins};
        char *path = rt_format("%s/%s", folder, files[f].name);
        status = rt_output_check("-o", path, &kind, replace, inputs);
        free(path);
    }
    return status;
}

static int write_file(const struct source *source, const char *folder, size_t f, struct rt_new_file *out)
{
    char *path = rt_format("%s/%s", folder, files[f].name);
    int status = rt_file_create(path, out);
    if (status == RT_OK)
        files[f].write(out->stream, source);
    free(path);
    return status;
}

/* All files are complete before the first is replaced; a mark lies in the folder until the last is. */
static int replace_files(const char *folder, struct rt_new_file *made)
{
    char *mark = rt_format("%s/" RT_EXPORT_MARK, folder);
    int status = RT_OK, file = open(mark, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0)
        status = rt_fail(RT_EIO, "%s: cannot be written: %s; choose another place", mark, strerror(errno));
    else
        close(file);
    if (status == RT_OK)
        status = rt_files_finish(made, RT_COUNT(files));
    if (status == RT_OK)
        unlink(mark);
    free(mark);
    return status;
}

int rt_export_csv(const struct rt_dataset *dataset, const char *folder, struct rt_progress *progress)
{
    RT_C_LOCALE;
    struct rt_new_file made[RT_COUNT(files)] = {{.stream = NULL}};
    const struct source source = {dataset, progress};
    int status = check_names(dataset);
    if (status != RT_OK)
        return status;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return rt_fail(RT_EIO, "%s: cannot be made: %s; choose another place", folder, strerror(errno));
    for (size_t f = 0; status == RT_OK && f < RT_COUNT(files); f++)
        status = write_file(&source, folder, f, &made[f]);
    if (status == RT_OK)
        status = replace_files(folder, made);
    for (size_t f = 0; f < RT_COUNT(files); f++)
        rt_file_abandon(&made[f]);
    return status;
}
