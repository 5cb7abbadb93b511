/*
 * Work that the threads of a pool share: each takes the next item that nobody has, until all are taken, one
 * has failed, or Ctrl-C is pressed (base/progress.h).
 */
#pragma once

#include "base/threads.h"

struct rt_shared_work {
    int (*item)(void *context, size_t item, size_t member); /* beside those of other members */
    int (*end)(void *context, size_t item); /* after an item that succeeded, one at a time; NULL: nothing */
    void *context;
};

/* Items 0 to count - 1. The status and sentence of the first failure; RT_EINTERRUPTED: the caller says of
 * what. */
int rt_shared_work_run(const struct rt_shared_work *work, struct rt_threads *pool, size_t count);
