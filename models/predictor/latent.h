/*
 * Latents: how close a device comes to its peaks in ops of a family, where its description does not tell.
 *
 * ln(latency / roofline) = network(features) + w x compute + (1 - w) x memory, where w is 1 where compute
 * binds and 0 where memory does. The two are fitted together with the network, one pair for each device that
 * was measured; a device that was not gets the prior: the mean of those that were, moved along traits of its
 * description where that was found to help (docs/rooftile.md).
 */
#ifndef ROOFTILE_LATENT_H
#define ROOFTILE_LATENT_H

#include "datasets/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rt_latent_part { RT_LATENT_COMPUTE, RT_LATENT_MEMORY, RT_LATENT_PARTS };

struct rt_latent {
    char device[96];
    double value[RT_LATENT_PARTS]; /* added to ln latency */
    double floor_us;               /* what every kernel takes that is timed alone: the host's dispatch */
    int64_t kernels;               /* that it was fitted to; 0: a prior */
};

/* A number of a device's description that a prior may move along; NaN where the description lacks it. */
struct rt_trait {
    const char *name, *what;
    double (*value)(const struct rt_device *device);
};
#define RT_MAX_TRAITS 8
extern const struct rt_trait rt_traits[];
extern const size_t rt_trait_count;

struct rt_latents {
    struct rt_latent *known; /* (count) */
    size_t count;
    struct rt_latent prior;                       /* where all traits are at their mean */
    double trait_mean[RT_MAX_TRAITS];             /* of the devices that were measured */
    double slope[RT_MAX_TRAITS][RT_LATENT_PARTS]; /* by rt_traits; 0: the trait tells nothing */
};

void rt_latents_release(struct rt_latents *latents);

/* The latent of a device by name, NULL where it was not measured. */
struct rt_latent *rt_latents_find(const struct rt_latents *latents, const char *device);

/* The known one, or the prior of that description. */
void rt_latents_of(const struct rt_latents *latents, const struct rt_device *device, struct rt_latent *out);

/* Sets the prior from the known ones: the mean, and slopes by ridge regression on the traits (`ridge` in
 * units of traits scaled to deviation 1; INFINITY: the mean alone). `devices` (count) describes the known
 * ones. */
void rt_latents_set_prior(struct rt_latents *latents, const struct rt_device *devices, double ridge);

#endif
