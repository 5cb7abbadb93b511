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

/* Places of the names of a file among those of this build, `most` of them at most; their count, or -1 where
 * it has others. Algorithms and terms that came later than the file are the prior's. */
static int places_of(const char *found, const char *const *names, size_t count, size_t places[])
{
    size_t read = 0;
    while (*found != '\0') {
        size_t length = strcspn(found, " "), place = 0;
        while (place < count && (strlen(names[place]) != length || strncmp(names[place], found, length) != 0))
            place++;
        if (place == count || read == count)
            return -1;
        places[read++] = place;
        found += length + (found[length] == ' ');
    }
    return (int)read;
}

static int read_names(struct rt_h5 *file, const char *group, const char *attribute, const char *const *names,
                      size_t count, size_t places[], int *read)
{
    char *found;
    int status = rt_h5_get_text(file, group, attribute, &found);
    if (status != RT_OK)
        return status;
    *read = places_of(found, names, count, places);
    free(found);
    return *read > 0 ? RT_OK
                     : rt_fail(RT_EVERSION,
                               "%s: %s has other %s than this build's model of links; use the rooftile that "
                               "trained it, or train the predictor again",
                               rt_h5_path(file), group, attribute);
}

static int read_coefficients(struct rt_h5 *file, const char *group, struct rt_link_model *model)
{
    size_t algorithm[RT_LINK_ALGORITHMS], term[RT_LINK_TERMS];
    double values[COEFFICIENTS];
    int algorithms = 0, terms = 0;
    int status =
        read_names(file, group, "algorithms", rt_link_algorithms, RT_LINK_ALGORITHMS, algorithm, &algorithms);
    if (status == RT_OK)
        status = read_names(file, group, "terms", rt_link_terms, RT_LINK_TERMS, term, &terms);
    if (status == RT_OK)
        status = rt_h5_read_range(file, group, "coefficients", coefficients, values, sizeof(double),
                                  (size_t)(algorithms * terms), 0, MOST);
    for (int i = 0; status == RT_OK && i < algorithms * terms; i++)
        model->coefficient[algorithm[i / terms]][term[i % terms]] = values[i];
    return status;
}

int rt_links_read(struct rt_h5 *file, const char *group, struct rt_family_net *net)
{
    net->links = rt_link_prior;
    int status = read_coefficients(file, group, &net->links);
    if (status == RT_OK)
        status = rt_h5_get_real(file, group, "host_us", &net->links.host_us);
    if (status == RT_OK && !(net->links.host_us >= 0 && net->links.host_us <= MOST))
        status = rt_fail(RT_EFORMAT, "%s: host_us of %s is %g; it must lie in 0..1e6: the file is damaged",
                         rt_h5_path(file), group, net->links.host_us);
    net->effects.family = net->family;
    if (status == RT_OK)
        status = rt_device_effects_read(file, group, rt_family_net_place_width(net), &net->effects);
    return status == RT_OK ? rt_intervals_read(file, group, &net->intervals) : status;
}
