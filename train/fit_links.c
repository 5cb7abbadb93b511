/* The model of links, fitted. See fit_intervals.h. */
#include "train/fit_intervals.h"
#include "base/hash_set.h"
#include "base/sort.h"
#include "base/status.h"
#include "models/predictors/nn/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 2, REWEIGHTINGS = 3, SWEEPS = 400 };
static const double RIDGE = 1e-3;     /* part of the diagonal, so that equal columns share */
static const double EFFECT_RIDGE = 4; /* cells that the prior of a device effect is worth */
static const double OUTLIER = 0.2;    /* error in ln from which a row counts less */
static const double SERVERS = 0.1;    /* width of a server from which intervals have it beside them */
static const double SMALL = 65536.0;  /* bytes of messages that the host's launch takes longer than */

struct row {
    double term[RT_LINK_TERMS];
    enum rt_link_algorithm algorithm;
    bool timed_by_host; /* launched by the host: no algorithm's time */
    bool over_servers;  /* what a network does is no GPU's effect */
    double measured_us, weight, share[RT_EFFECT_PARTS], bound_us, server_width;
    size_t sample;
    int32_t device;
    bool train; /* else validation */
};

struct rows {
    struct row *row;
    size_t count;
};

/* What weighs as one. */
struct cell {
    int64_t gpus, fabric, library, octave;
    int32_t device, group, op, dtype;
};

/* ---- rows ---- */

static struct cell cell_of(const struct rt_sample *sample)
{
    struct cell cell;
    memset(&cell, 0, sizeof cell);
    double bytes = rt_dtypes[sample->call.dtype].bytes * (double)sample->call.dim[RT_DIM_ELEMENTS];
    cell.gpus = sample->call.dim[RT_DIM_GPUS];
    cell.fabric = sample->call.dim[RT_DIM_FABRIC];
    cell.library = sample->call.dim[RT_DIM_LIBRARY];
    cell.octave = (int64_t)floor(log2(bytes));
    cell.device = sample->device;
    cell.group = sample->group;
    cell.op = sample->call.op;
    cell.dtype = sample->call.dtype;
    return cell;
}

/* 1 over how many rows of a part a cell has. */
static void weigh(const struct rt_dataset *dataset, struct rows *rows, bool train)
{
    struct rt_hash_set set = {0};
    struct cell *cells = rt_malloc((rows->count + 1) * sizeof *cells);
    size_t *cell_of_row = rt_calloc(rows->count + 1, sizeof *cell_of_row);
    double *held = rt_calloc(rows->count + 1, sizeof *held);
    size_t count = 0;
    rt_hash_set_reserve(&set, rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->row[i].train != train)
            continue;
        cells[count] = cell_of(RT_SAMPLE(dataset, rows->row[i].sample));
        int64_t same = rt_hash_set_add_bytes(&set, cells, sizeof *cells, count);
        cell_of_row[i] = same >= 0 ? (size_t)same : count++;
        held[cell_of_row[i]]++;
    }
    for (size_t i = 0; i < rows->count; i++)
        if (rows->row[i].train == train)
            rows->row[i].weight = 1 / held[cell_of_row[i]];
    rt_hash_set_release(&set);
    free(cells);
    free(cell_of_row);
    free(held);
}

static void set_row(const struct rt_dataset *dataset, size_t sample_index, struct row *row)
{
    const struct rt_sample *sample = RT_SAMPLE(dataset, sample_index);
    const struct rt_device *device = &dataset->devices[sample->device];
    *row = (struct row){.sample = sample_index};
    row->device = sample->device;
    row->measured_us = sample->latency_us;
    row->algorithm = rt_link_chosen(&sample->call, device);
    row->timed_by_host = sample->call.dim[RT_DIM_LIBRARY] == RT_LIBRARY_SERVER_EAGER;
    row->over_servers = row->algorithm >= RT_LINK_NODES_REDUCE;
    row->bound_us = rt_link_bound_us(&sample->call, device);
    rt_link_terms_of(&sample->call, device, row->algorithm, row->term);
    if (row->over_servers)
        return;
    row->share[RT_EFFECT_COMPUTE] = rt_link_start_share(&sample->call, device);
    row->share[RT_EFFECT_MEMORY] = 1 - row->share[RT_EFFECT_COMPUTE];
    row->share[RT_EFFECT_DEPTH] = rt_link_bridge_share(&sample->call, device);
    row->share[RT_EFFECT_NARROW] = rt_link_steps_share(&sample->call, device);
    row->server_width = rt_link_server_width(&sample->call, device);
}

