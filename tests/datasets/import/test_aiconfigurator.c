/* AIConfigurator's tables: what becomes of every column, and what is refused. */
#include "datasets/import/import_test.h"

#include "base/text.h"
#include "datasets/fabric.h"

/* What the tables do not say is that of their model. */
static void ASSERT_DIMS(enum rt_op_id op, int64_t first, int64_t second, const int64_t *dim)
{
    const struct rt_sample *s = find(op, first, second);
    CU_ASSERT_EQUAL(memcmp(s->call.dim, dim, (size_t)rt_op_ndims(op) * sizeof *dim), 0);
}

static void test_latent_and_sparse(void)
{
    RT_ASSERT_OK(import("aiconfigurator", MINI "aiconfigurator_mini", 2, false));
    ASSERT_DIMS(RT_OP_MLA_CONTEXT, 4, 2048, (const int64_t[]){4, 2048, 0, 16, 192, 128, 8});
    ASSERT_DIMS(RT_OP_MLA_GENERATION, 64, 1, (const int64_t[]){64, 1, 4095, 16, 512, 64, 0});
    ASSERT_DIMS(RT_OP_SPARSE_ATTENTION, 4, 2048,
                (const int64_t[]){4, 2048, 0, 16, 1, 576, 512, 0, 1, 0, 1, 0});
    ASSERT_DIMS(RT_OP_SPARSE_ATTENTION, 3, 5,
                (const int64_t[]){3, 5, 8192, 64, 1, 576, 512, 2048, 1, 0, 1, 0});
    ASSERT_DIMS(RT_OP_SPARSE_ATTENTION, 3, 6,
                (const int64_t[]){3, 6, 8192, 64, 1, 512, 512, 0, 128, 128, 1, 8});
    ASSERT_DIMS(RT_OP_INDEX_LOGITS, 3, 7, (const int64_t[]){3, 7, 8192, 32, 128, 1, 0});
    ASSERT_DIMS(RT_OP_INDEX_LOGITS, 3, 8, (const int64_t[]){3, 8, 8192, 64, 128, 4, 0});
    ASSERT_DIMS(RT_OP_TOP_K, 9, 2049, (const int64_t[]){9, 2049, 512, 8});
    ASSERT_DIMS(RT_OP_BMM, 16, 33, (const int64_t[]){16, 33, 512, 128});
    ASSERT_DIMS(RT_OP_BMM, 16, 34, (const int64_t[]){16, 34, 128, 512});
    const struct rt_sample *s = find(RT_OP_INDEX_LOGITS, 3, 7);
    CU_ASSERT_EQUAL(s->call.dtype, RT_FP8);
    CU_ASSERT_EQUAL(find(RT_OP_MLA_CONTEXT, 4, 2048)->flags, RT_FLAG_UNKNOWN_TILE | RT_FLAG_TENSORRT);
    CU_ASSERT_EQUAL(s->flags, RT_FLAG_UNKNOWN_TILE | RT_FLAG_SGLANG);
    release();
}

