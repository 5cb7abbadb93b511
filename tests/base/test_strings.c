/* Interning and number parsing. */
#include "base/strings.h"
#include "test.h"

#include <locale.h>

static void test_interning(void)
{
    struct rt_strings strings = {0};
    char text[32];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 1000; i++) {
            int length = snprintf(text, sizeof text, "kernel_%d", i);
            CU_ASSERT_EQUAL(rt_strings_add(&strings, text, (size_t)length), i);
        }
    CU_ASSERT_EQUAL(strings.count, 1000);
    CU_ASSERT_STRING_EQUAL(rt_strings_get(&strings, 999), "kernel_999");
    CU_ASSERT_EQUAL(rt_strings_find(&strings, "kernel_5xyz", 8), 5);
    CU_ASSERT_EQUAL(rt_strings_find(&strings, "kernel_", 7), -1);
    CU_ASSERT_STRING_EQUAL(rt_strings_get(&strings, -1), "");
    CU_ASSERT_STRING_EQUAL(rt_strings_get(&strings, 1000), "");
    rt_strings_release(&strings);
}

static void test_integers(void)
{
    int64_t value;
    CU_ASSERT_EQUAL(rt_parse_integer("-12", 3, &value), 0);
    CU_ASSERT_EQUAL(value, -12);
    static const char *const bad[] = {"", "-", "1.5", " 1", "1 ", "0x10", "99999999999999999999", "1e3"};
    for (size_t i = 0; i < RT_COUNT(bad); i++)
        CU_ASSERT_NOT_EQUAL(rt_parse_integer(bad[i], strlen(bad[i]), &value), 0);
}

/* The quick path must agree with strtod to the last bit. */
static void test_reals(void)
{
    double value;
    static const char *const good[] = {"0.016128000058233737",
                                       "91.30621490478515",
                                       "0.03578666721781095",
                                       "1e-300",
                                       "12345678901234567890123",
                                       "0",
                                       "-2.5",
                                       "1485.1850830078124",
                                       ".5",
                                       "3."};
    for (size_t i = 0; i < RT_COUNT(good); i++) {
        CU_ASSERT_EQUAL(rt_parse_real(good[i], strlen(good[i]), &value), 0);
        CU_ASSERT_EQUAL(value, strtod(good[i], NULL));
    }
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        char text[40];
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        double wanted = (double)(state >> 20) / 1e9;
        int length = snprintf(text, sizeof text, "%.*g", 1 + (int)(state % 17), wanted);
        CU_ASSERT_EQUAL_FATAL(rt_parse_real(text, (size_t)length, &value), 0);
        CU_ASSERT_EQUAL_FATAL(value, strtod(text, NULL));
    }
    static const char *const bad[] = {"",   "nan",   "inf", "0x1p3", "1,5", " 1",
                                      "1 ", "1e999", "--1", "1.2.3", "abc"};
    for (size_t i = 0; i < RT_COUNT(bad); i++)
        CU_ASSERT_NOT_EQUAL(rt_parse_real(bad[i], strlen(bad[i]), &value), 0);
}