static void gather(const struct rt_training_data *data, const struct rt_family_net *net, struct rows *rows,
                   struct rt_training_rows_left_out *left_out)
{
    const struct rt_dataset *dataset = data->dataset;
    *rows = (struct rows){.row = rt_malloc((dataset->samples.count + 1) * sizeof *rows->row)};
    *left_out = (struct rt_training_rows_left_out){0};
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        if (rt_call_family(&sample->call) != net->family ||
            rt_training_leaves_out(data, i, sample, net, false, left_out))
            continue;
        set_row(dataset, i, &rows->row[rows->count]);
        rows->row[rows->count++].train = rt_split_of(data->split, sample) == RT_PART_TRAIN;
    }
    weigh(dataset, rows, true);
    weigh(dataset, rows, false);
}

/* ---- coefficients ---- */

static double shift_by(const struct row *row, const struct rt_device_effect *effect)
{
    double shift = 0;
    for (int p = 0; p < RT_EFFECT_PARTS; p++)
        shift += row->share[p] * effect->value[p];
    return shift;
}

static double unit_us(const double coefficient[RT_LINK_TERMS], const struct row *row)
{
    double us = 0;
    for (int t = 0; t < RT_LINK_TERMS; t++)
        us += coefficient[t] * row->term[t];
    return us;
}

static bool is_taken(const struct row *row, const bool *taken, enum rt_link_algorithm algorithm)
{
    return row->train && taken[row->device] && !row->timed_by_host && row->algorithm == algorithm;
}

/* Minimises c'Hc/2 - g'c over c >= least. H (terms, terms). */
static void descend(double h[RT_LINK_TERMS][RT_LINK_TERMS], const double g[RT_LINK_TERMS],
                    double c[RT_LINK_TERMS])
{
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int t = 0; t < RT_LINK_TERMS; t++) {
            double slope = g[t];
            for (int u = 0; u < RT_LINK_TERMS; u++)
                slope -= h[t][u] * c[u];
            if (h[t][t] > 0)
                c[t] = fmax(t == RT_LINK_WIRE ? 1 : 0, c[t] + slope / h[t][t]);
        }
}

/* Normal equations of relative errors; weights of the last coefficients, `c`, where there are any. */
static size_t accumulate(const struct rows *rows, const bool *taken, const struct rt_device_effect *effects,
                         enum rt_link_algorithm algorithm, const double *c,
                         double h[RT_LINK_TERMS][RT_LINK_TERMS], double g[RT_LINK_TERMS])
{
    size_t count = 0;
    memset(h, 0, RT_LINK_TERMS * sizeof *h);
    memset(g, 0, RT_LINK_TERMS * sizeof *g);
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->row[i];
        if (!is_taken(row, taken, algorithm))
            continue;
        double target = row->measured_us * exp(-shift_by(row, &effects[row->device])), weight = row->weight;
        if (c != NULL) { /* towards errors in ln, of which large ones count by their size alone */
            double ratio = fmax(unit_us(c, row) / target, 1e-6);
            weight *= fmin(1, OUTLIER / fabs(log(ratio) + 1e-12)) / fmax(ratio, 0.3);
        }
        for (int t = 0; t < RT_LINK_TERMS; t++) {
            g[t] += weight * row->term[t] / target;
            for (int u = 0; u < RT_LINK_TERMS; u++)
                h[t][u] += weight * row->term[t] * row->term[u] / (target * target);
        }
        count++;
    }
    for (int t = 0; t < RT_LINK_TERMS; t++)
        h[t][t] *= 1 + RIDGE;
    return count;
}

