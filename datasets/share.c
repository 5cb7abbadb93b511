/* Shares of a GPU's SMs. See share.h. */
#include "datasets/share.h"
#include "base/status.h"
#include "base/strings.h"
#include "datasets/designs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_share_kinds[RT_SHARE_KINDS] = {"mps", "green"};

struct rt_share_granule rt_share_granule_of(const struct rt_device *whole, enum rt_share_kind kind)
{
    const struct rt_design *design = rt_design_of(whole);
    return kind == RT_SHARE_MPS ? (struct rt_share_granule){1, 1}
                                : (struct rt_share_granule){design->share_step, design->share_least};
}

bool rt_share_possible(const struct rt_device *whole)
{
    return !rt_name_equal(whole->vendor, "AMD");
}

int rt_share_sms(const char *option, const struct rt_device *whole, enum rt_share_kind kind, double percent,
                 double *sms)
{
    const double rounding = 1e-9; /* 35% of 80 SMs are 28 */
    struct rt_share_granule granule = rt_share_granule_of(whole, kind);
    if (!rt_share_possible(whole))
        return rt_fail(RT_EUSAGE, "%s: MPS and green contexts are NVIDIA's, and %s has neither; leave it out",
                       option, whole->name);
    if (!(percent > 0 && percent <= 100))
        return rt_fail(RT_EUSAGE,
                       "%s %g: a share is above 0 and at most 100 percent of the SMs; give such as 25,50,100",
                       option, percent);
    double granules = ceil(percent / 100 * whole->sms / granule.step - rounding);
    *sms = fmin(fmax(granules * granule.step, granule.least), whole->sms);
    return RT_OK;
}

double rt_share_sm_gbs(const struct rt_device *whole)
{
    const double load_bytes = 16, latency_cycles = 1000, port_bytes = 64, usual_mhz = 1700;
    double in_a_cycle = fmin(port_bytes, rt_design_of(whole)->threads * load_bytes / latency_cycles);
    double mhz = whole->clock_mhz > 0 ? whole->clock_mhz : usual_mhz;
    return fmax(1e-3 * mhz * in_a_cycle, whole->bandwidth_gbs / whole->sms);
}

static void scale_peaks(struct rt_device *device, double factor)
{
    for (size_t f = 0; f < rt_device_field_count; f++)
        if (rt_device_fields[f].peak)
            *rt_device_value(device, f) *= factor;
}

int rt_device_share(const struct rt_device *whole, double sms, bool tiles_of_whole, struct rt_device *out)
{
    if (!(sms >= 1 && sms <= whole->sms) || sms != floor(sms))
        return rt_fail(RT_EUSAGE, "a share of %g SMs: %s has %g, so give 1 to %g", sms, whole->name,
                       whole->sms, whole->sms);
    struct rt_device share = *whole;
    if (sms < whole->sms) {
        scale_peaks(&share, sms / whole->sms);
        share.sms = sms;
        if (sms * rt_share_sm_gbs(whole) < whole->bandwidth_gbs) /* false where that is unknown */
            share.bandwidth_gbs = sms * rt_share_sm_gbs(whole);
        share.share_of.sms = whole->sms;
        share.share_of.bandwidth_gbs = whole->bandwidth_gbs;
        share.share_of.tiles = tiles_of_whole;
        share.altered = true; /* nothing was measured of it */
        snprintf(share.name, sizeof share.name, RT_SHARE_NAME, whole->name, sms, whole->sms);
        if (share.whole[0] == '\0')
            snprintf(share.whole, sizeof share.whole, "%s", whole->name);
    }
    *out = share;
    return RT_OK;
}

void rt_share_whole(const struct rt_device *share, struct rt_device *out)
{
    struct rt_device whole = *share;
    if (share->share_of.sms > 0) {
        scale_peaks(&whole, share->share_of.sms / share->sms);
        whole.sms = share->share_of.sms;
        whole.bandwidth_gbs = share->share_of.bandwidth_gbs;
        memset(&whole.share_of, 0, sizeof whole.share_of);
    }
    *out = whole;
}

bool rt_part_whole(const struct rt_device *part, struct rt_device *out)
{
    struct rt_device whole;
    rt_share_whole(part, &whole);
    if (whole.slice_of.sms > 0) {
        scale_peaks(&whole, whole.slice_of.sms / whole.sms);
        whole.sms = whole.slice_of.sms;
        whole.bandwidth_gbs /= whole.slice_of.memory;
        whole.l2_mib /= whole.slice_of.memory;
        memset(&whole.slice_of, 0, sizeof whole.slice_of);
    }
    *out = whole;
    return part->share_of.sms > 0 || part->slice_of.sms > 0;
}

int rt_device_clock(const struct rt_device *whole, double mhz, struct rt_device *out)
{
    double boost = whole->boost_mhz > 0 ? whole->boost_mhz : whole->clock_mhz;
    if (!(boost > 0))
        return rt_fail(RT_EFORMAT,
                       "%s: its boost clock is not known, so it cannot be forecast at another; give it "
                       "({gpu} NAME,clock_mhz=X)",
                       whole->name);
    if (!(mhz > 0 && mhz <= boost))
        return rt_fail(RT_EUSAGE, "a clock of %g MHz: %s boosts to %g, so give one above 0 and up to that",
                       mhz, whole->name, boost);
    struct rt_device device = *whole;
    if (mhz != device.clock_mhz) {
        scale_peaks(&device, mhz / device.clock_mhz);
        device.clock_mhz = mhz;
        device.boost_mhz = mhz < boost ? boost : 0;
        device.altered = true; /* nothing was measured at it */
        if (device.whole[0] == '\0')
            snprintf(device.whole, sizeof device.whole, "%s", whole->name);
    }
    *out = device;
    return RT_OK;
}

size_t rt_share_parse(const char *name, double *sms, double *of)
{
    const char *open = strrchr(name, '(');
    int part, all, end = 0;
    if (open == NULL || open == name || open[-1] != ' ' ||
        sscanf(open, "(%7d of %7d SMs)%n", &part, &all, &end) != 2 || end == 0 || open[end] != '\0')
        return 0;
    *sms = part;
    *of = all;
    return (size_t)(open - 1 - name);
}
