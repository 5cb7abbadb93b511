/* Advice as reports. See advise.h. */
#include "predict/search/advise/advise.h"
#include "base/status.h"
#include "base/units.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

/* --- a job --- */

static const char *name_of(const struct rt_advised *row)
{
    return row->profile != NULL ? row->profile->name : "whole GPU";
}

static const char *name_at(const struct rt_advice *advice, int row)
{
    return row >= 0 ? name_of(&advice->row[row]) : NULL;
}

/* "bert-base, inference, 8 x 64, tf32". Free with free(). */
static char *words_of(const struct rt_gpu_job *job)
{
    const struct rt_graph_options *o = &job->settled.graph;
    struct rt_text words = {0};
    rt_text_add(&words, "%s, %s, %lld x ", job->name, rt_steps[o->step], (long long)job->settled.step.batch);
    if (o->image > 0)
        rt_text_add(&words, "%lld x %lld pixels", (long long)o->image, (long long)o->image);
    else
        rt_text_add(&words, "%lld tokens", (long long)o->sequence);
    rt_text_add(&words, ", %s", rt_dtypes[o->dtype].name);
    return rt_text_take(&words);
}

static void add_target(struct rt_report *report, const struct rt_gpu_job *job,
                       const struct rt_advise_options *options)
{
    struct rt_text words = {0};
    if (!isnan(job->latency_us))
        rt_text_item(&words, ", ", "a step within %g ms", job->latency_us / 1e3);
    if (!isnan(job->rate))
        rt_text_item(&words, ", ", "%g a second", job->rate);
    if (options->throughput)
        rt_text_item(&words, ", ", "most throughput of the GPU");
    rt_report_add_words(report, "target", "%s", words.text != NULL ? words.text : "none but memory");
    rt_report_add_json(report, "latency_ms", rt_json_number(job->latency_us / 1e3));
    rt_report_add_json(report, "rate", rt_json_number(job->rate));
    rt_report_add_json(report, "whole_ms", rt_json_number(options->whole_us / 1e3));
    rt_text_release(&words);
}

static void add_choice(struct rt_report *report, const struct rt_advice *advice,
                       const struct rt_advise_options *options)
{
    const struct rt_advised *row = advice->advised >= 0 ? &advice->row[advice->advised] : NULL;
    if (row != NULL)
        rt_report_add_fact(report, "advised", json_string(name_of(row)), "advised",
                           "%s: %.3f ms, %.1f a second each, %.1f of the GPU full of them", name_of(row),
                           row->total_us / 1e3, row->rate, row->full_rate);
    else
        rt_report_add_fact(report, "advised", json_null(), "advised",
                           "none: no profile, nor the whole GPU, holds the step and meets its target");
    rt_report_add_text(report, "by_memory", "by memory", name_at(advice, advice->by_memory));
    rt_report_add_words(report, "", "(DIPPM's rule: the smallest whose memory is enough, whatever the time)");
    if (!isnan(options->whole_us))
        rt_report_add_words(report, "times", "follow %.3f ms, measured on the whole GPU",
                            options->whole_us / 1e3);
}

