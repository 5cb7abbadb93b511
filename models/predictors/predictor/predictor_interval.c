/* Half-widths of a predictor's forecasts, how it knows a GPU, and how its errors go together. See
 * predictor.h. */
#include "base/status.h"
#include "models/predictors/predictor/predictor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A kernel whose interval is asked for. */
struct asked {
    const struct rt_predictor *predictor;
    const struct rt_family_net *net;
    const struct rt_device *device;
    const struct rt_query *query;
    enum rt_interval_size size;
    double level;
};

static double width(const struct asked *asked, const double table[RT_INTERVAL_SIZES][RT_INTERVAL_LEVELS])
{
    return asked->net->intervals.dtype_scale[asked->query->call.dtype] *
           rt_interval_at(table[asked->size], asked->level);
}

/* The share of its time that is dispatch overhead. */
static double dispatch_part(const struct asked *asked, const struct rt_device_effect *effect)
{
    double time_us = NAN, dispatch_us = effect->dispatch_us;
    rt_predictor_forecast(asked->predictor, asked->device, asked->query, 1, NULL, &time_us, NULL);
    if (asked->query->queued)
        dispatch_us = fmin(dispatch_us, RT_QUEUED_US);
    return fmin(1, dispatch_us / time_us);
}

/* Where the kernel lies among the calibration kernels decides; the device's scale says how far those were
 * off. */
static double calibrated_width(const struct asked *asked, const struct rt_device_effect *effect)
{
    const struct rt_family_net *net = asked->net;
    enum rt_dtype dtype = (enum rt_dtype)asked->query->call.dtype;
    rt_real inputs[RT_MAX_FEATURES];
    struct rt_bound bound;
    double share = 1;
    if (rt_family_net_inputs(net, asked->query, asked->device, inputs, &bound) != RT_SKIP_NONE)
        return NAN;
    if (effect->correction.points > 0) {
        rt_real *place = rt_malloc(rt_family_net_place_width(net) * sizeof *place);
        rt_family_net_places(net, NULL, inputs, 1, place);
        share = rt_residual_correction_variance(&effect->correction, dtype, place);
        free(place);
    }
    return effect->interval_scale[dtype] * rt_interval_student(asked->level) *
           rt_interval_deviation(share, dispatch_part(asked, effect)) *
           rt_interval_size_factor(&net->intervals, asked->size);
}

/* Is a device of the same compute capability, one design of multiprocessor, among those of training? */
static bool knows_alike(const struct rt_device_effects *effects, const struct rt_device *device)
{
    for (size_t i = 0; i < effects->count; i++)
        if (!effects->known[i].calibrated &&
            rt_capability_same(device->compute_capability, effects->known[i].capability))
            return true;
    return false;
}

/* Are all devices of training by other vendors? Their libraries say nothing of this one's. */
static bool is_new_vendor(const struct rt_device_effects *effects, const struct rt_device *device)
{
    size_t others = 0;
    for (size_t i = 0; i < effects->count; i++) {
        const struct rt_device_effect *known = &effects->known[i];
        if (known->calibrated)
            continue;
        if (known->vendor[0] == '\0' || strcmp(known->vendor, device->vendor) == 0)
            return false;
        others++;
    }
    return others > 0;
}

/* Half-widths of GPUs left out with others of their vendor in training, to those left out with all of their
 * vendor: NeuSight's two AMD GPUs. docs/log/intervals.md */
static const double NEW_VENDOR = 2;

/* Of collectives: what their server's host bridges may do. */
static double server_width(const struct asked *asked)
{
    return asked->net->forecaster == RT_FORECASTER_LINKS
               ? rt_link_server_width(&asked->query->call, asked->device) * rt_interval_scale(asked->level)
               : 0;
}

static double unseen_width(const struct asked *asked, double known, double unseen)
{
    const struct rt_device_effects *effects = &asked->net->effects;
    double server = server_width(asked);
    if (knows_alike(effects, asked->device))
        return hypot(server, sqrt(known * unseen));
    return hypot(server, is_new_vendor(effects, asked->device) ? NEW_VENDOR * unseen : unseen);
}

