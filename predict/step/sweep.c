/* Several forecasts: a row for each, their warnings and their pictures. See prediction.h. */
#include "base/status.h"
#include "base/units.h"
#include "base/text.h"
#include "predict/step/prediction.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the table --- */

/* Columns of every sweep, by place: what decides first. */
enum {
    SWEEP_MODEL,
    SWEEP_SIZE = 3,
    SWEEP_RATE = 5,
    SWEEP_FITS = 6,
    SWEEP_PASSES = 10,
    SWEEP_EXPLAINED = 12,
    SWEEP_OWN = 14,
    SWEEP_MORE = 12
};
/* clang-format off */
static const struct rt_column sweep_columns[SWEEP_OWN] = {
    {"model", NULL, 's', 0}, {"gpu", NULL, 's', 0}, {"batch", NULL, 'd', 0}, {"sequence", NULL, 'd', 0},
    {"total_ms", "ms", 'f', 3}, {"tokens_per_s", "tokens/s", 'f', 0}, {"fits", NULL, 's', 0},
    {"grade", "trust", 's', 0}, {"expected_error_pct", "+-%", 'f', 0}, {"memory_gib", "GiB", 'f', 1},
    {"forward_ms", "forward", 'f', 3}, {"backward_ms", "backward", 'f', 3},
    {"coverage_pct", "coverage %", 'f', 1}, {"gpu_seen_pct", "GPU seen %", 'f', 0},
};
/* clang-format on */

/* Columns behind them, and the numbers of a row. */
struct more {
    struct rt_column column[SWEEP_MORE];
    double value[SWEEP_MORE];
    size_t count;
};

static void add_more(struct more *more, const char *key, const char *title, int digits, double value)
{
    more->value[more->count] = value;
    more->column[more->count++] = (struct rt_column){key, title, 'f', digits};
}

/* The same to so many significant digits: energies span decades. */
static void add_significant(struct more *more, const char *key, const char *title, int digits, double value)
{
    add_more(more, key, title, digits, value);
    more->column[more->count - 1].kind = 'g';
}

/* Carbon and price, where they are asked for. */
static void add_electricity(struct more *more, const struct rt_prediction *p)
{
    for (int kind = 0; kind < RT_ELECTRICITY_KINDS; kind++) {
        struct rt_electricity_column column =
            rt_electricity_column(p, (enum rt_electricity_kind)kind, rt_prediction_joules(p));
        if (p->electricity.per_kwh[kind] <= 0)
            continue;
        add_significant(more, column.key, column.title, 4, column.value);
    }
}

/* Do they differ in a text? */
static bool several_models(const struct rt_prediction *predictions, size_t count)
{
    bool several = false;
    for (size_t i = 1; i < count; i++)
        several |= strcmp(predictions[i].model, predictions[0].model) != 0;
    return several;
}

static bool some_of_images(const struct rt_prediction *predictions, size_t count, bool images)
{
    bool some = false;
    for (size_t i = 0; i < count; i++)
        some |= rt_prediction_of_images(&predictions[i]) == images;
    return some;
}

/* Does any of them have a time before or after the GPU's, and is the energy of any known? */
static void look_over(const struct rt_prediction *predictions, size_t count, bool *phases, bool *energy)
{
    *phases = *energy = false;
    for (size_t i = 0; i < count; i++) {
        *phases |= predictions[i].forecast.before_us + predictions[i].forecast.after_us > 0;
        *energy |= predictions[i].refused == NULL && !isnan(rt_prediction_joules(&predictions[i]));
    }
}

/* The phases and energies where any row has one, the epoch where it is asked for, the interval where there is
 * one. */
