/* Numbers by dtype in predictor files. See dtype_scales_file.h. */
#include "models/predictors/predictor/dtype_scales_file.h"
#include "base/status.h"

struct rt_h5_array rt_dtypes_array(const char *long_name, const char *names[RT_DTYPE_COUNT])
{
    for (size_t d = 0; d < RT_DTYPE_COUNT; d++)
        names[d] = rt_dtypes[d].name;
    return (struct rt_h5_array){
        .type = RT_H5_U8, .long_name = long_name, .names = names, .name_count = RT_DTYPE_COUNT};
}

static struct rt_h5_array dtypes_of_scales(const char *names[RT_DTYPE_COUNT])
{
    return rt_dtypes_array("dtype of each scale", names);
}

static struct rt_h5_array scales_array(const struct rt_dtype_scales *layout)
{
    return (struct rt_h5_array){.type = RT_H5_F64, .units = "1", .long_name = layout->long_name};
}

int rt_dtype_scales_write(const struct rt_dtype_scales *layout, struct rt_h5 *file, const char *group,
                          const double scale[RT_DTYPE_COUNT])
{
    const char *names[RT_DTYPE_COUNT];
    uint8_t dtype[RT_DTYPE_COUNT];
    double written[RT_DTYPE_COUNT];
    size_t count = 0;
    for (uint8_t d = 0; d < RT_DTYPE_COUNT; d++)
        if (scale[d] != layout->none) {
            written[count] = scale[d];
            dtype[count++] = d;
        }
    if (count == 0)
        return RT_OK;
    int status = rt_h5_write_in(file, group, layout->dtypes, dtypes_of_scales(names), dtype, 1, count);
    return status == RT_OK ? rt_h5_write_in(file, group, layout->scales, scales_array(layout), written,
                                            sizeof *written, count)
                           : status;
}

int rt_dtype_scales_read(const struct rt_dtype_scales *layout, struct rt_h5 *file, const char *group,
                         double scale[RT_DTYPE_COUNT])
{
    const char *names[RT_DTYPE_COUNT];
    uint8_t dtype[RT_DTYPE_COUNT];
    double written[RT_DTYPE_COUNT];
    size_t count = 0;
    if (!rt_h5_exists_in(file, group, layout->scales))
        return RT_OK;
    int status = rt_h5_count_in(file, group, layout->scales, scales_array(layout), &count);
    if (status == RT_OK && count > RT_DTYPE_COUNT)
        return rt_fail(RT_EFORMAT, "%s: %s/%s holds %zu scales of %d dtypes: the file is damaged",
                       rt_h5_path(file), group, layout->scales, count, RT_DTYPE_COUNT);
    if (status == RT_OK)
        status = rt_h5_read_in(file, group, layout->dtypes, dtypes_of_scales(names), dtype, 1, count);
    if (status == RT_OK)
        status = rt_h5_read_range(file, group, layout->scales, scales_array(layout), written, sizeof *written,
                                  count, layout->low, layout->high);
    for (size_t i = 0; status == RT_OK && i < count; i++)
        scale[dtype[i]] = written[i];
    return status;
}
