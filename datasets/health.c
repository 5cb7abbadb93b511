/* The verdict over sessions. See health.h. */
#include "datasets/health.h"
#include "base/array.h"
#include "base/hash_set.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/units.h"
#include "datasets/designs.h"
#include "datasets/power.h"
#include "datasets/validate.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a session's kernels are gathered in ---- */

enum { KEPT = 1024, PROBES = 128, LEAST_PAIRS = 30 };
static const double START_US = 100; /* what a host may take to launch a kernel */

/* A random part of many values: Vitter's algorithm R (ACM TOMS 11, 1985). */
struct kept {
    double *value;
    size_t seen;
};

static void keep(struct kept *kept, double value, struct rt_random *random)
{
    if (kept->value == NULL)
        kept->value = rt_malloc(KEPT * sizeof *kept->value);
    size_t at = kept->seen < KEPT ? kept->seen : rt_random_below(random, kept->seen + 1);
    if (at < KEPT)
        kept->value[at] = value;
    kept->seen++;
}

static size_t kept_count(const struct kept *kept)
{
    return kept->seen < KEPT ? kept->seen : KEPT;
}

/* Sorts them; NaN where fewer than `least` were seen. */
static double kept_median(struct kept *kept, size_t least)
{
    return kept->seen < least ? NAN : rt_median(kept->value, kept_count(kept));
}

/* A family in a dtype, of one session. */
struct reach {
    struct kept shares;
    double median;
    bool left_out;
};

/* An op of one session, as it is told apart from others; `kept`: rows. */
struct op_key {
    int32_t session;
    uint32_t flags;
    uint8_t op, dtype, phase, zero;
};
struct op_cell {
    struct kept rows;
    double floor_us; /* what its fastest kernels take */
    bool unsteady_counts;
    double unsteady;
};

struct judge {
    const struct rt_dataset *dataset;
    struct rt_session_health *health;
    struct reach *reach;       /* (sessions, RT_FAMILY_COUNT, RT_DTYPE_COUNT) */
    struct kept *scale, *fast; /* (sessions) time over work and start; time over its bound */
    int32_t *session;          /* (samples), -1: without a time */
    int32_t *cell;             /* (samples), of ops */
    double *beyond_us;         /* (samples), time beyond RT_STRAY times its work; NaN: none is known */
    struct op_key *keys;
    struct op_cell *cells;
    size_t cell_count, cell_capacity, key_capacity;
    bool repeats; /* some kernels were measured again */
    struct rt_random random;
};

static struct reach *reach_of(const struct judge *j, size_t session, int family, int dtype)
{
    return &j->reach[(session * RT_FAMILY_COUNT + (size_t)family) * RT_DTYPE_COUNT + (size_t)dtype];
}

/* ---- work ---- */

struct work {
    double compute_us, memory_us;
    double least_us; /* NaN: no bound */
};

static struct work work_of(const struct rt_dataset *dataset, const struct rt_sample *sample)
{
    const struct rt_device *device = &dataset->devices[sample->device];
    enum rt_family family = rt_call_family(&sample->call);
    const char *limit;
    if (rt_families[family].link || rt_families[family].host)
        return (struct work){NAN, NAN, NAN};
    return (struct work){
        .compute_us = 1e6 * rt_sample_least_flops(sample) /
                      rt_sustained_flops(device, family, (enum rt_dtype)sample->call.dtype),
        .memory_us = 1e-3 * rt_sample_least_bytes(dataset, sample) / device->bandwidth_gbs,
        .least_us = rt_sample_least_us(dataset, sample, &limit),
    };
}

static double longer(const struct work *work)
{
    return fmax(work->compute_us, work->memory_us);
}

