/* Source: NVIDIA, CUPTI documentation 13.0, "CUPTI Activity API". */
#include "collect/cuda/profile.h"
#include "collect/cuda/driver.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<cupti.h>)
#include <cupti.h>
#include <pthread.h>

#define CUPTI_FUNCTIONS(X)                                                                                   \
    X(register_buffers, cuptiActivityRegisterCallbacks)                                                      \
    X(enable, cuptiActivityEnable)                                                                           \
    X(disable, cuptiActivityDisable)                                                                         \
    X(flush, cuptiActivityFlushAll)                                                                          \
    X(next_record, cuptiActivityGetNextRecord)                                                               \
    X(text, cuptiGetResultString)

static struct {
#define CUPTI_MEMBER(member, symbol) __typeof__(symbol) *member;
    CUPTI_FUNCTIONS(CUPTI_MEMBER)
} cupti;

static const struct rt_cuda_symbol cupti_symbols[] = {
#define CUPTI_SYMBOL(member, symbol) {#symbol, offsetof(__typeof__(cupti), member)},
    CUPTI_FUNCTIONS(CUPTI_SYMBOL)};

enum { BUFFER_BYTES = 1 << 16, MOST_KERNELS = 32 };

/* Records of the pass that is under way. CUPTI hands buffers over on a thread of its own. */
static struct {
    pthread_mutex_t lock;
    size_t count;
    struct traced {
        const char *name;
        int32_t grid[3], block[3], registers, shared_bytes;
        uint64_t ns;
    } kernel[MOST_KERNELS];
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* One copy of every text: few kernels run for thousands of shapes. */
static const char *keep_text(const char *text)
{
    static char **texts;
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(texts[i], text) == 0)
            return texts[i];
    texts = rt_realloc(texts, count + 1, sizeof *texts);
    texts[count] = rt_strdup(text);
    return texts[count++];
}

static void give_buffer(uint8_t **buffer, size_t *size, size_t *most_records)
{
    *buffer = aligned_alloc(64, BUFFER_BYTES);
    *size = *buffer == NULL ? 0 : BUFFER_BYTES;
    *most_records = 0;
}

/* Later versions of the record only add to its end. */
static void keep_record(const CUpti_ActivityKernel9 *record)
{
    if (trace.count == MOST_KERNELS || record->name == NULL)
        return;
    trace.kernel[trace.count++] =
        (struct traced){.name = keep_text(record->name),
                        .grid = {record->gridX, record->gridY, record->gridZ},
                        .block = {record->blockX, record->blockY, record->blockZ},
                        .registers = record->registersPerThread,
                        .shared_bytes = record->staticSharedMemory + record->dynamicSharedMemory,
                        .ns = record->end - record->start};
}

static void take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    CUpti_Activity *record = NULL;
    pthread_mutex_lock(&trace.lock);
    while (cupti.next_record(buffer, valid, &record) == CUPTI_SUCCESS)
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
            record->kind == CUPTI_ACTIVITY_KIND_KERNEL)
            keep_record((const CUpti_ActivityKernel9 *)record);
    pthread_mutex_unlock(&trace.lock);
    free(buffer);
}

static char missing[160]; /* "" while no call of CUPTI has failed */

static bool failed(CUptiResult result)
{
    const char *text = NULL;
    if (result == CUPTI_SUCCESS)
        return false;
    if (cupti.text(result, &text) != CUPTI_SUCCESS || text == NULL)
        text = "it failed";
    snprintf(missing, sizeof missing, "CUPTI: %s", text);
    return true;
}

static void open_cupti(void)
{
    static const char *const files[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL};
    static bool tried;
    if (tried)
        return;
    tried = true;
    const struct rt_cuda_driver *driver = NULL;
    bool old = rt_cuda_driver(&driver) == RT_OK && driver->version < 13000;
    const struct rt_cuda_library library = {"ROOFTILE_CUPTI", old ? files + 1 : files, cupti_symbols,
                                            RT_COUNT(cupti_symbols)};
    const char *lacks;
    enum rt_cuda_found found = rt_cuda_library_load(&library, &cupti, &lacks);
    if (found == RT_CUDA_ABSENT)
        snprintf(missing, sizeof missing, "CUPTI is not installed");
    else if (found == RT_CUDA_LACKS_SYMBOLS)
        snprintf(missing, sizeof missing, "the CUPTI that is installed lacks %s", lacks);
    else
        failed(cupti.register_buffers(give_buffer, take_buffer));
}

const char *rt_cuda_profile_missing(void)
{
    open_cupti();
    return missing[0] == '\0' ? NULL : missing;
}

/* "a;b" of all that ran */
static const char *join_names(void)
{
    struct rt_text text = {0};
    for (size_t i = 0; i < trace.count; i++)
        rt_text_item(&text, ";", "%s", trace.kernel[i].name);
    const char *kept = keep_text(text.text != NULL ? text.text : "");
    rt_text_release(&text);
    return kept;
}

static void describe_trace(struct rt_launch_config *kernel)
{
    if (trace.count == 0)
        return;
    const struct traced *longest = &trace.kernel[0];
    for (size_t i = 1; i < trace.count; i++)
        if (trace.kernel[i].ns > longest->ns)
            longest = &trace.kernel[i];
    kernel->name = longest->name;
    kernel->names = trace.count > 1 ? join_names() : NULL;
    memcpy(kernel->grid, longest->grid, sizeof kernel->grid);
    memcpy(kernel->block, longest->block, sizeof kernel->block);
    kernel->registers = longest->registers;
    kernel->shared_bytes = longest->shared_bytes;
}

/* Errors are left to the timed runs, except a lost device. */
static int launch_once(struct rt_cuda_gpu *gpu, struct rt_cuda_job *job, const CUdeviceptr *operands,
                       CUdeviceptr workspace)
{
    CUresult result = job->launch(job, operands, workspace);
    if (result == CUDA_SUCCESS)
        result = gpu->driver->stream_wait(gpu->stream);
    return rt_cuda_is_sticky(result) ? rt_cuda_check(result, gpu->name, "the first run") : RT_OK;
}

int rt_cuda_profile(struct rt_cuda_gpu *gpu, struct rt_cuda_job *job, const CUdeviceptr *operands,
                    CUdeviceptr workspace)
{
    if (rt_cuda_profile_missing() != NULL)
        return RT_OK;
    if (failed(cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)))
        return RT_OK;
    pthread_mutex_lock(&trace.lock);
    trace.count = 0;
    pthread_mutex_unlock(&trace.lock);
    int status = launch_once(gpu, job, operands, workspace);
    CUptiResult flushed = cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    CUptiResult disabled = cupti.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    if (status == RT_OK && !failed(flushed) && !failed(disabled)) {
        pthread_mutex_lock(&trace.lock);
        describe_trace(&job->kernel);
        pthread_mutex_unlock(&trace.lock);
    }
    return status;
}

#else /* a toolkit without CUPTI's header */

int rt_cuda_profile(struct rt_cuda_gpu *gpu, struct rt_cuda_job *job, const CUdeviceptr *operands,
                    CUdeviceptr workspace)
{
    (void)gpu;
    (void)job;
    (void)operands;
    (void)workspace;
    return RT_OK;
}

const char *rt_cuda_profile_missing(void)
{
    return "built without CUPTI";
}

#endif
