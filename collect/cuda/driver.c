/* The CUDA driver, opened at run time. See driver.h. */
#include "collect/cuda/driver.h"
#include "base/status.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The name that cuda.h's macros make of a function: cuMemAlloc is "cuMemAlloc_v2" in the library. */
#define SPELLED(symbol) #symbol
#define MAPPED(symbol)  SPELLED(symbol)

#define ROW(member, symbol) {offsetof(struct rt_cuda_driver, member), MAPPED(symbol)},
static const struct row {
    size_t offset;
    const char *symbol;
} required[] = {RT_CUDA_FUNCTIONS(ROW)}, optional[] = {RT_CUDA_OPTIONAL_FUNCTIONS(ROW)};
#undef ROW

/* Functions that a newer cuda.h maps to a version which drivers of CUDA 12 before 12.8 (or 11 before 11.4)
 * lack. Only those whose older version takes and does the same: cuMemAlloc without _v2 has 32-bit addresses.
 */
static const char *const older[][2] = {
    {"cuEventElapsedTime_v2", "cuEventElapsedTime"},
    {"cuDeviceGetUuid_v2", "cuDeviceGetUuid"},
};

/* Errors of cuInit, and what to do about them. */
static const struct {
    CUresult result;
    const char *sentence;
} init_failures[] = {
    {CUDA_ERROR_NO_DEVICE, "no CUDA device: the NVIDIA driver is there, but it finds no GPU (or "
                           "CUDA_VISIBLE_DEVICES hides all of them); nvidia-smi shows what it sees"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "no CUDA device: the driver's library and its kernel module are of "
                                        "different versions; reload the module or reboot"},
    {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
     "no CUDA device: a forward-compatibility libcuda is in the loader's path that this GPU does not allow; "
     "take it out of LD_LIBRARY_PATH"},
    {CUDA_ERROR_STUB_LIBRARY, "no CUDA device: libcuda.so.1 is the toolkit's stub, not a driver; take the "
                              "toolkit's stubs folder out of LD_LIBRARY_PATH"},
    {CUDA_ERROR_SYSTEM_NOT_READY,
     "no CUDA device: the driver is not ready yet; on a machine with NVSwitch start nvidia-fabricmanager"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, "no CUDA device: the GPU is busy or in exclusive mode with another "
                                    "process; wait until it ends (nvidia-smi shows it)"},
};

static void *slot(struct rt_cuda_driver *driver, const struct row *row)
{
    return (char *)driver + row->offset;
}

static void *find_symbol(void *library, const char *symbol)
{
    void *found = dlsym(library, symbol);
    for (size_t i = 0; found == NULL && i < RT_COUNT(older); i++)
        if (strcmp(symbol, older[i][0]) == 0)
            found = dlsym(library, older[i][1]);
    return found;
}

