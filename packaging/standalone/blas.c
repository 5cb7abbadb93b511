/* Products and a solver as plain loops: row-major, alpha 1 as every caller has it. See cblas.h. */
#include "cblas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__)
#define FOR_EACH_ISA __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_ISA
#endif

/* Rows of C gather rows of B, which is stored (n, k) where it is transposed and is turned around first. */
#define GEMM(name, real, turn, multiply)                                                                     \
    static real *turn(blasint n, blasint k, const real *b, blasint ldb)                                      \
    {                                                                                                        \
        real *turned = malloc((size_t)n * (size_t)k * sizeof *turned);                                       \
        if (turned == NULL)                                                                                  \
            abort();                                                                                         \
        for (blasint j = 0; j < n; j++)                                                                      \
            for (blasint p = 0; p < k; p++)                                                                  \
                turned[(size_t)p * (size_t)n + (size_t)j] = b[(size_t)j * (size_t)ldb + (size_t)p];          \
        return turned;                                                                                       \
    }                                                                                                        \
    FOR_EACH_ISA static void multiply(size_t n, real a, const real *b, real *c)                              \
    {                                                                                                        \
        for (size_t j = 0; j < n; j++)                                                                       \
            c[j] += a * b[j];                                                                                \
    }                                                                                                        \
    void name(CBLAS_ORDER order, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k,    \
              real alpha, const real *a, blasint lda, const real *b, blasint ldb, real beta, real *c,        \
              blasint ldc)                                                                                   \
    {                                                                                                        \
        real *turned = tb == CblasTrans ? turn(n, k, b, ldb) : NULL;                                         \
        const real *rows = turned != NULL ? turned : b;                                                      \
        size_t across = turned != NULL ? (size_t)n : (size_t)ldb;                                            \
        (void)order, (void)alpha;                                                                            \
        for (blasint i = 0; i < m; i++) {                                                                    \
            real *row = c + (size_t)i * (size_t)ldc;                                                         \
            for (blasint j = 0; j < n; j++)                                                                  \
                row[j] = beta != 0 ? beta * row[j] : 0;                                                      \
            for (blasint p = 0; p < k; p++)                                                                  \
                multiply((size_t)n,                                                                          \
                         ta == CblasTrans ? a[(size_t)p * (size_t)lda + (size_t)i]                           \
                                          : a[(size_t)i * (size_t)lda + (size_t)p],                          \
                         rows + (size_t)p * across, row);                                                    \
        }                                                                                                    \
        free(turned);                                                                                        \
    }
GEMM(cblas_sgemm, float, turn_floats, multiply_floats)
GEMM(cblas_dgemm, double, turn_doubles, multiply_doubles)

/* LAPACK's for one right-hand side: A (n,n), its lower triangle, by columns. Both are changed. */
void dposv_(const char *triangle, const blasint *order, const blasint *columns, double *a, const blasint *lda,
            double *b, const blasint *ldb, blasint *info);
void dposv_(const char *triangle, const blasint *order, const blasint *columns, double *a, const blasint *lda,
            double *b, const blasint *ldb, blasint *info)
{
    size_t n = (size_t)*order, across = (size_t)*lda;
    (void)triangle, (void)columns, (void)ldb;
    for (size_t j = 0; j < n; j++) {
        for (size_t k = 0; k < j; k++)
            for (size_t i = j; i < n; i++)
                a[j * across + i] -= a[k * across + i] * a[k * across + j];
        if (!(a[j * across + j] > 0)) {
            *info = (blasint)j + 1;
            return;
        }
        double root = sqrt(a[j * across + j]);
        for (size_t i = j; i < n; i++)
            a[j * across + i] /= root;
    }
    for (size_t j = 0; j < n; j++) {
        b[j] /= a[j * across + j];
        for (size_t i = j + 1; i < n; i++)
            b[i] -= a[j * across + i] * b[j];
    }
    for (size_t j = n; j-- > 0;) {
        for (size_t i = j + 1; i < n; i++)
            b[j] -= a[j * across + i] * b[i];
        b[j] /= a[j * across + j];
    }
    *info = 0;
}

char *openblas_get_config(void)
{
    static char words[] = "none: plain loops";
    return words;
}

char *openblas_get_corename(void)
{
    static char words[] = "plain";
    return words;
}

int openblas_get_num_threads(void)
{
    return 1;
}

void openblas_set_num_threads(int threads)
{
    (void)threads;
}
