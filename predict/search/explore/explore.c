/* Every point forecast, chunk by chunk. See explore.h. */
#include "predict/search/explore/explore.h"
#include "base/point_journal.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/shared_work.h"
#include "predict/step/forecast_graphs.h"
#include "models/predictors/roofline/board.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- limits, and how time answers to one --- */

static const double RAISE = 1.1;

/* Fields that are raised together; multiprocessors bring their share of the peaks. A clock brings that too
 * and more besides, so that it always binds before them: it counts where it varies (rt_limits_of). */
static const struct row {
    const char *name;
    const char *fields[4];
} rows[] = {
    {"compute", {"sms"}},
    {"bandwidth", {"bandwidth_gbs"}},
    {"L2", {"l2_mib"}},
    {"power", {"power_w"}},
    {"link", {"link_gbs", "bridge_gbs", "host_link_gbs"}},
    {"host", {NULL}},
};

static size_t field_of(const char *key)
{
    return key == NULL ? rt_device_field_count
                       : (size_t)(rt_device_field_named(key, strlen(key)) - rt_device_fields);
}

static const struct row *row_of(const struct rt_limit *limit)
{
    for (size_t r = 0; r < RT_COUNT(rows); r++)
        if (strcmp(rows[r].name, limit->name) == 0)
            return &rows[r];
    return NULL;
}

static bool is_listed(size_t field)
{
    for (size_t r = 0; r < RT_COUNT(rows); r++)
        for (size_t f = 0; f < RT_COUNT(rows[r].fields); f++)
            if (rows[r].fields[f] != NULL && field_of(rows[r].fields[f]) == field)
                return true;
    return false;
}

size_t rt_limits_of(const struct rt_space *space, struct rt_limit *out)
{
    size_t count = 0;
    for (size_t r = 0; r < RT_COUNT(rows); r++)
        out[count++] = (struct rt_limit){rows[r].name, field_of(rows[r].fields[0])};
    for (size_t a = 0; a < space->axes; a++)
        if (!is_listed(space->axis[a].field))
            out[count++] =
                (struct rt_limit){rt_device_fields[space->axis[a].field].key, space->axis[a].field};
    return count;
}

/* Has the device a number for it? The host has. */
static bool is_known(const struct rt_limit *limit, const struct rt_device *device)
{
    return limit->field == rt_device_field_count ||
           !isnan(*rt_device_value((struct rt_device *)(uintptr_t)device, limit->field));
}

static void raise_field(struct rt_device *device, size_t field)
{
    double value = *rt_device_value(device, field);
    struct rt_device_setting setting = {field, RAISE * value};
    if (!isnan(value))
        rt_device_set(device, &setting, 1);
}

static void raise_device(const struct rt_limit *limit, struct rt_device *device)
{
    const struct row *row = row_of(limit);
    if (row == NULL)
        raise_field(device, limit->field);
    for (size_t f = 0; row != NULL && f < RT_COUNT(row->fields) && row->fields[f] != NULL; f++)
        raise_field(device, field_of(row->fields[f]));
}

/* A host that dispatches in 1 / RAISE of the time. */
static void raise_host(struct rt_forecast_options *how, struct rt_host *host)
{
    *host = how->host != NULL ? *how->host : *rt_host_default();
    host->forward_us /= RAISE;
    host->backward_us /= RAISE;
    host->launch_us /= RAISE;
    host->optimizer_us /= RAISE;
    host->step_us /= RAISE;
    how->host_us /= RAISE;
    how->host = host;
}

/* Does no kernel compute faster with a tenth more power? It enters by these rates alone
 * (models/predictors/roofline/board.h). */
static bool is_within_power(const struct rt_forecast *forecast)
{
    bool asked[RT_FAMILY_COUNT][RT_DTYPE_COUNT] = {{false}};
    const struct rt_device *device = forecast->device;
    struct rt_device raised = *device;
    raised.power_w *= RAISE;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_call *call = &forecast->launches[i].kernel.call;
        bool moves =
            rt_families[rt_call_family(call)].moves; /* forecast as elementwise ops of the graph's dtype */
        enum rt_family family = moves ? RT_FAMILY_ELEMENTWISE : rt_call_family(call);
        enum rt_dtype dtype = moves ? forecast->graph->options.dtype : (enum rt_dtype)call->dtype;
        if (asked[family][dtype])
            continue;
        asked[family][dtype] = true;
        if (rt_sustained_flops(&raised, family, dtype) > rt_sustained_flops(device, family, dtype) ||
            rt_rates_of(&raised, family, dtype).sustained_flops >
                rt_rates_of(device, family, dtype).sustained_flops)
            return false;
    }
    return true;
}

