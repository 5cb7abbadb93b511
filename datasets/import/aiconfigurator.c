/*
 * AIConfigurator's measurements (repository ai-dynamo/aiconfigurator): tables of gemm, attention, latent and
 * sparse attention, mixture of experts and collectives. A row's op_name says which columns are its dims.
 */
#include "datasets/import/sample_table.h"
#include "base/file.h"
#include "base/status.h"
#include "datasets/fabric.h"
#include "base/strings.h"

#include <string.h>

/* Bits of the dtype that the cell names, 0 where it is as wide as `dtype`. */
static const char *read_bits(const struct rt_csv_field *cell, enum rt_dtype dtype, int64_t *dim)
{
    int other = rt_dtype_find(cell->text);
    if (other < 0)
        return "an element type that is known here, such as bf16, fp8 or w4a16_mxfp4 (datasets/dtype.c lists "
               "them)";
    bool same = rt_dtypes[other].bytes == rt_dtypes[dtype].bytes;
    *dim = same ? 0 : (int64_t)(8 * rt_dtypes[other].bytes + 0.5);
    return NULL;
}

/* 100 times the exponent of a power law; 0 where loads are even, be it after an expert-parallel load balancer
 * ("power_law_1.2_eplb"). */
static const char *read_routing(const struct rt_csv_field *cell, enum rt_dtype dtype, int64_t *dim)
{
    static const char power_law[] = "power_law_", balancer[] = "_eplb";
    const char *text = cell->text, *must = "\"balanced\", \"uniform\" or \"power_law_A\"";
    size_t length = strlen(power_law), tail = strlen(balancer), digits;
    double exponent;
    (void)dtype;
    *dim = 0;
    if (strcmp(text, "balanced") == 0 || strcmp(text, "uniform") == 0)
        return NULL;
    if (cell->length <= length || strncmp(text, power_law, length) != 0)
        return must;
    digits = cell->length - length;
    bool balanced = digits > tail && strcmp(text + cell->length - tail, balancer) == 0;
    if (rt_parse_real(text + length, balanced ? digits - tail : digits, &exponent) != 0 || !(exponent > 0) ||
        exponent > 100)
        return must;
    *dim = balanced ? 0 : (int64_t)(100 * exponent + 0.5);
    return NULL;
}

/* NCCL's, DeepEP's, or a server's own kernels for small messages: those of vLLM, which SGLang has, too, and
 * TensorRT-LLM's; in a CUDA graph, or launched one by one ("_eager"). */
static const char *read_library(const struct rt_csv_field *cell, enum rt_dtype dtype, int64_t *dim)
{
    static const char eager[] = "_eager";
    size_t tail = strlen(eager);
    bool server = strncmp(cell->text, "vLLM_custom", 11) == 0 ||
                  strncmp(cell->text, "SGLang_Custom", 13) == 0 || strcmp(cell->text, "TRTLLM") == 0;
    bool launched = cell->length > tail && strcmp(cell->text + cell->length - tail, eager) == 0;
    (void)dtype;
    *dim = !server ? RT_LIBRARY_NCCL : launched ? RT_LIBRARY_SERVER_EAGER : RT_LIBRARY_SERVER;
    if (strcmp(cell->text, "deepep") == 0)
        *dim = RT_LIBRARY_DEEPEP;
    else if (strcmp(cell->text, "deepep_ll") == 0)
        *dim = RT_LIBRARY_DEEPEP_LL;
    return NULL;
}

/* clang-format off */
#define DIM(...)   {.name = __VA_ARGS__}
#define OPTIONAL   .optional = true
#define BITS       .optional = true, .read = read_bits
#define ROUTING    .optional = true, .read = read_routing
#define LIBRARY    .optional = true, .read = read_library
#define FIXED(n)   {.fixed = n}
#define SEQUENCES  DIM("batch_size"), DIM("isl"), DIM("step")
#define CACHE      DIM("kv_cache_dtype", BITS)
#define COLLECTIVE "nccl_dtype|allreduce_dtype", \
    {DIM("num_gpus"), DIM("message_size"), {.fixed = RT_FABRIC_OWN}, DIM("kernel_source", LIBRARY)}
#define HCA {SEQUENCES, DIM("num_heads"), FIXED(1), FIXED(512), FIXED(512), FIXED(0), FIXED(128), FIXED(128), FIXED(1), CACHE}
#define DELTA_RULE DIM("batch_size"), DIM("seq_len"), DIM("num_k_heads"), DIM("head_k_dim"), DIM("num_v_heads"), DIM("head_v_dim"), \
    DIM("gates")

