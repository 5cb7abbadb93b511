/* Rows of architectures: by compute capability, else by name. */
#include "models/predictors/roofline/board.h"
#include "test.h"

#include <string.h>

static void test_rows_go_by_capability(void)
{
    static const struct {
        const char *device;
        double node_nm, near_l2_mib;
        int threads;
    } rows[] = {{"A100", 7, 20, 2048}, {"RTX 3090", 8, 6, 1536},       {"T4", 12, 4, 1024},
                {"B200", 5, 63, 2048}, {"RTX PRO 6000", 5, 128, 1536}, {"MI300X", 5, 32, 2048}};
    struct rt_device device;
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        RT_ASSERT_OK(rt_device_named(rows[i].device, &device));
        const struct rt_architecture_row *row = rt_architecture_of(&device);
        CU_ASSERT_STRING_EQUAL(row->capability, device.compute_capability);
        CU_ASSERT_EQUAL(row->node_nm, rows[i].node_nm);
        CU_ASSERT_EQUAL(rt_device_threads(&device), rows[i].threads);
        CU_ASSERT_EQUAL(rt_near_l2_bytes(&device), rows[i].near_l2_mib * 1048576);
    }
}

static void test_rows_go_by_name(void)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_named("RTX 3090", &device));
    strcpy(device.compute_capability, "");
    CU_ASSERT_EQUAL(rt_device_threads(&device), 2048); /* Ampere: the first row of that name */
    CU_ASSERT_EQUAL(rt_memory_kind_of(&device), RT_MEMORY_HBM);
    strcpy(device.architecture, "Cheese");
    CU_ASSERT_EQUAL(rt_memory_kind_of(&device), RT_MEMORY_GDDR); /* whatever its bandwidth */
    CU_ASSERT_EQUAL(rt_architecture_of(&device)->node_nm, 0);
    strcpy(device.compute_capability, "8.9"); /* whatever the architecture is called */
    CU_ASSERT_STRING_EQUAL(rt_architecture_of(&device)->name, "Ada Lovelace");
}

/* A device of the catalogue whose architecture has no row would be forecast as if nothing were known of it.
 */
static void test_catalogue_is_known(void)
{
    struct rt_device device;
    for (size_t i = 0; i < rt_device_catalogue_size(); i++) {
        RT_ASSERT_OK(rt_device_catalogue(i, &device));
        const struct rt_architecture_row *row = rt_architecture_of(&device);
        CU_ASSERT_STRING_EQUAL(row->capability, device.compute_capability);
        CU_ASSERT_STRING_EQUAL(row->name, device.architecture);
    }
}

/* Rates over the data sheet's peak. */
static void check_rates(const char *name, enum rt_dtype dtype, double block, double all)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_named(name, &device));
    struct rt_rates rates = rt_rates_of(&device, RT_FAMILY_LINEAR, dtype);
    double peak = rt_device_peak_flops(&device, RT_FAMILY_LINEAR, dtype);
    RT_ASSERT_NEAR(rates.peak_flops / peak, block, 0.01);
    RT_ASSERT_NEAR(rates.sustained_flops / peak, all, 0.01);
}

static void test_rates(void)
{
    check_rates("A100-SXM4-40GB", RT_FP32, 1, 1);
    check_rates("RTX A6000", RT_FP16, 1, 1);      /* full rate, and no board for games */
    check_rates("RTX 4090", RT_FP16, 1.32, 1.32); /* half rate, and a higher clock */
    check_rates("RTX 2080 Ti", RT_FP32, 1.1, 1.1);
    check_rates("TITAN RTX", RT_FP16, 1, 0.956); /* no higher clock */
    struct rt_device device, faster;
    RT_ASSERT_OK(rt_device_named("RTX 3090", &device));
    struct rt_rates least = rt_rates_of(&device, RT_FAMILY_LINEAR, RT_FP16), rates;
    for (double factor = 1; factor < 4; factor *= 1.05) { /* a higher peak is never slower */
        faster = device;
        faster.fp16_matrix_tflops *= factor;
        rates = rt_rates_of(&faster, RT_FAMILY_LINEAR, RT_FP16);
        CU_ASSERT_TRUE(rates.peak_flops >= least.peak_flops);
        CU_ASSERT_TRUE(rates.sustained_flops >= least.sustained_flops);
        least = rates;
    }
}

/* Beside what PyTorch's out-of-memory messages call the total capacity. */
static void test_memory_for_programs(void)
{
    static const struct {
        const char *name;
        double gib;
    } rows[] = {
        {"T4", 14.76}, {"V100-PCIE-32GB", 31.75}, {"A100-SXM4-40GB", 39.59},      {"A100-SXM4-80GB", 79.15},
        {"L4", 22.17}, {"RTX 3090", 23.7},        {"A100-SXM4-40GB:1g.5gb", 4.75}};
    struct rt_device device;
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        RT_ASSERT_OK(rt_device_named(rows[i].name, &device));
        RT_ASSERT_NEAR(rt_memory_for_programs_gib(&device), rows[i].gib, 0.012 * rows[i].gib);
    }
    rt_device_init(&device, "Synthetic");
    device.memory_gib = 8;
    RT_ASSERT_NEAR(rt_memory_for_programs_gib(&device), 8, 0);
}

RT_TESTS(RT_TEST(test_memory_for_programs), RT_TEST(test_rates), RT_TEST(test_rows_go_by_capability),
         RT_TEST(test_rows_go_by_name), RT_TEST(test_catalogue_is_known))
