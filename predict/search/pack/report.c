/* A plan as a report. See pack.h. */
#include "predict/search/pack/pack.h"
#include "base/status.h"
#include "base/units.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const char *const by[RT_SHARE_KINDS] = {"under MPS", "as green contexts"};

static struct rt_table *group_table(const struct rt_pack_problem *problem, const struct rt_pack_group *group)
{
    static const struct rt_column columns[] = {
        {"job", NULL, 's', 0},
        {"batch", NULL, 'd', 0},
        {"sms", "SMs", 'f', 0},
        {"share_pct", "share %", 'f', 1},
        {"step_ms", "step ms", 'f', 3},
        {"alone_ms", "without neighbours", 'f', 3},
        {"latency_ms", "latency ms", 'f', 3},
        {"latency_allowed_ms", "of", 'f', 1},
        {"items_per_s", "items/s", 'f', 1},
        {"rate", "asked", 'f', 1},
        {"work_pct", "of a whole GPU %", 'f', 1},
        {"margin_pct", "margin %", 'f', 1},
        {"memory_gib", "GiB", 'f', 2},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t j = 0; j < problem->jobs; j++) {
        const struct rt_pack_place *place = &group->place[j];
        const struct rt_pack_job *job = &problem->job[j];
        if (!(group->jobs >> j & 1))
            continue;
        double sms = group->way == RT_PACK_SHARED ? problem->share_sms[place->share] : problem->sms;
        bool bare = isnan(job->rate) && isnan(job->latency_us); /* nothing to have a margin to */
        rt_table_row(table, job->name, (long long)job->batch[place->batch].items, sms,
                     100 * sms / problem->sms, place->step_us / 1e3, place->alone_us / 1e3,
                     place->latency_us / 1e3, job->latency_us / 1e3, place->throughput, job->rate,
                     100 * place->work, bare ? NAN : 100 * place->margin,
                     job->batch[place->batch].memory_bytes / RT_GIB);
    }
    return table;
}

static json_t *groups_json(const struct rt_pack_problem *problem, const struct rt_pack_plan *plan)
{
    json_t *groups = json_array();
    for (size_t g = 0; g < plan->gpus; g++) {
        struct rt_table *table = group_table(problem, &plan->group[g]);
        json_array_append_new(groups,
                              json_pack("{s:s, s:o, s:o}", "way", rt_pack_ways[plan->group[g].way], "work",
                                        rt_json_number(plan->group[g].work), "jobs", rt_table_json(table)));
        rt_table_free(table);
    }
    return groups;
}

static void add_plan(struct rt_table *table, const char *name, const struct rt_pack_plan *plan)
{
    double gpus = plan->gpus > 0 ? (double)plan->gpus : NAN, work = plan->gpus > 0 ? plan->work : NAN;
    rt_table_row(table, name, gpus, work, work / gpus);
}

/* The plan beside what is done without it. */
static struct rt_table *compare(const struct rt_pack_result *result)
{
    static const struct rt_column columns[] = {
        {"plan", NULL, 's', 0},
        {"gpus", "GPUs", 'f', 0},
        {"work", "work, in whole GPUs", 'f', 2},
        {"work_per_gpu", "a GPU", 'f', 2},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    add_plan(table, "packed", &result->plan);
    add_plan(table, "time slices", &result->slices);
    add_plan(table, "a GPU each", &result->whole);
    return table;
}

static void add_groups(struct rt_report *report, const struct rt_pack_problem *problem,
                       const struct rt_pack_plan *plan)
{
    for (size_t g = 0; g < plan->gpus; g++) {
        char *title = rt_format("GPU %zu: %s", g + 1, rt_pack_ways[plan->group[g].way]);
        rt_report_add_table(report, NULL, title, group_table(problem, &plan->group[g]));
        free(title);
    }
}

/* A row for each job of each GPU: its share of the SMs, and how much of a whole GPU's work it does. */
static void add_picture(struct rt_report *report, const struct rt_pack_problem *problem,
                        const struct rt_pack_plan *plan)
{
    struct rt_plot *plot =
        rt_plot_new("Jobs on their GPUs", "%zu jobs on %zu GPU%s do the work of %s whole GPUs.",
                    problem->jobs, plan->gpus, plan->gpus == 1 ? "" : "s", rt_number_text(plan->work).text);
    rt_plot_axes(plot, "% of a GPU", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    for (size_t g = 0; g < plan->gpus; g++)
        for (size_t j = 0; j < problem->jobs; j++) {
            const struct rt_pack_group *group = &plan->group[g];
            const struct rt_pack_place *place = &group->place[j];
            if (!(group->jobs >> j & 1))
                continue;
            double sms = group->way == RT_PACK_SHARED ? problem->share_sms[place->share] : problem->sms;
            const double share = 100 * sms / problem->sms, work = 100 * place->work;
            char *row = rt_format("GPU %zu: %s", g + 1, problem->job[j].name);
            const char *name = row;
            rt_plot_bars(plot, "SMs it has", &name, &share, 1);
            rt_plot_bars(plot, "work it does, of what a GPU alone would do", &name, &work, 1);
            free(row);
        }
    rt_report_add_plot(report, plot);
}

struct rt_report *rt_pack_report(const struct rt_pack_problem *problem, const struct rt_pack_result *result,
                                 const char *gpu, const char *predictor, enum rt_share_kind kind)
{
    struct rt_report *report = rt_report_new();
    const struct rt_pack_plan *plan = &result->plan;
    rt_report_add_title(report, "%zu job%s on %zu x %s, shares of SMs %s, by %s", problem->jobs,
                        problem->jobs == 1 ? "" : "s", plan->gpus, gpu, by[kind], predictor);
    rt_report_add_text(report, "gpu", NULL, gpu);
    rt_report_add_text(report, "predictor", NULL, predictor);
    rt_report_add_text(report, "share_by", NULL, rt_share_kinds[kind]);
    rt_report_add_json(report, "gpus", json_integer((json_int_t)plan->gpus));
    rt_report_add_json(report, "work", rt_json_number(plan->work));
    rt_report_add_json(report, "exact", json_boolean(plan->exact));
    rt_report_add_json(report, "groups", groups_json(problem, plan));
    if (plan->gpus > 0)
        add_picture(report, problem, plan);
    add_groups(report, problem, plan);
    rt_report_add_table(report, "plans", "Beside it", compare(result));
    if (result->slices.gpus == 0)
        rt_report_add_note(report, NULL, "By time slices alone so many GPUs do not meet all targets.");
    if (!plan->exact)
        rt_report_add_note(report, NULL,
                           "The search was cut short, so a better plan may exist; fewer batches or a larger "
                           "%s make it exact.",
                           rt_field_words("step").text);
    return report;
}
