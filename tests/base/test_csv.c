/* Reading CSV row by row: what is a row, what is refused, and that a huge line costs no memory. */
#include "base/csv.h"
#include "test.h"

#include <sys/resource.h>

static struct rt_csv *open_text(const char *name, const char *text)
{
    struct rt_csv *csv = NULL;
    RT_ASSERT_OK(rt_csv_open(rt_test_write(name, text), &csv));
    return csv;
}

static void test_rows(void)
{
    const struct rt_csv_field *row;
    struct rt_csv *csv = open_text("rows.csv", "\xef\xbb\xbf"
                                               "a, b ,\"c,d\"\r\n"
                                               "1,two words ,\"say \"\"hi\"\"\"\n"
                                               "\n"
                                               "\"line\nbreak\",,\"\"\n"
                                               "\xc3\xa9,x,y\n");
    CU_ASSERT_EQUAL(rt_csv_columns(csv), 3);
    CU_ASSERT_EQUAL(rt_csv_find(csv, "b"), 1);
    CU_ASSERT_EQUAL(rt_csv_find(csv, "c,d"), 2);
    CU_ASSERT_EQUAL(rt_csv_find(csv, "e"), -1);
    CU_ASSERT_EQUAL_FATAL(rt_csv_next(csv, &row), RT_CSV_ROW);
    CU_ASSERT_EQUAL(rt_csv_line(csv), 2);
    CU_ASSERT_STRING_EQUAL(row[1].text, "two words");
    CU_ASSERT_STRING_EQUAL(row[2].text, "say \"hi\"");
    CU_ASSERT_EQUAL(row[2].length, 8);
    CU_ASSERT_EQUAL_FATAL(rt_csv_next(csv, &row), RT_CSV_ROW);
    CU_ASSERT_EQUAL(rt_csv_line(csv), 4); /* where it begins */
    CU_ASSERT_STRING_EQUAL(row[0].text, "line\nbreak");
    CU_ASSERT_TRUE(row[1].missing);
    CU_ASSERT_FALSE(row[2].missing);
    CU_ASSERT_STRING_EQUAL(row[2].text, "");
    CU_ASSERT_EQUAL_FATAL(rt_csv_next(csv, &row), RT_CSV_ROW);
    CU_ASSERT_EQUAL(rt_csv_line(csv), 6);
    CU_ASSERT_STRING_EQUAL(row[0].text, "\xc3\xa9");
    CU_ASSERT_EQUAL(rt_csv_next(csv, &row), RT_CSV_END);
    CU_ASSERT_EQUAL(rt_csv_next(csv, &row), RT_CSV_END);
    rt_csv_close(csv);
}

/* A refused row does not end the reading. */
static void test_refused_rows(void)
{
    const struct rt_csv_field *row;
    struct rt_csv *csv = open_text("refused.csv", "a,b\n1,2,3\n4\n5,6\n\xff,7\n8,9\n10,11");
    RT_ASSERT_FAILS(rt_csv_next(csv, &row), RT_CSV_REFUSED,
                    "refused.csv:2: the row has 3 columns where the header has 2");
    RT_ASSERT_FAILS(rt_csv_next(csv, &row), RT_CSV_REFUSED, ":3: the row has 1 columns");
    CU_ASSERT_EQUAL(rt_csv_next(csv, &row), RT_CSV_ROW);
    RT_ASSERT_FAILS(rt_csv_next(csv, &row), RT_CSV_REFUSED, ":5: is not UTF-8");
    CU_ASSERT_EQUAL(rt_csv_next(csv, &row), RT_CSV_ROW);
    CU_ASSERT_STRING_EQUAL(row[0].text, "8");
    RT_ASSERT_FAILS(rt_csv_next(csv, &row), RT_CSV_REFUSED, ":7: the line has no newline at its end");
    CU_ASSERT_EQUAL(rt_csv_next(csv, &row), RT_CSV_END);
    rt_csv_close(csv);
}

