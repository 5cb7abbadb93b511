/* Requests that are not answered yet. See lives.h. */
#include "predict/serving/lives.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

uint32_t rt_lives_new(struct rt_lives *lives)
{
    uint32_t request = lives->empty;
    if (request != RT_NOBODY) {
        lives->empty = lives->live[request].next;
    } else {
        if (lives->count == lives->capacity) {
            lives->capacity = lives->capacity > 0 ? 2 * lives->capacity : 256;
            lives->live = rt_realloc(lives->live, lives->capacity, sizeof *lives->live);
        }
        request = lives->count++;
    }
    lives->live[request] = (struct rt_live){.began_us = NAN, .first_us = NAN, .group = -1};
    return request;
}

void rt_lives_drop(struct rt_lives *lives, uint32_t request)
{
    lives->live[request].next = lives->empty;
    lives->empty = request;
}

void rt_lives_release(struct rt_lives *lives)
{
    free(lives->live);
    *lives = (struct rt_lives){.empty = RT_NOBODY};
}

static void join(struct rt_request_list *list, struct rt_lives *lives, uint32_t before, uint32_t after)
{
    *(before != RT_NOBODY ? &lives->live[before].next : &list->first) = after;
    *(after != RT_NOBODY ? &lives->live[after].previous : &list->last) = before;
}

void rt_requests_append(struct rt_request_list *list, struct rt_lives *lives, uint32_t request)
{
    uint32_t last = list->last;
    join(list, lives, last, request);
    join(list, lives, request, RT_NOBODY);
    list->count++;
}

void rt_requests_prepend(struct rt_request_list *list, struct rt_lives *lives, uint32_t request)
{
    uint32_t first = list->first;
    join(list, lives, request, first);
    join(list, lives, RT_NOBODY, request);
    list->count++;
}

void rt_requests_remove(struct rt_request_list *list, struct rt_lives *lives, uint32_t request)
{
    join(list, lives, lives->live[request].previous, lives->live[request].next);
    list->count--;
}

uint32_t rt_requests_pop(struct rt_request_list *list, struct rt_lives *lives)
{
    uint32_t first = list->first;
    if (first != RT_NOBODY)
        rt_requests_remove(list, lives, first);
    return first;
}
