/*
 * A device as numbers: its fields, their ranges, and what follows from them alone: peaks by dtype, links. A
 * quantity that a vendor does not publish is NaN, never 0.
 */
#pragma once

#include "datasets/fabric.h"
#include "datasets/op.h"

#include <stdbool.h>

struct rt_device {
    char name[96]; /* as the driver reports it */
    char vendor[32];
    char architecture[32];
    char compute_capability[16];                   /* "9.0", "gfx90a", "" where unknown */
    double sms;                                    /* multiprocessors: SMs, CUs, CPU threads */
    double cores_per_sm;                           /* fp32 lanes of one */
    double clock_mhz;                              /* boost */
    double fp32_vector_tflops, fp32_matrix_tflops; /* dense peaks, 10^12 FLOP/s */
    double tf32_matrix_tflops;
    double fp16_vector_tflops, fp16_matrix_tflops;
    double bf16_vector_tflops, bf16_matrix_tflops;
    double fp8_matrix_tflops, fp4_matrix_tflops, int8_matrix_tops;
    double memory_gib;
    double bandwidth_gbs; /* 10^9 bytes/s */
    double l2_mib;
    double shared_kib_per_sm;
    double power_w;  /* board */
    double link_gbs; /* to one peer GPU, one direction, 10^9 bytes/s */
    /* Peers that each have such a link of their own, all of which work at once (a mesh). NaN: one peer at a
     * time takes it all, through a switch, a bridge or PCIe. */
    double link_peers;
    double bridge_gbs; /* of an optional bridge to one other board, one direction; NaN: there is none */
    /* To the host, one direction: PCIe, or NVLink-C2C. NaN: as link_gbs where that is PCIe. */
    double host_link_gbs;
    double idle_w; /* board between kernels of a job, clocks up */
    double node_gpus; /* GPUs that NVLink joins in one domain; NaN: the eight of a server (rt_node_gpus) */
    /* Quirks, 1: yes, 0: no. Its memory carries the check bits of error correction (ECC) in its own bandwidth
     * and capacity; NaN: as boards with GDDR do unless that is switched off. */
    double ecc_inline;
    /* clock_mhz is a typical boost clock, which boards exceed where their power allows; NaN: no. */
    double boost_typical;
    /* Its numbers are not those of the device of that name, so measurements of that one are of another. Set
     * by rt_device_find and in no file. */
    bool altered;
    /* The device that it is a part of, by name: of a MIG slice (mig.h) or of a share of multiprocessors. ""
     * where it is a whole board. What is known of that device holds for its parts. */
    char whole[96];
    /* What boards of one chip share, "A100"; "": as the name says (rt_device_chip). */
    char chip[32];
    /* Of a share of a GPU's SMs (datasets/share.h): the SMs and the bandwidth of the whole, and whether
     * libraries choose tiles for that; 0: no share. Set by rt_device_share and in no file. */
    struct {
        double sms, bandwidth_gbs;
        bool tiles;
    } share_of;
    /* Of a MIG slice: the multiprocessors of its board, and its part of memory, bandwidth and L2; 0: no
     * slice. Set by rt_mig_slice and in no file. */
    struct {
        double sms, memory;
    } slice_of;
    /* Of a device at another clock (datasets/share.h, rt_device_clock): the clock that it boosts to; 0: it
     * runs at that. Set by rt_device_clock and in no file. */
    double boost_mhz;
};

/* One row per numeric field: drives JSON, HDF5, CSV, overrides and range checks. */
struct rt_device_field {
    const char *key;
    size_t offset; /* of the double in struct rt_device */
    const char *units, *long_name;
    double min, max;
    bool required;
    bool peak;   /* FLOP/s or OP/s of all multiprocessors together */
    bool sparse; /* datasets hold a column of it only where a device has it: older files have none */
    bool quirk;  /* yes or no, of a board: true, false or null in JSON; see rt_device_recall */
};
extern const struct rt_device_field rt_device_fields[];
extern const size_t rt_device_field_count;
/* The row of that key, which has so many letters; NULL: none. */
const struct rt_device_field *rt_device_field_named(const char *key, size_t length);
/* "sms, cores_per_sm ...": all keys. Free with free(). */
char *rt_device_field_keys(void);

/* One row per text field, in the same files. */
struct rt_device_text {
    const char *key;
    size_t offset, size;
    bool sparse; /* datasets hold a column of it only where a device has it: older files have none */
    bool quirk;  /* as above */
};
extern const struct rt_device_text rt_device_texts[];
extern const size_t rt_device_text_count;

