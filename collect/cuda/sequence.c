/* A model's kernels on a GPU. See sequence.h. */
#include "collect/cuda/sequence.h"
#include "base/progress.h"
#include "collect/cuda/jobs/makers.h"
#include "base/status.h"
#include "base/strings.h"

#include <stdlib.h>
#include <string.h>

/* Operands of one kind, of all jobs: a ring. */
struct area {
    struct rt_cuda_operand like; /* its bytes are those of the area */
    CUdeviceptr device;
    size_t largest; /* of a launch */
    size_t cursor;  /* memory before it was used last */
};

struct rt_cuda_sequence {
    struct rt_cuda_gpu *gpu;
    const struct rt_sequence *sequence;
    struct rt_cuda_job *job; /* (sequence->count) */
    struct area *area;
    size_t areas;
    uint8_t (*area_of)[RT_CUDA_OPERANDS]; /* (sequence->count) */
    CUdeviceptr block;                    /* 0: none */
    CUdeviceptr workspace;
};

enum { MOST_AREAS = 64 };

/* ---- areas ---- */

static bool alike(const struct rt_cuda_operand *a, const struct rt_cuda_operand *b)
{
    if (a->fill != b->fill)
        return false;
    switch (a->fill) {
    case RT_FILL_VALUES:
        return a->dtype == b->dtype;
    case RT_FILL_INDICES:
        return a->limit == b->limit;
    default:
        return true;
    }
}

/* Fill, type and range, without the size. */
static struct rt_cuda_operand kind_of(const struct rt_cuda_operand *operand)
{
    struct rt_cuda_operand kind = *operand;
    kind.dtype = kind.dtype == RT_TF32 ? RT_FP32 : kind.dtype == RT_FP8_BLOCK ? RT_FP8 : kind.dtype;
    kind.bytes = 0;
    return kind;
}

/* The area of an operand, added where it is new; MOST_AREAS: there are too many. */
static size_t find_area(struct rt_cuda_sequence *s, const struct rt_cuda_operand *operand)
{
    struct rt_cuda_operand kind = kind_of(operand);
    size_t a = 0;
    while (a < s->areas && !alike(&s->area[a].like, &kind))
        a++;
    if (a == s->areas && a < MOST_AREAS)
        s->area[s->areas++] = (struct area){.like = kind};
    return a;
}

/* Bytes that a launch of job `j` takes of an area. */
static size_t taken(const struct rt_cuda_sequence *s, size_t j, size_t area)
{
    size_t bytes = 0;
    for (int i = 0; i < s->job[j].operands; i++)
        if (s->area_of[j][i] == area)
            bytes += rt_cuda_padded(s->job[j].operand[i].bytes);
    return bytes;
}

static void plan_areas(struct rt_cuda_sequence *s, const char **refused)
{
    for (size_t j = 0; j < s->sequence->count; j++) {
        for (int i = 0; i < s->job[j].operands; i++) {
            size_t area = find_area(s, &s->job[j].operand[i]);
            if (s->job[j].operand[i].on_host || area == MOST_AREAS) {
                *refused = s->job[j].operand[i].on_host ? "copies to or from the host run in no sequence"
                                                        : "too many kinds of indices in one sequence";
                return;
            }
            s->area_of[j][i] = (uint8_t)area;
        }
        for (size_t a = 0; a < s->areas; a++)
            if (taken(s, j, a) > s->area[a].largest)
                s->area[a].largest = taken(s, j, a);
    }
}

/* ---- memory ---- */

static size_t largest_workspace(const struct rt_cuda_sequence *s)
{
    size_t most = 0;
    for (size_t j = 0; j < s->sequence->count; j++)
        most = s->job[j].workspace_bytes > most ? s->job[j].workspace_bytes : most;
    return rt_cuda_padded(most);
}

/* One block for the workspace and all areas, each with `spare` bytes more than its largest launch.
 * CUDA_ERROR_OUT_OF_MEMORY where that is more than `room`. */
