/*
 * More hardware is never slower: of two devices that differ in nothing but more multiprocessors (with their
 * share of the peaks), clock, L2, bandwidth, peak or board power on one of them, no kernel is forecast to
 * take longer on that one; nor on the larger of two shares of its SMs. 100,000 random calls on random pairs,
 * by networks of random weights, which no training could have made to obey, and by the predictor that comes
 * with rooftile.
 */
#include "datasets/share.h"
#include "random_predictor.h"

#include <math.h>
#include <string.h>

enum { PAIRS = 2000, CALLS = 50 };
static const double rounding = 1e-3; /* of a forecast */

/* ---- devices ---- */

static bool is_peak(size_t field)
{
    return rt_device_fields[field].peak;
}

static bool is(size_t field, size_t offset)
{
    return rt_device_fields[field].offset == offset;
}

static void scale(struct rt_device *device, bool fields(size_t), double factor)
{
    for (size_t f = 0; f < rt_device_field_count; f++)
        if (fields(f))
            *rt_device_value(device, f) *= factor;
}

static bool is_cache_or_memory_or_power(size_t f)
{
    return (is(f, offsetof(struct rt_device, l2_mib)) || is(f, offsetof(struct rt_device, bandwidth_gbs)) ||
            is(f, offsetof(struct rt_device, power_w))) &&
           coin();
}

static bool is_some_peak(size_t f)
{
    return is_peak(f) && coin();
}

/* Up to eight times of some things. */
static double factor(void)
{
    return coin() ? exp2(between(0, 3)) : 1;
}

static void raise_device(const struct rt_device *base, struct rt_device *raised)
{
    double sms = floor(base->sms * factor()) / base->sms, clock = factor();
    *raised = *base;
    raised->sms = round(base->sms * sms);
    raised->clock_mhz *= clock;
    scale(raised, is_peak, sms * clock);
    scale(raised, is_cache_or_memory_or_power, factor());
    scale(raised, is_some_peak, factor());
}

/* Two devices of which the second has more of some things. */
typedef void draw_devices(struct rt_device *base, struct rt_device *raised);

static void draw_raised(struct rt_device *base, struct rt_device *raised)
{
    random_device(base);
    raise_device(base, raised);
}

/* Two shares of one GPU (datasets/share.h), libraries seeing the shares or the whole. */
static void draw_shares(struct rt_device *base, struct rt_device *raised)
{
    struct rt_device whole;
    bool tiles_of_whole = coin();
    random_device(&whole);
    whole.sms = fmax(2, floor(whole.sms));
    double a = floor(between(1, whole.sms + 1)), b = floor(between(1, whole.sms + 1));
    RT_ASSERT_OK(rt_device_share(&whole, fmin(a, b), tiles_of_whole, base));
    RT_ASSERT_OK(rt_device_share(&whole, fmax(a, b), tiles_of_whole, raised));
}

/* ---- calls ---- */

/* Families that networks forecast. */
static bool is_drawn(enum rt_family family)
{
    return rt_family_vector(family) || rt_families[family].product || rt_families[family].attention ||
           family == RT_FAMILY_MOE || family == RT_FAMILY_CONV || family == RT_FAMILY_RECURRENT;
}

static enum rt_op_id random_op(void)
{
    enum rt_op_id op;
    do
        op = (enum rt_op_id)rt_random_below(&dice, RT_OP_COUNT);
    while (!is_drawn(rt_ops[op].family));
    return op;
}

static void random_attention(struct rt_call *call)
{
    int64_t head_dim[] = {64, 80, 96, 128, 256}, kv_heads = size(16);
    const int64_t dim[8] = {size(64),
                            call->op == RT_OP_ATTENTION_GENERATION ? 1 : size(8192),
                            coin() ? 0 : size(32768),
                            kv_heads * size(8),
                            kv_heads,
                            head_dim[rt_random_below(&dice, RT_COUNT(head_dim))],
                            coin() ? 0 : size(8192),
                            coin() ? 0 : 8};
    memcpy(call->dim, dim, sizeof dim);
    if (call->op == RT_OP_ATTENTION_ENCODER || call->op == RT_OP_ATTENTION_CROSS) {
        call->dim[2] = dim[3];
        call->dim[3] = dim[5];
        call->dim[4] = size(8192);
        for (int d = call->op == RT_OP_ATTENTION_CROSS ? 5 : 4; d < RT_MAX_DIMS; d++)
            call->dim[d] = -1;
    }
}

