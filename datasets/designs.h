/*
 * Designs of GPUs: what follows from how a chip is made rather than from a board's data sheet. A row for each
 * compute capability of NVIDIA and each target of AMD. All that goes by the generation of a GPU is read here;
 * a new one is a row.
 *
 * A device's row (rt_design_of) is that of its compute capability. One that has no row takes the newest row
 * that is not newer: of its major version ("8.7" that of 8.6, "12.1" of 12.0); of a new major version, as of
 * a GPU that is yet to come, the newest with HBM ("13.0" of 10.3), as that is what accelerators are made
 * with; of AMD's, CDNA being gfx9.. and gfx1250 on, the newest of these. Where a description has no
 * capability, or an older one than those, it takes the first row of its architecture's name; else one of
 * unknowns.
 */
#pragma once

#include <stdbool.h>

struct rt_device;

/* Kinds of memory that sustain a different share of their peak bandwidth: large copies of NeuSight's
 * elementwise kernels reach 0.74 to 0.75 of it with GDDR (P4, T4), 0.87 to 0.91 with HBM2 since Volta (V100,
 * A100), 0.74 to 0.78 with the first HBM2 (P100) and on CDNA. The kinds were chosen after those measurements:
 * docs/log/predictor.md. */
enum rt_memory_kind { RT_MEMORY_GDDR, RT_MEMORY_HBM, RT_MEMORY_HBM_OTHER, RT_MEMORY_KINDS };
extern const char *const rt_memory_kinds[RT_MEMORY_KINDS]; /* "gddr", "hbm", "hbm_other" */

/* How matrix units are fed, which decides what libraries can run on them. */
enum rt_matrix_units {
    RT_MATRIX_NONE,
    RT_MATRIX_WARP,          /* NVIDIA: by a warp, from its registers (mma.sync) */
    RT_MATRIX_WARP_GROUP,    /* asynchronously by four warps, from shared memory (wgmma), which TMA fills */
    RT_MATRIX_TENSOR_MEMORY, /* asynchronously into a memory of their own (tcgen05), likewise */
    RT_MATRIX_AMD            /* matrix cores of CDNA (MFMA) */
};

/* FLOP that a multiprocessor does in a cycle, a multiply-add counted twice, dense; of matrix units with sums
 * in fp32 at full rate. NaN: it has no such units, or nobody has looked. */
struct rt_design_rates {
    double fp16_vector, bf16_vector, tf32, fp16, bf16, fp8, fp4, int8;
    double exponentials; /* no FLOP, but one each */
};

struct rt_design {
    const char *capability, *architecture; /* as devices have them: "8.6", "Ampere" */
    const char *generation;                /* what came out together: "Ada, Hopper"; "": unknown */
    int year;                              /* in which a generation's first GPU came out; 0: unknown */
    double node_nm;                        /* of the process the chip is made in; 0: unknown */
    double lanes;                          /* fp32 lanes of a multiprocessor */
    double fp32_issue;                     /* share of their peak that products in fp32 can issue */
    double threads;                        /* that it holds */
    double l2_parts;                       /* partitions of the L2, of which a multiprocessor is near one */
    double page_rows;                      /* of products, whose pages it finds in a cycle; 0: all */
    enum rt_memory_kind memory;            /* on boards of this design; RT_MEMORY_KINDS: unknown */
    double memory_picojoules;              /* of a bit that its memory moves */
    enum rt_matrix_units units;
    double matrix_energy;           /* of a FLOP of theirs over NVIDIA's in the same process */
    double gap_us;                  /* from a kernel to the next in its queue, beside what NVIDIA's take */
    double link_payload;            /* what its GPU links carry over what the data sheet says of them */
    bool switches_add;              /* NVLink switches add up for it (NVLink SHARP) */
    double nic_gbs;                 /* that servers of it send to others for each GPU, one direction, GB/s */
    double share_step, share_least; /* multiprocessors that green contexts come in, and the least of them */
    double blas_workspace_kib;      /* that PyTorch gives cuBLAS */
    struct rt_design_rates rates;   /* in a cycle */
};

/* The row of a device, by the rule above; never NULL. Of the row of unknowns `capability` is "". */
const struct rt_design *rt_design_of(const struct rt_device *device);

/* The generation that came out next, as its first row: of NULL the oldest, NULL after the last. Generations
 * of one year follow one another as their rows do. */
const struct rt_design *rt_generation_after(const struct rt_design *generation);

/* GDDR where the design is unknown, so that no number of the device decides it. */
enum rt_memory_kind rt_memory_kind_of(const struct rt_device *device);

/* Asynchronous products and copies (TMA): data-centre GPUs since Hopper. */
bool rt_design_asynchronous(const struct rt_design *design);

/* Are both one design of multiprocessor? Not so where one is unknown (""). From 10.0 on all of a major
 * version are: a family, for which code is compiled at once ("compute_100f" runs on 10.0 and 10.3: CUDA C++
 * Programming Guide, family-specific features). */
bool rt_capability_same(const char *a, const char *b);
/* Is `a` of an older (< 0) or newer (> 0) generation than `b`? 0: of the same, of another vendor, or not to
 * be told. */
int rt_capability_order(const char *a, const char *b);
/* Do libraries run the same code on both? They are compiled for a major compute capability: "a cubin object
 * generated for compute capability X.y will only execute on devices of compute capability X.z where z >= y"
 * (CUDA C++ Programming Guide, binary compatibility). AMD's targets have no minor part. */
bool rt_capability_same_major(const char *a, const char *b);
/* Are matrix units of both fed alike? */
bool rt_capability_same_units(const char *a, const char *b);