/* What cannot be in the way of this step, so that no forecast is needed to tell. */
static bool is_out_of_the_way(const struct rt_limit *limit, const struct rt_forecast *forecast)
{
    if (strcmp(limit->name, "power") == 0)
        return is_within_power(forecast);
    if (strcmp(limit->name, "link") == 0)
        return forecast->source_us[RT_TIME_LINK] == 0 && forecast->communication_us <= 0 &&
               forecast->copy_us == 0;
    return strcmp(limit->name, "host") == 0 && forecast->host_us == 0;
}

/* The step's time with the limit raised. */
static int raised_us(const struct rt_limit *limit, const struct rt_predictor *predictor,
                     const struct rt_forecast *forecast, double *out)
{
    struct rt_forecast_options how = forecast->options;
    how.times_only = true;
    how.energy = false;
    struct rt_device device = *forecast->device;
    struct rt_forecast raised;
    struct rt_host host;
    if (limit->field == rt_device_field_count) {
        raise_host(&how, &host);
        *out = rt_forecast_total_with(forecast, predictor, &how);
        return RT_OK;
    }
    raise_device(limit, &device);
    int status = rt_forecast_graph(forecast->graph, predictor, &device, &how, &raised);
    if (status != RT_OK)
        return status;
    *out = raised.total_us;
    rt_forecast_release(&raised);
    return RT_OK;
}

/* d ln time / d ln limit of a forecast's step. */
static int elasticity_in(const struct rt_limit *limit, const struct rt_predictor *predictor,
                         const struct rt_forecast *forecast, double *out)
{
    double us = forecast->total_us;
    int status = RT_OK;
    if (!is_out_of_the_way(limit, forecast) && is_known(limit, forecast->device))
        status = raised_us(limit, predictor, forecast, &us);
    *out = is_known(limit, forecast->device) ? log(us / forecast->total_us) / log(RAISE) : NAN;
    return status;
}

/* --- the exploration --- */

enum { CHUNK_POINTS = 64 }; /* that a kill may cost */

void rt_exploration_release(struct rt_exploration *exploration)
{
    for (size_t m = 0; m < exploration->model_count; m++)
        rt_graph_release(&exploration->models[m].graph);
    free(exploration->models);
    free(exploration->numbers);
    rt_space_release(&exploration->space);
    exploration->models = NULL;
    exploration->numbers = NULL;
    exploration->model_count = 0;
}

/* ---- points ---- */

size_t rt_exploration_width(const struct rt_exploration *exploration)
{
    return exploration->model_count * (RT_POINT_ELASTICITIES + exploration->limit_count);
}

double *rt_exploration_at(const struct rt_exploration *exploration, size_t point, size_t model)
{
    return exploration->numbers + point * rt_exploration_width(exploration) +
           model * (RT_POINT_ELASTICITIES + exploration->limit_count);
}

/* The geometric mean of a number over the models. */
static double mean_of(const struct rt_exploration *exploration, size_t point, size_t number)
{
    double sum = 0, count = (double)exploration->model_count;
    if (exploration->model_count == 1) /* to the last bit */
        return rt_exploration_at(exploration, point, 0)[number];
    for (size_t m = 0; m < exploration->model_count; m++)
        sum += log(rt_exploration_at(exploration, point, m)[number]);
    return exp(sum / count);
}

double rt_exploration_time_us(const struct rt_exploration *exploration, size_t point)
{
    return mean_of(exploration, point, RT_POINT_TIME);
}

double rt_exploration_energy_j(const struct rt_exploration *exploration, size_t point)
{
    return mean_of(exploration, point, RT_POINT_ENERGY);
}

double rt_exploration_elasticity(const struct rt_exploration *exploration, size_t point, size_t limit)
{
    double sum = 0;
    for (size_t m = 0; m < exploration->model_count; m++)
        sum += rt_exploration_at(exploration, point, m)[RT_POINT_ELASTICITIES + limit];
    return sum / (double)exploration->model_count;
}

bool rt_exploration_fits(const struct rt_exploration *exploration, size_t point)
{
    for (size_t m = 0; m < exploration->model_count; m++)
        if (rt_exploration_at(exploration, point, m)[RT_POINT_FITS] == 0)
            return false;
    return true;
}

