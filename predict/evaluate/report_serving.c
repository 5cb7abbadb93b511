/* The evaluation of servers' runs, printed. See serving.h. */
#include "predict/evaluate/serving.h"
#include "base/plot.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"
#include "predict/evaluate/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Users up to whom a prompt hardly waits for others: TTFT is given for these runs apart. */
enum { FEW_USERS = 8 };

/* --- what runs are grouped by --- */

static const char *const properties[] = {"gpu", "backend", "model", "precision", "concurrency", "note"};

static int property_find(const char *name, size_t length)
{
    for (size_t p = 0; p < RT_COUNT(properties); p++)
        if (strlen(properties[p]) == length && strncmp(properties[p], name, length) == 0)
            return (int)p;
    return -1;
}

int rt_serving_by_check(const struct rt_names *by)
{
    for (size_t i = 0; i < by->count; i++)
        for (const char *name = by->name[i]; name != NULL; name = strchr(name, ',')) {
            name += *name == ',';
            size_t length = strcspn(name, ",");
            if (property_find(name, length) < 0)
                return rt_fail(RT_EUSAGE,
                               "{by} %.*s: runs of servers are given by gpu, backend, model, precision, "
                               "concurrency and note",
                               (int)length, name);
        }
    return RT_OK;
}

static const char *precision_of(const struct rt_serving_run *run)
{
    const char *quant = run->text[RT_SERVING_QUANT], *dtype = run->text[RT_SERVING_DTYPE];
    return quant[0] != '\0' ? quant : dtype[0] != '\0' ? dtype : "bf16";
}

/* Ranges of users that double four times. */
static void add_users(struct rt_text *text, int64_t users)
{
    int64_t most = FEW_USERS;
    while (most < users)
        most *= 4;
    rt_text_add(text, most == FEW_USERS ? "1-%lld" : "%lld-%lld",
                (long long)(most == FEW_USERS ? most : most / 4 + 1), (long long)most);
}

static void add_property(struct rt_text *text, const struct rt_serving_run *run, int property)
{
    switch (property) {
    case 4:
        add_users(text, run->concurrency);
        break;
    case 3:
        rt_text_add(text, "%s", precision_of(run));
        break;
    default:
        rt_text_add(
            text, "%s",
            run->text[(const enum rt_serving_text[]){RT_SERVING_DEVICE, RT_SERVING_BACKEND, RT_SERVING_MODEL,
                                                     0, 0, RT_SERVING_NOTE}[property]]);
    }
}

/* "NVIDIA H200, vllm". Free with free(). */
static char *group_name(const struct rt_serving_run *run, const char *by)
{
    struct rt_text text = {0};
    for (const char *name = by; name != NULL; name = strchr(name, ',')) {
        name += *name == ',';
        rt_text_add(&text, "%s", name == by ? "" : ", ");
        add_property(&text, run, property_find(name, strcspn(name, ",")));
    }
    return rt_text_take(&text);
}

/* --- errors of a group --- */

struct group {
    char *name;                           /* owned */
    const struct rt_scored_serving **run; /* owned */
    size_t count;
};

struct groups {
    struct group *group;
    size_t count;
};

static void groups_add(struct groups *groups, char *name, const struct rt_scored_serving *run)
{
    size_t g = 0;
    while (g < groups->count && strcmp(groups->group[g].name, name) != 0)
        g++;
    if (g == groups->count) {
        groups->group = rt_realloc(groups->group, groups->count + 1, sizeof *groups->group);
        groups->group[groups->count++] = (struct group){.name = name};
    } else
        free(name);
    struct group *group = &groups->group[g];
    group->run = rt_realloc(group->run, group->count + 1, sizeof(struct rt_scored_serving *));
    group->run[group->count++] = run;
}

static void groups_release(struct groups *groups)
{
    for (size_t g = 0; g < groups->count; g++) {
        free(groups->group[g].name);
        free(groups->group[g].run);
    }
    free(groups->group);
}

static int by_name(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    size_t i = strlen(x->name), j = strlen(y->name);
    bool numbers = x->name[0] >= '0' && x->name[0] <= '9' && y->name[0] >= '0' && y->name[0] <= '9';
    if (numbers && atoll(x->name) != atoll(y->name))
        return atoll(x->name) < atoll(y->name) ? -1 : 1;
    return numbers && i != j ? (i < j ? -1 : 1) : strcmp(x->name, y->name);
}

