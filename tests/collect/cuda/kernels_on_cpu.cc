/* The kernels compiled for the CPU, and the scheduler of their threads. See cuda_on_cpu.h. */
#include "cuda_on_cpu.h"

#include "collect/cuda/kernels/kernels.cu"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RT_FIBERS_TOLD
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(RT_FIBERS_TOLD) /* it must know which stack is in use */
#include <sanitizer/common_interface_defs.h>
#define SWITCH_TO(fake, bottom, size) __sanitizer_start_switch_fiber(fake, bottom, size)
#define SWITCHED(fake, bottom, size)  __sanitizer_finish_switch_fiber(fake, bottom, size)
/* It clears its marks of a signal stack at every jump: a third of the time of the test. */
extern "C" __attribute__((visibility("default"))) const char *__asan_default_options()
{
    return "use_sigaltstack=0";
}
#else
#define SWITCH_TO(fake, bottom, size) (void)(fake)
#define SWITCHED(fake, bottom, size)  (void)(fake)
#endif

void (*on_cpu_clock)(void);

namespace on_cpu
{

enum { MOST_THREADS = 1024, STACK_BYTES = 128 * 1024 };

triple block_index, block_size, grid_size;
thread *current, *threads;
unsigned count;

static jmp_buf scheduler;
[[maybe_unused]] static const void *scheduler_stack;
[[maybe_unused]] static size_t scheduler_stack_bytes;
static char failure[256];
static const char *kernel_name;
static void (*kernel)(const rt_cuda_args);
static void (*kernel_without)();
static const rt_cuda_args *arguments;

void fail(const char *why)
{
    if (failure[0] == '\0')
        snprintf(failure, sizeof failure, "%s: %s", kernel_name, why);
}

void check_threads(unsigned most)
{
    if (count > most)
        fail("more threads in a block than it is compiled for");
}

uint64_t tick()
{
    static uint64_t now;
    if (on_cpu_clock != nullptr)
        on_cpu_clock();
    return now += 32;
}

/* From a thread to the scheduler and, later, back. */
void wait_for(enum state what, unsigned lanes)
{
    thread *me = current;
    void *fake = nullptr;
    me->state = what;
    me->lanes = lanes;
    SWITCH_TO(&fake, scheduler_stack, scheduler_stack_bytes);
    if (_setjmp(me->context) == 0)
        _longjmp(scheduler, 1);
    SWITCHED(fake, nullptr, nullptr);
}

static void enter()
{
    SWITCHED(nullptr, &scheduler_stack, &scheduler_stack_bytes);
    for (;;) {
        if (kernel != nullptr)
            kernel(*arguments);
        else
            kernel_without();
        wait_for(RETURNED, 0);
    }
}

static void resume(thread *next)
{
    void *fake = nullptr;
    current = next;
    SWITCH_TO(&fake, next->stack, (size_t)STACK_BYTES);
    if (_setjmp(scheduler) == 0) {
        if (next->started)
            _longjmp(next->context, 1);
        next->started = true;
        setcontext(&next->start);
    }
    SWITCHED(fake, nullptr, nullptr);
}

static void prepare(thread *it)
{
    if (it->stack == nullptr)
        it->stack = (char *)mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    getcontext(&it->start);
    it->start.uc_stack.ss_sp = it->stack;
    it->start.uc_stack.ss_size = STACK_BYTES;
    it->start.uc_link = nullptr;
    makecontext(&it->start, enter, 0);
}

static void start_block()
{
    count = block_size.x * block_size.y * block_size.z;
    if (threads == nullptr)
        threads = new thread[MOST_THREADS]();
    for (unsigned t = 0; t < count; t++) {
        thread *it = &threads[t];
        if (!it->started)
            prepare(it);
        it->number = t;
        it->thread = {t % block_size.x, t / block_size.x % block_size.y, t / block_size.x / block_size.y};
        it->state = READY;
    }
}

/* Lanes of a warp go on when all that they name wait with them. */
static bool release_warp(unsigned first)
{
    for (unsigned lane = 0; lane < 32; lane++) {
        thread *it = &threads[first + lane];
        if (first + lane >= count || it->state != AT_SHUFFLE)
            continue;
        for (unsigned other = 0; other < 32; other++) {
            if ((it->lanes >> other & 1) == 0)
                continue;
            if (first + other >= count || threads[first + other].state == RETURNED)
                fail("a shuffle names a lane that is not there any more");
            else if (threads[first + other].state != AT_SHUFFLE || threads[first + other].lanes != it->lanes)
                return false;
        }
        for (unsigned other = 0; other < 32; other++)
            if ((it->lanes >> other & 1) != 0 && first + other < count)
                threads[first + other].state = READY;
        return true;
    }
    return false;
}

/* Threads at the barrier go on when all that have not returned are there. */
static bool release_block(bool *all_returned)
{
    unsigned returned = 0, waiting = 0;
    for (unsigned t = 0; t < count; t++) {
        returned += threads[t].state == RETURNED;
        waiting += threads[t].state == AT_BARRIER;
    }
    *all_returned = returned == count;
    if (waiting == 0 || waiting + returned < count)
        return false;
    for (unsigned t = 0; t < count; t++)
        if (threads[t].state == AT_BARRIER)
            threads[t].state = READY;
    return true;
}

/* A warp runs as far ahead of the others as barriers permit, so that a missing barrier changes results. */
static bool run_warp(unsigned first, bool descending)
{
    unsigned lanes = first + 32 < count ? 32 : count - first;
    bool went_on = false, more = true;
    while (more && failure[0] == '\0') {
        more = false;
        for (unsigned k = 0; k < lanes; k++) {
            thread *next = &threads[first + (descending ? lanes - 1 - k : k)];
            if (next->state != READY)
                continue;
            resume(next);
            more = true;
        }
        more |= release_warp(first);
        went_on |= more;
    }
    return went_on;
}

static void run_block(bool descending)
{
    bool done = false;
    start_block();
    unsigned warps = (count + 31) / 32;
    while (failure[0] == '\0' && !done) {
        bool went_on = false;
        for (unsigned k = 0; k < warps; k++)
            went_on |= run_warp(32 * (descending ? warps - 1 - k : k), descending);
        went_on |= release_block(&done);
        if (!went_on && !done)
            fail("threads wait for others that never come");
    }
    for (unsigned t = 0; t < count; t++) /* one that still waits is left where it is */
        threads[t].started = threads[t].started && threads[t].state == RETURNED;
}

} // namespace on_cpu

