/* Atomic files, bounded reads, the sorted walk. */
#include "base/file.h"
#include "test.h"

static void test_replace_is_whole(void)
{
    char *temporary, *text;
    size_t size;
    FILE *file;
    const char *path = rt_test_write("kept.txt", "old");
    RT_ASSERT_OK(rt_file_create(path, &file, &temporary));
    fputs("half", file);
    rt_file_abandon(file, temporary);
    RT_ASSERT_OK(rt_file_read(path, 100, &text, &size));
    CU_ASSERT_STRING_EQUAL(text, "old");
    free(text);
    RT_ASSERT_OK(rt_file_create(path, &file, &temporary));
    fputs("new", file);
    RT_ASSERT_OK(rt_file_finish(file, temporary, path));
    RT_ASSERT_OK(rt_file_read(path, 100, &text, &size));
    CU_ASSERT_STRING_EQUAL(text, "new");
    free(text);
}

static void test_full_disk(void)
{
    char *temporary;
    FILE *file;
    RT_ASSERT_OK(rt_file_create("/dev/shm/rooftile-test-full", &file, &temporary));
    fclose(file);
    unlink(temporary);
    file = fopen("/dev/full", "w"); /* every write says ENOSPC */
    fputs("text", file);
    RT_ASSERT_FAILS(rt_file_finish(file, temporary, "/dev/shm/rooftile-test-full"), RT_EIO, "No space left");
    CU_ASSERT_NOT_EQUAL(access("/dev/shm/rooftile-test-full", F_OK), 0);
}

static void test_refusals(void)
{
    char *temporary, *text;
    size_t size;
    FILE *file;
    RT_ASSERT_FAILS(rt_file_create("/nonexistent/x", &file, &temporary), RT_EIO,
                    "/nonexistent/x: cannot be written");
    RT_ASSERT_FAILS(rt_file_read("/nonexistent/x", 10, &text, &size), RT_EIO, "cannot be read");
    RT_ASSERT_FAILS(rt_file_read(rt_test_write("long.txt", "12345678901"), 10, &text, &size), RT_EFORMAT,
                    "larger than 10");
}

static void test_walk(void)
{
    struct rt_paths paths;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", rt_test_path("tree"));
    mkdir(folder, 0755);
    mkdir(rt_test_path("tree/b"), 0755);
    mkdir(rt_test_path("tree/.git"), 0755);
    rt_test_write("tree/b/2 with space.csv", "");
    rt_test_write("tree/a.csv", "");
    rt_test_write("tree/.git/ignored", "");
    RT_ASSERT_OK(rt_file_walk(folder, &paths));
    CU_ASSERT_EQUAL_FATAL(paths.count, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(paths.path[0], "/tree/a.csv"));
    CU_ASSERT_PTR_NOT_NULL(strstr(paths.path[1], "/tree/b/2 with space.csv"));
    rt_paths_release(&paths);
    RT_ASSERT_FAILS(rt_file_walk("/nonexistent", &paths), RT_EIO, "/nonexistent: cannot be read");
}

RT_TESTS(RT_TEST(test_replace_is_whole), RT_TEST(test_full_disk), RT_TEST(test_refusals), RT_TEST(test_walk))
