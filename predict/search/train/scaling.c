/* Curves over the number of GPUs. See plan.h. */
#include "base/status.h"
#include "base/text.h"
#include "predict/search/train/plan.h"

#include <stdlib.h>

/* Points of a curve: of one kind of GPU, the same batch on more GPUs or a batch that grows with them. */
struct curve {
    double gpus[RT_TRAINING_COUNTS], tokens_s[RT_TRAINING_COUNTS], mfu_pct[RT_TRAINING_COUNTS];
    size_t count;
};

/* Weak scaling begins with the cell of the fewest GPUs, which both have. */
static bool is_of(const struct rt_training_plan *plan, const struct rt_training_cell *cell, size_t gpu,
                  bool weak)
{
    bool first = cell->gpus == plan->request->gpus[0];
    return cell->gpu == gpu && (cell->weak == weak || (weak && first)) && cell->best_count[RT_COST_HOURS] > 0;
}

static void make_curve(const struct rt_training_plan *plan, size_t gpu, bool weak, struct curve *out)
{
    out->count = 0;
    for (size_t i = 0; i < plan->cell_count; i++) {
        const struct rt_training_cell *cell = &plan->cell[i];
        if (!is_of(plan, cell, gpu, weak))
            continue;
        const struct rt_training_candidate *c = &plan->candidate[cell->best[RT_COST_HOURS][0]];
        double tokens = (double)cell->batch * (double)plan->request->step.sequence;
        out->gpus[out->count] = (double)cell->gpus;
        out->tokens_s[out->count] = 1e6 * tokens / c->time_us;
        out->mfu_pct[out->count++] = 100 * c->mfu;
    }
}

/* As many times the tokens as GPUs, from the first point on. */
static void add_ideal(struct rt_plot *plot, const char *gpu, const struct curve *curve)
{
    double tokens_s[RT_TRAINING_COUNTS];
    char *name = rt_format("%s, as many times the tokens as GPUs", gpu);
    for (size_t i = 0; i < curve->count; i++)
        tokens_s[i] = curve->tokens_s[0] * curve->gpus[i] / curve->gpus[0];
    rt_plot_limit(plot, name, curve->gpus, tokens_s, curve->count);
    free(name);
}

static void add_curve(struct rt_plot *plot, const char *gpu, bool weak, const struct curve *curve,
                      const double *y)
{
    char *name = rt_format("%s, %s", gpu, weak ? "batch grows with the GPUs" : "same batch");
    rt_plot_line(plot, name, curve->gpus, y, curve->count);
    rt_plot_points(plot, name, curve->gpus, y, curve->count);
    free(name);
}

static void add_plot(struct rt_report *report, const struct rt_training_plan *plan, bool rate)
{
    const struct rt_training_request *request = plan->request;
    struct curve curve;
    make_curve(plan, 0, false, &curve);
    const double *first = rate ? curve.tokens_s : curve.mfu_pct;
    struct rt_plot *plot = rt_plot_new(
        rate ? "Throughput against the number of GPUs" : "MFU against the number of GPUs",
        "%s: from %s on %s GPUs to %s on %s, at the same batch.", rate ? "Tokens a second" : "MFU in percent",
        rt_number_text(first[0]).text, rt_number_text(curve.gpus[0]).text,
        rt_number_text(first[curve.count - 1]).text, rt_number_text(curve.gpus[curve.count - 1]).text);
    rt_plot_axes(plot, "GPUs", RT_SCALE_LOG, rate ? "tokens/s" : "MFU, %",
                 rate ? RT_SCALE_LOG : RT_SCALE_LINEAR);
    for (size_t g = 0; g < request->gpu_count; g++)
        for (int weak = 0; weak < 2 - request->strong; weak++) {
            make_curve(plan, g, weak, &curve);
            if (curve.count == 0)
                continue;
            if (rate && !weak)
                add_ideal(plot, request->gpu[g].device.name, &curve);
            add_curve(plot, request->gpu[g].device.name, weak, &curve, rate ? curve.tokens_s : curve.mfu_pct);
        }
    rt_report_add_plot(report, plot);
}

static void add_rows(struct rt_table *table, const struct rt_training_plan *plan, size_t gpu, bool weak)
{
    struct curve curve;
    make_curve(plan, gpu, weak, &curve);
    for (size_t i = 0; i < curve.count; i++) {
        double gpus = curve.gpus[i] / curve.gpus[0];
        rt_table_row(table, plan->request->gpu[gpu].device.name, weak ? "grows with the GPUs" : "the same",
                     (long long)curve.gpus[i], curve.tokens_s[i], curve.mfu_pct[i],
                     100 * curve.tokens_s[i] / curve.tokens_s[0] / gpus);
    }
}

void rt_training_add_scaling(struct rt_report *report, const struct rt_training_plan *plan, bool pictures)
{
    static const struct rt_column columns[] = {
        {"gpu", NULL, 's', 0},        {"batch", NULL, 's', 0},
        {"gpus", NULL, 'd', 0},       {"tokens_per_s", "tokens/s", 'f', 0},
        {"mfu_pct", "MFU %", 'f', 1}, {"efficiency_pct", "of ideal %", 'f', 1},
    };
    struct curve curve;
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t g = 0; g < plan->request->gpu_count; g++)
        for (int weak = 0; weak < 2 - plan->request->strong; weak++)
            add_rows(table, plan, g, weak);
    make_curve(plan, 0, false, &curve);
    bool several = rt_table_rows(table) > plan->request->gpu_count && curve.count > 1;
    if (several && pictures) {
        add_plot(report, plan, true);
        add_plot(report, plan, false);
    }
    if (several)
        rt_report_add_table(report, "scaling", "More GPUs: tokens/s beside as many times those of the fewest",
                            table);
    else
        rt_table_free(table);
}
