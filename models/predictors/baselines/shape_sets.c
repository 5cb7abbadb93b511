/* Sets of measured shapes as arrays. See shape_sets.h. */
#include "models/predictors/baselines/shape_sets.h"
#include "base/h5_struct.h"
#include "base/status.h"
#include "datasets/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* op, dtype and count of each set, as arrays. */
struct heads {
    uint8_t *op, *dtype;
    int64_t *count;
    size_t sets;
};

static void heads_init(struct heads *heads, size_t sets)
{
    *heads = (struct heads){.sets = sets};
    heads->op = rt_calloc(sets + 1, 1);
    heads->dtype = rt_calloc(sets + 1, 1);
    heads->count = rt_calloc(sets + 1, sizeof *heads->count);
}

static void heads_release(struct heads *heads)
{
    free(heads->op);
    free(heads->dtype);
    free(heads->count);
}

static struct rt_h5_array count_array(void)
{
    return (struct rt_h5_array){.type = RT_H5_I64, .units = "1", .long_name = "measured shapes of each set"};
}

/* An enum whose names are those of the table, `stride` bytes apart; `names` has room for `count`. */
static struct rt_h5_array names_array(const void *table, size_t stride, size_t count, const char **names,
                                      const char *what)
{
    for (size_t i = 0; i < count; i++)
        names[i] = *(const char *const *)((const char *)table + i * stride);
    return (struct rt_h5_array){.type = RT_H5_U8, .long_name = what, .names = names, .name_count = count};
}

typedef int each_head(struct rt_h5 *file, const char *group, const char *name, struct rt_h5_array array,
                      void *values, size_t size, size_t count);

static int write_array(struct rt_h5 *file, const char *group, const char *name, struct rt_h5_array array,
                       void *values, size_t size, size_t count)
{
    return rt_h5_write_in(file, group, name, array, values, size, count);
}

/* Writes or reads the heads. */
static int each_of_heads(struct heads *heads, struct rt_h5 *file, const char *group, each_head *transfer)
{
    const char *ops[RT_OP_COUNT], *dtypes[RT_DTYPE_COUNT];
    struct rt_h5_array op = names_array(rt_ops, sizeof *rt_ops, RT_OP_COUNT, ops, "op of each set");
    struct rt_h5_array dtype =
        names_array(rt_dtypes, sizeof *rt_dtypes, RT_DTYPE_COUNT, dtypes, "element type of each set");
    int status = transfer(file, group, "op", op, heads->op, 1, heads->sets);
    if (status == RT_OK)
        status = transfer(file, group, "dtype", dtype, heads->dtype, 1, heads->sets);
    if (status == RT_OK)
        status =
            transfer(file, group, "count", count_array(), heads->count, sizeof *heads->count, heads->sets);
    return status;
}

/* Values that a column has of a set. */
static size_t values_of(const struct rt_shape_column *column, const struct rt_shape_set *set)
{
    size_t width = column->width > 0 ? column->width : set->dims;
    return column->of_shape ? width * set->count : width;
}

static const struct rt_shape_set *set_at(const struct rt_shape_layout *layout, const void *sets, size_t i)
{
    return (const void *)((const char *)sets + i * layout->set_size);
}

static void *member_of(const struct rt_shape_column *column, const struct rt_shape_set *set)
{
    char *member = (char *)(uintptr_t)set + column->offset;
    void *values;
    memcpy(&values, member, sizeof values);
    return column->of_shape ? values : member;
}

static size_t total_of(const struct rt_shape_layout *layout, const struct rt_shape_column *column,
                       const void *sets, size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += values_of(column, set_at(layout, sets, i));
    return total;
}

/* Values of shapes: (count, width) in memory, (width, count) in files. `to_file`: which way they go. */
static void transpose(const struct rt_shape_column *column, const struct rt_shape_set *set, char *stored,
                      bool to_file)
{
    size_t shapes = column->of_shape ? set->count : 1, width = values_of(column, set) / shapes;
    char *member = member_of(column, set);
    for (size_t w = 0; w < width; w++)
        for (size_t s = 0; s < shapes; s++) {
            char *held = member + (s * width + w) * column->size;
            memcpy(to_file ? stored : held, to_file ? held : stored, column->size);
            stored += column->size;
        }
}

static struct rt_h5_array array_of(const struct rt_shape_column *column)
{
    return (struct rt_h5_array){.type = column->type, .units = column->units, .long_name = column->what};
}

static int write_column(const struct rt_shape_layout *layout, const struct rt_shape_column *column,
                        const void *sets, size_t count, struct rt_h5 *file, const char *group)
{
    size_t total = total_of(layout, column, sets, count);
    char *values = rt_malloc((total + 1) * column->size), *at = values;
    for (size_t i = 0; i < count; i++) {
        const struct rt_shape_set *set = set_at(layout, sets, i);
        transpose(column, set, at, true);
        at += values_of(column, set) * column->size;
    }
    int status = rt_h5_write_in(file, group, column->name, array_of(column), values, column->size, total);
    free(values);
    return status;
}

