/* Sentences of errors: how they name the fields of a request. */
#include "base/status.h"
#include "test.h"

#include <string.h>

static void test_fields_have_the_readers_names(void)
{
    CU_ASSERT_EQUAL(rt_fail(RT_EUSAGE, "{kv_cache} %s: give {dtype}", "fp4"), RT_EUSAGE);
    CU_ASSERT_STRING_EQUAL(rt_error(), "kv_cache fp4: give dtype");
    rt_error_names_options(true);
    rt_fail(RT_EUSAGE, "{kv_cache} %s: give {dtype}", "fp4");
    CU_ASSERT_STRING_EQUAL(rt_error(), "--kv-cache fp4: give --dtype");
    rt_error_names_options(false);
}

/* A file's name is its own, and JSON in a sentence is no field. */
static void test_values_and_other_braces_stay(void)
{
    rt_error_names_options(true);
    rt_fail(RT_EFORMAT, "%s: holds {\"a\": 1}, {} and { b }, {c", "{kv_cache}.csv");
    CU_ASSERT_STRING_EQUAL(rt_error(), "{kv_cache}.csv: holds {\"a\": 1}, {} and { b }, {c");
    rt_fail_context(RT_EFORMAT, "{seq}");
    CU_ASSERT_EQUAL(strncmp(rt_error(), "--seq: {kv_cache}.csv", 21), 0);
    rt_error_names_options(false);
}

RT_TESTS(RT_TEST(test_fields_have_the_readers_names), RT_TEST(test_values_and_other_braces_stay))
