/* Threads that stay, and their barrier. See threads.h. */
#include "base/threads.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/status.h"

/* A thread at the barrier polls this often before it sleeps: about 20 us of polling, then about 1 ms of
 * yielding the processor in between. Waking a sleeper takes 50 us and more, and a training step has a
 * barrier every 100 us. */
#define SPINS  1000
#define YIELDS 4000

struct member {
    struct rt_threads *pool;
    size_t number;
    pthread_t thread;
};

struct rt_threads {
    size_t size;
    unsigned spins;
    void (*work)(void *context, size_t member); /* NULL: the threads end */
    void *context;
    pthread_mutex_t start; /* held until the size is known */
    struct member *member;
    char apart[64];         /* keeps the barrier off the cache line of what is only read */
    atomic_uint arrived;    /* members at the barrier */
    atomic_uint generation; /* times that all members arrived */
    atomic_uint sleepers;
};

static void relax(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

static void wait_for_others(struct rt_threads *pool, unsigned generation)
{
    for (unsigned i = 0; i < pool->spins; i++) {
        if (atomic_load_explicit(&pool->generation, memory_order_acquire) != generation)
            return;
        if (i < SPINS)
            relax();
        else
            sched_yield();
    }
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->generation) == generation)
        syscall(SYS_futex, &pool->generation, FUTEX_WAIT_PRIVATE, generation, NULL, NULL, 0);
    atomic_fetch_sub(&pool->sleepers, 1);
}

void rt_threads_barrier(struct rt_threads *pool)
{
    if (pool == NULL || pool->size == 1)
        return;
    unsigned generation = atomic_load(&pool->generation);
    if (atomic_fetch_add(&pool->arrived, 1) + 1 < pool->size) {
        wait_for_others(pool, generation);
        return;
    }
    atomic_store(&pool->arrived, 0);
    atomic_store(&pool->generation, generation + 1);
    if (atomic_load(&pool->sleepers) > 0)
        syscall(SYS_futex, &pool->generation, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* A run begins and ends at the barrier. */
static void *serve(void *argument)
{
    struct member *self = argument;
    struct rt_threads *pool = self->pool;
    pthread_mutex_lock(&pool->start);
    pthread_mutex_unlock(&pool->start);
    for (;;) {
        rt_threads_barrier(pool);
        if (pool->work == NULL)
            return NULL;
        pool->work(pool->context, self->number);
        rt_threads_barrier(pool);
    }
}

/* Measured with OpenBLAS 0.3.21: a program without a second thread starts in 40 MiB, the first product takes
 * 128 MiB more, and so does every further thread, beside 8 MiB of stack. The rest is for data. */
size_t rt_threads_room(void)
{
    const rlim_t own = (rlim_t)256 << 20, each = (rlim_t)160 << 20;
    struct rlimit space;
    if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY)
        return RT_THREADS_MAX;
    if (space.rlim_cur < own)
        return 0;
    rlim_t room = 1 + (space.rlim_cur - own) / each;
    return room < RT_THREADS_MAX ? (size_t)room : RT_THREADS_MAX;
}

static size_t at_most(size_t count, size_t room)
{
    return count <= room || room == 0 ? count : room;
}

struct rt_threads *rt_threads_new(size_t threads)
{
    size_t asked = threads < 1 ? 1 : threads > RT_THREADS_MAX ? RT_THREADS_MAX : threads;
    size_t wanted = at_most(asked, rt_threads_room());
    if (wanted < asked)
        rt_warn("%zu threads asked for, the address space (ulimit -v) has room for %zu", asked, wanted);
    struct rt_threads *pool = rt_calloc(1, sizeof *pool);
    pool->size = 1;
    pool->member = rt_calloc(wanted, sizeof *pool->member);
    pthread_mutex_init(&pool->start, NULL);
    pthread_mutex_lock(&pool->start);
    for (; pool->size < wanted; pool->size++) {
        struct member *member = &pool->member[pool->size];
        *member = (struct member){.pool = pool, .number = pool->size};
        if (pthread_create(&member->thread, NULL, serve, member) != 0) {
            rt_warn("%zu threads asked for, the system started %zu", wanted, pool->size);
            break;
        }
    }
    pool->spins = pool->size <= rt_threads_processors() ? SPINS + YIELDS : 0;
    pthread_mutex_unlock(&pool->start);
    return pool;
}

void rt_threads_free(struct rt_threads *pool)
{
    if (pool == NULL)
        return;
    pool->work = NULL;
    rt_threads_barrier(pool);
    for (size_t i = 1; i < pool->size; i++)
        pthread_join(pool->member[i].thread, NULL);
    pthread_mutex_destroy(&pool->start);
    free(pool->member);
    free(pool);
}

size_t rt_threads_size(const struct rt_threads *pool)
{
    return pool == NULL ? 1 : pool->size;
}

void rt_threads_run(struct rt_threads *pool, void (*work)(void *context, size_t member), void *context)
{
    if (pool != NULL) {
        pool->work = work;
        pool->context = context;
    }
    rt_threads_barrier(pool);
    work(context, 0);
    rt_threads_barrier(pool);
}

void rt_threads_share(const struct rt_threads *pool, size_t member, size_t count, size_t grain, size_t *first,
                      size_t *last)
{
    size_t size = rt_threads_size(pool), grains = (count + grain - 1) / grain;
    size_t from = grains * member / size * grain, to = grains * (member + 1) / size * grain;
    *first = from < count ? from : count;
    *last = to < count ? to : count;
}

size_t rt_threads_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return at_most((size_t)CPU_COUNT(&set), rt_threads_room());
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? at_most((size_t)online, rt_threads_room()) : 1;
}
