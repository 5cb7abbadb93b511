/* A step under a power limit. See power.h. */
#include "predict/step/power.h"
#include "base/status.h"
#include "models/predictors/roofline/energy.h"

#include <math.h>

/* All that a phase is solved on: the profile with its scales. */
struct solver {
    const struct rt_power_profile *profile;
    const double *scale;
    double idle_w[RT_POWER_POINTS]; /* at rest, at each clock */
    double rest_j[RT_POWER_POINTS]; /* that of the busy time */
};

/* A place on the profile: `at` is a point and a share of the way to the next; `stretch` of the busy time
 * there is what gating adds, 1: nothing. */
struct place {
    double at, stretch;
};

double rt_power_idle(const struct rt_power_profile *profile, const double scale[RT_ENERGY_PARTS],
                     size_t point)
{
    return scale[RT_ENERGY_IDLE] * profile->joules[point][RT_ENERGY_IDLE] / (1e-6 * profile->step_us[point]);
}

static double between(const double *values, double at)
{
    size_t point = (size_t)at;
    double share = at - (double)point;
    return share > 0 ? values[point] + share * (values[point + 1] - values[point]) : values[point];
}

/* Joules of a part at a point in a phase that draws `gain` times the mean dynamic power, but for IDLE. */
static double part_joules(const struct solver *solver, size_t point, int part, double gain)
{
    double joules = solver->scale[part] * solver->profile->joules[point][part];
    return part == RT_ENERGY_IDLE ? 0 : part == RT_ENERGY_ACTIVE ? joules : gain * joules;
}

static double busy_joules(const struct solver *solver, size_t point, double gain)
{
    double sum = 0;
    for (int part = 0; part < RT_ENERGY_PARTS; part++)
        sum += part_joules(solver, point, part, gain);
    return sum;
}

/* The first place from the full clock downwards where a phase draws no more than `watts`. */
static struct place place_of_watts(const struct solver *solver, double gain, double watts)
{
    const double *busy_us = solver->profile->busy_us;
    double above = 0; /* joules that are too many, at the point before */
    for (size_t p = 0; p < solver->profile->points; p++) {
        double over = busy_joules(solver, p, gain) + solver->rest_j[p] - watts * 1e-6 * busy_us[p];
        if (!(over > 0))
            return (struct place){p == 0 ? 0 : (double)p - 1 + above / (above - over), 1};
        above = over;
    }
    size_t last = solver->profile->points - 1;
    double room = watts * 1e-6 * busy_us[last] - solver->rest_j[last];
    return (struct place){(double)last, busy_joules(solver, last, gain) / room};
}

static struct place lower_of(struct place a, struct place b)
{
    return a.at > b.at || (a.at == b.at && a.stretch > b.stretch) ? a : b;
}

/* Where it runs under a limit: at the least clock it draws more. What lower clocks do is not known of a
 * profile of one point, which takes longer instead. */
static struct place place_under(const struct solver *solver, double gain, double limit_w)
{
    struct place place = place_of_watts(solver, gain, rt_power_kept(limit_w));
    if (solver->profile->points > 1)
        place.stretch = 1;
    return place;
}

/* Where the phase runs at the board's limit; at full clock where there is none. */
static struct place place_on_board(const struct solver *solver, double gain)
{
    if (isnan(solver->profile->board_w))
        return (struct place){0, 1};
    return place_under(solver, gain, solver->profile->board_w);
}

static double busy_at(const struct solver *solver, struct place place)
{
    return place.stretch * between(solver->profile->busy_us, place.at);
}

static double step_at(const struct solver *solver, struct place place)
{
    double busy_us = between(solver->profile->busy_us, place.at);
    return between(solver->profile->step_us, place.at) + (place.stretch - 1) * busy_us;
}

/* Adds a phase that runs at `own` on the board and is held to `place`. */
static void add_phase(const struct solver *solver, double gain, struct place own, struct place place,
                      struct rt_power_state *state)
{
    const struct rt_power_profile *profile = solver->profile;
    const double phases = RT_POWER_PHASES;
    size_t point = (size_t)place.at, next = point + 1 < profile->points ? point + 1 : point;
    double share = place.at - (double)point, own_busy = busy_at(solver, own);
    double ran = own_busy > 0 ? profile->busy_us[0] / own_busy : 0;
    double busy_us = ran * busy_at(solver, place);
    double step_us = fmax(busy_us, profile->step_us[0] / step_at(solver, own) * step_at(solver, place));
    for (int part = 0; part < RT_ENERGY_PARTS; part++) {
        double from = part_joules(solver, point, part, gain), to = part_joules(solver, next, part, gain);
        state->parts[part] += ran * (from + share * (to - from)) / phases;
    }
    /* What waits is under no limit. */
    state->parts[RT_ENERGY_IDLE] += ran * place.stretch * between(solver->rest_j, place.at) / phases;
    state->parts[RT_ENERGY_IDLE] += solver->idle_w[0] * 1e-6 * (step_us - busy_us) / phases;
    state->step_us += step_us / phases;
    state->clock += between(profile->clock, place.at) * step_us / phases; /* a mean once it is divided */
    state->limited |= place.at > 0 || place.stretch > 1;
    state->exceeds |= profile->points > 1 && next == point;
}

static void end(struct rt_power_state *state)
{
    state->clock /= state->step_us;
    for (int part = 0; part < RT_ENERGY_PARTS; part++)
        state->joules += state->parts[part];
    state->watts = state->joules / (1e-6 * state->step_us);
}

/* `limit_w` NaN: no limit but the board's. */
static struct rt_power_state state_at(const struct solver *solver, double limit_w)
{
    struct rt_power_state state = {0};
    for (int phase = 0; phase < RT_POWER_PHASES; phase++) {
        double gain = rt_power_phase_gain(phase);
        struct place own = place_on_board(solver, gain), place = own;
        if (!isnan(limit_w))
            place = lower_of(place, place_under(solver, gain, limit_w));
        add_phase(solver, gain, own, place, &state);
    }
    end(&state);
    return state;
}

int rt_power_at(const struct rt_power_profile *profile, const double scale[RT_ENERGY_PARTS], double limit_w,
                struct rt_power_state *out)
{
    struct solver solver = {.profile = profile, .scale = scale};
    for (size_t p = 0; p < profile->points; p++) {
        solver.idle_w[p] = rt_power_idle(profile, scale, p);
        solver.rest_j[p] = solver.idle_w[p] * 1e-6 * profile->busy_us[p];
    }
    double rest = solver.idle_w[profile->points - 1];
    double least =
        fmin(isnan(limit_w) ? INFINITY : limit_w, isnan(profile->board_w) ? INFINITY : profile->board_w);
    if (rt_power_kept(least) <= rest)
        return rt_fail(RT_EUSAGE,
                       "a power limit of %g W leaves nothing to compute with: the GPU takes %.0f W at rest; "
                       "give at least %.0f W",
                       least, rest, floor(rest / rt_power_kept(1)) + 1);
    *out = state_at(&solver, limit_w);
    return RT_OK;
}
