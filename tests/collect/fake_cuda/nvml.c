/* An NVML for tests: one board at each of the fake driver's addresses. FAKE_NVML_REASONS: reasons for
 * lowered clocks, NVML's bits. Its energy counter advances by 100 W, in steps of 10 ms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int board;

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device)
{
    *device = &board;
    return strncmp(address, "0000:0", 6) == 0 ? 0 : 6;
}

int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz)
{
    *mhz = which == 1 ? 1400 : 2000;
    return device == &board ? 0 : 2;
}

int nvmlDeviceGetMaxClockInfo(void *device, int which, unsigned *mhz)
{
    *mhz = 1980;
    return device == &board && which == 1 ? 0 : 2;
}

int nvmlDeviceGetTemperature(void *device, int which, unsigned *celsius)
{
    *celsius = 55;
    return device == &board && which == 0 ? 0 : 2;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = 345600;
    return device == &board ? 0 : 2;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts)
{
    *milliwatts = 700000;
    return device == &board ? 0 : 2;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *millijoules = 1000 * (unsigned long long)((double)now.tv_sec * 100 + 1e-7 * (double)now.tv_nsec);
    return device == &board ? 0 : 2;
}

int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons)
{
    const char *text = getenv("FAKE_NVML_REASONS");
    *reasons = text != NULL ? strtoull(text, NULL, 0) : 1; /* idle */
    return device == &board ? 0 : 2;
}

int nvmlDeviceGetEccMode(void *device, unsigned *now, unsigned *pending)
{
    *now = *pending = 1;
    return device == &board ? 0 : 2;
}

int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending)
{
    *now = *pending = 0;
    return device == &board ? 0 : 2;
}

int nvmlDeviceGetPersistenceMode(void *device, unsigned *now)
{
    *now = 1;
    return device == &board ? 0 : 2;
}

int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    snprintf(version, size, "580.00.00");
    return 0;
}
