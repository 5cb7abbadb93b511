/* A CUPTI for tests: while it is enabled, kernels reported to fake_cupti_ran become records. */
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static int enabled, times_enabled;
static CUptiResult next_enable;
static CUpti_ActivityKernel9 ran[64];
static size_t ran_count;

/* For the test: a kernel that runs now. */
void fake_cupti_ran(const char *name, int32_t grid, int32_t block, uint16_t registers, int32_t shared,
                    uint64_t ns)
{
    if (!enabled || ran_count == sizeof ran / sizeof *ran)
        return;
    ran[ran_count++] = (CUpti_ActivityKernel9){.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               .registersPerThread = registers,
                                               .start = 1000,
                                               .end = 1000 + ns,
                                               .gridX = grid,
                                               .gridY = 2,
                                               .gridZ = 1,
                                               .blockX = block,
                                               .blockY = 1,
                                               .blockZ = 1,
                                               .staticSharedMemory = 16,
                                               .dynamicSharedMemory = shared,
                                               .name = name};
}

/* For the test: the result of the next attempt to enable; is it enabled; how often was it. */
void fake_cupti_refuse(CUptiResult result)
{
    next_enable = result;
}

int fake_cupti_enabled(void)
{
    return enabled;
}

int fake_cupti_times(void)
{
    return times_enabled;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed)
{
    request = requested;
    complete = completed;
    return requested == NULL || completed == NULL ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    if (request == NULL || kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
        return CUPTI_ERROR_INVALID_KIND;
    CUptiResult result = next_enable;
    next_enable = CUPTI_SUCCESS;
    enabled = result == CUPTI_SUCCESS;
    times_enabled += enabled;
    return result;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    if (kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || !enabled)
        return CUPTI_ERROR_INVALID_KIND;
    enabled = 0;
    return CUPTI_SUCCESS;
}

/* As many buffers as it takes, and one that stays empty. */
CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    size_t done = 0;
    do {
        uint8_t *buffer = NULL;
        size_t size = 0, most = 0;
        request(&buffer, &size, &most);
        size_t fit =
            size / sizeof *ran < 2 ? size / sizeof *ran : 2; /* two at most, so that there are several */
        size_t count = ran_count - done < fit ? ran_count - done : fit;
        memcpy(buffer, ran + done, count * sizeof *ran);
        complete(NULL, 0, buffer, size, count * sizeof *ran);
        done += count;
        if (count == 0)
            break;
    } while (1);
    ran_count = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    uint8_t *next = *record == NULL ? buffer : (uint8_t *)*record + sizeof *ran;
    if (next + sizeof *ran > buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)next;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                                                          : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_SUCCESS;
}
