/* Anchors: what measured runs say of another GPU's, and how far they let it be off. */
#include "base/text.h"
#include "models/predictors/predictor/anchors.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

static const struct rt_anchor_kind on_x = {"vllm", "llama", "fp8", "X"}, on_y = {"vllm", "llama", "fp8", "Y"},
                                   other = {"sglang", "llama", "fp8", "X"};

static void add(struct rt_text *lines, const struct rt_anchor_kind *kind, double ln_ratio)
{
    char *line = rt_anchor_line(kind, ln_ratio, 1);
    rt_text_add(lines, "%s\n", line);
    free(line);
}

/* Three runs of X, 0.1, 0.2 and 0.3 off, and one of Y, 0.5 off. */
static char *lines_of_four(void)
{
    struct rt_text lines = {0};
    add(&lines, &on_x, 0.3);
    add(&lines, &on_y, 0.5);
    add(&lines, &on_x, 0.1);
    add(&lines, &on_x, 0.2);
    return rt_text_take(&lines);
}

static void test_factor_and_width(void)
{
    char *lines = lines_of_four();
    const struct rt_anchor_kind on_z = {"vllm", "llama", "fp8", "Z"};
    struct rt_anchor of_z = rt_anchor_of(lines, &on_z), of_y = rt_anchor_of(lines, &on_y);
    double others = 0.75 * 4 / 7, scatter = (3 * 0.25 + log(10) * 0.2) / (3 + 4 - 2);
    RT_ASSERT_NEAR(of_z.ln_factor, others * 0.25, 1e-12); /* median of all four */
    RT_ASSERT_NEAR(of_z.explained, others, 1e-12);
    RT_ASSERT_NEAR(of_z.ln_scatter, scatter, 1e-12);
    RT_ASSERT_NEAR(rt_anchor_ln_half_width(&of_z, 0.6, 0.9), hypot(0.6 * (1 - others), scatter), 1e-12);
    others = 0.75 * 3 / 6;
    RT_ASSERT_NEAR(of_y.ln_factor, others * 0.2 + (0.5 - others * 0.2) / 1.5, 1e-12);
    RT_ASSERT_NEAR(of_y.explained, 1 - (1 - others) / 3, 1e-12);
    CU_ASSERT_TRUE(rt_anchor_ln_half_width(&of_y, 0.6, 0.9) < rt_anchor_ln_half_width(&of_z, 0.6, 0.9));
    free(lines);
}

/* A forecast that no run is of stays as sure as it was. */
static void test_none(void)
{
    char *lines = lines_of_four();
    struct rt_anchor anchor = rt_anchor_of(lines, &other), empty = rt_anchor_of("", &on_x);
    RT_ASSERT_NEAR(rt_anchor_ln_half_width(&anchor, 0.6, 0.8), 0.6, 0);
    RT_ASSERT_NEAR(rt_anchor_ln_half_width(&empty, 0.6, 0.8), 0.6, 0);
    CU_ASSERT_TRUE(isnan(rt_anchor_ln_half_width(&empty, NAN, 0.8)));
    free(lines);
}

RT_TESTS(RT_TEST(test_factor_and_width), RT_TEST(test_none))
