/* The linear baseline in predictor files: a group for each line, as FORMAT.md describes. */
#include "base/h5_struct.h"
#include "base/status.h"
#include "models/predictors/baselines/linear.h"

#include <math.h>
#include <stdio.h>

static const struct rt_h5_attribute attributes[] = {
    RT_H5_MEMBER(struct rt_line, device, "device", RT_H5_CHARS),
    RT_H5_MEMBER_NAME(struct rt_line, dtype, "dtype", rt_dtypes, RT_DTYPE_COUNT),
    RT_H5_MEMBER_NAME(struct rt_line, by, "amount", rt_line_bys, RT_LINE_BY_COUNT),
    RT_H5_MEMBER(struct rt_line, start_us, "start_us", RT_H5_REAL),
    RT_H5_MEMBER(struct rt_line, rate, "rate_per_s", RT_H5_REAL),
    RT_H5_MEMBER(struct rt_line, peak, "peak_per_s", RT_H5_REAL),
    RT_H5_MEMBER(struct rt_line, kernels, "kernels", RT_H5_INTEGER),
};

int rt_linear_baseline_write(const struct rt_linear_baseline *linear, struct rt_h5 *file, const char *group)
{
    char path[160];
    int status = rt_h5_make_group(file, group);
    for (size_t i = 0; status == RT_OK && i < linear->count; i++) {
        snprintf(path, sizeof path, "%s/%04zu", group, i);
        status = rt_h5_make_group(file, path);
        if (status == RT_OK)
            status = rt_h5_write_struct(file, path, attributes, RT_COUNT(attributes), &linear->line[i]);
    }
    return status;
}

struct reader {
    struct rt_linear_baseline *linear;
    const char *group;
};

static int read_line(struct rt_h5 *file, const char *name, void *context)
{
    struct reader *reader = context;
    struct rt_linear_baseline *linear = reader->linear;
    char path[160];
    snprintf(path, sizeof path, "%s/%.16s", reader->group, name);
    linear->line = rt_realloc(linear->line, linear->count + 1, sizeof *linear->line);
    struct rt_line *line = &linear->line[linear->count++];
    *line = (struct rt_line){0};
    int status = rt_h5_read_struct(file, path, attributes, RT_COUNT(attributes), line);
    if (status != RT_OK)
        return status;
    bool sound = line->start_us >= 0 && line->start_us < 1e12 && line->rate > 0 && line->peak > 0 &&
                 isfinite(line->rate) && isfinite(line->peak) && line->by == linear->line[0].by;
    return sound ? RT_OK
                 : rt_fail(RT_EFORMAT, "%s: %s holds a line that cannot be: the file is damaged",
                           rt_h5_path(file), path);
}

int rt_linear_baseline_read(struct rt_h5 *file, const char *group, struct rt_linear_baseline *linear)
{
    return rt_h5_each_child(file, group, read_line, &(struct reader){linear, group});
}