static void list_more(const struct rt_prediction *predictions, size_t count, const struct rt_prediction *p,
                      const char *from, struct more *more)
{
    const struct rt_forecast *f = &p->forecast;
    bool phases, energy, images = rt_prediction_of_images(p);
    look_over(predictions, count, &phases, &energy);
    *more = (struct more){0};
    if (phases) {
        add_more(more, "before_ms", f->options.input != RT_TRANSFER_NONE ? "input copy" : "start", 3,
                 f->before_us / 1e3);
        add_more(more, "after_ms", "result copy", 3, f->after_us / 1e3);
    }
    if (p->dataset_size > 0)
        add_more(more, "epoch_s", "epoch s", 1, rt_prediction_epoch_s(p));
    if (predictions[0].forecast.options.level > 0) {
        add_more(more, "interval_low_ms", from, 3, f->interval_low_us / 1e3);
        add_more(more, "interval_high_ms", "to", 3, f->interval_high_us / 1e3);
    }
    if (energy) {
        add_significant(more, "step_j", "J", 4, rt_prediction_joules(p));
        add_more(more, "watts", "W", 0, f->energy.watts);
        add_significant(more, images ? "j_per_image" : "j_per_token", images ? "J/image" : "J/token", 3,
                        rt_prediction_joules_per_item(p));
    }
    add_electricity(more, p);
}

/* The columns as the forecasts have them: decoding has a context, models of images a side and images a
 * second. */
static struct rt_table *sweep_table(const struct rt_prediction *predictions, size_t count,
                                    const struct more *more)
{
    static const char *const fits_with[RT_OPTIMIZER_COUNT] = {"fits, no optimizer", "fits with sgd",
                                                              "fits with adamw", "fits with momentum",
                                                              "fits with adamw-cpu"};
    const struct rt_prediction *first = &predictions[0];
    const bool images = some_of_images(predictions, count, true),
               texts = some_of_images(predictions, count, false);
    struct rt_column columns[SWEEP_OWN + SWEEP_MORE];
    memcpy(columns, sweep_columns, sizeof sweep_columns);
    memcpy(columns + SWEEP_OWN, more->column, sizeof more->column);
    if (!several_models(predictions, count))
        columns[SWEEP_MODEL].title = "";
    for (size_t c = SWEEP_EXPLAINED; c < SWEEP_OWN && !first->explain; c++)
        columns[c].title = "";
    if (first->graph.options.step == RT_STEP_DECODE)
        columns[SWEEP_SIZE] = (struct rt_column){"context", NULL, 'd', 0};
    else if (images)
        columns[SWEEP_SIZE] = (struct rt_column){texts ? "size" : "image", NULL, 'd', 0};
    if (images)
        columns[SWEEP_RATE] = texts ? (struct rt_column){"items_per_s", "tokens, images/s", 'f', 0}
                                    : (struct rt_column){"images_per_s", "images/s", 'f', 0};
    for (size_t c = SWEEP_PASSES; c < SWEEP_EXPLAINED && first->graph.options.step != RT_STEP_TRAINING; c++)
        columns[c].title = "";
    if (first->graph.options.step == RT_STEP_TRAINING) /* what it fits with */
        columns[SWEEP_FITS].title = fits_with[first->graph.options.optimizer];
    return rt_table_new(columns, SWEEP_OWN + more->count);
}

static void add_row(struct rt_table *table, const struct rt_prediction *p, struct more *more)
{
    const struct rt_forecast *f = &p->forecast;
    const struct rt_graph_options *o = &p->graph.options;
    bool images = rt_prediction_of_images(p);
    char *gpu = rt_prediction_gpu(p);
    long long size = images ? p->image : o->step == RT_STEP_DECODE ? o->context : p->sequence;
    for (size_t i = 0; p->refused != NULL && i < more->count; i++)
        more->value[i] = NAN;
    if (p->refused != NULL) { /* "-" from its time on */
        rt_table_row_numbers(table, more->value, more->count, p->model, gpu, (long long)p->batch, size, NAN,
                             NAN, NULL, NULL, NAN, NAN, NAN, NAN, NAN, NAN);
    } else {
        struct rt_trust trust = rt_forecast_trust(f, p->predictor);
        rt_table_row_numbers(table, more->value, more->count, p->model, gpu, (long long)p->batch, size,
                             f->total_us / 1e3,
                             images ? rt_prediction_items_per_second(p) : rt_prediction_tokens_per_second(p),
                             rt_forecast_fits(f) ? "yes" : "no",
                             isnan(trust.ln_error) ? NULL : rt_grades[rt_trust_grade(&trust)],
                             rt_trust_error_pct(&trust), f->taken.used / RT_GIB, f->forward_us / 1e3,
                             f->backward_us / 1e3, 100 * f->coverage, rt_prediction_seen_pct(p));
    }
    free(gpu);
}