static void test_not_csv(void)
{
    struct rt_csv *csv;
    RT_ASSERT_FAILS(rt_csv_open(rt_test_path("absent.csv"), &csv), RT_EIO,
                    "absent.csv: cannot be read: No such file");
    RT_ASSERT_FAILS(rt_csv_open(rt_test_folder(), &csv), RT_EIO, "is a folder");
    RT_ASSERT_FAILS(rt_csv_open(rt_test_write("empty.csv", ""), &csv), RT_EFORMAT, "empty.csv: is empty");
    RT_ASSERT_FAILS(rt_csv_open(rt_test_write("lines.csv", "\n\n"), &csv), RT_EFORMAT,
                    "nothing but empty lines");
    RT_ASSERT_FAILS(rt_csv_open(rt_test_write("twice.csv", "a,b,a\n1,2,3\n"), &csv), RT_EFORMAT,
                    "column \"a\" twice");
    RT_ASSERT_FAILS(rt_csv_open(rt_test_write("cut.csv", "a,b"), &csv), RT_EFORMAT, "no newline");
    RT_ASSERT_FAILS(rt_csv_open(rt_test_write("latin.csv", "\xe9,b\n"), &csv), RT_EFORMAT, "is not UTF-8");
    RT_ASSERT_FAILS(rt_csv_open(rt_test_write("quote.csv", "a,\"b\n1,2\n"), &csv), RT_EFORMAT,
                    "never closed");
    char many[2 * RT_CSV_COLUMNS + 8];
    memset(many, ',', sizeof many);
    strcpy(many + RT_CSV_COLUMNS, "\n");
    RT_ASSERT_FAILS(rt_csv_open(rt_test_write("many.csv", many), &csv), RT_EFORMAT,
                    "more than 4096 are not read");
}

/* Malformed CSV ends the reading with the line where it begins. */
static void test_damage(void)
{
    static const struct {
        const char *name, *text, *words;
    } cases[] = {
        {"open.csv", "a,b\n1,2\n3,\"4\n5,6\n", ":3: a quote is opened and never closed"},
        {"stray.csv", "a,b\n1,2\n3,4\"5\n5,6\n", ":3: a quote stands where none may stand"},
        {"after.csv", "a,b\n1,2\n3,\"4\"5\n5,6\n", ":3: a quote stands where none may stand"},
        {"mac.csv", "a,b\n1,2\n3,4\r5,6\n7,8\n", ":3: holds a carriage return within the line"},
    };
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        const struct rt_csv_field *row;
        struct rt_csv *csv = open_text(cases[i].name, cases[i].text);
        CU_ASSERT_EQUAL(rt_csv_next(csv, &row), RT_CSV_ROW);
        RT_ASSERT_FAILS(rt_csv_next(csv, &row), RT_EFORMAT, cases[i].words);
        CU_ASSERT_EQUAL(rt_csv_next(csv, &row), RT_CSV_END);
        rt_csv_close(csv);
    }
    const char *path = rt_test_write("nul.csv", "a,b\n1,2\n");
    FILE *file = fopen(path, "a");
    fwrite("3,\0\n", 1, 4, file);
    fclose(file);
    const struct rt_csv_field *row;
    struct rt_csv *csv;
    RT_ASSERT_OK(rt_csv_open(path, &csv));
    CU_ASSERT_EQUAL(rt_csv_next(csv, &row), RT_CSV_ROW);
    RT_ASSERT_FAILS(rt_csv_next(csv, &row), RT_EFORMAT, ":3: holds bytes 0: this is a binary file");
    rt_csv_close(csv);
}

/* The address sanitizer keeps freed memory, so its peak means nothing. */
#if defined __SANITIZE_ADDRESS__
#define FREED_STAYS 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define FREED_STAYS 1
#endif
#endif
#ifndef FREED_STAYS
#define FREED_STAYS 0
#endif