/* The share of its work's rate that a large kernel reaches; NaN: it shows none. */
static double share_of(const struct rt_dataset *dataset, const struct rt_sample *sample,
                       const struct work *work)
{
    const struct rt_device *device = &dataset->devices[sample->device];
    enum rt_family family = rt_call_family(&sample->call);
    if (!rt_device_is_gpu(device))
        return NAN;
    if (rt_families[family].product)
        return sample->latency_us > RT_LARGE_TIME_US && work->compute_us > work->memory_us
                   ? work->compute_us / sample->latency_us
                   : NAN;
    double beyond_cache_us = 4 * device->l2_mib * RT_MIB / (1e3 * device->bandwidth_gbs);
    return rt_family_vector(family) && work->memory_us > fmax(RT_LARGE_TRAFFIC_US, beyond_cache_us)
               ? work->memory_us / sample->latency_us
               : NAN;
}

/* ---- sessions ---- */

static size_t file_of(const struct rt_dataset *dataset, size_t sample)
{
    size_t file = 0;
    while (file + 1 < dataset->file_count && sample >= dataset->file_end[file])
        file++;
    return file;
}

/* Numbers the sessions in the order of files, devices and splits. */
static void find_sessions(struct judge *j)
{
    const struct rt_dataset *d = j->dataset;
    size_t files = d->file_count > 0 ? d->file_count : 1, slots = files * d->device_count * RT_SPLIT_COUNT;
    int32_t *number = rt_malloc((slots + 1) * sizeof *number);
    memset(number, -1, (slots + 1) * sizeof *number);
    for (size_t i = 0, file = 0; i < d->samples.count; i++) {
        const struct rt_sample *s = RT_SAMPLE(d, i);
        file = d->file_count > 1 && i >= d->file_end[file] ? file_of(d, i) : file;
        size_t slot = (file * d->device_count + (size_t)s->device) * RT_SPLIT_COUNT + s->split;
        bool timed = !(s->flags & (RT_FLAG_FAILED | RT_FLAG_REPEAT)) && rt_time_is_possible(s->latency_us);
        j->session[i] = timed ? (int32_t)slot : -1;
        j->repeats |= (s->flags & RT_FLAG_REPEAT) != 0;
        if (timed)
            number[slot] = 0;
    }
    for (size_t slot = 0; slot < slots; slot++)
        if (number[slot] == 0)
            number[slot] = (int32_t)j->health->session_count++;
    for (size_t i = 0; i < d->samples.count; i++)
        if (j->session[i] >= 0)
            j->session[i] = number[j->session[i]];
    j->health->sessions = rt_calloc(j->health->session_count + 1, sizeof *j->health->sessions);
    for (size_t slot = 0; slot < slots; slot++)
        if (number[slot] >= 0)
            j->health->sessions[number[slot]] =
                (struct rt_session){.file = (int32_t)(slot / (d->device_count * RT_SPLIT_COUNT)),
                                    .device = (int32_t)(slot / RT_SPLIT_COUNT % d->device_count),
                                    .split = (uint8_t)(slot % RT_SPLIT_COUNT),
                                    .products = NAN,
                                    .vectors = NAN,
                                    .unsteady = NAN,
                                    .drift = NAN,
                                    .clock_low_mhz = NAN,
                                    .clock_high_mhz = NAN,
                                    .temperature_c = NAN};
    free(number);
}

static bool same_key(const void *context, uint32_t index)
{
    const struct judge *j = context;
    return memcmp(&j->keys[j->cell_count], &j->keys[index], sizeof *j->keys) == 0;
}

/* The op's cell, added where it is new. */
static int32_t find_cell(struct judge *j, struct rt_hash_set *set, const struct rt_sample *s, int32_t session)
{
    const uint32_t kinds = RT_FLAG_QUEUED | RT_FLAG_SCALAR_LOADS | RT_FLAG_SGLANG | RT_FLAG_TENSORRT;
    RT_GROW(j->keys, j->cell_count, 1, j->key_capacity);
    j->keys[j->cell_count] =
        (struct op_key){session, s->flags & kinds, s->call.op, s->call.dtype, s->call.phase, 0};
    int64_t there = rt_hash_set_add(set, rt_hash_words(&j->keys[j->cell_count], sizeof *j->keys), same_key, j,
                                    j->cell_count);
    if (there >= 0)
        return (int32_t)there;
    RT_GROW(j->cells, j->cell_count, 1, j->cell_capacity);
    j->cells[j->cell_count] = (struct op_cell){.unsteady = NAN};
    return (int32_t)j->cell_count++;
}

