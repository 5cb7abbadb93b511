/* Forecasts of collectives, and the model of links in predictor files: its coefficients with the names of
 * their rows and columns; device effects and intervals as networks have them. See forecaster.h. */
#include "models/predictors/predictor/forecaster.h"
#include "base/h5_struct.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rt_links_latency(const struct rt_family_net *net, struct rt_threads *pool, const rt_real *inputs,
                      const struct rt_bound *bounds, size_t count, double *latency_us)
{
    (void)net, (void)pool, (void)inputs;
    for (size_t i = 0; i < count; i++) {
        double least_us = fmax(bounds[i].bound_us, bounds[i].start_us);
        latency_us[i] = bounds[i].dispatch_us + fmax(least_us, bounds[i].link_us * exp(bounds[i].shift));
    }
}

void rt_links_release(struct rt_family_net *net)
{
    rt_device_effects_release(&net->effects);
    rt_intervals_release(&net->intervals);
}

/* ---- in files ---- */

enum { COEFFICIENTS = RT_LINK_ALGORITHMS * RT_LINK_TERMS };
static const double MOST = 1e6; /* of a coefficient: the trained ones stay below 1000 */

static const struct rt_h5_array coefficients = {
    .type = RT_H5_F64,
    .units = "1",
    .long_name = "(algorithms,terms): thousands of cycles, us of a hop, multiples of the wire's time"};

static char *joined(const char *const *names, size_t count)
{
    struct rt_text words = {0};
    for (size_t i = 0; i < count; i++)
        rt_text_item(&words, " ", "%s", names[i]);
    return rt_text_take(&words);
}

int rt_links_write(const struct rt_family_net *net, struct rt_h5 *file, const char *group)
{
    char *algorithms = joined(rt_link_algorithms, RT_LINK_ALGORITHMS),
         *terms = joined(rt_link_terms, RT_LINK_TERMS);
    int status = rt_h5_set_text(file, group, "algorithms", algorithms);
    if (status == RT_OK)
        status = rt_h5_set_text(file, group, "terms", terms);
    if (status == RT_OK)
        status = rt_h5_set_real(file, group, "host_us", net->links.host_us);
    if (status == RT_OK)
        status = rt_h5_write_in(file, group, "coefficients", coefficients, net->links.coefficient,
                                sizeof(double), COEFFICIENTS);
    if (status == RT_OK)
        status = rt_device_effects_write(&net->effects, file, group);
    free(algorithms);
    free(terms);
    return status == RT_OK ? rt_intervals_write(&net->intervals, file, group) : status;
}

/* The names that this build has, in their order. */
static int check_names(struct rt_h5 *file, const char *group, const char *attribute, const char *const *names,
                       size_t count)
{
    char *expected = joined(names, count), *found;
    int status = rt_h5_get_text(file, group, attribute, &found);
    if (status == RT_OK) {
        if (strcmp(found, expected) != 0)
            status = rt_fail(RT_EVERSION,
                             "%s: %s has other %s than this build's model of links; use the rooftile that "
                             "trained it, or train the predictor again",
                             rt_h5_path(file), group, attribute);
        free(found);
    }
    free(expected);
    return status;
}

int rt_links_read(struct rt_h5 *file, const char *group, struct rt_family_net *net)
{
    int status = check_names(file, group, "algorithms", rt_link_algorithms, RT_LINK_ALGORITHMS);
    if (status == RT_OK)
        status = check_names(file, group, "terms", rt_link_terms, RT_LINK_TERMS);
    if (status == RT_OK)
        status = rt_h5_get_real(file, group, "host_us", &net->links.host_us);
    if (status == RT_OK && !(net->links.host_us >= 0 && net->links.host_us <= MOST))
        status = rt_fail(RT_EFORMAT, "%s: host_us of %s is %g; it must lie in 0..1e6: the file is damaged",
                         rt_h5_path(file), group, net->links.host_us);
    if (status == RT_OK)
        status = rt_h5_read_range(file, group, "coefficients", coefficients, net->links.coefficient,
                                  sizeof(double), COEFFICIENTS, 0, MOST);
    net->effects.family = net->family;
    if (status == RT_OK)
        status = rt_device_effects_read(file, group, rt_family_net_place_width(net), &net->effects);
    return status == RT_OK ? rt_intervals_read(file, group, &net->intervals) : status;
}