static struct rt_table *rows_table(const struct rt_prediction *predictions, size_t count)
{
    char *from = rt_format("%g%% from", 100 * predictions[0].forecast.options.level);
    struct more more;
    list_more(predictions, count, &predictions[0], from, &more);
    struct rt_table *table = sweep_table(predictions, count, &more);
    for (size_t i = 0; i < count; i++) {
        list_more(predictions, count, &predictions[i], from, &more);
        add_row(table, &predictions[i], &more);
    }
    free(from);
    return table;
}

/* --- pictures: curves over sizes --- */

enum { MOST_LINES = 8 }; /* that a reader tells from each other */

/* What a forecast's place on the horizontal axis is: batch or size, whichever varies more; the other one and
 * the GPU tell lines apart. */
struct sweep {
    const struct rt_prediction *predictions;
    size_t count;
    size_t batches, sizes, gpus, models; /* distinct */
    bool by_size;
};

static int64_t size_of(const struct rt_prediction *p)
{
    return rt_prediction_of_images(p) ? p->image : p->sequence;
}

static bool same_gpu(const struct rt_prediction *a, const struct rt_prediction *b)
{
    return strcmp(a->device.name, b->device.name) == 0 && a->gpu_changes == b->gpu_changes;
}

static bool same_model(const struct rt_prediction *a, const struct rt_prediction *b)
{
    return strcmp(a->model, b->model) == 0;
}

static void survey(const struct rt_prediction *predictions, size_t count, struct sweep *out)
{
    *out = (struct sweep){.predictions = predictions, .count = count};
    for (size_t i = 0; i < count; i++) {
        bool batch = true, size = true, gpu = true, model = true;
        for (size_t j = 0; j < i; j++) {
            batch &= predictions[j].batch != predictions[i].batch;
            size &= size_of(&predictions[j]) != size_of(&predictions[i]);
            gpu &= !same_gpu(&predictions[j], &predictions[i]);
            model &= !same_model(&predictions[j], &predictions[i]);
        }
        out->batches += batch;
        out->sizes += size;
        out->gpus += gpu;
        out->models += model;
    }
    out->by_size = out->sizes > out->batches;
}

static bool same_line(const struct sweep *sweep, const struct rt_prediction *a, const struct rt_prediction *b)
{
    return same_gpu(a, b) && same_model(a, b) &&
           (sweep->by_size ? a->batch == b->batch : size_of(a) == size_of(b));
}

/* "NVIDIA L4, batch 8": what tells the line from others. */
static char *line_name(const struct sweep *sweep, const struct rt_prediction *p)
{
    struct rt_text name = {0};
    char *gpu = rt_prediction_gpu(p);
    bool others = sweep->by_size ? sweep->batches > 1 : sweep->sizes > 1;
    if (sweep->models > 1)
        rt_text_item(&name, ", ", "%s", p->model);
    if (sweep->gpus > 1 || (!others && sweep->models < 2))
        rt_text_item(&name, ", ", "%s", gpu);
    if (others && sweep->by_size)
        rt_text_item(&name, ", ", "batch %" PRId64, p->batch);
    else if (others)
        rt_text_item(&name, ", ", rt_prediction_of_images(p) ? "%" PRId64 " pixels" : "%" PRId64 " tokens",
                     size_of(p));
    free(gpu);
    return rt_text_take(&name);
}

/* What curves are of. */
enum curve { CURVE_TIME, CURVE_RATE, CURVE_JOULES, CURVE_PRICE, CURVES };

static double value_of(const struct rt_prediction *p, enum curve curve)
{
    const double joules = rt_prediction_joules(p), items = rt_prediction_items(p);
    if (p->refused != NULL)
        return NAN;
    switch (curve) {
    case CURVE_RATE:
        return items / (p->forecast.total_us / 1e6);
    case CURVE_JOULES:
        return joules / items;
    case CURVE_PRICE:
        return rt_electricity_column(p, RT_ELECTRICITY_PRICE, joules).value;
    default:
        return p->forecast.total_us / 1e3;
    }
}

