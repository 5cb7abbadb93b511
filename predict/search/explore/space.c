/* Grids and Latin hypercubes. See space.h. */
#include "predict/search/explore/space.h"
#include "base/random.h"
#include "base/status.h"
#include "base/strings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rt_space_release(struct rt_space *space)
{
    free(space->sample);
    *space = (struct rt_space){0};
}

/* ---- reading ---- */

/* "80:200:8" into numbers; how many, -1 where one is none. */
static int read_numbers(const char *text, size_t length, double number[3])
{
    int count = 0;
    for (size_t at = 0; at <= length; count++) {
        size_t size = 0;
        while (at + size < length && text[at + size] != ':')
            size++;
        if (count == 3 || rt_parse_real(text + at, size, &number[count]) != 0)
            return -1;
        at += size + 1;
    }
    return count;
}

static int check_range(const char *option, const char *item, const struct rt_axis *axis, bool stepped)
{
    const struct rt_device_field *field = &rt_device_fields[axis->field];
    if (axis->high < axis->low)
        return rt_fail(RT_EUSAGE, "%s %s: the range is reversed; write %s=%g:%g", option, item, field->key,
                       axis->high, axis->low);
    if (stepped && !(axis->step > 0))
        return rt_fail(RT_EUSAGE, "%s %s: the step is %g; it must be more than 0", option, item, axis->step);
    if (axis->high == axis->low)
        return rt_fail(RT_EUSAGE, "%s %s: the range is empty; write %s=%g for one value", option, item,
                       field->key, axis->low);
    if (stepped && axis->step > axis->high - axis->low)
        return rt_fail(RT_EUSAGE, "%s %s: the step of %g is longer than the range", option, item, axis->step);
    return RT_OK;
}

static int check_values(const char *option, const char *item, const struct rt_axis *axis)
{
    const struct rt_device_field *field = &rt_device_fields[axis->field];
    if (axis->low >= field->min && axis->high <= field->max)
        return RT_OK;
    return rt_fail(RT_EUSAGE, "%s %s: %s must lie in %g..%g %s", option, item, field->key, field->min,
                   field->max, field->units[0] == '1' ? "" : field->units);
}

static int refuse_field(const char *option, const char *item, size_t key)
{
    char *keys = rt_device_field_keys();
    int status = rt_fail(RT_EUSAGE,
                         "%s %s: \"%.*s\" is no field of a device; write FIELD=LOW:HIGH:STEP, such as "
                         "sms=80:200:8; fields are %s",
                         option, item, (int)key, item, keys);
    free(keys);
    return status;
}

static int read_axis(const char *option, const char *item, struct rt_axis *out)
{
    size_t key = strcspn(item, "=");
    const struct rt_device_field *field = rt_device_field_named(item, key);
    double number[3] = {0};
    if (field == NULL || item[key] != '=')
        return refuse_field(option, item, key);
    int numbers = read_numbers(item + key + 1, strlen(item + key + 1), number);
    if (numbers < 1)
        return rt_fail(RT_EUSAGE, "%s %s: write %s=LOW:HIGH:STEP, such as %s=80:200:8, in numbers", option,
                       item, field->key, field->key);
    *out = (struct rt_axis){(size_t)(field - rt_device_fields), number[0], number[0], 0, 1};
    int status = RT_OK;
    if (numbers > 1) {
        out->high = number[1];
        out->step = number[2];
        status = check_range(option, item, out, numbers == 3);
        if (status != RT_OK)
            return status;
        double levels = numbers == 3 ? floor((out->high - out->low) / out->step * (1 + 1e-12)) + 1 : 0;
        out->levels = levels < RT_MOST_POINTS + 1 ? (size_t)levels : RT_MOST_POINTS + 1;
    }
    return check_values(option, item, out);
}