int rt_shape_sets_write(const struct rt_shape_layout *layout, const void *sets, size_t count,
                        struct rt_h5 *file, const char *group)
{
    struct heads heads;
    heads_init(&heads, count);
    for (size_t i = 0; i < count; i++) {
        const struct rt_shape_set *set = set_at(layout, sets, i);
        heads.op[i] = set->op;
        heads.dtype[i] = set->dtype;
        heads.count[i] = (int64_t)set->count;
    }
    int status = each_of_heads(&heads, file, group, write_array);
    heads_release(&heads);
    for (size_t c = 0; status == RT_OK && c < layout->column_count; c++)
        status = write_column(layout, &layout->columns[c], sets, count, file, group);
    return status;
}

/* ---- reading ---- */

static int fail_lengths(struct rt_h5 *file, const char *group)
{
    return rt_fail(
        RT_EFORMAT,
        "%s: %s: the shapes of the sets do not add up to those that are there: the file is damaged",
        rt_h5_path(file), group);
}

/* Counts are checked against the length of an array before anything is allocated by them; no sum overflows.
 */
static int check_counts(const struct heads *heads, size_t shapes, struct rt_h5 *file, const char *group)
{
    size_t sum = 0;
    for (size_t i = 0; i < heads->sets; i++) {
        if (heads->count[i] < 1 || (uint64_t)heads->count[i] > shapes - sum)
            return fail_lengths(file, group);
        sum += (size_t)heads->count[i];
    }
    return sum == shapes ? RT_OK : fail_lengths(file, group);
}

static int read_column(const struct rt_shape_layout *layout, const struct rt_shape_column *column, void *sets,
                       size_t count, struct rt_h5 *file, const char *group)
{
    size_t total = total_of(layout, column, sets, count), stored;
    char path[192];
    snprintf(path, sizeof path, "%s/%s", group, column->name);
    if (column->may_lack && !rt_h5_exists(file, path))
        return RT_OK;
    int status = rt_h5_count_in(file, group, column->name, array_of(column), &stored);
    if (status != RT_OK || stored != total)
        return status != RT_OK ? status : fail_lengths(file, group);
    char *values = rt_malloc((total + 1) * column->size), *at = values;
    status = rt_h5_read_in(file, group, column->name, array_of(column), values, column->size, total);
    for (size_t i = 0; status == RT_OK && i < count; i++) {
        const struct rt_shape_set *set = set_at(layout, sets, i);
        transpose(column, set, at, false);
        at += values_of(column, set) * column->size;
    }
    free(values);
    return status;
}

/* The sets with room for their shapes. */
static void *allocate_sets(const struct rt_shape_layout *layout, const struct heads *heads)
{
    char *sets = rt_calloc(heads->sets + 1, layout->set_size);
    for (size_t i = 0; i < heads->sets; i++) {
        struct rt_shape_set *set = (void *)(sets + i * layout->set_size);
        *set = (struct rt_shape_set){.op = heads->op[i],
                                     .dtype = heads->dtype[i],
                                     .count = (size_t)heads->count[i],
                                     .dims = (size_t)rt_op_ndims(heads->op[i])};
        for (size_t c = 0; c < layout->column_count; c++) {
            const struct rt_shape_column *column = &layout->columns[c];
            void *values = column->of_shape ? rt_calloc(values_of(column, set) + 1, column->size) : NULL;
            if (column->of_shape)
                memcpy((char *)set + column->offset, &values, sizeof values);
        }
    }
    return sets;
}

/* Shapes of all sets, by the length of a column that has so many values of each. */
static int count_shapes(const struct rt_shape_layout *layout, struct rt_h5 *file, const char *group,
                        size_t *shapes)
{
    const struct rt_shape_column *column = layout->columns;
    while (!column->of_shape || column->width == 0)
        column++;
    int status = rt_h5_count_in(file, group, column->name, array_of(column), shapes);
    if (status == RT_OK && *shapes % column->width != 0)
        return fail_lengths(file, group);
    *shapes /= column->width;
    return status;
}

int rt_shape_sets_read(const struct rt_shape_layout *layout, struct rt_h5 *file, const char *group,
                       void **sets, size_t *count)
{
    struct heads heads;
    size_t set_count = 0, shapes = 0;
    int status = rt_h5_count_in(file, group, "count", count_array(), &set_count);
    if (status == RT_OK)
        status = rt_h5_check_count(file, group, set_count, layout->set_size);
    if (status == RT_OK)
        status = count_shapes(layout, file, group, &shapes);
    if (status != RT_OK)
        return status;
    heads_init(&heads, set_count);
    status = each_of_heads(&heads, file, group, rt_h5_read_in);
    if (status == RT_OK)
        status = check_counts(&heads, shapes, file, group);
    if (status == RT_OK) {
        *sets = allocate_sets(layout, &heads);
        *count = set_count;
    }
    heads_release(&heads);
    for (size_t c = 0; status == RT_OK && c < layout->column_count; c++)
        status = read_column(layout, &layout->columns[c], *sets, *count, file, group);
    return status;
}
