/* Threads that stay, and their barrier: see team.h. */
#include "models/predictor/team.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "datasets/status.h"

/* Who waits at the barrier looks this often before it sleeps: about 20 us of looking only, then about 1 ms of
 * letting others have the processor in between. A sleeper takes 50 us and more to come back, and a step has a
 * barrier every 100 us. */
#define SPINS  1000
#define YIELDS 4000

struct member {
    struct rt_team *team;
    size_t number;
    pthread_t thread;
};

struct rt_team {
    size_t size;
    unsigned spins;
    void (*work)(void *context, size_t member); /* NULL: go home */
    void *context;
    pthread_mutex_t door; /* held until the size is known */
    struct member *member;
    char apart[64];         /* keeps the barrier off the cache line of what is only read */
    atomic_uint arrived;    /* members at the barrier */
    atomic_uint generation; /* times that all have come */
    atomic_uint sleepers;
};

static void relax(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

static void wait_for_others(struct rt_team *team, unsigned generation)
{
    for (unsigned i = 0; i < team->spins; i++) {
        if (atomic_load_explicit(&team->generation, memory_order_acquire) != generation)
            return;
        if (i < SPINS)
            relax();
        else
            sched_yield();
    }
    atomic_fetch_add(&team->sleepers, 1);
    while (atomic_load(&team->generation) == generation)
        syscall(SYS_futex, &team->generation, FUTEX_WAIT_PRIVATE, generation, NULL, NULL, 0);
    atomic_fetch_sub(&team->sleepers, 1);
}

void rt_team_barrier(struct rt_team *team)
{
    if (team == NULL || team->size == 1)
        return;
    unsigned generation = atomic_load(&team->generation);
    if (atomic_fetch_add(&team->arrived, 1) + 1 < team->size) {
        wait_for_others(team, generation);
        return;
    }
    atomic_store(&team->arrived, 0);
    atomic_store(&team->generation, generation + 1);
    if (atomic_load(&team->sleepers) > 0)
        syscall(SYS_futex, &team->generation, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* A run begins and ends at the barrier. */
static void *serve(void *argument)
{
    struct member *self = argument;
    struct rt_team *team = self->team;
    pthread_mutex_lock(&team->door);
    pthread_mutex_unlock(&team->door);
    for (;;) {
        rt_team_barrier(team);
        if (team->work == NULL)
            return NULL;
        team->work(team->context, self->number);
        rt_team_barrier(team);
    }
}

struct rt_team *rt_team_new(size_t threads)
{
    size_t wanted = threads < 1 ? 1 : threads > RT_TEAM_MAX ? RT_TEAM_MAX : threads;
    struct rt_team *team = rt_calloc(1, sizeof *team);
    team->size = 1;
    team->member = rt_calloc(wanted, sizeof *team->member);
    pthread_mutex_init(&team->door, NULL);
    pthread_mutex_lock(&team->door);
    for (; team->size < wanted; team->size++) {
        struct member *member = &team->member[team->size];
        *member = (struct member){.team = team, .number = team->size};
        if (pthread_create(&member->thread, NULL, serve, member) != 0) {
            rt_warn("%zu threads asked for, the system started %zu", wanted, team->size);
            break;
        }
    }
    team->spins = team->size <= rt_team_processors() ? SPINS + YIELDS : 0;
    pthread_mutex_unlock(&team->door);
    return team;
}

void rt_team_free(struct rt_team *team)
{
    if (team == NULL)
        return;
    team->work = NULL;
    rt_team_barrier(team);
    for (size_t i = 1; i < team->size; i++)
        pthread_join(team->member[i].thread, NULL);
    pthread_mutex_destroy(&team->door);
    free(team->member);
    free(team);
}

size_t rt_team_size(const struct rt_team *team)
{
    return team == NULL ? 1 : team->size;
}

void rt_team_run(struct rt_team *team, void (*work)(void *context, size_t member), void *context)
{
    if (team != NULL) {
        team->work = work;
        team->context = context;
    }
    rt_team_barrier(team);
    work(context, 0);
    rt_team_barrier(team);
}

void rt_team_share(const struct rt_team *team, size_t member, size_t count, size_t grain, size_t *first,
                   size_t *last)
{
    size_t size = rt_team_size(team), grains = (count + grain - 1) / grain;
    size_t from = grains * member / size * grain, to = grains * (member + 1) / size * grain;
    *first = from < count ? from : count;
    *last = to < count ? to : count;
}

size_t rt_team_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (size_t)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}
