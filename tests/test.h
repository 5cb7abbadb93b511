/*
 * A test program: CUnit underneath, one line per test on stdout ("ok NAME", "not ok NAME", "skipped NAME:
 * why"), counted by scripts/test.sh. Write
 *
 *     static void test_adds(void) { CU_ASSERT_EQUAL(1 + 1, 2); }
 *     RT_TESTS(RT_TEST(test_adds))
 *
 * Tests that need the measurements in ../shared ask rt_test_data() and return where it is NULL.
 */
#pragma once

#include <CUnit/Basic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"

/* A status that must be RT_OK; prints the sentence where it is not. */
#define RT_ASSERT_OK(call)                                                                                   \
    do {                                                                                                     \
        int rt_status_ = (call);                                                                             \
        if (rt_status_ != RT_OK)                                                                             \
            printf("# %s:%d: %s\n", __FILE__, __LINE__, rt_error());                                         \
        CU_ASSERT_EQUAL_FATAL(rt_status_, RT_OK);                                                            \
    } while (0)

/* A status that must be `status`, with `words` in its sentence. */
#define RT_ASSERT_FAILS(call, status, words)                                                                 \
    do {                                                                                                     \
        int rt_status_ = (call);                                                                             \
        CU_ASSERT_EQUAL(rt_status_, status);                                                                 \
        if (strstr(rt_error(), words) == NULL)                                                               \
            printf("# %s:%d: no \"%s\" in: %s\n", __FILE__, __LINE__, words, rt_error());                    \
        CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), words));                                                   \
    } while (0)

#define RT_ASSERT_NEAR(actual, expected, relative)                                                           \
    do {                                                                                                     \
        double rt_a_ = (actual), rt_e_ = (expected);                                                         \
        double rt_d_ = rt_a_ > rt_e_ ? rt_a_ - rt_e_ : rt_e_ - rt_a_;                                        \
        double rt_s_ = rt_e_ < 0 ? -rt_e_ : rt_e_;                                                           \
        int rt_ok_ = rt_d_ <= (relative) * (rt_s_ > 1e-30 ? rt_s_ : 1);                                      \
        if (!rt_ok_)                                                                                         \
            printf("# %s:%d: %.17g, expected %.17g\n", __FILE__, __LINE__, rt_a_, rt_e_);                    \
        CU_ASSERT_TRUE(rt_ok_);                                                                              \
    } while (0)

/* A fresh folder for a test's files, the same for the whole program; removed by whoever cleans /tmp. */
static inline const char *rt_test_folder(void)
{
    static char folder[64];
    if (folder[0] == '\0') {
        strcpy(folder, "/tmp/rooftile-test-XXXXXX");
        if (mkdtemp(folder) == NULL)
            abort();
    }
    return folder;
}

/* "FOLDER/name" in one of 8 rotating buffers. */
static inline const char *rt_test_path(const char *name)
{
    static char path[8][512];
    static int next;
    char *out = path[next++ % 8];
    snprintf(out, sizeof path[0], "%s/%s", rt_test_folder(), name);
    return out;
}

static inline const char *rt_test_write(const char *name, const char *text)
{
    const char *path = rt_test_path(name);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        abort();
    return path;
}

static char rt_test_skipped[256]; /* why the running test was skipped, "" if it was not */

/* Folder of public measurements: environment variable, else ../shared/NAME beside the source tree; NULL (and
 * the test counts as skipped) where it is absent. */
static inline const char *rt_test_data(const char *variable, const char *name)
{
    static char path[1024];
    struct stat status;
    const char *from = getenv(variable);
    if (from != NULL)
        snprintf(path, sizeof path, "%s", from);
    else
        snprintf(path, sizeof path, "%s/../shared/%s", RT_SOURCE_DIR, name);
    if (stat(path, &status) == 0)
        return path;
    snprintf(rt_test_skipped, sizeof rt_test_skipped, "no measurements at %.100s (set %s)", path, variable);
    return NULL;
}

static inline void rt_test_line(const CU_pTest test, const CU_pSuite suite, const CU_pFailureRecord failure)
{
    (void)suite;
    if (failure == NULL && rt_test_skipped[0] != '\0')
        printf("skipped %s: %s\n", test->pName, rt_test_skipped);
    else
        printf("%s %s\n", failure == NULL ? "ok" : "not ok", test->pName);
    for (CU_pFailureRecord f = failure; f != NULL; f = f->pNext)
        printf("# %s:%u: %s\n", f->strFileName, f->uiLineNumber, f->strCondition);
    rt_test_skipped[0] = '\0';
    fflush(stdout);
}

struct rt_test {
    const char *name;
    void (*run)(void);
};
/* clang-format off */
#define RT_TEST(function) {#function, function}
/* clang-format on */

static inline int rt_test_main(const struct rt_test *tests, size_t count)
{
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 2;
    CU_pSuite suite = CU_add_suite("rooftile", NULL, NULL);
    for (size_t i = 0; i < count; i++)
        if (CU_add_test(suite, tests[i].name, tests[i].run) == NULL)
            return 2;
    CU_set_test_complete_handler(rt_test_line);
    CU_run_all_tests();
    unsigned failed = CU_get_number_of_tests_failed(), run = CU_get_number_of_tests_run();
    CU_cleanup_registry();
    return failed > 0 || run != count;
}

#define RT_TESTS(...)                                                                                        \
    int main(void)                                                                                           \
    {                                                                                                        \
        static const struct rt_test tests[] = {__VA_ARGS__};                                                 \
        return rt_test_main(tests, RT_COUNT(tests));                                                         \
    }
