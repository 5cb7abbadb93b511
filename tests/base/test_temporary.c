/* Temporaries: whose they are, and which are removed. */
#include "base/temporary.h"
#include "test.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Makes one in a child that is killed; what it left is read from the folder. */
static void leave_one(const char *path)
{
    pid_t child = fork();
    if (child == 0) {
        struct rt_temporary temporary;
        _exit(rt_temporary_make(path, &temporary) != RT_OK || raise(SIGKILL) != 0);
    }
    int ended = 0;
    CU_ASSERT_EQUAL_FATAL(waitpid(child, &ended, 0), child);
    CU_ASSERT_FATAL(WIFSIGNALED(ended));
}

static size_t count_temporaries(const char *name)
{
    size_t count = 0;
    DIR *folder = opendir(rt_test_path(""));
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += strncmp(entry->d_name, name, strlen(name)) == 0 && strstr(entry->d_name, ".rt-") != NULL;
    closedir(folder);
    return count;
}

/* Those of the same output are removed, of others kept; names that only look alike are someone else's. */
static void test_killed_writers(void)
{
    static const char *const alike[] = {"a.h5.rt-1234567.tmp",   "a.h5.rt-123456789.tmp",
                                        "a.h5.rt-1234567!.tmp",  "a.h5.12345678.tmp",
                                        "xa.h5.rt-12345678.tmp", "a.h5.rt-12345678.txt"};
    struct rt_temporary temporary;
    char path[512], other[512];
    snprintf(path, sizeof path, "%s", rt_test_path("a.h5"));
    snprintf(other, sizeof other, "%s", rt_test_path("a.h5.checkpoint"));
    for (size_t i = 0; i < RT_COUNT(alike); i++)
        rt_test_write(alike[i], "mine");
    leave_one(path);
    leave_one(path);
    leave_one(other);
    CU_ASSERT_EQUAL(count_temporaries("a.h5.checkpoint.rt-"), 1);
    RT_ASSERT_OK(rt_temporary_make(path, &temporary));
    rt_temporary_discard(&temporary);
    for (size_t i = 0; i < RT_COUNT(alike); i++) {
        CU_ASSERT(is_there(rt_test_path(alike[i])));
        unlink(rt_test_path(alike[i]));
    }
    CU_ASSERT_EQUAL(count_temporaries("a.h5.rt-"), 0);
    CU_ASSERT_EQUAL(count_temporaries("a.h5.checkpoint.rt-"), 1);
    rt_temporaries_clean(other);
    CU_ASSERT_EQUAL(count_temporaries("a.h5"), 0);
}

/* What is being written stays, in this process and in others; links are not followed. */
static void test_live_writers(void)
{
    struct rt_temporary first, second;
    char link[512];
    const char *path = rt_test_path("b.h5");
    RT_ASSERT_OK(rt_temporary_make(path, &first));
    snprintf(link, sizeof link, "%s", rt_test_path("b.h5.rt-00000000.tmp"));
    CU_ASSERT_EQUAL_FATAL(symlink(rt_test_write("kept.txt", "mine"), link), 0);
    RT_ASSERT_OK(rt_temporary_make(rt_test_path("b.h5"), &second));
    CU_ASSERT(is_there(first.name) && is_there(second.name) && is_there(rt_test_path("kept.txt")));
    pid_t child = fork();
    if (child == 0) {
        rt_temporaries_clean(rt_test_path("b.h5"));
        _exit(0);
    }
    CU_ASSERT_EQUAL_FATAL(waitpid(child, NULL, 0), child);
    CU_ASSERT(is_there(first.name) && is_there(second.name));
    CU_ASSERT_EQUAL(write(second.file, "whole", 5), 5);
    RT_ASSERT_OK(rt_temporary_keep(&second));
    rt_temporary_discard(&first);
    CU_ASSERT(is_there(rt_test_path("b.h5")));
    CU_ASSERT_EQUAL(unlink(link), 0);
    CU_ASSERT_EQUAL(count_temporaries("b.h5"), 0);
}

static void test_names_do_not_meet(void)
{
    struct rt_temporary all[200];
    for (size_t i = 0; i < RT_COUNT(all); i++)
        RT_ASSERT_OK(rt_temporary_make(rt_test_path("c.h5"), &all[i]));
    CU_ASSERT_EQUAL(count_temporaries("c.h5"), RT_COUNT(all));
    for (size_t i = 0; i < RT_COUNT(all); i++)
        rt_temporary_discard(&all[i]);
    CU_ASSERT_EQUAL(count_temporaries("c.h5"), 0);
}

static void test_refusals(void)
{
    struct rt_temporary temporary;
    RT_ASSERT_FAILS(rt_temporary_make("/dev/null", &temporary), RT_EIO, "is a device or a pipe");
    RT_ASSERT_FAILS(rt_temporary_make(rt_test_path(""), &temporary), RT_EIO, "is a folder");
    RT_ASSERT_FAILS(rt_temporary_make("/nonexistent/x", &temporary), RT_EIO, "cannot be written");
}

RT_TESTS(RT_TEST(test_killed_writers), RT_TEST(test_live_writers), RT_TEST(test_names_do_not_meet),
         RT_TEST(test_refusals))
