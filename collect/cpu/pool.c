/*
 * The threads of the CPU backend. See pool.h.
 *
 * A launch is open while `open` is set. A thread increments `inside` before it reads `open`, and decrements
 * it after its last tile; the caller clears `open` before it waits until `inside` is 0. All of these are
 * sequentially consistent, so either the thread reads that the launch is closed and touches nothing, or the
 * caller reads that the thread is inside and waits for it.
 *
 * Threads spin for a while after a launch (the next one of a timed batch follows within nanoseconds), then
 * yield, then sleep, so that they use no core while another device is measured.
 */
#include "collect/cpu/pool.h"
#include "base/status.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A thread takes tiles about GRABS times a launch, or one at a time where there are fewer: computing short
 * rows would otherwise cost less than the shared counter. */
enum { SPINS = 4000, YIELDS = 50, GRABS = 64 };

struct rt_pool {
    rt_pool_tile tile;
    const void *job;
    size_t tiles, grain;    /* tiles taken at a time */
    atomic_size_t next;     /* tile to take */
    atomic_uint generation; /* of launches; also bumped to stop */
    atomic_bool open, stop;
    atomic_int inside, sleeping;
    pthread_mutex_t lock; /* of `wake` */
    pthread_cond_t wake;
    int workers;
    pthread_t thread[];
};

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void take_tiles(struct rt_pool *pool)
{
    size_t first;
    while ((first = atomic_fetch_add(&pool->next, pool->grain)) < pool->tiles) {
        size_t last = pool->tiles - first < pool->grain ? pool->tiles : first + pool->grain;
        for (size_t tile = first; tile < last; tile++)
            pool->tile(pool->job, tile);
    }
}

/* Returns when the generation is no longer `seen`. */
static void wait_for_launch(struct rt_pool *pool, unsigned seen)
{
    for (int i = 0; i < SPINS + YIELDS; i++) {
        if (atomic_load(&pool->generation) != seen)
            return;
        if (i < SPINS)
            relax();
        else
            sched_yield();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleeping, 1);
    while (atomic_load(&pool->generation) == seen)
        pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->sleeping, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void *work(void *context)
{
    struct rt_pool *pool = context;
    unsigned seen = 0;
    for (;;) {
        wait_for_launch(pool, seen);
        seen = atomic_load(&pool->generation);
        if (atomic_load(&pool->stop))
            return NULL;
        atomic_fetch_add(&pool->inside, 1);
        if (atomic_load(&pool->open))
            take_tiles(pool);
        atomic_fetch_sub(&pool->inside, 1);
    }
}

static void announce(struct rt_pool *pool)
{
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->sleeping) > 0) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
    }
}

int rt_pool_new(int threads, struct rt_pool **out)
{
    int workers = threads > 1 ? threads - 1 : 0;
    struct rt_pool *pool = rt_calloc(1, sizeof *pool + (size_t)workers * sizeof pool->thread[0]);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    for (; pool->workers < workers; pool->workers++) {
        int code = pthread_create(&pool->thread[pool->workers], NULL, work, pool);
        if (code != 0) {
            int made = pool->workers + 1;
            rt_pool_free(pool);
            return rt_fail(RT_EIO, "thread %d of %d could not be started: %s; ask for fewer with {device}",
                           made, threads, strerror(code));
        }
    }
    *out = pool;
    return RT_OK;
}

void rt_pool_free(struct rt_pool *pool)
{
    if (pool == NULL)
        return;
    atomic_store(&pool->stop, true);
    announce(pool);
    for (int i = 0; i < pool->workers; i++)
        pthread_join(pool->thread[i], NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void rt_pool_run(struct rt_pool *pool, rt_pool_tile tile, const void *job, size_t tiles)
{
    pool->tile = tile;
    pool->job = job;
    pool->tiles = tiles;
    pool->grain = 1 + tiles / (GRABS * (size_t)(pool->workers + 1));
    atomic_store(&pool->next, 0);
    if (pool->workers == 0) {
        take_tiles(pool);
        return;
    }
    atomic_store(&pool->open, true);
    announce(pool);
    take_tiles(pool);
    atomic_store(&pool->open, false);
    for (int i = 0; atomic_load(&pool->inside) > 0; i++)
        if (i < SPINS)
            relax();
        else
            sched_yield();
}
