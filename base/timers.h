/* A heap of times, each with the number of what is due then: the earliest first, of equal ones the least
 * number. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rt_timer {
    double time;
    uint32_t item;
};

struct rt_timers {
    struct rt_timer *timer;
    size_t count, capacity;
};

void rt_timers_add(struct rt_timers *timers, double time, uint32_t item);
double rt_timers_next(const struct rt_timers *timers);   /* INFINITY: none */
struct rt_timer rt_timers_pop(struct rt_timers *timers); /* count > 0 */
void rt_timers_release(struct rt_timers *timers);
