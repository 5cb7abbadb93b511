/* The evaluation of servers' runs, printed. See serving.h. */
#include "predict/evaluate/serving.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- what runs are grouped by --- */

static const char *const properties[] = {"gpu",         "backend", "model", "precision",
                                         "concurrency", "note",    "grade"};

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
                               "concurrency, note and grade",
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
    int64_t most = RT_FEW_USERS;
    while (most < users)
        most *= 4;
    rt_text_add(text, most == RT_FEW_USERS ? "1-%lld" : "%lld-%lld",
                (long long)(most == RT_FEW_USERS ? most : most / 4 + 1), (long long)most);
}

static void add_property(struct rt_text *text, const struct rt_serving_run *run, int property)
{
    switch (property) {
    case 4:
        add_users(text, run->concurrency);
        break;
    case 6:
        rt_text_add(text, "%s", rt_grades[rt_trust_grade(&run->trust)]);
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

/* --- errors of groups --- */

#define COLUMN(key, title, id, statistic)                                                                    \
    {                                                                                                        \
        key, title, RT_QUANTITY_##id, RT_STATISTIC_##statistic, RT_BY_PREDICTOR                              \
    }

static const struct rt_pool_column columns[] = {COLUMN("count", "n", TPOT, N),
                                                COLUMN("tpot_median", "TPOT %", TPOT, MEDIAN),
                                                COLUMN("tpot_mape", "mean", TPOT, MAPE),
                                                COLUMN("tpot_bias", "sign", TPOT, BIAS),
                                                COLUMN("tpot_coverage", "in 90%", TPOT, COVERAGE),
                                                COLUMN("throughput_median", "tokens/s %", THROUGHPUT, MEDIAN),
                                                COLUMN("throughput_mape", "mean", THROUGHPUT, MAPE),
                                                COLUMN("throughput_bias", "sign", THROUGHPUT, BIAS),
                                                COLUMN("ttft_median", "TTFT %", TTFT, MEDIAN),
                                                COLUMN("few_count", "n to 8", TTFT_FEW, N),
                                                COLUMN("few_ttft_median", "TTFT %", TTFT_FEW, MEDIAN),
                                                COLUMN("few_ttft_bias", "sign", TTFT_FEW, BIAS)};
static const struct rt_pool_table pools = {
    .name = {"runs"}, .column = columns, .column_count = RT_COUNT(columns)};

/* The groups of a table: the name of each run's, NULL: in none. */
struct groups {
    const struct rt_serving_evaluation *evaluation;
    int32_t *of; /* (items.count) */
    struct rt_strings name;
};

static struct groups groups_new(const struct rt_serving_evaluation *evaluation)
{
    return (struct groups){evaluation, rt_malloc((evaluation->items.count + 1) * sizeof(int32_t)), {0}};
}

static void groups_release(struct groups *groups)
{
    rt_strings_release(&groups->name);
    free(groups->of);
}

/* Takes the name; NULL: in no group. */
static void groups_set(struct groups *groups, size_t run, char *name)
{
    groups->of[run] = name != NULL ? rt_strings_add(&groups->name, name, strlen(name)) : -1;
    free(name);
}

static int by_name(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    size_t i = strlen(x), j = strlen(y);
    bool numbers = x[0] >= '0' && x[0] <= '9' && y[0] >= '0' && y[0] <= '9';
    if (numbers && atoll(x) != atoll(y))
        return atoll(x) < atoll(y) ? -1 : 1;
    return numbers && i != j ? (i < j ? -1 : 1) : strcmp(x, y);
}

/* A row for each group, by their names. */
static void add_rows(struct rt_table *table, const struct groups *groups)
{
    const struct rt_scored_items *items = &groups->evaluation->items;
    const char **sorted = rt_malloc((groups->name.count + 1) * sizeof *sorted);
    bool *member = rt_malloc((items->count + 1) * sizeof *member);
    for (size_t g = 0; g < groups->name.count; g++)
        sorted[g] = rt_strings_get(&groups->name, (int32_t)g);
    qsort(sorted, groups->name.count, sizeof *sorted, by_name);
    for (size_t g = 0; g < groups->name.count; g++) {
        for (size_t i = 0; i < items->count; i++)
            member[i] =
                groups->of[i] >= 0 && strcmp(rt_strings_get(&groups->name, groups->of[i]), sorted[g]) == 0;
        rt_pool_table_add(table, &pools, items, member, (const char *const[RT_POOL_NAMES]){sorted[g]});
    }
    free(member);
    free(sorted);
}

/* Adds the table and releases the groups. */
static void add_groups(struct rt_report *report, const char *key, const char *title, struct groups *groups)
{
    struct rt_table *table = rt_pool_table_new(&pools);
    add_rows(table, groups);
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
    struct rt_table *table = rt_pool_table_new(&pools);
    struct groups all = groups_new(evaluation), plain = groups_new(evaluation);
    for (size_t i = 0; i < evaluation->items.count; i++) {
        groups_set(&all, i, rt_strdup("all"));
        groups_set(&plain, i, is_apart(evaluation->run[i]) ? NULL : rt_strdup("without those apart"));
    }
    add_rows(table, &all);
    add_rows(table, &plain);
    groups_release(&all);
    groups_release(&plain);
    rt_report_add_table(report, "pooled",
                        "Errors of runs under load, in percent: medians and means of |error|, mean error",
                        table);
}

static void add_apart(struct rt_report *report, const struct rt_serving_evaluation *evaluation)
{
    struct groups groups = groups_new(evaluation);
    for (size_t i = 0; i < evaluation->items.count; i++)
        groups_set(&groups, i,
                   is_apart(evaluation->run[i]) ? rt_strdup(evaluation->run[i]->text[RT_SERVING_NOTE])
                                                : NULL);
    add_groups(report, "apart", "Runs apart, by what is known of them", &groups);
}

static void add_by(struct rt_report *report, const struct rt_serving_evaluation *evaluation, const char *by)
{
    struct groups groups = groups_new(evaluation);
    char *key = rt_format("by.%s", by), *title = rt_format("By %s, without those apart", by);
    for (size_t i = 0; i < evaluation->items.count; i++)
        groups_set(&groups, i, is_apart(evaluation->run[i]) ? NULL : group_name(evaluation->run[i], by));
    add_groups(report, key, title, &groups);
    free(key);
    free(title);
}

static bool is_refused(const struct rt_serving_run *run)
{
    return run->asked && run->reason != NULL;
}

/* Why runs that were asked for have no forecast: a line per reason. */
static void add_refused(struct rt_report *report, const struct rt_serving_evaluation *evaluation)
{
    static const struct rt_column reason_columns[] = {{"count", "n", 'd', 0}, {"reason", "why", 's', 0}};
    struct rt_table *table = rt_table_new(reason_columns, RT_COUNT(reason_columns));
    const struct rt_serving_runs *runs = evaluation->runs;
    for (size_t r = 0; r < runs->count; r++) {
        size_t first = 0, same = 0;
        if (!is_refused(&runs->run[r]))
            continue;
        while (!is_refused(&runs->run[first]) || strcmp(runs->run[first].reason, runs->run[r].reason) != 0)
            first++;
        for (size_t s = r; first == r && s < runs->count; s++)
            same += is_refused(&runs->run[s]) && strcmp(runs->run[s].reason, runs->run[r].reason) == 0;
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
                                                   {"half_width_ln", NULL, 'f', 4},
                                                   {"note", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(run_columns, RT_COUNT(run_columns));
    for (size_t i = 0; i < evaluation->items.count; i++) {
        const struct rt_serving_run *run = evaluation->run[i];
        const double *measured = evaluation->items.item[i].measured,
                     *forecast = evaluation->items.item[i].forecast[RT_BY_PREDICTOR];
        rt_table_row(table, run->text[RT_SERVING_ID], run->text[RT_SERVING_DEVICE],
                     run->text[RT_SERVING_BACKEND], run->text[RT_SERVING_MODEL], precision_of(run),
                     (long long)run->serve.tensor, (long long)run->serve.expert,
                     (long long)run->serve.attention, (long long)run->input, (long long)run->output,
                     (long long)run->concurrency, measured[RT_QUANTITY_TPOT] / 1e3,
                     forecast[RT_QUANTITY_TPOT] / 1e3, measured[RT_QUANTITY_TTFT] / 1e3,
                     forecast[RT_QUANTITY_TTFT] / 1e3, measured[RT_QUANTITY_THROUGHPUT],
                     forecast[RT_QUANTITY_THROUGHPUT], run->ln_half_width, run->text[RT_SERVING_NOTE]);
        rt_table_row_json(table, "trust", rt_trust_json(&run->trust));
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
    for (size_t i = 0; i < evaluation->items.count; i++)
        derived += isnan(evaluation->run[i]->output_per_s);
    rt_report_add_text(report, "predictor", "predictor", predictor);
    rt_report_add_fact(report, "data", json_string(evaluation->runs->path), "runs",
                       "%s: %zu of %zu that were asked for", evaluation->runs->path, evaluation->items.count,
                       evaluation->asked);
    rt_report_add_count(report, "judged", "", evaluation->items.count);
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
