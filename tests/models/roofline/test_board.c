/* Rows of architectures: by compute capability, else by name. */
#include "models/roofline/board.h"
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
        CU_ASSERT_EQUAL(row->threads, rows[i].threads);
        CU_ASSERT_EQUAL(rt_near_l2_bytes(&device), rows[i].near_l2_mib * 1048576);
    }
}

static void test_rows_go_by_name(void)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_named("RTX 3090", &device));
    strcpy(device.compute_capability, "");
    CU_ASSERT_EQUAL(rt_architecture_of(&device)->threads, 2048); /* Ampere: the first row of that name */
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

RT_TESTS(RT_TEST(test_rows_go_by_capability), RT_TEST(test_rows_go_by_name), RT_TEST(test_catalogue_is_known))