static int add_axis(const char *option, const char *item, struct rt_space *space)
{
    struct rt_axis axis;
    int status = read_axis(option, item, &axis);
    if (status != RT_OK)
        return status;
    for (size_t a = 0; a < space->axes; a++)
        if (space->axis[a].field == axis.field)
            return rt_fail(RT_EUSAGE, "%s %s: %s varies already", option, item,
                           rt_device_fields[axis.field].key);
    if (space->axes == RT_MOST_AXES)
        return rt_fail(RT_EUSAGE, "%s: at most %d fields may vary", option, RT_MOST_AXES);
    space->axis[space->axes++] = axis;
    return RT_OK;
}

int rt_space_read(const char *option, const char *text, struct rt_space *space)
{
    int status = RT_OK;
    for (const char *at = text; status == RT_OK; at++) {
        size_t length = strcspn(at, ",");
        char *item = rt_format("%.*s", (int)length, at);
        status = add_axis(option, item, space);
        free(item);
        at += length;
        if (*at == '\0')
            break;
    }
    return status;
}

/* ---- points ---- */

static double level(const struct rt_axis *axis, size_t i)
{
    return axis->low + (double)i * axis->step;
}

static int count_grid(struct rt_space *space)
{
    double points = 1;
    for (size_t a = 0; a < space->axes; a++) {
        if (space->axis[a].levels == 0)
            return rt_fail(
                RT_EUSAGE, "{vary} %s: a grid needs a step, as in %s=LOW:HIGH:STEP; or give {sample} N",
                rt_device_fields[space->axis[a].field].key, rt_device_fields[space->axis[a].field].key);
        points *= (double)space->axis[a].levels;
    }
    if (points > RT_MOST_POINTS)
        return rt_fail(RT_EUSAGE,
                       "{vary}: these are %.3g points or more, at most %d may be; take longer steps, or "
                       "{sample} N of them",
                       points, RT_MOST_POINTS);
    space->points = (size_t)points;
    return RT_OK;
}

static double sample_value(const struct rt_axis *axis, double share)
{
    if (axis->levels == 0)
        return axis->low + share * (axis->high - axis->low);
    size_t i = (size_t)(share * (double)axis->levels);
    return level(axis, i < axis->levels ? i : axis->levels - 1);
}

static void sample(struct rt_space *space, uint64_t seed)
{
    uint32_t *part = rt_malloc(space->points * sizeof *part);
    space->sample = rt_malloc(space->points * space->axes * sizeof *space->sample);
    for (size_t a = 0; a < space->axes; a++) {
        struct rt_random random;
        rt_random_seed(&random, seed, a);
        for (size_t p = 0; p < space->points; p++)
            part[p] = (uint32_t)p;
        rt_random_shuffle(&random, part, space->points);
        for (size_t p = 0; p < space->points; p++)
            space->sample[p * space->axes + a] = sample_value(
                &space->axis[a], ((double)part[p] + rt_random_uniform(&random)) / (double)space->points);
    }
    free(part);
}

int rt_space_points(struct rt_space *space, size_t count, uint64_t seed)
{
    if (count == 0)
        return count_grid(space);
    space->points = count;
    sample(space, seed);
    return RT_OK;
}

void rt_space_values(const struct rt_space *space, size_t point, double *values)
{
    for (size_t a = space->axes; a-- > 0;) {
        const struct rt_axis *axis = &space->axis[a];
        if (space->sample != NULL) {
            values[a] = space->sample[point * space->axes + a];
            continue;
        }
        values[a] = level(axis, point % axis->levels);
        point /= axis->levels;
    }
}

void rt_space_device(const struct rt_space *space, const double *values, const struct rt_device *base,
                     struct rt_device *out)
{
    struct rt_device_setting setting[RT_MOST_AXES];
    for (size_t a = 0; a < space->axes; a++)
        setting[a] = (struct rt_device_setting){space->axis[a].field, values[a]};
    *out = *base;
    rt_device_set(out, setting, space->axes);
    out->altered = true;
}