static void note_conditions(struct rt_session *session, const struct rt_sample *s)
{
    session->throttled += (s->flags & RT_FLAG_THROTTLED) != 0;
    session->unstable += (s->flags & RT_FLAG_UNSTABLE) != 0;
    session->clock_low_mhz = fmin(session->clock_low_mhz, s->sm_clock_mhz);
    session->clock_high_mhz = fmax(session->clock_high_mhz, s->sm_clock_mhz);
    session->temperature_c = fmax(session->temperature_c, s->temperature_c);
}

/* The first pass: every sample into its session, family and op. */
static void gather(struct judge *j)
{
    const struct rt_dataset *d = j->dataset;
    struct rt_hash_set set = {0};
    for (size_t i = 0; i < d->samples.count; i++) {
        const struct rt_sample *s = RT_SAMPLE(d, i);
        int32_t n = j->session[i];
        if (n < 0)
            continue;
        struct work work = work_of(d, s);
        struct rt_session *session = &j->health->sessions[n];
        session->rows++;
        note_conditions(session, s);
        double share = share_of(d, s, &work);
        if (!isnan(share))
            keep(&reach_of(j, (size_t)n, rt_call_family(&s->call), s->call.dtype)->shares, share, &j->random);
        if (longer(&work) > 0)
            keep(&j->scale[n], s->latency_us / (longer(&work) + START_US), &j->random);
        j->beyond_us[i] = longer(&work) > 0 ? s->latency_us - RT_STRAY * longer(&work) : NAN;
        if (work.least_us > 0)
            keep(&j->fast[n], s->latency_us / work.least_us, &j->random);
        if (rt_time_beats_bound(s->latency_us, work.least_us))
            j->health->row[i] = RT_ROW_IMPOSSIBLE;
        j->cell[i] = find_cell(j, &set, s, n);
        keep(&j->cells[j->cell[i]].rows, (double)i, &j->random);
    }
    rt_hash_set_release(&set);
}

/* ---- complaints ---- */

static void complain(struct judge *j, size_t session, enum rt_health_row rows, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void complain(struct judge *j, size_t session, enum rt_health_row rows, const char *format, ...)
{
    struct rt_session_health *health = j->health;
    health->complaints =
        rt_realloc(health->complaints, health->complaint_count + 1, sizeof *health->complaints);
    struct rt_complaint *complaint = &health->complaints[health->complaint_count++];
    va_list arguments;
    va_start(arguments, format);
    *complaint = (struct rt_complaint){.session = session, .rows = rows};
    vsnprintf(complaint->text, sizeof complaint->text, format, arguments);
    va_end(arguments);
    if (rows == RT_ROW_SESSION)
        health->sessions[session].refused = true;
}

/* What a time that is `factor` of what it should be looks like. */
static const char *guess(double factor)
{
    return factor > 300        ? ", as nanoseconds do that are taken for microseconds"
           : factor < 1.0 / 20 ? ", as milliseconds do that are taken for microseconds"
                               : "";
}

/* ---- reach ---- */

static double floor_of(int family, int dtype)
{
    if (rt_families[family].row_wise)
        return 0.2;
    return rt_families[family].product && rt_dtypes[dtype].input_bytes < 2 ? RT_THROTTLED : 0.35;
}

/* The median of what other sessions of the design reach, of those that can be; NaN: there is none. */
static double others_reach(const struct judge *j, size_t session, int family, int dtype)
{
    const struct rt_device *devices = j->dataset->devices;
    const struct rt_session *sessions = j->health->sessions;
    const char *capability = devices[sessions[session].device].compute_capability;
    const double most = 1.1; /* none reaches more */
    double *others = rt_malloc((j->health->session_count + 1) * sizeof *others);
    size_t count = 0;
    for (size_t s = 0; s < j->health->session_count; s++) {
        double median = reach_of(j, s, family, dtype)->median;
        if (s != session && median < most &&
            rt_capability_same(capability, devices[sessions[s].device].compute_capability))
            others[count++] = median;
    }
    double median = rt_median(others, count);
    free(others);
    return median;
}

/* Is it below the floor, or half of what others reach? */
static void judge_family(struct judge *j, size_t session, int family, int dtype)
{
    struct reach *reach = reach_of(j, session, family, dtype);
    double others = others_reach(j, session, family, dtype);
    double *lowest = rt_families[family].product ? &j->health->sessions[session].products
                                                 : &j->health->sessions[session].vectors;
    if (isnan(reach->median))
        return;
    *lowest = fmin(*lowest, reach->median);
    reach->left_out = reach->median < floor_of(family, dtype) ||
                      (!rt_families[family].row_wise && reach->median < others / 2);
}

static void complain_of_families(struct judge *j, size_t session)
{
    for (int family = 0; family < RT_FAMILY_COUNT; family++)
        for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) {
            const struct reach *reach = reach_of(j, session, family, dtype);
            if (reach->left_out)
                complain(j, session, RT_ROW_FAMILY,
                         "large kernels of %s in %s reach %.3g%% of what the board sustains: it was "
                         "throttled, or the unit or the dtype is wrong%s",
                         rt_families[family].name, rt_dtypes[dtype].name, 100 * reach->median,
                         guess(0.7 / reach->median));
        }
}