/* Of those that the step fits into. */
static void add_profile_plot(struct rt_report *report, const struct rt_advice *advice)
{
    const char **names = rt_malloc(((size_t)advice->count + 1) * sizeof *names);
    double *ms = rt_malloc((3 * (size_t)advice->count + 1) * sizeof *ms), *low = ms + advice->count,
           *high = low + advice->count;
    size_t count = 0;
    for (int i = 0; i < advice->count; i++) {
        const struct rt_advised *row = &advice->row[i];
        if (!row->fits)
            continue;
        names[count] = name_of(row);
        ms[count] = row->total_us / 1e3;
        low[count] = row->low_us / 1e3;
        high[count++] = row->high_us / 1e3;
    }
    struct rt_plot *plot =
        rt_plot_new("Time by slice", "Alone on the GPU. Of %d profiles with the whole GPU %zu hold the step.",
                    advice->count, count);
    rt_plot_axes(plot, "time of a step, ms", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    rt_plot_bar_intervals(plot, "", names, ms, low, high, count);
    rt_report_add_plot(report, plot);
    free(names);
    free(ms);
}

struct rt_report *rt_advice_report(const struct rt_gpu_job *job, const struct rt_advice *advice,
                                   const struct rt_advise_options *options)
{
    static const struct rt_column columns[] = {{"profile", NULL, 's', 0},
                                               {"sms", "SMs", 'f', 0},
                                               {"memory_gib", "GiB", 'f', 2},
                                               {"used_gib", "step GiB", 'f', 2},
                                               {"fits", NULL, 'b', 0},
                                               {"total_ms", "ms", 'f', 3},
                                               {"low_ms", "from", 'f', 3},
                                               {"high_ms", "to", 'f', 3},
                                               {"meets", NULL, 'b', 0},
                                               {"rate", "a second", 'f', 1},
                                               {"instances", "at most", 'd', 0},
                                               {"busy_ms", "all busy ms", 'f', 3},
                                               {"full_rate", "of the GPU", 'f', 1}};
    struct rt_report *report = rt_report_new();
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    char *words = words_of(job);
    rt_report_add_title(report, "%s, on MIG slices of %s", words, advice->board.name);
    rt_report_add_json(report, "model", rt_json_text(job->name));
    rt_report_add_json(report, "gpu", rt_json_text(advice->board.name));
    add_target(report, job, options);
    add_choice(report, advice, options);
    for (int i = 0; i < advice->count; i++) {
        const struct rt_advised *r = &advice->row[i];
        double sms = r->profile != NULL ? r->profile->sms : advice->board.sms;
        int most = r->profile != NULL ? r->profile->most : 1;
        rt_table_row(table, name_of(r), sms, r->memory_bytes / RT_GIB, r->used_bytes / RT_GIB, (int)r->fits,
                     r->total_us / 1e3, r->low_us / 1e3, r->high_us / 1e3, (int)r->meets, r->rate,
                     (long long)most, r->busy_us / 1e3, r->full_rate);
    }
    add_profile_plot(report, advice);
    rt_report_add_table(report, "profiles",
                        "Profiles: alone on the GPU, and with as many as it takes, all busy", table);
    free(words);
    return report;
}

/* --- several jobs --- */

bool rt_partition_turns(const struct rt_advised_partition *advised)
{
    bool able = advised->turns_fit && advised->turns_meet && !advised->given;
    return able && (advised->partition == NULL || advised->partition->progress < 1);
}

static const struct rt_advised *row_of(const struct rt_advised_partition *advised, size_t job)
{
    const struct rt_advice *advice = &advised->advices[job];
    return rt_advised_of(advice, &advice->mig.profile[advised->partition->profile[job]]);
}

static const struct rt_advised *whole_of(const struct rt_advice *advice)
{
    return &advice->row[advice->count - 1];
}

static void add_instances(struct rt_report *report, const struct rt_advised_partition *advised)
{
    static const struct rt_column columns[] = {{"job", NULL, 's', 0},
                                               {"profile", NULL, 's', 0},
                                               {"start", "from slice", 'd', 0},
                                               {"used_gib", "step GiB", 'f', 2},
                                               {"memory_gib", "of GiB", 'f', 2},
                                               {"total_ms", "ms", 'f', 3},
                                               {"latency_ms", "target ms", 'f', 3},
                                               {"rate", "a second", 'f', 1},
                                               {"progress", "of the whole's", 'f', 3}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t j = 0; j < advised->jobs->count; j++) {
        const struct rt_gpu_job *job = &advised->jobs->job[j];
        const struct rt_advised *row = row_of(advised, j);
        rt_table_row(table, job->name, name_of(row), (long long)advised->partition->start[j],
                     row->used_bytes / RT_GIB, row->memory_bytes / RT_GIB, row->busy_us / 1e3,
                     job->latency_us / 1e3, 1e6 * (double)job->settled.step.batch / row->busy_us,
                     whole_of(&advised->advices[j])->total_us / row->busy_us);
    }
    rt_report_add_table(report, "instances", "An instance for each job, all busy", table);
}

static void add_alternatives(struct rt_report *report, const struct rt_advised_partition *advised)
{
    const struct rt_partition *equal = advised->equal;
    const struct rt_mig *mig = &advised->advices[0].mig;
    rt_report_add_json(report, "progress.partition",
                       rt_json_number(advised->partition != NULL ? advised->partition->progress : NAN));
    if (equal != NULL)
        rt_report_add_fact(report, "progress.equal", rt_json_number(equal->progress), "equal slices",
                           "%.2f GPUs' worth, each on a %s", equal->progress,
                           mig->profile[equal->profile[0]].name);
    else
        rt_report_add_fact(report, "progress.equal", json_null(), "equal slices",
                           "no profile serves all jobs");
    rt_report_add_fact(report, "progress.turns", advised->turns_fit ? json_real(1) : json_null(),
                       "taking turns", "1.00, on the whole GPU, each step %zu times as long%s%s",
                       advised->jobs->count, advised->turns_fit ? "" : "; its memory does not hold all",
                       advised->turns_meet ? "" : "; not every target is met");
}

static int most_instances(const struct rt_mig *mig)
{
    int most = 0;
    for (int p = 0; p < mig->count; p++)
        most = mig->profile[p].most > most ? mig->profile[p].most : most;
    return most;
}

struct rt_report *rt_partition_report(const struct rt_advised_partition *advised)
{
    struct rt_report *report = rt_report_new();
    const struct rt_partition *partition = advised->partition;
    const char *board = advised->advices[0].board.name;
    bool turns = rt_partition_turns(advised);
    rt_report_add_title(report, "%zu jobs on MIG slices of %s", advised->jobs->count, board);
    rt_report_add_json(report, "gpu", rt_json_text(board));
    rt_report_add_json(report, "advised",
                       turns               ? json_string("turns")
                       : partition != NULL ? json_string("partition")
                                           : json_null());
    if (advised->jobs->count > (size_t)most_instances(&advised->advices[0].mig))
        rt_report_add_words(report, "instances",
                            "it has %d instances at most, for %zu jobs; `rooftile pack` puts them on as many "
                            "GPUs as they need",
                            most_instances(&advised->advices[0].mig), advised->jobs->count);
    if (turns)
        rt_report_add_words(report, "advised", "no partition: the jobs take turns on the whole GPU");
    else if (partition != NULL)
        rt_report_add_words(report, "advised", "%s: %.2f GPUs' worth of progress, %d of %d memory slices",
                            advised->given ? "the partition given" : "the best partition",
                            partition->progress, partition->memory_slices,
                            advised->advices[0].mig.memory_slices);
    add_alternatives(report, advised);
    if (partition != NULL)
        add_instances(report, advised);
    return report;
}

/* --- measured runs --- */

static void add_scores(struct rt_table *table, const char *mode, const char *target,
                       const struct rt_advice_score *score)
{
    double share[RT_RULE_COUNT];
    for (int r = 0; r < RT_RULE_COUNT; r++)
        share[r] = 100 * (double)score->right[r] / (double)score->cases;
    if (score->cases > 0)
        rt_table_row(table, mode, target, (long long)score->cases, share[RT_RULE_ADVICE],
                     share[RT_RULE_WHOLE], share[RT_RULE_MEMORY], share[RT_RULE_LARGEST]);
}

static void add_up(struct rt_advice_score *sum, const struct rt_advice_score *score)
{
    sum->cases += score->cases;
    for (int r = 0; r < RT_RULE_COUNT; r++) {
        sum->right[r] += score->right[r];
        sum->lost[r] += score->lost[r];
    }
}

static void add_latencies(struct rt_table *table, const struct rt_advice_judgement *judgement)
{
    static const char *const modes[RT_ADVISE_MODES] = {"inference", "training"};
    struct rt_advice_score all = {0};
    for (int mode = 0; mode < RT_ADVISE_MODES; mode++) {
        struct rt_advice_score sum = {0};
        for (size_t t = 0; t < judgement->targets; t++) {
            char *words = rt_format("within %g ms", judgement->target_us[t] / 1e3);
            add_scores(table, modes[mode], words, &judgement->latency[mode][t]);
            add_up(&sum, &judgement->latency[mode][t]);
            free(words);
        }
        add_scores(table, modes[mode], "all of these", &sum);
        add_up(&all, &sum);
    }
    add_scores(table, "both", "all of these", &all);
    for (int mode = 0; mode < RT_ADVISE_MODES; mode++)
        add_scores(table, modes[mode], "most of the GPU", &judgement->throughput[mode]);
}

struct rt_report *rt_judgement_report(const struct rt_advice_judgement *judgement)
{
    static const struct rt_column columns[] = {{"mode", NULL, 's', 0},
                                               {"target", NULL, 's', 0},
                                               {"cases", NULL, 'd', 0},
                                               {"advice_pct", "advice %", 'f', 1},
                                               {"whole_known_pct", "whole known %", 'f', 1},
                                               {"memory_pct", "memory alone %", 'f', 1},
                                               {"largest_pct", "largest %", 'f', 1}};
    struct rt_report *report = rt_report_new();
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct rt_advice_score all = {0};
    rt_report_add_title(report, "Advice beside measured runs on MIG slices");
    rt_report_add_fact(report, "runs", json_integer((json_int_t)judgement->runs), "runs",
                       "%zu, of %zu steps on two slices or more; %zu without a forecast are left out",
                       judgement->runs, judgement->groups, judgement->refused);
    rt_report_add_words(report, "right",
                        "the rule names the profile that was best among those measured: the smallest that "
                        "held the step within the target (or none), or the one that gives the GPU most");
    for (int mode = 0; mode < RT_ADVISE_MODES; mode++)
        add_up(&all, &judgement->throughput[mode]);
    rt_report_add_fact(
        report, "lost_pct", rt_json_number(100 * all.lost[RT_RULE_ADVICE] / (double)all.cases), "lost",
        "%.1f%% of the throughput of the best profile by the advised one, %.1f%% by the smallest that fits",
        100 * all.lost[RT_RULE_ADVICE] / (double)all.cases,
        100 * all.lost[RT_RULE_MEMORY] / (double)all.cases);
    add_latencies(table, judgement);
    rt_report_add_table(report, "scores", "Right, % of cases", table);
    return report;
}
