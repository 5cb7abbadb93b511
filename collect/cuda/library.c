#include "collect/cuda/library.h"
#include "collect/cuda/driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum rt_cuda_found rt_cuda_library_load(const struct rt_cuda_library *library, void *table,
                                        const char **lacks)
{
    const char *own[] = {getenv(library->variable), NULL};
    bool named = own[0] != NULL && own[0][0] != '\0';
    void *handle = rt_cuda_open_library(named ? own : library->files);
    *lacks = NULL;
    if (handle == NULL)
        return RT_CUDA_ABSENT;
    for (size_t i = 0; i < library->symbol_count; i++) {
        void *function = dlsym(handle, library->symbols[i].name);
        if (function == NULL) {
            *lacks = library->symbols[i].name;
            dlclose(handle);
            return RT_CUDA_LACKS_SYMBOLS;
        }
        memcpy((char *)table + library->symbols[i].offset, &function, sizeof function);
    }
    return RT_CUDA_FOUND;
}
