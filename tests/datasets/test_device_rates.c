/* Numbers of the catalogue against one another: peak = multiprocessors x rate x clock for every GPU and dtype
 * whose rate a vendor publishes, and other bounds that a typing error would break. */
#include "datasets/device.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* FLOP (int8: OP) a cycle and multiprocessor, dense, a multiply-add counted twice; matrix units with fp32
 * accumulation. NVIDIA: the table of arithmetic throughput in the CUDA C++ Programming Guide for the lanes;
 * white papers of Volta, Turing, Ampere (GA100, GA102), Ada, Hopper (GH100) and RTX Blackwell for the matrix
 * units, the technical brief of the Jetson AGX Orin for 8.7; no rate of 10.x's matrix units is published.
 * AMD: tables of FLOPS per clock and CU in the white papers of Vega and CDNA 2, 3 and 4 (CDNA: the column of
 * the MI100); RDNA 3: 64 lanes that issue in pairs, WMMA at 512. 0: has none, or not published. */
static const struct rates {
    const char *capability;
    double fp32, fp16, bf16; /* lanes */
    double matrix_fp32, matrix_tf32, matrix_16, matrix_bf16, matrix_8, matrix_4, matrix_int8;
} rates[] = {
    {"5.2", 256, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"6.0", 128, 256, 0, 0, 0, 0, 0, 0, 0, 0},
    {"6.1", 256, 4, 0, 0, 0, 0, 0, 0, 0, 0},
    {"7.0", 128, 256, 0, 0, 0, 1024, 0, 0, 0, 0},
    {"7.5", 128, 256, 0, 0, 0, 1024, 0, 0, 0, 2048},
    {"8.0", 128, 512, 256, 0, 1024, 2048, 2048, 0, 0, 4096},
    {"8.6", 256, 256, 256, 0, 512, 1024, 1024, 0, 0, 2048},
    {"8.7", 256, 0, 0, 0, 1024, 2048, 2048, 0, 0, 4096},
    {"8.9", 256, 256, 256, 0, 512, 1024, 1024, 2048, 0, 2048},
    {"9.0", 256, 512, 512, 0, 2048, 4096, 4096, 8192, 0, 8192},
    {"10.0", 256, 256, 0, 0, 0, 0, 0, 0, 0, 0},
    {"10.3", 256, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"12.0", 256, 256, 256, 0, 512, 1024, 1024, 2048, 4096, 2048},
    {"gfx900", 128, 256, 0, 0, 0, 0, 0, 0, 0, 0},
    {"gfx906", 128, 256, 0, 0, 0, 0, 0, 0, 0, 0},
    {"gfx908", 128, 0, 0, 256, 0, 1024, 512, 0, 0, 1024},
    {"gfx90a", 128, 0, 0, 256, 0, 1024, 1024, 0, 0, 1024},
    {"gfx942", 256, 0, 0, 256, 1024, 2048, 2048, 4096, 0, 4096},
    {"gfx950", 256, 0, 0, 256, 0, 4096, 4096, 8192, 16384, 8192},
    {"gfx1100", 256, 512, 0, 0, 0, 512, 512, 0, 0, 512},
    {"gfx1101", 256, 512, 0, 0, 0, 512, 512, 0, 0, 512},
};

