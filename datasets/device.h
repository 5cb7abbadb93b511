/*
 * Where descriptions of devices come from: the catalogue, JSON files, overrides. One JSON file per device in
 * datasets/devices/ is compiled into the library, so a binary needs no data folder beside it.
 */
#pragma once

#include "datasets/device_fields.h"

struct rt_names;
struct rt_text;

/* One device file. RT_EIO, or RT_EFORMAT naming file, line and field. */
int rt_device_load(const char *path, struct rt_device *out);

/* The device a user means: a catalogue name or alias (case and -_ space alike), or the path of a JSON file;
 * then the profile of a MIG slice, where one is meant: "A100-PCIE-40GB:2g.10gb", as mig.h makes it; then any
 * number of ",field=value" overrides: "H100,sms=100,bandwidth_gbs=3000". More multiprocessors bring their
 * share of the peaks, and so does a higher clock: sms and clock_mhz scale every peak that is not itself
 * overridden. RT_ENOTFOUND suggests the nearest names, or names the profiles that there are. */
int rt_device_find(const char *spec, struct rt_device *out);
/* Such overrides, of values that the caller checks (rt_device_check). */
struct rt_device_setting {
    size_t field; /* of rt_device_fields */
    double value;
};
void rt_device_set(struct rt_device *device, const struct rt_device_setting *settings, size_t count);

/* For the rows of options: the file that such a text names, where there is one. */
void rt_device_reads(const char *spec, struct rt_names *paths);

/* A catalogue device by name or alias and nothing else, or a slice of one, as above or as the driver names it
 * ("NVIDIA A100-PCIE-40GB MIG 2g.10gb"): for names that come out of files. */
int rt_device_named(const char *name, struct rt_device *out);

/* The board that such a text names, without profile and overrides, and the profiles that it may be divided
 * into (count 0: it has no MIG). */
struct rt_mig;
int rt_device_mig(const char *spec, struct rt_device *board, struct rt_mig *out);

/* The catalogue's board of exactly that name. False: it has none. */
bool rt_device_listed(const char *name, struct rt_device *out);

/* Quirks of the catalogue's boards, in files that lack them. Files of devices and datasets from before there
 * were quirks mean those that the catalogue has for the board of exactly that name, or for the one that a
 * device is part of: rt_device_recall fills them in. Datasets hold the others alone, so that older ones keep
 * their bytes and uuids: rt_device_forget takes out what rt_device_recall would fill in. */
void rt_device_recall(struct rt_device *device);
void rt_device_forget(struct rt_device *device);

/* The catalogue, for listings. `i` < rt_device_catalogue_size(). */
size_t rt_device_catalogue_size(void);
int rt_device_catalogue(size_t i, struct rt_device *out);
/* .suggests of rows (base/options.h): the shortest name of each; files. */
void rt_device_suggest(struct rt_text *list);

/* Not a CPU; one of AMD's has the architecture that uname says. */
bool rt_device_is_gpu(const struct rt_device *device);
