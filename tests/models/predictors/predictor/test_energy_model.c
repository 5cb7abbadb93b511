/* The energy model: scales by population and device, what files keep of it, what they may not hold. */
#include "test.h"

#include "models/predictors/predictor/predictor.h"

#include <math.h>

static const double population[RT_ENERGY_PARTS] = {1.5, 0.8, 0.5, 1.2, 0.9, 2};

static struct rt_energy_device entry_of(const char *name, double core, double memory, double fixed)
{
    struct rt_energy_device entry = {.effect = {core, memory, fixed}, .runs = 3, .kernels = 2};
    snprintf(entry.device, sizeof entry.device, "%s", name);
    return entry;
}

static void make(struct rt_energy_model *model)
{
    rt_energy_model_init(model);
    memcpy(model->population, population, sizeof population);
    for (int l = 0; l < RT_INTERVAL_LEVELS; l++) {
        model->unseen[l] = 0.1 * (l + 1);
        model->known[l] = 0.02 * (l + 1);
    }
    struct rt_energy_device entry = entry_of("NVIDIA A100-PCIE-40GB", 0.1, -0.2, 0.3);
    entry.calibrated = true;
    rt_fitted_keys_add(&entry.fitted_keys, 7);
    rt_energy_model_put(model, &entry);
}

static void test_scales(void)
{
    struct rt_energy_model model;
    struct rt_device board, slice, other;
    double scale[RT_ENERGY_PARTS], of_slice[RT_ENERGY_PARTS];
    make(&model);
    RT_ASSERT_OK(rt_device_find("A100-PCIE-40GB", &board));
    RT_ASSERT_OK(rt_device_find("A100-PCIE-40GB:2g.10gb", &slice));
    RT_ASSERT_OK(rt_device_find("L4", &other));
    snprintf(model.devices[0].device, sizeof model.devices[0].device, "%s", board.name);
    rt_energy_scales(&model, &board, scale);
    RT_ASSERT_NEAR(scale[RT_ENERGY_MATRIX], 1.5 * exp(0.1), 1e-12);
    RT_ASSERT_NEAR(scale[RT_ENERGY_CACHE], 0.5 * exp(0.1), 1e-12);
    RT_ASSERT_NEAR(scale[RT_ENERGY_DRAM], 1.2 * exp(-0.2), 1e-12);
    RT_ASSERT_NEAR(scale[RT_ENERGY_IDLE], 2 * exp(0.3), 1e-12);
    rt_energy_scales(&model, &slice, of_slice); /* of its board */
    CU_ASSERT_EQUAL(memcmp(scale, of_slice, sizeof scale), 0);
    rt_energy_scales(&model, &other, scale); /* of the population */
    CU_ASSERT_EQUAL(memcmp(scale, population, sizeof scale), 0);
    RT_ASSERT_NEAR(rt_energy_interval(&model, &board, 0.9), 0.06, 1e-12);
    RT_ASSERT_NEAR(rt_energy_interval(&model, &other, 0.9), 0.3, 1e-12);
    rt_energy_model_release(&model);
}

static void test_nothing_fitted(void)
{
    struct rt_energy_model model;
    struct rt_device device;
    double scale[RT_ENERGY_PARTS];
    rt_energy_model_init(&model);
    RT_ASSERT_OK(rt_device_find("H100", &device));
    CU_ASSERT_FALSE(rt_energy_model_is_fitted(&model));
    rt_energy_scales(&model, &device, scale);
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        CU_ASSERT_EQUAL(scale[p], 1);
    CU_ASSERT_TRUE(isnan(rt_energy_interval(&model, &device, 0.9)));
    rt_energy_model_release(&model);
}

/* An entry over that of the same device; a copy stays as it was. */
static void test_put_and_copy(void)
{
    struct rt_energy_model model, copy;
    make(&model);
    copy = rt_energy_model_copy(&model);
    struct rt_energy_device entry = entry_of("NVIDIA A100-PCIE-40GB", 1, 1, 1);
    rt_energy_model_put(&model, &entry);
    CU_ASSERT_EQUAL(model.count, 1);
    CU_ASSERT_EQUAL(model.devices[0].effect[RT_ENERGY_MEMORY], 1);
    CU_ASSERT_EQUAL(copy.devices[0].effect[RT_ENERGY_MEMORY], -0.2);
    CU_ASSERT_TRUE(rt_fitted_keys_has(&copy.devices[0].fitted_keys, 7));
    CU_ASSERT_FALSE(rt_fitted_keys_has(&model.devices[0].fitted_keys, 7));
    rt_energy_model_release(&model);
    rt_energy_model_release(&copy);
}

