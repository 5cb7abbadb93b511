/* Which devices a user's words mean, and which are one chip. */
#include "test.h"

#include "datasets/dataset_input.h"

static const char *const names[] = {"NVIDIA L4",
                                    "NVIDIA L40S",
                                    "Tesla P4",
                                    "Tesla P40",
                                    "Tesla T4",
                                    "Tesla T40",
                                    "AMD Instinct MI250",
                                    "AMD Instinct MI250X",
                                    "NVIDIA A100-PCIE-40GB",
                                    "NVIDIA A100-SXM4-80GB",
                                    "L4 PCIe",
                                    "X/1",
                                    "X+1",
                                    "nvidia_a100"};

/* What an option with that text marks, "A, B and C"; NULL where it is refused. Free with free(). */
static char *chosen(size_t count, const char *text)
{
    struct rt_dataset dataset;
    bool devices[RT_COUNT(names)] = {false};
    const struct rt_names options = {.name = &text, .count = 1};
    rt_dataset_init(&dataset);
    for (size_t d = 0; d < count; d++) {
        struct rt_device device;
        rt_device_init(&device, names[d]);
        CU_ASSERT_EQUAL(rt_dataset_add_device(&dataset, &device), (int32_t)d);
    }
    int status = rt_devices_choose(&dataset, "--gpu", &options, devices);
    char *list = status == RT_OK ? rt_devices_list(&dataset, devices) : NULL;
    if (status != RT_OK)
        CU_ASSERT_EQUAL(status, RT_ENOTFOUND);
    rt_dataset_release(&dataset);
    return list;
}

#define CHOSEN(count, text, expected)                                                                        \
    do {                                                                                                     \
        char *list_ = chosen(count, text);                                                                   \
        CU_ASSERT_PTR_NOT_NULL_FATAL(list_);                                                                 \
        CU_ASSERT_STRING_EQUAL(list_, expected);                                                             \
        free(list_);                                                                                         \
    } while (0)

static void test_words_are_whole(void)
{
    CHOSEN(10, "L4", "NVIDIA L4");
    CHOSEN(10, "l40s", "NVIDIA L40S");
    CHOSEN(10, "P4", "Tesla P4");
    CHOSEN(10, "T4", "Tesla T4");
    CHOSEN(10, "MI250", "AMD Instinct MI250");
    CHOSEN(10, "MI250X", "AMD Instinct MI250X");
    CHOSEN(10, "a100", "NVIDIA A100-PCIE-40GB and NVIDIA A100-SXM4-80GB");
    CHOSEN(10, "A100 PCIe", "NVIDIA A100-PCIE-40GB");
    CHOSEN(10, "Tesla", "Tesla P4, Tesla P40, Tesla T4 and Tesla T40");
    CHOSEN(RT_COUNT(names), "X", "X/1 and X+1");
}

/* Also where other names have it as a word. */
static void test_a_name_is_that_device_alone(void)
{
    CHOSEN(RT_COUNT(names), "NVIDIA_L4", "NVIDIA L4");
    CHOSEN(RT_COUNT(names), "L4", "NVIDIA L4 and L4 PCIe"); /* nobody's name */
    CHOSEN(RT_COUNT(names), "NVIDIA A100", "nvidia_a100");
    CHOSEN(RT_COUNT(names), "x/1", "X/1");
    CHOSEN(RT_COUNT(names), "X+1", "X+1");
}

static void test_what_nobody_has_is_refused_with_what_there_is(void)
{
    static const char *const texts[] = {"A10", "MI25", "L", "", "-", "GH200"};
    for (size_t i = 0; i < RT_COUNT(texts); i++) {
        char *list = chosen(4, texts[i]);
        CU_ASSERT_PTR_NULL(list);
        free(list);
        CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "it has NVIDIA L4, NVIDIA L40S, Tesla P4 and Tesla P40"));
    }
    free(chosen(0, "A100"));
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "it has none"));
}

static void test_chips_by_their_word(void)
{
    static const char *const words[][2] = {
        {"NVIDIA A100-PCIE-40GB", "A100"},
        {"NVIDIA A100 80GB PCIe", "A100"},
        {"NVIDIA GeForce GTX 1080 Ti", "1080"},
        {"Tesla P4", "P4"},
        {"AMD Instinct MI210", "MI210"},
        {"NVIDIA H100 80GB HBM3", "H100"},
        {"card without a number", "card without a number"},
    };
    for (size_t i = 0; i < RT_COUNT(words); i++) {
        char word[96];
        struct rt_device device;
        rt_device_init(&device, words[i][0]);
        rt_chip_word(&device, word, sizeof word);
        CU_ASSERT_STRING_EQUAL(word, words[i][1]);
    }
}

static bool same_chip(const char *a, const char *b)
{
    struct rt_device first, second;
    rt_device_init(&first, a);
    rt_device_init(&second, b);
    return rt_chip_same(&first, &second);
}

static void test_one_chip_or_two(void)
{
    CU_ASSERT_TRUE(same_chip("NVIDIA A100-PCIE-40GB", "NVIDIA A100-SXM4-80GB"));
    CU_ASSERT_TRUE(same_chip("NVIDIA GB200", "NVIDIA B200"));
    CU_ASSERT_TRUE(same_chip("NVIDIA B200", "NVIDIA GB200"));
    CU_ASSERT_FALSE(same_chip("NVIDIA L4", "NVIDIA L40S"));
    CU_ASSERT_FALSE(same_chip("Tesla P4", "Tesla P40"));
    CU_ASSERT_FALSE(same_chip("Tesla T4", "Tesla T40"));
    CU_ASSERT_FALSE(same_chip("AMD Instinct MI250", "AMD Instinct MI250X"));
    CU_ASSERT_FALSE(same_chip("NVIDIA H100 PCIe", "NVIDIA H200"));
    CU_ASSERT_FALSE(same_chip("card one", "card two"));
}

/* What a description says holds, whatever the name. */
static void test_chips_by_their_field(void)
{
    struct rt_device quadro, ada, grace;
    char word[96];
    RT_ASSERT_OK(rt_device_named("Quadro RTX 6000", &quadro));
    RT_ASSERT_OK(rt_device_named("RTX 6000 Ada", &ada));
    CU_ASSERT_FALSE(rt_chip_same(&quadro, &ada));
    RT_ASSERT_OK(rt_device_named("GB200", &grace));
    rt_chip_word(&grace, word, sizeof word);
    CU_ASSERT_STRING_EQUAL(word, "B200");
    strcpy(quadro.name, "card");
    rt_chip_word(&quadro, word, sizeof word);
    CU_ASSERT_STRING_EQUAL(word, "Quadro RTX 6000");
}

RT_TESTS(RT_TEST(test_words_are_whole), RT_TEST(test_a_name_is_that_device_alone),
         RT_TEST(test_what_nobody_has_is_refused_with_what_there_is), RT_TEST(test_chips_by_their_word),
         RT_TEST(test_one_chip_or_two), RT_TEST(test_chips_by_their_field))
