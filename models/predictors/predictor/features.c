/* The feature table. The first four are NeuSight's, in its units, so that networks see the published numbers.
 */
#include "models/predictors/predictor/family_net.h"
#include "base/status.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

/* GFLOP of a tile over TFLOP/s of an SM: NeuSight, mlp_wave features. */
static double log2_tile_flops(const struct rt_tiled_call *l)
{
    return log2((l->tile_flops / 1e9) / (l->peak_flops / 1e12 / l->device->sms));
}

/* MiB of a tile over GB/s of an SM. */
static double log2_tile_bytes(const struct rt_tiled_call *l)
{
    return log2((l->tile_bytes / RT_MIB) / (l->device->bandwidth_gbs / l->device->sms));
}

/* MiB of all waves of one SM over its share of the memory, MiB. */
static double log2_wave_bytes_memory(const struct rt_tiled_call *l)
{
    return log2(l->waves * (l->tile_bytes / RT_MIB) / (l->device->memory_gib * 1024 / l->device->sms));
}

/* MiB of all waves of one SM over its share of the L2, KiB. */
static double log2_wave_bytes_l2(const struct rt_tiled_call *l)
{
    return log2(l->waves * (l->tile_bytes / RT_MIB) / (l->device->l2_mib * 1024 / l->device->sms));
}

/* --- the whole op, without a tile: launches of rt_tiled_call_init_whole --- */

static double log2_intensity(const struct rt_tiled_call *l)
{
    return log2(l->intensity);
}
static double log2_batch(const struct rt_tiled_call *l)
{
    return log2(l->batch);
}
static double log2_depth(const struct rt_tiled_call *l)
{
    return log2(l->k);
}
static double log2_narrow(const struct rt_tiled_call *l)
{
    return log2(fmin(l->m, l->n));
}
static double log2_wide(const struct rt_tiled_call *l)
{
    return log2(fmax(l->m, l->n));
}

/* A product in tiles of a size that every library has: the useful share of the padded output. */
static double padding(const struct rt_tiled_call *l, double tile_m, double tile_n)
{
    return l->m * l->n / (ceil(l->m / tile_m) * tile_m * ceil(l->n / tile_n) * tile_n);
}
static double padding_128x128(const struct rt_tiled_call *l)
{
    return padding(l, 128, 128);
}
static double padding_128x64(const struct rt_tiled_call *l)
{
    return padding(l, 128, 64);
}
static double padding_64x64(const struct rt_tiled_call *l)
{
    return padding(l, 64, 64);
}

/* How far a dim is a multiple of 8: vector loads need it. 0, 1/3, 2/3 or 1. */
static double alignment(double dim)
{
    int64_t whole = (int64_t)dim;
    int step = 0;
    while (step < 3 && whole % (2 << step) == 0)
        step++;
    return step / 3.0;
}
static double alignment_m(const struct rt_tiled_call *l)
{
    return alignment(l->m);
}
static double alignment_n(const struct rt_tiled_call *l)
{
    return alignment(l->n);
}
static double alignment_k(const struct rt_tiled_call *l)
{
    return alignment(l->k);
}