static void test_names(void)
{
    CU_ASSERT_TRUE(rt_name_contains("NVIDIA A100-PCIE-40GB", "a100"));
    CU_ASSERT_TRUE(rt_name_contains("NVIDIA A100-PCIE-40GB", "A100_pcie 40"));
    CU_ASSERT_FALSE(rt_name_contains("NVIDIA A100-PCIE-40GB", "A100-SXM"));
    CU_ASSERT_FALSE(rt_name_contains("A1", "A100"));
    CU_ASSERT_TRUE(rt_name_matches("gpt2-large", "GPT2_large"));
    CU_ASSERT_FALSE(rt_name_matches("gpt2-large", "gpt2"));
    CU_ASSERT_TRUE(rt_name_matches("gpt2-large", "gpt2*"));
    CU_ASSERT_TRUE(rt_name_matches("gpt2", "gpt2*"));
    CU_ASSERT_TRUE(rt_name_matches("gpt2-large", "*large"));
    CU_ASSERT_TRUE(rt_name_matches("gpt2-large", "g*2*r?e"));
    CU_ASSERT_TRUE(rt_name_matches("aab-aab", "*aab"));
    CU_ASSERT_TRUE(rt_name_matches("", "*"));
    CU_ASSERT_FALSE(rt_name_matches("gpt2-large", "*gpt3*"));
    CU_ASSERT_FALSE(rt_name_matches("gpt2-large", "gpt2*x"));
    CU_ASSERT_FALSE(rt_name_matches("gpt2", "gpt2?"));
    CU_ASSERT_FALSE(rt_name_matches("", "?"));
    CU_ASSERT_TRUE(rt_name_has_words("NVIDIA A100-PCIE-40GB", "a100"));
    CU_ASSERT_TRUE(rt_name_has_words("NVIDIA A100-PCIE-40GB", "A100_pcie 40GB"));
    CU_ASSERT_TRUE(rt_name_has_words("NVIDIA A100-PCIE-40GB", "nvidia-a100pcie"));
    CU_ASSERT_TRUE(rt_name_has_words("a100_sxm", "A100 "));
    CU_ASSERT_TRUE(rt_name_has_words("X+1", "x"));
    CU_ASSERT_TRUE(rt_name_has_words("X+1", "+1"));
    CU_ASSERT_FALSE(rt_name_has_words("NVIDIA A100-PCIE-40GB", "A100 pcie 40"));
    CU_ASSERT_FALSE(rt_name_has_words("NVIDIA L40S", "L4"));
    CU_ASSERT_FALSE(rt_name_has_words("Tesla P40", "P4"));
    CU_ASSERT_FALSE(rt_name_has_words("AMD Instinct MI250X", "MI250"));
    CU_ASSERT_FALSE(rt_name_has_words("NVIDIA GH200", "H200"));
    CU_ASSERT_FALSE(rt_name_has_words("Gr\xc3\xb6\xc3\x9f"
                                      "e 4",
                                      "gr"));
    CU_ASSERT_FALSE(rt_name_has_words("T4", " -"));
    CU_ASSERT_FALSE(rt_name_has_words("T4", ""));
    CU_ASSERT_TRUE(rt_name_equal("NVIDIA_A100-PCIE-40GB", "nvidia a100 PCIE 40GB"));
    CU_ASSERT_FALSE(rt_name_equal("A100", "A100-PCIE"));
    CU_ASSERT_FALSE(rt_name_equal("A100-PCIE", "A100"));
    CU_ASSERT_TRUE(rt_name_equal("A100 ", "A100"));
}

static void test_hints(void)
{
    static const char *const names[] = {"gpt2-large", "gpt2", "bert-base", "gpt2-xl"};
    struct rt_hints hints = {0};
    CU_ASSERT_EQUAL(rt_name_distance("gpt2", "gpt2"), 0);
    CU_ASSERT_EQUAL(rt_name_distance("gpt2", "gpt"), 1);
    CU_ASSERT_EQUAL(rt_name_distance("", "gpt"), 3);
    CU_ASSERT_EQUAL(rt_name_distance("opt", "gpt"), 1);
    for (size_t i = 0; i < RT_COUNT(names); i++)
        rt_hints_add(&hints, names[i], rt_name_distance(names[i], "gpt3"));
    CU_ASSERT_STRING_EQUAL(hints.name[0], "gpt2");
    CU_ASSERT_STRING_EQUAL(hints.name[1], "gpt2-xl");
    CU_ASSERT_STRING_EQUAL(hints.name[2], "gpt2-large");
}

static void test_near_names(void)
{
    static const struct {
        const char *known, *wanted;
        bool near;
    } rows[] = {
        {"h100", "h10", true},
        {"a100", "a1000", true},
        {"mi300x", "mi300", true},
        {"a100", "a100x", true},
        {"gtx1080ti", "gtx1080", true},
        {"teslat4", "telsat4", true},
        {"llama38b", "lama38b", true},
        {"rtx4070", "rtx4070ti", true},
        {"a100sxm480gb", "a100sxm80gb", true},
        {"gb200", "gh200", false},
        {"l4", "m1", false},
        {"t4", "l4", false},
        {"t4", "t400", false},
        {"a10", "h10", false},
        {"rtx4090", "rtx5090", false},
        {"gpt2", "gpt4", false},
        {"gpt2", "gtp2", true},
        {"a10", "a01", false},
        {"l40", "l400", true},
        {"b200", "b100", false},
        {"mi100", "mi200", false},
        {"h100", "cheese", false},
        {"gpu", "gup", true},
        {"batch", "bacth", true},
        {"link", "fusion", false},
        {"predict", "predicct", true},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        if (rt_name_near(rows[i].known, rows[i].wanted) != rows[i].near)
            printf("# %s for %s\n", rows[i].known, rows[i].wanted);
        CU_ASSERT_EQUAL(rt_name_near(rows[i].known, rows[i].wanted), rows[i].near);
    }
    struct rt_hints hints = {0};
    char *words = rt_hints_words(&hints);
    CU_ASSERT_STRING_EQUAL(words, "");
    free(words);
    rt_hints_add(&hints, "H200", 2);
    rt_hints_add(&hints, "H100", 1);
    words = rt_hints_words(&hints);
    CU_ASSERT_STRING_EQUAL(words, "; nearest names: H100, H200");
    free(words);
}

RT_TESTS(RT_TEST(test_interning), RT_TEST(test_integers), RT_TEST(test_reals), RT_TEST(test_names),
         RT_TEST(test_hints), RT_TEST(test_near_names))
