/* A binary heap. See timers.h. */
#include "base/timers.h"
#include "base/array.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static bool is_before(const struct rt_timer *a, const struct rt_timer *b)
{
    return a->time != b->time ? a->time < b->time : a->item < b->item;
}

void rt_timers_add(struct rt_timers *timers, double time, uint32_t item)
{
    const struct rt_timer added = {time, item};
    RT_GROW(timers->timer, timers->count, 1, timers->capacity);
    size_t place = timers->count++;
    for (; place > 0 && is_before(&added, &timers->timer[(place - 1) / 2]); place = (place - 1) / 2)
        timers->timer[place] = timers->timer[(place - 1) / 2];
    timers->timer[place] = added;
}

double rt_timers_next(const struct rt_timers *timers)
{
    return timers->count > 0 ? timers->timer[0].time : INFINITY;
}

struct rt_timer rt_timers_pop(struct rt_timers *timers)
{
    struct rt_timer *timer = timers->timer;
    const struct rt_timer first = timer[0], last = timer[--timers->count];
    size_t place = 0, child;
    while ((child = 2 * place + 1) < timers->count) {
        child += child + 1 < timers->count && is_before(&timer[child + 1], &timer[child]);
        if (!is_before(&timer[child], &last))
            break;
        timer[place] = timer[child];
        place = child;
    }
    timer[place] = last;
    return first;
}

void rt_timers_release(struct rt_timers *timers)
{
    free(timers->timer);
    *timers = (struct rt_timers){0};
}
