/* Columns of points, written as CSV and HDF5. See objectives.h. */
#include "predict/search/explore/objectives.h"
#include "base/file.h"
#include "base/h5.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct rt_output_kind rt_points_h5_kind = {"points of an exploration", "rooftile-points", NULL},
                            rt_points_csv_kind = {"a table of points", NULL, NULL};

struct column {
    char name[160];
    const char *units;
    double *value; /* (points) */
};

struct columns {
    struct column *column;
    size_t count, binds; /* binds: the number of the column that holds limits */
};

static double *add_column(struct columns *columns, size_t points, const char *units, const char *format,
                          const char *name)
{
    columns->column = rt_realloc(columns->column, columns->count + 1, sizeof *columns->column);
    struct column *column = &columns->column[columns->count++];
    *column = (struct column){.units = units, .value = rt_malloc((points + 1) * sizeof(double))};
    snprintf(column->name, sizeof column->name, format, name);
    return column->value;
}

static void add_fields(const struct rt_space *space, struct columns *columns)
{
    double values[RT_MOST_AXES];
    size_t first = columns->count;
    for (size_t a = 0; a < space->axes; a++) {
        const struct rt_device_field *field = &rt_device_fields[space->axis[a].field];
        add_column(columns, space->points, field->units, "%s", field->key);
    }
    for (size_t p = 0; p < space->points; p++) {
        rt_space_values(space, p, values);
        for (size_t a = 0; a < space->axes; a++)
            columns->column[first + a].value[p] = values[a];
    }
}

static void add_objectives(const struct rt_assessment *assessment, struct columns *columns)
{
    const struct rt_objective *objective[RT_MOST_OBJECTIVES];
    size_t count = rt_objectives_of(assessment, objective), points = assessment->exploration->space.points;
    for (size_t o = 0; o < count; o++) {
        double *value = add_column(columns, points, "1", "%s", objective[o]->key);
        for (size_t p = 0; p < points; p++)
            value[p] = objective[o]->value(assessment, p);
    }
}

/* A number of one model at every point. */
static void add_model(const struct rt_exploration *exploration, size_t model, size_t number,
                      const char *units, const char *format, double scale, struct columns *columns)
{
    double *value =
        add_column(columns, exploration->space.points, units, format, exploration->models[model].name);
    for (char *letter = columns->column[columns->count - 1].name; *letter != '\0'; letter++)
        *letter = *letter == '/' || *letter == ',' || *letter == '"' ? '_' : *letter;
    for (size_t p = 0; p < exploration->space.points; p++)
        value[p] = scale * rt_exploration_at(exploration, p, model)[number];
}

/* Of several models: each one's time, and its energy where that is asked for. */
static void add_models(const struct rt_exploration *exploration, struct columns *columns)
{
    for (size_t m = 0; exploration->model_count > 1 && m < exploration->model_count; m++) {
        add_model(exploration, m, RT_POINT_TIME, "ms", "time_ms:%.140s", 1e-3, columns);
        if (exploration->how.energy)
            add_model(exploration, m, RT_POINT_ENERGY, "J", "step_j:%.140s", 1, columns);
    }
}

static void add_limits(const struct rt_exploration *exploration, struct columns *columns)
{
    size_t points = exploration->space.points;
    columns->binds = columns->count;
    double *binds = add_column(columns, points, "1", "%s", "binds");
    for (size_t p = 0; p < points; p++)
        binds[p] = rt_exploration_binds(exploration, p, RT_ALL_MODELS);
    for (size_t l = 0; l < exploration->limit_count; l++) {
        double *value = add_column(columns, points, "1", "elasticity_%s", exploration->limits[l].name);
        for (size_t p = 0; p < points; p++)
            value[p] = rt_exploration_elasticity(exploration, p, l);
    }
}

static void make_columns(const struct rt_assessment *assessment, const bool *front, struct columns *columns)
{
    const struct rt_exploration *exploration = assessment->exploration;
    size_t points = exploration->space.points;
    *columns = (struct columns){.count = 0};
    add_fields(&exploration->space, columns);
    add_objectives(assessment, columns);
    add_models(exploration, columns);
    double *fits = add_column(columns, points, "1", "%s", "fits");
    double *is_front = add_column(columns, points, "1", "%s", "front");
    for (size_t p = 0; p < points; p++) {
        fits[p] = rt_exploration_fits(exploration, p);
        is_front[p] = front[p];
    }
    add_limits(exploration, columns);
}

