/* Blocks of numbers: see real.h. */
#include "models/predictors/nn/real.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

#define CACHE_LINE 64

rt_real *rt_real_new(size_t count)
{
    const size_t per_line = CACHE_LINE / sizeof(rt_real);
    rt_real *block = NULL;
    if (count < SIZE_MAX / sizeof *block - per_line)
        block = aligned_alloc(CACHE_LINE, (count / per_line + 1) * CACHE_LINE);
    if (block == NULL)
        return rt_calloc(count,
                         sizeof *block); /* ends the program with its sentence where there is no memory */
    return memset(block, 0, count * sizeof *block);
}

void rt_real_transpose(size_t rows, size_t columns, size_t from_ld, const rt_real *from, size_t to_ld,
                       rt_real *to)
{
    for (size_t c = 0; c < columns; c++)
        for (size_t r = 0; r < rows; r++)
            to[c * to_ld + r] = from[r * from_ld + c];
}