/* Every product that shows anything is left out; without products all that does. */
static void judge_whole(struct judge *j, size_t session)
{
    size_t judged[2] = {0}, left_out[2] = {0};
    for (int family = 0; family < RT_FAMILY_COUNT; family++)
        for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) {
            const struct reach *reach = reach_of(j, session, family, dtype);
            int kind = rt_families[family].product;
            judged[kind] += !isnan(reach->median);
            left_out[kind] += reach->left_out;
        }
    int kind = judged[1] > 0;
    const struct rt_session *of = &j->health->sessions[session];
    double reach = kind ? of->products : of->vectors;
    if (judged[kind] > 0 && left_out[kind] == judged[kind])
        complain(j, session, RT_ROW_SESSION,
                 "all of its %s that are large enough to show it look throttled, down to %.3g%% of what the "
                 "board sustains: it was throttled, or the unit or the dtype is wrong%s",
                 kind ? "products" : "kernels", 100 * reach, guess(0.7 / reach));
    else
        complain_of_families(j, session);
}

static void judge_reach(struct judge *j)
{
    size_t cells = j->health->session_count * RT_FAMILY_COUNT * RT_DTYPE_COUNT;
    for (size_t c = 0; c < cells; c++)
        j->reach[c].median = kept_median(&j->reach[c].shares, RT_LARGE_KERNELS);
    for (size_t s = 0; s < j->health->session_count; s++) {
        for (int family = 0; family < RT_FAMILY_COUNT; family++)
            for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++)
                judge_family(j, s, family, dtype);
        judge_whole(j, s);
    }
}

static void judge_scale(struct judge *j)
{
    for (size_t s = 0; s < j->health->session_count; s++) {
        double scale = kept_median(&j->scale[s], RT_LARGE_KERNELS);
        if (scale > RT_SLOW_SCALE && !j->health->sessions[s].refused)
            complain(j, s, RT_ROW_SESSION,
                     "its kernels take %.3g times their work and %.0f us, half of them more%s", scale,
                     START_US, guess(10 * scale));
    }
}

/* ---- steadiness ---- */

static double distance(const struct rt_call *a, const struct rt_call *b)
{
    double sum = 0;
    for (int k = 0; k < rt_op_ndims(a->op); k++)
        if (a->dim[k] != b->dim[k])
            sum += fabs(log((double)(a->dim[k] > 0 ? a->dim[k] : 0) + 1) -
                        log((double)(b->dim[k] > 0 ? b->dim[k] : 0) + 1));
    return sum;
}