/* The peaks of a device, by the rate that each follows from. */
static const struct peak {
    const char *key;
    size_t offset, rate; /* in struct rt_device, struct rates */
    bool matrix, halved; /* of matrix units; of those that GeForce boards run at half rate */
} peaks[] = {
    {"fp32_vector_tflops", offsetof(struct rt_device, fp32_vector_tflops), offsetof(struct rates, fp32),
     false, false},
    {"fp16_vector_tflops", offsetof(struct rt_device, fp16_vector_tflops), offsetof(struct rates, fp16),
     false, false},
    {"bf16_vector_tflops", offsetof(struct rt_device, bf16_vector_tflops), offsetof(struct rates, bf16),
     false, false},
    {"fp32_matrix_tflops", offsetof(struct rt_device, fp32_matrix_tflops),
     offsetof(struct rates, matrix_fp32), true, false},
    {"tf32_matrix_tflops", offsetof(struct rt_device, tf32_matrix_tflops),
     offsetof(struct rates, matrix_tf32), true, true},
    {"fp16_matrix_tflops", offsetof(struct rt_device, fp16_matrix_tflops), offsetof(struct rates, matrix_16),
     true, true},
    {"bf16_matrix_tflops", offsetof(struct rt_device, bf16_matrix_tflops),
     offsetof(struct rates, matrix_bf16), true, true},
    {"fp8_matrix_tflops", offsetof(struct rt_device, fp8_matrix_tflops), offsetof(struct rates, matrix_8),
     true, true},
    {"fp4_matrix_tflops", offsetof(struct rt_device, fp4_matrix_tflops), offsetof(struct rates, matrix_4),
     true, false},
    {"int8_matrix_tops", offsetof(struct rt_device, int8_matrix_tops), offsetof(struct rates, matrix_int8),
     true, false},
};

/* Boards whose matrix units do not run at rate x boost clock, with what the vendor quotes instead. */
static const struct exception {
    const char *device, *key; /* NULL: all of the matrix units */
    double factor;
    const char *reason;
} exceptions[] = {
    {"NVIDIA H100 80GB HBM3", NULL, 1830.0 / 1980, "quoted at the tensor cores' own boost clock"},
    {"NVIDIA H200", NULL, 1830.0 / 1980, "as the H100"},
    {"NVIDIA H800", NULL, 1830.0 / 1980, "as the H100"},
    {"NVIDIA GH200 480GB", NULL, 1830.0 / 1980, "as the H100"},
    {"NVIDIA H100 PCIe", NULL, 1620.0 / 1755, "quoted at the tensor cores' own boost clock"},
    {"NVIDIA H100 NVL", NULL, 1545.0 / 1785, "as the H100 PCIe"},
    {"NVIDIA H200 NVL", NULL, 1545.0 / 1785, "as the H100 NVL"},
    {"NVIDIA H20", NULL, 0.232, "limited for export"},
    {"NVIDIA L20", NULL, 0.5, "limited for export"},
    {"NVIDIA L40", NULL, 0.5, "half rate, int8 too"},
    {"NVIDIA A10G", NULL, 0.5, "half rate, int8 too"},
    {"NVIDIA TITAN V", NULL, 1343.0 / 1455, "quoted as 110 TFLOPS, at another clock"},
};

static const struct rates *rates_of(const struct rt_device *device)
{
    for (size_t r = 0; r < RT_COUNT(rates); r++)
        if (strcmp(rates[r].capability, device->compute_capability) == 0)
            return &rates[r];
    return NULL;
}

static double factor_of(const struct rt_device *device, const struct peak *peak)
{
    for (size_t e = 0; e < RT_COUNT(exceptions); e++)
        if (strcmp(exceptions[e].device, device->name) == 0 && peak->matrix)
            return exceptions[e].factor;
    return peak->halved && strstr(device->name, "GeForce") != NULL ? 0.5 : 1;
}

static size_t check_device(const struct rt_device *device)
{
    const struct rates *rate = rates_of(device);
    size_t checked = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(rate);
    for (size_t p = 0; p < RT_COUNT(peaks); p++) {
        double per_cycle = *(const double *)((const char *)rate + peaks[p].rate);
        double peak = *(const double *)((const char *)device + peaks[p].offset);
        if (isnan(peak) || per_cycle == 0)
            continue;
        double wanted = 1e-6 * device->sms * device->clock_mhz * per_cycle * factor_of(device, &peaks[p]);
        if (!(fabs(peak / wanted - 1) <= 0.03))
            printf("# %s: %s is %g, and its multiprocessors give %g\n", device->name, peaks[p].key, peak,
                   wanted);
        CU_ASSERT_TRUE(fabs(peak / wanted - 1) <= 0.03);
        checked++;
    }
    return checked;
}

static void test_peaks_follow_from_rates(void)
{
    struct rt_device d;
    size_t checked = 0;
    for (size_t i = 0; i < rt_device_catalogue_size(); i++) {
        RT_ASSERT_OK(rt_device_catalogue(i, &d));
        CU_ASSERT_TRUE(d.clock_mhz > 0);
        checked += check_device(&d);
    }
    CU_ASSERT_TRUE(checked >= 650);
}

