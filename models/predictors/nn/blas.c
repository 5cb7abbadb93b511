/* Calls of BLAS and LAPACK. See blas.h. */
#include "models/predictors/nn/blas.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __x86_64__
/* Vector widths by generation: 2 AVX-512, 1 AVX2, 0 older. */

static int generation_of_core(const char *core)
{
    static const struct {
        const char *core;
        int generation;
    } cores[] = {{"SapphireRapids", 2}, {"Cooperlake", 2}, {"SkylakeX", 2}, {"Zen", 1}, {"Haswell", 1}};
    for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++)
        if (strcasecmp(core, cores[i].core) == 0)
            return cores[i].generation;
    return 0;
}

static int generation_of_cpu(void)
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return 2;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 1 : 0;
}

void rt_blas_tune(char **argv)
{
    int generation = generation_of_cpu();
    if (getenv("OPENBLAS_CORETYPE") == NULL && strstr(openblas_get_config(), "DYNAMIC_ARCH") != NULL &&
        generation_of_core(openblas_get_corename()) < generation &&
        setenv("OPENBLAS_CORETYPE", generation == 2 ? "SkylakeX" : "Haswell", 0) == 0)
        execv("/proc/self/exe", argv);
}
#else
void rt_blas_tune(char **argv)
{
    (void)argv;
}
#endif

const char *rt_blas_core(void)
{
    return openblas_get_corename();
}

const char *rt_blas_library(void)
{
    return openblas_get_config();
}

void rt_blas_single_thread(void)
{
    openblas_set_num_threads(1);
}

void rt_gemm(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const rt_real *a, size_t lda,
             const rt_real *b, size_t ldb, rt_real beta, rt_real *c, size_t ldc)
{
    CBLAS_TRANSPOSE ta = transpose_a ? CblasTrans : CblasNoTrans,
                    tb = transpose_b ? CblasTrans : CblasNoTrans;
    blasint rows = (blasint)m, columns = (blasint)n, inner = (blasint)k;
    if (sizeof(rt_real) == sizeof(float))
        cblas_sgemm(CblasRowMajor, ta, tb, rows, columns, inner, 1, (const void *)a, (blasint)lda,
                    (const void *)b, (blasint)ldb, (float)beta, (void *)c, (blasint)ldc);
    else
        cblas_dgemm(CblasRowMajor, ta, tb, rows, columns, inner, 1, (const void *)a, (blasint)lda,
                    (const void *)b, (blasint)ldb, (double)beta, (void *)c, (blasint)ldc);
}

/* Debian's OpenBLAS carries LAPACK, but not always its C header. */
void dposv_(const char *triangle, const blasint *n, const blasint *columns, double *a, const blasint *lda,
            double *b, const blasint *ldb, blasint *info);

bool rt_solve_positive(size_t n, double *a, double *b)
{
    const blasint order = (blasint)n, one = 1;
    blasint info = 0;
    if (n > 0)
        dposv_("L", &order, &one, a, &order, b, &order, &info);
    for (size_t i = 0; info != 0 && i < n; i++)
        b[i] = NAN;
    return info == 0;
}