static inline double *rt_device_value(struct rt_device *device, size_t field)
{
    return (double *)((char *)device + rt_device_fields[field].offset);
}

static inline char *rt_device_text(struct rt_device *device, size_t text)
{
    return (char *)device + rt_device_texts[text].offset;
}

/* The name of the whole that a device is a part of; its own where it is no part. */
static inline const char *rt_device_board(const struct rt_device *device)
{
    return device->whole[0] != '\0' ? device->whole : device->name;
}

/* All numbers NaN, all texts "" but the name. */
void rt_device_init(struct rt_device *device, const char *name);

/* Required numbers are there and every number lies in its range, or RT_EFORMAT naming `where` and field. */
int rt_device_check(const struct rt_device *device, const char *where);

/* True where both describe the same hardware: same name, no number known to both that differs. A
 * difference is in rt_error() ("X: bandwidth_gbs is 900 in one and 897 in the other"). */
bool rt_device_same(const struct rt_device *a, const struct rt_device *b);

/* Fills what `device` lacks (NaN, "") from `from`. */
void rt_device_fill(struct rt_device *device, const struct rt_device *from);

/* How a GPU sends to others. */
struct rt_link {
    double gbs;   /* to one peer, one direction, 10^9 bytes/s; NaN: unknown */
    double peers; /* that can be sent to at once, each at that rate; 1 unless links form a mesh */
};
struct rt_link rt_device_link(const struct rt_device *device);
/* What a GPU sends in one direction, in GB/s, while it exchanges with `peers` others. */
double rt_link_gbs(const struct rt_link *link, int64_t peers);

/* GPUs of a server of the device's: of its NVLink domain (`node_gpus`), else, and of NULL, the eight of most
 * servers. */
int64_t rt_device_node_gpus(const struct rt_device *device);

/* The fabric that a description stands for: a mesh where `link_peers` says so; a switch where the link is
 * faster than PCIe 5.0 with 16 lanes (64 GB/s); PCIe otherwise. */
enum rt_fabric rt_device_fabric(const struct rt_device *device);
/* A GPU's links in a group of `gpus`, by the data sheet: its bridge in a pair, a third of its link to each of
 * three peers where a mesh is asked for of a device that has none of its own (boards of four GPUs), else
 * `link_gbs`. gbs is NaN where the description lacks the number. */
struct rt_link rt_device_fabric_link(const struct rt_device *device, enum rt_fabric fabric, int64_t gpus);

/* What joins the device to its host, one direction, 10^9 bytes/s by the data sheet: host_link_gbs, or
 * link_gbs where that is PCIe; NaN where the description has neither. */
double rt_device_host_link_gbs(const struct rt_device *device);

/* Has it units for bf16? Where not, fp16 is what 16-bit models run in. */
bool rt_device_has_bf16(const struct rt_device *device);

/* The field that the peak of a dtype comes from: "fp8_matrix_tflops" for products in fp8; NULL where devices
 * have none (fp8 on vector lanes). */
const char *rt_device_peak_field(enum rt_family family, enum rt_dtype dtype);

/* Dense peak for an op family and dtype in FLOP/s: matrix units for families that use them where the device
 * has them for the dtype, vector lanes otherwise. On vector lanes 16-bit types have at least the peak of
 * fp32: frameworks convert and compute in fp32 where a GPU's own 16-bit arithmetic is slower (fp16 on compute
 * capability 6.1) or missing (bf16 before Ampere; PyTorch calls that emulation, and its products run too:
 * torch.cuda.is_bf16_supported, pytorch/pytorch pull request 50442). NaN where no peak is known. */
double rt_device_peak_flops(const struct rt_device *device, enum rt_family family, enum rt_dtype dtype);

/* Units beside the vector lanes that multiply in the dtype. They may be no faster (RDNA 3). */
bool rt_device_has_matrix_units(const struct rt_device *device, enum rt_dtype dtype);

/* What names the chip, by which GPUs are held out together when a predictor is judged: the device's `chip`;
 * where its description has none the word of its name with the first digit, "A100" of "NVIDIA
 * A100-PCIE-40GB", else the whole name. */
void rt_chip_word(const struct rt_device *device, char *out, size_t size);

/* Is it the same chip? A Grace superchip is the chip it is named after: GB200, B200. */
bool rt_chip_same(const struct rt_device *a, const struct rt_device *b);
