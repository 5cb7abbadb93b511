/* Curves over power limits. See power_curve.h. */
#include "predict/step/power_curve.h"
#include "base/status.h"
#include "models/predictors/roofline/energy.h"

#include <math.h>

static const double busy_draws = 1.1; /* of the board's power */
static const double scales[RT_ENERGY_PARTS] = {1, 1, 1, 1, 1, 1};

/* What is drawn between kernels at the boost clock, what kernels draw over it, the share of the time that
 * they run, and the board. */
struct draw {
    double idle_w, dynamic_w, busy;
    const struct rt_device *board;
};

/* `level`: of the watts over idle of a GPU that is busy all the time. */
static struct draw draw_of(const struct rt_device *board, double idle_w, double level)
{
    double busy = fmin(1, sqrt(level));
    return (struct draw){idle_w, (busy_draws * board->power_w - idle_w) * level / busy, busy, board};
}

static double average(const struct draw *draw, double limit_w)
{
    double running = rt_power_clipped(draw->idle_w, draw->dynamic_w, limit_w);
    return draw->idle_w + draw->busy * (running - draw->idle_w);
}

/* The draw whose average is `watts`: it grows with the level. */
static struct draw solve(const struct rt_device *board, double watts, double limit_w)
{
    const double shares_idle = 0.9, most = 2.2;
    double idle_w = fmin(rt_energy_idle_w(board, 1), shares_idle * watts), low = 1e-3, high = most;
    for (int i = 0; i < 60; i++) {
        double level = sqrt(low * high);
        struct draw draw = draw_of(board, idle_w, level);
        *(average(&draw, limit_w) < watts ? &low : &high) = level;
    }
    return draw_of(board, idle_w, high);
}

/* Adds the step at a share of the boost clock. */
static void add_point(const struct draw *draw, double clock, double step_us, struct rt_power_profile *out)
{
    const double follows_clock = 0.85, memory = 0.1, gives_way = 0.5;
    double waits = 1 - draw->busy, busy = draw->busy * (follows_clock / clock + 1 - follows_clock);
    double step = (1 - gives_way) * waits + fmax(gives_way * waits + draw->busy, busy);
    double joules = 1e-6 * step_us * draw->busy * draw->dynamic_w, voltage = rt_power_voltage(clock);
    size_t point = out->points++;
    out->clock[point] = clock;
    out->busy_us[point] = busy * step_us;
    out->step_us[point] = step * step_us;
    out->joules[point][RT_ENERGY_VECTOR] = (1 - memory) * voltage * voltage * joules;
    out->joules[point][RT_ENERGY_DRAM] = memory * joules;
    double rest = rt_energy_idle_w(draw->board, voltage) / rt_energy_idle_w(draw->board, 1);
    out->joules[point][RT_ENERGY_IDLE] = rest * draw->idle_w * 1e-6 * out->step_us[point];
}

int rt_power_profile_of_point(const struct rt_device *device, double step_us, double watts, double limit_w,
                              struct rt_power_profile *out)
{
    static const double clock[] = {1,   0.95, 0.9,  0.85, 0.8,  0.75, 0.7,
                                   0.6, 0.5,  0.42, 0.35, 0.28, 0.22, RT_POWER_LEAST_CLOCK};
    if (!(step_us > 0 && watts > 0 && limit_w >= watts))
        return rt_fail(RT_EUSAGE,
                       "%g us at %g W under a limit of %g W is no measured step: give a time above 0 and "
                       "watts up to the limit",
                       step_us, watts, limit_w);
    struct rt_device board = *device;
    if (!(board.power_w > 0))
        board.power_w = limit_w;
    struct draw draw = solve(&board, watts, limit_w);
    *out = (struct rt_power_profile){.board_w = limit_w, .gpus = 1};
    for (size_t i = 0; i < RT_COUNT(clock); i++)
        add_point(&draw, clock[i], step_us, out);
    return RT_OK;
}

int rt_power_curve_from_point(const struct rt_device *device, double step_us, double watts, double limit_w,
                              const double *limit, size_t count, struct rt_power_state *out)
{
    struct rt_power_profile profile;
    struct rt_power_state full;
    int status = rt_power_profile_of_point(device, step_us, watts, limit_w, &profile);
    if (status == RT_OK)
        status = rt_power_at(&profile, scales, limit_w, &full);
    for (size_t i = 0; status == RT_OK && i < count; i++) {
        if ((status = rt_power_at(&profile, scales, limit[i], &out[i])) != RT_OK)
            return status;
        out[i].watts *= watts / full.watts;
        if (!out[i].exceeds)
            out[i].watts = fmin(out[i].watts, limit[i]);
        out[i].joules = out[i].watts * 1e-6 * out[i].step_us;
    }
    return status;
}

/* --- the best of a curve --- */

static size_t least(const struct rt_power_state *states, const double *limit, size_t count, bool delay)
{
    const double same = 1.001;
    size_t best = 0;
    double lowest = INFINITY;
    for (size_t i = 0; i < count; i++)
        lowest = fmin(lowest, states[i].joules * (delay ? states[i].step_us : 1));
    for (size_t i = 0, found = 0; i < count; i++)
        if (states[i].joules * (delay ? states[i].step_us : 1) <= same * lowest &&
            (found++ == 0 || limit[i] < limit[best]))
            best = i;
    return best;
}

size_t rt_power_least_energy(const struct rt_power_state *states, const double *limit, size_t count)
{
    return least(states, limit, count, false);
}

size_t rt_power_least_delay_product(const struct rt_power_state *states, const double *limit, size_t count)
{
    return least(states, limit, count, true);
}