static void test_aiconfigurator(void)
{
    RT_ASSERT_OK(import("aiconfigurator", MINI "aiconfigurator_mini", 2, false));
    const struct rt_sample *s = find(RT_OP_GEMM, 64, 1024);
    CU_ASSERT_TRUE(s->call.dim[2] == 512 && s->call.dtype == RT_BF16 && s->split == RT_SPLIT_NONE);
    CU_ASSERT_DOUBLE_EQUAL(s->latency_us, 20, 0);
    CU_ASSERT_STRING_EQUAL(attribute(s, "kernel_source"), "lib_a");
    CU_ASSERT_STRING_EQUAL(attribute(s, "framework"), "VLLM");
    CU_ASSERT_STRING_EQUAL(attribute(s, "gemm_dtype"), "(none)");
    CU_ASSERT_EQUAL(rt_import_counter(&report, "gemm", "NVIDIA H100 80GB HBM3")->duplicates, 1);
    const int64_t context[] = {4, 2048, 512, 32, 8, 128, 1024, 8}; /* bits of the cache's fp8 */
    bool found = false;
    for (size_t i = 0; i < imported.samples.count; i++) {
        s = RT_SAMPLE(&imported, i);
        if (s->call.op != RT_OP_ATTENTION_CONTEXT)
            continue;
        found |= memcmp(s->call.dim, context, sizeof context) == 0 &&
                 strcmp(attribute(s, "kv_cache_dtype"), "fp8") == 0 &&
                 strcmp(attribute(s, "beam_width"), "1") == 0;
        if (strstr(imported.devices[s->device].name, "A100") != NULL)
            CU_ASSERT_TRUE(s->call.dim[2] == 0 && s->call.dim[6] == 0 &&
                           s->call.dim[7] == 0); /* no window_size, bf16 */
    }
    CU_ASSERT_TRUE(found);
    s = find(RT_OP_ATTENTION_GENERATION, 32, 1);
    CU_ASSERT_TRUE(s->call.dim[2] == 4095 && s->call.dim[3] == 64 && s->call.dim[4] == 8);
    s = find(RT_OP_ATTENTION_ENCODER, 2, 576);
    CU_ASSERT_TRUE(s->call.dim[2] == 16 && s->call.dim[3] == 64 && s->call.dim[4] == -1);
    s = find(RT_OP_MOE, 16, 4096);
    CU_ASSERT_TRUE(s->call.dtype == RT_MXFP4 && s->call.dim[2] == 2048 && s->call.dim[3] == 6 &&
                   s->call.dim[4] == 256 && s->call.dim[5] == 2 && s->call.dim[6] == 4 &&
                   s->call.dim[7] == 0);
    CU_ASSERT_STRING_EQUAL(attribute(s, "distribution"), "balanced");
    s = find(RT_OP_MOE, 32, 4096);
    CU_ASSERT_EQUAL(s->call.dim[7], 120);
    CU_ASSERT_STRING_EQUAL(attribute(s, "distribution"), "power_law_1.2");
    CU_ASSERT_EQUAL(find(RT_OP_MOE, 96, 4096)->call.dim[7], 0); /* a load balancer's */
    CU_ASSERT_EQUAL(find(RT_OP_MOE, 128, 4096)->call.dim[7], 0);
    CU_ASSERT_EQUAL(report.refused.count, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(report.refused.text[1], "moe.csv:5: distribution is \"zipf\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(report.refused.text[0], "moe.csv:3: moe_dtype is \"int3\""));
    CU_ASSERT_EQUAL(find(RT_OP_ALL_GATHER, 2, 1024)->call.dtype, RT_FP16);
    CU_ASSERT_EQUAL(find(RT_OP_ALL_TO_ALL, 8, 4096)->call.dtype, RT_INT8);
    find(RT_OP_REDUCE_SCATTER, 4, 4096);
    s = find(RT_OP_ALL_REDUCE, 4, 128);
    CU_ASSERT_STRING_EQUAL(attribute(s, "backend"), "graph");
    CU_ASSERT_EQUAL(s->flags, 0); /* collectives have no tile to know */
    CU_ASSERT_EQUAL(find(RT_OP_ALL_REDUCE, 4, 192)->call.dim[RT_DIM_LIBRARY], RT_LIBRARY_SERVER_EAGER);
    CU_ASSERT_EQUAL(find(RT_OP_ALL_REDUCE, 4, 320)->call.dim[RT_DIM_LIBRARY], RT_LIBRARY_SERVER);
    CU_ASSERT_EQUAL(find(RT_OP_ALL_GATHER, 2, 1024)->call.dim[RT_DIM_LIBRARY], RT_LIBRARY_NCCL);
    CU_ASSERT_EQUAL(find(RT_OP_GEMM, 80, 1024)->flags, RT_FLAG_UNKNOWN_TILE | RT_FLAG_SGLANG);
    CU_ASSERT_EQUAL(find(RT_OP_GEMM, 96, 1024)->flags, RT_FLAG_UNKNOWN_TILE | RT_FLAG_TENSORRT);
    CU_ASSERT_EQUAL(others("system descriptions (the catalogue has their numbers)"), 1);
    CU_ASSERT_EQUAL(report.total.read, report.total.kept + report.total.duplicates + report.total.refused);
    release();
}

