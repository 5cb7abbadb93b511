/* GPUs and their prices by name. See priced_gpu.h. */
#include "predict/step/priced_gpu.h"
#include "base/status.h"
#include "base/strings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int find_gpus(const struct rt_names *names, struct rt_priced_gpu *out)
{
    int status = RT_OK;
    if (names->count > RT_MOST_PRICED_GPUS)
        return rt_fail(RT_EUSAGE, "{gpu}: at most %d kinds of GPU", RT_MOST_PRICED_GPUS);
    for (size_t g = 0; status == RT_OK && g < names->count; g++) {
        out[g] = (struct rt_priced_gpu){.asked = names->name[g], .price = NAN};
        status = rt_device_find(out[g].asked, &out[g].device);
        for (size_t other = 0; status == RT_OK && other < g; other++)
            if (strcmp(out[other].asked, out[g].asked) != 0 &&
                rt_device_same(&out[other].device, &out[g].device))
                status = rt_fail(RT_EUSAGE, "{gpu} %s and {gpu} %s are the same GPU; name it once",
                                 out[other].asked, out[g].asked);
    }
    return status;
}

/* The GPU of a name as it was asked for, or of the same device. */
static int find_asked(const char *name, struct rt_priced_gpu *gpu, size_t count, struct rt_priced_gpu **found)
{
    struct rt_device device;
    *found = NULL;
    for (size_t g = 0; g < count; g++)
        if (strcmp(gpu[g].asked, name) == 0)
            *found = &gpu[g];
    int status = *found != NULL ? RT_OK : rt_device_find(name, &device);
    for (size_t g = 0; status == RT_OK && *found == NULL && g < count; g++)
        if (rt_device_same(&gpu[g].device, &device))
            *found = &gpu[g];
    return status;
}

static int set_price(const char *text, struct rt_priced_gpu *gpu, size_t count)
{
    const char *equals = strrchr(text, '=');
    struct rt_priced_gpu *found;
    double price;
    if (equals == NULL || equals == text || rt_parse_real(equals + 1, strlen(equals + 1), &price) != 0 ||
        !(price > 0) || !isfinite(price))
        return rt_fail(RT_EUSAGE, "{price} %s: give GPU=PRICE of a GPU-hour, above 0, such as H100=2.5",
                       text);
    char *name = rt_format("%.*s", (int)(equals - text), text);
    int status = find_asked(name, gpu, count, &found);
    if (status != RT_OK)
        status = rt_fail_context(status, "{price} %s", text);
    else if (found == NULL)
        status = rt_fail(RT_EUSAGE, "{price} %s: %s is not among the GPUs; add {gpu} %s", text, name, name);
    else
        found->price = price;
    free(name);
    return status;
}

int rt_priced_gpus_find(const struct rt_names *names, const struct rt_names *prices,
                        struct rt_priced_gpu *out, size_t *count)
{
    int status = find_gpus(names, out);
    *count = names->count;
    for (size_t p = 0; status == RT_OK && p < prices->count; p++)
        status = set_price(prices->name[p], out, names->count);
    return status;
}