/* The line that begins with forecast `first`: its values by ascending x, as the options list them. */
static void add_line(struct rt_plot *plot, const struct sweep *sweep, enum curve curve, size_t first,
                     double *values)
{
    double *x = values, *y = x + sweep->count, *low = y + sweep->count, *high = low + sweep->count;
    size_t points = 0;
    for (size_t i = first; i < sweep->count; i++) {
        const struct rt_prediction *p = &sweep->predictions[i];
        if (!same_line(sweep, p, &sweep->predictions[first]))
            continue;
        x[points] = (double)(sweep->by_size ? size_of(p) : p->batch);
        y[points] = value_of(p, curve);
        low[points] = p->refused != NULL ? NAN : p->forecast.interval_low_us / 1e3;
        high[points++] = p->refused != NULL ? NAN : p->forecast.interval_high_us / 1e3;
    }
    char *name = line_name(sweep, &sweep->predictions[first]);
    if (curve == CURVE_TIME)
        rt_plot_band(plot, name, x, low, high, points);
    rt_plot_line(plot, name, x, y, points);
    rt_plot_points(plot, name, x, y, points);
    free(name);
}

static bool begins_line(const struct sweep *sweep, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (same_line(sweep, &sweep->predictions[j], &sweep->predictions[i]))
            return false;
    return true;
}

/* "NVIDIA L4: 8.05 ms at 1, 110 ms at 16": the ends of the line. */
static void add_ends(struct rt_text *words, const struct sweep *sweep, size_t first)
{
    const struct rt_prediction *from = NULL, *to = NULL;
    for (size_t i = first; i < sweep->count; i++) {
        const struct rt_prediction *p = &sweep->predictions[i];
        if (p->refused != NULL || !same_line(sweep, p, &sweep->predictions[first]))
            continue;
        from = from != NULL ? from : p;
        to = p;
    }
    if (from == NULL)
        return;
    char *name = line_name(sweep, from);
    rt_text_item(words, "; ", "%s: %s ms at %" PRId64 ", %s ms at %" PRId64, name,
                 rt_number_text(from->forecast.total_us / 1e3).text,
                 sweep->by_size ? size_of(from) : from->batch,
                 rt_number_text(to->forecast.total_us / 1e3).text, sweep->by_size ? size_of(to) : to->batch);
    free(name);
}

/* Tokens a second, joules and money against the same. */
static void add_curve(struct rt_report *report, const struct sweep *sweep, enum curve curve,
                      const char *along, const size_t *begins, size_t lines, double *values)
{
    const struct rt_prediction *first = &sweep->predictions[0];
    const bool images = rt_prediction_of_images(first),
               all = !some_of_images(sweep->predictions, sweep->count, !images);
    const char *what = curve == CURVE_RATE     ? !all     ? "tokens, images/s"
                                                 : images ? "images/s"
                                                          : "tokens/s"
                       : curve == CURVE_JOULES ? !all     ? "J a token, image"
                                                 : images ? "J an image"
                                                          : "J a token"
                                               : "price of the energy of a million";
    size_t known = 0;
    for (size_t i = 0; i < sweep->count; i++)
        known += value_of(&sweep->predictions[i], curve) > 0;
    if (known == 0)
        return;
    char *title = rt_format("%s against %s", what, along);
    struct rt_plot *plot = rt_plot_new(title, "Forecast of every row of the table.");
    rt_plot_axes(plot, along, RT_SCALE_LOG, what, RT_SCALE_LOG);
    for (size_t line = 0; line < lines; line++)
        add_line(plot, sweep, curve, begins[line], values);
    rt_report_add_plot(report, plot);
    free(title);
}

static void add_curves(struct rt_report *report, const struct sweep *sweep)
{
    const struct rt_prediction *first = &sweep->predictions[0];
    const double level = 100 * first->forecast.options.level;
    const char *along = !sweep->by_size                  ? "batch"
                        : rt_prediction_of_images(first) ? "side of images, pixels"
                                                         : "tokens of a sequence";
    size_t begins[MOST_LINES], lines = 0, all = 0;
    struct rt_text words = {0};
    for (size_t i = 0; i < sweep->count; i++)
        if (begins_line(sweep, i) && all++ < MOST_LINES) {
            add_ends(&words, sweep, i);
            begins[lines++] = i;
        }
    if (all > lines)
        rt_text_add(&words, ". The first %zu of %zu lines; the table has all", lines, all);
    if (level > 0)
        rt_text_add(&words, ". Shaded: the %g%% interval", level);
    char *title = rt_format("Time against %s", along);
    struct rt_plot *plot = rt_plot_new(title, "%s.", words.text);
    rt_plot_axes(plot, along, RT_SCALE_LOG, "time of a step, ms", RT_SCALE_LOG);
    double *values = rt_malloc(4 * sweep->count * sizeof *values);
    for (size_t line = 0; line < lines; line++)
        add_line(plot, sweep, CURVE_TIME, begins[line], values);
    rt_report_add_plot(report, plot);
    for (int curve = CURVE_RATE; curve < CURVES; curve++)
        add_curve(report, sweep, (enum curve)curve, along, begins, lines, values);
    rt_text_release(&words);
    free(values);
    free(title);
}

