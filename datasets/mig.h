/*
 * Slices of a GPU: NVIDIA's Multi-Instance GPU (MIG) divides a board into instances with multiprocessors,
 * memory and paths to it of their own. A profile is what an instance may be ("2g.10gb"); those of a board are
 * rows of its file (`mig`), after NVIDIA's MIG User Guide, "Supported MIG Profiles", and what
 * `nvidia-smi mig -lgip` and `-lgipp` list. A slice is a struct rt_device like any other, see rt_mig_slice.
 */
#pragma once

#include "datasets/device_fields.h"

#include <jansson.h>

enum { RT_MIG_PROFILES = 16, RT_MIG_PLACES = 8 };

struct rt_mig_profile {
    char name[24];     /* "1g.5gb+me" */
    int slices;        /* of the compute slices, in sevenths of most boards; the driver's "1g" */
    int memory_slices; /* each brings its share of the memory, of the bandwidth and of the L2 */
    int copy_engines;
    int most;                      /* such instances that a board takes at once */
    int placements[RT_MIG_PLACES]; /* the memory slices at which one may start */
    int placement_count;
    double sms;
    double memory_gib; /* that programs find: the driver keeps some of each slice */
};

struct rt_mig {
    struct rt_mig_profile profile[RT_MIG_PROFILES]; /* as the file has them: small ones first */
    int count;                                      /* 0: the board has no MIG */
    int memory_slices;                              /* of the board: those of its largest profile */
};

/* The rows of a device file; `rows` may be NULL (no MIG). RT_EFORMAT naming `where`, row and member: a member
 * is missing or out of range, two rows have one name, a placement reaches over the board. */
int rt_mig_read(const json_t *rows, const char *where, struct rt_mig *out);

/* The rows as a device file has them: a new reference. */
json_t *rt_mig_json(const struct rt_mig *mig);

/* By name, case ignored, with or without the driver's "MIG " before it; NULL where there is none. */
const struct rt_mig_profile *rt_mig_profile_named(const struct rt_mig *mig, const char *name);

/* "1g.5gb, 2g.10gb ...": free with free(). */
char *rt_mig_profile_names(const struct rt_mig *mig);

/* Can instances of these profiles (places in mig->profile) exist at once? Exact: every placement is tried,
 * the first ones first. `starts` (count; NULL: not asked for) gets the memory slice at which each begins. */
bool rt_mig_place(const struct rt_mig *mig, const int *profiles, int count, int *starts);

/* Is it a slice, by the name that rt_mig_slice gives? */
bool rt_mig_is_slice(const struct rt_device *device);

/*
 * The device that a profile makes of a board: its multiprocessors with their share of the peaks, its memory,
 * and memory_slices of the board's share of bandwidth and L2. Clock and power are the board's, which all
 * instances share. Instances reach the host over the board's PCIe and no peer directly (MIG User Guide,
 * "Deployment Considerations": no P2P), so that is their link. name: "NVIDIA A100-PCIE-40GB:2g.10gb"; whole:
 * the board's name, whose effects and calibrations hold for its slices.
 */
void rt_mig_slice(const struct rt_device *board, const struct rt_mig *mig,
                  const struct rt_mig_profile *profile, struct rt_device *out);