/* By how much the ln of two times is outside of what their works allow. */
static double excess(const struct rt_dataset *d, const struct rt_sample *a, const struct rt_sample *b)
{
    struct work of_a = work_of(d, a), of_b = work_of(d, b);
    double time = log(b->latency_us / a->latency_us), work = log(longer(&of_b) / longer(&of_a));
    return fmax(0, fmax(fmin(0, work) - time, time - fmax(0, work)));
}

static double unsteadiness(const struct rt_dataset *d, const struct op_cell *cell)
{
    double off[PROBES];
    size_t count = kept_count(&cell->rows), probes = count < PROBES ? count : PROBES, n = 0;
    struct rt_sample *kept = rt_malloc((count + 1) * sizeof *kept);
    for (size_t i = 0; i < count; i++)
        kept[i] = rt_dataset_sample(d, (size_t)cell->rows.value[i]);
    for (size_t p = 0; p < probes; p++) {
        const struct rt_sample *a = &kept[p * count / probes], *nearest = NULL;
        double least = INFINITY;
        for (const struct rt_sample *b = kept; b < kept + count; b++) {
            double far = b != a ? distance(&a->call, &b->call) : INFINITY;
            if (far < least) {
                least = far;
                nearest = b;
            }
        }
        double beyond = nearest != NULL ? excess(d, a, nearest) : NAN;
        if (!isnan(beyond))
            off[n++] = beyond;
    }
    free(kept);
    rt_sort_reals(off, n);
    return n < LEAST_PAIRS ? NAN : off[3 * n / 4];
}

static void judge_steadiness(struct judge *j)
{
    double *ops = rt_malloc((j->cell_count + 1) * sizeof *ops);
    for (size_t c = 0; c < j->cell_count; c++) {
        enum rt_family family = rt_ops[j->keys[c].op].family;
        if (rt_families[family].product || rt_family_vector(family) || rt_families[family].moves)
            j->cells[c].unsteady = unsteadiness(j->dataset, &j->cells[c]);
    }
    for (size_t s = 0; s < j->health->session_count; s++) {
        size_t count = 0;
        for (size_t c = 0; c < j->cell_count; c++)
            if (j->keys[c].session == (int32_t)s && !isnan(j->cells[c].unsteady))
                ops[count++] = j->cells[c].unsteady;
        double median = j->health->sessions[s].unsteady = rt_median(ops, count);
        if (median > RT_UNSTEADY)
            complain(j, s, RT_ROW_SESSION,
                     "a quarter of its kernels are %.0f%% or more off what the nearest shape takes: its "
                     "times are noise, or of several clocks or units",
                     100 * expm1(median));
    }
    free(ops);
}

/* ---- single rows ---- */

static void find_floors(struct judge *j)
{
    double *times = rt_malloc(KEPT * sizeof *times);
    for (size_t c = 0; c < j->cell_count; c++) {
        size_t count = kept_count(&j->cells[c].rows);
        for (size_t i = 0; i < count; i++)
            times[i] = RT_SAMPLE(j->dataset, (size_t)j->cells[c].rows.value[i])->latency_us;
        rt_sort_reals(times, count);
        j->cells[c].floor_us = count > 0 ? times[count / 20] : 0;
    }
    free(times);
}

static void find_strays(struct judge *j)
{
    find_floors(j);
    for (size_t i = 0; i < j->dataset->samples.count; i++)
        if (j->session[i] >= 0 && rt_ops[j->keys[j->cell[i]].op].family != RT_FAMILY_MOE &&
            j->beyond_us[i] > RT_STRAY * j->cells[j->cell[i]].floor_us)
            j->health->row[i] = RT_ROW_STRAY;
}

struct sought {
    const struct rt_dataset *dataset;
    const struct rt_sample *sample;
};

static bool same_call(const void *context, uint32_t index)
{
    const struct sought *sought = context;
    const struct rt_sample *a = sought->sample, *b = RT_SAMPLE(sought->dataset, index);
    return a->group == b->group && memcmp(&a->call, &b->call, sizeof a->call) == 0;
}

/* Counts what the same call took several times longer or shorter elsewhere in the session. A set for each
 * cell, as neighbours are mostly of one and its set then stays in the caches. */