/* Each is a board of the catalogue that would fail without it. */
static void test_exceptions_are_needed(void)
{
    for (size_t e = 0; e < RT_COUNT(exceptions); e++) {
        struct rt_device d;
        RT_ASSERT_OK(rt_device_named(exceptions[e].device, &d));
        const struct rates *rate = rates_of(&d);
        double plain = 1e-6 * d.sms * d.clock_mhz * rate->matrix_16;
        CU_ASSERT_TRUE(fabs(d.fp16_matrix_tflops / plain - 1) > 0.03);
    }
}

/* What no GPU exceeds or falls below, of vendors' pages so far. */
static void test_other_numbers_are_plausible(void)
{
    struct rt_device d;
    for (size_t i = 0; i < rt_device_catalogue_size(); i++) {
        RT_ASSERT_OK(rt_device_catalogue(i, &d));
        const struct rates *rate = rates_of(&d);
        CU_ASSERT_TRUE(rate->fp32 == 2 * d.cores_per_sm || strcmp(d.vendor, "AMD") == 0);
        CU_ASSERT_TRUE(strcmp(d.vendor, "AMD") != 0 || d.cores_per_sm == 64);
        double flops_per_byte = 1e3 * d.fp32_vector_tflops / d.bandwidth_gbs;
        if (!(flops_per_byte > 8 && flops_per_byte < 125))
            printf("# %s: %g FLOP per byte\n", d.name, flops_per_byte);
        CU_ASSERT_TRUE(flops_per_byte > 8 && flops_per_byte < 125);
        CU_ASSERT_TRUE(d.clock_mhz >= 600 && d.clock_mhz <= 3000);
        CU_ASSERT_TRUE(d.l2_mib >= 1 && d.l2_mib <= 128);
        CU_ASSERT_TRUE(d.memory_gib >= 4 && d.memory_gib <= 288);
        CU_ASSERT_TRUE(isnan(d.power_w) || (d.power_w >= 15 && d.power_w <= 1400));
        CU_ASSERT_TRUE(d.shared_kib_per_sm >= 64 && d.shared_kib_per_sm <= 228);
    }
}

/* One meaning: to one peer. PCIe 3.0 to 5.0 (16 lanes or 8: A2, RTX 4060), NVLink through a switch, or a
 * mesh.
 */
static void test_links(void)
{
    static const double known[] = {16, 32, 64, 200, 300, 450, 900};
    struct rt_device d;
    for (size_t i = 0; i < rt_device_catalogue_size(); i++) {
        RT_ASSERT_OK(rt_device_catalogue(i, &d));
        bool found = d.link_peers > 1 || isnan(d.link_gbs); /* of a mesh: below */
        for (size_t k = 0; k < RT_COUNT(known); k++)
            found |= d.link_gbs == known[k];
        if (!found)
            printf("# %s: %g GB/s to a peer\n", d.name, d.link_gbs);
        CU_ASSERT_TRUE(found);
    }
    static const struct {
        const char *device;
        double gbs, peers, all;
    } meshes[] = {{"V100-SXM2", 50, 3, 150},
                  {"MI250", 50, 3, 150},
                  {"MI300A", 128, 3, 384},
                  {"MI300X", 64, 7, 448},
                  {"MI355X", 76.8, 7, 537.6}};
    for (size_t m = 0; m < RT_COUNT(meshes); m++) {
        RT_ASSERT_OK(rt_device_named(meshes[m].device, &d));
        const struct rt_link link = rt_device_link(&d);
        CU_ASSERT_EQUAL(rt_link_gbs(&link, 1), meshes[m].gbs);
        RT_ASSERT_NEAR(rt_link_gbs(&link, 100), meshes[m].all, 1e-12);
        CU_ASSERT_EQUAL(link.peers, meshes[m].peers);
    }
}

RT_TESTS(RT_TEST(test_peaks_follow_from_rates), RT_TEST(test_exceptions_are_needed),
         RT_TEST(test_other_numbers_are_plausible), RT_TEST(test_links))