int rt_exploration_binds(const struct rt_exploration *exploration, size_t point, size_t model)
{
    double least = -RT_BINDS;
    int binds = -1;
    for (size_t l = 0; l < exploration->limit_count; l++) {
        double elasticity = model == RT_ALL_MODELS
                                ? rt_exploration_elasticity(exploration, point, l)
                                : rt_exploration_at(exploration, point, model)[RT_POINT_ELASTICITIES + l];
        if (elasticity < least) { /* not NaN */
            least = elasticity;
            binds = (int)l;
        }
    }
    return binds;
}

/* ---- forecasts ---- */

/* The least memory (or the most) of the space, with the most multiprocessors (or the fewest): a context takes
 * some for each (predict/step/memory.c). */
static void memory_corner(const struct rt_exploration *exploration, bool most, struct rt_device *out)
{
    *out = exploration->base;
    for (size_t a = 0; a < exploration->space.axes; a++) {
        const struct rt_axis *axis = &exploration->space.axis[a];
        size_t offset = rt_device_fields[axis->field].offset;
        bool memory = offset == offsetof(struct rt_device, memory_gib);
        struct rt_device_setting setting = {axis->field, memory == most ? axis->high : axis->low};
        if (memory || offset == offsetof(struct rt_device, sms))
            rt_device_set(out, &setting, 1);
    }
}

/* What takes much of a forecast, memory, is asked at every point only where corners of the space differ. */
static int find_fits(struct rt_exploration *exploration)
{
    int status = RT_OK;
    for (size_t m = 0; status == RT_OK && m < exploration->model_count; m++) {
        struct rt_explored_model *model = &exploration->models[m];
        int fits[2] = {0};
        for (int most = 0; status == RT_OK && most < 2; most++) {
            struct rt_device device;
            struct rt_forecast forecast;
            memory_corner(exploration, most, &device);
            status = rt_forecast_graph(&model->graph, exploration->predictor, &device, &exploration->how,
                                       &forecast);
            if (status != RT_OK)
                break;
            fits[most] = rt_forecast_fits(&forecast);
            rt_forecast_release(&forecast);
        }
        model->fits = fits[0] == fits[1] ? fits[0] : -1;
    }
    return status;
}

/* `numbers` of one model on one device. */
static int forecast_model(const struct rt_exploration *exploration, size_t model,
                          const struct rt_device *device, struct rt_network_memo *memo, double *numbers)
{
    struct rt_forecast_options how = exploration->how;
    struct rt_forecast forecast;
    how.memo = memo;
    how.times_only = exploration->models[model].fits >= 0;
    int status =
        rt_forecast_graph(&exploration->models[model].graph, exploration->predictor, device, &how, &forecast);
    if (status != RT_OK)
        return status;
    numbers[RT_POINT_TIME] = forecast.total_us;
    numbers[RT_POINT_ENERGY] = forecast.energy.joules * forecast.energy.gpus;
    numbers[RT_POINT_FITS] = how.times_only ? exploration->models[model].fits : rt_forecast_fits(&forecast);
    for (size_t l = 0; status == RT_OK && l < exploration->limit_count; l++)
        status = elasticity_in(&exploration->limits[l], exploration->predictor, &forecast,
                               &numbers[RT_POINT_ELASTICITIES + l]);
    rt_forecast_release(&forecast);
    return status;
}

/* `numbers` (width) of all models on one device. */
static int forecast_device(const struct rt_exploration *exploration, const struct rt_device *device,
                           struct rt_network_memo *memo, double *numbers)
{
    int status = RT_OK;
    for (size_t m = 0; status == RT_OK && m < exploration->model_count; m++)
        status = forecast_model(exploration, m, device, memo,
                                numbers + m * (RT_POINT_ELASTICITIES + exploration->limit_count));
    return status;
}

/* ---- threads ---- */

struct work {
    struct rt_exploration *exploration;
    struct rt_point_table table;
    struct rt_point_journal *journal; /* NULL: none */
    struct rt_network_memos memos;
    size_t finished; /* chunks */
    struct rt_progress progress;
};

static int forecast_chunk(void *context, size_t chunk, size_t member)
{
    struct work *work = context;
    const struct rt_exploration *exploration = work->exploration;
    struct rt_network_memo *memo = rt_network_memo_of(&work->memos, member);
    bool ours = rt_shard_has(exploration->shard, chunk) && !work->table.done[chunk];
    size_t count = ours ? rt_point_chunk_points(&work->table, chunk) : 0;
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < count; i++) {
        size_t point = chunk * CHUNK_POINTS + i;
        double values[RT_MOST_AXES];
        struct rt_device device;
        rt_space_values(&exploration->space, point, values);
        rt_space_device(&exploration->space, values, &exploration->base, &device);
        status = forecast_device(exploration, &device, memo, rt_exploration_at(exploration, point, 0));
    }
    return status;
}

