/* Whole runs. See run.h. */
#include "predict/step/run.h"
#include "base/report.h"
#include "base/status.h"
#include "base/text.h"
#include "base/units.h"

#include <math.h>

/* What falls with x, by halving: the sign of 1 - x - e^(-x - d/M) changes once between 0 and 1. */
double rt_checkpoint_interval_s(double checkpoint_s, double mtbf_s)
{
    double low = 0, high = 1;
    for (int i = 0; i < 60; i++) {
        double x = (low + high) / 2;
        if (-expm1(-x - checkpoint_s / mtbf_s) > x)
            low = x;
        else
            high = x;
    }
    return mtbf_s * (low + high) / 2;
}

static double goodput(double interval_s, double checkpoint_s, double restart_s, double mtbf_s)
{
    if (isinf(mtbf_s))
        return interval_s / (interval_s + checkpoint_s);
    return interval_s / (mtbf_s * exp(restart_s / mtbf_s) * expm1((interval_s + checkpoint_s) / mtbf_s));
}

static void set_goodput(const struct rt_training_run *run, double mtbf_s, double checkpoint_bytes,
                        struct rt_run_totals *out)
{
    out->goodput = 1;
    out->checkpoint_s = out->interval_s = NAN;
    if (!(run->checkpoint_gbs > 0))
        return;
    out->checkpoint_s = checkpoint_bytes / 1e9 / run->checkpoint_gbs;
    double asked = 60 * run->checkpoint_minutes,
           best = asked > 0 ? asked : rt_checkpoint_interval_s(out->checkpoint_s, mtbf_s);
    out->interval_s = fmax(best, out->step_us / 1e6);
    out->goodput = goodput(out->interval_s, out->checkpoint_s, 60 * run->restart_minutes + out->checkpoint_s,
                           mtbf_s); /* and it is read */
}

void rt_run_totals(const struct rt_training_run *run, const struct rt_run_step *step,
                   struct rt_run_totals *out)
{
    double nodes = ceil((double)step->gpus / (double)step->node_gpus),
           load_us = run->loader_rate > 0 ? 1e6 * step->items / (run->loader_rate * nodes) : 0;
    bool fails = run->node_mtbf_hours > 0;
    double mtbf_s = fails ? 3600 * run->node_mtbf_hours / nodes : INFINITY;
    *out = (struct rt_run_totals){.step_us = fmax(step->time_us, load_us), .steps = NAN};
    set_goodput(run, mtbf_s, step->checkpoint_bytes, out);
    if (run->tokens > 0)
        out->steps = run->tokens / step->tokens; /* the last one may be a part */
    else if (run->steps > 0)
        out->steps = run->steps;
    out->hours = out->steps * out->step_us / out->goodput / 3.6e9;
    out->gpu_hours = out->hours * (double)step->gpus;
    out->money = run->gpu_price > 0 ? out->gpu_hours * run->gpu_price : NAN;
    out->joules = out->steps * step->joules * out->step_us / step->time_us / out->goodput;
    out->failures = fails ? 3600 * out->hours / mtbf_s : NAN;
}

static void add_checkpoints(struct rt_text *words, const struct rt_run_totals *t)
{
    rt_text_item(words, ", ", "goodput %.1f%%", 100 * t->goodput);
    if (isnan(t->interval_s))
        return;
    rt_text_item(words, ", ", "a checkpoint of %s s every %s min", rt_number_text(t->checkpoint_s).text,
                 rt_number_text(t->interval_s / 60).text);
    if (!isnan(t->failures))
        rt_text_item(words, ", ", "%s failures", rt_number_text(t->failures).text);
}

char *rt_run_words(const struct rt_training_run *run, const struct rt_run_totals *t)
{
    struct rt_text words = {0};
    if (!isnan(t->hours))
        rt_text_item(&words, ", ", "%.1f days, %s steps, %s GPU-hours", t->hours / 24,
                     rt_number_text(t->steps).text, rt_number_text(t->gpu_hours).text);
    if (!isnan(t->money))
        rt_text_item(&words, ", ", "%s in money", rt_number_text(t->money).text);
    if (!isnan(t->joules))
        rt_text_item(&words, ", ", "%s MWh", rt_number_text(t->joules / RT_MWH).text);
    if (run->checkpoint_gbs > 0)
        add_checkpoints(&words, t);
    if (run->loader_rate > 0)
        rt_text_item(&words, ", ", "%.3f ms a step with its data", t->step_us / 1e3);
    return words.text != NULL ? rt_text_take(&words) : rt_strdup("");
}

json_t *rt_run_json(const struct rt_run_totals *t)
{
    const struct {
        const char *key;
        double value;
    } members[] = {{"step_ms", t->step_us / 1e3},
                   {"steps", t->steps},
                   {"hours", t->hours},
                   {"gpu_hours", t->gpu_hours},
                   {"money", t->money},
                   {"mwh", t->joules / RT_MWH},
                   {"goodput", t->goodput},
                   {"checkpoint_s", t->checkpoint_s},
                   {"interval_minutes", t->interval_s / 60},
                   {"failures", t->failures}};
    json_t *object = json_object();
    for (size_t i = 0; i < RT_COUNT(members); i++)
        json_object_set_new(object, members[i].key, rt_json_number(members[i].value));
    return object;
}

int rt_checkpoint_bytes(const struct rt_step *step, const struct rt_model_source *source, double *bytes)
{
    struct rt_step whole = *step;
    struct rt_graph graph;
    struct rt_weight_bytes each;
    struct rt_graph_totals totals;
    if (!rt_model_source_traced(source)) {
        whole.parallel = (struct rt_parallelism)RT_PARALLELISM_NONE;
        whole.nodes = 0;
        whole.cluster = NULL;
        whole.batch = 1;
    }
    int status = rt_step_graph(&whole, source, NULL, &graph);
    if (status != RT_OK)
        return status;
    rt_graph_weight_bytes(&graph, &each);
    rt_graph_totals(&graph, &totals);
    *bytes = (totals.parameters - totals.frozen) *
             (rt_dtypes[rt_graph_weight_dtype(&graph)].bytes + each.state + each.offloaded);
    rt_graph_release(&graph);
    return RT_OK;
}