static CUresult reserve(struct rt_cuda_sequence *s, size_t spare, size_t room)
{
    size_t workspace = largest_workspace(s), bytes = workspace;
    for (size_t a = 0; a < s->areas; a++) {
        s->area[a].like.bytes = s->area[a].largest > 0 ? s->area[a].largest + rt_cuda_padded(spare) : 0;
        if (s->area[a].like.bytes > room)
            return CUDA_ERROR_OUT_OF_MEMORY;
        bytes += s->area[a].like.bytes;
    }
    if (bytes == 0)
        return CUDA_SUCCESS;
    if (bytes > room)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = s->gpu->driver->alloc(&s->block, bytes);
    if (result != CUDA_SUCCESS) {
        s->block = 0;
        return result;
    }
    CUdeviceptr at = s->block + workspace;
    s->workspace = workspace > 0 ? s->block : 0;
    for (size_t a = 0; a < s->areas; a++) {
        s->area[a].device = at;
        at += s->area[a].like.bytes;
    }
    return CUDA_SUCCESS;
}

static int place(struct rt_cuda_sequence *s, size_t l2_bytes, const char **refused)
{
    size_t left, total;
    CUresult result = s->gpu->driver->memory_left(&left, &total);
    if (result != CUDA_SUCCESS)
        return rt_cuda_check(result, s->gpu->name, "cuMemGetInfo");
    size_t room = left / 10 * 9; /* the rest is for libraries and fragments */
    result = reserve(s, RT_CUDA_ROTATED_CACHES * l2_bytes, room);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        result = reserve(s, 0, room);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        *refused = "out of memory";
        return RT_OK;
    }
    return rt_cuda_check(result, s->gpu->name, "cuMemAlloc");
}

static int fill_areas(struct rt_cuda_sequence *s, uint64_t seed)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t a = 0; a < s->areas && result == CUDA_SUCCESS; a++) {
        uint64_t which[2] = {seed, a};
        if (s->area[a].like.bytes > 0)
            result = rt_cuda_fill(s->gpu, &s->area[a].like, s->area[a].device,
                                  rt_hash(RT_HASH_START, which, sizeof which));
    }
    if (result == CUDA_SUCCESS)
        result = s->gpu->driver->stream_wait(s->gpu->stream);
    return rt_cuda_check(result, s->gpu->name, "filling operands");
}

/* Operands of the next launch of job `j`; those of one launch never share memory. */
static void take(struct rt_cuda_sequence *s, size_t j, CUdeviceptr at[RT_CUDA_OPERANDS])
{
    const struct rt_cuda_job *job = &s->job[j];
    for (size_t a = 0; a < s->areas; a++)
        if (s->area[a].cursor + taken(s, j, a) > s->area[a].like.bytes)
            s->area[a].cursor = 0;
    for (int i = 0; i < job->operands; i++) {
        struct area *area = &s->area[s->area_of[j][i]];
        at[i] = area->device + area->cursor;
        area->cursor += rt_cuda_padded(job->operand[i].bytes);
    }
}

/* ---- making and ending ---- */

void rt_cuda_sequence_free(struct rt_cuda_sequence *s)
{
    if (s == NULL)
        return;
    for (size_t j = 0; j < s->sequence->count; j++)
        rt_cuda_job_release(&s->job[j]);
    if (s->block != 0)
        s->gpu->driver->release(s->block);
    free(s->job);
    free(s->area);
    free(s->area_of);
    free(s);
}

static int make_jobs(struct rt_cuda_sequence *s, void (*alive)(void *to), void *to, const char **refused)
{
    int status = RT_OK;
    for (size_t j = 0; j < s->sequence->count && status == RT_OK && *refused == NULL; j++) {
        const struct rt_task *task = &s->sequence->tasks[j];
        if (task->variant == RT_PAGEABLE)
            *refused = "copies to or from the host run in no sequence";
        else
            status = rt_cuda_job_make(s->gpu, task, &s->job[j], refused);
        alive(to);
    }
    return status;
}

static int try_jobs(struct rt_cuda_sequence *s, void (*alive)(void *to), void *to, const char **refused)
{
    CUdeviceptr at[RT_CUDA_OPERANDS] = {0};
    int status = RT_OK;
    for (size_t j = 0; j < s->sequence->count && status == RT_OK && *refused == NULL; j++) {
        take(s, j, at);
        status = rt_cuda_job_try(&s->job[j], at, s->workspace, refused);
        alive(to);
    }
    return status;
}