static long resident_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* A gigabyte without a newline is refused after 16 MiB, with about 16 MiB of memory. */
static void test_huge_line(void)
{
    const struct rt_csv_field *row;
    struct rt_csv *csv;
    long before = resident_kib();
    const char *sparse = rt_test_write("sparse.csv", "a,b\n1,2\n");
    CU_ASSERT_EQUAL_FATAL(truncate(sparse, (off_t)1 << 30), 0);
    RT_ASSERT_OK(rt_csv_open(sparse, &csv));
    CU_ASSERT_EQUAL(rt_csv_next(csv, &row), RT_CSV_ROW);
    RT_ASSERT_FAILS(rt_csv_next(csv, &row), RT_EFORMAT, "sparse.csv:3: holds bytes 0");
    rt_csv_close(csv);

    const char *dense = rt_test_path("dense.csv");
    FILE *file = fopen(dense, "w");
    char block[1 << 16];
    memset(block, 'x', sizeof block);
    fputs("a,b\n1,2\n3,", file);
    for (int i = 0; i < 1024; i++) /* 64 MiB */
        fwrite(block, 1, sizeof block, file);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    RT_ASSERT_OK(rt_csv_open(dense, &csv));
    CU_ASSERT_EQUAL(rt_csv_next(csv, &row), RT_CSV_ROW);
    RT_ASSERT_FAILS(rt_csv_next(csv, &row), RT_EFORMAT, "dense.csv:3: the row is longer than 16 MiB");
    CU_ASSERT_TRUE(rt_csv_bytes(csv) < (size_t)20 << 20);
    rt_csv_close(csv);
    CU_ASSERT_TRUE(FREED_STAYS || resident_kib() - before < 128 * 1024);
    unlink(sparse);
    unlink(dense);
}

/* A row near the limit is still a row, and one that spans blocks is whole. */
static void test_long_row(void)
{
    const char *path = rt_test_path("long.csv");
    FILE *file = fopen(path, "w");
    const struct rt_csv_field *row;
    struct rt_csv *csv;
    fputs("a,b\n", file);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 1000000; j++)
            fputc('a' + (i + j) % 26, file);
        fputs(",end\n", file);
    }
    fclose(file);
    RT_ASSERT_OK(rt_csv_open(path, &csv));
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL_FATAL(rt_csv_next(csv, &row), RT_CSV_ROW);
        CU_ASSERT_EQUAL(row[0].length, 1000000);
        CU_ASSERT_EQUAL(row[0].text[999999], 'a' + (i + 999999) % 26);
        CU_ASSERT_STRING_EQUAL(row[1].text, "end");
    }
    CU_ASSERT_EQUAL(rt_csv_next(csv, &row), RT_CSV_END);
    rt_csv_close(csv);
}

/* Cells are read as they were written. */
static void test_writing(void)
{
    static const char *const texts[] = {
        "plain", "two words", " space around ", "comma,quote\"", "line\nbreak", "", "\t"};
    const char *path = rt_test_path("written.csv");
    FILE *file = fopen(path, "w");
    const struct rt_csv_field *row;
    struct rt_csv *csv;
    fputs("text,missing\n", file);
    for (size_t i = 0; i < RT_COUNT(texts); i++) {
        rt_csv_write(file, texts[i]);
        fputc(',', file);
        rt_csv_write(file, NULL);
        fputc('\n', file);
    }
    fclose(file);
    RT_ASSERT_OK(rt_csv_open(path, &csv));
    for (size_t i = 0; i < RT_COUNT(texts); i++) {
        CU_ASSERT_EQUAL_FATAL(rt_csv_next(csv, &row), RT_CSV_ROW);
        CU_ASSERT_STRING_EQUAL(row[0].text, texts[i]);
        CU_ASSERT_FALSE(row[0].missing);
        CU_ASSERT_TRUE(row[1].missing);
    }
    rt_csv_close(csv);
}

RT_TESTS(RT_TEST(test_rows), RT_TEST(test_refused_rows), RT_TEST(test_not_csv), RT_TEST(test_damage),
         RT_TEST(test_huge_line), RT_TEST(test_long_row), RT_TEST(test_writing))