/* Latent attention, to all keys or chosen ones, as they are or compressed; indexers and top-k. */
static void random_latent(struct rt_call *call)
{
    static const int64_t ratios[] = {1, 4, 128}, bits[] = {0, 8};
    int64_t batch = size(64), tokens = coin() ? 1 : size(8192), cached = coin() ? 0 : size(131072),
            heads = size(128), ratio = ratios[rt_random_below(&dice, RT_COUNT(ratios))],
            kv_bits = bits[rt_random_below(&dice, RT_COUNT(bits))];
    const int64_t dims[][12] = {{batch, tokens, cached, heads, 192, 128, kv_bits},
                                {batch, tokens, cached, heads, 512, 64, kv_bits},
                                {batch, tokens, cached, heads, 1, 576, 512, coin() ? 0 : 2048, ratio,
                                 coin() ? 0 : 128, coin(), kv_bits},
                                {batch, tokens, cached, heads, 128, ratio, kv_bits},
                                {size(65536), size(131072), size(2048)}};
    enum { FIRST = RT_OP_MLA_CONTEXT };
    memcpy(call->dim, dims[call->op - FIRST], (size_t)rt_op_ndims(call->op) * sizeof *call->dim);
}

static void random_experts(struct rt_call *call)
{
    int64_t experts = 8 * size(32), tp = size(8);
    const int64_t dim[9] = {size(65536), 64 * size(128), 64 * tp * size(64), size(8), experts,
                            tp,          size(8),        coin() ? 0 : 101,   coin()};
    memcpy(call->dim, dim, sizeof dim);
}

/* Heads, columns and gates of delta rules; of state spaces heads, their columns, groups, states and chunks;
 * of convolutions and hyper-connections what random_call drew but for the last. */
static void random_recurrence(struct rt_call *call)
{
    bool delta = call->op == RT_OP_DELTA_RULE_CONTEXT || call->op == RT_OP_DELTA_RULE_GENERATION,
         convolves = call->op == RT_OP_CAUSAL_CONV1D;
    int64_t columns = coin() ? 64 : 128, groups = size(16);
    const int64_t rule[] = {groups, columns, groups * size(8), columns, coin() ? 1 : columns},
                  space[] = {groups * size(16), columns, groups, coin() ? 128 : 256, coin() ? 128 : 256};
    if (convolves || call->op == RT_OP_HYPER_CONNECTION_PRE || call->op == RT_OP_HYPER_CONNECTION_POST) {
        call->dim[convolves ? 3 : 2] = 4;
        return;
    }
    call->dim[0] = size(256);
    if (coin())
        call->dim[1] = size(8);
    memcpy(call->dim + 2, delta ? rule : space, sizeof rule);
}

/* In any phase, with or without groups, strides, dilation. */
static void random_convolution(struct rt_call *call)
{
    int64_t kernels[] = {1, 3, 3, 5, 7, 11}, kernel = kernels[rt_random_below(&dice, RT_COUNT(kernels))];
    int64_t groups = coin() ? 1 : size(256), channels = groups * size(64);
    const int64_t dim[14] = {size(64),
                             channels,
                             coin() ? channels : groups * size(64),
                             size(256),
                             size(256),
                             kernel,
                             kernel,
                             coin() ? 1 : 2,
                             kernel / 2,
                             coin() ? 1 : 2,
                             groups,
                             -1,
                             -1,
                             coin()};
    memcpy(call->dim, dim, sizeof dim);
    call->phase = (uint8_t)rt_random_below(&dice, RT_PHASE_COUNT);
}

static void random_call(struct rt_call *call)
{
    enum rt_op_id op;
    do {
        op = random_op();
        rt_call_init(call, op, (enum rt_dtype)rt_random_below(&dice, RT_DTYPE_COUNT));
        for (int d = 0; d < rt_op_ndims(op); d++)
            call->dim[d] = size(16384);
        if (rt_ops[op].family == RT_FAMILY_ATTENTION)
            random_attention(call);
        else if (rt_ops[op].family == RT_FAMILY_LATENT)
            random_latent(call);
        else if (rt_ops[op].family == RT_FAMILY_MOE)
            random_experts(call);
        else if (rt_ops[op].family == RT_FAMILY_RECURRENT)
            random_recurrence(call);
        else if (rt_ops[op].family == RT_FAMILY_CONV)
            random_convolution(call);
    } while (rt_op_check(op, call->dim) != RT_OK);
}