/* Of the runs with at most so many users. */
static struct rt_metrics metrics_of(const struct group *group, enum rt_serving_figure figure, int64_t users)
{
    double *measured = rt_malloc(group->count * sizeof *measured),
           *forecast = rt_malloc(group->count * sizeof *forecast);
    struct rt_metrics metrics;
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++) {
        if (group->run[i]->run->concurrency > users)
            continue;
        measured[count] = group->run[i]->measured[figure];
        forecast[count++] = group->run[i]->forecast[figure];
    }
    rt_metrics_of(measured, forecast, count, &metrics);
    free(measured);
    free(forecast);
    return metrics;
}

static const struct rt_column columns[] = {{"runs", NULL, 's', 0},
                                           {"count", "n", 'd', 0},
                                           {"tpot_median", "TPOT %", 'f', 1},
                                           {"tpot_mape", "mean", 'f', 1},
                                           {"tpot_bias", "sign", 'f', 1},
                                           {"throughput_median", "tokens/s %", 'f', 1},
                                           {"throughput_mape", "mean", 'f', 1},
                                           {"throughput_bias", "sign", 'f', 1},
                                           {"ttft_median", "TTFT %", 'f', 1},
                                           {"few_count", "n to 8", 'd', 0},
                                           {"few_ttft_median", "TTFT %", 'f', 1},
                                           {"few_ttft_bias", "sign", 'f', 1}};

static void add_row(struct rt_table *table, const struct group *group)
{
    struct rt_metrics tpot = metrics_of(group, RT_SERVING_TPOT, INT64_MAX),
                      rate = metrics_of(group, RT_SERVING_THROUGHPUT, INT64_MAX),
                      ttft = metrics_of(group, RT_SERVING_TTFT, INT64_MAX),
                      few = metrics_of(group, RT_SERVING_TTFT, FEW_USERS);
    rt_table_row(table, group->name, (long long)group->count, tpot.median, tpot.mape, tpot.bias, rate.median,
                 rate.mape, rate.bias, ttft.median, (long long)few.count, few.median, few.bias);
}

static void add_groups(struct rt_report *report, const char *key, const char *title, struct groups *groups)
{
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    if (groups->count > 0)
        qsort(groups->group, groups->count, sizeof *groups->group, by_name);
    for (size_t g = 0; g < groups->count; g++)
        add_row(table, &groups->group[g]);
    rt_report_add_table(report, key, title, table);
    groups_release(groups);
}

/* --- the report --- */

static bool is_apart(const struct rt_serving_run *run)
{
    return run->text[RT_SERVING_NOTE][0] != '\0';
}

/* All, and those that nothing is known against. */
static void add_pools(struct rt_report *report, const struct rt_serving_evaluation *evaluation)
{
    struct groups groups = {0};
    for (size_t r = 0; r < evaluation->count; r++)
        groups_add(&groups, rt_strdup("all"), &evaluation->judged[r]);
    for (size_t r = 0; r < evaluation->count; r++)
        if (!is_apart(evaluation->judged[r].run))
            groups_add(&groups, rt_strdup("without those apart"), &evaluation->judged[r]);
    add_groups(report, "pooled",
               "Errors of runs under load, in percent: medians and means of |error|, mean error", &groups);
}

static void add_apart(struct rt_report *report, const struct rt_serving_evaluation *evaluation)
{
    struct groups groups = {0};
    for (size_t r = 0; r < evaluation->count; r++)
        if (is_apart(evaluation->judged[r].run))
            groups_add(&groups, rt_strdup(evaluation->judged[r].run->text[RT_SERVING_NOTE]),
                       &evaluation->judged[r]);
    add_groups(report, "apart", "Runs apart, by what is known of them", &groups);
}

static void add_by(struct rt_report *report, const struct rt_serving_evaluation *evaluation, const char *by)
{
    struct groups groups = {0};
    char *key = rt_format("by.%s", by), *title = rt_format("By %s, without those apart", by);
    for (size_t r = 0; r < evaluation->count; r++)
        if (!is_apart(evaluation->judged[r].run))
            groups_add(&groups, group_name(evaluation->judged[r].run, by), &evaluation->judged[r]);
    add_groups(report, key, title, &groups);
    free(key);
    free(title);
}

