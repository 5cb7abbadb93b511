/* Anchors of a predictor, by measured runs of LLM servers. See calibrate.h. */
#include "base/status.h"
#include "base/text.h"
#include "models/predictors/predictor/anchors.h"
#include "predict/evaluate/serving.h"
#include "train/calibrate/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A line for each run that has a forecast. */
static void add_lines(const struct rt_serving_evaluation *evaluation, struct rt_text *lines)
{
    for (size_t i = 0; i < evaluation->items.count; i++) {
        const struct rt_serving_run *run = evaluation->run[i];
        const struct rt_scored_item *item = &evaluation->items.item[i];
        struct rt_device device;
        if (rt_device_find(run->text[RT_SERVING_DEVICE], &device) != RT_OK)
            continue;
        const struct rt_anchor_kind kind = {run->server, run->architecture, run->dtype, device.name};
        char *line = rt_anchor_line(
            &kind, log(item->measured[RT_QUANTITY_TPOT] / item->forecast[RT_BY_PREDICTOR][RT_QUANTITY_TPOT]),
            rt_serving_run_key(run));
        rt_text_add(lines, "%s\n", line);
        free(line);
    }
}

static bool has_name(const struct rt_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->name[i], name) == 0)
            return true;
    return false;
}

/* A row for each kind, with what its runs were off by. */
static struct rt_table *kinds_table(const char *text)
{
    static const struct rt_column columns[] = {
        {"server", NULL, 's', 0}, {"architecture", NULL, 's', 0}, {"dtype", NULL, 's', 0},
        {"gpu", NULL, 's', 0},    {"runs", NULL, 'f', 0},         {"factor", "takes times", 'f', 3},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct rt_names seen = {0};
    char *copy = rt_strdup(text), *rest = copy, *line;
    while ((line = strsep(&rest, "\n")) != NULL && line[0] != '\0') {
        const char *field[4];
        for (int f = 0; f < 4; f++)
            field[f] = strsep(&line, "\t");
        char *name = rt_format("%s\t%s\t%s\t%s", field[0], field[1], field[2], field[3]);
        const struct rt_anchor_kind kind = {field[0], field[1], field[2], field[3]};
        struct rt_anchor anchor = rt_anchor_of(text, &kind);
        if (!has_name(&seen, name))
            rt_table_row(table, field[0], field[1], field[2], field[3], anchor.own_runs,
                         exp(anchor.ln_factor));
        rt_names_add(&seen, name);
    }
    for (size_t i = 0; i < seen.count; i++)
        free((char *)(uintptr_t)seen.name[i]);
    rt_names_release(&seen);
    free(copy);
    return table;
}

static int add_file(const struct rt_predictor *plain, const char *path, const char *gpu,
                    struct rt_text *lines)
{
    struct rt_names gpus = {0}, models = {0};
    struct rt_serving_runs runs;
    struct rt_serving_evaluation evaluation;
    if (gpu != NULL)
        rt_names_add(&gpus, gpu);
    const struct rt_serving_options options = {
        .gpus = &gpus, .models = &models, .fallback = true, .quiet = true, .threads = rt_threads_new(1)};
    int status = rt_serving_runs_read(path, &runs);
    if (status == RT_OK) {
        status = rt_evaluate_serving(&runs, plain, &options, &evaluation);
        if (status == RT_OK)
            add_lines(&evaluation, lines);
        rt_serving_evaluation_release(&evaluation);
    }
    rt_serving_runs_release(&runs);
    rt_threads_free(options.threads);
    rt_names_release(&gpus);
    return status;
}

int rt_calibrate_to_servers(struct rt_predictor *predictor, const struct rt_names *files, const char *gpu,
                            struct rt_report *report)
{
    struct rt_text lines = {0};
    char *before = predictor->anchors;
    int status = RT_OK;
    predictor->anchors = NULL;
    for (size_t f = 0; f < files->count && status == RT_OK; f++)
        status = add_file(predictor, files->name[f], gpu, &lines);
    predictor->anchors = status == RT_OK ? rt_text_take(&lines) : before;
    if (status == RT_OK) {
        free(before);
        rt_report_add_table(report, "anchors", "Steps of servers, beside their forecast",
                            kinds_table(predictor->anchors));
    }
    rt_text_release(&lines);
    return status;
}