/* Of an op with a broadcast operand the device with the larger L2 may read it once, the other many times. */
static void random_queries(struct rt_query *base, struct rt_query *raised)
{
    for (int i = 0; i < CALLS; i++) {
        struct rt_call call;
        random_call(&call);
        rt_query_init(&base[i], &call);
        base[i].queued = coin();
        raised[i] = base[i];
        if (rt_family_vector(rt_call_family(&call)) && coin()) {
            base[i].reread_bytes = between(0, 2) * rt_query_bytes(&base[i]);
            raised[i].reread_bytes = coin() ? base[i].reread_bytes : 0;
        }
    }
}

/* ---- the law ---- */

struct tally {
    size_t compared, slower, of_family[RT_FAMILY_COUNT], of_dtype[RT_DTYPE_COUNT];
    double worst; /* raised over base */
};

static void compare(const struct rt_query *query, const struct rt_device *device, double base, double raised,
                    struct tally *tally)
{
    if (isnan(base)) /* the device has no peak for it */
        return;
    tally->compared++;
    tally->of_family[rt_call_family(&query->call)]++;
    tally->of_dtype[query->call.dtype]++;
    tally->worst = fmax(tally->worst, raised / base);
    if (raised <= base * (1 + rounding))
        return;
    char dims[200];
    rt_call_dims(&query->call, dims, sizeof dims);
    if (tally->slower++ < 10)
        printf("# %s: %s %s %s takes %g us, with more hardware %g\n", device->name,
               rt_ops[query->call.op].name, rt_dtypes[query->call.dtype].name, dims, base, raised);
}

static bool has_family(const struct rt_predictor *predictor, enum rt_family family)
{
    for (size_t n = 0; n < predictor->net_count; n++)
        if (predictor->nets[n].family == family)
            return true;
    return false;
}

static void judge(const struct rt_predictor *predictor, draw_devices draw)
{
    struct tally tally = {0};
    while (tally.compared < (size_t)PAIRS * CALLS) {
        struct rt_device base, raised;
        struct rt_query on_base[CALLS], on_raised[CALLS];
        double base_us[CALLS], raised_us[CALLS];
        draw(&base, &raised);
        random_queries(on_base, on_raised);
        rt_predictor_forecast(predictor, &base, on_base, CALLS, NULL, base_us, NULL);
        rt_predictor_forecast(predictor, &raised, on_raised, CALLS, NULL, raised_us, NULL);
        for (int i = 0; i < CALLS; i++)
            compare(&on_base[i], &base, base_us[i], raised_us[i], &tally);
    }
    printf("# %s: %zu pairs, %zu slower with more hardware, at worst %.6f times\n", predictor->kind,
           tally.compared, tally.slower, tally.worst);
    CU_ASSERT_EQUAL(tally.slower, 0);
    for (int f = 0; f < RT_FAMILY_COUNT; f++)
        CU_ASSERT_TRUE(!is_drawn((enum rt_family)f) || !has_family(predictor, (enum rt_family)f) ||
                       tally.of_family[f] > 500);
    for (int d = 0; d < RT_DTYPE_COUNT; d++)
        CU_ASSERT_TRUE(d == RT_FP64 ||
                       tally.of_dtype[d] > 500); /* no catalogue's device has a peak of fp64 */
}

static void test_networks_of_random_weights(void)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct rt_predictor predictor;
        rt_random_seed(&dice, seed, 0);
        make_random_predictor(&predictor);
        judge(&predictor, draw_raised);
        rt_predictor_release(&predictor);
    }
}

static void test_the_pretrained_predictor(void)
{
    struct rt_predictor predictor;
    RT_ASSERT_OK(rt_predictor_open(RT_SOURCE_DIR "/models/predictors/pretrained/rooftile.h5", &predictor));
    rt_random_seed(&dice, 1, 1);
    judge(&predictor, draw_raised);
    rt_predictor_release(&predictor);
}

/* The roofline is the bound of every forecast. */
static void test_the_roofline(void)
{
    struct rt_predictor predictor;
    rt_predictor_init_roofline(&predictor);
    rt_random_seed(&dice, 1, 2);
    judge(&predictor, draw_raised);
    rt_predictor_release(&predictor);
}

/* FLOPs that no algorithm saves, at the data sheet's peak; of convolutions that are products at what boards
 * for games reach beyond it. */