/* Why runs have no forecast: a line per reason. */
static void add_refused(struct rt_report *report, const struct rt_serving_evaluation *evaluation)
{
    static const struct rt_column reason_columns[] = {{"count", "n", 'd', 0}, {"reason", "why", 's', 0}};
    struct rt_table *table = rt_table_new(reason_columns, RT_COUNT(reason_columns));
    const struct rt_serving_runs *runs = evaluation->runs;
    for (size_t r = 0; r < runs->count; r++) {
        size_t first = 0, same = 0;
        if (runs->run[r].reason == NULL)
            continue;
        while (runs->run[first].reason == NULL || strcmp(runs->run[first].reason, runs->run[r].reason) != 0)
            first++;
        for (size_t s = r; first == r && s < runs->count; s++)
            same += runs->run[s].reason != NULL && strcmp(runs->run[s].reason, runs->run[r].reason) == 0;
        if (same > 0)
            rt_table_row(table, (long long)same, runs->run[r].reason);
    }
    rt_report_add_table(report, "not_forecast", "Not forecast", table);
}

/* Every run, for programs. */
static void add_runs(struct rt_report *report, const struct rt_serving_evaluation *evaluation)
{
    static const struct rt_column run_columns[] = {{"id", NULL, 's', 0},
                                                   {"gpu", NULL, 's', 0},
                                                   {"backend", NULL, 's', 0},
                                                   {"model", NULL, 's', 0},
                                                   {"precision", NULL, 's', 0},
                                                   {"tp", NULL, 'd', 0},
                                                   {"ep", NULL, 'd', 0},
                                                   {"attention_dp", NULL, 'd', 0},
                                                   {"input", NULL, 'd', 0},
                                                   {"output", NULL, 'd', 0},
                                                   {"concurrency", NULL, 'd', 0},
                                                   {"tpot_ms", NULL, 'f', 3},
                                                   {"tpot_forecast_ms", NULL, 'f', 3},
                                                   {"ttft_ms", NULL, 'f', 1},
                                                   {"ttft_forecast_ms", NULL, 'f', 1},
                                                   {"output_per_s", NULL, 'f', 1},
                                                   {"output_forecast_per_s", NULL, 'f', 1},
                                                   {"note", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(run_columns, RT_COUNT(run_columns));
    for (size_t r = 0; r < evaluation->count; r++) {
        const struct rt_scored_serving *j = &evaluation->judged[r];
        const struct rt_serving_run *run = j->run;
        rt_table_row(table, run->text[RT_SERVING_ID], run->text[RT_SERVING_DEVICE],
                     run->text[RT_SERVING_BACKEND], run->text[RT_SERVING_MODEL], precision_of(run),
                     (long long)run->serve.tensor, (long long)run->serve.expert,
                     (long long)run->serve.attention, (long long)run->input, (long long)run->output,
                     (long long)run->concurrency, j->measured[RT_SERVING_TPOT] / 1e3,
                     j->forecast[RT_SERVING_TPOT] / 1e3, j->measured[RT_SERVING_TTFT] / 1e3,
                     j->forecast[RT_SERVING_TTFT] / 1e3, j->measured[RT_SERVING_THROUGHPUT],
                     j->forecast[RT_SERVING_THROUGHPUT], run->text[RT_SERVING_NOTE]);
    }
    json_t *rows = rt_table_json(table);
    rt_report_add_json(report, "runs", rows);
    rt_report_add_csv(report, table);
}

struct rt_report *rt_serving_report(const struct rt_serving_evaluation *evaluation, const char *predictor,
                                    const struct rt_names *by)
{
    struct rt_report *report = rt_report_new();
    size_t derived = 0;
    for (size_t r = 0; r < evaluation->count; r++)
        derived += isnan(evaluation->judged[r].run->output_per_s);
    rt_report_add_text(report, "predictor", "predictor", predictor);
    rt_report_add_fact(report, "data", json_string(evaluation->runs->path), "runs",
                       "%s: %zu of %zu that were asked for", evaluation->runs->path, evaluation->count,
                       evaluation->asked);
    rt_report_add_count(report, "judged", "", evaluation->count);
    add_pools(report, evaluation);
    for (size_t i = 0; i < by->count; i++)
        add_by(report, evaluation, by->name[i]);
    add_apart(report, evaluation);
    add_refused(report, evaluation);
    add_runs(report, evaluation);
    if (derived > 0)
        rt_report_add_note(report, "notes",
                           "tokens/s of %zu runs were not measured: they follow from TTFT and TPOT, measured "
                           "ones and forecast ones alike",
                           derived);
    return report;
}
