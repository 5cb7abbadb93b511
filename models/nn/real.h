/*
 * The number the networks are made of: float in the library and in predictor files. The same sources are also
 * compiled with RT_REAL double by the tests, where finite differences and PyTorch's float64 need the digits.
 */
#ifndef ROOFTILE_MODELS_NN_REAL_H
#define ROOFTILE_MODELS_NN_REAL_H

#include <stddef.h>

#ifndef RT_REAL
#define RT_REAL float
#endif

typedef RT_REAL rt_real;

/* `count` zeros that begin on a cache line, so that where malloc put them can't change the speed. Free with
 * free(). */
rt_real *rt_real_new(size_t count) __attribute__((malloc, returns_nonnull));

/* to (columns, rows) = from (rows, columns) transposed; the leading dimensions say how far apart their rows
 * lie. */
void rt_real_transpose(size_t rows, size_t columns, size_t from_ld, const rt_real *from, size_t to_ld,
                       rt_real *to);

/* On a function whose loop touches every number once: compiled for old and new vector widths, one of which is
 * chosen when the program is loaded. No sum is reordered and nothing is contracted, so all give the same
 * bytes. Only where the compiler can and no sanitizer runs ahead of that choice. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&                          \
    !defined(__SANITIZE_THREAD__)
#define RT_WIDE __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define RT_WIDE
#endif

#endif