static double device_width(const struct asked *asked)
{
    const struct rt_family_net *net = asked->net;
    const struct rt_device_effect *effect = rt_device_effects_known(&net->effects, asked->device);
    double known = width(asked, net->intervals.known), unseen = width(asked, net->intervals.unseen);
    if (effect == NULL)
        return unseen_width(asked, known, unseen);
    if (effect->interval_scale[asked->query->call.dtype] > 0)
        return calibrated_width(asked, effect);
    if (effect->interval[0] > 0)
        return rt_interval_at(effect->interval, asked->level) *
               rt_interval_at(net->intervals.known[asked->size], 0.9);
    return effect->calibrated ? sqrt(known * unseen) : known;
}

/* Half-widths of a dtype that no GPU in training had, over those of a GPU that was not:
 * docs/log/narrow-products.md. */
static const double OTHER_DTYPE = 1.5;

/* `beyond`: outside the range of the training features, where a device is no better known than an unseen one.
 */
static double half_width(const struct asked *asked, bool beyond)
{
    double ln_half_width = device_width(asked);
    if (!rt_net_saw(asked->net, (enum rt_dtype)asked->query->call.dtype))
        return fmax(ln_half_width, OTHER_DTYPE * width(asked, asked->net->intervals.unseen));
    return beyond ? fmax(ln_half_width, width(asked, asked->net->intervals.unseen))
                  : ln_half_width; /* unseen NaN: half */
}

double rt_predictor_interval_at(const struct rt_predictor *predictor, const struct rt_device *device,
                                const struct rt_query *query, const struct rt_reach *reach, double level)
{
    const struct rt_family_net *net = rt_predictor_net(predictor, query->call.op, query->call.dtype);
    if (net == NULL || !rt_family_net_has_effects(net))
        return NAN;
    struct asked asked = {predictor, net, device, query, rt_interval_size_of(reach->bound_us), level};
    return half_width(&asked, reach->beyond);
}

void rt_predictor_intervals(const struct rt_predictor *predictor, const struct rt_device *device,
                            const struct rt_query *query, const double *level, size_t count,
                            double *ln_half_width)
{
    const struct rt_family_net *net = rt_predictor_net(predictor, query->call.op, query->call.dtype);
    struct rt_tiled_call launch;
    bool known = net != NULL && rt_family_net_has_effects(net) &&
                 rt_family_net_launch(net, query, device, &launch) == RT_SKIP_NONE;
    struct rt_reach reach = {0};
    if (known)
        reach = (struct rt_reach){launch.bound_us, rt_family_net_launch_beyond(net, &launch) >= 0};
    for (size_t l = 0; l < count; l++)
        ln_half_width[l] = known ? rt_predictor_interval_at(predictor, device, query, &reach, level[l]) : NAN;
}

double rt_predictor_interval(const struct rt_predictor *predictor, const struct rt_device *device,
                             const struct rt_query *query, double level)
{
    double ln_half_width;
    rt_predictor_intervals(predictor, device, query, &level, 1, &ln_half_width);
    return ln_half_width;
}

/* --- how a GPU is known --- */

const char *const rt_knowledge_words[RT_KNOWLEDGE_COUNT] = {
    [RT_KNOWN_MEASURED] = "measured",          [RT_KNOWN_CHIP] = "same chip",
    [RT_KNOWN_DESIGN] = "same design",         [RT_KNOWN_OLDER] = "older designs only",
    [RT_KNOWN_NEWER] = "newer designs only",   [RT_KNOWN_OTHERS] = "other designs",
    [RT_KNOWN_VENDORS] = "other vendors only", [RT_KNOWN_NOWHERE] = "no GPU",
};