static void find_apart(struct judge *j)
{
    struct rt_hash_set *sets = rt_calloc(j->cell_count + 1, sizeof *sets);
    for (size_t i = 0; i < j->dataset->samples.count; i++) {
        const struct rt_sample *s = RT_SAMPLE(j->dataset, i);
        if (j->session[i] < 0)
            continue;
        uint64_t hash =
            rt_hash_words(&s->call, sizeof s->call) ^ (uint64_t)(uint32_t)s->group * 0xbf58476d1ce4e5b9u;
        int64_t there =
            rt_hash_set_add(&sets[j->cell[i]], hash, same_call, &(struct sought){j->dataset, s}, i);
        if (there < 0)
            continue;
        double ratio = s->latency_us / RT_SAMPLE(j->dataset, (size_t)there)->latency_us;
        if (ratio > RT_APART || ratio < 1.0 / RT_APART)
            j->health->sessions[j->session[i]].apart++;
    }
    for (size_t c = 0; c < j->cell_count; c++)
        rt_hash_set_release(&sets[c]);
    free(sets);
}

/* ---- drift ---- */

/* The session that a repeat belongs to; NULL: nothing else was timed in it. */
static struct rt_session *session_of(const struct judge *j, size_t sample)
{
    const struct rt_sample *s = RT_SAMPLE(j->dataset, sample);
    int32_t file = j->dataset->file_count > 1 ? (int32_t)file_of(j->dataset, sample) : 0;
    for (size_t n = 0; n < j->health->session_count; n++) {
        struct rt_session *session = &j->health->sessions[n];
        if (session->file == file && session->device == s->device && session->split == s->split)
            return session;
    }
    return NULL;
}

/* Of the repeats of one call in a session, which are in the order of time: all start from the first of them.
 */
static void judge_repeats(struct judge *j, size_t first)
{
    const struct rt_sample *start = RT_SAMPLE(j->dataset, first);
    struct rt_session *session = session_of(j, first);
    double low = INFINITY, high = 0, last = NAN;
    size_t count = 0;
    for (size_t i = first; i < j->dataset->samples.count && session != NULL; i++) {
        const struct rt_sample *s = RT_SAMPLE(j->dataset, i);
        if (!(s->flags & RT_FLAG_REPEAT) || !rt_time_is_possible(s->latency_us) ||
            memcmp(&s->call, &start->call, sizeof s->call) != 0 || session_of(j, i) != session)
            continue;
        last = s->latency_us;
        low = fmin(low, last);
        high = fmax(high, last);
        count++;
    }
    if (count < 2 || count <= session->repeats)
        return;
    session->repeats = count;
    session->drift = high / low;
    if (session->drift > RT_DRIFT)
        complain(
            j, (size_t)(session - j->health->sessions), RT_ROW_SOUND,
            "a kernel that was repeated %zu times took %.3g%% longer at its slowest than at its fastest, the "
            "last time %.3g%% longer than the first: the device drifted, or something else ran on it",
            count, 100 * (session->drift - 1), 100 * (last / start->latency_us - 1));
}

static void judge_drift(struct judge *j)
{
    struct rt_sample before;
    bool any = false;
    for (size_t i = 0; j->repeats && i < j->dataset->samples.count; i++) {
        const struct rt_sample *s = RT_SAMPLE(j->dataset, i);
        if (!(s->flags & RT_FLAG_REPEAT))
            continue;
        j->health->row[i] = RT_ROW_REPEAT;
        bool same = any && before.device == s->device && before.split == s->split &&
                    memcmp(&before.call, &s->call, sizeof s->call) == 0;
        if (!same && rt_time_is_possible(s->latency_us))
            judge_repeats(j, i);
        before = *s;
        any = true;
    }
}

/* ---- the verdict ---- */

