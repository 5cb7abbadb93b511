/* The fake driver as one of CUDA 12.2 would be: without green contexts, and without the second versions of
 * two functions. */
#define FAKE_CUDA_OLD
#include "tests/collect/fake_cuda/driver.c"