static double bound_us(const struct rt_query *query, const struct rt_device *device)
{
    enum rt_dtype dtype = (enum rt_dtype)query->call.dtype;
    bool transforms = rt_call_family(&query->call) == RT_FAMILY_CONV && !rt_conv_only_product(device, dtype);
    double flops = transforms ? rt_call_least_flops(&query->call) : rt_query_flops(query);
    double peak = rt_device_peak_flops(device, rt_call_family(&query->call), dtype);
    if (rt_call_family(&query->call) == RT_FAMILY_CONV && !transforms)
        peak = fmax(peak, rt_rates_of(device, RT_FAMILY_CONV, dtype).peak_flops);
    return 1e6 * flops / peak;
}

/* No forecast by networks beats its bound, whatever their weights; on matrix units since Ampere not by
 * transforms. */
static void check_bounds(const struct rt_predictor *predictor)
{
    size_t checked = 0, products = 0;
    for (int pair = 0; pair < PAIRS / 2; pair++) {
        struct rt_device base, raised;
        struct rt_query on_base[CALLS], on_raised[CALLS];
        double time_us[CALLS];
        draw_raised(&base, &raised);
        random_queries(on_base, on_raised);
        rt_predictor_forecast(predictor, &raised, on_base, CALLS, NULL, time_us, NULL);
        for (int i = 0; i < CALLS; i++) {
            enum rt_family family = rt_call_family(&on_base[i].call);
            if (isnan(time_us[i]) || !rt_families[family].tensor || rt_families[family].attention ||
                family == RT_FAMILY_MOE || family == RT_FAMILY_RECURRENT)
                continue;
            CU_ASSERT_TRUE(time_us[i] >= bound_us(&on_base[i], &raised) * (1 - rounding));
            checked++;
            products += family == RT_FAMILY_CONV && rt_conv_only_product(&raised, on_base[i].call.dtype);
        }
    }
    printf("# %s: %zu forecasts above their bounds, %zu of them of convolutions without transforms\n",
           predictor->kind, checked, products);
    CU_ASSERT_TRUE(checked > 2000 && products > 100);
}

static void test_no_forecast_beats_its_bound(void)
{
    struct rt_predictor predictor;
    rt_random_seed(&dice, 1, 5);
    make_random_predictor(&predictor);
    check_bounds(&predictor);
    rt_predictor_release(&predictor);
    RT_ASSERT_OK(rt_predictor_open(RT_SOURCE_DIR "/models/predictors/pretrained/rooftile.h5", &predictor));
    check_bounds(&predictor);
    rt_predictor_release(&predictor);
}

/* More SMs of one GPU are never slower. */
static void test_shares(void)
{
    struct rt_predictor predictor;
    rt_random_seed(&dice, 1, 4);
    make_random_predictor(&predictor);
    judge(&predictor, draw_shares);
    rt_predictor_release(&predictor);
    RT_ASSERT_OK(rt_predictor_open(RT_SOURCE_DIR "/models/predictors/pretrained/rooftile.h5", &predictor));
    judge(&predictor, draw_shares);
    rt_predictor_release(&predictor);
}

/* What features say of a call is the same on every device of a design, so that networks cannot tell how much
 * hardware there is. */
static void test_features_are_of_the_call(void)
{
    rt_random_seed(&dice, 1, 3);
    for (int i = 0; i < 2000; i++) {
        struct rt_device base, raised;
        struct rt_tiled_call on_base, on_raised;
        struct rt_call call;
        struct rt_query query;
        random_device(&base);
        raise_device(&base, &raised);
        random_call(&call);
        rt_query_init(&query, &call);
        if (!rt_tiled_call_init_tiling(&on_base, &query, &base))
            continue;
        CU_ASSERT_TRUE(rt_tiled_call_init_tiling(&on_raised, &query, &raised));
        for (size_t f = 0; f < rt_feature_count; f++) {
            double a = rt_features[f].value(&on_base), b = rt_features[f].value(&on_raised);
            if (rt_features[f].use != RT_OF_DEVICE && isfinite(a))
                CU_ASSERT_EQUAL(a, b);
        }
    }
}

RT_TESTS(RT_TEST(test_networks_of_random_weights), RT_TEST(test_the_pretrained_predictor),
         RT_TEST(test_the_roofline), RT_TEST(test_shares), RT_TEST(test_no_forecast_beats_its_bound),
         RT_TEST(test_features_are_of_the_call))
