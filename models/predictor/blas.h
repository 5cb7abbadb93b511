/*
 * The one doorway to CBLAS (collect/backend_cpu.c aside, which times it). OpenBLAS works in the calling
 * thread; sharing out is the business of team.h, which knows what belongs together.
 */
#ifndef ROOFTILE_BLAS_H
#define ROOFTILE_BLAS_H

#include <stdbool.h>
#include <stddef.h>

#include "models/predictor/real.h"

/* Called first thing by main(). An OpenBLAS older than the CPU picks the kernels of a CPU it knows: 0.3.21
 * runs AVX2 kernels on a Zen 5, at half the speed of its own AVX-512 ones. It reads OPENBLAS_CORETYPE only
 * while it is loaded, so where the CPU has AVX-512, OpenBLAS did not choose an AVX-512 core and the user set
 * no OPENBLAS_CORETYPE (any value, also an empty one, switches this off), the variable is set and the program
 * re-executed, once. Where that can't be done nothing happens. */
void rt_blas_tune(char **argv);

/* OpenBLAS's kernels, "SkylakeX", and its version and build options in one line. */
const char *rt_blas_core(void);
const char *rt_blas_library(void);

/* From now on every call computes in its caller's thread. rt_mlp_init() calls it. */
void rt_blas_single_thread(void);

/* C (m,n) = op(A) (m,k) op(B) (k,n) + beta C, all row-major; the leading dimensions are those of a, b, c as
 * stored. A transposed operand is stored (k,m) or (n,k). Nothing may be 0. */
void rt_gemm(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const rt_real *a, size_t lda,
             const rt_real *b, size_t ldb, rt_real beta, rt_real *c, size_t ldc);

#endif
