/*
 * A team of threads that stays: the caller is member 0, the others wait between runs. Made for steps of a
 * fraction of a millisecond, so members spin for a while before they sleep.
 */
#ifndef ROOFTILE_TEAM_H
#define ROOFTILE_TEAM_H

#include <stddef.h>

struct rt_team;

/* A team of that many members, at least one and at most RT_TEAM_MAX. Where the system starts fewer threads
 * than asked for, the team is smaller: ask rt_team_size(). */
#define RT_TEAM_MAX 256
struct rt_team *rt_team_new(size_t threads);
void rt_team_free(struct rt_team *team); /* NULL is empty */
size_t rt_team_size(const struct rt_team *team);

/* Calls work(context, member) once for every member, in parallel; returns when all have returned. */
void rt_team_run(struct rt_team *team, void (*work)(void *context, size_t member), void *context);

/* Inside work: returns when every member has come here. What was written before is seen after. */
void rt_team_barrier(struct rt_team *team);

/* Member's share of `count` things: [*first, *last), starts at multiples of `grain`, sizes as equal as that
 * allows, empty where there is nothing left. */
void rt_team_share(size_t count, size_t grain, size_t members, size_t member, size_t *first, size_t *last);

/* Processors this process may run on: the default of --threads. */
size_t rt_team_processors(void);

#endif