static void judge_rows(struct judge *j)
{
    static const char *const words[RT_ROW_COUNT] = {
        [RT_ROW_IMPOSSIBLE] =
            "are faster than the roofline allows (`rooftile dataset validate` names the worst)",
        [RT_ROW_STRAY] = "take over 400 times their work and what small kernels of their op take",
    };
    const size_t least = 5; /* fewer impossible ones are no evidence against the others */
    for (size_t i = 0; i < j->dataset->samples.count; i++)
        if (j->session[i] >= 0)
            j->health->sessions[j->session[i]].count[j->health->row[i]]++;
    for (size_t s = 0; s < j->health->session_count; s++) {
        struct rt_session *session = &j->health->sessions[s];
        for (int row = RT_ROW_IMPOSSIBLE; row <= RT_ROW_STRAY; row++)
            if (session->count[row] > 0)
                complain(j, s, (enum rt_health_row)row, "%zu of %zu kernels %s", session->count[row],
                         session->rows, words[row]);
        if (session->apart > 0)
            complain(j, s, RT_ROW_SOUND,
                     "%zu kernels take over %d times what the same call takes elsewhere in it, or less than "
                     "that part",
                     session->apart, RT_APART);
        if (session->count[RT_ROW_IMPOSSIBLE] >= least &&
            (double)session->count[RT_ROW_IMPOSSIBLE] > RT_IMPOSSIBLE_MOST * (double)session->rows)
            complain(j, s, RT_ROW_SESSION, "more than a fifth of its kernels are impossible%s",
                     guess(kept_median(&j->fast[s], 1)));
    }
}

static void judge_flags(struct judge *j)
{
    const double most = 0.2;
    for (size_t s = 0; s < j->health->session_count; s++) {
        const struct rt_session *session = &j->health->sessions[s];
        if ((double)session->throttled > most * (double)session->rows)
            complain(j, s, RT_ROW_SOUND, "%zu of %zu kernels are flagged as throttled", session->throttled,
                     session->rows);
        if ((double)session->unstable > most * (double)session->rows)
            complain(j, s, RT_ROW_SOUND, "%zu of %zu kernels are flagged as unstable", session->unstable,
                     session->rows);
    }
}

/* Rows of what is left out whole, where nothing of their own is wrong. */
static void mark_rows(struct judge *j)
{
    for (size_t i = 0; i < j->dataset->samples.count; i++) {
        int32_t n = j->session[i];
        if (n < 0 || j->health->row[i] != RT_ROW_SOUND)
            continue;
        struct rt_session *session = &j->health->sessions[n];
        const struct op_key *key = &j->keys[j->cell[i]];
        if (session->refused)
            j->health->row[i] = RT_ROW_SESSION;
        else if (reach_of(j, (size_t)n, (int)rt_ops[key->op].family, key->dtype)->left_out)
            j->health->row[i] = RT_ROW_FAMILY;
        session->count[j->health->row[i]] += j->health->row[i] != RT_ROW_SOUND;
        session->count[RT_ROW_SOUND] -= j->health->row[i] != RT_ROW_SOUND;
    }
}

static void release(struct judge *j)
{
    size_t sessions = j->health->session_count;
    for (size_t c = 0; c < sessions * RT_FAMILY_COUNT * RT_DTYPE_COUNT; c++)
        free(j->reach[c].shares.value);
    for (size_t s = 0; s < sessions; s++) {
        free(j->scale[s].value);
        free(j->fast[s].value);
    }
    for (size_t c = 0; c < j->cell_count; c++)
        free(j->cells[c].rows.value);
    free(j->reach);
    free(j->scale);
    free(j->fast);
    free(j->session);
    free(j->cell);
    free(j->beyond_us);
    free(j->keys);
    free(j->cells);
}

void rt_health_judge(const struct rt_dataset *dataset, struct rt_session_health *out)
{
    size_t samples = dataset->samples.count + 1;
    *out = (struct rt_session_health){.row = rt_calloc(samples, sizeof *out->row)};
    struct judge j = {.dataset = dataset,
                      .health = out,
                      .session = rt_malloc(samples * sizeof *j.session),
                      .cell = rt_malloc(samples * sizeof *j.cell),
                      .beyond_us = rt_malloc(samples * sizeof *j.beyond_us)};
    rt_random_seed(&j.random, 1, 0);
    find_sessions(&j);
    j.reach = rt_calloc((out->session_count + 1) * RT_FAMILY_COUNT * RT_DTYPE_COUNT, sizeof *j.reach);
    j.scale = rt_calloc(out->session_count + 1, sizeof *j.scale);
    j.fast = rt_calloc(out->session_count + 1, sizeof *j.fast);
    gather(&j);
    judge_reach(&j);
    judge_scale(&j);
    judge_steadiness(&j);
    find_strays(&j);
    find_apart(&j);
    judge_rows(&j);
    judge_flags(&j);
    judge_drift(&j);
    mark_rows(&j);
    release(&j);
}