static void fit_algorithm(const struct rows *rows, const bool *taken, const struct rt_device_effect *effects,
                          enum rt_link_algorithm algorithm, double coefficient[RT_LINK_TERMS])
{
    double h[RT_LINK_TERMS][RT_LINK_TERMS], g[RT_LINK_TERMS], c[RT_LINK_TERMS] = {[RT_LINK_WIRE] = 1};
    for (int round = 0; round <= REWEIGHTINGS; round++) {
        if (accumulate(rows, taken, effects, algorithm, round > 0 ? c : NULL, h, g) == 0)
            return;
        descend(h, g, c);
    }
    memcpy(coefficient, c, sizeof c);
}

/* Geometric mean over devices of the median time of small messages that the host launched. */
static double fit_host(const struct rt_dataset *dataset, const struct rows *rows, const bool *taken,
                       double prior)
{
    double sum = 0, devices = 0, *times = rt_malloc((rows->count + 1) * sizeof *times);
    for (size_t d = 0; d < dataset->device_count; d++) {
        size_t count = 0;
        for (size_t i = 0; i < rows->count; i++) {
            const struct row *row = &rows->row[i];
            const struct rt_call *call = &RT_SAMPLE(dataset, row->sample)->call;
            double bytes = rt_dtypes[call->dtype].bytes * (double)call->dim[RT_DIM_ELEMENTS];
            if (row->device == (int32_t)d && row->train && taken[d] && row->timed_by_host && bytes <= SMALL)
                times[count++] = row->measured_us;
        }
        if (count > 0) {
            sum += log(rt_median(times, count));
            devices++;
        }
    }
    free(times);
    return devices > 0 ? exp(sum / devices) : prior;
}

/* ---- device effects ---- */

/* Start, wire, bridges and steps of a device: (H + ridge) value = g, by rows weighted by what the last ones
 * leave of their errors. */
static void fit_effect(const struct rows *rows, const struct rt_link_model *model, size_t device,
                       struct rt_device_effect *effect)
{
    double h[RT_EFFECT_PARTS][RT_EFFECT_PARTS] = {{0}}, g[RT_EFFECT_PARTS] = {0};
    for (int p = 0; p < RT_EFFECT_PARTS; p++)
        h[p][p] = EFFECT_RIDGE;
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->row[i];
        if (!row->train || row->device != (int32_t)device || row->timed_by_host)
            continue;
        double error = log(row->measured_us / unit_us(model->coefficient[row->algorithm], row));
        double left = fabs(error - shift_by(row, effect)) + 1e-12,
               weight = row->weight * fmin(1, OUTLIER / left);
        for (int p = 0; p < RT_EFFECT_PARTS; p++) {
            g[p] += weight * row->share[p] * error;
            for (int q = 0; q < RT_EFFECT_PARTS; q++)
                h[p][q] += weight * row->share[p] * row->share[q];
        }
    }
    rt_solve_positive(RT_EFFECT_PARTS, h[0], g);
    memcpy(effect->value, g, sizeof g);
}

static void fit_effects(const struct rt_dataset *dataset, const struct rows *rows, const bool *taken,
                        const struct rt_link_model *model, struct rt_device_effect *effects)
{
    for (size_t d = 0; d < dataset->device_count; d++)
        for (int round = 0; round <= REWEIGHTINGS && taken[d]; round++)
            fit_effect(rows, model, d, &effects[d]);
}

