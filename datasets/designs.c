/* The table of designs. See designs.h. */
#include "datasets/designs.h"
#include "base/status.h"
#include "datasets/device_fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* clang-format off */
/*
 *   year      of the generation's first GPU: P100, V100, A100, H100, B200; MI100, MI210, MI300X, MI355X
 *   node      process nodes as the vendors' white papers name them (Blackwell and Hopper: 4N, a 5 nm process; GA102:
 *             Samsung's 8 nm)
 *   lanes, threads
 *             CUDA C++ Programming Guide, technical specifications by compute capability; AMD's ISA guides: waves of a
 *             SIMD x 4 SIMDs x 64
 *   issue     1 where a scheduler issues an instruction every cycle and its 16 lanes take two for one (64 lanes a
 *             multiprocessor), or where it issues two (Maxwell, Pascal). From GA10x on it feeds 32 lanes with one
 *             instruction a cycle, so that every load and address takes a multiply-add's place: 0.75 of what
 *             networks fitted to the others say on RTX 3080 and 3090 (large square products of torch's), taken over
 *             for Ada and GB20x, which were not looked at for it; 0.86 is the mean of the H200 (0.91) and of seven
 *             products of an H100 PCIe (0.81, KernelBench); 1 on the B200 (docs/log/next-gpu.md)
 *             On RDNA 3 it feeds 64 lanes; the data sheets count pairs of instructions that issue together, which
 *             need certain operands: 0.5
 *   parts     of the L2, two where the white paper names them (GA100: "each L2 partition caches data for the SMs
 *             directly connected")
 *   pJ        3.9 of HBM2 (O'Connor et al., Fine-Grained DRAM, MICRO 2017; Micron says 6.0 of HBM2E,
 *             https://www.micron.com/products/ultra-bandwidth-solutions), 7.5 of GDDR6 and 7.25 of GDDR6X (the same
 *             page), 5 of GDDR7 (half as much again for a joule as GDDR6: Micron, June 2024), 12 of GDDR5 (10.5 GB/s a
 *             watt: AMD's figures beside HBM); device and interface. Energy alone depends on it
 *   energy    1 of NVIDIA's, that of H100. AMD's large bf16 products run an MI300X at 1,230 MHz within 750 W (708
 *             TFLOP/s: AMD, Measuring Max-Achievable FLOPs, part 2, https://rocm.blogs.amd.com), where H100's energy would
 *             let it run at 1,700: (1700 / 1230)^3, taken over for all CDNA. The page was looked for after factors of 1
 *             to 3 had been tried on aiter's MI300X and MI308X, so that no clean test is public
 *   gap       10 us of AMD's, by a half of LLM-Inference-Bench's runs of vLLM on the MI250 (Llama 2 and 3 70B, Mistral,
 *             Qwen2-72B) and networks fitted to aiter's products: 0, 8, 10, 12 and 14 were tried. The other half,
 *             Llama 2 and 3 of 7B and 8B, Mixtral and Qwen2-7B, is 16 off with it, 28 without. Also what
 *             small collectives and attention took longer there
 *   payload   GB/s of an NVLink as NCCL counts them (SM60_NVLINK_BW ... in its src/graph/topo.h: 18, 20, 20, 12, 20.6,
 *             40.1) over those of the data sheet (20, 25, 25, 14.06, 25, 50)
 *   add       NVLink SHARP: since Hopper
 *   nic       a network card of 400 Gb/s a GPU in DGX H100, DGX B200 and GB200 NVL72 (ConnectX-7) and on AMD's MI300X
 *             and MI355X platforms, of 800 in DGX B300 and GB300 NVL72 (ConnectX-8), of 200 in DGX A100 and, a board,
 *             Frontier's MI250X ; four of 100 for the eight GPUs of DGX-1 (P100, V100), taken over
 *             for what is older; since Ada 200 a GPU in servers of boards with GDDR (NVIDIA's reference 2-8-5-200), half
 *             of it before. All from memory: vendors' pages were not opened. Clouds sell less: A100s with 6.25 to 25 GB/s
 *   share     CUDA driver API, cuDevSmResourceSplitByCount: 1 since compute capability 6, pairs since 7, from 4 on
 *             since 8, eights since 9
 *   blas      PyTorch's aten/src/ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize: :4096:2:16:8, since Hopper
 *             :4096:8
 *   rates     of lanes: CUDA C++ Programming Guide, table of arithmetic throughput; of matrix units: NVIDIA's white
 *             papers of Volta, Turing, Ampere (GA100, GA102), Ada, Hopper (GH100) and RTX Blackwell. Of 10.0 and 10.3 by
 *             the data sheets: twice Hopper's, 8,192 a cycle in 16 bits of 148 SMs at 1,856 MHz being the 2,250 TFLOP/s
 *             of a B200 (an H100's 989 are those of 1,830 MHz); fp4 twice fp8, three times on 10.3; int8 there is little;
 *             exponentials by the same table, 10.3's by its data sheet: 10.7 10^12 a second, a B200's 5
 */
