/*
 * What an input of so many bytes may take. Under the sanitizers every allocation is counted; without them
 * only time is.
 */
#pragma once

#include <stddef.h>

struct fuzz_limits {
    double seconds, seconds_a_byte; /* of this process's CPUs */
    size_t bytes, bytes_a_byte;     /* held at once, beyond what was held before */
};

void fuzz_limits_begin(void);
/* Calls abort() where more was taken since the last begin. */
void fuzz_limits_end(const struct fuzz_limits *limits, size_t input_bytes);
