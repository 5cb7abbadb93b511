/*
 * A team of threads that stays: the caller is member 0, the others wait between runs. Made for training steps
 * of a fraction of a millisecond, so who waits spins for a few dozen microseconds before it sleeps; not at
 * all where the team is larger than the processors it may use.
 */
#ifndef ROOFTILE_TEAM_H
#define ROOFTILE_TEAM_H

#include <stddef.h>

#define RT_TEAM_MAX 256

struct rt_team; /* NULL is the team of the caller alone */

/* A team of `threads` members, 1 to RT_TEAM_MAX. Where the system starts fewer threads than asked for, the
 * team is smaller, and a warning says so. */
struct rt_team *rt_team_new(size_t threads);
void rt_team_free(struct rt_team *team);
size_t rt_team_size(const struct rt_team *team);

/* Calls work(context, member) once for every member, in parallel; returns when all have returned. */
void rt_team_run(struct rt_team *team, void (*work)(void *context, size_t member), void *context);

/* Inside work: returns when every member has come here. What was written before is seen after. */
void rt_team_barrier(struct rt_team *team);

/* A member's share of `count` things: [*first, *last), starting at a multiple of `grain`, as equal as that
 * allows, empty where nothing is left. */
void rt_team_share(const struct rt_team *team, size_t member, size_t count, size_t grain, size_t *first,
                   size_t *last);

/* Processors this process may run on: the default of --threads. */
size_t rt_team_processors(void);

#endif
