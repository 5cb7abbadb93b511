/* What the tests of importers share: an import into `imported` and `report`, and questions to both. */
#pragma once

#include "datasets/import/import.h"
#include "test.h"

#include <math.h>

#define MINI RT_SOURCE_DIR "/tests/data/"

static struct rt_dataset imported;
static struct rt_import_report report;

static inline int import(const char *format, const char *path, int threads, bool strict)
{
    const struct rt_import_options options = {threads, true, strict, NULL};
    rt_import_report_release(&report);
    rt_dataset_release(&imported);
    return rt_import(format, path, &options, &imported, &report);
}

static inline void release(void)
{
    rt_import_report_release(&report);
    rt_dataset_release(&imported);
}

/* The sample of that op with these first dims, until 16 others are found. */
static inline const struct rt_sample *find(int op, int64_t first, int64_t second)
{
    static struct rt_sample found[16]; /* of the last calls */
    static size_t calls;
    struct rt_sample *sample = &found[calls++ % RT_COUNT(found)];
    for (size_t i = 0; i < imported.samples.count; i++) {
        *sample = rt_dataset_sample(&imported, i);
        if (sample->call.op == op && sample->call.dim[0] == first && sample->call.dim[1] == second)
            return sample;
    }
    CU_FAIL_FATAL("no such sample");
    return NULL;
}

static inline const char *attribute(const struct rt_sample *sample, const char *name)
{
    const char *value = rt_dataset_attribute(&imported, sample->group, name);
    return value != NULL ? value : "(none)";
}

static inline size_t others(const char *kind)
{
    for (size_t i = 0; i < report.other_count; i++)
        if (strcmp(report.others[i].kind, kind) == 0)
            return report.others[i].files;
    return 0;
}

/* One sentence was noted, and it holds these words. */
static inline void check_words(const struct rt_import_sentences *sentences, const char *words)
{
    CU_ASSERT_EQUAL_FATAL(sentences->count, 1);
    if (strstr(sentences->text[0], words) == NULL)
        printf("# no \"%s\" in: %s\n", words, sentences->text[0]);
    CU_ASSERT_PTR_NOT_NULL(strstr(sentences->text[0], words));
}

/* A folder in the test's own, made; with a folder of a GPU in it where `gpu` is not NULL. */
static inline void make_folder(const char *name, const char *gpu, char *out, size_t size)
{
    snprintf(out, size, "%s", rt_test_path(name));
    mkdir(out, 0777);
    if (gpu != NULL) {
        char *inner = rt_format("%s/%s", name, gpu);
        mkdir(rt_test_path(inner), 0777);
        free(inner);
    }
}
