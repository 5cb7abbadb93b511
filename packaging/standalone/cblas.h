/* What rooftile calls of OpenBLAS, by blas.c in place of it: forecasts need products of a few thousand weights, and
 * OpenBLAS' kernels are two thirds of the program. */
#ifndef ROOFTILE_PACKAGING_STANDALONE_CBLAS_H
#define ROOFTILE_PACKAGING_STANDALONE_CBLAS_H

typedef int blasint;
typedef enum { CblasRowMajor = 101 } CBLAS_ORDER;
typedef enum { CblasNoTrans = 111, CblasTrans = 112 } CBLAS_TRANSPOSE;

void cblas_sgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k,
                 float alpha, const float *a, blasint lda, const float *b, blasint ldb, float beta, float *c,
                 blasint ldc);
void cblas_dgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k,
                 double alpha, const double *a, blasint lda, const double *b, blasint ldb, double beta, double *c,
                 blasint ldc);
char *openblas_get_config(void);
char *openblas_get_corename(void);
int openblas_get_num_threads(void);
void openblas_set_num_threads(int threads);

#endif
