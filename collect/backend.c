/* The table of backends. See backend.h. */
#include "collect/backend.h"
#include "base/status.h"
#include "base/text.h"

#include <string.h>

extern const struct rt_backend rt_backend_cpu, rt_backend_cuda, rt_backend_synthetic;

const struct rt_backend *const rt_backends[] = {
    &rt_backend_cpu,
#ifdef ROOFTILE_CUDA
    &rt_backend_cuda,
#endif
    &rt_backend_synthetic,
};
const size_t rt_backend_count = RT_COUNT(rt_backends);

int rt_backend_find(const char *name, const struct rt_backend **out)
{
    struct rt_text names = {0};
    for (size_t i = 0; i < rt_backend_count; i++)
        if (strcmp(rt_backends[i]->name, name) == 0) {
            *out = rt_backends[i];
            return RT_OK;
        }
    for (size_t i = 0; i < rt_backend_count; i++)
        rt_text_item(&names, ", ", "%s", rt_backends[i]->name);
    bool cuda = strcmp(name, "cuda") == 0; /* known, and not in this build */
    int status = rt_fail(RT_ENOTFOUND,
                         "backend \"%s\" is not one of %s%s; `rooftile collect --list` shows what they have",
                         name, names.text,
                         cuda ? "; this program was built without it: build it where the CUDA toolkit is "
                                "(docs/guide/collect.md)"
                              : "");
    rt_text_release(&names);
    return status;
}
