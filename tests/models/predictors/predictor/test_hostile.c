/* Predictor files with numbers that no training makes: refused by file, place and number. */
#include "models/predictors/predictor/predictor.h"
#include "models/predictors/predictor/recipe.h"
#include "test.h"

#include <hdf5.h>
#include <math.h>

static struct rt_predictor predictor;

/* Nets for softmax and layer norm, and linear ones of both units, with random weights. */
static struct rt_predictor *make(void)
{
    static const struct rt_recipe recipes[] = {
        {.family = RT_FAMILY_SOFTMAX, .features = "log2_bytes row_fill row_alignment"},
        {.family = RT_FAMILY_LAYERNORM, .features = "log2_bytes row_fill log2_cols"},
        {.family = RT_FAMILY_LINEAR, .units = RT_UNITS_VECTOR, .features = "log2_intensity log2_depth"},
        {.family = RT_FAMILY_LINEAR, .units = RT_UNITS_MATRIX, .features = "log2_intensity log2_depth"},
    };
    struct rt_random random;
    rt_predictor_init(&predictor, "rooftile");
    predictor.nets = rt_calloc(RT_COUNT(recipes), sizeof *predictor.nets);
    predictor.net_count = RT_COUNT(recipes);
    for (size_t i = 0; i < RT_COUNT(recipes); i++) {
        struct rt_recipe recipe = recipes[i];
        recipe.layers = 3, recipe.hidden = 8, recipe.activation = "silu";
        recipe.head = "times", recipe.loss = "log", recipe.policy = RT_TILE_WHOLE;
        RT_ASSERT_OK(rt_recipe_net(&recipe, &predictor.nets[i]));
        rt_random_seed(&random, 3, i);
        rt_mlp_randomize(&predictor.nets[i].mlp, &random);
    }
    struct rt_device_effects *known = &predictor.nets[0].effects;
    known->known = rt_calloc(1, sizeof *known->known);
    known->count = 1;
    snprintf(known->known->device, sizeof known->known->device, "Tesla T4");
    return &predictor;
}

static const char *save(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s", rt_test_path("hostile.h5"));
    RT_ASSERT_OK(rt_predictor_save(&predictor, path));
    rt_predictor_release(&predictor);
    return path;
}

static void refused(const char *words)
{
    struct rt_predictor out;
    const char *path = save();
    RT_ASSERT_FAILS(rt_predictor_open(path, &out), RT_EFORMAT, words);
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "hostile.h5: "));
}

static void test_good(void)
{
    struct rt_predictor out;
    make();
    RT_ASSERT_OK(rt_predictor_open(save(), &out));
    CU_ASSERT_EQUAL(out.net_count, 4);
    rt_predictor_release(&out);
}

static void test_weights(void)
{
    make()->nets[0].mlp.parameters[7] = NAN;
    refused("/families/softmax/parameters[7] is nan");
    make()->nets[3].mlp.parameters[0] = -INFINITY;
    refused("/families/linear.matrix/parameters[0] is -inf");
    make()->nets[1].mlp.parameters[1] = 1e30f;
    refused("/families/layernorm/parameters[1] is 1e+30");
}

static void test_scalings(void)
{
    make()->nets[0].clip_low[1] = NAN;
    refused("/families/softmax/clip_low[1] is nan");
    make()->nets[0].clip_low[1] = 3;
    predictor.nets[0].clip_high[1] = 2;
    refused("/families/softmax clips row_fill to 3 .. 2, which is empty");
    make()->nets[0].offset[2] = INFINITY;
    refused("/families/softmax/offset[2] is inf");
    make()->nets[0].scale[0] = 0;
    refused("/families/softmax/scale[0] is 0");
    make()->nets[0].scale[0] = 1e300;
    refused("/families/softmax/scale[0] is 1e+300");
}

static void test_feature_twice(void)
{
    make();
    predictor.nets[0].feature[2] = predictor.nets[0].feature[0];
    refused("/families/softmax lists the feature \"log2_bytes\" twice");
}

static void test_effects(void)
{
    make()->nets[0].effects.known->value[0] = NAN;
    refused("/families/softmax/device_effects/0000 holds device effects that cannot be");
    make()->nets[0].effects.known->queued[1] = 1e9;
    refused("device_effects/0000/queued[1] is 1e+09");
    struct rt_residual_correction *correction = &make()->nets[0].effects.known->correction;
    *correction =
        (struct rt_residual_correction){.points = 1, .width = rt_family_net_place_width(&predictor.nets[0])};
    correction->point = rt_calloc(correction->width, sizeof *correction->point);
    correction->weight = rt_calloc(1, sizeof *correction->weight);
    correction->dtype = rt_calloc(1, 1);
    correction->weight[0] = NAN;
    refused("residual_correction_weights[0] is nan");
}

static void test_provenance(void)
{
    make()->split.validation = NAN;
    refused("split into nan validation");
    make()->nets[0].epochs = -5;
    refused("/families/softmax was fitted in -5 epochs");
}

/* Two groups that changed places. */
static void swap(const char *path, const char *a, const char *b)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Lmove(file, a, file, "/families/x", H5P_DEFAULT, H5P_DEFAULT);
    H5Lmove(file, b, file, a, H5P_DEFAULT, H5P_DEFAULT);
    H5Lmove(file, "/families/x", file, b, H5P_DEFAULT, H5P_DEFAULT);
    CU_ASSERT(H5Fclose(file) >= 0);
}

static void test_swapped_families(void)
{
    struct rt_predictor out;
    make();
    const char *path = save();
    swap(path, "/families/softmax", "/families/layernorm");
    RT_ASSERT_FAILS(rt_predictor_open(path, &out), RT_EFORMAT,
                    "/families/layernorm holds the network of softmax");
    make();
    path = save();
    swap(path, "/families/linear.vector", "/families/linear.matrix"); /* either may be read first */
    RT_ASSERT_FAILS(rt_predictor_open(path, &out), RT_EFORMAT, "holds the network of linear for");
}

RT_TESTS(RT_TEST(test_good), RT_TEST(test_weights), RT_TEST(test_scalings), RT_TEST(test_feature_twice),
         RT_TEST(test_effects), RT_TEST(test_provenance), RT_TEST(test_swapped_families))
