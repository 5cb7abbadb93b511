/* Cuts of a model. See cuts.h. */
#include "predict/serving/plan/cuts.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
    struct rt_parallelism *cut;
    size_t count;
};

static int compare(const void *x, const void *y)
{
    const struct rt_parallelism *a = x, *b = y;
    const int64_t ours[] = {rt_parallelism_gpus(a), a->pipeline, a->attention, a->expert};
    const int64_t theirs[] = {rt_parallelism_gpus(b), b->pipeline, b->attention, b->expert};
    for (size_t i = 0; i < RT_COUNT(ours); i++)
        if (ours[i] != theirs[i])
            return ours[i] < theirs[i] ? -1 : 1;
    return 0;
}

/* A stage of so many GPUs: how they share attention, and how experts. */
static void add_stage(const struct rt_model *model, int64_t stage, int64_t pipeline, struct list *list)
{
    bool experts = model->experts.count > 0;
    for (int64_t attention = 1; attention <= (experts ? stage : 1); attention++)
        for (int64_t ep = 1; stage % attention == 0 && ep <= (experts ? stage : 1); ep++) {
            if (stage % ep != 0)
                continue;
            list->cut = rt_realloc(list->cut, list->count + 1, sizeof *list->cut);
            struct rt_parallelism *cut = &list->cut[list->count++];
            *cut = (struct rt_parallelism)RT_PARALLELISM_NONE;
            cut->tensor = stage / attention;
            cut->pipeline = pipeline;
            cut->attention = attention;
            cut->expert = ep;
        }
}

static bool divides_any(int64_t part, const int64_t *gpus, size_t count)
{
    for (size_t g = 0; g < count; g++)
        if (gpus[g] % part == 0)
            return true;
    return false;
}

struct rt_parallelism *rt_serving_cuts(const struct rt_model *model, const int64_t *gpus, size_t gpus_count,
                                       size_t *count)
{
    struct list list = {.cut = rt_malloc(sizeof *list.cut)};
    for (int64_t all = 1; all <= gpus[gpus_count - 1]; all++)
        for (int64_t stage = 1; divides_any(all, gpus, gpus_count) && stage <= all; stage++)
            if (all % stage == 0 && all / stage <= model->layers)
                add_stage(model, stage, all / stage, &list);
    qsort(list.cut, list.count, sizeof *list.cut, compare);
    *count = list.count;
    return list.cut;
}

static void add_degree(struct rt_serving_cut_words *words, const char *name, int64_t degree)
{
    size_t length = strlen(words->text);
    if (degree > 1)
        snprintf(words->text + length, sizeof words->text - length, "%s%s %" PRId64, length > 0 ? ", " : "",
                 name, degree);
}

struct rt_serving_cut_words rt_serving_cut_words(const struct rt_parallelism *cut)
{
    struct rt_serving_cut_words words = {""};
    add_degree(&words, "tp", cut->tensor);
    add_degree(&words, "pp", cut->pipeline);
    add_degree(&words, "attention dp", cut->attention);
    add_degree(&words, "ep", cut->expert);
    if (words.text[0] == '\0')
        strcpy(words.text, "1 GPU");
    return words;
}
