/* GPUs and their descriptors, from what the driver reports without a context, so that it costs no GPU memory.
 */
#pragma once

#include "collect/cuda/driver.h"
#include "datasets/device.h"

#include <stdbool.h>

/* A device to measure on: a GPU, or a share of its SMs. Plain data. */
struct rt_cuda_gpu_found {
    char name[96]; /* "NVIDIA H200", "NVIDIA H200:1g.18gb", "NVIDIA H200 (72 of 132 SMs)" */
    char gpu[96];  /* as the driver reports it */
    char uuid[48], pci[32];
    int ordinal;       /* the driver's number of it */
    int share_percent; /* 100: all of it */
    int share_asked;   /* SMs that the driver is asked for */
    int sms, gpu_sms;  /* of the share, of the GPU or MIG slice */
    int capability;    /* 90 for 9.0 */
    int clock_khz, memory_clock_khz, bus_bits, l2_bytes;
    int shared_bytes_per_sm, shared_bytes_per_block;
    int ecc, mps; /* 1, 0, -1: not known */
    int driver_version;
    size_t memory_bytes;
};

/* The devices of --device ("all", "0,1"; NULL: all) and --sm-share ("25,50,100"; NULL: whole GPUs), in their
 * order, GPU by GPU. RT_EUSAGE where a list is wrong; RT_ENOTFOUND without a driver, GPU or share. free()
 * *found. */
int rt_cuda_find(const char *devices, const char *shares, struct rt_cuda_gpu_found **found, size_t *count);

/* The descriptor: the catalogue's where it has the GPU (so that all datasets of a GPU agree), completed from
 * the driver's attributes; for other GPUs from these and the rates of the architecture. A MIG slice or share
 * has the peaks of its SMs; a slice also its share of memory and bandwidth. */
void rt_cuda_describe(const struct rt_cuda_gpu_found *found, struct rt_device *out);

/* The source of such a descriptor's peaks: constant text. */
const char *rt_cuda_peaks_source(const struct rt_cuda_gpu_found *found);

/*
 * Shares of a GPU: green contexts, which run kernels on some of its SMs. The driver rounds the number of SMs
 * up to what the chip allows (multiples of 8 on Hopper, of 2 on Ampere); the rounded number is recorded.
 * Memory, its bandwidth and the L2 are shared with the rest of the GPU.
 */

/* The context of such a share; the primary context must be retained. Destroy with driver->green_free. */
int rt_cuda_share_open(const struct rt_cuda_driver *driver, CUdevice device, const char *name, int asked,
                       CUgreenCtx *share, CUcontext *context);