static void test_round_trip(void)
{
    struct rt_predictor predictor, again;
    rt_predictor_init(&predictor, "rooftile");
    make(&predictor.energy);
    RT_ASSERT_OK(rt_predictor_save(&predictor, rt_test_path("energy.h5")));
    RT_ASSERT_OK(rt_predictor_open(rt_test_path("energy.h5"), &again));
    const struct rt_energy_model *a = &predictor.energy, *b = &again.energy;
    CU_ASSERT_EQUAL(memcmp(a->population, b->population, sizeof a->population), 0);
    CU_ASSERT_EQUAL(memcmp(a->sd, b->sd, sizeof a->sd), 0);
    CU_ASSERT_EQUAL(memcmp(a->unseen, b->unseen, sizeof a->unseen), 0);
    CU_ASSERT_EQUAL(memcmp(a->known, b->known, sizeof a->known), 0);
    CU_ASSERT_EQUAL_FATAL(b->count, 1);
    CU_ASSERT_STRING_EQUAL(b->devices[0].device, "NVIDIA A100-PCIE-40GB");
    CU_ASSERT_EQUAL(memcmp(a->devices[0].effect, b->devices[0].effect, sizeof a->devices[0].effect), 0);
    CU_ASSERT_EQUAL(b->devices[0].runs, 3);
    CU_ASSERT_EQUAL(b->devices[0].kernels, 2);
    CU_ASSERT_TRUE(b->devices[0].calibrated);
    CU_ASSERT_TRUE(rt_fitted_keys_has(&b->devices[0].fitted_keys, 7));
    rt_predictor_release(&predictor);
    rt_predictor_release(&again);
}

/* A file without the group, as every earlier build wrote it. */
static void test_earlier_file(void)
{
    struct rt_predictor predictor, again;
    struct rt_h5 *file;
    rt_predictor_init(&predictor, "rooftile");
    RT_ASSERT_OK(rt_predictor_save(&predictor, rt_test_path("without.h5")));
    RT_ASSERT_OK(rt_h5_open(rt_test_path("without.h5"), RT_PREDICTOR_FORMAT, RT_PREDICTOR_VERSION, &file));
    CU_ASSERT_FALSE(rt_h5_exists(file, "/energy"));
    rt_h5_close(file);
    RT_ASSERT_OK(rt_predictor_open(rt_test_path("without.h5"), &again));
    CU_ASSERT_FALSE(rt_energy_model_is_fitted(&again.energy));
    rt_predictor_release(&predictor);
    rt_predictor_release(&again);
}

static void refuse(const struct rt_predictor *predictor, const char *words)
{
    struct rt_predictor again;
    RT_ASSERT_OK(rt_predictor_save(predictor, rt_test_path("bad.h5")));
    RT_ASSERT_FAILS(rt_predictor_open(rt_test_path("bad.h5"), &again), RT_EFORMAT, words);
}

static void test_what_cannot_be_is_refused(void)
{
    struct rt_predictor predictor;
    rt_predictor_init(&predictor, "rooftile");
    make(&predictor.energy);
    predictor.energy.population[RT_ENERGY_DRAM] = -1;
    refuse(&predictor, "population");
    predictor.energy.population[RT_ENERGY_DRAM] = NAN;
    refuse(&predictor, "population");
    predictor.energy.population[RT_ENERGY_DRAM] = 1;
    predictor.energy.sd[RT_ENERGY_CORE] = -1;
    refuse(&predictor, "sd");
    predictor.energy.sd[RT_ENERGY_CORE] = 1;
    predictor.energy.unseen[2] = -0.1;
    refuse(&predictor, "widths that cannot be");
    predictor.energy.unseen[2] = 0.1;
    predictor.energy.devices[0].effect[RT_ENERGY_STATIC] = 1e6;
    refuse(&predictor, "/energy/devices/0000 has effects beyond");
    predictor.energy.devices[0].effect[RT_ENERGY_STATIC] = 0;
    predictor.energy.devices[0].runs = -1;
    refuse(&predictor, "/energy/devices/0000 has effects beyond");
    rt_predictor_release(&predictor);
}

RT_TESTS(RT_TEST(test_scales), RT_TEST(test_nothing_fitted), RT_TEST(test_put_and_copy),
         RT_TEST(test_round_trip), RT_TEST(test_earlier_file), RT_TEST(test_what_cannot_be_is_refused))