/* --- pictures: one step on several GPUs --- */

struct bars {
    char **name;
    double *ms, *low, *high, *joules;
    size_t count, fastest;
};

static void list_bars(const struct sweep *sweep, struct bars *out)
{
    *out = (struct bars){.name = rt_calloc(sweep->count, sizeof(char *)),
                         .ms = rt_malloc(4 * sweep->count * sizeof(double))};
    out->low = out->ms + sweep->count;
    out->high = out->low + sweep->count;
    out->joules = out->high + sweep->count;
    for (size_t i = 0; i < sweep->count; i++) {
        const struct rt_prediction *p = &sweep->predictions[i];
        if (p->refused != NULL)
            continue;
        size_t bar = out->count++;
        char *gpu = rt_prediction_gpu(p);
        out->name[bar] = sweep->models > 1 ? rt_format("%s, %s", p->model, gpu) : rt_strdup(gpu);
        free(gpu);
        out->ms[bar] = p->forecast.total_us / 1e3;
        out->low[bar] = p->forecast.interval_low_us / 1e3;
        out->high[bar] = p->forecast.interval_high_us / 1e3;
        out->joules[bar] = rt_prediction_joules(p);
        if (out->ms[bar] < out->ms[out->fastest])
            out->fastest = bar;
    }
}

