/* MIG: profiles in device files, slices by name, what a slice is. */
#include "datasets/device.h"
#include "datasets/mig.h"
#include "datasets/share.h"
#include "base/status.h"
#include "test.h"

#include <math.h>

static const char *const boards[] = {"A30",       "A100-PCIE-40GB", "A100-SXM4-40GB", "A100-PCIE-80GB",
                                     "A100-80GB", "H100-PCIE",      "H100-SXM",       "H200",
                                     "B200"};

/* The published sums: no board hands out more than it has, and the largest profile is all of it. */
static void test_profiles_are_of_the_board(void)
{
    for (size_t b = 0; b < RT_COUNT(boards); b++) {
        struct rt_device board;
        struct rt_mig mig;
        RT_ASSERT_OK(rt_device_mig(boards[b], &board, &mig));
        CU_ASSERT_TRUE(mig.count >= 5 && (mig.memory_slices == 8 || mig.memory_slices == 4));
        for (int i = 0; i < mig.count; i++) {
            const struct rt_mig_profile *p = &mig.profile[i];
            CU_ASSERT_TRUE(p->most * p->sms <= board.sms);
            CU_ASSERT_TRUE(p->most * p->memory_gib <= board.memory_gib);
            CU_ASSERT_TRUE(p->most * p->memory_slices <= mig.memory_slices);
            CU_ASSERT_TRUE(p->most <= p->placement_count);
            CU_ASSERT_TRUE(i == 0 || p->sms >= mig.profile[i - 1].sms);
            CU_ASSERT_EQUAL(p->name[0] - '0', p->slices);
        }
        CU_ASSERT_EQUAL(mig.profile[mig.count - 1].memory_slices, mig.memory_slices);
    }
}

static void test_a_slice_is_a_device(void)
{
    struct rt_device board, slice, same;
    RT_ASSERT_OK(rt_device_find("A100-PCIE-40GB", &board));
    CU_ASSERT_STRING_EQUAL(board.whole, "");
    RT_ASSERT_OK(rt_device_find("A100-PCIE-40GB:3g.20gb", &slice));
    CU_ASSERT_STRING_EQUAL(slice.name, "NVIDIA A100-PCIE-40GB:3g.20gb");
    CU_ASSERT_STRING_EQUAL(slice.whole, board.name);
    CU_ASSERT_STRING_EQUAL(rt_device_board(&slice), rt_device_board(&board));
    CU_ASSERT_EQUAL(slice.sms, 42);
    CU_ASSERT_EQUAL(slice.memory_gib, 19.5);
    RT_ASSERT_NEAR(slice.bandwidth_gbs, board.bandwidth_gbs / 2, 1e-9);
    RT_ASSERT_NEAR(slice.l2_mib, board.l2_mib / 2, 1e-9);
    RT_ASSERT_NEAR(slice.bf16_matrix_tflops, board.bf16_matrix_tflops * 42 / 108, 1e-9);
    CU_ASSERT_EQUAL(slice.clock_mhz, board.clock_mhz);
    CU_ASSERT_EQUAL(slice.power_w, board.power_w);
    CU_ASSERT_TRUE(isnan(slice.bridge_gbs)); /* no peers */
    CU_ASSERT_FALSE(slice.altered);
    RT_ASSERT_OK(rt_device_named("NVIDIA A100-PCIE-40GB MIG 3g.20gb", &same)); /* the driver's name */
    CU_ASSERT_STRING_EQUAL(same.name, slice.name);
    CU_ASSERT_TRUE(rt_device_same(&same, &slice));
    RT_ASSERT_OK(rt_device_find("a100-pcie-40gb:3G.20GB", &same));
    CU_ASSERT_STRING_EQUAL(same.name, slice.name);
    CU_ASSERT_TRUE(rt_chip_same(&slice, &board));
    RT_ASSERT_OK(rt_device_find("A100-SXM4-80GB:2g.20gb", &slice)); /* reaches the host by PCIe, not NVLink */
    CU_ASSERT_EQUAL(slice.link_gbs, 32);
}

static void test_overrides_of_slices(void)
{
    struct rt_device slice, altered;
    RT_ASSERT_OK(rt_device_find("H100-SXM:2g.20gb", &slice));
    RT_ASSERT_OK(rt_device_find("H100-SXM:2g.20gb,sms=16", &altered));
    CU_ASSERT_TRUE(altered.altered);
    CU_ASSERT_EQUAL(altered.sms, 16);
    RT_ASSERT_NEAR(altered.fp8_matrix_tflops, slice.fp8_matrix_tflops / 2, 1e-9);
    CU_ASSERT_EQUAL(altered.bandwidth_gbs, slice.bandwidth_gbs);
}

static void test_slices_that_do_not_exist(void)
{
    struct rt_device d;
    RT_ASSERT_FAILS(rt_device_find("A30:1g.5gb", &d), RT_ENOTFOUND,
                    "has no MIG profile \"1g.5gb\"; it has 1g.6gb, 1g.6gb+me, 2g.12gb, 2g.12gb+me, 4g.24gb");
    RT_ASSERT_FAILS(rt_device_find("V100:1g.5gb", &d), RT_ENOTFOUND, "has no MIG slices");
    RT_ASSERT_FAILS(rt_device_find("A100-PCIE-40GB:", &d), RT_ENOTFOUND, "it has 1g.5gb");
    RT_ASSERT_FAILS(rt_device_find("A100-PCIE-41GB:1g.5gb", &d), RT_ENOTFOUND, "nearest names");
    RT_ASSERT_FAILS(rt_device_find("A100-PCIE-40GB:1g.5gb:1g.5gb", &d), RT_ENOTFOUND, "has no MIG profile");
    RT_ASSERT_FAILS(rt_device_find("A100-PCIE-40GB:1g.5gb,sms=x", &d), RT_EUSAGE, "is not a number");
}

