/*
 * Blocks against multiprocessors. PyTorch's kernels over rows give each row, or each channel, one block,
 * which steps along it: its threads load, wait for memory, and go on. Where there are fewer blocks than the
 * device holds, most of it is idle, and the time is that of one block: its steps, each a wait, as Little's
 * law has it (bytes in flight over latency). A bound of every forecast of such kernels, by a network or by
 * the roofline alone; torch.compile and servers split rows over blocks, so it is none of theirs.
 */
#pragma once

#include "datasets/call.h"
#include "datasets/device.h"

#include <stdbool.h>

/* us that PyTorch's kernel of the call takes at least; 0: its blocks are not those of rows, or the GPU is not
 * NVIDIA's. `row_threads`: of a reduction, the threads of the one block that makes a row; 0: PyTorch splits
 * rows. It does not grow with multiprocessors, with the threads that they hold, nor with the clock. */
double rt_walk_us(const struct rt_call *call, int row_threads, const struct rt_device *device);