static const struct rt_sample_op ops[] = {
    {"gemm", RT_OP_GEMM, "gemm_dtype", {DIM("m"), DIM("n"), DIM("k")}},
    {"context_attention", RT_OP_ATTENTION_CONTEXT, "attn_dtype",
     {DIM("batch_size"), DIM("isl"), DIM("step", OPTIONAL), DIM("num_heads"), DIM("num_key_value_heads"), DIM("head_dim"),
      DIM("window_size", OPTIONAL), DIM("kv_cache_dtype", BITS)}},
    {"generation_attention", RT_OP_ATTENTION_GENERATION, "attn_dtype",
     {DIM("batch_size"), DIM("isl"), DIM("step"), DIM("num_heads"), DIM("num_key_value_heads"), DIM("head_dim"),
      DIM("window_size", OPTIONAL), DIM("kv_cache_dtype", BITS)}},
    {"encoder_attention", RT_OP_ATTENTION_ENCODER, "attn_dtype",
     {DIM("batch_size"), DIM("isl"), DIM("num_heads"), DIM("head_dim")}},
    {"moe", RT_OP_MOE, "moe_dtype",
     {DIM("num_tokens"), DIM("hidden_size"), DIM("inter_size"), DIM("topk"), DIM("num_experts"), DIM("moe_tp_size"),
      DIM("moe_ep_size"), DIM("distribution", ROUTING), DIM("ungated", OPTIONAL)}},
    /* Sizes of DeepSeek-V3, V4 and GLM-5, which the tables do not say (their config.json; AIConfigurator's collector): heads of
     * 128 + 64 and 128 columns, a latent key of 512 + 64; V4's of 512 with a window of 128. GLM-5's sparse attention reads bf16,
     * whatever the cache. Indexers have 32 and 64 heads of 128. */
    {"mla_context", RT_OP_MLA_CONTEXT, "mla_dtype", {SEQUENCES, DIM("num_heads"), FIXED(192), FIXED(128), CACHE}},
    {"mla_context_absorbed", RT_OP_SPARSE_ATTENTION, "mla_dtype",
     {SEQUENCES, DIM("num_heads"), FIXED(1), FIXED(576), FIXED(512), FIXED(0), FIXED(1), FIXED(0), FIXED(1), CACHE}},
    {"mla_generation", RT_OP_MLA_GENERATION, "mla_dtype", {SEQUENCES, DIM("num_heads"), FIXED(512), FIXED(64), CACHE}},
    {"mla_gen_pre", RT_OP_BMM, "bmm_dtype", {DIM("num_heads"), DIM("num_tokens"), FIXED(512), FIXED(128)}},
    {"mla_gen_post", RT_OP_BMM, "bmm_dtype", {DIM("num_heads"), DIM("num_tokens"), FIXED(128), FIXED(512)}},
    {"glm5_dsa_attn_module", RT_OP_SPARSE_ATTENTION, "mla_dtype",
     {SEQUENCES, DIM("num_heads"), FIXED(1), FIXED(576), FIXED(512), FIXED(2048), FIXED(1), FIXED(0), FIXED(1), FIXED(0)}},
    {"dsv4_hca_attn_module", RT_OP_SPARSE_ATTENTION, "mla_dtype", HCA},
    {"dsv4_flash_hca_attn_module", RT_OP_SPARSE_ATTENTION, "mla_dtype", HCA},
    {"glm5_mqa_logits_module", RT_OP_INDEX_LOGITS, "mla_dtype", {SEQUENCES, FIXED(32), FIXED(128), FIXED(1), CACHE}},
    {"dsv4_paged_mqa_logits_module", RT_OP_INDEX_LOGITS, "mla_dtype", {SEQUENCES, FIXED(64), FIXED(128), FIXED(4), CACHE}},
    {"top_k", RT_OP_TOP_K, NULL, {DIM("rows"), DIM("cols"), DIM("k"), DIM("growth")}},
    {"delta_rule_context", RT_OP_DELTA_RULE_CONTEXT, "dtype", {DELTA_RULE}},
    {"delta_rule_generation", RT_OP_DELTA_RULE_GENERATION, "dtype", {DELTA_RULE}},
    {"causal_conv1d", RT_OP_CAUSAL_CONV1D, "dtype", {DIM("batch_size"), DIM("seq_len"), DIM("channels"), DIM("d_conv")}},
    {"hyper_connection_pre", RT_OP_HYPER_CONNECTION_PRE, "dtype",
     {DIM("num_tokens"), DIM("hidden_size"), DIM("hc_mult"), DIM("sinkhorn_iters")}},
    {"hyper_connection_post", RT_OP_HYPER_CONNECTION_POST, "dtype", {DIM("num_tokens"), DIM("hidden_size"), DIM("hc_mult")}},
    {"quantise", RT_OP_QUANTISE, "dtype", {DIM("m"), DIM("k"), DIM("bits")}},
    {"all_reduce", RT_OP_ALL_REDUCE, COLLECTIVE},
    {"all_gather", RT_OP_ALL_GATHER, COLLECTIVE},
    {"reduce_scatter", RT_OP_REDUCE_SCATTER, COLLECTIVE},
    {"alltoall", RT_OP_ALL_TO_ALL, COLLECTIVE},
};
/* clang-format on */

