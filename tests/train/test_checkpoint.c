/* Checkpoints that are damaged or forged: refused by what is wrong in them, before anything is copied. */
#include "models/predictors/predictor/recipe.h"
#include "train/checkpoint.h"
#include "test.h"

#include <hdf5.h>
#include <math.h>

enum { COUNT = 6, EFFECTS = 3 };
static rt_real parameters[COUNT], best[COUNT], moments[2 * COUNT], effects[EFFECTS], best_effects[EFFECTS],
    effect_moments[2 * EFFECTS];

static struct rt_fit sound(void)
{
    for (int i = 0; i < COUNT; i++)
        parameters[i] = best[i] = moments[i] = moments[COUNT + i] = (rt_real)i / 8;
    return (struct rt_fit){.recipe = 1,
                           .epoch = 4,
                           .best_epoch = 3,
                           .best_mape = 12.5,
                           .count = COUNT,
                           .parameters = parameters,
                           .best = best,
                           .optimizer_state = moments,
                           .optimizer_steps = 40,
                           .effect_count = EFFECTS,
                           .effects = effects,
                           .best_effects = best_effects,
                           .effect_state = effect_moments};
}

static const char *save(const struct rt_fit *fit)
{
    static char path[512];
    struct rt_predictor finished;
    snprintf(path, sizeof path, "%s", rt_test_path("checkpoint"));
    rt_predictor_init(&finished, "rooftile");
    RT_ASSERT_OK(rt_checkpoint_save(path, "signature", &finished, fit));
    rt_predictor_release(&finished);
    return path;
}

static void expect(const char *path, const char *words)
{
    struct rt_predictor finished;
    struct rt_fit fit;
    RT_ASSERT_FAILS(rt_checkpoint_load(path, "signature", &finished, &fit), RT_EFORMAT, words);
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "give overwrite in the place of resume to start over"));
}

static void test_round_trip(void)
{
    struct rt_predictor finished;
    struct rt_fit fit = sound(), loaded;
    RT_ASSERT_OK(rt_checkpoint_load(save(&fit), "signature", &finished, &loaded));
    CU_ASSERT(loaded.epoch == 4 && loaded.best_epoch == 3 && loaded.best_mape == 12.5 && loaded.recipe == 1);
    CU_ASSERT(loaded.count == COUNT && loaded.effect_count == EFFECTS && loaded.optimizer_steps == 40);
    CU_ASSERT_EQUAL(memcmp(loaded.best, best, sizeof best), 0);
    rt_checkpoint_release(&loaded);
    rt_predictor_release(&finished);
    fit = (struct rt_fit){.recipe = rt_recipe_count, .best_mape = INFINITY}; /* after the last net */
    RT_ASSERT_OK(rt_checkpoint_load(save(&fit), "signature", &finished, &loaded));
    CU_ASSERT_EQUAL(loaded.count, 0);
    rt_checkpoint_release(&loaded);
    rt_predictor_release(&finished);
}

/* An array of another length in the place of `name`. */
static void replace(const char *path, const char *name, hsize_t count)
{
    float values[64] = {0};
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate_simple(1, &count, NULL);
    H5Ldelete(file, name, H5P_DEFAULT);
    hid_t set = H5Dcreate2(file, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CU_ASSERT(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    CU_ASSERT(H5Fclose(file) >= 0);
}

static void test_lengths(void)
{
    static const struct {
        const char *name;
        hsize_t count;
        const char *words;
    } forged[] = {
        {"/fit/best", COUNT + 5, "/fit/best holds 11 numbers where 6 belong"},
        {"/fit/best", 0, "/fit/best holds 0 numbers where 6 belong"},
        {"/fit/parameters", 2, "/fit/best holds 6 numbers where 2 belong"},
        {"/fit/parameters", 0, "/fit/best holds 6 numbers where 0 belong"},
        {"/fit/moments", COUNT, "/fit/moments holds 6 numbers where 12 belong"},
        {"/fit/device_effects", 40, "/fit/best_device_effects holds 3 numbers where 40 belong"},
        {"/fit/best_device_effects", 40, "/fit/best_device_effects holds 40 numbers where 3 belong"},
        {"/fit/device_effect_moments", 3, "/fit/device_effect_moments holds 3 numbers where 6 belong"},
    };
    for (size_t i = 0; i < RT_COUNT(forged); i++) {
        struct rt_fit fit = sound();
        const char *path = save(&fit);
        replace(path, forged[i].name, forged[i].count);
        expect(path, forged[i].words);
    }
}

static void test_numbers(void)
{
    struct rt_fit fit = sound();
    fit.best_epoch = (int64_t)1 << 62;
    expect(save(&fit), "/fit is at epoch 4 with the best at 4611686018427387904");
    fit = sound();
    fit.epoch = -1;
    expect(save(&fit), "/fit is at epoch -1");
    fit = sound();
    fit.best_mape = NAN;
    expect(save(&fit), "off by nan%");
    fit = sound();
    fit.best_epoch = 0;
    expect(save(&fit), "off by 12.5%");
    fit = sound();
    fit.recipe = rt_recipe_count + 1;
    expect(save(&fit), "/fit is at recipe");
    fit = sound();
    fit.optimizer_steps = UINT64_MAX;
    expect(save(&fit), "step -1");
}

static void test_arrays(void)
{
    struct rt_fit fit = sound();
    parameters[2] = NAN;
    expect(save(&fit), "/fit/parameters[2] is nan");
    fit = sound();
    best[5] = INFINITY;
    expect(save(&fit), "/fit/best[5] is inf");
    fit = sound();
    moments[9] = -INFINITY;
    expect(save(&fit), "/fit/moments[9] is -inf");
    fit = sound();
    effects[1] = 1e30f;
    expect(save(&fit), "/fit/device_effects[1] is 1e+30");
    effects[1] = 0;
}

RT_TESTS(RT_TEST(test_round_trip), RT_TEST(test_lengths), RT_TEST(test_numbers), RT_TEST(test_arrays))
