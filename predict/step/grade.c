/* The grade of a forecast. See grade.h. */
#include "predict/step/grade.h"
#include "base/status.h"
#include "base/table.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

const char *const rt_grades[RT_GRADES] = {"good", "fair", "rough"};

/* Upper ends of e: an eighth, a fifth. */
static const double most_ln_error[RT_GRADE_ROUGH] = {0.125, 0.2};

/* By the least absolute error over half of the corpora of runs, each of equal weight: docs/results/intervals.md. */
static const double STEP = 0.07, LINKS = 0.6;

/* What is worth a word: a share of the time. */
static const double WORTH = 0.25;

static double interval_error(double ln_half_width, double level)
{
    return level > 0 ? ln_half_width / -log1p(-level) : NAN;
}

struct rt_trust rt_forecast_trust(const struct rt_forecast *forecast, const struct rt_predictor *predictor)
{
    struct rt_known_part parts[RT_KNOWN_PARTS];
    struct rt_trust trust = {.time_us = forecast->total_us,
                             .links = forecast->communication_us / forecast->total_us,
                             .host = forecast->host_us / forecast->total_us};
    double kernels =
        interval_error(log(forecast->interval_high_us / forecast->total_us), forecast->options.level);
    trust.ln_error = hypot(hypot(kernels, LINKS * trust.links), STEP);
    int feature;
    trust.beyond = rt_forecast_extrapolated_share(forecast, predictor, &trust.beyond_family, &feature);
    size_t count = rt_forecast_known(forecast, predictor, parts);
    for (size_t i = 0; i < count; i++)
        trust.known[parts[i].by] += parts[i].share;
    return trust;
}

struct rt_trust rt_kernel_trust(double ln_half_width, double level)
{
    return (struct rt_trust){.time_us = 1, .ln_error = interval_error(ln_half_width, level)};
}

void rt_trust_add(struct rt_trust *sum, const struct rt_trust *step, double times)
{
    double all = sum->time_us + times * step->time_us, own = times * step->time_us / all;
    if (own * step->beyond > (1 - own) * sum->beyond)
        sum->beyond_family = step->beyond_family;
    sum->ln_error = own * step->ln_error + (own < 1 ? (1 - own) * sum->ln_error : 0);
    sum->beyond += own * (step->beyond - sum->beyond);
    sum->links += own * (step->links - sum->links);
    sum->host += own * (step->host - sum->host);
    for (int by = 0; by < RT_KNOWLEDGE_COUNT; by++)
        sum->known[by] += own * (step->known[by] - sum->known[by]);
    sum->time_us = all;
}

double rt_trust_error_pct(const struct rt_trust *trust)
{
    return 100 * trust->ln_error;
}

enum rt_grade rt_trust_grade(const struct rt_trust *trust)
{
    double far = 0;
    for (int by = RT_KNOWN_OLDER; by < RT_KNOWLEDGE_COUNT; by++)
        far += trust->known[by];
    int grade = far > 0.5 ? RT_GRADE_FAIR : RT_GRADE_GOOD;
    while (grade < RT_GRADE_ROUGH && !(trust->ln_error <= most_ln_error[grade]))
        grade++;
    return (enum rt_grade)grade;
}

/* --- in words --- */

/* How the GPU is known for most of the time. */
static void add_known(struct rt_text *words, const struct rt_trust *trust)
{
    static const char *const sentences[RT_KNOWLEDGE_COUNT] = {
        [RT_KNOWN_MEASURED] = "this GPU was measured",
        [RT_KNOWN_CHIP] = "this chip was measured on another board, or in other dtypes",
        [RT_KNOWN_DESIGN] = "of this GPU nothing was measured, but another chip of its design was",
        [RT_KNOWN_OLDER] = "of this GPU's design nothing was measured, only of older ones",
        [RT_KNOWN_NEWER] = "of this GPU's design nothing was measured, only of newer ones",
        [RT_KNOWN_OTHERS] = "of this GPU's design nothing was measured, only of older and newer ones",
        [RT_KNOWN_VENDORS] = "nothing was measured of this vendor's GPUs",
        [RT_KNOWN_NOWHERE] = "these kernels were measured on no GPU",
    };
    int most = 0;
    for (int by = 1; by < RT_KNOWLEDGE_COUNT; by++)
        most = trust->known[by] > trust->known[most] ? by : most;
    rt_text_item(words, "; ", "%s", sentences[most]);
    if (trust->known[most] < 0.995)
        rt_text_add(words, " (%.0f%% of the time)", 100 * trust->known[most]);
}

char *rt_trust_words(const struct rt_trust *trust)
{
    struct rt_text words = {0};
    if (trust->known[RT_KNOWN_NOWHERE] > 0.5)
        return rt_format("a lower bound, not a forecast: every kernel at its roofline");
    add_known(&words, trust);
    if (trust->beyond >= WORTH)
        rt_text_item(&words, "; ", "%.0f%% of the time is in kernels unlike those measured, most of it %s",
                     100 * trust->beyond, rt_families[trust->beyond_family].name);
    if (trust->links >= WORTH)
        rt_text_item(&words, "; ", "%.0f%% of the time waits for links", 100 * trust->links);
    if (trust->host >= WORTH)
        rt_text_item(&words, "; ", "%.0f%% of the time waits for the host", 100 * trust->host);
    char *reason = rt_text_take(&words), *sentence = NULL;
    if (isnan(trust->ln_error))
        sentence = rt_format("not graded, as it has no interval: %s", reason);
    else
        sentence = rt_format("%s, about %.0f%% off: %s", rt_grades[rt_trust_grade(trust)], rt_trust_error_pct(trust),
                             reason);
    free(reason);
    return sentence;
}

json_t *rt_trust_json(const struct rt_trust *trust)
{
    json_t *known = json_object();
    for (int by = 0; by < RT_KNOWLEDGE_COUNT; by++)
        if (trust->known[by] > 0)
            json_object_set_new(known, rt_knowledge_words[by], json_real(trust->known[by]));
    char *words = rt_trust_words(trust);
    json_t *json = json_pack("{s:o, s:o, s:o, s:o, s:f, s:f, s:f}", "grade",
                             isnan(trust->ln_error) ? json_null() : json_string(rt_grades[rt_trust_grade(trust)]),
                             "error_pct", rt_json_number(rt_trust_error_pct(trust)), "reason", rt_json_text(words),
                             "known", known, "beyond", trust->beyond, "links", trust->links, "host", trust->host);
    free(words);
    return json;
}
