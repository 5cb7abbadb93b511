/* Formulas over a device's fields: values, precedence, sentences with positions. */
#include "predict/search/explore/formula.h"
#include "test.h"

#include <math.h>

static double value_of(const char *text)
{
    struct rt_formula formula;
    struct rt_device device;
    RT_ASSERT_OK(rt_device_find("H100,sms=100,bandwidth_gbs=2000,power_w=400", &device));
    RT_ASSERT_OK(rt_formula_read("--cost", text, &formula));
    return rt_formula_value(&formula, &device);
}

static void test_values(void)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"0.2*sms+0.01*bandwidth_gbs", 40},
                 {"1", 1},
                 {" 2 * ( 3 + 4 ) ", 14},
                 {"2+3*4^2/8-1", 7},
                 {"2-3-4", -5},
                 {"16/4/2", 2},
                 {"2^3^2", 512},
                 {"-2^2", -4},
                 {"2^-1", 0.5},
                 {"--3", 3},
                 {"1e3+1.5E-1", 1000.15},
                 {".5*sms", 50},
                 {"sqrt(sms)+log(exp(2))", 12},
                 {"min(sms, power_w)+max(1,2)", 102},
                 {"max(sqrt(16),min(5,6))", 5}};
    for (size_t i = 0; i < RT_COUNT(cases); i++)
        RT_ASSERT_NEAR(value_of(cases[i].text), cases[i].value, 1e-12);
    CU_ASSERT_TRUE(isnan(value_of("bridge_gbs"))); /* the device has none */
    CU_ASSERT_TRUE(isnan(value_of("min(1,bridge_gbs)+max(bridge_gbs,1)")));
    CU_ASSERT_TRUE(isinf(value_of("1/(sms-100)")));
}

static void test_refused(void)
{
    static const char *const cases[][2] = {
        {"", "position 1: a value is missing at the end"},
        {"sms+", "position 5: a value is missing at the end"},
        {"2*smss", "position 3: \"smss\" is neither a field nor a function"},
        {"2 3", "position 3: an operator is missing"},
        {"(sms", "position 5: ) is missing"},
        {"sms)", "position 4: an operator is missing"},
        {"sqrt sms", "position 6: ( is missing"},
        {"min(1)", "position 6: a , is missing"},
        {"1..2", "position 1: this is no number"},
        {"2*%", "position 3: a value is missing here"},
        {"0x10", "position 2: an operator is missing"}};
    struct rt_formula formula;
    for (size_t i = 0; i < RT_COUNT(cases); i++)
        RT_ASSERT_FAILS(rt_formula_read("--cost", cases[i][0], &formula), RT_EUSAGE, cases[i][1]);
}

/* Neither the reader nor a value may overrun: what is too long or too deep is refused. */
static void test_limits(void)
{
    char text[4001];
    struct rt_formula formula;
    memset(text, '(', 200);
    strcpy(text + 200, "1");
    RT_ASSERT_FAILS(rt_formula_read("--cost", text, &formula), RT_EUSAGE, "too many parentheses");
    memset(text, '-', 4000);
    text[4000] = '\0';
    RT_ASSERT_FAILS(rt_formula_read("--cost", text, &formula), RT_EUSAGE, "too many parentheses or signs");
    for (size_t i = 0; i < 2000; i++)
        memcpy(text + 2 * i, "1+", 2);
    strcpy(text + 3998, "1");
    RT_ASSERT_FAILS(rt_formula_read("--cost", text, &formula), RT_EUSAGE, "too long");
}

RT_TESTS(RT_TEST(test_values), RT_TEST(test_refused), RT_TEST(test_limits))