/* The dtypes of AIConfigurator's GEMMQuantMode and MoEQuantMode (its sdk/common.py), with the bytes of a
 * weight and of an activation. */
static void test_dtypes(void)
{
    static const struct {
        const char *name;
        enum rt_dtype dtype;
        double bytes, input_bytes;
    } rows[] = {
        {"bfloat16", RT_BF16, 2, 2},
        {"int8_wo", RT_INT8_WO, 1, 2},
        {"int4_wo", RT_INT4, 0.5, 2},
        {"fp8", RT_FP8, 1, 1},
        {"fp8_static", RT_FP8, 1, 1},
        {"fp8_ootb", RT_FP8, 1, 1},
        {"sq", RT_INT8, 1, 1},
        {"fp8_block", RT_FP8_BLOCK, 1 + 4.0 / 16384, 1},
        {"nvfp4", RT_FP4, 9.0 / 16, 9.0 / 16},
        {"w4afp8", RT_W4AFP8, 0.5, 1},
        {"w4a16_mxfp4", RT_MXFP4, 0.5 + 1.0 / 32, 2},
        {"w4a8_mxfp4_mxfp8", RT_MXFP4_MXFP8, 0.5 + 1.0 / 32, 1 + 1.0 / 32},
    };
    struct rt_device b200;
    RT_ASSERT_OK(rt_device_named("B200", &b200));
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        CU_ASSERT_EQUAL(rt_dtype_find(rows[i].name), (int)rows[i].dtype);
        CU_ASSERT_EQUAL(rt_dtypes[rows[i].dtype].bytes, rows[i].bytes);
        CU_ASSERT_EQUAL(rt_dtypes[rows[i].dtype].input_bytes, rows[i].input_bytes);
        CU_ASSERT_TRUE(rt_device_peak_flops(&b200, RT_FAMILY_MOE, rows[i].dtype) > 0);
    }
    CU_ASSERT_EQUAL(rt_device_peak_flops(&b200, RT_FAMILY_MOE, RT_MXFP4_MXFP8),
                    1e12 * b200.fp8_matrix_tflops);
    CU_ASSERT_EQUAL(rt_device_peak_flops(&b200, RT_FAMILY_MOE, RT_INT8_WO), 1e12 * b200.fp16_matrix_tflops);
}

/* Rows that are refused for one reason are one sentence, whatever their lines and numbers. */
static void test_reasons(void)
{
    struct rt_text text = {0};
    rt_text_add(&text, "op_name,device,latency,gemm_dtype,m,n,k\n");
    for (int i = 0; i < 60; i++)
        rt_text_add(&text, "gemm,NVIDIA H200,1,%s,%d,1,1\n", i % 3 == 0 ? "fp3" : "fp5", i + 1);
    for (int i = 0; i < 5; i++)
        rt_text_add(&text, "gemm,NVIDIA H200,-%d.5,fp8,1,1,1\n", i + 1);
    rt_text_add(&text, "gemm,NVIDIA H200,1,fp8,1,1,1\n");
    rt_test_write("gemm.csv", text.text);
    rt_text_release(&text);
    RT_ASSERT_OK(import("aiconfigurator", rt_test_path("gemm.csv"), 1, false));
    CU_ASSERT_EQUAL(report.refused.count, 65);
    CU_ASSERT_EQUAL_FATAL(report.refused.reasons, 3);
    CU_ASSERT_TRUE(report.refused.times[0] == 20 && report.refused.times[1] == 40 &&
                   report.refused.times[2] == 5);
    CU_ASSERT_PTR_NOT_NULL(strstr(report.refused.text[0], "gemm.csv:2: gemm_dtype is \"fp3\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(report.refused.text[1], "gemm.csv:3: gemm_dtype is \"fp5\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(report.refused.text[2], "gemm.csv:62: latency is \"-1.5\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(report.refused.reason[2], "latency is \"#\""));
    release();
    struct rt_import_report many = {0}, all = {0}; /* more reasons than are kept */
    for (int i = 0; i < 3 * RT_IMPORT_REASONS; i++) {
        char sentence[64];
        snprintf(sentence, sizeof sentence, "f.csv:%d: column %c%c is bad", i, 'a' + i / 26, 'a' + i % 26);
        rt_import_note(&many.refused, sentence);
    }
    rt_import_report_add(&all, &many);
    rt_import_report_add(&all, &many);
    CU_ASSERT_EQUAL(all.refused.reasons, RT_IMPORT_REASONS);
    CU_ASSERT_EQUAL(all.refused.count, 6 * RT_IMPORT_REASONS);
    CU_ASSERT_EQUAL(all.refused.times[0], 2);
    rt_import_report_release(&many);
    rt_import_report_release(&all);
}