#define NO NAN
#define UNKNOWN_RATES {NO, NO, NO, NO, NO, NO, NO, NO, 16}
#define VEGA_RATES {256, NO, NO, NO, NO, NO, NO, NO, 16}
#define OLD_BLAS (2 * 4096 + 8 * 16)
#define NEW_BLAS (8 * 4096)
static const struct rt_design designs[] = {
    /*                          generation      year node lanes issue threads parts memory         pJ   matrix units        energy gap payload add    nic   share blas      rates: fp16  bf16  tf32  fp16  bf16  fp8   fp4   int8   exp */
    {"5.2", "Maxwell",         "Maxwell",       2014, 28, 128,    1, 2048, 1, RT_MEMORY_GDDR,      12,  RT_MATRIX_NONE,          1,      0, 0.8,   false, 6.25, 1, 1, OLD_BLAS, UNKNOWN_RATES},
    {"6.0", "Pascal",          "Pascal",        2016, 16,  64,    1, 2048, 1, RT_MEMORY_HBM_OTHER, 3.9, RT_MATRIX_NONE,          1,      0, 0.9,   false, 6.25, 1, 1, OLD_BLAS, {256, NO,  NO,   NO,   NO,   NO,   NO,   NO, 16}},
    {"6.1", "Pascal",          "Pascal",        2016, 16, 128,    1, 2048, 1, RT_MEMORY_GDDR,      12,  RT_MATRIX_NONE,          1,      0, 0.9,   false, 6.25, 1, 1, OLD_BLAS, {4,   NO,  NO,   NO,   NO,   NO,   NO,   NO, 16}},
    {"7.0", "Volta",           "Volta, Turing", 2017, 12,  64,    1, 2048, 1, RT_MEMORY_HBM,       3.9, RT_MATRIX_WARP,          1,      0, 0.8,   false, 6.25, 2, 2, OLD_BLAS, {256, NO,  NO,   1024, NO,   NO,   NO,   NO, 16}},
    {"7.5", "Turing",          "Volta, Turing", 2017, 12,  64,    1, 1024, 1, RT_MEMORY_GDDR,      7.5, RT_MATRIX_WARP,          1,      0, 0.8,   false, 6.25, 2, 2, OLD_BLAS, {256, NO,  NO,   1024, NO,   NO,   NO,   2048, 16}},
    {"8.0", "Ampere",          "Ampere",        2020,  7,  64,    1, 2048, 2, RT_MEMORY_HBM,       3.9, RT_MATRIX_WARP,          1,      0, 0.8,   false, 25,   2, 4, OLD_BLAS, {512, 256, 1024, 2048, 2048, NO,   NO,   4096, 16}},
    {"8.6", "Ampere",          "Ampere",        2020,  8, 128, 0.75, 1536, 1, RT_MEMORY_GDDR,      7.5, RT_MATRIX_WARP,          1,      0, 0.853, false, 12.5, 2, 4, OLD_BLAS, {256, 256, 512,  1024, 1024, NO,   NO,   2048, 16}},
    {"8.9", "Ada Lovelace",    "Ada, Hopper",   2022,  5, 128, 0.75, 1536, 1, RT_MEMORY_GDDR,      7.5, RT_MATRIX_WARP,          1,      0, 0.853, false, 25,   2, 4, OLD_BLAS, {256, 256, 512,  1024, 1024, 2048, NO,   2048, 16}},
    {"9.0", "Hopper",          "Ada, Hopper",   2022,  5, 128, 0.86, 2048, 2, RT_MEMORY_HBM,       3.9, RT_MATRIX_WARP_GROUP,    1,      0, 0.824, true,  50,   8, 8, NEW_BLAS, {512, 512, 2048, 4096, 4096, 8192, NO,   8192, 16}},
    {"10.0", "Blackwell",       "Blackwell",     2024,  5, 128,    1, 2048, 2, RT_MEMORY_HBM,       3.9, RT_MATRIX_TENSOR_MEMORY, 1,      0, 0.802, true,  50,   8, 8, NEW_BLAS, {256, NO,  4096, 8192, 8192, 16384, 32768, 16384, 16}},
    {"10.3", "Blackwell Ultra", "Blackwell",     2024,  5, 128,    1, 2048, 2, RT_MEMORY_HBM,       3.9, RT_MATRIX_TENSOR_MEMORY, 1,      0, 0.802, true,  100,  8, 8, NEW_BLAS, {NO,  NO,  4096, 8192, 8192, 16384, 49152, NO, 32}},
    {"12.0", "Blackwell",       "Blackwell",     2024,  5, 128, 0.75, 1536, 1, RT_MEMORY_GDDR,      5,   RT_MATRIX_WARP,          1,      0, 0.802, true,  25,   8, 8, NEW_BLAS, {256, 256, 512,  1024, 1024, 2048, 4096, 2048, 16}},
    {"gfx900", "Vega",            "Vega",          2017, 14,  64,    1, 2560, 1, RT_MEMORY_HBM_OTHER, 3.9, RT_MATRIX_NONE,          1,     10, 0.8,   false, 12.5, 1, 1, OLD_BLAS, VEGA_RATES},
    {"gfx906", "Vega",            "Vega",          2017,  7,  64,    1, 2560, 1, RT_MEMORY_HBM_OTHER, 3.9, RT_MATRIX_NONE,          1,     10, 0.8,   false, 12.5, 1, 1, OLD_BLAS, VEGA_RATES},
    {"gfx908", "CDNA",            "CDNA",          2020,  7,  64,    1, 2560, 1, RT_MEMORY_HBM_OTHER, 3.9, RT_MATRIX_AMD,           2.64,  10, 0.8,   false, 25,   1, 1, OLD_BLAS, UNKNOWN_RATES},
    {"gfx90a", "CDNA2",           "CDNA 2",        2021,  6,  64,    1, 2048, 1, RT_MEMORY_HBM_OTHER, 3.9, RT_MATRIX_AMD,           2.64,  10, 0.8,   false, 25,   1, 1, OLD_BLAS, UNKNOWN_RATES},
    {"gfx942", "CDNA3",           "CDNA 3",        2023,  5,  64,    1, 2048, 1, RT_MEMORY_HBM_OTHER, 3.9, RT_MATRIX_AMD,           2.64,  10, 0.8,   false, 50,   1, 1, OLD_BLAS, UNKNOWN_RATES},
    {"gfx950", "CDNA4",           "CDNA 4",        2025,  3,  64,    1, 2048, 1, RT_MEMORY_HBM_OTHER, 3.9, RT_MATRIX_AMD,           2.64,  10, 0.8,   false, 50,   1, 1, OLD_BLAS, UNKNOWN_RATES},
    {"gfx1100", "RDNA3",           "RDNA 3",        2022,  5, 128,  0.5, 1024, 1, RT_MEMORY_GDDR,      7.5, RT_MATRIX_AMD,           2.64,  10, 0.8,   false, 25,   1, 1, OLD_BLAS, UNKNOWN_RATES},
    {"gfx1101", "RDNA3",           "RDNA 3",        2022,  5, 128,  0.5, 1024, 1, RT_MEMORY_GDDR,      7.5, RT_MATRIX_AMD,           2.64,  10, 0.8,   false, 25,   1, 1, OLD_BLAS, UNKNOWN_RATES},
};
/* 128 lanes: as most since Ampere's GA102. */
static const struct rt_design unknown =
    {"", "",                    "",              0,     0, 128,    1, 2048, 1, RT_MEMORY_KINDS,     7.5, RT_MATRIX_NONE,          1,      0, 0.8,   false, 12.5, 1, 1, OLD_BLAS, UNKNOWN_RATES};
