/*
 * The number the networks are made of: float in the library and in predictor files. The same sources are also
 * compiled with RT_REAL double by the tests, where finite differences and PyTorch's float64 need the digits.
 */
#pragma once

#include <stddef.h>

#ifndef RT_REAL
#define RT_REAL float
#endif

typedef RT_REAL rt_real;

/* `count` zeros aligned to a cache line, so that speed does not depend on malloc. Free with free(). */
rt_real *rt_real_new(size_t count) __attribute__((malloc, returns_nonnull));

/* to (columns, rows) = from (rows, columns) transposed; the leading dimensions are the distances of
 * their rows. */
void rt_real_transpose(size_t rows, size_t columns, size_t from_ld, const rt_real *from, size_t to_ld,
                       rt_real *to);

/* For functions whose loop reads and writes every number once: compiled for several vector widths, one of
 * which is chosen when the program is loaded. No sum is reordered and nothing is contracted, so all give the
 * same bytes. Not with clang or sanitizers, which run before that choice. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&                          \
    !defined(__SANITIZE_THREAD__)
#define RT_WIDE __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define RT_WIDE
#endif