int rt_cuda_sequence_new(struct rt_cuda_gpu *gpu, const struct rt_sequence *sequence, size_t l2_bytes,
                         uint64_t seed, void (*alive)(void *to), void *to, struct rt_cuda_sequence **out,
                         const char **refused)
{
    struct rt_cuda_sequence *s = rt_calloc(1, sizeof *s);
    *s = (struct rt_cuda_sequence){.gpu = gpu, .sequence = sequence};
    s->job = rt_calloc(sequence->count, sizeof *s->job);
    s->area = rt_calloc(MOST_AREAS, sizeof *s->area);
    s->area_of = rt_calloc(sequence->count, sizeof *s->area_of);
    *out = NULL;
    *refused = NULL;
    int status = make_jobs(s, alive, to, refused);
    if (status == RT_OK && *refused == NULL)
        plan_areas(s, refused);
    if (status == RT_OK && *refused == NULL)
        status = place(s, l2_bytes, refused);
    if (status == RT_OK && *refused == NULL)
        status = fill_areas(s, seed);
    if (status == RT_OK && *refused == NULL)
        status = try_jobs(s, alive, to, refused);
    if (status == RT_OK && *refused == NULL)
        *out = s;
    else
        rt_cuda_sequence_free(s);
    return status;
}

/* ---- timing ---- */

/* Launches from..to-1 of the sequence; the queue is released before launch RT_CUDA_HELD_LAUNCHES. */
static CUresult queue_launches(struct rt_cuda_sequence *s, struct rt_cuda_timer *timer, size_t from,
                               size_t to, double *released_s)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t l = from; l < to && result == CUDA_SUCCESS; l++) {
        CUdeviceptr at[RT_CUDA_OPERANDS] = {0};
        size_t j = s->sequence->launches[l];
        if (l == RT_CUDA_HELD_LAUNCHES) {
            rt_cuda_release_queue(timer);
            *released_s = rt_clock();
        }
        take(s, j, at);
        result = s->job[j].launch(&s->job[j], at, s->workspace);
    }
    return result;
}

/* Events: before[0], after[0] at the end of the forward part, after[1] at the end. */
static CUresult queue_run(struct rt_cuda_sequence *s, struct rt_cuda_timer *timer, double *released_s)
{
    const struct rt_cuda_driver *driver = s->gpu->driver;
    size_t forward = s->sequence->forward;
    CUresult result = rt_cuda_block_queue(timer);
    if (result == CUDA_SUCCESS)
        result = rt_cuda_stamp(timer, 0);
    if (result == CUDA_SUCCESS)
        result = driver->event_record(timer->before[0], s->gpu->stream);
    if (result == CUDA_SUCCESS)
        result = queue_launches(s, timer, 0, forward, released_s);
    if (result == CUDA_SUCCESS)
        result = driver->event_record(timer->after[0], s->gpu->stream);
    if (result == CUDA_SUCCESS)
        result = queue_launches(s, timer, forward, s->sequence->launch_count, released_s);
    if (result == CUDA_SUCCESS && forward < s->sequence->launch_count)
        result = driver->event_record(timer->after[1], s->gpu->stream);
    return result == CUDA_SUCCESS ? rt_cuda_stamp(timer, 1) : result;
}

static CUresult read_run(const struct rt_cuda_sequence *s, const struct rt_cuda_timer *timer, double us[2])
{
    const struct rt_cuda_driver *driver = s->gpu->driver;
    float forward_ms = 0, rest_ms = 0;
    CUresult result = driver->event_elapsed(&forward_ms, timer->before[0], timer->after[0]);
    if (result == CUDA_SUCCESS && s->sequence->forward < s->sequence->launch_count)
        result = driver->event_elapsed(&rest_ms, timer->after[0], timer->after[1]);
    us[0] = 1e3 * (double)forward_ms;
    us[1] = 1e3 * (double)rest_ms;
    return result;
}

int rt_cuda_sequence_time(struct rt_cuda_sequence *s, struct rt_cuda_timer *timer, rt_cuda_watch watch,
                          void *watcher, double us[3])
{
    const struct rt_cuda_gpu *gpu = s->gpu;
    for (int tries = 0; tries < RT_CUDA_TRIES; tries++) {
        double released_s = 0;
        CUresult result = queue_run(s, timer, &released_s);
        us[2] = released_s > 0 ? 1e6 * (rt_clock() - released_s) : 0;
        rt_cuda_release_queue(timer);
        watch(watcher);
        CUresult waited = gpu->driver->stream_wait(gpu->stream);
        if (waited != CUDA_SUCCESS || result != CUDA_SUCCESS)
            return rt_cuda_check(waited != CUDA_SUCCESS ? waited : result, gpu->name, "a run of the model");
        if (rt_cuda_was_blocked(timer))
            return rt_cuda_check(read_run(s, timer, us), gpu->name, "cuEventElapsedTime");
    }
    return rt_cuda_not_blocked(timer);
}