/* What devices have in common of the start and the wire, their mean, is the coefficients'. */
static void centre(struct rt_device_effect *effects, const bool *taken, size_t count)
{
    for (int p = 0; p <= RT_EFFECT_MEMORY; p++) {
        double sum = 0, devices = 0;
        for (size_t d = 0; d < count; d++) {
            sum += effects[d].value[p];
            devices += taken[d] && effects[d].kernels > 0;
        }
        for (size_t d = 0; d < count; d++)
            effects[d].value[p] -= taken[d] && effects[d].kernels > 0 ? sum / devices : 0;
    }
}

/* What each was fitted to. */
static void count_rows(const struct rt_dataset *dataset, const struct rows *rows,
                       struct rt_device_effect *effects)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->row[i];
        if (!row->train || row->timed_by_host || row->over_servers)
            continue;
        effects[row->device].kernels++;
        rt_device_effect_add_dtype(&effects[row->device],
                                   (enum rt_dtype)RT_SAMPLE(dataset, row->sample)->call.dtype);
    }
}

/* Coefficients and effects (devices of the dataset; `taken` of them are fitted). */
static void fit_all(const struct rt_dataset *dataset, const struct rows *rows, const bool *taken,
                    struct rt_link_model *model, struct rt_device_effect *effects)
{
    for (size_t d = 0; d < dataset->device_count; d++)
        rt_device_effect_init(&effects[d], &dataset->devices[d]);
    count_rows(dataset, rows, effects);
    *model = rt_link_prior;
    fit_effects(dataset, rows, taken, model, effects);
    centre(effects, taken, dataset->device_count);
    for (int round = 0; round < ROUNDS; round++) {
        for (int algorithm = 0; algorithm < RT_LINK_ALGORITHMS; algorithm++)
            fit_algorithm(rows, taken, effects, (enum rt_link_algorithm)algorithm,
                          model->coefficient[algorithm]);
        fit_effects(dataset, rows, taken, model, effects);
    }
    model->host_us = fit_host(dataset, rows, taken, rt_link_prior.host_us);
}

/* ---- the net ---- */

static void fit_net(const struct rt_dataset *dataset, const struct rows *rows, const bool *taken,
                    struct rt_family_net *net)
{
    struct rt_device_effect *effects = rt_calloc(dataset->device_count + 1, sizeof *effects);
    fit_all(dataset, rows, taken, &net->links, effects);
    for (size_t d = 0; d < dataset->device_count; d++)
        if (taken[d] && effects[d].kernels > 0) {
            rt_device_effects_put(&net->effects, &effects[d]);
            rt_device_effects_find(&net->effects, effects[d].device)->calibrated = false;
        }
    free(effects);
}

/* ln(measured / forecast). */
static double error_of(const struct rt_dataset *dataset, const struct rt_family_net *net,
                       const struct row *row, bool prior)
{
    const struct rt_sample *sample = RT_SAMPLE(dataset, row->sample);
    const struct rt_device *device = &dataset->devices[row->device];
    struct rt_device_effect effect;
    struct rt_query query;
    struct rt_bound bound;
    double us;
    rt_query_of_sample(sample, false, &query);
    rt_family_net_inputs(net, &query, device, NULL, &bound); /* its link was there when rows were gathered */
    (prior ? rt_device_effects_prior : rt_device_effects_of)(&net->effects, device, &effect);
    rt_bound_set_effect(&bound, &effect);
    rt_forecasters[net->forecaster].latency(net, NULL, NULL, &bound, 1, &us);
    return log(row->measured_us / us);
}

static void add_errors(const struct rt_dataset *dataset, const struct rt_family_net *net,
                       const struct rows *rows, const bool *devices, bool unseen,
                       struct rt_residuals *residuals)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->row[i];
        if (devices[row->device] && !row->over_servers &&
            (unseen ? row->server_width < SERVERS : !row->train))
            rt_residuals_add(residuals, error_of(dataset, net, row, unseen), row->device,
                             RT_SAMPLE(dataset, row->sample)->call.dtype, row->bound_us);
    }
}

