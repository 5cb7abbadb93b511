/*
 * Threads that compute the tiles of a launch, scheduled as a GPU schedules blocks: a free thread takes the
 * next tile, or the next few where there are very many. The caller is one of the threads, so a pool of one
 * has none of its own. A thread that starts late (the operating system ran something else) delays nothing: a
 * launch ends when its tiles are done.
 */
#pragma once

#include <stddef.h>

struct rt_pool;
typedef void (*rt_pool_tile)(const void *job, size_t tile);

int rt_pool_new(int threads, struct rt_pool **out);
void rt_pool_free(struct rt_pool *pool); /* accepts NULL */

/* Calls tile(job, 0 .. tiles-1), each once; returns when all have returned. */
void rt_pool_run(struct rt_pool *pool, rt_pool_tile tile, const void *job, size_t tiles);