static void add_bars(struct rt_report *report, const struct sweep *sweep)
{
    struct bars bars;
    list_bars(sweep, &bars);
    const char *const *names = (const char *const *)bars.name;
    const double level = 100 * sweep->predictions[0].forecast.options.level;
    char *interval = level > 0 ? rt_format("; lines: the %g%% interval", level) : rt_strdup("");
    struct rt_plot *plot =
        rt_plot_new("Time by GPU", "Of %zu GPUs the %s is forecast to be the fastest, with %s ms%s.",
                    bars.count, names[bars.fastest], rt_number_text(bars.ms[bars.fastest]).text, interval);
    free(interval);
    rt_plot_axes(plot, "time of a step, ms", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    rt_plot_bar_intervals(plot, "", names, bars.ms, bars.low, bars.high, bars.count);
    rt_report_add_plot(report, plot);
    plot = rt_plot_new("Energy by GPU", "Joules of a step on all its GPUs.");
    rt_plot_axes(plot, "J a step", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    rt_plot_bars(plot, "", names, bars.joules, bars.count);
    rt_report_add_plot(report, plot);
    for (size_t i = 0; i < bars.count; i++)
        free(bars.name[i]);
    free(bars.name);
    free(bars.ms);
}

/* Of several: time against batch, sequence or image, by GPU; of one step on several GPUs time and energy by
 * GPU. Those without a forecast are left out. */
static void add_plots(struct rt_report *report, const struct rt_prediction *predictions, size_t count)
{
    struct sweep sweep;
    survey(predictions, count, &sweep);
    if (sweep.batches > 1 || sweep.sizes > 1)
        add_curves(report, &sweep);
    else
        add_bars(report, &sweep);
}

/* --- the report --- */

static json_t *row_json(const struct rt_prediction *p)
{
    if (p->refused != NULL)
        return json_pack("{s:o, s:o, s:o, s:I, s:I, s:s, s:o}", "model", rt_json_text(p->model), "gpu",
                         rt_json_text(p->device.name), "gpu_changes", rt_json_text(p->gpu_changes), "batch",
                         (json_int_t)p->batch, rt_prediction_of_images(p) ? "image" : "sequence",
                         (json_int_t)(rt_prediction_of_images(p) ? p->image : p->sequence), "dtype",
                         rt_dtypes[p->graph.products].name, "error", rt_json_text(p->refused));
    struct rt_report *report = rt_prediction_report(p, false);
    json_t *all = rt_report_json(report),
           *row = json_incref(json_array_get(json_object_get(all, "forecasts"), 0));
    json_decref(all);
    rt_report_free(report);
    return row;
}

/* Each reason once: rows of one GPU have the same. */
static void add_reasons(struct rt_report *report, const struct rt_prediction *predictions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *reason = predictions[i].refused, *last = i > 0 ? predictions[i - 1].refused : NULL;
        if (reason != NULL && (last == NULL || strcmp(reason, last) != 0))
            rt_report_add_note(report, NULL, "%s", reason);
    }
}

struct rt_report *rt_prediction_sweep(const struct rt_prediction *predictions, size_t count, bool json,
                                      bool pictures)
{
    struct rt_report *report = rt_report_new();
    json_t *all = json_array();
    for (size_t i = 0; json && i < count; i++)
        json_array_append_new(all, row_json(&predictions[i]));
    rt_report_add_json(report, "forecasts", all);
    rt_report_add_title(report, "%s, %s, by %s",
                        several_models(predictions, count) ? "Several models" : predictions[0].model,
                        rt_steps[predictions[0].graph.options.step], predictions[0].predictor_name);
    if (pictures)
        add_plots(report, predictions, count);
    rt_report_add_table(report, NULL, "", rows_table(predictions, count));
    add_reasons(report, predictions, count);
    return report;
}

/* --- warnings --- */

/* "NVIDIA L4, batch 8, sequence 128: ": what of a row differs from others. */
static char *row_words(const struct rt_prediction *predictions, size_t count, size_t row)
{
    const struct rt_prediction *p = &predictions[row];
    bool gpus = false, batches = false, sequences = false, images = false;
    struct rt_text words = {0};
    for (size_t i = 0; i < count; i++) {
        gpus |= strcmp(predictions[i].device.name, p->device.name) != 0 ||
                predictions[i].gpu_changes != p->gpu_changes; /* of the same --gpu, the same text */
        batches |= predictions[i].batch != p->batch;
        sequences |= predictions[i].sequence != p->sequence;
        images |= predictions[i].image != p->image;
    }
    if (several_models(predictions, count))
        rt_text_item(&words, ", ", "%s", p->model);
    char *gpu = rt_prediction_gpu(p);
    if (gpus || (!batches && !sequences && !images))
        rt_text_item(&words, ", ", "%s", gpu);
    free(gpu);
    if (batches)
        rt_text_item(&words, ", ", "batch %" PRId64, p->batch);
    if (sequences)
        rt_text_item(&words, ", ", "sequence %" PRId64, p->sequence);
    if (images && p->image > 0)
        rt_text_item(&words, ", ", "image %" PRId64, p->image);
    return rt_text_take(&words);
}

/* One reason: the sentence of the first row that has it. */
static void warn_of(const struct rt_prediction *predictions, size_t count, enum rt_warning warning)
{
    char *sentence = NULL;
    size_t first = 0, rows = 0;
    bool same = true;
    for (size_t i = 0; i < count; i++) {
        char *other = rt_prediction_warning(&predictions[i], warning);
        if (other == NULL)
            continue;
        same &= sentence == NULL || strcmp(sentence, other) == 0;
        if (rows++ == 0) {
            first = i;
            sentence = other;
        } else {
            free(other);
        }
    }
    char *words = row_words(predictions, count, first);
    if (rows == count && same)
        rt_warn("%s", sentence);
    else if (rows == 1)
        rt_warn("%s: %s", words, sentence);
    else if (rows > 1)
        rt_warn("%s and %zu more rows: %s", words, rows - 1, sentence);
    free(words);
    free(sentence);
}

void rt_prediction_warn(const struct rt_prediction *predictions, size_t count)
{
    for (int warning = 0; warning < RT_WARNING_COUNT; warning++)
        if (predictions[0].explain ||
            (warning != RT_WARNING_BEYOND && warning != RT_WARNING_FEW)) /* in the grade */
            warn_of(predictions, count, (enum rt_warning)warning);
}
