/* A predictor evaluated on a dataset. See card_parts.h. */
#include "predict/evaluate/card/card.h"
#include "base/status.h"
#include "predict/evaluate/report.h"

#include <stdlib.h>
#include <string.h>

static int judge(struct rt_card_scored *judged, struct rt_threads *threads, bool quiet)
{
    const struct rt_names none = {0};
    const struct rt_evaluate_options options = {.part = RT_PART_TEST,
                                                .threads = threads,
                                                .quiet = quiet,
                                                .by = &none,
                                                .models = &none,
                                                .fallback = true};
    const struct rt_dataset *dataset = &judged->input.dataset;
    size_t count = judged->candidate_count;
    int status = RT_OK;
    if (dataset->samples.count > 0) {
        status = rt_evaluate_kernels(dataset, judged->candidates, count, &options, &judged->kernels);
        judged->has_kernels = status == RT_OK;
    }
    if (dataset->workload_count > 0) {
        int of_runs = rt_evaluate_workloads(dataset, judged->candidates, count, &options, &judged->runs);
        judged->has_runs = of_runs == RT_OK;
        status = judged->has_kernels || judged->has_runs ? RT_OK : of_runs;
    }
    return status;
}

int rt_card_judge(const char *predictor, const char *data, struct rt_threads *threads, bool quiet,
                  struct rt_card_scored *out)
{
    const char *const names[] = {predictor, "roofline"};
    struct rt_names paths = {0};
    *out = (struct rt_card_scored){.predictor = predictor, .data = data};
    size_t count = strcmp(predictor, "roofline") == 0 ? 1 : RT_COUNT(names);
    int status = rt_candidates_open(names, count, out->candidates);
    if (status != RT_OK)
        return status;
    out->candidate_count = count;
    rt_names_add(&paths, data);
    status = rt_dataset_input_read(&paths, &out->input);
    rt_names_release(&paths);
    if (status == RT_OK)
        status = judge(out, threads, quiet);
    return status == RT_OK ? RT_OK : rt_fail_context(status, "%s", data);
}

void rt_card_scored_release(struct rt_card_scored *judged)
{
    if (judged->has_kernels)
        rt_evaluation_release(&judged->kernels);
    if (judged->has_runs)
        rt_evaluation_release(&judged->runs);
    rt_dataset_input_release(&judged->input);
    rt_candidates_release(judged->candidates, judged->candidate_count);
}

/* ---- in a card ---- */

static void add_command(struct rt_report *report, const struct rt_card_scored *judged, const char *option)
{
    char *predictor = rt_card_shell_word(judged->predictor), *data = rt_card_shell_word(judged->data);
    char *line = rt_format("rooftile evaluate --predictor %s%s %s\n", predictor, option, data);
    rt_report_add_lines(report, line);
    free(line);
    free(data);
    free(predictor);
}

static const char *held_out_words(const struct rt_predictor *predictor)
{
    return predictor->held_out_gpus[0] != '\0'
               ? "Rows marked as held out are of GPUs that the predictor saw no measurement of; the others "
                 "are of shapes that were kept for testing."
               : "No GPU was held out: rows are of shapes that were kept for testing, on GPUs that the "
                 "predictor knows, unless it knows none of them.";
}

void rt_card_add_scored(struct rt_report *report, const struct rt_card_scored *judged)
{
    rt_report_add_heading(report, "Errors on measurements it was not fitted to");
    rt_report_add_paragraph(report, "%s Errors are in percent of the measured time.",
                            held_out_words(&judged->candidates[0].predictor));
    if (judged->has_kernels) {
        if (judged->kernels.synthetic > 0)
            rt_report_add_paragraph(report,
                                    "**SYNTHETIC: %zu of the %zu kernels are made up, not measured.**",
                                    judged->kernels.synthetic, judged->kernels.row_count);
        add_command(report, judged, "");
        rt_evaluation_add_errors(report, &judged->kernels, "errors.kernels");
    }
    if (judged->has_runs) {
        add_command(report, judged, " --fallback --workloads");
        rt_evaluation_add_errors(report, &judged->runs, "errors.runs");
    }
}

static void add_results(json_t *results, const struct rt_card_scored *judged,
                        const struct rt_evaluation *evaluation)
{
    const struct rt_dataset *dataset = &judged->input.dataset;
    for (size_t p = 0; p < evaluation->pooled.count; p++) {
        const struct rt_scored_pool *pool = &evaluation->pooled.row[p];
        char *what = rt_format("%s%s", pool->what, evaluation->workloads ? " runs of models" : "");
        if (evaluation->workloads || strcmp(pool->what, "all") == 0) /* not each op */
            json_array_append_new(results,
                                  rt_front_result(dataset->source, pool->scope, what, pool->metrics[0].mape));
        free(what);
    }
}

json_t *rt_card_results(const struct rt_card_scored *judged)
{
    json_t *results = json_array();
    if (judged != NULL && judged->has_kernels)
        add_results(results, judged, &judged->kernels);
    if (judged != NULL && judged->has_runs)
        add_results(results, judged, &judged->runs);
    return results;
}