static void test_aiconfigurator_refusals(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"op_name,device,latency,gemm_dtype,m,n\ngemm,NVIDIA H200,1,fp8,1,1\n",
         "a row of gemm needs a column \"k\""},
        {"op_name,device,latency,m,n,k\ngemm,NVIDIA H200,1,1,1,1\n", "needs a column \"gemm_dtype\""},
        {"op_name,device,latency\nteleport,NVIDIA H200,1\n", "op_name is \"teleport\""},
        {"op_name,device,latency,gemm_dtype,m,n,k\ngemm,Voodoo,1,fp8,1,1,1\n", "unknown GPU \"Voodoo\""},
        {"op_name,device,latency,gemm_dtype,m,n,k\ngemm,NVIDIA H200,-1,fp8,1,1,1\n", "latency is \"-1\""},
        {"op_name,device,latency,gemm_dtype,m,n,k\ngemm,NVIDIA H200,1,fp8,1,x,1\n", "n is \"x\""},
        {"op_name,device,latency,gemm_dtype,m,n,k\ngemm,NVIDIA H200,1,,1,1,1\n", "gemm_dtype is \"\""},
        {"a,b\n1,2\n", "has not the columns of a table of AIConfigurator"},
    };
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        const char *path = rt_test_write("table.csv", cases[i].text);
        RT_ASSERT_FAILS(import("aiconfigurator", path, 1, false), RT_EFORMAT, cases[i].words);
    }
    RT_ASSERT_FAILS(import("aiconfigurator", rt_test_write("gemm_perf.parquet", "PAR1"), 1, false),
                    RT_EFORMAT, "is Parquet, as a clone of the repository has it; make CSV files");
    RT_ASSERT_FAILS(import("aiconfigurator",
                           rt_test_write("table.csv", "id,silicon_ttft_ms,silicon_tpot_ms\na,1,2\n"), 1,
                           false),
                    RT_EFORMAT, "no file in it has the columns of a measurement");
    release();
}

static void test_real_aiconfigurator(void)
{
    const char *path = rt_test_data("ROOFTILE_AICONFIGURATOR", "aiconfigurator");
    if (path == NULL)
        return;
    RT_ASSERT_OK(import("aiconfigurator", path, 0, false));
    CU_ASSERT_EQUAL(report.total.read, 857186); /* wc -l of the 27 tables, less their headers */
    CU_ASSERT_EQUAL(imported.samples.count, 857184);
    CU_ASSERT_EQUAL(report.total.duplicates, 2);
    CU_ASSERT_EQUAL(report.total.refused, 0);
    CU_ASSERT_EQUAL(report.skipped.count, 0);
    release();
}

RT_TESTS(RT_TEST(test_dtypes), RT_TEST(test_reasons), RT_TEST(test_aiconfigurator),
         RT_TEST(test_latent_and_sparse), RT_TEST(test_aiconfigurator_refusals),
         RT_TEST(test_real_aiconfigurator))
