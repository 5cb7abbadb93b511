/*
 * A pool of threads that live from run to run: the caller is member 0, the others wait in between. Training
 * steps take a fraction of a millisecond, so a waiting thread polls for a few dozen microseconds before it
 * sleeps; it sleeps at once where the pool has more threads than processors.
 */
#pragma once

#include <stddef.h>

#define RT_THREADS_MAX 256

struct rt_threads; /* NULL is the pool of the caller alone */

/* A pool of `threads` members, 1 to RT_THREADS_MAX. Where the system starts fewer threads than asked for, the
 * pool is smaller, and a warning says so. */
struct rt_threads *rt_threads_new(size_t threads);
void rt_threads_free(struct rt_threads *pool);
size_t rt_threads_size(const struct rt_threads *pool);

/* Calls work(context, member) once for every member, in parallel; returns when all have returned. */
void rt_threads_run(struct rt_threads *pool, void (*work)(void *context, size_t member), void *context);

/* Inside work: returns when every member has called it. Writes before it are seen after it. */
void rt_threads_barrier(struct rt_threads *pool);

/* A member's share of `count` items: [*first, *last), at multiples of `grain`, shares as equal as those
 * allow; it may be empty. */
void rt_threads_share(const struct rt_threads *pool, size_t member, size_t count, size_t grain, size_t *first,
                      size_t *last);

/* Threads that the address space has room for where it is limited (ulimit -v): OpenBLAS takes a buffer of 128
 * MiB in each thread that calls it. 0: not even the program's own. No pool has more. */
size_t rt_threads_room(void);

/* Processors this process may run on and has room for: the default of --threads. */
size_t rt_threads_processors(void);