/* clang-format on */

const char *const rt_memory_kinds[RT_MEMORY_KINDS] = {"gddr", "hbm", "hbm_other"};

/* A capability as a number that grows with its generation, and the vendor's lines apart. */
struct version {
    bool amd;
    long major, minor; /* of AMD the target alone, as the hexadecimal number that it is */
};

/* False for what is none: "", "sm_90", AMD's GPUs for games. */
static bool read_version(const char *capability, struct version *out)
{
    char *end;
    bool amd = strncmp(capability, "gfx", 3) == 0;
    *out = (struct version){.amd = amd, .major = strtol(capability + (amd ? 3 : 0), &end, amd ? 16 : 10)};
    if (amd)
        return *end == '\0' && ((out->major >= 0x900 && out->major < 0xa00) || out->major >= 0x1250);
    if (end == capability || *end != '.')
        return false;
    out->minor = strtol(end + 1, &end, 10);
    return *end == '\0';
}

/* Later rows of a vendor are newer. */
static const struct rt_design *newest_before(const char *capability)
{
    struct version wanted, version;
    const struct rt_design *of_major = NULL, *of_line = NULL;
    if (!read_version(capability, &wanted))
        return NULL;
    for (size_t i = 0; i < RT_COUNT(designs); i++) {
        if (!read_version(designs[i].capability, &version) || version.amd != wanted.amd ||
            version.major > wanted.major)
            continue;
        if (version.major == wanted.major && version.minor <= wanted.minor)
            of_major = &designs[i];
        else if (version.major < wanted.major && designs[i].memory != RT_MEMORY_GDDR)
            of_line = &designs[i];
    }
    return of_major != NULL ? of_major : of_line;
}

