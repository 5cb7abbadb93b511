/* Lines in predictor files: a group each, laid out as FORMAT.md describes. */
#include "base/status.h"
#include "models/baselines/linear.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADD(call)                                                                                            \
    do {                                                                                                     \
        if ((status = (call)) != RT_OK)                                                                      \
            return status;                                                                                   \
    } while (0)

static int write_line(struct rt_h5 *file, const char *base, const struct rt_line *line)
{
    int status;
    ADD(rt_h5_make_group(file, base));
    ADD(rt_h5_set_text(file, base, "device", line->device));
    ADD(rt_h5_set_text(file, base, "dtype", rt_dtypes[line->dtype].name));
    ADD(rt_h5_set_text(file, base, "amount", rt_line_bys[line->by]));
    ADD(rt_h5_set_real(file, base, "start_us", line->start_us));
    ADD(rt_h5_set_real(file, base, "rate_per_s", line->rate));
    ADD(rt_h5_set_real(file, base, "peak_per_s", line->peak));
    return rt_h5_set_integer(file, base, "kernels", line->kernels);
}

int rt_linear_baseline_write(const struct rt_linear_baseline *lines, struct rt_h5 *file, const char *group)
{
    int status;
    char path[160];
    ADD(rt_h5_make_group(file, group));
    for (size_t i = 0; i < lines->count; i++) {
        snprintf(path, sizeof path, "%s/%04zu", group, i);
        ADD(write_line(file, path, &lines->line[i]));
    }
    return RT_OK;
}

static int by_find(const char *name)
{
    for (int i = 0; i < RT_LINE_BY_COUNT; i++)
        if (strcmp(rt_line_bys[i], name) == 0)
            return i;
    return -1;
}

static int read_line(struct rt_h5 *file, const char *base, struct rt_line *line)
{
    int status, dtype = 0, by = 0;
    char *device;
    ADD(rt_h5_get_text(file, base, "device", &device));
    snprintf(line->device, sizeof line->device, "%s", device);
    free(device);
    ADD(rt_h5_get_name(file, base, "dtype", rt_dtype_find, &dtype));
    ADD(rt_h5_get_name(file, base, "amount", by_find, &by));
    ADD(rt_h5_get_real(file, base, "start_us", &line->start_us));
    ADD(rt_h5_get_real(file, base, "rate_per_s", &line->rate));
    ADD(rt_h5_get_real(file, base, "peak_per_s", &line->peak));
    ADD(rt_h5_get_integer(file, base, "kernels", &line->kernels));
    line->dtype = (uint8_t)dtype;
    line->by = (uint8_t)by;
    bool sound = line->start_us >= 0 && line->start_us < 1e12 && line->rate > 0 && line->peak > 0 &&
                 isfinite(line->rate) && isfinite(line->peak);
    return sound ? RT_OK
                 : rt_fail(RT_EFORMAT, "%s: %s holds a line that cannot be: the file is damaged",
                           rt_h5_path(file), base);
}

struct reader {
    struct rt_linear_baseline *lines;
    const char *group;
};

static int read_child(struct rt_h5 *file, const char *name, void *context)
{
    struct reader *reader = context;
    struct rt_linear_baseline *lines = reader->lines;
    char path[160];
    snprintf(path, sizeof path, "%s/%.16s", reader->group, name);
    lines->line = rt_realloc(lines->line, lines->count + 1, sizeof *lines->line);
    lines->line[lines->count++] = (struct rt_line){0};
    return read_line(file, path, &lines->line[lines->count - 1]);
}

int rt_linear_baseline_read(struct rt_h5 *file, const char *group, struct rt_linear_baseline *lines)
{
    return rt_h5_each_child(file, group, read_child, &(struct reader){lines, group});
}