/* A fit without the devices marked, judged by them. */
static void leave_out(const struct rt_dataset *dataset, const struct rows *rows, const bool *taken,
                      const bool *marked, struct rt_residuals *unseen)
{
    struct rt_family_net net = {.family = RT_FAMILY_COLLECTIVE,
                                .forecaster = RT_FORECASTER_LINKS,
                                .effects.family = RT_FAMILY_COLLECTIVE};
    bool *others = rt_malloc((dataset->device_count + 1) * sizeof *others);
    for (size_t d = 0; d < dataset->device_count; d++)
        others[d] = taken[d] && !marked[d];
    fit_net(dataset, rows, others, &net);
    add_errors(dataset, &net, rows, marked, true, unseen);
    rt_device_effects_release(&net.effects);
    free(others);
}

static void fit_intervals(const struct rt_dataset *dataset, const struct rows *rows, const bool *taken,
                          struct rt_family_net *net)
{
    size_t devices = dataset->device_count, fitted = 0;
    bool *marked = rt_malloc((devices + 1) * sizeof *marked);
    bool *done = rt_calloc(devices + 1, sizeof *done);
    struct rt_residuals known, unseen;
    rt_residuals_init(&known, devices);
    rt_residuals_init(&unseen, devices);
    add_errors(dataset, net, rows, taken, false, &known);
    for (size_t d = 0; d < devices; d++)
        fitted += taken[d];
    for (size_t d = 0; d < devices && fitted > 1; d++) {
        if (!taken[d] || done[d])
            continue;
        rt_mark_alike(dataset, taken, d, marked);
        for (size_t other = 0; other < devices; other++)
            done[other] |= marked[other];
        leave_out(dataset, rows, taken, marked, &unseen);
    }
    rt_residuals_finish(dataset, &known, &unseen, &net->intervals);
    rt_residuals_release(&known);
    rt_residuals_release(&unseen);
    free(marked);
    free(done);
}

/* Mean absolute percentage error over the validation rows. */
static double validate(const struct rt_dataset *dataset, const struct rt_family_net *net,
                       const struct rows *rows)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (!rows->row[i].train) {
            sum += fabs(expm1(-error_of(dataset, net, &rows->row[i], false)));
            count++;
        }
    return count > 0 ? 100 * sum / count : NAN;
}

static void fit_rows(const struct rt_training *training, const struct rows *rows, struct rt_family_net *net)
{
    const struct rt_dataset *dataset = training->data.dataset;
    bool *taken = rt_calloc(dataset->device_count + 1, sizeof *taken);
    for (size_t i = 0; i < rows->count; i++) {
        taken[rows->row[i].device] |= rows->row[i].train;
        *(rows->row[i].train ? &net->rows_train : &net->rows_validation) += 1;
    }
    fit_net(dataset, rows, taken, net);
    net->validation_mape = validate(dataset, net, rows);
    net->epochs = net->best_epoch = net->rows_train > 0;
    if (!training->options->no_intervals)
        fit_intervals(dataset, rows, taken, net);
    free(taken);
}

int rt_links_fit(struct rt_training *training, const struct rt_recipe *recipe)
{
    struct rt_training_rows_left_out left_out;
    struct rt_family_net net;
    struct rows rows;
    double started = rt_clock();
    int status = rt_recipe_net(recipe, &net);
    if (status != RT_OK)
        return status;
    gather(&training->data, &net, &rows, &left_out);
    if (rows.count > 0)
        fit_rows(training, &rows, &net);
    struct rt_fit fit = {.epoch = net.epochs, .best_epoch = net.best_epoch, .best_mape = net.validation_mape};
    rt_training_summarise(training, recipe, &left_out, (size_t)net.rows_train, (size_t)net.rows_validation,
                          &fit, started);
    if (net.rows_train > 0)
        rt_training_add_net(training, &net);
    rt_family_net_release(&net);
    free(rows.row);
    return RT_OK;
}