static void release_columns(struct columns *columns)
{
    for (size_t c = 0; c < columns->count; c++)
        free(columns->column[c].value);
    free(columns->column);
}

/* ---- CSV ---- */

static void write_row(FILE *file, const struct rt_exploration *exploration, const struct columns *columns,
                      size_t point)
{
    for (size_t c = 0; c < columns->count; c++) {
        double value = columns->column[c].value[point];
        const char *end = c + 1 < columns->count ? "," : "\n";
        if (c == columns->binds)
            fprintf(file, "%s%s", value < 0 ? "" : exploration->limits[(size_t)value].name, end);
        else if (isnan(value))
            fprintf(file, "%s", end);
        else
            fprintf(file, "%.12g%s", value == 0 ? 0 : value, end); /* no -0 */
    }
}

int rt_points_write_csv(const struct rt_assessment *assessment, const bool *front, const char *path)
{
    struct rt_new_file file;
    struct columns columns;
    int status = rt_file_create(path, &file);
    if (status != RT_OK)
        return status;
    make_columns(assessment, front, &columns);
    for (size_t c = 0; c < columns.count; c++)
        fprintf(file.stream, "%s%s", columns.column[c].name, c + 1 < columns.count ? "," : "\n");
    for (size_t p = 0; p < assessment->exploration->space.points; p++)
        write_row(file.stream, assessment->exploration, &columns, p);
    release_columns(&columns);
    return rt_file_finish(&file);
}

/* ---- HDF5 ---- */

static int write_texts(const struct rt_assessment *assessment, struct rt_h5 *file)
{
    const struct rt_exploration *exploration = assessment->exploration;
    struct rt_text models = {0}, limits = {0};
    for (size_t m = 0; m < exploration->model_count; m++)
        rt_text_item(&models, "\n", "%s", exploration->models[m].name);
    for (size_t l = 0; l < exploration->limit_count; l++)
        rt_text_item(&limits, "\n", "%s", exploration->limits[l].name);
    int status = rt_h5_set_text(file, "/", "format", rt_points_h5_kind.format);
    if (status == RT_OK)
        status = rt_h5_set_integer(file, "/", "version", 1);
    if (status == RT_OK)
        status = rt_h5_set_text(file, "/", "gpu", exploration->base.name);
    if (status == RT_OK)
        status = rt_h5_set_text(file, "/", "models", models.text);
    if (status == RT_OK)
        status = rt_h5_set_text(file, "/", "limits", limits.text);
    for (int p = 0; status == RT_OK && p < RT_PRICED_COUNT; p++)
        if (assessment->formulas[p].steps > 0)
            status = rt_h5_set_text(file, "/", rt_priced[p], assessment->formulas[p].text);
    rt_text_release(&models);
    rt_text_release(&limits);
    return status;
}

static int write_columns(const struct columns *columns, size_t points, struct rt_h5 *file)
{
    int status = rt_h5_make_group(file, "/points");
    for (size_t c = 0; status == RT_OK && c < columns->count; c++) {
        char path[200];
        snprintf(path, sizeof path, "/points/%s", columns->column[c].name);
        const struct rt_h5_array array = {.path = path,
                                          .type = RT_H5_F64,
                                          .units = columns->column[c].units,
                                          .long_name = columns->column[c].name};
        status = rt_h5_write(file, &array, columns->column[c].value, sizeof(double), points);
    }
    return status;
}

int rt_points_write_h5(const struct rt_assessment *assessment, const bool *front, const char *path)
{
    struct rt_h5 *file;
    struct columns columns;
    int status = rt_h5_create(path, &file);
    if (status != RT_OK)
        return status;
    make_columns(assessment, front, &columns);
    status = write_texts(assessment, file);
    if (status == RT_OK)
        status = write_columns(&columns, assessment->exploration->space.points, file);
    release_columns(&columns);
    if (status == RT_OK)
        return rt_h5_commit(file);
    rt_h5_close(file);
    return status;
}