/* How near a device is to one that was measured. */
static enum rt_knowledge kinship(const struct rt_device *device, const char *name, const char *vendor,
                                 const char *capability)
{
    struct rt_device other;
    if (vendor[0] != '\0' && strcmp(vendor, device->vendor) != 0)
        return RT_KNOWN_VENDORS;
    if (!rt_capability_same(capability, device->compute_capability)) {
        int order = rt_capability_order(capability, device->compute_capability);
        return order < 0 ? RT_KNOWN_OLDER : order > 0 ? RT_KNOWN_NEWER : RT_KNOWN_OTHERS;
    }
    if (strcmp(name, device->name) == 0)
        return RT_KNOWN_CHIP;
    rt_device_init(&other, name);
    rt_device_recall(&other); /* its chip */
    return rt_chip_same(&other, device) ? RT_KNOWN_CHIP : RT_KNOWN_DESIGN;
}

/* The nearest of two; older and newer ones together are both. */
static enum rt_knowledge nearest(enum rt_knowledge a, enum rt_knowledge b)
{
    bool sides = (a == RT_KNOWN_OLDER && b == RT_KNOWN_NEWER) || (a == RT_KNOWN_NEWER && b == RT_KNOWN_OLDER);
    bool others = fmax(a, b) == RT_KNOWN_OTHERS && fmin(a, b) >= RT_KNOWN_OLDER;
    return sides || others ? RT_KNOWN_OTHERS : a < b ? a : b;
}

/* Nets that note no devices: those of the predictor, as the catalogue has them. */
static enum rt_knowledge known_by_names(const struct rt_predictor *predictor, const struct rt_device *device)
{
    char *names = rt_strdup(predictor->devices), *rest = names, *name;
    enum rt_knowledge known = RT_KNOWN_NOWHERE;
    while ((name = strsep(&rest, "\n")) != NULL) {
        struct rt_device listed;
        if (name[0] != '\0' && rt_device_listed(name, &listed))
            known = nearest(known, kinship(device, name, listed.vendor, listed.compute_capability));
    }
    free(names);
    return known;
}

/* The nearest of the devices that a net was fitted to, in that dtype alone or in any. */
static enum rt_knowledge known_by_effects(const struct rt_family_net *net, const struct rt_device *device,
                                          enum rt_dtype dtype, bool in_dtype)
{
    enum rt_knowledge known = RT_KNOWN_NOWHERE;
    for (size_t i = 0; i < net->effects.count && known != RT_KNOWN_CHIP; i++) { /* none is nearer */
        const struct rt_device_effect *other = &net->effects.known[i];
        if (!other->calibrated && (!in_dtype || rt_device_effect_has_dtype(other, dtype)))
            known = nearest(known, kinship(device, other->device, other->vendor, other->capability));
    }
    return known;
}

enum rt_knowledge rt_predictor_knowledge(const struct rt_predictor *predictor, const struct rt_device *device,
                                         enum rt_op_id op, enum rt_dtype dtype, bool *in_dtype)
{
    const struct rt_family_net *net = rt_predictor_net(predictor, op, dtype);
    *in_dtype = true;
    if (rt_predictor_has_seen(predictor, device, op, dtype))
        return RT_KNOWN_MEASURED;
    if (net == NULL || !rt_forecasters[net->forecaster].fitted)
        return RT_KNOWN_NOWHERE;
    if (net->effects.count == 0)
        return known_by_names(predictor, device);
    enum rt_knowledge known =
        rt_net_serves(net, op, dtype) ? known_by_effects(net, device, dtype, true) : RT_KNOWN_NOWHERE;
    *in_dtype = known != RT_KNOWN_NOWHERE;
    return *in_dtype ? known : known_by_effects(net, device, dtype, false);
}

/* --- how errors go together --- */

double rt_predictor_shared_error(const struct rt_predictor *predictor, const struct rt_query *query)
{
    const struct rt_family_net *net = rt_predictor_net(predictor, query->call.op, query->call.dtype);
    double shared = net != NULL ? rt_intervals_shared(&net->intervals) : NAN;
    return isnan(shared) ? 1 : shared;
}