/* Keeps a chunk that is not kept yet. */
static int end_chunk(void *context, size_t chunk)
{
    struct work *work = context;
    if (work->table.done[chunk] || !rt_shard_has(work->exploration->shard, chunk))
        return RT_OK;
    work->finished++;
    rt_progress_update(&work->progress, (double)(work->finished * CHUNK_POINTS), "%s", "");
    return work->journal != NULL ? rt_point_journal_add(work->journal, &work->table, chunk) : RT_OK;
}

static int explore_chunks(struct work *work, struct rt_threads *pool)
{
    struct rt_exploration *exploration = work->exploration;
    rt_progress_start(&work->progress, "explore", (double)exploration->space.points, exploration->quiet);
    int status = rt_shared_work_run(&(struct rt_shared_work){forecast_chunk, end_chunk, work}, pool,
                                    rt_point_chunks(&work->table));
    rt_progress_end(&work->progress);
    rt_network_memos_release(&work->memos);
    size_t points = work->finished * CHUNK_POINTS, all = exploration->space.points;
    return status != RT_EINTERRUPTED ? status
                                     : rt_fail(RT_EINTERRUPTED, "interrupted after %zu of %zu points",
                                               points < all ? points : all, all);
}

/* ---- with a journal ---- */

/* What all numbers follow from: the points, the base, and what the models take on it, which knows predictor,
 * graphs and options to the last bit. */
static int make_key(const struct rt_exploration *exploration, uint64_t *key)
{
    struct rt_network_memo *memo = rt_network_memo_new();
    double *numbers = rt_exploration_at(exploration, exploration->space.points, 0), values[RT_MOST_AXES];
    uint64_t hash = RT_HASH_START;
    int status = forecast_device(exploration, &exploration->base, memo, numbers);
    for (size_t a = 0; a < exploration->space.axes; a++)
        hash = rt_hash(hash, &exploration->space.axis[a].field, sizeof(size_t));
    for (size_t p = 0; p < exploration->space.points; p++) {
        rt_space_values(&exploration->space, p, values);
        hash = rt_hash(hash, values, exploration->space.axes * sizeof *values);
    }
    for (size_t f = 0; f < rt_device_field_count; f++)
        hash = rt_hash(hash, rt_device_value((struct rt_device *)(uintptr_t)&exploration->base, f),
                       sizeof(double));
    hash = rt_hash(hash, exploration->base.name, strlen(exploration->base.name));
    *key = rt_hash(hash, numbers, rt_exploration_width(exploration) * sizeof *numbers);
    rt_network_memo_free(memo);
    return status;
}

static int explore_all(struct work *work, struct rt_threads *pool, const char *output, size_t *resumed)
{
    struct rt_exploration *exploration = work->exploration;
    struct rt_point_journal journal;
    int status = find_fits(exploration); /* also: can the models be forecast at all? */
    if (status == RT_OK)
        status = make_key(exploration, &work->table.key);
    if (status != RT_OK || output == NULL)
        return status != RT_OK ? status : explore_chunks(work, pool);
    status =
        rt_point_journal_open(output, exploration->shard, exploration->overwrite, &work->table, &journal);
    if (status != RT_OK)
        return status;
    for (size_t c = 0; c < rt_point_chunks(&work->table); c++)
        work->finished += work->table.done[c];
    *resumed = work->table.resumed;
    work->journal = &journal;
    status = explore_chunks(work, pool);
    rt_point_journal_close(&journal);
    if (status == RT_OK && exploration->shard.of > 0)
        rt_point_journal_say(output, exploration->shard, &work->table);
    return status;
}

int rt_explore(struct rt_exploration *exploration, struct rt_threads *pool, const char *output,
               size_t *resumed)
{
    size_t points = exploration->space.points, width = rt_exploration_width(exploration);
    struct work work = {
        .exploration = exploration,
        .table = {.what = "exploration", .points = points, .width = width, .chunk = CHUNK_POINTS}};
    *resumed = 0;
    free(exploration->numbers);
    exploration->numbers = work.table.numbers = rt_malloc((points + 1) * width * sizeof(double));
    work.table.done = rt_calloc(rt_point_chunks(&work.table) + 1, sizeof *work.table.done);
    int status = explore_all(&work, pool, output, resumed);
    free(work.table.done);
    return status;
}
