/* Licences by the Hub's names, citations, words of a shell. */
#include "predict/evaluate/card/card.h"
#include "test.h"

static void check_licence(const char *lines, const char *expected)
{
    json_t *front = json_object();
    rt_licence_set(front, lines);
    char *text = json_dumps(front, JSON_COMPACT);
    CU_ASSERT_STRING_EQUAL(text, expected);
    if (strcmp(text, expected) != 0)
        printf("# %s: %s\n", lines, text);
    free(text);
    json_decref(front);
}

static void test_licences(void)
{
    check_licence("", "{}");
    check_licence("\n\n", "{}");
    check_licence("MIT", "{\"license\":\"mit\"}");
    check_licence("CC-BY-4.0", "{\"license\":\"cc-by-4.0\"}");
    check_licence("Apache-2.0, copyright 2025 NVIDIA\n\nApache-2.0", "{\"license\":\"apache-2.0\"}");
    check_licence("MIT, one; Apache-2.0", "{\"license\":[\"mit\",\"apache-2.0\"]}");
    /* cc-by-3.0 is no cc-by-3.0.1, MITRE no MIT */
    check_licence("MITRE Licence 2\nMIT", "{\"license\":\"other\",\"license_name\":\"mitre-licence-2\"}");
    check_licence("cc-by-3.0.1", "{\"license\":\"other\",\"license_name\":\"cc-by-3.0.1\"}");
    check_licence("***", "{\"license\":\"other\",\"license_name\":\"own\"}");
}

static void test_citations(void)
{
    char *text = rt_citations("made here", NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "@software{rooftile,"));
    CU_ASSERT_PTR_NULL(strstr(text, "neusight"));
    free(text);
    text = rt_citations("NeuSight (...), repository sitar-lab/NeuSight\nVidur, repository microsoft/vidur",
                        "@misc{mine}");
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "@inproceedings{neusight,"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "@inproceedings{vidur,"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n@misc{mine}\n"));
    free(text);
}

static void check_word(const char *word, const char *expected)
{
    char *text = rt_card_shell_word(word);
    CU_ASSERT_STRING_EQUAL(text, expected);
    free(text);
}

static void test_shell_words(void)
{
    check_word("data/a-1.h5", "data/a-1.h5");
    check_word("", "''");
    check_word("-p", "'-p'");
    check_word("NVIDIA A100", "'NVIDIA A100'");
    check_word("a'b$c", "'a'\\''b$c'");
}

static void test_names(void)
{
    static const char *const names[] = {"A", "B", "C", "D"};
    static const char *const expected[] = {"", "A", "A and B", "A, B and C", "A, B, C and 1 more"};
    for (size_t count = 0; count <= 4; count++) {
        char *text = rt_card_names(names, count, 3);
        CU_ASSERT_STRING_EQUAL(text, expected[count]);
        free(text);
    }
}

RT_TESTS(RT_TEST(test_licences), RT_TEST(test_citations), RT_TEST(test_shell_words), RT_TEST(test_names))
