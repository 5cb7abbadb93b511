/* Opening and labelling predictors. See candidate.h. */
#include "predict/evaluate/candidate.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

static char *file_label(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *label = rt_strdup(slash != NULL ? slash + 1 : path);
    size_t length = strlen(label);
    if (length > 3 && strcmp(label + length - 3, ".h5") == 0)
        label[length - 3] = '\0';
    return label;
}

static size_t count_label(const struct rt_candidate *candidates, size_t count, const char *label)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += strcmp(candidates[i].label, label) == 0;
    return found;
}

/* A kind names candidates where it is unique, else the file's name, else its whole path. */
static void label_candidates(struct rt_candidate *candidates, size_t count)
{
    bool shared[RT_MAX_CANDIDATES];
    for (size_t i = 0; i < count; i++)
        candidates[i].label = rt_strdup(candidates[i].predictor.kind);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < count; i++)
            shared[i] = count_label(candidates, count, candidates[i].label) > 1;
        for (size_t i = 0; i < count; i++) {
            if (!shared[i])
                continue;
            free(candidates[i].label);
            candidates[i].label = round == 0 ? file_label(candidates[i].name) : rt_strdup(candidates[i].name);
        }
    }
}

int rt_candidates_open(const char *const *names, size_t count, struct rt_candidate *out)
{
    if (count > RT_MAX_CANDIDATES)
        return rt_fail(RT_EUSAGE,
                       "%zu predictors are more than can stand beside one another: name at most %d", count,
                       RT_MAX_CANDIDATES);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(names[i], names[j]) == 0)
                return rt_fail(RT_EUSAGE, "{predictor} %s: is named twice; name it once", names[i]);
    for (size_t i = 0; i < count; i++) {
        out[i] = (struct rt_candidate){0};
        int status = rt_predictor_open(names[i], &out[i].predictor);
        if (status != RT_OK) {
            rt_candidates_release(out, i);
            return status;
        }
        out[i].name = rt_strdup(names[i]);
    }
    label_candidates(out, count);
    return RT_OK;
}

void rt_candidates_release(struct rt_candidate *candidates, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rt_predictor_release(&candidates[i].predictor);
        free(candidates[i].name);
        free(candidates[i].label);
        candidates[i] = (struct rt_candidate){0};
    }
}

const struct rt_candidate *rt_candidates_reference(const struct rt_candidate *candidates, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rt_predictor_is_fitted(&candidates[i].predictor))
            return &candidates[i];
    return NULL;
}

const struct rt_candidate *rt_candidates_fitted(const struct rt_candidate *candidates, size_t count, size_t c)
{
    return rt_predictor_is_fitted(&candidates[c].predictor) ? &candidates[c]
                                                            : rt_candidates_reference(candidates, count);
}