static int find_functions(struct rt_cuda_driver *driver, const char *library)
{
    for (size_t i = 0; i < RT_COUNT(required); i++) {
        void *found = find_symbol(driver->library, required[i].symbol);
        if (found == NULL)
            return rt_fail(RT_ENOTFOUND,
                           "%s has no %s: the NVIDIA driver is too old for this build (CUDA %d.%d); update "
                           "the driver, or build rooftile with an older toolkit",
                           library, required[i].symbol, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
        memcpy(slot(driver, &required[i]), &found, sizeof found);
    }
    for (size_t i = 0; i < RT_COUNT(optional); i++) {
        void *found = find_symbol(driver->library, optional[i].symbol);
        memcpy(slot(driver, &optional[i]), &found, sizeof found);
    }
    return RT_OK;
}

static const char *name_of(const struct rt_cuda_driver *driver, CUresult result)
{
    const char *name = NULL;
    if (driver->error_name == NULL || driver->error_name(result, &name) != CUDA_SUCCESS || name == NULL)
        return "unknown error";
    return name;
}

static int initialise(struct rt_cuda_driver *driver)
{
    int devices = 0;
    CUresult result = driver->init(0);
    for (size_t i = 0; i < RT_COUNT(init_failures); i++)
        if (result == init_failures[i].result)
            return rt_fail(RT_ENOTFOUND, "%s", init_failures[i].sentence);
    if (result != CUDA_SUCCESS)
        return rt_fail(RT_ENOTFOUND,
                       "no CUDA device: the driver does not start: cuInit returns %s (%d); does nvidia-smi "
                       "work, and may this user open /dev/nvidia*?",
                       name_of(driver, result), (int)result);
    result = driver->device_count(&devices);
    if (result != CUDA_SUCCESS || devices == 0)
        return rt_fail(RT_ENOTFOUND, "%s", init_failures[0].sentence);
    if (driver->driver_version(&driver->version) != CUDA_SUCCESS)
        driver->version = 0;
    return RT_OK;
}

static struct rt_cuda_driver opened; /* the one driver of this process; never closed */
static pid_t opened_by;

bool rt_cuda_driver_is_open(void)
{
    return opened.library != NULL && opened_by == getpid();
}

int rt_cuda_driver(const struct rt_cuda_driver **out)
{
    if (opened.library != NULL) {
        if (opened_by != getpid())
            return rt_fail(RT_EIO, "the CUDA driver was started before this process was forked and is of no "
                                   "use in it; open the backend in the process that measures");
        *out = &opened;
        return RT_OK;
    }
    struct rt_cuda_driver driver = {0};
    const char *named = getenv("ROOFTILE_CUDA_DRIVER"), *library = named != NULL ? named : "libcuda.so.1";
    driver.library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (driver.library == NULL)
        return rt_fail(RT_ENOTFOUND,
                       named != NULL ? "no CUDA device: ROOFTILE_CUDA_DRIVER names %s, which does not open"
                                     : "no CUDA device: there is no NVIDIA driver here (%s does not open); "
                                       "install one, or collect with {backend} cpu",
                       library);
    int status = find_functions(&driver, library);
    if (status == RT_OK)
        status = initialise(&driver);
    if (status != RT_OK) {
        dlclose(driver.library);
        return status;
    }
    opened = driver;
    opened_by = getpid();
    *out = &opened;
    return RT_OK;
}

int rt_cuda_check(CUresult result, const char *device, const char *call)
{
    const char *text = NULL;
    if (result == CUDA_SUCCESS)
        return RT_OK;
    if (opened.error_string == NULL || opened.error_string(result, &text) != CUDA_SUCCESS || text == NULL)
        text = "unknown error";
    return rt_fail(RT_EIO, "%s: %s: %s (%s)", device, call, text, name_of(&opened, result));
}

/* CUDA Driver API, CUresult: "this leaves the process in an inconsistent state and any further CUDA work will
 * return the same error", and errors that mean that the device or its context is lost. */
bool rt_cuda_is_sticky(CUresult result)
{
    switch ((int)result) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_SYSTEM_NOT_READY:
    case CUDA_ERROR_MPS_CONNECTION_FAILED:
    case CUDA_ERROR_MPS_RPC_FAILURE:
    case CUDA_ERROR_MPS_SERVER_NOT_READY:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case 721: /* CUDA_ERROR_TENSOR_MEMORY_LEAK, which older headers lack */
    case CUDA_ERROR_UNKNOWN:
        return true;
    default:
        return false;
    }
}

static void *open_in(const char *folder, const char *sub, const char *name)
{
    char *path = rt_format("%s/%s/%s", folder, sub, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    free(path);
    return library;
}

/* The first of `names` (NULL-terminated) that exists in the loader's path or the folders of CUDA_HOME or
 * /usr/local/cuda. */
static void *open_library(const char *const *names)
{
    const char *const homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    static const char *const subs[] = {"lib64", "lib", "targets/x86_64-linux/lib", "extras/CUPTI/lib64"};
    for (size_t n = 0; names[n] != NULL; n++) {
        void *library = dlopen(names[n], RTLD_NOW | RTLD_LOCAL);
        if (library != NULL)
            return library;
    }
    for (size_t n = 0; names[n] != NULL; n++)
        for (size_t h = 0; h < RT_COUNT(homes); h++)
            for (size_t s = 0; s < RT_COUNT(subs) && homes[h] != NULL && homes[h][0] == '/'; s++) {
                void *library = open_in(homes[h], subs[s], names[n]);
                if (library != NULL)
                    return library;
            }
    return NULL;
}

/* ---- cuBLASLt, cuDNN, CUPTI ---- */

enum rt_cuda_found rt_cuda_library_load(const struct rt_cuda_library *library, void *table,
                                        const char **lacks)
{
    const char *own[] = {getenv(library->variable), NULL};
    bool named = own[0] != NULL && own[0][0] != '\0';
    void *handle = open_library(named ? own : library->files);
    *lacks = NULL;
    if (handle == NULL)
        return RT_CUDA_ABSENT;
    for (size_t i = 0; i < library->symbol_count; i++) {
        void *function = dlsym(handle, library->symbols[i].name);
        if (function == NULL) {
            *lacks = library->symbols[i].name;
            dlclose(handle);
            return RT_CUDA_LACKS_SYMBOLS;
        }
        memcpy((char *)table + library->symbols[i].offset, &function, sizeof function);
    }
    return RT_CUDA_FOUND;
}