/* A dim by its name, log2(1 + dim); 0 where the op has none of that name. */
static double named_dim(const struct rt_tiled_call *l, const char *name)
{
    const struct rt_op *op = &rt_ops[l->query->call.op];
    for (int d = 0; op->dims[d] != NULL; d++)
        if (strcmp(op->dims[d], name) == 0)
            return log2(1 + fmax((double)l->query->call.dim[d], 0));
    return 0;
}
#define DIM(name_)                                                                                           \
    static double dim_##name_(const struct rt_tiled_call *l)                                                 \
    {                                                                                                        \
        return named_dim(l, #name_);                                                                         \
    }
DIM(batch)
DIM(tokens)
DIM(cached)
DIM(heads)
DIM(kv_heads)
DIM(head_dim)
DIM(tp)
DIM(ep)
DIM(window)
DIM(gates)

static double attention_generation(const struct rt_tiled_call *l)
{
    return l->attention.decodes;
}
static double attention_encoder(const struct rt_tiled_call *l)
{
    return l->query->call.op == RT_OP_ATTENTION_ENCODER || l->query->call.op == RT_OP_ATTENTION_CROSS;
}
static double attention_narrow(const struct rt_tiled_call *l)
{
    return l->attention.narrow;
}
static double attention_log2_blocks(const struct rt_tiled_call *l)
{
    return log2(l->attention.blocks / l->attention.splits);
}
static double attention_log2_tiles(const struct rt_tiled_call *l)
{
    return log2(l->attention.longest);
}
static double attention_log2_padding(const struct rt_tiled_call *l)
{
    return log2(l->attention.padding);
}
static double attention_split(const struct rt_tiled_call *l)
{
    return l->attention.split;
}
static double attention_packed(const struct rt_tiled_call *l)
{
    return l->attention.packed;
}
static double latent_absorbed(const struct rt_tiled_call *l)
{
    return l->attention.packed && rt_call_family(&l->query->call) == RT_FAMILY_LATENT;
}
static double is_op(const struct rt_tiled_call *l, enum rt_op_id op)
{
    return l->query->call.op == op;
}
static double latent_sparse(const struct rt_tiled_call *l)
{
    return is_op(l, RT_OP_SPARSE_ATTENTION) && !l->attention.packed && !l->attention.dense;
}
static double latent_logits(const struct rt_tiled_call *l)
{
    return is_op(l, RT_OP_INDEX_LOGITS);
}
static double latent_top_k(const struct rt_tiled_call *l)
{
    return is_op(l, RT_OP_TOP_K);
}
static double latent_triton(const struct rt_tiled_call *l)
{
    return l->attention.triton;
}
static double latent_paged(const struct rt_tiled_call *l)
{
    return l->attention.paged;
}
static double experts_log2_rows(const struct rt_tiled_call *l)
{
    return log2(l->experts.rows);
}
static double experts_even(const struct rt_tiled_call *l)
{
    return l->experts.routing.even;
}
static double experts_log2_busiest(const struct rt_tiled_call *l)
{
    return log2(l->experts.routing.busiest);
}
static double experts_touched(const struct rt_tiled_call *l)
{
    return l->experts.routing.touched / fmax(1, l->experts.routing.experts);
}
static double experts_weight_share(const struct rt_tiled_call *l)
{
    return l->experts.weight_share;
}
static double experts_ln_gathered(const struct rt_tiled_call *l)
{
    return log(l->experts.gathered);
}
static double experts_log2_padding(const struct rt_tiled_call *l)
{
    return log2(l->experts.padding);
}
static double experts_log2_blocks(const struct rt_tiled_call *l)
{
    return log2(l->experts.blocks);
}
static double experts_ungated(const struct rt_tiled_call *l)
{
    return l->experts.ungated;
}
static double experts_ungated_sglang(const struct rt_tiled_call *l)
{
    return l->experts.ungated && l->experts.cutlass && l->experts.server == RT_SERVER_SGLANG &&
           !l->experts.fused_kernels;
}
static double experts_tensorrt(const struct rt_tiled_call *l)
{
    return l->experts.server == RT_SERVER_TENSORRT && !l->experts.fused_kernels;
}
static double experts_sglang(const struct rt_tiled_call *l)
{
    return l->experts.server == RT_SERVER_SGLANG && !l->experts.fused_kernels;
}
static double attention_xqa(const struct rt_tiled_call *l)
{
    return l->attention.xqa;
}
static double attention_tensorrt(const struct rt_tiled_call *l)
{
    return l->attention.tensorrt;
}
static double attention_sglang(const struct rt_tiled_call *l)
{
    return l->attention.sglang;
}
/* In 16 bits all servers call cuBLAS through torch. In fp8 TensorRT-LLM calls cuBLASLt (cublas_scaled_mm of
 * its _torch/modules/linear.py), vLLM and SGLang CUTLASS, each its own; that says nothing of nvfp4, which
 * TensorRT-LLM takes from CUTLASS, cuBLASLt or kernels of its own, whichever is fastest (nvfp4_gemm). */
static double product_of_server(const struct rt_tiled_call *l, enum rt_server_project server)
{
    enum rt_dtype dtype = l->query->call.dtype;
    return l->query->server == server && (dtype == RT_FP8 || dtype == RT_FP8_BLOCK);
}
/* The kernel is TensorRT-LLM's SmoothQuant, timed within an engine. */
static double product_plugin(const struct rt_tiled_call *l)
{
    return l->query->server == RT_SERVER_TENSORRT && l->query->call.dtype == RT_INT8;
}
static double product_fp4(const struct rt_tiled_call *l)
{
    return l->query->call.dtype == RT_FP4;
}
static double product_sglang(const struct rt_tiled_call *l)
{
    return product_of_server(l, RT_SERVER_SGLANG);
}
static double product_tensorrt(const struct rt_tiled_call *l)
{
    return product_of_server(l, RT_SERVER_TENSORRT);
}
static double experts_cutlass(const struct rt_tiled_call *l)
{
    return l->experts.cutlass;
}
static double experts_cutlass_tensor(const struct rt_tiled_call *l)
{
    return l->experts.cutlass && !l->experts.fused_kernels && l->experts.server == RT_SERVER_VLLM &&
           l->query->call.dtype == RT_FP8;
}
static double experts_mxfp4_triton(const struct rt_tiled_call *l)
{
    return l->query->call.dtype == RT_MXFP4 && !l->experts.cutlass &&
           rt_design_of(l->device)->units == RT_MATRIX_WARP_GROUP;
}

#define RECURRENT(name_, kind_)                                                                              \
    static double recurrent_##name_(const struct rt_tiled_call *l)                                           \
    {                                                                                                        \
        return rt_call_family(&l->query->call) == RT_FAMILY_RECURRENT && l->recurrent.kind == (kind_);       \
    }
RECURRENT(chunked, RT_RECURRENT_CHUNKED)
RECURRENT(fused, RT_RECURRENT_FUSED)
RECURRENT(fused_tensor, RT_RECURRENT_FUSED_TENSOR)
RECURRENT(step, RT_RECURRENT_STEP)
RECURRENT(channels, RT_RECURRENT_CHANNELS)
RECURRENT(convolution_step, RT_RECURRENT_CONVOLUTION_STEP)
RECURRENT(pre, RT_RECURRENT_PRE)
RECURRENT(post, RT_RECURRENT_POST)
static double recurrent_log2_heads(const struct rt_tiled_call *l)
{
    return log2(l->recurrent.heads);
}
static double recurrent_log2_steps(const struct rt_tiled_call *l)
{
    return log2(l->recurrent.steps);
}
static double recurrent_log2_blocks(const struct rt_tiled_call *l)
{
    return log2(l->recurrent.blocks);
}
static double recurrent_log2_rewritten(const struct rt_tiled_call *l)
{
    return log2(l->recurrent.bytes / rt_query_bytes(l->query));
}
static double recurrent_sglang(const struct rt_tiled_call *l)
{
    return l->recurrent.server == RT_SERVER_SGLANG;
}
static double recurrent_tensorrt(const struct rt_tiled_call *l)
{
    return l->recurrent.server == RT_SERVER_TENSORRT;
}

static double conv_log2_pixels(const struct rt_tiled_call *l)
{
    return log2(l->conv.batch * l->conv.height * l->conv.width);
}
static double conv_log2_side(const struct rt_tiled_call *l)
{
    return log2(l->conv.height * l->conv.width) / 2;
}
static double conv_log2_inputs(const struct rt_tiled_call *l)
{
    return log2(l->conv.inputs);
}
static double conv_log2_outputs(const struct rt_tiled_call *l)
{
    return log2(l->conv.outputs);
}
static double conv_log2_taps(const struct rt_tiled_call *l)
{
    return log2(l->conv.kernel_h * l->conv.kernel_w);
}
static double conv_log2_stride(const struct rt_tiled_call *l)
{
    return log2(l->conv.stride) / 2;
}
static double conv_log2_groups(const struct rt_tiled_call *l)
{
    return log2(l->conv.groups);
}
static double conv_by_data(const struct rt_tiled_call *l)
{
    return l->conv.phase == RT_BACKWARD;
}
static double conv_by_filter(const struct rt_tiled_call *l)
{
    return l->conv.phase == RT_ACCUMULATE;
}
static double conv_channels_last(const struct rt_tiled_call *l)
{
    return l->conv.channels_last;
}
static double conv_dense(const struct rt_tiled_call *l)
{
    return l->conv.dense && l->conv.kernel_h * l->conv.kernel_w > 1;
}
static double conv_tile_fill(const struct rt_tiled_call *l)
{
    return rt_conv_tile_fill(&l->conv);
}

static double product_swapped(const struct rt_tiled_call *l)
{
    return l->kernels.swapped;
}
static double product_triton(const struct rt_tiled_call *l)
{
    return l->kernels.triton;
}

/* nvfp4's products are as wide as fp8's and have an input of their own, 0 while nobody measured them: what
 * fp8 reaches of its peak is then carried over, where a width beyond all others gave 18 to 31% by the seed.
 */
static double dtype_width(const struct rt_tiled_call *l)
{
    enum rt_dtype dtype = l->query->call.dtype;
    bool product = rt_call_family(&l->query->call) == RT_FAMILY_LINEAR;
    return log2(rt_dtypes[product && dtype == RT_FP4 ? RT_FP8 : dtype].bytes);
}
static double dtype_block_scaled(const struct rt_tiled_call *l)
{
    enum rt_dtype dtype = l->query->call.dtype;
    bool by_units =
        dtype == RT_FP4 || dtype == RT_MXFP4_MXFP8; /* matrix units that multiply them scale them */
    return rt_dtypes[dtype].block_scaled && !by_units;
}
static double dtype_weights_only(const struct rt_tiled_call *l)
{
    const struct rt_dtype_row *dtype = &rt_dtypes[l->query->call.dtype];
    return dtype->bytes < 2 && dtype->input_bytes >= 2;
}

static double log2_flops(const struct rt_tiled_call *l)
{
    return log2(l->flops);
}
static double log2_bytes(const struct rt_tiled_call *l)
{
    return log2(rt_query_bytes(l->query));
}
/* Tensors that are moved for each element: 2 of a unary op, 3 of a binary one. */
static double operands(const struct rt_tiled_call *l)
{
    return rt_query_bytes(l->query) / (l->rows * l->cols * rt_dtypes[l->query->call.dtype].bytes);
}
static double row_fill(const struct rt_tiled_call *l)
{
    return l->row_tiling.fill;
}
static double row_alignment(const struct rt_tiled_call *l)
{
    return fmod(l->cols, 4) == 0;
}
static double log2_cols(const struct rt_tiled_call *l)
{
    return log2(l->cols);
}
static double row_in_registers(const struct rt_tiled_call *l)
{
    return l->cols <= 1024;
}
/* Steps of a block along its row; 1 where blocks do not walk. */
static double log2_steps(const struct rt_tiled_call *l)
{
    return log2(fmax(1, l->walk.steps));
}
/* rocBLAS cuts products otherwise than cuBLAS. */
static double other_library(const struct rt_tiled_call *l)
{
    return strcmp(l->device->vendor, "AMD") == 0;
}
/* Long rows on AMD run another kernel than on NVIDIA. */
static double row_other_kernel(const struct rt_tiled_call *l)
{
    return l->cols > 1024 && strcmp(l->device->vendor, "AMD") == 0;
}

const struct rt_feature rt_features[] = {
    {"log2_tile_flops_per_sm_peak", "FLOPs of a tile over the peak of an SM", log2_tile_flops, RT_OF_DEVICE},
    {"log2_tile_bytes_per_sm_bandwidth", "bytes of a tile over the bandwidth of an SM", log2_tile_bytes,
     RT_OF_DEVICE},
    {"log2_wave_bytes_per_sm_memory", "waves x bytes of a tile over memory per SM", log2_wave_bytes_memory,
     RT_OF_DEVICE},
    {"log2_wave_bytes_per_sm_l2", "waves x bytes of a tile over L2 per SM", log2_wave_bytes_l2, RT_OF_DEVICE},
    {"log2_intensity", "FLOP per byte", log2_intensity, RT_OF_CALL},
    {"log2_batch", "number of products in a batch", log2_batch, RT_OF_CALL},
    {"log2_depth", "length of the sums of a product", log2_depth, RT_OF_CALL},
    {"log2_narrow", "the smaller of rows and columns of a product", log2_narrow, RT_OF_CALL},
    {"log2_wide", "the larger of rows and columns of a product", log2_wide, RT_OF_CALL},
    {"padding_128x128", "outputs over outputs with their padding", padding_128x128, RT_OF_CALL},
    {"padding_128x64", "as padding_128x128", padding_128x64, RT_OF_CALL},
    {"padding_64x64", "as padding_128x128", padding_64x64, RT_OF_CALL},
    {"alignment_m", "powers of 2 in m, at most 3, over 3", alignment_m, RT_OF_CALL},
    {"alignment_n", "as alignment_m", alignment_n, RT_OF_CALL},
    {"alignment_k", "as alignment_m", alignment_k, RT_OF_CALL},
    {"attention_generation", "1 for attention of one step of decoding", attention_generation, RT_OF_CALL},
    {"attention_encoder", "1 for attention without a mask", attention_encoder, RT_OF_CALL},
    {"dim_batch", "dim batch, log2(1 + dim); so are the others", dim_batch, RT_OF_CALL},
    {"dim_tokens", "dim tokens", dim_tokens, RT_OF_CALL},
    {"dim_cached", "dim cached", dim_cached, RT_OF_CALL},
    {"dim_heads", "dim heads", dim_heads, RT_OF_CALL},
    {"dim_kv_heads", "dim kv_heads", dim_kv_heads, RT_OF_CALL},
    {"dim_head_dim", "dim head_dim", dim_head_dim, RT_OF_CALL},
    {"dim_tp", "dim tp", dim_tp, RT_OF_CALL},
    {"dim_ep", "dim ep", dim_ep, RT_OF_CALL},
    {"dtype_width", "bytes of an element", dtype_width, RT_OF_CALL},
    {"dtype_block_scaled", "1 where blocks of elements share a scale that software applies",
     dtype_block_scaled, RT_OF_CALL},
    {"dtype_weights_only", "1 where only the weights are narrow", dtype_weights_only, RT_OF_CALL},
    {"log2_flops", "FLOPs", log2_flops, RT_OF_CALL},
    {"log2_bytes", "bytes", log2_bytes, RT_OF_CALL},
    {"operands", "tensors moved for each element", operands, RT_OF_CALL},
    {"dim_window", "dim window", dim_window, RT_OF_CALL},
    {"attention_narrow", "1 where 8-bit keys are multiplied in 8 bits", attention_narrow, RT_OF_CALL},
    {"attention_log2_blocks", "blocks before their keys are split", attention_log2_blocks, RT_OF_CALL},
    {"attention_log2_tiles", "tiles of keys of the longest block, before that", attention_log2_tiles,
     RT_OF_CALL},
    {"attention_log2_padding", "FLOPs of whole tiles over FLOPs", attention_log2_padding, RT_OF_CALL},
    {"attention_split", "1 where keys may be split over blocks", attention_split, RT_OF_CALL},
    {"attention_packed", "1 where heads that share keys share blocks", attention_packed, RT_OF_CALL},
    {"latent_absorbed", "1 where heads share latent keys", latent_absorbed, RT_OF_CALL},
    {"latent_sparse", "1 where each token has keys of its own", latent_sparse, RT_OF_CALL},
    {"latent_logits", "1 for an indexer's scores", latent_logits, RT_OF_CALL},
    {"latent_paged", "1 where each token is scored by itself", latent_paged, RT_OF_CALL},
    {"latent_top_k", "1 for top-k", latent_top_k, RT_OF_CALL},
    {"latent_triton", "1 where Triton multiplies", latent_triton, RT_OF_CALL},
    {"experts_log2_rows", "rows of an expert that has any", experts_log2_rows, RT_OF_CALL},
    {"experts_even", "1 where experts get as many tokens each", experts_even, RT_OF_CALL},
    {"experts_log2_busiest", "rows of the busiest GPU over their mean", experts_log2_busiest, RT_OF_CALL},
    {"experts_touched", "share of a GPU's experts that get a token", experts_touched, RT_OF_CALL},
    {"experts_weight_share", "share of the weights in the traffic", experts_weight_share, RT_OF_CALL},
    {"experts_ln_gathered", "traffic with all tokens' rows over traffic", experts_ln_gathered, RT_OF_CALL},
    {"experts_log2_padding", "rows of whole tiles over rows", experts_log2_padding, RT_OF_CALL},
    {"experts_log2_blocks", "blocks of the first product", experts_log2_blocks, RT_OF_CALL},
    {"experts_ungated", "1 for two products, not three", experts_ungated, RT_OF_CALL},
    {"experts_ungated_sglang", "1 for those as SGLang runs them on Hopper", experts_ungated_sglang,
     RT_OF_CALL},
    {"experts_cutlass", "1 where CUTLASS multiplies, not Triton", experts_cutlass, RT_OF_CALL},
    {"experts_cutlass_tensor", "1 for it with one scale a tensor", experts_cutlass_tensor, RT_OF_CALL},
    {"experts_mxfp4_triton", "1 for mxfp4 on Hopper", experts_mxfp4_triton, RT_OF_CALL},
    {"row_fill", "useful share of a block's passes over its row", row_fill, RT_OF_CALL},
    {"row_alignment", "1 where 4 divides the columns", row_alignment, RT_OF_CALL},
    {"log2_cols", "columns of a row op", log2_cols, RT_OF_CALL},
    {"log2_steps", "steps of a block along its row", log2_steps, RT_OF_CALL},
    {"row_in_registers", "1 up to 1024 columns", row_in_registers, RT_OF_CALL},
    {"other_library", "another vendor's library", other_library, RT_OF_CALL},
    {"product_swapped", "1 for few rows of a block-scaled product", product_swapped, RT_OF_CALL},
    {"product_triton", "1 for Triton's block-scaled products", product_triton, RT_OF_CALL},
    {"product_sglang", "1 for products as SGLang runs them", product_sglang, RT_OF_CALL},
    {"product_plugin", "1 for int8 by TensorRT-LLM's plugin", product_plugin, RT_OF_CALL},
    {"product_fp4", "1 for products of 4-bit floats", product_fp4, RT_OF_CALL},
    {"product_tensorrt", "1 for those of TensorRT-LLM", product_tensorrt, RT_OF_CALL},
    {"attention_xqa", "1 for TensorRT-LLM's decoding of shared keys", attention_xqa, RT_OF_CALL},
    {"attention_tensorrt", "1 for its other attention", attention_tensorrt, RT_OF_CALL},
    {"attention_sglang", "1 for SGLang's", attention_sglang, RT_OF_CALL},
    {"experts_tensorrt", "1 for experts as TensorRT-LLM runs them before sm_100", experts_tensorrt,
     RT_OF_CALL},
    {"experts_sglang", "1 for those of SGLang", experts_sglang, RT_OF_CALL},
    {"recurrent_chunked", "1 for a recurrence's prefill in several kernels", recurrent_chunked, RT_OF_CALL},
    {"recurrent_fused", "1 for one in one kernel", recurrent_fused, RT_OF_CALL},
    {"recurrent_fused_tensor", "1 for that made for tensor memory", recurrent_fused_tensor, RT_OF_CALL},
    {"recurrent_step", "1 for its step of decoding", recurrent_step, RT_OF_CALL},
    {"recurrent_channels", "1 for causal convolutions with a block a channel", recurrent_channels,
     RT_OF_CALL},
    {"recurrent_convolution_step", "1 for those of one token", recurrent_convolution_step, RT_OF_CALL},
    {"recurrent_pre", "1 for hyper-connections before a layer", recurrent_pre, RT_OF_CALL},
    {"recurrent_post", "1 for those after it", recurrent_post, RT_OF_CALL},
    {"recurrent_log2_heads", "heads or channels that nothing joins", recurrent_log2_heads, RT_OF_CALL},
    {"recurrent_log2_steps", "steps that wait for one another", recurrent_log2_steps, RT_OF_CALL},
    {"recurrent_log2_blocks", "blocks that take them", recurrent_log2_blocks, RT_OF_CALL},
    {"recurrent_log2_rewritten", "bytes with what kernels write for each other over bytes",
     recurrent_log2_rewritten, RT_OF_CALL},
    {"recurrent_sglang", "1 for recurrences as SGLang runs them", recurrent_sglang, RT_OF_CALL},
    {"recurrent_tensorrt", "1 for those of TensorRT-LLM", recurrent_tensorrt, RT_OF_CALL},
    {"dim_gates", "dim gates", dim_gates, RT_OF_CALL},
    {"conv_log2_pixels", "pixels that a convolution computes or, by filter, sums over", conv_log2_pixels,
     RT_OF_CALL},
    {"conv_log2_side", "side of its image", conv_log2_side, RT_OF_CALL},
    {"conv_log2_inputs", "channels of a group that it sums over", conv_log2_inputs, RT_OF_CALL},
    {"conv_log2_outputs", "channels of a group that come out", conv_log2_outputs, RT_OF_CALL},
    {"conv_log2_taps", "pixels of its kernel", conv_log2_taps, RT_OF_CALL},
    {"conv_log2_stride", "stride", conv_log2_stride, RT_OF_CALL},
    {"conv_log2_groups", "groups", conv_log2_groups, RT_OF_KIND},
    {"conv_by_data", "1 for the gradient by data", conv_by_data, RT_OF_CALL},
    {"conv_by_filter", "1 for the gradient by filter", conv_by_filter, RT_OF_CALL},
    {"conv_channels_last", "1 where channels lie side by side", conv_channels_last, RT_OF_CALL},
    {"conv_dense", "1 where transforms can be used", conv_dense, RT_OF_CALL},
    {"conv_tile_fill", "useful share of Winograd's tiles", conv_tile_fill, RT_OF_CALL},
    {"row_other_kernel", "1 for longer rows on AMD", row_other_kernel, RT_OF_CALL},
};
const size_t rt_feature_count = RT_COUNT(rt_features);

int rt_feature_find(const char *name)
{
    for (size_t i = 0; i < rt_feature_count; i++)
        if (strcmp(rt_features[i].name, name) == 0)
            return (int)i;
    return -1;
}
