/*
 * cuBLASLt, cuDNN or CUPTI, opened when it is first needed and called through a table of functions: nothing
 * of it is linked, and a test can replace it.
 */
#ifndef ROOFTILE_COLLECT_CUDA_LIBRARY_H
#define ROOFTILE_COLLECT_CUDA_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct rt_cuda_symbol {
    const char *name;
    size_t offset; /* of the pointer in the table of functions */
};

struct rt_cuda_library {
    const char *variable;     /* of the environment: names another file, "ROOFTILE_CUBLASLT" */
    const char *const *files; /* newest first, NULL-terminated */
    const struct rt_cuda_symbol *symbols;
    size_t symbol_count;
};

enum rt_cuda_found { RT_CUDA_ABSENT, RT_CUDA_LACKS_SYMBOLS, RT_CUDA_FOUND };

/* Fills `table` and never closes the library again. Of LACKS_SYMBOLS, *lacks is the first one. */
enum rt_cuda_found rt_cuda_library_load(const struct rt_cuda_library *library, void *table,
                                        const char **lacks);

#endif
