/* Lists of numbers. See ranges.h. */
#include "base/ranges.h"
#include "base/options.h"
#include "base/status.h"
#include "base/strings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is read, and the list so far. */
struct list {
    const char *option, *text;
    const struct rt_range_kind *kind;
    struct rt_numbers *numbers;
};

static int add(struct list *list, double value)
{
    if (!(value > 0 && value <= list->kind->most))
        return rt_fail(RT_EUSAGE, "%s %s: %g is no %s; %s", list->option, list->text, value, list->kind->noun,
                       list->kind->bounds);
    if (list->numbers->count == RT_RANGES_MOST)
        return rt_fail(RT_EUSAGE, "%s: at most %d %s", list->option, RT_RANGES_MOST, list->kind->nouns);
    list->numbers->value[list->numbers->count++] = value;
    return RT_OK;
}

static int refuse_item(const struct list *list, const char *item, size_t length)
{
    return rt_fail(RT_EUSAGE, "%s %s: \"%.*s\" is no %s; %s", list->option, list->text,
                   (int)(length < 40 ? length : 40), item, list->kind->noun, list->kind->give);
}

/* From, to, step of an item of `length` letters; `to` and `step` are NaN where there are none. */
static int read_item(const struct list *list, const char *item, size_t length, double part[3])
{
    size_t count = 0;
    part[1] = part[2] = NAN;
    for (const char *at = item, *end = item + length; at <= end; count++) {
        const char *colon = memchr(at, ':', (size_t)(end - at));
        size_t letters = (size_t)((colon != NULL ? colon : end) - at);
        if (count == 3 || rt_parse_real(at, letters, &part[count]) != 0)
            return refuse_item(list, item, length);
        at += letters + 1;
    }
    if (count == 2 || (count == 3 && !(part[2] > 0)))
        return refuse_item(list, item, length);
    return RT_OK;
}

static int add_item(struct list *list, const char *item, size_t length)
{
    const double rounding = 1e-9;
    double part[3];
    int status = read_item(list, item, length, part);
    if (status != RT_OK)
        return status;
    double steps = isnan(part[2]) ? 0 : floor((part[1] - part[0]) / part[2] + rounding);
    if (steps < 0)
        return rt_fail(RT_EUSAGE, "%s %s: a range goes up, FROM:TO:STEP", list->option, list->text);
    for (double i = 0; status == RT_OK && i <= steps; i++)
        status = add(list, i == 0 ? part[0] : part[0] + i * part[2]);
    return status;
}

int rt_ranges_read(const char *option, const char *text, const struct rt_range_kind *kind,
                   struct rt_numbers *out)
{
    struct list list = {option, text, kind, out};
    int status = RT_OK;
    out->count = 0;
    for (const char *item = text; status == RT_OK; item++) {
        size_t length = strcspn(item, ",");
        status = add_item(&list, item, length);
        item += length;
        if (*item == '\0')
            break;
    }
    return status;
}

static int read_number(const char *option, const char *text, double least, double most, bool whole,
                       double *out)
{
    int64_t integer = 0;
    int status = whole ? rt_argument_integer(option, text, (int64_t)least, (int64_t)most, &integer)
                       : rt_argument_real(option, text, least, most, out);
    if (whole)
        *out = (double)integer;
    return status;
}

int rt_numbers_read(const char *option, const char *text, double least, double most, bool whole, size_t count,
                    struct rt_numbers *out)
{
    int status = RT_OK;
    out->count = 0;
    for (const char *item = text; status == RT_OK; item++) {
        size_t length = strcspn(item, ",");
        if (out->count == count)
            return rt_fail(RT_EUSAGE, "%s: at most %zu values", option, count);
        char *number = rt_format("%.*s", (int)length, item);
        status = read_number(option, number, least, most, whole, &out->value[out->count++]);
        free(number);
        item += length;
        if (*item == '\0')
            break;
    }
    return status;
}
