/* Columns as cells of CSV. See csv_cell.h. */
#include "datasets/csv_cell.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BITS = 32 };

/* The name of a bit of `flags`; "bit9" for those without one. */
static const char *flag_name(int bit, char buffer[16])
{
    if (bit < RT_FLAG_COUNT)
        return rt_flag_names[bit];
    snprintf(buffer, 16, "bit%d", bit);
    return buffer;
}

/* ---- writing ---- */

void rt_cell_write_real(FILE *file, double value)
{
    if (!isnan(value))
        fprintf(file, "%.17g", value);
}

static void write_integer(FILE *file, int64_t value)
{
    if (value != -1)
        fprintf(file, "%" PRId64, value);
}

static void write_flags(FILE *file, uint32_t flags)
{
    char buffer[16];
    const char *space = "";
    for (int bit = 0; bit < BITS; bit++)
        if (flags >> bit & 1) {
            fprintf(file, "%s%s", space, flag_name(bit, buffer));
            space = " ";
        }
}

static void write_string(FILE *file, const struct rt_strings *strings, int64_t index)
{
    rt_csv_write(file, index < 0 ? NULL : rt_strings_get(strings, (int32_t)index));
}

void rt_cell_write(FILE *file, const struct rt_dataset *dataset, const struct rt_field *field,
                   const void *row)
{
    int64_t value = rt_field_integer(field, row);
    if (field->type == RT_H5_F64)
        rt_cell_write_real(file, rt_field_real(field, row));
    else if (field->names != NULL)
        rt_csv_write(file, field->names[value]);
    else if (field->type == RT_H5_U32)
        write_flags(file, (uint32_t)value);
    else if (field->table == RT_TABLE_DEVICES)
        rt_csv_write(file, dataset->devices[value].name);
    else if (field->table == RT_TABLE_KERNELS)
        write_string(file, &dataset->kernels, value);
    else if (field->table == RT_TABLE_TEXTS)
        write_string(file, &dataset->texts, value);
    else
        write_integer(file, value);
}

/* ---- reading ---- */

static int fail_name(const struct rt_csv *csv, const struct rt_csv_field *cell, const struct rt_field *field)
{
    enum { MOST = 12 };
    char must[256] = "one of";
    size_t used = strlen(must);
    for (size_t i = 0; i < field->name_count && i < MOST; i++)
        used += (size_t)snprintf(must + used, sizeof must - used, "%s %s", i > 0 ? "," : "", field->names[i]);
    if (field->name_count > MOST)
        snprintf(must + used, sizeof must - used, ", ... (datasets/FORMAT.md)");
    return rt_csv_fail_cell(csv, field->name, cell, must);
}

static int read_enum(const struct rt_csv *csv, const struct rt_csv_field *cell, const struct rt_field *field,
                     uint8_t *value)
{
    int found = strcmp(field->name, "dtype") == 0 ? rt_dtype_find(cell->text) : -1;
    for (size_t i = 0; found < 0 && i < field->name_count; i++)
        if (strcmp(field->names[i], cell->text) == 0)
            found = (int)i;
    if (found < 0)
        return fail_name(csv, cell, field);
    *value = (uint8_t)found;
    return RT_OK;
}

static int find_flag(const char *text, size_t length)
{
    char buffer[16];
    for (int bit = 0; bit < BITS; bit++) {
        const char *name = flag_name(bit, buffer);
        if (strlen(name) == length && strncmp(name, text, length) == 0)
            return bit;
    }
    return -1;
}

static int read_flags(const struct rt_csv *csv, const struct rt_csv_field *cell, uint32_t *flags)
{
    for (const char *at = cell->text; *at != '\0';) {
        size_t length = strcspn(at, " ");
        int bit = find_flag(at, length);
        if (bit < 0)
            return rt_csv_fail_cell(
                csv, "flags", cell,
                "names of flags (unstable, throttled, failed, synthetic, ...) with a space between");
        *flags |= UINT32_C(1) << bit;
        at += length + (at[length] == ' ');
    }
    return RT_OK;
}

static int read_device(const struct rt_csv *csv, const struct rt_csv_field *cell,
                       const struct rt_dataset *dataset, int32_t *index)
{
    *index = rt_dataset_find_device(dataset, cell->text);
    return *index >= 0
               ? RT_OK
               : rt_fail(RT_ENOTFOUND, "%s:%zu: unknown GPU \"%.80s\": devices.csv does not describe it",
                         rt_csv_path(csv), rt_csv_line(csv), cell->text);
}

static int read_number(const struct rt_csv *csv, const struct rt_csv_field *cell,
                       const struct rt_field *field, void *at)
{
    int64_t whole;
    if (field->type == RT_H5_F64)
        return rt_parse_real(cell->text, cell->length, at) == 0
                   ? RT_OK
                   : rt_csv_fail_cell(csv, field->name, cell, "a number");
    if (rt_csv_integer(cell, &whole) != 0 ||
        (field->type == RT_H5_I32 && (whole < INT32_MIN || whole > INT32_MAX)))
        return rt_csv_fail_cell(csv, field->name, cell, "a whole number");
    if (field->type == RT_H5_I32)
        *(int32_t *)at = (int32_t)whole;
    else
        *(int64_t *)at = whole;
    return RT_OK;
}

int rt_cell_read(const struct rt_csv *csv, const struct rt_csv_field *cell, struct rt_dataset *dataset,
                 const struct rt_field *field, void *row)
{
    void *at = (char *)row + field->offset;
    if (field->names != NULL)
        return read_enum(csv, cell, field, at);
    if (field->type == RT_H5_U32)
        return read_flags(csv, cell, at);
    if (field->table == RT_TABLE_DEVICES)
        return read_device(csv, cell, dataset, at);
    if (field->table == RT_TABLE_KERNELS || field->table == RT_TABLE_TEXTS) {
        struct rt_strings *strings = field->table == RT_TABLE_KERNELS ? &dataset->kernels : &dataset->texts;
        *(int32_t *)at = rt_strings_add(strings, cell->text, cell->length);
        return RT_OK;
    }
    return read_number(csv, cell, field, at);
}
