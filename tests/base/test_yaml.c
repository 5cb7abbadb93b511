/* Blocks of YAML, and names that must be quoted. tests/cli/test_card.sh reads such texts with a parser. */
#include "base/yaml.h"
#include "test.h"

static void check(json_t *value, const char *expected)
{
    char *text = rt_yaml_text(value);
    CU_ASSERT_STRING_EQUAL(text, expected);
    if (strcmp(text, expected) != 0)
        printf("# %s\n", text);
    free(text);
    json_decref(value);
}

static void test_block(void)
{
    check(json_pack("{s:s, s:[s, s], s:[{s:s, s:{s:f, s:i, s:b}}], s:[], s:{}, s:n}", "license", "apache-2.0",
                    "tags", "gpu", "1K<n<10K", "results", "name", "a b", "metrics", "value", 12.5, "count", 3,
                    "ok", 1, "none", "nothing", "missing"),
          "license: apache-2.0\n"
          "tags:\n- gpu\n- \"1K<n<10K\"\n"
          "results:\n- name: a b\n  metrics:\n    value: 12.5\n    count: 3\n    ok: true\n"
          "none: []\nnothing: {}\nmissing: null\n");
}

static void check_text(const char *text, const char *expected)
{
    char *line = rt_format("a: %s\n", expected);
    check(json_pack("{s:s}", "a", text), line);
    free(line);
}

static void test_texts(void)
{
    static const char *const quoted[] = {"",   "no",   "True", "null", "1.0", "1e3", "2026-11-23",
                                         "-x", "a: b", "a #b", "a ",   " a",  "[a]", "{a}",
                                         "*a", "&a",   "!a",   "%a",   "@a",  "a'b", "a,b",
                                         "|",  "> a",  "---",  "? a",  "y",   ".nan"};
    for (size_t i = 0; i < RT_COUNT(quoted); i++) {
        char *expected = rt_format("\"%s\"", quoted[i]);
        check_text(quoted[i], expected);
        free(expected);
    }
    check_text("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3");
    check_text("a \"b\" \\ c\n\t", "\"a \\\"b\\\" \\\\ c\\n\\t\"");
    check_text("\x01\x7f\xc2\x85\xe2\x80\xa8\xef\xbb\xbf\xe2\x80\xae",
               "\"\\u0001\\u007F\\u0085\\u2028\\uFEFF\\u202E\"");
    check_text("\xc3\xa9\xf0\x9f\x98\x80", "\"\xc3\xa9\xf0\x9f\x98\x80\"");
}

RT_TESTS(RT_TEST(test_block), RT_TEST(test_texts))
