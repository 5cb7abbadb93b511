/* One table, three forms. */
#include "base/table.h"
#include "test.h"

#include <math.h>

static const struct rt_column columns[] = {
    {"op", NULL, 's', 0}, {"n", NULL, 'd', 0}, {"mape", "MAPE %", 'f', 1}, {"held_out", "held out", 'b', 0}};

static char *printed(void (*print)(const struct rt_table *, FILE *), const struct rt_table *table)
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    print(table, file);
    fclose(file);
    return text;
}

static void print_csv(const struct rt_table *table, FILE *file)
{
    rt_table_csv(table, file);
}

static void test_forms(void)
{
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    rt_table_row(table, "bmm", 12LL, 5.25, 1);
    rt_table_row(table, "a,\"b\"", 3LL, NAN, 0);
    char *text = printed(rt_table_text, table), *csv = printed(print_csv, table);
    CU_ASSERT_STRING_EQUAL(text,
                           "op      n  MAPE %  held out\nbmm    12     5.2  yes\na,\"b\"   3       -  no\n");
    CU_ASSERT_STRING_EQUAL(csv, "op,n,mape,held_out\nbmm,12,5.25,1\n\"a,\"\"b\"\"\",3,,0\n");
    json_t *json = rt_table_json(table);
    CU_ASSERT_EQUAL(json_array_size(json), 2);
    CU_ASSERT_EQUAL(json_real_value(json_object_get(json_array_get(json, 0), "mape")), 5.25);
    CU_ASSERT_TRUE(json_is_null(json_object_get(json_array_get(json, 1), "mape")));
    CU_ASSERT_TRUE(json_is_true(json_object_get(json_array_get(json, 0), "held_out")));
    json_decref(json);
    free(text);
    free(csv);
    rt_table_free(table);
}

/* A spreadsheet runs a cell that begins so; numbers and signs alone stay. */
static void test_csv_formulas(void)
{
    static const char *const cells[][2] = {{"=1+1", "'=1+1"},     {"@SUM(A1)", "'@SUM(A1)"},
                                           {"+cmd|x", "'+cmd|x"}, {"-x", "'-x"},
                                           {"-3.5", "-3.5"},      {"-", "-"},
                                           {"a=b", "a=b"}};
    for (size_t i = 0; i < RT_COUNT(cells); i++) {
        struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
        rt_table_row(table, cells[i][0], 1LL, 2.0, 1);
        char *csv = printed(print_csv, table),
             *expected = rt_format("op,n,mape,held_out\n%s,1,2,1\n", cells[i][1]);
        CU_ASSERT_STRING_EQUAL(csv, expected);
        free(expected);
        free(csv);
        rt_table_free(table);
    }
}

/* Columns that a narrow terminal has no room for go on below, beside the names of the rows. */
static void test_narrow(void)
{
    const struct rt_column wide[] = {{"device", NULL, 's', 0},
                                     {"op", NULL, 's', 0},
                                     {"n", NULL, 'd', 0},
                                     {"mape", "MAPE %", 'f', 1},
                                     {"why", NULL, 's', 0}};
    const struct rt_terminal narrow = {.columns = 24}, wrapping = {.columns = 57};
    struct rt_table *table = rt_table_new(wide, RT_COUNT(wide));
    rt_table_row(table, "A100 of 40 GB", "bmm", 12LL, 5.25, "few kernels of it were measured");
    rt_table_row(table, "L4", "add", 3LL, NAN, NULL);
    char *text, *wrapped;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    rt_table_text_for(table, &narrow, file);
    fclose(file);
    file = open_memstream(&wrapped, &size);
    rt_table_text_for(table, &wrapping, file);
    fclose(file);
    CU_ASSERT_STRING_EQUAL(text, "device         op    n\n"
                                 "A100 of 40 GB  bmm  12\n"
                                 "L4             add   3\n\n"
                                 "device        MAPE %\n"
                                 "A100 of 40..     5.2\n"
                                 "L4                 -\n\n"
                                 "device        why\n"
                                 "A100 of 40..  few\n"
                                 "              kernels of\n"
                                 "              it were\n"
                                 "              measured\n"
                                 "L4            -\n");
    CU_ASSERT_STRING_EQUAL(wrapped, "device         op    n  MAPE %  why\n"
                                    "A100 of 40 GB  bmm  12     5.2  few kernels of it were\n"
                                    "                                measured\n"
                                    "L4             add   3       -  -\n");
    free(text);
    free(wrapped);
    rt_table_free(table);
}

/* Columns that are only known when the program runs. */
static void test_texts(void)
{
    const struct rt_column wide[] = {
        {"op", NULL, 's', 0}, {"n", NULL, 'd', 0}, {"x", NULL, 's', 0}, {"y", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(wide, RT_COUNT(wide));
    const char *texts[] = {"1.5", NULL};
    rt_table_row_texts(table, texts, 2, "bmm", 12LL);
    char *text = printed(rt_table_text, table);
    CU_ASSERT_STRING_EQUAL(text, "op    n  x    y\nbmm  12  1.5  -\n");
    free(text);
    rt_table_free(table);
}

static void test_numbers(void)
{
    char title[] = "new column";
    const struct rt_column wide[] = {{"op", NULL, 's', 0}, {title, NULL, 'f', 1}, {"y", NULL, 'g', 2}};
    const double numbers[] = {1.25, NAN};
    struct rt_table *table = rt_table_new(wide, RT_COUNT(wide));
    title[0] = '\0'; /* the table has its own copy */
    rt_table_row_numbers(table, numbers, 2, "bmm");
    char *text = printed(rt_table_text, table);
    CU_ASSERT_STRING_EQUAL(text, "op   new column  y\nbmm         1.2  -\n");
    free(text);
    rt_table_free(table);
}

RT_TESTS(RT_TEST(test_csv_formulas), RT_TEST(test_forms), RT_TEST(test_narrow), RT_TEST(test_texts),
         RT_TEST(test_numbers))