#define ROW(name, more)                                                                                      \
    "{\"name\": \"" name "\", \"slices\": 1, \"sms\": 4, \"memory_gib\": 2, \"copy_engines\": 1, " more "}"
#define SMALL ROW("1g.2gb", "\"memory_slices\": 1, \"most\": 4, \"placements\": [0, 1, 2, 3]")
#define LARGE ROW("4g.8gb", "\"memory_slices\": 4, \"most\": 1, \"placements\": [0]")
#define FILE_OF(rows)                                                                                        \
    "{\"name\": \"mine\", \"sms\": 16, \"fp32_vector_tflops\": 8, \"memory_gib\": 8, \"bandwidth_gbs\": "    \
    "400, "                                                                                                  \
    "\"l2_mib\": 4, \"mig\": " rows "}"

static void test_files(void)
{
    static const struct {
        const char *rows, *message;
    } bad[] = {
        {"{}", "must be an array"},
        {"[{}]", "\"name\" of row 0"},
        {"[" SMALL ", " SMALL "]", "two rows of \"1g.2gb\""},
        {"[" ROW("1g:2gb", "\"memory_slices\": 1, \"most\": 4, \"placements\": [0]") "]",
         "\"name\" of row 0"},
        {"[" ROW("1g.2gb", "\"memory_slices\": 9, \"most\": 4, \"placements\": [0]") "]",
         "\"memory_slices\""},
        {"[" ROW("1g.2gb", "\"memory_slices\": 1, \"most\": 4, \"placements\": []") "]", "\"placements\""},
        {"[" ROW("1g.2gb", "\"memory_slices\": 1, \"most\": 4, \"placements\": [8]") "]", "in 0..7"},
        {"[" ROW("1g.2gb", "\"memory_slices\": 1, \"most\": 4, \"placements\": [1]") "]", "reaches over"},
    };
    struct rt_device d;
    char path[512];
    for (size_t i = 0; i < RT_COUNT(bad); i++) {
        char text[1024];
        snprintf(text, sizeof text, FILE_OF("%s"), bad[i].rows);
        RT_ASSERT_FAILS(rt_device_load(rt_test_write("bad.json", text), &d), RT_EFORMAT, bad[i].message);
    }
    snprintf(path, sizeof path, "%s:1g.2gb,l2_mib=3",
             rt_test_write("mine.json", FILE_OF("[" SMALL ", " LARGE "]")));
    RT_ASSERT_OK(rt_device_find(path, &d));
    CU_ASSERT_STRING_EQUAL(d.name, "mine:1g.2gb");
    CU_ASSERT_EQUAL(d.sms, 4);
    CU_ASSERT_EQUAL(d.bandwidth_gbs, 100);
    CU_ASSERT_EQUAL(d.l2_mib, 3);
    CU_ASSERT_EQUAL(d.fp32_vector_tflops, 2);
    struct rt_mig mig, again;
    RT_ASSERT_OK(rt_device_mig("A100-40", &d, &mig));
    json_t *rows = rt_mig_json(&mig);
    RT_ASSERT_OK(rt_mig_read(rows, "again", &again));
    json_decref(rows);
    CU_ASSERT_EQUAL_FATAL(again.count, mig.count);
    CU_ASSERT_EQUAL(memcmp(&again, &mig, sizeof mig), 0);
}

/* The board again, of a slice and of a share of one; a board is no part. */
static void test_the_whole_of_a_part(void)
{
    static const char *const parts[] = {"A100-PCIE-40GB:2g.10gb", "A100-PCIE-40GB:2g.10gb (14 of 28 SMs)"};
    struct rt_device board, part, whole;
    RT_ASSERT_OK(rt_device_find("A100-PCIE-40GB", &board));
    CU_ASSERT_FALSE(rt_part_whole(&board, &whole));
    for (size_t p = 0; p < RT_COUNT(parts); p++) {
        RT_ASSERT_OK(rt_device_find(parts[p], &part));
        CU_ASSERT_TRUE(rt_part_whole(&part, &whole));
        CU_ASSERT_EQUAL(whole.sms, board.sms);
        RT_ASSERT_NEAR(whole.fp32_vector_tflops, board.fp32_vector_tflops, 1e-12);
        RT_ASSERT_NEAR(whole.bandwidth_gbs, board.bandwidth_gbs, 1e-12);
        RT_ASSERT_NEAR(whole.l2_mib, board.l2_mib, 1e-12);
    }
}

RT_TESTS(RT_TEST(test_the_whole_of_a_part), RT_TEST(test_profiles_are_of_the_board),
         RT_TEST(test_a_slice_is_a_device), RT_TEST(test_overrides_of_slices),
         RT_TEST(test_slices_that_do_not_exist), RT_TEST(test_files))