/* Whose choice the kernel is. SGLang's and TensorRT-LLM's block-scaled products ran in CUDA graphs, where no
 * host shows; vLLM's were launched from Python. */
static int read_server(void *context, const struct rt_csv_field *row, struct rt_sample *sample)
{
    const int *column = context;
    enum rt_family family = rt_call_family(&sample->call);
    if (rt_families[family].link)
        return RT_OK;
    sample->flags = RT_FLAG_UNKNOWN_TILE;
    if (*column >= 0 && strcmp(row[*column].text, "SGLang") == 0)
        sample->flags |= RT_FLAG_SGLANG;
    else if (*column >= 0 && strcmp(row[*column].text, "TRTLLM") == 0)
        sample->flags |= RT_FLAG_TENSORRT;
    return RT_OK;
}

static const struct rt_sample_table table = {.op = "op_name",
                                             .device = "device",
                                             .latency = "latency",
                                             .latency_unit_us = 1000,
                                             .ops = ops,
                                             .op_count = RT_COUNT(ops),
                                             .finish = read_server};

static void read_csv(struct rt_import_file *file)
{
    static const char *const runs[] = {"silicon_ttft_ms", "silicon_tpot_ms", NULL};
    struct rt_csv *csv = rt_import_file_csv(file);
    if (csv == NULL)
        return;
    if (rt_csv_has(csv, (const char *const[]){table.op, table.device, table.latency, NULL})) {
        int framework = rt_csv_find(csv, "framework");
        rt_import_samples(file, csv, &table, &framework);
    } else if (rt_csv_has(csv, runs)) {
        rt_import_file_is(
            file, "runs of servers (scripts/corpora/aiconfigurator_serving.py makes workloads of them)");
    } else {
        rt_fail(RT_EFORMAT,
                "%s:1: has not the columns of a table of AIConfigurator (op_name, device, latency)",
                file->path);
        rt_import_file_skip(file);
    }
    rt_csv_close(csv);
}

static void read_file(struct rt_import_file *file)
{
    if (rt_file_ends_in(file->path, ".csv")) {
        read_csv(file);
    } else if (rt_file_ends_in(file->path, ".parquet")) {
        rt_fail(RT_EFORMAT,
                "%s:1: is Parquet, as a clone of the repository has it; make CSV files of the clone with "
                "`scripts/corpora/aiconfigurator_clone.py CLONE -o FOLDER` (pyarrow reads them) and import "
                "FOLDER",
                file->path);
        rt_import_file_skip(file);
    } else if (rt_file_ends_in(file->path, ".yaml") || rt_file_ends_in(file->path, ".yml")) {
        rt_import_file_is(file, "system descriptions (the catalogue has their numbers)");
    } else {
        rt_import_file_is(file, "other files (not .csv, .parquet or .yaml)");
    }
}

static int import(const char *path, const struct rt_import_options *options, struct rt_dataset *out,
                  struct rt_import_report *report)
{
    static const struct rt_tree_reader reader = {
        .read = read_file,
        .groups_differ = true,
        .source = "AIConfigurator, repository ai-dynamo/aiconfigurator",
        .licence = "Apache-2.0, copyright 2025-2026 NVIDIA CORPORATION & AFFILIATES",
    };
    return rt_tree_import(path, &reader, options, out, report);
}

const struct rt_importer rt_importer_aiconfigurator = {"aiconfigurator", import};
