/* The feature table, of features.def, and what several of its expressions compute. */
#include "models/predictors/predictor/family_net.h"
#include "base/status.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

/* A product in tiles of a size that every library has: the useful share of the padded output. */
static double padding(const struct rt_tiled_call *l, double tile_m, double tile_n)
{
    return l->m * l->n / (ceil(l->m / tile_m) * tile_m * ceil(l->n / tile_n) * tile_n);
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

/* A dim by its name, log2(1 + dim); 0 where the op has none of that name. */
static double named_dim(const struct rt_tiled_call *l, const char *name)
{
    const struct rt_op *op = &rt_ops[l->query->call.op];
    for (int d = 0; op->dims[d] != NULL; d++)
        if (strcmp(op->dims[d], name) == 0)
            return log2(1 + fmax((double)l->query->call.dim[d], 0));
    return 0;
}

static double is_op(const struct rt_tiled_call *l, enum rt_op_id op)
{
    return l->query->call.op == op;
}
/* In 16 bits all servers call cuBLAS through torch. In fp8 TensorRT-LLM calls cuBLASLt (cublas_scaled_mm of
 * its _torch/modules/linear.py), vLLM and SGLang CUTLASS, each its own; that says nothing of nvfp4, which
 * TensorRT-LLM takes from CUTLASS, cuBLASLt or kernels of its own, whichever is fastest (nvfp4_gemm). */
static double product_of_server(const struct rt_tiled_call *l, enum rt_server_project server)
{
    enum rt_dtype dtype = l->query->call.dtype;
    return l->query->server == server && (dtype == RT_FP8 || dtype == RT_FP8_BLOCK);
}

static double recurrent(const struct rt_tiled_call *l, enum rt_recurrent_kind kind)
{
    return rt_call_family(&l->query->call) == RT_FAMILY_RECURRENT && l->recurrent.kind == kind;
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

#define FEATURE(name_, use_, what_, value_)                                                                  \
    static double feature_##name_(const struct rt_tiled_call *l)                                             \
    {                                                                                                        \
        return value_;                                                                                       \
    }
#include "models/predictors/predictor/features.def"
#undef FEATURE

const struct rt_feature rt_features[] = {
#define FEATURE(name_, use_, what_, value_) {#name_, what_, feature_##name_, use_},
#include "models/predictors/predictor/features.def"
#undef FEATURE
};
const size_t rt_feature_count = RT_COUNT(rt_features);

int rt_feature_find(const char *name)
{
    for (size_t i = 0; i < rt_feature_count; i++)
        if (strcmp(rt_features[i].name, name) == 0)
            return (int)i;
    return -1;
}
