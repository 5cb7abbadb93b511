/*
 * All calls of BLAS and LAPACK (collect/cpu/backend_cpu.c aside, which times BLAS). OpenBLAS computes in the
 * calling thread; work is shared out over threads by backprop.c and mlp.c, which know what belongs together.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/predictors/nn/real.h"

/* Called first by main(). OpenBLAS chooses its kernels by the CPU's model number; an Intel model newer than
 * the library gets those of a Pentium 4 (on a Zen 5 these reach 45 GFLOP/s, its own 245). It reads the choice
 * from OPENBLAS_CORETYPE while it is loaded. So where the kernels are of an older generation (none, AVX2,
 * AVX-512) than the CPU and OPENBLAS_CORETYPE is not set, this sets it and executes the program again, once.
 * A user's OPENBLAS_CORETYPE is kept, and where executing fails the program continues as it is. */
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

/* Solves A x = b for A (n,n) symmetric and positive definite, by Cholesky's factorisation (LAPACK's dposv); x
 * takes the place of b, the factor that of A. False where A is not positive definite; b is then all NaN. */
bool rt_solve_positive(size_t n, double *a, double *b);
