/* The queue of items. See shared_work.h. */
#include "base/shared_work.h"
#include "base/progress.h"
#include "base/status.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct queue {
    const struct rt_shared_work *work;
    size_t count;
    pthread_mutex_t lock; /* of what follows, and while an item ends */
    size_t next;
    int status;
    char *sentence; /* of a thread that failed: rt_error() is its own */
};

/* SIZE_MAX: there is nothing more to do. */
static size_t take(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    if (queue->status == RT_OK && rt_interrupted())
        queue->status = RT_EINTERRUPTED;
    size_t item = queue->status == RT_OK && queue->next < queue->count ? queue->next++ : SIZE_MAX;
    pthread_mutex_unlock(&queue->lock);
    return item;
}

static void end(struct queue *queue, size_t item, int status)
{
    const struct rt_shared_work *work = queue->work;
    pthread_mutex_lock(&queue->lock);
    if (status == RT_OK && work->end != NULL)
        status = work->end(work->context, item);
    if (status != RT_OK && queue->status == RT_OK) {
        queue->status = status;
        queue->sentence = rt_strdup(rt_error());
    }
    pthread_mutex_unlock(&queue->lock);
}

static void member(void *context, size_t number)
{
    struct queue *queue = context;
    for (size_t item; (item = take(queue)) != SIZE_MAX;)
        end(queue, item, queue->work->item(queue->work->context, item, number));
}

int rt_shared_work_run(const struct rt_shared_work *work, struct rt_threads *pool, size_t count)
{
    struct queue queue = {.work = work, .count = count};
    if (count == 0)
        return RT_OK;
    pthread_mutex_init(&queue.lock, NULL);
    rt_threads_run(pool, member, &queue);
    pthread_mutex_destroy(&queue.lock);
    if (queue.sentence != NULL)
        rt_fail(queue.status, "%s", queue.sentence);
    free(queue.sentence);
    return queue.status;
}