void rt_health_release(struct rt_session_health *health)
{
    free(health->row);
    free(health->sessions);
    free(health->complaints);
    *health = (struct rt_session_health){0};
}

/* ---- what is said of it ---- */

const struct rt_complaint *rt_health_refusal(const struct rt_session_health *health, int32_t device)
{
    for (size_t c = 0; c < health->complaint_count; c++)
        if (health->complaints[c].rows == RT_ROW_SESSION &&
            (device < 0 || health->sessions[health->complaints[c].session].device == device))
            return &health->complaints[c];
    return NULL;
}

/* "NVIDIA L4, split train", or without a split. */
static const char *session_name(const struct rt_session_health *health, const struct rt_dataset *dataset,
                                size_t session, char text[static 128])
{
    const struct rt_session *s = &health->sessions[session];
    snprintf(text, 128, "%s%s%s", dataset->devices[s->device].name,
             s->split != RT_SPLIT_NONE ? ", split " : "",
             s->split != RT_SPLIT_NONE ? rt_splits[s->split] : "");
    return text;
}

void rt_health_warn(const struct rt_session_health *health, const struct rt_dataset *dataset, int32_t device,
                    unsigned kept, const char *consequence)
{
    char name[128];
    for (size_t c = 0; c < health->complaint_count; c++) {
        const struct rt_complaint *complaint = &health->complaints[c];
        if (device >= 0 && health->sessions[complaint->session].device != device)
            continue;
        bool said = consequence != NULL && complaint->rows != RT_ROW_SOUND && !(kept & 1u << complaint->rows);
        rt_warn("%s: %s%s%s", session_name(health, dataset, complaint->session, name), complaint->text,
                said ? "; " : "", said ? consequence : "");
    }
}

struct rt_table *rt_health_sessions(const struct rt_session_health *health, const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {
        {"device", NULL, 's', 0},
        {"split", NULL, 's', 0},
        {"rows", NULL, 'd', 0},
        {"refused", NULL, 'b', 0},
        {"left_out", "left out", 'd', 0},
        {"products", "products reach", 'f', 2},
        {"vectors", "vectors reach", 'f', 2},
        {"unsteady", NULL, 'f', 2},
        {"drift", NULL, 'f', 2},
        {"clock_low_mhz", "MHz from", 'f', 0},
        {"clock_high_mhz", "to", 'f', 0},
        {"temperature_c", "C up to", 'f', 0},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t i = 0; i < health->session_count; i++) {
        const struct rt_session *s = &health->sessions[i];
        rt_table_row(table, dataset->devices[s->device].name, rt_splits[s->split], (long long)s->rows,
                     (int)s->refused, (long long)(s->rows - s->count[RT_ROW_SOUND]), s->products, s->vectors,
                     s->unsteady, s->drift, s->clock_low_mhz, s->clock_high_mhz, s->temperature_c);
    }
    return table;
}

struct rt_table *rt_health_complaints(const struct rt_session_health *health,
                                      const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {
        {"session", NULL, 's', 0}, {"left_out", "left out", 's', 0}, {"what", NULL, 's', 0}};
    static const char *const left_out[RT_ROW_COUNT] = {"nothing", "these kernels", "these kernels",
                                                       "the family", "the session"};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    char name[128];
    for (size_t c = 0; c < health->complaint_count; c++)
        rt_table_row(table, session_name(health, dataset, health->complaints[c].session, name),
                     left_out[health->complaints[c].rows], health->complaints[c].text);
    return table;
}
