/* NVML, opened at run time. See nvml.h. */
#include "collect/cuda/nvml.h"
#include "base/status.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct nvml_device *nvml_device;
enum { NVML_SUCCESS = 0, NVML_CLOCK_SM = 1, NVML_TEMPERATURE_GPU = 0 };

/* X(member, symbol, parameters); all return 0 for success. */
#define NVML_FUNCTIONS(X)                                                                                    \
    X(init, nvmlInit_v2, (void))                                                                             \
    X(by_pci, nvmlDeviceGetHandleByPciBusId_v2, (const char *, nvml_device *))                               \
    X(by_uuid, nvmlDeviceGetHandleByUUID, (const char *, nvml_device *))                                     \
    X(clock, nvmlDeviceGetClockInfo, (nvml_device, int, unsigned *))                                         \
    X(clock_most, nvmlDeviceGetMaxClockInfo, (nvml_device, int, unsigned *))                                 \
    X(temperature, nvmlDeviceGetTemperature, (nvml_device, int, unsigned *))                                 \
    X(power, nvmlDeviceGetPowerUsage, (nvml_device, unsigned *))                                             \
    X(power_limit, nvmlDeviceGetEnforcedPowerLimit, (nvml_device, unsigned *))                               \
    X(energy, nvmlDeviceGetTotalEnergyConsumption, (nvml_device, unsigned long long *))                      \
    X(reasons, nvmlDeviceGetCurrentClocksEventReasons, (nvml_device, unsigned long long *))                  \
    X(reasons_before_535, nvmlDeviceGetCurrentClocksThrottleReasons, (nvml_device, unsigned long long *))    \
    X(ecc, nvmlDeviceGetEccMode, (nvml_device, unsigned *, unsigned *))                                      \
    X(mig, nvmlDeviceGetMigMode, (nvml_device, unsigned *, unsigned *))                                      \
    X(persistence, nvmlDeviceGetPersistenceMode, (nvml_device, unsigned *))                                  \
    X(driver_version, nvmlSystemGetDriverVersion, (char *, unsigned))

static struct {
    void *library;
    pid_t user; /* the process that has initialised it */
    const char *missing;
    char driver[80];
#define MEMBER(member, symbol, parameters) int(*member) parameters;
    NVML_FUNCTIONS(MEMBER)
#undef MEMBER
} nvml;

#define ROW(member, symbol, parameters) {offsetof(__typeof__(nvml), member), #symbol},
static const struct {
    size_t offset;
    const char *symbol;
} functions[] = {NVML_FUNCTIONS(ROW)};
#undef ROW

static const char *open_nvml(void)
{
    const char *named = getenv("ROOFTILE_NVML");
    if (nvml.library == NULL) {
        nvml.library = dlopen(named != NULL ? named : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (nvml.library == NULL)
            return "NVML is not installed (libnvidia-ml.so.1)";
        for (size_t i = 0; i < RT_COUNT(functions); i++) {
            void *found = dlsym(nvml.library, functions[i].symbol);
            memcpy((char *)&nvml + functions[i].offset, &found, sizeof found);
        }
    }
    if (nvml.init == NULL || nvml.init() != NVML_SUCCESS)
        return "NVML does not start";
    return NULL;
}

const char *rt_nvml_missing(void)
{
    if (nvml.user != getpid()) {
        nvml.missing = open_nvml();
        nvml.user = getpid();
    }
    return nvml.missing;
}

void *rt_nvml_find(const char *pci, const char *uuid)
{
    nvml_device device = NULL;
    if (rt_nvml_missing() != NULL)
        return NULL;
    if (nvml.by_pci != NULL && nvml.by_pci(pci, &device) == NVML_SUCCESS)
        return device;
    if (nvml.by_uuid != NULL && nvml.by_uuid(uuid, &device) == NVML_SUCCESS)
        return device;
    return NULL;
}

static double clock_mhz(int (*function)(nvml_device, int, unsigned *), nvml_device device, int what)
{
    unsigned value;
    return function != NULL && function(device, what, &value) == NVML_SUCCESS ? value : NAN;
}

static double watts(int (*function)(nvml_device, unsigned *), nvml_device device)
{
    unsigned milliwatts;
    return function != NULL && function(device, &milliwatts) == NVML_SUCCESS ? 1e-3 * milliwatts : NAN;
}

double rt_nvml_number(void *device, enum rt_nvml_quantity quantity)
{
    unsigned long long millijoules;
    if (device == NULL)
        return NAN;
    switch (quantity) {
    case RT_NVML_SM_CLOCK_MHZ:
        return clock_mhz(nvml.clock, device, NVML_CLOCK_SM);
    case RT_NVML_SM_CLOCK_MOST_MHZ:
        return clock_mhz(nvml.clock_most, device, NVML_CLOCK_SM);
    case RT_NVML_TEMPERATURE_C:
        return clock_mhz(nvml.temperature, device, NVML_TEMPERATURE_GPU);
    case RT_NVML_POWER_W:
        return watts(nvml.power, device);
    case RT_NVML_POWER_LIMIT_W:
        return watts(nvml.power_limit, device);
    case RT_NVML_ENERGY_MJ:
        if (nvml.energy != NULL && nvml.energy(device, &millijoules) == NVML_SUCCESS)
            return (double)millijoules;
        return NAN;
    }
    return NAN;
}

const char *rt_nvml_mode(void *device, enum rt_nvml_mode mode)
{
    unsigned now = 0, pending = 0;
    int failed = 1;
    if (device != NULL && mode == RT_NVML_ECC && nvml.ecc != NULL)
        failed = nvml.ecc(device, &now, &pending);
    if (device != NULL && mode == RT_NVML_MIG && nvml.mig != NULL)
        failed = nvml.mig(device, &now, &pending);
    if (device != NULL && mode == RT_NVML_PERSISTENCE && nvml.persistence != NULL)
        failed = nvml.persistence(device, &now);
    return failed ? "unknown" : now ? "on" : "off";
}

const char *rt_nvml_driver(void)
{
    if (rt_nvml_missing() != NULL || nvml.driver_version == NULL ||
        nvml.driver_version(nvml.driver, sizeof nvml.driver) != NVML_SUCCESS)
        return "unknown";
    return nvml.driver;
}

uint64_t rt_nvml_reasons(void *device)
{
    unsigned long long reasons;
    if (device == NULL)
        return 0;
    if (nvml.reasons != NULL && nvml.reasons(device, &reasons) == NVML_SUCCESS)
        return reasons;
    if (nvml.reasons_before_535 != NULL && nvml.reasons_before_535(device, &reasons) == NVML_SUCCESS)
        return reasons;
    return 0;
}

/* The most severe first. Left out: GPU idle (0x1), clocks set by the user (0x2), sync boost with another GPU
 * (0x10), display clocks (0x100). */
static const struct {
    uint64_t bit;
    bool fault;
    const char *text;
} throttles[] = {
    {0x40, true, "hardware thermal slowdown"},
    {0x80, true, "hardware power brake"},
    {0x8, true, "hardware slowdown"},
    {0x20, true, "software thermal slowdown"},
    {0x4, false, "power cap"},
};

const char *rt_nvml_throttle(uint64_t reasons, bool *fault)
{
    *fault = false;
    for (size_t i = 0; i < RT_COUNT(throttles); i++)
        if (reasons & throttles[i].bit) {
            *fault = throttles[i].fault;
            return throttles[i].text;
        }
    return NULL;
}
