/* Atomic files, bounded reads, the sorted walk. */
#include "base/file.h"
#include "test.h"

#include <fcntl.h>
#include <stdbool.h>

static void test_replace_is_whole(void)
{
    struct rt_new_file file;
    char *text;
    size_t size;
    const char *path = rt_test_write("kept.txt", "old");
    RT_ASSERT_OK(rt_file_create(path, &file));
    fputs("half", file.stream);
    rt_file_abandon(&file);
    RT_ASSERT_OK(rt_file_read(path, 100, &text, &size));
    CU_ASSERT_STRING_EQUAL(text, "old");
    free(text);
    RT_ASSERT_OK(rt_file_create(path, &file));
    fputs("new", file.stream);
    RT_ASSERT_OK(rt_file_finish(&file));
    RT_ASSERT_OK(rt_file_read(path, 100, &text, &size));
    CU_ASSERT_STRING_EQUAL(text, "new");
    free(text);
}

static void test_full_disk(void)
{
    struct rt_new_file file;
    RT_ASSERT_OK(rt_file_create("/dev/shm/rooftile-test-full", &file));
    fclose(file.stream);
    file.stream = fopen("/dev/full", "w"); /* every write says ENOSPC */
    fputs("text", file.stream);
    RT_ASSERT_FAILS(rt_file_finish(&file), RT_EIO, "No space left");
    CU_ASSERT_NOT_EQUAL(access("/dev/shm/rooftile-test-full", F_OK), 0);
}

static void test_refusals(void)
{
    struct rt_new_file file;
    char *text;
    size_t size;
    RT_ASSERT_FAILS(rt_file_create("/nonexistent/x", &file), RT_EIO, "/nonexistent/x: cannot be written");
    RT_ASSERT_FAILS(rt_file_create(rt_test_path(""), &file), RT_EIO, "is a folder");
    RT_ASSERT_FAILS(rt_file_read("/nonexistent/x", 10, &text, &size), RT_EIO, "cannot be read");
    RT_ASSERT_FAILS(rt_file_read(rt_test_write("long.txt", "12345678901"), 10, &text, &size), RT_EFORMAT,
                    "larger than 10");
}

/* The text in the file, or "-". */
static const char *text_at(const char *path)
{
    static char kept[64];
    char *text;
    size_t size;
    snprintf(kept, sizeof kept, "-");
    if (rt_file_read(path, sizeof kept - 1, &text, &size) == RT_OK) {
        snprintf(kept, sizeof kept, "%s", text);
        free(text);
    }
    return kept;
}

static void write_text(const char *path, const char *text)
{
    struct rt_new_file file;
    RT_ASSERT_OK(rt_file_create(path, &file));
    fputs(text, file.stream);
    RT_ASSERT_OK(rt_file_finish(&file));
}

static bool is_link(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

/* The file that a link points to is replaced, and made where it is not there; the link stays. */
static void test_links_are_followed(void)
{
    char link[512], other[512];
    snprintf(link, sizeof link, "%s", rt_test_path("link.txt"));
    snprintf(other, sizeof other, "%s", rt_test_path("other.txt"));
    rt_test_write("pointed.txt", "old");
    CU_ASSERT_EQUAL_FATAL(symlink("pointed.txt", link), 0);
    write_text(link, "new");
    CU_ASSERT(is_link(link));
    CU_ASSERT_STRING_EQUAL(text_at(rt_test_path("pointed.txt")), "new");
    CU_ASSERT_EQUAL_FATAL(unlink(rt_test_path("pointed.txt")), 0);
    CU_ASSERT_EQUAL_FATAL(symlink(link, other), 0); /* through two links to nothing */
    write_text(other, "made");
    CU_ASSERT(is_link(link) && is_link(other));
    CU_ASSERT_STRING_EQUAL(text_at(rt_test_path("pointed.txt")), "made");
    CU_ASSERT_EQUAL_FATAL(unlink(link), 0);
    CU_ASSERT_EQUAL_FATAL(symlink(other, link), 0); /* a circle */
    struct rt_new_file file;
    RT_ASSERT_FAILS(rt_file_create(link, &file), RT_EIO, "symbolic links");
}

/* Texts go into what is there; nothing takes its place. */
static void test_devices_and_pipes(void)
{
    char pipe[512], text[8] = "";
    struct stat status;
    struct rt_new_file file;
    write_text("/dev/null", "gone");
    snprintf(pipe, sizeof pipe, "%s", rt_test_path("pipe"));
    CU_ASSERT_EQUAL_FATAL(mkfifo(pipe, 0600), 0);
    int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    write_text(pipe, "words");
    CU_ASSERT_EQUAL(read(reader, text, sizeof text), 5);
    CU_ASSERT_STRING_EQUAL(text, "words");
    close(reader);
    CU_ASSERT(stat(pipe, &status) == 0 && S_ISFIFO(status.st_mode));
    RT_ASSERT_FAILS(rt_file_replace(rt_test_write("whole.txt", "x"), pipe), RT_EIO, "is a device or a pipe");
    RT_ASSERT_OK(rt_file_create("/dev/full", &file));
    fputs("text", file.stream);
    RT_ASSERT_FAILS(rt_file_finish(&file), RT_EIO, "/dev/full: writing failed: No space left");
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

RT_TESTS(RT_TEST(test_replace_is_whole), RT_TEST(test_full_disk), RT_TEST(test_refusals),
         RT_TEST(test_links_are_followed), RT_TEST(test_devices_and_pipes), RT_TEST(test_walk))
