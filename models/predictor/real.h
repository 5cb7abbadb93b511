/*
 * The number the networks are made of: float in the library and in predictor files. The same sources are also
 * compiled with -DRT_REAL=double by the tests, where finite differences and PyTorch's float64 need the
 * digits.
 */
#ifndef ROOFTILE_REAL_H
#define ROOFTILE_REAL_H

#ifndef RT_REAL
#define RT_REAL float
#endif

typedef RT_REAL rt_real;

/* On a loop that touches every number once: compiled for the vector widths of old and new CPUs, chosen when
 * the program is loaded. No sums are reordered and nothing is contracted, so every width gives the same
 * bytes. */
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(RT_SANITIZED)
#define RT_WIDE __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define RT_WIDE
#endif

#endif
