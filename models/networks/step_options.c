/* How the options of a step are read. See step_options.h. */
#include "models/networks/step_options.h"
#include "base/status.h"

#include <string.h>

int rt_read_dtype(const char *option, const char *text, void *value)
{
    enum rt_dtype dtype;
    int status = rt_dtype_argument(option, text, &dtype);
    if (status == RT_OK)
        *(int *)value = (int)dtype;
    return status;
}

/* A dtype, or "none": the one that all else has. */
int rt_read_dtype_or_none(const char *option, const char *text, void *value)
{
    if (strcmp(text, "none") != 0)
        return rt_read_dtype(option, text, value);
    *(int *)value = RT_DTYPE_NONE;
    return RT_OK;
}