const char *on_cpu_run(const struct on_cpu_launch *launch, const struct rt_cuda_args *args)
{
    using namespace on_cpu;
    void *found = dlsym(RTLD_DEFAULT, launch->kernel);
    kernel_name = launch->kernel;
    failure[0] = '\0';
    kernel = nullptr;
    if (found == nullptr)
        fail("there is no such kernel");
    else if (args != nullptr)
        memcpy(&kernel, &found, sizeof found);
    else
        memcpy(&kernel_without, &found, sizeof found);
    arguments = args;
    grid_size = {(unsigned)launch->grid[0], (unsigned)launch->grid[1], (unsigned)launch->grid[2]};
    block_size = {(unsigned)launch->block[0], (unsigned)launch->block[1], (unsigned)launch->block[2]};
    int64_t size = (int64_t)block_size.x * block_size.y * block_size.z;
    if (size < 1 || size > MOST_THREADS)
        fail("a block has 1 to 1024 threads");
    int64_t last = launch->last > 0 ? launch->last : (int64_t)grid_size.x * grid_size.y * grid_size.z;
    for (int64_t b = launch->first; b < last && failure[0] == '\0'; b++) {
        block_index = {(unsigned)(b % grid_size.x), (unsigned)(b / grid_size.x % grid_size.y),
                       (unsigned)(b / grid_size.x / grid_size.y)};
        run_block(launch->descending != 0);
    }
    return failure[0] != '\0' ? failure : nullptr;
}