static const struct rt_design *of_architecture(const char *name)
{
    for (size_t i = 0; i < RT_COUNT(designs); i++)
        if (strcasecmp(designs[i].architecture, name) == 0)
            return &designs[i];
    return &unknown;
}

/* NULL where nothing is known of it. Asked for two hundred times in a forecast, mostly of one device. */
static const struct rt_design *of_capability(const char *wanted)
{
    static _Thread_local size_t last = 0;
    for (size_t i = 0; i < RT_COUNT(designs); i++) {
        size_t at = (last + i) % RT_COUNT(designs);
        if (strcmp(designs[at].capability, wanted) == 0)
            return &designs[last = at];
    }
    return newest_before(wanted);
}

const struct rt_design *rt_design_of(const struct rt_device *device)
{
    const struct rt_design *design = of_capability(device->compute_capability);
    return design != NULL ? design : of_architecture(device->architecture);
}

/* Rows of a generation stand together. */
const struct rt_design *rt_generation_after(const struct rt_design *generation)
{
    const struct rt_design *next = NULL;
    for (size_t i = 0; i < RT_COUNT(designs); i++) {
        const struct rt_design *design = &designs[i];
        bool begins = i == 0 || strcmp(designs[i - 1].generation, design->generation) != 0;
        bool after = generation == NULL || design->year > generation->year ||
                     (design->year == generation->year && design > generation);
        if (begins && after && (next == NULL || design->year < next->year))
            next = design;
    }
    return next;
}

enum rt_memory_kind rt_memory_kind_of(const struct rt_device *device)
{
    enum rt_memory_kind kind = rt_design_of(device)->memory;
    return kind < RT_MEMORY_KINDS ? kind : RT_MEMORY_GDDR;
}

bool rt_design_asynchronous(const struct rt_design *design)
{
    return design->units == RT_MATRIX_WARP_GROUP || design->units == RT_MATRIX_TENSOR_MEMORY;
}

bool rt_capability_same(const char *a, const char *b)
{
    enum { FIRST_OF_FAMILIES = 10 };
    return a[0] != '\0' &&
           (strcmp(a, b) == 0 || (atoi(a) >= FIRST_OF_FAMILIES && rt_capability_same_major(a, b)));
}

int rt_capability_order(const char *a, const char *b)
{
    struct version x, y;
    if (!read_version(a, &x) || !read_version(b, &y) || x.amd != y.amd)
        return 0;
    const struct rt_design *of_a = newest_before(a), *of_b = newest_before(b);
    int years = of_a != NULL && of_b != NULL ? of_a->year - of_b->year : 0;
    return (years > 0) - (years < 0);
}

bool rt_capability_same_major(const char *a, const char *b)
{
    size_t major = strcspn(a, ".");
    return major > 0 && strcspn(b, ".") == major && strncmp(a, b, major) == 0;
}

bool rt_capability_same_units(const char *a, const char *b)
{
    const struct rt_design *of_a = of_capability(a), *of_b = of_capability(b);
    return of_a != NULL && of_b != NULL && of_a->units == of_b->units && of_a->units != RT_MATRIX_NONE;
}
