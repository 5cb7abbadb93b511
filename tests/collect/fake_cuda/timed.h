/*
 * Time of the fake libraries on the fake driver's clock. Libraries are opened separately, so they look up the
 * driver's function; where the driver is not loaded (tests of the libraries alone), nothing is timed and
 * results are computed.
 */
#pragma once

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

/* True where the fake driver has taken note that something ran for so long, and results are not wanted
 * (FAKE_CUDA_COMPUTE=1 wants them). */
static bool fake_timed(double us)
{
    static void (*ran)(double us);
    static bool looked;
    const char *name = getenv("ROOFTILE_CUDA_DRIVER");
    void *driver = !looked && name != NULL ? dlopen(name, RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (driver != NULL)
        *(void **)&ran = dlsym(driver, "fake_cuda_ran");
    looked = true;
    if (ran != NULL)
        ran(us);
    return ran != NULL && getenv("FAKE_CUDA_COMPUTE") == NULL;
}
