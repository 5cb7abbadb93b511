/* Rows of designs: by compute capability, else by the newest before it, else by name. */
#include "datasets/designs.h"
#include "datasets/device.h"
#include "test.h"

#include <string.h>

static void test_rows_go_by_capability(void)
{
    static const struct {
        const char *device;
        double node_nm, threads;
        bool asynchronous;
    } rows[] = {{"A100", 7, 2048, false},   {"RTX 3090", 8, 1536, false}, {"T4", 12, 1024, false},
                {"H100", 5, 2048, true},    {"B200", 5, 2048, true},      {"RTX PRO 6000", 5, 1536, false},
                {"MI300X", 5, 2048, false}, {"MI25", 14, 2560, false}};
    struct rt_device device;
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        RT_ASSERT_OK(rt_device_named(rows[i].device, &device));
        const struct rt_design *row = rt_design_of(&device);
        CU_ASSERT_STRING_EQUAL(row->capability, device.compute_capability);
        CU_ASSERT_EQUAL(row->node_nm, rows[i].node_nm);
        CU_ASSERT_EQUAL(rt_design_of(&device)->threads, rows[i].threads);
        CU_ASSERT_EQUAL(rt_design_asynchronous(row), rows[i].asynchronous);
    }
}

static void test_rows_go_by_name(void)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_named("RTX 3090", &device));
    strcpy(device.compute_capability, "");
    CU_ASSERT_EQUAL(rt_design_of(&device)->threads, 2048); /* Ampere: the first row of that name */
    CU_ASSERT_EQUAL(rt_memory_kind_of(&device), RT_MEMORY_HBM);
    strcpy(device.architecture, "Cheese");
    CU_ASSERT_EQUAL(rt_memory_kind_of(&device), RT_MEMORY_GDDR); /* whatever its bandwidth */
    CU_ASSERT_EQUAL(rt_design_of(&device)->node_nm, 0);
    strcpy(device.compute_capability, "8.9"); /* whatever the architecture is called */
    CU_ASSERT_STRING_EQUAL(rt_design_of(&device)->architecture, "Ada Lovelace");
}

/* A device of the catalogue whose architecture has no row would be forecast as if nothing were known of it.
 * Orin (8.7) has that of 8.6, whose multiprocessor it has but for faster matrix units. */
static void test_catalogue_is_known(void)
{
    struct rt_device device;
    for (size_t i = 0; i < rt_device_catalogue_size(); i++) {
        RT_ASSERT_OK(rt_device_catalogue(i, &device));
        const struct rt_design *row = rt_design_of(&device);
        bool orin = strcmp(device.compute_capability, "8.7") == 0;
        CU_ASSERT_STRING_EQUAL(row->capability, orin ? "8.6" : device.compute_capability);
        CU_ASSERT_STRING_EQUAL(row->architecture, device.architecture);
    }
}

static void test_new_capabilities(void)
{
    static const struct {
        const char *capability, *architecture, *row;
    } rows[] = {{"8.7", "", "8.6"},        {"12.1", "", "12.0"},        {"10.1", "", "10.0"},
                {"10.7", "Rubin", "10.3"}, {"11.0", "", "10.3"},        {"13.0", "", "10.3"},
                {"6.2", "", "6.1"},        {"5.0", "Maxwell", "5.2"},   {"3.5", "Kepler", ""},
                {"sm_90", "", ""},         {"gfx904", "", "gfx900"},    {"gfx1250", "", "gfx950"},
                {"gfx1030", "RDNA2", ""},  {"", "ada lovelace", "8.9"}, {"9.", "Turing", "9.0"},
                {"nine", "Turing", "7.5"}};
    struct rt_device device;
    rt_device_init(&device, "board");
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        strcpy(device.compute_capability, rows[i].capability);
        strcpy(device.architecture, rows[i].architecture);
        CU_ASSERT_STRING_EQUAL(rt_design_of(&device)->capability, rows[i].row);
    }
}

static void test_capabilities_compare(void)
{
    CU_ASSERT_TRUE(rt_capability_order("9.0", "10.0") < 0 && rt_capability_order("8.9", "8.6") > 0);
    CU_ASSERT_TRUE(rt_capability_order("gfx90a", "gfx942") < 0 &&
                   rt_capability_order("gfx950", "gfx90a") > 0);
    CU_ASSERT_EQUAL(rt_capability_order("9.0", "9.0"), 0);
    CU_ASSERT_EQUAL(rt_capability_order("8.9", "9.0"), 0); /* Ada and Hopper are one generation */
    CU_ASSERT_EQUAL(rt_capability_order("9.0", "gfx942"), 0);
    CU_ASSERT_EQUAL(rt_capability_order("", "9.0"), 0);
    CU_ASSERT_TRUE(rt_capability_same("9.0", "9.0"));
    CU_ASSERT_FALSE(rt_capability_same("", ""));
    CU_ASSERT_TRUE(rt_capability_same("10.0", "10.3") && rt_capability_same("12.1", "12.0")); /* families */
    CU_ASSERT_FALSE(rt_capability_same("10.0", "12.0") || rt_capability_same("8.0", "8.9") ||
                    rt_capability_same("gfx942", "gfx950") || rt_capability_same("gfx1100", "gfx1101"));
    CU_ASSERT_TRUE(rt_capability_same_units("8.0", "12.0") && rt_capability_same_units("10.0", "10.3") &&
                   rt_capability_same_units("9.0", "9.0"));
    CU_ASSERT_FALSE(rt_capability_same_units("8.9", "9.0") || rt_capability_same_units("6.0", "6.1") ||
                    rt_capability_same_units("", ""));
    CU_ASSERT_TRUE(rt_capability_same_major("8.0", "8.9"));
    CU_ASSERT_FALSE(rt_capability_same_major("1.0", "10.0"));
    CU_ASSERT_FALSE(rt_capability_same_major("", ""));
    CU_ASSERT_FALSE(rt_capability_same_major("gfx908", "gfx90a"));
}

RT_TESTS(RT_TEST(test_rows_go_by_capability), RT_TEST(test_rows_go_by_name), RT_TEST(test_catalogue_is_known),
         RT_TEST(test_new_capabilities), RT_TEST(test_capabilities_compare))
